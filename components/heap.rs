//! Allocations, counted: how many blocks a thread asks for, how many bytes, and how many it holds
//! at most.
//!
//! A program that wants to know puts [`Counted`] around its allocator. Nothing is counted until
//! someone [`watch`]es; until then an allocation pays one branch on a flag that stays as it is.
//! Counts are by thread, as [`crate::work`] is: what a phase allocates is the difference between
//! two readings on its thread. They are of what was asked for, in bytes, not of what an allocator
//! makes of it.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// How many watch.
static WATCHERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts::NONE) };
}

/// What a thread has allocated since it began, while someone watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Blocks asked for; a block that is made larger or smaller is one more.
    pub allocations: u64,
    /// Bytes asked for, whether given back since or not; of a block made larger those that it grew
    /// by.
    pub bytes: u64,
    /// Bytes held now; below zero where others' blocks, or older ones, were given back.
    held: i64,
    /// The most bytes held since [`mark`].
    most: i64,
}

impl Counts {
    const NONE: Counts = Counts { allocations: 0, bytes: 0, held: 0, most: 0 };

    /// What came since an earlier reading, which [`mark`] gave.
    pub fn since(self, earlier: Counts) -> Used {
        Used {
            allocations: self.allocations - earlier.allocations,
            bytes: self.bytes - earlier.bytes,
            peak: u64::try_from(self.most - earlier.held).unwrap_or(0),
        }
    }
}

/// What a piece of work asked the allocator for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// Blocks.
    pub allocations: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes held at once at most, beyond those held before.
    pub peak: u64,
}

/// Allocations are counted as long as it lives.
#[derive(Debug)]
pub struct Watch(());

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHERS.fetch_sub(1, Relaxed);
    }
}

/// Counts allocations, of all threads, until the result is dropped.
#[must_use]
pub fn watch() -> Watch {
    WATCHERS.fetch_add(1, Relaxed);
    Watch(())
}

/// Whether the program's allocator is one that counts.
pub fn is_counted() -> bool {
    let _watch = watch();
    let before = mark();
    drop(std::hint::black_box(Box::new(0_u64)));
    now().since(before).allocations > 0
}

/// A processor is free while large blocks are filled.
static HAS_SPARE: AtomicBool = AtomicBool::new(false);

/// Says that a processor is free while large blocks are filled: the program's allocator may have
/// their memory touched by another thread, which is nothing that a library does unasked.
pub fn spare_processor() {
    HAS_SPARE.store(true, Relaxed);
}

/// Whether someone has said so.
#[inline]
pub fn has_spare_processor() -> bool {
    HAS_SPARE.load(Relaxed)
}

/// This thread's counts; [`Counts::since`] measures peaks from here on.
pub fn mark() -> Counts {
    COUNTS.with(|counts| {
        let mut now = counts.get();
        now.most = now.held;
        counts.set(now);
        now
    })
}

/// This thread's counts.
pub fn now() -> Counts {
    COUNTS.with(Cell::get)
}

#[cold]
fn add(allocations: u64, got: usize, given_back: usize) {
    // A thread that ends may allocate when it has no counts any more.
    let _ = COUNTS.try_with(|counts| {
        let mut now = counts.get();
        now.allocations += allocations;
        now.bytes += got.saturating_sub(given_back) as u64;
        now.held += got as i64 - given_back as i64;
        now.most = now.most.max(now.held);
        counts.set(now);
    });
}

#[inline]
fn is_watched() -> bool {
    WATCHERS.load(Relaxed) != 0
}

/// An allocator whose blocks are counted.
pub struct Counted<A>(pub A);

// SAFETY: the blocks are the inner allocator's; the counts beside them allocate nothing.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_watched() {
            add(1, layout.size(), 0);
        }
        // SAFETY: as the caller says.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_watched() {
            add(1, layout.size(), 0);
        }
        // SAFETY: as the caller says.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_watched() {
            add(0, 0, layout.size());
        }
        // SAFETY: as the caller says.
        unsafe { self.0.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if is_watched() {
            add(1, new_size, layout.size());
        }
        // SAFETY: as the caller says.
        unsafe { self.0.realloc(block, layout, new_size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    const BLOCK: Layout = Layout::new::<[u64; 100]>();

    /// Allocates, grows and frees a block without being the program's allocator.
    fn use_a_block(counted: &Counted<System>) {
        // SAFETY: the block is freed with the layout that it has then.
        unsafe {
            let block = counted.alloc(BLOCK);
            let block = counted.realloc(block, BLOCK, 1200);
            let grown = Layout::from_size_align(1200, BLOCK.align()).expect("a layout");
            counted.dealloc(block, grown);
        }
    }

    #[test]
    fn blocks_bytes_and_their_peak_are_counted_while_someone_watches() {
        let counted = Counted(System);
        let watch = watch();
        let before = mark();
        use_a_block(&counted);
        use_a_block(&counted);
        // Both grew to 1200 bytes, one after the other.
        let used = Used { allocations: 4, bytes: 2400, peak: 1200 };
        assert_eq!(now().since(before), used);
        drop(watch);
        // Tests beside this one may watch too, but count nothing on this thread.
        assert!(!is_counted(), "the tests' own allocator does not count");
    }

    #[test]
    fn a_peak_is_measured_from_the_mark_on() {
        let counted = Counted(System);
        let _watch = watch();
        // SAFETY: the block is freed with its layout.
        unsafe {
            let block = counted.alloc(BLOCK);
            let before = mark();
            use_a_block(&counted);
            counted.dealloc(block, BLOCK);
            assert_eq!(now().since(before).peak, 1200);
            // What was there before and is freed counts against nothing.
            let again = mark();
            assert_eq!(now().since(again).peak, 0);
        }
    }
}
