//! `mma.sync` of all shapes and types.

use super::bench::{Case, Random, check, check_on_sm_80, kernel, pack, registers};
use super::format::Type::{self, *};
use super::format::{Matrix, finish};

/// Row and column of element i of a fragment, for thread t of group g (PTX ISA 9.0, "Matrix
/// Fragments for mma.…").
pub type Layout = fn(usize, usize, usize) -> (usize, usize);

/// Of A, by rows, depth and bits of an element.
pub fn layout_a(m: usize, k: usize, bits: u32) -> Layout {
    match (m, k, bits) {
        (8, 4, 64) => |_, g, t| (g, t),
        (8, 16, 8) => |i, g, t| (g, t * 4 + i),
        (8, 32, 4) => |i, g, t| (g, t * 8 + i),
        (8, 128, 1) => |i, g, t| (g, t * 32 + i),
        (16, 4, 32 | 64) => |i, g, t| (if i == 0 { g } else { g + 8 }, t),
        (16, 8, 16) => |i, g, t| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)),
        (16, 8, 32 | 64) => {
            |i, g, t| (if i == 0 || i == 2 { g } else { g + 8 }, if i < 2 { t } else { t + 4 })
        }
        (16, 16, 16) => |i, g, t| {
            let row = if i < 2 || (4..6).contains(&i) { g } else { g + 8 };
            (row, t * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
        },
        (16, 16, 64) => |i, g, t| if i % 2 == 0 { (g, i * 2 + t) } else { (g + 8, i * 2 - 2 + t) },
        (16, 16, 8) => |i, g, t| (if i < 4 { g } else { g + 8 }, t * 4 + (i & 3)),
        (16, 32, 8) => |i, g, t| {
            let row = if i < 4 || (8..12).contains(&i) { g } else { g + 8 };
            (row, t * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        },
        (16, 32, 4) => |i, g, t| (if i < 8 { g } else { g + 8 }, t * 8 + (i & 7)),
        (16, 64, 4) => |i, g, t| {
            let row = if i < 8 || (16..24).contains(&i) { g } else { g + 8 };
            (row, t * 8 + (i & 7) + if i < 16 { 0 } else { 32 })
        },
        (16, 128, 1) => |i, g, t| (if i < 32 { g } else { g + 8 }, t * 32 + (i & 31)),
        (16, 256, 1) => |i, g, t| {
            let row = if i < 32 || (64..96).contains(&i) { g } else { g + 8 };
            (row, t * 32 + (i & 31) + if i < 64 { 0 } else { 128 })
        },
        other => panic!("{other:?}"),
    }
}

/// Of B, by bits of an element.
pub fn layout_b(bits: u32) -> Layout {
    match bits {
        64 | 32 => |i, g, t| (t + 4 * i, g),
        16 => |i, g, t| (t * 2 + (i & 1) + i / 2 * 8, g),
        8 => |i, g, t| (t * 4 + (i & 3) + i / 4 * 16, g),
        4 => |i, g, t| (t * 8 + (i & 7) + i / 8 * 32, g),
        _ => |i, g, t| (t * 32 + (i & 31) + i / 32 * 128, g),
    }
}

/// Of C and D.
pub fn layout_c() -> Layout {
    |i, g, t| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
}

/// The registers of 32 threads, one thread after the other.
pub fn fragment(matrix: &Matrix, ty: Type, layout: Layout) -> Vec<u8> {
    let count = matrix.data.len() / 32;
    let mut values = Vec::new();
    for lane in 0..32 {
        for i in 0..count {
            let (row, column) = layout(i, lane / 4, lane % 4);
            values.push(ty.encode(matrix.at(row, column)));
        }
    }
    pack(&values, ty.bits())
}

/// Registers of a thread for a matrix of so many elements.
pub fn count(elements: usize, ty: Type) -> usize {
    elements / 32 * ty.bits() as usize / (8 * ty.register())
}

/// How single bits are combined, or integers end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    Plain,
    Saturate,
    And,
    Xor,
}

