//! What the tests share: the oracle tools, the kernel corpus, compilers and engines, buffer
//! comparison.

pub mod bundle;
pub mod compiler;
pub mod folders;
pub mod gpu;
pub mod load;
pub mod oracle;
pub mod profile;
pub mod run;
pub mod skip;
pub mod table;

pub use orias::launch::{case, compare};
