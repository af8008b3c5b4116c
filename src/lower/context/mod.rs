//! What lowering an instruction works on: the function on its way ([`cx`]), what its operands
//! mean as values and addresses, and what its variables and special registers are.
//!
//! A file here names files before it in this list, and none of those that select instructions.

pub mod address;
pub mod cx;
pub mod frame;
pub mod source;
pub mod special;
pub mod usage;
pub mod value;
pub mod variable;
