//! Instructions of the threads of a warp, a CTA or a cluster together: exchange, votes, barriers.

pub mod barrier;
pub mod cluster_barrier;
pub mod exchange;
