//! Cells of registers as numbers: what liveness and its like count.

use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, RegFile, RegUse};

/// The number of a cell within its function: physical registers of all files first, then the cells
/// of virtual registers.
pub type Cell = u32;

/// First cell of each file's physical registers, and the end.
pub const PHYS_BASE: [Cell; 6] = [0, 256, 320, 328, 336, 352];

/// Numbers the cells of a function's registers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CellMap {
    /// First cell by register id, and one past the last.
    base: Scratch<Vec<Cell>>,
}

impl CellMap {
    pub(super) fn new(body: &Body<'_>) -> CellMap {
        let mut base = scratch!(Vec<Cell>).with_room(body.vreg_count() + 1);
        let mut next = PHYS_BASE[5];
        for id in 0..body.vreg_count() {
            base.push(next);
            next += u32::from(body.vreg(orias_components::VRegId(id as u32)).cells);
        }
        base.push(next);
        CellMap { base }
    }

    /// One more than the largest cell.
    pub fn count(&self) -> usize {
        self.base.last().copied().unwrap_or(PHYS_BASE[5]) as usize
    }

    /// The cells that a use or definition names; none for RZ, PT and their like.
    #[inline]
    pub fn cells(&self, r: RegUse) -> std::ops::Range<Cell> {
        let [first, limit] = if let Some(v) = r.reg.vreg() {
            let v = v.0 as usize;
            *self.base[v..].first_chunk().expect("one past the last is there too")
        } else if let Some(index) = r.reg.phys_index() {
            let file = r.reg.file() as usize;
            [PHYS_BASE[file] + index, PHYS_BASE[file + 1]]
        } else {
            return 0..0;
        };
        let first = first + u32::from(r.cell);
        first..(first + u32::from(r.count)).min(limit)
    }

    /// First cell of a virtual register.
    pub fn first(&self, id: orias_components::VRegId) -> Cell {
        self.base[id.0 as usize]
    }

    /// The virtual register that a cell belongs to, and which of its cells it is; None for a
    /// physical register.
    pub fn vreg(&self, cell: Cell) -> Option<(orias_components::VRegId, u8)> {
        if cell < PHYS_BASE[5] {
            return None;
        }
        let v = self.base.partition_point(|first| *first <= cell) - 1;
        Some((orias_components::VRegId(v as u32), (cell - self.base[v]) as u8))
    }

    /// The physical register of a cell; None for a virtual one.
    pub fn phys(cell: Cell) -> Option<(RegFile, u32)> {
        let file = RegFile::ALL.into_iter().rev().find(|f| PHYS_BASE[*f as usize] <= cell)?;
        (cell < PHYS_BASE[5]).then(|| (file, cell - PHYS_BASE[file as usize]))
    }

    /// The cells of a file's physical registers.
    pub fn of_file(file: RegFile) -> std::ops::Range<Cell> {
        PHYS_BASE[file as usize]..PHYS_BASE[file as usize + 1]
    }

    pub const fn is_phys(cell: Cell) -> bool {
        cell < PHYS_BASE[5]
    }
}
