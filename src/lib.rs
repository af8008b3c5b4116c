//! orias: PTX in, cubin out; and the means to see and check everything on the way.

/// For the program's allocator.
#[doc(hidden)]
pub mod ahead;
pub mod assemble;
pub mod attributes;
pub mod cache;
pub mod check;
pub mod cli;
pub mod compiler;
pub mod digest;
pub mod dis;
pub mod driver;
pub mod elf;
pub mod facts;
pub mod inlined;
pub mod input;
pub mod interpret;
pub mod json_lines;
pub mod launch;
pub mod lines;
pub mod link;
pub mod list;
pub mod lower;
/// For the program's allocator.
#[doc(hidden)]
pub mod nursery;
pub mod origin;
pub mod overrides;
pub mod profiles;
pub mod ptx;
pub mod recipes;
pub mod simulate;
pub mod times;
pub mod whole;

pub use cache::Cache;
pub use compiler::{Compiler, Job};
pub use driver::{CompileError, CompileOptions, FunctionReport, Output, Times};
pub use orias_systems::{Cancel, PhaseStat};
pub use ptx::diagnostics::{Diagnostic, Diagnostics, LineMap, Position, Severity};
pub use ptx::types::Span;
