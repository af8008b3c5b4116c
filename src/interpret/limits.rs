//! Bounds on a launch.

use orias_targets::misuse::Checks;

/// Bounds on a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Warp instructions of all threads together; a launch that executes more is stopped.
    pub warp_instructions: u64,
    /// Misuse to look for; what is found is in [`Outcome::misuse`](crate::launch::Outcome::misuse).
    pub checks: Checks,
    /// Count threads by instruction: [`Outcome::reached`](crate::launch::Outcome::reached).
    pub counts: bool,
}

impl Default for Limits {
    /// Some hours.
    fn default() -> Limits {
        Limits { warp_instructions: 100_000_000_000, checks: Checks::default(), counts: false }
    }
}
