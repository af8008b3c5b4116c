//! One function's work, shared among threads.
//!
//! Functions are compiled beside each other, each by one thread, which is the better way wherever
//! there are several. A module of one huge function leaves the other threads idle: what phases do
//! with each of its instructions by itself goes to them too. Results come in the order of the
//! instructions, whoever made them, so that the code is the same for any number of threads.
//!
//! The function stays with the thread that has begun it, others only help ([`with_help`]): memory
//! that one thread has asked for and another gives back is not found again by either. A function
//! that is not huge pays one comparison.

use rayon::{Scope, ThreadPool};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Instructions of a function that is worth sharing: fewer are done before another thread has
/// begun.
pub const LARGE: usize = 1 << 15;

/// Items of a piece of work: enough that nobody waits for who hands it out.
pub const PIECE: usize = 1 << 13;

thread_local! {
    static HELP: RefCell<Option<Help>> = const { RefCell::new(None) };
}

/// A number for this thread, counted from 0 in the order in which threads ask.
pub fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static MINE: u32 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    MINE.with(|mine| *mine)
}

/// Whose threads help this one.
#[derive(Clone)]
struct Help {
    pool: Arc<ThreadPool>,
    /// Threads that work at once, this one among them.
    threads: usize,
}

/// Does something with the help of the threads of a pool: so many threads work at once, this one
/// among them.
pub fn with_help<R>(pool: Arc<ThreadPool>, threads: usize, f: impl FnOnce() -> R) -> R {
    /// Help ends, however the work does.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            HELP.set(None);
        }
    }
    let _end = End;
    HELP.set((threads > 1).then_some(Help { pool, threads }));
    f()
}

/// Whether other threads may take part of the work on so many instructions.
#[inline]
pub fn has_help(count: usize) -> bool {
    count >= LARGE && HELP.with_borrow(Option::is_some)
}

/// Runs something beside what others of the pool are given in the meantime; `f` hears how many
/// threads there are. Without help it has none to give anything to.
fn in_scope<'scope, R>(f: impl FnOnce(Option<&Scope<'scope>>, usize) -> R) -> R {
    // What helps has no help itself.
    let Some(help) = HELP.take() else { return f(None, 1) };
    let done = help.pool.in_place_scope(|scope| f(Some(scope), help.threads));
    HELP.set(Some(help));
    done
}

/// Does two things, at the same time where there is help with so many instructions.
#[inline]
pub fn both<A, B: Send>(
    count: usize,
    mine: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if !has_help(count) {
        return (mine(), other());
    }
    let mut result = None;
    let mine = in_scope(|scope, _| {
        match scope {
            Some(scope) => scope.spawn(|_| result = Some(other())),
            None => result = Some(other()),
        }
        mine()
    });
    (mine, result.expect("a scope ends when all in it is done"))
}

/// Hands pieces out to this thread and to those that help it, each of which makes something that it
/// has for all of its pieces; what becomes of each, in order.
fn hand_out<T: Send, R: Send, S>(
    next: impl Fn() -> Option<(usize, T)> + Sync,
    make: impl Fn() -> S + Sync,
    f: impl Fn(usize, T, &mut S) -> R + Sync,
) -> Vec<R> {
    let done = Mutex::new(Vec::new());
    let work = || {
        let (mut mine, mut own) = (Vec::new(), None);
        while let Some((n, piece)) = next() {
            mine.push((n, f(n, piece, own.get_or_insert_with(&make))));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut mine);
    };
    in_scope(|scope, threads| {
        if let Some(scope) = scope {
            (1..threads).for_each(|_| scope.spawn(|_| work()));
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, result)| result).collect()
}

/// What becomes of each of so many pieces of work, in order.
pub fn each<R: Send>(count: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    each_with(count, || (), |n, ()| f(n))
}

/// The same with something that each thread makes for all of its pieces.
pub fn each_with<R: Send, S>(
    count: usize,
    make: impl Fn() -> S + Sync,
    f: impl Fn(usize, &mut S) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let piece = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < count);
    hand_out(|| piece().map(|n| (n, ())), make, |n, (), own| f(n, own))
}

/// Fills a table piece by piece, each of which begins at the place that it is given; what each
/// gives besides, in order.
pub fn fill<V: Send, R: Send>(table: &mut [V], f: impl Fn(usize, &mut [V]) -> R + Sync) -> Vec<R> {
    let pieces = Mutex::new(table.chunks_mut(PIECE).enumerate());
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    hand_out(next, || (), |n, piece, ()| f(n * PIECE, piece))
}

/// Items that are handed out at once, where there are many small ones.
const FEW: usize = 64;

/// Makes something of each of so many items, which have so many instructions together, and takes
/// what was made in the order of the items.
pub fn in_order<R: Send>(
    (count, instructions): (usize, usize),
    make: impl Fn(usize) -> R + Sync,
    mut take: impl FnMut(usize, R),
) {
    if !has_help(instructions) {
        (0..count).for_each(|n| take(n, make(n)));
        return;
    }
    let piece = |n: usize| (n * FEW..count.min((n + 1) * FEW)).map(&make).collect::<Vec<R>>();
    let made = each(count.div_ceil(FEW), piece);
    made.into_iter().flatten().enumerate().for_each(|(n, made)| take(n, made));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Works with so many threads, as the driver does.
    pub(crate) fn with_threads<R>(threads: usize, work: impl FnOnce() -> R) -> R {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        with_help(Arc::new(pool.expect("the machine gives threads")), threads, work)
    }

    #[test]
    fn only_what_is_large_has_help_and_only_where_others_may() {
        assert!(!has_help(LARGE), "nobody has said so");
        with_threads(1, || assert!(!has_help(LARGE)));
        with_threads(2, || {
            assert!(has_help(LARGE) && !has_help(LARGE - 1));
            let (mine, other) = both(LARGE, || has_help(LARGE), || has_help(LARGE));
            assert!(!mine && !other, "what is shared already");
            assert!(has_help(LARGE), "the next one");
        });
        assert!(!has_help(LARGE), "it is over");
    }

    #[test]
    fn results_come_in_the_order_of_the_pieces() {
        let count = LARGE + 5;
        let work = || {
            assert!(each(100, |n| n).into_iter().eq(0..100));
            let mut doubled = vec![0; count];
            let counts = fill(&mut doubled, |start, out| {
                out.iter_mut().zip(start..).for_each(|(out, at)| *out = 2 * at);
                out.len()
            });
            assert!(doubled.iter().enumerate().all(|(i, d)| *d == 2 * i));
            assert_eq!(counts.iter().sum::<usize>(), count);
            assert_eq!(both(LARGE, || 1, || 2), (1, 2));
            let mut squares = Vec::new();
            in_order((1000, count), |n| n * n, |n, square| squares.push((n, square)));
            assert!(squares.into_iter().eq((0..1000).map(|n| (n, n * n))));
        };
        with_threads(3, work);
        work();
    }
}
