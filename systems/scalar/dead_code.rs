//! Dead code: instructions whose results nothing reads.
//!
//! What holds after `OriPerformLiveDeadFourth`: no instruction without effect writes only cells
//! that are dead behind it, but at the end of long chains over blocks. The simple form
//! (`EarlyOriSimpleLiveDead`, `OriSimpleLiveDead`) removes, in one walk, what no needed instruction
//! reads anywhere; it also finds values that only compute each other around a loop, which the other
//! cannot.

use crate::analysis::Analyses;
use crate::analysis::lists::Lists;
use crate::analysis::liveness::CellMap;
use crate::effects::is_removable;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::Form;
use bevy_ecs::prelude::*;
use orias_components::scratch;
use orias_components::{Body, Code, InstId, RegUse};

/// Rounds of removal by liveness where SSA form is left: what is left after them is as right, and
/// rare.
const ROUNDS: usize = 8;

/// Phases 38 and 70: removes dead instructions, in SSA form by liveness only what writes a register
/// of more than one writer.
pub fn perform_live_dead(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    notes.count(remove_dead(&mut code.body(), &mut analyses, &mut clean, 1));
}

/// Phase 99: the same out of SSA form, to the end, for no phase behind it looks again. Where
/// nothing was dead as SSA form was left, phases since then may have left what nothing reads, and
/// that is all.
pub fn perform_last_live_dead(
    code: Code<'_>,
    form: Read<'_, Form>,
    mut analyses: Write<'_, Analyses>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    let (body, clean) = (&mut code.body(), &mut clean);
    notes.count(match form.left_all_read {
        true => remove_unread(body, &mut analyses, clean),
        false => remove_dead(body, &mut analyses, clean, ROUNDS),
    });
}

impl Clean {
    /// Runs a removal of dead code. Where there was nothing to propagate there is nothing behind
    /// it: what nothing reads is no copy's source but outside SSA form, which values are in when
    /// the next phase looks. And a sound body stays one.
    fn keep(
        &mut self,
        body: &mut Body<'_>,
        remove: impl FnOnce(&mut Self, &mut Body<'_>) -> usize,
    ) -> usize {
        let is_clean = self.copies == body.stamp();
        let is_sound = self.checked == body.stamp();
        let removed = remove(self, body);
        if is_clean {
            self.copies = body.stamp();
        }
        if is_sound {
            self.checked = body.stamp();
        }
        removed
    }
}

impl Clean {
    /// Nothing is left that nothing reads, and each cell is written once.
    pub(crate) fn writes_once(&self, body: &Body<'_>) -> bool {
        self.unread == body.stamp() && !self.rewritten
    }

    /// Nothing is left that nothing reads; is some cell of a register written more than once?
    pub(super) fn unread_are_gone(&mut self, body: &Body<'_>, rewritten: bool) {
        self.rewritten = rewritten;
        self.unread = body.stamp();
        self.unread_of = body.stamps().values;
        if !rewritten {
            // What is written once is read behind that, or nowhere: places add nothing.
            self.dead = body.stamp();
        }
    }
}

/// Bodies, by their stamps, in which phases last found nothing to do: they need not look again.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Clean {
    /// No dead code.
    pub dead: u64,
    /// Nothing that nothing reads anywhere.
    unread: u64,
    /// Of the same body: the number of its values.
    unread_of: u64,
    /// Of the same body: whether some cell of a register is written more than once.
    rewritten: bool,
    /// No copy to propagate, and nothing to fold.
    pub copies: u64,
    /// No copy to propagate in blocks as they were: the number of its values.
    pub propagated: u64,
    /// Nothing of which fewer instructions can be made.
    pub combined: u64,
    /// What the validator has seen.
    pub checked: u64,
}

/// Removes what no needed instruction reads, as a part of other phases: how many instructions went.
pub(crate) fn remove_unread(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    clean: &mut Clean,
) -> usize {
    if clean.dead == body.stamp() || clean.unread == body.stamp() {
        return 0;
    }
    let removed = clean.keep(body, |clean, body| {
        let (removed, rewritten) = sweep_unread(body, analyses);
        clean.rewritten = rewritten;
        removed
    });
    clean.unread_are_gone(body, clean.rewritten);
    removed
}

fn remove_dead(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    clean: &mut Clean,
    rounds: usize,
) -> usize {
    let removed = remove_unread(body, analyses, clean);
    if clean.dead == body.stamp() {
        return removed;
    }
    removed + clean.keep(body, |clean, body| remove_by_liveness(body, analyses, clean, rounds))
}

