//! What a checker knows that reads a module together with others ([`super::apart`]).

use std::ops::Range;
use std::sync::Arc;

/// A function's body in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Body {
    /// The place of its `{`.
    pub open: u32,
    /// Behind its `}`.
    pub end: u32,
}

/// Which bodies are a checker's own.
pub(super) struct Apart {
    pub bodies: Arc<[Body]>,
    pub own: Range<usize>,
    /// The number of the body that may come next.
    pub next: usize,
    /// The end of the body that is read.
    pub end: u32,
    /// Of a body that was met and is not its own: its end.
    pub passed: Option<u32>,
    /// The variables of each body that was met.
    pub variables: Vec<Range<usize>>,
    /// A body is not where it was thought to be.
    pub odd: bool,
}

impl Apart {
    /// At the body that begins here, behind so many variables; whether it is its own.
    pub fn begin(&mut self, open: u32, variables: usize) -> bool {
        let rest = self.bodies.get(self.next..).unwrap_or_default();
        let passed = rest.iter().take_while(|body| body.open < open).count();
        let number = self.next + passed;
        self.next = number + 1;
        self.variables.push(variables..variables);
        let Some(body) = self.bodies.get(number).filter(|body| body.open == open) else {
            self.odd = true;
            return true;
        };
        if self.own.contains(&number) {
            self.end = body.end;
            return true;
        }
        self.passed = Some(body.end);
        false
    }

    /// Behind a body of its own.
    pub fn end(&mut self, end: u32, variables: usize) {
        self.odd |= end != self.end;
        if let Some(last) = self.variables.last_mut() {
            last.end = variables;
        }
    }
}
