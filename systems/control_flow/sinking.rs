//! `SinkCodeIntoBlock`: what one way alone asks for is computed there, and what is asked for behind
//! a loop, behind it.
//!
//! What holds behind it: nothing only computes in a block, where all that reads the result stands
//! behind a branch that may lead elsewhere, or behind a loop that the block is in. But for
//! * constants and copies, which have phases of their own (`OriDoRemat`);
//! * what needs more registers over the way between than its result;
//! * what loads, and what reads a uniform register of its block.
//!
//! It goes to the nearest block that all readers' blocks lie behind, and never into a loop.
//!
//! Observed (ptxas 13.0.88): chains of sums and products go on the way that reads them, and out of
//! loops; loads stay, also where only stores that may be elsewhere stand between; what both ways
//! compute alike stays on both (`SpeculativeHoistComInsts` found nothing on sm_90a).

use crate::analysis::uses::Uses;
use crate::analysis::{Analyses, ControlFlow};
use crate::effects;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form, is_value};
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, InstId, Opcode, Operand, Props, RegFile, VRegId, View, phis, scratch,
};
use std::cell::OnceCell;
use std::sync::Arc;

/// Readers of a value that are looked at for each instruction that reads it.
const MOST_READERS: usize = 64;

/// Phase 31: divisions, roots and the like, while each is one instruction. Where the others went
/// early, too, values were found equal less often (nvcc's modules had 84 instructions more).
pub fn sink_remat(
    code: Code<'_>,
    form: Read<'_, Form>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    notes.count(sink(&mut code.body(), &form, &mut analyses, |op| op.has(Props::MACRO)));
}

/// Phase 77.
pub fn sink_code_into_block(
    code: Code<'_>,
    form: Read<'_, Form>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    notes.count(sink(&mut code.body(), &form, &mut analyses, |_| true));
}

/// How many instructions of those that `of` names have moved.
fn sink(
    body: &mut Body<'_>,
    form: &Form,
    analyses: &mut Analyses,
    of: impl Fn(Opcode) -> bool,
) -> usize {
    let is_fork = |block: &BlockId| body.block(*block).succs().len() > 1;
    if !form.is_ssa || !body.layout().iter().any(is_fork) {
        return 0;
    }
    let flow = analyses.flow(body);
    let uses = analyses.uses(body);
    let mut sinking = Sinking {
        flow,
        uses,
        fixed: OnceCell::new(),
        goes: scratch!(Vec<Option<BlockId>>; None; body.inst_count()),
        found: scratch!(Vec<(InstId, BlockId)>),
    };
    sinking.find(body, of);
    let Sinking { goes, found, .. } = sinking;
    if !found.is_empty() {
        apply(body, &goes, &found);
    }
    found.len()
}

struct Sinking {
    flow: Arc<ControlFlow>,
    uses: Arc<Uses>,
    /// Asked for where something may go.
    fixed: OnceCell<Fixed>,
    /// By instruction, the block that it goes to.
    goes: Scratch<Vec<Option<BlockId>>>,
    /// What goes, the last of the code first, each with where it stands.
    found: Scratch<Vec<(InstId, BlockId)>>,
}

impl Sinking {
    fn find(&mut self, body: &Body<'_>, of: impl Fn(Opcode) -> bool) {
        let flow = self.flow.clone();
        // What stands in a block may go to those that it dominates.
        let mut dominates = scratch!(Vec<bool>; false; body.block_count());
        for &block in flow.reverse_postorder() {
            if let Some(above) = flow.dominators().idom(block) {
                dominates[above as usize] = true;
            }
        }
        let order = flow.reverse_postorder().iter().rev();
        for &block in order.filter(|block| dominates[**block as usize]) {
            for &id in body.block(BlockId(block)).insts().iter().rev() {
                let inst = body.inst(id);
                if of(inst.op)
                    && may_move(inst)
                    && let Some(to) = self.place(body, inst, block)
                    && self.is_worth_it(body, inst, block)
                {
                    self.goes[id.0 as usize] = Some(BlockId(to));
                    self.found.push((id, BlockId(block)));
                }
            }
        }
    }

