//! A list that grows without moving what it has: to double it as a `Vec` does needs three times its
//! memory for a moment, and leaves up to half of it empty. For lists that hostile text makes as
//! long as it likes.

use std::iter::{Chain, Flatten};
use std::ops::{Index, IndexMut};
use std::{slice, vec};

/// Elements of a chunk; a list of fewer is a `Vec`.
const CHUNK: usize = 1 << 11;

/// What comes first is in full chunks.
#[derive(Clone, PartialEq, Debug)]
pub struct List<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List::new()
    }
}

impl<T> List<T> {
    /// An empty list, which has no memory.
    pub const fn new() -> List<T> {
        List { full: Vec::new(), last: Vec::new() }
    }

    /// Gives back what the last chunk does not need.
    pub fn shrink_to_fit(&mut self) {
        self.last.shrink_to_fit();
    }

    /// Takes all out; room for the elements of one chunk stays.
    pub fn clear(&mut self) {
        self.full.clear();
        self.last.clear();
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.last.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an element behind the others, which stay where they are.
    pub fn push(&mut self, value: T) {
        if self.last.len() == CHUNK {
            let full = std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK));
            self.full.push(full);
        }
        self.last.push(value);
    }

    /// Takes the last element out.
    pub fn pop(&mut self) -> Option<T> {
        if self.last.is_empty() {
            self.last = self.full.pop()?;
        }
        self.last.pop()
    }

    /// The chunk of an element. Most lists have but one.
    fn chunk(&self, i: usize) -> &Vec<T> {
        self.full.get(i / CHUNK).unwrap_or(&self.last)
    }

    /// Element `i`, if there is one.
    pub fn get(&self, i: usize) -> Option<&T> {
        if i < self.len() { self.chunk(i).get(i % CHUNK) } else { None }
    }

    /// The last element, if there is one.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        if self.last.is_empty() { self.full.last_mut()?.last_mut() } else { self.last.last_mut() }
    }

    /// All elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.full.iter().flatten().chain(&self.last)
    }
}

impl<T> Index<usize> for List<T> {
    type Output = T;

    fn index(&self, i: usize) -> &T {
        &self.chunk(i)[i % CHUNK]
    }
}

impl<T> IndexMut<usize> for List<T> {
    fn index_mut(&mut self, i: usize) -> &mut T {
        let chunk = self.full.get_mut(i / CHUNK).unwrap_or(&mut self.last);
        &mut chunk[i % CHUNK]
    }
}

impl<'l, T> IntoIterator for &'l List<T> {
    type Item = &'l T;
    type IntoIter = Chain<Flatten<slice::Iter<'l, Vec<T>>>, slice::Iter<'l, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.full.iter().flatten().chain(&self.last)
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = Chain<Flatten<vec::IntoIter<Vec<T>>>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.full.into_iter().flatten().chain(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_what_was_pushed_in_order() {
        let mut list = List::new();
        assert_eq!((list.len(), list.get(0)), (0, None));
        for i in 0..2 * CHUNK + 3 {
            list.push(i);
        }
        list[CHUNK] = 7;
        assert_eq!((list.len(), list[CHUNK - 1], list[CHUNK]), (2 * CHUNK + 3, CHUNK - 1, 7));
        assert_eq!(list.iter().rev().step_by(CHUNK).count(), 3);
        assert_eq!(list.get(2 * CHUNK + 3), None);
        assert_eq!((list.pop(), list.len()), (Some(2 * CHUNK + 2), 2 * CHUNK + 2));
        assert!(list.clone().into_iter().eq(list.iter().copied()));
    }
}
