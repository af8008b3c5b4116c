//! Writes the parsed table as Rust statics.

use crate::parse::{Bits, Cells, Flags, Form, Kind, ModField, Slot, Table};
use std::fmt::Write;

/// Bits that every instruction has in common: guard, control.
const COMMON: u128 = 0xf << 12 | ((1 << 17) - 1) << 105;

pub fn emit(table: &Table) -> String {
    let mut forms: Vec<&Form> = table.forms.iter().collect();
    // Forms of one opcode stand together, in the table's order.
    let mut opcodes: Vec<&str> = Vec::new();
    for form in &table.forms {
        if !opcodes.contains(&form.opcode.as_str()) {
            opcodes.push(&form.opcode);
        }
    }
    forms.sort_by_key(|f| opcodes.iter().position(|o| *o == f.opcode));
    let mut out = String::from("pub static FORMS: &[Form] = &[\n");
    for (index, form) in forms.iter().enumerate() {
        emit_form(&mut out, index, form);
    }
    out.push_str(
        "];\n\n/// The forms of an opcode.\npub fn forms_of(op: Opcode) -> &'static [Form] {\n",
    );
    out.push_str("    match op {\n");
    for opcode in &opcodes {
        let first = forms.iter().position(|f| f.opcode == *opcode).unwrap_or(0);
        let count = forms.iter().filter(|f| f.opcode == *opcode).count();
        let _ = writeln!(out, "Opcode::{opcode} => &FORMS[{first}..{}],", first + count);
    }
    out.push_str("        _ => &[],\n    }\n}\n\n");
    // Indices by the low twelve bits of the word.
    let mut list: Vec<usize> = Vec::new();
    let mut ranges = vec![(0usize, 0usize); 4096];
    for (number, range) in ranges.iter_mut().enumerate() {
        let start = list.len();
        list.extend((0..forms.len()).filter(|i| forms[*i].number as usize == number));
        *range = (start, list.len());
    }
    let _ = writeln!(out, "pub static BY_NUMBER: [(u16, u16); 4096] = {ranges:?};");
    let _ = writeln!(out, "pub static BY_NUMBER_LIST: &[u16] = &{list:?};");
    out.push_str("pub static SPECIALS: &[(u8, &str)] = &[\n");
    for (number, name) in &table.specials {
        let _ = writeln!(out, "({number}, {name:?}),");
    }
    out.push_str("];\n");
    out
}

fn emit_form(out: &mut String, index: usize, form: &Form) {
    let mut fields = COMMON;
    let mut reuse = 0u128;
    let mut add = |mask: u128, what: &str| {
        assert!(fields & mask == 0, "{}: {what} overlaps another field", form.row);
        fields |= mask;
    };
    for m in &form.mods {
        add(m.bits.word_mask(), &m.name);
    }
    for slot in &form.slots {
        let (mask, r) = slot_mask(slot);
        add(mask, &slot.name);
        assert!(reuse & r == 0, "{}: reuse of {} overlaps", form.row, slot.name);
        reuse |= r;
    }
    assert!(form.fixed & fields & !COMMON == 0, "{}: constant bits lie in a field", form.row);
    let fixed_mask = !(fields | reuse);
    let (kinds, kinds_mask) = kinds(form);
    let _ = write!(
        out,
        "Form {{ op: Opcode::{}, index: {index}, row: {:?}, fixed_mask: {:#x}, fixed: {:#x}, guard: RegFile::{}, class: Class::{}, \
         write_sb: {}, read_sb: {}, defs: {}, kinds: {kinds:#x}, kinds_mask: {kinds_mask:#x}, seen: {}, mods: &[",
        form.opcode,
        form.row,
        fixed_mask,
        form.fixed,
        form.guard,
        form.class,
        form.write_sb,
        form.read_sb,
        form.defs,
        form.seen,
    );
    for m in &form.mods {
        emit_field(out, m);
        out.push(',');
    }
    out.push_str("], slots: &[");
    for slot in &form.slots {
        emit_slot(out, form, slot);
        out.push(',');
    }
    out.push_str("], aliases: &[");
    for (word, tests) in &form.aliases {
        let _ = write!(out, "Alias {{ word: {word:?}, tests: &[");
        for test in tests {
            let (slot, what) = test.split_once('=').unwrap_or((test, ""));
            let at = form.slots.iter().position(|s| s.name == slot).unwrap_or(255);
            let _ = match what {
                "Z" => write!(out, "AliasTest::Zero({at}),"),
                "pow2" => write!(out, "AliasTest::PowerOfTwo({at}),"),
                "nu" => write!(out, "AliasTest::NotUniform({at}),"),
                n => write!(out, "AliasTest::Is({at}, {n}),"),
            };
        }
        out.push_str("] },");
    }
    out.push_str("] },\n");
}

fn bits(b: &Bits) -> String {
    format!("Bits {{ pieces: &{:?}, inverted: {} }}", b.pieces, b.inverted)
}

