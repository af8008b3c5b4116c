//! Building instructions: operands, and [`Emit`], the builder that lowering and the phases that
//! expand instructions go through, which fills default slots.
//!
//! Slots follow the order of the target's rows; a change of a row's slots is a change here and
//! nowhere else.

mod address;
mod bits;
mod emit;
mod float;
mod integer;
mod integer64;
mod memory;
mod moves;
mod narrow;
mod operand;
mod predicate;
mod ways;

pub use address::Address;
pub use emit::Emit;
pub use narrow::{Narrow, narrow_double};
pub use operand::{cell, fabs, fimm, fneg, halves, imm, neg, not, part, r, wide};
pub use predicate::plop3;
pub use ways::Guarded;
