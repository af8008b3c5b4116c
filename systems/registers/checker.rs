//! An independent check of register allocation: does every instruction still read the values that
//! it read before?
//!
//! It knows nothing of ranges, classes or slots. It takes the function as it was, with virtual
//! registers ([`Snapshot`]), and the function as it is, with physical ones, and executes the second
//! symbolically: for each value (a cell of a virtual register) it knows which places hold it now,
//! physical registers and stack slots. A definition puts its value into its register and takes
//! every other value out of it; stores, loads and copies that allocation added move values; where
//! paths meet, only the places that hold on all of them remain. A value that no path has defined
//! yet may be anywhere: reading it gives whatever is there, before allocation as after it.
//!
//! Found by it: a use whose register does not hold its value, instructions lost, changed or added
//! without being a move, registers that are not aligned, not of their file, or beyond the limit.

use super::limits::{Limits, STACK_POINTER};
use orias_components::{
    BlockId, Body, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, VReg,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// A function before allocation.
#[derive(Clone, Debug)]
pub struct Snapshot {
    blocks: Vec<(BlockId, Vec<(InstId, Inst)>)>,
    vregs: Vec<VReg>,
    /// One more than the largest instruction id: later ones were added.
    inst_count: usize,
}

impl Snapshot {
    /// Everything, by value.
    pub fn of(body: &Body<'_>) -> Snapshot {
        let insts = |b: BlockId| {
            body.block(b).insts().iter().map(|id| (*id, body.inst(*id).to_inst())).collect()
        };
        Snapshot {
            blocks: body.layout().iter().map(|b| (*b, insts(*b))).collect(),
            vregs: (0..body.vreg_count() as u32)
                .map(|id| *body.vreg(orias_components::VRegId(id)))
                .collect(),
            inst_count: body.inst_count(),
        }
    }
}

/// What is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CheckError {
    /// An operand reads a place that holds another value.
    #[error("{block}: {inst:?} reads {value} from {place}, which does not hold it")]
    WrongValue { block: BlockId, inst: InstId, value: String, place: String },
    /// An instruction is another one, beyond its registers.
    #[error("{block}: {inst:?} was {before}, is {after}")]
    Changed { block: BlockId, inst: InstId, before: String, after: String },
    /// An instruction is gone that did something.
    #[error("{block}: {inst:?} ({text}) is gone, and was neither a copy nor a constant")]
    Lost { block: BlockId, inst: InstId, text: String },
    /// A new instruction does more than move a value.
    #[error("{block}: {inst:?} ({text}) was added, and is no move of a value")]
    Added { block: BlockId, inst: InstId, text: String },
    /// A register that there is not, or at a wrong alignment.
    #[error("{block}: {inst:?} has {reg} for {cells} cells: {why}")]
    Register { block: BlockId, inst: InstId, reg: String, cells: u8, why: &'static str },
    /// Spill code writes where local variables are.
    #[error("{block}: {inst:?} ({text}) writes over the local variables")]
    OverLocal { block: BlockId, inst: InstId, text: String },
    /// Blocks or their order changed.
    #[error("the blocks are not the same as before")]
    Blocks,
}

/// A 32-bit piece of what the program computes: a cell of a virtual register, or of a physical one
/// that it names itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Value {
    reg: Reg,
    cell: u8,
}

impl Value {
    /// One cell of an operand. A physical register has one cell.
    fn of(r: RegUse, cell: u8) -> Value {
        match r.reg.phys_index() {
            Some(index) => {
                let index = index + u32::from(r.cell + cell);
                Value { reg: Reg::phys(r.reg.file(), index), cell: 0 }
            }
            None => Value { reg: r.reg, cell: r.cell + cell },
        }
    }
}

/// Where a value can be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Place {
    Register(RegFile, u32),
    /// Byte offset from R1.
    Slot(i32),
}

type Places = SmallVec<[Place; 2]>;

/// Which places hold each value that some path has defined, and the other way round.
#[derive(Clone, Default)]
struct Held {
    places: FxHashMap<Value, Places>,
    values: FxHashMap<Place, SmallVec<[Value; 4]>>,
}

