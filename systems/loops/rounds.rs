//! Several rounds of a loop in a row, out of SSA form: what they load they load first.
//!
//! A load takes some hundred cycles, and the thread goes on until it wants the result. Rounds that
//! store nothing where they load may load in any order, so the loads of all rounds come first, with
//! what computes their addresses, and everything else in its order behind them. Each round has
//! registers of its own for that; the last one has those of the loop, which what comes behind it
//! reads.

use crate::effects;
use crate::memory::places::{self, Space};
use orias_components::{
    BlockId, Body, Inst, InstId, Mod, Opcode, Reg, RegUse, VRegId, scratch, scratch::Scratch,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Words that are loaded at once: more would want more registers than they are worth.
const MOST_LOADED: u32 = 16;

/// Appends so many rounds to a block.
pub fn append(body: &mut Body<'_>, to: BlockId, round: &[InstId], count: u32) {
    let mut loads = 0;
    for id in round.iter().filter(|id| effects::reads_memory(body.op(**id))) {
        body.inst(*id).for_each_def(|d| loads += u32::from(d.count));
    }
    let together = match loads {
        0 => count,
        loads => (MOST_LOADED / loads).clamp(1, count),
    };
    let mut left = count;
    while left > 0 {
        let some = left.min(together);
        left -= some;
        match Rounds::of(body, round, some).filter(|_| loads > 0) {
            Some(rounds) => rounds.put(body, to),
            None => {
                for id in round.iter().cycle().take(round.len() * some as usize) {
                    let (inst, loc) = (body.inst(*id).to_inst(), body.loc(*id));
                    body.push(to, inst, loc);
                }
            }
        }
    }
}

/// A cell of a register.
type Cell = (VRegId, u8);

/// The instructions of all rounds, each with those that it comes behind.
struct Rounds<'a> {
    /// What each is a copy of.
    round: &'a [InstId],
    insts: Scratch<Vec<Inst>>,
    after: Scratch<Vec<SmallVec<[u32; 4]>>>,
}

