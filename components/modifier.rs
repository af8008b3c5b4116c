//! Modifiers: the dot-separated words of a SASS mnemonic (`.GE`, `.AND`, `.U32`, `.64`) and of
//! operands (`.H0_H0`, `.X4`).
//!
//! An instruction's modifiers are the words that its text shows, in that order; a word that the
//! text leaves out (a default) is not in the list. The target's row says which field each word
//! fills.

use crate::names::Names;
use std::fmt;
use std::hash::{Hash, Hasher};

macro_rules! modifiers {
    ($($what:literal: $($name:ident $text:literal)*;)*) => {
        /// One modifier word. Words that start with a digit have an underscore before their name in
        /// Rust.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
        #[repr(u16)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        pub enum Mod {
            /// No modifier: fills unused places.
            #[default]
            NONE,
            $($(
                #[doc = concat!("`.", $text, "`: ", $what, ".")]
                $name,
            )*)*
        }

        impl Mod {
            /// All but [`Mod::NONE`]: the first is number 1.
            pub const LIST: &'static [Mod] = &[$($(Mod::$name,)*)*];

            const NAMES: &'static [&'static str] = &[$($($text,)*)*];

            /// The word without its dot.
            pub const fn name(self) -> &'static str {
                match self { Mod::NONE => "", $($(Mod::$name => $text,)*)* }
            }
        }
    };
}

