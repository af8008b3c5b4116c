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
    /// A pure function of its sources.
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

    /// The properties of both.
    pub const fn with(self, other: Props) -> Props {
        Props(self.0 | other.0)
    }

    /// Whether it has any of the other ones.
    pub const fn has(self, other: Props) -> bool {
        self.0 & other.0 != 0
    }
}

macro_rules! opcodes {
    ($($props:ident: $($(#[$doc:meta])+ $name:ident)+;)*) => {
        /// A SASS mnemonic (without its modifiers) or a pseudo instruction.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        pub enum Opcode { $($($(#[$doc])+ $name,)+)* }

        impl Opcode {
            /// All opcodes: the place of each is its number.
            pub const LIST: &'static [Opcode] = &[$($(Opcode::$name,)+)*];

            const NAMES: &'static [&'static str] = &[$($(stringify!($name),)+)*];

            /// The mnemonic, as nvdisasm prints it; of pseudo instructions a name of our own.
            pub const fn name(self) -> &'static str {
                match self { $($(Opcode::$name => stringify!($name),)+)* }
            }

            // A reference: a look-up in an array by value may come to a copy of the array.
            const PROPS: &'static [Props; Opcode::LIST.len()] =
                &also([$($({ let _ = Opcode::$name; $props },)+)*]);

            /// What is true of all its instructions.
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
const CROSSING: Props = PSEUDO.with(EFFECT);

opcodes! {
    // Integer.
    PURE:
        /// Adds three integers, with carries as predicates.
        IADD3
        /// Integer product plus addend: 32 bits, or `.WIDE` and `.HI` of 64.
        IMAD
        /// Smaller or larger of two integers, as a predicate says.
        IMNMX
        /// Smaller or larger of two integers, on the pipe of packed integers; halves too.
        VIMNMX
        /// Adds two integers, on the pipe of packed integers.
        VIADD
        /// Adds two integers, then takes the smaller or larger of sum and third.
        VIADDMNMX
        /// Absolute value of an integer.
        IABS
        /// Compares two integers and combines the result with a predicate, into two predicates.
        ISETP
        /// Selects by comparing an integer with zero.
        ICMP
        /// Shifts an integer left and adds: the address of an element.
        LEA
        /// Any logic function of three words, by a truth table of eight bits.
        LOP3
        /// Shifts a pair of words left or right and gives one word.
        SHF
        /// Sign- or zero-extends the low bits of a word.
        SGXT
        /// A mask of so many one bits from a position on.
        BMSK
        /// Position of the highest bit that is set, or that differs from the sign.
        FLO
        /// Number of bits that are set.
        POPC
        /// Reverses the order of the bits of a word.
        BREV
        /// Picks four bytes of two words.
        PRMT
        /// One of two words, as a predicate says.
        SEL
        /// Copies a word.
        MOV
        /// Dot product of packed bytes or halves plus an addend.
        IDP
        /// Absolute difference of two integers plus an addend.
        VABSDIFF
        /// Absolute differences of four packed bytes plus an addend.
        VABSDIFF4
        /// Smallest or largest of three integers.
        VIMNMX3
        /// Smallest or largest of three pairs of halves.
        VHMNMX
        /// Carry-less product plus addend.
        CLMAD
        /// Extracts a field of bits.
        BFE
        /// Inserts a field of bits.
        BFI
        /// Converts an integer to another width, clamped where it does not fit.
        I2I
        /// Converts two integers to narrow ones and packs them.
        I2IP;
    // Float.
    PURE:
        /// Adds two singles.
        FADD
        /// Multiplies two singles.
        FMUL
        /// Product of two singles plus a third, rounded once.
        FFMA
        /// Smaller or larger of two singles, as a predicate says.
        FMNMX
        /// Compares two singles and combines the result with a predicate, into two predicates.
        FSETP
        /// Compares two singles and combines the result with a predicate, into a word.
        FSET
        /// One of two singles, as a predicate says.
        FSEL
        /// Whether a division of singles needs the slow way: its operands are in no good range.
        FCHK
        /// Adds singles of a quad's lanes with a sign for each lane.
        FSWZADD
        /// Approximate function of a single: reciprocal, root, sine, logarithm, power of two ….
        MUFU
        /// Adds two doubles.
        DADD
        /// Multiplies two doubles.
        DMUL
        /// Product of two doubles plus a third, rounded once.
        DFMA
        /// Compares two doubles and combines the result with a predicate, into two predicates.
        DSETP
        /// Smaller or larger of two doubles, as a predicate says.
        DMNMX
        /// Adds two pairs of halves.
        HADD2
        /// Multiplies two pairs of halves.
        HMUL2
        /// Product of two pairs of halves plus a third, rounded once.
        HFMA2
        /// Compares two pairs of halves, into two predicates.
        HSETP2
        /// Compares two pairs of halves, into a word.
        HSET2
        /// Smaller or larger of two pairs of halves.
        HMNMX2;
    // Conversion.
    PURE:
        /// Converts a float to another format, or rounds it.
        F2F
        /// Converts a float to an integer.
        F2I
        /// Converts an integer to a float.
        I2F
        /// Converts two floats to narrow ones and packs them.
        F2FP
        /// Converts an integer to a single, on the pipe of floats.
        I2FP
        /// Converts two floats to bytes and packs them.
        F2IP
        /// Rounds a float to an integral number.
        FRND;
    // Predicates, special registers, barrier state.
    PURE:
        /// Any logic function of three predicates, by truth tables; two results.
        PLOP3
        /// Copies predicates into bits of a word.
        P2R
        /// Copies bits of a word into predicates.
        R2P
        /// Reads a special register into a general one; ready when its scoreboard says so.
        S2R
        /// Reads a special register that needs no wait (zero, clocks), 32 or 64 bits.
        CS2R
        /// Reads the state of a CTA barrier: the result of its reduction.
        B2R;
    EFFECT:
        /// Writes the state of a CTA barrier.
        R2B
        /// Copies a convergence barrier, or other state of the warp, to a register or back.
        BMOV
        /// Does nothing.
        NOP
        /// Suspends the thread for about so many nanoseconds.
        NANOSLEEP
        /// Triggers events of the performance monitor.
        PMTRIG
        /// Waits until a scoreboard has no more than so many operations under way.
        DEPBAR
        /// Sets the number of the CTA.
        SETCTAID
        /// Sets where local memory begins.
        SETLMEMBASE
        /// Reads where local memory begins.
        GETLMEMBASE
        /// The address of the code, relative to the instruction.
        LEPC;
    // Between the register files.
    PURE:
        /// Copies a general register that is the same in all lanes to a uniform one.
        R2UR;
    // Uniform datapath.
    UPURE:
        /// Adds three integers of the warp: the uniform IADD3.
        UIADD3
        /// Integer product plus addend of the warp: the uniform IMAD.
        UIMAD
        /// Any logic function of three uniform words, by a truth table of eight bits.
        ULOP3
        /// Copies a word to a uniform register.
        UMOV
        /// Shifts a pair of uniform words and gives one.
        USHF
        /// Shifts a uniform integer left and adds.
        ULEA
        /// One of two uniform words, as a uniform predicate says.
        USEL
        /// Compares two uniform integers, into two uniform predicates.
        UISETP
        /// Any logic function of three uniform predicates; two results.
        UPLOP3
        /// Number of bits of a uniform word that are set.
        UPOPC
        /// Position of the highest bit of a uniform word that is set.
        UFLO
        /// Reverses the order of the bits of a uniform word.
        UBREV
        /// Picks four bytes of two uniform words.
        UPRMT
        /// Sign- or zero-extends the low bits of a uniform word.
        USGXT
        /// A uniform mask of so many one bits from a position on.
        UBMSK
        /// Copies uniform predicates into bits of a uniform word.
        UP2UR
        /// Copies bits of a uniform word into uniform predicates.
        UR2UP
        /// Reads a special register into a uniform one.
        S2UR
        /// A vote of the warp's lanes whose result is uniform.
        VOTEU
        /// Converts two uniform floats to narrow ones and packs them.
        UF2FP
        /// Effective address for a constant.
        UCLEA;
    EFFECT:
        /// The address of the code, in uniform registers.
        ULEPC
        /// Sets the size of the CTA's shared memory.
        USETSHMSZ;
    ULOAD:
        /// Loads from a constant bank into uniform registers.
        ULDC;
    // Memory.
    LOAD:
        /// Loads from a generic address.
        LD
        /// Loads from global memory.
        LDG
        /// Loads from the thread's local memory.
        LDL
        /// Loads from shared memory.
        LDS
        /// Loads from a constant bank, at an address of registers.
        LDC
        /// Loads 8x8 matrices from shared memory, spread over the warp's lanes.
        LDSM
        /// Loads from tensor memory.
        LDTM
        /// Whether a generic address lies in a space.
        QSPC;
    STORE:
        /// Stores to a generic address.
        ST
        /// Stores to global memory.
        STG
        /// Stores to the thread's local memory.
        STL
        /// Stores to shared memory.
        STS
        /// Stores 8x8 matrices to shared memory from the warp's lanes.
        STSM
        /// Cache control: invalidates, writes back or prefetches lines.
        CCTL
        /// Cache control of local memory.
        CCTLL
        /// Cache control of textures.
        CCTLT
        /// Waits until errors of earlier accesses are known; stands behind wide fences.
        ERRBAR
        /// Fence: orders the thread's accesses to memory, as far as its scope reaches.
        MEMBAR
        /// Fence between the generic and the asynchronous view of memory.
        FENCE
        /// Copies from global to shared memory, asynchronously.
        LDGSTS
        /// Closes a group of asynchronous copies, for DEPBAR to wait for.
        LDGDEPBAR
        /// Arrives at an mbarrier when the thread's asynchronous copies are done.
        ARRIVES
        /// Bulk copy between global and shared memory, asynchronous.
        UBLKCP
        /// Prefetches a bulk of global memory to L2.
        UBLKPF
        /// Bulk reduction from shared to global or remote shared memory, asynchronous.
        UBLKRED
        /// Copies a box of a tensor map from global to shared memory.
        UTMALDG
        /// Copies a box of a tensor map from shared to global memory.
        UTMASTG
        /// Prefetches a box of a tensor map to L2.
        UTMAPF
        /// Reduces a box of a tensor map from shared into global memory.
        UTMAREDG
        /// Cache control of tensor maps.
        UTMACCTL
        /// Closes a group of bulk and tensor copies, for DEPBAR to wait for.
        UTMACMDFLUSH
        /// Stores to shared memory of another CTA of the cluster and completes bytes of an
        /// mbarrier.
        STAS;
    ATOMIC:
        /// Atomic at a generic address: gives the old value.
        ATOM
        /// Atomic in global memory: gives the old value.
        ATOMG
        /// Atomic in shared memory: gives the old value.
        ATOMS
        /// Reduction at a generic address: an atomic without result.
        RED
        /// Reduction in global memory: an atomic without result.
        REDG
        /// Operations of mbarriers in shared memory: initialise, arrive, expect, test and wait.
        SYNCS
        /// Reduction in shared memory of another CTA that completes bytes of an mbarrier.
        REDAS;
    // Warp.
    WARP:
        /// Reads a register of another lane of the warp.
        SHFL
        /// A vote of the warp's lanes: all, any, or which.
        VOTE
        /// Which lanes of the warp have the same value.
        MATCH
        /// Reduces an integer over the warp's lanes.
        REDUX
        /// Elects one lane of those that are there.
        ELECT;
    SYNC:
        /// Waits until the lanes of a mask are here and run together.
        WARPSYNC
        /// Barrier of a CTA: arrives, waits or reduces.
        BAR
        /// Sets a convergence barrier: the lanes that are here come together at its BSYNC.
        BSSY
        /// Waits until all lanes of a convergence barrier are here, or have left it.
        BSYNC
        /// Takes the lanes that are here out of a convergence barrier.
        BREAK
        /// Lets the warp's other diverged lanes run.
        YIELD
        /// Marks where what the lanes of a WARPSYNC.COLLECTIVE do together ends.
        ENDCOLLECTIVE
        /// Arrives or waits for the products of a warpgroup.
        WARPGROUP
        /// Sets the counters of a warpgroup.
        WARPGROUPSET
        /// Arrives at the cluster's barrier.
        UCGABAR_ARV
        /// Waits at the cluster's barrier.
        UCGABAR_WAIT
        /// Waits until errors of earlier accesses to the cluster are known.
        CGAERRBAR
        /// Waits for the grids that this one depends on (programmatic dependent launch).
        ACQBULK
        /// Lets grids begin that depend on this one (programmatic dependent launch).
        PREEXIT
        /// Changes the number of registers of the warp's threads.
        USETMAXREG
        /// Breakpoint or trap.
        BPT;
    // Matrix.
    WARP:
        /// Matrix product of a warp: halves, bfloat16, TF32.
        HMMA
        /// Matrix product of a warp: integers.
        IMMA
        /// Matrix product of a warp: doubles.
        DMMA
        /// Matrix product of a warp: single bits.
        BMMA
        /// Transposes an 8x8 matrix that the warp's lanes hold.
        MOVM;
    GROUP:
        /// Matrix product of a warpgroup: halves, bfloat16, TF32.
        HGMMA
        /// Matrix product of a warpgroup: integers.
        IGMMA
        /// Matrix product of a warpgroup: 8-bit floats.
        QGMMA
        /// Matrix product of a warpgroup: single bits.
        BGMMA;
    // Texture and surface.
    LOAD:
        /// Fetches from a texture with filtering.
        TEX
        /// Loads a texel, unfiltered.
        TLD
        /// Loads one component of the four texels that a filter would take.
        TLD4
        /// Which mipmap level a fetch would take.
        TMML
        /// Fetches from a texture with explicit derivatives.
        TXD
        /// Reads a property of a texture.
        TXQ
        /// Which texels a fetch would touch.
        FOOTPRINT
        /// Loads from a surface.
        SULD
        /// Reads a property of a surface.
        SUQUERY;
    STORE:
        /// Stores to a surface.
        SUST
        /// Reduction in a surface: an atomic without result.
        SURED
        /// Atomic in a surface.
        SUATOM;
    // What the table has for SMs from sm_100 on; nothing makes them yet.
    PURE:
        /// Adds two pairs of singles.
        FADD2
        /// Multiplies two pairs of singles.
        FMUL2
        /// Product of two pairs of singles plus a third, rounded once.
        FFMA2
        /// Adds a half to a single.
        FHADD
        /// Product of halves plus a single.
        FHFMA
        /// Smallest or largest of three singles.
        FMNMX3
        /// Adds two integers.
        IADD
        /// Reduces a register over the warp's lanes into a uniform one.
        CREDUX;
    ULOAD:
        /// Loads from a constant bank into uniform registers.
        LDCU;
    LOAD:
        /// Loads from global memory with a reduction (of a multicast address).
        LDGMC;
    STORE:
        /// Stores to tensor memory.
        STTM
        /// Stores uniform registers to global memory.
        USTGR
        /// Copies from shared to tensor memory, asynchronously.
        UTCCP
        /// Arrives at an mbarrier when the tensor core's operations are done.
        UTCBAR
        /// Atomic on the state register that software uses (tensor memory is handed out by it).
        UTCATOMSWS
        /// Manages a virtual resource.
        UVIRTCOUNT
        /// Matrix product with tensor memory: halves, bfloat16, TF32.
        UTCHMMA
        /// Matrix product with tensor memory: integers.
        UTCIMMA
        /// Matrix product with tensor memory: 8-bit and narrower floats.
        UTCQMMA
        /// Matrix product with tensor memory: 4-bit floats with scales.
        UTCOMMA;
    WARP:
        /// Matrix product of a warp: 8-bit and narrower floats.
        QMMA
        /// Matrix product of a warp: 4-bit floats with scales.
        OMMA;
    // Control.
    BRANCH:
        /// Branches to a place relative to the instruction.
        BRA
        /// Branches to a relative place in a register.
        BRX
        /// Branches to a relative place in a uniform register.
        BRXU
        /// Jumps to an absolute place.
        JMP
        /// Jumps to an absolute place in a register.
        JMX
        /// Jumps to an absolute place in a uniform register.
        JMXU
        /// Ends the thread.
        EXIT
        /// Returns to the address in a register pair.
        RET
        /// Ends the thread as a discarded one.
        KILL
        /// Calls a function; the return address is in registers.
        CALL
        /// Copies a program counter of the warp to a register or back.
        RPCMOV
        /// Returns from a trap.
        RTT;
    // Pseudo instructions: values of SSA form, and a branch with many ways.
    PSEUDO:
        /// `d = phi(v0, block0, v1, block1, …)`, at the start of a block.
        MOVPHI;
    JUMPING:
        /// A branch with many ways, `index, block0, block1, …`; the index is below their number.
        /// `ExpandJmxComputation` expands it.
        SWITCH;
    // Macro instructions, which LateExpansion expands.
    MACRO:
        /// `d = a / b` of integers (`.U32`, `.S32`, `.U64`, `.S64`); `LateExpansion` expands it.
        IDIV
        /// `d = a % b` of integers, as IDIV.
        IREM
        /// `d = a / b` in IEEE arithmetic; rounding and ftz are modifiers.
        FDIV
        /// `d = 1 / a` in IEEE arithmetic.
        FRCP
        /// The square root in IEEE arithmetic.
        FSQRT;
    // Pseudo instructions of calls, which stay until registers are allocated
    // (`systems/calls.rs`).
    PSEUDO:
        /// Where a caller left the arguments that are on the stack: R1 at the function's entry.
        PARGS;
    // Subroutines, which are blocks of the function (`systems/expand/shared.rs`).
    PSEUDO:
        /// What the subroutine at a block makes of the sources. Once it has registers: results and
        /// all else that it changes, of block, pair with the return address, arguments.
        SUBCALL
        /// What the callers of a subroutine give, at its start.
        SUBARGS;
    LEAVING:
        /// The results of a subroutine, at its end; once it has registers, behind the pair with the
        /// return address.
        SUBRET;
    CALLING:
        /// R20:2 is where to go on behind the next PCALL (`.ABS`: an address of the whole memory).
        PRETADR
        /// All that a call may change, of `[.ABS] callee, R1, R20:2`, argument registers ….
        PCALL;
    LEAVING:
        /// Goes back to the caller, which reads the result registers that are named.
        PRET;
    // Pieces of a huge function, while they are optimized apart (`systems/pieces`).
    CROSSING:
        /// A register as the code before the piece leaves it.
        LIVEIN
        /// A register that is read behind the piece.
        LIVEOUT;
    LEAVING:
        /// Goes on with the next piece.
        PIECEEND;
}

/// Properties that are not those of a whole group above.
const ALSO: &[(Props, &[Opcode])] = {
    use Opcode::*;
    &[
        (Props::CONSTANT, &[LDC, ULDC, LDCU]),
        (Props::STATE, &[CS2R, P2R, B2R, CALL, LIVEIN]),
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
                POPC, FLO, BREV, SGXT, FADD, FMUL, FFMA, FSETP, FSEL, FMNMX, SHFL,
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
    /// The opcode with this mnemonic, without modifiers.
    pub fn parse(name: &str) -> Option<Opcode> {
        static BY_NAME: Names<1024> = Names::new(Opcode::NAMES);
        BY_NAME.find(name, |i| Opcode::LIST[i].name()).map(|i| Opcode::LIST[i])
    }

    /// Whether it has any of these properties.
    #[inline]
    pub const fn has(self, props: Props) -> bool {
        self.props().has(props)
    }

    /// Whether it transfers control: [`Props::BRANCH`].
    #[inline]
    pub const fn is_branch(self) -> bool {
        self.has(Props::BRANCH)
    }

    /// Whether a named phase expands it: [`Props::PSEUDO`].
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
