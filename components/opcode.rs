//! Opcodes: SASS mnemonics and the pseudo instructions that named phases expand, each with its
//! properties.
//!
//! This is the one list of mnemonics. How each is encoded, timed and which operands it has stands
//! in the target tables.

use crate::names::Names;
use std::fmt;

/// What is true of an opcode whatever its operands and target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Props(pub u32);

impl Props {
    pub const NONE: Props = Props(0);
    /// May be removed only when nothing observes it: never dead.
    pub const EFFECT: Props = Props(1);
    /// Reads memory.
    pub const LOAD: Props = Props(1 << 1);
    /// Writes memory.
    pub const STORE: Props = Props(1 << 2);
    /// Transfers control: last in its block (BRA, EXIT, RET, BRX …).
    pub const BRANCH: Props = Props(1 << 3);
    /// Depends on which threads run together: may not move across control flow (SHFL, VOTE, BAR …).
    pub const CONVERGENT: Props = Props(1 << 4);
    /// Not an instruction of the machine: a named phase expands it.
    pub const PSEUDO: Props = Props(1 << 5);
    /// Runs on the uniform datapath: reads and writes uniform registers.
    pub const UNIFORM: Props = Props(1 << 6);
    /// A product of a warpgroup: goes on with its registers until a wait for its group.
    pub const GROUP: Props = Props(1 << 7);
    /// A pseudo instruction that stands for a sequence: its results depend on its sources alone,
    /// and any source may be a constant.
    pub const MACRO: Props = Props(1 << 8);

    /// A load of what nobody writes while the kernel runs.
    pub const CONSTANT: Props = Props(1 << 9);
    /// Its result depends on when or in which thread it runs, though no source says so.
    pub const STATE: Props = Props(1 << 10);
    /// Its source is a special register.
    pub const SPECIAL: Props = Props(1 << 11);
    /// Threads that bring the same operands get the same result, though it reads memory.
    pub const SHARED: Props = Props(1 << 12);
    /// All threads that run it together get the same result, whatever they bring.
    pub const ALIKE: Props = Props(1 << 13);
    /// A thread may wait here until others come.
    pub const WAITS: Props = Props(1 << 14);
    /// Its sources of one cell are whole 32-bit words: an immediate there is the register's value.
    pub const WORDS: Props = Props(1 << 15);

    /// A branch behind which control goes on all the same.
    pub const RETURNS: Props = Props(1 << 16);
    /// An access to memory, but never to that of the CTA.
    pub const ELSEWHERE: Props = Props(1 << 17);

    pub const fn with(self, other: Props) -> Props {
        Props(self.0 | other.0)
    }

    pub const fn has(self, other: Props) -> bool {
        self.0 & other.0 != 0
    }
}

macro_rules! opcodes {
    ($($props:ident: $($name:ident)+;)*) => {
        /// A SASS mnemonic (without its modifiers) or a pseudo instruction.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        pub enum Opcode { $($($name,)+)* }

        impl Opcode {
            pub const LIST: &'static [Opcode] = &[$($(Opcode::$name,)+)*];

            const NAMES: &'static [&'static str] = &[$($(stringify!($name),)+)*];

            pub const fn name(self) -> &'static str {
                match self { $($(Opcode::$name => stringify!($name),)+)* }
            }

            const PROPS: [Props; Opcode::LIST.len()] =
                also([$($({ let _ = Opcode::$name; $props },)+)*]);

            #[inline]
            pub const fn props(self) -> Props {
                Opcode::PROPS[self as usize]
            }
        }
    };
}

const PURE: Props = Props::NONE;
const UPURE: Props = Props::UNIFORM;
const EFFECT: Props = Props::EFFECT;
const LOAD: Props = Props::LOAD;
const STORE: Props = Props::STORE.with(Props::EFFECT);
const ATOMIC: Props = Props::STORE.with(Props::LOAD).with(Props::EFFECT);
const BRANCH: Props = Props::BRANCH.with(Props::EFFECT);
const WARP: Props = Props::CONVERGENT;
const SYNC: Props = Props::CONVERGENT.with(Props::EFFECT);
const ULOAD: Props = Props::UNIFORM.with(Props::LOAD);
const GROUP: Props = Props::GROUP.with(Props::CONVERGENT).with(Props::EFFECT);
const PSEUDO: Props = Props::PSEUDO;
const MACRO: Props = PSEUDO.with(Props::MACRO);
const CALLING: Props = PSEUDO.with(Props::CONVERGENT).with(STORE).with(LOAD);
const LEAVING: Props = PSEUDO.with(BRANCH);
const JUMPING: Props = PSEUDO.with(BRANCH);

