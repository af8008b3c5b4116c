//! `wgmma`: products of four warps with matrices in shared memory.

use super::bench::{Case, Random, Registers, check, kernel, pack, registers};
use super::format::Type::{self, *};
use super::format::{Matrix, finish};
use super::mma::{count, fragment, layout_a};
use super::sparse::{compress, metadata};

/// Bytes of shared memory; A stands at the beginning.
const SHARED: usize = 49152;
const B_AT: usize = 16384;

/// How a matrix stands in shared memory (PTX ISA 9.0, "Strides" and "Matrix descriptor format").
#[derive(Clone, Copy)]
struct Placing {
    /// Bytes of the swizzle's rows; 16: none.
    width: usize,
    /// Contiguous along M or N, not K.
    transposed: bool,
    /// Bytes from the pattern's beginning to the matrix: a step along K inside wider rows.
    shift: usize,
    /// Lines of 128 bytes from a multiple of 1024 to the pattern's beginning.
    base: usize,
}

const PLAIN: Placing = Placing { width: 16, transposed: false, shift: 0, base: 0 };

impl Placing {
    fn leading(self) -> usize {
        match (self.width, self.transposed) {
            // Eight rows of 16 bytes and a gap; behind all pieces along M or N.
            (16, false) => 144,
            (16, true) => 4800,
            // Of what is contiguous along K it means nothing.
            (_, false) => 16,
            (width, true) => 32 * width,
        }
    }

    fn stride(self) -> usize {
        match (self.width, self.transposed) {
            (16, false) => 4 * 144 + 32,
            (16, true) => 144,
            (width, false) => 8 * width,
            (width, true) => 16 * width,
        }
    }

