//! Spilling: which values give up their registers, and the code that keeps them elsewhere.
//!
//! General registers go to the stack frame (`STL`/`LDL [R1 + offset]`, slots after the local
//! variables), predicates to a general register each. A value that one instruction without register
//! sources makes (a constant) is made again before each use instead. Every use and definition gets
//! a register of its own that lives for a moment; those are never spilled. What the very next
//! instruction reads is still in that register, and where it writes the same again only that is
//! stored.

use super::assign::{Input, LEADER_BITS};
use super::coalesce::Classes;
use super::limits::STACK_POINTER;
use super::ranges::{Segment, overlap};
use crate::analysis::ControlFlow;
use crate::effects::{as_copy, may_be_repeated};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    Body, Inst, InstId, Loc, MemRef, Mod, Opcode, Operand, Props, Reg, RegFile, RegFlags, RegUse,
    Rewrite, VRegId, View,
};
use orias_targets::slots::{LDC, MOV};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What a function's spill code takes, summed over rounds.
#[derive(Clone, Debug, Default)]
pub struct Spills {
    /// Bytes of the frame so far: local variables, then slots.
    pub frame: u32,
    /// Bytes moved by all spill stores and loads, each instruction counted once.
    pub store_bytes: u32,
    /// The same of loads.
    pub load_bytes: u32,
    /// Alignment that the slots need, in bytes.
    pub align: u32,
    /// The register that slots are counted from.
    pointer: u32,
    /// Registers that may not be spilled (again), by id.
    short: Scratch<Vec<bool>>,
    /// The stores and loads.
    pub accesses: Vec<InstId>,
}

impl Spills {
    /// No spill yet, with this many bytes of the frame taken, which begins where the register
    /// points.
    pub fn above(local_bytes: u32, pointer: u32) -> Spills {
        Spills { frame: local_bytes, pointer, short: scratch!(Vec<bool>), ..Spills::default() }
    }

    /// Registers that keep one place from their first definition to their last use.
    pub fn keep(&mut self, registers: usize, kept: &[VRegId]) {
        self.short.resize(registers, false);
        kept.iter().for_each(|id| self.short[id.0 as usize] = true);
    }

    /// Whether a register belongs to spill code, and lives for a moment, or is kept: it may not be
    /// spilled (again).
    pub fn is_short(&self, id: VRegId) -> bool {
        self.short.get(id.0 as usize).copied().unwrap_or(false)
    }

    /// A register for one access to `r`, aligned as instructions want groups of so many cells and
    /// not more than `r` is.
    fn new_short(&mut self, body: &mut Body<'_>, r: RegUse, cells: u8) -> Reg {
        let align = r.reg.vreg().map_or(1, |id| body.vreg(id).align);
        let align = cells.next_power_of_two().min(align.max(1));
        let reg = body.new_vreg(r.reg.file(), cells, align);
        self.short.resize(body.vreg_count(), false);
        self.short[body.vreg_count() - 1] = true;
        reg
    }
}

/// More cells than one access to the stack moves: such a class is spilled only where nothing else
/// is left.
const WIDE: u8 = 4;

/// What it costs to spill each class: accesses weighted by loop depth over the length of the range.
pub struct Weights {
    /// By leader; None where spilling is not possible or of no use.
    of: Scratch<Vec<Option<u64>>>,
}

impl Weights {
    /// What it costs to spill a class; nothing where that cannot be.
    pub fn of(&self, leader: VRegId) -> Option<u64> {
        self.of[leader.0 as usize]
    }

