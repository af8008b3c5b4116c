//! Operands as they lie in a function's arena: eight bytes each, what is wider in side arenas.
//!
//! Registers, immediates of 32 bits, plain constants and block names fit the word; memory
//! references, relocated symbols, indexed or bindless constants and wider immediates are found
//! through it. A side entry belongs to one operand only, so it may be changed in place.

use crate::ids::BlockId;
use crate::modifier::Mod;
use crate::operand::{ConstRef, MemRef, Operand, RegFlags, RegUse};
use crate::register::Reg;

/// One operand in eight bytes: 32 bits of payload, then cell, count, flags (8 bits each), part and
/// kind (4 bits each).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed(u64);

const _: () = assert!(size_of::<Packed>() == 8, "every walk over operands pays for each byte");

/// What a word holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A register and cells.
    Reg,
    /// A register with a part of [`PARTS`].
    Part,
    /// A descriptor in uniform registers.
    Desc,
    /// A register with any other part: in a side arena.
    OtherPart,
    /// A value below 2^32.
    Imm,
    /// A negative value that fits 32 bits.
    NegativeImm,
    /// Any other value: in a side arena.
    WideImm,
    /// `c[bank][offset]` and no more.
    Const,
    /// With a base, a handle or a part: in a side arena.
    WideConst,
    /// In a side arena.
    Mem,
    /// The number of a special register.
    Special,
    /// The id of a block.
    Block,
    /// An offset below 2^32 bytes.
    Addr,
    /// In a side arena.
    WideAddr,
    /// In a side arena.
    Symbol,
}

/// The usual part selectors: a word names one by its place here.
const PARTS: [Mod; 16] = [
    Mod::H0_H0,
    Mod::H1_H1,
    Mod::H1_H0,
    Mod::H0_NH1,
    Mod::H0,
    Mod::H1,
    Mod::B0,
    Mod::B1,
    Mod::B2,
    Mod::B3,
    Mod::U32,
    Mod::U16,
    Mod::ROW,
    Mod::COL,
    Mod::SIGN,
    Mod::NONE,
];

/// The arenas of what does not fit a word.
#[derive(Clone, Debug, Default)]
pub struct Side {
    mems: Vec<MemRef>,
    consts: Vec<ConstRef>,
    values: Vec<u64>,
    parts: Vec<(RegUse, Mod)>,
    symbols: Vec<Operand>,
    /// Whether an operand names a physical register that is not constant, or did.
    physical: bool,
}

impl Side {
    /// See [`Body::names_physical`](crate::Body::names_physical).
    pub fn names_physical(&self) -> bool {
        self.physical
    }

    /// Notes that an operand names a register.
    #[inline]
    pub fn note(&mut self, r: RegUse) {
        self.physical |= r.reg.phys_index().is_some();
    }

    /// Makes room for so many times what there is.
    pub fn expect(&mut self, more: impl Fn(usize) -> usize) {
        self.mems.reserve_exact(more(self.mems.len()));
        self.consts.reserve_exact(more(self.consts.len()));
        self.values.reserve_exact(more(self.values.len()));
        self.parts.reserve_exact(more(self.parts.len()));
        self.symbols.reserve_exact(more(self.symbols.len()));
    }

    /// Forgets everything, keeps allocations.
    pub fn clear(&mut self) {
        self.mems.clear();
        self.consts.clear();
        self.values.clear();
        self.parts.clear();
        self.symbols.clear();
        self.physical = false;
    }
}

/// Overwrites the entry, or appends one: its index.
fn put<T>(arena: &mut Vec<T>, at: Option<u32>, value: T) -> u32 {
    match at {
        Some(at) => {
            arena[at as usize] = value;
            at
        }
        None => {
            arena.push(value);
            arena.len() as u32 - 1
        }
    }
}

impl Packed {
    const fn new(kind: Kind, payload: u32) -> Packed {
        Packed(payload as u64 | (kind as u64) << 60)
    }

    pub(crate) const fn of_reg(kind: Kind, r: RegUse) -> Packed {
        Packed(
            r.reg.bits() as u64
                | (r.cell as u64) << 32
                | (r.count as u64) << 40
                | (r.flags.0 as u64) << 48
                | (kind as u64) << 60,
        )
    }

