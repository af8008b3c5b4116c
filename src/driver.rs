//! From PTX text to a cubin: the whole way, in memory. [`crate::Compiler`] is the door to it.

pub(crate) mod failure;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod pool;
pub(crate) mod teams;

use orias_components::Loc;
use orias_systems::knobs::{Knob, Knobs};
use orias_systems::parallel;
use orias_systems::profile::Profile;
use orias_systems::{FunctionInfo, Options, PhaseStat, PipelineError, Stop, Stopped, Worker};
use orias_targets::Target;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::assemble::{self, Whole};
use crate::digest::Digest;
use crate::elf;
use crate::elf::model::{CubinModel, Tool};
use crate::facts::CodeFacts;
use crate::link::{self, Code, Linked};
use crate::lower::{self, LowerOptions, Module};
use crate::overrides;
use crate::profiles::Reached;
use crate::ptx::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::ptx::inline::Limits;
use crate::ptx::program::{FuncId, Function, FunctionBody, Program};
use crate::ptx::{
    self,
    types::{Linkage, Space, Span},
};
use crate::times::{self, FunctionTime, Measured, Part};

use failure::Failure;
use pool::Pool;
use teams::Teams;

pub use failure::CompileError;
pub use options::CompileOptions;
pub use output::{FunctionReport, Output, Times};

/// The knob that lets code use instructions that ptxas was never seen to emit: for a machine that
/// proves them.
pub const UNSEEN_FORMS: &str = "UnseenForms";

/// PTX instructions of a module below which its functions are compiled one after another: threads
/// and what each needs would take longer to make than they save.
const FEW_INSTRUCTIONS: usize = 256;

/// So many functions at most go through the phases together, by one worker each: the code of all
/// phases is more than comes to a processor's cache at once, and small functions take as long to
/// wait for it as to run it.
const TOGETHER: usize = 32;

/// PTX instructions of functions that go through the phases together: more than these do not stay
/// in the processor's cache from one phase to the next.
const INSTRUCTIONS_TOGETHER: usize = 2048;

/// Each thread gets so many groups of functions at least, so that none waits long for the last.
const GROUPS_OF_A_THREAD: usize = 4;

/// Bytes of a machine instruction.
const INSTRUCTION_BYTES: u32 = 16;

/// PTX instructions of a module whose workers are not kept: they have grown by it.
const MANY_INSTRUCTIONS: usize = 1 << 12;

/// Compiles PTX text to a cubin.
///
/// # Errors
/// Everything that is wrong with the PTX, with places; or what this compiler cannot do yet, said
/// so.
pub fn compile_source(source: &str, options: &CompileOptions) -> Result<Output, Diagnostics> {
    never_cancelled(Session::alone(options, |session| session.source(source)))
}

/// Compiles a module that was read already.
///
/// # Errors
/// What this compiler cannot do, with places.
pub fn compile_program(
    program: &Program<'_>,
    options: &CompileOptions,
) -> Result<Output, Diagnostics> {
    // The copy shares the functions' bodies.
    never_cancelled(Session::alone(options, |session| {
        let measured = Measured::new(options.statistics);
        session.program(program.clone(), Times::default(), measured)
    }))
}

fn never_cancelled(result: Result<Output, CompileError>) -> Result<Output, Diagnostics> {
    result.map_err(|error| match error {
        CompileError::Rejected(diagnostics) => diagnostics,
        CompileError::Cancelled => Diagnostic::global(error.to_string()).into(),
    })
}

/// One compile: how, and what it finds there that others leave behind.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    pub options: &'a CompileOptions,
    pub teams: &'a Teams,
    pub pool: &'a Pool,
    pub stop: Stop<'a>,
}

