//! Finds hazards while a warp runs.
//!
//! What holds: each lane is a thread on a path of its own. Time is the sum of the stalls on that
//! path: what a wait takes is not known and protects nothing but what it waits for, and what other
//! lanes do takes no time. Where lanes with different times run together again, the later time
//! holds, and what the others did before moves with them, so that nothing gets older by waiting. A
//! wait protects the lanes that waited.
//!
//! A result of fixed latency is protected by the cycles of `Latencies`; one of unknown latency, and
//! a source that is read late, only by a wait for the scoreboard that tells of it, whatever time
//! has passed. Instructions of one kind are done in order, so a later one's scoreboard tells of an
//! earlier one that has none (observed: ptxas 13.0.88 relies on it).

use super::facts::{Access, CellIndex, Counted, SCOREBOARDS, Timing, UNTOLD};
use super::hazard::{Findings, Problem};
use crate::latency::{Class, Hazard, Latencies};
use crate::simulator::operand::LANES;
use crate::simulator::operand::each_lane;
use orias_components::RegFile;
use smallvec::SmallVec;

/// A scoreboard counts so far; what is older has made room.
const MOST: usize = 63;

/// Cycles from setting a scoreboard until a wait sees it (Huerta et al. 2025).
const VISIBLE: u64 = 2;

/// An access of fixed latency.
#[derive(Clone, Copy, Debug)]
struct Entry {
    issued: u64,
    lanes: u32,
    pc: u32,
    class: Class,
    port: u16,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    /// The last writers, each for other lanes.
    writers: SmallVec<[Entry; 1]>,
    /// The last readers of each class.
    readers: SmallVec<[Entry; 1]>,
    /// How many of the outstanding results and late reads name it.
    results: u16,
    late_reads: u16,
}

/// An instruction whose results or late reads are outstanding.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    pc: u32,
    issued: u64,
    /// The lanes have stayed together since.
    is_new: bool,
    /// Its place among all instructions of the warp that are ever outstanding.
    serial: u64,
    /// Lanes whose results, and whose late reads, are outstanding.
    results: u32,
    reads: u32,
    /// Lanes that have not waited for the increment.
    waits: u32,
    /// It was set too late for the first wait.
    unseen: bool,
}

impl Outstanding {
    fn lanes(&self) -> u32 {
        self.results | self.reads | self.waits
    }
}

/// One warp's accesses.
#[derive(Clone, Debug)]
pub struct Watch {
    cells: Vec<Cell>,
    /// By scoreboard, oldest first: six, the group's, and those that no scoreboard tells of.
    outstanding: [Vec<Outstanding>; SCOREBOARDS + 2],
    /// Instructions that were ever outstanding.
    serial: u64,
    /// Time of each lane, while its group does not run.
    times: [u64; LANES],
    /// Time of the group that runs.
    now: u64,
}

/// What the check compares with, and where findings go.
pub struct Check<'a> {
    pub code: &'a [Timing],
    pub latencies: &'a Latencies,
    pub findings: &'a mut Findings,
}

fn slot(scoreboard: u8) -> usize {
    if scoreboard == UNTOLD { SCOREBOARDS + 1 } else { usize::from(scoreboard) }
}

impl Watch {
    /// Of a warp that has done nothing; `cells` is one more than the largest cell.
    pub fn new(cells: usize) -> Watch {
        Watch {
            cells: vec![Cell::default(); cells],
            outstanding: Default::default(),
            serial: 0,
            times: [0; LANES],
            now: 0,
        }
    }

    /// The lanes of `mask` begin to run together.
    pub fn enter(&mut self, mask: u32, longest: u64) {
        let mut latest = 0;
        each_lane(mask, |lane| latest = latest.max(self.times[lane]));
        // Lanes come together or part at branches and barriers, which take longer than a scoreboard
        // to be seen.
        for one in self.outstanding.iter_mut().flatten().filter(|o| o.lanes() & mask != 0) {
            one.is_new = false;
        }
        let mut rest = mask;
        while rest != 0 {
            let time = self.times[rest.trailing_zeros() as usize];
            let mut same = 0;
            each_lane(rest, |lane| same |= u32::from(self.times[lane] == time) << lane);
            rest &= !same;
            if time != latest {
                self.shift(same, time.saturating_sub(longest), latest - time);
            }
        }
        self.now = latest;
    }

