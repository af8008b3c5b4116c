//! Lowering: a checked PTX [`Program`] to Ori IR.
//!
//! [`module`] places what is common to all functions: symbols, constant banks 3 and 4, shared
//! memory of each kernel, parameters. [`function`] then fills a `World` with one function's body;
//! functions are independent of each other.
//!
//! What holds after [`function`]:
//! - Each PTX register is one virtual register: predicates in file P, up to 32 bits one cell, 64
//!   bits two cells aligned to two, 128 bits four aligned to four; each element of a vector
//!   register is a virtual register of its own.
//! - The upper bits of an 8- or 16-bit value in its cell are undefined: an instruction that would
//!   see them (right shifts, comparisons, divisions, conversions, `min`, `mul.hi`) extends its
//!   operands first. Stores and truncations do not care.
//! - An immediate stands in any slot; the legalization phases move to registers what the target's
//!   rows do not take.
//! - Every instruction keeps the `.loc` of its PTX instruction.

mod abi;
mod call_graph;
mod common;
mod context;
mod contract;
mod function;
mod layout;
mod select;
mod sparse;

pub use function::function;
pub use layout::{
    FunctionLayout, GlobalData, LowerOptions, Module, ParamLayout, SHARED_RESERVED, SharedSlot,
    module,
};
