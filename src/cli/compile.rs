//! `orias [ptxas options] in.ptx -o out.cubin`

use super::exit::{FAILED, SUCCESS};
use super::{options, report, trace};
use crate::compiler::Compiler;
use crate::driver::{CompileOptions, Output};
use crate::input;
use crate::overrides::{Bounds, Caches, LOADS, Overrides, STORES};
use crate::profiles::{self, Profiles};
use crate::ptx::check::NEWEST_VERSION;
use crate::ptx::words::Word;
use crate::recipes::{self, Recipes};
use clap::Args;
use orias_components::heap;
use orias_systems::knobs::Knobs;
use orias_systems::pipeline;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::path::Path;

/// Registers of a thread that ptxas's ABI needs at least (observed: ptxas 13.0.88, sm_90a,
/// `--maxrregcount`).
const FEWEST_REGISTERS: u32 = 24;
/// Registers that an instruction can name.
const MOST_REGISTERS: u32 = 255;

/// What options are that are not given.
const OUTPUT_FILE: &str = "elf.o";
/// Bytes of a text whose compile writes to so much memory that it is worth a thread to touch it.
const HUGE_TEXT: u64 = 4 << 20;
const OPT_LEVEL: &str = "3";
const FMAD: &str = "true";
const MACHINE: &str = "64";
const SPLIT_COMPILE: &str = "0";
const STAT_FORMAT: &str = "table";

