//! Out of SSA form, with the fewest copies that coalescing finds (after Boissinot et al.,
//! "Revisiting Out-of-SSA Translation for Correctness, Code Quality, and Efficiency").
//!
//! Each phi gets a register of its own, where the ways that lead to it meet: they write it at their
//! ends, all phis of a block at once, and the phi reads it. What a guarded definition keeps is
//! copied to where it writes. Then registers that a copy joins become one as long as no two of
//! their values are wanted at once, copies of inner loops first, and of those the registers with
//! most copies; what joins needs no copy.
//!
//! The lost copy (a phi that is read behind its loop, where the next value is there already) and
//! the swap (phis that exchange their values) are copies that cannot go: the ranges of their
//! registers meet.

mod ranges;
mod wanted;

use super::construct::copy;
use super::form::Form;
use crate::analysis::liveness::CellMap;
use crate::analysis::{Analyses, ControlFlow};
use crate::effects::Copy;
use crate::notes::Notes;
use crate::params::Write;
use crate::registers::coalesce::{Classes, Joint};
use crate::registers::ranges::Ranges;
use crate::scalar::dead_code::{self, Clean};
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, InstId, Loc, Opcode, Operand, Reg, RegUse, VRegId, edges, phis, work,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use wanted::{Place, Wanted};

/// Phase 85.
pub fn convert_all_mov_phi_to_mov(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut form: Write<'_, Form>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    if std::mem::take(&mut form.is_ssa) {
        let mut body = code.body();
        // Here a value that something reads is read behind its definition on some way.
        dead_code::remove_unread(&mut body, &mut analyses, &mut clean);
        form.left_all_read = clean.writes_once(&body);
        notes.count(destruct(&mut body, &mut analyses));
    }
}

fn destruct(body: &mut Body<'_>, analyses: &mut Analyses) -> usize {
    let (copies, phis) = wanted(body, &analyses.cells(body));
    if copies.is_empty() && phis.blocks.is_empty() {
        if phis.has_ties {
            untie(body, &[]);
        }
        return 0;
    }
    let map = analyses.cells(body);
    let flow = analyses.flow(body);
    let classes = coalesce(body, &map, &flow, &copies);
    rename(body, &classes);
    let place = |r: RegUse| placed(&classes, r);
    let mut ends = scratch!(Vec<(BlockId, u32, Copy)>);
    let mut ties = scratch!(Vec<(InstId, u32, Copy)>);
    let mut starts = scratch!(Vec<(VRegId, u32, Copy)>);
    let mut count = 0;
    for wanted in &copies {
        let copy = Copy { to: place(wanted.copy.to), from: place(wanted.copy.from) };
        if copy.to == copy.from {
            continue;
        }
        count += 1;
        match (wanted.at, wanted.copy.to.reg.vreg()) {
            (Place::End(block), _) => ends.push((block, count, copy)),
            (Place::Tie(id), _) => ties.push((id, count, copy)),
            (Place::Phi, Some(v)) => starts.push((v, count, copy)),
            (Place::Phi, None) => {}
        }
    }
    ends.sort_unstable_by_key(|(block, n, _)| (*block, *n));
    ties.sort_unstable_by_key(|(id, n, _)| (*id, *n));
    starts.sort_unstable_by_key(|(v, n, _)| (*v, *n));
    replace_phis(body, &phis, &starts);
    write_ends(body, &ends);
    untie(body, &ties);
    count as usize
}

/// The copies that a sorted list has for one key.
fn of<K: Ord + std::marker::Copy>(all: &[(K, u32, Copy)], key: K) -> &[(K, u32, Copy)] {
    let first = all.partition_point(|(k, ..)| *k < key);
    let count = all[first..].iter().take_while(|(k, ..)| *k == key).count();
    &all[first..first + count]
}

/// The blocks with phis, and the register and cell that each phi writes.
struct Phis {
    blocks: Scratch<Vec<BlockId>>,
    /// By block, as they stand there.
    to: Scratch<Vec<(BlockId, RegUse)>>,
    /// Some instruction is tied, be it to nothing.
    has_ties: bool,
}

