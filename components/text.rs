//! The text form of Ori.
//!
//! ```text
//! BB0:                                    // preds: BB2  succs: BB1 BB2
//!     @!%P3 %R5, PT, PT = IADD3 -%R1, c[0x0][0x210], RZ
//!     LDG.E %R9:2 …
//! ```
//!
//! Blocks stand in layout order. Destinations stand before `=`. `%R12` is a virtual register of
//! file R, `%R12:2` two cells of it, `%R12[1]` its second cell; `R4` is a physical register. `//`
//! starts a comment.

mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use parse::{TextError, parse};
pub use print::{Style, print};
