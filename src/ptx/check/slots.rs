//! One operand against its slot: register kinds and sizes, constants, addresses, vectors.
//!
//! A register fits a type of its own size when their kinds agree: integers with integers, a float
//! with the same float, and a `.b` register or type with anything. `ld`, `st` and `cvt` take wider
//! registers too. Observed: ptxas 13.0.88.

use super::Checker;
use super::case::{Case, Misfit, mismatch};
use super::literal::literal;
use super::table::{Slot, Ty};
use super::words::space;
use crate::ptx::ast;
use crate::ptx::constant::Const;
use crate::ptx::program::{AddressBase, Operand, RegId, Register, Special, Variable, Words};
use crate::ptx::types::{Space, Type, TypeKind};
use crate::ptx::words::{Op, Word};

impl<'s> Checker<'s> {
    /// Whether operand `i` fits; a constant becomes what the slot's type wants.
    pub(super) fn slot(
        &mut self,
        slot: Slot,
        i: usize,
        case: &mut Case<'_, 's>,
    ) -> Result<(), Misfit> {
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
                Operand::Pair(both) => {
                    let (first, second) = &**both;
                    if *first != Operand::Sink {
                        self.destination(first, ty.of(case), false, case)?;
                    }
                    self.written_predicate(second, case)
                }
                operand => self.destination(operand, ty.of(case), false, case),
            },
            Slot::DstPreds => match &case.instruction.operands[i] {
                Operand::Pair(both) => {
                    let (first, second) = &**both;
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
                Operand::Var(var, _) => {
                    let var = &self.program.vars[var.0 as usize];
                    self.has_address(var)?;
                    self.same_space(var, self.space_word(case)?, case)
                }
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
                        case.name()
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
        let name = || case.name();
        match operand {
            Operand::Reg(reg) if self.sums.iter().any(|sum| sum.writes(*reg)) => {
                Err(why(format!("Result register required for instruction '{}'", name())))
            }
            Operand::Reg(reg) => self.register_fits(*reg, ty, wide, case),
            Operand::Element(reg, _) => self.register_fits(*reg, ty, wide, case),
            Operand::Sink => {
                Err(why(format!("Result discard mode is not allowed for instruction '{}'", name())))
            }
            Operand::Vector(_) => {
                Err(why(format!("Vector operand is not allowed for instruction '{}'", name())))
            }
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) | Operand::Special(_) => {
                Err(why(format!("Result register required for instruction '{}'", name())))
            }
            _ => Err(why(mismatch(&name()))),
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
        let why = |message: String| Misfit {
            message,
            note: format!("a {ty} register or constant is expected"),
        };
        if let ast::Operand::Const(value, _) = case.operands()[i] {
            let literal = literal_for(value, ty).ok_or_else(|| {
                let given = if value.is_int() { "an integer" } else { "a floating-point constant" };
                Misfit {
                    message: mismatch(&case.name()),
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
                message: format!(
                    "Special register argument not allowed for instruction '{}'",
                    case.name()
                ),
                note: "move it to a register with mov first".to_string(),
            }),
            Operand::Var(..) | Operand::Func(_) | Operand::Address { .. } => {
                Err(why(format!("Argument {i} of instruction '{}': must be register", case.name())))
            }
            Operand::Vector(_) => {
                Err(why(format!("Vector operand is not allowed for instruction '{}'", case.name())))
            }
            Operand::NotReg(_) => Err(why("Illegal argument to predicate negation".to_string())),
            Operand::Neg(_) => {
                Err(why(format!("Operand negation not allowed for instruction '{}'", case.name())))
            }
            _ => Err(why(mismatch(&case.name()))),
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
        Err(Misfit { message: mismatch(&case.name()), note })
    }

    pub(super) fn register(&self, reg: RegId) -> &Register<'s> {
        &self.body.regs[reg.0 as usize]
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
                self.parameter_access(var, case)
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

    /// Whether a variable can be addressed in a state space; an access that names none goes to the
    /// variable's own, if that can be written as an address. Observed: ptxas 13.0.88.
    fn same_space(
        &self,
        var: &Variable,
        space: Option<Space>,
        case: &Case<'_, 's>,
    ) -> Result<(), Misfit> {
        let wrong = match space {
            Some(space) => space != var.space,
            None => matches!(var.space, Space::Param | Space::Const),
        };
        if !wrong {
            return Ok(());
        }
        Err(Misfit {
            message: format!(
                "State space mismatch between instruction and address in instruction '{}'",
                case.name()
            ),
            note: format!("'{}' is in {}", self.program.name(var), space_name(var.space)),
        })
    }

    /// The state space that the instruction's words name; `None` is generic.
    fn space_word(&self, case: &Case<'_, 's>) -> Result<Option<Space>, Misfit> {
        let mut found = None;
        for (word, written) in case.instruction.modifiers.iter().zip(case.modifiers()) {
            let named = match word {
                Word::Other => space(written.text),
                word => word.space(),
            };
            let Some(space) = named else { continue };
            if found.replace(space).is_some() {
                return Err(Misfit {
                    message: format!(
                        "Unexpected number of state spaces specified in instruction '{}'",
                        case.name()
                    ),
                    note: "one state space at most".to_string(),
                });
            }
        }
        if case.instruction.opcode == Op::St && found == Some(Space::Const) {
            return Err(Misfit {
                message: "State space incorrect for instruction 'st'".to_string(),
                note: "constant memory cannot be written".to_string(),
            });
        }
        Ok(found)
    }

    /// What `ld` writes or `st` reads: one register, or as many as `.v2`, `.v4` or `.v8` says, in
    /// braces.
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
                    format!("Argument vector size mismatch for instruction '{}'", case.name())
                },
                note: format!("{lanes} registers in braces are expected"),
            });
        };
        if items.len() != lanes {
            return Err(Misfit {
                message: format!("Argument vector size mismatch for instruction '{}'", case.name()),
                note: format!("{lanes} registers are expected, {} given", items.len()),
            });
        }
        // Observed: ptxas 13.0.88 checks the sizes of a vector's registers, not their kinds.
        let bits = same_size(ty);
        let mut first: Option<Type> = None;
        if items.iter().all(|item| *item == Operand::Sink) {
            return Err(Misfit {
                message: "Unable to infer type of vector elements (assuming .b8)".to_string(),
                note: "at least one register is expected".to_string(),
            });
        }
        for item in items {
            match item {
                Operand::Sink if load => {}
                Operand::Int(_) | Operand::F32(_) | Operand::F64(_) if !load => {}
                Operand::Reg(reg) | Operand::Element(reg, _) => {
                    self.register_fits(*reg, bits, true, case)?;
                    let register = self.register(*reg);
                    if !fits(*first.get_or_insert(register.ty), register.ty, false) {
                        return Err(Misfit {
                            message: format!(
                                "Vector with elements of different types are not allowed in {} instruction",
                                case.name()
                            ),
                            note: format!("'{}' is {}", register.name, register.ty),
                        });
                    }
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
                    case.name()
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
        if lanes > 1 && !matches!(case.instruction.operands[i], Operand::Vector(_)) {
            return Err(Misfit {
                message: if i == 0 {
                    "Result vector expected".to_string()
                } else {
                    format!("Argument vector size mismatch for instruction '{}'", case.name())
                },
                note: format!("{lanes} registers in braces are expected"),
            });
        }
        if let Operand::Vector(items) = &case.instruction.operands[i] {
            let each = if lanes > 1 { ty.bits() } else { ty.bits() / items.len().max(1) as u32 };
            let whole = each * items.len() as u32 == ty.bits() * lanes as u32;
            if !whole || (lanes == 1 && ty.kind() != TypeKind::Bits) {
                let note = format!("{} elements do not make a {ty}", items.len());
                return Err(Misfit { message: mismatch(&case.name()), note });
            }
            let mut first: Option<Type> = None;
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
                            return Err(Misfit { message: mismatch(&case.name()), note });
                        }
                        if !fits(*first.get_or_insert(register.ty), register.ty, false) {
                            let message = "Vector with elements of different types are not allowed in mov instruction";
                            let note = format!("'{}' is {}", register.name, register.ty);
                            return Err(Misfit { message: message.to_string(), note });
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
                TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits => {
                    match case.instruction.operands[i] {
                        Operand::Var(var, _) => {
                            self.has_address(&self.program.vars[var.0 as usize])
                        }
                        _ => Ok(()),
                    }
                }
                _ => Err(case.misfit("an address is an integer")),
            },
            _ => self.source_slot(i, ty, false, case),
        }
    }
}

