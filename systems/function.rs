//! What a phase knows of its function besides the body, and what comes out of the pipeline.

use crate::knobs::Knobs;
use crate::profile::Profile;
use bevy_ecs::prelude::*;
use orias_components::heap::Used;
use orias_components::{BlockId, InstId, Loc, Mods, Opcode, SymbolKey, scratch};
use orias_targets::Target;
use rustc_hash::FxHashSet;
use std::ptr;
use std::time::Instant;

/// What lowering says of a function: a resource of the world that holds its body.
#[derive(Resource, Clone, Debug, Default)]
pub struct FunctionInfo {
    /// As PTX has it.
    pub name: String,
    /// A kernel: ends with EXIT, has parameters in constant bank 0.
    pub entry: bool,
    /// Most registers a thread may have (`.maxnreg`, `--maxrregcount`, or what
    /// `.maxntid`/`.reqntid` and `.minnctapersm` leave); None is the target's own limit.
    pub max_registers: Option<u32>,
    /// `.reqntid` or `.maxntid`, when given: threads of a CTA.
    pub max_threads: Option<u32>,
    /// `.reqntid`, when given: threads of a CTA in each dimension.
    pub required_threads: Option<[u32; 3]>,
    /// Bytes of `.local` variables, at the bottom of the frame; spill slots come after them.
    pub local_bytes: u32,
    /// Alignment of the frame in bytes.
    pub local_align: u32,
    /// The stack pointer moves while the function runs (`alloca`): its frame is found by another
    /// register.
    pub moves_stack: bool,
    /// Named barriers used: highest number + 1; 16 when the number is not a constant.
    pub barriers: u32,
    /// It has loads or stores that are volatile or have an order: of shared memory the code does
    /// not say which (observed: ptxas 13.0.88 writes plain LDS and STS for them).
    pub has_strong: bool,
    /// Values live in uniform registers from block to block, where the warp runs together, that a
    /// phase put there: `ConvertToUniformReg`.
    pub shares_uniform: bool,
    /// First blocks of loops that are to stay as they are.
    pub rolled: FxHashSet<BlockId>,
    /// How often its instructions were seen to run, where somebody has looked.
    pub profile: Profile,
}

impl FunctionInfo {
    /// Threads that a CTA has in each dimension at most: what CUDA allows on every GPU, and what
    /// the kernel says. `.maxntid` bounds all together, not each.
    pub fn most_threads(&self) -> [u32; 3] {
        const MOST: [u32; 3] = [1024, 1024, 64];
        let all = self.max_threads.filter(|_| self.entry).unwrap_or(u32::MAX).max(1);
        let each = self.required_threads.filter(|_| self.entry).unwrap_or(MOST);
        [0, 1, 2].map(|n| each[n].min(MOST[n]).min(all).max(1))
    }
}

/// How the pipeline is to run: shared by all functions of a compilation.
#[derive(Resource, Clone, Debug)]
pub struct Options {
    /// The SM that code is made for.
    pub target: &'static Target,
    /// 0..=3.
    pub opt_level: u8,
    /// Validate the IR after each phase.
    pub verify_each: bool,
    /// Phases whose IR is printed before and after; `*` is all.
    pub dump_ir: Vec<String>,
    /// Phases that do not run. One that correct code needs is an error.
    pub disabled: Vec<String>,
    /// Phases with this index or more do not run, except those that correct code needs: for
    /// bisecting.
    pub phase_limit: Option<u32>,
    /// Count instructions before and after each phase.
    pub statistics: bool,
    /// `--knob`.
    pub knobs: Knobs,
}

impl Options {
    /// Whether a worker that was made for these may be used for the others.
    pub fn is_same(&self, other: &Options) -> bool {
        // So that no new option is left out.
        let Options {
            target,
            opt_level,
            verify_each,
            dump_ir,
            disabled,
            phase_limit,
            statistics,
            knobs,
        } = self;
        ptr::eq(*target, other.target)
            && *opt_level == other.opt_level
            && *verify_each == other.verify_each
            && *dump_ir == other.dump_ir
            && *disabled == other.disabled
            && *phase_limit == other.phase_limit
            && *statistics == other.statistics
            && *knobs == other.knobs
    }
}

