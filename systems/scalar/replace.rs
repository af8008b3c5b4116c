//! Copies' sources in the place of what reads the copies.
//!
//! Immediates and constants go only where a row of the target takes them; a macro instruction takes
//! any immediate. A wide use is replaced when all its cells are copies of neighbours in one
//! register that keep its alignment.

use super::algebra;
use super::copies::Source;
use crate::analysis::liveness::{Cell, CellMap};
use orias_components::scratch;
use orias_components::{
    BlockId, Body, Inst, InstId, Opcode, Operand, Props, RegFile, RegFlags, RegUse,
};
use orias_targets::slots::LOP3_LUT as LOP3;
use orias_targets::{Form, SlotKind, Target};

/// Rewrites of one instruction at a time.
const MOST_CHANGES: usize = 4;

/// Replaces what an instruction reads by what that is a copy of: how many changes it took.
pub(super) fn rewrite(
    body: &mut Body<'_>,
    map: &CellMap,
    target: &Target,
    id: InstId,
    find: impl Fn(Cell) -> Option<Source>,
) -> usize {
    let mut changed = 0;
    // One operand in another's place makes room for a third.
    for _ in 0..MOST_CHANGES {
        let n = rewrite_uses(body, map, target, id, &find);
        changed += n;
        if n == 0 {
            break;
        }
    }
    changed
}

/// The same where all copies that the instruction reads are of other registers, and none is what a
/// matrix product adds to: it stays as it is but for their names.
pub(super) fn rewrite_registers(
    body: &mut Body<'_>,
    map: &CellMap,
    id: InstId,
    find: impl Fn(Cell) -> Option<Source>,
) -> usize {
    let mut changed = 0;
    for _ in 0..MOST_CHANGES {
        let mut count = 0;
        body.inst(id)
            .for_each_source(|r| count += usize::from(copied_register(map, r, &find).is_some()));
        if count == 0 {
            break;
        }
        changed += count;
        body.map_sources(id, |r| match copied_register(map, r, &find) {
            Some(from) => RegUse { flags: r.flags, ..from },
            None => r,
        });
    }
    changed
}

