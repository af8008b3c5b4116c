//! The GPU engine: cubins through the CUDA driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use orias::launch::{Launch, Outcome};
pub use orias_gpu::{GpuError, Loaded};

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

    /// Loads a cubin and launches nothing.
    pub fn load(&self, cubin: &[u8]) -> Result<Vec<Loaded>, String> {
        self.0.load(cubin).map_err(|error| error.to_string())
    }

    /// One launch on a freshly loaded module for the result, then more for the median kernel time
    /// in microseconds.
    pub fn run(&self, cubin: &[u8], launch: &Launch) -> Result<(Outcome, Option<f64>), String> {
        let ran = self.0.run(cubin, launch, REPETITIONS).map_err(|error| error.to_string())?;
        Ok((ran.outcome, ran.microseconds))
    }
}

/// A launch, and where its outcome is awaited.
type Request = (Vec<u8>, Launch, usize, Sender<Ran>);

/// Buffers, and the median time in microseconds where several launches were asked for.
type Ran = Result<(Outcome, Option<f64>), GpuError>;

/// The GPU on a thread of its own, for a program of several threads: the driver's context belongs
/// to a thread, and a kernel's fault to everything in the context.
pub struct GpuThread {
    requests: Sender<Request>,
    name: String,
    lost: Arc<AtomicBool>,
}

impl GpuThread {
    /// # Errors
    /// As [`Gpu::open`].
    pub fn start() -> Result<GpuThread, String> {
        let (requests, queue): (_, Receiver<Request>) = channel();
        let (opened, answer) = channel();
        let lost = Arc::new(AtomicBool::new(false));
        let said = lost.clone();
        std::thread::spawn(move || {
            let gpu = match orias_gpu::Gpu::open() {
                Ok(gpu) => gpu,
                Err(error) => {
                    let _ = opened.send(Err(error.to_string()));
                    return;
                }
            };
            let _ = opened.send(Ok(gpu.name()));
            for (cubin, launch, repetitions, result) in queue {
                let ran = gpu.run(&cubin, &launch, repetitions);
                let ran = ran.map(|ran| (ran.outcome, ran.microseconds));
                said.store(gpu.is_lost(), Ordering::SeqCst);
                // Who asked may be gone.
                let _ = result.send(ran);
            }
        });
        let name = answer.recv().map_err(|error| error.to_string())??;
        Ok(GpuThread { requests, name, lost })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a kernel has faulted or does not end: no other runs in this process.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    /// One launch on a freshly loaded module.
    pub fn run(&self, cubin: &[u8], launch: &Launch) -> Result<Outcome, GpuError> {
        self.ask(cubin, launch, 0).map(|(outcome, _)| outcome)
    }

    /// As [`Gpu::run`].
    pub fn timed(&self, cubin: &[u8], launch: &Launch) -> Ran {
        self.ask(cubin, launch, REPETITIONS)
    }

    fn ask(&self, cubin: &[u8], launch: &Launch, repetitions: usize) -> Ran {
        let (result, outcome) = channel();
        let request = (cubin.to_vec(), launch.clone(), repetitions, result);
        self.requests.send(request).map_err(|_| GpuError::Lost)?;
        outcome.recv().map_err(|_| GpuError::Lost)?
    }
}