    /// What the word holds.
    #[inline]
    pub const fn kind(self) -> Kind {
        match self.0 >> 60 {
            0 => Kind::Reg,
            1 => Kind::Part,
            2 => Kind::Desc,
            3 => Kind::OtherPart,
            4 => Kind::Imm,
            5 => Kind::NegativeImm,
            6 => Kind::WideImm,
            7 => Kind::Const,
            8 => Kind::WideConst,
            9 => Kind::Mem,
            10 => Kind::Special,
            11 => Kind::Block,
            12 => Kind::Addr,
            13 => Kind::WideAddr,
            _ => Kind::Symbol,
        }
    }

    pub(crate) const fn payload(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) const fn reg_bits(self) -> RegUse {
        RegUse {
            reg: Reg::from_bits(self.0 as u32),
            cell: (self.0 >> 32) as u8,
            count: (self.0 >> 40) as u8,
            flags: RegFlags((self.0 >> 48) as u8),
        }
    }

    /// Packs an operand, its side entry at the end of its arena.
    pub fn pack(operand: &Operand, side: &mut Side) -> Packed {
        Packed::pack_over(None, operand, side)
    }

    /// Packs an operand in the place of another, whose side entry it takes over where it has the
    /// same kind.
    #[inline]
    pub fn pack_over(old: Option<Packed>, operand: &Operand, side: &mut Side) -> Packed {
        // Most are registers.
        if let Operand::Reg(r) = *operand {
            side.note(r);
            return Packed::of_reg(Kind::Reg, r);
        }
        Packed::pack_other(old, operand, side)
    }

    fn pack_other(old: Option<Packed>, operand: &Operand, side: &mut Side) -> Packed {
        let at = |kind: Kind| old.filter(|o| o.kind() == kind).map(Packed::payload);
        match *operand {
            Operand::Reg(r) => {
                side.note(r);
                Packed::of_reg(Kind::Reg, r)
            }
            Operand::Part(r, part) => {
                side.note(r);
                match PARTS.iter().position(|p| *p == part) {
                    Some(n) => Packed(Packed::of_reg(Kind::Part, r).0 | (n as u64) << 56),
                    None => {
                        let n = put(&mut side.parts, at(Kind::OtherPart), (r, part));
                        Packed::new(Kind::OtherPart, n)
                    }
                }
            }
            Operand::Desc(r) => {
                side.note(r);
                Packed::of_reg(Kind::Desc, r)
            }
            Operand::Imm(v) if v <= u64::from(u32::MAX) => Packed::new(Kind::Imm, v as u32),
            Operand::Imm(v) if v as i64 >= i64::from(i32::MIN) && (v as i64) < 0 => {
                Packed::new(Kind::NegativeImm, v as u32)
            }
            Operand::Imm(v) => {
                Packed::new(Kind::WideImm, put(&mut side.values, at(Kind::WideImm), v))
            }
            Operand::Const(c)
                if c.base == Reg::RZ
                    && c.base_cell == 0
                    && c.handle == Reg::RZ
                    && c.part == Mod::NONE =>
            {
                let word = Packed::new(Kind::Const, c.offset as u32);
                Packed(word.0 | u64::from(c.bank) << 32 | u64::from(c.flags.0) << 48)
            }
            Operand::Const(c) => {
                operand.for_each_reg(|r| side.note(r));
                Packed::new(Kind::WideConst, put(&mut side.consts, at(Kind::WideConst), c))
            }
            Operand::Mem(m) => {
                side.note(m.base);
                side.note(m.uniform);
                Packed::new(Kind::Mem, put(&mut side.mems, at(Kind::Mem), m))
            }
            Operand::Special(n) => Packed::new(Kind::Special, u32::from(n)),
            Operand::Block(b) => Packed::new(Kind::Block, b.0),
            Operand::Addr(a) if a <= u64::from(u32::MAX) => Packed::new(Kind::Addr, a as u32),
            Operand::Addr(a) => {
                Packed::new(Kind::WideAddr, put(&mut side.values, at(Kind::WideAddr), a))
            }
            Operand::Symbol { .. } => {
                Packed::new(Kind::Symbol, put(&mut side.symbols, at(Kind::Symbol), *operand))
            }
        }
    }

