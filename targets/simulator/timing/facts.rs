//! What one instruction says of time and which cells it touches, prepared once.

use crate::form::{Form, ImmStyle, SlotKind};
use crate::latency::{Class, Estimates};
use crate::touch::{self, Touch};
use orias_components::{Control, Inst, Opcode, Operand, RegFile};

/// Scoreboards that a wait mask names.
pub const SCOREBOARDS: usize = 6;

/// The scoreboard of a warpgroup's matrix products, after the others.
pub const GROUP: u8 = 6;

/// In place of a scoreboard: none.
pub const UNTOLD: u8 = Control::NO_SB;

/// A register cell of a warp: predicates, uniform predicates, uniform registers, general registers.
pub type CellIndex = u16;

const UNIFORM_BASE: u16 = 16;
const GENERAL_BASE: u16 = UNIFORM_BASE + 64;

fn cell_index((file, number): touch::Cell) -> Option<CellIndex> {
    match file {
        RegFile::P if number < 8 => Some(number),
        RegFile::UP if number < 8 => Some(8 + number),
        RegFile::UR if number < 64 => Some(UNIFORM_BASE + number),
        RegFile::R => Some(GENERAL_BASE + number),
        _ => None,
    }
}

/// File and number of a cell.
pub fn cell_name(cell: CellIndex) -> (RegFile, u16) {
    match cell {
        0..8 => (RegFile::P, cell),
        8..16 => (RegFile::UP, cell - 8),
        UNIFORM_BASE..GENERAL_BASE => (RegFile::UR, cell - UNIFORM_BASE),
        _ => (RegFile::R, cell - GENERAL_BASE),
    }
}

/// A cell that an instruction reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub cell: CellIndex,
    pub file: RegFile,
    /// The class by which it is read or written.
    pub class: Class,
    /// The part of the instruction that it is: see [`touch::port`].
    pub port: u16,
    /// Read for every lane of the group: the guard.
    pub guard: bool,
    /// A result that comes when the sources have been read, and that the scoreboard of reads tells
    /// of: the predicate of ATOM, which says what window the address is in (observed: ptxas
    /// 13.0.88).
    pub early: bool,
}

/// A wait of DEPBAR.LE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    pub scoreboard: u8,
    /// So many increments, the youngest, may be outstanding.
    pub left: u8,
}

/// What an instruction says of time, and the registers that it touches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    pub op: Opcode,
    /// Results of one kind come in order.
    pub kind: u16,
    /// Cycles until the next instruction of the warp issues, 1 to 16.
    pub stall: u8,
    /// The yield bit says to let another warp issue: the scoreboards that it sets are seen by
    /// whatever follows.
    pub yields: bool,
    /// Scoreboards that must be zero, one bit each.
    pub wait: u8,
    pub counted: Option<Counted>,
    /// The scoreboard that tells of its results, or [`UNTOLD`].
    pub write_sb: u8,
    /// The one that tells of its late reads.
    pub read_sb: u8,
    /// Results come at a time that only a scoreboard tells.
    pub variable: bool,
    /// General registers are read at such a time.
    pub late: bool,
    /// A product of four warps: such add to the same registers in order.
    pub group: bool,
    pub reads: Box<[Access]>,
    pub writes: Box<[Access]>,
    /// For the estimate: cycles until results are there, and until late reads are done.
    pub result_cycles: u16,
    pub read_cycles: u16,
    /// The pipe that it keeps busy, and for how many cycles.
    pub pipe: u8,
    pub pipe_cycles: u16,
}

impl Default for Timing {
    /// Of no instruction.
    fn default() -> Timing {
        Timing {
            op: Opcode::NOP,
            kind: 0,
            stall: 1,
            yields: false,
            wait: 0,
            counted: None,
            write_sb: UNTOLD,
            read_sb: UNTOLD,
            variable: false,
            late: false,
            group: false,
            reads: Box::default(),
            writes: Box::default(),
            result_cycles: 0,
            read_cycles: 0,
            pipe: 0,
            pipe_cycles: 0,
        }
    }
}