modifiers! {
    // Comparisons and their combination.
    "a comparison":
        F "F" LT "LT" EQ "EQ" LE "LE" GT "GT" NE "NE" GE "GE" NUM "NUM" NAN "NAN";
    "a comparison; `U` at its end: true of NaNs too":
        LTU "LTU" EQU "EQU" LEU "LEU" GTU "GTU" NEU "NEU" GEU "GEU";
    "a comparison":
        T "T";
    "how a comparison is combined with its predicate, or a bitwise atomic":
        AND "AND" OR "OR" XOR "XOR";
    "of comparisons":
        EX "EX" BF "BF" BM "BM" PASS_B "PASS_B" H_AND "H_AND";
    // Integer.
    "of integer instructions":
        X "X" LUT "LUT" MOV "MOV" IADD "IADD" SHL "SHL" WIDE "WIDE" HI "HI" LO "LO" L "L" R "R"
        W "W" SX32 "SX32" SH "SH";
    "an integer type, by sign and bits":
        U8 "U8" S8 "S8" U16 "U16" S16 "S16" U32 "U32" S32 "S32" U64 "U64" S64 "S64" U4 "U4"
        S4 "S4";
    "of integer instructions":
        C "C" IR "IR" F4E "F4E" B4E "B4E" RC8 "RC8" ECL "ECL" ECR "ECR" RC16 "RC16" _4A "4A"
        _2A "2A";
    // Float.
    "a format of floats":
        F16 "F16" F32 "F32" F64 "F64" BF16 "BF16" TF32 "TF32";
    "numbers packed into a register or several: their type and how many":
        F16x2 "F16x2" BF16_V2 "BF16_V2" F16_V2 "F16_V2";
    "a format of floats":
        E4M3 "E4M3" E5M2 "E5M2" E8 "E8";
    "subnormal numbers count as zeros (`.FMZ`: a zero factor gives zero too)":
        FTZ "FTZ";
    "a result that does not fit is clamped (`.RELU`: below at zero)":
        SAT "SAT" RELU "RELU";
    "a way to round: nearest, down, up, to zero, ties away":
        RN "RN" RM "RM" RP "RP" RZ "RZ" RNA "RNA";
    "of float instructions":
        NTZ "NTZ";
    "a way to round: nearest, down, up, to zero, ties away":
        TRUNC "TRUNC" FLOOR "FLOOR" CEIL "CEIL" ROUND "ROUND";
    "of float instructions":
        MMA "MMA";
    "the function of MUFU":
        COS "COS" SIN "SIN" EX2 "EX2" LG2 "LG2" RCP "RCP" RSQ "RSQ" RCP64H "RCP64H"
        RSQ64H "RSQ64H" SQRT "SQRT" TANH "TANH";
    "the result is divided by or multiplied with so much":
        D2 "D2" D4 "D4" D8 "D8" M2 "M2" M4 "M4" M8 "M8";
    "of float instructions":
        NANZ "NANZ" XORSIGN "XORSIGN" IS_A "IS_A" NDV "NDV";
    "how conversions pack their results into a register or unpack a source":
        UNPACK_B "UNPACK_B" MERGE_C "MERGE_C" PACK_AB "PACK_AB" PACK_AB_MERGE_C "PACK_AB_MERGE_C"
        PACK_B_MERGE_C "PACK_B_MERGE_C";
    // Halves and bytes of a register.
    "the half of a register that is read, or both in their order":
        H0 "H0" H1 "H1" H0_H0 "H0_H0" H1_H1 "H1_H1" H1_H0 "H1_H0" H0_NH1 "H0_NH1";
    "the byte of a register that is read":
        B0 "B0" B1 "B1" B2 "B2" B3 "B3";
    // Memory.
    "of accesses to memory and of caches":
        E "E";
    "a width in bits: of an access, or of the base of an address":
        _8 "8" _16 "16" _32 "32" _64 "64" _128 "128";
    "which lanes branch: all alike (`.U`), converged (`.CONV`) or diverged (`.DIV`)":
        U "U";
    "the order that an access keeps, or what it may take for granted":
        CONSTANT "CONSTANT";
    "the scope of an access or fence":
        CTA "CTA" SM "SM" GPU "GPU" SYS "SYS" CLUSTER "CLUSTER" VC "VC";
    "the order that an access keeps, or what it may take for granted":
        WEAK "WEAK" STRONG "STRONG" MMIO "MMIO";
    "a cache policy: evict first, last, last use, unchanged, no allocation":
        EF "EF" EL "EL" LU "LU" EU "EU" NA "NA";
    "how many bytes L2 fetches ahead":
        LTC64B "LTC64B" LTC128B "LTC128B" LTC256B "LTC256B";
    "of accesses to memory and of caches":
        ZD "ZD";
    "the order that an access keeps, or what it may take for granted":
        PRIVATE "PRIVATE";
    "numbers packed into a register or several: their type and how many":
        F32x2 "F32x2" F32x4 "F32x4";
    "the operation of an atomic or a reduction":
        ADD "ADD" MIN "MIN" MAX "MAX" INC "INC" DEC "DEC" EXCH "EXCH" CAS "CAS" SAFEADD "SAFEADD";
    "of accesses to memory and of caches":
        POPC "POPC";
    "the operation of an atomic or a reduction":
        CAST "CAST";
    "of accesses to memory and of caches":
        SPIN "SPIN" ARRIVE "ARRIVE";
    "what the base register of an address is multiplied with":
        X4 "X4" X8 "X8" X16 "X16";
    "the order that an access keeps, or what it may take for granted":
        SC "SC";
    "of accesses to memory and of caches":
        ALL "ALL" IVALL "IVALL" IV "IV" PF1 "PF1" PF2 "PF2" WB "WB" RS "RS" LDCU "LDCU" IL "IL"
        IS "IS" ISL "ISL";
    "the shape of the matrices that a load or a store spreads over lanes (`T`: transposed)":
        M88 "M88" MT88 "MT88" M816 "M816" MT816 "MT816";
    "of accesses to memory and of caches":
        BYPASS "BYPASS" ACCESS "ACCESS";
    // Packed and other integer and float variants.
    "subnormal numbers count as zeros (`.FMZ`: a zero factor gives zero too)":
        FMZ "FMZ";
    "a variant of integer, float and dot product instructions":
        ACC "ACC";
    "a result that does not fit is clamped (`.RELU`: below at zero)":
        SATRELU "SATRELU";
    "a variant of integer, float and dot product instructions":
        PAND "PAND";
    "numbers packed into a register or several: their type and how many":
        U16x2 "U16x2" S16x2 "S16x2" _16x2 "16x2";
    "a variant of integer, float and dot product instructions":
        RESULT "RESULT" PML2 "PML2" DML2 "DML2" RML2 "RML2" G "G" S "S" D "D";
    "numbers packed into a register or several: their type and how many":
        F16x4 "F16x4" BF16x2 "BF16x2" BF16x4 "BF16x4";
    // Warp, barriers, control.
    "which lane a shuffle reads: by index, below, above, butterfly":
        IDX "IDX" UP "UP" DOWN "DOWN" BFLY "BFLY";
    "of votes, barriers and control flow":
        ANY "ANY" SUM "SUM" SYNC "SYNC" RED "RED" ARV "ARV" DEFER_BLOCKING "DEFER_BLOCKING"
        COLLECTIVE "COLLECTIVE" EXCLUSIVE "EXCLUSIVE";
    "which lanes branch: all alike (`.U`), converged (`.CONV`) or diverged (`.DIV`)":
        DIV "DIV" CONV "CONV";
    "a place in the code: relative to the instruction, or absolute":
        REL "REL" ABS "ABS";
    "a call or return that leaves the depth of calls as it is":
        NOINC "NOINC" NODEC "NODEC";
    "of votes, barriers and control flow":
        TRAP "TRAP" INT "INT" DRAIN "DRAIN" PREEMPTED "PREEMPTED" KEEPREFCOUNT "KEEPREFCOUNT"
        NO_ATEXIT "NO_ATEXIT" RELIABLE "RELIABLE" BPT_ "BPT" ASYNC "ASYNC" VIEW "VIEW"
        PQUAD "PQUAD" CLEAR "CLEAR" _32I "32I" BAR "BAR";
    // Texture, asynchronous copies, tensor cores, and what newer SMs add.
    "the dimensions of a texture, a surface or a tensor map":
        _1D "1D" _1D_ARRAY "1D_ARRAY";
    "how many times: of matrices, columns or CTAs":
        _2CTA "2CTA";
    "the dimensions of a texture, a surface or a tensor map":
        _2D "2D" _2D_ARRAY "2D_ARRAY" _3D "3D" _4D "4D";
    "of textures, asynchronous copies or tensor cores":
        _4X "4X";
    "the dimensions of a texture, a surface or a tensor map":
        _5D "5D";
    "of textures, asynchronous copies or tensor cores":
        A "A" A0T1 "A0T1" A0TR "A0TR" A0TX "A0TX" A1T0 "A1T0" ALIGN "ALIGN" AOFFI "AOFFI"
        ART0 "ART0" B "B" BA "BA";
    "numbers packed into a register or several: their type and how many":
        BF16x8 "BF16x8";
    "of textures, asynchronous copies or tensor cores":
        BROADCAST "BROADCAST" CCTL "CCTL" CL "CL";
    "the order of a factor's elements in memory":
        COL "COL";
    "of textures, asynchronous copies or tensor cores":
        CTAPOOL "CTAPOOL" DC "DC" DEALLOC "DEALLOC" DEPBAR "DEPBAR"
        DST_G_BYTE_MASK "DST_G_BYTE_MASK";
    "a format of floats":
        E2M1 "E2M1" E2M3 "E2M3" E3M2 "E3M2";
    "numbers packed into a register or several: their type and how many":
        E4M3x16 "E4M3x16" E4M3x4 "E4M3x4" E4M3x8 "E4M3x8" E5M2x16 "E5M2x16" E5M2x4 "E5M2x4"
        E5M2x8 "E5M2x8";
    "a cache policy: evict first, last, last use, unchanged, no allocation":
        EFL2 "EFL2" ELL2 "ELL2" ENL2 "ENL2";
    "of textures, asynchronous copies or tensor cores":
        EXPAND16BIT "EXPAND16BIT" FILL "FILL" FLUSH "FLUSH" IGNOREKILL "IGNOREKILL";
    "numbers packed into a register or several: their type and how many":
        F16x8 "F16x8";
    "of textures, asynchronous copies or tensor cores":
        F32ADD "F32ADD" FIND_AND_SET "FIND_AND_SET" GATHER4 "GATHER4" HI_LO "HI_LO" HPADD "HPADD"
        IGN "IGN" IM2COL "IM2COL";
    "a result that does not fit is clamped (`.RELU`: below at zero)":
        ISAT "ISAT";
    "of textures, asynchronous copies or tensor cores":
        L2 "L2" LDGSTSBAR "LDGSTSBAR" LL "LL" LZ "LZ" MAXABS "MAXABS" MINABS "MINABS" MS "MS";
    "the shape of the matrices that a load or a store spreads over lanes (`T`: transposed)":
        MT1616 "MT1616" MT168 "MT168";
    "of textures, asynchronous copies or tensor cores":
        MULTICAST "MULTICAST" OOB "OOB" OPTOUT "OPTOUT" P "P" PACK16BIT "PACK16BIT";
    "how conversions pack their results into a register or unpack a source":
        PACK_B "PACK_B";
    "of textures, asynchronous copies or tensor cores":
        PF "PF" PHASECHK "PHASECHK" RECONVERGENT "RECONVERGENT" RG "RG";
    "the order of a factor's elements in memory":
        ROW "ROW";
    "of textures, asynchronous copies or tensor cores":
        S2 "S2";
    "a result that does not fit is clamped (`.RELU`: below at zero)":
        SATFINITE "SATFINITE";
    "of textures, asynchronous copies or tensor cores":
        SCATTER4 "SCATTER4" SCR "SCR" SD32 "SD32" SF "SF" SIGN "SIGN" SMPOOL "SMPOOL" SP "SP"
        SYNCS "SYNCS" TMASK "TMASK" TRANS64 "TRANS64" TRANSCNT "TRANSCNT" TRYWAIT "TRYWAIT"
        TRY_ALLOC "TRY_ALLOC";
    "an integer type, by sign and bits":
        U2 "U2";
    "of textures, asynchronous copies or tensor cores":
        U4x16P64 "U4x16P64" U4x16P64TO8 "U4x16P64TO8" U6x16P32 "U6x16P32"
        U6x16P32TO8 "U6x16P32TO8";
    "a format of floats":
        UE4M3 "UE4M3";
    "how conversions pack their results into a register or unpack a source":
        UNPACK_B_MERGE_C "UNPACK_B_MERGE_C";
    "of textures, asynchronous copies or tensor cores":
        W128 "W128" WARP "WARP" WS "WS" ZFILL "ZFILL";
    "how many times: of matrices, columns or CTAs":
        x128 "x128" x16 "x16" x2 "x2" x32 "x32" x4 "x4" x64 "x64" x8 "x8";
    "of textures, asynchronous copies or tensor cores":
        REGOFFSET "REGOFFSET";
    "the shape of the matrices that a load or a store spreads over lanes (`T`: transposed)":
        M832 "M832" M864 "M864";
    "of textures, asynchronous copies or tensor cores":
        RAND "RAND" AC "AC" SB "SB" WAIT "WAIT" SCAN "SCAN";
    // Names of the state that BMOV and RPCMOV move.
    "state that BMOV or RPCMOV moves, or a word of caches and textures":
        THREAD_STATE_ENUM "THREAD_STATE_ENUM";
    "a number of the instruction: a scale, an index or a count":
        _0 "0" _1 "1" _3 "3";
    "state that BMOV or RPCMOV moves, or a word of caches and textures":
        TRAP_RETURN_PC "TRAP_RETURN_PC" TRAP_RETURN_MASK "TRAP_RETURN_MASK" MEXITED "MEXITED"
        MKILL "MKILL" MACTIVE "MACTIVE" MATEXIT "MATEXIT" OPT_STACK "OPT_STACK"
        API_CALL_DEPTH "API_CALL_DEPTH" ATEXIT_PC "ATEXIT_PC" MCOLLECTIVE "MCOLLECTIVE" Rpc "Rpc"
        WATCH "WATCH" WBALL "WBALL" IVALLP "IVALLP" WBALLP "WBALLP" I "I" ARVCNT "ARVCNT"
        SEQUENCED "SEQUENCED" LD "LD";
    "the dimensions of a texture, a surface or a tensor map":
        CUBE "CUBE" ARRAY_1D "ARRAY_1D" ARRAY_2D "ARRAY_2D" ARRAY_CUBE "ARRAY_CUBE"
        _1D_BUFFER "1D_BUFFER";
    "state that BMOV or RPCMOV moves, or a word of caches and textures":
        SD64 "SD64" LB "LB" LC "LC" FDV "FDV" NODEP "NODEP" PTP "PTP" LOD "LOD" COARSE "COARSE"
        TEX "TEX" TXD "TXD" IVTH "IVTH" COMP_STATUS "COMP_STATUS"
        TEX_HEADER_DIMENSION "TEX_HEADER_DIMENSION"
        TEX_HEADER_TEXTURE_TYPE "TEX_HEADER_TEXTURE_TYPE"
        TEX_HEADER_SAMPLER_POS "TEX_HEADER_SAMPLER_POS";
    // Shapes.
    "a matrix product: m, n and k in decimal, one after another":
        _168256 "168256" _8864 "8864";
    "tensor memory: lanes (`dp`) and bits of each that a transfer moves":
        _128dp128bit "128dp128bit";
    "a matrix product: m, n and k in decimal, one after another":
        _168128 "168128" _16816 "16816" _16832 "16832" _1684 "1684" _16864 "16864" _1688 "1688";
    "tensor memory: lanes (`dp`) and bits of each that a transfer moves":
        _16dp128bit "16dp128bit" _16dp256bit "16dp256bit" _16dp32bit_t0_t15 "16dp32bit_t0_t15"
        _16dp32bit_t16_t31 "16dp32bit_t16_t31" _16dp64bit "16dp64bit";
    "a matrix product of m x n x k elements":
        _16x8x16 "16x8x16" _16x8x4 "16x8x4" _16x8x8 "16x8x8";
    "a number of the instruction: a scale, an index or a count":
        _2 "2" _24 "24" _256 "256" _28 "28";
    "tensor memory: lanes (`dp`) and bits of each that a transfer moves":
        _2x64dp128bit_lw01_lw23 "2x64dp128bit_lw01_lw23"
        _2x64dp128bit_lw02_lw13 "2x64dp128bit_lw02_lw13";
    "a number of the instruction: a scale, an index or a count":
        _4 "4";
    "tensor memory: lanes (`dp`) and bits of each that a transfer moves":
        _4dp256bit "4dp256bit" _4x32dp128bit "4x32dp128bit";
    "a matrix product: m, n and k in decimal, one after another":
        _88128 "88128" _8816 "8816" _8832 "8832" _884 "884";
    "a matrix product of m x n x k elements":
        _8x8x4 "8x8x4" _64x8x8 "64x8x8" _64x16x8 "64x16x8" _64x24x8 "64x24x8" _64x32x8 "64x32x8"
        _64x40x8 "64x40x8" _64x48x8 "64x48x8" _64x56x8 "64x56x8" _64x64x8 "64x64x8"
        _64x72x8 "64x72x8" _64x80x8 "64x80x8" _64x88x8 "64x88x8" _64x96x8 "64x96x8"
        _64x104x8 "64x104x8" _64x112x8 "64x112x8" _64x120x8 "64x120x8" _64x128x8 "64x128x8"
        _64x136x8 "64x136x8" _64x144x8 "64x144x8" _64x152x8 "64x152x8" _64x160x8 "64x160x8"
        _64x168x8 "64x168x8" _64x176x8 "64x176x8" _64x184x8 "64x184x8" _64x192x8 "64x192x8"
        _64x200x8 "64x200x8" _64x208x8 "64x208x8" _64x216x8 "64x216x8" _64x224x8 "64x224x8"
        _64x232x8 "64x232x8" _64x240x8 "64x240x8" _64x248x8 "64x248x8" _64x256x8 "64x256x8"
        _64x8x16 "64x8x16" _64x16x16 "64x16x16" _64x24x16 "64x24x16" _64x32x16 "64x32x16"
        _64x40x16 "64x40x16" _64x48x16 "64x48x16" _64x56x16 "64x56x16" _64x64x16 "64x64x16"
        _64x72x16 "64x72x16" _64x80x16 "64x80x16" _64x88x16 "64x88x16" _64x96x16 "64x96x16"
        _64x104x16 "64x104x16" _64x112x16 "64x112x16" _64x120x16 "64x120x16"
        _64x128x16 "64x128x16" _64x136x16 "64x136x16" _64x144x16 "64x144x16"
        _64x152x16 "64x152x16" _64x160x16 "64x160x16" _64x168x16 "64x168x16"
        _64x176x16 "64x176x16" _64x184x16 "64x184x16" _64x192x16 "64x192x16"
        _64x200x16 "64x200x16" _64x208x16 "64x208x16" _64x216x16 "64x216x16"
        _64x224x16 "64x224x16" _64x232x16 "64x232x16" _64x240x16 "64x240x16"
        _64x248x16 "64x248x16" _64x256x16 "64x256x16" _64x8x32 "64x8x32" _64x16x32 "64x16x32"
        _64x24x32 "64x24x32" _64x32x32 "64x32x32" _64x40x32 "64x40x32" _64x48x32 "64x48x32"
        _64x56x32 "64x56x32" _64x64x32 "64x64x32" _64x72x32 "64x72x32" _64x80x32 "64x80x32"
        _64x88x32 "64x88x32" _64x96x32 "64x96x32" _64x104x32 "64x104x32" _64x112x32 "64x112x32"
        _64x120x32 "64x120x32" _64x128x32 "64x128x32" _64x136x32 "64x136x32"
        _64x144x32 "64x144x32" _64x152x32 "64x152x32" _64x160x32 "64x160x32"
        _64x168x32 "64x168x32" _64x176x32 "64x176x32" _64x184x32 "64x184x32"
        _64x192x32 "64x192x32" _64x200x32 "64x200x32" _64x208x32 "64x208x32"
        _64x216x32 "64x216x32" _64x224x32 "64x224x32" _64x232x32 "64x232x32"
        _64x240x32 "64x240x32" _64x248x32 "64x248x32" _64x256x32 "64x256x32" _64x8x64 "64x8x64"
        _64x16x64 "64x16x64" _64x24x64 "64x24x64" _64x32x64 "64x32x64" _64x40x64 "64x40x64"
        _64x48x64 "64x48x64" _64x56x64 "64x56x64" _64x64x64 "64x64x64" _64x72x64 "64x72x64"
        _64x80x64 "64x80x64" _64x88x64 "64x88x64" _64x96x64 "64x96x64" _64x104x64 "64x104x64"
        _64x112x64 "64x112x64" _64x120x64 "64x120x64" _64x128x64 "64x128x64"
        _64x136x64 "64x136x64" _64x144x64 "64x144x64" _64x152x64 "64x152x64"
        _64x160x64 "64x160x64" _64x168x64 "64x168x64" _64x176x64 "64x176x64"
        _64x184x64 "64x184x64" _64x192x64 "64x192x64" _64x200x64 "64x200x64"
        _64x208x64 "64x208x64" _64x216x64 "64x216x64" _64x224x64 "64x224x64"
        _64x232x64 "64x232x64" _64x240x64 "64x240x64" _64x248x64 "64x248x64"
        _64x256x64 "64x256x64" _64x8x128 "64x8x128" _64x16x128 "64x16x128" _64x24x128 "64x24x128"
        _64x32x128 "64x32x128" _64x40x128 "64x40x128" _64x48x128 "64x48x128"
        _64x56x128 "64x56x128" _64x64x128 "64x64x128" _64x72x128 "64x72x128"
        _64x80x128 "64x80x128" _64x88x128 "64x88x128" _64x96x128 "64x96x128"
        _64x104x128 "64x104x128" _64x112x128 "64x112x128" _64x120x128 "64x120x128"
        _64x128x128 "64x128x128" _64x136x128 "64x136x128" _64x144x128 "64x144x128"
        _64x152x128 "64x152x128" _64x160x128 "64x160x128" _64x168x128 "64x168x128"
        _64x176x128 "64x176x128" _64x184x128 "64x184x128" _64x192x128 "64x192x128"
        _64x200x128 "64x200x128" _64x208x128 "64x208x128" _64x216x128 "64x216x128"
        _64x224x128 "64x224x128" _64x232x128 "64x232x128" _64x240x128 "64x240x128"
        _64x248x128 "64x248x128" _64x256x128 "64x256x128" _64x8x256 "64x8x256"
        _64x16x256 "64x16x256" _64x24x256 "64x24x256" _64x32x256 "64x32x256"
        _64x40x256 "64x40x256" _64x48x256 "64x48x256" _64x56x256 "64x56x256"
        _64x64x256 "64x64x256" _64x72x256 "64x72x256" _64x80x256 "64x80x256"
        _64x88x256 "64x88x256" _64x96x256 "64x96x256" _64x104x256 "64x104x256"
        _64x112x256 "64x112x256" _64x120x256 "64x120x256" _64x128x256 "64x128x256"
        _64x136x256 "64x136x256" _64x144x256 "64x144x256" _64x152x256 "64x152x256"
        _64x160x256 "64x160x256" _64x168x256 "64x168x256" _64x176x256 "64x176x256"
        _64x184x256 "64x184x256" _64x192x256 "64x192x256" _64x200x256 "64x200x256"
        _64x208x256 "64x208x256" _64x216x256 "64x216x256" _64x224x256 "64x224x256"
        _64x232x256 "64x232x256" _64x240x256 "64x240x256" _64x248x256 "64x248x256"
        _64x256x256 "64x256x256";
}

