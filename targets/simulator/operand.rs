//! Operands as the engine reads them: constants folded, registers turned into rows of the register
//! file.
//!
//! Constant banks do not change during a launch, so `c[bank][offset]` becomes an immediate before
//! the first instruction runs.

use orias_components::{RegFile, RegFlags, RegUse};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One 32-bit value a lane.
pub type Lanes = [u32; LANES];

/// One value of up to 64 bits a lane.
pub type Lanes64 = [u64; LANES];

/// Convergence barrier registers of a warp.
pub const BARRIERS: usize = 16;

/// Group scoreboards of a warp.
pub const GROUPS: usize = 8;

/// Calls `f` for each lane of a mask, lowest first.
#[inline]
pub fn each_lane(mut mask: u32, mut f: impl FnMut(usize)) {
    while mask != 0 {
        f(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

/// Rows of the register file before R0: zeros for RZ as source, and a place for results that go to
/// RZ.
pub const ROW_ZERO: u16 = 0;
pub const ROW_NOWHERE: u16 = 1;
pub const FIRST_ROW: u16 = 2;

/// Places of predicates: P0..P6, PT, and a place for results that go to PT.
pub const PRED_TRUE: u8 = 7;
pub const PRED_NOWHERE: u8 = 8;

/// Places of uniform registers: UR0..UR62, URZ, and a place for results that go to URZ.
pub const UREG_ZERO: u8 = 63;
pub const UREG_NOWHERE: u8 = 64;

/// Where a source value stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Row of the register file.
    Row(u16),
    /// Uniform register.
    Uniform(u8),
    Imm(u64),
}

/// What is done to a value as it is read: `((x & and) ^ xor) + add`. Covers `-x`, `~x`, `|x|` of
/// integers and floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adjust {
    pub and: u64,
    pub xor: u64,
    pub add: u64,
}

impl Adjust {
    pub const NONE: Adjust = Adjust { and: !0, xor: 0, add: 0 };

    #[inline(always)]
    pub fn apply(self, x: u64) -> u64 {
        ((x & self.and) ^ self.xor).wrapping_add(self.add)
    }

    /// Sign operations on floats whose sign bits are `signs`.
    pub fn float(flags: RegFlags, signs: u64) -> Adjust {
        let and = if flags.has(RegFlags::ABS) { !signs } else { !0 };
        let xor = if flags.has(RegFlags::NEG) { signs } else { 0 };
        Adjust { and, xor, add: 0 }
    }

    /// Two's complement and complement.
    pub fn integer(flags: RegFlags) -> Adjust {
        match (flags.has(RegFlags::NOT), flags.has(RegFlags::NEG)) {
            (true, _) => Adjust { and: !0, xor: !0, add: 0 },
            (_, true) => Adjust { and: !0, xor: !0, add: 1 },
            _ => Adjust::NONE,
        }
    }
}

/// A part of a register, picked after the read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Whole,
    /// The byte at this bit, zero-extended.
    Byte(u8),
    /// The half at this bit, zero-extended.
    Half(u8),
    /// `H0_H0`, `H1_H1`: the half at this bit, twice.
    Both(u8),
    /// `H0_NH1`: the halves change places.
    Swapped,
}

/// A source of a lane operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Src {
    pub place: Place,
    /// Reads two cells.
    pub wide: bool,
    pub part: Part,
    pub adjust: Adjust,
}

impl Src {
    pub const ZERO: Src = Src::imm(0);

    pub const fn imm(value: u64) -> Src {
        Src { place: Place::Imm(value), wide: false, part: Part::Whole, adjust: Adjust::NONE }
    }

    pub fn is_constant_zero(&self) -> bool {
        self.adjust == Adjust::NONE && matches!(self.place, Place::Imm(0) | Place::Row(ROW_ZERO))
    }
}

/// A destination of one to four cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dst {
    Row(u16),
    Uniform(u8),
}

impl Dst {
    pub const NOWHERE: Dst = Dst::Row(ROW_NOWHERE);
}

/// A predicate as source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredSrc {
    pub uniform: bool,
    pub index: u8,
    pub not: bool,
}

