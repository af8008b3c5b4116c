//! Video instructions: arithmetic on bytes and halves of registers (PTX ISA 9.0, "Scalar Video
//! Instructions" and "SIMD Video Instructions"). Each is one function of three 32-bit operands.
//!
//! Intermediate results are exact here, wide enough for every instruction: saturation sees the true
//! value.

use super::integer::{mask, sign_extend};
use super::operand::Ternary;
use crate::ptx::program::Part;

/// The first operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Video {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    /// The average, halves rounded away from zero.
    Average,
    ShiftLeft {
        wrap: bool,
    },
    ShiftRight {
        wrap: bool,
    },
    Compare(Comparison),
}

/// The comparison of `vset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// What becomes of the intermediate result and the third operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Second {
    /// The result itself, or put into the third operand where the destination selects a part.
    Merge,
    Add,
    Min,
    Max,
}

/// A scalar video instruction; `signed` says it of a, b, and of the destination with c.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// The first operation.
    pub op: Video,
    /// Of a, of b, and of the destination with c.
    pub signed: [bool; 3],
    /// The part of a that is read; None is all of it.
    pub a: Option<Part>,
    /// The part of b that is read.
    pub b: Option<Part>,
    /// The part of the destination that is written.
    pub d: Option<Part>,
    /// The intermediate result is clamped.
    pub sat: bool,
    /// The second operation.
    pub second: Second,
}

/// The function of a scalar instruction.
pub fn scalar(s: Scalar) -> Ternary {
    let [a_signed, b_signed, d_signed] = s.signed;
    Box::new(move |a, b, c| {
        let a = pick(a, s.a, a_signed);
        let b = pick(b, s.b, b_signed);
        let width = s.d.map_or(32, width);
        let result = first(s.op, a, b);
        let result = if s.sat { clamp(result, width, d_signed) } else { result };
        let c_value = pick(c, None, d_signed);
        match s.second {
            Second::Merge => match s.d {
                None => result as u64,
                Some(part) => {
                    let at = u32::from(part.lanes[0]) * width;
                    let field = mask(width) << at;
                    c & !field | (result as u64) << at & field
                }
            },
            Second::Add => (low(result, d_signed) + c_value) as u64,
            Second::Min => low(result, d_signed).min(c_value) as u64,
            Second::Max => low(result, d_signed).max(c_value) as u64,
        }
    })
}

/// The 32 bits that go into a second operation, as a number of the destination's type.
fn low(x: i128, signed: bool) -> i128 {
    pick(x as u64, None, signed)
}

/// `vmad`: `negate` are those of the product and of c.
#[derive(Clone, Copy, Debug)]
pub struct MultiplyAdd {
    /// Of a and of b.
    pub signed: [bool; 2],
    /// The part of a that is read.
    pub a: Option<Part>,
    /// The part of b that is read.
    pub b: Option<Part>,
    /// The product's sign is changed, and that of c.
    pub negate: [bool; 2],
    /// `.po`: one more.
    pub plus_one: bool,
    /// The sum is shifted to the right by so many bits.
    pub shift: u32,
    /// The result is clamped.
    pub sat: bool,
}

/// The function of a `vmad`.
pub fn multiply_add(v: MultiplyAdd) -> Ternary {
    let [negate_product, negate_c] = v.negate;
    let signed = v.signed[0] || v.signed[1] || negate_product || negate_c;
    Box::new(move |a, b, c| {
        let product = pick(a, v.a, v.signed[0]) * pick(b, v.b, v.signed[1]);
        let product = if negate_product { -product } else { product };
        let c = pick(c, None, signed);
        let c = if negate_c { -c } else { c };
        let sum = (product + c + i128::from(v.plus_one)) >> v.shift;
        (if v.sat { clamp(sum, 32, signed) } else { sum }) as u64
    })
}

/// A SIMD video instruction on two halves or four bytes: for each lane, from the lowest, the
/// element of b:a that a and b are.
#[derive(Clone, Copy, Debug)]
pub struct Simd {
    /// The operation of each lane.
    pub op: Video,
    /// Of a, of b, and of the destination.
    pub signed: [bool; 3],
    /// Bits of a lane: 8 or 16.
    pub width: u32,
    /// By lane: the element of b:a that a is.
    pub a: [u8; 4],
    /// By lane: the element of b:a that b is.
    pub b: [u8; 4],
    /// Lanes that are computed; the others are those of c, or count nothing in the sum.
    pub mask: [bool; 4],
    /// Each lane's result is clamped.
    pub sat: bool,
    /// The sum of the lanes and c.
    pub accumulate: bool,
}

/// The function of a SIMD instruction.
pub fn simd(s: Simd) -> Ternary {
    let [a_signed, b_signed, d_signed] = s.signed;
    Box::new(move |a, b, c| {
        let elements = (b & mask(32)) << 32 | a & mask(32);
        let element =
            |index: u8, signed| extend(elements >> (u32::from(index) * s.width), s.width, signed);
        let (mut sum, mut merged) = (c, 0);
        for lane in 0..(32 / s.width) as usize {
            let at = lane as u32 * s.width;
            let result = first(s.op, element(s.a[lane], a_signed), element(s.b[lane], b_signed));
            let result = if s.sat { clamp(result, s.width, d_signed) } else { result };
            if s.mask[lane] {
                sum = sum.wrapping_add(result as u64);
                merged |= (result as u64 & mask(s.width)) << at;
            } else {
                merged |= c & mask(s.width) << at;
            }
        }
        if s.accumulate { sum } else { merged }
    })
}

fn width(part: Part) -> u32 {
    if part.halves { 16 } else { 8 }
}

/// A word, or the part of it that is selected.
fn pick(x: u64, part: Option<Part>, signed: bool) -> i128 {
    match part {
        None => extend(x, 32, signed),
        Some(part) => extend(x >> (u32::from(part.lanes[0]) * width(part)), width(part), signed),
    }
}

fn extend(x: u64, bits: u32, signed: bool) -> i128 {
    if signed { sign_extend(x, bits).into() } else { (x & mask(bits)).into() }
}

fn clamp(x: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        x.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        x.clamp(0, (1 << bits) - 1)
    }
}

fn first(op: Video, a: i128, b: i128) -> i128 {
    let amount = |wrap: bool| if wrap { (b & 31) as u32 } else { b.clamp(0, 32) as u32 };
    match op {
        Video::Add => a + b,
        Video::Sub => a - b,
        Video::AbsDiff => (a - b).abs(),
        Video::Min => a.min(b),
        Video::Max => a.max(b),
        Video::Average => {
            let sum = a + b;
            if sum >= 0 { (sum + 1) >> 1 } else { sum >> 1 }
        }
        Video::ShiftLeft { wrap } => a << amount(wrap),
        Video::ShiftRight { wrap } => a >> amount(wrap),
        Video::Compare(comparison) => i128::from(match comparison {
            Comparison::Eq => a == b,
            Comparison::Ne => a != b,
            Comparison::Lt => a < b,
            Comparison::Le => a <= b,
            Comparison::Gt => a > b,
            Comparison::Ge => a >= b,
        }),
    }
}
