//! What a row of the instruction table becomes: one [`Form`] for each opcode and operand-form pair.
//!
//! Each is read once, when it is first asked for (`load.rs`).

use crate::latency::{Class, In, NO_PORT, Out};
use orias_components::{Mod, Opcode, RegFile};

/// A field of the 128-bit word: up to four pieces, least significant first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// `(position, width)` in bits; unused ones have no width.
    pub pieces: [(u8, u8); 4],
    /// The field holds the complement of the value.
    pub inverted: bool,
}

impl Bits {
    /// Width of the whole field in bits.
    pub fn width(&self) -> u32 {
        self.pieces.iter().map(|p| p.1 as u32).sum()
    }

    /// The largest value that fits.
    pub fn max(&self) -> u64 {
        let width = self.width();
        if width >= 64 { u64::MAX } else { (1 << width) - 1 }
    }

    /// The field's value in a word.
    #[inline]
    pub fn get(&self, word: u128) -> u64 {
        let (mut value, mut at) = (0u64, 0u32);
        for (pos, width) in self.pieces {
            if width == 0 {
                break;
            }
            let piece = (word >> pos) as u64 & mask(width);
            value |= piece << at;
            at += width as u32;
        }
        if self.inverted { !value & self.max() } else { value }
    }

    /// The word with the field set; the field's bits must be zero in `word` and `value` must fit.
    #[inline]
    pub fn put(&self, mut word: u128, value: u64) -> u128 {
        let mut rest = if self.inverted { !value & self.max() } else { value };
        let (pos, width) = self.pieces[0];
        // Most fields are one piece in one half of the word: no shift of 128 bits.
        if self.pieces[1].1 == 0 && (pos >= 64 || pos + width <= 64) {
            let piece = (rest & mask(width)) << (pos & 63);
            return word | if pos >= 64 { (piece as u128) << 64 } else { piece as u128 };
        }
        for (pos, width) in self.pieces {
            if width == 0 {
                break;
            }
            word |= ((rest & mask(width)) as u128) << pos;
            rest = rest.checked_shr(width as u32).unwrap_or(0);
        }
        word
    }

    /// The bits of the word that belong to the field.
    pub fn word_mask(&self) -> u128 {
        self.pieces.iter().fold(0, |m, &(pos, width)| m | (mask(width) as u128) << pos)
    }
}

const fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// A modifier field, in the place that its word has in the text.
#[derive(Clone, Copy, Debug)]
pub struct ModField {
    /// As the row calls it; nothing in the text shows it.
    pub name: &'static str,
    /// Where in the word it lies.
    pub bits: Bits,
    /// All values that it may have.
    pub options: &'static [ModOption],
}

/// One value of a modifier field.
#[derive(Clone, Copy, Debug)]
pub struct ModOption {
    /// The number in the field.
    pub value: u16,
    /// Words shown, in order; none for a default that the text leaves out.
    pub words: &'static [Mod],
    /// Cells of the operands whose width follows this field; 1 where no operand does.
    pub cells: u8,
}

/// Where `-`, `|x|`, `~`/`!` and the reuse hint of an operand are; 0 where it cannot have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlagBits {
    /// `-R`
    pub neg: u8,
    /// `¦R¦`
    pub abs: u8,
    /// `~R`, `!P`
    pub not: u8,
    /// `R.reuse`
    pub reuse: u8,
}

/// Where a descriptor's flags are, in the order of [`orias_components::RegFlags::OF_MATRICES`]; 0
/// where it cannot have one.
pub type MatrixBits = [u8; 4];

/// Width of an operand in 32-bit cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cells {
    /// So many cells, always.
    Fixed(u8),
    /// The cells of the chosen option of this modifier field (index into [`Form::mods`]).
    Field(u8),
    /// The cells of the value of another operand, an immediate with named values (index into
    /// [`Form::slots`]).
    Operand(u8),
}

