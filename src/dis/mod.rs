//! Disassembly: a cubin, or raw instruction words, as text, as JSON, as graphs.
//!
//! The plain listing is that of `cuobjdump -sass`, the one with labels that of `nvdisasm -c`, whole
//! and to the byte (`tests/files/listings.rs`). A word that no row explains stands in every form as
//! `UNDECODED` with its bits.

mod check;
mod code;
mod graph;
mod json;
mod labels;
mod listing;
mod relocated;

pub use check::Check;
pub use code::{Code, DisError, DisOptions, Part, Undecoded, target_of};
pub use graph::graphs;
pub use json::json;
use orias_targets::Target;

/// The listing of a whole cubin.
pub fn cubin(file: &[u8], options: DisOptions) -> Result<String, DisError> {
    Ok(Code::cubin(file)?.listing(options)?.0)
}

/// The listing of raw instruction words.
pub fn raw(target: &'static Target, bytes: &[u8], options: DisOptions) -> Result<String, DisError> {
    Ok(Code::raw(target, bytes)?.listing(options)?.0)
}
