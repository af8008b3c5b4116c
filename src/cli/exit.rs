//! Exit codes.

/// Exit codes: of what went well, and of a failed compile, as ptxas's.
pub const SUCCESS: u8 = 0;

/// See [`SUCCESS`].
pub const FAILED: u8 = 255;
