//! Runs the phases of the table over one function after another.
//!
//! A [`Worker`] owns one world and the phases' resources, made once. Between functions its tables
//! and resources are emptied, their allocations stay. One worker belongs to one thread; functions
//! in parallel means several workers.

use crate::analysis::liveness::may_read_unwritten;
use crate::function::{Compiled, FunctionInfo, Options, PhaseStat, PieceStats};
use crate::knobs::Knob;
use crate::notes::{PhaseError, Report};
use crate::parallel;
use crate::pieces::{self, Builder, Parcel, Plan};
use crate::pipeline::{self, PHASES, Phase, Status, System};
use crate::registers::map::RegisterMap;
use crate::ssa;
use crate::states::{Found, Resources};
use crate::stop::{Stop, Stopped};
use bevy_ecs::prelude::*;
use orias_components::body::Stamps;
use orias_components::scratch;
use orias_components::validate::{definitions, validate};
use orias_components::{BlockId, Body, Facts, Function, edges, heap, text, work};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Why there is no code.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PipelineError {
    /// An option names a phase that there is not.
    #[error("no phase is named `{0}`")]
    UnknownPhase(String),
    /// An option disables a phase that correct code needs.
    #[error("phase {0} cannot be disabled: there is no correct code without it")]
    NeededPhase(&'static str),
    /// A phase found that the function cannot be compiled.
    #[error("{}", describe(.phase, .errors))]
    Phase { function: String, phase: &'static str, errors: Vec<PhaseError> },
    /// With `verify_each`: the IR does not hold what it must behind a phase.
    #[error("invalid IR after phase {phase} in `{function}`: {message}")]
    Invalid { function: String, phase: &'static str, message: String },
    /// It was to end before all phases had run.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn describe(phase: &str, errors: &[PhaseError]) -> String {
    let mut text = String::new();
    for (i, e) in errors.iter().enumerate() {
        let _ = write!(text, "{}{} (phase {phase})", if i == 0 { "" } else { "\n" }, e.message);
    }
    text
}

/// One phase of a worker: its system when it runs at all under the worker's options.
#[derive(Clone, Copy)]
struct Step {
    phase: &'static Phase,
    system: Option<&'static System>,
    dump: bool,
    /// For an optimization: the first phase with the same code, whose mark in
    /// [`Progress::settled`] they share.
    optimization: Option<u8>,
}

/// A world, the resources of phases, the phases that run on them, and the options that they run
/// under. What is large lies on the heap from the start: a worker is moved some times before it
/// stays where it is, and each copy of the stack's would be a page of it that nothing else needs.
pub struct Worker {
    function: Box<Function>,
    options: Options,
    resources: Box<Resources>,
    steps: Arc<[Step]>,
    progress: Progress,
}

/// What is known of the function while phases run.
#[derive(Default)]
struct Progress {
    dump: String,
    /// Rewrites of all phases since the function came.
    rewrites: u64,
    /// By first step of an optimization: the count of rewrites at which it last found nothing to
    /// do. While nothing changes it would find nothing again, and is not run.
    settled: Vec<Option<u64>>,
    /// Of the body as the last phase left it.
    facts: Facts,
    /// The body as it was when stale analyses went last.
    swept: Option<Stamps>,
    /// The body is in SSA form.
    is_ssa: bool,
    /// Under `verify_each`: the function as lowered reads no register that nothing writes. Then it
    /// never does.
    all_defined: bool,
    /// The first phase that has not run yet in the function's pieces, where it has any.
    next: usize,
    /// Of a piece of a function: which one, and of how many.
    piece: Option<(usize, usize)>,
}

/// A worker while phases run: all that they name is found.
struct Running<'w> {
    found: Found<'w>,
    options: &'w Options,
    steps: &'w Arc<[Step]>,
    progress: &'w mut Progress,
}

impl Worker {
    /// Looks up the phases that these options let run.
    ///
    /// # Errors
    /// A name in `disabled` or `dump_ir` that is no phase, or `disabled` names a phase that correct
    /// code needs.
    pub fn new(options: Options) -> Result<Worker, PipelineError> {
        for name in options.disabled.iter().chain(&options.dump_ir) {
            if name != "*" && pipeline::find(name).is_none() {
                return Err(PipelineError::UnknownPhase(name.clone()));
            }
        }
        for name in &options.disabled {
            if let Some(phase) = pipeline::find(name).filter(|p| p.is_needed(options.opt_level)) {
                return Err(PipelineError::NeededPhase(phase.name));
            }
        }
        // Phases before that do not run at -O1.
        let mut before = 0;
        let steps = PHASES
            .iter()
            .map(|phase| Step {
                phase,
                system: system(phase, &options, &mut before),
                dump: options.dump_ir.iter().any(|n| n == "*" || n == phase.name),
                optimization: pipeline::first_alike(phase),
            })
            .collect();
        Ok(Worker::with(options, steps))
    }

    /// One more that runs by the same options.
    #[must_use]
    pub fn another(&self) -> Worker {
        Worker::with(self.options.clone(), self.steps.clone())
    }

    fn with(options: Options, steps: Arc<[Step]>) -> Worker {
        let progress = Progress { settled: vec![None; PHASES.len()], ..Progress::default() };
        let (function, resources) = (Box::default(), Box::new(Resources::new(options.clone())));
        Worker { function, options, resources, steps, progress }
    }

    /// What the phases run by.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What lowering says of the function.
    pub fn set_info(&mut self, info: FunctionInfo) {
        self.resources.info = info;
    }

    /// The body of the current function.
    pub fn body(&mut self) -> Body<'_> {
        self.function.body()
    }

    /// Forgets the function and what phases left; keeps allocations.
    pub fn reset(&mut self) {
        self.function.clear();
        let Running { found, progress, .. } = self.enter();
        *found.info = FunctionInfo::default();
        found.compiled.clear();
        *found.report = Report::default();
        found.marked.divergent.clear();
        found.marked.spills.clear();
        found.marked.cold.clear();
        *found.map = RegisterMap::default();
        found.list.clear();
        found.words.clear();
        *found.form = ssa::Form::default();
        progress.is_ssa = false;
        progress.dump.clear();
        progress.rewrites = 0;
        progress.settled.fill(None);
        (progress.next, progress.piece) = (0, None);
    }

    /// Finds what phases name.
    fn enter(&mut self) -> Running<'_> {
        Running {
            found: self.resources.find(&mut self.function),
            options: &self.options,
            steps: &self.steps,
            progress: &mut self.progress,
        }
    }

    /// What `--dump-ir` has printed so far of this function: also there when a phase failed.
    pub fn dump(&self) -> &str {
        &self.progress.dump
    }

    /// Runs every phase over the function in the world, and takes the result out of it.
    ///
    /// # Errors
    /// The first phase that complains, or with `verify_each` the first one that leaves an invalid
    /// body.
    pub fn run(&mut self) -> Result<Compiled, PipelineError> {
        let stats = self.run_through(PHASES.len())?;
        Ok(self.take(stats))
    }

    /// Runs every phase over the functions of all these workers, which have the same options, and
    /// takes the results. Each phase runs over all of them before the next one does: small
    /// functions find the code of a phase, which is more than they are, in the processor's cache.
    ///
    /// # Errors
    /// For each function as [`Worker::run`]; the others go on. When it is to stop, which is looked
    /// at before each phase, all of them say so.
    pub fn run_together(
        workers: &mut [&mut Worker],
        stop: Stop<'_>,
    ) -> Vec<Result<Compiled, PipelineError>> {
        workers.iter_mut().for_each(|worker| worker.enter().begin());
        let all = run_steps(workers, 0..PHASES.len(), stop);
        let done = workers.iter_mut().zip(all);
        done.map(|(worker, result)| result.map(|stats| worker.take(stats))).collect()
    }

    /// Goes on with a phase (an index in the table) where [`Worker::run_through`] has stopped
    /// before it, and takes the result: for tests that edit the body between.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub fn run_from(&mut self, first: usize) -> Result<Compiled, PipelineError> {
        // Who found nothing to do has not seen the edit.
        self.progress.rewrites += 1;
        self.enter().tidy();
        let stats = self.run_steps(first..PHASES.len())?;
        Ok(self.take(stats))
    }

    /// Runs these phases (indices in the table), where the ones before have run: for benches of one
    /// stage.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub fn run_only(&mut self, phases: Range<usize>) -> Result<Vec<PhaseStat>, PipelineError> {
        self.run_steps(phases.start..phases.end.min(self.steps.len()))
    }

    /// Takes the result out of the world.
    fn take(&mut self, stats: Vec<PhaseStat>) -> Compiled {
        scratch::done_again();
        let mut compiled = self.resources.compiled.take();
        let info = &self.resources.info;
        compiled.name.clone_from(&info.name);
        compiled.entry = info.entry;
        compiled.stats = stats;
        compiled.dump = std::mem::take(&mut self.progress.dump);
        compiled
    }

    /// Runs the phases before `end` (an index in the table) and leaves the body in the world: for
    /// tests and tools that look at the middle of the pipeline.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub fn run_through(&mut self, end: usize) -> Result<Vec<PhaseStat>, PipelineError> {
        self.enter().begin();
        self.run_steps(0..end.min(PHASES.len()))
    }

    fn run_steps(&mut self, steps: Range<usize>) -> Result<Vec<PhaseStat>, PipelineError> {
        run_steps(&mut [self], steps, Stop::NEVER).pop().expect("one for each worker")
    }
}

