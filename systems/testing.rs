//! What tests of phases start from.

pub mod clones;
mod random;
pub mod run;

pub use random::Random;

use crate::function::Options;
use crate::knobs::Knobs;
use crate::states::Resources;
use orias_components::{Function, text};

impl Options {
    /// `-O3` on sm_90a, with nothing else asked for.
    pub fn for_test() -> Options {
        Options {
            target: orias_targets::target("sm_90a").expect("in the list of targets"),
            opt_level: 3,
            verify_each: false,
            dump_ir: Vec::new(),
            disabled: Vec::new(),
            phase_limit: None,
            statistics: false,
            knobs: Knobs::default(),
        }
    }
}

/// An empty function, with the resources that phases want in its world.
pub fn function() -> Function {
    let mut function = Function::default();
    Resources::new(Options::for_test()).insert_into(function.world());
    function
}

/// A function from its text form, with its edges.
///
/// # Panics
/// When the text is no Ori.
pub fn parse(input: &str) -> Function {
    let mut function = function();
    text::parse(input, &mut function.body()).unwrap_or_else(|e| panic!("{e}"));
    function.body().update_edges();
    function
}