impl Held {
    fn get(&self, value: &Value) -> Option<&Places> {
        self.places.get(value)
    }

    /// A value is defined, wherever it is.
    fn define(&mut self, value: Value) {
        self.places.entry(value).or_default();
    }

    /// A value is in just these places.
    fn put(&mut self, value: Value, places: Places) {
        self.forget(value);
        places.iter().for_each(|place| self.values.entry(*place).or_default().push(value));
        self.places.insert(value, places);
    }

    /// A value is in one place more.
    fn add(&mut self, value: Value, place: Place) {
        let places = self.places.entry(value).or_default();
        if !places.contains(&place) {
            places.push(place);
            self.values.entry(place).or_default().push(value);
        }
    }

    /// A value is no more than what no path has defined.
    fn forget(&mut self, value: Value) {
        for place in self.places.remove(&value).unwrap_or_default() {
            self.leave(value, place);
        }
    }

    /// A place does not hold a value, of which it was one.
    fn leave(&mut self, value: Value, place: Place) {
        if let Some(values) = self.values.get_mut(&place) {
            values.retain(|v| *v != value);
        }
    }

    /// Takes every value out of a place.
    fn overwrite(&mut self, place: Place) {
        for value in self.values.remove(&place).unwrap_or_default() {
            if let Some(places) = self.places.get_mut(&value) {
                places.retain(|p| *p != place);
            }
        }
    }

    /// The values in a place, of one file or of all.
    fn values_in(&self, place: Place, file: Option<RegFile>) -> Vec<Value> {
        let fits = |v: &&Value| file.is_none_or(|f| v.reg.file() == f);
        self.values.get(&place).into_iter().flatten().filter(fits).copied().collect()
    }

    /// Where paths meet: the places that hold a value on both; a value that one path has not
    /// defined is anywhere on that path. Whether there is less now than before.
    fn meet(&mut self, new: &Held) -> bool {
        let mut changed = false;
        for (value, places) in &new.places {
            match self.places.get_mut(value) {
                Some(known) if known.iter().all(|p| places.contains(p)) => {}
                Some(known) => {
                    let gone: Places =
                        known.iter().filter(|p| !places.contains(p)).copied().collect();
                    known.retain(|p| places.contains(p));
                    changed = true;
                    gone.iter().for_each(|place| self.leave(*value, *place));
                }
                None => {
                    self.put(*value, places.clone());
                    changed = true;
                }
            }
        }
        changed
    }
}

/// Checks a function whose operands are physical against what it was. Slots may not lie in the
/// first `local_bytes` of the frame.
///
/// # Errors
/// Everything that is wrong, in program order.
pub fn check(
    before: &Snapshot,
    body: &Body<'_>,
    limits: &Limits,
    local_bytes: u32,
) -> Result<(), Vec<CheckError>> {
    let constants = constants(before, body);
    let mut checker = Checker { before, body, limits, local_bytes, errors: Vec::new(), constants };
    let order: Vec<BlockId> = before.blocks.iter().map(|(b, _)| *b).collect();
    if body.layout() != order {
        return Err(vec![CheckError::Blocks]);
    }
    checker.run();
    if checker.errors.is_empty() { Ok(()) } else { Err(checker.errors) }
}

struct Checker<'a, 'w> {
    before: &'a Snapshot,
    body: &'a Body<'w>,
    limits: &'a Limits,
    local_bytes: u32,
    errors: Vec<CheckError>,
    constants: Constants,
}

/// Registers that only one instruction defines, which makes a constant: by that instruction's text
/// without its destination.
type Constants = FxHashMap<String, Vec<Constant>>;

#[derive(Clone, Copy, Debug)]
struct Constant {
    /// What the instruction defines.
    def: RegUse,
    /// Whether it is still there.
    kept: bool,
}

