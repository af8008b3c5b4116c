//! `ldmatrix`, `stmatrix` and `movmatrix`: 8 by 8 matrices of 16 bits.

use super::fragment::{Element, cells, converge, gather, scatter, whole, words};
use crate::lower::common::lanes::under_guard;
use crate::lower::common::modifiers;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::Space;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::Address;
use smallvec::SmallVec;

/// The words of the instruction for this many matrices.
fn words_of(inst: &Instruction) -> Sel<(SmallVec<[Mod; 3]>, u8)> {
    if !inst.has(Word::M8n8) || !inst.has(Word::B16) {
        return Err("matrices of this shape".into());
    }
    let mut mods: SmallVec<[Mod; 3]> = SmallVec::new();
    mods.extend([Mod::_16, if inst.has(Word::Trans) { Mod::MT88 } else { Mod::M88 }]);
    let count = [(Word::X4, 4), (Word::X2, 2)]
        .into_iter()
        .find(|(word, _)| inst.has(*word))
        .map_or(1, |(_, n)| n);
    mods.extend(match count {
        4 => Some(Mod::_4),
        2 => Some(Mod::_2),
        _ => None,
    });
    Ok((mods, count))
}

/// The address in shared memory: of a generic one the low 32 bits.
fn address(cx: &mut Cx<'_, '_>, inst: &Instruction, at: usize) -> Sel<Address> {
    if !matches!(modifiers::space(inst), Space::Shared | Space::Generic) {
        return Err("matrices of this space".into());
    }
    cx.address(operand(inst, at)?, Space::Shared)
}

/// `ldmatrix`: LDSM.
pub fn ldmatrix(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (mods, count) = words_of(inst)?;
    under_guard(cx, |cx| {
        converge(cx);
        let address = address(cx, inst, 1)?;
        let d = cx.e.temp(count);
        cx.e.load(Opcode::LDSM, &mods, whole(d, count), None, address);
        scatter(cx, operand(inst, 0)?, Element::S32, &cells(d, count))
    })
}

/// `stmatrix`: STSM.
pub fn stmatrix(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (mods, _) = words_of(inst)?;
    under_guard(cx, |cx| {
        converge(cx);
        let address = address(cx, inst, 0)?;
        let source = words(cx, operand(inst, 1)?, Element::S32)?;
        let source = gather(cx, &source);
        cx.e.store(Opcode::STSM, &mods, None, address, Operand::Reg(source));
        Ok(())
    })
}

/// `movmatrix`: MOVM.
pub fn movmatrix(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| {
        converge(cx);
        let source = words(cx, operand(inst, 1)?, Element::S32)?;
        let source = cx.in_reg(source[0]);
        let d = Operand::reg(cx.e.temp(1));
        cx.e.put(Opcode::MOVM, &[Mod::_16, Mod::MT88], 1, &[d, source]);
        scatter(cx, operand(inst, 0)?, Element::S32, &[d])
    })
}
