//! Conversions that pack or unpack several numbers of a register: F2FP, F2IP and I2IP.

use super::convert::{Conversion, Format, narrow, widen};
use super::float::{NAN32, Round};
use super::half::NAN16;

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

/// F2FP.PACK_AB of halves: a and b become the high and the low half.
pub fn pack_halves(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let c = Conversion::unpack(param);
    let half = |x: u64| narrow(c, widen(Format::F32, c.ftz, x));
    (half(a) << 16 | half(b), 0)
}

/// F2FP.MERGE_C: b becomes the low half below c, of which ptxas only uses RZ.
pub fn merge_half(param: u32, b: u64, c: u64, _: u64, _: u32) -> (u64, u32) {
    let conversion = Conversion::unpack(param);
    let low = narrow(conversion, widen(Format::F32, conversion.ftz, b));
    (low & 0xffff | c << 16 & 0xffff_0000, 0)
}

/// F2FP.PACK_AB_MERGE_C: a and b become bytes 1 and 0, c what lies above (ptxas only uses RZ).
pub fn pack_bytes(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let conversion = Conversion::unpack(param);
    let byte = |x: u64| narrow(conversion, widen(Format::F32, conversion.ftz, x));
    (byte(a) << 8 | byte(b) | c << 16 & 0xffff_0000, 0)
}

/// F2FP.F16.UNPACK_B_MERGE_C: both halves of b become bytes, c as above.
pub fn halves_to_bytes(param: u32, b: u64, c: u64, _: u64, _: u32) -> (u64, u32) {
    let conversion = Conversion::unpack(param);
    let byte = |x: u64| narrow(conversion, widen(Format::F16, false, x));
    (byte(b >> 16) << 8 | byte(b & 0xffff) | c << 16 & 0xffff_0000, 0)
}

/// F2FP.UNPACK_B: bytes 1 and 0 become the high and the low half.
pub fn bytes_to_halves(param: u32, b: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let c = Conversion::unpack(param);
    let half = |x: u64| {
        let r = narrow(c, widen(c.from, false, x));
        if r & 0x7fff > 0x7c00 && c.to == Format::F16 { u64::from(NAN16) } else { r }
    };
    (half(b >> 8 & 0xff) << 16 | half(b & 0xff), 0)
}

/// F2FP.TF32.PACK_B
pub fn single_to_tf32(param: u32, b: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let c = Conversion::unpack(param);
    (narrow(c, widen(Format::F32, c.ftz, b)), 0)
}

/// F2IP: a and b, rounded and clamped, become bytes 1 and 0; c lies above. NaN gives zero.
pub fn floats_to_bytes(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let byte = |x: u64| super::convert::float_to_int(param, x, 0, 0, 0).0 & 0xff;
    (byte(a) << 8 | byte(b) | c << 16 & 0xffff_0000, 0)
}

/// I2IP: a and b, clamped to `param`'s bits (0..7) and sign (bit 8), lie next to each other in the
/// low bits, c above them (PTX ISA 9.0, "cvt.pack").
pub fn integers(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let bits = param & 0xff;
    let (min, max) = if param & 256 != 0 {
        (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
    } else {
        (0, (1i64 << bits) - 1)
    };
    let fit = |x: u64| (i64::from(x as i32).clamp(min, max) as u64) & ((1 << bits) - 1);
    (((c << (2 * bits)) | fit(a) << bits | fit(b)) & 0xffff_ffff, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(x: f32) -> u64 {
        u64::from(x.to_bits())
    }

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

    #[test]
    fn bytes_round_to_even_and_stay_finite() {
        let c = Conversion { to: Format::E4m3, finite: true, ..Conversion::default() }.pack();
        // 17 lies between 16 and 18; 1000 is past 448.
        assert_eq!(pack_bytes(c, bits(17.0), bits(1000.0), 0, 0).0, 0x587e);
        assert_eq!(pack_bytes(c, bits(f32::NAN), bits(-0.0), 0, 0).0, 0x7f80);
        let relu = Conversion { relu: true, ..Conversion::unpack(c) }.pack();
        assert_eq!(pack_bytes(relu, bits(-17.0), bits(1.0), 0, 0).0, 0x0038);
    }

    #[test]
    fn tf32_keeps_ten_bits() {
        let go = |round, x: u32| {
            let c = Conversion { to: Format::Tf32, round, ..Conversion::default() };
            single_to_tf32(c.pack(), u64::from(x), 0, 0, 0).0
        };
        assert_eq!(go(Round::Nearest, 0x3f80_1000), 0x3f80_0000);
        assert_eq!(go(Round::Nearest, 0x3f80_3000), 0x3f80_4000);
        assert_eq!(go(Round::Zero, 0x3f80_3fff), 0x3f80_2000);
        assert_eq!(go(Round::Nearest, 0x7f7f_ffff), 0x7f80_0000);
    }

    #[test]
    fn integers_are_packed_above_each_other() {
        assert_eq!(integers(8 | 256, 300, (-300i64) as u64, 0x1234, 0).0, 0x1234_7f80);
        assert_eq!(integers(4, 20, 3, 0x1234, 0).0, 0x0012_34f3);
        assert_eq!(integers(16, 0xffff_ffff, 70000, 0, 0).0, 0x0000_ffff);
    }

    #[test]
    fn floats_become_two_halves() {
        let c = Conversion { to: Format::F16, ..Conversion::default() }.pack();
        assert_eq!(pack_halves(c, bits(1.0), bits(2.0), 0, 0).0, 0x3c00_4000);
        assert_eq!(merge_half(c, bits(1.0), 0, 0, 0).0, 0x3c00);
    }
}
