//! Inputs: edge values, and random ones that come near the edges often.

use super::cases::{Case, Kind};

/// Magnitudes around every power of two that matters, and a few ordinary ones; of integers.
fn integer_edges(bits: u32, signed: bool) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let mut all = vec![0, 1, 2, 3, 5, 6, 7, 9, 10, 100, 641, 1000];
    for power in [7, 8, 15, 16, 23, 24, 25, 31, 32, 33, 47, 52, 53, 54, 62, 63] {
        if power < bits {
            let x = 1u64 << power;
            all.extend([x - 1, x, x + 1]);
        }
    }
    all.extend([
        0x1234_5678_9abc_def0,
        0xfedc_ba98_7654_3210,
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaab,
    ]);
    all.extend((0..12).map(|k| mask - k));
    if signed {
        let minus: Vec<u64> = all.iter().map(|x| x.wrapping_neg()).collect();
        all.extend(minus);
    }
    all.iter_mut().for_each(|x| *x &= mask);
    all.sort_unstable();
    all.dedup();
    all
}

/// Floats of a format with so many bits of fraction and of exponent: exponents at the ends, in the
/// middle, and where expansions change their way, with fractions at their ends.
fn float_edges(fraction: u32, exponent: u32) -> Vec<u64> {
    let (most, bias) = ((1u64 << exponent) - 1, (1u64 << (exponent - 1)) - 1);
    let ones = (1u64 << fraction) - 1;
    let mut exponents = vec![0, 1, 2, 3, bias - 1, bias, bias + 1, most - 3, most - 2, most - 1];
    exponents.extend([
        fraction as u64,
        fraction as u64 + 1,
        fraction as u64 + 2,
        bias / 2,
        bias + bias / 2,
    ]);
    exponents.extend([2 * fraction as u64 + 24, most - fraction as u64, 126, 127, 128, 129]);
    exponents.retain(|e| *e < most);
    let fractions = [0, 1, 2, ones, ones - 1, ones / 2, ones / 2 + 1, ones / 3, ones / 5 * 4];
    let mut all: Vec<u64> = exponents
        .iter()
        .flat_map(|e| fractions.iter().map(move |f| e << fraction | f))
        .chain([most << fraction, most << fraction | 1, most << fraction | 1 << (fraction - 1)])
        .collect();
    all.sort_unstable();
    all.dedup();
    let signs: Vec<u64> = all.iter().map(|x| x | 1 << (fraction + exponent)).collect();
    all.extend(signs);
    all
}

fn edge_values(case: &Case) -> Vec<u64> {
    match case.kind {
        Kind::Integer { bits, signed, .. } => integer_edges(bits, signed),
        Kind::Single { .. } => float_edges(23, 8),
        Kind::Double { .. } => float_edges(52, 11),
    }
}

/// Whether the second operand is read.
fn is_binary(case: &Case) -> bool {
    case.text.ends_with("%b")
}

/// All pairs of edge values, or all values.
pub fn edges(case: &Case) -> (Vec<u64>, Vec<u64>) {
    let values = edge_values(case);
    if !is_binary(case) {
        return (values.clone(), values);
    }
    let pairs = values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b)));
    pairs.unzip()
}

fn next(seed: &mut u64) -> u64 {
    // Splitmix64.
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *seed;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// One random value: any bits, or few significant ones, or next to an edge.
fn value(kind: Kind, edges: &[u64], seed: &mut u64) -> u64 {
    let (bits, choice) = (next(seed), next(seed) % 8);
    let edge = edges[(bits % edges.len() as u64) as usize];
    match kind {
        Kind::Integer { bits: width, .. } => {
            let mask = u64::MAX >> (64 - width);
            (match choice {
                0 => edge.wrapping_add(next(seed) % 5).wrapping_sub(2),
                // Of any number of bits.
                1..4 => bits & mask >> (next(seed) % u64::from(width)),
                4 => (bits & mask >> (next(seed) % u64::from(width))).wrapping_neg(),
                _ => bits,
            }) & mask
        }
        Kind::Single { .. } | Kind::Double { .. } => {
            let (fraction, width): (u32, u32) =
                if matches!(kind, Kind::Single { .. }) { (23, 32) } else { (52, 64) };
            let mask = u64::MAX >> (64 - width);
            let field = (1u64 << fraction) - 1;
            match choice {
                0 => edge.wrapping_add(next(seed) % 5).wrapping_sub(2) & mask,
                // An edge's exponent, any fraction; then a fraction with few bits, of zeros and of
                // ones.
                1 => edge & !field | next(seed) & field,
                2 => bits & mask & !(field >> (next(seed) % u64::from(fraction))),
                3 => (bits | field >> (next(seed) % u64::from(fraction))) & mask,
                // An exponent near that of one.
                4 | 5 => {
                    let one = if fraction == 23 { 120 } else { 1016 };
                    (one + next(seed) % 16) << fraction | bits & (field | 1 << (width - 1))
                }
                _ => bits & mask,
            }
        }
    }
}

pub fn random(case: &Case, count: usize, seed: &mut u64) -> (Vec<u64>, Vec<u64>) {
    let edges = edge_values(case);
    let a = (0..count).map(|_| value(case.kind, &edges, seed)).collect();
    let b = if is_binary(case) {
        (0..count).map(|_| value(case.kind, &edges, seed)).collect()
    } else {
        vec![1; count]
    };
    (a, b)
}
