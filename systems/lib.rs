//! The pipeline of 159 phases over the Ori IR.

pub mod analysis;
pub mod build;
pub mod calls;
pub mod control_flow;
pub mod effects;
pub mod expand;
pub mod function;
pub mod knobs;
pub mod legalize;
pub mod loops;
pub mod manager;
pub mod memory;
pub mod mercury;
pub mod notes;
pub mod parallel;
pub mod params;
pub mod pieces;
pub mod pipeline;
pub mod profile;
pub mod registers;
pub mod report;
pub mod scalar;
pub mod schedule;
pub mod ssa;
pub mod states;
pub mod stop;
pub mod sync;
pub mod testing;
pub mod uniform;

pub use function::{Compiled, FunctionInfo, Options, PhaseStat, PieceStats, TextReloc};
pub use manager::{PipelineError, Worker};
pub use notes::{Notes, PhaseError, Report};
pub use stop::{Cancel, Stop, Stopped};
