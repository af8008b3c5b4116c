//! Which field each bit of a form's words belongs to.

use crate::form::{FlagBits, Form, ModField, SlotKind};
use orias_components::RegFlags;

/// A field of a word by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedField {
    /// The field's name in the row, or the words that it chooses among (`U32`, `F|LT|EQ`); of an
    /// operand its slot's name, and after a dot the part of it (`a.neg`, `a.offset`).
    pub name: String,
    /// Its bits in the word.
    pub mask: u128,
}

/// Guard and control bits, which every instruction has.
const COMMON: [(&str, u32, u32); 7] = [
    ("guard", 12, 3),
    ("guard.not", 15, 1),
    ("stall", 105, 4),
    ("yield", 109, 1),
    ("write scoreboard", 110, 3),
    ("read scoreboard", 113, 3),
    ("wait mask", 116, 6),
];

impl Form {
    /// All fields, each bit in one of them; the others are constant: see [`Form::fixed_mask`].
    pub fn layout(&self) -> Vec<NamedField> {
        let mut fields: Vec<NamedField> = COMMON
            .iter()
            .map(|(name, at, width)| NamedField {
                name: (*name).into(),
                mask: ((1u128 << width) - 1) << at,
            })
            .collect();
        let mut add = |name: String, mask: u128| {
            if mask != 0 {
                fields.push(NamedField { name, mask });
            }
        };
        for field in self.mods {
            add(name_of(field), field.bits.word_mask());
        }
        for slot in self.slots {
            let name = slot.name;
            match &slot.kind {
                SlotKind::Reg { bits, flags, .. } => {
                    add(name.into(), bits.word_mask());
                    add_flags(&mut add, name, flags);
                }
                SlotKind::Part { bits, flags, part, .. } => {
                    add(name.into(), bits.word_mask());
                    add_flags(&mut add, name, flags);
                    add(format!("{name}.{}", name_of(part)), part.bits.word_mask());
                }
                SlotKind::Imm { bits, .. }
                | SlotKind::Special { bits }
                | SlotKind::Target { bits, .. } => add(name.into(), bits.word_mask()),
                SlotKind::Named { field } => add(name.into(), field.bits.word_mask()),
                SlotKind::Desc { after: 1.., .. } => {}
                SlotKind::Desc { bits, matrices, .. } => {
                    add(name.into(), bits.word_mask());
                    for ((_, word), bit) in RegFlags::OF_MATRICES.into_iter().zip(matrices) {
                        add(format!("{name}.{word}"), if *bit == 0 { 0 } else { 1 << bit });
                    }
                }
                SlotKind::Const { offset, bank, base, handle, flags, part, .. } => {
                    add(format!("{name}.offset"), offset.word_mask());
                    for (part, bits) in [("bank", bank), ("base", base), ("handle", handle)] {
                        add(format!("{name}.{part}"), bits.map_or(0, |b| b.word_mask()));
                    }
                    add_flags(&mut add, name, flags);
                    if let Some(part) = part {
                        add(format!("{name}.{}", name_of(part)), part.bits.word_mask());
                    }
                }
                SlotKind::Mem { base, uniform, offset, sel, .. } => {
                    add(format!("{name}.offset"), offset.word_mask());
                    for (part, bits) in [("base", base), ("uniform", uniform)] {
                        add(format!("{name}.{part}"), bits.map_or(0, |b| b.word_mask()));
                    }
                    if let Some(sel) = sel {
                        add(format!("{name}.{}", name_of(sel)), sel.bits.word_mask());
                    }
                }
            }
        }
        fields
    }
}

fn add_flags(add: &mut impl FnMut(String, u128), name: &str, flags: &FlagBits) {
    for (part, bit) in
        [("neg", flags.neg), ("abs", flags.abs), ("not", flags.not), ("reuse", flags.reuse)]
    {
        add(format!("{name}.{part}"), if bit == 0 { 0 } else { 1 << bit });
    }
}

fn name_of(field: &ModField) -> String {
    if !field.name.is_empty() {
        return field.name.into();
    }
    let words = field.options.iter().filter(|o| !o.words.is_empty());
    let texts = words.map(|o| o.words.iter().map(|w| w.name()).collect::<Vec<_>>().join("."));
    texts.collect::<Vec<_>>().join("|")
}
