//! Two engines' buffers beside each other.
//!
//! Everything is compared bit by bit, but a NaN of an output of floats equals every other (PTX
//! leaves its sign and payload open), and approximations only have to be near.

use crate::engines;
use crate::program::{Class, Output, layout};

/// The index of the buffer with the outputs.
const OUTPUTS: usize = 1;

/// The first differences, each one line, and how many there are in all; nothing where the buffers
/// agree.
pub fn differences(outputs: &[Output], one: &[Vec<u8>], other: &[Vec<u8>]) -> Vec<String> {
    const SHOWN: usize = 6;
    let mut lines = Vec::new();
    let mut count = 0;
    let mut add = |line: &dyn Fn() -> String| {
        count += 1;
        if lines.len() < SHOWN {
            lines.push(line());
        }
    };
    let (offsets, row) = layout(outputs);
    for (index, (a, b)) in one.iter().zip(other).enumerate() {
        if a == b {
            continue;
        }
        if a.len() != b.len() {
            add(&|| format!("buffer {index} has {} and {} bytes", a.len(), b.len()));
        } else if index == OUTPUTS {
            for (thread, (a, b)) in a.chunks_exact(row).zip(b.chunks_exact(row)).enumerate() {
                for (slot, (output, at)) in outputs.iter().zip(&offsets).enumerate() {
                    let range = *at..at + output.class.bytes();
                    let (x, y) = (word(&a[range.clone()]), word(&b[range]));
                    if !same(*output, x, y) {
                        let class = output.class.name();
                        add(&|| {
                            format!("thread {thread}, output {slot} ({class}): {x:#x} and {y:#x}")
                        });
                    }
                }
            }
        } else {
            for (at, (x, y)) in
                a.chunks(4).zip(b.chunks(4)).enumerate().filter(|(_, (x, y))| x != y)
            {
                add(&|| {
                    format!("buffer {index}, byte {}: {:#x} and {:#x}", 4 * at, word(x), word(y))
                });
            }
        }
    }
    if count > SHOWN {
        lines.push(format!("{count} differences in all"));
    }
    lines
}

fn word(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
}

/// Exponent bits, fraction bits and the number of values in a word.
fn format(class: Class) -> Option<(u32, u32, u32)> {
    Some(match class {
        Class::F16 => (5, 10, 1),
        Class::F16x2 | Class::SumF16 => (5, 10, 2),
        Class::Bf16 => (8, 7, 1),
        Class::Bf16x2 => (8, 7, 2),
        Class::F32 | Class::SumF32 => (8, 23, 1),
        Class::F64 | Class::SumF64 => (11, 52, 1),
        _ => return None,
    })
}

fn same(output: Output, x: u128, y: u128) -> bool {
    if x == y {
        return true;
    }
    let Some((exponent, fraction, lanes)) = format(output.class) else { return false };
    let bits = 1 + exponent + fraction;
    (0..lanes).all(|lane| {
        let value = |word: u128| (word >> (lane * bits)) as u64 & (u64::MAX >> (64 - bits));
        let (x, y) = (value(x), value(y));
        let magnitude = u64::MAX >> (65 - bits);
        let infinity = ((1u64 << exponent) - 1) << fraction;
        let nan = |x: u64| x & magnitude > infinity;
        x == y || nan(x) && nan(y) || output.near && near(x, y, exponent, fraction)
    })
}

/// Whether two approximations are as near as two ways of computing them: some units of the coarsest
/// result that PTX allows, or both about as small as numbers get (whether such a result is flushed
/// is open).
fn near(x: u64, y: u64, exponent: u32, fraction: u32) -> bool {
    let number = |x: u64| {
        let bias = (1i32 << (exponent - 1)) - 1;
        let sign = if x >> (exponent + fraction) & 1 != 0 { -1.0 } else { 1.0 };
        let biased = (x >> fraction & ((1 << exponent) - 1)) as i32;
        let part = (x & ((1u64 << fraction) - 1)) as f64 / (1u64 << fraction) as f64;
        match biased {
            0 => sign * part * 2f64.powi(1 - bias),
            b if b == (1 << exponent) - 1 && part == 0.0 => sign * f64::INFINITY,
            b if b == (1 << exponent) - 1 => f64::NAN,
            b => sign * (1.0 + part) * 2f64.powi(b - bias),
        }
    };
    let (x, y) = (number(x), number(y));
    // The approximations of doubles have 20 bits; those of halves all but one.
    let relative = 2f64.powi(-(fraction.min(21) as i32) + 2);
    let least = 2f64.powi(3 - (1i32 << (exponent - 1)));
    // The machine's own approximations: sine and cosine have an error that does not shrink with
    // the result (PTX ISA: 2^-20.5), and what is computed from several of them has more.
    let (relative, least) =
        if engines::on_gpu() { (relative * 64.0, 2f64.powi(-16)) } else { (relative, least) };
    (x - y).abs() <= relative * x.abs().max(y.abs()) + least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(class: Class, near: bool, x: u64, y: u64) -> bool {
        let output = Output { class, near };
        let bytes = |x: u64| vec![Vec::new(), [x.to_le_bytes(), [0; 8]].concat()];
        differences(&[output], &bytes(x), &bytes(y)).is_empty()
    }

    #[test]
    fn exact_outputs_are_compared_by_bits_and_nans_are_one() {
        assert!(agree(Class::B32, false, 5, 5));
        assert!(!agree(Class::B32, false, 0x7fc0_0000, 0x7fff_ffff));
        assert!(agree(Class::F32, false, 0x7fc0_0000, 0xffff_ffff));
        assert!(!agree(Class::F32, false, 0x7f80_0000, 0x7fff_ffff));
        assert!(!agree(Class::F32, false, 0, 0x8000_0000));
        assert!(agree(Class::F16x2, false, 0x7e00_3c00, 0xffff_3c00));
        assert!(!agree(Class::F16x2, false, 0x7e00_3c00, 0xffff_3c01));
        assert!(agree(Class::F64, false, 0x7ff8_0000_0000_0000, 0xfff0_0000_0000_0001));
    }

    #[test]
    fn approximations_have_to_be_near() {
        assert!(agree(Class::F32, true, 0x3f80_0000, 0x3f80_0002));
        assert!(!agree(Class::F32, true, 0x3f80_0000, 0x3f81_0000));
        assert!(!agree(Class::F32, true, 0x3f80_0000, 0x7fff_ffff));
        assert!(agree(Class::F32, true, 0, 0x8000_0001));
        assert!(agree(Class::F16, true, 0x3c00, 0x3c01));
        assert!(!agree(Class::F16, true, 0x3c00, 0x3d00));
    }
}
