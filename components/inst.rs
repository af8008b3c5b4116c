//! Instructions: the hot component, and the cold ones beside it.

use crate::control::Control;
use crate::ids::BlockId;
use crate::modifier::Mods;
use crate::mods::{ModsId, ModsTable};
use crate::opcode::Opcode;
use crate::operand::{Operand, RegFlags, RegUse};
use crate::packed::{Kind, Packed, Side};
use crate::register::Reg;
use bevy_ecs::prelude::*;
use smallvec::SmallVec;
use std::ops::Range;

/// The predicate under which an instruction runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// A predicate of file P, or UP for uniform instructions; PT / UPT is "always".
    pub reg: Reg,
    /// It runs where the predicate is false: `@!P0`.
    pub negated: bool,
}

impl Guard {
    /// No guard in the text: `@PT`.
    pub const ALWAYS: Guard = Guard { reg: Reg::PT, negated: false };

    /// Whether the guard is `@PT`; `@!PT` (never) is a guard.
    pub fn is_always(&self) -> bool {
        self.reg.is_zero() && !self.negated
    }
}

/// An instruction by value: what builders make, decoding gives and a phase changes. In a body it
/// lies packed, as a [`Row`].
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// What it does; the modifiers say how.
    pub op: Opcode,
    /// How many of the operands, from the first, are destinations.
    pub defs: u8,
    /// Stall, yield and scoreboards.
    pub control: Control,
    /// The predicate under which it runs.
    pub guard: Guard,
    /// The words behind the mnemonic.
    pub mods: Mods,
    /// Destinations, then sources: one for every slot of the row.
    pub operands: SmallVec<[Operand; 8]>,
    /// Of a guarded instruction in SSA form: what its destinations hold where the guard is false,
    /// one for each destination that is a register and no constant one, in their order. Empty where
    /// nothing is known of that.
    pub tied: SmallVec<[RegUse; 1]>,
}

impl Inst {
    /// An unguarded instruction without ties, its control fields the default.
    pub fn new(op: Opcode, mods: &[crate::Mod], defs: u8, operands: &[Operand]) -> Inst {
        Inst {
            op,
            defs,
            control: Control::default(),
            guard: Guard::ALWAYS,
            mods: Mods::new(mods),
            operands: SmallVec::from_slice(operands),
            tied: SmallVec::new(),
        }
    }

    /// The same under a predicate.
    pub fn guarded(mut self, reg: Reg, negated: bool) -> Inst {
        self.guard = Guard { reg, negated };
        self
    }

    /// The operands that it writes; RZ and PT stand where a result is dropped.
    pub fn dests(&self) -> &[Operand] {
        &self.operands[..self.defs as usize]
    }

    /// The operands that it reads, without the guard.
    pub fn sources(&self) -> &[Operand] {
        &self.operands[self.defs as usize..]
    }

    /// Replaces every register that it names, guard included.
    pub fn map_regs(&mut self, mut f: impl FnMut(RegUse) -> RegUse) {
        self.guard.reg = f(RegUse::new(self.guard.reg)).reg;
        for operand in &mut self.operands {
            operand.map_regs(&mut f);
        }
        for tied in &mut self.tied {
            *tied = f(*tied);
        }
    }

    /// Registers written, without RZ/PT. A guarded instruction keeps the old value where its guard
    /// is false.
    pub fn for_each_def(&self, mut f: impl FnMut(RegUse)) {
        for op in self.dests() {
            op.for_each_reg(|r| {
                if !r.reg.is_zero() {
                    f(r)
                }
            });
        }
    }

    /// Registers read, guard and tied ones included, without RZ/PT.
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
        self.tied.iter().filter(|r| !r.reg.is_zero()).for_each(|r| f(*r));
    }
}

/// The hot component of an instruction. Its operands are `len` words from `first` on in the
/// function's arena, tied registers the words behind them, its modifiers an entry of the table of
/// modifier lists; [`View`] reads it all.
#[derive(Component, Clone, Copy, Debug)]
pub struct Row {
    pub(crate) op: Opcode,
    pub(crate) mods: ModsId,
    pub(crate) first: u32,
    /// The register, and the negation in the bit that registers leave clear.
    guard: u32,
    /// Bits of [`Control`], [`DEAD`], the number of tied registers, and the number of destinations
    /// in the upper byte.
    control: u32,
    pub(crate) len: u16,
    /// 1 + the index of the target's form that takes the instruction as it is, once a phase has
    /// said so; else 0.
    pub(crate) form: u16,
}

