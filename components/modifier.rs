//! Modifiers: the dot-separated words of a SASS mnemonic (`.GE`, `.AND`, `.U32`, `.64`) and of operands (`.H0_H0`, `.X4`).
//!
//! An instruction's modifiers are the words that its text shows, in that order; a word that the text leaves out (a default)
//! is not in the list. The target's row says which field each word fills.

use std::fmt;

macro_rules! modifiers {
    ($($name:ident $text:literal)*) => {
        /// One modifier word. Words that start with a digit have an underscore before their name in Rust.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
        #[repr(u16)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        pub enum Mod {
            /// No modifier: fills unused places.
            #[default]
            NONE,
            $($name,)*
        }

        impl Mod {
            pub const LIST: &'static [Mod] = &[$(Mod::$name,)*];

            /// The word without its dot.
            pub const fn name(self) -> &'static str {
                match self { Mod::NONE => "", $(Mod::$name => $text,)* }
            }
        }
    };
}

modifiers! {
    // Comparisons and their combination.
    F "F" LT "LT" EQ "EQ" LE "LE" GT "GT" NE "NE" GE "GE" NUM "NUM" NAN "NAN" LTU "LTU" EQU "EQU" LEU "LEU" GTU "GTU"
    NEU "NEU" GEU "GEU" T "T" AND "AND" OR "OR" XOR "XOR" EX "EX" BF "BF" BM "BM" PASS_B "PASS_B"
    // Integer.
    X "X" LUT "LUT" MOV "MOV" IADD "IADD" SHL "SHL" WIDE "WIDE" HI "HI" LO "LO" L "L" R "R" W "W" SX32 "SX32" SH "SH"
    U8 "U8" S8 "S8" U16 "U16" S16 "S16" U32 "U32" S32 "S32" U64 "U64" S64 "S64" U4 "U4" S4 "S4" C "C" IR "IR"
    F4E "F4E" B4E "B4E" RC8 "RC8" ECL "ECL" ECR "ECR" RC16 "RC16" _4A "4A" _2A "2A"
    // Float.
    F16 "F16" F32 "F32" F64 "F64" BF16 "BF16" TF32 "TF32" F16x2 "F16x2" BF16_V2 "BF16_V2" F16_V2 "F16_V2" E4M3 "E4M3"
    E5M2 "E5M2" E8 "E8" FTZ "FTZ" SAT "SAT" RELU "RELU" RN "RN" RM "RM" RP "RP" RZ "RZ" RNA "RNA" NTZ "NTZ" TRUNC "TRUNC"
    FLOOR "FLOOR" CEIL "CEIL" ROUND "ROUND" MMA "MMA" COS "COS" SIN "SIN" EX2 "EX2" LG2 "LG2" RCP "RCP" RSQ "RSQ" RCP64H "RCP64H"
    RSQ64H "RSQ64H" SQRT "SQRT" TANH "TANH" D2 "D2" D4 "D4" D8 "D8" M2 "M2" M4 "M4" M8 "M8" NANZ "NANZ" XORSIGN "XORSIGN" UNPACK_B "UNPACK_B"
    MERGE_C "MERGE_C" PACK_AB "PACK_AB" PACK_AB_MERGE_C "PACK_AB_MERGE_C" PACK_B_MERGE_C "PACK_B_MERGE_C"
    // Halves and bytes of a register.
    H0 "H0" H1 "H1" H0_H0 "H0_H0" H1_H1 "H1_H1" H1_H0 "H1_H0" H0_NH1 "H0_NH1" B0 "B0" B1 "B1" B2 "B2" B3 "B3"
    // Memory.
    E "E" _8 "8" _16 "16" _32 "32" _64 "64" _128 "128" U "U" CONSTANT "CONSTANT" CTA "CTA" SM "SM" GPU "GPU" SYS "SYS"
    CLUSTER "CLUSTER" VC "VC" WEAK "WEAK" STRONG "STRONG" MMIO "MMIO" EF "EF" EL "EL" LU "LU" EU "EU" NA "NA"
    LTC64B "LTC64B" LTC128B "LTC128B" LTC256B "LTC256B" ZD "ZD" PRIVATE "PRIVATE" F32x2 "F32x2" F32x4 "F32x4" ADD "ADD" MIN "MIN" MAX "MAX" INC "INC" DEC "DEC"
    EXCH "EXCH" CAS "CAS" SAFEADD "SAFEADD" POPC "POPC" CAST "CAST" SPIN "SPIN" ARRIVE "ARRIVE" X4 "X4" X8 "X8" X16 "X16"
    SC "SC" ALL "ALL" IVALL "IVALL" IV "IV" PF1 "PF1" PF2 "PF2" WB "WB" RS "RS" LDCU "LDCU" IL "IL" IS "IS" ISL "ISL"
    M88 "M88" MT88 "MT88" M816 "M816" MT816 "MT816" BYPASS "BYPASS" ACCESS "ACCESS"
    // Packed and other integer and float variants.
    FMZ "FMZ" PAND "PAND" U16x2 "U16x2" S16x2 "S16x2" _16x2 "16x2" RESULT "RESULT" PML2 "PML2" DML2 "DML2" RML2 "RML2" G "G" S "S" D "D" F16x4 "F16x4" BF16x2 "BF16x2" BF16x4 "BF16x4"
    // Warp, barriers, control.
    IDX "IDX" UP "UP" DOWN "DOWN" BFLY "BFLY" ANY "ANY" SUM "SUM" SYNC "SYNC" RED "RED" ARV "ARV" DEFER_BLOCKING "DEFER_BLOCKING"
    COLLECTIVE "COLLECTIVE" EXCLUSIVE "EXCLUSIVE" DIV "DIV" CONV "CONV" REL "REL" ABS "ABS" NOINC "NOINC" NODEC "NODEC"
    TRAP "TRAP" INT "INT" DRAIN "DRAIN" PREEMPTED "PREEMPTED" KEEPREFCOUNT "KEEPREFCOUNT" NO_ATEXIT "NO_ATEXIT"
    RELIABLE "RELIABLE" BPT_ "BPT" ASYNC "ASYNC" VIEW "VIEW" PQUAD "PQUAD" CLEAR "CLEAR" _32I "32I" BAR "BAR"
}

