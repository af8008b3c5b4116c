//! What each SM is: the instruction table, encoder, decoder, disassembler, and the SASS simulator.
//!
//! The table is text, one row a form, in `tables/`; the build script turns it into bytes that are
//! read as [`Form`]s, and everything that knows about instructions (encoder, decoder, text, operand
//! legality, scheduling class) reads those.

#![warn(missing_docs)]

pub mod approx;
mod decode;
mod doors;
mod encode;
mod float_text;
pub mod form;
pub mod habits;
pub mod latency;
mod layout;
mod load;
mod memo;
pub mod memory;
pub mod misuse;
pub mod printf;
mod rows;
#[allow(non_snake_case)]
pub mod slots {
    //! The places of operands by the names that rows give them: `slots::IMAD::B`. A name that rows
    //! of a mnemonic have at different places is not here.
    include!(concat!(env!("OUT_DIR"), "/slots.rs"));
}
pub mod seen;
pub mod simulator;
mod space;
mod target;
pub mod tensor_map;
pub mod text;
pub mod touch;

pub use decode::DecodeError;
pub use encode::{EncodeError, Stem, kind_code};
pub use form::{Form, Slot, SlotKind};
pub use layout::NamedField;
pub use target::{Predication, Switches, Table, Target, Unrolling, is_immediate, target};
