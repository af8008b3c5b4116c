//! The GPU engine: cubins through the CUDA driver.

use orias::launch::{Launch, Outcome};

/// The first GPU of the machine.
pub struct Gpu {}

impl Gpu {
    /// # Errors
    /// Says what is missing: the driver, or a device.
    pub fn open() -> Result<Gpu, String> {
        Err("running on a GPU is not connected yet".to_string())
    }

    /// One launch on a freshly loaded module for the result, then more for the median kernel time in microseconds.
    pub fn run(&self, _cubin: &[u8], launch: &Launch) -> Result<(Outcome, Option<f64>), String> {
        Err(format!("{}: running on a GPU is not connected yet", launch.entry))
    }
}
