//! Stall counts: enough cycles between fixed-latency producers and whoever touches their results, across blocks too.
//!
//! Time is counted in issue cycles within a block. What may still be on its way where control enters a block comes from a
//! dataflow over the CFG: (register, class of its producer) with the fewest cycles that may have gone by since its issue.
//! When a block's own start would come too early for such a result, the branches into it stall longer.

use orias_components::{BlockId, Body, Inst, InstId, Loc, Opcode, Operand, RegFile};
use orias_targets::latency::{Class, Hazard, Latencies};

use super::cells::{self, Cell};
use super::flow;
use super::timing::Timings;

/// The longest stall that the control bits can say, in cycles. What needs more (matrix products) gets a NOP.
const LONGEST: i32 = 15;

/// A wait on a scoreboard sees an increment one cycle late (Huerta et al. 2025): who sets one that the very next instruction
/// waits for must stall two cycles.
const SCOREBOARD_VISIBLE: u8 = 2;

/// A result on its way: its register, the class by which it comes, the time of its issue.
type Issued = (Cell, Class, i32);

/// What walking a block needs to know of the target.
#[derive(Clone, Copy)]
struct Times<'t> {
    timings: &'t Timings,
    latencies: &'t Latencies,
}

impl Times<'_> {
    /// Nothing older matters.
    fn longest(&self) -> i32 {
        i32::from(self.latencies.longest())
    }

    fn least_stall(&self, op: Opcode) -> u8 {
        self.latencies.least_stall(op)
    }
}

/// Sets the stall and the yield bit of every instruction; waits and scoreboards are there already.
pub fn set(body: &mut Body<'_>, timings: &Timings, latencies: &Latencies, layout: &[BlockId]) {
    let times = Times { timings, latencies };
    // At a block's start times are 0 or less, 0 being the start.
    let leave = |block: BlockId, entry: &Vec<Issued>| walk(body, times, block, entry).issued;
    let entry = flow::at_entry(body, layout, Vec::new(), leave, |to, from| merge(to, from));
    let mut delay = vec![0u8; body.block_count()];
    let mut stretched = Vec::new();
    for block in layout {
        let walked = walk(body, times, *block, &entry[block.0 as usize]);
        delay[block.0 as usize] = walked.delay.min(LONGEST) as u8;
        if walked.delay > LONGEST {
            stretched.push((*block, 0, walked.delay - LONGEST));
        }
        let insts = body.block(*block).insts.clone();
        for (at, (id, stall)) in insts.into_iter().zip(walked.stalls).enumerate() {
            body.inst_mut(id).control.stall = stall.min(LONGEST) as u8;
            if stall > LONGEST {
                stretched.push((*block, at + 1, stall - LONGEST));
            }
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
                let stall = i32::from(inst.control.stall + wanted.unwrap_or(0));
                inst.control.stall = stall.min(LONGEST) as u8;
                if stall > LONGEST {
                    let before = if inst.op.is_branch() { at } else { at + 1 };
                    stretched.push((*block, before, stall - LONGEST));
                }
            }
            if last && sets_scoreboard(&inst) {
                // Whatever follows may wait for it.
                inst.control.stall = inst.control.stall.max(SCOREBOARD_VISIBLE);
            }
            // Observed: ptxas sets the bit with short stalls and clears it with long ones.
            inst.control.yield_ = inst.control.stall <= 2;
        }
    }
    stretched.sort_by_key(|(block, at, _)| (block.0, *at));
    // From the end, so that the places before stay what they are.
    for (block, at, cycles) in stretched.into_iter().rev() {
        insert_nop(body, block, at, cycles);
    }
}

/// Puts a NOP of so many cycles before the instruction at `at`: as ptxas spends times that no stall can say.
pub fn insert_nop(body: &mut Body<'_>, block: BlockId, at: usize, cycles: i32) {
    let mut nop = Inst::new(Opcode::NOP, &[], 0, &[] as &[Operand]);
    nop.control.stall = cycles.min(LONGEST) as u8;
    nop.control.yield_ = cycles <= 2;
    body.insert(block, at, nop, Loc::default());
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
    stalls: Vec<i32>,
    /// Cycles that must go by before the first instruction, for results that come from other blocks.
    delay: i32,
    /// What is on its way when control may first leave the block, in time from there.
    issued: Vec<Issued>,
}

