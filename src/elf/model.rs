//! What the writer makes a cubin of: the module's variables with their places, and its kernels with
//! their code.
//!
//! Lowering places variables (offsets in constant bank 3, global and shared memory; see
//! [`super::layout`]) and the pipeline compiles functions; the writer adds what a file needs around
//! that, and decides nothing about code.

use super::attribute::Attribute;
use super::relocation::RelocKind;
use orias_components::SymbolKey;
use std::sync::Arc;

/// A module, ready to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct CubinModel {
    /// The machine that the file is for.
    pub target: CubinTarget,
    /// Who made the file: goes into `.note.nv.tkinfo`.
    pub tool: Tool,
    /// Functions of the system that code calls, through bank 4.
    pub externals: Vec<External>,
    /// Module-level variables, in order of declaration.
    pub variables: Vec<Variable>,
    /// Kernels, in order of their definition in the source. Their text stands in the reverse order,
    /// as ptxas places it.
    pub kernels: Vec<Kernel>,
    /// Where the code comes from, where that is asked for or the PTX says it.
    pub sources: Option<Sources>,
}

/// What lines of the source and of the PTX are in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sources {
    /// `.file`; rows count them from 1 on.
    pub files: Vec<SourceFile>,
    /// The lines of the PTX, each with a zero behind it.
    pub ptx: Vec<u8>,
    /// Names of functions that code was inlined from, as `.debug_str` has them.
    pub names: Vec<u8>,
}

/// A file that `.file` names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFile {
    /// As the PTX writes it.
    pub path: String,
    /// When it was changed, in seconds, and its bytes; 0 where the PTX does not say so.
    pub time: u64,
    /// See [`SourceFile::time`].
    pub size: u64,
}

/// From this instruction on the code comes from this line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRow {
    /// Bytes in the text.
    pub offset: u32,
    /// From 1 on; 0 for the PTX.
    pub file: u32,
    /// From 1 on.
    pub line: u32,
    /// Of code that was inlined: the row of the call, from 1 on, and where the function's name
    /// begins in [`Sources::names`].
    pub inlined: Option<(u32, u32)>,
}

/// A function that the driver has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct External {
    /// What code names it by.
    pub key: SymbolKey,
    /// The name of its symbol.
    pub name: String,
}

/// The machine that the file is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CubinTarget {
    /// 90 for `sm_90a`.
    pub sm: u8,
    /// The `a` of `sm_90a`: the file runs on this SM only.
    pub accelerated: bool,
    /// What the code needs beyond the base ISA, as `.nv.compat` says it: 1 nothing, 2 to 4 more
    /// (`orias_systems::function::Needs`).
    pub isa_class: u8,
    /// Which instructions on tensor maps the PTX has: 1 copies by them, 2 changes of them.
    pub tensor_maps: u8,
    /// Byte offset of the parameters in constant bank 0: 0x210 on sm_90.
    pub param_base: u16,
    /// Bytes at the start of shared memory that are the system's: 0x400 on sm_90.
    pub reserved_shared: u32,
}

impl CubinTarget {
    /// sm_90 (`accelerated`: sm_90a), code without bulk copies and warpgroup instructions.
    pub const fn sm90(accelerated: bool) -> CubinTarget {
        CubinTarget {
            sm: 90,
            accelerated,
            isa_class: 1,
            tensor_maps: 0,
            param_base: 0x210,
            reserved_shared: 0x400,
        }
    }
}

/// The texts of `.note.nv.tkinfo`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tool {
    /// `ptxas`
    pub name: String,
    /// `Cuda compilation tools, release 13.0, V13.0.88`
    pub version: String,
    /// `Build cuda_13.0.r13.0/compiler.36424714_0`
    pub branch: String,
    /// The command line without input and output files: `-O 3 -arch sm_90a `.
    pub arguments: String,
}

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Global memory: `.nv.global.init` where it has an initial value, otherwise `.nv.global`.
    Global,
    /// Constant bank 3.
    Constant,
}

/// Who may see a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Only this file's.
    Local,
    /// `.visible`
    Visible,
    /// Seen by all, and others of its name may stand in its place.
    Weak,
}