impl Session<'_> {
    /// With threads and workers of its own, and nothing that stops it.
    fn alone<R>(options: &CompileOptions, work: impl FnOnce(Session<'_>) -> R) -> R {
        let (teams, pool) = (Teams::default(), Pool::new(options.threads));
        work(Session { options, teams: &teams, pool: &pool, stop: Stop::NEVER })
    }

    /// Compiles PTX text.
    pub fn source(&self, source: &str) -> Result<Output, CompileError> {
        let started = Instant::now();
        let mut measured = Measured::new(self.options.statistics);
        let mut program = measured.part(Part::Parse, || self.load(source))?;
        overrides::apply(&mut program, &self.options.overrides, self.options.max_registers)?;
        let missing = ptx::link::unresolved(&program);
        if missing.has_errors() {
            return Err(missing.into());
        }
        let times = Times { read: started.elapsed(), ..Times::default() };
        self.program(program, times, measured)
    }

    /// Reads a module; with other threads where it is large, unless they have modules of their own.
    fn load<'s>(&self, source: &'s str) -> Result<Program<'s>, Diagnostics> {
        let busy = rayon::current_thread_index().is_some();
        if busy || self.pool.is_one() || !ptx::is_large(source) {
            return ptx::load(source);
        }
        // Errors are found by one, in the order of the text.
        let read = || ptx::load_apart(source).map_or_else(|| ptx::load(source), Ok);
        self.pool.run(read).map_err(|error| Diagnostic::global(error.to_string()))?
    }

    /// Compiles a module that was read in the time that stands there: at the level that is asked
    /// for, or at a lower one where there is a budget that is not enough.
    fn program(
        &self,
        program: Program<'_>,
        times: Times,
        measured: Measured,
    ) -> Result<Output, CompileError> {
        let asked = self.options.opt_level;
        let Some(budget) = self.options.budget.filter(|_| asked > 0) else {
            return Ok(self.at_level(program, asked, times, measured)?);
        };
        let mut spent = times.read;
        for level in [asked, 1].into_iter().take(usize::from(asked.min(2))) {
            // A budget for ever is none.
            let deadline = Instant::now().checked_add(budget.saturating_sub(spent));
            let limited = Session { stop: Stop { deadline, ..self.stop }, ..*self };
            // The copy shares the functions' bodies.
            match limited.at_level(program.clone(), level, times, measured.clone()) {
                Err(Failure::Stopped(Stopped::OutOfTime)) => spent = Duration::ZERO,
                Err(error) => return Err(error.into()),
                Ok(output) => return Ok(Output { fell_back: level < asked, ..output }),
            }
        }
        Ok(Output { fell_back: true, ..self.at_level(program, 0, times, measured)? })
    }

    /// Does something for so many instructions that other threads help with, if they are many.
    fn helped<R>(&self, instructions: usize, work: impl FnOnce() -> R) -> Result<R, Diagnostics> {
        if instructions < parallel::LARGE {
            return Ok(work());
        }
        self.pool.help(work).map_err(|error| Diagnostic::global(error.to_string()).into())
    }

    /// Compiles a module at one level.
    fn at_level(
        &self,
        mut program: Program<'_>,
        opt_level: u8,
        times: Times,
        measured: Measured,
    ) -> Result<Output, Failure> {
        let started = Instant::now();
        let (model, mut output) = model(&mut program, self, opt_level, measured)?;
        // The file has all of it that is needed.
        drop(program);
        let failed = |e: elf::WriteError| Diagnostics::from(Diagnostic::global(e.to_string()));
        let write = || {
            let image = elf::image(&model)?;
            // The file needs no model: there may be a hundred thousand variables.
            drop(model);
            image.file()
        };
        let size = output.functions.iter().map(|f| f.instructions as usize).sum();
        let write = || self.helped(size, write);
        output.cubin = output.measured.part(Part::Elf, write)?.map_err(failed)?;
        let code = output.times.code;
        output.times = Times { code, file: started.elapsed().saturating_sub(code), ..times };
        Ok(output)
    }
}