    /// Of all classes, by how often their instructions run.
    pub fn new(input: &Input<'_, '_>, spills: &Spills, flow: &ControlFlow) -> Weights {
        let body = input.body;
        let mut cost = scratch!(Vec<u64>; 0; body.vreg_count());
        for &block in body.layout() {
            let one = flow.frequency(block.0);
            for &id in body.block(block).insts() {
                let mut count = |r: RegUse| {
                    if let Some(v) = r.reg.vreg() {
                        cost[input.classes.place(v).leader.0 as usize] += one;
                    }
                };
                body.inst(id).for_each_use(&mut count);
                body.inst(id).for_each_def(&mut count);
            }
        }
        let mut barred = scratch!(Vec<bool>; false; body.vreg_count());
        for id in (0..body.vreg_count() as u32).map(VRegId) {
            if spills.is_short(id) {
                barred[input.classes.place(id).leader.0 as usize] = true;
            }
        }
        let mut of = scratch!(Vec<Option<u64>>; None; body.vreg_count());
        for leader in input.classes.leaders() {
            let class = input.classes.class(leader);
            let can = matches!(class.file, RegFile::R | RegFile::P)
                && class.fixed.is_none()
                && !barred[leader.0 as usize];
            let length = class_length(input, leader);
            // Between a definition and the very next instruction there is nothing to win.
            if can && length > 2 {
                let weight = (cost[leader.0 as usize] << 20) / length;
                let last = if class.cells > WIDE { 1 << 63 } else { 0 };
                of[leader.0 as usize] = Some(weight.min(u64::MAX >> 1) | last);
            }
        }
        Weights { of }
    }
}

fn class_length(input: &Input<'_, '_>, leader: VRegId) -> u64 {
    let range = |cell| input.classes.range(&input.liveness.map, input.ranges, leader, cell);
    let cells = 0..input.classes.class(leader).cells;
    cells.map(|c| range(c).iter().map(|s| u64::from(s.end - s.start)).sum()).max().unwrap_or(0)
}

/// The classes to spill so that no more cells of any file are live at once than there are
/// registers.
pub fn choose(input: &Input<'_, '_>, weights: &Weights) -> Vec<VRegId> {
    let mut victims = Vec::new();
    for file in RegFile::ALL {
        let pointers = if input.limits.frame == STACK_POINTER { 1 } else { 2 };
        let reserved = if file == RegFile::R { pointers } else { 0 };
        let limit = input.limits.count(file);
        let pool = (file == RegFile::R).then_some(input.pool);
        let room = |start, end| {
            let fewest = pool.and_then(|p| p.fewest(start, end));
            fewest.unwrap_or(limit).saturating_sub(reserved)
        };
        choose_in_file(input, weights, file, room, &mut victims);
    }
    victims
}

