//! From PTX text to a cubin: the whole way, in memory.

use orias_systems::PhaseStat;
use orias_targets::Target;

use crate::ptx;
use crate::ptx::diagnostics::{Diagnostic, Diagnostics};

/// How to compile; the default is what ptxas does without options, for the PTX's own target.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// `--gpu-name`; None is the PTX's own `.target`.
    pub target: Option<String>,
    /// 0..=3
    pub opt_level: u8,
    /// Contract multiplications and additions.
    pub fmad: bool,
    /// `--maxrregcount`
    pub max_registers: Option<u32>,
    /// Validate the IR after each phase.
    pub verify_each: bool,
    /// Phases whose IR is printed before and after.
    pub dump_ir: Vec<String>,
    pub disabled: Vec<String>,
    pub phase_limit: Option<u32>,
    /// Collect [`Output::stats`].
    pub statistics: bool,
    pub knobs: Vec<(String, String)>,
    /// Threads to use; 0 is one for each core.
    pub threads: usize,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            target: None,
            opt_level: 3,
            fmad: true,
            max_registers: None,
            verify_each: false,
            dump_ir: Vec::new(),
            disabled: Vec::new(),
            phase_limit: None,
            statistics: false,
            knobs: Vec::new(),
            threads: 0,
        }
    }
}

/// What `-v` says of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionReport {
    pub name: String,
    pub entry: bool,
    pub registers: u32,
    pub barriers: u32,
    /// Bytes.
    pub shared_bytes: u32,
    pub frame_bytes: u32,
    pub spill_store_bytes: u32,
    pub spill_load_bytes: u32,
    /// Bytes of constant bank 0 and of bank 3.
    pub constant_bytes: [u32; 2],
}

/// A compiled module.
#[derive(Clone, Debug)]
pub struct Output {
    pub cubin: Vec<u8>,
    pub target: &'static Target,
    pub functions: Vec<FunctionReport>,
    pub warnings: Diagnostics,
    /// Bytes of initialised and zero global memory.
    pub global_bytes: u64,
    /// One row a phase, summed over functions, when asked for.
    pub stats: Vec<PhaseStat>,
    /// `--dump-ir` text, in source order of the functions.
    pub dump: String,
}

/// Compiles PTX text to a cubin. `name` is what messages call the file.
///
/// # Errors
/// Everything that is wrong with the PTX, with places; or what this compiler cannot do yet, said so.
pub fn compile_source(
    _name: &str,
    source: &str,
    options: &CompileOptions,
) -> Result<Output, Diagnostics> {
    let program = ptx::load(source)?;
    let name = options.target.as_deref().unwrap_or(program.target);
    if orias_targets::target(name).is_none() {
        let message = format!("Value '{name}' is not defined for option 'gpu-name'");
        return Err(Diagnostic::global(message).into());
    }
    Err(Diagnostic::global("Code generation is not connected yet").into())
}
