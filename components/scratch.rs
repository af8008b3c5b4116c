//! Lists, sets and maps that a piece of code fills and lets go of, over and over, without asking
//! the allocator: what one run gives back, the next one finds empty and as large as it had grown.
//!
//! Each place in the code that says [`scratch!`](crate::scratch) has a shelf of its own in each
//! thread. So nothing is locked, and workers whose functions go through a phase together, one after
//! another in one thread, find what the one before has just left in the processor's cache. What has
//! grown large ([`MOST_BYTES`]) goes back to the allocator: a large function pays for it anyway,
//! and its memory is wanted elsewhere.
//!
//! A list of one instruction is no scratch: a thread's first functions would ask the allocator for
//! each of them ([`OFTEN`]). A `SmallVec`, or a list that a walk has for all of its instructions.

use crate::lists::Lists;
use bitvec::store::BitStore;
use bitvec::vec::BitVec;
use std::cell::{Cell, RefCell};
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::null_mut;
use std::thread::LocalKey;

/// Bytes of what is kept at most.
pub const MOST_BYTES: usize = 1 << 16;

/// Collections that one place of the code keeps at most in each thread.
const MOST_KEPT: usize = 512;

/// A collection that keeps its memory when it is emptied.
pub trait Empty: Default {
    /// Removes all elements.
    fn empty(&mut self);
    /// Bytes of memory that it holds, about.
    fn bytes(&self) -> usize;
}

impl<T> Empty for Vec<T> {
    fn empty(&mut self) {
        self.clear();
    }
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T: BitStore> Empty for BitVec<T> {
    fn empty(&mut self) {
        self.clear();
    }
    fn bytes(&self) -> usize {
        self.capacity() / 8
    }
}

impl<K, V, S: Default> Empty for HashMap<K, V, S> {
    fn empty(&mut self) {
        self.clear();
    }
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<(K, V)>()
    }
}

impl<T: Copy> Empty for Lists<T> {
    fn empty(&mut self) {
        self.clear();
    }
    fn bytes(&self) -> usize {
        Lists::bytes(self)
    }
}

impl<T: Copy> Scratch<Lists<T>> {
    /// So many empty lists.
    #[inline]
    pub fn of(mut self, count: usize) -> Scratch<Lists<T>> {
        self.inner.grow(count);
        self
    }
}

impl<K, S: Default> Empty for HashSet<K, S> {
    fn empty(&mut self) {
        self.clear();
    }
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<K>()
    }
}

impl<T: Ord> Empty for BinaryHeap<T> {
    fn empty(&mut self) {
        self.clear();
    }
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

/// What one place of the code has been given back, in one thread. It does not end with the thread
/// by itself: hundreds of destructors would take longer to note than a small function's phases. One
/// that was given nothing is null, so that a thread that begins copies nothing for it and touches
/// no memory.
pub struct Shelf<C>(Cell<*mut Vec<C>>);

impl<C> Shelf<C> {
    /// Nothing yet.
    #[allow(clippy::new_without_default)] // Made by the macro alone, as a constant.
    pub const fn new() -> Shelf<C> {
        Shelf(Cell::new(null_mut()))
    }
}

/// A shelf of this thread, whatever is on it.
trait Clear {
    fn clear(&'static self);
}

impl<C: 'static> Clear for LocalKey<Shelf<C>> {
    fn clear(&'static self) {
        let list = self.with(|shelf| shelf.0.replace(null_mut()));
        if !list.is_null() {
            // SAFETY: `give` has boxed it, and nobody else has it any more.
            drop(unsafe { Box::from_raw(list) });
        }
    }
}

/// What a thread keeps that is cleared when it ends: the shelves that have been given something,
/// and what else asks for it.
struct Kept {
    shelves: Vec<&'static dyn Clear>,
    others: Vec<fn()>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.shelves.iter().for_each(|shelf| shelf.clear());
        self.others.iter().for_each(|clear| clear());
    }
}

thread_local! {
    static KEPT: RefCell<Kept> =
        const { RefCell::new(Kept { shelves: Vec::new(), others: Vec::new() }) };
    /// How often the thread has done its work.
    static TIMES: Cell<u32> = const { Cell::new(0) };
    /// The thread ends with its process, and nothing is cleared.
    static IS_LAST: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread ends with its process: what it keeps is not cleared, and so nothing need
/// be noted for that. To note the first thing takes six calls of the system.
pub fn ends_with_process() {
    IS_LAST.set(true);
}

/// Runs something when this thread ends: what clears a thread's memory that has no destructor.
/// Whether that can be done: not where the thread is ending.
pub fn at_end(clear: fn()) -> bool {
    IS_LAST.get() || KEPT.try_with(|kept| kept.borrow_mut().others.push(clear)).is_ok()
}

/// So often a thread does the same work before it keeps what that needed.
pub const OFTEN: u32 = 8;

/// Says that this thread has done once more what it does over and over: compiled a function. When
/// it has done so [`OFTEN`], it keeps what is given back. Until then that goes to the allocator,
/// which has it for other sizes too: most processes compile a few functions, and memory that is
/// touched the first time is a good part of their time.
pub fn done_again() {
    TIMES.set((TIMES.get() + 1).min(OFTEN));
}

/// Whether this thread keeps what is given back.
#[inline]
pub fn keeps() -> bool {
    TIMES.get() == OFTEN
}

/// A collection from a shelf: goes back there, emptied, when it is dropped.
///
/// There are hundreds of places that have one, and a small kernel's compile comes to each a few
/// times: what that costs is the code that has to come to the processor. So a place has little more
/// than two calls.
pub struct Scratch<C: Empty + 'static> {
    inner: ManuallyDrop<C>,
    /// None for one that was made without: its memory goes to the allocator.
    shelf: Option<&'static LocalKey<Shelf<C>>>,
}

