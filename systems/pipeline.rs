//! The table of all 159 phases, in the order in which they run.
//!
//! Passes come back at several stages, so the order lives only here and the code by topic in the
//! folders beside this file: to find a phase, look up its name; its row names the function. To add
//! one, write a system and replace `PLANNED` in its row by one of
//!
//! * [`needed`]: without it there is no correct code: it runs at every level, cannot be disabled
//!   and ignores `--phase-limit`;
//! * [`needed_at_gate`]: the same, but only at the levels of its gate (one of several ways to do a
//!   needed job);
//! * [`always`]: runs at every level, may be disabled;
//! * [`optional`]: makes code better: runs where its gate says, which is O>1 when the reference
//!   documents give no gate.
//!
//! What runs and is not `needed` may be switched off by `--disable-phase`, and changes the result
//! in speed only.

use crate::analysis::cfg;
use crate::calls;
use crate::control_flow::{
    branches, cold, equivalent, layout, nested, predication, sinking, switch_opt, switches,
};
use crate::expand::{macros, place};
use crate::legalize::{guards, operands};
use crate::loops::{invariants, rotate, unroll};
use crate::memory::{atomics, local, vectorize};
use crate::report::check;
use crate::scalar::{common, dead_code, fold, linear, nan_or_zero, near, phis, propagate};
use crate::states::Found;
use crate::sync::{convergence, idle, progress, workarounds};
use crate::uniform::{constants, dimensions, lanes};
use crate::{mercury, registers, schedule, ssa};
use orias_components::{Facts, Opcode, Props};
use std::fmt;

/// A phase's code: a system. What it may touch its parameters say:
/// [`Reader`](orias_components::Reader) or [`Code`](orias_components::Code), and the resources that
/// it names. Its errors and its count of rewrites go to [`Notes`](crate::notes::Notes).
#[derive(Clone, Copy)]
pub struct System {
    /// The function: phases with the same one do the same.
    pub name: &'static str,
    /// What a function must have for the phase to find anything: without it the phase is not run.
    pub applies: Option<fn(&Facts) -> bool>,
    /// Runs it.
    pub run: fn(&mut Found<'_>),
}

/// The [`System`] of a function; behind `where` is what the body must have.
macro_rules! system {
    ($function:path) => {
        system!($function, None)
    };
    ($function:path where $applies:expr) => {
        system!($function, Some($applies))
    };
    ($function:path, $applies:expr) => {
        System { name: stringify!($function), applies: $applies, run: |found| found.run($function) }
    };
}

/// One row of the table.
#[derive(Clone, Copy)]
pub struct Phase {
    /// Place in the order of execution.
    pub index: u16,
    /// As the reference compiler calls it, its spelling too.
    pub name: &'static str,
    /// The part of the pipeline.
    pub stage: Stage,
    /// What it is for.
    pub category: Category,
    /// The levels that the reference compiler runs it at.
    pub gate: Gate,
    /// What there is of it.
    pub status: Status,
}

/// Part of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Makes the function fit to work on.
    Setup,
    /// Optimizations before SSA form and at its beginning.
    Early,
    /// Loops, predication and values across blocks.
    Mid,
    /// Expansions and what they leave to clean up.
    Late,
    /// Makes instructions such as the target has them.
    Legal,
    /// Registers and the order of instructions.
    Sched,
    /// What follows from registers being physical.
    Post,
    /// Machine words, scoreboards and stalls.
    Mercury,
    /// What follows the machine words.
    Final,
    /// The end.
    Terminal,
}

impl Stage {
    /// As `orias phases` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Setup => "1-initial-setup",
            Stage::Early => "2-early-optimization",
            Stage::Mid => "3-mid-level-optimization",
            Stage::Late => "4-late-optimization",
            Stage::Legal => "5-legalization",
            Stage::Sched => "6-scheduling-and-regalloc",
            Stage::Post => "7-post-regalloc-and-post-schedule",
            Stage::Mercury => "8-mercury",
            Stage::Final => "9-post-mercury",
            Stage::Terminal => "10-terminal",
        }
    }
}

/// What a phase is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    /// Checks, and changes nothing.
    Validation,
    /// Makes code better.
    Optimization,
    /// Makes pseudo or unsupported instructions others.
    Lowering,
    /// Computes what other phases ask for.
    Analysis,
    /// Decides whether others run.
    Gate,
    /// Removes what earlier phases left.
    Cleanup,
    /// Brings kept facts up to date.
    Update,
    /// Tells the user of the function.
    Report,
    /// Chooses registers.
    RegAlloc,
    /// Chooses the order or the timing of instructions.
    Scheduling,
    /// Makes machine words.
    Encoding,
}

