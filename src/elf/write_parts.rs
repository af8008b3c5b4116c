//! The parts that the writer collects before anything has a number: sections, symbols, relocations,
//! names.

use super::relocation::RelocKind;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Classes of sections, in file order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    Tables,
    DebugFrame,
    Notes,
    Info,
    Compat,
    KernelInfo,
    CallGraph,
    Relocations,
    /// Constant banks 2, 3 and 4.
    Constants,
    Text,
    Data,
    Memory,
    /// Constant bank 0.
    Parameters,
}

/// What `sh_info` or `sh_link` holds, by number of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ref {
    None,
    Section(usize),
    Symbol(usize),
    SymbolCount,
}

/// A section as it is made; its number in the file comes last.
#[derive(Clone, Debug)]
pub struct OutSection {
    /// Where it goes among the sections.
    pub class: Class,
    /// Offset in `.shstrtab`.
    pub name: u32,
    /// `sh_type`
    pub kind: u32,
    /// `sh_flags`
    pub flags: u64,
    /// `sh_link`
    pub link: Ref,
    /// `sh_info`
    pub info: Ref,
    /// Bytes, a power of two.
    pub align: u64,
    /// Bytes of an entry, of tables.
    pub entry_size: u64,
    /// Its content.
    pub data: Vec<u8>,
    /// Initial values of variables, each at its offset behind the start of the section: not in
    /// `data`, for they may be large.
    pub variables: Vec<(u64, Arc<Vec<u8>>)>,
    /// Bytes of a section without content, and of one of variables.
    pub memory: u64,
    /// What a loader fills in of it.
    pub relocs: Vec<OutReloc>,
    /// Symbols whose addresses, 64 bits each, are all that the section holds: one relocation each,
    /// the last one first.
    pub addresses: Vec<u32>,
    /// Zero bytes in the file behind the section.
    pub gap: usize,
}

/// A relocation; the symbol is a number of creation.
#[derive(Clone, Copy, Debug)]
pub struct OutReloc {
    /// Byte offset in the section.
    pub offset: u64,
    /// Index of the symbol.
    pub symbol: u32,
    /// Which part of the address goes where.
    pub kind: RelocKind,
    /// Bytes that are added to the address.
    pub addend: i64,
}

/// There is one for each address in an initial value.
const _: () = assert!(size_of::<OutReloc>() == 24);

/// A symbol; the section is a number of creation.
#[derive(Clone, Debug)]
pub struct OutSymbol {
    /// Offset in `.strtab`.
    pub name: u32,
    /// `STB_…`
    pub binding: u8,
    /// `STT_…`
    pub kind: u8,
    /// `st_other`
    pub other: u8,
    /// Index of its section; None is undefined.
    pub section: Option<u32>,
    /// Bytes from the section's start, for most kinds.
    pub value: u64,
    /// Bytes.
    pub size: u64,
}

const _: () = assert!(size_of::<OutSymbol>() == 32);

/// A string table that keeps every name that was ever added, in order.
pub struct Names {
    /// The table: names with a zero behind each.
    pub data: Vec<u8>,
    /// Where each begins, by its hash.
    known: HashTable<u32>,
}

fn hash(name: &[u8]) -> u64 {
    FxBuildHasher.hash_one(name)
}

impl Names {
    /// With the empty name alone, and room for so many.
    pub fn with_room(count: usize) -> Names {
        Names { data: vec![0], known: HashTable::with_capacity(count) }
    }

    /// Appends a name; its byte offset.
    pub fn add(&mut self, name: &str) -> u32 {
        let Names { data, known } = self;
        let hash = self::hash(name.as_bytes());
        let is = |offset: &u32| {
            let rest = data[*offset as usize..].strip_prefix(name.as_bytes());
            rest.is_some_and(|rest| rest.first() == Some(&0))
        };
        if let Some(offset) = known.find(hash, is) {
            return *offset;
        }
        let offset = data.len() as u32;
        data.extend(name.as_bytes());
        data.push(0);
        known.insert_unique(hash, offset, |offset| {
            let rest = &data[*offset as usize..];
            self::hash(rest.split(|byte| *byte == 0).next().unwrap_or_default())
        });
        offset
    }

    /// A name that was given a shorter one later: the rest stays behind as zeros.
    pub fn add_over(&mut self, name: &str, first_length: usize) -> u32 {
        let offset = self.add(name);
        let end = offset as usize + first_length + 1;
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        offset
    }
}