const _: () = assert!(size_of::<Row>() == 20, "every walk over instructions pays for each byte");

const NEGATED: u32 = 1 << 27;

/// The instruction was removed, or never was: a tombstone.
const DEAD: u32 = 1 << 20;

/// Where the number of tied registers stands: three bits.
const TIED: u32 = 21;

/// An instruction has at most so many tied registers.
pub const MOST_TIED: usize = 7;

impl Row {
    /// What stands in a row that no instruction has.
    pub const NONE: Row = Row {
        op: Opcode::NOP,
        mods: ModsId::NONE,
        first: 0,
        guard: 0,
        control: DEAD,
        len: 0,
        form: 0,
    };

    pub(crate) fn new(op: Opcode, mods: ModsId, defs: u8, (first, len): (u32, u16)) -> Row {
        let mut row = Row { op, mods, first, len, ..Row::NONE };
        row.control = u32::from(defs) << 24;
        row.set_control(Control::default());
        row.set_guard(Guard::ALWAYS);
        row
    }

    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.control & DEAD != 0
    }

    pub(crate) fn bury(&mut self) {
        self.control |= DEAD;
    }

    #[inline]
    pub(crate) fn guard(&self) -> Guard {
        let reg = Reg::from_bits(self.guard & !NEGATED);
        Guard { reg, negated: self.guard & NEGATED != 0 }
    }

    #[inline]
    pub(crate) fn set_guard(&mut self, guard: Guard) {
        self.guard = guard.reg.bits() | if guard.negated { NEGATED } else { 0 };
    }

    #[inline]
    pub(crate) fn defs(&self) -> u8 {
        (self.control >> 24) as u8
    }

    #[inline]
    pub(crate) fn tied(&self) -> usize {
        (self.control >> TIED) as usize & MOST_TIED
    }

    pub(crate) fn set_tied(&mut self, count: usize) {
        assert!(count <= MOST_TIED, "{count} tied registers");
        self.control = self.control & !((MOST_TIED as u32) << TIED) | (count as u32) << TIED;
    }

    #[inline]
    pub(crate) fn control(&self) -> Control {
        let bits = |at: u32, count: u32| (self.control >> at & ((1 << count) - 1)) as u8;
        Control {
            stall: bits(0, 5),
            yield_: bits(5, 1) != 0,
            write_sb: bits(6, 3),
            read_sb: bits(9, 3),
            wait: bits(12, 8),
        }
    }

    #[inline]
    pub(crate) fn set_control(&mut self, c: Control) {
        let bits = u32::from(c.stall & 31)
            | u32::from(c.yield_) << 5
            | u32::from(c.write_sb & 7) << 6
            | u32::from(c.read_sb & 7) << 9
            | u32::from(c.wait) << 12;
        self.control = self.control & (0xffe0_0000 | DEAD) | bits;
    }
}

/// An instruction of a body, for reading.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// What it does.
    pub op: Opcode,
    /// How many of the operands, from the first, are destinations.
    pub defs: u8,
    /// The predicate under which it runs.
    pub guard: Guard,
    row: &'a Row,
    words: &'a [Packed],
    tied: &'a [Packed],
    side: &'a Side,
    mods: &'a ModsTable,
}

