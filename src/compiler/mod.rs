//! The library's compiler: options and PTX in; cubins, diagnostics and statistics out.
//!
//! A [`Compiler`] may be shared by threads; all that it keeps between compiles is in it, and none
//! of that shows in what it makes: the same text and options give the same bytes, in any order and
//! any number of threads.
//!
//! ```
//! use orias::{CompileOptions, Compiler};
//!
//! let ptx = ".version 8.0
//! .target sm_90a
//! .address_size 64
//! .visible .entry store(.param .u64 out) {
//!     .reg .b64 %rd<2>;
//!     ld.param.u64 %rd1, [out];
//!     st.global.u32 [%rd1], 7;
//!     ret;
//! }";
//! let compiler = Compiler::new(CompileOptions { opt_level: 3, ..Default::default() });
//! let output = compiler.compile(ptx)?;
//! assert!(output.cubin.starts_with(b"\x7fELF"));
//! let kernel = &output.functions[0];
//! assert_eq!(kernel.name, "store");
//! assert!(kernel.registers > 0 && kernel.spill_store_bytes == 0);
//! # Ok::<(), orias::CompileError>(())
//! ```
//!
//! Many modules are compiled side by side, each with options of its own where it needs some, and
//! given back in order ([`Compiler::compile_many`]) or as they come ([`Compiler::compile_each`]):
//!
//! ```
//! use orias::{CompileOptions, Compiler, Job};
//! # let ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }";
//!
//! let compiler = Compiler::new(CompileOptions { threads: 2, ..Default::default() });
//! let fast = CompileOptions { opt_level: 0, ..Default::default() };
//! let jobs = [Job::new(ptx), Job::new(ptx).options(&fast), Job::new("no PTX")];
//! let results = compiler.compile_many(jobs);
//! assert_eq!(results[1].as_ref().map(|output| output.opt_level), Ok(0));
//! let error = results[2].as_ref().unwrap_err();
//! assert!(error.render("c.ptx", "no PTX").contains("--> c.ptx:1:1"));
//! ```
//!
//! What nobody wants any more is called off ([`Cancel`]), and what may take long is given a budget,
//! after which a lower level has to do ([`CompileOptions::budget`]):
//!
//! ```
//! use orias::{Cancel, CompileError, CompileOptions, Compiler, Job};
//! use std::time::Duration;
//! # let ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }";
//!
//! let cancel = Cancel::new();
//! cancel.cancel(); // from any thread
//! let compiler = Compiler::new(CompileOptions::default());
//! let result = compiler.compile(Job::new(ptx).cancel(&cancel));
//! assert_eq!(result.map(|output| output.cubin), Err(CompileError::Cancelled));
//!
//! let hurried = CompileOptions { budget: Some(Duration::ZERO), ..Default::default() };
//! let output = compiler.compile(Job::new(ptx).options(&hurried))?;
//! assert!(output.fell_back && output.opt_level == 0);
//! # Ok::<(), CompileError>(())
//! ```

mod job;

pub use job::Job;

use crate::cache::{Cache, Key};
use crate::driver::pool::Pool;
use crate::driver::teams::Teams;
use crate::driver::{CompileError, CompileOptions, Output, Session};
use crate::ptx::diagnostics::{Diagnostic, Diagnostics};
use orias_systems::Stop;
use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

/// Compiles modules, and keeps for the next one what the one before left: workers and threads.
///
/// One for a whole process is best. The module's documentation has examples: [`crate::compiler`].
pub struct Compiler {
    options: CompileOptions,
    teams: Teams,
    pool: Pool,
    cache: Option<Cache>,
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Compiler>();
    shared::<Output>();
    shared::<CompileError>();
};

impl Compiler {
    /// A compiler without workers and threads: who needs them first makes them.
    /// [`CompileOptions::threads`] says how many threads there may be.
    pub fn new(options: CompileOptions) -> Compiler {
        let pool = Pool::new(options.threads);
        Compiler { options, teams: Teams::default(), pool, cache: None }
    }