fn choose_in_file(
    input: &Input<'_, '_>,
    weights: &Weights,
    file: RegFile,
    room: impl Fn(u32, u32) -> u32,
    victims: &mut Vec<VRegId>,
) {
    // Point, whether it starts here, leader, in one number: ends come before starts at the same
    // point.
    let event = |point: u32, starts: bool, leader: VRegId| {
        (u64::from(point) << 1 | u64::from(starts)) << LEADER_BITS | u64::from(leader.0)
    };
    let of_event = |event: u64| {
        let (time, leader) = (event >> LEADER_BITS, event & ((1 << LEADER_BITS) - 1));
        ((time >> 1) as u32, time & 1 != 0, VRegId(leader as u32))
    };
    let mut events = scratch!(Vec<u64>);
    for leader in input.classes.leaders().filter(|l| input.classes.class(*l).file == file) {
        for cell in 0..input.classes.class(leader).cells {
            for s in input.classes.range(&input.liveness.map, input.ranges, leader, cell) {
                if s.start < s.end {
                    events.push(event(s.start, true, leader));
                    events.push(event(s.end, false, leader));
                }
            }
        }
    }
    // What calls take away takes room, but cannot be spilled.
    let mut given = scratch!(Vec<(u32, i32)>);
    for cell in 0..input.liveness.map.first(VRegId(0)) {
        let phys = input.liveness.map.phys(cell).filter(|(f, r)| {
            *f == file && *r < input.limits.count(file) && !(file == RegFile::R && *r == 1)
        });
        if phys.is_some() {
            for s in input.ranges.of(cell) {
                given.extend([(s.start, 1), (s.end, -1)]);
            }
        }
    }
    given.sort_unstable();
    let mut given = given.iter().copied().peekable();
    let mut taken = 0i32;
    events.sort_unstable();
    let mut live = scratch!(Vec<u32>; 0; input.body.vreg_count());
    let mut spilled = scratch!(Vec<bool>; false; input.body.vreg_count());
    let mut candidates: BTreeSet<(u64, VRegId)> = BTreeSet::new();
    let mut pressure = 0u32;
    let mut at = 0;
    while at < events.len() || given.peek().is_some() {
        let next = events.get(at).map_or(u32::MAX, |e| of_event(*e).0);
        let point = given.peek().map_or(next, |g| next.min(g.0));
        while let Some((_, change)) = given.next_if(|g| g.0 == point) {
            taken += change;
        }
        while let Some((p, starts, leader)) = events.get(at).map(|e| of_event(*e)) {
            if p != point {
                break;
            }
            at += 1;
            let l = leader.0 as usize;
            if spilled[l] {
                continue;
            }
            if starts {
                live[l] += 1;
                pressure += 1;
                candidates.extend(weights.of[l].map(|w| (w, leader)));
            } else {
                live[l] -= 1;
                pressure -= 1;
                if live[l] == 0 {
                    weights.of[l].map(|w| candidates.remove(&(w, leader)));
                }
            }
        }
        let after = events.get(at).map_or(point, |e| of_event(*e).0);
        let room = room(point, given.peek().map_or(after, |g| after.min(g.0)).max(point));
        while pressure + taken.max(0) as u32 > room {
            let Some((_, leader)) = candidates.pop_first() else { break };
            spilled[leader.0 as usize] = true;
            pressure -= live[leader.0 as usize];
            victims.push(leader);
        }
    }
}

/// Where a spilled class lives.
#[derive(Clone)]
enum Home {
    /// Byte offset from R1.
    Slot(u32),
    /// A general register that holds 1 for true.
    Register(Reg),
    /// Made again by this instruction.
    Again(Box<Inst>, InstId),
}

/// Gives the classes homes and rewrites all accesses to them.
pub fn insert(
    body: &mut Body<'_>,
    spills: &mut Spills,
    classes: &Classes,
    victims: &[(VRegId, Vec<Segment>)],
) {
    let constants = constants(body, classes, victims);
    let mut homes: FxHashMap<VRegId, Home> = FxHashMap::default();
    let mut slots: Vec<(u32, u8, Vec<Segment>)> = Vec::new();
    for (leader, range) in victims {
        let class = classes.class(*leader);
        let home = match constants.get(leader) {
            Some((inst, id)) => Home::Again(Box::new(inst.clone()), *id),
            None if class.file == RegFile::P => Home::Register(body.new_vreg(RegFile::R, 1, 1)),
            None => Home::Slot(slot(spills, &mut slots, class.cells, range)),
        };
        homes.insert(*leader, home);
    }
    let next = next_in_block(body);
    let mut fresh = Fresh { at: None, temps: scratch!(Vec<(RegUse, Reg)>) };
    body.rewrite_all(|body, out, id| {
        let mut touched = false;
        let mut look = |r: RegUse| {
            touched |= r.reg.vreg().is_some_and(|v| {
                v.0 < classes.len() && homes.contains_key(&classes.place(v).leader)
            });
        };
        body.inst(id).for_each_use(&mut look);
        body.inst(id).for_each_def(&mut look);
        if touched {
            let next = next.get(id.0 as usize).copied().flatten();
            Accesses { body, spills, classes, homes: &homes, out, fresh: &mut fresh }
                .rewrite(id, next);
        } else {
            out.keep(id);
        }
    });
}

/// By instruction, what follows it in its block.
fn next_in_block(body: &Body<'_>) -> Scratch<Vec<Option<InstId>>> {
    let mut next = scratch!(Vec<Option<InstId>>; None; body.inst_count());
    for block in body.layout() {
        for pair in body.block(*block).insts().windows(2) {
            next[pair[0].0 as usize] = Some(pair[1]);
        }
    }
    next
}

