//! Which instructions ptxas was seen to emit on an SM: what a disassembler reads is no proof of what the machine runs, so code
//! is made of nothing else.
//!
//! The data is `tables/seen/smNN.seen`, written by `orias-isa seen --write`; the build script makes constants of it. It is
//! kept by *group*: an opcode with the words that all instructions of a row have (`WARPSYNC.EXCLUSIVE`). Of each group are
//! known the kinds of its operands, all together ([`Shape`]), and one by one: whether it had a guard, each word of each
//! modifier field, each flag and part of each operand, and each special register. Not every combination was seen.

#[path = "table/shape.rs"]
mod shape;

use crate::form::{Form, ModField, SlotKind};
use crate::target::Table;
use orias_components::{Inst, Mod, Opcode, Operand, RegFile, RegFlags};
use std::fmt;
use std::sync::OnceLock;

pub use shape::{FLAGS, KINDS};

/// A group as the build script writes it.
#[derive(Debug)]
pub struct Group {
    pub name: &'static str,
    pub shapes: &'static [u128],
    pub guards: u8,
    pub words: &'static [&'static str],
    /// Operand and flag: [`RegFlags`] without the reuse hint.
    pub flags: &'static [(u8, u8)],
    /// Operand and part; empty for the whole.
    pub parts: &'static [(u8, &'static str)],
    /// Names of special registers.
    pub specials: &'static [&'static str],
}

mod data {
    use super::Group;
    include!(concat!(env!("OUT_DIR"), "/seen.rs"));
}

/// The kinds of an instruction's operands: eight bits each, one more than the place in [`KINDS`], the first operand lowest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Shape(pub u128);

impl Shape {
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
    Always = 1,
    If = 2,
    /// `@!PT`
    Never = 4,
}

