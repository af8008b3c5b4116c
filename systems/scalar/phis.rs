//! `OriReplaceEquivMultiDefMov` and `OriRemoveRedundantMultiDefMov`: a value that ways bring to a
//! block is the same as another one that they bring there if each way brings the same for both,
//! counters that go around together among them.
//!
//! What holds behind it: of two phis of a block, not far behind each other, no way brings the same,
//! where what comes around a loop is the same if what it is made of is. What a phi is itself is as
//! good as the other one is then: the proof is by induction over the ways that control took.
//!
//! ptxas 13.0.88 keeps both counters of a loop that PTX has twice.

use super::values::{Values, plain};
use crate::analysis::Analyses;
use crate::effects;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form, is_value};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, Inst, InstId, Opcode, Operand, Reg, RegFile, RegUse, View,
};
use rustc_hash::FxHashMap;

/// Phis of a block that are held against each other.
const MOST: usize = 24;

/// Blocks that more ways come to are left alone.
const MOST_WAYS: usize = 32;

/// Instructions back from what comes around.
const DEPTH: u32 = 2;

/// Phases 60 and 71.
pub fn replace_equivalent(
    code: Code<'_>,
    form: Read<'_, Form>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    if !form.is_ssa {
        return;
    }
    let mut body = code.body();
    let count = replace(&mut body, &mut analyses);
    if count > 0 {
        notes.count(count);
    }
}

fn replace(body: &mut Body<'_>, analyses: &mut Analyses) -> usize {
    let pairs = pairs(body);
    if pairs.is_empty() {
        return 0;
    }
    let map = analyses.cells(body);
    // By instruction: its block and its place there.
    let mut at = scratch!(Vec<(u32, u32)>; (0, 0); body.inst_count());
    let mut next = (u32::MAX, 0);
    let values = Values::of(body, &map, |block, id, _| {
        next = if next.0 == block.0 { (block.0, next.1 + 1) } else { (block.0, 0) };
        at[id.0 as usize] = next;
    });
    let fixed = Fixed::of(body);
    // What stands for a register.
    let mut now = scratch!(FxHashMap<Reg, RegUse>);
    // What goes around a loop was made twice: an instruction, and what it is a copy of.
    let mut copies = scratch!(Vec<(InstId, RegUse, RegUse)>);
    for &(one, other) in pairs.iter() {
        let [a, b] = [one, other].map(|id| result(body, &fixed, id));
        let (Some(a), Some(b)) = (a, b) else { continue };
        let is_alone = b.reg.vreg().is_some_and(|v| body.vreg(v).cells == 1);
        let is_new = !now.contains_key(&b.reg) && !now.contains_key(&a.reg);
        let same = Same { body, values: &values, fixed: &fixed, a, b };
        if is_alone && is_new && same.phis(one, other) {
            now.insert(b.reg, a);
            for (value, from) in ways(body.inst(one)) {
                let (Operand::Reg(x), Some(Operand::Reg(y))) =
                    (value, brought(body.inst(other), from))
                else {
                    continue;
                };
                let (Some(first), Some(second)) = (values.writer(x), values.writer(y)) else {
                    continue;
                };
                let [first, last] = [first, second].map(|id| at[id.0 as usize]);
                let inst = body.inst(second);
                let others = inst.dests().filter(|o| *o != Operand::Reg(y) && *o != Operand::PT);
                let is_word =
                    y.reg.file() == RegFile::R && inst.op != Opcode::MOVPHI && others.count() == 0;
                if first.0 == last.0 && first.1 < last.1 && is_word {
                    copies.push((second, y, x));
                }
            }
        }
    }
    drop(values);
    if now.is_empty() {
        return 0;
    }
    for &block in body.walk().iter() {
        body.retain(block, |body, id| {
            let inst = body.inst(id);
            let is_phi = inst.op == Opcode::MOVPHI;
            !(is_phi && inst.reg(0).is_some_and(|r| now.contains_key(&r.reg)))
        });
        for &id in body.walk_in(block).iter() {
            let mut reads = false;
            body.inst(id).for_each_use(|r| reads |= now.contains_key(&r.reg));
            if reads {
                body.map_regs(id, |r| match now.get(&r.reg) {
                    Some(other) => RegUse { reg: other.reg, cell: other.cell, ..r },
                    None => r,
                });
            }
        }
    }
    for &(id, to, from) in copies.iter() {
        let [to, from] = [to, from].map(Operand::Reg);
        body.set_inst(id, &Inst::new(Opcode::MOV, &[], 1, &[to, from, Operand::Imm(0xf)]));
    }
    now.len()
}