/// What is in registers of spill code where an instruction begins: what the one before it wrote.
struct Fresh {
    at: Option<InstId>,
    temps: Scratch<Vec<(RegUse, Reg)>>,
}

/// A slot for a range: one of this round's whose other ranges it does not meet, or a new one.
fn slot(
    spills: &mut Spills,
    slots: &mut Vec<(u32, u8, Vec<Segment>)>,
    cells: u8,
    range: &[Segment],
) -> u32 {
    const LOOK_BACK: usize = 64;
    for (offset, size, taken) in slots.iter_mut().rev().take(LOOK_BACK) {
        if *size == cells && !overlap(taken, range) {
            *taken = super::ranges::join(taken, range);
            return *offset;
        }
    }
    let align = 4 * u32::from(cells.next_power_of_two());
    let offset = spills.frame.next_multiple_of(align);
    spills.align = spills.align.max(align);
    spills.frame = offset + 4 * u32::from(cells);
    slots.push((offset, cells, range.to_vec()));
    offset
}

/// The victims that one instruction makes, always the same value: it has no register sources.
fn constants(
    body: &Body<'_>,
    classes: &Classes,
    victims: &[(VRegId, Vec<Segment>)],
) -> FxHashMap<VRegId, (Inst, InstId)> {
    let mut found: FxHashMap<VRegId, Option<(Inst, InstId)>> = victims
        .iter()
        .filter(|(leader, _)| classes.class(*leader).members == 1)
        .map(|(leader, _)| (*leader, None))
        .collect();
    let mut dropped: Vec<VRegId> = Vec::new();
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            let inst = body.inst(id);
            inst.for_each_def(|r| {
                let Some(place) = r.reg.vreg().and_then(|v| found.get_mut(&v).map(|f| (v, f)))
                else {
                    return;
                };
                if place.1.is_some() || !makes_a_constant(inst) {
                    dropped.push(place.0);
                } else {
                    *place.1 = Some((inst.to_inst(), id));
                }
            });
        }
    }
    for leader in dropped {
        found.remove(&leader);
    }
    found.into_iter().filter_map(|(leader, f)| Some((leader, f?))).collect()
}

/// Whether an instruction gives the same value wherever it stands, in one register and nothing
/// else.
pub fn makes_a_constant(inst: View<'_>) -> bool {
    // Parameters and launch constants; bank 3 holds constants of the module.
    let source = match inst.op {
        Opcode::MOV => inst.get(MOV::B),
        Opcode::LDC => inst.get(LDC::A).filter(|from| matches!(from, Operand::Const(_))),
        _ => None,
    };
    matches!(source, Some(Operand::Imm(_) | Operand::Const(_) | Operand::Symbol { .. }))
        && may_be_repeated(inst)
}

/// The cells that an access names, and nothing else of it.
fn key(r: RegUse) -> RegUse {
    RegUse::at(r.reg, r.cell, r.count)
}

/// The rewriting of one instruction's accesses to spilled registers.
struct Accesses<'a, 'w> {
    body: &'a mut Body<'w>,
    spills: &'a mut Spills,
    classes: &'a Classes,
    homes: &'a FxHashMap<VRegId, Home>,
    out: &'a mut Rewrite,
    fresh: &'a mut Fresh,
}

impl Accesses<'_, '_> {
    /// The class that a register had before there was spill code, and the cell of it.
    fn place(&self, r: RegUse) -> Option<(VRegId, u8)> {
        let id = r.reg.vreg().filter(|v| v.0 < self.classes.len())?;
        let place = self.classes.place(id);
        Some((place.leader, place.offset + r.cell))
    }

    fn home(&self, r: RegUse) -> Option<(&Home, u8)> {
        let (leader, cell) = self.place(r)?;
        self.homes.get(&leader).map(|home| (home, cell))
    }

