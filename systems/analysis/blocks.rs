//! Sets of blocks that are small beside the function: loops, regions, what a branch leads to.

use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::work;

/// Block numbers, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockSet(Scratch<Vec<u32>>);

impl BlockSet {
    /// Whether the block is a member, found by bisection.
    pub fn contains(&self, block: u32) -> bool {
        work::add(1);
        self.0.binary_search(&block).is_ok()
    }

    /// Ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many blocks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers, ascending.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

impl FromIterator<u32> for BlockSet {
    fn from_iter<I: IntoIterator<Item = u32>>(blocks: I) -> BlockSet {
        let mut all = scratch!(Vec<u32>).with(blocks);
        all.sort_unstable();
        all.dedup();
        BlockSet(all)
    }
}

/// Marks of blocks that are taken back at once: for searches that visit few blocks of many.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// By block: the search that marked it last.
    by: Scratch<Vec<u32>>,
    now: u32,
}

impl Marks {
    /// No mark on any of so many blocks.
    pub fn new(blocks: usize) -> Marks {
        work::add(blocks);
        Marks { by: scratch!(Vec<u32>; 0; blocks), now: 1 }
    }

    /// Takes all marks back.
    pub fn clear(&mut self) {
        if self.now == u32::MAX {
            self.by.fill(0);
            self.now = 0;
        }
        self.now += 1;
    }

    /// Whether the block has been marked since the last [`Marks::clear`].
    pub fn has(&self, block: u32) -> bool {
        work::add(1);
        self.by[block as usize] == self.now
    }

    /// Marks the block; whether it was not marked.
    pub fn add(&mut self, block: u32) -> bool {
        work::add(1);
        std::mem::replace(&mut self.by[block as usize], self.now) != self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_each_block_once_in_order() {
        let set: BlockSet = [5, 1, 5, 3].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 3, 5]);
        assert!(set.contains(3) && !set.contains(2) && set.len() == 3);
    }

    #[test]
    fn cleared_marks_are_gone() {
        let mut marks = Marks::new(4);
        assert!(marks.add(2) && !marks.add(2) && marks.has(2));
        marks.now = u32::MAX;
        marks.by[3] = u32::MAX;
        marks.clear();
        assert!(!marks.has(2) && !marks.has(3) && marks.add(3));
    }
}
