//! Turns `tables/*.isa` into a file of bytes and one of text for each SM, `$OUT_DIR/smNN.table` and
//! `smNN.text`, which `load.rs` reads, and names of operands into constants, `slots.rs`;
//! `tables/latency` into another file of bytes, `smNN.latency`, for `latency/mod.rs`, `tables/seen`
//! into a third, `smNN.seen`, for `seen.rs`, and `tables/habits` into `smNN.habits`, for
//! `habits.rs`.

#[path = "table/field.rs"]
mod field;
#[path = "table/generations.rs"]
mod generations;
#[allow(dead_code)] // What `orias-isa habits` needs beside.
#[path = "table/habits.rs"]
mod habits;
#[path = "table/latency.rs"]
mod latency;
#[path = "table/model.rs"]
mod model;
#[allow(dead_code)] // The numbers of opcodes and modifiers: the library gets those of the same files.
#[path = "../components/modifier.rs"]
mod modifier;
#[allow(dead_code)]
#[path = "../components/names.rs"]
mod names;
#[allow(dead_code)]
#[path = "../components/opcode.rs"]
mod opcode;
#[path = "table/parse.rs"]
mod parse;
#[path = "table/ports.rs"]
mod ports;
#[path = "table/seen.rs"]
mod seen;
#[path = "table/sets.rs"]
mod sets;
#[path = "table/slot.rs"]
mod slot;
#[path = "table/names.rs"]
mod slot_names;
#[path = "table/write.rs"]
mod write;

use modifier::Mod;
use opcode::Opcode;
use std::path::Path;
use std::{env, fs};

fn main() {
    for path in ["build.rs", "table", "tables"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for name in ["modifier", "names", "opcode"] {
        println!("cargo::rerun-if-changed=../components/{name}.rs");
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut names = slot_names::Names::default();
    for generation in generations::GENERATIONS {
        let table = model::Table::read_folder(Path::new("tables"), *generation);
        let made = table.and_then(|table| {
            names.add(&table);
            let (ports, of) = ports::Ports::of(&table);
            let latencies = latency::write(Path::new("tables"), generation.sm, &ports)?;
            let seen = seen::write(Path::new("tables"), generation.sm, &table)?;
            let (table, text) = write::write(&table, &of)?;
            let text = (text.into_bytes(), "text");
            Ok([(table, "table"), text, (latencies, "latency"), (seen, "seen")])
        });
        match made {
            Ok(made) => {
                for (bytes, extension) in made {
                    let name = format!("sm{}.{extension}", generation.sm);
                    fs::write(Path::new(&out).join(name), bytes).expect("OUT_DIR is writable");
                }
            }
            Err(message) => println!("cargo::error=sm_{}: {message}", generation.sm),
        }
    }
    fs::write(Path::new(&out).join("slots.rs"), names.constants()).expect("OUT_DIR is writable");
    let text = fs::read_to_string("tables/habits/sm90.tsv").map_err(|e| e.to_string());
    match text.and_then(|text| habits::Rows::parse(&text)).and_then(|rows| rows.bytes()) {
        Ok(bytes) => {
            fs::write(Path::new(&out).join("sm90.habits"), bytes).expect("OUT_DIR is writable");
        }
        Err(message) => println!("cargo::error=tables/habits/sm90.tsv: {message}"),
    }
}