/// How immediate bits are written in text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImmStyle {
    /// `0x1f`, `-0x1`
    SignedHex,
    /// `0x1f`, `0xffffffff`
    Hex,
    /// `31`
    Decimal,
    /// A single: `1.5`, `+INF`.
    F32,
    /// The high word of a double; the low word is zero.
    F64High,
    /// Two halves: `1.875, 0`.
    F16x2,
    /// Two bfloat16.
    Bf16x2,
    /// One half in the low bits.
    F16,
    /// One bfloat16 in the low bits.
    Bf16,
    /// `PPNPZPPP`: two signs for every two bits, the highest first.
    Signs,
    /// `SB0`
    Scoreboard,
    /// `gsb0`: the scoreboard of a warpgroup's matrix products. There is one; 7 is none, where the
    /// text leaves that out.
    GroupScoreboard,
    /// `{5,0}`: the bits that are 1, the highest first.
    Set,
}

impl ImmStyle {
    /// The style that the rows' notation calls so.
    pub(crate) fn named(name: &str) -> Option<ImmStyle> {
        Some(match name {
            "SignedHex" => ImmStyle::SignedHex,
            "Hex" => ImmStyle::Hex,
            "Decimal" => ImmStyle::Decimal,
            "F32" => ImmStyle::F32,
            "F64High" => ImmStyle::F64High,
            "F16x2" => ImmStyle::F16x2,
            "Bf16x2" => ImmStyle::Bf16x2,
            "F16" => ImmStyle::F16,
            "Bf16" => ImmStyle::Bf16,
            "Signs" => ImmStyle::Signs,
            "Scoreboard" => ImmStyle::Scoreboard,
            "GroupScoreboard" => ImmStyle::GroupScoreboard,
            "Set" => ImmStyle::Set,
            _ => return None,
        })
    }
}

/// When the text leaves an operand out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hide {
    /// It is always shown.
    Never,
    /// The constant register without flags (RZ, PT …) or immediate 0.
    Zero,
    /// `!PT`
    NotTrue,
    /// Immediate of this value.
    Value(u32),
    /// The constant register, when the operand at this index is not its own (VOTE shows one of its
    /// two results or both).
    ZeroUnless(u8),
    /// The text never shows it.
    Always,
}

/// What an operand slot holds and where.
#[derive(Clone, Copy, Debug)]
pub enum SlotKind {
    /// A register.
    Reg {
        /// The file that its number is of.
        file: RegFile,
        /// Where the number lies.
        bits: Bits,
        /// Where negation and the like lie.
        flags: FlagBits,
    },
    /// A register with a part selector (`R4.H0_H0`).
    Part {
        /// The file that its number is of.
        file: RegFile,
        /// Where the number lies.
        bits: Bits,
        /// Where negation and the like lie.
        flags: FlagBits,
        /// The parts that may be chosen.
        part: &'static ModField,
    },
    /// `signed`: sign-extended in the operand. The field holds the value divided by `scale`. Where
    /// values have `names` (`ARRAY_2D`), it has no others; a name of no words is shown as its
    /// number.
    Imm {
        /// Where the value lies.
        bits: Bits,
        /// See above.
        signed: bool,
        /// See above.
        scale: u8,
        /// How it is written.
        style: ImmStyle,
        /// The only values, and their words.
        names: Option<&'static ModField>,
    },
    /// `c[bank][base + offset]`; byte offset in units of `scale`. `handle`: uniform pair in place
    /// of the bank.
    Const {
        /// Where the offset lies.
        offset: Bits,
        /// Bytes of a unit of the offset.
        scale: u8,
        /// Where the bank's number lies; None where there is a handle.
        bank: Option<Bits>,
        /// Where the number of the base register lies, if there may be one.
        base: Option<Bits>,
        /// Of the base register: R or UR.
        base_file: RegFile,
        /// Where the number of the uniform pair lies.
        handle: Option<Bits>,
        /// Where negation and the like lie.
        flags: FlagBits,
        /// A part selector after the constant, which then has a space in its text: `c[0x0]
        /// [0x10].H0_H0`.
        part: Option<&'static ModField>,
    },
    /// `[base.sel + uniform + offset]`. The base has the wider of `base_cells` and the selector's
    /// cells.
    Mem {
        /// Where the number of the base register lies, if there may be one.
        base: Option<Bits>,
        /// The base's width.
        base_cells: Cells,
        /// The form is only for a base that is not RZ.
        base_needed: bool,
        /// Where the number of the uniform register lies, if there may be one.
        uniform: Option<Bits>,
        /// The uniform register's width.
        uniform_cells: Cells,
        /// The form is only for a uniform register that is not URZ.
        uniform_needed: bool,
        /// Where the offset in bytes lies.
        offset: Bits,
        /// An offset alone is a signed number in the text, not an address as wide as the field.
        signed: bool,
        /// How the base is read: `.64`, `.X4`.
        sel: Option<&'static ModField>,
    },
    /// `prefix[URn]` and what it says of the matrices.
    Desc {
        /// Where the number of the first uniform register lies.
        bits: Bits,
        /// `desc`: of the memory operand that follows; `gdesc`: of the matrices of a warpgroup's
        /// product.
        prefix: &'static str,
        /// Where the flags of the matrices lie.
        matrices: MatrixBits,
        /// The pair stands so many registers after the one that `bits` names, which an earlier
        /// operand has; 0: it has the bits.
        after: u8,
    },
    /// A special register.
    Special {
        /// Where its number lies.
        bits: Bits,
    },
    /// One of the words of a field: the operand is its value.
    Named {
        /// The words and their values.
        field: &'static ModField,
    },
    /// A place in the text. Relative targets count from the next instruction.
    Target {
        /// Where the place lies.
        bits: Bits,
        /// Bytes of a unit.
        scale: u8,
        /// It counts from the next instruction; otherwise from the text's beginning.
        relative: bool,
        /// An address: not sign-extended.
        address: bool,
    },
}

