//! Registers: live ranges, coalescing, assignment, spilling, the stack frame, and a checker that
//! knows none of it.

pub mod allocate;
pub mod assign;
pub mod back_copy;
pub mod barriers;
mod blockers;
pub mod checker;
pub mod coalesce;
mod demand;
pub mod frame;
pub mod held;
pub mod limits;
pub mod map;
pub mod occupancy;
pub mod pool;
pub mod ranges;
pub mod rewrite;
pub mod spill;
pub mod uniform;

pub use allocate::allocate_registers;
pub use back_copy::ori_back_copy_propagate;
pub use map::calc_register_map;
