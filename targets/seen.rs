//! Which instructions ptxas was seen to emit on an SM: what a disassembler reads is no proof of
//! what the machine runs, so code is made of nothing else.
//!
//! The data is `tables/seen/smNN.seen`, written by `orias-isa seen --write`; the build script makes
//! bytes of it. It is kept by *group*: an opcode with the words that all instructions of a row have
//! (`WARPSYNC.EXCLUSIVE`). Of each group are known the kinds of its operands, all together
//! ([`Shape`]), and one by one: whether it had a guard, each word of each modifier field, each flag
//! and part of each operand, and each special register. Not every combination was seen.

use crate::form::{Form, ModField, SlotKind, match_mods};
use crate::rows::seen::{HEAD, OPERANDS, SECTIONS};
use orias_components::{Inst, Mod, Opcode, Operand, RegFile, RegFlags};
use std::fmt;

pub use crate::rows::seen::{FLAGS, KINDS};

/// The kinds of an instruction's operands: eight bits each, one more than the place in [`KINDS`],
/// the first operand lowest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Shape(pub u128);

impl Shape {
    /// The kinds of an instruction's first sixteen operands.
    pub fn of(inst: &Inst) -> Shape {
        let codes = inst.operands.iter().take(16).enumerate();
        Shape(codes.fold(0, |all, (i, o)| all | (kind(o) as u128 + 1) << (8 * i)))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for i in 0..16 {
            match (self.0 >> (8 * i) & 0xff) as usize {
                0 if i == 0 => f.write_str("none")?,
                0 => break,
                code => {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    f.write_str(KINDS.get(code - 1).copied().unwrap_or("?"))?;
                }
            }
        }
        Ok(())
    }
}

/// The place in [`KINDS`].
fn kind(operand: &Operand) -> usize {
    const CONSTANT: usize = 11;
    const ADDRESS: usize = 15;
    match operand {
        Operand::Reg(r) => match r.reg.file() {
            RegFile::R => 0,
            RegFile::UR => 1,
            RegFile::P => 2,
            RegFile::UP => 3,
            RegFile::B => 4,
        },
        Operand::Part(r, _) if r.reg.file() == RegFile::UR => 6,
        Operand::Part(..) => 5,
        // A place in the code, which linking fills in.
        Operand::Symbol { part: 2, .. } => 9,
        Operand::Imm(_) | Operand::Symbol { .. } => 7,
        Operand::Special(_) => 8,
        Operand::Block(_) | Operand::Addr(_) => 9,
        Operand::Desc(_) => 10,
        Operand::Const(c) if c.is_bindless() => CONSTANT + 3,
        Operand::Const(c) if c.base.is_zero() => CONSTANT,
        Operand::Const(c) => CONSTANT + if c.base.file() == RegFile::UR { 2 } else { 1 },
        Operand::Mem(m) => {
            let read = match m.sel {
                Mod::NONE => 0,
                Mod::U32 => 2,
                Mod::_64 => 4,
                _ => 6,
            };
            let base = usize::from(!m.base.reg.is_zero());
            let uniform = if m.uniform.reg.is_zero() { 0 } else { 8 };
            ADDRESS + read + base + uniform
        }
    }
}

/// How an instruction may be guarded, as bits of [`Group::guards`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Guarded {
    /// No guard.
    Always = 1,
    /// A guard that is not constant.
    If = 2,
    /// `@!PT`
    Never = 4,
}

impl Guarded {
    /// All, in the order of their bits.
    pub const ALL: [Guarded; 3] = [Guarded::Always, Guarded::If, Guarded::Never];

    /// How an instruction is guarded.
    pub fn of(inst: &Inst) -> Guarded {
        match (inst.guard.reg.is_zero(), inst.guard.negated) {
            (true, false) => Guarded::Always,
            (true, true) => Guarded::Never,
            _ => Guarded::If,
        }
    }

    /// As the data calls it.
    pub fn name(self) -> &'static str {
        match self {
            Guarded::Always => "always",
            Guarded::If => "if",
            Guarded::Never => "never",
        }
    }
}

/// The group of a form: its opcode and the words that it always has.
pub fn group(form: &Form) -> String {
    let mut name = form.op.name().to_string();
    for field in form.mods.iter().filter(|f| is_fixed(f)) {
        for word in field.options[0].words {
            name.push('.');
            name.push_str(word.name());
        }
    }
    name
}

fn is_fixed(field: &ModField) -> bool {
    field.options.len() == 1
}

/// What each field of an instruction shows, as the data calls it: `GE`, `MMIO.SYS`; a field that
/// shows nothing is `-` and what it could show first (`-U32`).
pub fn words(form: &Form, inst: &Inst) -> Vec<String> {
    let mut options = [0; 12];
    if !match_mods(form.mods, inst.mods.as_slice(), &mut options) {
        return Vec::new();
    }
    let fields = form.mods.iter().zip(options).filter(|(field, _)| !is_fixed(field));
    fields.map(|(field, chosen)| word(field, chosen as usize)).collect()
}