fn case(
    shape: (usize, usize, usize),
    a: Type,
    b: Type,
    acc: Type,
    variant: Variant,
    random: &mut Random,
) -> Case {
    let (m, n, k) = shape;
    let ma = Matrix::random(m, k, a, random);
    let mb = Matrix::random(k, n, b, random);
    let mut mc = Matrix::random(m, n, acc, random);
    if variant == Variant::Saturate {
        // Sums on both sides of the limits.
        for (i, x) in mc.data.iter_mut().enumerate() {
            *x += [i64::from(i32::MAX) - 100_000, i64::from(i32::MIN) + 100_000][i % 2];
        }
    }
    let times = |x: i64, y: i64| match variant {
        Variant::And => x & y,
        Variant::Xor => x ^ y,
        _ => x * y,
    };
    let md = finish(&ma.multiply(&mb, &mc, times), acc, variant == Variant::Saturate);
    let (before, after) = match variant {
        Variant::Plain => ("", ""),
        Variant::Saturate => (".satfinite", ""),
        Variant::And => ("", ".and.popc"),
        Variant::Xor => ("", ".xor.popc"),
    };
    let instruction = format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col{before}.{}.{}.{}.{}{after}",
        acc.name(),
        a.name(),
        b.name(),
        acc.name()
    );
    let ra = registers("a", count(m * k, a), a.register());
    let rb = registers("b", count(n * k, b), b.register());
    let rc = registers("c", count(m * n, acc), acc.register());
    let rd = registers("d", rc.count, rc.bytes);
    let body = format!("{instruction} {}, {}, {}, {};", rd.list(), ra.list(), rb.list(), rc.list());
    let name = instruction.replace('.', "_");
    let source = kernel(&name, "", &[ra, rb, rc], &body, &[rd]);
    let want = fragment(&md, acc, layout_c());
    let buffers = vec![
        fragment(&ma, a, layout_a(m, k, a.bits())),
        fragment(&mb, b, layout_b(b.bits())),
        fragment(&mc, acc, layout_c()),
        vec![0; want.len()],
    ];
    Case { name, source, threads: 32, buffers, want: vec![None, None, None, Some(want)] }
}

#[test]
fn floats() {
    let mut random = Random(1);
    let mut cases = Vec::new();
    let mut add =
        |shape, a, b, acc| cases.push(case(shape, a, b, acc, Variant::Plain, &mut random));
    for k in [8, 16] {
        add((16, 8, k), F16, F16, F16);
        add((16, 8, k), F16, F16, F32);
        add((16, 8, k), Bf16, Bf16, F32);
    }
    for k in [4, 8] {
        add((16, 8, k), Tf32, Tf32, F32);
    }
    for shape in [(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)] {
        add(shape, F64, F64, F64);
    }
    check(&cases);
    // Of doubles sm_80 has one shape, which is the first.
    cases.truncate(9);
    check_on_sm_80(&cases);
}

#[test]
fn eight_bit_floats() {
    let mut random = Random(5);
    let mut cases = Vec::new();
    let mut add =
        |shape, a, b, acc| cases.push(case(shape, a, b, acc, Variant::Plain, &mut random));
    for k in [16, 32] {
        for (a, b) in [(E4m3, E4m3), (E4m3, E5m2), (E5m2, E4m3), (E5m2, E5m2)] {
            add((16, 8, k), a, b, F16);
            add((16, 8, k), a, b, F32);
        }
    }
    check(&cases);
}

#[test]
fn integers() {
    let mut random = Random(2);
    let mut cases = Vec::new();
    let mut add = |shape, a, b| {
        for variant in [Variant::Plain, Variant::Saturate] {
            cases.push(case(shape, a, b, S32, variant, &mut random));
        }
    };
    for (a, b) in [(S8, S8), (S8, U8), (U8, S8), (U8, U8)] {
        for shape in [(8, 8, 16), (16, 8, 16), (16, 8, 32)] {
            add(shape, a, b);
        }
    }
    for (a, b) in [(S4, S4), (S4, U4), (U4, S4), (U4, U4)] {
        for shape in [(8, 8, 32), (16, 8, 32), (16, 8, 64)] {
            add(shape, a, b);
        }
    }
    check(&cases);
    check_on_sm_80(&cases);
}

