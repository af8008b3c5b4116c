//! Reads any cubin: sections, symbols, relocations, attributes, and per function what a loader must
//! know.
//!
//! The input is untrusted: every offset, size and index is checked, and what does not fit is a
//! [`ReadError`].

use super::attribute::{Attribute, KernelParam, Truncated};
use super::relocation::RelocKind;
use crate::launch::ClusterRules;
use object::LittleEndian;
use object::elf::{FileHeader64, SHT_NOBITS, SHT_NULL, SHT_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB};
use object::read::elf::{FileHeader as _, ProgramHeader as _, Rel as _, Rela as _};
use object::read::elf::{SectionHeader as _, Sym as _};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Section type of `.nv.info` and `.nv.info.K`.
pub const SHT_CUDA_INFO: u32 = 0x7000_0000;
/// Section type of `.nv.callgraph`.
pub const SHT_CUDA_CALLGRAPH: u32 = 0x7000_0001;
/// Section type of `.nv.compat`.
pub const SHT_CUDA_COMPAT: u32 = 0x7000_0086;
/// Sections of objects that are memory without content, as `SHT_NOBITS` of executables:
/// `.nv.global`, `.nv.local.K`, `.nv.shared.K` (observed: the last, in what `ptxas -c` writes; the
/// others by their place in the list of types).
pub const SHT_CUDA_NO_CONTENT: [u32; 3] = [0x7000_0007, 0x7000_0009, 0x7000_000a];
/// `st_other` bit of a kernel's symbol.
pub const STO_CUDA_ENTRY: u8 = 0x10;
/// `st_other` of the symbol of reserved shared memory.
pub const STO_CUDA_RESERVED_SHARED: u8 = 0xa0;

/// Why a file cannot be read as a cubin.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// What the ELF reader says.
    #[error("not a 64-bit little-endian ELF file: {0}")]
    NotElf(String),
    /// The number of the machine that it is for.
    #[error("ELF file for machine {0}, not CUDA (190)")]
    NotCuda(u16),
    /// A section header or name is broken.
    #[error("section {index}: {what}")]
    Section {
        /// Of the section.
        index: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A symbol is broken.
    #[error("symbol {index}: {what}")]
    Symbol {
        /// Of the symbol.
        index: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A relocation is broken.
    #[error("relocation {index} of section {section}: {what}")]
    Relocation {
        /// Index of the section that holds it.
        section: usize,
        /// Its own in there.
        index: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The attributes of a section are cut off.
    #[error("section {section}: {error}")]
    Attribute {
        /// Index of the section.
        section: usize,
        /// Where they end.
        error: Truncated,
    },
    /// What is wrong with the program headers.
    #[error("program header: {0}")]
    Segment(String),
    /// What belongs to a function does not fit together.
    #[error("function `{name}`: {what}")]
    Function {
        /// Its name.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// A section. `data` is empty for `NOBITS` sections, whose `size` is memory without content.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// From the table of section names.
    pub name: &'a str,
    /// `sh_type`
    pub kind: u32,
    /// `sh_flags`
    pub flags: u64,
    /// `sh_addr`: 0 in what ptxas writes.
    pub address: u64,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// `sh_link`: another section's index.
    pub link: u32,
    /// `sh_info`: what it means depends on the type.
    pub info: u32,
    /// Bytes, a power of two.
    pub align: u64,
    /// Bytes of an entry, of sections that are tables.
    pub entry_size: u64,
    /// Its content.
    pub data: &'a [u8],
    /// From all relocation sections for this section, in file order.
    pub relocations: Vec<Relocation>,
}

impl Section<'_> {
    /// Memory without content in the file.
    pub fn is_nobits(&self) -> bool {
        self.kind == SHT_NOBITS.0 || SHT_CUDA_NO_CONTENT.contains(&self.kind)
    }
}

/// A symbol of `.symtab`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol<'a> {
    /// From the table of symbol names.
    pub name: &'a str,
    /// `STB_…`: 0 local, 1 global, 2 weak.
    pub binding: u8,
    /// `STT_…`: 1 object, 2 function, 3 section.
    pub kind: u8,
    /// `st_other`: visibility, and bits of CUDA's such as [`STO_CUDA_ENTRY`].
    pub other: u8,
    /// Section index; 0 is undefined, 0xfff1 absolute, 0xfff2 common.
    pub section: u16,
    /// Bytes from the start of its section, for most kinds.
    pub value: u64,
    /// Bytes.
    pub size: u64,
}

/// A place in a section that takes (part of) a symbol's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// Byte offset in the section.
    pub offset: u64,
    /// Index in [`Cubin::symbols`].
    pub symbol: usize,
    /// Which part of the address goes where.
    pub kind: RelocKind,
    /// None: the addend stands in the relocated place (`SHT_REL`).
    pub addend: Option<i64>,
}

