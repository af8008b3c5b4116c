//! Lists by number that grow in any order, all in one allocation.

use crate::work;

/// For each of some numbers a list; what was added last comes first.
#[derive(Clone, PartialEq, Debug)]
pub struct Lists<T> {
    /// By number: 1 + the place of the last entry, 0 for none.
    last: Vec<u32>,
    /// Entries, each with the one before of its list.
    entries: Vec<(T, u32)>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { last: Vec::new(), entries: Vec::new() }
    }
}

impl<T: Copy> Lists<T> {
    /// So many empty lists, with room for an entry of each.
    pub fn new(count: usize) -> Lists<T> {
        work::add(count);
        // Most lists have one entry.
        Lists { last: vec![0; count], entries: Vec::with_capacity(count) }
    }

    /// Forgets all lists, keeps their memory.
    pub fn clear(&mut self) {
        self.last.clear();
        self.entries.clear();
    }

    /// Bytes of memory that they hold.
    pub fn bytes(&self) -> usize {
        self.last.capacity() * size_of::<u32>() + self.entries.capacity() * size_of::<(T, u32)>()
    }

    /// Makes room for more lists.
    pub fn grow(&mut self, count: usize) {
        self.last.resize(count.max(self.last.len()), 0);
    }

    /// Adds an entry, before those that the list has.
    pub fn push(&mut self, list: u32, entry: T) {
        let last = &mut self.last[list as usize];
        self.entries.push((entry, *last));
        *last = self.entries.len() as u32;
    }

    /// Where a list begins: for a walk with [`Lists::get`] that borrows nothing between its steps.
    pub fn first(&self, list: u32) -> u32 {
        self.last[list as usize]
    }

    /// Empties a list; where it began.
    pub fn take(&mut self, list: u32) -> u32 {
        std::mem::take(&mut self.last[list as usize])
    }

    /// The entry at a place, and the next place; None at the end.
    pub fn get(&self, at: u32) -> Option<(T, u32)> {
        work::add(1);
        at.checked_sub(1).map(|place| self.entries[place as usize])
    }

    /// The entries of a list, the last one added first.
    pub fn iter(&self, list: u32) -> impl Iterator<Item = T> + '_ {
        let next = move |(_, at): &(T, u32)| self.get(*at);
        std::iter::successors(self.get(self.first(list)), next).map(|(entry, _)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_holds_what_was_added_to_it() {
        let mut lists = Lists::new(3);
        for (list, entry) in [(0, 'a'), (2, 'b'), (0, 'c')] {
            lists.push(list, entry);
        }
        assert_eq!(lists.iter(0).collect::<String>(), "ca");
        assert_eq!(lists.iter(1).count(), 0);
        let at = lists.take(2);
        assert_eq!(lists.get(at), Some(('b', 0)));
        assert_eq!(lists.iter(2).count(), 0);
    }
}
