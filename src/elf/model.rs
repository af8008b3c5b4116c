//! What the writer makes a cubin of: the module's variables with their places, and its kernels with their code.
//!
//! Lowering places variables (offsets in constant bank 3, global and shared memory) and the pipeline compiles functions; the
//! writer adds what a file needs around that, and decides nothing about code.

use orias_components::SymbolKey;
use orias_systems::Compiled;

/// A module, ready to be written.
#[derive(Clone, Debug)]
pub struct CubinModel {
    /// The target's name as on ptxas's command line, such as `sm_90a`.
    pub target: String,
    /// Who made the file: goes into `.note.nv.tkinfo`.
    pub tool: Tool,
    /// Module-level variables in order of declaration, and static shared variables of functions.
    pub variables: Vec<Variable>,
    /// Slots of constant bank 4, in order: 8 bytes each that hold the address of a variable.
    pub addresses: Vec<SymbolKey>,
    /// Kernels, in order of appearance in the source.
    pub kernels: Vec<Kernel>,
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
    /// Shared memory of the kernels that use it.
    Shared,
}

/// Who may see a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    Local,
    /// `.visible`
    Visible,
    Weak,
    Extern,
}

/// A variable and its place.
#[derive(Clone, Debug)]
pub struct Variable {
    /// What code and initialisers name it by.
    pub key: SymbolKey,
    pub name: String,
    pub space: Space,
    pub linkage: Linkage,
    /// Byte offset in its section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u64,
    /// None: zero. Otherwise exactly `size` bytes.
    pub init: Option<Vec<u8>>,
    /// Addresses in the initial value.
    pub relocations: Vec<DataReloc>,
}

/// Eight bytes of an initial value that hold the address of a symbol + addend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataReloc {
    /// Byte offset in the variable.
    pub offset: u64,
    pub target: SymbolKey,
    pub addend: i64,
    /// A generic address (`generic(name)`), not one in the variable's own space.
    pub generic: bool,
}

/// A parameter: bytes from the start of the parameter list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub compiled: Compiled,
    pub params: Vec<Param>,
    /// `.maxntid`, missing numbers 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, missing numbers 1.
    pub required_threads: Option<[u32; 3]>,
    /// Bytes of static shared memory, and the alignment that its variables (dynamic ones too) ask for.
    pub shared_bytes: u32,
    pub shared_align: u32,
}