/// A program header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// `p_type`
    pub kind: u32,
    /// `p_flags`
    pub flags: u32,
    /// Bytes in the file from its start.
    pub offset: u64,
    /// `p_vaddr`
    pub address: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Bytes.
    pub align: u64,
}

/// A function inside another's text: a device function or a helper that was copied into a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InnerFunction<'a> {
    /// The symbol's name.
    pub name: &'a str,
    /// Index in [`Cubin::symbols`].
    pub symbol: usize,
    /// Bytes in the text that it stands in.
    pub range: Range<u64>,
}

/// A kernel, or a function with a text section of its own (`ptxas -c`).
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// The kernel's or function's name.
    pub name: &'a str,
    /// A kernel.
    pub entry: bool,
    /// Index in [`Cubin::symbols`].
    pub symbol: usize,
    /// Index in [`Cubin::sections`] of its text.
    pub section: usize,
    /// Machine words of the whole section: inner functions included.
    pub text: &'a [u8],
    /// Functions inside its text, by place.
    pub inner: Vec<InnerFunction<'a>>,
    /// `.nv.info.NAME`
    pub attributes: Vec<Attribute>,
    /// Registers a thread (`EIATTR_REGCOUNT`).
    pub registers: u32,
    /// Bytes of the function's own frame.
    pub frame_bytes: u32,
    /// Bytes of stack a thread must have at least.
    pub min_stack_bytes: u32,
    /// Bytes of stack a thread needs at most, where the file says it.
    pub max_stack_bytes: Option<u32>,
    /// Named barriers.
    pub barriers: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u64,
    /// Alignment of shared memory in bytes.
    pub shared_align: u64,
    /// Parameters by ordinal.
    pub params: Vec<KernelParam>,
    /// Byte offset of the parameters in constant bank 0.
    pub param_base: u16,
    /// Bytes of parameters.
    pub param_bytes: u16,
    /// Threads of a CTA, at most (`.maxntid`).
    pub max_threads: Option<[u32; 3]>,
    /// Threads of a CTA, exactly (`.reqntid`).
    pub required_threads: Option<[u32; 3]>,
    /// What it says of its clusters.
    pub clusters: ClusterRules,
    /// The function's own constant banks: bank and index in [`Cubin::sections`], by bank.
    pub constants: Vec<(u8, usize)>,
}

/// A cubin, taken apart; it borrows the file's bytes.
#[derive(Clone, Debug)]
pub struct Cubin<'a> {
    /// `ET_EXEC` (2) or `ET_REL` (1).
    pub file_type: u16,
    /// `EI_OSABI`: the toolkit's generation, 0x41 from 13 on.
    pub os_abi: u8,
    /// `EI_ABIVERSION`
    pub abi_version: u8,
    /// `e_version`, which ptxas uses too.
    pub version: u32,
    /// `e_flags`: the SM and the kind of addresses.
    pub flags: u32,
    /// Program headers, in order.
    pub segments: Vec<Segment>,
    /// By index; the first is the null section.
    pub sections: Vec<Section<'a>>,
    /// By index; the first is the null symbol.
    pub symbols: Vec<Symbol<'a>>,
    /// `.nv.info`
    pub attributes: Vec<Attribute>,
    /// Functions with a text section, in section order.
    pub functions: Vec<Function<'a>>,
    by_name: FxHashMap<&'a str, usize>,
}