/// Whether an operand is what a matrix product adds to and writes back: it stays where the result
/// goes.
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
    let takes_words = inst.op.has(Props::WORDS);
    // Most of what reads a constant can do nothing with it, and is not unpacked for that.
    let places = usize::from(inst.defs)..inst.len();
    let may_change = places.into_iter().any(|at| match inst.get(at) {
        Some(Operand::Reg(r)) => map.cells(r).any(|cell| match find(cell) {
            Some(Source::Cell(_)) => true,
            Some(Source::Imm(_)) => takes_words || inst.op.has(Props::MACRO) || r.count > 1,
            Some(source @ (Source::Const(_) | Source::Uniform(_))) => {
                let new = match source {
                    Source::Const(c) => Operand::Const(c),
                    source => source.reg().map_or(Operand::RZ, Operand::Reg),
                };
                let other = exchangeable(inst.op, usize::from(inst.defs), at);
                let takes = |at: usize| target.may_take(inst.op, at, &new);
                takes_words && (takes(at) || other.is_some_and(takes))
            }
            None => false,
        }),
        Some(operand) => {
            let mut reads_copy = false;
            operand.for_each_reg(|r| {
                let is_cell = |cell| matches!(find(cell), Some(Source::Cell(_)));
                reads_copy |= map.cells(r).any(is_cell);
            });
            reads_copy
        }
        None => false,
    });
    let guard = copied_register(map, RegUse::new(inst.guard.reg), &find);
    if !may_change && guard.is_none() {
        return 0;
    }
    let mut changed = inst.to_inst();
    let mut replaced = 0;
    if let Some(guard) = guard {
        changed.guard.reg = guard.reg;
        replaced += 1;
    }
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
        if changed.op.has(Props::MACRO) {
            if let Some(value) = constant(map, r, &find) {
                changed.operands[at] = Operand::Imm(value);
                replaced += 1;
            }
            continue;
        }
        if r.flags != RegFlags::NONE || r.reg.file() != RegFile::R {
            continue;
        }
        if r.count > 1 {
            let new = wide_constant(&changed, at, map, r, &find);
            if new.is_some_and(|new| takes_with(target, &mut changed, at, new)) {
                replaced += 1;
            }
            continue;
        }
        if !takes_words {
            continue;
        }
        let mut value = None;
        map.cells(r).for_each(|cell| value = find(cell));
        let new = match value {
            Some(Source::Imm(0)) => Operand::RZ,
            Some(Source::Imm(v)) => Operand::Imm(u64::from(v)),
            Some(Source::Const(c)) => Operand::Const(c),
            Some(Source::Uniform(r)) => Operand::Reg(r),
            _ => continue,
        };
        let other = exchangeable(changed.op, changed.defs as usize, at);
        let takes = |at: usize| target.may_take(changed.op, at, &new);
        if !takes(at) && !other.is_some_and(takes) || target.form(&changed).is_none() {
            continue;
        }
        if takes_with(target, &mut changed, at, new) {
            replaced += 1;
        } else if let Some(other) = other {
            // The second source takes constants where the others do not.
            exchange(&mut changed, at, other);
            if takes_with(target, &mut changed, other, new) {
                replaced += 1;
            } else {
                exchange(&mut changed, at, other);
            }
        }
    }
    // With every constant in place, whether a row takes that many or not, it may be something
    // simpler.
    let mut known = None;
    for at in changed.defs as usize..changed.operands.len() {
        if let Operand::Reg(r) = changed.operands[at]
            && r.count == 1
            && r.flags == RegFlags::NONE
            && r.reg.file() == RegFile::R
            && let Some(Source::Imm(v)) = map.cells(r).next().and_then(&find)
        {
            known.get_or_insert_with(|| changed.clone()).operands[at] = Operand::Imm(u64::from(v));
        }
    }
    if let Some(simpler) = known.and_then(|known| algebra::fold(&known)) {
        changed = simpler;
        replaced += 1;
    }
    if replaced > 0 {
        body.set_inst(id, &changed);
    }
    replaced
}

/// Puts an operand in its place where a row takes the instruction with it; whether it did.
fn takes_with(target: &Target, inst: &mut Inst, at: usize, new: Operand) -> bool {
    let old = std::mem::replace(&mut inst.operands[at], new);
    let takes = target.takes(inst).is_some_and(|form| fits(form, at, &new));
    if !takes {
        inst.operands[at] = old;
    }
    takes
}

/// Whether an immediate has no more bits than its slot: what says that a row takes an instruction
/// does not look at values.
fn fits(form: &Form, at: usize, operand: &Operand) -> bool {
    match (form.slots.get(at).map(|slot| &slot.kind), operand) {
        (Some(SlotKind::Imm { bits, signed: false, .. }), Operand::Imm(value)) => {
            bits.width() >= 32 || value >> bits.width() == 0
        }
        _ => true,
    }
}

/// The same of a phi: each of its values is read at the end of the block that it comes from.
pub(super) fn rewrite_phi(
    body: &mut Body<'_>,
    map: &CellMap,
    id: InstId,
    at_end: impl Fn(Cell, BlockId) -> Option<Source>,
) -> usize {
    let inst = body.inst(id);
    let source = |at: usize| {
        let (value, from) = (inst.reg(at)?, inst.get(at + 1)?);
        let (cell, Operand::Block(from)) = (map.cells(value).next()?, from) else { return None };
        match at_end(cell, from)? {
            Source::Cell(source) => Some(source),
            _ => None,
        }
    };
    let places = (usize::from(inst.defs)..inst.len()).step_by(2);
    let found = places.filter_map(|at| Some((at, source(at)?)));
    let found = scratch!(Vec<(usize, RegUse)>).with(found);
    for (at, source) in &found {
        body.set_operand(id, *at, Operand::Reg(*source));
    }
    found.len()
}

