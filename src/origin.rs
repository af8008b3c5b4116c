//! Which place of the source and of the PTX machine code comes from.

use crate::ptx::types::Span;
use orias_components::Loc;

/// From where on machine code comes from a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Byte offset in the text.
    pub offset: u32,
    /// `.loc` in force: file 0 is none.
    pub file: u32,
    /// In that file, from 1 on.
    pub line: u32,
    /// Where its instruction stands in the PTX; None for what is of none.
    pub at: Option<u32>,
}

/// Where a function's code comes from, whose PTX instructions stand there.
pub fn origins(lines: &[(u32, Loc)], spans: &[Span]) -> Vec<Origin> {
    let origin = |(offset, loc): &(u32, Loc)| {
        let span = (loc.ptx_inst as usize).checked_sub(1).and_then(|i| spans.get(i));
        Origin { offset: *offset, file: loc.file, line: loc.line, at: span.map(|s| s.start) }
    };
    lines.iter().map(origin).collect()
}
