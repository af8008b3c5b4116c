//! Copy and constant propagation, cell by cell.
//!
//! A cell (32 bits of a register) that an unguarded `MOV` writes holds what its source holds, until one of them is written
//! again; a cell loaded by `LDC` from a fixed place of a constant bank holds that constant for good. Uses are replaced
//! * behind the copy in the same block, as long as neither side is written;
//! * in blocks that the copy's block dominates, when both sides have one definition in the function: then neither can change
//!   between the two (a second run of the source's definition would have to pass the copy again before the use).
//!
//! Immediates and constants go only where a row of the target takes them. A wide use is replaced when all its cells are
//! copies of neighbours in one register that keep its alignment.

use crate::analysis::cfg::Graph;
use crate::analysis::dominators::Dominators;
use crate::analysis::liveness::{Cell, CellMap};
use crate::function::Options;
use crate::notes::Notes;
use crate::scalar::fold;
use bevy_ecs::prelude::*;
use orias_components::{
    BlockId, Body, Code, ConstRef, Inst, InstId, Mod, Opcode, Operand, Props, Reg, RegFile,
    RegFlags, RegUse, View,
};
use orias_targets::Target;
use rustc_hash::FxHashMap;

/// What a cell is a copy of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Source {
    /// One cell of a virtual register.
    Cell(RegUse),
    Imm(u32),
    /// A fixed place in a constant bank.
    Const(ConstRef),
}

/// Phase `OriCopyProp`.
pub fn copy_prop(code: Code<'_, '_>, options: Res<'_, Options>, mut notes: Notes<'_>) {
    notes.count(propagate(&mut code.body(), options.target));
}

/// Replaces uses of copies; the copies themselves stay for dead code elimination. Returns how many operands changed.
pub(super) fn propagate(body: &mut Body<'_>, target: &Target) -> usize {
    let map = CellMap::new(body);
    let everywhere = Everywhere::new(body, &map);
    let mut replaced = 0;
    for block in body.layout().to_vec() {
        let mut here = Here::default();
        for id in body.block(block).insts.clone() {
            let find =
                |cell: Cell| here.copies.get(&cell).copied().or_else(|| everywhere.at(cell, block));
            replaced += rewrite_uses(body, &map, target, id, find);
            let inst = body.inst(id);
            inst.for_each_def(|r| map.cells(r).for_each(|cell| here.forget(cell)));
            copies_of(&map, inst, |cell, source| here.note(&map, cell, source));
        }
    }
    replaced
}

