//! Scheduling control: when each instruction may issue, and which scoreboards it sets and waits
//! for.

pub mod cells;
pub mod companions;
pub mod conservative;
mod flow;
pub mod groups;
pub mod scoreboards;
pub mod stalls;
#[cfg(test)]
mod tests;
pub mod timing;

pub use conservative::process_o0_waits_and_sbs;
pub use groups::fix_up_tex_dep_bar_and_sync;
pub use scoreboards::advanced_scoreboards_and_opexes;