fn opt_bits(b: &Option<Bits>) -> String {
    b.as_ref().map_or("None".into(), |b| format!("Some({})", bits(b)))
}

fn flags(f: &Flags) -> String {
    format!("FlagBits {{ neg: {}, abs: {}, not: {}, reuse: {} }}", f.neg, f.abs, f.not, f.reuse)
}

fn emit_field(out: &mut String, m: &ModField) {
    let _ = write!(out, "ModField {{ name: {:?}, bits: {}, options: &[", m.name, bits(&m.bits));
    for o in &m.options {
        let words: Vec<String> = o.words.iter().map(|w| format!("Mod::{}", ident(w))).collect();
        let _ = write!(
            out,
            "ModOption {{ value: {}, words: &[{}], cells: {} }},",
            o.value,
            words.join(","),
            o.cells
        );
    }
    out.push_str("] }");
}

/// The Rust name of a modifier word.
fn ident(word: &str) -> String {
    match word {
        "BPT" => "BPT_".into(),
        w if w.starts_with(|c: char| c.is_ascii_digit()) => format!("_{w}"),
        w => w.into(),
    }
}

fn field_static(m: &Option<ModField>) -> String {
    match m {
        None => "None".into(),
        Some(m) => {
            let mut text = String::from("Some(&");
            emit_field(&mut text, m);
            text.push(')');
            text
        }
    }
}

fn emit_slot(out: &mut String, form: &Form, slot: &Slot) {
    let kind = match &slot.kind {
        Kind::Reg { file, bits: b, flags: f, part: None } => {
            format!(
                "SlotKind::Reg {{ file: RegFile::{file}, bits: {}, flags: {} }}",
                bits(b),
                flags(f)
            )
        }
        Kind::Reg { file, bits: b, flags: f, part: Some(part) } => {
            let mut text = String::new();
            emit_field(&mut text, part);
            format!(
                "SlotKind::Part {{ file: RegFile::{file}, bits: {}, flags: {}, part: &{text} }}",
                bits(b),
                flags(f)
            )
        }
        Kind::Imm { bits: b, signed, scale, style } => format!(
            "SlotKind::Imm {{ bits: {}, signed: {signed}, scale: {scale}, style: ImmStyle::{style} }}",
            bits(b)
        ),
        Kind::Const { offset, scale, bank, base, handle, flags: f } => format!(
            "SlotKind::Const {{ offset: {}, scale: {scale}, bank: {}, base: {}, handle: {}, flags: {} }}",
            bits(offset),
            opt_bits(bank),
            opt_bits(base),
            opt_bits(handle),
            flags(f)
        ),
        Kind::Mem { base, base_cells, uniform, uniform_needed, offset, sel } => format!(
            "SlotKind::Mem {{ base: {}, base_cells: {base_cells}, uniform: {}, uniform_needed: {uniform_needed}, offset: {}, sel: {} }}",
            opt_bits(base),
            opt_bits(uniform),
            bits(offset),
            field_static(sel)
        ),
        Kind::Desc { bits: b } => format!("SlotKind::Desc {{ bits: {} }}", bits(b)),
        Kind::Special { bits: b } => format!("SlotKind::Special {{ bits: {} }}", bits(b)),
        Kind::Target { bits: b, scale, relative } => format!(
            "SlotKind::Target {{ bits: {}, scale: {scale}, relative: {relative} }}",
            bits(b)
        ),
        Kind::Generic { .. } => "compile_error!(\"generic operand left\")".into(),
    };
    let cells = match &slot.cells {
        Cells::Fixed(n) => format!("Cells::Fixed({n})"),
        Cells::Field(name) => {
            let at = form.mods.iter().position(|m| m.name == *name).unwrap_or(255);
            format!("Cells::Field({at})")
        }
    };
    let _ = write!(
        out,
        "Slot {{ name: {:?}, kind: {kind}, cells: {cells}, hide: {}, lead: {:?}, twice: {} }}",
        slot.name, slot.hide, slot.lead, slot.twice
    );
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
        Kind::Imm { bits, .. } | Kind::Desc { bits } | Kind::Special { bits } => {
            (bits.word_mask(), 0)
        }
        Kind::Target { bits, .. } => (bits.word_mask(), 0),
        Kind::Const { offset, bank, base, handle, flags, .. } => {
            (offset.word_mask() | of(bank) | of(base) | of(handle) | flag_mask(flags), 0)
        }
        Kind::Mem { base, uniform, offset, sel, .. } => {
            (of(base) | of(uniform) | offset.word_mask() | field(sel), 0)
        }
        Kind::Generic { .. } => (0, 0),
    }
}

/// Four bits for each operand, as `encode::kind_code` numbers them, and which of those bits matter.
fn kinds(form: &Form) -> (u64, u64) {
    let (mut kinds, mut mask) = (0u64, 0u64);
    for (i, slot) in form.slots.iter().enumerate() {
        let (code, bits) = match &slot.kind {
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
    (kinds, mask)
}
