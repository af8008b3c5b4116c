//! Module-level symbols: stable keys in a slotmap arena.

slotmap::new_key_type! {
    /// A symbol of the module: function, variable, external.
    pub struct SymbolKey;
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolKind {
    /// Kernel.
    Entry,
    Function,
    Global,
    /// User constant bank 3.
    Constant,
    Shared,
    /// Dynamic shared memory (`.extern .shared`).
    DynamicShared,
    Local,
    External,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Symbol {
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
