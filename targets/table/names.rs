//! Names of operands as Rust constants: for each mnemonic with the words that its rows always have,
//! where each of its slots stands, and how many there are.

use crate::model::{Form, Table};
use std::collections::BTreeMap;
use std::fmt::Write;

/// By mnemonic and slot: the place, or None where rows of the mnemonic have it at different ones.
#[derive(Default)]
pub struct Names(BTreeMap<String, BTreeMap<String, Option<usize>>>);

impl Names {
    /// Adds the rows of one SM. The number of slots has a name that no slot has.
    pub fn add(&mut self, table: &Table) {
        for form in &table.forms {
            let slots = self.0.entry(mnemonic(form)).or_default();
            let names = form.slots.iter().map(|slot| slot.name.as_str()).chain(["count"]);
            for (at, name) in names.enumerate() {
                let place = slots.entry(name.into()).or_insert(Some(at));
                *place = place.filter(|place| *place == at);
            }
        }
    }

    /// `pub mod IMAD_WIDE { pub const D: usize = 0; … }`
    pub fn constants(&self) -> String {
        let mut out = String::new();
        for (mnemonic, slots) in &self.0 {
            let _ = writeln!(out, "/// `{mnemonic}`\npub mod {} {{", identifier(mnemonic));
            for (slot, at) in slots.iter().filter_map(|(slot, at)| Some((slot, (*at)?))) {
                let _ = writeln!(out, "pub const {}: usize = {at};", identifier(slot));
            }
            out.push_str("}\n");
        }
        out
    }
}

/// `IMAD.WIDE`
fn mnemonic(form: &Form) -> String {
    let always = form.mods.iter().filter(|field| field.options.len() == 1);
    let words = always.flat_map(|field| &field.options[0].words);
    words.fold(form.opcode.clone(), |name, word| name + "." + word)
}

fn identifier(name: &str) -> String {
    let is_kept = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(is_kept).collect()
}