/// What the file is made of, and all else that a compile gives. The program has no bodies of
/// functions afterwards.
fn model(
    program: &mut Program<'_>,
    session: &Session<'_>,
    opt_level: u8,
    mut measured: Measured,
) -> Result<(CubinModel, Output), Failure> {
    let started = Instant::now();
    let options = session.options;
    let target = find_target(program, options)?;
    let lower = LowerOptions { target, opt_level, fmad: options.fmad };
    let size = program.functions.iter().map(|f| f.code.len()).sum();
    let knobs = Knobs::read(&options.knobs).map_err(Diagnostic::global)?;
    // By places in the text, which inlining leaves as they are.
    let (reached, unused) = options.profiles.reached(program);
    let layout = || {
        if opt_level > 1 {
            let most = |knob| knobs.get(knob, target) as usize;
            let (small, once) = (most(Knob::InlineSmall), most(Knob::InlineOnce));
            ptx::inline::inline(program, Limits { small, once });
        }
        session.helped(size, || lower::module(program, &lower))
    };
    let mut module = measured.part(Part::Layout, layout)??;
    // An entry's own directives come before the option. Observed: ptxas 13.0.88, "Overriding global
    // maxrregcount".
    for layout in module.layouts.own_mut() {
        if layout.max_registers.is_none() && layout.cta_threads().is_none() {
            layout.max_registers = options.max_registers;
        }
    }
    limit_callees(program, &mut module, options);
    let with_lines = options.with_lines(program);
    let whole = Whole::of(program, &module, kernels(program, options), with_lines);
    let compile = || compile_functions(program, &module, session, (with_lines, &reached));
    let compiled = measured.part(Part::Functions, compile)?;
    session.stop.check()?;
    let code = started.elapsed();
    let program = &*program;
    let mut stats = Vec::new();
    let mut dump = String::new();
    for one in &compiled {
        add_stats(&mut stats, &one.code.compiled.stats);
        dump.push_str(&one.code.compiled.dump);
        measured.lowering += one.lowering;
        if options.trace {
            measured.functions.push(one.times());
        }
    }
    let (functions, kernels) = measured.part(Part::Link, || link_kernels(&module, compiled))?;
    let global_bytes = module.globals.iter().map(|g| module.symbols[g.key].size).sum();
    // The slot of an address is not asked for any more.
    drop(std::mem::take(&mut module.globals));
    let tool = tool(opt_level, target);
    let assemble = || assemble::cubin(program, &module, kernels, tool, &whole);
    let model = measured.part(Part::Assemble, assemble);
    let mut warnings = program.warnings.clone();
    unused.into_iter().for_each(|warning| warnings.push(warning));
    warnings.extend(std::mem::take(&mut module.warnings));
    for name in unresolved(program) {
        let message = format!(
            "Unresolved extern variable '{name}' in whole program compilation, ignoring extern qualifier"
        );
        warnings.push(Diagnostic { severity: Severity::Warning, ..Diagnostic::global(message) });
    }
    let output = Output {
        cubin: Vec::new(),
        target,
        functions,
        warnings,
        global_bytes,
        stats,
        dump,
        opt_level,
        fell_back: false,
        cached: false,
        times: Times { code, ..Times::default() },
        measured,
    };
    Ok((model, output))
}

/// Variables that another module was to define; dynamic shared memory is none of them.
fn unresolved<'a>(program: &'a Program<'_>) -> impl Iterator<Item = &'a str> {
    let unresolved = |v: &&ptx::program::Variable| {
        let sized = v.space != Space::Shared || v.size > 0;
        v.linkage == Linkage::Extern && v.space != Space::Param && sized
    };
    program.vars.iter().filter(unresolved).map(|v| program.name(v))
}

fn find_target(
    program: &Program<'_>,
    options: &CompileOptions,
) -> Result<&'static Target, Diagnostics> {
    let name = options.target.as_deref().unwrap_or(program.target);
    // A GPU that there is not is named before what the PTX asks of one.
    if ptx::target::Sm::parse(name).is_some() {
        ptx::target::compatible(program.target, name).map_err(Diagnostic::global)?;
    }
    // `--knob UnseenForms=1`: code may use all that the instruction table has.
    let knobs = Knobs::read(&options.knobs).map_err(Diagnostic::global)?;
    let target = orias_targets::target(name).filter(|t| t.codegen);
    let widen = |t: &'static Target| match knobs.is_on(Knob::UnseenForms, t) {
        true => t.widened(),
        false => t,
    };
    target.map(widen).ok_or_else(|| {
        // The words that clients look for (FACTS: XLA).
        Diagnostic::global(format!("Value '{name}' is not defined for option 'gpu-name'")).into()
    })
}

/// What is compiled at once: a function, for a kernel. Device functions are the same for all
/// kernels, and named with themselves, unless their code depends on the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Unit {
    func: FuncId,
    kernel: FuncId,
}

impl Unit {
    fn of(module: &Module, func: FuncId, kernel: FuncId) -> Unit {
        let varies = func == kernel || module.layouts[func].names_shared;
        Unit { func, kernel: if varies { kernel } else { func } }
    }
}

