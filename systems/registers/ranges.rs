//! Live ranges: where in the linear order of the function each register cell holds a value that is
//! still wanted.
//!
//! Instruction `i` (in layout order) reads at point `2i` and writes at point `2i + 1`. A segment is
//! half open, so a value whose last reader is `i` leaves its register free for what `i` writes. A
//! range is a list of segments with holes between them: ascending, disjoint, not adjacent (but
//! uniform ranges may end with empty ones).

use super::barriers::InForce;
use crate::analysis::liveness::{Cell, Liveness, kills};
use crate::effects;
use crate::schedule::groups;
use crate::sync::whole_warp::Runs;
use bitvec::prelude::*;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, InstId, Props, RegFile, RegUse, VRegId};
use rustc_hash::FxHashMap;

/// Points `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The first point.
    pub start: u32,
    /// One more than the last point.
    pub end: u32,
}

/// The live range of every cell.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// First segment by cell, and one past the last.
    first: Scratch<Vec<u32>>,
    segments: Scratch<Vec<Segment>>,
    /// One more than the largest point.
    pub points: u32,
    /// First point of each block of the layout, in its order.
    pub block_start: Scratch<Vec<u32>>,
    /// Instructions that read their sources some time after they issue, by half the point.
    late: Scratch<BitVec>,
    /// Segments of the registers that instructions name directly.
    named: Scratch<Vec<(RegFile, u32, Segment)>>,
}

impl Ranges {
    /// Ranges from segments of so many cells: those of one cell beside each other, in any order.
    pub fn of_segments(
        cells: usize,
        points: u32,
        mut found: Scratch<Vec<(Cell, Segment)>>,
    ) -> Ranges {
        // The order that a walk backwards finds them in, cell by cell.
        for of_cell in found.chunk_by_mut(|a, b| a.0 == b.0) {
            of_cell.sort_unstable_by_key(|(_, s)| std::cmp::Reverse((s.start, s.end)));
        }
        finish(cells, &found, points, scratch!(Vec<u32>))
    }

    /// Where the registers are taken that instructions name directly.
    pub fn named(&self) -> &[(RegFile, u32, Segment)] {
        &self.named
    }

    /// A cell's range: segments in order, with gaps between them.
    pub fn of(&self, cell: Cell) -> &[Segment] {
        let cell = cell as usize;
        &self.segments[self.first[cell] as usize..self.first[cell + 1] as usize]
    }

    /// Whether the instruction that a segment ends with reads its sources late: who writes the
    /// register soon after must wait until it has.
    pub fn ends_late(&self, segment: Segment) -> bool {
        let reader = segment.end.checked_sub(1).filter(|read| read % 2 == 0);
        reader.is_some_and(|read| self.late.get(read as usize / 2).is_some_and(|l| *l))
    }

