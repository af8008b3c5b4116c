//! `orias bench`: what compiling costs, by part and by phase, and what each phase is worth in code.

mod chart;
mod code;
mod html;
mod inputs;
mod markdown;
mod measure;
mod setting;
mod spread;
mod tables;
mod worth;

use clap::Args;
use measure::Run;
use setting::Setting;
use std::path::PathBuf;

/// What `orias bench` is told.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// PTX files, and folders that are searched for them; a folder with a case.json is a kernel of
    /// the corpus, which is run in the simulator too
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How often each file is compiled under each setting
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Target GPU, such as sm_90a [default: the PTX's .target]
    #[arg(long, value_name = "SM")]
    gpu_name: Option<String>,
    /// Optimization level: 0, 1, 2 or 3
    #[arg(long, short = 'O', value_name = "N")]
    opt_level: Option<String>,
    /// Phases that do not run
    #[arg(long, value_name = "PHASE,…")]
    disable_phase: Vec<String>,
    /// Set a tuning value of a phase
    #[arg(long, value_name = "NAME=VALUE")]
    knob: Vec<String>,
    /// Compare, in turns, with what these options make in place of those above, such as
    /// '--disable-phase=GvnCse'
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    versus: Option<String>,
    /// Compare with a run that was saved: that is A, this one B
    #[arg(long, value_name = "FILE.json", conflicts_with = "versus")]
    against: Option<PathBuf>,
    /// Save this run, with every sample
    #[arg(long, value_name = "FILE.json")]
    save: Option<PathBuf>,
    /// Switch off each phase alone, and print what it is worth beside what it costs
    #[arg(long)]
    phases: bool,
    /// Write a report with charts: time by phase and by size, worth beside cost
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Write what --phases finds as a document
    #[arg(long, value_name = "FILE.md")]
    markdown: Option<PathBuf>,
    /// For the document: what would make phases cheaper, `SYSTEM<tab>TEXT` a line
    #[arg(long, value_name = "FILE.tsv", requires = "markdown")]
    notes: Option<PathBuf>,
}

impl BenchArgs {
    fn setting(&self) -> Result<Setting, String> {
        let mut words = Vec::new();
        words.extend(self.gpu_name.iter().map(|gpu| format!("--gpu-name={gpu}")));
        words.extend(self.opt_level.iter().map(|level| format!("--opt-level={level}")));
        words.extend(self.disable_phase.iter().map(|phase| format!("--disable-phase={phase}")));
        words.extend(self.knob.iter().map(|knob| format!("--knob={knob}")));
        Setting::parse(&words)
    }
}

/// Measures and prints. An error when a file could not be compiled: the others are measured.
pub fn bench(args: &BenchArgs) -> Result<(), Box<dyn std::error::Error>> {
    let inputs = inputs::read(&args.files)?;
    let mut settings = vec![args.setting()?];
    if let Some(words) = &args.versus {
        let words: Vec<String> = words.split_whitespace().map(str::to_string).collect();
        settings.push(Setting::parse(&words)?);
    }
    let against = args.against.as_ref().map(load).transpose()?;
    let notes = args.notes.as_ref().map(std::fs::read_to_string).transpose()?;
    let (mut runs, failed) = measure::measure(&inputs, &settings, args.turns as usize);
    for error in &failed {
        eprintln!("{}", error.trim_end());
    }
    if cfg!(debug_assertions) {
        eprintln!("orias: built with debug assertions: times are not those of a release");
    }
    let versus = if args.versus.is_some() { runs.pop() } else { None };
    let run = runs.pop().ok_or("nothing was measured")?;
    if run.files.is_empty() {
        return Err("no file could be compiled".into());
    }
    if let Some(file) = &args.save {
        std::fs::write(file, serde_json::to_vec(&run)?)
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    match (&versus, &against) {
        (Some(versus), _) => print!("{}", tables::comparison(&run, versus, spread::paired)),
        (None, Some(against)) => {
            let (a, b) = common(against, &run)?;
            print!("{}", tables::comparison(&a, &b, spread::unpaired));
        }
        (None, None) => print!("{}", tables::run(&run)),
    }
    if args.phases || args.html.is_some() || args.markdown.is_some() {
        let whole = |input: &inputs::Input| run.files.iter().any(|file| file.name == input.name);
        let inputs: Vec<inputs::Input> = inputs.into_iter().filter(whole).collect();
        let rows = worth::worth(&inputs, &settings[0])?;
        print!("\n{}", tables::worth(&run, &rows));
        let write = |file: &PathBuf, text: String| {
            std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
        };
        if let Some(file) = &args.html {
            write(file, html::report(&run, &rows))?;
        }
        if let Some(file) = &args.markdown {
            write(file, markdown::report(&run, &rows, notes.as_deref().unwrap_or("")))?;
        }
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(format!("{count} compiles failed").into()),
    }
}

fn load(file: &PathBuf) -> Result<Run, String> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let bytes = std::fs::read(file).map_err(|error| fail(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| fail(&error))
}

/// The files that both runs have, in the same order.
fn common(first: &Run, second: &Run) -> Result<(Run, Run), String> {
    let (mut a, mut b) = (first.clone(), second.clone());
    a.files.retain(|file| second.files.iter().any(|other| other.name == file.name));
    b.files.retain(|file| first.files.iter().any(|other| other.name == file.name));
    a.files.sort_by(|x, y| x.name.cmp(&y.name));
    b.files.sort_by(|x, y| x.name.cmp(&y.name));
    if a.files.is_empty() {
        return Err("the saved run has none of these files".to_string());
    }
    Ok((a, b))
}
