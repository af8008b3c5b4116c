//! `disassemble`: see `orias/_orias.pyi`.

use crate::python::error;
use orias::dis::{Code, DisError, DisOptions, graphs, json};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// What is written of a cubin.
enum Form {
    Text,
    Json,
    Graphs,
}

#[pyfunction]
#[pyo3(signature = (cubin, form, labels, hex, control, functions))]
pub fn disassemble(
    py: Python<'_>,
    cubin: PyBackedBytes,
    form: &str,
    labels: bool,
    hex: bool,
    control: bool,
    functions: Vec<String>,
) -> PyResult<String> {
    let form = match form {
        "text" => Form::Text,
        "json" => Form::Json,
        "cfg" => Form::Graphs,
        other => {
            return Err(PyValueError::new_err(format!("format '{other}': text, json or cfg")));
        }
    };
    let options = DisOptions { labels, hex, control };
    let listed = py.detach(|| listing(&cubin, &form, options, &functions));
    listed.map_err(|e| error(py, "CubinError", (e.to_string(),)))
}

fn listing(
    cubin: &[u8],
    form: &Form,
    options: DisOptions,
    functions: &[String],
) -> Result<String, DisError> {
    let mut code = Code::cubin(cubin)?;
    code.only(functions)?;
    match form {
        Form::Text => Ok(code.listing(options)?.0),
        Form::Graphs => graphs(&code),
        Form::Json => {
            let mut text = Vec::new();
            // Nothing stops a write to memory.
            let _ = json(&code, &mut text);
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
    }
}