fn constants(before: &Snapshot, body: &Body<'_>) -> Constants {
    let mut makers: BTreeMap<Reg, Vec<(InstId, &Inst)>> = BTreeMap::new();
    for (_, insts) in &before.blocks {
        for (id, inst) in insts {
            inst.for_each_def(|r| makers.entry(r.reg).or_default().push((*id, inst)));
        }
    }
    let mut by_text = Constants::default();
    for makers in makers.into_values() {
        if let [(id, inst)] = makers.as_slice()
            && makes_a_constant(inst)
            && let Some(Operand::Reg(def)) = inst.operands.first()
        {
            let kept = body.has_inst(*id);
            by_text.entry(source_text(inst)).or_default().push(Constant { def: *def, kept });
        }
    }
    by_text
}

fn source_text(inst: &Inst) -> String {
    format!("{:?} {:?} {:?}", inst.op, inst.mods, inst.sources())
}

/// One step of the walk through a block.
enum Step<'a> {
    /// In both: as it was, as it is.
    Kept(&'a Inst, Inst, InstId),
    /// Only before.
    Gone(&'a Inst, InstId),
    /// Only after.
    New(Inst, InstId),
}

impl<'a> Checker<'a, '_> {
    fn run(&mut self) {
        let mut entry_states: FxHashMap<BlockId, Held> = FxHashMap::default();
        let Some(entry) = self.body.layout().first() else { return };
        entry_states.insert(*entry, self.given());
        // To the fixed point without complaints, then once more with them: places only go away at
        // joins. In the order of the blocks, so that most are met once all ways to them were.
        let mut work = BTreeSet::from([0]);
        let index: FxHashMap<BlockId, usize> =
            self.before.blocks.iter().enumerate().map(|(i, (b, _))| (*b, i)).collect();
        while let Some(at) = work.pop_first() {
            let block = self.before.blocks[at].0;
            let Some(state) = entry_states.get(&block) else { continue };
            let mut held = state.clone();
            self.walk(at, &mut held, false);
            for succ in self.body.block(block).succs() {
                let changed = match entry_states.get_mut(succ) {
                    Some(old) => old.meet(&held),
                    None => {
                        entry_states.insert(*succ, held.clone());
                        true
                    }
                };
                if changed {
                    work.extend(index.get(succ));
                }
            }
        }
        for at in 0..self.before.blocks.len() {
            // A block that control does not reach computes nothing.
            if let Some(state) = entry_states.get(&self.before.blocks[at].0) {
                let mut held = state.clone();
                self.walk(at, &mut held, true);
            }
        }
    }

    /// What the entry finds: given registers that the function names hold their own values, but for
    /// the stack pointer, which the frame sets up.
    fn given(&self) -> Held {
        let mut held = Held::default();
        for (_, insts) in &self.before.blocks {
            for (_, inst) in insts {
                inst.for_each_use(|r| {
                    let Some(first) = r.reg.phys_index() else { return };
                    if r.reg == Reg::phys(RegFile::R, STACK_POINTER) {
                        return;
                    }
                    for cell in 0..r.count {
                        let place = Place::Register(r.reg.file(), first + u32::from(cell));
                        let value = Value::of(r, cell);
                        held.add(value, place);
                    }
                });
            }
        }
        held
    }

    /// Executes a block; notes errors when `report`.
    fn walk(&mut self, at: usize, held: &mut Held, report: bool) {
        let before: &'a Snapshot = self.before;
        let body: &'a Body<'_> = self.body;
        let (block, old) = &before.blocks[at];
        let mut found: Vec<CheckError> = Vec::new();
        for step in steps(old, body, *block, before.inst_count) {
            match step {
                Step::Kept(was, is, id) => self.kept(*block, id, was, &is, held, &mut found),
                Step::Gone(was, id) => self.gone(*block, id, was, held, &mut found),
                Step::New(is, id) => self.added(*block, id, &is, held, &mut found),
            }
        }
        if report {
            self.errors.append(&mut found);
        }
    }

    fn kept(
        &self,
        block: BlockId,
        id: InstId,
        was: &Inst,
        is: &Inst,
        held: &mut Held,
        found: &mut Vec<CheckError>,
    ) {
        let (old, new) = (registers(was), registers(is));
        if old.len() != new.len() || !same_shape(was, is) {
            let (before, after) = (format!("{was:?}"), format!("{is:?}"));
            found.push(CheckError::Changed { block, inst: id, before, after });
            return;
        }
        let mut writes: Vec<(Value, Place)> = Vec::new();
        for ((was, def), (is, _)) in old.iter().zip(&new) {
            if was.reg.is_zero() {
                continue;
            }
            if let Some(why) = self.misplaced(*was, *is) {
                let reg = is.reg.to_string();
                found.push(CheckError::Register { block, inst: id, reg, cells: was.count, why });
                continue;
            }
            let Some(first) = is.reg.phys_index() else { continue };
            for cell in 0..was.count {
                let value = Value::of(*was, cell);
                let place = Place::Register(is.reg.file(), first + u32::from(cell));
                if *def {
                    writes.push((value, place));
                } else if held.get(&value).is_some_and(|places| !places.contains(&place)) {
                    found.push(CheckError::WrongValue {
                        block,
                        inst: id,
                        value: format!("{}.{}", value.reg, value.cell),
                        place: format!("{place:?}"),
                    });
                }
            }
        }
        // R2UR takes its value from a thread where the guard holds.
        let always = was.guard.is_always() || was.op == Opcode::R2UR;
        // Under a guard the value is the new or the old one: only a place that holds the old one
        // too will do.
        let kept: Vec<bool> = writes
            .iter()
            .map(|(v, p)| always || held.get(v).is_none_or(|places| places.contains(p)))
            .collect();
        for (_, place) in &writes {
            held.overwrite(*place);
        }
        for (value, _) in &writes {
            held.put(*value, Places::new());
        }
        for ((value, place), kept) in writes.into_iter().zip(kept) {
            if kept {
                // Two destinations in one register: the later one wins.
                held.overwrite(place);
                held.add(value, place);
            }
        }
    }

    /// Why a physical register cannot stand for a virtual one.
    fn misplaced(&self, was: RegUse, is: RegUse) -> Option<&'static str> {
        let Some(index) = is.reg.phys_index() else { return Some("not a physical register") };
        if was.reg.is_phys() {
            return (was.reg != is.reg).then_some("it was another physical register");
        }
        let vreg = was.reg.vreg().and_then(|v| self.before.vregs.get(v.0 as usize));
        let Some(vreg) = vreg else { return Some("no such virtual register") };
        let align = u32::from(vreg.align.max(1)).min(u32::from(was.count).next_power_of_two());
        if is.reg.file() != vreg.file || was.reg.file() != vreg.file {
            return Some("another register file");
        }
        if !index.is_multiple_of(align) {
            return Some("not aligned");
        }
        if index + u32::from(was.count) > self.limits.count(vreg.file) {
            return Some("beyond the limit");
        }
        let taken = index..index + u32::from(was.count);
        if vreg.file == RegFile::R && taken.contains(&STACK_POINTER) {
            return Some("R1 is the stack pointer");
        }
        if vreg.file == RegFile::R && taken.contains(&self.limits.frame) {
            return Some("it points to the frame");
        }
        None
    }

    fn gone(
        &self,
        block: BlockId,
        id: InstId,
        was: &Inst,
        held: &mut Held,
        found: &mut Vec<CheckError>,
    ) {
        if let Some((to, from)) = copied(was) {
            let (to, from) = (Value::of(to, 0), Value::of(from, 0));
            let source = held.get(&from).cloned();
            let old = held.get(&to).cloned();
            let both = match (source, old) {
                (None, _) if was.guard.is_always() => None,
                (Some(s), _) if was.guard.is_always() => Some(s),
                (Some(s), Some(o)) => Some(s.into_iter().filter(|p| o.contains(p)).collect()),
                (one, other) => one.or(other),
            };
            match both {
                Some(places) => held.put(to, places),
                None => held.forget(to),
            }
        } else if makes_a_constant(was) && self.constants.contains_key(&source_text(was)) {
            // Places where the constant was made again for it hold it already.
            was.for_each_def(|r| {
                for cell in r.cell..r.cell + r.count {
                    held.define(Value { reg: r.reg, cell });
                }
            });
        } else {
            found.push(CheckError::Lost { block, inst: id, text: format!("{was:?}") });
        }
    }

    fn added(
        &self,
        block: BlockId,
        id: InstId,
        is: &Inst,
        held: &mut Held,
        found: &mut Vec<CheckError>,
    ) {
        if let Some(moves) = as_moves(is, self.limits.frame) {
            let values: Vec<Vec<Value>> =
                moves.iter().map(|(_, from)| held.values_in(*from, moves_file(is))).collect();
            for (to, _) in &moves {
                if matches!(to, Place::Slot(offset) if i64::from(*offset) < self.local_bytes.into())
                {
                    let text = format!("{is:?}");
                    found.push(CheckError::OverLocal { block, inst: id, text });
                }
                held.overwrite(*to);
            }
            for ((to, _), values) in moves.iter().zip(values) {
                values.into_iter().for_each(|value| held.add(value, *to));
            }
        } else if makes_a_constant(is) {
            let Some(Operand::Reg(def)) = is.operands.first() else { return };
            let Some(first) = def.reg.phys_index() else { return };
            let place = |cell: u8| Place::Register(def.reg.file(), first + u32::from(cell));
            (0..def.count).for_each(|cell| held.overwrite(place(cell)));
            for constant in self.constants.get(&source_text(is)).into_iter().flatten() {
                for cell in 0..constant.def.count.min(def.count) {
                    let value = Value { reg: constant.def.reg, cell: constant.def.cell + cell };
                    // One that is made again everywhere is right wherever it is; another one only
                    // once it is defined.
                    if !constant.kept || held.get(&value).is_some() {
                        held.add(value, place(cell));
                    }
                }
            }
        } else if sets_up_stack(is) {
            held.overwrite(Place::Register(RegFile::R, STACK_POINTER));
        } else {
            found.push(CheckError::Added { block, inst: id, text: format!("{is:?}") });
        }
    }
}