impl Guarded {
    pub const ALL: [Guarded; 3] = [Guarded::Always, Guarded::If, Guarded::Never];

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

/// What each field of an instruction shows, as the data calls it: `GE`, `MMIO.SYS`; a field that shows nothing is `-` and what
/// it could show first (`-U32`).
pub fn words(form: &Form, inst: &Inst) -> Vec<String> {
    let mut options = [0; 12];
    if !crate::encode::match_mods(form.mods, inst.mods.as_slice(), &mut options) {
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

/// Whether the data has the option by its name among these.
fn is_among(names: &[&str], field: &ModField, chosen: usize) -> bool {
    let (minus, words) = named(field, chosen);
    let len = words.iter().map(|w| w.name().len() + 1).sum::<usize>().saturating_sub(1);
    let is_name = |name: &str| {
        let text =
            words.iter().enumerate().try_fold(name.strip_prefix(minus), |rest, (i, word)| {
                let rest = if i > 0 { rest?.strip_prefix('.')? } else { rest? };
                Some(rest.strip_prefix(word.name()))
            });
        text.flatten() == Some("")
    };
    names.iter().filter(|name| name.len() == minus.len() + len).any(|name| is_name(name))
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
    #[error("{0}: no instruction of the table takes these operands")]
    Form(String),
    #[error("{group}: never seen with operands {shape}")]
    Shape { group: String, shape: String },
    #[error("{group}: never seen with guard `{guard}`")]
    Guard { group: String, guard: &'static str },
    #[error("{group}: never seen with .{word}")]
    Word { group: String, word: String },
    #[error("{group}: operand {operand} was never seen with {what}")]
    Operand { group: String, operand: usize, what: String },
}

/// What was seen of one form.
#[derive(Clone, Debug, Default)]
struct FormSeen {
    shapes: &'static [u128],
    guards: u8,
    /// For each field of the form's modifiers its options, a bit each.
    words: Vec<u128>,
    flags: [u8; 16],
    parts: &'static [(u8, &'static str)],
    /// Special registers by number.
    specials: [u128; 2],
}

/// What was seen on an SM, by form.
#[derive(Debug)]
pub struct Seen {
    groups: &'static [Group],
    specials: Vec<(u8, &'static str)>,
    /// Each made when its form is first asked for: a kernel uses few of them.
    forms: Vec<OnceLock<Box<FormSeen>>>,
    /// By opcode and operand: a bit for each kind that was seen there.
    kinds: Vec<OnceLock<[u32; 16]>>,
}

const _: () = assert!(KINDS.len() <= 32, "a bit for each kind");

impl Seen {
    /// Of an SM whose data there is.
    pub(crate) fn of(sm: u32, table: &Table) -> Option<Seen> {
        let groups = data::ALL.iter().find(|(of, _)| *of == sm)?.1;
        let forms = (0..table.len()).map(|_| OnceLock::new()).collect();
        let kinds = vec![OnceLock::new(); Opcode::LIST.len()];
        Some(Seen { groups, specials: table.specials().to_vec(), forms, kinds })
    }

    /// Whether some instruction with the opcode was seen with an operand of this kind at this place.
    pub fn may_take(&self, op: Opcode, at: usize, operand: &Operand) -> bool {
        let kinds = self.kinds[op as usize].get_or_init(|| self.kinds_of(op));
        kinds.get(at).is_none_or(|kinds| kinds >> kind(operand) & 1 != 0)
    }

    fn kinds_of(&self, op: Opcode) -> [u32; 16] {
        let first = self.groups.partition_point(|g| g.name < op.name());
        let is_of_op = |g: &&Group| g.name.split('.').next() == Some(op.name());
        let mut kinds = [0; 16];
        for shape in self.groups[first..].iter().take_while(is_of_op).flat_map(|g| g.shapes) {
            for (i, kinds) in kinds.iter_mut().enumerate() {
                let code = (shape >> (8 * i) & 0xff) as u32;
                *kinds |= if code == 0 { 0 } else { 1 << (code - 1) };
            }
        }
        kinds
    }

    fn form(&self, form: &Form) -> &FormSeen {
        self.forms[form.index as usize].get_or_init(|| Box::new(self.read(form)))
    }

    fn read(&self, form: &Form) -> FormSeen {
        let name = group(form);
        let Ok(at) = self.groups.binary_search_by(|g| g.name.cmp(name.as_str())) else {
            return FormSeen::default();
        };
        let group = &self.groups[at];
        let mut seen = FormSeen {
            shapes: group.shapes,
            guards: group.guards,
            parts: group.parts,
            ..FormSeen::default()
        };
        for field in form.mods {
            let options = (0..field.options.len())
                .filter(|i| is_fixed(field) || is_among(group.words, field, *i));
            seen.words.push(options.fold(0, |all, i| all | 1 << i));
        }
        for (operand, flags) in group.flags {
            seen.flags[*operand as usize] |= flags;
        }
        for name in group.specials {
            let number = self.specials.iter().find(|(_, s)| s == name).map(|(n, _)| *n);
            let number = number.or_else(|| name.strip_prefix("SR")?.parse().ok());
            if let Some(n) = number {
                seen.specials[n as usize / 128] |= 1 << (n % 128);
            }
        }
        seen
    }

    /// Whether the kinds of the operands were seen together with the words of the form's group, and each flag, part and
    /// special register.
    pub fn takes(&self, form: &Form, inst: &Inst) -> bool {
        self.first_unseen(form, inst, false).is_none()
    }

    /// Whether the form's group was seen guarded as the instruction is.
    pub fn takes_guard(&self, form: &Form, inst: &Inst) -> bool {
        self.form(form).guards & Guarded::of(inst) as u8 != 0
    }

    /// What of an instruction was never seen: the first thing found, its guard last.
    pub fn unseen(&self, form: &Form, inst: &Inst) -> Option<Unseen> {
        self.first_unseen(form, inst, true).map(|what| what.name(form, inst))
    }

    fn first_unseen(&self, form: &Form, inst: &Inst, guard: bool) -> Option<What> {
        let seen = self.form(form);
        if !seen.shapes.contains(&Shape::of(inst).0) {
            return Some(What::Shape);
        }
        let mut options = [0; 12];
        if crate::encode::match_mods(form.mods, inst.mods.as_slice(), &mut options) {
            let fields = seen.words.iter().zip(options);
            if let Some(i) = fields.enumerate().find(|(_, (w, o))| **w >> o & 1 == 0) {
                return Some(What::Word(i.0));
            }
        }
        for (i, operand) in inst.operands.iter().enumerate().take(16) {
            let flags = flags(operand).0 & !seen.flags[i];
            if flags != 0 {
                return Some(What::Flag(i, flags));
            }
            match operand {
                Operand::Part(_, part)
                    if !seen.parts.iter().any(|p| *p == (i as u8, part.name())) =>
                {
                    return Some(What::Part(i));
                }
                Operand::Special(n)
                    if matches!(form.slots[i].kind, SlotKind::Special { .. })
                        && seen.specials[*n as usize / 128] >> (n % 128) & 1 == 0 =>
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
                crate::encode::match_mods(form.mods, inst.mods.as_slice(), &mut options);
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
    fn an_option_has_the_name_that_it_is_looked_for_by() {
        let table = crate::target("sm_90").expect("a target").table();
        for field in table.forms().flat_map(|form| form.mods) {
            for at in 0..field.options.len() {
                let name = word(field, at);
                let others = [&name[1..], &format!("{name}."), &name.replace('.', "-"), ""];
                let others: Vec<&str> = others.into_iter().filter(|n| **n != *name).collect();
                assert!(!is_among(&others, field, at), "{name}");
                assert!(is_among(&[others[0], &name], field, at), "{name}");
            }
        }
    }

    #[test]
    fn flags_have_the_bits_that_operands_have() {
        use RegFlags as F;
        let ours = [F::NEG, F::ABS, F::NOT, F::NEG_A, F::NEG_B, F::TNSP_A, F::TNSP_B];
        assert_eq!(FLAGS.map(|(_, bit)| bit), ours.map(|flag| flag.0));
    }
}
