//! Cubins as files, and their listings: reader, writer and disassembler, beside ptxas and the tools
//! that read cubins.

mod listing_forms;
mod listings;
mod read;
mod rebuild;
mod sections;
mod support;
mod tools;
mod write;
