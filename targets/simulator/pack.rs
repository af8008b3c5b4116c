//! Conversions that pack or unpack several numbers of a register: F2FP, F2IP and I2IP.

use super::convert::{narrow, widen};
use super::format::{Conversion, Format};
use super::half::NAN16;

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
    use super::super::float::Round;
    use super::*;

    fn bits(x: f32) -> u64 {
        u64::from(x.to_bits())
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
