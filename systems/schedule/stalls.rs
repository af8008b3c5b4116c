//! Stall counts: enough cycles between fixed-latency producers and whoever touches their results,
//! across blocks too.
//!
//! Time is counted in issue cycles within a block. What may still be on its way where control
//! enters a block comes from a dataflow over the CFG: (register, what of which producer it is) with
//! the fewest cycles that may have gone by since its issue. When a block's own start would come too
//! early for such a result, the branches into it stall longer.

use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Control, Inst, InstId, Loc, Opcode, Operand, RegFile, View, scratch,
};
use orias_targets::Target;
use orias_targets::form::Ports;
use orias_targets::latency::{Class, Hazard, In, Latencies, Out};
use smallvec::SmallVec;

use super::cells::{self, Cell};
use super::flow;
use super::timing::{Timing, Timings};
use crate::effects;
use crate::parallel::{self, PIECE};

/// The longest stall that the control bits can say, in cycles. What needs more (matrix products)
/// gets a NOP.
const LONGEST: i32 = 15;

/// A wait on a scoreboard sees an increment one cycle late (Huerta et al. 2025): who sets one that
/// the very next instruction waits for must stall two cycles.
const SCOREBOARD_VISIBLE: u8 = 2;

/// Instructions before a piece of a block after which what was on its way before them mostly does
/// not matter any more: many times the longest latency.
const RUN_UP: usize = 256;

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
    /// The block leads to one that begins with BSYNC: see [`Walk::arrival`].
    joins: bool,
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
    let times = Times { timings, latencies: target.latencies(), joins: false };
    // By id, in cycles.
    let mut stalls = scratch!(Vec<u16>; 0; body.inst_count());
    // By block: cycles that must go by before its first instruction.
    let mut delays = scratch!(Vec<i32>; 0; body.block_count());
    // At a block's start times are 0 or less, 0 being the start.
    let mut entry = scratch!(Vec<AtEntry>; at_start(); body.block_count());
    let leave = |block: BlockId, entry: &AtEntry, end: &mut AtEntry| {
        let joins = body.block(block).succs().iter().any(|s| begins_with_join(body, *s));
        let times = Times { joins, ..times };
        let (delay, issued) = walk(body, times, block, entry, &mut stalls);
        delays[block.0 as usize] = delay;
        *end = issued;
    };
    flow::at_entry(body, layout, &mut entry, leave, |to, from| merge(to, from));
    drop(entry);
    let mut delay = scratch!(Vec<u8>; 0; body.block_count());
    let mut stretched = scratch!(Vec<(BlockId, usize, i32)>);
    // By place in the layout: the first instruction whose stall depends on what comes behind the
    // block, branches and the last one.
    let mut tails = scratch!(Vec<u32>);
    for block in layout {
        let wanted = delays[block.0 as usize];
        delay[block.0 as usize] = wanted.min(LONGEST) as u8;
        if wanted > LONGEST {
            stretched.push((*block, 0, wanted - LONGEST));
        }
        let count = body.block(*block).insts().len();
        let mut tail = count.saturating_sub(1);
        for at in 0..count {
            let id = body.block(*block).insts()[at];
            let (op, stall) = (body.op(id), i32::from(stalls[id.0 as usize]));
            let longest = times.longest_stall(id, op);
            let mut control = body.control(id);
            control.stall = stall.min(longest) as u8;
            if stall > longest {
                stretched.push((*block, at + 1, stall - longest));
            }
            if op.is_branch() {
                tail = tail.min(at);
            } else if at + 1 < count {
                finish(&mut control, timings.get(id));
            }
            body.set_control(id, control);
        }
        tails.push(tail as u32);
    }
    pass_delays_through_empty_blocks(body, layout, &mut delay);
    for (block, tail) in layout.iter().zip(tails.iter()) {
        let wanted = body.block(*block).succs().iter().map(|s| delay[s.0 as usize]).max();
        let count = body.block(*block).insts().len();
        // What branches lack is spent before the first of them: between two stands nothing.
        let mut lacking = 0;
        for at in *tail as usize..count {
            let id = body.block(*block).insts()[at];
            let (op, last) = (body.op(id), at + 1 == count);
            if !last && !op.is_branch() {
                continue;
            }
            let mut control = body.control(id);
            let stall = i32::from(control.stall + wanted.unwrap_or(0));
            let longest = times.longest_stall(id, op);
            control.stall = stall.min(longest) as u8;
            match op.is_branch() {
                true => lacking = lacking.max(stall - longest),
                false if stall > longest => stretched.push((*block, at + 1, stall - longest)),
                false => {}
            }
            if last && sets_scoreboard(control) {
                // Whatever follows may wait for it.
                control.stall = control.stall.max(SCOREBOARD_VISIBLE);
            }
            finish(&mut control, timings.get(id));
            body.set_control(id, control);
        }
        if lacking > 0 {
            stretched.push((*block, *tail as usize, lacking));
        }
    }
    stretched.sort_by_key(|(block, at, _)| (block.0, *at));
    for of_block in stretched.chunk_by(|a, b| a.0 == b.0) {
        let nops = of_block.iter().map(|(_, at, cycles)| (*at, nop(*cycles), Loc::default()));
        body.insert_all(of_block[0].0, nops);
    }
}

