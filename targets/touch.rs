//! What an instruction reads and writes, register cell by register cell, each with the operand slot
//! that names it.

use crate::form::Form;
use crate::latency::Class;
use orias_components::{Inst, Opcode, Operand, Reg, RegFile, RegUse};

/// A physical register of 32 bits, a predicate, or a barrier.
pub type Cell = (RegFile, u16);

/// The part of an instruction that names a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The guard predicate.
    Guard,
    /// The slot of this index, as the register that it holds.
    Operand(u8),
    /// The register of an address or of a constant's offset.
    Base(u8),
    /// The uniform register of an address, or of a constant's bank.
    Uniform(u8),
    /// A descriptor.
    Descriptor(u8),
    /// A predicate that the mask in this slot names.
    Masked(u8),
}

impl Part {
    /// `guard`, `a`, `a.base`, `a.uniform`, with the row's name of the slot.
    pub fn name(self, form: &Form) -> String {
        let slot = |i: u8| form.slots.get(i as usize).map_or("?", |s| s.name).to_string();
        match self {
            Part::Guard => "guard".into(),
            Part::Operand(i) => slot(i),
            Part::Base(i) => slot(i) + ".base",
            Part::Uniform(i) => slot(i) + ".uniform",
            Part::Descriptor(i) => slot(i) + ".desc",
            Part::Masked(i) => slot(i) + ".masked",
        }
    }
}

/// The kind of instruction that facts about timing speak of: the opcode with the words that every
/// use of the row has (`IMAD.WIDE`, `HFMA2.MMA`); of matrix products the class too (`HMMA:mma2`),
/// which tells their shapes apart.
pub fn unit(form: &Form) -> String {
    let mut name = form.op.name().to_string();
    for field in form.mods.iter().filter(|m| m.bits.width() == 0) {
        for word in field.options.iter().flat_map(|o| o.words) {
            name = name + "." + word.name();
        }
    }
    if matches!(form.class, Class::MmaSmall | Class::Mma | Class::MmaLong) {
        name = name + ":" + form.class.name();
    }
    name
}

/// The port that the cell `offset` of a part is, by number: a result where the instruction writes
/// it, a source otherwise.
pub fn port(form: &Form, part: Part, offset: u8, writes: bool) -> u16 {
    let source = |slot: u8, uniform| form.ports.source(slot as usize, offset, uniform).0;
    match part {
        Part::Guard => form.ports.guard.0,
        Part::Masked(_) => form.ports.masked,
        Part::Operand(slot) if writes => form.ports.result(slot as usize, offset).0,
        Part::Operand(slot) | Part::Base(slot) | Part::Descriptor(slot) => source(slot, false),
        Part::Uniform(slot) => source(slot, true),
    }
}

/// What facts about timing call it: `IMAD.WIDE d+1`, where `+1` is any cell but the first; `*
/// guard` is any guard.
pub fn port_name(form: &Form, part: Part, offset: u8) -> (String, String) {
    let apart = |slot: u8, uniform| form.ports.tells_cells_apart(slot as usize, uniform);
    let apart = match part {
        Part::Guard => return ("*".into(), "guard".into()),
        Part::Masked(_) => return (unit(form), "masked".into()),
        Part::Uniform(slot) => apart(slot, true),
        Part::Operand(slot) | Part::Base(slot) | Part::Descriptor(slot) => apart(slot, false),
    };
    (unit(form), part.name(form) + if offset > 0 && apart { "+1" } else { "" })
}

/// One cell that an instruction touches: `offset` counts the cells of a wide operand.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// The cell.
    pub cell: Cell,
    /// By which part of the instruction.
    pub part: Part,
    /// Cells from the operand's first.
    pub offset: u8,
}

impl Touch {
    /// The timing class by which an instruction of this row reads or writes the cell: guards are
    /// read as by control flow, the register that names a constant bank as by ULDC, descriptors as
    /// by memory instructions.
    pub fn class(&self, form: &Form, writes: bool) -> Class {
        class(form, self.part, self.offset, writes)
    }

    /// See [`port`].
    pub fn port(&self, form: &Form, writes: bool) -> u16 {
        port(form, self.part, self.offset, writes)
    }
}

/// See [`Touch::class`].
pub fn class(form: &Form, part: Part, offset: u8, writes: bool) -> Class {
    match part {
        Part::Guard => Class::Control,
        Part::Uniform(i) if form.slots.get(i as usize).is_some_and(|s| s.is_constant()) => {
            Class::UniformConst
        }
        Part::Descriptor(_) => Class::Variable,
        // Seen as soon after a PLOP3 as an ALU reads its result, and sooner than another PLOP3
        // does.
        Part::Masked(_) if !writes && form.guard == RegFile::P => Class::Alu,
        _ if writes => form.class.of_result(offset),
        _ => form.class.of_source(offset),
    }
}

fn cells(register: RegUse, part: Part, out: &mut Vec<Touch>) {
    let Some(first) = register.reg.phys_index() else { return };
    for offset in 0..register.count.max(1) {
        let number = first as u16 + u16::from(register.cell) + u16::from(offset);
        out.push(Touch { cell: (register.reg.file(), number), part, offset });
    }
}

fn operand(index: usize, operand: &Operand, out: &mut Vec<Touch>) {
    let i = index as u8;
    match *operand {
        Operand::Reg(r) | Operand::Part(r, _) => cells(r, Part::Operand(i), out),
        Operand::Desc(r) => cells(r, Part::Descriptor(i), out),
        Operand::Const(c) => {
            cells(RegUse::at(c.base, c.base_cell, 1), base_part(c.base, i), out);
            cells(RegUse::wide(c.handle, 2), Part::Uniform(i), out);
        }
        Operand::Mem(m) => {
            cells(m.base, base_part(m.base.reg, i), out);
            cells(m.uniform, Part::Uniform(i), out);
        }
        _ => {}
    }
}

fn base_part(register: Reg, index: u8) -> Part {
    match register.file() {
        RegFile::UR => Part::Uniform(index),
        _ => Part::Base(index),
    }
}

/// The predicates that P2R and R2P, or their uniform kin, name by the bits of a mask, their last
/// operand; all where it is a register.
fn masked(inst: &Inst, out: &mut Vec<Touch>) {
    let file = match inst.op {
        Opcode::P2R | Opcode::R2P => RegFile::P,
        _ => RegFile::UP,
    };
    let Some(last) = inst.operands.len().checked_sub(1) else { return };
    let mask = match inst.operands[last] {
        Operand::Imm(mask) => mask,
        _ => !0,
    };
    for number in (0..7).filter(|n| mask >> n & 1 != 0) {
        out.push(Touch { cell: (file, number), part: Part::Masked(last as u8), offset: 0 });
    }
}

/// The cells that it writes, without constant registers.
pub fn writes(inst: &Inst) -> Vec<Touch> {
    let mut out = Vec::new();
    inst.dests().iter().enumerate().for_each(|(i, o)| operand(i, o, &mut out));
    if matches!(inst.op, Opcode::R2P | Opcode::UR2UP) {
        masked(inst, &mut out);
    }
    out
}

/// The cells that it reads, guard included, without constant registers.
pub fn reads(inst: &Inst) -> Vec<Touch> {
    let mut out = Vec::new();
    cells(RegUse::new(inst.guard.reg), Part::Guard, &mut out);
    let first = inst.defs as usize;
    inst.sources().iter().enumerate().for_each(|(i, o)| operand(first + i, o, &mut out));
    if matches!(inst.op, Opcode::P2R | Opcode::UP2UR) {
        masked(inst, &mut out);
    }
    out
}
