//! `AdvancedScoreboardsAndOpexes`: scoreboards, waits and stalls from -O1.
//!
//! After it: no instruction reads or overwrites a register before the result that it needs, or the
//! late read that it must not disturb, is done; each by a wait on a scoreboard or by enough stall
//! cycles.
//!
//! Three steps. Each instruction of unknown latency gets a scoreboard, block by block. A forward
//! dataflow over the CFG then knows which scoreboards each register still hangs on, wherever
//! control comes from, and every instruction waits for those of the registers that it touches. Last
//! come the stalls (see [`super::stalls`]).

use crate::effects;
use crate::params::Read;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, Control, Inst, InstId, Loc, Mod, Opcode, Operand, RegFile, View, edges,
    scratch,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cells::{self, Cell};
use super::timing::{Timing, Timings};
use super::{companions, flow, stalls};
use crate::function::Options;

/// Scoreboards of a warp (FACTS: six counters).
const SCOREBOARDS: u8 = 6;

/// The scoreboard on which groups of asynchronous copies count, where a function has any: ptxas's
/// choice, which DEPBAR names.
const GROUPS: u8 = 0;

/// Instructions of a block that it is worth remembering what it leaves behind.
const LONG_BLOCK: usize = 64;

/// Whether a read of the cell can outlast the issue. Uniform registers and predicates are read at
/// issue by most instructions: ptxas overwrites them one cycle after memory instructions, and waits
/// for nothing (`tables/latency/observed.lat`, `war`). What has nothing but uniform operands (bulk
/// copies) reads those late.
fn may_be_read_late(cell: Cell, timing: Timing) -> bool {
    match cell.file() {
        RegFile::R | RegFile::B => true,
        RegFile::UR => timing.late_uniform,
        _ => false,
    }
}

/// Whether later accesses to memory must wait until the instruction is done, though it has no
/// result: ptxas waits for fences before it changes a barrier in shared memory, and for that before
/// the CTA meets. Beyond the CTA, what follows MEMBAR waits.
fn is_awaited(inst: View<'_>) -> bool {
    let has = |m: &Mod| inst.mods().has(*m);
    match inst.op {
        Opcode::FENCE => true,
        Opcode::SYNCS => [Mod::EXCH, Mod::CCTL].iter().any(has),
        Opcode::MEMBAR => has(&Mod::CTA),
        _ => false,
    }
}

/// Whether the instruction ends a group of asynchronous copies.
fn ends_group(inst: View<'_>) -> bool {
    matches!(inst.op, Opcode::LDGDEPBAR | Opcode::UTMACMDFLUSH)
}

/// Scoreboards on which something may still be outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Outstanding {
    result: u8,
    reads: u8,
}

/// For each register cell that the function names the scoreboards of its last result, and of late
/// reads of it.
#[derive(Clone, PartialEq, Eq)]
struct Pending {
    /// By [`cells::Places`].
    of: Scratch<Vec<Outstanding>>,
    /// Those of instructions that accesses to memory wait for.
    order: u8,
    /// All on which something may be outstanding: mostly there are none.
    busy: u8,
}

impl Pending {
    fn new(timings: &Timings) -> Pending {
        let count = timings.places().named().len();
        let of = scratch!(Vec<Outstanding>; Outstanding::default(); count);
        Pending { of, order: 0, busy: 0 }
    }

    /// What may be outstanding is what may be there.
    fn set(&mut self, other: &Pending) {
        self.of.copy_from_slice(&other.of);
        (self.order, self.busy) = (other.order, other.busy);
    }

    /// Adds what may be outstanding on another way here; true when that is news.
    fn merge(&mut self, other: &Pending) -> bool {
        let mut news = other.order & !self.order;
        self.order |= other.order;
        self.busy |= other.busy;
        for (mine, theirs) in self.of.iter_mut().zip(other.of.iter()) {
            news |= (theirs.result & !mine.result) | (theirs.reads & !mine.reads);
            mine.result |= theirs.result;
            mine.reads |= theirs.reads;
        }
        news != 0
    }

