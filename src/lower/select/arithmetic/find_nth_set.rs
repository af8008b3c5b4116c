//! `fns`: the place of the n-th set bit.

use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{cell, imm, neg, r};

/// `fns.b32 d, mask, base, offset`: from `base` on upwards, or with a negative offset downwards;
/// with zero the bit at `base` itself.
///
/// Downwards is upwards in the reversed word; a base beyond the word leaves no bits. The bits below
/// the base are cleared, and halves are halved again: where the lower one has too few, its number
/// is taken off and the search goes on in the upper one.
pub fn fns(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let mask = cx.src(operand(inst, 1)?, Type::B32)?;
    let base = cx.src(operand(inst, 2)?, Type::B32)?;
    let offset = cx.src(operand(inst, 3)?, Type::S32)?;
    let (mask, base, offset) = (cx.in_reg(mask), cx.in_reg(base), cx.in_reg(offset));
    let e = &mut cx.e;
    let (down, here) = (e.temp_pred(), e.temp_pred());
    e.icmp(r(down), Mod::LT, true, offset, Operand::RZ);
    e.icmp(r(here), Mod::EQ, false, offset, Operand::RZ);
    let (reversed, word, other, from) = (e.temp(1), e.temp(1), e.temp(1), e.temp(1));
    e.put(Opcode::BREV, &[], 1, &[r(reversed), mask]);
    e.sel(r(word), r(reversed), mask, r(down));
    e.iadd3(r(other), neg(base), imm(31), Operand::RZ);
    e.sel(r(from), r(other), base, r(down));
    // The candidates: from the base on, or the base alone.
    let (ones, one, above, only, allowed, bits) =
        (e.temp(1), e.temp(1), e.temp(1), e.temp(1), e.temp(1), e.temp(1));
    e.mov(r(ones), imm(u32::MAX));
    e.mov(r(one), imm(1));
    e.shl(r(above), r(ones), r(from));
    e.shl(r(only), r(one), r(from));
    e.sel(r(allowed), r(only), r(above), r(here));
    e.and(r(bits), r(word), r(allowed));
    let (magnitude, wanted, all) = (e.temp(1), e.temp(1), e.temp(1));
    e.put(Opcode::IABS, &[], 1, &[r(magnitude), offset]);
    e.sel(r(wanted), r(one), r(magnitude), r(here));
    e.put(Opcode::POPC, &[], 1, &[r(all), r(bits)]);
    let none = e.temp_pred();
    e.icmp(r(none), Mod::LT, false, r(all), r(wanted));
    let (mut rest, mut left, mut at) = (bits, wanted, Operand::RZ);
    for width in [16, 8, 4, 2, 1] {
        let (half, count, upper) = (e.temp(1), e.temp(1), e.temp_pred());
        e.and(r(half), r(rest), imm((1 << width) - 1));
        e.put(Opcode::POPC, &[], 1, &[r(count), r(half)]);
        e.icmp(r(upper), Mod::LT, false, r(count), r(left));
        let (high, fewer, further) = (e.temp(1), e.temp(1), e.temp(1));
        e.shr(r(high), r(rest), imm(width), false);
        e.iadd3(r(fewer), r(left), neg(r(count)), Operand::RZ);
        e.iadd3(r(further), at, imm(width), Operand::RZ);
        let next = [e.temp(1), e.temp(1), e.temp(1)];
        e.sel(r(next[0]), r(high), r(rest), r(upper));
        e.sel(r(next[1]), r(fewer), r(left), r(upper));
        e.sel(r(next[2]), r(further), at, r(upper));
        (rest, left, at) = (next[0], next[1], r(next[2]));
    }
    let (back, found) = (e.temp(1), e.temp(1));
    e.iadd3(r(back), neg(at), imm(31), Operand::RZ);
    e.sel(r(found), r(back), at, r(down));
    e.sel(cell(d, 0), r(ones), r(found), r(none));
    Ok(())
}