/// A variable of global or constant memory and its place. Shared variables are not the file's
/// matter: code has their addresses, and a kernel says how much shared memory it needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// What initial values and code name it by.
    pub key: SymbolKey,
    /// The name of its symbol.
    pub name: Box<str>,
    /// Where it lives.
    pub space: Space,
    /// Who may see it.
    pub linkage: Linkage,
    /// `.attribute(.managed)`
    pub managed: bool,
    /// Byte offset in its section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u32,
    /// None: zero.
    pub init: Option<Box<InitialValue>>,
}

/// A module may have a hundred thousand.
const _: () = assert!(size_of::<Variable>() == 56);

impl Variable {
    /// Addresses in the initial value.
    pub fn relocations(&self) -> &[DataReloc] {
        self.init.as_ref().map_or(&[], |init| &init.relocations)
    }
}

/// What a variable holds when the module is loaded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InitialValue {
    /// Exactly as many as the variable has.
    pub bytes: Arc<Vec<u8>>,
    /// The addresses among them.
    pub relocations: Vec<DataReloc>,
}

/// A part of an initial value that holds the generic address of a variable + addend: eight bytes of
/// it, or one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataReloc {
    /// Which part of the address, and of how many bytes.
    pub kind: RelocKind,
    /// Byte offset in the variable.
    pub offset: u32,
    /// Whose address it is.
    pub target: SymbolKey,
    /// Bytes that are added to it.
    pub addend: i64,
}

/// There is one for each address in an initial value.
const _: () = assert!(size_of::<DataReloc>() == 24);

/// A kernel's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Param {
    /// Bytes from the start of the parameter list.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// log2 of the alignment that `.ptr … .align` gives for what the parameter points to; 0
    /// without.
    pub log_alignment: u8,
    /// The space of `.ptr.space`: 0 none, 4 global.
    pub space: u8,
}

/// Shared memory of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shared {
    /// Bytes of static variables, without the system's part.
    pub bytes: u32,
    /// Largest alignment of its variables in bytes, dynamic ones too.
    pub align: u32,
    /// Code of the kernel names one of them.
    pub used: bool,
}

/// What a kernel's constant bank 2 holds; addresses in it are byte offsets in the kernel's text, so
/// nothing is relocated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constant2 {
    /// The bytes of the bank.
    pub data: Vec<u8>,
    /// It has addresses of functions (for indirect calls), not only jump tables: ptxas resolves
    /// those later, which shows in the order of sections.
    pub function_addresses: bool,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The name in the PTX, which sections and the symbol bear.
    pub name: String,
    /// Who may see it.
    pub linkage: Linkage,
    /// Machine words, those of inner functions included, padded to a multiple of 128 bytes.
    pub text: Vec<u8>,
    /// Addresses that the loader puts into its instructions.
    pub relocations: Vec<TextRelocation>,
    /// Functions of the system that it, or a function in its text, calls, in order of declaration.
    pub externals: Vec<SymbolKey>,
    /// The same in the order in which the code comes to calls of them.
    pub external_calls: Vec<SymbolKey>,
    /// What `EIATTR_REGCOUNT` counts.
    pub registers: u32,
    /// Bytes of the kernel's own frame.
    pub frame_bytes: u32,
    /// Bytes of stack that the kernel and its callees need.
    pub min_stack_bytes: u32,
    /// By ordinal.
    pub params: Vec<Param>,
    /// Bytes of the whole parameter list.
    pub param_bytes: u32,
    /// Named barriers.
    pub barriers: u8,
    /// Registers that a thread may have at most: what `.maxnreg` or thread and CTA limits leave;
    /// None is 255.
    pub max_registers: Option<u16>,
    /// `.maxntid`, missing numbers 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, missing numbers 1.
    pub required_threads: Option<[u32; 3]>,
    /// What the cluster directives say, in the order in which it is written.
    pub clusters: Vec<Attribute>,
    /// None: the kernel has no shared variables at all.
    pub shared: Option<Shared>,
    /// Its code names places in reserved shared memory, which leave what names of its own memory
    /// leave.
    pub names_reserved: bool,
    /// The kernel's constant bank 2.
    pub constant2: Option<Constant2>,
    /// Threads of a warp may diverge, so there is a (hardware) call/return stack to speak of:
    /// `EIATTR_CRS_STACK_SIZE`.
    pub divergent: bool,
    /// Byte offsets of EXIT instructions, in order.
    pub exits: Vec<u32>,
    /// What else `.nv.info.K` says of the code, each kind at most once: `CoopGroupOffsets`,
    /// `CoopGroupMaskRegs`, `SparseMmaMask`, `MbarrierOffsets`, … The writer puts them in ptxas's
    /// order.
    pub code_attributes: Vec<Attribute>,
    /// Unwinding of the kernel's own code.
    pub unwind: Unwind,
    /// Device functions and helpers in the kernel's text, in the order of their symbols.
    pub inner: Vec<InnerFunction>,
    /// Other names of these (`.alias`).
    pub aliases: Vec<Alias>,
    /// Lines of the source and of the PTX, ascending by offset.
    pub lines: Vec<LineRow>,
    /// See [`Kernel::lines`].
    pub ptx_lines: Vec<LineRow>,
}