impl<'a> View<'a> {
    #[inline]
    pub(crate) fn new(
        row: &'a Row,
        arena: &'a [Packed],
        side: &'a Side,
        mods: &'a ModsTable,
    ) -> View<'a> {
        let (first, len) = (row.first as usize, row.len as usize);
        let (words, tied) = arena[first..first + len + row.tied()].split_at(len);
        View { op: row.op, defs: row.defs(), guard: row.guard(), row, words, tied, side, mods }
    }

    /// The words behind the mnemonic.
    #[inline]
    pub fn mods(&self) -> &'a Mods {
        self.mods.get(self.row.mods)
    }

    /// The number of its list of modifiers: the same for instructions of one body with the same
    /// modifiers, and for no others.
    #[inline]
    pub fn mods_id(&self) -> ModsId {
        self.row.mods
    }

    /// Stall, yield and scoreboards.
    #[inline]
    pub fn control(&self) -> Control {
        self.row.control()
    }

    /// The operands as they lie in the arena.
    pub(crate) fn words(&self) -> &'a [Packed] {
        self.words
    }

    /// Number of operands.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it has no operands.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The operand at a place that there is.
    #[inline]
    pub fn operand(&self, at: usize) -> Operand {
        self.words[at].unpack(self.side)
    }

    /// The operand at a place, where there is one.
    pub fn get(&self, at: usize) -> Option<Operand> {
        self.words.get(at).map(|w| w.unpack(self.side))
    }

    /// The last operand, where there is one.
    pub fn last(&self) -> Option<Operand> {
        self.words.last().map(|w| w.unpack(self.side))
    }

    /// The register at a place, when the operand there is one (with a part or a descriptor too).
    #[inline]
    pub fn reg(&self, at: usize) -> Option<RegUse> {
        self.words.get(at).and_then(|w| w.as_reg(self.side))
    }

    /// Whether the operand at a place is this register in this way: cheaper than to unpack it.
    #[inline]
    pub fn is_reg(&self, at: usize, r: RegUse) -> bool {
        self.words.get(at) == Some(&Packed::of_reg(Kind::Reg, r))
    }

    /// Whether the operand at a place is RZ.
    #[inline]
    pub fn is_rz(&self, at: usize) -> bool {
        self.is_reg(at, RegUse::new(Reg::RZ))
    }

    /// Whether the operand at a place is PT.
    #[inline]
    pub fn is_pt(&self, at: usize) -> bool {
        self.is_reg(at, RegUse::new(Reg::PT))
    }

    /// Whether the operand at a place is !PT.
    #[inline]
    pub fn is_not_pt(&self, at: usize) -> bool {
        self.is_reg(at, RegUse { flags: RegFlags::NOT, ..RegUse::new(Reg::PT) })
    }

    /// Where the first operand is that names a place in memory.
    #[inline]
    pub fn address(&self) -> Option<usize> {
        self.words.iter().position(|w| w.kind() == Kind::Mem)
    }

    /// The special registers that it reads, by their numbers.
    #[inline]
    pub fn specials(&self) -> impl Iterator<Item = u8> + use<'a> {
        let words = self.words[self.defs as usize..].iter();
        words.filter(|w| w.kind() == Kind::Special).map(|w| w.payload() as u8)
    }

    /// All operands by value, destinations first.
    #[inline]
    pub fn operands(
        &self,
    ) -> impl ExactSizeIterator<Item = Operand> + DoubleEndedIterator + use<'a> {
        let side = self.side;
        self.words.iter().map(move |w| w.unpack(side))
    }

    /// The operands that it writes.
    pub fn dests(&self) -> impl ExactSizeIterator<Item = Operand> + DoubleEndedIterator + use<'a> {
        let side = self.side;
        self.words[..self.defs as usize].iter().map(move |w| w.unpack(side))
    }

    /// The operands that it reads, without guard and tied registers.
    pub fn sources(
        &self,
    ) -> impl ExactSizeIterator<Item = Operand> + DoubleEndedIterator + use<'a> {
        let side = self.side;
        self.words[self.defs as usize..].iter().map(move |w| w.unpack(side))
    }

    /// The blocks that its operands name.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + use<'a> {
        self.words.iter().filter_map(|w| w.as_block())
    }

    /// The operands that are relocated symbols: few instructions have any.
    #[inline]
    pub fn symbols(&self) -> impl Iterator<Item = Operand> + use<'a> {
        let side = self.side;
        self.words.iter().filter(|w| w.kind() == Kind::Symbol).map(move |w| w.unpack(side))
    }

    /// Whether it names places in the code or relocated symbols: what depends on where it stands.
    #[inline]
    pub fn has_places(&self) -> bool {
        self.words.iter().any(|w| matches!(w.kind(), Kind::Block | Kind::Symbol))
    }

    /// Registers written, without RZ/PT. A guarded instruction keeps the old value where its guard
    /// is false.
    #[inline]
    pub fn for_each_def(&self, mut f: impl FnMut(RegUse)) {
        for word in &self.words[..self.defs as usize] {
            word.for_each_reg(self.side, |r| {
                if !r.reg.is_zero() {
                    f(r)
                }
            });
        }
    }

    /// What the destinations hold where the guard is false: see [`Inst::tied`].
    #[inline]
    pub fn tied(&self) -> impl ExactSizeIterator<Item = RegUse> + use<'a> {
        self.tied.iter().map(|w| w.reg_bits())
    }

    /// Calls `f` on each register that the operands of a range name, constant ones too, with the
    /// place of the operand and whether that is a constant or a place in memory.
    #[inline]
    pub fn for_each_reg_of(&self, places: Range<usize>, mut f: impl FnMut(usize, bool, RegUse)) {
        for (at, word) in places.clone().zip(&self.words[places]) {
            let is_place = matches!(word.kind(), Kind::Const | Kind::WideConst | Kind::Mem);
            word.for_each_reg(self.side, |r| f(at, is_place, r));
        }
    }

    /// Registers read, guard and tied ones included, without RZ/PT.
    #[inline]
    pub fn for_each_use(&self, mut f: impl FnMut(RegUse)) {
        self.for_each_source(&mut f);
        self.tied().filter(|r| !r.reg.is_zero()).for_each(f);
    }

    /// The same without tied ones: what [`Body::map_sources`](crate::Body::map_sources) replaces.
    #[inline]
    pub fn for_each_source(&self, mut f: impl FnMut(RegUse)) {
        if !self.guard.reg.is_zero() {
            f(RegUse::new(self.guard.reg));
        }
        for word in &self.words[self.defs as usize..] {
            word.for_each_reg(self.side, |r| {
                if !r.reg.is_zero() {
                    f(r)
                }
            });
        }
    }

    /// The instruction by value.
    pub fn to_inst(&self) -> Inst {
        let mut inst = Inst {
            op: self.op,
            defs: self.defs,
            control: self.control(),
            guard: self.guard,
            mods: *self.mods(),
            operands: SmallVec::new(),
            tied: SmallVec::new(),
        };
        inst.operands.extend(self.operands());
        if !self.tied.is_empty() {
            inst.tied = self.tied().collect();
        }
        inst
    }
}

