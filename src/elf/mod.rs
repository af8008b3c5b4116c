//! Cubins: the ELF files that hold machine code, constants and launch attributes for the CUDA driver.
//!
//! [`read`] takes any cubin apart, [`model`] says what the writer makes one of, [`attribute`] and [`relocation`] name what
//! stands in `.nv.info` and in relocation sections.

pub mod attribute;
pub mod model;
pub mod read;
pub mod relocation;

pub use attribute::Attribute;
pub use read::{Cubin, ReadError};
