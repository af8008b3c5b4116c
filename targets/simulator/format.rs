//! What conversions convert from and to, and the small formats among them: TF32 and 8-bit floats.

use super::float::{Mode, NAN32, Round};

/// A number format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    #[default]
    F32,
    F64,
    F16,
    Bf16,
    /// Single precision with 10 bits of significand.
    Tf32,
    E4m3,
    E5m2,
}

/// What a conversion does, packed in the `param` of a lane operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conversion {
    pub round: Round,
    /// Subnormal single precision operands count as zero, results become zero.
    pub ftz: bool,
    /// Of the float operand.
    pub from: Format,
    /// Of the float result.
    pub to: Format,
    /// The integer operand or result.
    pub signed: bool,
    /// Bits of the integer: 8, 16, 32 or 64.
    pub bits: u8,
    /// Negative results become zero.
    pub relu: bool,
    pub sat: bool,
    /// Results past the largest finite number become it.
    pub finite: bool,
}

fn format_code(format: Format) -> u32 {
    match format {
        Format::F32 => 0,
        Format::F64 => 1,
        Format::F16 => 2,
        Format::Bf16 => 3,
        Format::Tf32 => 4,
        Format::E4m3 => 5,
        Format::E5m2 => 6,
    }
}

fn format(code: u32) -> Format {
    match code & 7 {
        0 => Format::F32,
        1 => Format::F64,
        2 => Format::F16,
        3 => Format::Bf16,
        4 => Format::Tf32,
        5 => Format::E4m3,
        _ => Format::E5m2,
    }
}

impl Conversion {
    pub fn pack(self) -> u32 {
        Mode { round: self.round, ftz: self.ftz, sat: self.sat, extra: 0 }.pack()
            | format_code(self.from) << 4
            | format_code(self.to) << 7
            | u32::from(self.signed) << 10
            | u32::from(self.relu) << 11
            | u32::from(self.finite) << 12
            | u32::from(self.bits) << 16
    }

    pub fn unpack(param: u32) -> Conversion {
        let mode = Mode::unpack(param);
        Conversion {
            round: mode.round,
            ftz: mode.ftz,
            sat: mode.sat,
            from: format(param >> 4),
            to: format(param >> 7),
            signed: param >> 10 & 1 != 0,
            relu: param >> 11 & 1 != 0,
            finite: param >> 12 & 1 != 0,
            bits: (param >> 16) as u8,
        }
    }
}

/// The NaN of both 8-bit formats (PTX ISA 9.0, "cvt": 0x7f).
const NAN8: u64 = 0x7f;

/// Bits of the significand, the smallest exponent and the largest number of the formats that F2FP
/// alone knows.
fn shape(format: Format) -> (i32, i32, f64) {
    match format {
        // The largest exponent with all significand bits is a NaN; there is no infinity.
        Format::E4m3 => (3, -6, 448.0),
        Format::E5m2 => (2, -14, 57344.0),
        _ => (10, -126, f64::from(f32::from_bits(0x7f7f_e000))),
    }
}

/// The largest finite number of a format that .SATFINITE may clamp to.
pub fn largest(format: Format) -> Option<f64> {
    Some(match format {
        Format::F16 => 65504.0,
        Format::Bf16 => f64::from(f32::from_bits(0x7f7f_0000)),
        Format::Tf32 | Format::E4m3 | Format::E5m2 => shape(format).2,
        Format::F32 | Format::F64 => return None,
    })
}

/// A number rounded to the precision of a small format. It stays a double; overflow is left to the
/// caller.
fn rounded(format: Format, x: f64, round: Round) -> f64 {
    let (bits, least, _) = shape(format);
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    // Exact: a power of two in the range of a double.
    let unit = 2.0f64.powi(exponent - bits);
    let scaled = x / unit;
    let whole = match round {
        Round::Nearest => scaled.round_ties_even(),
        Round::Down => scaled.floor(),
        Round::Up => scaled.ceil(),
        Round::Zero => scaled.trunc(),
    };
    (whole * unit).copysign(x)
}

/// The bits of a number in TF32 (as single precision) or an 8-bit format.
pub fn narrow_small(c: Conversion, x: f64) -> u64 {
    if c.to == Format::Tf32 {
        return u64::from(if x.is_nan() {
            NAN32
        } else {
            (rounded(c.to, x, c.round) as f32).to_bits()
        });
    }
    if x.is_nan() {
        return NAN8;
    }
    let (bits, least, largest) = shape(c.to);
    let r = rounded(c.to, x, c.round).clamp(-largest, largest);
    let sign = u64::from(r.is_sign_negative()) << 7;
    let r = r.abs();
    if r < 2.0f64.powi(least) {
        return sign | (r / 2.0f64.powi(least - bits)) as u64;
    }
    let exponent = (r.to_bits() >> 52) as i32 - 1023;
    let fraction = r.to_bits() << 12 >> (64 - bits);
    sign | ((exponent - least + 1) as u64) << bits | fraction
}

/// A number of an 8-bit format, widened (exact).
pub fn byte_to_double(format: Format, x: u8) -> f64 {
    let (bits, least, _) = shape(format);
    let top = (0x7f >> bits) as u8;
    let (exponent, fraction) = ((x & 0x7f) >> bits, x & ((1 << bits) - 1));
    let size = match (format, exponent) {
        (Format::E4m3, _) if x & 0x7f == 0x7f => f64::NAN,
        (Format::E5m2, e) if e == top && fraction != 0 => f64::NAN,
        (Format::E5m2, e) if e == top => f64::INFINITY,
        (_, 0) => f64::from(fraction) * 2.0f64.powi(least - bits),
        (_, e) => f64::from(fraction | 1 << bits) * 2.0f64.powi(least - bits + i32::from(e) - 1),
    };
    if x & 0x80 != 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back_from_its_number() {
        for format in [Format::E4m3, Format::E5m2] {
            for x in 0..=255u8 {
                let wide = byte_to_double(format, x);
                let back = narrow_small(Conversion { to: format, ..Conversion::default() }, wide);
                if wide.is_nan() {
                    assert_eq!(back, NAN8);
                } else if wide.is_finite() {
                    assert_eq!(back, u64::from(x), "{format:?} {wide}");
                }
            }
        }
        assert_eq!(byte_to_double(Format::E4m3, 0x7e), 448.0);
        assert_eq!(byte_to_double(Format::E5m2, 0xfb), -57344.0);
        assert_eq!(byte_to_double(Format::E5m2, 0x7c), f64::INFINITY);
        assert_eq!(byte_to_double(Format::E4m3, 1), 2.0f64.powi(-9));
    }
}
