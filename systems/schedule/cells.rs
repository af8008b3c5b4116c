//! Physical register cells with one dense number across the files, for tables by cell.

use orias_components::{Inst, Operand, RegFile, RegUse};
use orias_targets::latency::Class;

/// One more than the largest cell number.
pub const COUNT: usize = 256 + 256 + 8 + 8 + 16;

/// A 32-bit cell of R or UR, a predicate, or a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Cell(pub u16);

impl Cell {
    pub fn file(self) -> RegFile {
        match self.0 {
            0..=255 => RegFile::R,
            256..=511 => RegFile::UR,
            512..=519 => RegFile::P,
            520..=527 => RegFile::UP,
            _ => RegFile::B,
        }
    }
}

/// The cells of a use of physical registers; none for constant registers and for virtual ones.
pub fn of(reg: RegUse) -> impl Iterator<Item = Cell> {
    let base = match reg.reg.file() {
        RegFile::R => 0,
        RegFile::UR => 256,
        RegFile::P => 512,
        RegFile::UP => 520,
        RegFile::B => 528,
    };
    let first = reg.reg.phys_index();
    let count = if first.is_some() { u32::from(reg.count.max(1)) } else { 0 };
    (0..count).map(move |i| Cell((base + first.unwrap_or(0) + u32::from(reg.cell) + i) as u16))
}

/// Calls `f` for each cell that the instruction writes.
pub fn for_each_def(inst: &Inst, mut f: impl FnMut(Cell)) {
    inst.for_each_def(|r| of(r).for_each(&mut f));
}

/// Calls `f` for each cell that the instruction reads; the flag says that it is the guard.
pub fn for_each_use(inst: &Inst, mut f: impl FnMut(Cell, bool)) {
    of(RegUse::new(inst.guard.reg)).for_each(|c| f(c, true));
    for op in inst.sources() {
        op.for_each_reg(|r| of(r).for_each(|c| f(c, false)));
    }
}

/// Calls `f` for each cell that an instruction of `class` writes, with the class by which that result comes.
pub fn for_each_result(inst: &Inst, class: Class, mut f: impl FnMut(Cell, Class)) {
    inst.for_each_def(|r| {
        for (offset, cell) in of(r).enumerate() {
            f(cell, class.of_result(offset as u8));
        }
    });
}

/// Calls `f` for each cell that an instruction of `class` reads, with the class by which it is read: a guard as by control
/// flow, the register that names a constant bank as by ULDC.
pub fn for_each_source(inst: &Inst, class: Class, mut f: impl FnMut(Cell, Class)) {
    of(RegUse::new(inst.guard.reg)).for_each(|c| f(c, Class::Control));
    for op in inst.sources() {
        let bank = matches!(op, Operand::Const(_)).then_some(Class::UniformConst);
        op.for_each_reg(|r| {
            for (offset, cell) in of(r).enumerate() {
                let by = bank.filter(|_| cell.file() == RegFile::UR);
                f(cell, by.unwrap_or(class.of_source(offset as u8)));
            }
        });
    }
}
