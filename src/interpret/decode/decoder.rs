//! What decoding an instruction of any family takes: its function's registers, and operands as rows
//! and addresses.

use crate::interpret::code::{Formal, Op};
use crate::interpret::image::{Image, Location};
use crate::interpret::integer::mask;
use crate::interpret::operand::{
    Address, CARRY, Double, Dst, Dynamic, FIRST_REGISTER, Rows, Slot, Space, Src, Ternary,
};
use crate::interpret::pointer::function_address;
use crate::launch::Launch;
use crate::ptx::program::{
    AddressBase, FuncId, Function, Instruction, Operand, Program, RegId, Special, VarId,
};
use crate::ptx::types::{Type, TypeKind};
use crate::ptx::words::Word;
use rustc_apfloat::Round;

/// A result, or what is not supported.
pub type Decoded<T> = Result<T, String>;

/// Decodes the instructions of one function.
pub struct Decoder<'a, 's> {
    /// The checked program.
    pub program: &'a Program<'s>,
    /// Where its variables are.
    pub image: &'a Image,
    /// Special registers come from it.
    pub launch: &'a Launch,
    /// The function.
    pub function: &'a Function<'s>,
    /// Which of the program it is.
    pub id: FuncId,
    /// The first row of each register.
    pub slots: Vec<Slot>,
    /// Of this function in [`Code::insts`].
    pub start: u32,
}

impl<'a, 's> Decoder<'a, 's> {
    /// Gives each register of the function its rows.
    pub fn new(
        program: &'a Program<'s>,
        image: &'a Image,
        launch: &'a Launch,
        function: &'a Function<'s>,
        id: FuncId,
    ) -> Self {
        let mut next = FIRST_REGISTER;
        let mut slots = Vec::with_capacity(function.regs.len());
        for reg in &function.regs {
            slots.push(Slot(next));
            next += reg.vector.max(1) * if reg.ty == Type::B128 { 2 } else { 1 };
        }
        // One more stands for the number of rows.
        slots.push(Slot(next));
        Decoder { program, image, launch, function, id, slots, start: 0 }
    }

    /// Where a formal parameter or result is.
    pub fn formal(&self, id: VarId) -> Formal {
        let var = &self.program.vars[id.0 as usize];
        let offset = match self.image.locations[id.0 as usize] {
            Location::Frame(offset) => offset,
            _ => 0,
        };
        Formal {
            offset,
            size: var.size,
            reg: var.reg().filter(|_| self.function.defined).map(|reg| self.rows(reg)),
        }
    }

    /// The rows of a register that is passed.
    pub(super) fn rows(&self, reg: RegId) -> Rows {
        let (first, register) = (self.slot(reg), &self.function.regs[reg.0 as usize]);
        let count = if self.is_wide(reg) { 2 } else { register.vector.max(1) };
        let bytes = register.ty.bytes().clamp(1, 8) as usize;
        Rows { first, count, bytes, mask: self.width_mask(reg) }
    }

    /// The first row of a register.
    pub fn slot(&self, reg: RegId) -> Slot {
        self.slots[reg.0 as usize]
    }

    /// The bits that a register has.
    pub fn width_mask(&self, reg: RegId) -> u64 {
        mask(self.function.regs[reg.0 as usize].ty.bits())
    }