    fn rewrite(mut self, id: InstId, next: Option<InstId>) {
        let loc = self.body.loc(id);
        if self.is_moot(id) {
            return;
        }
        let mut inst = self.body.inst(id).to_inst();
        // Sources: one register for each different access.
        let mut loaded = scratch!(Vec<(RegUse, Reg)>);
        if self.fresh.at == Some(id) {
            loaded.append(&mut self.fresh.temps);
        }
        self.fresh.temps.clear();
        let defs = inst.defs as usize;
        let guard = self.source(RegUse::new(inst.guard.reg), &mut loaded, loc);
        let old_guard = inst.guard.reg;
        inst.guard.reg = guard.reg;
        for i in defs..inst.operands.len() {
            let mut operand = inst.operands[i];
            operand.map_regs(|r| self.source(r, &mut loaded, loc));
            inst.operands[i] = operand;
        }
        // Destinations. Under a guard the old value must stay: it comes into the register first.
        let guarded = !old_guard.is_zero() || inst.guard.negated;
        // The sums of a warpgroup's product are added to where they are.
        let in_place = inst.op.has(Props::GROUP);
        let mut stores = scratch!(Vec<(RegUse, Reg)>);
        for i in 0..defs {
            let mut operand = inst.operands[i];
            operand.map_regs(|r| {
                let kept = loaded.iter().find(|(k, _)| (in_place || guarded) && *k == key(r));
                self.destination(r, guarded, kept.map(|(_, temp)| *temp), &mut stores, loc)
            });
            inst.operands[i] = operand;
        }
        self.body.set_inst(id, &inst);
        self.out.keep(id);
        for &(r, temp) in &stores {
            self.fresh.temps.push((r, temp));
            if !next.is_some_and(|next| self.is_written_again(r, next)) {
                self.store(r, temp, loc);
            }
        }
        self.fresh.at = next;
    }

    /// Whether an instruction writes the same cells again, or keeps them where they are, and reads
    /// them by no other name.
    fn is_written_again(&self, written: RegUse, next: InstId) -> bool {
        let leader = |r: RegUse| self.place(r).map(|(leader, _)| leader);
        let is_same = |r: RegUse| key(r) == written;
        let inst = self.body.inst(next);
        let (mut again, mut others) = (false, false);
        inst.for_each_def(|r| again |= is_same(r));
        inst.for_each_use(|r| others |= leader(r) == leader(written) && !is_same(r));
        again && !others && !self.is_moot(next)
    }

    /// Whether the instruction has nothing left to do: a copy within one home, or the making of a
    /// constant.
    fn is_moot(&self, id: InstId) -> bool {
        let inst = self.body.inst(id);
        if let Some(copy) = as_copy(inst) {
            let place = |r: RegUse| self.home(r).and_then(|_| self.place(r));
            if place(copy.to).is_some() && place(copy.to) == place(copy.from) {
                return true;
            }
        }
        let mut made_again = false;
        inst.for_each_def(|r| {
            made_again |= matches!(self.home(r), Some((Home::Again(_, by), _)) if *by == id);
        });
        made_again
    }

    fn source(&mut self, r: RegUse, loaded: &mut Vec<(RegUse, Reg)>, loc: Loc) -> RegUse {
        let Some((home, _)) = self.home(r) else { return r };
        // What is made again comes whole, whatever part of it is read.
        let (cell, count) = match home {
            Home::Again(..) => (0, r.reg.vreg().map_or(1, |id| self.body.vreg(id).cells)),
            _ => (r.cell, r.count),
        };
        let key = RegUse::at(r.reg, cell, count);
        let temp = match loaded.iter().find(|(k, _)| *k == key) {
            Some((_, temp)) => *temp,
            None => {
                let temp = self.spills.new_short(self.body, r, count);
                self.load(key, temp, loc);
                loaded.push((key, temp));
                temp
            }
        };
        RegUse { reg: temp, cell: r.cell - cell, ..r }
    }

