//! Stall counts: enough cycles between fixed-latency producers and whoever touches their results, across blocks too.
//!
//! Time is counted in issue cycles within a block. What may still be on its way where control enters a block comes from a
//! dataflow over the CFG: (register, class of its producer) with the fewest cycles that may have gone by since its issue.
//! When a block's own start would come too early for such a result, the branches into it stall longer.

use orias_components::{BlockId, Body, Inst, InstId, RegFile};
use orias_targets::latency::{self, Class};

use super::cells::{self, Cell};
use super::timing::Timings;

/// The longest stall that the control bits can say, in cycles: no producer needs more, so nothing older matters.
const LONGEST: i32 = 15;

/// A wait on a scoreboard sees an increment one cycle late (Huerta et al. 2025): who sets one that the very next instruction
/// waits for must stall two cycles.
const SCOREBOARD_VISIBLE: u8 = 2;

/// A result on its way: its register, the class of its producer, the time of its issue.
type Issued = (Cell, Class, i32);

/// Sets the stall and the yield bit of every instruction; waits and scoreboards are there already.
pub fn set(body: &mut Body<'_>, timings: &Timings, layout: &[BlockId]) {
    let entry = issued_at_entry(body, timings, layout);
    let mut delay = vec![0u8; body.block_count()];
    for block in layout {
        let walked = walk(body, timings, *block, &entry[block.0 as usize]);
        delay[block.0 as usize] = walked.delay;
        for (id, stall) in body.block(*block).insts.clone().into_iter().zip(walked.stalls) {
            body.inst_mut(id).control.stall = stall;
        }
    }
    pass_delays_through_empty_blocks(body, layout, &mut delay);
    for block in layout {
        let wanted = body.block(*block).succs.iter().map(|s| delay[s.0 as usize]).max();
        let insts = body.block(*block).insts.clone();
        for (at, id) in insts.iter().enumerate() {
            let mut inst = body.inst_mut(*id);
            let last = at + 1 == insts.len();
            if last || inst.op.is_branch() {
                let stall = inst.control.stall + wanted.unwrap_or(0);
                inst.control.stall = stall.min(LONGEST as u8);
            }
            if last && sets_scoreboard(&inst) {
                // Whatever follows may wait for it.
                inst.control.stall = inst.control.stall.max(SCOREBOARD_VISIBLE);
            }
            // Observed: ptxas sets the bit with short stalls and clears it with long ones.
            inst.control.yield_ = inst.control.stall <= 2;
        }
    }
}

fn pass_delays_through_empty_blocks(body: &Body<'_>, layout: &[BlockId], delay: &mut [u8]) {
    let mut again = true;
    while again {
        again = false;
        for block in layout.iter().rev() {
            let block = body.block(*block);
            let after = block.succs.iter().map(|s| delay[s.0 as usize]).max().unwrap_or(0);
            let mine = &mut delay[block.id.0 as usize];
            if block.insts.is_empty() && after > *mine {
                *mine = after;
                again = true;
            }
        }
    }
}

fn sets_scoreboard(inst: &Inst) -> bool {
    inst.control.write_sb != 7 || inst.control.read_sb != 7
}

/// The results on their way at the start of each block: times are 0 or less, 0 being the block's start.
fn issued_at_entry(body: &Body<'_>, timings: &Timings, layout: &[BlockId]) -> Vec<Vec<Issued>> {
    let mut entry: Vec<Vec<Issued>> = vec![Vec::new(); body.block_count()];
    let mut dirty = vec![true; body.block_count()];
    let mut again = true;
    while again {
        again = false;
        for block in layout {
            if !std::mem::take(&mut dirty[block.0 as usize]) {
                continue;
            }
            let out = walk(body, timings, *block, &entry[block.0 as usize]).issued;
            for succ in &body.block(*block).succs {
                if merge(&mut entry[succ.0 as usize], &out) {
                    dirty[succ.0 as usize] = true;
                    again = true;
                }
            }
        }
    }
    entry
}

/// Keeps the later issue of each register and class; true when something changed.
fn merge(entry: &mut Vec<Issued>, out: &[Issued]) -> bool {
    let mut changed = false;
    for (cell, class, when) in out {
        match entry.iter_mut().find(|(c, k, _)| c == cell && k == class) {
            Some(known) if known.2 >= *when => {}
            Some(known) => {
                known.2 = *when;
                changed = true;
            }
            None => {
                entry.push((*cell, *class, *when));
                changed = true;
            }
        }
    }
    changed
}

struct Walked {
    stalls: Vec<u8>,
    /// Cycles that must go by before the first instruction, for results that come from other blocks.
    delay: u8,
    /// What is on its way when control may first leave the block, in time from there.
    issued: Vec<Issued>,
}

/// Walks a block with what is on its way at its entry.
fn walk(body: &Body<'_>, timings: &Timings, block: BlockId, entry: &[Issued]) -> Walked {
    let insts: &[InstId] = &body.block(block).insts;
    let mut issued: Vec<Issued> = entry.to_vec();
    let mut stalls: Vec<u8> = Vec::with_capacity(insts.len());
    let mut delay = 0;
    let mut now = 0;
    let mut before: Option<&Inst> = None;
    // Time at which control may first leave; what is issued after it is younger still.
    let mut left_at = None;
    for id in insts {
        let inst = body.inst(*id);
        let class = timings.get(*id).class;
        let ready = ready(inst, class, &issued);
        match before {
            None => {
                delay = ready.clamp(0, LONGEST) as u8;
                now = i32::from(delay);
            }
            Some(before) => {
                let stall = (ready - now).clamp(least_stall(before, inst), LONGEST);
                stalls.push(stall as u8);
                now += stall;
            }
        }
        if left_at.is_none() && inst.op.is_branch() {
            left_at = Some(now + i32::from(latency::least_stall(inst.op)));
        }
        issued.retain(|(_, _, when)| now - when < LONGEST);
        cells::for_each_def(inst, |c| {
            issued.retain(|(cell, _, _)| *cell != c);
            if !class.is_variable() && c.file() != RegFile::B {
                issued.push((c, class, now));
            }
        });
        before = Some(inst);
    }
    if let Some(last) = before {
        let stall = latency::least_stall(last.op);
        stalls.push(stall);
        now += i32::from(stall);
    }
    let end = left_at.unwrap_or(now);
    for (_, _, when) in &mut issued {
        *when = (*when - end).min(0);
    }
    issued.retain(|(_, _, when)| -when < LONGEST);
    Walked { stalls, delay, issued }
}

/// The least stall of `before`, given what follows it.
fn least_stall(before: &Inst, next: &Inst) -> i32 {
    let least = latency::least_stall(before.op);
    let visible = sets_scoreboard(before) && next.control.wait != 0;
    i32::from(if visible { least.max(SCOREBOARD_VISIBLE) } else { least })
}

/// The time at which everything that `inst` touches is ready.
fn ready(inst: &Inst, class: Class, issued: &[Issued]) -> i32 {
    let mut ready = -LONGEST;
    let mut need = |cell: Cell, cycles: fn(Class, RegFile, Class) -> u8, class: Class| {
        for (c, producer, when) in issued {
            if *c == cell {
                ready = ready.max(when + i32::from(cycles(*producer, cell.file(), class)));
            }
        }
    };
    cells::for_each_use(inst, |c, guard| {
        need(c, latency::read_after_write, if guard { Class::Control } else { class });
    });
    cells::for_each_def(inst, |c| need(c, latency::write_after_write, class));
    ready
}