impl<'a> Cubin<'a> {
    /// Takes a file apart.
    pub fn read(file: &'a [u8]) -> Result<Cubin<'a>, ReadError> {
        let not_elf = |e: object::read::Error| ReadError::NotElf(e.to_string());
        let header = FileHeader64::<LittleEndian>::parse(file).map_err(not_elf)?;
        let endian = header.endian().map_err(not_elf)?;
        let machine = header.e_machine(endian).0;
        if machine != object::elf::EM_CUDA.0 {
            return Err(ReadError::NotCuda(machine));
        }
        let segments = header
            .program_headers(endian, file)
            .map_err(|e| ReadError::Segment(e.to_string()))?
            .iter()
            .map(|p| Segment {
                kind: p.p_type(endian).0,
                flags: p.p_flags(endian).0,
                offset: p.p_offset(endian),
                address: p.p_vaddr(endian),
                file_size: p.p_filesz(endian),
                memory_size: p.p_memsz(endian),
                align: p.p_align(endian),
            })
            .collect();
        let mut sections = read_sections(header, endian, file)?;
        let symbols = read_symbols(&sections)?;
        read_relocations(&mut sections, symbols.len())?;
        let mut by_name = FxHashMap::default();
        for (index, section) in sections.iter().enumerate().skip(1) {
            by_name.entry(section.name).or_insert(index);
        }
        let mut cubin = Cubin {
            file_type: header.e_type(endian).0,
            os_abi: header.e_ident().os_abi.0,
            abi_version: header.e_ident().abi_version,
            version: header.e_version(endian),
            flags: header.e_flags(endian).0,
            segments,
            sections,
            symbols,
            attributes: Vec::new(),
            functions: Vec::new(),
            by_name,
        };
        cubin.attributes = cubin.section_attributes(".nv.info")?;
        cubin.functions = read_functions(&cubin)?;
        Ok(cubin)
    }

    /// The first section of this name.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.section_index(name).map(|i| &self.sections[i])
    }

    /// Index in `sections` of the first section of this name.
    pub fn section_index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Kernels, in section order.
    pub fn kernels(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions.iter().filter(|f| f.entry)
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Function<'a>> {
        self.kernels().find(|f| f.name == name)
    }

    /// The SM version that the header's flags name, as in `sm_90`: 90.
    pub fn sm(&self) -> u32 {
        self.flags >> 8 & 0xff
    }

    fn section_attributes(&self, name: &str) -> Result<Vec<Attribute>, ReadError> {
        let Some(section) = self.section_index(name) else { return Ok(Vec::new()) };
        Attribute::parse_all(self.sections[section].data)
            .map_err(|error| ReadError::Attribute { section, error })
    }
}

fn read_sections<'a>(
    header: &FileHeader64<LittleEndian>,
    endian: LittleEndian,
    file: &'a [u8],
) -> Result<Vec<Section<'a>>, ReadError> {
    let table = header
        .sections(endian, file)
        .map_err(|e| ReadError::NotElf(format!("section headers: {e}")))?;
    let mut sections = Vec::with_capacity(table.len());
    let mut content = 0;
    for (index, raw) in table.enumerate() {
        let index = index.0;
        let error = |what| ReadError::Section { index, what };
        let name = table
            .section_name(endian, raw)
            .map_err(|_| error("its name is not in the name table"))?;
        let name = std::str::from_utf8(name).map_err(|_| error("its name is not UTF-8"))?;
        let kind = raw.sh_type(endian);
        // The first section has no name, content or meaning.
        let data = if kind == SHT_NULL || SHT_CUDA_NO_CONTENT.contains(&kind.0) {
            &[]
        } else {
            raw.data(endian, file).map_err(|_| error("its content is not in the file"))?
        };
        // Sections that share bytes would let a small file claim content without end.
        content += data.len() + name.len();
        if content > 4 * file.len() {
            return Err(error("it overlaps the sections before it"));
        }
        sections.push(Section {
            name,
            kind: kind.0,
            flags: raw.sh_flags(endian).0,
            address: raw.sh_addr(endian),
            offset: raw.sh_offset(endian),
            size: raw.sh_size(endian),
            link: raw.sh_link(endian),
            info: raw.sh_info(endian),
            align: raw.sh_addralign(endian),
            entry_size: raw.sh_entsize(endian),
            data,
            relocations: Vec::new(),
        });
    }
    Ok(sections)
}

/// The whole elements of a section's content; None if a part of one is left.
fn elements<T: object::Pod>(data: &[u8]) -> Option<&[T]> {
    let count = data.len() / size_of::<T>();
    let (all, rest) = object::pod::slice_from_bytes::<T>(data, count).ok()?;
    rest.is_empty().then_some(all)
}