    /// They stop.
    pub fn leave(&mut self, mask: u32) {
        each_lane(mask, |lane| self.times[lane] = self.now);
    }

    /// What these lanes did since `since` happened so many cycles later.
    fn shift(&mut self, lanes: u32, since: u64, cycles: u64) {
        for cell in &mut self.cells {
            for list in [&mut cell.writers, &mut cell.readers] {
                for at in 0..list.len() {
                    let entry = &mut list[at];
                    if entry.lanes & lanes == 0 || entry.issued < since {
                        continue;
                    }
                    let moved = Entry {
                        issued: entry.issued + cycles,
                        lanes: entry.lanes & lanes,
                        ..*entry
                    };
                    entry.lanes &= !lanes;
                    if entry.lanes == 0 {
                        *entry = moved;
                    } else {
                        list.push(moved);
                    }
                }
            }
        }
    }

    /// An instruction issues for a group of lanes (`mask`) and does its work for some of them
    /// (`active`). Time goes on by its stall.
    pub fn issue(&mut self, check: &mut Check<'_>, pc: u32, mask: u32, active: u32) {
        let Some(timing) = check.code.get(pc as usize) else { return };
        check.findings.ran(pc, active);
        let mut wait = timing.wait;
        while wait != 0 {
            let scoreboard = wait.trailing_zeros() as u8;
            wait &= wait - 1;
            self.wait(check.code, Counted { scoreboard, left: 0 }, mask);
        }
        if let Some(counted) = timing.counted {
            self.wait(check.code, counted, mask);
        }
        if active != 0 {
            self.touch(check, timing, pc, mask, active);
        } else if let Some(guard) = timing.reads.iter().find(|a| a.guard) {
            self.read(check, timing, guard, pc, mask);
        }
        self.set_scoreboards(check.code, timing, pc, mask, active);
        self.now += u64::from(timing.stall);
    }

    /// Lanes have waited until no more than so many increments are outstanding.
    fn wait(&mut self, code: &[Timing], counted: Counted, mask: u32) {
        let Watch { cells, outstanding, now, .. } = self;
        let list = &mut outstanding[slot(counted.scoreboard)];
        let increments = list.iter().filter(|o| o.waits & mask != 0).count();
        let mut done = increments.saturating_sub(usize::from(counted.left));
        let mut newest = None;
        list.retain_mut(|one| {
            if one.lanes() & mask == 0 || done == 0 {
                return true;
            }
            if one.is_new && *now < one.issued + VISIBLE && !code[one.pc as usize].yields {
                one.unseen = true;
                return true;
            }
            done -= usize::from(one.waits & mask != 0);
            one.waits &= !mask;
            release(cells, code, one, mask, mask);
            if code[one.pc as usize].late {
                newest = newest.max(Some(one.serial));
            }
            one.lanes() != 0
        });
        // Late sources are read in order: what was issued before one that reads late has read its
        // own; and so has one whose result is there (observed: ptxas 13.0.88 waits for ATOMG's
        // result and then overwrites its data).
        let Some(newest) = newest else { return };
        for list in outstanding.iter_mut() {
            for one in list.iter_mut().filter(|o| o.reads & mask != 0 && o.serial <= newest) {
                release(cells, code, one, 0, mask);
            }
        }
        outstanding[slot(UNTOLD)].retain(|one| one.lanes() != 0);
    }

    fn touch(&mut self, check: &mut Check<'_>, timing: &Timing, pc: u32, mask: u32, active: u32) {
        for access in &timing.reads {
            self.read(check, timing, access, pc, if access.guard { mask } else { active });
        }
        for access in &timing.writes {
            self.write(check, timing, access, pc, active);
        }
        for access in timing.reads.iter().filter(|a| !is_late(timing, a)) {
            let lanes = if access.guard { mask } else { active };
            let longest = u64::from(check.latencies.longest());
            let (class, port) = (access.class, access.port);
            let entry = Entry { issued: self.now, lanes, pc, class, port };
            let readers = &mut self.cells[usize::from(access.cell)].readers;
            for old in readers.iter_mut() {
                if old.class == entry.class || old.issued + longest <= entry.issued {
                    old.lanes &= !lanes;
                }
            }
            readers.retain(|old| old.lanes != 0);
            readers.push(entry);
        }
        for access in &timing.writes {
            let writers = &mut self.cells[usize::from(access.cell)].writers;
            for old in writers.iter_mut() {
                old.lanes &= !active;
            }
            writers.retain(|old| old.lanes != 0);
            if !timing.variable {
                let (class, port) = (access.class, access.port);
                writers.push(Entry { issued: self.now, lanes: active, pc, class, port });
            }
        }
    }