/// All copies that there would be without coalescing, and the phis. Meeting registers are made.
fn wanted(body: &mut Body<'_>, map: &CellMap) -> (Scratch<Vec<Wanted>>, Phis) {
    let mut defined = scratch!(Vec<bool>; false; map.count());
    let mut with_phis = scratch!(Vec<BlockId>);
    let mut tied = scratch!(Vec<InstId>);
    // Phis that have brought nothing yet that something writes.
    let mut empty = scratch!(Vec<InstId>);
    for block in body.layout() {
        for id in body.block(*block).insts() {
            let inst = body.inst(*id);
            if inst.op == Opcode::MOVPHI && with_phis.last() != Some(block) {
                with_phis.push(*block);
            }
            if inst.tied().len() > 0 {
                tied.push(*id);
            }
            if inst.op == Opcode::MOVPHI && !brings(body, *id, &|r| is_written(map, &defined, r)) {
                empty.push(*id);
            } else {
                inst.for_each_def(|r| map.cells(r).for_each(|c| defined[c as usize] = true));
            }
        }
    }
    loop {
        let before = empty.len();
        // What one of them waits for stands behind it most often: a loop in a loop in a loop. Once
        // forward and once back is enough for any chain that does not turn.
        empty.reverse();
        empty.retain(|id| {
            let is_empty = !brings(body, *id, &|r| is_written(map, &defined, r));
            if !is_empty {
                let set = |r| map.cells(r).for_each(|c| defined[c as usize] = true);
                body.inst(*id).for_each_def(set);
            }
            is_empty
        });
        if empty.len() == before {
            break;
        }
    }
    let is_defined = |r: RegUse| is_written(map, &defined, r);
    let mut copies = scratch!(Vec<Wanted>);
    let mut phis = scratch!(Vec<(BlockId, RegUse)>);
    let mut operands = scratch!(Vec<Operand>);
    // By register that phis write.
    let mut meet = scratch!(Vec<Option<Reg>>; None; body.vreg_count());
    for &block in &with_phis {
        for at in 0..phis::end(body, block) {
            let id = body.block(block).insts()[at];
            operands.clear();
            operands.extend(body.inst(id).operands());
            let Some(Operand::Reg(to)) = operands.first().copied() else { continue };
            let Some(v) = to.reg.vreg() else { continue };
            let reg = *meet[v.0 as usize].get_or_insert_with(|| {
                let old = *body.vreg(v);
                body.new_vreg(old.file, old.cells, old.align)
            });
            let through = RegUse { reg, ..to };
            phis.push((block, to));
            if !is_defined(to) {
                continue;
            }
            copies.push(Wanted { copy: Copy { to, from: through }, at: Place::Phi });
            for pair in operands[1..].chunks_exact(2) {
                let [Operand::Reg(value), Operand::Block(from)] = *pair else { continue };
                if is_defined(value) {
                    let copy = Copy { to: through, from: value };
                    copies.push(Wanted { copy, at: Place::End(from) });
                }
            }
        }
    }
    for &id in &tied {
        for &(to, from) in &ties_of(body, id) {
            for cell in 0..to.count {
                let one = |r: RegUse| RegUse::at(r.reg, r.cell + cell, 1);
                if is_defined(one(from)) && one(to) != one(from) {
                    let copy = Copy { to: one(to), from: one(from) };
                    copies.push(Wanted { copy, at: Place::Tie(id) });
                }
            }
        }
    }
    let has_ties = !tied.is_empty();
    (copies, Phis { blocks: with_phis, to: phis, has_ties })
}

/// Whether something writes a cell of this register.
fn is_written(map: &CellMap, defined: &[bool], r: RegUse) -> bool {
    let mut cells = map.cells(r);
    !r.reg.is_zero() && cells.any(|c| defined.get(c as usize).is_none_or(|d| *d))
}

/// Whether a phi has a value that something writes. (One of itself and nothing has none.)
fn brings(body: &Body<'_>, phi: InstId, is_written: &dyn Fn(RegUse) -> bool) -> bool {
    body.inst(phi).sources().any(|o| o.as_reg().is_some_and(|r| is_written(*r)))
}

/// Destinations, and what each is tied to.
fn ties_of(body: &Body<'_>, id: InstId) -> SmallVec<[(RegUse, RegUse); 2]> {
    let inst = body.inst(id);
    let named = |o: Operand| o.as_reg().copied().filter(|r| !r.reg.is_zero());
    let named = inst.dests().filter_map(named);
    named.zip(inst.tied()).filter(|(_, tied)| !tied.reg.is_zero()).collect()
}

