//! What phases know about a function: each analysis reads the body and changes nothing.

pub mod liveness;
