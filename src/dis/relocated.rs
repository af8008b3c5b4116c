//! What relocations put into instructions, as nvdisasm 13.5.37 prints it (observed on ptxas's
//! objects and executables).

use super::code::{Code, WORD};
use super::labels::{Labels, label};
use crate::elf::read::Relocation;
use crate::elf::relocation::RelocKind;
use orias_targets::text::hex;
use rustc_hash::FxHashMap;

/// `STT_FUNC`
const FUNCTION: u8 = 2;

/// Texts by byte offset of the instruction.
pub(super) type Texts = FxHashMap<u64, String>;

/// The texts of every section's relocations. Places in functions that they name get their labels,
/// before all others.
pub(super) fn texts(code: &Code<'_>, labels: &mut Labels<'_>) -> Vec<Texts> {
    let Some(cubin) = &code.cubin else { return vec![Texts::default(); code.parts.len()] };
    let section_of: FxHashMap<usize, usize> =
        cubin.functions.iter().enumerate().map(|(i, f)| (f.section, i)).collect();
    let texts = cubin.functions.iter().map(|function| {
        let mut relocations = cubin.sections[function.section].relocations.clone();
        relocations.sort_by_key(|r| r.offset);
        let mut texts = Texts::default();
        for relocation in relocations {
            let at = relocation.offset - relocation.offset % WORD as u64;
            let symbol = &cubin.symbols[relocation.symbol];
            let section = section_of.get(&usize::from(symbol.section)).copied();
            let section = section.filter(|_| symbol.kind == FUNCTION);
            let value = value(&relocation, symbol.name, symbol.value, section, labels);
            if let Some(text) = text(relocation.kind, &value) {
                texts.insert(at, text);
            }
        }
        texts
    });
    texts.collect()
}

/// `name`, `(name + 0x4)`, or `(name + .L_x_0@srel)` for a place in the text section of a function.
fn value(
    relocation: &Relocation,
    name: &str,
    address: u64,
    section: Option<usize>,
    labels: &mut Labels<'_>,
) -> String {
    let Some(addend) = relocation.addend.filter(|a| *a != 0) else { return name.into() };
    let mut out = format!("({name} + ");
    let place = address.wrapping_add_signed(addend);
    let number = section.and_then(|section| {
        labels.name(section, place).then(|| labels.sections[section].number(place))?
    });
    match number {
        Some(number) => {
            label(&mut out, number);
            out.push_str("@srel");
        }
        None => {
            if addend < 0 {
                out.push('-');
            }
            hex(&mut out, addend.unsigned_abs());
        }
    }
    out.push(')');
    out
}

/// The text for one type of relocation; none for those that do not show in instructions.
fn text(kind: RelocKind, value: &str) -> Option<String> {
    let name = kind.name()?.strip_prefix("R_CUDA_")?;
    let unified = name.starts_with("UNIFIED");
    let value = if unified { &format!("fun@unified({value})") } else { value };
    if name.contains("32_LO_32") {
        Some(format!("32@lo({value})"))
    } else if name.contains("32_HI_32") {
        Some(format!("32@hi({value})"))
    } else if name.starts_with("ABS") || name.starts_with("CONST_FIELD") || unified {
        Some(format!("`({value})"))
    } else {
        None
    }
}