/// Every kernel of the module that is asked for, in source order.
fn kernels<'p>(
    program: &'p Program<'_>,
    options: &'p CompileOptions,
) -> impl Iterator<Item = FuncId> + 'p {
    let entries = &options.overrides.entries;
    let asked = |name: &str| entries.is_empty() || entries.iter().any(|e| e == name);
    let all = program.functions.iter().enumerate();
    all.filter(move |(_, f)| f.entry && f.defined && asked(f.name)).map(|(i, _)| FuncId(i as u32))
}

/// A device function may use as many registers as the kernels that come to it.
fn limit_callees(program: &Program<'_>, module: &mut Module, options: &CompileOptions) {
    for kernel in kernels(program, options) {
        let layout = &module.layouts[kernel];
        let Some(limit) = layout.max_registers else { continue };
        for callee in layout.callees.clone() {
            let of_callee = &mut module.layouts[callee].max_registers;
            *of_callee = Some(of_callee.map_or(limit, |other| other.min(limit)));
        }
    }
}

/// Puts kernels and their callees together; reports of all, each kernel's callees behind it where
/// they come first.
fn link_kernels(
    module: &Module,
    compiled: Vec<Done>,
) -> Result<(Vec<FunctionReport>, Vec<Linked>), Diagnostics> {
    let (mut kernels, mut functions) = (Vec::with_capacity(compiled.len()), Vec::new());
    for one in compiled {
        let to = if one.code.compiled.entry { &mut kernels } else { &mut functions };
        to.push(one);
    }
    let callees: FxHashMap<Unit, &Done> = functions.iter().map(|one| (one.unit, one)).collect();
    let mut reported: FxHashSet<FuncId> = FxHashSet::default();
    let mut reports = Vec::with_capacity(kernels.len() + functions.len());
    let mut linked = Vec::with_capacity(kernels.len());
    for one in kernels {
        let func = one.unit.func;
        let layout = &module.layouts[func];
        let units = layout.callees.iter().map(|f| Unit::of(module, *f, func));
        let parts: Vec<&Done> = units.filter_map(|unit| callees.get(&unit).copied()).collect();
        let parts_of: Vec<(FuncId, &Code)> = parts.iter().map(|p| (p.unit.func, &p.code)).collect();
        let mut own = report(module, &one);
        let kernel = (func, one.code);
        let kernel = link::kernel(module.options.target, module, kernel, &parts_of)
            .map_err(Diagnostic::global)?;
        own.registers = kernel.compiled.registers;
        own.barriers = kernel.compiled.barriers;
        own.stack_bytes = kernel.stack_bytes;
        reports.push(own);
        let news = parts.into_iter().filter(|p| reported.insert(p.unit.func));
        reports.extend(news.map(|p| report(module, p)));
        linked.push(kernel);
    }
    Ok((reports, linked))
}

/// One function's way through the pipeline.
struct Done {
    unit: Unit,
    code: Code,
    /// Number of its thread: see [`times::thread`].
    thread: u32,
    started: Instant,
    time: Duration,
    /// How much of it was lowering.
    lowering: Duration,
}

impl Done {
    fn times(&self) -> FunctionTime {
        let compiled = &self.code.compiled;
        FunctionTime {
            name: compiled.name.clone(),
            thread: self.thread,
            began: self.started,
            time: self.time,
            lowering: self.lowering,
            phases: compiled.stats.clone(),
            pieces: compiled.pieces.clone(),
        }
    }
}

/// What is to be compiled, with the statements of its function.
type Job<'s> = (Unit, Option<Arc<FunctionBody<'s>>>);

