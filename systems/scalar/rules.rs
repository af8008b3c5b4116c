//! Rewrite rules: what several instructions compute that one can.
//!
//! A rule names registers and operands by number and says nothing of how they are found: that is
//! [`super::combine`]'s matter. Each is proved by random inputs in its tests, through what the
//! simulator computes.

use orias_components::{Mod, Opcode};
use orias_targets::slots::{IADD3, VIMNMX};

/// What stands in an operand's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A cell of a numbered register, counted from its first one: a value without sign changes.
    Cell(u8, u8),
    /// Both cells of a numbered register.
    Pair(u8),
    /// Whatever the instruction has there, by number.
    Any(u8),
    /// The negative of such a cell.
    Minus(u8, u8),
    /// An immediate, numbered among those.
    Word(u8),
    /// In a result: the negative of a numbered immediate.
    Opposite(u8),
    /// In a result: the sum of two numbered immediates.
    Total(u8, u8),
    /// An immediate from 1 to 31, numbered among those.
    Number(u8),
    /// This immediate.
    Exactly(u8),
    /// In a result: 32 less a numbered immediate.
    Rest(u8),
    /// RZ
    Zero,
    /// PT
    True,
    /// !PT
    False,
}

/// An instruction of a rule: unguarded, with an operand for each slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub op: Opcode,
    pub mods: &'static [Mod],
    pub defs: u8,
    pub operands: &'static [Slot],
}

/// What stands for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// For who reads the table, and its tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "code has no names"))]
    pub name: &'static str,
    /// In the order of the code, the last one first found. All but that stay, unless nothing reads
    /// them any more, or the rule's result writes what they do.
    pub from: &'static [Step],
    /// Registers that nothing else may read: without that there would be more code, not less.
    pub once: &'static [u8],
    /// In place of the last one.
    pub to: Step,
}

const fn step(op: Opcode, mods: &'static [Mod], defs: u8, operands: &'static [Slot]) -> Step {
    Step { op, mods, defs, operands }
}

use Slot::{
    Any, Cell, Exactly, False, Minus, Number, Opposite, Pair, Rest, Total, True, Word, Zero,
};

// Registers.
const D: u8 = 0;
const W: u8 = 1;
const B: u8 = 2;
const C: u8 = 3;
// What any operand may be, and immediates.
const X: u8 = 0;
const Y: u8 = 1;
const Z: u8 = 2;
const P: u8 = 3;
const Q: u8 = 4;
const K: u8 = 5;

const SUM: &[Slot] = &[Cell(D, 0), True, True, Cell(W, 0), Any(Z), Zero];
const LOW_SUM: Step =
    step(Opcode::IADD3, &[], 3, &[Cell(D, 0), Cell(C, 0), True, Cell(W, 0), Cell(B, 0), Zero]);
const HIGH_SUM: Step = step(
    Opcode::IADD3,
    &[Mod::X],
    3,
    &[Cell(D, 1), True, True, Cell(W, 1), Cell(B, 1), Zero, Cell(C, 0), False],
);

