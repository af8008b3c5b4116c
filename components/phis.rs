//! The phis of a body, and how they hear of other edges.

use crate::body::Body;
use crate::ids::{BlockId, InstId};
use crate::inst::Loc;
use crate::opcode::Opcode;
use crate::operand::{Operand, RegUse};
use crate::register::Reg;
use crate::scratch;
use crate::work;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where the instructions behind a block's phis begin.
pub fn end(body: &Body<'_>, block: BlockId) -> usize {
    let insts = body.block(block).insts();
    insts.iter().take_while(|id| body.op(**id) == Opcode::MOVPHI).count()
}

/// The phis of a block.
pub fn of<'a>(body: &'a Body<'_>, block: BlockId) -> impl Iterator<Item = InstId> + use<'a> {
    body.block(block).insts()[..end(body, block)].iter().copied()
}

/// Edges that lead through other blocks now, until the phis where they end hear of it: all at once,
/// however many they are.
#[derive(Default)]
pub struct Renames(FxHashMap<BlockId, FxHashMap<BlockId, BlockId>>);

impl Renames {
    /// What the edge to `to` from `old` brought comes from `new` now: a block was split, or the
    /// edge goes through another one.
    pub fn rename(&mut self, body: &Body<'_>, to: BlockId, old: BlockId, new: BlockId) {
        if end(body, to) > 0 {
            self.0.entry(to).or_default().insert(old, new);
        }
    }

    /// The same for all blocks that `new`, the end of what was `old`, leads to.
    pub fn split(&mut self, body: &Body<'_>, old: BlockId, new: BlockId) {
        body.block(new).succs().iter().for_each(|to| self.rename(body, *to, old, new));
    }

    /// Tells the phis of one block.
    pub(crate) fn tell(&mut self, body: &mut Body<'_>, to: BlockId) {
        let Some(renames) = self.0.remove(&to) else { return };
        let last = |mut block: BlockId| {
            while let Some(next) = renames.get(&block) {
                block = *next;
            }
            block
        };
        for at in 0..end(body, to) {
            let id = body.block(to).insts()[at];
            body.map_blocks(id, last);
        }
    }

    /// Tells all phis.
    pub fn finish(mut self, body: &mut Body<'_>) {
        let mut all = scratch!(Vec<BlockId>).with(self.0.keys().copied());
        all.sort_unstable();
        all.iter().for_each(|to| self.tell(body, *to));
    }

    /// The edges to `to` from `preds` lead through `new` now, an empty block whose only successor
    /// is `to`: values that join there have their phis in `new`.
    pub fn merge(&mut self, body: &mut Body<'_>, to: BlockId, preds: &[BlockId], new: BlockId) {
        if let [only] = preds {
            return self.rename(body, to, *only, new);
        }
        self.tell(body, to);
        let preds: FxHashSet<BlockId> = preds.iter().copied().collect();
        let phis: Vec<InstId> = of(body, to).collect();
        let others = |id: &InstId| body.inst(*id).blocks().any(|b| !preds.contains(&b));
        if !phis.iter().any(others) {
            // All ways lead through the new block: what meets does so there.
            body.block_mut(to).insts.drain(..phis.len());
            body.block_mut(new).insts.splice(..0, phis);
            return;
        }
        let mut made = Vec::with_capacity(phis.len());
        for id in phis {
            made.extend(merge_one(body, id, &preds, new));
        }
        body.replace(new, 0..0, made);
    }
}

/// Takes the values of `preds` out of a phi, and gives it one that comes from `new`: the phi there,
/// unless they are all the same.
fn merge_one(
    body: &mut Body<'_>,
    id: InstId,
    preds: &FxHashSet<BlockId>,
    new: BlockId,
) -> Option<InstId> {
    let mut phi = body.inst(id).to_inst();
    let pairs: Vec<Operand> = phi.sources().to_vec();
    work::add(pairs.len());
    let through = |pair: &&[Operand]| matches!(pair[1], Operand::Block(b) if preds.contains(&b));
    let (moved, kept): (Vec<&[Operand]>, Vec<&[Operand]>) =
        pairs.chunks_exact(2).partition(through);
    let dest = phi.operands[0];
    let same = moved.first().filter(|first| moved.iter().all(|pair| pair[0] == first[0]));
    let (value, made) = match (same, dest) {
        (Some(pair), _) => (pair[0], None),
        (None, Operand::Reg(r)) => {
            let value = Operand::reg(body.new_vreg(r.reg.file(), 1, 1));
            let pairs = moved.iter().copied().flatten().copied();
            let operands: Vec<Operand> = [value].into_iter().chain(pairs).collect();
            let loc = body.loc(id);
            (value, Some(body.make(Opcode::MOVPHI, &[], 1, &operands, loc)))
        }
        // A phi writes a register: the validator speaks of others.
        (None, other) => (other, None),
    };
    let kept = kept.iter().copied().flatten().copied();
    phi.operands = [dest].into_iter().chain(kept).chain([value, Operand::Block(new)]).collect();
    body.set_inst(id, &phi);
    made
}

/// A phi without its values yet.
pub fn new(body: &mut Body<'_>, to: RegUse, pairs: &[(Option<RegUse>, BlockId)]) -> InstId {
    let nothing = Operand::reg(Reg::zero(to.reg.file()));
    let mut operands = scratch!(Vec<Operand>);
    operands.push(Operand::Reg(to));
    for (value, block) in pairs {
        operands.extend([value.map_or(nothing, Operand::Reg), Operand::Block(*block)]);
    }
    body.make(Opcode::MOVPHI, &[], 1, &operands, Loc::default())
}
