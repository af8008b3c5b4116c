//! Access to an instruction's operands by slot, with checks.

use super::context::{Context, describe};
use crate::simulator::error::Cause;
use crate::simulator::op::{Bits, LaneFn, LaneOp, Op};
use crate::simulator::operand::*;
use orias_components::{Inst, Mod, Operand, RegFile, RegFlags, RegUse};

/// How a source is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 32 bits; the operation itself handles negation of integers.
    Int,
    /// 64 bits.
    Int64,
    F32,
    F64,
    /// Two halves.
    F16x2,
}

impl Kind {
    pub fn is_wide(self) -> bool {
        matches!(self, Kind::Int64 | Kind::F64)
    }
}

/// One instruction's operands.
pub struct Slots<'a> {
    pub context: &'a Context<'a>,
    pub inst: &'a Inst,
    /// Byte offset of the instruction in its text.
    pub pc: u64,
}

impl<'a> Slots<'a> {
    pub fn new(context: &'a Context<'a>, inst: &'a Inst, pc: u64) -> Slots<'a> {
        Slots { context, inst, pc }
    }

    pub fn has(&self, m: Mod) -> bool {
        self.inst.mods.has(m)
    }

    pub fn len(&self) -> usize {
        self.inst.operands.len()
    }

    pub fn operand(&self, index: usize) -> Result<&'a Operand, Cause> {
        self.inst.operands.get(index).ok_or_else(|| unsupported(self))
    }

    /// The flags of a register or constant operand.
    pub fn flags(&self, index: usize) -> RegFlags {
        match self.inst.operands.get(index) {
            Some(Operand::Reg(r) | Operand::Part(r, _)) => r.flags,
            Some(Operand::Const(c)) => c.flags,
            _ => RegFlags::NONE,
        }
    }

    pub fn is_negated(&self, index: usize) -> bool {
        self.flags(index).has(RegFlags::NEG)
    }

    fn row(&self, reg: RegUse, cells: u8) -> Result<u16, Cause> {
        Ok(general(reg, cells, self.context.registers)?.unwrap_or(ROW_ZERO))
    }

    /// A register as place of a source.
    pub fn place(&self, reg: RegUse, cells: u8) -> Result<Place, Cause> {
        if reg.reg.file() == RegFile::UR {
            return Ok(Place::Uniform(uniform(reg, cells)?.unwrap_or(UREG_ZERO)));
        }
        Ok(Place::Row(self.row(reg, cells)?))
    }

    /// A source. `-x` of an integer is left to the operation, which carries out of it.
    pub fn src(&self, index: usize, kind: Kind) -> Result<Src, Cause> {
        let wide = kind.is_wide();
        let cells = if wide { 2 } else { 1 };
        let (place, flags, part) = match *self.operand(index)? {
            Operand::Reg(r) => (self.place(r, cells)?, r.flags, Part::Whole),
            Operand::Part(r, m) => (self.place(r, cells)?, r.flags, self.part(m)?),
            Operand::Imm(value) => {
                let value = if kind == Kind::F64 { value << 32 } else { value };
                (Place::Imm(value), RegFlags::NONE, Part::Whole)
            }
            Operand::Const(c) if c.base.is_zero() && !c.is_bindless() => (
                Place::Imm(self.constant(c.bank, c.offset, 4 * u32::from(cells))?),
                c.flags,
                self.part(c.part)?,
            ),
            _ => return Err(unsupported(self)),
        };
        let mut adjust = match kind {
            // NEG is the operation's.
            Kind::Int | Kind::Int64 => Adjust::integer(flags.without(RegFlags::NEG)),
            Kind::F32 => Adjust::float(flags, 0x8000_0000),
            Kind::F64 => Adjust::float(flags, 1 << 63),
            Kind::F16x2 => Adjust::float(flags, 0x8000_8000),
        };
        if matches!(self.operand(index)?, Operand::Part(_, Mod::H0_NH1)) {
            // What was the upper half is negated: products of complex numbers.
            adjust.xor ^= 0x8000;
        }
        Ok(Src { place, wide, part, adjust })
    }

    fn part(&self, m: Mod) -> Result<Part, Cause> {
        Ok(match m {
            Mod::NONE | Mod::H1_H0 | Mod::U32 => Part::Whole,
            Mod::H0_NH1 => Part::Swapped,
            Mod::H0_H0 => Part::Both(0),
            Mod::H1_H1 => Part::Both(16),
            Mod::H0 => Part::Half(0),
            Mod::H1 => Part::Half(16),
            Mod::B0 => Part::Byte(0),
            Mod::B1 => Part::Byte(8),
            Mod::B2 => Part::Byte(16),
            Mod::B3 => Part::Byte(24),
            _ => return Err(unsupported(self)),
        })
    }

