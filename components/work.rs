//! Work, counted: how often phases look at an instruction, a block, a register, or take a step of a
//! search.
//!
//! Times are noisy and say little of how work grows; counts are the same on every machine. What is
//! counted is not chosen by a phase: reading the body counts by itself, and so do the sets, marks
//! and lists that analyses are made of. Builds without debug assertions count nothing.

#[cfg(debug_assertions)]
thread_local! {
    static DONE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Adds so many steps.
#[inline]
pub fn add(steps: usize) {
    #[cfg(debug_assertions)]
    DONE.with(|done| done.set(done.get() + steps as u64));
    #[cfg(not(debug_assertions))]
    let _ = steps;
}

/// The steps of this thread so far; 0 where nothing is counted.
pub fn done() -> u64 {
    #[cfg(debug_assertions)]
    return DONE.with(std::cell::Cell::get);
    #[cfg(not(debug_assertions))]
    0
}