/// Matches a block's instructions before and after: both lists keep their order.
fn steps<'a>(
    old: &'a [(InstId, Inst)],
    body: &'a Body<'_>,
    block: BlockId,
    old_count: usize,
) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    let mut next = old.iter();
    for &id in body.block(block).insts() {
        let is = body.inst(id).to_inst();
        if id.0 as usize >= old_count {
            steps.push(Step::New(is, id));
            continue;
        }
        // An instruction out of order makes those that it passed "gone".
        for (old_id, was) in next.by_ref() {
            if *old_id == id {
                steps.push(Step::Kept(was, is, id));
                break;
            }
            steps.push(Step::Gone(was, *old_id));
        }
    }
    steps.extend(next.map(|(id, was)| Step::Gone(was, *id)));
    steps
}

/// The registers of an instruction in operand order, guard last, and whether each is written.
fn registers(inst: &Inst) -> Vec<(RegUse, bool)> {
    let mut all = Vec::new();
    for (i, operand) in inst.operands.iter().enumerate() {
        operand.for_each_reg(|r| all.push((r, i < inst.defs as usize)));
    }
    all.push((RegUse::new(inst.guard.reg), false));
    all
}

/// Whether two instructions differ in the names of registers only.
fn same_shape(was: &Inst, is: &Inst) -> bool {
    let blank = |inst: &Inst| {
        let mut inst = inst.clone();
        inst.map_regs(|r| {
            let reg = if r.reg.is_zero() { r.reg } else { Reg::phys(r.reg.file(), 0) };
            RegUse { reg, cell: 0, ..r }
        });
        inst
    };
    blank(was) == blank(is)
}