    /// Notes what of the instruction is outstanding. Where its guard is false for all lanes it
    /// still tells of earlier ones.
    fn set_scoreboards(
        &mut self,
        code: &[Timing],
        timing: &Timing,
        pc: u32,
        mask: u32,
        active: u32,
    ) {
        let results = if timing.variable && !timing.writes.is_empty() { active } else { 0 };
        let reads = timing.late && timing.reads.iter().any(|a| is_late(timing, a));
        let reads = if reads { active } else { 0 };
        let told = timing.write_sb != UNTOLD || timing.read_sb != UNTOLD;
        if !told && results == 0 && reads == 0 {
            return;
        }
        self.serial += 1;
        let one = |waits, results, reads| Outstanding {
            pc,
            issued: self.now,
            is_new: true,
            serial: self.serial,
            results,
            reads,
            waits,
            unseen: false,
        };
        let reads_by = timing.reads_told_by();
        let new: SmallVec<[(u8, Outstanding); 2]> = match (timing.write_sb, reads_by) {
            (UNTOLD, UNTOLD) => [(UNTOLD, one(0, results, reads))].into_iter().collect(),
            (write, read) if write == read => {
                [(write, one(mask, results, reads))].into_iter().collect()
            }
            (UNTOLD, read) => {
                let mut all = SmallVec::new();
                all.push((read, one(mask, 0, reads)));
                if results != 0 {
                    all.push((UNTOLD, one(0, results, 0)));
                }
                all
            }
            (write, read) => {
                [(write, one(mask, results, 0)), (read, one(mask, 0, reads))].into_iter().collect()
            }
        };
        if timing.write_sb != UNTOLD {
            self.tell(code, timing, mask);
        }
        for (scoreboard, new) in new {
            hold(&mut self.cells, code, &new);
            let list = &mut self.outstanding[slot(scoreboard)];
            if list.len() >= MOST {
                // The same instruction again stands for itself; otherwise the oldest is done.
                let again = |o: &Outstanding| o.pc == pc && o.lanes() & !new.lanes() == 0;
                let mut old = list.remove(list.iter().position(again).unwrap_or(0));
                release(&mut self.cells, code, &mut old, u32::MAX, u32::MAX);
            }
            list.push(new);
        }
    }

    /// Earlier instructions of the kind whose results nothing tells of are done when those of this
    /// one are.
    fn tell(&mut self, code: &[Timing], timing: &Timing, mask: u32) {
        let [told @ .., untold] = &mut self.outstanding;
        let told = &mut told[usize::from(timing.write_sb)];
        untold.retain(|old| {
            let covers = code[old.pc as usize].kind == timing.kind && old.lanes() & !mask == 0;
            if covers {
                told.push(*old);
            }
            !covers
        });
    }

    fn read(
        &mut self,
        check: &mut Check<'_>,
        timing: &Timing,
        access: &Access,
        pc: u32,
        lanes: u32,
    ) {
        let cell = &self.cells[usize::from(access.cell)];
        self.compare(check, &cell.writers, Hazard::ReadAfterWrite, access, pc, lanes);
        if cell.results > 0 {
            self.find(check, timing, Hazard::ReadAfterWrite, access, pc, lanes);
        }
    }

    fn write(
        &mut self,
        check: &mut Check<'_>,
        timing: &Timing,
        access: &Access,
        pc: u32,
        lanes: u32,
    ) {
        let cell = &self.cells[usize::from(access.cell)];
        self.compare(check, &cell.writers, Hazard::WriteAfterWrite, access, pc, lanes);
        self.compare(check, &cell.readers, Hazard::WriteAfterRead, access, pc, lanes);
        if cell.results > 0 {
            self.find(check, timing, Hazard::WriteAfterWrite, access, pc, lanes);
        }
        if cell.late_reads > 0 {
            self.find(check, timing, Hazard::WriteAfterRead, access, pc, lanes);
        }
    }