impl PredSrc {
    pub const TRUE: PredSrc = PredSrc { uniform: false, index: PRED_TRUE, not: false };
    pub const FALSE: PredSrc = PredSrc { uniform: false, index: PRED_TRUE, not: true };
}

/// A predicate as destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredDst {
    pub uniform: bool,
    pub index: u8,
}

impl PredDst {
    pub const NOWHERE: PredDst = PredDst { uniform: false, index: PRED_NOWHERE };
}

/// Why a register operand cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegisterError {
    #[error("{name} is not a machine register")]
    Virtual { name: String },
    #[error("{name} lies past the {limit} registers of the kernel")]
    PastLimit { name: String, limit: u32 },
    #[error("{name} is not aligned to the {cells} registers that the instruction uses")]
    Unaligned { name: String, cells: u8 },
    #[error("{name} is not of the register file that this place takes")]
    WrongFile { name: String },
}

/// The first of `cells` registers, checked against the kernel's register count; None for RZ.
pub fn general(reg: RegUse, cells: u8, limit: u32) -> Result<Option<u16>, RegisterError> {
    general_aligned(reg, cells, cells.next_power_of_two(), limit)
}

/// The same where the number of the first is a multiple of `align`.
pub fn general_aligned(
    reg: RegUse,
    cells: u8,
    align: u8,
    limit: u32,
) -> Result<Option<u16>, RegisterError> {
    let name = || reg.reg.to_string();
    if reg.reg.file() != RegFile::R {
        return Err(RegisterError::WrongFile { name: name() });
    }
    if reg.reg.is_zero() {
        return Ok(None);
    }
    let index = reg.reg.phys_index().ok_or_else(|| RegisterError::Virtual { name: name() })?;
    if index + u32::from(cells) > limit {
        return Err(RegisterError::PastLimit { name: name(), limit });
    }
    if !index.is_multiple_of(u32::from(align)) {
        return Err(RegisterError::Unaligned { name: name(), cells });
    }
    Ok(Some(index as u16 + FIRST_ROW))
}

/// The number of a uniform register; None for URZ.
pub fn uniform(reg: RegUse, cells: u8) -> Result<Option<u8>, RegisterError> {
    let name = || reg.reg.to_string();
    if reg.reg.file() != RegFile::UR {
        return Err(RegisterError::WrongFile { name: name() });
    }
    if reg.reg.is_zero() {
        return Ok(None);
    }
    let index = reg.reg.phys_index().ok_or_else(|| RegisterError::Virtual { name: name() })?;
    if index + u32::from(cells) > u32::from(UREG_ZERO) {
        return Err(RegisterError::PastLimit { name: name(), limit: u32::from(UREG_ZERO) });
    }
    if cells > 1 && !index.is_multiple_of(u32::from(cells).next_power_of_two()) {
        return Err(RegisterError::Unaligned { name: name(), cells });
    }
    Ok(Some(index as u8))
}

/// A predicate source.
pub fn predicate(reg: RegUse) -> Result<PredSrc, RegisterError> {
    let dst = predicate_place(reg, PRED_TRUE)?;
    let not = reg.flags.has(RegFlags::NOT);
    Ok(PredSrc { uniform: dst.uniform, index: dst.index, not })
}

/// A predicate destination.
pub fn predicate_dst(reg: RegUse) -> Result<PredDst, RegisterError> {
    predicate_place(reg, PRED_NOWHERE)
}

fn predicate_place(reg: RegUse, constant: u8) -> Result<PredDst, RegisterError> {
    let name = || reg.reg.to_string();
    if !reg.reg.file().is_predicate() {
        return Err(RegisterError::WrongFile { name: name() });
    }
    let uniform = reg.reg.file() == RegFile::UP;
    if reg.reg.is_zero() {
        return Ok(PredDst { uniform, index: constant });
    }
    match reg.reg.phys_index() {
        None => Err(RegisterError::Virtual { name: name() }),
        Some(i) if i < u32::from(PRED_TRUE) => Ok(PredDst { uniform, index: i as u8 }),
        Some(_) => Err(RegisterError::PastLimit { name: name(), limit: u32::from(PRED_TRUE) }),
    }
}
