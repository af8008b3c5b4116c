//! Memory of small compiles: the first blocks of the first thread, in one small piece.
//!
//! mimalloc takes 2 MB from the system as one page, all of it zeroed, before it gives its first
//! block, and finds out before that how the system gives memory: 0.25 ms, a sixth of the time of a
//! small compile, which has a quarter of a megabyte of data. Here blocks lie side by side, and the
//! system gives memory by 4 KB, where one comes to lie. Who is no small compile closes the piece
//! ([`close`]); what comes then is mimalloc's.

use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;

/// Bytes of the piece, which closes when it is full.
const SIZE: usize = 2 << 20;

/// Bytes of input of a small compile: of so many there comes so much data that its pages of 4 KB
/// take as long as one of 2 MB.
pub const SMALL_INPUT: usize = 7 << 10;

/// Sizes up to this are multiples of [`STEP`]; above there are two to a power of two.
const TINY: usize = 128;
const STEP: usize = 16;
/// The most that a block may be aligned to.
const PAGE: usize = 4096;
/// Lists of free blocks, by size.
const LISTS: usize = TINY / STEP + 2 * (SIZE.ilog2() - TINY.ilog2()) as usize;

#[repr(C, align(4096))]
struct Piece(UnsafeCell<[u8; SIZE]>);

/// What is free.
struct Free {
    /// Behind all blocks that are given away.
    next: usize,
    /// The most that it ever was: all behind that is zero.
    most: usize,
    /// By size: the first block of a chain, each of which begins with where the next one is.
    lists: [*mut u8; LISTS],
}

struct Blocks(UnsafeCell<Free>);

// SAFETY: who uses a block was given it; the rest only the thread touches for which it is open.
unsafe impl Sync for Piece {}
// SAFETY: only that thread touches it.
unsafe impl Sync for Blocks {}

static PIECE: Piece = Piece(UnsafeCell::new([0; SIZE]));
static BLOCKS: Blocks =
    Blocks(UnsafeCell::new(Free { next: 0, most: 0, lists: [null_mut(); LISTS] }));

thread_local! {
    static IS_OPEN: Cell<bool> = const { Cell::new(false) };
}

/// From here on blocks of this thread lie in the piece.
///
/// # Safety
/// No other thread has opened it.
pub unsafe fn open() {
    IS_OPEN.set(true);
}

/// From here on no new block of this thread lies in the piece; what is given back there is lost.
pub fn close() {
    IS_OPEN.set(false);
}

/// Whether blocks of this thread lie in the piece.
#[inline]
pub fn is_open() -> bool {
    IS_OPEN.get()
}

/// Whether a block lies in the piece.
#[inline]
pub fn has(block: *mut u8) -> bool {
    (block as usize).wrapping_sub(PIECE.0.get() as usize) < SIZE
}

/// The list for blocks of a size, and their size.
#[inline]
const fn list_of(size: usize) -> (usize, usize) {
    if size <= TINY {
        let n = size.saturating_sub(1) / STEP;
        return (n, (n + 1) * STEP);
    }
    let top = (size - 1).ilog2();
    let half = (size - 1) >> (top - 1) & 1;
    (TINY / STEP + 2 * (top - TINY.ilog2()) as usize + half, (3 + half) << (top - 1))
}

/// A block, or null when there is no room: then the piece is closed. And whether it is all zeros.
///
/// # Safety
/// The piece is open.
pub unsafe fn alloc(layout: Layout) -> (*mut u8, bool) {
    if layout.size() <= SIZE && layout.align() <= PAGE {
        let (list, size) = list_of(layout.size());
        // SAFETY: the piece is open for no other thread.
        let free = unsafe { &mut *BLOCKS.0.get() };
        let first = free.lists[list];
        if !first.is_null() && layout.align() <= STEP {
            // SAFETY: a free block begins with where the next one is.
            free.lists[list] = unsafe { first.cast::<*mut u8>().read() };
            return (first, false);
        }
        let start = free.next.next_multiple_of(layout.align());
        if start + size <= SIZE {
            let is_zero = start >= free.most;
            free.next = start + size;
            free.most = free.most.max(free.next);
            // SAFETY: it lies within the piece.
            return (unsafe { PIECE.0.get().cast::<u8>().add(start) }, is_zero);
        }
    }
    close();
    (null_mut(), false)
}

/// Takes a block back.
///
/// # Safety
/// It is one of the piece, of this layout, and nobody uses it any more.
pub unsafe fn dealloc(block: *mut u8, layout: Layout) {
    if is_open() {
        let (list, size) = list_of(layout.size());
        // SAFETY: the piece is open for no other thread.
        let free = unsafe { &mut *BLOCKS.0.get() };
        let start = block as usize - PIECE.0.get() as usize;
        if start + size == free.next {
            free.next = start;
            return;
        }
        // SAFETY: each block has room for a pointer.
        unsafe { block.cast::<*mut u8>().write(free.lists[list]) };
        free.lists[list] = block;
    }
}

/// Whether a block can have another size where it is, and then it has.
///
/// # Safety
/// It is one of the piece, of this layout.
pub unsafe fn resize(block: *mut u8, layout: Layout, size: usize) -> bool {
    let ((_, old), (_, new)) = (list_of(layout.size()), list_of(size));
    if new <= old {
        // What is more than it is counted for any more is lost.
        return true;
    }
    // SAFETY: the piece is open for no other thread.
    let free = is_open().then(|| unsafe { &mut *BLOCKS.0.get() });
    let start = block as usize - PIECE.0.get() as usize;
    let last = free.filter(|free| start + old == free.next && start + new <= SIZE);
    let resized = last.map(|free| {
        free.next = start + new;
        free.most = free.most.max(free.next);
    });
    resized.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 1).expect("a size")
    }

    #[test]
    fn each_size_has_a_list_of_blocks_that_are_as_large() {
        let mut last = (0, STEP);
        for size in 1..=SIZE {
            let (list, room) = list_of(size);
            assert!(room >= size && room % STEP == 0 && list < LISTS, "{size}");
            assert!((list, room) == last || (list == last.0 + 1 && room > last.1 && size > last.1));
            last = (list, room);
        }
        assert_eq!(last, (LISTS - 1, SIZE));
    }

    /// The one test that opens it.
    #[test]
    fn blocks_lie_side_by_side_until_it_is_full() {
        // SAFETY: no other thread has opened it; blocks are as they were given.
        unsafe {
            open();
            let (first, is_new) = alloc(layout(40));
            let (second, _) = alloc(layout(200));
            assert!(is_new && has(first) && has(second.add(255)) && !has(null_mut()));
            assert_eq!(second as usize - first as usize, 48);
            // The last one grows where it is, others only as far as they have room.
            assert!(resize(second, layout(200), 1000) && !resize(first, layout(40), 49));
            assert!(resize(first, layout(40), 48) && resize(first, layout(48), 10));
            // What is given back comes again, for the same size, the last one for any.
            let (third, _) = alloc(layout(10));
            dealloc(second, layout(1000));
            assert_eq!(alloc(layout(1000)), (second, false));
            dealloc(third, layout(10));
            assert_eq!(alloc(layout(8)), (third, false));
            assert_eq!(alloc(layout(1000)), (third.add(16), true));
            let (aligned, _) = alloc(Layout::from_size_align(8, 1024).expect("a layout"));
            assert_eq!(aligned as usize % 1024, 0);
            assert!(is_open() && alloc(layout(SIZE)).0.is_null() && !is_open());
            dealloc(aligned, layout(8));
            assert!(!resize(aligned, layout(8), 100), "it is closed");
        }
    }
}
