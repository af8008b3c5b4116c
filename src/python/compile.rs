//! `Compiler` and `Cancel`: see `orias/_orias.pyi`.

use crate::options::Options;
use crate::python::{cancelled, compile_error, cubin};
use crate::wait::interruptible;
use orias::{Cache, CompileError, CompileOptions, Job, Output};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

/// Bytes of text that are compiled in the calling thread: in less time than anyone waits for before
/// pressing Ctrl-C, and a thread would be a part of it.
const SHORT: usize = 1 << 18;

/// Calls off the compiles that were given it.
#[pyclass(frozen, module = "orias")]
pub struct Cancel(orias::Cancel);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Cancel {
        Cancel(orias::Cancel::new())
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// A compiler, and the process that its threads are in.
struct Shared {
    process: u32,
    compiler: Arc<orias::Compiler>,
}

/// What a compiler is made of, here and in a process that was forked.
struct Parts {
    threads: usize,
    /// Folder, and bytes at most.
    cache: Option<(PathBuf, u64)>,
}

impl Parts {
    fn made(&self) -> PyResult<Shared> {
        // Not rayon's own pool, which a forked process would believe to have.
        let all = || available_parallelism().map_or(1, usize::from);
        let threads = if self.threads == 0 { all() } else { self.threads };
        let mut compiler =
            orias::Compiler::new(CompileOptions { threads, ..CompileOptions::default() });
        if let Some((folder, most)) = &self.cache {
            compiler = compiler.cached(Cache::open(folder, *most)?);
        }
        Ok(Shared { process: process::id(), compiler: Arc::new(compiler) })
    }
}

/// A module as Python gives it: text, name for messages, options.
type Given = (PyBackedStr, String, Options);

/// The same, as a thread works on it.
struct Module {
    source: PyBackedStr,
    file: String,
    options: CompileOptions,
}

impl Module {
    fn new((source, file, options): Given) -> PyResult<Module> {
        Ok(Module { source, file, options: options.checked()? })
    }

    fn job<'a>(&'a self, cancel: &'a orias::Cancel) -> Job<'a> {
        Job::new(&self.source).options(&self.options).cancel(cancel)
    }

    /// `orias.Cubin`, or an exception, not raised.
    fn result<'py>(
        &self,
        py: Python<'py>,
        result: &Result<Output, CompileError>,
    ) -> PyResult<Result<Bound<'py, PyAny>, Bound<'py, PyAny>>> {
        Ok(match result {
            Ok(output) => Ok(cubin(py, output, &self.file, &self.source)?),
            Err(CompileError::Rejected(found)) => {
                Err(compile_error(py, found, &self.file, &self.source)?)
            }
            Err(error @ CompileError::Cancelled) => Err(cancelled(py, &error.to_string())?),
        })
    }
}

/// Compiles modules; may be shared by threads, and used in a process that was forked.
#[pyclass(frozen, module = "orias._orias")]
pub struct Compiler {
    parts: Parts,
    shared: Mutex<Shared>,
}

impl Compiler {
    fn shared(&self) -> PyResult<Arc<orias::Compiler>> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.process != process::id() {
            let parents = std::mem::replace(&mut *shared, self.parts.made()?);
            // Its threads are not here, and whoever took it apart would wait for them.
            std::mem::forget(parents);
        }
        Ok(shared.compiler.clone())
    }
}

#[pymethods]
impl Compiler {
    #[new]
    fn new(threads: usize, cache: Option<(PathBuf, u64)>) -> PyResult<Compiler> {
        let parts = Parts { threads, cache };
        Ok(Compiler { shared: Mutex::new(parts.made()?), parts })
    }

    /// What went wrong first in writing to the cache.
    fn cache_trouble(&self) -> PyResult<Option<String>> {
        Ok(self.shared()?.cache().and_then(Cache::trouble).map(str::to_string))
    }

    fn compile<'py>(
        &self,
        py: Python<'py>,
        module: Given,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let module = Arc::new(Module::new(module)?);
        let cancel = cancel.map_or_else(orias::Cancel::new, |cancel| cancel.get().0.clone());
        let compiler = self.shared()?;
        let output = if module.source.len() <= SHORT {
            py.detach(|| compiler.compile(module.job(&cancel)))
        } else {
            let (module, token) = (module.clone(), cancel.clone());
            let work = move || compiler.compile(module.job(&token));
            interruptible(py, || cancel.cancel(), work)?
        };
        module.result(py, &output)?.map_err(PyErr::from_value)
    }

    fn compile_many<'py>(
        &self,
        py: Python<'py>,
        modules: Vec<Given>,
        cancel: Option<&Bound<'py, Cancel>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let modules = modules.into_iter().map(Module::new).collect::<PyResult<Vec<_>>>()?;
        let modules = Arc::new(modules);
        let cancel = cancel.map_or_else(orias::Cancel::new, |cancel| cancel.get().0.clone());
        let compiler = self.shared()?;
        let (all, token) = (modules.clone(), cancel.clone());
        let work = move || compiler.compile_many(all.iter().map(|module| module.job(&token)));
        let outputs = interruptible(py, || cancel.cancel(), work)?;
        let results = modules.iter().zip(&outputs).map(|(module, output)| {
            module.result(py, output).map(|result| result.unwrap_or_else(|error| error))
        });
        results.collect()
    }
}
