//! Assignment: a physical register for each class, without any two classes meeting in one.
//!
//! Classes are placed one after another; each takes, of the registers that are free over its whole
//! range, the lowest that splits no aligned group which is still whole. Placing in order of the
//! start of the range needs few registers; where wide values come late and find no aligned group,
//! placing wide values first does better: the better of both wins.
//!
//! Memory accesses read their operands some time after they issue. Among registers that cost
//! nothing more, one that such an access has just read is taken last, because the new value would
//! have to wait for the read.

use super::coalesce::Classes;
use super::limits::{FIRST_OF_GROUPS, FIRST_UNIFORM, Limits, STACK_POINTER, as_cheap_as};
use super::occupancy::{Mask, Occupancy};
use super::pool::Pool;
use super::ranges::Ranges;
use crate::analysis::liveness::{CellMap, Liveness};
use crate::calls::is_kept;
use crate::effects::{as_copy, may_copy};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, Props, RegFile, VRegId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What came of an assignment.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// First physical register of each class, by its leader.
    pub of: Scratch<Vec<Option<u8>>>,
    /// Classes for which there was no place.
    pub failed: Scratch<Vec<VRegId>>,
    /// Highest general register + 1.
    pub general: u32,
}

/// Functions with more points than this get one attempt only.
const TRY_BOTH_BELOW: u32 = 100_000;

/// Everything that assignment reads.
pub struct Input<'a, 'w> {
    /// The function.
    pub body: &'a Body<'w>,
    /// Its live cells.
    pub liveness: &'a Liveness,
    /// Their ranges.
    pub ranges: &'a Ranges,
    /// What is to have one place.
    pub classes: &'a Classes,
    /// Registers of each file.
    pub limits: &'a Limits,
    /// Registers at each point, where `setmaxnreg` changes them.
    pub pool: &'a Pool,
    /// By leader: first registers with which a copy to or from a given register would do nothing.
    pub hints: &'a Hints,
}

/// Registers that classes had better get.
pub type Hints = Scratch<FxHashMap<VRegId, SmallVec<[u8; 2]>>>;

/// What the copies from and to given registers (arguments and results of calls) wish for.
pub fn hints(body: &Body<'_>, classes: &Classes) -> Hints {
    let mut hints = scratch!(FxHashMap<VRegId, SmallVec<[u8; 2]>>);
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            if !may_copy(body.op(id)) {
                continue;
            }
            let Some(copy) = as_copy(body.inst(id)) else { continue };
            let (of, given) = match (copy.to.reg.vreg(), copy.from.reg.vreg()) {
                (Some(to), None) => ((to, copy.to.cell), copy.from.reg.phys_index()),
                (None, Some(from)) => ((from, copy.from.cell), copy.to.reg.phys_index()),
                _ => continue,
            };
            let place = classes.place(of.0);
            let first = given.and_then(|g| g.checked_sub(u32::from(place.offset + of.1)));
            if let Some(first) = first.and_then(|f| u8::try_from(f).ok()) {
                let wishes = hints.entry(place.leader).or_default();
                if !wishes.contains(&first) {
                    wishes.push(first);
                }
            }
        }
    }
    hints
}

impl Input<'_, '_> {
    fn map(&self) -> &CellMap {
        &self.liveness.map
    }

    /// First point of a class's range.
    fn start(&self, leader: VRegId) -> u32 {
        let class = self.classes.class(leader);
        let cells = (0..class.cells)
            .filter_map(|c| self.classes.range(self.map(), self.ranges, leader, c).first());
        cells.map(|s| s.start).min().unwrap_or(u32::MAX)
    }
}

/// Bits that are enough for the number of a virtual register (see [`Reg`](orias_components::Reg)).
pub(super) const LEADER_BITS: u32 = 28;

