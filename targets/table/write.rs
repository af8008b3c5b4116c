//! Writes a parsed table as the bytes that `load.rs` reads: nothing in them is an address, so a
//! program that holds the tables of many SMs pays only for the one that it uses, and of that only
//! for the forms that it meets.
//!
//! All numbers are little-endian; opcodes and modifiers are those of `components`. A table is the
//! lengths of its sections ([`SECTIONS`] of them, four bytes each), then the sections: by opcode
//! its first form and the one past its last; by value of a word's low twelve bits the first of its
//! forms in the next section; those; forms ([`FORM`] bytes each); where each string ends; then what
//! forms consist of: words (modifiers), options, fields, slots, ports, tests, aliases; at last
//! special registers. What repeats stands once. Runs are named by the byte at which they begin in
//! their section. The strings are a text of their own: nothing has to look whether it is one.

use super::model::{Bits, Cells, Flags, Form, Hide, Kind, ModField, Slot, Table};
use super::ports::OfForm;
use super::{Mod, Opcode, latency};
use std::collections::BTreeMap;

pub const SECTIONS: usize = 13;

/// Bytes of a form.
pub const FORM: usize = 80;

/// Bits that every instruction has in common: guard, control.
const COMMON: u128 = 0xf << 12 | ((1 << 17) - 1) << 105;

/// Entries of one kind, each written once.
#[derive(Default)]
struct Pool {
    bytes: Vec<u8>,
    /// Runs of entries by their bytes.
    runs: BTreeMap<Vec<u8>, u32>,
}

impl Pool {
    /// Where a run of entries begins, `bytes` together.
    fn run(&mut self, bytes: Vec<u8>) -> u32 {
        if bytes.is_empty() {
            return 0;
        }
        if let Some(at) = self.runs.get(&bytes) {
            return *at;
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&bytes);
        self.runs.insert(bytes, at);
        at
    }
}

#[derive(Default)]
struct Writer {
    strings: Vec<String>,
    ids: BTreeMap<String, u16>,
    words: Pool,
    options: Pool,
    fields: Pool,
    slots: Pool,
    ports: Pool,
    tests: Pool,
    aliases: Pool,
}

/// The table's forms as they are numbered, by their places in it: those of one opcode stand
/// together, in the table's order.
pub fn order(table: &Table) -> Vec<usize> {
    let mut opcodes: Vec<&str> = Vec::new();
    for form in &table.forms {
        if !opcodes.contains(&form.opcode.as_str()) {
            opcodes.push(&form.opcode);
        }
    }
    let mut order: Vec<usize> = (0..table.forms.len()).collect();
    order.sort_by_key(|at| opcodes.iter().position(|o| *o == table.forms[*at].opcode));
    order
}

/// The bytes of a table, and its strings; `ports` are those of its forms, in their order.
pub fn write(table: &Table, ports: &[OfForm]) -> Result<(Vec<u8>, String), String> {
    let forms: Vec<(&Form, &OfForm)> =
        order(table).into_iter().map(|at| (&table.forms[at], &ports[at])).collect();
    let mut w = Writer::default();
    let mut heads = Vec::new();
    for (form, ports) in &forms {
        w.form(&mut heads, form, ports).map_err(|e| format!("{}: {e}", form.row))?;
    }
    let mut specials = Vec::new();
    for (number, name) in &table.specials {
        put16(&mut specials, *number);
        put16(&mut specials, w.string(name));
    }
    let (mut ends, mut text) = (Vec::new(), String::new());
    for string in &w.strings {
        text.push_str(string);
        put32(&mut ends, text.len() as u32);
    }
    let numbers: Vec<u16> = forms.iter().map(|(form, _)| form.fixed as u16 & 0xfff).collect();
    let (starts, numbered) = by_number(&numbers);
    let sections: [&[u8]; SECTIONS] = [
        &by_opcode(&forms.iter().map(|(form, _)| form.opcode.as_str()).collect::<Vec<_>>()),
        &starts,
        &numbered,
        &heads,
        &ends,
        &w.words.bytes,
        &w.options.bytes,
        &w.fields.bytes,
        &w.slots.bytes,
        &w.ports.bytes,
        &w.tests.bytes,
        &w.aliases.bytes,
        &specials,
    ];
    let mut out = Vec::new();
    sections.iter().for_each(|section| put32(&mut out, section.len() as u32));
    sections.iter().for_each(|section| out.extend_from_slice(section));
    Ok((out, text))
}

/// The first form of each opcode, and the one past its last.
fn by_opcode(forms: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for op in Opcode::LIST {
        let first = forms.iter().position(|f| *f == op.name()).unwrap_or(0);
        let count = forms.iter().filter(|f| **f == op.name()).count();
        put16(&mut out, first as u16);
        put16(&mut out, (first + count) as u16);
    }
    out
}