/// What a copy writes where the register that it writes has no range: at the end of a way, or
/// before an instruction that is tied. No write is needed once both are of one class.
#[derive(Clone, Copy)]
struct Stub {
    to: RegUse,
    from: RegUse,
}

/// Classes of registers, and the stubs of each by the point of their write.
struct Coalescer<'a> {
    map: &'a CellMap,
    ranges: &'a Ranges,
    classes: Classes,
    /// By the leader of a class.
    stubs: Stubs,
}

/// By the leader of a class: points and stubs, in the order of points.
struct Stubs {
    /// By register: 1 + the place of its list, 0 for none.
    place: Scratch<Vec<u32>>,
    lists: Scratch<Vec<List>>,
}

/// Points and stubs.
type List = Scratch<Vec<(u32, Stub)>>;

impl Stubs {
    fn new(vregs: usize) -> Stubs {
        Stubs { place: scratch!(Vec<u32>; 0; vregs), lists: scratch!(Vec<List>) }
    }

    fn of(&self, leader: VRegId) -> &[(u32, Stub)] {
        let place = self.place[leader.0 as usize].checked_sub(1);
        place.map_or(&[], |place| &self.lists[place as usize])
    }

    fn push(&mut self, leader: VRegId, point: u32, stub: Stub) {
        let place = &mut self.place[leader.0 as usize];
        if *place == 0 {
            self.lists.push(scratch!(Vec<(u32, Stub)>));
            *place = self.lists.len() as u32;
        }
        self.lists[*place as usize - 1].push((point, stub));
    }

    /// Two classes become one: the longer list takes in the other.
    fn join(&mut self, outer: VRegId, inner: VRegId) {
        let longer = self.of(outer).len() >= self.of(inner).len();
        let (long, short) = if longer { (outer, inner) } else { (inner, outer) };
        let [long, short] = [long, short].map(|l| std::mem::take(&mut self.place[l.0 as usize]));
        self.place[outer.0 as usize] = long;
        let Some(short) = short.checked_sub(1) else { return };
        let short = std::mem::take(&mut self.lists[short as usize]);
        let long = &mut self.lists[long as usize - 1];
        for &(point, stub) in &short {
            work::add(1);
            let at = long.partition_point(|(p, _)| *p <= point);
            long.insert(at, (point, stub));
        }
    }
}

/// Which copies have the same two registers, of whatever cells.
struct Pairs {
    /// By copy: the number of its pair.
    of: Scratch<Vec<u32>>,
    /// By pair: how many copies have it.
    counts: Scratch<Vec<u32>>,
}

impl Pairs {
    fn new(copies: &[Wanted]) -> Pairs {
        let pair = |(i, wanted): (u32, &Wanted)| (wanted.copy.to.reg, wanted.copy.from.reg, i);
        let mut sorted = scratch!(Vec<(Reg, Reg, u32)>).with((0..).zip(copies).map(pair));
        sorted.sort_unstable();
        let of = scratch!(Vec<u32>; 0; copies.len());
        let mut pairs = Pairs { of, counts: scratch!(Vec<u32>) };
        for same in sorted.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            same.iter().for_each(|(.., i)| pairs.of[*i as usize] = pairs.counts.len() as u32);
            pairs.counts.push(same.len() as u32);
        }
        pairs
    }
}

