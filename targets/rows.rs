//! The rows as text: what the build script does, at run time.

#[path = "table/field.rs"]
mod field;
#[path = "table/generations.rs"]
mod generations;
#[path = "table/latency.rs"]
pub(crate) mod latency;
#[path = "table/model.rs"]
mod model;
#[path = "table/parse.rs"]
mod parse;
#[path = "table/ports.rs"]
mod ports;
#[path = "table/slot.rs"]
mod slot;
#[path = "table/write.rs"]
pub(crate) mod write;

use orias_components::{Mod, Opcode};
use std::path::Path;

/// The bytes of the table that a folder of rows makes for an SM, and those of its latencies.
pub(crate) fn compile(folder: &Path, sm: u16) -> Result<(Vec<u8>, Vec<u8>), String> {
    let generation = generations::GENERATIONS.iter().find(|g| g.sm == sm);
    let generation = generation.ok_or_else(|| format!("sm_{sm} has no table"))?;
    let table = model::Table::read_folder(folder, *generation)?;
    let (ports, of) = ports::Ports::of(&table);
    let latencies = latency::write(folder, sm, &ports)?;
    Ok((write::write(&table, &of)?, latencies))
}
