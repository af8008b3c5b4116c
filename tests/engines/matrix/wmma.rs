//! `wmma`: matrices go from memory through fragments, whose layout is the compiler's, to memory.

use super::bench::{Case, Random, check, check_on_sm_80, pack};
use super::format::Type::{self, *};
use super::format::{Matrix, finish};

/// A matrix in memory: rows (or columns) `stride` elements apart.
fn image(matrix: &Matrix, ty: Type, by_rows: bool, stride: usize) -> Vec<u8> {
    let turned = matrix.transposed();
    let lines = if by_rows { matrix } else { &turned };
    let mut values = vec![0u64; lines.rows * stride];
    for line in 0..lines.rows {
        for i in 0..lines.columns {
            values[line * stride + i] = ty.encode(lines.at(line, i));
        }
    }
    pack(&values, ty.bits())
}

/// Shape, and registers of a fragment of A, B and C.
type Shape = ((usize, usize, usize), [usize; 3]);

struct Orders {
    a: bool,
    b: bool,
    c: bool,
    d: bool,
}

fn order(by_rows: bool) -> &'static str {
    if by_rows { "row" } else { "col" }
}

fn case(
    (shape, counts): Shape,
    (ab, acc, other): (Type, Type, Type),
    orders: Orders,
    suffix: &str,
    shared: bool,
    random: &mut Random,
) -> Case {
    let (m, n, k) = shape;
    // `other` is the type of D where it is not that of C.
    let ma = Matrix::random(m, k, ab, random);
    let mb = Matrix::random(k, n, ab, random);
    let mut mc = Matrix::random(m, n, acc, random);
    let saturate = suffix == ".satfinite";
    if saturate {
        for (i, x) in mc.data.iter_mut().enumerate() {
            *x += [i64::from(i32::MAX) - 100_000, i64::from(i32::MIN) + 100_000][i % 2];
        }
    }
    let sums = match suffix {
        ".and.popc" => ma.multiply(&mb, &mc, |x, y| x & y),
        ".xor.popc" => ma.multiply(&mb, &mc, |x, y| x ^ y),
        _ => ma.multiply(&mb, &mc, |x, y| x * y),
    };
    let md = finish(&sums, other, saturate);
    // More than a line, and a multiple of 16 bytes.
    let unit = (128 / ab.bits()) as usize;
    let line = |rows: usize, columns: usize, by_rows: bool, unit: usize| {
        (if by_rows { columns } else { rows }) + unit
    };
    let strides = [
        line(m, k, orders.a, unit),
        line(k, n, orders.b, unit),
        line(m, n, orders.c, (128 / acc.bits()) as usize),
        line(m, n, orders.d, (128 / other.bits()) as usize),
    ];
    let dims = format!("m{m}n{n}k{k}");
    let list = |name: &str, count: usize| {
        let all: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
        format!("{{{}}}", all.join(", "))
    };
    let width = |ty: Type| if ty == F64 { 64 } else { 32 };
    let d_count = if other == F16 { 4 } else { counts[2].max(if acc == F16 { 8 } else { 0 }) };
    let lists =
        [list("a", counts[0]), list("b", counts[1]), list("c", counts[2]), list("d", d_count)];
    let (ty, cty, dty) = (ab.name(), acc.name(), other.name());
    let [oa, ob, oc, od] = [orders.a, orders.b, orders.c, orders.d].map(order);
    let bits = ab == B1;
    let product = match (ab, acc) {
        (F16, _) => format!("wmma.mma.sync.aligned.{oa}.{ob}.{dims}.{dty}.{cty}"),
        (Bf16 | Tf32, _) => {
            format!("wmma.mma.sync.aligned.{oa}.{ob}.{dims}.f32.{ty}.{ty}.f32")
        }
        (F64, _) => format!("wmma.mma.sync.aligned.{oa}.{ob}.{dims}.rn.f64.f64.f64.f64"),
        _ if bits => {
            format!("wmma.mma{suffix}.sync.aligned.{oa}.{ob}.{dims}.s32.b1.b1.s32")
        }
        _ => format!("wmma.mma.sync.aligned.{oa}.{ob}.{dims}.s32.{ty}.{ty}.s32{suffix}"),
    };
    let name = format!("{}_{oc}_{od}_{shared}", product.replace('.', "_"));
    let a_image = image(&ma, ab, orders.a, strides[0]);
    let space = if shared { ".shared" } else { "" };
    let mut text = format!(
        ".visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {{\n\
         .shared .align 128 .b8 area[{}];\n.reg .b64 %p, %g;\n.reg .b32 %i, %w, %s;\n.reg .pred %q;\n",
        a_image.len()
    );
    for (name, count, ty) in
        [("a", counts[0], ab), ("b", counts[1], ab), ("c", counts[2], acc), ("d", d_count, other)]
    {
        text += &format!(".reg .b{} %{name}<{count}>;\n", width(ty));
    }
    let place = if shared {
        // A goes to shared memory word by word.
        text += "ld.param.u64 %g, [a];\nmov.u32 %i, 0;\nmov.u32 %s, area;\nCOPY:\n";
        text += "ld.global.b32 %w, [%g];\nst.shared.b32 [%s], %w;\nadd.u64 %g, %g, 4;\n";
        text += "add.u32 %s, %s, 4;\nadd.u32 %i, %i, 4;\n";
        text += &format!("setp.lt.u32 %q, %i, {};\n@%q bra COPY;\nbar.sync 0;\n", a_image.len());
        "mov.u32 %s, area;\n"
    } else {
        "ld.param.u64 %p, [a];\n"
    };
    let address = if shared { "[%s]" } else { "[%p]" };
    text += place;
    text += &format!(
        "wmma.load.a.sync.aligned.{oa}.{dims}{space}.{ty} {}, {address}, {};\n",
        lists[0], strides[0]
    );
    text += &format!(
        "ld.param.u64 %p, [b];\nwmma.load.b.sync.aligned.{ob}.{dims}.{ty} {}, [%p], {};\n",
        lists[1], strides[1]
    );
    text += &format!(
        "ld.param.u64 %p, [c];\nwmma.load.c.sync.aligned.{oc}.{dims}.{cty} {}, [%p], {};\n",
        lists[2], strides[2]
    );
    text += &format!("{product} {}, {}, {}, {};\n", lists[3], lists[0], lists[1], lists[2]);
    text += &format!(
        "ld.param.u64 %p, [d];\nwmma.store.d.sync.aligned.{od}.{dims}.{dty} [%p], {}, {};\nret;\n}}\n",
        lists[3], strides[3]
    );
    let d_image = image(&md, other, orders.d, strides[3]);
    let buffers = vec![
        a_image,
        image(&mb, ab, orders.b, strides[1]),
        image(&mc, acc, orders.c, strides[2]),
        vec![0; d_image.len()],
    ];
    let want = vec![None, None, None, Some(d_image)];
    Case { name, source: text, threads: 32, buffers, want }
}