/// The options of ptxas, for the help text and as they were given ([`CompileArgs::new`]).
#[derive(Args, Debug)]
pub struct CompileArgs {
    /// PTX file; `-` is standard input
    #[arg(value_name = "FILE.ptx")]
    inputs: Vec<String>,
    /// (-arch) Target GPU, such as sm_90a [default: the PTX's .target]
    #[arg(long, value_name = "SM", help_heading = "Options of ptxas")]
    gpu_name: Option<String>,
    /// (-o) File to write
    #[arg(long, value_name = "FILE", default_value = OUTPUT_FILE, help_heading = "Options of ptxas")]
    output_file: String,
    /// (-O) Optimization level: 0, 1, 2 or 3
    #[arg(long, value_name = "N", default_value = OPT_LEVEL, help_heading = "Options of ptxas")]
    opt_level: String,
    /// (-fmad) Contract floating-point multiplications and additions
    #[arg(long, value_name = "BOOL", default_value = FMAD, help_heading = "Options of ptxas")]
    fmad: String,
    /// (-maxrregcount) Most registers that a thread may have
    #[arg(long, value_name = "N", help_heading = "Options of ptxas")]
    maxrregcount: Option<String>,
    /// (-v) Print registers, barriers, shared memory, stack, spills and compile time
    #[arg(long, help_heading = "Options of ptxas")]
    verbose: bool,
    /// (-w) Print no warnings
    #[arg(long, help_heading = "Options of ptxas")]
    disable_warnings: bool,
    /// (-Werror) Make warnings errors
    #[arg(long, help_heading = "Options of ptxas")]
    warning_as_error: bool,
    /// (-warn-spills) Warn when registers are spilled to local memory
    #[arg(long, help_heading = "Options of ptxas")]
    warn_on_spills: bool,
    /// (-warn-lmem-usage) Warn when local memory is used
    #[arg(long, help_heading = "Options of ptxas")]
    warn_on_local_memory_usage: bool,
    /// (-warn-double-usage) Warn of each instruction in double precision
    #[arg(long, help_heading = "Options of ptxas")]
    warn_on_double_precision_use: bool,
    /// (-lineinfo) Say which lines of source and PTX each instruction comes from
    #[arg(long, help_heading = "Options of ptxas")]
    generate_line_info: bool,
    /// (-suppress-debug-info) Do not say it, even where the PTX does
    #[arg(long, help_heading = "Options of ptxas")]
    suppress_debug_info: bool,
    /// (-e) The only kernels to compile, comma-separated
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Options of ptxas")]
    entry: Vec<String>,
    /// (-ias) The PTX itself, in place of a file
    #[arg(long, value_name = "PTX", help_heading = "Options of ptxas")]
    input_as_string: Option<String>,
    /// (-dlcm) Cache operator of global loads without one: ca, cg, cs, lu or cv
    #[arg(long, value_name = "OPERATOR", help_heading = "Options of ptxas")]
    def_load_cache: Option<String>,
    /// (-dscm) Cache operator of global stores without one: wb, cg, cs or wt
    #[arg(long, value_name = "OPERATOR", help_heading = "Options of ptxas")]
    def_store_cache: Option<String>,
    /// (-flcm) Cache operator of all global loads
    #[arg(long, value_name = "OPERATOR", help_heading = "Options of ptxas")]
    force_load_cache: Option<String>,
    /// (-fscm) Cache operator of all global stores
    #[arg(long, value_name = "OPERATOR", help_heading = "Options of ptxas")]
    force_store_cache: Option<String>,
    /// (-maxntid) Threads of a CTA at most, for kernels that do not say so
    #[arg(long, value_name = "X,Y,Z", help_heading = "Options of ptxas")]
    maxntid: Option<String>,
    /// (-minnctapersm) CTAs that an SM is to hold at least, for kernels that do not say so
    #[arg(long, value_name = "N", help_heading = "Options of ptxas")]
    minnctapersm: Option<String>,
    /// (-override-directive-values) maxntid, minnctapersm and maxrregcount come before the PTX's
    /// directives
    #[arg(long, help_heading = "Options of ptxas")]
    override_directive_values: bool,
    /// (-m) Host address size: 64
    #[arg(long, value_name = "BITS", default_value = MACHINE, help_heading = "Options of ptxas")]
    machine: String,
    /// (-split-compile) Threads to compile with; 0 is one for each core
    #[arg(long, value_name = "N", default_value = SPLIT_COMPILE, help_heading = "Options of ptxas")]
    split_compile: String,
    /// (-optf) Read options from a file
    #[arg(long, value_name = "FILE", help_heading = "Options of ptxas")]
    options_file: Option<String>,
    /// (-version-ls) Print the PTX versions that are understood
    #[arg(long, help_heading = "Options of ptxas")]
    list_version: bool,
    /// (-V) Print the version
    #[arg(long, help_heading = "Options of ptxas")]
    version: bool,
    /// Print the IR before and after these phases, comma-separated; `*` is all
    #[arg(long, value_name = "PHASE,…", value_delimiter = ',', help_heading = "Looking inside")]
    dump_ir: Vec<String>,
    /// Do not run these phases, nor those of ORIAS_DISABLE_PHASES; one that code needs is an error
    #[arg(long, value_name = "PHASE,…", value_delimiter = ',', help_heading = "Looking inside")]
    disable_phase: Vec<String>,
    /// Run the phases below this index only, and those that correct code needs: for bisecting
    #[arg(long, value_name = "N", help_heading = "Looking inside")]
    phase_limit: Option<u32>,
    /// `phase-wise`: time, instructions, rewrites and allocations of each phase, to standard output
    #[arg(long, value_name = "KIND", help_heading = "Looking inside")]
    stat: Option<String>,
    /// How --stat prints: `table` or `json`
    #[arg(long, value_name = "FORMAT", default_value = STAT_FORMAT, help_heading = "Looking inside")]
    stat_format: String,
    /// Write what happened when, by thread, function and phase: for ui.perfetto.dev and
    /// chrome://tracing
    #[arg(long, value_name = "FILE", help_heading = "Looking inside")]
    trace: Option<String>,
    /// Validate the IR after each phase
    #[arg(long, help_heading = "Looking inside")]
    verify_each: bool,
    /// Set a tuning value of a phase
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Looking inside")]
    knob: Vec<String>,
    /// Set knobs and leave phases out by kernels' names: lines of JSON, such as
    /// {"kernel": "matmul_*", "knobs": {"UnrollTimes": 2}, "disable": ["GvnCse"]}
    #[arg(long, value_name = "FILE", help_heading = "Looking inside")]
    recipes: Vec<String>,
    /// Compile by what `orias sim --write-profile` saw: which ways and loops run, and how often
    #[arg(long, value_name = "FILE", help_heading = "Looking inside")]
    use_profile: Vec<String>,
}

