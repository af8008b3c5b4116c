//! Number formats against `rustc_apfloat`, and what matrices of registers give that mean nothing in
//! particular to PTX.

use super::number::{Accumulator, Element};
use super::shared::Descriptor;
use crate::memory::{MemorySpace, Region};
use crate::simulator::float::Round;
use rustc_apfloat::ieee::{Double, Float8E4M3FN, Float8E5M2, Half};
use rustc_apfloat::{Float, FloatConvert, Round as ApRound};

/// All bit patterns of a format have the value that the library gives them.
fn decodes<F: Float + FloatConvert<Double>>(element: Element) {
    for raw in 0..1u64 << element.bits() {
        let want: Double = F::from_bits(u128::from(raw)).convert(&mut false).value;
        let want = f64::from_bits(want.to_bits() as u64);
        let got = element.float(raw);
        let same = got == want && got.is_sign_negative() == want.is_sign_negative();
        assert!(same || got.is_nan() && want.is_nan(), "{element:?} {raw:#x}: {got} {want}");
    }
}

#[test]
fn small_floats_have_their_values() {
    decodes::<Half>(Element::F16);
    decodes::<Float8E5M2>(Element::E5m2);
    decodes::<Float8E4M3FN>(Element::E4m3);
    assert_eq!(Element::Bf16.float(0x4049), 3.140625);
    // The low 13 bits of TF32 do not count.
    assert_eq!(Element::Tf32.float(0x3f80_1fff), 1.0);
    assert_eq!(Element::Tf32.float(0x3f80_2000), 1.0 + 2f64.powi(-10));
}

#[test]
fn integers_extend_by_their_type() {
    assert_eq!([Element::S8.integer(0x180), Element::U8.integer(0x180)], [-128, 128]);
    assert_eq!([Element::S4.integer(0xf8), Element::U4.integer(0xf8)], [-8, 8]);
}

#[test]
fn half_sums_are_rounded_once_to_nearest() {
    let mut seed = 1u64;
    let edges =
        [0.0, -0.0, 65504.0, 65519.99, 65520.0, -1e9, f64::INFINITY, 5e-8, 2.98e-8, 2.99e-8];
    let random = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Exponents around those of halves.
        f64::from_bits(seed & 0x800f_ffff_ffff_ffff | (1023 - 27 + (seed >> 53) % 45) << 52)
    });
    for x in edges.into_iter().chain(random.take(20_000)) {
        let want: Half = Double::from_bits(u128::from(x.to_bits()))
            .convert_r(ApRound::NearestTiesToEven, &mut false)
            .value;
        assert_eq!(u128::from(Accumulator::F16.round(x)), want.to_bits(), "{x:e}");
    }
    // Halfway between two subnormal numbers.
    assert_eq!(Accumulator::F16.round(1.5 * 2f64.powi(-24)), 2);
    assert_eq!(Accumulator::F16.round(2.5 * 2f64.powi(-24)), 2);
}

#[test]
fn sums_that_are_no_numbers_are_the_canonical_ones() {
    let nan = f64::from_bits(0xfff0_0000_0000_0001);
    assert_eq!(Accumulator::F16.round(nan), 0x7fff);
    assert_eq!(Accumulator::F32.round(nan), 0x7fff_ffff);
    assert_eq!(Accumulator::F32.round(1e300), 0x7f80_0000);
    assert_eq!(Accumulator::F64(Round::Zero).round(0.5), 0.5f64.to_bits());
}

#[test]
fn integer_sums_wrap_or_are_clamped() {
    let [plain, clamped] = [false, true].map(|saturate| Accumulator::S32 { saturate });
    assert_eq!(plain.wrap(i64::from(i32::MAX) + 1), 0x8000_0000);
    assert_eq!(clamped.wrap(i64::from(i32::MAX) + 1), 0x7fff_ffff);
    assert_eq!(clamped.wrap(i64::from(i32::MIN) - 1), 0x8000_0000);
    assert_eq!(Accumulator::Count { xor: false }.wrap(-1), 0xffff_ffff);
}

#[test]
fn a_descriptor_reads_no_further_than_shared_memory() {
    let memory = Region::new("shared memory", MemorySpace::Shared, 0x400, vec![1; 256]);
    let descriptor = |start: u64| Descriptor::new(start >> 4 | 8 << 16 | 16 << 32);
    let read = |start| {
        let mut count = 0;
        let matrix = (0, 8, 16);
        let result =
            descriptor(start).read(&memory, Element::F16, matrix, false, |_, _, _| count += 1);
        result.map(|()| count).map_err(|fault| fault.to_string())
    };
    assert_eq!(read(0x400), Ok(128));
    let text = read(0x480).unwrap_err();
    assert!(text.starts_with("out-of-bounds read of 16 bytes at shared address 0x500"), "{text}");
    // What the system keeps is there.
    assert_eq!(read(0), Ok(128));
}