    fn destination(
        &mut self,
        r: RegUse,
        guarded: bool,
        kept: Option<Reg>,
        stores: &mut Vec<(RegUse, Reg)>,
        loc: Loc,
    ) -> RegUse {
        if self.home(r).is_none() {
            return r;
        }
        let temp = kept.unwrap_or_else(|| {
            let temp = self.spills.new_short(self.body, r, r.count);
            if guarded {
                self.load(r, temp, loc);
            }
            temp
        });
        stores.push((key(r), temp));
        RegUse { reg: temp, cell: 0, ..r }
    }

    fn emit(&mut self, inst: Inst, loc: Loc) {
        let access = matches!(inst.op, Opcode::STL | Opcode::LDL);
        let id = self.out.put(self.body, &inst, loc);
        if access {
            self.spills.accesses.push(id);
        }
    }

    fn load(&mut self, r: RegUse, temp: Reg, loc: Loc) {
        let Some((home, cell)) = self.home(r) else { return };
        match home.clone() {
            Home::Slot(offset) => {
                for (at, count) in pieces(cell, r.count) {
                    let to = Operand::Reg(RegUse::at(temp, at - cell, count));
                    let from = stack(self.spills.pointer, offset + 4 * u32::from(at));
                    self.spills.load_bytes += 4 * u32::from(count);
                    self.emit(Inst::new(Opcode::LDL, width(count), 1, &[to, from]), loc);
                }
            }
            Home::Register(holder) => {
                let operands = [
                    Operand::reg(temp),
                    Operand::PT,
                    Operand::reg(holder),
                    Operand::RZ,
                    Operand::PT,
                ];
                let mods = [Mod::NE, Mod::U32, Mod::AND];
                self.emit(Inst::new(Opcode::ISETP, &mods, 2, &operands), loc);
            }
            Home::Again(mut inst, _) => {
                if let Some(Operand::Reg(def)) = inst.operands.first_mut() {
                    def.reg = temp;
                }
                self.emit(*inst, loc);
            }
        }
    }

    fn store(&mut self, r: RegUse, temp: Reg, loc: Loc) {
        let Some((home, cell)) = self.home(r) else { return };
        match home.clone() {
            Home::Slot(offset) => {
                for (at, count) in pieces(cell, r.count) {
                    let from = Operand::Reg(RegUse::at(temp, at - cell, count));
                    let to = stack(self.spills.pointer, offset + 4 * u32::from(at));
                    self.spills.store_bytes += 4 * u32::from(count);
                    self.emit(Inst::new(Opcode::STL, width(count), 0, &[to, from]), loc);
                }
            }
            Home::Register(holder) => {
                let not = RegUse { flags: RegFlags::NOT, ..RegUse::new(temp) };
                let operands =
                    [Operand::reg(holder), Operand::RZ, Operand::Imm(1), Operand::Reg(not)];
                self.emit(Inst::new(Opcode::SEL, &[], 1, &operands), loc);
            }
            // The only definition went away with its instruction.
            Home::Again(..) => {}
        }
    }
}

/// Cuts `cell..cell + count` into aligned accesses of 4, 2 and 1 cells.
fn pieces(cell: u8, count: u8) -> impl Iterator<Item = (u8, u8)> {
    let mut at = cell;
    std::iter::from_fn(move || {
        let left = cell + count - at;
        let size = [4, 2, 1].into_iter().find(|s| left >= *s && at.is_multiple_of(*s))?;
        at += size;
        Some((at - size, size))
    })
}

fn width(count: u8) -> &'static [Mod] {
    match count {
        4 => &[Mod::_128],
        2 => &[Mod::_64],
        _ => &[],
    }
}

/// `[R1 + offset]`
pub fn stack(pointer: u32, offset: u32) -> Operand {
    Operand::Mem(MemRef {
        base: RegUse::new(Reg::phys(RegFile::R, pointer)),
        uniform: RegUse::new(Reg::URZ),
        offset: offset as i32,
        sel: Mod::NONE,
    })
}
