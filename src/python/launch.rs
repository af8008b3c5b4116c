//! `simulate`: see `orias/_orias.pyi`.

use crate::python::{class, compile_error, dimensions, error};
use crate::wait::interruptible;
use orias::interpret::{self, InterpretError};
use orias::launch::{Argument, Buffer, Launch, LaunchError, Outcome, parse_argument, report};
use orias::profiles::Profiles;
use orias::ptx::{self, diagnostics::Diagnostics};
use orias::simulate::{self as simulator_of_cubins, SimulateError};
use orias_targets::misuse::Checks;
use orias_targets::simulator::{self, Hazards, SimError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

/// Why a launch gave nothing.
enum Failure {
    /// Of PTX, with its text.
    Source(Diagnostics, String),
    Interpret(InterpretError),
    Simulate(SimulateError),
}

/// How to run, beside the launch itself.
#[derive(Clone, Copy)]
struct How {
    hazards: bool,
    checks: Checks,
    max_steps: Option<u64>,
    strict_regions: bool,
}

/// Contents of the buffers afterwards, in argument order, what the threads printed, the report as
/// JSON, and the profile of a run of PTX.
type Given<'py> = (Vec<Bound<'py, PyBytes>>, Bound<'py, PyBytes>, String, String);

#[pyfunction]
#[pyo3(signature = (code, file, entry, grid, block, cluster, shared, args, hazards, uninit,
    barriers, max_steps, strict_regions))]
#[expect(clippy::too_many_arguments, reason = "the Python function around it names them")]
pub fn simulate<'py>(
    py: Python<'py>,
    code: PyBackedBytes,
    file: String,
    entry: String,
    grid: &Bound<'py, PyAny>,
    block: &Bound<'py, PyAny>,
    cluster: Option<&Bound<'py, PyAny>>,
    shared: u64,
    args: Vec<(String, PyBackedBytes, bool)>,
    hazards: bool,
    uninit: bool,
    barriers: bool,
    max_steps: Option<u64>,
    strict_regions: bool,
) -> PyResult<Given<'py>> {
    let args = args.iter().map(|(kind, bytes, writable)| argument(kind, bytes, *writable));
    let args = args.collect::<Result<Vec<_>, _>>().map_err(|e| launch_error(py, &e))?;
    let launch = Launch {
        entry,
        grid: dimensions(grid)?,
        block: dimensions(block)?,
        cluster: cluster.map(dimensions).transpose()?,
        dynamic_shared: shared,
        args,
    };
    let checks = Checks { uninitialised: uninit, barriers };
    let how = How { hazards, checks, max_steps, strict_regions };
    let work = move || {
        let (outcome, profile) = run(&code, &launch, how)?;
        let text = report(&launch, &outcome).to_string();
        Ok((outcome, text, profile))
    };
    let ran = interruptible(py, || (), work)?;
    let (outcome, text, profile) = ran.map_err(|failure| raised(py, failure, &file))?;
    let buffers = outcome.buffers.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
    Ok((buffers, PyBytes::new(py, &outcome.printed), text, profile))
}

/// An argument by its kind: `buffer`, `bytes` (by value), `tensor` (text as behind `tensor=` of
/// `orias sim --arg`).
fn argument(kind: &str, bytes: &[u8], writable: bool) -> Result<Argument, LaunchError> {
    let bytes = bytes.to_vec();
    Ok(match kind {
        "buffer" => Argument::Buffer(Buffer { bytes, writable, output: None }),
        "tensor" => {
            return parse_argument(&format!("tensor={}", String::from_utf8_lossy(&bytes)));
        }
        _ => Argument::Bytes(bytes),
    })
}

/// Runs PTX in the interpreter and a cubin (an ELF file) in the simulator; gives the profile, too,
/// which is empty for a cubin.
fn run(code: &[u8], launch: &Launch, how: How) -> Result<(Outcome, String), Failure> {
    if code.starts_with(b"\x7fELF") {
        let hazards = if how.hazards { Hazards::Find } else { Hazards::Ignore };
        let limits = simulator::Limits::default();
        let limits = simulator::Limits {
            warp_instructions: how.max_steps.unwrap_or(limits.warp_instructions),
            checks: how.checks,
            hazards,
            strict_regions: how.strict_regions,
            ..limits
        };
        let outcome = simulator_of_cubins::simulate(code, launch, limits);
        return outcome.map(|outcome| (outcome, String::new())).map_err(Failure::Simulate);
    }
    let source = String::from_utf8_lossy(code);
    let program = ptx::load(&source).map_err(|found| Failure::Source(found, source.to_string()))?;
    let limits = interpret::Limits::default();
    let limits = interpret::Limits {
        warp_instructions: how.max_steps.unwrap_or(limits.warp_instructions),
        checks: how.checks,
        counts: true,
    };
    let outcome = interpret::run_limited(&program, &source, launch, limits);
    let outcome = outcome.map_err(Failure::Interpret)?;
    let profile = Profiles::of(&program, &outcome.reached).to_text();
    Ok((outcome, profile))
}

fn launch_error(py: Python<'_>, error_of_launch: &LaunchError) -> PyErr {
    error(py, "LaunchError", (error_of_launch.to_string(),))
}

/// What is raised.
fn raised(py: Python<'_>, failure: Failure, file: &str) -> PyErr {
    let made = match &failure {
        Failure::Source(found, source) => {
            compile_error(py, found, file, source).map(PyErr::from_value)
        }
        Failure::Interpret(InterpretError::Launch(e))
        | Failure::Simulate(SimulateError::Launch(e)) => Ok(launch_error(py, e)),
        Failure::Simulate(SimulateError::Read(e)) => Ok(error(py, "CubinError", (e.to_string(),))),
        Failure::Interpret(e) => stopped(py, &e.to_string(), place_in_ptx(py, e)),
        Failure::Simulate(e) => stopped(py, &e.to_string(), place_in_code(py, e)),
    };
    made.unwrap_or_else(|error| error)
}

/// `orias.SimulationError` with its place.
fn stopped<'py>(
    py: Python<'py>,
    text: &str,
    place: PyResult<Option<Bound<'py, PyDict>>>,
) -> PyResult<PyErr> {
    let place = match place? {
        Some(fields) => class(py, "Place")?.call((), Some(&fields))?,
        None => py.None().into_bound(py),
    };
    Ok(error(py, "SimulationError", (text, place)))
}

fn place_in_ptx<'py>(
    py: Python<'py>,
    error: &InterpretError,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let InterpretError::Stopped(at) = error else { return Ok(None) };
    let place = PyDict::new(py);
    place.set_item("function", &at.function)?;
    place.set_item("instruction", &at.instruction)?;
    place.set_item("line", at.line)?;
    place.set_item("offset", py.None())?;
    place.set_item("block", triple(at.thread.block))?;
    place.set_item("thread", triple(at.thread.thread))?;
    Ok(Some(place))
}

fn place_in_code<'py>(
    py: Python<'py>,
    error: &SimulateError,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let SimulateError::Run(SimError::At { site, .. }) = error else { return Ok(None) };
    let place = PyDict::new(py);
    place.set_item("function", &site.function)?;
    place.set_item("instruction", &site.text)?;
    place.set_item("line", py.None())?;
    place.set_item("offset", site.offset)?;
    place.set_item("block", triple(site.cta))?;
    place.set_item("thread", triple(site.thread))?;
    Ok(Some(place))
}

/// As a tuple of Python; an array would be a list.
fn triple([x, y, z]: [u32; 3]) -> (u32, u32, u32) {
    (x, y, z)
}