    /// The operand at `index`.
    pub fn operand<'o>(&self, inst: &'o Instruction, index: usize) -> Decoded<&'o Operand> {
        inst.operands.get(index).ok_or_else(|| format!("operand {} is missing", index + 1))
    }

    /// A source operand read as `ty`.
    ///
    /// # Errors
    /// When it is of a kind that no instruction reads so.
    pub fn src(&self, operand: &Operand, ty: Type) -> Decoded<Src> {
        Ok(match operand {
            Operand::Reg(reg) => Src::Slot(self.slot(*reg)),
            Operand::NotReg(reg) => Src::Not(self.slot(*reg)),
            Operand::Element(reg, element) => {
                Src::Slot(Slot(self.slot(*reg).0 + u32::from(*element)))
            }
            Operand::Int(value) => Src::Imm(match ty {
                // An integer literal where a float is meant has that value, not those bits.
                Type::F32 => u64::from((value.get() as f32).to_bits()),
                Type::F64 => (value.get() as f64).to_bits(),
                _ => value.get() as u64 & mask(ty.bits()),
            }),
            Operand::F32(value) => Src::Imm(match ty {
                Type::F64 => f64::from(*value).to_bits(),
                _ => u64::from(value.to_bits()),
            }),
            Operand::F64(value) => Src::Imm(match ty {
                Type::F32 => u64::from((*value as f32).to_bits()),
                _ => value.to_bits(),
            }),
            Operand::Special(special) => self.special(*special)?,
            Operand::Var(id, offset) => match self.image.locations[id.0 as usize] {
                Location::Mapped(at) => Src::Imm(at.wrapping_add_signed(offset.get())),
                Location::Shared(at) => Src::Shared(at.wrapping_add_signed(offset.get())),
                Location::Frame(at) => Src::Frame(at.wrapping_add_signed(offset.get())),
                Location::Nowhere => return Err("the address of this variable".to_string()),
            },
            Operand::Func(id) => Src::Imm(function_address(*id)),
            other => return Err(format!("operand {other:?}")),
        })
    }

    /// The source operand at `index`, read as `ty`.
    pub fn source(&self, inst: &Instruction, index: usize, ty: Type) -> Decoded<Src> {
        self.src(self.operand(inst, index)?, ty)
    }

    /// A destination of one row.
    ///
    /// # Errors
    /// When it is of a kind that no instruction writes so.
    pub fn dst(&self, operand: &Operand) -> Decoded<Dst> {
        Ok(match operand {
            Operand::Reg(reg) => Dst { slot: self.slot(*reg), mask: self.width_mask(*reg) },
            Operand::Element(reg, element) => {
                let slot = Slot(self.slot(*reg).0 + u32::from(*element));
                Dst { slot, mask: self.width_mask(*reg) }
            }
            Operand::Sink => Dst::SINK,
            other => return Err(format!("destination {other:?}")),
        })
    }

    /// The destination at `index`.
    ///
    /// # Errors
    /// As [`Decoder::dst`].
    pub fn target(&self, inst: &Instruction, index: usize) -> Decoded<Dst> {
        self.dst(self.operand(inst, index)?)
    }

    /// The elements of a vector operand, or the one scalar.
    pub fn sources(&self, operand: &Operand, ty: Type) -> Decoded<Box<[Src]>> {
        match operand {
            Operand::Vector(list) => {
                let parts: Decoded<Vec<_>> = list.iter().map(|o| self.sources(o, ty)).collect();
                Ok(parts?.into_iter().flatten().collect())
            }
            Operand::Reg(reg) if self.is_wide(*reg) => Ok(self.halves(*reg).map(Src::Slot).into()),
            other => Ok([self.src(other, ty)?].into()),
        }
    }

    /// The rows of a vector destination, or of the one scalar.
    ///
    /// # Errors
    /// As [`Decoder::dst`].
    pub fn targets(&self, operand: &Operand) -> Decoded<Box<[Dst]>> {
        match operand {
            Operand::Vector(list) => {
                let parts: Decoded<Vec<_>> = list.iter().map(|o| self.targets(o)).collect();
                Ok(parts?.into_iter().flatten().collect())
            }
            Operand::Reg(reg) if self.is_wide(*reg) => {
                Ok(self.halves(*reg).map(|slot| Dst { slot, mask: u64::MAX }).into())
            }
            other => Ok([self.dst(other)?].into()),
        }
    }

    /// Whether a register has 128 bits: two rows.
    pub fn is_wide(&self, reg: RegId) -> bool {
        self.function.regs[reg.0 as usize].ty == Type::B128
    }

    /// The two rows of a 128-bit register.
    pub fn halves(&self, reg: RegId) -> [Slot; 2] {
        let Slot(low) = self.slot(reg);
        [Slot(low), Slot(low + 1)]
    }

    /// An address operand.
    ///
    /// # Errors
    /// When it is none.
    pub fn address(&self, operand: &Operand, space: Space) -> Decoded<Address> {
        let (base, offset) = match operand {
            Operand::Address { base: AddressBase::Reg(reg), offset } => {
                (Src::Slot(self.slot(*reg)), *offset)
            }
            Operand::Address { base: AddressBase::Var(id), offset } => {
                (self.src(&Operand::Var(*id, 0.into()), Type::U64)?, *offset)
            }
            Operand::Address { base: AddressBase::Absolute, offset } => {
                (Src::Imm(*offset as u64), 0)
            }
            Operand::AddressList(list) if list.len() == 1 => {
                return self.address(&list[0], space);
            }
            other => return Err(format!("address {other:?}")),
        };
        Ok(Address { space, base, offset })
    }

    /// A special register: a number for the whole launch, or one that each lane has. Those
    /// without a meaning here are zero.
    pub fn special(&self, special: Special) -> Decoded<Src> {
        let axis = |values: [u32; 3], i: u8| {
            Src::Imm(values.get(usize::from(i)).copied().unwrap_or(0).into())
        };
        let dynamic = |d| Ok(Src::Special(d));
        let (launch, clusters) = (self.launch, &self.image.clusters);
        Ok(match special {
            Special::Tid(i @ 0..3) => return dynamic(Dynamic::Tid(i)),
            Special::CtaId(i @ 0..3) => return dynamic(Dynamic::CtaId(i)),
            Special::ClusterId(i @ 0..3) => return dynamic(Dynamic::ClusterId(i)),
            Special::ClusterCtaId(i @ 0..3) => return dynamic(Dynamic::ClusterCtaId(i)),
            Special::ClusterCtaRank => return dynamic(Dynamic::ClusterCtaRank),
            Special::Ntid(i) => axis(launch.block, i),
            Special::NCtaId(i) => axis(clusters.grid, i),
            Special::NClusterId(i) => {
                axis([0, 1, 2].map(|axis| clusters.grid[axis] / clusters.shape[axis]), i)
            }
            Special::ClusterNCtaId(i) => axis(clusters.shape, i),
            Special::ClusterNCtaRank => Src::Imm(clusters.blocks().into()),
            Special::IsExplicitCluster => Src::Imm(clusters.explicit.into()),
            Special::LaneId => return dynamic(Dynamic::LaneId),
            Special::WarpId => return dynamic(Dynamic::WarpId),
            Special::NWarpId => Src::Imm(launch.threads().div_ceil(32).into()),
            Special::WarpSize => Src::Imm(32),
            Special::LaneMaskEq => return dynamic(Dynamic::MaskEq),
            Special::LaneMaskLe => return dynamic(Dynamic::MaskLe),
            Special::LaneMaskLt => return dynamic(Dynamic::MaskLt),
            Special::LaneMaskGe => return dynamic(Dynamic::MaskGe),
            Special::LaneMaskGt => return dynamic(Dynamic::MaskGt),
            Special::Clock | Special::Clock64 | Special::GlobalTimer | Special::GlobalTimerLo => {
                return dynamic(Dynamic::Clock);
            }
            Special::NSmId => Src::Imm(1),
            Special::DynamicSmemSize => Src::Imm(launch.dynamic_shared),
            Special::TotalSmemSize | Special::AggrSmemSize => Src::Imm(self.image.shared),
            Special::Tid(_)
            | Special::CtaId(_)
            | Special::ClusterId(_)
            | Special::ClusterCtaId(_)
            | Special::ClockHi
            | Special::GlobalTimerHi
            | Special::SmId
            | Special::GridId
            | Special::Pm(_)
            | Special::Pm64(_)
            | Special::EnvReg(_)
            | Special::CurrentGraphExec => Src::ZERO,
            Special::ReservedSmemOffset(i) => {
                // Begin and end of the reserved part, and its capacity; no part of it is in use.
                Src::Imm(if matches!(i, 1 | 2) {
                    orias_targets::memory::SHARED_RESERVED
                } else {
                    0
                })
            }
        })
    }

    /// An operation of one result whose sources, after operand 0, are all of type `ty`.
    pub fn alu(&self, inst: &Instruction, arity: u8, ty: Type, f: Ternary) -> Decoded<Option<Op>> {
        self.alu_typed(inst, &[ty, ty, ty][..usize::from(arity)], f)
    }

    /// The same with a type for each source.
    pub fn alu_typed(&self, inst: &Instruction, types: &[Type], f: Ternary) -> Decoded<Option<Op>> {
        let mut src = [Src::ZERO; 3];
        for (i, ty) in types.iter().enumerate() {
            src[i] = self.source(inst, i + 1, *ty)?;
        }
        let dst = self.target(inst, 0)?;
        Ok(Some(Op::Alu { f, dst, src, arity: types.len() as u8 }))
    }

    /// An operation that may read the carry flag as its fourth operand and gives a second result,
    /// the carry.
    pub fn with_carry(
        &self,
        inst: &Instruction,
        arity: usize,
        ty: Type,
        carry_out: bool,
        f: Double,
    ) -> Decoded<Option<Op>> {
        let mut src = [Src::ZERO; 4];
        for (i, slot) in src.iter_mut().enumerate().take(arity) {
            *slot = self.source(inst, i + 1, ty)?;
        }
        src[3] = Src::Slot(CARRY);
        let carry = if carry_out { Dst { slot: CARRY, mask: 1 } } else { Dst::SINK };
        Ok(Some(Op::Alu2 { f, dst: [self.target(inst, 0)?, carry], src }))
    }
}

