//! What compiling costs: work here; memory in `memory.rs`, a program of its own.

mod front_end;
mod scaling;
mod threads;
mod work;