fn read_symbols<'a>(sections: &[Section<'a>]) -> Result<Vec<Symbol<'a>>, ReadError> {
    let Some(table) = sections.iter().position(|s| s.kind == SHT_SYMTAB.0) else {
        return Ok(Vec::new());
    };
    let error = |what| ReadError::Section { index: table, what };
    let raw: &[object::elf::Sym64<LittleEndian>] =
        elements(sections[table].data).ok_or(error("its size is no whole number of symbols"))?;
    let strings = sections
        .get(sections[table].link as usize)
        .filter(|s| s.kind == SHT_STRTAB.0)
        .ok_or(error("it links to no string table"))?
        .data;
    let endian = LittleEndian;
    let mut symbols = Vec::with_capacity(raw.len());
    let mut names = 0;
    for (index, symbol) in raw.iter().enumerate() {
        let error = |what| ReadError::Symbol { index, what };
        let name = strings
            .get(symbol.st_name(endian) as usize..)
            .and_then(|s| s.split(|b| *b == 0).next())
            .ok_or(error("its name is not in the string table"))?;
        // The same for names.
        names += name.len();
        if names > 16 * (strings.len() + sections[table].data.len()) {
            return Err(error("its name overlaps those before it"));
        }
        let section = symbol.st_shndx(endian).0;
        if section < object::elf::SHN_LORESERVE && usize::from(section) >= sections.len() {
            return Err(error("its section does not exist"));
        }
        symbols.push(Symbol {
            name: std::str::from_utf8(name).map_err(|_| error("its name is not UTF-8"))?,
            binding: symbol.st_bind().0,
            kind: symbol.st_type().0,
            other: symbol.st_other().0,
            section,
            value: symbol.st_value(endian),
            size: symbol.st_size(endian),
        });
    }
    Ok(symbols)
}