/// Every kernel of the module, in source order, and the device functions that they come to. A
/// function's body goes as soon as it is lowered, where nothing else holds it: it may need more
/// memory than its code.
fn compile_functions(
    program: &mut Program<'_>,
    module: &Module,
    session: &Session<'_>,
    extras: (bool, &Reached),
) -> Result<Vec<Done>, Failure> {
    let Session { options, pool, stop, .. } = *session;
    let mut units: Vec<Unit> =
        kernels(program, options).map(|k| Unit { func: k, kernel: k }).collect();
    let mut known: FxHashSet<Unit> = FxHashSet::default();
    for kernel in kernels(program, options) {
        let callees = module.layouts[kernel].callees.iter();
        let callees = callees.map(|f| Unit::of(module, *f, kernel));
        units.extend(callees.filter(|unit| known.insert(*unit)));
    }
    // How functions go through the pipeline: all alike, but for recipes.
    let mut pipelines: Vec<Options> = Vec::new();
    let mut pipeline_of = |unit: &Unit| {
        if options.recipes.is_empty() && !pipelines.is_empty() {
            return 0;
        }
        let name = program.functions[unit.kernel.0 as usize].name;
        let (mut knobs, mut disabled) = options.recipes.of(name);
        knobs.extend(options.knobs.iter().cloned());
        disabled.extend(options.disabled.iter().cloned());
        let pipeline = Options {
            target: module.options.target,
            opt_level: module.options.opt_level,
            verify_each: options.verify_each,
            dump_ir: options.dump_ir.clone(),
            disabled,
            phase_limit: options.phase_limit,
            statistics: options.statistics,
            knobs: Knobs::read(&knobs).unwrap_or_default(),
        };
        pipelines.iter().position(|other| other.is_same(&pipeline)).unwrap_or_else(|| {
            pipelines.push(pipeline);
            pipelines.len() - 1
        })
    };
    let code = |unit: &Unit| program.functions[unit.func.0 as usize].code.len();
    let size = units.iter().map(code).sum::<usize>();
    let is_small = units.len() < 2 || size < FEW_INSTRUCTIONS;
    // One function that is most of the module, and worth the help of other threads.
    let largest = units.iter().map(code).max().unwrap_or(0);
    let is_one_huge = largest >= parallel::LARGE && size - largest < largest / 4;
    let body = |unit: &Unit| program.functions[unit.func.0 as usize].body.clone();
    let is_alone = pool.is_one() || is_small;
    let shares = if is_alone { 1 } else { GROUPS_OF_A_THREAD * pool.threads() };
    let together = if options.trace { 1 } else { units.len().div_ceil(shares).min(TOGETHER) };
    let mut groups: Vec<(usize, Vec<Job<'_>>)> = Vec::new();
    let mut left = 0;
    for unit in &units {
        let (code, pipeline) = (code(unit), pipeline_of(unit));
        match groups.last_mut() {
            Some((by, group)) if *by == pipeline && group.len() < together && code <= left => {
                left -= code;
                group.push((*unit, body(unit)));
            }
            _ => {
                left = INSTRUCTIONS_TOGETHER.saturating_sub(code);
                groups.push((pipeline, vec![(*unit, body(unit))]));
            }
        }
    }
    program.functions.iter_mut().for_each(|function| function.body = None);
    let program = &*program;
    // What has compiled a large module holds much memory: it is not kept.
    let large = (size > MANY_INSTRUCTIONS).then(Teams::default);
    let teams = large.as_ref().unwrap_or(session.teams);
    let group = |(by, jobs): (usize, Vec<Job<'_>>)| {
        if let Err(stopped) = stop.check() {
            return vec![Err(stopped.into())];
        }
        let mut team = match teams.take(jobs.len(), &pipelines[by]) {
            Ok(team) => team,
            Err(error) => return vec![Err(Diagnostic::global(error.to_string()).into())],
        };
        let done = compile_together(program, module, jobs, &mut team, extras, stop);
        teams.give_back(team);
        done
    };
    let one_by_one = |groups: Vec<_>| {
        let mut all = Vec::with_capacity(units.len());
        groups.into_iter().for_each(|one| all.extend(group(one)));
        all
    };
    let done: Result<Vec<Result<Done, Failure>>, _> = if is_one_huge {
        pool.help(|| one_by_one(groups))
    } else if is_alone {
        Ok(one_by_one(groups))
    } else {
        pool.run(|| groups.into_par_iter().flat_map_iter(group).collect())
    };
    let done = done.map_err(|error| Diagnostic::global(error.to_string()))?;
    drop(large);
    let (mut compiled, mut errors) = (Vec::with_capacity(done.len()), Diagnostics::default());
    for result in done {
        match result {
            Ok(one) => compiled.push(one),
            Err(Failure::Rejected(error)) => errors.extend(error),
            Err(stopped) => return Err(stopped),
        }
    }
    if errors.has_errors() { Err(errors.into()) } else { Ok(compiled) }
}

/// Takes functions through the phases together, by one worker each.
fn compile_together(
    program: &Program<'_>,
    module: &Module,
    jobs: Vec<Job<'_>>,
    team: &mut [Worker],
    (with_lines, reached): (bool, &Reached),
    stop: Stop<'_>,
) -> Vec<Result<Done, Failure>> {
    let started = Instant::now();
    let count = jobs.len() as u32;
    let lower = |(unit, body): Job<'_>, worker: &mut Worker| {
        let function = Function { body, ..program.functions[unit.func.0 as usize].clone() };
        let lowered = (unit.func, &function);
        let info = lower::function(program, module, lowered, unit.kernel, worker.body())?;
        let digest = Digest::of(&function);
        let profile = match reached.is_empty() {
            true => Profile::default(),
            false => digest.spans.iter().map(|span| reached.get(&span.start).copied()).collect(),
        };
        worker.set_info(FunctionInfo { profile, ..info });
        Ok((unit, digest, function.span))
    };
    let lowered: Vec<Result<_, Failure>> =
        jobs.into_iter().zip(&mut *team).map(|(job, worker)| lower(job, worker)).collect();
    let lowering = started.elapsed() / count;
    // What could not be lowered has no whole body.
    let whole = team.iter_mut().zip(&lowered).filter(|(_, lowered)| lowered.is_ok());
    let mut whole: Vec<&mut Worker> = whole.map(|(worker, _)| worker).collect();
    let mut compiled = Worker::run_together(&mut whole, stop).into_iter();
    let time = started.elapsed() / count;
    let done = lowered.into_iter().map(|lowered| {
        let (unit, ptx, span) = lowered?;
        let compiled = compiled.next().expect("one for each that was lowered");
        let mut compiled = compiled.map_err(|error| from_pipeline(error, &ptx, span))?;
        let facts = CodeFacts::of(&ptx, &compiled);
        let lines = std::mem::take(&mut compiled.lines);
        let lines = with_lines.then(|| crate::origin::origins(&lines, &ptx));
        let lines = lines.unwrap_or_default();
        let code = Code { compiled, facts, lines };
        Ok(Done { unit, code, thread: times::thread(), started, time, lowering })
    });
    done.collect()
}

