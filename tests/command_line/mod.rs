//! The program as its users call it: `orias sim`, and what is damaged of options, arguments and
//! words.

mod damaged;
mod released;
mod sim;

use crate::support;
use std::process::Output;

fn orias(args: &[&str]) -> Output {
    support::orias().args(args).output().expect("orias runs")
}
