//! Running a cubin's kernel on a real GPU, through the CUDA driver that is loaded at run time.
//!
//! Each launch is one on a freshly loaded module, as in the interpreter and the simulator. A kernel
//! that faults or does not end leaves the device unusable for the process's context: after a fault
//! the context is made anew, after a kernel that does not end nothing more can run.

mod driver;

use std::cell::Cell;
use std::ffi::{CString, c_int, c_uint, c_void};
use std::time::{Duration, Instant};

use driver::{DevicePointer, Driver, Handle, LaunchAttribute, LaunchConfig, TensorMapBytes};

use orias::elf::read::{Cubin, ReadError};
use orias::launch::{Argument, Launch, LaunchError, Outcome, Parameter, Placed, parameter_block};
use orias_targets::tensor_map::TensorMap;

/// How long a kernel may run.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Bytes of stack of each thread, where the kernel does not say how many it needs.
const STACK_BYTES: usize = 16 << 10;

/// Bytes that are filled before a timed launch, so that the device is busy until the launch is
/// queued behind it, and finds nothing of its data in the caches.
const DELAY_BYTES: usize = 256 << 20;

#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    #[error("there is no CUDA driver on this machine: {0}")]
    NoDriver(String),
    #[error("the CUDA driver finds no GPU")]
    NoDevice,
    #[error("the GPU is an sm_{device}, the cubin is for sm_{cubin}")]
    Architecture { device: u32, cubin: u32 },
    #[error("{what}: {name}: {text}")]
    Call { what: &'static str, name: String, text: String },
    #[error("the kernel did not end in {} seconds", TIME_LIMIT.as_secs())]
    Timeout,
    #[error("the GPU is lost to this process: an earlier kernel faulted or does not end")]
    Lost,
    #[error("{0}")]
    Launch(#[from] LaunchError),
    #[error("{0}")]
    Read(#[from] ReadError),
}

/// The first GPU of the machine, with a context of this process.
pub struct Gpu {
    driver: Driver,
    device: c_int,
    context: Cell<Handle>,
    lost: Cell<bool>,
}

/// What a launch on the GPU gave.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuOutcome {
    /// Its counts are zero: the device does not count.
    pub outcome: Outcome,
    /// The median kernel time in microseconds, if repetitions were asked for.
    pub microseconds: Option<f64>,
}

/// What the driver made of a kernel that it loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory of a block.
    pub shared: u32,
    /// Bytes of local memory of a thread.
    pub local: u32,
}

impl Gpu {
    /// # Errors
    /// Says what is missing: the driver, or a device.
    pub fn open() -> Result<Gpu, GpuError> {
        let driver = Driver::load()?;
        // SAFETY: no arguments that could be wrong; the first call of the API.
        driver.check("cuInit", unsafe { (driver.init)(0) })?;
        let mut count = 0;
        // SAFETY: writes one integer.
        driver.check("cuDeviceGetCount", unsafe { (driver.device_count)(&mut count) })?;
        if count == 0 {
            return Err(GpuError::NoDevice);
        }
        let mut device = 0;
        // SAFETY: writes one integer; device 0 exists.
        driver.check("cuDeviceGet", unsafe { (driver.device_get)(&mut device, 0) })?;
        let context = Cell::new(std::ptr::null_mut());
        let gpu = Gpu { driver, device, context, lost: Cell::new(false) };
        gpu.make_current()?;
        Ok(gpu)
    }

    fn make_current(&self) -> Result<(), GpuError> {
        let mut context = std::ptr::null_mut();
        let driver = &self.driver;
        // SAFETY: writes one handle, that of the device's primary context, which lives until it is
        // reset.
        let status = unsafe { (driver.context_retain)(&mut context, self.device) };
        driver.check("cuDevicePrimaryCtxRetain", status)?;
        // SAFETY: the handle is valid.
        driver.check("cuCtxSetCurrent", unsafe { (driver.context_set)(context) })?;
        // Of a kernel with recursion or calls through pointers nobody knows how much it needs.
        // Where a device has less, kernels that need less run.
        // SAFETY: a limit of the current context.
        unsafe { (driver.set_limit)(driver::STACK_SIZE, STACK_BYTES) };
        self.context.set(context);
        Ok(())
    }