fn coalesce(body: &Body<'_>, map: &CellMap, flow: &ControlFlow, copies: &[Wanted]) -> Classes {
    let found = ranges::compute(body, map, copies);
    let mut all = Coalescer {
        map,
        ranges: &found.ranges,
        classes: Classes::single(body),
        stubs: Stubs::new(body.vreg_count()),
    };
    let mut stubs = scratch!(Vec<(u32, u32, VRegId, Stub)>);
    for wanted in copies {
        let to = wanted.copy.to;
        let point = match wanted.at {
            Place::Phi => None,
            Place::End(block) => Some(found.ends[block.0 as usize] + 1),
            Place::Tie(_) => found.reads_at(to, map),
        };
        if let (Some(point), Some(v)) = (point, to.reg.vreg()) {
            let stub = Stub { to, from: wanted.copy.from };
            let n = stubs.len() as u32;
            stubs.push((point, n, v, stub));
        }
    }
    stubs.sort_unstable_by_key(|(point, n, ..)| (*point, *n));
    stubs.iter().for_each(|(point, _, v, stub)| all.stubs.push(*v, *point, *stub));
    let loops = flow.loops();
    let pairs = Pairs::new(copies);
    let mut order = scratch!(Vec<(u32, u32, usize)>).with_room(copies.len());
    for (i, wanted) in copies.iter().enumerate() {
        let depth = match wanted.at {
            Place::End(block) => loops.depth(block.0),
            _ => found.block_of(wanted.copy.to, map).map_or(0, |b| loops.depth(b)),
        };
        // A phi's own copy is done however control comes, and each way's only then.
        let ways = match wanted.at {
            Place::End(_) => pairs.counts[pairs.of[i] as usize],
            _ => u32::MAX,
        };
        order.push((depth, ways, i));
    }
    order.sort_unstable_by_key(|(depth, ways, i)| (std::cmp::Reverse((*depth, *ways)), *i));
    // What was refused once is refused again until a class changes: one try for each pair of
    // registers.
    let mut tried = scratch!(BitVec).fill_with(false, pairs.counts.len());
    for &(_, _, i) in &order {
        if !tried.replace(pairs.of[i] as usize, true) {
            all.join(copies[i].copy);
        }
    }
    all.classes.shorten();
    all.classes
}

impl Coalescer<'_> {
    fn join(&mut self, copy: Copy) {
        let mut joint = None;
        let (map, ranges, stubs) = (self.map, self.ranges, &self.stubs);
        self.classes.try_join_if(map, ranges, copy, |classes, found| {
            joint = Some(found);
            let fits = |a, b| stubs_fit(map, ranges, classes, stubs, found, a, b);
            fits(found.outer, found.inner) && fits(found.inner, found.outer)
        });
        let Some(Joint { outer, inner, .. }) = joint else { return };
        if self.classes.is_leader(inner) {
            return;
        }
        self.stubs.join(outer, inner);
    }
}

/// Whether the stubs of one class leave the values of another one alone, were both one class.
fn stubs_fit(
    map: &CellMap,
    ranges: &Ranges,
    classes: &Classes,
    stubs: &Stubs,
    joint: Joint,
    mine: VRegId,
    other: VRegId,
) -> bool {
    let [stubs_here, stubs_there] = [mine, other].map(|leader| stubs.of(leader));
    if stubs_here.is_empty() {
        return true;
    }
    let shift = |leader: VRegId| i32::from(if leader == joint.inner { joint.shift } else { 0 });
    let within = |r: RegUse| {
        let place = r.reg.vreg().map(|v| classes.place(v));
        place.map(|p| (p.leader, i32::from(p.offset + r.cell) + shift(p.leader)))
    };
    // In the class of both: is this stub the copy of a value that is there already?
    let is_own = |stub: &Stub| {
        let (to, from) = (within(stub.to), within(stub.from));
        let inside = |l: VRegId| l == mine || l == other;
        matches!((to, from), (Some((_, a)), Some((l, b))) if a == b && inside(l))
    };
    let writes = |stub: &Stub, cell: i32| within(stub.to).is_some_and(|(_, c)| c == cell);
    for cell in 0..classes.class(other).cells {
        let at = i32::from(cell) + shift(other);
        for segment in classes.range(map, ranges, other, cell) {
            let first = stubs_here.partition_point(|(point, _)| *point < segment.start);
            let inside = stubs_here[first..].iter().take_while(|(p, _)| *p < segment.end);
            for (_, stub) in inside {
                work::add(1);
                if writes(stub, at) && !is_own(stub) {
                    return false;
                }
            }
        }
    }
    let (few, many) = if stubs_here.len() < stubs_there.len() {
        (stubs_here, stubs_there)
    } else {
        (stubs_there, stubs_here)
    };
    // Two that write one cell, but for the same value, or where it is there already.
    let clash = |x: &Stub, y: &Stub| {
        within(x.to).map(|t| t.1) == within(y.to).map(|t| t.1)
            && x.from != y.from
            && !(is_own(x) && is_own(y))
    };
    few.iter().all(|(point, x)| {
        work::add(1);
        let first = many.partition_point(|(p, _)| p < point);
        let mut same = many[first..].iter().take_while(|(p, _)| p == point);
        !same.any(|(_, y)| clash(x, y))
    })
}