impl Category {
    /// As `orias phases` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Validation => "validation",
            Category::Optimization => "optimization",
            Category::Lowering => "lowering",
            Category::Analysis => "analysis",
            Category::Gate => "gate",
            Category::Cleanup => "cleanup",
            Category::Update => "update",
            Category::Report => "report",
            Category::RegAlloc => "regalloc",
            Category::Scheduling => "scheduling",
            Category::Encoding => "encoding",
        }
    }
}

/// At which optimization levels the reference compiler runs a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// The documents do not say.
    Unstated,
    /// Above this level.
    Above(u8),
    /// At this level only.
    Only(u8),
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gate::Unstated => f.write_str("unstated"),
            Gate::Above(n) => write!(f, "O>{n}"),
            Gate::Only(n) => write!(f, "O=={n}"),
        }
    }
}

/// When an implemented phase runs; see the head of this file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// At every level, and it cannot be disabled.
    Needed,
    /// At the levels of its gate, where it cannot be disabled.
    NeededAtGate,
    /// At every level, unless it is disabled.
    Always,
    /// At the levels of its gate, or above -O1 where that is unstated, unless it is disabled.
    Optional,
}

/// What there is of a phase.
#[derive(Clone, Copy)]
pub enum Status {
    /// Does its job.
    Implemented(When, System),
    /// Does nothing by its nature, for the reason given.
    Marker(&'static str),
    /// Has work only for graphics or bindless textures.
    GraphicsOnly,
    /// Does nothing yet.
    Planned,
}

impl Status {
    /// As `orias phases` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Implemented(..) => "implemented",
            Status::Marker(_) => "marker",
            Status::GraphicsOnly => "graphics-only",
            Status::Planned => "planned",
        }
    }

    /// Why a marker does nothing; empty for the others.
    pub const fn reason(self) -> &'static str {
        match self {
            Status::Marker(why) => why,
            _ => "",
        }
    }
}

impl Phase {
    /// Whether the result would be wrong without it at this level.
    pub fn is_needed(&self, opt_level: u8) -> bool {
        match self.status {
            Status::Implemented(When::Needed, _) => true,
            Status::Implemented(When::NeededAtGate, _) => self.gate_open(opt_level),
            _ => false,
        }
    }

    /// Whether it is there to make code better, and for nothing else.
    pub fn is_optional(&self) -> bool {
        matches!(self.status, Status::Implemented(When::Optional, _))
    }

    /// Whether it runs at this level when nothing switches it off.
    pub fn runs_at(&self, opt_level: u8) -> bool {
        match self.status {
            Status::Implemented(When::Needed | When::Always, _) => true,
            Status::Implemented(When::NeededAtGate | When::Optional, _) => {
                self.gate_open(opt_level)
            }
            _ => false,
        }
    }

    fn gate_open(&self, opt_level: u8) -> bool {
        match self.gate {
            Gate::Unstated => opt_level > 1,
            Gate::Above(n) => opt_level > n,
            Gate::Only(n) => opt_level == n,
        }
    }
}

/// The phase with this name.
pub fn find(name: &str) -> Option<&'static Phase> {
    PHASES.iter().find(|p| p.name == name)
}

/// The first phase with the code of this optimization; None for phases that are more than that.
pub(crate) fn first_alike(phase: &Phase) -> Option<u8> {
    phase.is_optional().then(|| FIRST_ALIKE[phase.index as usize])
}

/// By phase, the first optimization with the same code.
static FIRST_ALIKE: [u8; PHASES.len()] = {
    let mut firsts = [0; PHASES.len()];
    let mut at = 0;
    while at < PHASES.len() {
        let mut first = 0;
        while !are_alike(&PHASES[first], &PHASES[at]) && first < at {
            first += 1;
        }
        firsts[at] = first as u8;
        at += 1;
    }
    firsts
};

