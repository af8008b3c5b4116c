//! Names of places in the code, numbered as nvdisasm 13.5.37 does it (observed).
//!
//! A place has a number when something names it: first relocations of code, then branches in their
//! order, then the attributes of `.nv.info.K` (exits and so on), last the ends of functions. Where
//! a symbol stands, its name goes before the number.

use super::code::{Code, WORD};
use crate::elf::read::Symbol;
use orias_components::{Inst, Opcode, Operand};
use orias_targets::text::{Targets, decimal};

/// `STT_FUNC`
const FUNCTION: u8 = 2;
/// `STB_GLOBAL`
pub(super) const GLOBAL: u8 = 1;

/// The names in one text section.
#[derive(Debug, Default)]
pub(super) struct Places<'a> {
    /// By instruction, and one past the last: the label's number + 1, or 0.
    numbers: Vec<u32>,
    /// Functions by byte offset, in the order in which they are listed: offset, index in the symbol
    /// table, symbol.
    pub functions: Vec<(u64, usize, &'a Symbol<'a>)>,
    /// Indirect branches by byte offset, and their targets.
    pub branches: Vec<(u64, Vec<u64>)>,
}

impl Places<'_> {
    fn slot(&mut self, address: u64) -> Option<&mut u32> {
        if !address.is_multiple_of(WORD as u64) {
            return None;
        }
        self.numbers.get_mut(usize::try_from(address).ok()? / WORD)
    }

    /// The number of the label at a place.
    pub fn number(&self, address: u64) -> Option<u32> {
        let slot = self.numbers.get(usize::try_from(address).ok()? / WORD)?;
        slot.checked_sub(1).filter(|_| address.is_multiple_of(WORD as u64))
    }

    /// Functions that begin at a place.
    pub fn functions_at(&self, address: u64) -> &[(u64, usize, &Symbol<'_>)] {
        let start = self.functions.partition_point(|f| f.0 < address);
        let count = self.functions[start..].iter().take_while(|f| f.0 == address).count();
        &self.functions[start..start + count]
    }

    /// The function whose name stands for a place.
    fn function_at(&self, address: u64) -> Option<&Symbol<'_>> {
        let first = self.functions.get(self.functions.partition_point(|f| f.0 < address))?;
        (first.0 == address).then_some(first.2)
    }

    /// Writes the name of a place; false where it has none.
    pub fn write(&self, out: &mut String, address: u64) -> bool {
        if let Some(symbol) = self.function_at(address) {
            out.push_str(symbol.name);
            return true;
        }
        match self.number(address) {
            Some(number) => {
                label(out, number);
                true
            }
            None => false,
        }
    }
}

/// Writes `.L_x_5`.
pub(super) fn label(out: &mut String, number: u32) {
    out.push_str(".L_x_");
    decimal(out, number as u64);
}

/// The names of a file. Branches are named while their text is written.
#[derive(Debug, Default)]
pub(super) struct Labels<'a> {
    /// By part of the code.
    pub sections: Vec<Places<'a>>,
    next: u32,
}

