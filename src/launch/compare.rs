//! Comparing buffers element by element, as `tests/corpus/README.md` says: integers exactly, floats
//! within `atol + rtol * |want|`.

use serde::Deserialize;

/// How a buffer's elements are compared.
#[derive(Clone, Debug, Deserialize)]
pub struct Compare {
    /// `u8` to `u64`, `f16`, `bf16`, `f32` or `f64`.
    #[serde(rename = "type")]
    pub ty: String,
    /// What floats may differ by, as a part of what is expected.
    #[serde(default)]
    pub rtol: f64,
    /// And in any case.
    #[serde(default)]
    pub atol: f64,
}

/// The number that an element's bytes are.
type Value = fn(&[u8]) -> f64;

/// The first difference and how many there are; None when the buffers agree.
pub fn difference(got: &[u8], want: &[u8], compare: &Compare) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("has {} bytes, expected {}", got.len(), want.len()));
    }
    let (size, float): (usize, Option<Value>) = match compare.ty.as_str() {
        "u8" => (1, None),
        "u16" => (2, None),
        "u32" => (4, None),
        "u64" => (8, None),
        "f16" => (2, Some(half)),
        "bf16" => (2, Some(|b| f64::from(f32::from_bits(u32::from(word(b) as u16) << 16)))),
        "f32" => (4, Some(|b| f64::from(f32::from_bits(word(b) as u32)))),
        "f64" => (8, Some(|b| f64::from_bits(word(b)))),
        other => return Some(format!("cannot be compared as {other}")),
    };
    if !want.len().is_multiple_of(size) {
        return Some(format!("has {} bytes, not a multiple of {size}", want.len()));
    }
    let mut first = None;
    let mut count = 0usize;
    for (index, (g, w)) in got.chunks_exact(size).zip(want.chunks_exact(size)).enumerate() {
        let equal = match float {
            None => g == w,
            Some(value) => close(value(g), value(w), compare),
        };
        if !equal {
            count += 1;
            first.get_or_insert_with(|| match float {
                None => format!("[{index}] is {:#x}, expected {:#x}", word(g), word(w)),
                Some(value) => format!("[{index}] is {:?}, expected {:?}", value(g), value(w)),
            });
        }
    }
    first.map(|text| {
        let elements = want.len() / size;
        format!("{text} ({count} of {elements} elements are wrong)")
    })
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn half(bytes: &[u8]) -> f64 {
    let bits = word(bytes);
    let (exponent, fraction) = ((bits >> 10 & 0x1f) as i32, (bits & 0x3ff) as f64);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 != 0 { -magnitude } else { magnitude }
}

/// Infinities must be equal, NaN matches NaN, -0 equals +0.
fn close(got: f64, want: f64, compare: &Compare) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    if want.is_infinite() || got.is_infinite() {
        return got == want;
    }
    (got - want).abs() <= compare.atol + compare.rtol * want.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn by(ty: &str, rtol: f64, atol: f64) -> Compare {
        Compare { ty: ty.to_string(), rtol, atol }
    }

    #[test]
    fn integers_are_compared_exactly() {
        let text = difference(&[1, 0, 2, 0], &[1, 0, 3, 0], &by("u16", 0.0, 0.0)).unwrap();
        assert_eq!(text, "[1] is 0x2, expected 0x3 (1 of 2 elements are wrong)");
        assert_eq!(difference(&[1, 2], &[1, 2], &by("u8", 0.0, 0.0)), None);
        assert!(difference(&[1], &[1, 2], &by("u8", 0.0, 0.0)).is_some());
    }

    #[test]
    fn floats_are_compared_within_their_tolerances() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let compare = by("f32", 0.1, 0.0);
        assert_eq!(
            difference(&floats(&[1.05, nan, inf, -0.0]), &floats(&[1.0, nan, inf, 0.0]), &compare),
            None
        );
        for (got, want) in [(1.2, 1.0), (nan, 1.0), (1.0, nan), (inf, -inf), (3e38, inf)] {
            assert!(
                difference(&floats(&[got]), &floats(&[want]), &compare).is_some(),
                "{got} {want}"
            );
        }
        assert_eq!(difference(&floats(&[1.2]), &floats(&[1.0]), &by("f32", 0.0, 0.25)), None);
    }

    #[test]
    fn halves_are_decoded() {
        for (bits, value) in
            [(0x3c00u16, 1.0), (0xc000, -2.0), (0x0001, 2f64.powi(-24)), (0x7bff, 65504.0)]
        {
            assert_eq!(half(&bits.to_le_bytes()), value);
        }
    }
}
