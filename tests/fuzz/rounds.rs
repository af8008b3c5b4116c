//! Batches of seeds for several workers, until there are as many as were asked for.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many programs a run has.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Programs of one module.
    pub batch: u64,
    /// The first, and behind the last one.
    pub from: u64,
    pub count: u64,
    /// Goes on for so many seconds, whatever the count.
    pub time: Option<u64>,
    pub jobs: usize,
    /// Ends after so many programs that differ.
    pub most: usize,
}

/// What the workers of a run know of each other.
#[derive(Default)]
pub struct Progress {
    next: AtomicU64,
    differ: AtomicUsize,
    stop: AtomicBool,
}

impl Progress {
    /// Enough programs differ: what else does is not shown.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A program differs.
    pub fn differs(&self, rounds: &Rounds) {
        if self.differ.fetch_add(1, Ordering::Relaxed) + 1 >= rounds.most {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Rounds {
    /// Does the batches of a run; returns how long it took, and where another one goes on.
    pub fn run(&self, work: impl Fn(Range<u64>, &Progress) + Sync) -> (Duration, u64) {
        let started = Instant::now();
        let progress = Progress { next: AtomicU64::new(self.from), ..Progress::default() };
        let worker = || {
            while !progress.is_over() {
                let from = progress.next.fetch_add(self.batch, Ordering::Relaxed);
                let timed = self.time.map(|limit| started.elapsed().as_secs() >= limit);
                if timed.unwrap_or(from >= self.count) {
                    return;
                }
                let to = from + self.batch;
                work(from..if self.time.is_some() { to } else { self.count.min(to) }, &progress);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(worker);
            }
        });
        (started.elapsed(), progress.next.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::Rounds;
    use std::sync::Mutex;

    const ROUNDS: Rounds =
        Rounds { batch: 4, from: 2, count: 11, time: None, jobs: 2, most: usize::MAX };

    #[test]
    fn every_seed_is_done_once() {
        let done = Mutex::new(Vec::new());
        ROUNDS.run(|seeds, _| done.lock().unwrap().extend(seeds));
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, (2..11).collect::<Vec<_>>());
    }

    #[test]
    fn a_run_ends_after_so_many_programs_that_differ() {
        let rounds = Rounds { count: 1000, jobs: 1, most: 2, ..ROUNDS };
        let (_, next) = rounds.run(|_, progress| progress.differs(&rounds));
        assert_eq!(next, 10);
    }
}