/// Another name of a function inside a kernel's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The symbol's whole name: `$kernel$name`.
    pub name: String,
    /// Who may see it.
    pub linkage: Linkage,
    /// Byte offset in the kernel's text.
    pub offset: u32,
}

/// An address in the text that the loader fills in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextRelocation {
    /// Byte offset of the instruction.
    pub offset: u32,
    /// Whose address it is.
    pub target: SymbolKey,
    /// Bytes that are added to it.
    pub addend: i64,
    /// Take the high 32 bits of the address, not the low ones.
    pub high: bool,
}

/// How a debugger finds the caller's frame, for one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unwind {
    /// Entries of the call frame program, with the offset from the function's start where each
    /// begins to hold, ascending.
    pub program: Vec<(u32, CfaOp)>,
    /// The register pair that holds the return address; None in kernels.
    pub return_register: Option<u8>,
}

impl Unwind {
    /// A kernel's: `prologue_end` is the byte offset behind the instruction that makes the frame,
    /// or the end of the entry block where there is none (observed: ptxas 13.0.88); `last_exit`
    /// that of the last EXIT.
    pub fn kernel(prologue_end: u32, frame_bytes: u32, last_exit: Option<u32>) -> Unwind {
        let mut program = vec![(prologue_end, CfaOp::DefCfa { offset: frame_bytes })];
        match last_exit {
            Some(exit) if exit < prologue_end => program.insert(0, (exit, CfaOp::None)),
            Some(exit) => program.push((exit, CfaOp::None)),
            None => {}
        }
        Unwind { program, return_register: None }
    }
}

/// One entry of a call frame program; registers are general registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CfaOp {
    /// Only the place: an exit.
    None,
    /// The frame begins at R1 + offset bytes.
    DefCfa {
        /// Bytes.
        offset: u32,
    },
    /// The caller's value of a register is in the frame, `slot` × -4 bytes from its beginning.
    Saved {
        /// Number of the register.
        register: u8,
        /// Words of four bytes.
        slot: u32,
    },
    /// The caller's value of a register is at R1 + offset bytes.
    SavedAt {
        /// Number of the register.
        register: u8,
        /// Bytes.
        offset: i32,
    },
    /// The caller's value of a register is in the register itself again.
    Restored {
        /// Number of the register.
        register: u8,
    },
    /// The caller's value of a register is in another register.
    Moved {
        /// Number of the register.
        register: u8,
        /// That of the register that has its value.
        to: u8,
    },
}

/// A function inside a kernel's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InnerFunction {
    /// The symbol's whole name: `$kernel$callee`, `$__internal_0_$__cuda_sm20_div_s64`.
    pub name: String,
    /// Weak for the compiler's own helpers, as the source has it for functions of the module
    /// (observed: ptxas 13.0.88).
    pub linkage: Linkage,
    /// Byte offset in the kernel's text, and bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Bytes of its own frame.
    pub frame_bytes: u32,
    /// Unwinding of its code.
    pub unwind: Unwind,
}