    fn descriptor(self, at: usize) -> u64 {
        let swizzle = match self.width {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        let start = at + self.base * 128 + self.shift;
        (start as u64 >> 4)
            | (self.leading() as u64 >> 4) << 16
            | (self.stride() as u64 >> 4) << 32
            | (self.base as u64) << 49
            | swizzle << 62
    }

    /// Puts the lines of a matrix (rows along K, or along M or N) in shared memory.
    fn put(self, memory: &mut [u8], at: usize, lines: &Matrix, ty: Type) {
        let width = self.width;
        for line in 0..lines.rows {
            let values: Vec<u64> =
                (0..lines.columns).map(|i| ty.encode(lines.at(line, i))).collect();
            for (byte, value) in pack(&values, ty.bits()).into_iter().enumerate() {
                let (far, near) = if width == 16 && self.transposed {
                    (self.stride(), self.leading())
                } else {
                    (self.leading(), self.stride())
                };
                let linear = self.shift
                    + (byte / width) * far
                    + (line / 8) * near
                    + (line % 8) * width
                    + byte % width;
                let swizzled = linear ^ (linear >> 7 & (width / 16 - 1)) << 4;
                memory[at + self.base * 128 + swizzled] = value;
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Product {
    n: usize,
    k: usize,
    types: (Type, Type, Type),
    /// None: in registers.
    a: Option<Placing>,
    b: Placing,
    negated: [bool; 2],
    add: bool,
    saturate: bool,
    /// Selector of the threads with metadata.
    sparse: Option<usize>,
}

impl Product {
    fn new(n: usize, k: usize, types: (Type, Type, Type)) -> Product {
        Product {
            n,
            k,
            types,
            a: Some(PLAIN),
            b: PLAIN,
            negated: [false; 2],
            add: true,
            saturate: false,
            sparse: None,
        }
    }
}

/// Registers of four warps, from those of each warp's 16 rows.
fn four_warps(matrix: &Matrix, of_warp: impl Fn(&Matrix) -> Vec<u8>) -> Vec<u8> {
    let each = 16 * matrix.columns;
    let part = |rows: &[i64]| Matrix { rows: 16, columns: matrix.columns, data: rows.to_vec() };
    matrix.data.chunks(each).flat_map(|rows| of_warp(&part(rows))).collect()
}

/// Accumulators of a warp: PTX ISA 9.0, "Register fragments for wgmma.mma_async.m64nNk16", D.
fn accumulators(rows: &Matrix, ty: Type) -> Vec<u8> {
    let mut values = Vec::new();
    for lane in 0..32 {
        for i in 0..rows.columns / 2 {
            let row = if i % 4 < 2 { lane / 4 } else { lane / 4 + 8 };
            values.push(ty.encode(rows.at(row, i / 4 * 8 + lane % 4 * 2 + i % 2)));
        }
    }
    pack(&values, ty.bits())
}

/// Copies `SHARED` bytes from the buffer `image` to shared memory.
fn copy_image() -> String {
    let mut text = "ld.param.u64 %from, [image];\nmul.wide.u32 %at, %thread, 16;\n".to_string();
    text += "add.u64 %from, %from, %at;\nmul.lo.u32 %i, %thread, 16;\nCOPY:\n";
    text += "ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%from];\nadd.u32 %to, %s, %i;\n";
    text += "st.shared.v4.b32 [%to], {%w0, %w1, %w2, %w3};\nadd.u64 %from, %from, 2048;\n";
    text += &format!("add.u32 %i, %i, 2048;\nsetp.lt.u32 %p, %i, {SHARED};\n@%p bra COPY;\n");
    text += "fence.proxy.async;\nbar.sync 0;\n";
    text
}

const DECLARATIONS: &str =
    ".reg .b64 %from, %da, %db, %start;\n.reg .b32 %i, %w<4>, %to;\n.reg .pred %p;\n";

/// `%da` and `%db` become the descriptors, whose start addresses are relative to shared memory.
fn descriptors(a: u64, b: u64) -> String {
    format!(
        "shr.u32 %to, %s, 4;\nand.b32 %to, %to, 0x3fff;\ncvt.u64.u32 %start, %to;\n\
         add.u64 %da, %start, {a:#x};\nadd.u64 %db, %start, {b:#x};\n"
    )
}

const IMAGE: Registers = Registers { name: "image", count: 0, bytes: 4 };

fn case(name: &str, p: Product, random: &mut Random) -> Case {
    let (a, b, acc) = p.types;
    let sparse = p.sparse.map(|_| compress(64, p.k, a, random));
    let full = match &sparse {
        Some(s) => s.full.clone(),
        None => Matrix::random(64, p.k, a, random),
    };
    let held = sparse.as_ref().map_or(&full, |s| &s.values);
    let mb = Matrix::random(p.k, p.n, b, random);
    let mut mc = Matrix::random(64, p.n, acc, random);
    if p.saturate {
        for (i, x) in mc.data.iter_mut().enumerate() {
            *x += [i64::from(i32::MAX) - 100_000, i64::from(i32::MIN) + 100_000][i % 2];
        }
    }
    let sign = if p.negated[0] == p.negated[1] { 1 } else { -1 };
    let added = if p.add { mc.clone() } else { Matrix::zero(64, p.n) };
    let times = |x: i64, y: i64| if a == B1 { x & y } else { x * y * sign };
    let md = finish(&full.multiply(&mb, &added, times), acc, p.saturate);

    let mut memory = vec![0xa5; SHARED];
    if let Some(place) = p.a {
        let lines = if place.transposed { held.transposed() } else { held.clone() };
        place.put(&mut memory, 0, &lines, a);
    }
    let lines = if p.b.transposed { mb.clone() } else { mb.transposed() };
    p.b.put(&mut memory, B_AT, &lines, b);

    let rd = registers("d", count(16 * p.n, acc), 4);
    let ra = registers("a", count(16 * held.columns, a), 4);
    let re = registers("e", 1, 4);
    let rs = registers("f", 1, 4);
    let number = |yes: bool| if yes { 1 } else { 0 };
    let scale = |negated: bool| if negated { -1 } else { 1 };
    let mut operands = vec![rd.list()];
    operands.push(if p.a.is_some() { "%da".into() } else { ra.list() });
    operands.push("%db".into());
    if let Some(selector) = p.sparse {
        operands.extend(["%e0".into(), selector.to_string()]);
    }
    operands.push("%p".into());
    if a.is_float() {
        operands.extend(p.negated.map(|n| scale(n).to_string()));
    }
    if matches!(a, F16 | Bf16) {
        operands.extend(p.a.map(|a| number(a.transposed).to_string()));
        operands.push(number(p.b.transposed).to_string());
    }
    let instruction = format!(
        "wgmma.mma_async{}.sync.aligned.m64n{}k{}{}.{}.{}.{}{} {};",
        if p.sparse.is_some() { ".sp" } else { "" },
        p.n,
        p.k,
        if p.saturate { ".satfinite" } else { "" },
        acc.name(),
        a.name(),
        b.name(),
        if a == B1 { ".and.popc" } else { "" },
        operands.join(", ")
    );
    let body = format!(
        "{}{}setp.ne.u32 %p, %f0, 0;\nwgmma.fence.sync.aligned;\n{instruction}\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
        copy_image(),
        descriptors(p.a.map_or(0, |a| a.descriptor(0)), p.b.descriptor(B_AT)),
    );
    let inputs = [IMAGE, rd, ra, re, rs];
    let source = kernel(name, DECLARATIONS, &inputs, &body, &[rd]);
    let of_warp = |rows: &[u64]| metadata(rows, a, p.k, p.sparse.unwrap_or(0));
    let rows_of_metadata = sparse.as_ref().map_or(&[][..], |s| &s.metadata);
    let mut meta: Vec<u8> = rows_of_metadata.chunks(16).flat_map(of_warp).collect();
    meta.resize(128 * 4, 0);
    let layout = layout_a(16, held.columns, a.bits());
    let buffers = vec![
        memory,
        four_warps(&mc, |rows| accumulators(rows, acc)),
        four_warps(held, |rows| fragment(rows, a, layout)),
        meta,
        pack(&[u64::from(p.add); 128], 32),
    ];
    let want = vec![None, Some(four_warps(&md, |rows| accumulators(rows, acc))), None, None, None];
    Case { name: name.into(), source, threads: 128, buffers, want }
}

/// The depth of a product and of its sparse form is 32 and 64 bytes.
fn depth(ty: Type) -> usize {
    256 / ty.bits() as usize
}

const TYPES: &[(Type, Type, Type)] = &[
    (F16, F16, F16),
    (F16, F16, F32),
    (Bf16, Bf16, F32),
    (Tf32, Tf32, F32),
    (E4m3, E4m3, F16),
    (E4m3, E5m2, F32),
    (E5m2, E4m3, F32),
    (E5m2, E5m2, F16),
    (S8, S8, S32),
    (S8, U8, S32),
    (U8, S8, S32),
    (U8, U8, S32),
    (B1, B1, S32),
];

fn label(types: (Type, Type, Type)) -> String {
    format!("{}_{}_{}", types.0.name(), types.1.name(), types.2.name())
}

#[test]
fn every_type_with_a_in_registers_and_in_shared_memory() {
    let mut random = Random(41);
    let mut cases = Vec::new();
    for (i, &types) in TYPES.iter().enumerate() {
        for a in [Some(PLAIN), None] {
            let n = [8, 24, 48][i % 3].max(if types.2 == S32 { 16 } else { 8 });
            let n = if types.2 == S32 && n % 16 == 8 && n > 24 { 32 } else { n };
            let negated = if types.0.is_float() { [i % 2 == 0, a.is_some()] } else { [false; 2] };
            let p = Product { a, negated, ..Product::new(n, depth(types.0), types) };
            let name = format!("type_{}_{}", label(types), a.is_some());
            cases.push(case(&name, p, &mut random));
        }
    }
    check(&cases);
}

#[test]
fn sizes_and_options() {
    let mut random = Random(42);
    let mut cases = Vec::new();
    let wide = Placing { width: 128, ..PLAIN };
    for n in [8, 64, 136, 256] {
        let p = Product { b: wide, ..Product::new(n, 16, (F16, F16, F32)) };
        cases.push(case(&format!("size_{n}"), p, &mut random));
    }
    let p = Product { add: false, ..Product::new(16, 16, (F16, F16, F32)) };
    cases.push(case("only_the_product", p, &mut random));
    let p = Product { saturate: true, ..Product::new(32, 32, (S8, S8, S32)) };
    cases.push(case("clamped", p, &mut random));
    let p = Product { a: None, add: false, ..Product::new(96, 32, (U8, U8, S32)) };
    cases.push(case("bytes_of_registers", p, &mut random));
    check(&cases);
}

#[test]
fn swizzles() {
    let mut random = Random(43);
    let mut cases = Vec::new();
    for width in [16, 32, 64, 128] {
        for (i, transposed) in
            [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate()
        {
            let a = Placing { width, transposed: transposed.0, ..PLAIN };
            let b = Placing { width, transposed: transposed.1, ..PLAIN };
            let types = [(F16, F16, F32), (Bf16, Bf16, F32)][i % 2];
            let p = Product { a: Some(a), b, ..Product::new(64, 16, types) };
            cases.push(case(&format!("swizzle_{width}_{i}"), p, &mut random));
            if !transposed.0 {
                let p = Product { a: None, ..p };
                cases.push(case(&format!("swizzle_{width}_{i}_registers"), p, &mut random));
            }
        }
        let place = Placing { width, ..PLAIN };
        for types in [(Tf32, Tf32, F32), (S8, U8, S32), (E5m2, E4m3, F32), (B1, B1, S32)] {
            let p = Product { a: Some(place), b: place, ..Product::new(16, depth(types.0), types) };
            cases.push(case(&format!("swizzle_{width}_{}", label(types)), p, &mut random));
        }
    }
    // The second to fourth step along K in rows of 128 bytes, and a pattern that begins inside 1024
    // bytes.
    for shift in [32, 64, 96] {
        let place = Placing { width: 128, shift, ..PLAIN };
        let p = Product { a: Some(place), b: place, ..Product::new(32, 16, (F16, F16, F32)) };
        cases.push(case(&format!("step_{shift}"), p, &mut random));
    }
    let place = Placing { width: 128, base: 3, ..PLAIN };
    let p = Product { a: Some(place), b: place, ..Product::new(32, 16, (F16, F16, F32)) };
    cases.push(case("base_offset", p, &mut random));
    check(&cases);
}

#[test]
fn sparse() {
    let mut random = Random(44);
    let mut cases = Vec::new();
    for &types in TYPES.iter().filter(|t| t.0 != B1) {
        let selectors = if types.0.bits() == 8 { 0..1 } else { 0..2 };
        for selector in selectors {
            for a in [Some(Placing { width: 64, ..PLAIN }), None] {
                let b = Placing { width: 64, ..PLAIN };
                let sparse = Some(selector);
                let p = Product { a, b, sparse, ..Product::new(16, 2 * depth(types.0), types) };
                let name = format!("sparse_{}_{selector}_{}", label(types), a.is_some());
                cases.push(case(&name, p, &mut random));
            }
        }
    }
    check(&cases);
}

/// One warp is far ahead of the others and fills the buffer again as soon as it has waited: the
/// others' rows must not change.
#[test]
fn a_wait_of_one_warp_is_for_all_four() {
    let mut random = Random(45);
    let p = Product::new(16, 16, (F16, F16, F32));
    let mut one = case("refilled", p, &mut random);
    let refill = "wgmma.wait_group.sync.aligned 0;\nsetp.ge.u32 %p, %thread, 32;\n@%p bra DONE;\n\
        mul.lo.u32 %to, %thread, 16;\nadd.u32 %to, %to, %s;\nmov.u32 %i, 0;\nFILL:\n\
        st.shared.v4.b32 [%to], {%i, %i, %i, %i};\nadd.u32 %to, %to, 512;\nadd.u32 %i, %i, 1;\n\
        setp.lt.u32 %p, %i, 96;\n@%p bra FILL;\nDONE:\n";
    one.source = one.source.replace("wgmma.wait_group.sync.aligned 0;\n", refill);
    let delay = "mov.u32 %i, 0;\nsetp.lt.u32 %p, %thread, 32;\n@%p bra GO;\nDELAY:\n\
        add.u32 %i, %i, 1;\nst.shared.b32 [%s+8192], %i;\nsetp.lt.u32 %p, %i, 3000;\n@%p bra DELAY;\nGO:\n\
        setp.ne.u32 %p, %f0, 0;\nwgmma.fence";
    one.source = one.source.replace("setp.ne.u32 %p, %f0, 0;\nwgmma.fence", delay);
    check(&[one]);
}
