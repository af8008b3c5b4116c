//! Stall counts: enough cycles between fixed-latency producers and whoever touches their results,
//! across blocks too.
//!
//! Time is counted in issue cycles within a block. What may still be on its way where control
//! enters a block comes from a dataflow over the CFG: (register, what of which producer it is) with
//! the fewest cycles that may have gone by since its issue. When a block's own start would come too
//! early for such a result, the branches into it stall longer.

use orias_components::{BlockId, Body, Control, Inst, InstId, Loc, Opcode, Operand, RegFile, View};
use orias_targets::Target;
use orias_targets::form::Ports;
use orias_targets::latency::{Class, Hazard, In, Latencies, Out};
use smallvec::SmallVec;

use super::cells::{self, Cell};
use super::flow;
use super::timing::{Timing, Timings};

/// The longest stall that the control bits can say, in cycles. What needs more (matrix products)
/// gets a NOP.
const LONGEST: i32 = 15;

/// A wait on a scoreboard sees an increment one cycle late (Huerta et al. 2025): who sets one that
/// the very next instruction waits for must stall two cycles.
const SCOREBOARD_VISIBLE: u8 = 2;

/// Results that are on their way at once, usually.
const FEW: usize = 16;

/// A result on its way: its register, which result of which kind of instruction it is, the time of
/// its issue.
type Issued = (Cell, Out, i32);

/// Cells that results on their way may have: a bit for each that has the same number but for
/// multiples of 64.
#[derive(Clone, Copy, Default)]
struct Cells(u64);

impl Cells {
    fn of(issued: &[Issued]) -> Cells {
        let mut cells = Cells::default();
        issued.iter().for_each(|(cell, _, _)| cells.add(*cell));
        cells
    }

    fn add(&mut self, cell: Cell) {
        self.0 |= 1 << (cell.0 % 64);
    }

    fn may_have(self, cell: Cell) -> bool {
        self.0 >> (cell.0 % 64) & 1 != 0
    }
}

/// What walking a block needs to know of the target.
#[derive(Clone, Copy)]
struct Times<'t> {
    timings: &'t Timings,
    latencies: &'t Latencies,
}

impl Times<'_> {
    /// The longest stall that an instruction may have: the field's own longest only where ptxas has
    /// it, too.
    fn longest_stall(&self, id: InstId, op: Opcode) -> i32 {
        if self.least_stall(id, op) == Control::LONGEST_STALL {
            i32::from(Control::LONGEST_STALL)
        } else {
            LONGEST
        }
    }

    /// Nothing older matters.
    fn longest(&self) -> i32 {
        i32::from(self.latencies.longest())
    }

    /// What an opcode was never seen with less of is no latency of a register: it has the least
    /// stall of its habits.
    fn least_stall(&self, id: InstId, op: Opcode) -> u8 {
        let habit = self.timings.get(id).habit.filter(|h| h.often).map_or(1, |h| h.stalls.0);
        habit.max(self.latencies.least_stall(op))
    }
}

/// Sets the stall and the yield bit of every instruction; waits and scoreboards are there already.
pub fn set(body: &mut Body<'_>, timings: &Timings, target: &Target, layout: &[BlockId]) {
    let times = Times { timings, latencies: target.latencies() };
    // At a block's start times are 0 or less, 0 being the start.
    let mut walks: Vec<Walked> = vec![Walked::default(); body.block_count()];
    let leave = |block: BlockId, entry: &Vec<Issued>| {
        let (walked, issued) = walk(body, times, block, entry);
        walks[block.0 as usize] = walked;
        issued
    };
    flow::at_entry(body, layout, Vec::new(), leave, |to, from| merge(to, from));
    let mut delay = vec![0u8; body.block_count()];
    let mut stretched = Vec::new();
    for block in layout {
        let walked = std::mem::take(&mut walks[block.0 as usize]);
        delay[block.0 as usize] = walked.delay.min(LONGEST) as u8;
        if walked.delay > LONGEST {
            stretched.push((*block, 0, walked.delay - LONGEST));
        }
        let insts = body.block(*block).insts().to_vec();
        for (at, (id, stall)) in insts.into_iter().zip(walked.stalls).enumerate() {
            let longest = times.longest_stall(id, body.op(id));
            let control = body.inst(id).control();
            body.set_control(id, Control { stall: stall.min(longest) as u8, ..control });
            if stall > longest {
                stretched.push((*block, at + 1, stall - longest));
            }
        }
    }
    pass_delays_through_empty_blocks(body, layout, &mut delay);
    for block in layout {
        let wanted = body.block(*block).succs().iter().map(|s| delay[s.0 as usize]).max();
        let insts = body.block(*block).insts().to_vec();
        for (at, id) in insts.iter().enumerate() {
            let op = body.op(*id);
            let mut control = body.inst(*id).control();
            let last = at + 1 == insts.len();
            if last || op.is_branch() {
                let stall = i32::from(control.stall + wanted.unwrap_or(0));
                let longest = times.longest_stall(*id, op);
                control.stall = stall.min(longest) as u8;
                if stall > longest {
                    let before = if op.is_branch() { at } else { at + 1 };
                    stretched.push((*block, before, stall - longest));
                }
            }
            if last && sets_scoreboard(control) {
                // Whatever follows may wait for it.
                control.stall = control.stall.max(SCOREBOARD_VISIBLE);
            }
            control.stall %= Control::LONGEST_STALL;
            control.yield_ = yields(timings.get(*id), control.stall);
            body.set_control(*id, control);
        }
    }
    stretched.sort_by_key(|(block, at, _)| (block.0, *at));
    for of_block in stretched.chunk_by(|a, b| a.0 == b.0) {
        let nops = of_block.iter().map(|(_, at, cycles)| (*at, nop(*cycles), Loc::default()));
        body.insert_all(of_block[0].0, nops);
    }
}

