//! Turns `tables/*.isa` into static data: `$OUT_DIR/NAME.rs` for each generation.

#[path = "table/emit.rs"]
mod emit;
#[path = "table/parse.rs"]
mod parse;

use std::path::Path;
use std::{env, fs};

/// A generation: its name, and the folders of its rows. A row of a later folder replaces the rows with the same opcode
/// number and modifiers of an earlier one, so that a generation names only what differs.
const GENERATIONS: &[(&str, &[&str])] = &[("sm90", &["tables/sm90"])];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=table");
    println!("cargo::rerun-if-changed=tables");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for (name, folders) in GENERATIONS {
        let mut table = parse::Table::default();
        for folder in *folders {
            if let Err(message) = table.read_folder(Path::new(folder)) {
                println!("cargo::error={message}");
                return;
            }
        }
        let text = emit::emit(&table);
        fs::write(Path::new(&out).join(format!("{name}.rs")), text).expect("OUT_DIR is writable");
    }
}