/// Assigns all classes, one file of registers after another.
pub fn assign(input: &Input<'_, '_>) -> Assignment {
    let file = |leader: VRegId| input.classes.class(leader).file;
    // By file, those with a place of their own first, then by where they begin: one number, with
    // the leader in its lowest bits.
    let mut order = scratch!(Vec<u64>).with_room(input.classes.len() as usize);
    for leader in input.classes.leaders() {
        let start = input.start(leader);
        // Registers that no instruction names need no place.
        if start != u32::MAX {
            let class = input.classes.class(leader);
            let group = u64::from(class.file as u8) << 1 | u64::from(class.fixed.is_none());
            order.push((group << 32 | u64::from(start)) << LEADER_BITS | u64::from(leader.0));
        }
    }
    order.sort_unstable();
    let leader = |key: &u64| VRegId((key & ((1 << LEADER_BITS) - 1)) as u32);
    let of = scratch!(Vec<Option<u8>>; None; input.body.vreg_count());
    let mut all = Assignment { of, failed: scratch!(Vec<VRegId>), general: 0 };
    for classes in order.chunk_by(|a, b| file(leader(a)) == file(leader(b))) {
        let classes = scratch!(Vec<VRegId>).with(classes.iter().map(leader));
        let Some(first) = classes.first() else { continue };
        let placed = match file(*first) {
            RegFile::R => place_general(input, &classes),
            other => place_others(input, other, &classes),
        };
        placed.of.iter().for_each(|(leader, at)| all.of[leader.0 as usize] = Some(*at));
        all.failed.extend_from_slice(&placed.failed);
        if file(*first) == RegFile::R {
            all.general = placed.used;
        }
    }
    all
}

/// The classes of a file, those with a place of their own first, then the wide ones. None where all
/// are as wide.
fn by_width(input: &Input<'_, '_>, by_start: &[VRegId]) -> Option<Scratch<Vec<VRegId>>> {
    let class = |leader: &VRegId| input.classes.class(*leader);
    if by_start.iter().all(|leader| class(leader).cells == 1) {
        return None;
    }
    let mut order = scratch!(Vec<VRegId>).with(by_start.iter().copied());
    order.sort_by_key(|leader| {
        (class(leader).fixed.is_none(), std::cmp::Reverse(class(leader).cells))
    });
    Some(order)
}

/// Registers of a word.
const FEW: u32 = 64;

/// Places general registers. Most functions need so few that sets of them are one word: as long as
/// there is a place for each class, the others would not be looked at.
fn place_general(input: &Input<'_, '_>, by_start: &[VRegId]) -> Placed {
    let pressure = highest_pressure(input);
    let are_low = || {
        let fixed = by_start.iter().filter_map(|leader| input.classes.class(*leader).fixed);
        let wished = input.hints.values().flatten().copied();
        fixed.chain(wished).all(|reg| u32::from(reg) < FEW)
    };
    if pressure.0 <= FEW && are_low() {
        let placed = place_in_words::<1>(input, by_start, pressure);
        if placed.failed.is_empty() {
            return placed;
        }
    }
    place_in_words::<4>(input, by_start, pressure)
}

/// The best of several orders, until one needs as few registers as any can. `bound` and `least` are
/// those of [`highest_pressure`].
fn place_in_words<const N: usize>(
    input: &Input<'_, '_>,
    by_start: &[VRegId],
    (bound, least): (u32, u32),
) -> Placed {
    let there = input.pool.most(input.limits);
    let file = || File::<N>::new(input, RegFile::R, bound.min(there));
    let points = input.ranges.points;
    if points > TRY_BOTH_BELOW || least > there {
        // One attempt is long, or none can succeed.
        return place_all(input, file().careful(points, bound), by_start);
    }
    let first = place_all(input, file().careful(points, bound), by_start);
    let enough = as_cheap_as(least);
    let good = |placed: &Placed| placed.failed.is_empty() && placed.used <= enough;
    if good(&first) {
        return first;
    }
    let found = place_better(input, file(), by_start, &first).unwrap_or(first);
    if good(&found) {
        return found;
    }
    let Some(order) = by_width(input, by_start) else { return found };
    let careful = file().careful(points, bound);
    let found = place_better(input, careful, &order, &found).unwrap_or(found);
    if good(&found) {
        return found;
    }
    place_better(input, file(), &order, &found).unwrap_or(found)
}