/// The yield bit with a stall, as the opcode was seen with it. Observed: ptxas sets it with every
/// stall up to 11 where the instruction has scoreboards or is control flow, and with short ones in
/// the fixed pipes.
fn yields(timing: Timing, stall: u8) -> bool {
    let pipe = timing.class.is_variable() || timing.class == Class::Control;
    let usual = matches!(stall, 1 | 2) || pipe && matches!(stall, 3..=11);
    timing.habit.and_then(|h| h.yields(stall)).unwrap_or(usual)
}

/// A NOP of so many cycles: as ptxas spends times that no stall can say.
pub fn nop(cycles: i32) -> Inst {
    let mut nop = Inst::new(Opcode::NOP, &[], 0, &[] as &[Operand]);
    nop.control.stall = cycles.min(LONGEST) as u8;
    nop.control.yield_ = cycles <= 2;
    nop
}

fn pass_delays_through_empty_blocks(body: &Body<'_>, layout: &[BlockId], delay: &mut [u8]) {
    let mut again = true;
    while again {
        again = false;
        for block in layout.iter().rev() {
            let block = body.block(*block);
            let after = block.succs().iter().map(|s| delay[s.0 as usize]).max().unwrap_or(0);
            let mine = &mut delay[block.id.0 as usize];
            if block.insts().is_empty() && after > *mine {
                *mine = after;
                again = true;
            }
        }
    }
}

fn sets_scoreboard(control: Control) -> bool {
    control.write_sb != Control::NO_SB || control.read_sb != Control::NO_SB
}

/// Keeps the later issue of each register and kind of result; true when something changed.
fn merge(entry: &mut Vec<Issued>, out: &[Issued]) -> bool {
    let mut changed = false;
    for (cell, result, when) in out {
        match entry.iter_mut().find(|(c, k, _)| c == cell && k == result) {
            Some(known) if known.2 >= *when => {}
            Some(known) => {
                known.2 = *when;
                changed = true;
            }
            None => {
                entry.push((*cell, *result, *when));
                changed = true;
            }
        }
    }
    changed
}

/// One of two instructions that follow each other.
#[derive(Clone, Copy)]
struct Neighbour<'a> {
    id: InstId,
    inst: View<'a>,
}

/// What an instruction reads and writes, read once from its operands.
#[derive(Default)]
struct Access {
    sources: SmallVec<[(Cell, In); 16]>,
    results: SmallVec<[(Cell, Out); 8]>,
}

impl Access {
    fn read(&mut self, inst: View<'_>, ports: Ports) {
        self.sources.clear();
        self.results.clear();
        cells::for_each_source(inst, ports, |cell, source| self.sources.push((cell, source)));
        cells::for_each_result(inst, ports, |cell, result| self.results.push((cell, result)));
    }
}

#[derive(Clone, Default)]
struct Walked {
    stalls: Vec<i32>,
    /// Cycles that must go by before the first instruction, for results that come from other
    /// blocks.
    delay: i32,
}