    /// The scoreboards that must be zero before `inst` issues.
    fn waits(&self, inst: View<'_>, timing: Timing, timings: &Timings) -> u8 {
        if self.busy == 0 {
            return 0;
        }
        let leaves = matches!(inst.op, Opcode::CALL | Opcode::RET | Opcode::ENDCOLLECTIVE);
        if leaves || effects::gives_registers_back(inst) || effects::goes_on_elsewhere(inst) {
            // The other side of a call knows nothing of our scoreboards, nor do threads that come
            // from another copy of a vote, or go on at one.
            return self.all();
        }
        let orders = effects::is_ordered(inst.op) && !timing.never_waits();
        let mut wait = if orders { self.order } else { 0 };
        if inst.op == Opcode::EXIT {
            // Copies read their uniform registers after they issued, and those end with the warp:
            // ptxas always waits for that.
            let named = timings.places().named().iter().zip(self.of.iter());
            let uniform = named.filter(|(cell, _)| cell.file() == RegFile::UR);
            wait |= uniform.fold(0, |all, (_, one)| all | one.reads);
        }
        let of = |c: Cell| self.of[timings.places().get(c)];
        cells::for_each_use(inst, |c| wait |= of(c).result);
        cells::for_each_def(inst, |c| wait |= of(c).result | of(c).reads);
        for c in timings.arriving(inst) {
            wait |= of(*c).result | of(*c).reads;
        }
        wait
    }

    fn all(&self) -> u8 {
        self.of.iter().fold(self.order, |all, one| all | one.result | one.reads)
    }

    fn clear(&mut self, scoreboards: u8) {
        if scoreboards & self.busy != 0 {
            for one in self.of.iter_mut() {
                one.result &= !scoreboards;
                one.reads &= !scoreboards;
            }
            self.order &= !scoreboards;
            self.busy &= !scoreboards;
        }
    }

    /// What is outstanding once `inst` has issued, after its waits.
    fn issue(&mut self, inst: View<'_>, control: Control, timing: Timing, timings: &Timings) {
        if ends_group(inst) {
            return;
        }
        let bit = |sb: u8| if sb == Control::NO_SB { 0 } else { 1 << sb };
        let (write, read) = (bit(control.write_sb), bit(control.read_sb));
        self.busy |= write | read;
        if write | read != 0 {
            // Without a scoreboard for reads, the result's covers them: sources are read before it
            // is written.
            let reads = if read != 0 { read } else { write };
            cells::for_each_use(inst, |c| {
                if may_be_read_late(c, timing) {
                    self.of[timings.places().get(c)].reads |= reads;
                }
            });
        }
        if write != 0 {
            cells::for_each_def(inst, |c| self.of[timings.places().get(c)].result |= write);
        }
        if is_awaited(inst) {
            self.order |= write | read;
        }
    }

    fn step(&mut self, inst: View<'_>, id: InstId, timings: &Timings) -> u8 {
        let timing = timings.get(id);
        let wait = self.waits(inst, timing, timings);
        self.clear(wait);
        self.issue(inst, inst.control(), timing, timings);
        wait
    }
}

