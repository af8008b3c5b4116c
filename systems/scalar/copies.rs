//! What a copy is: a cell (32 bits of a register) that an unguarded `MOV` writes (or a product with
//! zero) holds what its source holds, until one of them is written again, and so does a predicate
//! that logic gives again; a cell loaded by `LDC` from a fixed place of a constant bank holds that
//! constant for good.

use crate::analysis::liveness::{Cell, CellMap};
use crate::effects::{self, copies_words};
use orias_components::{ConstRef, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, View};
use orias_targets::slots::{IMAD_WIDE as WIDE, LDC, MOV};

/// What a cell is a copy of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Source {
    /// One cell of a virtual register, or a predicate.
    Cell(RegUse),
    Imm(u32),
    /// A fixed place in a constant bank.
    Const(ConstRef),
    /// A uniform register, of one cell.
    Uniform(RegUse),
}

impl Source {
    /// The register that it is, if it is one.
    pub(super) fn reg(self) -> Option<RegUse> {
        match self {
            Source::Cell(r) | Source::Uniform(r) => Some(r),
            Source::Imm(_) | Source::Const(_) => None,
        }
    }
}

/// What an instruction copies, by cell: an unguarded MOV or LDC.
pub(super) fn copies_of(map: &CellMap, inst: View<'_>, mut found: impl FnMut(Cell, Source)) {
    if !inst.guard.is_always() {
        return;
    }
    if inst.op == Opcode::IMAD && inst.defs == 2 {
        return copies_of_product(map, inst, found);
    }
    if inst.op == Opcode::PLOP3 {
        return copies_of_predicate(map, inst, found);
    }
    if !matches!(inst.op, Opcode::MOV | Opcode::LDC) || inst.defs != 1 {
        return;
    }
    let from = if inst.op == Opcode::MOV { MOV::B } else { LDC::A };
    let (Some(Operand::Reg(to)), Some(from)) = (inst.dests().next(), inst.get(from)) else {
        return;
    };
    let is_fixed =
        |c: &ConstRef| c.base == Reg::RZ && !c.is_bindless() && c.flags == RegFlags::NONE;
    if to.reg.vreg().is_none() || to.reg.file() != RegFile::R {
        return;
    }
    let all_lanes = || inst.len() == MOV::COUNT && copies_words(inst);
    match (inst.op, from) {
        (Opcode::MOV, from) if to.count == 1 && all_lanes() => {
            let source = match from {
                Operand::Reg(r) if r.reg == Reg::RZ && r.flags == RegFlags::NONE => Source::Imm(0),
                Operand::Reg(r)
                    if r.reg.vreg().is_some()
                        && r.reg.file() == RegFile::R
                        && r.count == 1
                        && r.flags == RegFlags::NONE =>
                {
                    Source::Cell(r)
                }
                Operand::Reg(r)
                    if r.reg.vreg().is_some()
                        && r.reg.file() == RegFile::UR
                        && r.count == 1
                        && r.flags == RegFlags::NONE =>
                {
                    Source::Uniform(r)
                }
                Operand::Imm(v) => Source::Imm(v as u32),
                Operand::Const(c) if is_fixed(&c) => Source::Const(c),
                _ => return,
            };
            map.cells(to).for_each(|cell| found(cell, source));
        }
        (Opcode::LDC, Operand::Const(c))
            if is_fixed(&c) && (inst.mods().is_empty() || inst.mods().as_slice() == [Mod::_64]) =>
        {
            for (i, cell) in map.cells(to).enumerate() {
                found(cell, Source::Const(ConstRef { offset: c.offset + 4 * i as i32, ..c }));
            }
        }
        _ => {}
    }
}

/// Logic of one predicate that gives it again.
fn copies_of_predicate(map: &CellMap, inst: View<'_>, mut found: impl FnMut(Cell, Source)) {
    let is_virtual = |r: RegUse| r.reg.vreg().is_some() && r.reg.file() == RegFile::P;
    if let Some(copy) = effects::as_copy(inst).filter(|c| is_virtual(c.to) && is_virtual(c.from)) {
        map.cells(copy.to).for_each(|cell| found(cell, Source::Cell(copy.from)));
    }
}

/// A product of 64 bits with zero is a copy of what is added to it.
fn copies_of_product(map: &CellMap, inst: View<'_>, mut found: impl FnMut(Cell, Source)) {
    let is_zero = |at: usize| matches!(inst.get(at), Some(Operand::RZ | Operand::Imm(0)));
    let is_wide = matches!(inst.mods().as_slice(), [Mod::WIDE] | [Mod::WIDE, Mod::U32]);
    if !is_wide || inst.get(WIDE::P) != Some(Operand::PT) {
        return;
    }
    let (Some(Operand::Reg(to)), Some(Operand::Reg(from))) = (inst.get(WIDE::D), inst.get(WIDE::C))
    else {
        return;
    };
    let is_whole = |r: RegUse| {
        r.reg.vreg().is_some()
            && r.reg.file() == RegFile::R
            && r.count == 2
            && r.flags == RegFlags::NONE
    };
    let is_zero = is_zero(WIDE::A) || is_zero(WIDE::B);
    if !is_zero || !is_whole(to) || !(is_whole(from) || from.reg == Reg::RZ) {
        return;
    }
    for (i, cell) in map.cells(to).enumerate() {
        let source = match from.reg {
            Reg::RZ => Source::Imm(0),
            reg => Source::Cell(RegUse::at(reg, from.cell + i as u8, 1)),
        };
        found(cell, source);
    }
}