impl Default for CompileArgs {
    fn default() -> CompileArgs {
        CompileArgs {
            inputs: Vec::new(),
            gpu_name: None,
            output_file: OUTPUT_FILE.to_string(),
            opt_level: OPT_LEVEL.to_string(),
            fmad: FMAD.to_string(),
            maxrregcount: None,
            verbose: false,
            disable_warnings: false,
            warning_as_error: false,
            warn_on_spills: false,
            warn_on_local_memory_usage: false,
            warn_on_double_precision_use: false,
            generate_line_info: false,
            suppress_debug_info: false,
            entry: Vec::new(),
            input_as_string: None,
            def_load_cache: None,
            def_store_cache: None,
            force_load_cache: None,
            force_store_cache: None,
            maxntid: None,
            minnctapersm: None,
            override_directive_values: false,
            machine: MACHINE.to_string(),
            split_compile: SPLIT_COMPILE.to_string(),
            options_file: None,
            list_version: false,
            version: false,
            dump_ir: Vec::new(),
            disable_phase: Vec::new(),
            phase_limit: None,
            stat: None,
            stat_format: STAT_FORMAT.to_string(),
            trace: None,
            verify_each: false,
            knob: Vec::new(),
            recipes: Vec::new(),
            use_profile: Vec::new(),
        }
    }
}

impl CompileArgs {
    /// From long names and values, as [`super::options::normalise`] gives them.
    ///
    /// # Errors
    /// A value that is not one of its option, in ptxas's words.
    pub fn new(
        options: Vec<(&'static str, Option<String>)>,
        inputs: Vec<String>,
    ) -> Result<CompileArgs, String> {
        let mut args = CompileArgs { inputs, ..CompileArgs::default() };
        for (name, value) in options {
            args.set(name, value)?;
        }
        Ok(args)
    }

    /// An option that says something of one compile alone, where many are made.
    pub(super) fn of_one_file(&self) -> Option<&'static str> {
        let of_one = [
            ("FILE.ptx", !self.inputs.is_empty()),
            ("output-file", self.output_file != OUTPUT_FILE),
            ("input-as-string", self.input_as_string.is_some()),
            ("verbose", self.verbose),
            ("version", self.version),
            ("list-version", self.list_version),
            ("dump-ir", !self.dump_ir.is_empty()),
            ("stat", self.stat.is_some()),
        ];
        of_one.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Gives an option its value.
    pub(super) fn set(&mut self, option: &str, value: Option<String>) -> Result<(), String> {
        let Some(value) = value else {
            let flag = match option {
                "disable-warnings" => &mut self.disable_warnings,
                "generate-line-info" => &mut self.generate_line_info,
                "list-version" => &mut self.list_version,
                "override-directive-values" => &mut self.override_directive_values,
                "suppress-debug-info" => &mut self.suppress_debug_info,
                "verbose" => &mut self.verbose,
                "verify-each" => &mut self.verify_each,
                "version" => &mut self.version,
                "warn-on-double-precision-use" => &mut self.warn_on_double_precision_use,
                "warn-on-local-memory-usage" => &mut self.warn_on_local_memory_usage,
                "warn-on-spills" => &mut self.warn_on_spills,
                "warning-as-error" => &mut self.warning_as_error,
                other => return Err(format!("Unknown option '{other}'")),
            };
            *flag = true;
            return Ok(());
        };
        let list = |list: &mut Vec<String>| list.extend(value.split(',').map(str::to_string));
        match option {
            "disable-phase" => list(&mut self.disable_phase),
            "dump-ir" => list(&mut self.dump_ir),
            "entry" => list(&mut self.entry),
            "knob" => self.knob.push(value),
            "recipes" => self.recipes.push(value),
            "use-profile" => self.use_profile.push(value),
            "phase-limit" => {
                let limit = value.parse();
                self.phase_limit = Some(limit.map_err(|_| invalid("phase-limit", &value))?);
            }
            "fmad" => self.fmad = value,
            "machine" => self.machine = value,
            "opt-level" => self.opt_level = value,
            "output-file" => self.output_file = value,
            "split-compile" => self.split_compile = value,
            "def-load-cache" => self.def_load_cache = Some(value),
            "def-store-cache" => self.def_store_cache = Some(value),
            "force-load-cache" => self.force_load_cache = Some(value),
            "force-store-cache" => self.force_store_cache = Some(value),
            "gpu-name" => self.gpu_name = Some(value),
            "input-as-string" => self.input_as_string = Some(value),
            "maxntid" => self.maxntid = Some(value),
            "maxrregcount" => self.maxrregcount = Some(value),
            "minnctapersm" => self.minnctapersm = Some(value),
            "stat" => self.stat = Some(value),
            "stat-format" => self.stat_format = value,
            "trace" => self.trace = Some(value),
            other => return Err(format!("Unknown option '{other}'")),
        }
        Ok(())
    }
}

fn invalid(option: &str, value: &str) -> String {
    format!("Invalid value '{value}' for option '{option}'")
}

/// Warnings of a run: printed, hidden, or errors.
pub(super) struct Warnings {
    pub hidden: bool,
    pub fatal: bool,
    pub failed: bool,
    /// Where they go in place of standard error.
    pub kept: Option<Vec<String>>,
}

impl Warnings {
    fn new(args: &CompileArgs) -> Warnings {
        let (hidden, fatal) = (args.disable_warnings, args.warning_as_error);
        Warnings { hidden, fatal, failed: false, kept: None }
    }