/// Places the registers of another file: all that counts is that there is a place for each.
fn place_others(input: &Input<'_, '_>, file: RegFile, by_start: &[VRegId]) -> Placed {
    let new = || File::<1>::new(input, file, 0);
    let first = place_all(input, new(), by_start);
    if first.failed.is_empty() || input.ranges.points > TRY_BOTH_BELOW {
        return first;
    }
    let Some(order) = by_width(input, by_start) else { return first };
    let second = place_all(input, new(), &order);
    if second.failed.len() < first.failed.len() { second } else { first }
}

/// Cells of general registers that are live at once, at most, and R1; and how many registers any
/// assignment uses at least. Nothing wide lies in R0, which R1 is beside: where only wide values
/// are live, it stays free.
fn highest_pressure(input: &Input<'_, '_>) -> (u32, u32) {
    let mut change = scratch!(Vec<(i32, i32)>; (0, 0); input.ranges.points as usize + 1);
    for leader in input.classes.leaders() {
        let class = input.classes.class(leader);
        if class.file != RegFile::R {
            continue;
        }
        let single = i32::from(class.cells == 1);
        for cell in 0..class.cells {
            for s in input.classes.range(input.map(), input.ranges, leader, cell) {
                let (start, end) = (s.start as usize, s.end as usize);
                change[start] = (change[start].0 + 1, change[start].1 + single);
                change[end] = (change[end].0 - 1, change[end].1 - single);
            }
        }
    }
    let (mut now, mut singles) = (0, 0);
    let (mut live, mut needed) = (0, 0);
    for &(all, single) in change.iter() {
        now += all;
        singles += single;
        live = live.max(now);
        needed = needed.max(now + i32::from(now > 0 && singles == 0));
    }
    (live as u32 + 1, needed as u32 + 1)
}

/// One register file while classes are placed in it.
struct File<const N: usize> {
    occupancy: Occupancy<N>,
    usable: Mask<N>,
    /// Highest register that is taken, + 1.
    used: u32,
    /// Registers below this cost nothing: so many are needed in any case.
    costless: u32,
    /// Registers that a late reader has just read, where that matters.
    late: Option<Occupancy<N>>,
    /// There are such.
    has_late: bool,
    /// Registers that the function must save before it may use them, and has not used yet.
    kept: Mask<N>,
    /// Classes that products of warpgroups name, by leader; nothing where there are none.
    of_groups: Scratch<Vec<bool>>,
}

/// The first registers of all places that a class would have if there were no other class, but for
/// those with a place of their own.
pub fn places_alone(input: &Input<'_, '_>, leader: VRegId) -> Vec<u32> {
    fn list<const N: usize>(mut free: Mask<N>) -> Vec<u32> {
        let mut places = Vec::new();
        while let Some(lowest) = free.lowest() {
            places.push(lowest);
            free = free.without(Mask::one(lowest));
        }
        places
    }
    match input.classes.class(leader).file {
        RegFile::R => list(File::<4>::new(input, RegFile::R, 0).free(input, leader)),
        file => list(File::<1>::new(input, file, 0).free(input, leader)),
    }
}

/// The classes of general registers that products of warpgroups name, by leader.
fn classes_of_groups(input: &Input<'_, '_>) -> Scratch<Vec<bool>> {
    let mut found = scratch!(Vec<bool>);
    if !input.body.facts().may_have_any(Props::GROUP) {
        return found;
    }
    for &block in input.body.layout() {
        for &id in input.body.block(block).insts() {
            let inst = input.body.inst(id);
            if !inst.op.has(Props::GROUP) {
                continue;
            }
            found.resize(input.body.vreg_count(), false);
            let regs = inst.operands().filter_map(|o| o.as_reg().copied());
            for id in regs.filter(|r| r.reg.file() == RegFile::R).filter_map(|r| r.reg.vreg()) {
                found[input.classes.place(id).leader.0 as usize] = true;
            }
        }
    }
    found
}