/// All rules. Of two that fit the first one counts.
pub(super) const RULES: &[Rule] = &[
    // A product that several sums take is made for each of them: ptxas 13.0.88 does so, too.
    Rule {
        name: "a signed product of 64 bits and a sum",
        from: &[
            step(Opcode::IMAD, &[Mod::WIDE], 2, &[Pair(W), True, Any(X), Any(Y), Zero]),
            LOW_SUM,
            HIGH_SUM,
        ],
        once: &[],
        to: step(Opcode::IMAD, &[Mod::WIDE], 2, &[Pair(D), True, Any(X), Any(Y), Pair(B)]),
    },
    Rule {
        name: "an unsigned product of 64 bits and a sum",
        from: &[
            step(Opcode::IMAD, &[Mod::WIDE, Mod::U32], 2, &[Pair(W), True, Any(X), Any(Y), Zero]),
            LOW_SUM,
            HIGH_SUM,
        ],
        once: &[],
        to: step(
            Opcode::IMAD,
            &[Mod::WIDE, Mod::U32],
            2,
            &[Pair(D), True, Any(X), Any(Y), Pair(B)],
        ),
    },
    // One instruction where ptxas 13.0.88 has two, IADD3 and LEA.HI.X.SX32.
    Rule {
        name: "a word with its sign and a pair",
        from: &[
            step(
                Opcode::SHF,
                &[Mod::R, Mod::S32, Mod::HI],
                1,
                &[Cell(W, 0), Zero, Exactly(31), Any(X)],
            ),
            step(Opcode::IADD3, &[], 3, &[Cell(D, 0), Cell(C, 0), True, Any(X), Cell(B, 0), Zero]),
            step(
                Opcode::IADD3,
                &[Mod::X],
                3,
                &[Cell(D, 1), True, True, Cell(W, 0), Cell(B, 1), Zero, Cell(C, 0), False],
            ),
        ],
        once: &[],
        to: step(Opcode::IMAD, &[Mod::WIDE], 2, &[Pair(D), True, Any(X), Exactly(1), Pair(B)]),
    },
    Rule {
        name: "a shift and a sum",
        from: &[
            step(Opcode::SHF, &[Mod::L, Mod::U32], 1, &[Cell(W, 0), Any(X), Number(K), Zero]),
            step(Opcode::IADD3, &[], 3, &[Cell(D, 0), Any(P), True, Cell(W, 0), Any(Z), Zero]),
        ],
        once: &[],
        to: step(Opcode::LEA, &[], 2, &[Cell(D, 0), Any(P), Any(X), Any(Z), Number(K)]),
    },
    Rule {
        name: "the high words of a shift and of a sum",
        from: &[
            step(
                Opcode::SHF,
                &[Mod::L, Mod::U64, Mod::HI],
                1,
                &[Cell(W, 0), Any(X), Number(K), Any(Y)],
            ),
            step(
                Opcode::IADD3,
                &[Mod::X],
                3,
                &[Cell(D, 0), Any(P), True, Cell(W, 0), Any(Z), Zero, Any(Q), False],
            ),
        ],
        once: &[],
        to: step(
            Opcode::LEA,
            &[Mod::HI, Mod::X],
            2,
            &[Cell(D, 0), Any(P), Any(X), Any(Z), Any(Y), Number(K), Any(Q)],
        ),
    },
    Rule {
        name: "a shift to the right and a sum",
        from: &[
            step(
                Opcode::SHF,
                &[Mod::R, Mod::U32, Mod::HI],
                1,
                &[Cell(W, 0), Zero, Number(K), Any(X)],
            ),
            step(Opcode::IADD3, &[], 3, &[Cell(D, 0), Any(P), True, Cell(W, 0), Any(Z), Zero]),
        ],
        once: &[W],
        to: step(Opcode::LEA, &[Mod::HI], 2, &[Cell(D, 0), Any(P), Any(X), Any(Z), Zero, Rest(K)]),
    },
    Rule {
        name: "a signed shift to the right and a sum",
        from: &[
            step(
                Opcode::SHF,
                &[Mod::R, Mod::S32, Mod::HI],
                1,
                &[Cell(W, 0), Zero, Number(K), Any(X)],
            ),
            step(Opcode::IADD3, &[], 3, &[Cell(D, 0), Any(P), True, Cell(W, 0), Any(Z), Zero]),
        ],
        once: &[W],
        to: step(
            Opcode::LEA,
            &[Mod::HI, Mod::SX32],
            2,
            &[Cell(D, 0), Any(P), Any(X), Any(Z), Rest(K)],
        ),
    },
    Rule {
        name: "a signed shift to the right and the high word of a sum",
        from: &[
            step(
                Opcode::SHF,
                &[Mod::R, Mod::S32, Mod::HI],
                1,
                &[Cell(W, 0), Zero, Number(K), Any(X)],
            ),
            step(
                Opcode::IADD3,
                &[Mod::X],
                3,
                &[Cell(D, 0), Any(P), True, Cell(W, 0), Any(Z), Zero, Any(Q), False],
            ),
        ],
        once: &[W],
        to: step(
            Opcode::LEA,
            &[Mod::HI, Mod::X, Mod::SX32],
            2,
            &[Cell(D, 0), Any(P), Any(X), Any(Z), Rest(K), Any(Q)],
        ),
    },
    Rule {
        name: "the sign of what is shifted, and the high word of a sum",
        from: &[
            step(
                Opcode::SHF,
                &[Mod::R, Mod::S32, Mod::HI],
                1,
                &[Cell(W, 0), Zero, Exactly(31), Any(X)],
            ),
            step(
                Opcode::LEA,
                &[Mod::HI, Mod::X],
                2,
                &[Cell(D, 0), Any(P), Any(X), Any(Z), Cell(W, 0), Number(K), Any(Q)],
            ),
        ],
        once: &[W],
        to: step(
            Opcode::LEA,
            &[Mod::HI, Mod::X, Mod::SX32],
            2,
            &[Cell(D, 0), Any(P), Any(X), Any(Z), Number(K), Any(Q)],
        ),
    },
    Rule {
        name: "a product and a sum",
        from: &[
            step(Opcode::IMAD, &[], 1, &[Cell(W, 0), Any(X), Any(Y), Zero]),
            step(Opcode::IADD3, &[], 3, SUM),
        ],
        once: &[W],
        to: step(Opcode::IMAD, &[], 1, &[Cell(D, 0), Any(X), Any(Y), Any(Z)]),
    },
    Rule {
        name: "a difference of something and a product with a number",
        from: &[
            step(Opcode::IMAD, &[], 1, &[Cell(W, 0), Any(X), Word(K), Zero]),
            step(Opcode::IADD3, &[], 3, &[Cell(D, 0), True, True, Minus(W, 0), Any(Z), Zero]),
        ],
        once: &[W],
        to: step(Opcode::IMAD, &[], 1, &[Cell(D, 0), Any(X), Opposite(K), Any(Z)]),
    },
    // What is unrolled counts so.
    Rule {
        name: "a sum with two numbers, one after the other",
        from: &[
            step(Opcode::IADD3, &[], 3, &[Cell(W, 0), True, True, Any(X), Word(K), Zero]),
            step(Opcode::IADD3, &[], 3, &[Cell(D, 0), True, True, Cell(W, 0), Word(Q), Zero]),
        ],
        once: &[],
        to: step(Opcode::IADD3, &[], 3, &[Cell(D, 0), True, True, Any(X), Total(K, Q), Zero]),
    },
    Rule {
        name: "a sum of a sum",
        from: &[
            step(Opcode::IADD3, &[], 3, &[Cell(W, 0), True, True, Any(X), Any(Y), Zero]),
            step(Opcode::IADD3, &[], 3, SUM),
        ],
        once: &[W],
        to: step(Opcode::IADD3, &[], 3, &[Cell(D, 0), True, True, Any(X), Any(Y), Any(Z)]),
    },
    Rule {
        name: "the lesser or greater of a signed sum and something",
        from: &[
            step(Opcode::IADD3, &[], 3, &[Cell(W, 0), True, True, Any(X), Any(Y), Zero]),
            step(Opcode::VIMNMX, &[], 1, &[Cell(D, 0), Cell(W, 0), Any(Z), Any(P)]),
        ],
        once: &[W],
        to: step(Opcode::VIADDMNMX, &[], 1, &[Cell(D, 0), Any(X), Any(Y), Any(Z), Any(P)]),
    },
    Rule {
        name: "the lesser or greater of an unsigned sum and something",
        from: &[
            step(Opcode::IADD3, &[], 3, &[Cell(W, 0), True, True, Any(X), Any(Y), Zero]),
            step(Opcode::VIMNMX, &[Mod::U32], 1, &[Cell(D, 0), Cell(W, 0), Any(Z), Any(P)]),
        ],
        once: &[W],
        to: step(Opcode::VIADDMNMX, &[Mod::U32], 1, &[Cell(D, 0), Any(X), Any(Y), Any(Z), Any(P)]),
    },
];

/// What rules end with: who looks for them asks for no others.
pub(super) const ENDS: [Opcode; 3] = [Opcode::IADD3, Opcode::LEA, Opcode::VIMNMX];

/// Two places of an instruction whose operands may be swapped.
pub(super) fn swapped(op: Opcode) -> Option<[usize; 2]> {
    match op {
        Opcode::IADD3 => Some([IADD3::A, IADD3::B]),
        Opcode::VIMNMX => Some([VIMNMX::A, VIMNMX::B]),
        _ => None,
    }
}
