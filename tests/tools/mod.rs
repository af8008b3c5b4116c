//! What other tests rely on: the PTX generator, the comparison of both compilers, and how tests are
//! counted.

mod compare;
mod generate;
mod skips;
