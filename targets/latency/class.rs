//! Timing classes and hazards. `table/latency.rs` has the same lists for the build script; a test
//! holds them together.

use orias_components::RegFile;

/// The list of classes, each with its name in the rows.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $name:literal)*) => {
        /// When an instruction reads its sources and when its results are there, as far as
        /// scheduling needs to know.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Class { $($(#[$doc])* $class,)* }

        impl Class {
            /// All classes, in the order of their numbers.
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
    /// IMAD.WIDE: the multiply-add pipe with an early low result and a late read of the upper half
    /// that it adds.
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
    /// VOTE, ELECT: an ALU result from a predicate that is read as late as a guard.
    Vote "vote"
    /// Predicate logic (PLOP3) and moves out of the predicate file.
    PredicateLogic "plogic"
    /// Uniform datapath.
    Uniform "uniform"
    /// Copies and votes into the uniform file: there at once.
    UniformMove "umove"
    /// Constants into the uniform file: there at once. Constant banks that a uniform register names
    /// are read so, too.
    UniformConst "uldc"
    /// Into the uniform file from a general register.
    ToUniform "touniform"
    /// Reads of clocks and lane masks without scoreboard (CS2R).
    Special "special"
    /// Result after an unknown time, told by a scoreboard; sources are read as early as the ALU
    /// does: MUFU, conversions, bit counts, constants.
    Xu "xu"
    /// Result after an unknown time, told by a scoreboard; sources too may be read late: memory,
    /// and all that is no other.
    Variable "variable"
    /// Branches and barriers of control flow: read their predicate at issue, as guards are read.
    Control "control"
}

impl Class {
    /// The class that the rows of the instruction table call so.
    pub fn named(name: &str) -> Option<Class> {
        Class::ALL.iter().copied().find(|c| c.name() == name)
    }

    /// The result, if it has one, is there after a time that only a scoreboard tells.
    pub fn is_variable(self) -> bool {
        matches!(self, Class::Xu | Class::Variable)
    }

    /// The class by which the cell `offset` of its result comes: the upper half of IMAD.WIDE is an
    /// ordinary product.
    pub fn of_result(self, offset: u8) -> Class {
        if self == Class::Wide && offset > 0 { Class::Fma } else { self }
    }

    /// The class by which it reads the cell `offset` of a source: IMAD.WIDE, and IMAD.HI, whose
    /// result is an ordinary product, read the upper half of what they add two cycles later than
    /// all else.
    pub fn of_source(self, offset: u8) -> Class {
        match self {
            Class::Wide | Class::Fma if offset > 0 => Class::Wide,
            Class::Wide => Class::Fma,
            other => other,
        }
    }
}

/// What makes the second of two instructions wait for the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Hazard {
    /// The second reads the first's result.
    ReadAfterWrite,
    /// The second overwrites the first's result.
    WriteAfterWrite,
    /// The second overwrites what the first reads.
    WriteAfterRead,
}

impl Hazard {
    /// All, in the order of the tables.
    pub const ALL: [Hazard; 3] =
        [Hazard::ReadAfterWrite, Hazard::WriteAfterWrite, Hazard::WriteAfterRead];

    /// As the rows call it.
    pub fn name(self) -> &'static str {
        match self {
            Hazard::ReadAfterWrite => "raw",
            Hazard::WriteAfterWrite => "waw",
            Hazard::WriteAfterRead => "war",
        }
    }
}

/// The files that take part; barriers do not.
pub const FILES: [RegFile; 4] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP];

pub(super) fn index(hazard: Hazard, file: RegFile, first: Class, second: Class) -> usize {
    let classes = Class::ALL.len();
    ((hazard as usize * FILES.len() + file as usize) * classes + first as usize) * classes
        + second as usize
}

/// How many hazards, files and pairs of classes there are together.
pub(super) fn pairs() -> usize {
    Hazard::ALL.len() * FILES.len() * Class::ALL.len() * Class::ALL.len()
}