/// Walks a block with what is on its way at its entry; also what is when control may first leave
/// it, in time from there.
fn walk(
    body: &Body<'_>,
    times: Times<'_>,
    block: BlockId,
    entry: &[Issued],
) -> (Walked, Vec<Issued>) {
    let insts: &[InstId] = body.block(block).insts();
    let mut issued: Vec<Issued> = Vec::with_capacity(entry.len() + FEW);
    issued.extend_from_slice(entry);
    let mut stalls: Vec<i32> = Vec::with_capacity(insts.len());
    let mut delay = 0;
    let mut now = 0;
    let mut before: Option<Neighbour<'_>> = None;
    let (mut access, mut last) = (Access::default(), Access::default());
    let mut cells = Cells::of(&issued);
    // Time at which control may first leave; what is issued after it is younger still.
    let mut left_at = None;
    for id in insts {
        let inst = body.inst(*id);
        let timing = times.timings.get(*id);
        access.read(inst, timing.ports);
        let ready = ready(times, inst, timing, &access, (&issued, cells));
        match before {
            None => {
                delay = ready.max(0);
                now = delay;
            }
            Some(before) => {
                let stall = (ready - now).max(least_stall(times, (before, &last), (inst, &access)));
                stalls.push(stall);
                now += stall;
            }
        }
        if left_at.is_none() && inst.op.is_branch() {
            left_at = Some(now + i32::from(times.least_stall(*id, inst.op)));
        }
        cells = Cells::default();
        issued.retain(|(cell, _, when)| {
            let stays = now - when < times.longest();
            if stays {
                cells.add(*cell);
            }
            stays
        });
        for &(c, result) in &access.results {
            if cells.may_have(c) {
                // Where a guard is false, what was there before is still to come.
                let stays = !inst.guard.is_always();
                issued.retain(|(cell, by, _)| *cell != c || (stays && *by != result));
            }
            if !timing.write_sb && !timing.class.is_variable() && c.file() != RegFile::B {
                issued.push((c, result, now));
                cells.add(c);
            }
        }
        before = Some(Neighbour { id: *id, inst });
        std::mem::swap(&mut access, &mut last);
    }
    if let Some(last) = before {
        let stall = i32::from(times.least_stall(last.id, last.inst.op));
        stalls.push(stall);
        now += stall;
    }
    let end = left_at.unwrap_or(now);
    for (_, _, when) in &mut issued {
        *when = (*when - end).min(0);
    }
    issued.retain(|(_, _, when)| -when < times.longest());
    (Walked { stalls, delay }, issued)
}

/// The least stall of `before`, given what follows it: a scoreboard that it sets must be seen, and
/// a source that it reads not overwritten too soon. (No source is read more than a stall or two
/// after the issue, so only neighbours matter.)
fn least_stall(
    times: Times<'_>,
    (before, reads): (Neighbour<'_>, &Access),
    (next, writes): (View<'_>, &Access),
) -> i32 {
    let mut least = times.least_stall(before.id, before.inst.op);
    if sets_scoreboard(before.inst.control()) && next.control().wait != 0 {
        least = least.max(SCOREBOARD_VISIBLE);
    }
    for &(written, by) in &writes.results {
        for &(_, source) in reads.sources.iter().filter(|(read, _)| *read == written) {
            if written.file() != RegFile::B {
                let wait = times.latencies.write_after_read(written.file(), source, by);
                least = least.max(wait);
            }
        }
    }
    i32::from(least)
}

/// The time at which everything that `inst` touches is ready.
fn ready(
    times: Times<'_>,
    inst: View<'_>,
    timing: Timing,
    access: &Access,
    (issued, cells): (&[Issued], Cells),
) -> i32 {
    let latencies = times.latencies;
    let mut ready = -times.longest();
    let mut need = |cell: Cell, wait: &dyn Fn(Out) -> u8| {
        if !cells.may_have(cell) {
            return;
        }
        for (_, result, when) in issued.iter().filter(|(c, _, _)| *c == cell) {
            ready = ready.max(when + i32::from(wait(*result)));
        }
    };
    for &(cell, source) in &access.sources {
        need(cell, &|result| latencies.read_after_write(result, source));
    }
    for &(cell, next) in &access.results {
        need(cell, &|result| latencies.write_after_write(result, next));
    }
    for cell in times.timings.arriving(inst) {
        // Sums of products before come in their order.
        need(*cell, &|result| match latencies.class_of(result) {
            Class::Control => 0,
            class => latencies.cycles(Hazard::ReadAfterWrite, cell.file(), class, timing.class),
        });
    }
    if matches!(inst.op, Opcode::CALL | Opcode::RET) || crate::effects::gives_registers_back(inst) {
        // The other side may do anything with general registers; of the others it reads none.
        for (cell, result, when) in issued {
            let wait = latencies.settled(*result, cell.file() == RegFile::R);
            ready = ready.max(when + i32::from(wait));
        }
    }
    ready
}