impl<'a> Rounds<'a> {
    /// None where a round writes something twice, in part, or under a guard: then it may want the
    /// registers as they are; and where it may store what the next one loads.
    fn of(body: &mut Body<'_>, round: &'a [InstId], count: u32) -> Option<Rounds<'a>> {
        if may_load_what_it_stores(body, round) {
            return None;
        }
        let mut written = scratch!(FxHashMap<Cell, ()>);
        for id in round {
            let inst = body.inst(*id);
            let mut once = inst.guard.is_always() || inst.defs == 0;
            inst.for_each_def(|d| {
                for cell in cells(d) {
                    once &= d.reg.vreg().is_some() && written.insert(cell, ()).is_none();
                }
            });
            if !once {
                return None;
            }
        }
        let mut rounds =
            Rounds { round, insts: scratch!(Vec<Inst>), after: scratch!(Vec<SmallVec<[u32; 4]>>) };
        // The register that a cell is in now, and who wrote it there.
        let mut now = scratch!(FxHashMap<Cell, (Reg, u32)>);
        // Who reads what comes into the first round.
        let mut readers = scratch!(FxHashMap<Cell, SmallVec<[u32; 4]>>);
        for n in 0..count {
            let mut own = scratch!(FxHashMap<VRegId, Reg>);
            for id in round {
                let at = rounds.insts.len() as u32;
                let mut inst = body.inst(*id).to_inst();
                let mut after = SmallVec::new();
                let mut is_whole = true;
                let defs = usize::from(inst.defs);
                let mut read = |r: RegUse| {
                    let mut reg = r.reg;
                    for (k, cell) in cells(r).enumerate() {
                        let found = now.get(&cell);
                        let new = found.map_or(r.reg, |(reg, _)| *reg);
                        is_whole &= k == 0 || new == reg;
                        reg = new;
                        match found {
                            Some((_, writer)) => after.push(*writer),
                            None => readers.entry(cell).or_default().push(at),
                        }
                    }
                    RegUse { reg, ..r }
                };
                let guard = read(RegUse::new(inst.guard.reg)).reg;
                inst.guard.reg = guard;
                inst.operands[defs..].iter_mut().for_each(|o| o.map_regs(&mut read));
                if !is_whole {
                    return None;
                }
                let mut write = |d: RegUse| {
                    let Some(v) = d.reg.vreg() else { return d };
                    let reg = *own.entry(v).or_insert_with(|| match n + 1 == count {
                        true => d.reg,
                        false => {
                            let vreg = *body.vreg(v);
                            body.new_vreg(vreg.file, vreg.cells, vreg.align)
                        }
                    });
                    for cell in cells(d) {
                        now.insert(cell, (reg, at));
                        if reg == d.reg {
                            // It is overwritten for good: what still wants it comes before.
                            after.extend(readers.get(&cell).into_iter().flatten().copied());
                        }
                    }
                    RegUse { reg, ..d }
                };
                inst.operands[..defs].iter_mut().for_each(|o| o.map_regs(&mut write));
                after.retain(|before| *before != at);
                rounds.insts.push(inst);
                rounds.after.push(after);
            }
        }
        Some(rounds)
    }

    /// All loads, in their order, each with how many it waits for one after the other.
    fn loads(&self) -> Scratch<Vec<(u32, u32)>> {
        let mut depths = scratch!(Vec<u32>; 0; self.insts.len());
        let mut loads = scratch!(Vec<(u32, u32)>);
        for (at, inst) in self.insts.iter().enumerate() {
            // What stands before the last round's writers is no source of theirs.
            let before = self.after[at].iter().filter(|before| (**before as usize) < at);
            let depth = before.map(|before| depths[*before as usize]).max().unwrap_or(0);
            let is_load = effects::reads_memory(inst.op);
            if is_load {
                loads.push((depth, at as u32));
            }
            depths[at] = depth + u32::from(is_load);
        }
        loads
    }

    /// Appends them: each load with what it comes behind, then everything else.
    fn put(self, body: &mut Body<'_>, to: BlockId) {
        let mut done = scratch!(Vec<bool>; false; self.insts.len());
        let all = 0..self.insts.len() as u32;
        let mut loads = self.loads();
        // What is loaded from where a load said comes behind what waits for nothing.
        loads.sort_by_key(|(depth, _)| *depth);
        let mut stack = scratch!(Vec<u32>);
        for first in loads.iter().map(|(_, at)| *at).chain(all) {
            stack.push(first);
            while let Some(&at) = stack.last() {
                let is_done = |at: &u32| done[*at as usize];
                let waits = self.after[at as usize].iter().copied().filter(|at| !is_done(at));
                let waits: SmallVec<[u32; 8]> = waits.collect();
                if waits.is_empty() || is_done(&at) {
                    stack.pop();
                    if !std::mem::replace(&mut done[at as usize], true) {
                        let loc = body.loc(self.round[at as usize % self.round.len()]);
                        body.push(to, self.insts[at as usize].clone(), loc);
                    }
                } else {
                    stack.extend(waits);
                }
            }
        }
    }
}

/// Whether a round may change what another one loads.
fn may_load_what_it_stores(body: &Body<'_>, round: &[InstId]) -> bool {
    let changed = (0..round.len()).fold(0, |all, at| all | places::changes(body, round, at));
    changed != 0
        && round.iter().map(|id| body.inst(*id)).any(|inst| {
            let space = match inst.op {
                Opcode::LDG if inst.mods().has(Mod::CONSTANT) => Space::Constant,
                Opcode::LDG => Space::Global,
                Opcode::LDS => Space::Shared,
                Opcode::LDL => Space::Local,
                op if effects::reads_memory(op) => return true,
                _ => return false,
            };
            places::changes_space(changed, space)
        })
}

/// The cells that an operand names; none of RZ and its like.
fn cells(r: RegUse) -> impl Iterator<Item = Cell> {
    let v = r.reg.vreg();
    (r.cell..r.cell + r.count).filter_map(move |cell| Some((v?, cell)))
}