/// A phase's complaints, at the PTX instruction that each comes from or else at the function.
fn from_pipeline(error: PipelineError, ptx: &Digest, function: Span) -> Failure {
    let place = |loc: Loc| -> Span {
        let index = (loc.ptx_inst as usize).checked_sub(1);
        index.and_then(|i| ptx.spans.get(i)).copied().unwrap_or(function)
    };
    let mut all = Diagnostics::default();
    match error {
        PipelineError::Phase { phase, errors, .. } => {
            for error in errors {
                let message = format!("{} (phase {phase})", error.message);
                all.error(place(error.loc), message);
            }
        }
        PipelineError::Stopped(stopped) => return stopped.into(),
        other => all.error(function, other.to_string()),
    }
    all.into()
}

fn add_stats(sum: &mut Vec<PhaseStat>, one: &[PhaseStat]) {
    sum.resize(one.len().max(sum.len()), PhaseStat::default());
    for (sum, one) in sum.iter_mut().zip(one) {
        sum.add(one);
    }
}

fn report(module: &Module, done: &Done) -> FunctionReport {
    let layout = &module.layouts[done.unit.func];
    let compiled = &done.code.compiled;
    FunctionReport {
        name: compiled.name.clone(),
        entry: compiled.entry,
        registers: compiled.registers,
        instructions: compiled.code_bytes / INSTRUCTION_BYTES,
        barriers: compiled.barriers,
        shared_bytes: layout.shared_bytes.saturating_sub(lower::SHARED_RESERVED) as u32,
        frame_bytes: compiled.frame_bytes,
        stack_bytes: compiled.frame_bytes,
        spill_store_bytes: compiled.spill_store_bytes,
        spill_load_bytes: compiled.spill_load_bytes,
        constant_bytes: [
            module.options.target.const_params + layout.param_bytes,
            module.constants.len() as u32,
        ],
        time: done.time,
    }
}

/// What `.note.nv.tkinfo` says of us.
fn tool(opt_level: u8, target: &Target) -> Tool {
    Tool {
        name: "orias".to_string(),
        version: concat!("orias ", env!("CARGO_PKG_VERSION")).to_string(),
        branch: String::new(),
        arguments: format!("-O {opt_level} -arch {} ", target.name),
    }
}
