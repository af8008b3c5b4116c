//! What the table does not know: for an accepted instance of each form, every bit that no field
//! owns is flipped and every value that a field does not list is tried, and the reference
//! disassembler is asked what it makes of the word.

use crate::random::{Random, fields, instance};
use crate::words;
use orias_targets::Target;
use orias_targets::form::{Form, SlotKind};
use orias_targets::text::{Numeric, instruction};
use std::collections::BTreeMap;
use std::path::Path;

/// Opcode number, guard, control: not probed.
const SKIP: u128 = 0xffff | ((1u128 << 23) - 1) << 105;

/// A word that the disassembler accepts and the table does not explain.
pub struct Finding {
    pub row: &'static str,
    /// `bit 78`, or a field and its value.
    pub what: String,
    pub word: u128,
    pub base: String,
    pub reference: String,
}

/// An accepted instance of a form, and its text.
struct Base {
    form: &'static Form,
    word: u128,
    text: String,
}

/// Instances that nvdisasm reads as we do: up to `wanted` of each form.
fn bases(
    target: &Target,
    nvdisasm: &Path,
    forms: &[&'static Form],
    wanted: usize,
) -> (Vec<Base>, Vec<&'static str>) {
    let mut random = Random(1);
    let mut tries = Vec::new();
    for form in forms {
        for round in 0..24 {
            let pc = 16 * tries.len() as u64;
            let mut inst = instance(target, &mut random, form, pc, round);
            inst.guard = orias_components::Guard::ALWAYS;
            if let Ok(word) = target.encode(&inst, pc) {
                let text = target.decode(word, pc).map(|i| instruction(target, &i, &Numeric));
                tries.push((*form, word, text.unwrap_or_default()));
            }
        }
    }
    let list: Vec<u128> = tries.iter().map(|t| t.1).collect();
    let texts = words::texts(nvdisasm, &words::machine(target.name), &list);
    let mut found: BTreeMap<u16, Vec<Base>> = BTreeMap::new();
    for ((form, word, ours), theirs) in tries.into_iter().zip(texts) {
        let list = found.entry(form.index).or_default();
        if list.len() < wanted && theirs.as_ref() == Some(&ours) {
            list.push(Base { form, word, text: ours });
        }
    }
    let lost = forms.iter().filter(|f| found.get(&f.index).is_none_or(Vec::is_empty));
    let lost = lost.map(|f| f.row).collect();
    (found.into_values().flatten().collect(), lost)
}

/// An instruction's text without the number of a branch target: that depends on where it stands.
fn without_target(text: &str) -> String {
    let parts =
        text.split("0x").map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    parts.collect()
}

/// What nvdisasm accepts that the forms do not explain; and the rows of which no instance was
/// accepted.
pub fn probe(
    target: &Target,
    nvdisasm: &Path,
    forms: &[&'static Form],
) -> (Vec<Finding>, Vec<&'static str>) {
    let (bases, lost) = bases(target, nvdisasm, forms, 2);
    let mut asked: Vec<(usize, String, u128)> = Vec::new();
    for (at, base) in bases.iter().enumerate() {
        for bit in 0..128 {
            let mask = 1u128 << bit;
            if base.form.fixed_mask & mask & !SKIP != 0 {
                asked.push((at, format!("bit {bit}"), base.word ^ mask));
            }
        }
        for field in fields(base.form).filter(|f| f.bits.width() > 0) {
            for value in 0..=field.bits.max() {
                if field.options.iter().all(|o| u64::from(o.value) != value) {
                    let word = field.bits.put(base.word & !field.bits.word_mask(), value);
                    asked.push((
                        at,
                        format!("{} {:?} = {value}", field.name, field.bits.pieces),
                        word,
                    ));
                }
            }
        }
    }
    let list: Vec<u128> = asked.iter().map(|a| a.2).collect();
    let texts = words::texts(nvdisasm, &words::machine(target.name), &list);
    let mut findings = Vec::new();
    for (i, ((at, what, word), theirs)) in asked.into_iter().zip(texts).enumerate() {
        let Some(reference) = theirs else { continue };
        // Reserved values, and bits that the disassembler does not look at.
        let target_slot = |s: &orias_targets::Slot| matches!(s.kind, SlotKind::Target { .. });
        let relative = bases[at].form.slots.iter().any(target_slot);
        let said = |text: &str| if relative { without_target(text) } else { text.to_string() };
        if reference.contains("???")
            || reference.contains("INVALID")
            || said(&reference) == said(&bases[at].text)
        {
            continue;
        }
        let pc = 16 * i as u64;
        let ours = target.decode(word, pc).map(|inst| instruction(target, &inst, &Numeric));
        // A row whose constant bits differ only where the disassembler does not look.
        let forced = target.table().forms().any(|form| {
            (form.fixed ^ word) & 0xfff == 0
                && target
                    .decode(word & !form.fixed_mask | form.fixed, pc)
                    .is_ok_and(|inst| instruction(target, &inst, &Numeric) == reference)
        });
        if !forced && ours.ok().as_ref() != Some(&reference) {
            let (row, base) = (bases[at].form.row, bases[at].text.clone());
            findings.push(Finding { row, what, word, base, reference });
        }
    }
    (findings, lost)
}

/// Opcode numbers (low twelve bits) that no form has and for which nvdisasm accepts a word of a
/// simple shape.
pub fn opcodes(target: &Target, nvdisasm: &Path) -> Vec<(u16, u128, String)> {
    let known: Vec<u16> = target.table().forms().map(|f| f.fixed as u16 & 0xfff).collect();
    let base = 7u128 << 12 | 1 << 105 | 7 << 110 | 7 << 113;
    let predicates: [u128; 3] = [0, 7 << 87, 7 << 81 | 7 << 84 | 7 << 87];
    let selectors: [u128; 6] = [0, 1 << 72, 1 << 73, 2 << 73, 1 << 75, 1 << 76];
    let mut asked = Vec::new();
    for number in (0u16..4096).filter(|n| !known.contains(n)) {
        for p in predicates {
            for s in selectors {
                for uniform in [0, 1 << 91] {
                    asked.push((number, number as u128 | base | p | s | uniform));
                }
            }
        }
    }
    let list: Vec<u128> = asked.iter().map(|a| a.1).collect();
    let texts = words::texts(nvdisasm, &words::machine(target.name), &list);
    let mut found: BTreeMap<(u16, String), (u128, String)> = BTreeMap::new();
    for ((number, word), text) in asked.into_iter().zip(texts) {
        if let Some(text) = text.filter(|t| !t.contains("INVALID")) {
            let name = crate::coverage::mnemonic(&text).split('.').next().unwrap_or("").to_string();
            found.entry((number, name)).or_insert((word, text));
        }
    }
    found.into_iter().map(|((number, _), (word, text))| (number, word, text)).collect()
}
