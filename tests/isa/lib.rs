//! The means by which the instruction table is made complete and shown to be right: PTX that
//! exercises the compiler of reference, what its cubins hold that the table lacks, and what the
//! reference disassembler says of words that we make.

pub mod accesses;
pub mod attributes;
pub mod compare;
pub mod coverage;
pub mod differ;
pub mod exceptions;
pub mod flow;
pub mod forms;
pub mod generate;
pub mod habits;
pub mod inputs;
pub mod latency;
pub mod mutate;
pub mod order;
pub mod ours;
pub mod prepare;
pub mod probe;
pub mod proof;
pub mod ptx_table;
pub mod random;
pub mod reference;
pub mod report;
pub mod seen;
pub mod setup;
pub mod sources;
pub mod words;
