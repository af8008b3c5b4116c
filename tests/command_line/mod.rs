//! The program as its users call it: `orias sim`, `orias bench`, statistics, and what is damaged of
//! options, arguments and words.

mod bench;
mod damaged;
mod profile;
mod recipes;
mod released;
mod sim;
mod stat;
mod variable;

use crate::support;
use orias_runner::oracle::workspace;
use std::process::Output;

/// A file of the corpus.
fn corpus(file: &str) -> String {
    workspace().join("tests/corpus").join(file).display().to_string()
}

fn orias(args: &[&str]) -> Output {
    support::orias().args(args).output().expect("orias runs")
}
