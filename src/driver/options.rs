//! What a compile is told besides the PTX.

use std::time::Duration;

use crate::overrides::Overrides;
use crate::profiles::Profiles;
use crate::ptx::program::Program;
use crate::recipes::Recipes;

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
    /// Names of phases that do not run (`--disable-phase`).
    pub disabled: Vec<String>,
    /// The last phase that runs, by index (`--phase-limit`); None is all of them.
    pub phase_limit: Option<u32>,
    /// Collect [`Output::stats`](super::output::Output::stats) and
    /// [`Output::measured`](super::output::Output::measured).
    pub statistics: bool,
    /// With statistics: keep those of each function too. Functions then go through the phases one
    /// by one, so that each has a time of its own.
    pub trace: bool,
    /// Names and values of `--knob`.
    pub knobs: Vec<(String, String)>,
    /// Knobs and phases left out by the functions' names (`--recipes`).
    pub recipes: Recipes,
    /// How often functions' instructions were seen to run (`--use-profile`).
    pub profiles: Profiles,
    /// Threads to use; 0 is one for each core, in the pool that the compile is called from or
    /// rayon's own. One is the calling thread and no pool.
    pub threads: usize,
    /// How long code generation may take at this level (wall time, from the start of the compile).
    /// When that is over, the module is compiled at -O1, in as much time again, and at last at -O0,
    /// which has no limit: [`Output::fell_back`](super::output::Output::fell_back) says so. What a
    /// fall-back made depends on the machine's mood, so it must not be kept in a cache. None, the
    /// default, is no limit. Looked at between phases and between functions; reading the text is
    /// not interrupted.
    pub budget: Option<Duration>,
    /// Say which lines the code comes from also where the PTX names none (`--generate-line-info`),
    /// or never (`--suppress-debug-info`).
    pub line_info: bool,
    /// Say no lines at all, whatever the PTX names.
    pub suppress_debug_info: bool,
    /// What the command line changes of the module, such as the kernels that are asked for.
    pub overrides: Overrides,
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
            trace: false,
            knobs: Vec::new(),
            recipes: Recipes::default(),
            profiles: Profiles::default(),
            threads: 0,
            budget: None,
            line_info: false,
            suppress_debug_info: false,
            overrides: Overrides::default(),
        }
    }
}

impl CompileOptions {
    /// Whether the file says which lines its code comes from. Observed: ptxas 13.0.88 does for any
    /// PTX with `.loc`.
    pub(super) fn with_lines(&self, program: &Program<'_>) -> bool {
        let places = || program.functions.iter().any(|f| f.code.has_locs());
        !self.suppress_debug_info && (self.line_info || places())
    }
}