/// A register's place in its class.
fn placed(classes: &Classes, r: RegUse) -> RegUse {
    let Some(v) = r.reg.vreg() else { return r };
    let place = classes.place(v);
    let reg = Reg::virt(r.reg.file(), place.leader);
    RegUse { reg, cell: r.cell + place.offset, ..r }
}

/// Gives all registers of a class one name.
fn rename(body: &mut Body<'_>, classes: &Classes) {
    let moves = |r: RegUse| r.reg.vreg().is_some_and(|v| !classes.is_leader(v));
    for at in 0..body.layout().len() {
        let block = body.layout()[at];
        for n in 0..body.block(block).insts().len() {
            let id = body.block(block).insts()[n];
            let inst = body.inst(id);
            if inst.op == Opcode::MOVPHI {
                continue;
            }
            let mut any = false;
            inst.for_each_def(|r| any |= moves(r));
            inst.for_each_use(|r| any |= moves(r));
            if any {
                body.map_regs(id, |r| if moves(r) { placed(classes, r) } else { r });
            }
        }
    }
}

/// Puts copies in the place of phis, and nothing where their register is that of their ways.
fn replace_phis(body: &mut Body<'_>, phis: &Phis, starts: &[(VRegId, u32, Copy)]) {
    let mut to = &phis.to[..];
    let mut copies = scratch!(Vec<Copy>);
    let mut parallel = Parallel::new();
    let mut seen = scratch!(FxHashSet<VRegId>);
    for block in &phis.blocks {
        let end = phis::end(body, *block);
        seen.clear();
        while let Some(((_, r), rest)) = to.split_first().filter(|((of, _), _)| of == block) {
            to = rest;
            if let Some(v) = r.reg.vreg().filter(|v| seen.insert(*v)) {
                copies.extend(of(starts, v).iter().map(|(.., copy)| *copy));
            }
        }
        let made = parallel.write(body, &mut copies, Loc::default());
        body.replace(*block, 0..end, made.iter().copied());
    }
}

/// Puts copies before the branches at the ends of blocks. BSYNC ends its block too: its threads go
/// on where BSSY says, which is right behind it.
fn write_ends(body: &mut Body<'_>, ends: &[(BlockId, u32, Copy)]) {
    let mut copies = scratch!(Vec<Copy>);
    let mut parallel = Parallel::new();
    for of_block in ends.chunk_by(|a, b| a.0 == b.0) {
        let block = of_block[0].0;
        copies.extend(of_block.iter().map(|(.., copy)| *copy));
        let insts = body.block(block).insts();
        let loc = insts.last().map_or(Loc::default(), |i| body.loc(*i));
        let mut at = edges::first_branch(body, block);
        if at > 0 && body.op(insts[at - 1]) == Opcode::BSYNC {
            at -= 1;
        }
        let made = parallel.write(body, &mut copies, loc);
        body.replace(block, at..at, made.iter().copied());
    }
}

/// Makes instructions one after the other that do copies at once.
struct Parallel {
    made: Scratch<Vec<InstId>>,
    known: Scratch<FxHashSet<(RegUse, RegUse)>>,
    /// How many copies still read a cell.
    readers: Scratch<FxHashMap<RegUse, u32>>,
    /// By cell: the copy that writes it.
    writer: Scratch<FxHashMap<RegUse, usize>>,
    done: Scratch<Vec<bool>>,
    ready: Scratch<Vec<usize>>,
}

impl Parallel {
    fn new() -> Parallel {
        Parallel {
            made: scratch!(Vec<InstId>),
            known: scratch!(FxHashSet<(RegUse, RegUse)>),
            readers: scratch!(FxHashMap<RegUse, u32>),
            writer: scratch!(FxHashMap<RegUse, usize>),
            done: scratch!(Vec<bool>),
            ready: scratch!(Vec<usize>),
        }
    }

    /// The instructions. Empties the list.
    fn write(&mut self, body: &mut Body<'_>, copies: &mut Vec<Copy>, loc: Loc) -> &[InstId] {
        self.made.clear();
        if let [Copy { to, from }] = copies[..] {
            self.made.push(copy(body, to, from, loc));
        } else {
            self.write_several(body, copies, loc);
        }
        copies.clear();
        &self.made
    }

