//! Instructions: the hot component, and the cold ones beside it.

use crate::control::Control;
use crate::modifier::Mods;
use crate::opcode::Opcode;
use crate::operand::{Operand, RegUse};
use crate::register::Reg;
use bevy_ecs::prelude::*;
use smallvec::SmallVec;

/// Dense per-function id of an instruction. Ids of removed instructions are not used again.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct InstId(pub u32);

/// The predicate under which an instruction runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// A predicate of file P, or UP for uniform instructions; PT / UPT is "always".
    pub reg: Reg,
    pub negated: bool,
}

impl Guard {
    pub const ALWAYS: Guard = Guard { reg: Reg::PT, negated: false };

    pub fn is_always(&self) -> bool {
        self.reg.is_zero() && !self.negated
    }
}

/// An instruction, before and after register allocation, and as decoded from machine words.
#[derive(Component, Clone, PartialEq, Debug)]
pub struct Inst {
    pub op: Opcode,
    /// How many of the operands, from the first, are destinations.
    pub defs: u8,
    pub control: Control,
    pub guard: Guard,
    pub mods: Mods,
    pub operands: SmallVec<[Operand; 6]>,
}

impl Inst {
    pub fn new(op: Opcode, mods: &[crate::Mod], defs: u8, operands: &[Operand]) -> Inst {
        Inst {
            op,
            defs,
            control: Control::default(),
            guard: Guard::ALWAYS,
            mods: Mods::new(mods),
            operands: SmallVec::from_slice(operands),
        }
    }

    pub fn guarded(mut self, reg: Reg, negated: bool) -> Inst {
        self.guard = Guard { reg, negated };
        self
    }

    pub fn dests(&self) -> &[Operand] {
        &self.operands[..self.defs as usize]
    }

    pub fn sources(&self) -> &[Operand] {
        &self.operands[self.defs as usize..]
    }

    /// Registers written, without RZ/PT. A guarded instruction keeps the old value where its guard is false.
    pub fn for_each_def(&self, mut f: impl FnMut(RegUse)) {
        for op in self.dests() {
            op.for_each_reg(|r| {
                if !r.reg.is_zero() {
                    f(r)
                }
            });
        }
    }

    /// Registers read, guard included, without RZ/PT.
    pub fn for_each_use(&self, mut f: impl FnMut(RegUse)) {
        if !self.guard.reg.is_zero() {
            f(RegUse::new(self.guard.reg));
        }
        for op in self.sources() {
            op.for_each_reg(|r| {
                if !r.reg.is_zero() {
                    f(r)
                }
            });
        }
    }
}

/// Source place (`.loc`) of an instruction: kept from lowering to the text offset. File 0 is none.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loc {
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// 1 + the index of the PTX instruction in its function, for messages; 0 is none.
    pub ptx_inst: u32,
}
