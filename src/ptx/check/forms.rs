//! Which instructions there are: names, types and modifiers that go together, what may stand as each operand, and since which
//! PTX version and SM. All of it is data (`forms.tbl`), learned by asking ptxas 13.0.88 for sm_90a; the header of that file says
//! how it reads. What a modifier's order is does not matter, except of types, state spaces and layouts among themselves.
//!
//! An instruction's words are looked up once a module: [`Known`] remembers them by their text.

use super::Checker;
use super::rules::Case;
use crate::ptx::ast::{self, Expr};
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::{AddressBase, Operand, Special, Variable};
use crate::ptx::target::Sm;
use crate::ptx::types::{Space, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::LazyLock;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(include_str!("forms.tbl")));

/// The text, cut to lines.
struct Table {
    /// Lines of each name: `mad.wide`, `ld`.
    names: FxHashMap<&'static str, Vec<&'static str>>,
    /// Words in the longest name.
    longest: usize,
    /// Modifiers that may stand twice.
    twice: Vec<&'static str>,
    /// Modifiers that count for nothing where an instruction has none of the name.
    ignored: Vec<&'static str>,
    /// Beginnings of names whose forms are not all known.
    unfinished: Vec<&'static str>,
    masks: Vec<u64>,
    /// Operands of forms, as text.
    operands: Vec<&'static str>,
}

/// What is known of one spelling of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// Operands by their number in the table; the first PTX version (63 is 6.3) and SM (91 is sm_90a).
    Right { operands: u32, version: u32, sm: u32 },
    /// The table says nothing of it.
    Unknown,
}

/// Spellings met in a module, by the text of opcode and modifiers.
pub(super) type Known<'s> = FxHashMap<&'s str, Form>;

impl Table {
    fn new(text: &'static str) -> Table {
        let mut table = Table {
            names: FxHashMap::default(),
            longest: 1,
            twice: Vec::new(),
            ignored: Vec::new(),
            unfinished: Vec::new(),
            masks: Vec::new(),
            operands: Vec::new(),
        };
        let mut name = "";
        for line in text.lines() {
            match line.as_bytes().first() {
                Some(b'=') => {
                    name = &line[1..];
                    table.longest = table.longest.max(name.split('.').count());
                    table.names.insert(name, Vec::new());
                }
                Some(b'm') if name.is_empty() => {
                    table.masks.push(u64::from_str_radix(&line[1..], 16).unwrap_or(0));
                }
                Some(b'o') if name.is_empty() => table.operands.push(&line[1..]),
                Some(b't') if name.is_empty() => table.twice.push(&line[1..]),
                Some(b'i') if name.is_empty() => table.ignored.push(&line[1..]),
                Some(b'u') if name.is_empty() => table.unfinished.push(&line[1..]),
                Some(b'#') | None => {}
                Some(_) => {
                    if let Some(lines) = table.names.get_mut(name) {
                        lines.push(line);
                    }
                }
            }
        }
        table
    }
}

/// Modifiers that ptxas ignores on instructions that have none of the name.
pub(super) fn counts_for_nothing(word: &str) -> bool {
    TABLE.ignored.contains(&word)
}

/// Words that keep their order: types, layouts, state spaces, the two priorities of `createpolicy`, and operations on bits.
fn sequence(word: &str, opcode: &str) -> Option<usize> {
    if super::words::is_type(word) {
        return Some(0);
    }
    match word.split("::").next().unwrap_or(word) {
        "row" | "col" if matches!(opcode, "mma" | "wmma") => Some(1),
        "global" | "shared" | "local" | "const" | "param" => Some(2),
        "L2" if opcode == "createpolicy" && word.starts_with("L2::evict") => Some(3),
        "and" | "xor" | "popc" if matches!(opcode, "mma" | "wmma" | "wgmma") => Some(4),
        _ => None,
    }
}

const SEQUENCES: usize = 5;