/// What an instruction copies, by cell: an unguarded MOV or LDC.
fn copies_of(map: &CellMap, inst: View<'_>, mut found: impl FnMut(Cell, Source)) {
    if !matches!(inst.op, Opcode::MOV | Opcode::LDC) || !inst.guard.is_always() || inst.defs != 1 {
        return;
    }
    let (Some(Operand::Reg(to)), Some(from)) = (inst.get(0), inst.get(1)) else { return };
    let is_fixed =
        |c: &ConstRef| c.base == Reg::RZ && !c.is_bindless() && c.flags == RegFlags::NONE;
    if to.reg.vreg().is_none() || to.reg.file() != RegFile::R {
        return;
    }
    let all_lanes = || inst.len() == 3 && inst.get(2) == Some(Operand::Imm(0xf));
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

/// Copies that hold at one place of a block.
#[derive(Default)]
struct Here {
    copies: FxHashMap<Cell, Source>,
    /// Copies to forget when a cell is written.
    readers: FxHashMap<Cell, Vec<Cell>>,
}

impl Here {
    fn note(&mut self, map: &CellMap, cell: Cell, source: Source) {
        if let Source::Cell(from) = source {
            for read in map.cells(from) {
                if read == cell {
                    return;
                }
                self.readers.entry(read).or_default().push(cell);
            }
        }
        self.copies.insert(cell, source);
    }

    fn forget(&mut self, written: Cell) {
        self.copies.remove(&written);
        for cell in self.readers.remove(&written).unwrap_or_default() {
            self.copies.remove(&cell);
        }
    }
}

/// Copies between cells that have one definition each, and where.
struct Everywhere {
    copies: FxHashMap<Cell, (Source, BlockId)>,
    dom: Dominators,
}

impl Everywhere {
    fn new(body: &Body<'_>, map: &CellMap) -> Everywhere {
        let mut definitions: Vec<u8> = vec![0; map.count()];
        let mut found = Vec::new();
        for block in body.layout() {
            for id in &body.block(*block).insts {
                let inst = body.inst(*id);
                inst.for_each_def(|r| {
                    for cell in map.cells(r) {
                        let n = &mut definitions[cell as usize];
                        *n = n.saturating_add(1);
                    }
                });
                copies_of(map, inst, |c, s| found.push((c, s, *block)));
            }
        }
        let once = |cell: Cell| definitions[cell as usize] == 1;
        let fixed = |source: &Source| match source {
            Source::Cell(r) => map.cells(*r).all(once),
            _ => true,
        };
        let copies = found
            .into_iter()
            .filter(|(cell, source, _)| once(*cell) && fixed(source))
            .map(|(cell, source, block)| (cell, (source, block)))
            .collect();
        Everywhere { copies, dom: Dominators::new(&Graph::of(body)) }
    }

    /// What the cell is a copy of in another block. (In its own block, [`Here`] knows.)
    fn at(&self, cell: Cell, block: BlockId) -> Option<Source> {
        let (source, home) = self.copies.get(&cell)?;
        (*home != block && self.dom.dominates(home.0, block.0)).then_some(*source)
    }
}

/// Instructions whose one-cell sources are whole 32-bit words, so that an immediate there is the register's value.
const WORD_OPS: [Opcode; 23] = [
    Opcode::MOV,
    Opcode::IADD3,
    Opcode::IMAD,
    Opcode::ISETP,
    Opcode::LEA,
    Opcode::LOP3,
    Opcode::SHF,
    Opcode::SEL,
    Opcode::PRMT,
    Opcode::VIADD,
    Opcode::VIMNMX,
    Opcode::IMNMX,
    Opcode::IABS,
    Opcode::POPC,
    Opcode::FLO,
    Opcode::BREV,
    Opcode::FADD,
    Opcode::FMUL,
    Opcode::FFMA,
    Opcode::FSETP,
    Opcode::FSEL,
    Opcode::FMNMX,
    Opcode::SGXT,
];

/// Whether an operand is what a matrix product adds to and writes back: it stays where the result goes.
fn is_accumulator(inst: &Inst, at: usize) -> bool {
    let register = |at: usize| inst.operands.get(at).and_then(|o| o.as_reg()).map(|r| r.reg);
    inst.defs > 0
        && inst.op.has(Props::CONVERGENT)
        && register(at).is_some_and(|r| !r.is_zero() && register(0) == Some(r))
}

fn rewrite_uses(
    body: &mut Body<'_>,
    map: &CellMap,
    target: &Target,
    id: InstId,
    find: impl Fn(Cell) -> Option<Source>,
) -> usize {
    let inst = body.inst(id);
    // A phi's values belong to edges, and what a barrier or a branch target names is no value.
    if inst.op == Opcode::MOVPHI {
        return 0;
    }
    let mut reads_copy = false;
    inst.for_each_use(|r| reads_copy |= map.cells(r).any(|cell| find(cell).is_some()));
    if !reads_copy {
        return 0;
    }
    let mut changed = inst.to_inst();
    let mut replaced = 0;
    for at in changed.defs as usize..changed.operands.len() {
        if is_accumulator(&changed, at) {
            continue;
        }
        let mut operand = changed.operands[at];
        operand.map_regs(|r| match copied_register(map, r, &find) {
            Some(from) => {
                replaced += 1;
                RegUse { flags: r.flags, ..from }
            }
            None => r,
        });
        changed.operands[at] = operand;
        let Operand::Reg(r) = operand else { continue };
        if r.count != 1 || r.flags != RegFlags::NONE || r.reg.file() != RegFile::R {
            continue;
        }
        let mut value = None;
        map.cells(r).for_each(|cell| value = find(cell));
        if !WORD_OPS.contains(&changed.op) {
            continue;
        }
        let new = match value {
            Some(Source::Imm(0)) => Operand::RZ,
            Some(Source::Imm(v)) => Operand::Imm(u64::from(v)),
            Some(Source::Const(c)) => Operand::Const(c),
            _ => continue,
        };
        if target.form(&changed).is_none() {
            continue;
        }
        if target.accepts(&changed, at, new) {
            changed.operands[at] = new;
            replaced += 1;
        } else if let Some(other) = exchangeable(&changed, at) {
            // The second source takes constants where the others do not.
            let mut turned = changed.clone();
            turned.operands.swap(at, other);
            if target.accepts(&turned, other, new) {
                turned.operands[other] = new;
                changed = turned;
                replaced += 1;
            }
        }
    }
    // With every constant in place, whether a row takes that many or not, it may be something simpler.
    let mut known = changed.clone();
    for operand in known.operands.iter_mut().skip(known.defs as usize) {
        if let Operand::Reg(r) = *operand
            && r.count == 1
            && r.flags == RegFlags::NONE
            && r.reg.file() == RegFile::R
            && let Some(Source::Imm(v)) = map.cells(r).next().and_then(&find)
        {
            *operand = Operand::Imm(u64::from(v));
        }
    }
    if known != changed
        && let Some(simpler) = fold::fold(&known)
    {
        changed = simpler;
        replaced += 1;
    }
    if replaced > 0 {
        body.set_inst(id, &changed);
    }
    replaced
}

/// The second source, when operand `at` may change places with it.
pub fn exchangeable(inst: &Inst, at: usize) -> Option<usize> {
    let first = inst.defs as usize;
    let second = first + 1;
    let any_of = match inst.op {
        Opcode::IADD3 => first..first + 3,
        Opcode::IMAD | Opcode::FADD | Opcode::FMUL | Opcode::FFMA => first..first + 2,
        _ => return None,
    };
    (any_of.contains(&at) && at != second).then_some(second)
}

/// The register whose cells a use's cells are copies of.
fn copied_register(
    map: &CellMap,
    r: RegUse,
    find: &impl Fn(Cell) -> Option<Source>,
) -> Option<RegUse> {
    if r.reg.vreg().is_none() || r.reg.file() != RegFile::R {
        return None;
    }
    let mut first: Option<RegUse> = None;
    for (i, cell) in map.cells(r).enumerate() {
        let Some(Source::Cell(from)) = find(cell) else { return None };
        match first {
            None => first = Some(from),
            Some(f) if f.reg == from.reg && f.cell + i as u8 == from.cell => {}
            _ => return None,
        }
    }
    // A register's first cell has the register's alignment; a wide use must start at a multiple of its width.
    let first = first?;
    let aligned = r.count == 1 || (r.count.is_power_of_two() && first.cell % r.count == 0);
    let whole = RegUse { count: r.count, flags: RegFlags::NONE, ..first };
    aligned.then_some(whole)
}