    /// The device's name, such as `NVIDIA H100 80GB HBM3`.
    pub fn name(&self) -> String {
        let mut name = [0 as std::ffi::c_char; 256];
        // SAFETY: writes at most 256 bytes, a C string.
        let status = unsafe { (self.driver.device_name)(name.as_mut_ptr(), 256, self.device) };
        if status != 0 {
            return "unknown GPU".to_string();
        }
        let bytes = name.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect::<Vec<_>>();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The compute capability as a number: 90 for sm_90.
    pub fn capability(&self) -> Result<u32, GpuError> {
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: writes one integer.
            let status =
                unsafe { (self.driver.device_attribute)(&mut value, attribute, self.device) };
            self.driver.check("cuDeviceGetAttribute", status).map(|()| value as u32)
        };
        Ok(get(driver::COMPUTE_CAPABILITY_MAJOR)? * 10 + get(driver::COMPUTE_CAPABILITY_MINOR)?)
    }

    /// Loads a cubin, launches nothing, and says what the driver takes its kernels to be.
    pub fn load(&self, cubin: &[u8]) -> Result<Vec<Loaded>, GpuError> {
        let read = Cubin::read(cubin)?;
        let module = Module::new(self, cubin)?;
        let mut all = Vec::new();
        for kernel in read.kernels() {
            let function = module.function(kernel.name)?;
            let get = |attribute| {
                let mut value = 0;
                // SAFETY: a function of a loaded module; writes one integer.
                let status = unsafe { (self.driver.function_get)(&mut value, attribute, function) };
                self.driver.check("cuFuncGetAttribute", status).map(|()| value as u32)
            };
            all.push(Loaded {
                name: kernel.name.to_string(),
                registers: get(driver::REGISTERS)?,
                shared: get(driver::SHARED_SIZE)?,
                local: get(driver::LOCAL_SIZE)?,
            });
        }
        Ok(all)
    }

    /// Whether an earlier kernel has faulted or does not end: no other runs in this process.
    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// One launch for its result, then `repetitions` for the median time of the kernel.
    pub fn run(
        &self,
        cubin: &[u8],
        launch: &Launch,
        repetitions: usize,
    ) -> Result<GpuOutcome, GpuError> {
        if self.lost.get() {
            return Err(GpuError::Lost);
        }
        let result = self.all(cubin, launch, repetitions);
        match &result {
            Err(GpuError::Timeout) => self.lost.set(true),
            Err(GpuError::Call { .. }) => {
                // A refusal leaves the context as it is. A fault stays with it, and since CUDA 13
                // with the process: then not even a new context can be had.
                // SAFETY: all handles of the old context were released or are not used again.
                unsafe { (self.driver.context_reset)(self.device) };
                self.lost.set(self.make_current().is_err());
            }
            _ => {}
        }
        result
    }

