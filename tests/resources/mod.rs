//! What compiling costs: work here; memory in `memory.rs`, a program of its own.

mod scaling;
mod threads;
mod work;
