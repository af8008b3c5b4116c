//! Whole programs whose results are known: the kernel corpus, and random PTX and CUDA C.

mod corpus_interpreter;
mod corpus_ours;
mod corpus_simulator;
mod cuda;
mod fuzz;
mod profiled;
mod settings;