impl<'a> Labels<'a> {
    /// The functions' names; no number yet.
    pub fn new(code: &'a Code<'a>) -> Labels<'a> {
        let section = |(index, part): (usize, &super::code::Part<'a>)| {
            let mut places = Places { numbers: vec![0; part.words.len() + 1], ..Places::default() };
            if let (Some(function), Some(cubin)) = (code.function(index), &code.cubin) {
                let inner = function.inner.iter().map(|f| f.symbol);
                let symbols = std::iter::once(function.symbol).chain(inner);
                let of = |i: usize| (cubin.symbols[i].value, i, &cubin.symbols[i]);
                places.functions = symbols.map(of).collect();
                places.functions.sort_by_key(|(at, index, s)| (*at, s.binding != GLOBAL, *index));
                for attribute in &function.attributes {
                    for (branch, targets) in attribute.indirect_branches() {
                        let targets = targets.into_iter().map(u64::from).collect();
                        places.branches.push((branch.into(), targets));
                    }
                }
                places.branches.sort_by_key(|b| b.0);
            }
            places
        };
        Labels { sections: code.parts.iter().enumerate().map(section).collect(), next: 0 }
    }

    /// Gives a place a number, unless it has one; false where no instruction stands.
    pub fn name(&mut self, section: usize, address: u64) -> bool {
        let next = self.next + 1;
        match self.sections.get_mut(section).and_then(|s| s.slot(address)) {
            Some(slot) if *slot == 0 => {
                *slot = next;
                self.next = next;
                true
            }
            Some(_) => true,
            None => false,
        }
    }

    /// The same, but a number is used up also where the place has one already.
    fn name_again(&mut self, section: usize, address: u64) {
        let next = self.next + 1;
        self.name(section, address);
        self.next = next;
    }

    /// Names what the attributes name; in objects, targets of indirect branches once more.
    pub fn attributes(&mut self, code: &Code<'_>) {
        let Some(cubin) = &code.cubin else { return };
        let mut order: Vec<(Option<usize>, usize)> = (0..code.parts.len())
            .map(|i| (cubin.section_index(&format!(".nv.info.{}", code.parts[i].name)), i))
            .collect();
        order.sort_unstable();
        for (_, section) in order {
            let attributes = code.function(section).map_or(&[][..], |f| &f.attributes);
            for place in attributes.iter().flat_map(|a| a.places()) {
                self.name_again(section, place.into());
            }
        }
        if cubin.file_type == super::code::OBJECT {
            let targets = self.sections.iter().flat_map(|s| &s.branches).map(|b| b.1.len() as u32);
            self.next += targets.sum::<u32>();
        }
    }

    /// Names the ends of functions, in the order of the symbol table.
    pub fn ends(&mut self, code: &Code<'_>) {
        let Some(cubin) = &code.cubin else { return };
        let mut section_of = vec![None; cubin.sections.len()];
        for (index, function) in cubin.functions.iter().enumerate() {
            section_of[function.section] = Some(index);
        }
        for symbol in cubin.symbols.iter().filter(|s| s.kind == FUNCTION && s.section != 0) {
            if let Some(Some(section)) = section_of.get(usize::from(symbol.section)) {
                self.name_again(*section, symbol.value.saturating_add(symbol.size));
            }
        }
    }
}

/// The door of the instruction text to the names of one section.
pub(super) struct Naming<'l, 'a> {
    /// Names that are given out as they are needed.
    pub labels: &'l mut Labels<'a>,
    /// The section that is printed, by index.
    pub section: usize,
    /// What a relocation puts in the instruction.
    pub relocation: Option<String>,
}

impl Naming<'_, '_> {
    /// In objects the base of an indirect branch is the section, written as a distance (observed).
    pub fn base(&mut self, function: &str, inst: &Inst, pc: u64) {
        let indirect = matches!(inst.op, Opcode::BRX | Opcode::BRXU);
        let base = Operand::Addr((pc + WORD as u64).wrapping_neg());
        if indirect && inst.operands.contains(&base) {
            self.labels.name(self.section, 0);
            self.relocation = Some(format!("`(((.text.{function} - .) - {WORD:#x}))"));
        }
    }
}

impl Targets for Naming<'_, '_> {
    fn place(&mut self, out: &mut String, address: u64) -> bool {
        let places = &self.labels.sections[self.section];
        if places.function_at(address).is_none() && !self.labels.name(self.section, address) {
            return false;
        }
        out.push_str("`(");
        self.labels.sections[self.section].write(out, address);
        out.push(')');
        true
    }

    fn relocated(&mut self, out: &mut String) -> bool {
        match self.relocation.take() {
            Some(text) => {
                out.push_str(&text);
                true
            }
            None => false,
        }
    }
}