    /// The ranges; those of convergence barriers reach as far as `barriers` says. `runs` says who
    /// runs each block, where that is known.
    pub fn compute(
        body: &Body<'_>,
        liveness: &Liveness,
        barriers: &InForce,
        runs: Option<&[Runs]>,
    ) -> Ranges {
        let mut block_start = scratch!(Vec<u32>).with_room(body.layout().len());
        let mut points = 0;
        for &block in body.layout() {
            block_start.push(points);
            points += 2 * body.block(block).insts().len() as u32;
        }
        let mut late = scratch!(BitVec).fill_with(false, points as usize / 2);
        let mut walk = Walk::new(liveness.map.count());
        for (at, &block) in body.layout().iter().enumerate().rev() {
            let insts = body.block(block).insts();
            let start = block_start[at];
            for cell in liveness.live_out(block).chain(barriers.at_end(block)) {
                walk.open(cell, start + 2 * insts.len() as u32);
            }
            let waits = waits_of_groups(body, insts);
            for (i, &id) in insts.iter().enumerate().rev() {
                let inst = body.inst(id);
                let read = start + 2 * i as u32;
                if let Some(wait) = waits.get(&i) {
                    groups::each_factor(inst, |r| {
                        let until = start + 2 * *wait as u32;
                        liveness.map.cells(r).for_each(|cell| walk.open(cell, until));
                    });
                }
                let kill = kills(inst);
                late.set(read as usize / 2, effects::reads_late(inst.op));
                inst.for_each_def(|r| walk.define(&mut liveness.map.cells(r), read + 1, kill));
                inst.for_each_use(|r: RegUse| {
                    for cell in liveness.map.cells(r) {
                        walk.open(cell, read + 1);
                        walk.first[cell as usize] = read;
                    }
                });
            }
            walk.close_block(start, |cell| {
                liveness.is_live_in(block, cell) || barriers.at_start(block, cell)
            });
        }
        let mut ranges = Ranges { late, ..walk.finish(points, block_start) };
        ranges.widen_uniform(body, liveness, runs);
        for file in RegFile::ALL {
            let cells = liveness.map.of_file(file);
            let ends = &ranges.first[cells.start as usize..=cells.end as usize];
            // Few files have registers that are named.
            if ends.first() == ends.last() {
                continue;
            }
            for (reg, ends) in ends.windows(2).enumerate() {
                let segments = &ranges.segments[ends[0] as usize..ends[1] as usize];
                ranges.named.extend(segments.iter().map(|s| (file, reg as u32, *s)));
            }
        }
        ranges
    }

    /// Gives uniform values that live in several blocks all points from their definition to the end
    /// of the function.
    ///
    /// A uniform register exists once for the warp: where threads have diverged, a path that does
    /// not need the value must not overwrite it for the threads on the path that does, and those
    /// may run in any order. Those that live only where no other part of the warp runs need
    /// no more than their own.
    fn widen_uniform(&mut self, body: &Body<'_>, liveness: &Liveness, runs: Option<&[Runs]>) {
        // What comes before each block of those that threads may run apart.
        let apart = runs.map(|runs| {
            let mut sums = scratch!(Vec<u32>; 0; 1);
            for &block in body.layout() {
                let sum = sums.last().copied().unwrap_or(0);
                sums.push(sum + u32::from(runs[block.0 as usize] == Runs::Apart));
            }
            sums
        });
        let entry_end = self.block_start.get(1).copied().unwrap_or(self.points);
        let entry_again = body.layout().first().is_some_and(|b| !body.block(*b).preds().is_empty());
        for id in (0..body.vreg_count() as u32).map(VRegId) {
            let vreg = body.vreg(id);
            if !matches!(vreg.file, RegFile::UR | RegFile::UP) {
                continue;
            }
            for cell in liveness.map.first(id)..liveness.map.first(id) + u32::from(vreg.cells) {
                let span =
                    self.first[cell as usize] as usize..self.first[cell as usize + 1] as usize;
                let segments = &mut self.segments[span];
                let one_block = segments.iter().all(|s| {
                    let at = self.block_start.partition_point(|b| *b <= s.start);
                    self.block_start.get(at).is_none_or(|next| s.end <= *next)
                });
                if one_block && !liveness.may_cross_blocks(cell) {
                    continue;
                }
                let never_apart = apart.as_ref().is_some_and(|apart| {
                    segments.iter().all(|s| {
                        let from = self.block_start.partition_point(|b| *b <= s.start);
                        let to = self.block_start.partition_point(|b| *b < s.end);
                        apart[from - 1] == apart[to]
                    })
                });
                if never_apart {
                    continue;
                }
                if let Some((first, rest)) = segments.split_first_mut() {
                    let from_entry = first.start < entry_end && !entry_again;
                    let start = if from_entry { first.start } else { 0 };
                    *first = Segment { start, end: self.points };
                    // Later segments lie within the first one now: made empty, they take nothing.
                    rest.fill(Segment { start: self.points, end: self.points });
                }
            }
        }
    }
}

const CLOSED: u32 = u32::MAX;

