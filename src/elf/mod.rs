//! Cubins: the ELF files that hold machine code, constants and launch attributes for the CUDA
//! driver.
//!
//! [`read`] takes any cubin apart. [`write()`] makes one from a [`model`], as ptxas 13.0.88 would;
//! [`layout`] says where ptxas places variables. [`attribute`] and [`relocation`] name what stands
//! in `.nv.info` and in relocation sections.

pub mod attribute;
pub mod layout;
pub mod model;
pub mod read;
pub mod relocation;
pub mod write;
mod write_error;
mod write_frame;
mod write_image;
mod write_info;
mod write_lines;
mod write_parts;

pub use attribute::Attribute;
pub use model::CubinModel;
pub use read::{Cubin, ReadError};
pub use write::{image, write};
pub use write_error::WriteError;
