//! Work that Ctrl-C ends the wait for.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often the waiting thread looks for signals.
const INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of stack of the thread that works: as many as a program's first thread usually has.
const STACK: usize = 8 << 20;

/// Does work on a thread of its own, without the interpreter's lock, and gives what it returns.
///
/// # Errors
/// What a handler of signals raised meanwhile (KeyboardInterrupt): `stop` is called, and what goes
/// on afterwards is nobody's concern. RuntimeError where the work panicked, or no thread can be
/// made.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    stop: impl Fn() + Send,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, result) = mpsc::channel();
    let work = move || {
        // Nobody waits any more after an interrupt.
        let _ = done.send(work());
    };
    let worker = thread::Builder::new().name("orias".to_string()).stack_size(STACK).spawn(work);
    worker.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    py.detach(move || {
        loop {
            match result.recv_timeout(INTERVAL) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {
                    Python::attach(|py| py.check_signals()).inspect_err(|_| stop())?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("orias failed: this is a bug of it"));
                }
            }
        }
    })
}
