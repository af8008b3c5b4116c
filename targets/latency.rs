//! How long a result takes: the timing classes of instructions, and the cycles that must lie between a fixed-latency
//! producer and whoever reads or overwrites its result.
//!
//! There is no public table for sm_90. Each row says the smallest distance (sum of stall counts) that ptxas 13.0.88 leaves
//! anywhere in the kernel corpus at -O1 and -O3 between such a pair, and our value is that or more. Where pairs of a class
//! were seen only far apart, the value is that of the slowest pair that was seen close.

use orias_components::{Opcode, RegFile};

/// The list of classes, each with its name in the rows.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $name:literal)*) => {
        /// When an instruction reads its sources and when its results are there, as far as scheduling needs to know.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Class { $($(#[$doc])* $class,)* }

        impl Class {
            pub const ALL: &[Class] = &[$(Class::$class,)*];

            /// As the rows of the instruction table call it.
            pub fn name(self) -> &'static str {
                match self { $(Class::$class => $name,)* }
            }
        }
    };
}

classes! {
    /// Integer and logic, selects, comparisons, simple conversions.
    Alu "alu"
    /// Multiply-add pipe: IMAD, FFMA, FMUL, FADD, VIADD, IDP.
    Fma "fma"
    /// IMAD.WIDE: the multiply-add pipe with an early low result and a late read of the upper half that it adds.
    Wide "wide"
    /// Packed half precision.
    Half "half"
    /// HFMA2.MMA: half precision in the pipe of the matrix instructions.
    HalfMma "halfmma"
    /// Double precision.
    Fp64 "fp64"
    /// Matrix products of 8 rows.
    MmaSmall "mma8"
    /// Matrix products that pass once through the pipe.
    Mma "mma"
    /// Matrix products that pass twice.
    MmaLong "mma2"
    /// Predicate logic (PLOP3) and moves out of the predicate file.
    PredicateLogic "plogic"
    /// Uniform datapath.
    Uniform "uniform"
    /// Constants, copies and votes into the uniform file: there at once.
    UniformMove "umove"
    /// Into the uniform file from a general register.
    ToUniform "touniform"
    /// Reads of clocks and lane masks without scoreboard (CS2R).
    Special "special"
    /// Result after an unknown time, told by a scoreboard; sources are read as early as the ALU does: MUFU, conversions, bit
    /// counts, constants.
    Xu "xu"
    /// Result after an unknown time, told by a scoreboard; sources too may be read late: memory, and all that is no other.
    Variable "variable"
    /// Branches and barriers of control flow: read their predicate at issue, as guards are read.
    Control "control"
}

impl Class {
    /// The class that the rows of the instruction table call so.
    pub fn named(name: &str) -> Option<Class> {
        Class::ALL.iter().copied().find(|c| c.name() == name)
    }

    /// The class whose rows below hold for it too.
    fn basic(self) -> Class {
        match self {
            Class::Wide => Class::Fma,
            Class::HalfMma => Class::Half,
            Class::UniformMove => Class::Uniform,
            Class::Xu => Class::Variable,
            other => other,
        }
    }

    /// The result, if it has one, is there after a time that only a scoreboard tells.
    pub fn is_variable(self) -> bool {
        matches!(self, Class::Xu | Class::Variable)
    }
}

/// A row: cycles from the issue of a producer to the issue of a consumer.
struct Row {
    producer: Class,
    file: RegFile,
    consumer: &'static [Class],
    cycles: u8,
}

const fn row(producer: Class, file: RegFile, consumer: &'static [Class], cycles: u8) -> Row {
    Row { producer, file, consumer, cycles }
}

use Class::*;
use RegFile::{P, R, UP, UR};

const ANY: &[Class] = &[];