impl std::fmt::Display for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_inst().fmt(f)
    }
}

/// Source place (`.loc`) of an instruction: kept from lowering to the text offset. File 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loc {
    /// Number of a `.file`; 0 is none.
    pub file: u32,
    /// Line in that file, from 1 on.
    pub line: u32,
    /// Column in that line, from 1 on.
    pub column: u32,
    /// 1 + the index of the PTX instruction in its function, for messages; 0 is none.
    pub ptx_inst: u32,
}

/// A [`Loc`] in four bytes, the cold component: [`Loc::ptx_inst`] where there is nothing else to
/// it, as in most code, or [`TABLE`] and its place in the function's list.
#[derive(Component, Clone, Copy, Debug)]
pub struct LocId(u32);

const TABLE: u32 = 1 << 31;

impl LocId {
    /// No place is known.
    pub const NONE: LocId = LocId(0);

    /// Instructions that are made one after another mostly come from one place.
    pub(crate) fn new(loc: Loc, list: &mut Vec<Loc>) -> LocId {
        if loc == (Loc { ptx_inst: loc.ptx_inst, ..Loc::default() }) && loc.ptx_inst < TABLE {
            return LocId(loc.ptx_inst);
        }
        if list.last() != Some(&loc) {
            list.push(loc);
        }
        LocId(TABLE | (list.len() as u32 - 1))
    }

    pub(crate) fn loc(self, list: &[Loc]) -> Loc {
        if self.0 & TABLE == 0 {
            return Loc { ptx_inst: self.0, ..Loc::default() };
        }
        list.get((self.0 & !TABLE) as usize).copied().unwrap_or_default()
    }
}