    /// The block that an instruction may go to from another.
    fn place(&self, body: &Body<'_>, inst: View<'_>, block: u32) -> Option<u32> {
        let dominators = self.flow.dominators();
        let mut place: Option<u32> = None;
        let mut may = true;
        inst.for_each_def(|r| {
            let Some(v) = r.reg.vreg() else {
                may = false;
                return;
            };
            let mut readers = self.uses.readers(v);
            while may && let Some((reader, at)) = readers.next() {
                may &= self.each_place(body, (reader, at), v, |at| {
                    let common = match place {
                        Some(place) => dominators.common(place, at),
                        None => Some(at),
                    };
                    place = common.filter(|common| *common != block);
                    place.is_some()
                });
            }
        });
        let mut to = place.filter(|_| may)?;
        inst.for_each_def(|r| may &= r.reg.vreg().is_some_and(|v| self.is_value(body, v)));
        if !may {
            return None;
        }
        if !dominators.dominates(block, to) {
            return None;
        }
        let loops = self.flow.loops();
        // Not into a loop that it does not stand in.
        let is_around = |to: u32| {
            let mut own = loops.innermost[block as usize];
            while own.map_or(0, |own| loops.all[own].depth) > loops.depth(to) {
                own = own.and_then(|own| loops.all[own].parent);
            }
            own == loops.innermost[to as usize]
        };
        let irreducible = self.flow.irreducible();
        while to != block && (!is_around(to) || irreducible[to as usize]) {
            to = dominators.idom(to)?;
        }
        let leaves = loops.depth(to) < loops.depth(block);
        let is_way = leaves || !self.flow.post_dominators().dominates(to, block);
        (to != block && is_way && !irreducible[block as usize]).then_some(to)
    }

    fn is_value(&self, body: &Body<'_>, v: VRegId) -> bool {
        is_value(body, self.fixed.get_or_init(|| Fixed::of(body)), v)
    }

    /// The blocks in which a reader asks for a register, as long as `f` says so: a phi asks at the
    /// end of the block that brings it.
    fn each_place(
        &self,
        body: &Body<'_>,
        (reader, at): (InstId, BlockId),
        v: VRegId,
        mut f: impl FnMut(u32) -> bool,
    ) -> bool {
        let inst = body.inst(reader);
        if inst.op != Opcode::MOVPHI {
            return f(self.goes[reader.0 as usize].unwrap_or(at).0);
        }
        let mut pairs = inst.sources().step_by(2).zip(inst.blocks());
        pairs.all(|(value, from)| match value {
            Operand::Reg(r) if r.reg.vreg() == Some(v) => f(from.0),
            _ => true,
        })
    }

    /// Whether what an instruction reads needs no more registers on the way than its result.
    fn is_worth_it(&self, body: &Body<'_>, inst: View<'_>, block: u32) -> bool {
        let mut result = 0;
        inst.for_each_def(|r| result += u32::from(r.count));
        let mut longer = 0;
        let mut may = true;
        inst.for_each_use(|r| {
            let Some(v) = r.reg.vreg() else {
                may &= r.reg.is_zero();
                return;
            };
            if matches!(r.reg.file(), RegFile::UR | RegFile::UP) {
                // Those of the first block live as long as the function.
                let first = body.layout().first();
                may &= self.uses.only_writer(v).is_some_and(|(_, at)| Some(&at) == first);
                return;
            }
            may &= self.is_value(body, v);
            let stays = |(reader, at): (InstId, BlockId)| {
                let at = self.goes[reader.0 as usize].unwrap_or(at);
                at.0 == block && body.inst(reader).op != Opcode::MOVPHI
            };
            // A value that so many read lives on anyway.
            let mut readers = self.uses.readers(v);
            if readers.by_ref().take(MOST_READERS).all(stays) && readers.next().is_none() {
                longer += u32::from(r.count);
            }
        });
        may && longer <= result
    }
}

/// Whether an instruction only computes, and is worth a place.
fn may_move(inst: View<'_>) -> bool {
    inst.defs > 0
        && effects::is_pure(inst.op)
        && !inst.op.has(Props::UNIFORM)
        && inst.op != Opcode::MOVPHI
        && effects::as_copy(inst).is_none()
        && !effects::reads_what_changes(inst)
        && (!effects::may_be_repeated(inst) || inst.op.has(Props::SPECIAL))
}

/// Moves them to the beginnings of their blocks, behind phis.
fn apply(body: &mut Body<'_>, goes: &[Option<BlockId>], found: &[(InstId, BlockId)]) {
    let mut from = scratch!(Vec<BlockId>).with(found.iter().map(|(_, block)| *block));
    from.dedup();
    for block in from.iter() {
        let insts = scratch!(Vec<InstId>).with(body.unlink(*block));
        let stays = |id: &&InstId| goes[id.0 as usize].is_none();
        insts.iter().filter(stays).for_each(|id| body.append(*block, *id));
    }
    // Each before those that were found before it, which may read it.
    let mut to = scratch!(Vec<(BlockId, usize, InstId)>);
    for (at, (id, _)) in found.iter().enumerate() {
        to.extend(goes[id.0 as usize].map(|block| (block, found.len() - at, *id)));
    }
    to.sort_unstable();
    for same in to.chunk_by(|a, b| a.0 == b.0) {
        let block = same[0].0;
        let end = phis::end(body, block);
        let insts = scratch!(Vec<InstId>).with(body.unlink(block));
        let (phis, others) = insts.split_at(end);
        let all = phis.iter().copied().chain(same.iter().map(|(_, _, id)| *id));
        all.chain(others.iter().copied()).for_each(|id| body.append(block, id));
    }
}