impl<C: Empty + 'static> Scratch<C> {
    /// An empty one; see [`scratch!`](crate::scratch).
    #[inline]
    pub fn take(shelf: &'static LocalKey<Shelf<C>>) -> Scratch<C> {
        let inner = if keeps() { kept(shelf) } else { C::default() };
        Scratch { inner: ManuallyDrop::new(inner), shelf: Some(shelf) }
    }

    /// The collection itself, which does not go back.
    pub fn into_inner(mut self) -> C {
        std::mem::take(&mut *self.inner)
    }
}

/// The last that the shelf was given.
#[inline(never)]
fn kept<C: Empty + 'static>(shelf: &'static LocalKey<Shelf<C>>) -> C {
    shelf.with(|shelf| {
        // SAFETY: null or a list of this thread, which nothing else looks at meanwhile.
        let list = unsafe { shelf.0.get().as_mut() };
        list.and_then(Vec::pop).unwrap_or_default()
    })
}

/// Puts a collection on the shelf.
fn give<C: Empty + 'static>(shelf: &'static LocalKey<Shelf<C>>, mut inner: C) {
    inner.empty();
    shelf.with(|place| {
        if place.0.get().is_null() {
            if !note(shelf) {
                return;
            }
            place.0.set(Box::into_raw(Box::default()));
        }
        // SAFETY: a list of this thread, which nothing else looks at meanwhile: the allocator keeps
        // nothing on a shelf.
        let list = unsafe { &mut *place.0.get() };
        if list.len() < MOST_KEPT {
            list.push(inner);
        }
    });
}

/// Notes that something is on a shelf of this thread, so that it is cleared with the others. Where
/// the thread ends and its shelves are cleared, nothing is kept any more.
#[cold]
fn note(shelf: &'static dyn Clear) -> bool {
    IS_LAST.get() || KEPT.try_with(|kept| kept.borrow_mut().shelves.push(shelf)).is_ok()
}

impl<T> Scratch<Vec<T>> {
    /// With room for so many.
    #[inline]
    pub fn with_room(mut self, count: usize) -> Scratch<Vec<T>> {
        self.inner.reserve(count);
        self
    }

    /// With these behind what it has.
    #[inline]
    pub fn with(mut self, all: impl IntoIterator<Item = T>) -> Scratch<Vec<T>> {
        self.inner.extend(all);
        self
    }
}

impl<T: Clone> Scratch<Vec<T>> {
    /// So many of one value in place of what it has.
    #[inline(never)]
    pub fn fill_with(mut self, value: T, count: usize) -> Scratch<Vec<T>> {
        self.inner.clear();
        self.inner.resize(count, value);
        self
    }
}

impl<T: BitStore> Scratch<BitVec<T>> {
    /// So many of one bit in place of what it has.
    #[inline(never)]
    pub fn fill_with(mut self, value: bool, count: usize) -> Scratch<BitVec<T>> {
        self.inner.clear();
        self.inner.resize(count, value);
        self
    }
}

impl<C: Empty + 'static> Scratch<C> {
    /// Puts it on the shelf, unless there is nothing to keep, or too much.
    #[inline(never)]
    fn was_given_back(&mut self) -> bool {
        let bytes = self.inner.bytes();
        let shelf = self.shelf.filter(|_| bytes > 0 && bytes <= MOST_BYTES);
        shelf.map(|shelf| give(shelf, std::mem::take(&mut *self.inner))).is_some()
    }
}

impl<C: Empty + 'static> Drop for Scratch<C> {
    #[inline(never)]
    fn drop(&mut self) {
        if keeps() && self.was_given_back() {
            return;
        }
        // SAFETY: nothing is done with it behind this.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
    }
}

impl<C: Empty + 'static> Default for Scratch<C> {
    /// An empty one that is of no shelf.
    fn default() -> Scratch<C> {
        Scratch { inner: ManuallyDrop::new(C::default()), shelf: None }
    }
}

impl<C: Empty + 'static> Deref for Scratch<C> {
    type Target = C;
    #[inline]
    fn deref(&self) -> &C {
        &self.inner
    }
}

impl<C: Empty + 'static> DerefMut for Scratch<C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut C {
        &mut self.inner
    }
}