/// An instruction's words in the table's order.
struct Words<'a> {
    name: String,
    sequences: [SmallVec<[&'a str; 4]>; SEQUENCES],
    flags: SmallVec<[&'a str; 8]>,
    /// A modifier that stands twice and may not.
    doubled: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn new(opcode: &'a str, modifiers: &[&'a str], table: &Table) -> Words<'a> {
        let mut name = opcode.to_string();
        let mut first = 0;
        let mut longer = name.clone();
        for (i, word) in modifiers.iter().take(table.longest - 1).enumerate() {
            longer.push('.');
            longer.push_str(word);
            if table.names.contains_key(longer.as_str()) {
                name.clone_from(&longer);
                first = i + 1;
            }
        }
        let mut words =
            Words { name, sequences: Default::default(), flags: SmallVec::new(), doubled: None };
        for word in &modifiers[first..] {
            match sequence(word, opcode) {
                Some(which) => words.sequences[which].push(word),
                None if !words.flags.contains(word) => words.flags.push(word),
                None if table.twice.contains(word) => {}
                None => words.doubled = Some(word),
            }
        }
        words
    }

    /// Whether a line's fields say this instruction: types, the other sequences, then sets of flags of which one, or none
    /// where `-` is among them, is there.
    fn is(&self, fields: &str) -> bool {
        let mut fields = fields.split(' ');
        for sequence in &self.sequences {
            let field = fields.next().unwrap_or("-");
            let same = |choice: &str| match choice {
                "-" => sequence.is_empty(),
                _ => choice.split('.').eq(sequence.iter().copied()),
            };
            if !field.split('|').any(same) {
                return false;
            }
        }
        let mut found = 0;
        for field in fields {
            let mut optional = false;
            let there = field.split('|').any(|choice| {
                optional |= choice == "-";
                self.flags.contains(&choice)
            });
            found += usize::from(there);
            if !there && !optional {
                return false;
            }
        }
        found == self.flags.len()
    }
}

impl<'s> Checker<'s> {
    /// Whether there is such an instruction, here and now, and its operands are of the right kind.
    pub(super) fn form(&mut self, case: &Case<'_, 's>) {
        let opcode = case.source.opcode;
        let end = case.source.modifiers.last().map_or(opcode.span.end, |word| word.span.end);
        let text = self.source.get(opcode.span.start as usize..end as usize).unwrap_or("");
        let form = match self.forms.get(text) {
            Some(form) => *form,
            None => match self.find_form(case) {
                Some(form) => {
                    self.forms.insert(text, form);
                    form
                }
                None => return,
            },
        };
        let Form::Right { operands, version, sm } = form else { return };
        self.form_gate(case, version, sm);
        // Their operands are checked to the last by their rows.
        if matches!(case.source.opcode.text, "ld" | "st" | "mov") {
            self.address_width(case);
            return;
        }
        let alternatives = TABLE.operands.get(operands as usize).copied().unwrap_or("");
        if !alternatives.split('/').any(|list| self.operands_fit(list, case)) {
            let message = super::rules::mismatch(&case.name());
            self.diagnostics.error(case.source.span, message);
            return;
        }
        self.address_width(case);
    }

