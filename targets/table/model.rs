//! What the rows of the instruction table say, as data.

/// What a generation changes in the notation itself.
#[derive(Clone, Copy, Debug)]
pub struct Generation {
    /// 90
    pub sm: u16,
    /// Width of the number of a uniform register.
    pub uniform_bits: u8,
    /// B and C may be constants: `c[bank][offset]`, `cx[UR][offset]`.
    pub constants: bool,
    /// The text has `desc[UR4]` before an address.
    pub shows_descriptors: bool,
}

/// A field: pieces `(position, width)`, least significant first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bits {
    pub pieces: Vec<(u8, u8)>,
    pub inverted: bool,
}

impl Bits {
    pub fn one(pos: u8, width: u8) -> Bits {
        Bits { pieces: vec![(pos, width)], inverted: false }
    }

    pub fn word_mask(&self) -> u128 {
        self.pieces.iter().fold(0, |m, &(p, w)| m | ((1u128 << w) - 1) << p)
    }
}

#[derive(Clone, Debug)]
pub struct ModOption {
    pub value: u16,
    pub words: Vec<String>,
    pub cells: u8,
}

#[derive(Clone, Debug)]
pub struct ModField {
    pub name: String,
    pub bits: Bits,
    pub options: Vec<ModOption>,
}

/// `-72` and so on after an operand; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    pub neg: u8,
    pub abs: u8,
    pub not: u8,
    pub reuse: u8,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Reg {
        file: &'static str,
        bits: Bits,
        flags: Flags,
        part: Option<ModField>,
    },
    Imm {
        bits: Bits,
        signed: bool,
        scale: u8,
        style: &'static str,
        /// Its only values, and their names.
        names: Option<ModField>,
    },
    Const {
        offset: Bits,
        scale: u8,
        bank: Option<Bits>,
        base: Option<Bits>,
        /// Of the base register.
        base_file: &'static str,
        handle: Option<Bits>,
        flags: Flags,
        part: Option<ModField>,
    },
    Mem {
        base: Option<Bits>,
        base_cells: Cells,
        /// The form is only for a base that is not RZ.
        base_needed: bool,
        uniform: Option<Bits>,
        uniform_cells: Cells,
        /// The form is only for a uniform register that is not URZ.
        uniform_needed: bool,
        offset: Bits,
        /// An offset alone prints as a signed number.
        signed: bool,
        sel: Option<ModField>,
    },
    Desc {
        bits: Bits,
        prefix: String,
        /// Bits of `.negA`, `.negB`, `.tnspA`, `.tnspB`; 0 for none.
        matrices: [u8; 4],
        /// The pair stands so many registers after the one that the bits name, which another
        /// operand has; 0: it has the bits.
        after: u8,
    },
    Special {
        bits: Bits,
    },
    Target {
        bits: Bits,
        scale: u8,
        relative: bool,
        address: bool,
    },
    /// One of some words.
    Named(ModField),
    /// The operand that differs between the forms of a row: a register, an immediate, a constant or
    /// a uniform register.
    Generic {
        style: &'static str,
        flags: GenericFlags,
        part: Option<Placed<ModField>>,
    },
}

/// What differs between B's place (bit 32) and C's (bit 64): `60.2/81.2`. Without a slash both are
/// the same.
#[derive(Clone, Copy, Debug)]
pub struct Placed<T> {
    pub b: T,
    pub c: T,
}

/// The flags of an operand whose place depends on the form: none, at the place's usual bit, or at a
/// bit of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct GenericFlags {
    pub neg: Option<Placed<u8>>,
    pub abs: Option<Placed<u8>>,
    pub not: Option<Placed<u8>>,
}

/// The flag is where its place usually has it.
pub const USUAL: u8 = 0;

#[derive(Clone, Debug)]
pub enum Cells {
    Fixed(u8),
    Field(String),
}

#[derive(Clone, Debug)]
pub struct Slot {
    pub name: String,
    pub kind: Kind,
    pub cells: Cells,
    /// The most that the first register's number must be a multiple of.
    pub align: u8,
    pub hide: Hide,
    pub lead: String,
    /// The form is only for another register than RZ or URZ.
    pub needed: bool,
    /// The text names it twice: how many registers further the second time.
    pub twice: Option<u8>,
}

/// When the text leaves an operand out.
#[derive(Clone, Copy, Debug)]
pub enum Hide {
    Never,
    Zero,
    NotTrue,
    Value(u32),
    ZeroUnless(u8),
    Always,
}

/// One form: a row with its B and C operands decided.
#[derive(Clone, Debug)]
pub struct Form {
    pub opcode: String,
    pub row: String,
    pub class: String,
    pub write_sb: bool,
    pub read_sb: bool,
    pub guard: &'static str,
    pub defs: u8,
    pub mods: Vec<ModField>,
    pub slots: Vec<Slot>,
    pub fixed: u128,
    pub aliases: Vec<(String, Vec<String>)>,
    /// It may wait for scoreboards.
    pub waits: bool,
    pub seen: bool,
}

#[derive(Default)]
pub struct Table {
    pub forms: Vec<Form>,
    pub specials: Vec<(u16, String)>,
}

pub type Result<T> = std::result::Result<T, String>;