/// The state of a walk backwards over all blocks.
struct Walk {
    /// End of the segment that is being built, by cell.
    end: Scratch<Vec<u32>>,
    /// The earliest point so far at which an open cell is read, or written under a guard.
    first: Scratch<Vec<u32>>,
    /// Cells that may be open.
    opened: Scratch<Vec<Cell>>,
    /// Segments in descending order of each cell.
    found: Scratch<Vec<(Cell, Segment)>>,
    /// The place of each cell's last one.
    last: Scratch<Vec<u32>>,
}

impl Walk {
    fn new(cells: usize) -> Walk {
        Walk {
            end: scratch!(Vec<u32>; CLOSED; cells),
            first: scratch!(Vec<u32>; CLOSED; cells),
            opened: scratch!(Vec<Cell>),
            found: scratch!(Vec<(Cell, Segment)>),
            last: scratch!(Vec<u32>; CLOSED; cells),
        }
    }

    /// A cell that is live through many blocks has one segment in all of them.
    fn add(&mut self, cell: Cell, segment: Segment) {
        let last = &mut self.last[cell as usize];
        match self.found.get_mut(*last as usize) {
            Some((_, later)) if later.start == segment.end => later.start = segment.start,
            _ => {
                *last = self.found.len() as u32;
                self.found.push((cell, segment));
            }
        }
    }

    fn open(&mut self, cell: Cell, end: u32) {
        let slot = &mut self.end[cell as usize];
        if *slot == CLOSED {
            *slot = end;
            self.first[cell as usize] = CLOSED;
            self.opened.push(cell);
        }
    }

    fn define(&mut self, cells: &mut std::ops::Range<Cell>, write: u32, kill: bool) {
        for cell in cells {
            let end = self.end[cell as usize];
            if end == CLOSED {
                // Nobody wants it, but it is written.
                self.add(cell, Segment { start: write, end: write + 1 });
            } else if kill {
                self.add(cell, Segment { start: write, end });
                self.end[cell as usize] = CLOSED;
            } else {
                self.first[cell as usize] = write;
            }
        }
    }

    /// What is still open was live at the block's start, or has nothing but guarded definitions
    /// from there on.
    fn close_block(&mut self, start: u32, live_in: impl Fn(Cell) -> bool) {
        for at in 0..self.opened.len() {
            let cell = self.opened[at];
            let end = std::mem::replace(&mut self.end[cell as usize], CLOSED);
            if end == CLOSED {
                continue;
            }
            let begin = if live_in(cell) { start } else { self.first[cell as usize].min(end) };
            if begin < end {
                self.add(cell, Segment { start: begin, end });
            }
        }
        self.opened.clear();
    }

    fn finish(self, points: u32, block_start: Scratch<Vec<u32>>) -> Ranges {
        finish(self.end.len(), &self.found, points, block_start)
    }
}

/// Sorts segments by cell (they come in descending order) and joins those that touch.
fn finish(
    cells: usize,
    found: &[(Cell, Segment)],
    points: u32,
    block_start: Scratch<Vec<u32>>,
) -> Ranges {
    let mut first = scratch!(Vec<u32>; 0; cells + 1);
    for (cell, _) in found {
        first[*cell as usize + 1] += 1;
    }
    let mut sum = 0;
    for count in &mut first {
        sum += *count;
        *count = sum;
    }
    let mut next = first.clone();
    let mut sorted = scratch!(Vec<Segment>; Segment { start: 0, end: 0 }; found.len());
    for (cell, segment) in found.iter().rev() {
        let at = &mut next[*cell as usize];
        sorted[*at as usize] = *segment;
        *at += 1;
    }
    let mut segments = scratch!(Vec<Segment>).with_room(sorted.len());
    // Most cells are physical registers that nothing names yet.
    let mut begin = 0;
    for next in &mut first {
        let end = *next;
        if begin < end {
            let joined = segments.len();
            for &segment in &sorted[begin as usize..end as usize] {
                match segments[joined..].last_mut() {
                    Some(last) if segment.start <= last.end => {
                        last.end = last.end.max(segment.end);
                    }
                    _ => segments.push(segment),
                }
            }
        }
        *next = segments.len() as u32;
        begin = end;
    }
    let (late, named) = (scratch!(BitVec), scratch!(Vec<(RegFile, u32, Segment)>));
    Ranges { first, segments, points, block_start, late, named }
}