/// First match counts. The smallest distances seen are in the comments: pair, cycles (times seen).
static ROWS: &[Row] = &[
    row(Alu, R, &[Alu], 4), // IADD3 -> LOP3 4 (437), LOP3 -> IADD3 4 (739), SEL -> SEL 4 (276)
    row(Alu, R, &[Fma, Half], 5), // LOP3 -> IMAD 5 (816), SEL -> VIADD 5 (6); IADD3 -> IMAD 3 (853) is below
    row(Alu, R, ANY, 6), // IADD3 -> LDG 5 (341), LEA -> LDSM 6 (8), LOP3 -> R2UR 6 (3), IADD3 -> DFMA 6 (3)
    row(Fma, R, &[Fma], 4), // FFMA -> FFMA 4 (1402), VIADD -> IMAD 4 (156); IMAD -> IMAD 2 (2533) is below
    row(Fma, R, &[Alu, Half], 5), // IMAD -> SHF 5 (1736), FADD -> FSEL 5 (20); IMAD -> IADD3 3 (1228) is below
    row(Fma, R, ANY, 6),          // IMAD -> LDG 5 (2017), IMAD -> DFMA 6 (75), VIADD -> LDL 6 (9)
    row(Half, R, ANY, 8),         // HADD2 -> FADD 5 (24), HFMA2 -> PRMT 7 (3), HFMA2 -> IMAD 8 (36)
    row(Fp64, R, &[Fp64], 8),     // DFMA -> DFMA 8 (610)
    row(Fp64, R, ANY, 10),        // DADD -> IMAD 10 (8), DFMA -> FSETP 10 (4), DADD -> STS 7 (28)
    row(PredicateLogic, R, ANY, 13), // P2R -> ISETP 8 (13)
    row(Special, R, ANY, 15),     // CS2R -> STL 6 (8), CS2R -> IADD3 24 (14)
    row(Alu, P, &[Alu], 6), // ISETP -> SEL 4 (494), ISETP -> IADD3.X 6 (161), LOP3 -> PLOP3 4 (28)
    row(Alu, P, ANY, 13),   // ISETP -> guard 13 (4029), ISETP -> IMAD.X 11 (93)
    row(Fma, P, ANY, 13),   // carry of IMAD.WIDE: assumed as slow as a comparison's
    row(Half, P, ANY, 14),  // HSETP2 -> guard 13 (8)
    row(Fp64, P, ANY, 14),  // DSETP -> guard 14 (28)
    row(PredicateLogic, P, ANY, 13), // PLOP3 -> guard 13 (68), PLOP3 -> ISETP 13 (6), PLOP3 -> SEL 4 (18)
    row(Uniform, UR, &[Uniform], 6), // UIADD3 -> ULEA 4 (100), USGXT -> UIADD3 6 (4)
    row(Uniform, UR, &[Alu, Fma, Half, Fp64], 8), // ULEA -> LEA 6 (194), UIMAD -> ISETP 8 (1), UMOV -> DFMA 6 (124)
    row(Uniform, UR, ANY, 10), // ULEA -> LDS 9 (102), ULDC -> LDG 2 (1000), ULDC -> STG 12 (576)
    row(Uniform, UP, ANY, 13), // UISETP -> PLOP3 6 (14), VOTEU -> guard 5 (12)
    row(ToUniform, UR, ANY, 13), // R2UR -> LDG 13 (16), R2UR -> ISETP 13 (2)
];

/// For pairs that no row knows: the longest stall that the control bits can say.
const LONGEST: u8 = 15;

/// Cycles that must lie between the issue of a fixed-latency `producer` of a register of `file` and the issue of a
/// `consumer` that reads it. A guard is read as [`Class::Control`] reads.
pub fn read_after_write(producer: Class, file: RegFile, consumer: Class) -> u8 {
    let (producer, consumer) = (producer.basic(), consumer.basic());
    ROWS.iter()
        .find(|r| {
            r.producer == producer
                && r.file == file
                && (r.consumer.is_empty() || r.consumer.contains(&consumer))
        })
        .map_or(LONGEST, |r| r.cycles)
}

/// Cycles between a fixed-latency `producer` and another instruction that overwrites its result: as for a read by it. In
/// the corpus ptxas often leaves fewer (results of one pipe arrive in order).
pub fn write_after_write(producer: Class, file: RegFile, consumer: Class) -> u8 {
    read_after_write(producer, file, consumer)
}

/// The smallest stall that ptxas puts on an instruction of this kind, whatever follows it; 1 for most.
pub fn least_stall(op: Opcode) -> u8 {
    use Opcode::*;
    match op {
        // Seen: BSYNC 5 (558), EXIT 5 (646), BRA 5 (1448), BREAK 5 (67), WARPSYNC 5 (47), CALL 5 (106), RET 5 (33).
        BSYNC | EXIT | BRA | BRX | BRXU | BREAK | WARPSYNC | CALL | RET | YIELD | BMOV => 5,
        // Seen: MEMBAR 6 (22), BAR 1 (238) and 6 (241).
        MEMBAR | BAR | ENDCOLLECTIVE => 6,
        DEPBAR => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_waits_longer_for_a_comparison_than_a_select_does() {
        assert_eq!(read_after_write(Alu, P, Control), 13);
        assert_eq!(read_after_write(Alu, P, Alu), 6);
    }

    #[test]
    fn an_unknown_pair_waits_as_long_as_can_be() {
        assert_eq!(read_after_write(Special, UP, Alu), LONGEST);
    }
}