/// Whether two phases are optimizations with the same code.
const fn are_alike(one: &Phase, other: &Phase) -> bool {
    let (Status::Implemented(When::Optional, one), Status::Implemented(When::Optional, other)) =
        (&one.status, &other.status)
    else {
        return false;
    };
    let (one, other) = (one.name.as_bytes(), other.name.as_bytes());
    let mut same = 0;
    while same < one.len() && same < other.len() && one[same] == other[same] {
        same += 1;
    }
    same == one.len() && same == other.len()
}

const fn phase(
    index: u16,
    name: &'static str,
    stage: Stage,
    category: Category,
    gate: Gate,
    status: Status,
) -> Phase {
    Phase { index, name, stage, category, gate, status }
}

/// Correctness needs it: runs at every level.
pub const fn needed(system: System) -> Status {
    Status::Implemented(When::Needed, system)
}

/// Correctness needs it at the levels of its gate.
pub const fn needed_at_gate(system: System) -> Status {
    Status::Implemented(When::NeededAtGate, system)
}

/// Runs at every level, may be disabled.
pub const fn always(system: System) -> Status {
    Status::Implemented(When::Always, system)
}

/// Improves code: runs where its gate says, at O>1 when the gate is unstated.
pub const fn optional(system: System) -> Status {
    Status::Implemented(When::Optional, system)
}

const fn marker(why: &'static str) -> Status {
    Status::Marker(why)
}

const PLANNED: Status = Status::Planned;
const GRAPHICS_ONLY: Status = Status::GraphicsOnly;
const EDITS_ARE_WHOLE: &str =
    "nothing to refresh: the manager makes stale edges new after each phase";
const DIVERGENCE: &str =
    "what varies in a warp is an analysis: who asks for it finds it as the code is by then";
const STRENGTH: &str = "counters are values behind phase 26 only: what a loop adds to its pointers phase 35 \
    adds once; a product with a counter is one instruction, as a sum is, and ptxas 13.0.88 keeps it; divisions by \
    constants are products since phase 9";
const CONSTANTS: &str = "numbers come from no bank of compute code: in 324 modules ptxas 13.0.88 has \
    parameters, .const variables, addresses and tables of jumps and calls there, nothing else";
const CONSTANTS_STAY: &str = "what came into loops since phase 76 is constants and copies, which ptxas 13.0.88 leaves there, too";
const DUMPED: &str = "--dump-ir prints the IR around any phase, this one included";

use self::Gate::{Above, Only, Unstated};
use Category::*;
use Stage::*;

