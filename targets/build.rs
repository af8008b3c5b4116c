//! Turns `tables/*.isa` into one file of bytes for each SM, `$OUT_DIR/smNN.table`; `load.rs` reads them.

#[path = "table/field.rs"]
mod field;
#[path = "table/generations.rs"]
mod generations;
#[path = "table/model.rs"]
mod model;
#[path = "table/parse.rs"]
mod parse;
#[path = "table/slot.rs"]
mod slot;
#[path = "table/write.rs"]
mod write;

use std::path::Path;
use std::{env, fs};

fn main() {
    for path in ["build.rs", "table", "tables"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for generation in generations::GENERATIONS {
        let table = model::Table::read_folder(Path::new("tables"), *generation);
        match table.and_then(|table| write::write(&table)) {
            Ok(bytes) => {
                let file = Path::new(&out).join(format!("sm{}.table", generation.sm));
                fs::write(file, bytes).expect("OUT_DIR is writable");
            }
            Err(message) => println!("cargo::error=sm_{}: {message}", generation.sm),
        }
    }
}
