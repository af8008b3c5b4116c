//! The interpreter and the simulator: beside each other, beside values computed by hand, and on
//! programs that are wrong.

mod approximations;
mod asynchronous;
mod damaged;
mod except;
mod expected;
mod hazard_mutations;
mod interpreter;
mod interpreter_coverage;
mod matrix;
mod misuse;
mod ours;
mod ptxas;
mod semantics;
mod simulator;
mod system_calls;
mod tensor_maps;
