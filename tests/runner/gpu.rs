//! The GPU engine: cubins through the CUDA driver.

use orias::launch::{Launch, Outcome};

/// Launches for the median time.
const REPETITIONS: usize = 21;

/// The first GPU of the machine.
pub struct Gpu(orias_gpu::Gpu);

impl Gpu {
    /// # Errors
    /// Says what is missing: the driver, or a device.
    pub fn open() -> Result<Gpu, String> {
        orias_gpu::Gpu::open().map(Gpu).map_err(|error| error.to_string())
    }

    pub fn name(&self) -> String {
        self.0.name()
    }

    /// One launch on a freshly loaded module for the result, then more for the median kernel time
    /// in microseconds.
    pub fn run(&self, cubin: &[u8], launch: &Launch) -> Result<(Outcome, Option<f64>), String> {
        let ran = self.0.run(cubin, launch, REPETITIONS).map_err(|error| error.to_string())?;
        Ok((ran.outcome, ran.microseconds))
    }
}
