//! A launch as it is asked for, with its arguments, and what it gives.

use super::error::LaunchError;
use super::tensor::TensorArgument;
use orias_targets::simulator::{Hazard, Ran};
use rustc_hash::FxHashMap;
use std::path::PathBuf;

/// Threads in a block at most (CUDA C++ Programming Guide, "Compute Capabilities").
pub const MAX_THREADS: u64 = 1024;

/// Shared memory of a block at most on sm_90: 227 KiB, static and dynamic together.
pub const MAX_SHARED: u64 = 227 * 1024;

/// Device memory of a launch at most (bytes), buffers and variables each: more than this is a
/// mistake, and would take the memory of the machine that this runs on.
pub const MAX_MEMORY: u64 = 16 << 30;

/// Local memory of a thread at most (CUDA C++ Programming Guide, "Compute Capabilities": 512 KiB).
pub const MAX_LOCAL: u64 = 512 << 10;

/// What to run, with which arguments.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The name of the kernel.
    pub entry: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y and z; None: as the kernel says, or one block each. See
    /// [`Launch::clusters`].
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// In the order of the kernel's parameters.
    pub args: Vec<Argument>,
}

/// One kernel argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// A number; it fills its parameter's bytes, or is truncated to them.
    Scalar(Scalar),
    /// A parameter passed by value, all its bytes.
    Bytes(Vec<u8>),
    /// A pointer to a device buffer.
    Buffer(Buffer),
    /// The map of a tensor in another argument's buffer, passed by value.
    Tensor(TensorArgument),
}

/// A number with the type that it was given as.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// `u32=`
    U32(u32),
    /// `s32=`
    S32(i32),
    /// `u64=`
    U64(u64),
    /// `s64=`
    S64(i64),
    /// `f32=`, a decimal rounded once, or bits.
    F32(f32),
    /// `f64=`, likewise.
    F64(f64),
}

/// A device buffer's content, and where it goes afterwards.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Buffer {
    /// What it holds before the launch: its size too.
    pub bytes: Vec<u8>,
    /// False: a store to it is an error.
    pub writable: bool,
    /// The file that gets the content after the launch.
    pub output: Option<PathBuf>,
}

/// What a launch gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// The content of each buffer argument after the launch, in argument order.
    pub buffers: Vec<Vec<u8>>,
    /// Thread instructions: one for each lane that an instruction ran for.
    pub thread_instructions: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Estimated cycles; None where the engine has no timing.
    pub cycles: Option<u64>,
    /// Misuse found, where it was looked for: one line for each instruction.
    pub misuse: Vec<String>,
    /// Hazards found in machine code, where they were looked for.
    pub hazards: Vec<Hazard>,
    /// The instructions that ran, where hazards were looked for.
    pub ran: Vec<Ran>,
    /// Of what ran, what ptxas was never seen to emit on the SM, where hazards were looked for: a
    /// line for each instruction.
    pub unseen: Vec<String>,
    /// By the byte of the PTX at which an instruction begins, how many threads came to it, where
    /// that was asked for.
    pub reached: FxHashMap<u32, u64>,
    /// What the threads printed (`vprintf`), in the order of their calls.
    pub printed: Vec<u8>,
}

impl Launch {
    /// Checks grid, block and shared memory against the limits of the device and of the kernel.
    /// `static_shared` is in bytes.
    pub fn check_shape(&self, static_shared: u64) -> Result<(), LaunchError> {
        let [x, y, z] = self.block.map(u64::from);
        let [gx, gy, gz] = self.grid.map(u64::from);
        let shape = |text| Err(LaunchError::Shape(text));
        if [x, y, z, gx, gy, gz].contains(&0) {
            return shape("grid and block must be at least 1 in each direction".to_string());
        }
        if x.saturating_mul(y).saturating_mul(z) > MAX_THREADS || z > 64 {
            return shape(format!(
                "a block of {x} x {y} x {z} threads is more than {MAX_THREADS} threads, or more than 64 in z"
            ));
        }
        if gx > 0x7fff_ffff || gy > 0xffff || gz > 0xffff {
            return shape(format!(
                "a grid of {gx} x {gy} x {gz} blocks is larger than the device takes"
            ));
        }
        let shared = static_shared.saturating_add(self.dynamic_shared);
        if shared > MAX_SHARED {
            return shape(format!("{shared} bytes of shared memory are more than {MAX_SHARED}"));
        }
        Ok(())
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|n| u64::from(*n)).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_beyond_the_device_are_refused() {
        let launch = |grid, block, dynamic_shared| Launch {
            grid,
            block,
            dynamic_shared,
            ..Launch::default()
        };
        assert!(launch([1, 1, 1], [1024, 1, 1], MAX_SHARED).check_shape(0).is_ok());
        assert!(launch([1, 1, 1], [1024, 2, 1], 0).check_shape(0).is_err());
        assert!(launch([1, 0, 1], [32, 1, 1], 0).check_shape(0).is_err());
        assert!(launch([1, 65536, 1], [32, 1, 1], 0).check_shape(0).is_err());
        assert!(launch([1, 1, 1], [1, 1, 65], 0).check_shape(0).is_err());
        assert!(launch([1, 1, 1], [u32::MAX; 3], 0).check_shape(0).is_err());
        assert!(launch([1, 1, 1], [32, 1, 1], MAX_SHARED).check_shape(1).is_err());
    }
}
