//! `orias-isa attributes`: compiles PTX with both compilers at several levels and prints what
//! differs.

use super::{Difference, differences, known};
use crate::exceptions::{group, has};
use crate::{coverage, ours, reference};
use clap::Args;
use orias::driver::CompileOptions;
use orias_runner::oracle;
use orias_targets::Target;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug)]
pub struct Attributes {
    /// PTX files, or folders of them; the corpus, the coverage set and the engines' kernels without
    /// any.
    paths: Vec<PathBuf>,
    /// Levels that both compilers work at.
    #[arg(long, value_delimiter = ',', default_value = "0,3")]
    level: Vec<u8>,
    /// Pass -lineinfo to both.
    #[arg(long)]
    lineinfo: bool,
    /// Print every difference.
    #[arg(long)]
    all: bool,
}

/// What came of all files.
#[derive(Default)]
pub struct Report {
    /// Compared: files times levels.
    pub files: usize,
    /// Not compared, with the reason.
    pub left_out: Vec<String>,
    /// By file and level.
    pub found: Vec<(String, u8, Difference)>,
    compared: BTreeSet<(String, u8)>,
}

impl Report {
    /// Differences that no row explains, and rows that no file needs any more.
    pub fn wrong(&self) -> Vec<String> {
        let mut known = known();
        let unknown =
            |(file, level, d): &&(String, u8, Difference)| !d.is_known(&mut known, file, *level);
        let mut wrong: Vec<String> = self
            .found
            .iter()
            .filter(unknown)
            .map(|(f, level, d)| format!("{f} -O{level}: {d:?}"))
            .collect();
        wrong.extend(known.unused(|row| {
            self.compared
                .iter()
                .any(|(f, level)| group(f) == row[0] && has(row[2], &level.to_string()))
        }));
        wrong
    }

    fn add(&mut self, file: &str, level: u8, result: Result<Vec<Difference>, String>) {
        match result {
            Err(error) => self.left_out.push(format!("{file} -O{level}: {error}")),
            Ok(list) => {
                self.files += 1;
                self.compared.insert((file.to_string(), level));
                self.found.extend(list.into_iter().map(|d| (file.to_string(), level, d)));
            }
        }
    }
}

/// The differences of one file at one level; an error where one of the compilers refuses it.
///
/// # Errors
/// What a compiler says of the file, or what is wrong with its cubin.
pub fn file(
    tool: &Path,
    target: &Target,
    text: &str,
    level: u8,
    lineinfo: bool,
) -> Result<Vec<Difference>, String> {
    let option = format!("-O{level}");
    let mut arguments = vec![option.as_str()];
    arguments.extend(lineinfo.then_some("-lineinfo"));
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_string();
    let theirs = reference::ptxas(tool, target.name, text, &arguments).map_err(first_line)?;
    // ptxas inlines no function: what its files say of calls ours are to say, too.
    let knobs = ["InlineSmall", "InlineOnce"].map(|name| (name.to_string(), "0".to_string()));
    let options = CompileOptions {
        target: Some(target.name.into()),
        opt_level: level,
        threads: 1,
        line_info: lineinfo,
        knobs: knobs.to_vec(),
        ..CompileOptions::default()
    };
    let ours = ours::compile(text, &options).map_err(first_line)?;
    let refused: Vec<String> = ours.refused.iter().map(|(name, _)| name.clone()).collect();
    match ours.cubin {
        Some(cubin) => differences(target, (&cubin, &theirs), level, &refused),
        None => {
            let why = ours.refused.first().map_or("no kernels", |(_, why)| why);
            Err(format!("all kernels refused: {why}"))
        }
    }
}

/// Compares files.
pub fn files(
    tool: &Path,
    target: &Target,
    paths: &[PathBuf],
    levels: &[u8],
    lineinfo: bool,
) -> Report {
    let list: Vec<(&PathBuf, u8)> =
        paths.iter().flat_map(|p| levels.iter().map(move |level| (p, *level))).collect();
    let results: Vec<_> = list
        .par_iter()
        .map(|(path, level)| {
            let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
            text.and_then(|text| file(tool, target, &text, *level, lineinfo))
        })
        .collect();
    let mut report = Report::default();
    for ((path, level), result) in list.into_iter().zip(results) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        report.add(&name, level, result);
    }
    report
}

/// The command.
///
/// # Errors
/// Where the oracle is missing, and where a difference has no row.
pub fn run(target: &Target, args: &Attributes) -> Result<(), String> {
    let tool = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    let tests = oracle::workspace().join("tests");
    let folders = ["corpus", "coverage/sm_90a", "engines/kernels"].map(|f| tests.join(f));
    let paths = if args.paths.is_empty() { &folders[..] } else { &args.paths };
    let paths = coverage::files(paths, "ptx");
    let report = files(&tool, target, &paths, &args.level, args.lineinfo);
    for text in &report.left_out {
        println!("left out: {text}");
    }
    if args.all {
        for (file, level, d) in &report.found {
            println!("{}\t{}\t{level}\t{}\t{}", group(file), d.place(), d.name, d.what);
        }
    }
    let wrong = report.wrong();
    println!("{} files and levels compared, {} differences", report.files, report.found.len());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}
