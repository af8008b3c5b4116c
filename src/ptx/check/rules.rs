//! Checks one instruction against its row of the table: known words, types, modifiers, and each operand's kind and size.
//!
//! A register fits a type of its own size when their kinds agree: integers with integers, a float with the same float, and a
//! `.b` register or type with anything. `ld`, `st` and `cvt` take wider registers too.

use super::table::{self, ROWS, Row, Slot, Ty};
use super::{Checker, words};
use crate::ptx::ast::{self, Expr};
use crate::ptx::constant::Const;
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::{AddressBase, Instruction, Operand, RegId, Special, Variable};
use crate::ptx::types::{Space, Span, Type, TypeKind};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Rows by opcode; an opcode without rows is known and unchecked.
static BY_OPCODE: LazyLock<FxHashMap<&'static str, Vec<&'static Row>>> = LazyLock::new(|| {
    let mut map: FxHashMap<&str, Vec<&Row>> = FxHashMap::default();
    for row in ROWS {
        map.entry(row.opcode).or_default().push(row);
    }
    for opcode in words::OPCODES {
        map.entry(opcode).or_default();
    }
    map
});

/// Why an operand does not fit: ptxas's message, and what was expected.
struct Misfit {
    message: String,
    note: String,
}

/// An instruction being checked.
struct Case<'a, 's> {
    instruction: &'a mut Instruction<'s>,
    source: &'a ast::Instruction<'s>,
    /// As ptxas names it in messages: `mul.wide`, `cvta.to`.
    name: String,
}

impl<'s> Checker<'s> {
    /// Reports what is wrong with the instruction; makes its literals what their operand's type wants.
    pub(super) fn check_instruction(
        &mut self,
        instruction: &mut Instruction<'s>,
        source: &ast::Instruction<'s>,
    ) {
        let opcode = source.opcode;
        let Some(rows) = BY_OPCODE.get(opcode.text) else {
            let message = format!("Not a name of any known instruction: '{}'", opcode.text);
            self.diagnostics
                .push(with_similar(Diagnostic::error(opcode.span, message), opcode.text));
            return;
        };
        let mut known = true;
        for word in &source.modifiers {
            if Type::parse(word.text).is_none() && !words::is_modifier(word.text) {
                self.diagnostics.error(word.span, format!("Unknown modifier '.{}'", word.text));
                known = false;
            }
        }
        if opcode.text == "call" && known {
            self.check_call(instruction, source);
        }
        if !known || rows.is_empty() {
            return;
        }
        let mut case = Case { name: display_name(source), instruction, source };
        if let Some(row) = self.choose(rows, &case)
            && self.modifiers(row, &case)
        {
            self.slots(row, &mut case);
        }
    }

    /// The row for the instruction's modifiers, types and number of operands.
    fn choose(&mut self, rows: &[&'static Row], case: &Case<'_, 's>) -> Option<&'static Row> {
        let has = |word: &&str| case.instruction.has(word);
        let mut by_words: Vec<&'static Row> =
            rows.iter().copied().filter(|row| row.when.iter().all(has)).collect();
        // The rows that ask for most are meant.
        let most = by_words.iter().map(|row| row.when.len()).max().unwrap_or(0);
        by_words.retain(|row| row.when.len() == most);
        if by_words.is_empty() {
            let wanted = rows.first().map_or("", |row| row.when.first().copied().unwrap_or(""));
            let message = format!("Modifier '.{wanted}' required for instruction '{}'", case.name);
            self.diagnostics.error(case.source.opcode.span, message);
            return None;
        }
        if case.instruction.opcode == "cvt"
            && case.instruction.modifiers.iter().any(|word| words::is_narrow_format(word))
        {
            return None;
        }
        let types = &case.instruction.types;
        let fits = |row: &&&'static Row| {
            row.types.len() == types.len()
                && row.types.iter().zip(types).all(|(set, ty)| set.has(*ty))
        };
        let count = case.source.operands.len();
        let takes = |row: &&&'static Row| {
            (row.slots.len() - usize::from(row.optional)..=row.slots.len()).contains(&count)
        };
        let found = by_words
            .iter()
            .find(|row| fits(row) && takes(row))
            .or_else(|| by_words.iter().find(fits))
            .copied();
        if found.is_none() {
            let message = format!("Unexpected instruction types specified for '{}'", case.name);
            let at = case.source.modifiers.iter().find(|word| Type::parse(word.text).is_some());
            self.diagnostics.error(at.map_or(case.source.opcode.span, |word| word.span), message);
        }
        found
    }