/// The number in a register of one cell or two, when it is one.
fn constant(map: &CellMap, r: RegUse, find: &impl Fn(Cell) -> Option<Source>) -> Option<u64> {
    if r.flags != RegFlags::NONE || r.reg.file() != RegFile::R {
        return None;
    }
    map.cells(r).enumerate().try_fold(0, |value, (i, cell)| match find(cell)? {
        Source::Imm(word) => Some(value | u64::from(word) << (32 * i)),
        _ => None,
    })
}

/// What stands for a constant of several words: RZ for zero, and for a double whose low word is
/// zero its high word. As ptxas 13.0.88 does it in doubles' arithmetic, in stores and in what
/// products add.
fn wide_constant(
    inst: &Inst,
    at: usize,
    map: &CellMap,
    r: RegUse,
    find: &impl Fn(Cell) -> Option<Source>,
) -> Option<Operand> {
    let mut words = map.cells(r).map(|cell| match find(cell) {
        Some(Source::Imm(word)) => Some(word),
        _ => None,
    });
    let op = inst.op;
    let is_double = matches!(op, Opcode::DADD | Opcode::DMUL | Opcode::DFMA | Opcode::DSETP);
    let is_store = matches!(op, Opcode::STG | Opcode::STS | Opcode::STL | Opcode::ST);
    let is_matrix = matches!(op, Opcode::HMMA | Opcode::IMMA | Opcode::DMMA);
    let is_added = is_matrix && at == usize::from(inst.defs) + 2;
    if !(is_double || is_store || is_added || op == Opcode::IMAD) {
        return None;
    }
    match words.next()?? {
        0 if is_double && r.count == 2 => match words.next()?? {
            0 => Some(Operand::RZ),
            high => Some(Operand::Imm(u64::from(high))),
        },
        0 => words.all(|word| word == Some(0)).then_some(Operand::RZ),
        _ => None,
    }
}

/// The second source, when operand `at` may change places with it. `first` is the first source.
pub fn exchangeable(op: Opcode, first: usize, at: usize) -> Option<usize> {
    let second = first + 1;
    let any_of = match op {
        Opcode::IADD3 | Opcode::LOP3 => first..first + 3,
        Opcode::IMAD | Opcode::FADD | Opcode::FMUL | Opcode::FFMA => first..first + 2,
        _ => return None,
    };
    (any_of.contains(&at) && at != second).then_some(second)
}

/// Gives two sources, which [`exchangeable`] says can, each other's place.
pub fn exchange(inst: &mut Inst, at: usize, other: usize) {
    inst.operands.swap(at, other);
    if inst.op != Opcode::LOP3 {
        return;
    }
    // The rows of the truth table, too: the first input is bit 2 of their number.
    let (at, other) = (LOP3::C - at, LOP3::C - other);
    if let Operand::Imm(table) = &mut inst.operands[LOP3::T] {
        let row = |row: u64| {
            let differ = (row >> at ^ row >> other) & 1;
            row ^ (differ << at | differ << other)
        };
        *table = (0..8).map(|n| (*table >> row(n) & 1) << n).sum();
    }
}

/// The register whose cells a use's cells are copies of.
fn copied_register(
    map: &CellMap,
    r: RegUse,
    find: &impl Fn(Cell) -> Option<Source>,
) -> Option<RegUse> {
    if r.reg.vreg().is_none() || !matches!(r.reg.file(), RegFile::R | RegFile::P) {
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
    // A register's first cell has the register's alignment; a wide use must start at a multiple of
    // its width.
    let first = first?;
    let aligned = r.count == 1 || (r.count.is_power_of_two() && first.cell % r.count == 0);
    let whole = RegUse { count: r.count, flags: RegFlags::NONE, ..first };
    aligned.then_some(whole)
}