    /// Compares times with accesses of fixed latency.
    fn compare(
        &self,
        check: &mut Check<'_>,
        entries: &[Entry],
        kind: Hazard,
        access: &Access,
        pc: u32,
        lanes: u32,
    ) {
        for entry in entries.iter().filter(|e| e.lanes & lanes != 0) {
            let cycles = self.now - entry.issued;
            if cycles >= u64::from(check.latencies.longest()) {
                continue;
            }
            let (first, second) = ((entry.class, entry.port), (access.class, access.port));
            let needed = check.latencies.needed(kind, access.file, first, second);
            if cycles < u64::from(needed) {
                let problem =
                    Problem::TooEarly { cycles: cycles as u32, needed: u32::from(needed) };
                check.findings.add(kind, (entry.pc, pc), access.cell, problem);
            }
        }
    }

    /// Reports the outstanding results or late reads of a cell.
    fn find(
        &self,
        check: &mut Check<'_>,
        timing: &Timing,
        kind: Hazard,
        access: &Access,
        pc: u32,
        lanes: u32,
    ) {
        for (scoreboard, list) in self.outstanding.iter().enumerate() {
            for one in list {
                let first = &check.code[one.pc as usize];
                let written = |early: bool| {
                    first.writes.iter().any(|a| a.cell == access.cell && a.early == early)
                };
                let names = match kind {
                    Hazard::WriteAfterRead => {
                        one.reads & lanes != 0 && reads_late(first, access.cell)
                    }
                    _ => {
                        one.results & lanes != 0 && written(false)
                            || one.reads & lanes != 0 && written(true)
                    }
                };
                let in_order = match kind {
                    Hazard::ReadAfterWrite => first.group && timing.group,
                    Hazard::WriteAfterWrite => timing.variable && first.kind == timing.kind,
                    // It has read its sources before it writes, and they before it read.
                    Hazard::WriteAfterRead => timing.variable,
                };
                if !names || in_order {
                    continue;
                }
                let scoreboard = scoreboard as u8;
                let problem = match (usize::from(scoreboard) <= SCOREBOARDS, one.unseen) {
                    (true, false) => Problem::NotAwaited { scoreboard },
                    (true, true) => Problem::NotYetVisible { scoreboard },
                    (false, _) => Problem::NoScoreboard,
                };
                check.findings.add(kind, (one.pc, pc), access.cell, problem);
            }
        }
    }
}

/// Only general registers are read late.
fn is_late(timing: &Timing, access: &Access) -> bool {
    timing.late && access.file == RegFile::R
}

fn reads_late(timing: &Timing, cell: CellIndex) -> bool {
    timing.reads.iter().any(|a| a.cell == cell && is_late(timing, a))
}

/// Counts an outstanding instruction at its cells.
fn hold(cells: &mut [Cell], code: &[Timing], one: &Outstanding) {
    let timing = &code[one.pc as usize];
    for access in &timing.writes {
        let held = if access.early { one.reads } else { one.results };
        cells[usize::from(access.cell)].results += u16::from(held != 0);
    }
    if one.reads != 0 {
        for access in timing.reads.iter().filter(|a| is_late(timing, a)) {
            cells[usize::from(access.cell)].late_reads += 1;
        }
    }
}

/// Takes lanes from an outstanding instruction, and it from its cells when none is left.
fn release(cells: &mut [Cell], code: &[Timing], one: &mut Outstanding, results: u32, reads: u32) {
    let timing = &code[one.pc as usize];
    let (had_results, had_reads) = (one.results != 0, one.reads != 0);
    one.results &= !results;
    one.reads &= !reads;
    let results_done = had_results && one.results == 0;
    let reads_done = had_reads && one.reads == 0;
    for access in &timing.writes {
        let done = if access.early { reads_done } else { results_done };
        cells[usize::from(access.cell)].results -= u16::from(done);
    }
    if reads_done {
        for access in timing.reads.iter().filter(|a| is_late(timing, a)) {
            cells[usize::from(access.cell)].late_reads -= 1;
        }
    }
}