    /// The operand by value.
    #[inline]
    pub fn unpack(self, side: &Side) -> Operand {
        // Most are registers.
        if self.kind() == Kind::Reg {
            return Operand::Reg(self.reg_bits());
        }
        self.unpack_other(side)
    }

    fn unpack_other(self, side: &Side) -> Operand {
        let at = self.payload() as usize;
        match self.kind() {
            Kind::Reg => Operand::Reg(self.reg_bits()),
            Kind::Part => Operand::Part(self.reg_bits(), PARTS[(self.0 >> 56) as usize & 15]),
            Kind::OtherPart => Operand::Part(side.parts[at].0, side.parts[at].1),
            Kind::Desc => Operand::Desc(self.reg_bits()),
            Kind::Imm => Operand::Imm(u64::from(self.payload())),
            Kind::NegativeImm => Operand::Imm(self.payload() as i32 as i64 as u64),
            Kind::WideImm => Operand::Imm(side.values[at]),
            Kind::Const => Operand::Const(ConstRef {
                bank: (self.0 >> 32) as u8,
                flags: RegFlags((self.0 >> 48) as u8),
                base: Reg::RZ,
                base_cell: 0,
                handle: Reg::RZ,
                part: Mod::NONE,
                offset: self.payload() as i32,
            }),
            Kind::WideConst => Operand::Const(side.consts[at]),
            Kind::Mem => Operand::Mem(side.mems[at]),
            Kind::Special => Operand::Special(self.payload() as u8),
            Kind::Block => Operand::Block(BlockId(self.payload())),
            Kind::Addr => Operand::Addr(u64::from(self.payload())),
            Kind::WideAddr => Operand::Addr(side.values[at]),
            Kind::Symbol => side.symbols[at],
        }
    }

    /// The register of an operand that is one, with or without a part or as a descriptor.
    #[inline]
    pub fn as_reg(self, side: &Side) -> Option<RegUse> {
        match self.kind() {
            Kind::Reg | Kind::Part | Kind::Desc => Some(self.reg_bits()),
            Kind::OtherPart => Some(side.parts[self.payload() as usize].0),
            _ => None,
        }
    }

    /// Calls `f` on each register that this operand names, address parts included, constant
    /// registers too.
    #[inline]
    pub fn for_each_reg(self, side: &Side, mut f: impl FnMut(RegUse)) {
        match self.kind() {
            Kind::Reg | Kind::Part | Kind::Desc => f(self.reg_bits()),
            Kind::Mem => {
                let m = &side.mems[self.payload() as usize];
                f(m.base);
                f(m.uniform);
            }
            Kind::OtherPart => f(side.parts[self.payload() as usize].0),
            Kind::WideConst => {
                let c = &side.consts[self.payload() as usize];
                f(RegUse::at(c.base, c.base_cell, 1));
                if c.is_bindless() {
                    f(RegUse::wide(c.handle, 2));
                }
            }
            _ => {}
        }
    }

    /// The block that it names.
    #[inline]
    pub fn as_block(self) -> Option<BlockId> {
        (self.kind() == Kind::Block).then(|| BlockId(self.payload()))
    }

    /// The word of an operand that names another block.
    pub(crate) fn with_block(self, block: BlockId) -> Packed {
        Packed(self.0 & !u64::from(u32::MAX) | u64::from(block.0))
    }

    /// The same operand in another body, its side entry at the end of its arena.
    #[inline]
    pub(crate) fn adopted(self, from: &Side, to: &mut Side) -> Packed {
        match self.kind() {
            Kind::Reg
            | Kind::Part
            | Kind::Desc
            | Kind::Imm
            | Kind::NegativeImm
            | Kind::Const
            | Kind::Special
            | Kind::Block
            | Kind::Addr => self,
            _ => Packed::pack(&self.unpack(from), to),
        }
    }