/// Phis of one block to which some way brings the same.
fn pairs(body: &Body<'_>) -> Scratch<Vec<(InstId, InstId)>> {
    let mut pairs = scratch!(Vec<(InstId, InstId)>);
    let mut phis = scratch!(Vec<InstId>);
    let mut from = scratch!(Vec<BlockId>);
    // By phi, what each way brings.
    let mut values = scratch!(Vec<Option<Operand>>);
    for &block in body.layout() {
        let insts = body.block(block).insts().iter().copied();
        phis.clear();
        phis.extend(insts.take_while(|id| body.op(*id) == Opcode::MOVPHI).take(MOST));
        let preds = body.block(block).preds().len();
        if phis.len() < 2 || preds == 0 || preds > MOST_WAYS {
            continue;
        }
        from.clear();
        from.extend(body.inst(phis[0]).blocks());
        values.clear();
        for &id in phis.iter() {
            let phi = body.inst(id);
            values.extend(from.iter().enumerate().map(|(at, from)| brought_at(phi, at, *from)));
        }
        let of = |at: usize| &values[at * from.len()..(at + 1) * from.len()];
        for (at, &one) in phis.iter().enumerate() {
            for (other_at, &other) in phis.iter().enumerate().skip(at + 1) {
                let mut both = of(at).iter().zip(of(other_at));
                if both.any(|(one, other)| one.is_some() && one == other) {
                    pairs.push((one, other));
                }
            }
        }
    }
    pairs
}

/// What each way brings to a phi.
fn ways(phi: View<'_>) -> impl Iterator<Item = (Operand, BlockId)> {
    let values = phi.sources().step_by(2);
    values.zip(phi.blocks())
}

fn brought(phi: View<'_>, from: BlockId) -> Option<Operand> {
    ways(phi).find(|(_, block)| *block == from).map(|(value, _)| value)
}

/// The same, where that way is most likely the one of this number.
fn brought_at(phi: View<'_>, at: usize, from: BlockId) -> Option<Operand> {
    let value = usize::from(phi.defs) + 2 * at;
    match phi.get(value + 1) {
        Some(Operand::Block(block)) if block == from => phi.get(value),
        _ => brought(phi, from),
    }
}

/// The value that a phi makes.
fn result(body: &Body<'_>, fixed: &Fixed, id: InstId) -> Option<RegUse> {
    let r = plain(&body.inst(id).operand(0))?;
    r.reg.vreg().is_some_and(|v| is_value(body, fixed, v)).then_some(r)
}

/// Two phis that are taken to be the same.
struct Same<'a, 'w> {
    body: &'a Body<'w>,
    values: &'a Values<'a>,
    fixed: &'a Fixed,
    a: RegUse,
    b: RegUse,
}

impl Same<'_, '_> {
    fn phis(&self, one: InstId, other: InstId) -> bool {
        let (one, other) = (self.body.inst(one), self.body.inst(other));
        ways(one).all(|(value, from)| {
            brought(other, from).is_some_and(|found| self.operands(value, found, DEPTH))
        })
    }

    /// Whether one operand is what the other one is.
    fn operands(&self, x: Operand, y: Operand, depth: u32) -> bool {
        if x == y {
            return true;
        }
        let (Operand::Reg(x), Operand::Reg(y)) = (x, y) else { return false };
        if x.flags != y.flags || x.count != 1 || y.count != 1 {
            return false;
        }
        let is = |r: RegUse, of: RegUse| (r.reg, r.cell) == (of.reg, of.cell);
        if is(x, self.a) && is(y, self.b) {
            return true;
        }
        depth > 0 && self.written(x, y, depth - 1).unwrap_or(false)
    }

    /// Whether the same instruction makes both of the same.
    fn written(&self, x: RegUse, y: RegUse, depth: u32) -> Option<bool> {
        let [one, other] = [self.values.writer(x)?, self.values.writer(y)?];
        let (one, other) = (self.body.inst(one), self.body.inst(other));
        let is_one = one.op == other.op
            && one.mods() == other.mods()
            && one.len() == other.len()
            && one.guard.is_always()
            && other.guard.is_always()
            && one.op != Opcode::MOVPHI
            && effects::is_pure(one.op)
            && !effects::reads_what_changes(one);
        let place = |inst: View<'_>, of: RegUse| {
            inst.dests().position(|o| {
                o.as_reg().is_some_and(|r| (r.reg, r.cell, r.count) == (of.reg, of.cell, 1))
            })
        };
        // What is no value may be another one by the time that the other reads it.
        let mut are_values = true;
        one.sources().for_each(|o| {
            o.for_each_reg(|r| {
                let is_value = |v| is_value(self.body, self.fixed, v);
                are_values &= r.reg.is_zero() || r.reg.vreg().is_some_and(is_value);
            });
        });
        let same = is_one && are_values && place(one, x)? == place(other, y)?;
        Some(same && one.sources().zip(other.sources()).all(|(x, y)| self.operands(x, y, depth)))
    }
}
