//! The tests that go through several rooms, sorted by what they test. One program for all of them,
//! for each would be linked by itself: what must be alone in its process has one of its own, which
//! says why (`[[test]]` in `Cargo.toml`).

use orias_components::heap::Counted;
use std::alloc::System;

/// Counts for who asks, by thread: `resources::work`.
#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

mod batch;
mod code;
mod command_line;
mod engines;
mod files;
mod front_end;
mod programs;
mod resources;
mod support;
mod table;
mod tools;