impl Mod {
    /// The modifier with this spelling (no dot).
    pub fn parse(text: &str) -> Option<Mod> {
        use rustc_hash::FxHashMap;
        use std::sync::LazyLock;
        static BY_NAME: LazyLock<FxHashMap<&'static str, Mod>> =
            LazyLock::new(|| Mod::LIST.iter().map(|m| (m.name(), *m)).collect());
        BY_NAME.get(text).copied()
    }
}

impl fmt::Display for Mod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Up to eight modifiers of an instruction, in text order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mods([Mod; 8]);

impl Mods {
    pub const CAPACITY: usize = 8;

    /// # Panics
    /// When there are more than eight: a programming error of the caller, no input can cause it.
    pub fn new(mods: &[Mod]) -> Mods {
        let mut all = Mods::default();
        all.0[..mods.len()].copy_from_slice(mods);
        all
    }

    pub fn iter(&self) -> impl Iterator<Item = Mod> + '_ {
        self.0.iter().copied().take_while(|m| *m != Mod::NONE)
    }

    pub fn as_slice(&self) -> &[Mod] {
        &self.0[..self.len()]
    }

    pub fn len(&self) -> usize {
        self.0.iter().position(|m| *m == Mod::NONE).unwrap_or(8)
    }

    pub fn is_empty(&self) -> bool {
        self.0[0] == Mod::NONE
    }

    pub fn has(&self, m: Mod) -> bool {
        self.0.contains(&m)
    }

    /// Appends; false when full.
    pub fn push(&mut self, m: Mod) -> bool {
        let len = self.len();
        if len == Self::CAPACITY {
            return false;
        }
        self.0[len] = m;
        true
    }

    /// Replaces the first `old` by `new`; false when there is none.
    pub fn replace(&mut self, old: Mod, new: Mod) -> bool {
        match self.0.iter().position(|m| *m == old) {
            Some(i) => {
                self.0[i] = new;
                true
            }
            None => false,
        }
    }
}

impl fmt::Debug for Mods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Mods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|m| write!(f, ".{m}"))
    }
}