fn word(field: &ModField, chosen: usize) -> String {
    let (minus, words) = named(field, chosen);
    let words: Vec<_> = words.iter().map(|w| w.name()).collect();
    format!("{minus}{}", words.join("."))
}

/// What the name of an option begins with, and its words.
fn named(field: &ModField, chosen: usize) -> (&'static str, &'static [Mod]) {
    match field.options[chosen].words {
        [] => ("-", field.options.iter().map(|o| o.words).find(|w| !w.is_empty()).unwrap_or(&[])),
        shown => ("", shown),
    }
}

/// The flags of an operand that count.
pub fn flags(operand: &Operand) -> RegFlags {
    match operand {
        Operand::Reg(r) | Operand::Part(r, _) | Operand::Desc(r) => {
            r.flags.without(RegFlags::REUSE)
        }
        Operand::Const(c) => c.flags,
        _ => RegFlags::NONE,
    }
}

/// The part of an operand that has one.
pub fn part(operand: &Operand) -> Option<Mod> {
    match operand {
        Operand::Part(_, part) => Some(*part),
        _ => None,
    }
}

/// What of an instruction was not seen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum Unseen {
    /// No form of the table takes it: mnemonic and modifiers.
    #[error("{0}: no instruction of the table takes these operands")]
    Form(String),
    /// Its operands' kinds were never seen together.
    #[error("{group}: never seen with operands {shape}")]
    Shape {
        /// The group of its form: see [`group`].
        group: String,
        /// The kinds.
        shape: String,
    },
    /// The group was never seen guarded like that.
    #[error("{group}: never seen with guard `{guard}`")]
    Guard {
        /// The group of its form.
        group: String,
        /// As [`Guarded::name`] has it.
        guard: &'static str,
    },
    /// The group was never seen with a word.
    #[error("{group}: never seen with .{word}")]
    Word {
        /// The group of its form.
        group: String,
        /// The word, or words, of one modifier field.
        word: String,
    },
    /// An operand was never seen with a flag, a part or a special register.
    #[error("{group}: operand {operand} was never seen with {what}")]
    Operand {
        /// The group of its form.
        group: String,
        /// The operand's place.
        operand: usize,
        /// What of it was not seen.
        what: String,
    },
}

/// What was seen on an SM: the sections of the bytes that `table/seen.rs` writes.
#[derive(Debug)]
pub struct Seen {
    /// By form.
    heads: &'static [[u8; HEAD]],
    sets: &'static [[u8; 16]],
    parts: &'static [[u8; 4]],
    /// By opcode and operand: a bit for each kind that was seen there.
    kinds: &'static [[[u8; 4]; OPERANDS]],
}

/// What was seen of one form.
#[derive(Clone, Copy)]
struct FormSeen {
    head: &'static [u8; HEAD],
    shapes: &'static [[u8; 16]],
    /// For each field of the form's modifiers its options, a bit each.
    options: &'static [[u8; 16]],
    /// Operand and part.
    parts: &'static [[u8; 4]],
}

impl FormSeen {
    /// Flags of an operand: [`RegFlags`] without the reuse hint.
    fn flags(self, operand: usize) -> u8 {
        self.head[32 + operand]
    }

    fn has_special(self, number: u8) -> bool {
        self.head[number as usize / 8] >> (number % 8) & 1 != 0
    }

    /// Bits of [`Guarded`].
    fn guards(self) -> u8 {
        self.head[61]
    }

    fn has_part(self, operand: usize, part: Mod) -> bool {
        let part = (part as u16).to_le_bytes();
        self.parts.contains(&[operand as u8, 0, part[0], part[1]])
    }
}

impl Seen {
    /// From the bytes; None where there are none.
    pub(crate) fn read(mut bytes: &'static [u8]) -> Result<Option<Seen>, String> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let short = || "what was seen ends too early".to_string();
        let (lengths, rest) = bytes.split_at_checked(4 * SECTIONS).ok_or_else(short)?;
        bytes = rest;
        let mut sections = [&[][..]; SECTIONS];
        for (section, length) in sections.iter_mut().zip(lengths.as_chunks().0) {
            let length = u32::from_le_bytes(*length) as usize;
            (*section, bytes) = bytes.split_at_checked(length).ok_or_else(short)?;
        }
        let [heads, sets, parts, kinds] = sections;
        Ok(Some(Seen {
            heads: heads.as_chunks().0,
            sets: sets.as_chunks().0,
            parts: parts.as_chunks().0,
            kinds: kinds.as_chunks().0.as_chunks().0,
        }))
    }

    /// Whether some instruction with the opcode was seen with an operand of this kind at this
    /// place.
    pub fn may_take(&self, op: Opcode, at: usize, operand: &Operand) -> bool {
        let kinds = self.kinds[op as usize].get(at);
        kinds.is_none_or(|kinds| u32::from_le_bytes(*kinds) >> kind(operand) & 1 != 0)
    }

