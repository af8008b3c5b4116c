//! Ascending numbers for each block.

/// In place of a number.
pub const NONE: u32 = u32::MAX;

/// Ascending numbers for each block: where each one's begin, and the end. Empty where all bits are
/// dense.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    pub first: Vec<u32>,
    pub bits: Vec<u32>,
}

impl Rows {
    pub fn of(&self, row: usize) -> &[u32] {
        match self.first.get(row + 1) {
            Some(end) => &self.bits[self.first[row] as usize..*end as usize],
            None => &[],
        }
    }
}
