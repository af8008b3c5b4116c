//! Module-level symbols: stable keys in a slotmap arena.

slotmap::new_key_type! {
    /// A symbol of the module: function, variable, external.
    pub struct SymbolKey;
}

/// What a symbol names, and in which memory it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolKind {
    /// Kernel.
    Entry,
    /// A function that is no kernel.
    Function,
    /// A variable in global memory.
    Global,
    /// User constant bank 3.
    Constant,
    /// A variable in the CTA's shared memory.
    Shared,
    /// Dynamic shared memory (`.extern .shared`).
    DynamicShared,
    /// A variable in each thread's local memory.
    Local,
    /// What another module, or the system, defines.
    External,
}

/// What is known of a symbol: its name is the module's matter.
#[derive(Clone, PartialEq, Debug)]
pub struct Symbol {
    /// What it names.
    pub kind: SymbolKind,
    /// Bytes, a power of two.
    pub align: u32,
    /// Bytes.
    pub size: u64,
    /// Byte offset in its section or space, once placed.
    pub offset: u64,
}

/// A module may have a hundred thousand.
const _: () = assert!(size_of::<Symbol>() == 24);
