//! The kinds that operands are told apart by in `tables/seen`, as `seen.rs` numbers them.

/// Names of the kinds; the place in this list is the number. `c` is a constant bank, `cx` one that
/// a uniform register names, `R.part` a register of which a half or a byte is read, `I` an
/// immediate, `S` a special register or another named thing, `T` a place in the code, `D` a
/// descriptor. An address has a register (`.U32`, `.64`, `.X`: read so, or times a number), a
/// uniform register, both or none.
pub const KINDS: [&str; 31] = [
    "R",
    "UR",
    "P",
    "UP",
    "B",
    "R.part",
    "UR.part",
    "I",
    "S",
    "T",
    "D",
    "c",
    "c[R]",
    "c[UR]",
    "cx",
    "[]",
    "[R]",
    "[.U32]",
    "[R.U32]",
    "[.64]",
    "[R.64]",
    "[.X]",
    "[R.X]",
    "[UR]",
    "[R+UR]",
    "[.U32+UR]",
    "[R.U32+UR]",
    "[.64+UR]",
    "[R.64+UR]",
    "[.X+UR]",
    "[R.X+UR]",
];

/// Flags of operands: how `tables/seen` shows each, and its bit in `RegFlags`, which the build
/// script does not know.
pub const FLAGS: [(char, u8); 7] =
    [('-', 1), ('|', 2), ('~', 4), ('a', 16), ('b', 32), ('s', 64), ('t', 128)];