/// One row of `--stat=phase-wise`, summed over functions by the driver.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct PhaseStat {
    /// When it began; None where it did not run, and in sums.
    pub began: Option<Instant>,
    /// Wall time.
    pub nanoseconds: u64,
    /// Instructions when it began.
    pub insts_before: u32,
    /// Instructions when it ended.
    pub insts_after: u32,
    /// Rewrites that the phase reports.
    pub rewrites: u32,
    /// Steps of work ([`orias_components::work`]); 0 in builds that do not count.
    pub work: u64,
    /// What it asked the allocator for; zeros where nobody watches
    /// ([`orias_components::heap::watch`]) or the program's allocator does not count. Of a sum the
    /// peak is the largest.
    pub heap: Used,
}

impl PhaseStat {
    /// Adds another function's.
    pub fn add(&mut self, other: &PhaseStat) {
        self.began = None;
        self.nanoseconds += other.nanoseconds;
        self.insts_before += other.insts_before;
        self.insts_after += other.insts_after;
        self.rewrites += other.rewrites;
        self.work += other.work;
        self.heap.allocations += other.heap.allocations;
        self.heap.bytes += other.heap.bytes;
        self.heap.peak = self.heap.peak.max(other.heap.peak);
    }
}

/// What phases did with a piece of a function: a part of its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PieceStats {
    /// Number of the thread that had it: see [`thread`](crate::parallel::thread).
    pub thread: u32,
    /// One row a phase of [`PHASES`](crate::pieces::PHASES).
    pub stats: Vec<PhaseStat>,
}

/// A place in the text that holds (part of) a symbol's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextReloc {
    /// Byte offset of the instruction in the function's text.
    pub offset: u32,
    /// Whose address.
    pub key: SymbolKey,
    /// Bytes that are added to it.
    pub addend: i64,
    /// 0 is the low, 1 the high half of the address.
    pub part: u8,
}

/// An instruction whose words depend on where functions stand in their section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Byte offset of the instruction in the function's text.
    pub offset: u32,
    /// What the words depend on.
    pub to: LinkTo,
}

/// What a word counts from or leads to, beyond its own function's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkTo {
    /// A move of a return address: of this byte offset in the function's text.
    Here(u32),
    /// A call of a function.
    Function(SymbolKey),
    /// A call or return through a register: it counts from the start of the section.
    Start,
    /// A call of a function of the system; nothing in its words changes.
    System,
    /// Of a jump through a table: the load of the entry counts from where the function's tables
    /// begin in bank 2, BRX from the start of the section.
    Tables,
}

/// A jump through a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jump {
    /// Byte offset of the branch in the function's text.
    pub at: u32,
    /// Where its table begins among those of the function, in bytes.
    pub table: u32,
    /// The entries: byte offsets in the function's text.
    pub targets: Vec<u32>,
}

/// An instruction whose place the file tells tools of, as far as its opcode shows; what it is for
/// is known from the PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Byte offset in the function's text.
    pub offset: u32,
    /// 1 + the index of the PTX instruction that it is from; 0 is none.
    pub ptx_inst: u32,
    /// What it does.
    pub op: Opcode,
    /// The words behind the mnemonic.
    pub mods: Mods,
    /// Base register of its address, 255 (RZ) without one.
    pub base: u8,
    /// Uniform register of its address, 63 (URZ) without one.
    pub uniform: u8,
    /// Bytes added to its address.
    pub displacement: i32,
    /// Its last operand, where that is a general register.
    pub data: Option<u8>,
    /// The general register that holds the member mask when it runs, if one is known to.
    pub mask: Option<u8>,
    /// A store or load of spill code.
    pub spill: bool,
}

/// What the code asks of the machine, as `.nv.compat` and `.nv.info.K` say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// `ISA_CLASS`: 1 nothing, 2 bulk copies to shared memory, tensor maps, 8-bit floats, textures
    /// or another number of registers, 3 waits of warpgroups, 4 their products and those that sm_90
    /// brought (observed: ptxas 13.0.88, sm_90a).
    pub isa_class: u8,
    /// `EIATTR_SPARSE_MMA_MASK`: a bit for each kind of product with a sparse operand.
    pub sparse_mask: u16,
    /// The number of registers changes while it runs: `EIATTR_REG_RECONFIG`.
    pub reconfigures: bool,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs { isa_class: 1, sparse_mask: 0, reconfigures: false }
    }
}