/// How many elements the instruction moves: `.v2`, `.v4`, `.v8` or one.
fn lanes(instruction: &Words) -> usize {
    let mut words = instruction.modifiers.iter();
    words
        .find_map(|word| match *word {
            Word::V2 => Some(2),
            Word::V4 => Some(4),
            Word::V8 => Some(8),
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
pub(super) fn fits(ty: Type, register: Type, wide: bool) -> bool {
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
        // A pair of halves counts as an integer too.
        (TypeKind::Signed | TypeKind::Unsigned, TypeKind::Float) => register == Type::F16x2,
        (TypeKind::Float, _) => false,
        (TypeKind::Opaque, _) | (_, TypeKind::Opaque) => false,
        _ => true,
    }
}

/// A constant as an operand of this type; None where the type takes no such constant.
fn literal_for(value: Const, ty: Type) -> Option<Operand> {
    match (value, ty.kind()) {
        (Const::Int { .. }, TypeKind::Float | TypeKind::Opaque) => None,
        (Const::Int { .. }, _) => Some(literal(value, None)),
        (Const::F32(bits), _) if ty == Type::B32 => Some(Operand::Int(bits.to_bits().into())),
        (Const::F64(bits), _) if ty == Type::B64 => Some(Operand::Int(bits.to_bits().into())),
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