    /// Looks the instruction up; None after an error.
    fn find_form(&mut self, case: &Case<'_, 's>) -> Option<Form> {
        let table = &*TABLE;
        let words = Words::new(case.source.opcode.text, &case.instruction.modifiers, table);
        // The table is of sm_90a: what later SMs have besides is not in it.
        let unfinished = table.unfinished.iter().any(|name| words.name.starts_with(name));
        if unfinished || Sm::parse(self.program.target).is_some_and(|sm| sm.number > 90) {
            return Some(Form::Unknown);
        }
        let span = case.source.opcode.span;
        if let Some(word) = words.doubled {
            let message = format!("Multiple modifiers '.{word}' specified");
            self.diagnostics.error(span, message);
            return None;
        }
        let Some(lines) = table.names.get(words.name.as_str()) else {
            let message = format!(
                "Instruction '{}' not supported on .target '{}'",
                words.name, self.program.target
            );
            self.diagnostics.error(span, message);
            return None;
        };
        let mut words = words;
        let has = |word: &str| {
            let fields = lines.iter().flat_map(|line| line.split(' ').skip(3));
            fields.flat_map(|field| field.split('|')).any(|choice| choice == word)
        };
        words.flags.retain(|word| !table.ignored.contains(word) || has(word));
        for line in lines {
            let mut parts = line.splitn(4, ' ');
            let mut number = || parts.next().and_then(|n| n.parse().ok()).unwrap_or(0);
            let (version, sm, operands) = (number(), number(), number());
            if words.is(parts.next().unwrap_or("")) {
                return Some(Form::Right { operands, version, sm });
            }
        }
        let diagnostic = self.no_form(case, &words, lines);
        self.diagnostics.push(diagnostic);
        None
    }