    /// Those of a run whose messages are kept.
    pub fn kept(args: &CompileArgs) -> Warnings {
        Warnings { kept: Some(Vec::new()), ..Warnings::new(args) }
    }

    pub fn give(&mut self, message: &str) {
        self.failed |= self.fatal;
        match &mut self.kept {
            Some(kept) => kept.extend((self.fatal || !self.hidden).then(|| message.to_string())),
            None if self.fatal => eprintln!("ptxas error   : {message}"),
            None if !self.hidden => eprintln!("ptxas warning : {message}"),
            None => {}
        }
    }
}

/// Compiles; `warnings` are those about the command line.
pub fn compile(args: &CompileArgs, warnings: &[String]) -> u8 {
    if args.version {
        print!("{}", version());
        return SUCCESS;
    }
    if args.list_version {
        println!("{}.{}", NEWEST_VERSION.0, NEWEST_VERSION.1);
        return SUCCESS;
    }
    match run(args, warnings) {
        Ok(()) => SUCCESS,
        Err(text) => {
            eprint!("{text}");
            FAILED
        }
    }
}

/// What `--version` prints. Clients look for `release 13.0` and `V13.0.88`: the ptxas that this one
/// stands in for.
fn version() -> String {
    format!(
        "orias {}: an open PTX to SASS compiler that takes ptxas's place (it is not NVIDIA's ptxas)\n\
         Compatible with: Cuda compilation tools, release 13.0, V13.0.88\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn fatal(message: impl std::fmt::Display) -> String {
    format!("ptxas fatal   : {message}\n")
}

const ABORTED: &str = "ptxas fatal   : Ptx assembly aborted due to errors\n";

fn run(args: &CompileArgs, command_line: &[String]) -> Result<(), String> {
    let mut warnings = Warnings::new(args);
    for warning in command_line {
        warnings.give(warning);
    }
    let options = compile_options(args, &mut warnings)?;
    let (name, source) = match (args.inputs.as_slice(), &args.input_as_string) {
        ([], Some(text)) => ("application ptx input".to_string(), text.clone()),
        ([input], None) => {
            spare_processor(input, options.threads);
            read(input)?
        }
        ([], None) => return Err(fatal("No input file given")),
        (all, text) => {
            let count = all.len() + usize::from(text.is_some());
            return Err(fatal(format!("{count} input files: orias compiles one at a time")));
        }
    };
    // The process ends soon: to take its worker apart would be a hundredth of a small compile.
    let compiler = ManuallyDrop::new(Compiler::new(options));
    let options = compiler.options();
    let watch = options.statistics.then(heap::watch);
    let output = compiler.compile(&source).map_err(|errors| errors.render(&name, &source))?;
    drop(watch);
    if !output.warnings.is_empty() && (warnings.fatal || !warnings.hidden) {
        eprint!("{}", output.warnings.render(&name, &source));
        warnings.failed |= warnings.fatal;
    }
    memory_warnings(args, &output, &mut warnings);
    if warnings.failed {
        return Err(ABORTED.to_string());
    }
    write(&args.output_file, &output.cubin)?;
    if args.verbose {
        eprint!("{}", report::verbose(&output));
    }
    if !output.dump.is_empty() {
        print!("{}", output.dump);
    }
    if args.stat.is_some() && args.stat_format == "json" {
        println!("{:#}", report::phase_json(&output.stats, &[&output.measured], options.opt_level));
    } else if args.stat.is_some() {
        print!("{}", report::phase_table(&output.stats, options.opt_level));
    }
    if let Some(file) = &args.trace {
        write(file, trace::json(&[(&name, &output.measured)]).to_string().as_bytes())?;
    }
    Ok(())
}

/// What options mean that are words of a command line, without files among them.
///
/// # Errors
/// An option that there is not, a value that is not one of its option, or a file.
pub(super) fn options_of(words: &[String]) -> Result<CompileOptions, String> {
    let normalised = options::normalise(words)?;
    if let Some(input) = normalised.inputs.first() {
        return Err(format!("'{input}' is no option"));
    }
    let args = CompileArgs::new(normalised.options, Vec::new())?;
    let mut warnings = Warnings { hidden: true, fatal: false, failed: false, kept: None };
    let options = compile_options(&args, &mut warnings);
    options.map_err(|error| error.trim_start_matches("ptxas fatal   : ").trim_end().to_string())
}

/// Names phases that no compile of this process runs, as `--disable-phase` does: for who cannot
/// change the command line of what starts orias.
const DISABLE_PHASES: &str = "ORIAS_DISABLE_PHASES";

/// The phases that the environment leaves out.
///
/// # Errors
/// A name that is no phase's, or one of a phase that correct code needs: the variable is named, for
/// nobody sees it in the command line.
fn left_out_by_environment(opt_level: u8) -> Result<Vec<String>, String> {
    let Some(names) = std::env::var_os(DISABLE_PHASES) else { return Ok(Vec::new()) };
    let names = names.to_string_lossy();
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| match pipeline::find(name) {
            None => Err(fatal(format!("{DISABLE_PHASES}: no phase is named `{name}`"))),
            Some(phase) if phase.is_needed(opt_level) => Err(fatal(format!(
                "{DISABLE_PHASES}: there is no correct code without phase {name}"
            ))),
            Some(_) => Ok(name.to_string()),
        })
        .collect()
}

/// How to compile, as the command line says it.
///
/// # Errors
/// A value that is none of its option, in ptxas's words.
pub(super) fn compile_options(
    args: &CompileArgs,
    warnings: &mut Warnings,
) -> Result<CompileOptions, String> {
    let number =
        |option: &str, value: &str| value.parse::<u32>().map_err(|_| fatal(invalid(option, value)));
    let fmad = match args.fmad.as_str() {
        "true" => true,
        "false" => false,
        other => return Err(fatal(format!("'{other}': expected true or false"))),
    };
    if args.machine != "64" {
        let message = format!("Value '{}' is not defined for option 'machine'", args.machine);
        return Err(fatal(message));
    }
    // ptxas takes a higher level than 3 as 3.
    let opt_level = number("opt-level", &args.opt_level)?.min(3) as u8;
    let gpu = args.gpu_name.as_deref();
    let codegen = |name: &str| orias_targets::target(name).is_some_and(|t| t.codegen);
    if let Some(name) = gpu.filter(|name| !codegen(name)) {
        return Err(fatal(format!("Value '{name}' is not defined for option 'gpu-name'")));
    }
    let max_registers = match args.maxrregcount.as_deref() {
        None | Some("archmax") => None,
        Some("archmin") => Some(FEWEST_REGISTERS),
        Some(value) => {
            let most = number("maxrregcount", value)?;
            if most < FEWEST_REGISTERS {
                warnings.give(&format!(
                    "For profile {} adjusting per thread register count of {most} to lower bound of {FEWEST_REGISTERS}",
                    gpu.unwrap_or("sm_90a")
                ));
            }
            Some(most.clamp(FEWEST_REGISTERS, MOST_REGISTERS))
        }
    };
    let statistics = match args.stat.as_deref() {
        None => false,
        Some("phase-wise") => true,
        Some(other) => return Err(fatal(invalid("stat", other))),
    };
    match (args.stat_format.as_str(), statistics) {
        (STAT_FORMAT, _) | ("json", true) => {}
        ("json", false) => return Err(fatal("--stat-format=json needs --stat=phase-wise")),
        (other, _) => return Err(fatal(invalid("stat-format", other))),
    }
    let mut knobs = Vec::new();
    for knob in &args.knob {
        match knob.split_once('=') {
            Some((name, value)) => knobs.push((name.to_string(), value.to_string())),
            None => return Err(fatal(format!("'{knob}': expected NAME=VALUE"))),
        }
    }
    // A wrong one is the command line's error, before any file is read.
    Knobs::read(&knobs).map_err(fatal)?;
    let mut recipes = Recipes::default();
    for file in &args.recipes {
        let bytes = input::read(Path::new(file), recipes::MOST_BYTES as u64);
        let bytes = bytes.map_err(|e| fatal(format!("cannot read '{file}': {e}")))?;
        let read = Recipes::read(&bytes);
        recipes.extend(read.map_err(|e| fatal(format!("recipes '{file}', {e}")))?);
    }
    let mut profiles = Profiles::default();
    for file in &args.use_profile {
        let bytes = input::read(Path::new(file), profiles::MOST_BYTES as u64);
        let bytes = bytes.map_err(|e| fatal(format!("cannot read '{file}': {e}")))?;
        let read = Profiles::read(&bytes);
        profiles.extend(read.map_err(|e| fatal(format!("profile '{file}', {e}")))?);
    }
    Ok(CompileOptions {
        target: args.gpu_name.clone(),
        opt_level,
        fmad,
        max_registers,
        verify_each: args.verify_each,
        dump_ir: args.dump_ir.clone(),
        disabled: [left_out_by_environment(opt_level)?, args.disable_phase.clone()].concat(),
        phase_limit: args.phase_limit,
        statistics: statistics || args.trace.is_some(),
        trace: args.trace.is_some(),
        knobs,
        recipes,
        profiles,
        threads: number("split-compile", &args.split_compile)? as usize,
        budget: None,
        line_info: args.generate_line_info,
        suppress_debug_info: args.suppress_debug_info,
        overrides: Overrides {
            entries: args.entry.clone(),
            caches: caches(args)?,
            bounds: bounds(args, warnings),
            warn_of_doubles: args.warn_on_double_precision_use,
        },
    })
}

fn caches(args: &CompileArgs) -> Result<Caches, String> {
    let word = |value: &Option<String>, what: &str, all: &[Word]| {
        let Some(value) = value.as_deref() else { return Ok(None) };
        let known = all.iter().copied().find(|word| word.name() == value);
        known
            .map(Some)
            .ok_or_else(|| format!("ptxas error   : Invalid {what} specified: {value}\n{ABORTED}"))
    };
    Ok(Caches {
        load: word(&args.def_load_cache, "default cache modifier on load", &LOADS)?,
        store: word(&args.def_store_cache, "default cache modifier on store", &STORES)?,
        forced_load: word(&args.force_load_cache, "default cache modifier on load", &LOADS)?,
        forced_store: word(&args.force_store_cache, "default cache modifier on store", &STORES)?,
    })
}

/// As ptxas does it, what is no number or zero is passed over.
fn bounds(args: &CompileArgs, warnings: &mut Warnings) -> Bounds {
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|n| *n > 0);
    let mut bounds = Bounds { overriding: args.override_directive_values, ..Bounds::default() };
    if args.maxrregcount.is_some() {
        for (name, given) in [("minnctapersm", &args.minnctapersm), ("maxntid", &args.maxntid)] {
            if given.is_some() {
                warnings.give(&format!(
                    "Conflicting options -maxrregcount and -{name} specified, ignoring -{name} option"
                ));
            }
        }
        return bounds;
    }
    bounds.min_ctas = args.minnctapersm.as_deref().and_then(number);
    if let Some(text) = &args.maxntid {
        let values: Vec<Option<u64>> = text.split(',').map(number).collect();
        if values.len() > 3 {
            let message = "Too many values specified for option '-maxntid', option will be ignored";
            warnings.give(message);
        } else if values.iter().all(Option::is_some) {
            let at = |i: usize| values.get(i).copied().flatten().unwrap_or(1);
            bounds.max_threads = Some([at(0), at(1), at(2)]);
        }
    }
    bounds
}