    fn all(
        &self,
        cubin: &[u8],
        launch: &Launch,
        repetitions: usize,
    ) -> Result<GpuOutcome, GpuError> {
        let read = Cubin::read(cubin)?;
        let device = self.capability()?;
        if device != read.sm() {
            return Err(GpuError::Architecture { device, cubin: read.sm() });
        }
        let kernel = read.kernel(&launch.entry).ok_or_else(|| LaunchError::NoKernel {
            name: launch.entry.clone(),
            kernels: read.kernels().map(|k| k.name.to_string()).collect(),
        })?;
        launch.check_shape(0)?;
        let parameters: Vec<Parameter> = kernel
            .params
            .iter()
            .map(|p| Parameter { offset: u64::from(p.offset), size: u64::from(p.size) })
            .collect();
        let buffers = Buffers::new(self, &launch.args)?;
        let placed = buffers.placed();
        let mut block = parameter_block(launch, &parameters, &placed)?;
        // The map that the driver makes, in place of ours.
        for (arg, parameter) in launch.args.iter().zip(&parameters) {
            let Argument::Tensor(tensor) = arg else { continue };
            let base = placed.address(tensor.buffer).unwrap_or_default();
            let map = TensorMap { address: base + tensor.map.address, ..tensor.map };
            let slot = &mut block[parameter.offset as usize..][..parameter.size as usize];
            slot.copy_from_slice(&self.tensor_map(&map)?);
        }
        let delay = if repetitions > 0 { Some(Memory::new(self, DELAY_BYTES)?) } else { None };
        let mut times = Vec::with_capacity(repetitions);
        buffers.fill(self, &launch.args)?;
        self.once(cubin, launch, &block, None)?;
        let contents = buffers.contents(self, &launch.args)?;
        for _ in 0..repetitions {
            buffers.fill(self, &launch.args)?;
            times.push(self.once(cubin, launch, &block, delay.as_ref())?);
        }
        times.sort_by(f64::total_cmp);
        let outcome = Outcome { buffers: contents, ..Outcome::default() };
        Ok(GpuOutcome { outcome, microseconds: times.get(times.len() / 2).copied() })
    }

    /// The driver's object for a map in tiled mode.
    pub fn tensor_map(&self, map: &TensorMap) -> Result<[u8; 128], GpuError> {
        if map.im2col.is_some() {
            let why = "tensor maps of the im2col mode are not passed on to a GPU yet";
            return Err(LaunchError::Shape(why.to_string()).into());
        }
        let mut bytes = TensorMapBytes([0; 128]);
        let dims = map.dims.map(u64::from);
        // SAFETY: writes 128 bytes at an address that is a multiple of 64; the arrays have five
        // numbers (strides four), and the driver reads as many as the rank says.
        let status = unsafe {
            (self.driver.tensor_map_tiled)(
                &mut bytes,
                driver::element(map.element),
                map.rank,
                map.address as *mut c_void,
                dims.as_ptr(),
                map.strides.as_ptr(),
                map.boxes.as_ptr(),
                map.element_strides.as_ptr(),
                map.interleave as c_int,
                map.swizzle as c_int,
                0,
                c_int::from(map.fill_nan),
            )
        };
        self.driver.check("cuTensorMapEncodeTiled", status)?;
        Ok(bytes.0)
    }

    /// Loads the module and launches the kernel; the kernel's time in microseconds.
    fn once(
        &self,
        cubin: &[u8],
        launch: &Launch,
        block: &[u8],
        delay: Option<&Memory<'_>>,
    ) -> Result<f64, GpuError> {
        let driver = &self.driver;
        let module = Module::new(self, cubin)?;
        let function = module.function(&launch.entry)?;
        let shared = launch.dynamic_shared as c_int;
        if shared > 0 {
            // SAFETY: a function of a loaded module.
            let status =
                unsafe { (driver.function_set)(function, driver::MAX_DYNAMIC_SHARED_SIZE, shared) };
            driver.check("cuFuncSetAttribute", status)?;
        }
        let (start, end) = (Event::new(self)?, Event::new(self)?);
        // SAFETY: waits for the context's work; no arguments.
        driver.check("cuCtxSynchronize", unsafe { (driver.synchronize)() })?;
        if let Some(delay) = delay {
            // SAFETY: fills memory that was allocated with this size.
            let status =
                unsafe { (driver.fill)(delay.pointer, 0, DELAY_BYTES, std::ptr::null_mut()) };
            driver.check("cuMemsetD8Async", status)?;
        }
        start.record()?;
        let mut block = block.to_vec();
        let mut size = block.len();
        let mut extra = [
            driver::PARAM_BUFFER as *mut c_void,
            block.as_mut_ptr().cast(),
            driver::PARAM_BUFFER_SIZE as *mut c_void,
            (&raw mut size).cast(),
            std::ptr::null_mut(),
        ];
        let cluster = launch.cluster.unwrap_or([1; 3]);
        if cluster.iter().product::<u32>() > 8 {
            // SAFETY: a function of a loaded module.
            let status =
                unsafe { (driver.function_set)(function, driver::NON_PORTABLE_CLUSTER_SIZE, 1) };
            driver.check("cuFuncSetAttribute", status)?;
        }
        let mut shape = LaunchAttribute {
            id: driver::CLUSTER_DIMENSION,
            pad: 0,
            value: std::array::from_fn(|i| cluster.get(i).copied().unwrap_or(0)),
        };
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            shared: shared as c_uint,
            stream: std::ptr::null_mut(),
            attributes: &raw mut shape,
            attribute_count: u32::from(launch.cluster.is_some()),
        };
        // SAFETY: a function of a loaded module; the parameters are copied from the block during
        // the call, whose size is that of the kernel's parameters.
        let status = unsafe {
            (driver.launch_ex)(&config, function, std::ptr::null_mut(), extra.as_mut_ptr())
        };
        driver.check("cuLaunchKernelEx", status)?;
        end.record()?;
        if let Err(error) = end.wait() {
            if matches!(error, GpuError::Timeout) {
                // Unloading would wait for the kernel, for ever.
                std::mem::forget(module);
            }
            return Err(error);
        }
        start.microseconds_until(&end)
    }
}

