//! Operands: plain values inside an instruction.

use crate::ids::BlockId;
use crate::modifier::Mod;
use crate::register::{Reg, RegFile};
use crate::symbol::SymbolKey;

/// What is done to a register operand as it is read, and its reuse hint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RegFlags(pub u8);

impl RegFlags {
    /// The register as it is.
    pub const NONE: RegFlags = RegFlags(0);
    /// `-R`
    pub const NEG: RegFlags = RegFlags(1);
    /// `|R|`
    pub const ABS: RegFlags = RegFlags(2);
    /// `~R`, `!P`
    pub const NOT: RegFlags = RegFlags(4);
    /// `R.reuse`
    pub const REUSE: RegFlags = RegFlags(8);
    /// `gdesc[UR4].negA`: of the matrices that a descriptor describes, A is negated; `.negB`,
    /// `.tnspA` (transposed), `.tnspB`.
    pub const NEG_A: RegFlags = RegFlags(16);
    /// Of the matrices that a descriptor describes, B is negated.
    pub const NEG_B: RegFlags = RegFlags(32);
    /// Of the matrices that a descriptor describes, A is transposed.
    pub const TNSP_A: RegFlags = RegFlags(64);
    /// Of the matrices that a descriptor describes, B is transposed.
    pub const TNSP_B: RegFlags = RegFlags(128);

    /// The flags of a descriptor and their words, in the order of the text.
    pub const OF_MATRICES: [(RegFlags, &'static str); 4] = [
        (RegFlags::NEG_A, "negA"),
        (RegFlags::NEG_B, "negB"),
        (RegFlags::TNSP_A, "tnspA"),
        (RegFlags::TNSP_B, "tnspB"),
    ];

    /// Whether any of the other flags is set.
    pub const fn has(self, other: RegFlags) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags of both.
    pub const fn with(self, other: RegFlags) -> RegFlags {
        RegFlags(self.0 | other.0)
    }

    /// These flags but for the other ones.
    pub const fn without(self, other: RegFlags) -> RegFlags {
        RegFlags(self.0 & !other.0)
    }
}

/// A use or definition of a register: `count` cells from `cell` on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegUse {
    /// The register, virtual or physical.
    pub reg: Reg,
    /// First cell within a virtual register (0 for physical ones: their number says it all).
    pub cell: u8,
    /// Cells read or written: 1 for 32 bits, 2 for 64, 4 for 128; 1 for predicates.
    pub count: u8,
    /// What is done to it as it is read; none on a destination.
    pub flags: RegFlags,
}

impl RegUse {
    /// The first cell.
    pub const fn new(reg: Reg) -> RegUse {
        RegUse { reg, cell: 0, count: 1, flags: RegFlags::NONE }
    }

    /// So many cells from the first on.
    pub const fn wide(reg: Reg, count: u8) -> RegUse {
        RegUse { reg, cell: 0, count, flags: RegFlags::NONE }
    }

    /// So many cells from a cell on.
    pub const fn at(reg: Reg, cell: u8, count: u8) -> RegUse {
        RegUse { reg, cell, count, flags: RegFlags::NONE }
    }
}

/// `c[bank][base + offset]`, or `cx[ureg][offset]` where a handle is given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConstRef {
    /// Number of the bank; means nothing where there is a handle.
    pub bank: u8,
    /// What is done to the constant as it is read.
    pub flags: RegFlags,
    /// RZ when there is none.
    pub base: Reg,
    /// The cell of the base within a virtual register.
    pub base_cell: u8,
    /// Bindless: a uniform register pair (or URZ) in place of the bank number. RZ when there is
    /// none.
    pub handle: Reg,
    /// `.H0_H0`, `.B1`, or none.
    pub part: Mod,
    /// Byte offset.
    pub offset: i32,
}

impl ConstRef {
    /// `cx[UR4][0x10]`
    pub fn is_bindless(&self) -> bool {
        self.handle.file() == RegFile::UR
    }
}

/// `[base.sel + uniform + offset]`. The descriptor of a global access is an operand of its own
/// before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemRef {
    /// General base register (RZ when there is none) and its cells: 2 for a 64-bit address.
    pub base: RegUse,
    /// Uniform register added (URZ when there is none).
    pub uniform: RegUse,
    /// Byte offset.
    pub offset: i32,
    /// `.64`, `.U32`, `.X4`, `.X8`, `.X16` on the base, or none.
    pub sel: Mod,
}