/// An added instruction as moves of 32-bit pieces (to, from), if it is one.
fn as_moves(inst: &Inst, frame: u32) -> Option<Vec<(Place, Place)>> {
    if !inst.guard.is_always() {
        return None;
    }
    let register = |r: &RegUse, cell: u8| {
        Some(Place::Register(r.reg.file(), r.reg.phys_index()? + u32::from(cell)))
    };
    let slot = |operand: &Operand, cell: u8| match operand {
        Operand::Mem(m)
            if m.base.reg == Reg::phys(RegFile::R, frame)
                && m.uniform.reg.is_zero()
                && m.sel == Mod::NONE =>
        {
            Some(Place::Slot(m.offset + 4 * i32::from(cell)))
        }
        _ => None,
    };
    let cells = if inst.mods.has(Mod::_128) {
        4
    } else if inst.mods.has(Mod::_64) {
        2
    } else {
        1
    };
    match (inst.op, inst.operands.as_slice()) {
        (Opcode::LDL, [Operand::Reg(to), from]) if to.count == cells => {
            (0..cells).map(|c| Some((register(to, c)?, slot(from, c)?))).collect()
        }
        (Opcode::STL, [to, Operand::Reg(from)]) if from.count == cells => {
            (0..cells).map(|c| Some((slot(to, c)?, register(from, c)?))).collect()
        }
        // A predicate into a general register (1 is true) and back.
        (Opcode::SEL, [Operand::Reg(to), Operand::RZ, Operand::Imm(1), Operand::Reg(p)])
            if p.flags == orias_components::RegFlags::NOT =>
        {
            Some(vec![(register(to, 0)?, register(p, 0)?)])
        }
        (
            Opcode::ISETP,
            [Operand::Reg(p), Operand::PT, Operand::Reg(from), Operand::RZ, Operand::PT],
        ) if inst.mods.as_slice() == [Mod::NE, Mod::U32, Mod::AND] => {
            Some(vec![(register(p, 0)?, register(from, 0)?)])
        }
        _ => {
            let (to, from) = copied(inst)?;
            Some(vec![(register(&to, 0)?, register(&from, 0)?)])
        }
    }
}

