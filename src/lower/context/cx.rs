//! One function on its way from PTX to Ori, and the registers that its operands name.

use super::frame::Frame;
use crate::lower::layout::{FunctionLayout, Module, SharedSlot};
use crate::ptx::program::{Function, Instruction, Operand as Ptx, Program, RegId};
use crate::ptx::types::Type;
use orias_components::{BlockId, Operand, Reg, RegFile, RegFlags, RegUse};
use orias_systems::build::{Emit, cell, r};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Why an instruction cannot be lowered; the caller adds instruction and place.
pub type Sel<T = ()> = Result<T, String>;

/// How instructions of an opcode are lowered.
///
/// # Errors
/// When the instruction is of a kind that has no lowering.
pub type Rule = fn(&mut Cx<'_, '_>, &Instruction) -> Sel;

/// One function on its way from PTX to Ori.
pub struct Cx<'a, 'w> {
    /// The checked program.
    pub program: &'a Program<'a>,
    /// What is common to its functions: symbols, places, options.
    pub module: &'a Module,
    /// The function as PTX.
    pub function: &'a Function<'a>,
    /// Its parameters and variables, placed.
    pub layout: &'a FunctionLayout,
    /// Places of shared variables: those of the kernel that the code is for.
    pub shared: &'a [SharedSlot],
    /// What builds its body.
    pub e: Emit<'w>,
    /// By [`RegId`]: the virtual register of each element (one, or two or four of a vector
    /// register).
    pub regs: Vec<[Reg; 4]>,
    /// By [`RegId`]: some instruction reads it.
    pub read: Vec<bool>,
    /// The constant that a register holds wherever it is written, of those that hold one.
    pub constants: FxHashMap<RegId, i128>,
    /// By label index.
    pub labels: Vec<BlockId>,
    /// Uniform pair that holds the descriptor of global memory; loaded in the entry block when
    /// something uses it.
    pub desc: Option<Reg>,
    /// Stands in for the descriptor while an access with a cache policy is lowered.
    pub policy: Option<RegUse>,
    /// Uniform register with the address of shared memory's byte [`SHARED_RESERVED`]; likewise.
    pub shared_base: Option<Reg>,
    /// The carry flag of `add.cc` and its kind.
    pub carry: Option<Reg>,
    /// Highest named barrier used + 1.
    pub barriers: u32,
    /// The block in which a matrix instruction has brought the warp together last.
    pub converged: Option<BlockId>,
    /// Words that stand in a tuple of registers: the tuple, its block and the place in it from
    /// which on it holds them.
    pub tuples: FxHashMap<SmallVec<[Operand; 16]>, (Reg, BlockId, usize)>,
    /// Variables of the parameter space, and the frame.
    pub frame: Frame,
    /// Bytes from the frame's bottom to the first `.local` variable.
    pub locals_at: u32,
    /// The block where a device function's returns join, once there is one.
    pub epilogue: Option<BlockId>,
}

impl<'a, 'w> Cx<'a, 'w> {
    /// The type that a register was declared with.
    pub fn reg_type(&self, id: RegId) -> Type {
        self.function.regs[id.0 as usize].ty
    }

    /// The register that a destination operand names, `_` is the zero register.
    pub fn dst(&self, op: &Ptx) -> Sel<Reg> {
        match op {
            Ptx::Reg(id) => Ok(self.regs[id.0 as usize][0]),
            Ptx::Element(id, i) => Ok(self.regs[id.0 as usize][*i as usize]),
            Ptx::Sink => Ok(Reg::RZ),
            Ptx::Pair(both) => self.dst(&both.0),
            _ => Err("destination is not a register".into()),
        }
    }

    /// Whether nothing reads the destination register: an atomic is then a reduction.
    pub fn is_unread(&self, op: &Ptx) -> bool {
        match op {
            Ptx::Reg(id) => !self.read[id.0 as usize],
            Ptx::Sink => true,
            _ => false,
        }
    }