/// Where a text is huge and several threads may work, one of them touches memory for the others.
fn spare_processor(input: &str, threads: usize) {
    let is_huge = || std::fs::metadata(input).is_ok_and(|file| file.len() >= HUGE_TEXT);
    let has_spare = || std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if threads != 1 && is_huge() && has_spare() {
        heap::spare_processor();
    }
}

/// The name that messages use, and the text; bytes that are not UTF-8 are replaced, and the lexer
/// complains of them.
fn read(input: &str) -> Result<(String, String), String> {
    let (name, bytes) = if input == "-" {
        let bytes = input::stream(std::io::stdin(), input::MAX_CODE)
            .map_err(|error| fatal(format!("Standard input could not be read: {error}")))?;
        ("<stdin>".to_string(), bytes)
    } else {
        let bytes = input::read(Path::new(input), input::MAX_CODE).map_err(|error| {
            let text = fatal(format!("Input file '{input}' could not be opened ({error})"));
            text + ABORTED
        })?;
        (input.to_string(), bytes)
    };
    let source = match String::from_utf8(bytes) {
        Ok(source) => source,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Ok((name, source))
}

/// A file that is there already is written over and then cut, not emptied first: file systems hurry
/// to put what replaces an emptied file on the disk (ext4's `auto_da_alloc`), which takes longer
/// than to write it.
fn write(file: &str, bytes: &[u8]) -> Result<(), String> {
    let write = || {
        let mut out = OpenOptions::new().write(true).create(true).truncate(false).open(file)?;
        out.write_all(bytes)?;
        let now = out.metadata()?;
        if now.is_file() && now.len() != bytes.len() as u64 {
            out.set_len(bytes.len() as u64)?;
        }
        Ok(())
    };
    write().map_err(|error: io::Error| {
        fatal(format!("Output file '{file}' could not be opened ({error})"))
    })
}

/// What is asked to be told of the code.
pub(super) fn memory_warnings(args: &CompileArgs, output: &Output, warnings: &mut Warnings) {
    for f in &output.functions {
        if args.warn_on_local_memory_usage && f.frame_bytes > 0 {
            warnings.give(&format!(
                "Local memory used for function '{}', size of stack frame: {} bytes",
                f.name, f.frame_bytes
            ));
        }
        if args.warn_on_spills && f.spill_store_bytes + f.spill_load_bytes > 0 {
            warnings.give(&format!(
                "Registers are spilled to local memory in function '{}', {} bytes spill stores, {} bytes spill loads",
                f.name, f.spill_store_bytes, f.spill_load_bytes
            ));
        }
    }
}