/// Runs these phases, each over the functions of all workers; rows of phases where statistics are
/// asked for.
fn run_steps(
    workers: &mut [&mut Worker],
    steps: Range<usize>,
    stop: Stop<'_>,
) -> Vec<Result<Vec<PhaseStat>, PipelineError>> {
    let rows = |w: &Worker| if w.options.statistics { PHASES.len() } else { 0 };
    let mut results: Vec<Result<Vec<PhaseStat>, PipelineError>> =
        workers.iter().map(|worker| Ok(Vec::with_capacity(rows(worker)))).collect();
    let mut running: Vec<Running<'_>> = workers.iter_mut().map(|w| w.enter()).collect();
    for at in steps.clone() {
        if running.iter().all(|running| running.has_nothing_at(at)) {
            continue;
        }
        if let Err(stopped) = stop.check() {
            results.iter_mut().for_each(|result| *result = Err(stopped.into()));
            return results;
        }
        for (running, result) in running.iter_mut().zip(&mut results) {
            let Ok(stats) = result else { continue };
            if let Err(error) = running.step_or_pieces(at, steps.end, stop, stats) {
                *result = Err(error);
            }
        }
    }
    results
}

impl Running<'_> {
    /// Before the first phase.
    fn begin(&mut self) {
        // Edges too: what the first phase finds sound, no edit of ours has changed when the next
        // one asks.
        self.tidy();
        if self.options.verify_each {
            let body = self.found.body();
            self.progress.all_defined =
                validate(&body).and_then(|()| definitions(&body, |_| true)).is_ok();
        }
    }

    /// Whether there is nothing at this place of the table, and no row of it is asked for.
    fn has_nothing_at(&self, at: usize) -> bool {
        let Step { system, dump, .. } = &self.steps[at];
        system.is_none() && !dump && !self.options.statistics
    }

    /// One phase; or all that a huge function's pieces go through, before `end`, at the first of
    /// them.
    fn step_or_pieces(
        &mut self,
        at: usize,
        end: usize,
        stop: Stop<'_>,
        stats: &mut Vec<PhaseStat>,
    ) -> Result<(), PipelineError> {
        if at < self.progress.next {
            return Ok(());
        }
        let phases = at..end.min(pieces::PHASES.end);
        let may_be_cut = at == pieces::PHASES.start && self.may_be_cut();
        if may_be_cut && self.run_pieces(phases, stop, stats)? {
            return Ok(());
        }
        self.step(at, stats)
    }

    /// Whether the function is one that is cut in pieces if it can be, which it was not yet.
    fn may_be_cut(&self) -> bool {
        let Running { found, options, steps, progress } = self;
        let size = options.knobs.get(Knob::PieceInstructions, options.target) as usize;
        let is_huge = size > 0 && found.held.arena().inst_count() >= pieces::LEAST * size;
        let may_be = progress.next == 0 && progress.piece.is_none();
        is_huge
            && may_be
            && steps[pieces::PHASES.start].system.is_some()
            && found.info.profile.is_empty()
    }

    /// Runs these phases over the function's pieces, each for itself; false where it stays whole.
    fn run_pieces(
        &mut self,
        phases: Range<usize>,
        stop: Stop<'_>,
        stats: &mut Vec<PhaseStat>,
    ) -> Result<bool, PipelineError> {
        let Running { found, options, steps, progress } = self;
        let info = &*found.info;
        let size = options.knobs.get(Knob::PieceInstructions, options.target) as usize;
        let body = found.held.body();
        let Some(plan) = Plan::of(&body, size) else { return Ok(false) };
        let (options, steps) = (*options, *steps);
        let own = || (Worker::with(options.clone(), steps.clone()), Builder::new(&body, &plan));
        let (count, all_defined) = (plan.pieces.len(), progress.all_defined);
        let done = parallel::each_with(count, own, |n, (worker, builder)| {
            worker.reset();
            worker.set_info(FunctionInfo { entry: info.entry && n == 0, ..info.clone() });
            worker.progress.piece = Some((n + 1, count));
            builder.build(n, &mut worker.body());
            worker.enter().begin();
            worker.progress.all_defined &= all_defined;
            let rows = run_steps(&mut [worker], phases.clone(), stop).pop()?;
            Some(rows.map(|stats| Piece {
                stats: PieceStats { thread: parallel::thread(), stats },
                rewrites: worker.progress.rewrites,
                dump: std::mem::take(&mut worker.progress.dump),
                parcel: match worker.progress.is_ssa {
                    true => builder.pack(&worker.body()),
                    false => None,
                },
            }))
        });
        let done = done.into_iter().flatten().collect::<Result<Vec<Piece>, PipelineError>>()?;
        // A piece that is none any more, or in another form, has no place in the function.
        if done.iter().any(|piece| piece.parcel.is_none()) {
            return Ok(false);
        }
        let mut rows = vec![PhaseStat::default(); done[0].stats.stats.len()];
        let mut parcels = Vec::with_capacity(count);
        for Piece { stats, rewrites, dump, parcel } in done {
            rows.iter_mut().zip(&stats.stats).for_each(|(row, of)| row.add(of));
            progress.rewrites += rewrites;
            progress.dump.push_str(&dump);
            parcels.extend(parcel);
            if options.statistics {
                found.compiled.pieces.push(stats);
            }
        }
        stats.append(&mut rows);
        pieces::join(&mut self.found.held.body(), parcels);
        self.found.form.is_ssa = true;
        self.progress.next = phases.end;
        self.tidy();
        self.check(phases.end - 1, Vec::new())?;
        Ok(true)
    }

    /// One phase, and its row where statistics are asked for.
    fn step(&mut self, at: usize, stats: &mut Vec<PhaseStat>) -> Result<(), PipelineError> {
        if self.options.statistics {
            stats.push(self.measure_phase(at)?);
        } else {
            self.run_phase(at)?;
        }
        Ok(())
    }

    /// One phase, and what it took.
    fn measure_phase(&mut self, at: usize) -> Result<PhaseStat, PipelineError> {
        let insts_before = self.found.body().live_inst_count() as u32;
        let idle = PhaseStat { insts_before, insts_after: insts_before, ..PhaseStat::default() };
        let (start, work, heap) = (Instant::now(), work::done(), heap::mark());
        let Some(rewrites) = self.run_phase(at)? else { return Ok(idle) };
        Ok(PhaseStat {
            began: Some(start),
            nanoseconds: start.elapsed().as_nanos() as u64,
            heap: heap::now().since(heap),
            work: work::done() - work,
            rewrites,
            insts_after: self.found.body().live_inst_count() as u32,
            ..idle
        })
    }

    /// One phase: how often it has rewritten something. None: there is nothing for it.
    fn run_phase(&mut self, at: usize) -> Result<Option<u32>, PipelineError> {
        let Step { system, dump, optimization, .. } = self.steps[at];
        if dump {
            self.print(at, "before");
        }
        let progress = &*self.progress;
        let mark = optimization.map(usize::from);
        let settled = mark.is_some_and(|first| progress.settled[first] == Some(progress.rewrites));
        let applies = |s: &System| s.applies.is_none_or(|has| has(&progress.facts));
        let mut rewrites = None;
        if let Some(system) = system.filter(|s| !settled && applies(s)) {
            (system.run)(&mut self.found);
            self.tidy();
            let count = std::mem::take(&mut self.found.report.rewrites);
            let progress = &mut *self.progress;
            progress.rewrites += u64::from(count);
            if let Some(first) = mark.filter(|_| count == 0) {
                progress.settled[first] = Some(progress.rewrites);
            }
            if self.options.verify_each || !self.found.report.errors.is_empty() {
                let errors = std::mem::take(&mut self.found.report.errors);
                self.check(at, errors)?;
            }
            rewrites = Some(count);
        }
        if dump {
            self.print(at, "after");
        }
        Ok(rewrites)
    }

    /// After a phase: makes edges current, lets go of analyses that are stale.
    fn tidy(&mut self) {
        let Running { found, progress, .. } = self;
        let arena = found.held.arena();
        let (edges_are_stale, mut stamps) = (arena.edges_are_stale(), arena.stamps());
        progress.facts = *arena.facts();
        let is_ssa = found.form.is_ssa;
        let leaves_ssa = std::mem::replace(&mut progress.is_ssa, is_ssa) && !is_ssa;
        if leaves_ssa || edges_are_stale {
            let mut body = found.body();
            if leaves_ssa {
                // Most registers have become one with others: tables by register need not be as
                // long as the numbers once were.
                body.renumber_vregs();
            }
            body.update_edges();
            stamps = body.stamps();
        }
        // Most phases find nothing to do.
        if progress.swept.replace(stamps) != Some(stamps) {
            found.analyses.sweep(stamps, found.held.arena().inst_count());
        }
    }

    /// Fails when the phase complained, or (where asked) when the body is not valid any more.
    fn check(&mut self, at: usize, errors: Vec<PhaseError>) -> Result<(), PipelineError> {
        let phase = self.steps[at].phase.name;
        if !errors.is_empty() {
            return Err(PipelineError::Phase { function: self.name(), phase, errors });
        }
        // From MercConverter on the code is a list of words to be: block structure has no meaning
        // any more.
        let is_words =
            |at: usize| pipeline::find("MercConverter").is_some_and(|p| at >= p.index as usize);
        if !self.options.verify_each || is_words(at) {
            return Ok(());
        }
        let is_ssa = self.found.form.is_ssa;
        let mut analyses = std::mem::take(self.found.analyses);
        let body = self.found.held.body();
        if phase == "AnalyzeControlFlow" && may_read_unwritten(&body) {
            // What writes the register on other ways may be dead there, and has another name in SSA
            // form.
            self.progress.all_defined = false;
        }
        // Code that nothing comes to may lose its operands before it goes.
        let sound = analyses.check(&body);
        let flow = analyses.flow(&body);
        let is_reached = |b: BlockId| flow.dominators().is_reached(b.0);
        let all =
            |()| if self.progress.all_defined { definitions(&body, is_reached) } else { Ok(()) };
        let valid = || validate(&body).and_then(all).map_err(|e| e.to_string());
        let sound = sound.and_then(|()| valid()).and_then(|()| edges::check(&body));
        let sound =
            sound.and_then(|()| if is_ssa { ssa::check(&body, &mut analyses) } else { Ok(()) });
        sound.map_err(|message| PipelineError::Invalid { function: self.name(), phase, message })
    }

    fn name(&self) -> String {
        self.found.info.name.clone()
    }

    fn print(&mut self, at: usize, when: &str) {
        let phase = self.steps[at].phase;
        let mut name = self.name();
        if let Some((piece, count)) = self.progress.piece {
            let _ = write!(name, " (piece {piece} of {count})");
        }
        let ir = text::print(&self.found.body(), &text::Style::default());
        let _ =
            write!(self.progress.dump, "// {name}: {when} {} {}\n{ir}\n", phase.index, phase.name);
    }
}