    fn write_several(&mut self, body: &mut Body<'_>, copies: &mut Vec<Copy>, loc: Loc) {
        let Parallel { made, known, readers, writer, done, ready } = self;
        // Phis of one class may want the same.
        known.clear();
        copies.retain(|c| known.insert((c.to, c.from)));
        readers.clear();
        for copy in &*copies {
            *readers.entry(copy.from).or_default() += 1;
        }
        writer.clear();
        writer.extend(copies.iter().enumerate().map(|(i, c)| (c.to, i)));
        done.clear();
        done.resize(copies.len(), false);
        let free =
            |readers: &FxHashMap<RegUse, u32>, c: &Copy| readers.get(&c.to).is_none_or(|n| *n == 0);
        for first in 0..copies.len() {
            if !done[first] {
                if !free(readers, &copies[first]) && closes_a_ring(copies, writer, done, first) {
                    // Nobody can begin: what the first would overwrite is kept elsewhere.
                    let old = copies[first].to;
                    let kept = RegUse::new(body.new_vreg(old.reg.file(), 1, 1));
                    made.push(copy(body, kept, old, loc));
                    for c in copies.iter_mut().filter(|c| c.from == old) {
                        c.from = kept;
                    }
                    readers.insert(old, 0);
                }
                if free(readers, &copies[first]) {
                    ready.push(first);
                }
            }
            while let Some(i) = ready.pop() {
                work::add(1);
                if std::mem::replace(&mut done[i], true) {
                    continue;
                }
                let Copy { to, from } = copies[i];
                made.push(copy(body, to, from, loc));
                let left = readers.entry(from).or_default();
                *left = left.saturating_sub(1);
                // Who writes what this one read may go on.
                if let Some(next) = writer.get(&from).filter(|n| !done[**n] && *left == 0) {
                    ready.push(*next);
                }
            }
        }
    }
}

/// Whether the copies that wait for each other, from this one on, come back to it.
fn closes_a_ring(
    copies: &[Copy],
    writer: &FxHashMap<RegUse, usize>,
    done: &[bool],
    first: usize,
) -> bool {
    let mut at = first;
    for _ in 0..copies.len() {
        work::add(1);
        match writer.get(&copies[at].from) {
            Some(next) if *next == first => return true,
            Some(next) if !done[*next] => at = *next,
            _ => return false,
        }
    }
    false
}

/// Copies what guarded instructions keep to where they write, and forgets that they are tied.
fn untie(body: &mut Body<'_>, ties: &[(InstId, u32, Copy)]) {
    body.rewrite_all(|body, out, id| {
        if body.inst(id).tied().len() > 0 {
            body.set_tied(id, &[]);
            let loc = body.loc(id);
            let copies = of(ties, id);
            copies.iter().for_each(|(.., c)| out.keep(copy(body, c.to, c.from, loc)));
            read_copies(body, id, copies);
        }
        out.keep(id);
    });
}

/// What an instruction reads of registers that were copied for it, it reads from the copies: the
/// old registers end there where nothing else wants them.
fn read_copies(body: &mut Body<'_>, id: InstId, copies: &[(InstId, u32, Copy)]) {
    if copies.is_empty() {
        return;
    }
    let moved = |r: RegUse| {
        let mut to: Option<RegUse> = None;
        for i in 0..r.count {
            let cell = RegUse::at(r.reg, r.cell + i, 1);
            let mut all = copies.iter().map(|(.., copy)| copy);
            let Some(copy) = all.find(|c| c.from == cell) else { return r };
            match to {
                None => to = Some(copy.to),
                Some(first) if copy.to.reg == first.reg && copy.to.cell == first.cell + i => {}
                Some(_) => return r,
            }
        }
        to.map_or(r, |to| RegUse { count: r.count, flags: r.flags, ..to })
    };
    let mut inst = body.inst(id).to_inst();
    let defs = usize::from(inst.defs);
    inst.guard.reg = moved(RegUse::new(inst.guard.reg)).reg;
    inst.operands[defs..].iter_mut().for_each(|o| o.map_regs(moved));
    body.set_inst(id, &inst);
}

#[cfg(test)]
mod tests;