impl Timing {
    pub fn new(form: &Form, inst: &Inst) -> Timing {
        let access = |writes: bool| {
            move |t: &Touch| {
                Some(Access {
                    cell: cell_index(t.cell)?,
                    file: t.cell.0,
                    class: t.class(form, writes),
                    port: t.port(form, writes),
                    guard: t.part == touch::Part::Guard,
                    early: writes && inst.op == Opcode::ATOM && t.cell.0 == RegFile::P,
                })
            }
        };
        let control = inst.control;
        let group = group_scoreboard(form, inst);
        let mut timing = Timing {
            op: inst.op,
            kind: kind(inst.op),
            stall: cycles(control.stall),
            yields: !control.yield_,
            wait: control.wait & ((1 << SCOREBOARDS) - 1),
            counted: None,
            write_sb: scoreboard(control.write_sb),
            read_sb: scoreboard(control.read_sb),
            variable: form.write_sb || form.class.is_variable() || control.write_sb < 6,
            late: form.read_sb,
            reads: touch::reads(inst).iter().filter_map(access(false)).collect(),
            writes: touch::writes(inst).iter().filter_map(access(true)).collect(),
            ..Timing::default()
        };
        let estimates = Estimates::get();
        timing.result_cycles = estimates.result(form.op, form.class);
        timing.read_cycles = estimates.read(form.class);
        timing.pipe = pipe(form.class) as u8;
        if timing.pipe != 0 {
            timing.pipe_cycles = estimates.pipe(form.class);
        }
        match (inst.op, group) {
            (Opcode::DEPBAR, _) => timing.depbar(form, inst),
            (Opcode::WARPGROUP, Some(_)) => {
                let left = count(form, inst).unwrap_or(0);
                timing.counted = Some(Counted { scoreboard: GROUP, left });
            }
            // One without results ends a group too.
            (_, Some(group)) => {
                timing.variable = true;
                timing.late = true;
                timing.group = true;
                timing.write_sb = if group == 0 { GROUP } else { UNTOLD };
            }
            _ => {}
        }
        timing
    }

    fn depbar(&mut self, form: &Form, inst: &Inst) {
        let style = |i: usize| match form.slots.get(i).map(|s| s.kind) {
            Some(SlotKind::Imm { style, .. }) => Some(style),
            _ => None,
        };
        let mut named = None;
        for (i, operand) in inst.operands.iter().enumerate() {
            match (operand, style(i)) {
                (Operand::Imm(n), Some(ImmStyle::Scoreboard)) => named = Some(*n as u8),
                (Operand::Imm(n), Some(ImmStyle::Set)) => {
                    self.wait |= *n as u8 & ((1 << SCOREBOARDS) - 1);
                }
                _ => {}
            }
        }
        // A count in a register may be anything: nothing is sure then.
        if let (Some(scoreboard), Some(left)) = (named, count(form, inst)) {
            self.counted = Some(Counted { scoreboard, left });
        }
    }

    /// The scoreboard that tells when it has read its late sources: the one of the results where it
    /// has no other, since sources are read before.
    pub fn reads_told_by(&self) -> u8 {
        if self.read_sb != UNTOLD { self.read_sb } else { self.write_sb }
    }
}

/// The kind of an instruction whose results come in order with others of the kind: what the unit of
/// transcendental functions does is one, shared memory and the exchange between lanes another,
/// products of warpgroups a third, every other opcode one of its own (observed: what ptxas 13.0.88
/// waits for; a group of products is one of several opcodes, and its last one alone tells of it).
fn kind(op: Opcode) -> u16 {
    use Opcode::*;
    match op {
        MUFU | POPC | FLO | BREV | I2F | F2I | F2F | FRND | FCHK => MUFU as u16,
        LDS | LDSM | MOVM | SHFL => LDS as u16,
        HGMMA | IGMMA | QGMMA | BGMMA => HGMMA as u16,
        op => op as u16,
    }
}

/// The cycles that a stall of the control bits means: 0 is 16 (observed: ptxas 13.0.88 has it at
/// -O0 after matrix products of two passes, whose results are read right after; there other
/// instructions have 15).
fn cycles(stall: u8) -> u8 {
    if stall == 0 { 16 } else { stall }
}

fn scoreboard(number: u8) -> u8 {
    if usize::from(number) < SCOREBOARDS { number } else { UNTOLD }
}

/// The value of the first plain number: DEPBAR's and WARPGROUP.DEPBAR's count.
fn count(form: &Form, inst: &Inst) -> Option<u8> {
    inst.operands.iter().zip(form.slots).find_map(|(operand, slot)| match (operand, slot.kind) {
        (Operand::Imm(n), SlotKind::Imm { style, .. })
            if !matches!(
                style,
                ImmStyle::Scoreboard | ImmStyle::GroupScoreboard | ImmStyle::Set
            ) =>
        {
            Some(u8::try_from(*n).unwrap_or(u8::MAX))
        }
        _ => None,
    })
}

/// The group scoreboard that the instruction names: 0, or 7 for none.
fn group_scoreboard(form: &Form, inst: &Inst) -> Option<u8> {
    inst.operands.iter().zip(form.slots).find_map(|(operand, slot)| match (operand, slot.kind) {
        (Operand::Imm(n), SlotKind::Imm { style: ImmStyle::GroupScoreboard, .. }) => Some(*n as u8),
        _ => None,
    })
}

/// Pipes that are counted: issue, and those that take an instruction less often than every cycle.
pub(super) const PIPES: usize = 6;

/// The pipe of a class, by which other classes share it.
fn pipe(class: Class) -> usize {
    match class {
        Class::Alu | Class::Vote | Class::PredicateLogic => 1,
        Class::Fma | Class::Wide | Class::Half => 2,
        Class::Fp64 => 3,
        Class::Xu | Class::Variable => 4,
        Class::HalfMma | Class::MmaSmall | Class::Mma | Class::MmaLong => 5,
        _ => 0,
    }
}