/// A piece of a function behind its phases.
struct Piece {
    stats: PieceStats,
    rewrites: u64,
    dump: String,
    /// None where it cannot be put together with the others.
    parcel: Option<Parcel>,
}

fn system(phase: &'static Phase, options: &Options, before: &mut u32) -> Option<&'static System> {
    let Status::Implemented(_, code) = &phase.status else { return None };
    let needed = phase.is_needed(options.opt_level);
    let limited = options.phase_limit.is_some_and(|n| phase.index as u32 >= n) && !needed;
    let off = options.disabled.iter().any(|n| n == phase.name) || limited;
    if off || !phase.runs_at(options.opt_level) {
        return None;
    }
    let may_run = needed || knobs_let_run(phase, options, *before);
    *before += u32::from(!phase.runs_at(1));
    may_run.then_some(code)
}

/// Whether knobs let a phase run that the options ask for, before which so many have run that do
/// not at -O1.
fn knobs_let_run(phase: &Phase, options: &Options, before: u32) -> bool {
    let get = |knob| options.knobs.get(knob, options.target);
    let is_off = phase.is_optional() && get(Knob::GeneralOptimization) == 0
        || phase.name == "OriBranchOpt" && get(Knob::BranchOptDisable) != 0;
    !is_off && (before < get(Knob::OptimizationBudget) || phase.runs_at(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::When;
    use orias_components::{Inst, Loc, Opcode};

    fn options() -> Options {
        Options { statistics: true, ..Options::for_test() }
    }

    #[test]
    fn every_phase_has_a_row_in_the_statistics() {
        let mut worker = Worker::new(options()).expect("no names to check");
        let mut body = worker.body();
        let block = body.new_block();
        body.push(block, Inst::new(Opcode::EXIT, &[], 0, &[]), Loc::default());
        let stats = worker.run_through(PHASES.len());
        // Before all phases exist the pipeline may stop with an error of a phase, never with fewer
        // rows.
        if let Ok(stats) = stats {
            assert_eq!(stats.len(), 159);
            assert_eq!(stats[0].insts_before, 1);
        }
    }

    #[test]
    fn an_unknown_phase_is_an_error() {
        let disabled = vec!["OriNoSuchPhase".to_string()];
        let error = Worker::new(Options { disabled, ..options() }).err().expect("refused");
        assert_eq!(error.to_string(), "no phase is named `OriNoSuchPhase`");
        let dump_ir = vec!["ScheduleInstruction".to_string()];
        assert!(Worker::new(Options { dump_ir, ..options() }).is_err());
    }

    #[test]
    fn what_correct_code_needs_cannot_be_disabled() {
        for name in ["AllocateRegisters", "LateExpandSyncInstructions", "AnalyzeControlFlow"] {
            let disabled = vec![name.to_string()];
            for opt_level in 0..=3 {
                let error =
                    Worker::new(Options { disabled: disabled.clone(), opt_level, ..options() });
                assert!(matches!(error, Err(PipelineError::NeededPhase(n)) if n == name));
            }
        }
        let disabled = vec!["GvnCse".to_string(), "OriCopyProp".to_string()];
        assert!(Worker::new(Options { disabled, ..options() }).is_ok());
    }

    /// Indices of the phases that a worker with these options runs.
    fn running(options: Options) -> Vec<u16> {
        let worker = Worker::new(options).expect("known names");
        worker.steps.iter().filter(|s| s.system.is_some()).map(|s| s.phase.index).collect()
    }

    #[test]
    fn a_phase_limit_leaves_only_what_is_needed_behind_it() {
        let all = running(options());
        let limited = running(Options { phase_limit: Some(40), ..options() });
        let needed = |i: &u16| *i < 40 || PHASES[*i as usize].is_needed(3);
        let expected: Vec<u16> = all.iter().copied().filter(needed).collect();
        assert_eq!(limited, expected);
        assert!(limited.len() < all.len());
    }

    #[test]
    fn the_lowest_level_runs_no_optimization_that_is_not_needed() {
        for index in running(Options { opt_level: 0, ..options() }) {
            let phase = &PHASES[index as usize];
            let optional = matches!(phase.status, Status::Implemented(When::Optional, _));
            assert!(!optional, "{}", phase.name);
        }
    }

    #[test]
    fn an_invalid_body_is_named_with_the_phase_that_left_it() {
        let mut worker = Worker::new(Options { verify_each: true, ..options() }).expect("no names");
        let disabled = vec!["OriCheckInitialProgram".to_string()];
        let quiet = Options { verify_each: true, disabled, ..options() };
        for (worker, phase) in [
            (&mut worker, "OriCheckInitialProgram"),
            (&mut Worker::new(quiet).expect("known"), "AnalyzeControlFlow"),
        ] {
            let mut body = worker.body();
            let block = body.new_block();
            body.push(block, Inst::new(Opcode::NOP, &[], 0, &[]), Loc::default());
            let error = worker.run().expect_err("control runs off the end").to_string();
            assert!(error.contains("control runs off the end") && error.contains(phase), "{error}");
        }
    }

    #[test]
    fn dumps_stand_before_and_after_the_named_phase() {
        let dump_ir = vec!["OriCheckInitialProgram".to_string(), "ApplyNvOptRecipes".to_string()];
        let mut worker = Worker::new(Options { dump_ir, ..options() }).expect("known names");
        let mut body = worker.body();
        let block = body.new_block();
        body.push(block, Inst::new(Opcode::EXIT, &[], 0, &[]), Loc::default());
        worker.set_info(FunctionInfo { name: "k".to_string(), ..FunctionInfo::default() });
        worker.run_through(3).expect("these phases accept it");
        let heads: Vec<&str> = worker.dump().lines().filter(|l| l.starts_with("// k")).collect();
        let expected = [
            "// k: before 0 OriCheckInitialProgram",
            "// k: after 0 OriCheckInitialProgram",
            "// k: before 1 ApplyNvOptRecipes",
            "// k: after 1 ApplyNvOptRecipes",
        ];
        assert_eq!(heads, expected);
    }

    #[test]
    fn a_function_that_fails_stops_no_other_one_that_runs_with_it() {
        let make = |ends: bool| {
            let mut worker =
                Worker::new(Options { verify_each: true, ..options() }).expect("no names");
            let mut body = worker.body();
            let block = body.new_block();
            let op = if ends { Opcode::EXIT } else { Opcode::NOP };
            body.push(block, Inst::new(op, &[], 0, &[]), Loc::default());
            worker
        };
        // A lone EXIT without operands comes further than a lone NOP, and no form has it either.
        let end = |result: Result<Compiled, PipelineError>| {
            result.map(|c| c.text).map_err(|e| e.to_string())
        };
        let alone = [true, false, true].map(|ends| end(make(ends).run()));
        assert_ne!(alone[0], alone[1]);
        let mut workers = [true, false, true].map(make);
        let mut together: Vec<&mut Worker> = workers.iter_mut().collect();
        let together: Vec<_> =
            Worker::run_together(&mut together, Stop::NEVER).into_iter().map(end).collect();
        assert_eq!(together, alone);
    }

    #[test]
    fn a_worker_is_as_new_after_a_reset() {
        let mut worker = Worker::new(options()).expect("no names to check");
        for _ in 0..3 {
            assert_eq!(worker.body().live_inst_count(), 0);
            assert_eq!(worker.enter().name(), "");
            let mut body = worker.body();
            let block = body.new_block();
            assert_eq!(block.0, 0, "dense ids start again");
            body.push(block, Inst::new(Opcode::EXIT, &[], 0, &[]), Loc::default());
            worker.set_info(FunctionInfo { name: "k".to_string(), ..FunctionInfo::default() });
            worker.run_through(4).expect("these phases accept it");
            worker.reset();
        }
    }
}
