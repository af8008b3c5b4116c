//! The machine code that the compiler makes: that it gives what it should, and does nothing that
//! ptxas's does not.

mod accesses;
mod apart;
mod calls;
mod check;
mod clones;
mod compiler_reuse;
mod expansions;
mod fmad;
mod habits;
mod half_atomics;
mod inlined;
mod latencies;
mod lowering;
mod miscompiled;
mod pragmas;
mod predication;
mod progress;
mod rare_phases;
mod seen_forms;
mod spills;
mod volatile;
