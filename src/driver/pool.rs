//! The threads of a compiler.

use crate::nursery;
use orias_systems::parallel;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

/// Where functions and modules are compiled in parallel.
pub(crate) struct Pool {
    /// 0: those of the pool that the caller is in, or rayon's own.
    threads: usize,
    /// Given, or made when it is first needed.
    own: OnceLock<Arc<ThreadPool>>,
}

impl Pool {
    /// So many threads; 0 is the pool that the caller is in, or rayon's own.
    pub fn new(threads: usize) -> Pool {
        Pool { threads, own: OnceLock::new() }
    }

    pub fn of(pool: Arc<ThreadPool>) -> Pool {
        Pool { threads: pool.current_num_threads(), own: OnceLock::from(pool) }
    }

    /// Nothing runs beside anything else.
    pub fn is_one(&self) -> bool {
        self.threads == 1
    }

    /// How many there are.
    pub fn threads(&self) -> usize {
        if self.threads == 0 { rayon::current_num_threads() } else { self.threads }
    }

    /// Runs what is parallel in these threads.
    ///
    /// # Errors
    /// The machine gives no threads.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, ThreadPoolBuildError> {
        nursery::close();
        if self.threads == 0 {
            return Ok(work());
        }
        if self.own.get().is_none() {
            let made = ThreadPoolBuilder::new().num_threads(self.threads).build()?;
            // Another thread may have been faster.
            let _ = self.own.set(Arc::new(made));
        }
        match self.own.get() {
            Some(pool) => Ok(pool.install(work)),
            None => Ok(work()),
        }
    }

    /// Runs one thing, in this thread, that the others help with where it can use them: unless this
    /// is a thread of a pool itself, whose others have more to do.
    ///
    /// # Errors
    /// The machine gives no threads.
    pub fn help<R>(&self, work: impl FnOnce() -> R) -> Result<R, ThreadPoolBuildError> {
        let all = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.threads == 0 { all() } else { self.threads };
        if threads < 2 || rayon::current_thread_index().is_some() {
            return Ok(work());
        }
        nursery::close();
        let helpers = match self.own.get() {
            Some(own) => own.clone(),
            // This thread works too. They are not kept: what they help with is rare and large.
            None => Arc::new(ThreadPoolBuilder::new().num_threads(threads - 1).build()?),
        };
        Ok(parallel::with_help(helpers, threads, work))
    }

    /// Does something with each of `0..count`, the first ones first, as threads become free: each
    /// has one in hand at a time, whose own parts others take when they find nothing else.
    ///
    /// # Errors
    /// The machine gives no threads.
    pub fn each(
        &self,
        count: usize,
        work: impl Fn(usize) + Sync,
    ) -> Result<(), ThreadPoolBuildError> {
        if self.is_one() || count < 2 {
            (0..count).for_each(work);
            return Ok(());
        }
        let next = AtomicUsize::new(0);
        self.run(|| {
            let runs = rayon::current_num_threads().min(count);
            (0..runs).into_par_iter().with_max_len(1).for_each(|_| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        break;
                    }
                    work(at);
                }
            });
        })
    }
}