impl Mod {
    /// The modifier with this spelling (no dot).
    pub fn parse(text: &str) -> Option<Mod> {
        static BY_NAME: Names<2048> = Names::new(Mod::NAMES);
        BY_NAME.find(text, |i| Mod::LIST[i].name()).map(|i| Mod::LIST[i])
    }
}

impl fmt::Display for Mod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Up to twelve modifiers of an instruction, in text order: no form has more
/// (`SURED.D.BA.1D.ADD.EF.F32.FTZ.RN.CONSTANT.SM.PRIVATE.IGN`).
#[derive(Clone, Copy, Eq, Default)]
pub struct Mods([Mod; Mods::CAPACITY]);

impl Mods {
    /// Four words in each number: three of these are compared and hashed sooner than twelve words.
    #[inline]
    fn quads(&self) -> [u64; Mods::CAPACITY / 4] {
        std::array::from_fn(|i| {
            let word = |n: usize| (self.0[4 * i + n] as u64) << (16 * n);
            word(0) | word(1) | word(2) | word(3)
        })
    }

    /// The words, four in each number, up to that in which the list ends: for hashes.
    #[inline]
    pub fn for_each_quad(&self, mut f: impl FnMut(u64)) {
        for quad in self.quads() {
            f(quad);
            if quad >> 48 == 0 {
                break;
            }
        }
    }
}