/// A loaded module.
struct Module<'g> {
    gpu: &'g Gpu,
    handle: Handle,
}

impl<'g> Module<'g> {
    fn new(gpu: &'g Gpu, cubin: &[u8]) -> Result<Module<'g>, GpuError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the driver reads the ELF file whose sizes its own headers say; `Cubin::read` has
        // checked them against the slice.
        let status = unsafe { (gpu.driver.module_load)(&mut handle, cubin.as_ptr().cast()) };
        gpu.driver.check("cuModuleLoadData", status)?;
        Ok(Module { gpu, handle })
    }

    fn function(&self, name: &str) -> Result<Handle, GpuError> {
        let none = || LaunchError::NoKernel { name: name.to_string(), kernels: Vec::new() };
        let text = CString::new(name).map_err(|_| none())?;
        let mut function = std::ptr::null_mut();
        // SAFETY: a loaded module and a C string; writes one handle.
        let status =
            unsafe { (self.gpu.driver.module_function)(&mut function, self.handle, text.as_ptr()) };
        self.gpu.driver.check("cuModuleGetFunction", status)?;
        Ok(function)
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: loaded, and unloaded once. After a fault this fails, and the reset of the context
        // frees it.
        unsafe { (self.gpu.driver.module_unload)(self.handle) };
    }
}

struct Event<'g> {
    gpu: &'g Gpu,
    handle: Handle,
}

impl<'g> Event<'g> {
    fn new(gpu: &'g Gpu) -> Result<Event<'g>, GpuError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: writes one handle.
        gpu.driver.check("cuEventCreate", unsafe { (gpu.driver.event_create)(&mut handle, 0) })?;
        Ok(Event { gpu, handle })
    }

    fn record(&self) -> Result<(), GpuError> {
        // SAFETY: a live event, on the default stream.
        let status = unsafe { (self.gpu.driver.event_record)(self.handle, std::ptr::null_mut()) };
        self.gpu.driver.check("cuEventRecord", status)
    }

    fn wait(&self) -> Result<(), GpuError> {
        let start = Instant::now();
        loop {
            // SAFETY: a live event.
            let status = unsafe { (self.gpu.driver.event_query)(self.handle) };
            if status != driver::NOT_READY {
                return self.gpu.driver.check("the kernel", status);
            }
            if start.elapsed() > TIME_LIMIT {
                return Err(GpuError::Timeout);
            }
            std::thread::yield_now();
        }
    }