    /// Whether the modifiers besides types are allowed, and those that are needed are there.
    fn modifiers(&mut self, row: &Row, case: &Case<'_, 's>) -> bool {
        let mut right = true;
        if let Some(allowed) = row.modifiers {
            for word in &case.source.modifiers {
                let text = word.text;
                if Type::parse(text).is_none()
                    && !allowed.contains(&text)
                    && !row.when.contains(&text)
                {
                    let message =
                        format!("Illegal modifier '.{text}' for instruction '{}'", case.name);
                    self.diagnostics.error(word.span, message);
                    right = false;
                }
            }
        }
        if !row.needs.is_empty() && !row.needs.iter().any(|word| case.instruction.has(word)) {
            let message = format!("{} '{}'", row.missing, case.name);
            self.diagnostics.error(case.source.opcode.span, message);
            right = false;
        }
        let operands = case.source.operands.len();
        let opcode = case.instruction.opcode;
        if let Some(what) = table::boolean_missing(opcode, &case.instruction.modifiers, operands) {
            self.diagnostics.error(case.source.opcode.span, format!("{what} '{}'", case.name));
            right = false;
        }
        right
    }

    fn slots(&mut self, row: &Row, case: &mut Case<'_, 's>) {
        let count = case.source.operands.len();
        let least = row.slots.len() - usize::from(row.optional);
        if !(least..=row.slots.len()).contains(&count) {
            let expected = if least == row.slots.len() {
                format!("{least}")
            } else {
                format!("{least} to {}", row.slots.len())
            };
            let plural = if least == 1 && row.optional == 0 { "" } else { "s" };
            self.diagnostics.push(
                Diagnostic::error(case.source.span, mismatch(&case.name))
                    .note(format!("{expected} operand{plural} expected, {count} given")),
            );
            return;
        }
        for (i, slot) in row.slots.iter().take(count).enumerate() {
            let span = case.source.operands[i].span();
            if let Err(misfit) = self.slot(*slot, i, case) {
                self.diagnostics.push(Diagnostic::error(span, misfit.message).note(misfit.note));
            }
        }
        self.barrier_number(case);
    }

    fn slot(&mut self, slot: Slot, i: usize, case: &mut Case<'_, 's>) -> Result<(), Misfit> {
        match slot {
            Slot::Any => Ok(()),
            Slot::Dst(ty) => {
                self.destination(&case.instruction.operands[i], ty.of(case), false, case)
            }
            Slot::DstOrSink(_) if case.instruction.operands[i] == Operand::Sink => Ok(()),
            Slot::DstOrSink(ty) => {
                self.destination(&case.instruction.operands[i], ty.of(case), false, case)
            }
            Slot::WideDst(ty) => {
                self.destination(&case.instruction.operands[i], ty.of(case), true, case)
            }
            Slot::Src(ty) => self.source_slot(i, ty.of(case), false, case),
            Slot::WideSrc(ty) => self.source_slot(i, ty.of(case), true, case),
            Slot::DstPair(ty) => match &case.instruction.operands[i] {
                Operand::Pair(first, second) => {
                    if **first != Operand::Sink {
                        self.destination(first, ty.of(case), false, case)?;
                    }
                    self.written_predicate(second, case)
                }
                operand => self.destination(operand, ty.of(case), false, case),
            },
            Slot::DstPreds => match &case.instruction.operands[i] {
                Operand::Pair(first, second) => {
                    self.written_predicate(first, case)?;
                    self.written_predicate(second, case)
                }
                operand => self.written_predicate(operand, case),
            },
            Slot::Pred => match &case.instruction.operands[i] {
                Operand::Reg(reg) | Operand::NotReg(reg) => {
                    self.register_fits(*reg, Type::Pred, false, case)
                }
                Operand::Int(_) if case.integer(i) => Ok(()),
                Operand::Special(Special::IsExplicitCluster) => Ok(()),
                _ => Err(case.misfit("a predicate is expected")),
            },
            Slot::Location => match &case.instruction.operands[i] {
                Operand::Reg(reg) => self.register_fits(*reg, Ty::At(0).of(case), false, case),
                Operand::Var(var, _) => self.same_space(
                    &self.program.vars[var.0 as usize],
                    self.space_word(case)?,
                    case,
                ),
                _ => Err(case.misfit("a register or a variable is expected")),
            },
            Slot::Address => self.address_slot(i, case),
            Slot::Load => self.vector_slot(i, true, case),
            Slot::Store => self.vector_slot(i, false, case),
            Slot::Int => match &case.instruction.operands[i] {
                Operand::Int(_) if case.integer(i) => Ok(()),
                _ => Err(case.misfit("an integer constant is expected")),
            },
            Slot::Label => match &case.instruction.operands[i] {
                Operand::Label(_) => Ok(()),
                _ => Err(Misfit {
                    message: format!(
                        "Label expected for argument {i} of instruction '{}'",
                        case.name
                    ),
                    note: "a label of this function is expected".to_string(),
                }),
            },
            Slot::Targets => match &case.instruction.operands[i] {
                Operand::BranchTargets(_) => Ok(()),
                _ => Err(case.misfit("the label of a .branchtargets list is expected")),
            },
            Slot::Mov => self.mov_slot(i, case),
        }
    }