const BOTH: [bool; 2] = [true, false];

#[test]
fn halves() {
    let mut random = Random(31);
    let mut cases = Vec::new();
    for shape in [(16, 16, 16), (32, 8, 16), (8, 32, 16)] {
        for (a, b) in [(true, true), (true, false), (false, true), (false, false)] {
            for (acc, other) in [(F16, F16), (F32, F32), (F16, F32), (F32, F16)] {
                let orders = Orders { a, b, c: a, d: b };
                let counts = [8, 8, if acc == F16 { 4 } else { 8 }];
                let types = (F16, acc, other);
                cases.push(case((shape, counts), types, orders, "", a && b, &mut random));
            }
        }
    }
    check(&cases);
    check_on_sm_80(&cases);
}

#[test]
fn other_floats() {
    let mut random = Random(32);
    let mut cases = Vec::new();
    for a in BOTH {
        for b in BOTH {
            let orders = || Orders { a, b, c: b, d: a };
            for (shape, counts) in
                [((16, 16, 16), [4, 4, 8]), ((32, 8, 16), [8, 2, 8]), ((8, 32, 16), [2, 8, 8])]
            {
                let types = (Bf16, F32, F32);
                cases.push(case((shape, counts), types, orders(), "", !a, &mut random));
            }
            let shape = ((16, 16, 8), [4, 4, 8]);
            cases.push(case(shape, (Tf32, F32, F32), orders(), "", a, &mut random));
            let shape = ((8, 8, 4), [1, 1, 2]);
            cases.push(case(shape, (F64, F64, F64), orders(), "", b, &mut random));
        }
    }
    check(&cases);
    check_on_sm_80(&cases);
}

#[test]
fn integers_and_bits() {
    let mut random = Random(33);
    let mut cases = Vec::new();
    for a in BOTH {
        for b in BOTH {
            for (shape, counts) in
                [((16, 16, 16), [2, 2, 8]), ((32, 8, 16), [4, 1, 8]), ((8, 32, 16), [1, 4, 8])]
            {
                for ty in [S8, U8] {
                    let suffix = if a == b { ".satfinite" } else { "" };
                    let orders = Orders { a, b, c: a, d: !b };
                    let types = (ty, S32, S32);
                    cases.push(case((shape, counts), types, orders, suffix, a, &mut random));
                }
            }
        }
    }
    // These have one order each of A and B.
    for c in BOTH {
        for ty in [S4, U4] {
            for suffix in ["", ".satfinite"] {
                let orders = Orders { a: true, b: false, c, d: !c };
                let shape = ((8, 8, 32), [1, 1, 2]);
                cases.push(case(shape, (ty, S32, S32), orders, suffix, c, &mut random));
            }
        }
        for suffix in [".and.popc", ".xor.popc"] {
            let orders = Orders { a: true, b: false, c, d: !c };
            let shape = ((8, 8, 128), [1, 1, 2]);
            cases.push(case(shape, (B1, S32, S32), orders, suffix, c, &mut random));
        }
    }
    check(&cases);
    check_on_sm_80(&cases);
}