/// Destination and source of an instruction that only copies 32 bits, or a predicate.
fn copied(inst: &Inst) -> Option<(RegUse, RegUse)> {
    const TRUE: Operand = Operand::PT;
    if inst.op == Opcode::PLOP3 {
        // The table of what is the first source, whatever the others are; and of that with the
        // others true.
        let [Operand::Reg(to), TRUE, Operand::Reg(from), TRUE, TRUE, Operand::Imm(0x80), _] =
            inst.operands[..]
        else {
            return None;
        };
        let plain = from.flags == RegFlags::NONE && !to.reg.is_zero() && !from.reg.is_zero();
        return (plain && to.reg.file() == from.reg.file()).then_some((to, from));
    }
    let is_move = matches!(inst.op, Opcode::MOV | Opcode::UMOV) && inst.mods.is_empty();
    let [Operand::Reg(to), Operand::Reg(from), lanes @ ..] = inst.operands.as_slice() else {
        return None;
    };
    let all_lanes = lanes.is_empty() || inst.op == Opcode::MOV && lanes == [Operand::Imm(0xf)];
    let plain = from.flags.without(RegFlags::REUSE) == RegFlags::NONE;
    let one = to.count == 1 && from.count == 1 && to.reg.file() == from.reg.file();
    let named = !to.reg.is_zero() && !from.reg.is_zero();
    (is_move && all_lanes && plain && one && named).then_some((*to, *from))
}

/// Whether an instruction gives the same value wherever it stands, in one register and nothing
/// else.
fn makes_a_constant(inst: &Inst) -> bool {
    let mut reads = false;
    inst.for_each_use(|_| reads = true);
    let source = matches!(
        (inst.op, inst.operands.get(1)),
        (Opcode::MOV, Some(Operand::Imm(_) | Operand::Const(_) | Operand::Symbol { .. }))
            | (Opcode::LDC, Some(Operand::Const(_)))
    );
    inst.defs == 1 && inst.guard.is_always() && !reads && source
}

/// The only file whose values an added move takes along, where it is not every one.
fn moves_file(inst: &Inst) -> Option<RegFile> {
    matches!(inst.op, Opcode::SEL | Opcode::ISETP).then_some(RegFile::P)
}

fn sets_up_stack(inst: &Inst) -> bool {
    let r1 = Operand::reg(Reg::phys(RegFile::R, STACK_POINTER));
    matches!(inst.op, Opcode::LDC | Opcode::IADD3) && inst.operands.first() == Some(&r1)
}
