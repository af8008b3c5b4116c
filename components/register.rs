//! Registers: the five files, virtual and physical names, and what is known of a virtual register.

use crate::ids::VRegId;
use bevy_ecs::prelude::*;
use std::fmt;

/// A register file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum RegFile {
    /// General, 32 bits a thread.
    R = 0,
    /// Uniform, 32 bits a warp.
    UR = 1,
    /// Predicate, one bit a thread.
    P = 2,
    /// Uniform predicate, one bit a warp.
    UP = 3,
    /// Convergence barrier, a thread mask a warp.
    B = 4,
}

impl RegFile {
    /// All files, in the order of their numbers.
    pub const ALL: [RegFile; 5] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B];

    /// What stands before a register's number in the text.
    #[inline]
    pub const fn prefix(self) -> &'static str {
        match self {
            RegFile::R => "R",
            RegFile::UR => "UR",
            RegFile::P => "P",
            RegFile::UP => "UP",
            RegFile::B => "B",
        }
    }

    /// Whether its registers are one bit.
    pub const fn is_predicate(self) -> bool {
        matches!(self, RegFile::P | RegFile::UP)
    }

    /// Whether a warp has its registers once.
    pub const fn is_uniform(self) -> bool {
        matches!(self, RegFile::UR | RegFile::UP)
    }
}

/// A register name in an operand: a virtual register, a physical one, or the file's constant
/// register (RZ, URZ read as zero; PT, UPT read as true; writes to them are dropped).
///
/// Packed in 32 bits: physical in 31, file in 28..31, 27 is always clear (a guard keeps its
/// negation there), index below (all ones is the constant register).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(u32);

impl Reg {
    const PHYS: u32 = 1 << 31;
    const INDEX: u32 = (1 << 27) - 1;
    /// Zero.
    pub const RZ: Reg = Reg::zero(RegFile::R);
    /// Zero of the uniform file.
    pub const URZ: Reg = Reg::zero(RegFile::UR);
    /// True.
    pub const PT: Reg = Reg::zero(RegFile::P);
    /// True of the uniform predicates.
    pub const UPT: Reg = Reg::zero(RegFile::UP);

    /// The constant register of a file.
    #[inline]
    pub const fn zero(file: RegFile) -> Reg {
        Reg(Self::PHYS | (file as u32) << 28 | Self::INDEX)
    }

    /// The physical register with a number: 4 of [`RegFile::R`] is R4.
    #[inline]
    pub const fn phys(file: RegFile, index: u32) -> Reg {
        Reg(Self::PHYS | (file as u32) << 28 | (index & Self::INDEX))
    }

    /// A virtual register; its file is that of its [`VReg`].
    #[inline]
    pub const fn virt(file: RegFile, id: VRegId) -> Reg {
        Reg((file as u32) << 28 | (id.0 & Self::INDEX))
    }

    /// The register's file.
    #[inline]
    pub const fn file(self) -> RegFile {
        match (self.0 >> 28) & 7 {
            0 => RegFile::R,
            1 => RegFile::UR,
            2 => RegFile::P,
            3 => RegFile::UP,
            _ => RegFile::B,
        }
    }

    /// Whether it is the constant register of its file.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 & (Self::PHYS | Self::INDEX) == Self::PHYS | Self::INDEX
    }

    /// Whether it is physical; constant registers are.
    #[inline]
    pub const fn is_phys(self) -> bool {
        self.0 & Self::PHYS != 0
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Reg {
        Reg(bits)
    }

    /// The id of a virtual register.
    #[inline]
    pub const fn vreg(self) -> Option<VRegId> {
        if self.is_phys() { None } else { Some(VRegId(self.0 & Self::INDEX)) }
    }

    /// The number of a physical register that is not the constant one.
    #[inline]
    pub const fn phys_index(self) -> Option<u32> {
        if self.is_phys() && !self.is_zero() { Some(self.0 & Self::INDEX) } else { None }
    }
}

/// `R5`, `UPT`, and `%R12` for virtual registers.
impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.file().prefix();
        match (self.is_zero(), self.file()) {
            (true, file) if file.is_predicate() => write!(f, "{prefix}T"),
            (true, _) => write!(f, "{prefix}Z"),
            _ if self.is_phys() => write!(f, "{prefix}{}", self.0 & Self::INDEX),
            _ => write!(f, "%{prefix}{}", self.0 & Self::INDEX),
        }
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A virtual register: a component on its own entity.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
pub struct VReg {
    /// The file that its names have.
    pub file: RegFile,
    /// Width in 32-bit cells (1 for predicates and barriers).
    pub cells: u8,
    /// Alignment of the first cell, in cells: a power of two.
    pub align: u8,
    /// The physical register of the first cell, once allocated (or from the start: precoloured).
    pub assigned: Option<u8>,
}

const _: () = assert!(size_of::<VReg>() == 5, "in SSA form there is one for each instruction");
