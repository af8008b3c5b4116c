//! The program's allocator: mimalloc, asked for few different sizes, and to keep what is freed.
//!
//! mimalloc sets 64 KB aside for each size of small block, four sizes to a power of two, and 512 KB
//! for each size from 16 KB on. That costs nothing where nothing is written; but the system gives
//! it memory by 2 MB, all of it zeroed, and a small compile touched two or three of these for a
//! quarter of a megabyte of data. With one size to a power of two it touches one less, of some four
//! per cent of such a compile.

use crate::ahead;
use libmimalloc_sys as mi;
use orias::nursery;
use orias_components::heap;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::Once;

/// Blocks up to this have their own size: they are the most, and waste would show.
const TINY: usize = 128;
/// Larger blocks are mostly alone with their size, and there the rest of a rounded block would be
/// memory.
const MEDIUM: usize = 64 << 10;

/// `mi_option_purge_delay` and `mi_option_destroy_on_exit` of `mimalloc.h`, which the bindings do
/// not name.
const PURGE_DELAY: mi::mi_option_t = 15;
const DESTROY_ON_EXIT: mi::mi_option_t = 22;

unsafe extern "C" {
    fn _mi_auto_process_init();
}

/// Whether mimalloc is ready.
static MIMALLOC: Once = Once::new();

thread_local! {
    /// It is, and all blocks that this thread asks for are its blocks.
    static IS_READY: Cell<bool> = const { Cell::new(false) };
}

pub struct FewSizes;

/// What the allocator has to know before it is asked for anything.
pub fn begin() {
    keep_freed_memory();
    // SAFETY: numbers in the allocator's table of options.
    unsafe {
        // To look how many nodes of memory there are would be a file of the system's to open.
        mi::mi_option_set(mi::mi_option_use_numa_nodes, 1);
        // 2: when the process ends nothing is collected, and nothing destroyed.
        mi::mi_option_set(DESTROY_ON_EXIT, 2);
    }
}

/// Memory that one phase has freed the next one wants: to give it back to the system in between
/// costs more time than many a phase (it was some 45,000 page faults in a compile of fifty thousand
/// diamonds).
fn keep_freed_memory() {
    // SAFETY: a number in the allocator's table of options.
    unsafe { mi::mi_option_set(PURGE_DELAY, -1) };
}

/// A block from before mimalloc is asked for any in this thread, and whether it is all zeros. With
/// None that begins.
#[inline(never)]
fn early(layout: Layout) -> Option<(*mut u8, bool)> {
    if nursery::is_open() {
        // SAFETY: it is open.
        let (block, is_zero) = unsafe { nursery::alloc(layout) };
        if !block.is_null() {
            return Some((block, is_zero));
        }
    }
    // The first thread comes here first: it closes the nursery before there are others.
    // SAFETY: mimalloc makes itself ready so where it does when a program starts, and once.
    MIMALLOC.call_once(|| unsafe { _mi_auto_process_init() });
    IS_READY.set(true);
    None
}

/// Whether another thread touches memory of such a block before it is used.
#[inline]
fn is_touched(size: usize) -> bool {
    size >= ahead::LARGE && heap::has_spare_processor()
}

impl FewSizes {
    /// Exchanges a block of the nursery.
    ///
    /// # Safety
    /// As [`GlobalAlloc::realloc`].
    unsafe fn leave(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `grow`.
        unsafe {
            if nursery::resize(block, layout, size) {
                return block;
            }
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                nursery::dealloc(block, layout);
            }
            new
        }
    }

    /// Exchanges a block for a large one: as mimalloc does it, but that its memory is touched.
    ///
    /// # Safety
    /// As [`GlobalAlloc::realloc`].
    #[cold]
    unsafe fn grow(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the block is mimalloc's.
        let usable = unsafe { mi::mi_usable_size(block.cast()) };
        if size <= usable && size >= usable / 2 {
            return block;
        }
        // SAFETY: an alignment that was good for the old size is for this one; both blocks have as
        // many bytes as are copied, and the old one is the caller's to give back.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

const fn rounded(size: usize) -> usize {
    if size > TINY && size <= MEDIUM { size.next_power_of_two() } else { size }
}

/// What mimalloc does without being asked: blocks of 16 bytes and more lie at multiples of 16, of 8
/// at multiples of 8.
const fn is_usual(size: usize, align: usize) -> bool {
    align <= 16 && align <= size
}

// SAFETY: mimalloc's blocks, at least as large as asked for and as aligned; it needs no size to
// take one back.
unsafe impl GlobalAlloc for FewSizes {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !IS_READY.get()
            && let Some((block, _)) = early(layout)
        {
            return block;
        }
        let (size, align) = (rounded(layout.size()), layout.align());
        // SAFETY: mimalloc takes any size, and a layout's alignment is a power of two.
        let block = unsafe {
            if is_usual(size, align) {
                mi::mi_malloc(size)
            } else {
                mi::mi_malloc_aligned(size, align)
            }
        };
        let block = block.cast();
        if is_touched(size) {
            ahead::touch(block, size);
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if !IS_READY.get()
            && let Some((block, is_zero)) = early(layout)
        {
            if !is_zero {
                // SAFETY: the block is as large.
                unsafe { block.write_bytes(0, size) };
            }
            return block;
        }
        if size <= MEDIUM {
            // SAFETY: as above; what is asked for is zeroed, not what it was rounded to.
            return unsafe {
                let block = self.alloc(layout);
                if !block.is_null() {
                    block.write_bytes(0, size);
                }
                block
            };
        }
        // SAFETY: as above. What comes from the system is zero already.
        let block = unsafe { mi::mi_zalloc_aligned(size, align) }.cast();
        if is_touched(size) {
            ahead::touch(block, size);
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if nursery::has(block) {
            // SAFETY: the block is the caller's to give back.
            return unsafe { nursery::dealloc(block, layout) };
        }
        if is_touched(layout.size()) {
            ahead::forget(block);
        }
        // SAFETY: the block is mimalloc's, and the caller's to give back.
        unsafe { mi::mi_free(block.cast()) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if nursery::has(block) {
            // SAFETY: the block is the caller's to exchange.
            return unsafe { self.leave(block, layout, new_size) };
        }
        let (size, align) = (rounded(new_size), layout.align());
        if is_touched(size) {
            // SAFETY: as the caller says.
            return unsafe { self.grow(block, layout, size) };
        }
        if is_touched(layout.size()) {
            ahead::forget(block);
        }
        // SAFETY: the block is mimalloc's, and the caller's to exchange.
        let block = unsafe {
            if is_usual(size, align) {
                mi::mi_realloc(block.cast(), size)
            } else {
                mi::mi_realloc_aligned(block.cast(), size, align)
            }
        };
        block.cast()
    }
}