#[test]
fn single_bits() {
    let mut random = Random(3);
    let mut cases = Vec::new();
    for shape in [(8, 8, 128), (16, 8, 128), (16, 8, 256)] {
        for variant in [Variant::And, Variant::Xor] {
            cases.push(case(shape, B1, B1, S32, variant, &mut random));
        }
    }
    check(&cases);
    check_on_sm_80(&cases);
}

/// `mma.m8n8k4` of halves is four products, each of eight threads: four and the four sixteen
/// further on.
#[test]
fn quads() {
    let mut random = Random(4);
    let mut cases = Vec::new();
    for (row_a, row_b) in [(true, true), (true, false), (false, true), (false, false)] {
        for (dtype, ctype) in [(F16, F16), (F32, F16), (F32, F32)] {
            cases.push(quad(row_a, row_b, dtype, ctype, &mut random));
        }
    }
    check(&cases);
    check_on_sm_80(&cases);
}

fn quad(row_a: bool, row_b: bool, dtype: Type, ctype: Type, random: &mut Random) -> Case {
    let products: Vec<[Matrix; 3]> = (0..4)
        .map(|_| {
            [
                Matrix::random(8, 4, F16, random),
                Matrix::random(4, 8, F16, random),
                Matrix::random(8, 8, ctype, random),
            ]
        })
        .collect();
    let sums: Vec<Matrix> =
        products.iter().map(|[a, b, c]| a.multiply(b, c, |x, y| x * y)).collect();
    // The elements of a thread: which product, and the place of element i.
    let gather = |elements: usize, ty: Type, at: &dyn Fn(usize, usize, usize) -> i64| {
        let mut values = Vec::new();
        for lane in 0..32 {
            for i in 0..elements {
                values.push(ty.encode(at(lane % 16 / 4, lane, i)));
            }
        }
        pack(&values, ty.bits())
    };
    let upper = |lane: usize| if lane < 16 { 0 } else { 4 };
    let accumulator = |ty: Type, lane: usize, i: usize| match ty {
        F16 => (lane % 4 + upper(lane), i),
        _ => ((lane & 1) + (i & 2) + upper(lane), (i & 4) + (lane & 2) + (i & 1)),
    };
    let a = gather(4, F16, &|p, lane, i| {
        let (row, column) =
            if row_a { (lane % 4 + upper(lane), i) } else { (i + upper(lane), lane % 4) };
        products[p][0].at(row, column)
    });
    let b = gather(4, F16, &|p, lane, i| {
        let (row, column) =
            if row_b { (lane % 4, i + upper(lane)) } else { (i, lane % 4 + upper(lane)) };
        products[p][1].at(row, column)
    });
    let c = gather(8, ctype, &|p, lane, i| {
        let (row, column) = accumulator(ctype, lane, i);
        products[p][2].at(row, column)
    });
    let d = gather(8, dtype, &|p, lane, i| {
        let (row, column) = accumulator(dtype, lane, i);
        sums[p].at(row, column)
    });
    let order = |row: bool| if row { "row" } else { "col" };
    let instruction = format!(
        "mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{}",
        order(row_a),
        order(row_b),
        dtype.name(),
        ctype.name()
    );
    let [ra, rb] = [registers("a", 2, 4), registers("b", 2, 4)];
    let rc = registers("c", count(256, ctype), 4);
    let rd = registers("d", count(256, dtype), 4);
    let body = format!("{instruction} {}, {}, {}, {};", rd.list(), ra.list(), rb.list(), rc.list());
    let name = instruction.replace('.', "_");
    let source = kernel(&name, "", &[ra, rb, rc], &body, &[rd]);
    let buffers = vec![a, b, c, vec![0; d.len()]];
    Case { name, source, threads: 32, buffers, want: vec![None, None, None, Some(d)] }
}
