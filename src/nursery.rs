//! Memory of small compiles: the first blocks of the first thread, in one small piece.
//!
//! mimalloc takes 2 MB from the system as one page, all of it zeroed, before it gives its first
//! block, and finds out before that how the system gives memory: 0.25 ms, a sixth of the time of a
//! small compile, which has a quarter of a megabyte of data. Here blocks lie side by side, and the
//! system gives memory by 4 KB, where one comes to lie: 1.4 us each, so a large block that is free
//! is taken apart for smaller ones before a new page is touched. Who is no small compile closes the
//! piece ([`close`]); what comes then is mimalloc's.

use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;

/// Bytes of the piece, which closes when it is full.
const SIZE: usize = 2 << 20;

/// Bytes of input of a small compile: of so many there comes so much data that its pages of 4 KB
/// take as long as one of 2 MB.
pub const SMALL_INPUT: usize = 10 << 10;

/// Sizes up to this are multiples of [`STEP`]; above there are [`PARTS`] to a power of two.
const TINY: usize = 128;
const STEP: usize = 16;
const PARTS: usize = 4;
/// The most that a block may be aligned to.
const PAGE: usize = 4096;
/// Lists of free blocks, by size.
const LISTS: usize = TINY / STEP + PARTS * (SIZE.ilog2() - TINY.ilog2()) as usize;
/// The first list whose blocks are taken apart for smaller ones.
const LARGE: usize = list_of(512).0;

const _: () = assert!(LISTS <= u64::BITS as usize, "a word has a bit for each list");

#[repr(C, align(4096))]
struct Piece(UnsafeCell<[u8; SIZE]>);

/// What is free.
struct Free {
    /// Behind all blocks that are given away.
    next: usize,
    /// The most that it ever was: all behind that is zero.
    most: usize,
    /// A large block that is being taken apart, from its start on, and its end.
    apart: (usize, usize),
    /// Lists from [`LARGE`] on that may have blocks.
    large: u64,
    /// By size: the first block of a chain, each of which begins with where the next one is.
    lists: [*mut u8; LISTS],
}

impl Free {
    /// Puts a block into a list.
    ///
    /// # Safety
    /// It is free, and as large as blocks of this list.
    unsafe fn keep(&mut self, block: *mut u8, list: usize) {
        // SAFETY: each block has room for a pointer.
        unsafe { block.cast::<*mut u8>().write(self.lists[list]) };
        self.lists[list] = block;
        if list >= LARGE {
            self.large |= 1 << list;
        }
    }

    /// A block of a list that has none, from one that is larger: what the parser has let go of,
    /// phases use. Without it a fifth more pages were touched.
    fn part(&mut self, list: usize, size: usize) -> Option<*mut u8> {
        let (start, end) = self.apart;
        if end - start < size {
            let (from, larger) = self.larger(list)?;
            if end - start >= STEP {
                let (list, size) = list_of(end - start);
                let list = list - usize::from(size > end - start);
                // SAFETY: what is left of the last one is as large as blocks of this list.
                unsafe { self.keep(place(start), list) };
            }
            let start = from as usize - PIECE.0.get() as usize;
            self.apart = (start, start + larger);
        }
        let start = self.apart.0;
        self.apart.0 += size;
        Some(place(start))
    }

    /// The smallest block of the lists behind one, and its size.
    fn larger(&mut self, list: usize) -> Option<(*mut u8, usize)> {
        loop {
            let lists = self.large & (u64::MAX << list);
            let found = lists.trailing_zeros() as usize;
            let block = *self.lists.get(found)?;
            if !block.is_null() {
                // SAFETY: a free block begins with where the next one is.
                self.lists[found] = unsafe { block.cast::<*mut u8>().read() };
                return Some((block, size_of_list(found)));
            }
            self.large &= !(1 << found);
        }
    }
}

/// A place in the piece, which has that many bytes.
fn place(at: usize) -> *mut u8 {
    PIECE.0.get().cast::<u8>().wrapping_add(at)
}

struct Blocks(UnsafeCell<Free>);

// SAFETY: who uses a block was given it; the rest only the thread touches for which it is open.
unsafe impl Sync for Piece {}
// SAFETY: only that thread touches it.
unsafe impl Sync for Blocks {}

static PIECE: Piece = Piece(UnsafeCell::new([0; SIZE]));
static BLOCKS: Blocks = Blocks(UnsafeCell::new(Free {
    next: 0,
    most: 0,
    apart: (0, 0),
    large: 0,
    lists: [null_mut(); LISTS],
}));

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
    let part = (size - 1) >> (top - 2) & (PARTS - 1);
    let list = TINY / STEP + PARTS * (top - TINY.ilog2()) as usize + part;
    (list, (PARTS + 1 + part) << (top - 2))
}

/// The size of blocks of a list from [`LARGE`] on.
const fn size_of_list(list: usize) -> usize {
    let list = list - TINY / STEP;
    (PARTS + 1 + list % PARTS) << (list / PARTS + TINY.ilog2() as usize - 2)
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
        if layout.align() <= STEP {
            let first = free.lists[list];
            if !first.is_null() {
                // SAFETY: a free block begins with where the next one is.
                free.lists[list] = unsafe { first.cast::<*mut u8>().read() };
                return (first, false);
            }
            if let Some(part) = free.part(list, size) {
                return (part, false);
            }
        }
        // An alignment is a power of two, which a division would not know.
        let start = (free.next + layout.align() - 1) & !(layout.align() - 1);
        if start + size <= SIZE {
            let is_zero = start >= free.most;
            free.next = start + size;
            free.most = free.most.max(free.next);
            return (place(start), is_zero);
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
        } else if start + size == free.apart.0 {
            free.apart.0 = start;
        } else {
            // SAFETY: it is not used any more, and of this list's size.
            unsafe { free.keep(block, list) };
        }
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
    if !is_open() {
        return false;
    }
    // SAFETY: the piece is open for no other thread.
    let free = unsafe { &mut *BLOCKS.0.get() };
    let start = block as usize - PIECE.0.get() as usize;
    if start + old == free.next && start + new <= SIZE {
        free.next = start + new;
        free.most = free.most.max(free.next);
    } else if start + old == free.apart.0 && start + new <= free.apart.1 {
        free.apart.0 = start + new;
    } else {
        return false;
    }
    true
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
            assert!(list < LARGE || size_of_list(list) == room, "{size}");
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
            assert!(is_new && has(first) && has(second.add(223)) && !has(null_mut()));
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
            // What is large is given again in parts, until there is no room for one: then the rest
            // is a block of its own size.
            dealloc(second, layout(1000));
            let (part, grows) = (alloc(layout(300)).0, alloc(layout(300)).0);
            assert_eq!((part, grows), (second, second.add(320)));
            assert!(resize(grows, layout(300), 600) && !resize(part, layout(300), 400));
            let (large, _) = alloc(layout(2000));
            let (after, is_new) = alloc(layout(90));
            assert!(is_new && large > second && after > large);
            dealloc(large, layout(2000));
            assert_eq!(alloc(layout(100)).0, large);
            assert_eq!(alloc(layout(60)).0, second.add(960));
            dealloc(grows, layout(600));
            assert_eq!(alloc(layout(500)).0, large.add(112));
            assert!(is_open() && alloc(layout(SIZE)).0.is_null() && !is_open());
            dealloc(aligned, layout(8));
            assert!(!resize(aligned, layout(8), 100), "it is closed");
        }
    }
}
