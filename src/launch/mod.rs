//! One launch of a kernel, whatever runs it: the interpreter, the simulator or a GPU.
//!
//! What holds after [`place`]: every buffer has its own region of device memory, in argument order
//! and at a fixed 256-byte aligned address, and the parameter block holds each argument at its
//! parameter's offset.

mod argument;
mod buffers;
pub mod case;
mod cluster;
pub mod compare;
mod error;
mod parameters;
mod placed;
mod report;
mod request;
mod tensor;

pub use argument::parse_argument;
pub use buffers::{place, write_outputs};
pub use cluster::{ClusterRules, Clusters, MAX_CLUSTER};
pub use error::LaunchError;
pub use parameters::{Parameter, parameter_block};
pub use placed::Placed;
pub use report::report;
pub use request::{
    Argument, Buffer, Launch, MAX_LOCAL, MAX_MEMORY, MAX_SHARED, MAX_THREADS, Outcome, Scalar,
};
pub use tensor::{TensorArgument, parse_tensor};
