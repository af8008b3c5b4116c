//! What other tests rely on: the PTX generator, the comparison of both compilers, how tests are
//! counted, and that files stand on floors.

mod compare;
mod floors;
mod generate;
mod skips;
