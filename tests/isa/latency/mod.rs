//! Latencies as ptxas relies on them: for each kind of producer and consumer the fewest cycles that it ever leaves between
//! them with nothing but stalls to hold the second back.

pub mod mined;
pub mod source;
pub mod touch;
pub mod walk;
