//! The pipeline of 159 phases over the Ori IR.