impl Needs {
    /// What both need.
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            isa_class: self.isa_class.max(other.isa_class),
            sparse_mask: self.sparse_mask | other.sparse_mask,
            reconfigures: self.reconfigures | other.reconfigures,
        }
    }
}

/// Instructions and blocks of which a phase knows what their words do not show.
#[derive(Resource, Clone, Default, Debug)]
pub struct Marked {
    /// Branches at which the threads of a warp may diverge.
    pub divergent: FxHashSet<InstId>,
    /// Stores and loads of spill code.
    pub spills: FxHashSet<InstId>,
    /// Blocks that few threads come to, by a profile.
    pub cold: FxHashSet<BlockId>,
}

/// What the pipeline makes of one function: everything that the ELF writer needs. Offsets are bytes
/// in `text`.
#[derive(Resource, Clone, Default, Debug)]
pub struct Compiled {
    /// As PTX has it.
    pub name: String,
    /// A kernel.
    pub entry: bool,
    /// Machine words, padded to 128 bytes as ptxas does.
    pub text: Vec<u8>,
    /// Bytes of it that are code: the rest is padding.
    pub code_bytes: u32,
    /// What depends on where the function's text begins in its section, in order.
    pub links: Vec<Link>,
    /// Jumps through tables, in order.
    pub jumps: Vec<Jump>,
    /// Registers that the function saves, and how far above R1 each is, in bytes.
    pub saved: Vec<(u8, u32)>,
    /// Words that hold a symbol's address, in order.
    pub relocs: Vec<TextReloc>,
    /// General registers as `EIATTR_REGCOUNT` counts them.
    pub registers: u32,
    /// Named barriers of the CTA: see [`FunctionInfo::barriers`].
    pub barriers: u32,
    /// Bytes of stack: local variables and spill slots.
    pub frame_bytes: u32,
    /// Bytes that spill stores move, each instruction counted once.
    pub spill_store_bytes: u32,
    /// Bytes that spill loads move, each instruction counted once.
    pub spill_load_bytes: u32,
    /// Offsets of EXIT instructions, in order (`EIATTR_EXIT_INSTR_OFFSETS`).
    pub exits: Vec<u32>,
    /// Instructions that the file tells tools of, in order.
    pub sites: Vec<Site>,
    /// Threads of a warp may diverge: there are convergence barriers or divergent branches.
    pub divergent: bool,
    /// What loaders ask of the code as a whole.
    pub needs: Needs,
    /// Offset behind the instruction that makes the frame, or the end of the entry block where
    /// there is none.
    pub prologue_end: u32,
    /// (offset, source place) where it changes, in order.
    pub lines: Vec<(u32, Loc)>,
    /// `--dump-ir` text.
    pub dump: String,
    /// One row a phase. Those that pieces of the function went through have sums.
    pub stats: Vec<PhaseStat>,
    /// Of a huge function where that is asked for: its pieces.
    pub pieces: Vec<PieceStats>,
}

/// Bytes of text of a function whose lists are not kept for the next one.
const MUCH_TEXT: usize = 1 << 16;

impl Compiled {
    /// What was made; the memory of lists stays for the next function.
    pub(crate) fn take(&mut self) -> Compiled {
        if self.text.len() > MUCH_TEXT || !scratch::keeps() {
            return std::mem::take(self);
        }
        let made = self.clone();
        self.clear();
        made
    }

    /// Nothing is made yet; lists keep their memory.
    pub(crate) fn clear(&mut self) {
        let mut old = std::mem::take(self);
        old.text.clear();
        old.links.clear();
        old.jumps.clear();
        old.relocs.clear();
        old.exits.clear();
        old.sites.clear();
        old.lines.clear();
        let Compiled { text, links, jumps, relocs, exits, sites, lines, .. } = old;
        let made = Compiled { text, links, jumps, relocs, exits, ..Compiled::default() };
        *self = Compiled { sites, lines, ..made };
    }
}