    pub fn constant(&self, bank: u8, offset: i32, size: u32) -> Result<u64, Cause> {
        let offset = i64::from(offset);
        let value = self.context.constants.load(bank, offset, size);
        value.ok_or(Cause::Constant { bank, offset, size })
    }

    /// A register destination of some cells.
    pub fn dst(&self, index: usize, cells: u8) -> Result<Dst, Cause> {
        let reg = *self.operand(index)?.as_reg().ok_or_else(|| unsupported(self))?;
        if reg.reg.file() == RegFile::UR {
            return Ok(Dst::Uniform(uniform(reg, cells)?.unwrap_or(UREG_NOWHERE)));
        }
        Ok(Dst::Row(general(reg, cells, self.context.registers)?.unwrap_or(ROW_NOWHERE)))
    }

    /// The first row of a store's data.
    pub fn data(&self, index: usize, cells: u8) -> Result<u16, Cause> {
        let reg = *self.operand(index)?.as_reg().ok_or_else(|| unsupported(self))?;
        self.row(reg, cells)
    }

    pub fn pred(&self, index: usize) -> Result<PredSrc, Cause> {
        let reg = self.operand(index)?.as_reg().ok_or_else(|| unsupported(self))?;
        Ok(predicate(*reg)?)
    }

    pub fn pred_dst(&self, index: usize) -> Result<PredDst, Cause> {
        let reg = self.operand(index)?.as_reg().ok_or_else(|| unsupported(self))?;
        Ok(predicate_dst(*reg)?)
    }

    pub fn imm(&self, index: usize) -> Result<u64, Cause> {
        match self.operand(index)? {
            Operand::Imm(value) => Ok(*value),
            _ => Err(unsupported(self)),
        }
    }

    /// The number of a convergence barrier.
    pub fn barrier(&self, index: usize) -> Result<u8, Cause> {
        let reg = self.operand(index)?.as_reg().ok_or_else(|| unsupported(self))?;
        match reg.reg.phys_index() {
            Some(b) if reg.reg.file() == RegFile::B && b < 16 => Ok(b as u8),
            _ => Err(unsupported(self)),
        }
    }

    /// The index of the jump target.
    pub fn target(&self, index: usize) -> Result<u32, Cause> {
        match self.operand(index)? {
            Operand::Addr(offset) => Ok(self.context.index(*offset)),
            _ => Err(unsupported(self)),
        }
    }

    /// Whether an operand is a register of this file.
    pub fn is_file(&self, index: usize, file: RegFile) -> bool {
        self.inst.operands.get(index).and_then(Operand::file) == Some(file)
    }
}

/// A lane operation under construction.
pub struct Lane(LaneOp);

impl Lane {
    pub fn new(f: LaneFn, param: u32) -> Lane {
        Lane(LaneOp {
            f,
            param,
            dst: Dst::NOWHERE,
            wide: false,
            src: [Src::ZERO; 3],
            pin: [PredSrc::FALSE; 2],
            pout: [PredDst::NOWHERE; 2],
            bits: Bits::Plain,
        })
    }

    pub fn dst(mut self, dst: Dst) -> Lane {
        self.0.dst = dst;
        self
    }

    pub fn wide(mut self, wide: bool) -> Lane {
        self.0.wide = wide;
        self
    }

    pub fn src(mut self, all: &[Src]) -> Lane {
        self.0.src[..all.len()].copy_from_slice(all);
        self
    }

    pub fn pin(mut self, all: &[PredSrc]) -> Lane {
        self.0.pin[..all.len()].copy_from_slice(all);
        self
    }

    pub fn pout(mut self, all: &[PredDst]) -> Lane {
        self.0.pout[..all.len()].copy_from_slice(all);
        self
    }

    pub fn bits(mut self, bits: Bits) -> Lane {
        self.0.bits = bits;
        self
    }

    pub fn op(self) -> Result<Op, Cause> {
        Ok(Op::Lane(Box::new(self.0)))
    }
}

/// The message for an instruction that the engine does not do.
pub fn unsupported(slots: &Slots<'_>) -> Cause {
    Cause::Unsupported(describe(slots.context.target, slots.inst))
}