impl<'a, C: Empty + 'static> IntoIterator for &'a Scratch<C>
where
    &'a C: IntoIterator,
{
    type Item = <&'a C as IntoIterator>::Item;
    type IntoIter = <&'a C as IntoIterator>::IntoIter;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        (&*self.inner).into_iter()
    }
}

impl<'a, C: Empty + 'static> IntoIterator for &'a mut Scratch<C>
where
    &'a mut C: IntoIterator,
{
    type Item = <&'a mut C as IntoIterator>::Item;
    type IntoIter = <&'a mut C as IntoIterator>::IntoIter;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        (&mut *self.inner).into_iter()
    }
}

impl<C: Empty + Clone + 'static> Clone for Scratch<C> {
    fn clone(&self) -> Scratch<C> {
        let mut copy = self.shelf.map_or_else(Scratch::default, Scratch::take);
        C::clone_from(&mut copy.inner, &self.inner);
        copy
    }

    fn clone_from(&mut self, source: &Scratch<C>) {
        C::clone_from(&mut self.inner, &source.inner);
    }
}

impl<C: Empty + PartialEq + 'static> PartialEq for Scratch<C> {
    fn eq(&self, other: &Scratch<C>) -> bool {
        *self.inner == *other.inner
    }
}

impl<C: Empty + Eq + 'static> Eq for Scratch<C> {}

impl<C: Empty + fmt::Debug + 'static> fmt::Debug for Scratch<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// An empty collection of this type from the shelf of this place in the code, as a
/// [`Scratch`](crate::scratch::Scratch). With `[value; count]` behind the type of the elements, a
/// list of so many of one value.
#[macro_export]
macro_rules! scratch {
    ($of:ty) => {{
        ::std::thread_local! {
            static SHELF: $crate::scratch::Shelf<$of> = const { $crate::scratch::Shelf::new() };
        }
        $crate::scratch::Scratch::take(&SHELF)
    }};
    ($of:ty; $value:expr; $count:expr) => {
        $crate::scratch!($of).fill_with($value, $count)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    fn keep() {
        (0..OFTEN).for_each(|_| done_again());
    }

    fn work() -> Scratch<Vec<u32>> {
        scratch!(Vec<u32>)
    }

    #[test]
    fn nothing_is_kept_until_it_is_of_use() {
        (1..OFTEN).for_each(|_| done_again());
        work().reserve(100);
        assert_eq!(work().capacity(), 0);
        done_again();
        work().reserve(100);
        assert!(work().capacity() >= 100);
    }

    #[test]
    fn what_was_given_back_is_found_again_empty() {
        keep();
        let mut list = work();
        list.extend(0..100);
        let at = list.as_ptr();
        drop(list);
        let again = work();
        assert!(again.is_empty() && again.capacity() >= 100);
        assert_eq!(again.as_ptr(), at);
        assert_eq!(work().capacity(), 0, "there is one of it");
    }

    #[test]
    fn what_has_grown_large_is_not_kept() {
        keep();
        let mut list = work();
        list.reserve(MOST_BYTES);
        drop(list);
        assert_eq!(work().capacity(), 0);
    }

    #[test]
    fn what_a_thread_kept_ends_with_it() {
        use std::sync::Arc;
        let one = Arc::new(());
        // A list that is kept with something in it: of lists, which are emptied when they are asked
        // for again.
        #[derive(Default)]
        struct Never(Vec<Arc<()>>);
        impl Empty for Never {
            fn empty(&mut self) {}
            fn bytes(&self) -> usize {
                1
            }
        }
        let other = one.clone();
        let work = move || {
            keep();
            scratch!(Never).0.push(other);
        };
        std::thread::spawn(work).join().expect("it does not fail");
        assert_eq!(Arc::strong_count(&one), 1);
    }

    #[test]
    fn what_asks_for_it_is_cleared_at_the_end_of_its_thread() {
        static CLEARED: AtomicU32 = AtomicU32::new(0);
        let clear = || _ = CLEARED.fetch_add(1, Relaxed);
        std::thread::spawn(move || assert!(at_end(clear))).join().expect("it does not fail");
        assert_eq!(CLEARED.load(Relaxed), 1);
        let last = move || {
            ends_with_process();
            assert!(at_end(clear));
        };
        std::thread::spawn(last).join().expect("it does not fail");
        assert_eq!(CLEARED.load(Relaxed), 1);
    }

    #[test]
    fn places_do_not_share() {
        keep();
        drop(scratch!(Vec<u8>; 1; 10));
        assert_eq!(scratch!(Vec<u8>).capacity(), 0);
    }

    #[test]
    fn a_copy_comes_from_the_same_shelf() {
        keep();
        let bits = || scratch!(BitVec);
        let (one, other) = (bits().fill_with(true, 100), bits().fill_with(false, 100));
        drop(other);
        let copy = one.clone();
        assert_eq!(copy, one);
        assert_eq!(copy.len(), 100);
        assert!(copy.into_inner().all());
    }
}