    /// A register that is written.
    fn destination(
        &self,
        operand: &Operand,
        ty: Type,
        wide: bool,
        case: &Case<'_, 's>,
    ) -> Result<(), Misfit> {
        let why =
            |message: String| Misfit { message, note: format!("a {ty} register is expected") };
        let name = &case.name;
        match operand {
            Operand::Reg(reg) => self.register_fits(*reg, ty, wide, case),
            Operand::Element(reg, _) => self.register_fits(*reg, ty, wide, case),
            Operand::Sink => {
                Err(why(format!("Result discard mode is not allowed for instruction '{name}'")))
            }
            Operand::Vector(_) => {
                Err(why(format!("Vector operand is not allowed for instruction '{name}'")))
            }
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) | Operand::Special(_) => {
                Err(why(format!("Result register required for instruction '{name}'")))
            }
            _ => Err(why(mismatch(name))),
        }
    }

    fn written_predicate(&self, operand: &Operand, case: &Case<'_, 's>) -> Result<(), Misfit> {
        match operand {
            Operand::Sink => Ok(()),
            Operand::Reg(reg) => self.register_fits(*reg, Type::Pred, false, case),
            _ => Err(case.misfit("a predicate register is expected")),
        }
    }

    /// A register or constant that is read; a constant becomes what the type wants.
    fn source_slot(
        &self,
        i: usize,
        ty: Type,
        wide: bool,
        case: &mut Case<'_, 's>,
    ) -> Result<(), Misfit> {
        let name = &case.name;
        let why = |message: String| Misfit {
            message,
            note: format!("a {ty} register or constant is expected"),
        };
        if let ast::Operand::Expr(Expr::Const(value, _)) = &case.source.operands[i] {
            let literal = literal_for(*value, ty).ok_or_else(|| {
                let given = if value.is_int() { "an integer" } else { "a floating-point constant" };
                Misfit {
                    message: mismatch(name),
                    note: format!("{given} is no operand of type {ty}"),
                }
            })?;
            case.instruction.operands[i] = literal;
            return Ok(());
        }
        match &case.instruction.operands[i] {
            Operand::Reg(reg) | Operand::Element(reg, _) => {
                self.register_fits(*reg, ty, wide, case)
            }
            Operand::Special(_) if wide => Ok(()),
            Operand::Special(_) => Err(Misfit {
                message: format!("Special register argument not allowed for instruction '{name}'"),
                note: "move it to a register with mov first".to_string(),
            }),
            Operand::Var(..) | Operand::Func(_) | Operand::Address { .. } => {
                Err(why(format!("Argument {i} of instruction '{name}': must be register")))
            }
            Operand::Vector(_) => {
                Err(why(format!("Vector operand is not allowed for instruction '{name}'")))
            }
            Operand::NotReg(_) => Err(why("Illegal argument to predicate negation".to_string())),
            Operand::Neg(_) => {
                Err(why(format!("Operand negation not allowed for instruction '{name}'")))
            }
            _ => Err(why(mismatch(name))),
        }
    }

    fn register_fits(
        &self,
        reg: RegId,
        ty: Type,
        wide: bool,
        case: &Case<'_, 's>,
    ) -> Result<(), Misfit> {
        let register = self.register(reg);
        if fits(ty, register.ty, wide) {
            return Ok(());
        }
        let note = format!("'{}' is {}, the instruction takes {ty}", register.name, register.ty);
        Err(Misfit { message: mismatch(&case.name), note })
    }

    fn register(&self, reg: RegId) -> &crate::ptx::program::Register<'s> {
        &self.program.functions[self.function.0 as usize].regs[reg.0 as usize]
    }

    fn address_slot(&self, i: usize, case: &Case<'_, 's>) -> Result<(), Misfit> {
        let space = self.space_word(case)?;
        let (base, offset) = match &case.instruction.operands[i] {
            Operand::Address { base, offset } => (base, offset),
            Operand::AddressList(_) => return Ok(()),
            _ => return Err(case.misfit("an address in brackets is expected")),
        };
        match base {
            AddressBase::Reg(reg) => {
                let register = self.register(*reg);
                match register.ty.kind() {
                    TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits => Ok(()),
                    _ => Err(Misfit {
                        message: format!(
                            "Illegal to use symbol '{}' of type {} as address operand. Use integer or bit only.",
                            register.name, register.ty
                        ),
                        note: "a .b64 or .u64 register holds an address".to_string(),
                    }),
                }
            }
            AddressBase::Var(var) => {
                let var = &self.program.vars[var.0 as usize];
                self.same_space(var, space, case)?;
                let entry = self.program.functions[self.function.0 as usize].entry;
                let stores = matches!(case.instruction.opcode, "st" | "atom" | "red");
                if stores && entry && var.space == Space::Param && self.is_parameter(var.span) {
                    return Err(Misfit {
                        message: format!(
                            "Illegal to write to function input parameter '{}'",
                            var.name
                        ),
                        note: "a kernel's parameters are constant".to_string(),
                    });
                }
                Ok(())
            }
            AddressBase::Absolute => match space {
                Some(Space::Local) => Ok(()),
                _ => Err(Misfit {
                    message: "Immediate addresses allowed only for .local state space".to_string(),
                    note: format!("move {offset} to a register first"),
                }),
            },
        }
    }

    /// Whether a variable can be addressed in a state space; a generic address has any variable but a parameter.
    fn same_space(
        &self,
        var: &Variable<'s>,
        space: Option<Space>,
        case: &Case<'_, 's>,
    ) -> Result<(), Misfit> {
        let wrong = match space {
            Some(space) => space != var.space,
            None => var.space == Space::Param,
        };
        if !wrong {
            return Ok(());
        }
        Err(Misfit {
            message: format!(
                "State space mismatch between instruction and address in instruction '{}'",
                case.name
            ),
            note: format!("'{}' is in {}", var.name, space_name(var.space)),
        })
    }

    /// Whether a variable declared here is one of the current function's parameters.
    fn is_parameter(&self, span: Span) -> bool {
        let function = &self.program.functions[self.function.0 as usize];
        function.params.iter().any(|param| self.program.vars[param.0 as usize].span == span)
    }

    /// The state space that the instruction's words name; `None` is generic.
    fn space_word(&self, case: &Case<'_, 's>) -> Result<Option<Space>, Misfit> {
        let mut found = None;
        for word in &case.instruction.modifiers {
            let space = match word.split("::").next().unwrap_or(word) {
                "global" => Space::Global,
                "shared" => Space::Shared,
                "local" => Space::Local,
                "const" => Space::Const,
                "param" => Space::Param,
                _ => continue,
            };
            if found.replace(space).is_some() {
                return Err(Misfit {
                    message: format!(
                        "Unexpected number of state spaces specified in instruction '{}'",
                        case.name
                    ),
                    note: "one state space at most".to_string(),
                });
            }
        }
        if case.instruction.opcode == "st" && found == Some(Space::Const) {
            return Err(Misfit {
                message: "State space incorrect for instruction 'st'".to_string(),
                note: "constant memory cannot be written".to_string(),
            });
        }
        Ok(found)
    }

    /// What `ld` writes or `st` reads: one register, or as many as `.v2`, `.v4` or `.v8` says, in braces.
    fn vector_slot(&self, i: usize, load: bool, case: &mut Case<'_, 's>) -> Result<(), Misfit> {
        let ty = Ty::At(0).of(case);
        let lanes = lanes(case.instruction);
        if lanes == 1 && !matches!(case.instruction.operands[i], Operand::Vector(_)) {
            return if load {
                self.destination(&case.instruction.operands[i], ty, true, case)
            } else {
                self.source_slot(i, ty, true, case).and_then(|()| self.no_special(i, case))
            };
        }
        let Operand::Vector(items) = &case.instruction.operands[i] else {
            return Err(Misfit {
                message: if load {
                    "Result vector expected".to_string()
                } else {
                    format!("Argument vector size mismatch for instruction '{}'", case.name)
                },
                note: format!("{lanes} registers in braces are expected"),
            });
        };
        if items.len() != lanes {
            return Err(Misfit {
                message: format!("Argument vector size mismatch for instruction '{}'", case.name),
                note: format!("{lanes} registers are expected, {} given", items.len()),
            });
        }
        // Observed: ptxas 13.0.88 checks the sizes of a vector's registers, not their kinds.
        let bits = same_size(ty);
        for item in items {
            match item {
                Operand::Sink if load => {}
                Operand::Int(_) | Operand::F32(_) | Operand::F64(_) if !load => {}
                Operand::Reg(reg) | Operand::Element(reg, _) => {
                    self.register_fits(*reg, bits, true, case)?;
                }
                _ => return Err(case.misfit("a vector of registers is expected")),
            }
        }
        Ok(())
    }

    fn no_special(&self, i: usize, case: &Case<'_, 's>) -> Result<(), Misfit> {
        match case.instruction.operands[i] {
            Operand::Special(_) => Err(Misfit {
                message: format!(
                    "Special register argument not allowed for instruction '{}'",
                    case.name
                ),
                note: "move it to a register with mov first".to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// `mov` also takes addresses and special registers, and packs or unpacks vectors.
    fn mov_slot(&self, i: usize, case: &mut Case<'_, 's>) -> Result<(), Misfit> {
        let ty = Ty::At(0).of(case);
        let lanes = lanes(case.instruction);
        if let Operand::Vector(items) = &case.instruction.operands[i] {
            let each = if lanes > 1 { ty.bits() } else { ty.bits() / items.len().max(1) as u32 };
            let whole = each * items.len() as u32 == ty.bits() * lanes as u32;
            if !whole || (lanes == 1 && ty.kind() != TypeKind::Bits) {
                let note = format!("{} elements do not make a {ty}", items.len());
                return Err(Misfit { message: mismatch(&case.name), note });
            }
            for item in items {
                match item {
                    Operand::Sink if i == 0 => {}
                    Operand::Int(_) | Operand::F32(_) | Operand::F64(_) | Operand::Special(_)
                        if i > 0 => {}
                    Operand::Reg(reg) | Operand::Element(reg, _) => {
                        let register = self.register(*reg);
                        if register.ty.bits() != each || register.ty == Type::Pred {
                            let note = format!(
                                "'{}' is {}, not of {each} bits",
                                register.name, register.ty
                            );
                            return Err(Misfit { message: mismatch(&case.name), note });
                        }
                    }
                    _ => return Err(case.misfit("a vector of registers is expected")),
                }
            }
            return Ok(());
        }
        if i == 0 {
            return self.destination(&case.instruction.operands[0], ty, false, case);
        }
        match &case.instruction.operands[i] {
            Operand::Special(special) => {
                let bits = super::special::bits(*special);
                if bits == 64 && ty.bits() != 64 {
                    return Err(case.misfit("this special register has 64 bits"));
                }
                Ok(())
            }
            Operand::Var(..) | Operand::Func(_) => match ty.kind() {
                TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits => Ok(()),
                _ => Err(case.misfit("an address is an integer")),
            },
            _ => self.source_slot(i, ty, false, case),
        }
    }

    /// Constants of `bar`: the barrier's number and how many threads.
    fn barrier_number(&mut self, case: &Case<'_, 's>) {
        if case.instruction.opcode != "bar" || case.instruction.has("warp") {
            return;
        }
        let first = usize::from(case.instruction.has("red"));
        if let Some(Operand::Int(number)) = case.instruction.operands.get(first)
            && !(0..16).contains(number)
        {
            let message =
                format!("Barrier number '{number}' out of range, expected to be in range [0..15]");
            self.diagnostics.error(case.source.operands[first].span(), message);
        }
        if let Some(Operand::Int(threads)) = case.instruction.operands.get(first + 1)
            && threads % 32 != 0
        {
            let message =
                "Number of threads participating in barrier must be in multiple of warp size";
            self.diagnostics.error(case.source.operands[first + 1].span(), message);
        }
    }
}

impl Case<'_, '_> {
    /// Whether an operand was written as an integer.
    fn integer(&self, i: usize) -> bool {
        matches!(&self.source.operands[i], ast::Operand::Expr(Expr::Const(value, _)) if value.is_int())
    }

    fn misfit(&self, note: &str) -> Misfit {
        Misfit { message: mismatch(&self.name), note: note.to_string() }
    }
}

impl Ty {
    fn of(self, case: &Case<'_, '_>) -> Type {
        let types = &case.instruction.types;
        let first = types.first().copied().unwrap_or(Type::B32);
        match self {
            Ty::At(i) => types.get(usize::from(i)).copied().unwrap_or(first),
            Ty::Wide => match first {
                Type::U16 => Type::U32,
                Type::S16 => Type::S32,
                Type::U32 => Type::U64,
                Type::S32 => Type::S64,
                other => other,
            },
            Ty::Fix(ty) => ty,
        }
    }
}

fn mismatch(name: &str) -> String {
    format!("Arguments mismatch for instruction '{name}'")
}

/// The opcode, with the modifiers that ptxas counts to the name.
fn display_name(source: &ast::Instruction<'_>) -> String {
    let opcode = source.opcode.text;
    let part = source.modifiers.first().map(|word| word.text).filter(|word| match opcode {
        "mul" | "mad" => matches!(*word, "lo" | "hi" | "wide"),
        "cvta" => *word == "to",
        "bar" => *word == "arrive",
        "brx" => *word == "idx",
        "shf" => matches!(*word, "l" | "r"),
        _ => false,
    });
    match part {
        Some(part) => format!("{opcode}.{part}"),
        None => opcode.to_string(),
    }
}

/// How many elements the instruction moves: `.v2`, `.v4`, `.v8` or one.
fn lanes(instruction: &Instruction<'_>) -> usize {
    let mut words = instruction.modifiers.iter();
    words
        .find_map(|word| match *word {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        })
        .unwrap_or(1)
}

/// The untyped type of the same size.
fn same_size(ty: Type) -> Type {
    match ty.bits() {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        128 => Type::B128,
        _ => Type::B64,
    }
}

/// Whether a register may stand where the instruction has this type. Observed: ptxas 13.0.88.
fn fits(ty: Type, register: Type, wide: bool) -> bool {
    if ty == Type::Pred || register == Type::Pred {
        return ty == register;
    }
    let larger = register.bits() > ty.bits();
    if register.bits() < ty.bits() || (larger && !wide) {
        return false;
    }
    match (ty.kind(), register.kind()) {
        (TypeKind::Bits, _) | (_, TypeKind::Bits) => true,
        (TypeKind::Float, TypeKind::Float) => ty == register,
        (TypeKind::Float, _) | (_, TypeKind::Float) => false,
        (TypeKind::Opaque, _) | (_, TypeKind::Opaque) => false,
        _ => true,
    }
}

/// A constant as an operand of this type; None where the type takes no such constant.
fn literal_for(value: Const, ty: Type) -> Option<Operand> {
    match (value, ty.kind()) {
        (Const::Int { .. }, TypeKind::Float | TypeKind::Opaque) => None,
        (Const::Int { .. }, _) => value.as_i128().map(Operand::Int),
        (Const::F32(bits), _) if ty == Type::B32 => Some(Operand::Int(i128::from(bits.to_bits()))),
        (Const::F64(bits), _) if ty == Type::B64 => Some(Operand::Int(i128::from(bits.to_bits()))),
        (_, _) if ty == Type::F64 => Some(Operand::F64(value.as_f64())),
        (Const::F32(value), _) if ty == Type::F32 => Some(Operand::F32(value)),
        (Const::F64(value), _) if ty == Type::F32 => Some(Operand::F32(value as f32)),
        _ => None,
    }
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Reg => ".reg",
        Space::Sreg => ".sreg",
        Space::Const => ".const",
        Space::Global => ".global",
        Space::Local => ".local",
        Space::Param => ".param",
        Space::Shared => ".shared",
        Space::Tex => ".tex",
        Space::Generic => "generic memory",
    }
}

/// Adds the opcode that the writer may have meant.
fn with_similar(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    let mut known: Vec<&str> = BY_OPCODE
        .keys()
        .copied()
        .filter(|known| super::scope::one_apart(known.as_bytes(), name.as_bytes()))
        .collect();
    known.sort_unstable();
    match known.first() {
        Some(similar) => diagnostic.note(format!("did you mean '{similar}'?")),
        None => diagnostic,
    }
}