/// The fields as they are encoded, once the stall is known.
fn finish(control: &mut Control, timing: Timing) {
    control.stall %= Control::LONGEST_STALL;
    control.yield_ = yields(timing, control.stall);
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

/// Whether control that enters a block comes to BSYNC first, through empty blocks too.
fn begins_with_join(body: &Body<'_>, block: BlockId) -> bool {
    let mut at = block;
    for _ in 0..body.block_count() {
        let block = body.block(at);
        match (block.insts().first(), block.succs()) {
            (Some(first), _) => return body.op(*first) == Opcode::BSYNC,
            (None, [only]) => at = *only,
            (None, _) => return false,
        }
    }
    false
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

/// A uniform register that an instruction of the uniform pipe has read, and when: results that are
/// there at once must not come sooner than it reads, whatever stands between.
type Late = (Cell, In, i32);

/// Uniform registers have been read so many cycles after the issue.
const LATEST_READ: i32 = 3;

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

/// What may be on its way where control enters a block.
type AtEntry = Scratch<Vec<Issued>>;

/// Nothing.
fn at_start() -> AtEntry {
    scratch!(Vec<Issued>)
}

/// A walk over instructions that follow each other.
struct Walk<'b, 'w, 't> {
    body: &'b Body<'w>,
    times: Times<'t>,
    /// What is on its way, and its cells.
    issued: AtEntry,
    cells: Cells,
    /// When the instruction before issues.
    now: i32,
    before: Option<Neighbour<'b>>,
    late: SmallVec<[Late; 8]>,
    /// Instructions from which others need a distance, and when they were issued.
    marks: SmallVec<[(Opcode, i32); 4]>,
    /// What the instruction before touches, and room for what the next one does.
    last: Access,
    access: Access,
    /// Cycles that must go by before the first instruction, for results that come from other
    /// blocks.
    delay: i32,
    /// Time at which control may first leave; what is issued after it is younger still.
    left_at: Option<i32>,
}

impl<'b, 'w, 't> Walk<'b, 'w, 't> {
    fn new(body: &'b Body<'w>, times: Times<'t>, entry: &[Issued]) -> Self {
        let mut issued = at_start();
        issued.reserve(entry.len() + FEW);
        issued.extend_from_slice(entry);
        Walk {
            body,
            times,
            cells: Cells::of(&issued),
            issued,
            now: 0,
            before: None,
            late: SmallVec::new(),
            marks: SmallVec::new(),
            last: Access::default(),
            access: Access::default(),
            delay: 0,
            left_at: None,
        }
    }

    /// Goes on behind the last of these instructions, which issues at 0, with what is on its way
    /// then; the stalls of those before it are known.
    fn behind(
        body: &'b Body<'w>,
        times: Times<'t>,
        insts: &[InstId],
        stalls: &[u16],
        issued: &[Issued],
    ) -> Self {
        let mut walk = Walk::new(body, times, issued);
        let Some((&id, earlier)) = insts.split_last() else { return walk };
        let mut when = 0;
        let far = LATEST_READ.max(i32::from(times.latencies.longest_gap()));
        for id in earlier.iter().rev() {
            when -= i32::from(stalls[id.0 as usize]);
            if when <= -far {
                break;
            }
            walk.access.read(body.inst(*id), times.timings.get(*id).ports);
            walk.note_late(times.timings.get(*id), when);
            walk.mark(body.op(*id), when);
        }
        let inst = body.inst(id);
        walk.access.read(inst, times.timings.get(id).ports);
        walk.note_late(times.timings.get(id), 0);
        walk.mark(inst.op, 0);
        std::mem::swap(&mut walk.access, &mut walk.last);
        walk.before = Some(Neighbour { id, inst });
        walk
    }

    /// When everything that is on its way has arrived: before BSYNC and WARPSYNC.COLLECTIVE. Who
    /// comes last goes on with those who wait there, when they do, and no stall of his counts.
    fn arrival(&self) -> i32 {
        let joined = |(cell, result, when): &Issued| {
            when + i32::from(self.times.latencies.joined(*result, cell.file()))
        };
        self.issued.iter().map(joined).max().unwrap_or(-self.times.longest())
    }

    fn mark(&mut self, op: Opcode, when: i32) {
        if self.times.latencies.begins_gap(op) {
            self.marks.push((op, when));
        }
    }

    /// Notes the uniform registers that the instruction of [`Walk::access`] reads.
    fn note_late(&mut self, timing: Timing, when: i32) {
        if timing.class == Class::Uniform {
            let uniform = |(cell, _): &&(Cell, In)| cell.file() == RegFile::UR;
            let sources = self.access.sources.iter().filter(uniform);
            self.late.extend(sources.map(|(cell, source)| (*cell, *source, when)));
        }
    }

    /// Goes over the next instruction: the stall of the one before, where there is one.
    fn step(&mut self, id: InstId) -> Option<u16> {
        let times = self.times;
        let inst = self.body.inst(id);
        let timing = times.timings.get(id);
        self.access.read(inst, timing.ports);
        let mut ready = ready(times, inst, timing, &self.access, (&self.issued, self.cells));
        if !self.late.is_empty() {
            for (written, by) in &self.access.results {
                for (_, source, when) in self.late.iter().filter(|(read, ..)| read == written) {
                    let file = written.file();
                    let wait = times.latencies.write_after_read(file, *source, *by);
                    ready = ready.max(when + i32::from(wait));
                }
            }
        }
        if self.before.is_some() && inst.op == Opcode::BSYNC || effects::goes_on_elsewhere(inst) {
            ready = ready.max(self.arrival());
        } else if times.joins && inst.op.is_branch() {
            let leaves = i32::from(times.least_stall(id, inst.op));
            ready = ready.max(self.arrival() - leaves);
        }
        for (first, when) in &self.marks {
            ready = ready.max(when + i32::from(times.latencies.gap(*first, inst.op)));
        }
        let stall = match self.before {
            None => {
                self.delay = ready.max(0);
                self.now = self.delay;
                None
            }
            Some(before) => {
                let least = least_stall(times, (before, &self.last), (inst, &self.access));
                let stall = (ready - self.now).max(least);
                self.now += stall;
                Some(stall as u16)
            }
        };
        let now = self.now;
        if self.left_at.is_none() && inst.op.is_branch() {
            self.left_at = Some(now + i32::from(times.least_stall(id, inst.op)));
        }
        let mut cells = Cells::default();
        let issued = &mut *self.issued;
        issued.retain(|(cell, _, when)| {
            let stays = now - when < times.longest();
            if stays {
                cells.add(*cell);
            }
            stays
        });
        for &(c, result) in &self.access.results {
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
        self.cells = cells;
        self.late.retain(|(_, _, when)| now - *when < LATEST_READ);
        if !self.marks.is_empty() {
            let longest = i32::from(times.latencies.longest_gap());
            self.marks.retain(|(_, when)| now - *when < longest);
        }
        self.mark(inst.op, now);
        self.note_late(timing, now);
        self.before = Some(Neighbour { id, inst });
        std::mem::swap(&mut self.access, &mut self.last);
        stall
    }

    /// What is on its way, in time from the last instruction's issue.
    fn state(&self) -> Vec<Issued> {
        self.issued.iter().map(|(cell, out, when)| (*cell, *out, when - self.now)).collect()
    }

    /// Ends the block: the stall of its last instruction, and what is on its way when control may
    /// first leave it, in time from there.
    fn end(&mut self) -> (Option<(InstId, u16)>, AtEntry) {
        let last = self.before.map(|last| {
            // What comes next may be any instruction.
            let late = self.late.iter().map(|(_, _, when)| when + LATEST_READ - self.now);
            let gap = i32::from(self.times.latencies.longest_gap());
            let marks = self.marks.iter().map(|(_, when)| when + gap - self.now);
            let stall = i32::from(self.times.least_stall(last.id, last.inst.op));
            let stall = late.chain(marks).fold(stall, i32::max);
            let joins = self.times.joins && !last.inst.op.is_branch();
            let stall = if joins { stall.max(self.arrival() - self.now) } else { stall };
            self.now += stall;
            (last.id, stall as u16)
        });
        let end = self.left_at.unwrap_or(self.now);
        for (_, _, when) in self.issued.iter_mut() {
            *when = (*when - end).min(0);
        }
        let longest = self.times.longest();
        self.issued.retain(|(_, _, when)| -when < longest);
        (last, std::mem::take(&mut self.issued))
    }
}

/// Walks a block with what is on its way at its entry, and notes stalls by instruction. Returns the
/// cycles that must go by before the first one, and what is on its way when control may first leave
/// the block, in time from there.
fn walk(
    body: &Body<'_>,
    times: Times<'_>,
    block: BlockId,
    entry: &[Issued],
    stalls: &mut [u16],
) -> (i32, AtEntry) {
    let insts: &[InstId] = body.block(block).insts();
    let (delay, (last, issued)) = if parallel::has_help(insts.len()) {
        let (delay, mut walk) = walk_in_pieces(body, times, insts, entry, (PIECE, RUN_UP), stalls);
        (delay, walk.end())
    } else {
        let mut walk = Walk::new(body, times, entry);
        for (at, id) in insts.iter().enumerate() {
            if let Some(stall) = walk.step(*id) {
                stalls[insts[at - 1].0 as usize] = stall;
            }
        }
        (walk.delay, walk.end())
    };
    if let Some((id, stall)) = last {
        stalls[id.0 as usize] = stall;
    }
    (delay, issued)
}

/// A piece of a block, walked before it was known what is on its way at its beginning.
struct Piece {
    /// What was taken to be.
    begin: Vec<Issued>,
    /// Of the instruction before the piece, where there is one, and of all in it but the last.
    stalls: Vec<u16>,
    /// What is on its way at its end.
    end: Vec<Issued>,
    /// Cycles from the issue of the instruction before it to that of its last.
    time: i32,
    /// Time from its end at which control may first leave.
    left_at: Option<i32>,
    delay: i32,
}

impl Piece {
    /// Walks the piece.
    fn walk(mut walk: Walk<'_, '_, '_>, insts: &[InstId]) -> Piece {
        let (begin, began) = (walk.state(), walk.now);
        let stalls = insts.iter().filter_map(|id| walk.step(*id)).collect();
        let time = walk.now - began;
        let left_at = walk.left_at.map(|at| at - walk.now);
        Piece { begin, stalls, end: walk.state(), time, left_at, delay: walk.delay }
    }
}

/// Walks a long block with the help of other threads, so many instructions a piece. What is on its
/// way at the beginning of a piece depends on a few instructions before: they are walked first, as
/// if nothing was on its way before them, and where that was wrong the piece is walked again. So
/// the stalls are those of one walk, whoever helps.
fn walk_in_pieces<'b, 'w, 't>(
    body: &'b Body<'w>,
    times: Times<'t>,
    insts: &'b [InstId],
    entry: &[Issued],
    (length, run_up): (usize, usize),
    stalls: &mut [u16],
) -> (i32, Walk<'b, 'w, 't>) {
    let part = |n: usize| n * length..((n + 1) * length).min(insts.len());
    let pieces = parallel::each(insts.len().div_ceil(length), |n| {
        let mut walk = Walk::new(body, times, if n == 0 { entry } else { &[] });
        let start = part(n).start;
        for id in &insts[start.saturating_sub(run_up)..start] {
            walk.step(*id);
        }
        walk.left_at = None;
        Piece::walk(walk, &insts[part(n)])
    });
    let (mut at, mut delay, mut left_at) = (0, 0, None);
    let mut on_its_way: Vec<Issued> = Vec::new();
    for (n, mut piece) in pieces.into_iter().enumerate() {
        let start = part(n).start;
        if n == 0 {
            delay = piece.delay;
        } else if piece.begin != on_its_way {
            let walk = Walk::behind(body, times, &insts[..start], stalls, &on_its_way);
            piece = Piece::walk(walk, &insts[part(n)]);
        }
        for stall in &piece.stalls {
            stalls[insts[at].0 as usize] = *stall;
            at += 1;
        }
        left_at = left_at.map(|at: i32| at - piece.time).or(piece.left_at);
        on_its_way = piece.end;
    }
    let mut walk = Walk::behind(body, times, insts, stalls, &on_its_way);
    walk.left_at = left_at;
    (delay, walk)
}

/// The least stall of `before`, given what follows it: a scoreboard that it sets must be seen, and
/// a source that it reads not overwritten too soon. (Of general registers no source is read more
/// than a stall or two after the issue, so only neighbours matter; the others are [`Late`].)
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
    if matches!(inst.op, Opcode::CALL | Opcode::RET) || effects::gives_registers_back(inst) {
        // The other side may do anything with general registers; of the others it reads none.
        for (cell, result, when) in issued {
            let wait = latencies.settled(*result, cell.file() == RegFile::R);
            ready = ready.max(when + i32::from(wait));
        }
    }
    ready
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Options;
    use crate::parallel::tests::with_threads;
    use crate::testing::{self, Random};

    /// A block of arithmetic whose results are read soon, at random.
    fn block(random: &mut Random) -> String {
        let mut text = "BB0:\n".to_string();
        for _ in 0..60 {
            let mut reg = || random.below(6);
            let (d, a, b) = (reg(), reg(), reg());
            text += &match random.below(4) {
                0 => format!("R{d} = IMAD R{a}, R{b}, RZ\n"),
                1 => format!("R{d}, PT, PT = IADD3 R{a}, R{b}, RZ\n"),
                2 => format!("P{d}, PT = ISETP.LT.AND R{a}, R{b}, PT\n"),
                _ => format!("@P{d} R{a} = MOV R{b}, 0xf\n"),
            };
        }
        text + "@P0 EXIT PT\nEXIT PT"
    }

    #[test]
    fn a_walk_in_pieces_is_the_walk_as_a_whole() {
        let mut random = Random::new(7);
        let target = Options::for_test().target;
        for _ in 0..50 {
            let mut function = testing::parse(&block(&mut random));
            let body = &function.body();
            let timings = Timings::new(body, target, body.layout());
            let times = Times { timings: &timings, latencies: target.latencies(), joins: false };
            let entry: Vec<Issued> = Vec::new();
            let insts = body.block(BlockId(0)).insts();
            let mut whole = vec![0; body.inst_count()];
            let (delay, left) = walk(body, times, BlockId(0), &entry, &mut whole);
            for pieces in [(1, 0), (7, 0), (7, 2), (20, 10), (100, 0)] {
                let mut stalls = vec![0; body.inst_count()];
                let (begin, mut walk) = with_threads(2, || {
                    walk_in_pieces(body, times, insts, &entry, pieces, &mut stalls)
                });
                let (last, issued) = walk.end();
                let (id, stall) = last.expect("a block with instructions");
                stalls[id.0 as usize] = stall;
                assert_eq!((begin, &*issued, &stalls), (delay, &*left, &whole), "{pieces:?}");
            }
        }
    }
}