    /// Cells of the destination register: 1, 2 or 4; the zero register takes what is asked.
    pub fn dst_cells(&self, op: &Ptx) -> u8 {
        match op {
            Ptx::Reg(id) | Ptx::Element(id, _) => cells_of(self.reg_type(*id)),
            Ptx::Pair(both) => self.dst_cells(&both.0),
            _ => 1,
        }
    }

    /// A predicate destination, `_` is PT.
    pub fn dst_pred(&self, op: &Ptx) -> Sel<Operand> {
        match op {
            Ptx::Reg(id) if self.reg_type(*id) == Type::Pred => Ok(r(self.regs[id.0 as usize][0])),
            Ptx::Sink => Ok(Operand::PT),
            _ => Err("destination is not a predicate".into()),
        }
    }

    /// A predicate source; a constant is PT or !PT.
    pub fn pred(&self, op: &Ptx) -> Sel<Operand> {
        match op {
            Ptx::Reg(id) => Ok(r(self.regs[id.0 as usize][0])),
            Ptx::NotReg(id) => Ok(orias_systems::build::not(r(self.regs[id.0 as usize][0]))),
            Ptx::Int(value) if value.get() == 0 => Ok(Operand::NOT_PT),
            Ptx::Int(_) => Ok(Operand::PT),
            _ => Err("operand is not a predicate".into()),
        }
    }

    /// A register with the value: immediates are moved.
    pub fn in_reg(&mut self, op: Operand) -> Operand {
        match op {
            Operand::Reg(u) if u.flags == RegFlags::NONE => op,
            other => {
                let d = self.e.temp(1);
                self.e.mov(r(d), other);
                r(d)
            }
        }
    }

    /// Whether one of the sources is the low half of `d`, or more of it.
    pub fn overlaps(&self, d: Reg, sources: &[Operand]) -> bool {
        let in_low = |u: &RegUse| u.reg == d && !d.is_zero() && u.cell == 0;
        sources.iter().any(|s| s.as_reg().is_some_and(in_low))
    }

    /// A register to build a 64-bit result in, low half first: `d` itself, or a temporary when one
    /// of `sources`, which are still to be read after that, is its low half.
    pub fn building(&mut self, d: Reg, sources: &[Operand]) -> Reg {
        if self.overlaps(d, sources) { self.e.temp(2) } else { d }
    }

    /// Copies what [`Self::building`] gave to the destination.
    pub fn built(&mut self, d: Reg, built: Reg) {
        if d != built {
            self.e.mov(cell(d, 0), cell(built, 0));
            self.e.mov(cell(d, 1), cell(built, 1));
        }
    }

    /// The uniform pair with the descriptor of global memory.
    pub fn descriptor(&mut self) -> RegUse {
        if let Some(policy) = self.policy {
            return policy;
        }
        let reg = match self.desc {
            Some(reg) => reg,
            None => *self.desc.insert(self.e.body.new_vreg(RegFile::UR, 2, 2)),
        };
        RegUse::wide(reg, 2)
    }

    /// The uniform register with the address of the first usable byte of shared memory.
    pub fn shared_base(&mut self) -> Reg {
        match self.shared_base {
            Some(reg) => reg,
            None => *self.shared_base.insert(self.e.body.new_vreg(RegFile::UR, 1, 1)),
        }
    }
}

/// 32-bit cells of a register of this type.
pub fn cells_of(ty: Type) -> u8 {
    match ty.bytes() {
        16 => 4,
        8 => 2,
        _ => 1,
    }
}

/// Operands of an instruction, by position.
pub fn operand<'p>(inst: &Instruction<'p>, i: usize) -> Sel<&'p Ptx> {
    inst.operands.get(i).ok_or_else(|| format!("operand {} is missing", i + 1))
}

/// The type word of an instruction at index `i`.
pub fn type_at(inst: &Instruction, i: usize) -> Sel<Type> {
    inst.types.get(i).copied().ok_or_else(|| "a type is missing".into())
}