/// Phase `AdvancedScoreboardsAndOpexes`: scoreboards by a dataflow over all edges.
pub fn advanced_scoreboards_and_opexes(code: Code<'_>, options: Read<'_, Options>) {
    let target = options.target;
    let mut body = code.body();
    let mut layout = scratch!(Vec<BlockId>);
    layout.extend_from_slice(body.layout());
    companions::add(&mut body, &layout, true);
    let timings = Timings::new(&body, target, &layout);
    let mut insts = layout.iter().flat_map(|b| body.block(*b).insts());
    let has_groups = body.facts().may_have(&[Opcode::LDGDEPBAR, Opcode::UTMACMDFLUSH])
        && insts.any(|id| ends_group(body.inst(*id)));
    let reserved = if has_groups { 1 << GROUPS } else { 0 };
    let mut waits = scratch!(Vec<u8>; 0; body.inst_count());
    // What the entry leaves behind, and long blocks that nothing outstanding has come to.
    let mut left = scratch!(FxHashMap<BlockId, Pending>);
    // Blocks that nothing outstanding leaves, where none has come.
    let mut quiet = scratch!(Vec<bool>; false; body.block_count());
    let nothing = Pending::new(&timings);
    let mut state = nothing.clone();
    for block in layout.iter() {
        state.set(&nothing);
        assign(&mut body, &timings, *block, reserved, &mut waits, &mut state);
        quiet[block.0 as usize] = state.busy == 0;
        if body.block(*block).insts().len() >= LONG_BLOCK || layout.first() == Some(block) {
            left.insert(*block, state.clone());
        }
    }
    let leave = |block: BlockId, start: &Pending, state: &mut Pending| {
        // What comes to a block only grows: so nothing has come to this one before, and what was
        // noted of it holds.
        if start.busy == 0 && quiet[block.0 as usize] {
            state.set(start);
            return;
        }
        if start.busy == 0
            && let Some(left) = left.remove(&block)
        {
            *state = left;
            return;
        }
        state.set(start);
        for id in body.block(block).insts() {
            waits[id.0 as usize] = state.step(body.inst(*id), *id, &timings);
        }
    };
    let mut entry = scratch!(Vec<Pending>; nothing; body.block_count());
    flow::at_entry(&body, &layout, &mut entry, leave, Pending::merge);
    drop(entry);
    let mut moved = false;
    for block in layout.iter() {
        for at in 0..body.block(*block).insts().len() {
            let id = body.block(*block).insts()[at];
            let wait = waits[id.0 as usize];
            if wait != 0 {
                body.set_control(id, Control { wait, ..body.control(id) });
            }
        }
        moved |= wait_before(&mut body, &timings, *block);
    }
    // What was put in has timings too.
    let timings = if moved { Timings::new(&body, target, &layout) } else { timings };
    stalls::set(&mut body, &timings, target, &layout);
}

/// Moves waits away from instructions that ptxas never lets wait: to the one before, or to a NOP.
/// True when it made any.
fn wait_before(body: &mut Body<'_>, timings: &Timings, block: BlockId) -> bool {
    let mut nops = Vec::new();
    for at in 0..body.block(block).insts().len() {
        let insts = body.block(block).insts();
        let (id, before) = (insts[at], at.checked_sub(1).map(|at| insts[at]));
        let control = body.control(id);
        let wait = control.wait;
        if wait == 0 || !timings.get(id).never_waits() {
            continue;
        }
        body.set_control(id, Control { wait: 0, ..control });
        let before = before.filter(|before| {
            let control = body.control(*before);
            let sets = |sb: u8| sb != Control::NO_SB && wait >> sb & 1 != 0;
            let leaves = body.op(*before).is_branch();
            let waits = !timings.get(*before).never_waits() && !leaves;
            waits && !sets(control.write_sb) && !sets(control.read_sb)
        });
        match before {
            Some(before) => {
                let control = body.control(before);
                body.set_control(before, Control { wait: control.wait | wait, ..control });
            }
            // Between two branches stands nothing.
            None => nops.push((at.min(edges::first_branch(body, block)), wait)),
        }
    }
    let made = !nops.is_empty();
    let nop = |(at, wait)| {
        let control = Control { wait, ..Control::default() };
        let nop = Inst { control, ..Inst::new(Opcode::NOP, &[], 0, &[] as &[Operand]) };
        (at, nop, Loc::default())
    };
    body.insert_all(block, nops.into_iter().map(nop));
    made
}

