//! `mma.sp`: half of A is there, and metadata says which half.

use super::bench::{Case, Random, check, check_on_sm_80, kernel, registers};
use super::format::Type::{self, *};
use super::format::{Matrix, finish};
use super::mma::{count, fragment, layout_a, layout_b, layout_c};

/// A as it is there: half as wide, its place of each element, and the bits that say so, by rows.
pub struct Compressed {
    pub values: Matrix,
    pub full: Matrix,
    pub metadata: Vec<u64>,
}

/// A random sparse matrix (PTX ISA 9.0, "Sparse matrix storage"): of TF32 one of two elements is
/// there, of 4-bit integers two neighbours of four pairs, of others two of four elements.
pub fn compress(rows: usize, depth: usize, ty: Type, random: &mut Random) -> Compressed {
    let mut values = Matrix::zero(rows, depth / 2);
    let mut full = Matrix::zero(rows, depth);
    let mut metadata = Vec::new();
    for row in 0..rows {
        let mut bits = 0u64;
        let mut next = 0;
        let mut put = |column: usize, random: &mut Random| {
            let value = ty.random(random);
            values.set(row, next, value);
            full.set(row, column, value);
            next += 1;
        };
        let chunk = match ty {
            Tf32 => 2,
            S4 | U4 => 8,
            _ => 4,
        };
        for (at, first) in (0..depth).step_by(chunk).enumerate() {
            let which = if ty == Tf32 {
                let second = random.below(2) as usize;
                put(first + second, random);
                [0b0100, 0b1110][second]
            } else {
                let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
                let (low, high) = pairs[random.below(6) as usize];
                for index in [low, high] {
                    let each = chunk / 4;
                    for i in 0..each {
                        put(first + index * each + i, random);
                    }
                }
                (low | high << 2) as u64
            };
            bits |= which << (4 * at);
        }
        metadata.push(bits);
    }
    Compressed { values, full, metadata }
}

/// The metadata registers of a warp for 16 rows. What the selector does not name is not zero.
pub fn metadata(rows: &[u64], ty: Type, depth: usize, selector: usize) -> Vec<u8> {
    let mut words = [0xdead_beefu32; 32];
    let chunk_bits = match ty {
        Tf32 => depth / 2 * 4,
        S4 | U4 => depth / 8 * 4,
        _ => depth,
    };
    for group in 0..8 {
        let (upper, lower) = (rows[group], rows[group + 8]);
        let holders: Vec<u32> = match (ty, chunk_bits) {
            // 16 bits of both rows.
            (F16 | Bf16 | Tf32, bits) => (0..bits / 16)
                .map(|i| (upper >> (16 * i) & 0xffff | (lower >> (16 * i) & 0xffff) << 16) as u32)
                .collect(),
            // 32 bits of one row, then of the other.
            (_, bits) => (0..bits / 32)
                .flat_map(|i| [(upper >> (32 * i)) as u32, (lower >> (32 * i)) as u32])
                .collect(),
        };
        let first = selector * holders.len();
        words[group * 4 + first..][..holders.len()].copy_from_slice(&holders);
    }
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn case(
    depth: usize,
    (a, b, acc): (Type, Type, Type),
    selector: usize,
    (ordered, saturate): (bool, bool),
    random: &mut Random,
) -> Case {
    let sparse = compress(16, depth, a, random);
    let mb = Matrix::random(depth, 8, b, random);
    let mut mc = Matrix::random(16, 8, acc, random);
    if saturate {
        for (i, x) in mc.data.iter_mut().enumerate() {
            *x += [i64::from(i32::MAX) - 100_000, i64::from(i32::MIN) + 100_000][i % 2];
        }
    }
    let md = finish(&sparse.full.multiply(&mb, &mc, |x, y| x * y), acc, saturate);
    let instruction = format!(
        "mma.sp{}.sync.aligned.m16n8k{depth}.row.col{}.{}.{}.{}.{}",
        if ordered { "::ordered_metadata" } else { "" },
        if saturate { ".satfinite" } else { "" },
        acc.name(),
        a.name(),
        b.name(),
        acc.name()
    );
    let ra = registers("a", count(16 * depth / 2, a), 4);
    let rb = registers("b", count(8 * depth, b), 4);
    let rc = registers("c", count(128, acc), 4);
    let rd = registers("d", rc.count, 4);
    let re = registers("e", 1, 4);
    let [d, a_list, b_list, c] = [rd, ra, rb, rc].map(|r| r.list());
    let body = format!("{instruction} {d}, {a_list}, {b_list}, {c}, %e0, {selector};");
    let name = format!("{}_{selector}", instruction.replace(['.', ':'], "_"));
    let source = kernel(&name, "", &[ra, rb, rc, re], &body, &[rd]);
    let want = fragment(&md, acc, layout_c());
    let buffers = vec![
        fragment(&sparse.values, a, layout_a(16, depth / 2, a.bits())),
        fragment(&mb, b, layout_b(b.bits())),
        fragment(&mc, acc, layout_c()),
        metadata(&sparse.metadata, a, depth, selector),
        vec![0; want.len()],
    ];
    let want = vec![None, None, None, None, Some(want)];
    Case { name, source, threads: 32, buffers, want }
}

#[test]
fn floats() {
    let mut random = Random(11);
    let mut cases = Vec::new();
    let mut add = |depth, types, selectors: std::ops::Range<usize>| {
        for selector in selectors {
            for ordered in [false, true] {
                cases.push(case(depth, types, selector, (ordered, false), &mut random));
            }
        }
    };
    for types in [(F16, F16, F16), (F16, F16, F32), (Bf16, Bf16, F32)] {
        add(16, types, 0..4);
        add(32, types, 0..2);
    }
    add(8, (Tf32, Tf32, F32), 0..4);
    add(16, (Tf32, Tf32, F32), 0..2);
    check(&cases);
    check_on_sm_80(&cases);
    let mut cases = Vec::new();
    let mut add = |types| cases.push(case(64, types, 0, (false, false), &mut random));
    for (a, b) in [(E4m3, E4m3), (E4m3, E5m2), (E5m2, E4m3), (E5m2, E5m2)] {
        add((a, b, F32));
    }
    check(&cases);
}

#[test]
fn integers() {
    let mut random = Random(12);
    let mut cases = Vec::new();
    let mut add = |depth, a, b, selectors: std::ops::Range<usize>| {
        for selector in selectors {
            for saturate in [false, true] {
                let ordered = selector == 0 && saturate;
                cases.push(case(depth, (a, b, S32), selector, (ordered, saturate), &mut random));
            }
        }
    };
    for (a, b) in [(S8, S8), (S8, U8), (U8, S8), (U8, U8)] {
        add(32, a, b, 0..2);
        add(64, a, b, 0..1);
    }
    for (a, b) in [(S4, S4), (S4, U4), (U4, S4), (U4, U4)] {
        add(64, a, b, 0..2);
        add(128, a, b, 0..1);
    }
    check(&cases);
    check_on_sm_80(&cases);
}
