//! Synchronization within and between warps: convergence barriers, and instructions that let
//! waiting threads go on.

pub mod collective;
pub mod convergence;
pub mod idle;
pub(crate) mod joined;
pub mod progress;
pub mod regions;
pub mod together;
pub mod whole_warp;
pub mod workarounds;