    fn form(&self, form: &Form) -> FormSeen {
        let head = &self.heads[form.index as usize];
        let long =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]) as usize;
        let (shapes, options) =
            self.sets[long(48) as usize..][..short(52) + short(54)].split_at(short(52));
        let parts = &self.parts[long(56) as usize..][..head[60] as usize];
        FormSeen { head, shapes, options, parts }
    }

    /// Whether the kinds of the operands were seen together with the words of the form's group, and
    /// each flag, part and special register.
    pub fn takes(&self, form: &Form, inst: &Inst) -> bool {
        self.first_unseen(form, inst, false).is_none()
    }

    /// Whether the form's group was seen guarded as the instruction is.
    pub fn takes_guard(&self, form: &Form, inst: &Inst) -> bool {
        self.form(form).guards() & Guarded::of(inst) as u8 != 0
    }

    /// What of an instruction was never seen: the first thing found, its guard last.
    pub fn unseen(&self, form: &Form, inst: &Inst) -> Option<Unseen> {
        self.first_unseen(form, inst, true).map(|what| what.name(form, inst))
    }

    fn first_unseen(&self, form: &Form, inst: &Inst, guard: bool) -> Option<What> {
        let seen = self.form(form);
        if !seen.shapes.contains(&Shape::of(inst).0.to_le_bytes()) {
            return Some(What::Shape);
        }
        let mut options = [0; 12];
        if match_mods(form.mods, inst.mods.as_slice(), &mut options) {
            let has = |(all, option): (&[u8; 16], u8)| u128::from_le_bytes(*all) >> option & 1 != 0;
            let fields = seen.options.iter().zip(options);
            if let Some(i) = fields.enumerate().find(|(_, field)| !has(*field)) {
                return Some(What::Word(i.0));
            }
        }
        for (i, operand) in inst.operands.iter().enumerate().take(16) {
            let flags = flags(operand).0 & !seen.flags(i);
            if flags != 0 {
                return Some(What::Flag(i, flags));
            }
            match operand {
                Operand::Part(_, part) if !seen.has_part(i, *part) => return Some(What::Part(i)),
                Operand::Special(n)
                    if matches!(form.slots[i].kind, SlotKind::Special { .. })
                        && !seen.has_special(*n) =>
                {
                    return Some(What::Special(i));
                }
                _ => {}
            }
        }
        (guard && !self.takes_guard(form, inst)).then_some(What::Guard)
    }
}

/// What was not seen, before it is put into words.
#[derive(Clone, Copy)]
enum What {
    Shape,
    /// The field.
    Word(usize),
    /// Operand and flags.
    Flag(usize, u8),
    Part(usize),
    Special(usize),
    Guard,
}

impl What {
    fn name(self, form: &Form, inst: &Inst) -> Unseen {
        let group = group(form);
        let operand =
            |operand: usize, what: String| Unseen::Operand { group: group.clone(), operand, what };
        match self {
            What::Shape => Unseen::Shape { shape: Shape::of(inst).to_string(), group },
            What::Guard => Unseen::Guard { group, guard: Guarded::of(inst).name() },
            What::Word(field) => {
                let mut options = [0; 12];
                match_mods(form.mods, inst.mods.as_slice(), &mut options);
                let word = word(&form.mods[field], options[field] as usize);
                Unseen::Word { group, word }
            }
            What::Flag(i, flags) => {
                let named = FLAGS.iter().filter(|(_, bit)| flags & bit != 0);
                operand(i, format!("`{}`", named.map(|(name, _)| name).collect::<String>()))
            }
            What::Part(i) => {
                let part = part(&inst.operands[i]).map_or("", Mod::name);
                operand(i, format!("part `{part}`"))
            }
            What::Special(i) => operand(i, format!("{:?}", inst.operands[i])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_told_from_what_was_not() {
        let target = crate::target("sm_90").expect("a target");
        let seen = target.seen().expect("somebody has looked");
        let known: Vec<_> = target.table().forms().filter(|f| seen.form(f).guards() != 0).collect();
        assert!(known.len() > 500, "{}", known.len());
        for form in known {
            let seen = seen.form(form);
            assert_eq!(seen.options.len(), form.mods.len(), "{}", group(form));
            assert!(!seen.shapes.is_empty(), "{}", group(form));
            for (field, options) in form.mods.iter().zip(seen.options) {
                let beyond = u128::from_le_bytes(*options).checked_shr(field.options.len() as u32);
                assert_eq!(beyond.unwrap_or(0), 0, "{} of {}", field.name, group(form));
            }
        }
        let acqbulk = target.table().forms_of(Opcode::ACQBULK).next().expect("a row");
        assert_eq!(seen.form(acqbulk).guards(), Guarded::Always as u8);
    }

    #[test]
    fn flags_have_the_bits_that_operands_have() {
        use RegFlags as F;
        let ours = [F::NEG, F::ABS, F::NOT, F::NEG_A, F::NEG_B, F::TNSP_A, F::TNSP_B];
        assert_eq!(FLAGS.map(|(_, bit)| bit), ours.map(|flag| flag.0));
    }
}
