//! Which place of the source and of the PTX machine code comes from.

use crate::digest::Digest;
use crate::ptx::calls::{Call, call_of};
use orias_components::Loc;
use std::sync::Arc;

/// From where on machine code comes from a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Byte offset in the text.
    pub offset: u32,
    /// `.loc` in force: file 0 is none.
    pub file: u32,
    /// In that file, from 1 on.
    pub line: u32,
    /// Where its instruction stands in the PTX; None for what is of none.
    pub at: Option<u32>,
    /// The call that it was inlined by.
    pub call: Option<Arc<Call>>,
}

/// Where a function's code comes from.
pub fn origins(lines: &[(u32, Loc)], ptx: &Digest) -> Vec<Origin> {
    let origin = |(offset, loc): &(u32, Loc)| {
        let index = (loc.ptx_inst as usize).checked_sub(1);
        let at = index.and_then(|i| ptx.spans.get(i)).map(|span| span.start);
        let call = index.and_then(|i| call_of(&ptx.calls, i)).cloned();
        Origin { offset: *offset, file: loc.file, line: loc.line, at, call }
    };
    lines.iter().map(origin).collect()
}