opcodes! {
    // Integer.
    PURE: IADD3 IMAD IMNMX VIMNMX VIADD VIADDMNMX IABS ISETP ICMP LEA LOP3 SHF SGXT BMSK FLO POPC BREV PRMT SEL MOV IDP
        VABSDIFF VABSDIFF4 VIMNMX3 VHMNMX CLMAD BFE BFI I2I I2IP;
    // Float.
    PURE: FADD FMUL FFMA FMNMX FSETP FSET FSEL FCHK FSWZADD MUFU DADD DMUL DFMA DSETP DMNMX HADD2 HMUL2 HFMA2 HSETP2 HSET2
        HMNMX2;
    // Conversion.
    PURE: F2F F2I I2F F2FP I2FP F2IP FRND;
    // Predicates, special registers, barrier state.
    PURE: PLOP3 P2R R2P S2R CS2R B2R;
    EFFECT: R2B BMOV NOP NANOSLEEP PMTRIG DEPBAR SETCTAID SETLMEMBASE GETLMEMBASE LEPC;
    // Between the register files.
    PURE: R2UR;
    // Uniform datapath.
    UPURE: UIADD3 UIMAD ULOP3 UMOV USHF ULEA USEL UISETP UPLOP3 UPOPC UFLO UBREV UPRMT USGXT UBMSK UP2UR UR2UP S2UR VOTEU
        UF2FP UCLEA;
    EFFECT: ULEPC USETSHMSZ;
    ULOAD: ULDC;
    // Memory.
    LOAD: LD LDG LDL LDS LDC LDSM LDTM QSPC;
    STORE: ST STG STL STS STSM CCTL CCTLL CCTLT ERRBAR MEMBAR FENCE LDGSTS LDGDEPBAR ARRIVES UBLKCP UBLKPF UBLKRED UTMALDG
        UTMASTG UTMAPF UTMAREDG UTMACCTL UTMACMDFLUSH STAS;
    ATOMIC: ATOM ATOMG ATOMS RED REDG SYNCS REDAS;
    // Warp.
    WARP: SHFL VOTE MATCH REDUX ELECT;
    SYNC: WARPSYNC BAR BSSY BSYNC BREAK YIELD ENDCOLLECTIVE WARPGROUP WARPGROUPSET UCGABAR_ARV UCGABAR_WAIT CGAERRBAR
        ACQBULK PREEXIT USETMAXREG BPT;
    // Matrix.
    WARP: HMMA IMMA DMMA BMMA MOVM;
    GROUP: HGMMA IGMMA QGMMA BGMMA;
    // Texture and surface.
    LOAD: TEX TLD TLD4 TMML TXD TXQ FOOTPRINT SULD SUQUERY;
    STORE: SUST SURED SUATOM;
    // What the table has for SMs from sm_100 on; nothing makes them yet.
    PURE: FADD2 FMUL2 FFMA2 FHADD FHFMA FMNMX3 IADD CREDUX;
    ULOAD: LDCU;
    LOAD: LDGMC;
    STORE: STTM USTGR UTCCP UTCBAR UTCATOMSWS UVIRTCOUNT UTCHMMA UTCIMMA UTCQMMA UTCOMMA;
    WARP: QMMA OMMA;
    // Control.
    BRANCH: BRA BRX BRXU JMP JMX JMXU EXIT RET KILL CALL RPCMOV RTT;
    // Pseudo instructions.
    //   MOVPHI   d = phi(v0, block0, v1, block1, …), at the start of a block
    PSEUDO: MOVPHI;
    // A branch with many ways, which ExpandJmxComputation expands:
    //   SWITCH   index, first, block0, block1, …
    JUMPING: SWITCH;
    // Macro instructions, which LateExpansion expands:
    //   IDIV     d = a / b       (.U32, .S32, .U64, .S64)
    //   IREM     d = a % b
    //   FDIV     d = a / b       (IEEE; rounding and ftz as modifiers)
    //   FRCP FSQRT               (IEEE)
    MACRO: IDIV IREM FDIV FRCP FSQRT;
    // Pseudo instructions of calls, which stay until registers are allocated
    // (`systems/registers/calls.rs`):
    //   PARGS    d = where a caller left the arguments that are on the stack: R1 at the function's
    //            entry
    //   PRETADR  R20:2 = where to go on behind the next PCALL (.ABS: as an address of the whole
    //            memory)
    //   PCALL    all that a call may change = [.ABS] callee, R1, R20:2, argument registers …
    //   PRET     back to the caller, which reads the result registers that are named
    PSEUDO: PARGS;
    // Subroutines, which are blocks of the function (`systems/expand/shared.rs`):
    //   SUBCALL  d = what the subroutine at a block makes of the sources; once it has registers:
    //            results and all else that it changes = block, pair with the return address,
    //            arguments
    //   SUBARGS  what the callers give, at the start
    //   SUBRET   the results, at the end; once it has registers behind the pair with the return
    //            address
    PSEUDO: SUBCALL SUBARGS;
    LEAVING: SUBRET;
    CALLING: PRETADR PCALL;
    LEAVING: PRET;
}

