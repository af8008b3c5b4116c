//! Objects of `orias/_types.py`: diagnostics, cubins, exceptions.

use orias::{Diagnostic, Diagnostics, FunctionReport, LineMap, Output, Severity};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// A class of the package.
pub fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("orias._types")?.getattr(name)
}

/// An exception of the package, with what its class takes.
pub fn error<'py>(
    py: Python<'py>,
    name: &str,
    args: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyErr {
    let made = args.into_pyobject(py).and_then(|args| class(py, name)?.call1(args));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// `orias.CompileError` of what was found in a text; not raised.
pub fn compile_error<'py>(
    py: Python<'py>,
    found: &Diagnostics,
    file: &str,
    source: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let text = found.render(file, source);
    class(py, "CompileError")?.call1((text, diagnostics(py, found, file, source)?))
}

/// `orias.Cancelled`; not raised.
pub fn cancelled<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    class(py, "Cancelled")?.call1((text,))
}

/// `orias.Cubin`
pub fn cubin<'py>(
    py: Python<'py>,
    output: &Output,
    file: &str,
    source: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let class_of_functions = class(py, "Function")?;
    let functions = output.functions.iter().map(|f| function(py, &class_of_functions, f));
    let functions = functions.collect::<PyResult<Vec<_>>>()?;
    let fields = PyDict::new(py);
    fields.set_item("data", PyBytes::new(py, &output.cubin))?;
    fields.set_item("arch", output.target.name)?;
    fields.set_item("functions", PyTuple::new(py, functions)?)?;
    fields.set_item("warnings", diagnostics(py, &output.warnings, file, source)?)?;
    fields.set_item("global_bytes", output.global_bytes)?;
    fields.set_item("opt_level", output.opt_level)?;
    fields.set_item("fell_back", output.fell_back)?;
    fields.set_item("cached", output.cached)?;
    class(py, "Cubin")?.call((), Some(&fields))
}

fn function<'py>(
    py: Python<'py>,
    class: &Bound<'py, PyAny>,
    f: &FunctionReport,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("name", &f.name)?;
    fields.set_item("entry", f.entry)?;
    fields.set_item("registers", f.registers)?;
    fields.set_item("instructions", f.instructions)?;
    fields.set_item("barriers", f.barriers)?;
    fields.set_item("shared_bytes", f.shared_bytes)?;
    fields.set_item("frame_bytes", f.frame_bytes)?;
    fields.set_item("stack_bytes", f.stack_bytes)?;
    fields.set_item("spill_store_bytes", f.spill_store_bytes)?;
    fields.set_item("spill_load_bytes", f.spill_load_bytes)?;
    fields.set_item("constant_bytes", (f.constant_bytes[0], f.constant_bytes[1]))?;
    fields.set_item("seconds", f.time.as_secs_f64())?;
    class.call((), Some(&fields))
}

/// A tuple of `orias.Diagnostic`.
fn diagnostics<'py>(
    py: Python<'py>,
    found: &Diagnostics,
    file: &str,
    source: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    if found.is_empty() {
        return Ok(PyTuple::empty(py));
    }
    let lines = LineMap::new(source);
    let class = class(py, "Diagnostic")?;
    let all = found.iter().map(|d| diagnostic(py, &class, d, file, source, &lines));
    PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

fn diagnostic<'py>(
    py: Python<'py>,
    class: &Bound<'py, PyAny>,
    d: &Diagnostic,
    file: &str,
    source: &str,
    lines: &LineMap,
) -> PyResult<Bound<'py, PyAny>> {
    let severity = match d.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
        Severity::Fatal => "fatal",
    };
    let place = d.span.map(|span| lines.position(span.start, source));
    let fields = PyDict::new(py);
    fields.set_item("severity", severity)?;
    fields.set_item("message", &d.message)?;
    fields.set_item("file", file)?;
    fields.set_item("line", place.map(|at| at.line))?;
    fields.set_item("column", place.map(|at| at.column))?;
    fields.set_item("text", d.render(file, source, lines))?;
    fields.set_item("notes", PyTuple::new(py, &d.notes)?)?;
    class.call((), Some(&fields))
}

/// The three numbers of a grid or a block.
pub fn dimensions(value: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    value.extract().map_err(|_| PyTypeError::new_err("three numbers from 0 to 2^32 - 1 are wanted"))
}