    /// A compiler that uses the threads of a pool that is there already.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let compiler = orias::Compiler::in_pool(Default::default(), Arc::new(pool));
    /// assert!(compiler.compile_many([""; 3]).iter().all(Result::is_err));
    /// # Ok::<(), rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn in_pool(options: CompileOptions, pool: Arc<rayon::ThreadPool>) -> Compiler {
        Compiler { options, teams: Teams::default(), pool: Pool::of(pool), cache: None }
    }

    /// The same with a cache: what is in it is not compiled again, and what is compiled is put
    /// there, but for what a fall-back made and what was compiled to look inside (statistics,
    /// dumps).
    pub fn cached(self, cache: Cache) -> Compiler {
        Compiler { cache: Some(cache), ..self }
    }

    /// Its cache.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// How it compiles what has no options of its own.
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// Compiles PTX text to a cubin: a [`Job`], or the text alone. Functions of a large module are
    /// compiled in parallel.
    ///
    /// # Errors
    /// Everything that is wrong with the PTX, with places; or what this compiler cannot do yet,
    /// said so; or that it was called off.
    pub fn compile<'a>(&self, job: impl Into<Job<'a>>) -> Result<Output, CompileError> {
        self.run(&job.into())
    }

    /// Compiles modules side by side, and functions of large ones too; results in the order of the
    /// jobs. One that cannot be compiled does not stop the others.
    pub fn compile_many<'a, J: Into<Job<'a>>>(
        &self,
        jobs: impl IntoIterator<Item = J>,
    ) -> Vec<Result<Output, CompileError>> {
        let jobs: Vec<Job<'a>> = jobs.into_iter().map(Into::into).collect();
        let results: Vec<OnceLock<_>> = jobs.iter().map(|_| OnceLock::new()).collect();
        self.compile_each(jobs, |at, result| {
            // Each comes once.
            let _ = results[at].set(result);
        });
        let missing = || Err(CompileError::Cancelled);
        results.into_iter().map(|result| result.into_inner().unwrap_or_else(missing)).collect()
    }

    /// As [`Compiler::compile_many`], but each result is handed over, with its job's index, as soon
    /// as it is there: from the thread that made it, several at once.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let refused = AtomicUsize::new(0);
    /// orias::Compiler::new(Default::default()).compile_each(["", "no PTX"], |_, result| {
    ///     refused.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
    /// });
    /// assert_eq!(refused.into_inner(), 2);
    /// ```
    pub fn compile_each<'a, J: Into<Job<'a>>>(
        &self,
        jobs: impl IntoIterator<Item = J>,
        done: impl Fn(usize, Result<Output, CompileError>) + Sync,
    ) {
        let jobs: Vec<Job<'a>> = jobs.into_iter().map(Into::into).collect();
        // A long one that comes last would leave all threads but its own without work.
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|at| Reverse(jobs[*at].source.len()));
        let threads = self.pool.each(order.len(), |turn| {
            let at = order[turn];
            done(at, self.run(&jobs[at]));
        });
        if let Err(error) = threads {
            let error = Diagnostics::from(Diagnostic::global(error.to_string()));
            (0..jobs.len()).for_each(|at| done(at, Err(error.clone().into())));
        }
    }

    fn run(&self, job: &Job<'_>) -> Result<Output, CompileError> {
        let stop = Stop { cancel: job.cancel, deadline: None };
        if stop.check().is_err() {
            return Err(CompileError::Cancelled);
        }
        let options = job.options.unwrap_or(&self.options);
        let looks_inside = options.statistics || !options.dump_ir.is_empty();
        let cache = self.cache.as_ref().filter(|_| !looks_inside);
        let cache = cache.map(|cache| (cache, Key::of(job.source, options)));
        if let Some(found) = cache.and_then(|(cache, key)| cache.get(&key)) {
            return Ok(found);
        }
        let session = Session { options, teams: &self.teams, pool: &self.pool, stop };
        let output = session.source(job.source)?;
        if let Some((cache, key)) = cache.filter(|_| !output.fell_back) {
            cache.put(&key, &output);
        }
        Ok(output)
    }

    /// Does something with each of `0..count`, the first ones first, in the threads in which it
    /// compiles.
    pub(crate) fn side_by_side(
        &self,
        count: usize,
        work: impl Fn(usize) + Sync,
    ) -> Result<(), rayon::ThreadPoolBuildError> {
        self.pool.each(count, work)
    }
}
