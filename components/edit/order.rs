//! The layout as a list: blocks come and go while it is walked, each in the same time however many
//! there are.

use crate::body::Body;
use crate::ids::BlockId;
use crate::scratch;
use crate::scratch::Scratch;
use crate::work;

/// The order of blocks. Blocks are named by number; one that is not in the list has no neighbours.
#[derive(Clone, Debug)]
pub struct Order {
    next: Scratch<Vec<Option<BlockId>>>,
    previous: Scratch<Vec<Option<BlockId>>>,
    first: Option<BlockId>,
    last: Option<BlockId>,
}

impl Order {
    /// The body's layout.
    pub fn of(body: &Body<'_>) -> Order {
        let none = scratch!(Vec<Option<BlockId>>; None; body.block_count());
        let mut order = Order { next: none.clone(), previous: none, first: None, last: None };
        body.layout().iter().for_each(|b| order.push(*b));
        order
    }

    /// The block behind it; None behind the last, and of a block that is not in the list.
    pub fn next(&self, block: BlockId) -> Option<BlockId> {
        self.next.get(block.0 as usize).copied().flatten()
    }

    /// The block before it; None before the first, and of a block that is not in the list.
    pub fn previous(&self, block: BlockId) -> Option<BlockId> {
        self.previous.get(block.0 as usize).copied().flatten()
    }

    fn reserve(&mut self, block: BlockId) {
        let count = block.0 as usize + 1;
        if self.next.len() < count {
            self.next.resize(count, None);
            self.previous.resize(count, None);
        }
    }

    fn link(&mut self, a: Option<BlockId>, b: Option<BlockId>) {
        work::add(1);
        match a {
            Some(a) => self.next[a.0 as usize] = b,
            None => self.first = b,
        }
        match b {
            Some(b) => self.previous[b.0 as usize] = a,
            None => self.last = a,
        }
    }

    /// Puts a block that is not in the list at its end.
    pub fn push(&mut self, block: BlockId) {
        self.reserve(block);
        let last = self.last;
        self.link(last, Some(block));
        self.link(Some(block), None);
    }

    /// Puts a block that is not in the list before one that is.
    pub fn insert_before(&mut self, at: BlockId, block: BlockId) {
        self.reserve(block);
        let previous = self.previous(at);
        self.link(previous, Some(block));
        self.link(Some(block), Some(at));
    }

    /// Puts a block that is not in the list behind one that is.
    pub fn insert_after(&mut self, at: BlockId, block: BlockId) {
        self.reserve(block);
        let next = self.next(at);
        self.link(Some(at), Some(block));
        self.link(Some(block), next);
    }

    /// Takes a block out of the list, in constant time.
    pub fn remove(&mut self, block: BlockId) {
        let (next, previous) = (self.next(block), self.previous(block));
        self.link(previous, next);
        self.next[block.0 as usize] = None;
        self.previous[block.0 as usize] = None;
    }

    /// The blocks from the first on.
    pub fn to_layout(&self) -> Scratch<Vec<BlockId>> {
        scratch!(Vec<BlockId>).with(std::iter::successors(self.first, |b| self.next(*b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Function;

    #[test]
    fn blocks_come_and_go_in_their_places() {
        let mut function = Function::default();
        let mut body = function.body();
        let blocks: Vec<BlockId> = (0..4).map(|_| body.new_block()).collect();
        let mut order = Order::of(&body);
        let (a, b) = (body.new_detached_block(), body.new_detached_block());
        order.insert_before(blocks[0], a);
        order.insert_before(blocks[3], b);
        order.remove(blocks[1]);
        order.remove(blocks[3]);
        assert_eq!(*order.to_layout(), [a, blocks[0], blocks[2], b]);
        order.push(blocks[3]);
        assert_eq!(order.previous(blocks[3]), Some(b));
        assert_eq!(order.to_layout().len(), 5);
        order.insert_after(a, blocks[1]);
        assert_eq!(*order.to_layout(), [a, blocks[1], blocks[0], blocks[2], b, blocks[3]]);
    }
}
