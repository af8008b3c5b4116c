//! Physical register cells with one dense number across the files, for tables by cell.

use orias_components::scratch::Scratch;
use orias_components::{RegFile, RegUse, View, scratch};
use orias_targets::form::Ports;
use orias_targets::latency::{In, Out};

/// One more than the largest cell number.
pub const COUNT: usize = 256 + 256 + 8 + 8 + 16;

/// A 32-bit cell of R or UR, a predicate, or a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Cell(pub u16);

impl Cell {
    /// The file that it is of.
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

/// Numbers the cells that a function names: most name a few dozen, and there is a table of them for
/// each block.
pub struct Places {
    /// By cell: 1 + its number, 0 for none. No array: it would be copied wherever this goes.
    of: Scratch<Vec<u16>>,
    named: Scratch<Vec<Cell>>,
}

impl Places {
    /// No cell has a number.
    pub fn none() -> Places {
        Places { of: scratch!(Vec<u16>; 0; COUNT), named: scratch!(Vec<Cell>) }
    }

    /// Numbers a cell that has none.
    pub fn add(&mut self, cell: Cell) {
        let place = &mut self.of[cell.0 as usize];
        if *place == 0 {
            self.named.push(cell);
            *place = self.named.len() as u16;
        }
    }

    /// The number of a cell that was added.
    pub fn get(&self, cell: Cell) -> usize {
        usize::from(self.of[cell.0 as usize]) - 1
    }

    /// The cells, by their numbers.
    pub fn named(&self) -> &[Cell] {
        &self.named
    }
}

/// The cells of a use of physical registers; none for constant registers and for virtual ones.
#[inline]
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
#[inline]
pub fn for_each_def(inst: View<'_>, mut f: impl FnMut(Cell)) {
    inst.for_each_def(|r| of(r).for_each(&mut f));
}

/// Calls `f` for each cell that the instruction reads, that of its guard first.
#[inline]
pub fn for_each_use(inst: View<'_>, mut f: impl FnMut(Cell)) {
    inst.for_each_source(|r| of(r).for_each(&mut f));
}

/// Calls `f` for each cell that an instruction with these ports writes, with the result that is
/// written there.
#[inline]
pub fn for_each_result(inst: View<'_>, ports: Ports, mut f: impl FnMut(Cell, Out)) {
    inst.for_each_reg_of(0..usize::from(inst.defs), |slot, _, r| {
        for (offset, cell) in of(r).enumerate() {
            f(cell, ports.result(slot, offset as u8));
        }
    });
}

/// Calls `f` for each cell that an instruction with these ports reads, with the source that reads
/// it.
#[inline]
pub fn for_each_source(inst: View<'_>, ports: Ports, mut f: impl FnMut(Cell, In)) {
    of(RegUse::new(inst.guard.reg)).for_each(|c| f(c, ports.guard));
    inst.for_each_reg_of(usize::from(inst.defs)..inst.len(), |slot, is_place, r| {
        let uniform = is_place && r.reg.file() == RegFile::UR;
        for (offset, cell) in of(r).enumerate() {
            f(cell, ports.source(slot, offset as u8, uniform));
        }
    });
}