/// Gives scoreboards to the block's instructions of unknown latency, but no `reserved` one. Notes
/// what they wait for where nothing is outstanding at its start, as `state` says; what then is at
/// its end is the state behind it.
fn assign(
    body: &mut Body<'_>,
    timings: &Timings,
    block: BlockId,
    reserved: u8,
    waits: &mut [u8],
    state: &mut Pending,
) {
    let mut pool = Pool { reserved, ..Pool::default() };
    let mut overwritten = Overwritten::default();
    for at in 0..body.block(block).insts().len() {
        let id = body.block(block).insts()[at];
        let timing = timings.get(id);
        let inst = body.inst(id);
        let wait = state.waits(inst, timing, timings);
        state.clear(wait);
        pool.free(wait);
        waits[id.0 as usize] = wait;
        let mut control = Control { wait: 0, ..Control::default() };
        if ends_group(inst) {
            // What ptxas writes: the first counts like a result, the second like a late read.
            match inst.op {
                Opcode::LDGDEPBAR => control.write_sb = GROUPS,
                _ => control.read_sb = GROUPS,
            }
        } else if timing.write_sb || timing.read_sb {
            let (mut results, mut sources) = (false, false);
            cells::for_each_def(inst, |_| results = true);
            cells::for_each_use(inst, |c| sources |= may_be_read_late(c, timing));
            if (results || is_awaited(inst) || timing.always_writes()) && timing.write_sb {
                control.write_sb = pool.take_for_result();
            }
            let waits_for_reads = is_awaited(inst) && !timing.write_sb;
            if waits_for_reads && timing.read_sb {
                control.read_sb = pool.take_for_reads();
            }
            let free = control.read_sb == Control::NO_SB;
            let needed = sources
                && timing.read_sb
                && (!results || overwritten.first(body, body.block(block).insts(), at, timings));
            if free && (needed || timing.always_reads()) {
                control.read_sb = pool.take_for_reads();
            }
        }
        state.issue(inst, control, timing, timings);
        body.set_control(id, control);
    }
}

/// Of which instructions of a block a source is overwritten later in the block before a result is
/// touched: then waiting for the result would be waiting too long.
///
/// Most are told within a few instructions. Where many are not, as of loads that all stand before
/// what uses them, all of the block are found in one walk.
#[derive(Default)]
struct Overwritten {
    /// How many instructions were looked at.
    looked_at: usize,
    /// By place in the block; empty until it is worth it.
    all: Scratch<Vec<bool>>,
}

impl Overwritten {
    /// A block is walked so often before it is walked once for all of its instructions.
    const WALKS: usize = 4;

    /// Whether that is so of the instruction at this place.
    fn first(&mut self, body: &Body<'_>, insts: &[InstId], at: usize, timings: &Timings) -> bool {
        if self.all.is_empty() && self.looked_at > Self::WALKS * insts.len() {
            self.all = overwritten(body, insts, timings);
        }
        if let Some(known) = self.all.get(at) {
            return *known;
        }
        let (first, timing) = (body.inst(insts[at]), timings.get(insts[at]));
        let mut sources = SmallVec::<[Cell; 16]>::new();
        let mut results = SmallVec::<[Cell; 16]>::new();
        cells::for_each_use(first, |c| {
            if may_be_read_late(c, timing) {
                sources.push(c)
            }
        });
        cells::for_each_def(first, |c| results.push(c));
        for id in &insts[at + 1..] {
            self.looked_at += 1;
            let inst = body.inst(*id);
            let (mut touches_result, mut overwrites) = (false, false);
            cells::for_each_use(inst, |c| touches_result |= results.contains(&c));
            cells::for_each_def(inst, |c| {
                touches_result |= results.contains(&c);
                overwrites |= sources.contains(&c);
            });
            if touches_result || overwrites {
                return !touches_result;
            }
        }
        false
    }
}

