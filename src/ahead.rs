//! Memory of large blocks is touched before it is used, by a thread that has nothing else to do.
//!
//! The system zeroes a page when it is first touched, and a virtual machine may have to ask its
//! host for it: that was a sixth of the time of a compile of a million instructions, and half of it
//! where the machine had given its memory back. A block that is filled from its beginning on meets
//! pages that are there already.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Smaller blocks are touched sooner than the other thread wakes up. What is touched at once: the
/// size of the system's large pages.
pub const LARGE: usize = 4 << 20;
const PAGE: usize = 2 << 20;

/// Blocks that may wait to be touched; others are not.
const MOST: usize = 8;

/// First address and size of blocks whose pages are to be touched: none of size 0.
struct Blocks {
    all: [(usize, usize); MOST],
    /// The thread that touches them is there.
    is_served: bool,
}

static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks { all: [(0, 0); MOST], is_served: false });
static MORE: Condvar = Condvar::new();

/// Touches a page, if there is one, as if it was written to.
#[cfg(target_os = "linux")]
fn populate(page: usize) {
    unsafe extern "C" {
        fn madvise(start: usize, length: usize, advice: i32) -> i32;
    }
    /// `MADV_POPULATE_WRITE` of `mman.h` (Linux 5.14).
    const POPULATE_WRITE: i32 = 23;
    // SAFETY: it changes the content of no page, and fails where there is none.
    unsafe { madvise(page, PAGE, POPULATE_WRITE) };
}

/// Elsewhere there is no such call.
#[cfg(not(target_os = "linux"))]
fn populate(_: usize) {}

fn blocks() -> MutexGuard<'static, Blocks> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A large block was allocated, and is to be filled.
pub fn touch(block: *mut u8, size: usize) {
    let mut blocks = blocks();
    if let Some(free) = blocks.all.iter_mut().find(|(_, size)| *size == 0) {
        *free = (block as usize, size);
    }
    if !blocks.is_served {
        blocks.is_served = true;
        // Without the thread blocks are touched by who uses them.
        let _ = thread::Builder::new().name("touch".into()).spawn(serve);
    }
    drop(blocks);
    MORE.notify_one();
}

/// A large block is freed.
pub fn forget(block: *mut u8) {
    let mut blocks = blocks();
    for (start, size) in &mut blocks.all {
        if *start == block as usize {
            *size = 0;
        }
    }
}

fn serve() {
    loop {
        let mut blocks = blocks();
        let next = loop {
            match blocks.all.iter().position(|(_, size)| *size > 0) {
                Some(next) => break next,
                None => blocks = MORE.wait(blocks).unwrap_or_else(PoisonError::into_inner),
            }
        };
        let (start, size) = blocks.all[next];
        drop(blocks);
        for page in order(start.next_multiple_of(PAGE), (start + size) / PAGE * PAGE) {
            if self::blocks().all[next] != (start, size) {
                break;
            }
            populate(page);
        }
        let block = &mut self::blocks().all[next];
        if *block == (start, size) {
            block.1 = 0;
        }
    }
}

/// The pages between two addresses, those that are not the next ones of a quick writer first: of
/// each four the second and the last.
fn order(start: usize, end: usize) -> impl Iterator<Item = usize> {
    let page = move |first: usize, n: usize| first + n * PAGE;
    let fours = (start..end).step_by(4 * PAGE);
    fours.flat_map(move |first| [1, 3, 0, 2].map(|n| page(first, n))).filter(move |at| *at < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_touched_once() {
        for pages in 0..10 {
            let mut all: Vec<usize> = order(8 * PAGE, (8 + pages) * PAGE).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq((8..8 + pages).map(|n| n * PAGE)));
        }
    }

    #[test]
    fn what_stands_in_a_block_stays() {
        let mut block = vec![0_u8; 3 * LARGE];
        block.fill(7);
        touch(block.as_mut_ptr(), block.len());
        while blocks().all.iter().any(|(_, size)| *size > 0) {
            thread::yield_now();
        }
        assert!(block.iter().all(|byte| *byte == 7));
        forget(block.as_mut_ptr());
    }
}