    /// Replaces each register that this operand names.
    #[inline]
    pub fn map_regs(&mut self, side: &mut Side, mut f: impl FnMut(RegUse) -> RegUse) {
        match self.kind() {
            Kind::Reg | Kind::Part | Kind::Desc => {
                let kept = self.0 & (0xff << 56);
                let new = f(self.reg_bits());
                side.note(new);
                self.0 = Packed::of_reg(Kind::Reg, new).0 | kept;
            }
            Kind::Mem => {
                let m = &mut side.mems[self.payload() as usize];
                m.base = f(m.base);
                m.uniform = f(m.uniform);
                let new = [m.base, m.uniform];
                new.into_iter().for_each(|r| side.note(r));
            }
            Kind::OtherPart | Kind::WideConst => {
                let mut operand = self.unpack(side);
                operand.map_regs(f);
                *self = Packed::pack_over(Some(*self), &operand, side);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::VRegId;
    use crate::register::RegFile;
    use crate::symbol::SymbolKey;

    fn samples() -> Vec<Operand> {
        let v = Reg::virt(RegFile::R, VRegId(77));
        let u = RegUse { reg: v, cell: 3, count: 64, flags: RegFlags(0x9f) };
        let plain = Operand::constant(3, -4);
        let Operand::Const(c) = plain else { unreachable!("a constant") };
        let handle = Reg::phys(RegFile::UR, 4);
        let mem = MemRef { base: u, uniform: RegUse::new(Reg::URZ), offset: -16, sel: Mod::X8 };
        let mut all = vec![
            Operand::Reg(u),
            Operand::Desc(u),
            plain,
            Operand::Const(ConstRef { flags: RegFlags::NEG, ..c }),
            Operand::Const(ConstRef { base: v, base_cell: 1, ..c }),
            Operand::Const(ConstRef { handle, part: Mod::H1_H1, ..c }),
            Operand::Mem(mem),
            Operand::Special(255),
            Operand::Block(BlockId(u32::MAX)),
            Operand::Addr(7),
            Operand::Addr(u64::MAX),
            Operand::Symbol { key: SymbolKey::default(), addend: -1, part: 2 },
            Operand::RZ,
            Operand::NOT_PT,
        ];
        all.extend(PARTS.iter().chain(&[Mod::X4, Mod::E]).map(|p| Operand::Part(u, *p)));
        let values =
            [0, 1, u32::MAX as u64, 1 << 32, u64::MAX, i64::MIN as u64, i32::MIN as i64 as u64];
        all.extend(values.map(Operand::Imm));
        all.push(Operand::Imm((i64::from(i32::MIN) - 1) as u64));
        all
    }

    #[test]
    fn what_is_packed_comes_back() {
        let mut side = Side::default();
        let words: Vec<Packed> = samples().iter().map(|o| Packed::pack(o, &mut side)).collect();
        for (word, operand) in words.iter().zip(samples()) {
            assert_eq!(word.unpack(&side), operand);
        }
    }

    #[test]
    fn any_operand_may_take_the_place_of_any_other() {
        for old in samples() {
            for new in samples() {
                let mut side = Side::default();
                let other = Packed::pack(&Operand::Imm(1 << 40), &mut side);
                let first = Packed::pack(&old, &mut side);
                let second = Packed::pack_over(Some(first), &new, &mut side);
                assert_eq!(second.unpack(&side), new, "in place of {old}");
                assert_eq!(other.unpack(&side), Operand::Imm(1 << 40));
            }
        }
    }

    #[test]
    fn registers_are_seen_and_replaced_as_in_the_operand_itself() {
        let to = Reg::phys(RegFile::R, 9);
        for operand in samples() {
            let mut side = Side::default();
            let mut word = Packed::pack(&operand, &mut side);
            let is_named = |r: &RegUse| !r.reg.is_zero();
            let (mut seen, mut expected) = (Vec::new(), Vec::new());
            word.for_each_reg(&side, |r| seen.push(r));
            operand.for_each_reg(|r| expected.push(r));
            // A plain constant names RZ as its base, which no reader wants.
            assert!(
                seen.iter().filter(|r| is_named(r)).eq(expected.iter().filter(|r| is_named(r)))
            );
            let turn = |r: RegUse| if r.reg.is_zero() { r } else { RegUse { reg: to, ..r } };
            let mut changed = operand;
            changed.map_regs(turn);
            word.map_regs(&mut side, turn);
            assert_eq!(word.unpack(&side), changed);
        }
    }
}