fn remove_by_liveness(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    clean: &mut Clean,
    rounds: usize,
) -> usize {
    let mut removed = 0;
    // A round finds chains within a block, more rounds those that cross blocks; most of these
    // nothing needed reads anywhere, and they are gone before.
    for _ in 0..rounds {
        let liveness = analyses.liveness_after(body);
        let mut dead = scratch!(Vec<bool>; false; body.inst_count());
        let mut any = false;
        let mut live = liveness.cells();
        // Something dead reads what comes from another block: more may be dead there.
        let mut across = false;
        for block in body.layout() {
            live.start(&liveness, *block);
            for id in body.block(*block).insts().iter().rev() {
                let inst = body.inst(*id);
                if is_removable(inst) && !live.reads_result_of(&liveness.map, inst) {
                    dead[id.0 as usize] = true;
                    any = true;
                    inst.for_each_use(|r| {
                        across |= liveness.map.cells(r).any(|cell| liveness.is_global(cell));
                    });
                } else {
                    live.step_back(&liveness.map, inst);
                }
            }
        }
        if any {
            removed += sweep(body, &dead);
        }
        if !across {
            clean.dead = body.stamp();
            break;
        }
    }
    removed
}

/// Phases 11, 18 and 69: removes what no needed instruction reads, without regard to places. By
/// places the first ones would find little more than a sweep in SSA form, which is made behind
/// them, and finds at once what liveness would take a round for each crossing of blocks for.
pub fn simple_live_dead(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    // Where only branches have changed, or gone, or instructions with them, a sweep finds at most
    // what those read: the next one that has more to do finds it, too.
    if clean.unread_of == body.stamps().values {
        return;
    }
    notes.count(remove_unread(&mut body, &mut analyses, &mut clean));
}

/// How many instructions went, and whether some cell of a register is written more than once.
///
/// One walk backwards finds all that what is needed behind reads: it touches instructions in their
/// order, and a bit a cell. What is read before it is written, around loops, is left to a second
/// step.
fn sweep_unread(body: &mut Body<'_>, analyses: &mut Analyses) -> (usize, bool) {
    let map = analyses.cells(body);
    // Bytes, not bits: a walk sets some for each operand, and nothing counts them.
    let mut dead = scratch!(Vec<bool>; false; body.inst_count());
    let mut cells = scratch!(Vec<u8>; 0; map.count());
    let mut again = 0;
    let mut count = 0;
    for block in body.layout().iter().rev() {
        for id in body.block(*block).insts().iter().rev() {
            let inst = body.inst(*id);
            let mut found = 0;
            inst.for_each_def(|r| {
                for cell in map.cells(r) {
                    found |= cells[cell as usize];
                    cells[cell as usize] |= WRITTEN;
                }
            });
            again |= found;
            if found & WANTED != 0 || !is_removable(inst) {
                inst.for_each_use(|r| {
                    map.cells(r).for_each(|cell| cells[cell as usize] |= WANTED);
                });
            } else {
                dead[id.0 as usize] = true;
                count += 1;
            }
        }
    }
    let again = again & WRITTEN != 0;
    if count == 0 {
        return (0, again);
    }
    let mut all = scratch!(Vec<InstId>).with_room(count);
    all.extend((0..dead.len() as u32).filter(|id| dead[*id as usize]).map(InstId));
    revive(body, &map, &all, &mut dead, &cells);
    (sweep(body, &dead), again)
}

/// Something behind writes the cell.
const WRITTEN: u8 = 1;
/// Something needed behind reads the cell.
const WANTED: u8 = 2;

/// Takes back, of all that are dead, what writes a cell that is wanted, and what that reads.
fn revive(body: &Body<'_>, map: &CellMap, all: &[InstId], dead: &mut [bool], cells: &[u8]) {
    let is_wanted = |id: &&InstId| {
        let mut found = 0;
        let each = |r: RegUse| map.cells(r).for_each(|cell| found |= cells[cell as usize]);
        body.inst(**id).for_each_def(each);
        found & WANTED != 0
    };
    let mut work = scratch!(Vec<InstId>).with(all.iter().filter(is_wanted).copied());
    if work.is_empty() {
        return;
    }
    let mut writers = scratch!(Lists<InstId>).of(map.count());
    for id in all {
        body.inst(*id).for_each_def(|r| map.cells(r).for_each(|cell| writers.push(cell, *id)));
    }
    work.iter().for_each(|id| dead[id.0 as usize] = false);
    while let Some(id) = work.pop() {
        body.inst(id).for_each_use(|r| {
            for cell in map.cells(r) {
                let mut at = writers.take(cell);
                while let Some((writer, next)) = writers.get(at) {
                    if std::mem::replace(&mut dead[writer.0 as usize], false) {
                        work.push(writer);
                    }
                    at = next;
                }
            }
        });
    }
}

/// Some are dead.
fn sweep(body: &mut Body<'_>, dead: &[bool]) -> usize {
    let layout = body.walk();
    layout.iter().map(|block| body.retain(*block, |_, id| !dead[id.0 as usize])).sum()
}