fn read_relocations(sections: &mut [Section<'_>], symbols: usize) -> Result<(), ReadError> {
    let endian = LittleEndian;
    for section in 0..sections.len() {
        let error = |what| ReadError::Section { index: section, what };
        let Section { kind, data, info, .. } = sections[section];
        let uneven = "its size is no whole number of relocations";
        let all: Vec<Relocation> = if kind == SHT_RELA.0 {
            let raw: &[object::elf::Rela64<LittleEndian>] = elements(data).ok_or(error(uneven))?;
            raw.iter()
                .map(|r| Relocation {
                    offset: r.r_offset(endian),
                    symbol: r.r_sym(endian, false) as usize,
                    kind: RelocKind(r.r_type(endian, false).0),
                    addend: Some(r.r_addend(endian)),
                })
                .collect()
        } else if kind == SHT_REL.0 {
            let raw: &[object::elf::Rel64<LittleEndian>] = elements(data).ok_or(error(uneven))?;
            raw.iter()
                .map(|r| Relocation {
                    offset: r.r_offset(endian),
                    symbol: r.r_sym(endian) as usize,
                    kind: RelocKind(r.r_type(endian).0),
                    addend: None,
                })
                .collect()
        } else {
            continue;
        };
        let target = sections
            .get_mut(info as usize)
            .ok_or(error("it relocates a section that does not exist"))?;
        for (index, relocation) in all.iter().enumerate() {
            let error = |what| ReadError::Relocation { section, index, what };
            if relocation.symbol >= symbols {
                return Err(error("its symbol does not exist"));
            }
            if relocation.offset >= target.size {
                return Err(error("it lies outside its section"));
            }
        }
        target.relocations.extend(all);
    }
    Ok(())
}

fn read_functions<'a>(cubin: &Cubin<'a>) -> Result<Vec<Function<'a>>, ReadError> {
    // What the module's attributes say, by symbol.
    let mut registers = FxHashMap::default();
    let mut frames = FxHashMap::default();
    let mut min_stacks = FxHashMap::default();
    let mut max_stacks = FxHashMap::default();
    for attribute in &cubin.attributes {
        match *attribute {
            Attribute::RegCount { symbol, registers: n } => registers.insert(symbol, n),
            Attribute::FrameSize { symbol, bytes } => frames.insert(symbol, bytes),
            Attribute::MinStackSize { symbol, bytes } => min_stacks.insert(symbol, bytes),
            Attribute::MaxStackSize { symbol, bytes } => max_stacks.insert(symbol, bytes),
            _ => None,
        };
    }
    let constants = function_constants(cubin);
    let mut by_section: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (index, symbol) in cubin.symbols.iter().enumerate() {
        if symbol.kind == object::elf::STT_FUNC.0 && symbol.section != 0 {
            by_section.entry(usize::from(symbol.section)).or_default().push(index);
        }
    }

    let mut functions = Vec::new();
    for (section, text) in cubin.sections.iter().enumerate() {
        let Some(name) = text.name.strip_prefix(".text.") else { continue };
        let symbols = by_section.remove(&section).unwrap_or_default();
        // Also keeps the work linear: a name's attributes are read once.
        if cubin.section_index(text.name) != Some(section) {
            return Err(ReadError::Section { index: section, what: "a second text of this name" });
        }
        let error = |what| ReadError::Function { name: name.to_owned(), what };
        let symbol = symbols
            .iter()
            .copied()
            .find(|s| cubin.symbols[*s].name == name)
            .ok_or_else(|| error("its text has no symbol of its name"))?;
        let mut inner = Vec::new();
        for index in symbols {
            let s = &cubin.symbols[index];
            let end = s.value.checked_add(s.size).filter(|end| *end <= text.data.len() as u64);
            let Some(end) = end else {
                return Err(error("one of its symbols reaches past its text"));
            };
            if index != symbol {
                inner.push(InnerFunction { name: s.name, symbol: index, range: s.value..end });
            }
        }
        inner.sort_by_key(|f| (f.range.start, f.symbol));
        let key = symbol as u32;
        let shared = cubin.section(&format!(".nv.shared.{name}"));
        let mut function = Function {
            name: cubin.symbols[symbol].name,
            entry: cubin.symbols[symbol].other & STO_CUDA_ENTRY != 0,
            symbol,
            section,
            text: text.data,
            inner,
            attributes: cubin.section_attributes(&format!(".nv.info.{name}"))?,
            registers: registers.get(&key).copied().unwrap_or(0),
            frame_bytes: frames.get(&key).copied().unwrap_or(0),
            min_stack_bytes: min_stacks.get(&key).copied().unwrap_or(0),
            max_stack_bytes: max_stacks.get(&key).copied(),
            barriers: 0,
            shared_bytes: shared.map_or(0, |s| s.size),
            shared_align: shared.map_or(1, |s| s.align.max(1)),
            params: Vec::new(),
            param_base: 0,
            param_bytes: 0,
            max_threads: None,
            required_threads: None,
            clusters: ClusterRules::default(),
            constants: constants.get(name).cloned().unwrap_or_default(),
        };
        for attribute in &function.attributes {
            match *attribute {
                Attribute::NumBarriers(n) => function.barriers = u32::from(n),
                Attribute::KernelParam(p) => function.params.push(p),
                Attribute::LargeParam { index, ordinal, offset, size } => {
                    function.params.push(KernelParam {
                        index,
                        ordinal,
                        offset,
                        size,
                        log_alignment: 0,
                        space: 0,
                        bank: 0,
                        in_shared: false,
                    });
                }
                Attribute::ParamCbank { offset, size, .. } => {
                    (function.param_base, function.param_bytes) = (offset, size);
                }
                Attribute::MaxThreads(n) => function.max_threads = Some(n),
                Attribute::ReqNtid(n) => function.required_threads = Some(n),
                Attribute::CtaPerCluster(n) => function.clusters.required = Some(n),
                Attribute::MaxClusterRank(n) => function.clusters.max_blocks = Some(n),
                Attribute::ExplicitCluster => function.clusters.explicit = true,
                Attribute::BlocksAreClusters => function.clusters.blocks_are_clusters = true,
                _ => {}
            }
        }
        function.params.sort_by_key(|p| p.ordinal);
        functions.push(function);
    }
    Ok(functions)
}

/// Banks of `.nv.constantN.K` by function name.
fn function_constants<'a>(cubin: &Cubin<'a>) -> FxHashMap<&'a str, Vec<(u8, usize)>> {
    let mut all: FxHashMap<&str, Vec<(u8, usize)>> = FxHashMap::default();
    for (index, section) in cubin.sections.iter().enumerate() {
        let bank = section.name.strip_prefix(".nv.constant").and_then(|rest| rest.split_once('.'));
        let Some((bank, function)) = bank else { continue };
        if let Ok(bank) = bank.parse::<u8>() {
            all.entry(function).or_default().push((bank, index));
        }
    }
    for banks in all.values_mut() {
        banks.sort_unstable();
    }
    all
}