/// Properties that are not those of a whole group above.
const ALSO: &[(Props, &[Opcode])] = {
    use Opcode::*;
    &[
        (Props::CONSTANT, &[LDC, ULDC, LDCU]),
        (Props::STATE, &[CS2R, P2R, B2R, CALL]),
        (Props::SPECIAL, &[S2R, CS2R]),
        // The window of local memory is each thread's own.
        (Props::SHARED, &[LDG, LDS, LDC]),
        (Props::ALIKE, &[VOTE, R2UR, REDUX]),
        (Props::WAITS, &[WARPSYNC, BAR, PCALL, WARPGROUP, UCGABAR_WAIT]),
        (Props::RETURNS, &[CALL, RPCMOV, RTT]),
        (
            Props::ELSEWHERE,
            &[LDG, STG, LDL, STL, LDC, ATOMG, REDG, LDGDEPBAR, CCTL, MEMBAR, ERRBAR],
        ),
        (
            Props::WORDS,
            &[
                MOV, IADD3, IMAD, ISETP, LEA, LOP3, SHF, SEL, PRMT, VIADD, VIMNMX, IMNMX, IABS,
                POPC, FLO, BREV, SGXT, FADD, FMUL, FFMA, FSETP, FSEL, FMNMX,
            ],
        ),
    ]
};

/// The properties of all opcodes with those of [`ALSO`].
const fn also<const N: usize>(mut props: [Props; N]) -> [Props; N] {
    let mut at = 0;
    while at < ALSO.len() {
        let (more, ops) = ALSO[at];
        let mut n = 0;
        while n < ops.len() {
            props[ops[n] as usize] = props[ops[n] as usize].with(more);
            n += 1;
        }
        at += 1;
    }
    props
}

impl Opcode {
    pub fn parse(name: &str) -> Option<Opcode> {
        static BY_NAME: Names<1024> = Names::new(Opcode::NAMES);
        BY_NAME.find(name, |i| Opcode::LIST[i].name()).map(|i| Opcode::LIST[i])
    }

    #[inline]
    pub const fn has(self, props: Props) -> bool {
        self.props().has(props)
    }

    #[inline]
    pub const fn is_branch(self) -> bool {
        self.has(Props::BRANCH)
    }

    pub const fn is_pseudo(self) -> bool {
        self.has(Props::PSEUDO)
    }

    /// A pseudo instruction that register allocation has to see: it stays until `PostExpansion`.
    pub const fn is_of_calls(self) -> bool {
        use Opcode::*;
        matches!(self, PARGS | PRETADR | PCALL | PRET | SUBCALL | SUBRET)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