impl PartialEq for Mods {
    #[inline]
    fn eq(&self, other: &Mods) -> bool {
        self.quads() == other.quads()
    }
}

impl Hash for Mods {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.for_each_quad(|quad| state.write_u64(quad));
    }
}

impl Mods {
    /// Most words that an instruction has.
    pub const CAPACITY: usize = 12;

    /// A list of these words, in the order of the text.
    ///
    /// # Panics
    /// When there are more than twelve: a programming error of the caller, no input can cause it.
    pub fn new(mods: &[Mod]) -> Mods {
        let mut all = Mods::default();
        all.0[..mods.len()].copy_from_slice(mods);
        all
    }

    /// The words in the order of the text.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Mod> + '_ {
        self.0.iter().copied().take_while(|m| *m != Mod::NONE)
    }

    /// The words in the order of the text, without unused places.
    #[inline]
    pub fn as_slice(&self) -> &[Mod] {
        &self.0[..self.len()]
    }

    /// Whether these are the words, in this order.
    #[inline]
    pub fn are(&self, words: &[Mod]) -> bool {
        let ends = self.0.get(words.len()).is_none_or(|next| *next == Mod::NONE);
        ends && self.0.iter().zip(words).all(|(mine, word)| mine == word)
    }

    /// How many words there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().position(|m| *m == Mod::NONE).unwrap_or(Self::CAPACITY)
    }

    /// Whether the mnemonic stands alone.
    pub fn is_empty(&self) -> bool {
        self.0[0] == Mod::NONE
    }

    /// Whether the word is among them, wherever it stands.
    #[inline]
    pub fn has(&self, m: Mod) -> bool {
        self.0.contains(&m)
    }

    /// Appends; false when full.
    #[inline]
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
