//! A list with an entry for each function of which most have the same one: those without a body,
//! those that no kernel calls.

use crate::ptx::program::FuncId;
use std::ops::{Index, IndexMut};

/// By [`FuncId`].
#[derive(Clone, Debug)]
pub struct Sparse<T> {
    /// Places in `entries`; 0 is that of all functions without an entry of their own.
    places: Vec<u32>,
    entries: Vec<T>,
}

impl<T: Default> Sparse<T> {
    /// With nothing for any of so many functions.
    pub fn new(functions: usize) -> Sparse<T> {
        Sparse { places: vec![0; functions], entries: vec![T::default()] }
    }
}

impl<T> Sparse<T> {
    /// Gives a function an entry of its own.
    pub fn set(&mut self, function: FuncId, entry: T) {
        self.places[function.0 as usize] = self.entries.len() as u32;
        self.entries.push(entry);
    }

    /// Those that functions have of their own, in the order in which they got them.
    pub fn own(&self) -> &[T] {
        &self.entries[1..]
    }

    /// The same, to be changed.
    pub fn own_mut(&mut self) -> &mut [T] {
        &mut self.entries[1..]
    }
}

impl<T> Index<FuncId> for Sparse<T> {
    type Output = T;

    fn index(&self, function: FuncId) -> &T {
        &self.entries[self.places[function.0 as usize] as usize]
    }
}

/// Of a function that has an entry of its own.
impl<T> IndexMut<FuncId> for Sparse<T> {
    fn index_mut(&mut self, function: FuncId) -> &mut T {
        &mut self.entries[self.places[function.0 as usize] as usize]
    }
}