/// Where the forms of each number begin, and last where all end; and those forms.
fn by_number(numbers: &[u16]) -> (Vec<u8>, Vec<u8>) {
    let mut list: Vec<u16> = (0..numbers.len() as u16).collect();
    list.sort_by_key(|index| numbers[*index as usize]);
    let (mut starts, mut numbered) = (Vec::new(), Vec::new());
    for number in 0..=4096 {
        let start = list.partition_point(|index| numbers[*index as usize] < number);
        put16(&mut starts, start as u16);
    }
    list.iter().for_each(|index| put16(&mut numbered, *index));
    (starts, numbered)
}

fn put16(out: &mut Vec<u8>, v: u16) {
    out.extend_from_slice(&v.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, v: u32) {
    out.extend_from_slice(&v.to_le_bytes());
}

/// Four pieces of position and width, and whether the field holds the complement.
fn put_bits(out: &mut Vec<u8>, b: &Bits) -> Result<(), String> {
    if b.pieces.len() > 4 {
        return Err("a field of more than four pieces".into());
    }
    for i in 0..4 {
        let (pos, width) = b.pieces.get(i).copied().unwrap_or((0, 0));
        out.extend_from_slice(&[pos, width]);
    }
    out.push(b.inverted as u8);
    Ok(())
}

fn put_optional(out: &mut Vec<u8>, b: &Option<Bits>) -> Result<(), String> {
    out.push(b.is_some() as u8);
    put_bits(out, &b.clone().unwrap_or_default())
}

fn put_flags(out: &mut Vec<u8>, f: &Flags) {
    out.extend_from_slice(&[f.neg, f.abs, f.not, f.reuse]);
}

/// A number, or the place of the field or of the operand with named values that decides it.
fn put_cells(out: &mut Vec<u8>, form: &Form, cells: &Cells) -> Result<(), String> {
    let named = |s: &Slot, name: &str| match &s.kind {
        Kind::Imm { names: Some(field), .. } => field.name == name,
        _ => false,
    };
    let bytes = match cells {
        Cells::Fixed(n) => [0, *n],
        Cells::Field(name) => match form.mods.iter().position(|m| m.name == *name) {
            Some(at) => [1, at as u8],
            None => {
                let at = form.slots.iter().position(|s| named(s, name));
                [2, at.ok_or(format!("no field {name}"))? as u8]
            }
        },
    };
    out.extend_from_slice(&bytes);
    Ok(())
}

fn file(name: &str) -> u8 {
    ["R", "UR", "P", "UP", "B"].iter().position(|f| *f == name).expect("a register file") as u8
}

/// The place of "no field".
const NONE: u32 = u32::MAX;

impl Writer {
    fn string(&mut self, text: &str) -> u16 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.strings.len() as u16;
        self.strings.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    fn field(&mut self, out: &mut Vec<u8>, m: &ModField) -> Result<(), String> {
        let mut options = Vec::new();
        for o in &m.options {
            let mut words = Vec::new();
            for word in &o.words {
                let known = Mod::parse(word);
                let known = known.ok_or(format!("{word} is not in components/modifier.rs"))?;
                put16(&mut words, known as u16);
            }
            put16(&mut options, o.value);
            options.extend_from_slice(&[o.words.len() as u8, o.cells]);
            put32(&mut options, self.words.run(words));
        }
        put16(out, self.string(&m.name));
        put_bits(out, &m.bits)?;
        put16(out, m.options.len() as u16);
        put32(out, self.options.run(options));
        Ok(())
    }

    fn one_field(&mut self, m: &Option<ModField>) -> Result<u32, String> {
        let Some(m) = m else { return Ok(NONE) };
        let mut bytes = Vec::new();
        self.field(&mut bytes, m)?;
        Ok(self.fields.run(bytes))
    }

    fn slot(&mut self, out: &mut Vec<u8>, form: &Form, slot: &Slot) -> Result<(), String> {
        put16(out, self.string(&slot.name));
        match &slot.kind {
            Kind::Reg { file: f, bits, flags, part: None } => {
                out.extend_from_slice(&[0, file(f)]);
                put_bits(out, bits)?;
                put_flags(out, flags);
            }
            Kind::Reg { file: f, bits, flags, part } => {
                out.extend_from_slice(&[1, file(f)]);
                put_bits(out, bits)?;
                put_flags(out, flags);
                put32(out, self.one_field(part)?);
            }
            Kind::Imm { bits, signed, scale, style, names } => {
                out.push(2);
                put_bits(out, bits)?;
                out.extend_from_slice(&[*signed as u8, *scale]);
                put16(out, self.string(style));
                put32(out, self.one_field(names)?);
            }
            Kind::Const { offset, scale, bank, base, base_file, handle, flags, part } => {
                out.push(3);
                put_bits(out, offset)?;
                out.push(*scale);
                put_optional(out, bank)?;
                put_optional(out, base)?;
                out.push(file(base_file));
                put_optional(out, handle)?;
                put_flags(out, flags);
                put32(out, self.one_field(part)?);
            }
            Kind::Mem {
                base,
                base_cells,
                base_needed,
                uniform,
                uniform_cells,
                uniform_needed,
                offset,
                signed,
                sel,
            } => {
                out.push(4);
                put_optional(out, base)?;
                put_cells(out, form, base_cells)?;
                out.push(*base_needed as u8);
                put_optional(out, uniform)?;
                put_cells(out, form, uniform_cells)?;
                out.push(*uniform_needed as u8);
                put_bits(out, offset)?;
                out.push(*signed as u8);
                put32(out, self.one_field(sel)?);
            }
            Kind::Desc { bits, prefix, matrices, after } => {
                out.push(5);
                put_bits(out, bits)?;
                put16(out, self.string(prefix));
                out.extend_from_slice(matrices);
                out.push(*after);
            }
            Kind::Special { bits } => {
                out.push(6);
                put_bits(out, bits)?;
            }
            Kind::Target { bits, scale, relative, address } => {
                out.push(7);
                put_bits(out, bits)?;
                out.extend_from_slice(&[*scale, *relative as u8, *address as u8]);
            }
            Kind::Named(field) => {
                out.push(8);
                put32(out, self.one_field(&Some(field.clone()))?);
            }
            Kind::Generic { .. } => return Err(format!("{}: an operand of no form", slot.name)),
        }
        put_cells(out, form, &slot.cells)?;
        out.push(slot.align);
        let (hide, value) = match slot.hide {
            Hide::Never => (0, 0),
            Hide::Zero => (1, 0),
            Hide::NotTrue => (2, 0),
            Hide::Value(v) => (3, v),
            Hide::ZeroUnless(other) => (4, other as u32),
            Hide::Always => (5, 0),
        };
        out.push(hide);
        out.extend_from_slice(&value.to_le_bytes());
        put16(out, self.string(&slot.lead));
        out.push(slot.needed as u8);
        out.extend_from_slice(&[slot.twice.is_some() as u8, slot.twice.unwrap_or(0)]);
        Ok(())
    }

    fn alias(&mut self, form: &Form, word: &str, tests: &[String]) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        for test in tests {
            let (slot, what) = test.split_once('=').unwrap_or((test, ""));
            let at = form.slots.iter().position(|s| s.name == slot);
            let at = at.ok_or(format!("alias {word}: no operand {slot}"))? as u8;
            let (kind, value) = match what {
                "Z" => (0, 0),
                "pow2" => (2, 0),
                "nu" => (3, 0),
                n => (1, n.parse::<u32>().map_err(|_| format!("alias {word}: {test}"))?),
            };
            bytes.extend_from_slice(&[kind, at]);
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        let mut out = Vec::new();
        put16(&mut out, self.string(word));
        out.push(tests.len() as u8);
        put32(&mut out, self.tests.run(bytes));
        Ok(out)
    }

    fn form(&mut self, out: &mut Vec<u8>, form: &Form, ports: &OfForm) -> Result<(), String> {
        let fixed_mask = fixed_mask(form)?;
        let (kinds, kinds_mask) = kinds(form)?;
        let (mut mods, mut slots, mut aliases) = (Vec::new(), Vec::new(), Vec::new());
        for m in &form.mods {
            self.field(&mut mods, m)?;
        }
        for s in &form.slots {
            self.slot(&mut slots, form, s)?;
        }
        for (word, tests) in &form.aliases {
            aliases.extend(self.alias(form, word, tests)?);
        }
        let mut places = Vec::new();
        ports.slots.iter().flatten().for_each(|port| put16(&mut places, *port));
        let op = Opcode::parse(&form.opcode);
        let op = op.ok_or(format!("{} is not in components/opcode.rs", form.opcode))?;
        let class = latency::CLASSES.iter().position(|class| *class == form.class);
        let class = class.ok_or(format!("no class {}", form.class))?;
        let start = out.len();
        out.extend_from_slice(&fixed_mask.to_le_bytes());
        out.extend_from_slice(&form.fixed.to_le_bytes());
        out.extend_from_slice(&kinds.to_le_bytes());
        out.extend_from_slice(&kinds_mask.to_le_bytes());
        put16(out, op as u16);
        put16(out, self.string(&form.row));
        let flags = form.write_sb as u8 | (form.read_sb as u8) << 1 | (form.seen as u8) << 2;
        let flags = flags | (form.waits as u8) << 3;
        out.extend_from_slice(&[class as u8, file(form.guard), form.defs, flags]);
        put32(out, self.fields.run(mods));
        put32(out, self.slots.run(slots));
        put32(out, self.aliases.run(aliases));
        put32(out, self.ports.run(places));
        let counts = [form.mods.len(), form.slots.len(), form.aliases.len()];
        out.extend(counts.map(|count| count as u8));
        out.push(0);
        put16(out, ports.guard);
        put16(out, ports.masked);
        assert_eq!(out.len() - start, FORM, "the bytes of a form");
        Ok(())
    }
}

/// The bits that no field owns. Every other bit belongs to one field alone.
fn fixed_mask(form: &Form) -> Result<u128, String> {
    let mut fields = COMMON;
    let mut reuse = 0u128;
    let mut add = |mask: u128, what: &str| {
        if fields & mask != 0 {
            return Err(format!("{what} overlaps another field"));
        }
        fields |= mask;
        Ok(())
    };
    for m in &form.mods {
        add(m.bits.word_mask(), &m.name)?;
    }
    for slot in &form.slots {
        let (mask, r) = slot_mask(slot);
        add(mask, &slot.name)?;
        if reuse & r != 0 {
            return Err(format!("reuse of {} overlaps", slot.name));
        }
        reuse |= r;
    }
    if form.fixed & fields & !COMMON != 0 {
        return Err("constant bits lie in a field".into());
    }
    Ok(!(fields | reuse))
}

/// The bits a slot owns, and apart from them its reuse bit.
fn slot_mask(slot: &Slot) -> (u128, u128) {
    let flag_mask = |f: &Flags| {
        [f.neg, f.abs, f.not].iter().filter(|b| **b != 0).fold(0u128, |m, b| m | 1 << b)
    };
    let of = |b: &Option<Bits>| b.as_ref().map_or(0, Bits::word_mask);
    let field = |m: &Option<ModField>| m.as_ref().map_or(0, |m| m.bits.word_mask());
    let reuse = |bit: u8| if bit == 0 { 0 } else { 1u128 << bit };
    match &slot.kind {
        Kind::Reg { bits, flags, part, .. } => {
            (bits.word_mask() | flag_mask(flags) | field(part), reuse(flags.reuse))
        }
        Kind::Imm { bits, .. } | Kind::Special { bits } => (bits.word_mask(), 0),
        Kind::Desc { after: 1.., .. } => (0, 0),
        Kind::Desc { bits, matrices, .. } => {
            let flags = matrices.iter().filter(|b| **b != 0).fold(0, |m, b| m | 1u128 << b);
            (bits.word_mask() | flags, 0)
        }
        Kind::Target { bits, .. } => (bits.word_mask(), 0),
        Kind::Named(field) => (field.bits.word_mask(), 0),
        Kind::Const { offset, bank, base, handle, flags, part, .. } => {
            let places = offset.word_mask() | of(bank) | of(base) | of(handle);
            (places | flag_mask(flags) | field(part), 0)
        }
        Kind::Mem { base, uniform, offset, sel, .. } => {
            (of(base) | of(uniform) | offset.word_mask() | field(sel), 0)
        }
        Kind::Generic { .. } => (0, 0),
    }
}

/// Four bits for each operand, as `encode::kind_code` numbers them, and which of those bits matter.
fn kinds(form: &Form) -> Result<(u64, u64), String> {
    if form.slots.len() > 16 {
        return Err("more than sixteen operands".into());
    }
    let (mut kinds, mut mask) = (0u64, 0u64);
    for (i, slot) in form.slots.iter().enumerate() {
        let (code, bits) = match &slot.kind {
            Kind::Reg { part: Some(_), file: "UR", .. } => (15, 15),
            Kind::Reg { part: Some(_), .. } => (6, 15),
            Kind::Reg { file: "R", .. } => (1, 15),
            Kind::Reg { file: "UR", .. } => (2, 15),
            Kind::Reg { file: "P", .. } => (3, 15),
            Kind::Reg { file: "UP", .. } => (4, 15),
            Kind::Reg { .. } => (5, 15),
            Kind::Imm { .. } => (7, 15),
            Kind::Const { handle: None, .. } => (8, 15),
            Kind::Const { .. } => (12, 15),
            Kind::Mem { uniform: None, .. } => (9, 15),
            Kind::Mem { uniform_needed: true, .. } => (13, 15),
            Kind::Mem { .. } => (9, 11),
            Kind::Special { .. } => (10, 15),
            Kind::Named(_) => (10, 15),
            Kind::Target { .. } => (11, 15),
            Kind::Desc { .. } => (14, 15),
            Kind::Generic { .. } => (0, 0),
        };
        kinds |= code << (4 * i);
        mask |= bits << (4 * i);
    }
    // The number of operands must match: the rest is zero.
    let used = 4 * form.slots.len();
    if used < 64 {
        mask |= u64::MAX << used;
    }
    Ok((kinds, mask))
}
