//! Number formats of matrix elements and accumulators.

use crate::simulator::float::{NAN32, Round};
use crate::simulator::half::NAN16;

/// The type of A's or B's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    /// Of C alone.
    F32,
    E4m3,
    E5m2,
    F64,
    U8,
    S8,
    U4,
    S4,
    /// 32 single bits.
    Bits,
}

impl Element {
    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Element::F64 => 64,
            Element::Tf32 | Element::F32 | Element::Bits => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::U8 | Element::S8 => 8,
            Element::U4 | Element::S4 => 4,
        }
    }

    /// Elements of a register, or of a pair that holds a double.
    pub fn per_register(self) -> usize {
        (32 / self.bits()).max(1) as usize
    }

    /// Registers of one element or more.
    pub fn registers(self) -> u16 {
        self.bits().div_ceil(32) as u16
    }

    pub fn is_float(self) -> bool {
        use Element::*;
        matches!(self, F16 | Bf16 | Tf32 | F32 | E4m3 | E5m2 | F64)
    }

    /// The value of a float whose bits are the low ones of `raw`; exact.
    pub fn float(self, raw: u64) -> f64 {
        // The exponent and fraction of a smaller format at the place of the single's, scaled by the
        // difference of the biases: right for subnormal numbers too.
        let scaled = |magnitude: u32, bias: u32| {
            let scale = f32::from_bits((127 + 127 - bias) << 23);
            f32::from_bits(magnitude) * scale
        };
        let signed = |x: f32, sign: u64| f64::from(if sign != 0 { -x } else { x });
        match self {
            Element::F64 => f64::from_bits(raw),
            Element::F32 => f64::from(f32::from_bits(raw as u32)),
            Element::Tf32 => f64::from(f32::from_bits(raw as u32 & !0x1fff)),
            Element::Bf16 => f64::from(f32::from_bits((raw as u32) << 16)),
            Element::F16 => {
                let magnitude = raw as u32 & 0x7fff;
                let x = match magnitude {
                    0x7c00 => f32::INFINITY,
                    0x7c01.. => f32::NAN,
                    _ => scaled(magnitude << 13, 15),
                };
                signed(x, raw & 0x8000)
            }
            Element::E5m2 => Element::F16.float(raw << 8 & 0xff00),
            Element::E4m3 => {
                let magnitude = raw as u32 & 0x7f;
                let x = if magnitude == 0x7f { f32::NAN } else { scaled(magnitude << 20, 7) };
                signed(x, raw & 0x80)
            }
            _ => self.integer(raw).into(),
        }
    }

    /// The value of an integer whose bits are the low ones of `raw`; of single bits their word.
    pub fn integer(self, raw: u64) -> i32 {
        match self {
            Element::U8 => i32::from(raw as u8),
            Element::S8 => i32::from(raw as i8),
            Element::U4 => (raw & 15) as i32,
            Element::S4 => (raw as i32) << 28 >> 28,
            _ => raw as i32,
        }
    }
}

/// The type of C's and D's elements, and how sums end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accumulator {
    F16,
    F32,
    F64(Round),
    /// Wraps, or is clamped.
    S32 {
        saturate: bool,
    },
    /// Counts the bits that both have, or those that one of the two has.
    Count {
        xor: bool,
    },
}

impl Accumulator {
    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Accumulator::F16 => 16,
            Accumulator::F64(_) => 64,
            _ => 32,
        }
    }

    /// The bits of a float sum in this format.
    pub fn round(self, x: f64) -> u64 {
        match self {
            Accumulator::F16 => u64::from(half(x)),
            Accumulator::F64(_) => x.to_bits(),
            _ if x.is_nan() => u64::from(NAN32),
            _ => u64::from((x as f32).to_bits()),
        }
    }

    /// The bits of an integer sum.
    pub fn wrap(self, x: i64) -> u64 {
        let x = match self {
            Accumulator::S32 { saturate: true } => x.clamp(i32::MIN.into(), i32::MAX.into()),
            _ => x,
        };
        u64::from(x as u32)
    }
}

/// A double rounded to a half, to nearest with ties to even.
fn half(x: f64) -> u16 {
    if x.is_nan() {
        return NAN16;
    }
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = x.abs();
    // Halfway between the largest half and the next power of two.
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // The exponent of the smallest unit: of a subnormal half it is that of the smallest normal one.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let scale = f64::from_bits(((1023 + 10 - exponent) as u64) << 52);
    let units = (magnitude * scale).round_ties_even() as u16;
    // The leading bit of a normal number's units counts the exponent up by one, as does a carry.
    sign | ((((exponent + 14) as u16) << 10) + units)
}