/// The same of all instructions of a block, from its end.
fn overwritten(body: &Body<'_>, insts: &[InstId], timings: &Timings) -> Scratch<Vec<bool>> {
    // Where behind an instruction each cell is next defined, and where used or defined.
    let mut defined = scratch!(FxHashMap<Cell, usize>);
    let mut touched = scratch!(FxHashMap<Cell, usize>);
    let mut all = scratch!(Vec<bool>; false; insts.len());
    for (at, id) in insts.iter().enumerate().rev() {
        let (inst, timing) = (body.inst(*id), timings.get(*id));
        let next = |of: &FxHashMap<Cell, usize>, c| of.get(&c).copied().unwrap_or(usize::MAX);
        let (mut overwrites, mut touches_result) = (usize::MAX, usize::MAX);
        cells::for_each_use(inst, |c| {
            if may_be_read_late(c, timing) {
                overwrites = overwrites.min(next(&defined, c));
            }
        });
        cells::for_each_def(inst, |c| touches_result = touches_result.min(next(&touched, c)));
        all[at] = overwrites < touches_result;
        cells::for_each_use(inst, |c| {
            touched.insert(c, at);
        });
        cells::for_each_def(inst, |c| {
            touched.insert(c, at);
            defined.insert(c, at);
        });
    }
    all
}

/// The six scoreboards within a block: a free one if there is any, and else one on which what is
/// outstanding will be done at about the same time.
#[derive(Default)]
struct Pool {
    reserved: u8,
    busy: u8,
    /// Those on which a result is outstanding, which takes longer than reads do.
    results: u8,
    next: u8,
    /// Taken ones, the latest last.
    taken: SmallVec<[u8; SCOREBOARDS as usize]>,
}

impl Pool {
    fn take_free(&mut self) -> Option<u8> {
        let from = |i: u8| (self.next + i) % SCOREBOARDS;
        let sb =
            (0..SCOREBOARDS).map(from).find(|sb| (self.busy | self.reserved) >> sb & 1 == 0)?;
        self.busy |= 1 << sb;
        self.next = (sb + 1) % SCOREBOARDS;
        self.taken.retain(|other| *other != sb);
        self.taken.push(sb);
        Some(sb)
    }

    /// For a result: the one taken last.
    fn take_for_result(&mut self) -> u8 {
        let sb = self.take_free().or_else(|| self.taken.last().copied()).unwrap_or(0);
        self.results |= 1 << sb;
        sb
    }

    /// For late reads of an instruction: one that has only reads on it, or else that whose result
    /// was asked for first. Its own result's would make who overwrites a source wait for that.
    fn take_for_reads(&mut self) -> u8 {
        let found = self.take_free();
        let reads = |sb: &u8| self.results >> sb & 1 == 0;
        let found = found.or_else(|| self.taken.iter().rev().copied().find(reads));
        found.or_else(|| self.taken.first().copied()).unwrap_or(0)
    }

    fn free(&mut self, scoreboards: u8) {
        self.busy &= !scoreboards;
        self.results &= !scoreboards;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::cfg;
    use crate::testing;
    use orias_components::text;

    #[test]
    fn one_walk_from_the_end_finds_what_a_look_ahead_from_each_instruction_finds() {
        let mut function = testing::function();
        let code = "BB0:
            R2 = LDS [R4]
            R3 = LDS [R5]
            R4, PT, PT = IADD3 R6, R7, RZ
            R8, PT, PT = IADD3 R3, R7, RZ
            R5, PT, PT = IADD3 R2, R7, RZ
            STS [R8], R5
            R9 = LDS [R9]
            R10 = LDS [R11]
            R11, PT, PT = IADD3 R10, R9, RZ
            EXIT PT
        ";
        text::parse(code, &mut function.body()).unwrap_or_else(|e| panic!("{e}"));
        function.run(cfg::analyze_control_flow);
        let body = function.body();
        let timings = Timings::new(&body, Options::for_test().target, body.layout());
        let insts = body.block(body.layout()[0]).insts();
        let at_once = overwritten(&body, insts, &timings);
        let ahead = |at| Overwritten::default().first(&body, insts, at, &timings);
        let one_by_one: Vec<bool> = (0..insts.len()).map(ahead).collect();
        assert_eq!(*at_once, one_by_one);
        assert!(at_once[0], "R4 is written before R2 is read");
        assert!(!at_once[1], "R3 is read before R5 is written");
        assert!(!at_once[7], "R10 is read where R11 is written");
    }
}
