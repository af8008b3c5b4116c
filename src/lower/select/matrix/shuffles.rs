//! Words moved between the lanes of a warp, and choices by lane.

use super::fragment::word;
use crate::lower::context::cx::{Cx, Sel};
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::imm;

/// The number of the lane.
pub fn lane(cx: &mut Cx<'_, '_>) -> Sel<Operand> {
    let d = word(cx);
    let source = cx.special_operand("SR_LANEID")?;
    cx.e.put(Opcode::S2R, &[], 1, &[d, source]);
    Ok(d)
}

/// Whether a bit of the lane's number is 0.
pub fn is_clear(cx: &mut Cx<'_, '_>, lane: Operand, bit: u32) -> Operand {
    let masked = word(cx);
    cx.e.and(masked, lane, imm(bit));
    let p = Operand::reg(cx.e.temp_pred());
    cx.e.icmp(p, Mod::EQ, false, masked, Operand::RZ);
    p
}

/// The word of the lane whose number is in `from`.
pub fn of_lane(cx: &mut Cx<'_, '_>, value: Operand, from: Operand) -> Operand {
    let (d, value) = (word(cx), cx.in_reg(value));
    cx.e.put(Opcode::SHFL, &[Mod::IDX], 2, &[Operand::PT, d, value, from, imm(0x1f)]);
    d
}

/// The word of the lane whose number differs by these bits.
pub fn across(cx: &mut Cx<'_, '_>, value: Operand, bits: u32) -> Operand {
    let d = word(cx);
    cx.e.put(Opcode::SHFL, &[Mod::BFLY], 2, &[Operand::PT, d, value, imm(bits), imm(0x1f)]);
    d
}

/// `p ? a : b`
pub fn select(cx: &mut Cx<'_, '_>, p: Operand, a: Operand, b: Operand) -> Operand {
    let (d, a) = (word(cx), cx.in_reg(a));
    cx.e.sel(d, a, b, p);
    d
}

/// Four of the bytes of `b:a`.
pub fn permute(cx: &mut Cx<'_, '_>, a: Operand, b: Operand, selector: u32) -> Operand {
    let (d, a, b) = (word(cx), cx.in_reg(a), cx.in_reg(b));
    cx.e.prmt(d, a, imm(selector), b);
    d
}

/// The lower halves of two words, and the upper ones.
pub const LOWER: u32 = 0x5410;
/// See [`LOWER`].
pub const UPPER: u32 = 0x7632;