/// One operand. Every slot of the instruction's row is there, in the row's order, destinations
/// first; a slot that the text leaves out holds its default (PT, RZ …).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A register and so many of its cells.
    Reg(RegUse),
    /// A register with a part selector: `R4.H0_H0`, `R5.B1`, `R2.U32`.
    Part(RegUse, Mod),
    /// Immediate bits; how they print (hex, float) is the slot's matter. Sign-extended where the
    /// slot is signed.
    Imm(u64),
    /// A word, or several, of a constant bank.
    Const(ConstRef),
    /// A place in memory.
    Mem(MemRef),
    /// A special register (`SR_TID.X`): its number in the target's table.
    Special(u8),
    /// A branch target before layout is final.
    Block(BlockId),
    /// A branch target as byte offset within the function's text.
    Addr(u64),
    /// 32 bits (`part` 0 low, 1 high) of a symbol's address + addend: a relocation. `part` 2 is a
    /// function as the target of a call.
    Symbol {
        /// Whose address.
        key: SymbolKey,
        /// Bytes that are added to the address.
        addend: i32,
        /// Which 32 bits, or 2: see [`Operand::Symbol`].
        part: u8,
    },
    /// `desc[UR4]`, `gdesc[UR4].tnspB`: a descriptor in uniform registers; what kind it is is the
    /// slot's matter.
    Desc(RegUse),
}

const _: () = assert!(
    size_of::<Operand>() <= 24,
    "operands fill the cache: every walk over instructions pays for each byte"
);

impl Operand {
    /// Reads as zero; as a destination drops the result.
    pub const RZ: Operand = Operand::Reg(RegUse::new(Reg::RZ));
    /// The same of the uniform file.
    pub const URZ: Operand = Operand::Reg(RegUse::new(Reg::URZ));
    /// Reads as true; as a destination drops the result.
    pub const PT: Operand = Operand::Reg(RegUse::new(Reg::PT));
    /// The same of the uniform predicates.
    pub const UPT: Operand = Operand::Reg(RegUse::new(Reg::UPT));
    /// `!PT`: false.
    pub const NOT_PT: Operand =
        Operand::Reg(RegUse { reg: Reg::PT, cell: 0, count: 1, flags: RegFlags::NOT });

    /// The first cell of a register.
    pub const fn reg(reg: Reg) -> Operand {
        Operand::Reg(RegUse::new(reg))
    }

    /// `c[bank][offset]`
    pub const fn constant(bank: u8, offset: i32) -> Operand {
        Operand::Const(ConstRef {
            bank,
            flags: RegFlags::NONE,
            base: Reg::RZ,
            base_cell: 0,
            handle: Reg::RZ,
            part: Mod::NONE,
            offset,
        })
    }

    /// The register of an operand that is one, with or without a part or as a descriptor.
    pub fn as_reg(&self) -> Option<&RegUse> {
        match self {
            Operand::Reg(r) | Operand::Part(r, _) | Operand::Desc(r) => Some(r),
            _ => None,
        }
    }

    /// Calls `f` on each register that this operand names, address parts included.
    pub fn for_each_reg(&self, mut f: impl FnMut(RegUse)) {
        match *self {
            Operand::Reg(r) | Operand::Part(r, _) | Operand::Desc(r) => f(r),
            Operand::Const(c) => {
                f(RegUse::at(c.base, c.base_cell, 1));
                if c.is_bindless() {
                    f(RegUse::wide(c.handle, 2));
                }
            }
            Operand::Mem(m) => {
                f(m.base);
                f(m.uniform);
            }
            _ => {}
        }
    }

    /// Replaces each register that this operand names.
    pub fn map_regs(&mut self, mut f: impl FnMut(RegUse) -> RegUse) {
        match self {
            Operand::Reg(r) | Operand::Part(r, _) | Operand::Desc(r) => *r = f(*r),
            Operand::Const(c) => {
                let base = f(RegUse::at(c.base, c.base_cell, 1));
                (c.base, c.base_cell) = (base.reg, base.cell);
                if c.is_bindless() {
                    c.handle = f(RegUse::wide(c.handle, 2)).reg;
                }
            }
            Operand::Mem(m) => {
                m.base = f(m.base);
                m.uniform = f(m.uniform);
            }
            _ => {}
        }
    }

    /// The file of an operand that is a register.
    pub fn file(&self) -> Option<RegFile> {
        self.as_reg().map(|r| r.reg.file())
    }
}
