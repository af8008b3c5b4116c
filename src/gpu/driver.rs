//! The CUDA driver's functions that running a kernel needs, found in the driver's library at run
//! time.
//!
//! Signatures and constants are those of the CUDA Driver API (cuda.h of CUDA 12; the `_v2` names
//! are its binary interface).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;
use orias_targets::tensor_map::Element;

use super::GpuError;

pub type DevicePointer = u64;
pub type Handle = *mut c_void;

pub const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
pub const COMPUTE_CAPABILITY_MINOR: c_int = 76;
pub const SHARED_SIZE: c_int = 1;
pub const LOCAL_SIZE: c_int = 3;
pub const REGISTERS: c_int = 4;
pub const MAX_DYNAMIC_SHARED_SIZE: c_int = 8;
/// `CU_LIMIT_STACK_SIZE`.
pub const STACK_SIZE: c_int = 0;
pub const NON_PORTABLE_CLUSTER_SIZE: c_int = 14;
/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
pub const CLUSTER_DIMENSION: c_int = 4;
pub const NOT_READY: c_int = 600;
/// The keys of `cuLaunchKernel`'s `extra` list.
pub const PARAM_BUFFER: usize = 1;
pub const PARAM_BUFFER_SIZE: usize = 2;

type Status = c_int;

/// `CUlaunchAttribute`: its number, and a value of 64 bytes that is here three integers.
#[repr(C, align(8))]
pub struct LaunchAttribute {
    pub id: c_int,
    pub pad: c_uint,
    pub value: [c_uint; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub stream: Handle,
    pub attributes: *mut LaunchAttribute,
    pub attribute_count: c_uint,
}

/// `CUtensorMap`.
#[repr(C, align(64))]
pub struct TensorMapBytes(pub [u8; 128]);

macro_rules! driver {
    ($($name:ident = $symbol:literal ($($arg:ty),*);)*) => {
        /// The loaded library and its functions; they stay valid as long as the library does.
        pub struct Driver {
            $(pub $name: unsafe extern "C" fn($($arg),*) -> Status,)*
            _library: Library,
        }

        impl Driver {
            /// Loads the driver's library.
            pub fn load() -> Result<Driver, GpuError> {
                // SAFETY: loading runs the library's initialisers; the CUDA driver is made to be
                // loaded so.
                let library = unsafe { Library::new("libcuda.so.1") }
                    .map_err(|error| GpuError::NoDriver(error.to_string()))?;
                $(
                    // SAFETY: the type is that of the function in cuda.h.
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) -> Status>($symbol)
                    }
                    .map_err(|error| GpuError::NoDriver(error.to_string()))?;
                )*
                Ok(Driver { $($name,)* _library: library })
            }
        }
    };
}

driver! {
    init = b"cuInit\0" (c_uint);
    error_name = b"cuGetErrorName\0" (c_int, *mut *const c_char);
    error_string = b"cuGetErrorString\0" (c_int, *mut *const c_char);
    device_count = b"cuDeviceGetCount\0" (*mut c_int);
    device_get = b"cuDeviceGet\0" (*mut c_int, c_int);
    device_name = b"cuDeviceGetName\0" (*mut c_char, c_int, c_int);
    device_attribute = b"cuDeviceGetAttribute\0" (*mut c_int, c_int, c_int);
    context_retain = b"cuDevicePrimaryCtxRetain\0" (*mut Handle, c_int);
    context_reset = b"cuDevicePrimaryCtxReset_v2\0" (c_int);
    context_set = b"cuCtxSetCurrent\0" (Handle);
    set_limit = b"cuCtxSetLimit\0" (c_int, usize);
    synchronize = b"cuCtxSynchronize\0" ();
    module_load = b"cuModuleLoadData\0" (*mut Handle, *const c_void);
    module_unload = b"cuModuleUnload\0" (Handle);
    module_function = b"cuModuleGetFunction\0" (*mut Handle, Handle, *const c_char);
    function_set = b"cuFuncSetAttribute\0" (Handle, c_int, c_int);
    function_get = b"cuFuncGetAttribute\0" (*mut c_int, c_int, Handle);
    alloc = b"cuMemAlloc_v2\0" (*mut DevicePointer, usize);
    free = b"cuMemFree_v2\0" (DevicePointer);
    to_device = b"cuMemcpyHtoD_v2\0" (DevicePointer, *const c_void, usize);
    to_host = b"cuMemcpyDtoH_v2\0" (*mut c_void, DevicePointer, usize);
    fill = b"cuMemsetD8Async\0" (DevicePointer, u8, usize, Handle);
    launch_ex = b"cuLaunchKernelEx\0" (*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);
    tensor_map_tiled = b"cuTensorMapEncodeTiled\0" (*mut TensorMapBytes, c_int, c_uint, *mut c_void, *const u64, *const u64, *const c_uint, *const c_uint, c_int, c_int, c_int, c_int);
    event_create = b"cuEventCreate\0" (*mut Handle, c_uint);
    event_record = b"cuEventRecord\0" (Handle, Handle);
    event_query = b"cuEventQuery\0" (Handle);
    event_elapsed = b"cuEventElapsedTime\0" (*mut f32, Handle, Handle);
    event_destroy = b"cuEventDestroy_v2\0" (Handle);
}

/// The `CUtensorMapDataType` of an element.
pub fn element(element: Element) -> c_int {
    match element {
        Element::U8 => 0,
        Element::U16 => 1,
        Element::U32 => 2,
        Element::S32 => 3,
        Element::U64 => 4,
        Element::S64 => 5,
        Element::F16 => 6,
        Element::F32 => 7,
        Element::F64 => 8,
        Element::Bf16 => 9,
        Element::F32Ftz => 10,
        Element::Tf32 => 11,
        Element::Tf32Ftz => 12,
    }
}

impl Driver {
    /// The error of a status that is not success.
    pub fn check(&self, what: &'static str, status: Status) -> Result<(), GpuError> {
        if status == 0 {
            return Ok(());
        }
        Err(GpuError::Call {
            what,
            name: self.text(self.error_name, status),
            text: self.text(self.error_string, status),
        })
    }

    fn text(
        &self,
        function: unsafe extern "C" fn(c_int, *mut *const c_char) -> Status,
        status: Status,
    ) -> String {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the function writes one pointer, to a constant string of the driver or null.
        if unsafe { function(status, &mut text) } != 0 || text.is_null() {
            return format!("error {status}");
        }
        // SAFETY: not null, and a constant C string of the driver.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}