/// One operand of a form.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// As the row calls it: `d`, `a`, `b` …
    pub name: &'static str,
    /// What it holds.
    pub kind: SlotKind,
    /// Its width in 32-bit cells.
    pub cells: Cells,
    /// No register number need be a multiple of more than this: see [`Slot::alignment`].
    pub align: u8,
    /// When the text leaves it out.
    pub hide: Hide,
    /// Text before the operand in place of `, `; used for fixed words such as `PR, `.
    pub lead: &'static str,
    /// The form is only for another register than RZ or URZ.
    pub needed: bool,
    /// The text names it twice (`BAR.SYNC R7, R7`): then how many registers further the second
    /// time.
    pub twice: Option<u8>,
}

impl Slot {
    /// `c[bank][offset]`
    pub fn is_constant(&self) -> bool {
        matches!(self.kind, SlotKind::Const { .. })
    }

    /// What the number of the operand's first register is a multiple of: the cells, rounded up to a
    /// power of two, or less where the row says so.
    pub fn alignment(&self, cells: u8) -> u8 {
        cells.max(1).checked_next_power_of_two().unwrap_or(128).min(self.align)
    }

    /// Whether the field of a scoreboard may hold this number.
    pub(crate) fn has_scoreboard(&self, style: ImmStyle, number: u64, scoreboards: u32) -> bool {
        match style {
            ImmStyle::Scoreboard => number < scoreboards as u64,
            ImmStyle::GroupScoreboard => {
                number == 0 || matches!(self.hide, Hide::Value(none) if number == none as u64)
            }
            _ => true,
        }
    }
}

/// A condition on an operand for an alias word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AliasTest {
    /// The operand at this index is RZ or an immediate zero.
    Zero(u8),
    /// It is an immediate of this value.
    Is(u8, u32),
    /// It is an immediate power of two from 2 to 2^30, but not 2^16: so nvdisasm has it (observed).
    PowerOfTwo(u8),
    /// It is not a uniform register, nor a constant by one.
    NotUniform(u8),
}

/// A word that the text shows because of operand values; it is no modifier and has no field.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The word behind the mnemonic, without its dot.
    pub word: &'static str,
    /// Conditions that must all hold.
    pub tests: &'static [AliasTest],
}

/// The timing ports of a slot: first cell and other cells of its register, then of the uniform
/// register beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotPorts(pub(crate) [u16; 4]);

/// The parts of a form that facts about timing speak of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    pub(crate) slots: &'static [SlotPorts],
    /// By which time the guard is read: all guards of a file are one port.
    pub guard: In,
    /// Predicates that a mask names: results of R2P and UR2UP, sources of P2R and UP2UR.
    pub(crate) masked: u16,
}

