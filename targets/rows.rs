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
pub(crate) mod ports;
#[path = "table/seen.rs"]
pub(crate) mod seen;
#[path = "table/sets.rs"]
mod sets;
#[path = "table/slot.rs"]
mod slot;
#[path = "table/write.rs"]
pub(crate) mod write;

use orias_components::{Mod, Opcode};
use std::path::Path;

/// What a folder of rows makes for an SM: the bytes of its table with the strings, of its
/// latencies, and of what was seen.
pub(crate) struct Bytes {
    pub table: Vec<u8>,
    pub text: String,
    pub latencies: Vec<u8>,
    pub seen: Vec<u8>,
}

pub(crate) fn compile(folder: &Path, sm: u16) -> Result<Bytes, String> {
    let generation = generations::GENERATIONS.iter().find(|g| g.sm == sm);
    let generation = generation.ok_or_else(|| format!("sm_{sm} has no table"))?;
    let table = model::Table::read_folder(folder, *generation)?;
    let (ports, of) = ports::Ports::of(&table);
    let latencies = latency::write(folder, sm, &ports)?;
    let seen = seen::write(folder, sm, &table)?;
    let (table, text) = write::write(&table, &of)?;
    Ok(Bytes { table, text, latencies, seen })
}