/// For how many points after a late read its registers are better left alone: a few times the
/// latency of an issue queue (a dozen instructions).
const LATE_POINTS: u32 = 24;

impl<const N: usize> File<N> {
    /// With nothing in it but what instructions name directly; some `expected` registers will be
    /// taken.
    fn new(input: &Input<'_, '_>, file: RegFile, expected: u32) -> File<N> {
        let mut usable = Mask::below(input.limits.count(file));
        if file == RegFile::R {
            usable = Mask::below(input.pool.most(input.limits));
            usable = usable.without(Mask::one(STACK_POINTER));
            usable = usable.without(Mask::one(input.limits.frame));
        }
        if file == RegFile::UR {
            for reserved in 0..FIRST_UNIFORM {
                usable = usable.without(Mask::one(reserved));
            }
        }
        let mut occupancy = Occupancy::new(input.ranges.points.max(1), expected);
        // Registers that instructions name directly.
        for (of, reg, s) in input.ranges.named().iter().filter(|(of, ..)| *of == file) {
            debug_assert_eq!(*of, file);
            occupancy.take(s.start, s.end, Mask::one(*reg));
        }
        if file == RegFile::R {
            for (s, count) in input.pool.pieces() {
                occupancy.take(s.start, s.end, usable.without(Mask::below(*count)));
            }
        }
        let (mut kept, mut costless) = (Mask::EMPTY, 0);
        if input.limits.keeps {
            let all = 0..input.limits.count(file);
            kept = all.filter(|r| is_kept(file, *r)).fold(kept, |m, r| m.or(Mask::one(r)));
            if file == RegFile::R {
                costless = crate::calls::ARGUMENTS.end;
            }
        }
        let of_groups =
            if file == RegFile::R { classes_of_groups(input) } else { scratch!(Vec<bool>) };
        File { occupancy, usable, used: 0, costless, late: None, has_late: false, kept, of_groups }
    }

    /// Late reads are avoided among the registers below `costless`, which are needed in any case.
    fn careful(self, points: u32, costless: u32) -> File<N> {
        let late = Some(Occupancy::new(points.max(1), costless));
        File { costless: self.costless.max(costless), late, ..self }
    }

    /// The first registers of all places that are free over a class's range.
    fn free(&self, input: &Input<'_, '_>, leader: VRegId) -> Mask<N> {
        let class = input.classes.class(leader);
        let mut free = Mask::aligned(u32::from(class.align));
        if self.of_groups.get(leader.0 as usize).is_some_and(|g| *g) {
            free = free.without(Mask::below(FIRST_OF_GROUPS));
        }
        for cell in 0..class.cells {
            let mut taken = Mask::EMPTY;
            for s in input.classes.range(input.map(), input.ranges, leader, cell) {
                taken = taken.or(self.occupancy.taken(s.start, s.end));
            }
            free = free.and(self.usable.without(taken).down(u32::from(cell)));
        }
        free
    }

