//! A list that grows without moving what it has: to double it as a `Vec` does needs three times its memory for a moment, and
//! leaves up to half of it empty. For lists that hostile text makes as long as it likes.

use std::ops::{Index, IndexMut};

/// Elements of a chunk; a list of fewer is a `Vec`.
const CHUNK: usize = 1 << 11;

/// All chunks but the last are full.
#[derive(Clone, PartialEq, Debug)]
pub struct List<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List { chunks: Vec::new() }
    }
}

impl<T> List<T> {
    pub fn new() -> List<T> {
        List::default()
    }

    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub fn push(&mut self, value: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(value),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                self.chunks.push(chunk);
            }
            None => self.chunks.push(vec![value]),
        }
    }

    pub fn pop(&mut self) -> Option<T> {
        let last = self.chunks.last_mut()?;
        let value = last.pop();
        if last.is_empty() {
            self.chunks.pop();
        }
        value
    }

    pub fn get(&self, i: usize) -> Option<&T> {
        self.chunks.get(i / CHUNK)?.get(i % CHUNK)
    }

    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.chunks.last_mut()?.last_mut()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.chunks.iter().flatten()
    }
}

impl<T> Index<usize> for List<T> {
    type Output = T;

    fn index(&self, i: usize) -> &T {
        &self.chunks[i / CHUNK][i % CHUNK]
    }
}

impl<T> IndexMut<usize> for List<T> {
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self.chunks[i / CHUNK][i % CHUNK]
    }
}

impl<'l, T> IntoIterator for &'l List<T> {
    type Item = &'l T;
    type IntoIter = std::iter::Flatten<std::slice::Iter<'l, Vec<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.chunks.iter().flatten()
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
    }
}
