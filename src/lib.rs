//! orias: PTX in, cubin out; and the means to see and check everything on the way.

pub mod assemble;
pub mod attributes;
pub mod check;
pub mod cli;
pub mod digest;
pub mod dis;
pub mod driver;
pub mod elf;
pub mod facts;
pub mod input;
pub mod interpret;
pub mod launch;
pub mod lines;
pub mod link;
pub mod list;
pub mod lower;
pub mod origin;
pub mod overrides;
pub mod ptx;
pub mod simulate;
pub mod times;
