//! What lowering an instruction works on: the function on its way ([`cx`]), what its operands
//! mean as values and addresses, and what its variables and special registers are.
//!
//! From the ground up, each file naming only those before it: `frame`, `cx`, `value`, `special`,
//! `variable`, `source`, `address`; `usage` stands by itself. None names what selects instructions.

pub mod address;
pub mod cx;
pub mod frame;
pub mod source;
pub mod special;
pub mod usage;
pub mod value;
pub mod variable;
