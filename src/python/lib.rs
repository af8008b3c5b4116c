//! The native part of the Python package `orias`: what [`orias`] does, for `orias/*.py` beside it.
//!
//! Results and errors are classes of Python (`orias/_types.py`), made here by name: they are
//! compared, pickled and printed as any dataclass. No call holds the interpreter's lock while it
//! compiles or simulates, and nothing is global: a process that forks takes no pool of threads
//! along.

mod compile;
mod dis;
mod launch;
mod options;
mod python;
mod wait;

/// `orias._orias`
#[pyo3::pymodule]
mod _orias {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::compile::{Cancel, Compiler};
    #[pymodule_export]
    use super::dis::disassemble;
    #[pymodule_export]
    use super::launch::simulate;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