/// Walks a block with what is on its way at its entry.
fn walk(body: &Body<'_>, times: Times<'_>, block: BlockId, entry: &[Issued]) -> Walked {
    let insts: &[InstId] = &body.block(block).insts;
    let mut issued: Vec<Issued> = entry.to_vec();
    let mut stalls: Vec<i32> = Vec::with_capacity(insts.len());
    let mut delay = 0;
    let mut now = 0;
    let mut before: Option<(&Inst, Class)> = None;
    // Time at which control may first leave; what is issued after it is younger still.
    let mut left_at = None;
    for id in insts {
        let inst = body.inst(*id);
        let timing = times.timings.get(*id);
        let class = timing.class;
        let ready = ready(times, inst, class, &issued);
        match before {
            None => {
                delay = ready.max(0);
                now = delay;
            }
            Some(before) => {
                let stall = (ready - now).max(least_stall(times, before, (inst, class)));
                stalls.push(stall);
                now += stall;
            }
        }
        if left_at.is_none() && inst.op.is_branch() {
            left_at = Some(now + i32::from(times.least_stall(inst.op)));
        }
        issued.retain(|(_, _, when)| now - when < times.longest());
        cells::for_each_result(inst, class, |c, class| {
            // Where a guard is false, what was there before is still to come.
            issued.retain(|(cell, by, _)| *cell != c || (!inst.guard.is_always() && *by != class));
            if !timing.write_sb && !class.is_variable() && c.file() != RegFile::B {
                issued.push((c, class, now));
            }
        });
        before = Some((inst, class));
    }
    if let Some((last, _)) = before {
        let stall = i32::from(times.least_stall(last.op));
        stalls.push(stall);
        now += stall;
    }
    let end = left_at.unwrap_or(now);
    for (_, _, when) in &mut issued {
        *when = (*when - end).min(0);
    }
    issued.retain(|(_, _, when)| -when < times.longest());
    Walked { stalls, delay, issued }
}

/// The least stall of `before`, given what follows it: a scoreboard that it sets must be seen, and a source that it reads
/// not overwritten too soon. (No source is read more than a stall or two after the issue, so only neighbours matter.)
fn least_stall(times: Times<'_>, before: (&Inst, Class), next: (&Inst, Class)) -> i32 {
    let mut least = times.least_stall(before.0.op);
    if sets_scoreboard(before.0) && next.0.control.wait != 0 {
        least = least.max(SCOREBOARD_VISIBLE);
    }
    cells::for_each_result(next.0, next.1, |written, by| {
        cells::for_each_source(before.0, before.1, |read, class| {
            if read == written {
                let file = written.file();
                let wait = times.latencies.cycles(Hazard::WriteAfterRead, file, class, by);
                least = least.max(wait);
            }
        });
    });
    i32::from(least)
}

/// The time at which everything that `inst` touches is ready.
fn ready(times: Times<'_>, inst: &Inst, class: Class, issued: &[Issued]) -> i32 {
    let mut ready = -times.longest();
    let mut need = |hazard: Hazard, cell: Cell, class: Class| {
        for (c, producer, when) in issued {
            if *c == cell {
                let wait = times.latencies.cycles(hazard, cell.file(), *producer, class);
                ready = ready.max(when + i32::from(wait));
            }
        }
    };
    cells::for_each_source(inst, class, |c, class| need(Hazard::ReadAfterWrite, c, class));
    cells::for_each_result(inst, class, |c, class| need(Hazard::WriteAfterWrite, c, class));
    if matches!(inst.op, Opcode::CALL | Opcode::RET) {
        // The other side may do anything with general registers; of the others it reads none.
        for (c, producer, when) in issued {
            let file = c.file();
            let wait = times.latencies.settled(file, *producer, file == RegFile::R);
            ready = ready.max(when + i32::from(wait));
        }
    }
    for c in times.timings.arriving(inst) {
        // Sums of products before come in their order.
        for (_, producer, when) in
            issued.iter().filter(|(d, by, _)| d == c && *by != Class::Control)
        {
            let wait = times.latencies.cycles(Hazard::ReadAfterWrite, c.file(), *producer, class);
            ready = ready.max(when + i32::from(wait));
        }
    }
    ready
}