    fn place(&mut self, input: &Input<'_, '_>, leader: VRegId) -> Option<u8> {
        let class = input.classes.class(leader);
        let range = |cell| input.classes.range(input.map(), input.ranges, leader, cell);
        let at = match class.fixed {
            Some(fixed) => u32::from(fixed),
            None => {
                let free = self.free(input, leader);
                let mut late = Mask::EMPTY;
                let known = self.late.iter().filter(|_| self.has_late);
                for (cell, occupancy) in (0..class.cells).zip(known.cycle()) {
                    for s in range(cell) {
                        let taken = occupancy.taken(s.start, s.end.min(s.start + LATE_POINTS));
                        late = late.or(taken.down(u32::from(cell)));
                    }
                }
                let wishes = input.hints.get(&leader).into_iter().flatten();
                let mut wishes = wishes.map(|w| u32::from(*w));
                match wishes.find(|w| free.and(Mask::one(*w)) != Mask::EMPTY) {
                    Some(wish) => wish,
                    None => self.choose(free, late, u32::from(class.cells))?,
                }
            }
        };
        for cell in 0..class.cells {
            for s in range(cell) {
                let mask = Mask::one(at + u32::from(cell));
                self.occupancy.take(s.start, s.end, mask);
                if let Some(late) = self.late.as_mut().filter(|_| input.ranges.ends_late(*s)) {
                    self.has_late = true;
                    late.take(s.end, (s.end + LATE_POINTS).min(input.ranges.points), mask);
                }
            }
        }
        self.used = self.used.max(at + u32::from(class.cells));
        for cell in 0..u32::from(class.cells) {
            self.kept = self.kept.without(Mask::one(at + cell));
        }
        u8::try_from(at).ok()
    }

    /// The lowest start that costs no new register, meets no late read and splits no free pair or
    /// quad; else one that does less of that; else the lowest of all.
    fn choose(&self, free: Mask<N>, late: Mask<N>, cells: u32) -> Option<u32> {
        let known = self.used.max(self.costless);
        let within = free.and(Mask::below((known + 1).saturating_sub(cells)));
        let unread = within.without(late);
        let best = |within: Mask<N>| {
            let mut group = cells.next_power_of_two();
            while group < 4 {
                // Starts whose neighbour in the aligned group of twice the size is free too.
                let low = Mask::aligned(2 * group);
                let whole = free.and(low).and(free.down(group));
                let split = whole.or(whole.up(group));
                let lowest = within.and(Mask::aligned(group)).without(split).lowest();
                if lowest.is_some() {
                    return lowest;
                }
                group *= 2;
            }
            within.lowest()
        };
        // Starts of groups without a register that would have to be saved.
        let saved = (0..cells).fold(Mask::EMPTY, |m: Mask<N>, c| m.or(self.kept.down(c)));
        best(unread.without(saved))
            .or_else(|| best(within.without(saved)))
            .or_else(|| best(unread))
            .or_else(|| best(within))
            .or_else(|| free.lowest())
    }
}

/// What came of one file in one order.
struct Placed {
    /// First register of each class that has a place.
    of: Scratch<Vec<(VRegId, u8)>>,
    failed: Scratch<Vec<VRegId>>,
    /// Highest register that is taken, + 1.
    used: u32,
}

/// Places the classes in this order.
fn place_all<const N: usize>(input: &Input<'_, '_>, file: File<N>, order: &[VRegId]) -> Placed {
    place_below(input, file, order, (usize::MAX, 0)).expect("nothing is worse than that")
}

/// Places the classes in this order, unless that turns out no better than what is known.
fn place_better<const N: usize>(
    input: &Input<'_, '_>,
    file: File<N>,
    order: &[VRegId],
    known: &Placed,
) -> Option<Placed> {
    place_below(input, file, order, (known.failed.len(), known.used))
}

/// None as soon as more classes than this have no place, or as many and so many registers are used.
fn place_below<const N: usize>(
    input: &Input<'_, '_>,
    mut file: File<N>,
    order: &[VRegId],
    bound: (usize, u32),
) -> Option<Placed> {
    let mut of = scratch!(Vec<(VRegId, u8)>).with_room(order.len());
    let mut failed = scratch!(Vec<VRegId>);
    for &leader in order {
        match file.place(input, leader) {
            Some(at) => of.push((leader, at)),
            None => failed.push(leader),
        }
        if (failed.len(), file.used) >= bound {
            return None;
        }
    }
    Some(Placed { of, failed, used: file.used })
}