    fn microseconds_until(&self, end: &Event<'_>) -> Result<f64, GpuError> {
        let mut milliseconds = 0f32;
        // SAFETY: two recorded events; writes one float.
        let status =
            unsafe { (self.gpu.driver.event_elapsed)(&mut milliseconds, self.handle, end.handle) };
        self.gpu.driver.check("cuEventElapsedTime", status)?;
        Ok(f64::from(milliseconds) * 1000.0)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: created, and destroyed once.
        unsafe { (self.gpu.driver.event_destroy)(self.handle) };
    }
}

/// Device memory.
struct Memory<'g> {
    gpu: &'g Gpu,
    pointer: DevicePointer,
}

impl<'g> Memory<'g> {
    fn new(gpu: &'g Gpu, bytes: usize) -> Result<Memory<'g>, GpuError> {
        let mut pointer = 0;
        // SAFETY: writes one pointer. The driver refuses sizes of zero.
        let status = unsafe { (gpu.driver.alloc)(&mut pointer, bytes.max(1)) };
        gpu.driver.check("cuMemAlloc", status)?;
        Ok(Memory { gpu, pointer })
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if !self.gpu.lost.get() {
            // SAFETY: allocated, and freed once.
            unsafe { (self.gpu.driver.free)(self.pointer) };
        }
    }
}

/// The buffers of a launch: for each argument its memory, if it is one. The driver aligns them to
/// 256 bytes at least.
struct Buffers<'g> {
    memory: Vec<Option<Memory<'g>>>,
}

impl<'g> Buffers<'g> {
    fn new(gpu: &'g Gpu, args: &[Argument]) -> Result<Buffers<'g>, GpuError> {
        let memory = args.iter().map(|arg| match arg {
            Argument::Buffer(buffer) => Memory::new(gpu, buffer.bytes.len()).map(Some),
            _ => Ok(None),
        });
        Ok(Buffers { memory: memory.collect::<Result<_, _>>()? })
    }

    fn placed(&self) -> Placed {
        Placed::new(self.memory.iter().map(|m| m.as_ref().map(|m| m.pointer)).collect())
    }

    fn fill(&self, gpu: &Gpu, args: &[Argument]) -> Result<(), GpuError> {
        for (memory, arg) in self.memory.iter().zip(args) {
            let (Some(memory), Argument::Buffer(buffer)) = (memory, arg) else { continue };
            let bytes = &buffer.bytes;
            if !bytes.is_empty() {
                // SAFETY: both sides have that many bytes.
                let status = unsafe {
                    (gpu.driver.to_device)(memory.pointer, bytes.as_ptr().cast(), bytes.len())
                };
                gpu.driver.check("cuMemcpyHtoD", status)?;
            }
        }
        Ok(())
    }

    fn contents(&self, gpu: &Gpu, args: &[Argument]) -> Result<Vec<Vec<u8>>, GpuError> {
        let mut all = Vec::new();
        for (memory, arg) in self.memory.iter().zip(args) {
            let (Some(memory), Argument::Buffer(buffer)) = (memory, arg) else { continue };
            let mut bytes = vec![0u8; buffer.bytes.len()];
            if !bytes.is_empty() {
                // SAFETY: both sides have that many bytes.
                let status = unsafe {
                    (gpu.driver.to_host)(bytes.as_mut_ptr().cast(), memory.pointer, bytes.len())
                };
                gpu.driver.check("cuMemcpyDtoH", status)?;
            }
            all.push(bytes);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_gpu_says_so() {
        match Gpu::open() {
            Ok(gpu) => assert!(!gpu.name().is_empty()),
            Err(error @ (GpuError::NoDriver(_) | GpuError::NoDevice)) => {
                let text = error.to_string();
                assert!(text.contains("no CUDA driver") || text.contains("no GPU"), "{text}");
            }
            // A driver without a device may fail in cuInit.
            Err(GpuError::Call { what, .. }) => assert_eq!(what, "cuInit"),
            Err(other) => panic!("{other}"),
        }
    }
}
