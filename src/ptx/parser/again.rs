//! Reading again what has been read and found to be right, for who wants what it says.
//!
//! The tree has but a place of everything that can be long and is no code. To read it twice costs
//! less time than to build and walk a tree of it.

use super::Parser;
use crate::ptx::ast::{Ident, InitPart};
use crate::ptx::types::Span;

/// Each function takes the place that the tree has, and ends early where that is none of what it
/// reads.
#[derive(Clone, Copy, Debug)]
pub struct Again<'s> {
    source: &'s str,
}

impl<'s> Again<'s> {
    /// Of a text that was parsed without errors.
    pub fn new(source: &'s str) -> Again<'s> {
        Again { source }
    }

    /// An initial value.
    pub fn init(self, at: u32, mut each: impl FnMut(InitPart<'_, 's>)) {
        let _ = Parser::new(self.source, at).init(&mut each);
    }

    /// The names of a `.branchtargets` or `.calltargets`.
    pub fn names(self, at: u32, mut each: impl FnMut(Ident<'s>)) {
        let mut parser = Parser::new(self.source, at);
        parser.bump();
        let _ = parser.names("a name", &mut each);
    }

    /// The strings of a `.pragma`; its place.
    pub fn pragma(self, at: u32, mut each: impl FnMut(&str)) -> Span {
        Parser::new(self.source, at).pragma(&mut each).unwrap_or_default()
    }
}