/// The type of an instruction with one type.
pub fn only_type(inst: &Instruction) -> Decoded<Type> {
    inst.types.last().copied().ok_or_else(|| "has no type".to_string())
}

/// The rounding modifier, if there is one, and whether it is one to an integral value.
pub fn rounding(inst: &Instruction) -> Option<(Round, bool)> {
    inst.modifiers.iter().find_map(|m| {
        Some(match *m {
            Word::Rn => (Round::NearestTiesToEven, false),
            Word::Rz => (Round::TowardZero, false),
            Word::Rm => (Round::TowardNegative, false),
            Word::Rp => (Round::TowardPositive, false),
            Word::Rna => (Round::NearestTiesToAway, false),
            Word::Rni => (Round::NearestTiesToEven, true),
            Word::Rzi => (Round::TowardZero, true),
            Word::Rmi => (Round::TowardNegative, true),
            Word::Rpi => (Round::TowardPositive, true),
            _ => return None,
        })
    })
}

/// The state space that an instruction's modifiers name.
pub fn space(inst: &Instruction) -> Decoded<Space> {
    let mut found = Space::Generic;
    for modifier in inst.modifiers.iter() {
        found = match *modifier {
            Word::Global | Word::Const => Space::Mapped,
            Word::Shared | Word::SharedCta => Space::Shared,
            Word::SharedCluster => Space::Cluster,
            Word::Local => Space::Local,
            Word::Param | Word::ParamEntry | Word::ParamFunc => Space::Param,
            _ => continue,
        };
        break;
    }
    Ok(found)
}

/// Whether a type is one of integers of at most 64 bits.
pub fn is_int(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits) && ty.bits() <= 64
}