/// Where the products of warpgroups in a block are done with the registers that they read: at the
/// wait for their group, or at the block's end (what comes then, `schedule::groups` sees to).
fn waits_of_groups(body: &Body<'_>, insts: &[InstId]) -> FxHashMap<usize, usize> {
    let mut waits = FxHashMap::default();
    for (at, id) in insts.iter().enumerate() {
        if !body.op(*id).has(Props::GROUP) {
            continue;
        }
        let mut ended = 0;
        let wait = insts[at..].iter().position(|id| {
            let inst = body.inst(*id);
            if inst.op.has(Props::GROUP) {
                ended += u64::from(!groups::is_open(inst));
            }
            groups::leaves(inst).is_some_and(|left| ended > left)
        });
        waits.insert(at, wait.map_or(insts.len(), |distance| at + distance));
    }
    waits
}

/// Whether two ranges have a point in common.
pub fn overlap(a: &[Segment], b: &[Segment]) -> bool {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    few.iter().any(|s| {
        let at = many.partition_point(|m| m.end <= s.start);
        many.get(at).is_some_and(|m| m.start < s.end)
    })
}

/// Adds a range that has no point in common with the other one.
pub fn join_into(all: &mut Vec<Segment>, more: &[Segment]) {
    const FEW: usize = 16;
    if more.len() * FEW > all.len() {
        *all = join(all, more);
        return;
    }
    for s in more {
        let at = all.partition_point(|a| a.end < s.start);
        let begins = all.get(at).is_some_and(|a| a.end == s.start);
        let ends = all.get(at + usize::from(begins)).is_some_and(|a| a.start == s.end);
        match (begins, ends) {
            (true, true) => {
                all[at].end = all[at + 1].end;
                all.remove(at + 1);
            }
            (true, false) => all[at].end = s.end,
            (false, true) => all[at].start = s.start,
            (false, false) => all.insert(at, *s),
        }
    }
}

/// The union of two ranges that have no point in common.
pub fn join(a: &[Segment], b: &[Segment]) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let from_a = j == b.len() || (i < a.len() && a[i].start < b[j].start);
        let next = if from_a { a[i] } else { b[j] };
        if from_a {
            i += 1
        } else {
            j += 1
        }
        match all.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            _ => all.push(next),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analyses;
    use crate::analysis::cfg;
    use crate::testing;
    use orias_components::text;

    /// The range of the first cell of `%R0`.
    fn range(input: &str) -> Vec<Segment> {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).unwrap_or_else(|e| panic!("{e}"));
        function.run(cfg::analyze_control_flow);
        let body = function.body();
        let liveness = Analyses::default().liveness(&body);
        let ranges = Ranges::compute(&body, &liveness, &InForce::default(), None);
        ranges.of(liveness.map.first(VRegId(0))).to_vec()
    }

    #[test]
    fn a_factor_of_a_warpgroup_is_busy_until_the_wait_for_its_group() {
        let code = "BB0:
                %R0:4 = LDS.128 [RZ]
                %R1:4 = LDS.128 [RZ+0x10]
                %R1:4 = HGMMA.64x8x16.F32 %R0:4, desc[UR8:4], %R1:4, UPT, 0x0
                %R1:4 = HGMMA.64x8x16.F32 %R1:4, desc[UR8:4], %R1:4, UPT, 0x0
                WARPGROUP.DEPBAR.LE 0x0, 0x1
                WARPGROUP.DEPBAR.LE 0x0, 0x0
                STS [RZ], %R1
                EXIT PT";
        // The first wait leaves one group of two.
        assert_eq!(range(code), [Segment { start: 1, end: 8 }]);
        let both = code.replace("0x0, 0x1", "0x0, 0x2");
        assert_eq!(range(&both), [Segment { start: 1, end: 10 }]);
        let never = code.replace("WARPGROUP.DEPBAR.LE 0x0,", "NANOSLEEP");
        assert_eq!(range(&never), [Segment { start: 1, end: 16 }]);
    }
}