/// All phases in the order in which they run.
#[rustfmt::skip]
pub static PHASES: [Phase; 159] = [
    // 1-initial-setup
    phase(0, "OriCheckInitialProgram", Setup, Validation, Unstated, always(system!(check::check_program))),
    phase(1, "ApplyNvOptRecipes", Setup, Optimization, Unstated, marker("recipes say which phases run, so they are read before the first one (`--recipes`)")),
    phase(2, "PromoteFP16", Setup, Lowering, Unstated, PLANNED),
    phase(3, "AnalyzeControlFlow", Setup, Analysis, Unstated, needed(system!(cfg::analyze_control_flow))),
    phase(4, "AdvancedPhaseBeforeConvUnSup", Setup, Gate, Unstated, marker("marks the start of legalization: no phase asks for it")),
    phase(5, "ConvertUnsupportedOps", Setup, Lowering, Unstated, needed(system!(guards::convert_unsupported_ops where Facts::may_have_guards))),
    phase(6, "SetControlFlowOpLastInBB", Setup, Cleanup, Unstated, needed(system!(branches::set_control_flow_op_last))),
    phase(7, "AdvancedPhaseAfterConvUnSup", Setup, Gate, Unstated, marker("marks the end of the first legalization: no phase asks for it")),
    phase(8, "UpdateAfterConvertUnsupportedOps", Setup, Update, Unstated, marker(EDITS_ARE_WHOLE)),
    phase(9, "OriCreateMacroInsts", Setup, Lowering, Unstated, always(system!(macros::create_macro_insts))),
    phase(10, "ReportInitialRepresentation", Setup, Report, Unstated, marker(DUMPED)),
    phase(11, "EarlyOriSimpleLiveDead", Setup, Optimization, Unstated, optional(system!(dead_code::simple_live_dead))),
    phase(12, "ReplaceUniformsWithImm", Setup, Optimization, Unstated, optional(system!(dimensions::replace_uniforms_with_imm))),
    phase(13, "OriSanitize", Setup, Validation, Unstated, always(system!(check::check_program))),
    phase(14, "GeneralOptimizeEarly", Setup, Optimization, Unstated, optional(system!(fold::general_optimize where Facts::may_have_repeatable_loops))),
    // 2-early-optimization
    phase(15, "MergeEquivalentConditionalFlow", Early, Optimization, Unstated, optional(system!(equivalent::merge_equivalent_conditional_flow where |f| f.may_have(&[Opcode::BRA])))),
    phase(16, "DoSwitchOptFirst", Early, Optimization, Above(1), optional(system!(switch_opt::do_switch_opt_first where |f| f.may_have(&[Opcode::BRA])))),
    phase(17, "OriBranchOpt", Early, Optimization, Above(1), optional(system!(branches::branch_opt))),
    phase(18, "OriPerformLiveDeadFirst", Early, Analysis, Unstated, optional(system!(dead_code::simple_live_dead))),
    phase(19, "OptimizeBindlessHeaderLoads", Early, Optimization, Unstated, GRAPHICS_ONLY),
    phase(20, "OriLoopSimplification", Early, Optimization, Unstated, optional(system!(rotate::simplify_loops where |f| f.may_have(&[Opcode::BRA])))),
    phase(21, "OriSplitLiveRanges", Early, Optimization, Unstated, PLANNED),
    phase(22, "OriCopyProp", Early, Optimization, Unstated, optional(system!(propagate::copy_prop where Facts::may_have_repeatable_loops))),
    phase(23, "PerformPGO", Early, Optimization, Unstated, optional(system!(cold::perform_pgo where |f| f.may_have(&[Opcode::BRA])))),
    phase(24, "OriStrengthReduce", Early, Optimization, Unstated, marker(STRENGTH)),
    phase(25, "OriLoopUnrolling", Early, Optimization, Above(1), optional(system!(unroll::unroll_loops where |f| f.may_have(&[Opcode::BRA])))),
    phase(26, "GenerateMovPhi", Early, Lowering, Unstated, needed_at_gate(system!(ssa::generate_mov_phi))),
    phase(27, "OriPipelining", Early, Optimization, Above(1), PLANNED),
    phase(28, "StageAndFence", Early, Lowering, Unstated, PLANNED),
    phase(29, "OriRemoveRedundantBarriers", Early, Optimization, Above(1), PLANNED),
    phase(30, "AnalyzeUniformsForSpeculation", Early, Analysis, Unstated, marker("what may be computed early an instruction says of itself (effects.rs); constant banks may be read anywhere")),
    phase(31, "SinkRemat", Early, Optimization, Above(1), optional(system!(sinking::sink_remat where |f| f.may_have_any(Props::MACRO)))),
    phase(32, "OptimizeNaNOrZero", Early, Optimization, Unstated, optional(system!(nan_or_zero::optimize_nan_or_zero where |f| f.may_have(&nan_or_zero::KNOWN)))),
    phase(33, "GeneralOptimize", Early, Optimization, Unstated, optional(system!(fold::general_optimize))),
    phase(34, "DoSwitchOptSecond", Early, Optimization, Above(1), optional(system!(switch_opt::do_switch_opt_second where |f| f.may_have(&[Opcode::BRA])))),
    phase(35, "OriLinearReplacement", Early, Optimization, Unstated, optional(system!(linear::linear_replacement where |f| f.may_have(&linear::REPLACED)))),
    phase(36, "CompactLocalMemory", Early, Optimization, Unstated, optional(system!(local::compact_local_memory where |f| f.may_have(&[Opcode::LDL, Opcode::STL])))),
    phase(37, "ConvertMemoryToRegisterOrUniform", Early, Optimization, Unstated, optional(system!(local::convert_memory_to_register_or_uniform where |f| f.may_have(&[Opcode::LDL, Opcode::STL])))),
    // 3-mid-level-optimization
    phase(38, "OriPerformLiveDeadSecond", Mid, Analysis, Unstated, optional(system!(dead_code::perform_live_dead))),
    phase(39, "ExtractShaderConstsFirst", Mid, Optimization, Unstated, marker(CONSTANTS)),
    phase(40, "OriHoistInvariantsEarly", Mid, Optimization, Above(1), optional(system!(invariants::hoist_invariants where |f| f.may_have(&[Opcode::BRA])))),
    phase(41, "Vectorization", Mid, Optimization, Unstated, optional(system!(vectorize::vectorize where |f| f.may_have(&vectorize::KNOWN)))),
    phase(42, "EmitPSI", Mid, Lowering, Unstated, GRAPHICS_ONLY),
    phase(43, "GeneralOptimizeMid", Mid, Optimization, Unstated, optional(system!(fold::general_optimize))),
    phase(44, "OptimizeNestedCondBranches", Mid, Optimization, Above(1), optional(system!(nested::optimize_nested_cond_branches where |f| f.may_have(&[Opcode::BRA])))),
    phase(45, "ConvertVTGReadWrite", Mid, Lowering, Unstated, GRAPHICS_ONLY),
    phase(46, "DoVirtualCTAExpansion", Mid, Lowering, Unstated, PLANNED),
    phase(47, "MarkAdditionalColdBlocks", Mid, Analysis, Unstated, optional(system!(cold::mark_additional_cold_blocks where |f| f.may_have(&[Opcode::BRA])))),
    phase(48, "ExpandMbarrier", Mid, Lowering, Unstated, PLANNED),
    phase(49, "ForwardProgress", Mid, Lowering, Unstated, needed(system!(progress::forward_progress))),
    phase(50, "OptimizeUniformAtomic", Mid, Optimization, Unstated, optional(system!(atomics::optimize_uniform_atomic where |f| f.may_have(&atomics::KNOWN)))),
    phase(51, "MidExpansion", Mid, Lowering, Unstated, PLANNED),
    phase(52, "AdvancedPhaseAfterMidExpansion", Mid, Gate, Unstated, marker("marks the end of mid expansion: no phase asks for it")),
    phase(53, "GeneralOptimizeMid2", Mid, Optimization, Unstated, optional(system!(fold::general_optimize))),
    phase(54, "AdvancedPhaseEarlyEnforceArgs", Mid, Gate, Unstated, marker("marks the place: its worker is phase 55")),
    phase(55, "EnforceArgumentRestrictions", Mid, Lowering, Unstated, always(system!(operands::enforce_argument_restrictions))),
    phase(56, "GvnCse", Mid, Optimization, Above(1), optional(system!(common::global_value_numbering))),
    phase(57, "OriCommoning", Mid, Optimization, Unstated, marker("what a block has twice GvnCse has found, one phase earlier")),
    phase(58, "OriReassociateAndCommon", Mid, Optimization, Unstated, optional(system!(linear::reassociate_and_common where |f| f.may_have(&linear::SUMS)))),
    phase(59, "ExtractShaderConstsFinal", Mid, Optimization, Unstated, marker(CONSTANTS)),
    phase(60, "OriReplaceEquivMultiDefMov", Mid, Optimization, Unstated, optional(system!(phis::replace_equivalent where |f| f.may_have(&[Opcode::MOVPHI])))),
    // 4-late-optimization
    phase(61, "OriPropagateVaryingFirst", Late, Optimization, Unstated, optional(system!(lanes::propagate_varying where |f| f.may_have(&[Opcode::R2UR])))),
    phase(62, "OriDoRematEarly", Late, Optimization, Above(1), PLANNED),
    phase(63, "LateExpansion", Late, Lowering, Unstated, needed(system!(macros::late_expansion where |f| f.may_have_any(Props::MACRO)))),
    phase(64, "SpeculativeHoistComInsts", Late, Optimization, Above(1), marker("what two ways compute alike, ptxas was never seen to compute before both on this SM (sums, products, loads)")),
    phase(65, "RemoveASTToDefaultValues", Late, Cleanup, Unstated, PLANNED),
    phase(66, "GeneralOptimizeLate", Late, Optimization, Above(1), optional(system!(fold::general_optimize))),
    phase(67, "OriLoopFusion", Late, Optimization, Unstated, marker("loops one behind the other stay two in ptxas, too, whatever they do")),
    phase(68, "DoVTGMultiViewExpansion", Late, Lowering, Unstated, GRAPHICS_ONLY),
    phase(69, "OriSimpleLiveDead", Late, Optimization, Unstated, optional(system!(dead_code::simple_live_dead))),
    phase(70, "OriPerformLiveDeadThird", Late, Analysis, Unstated, optional(system!(dead_code::perform_live_dead))),
    phase(71, "OriRemoveRedundantMultiDefMov", Late, Optimization, Unstated, optional(system!(phis::replace_equivalent where |f| f.may_have(&[Opcode::MOVPHI])))),
    phase(72, "OriDoPredication", Late, Optimization, Above(1), optional(system!(predication::do_predication where |f| f.may_have(&[Opcode::BRA])))),
    phase(73, "LateVectorization", Late, Optimization, Unstated, optional(system!(vectorize::vectorize where |f| f.may_have(&vectorize::KNOWN)))),
    phase(74, "LateOriCommoning", Late, Optimization, Unstated, optional(system!(common::late_commoning where |f| f.may_have_any(Props::MACRO)))),
    phase(75, "GeneralOptimizeLate2", Late, Optimization, Unstated, optional(system!(fold::general_optimize))),
    phase(76, "OriHoistInvariantsLate", Late, Optimization, Above(1), optional(system!(invariants::hoist_invariants where |f| f.may_have(&[Opcode::BRA])))),
    phase(77, "SinkCodeIntoBlock", Late, Optimization, Unstated, optional(system!(sinking::sink_code_into_block where |f| f.may_have(&[Opcode::BRA])))),
    phase(78, "DoKillMovement", Late, Optimization, Above(2), PLANNED),
    phase(79, "DoTexMovement", Late, Optimization, Above(2), PLANNED),
    phase(80, "OriDoRemat", Late, Optimization, Above(1), optional(system!(near::do_remat))),
    phase(81, "OriPropagateVaryingSecond", Late, Optimization, Unstated, marker(DIVERGENCE)),
    phase(82, "OptimizeSyncInstructions", Late, Optimization, Above(1), optional(system!(idle::optimize_sync_instructions where |f| f.may_have(&[Opcode::WARPSYNC])))),
    phase(83, "AdvancedPhaseLateExpandSyncInstructions", Late, Gate, Unstated, marker("marks the place: its worker is phase 84")),
    phase(84, "LateExpandSyncInstructions", Late, Lowering, Above(1), needed(system!(convergence::late_expand_sync_instructions))),
    phase(85, "ConvertAllMovPhiToMov", Late, Lowering, Unstated, needed_at_gate(system!(ssa::convert_all_mov_phi_to_mov))),
    phase(86, "ConvertToUniformReg", Late, Optimization, Unstated, optional(system!(constants::convert_to_uniform_reg))),
    phase(87, "LateArchOptimizeFirst", Late, Optimization, Unstated, PLANNED),
    phase(88, "UpdateAfterOptimize", Late, Update, Unstated, marker(EDITS_ARE_WHOLE)),
    phase(89, "AdvancedPhaseLateConvUnSup", Late, Gate, Unstated, marker("marks the place: its worker is phase 90")),
    // 5-legalization
    phase(90, "LateExpansionUnsupportedOps", Legal, Lowering, Unstated, PLANNED),
    phase(91, "LateMergeEquivalentConditionalFlow", Legal, Optimization, Unstated, marker("the regions of convergence stand by then; phase 15 has found them")),
    phase(92, "OriHoistInvariantsLate2", Legal, Optimization, Above(1), marker(CONSTANTS_STAY)),
    phase(93, "LateExpansionUnsupportedOpsMid", Legal, Lowering, Unstated, PLANNED),
    phase(94, "ExpandJmxComputation", Legal, Lowering, Unstated, needed(system!(switches::expand_jmx_computation where |f| f.may_have(&[Opcode::SWITCH])))),
    phase(95, "LateArchOptimizeSecond", Legal, Optimization, Unstated, PLANNED),
    phase(96, "AdvancedPhaseBackPropVReg", Legal, Gate, Unstated, marker("marks the place: its worker is phase 97")),
    phase(97, "OriBackCopyPropagate", Legal, Optimization, Above(1), optional(system!(registers::ori_back_copy_propagate))),
    phase(98, "OriSplitHighPressureLiveRanges", Legal, RegAlloc, Unstated, PLANNED),
    phase(99, "OriPerformLiveDeadFourth", Legal, Analysis, Unstated, optional(system!(dead_code::perform_last_live_dead))),
    phase(100, "OriPropagateGmma", Legal, Optimization, Unstated, PLANNED),
    phase(101, "InsertPseudoUseDefForConvUR", Legal, Lowering, Unstated, PLANNED),
    phase(102, "FixupGmmaSequence", Legal, Lowering, Unstated, PLANNED),
    phase(103, "LateEnforceArgumentRestrictions", Legal, Lowering, Unstated, needed(system!(operands::enforce_argument_restrictions))),
    phase(104, "OriHoistInvariantsLate3", Legal, Optimization, Above(1), marker(CONSTANTS_STAY)),
    phase(105, "AdvancedPhaseSetRegAttr", Legal, Gate, Unstated, marker("marks the place: its worker is phase 106")),
    phase(106, "OriSetRegisterAttr", Legal, Analysis, Unstated, PLANNED),
    phase(107, "OriCalcDependantTex", Legal, Analysis, Unstated, PLANNED),
    phase(108, "AdvancedPhaseAfterSetRegAttr", Legal, Gate, Unstated, marker("a hook for targets that change register attributes: none does")),
    phase(109, "LateExpansionUnsupportedOps2", Legal, Lowering, Unstated, needed(system!(place::place_subroutines where |f| f.may_have(&[Opcode::SUBRET])))),
    phase(110, "FinalInspectionPass", Legal, Validation, Unstated, needed(system!(operands::final_inspection))),
    phase(111, "SetAfterLegalization", Legal, Cleanup, Above(1), marker("sets a flag that no phase reads")),
    phase(112, "ReportBeforeScheduling", Legal, Report, Unstated, marker(DUMPED)),
    // 6-scheduling-and-regalloc
    phase(113, "AdvancedPhasePreSched", Sched, Gate, Unstated, marker("marks the place: its worker is phase 114")),
    phase(114, "ScheduleInstructions", Sched, Scheduling, Unstated, PLANNED),
    phase(115, "UpdateAfterScheduleInstructions", Sched, Update, Unstated, marker("nothing to refresh: the scheduler leaves each block's list in order")),
    phase(116, "BackPropagateVEC2D", Sched, Optimization, Unstated, PLANNED),
    phase(117, "OriDoSyncronization", Sched, Scheduling, Above(1), PLANNED),
    phase(118, "UpdateAfterOriDoSyncronization", Sched, Update, Unstated, marker(EDITS_ARE_WHOLE)),
    phase(119, "ApplyPostSyncronizationWars", Sched, Scheduling, Above(1), PLANNED),
    phase(120, "ReportBeforeRegisterAllocation", Sched, Report, Unstated, marker(DUMPED)),
    phase(121, "AdvancedPhaseAllocReg", Sched, Gate, Unstated, marker("marks the place: its worker is phase 122")),
    phase(122, "AllocateRegisters", Sched, RegAlloc, Unstated, needed(system!(registers::allocate_registers))),
    phase(123, "ReportAfterRegisterAllocation", Sched, Report, Unstated, marker(DUMPED)),
    phase(124, "UpdateAfterOriAllocateRegisters", Sched, Update, Unstated, marker("nothing to refresh: the allocator rewrites operands in place")),
    phase(125, "Get64bRegComponents", Sched, RegAlloc, Unstated, marker("operands name the cells of wide registers: there is nothing to take apart")),
    // 7-post-regalloc-and-post-schedule
    phase(126, "AdvancedPhasePostExpansion", Post, Gate, Unstated, marker("marks the place: its worker is phase 127")),
    phase(127, "PostExpansion", Post, Lowering, Unstated, needed(system!(calls::post_expansion where |f| f.may_have_any(Props::PSEUDO)))),
    phase(128, "ApplyPostRegAllocWars", Post, RegAlloc, Unstated, needed(system!(workarounds::apply_post_reg_alloc_wars where |f| f.may_have(&[Opcode::LDGSTS])))),
    phase(129, "AdvancedPhasePostSched", Post, Gate, Unstated, marker("marks the place: its worker is phase 133")),
    phase(130, "OriRemoveNopCode", Post, Cleanup, Unstated, optional(system!(registers::held::remove_nop_code where |f| f.may_have(&[Opcode::NOP, Opcode::MOV, Opcode::R2UR])))),
    phase(131, "OptimizeHotColdInLoop", Post, Optimization, Unstated, optional(system!(cold::optimize_hot_cold_in_loop where |f| f.may_have(&[Opcode::BRA])))),
    phase(132, "OptimizeHotColdFlow", Post, Optimization, Unstated, optional(system!(cold::optimize_hot_cold_flow where |f| f.may_have(&[Opcode::BRA])))),
    phase(133, "PostSchedule", Post, Scheduling, Above(1), PLANNED),
    phase(134, "AdvancedPhasePostFixUp", Post, Gate, Unstated, marker("marks the place: its worker is phase 140")),
    phase(135, "PlaceBlocksInSourceOrder", Post, Cleanup, Unstated, optional(system!(layout::place_blocks))),
    phase(136, "PostFixForMercTargets", Post, Encoding, Unstated, PLANNED),
    phase(137, "FixUpTexDepBarAndSync", Post, Scheduling, Unstated, needed(system!(schedule::fix_up_tex_dep_bar_and_sync where |f| f.may_have_any(Props::GROUP)))),
    phase(138, "AdvancedScoreboardsAndOpexes", Post, Gate, Above(0), needed_at_gate(system!(schedule::advanced_scoreboards_and_opexes))),
    phase(139, "ProcessO0WaitsAndSBs", Post, Scheduling, Only(0), needed_at_gate(system!(schedule::process_o0_waits_and_sbs))),
    // 8-mercury
    phase(140, "PostFixUp", Mercury, Cleanup, Unstated, PLANNED),
    phase(141, "MercConverter", Mercury, Encoding, Unstated, needed(system!(mercury::merc_converter))),
    phase(142, "MercEncodeAndDecode", Mercury, Encoding, Unstated, needed(system!(mercury::merc_encode_and_decode))),
    phase(143, "MercExpandInstructions", Mercury, Encoding, Unstated, PLANNED),
    phase(144, "MercGenerateWARs1", Mercury, Encoding, Unstated, PLANNED),
    phase(145, "MercGenerateOpex", Mercury, Encoding, Unstated, PLANNED),
    phase(146, "MercGenerateWARs2", Mercury, Encoding, Unstated, PLANNED),
    phase(147, "MercGenerateSassUCode", Mercury, Encoding, Unstated, PLANNED),
    // 9-post-mercury
    phase(148, "ComputeVCallRegUse", Final, RegAlloc, Unstated, PLANNED),
    phase(149, "CalcRegisterMap", Final, RegAlloc, Unstated, needed(system!(registers::calc_register_map))),
    phase(150, "UpdateAfterPostRegAlloc", Final, Update, Unstated, marker("nothing to refresh: what is kept knows when it is stale")),
    phase(151, "ReportFinalMemoryUsage", Final, Report, Unstated, PLANNED),
    phase(152, "AdvancedPhaseOriPhaseEncoding", Final, Gate, Unstated, marker("marks the end of encoding: no phase asks for it")),
    phase(153, "FormatCodeList", Final, Encoding, Unstated, needed(system!(mercury::format_code_list))),
    phase(154, "UpdateAfterFormatCodeList", Final, Update, Unstated, marker("nothing to refresh: the text is final")),
    phase(155, "DumpNVuCodeText", Final, Report, Unstated, marker("prints nothing by itself: `orias dis` shows the text")),
    phase(156, "DumpNVuCodeHex", Final, Report, Unstated, marker("prints nothing by itself: `orias dis` shows the words")),
    phase(157, "DebuggerBreak", Final, Cleanup, Unstated, marker("a place for a breakpoint")),
    // 10-terminal
    phase(158, "NOP", Terminal, Cleanup, Unstated, marker("the end of the list")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_a_row_is_its_place() {
        for (i, phase) in PHASES.iter().enumerate() {
            assert_eq!(i, phase.index as usize, "{}", phase.name);
            assert_eq!(find(phase.name).map(|p| p.index), Some(phase.index), "names are unique");
        }
    }

    #[test]
    fn a_needed_phase_runs_whatever_its_gate_says() {
        fn none() {}
        let nothing = system!(none);
        let row = |gate, status| phase(0, "x", Setup, Optimization, gate, status);
        let levels = |p: Phase| (0..=3).filter(|o| p.runs_at(*o)).collect::<Vec<u8>>();
        assert_eq!(levels(row(Above(1), needed(nothing))), [0, 1, 2, 3]);
        assert_eq!(levels(row(Above(1), needed_at_gate(nothing))), [2, 3]);
        assert_eq!(levels(row(Only(0), needed_at_gate(nothing))), [0]);
        assert_eq!(levels(row(Above(1), always(nothing))), [0, 1, 2, 3]);
        assert_eq!(levels(row(Above(2), optional(nothing))), [3]);
        assert_eq!(levels(row(Unstated, optional(nothing))), [2, 3]);
        assert_eq!(levels(row(Unstated, PLANNED)), [0; 0]);
    }
}