    /// Says what is wrong with an instruction whose words do not go together.
    fn no_form(&self, case: &Case<'_, 's>, words: &Words<'_>, lines: &[&str]) -> Diagnostic {
        let fields = |line: &'static str| line.split(' ').skip(3);
        let lines: Vec<&'static str> =
            TABLE.names.get(words.name.as_str()).into_iter().flatten().copied().collect::<Vec<_>>()
                [..lines.len()]
                .to_vec();
        let known = |word: &str| {
            lines.iter().any(|line| fields(line).any(|f| f.split(['|', '.']).any(|w| w == word)))
        };
        for word in &case.source.modifiers {
            if words.flags.contains(&word.text) && !known(word.text) {
                let message =
                    format!("Illegal modifier '.{}' for instruction '{}'", word.text, words.name);
                return Diagnostic::error(word.span, message);
            }
        }
        let types = |line: &&&'static str| {
            let field = fields(line).next().unwrap_or("-");
            field.split('|').any(|choice| match choice {
                "-" => words.sequences[0].is_empty(),
                _ => choice.split('.').eq(words.sequences[0].iter().copied()),
            })
        };
        let span = case.source.opcode.span;
        if lines.iter().any(|line| types(&line)) {
            let message = format!("Illegal modifiers for instruction '{}'", words.name);
            return Diagnostic::error(span, message)
                .note("these modifiers and state spaces do not go together, or one is missing");
        }
        let message = format!("Unexpected instruction types specified for '{}'", words.name);
        Diagnostic::error(span, message)
    }

    fn form_gate(&mut self, case: &Case<'_, 's>, version: u32, sm: u32) {
        let (major, minor) = self.program.version;
        let span = case.source.opcode.span;
        if major * 10 + minor < version {
            let message = format!(
                "Feature '{}' requires PTX ISA .version {}.{} or later",
                case.name(),
                version / 10,
                version % 10
            );
            self.diagnostics.error(span, message);
        }
        // Of several targets the lowest counts.
        let others = self.program.target_options.iter().filter_map(|word| Sm::parse(word));
        let all = Sm::parse(self.program.target).into_iter().chain(others);
        let Some(target) = all.min_by_key(|sm| sm.number) else { return };
        let family = sm % 10 == 1 && sm > 90;
        if family && target.suffix.is_none() {
            let message = format!(
                "Instruction '{}' not supported on .target '{}'",
                case.name(),
                self.program.target
            );
            self.diagnostics.error(span, message);
        } else if !family && target.number < sm {
            let message = format!("Feature '{}' requires .target sm_{sm} or higher", case.name());
            self.diagnostics.error(span, message);
        }
    }

    /// Whether the operands are those of one list of the table: `S3 A1 V4:5`.
    fn operands_fit(&self, list: &str, case: &Case<'_, 's>) -> bool {
        let operands = &case.instruction.operands;
        let mut count = 0;
        for slot in list.split(' ').filter(|slot| !slot.is_empty()) {
            let Some(operand) = operands.get(count) else { return false };
            if !self.operand_fits(slot, operand, &case.source.operands[count]) {
                return false;
            }
            count += 1;
        }
        count == operands.len()
    }

    fn operand_fits(&self, slot: &str, operand: &Operand, source: &ast::Operand<'s>) -> bool {
        let mask = |text: &str| {
            let number = text.parse::<usize>().ok();
            number.and_then(|n| TABLE.masks.get(n)).copied().unwrap_or(!0)
        };
        let (kind, rest) = slot.split_at(1);
        match kind {
            "S" => self.scalar(operand, source).is_some_and(|bit| mask(rest) >> bit & 1 != 0),
            "A" => match operand {
                Operand::Address { base, .. } => mask(rest) >> self.base_class(*base) & 1 != 0,
                _ => false,
            },
            "V" => {
                let (Operand::Vector(items), Some((count, elements))) =
                    (operand, rest.split_once(':'))
                else {
                    return false;
                };
                let mask = mask(elements);
                let sources: &[ast::Operand<'s>] = match source {
                    ast::Operand::Vector(sources, _) => sources,
                    _ => &[],
                };
                count.parse() == Ok(items.len())
                    && self.same_sizes(items)
                    && items.iter().enumerate().all(|(i, item)| {
                        let source = sources.get(i).unwrap_or(source);
                        self.scalar(item, source).is_some_and(|bit| mask >> bit & 1 != 0)
                    })
            }
            "P" => {
                let Operand::Pair(first, second) = operand else { return false };
                let ast::Operand::Pair(a, b) = source else { return false };
                let mask = mask(rest);
                self.scalar(first, a).is_some_and(|bit| mask >> bit & 1 != 0)
                    && self.scalar(second, b).is_some_and(|bit| mask >> (bit + 32) & 1 != 0)
            }
            "L" => {
                let Operand::AddressList(parts) = operand else { return false };
                let mut wanted = rest.split(',');
                let same = parts.iter().all(|part| match (wanted.next(), part) {
                    (Some("S"), Operand::Vector(_)) | (None, _) => false,
                    (Some("S"), _) => true,
                    (Some(vector), Operand::Vector(items)) => {
                        vector[1..].parse() == Ok(items.len())
                    }
                    (Some(_), _) => false,
                });
                same && wanted.next().is_none()
            }
            _ => true,
        }
    }

    /// Whether the registers among a vector's elements are of one size.
    fn same_sizes(&self, items: &[Operand]) -> bool {
        let function = &self.program.functions[self.function.0 as usize];
        let mut sizes = items.iter().filter_map(|item| match item {
            Operand::Reg(reg) | Operand::Element(reg, _) => {
                Some(function.regs[reg.0 as usize].ty.bits())
            }
            _ => None,
        });
        let first = sizes.next();
        sizes.all(|size| Some(size) == first)
    }

    /// Opcodes whose addresses in global and generic memory have 64 bits; some others take narrower registers. Observed:
    /// ptxas 13.0.88, which says so at the end.
    fn address_width(&mut self, case: &Case<'_, 's>) {
        const WIDE: [&str; 7] = ["ld", "st", "atom", "red", "ldu", "prefetch", "mbarrier"];
        if !WIDE.contains(&case.instruction.opcode) || case.instruction.has("async") {
            return;
        }
        for (operand, source) in case.instruction.operands.iter().zip(&case.source.operands) {
            if let Operand::Address { base, .. } = operand
                && self.base_class(*base) == 11
            {
                let message = format!("Illegal operand type to instruction '{}'", case.name());
                let diagnostic = Diagnostic::error(source.span(), message)
                    .note("textures and surfaces have no address here");
                self.diagnostics.push(diagnostic);
            }
        }
        let space = case.instruction.modifiers.iter().find(|word| sequence(word, "") == Some(2));
        if space.is_some_and(|space| *space != "global") {
            return;
        }
        for (operand, source) in case.instruction.operands.iter().zip(&case.source.operands) {
            let Operand::Address { base, .. } = operand else { continue };
            if self.base_class(*base) == 1 {
                let message = "32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher architectures.";
                let diagnostic = Diagnostic::error(source.span(), message)
                    .note("an address in global or generic memory has 64 bits");
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// The bit of what stands where one value is wanted (see the header of the table); None for what never does.
    fn scalar(&self, operand: &Operand, source: &ast::Operand<'s>) -> Option<u32> {
        if let ast::Operand::Expr(Expr::Const(value, _)) = source {
            return Some(if value.is_int() { 18 } else { 19 });
        }
        Some(match operand {
            Operand::Reg(reg) | Operand::Element(reg, _) => {
                let function = &self.program.functions[self.function.0 as usize];
                register_class(function.regs[reg.0 as usize].ty)
            }
            Operand::Int(_) => 18,
            Operand::F32(_) | Operand::F64(_) => 19,
            Operand::Special(Special::IsExplicitCluster) => 22,
            Operand::Special(special) if super::special::bits(*special) == 64 => 21,
            Operand::Special(_) => 20,
            Operand::Vector(items) => match (items.first(), source) {
                (Some(Operand::Special(_)), ast::Operand::Name(_)) => 23,
                _ => return None,
            },
            Operand::Sink => 24,
            Operand::NotReg(_) => 25,
            // Where parts of registers may stand, negated ones may.
            Operand::Neg(_) => 35,
            Operand::Var(var, _) => match &self.program.vars[var.0 as usize] {
                Variable { ty: Type::TexRef | Type::SamplerRef, .. } => 36,
                Variable { ty: Type::SurfRef, .. } => 37,
                Variable { space: Space::Shared, .. } => 28,
                Variable { space: Space::Local, .. } => 29,
                Variable { space: Space::Const, .. } => 30,
                Variable { space: Space::Param, .. } => 31,
                _ => 27,
            },
            Operand::Func(_) => 32,
            Operand::Label(_) => 33,
            Operand::BranchTargets(_) | Operand::CallTargets(_) | Operand::Prototype(_) => 34,
            Operand::Part(..) => 35,
            _ => return None,
        })
    }

    /// The bit of an address's base.
    fn base_class(&self, base: AddressBase) -> u32 {
        match base {
            AddressBase::Absolute => 10,
            AddressBase::Reg(reg) => {
                let function = &self.program.functions[self.function.0 as usize];
                match function.regs[reg.0 as usize].ty {
                    Type::B64 | Type::U64 | Type::S64 => 0,
                    Type::B32 | Type::U32 | Type::S32 => 1,
                    Type::F32 | Type::F16x2 => 3,
                    Type::Pred => 4,
                    Type::F64 => 14,
                    Type::B128 => 15,
                    _ => 2,
                }
            }
            AddressBase::Var(var) => match &self.program.vars[var.0 as usize] {
                Variable { ty: Type::TexRef | Type::SamplerRef | Type::SurfRef, .. } => 11,
                Variable { space: Space::Shared, .. } => 6,
                Variable { space: Space::Local, .. } => 7,
                Variable { space: Space::Const, .. } => 8,
                Variable { space: Space::Param, span, .. } if self.is_parameter(*span) => 9,
                Variable { space: Space::Param, .. } => 16,
                _ => 5,
            },
        }
    }
}

/// The bit of a register's type.
fn register_class(ty: Type) -> u32 {
    use Type::*;
    match ty {
        B8 => 0,
        U8 => 1,
        S8 => 2,
        B16 => 3,
        U16 => 4,
        S16 => 5,
        F16 => 6,
        B32 => 7,
        U32 => 8,
        S32 => 9,
        F32 => 10,
        F16x2 => 11,
        B64 => 12,
        U64 => 13,
        S64 => 14,
        F64 => 15,
        Pred => 16,
        B128 => 17,
        _ => 63,
    }
}
