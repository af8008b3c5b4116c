//! What there is to compile.

use crate::driver::CompileOptions;
use orias_systems::Cancel;

/// A module to compile: its text, and how, where that is not the compiler's own way.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub(super) source: &'a str,
    pub(super) options: Option<&'a CompileOptions>,
    pub(super) cancel: Option<&'a Cancel>,
}

impl<'a> Job<'a> {
    /// PTX text, with the compiler's options, which nothing calls off.
    pub fn new(source: &'a str) -> Job<'a> {
        Job { source, options: None, cancel: None }
    }

    /// Options in place of the compiler's. Their `threads` say nothing: threads are the compiler's.
    pub fn options(self, options: &'a CompileOptions) -> Job<'a> {
        Job { options: Some(options), ..self }
    }

    /// A token that calls it off. Several jobs may have the same one.
    pub fn cancel(self, cancel: &'a Cancel) -> Job<'a> {
        Job { cancel: Some(cancel), ..self }
    }
}

impl<'a> From<&'a str> for Job<'a> {
    fn from(source: &'a str) -> Job<'a> {
        Job::new(source)
    }
}

impl<'a> From<&'a String> for Job<'a> {
    fn from(source: &'a String) -> Job<'a> {
        Job::new(source)
    }
}
