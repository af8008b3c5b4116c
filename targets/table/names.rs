//! Names of operands as Rust constants: for each mnemonic with the words that its rows always have,
//! where each of its slots stands, and how many there are.

use crate::model::{Form, Kind, Table};
use std::collections::BTreeMap;
use std::fmt::Write;

/// By mnemonic and slot: the place, or None where rows of the mnemonic have it at different ones.
#[derive(Default)]
pub struct Names(BTreeMap<String, BTreeMap<String, Slot>>);

/// A slot of a mnemonic.
struct Slot {
    place: Option<usize>,
    /// What it is, for the constant's documentation: of the first row that has it.
    what: &'static str,
}

impl Names {
    /// Adds the rows of one SM. The number of slots has a name that no slot has.
    pub fn add(&mut self, table: &Table) {
        for form in &table.forms {
            let slots = self.0.entry(mnemonic(form)).or_default();
            let what = |at: usize, kind: &Kind| match (at < usize::from(form.defs), kind) {
                (true, Kind::Reg { file: "P" | "UP", .. }) => "Destination: a predicate.",
                (true, _) => "Destination: a register.",
                (false, Kind::Reg { file: "P" | "UP", .. }) => "Source: a predicate.",
                (false, Kind::Mem { .. }) => "Source: an address.",
                (false, Kind::Desc { .. }) => "Source: a descriptor in uniform registers.",
                (false, Kind::Imm { .. }) => "Source: an immediate; other rows may take more.",
                (false, Kind::Const { .. }) => "Source: a constant; other rows may take more.",
                (false, Kind::Reg { .. }) => "Source: a register; other rows may take more.",
                (false, _) => "Source: a special register or a place in the code.",
            };
            let named = form.slots.iter().enumerate();
            let named = named.map(|(at, slot)| (slot.name.as_str(), what(at, &slot.kind)));
            let count = ("count", "How many operand slots its rows have.");
            for (at, (name, what)) in named.chain([count]).enumerate() {
                let new = || Slot { place: Some(at), what };
                let slot = slots.entry(name.into()).or_insert_with(new);
                slot.place = slot.place.filter(|place| *place == at);
            }
        }
    }

    /// `pub mod IMAD_WIDE { pub const D: usize = 0; … }`
    pub fn constants(&self) -> String {
        let mut out = String::new();
        for (mnemonic, slots) in &self.0 {
            let _ =
                writeln!(out, "/// Operands of `{mnemonic}`.\npub mod {} {{", identifier(mnemonic));
            for (name, slot) in slots {
                let Some(at) = slot.place else { continue };
                let _ = writeln!(out, "/// {}", slot.what);
                let _ = writeln!(out, "pub const {}: usize = {at};", identifier(name));
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