impl Ports {
    /// Of an instruction without a row.
    pub const NONE: Ports = Ports { slots: &[], guard: In(NO_PORT), masked: NO_PORT };

    fn port(&self, slot: usize, cell: u8, uniform: bool) -> u16 {
        let at = usize::from(cell > 0) + 2 * usize::from(uniform);
        self.slots.get(slot).map_or(NO_PORT, |ports| ports.0[at])
    }

    /// The result in a cell of the destination slot.
    #[inline]
    pub fn result(&self, slot: usize, cell: u8) -> Out {
        Out(self.port(slot, cell, false))
    }

    /// The source in a cell of the slot; `uniform`: of the uniform register of an address or a
    /// constant.
    #[inline]
    pub fn source(&self, slot: usize, cell: u8, uniform: bool) -> In {
        In(self.port(slot, cell, uniform))
    }

    /// The cells of the slot's register have times of their own.
    pub(crate) fn tells_cells_apart(&self, slot: usize, uniform: bool) -> bool {
        self.port(slot, 0, uniform) != self.port(slot, 1, uniform)
    }
}

/// Matches the instruction's words with the fields, in text order. False when a word is left over
/// or misplaced.
pub(crate) fn match_mods(fields: &[ModField], mods: &[Mod], options: &mut [u8; 12]) -> bool {
    let mut at = 0;
    for (i, field) in fields.iter().enumerate() {
        let mut best: Option<(usize, usize)> = None;
        // Most options differ in the first word, and most fields show none.
        let rest = &mods[at..];
        for (j, option) in field.options.iter().enumerate() {
            let n = option.words.len();
            match (option.words.first(), rest.first()) {
                (None, None) => {
                    best = Some((j, 0));
                    break;
                }
                (None, _) if best.is_none() => best = Some((j, 0)),
                (Some(a), Some(b))
                    if a == b
                        && best.is_none_or(|(_, len)| n > len)
                        && rest.starts_with(option.words) =>
                {
                    best = Some((j, n));
                }
                _ => {}
            }
        }
        let Some((j, n)) = best else { return false };
        options[i] = j as u8;
        at += n;
    }
    at == mods.len()
}

/// One encodable form of an instruction.
#[derive(Debug)]
pub struct Form {
    /// The opcode.
    pub op: Opcode,
    /// Index in the generation's table.
    pub index: u16,
    /// `integer.isa:12`: where the row is.
    pub row: &'static str,
    /// Bits that no field owns, and their values. Guard and control bits are fields of every form.
    pub fixed_mask: u128,
    /// The values of the bits of `fixed_mask`.
    pub fixed: u128,
    /// File of the guard predicate: P or UP.
    pub guard: RegFile,
    /// When it reads its sources and has its results.
    pub class: Class,
    /// The result is ready at a time that only a scoreboard tells.
    pub write_sb: bool,
    /// Sources are read at a time that only a scoreboard tells.
    pub read_sb: bool,
    /// How many of the slots, from the first, are destinations.
    pub defs: u8,
    /// Its modifier fields, in the order of the text.
    pub mods: &'static [ModField],
    /// Its operands, destinations first.
    pub slots: &'static [Slot],
    /// Words that the text shows because of operand values.
    pub aliases: &'static [Alias],
    /// Its parts, as facts about timing number them.
    pub ports: Ports,
    /// Kinds of the operands, four bits each: see [`crate::encode::kind_code`].
    pub kinds: u64,
    /// The bits of `kinds` that count: a slot may take several kinds.
    pub kinds_mask: u64,
    /// It may wait for scoreboards.
    pub waits: bool,
    /// Seen in code that ptxas emitted; otherwise only nvdisasm vouches for it.
    pub seen: bool,
}

impl Form {
    /// A read scoreboard has a meaning for it.
    pub fn may_read_late(&self) -> bool {
        self.read_sb || self.class.is_variable()
    }

    /// Its operands, destinations first.
    pub fn slots(&self) -> &'static [Slot] {
        self.slots
    }

    /// The place of the slot that the row calls so, and the slot.
    pub fn slot(&self, name: &str) -> Option<(usize, &'static Slot)> {
        self.slots.iter().enumerate().find(|(_, s)| s.name == name)
    }
}
