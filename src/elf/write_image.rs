//! The last step of writing: sections in file order, numbers for references, headers, segments,
//! bytes.

use super::relocation::RelocKind;
use super::write_error::{MAX_GAP, WriteError};
use super::write_parts::{Class, OutSection, OutSymbol, Ref};
use crate::list::List;
use object::LittleEndian;
use object::elf::{
    EM_CUDA, ET_EXEC, FileFlags, OsAbi, PF_R, PF_W, PF_X, PT_LOAD, PT_PHDR, ProgramFlags,
    RelocationType, SHN_LORESERVE, SHT_NOBITS, SHT_RELA, SHT_SYMTAB, SectionFlags, SectionType,
    SymbolInfo, SymbolOther,
};
use object::write::elf::{
    Encoder, FileHeader, FileHeaderLayout, ProgramHeader, Rel, SectionHeader, Sym,
};

/// `EI_OSABI` of cubins.
const OS_ABI: u8 = 0x41;
/// ELF ABI version, and what else the header's flags say on GPUs before sm_100 (observed: ptxas
/// 13.0.88, sm_75 to sm_90a).
const ABI_VERSION: u8 = 8;
const FLAGS: u32 = 0x0600_0004;
/// The same in a file with line tables (observed: by -lineinfo or `.loc`, not with
/// --suppress-debug-info).
const FLAGS_WITH_LINES: u32 = 0x0900_0004;
/// The same where functions that were inlined are named (observed: with a section `.debug_str`).
const FLAGS_WITH_CALLS: u32 = 0x0a00_0004;
/// Alignment of program segments.
const SEGMENT_ALIGN: u64 = 8;

/// Sections in file order (without the null section) and symbols in table order.
pub struct Image {
    sections: Vec<OutSection>,
    symbols: Symbols,
    /// Section number in the file by order of creation.
    section_numbers: Vec<u32>,
    /// 90 for sm_90.
    sm: u8,
    /// There are line tables, and names of functions that were inlined.
    lines: Option<bool>,
}

/// The symbols of a file.
pub(super) struct Symbols {
    /// In order of creation.
    pub list: List<OutSymbol>,
    /// Which of them stand in the table, in its order.
    pub order: Vec<u32>,
    /// Number in the table by order of creation.
    pub numbers: Vec<u32>,
}

impl Image {
    /// Sorts sections by class.
    pub(super) fn new(
        sections: Vec<OutSection>,
        symbols: Symbols,
        (sm, lines): (u8, Option<bool>),
    ) -> Image {
        let mut order: Vec<usize> = (0..sections.len()).collect();
        order.sort_by_key(|s| (sections[*s].class, *s));
        let mut section_numbers = vec![0; sections.len()];
        for (number, section) in order.iter().enumerate() {
            section_numbers[*section] = number as u32 + 1;
        }
        let mut by_number: Vec<Option<OutSection>> = sections.into_iter().map(Some).collect();
        let sections = order.iter().filter_map(|s| by_number[*s].take()).collect();
        Image { sections, symbols, section_numbers, sm, lines }
    }

    /// Bytes of the file, about, so that it grows in place.
    fn estimate(&self) -> usize {
        let size = |s: &OutSection| {
            let values: usize = s.variables.iter().map(|(_, bytes)| bytes.len()).sum();
            let relocs = s.relocs.len() + s.addresses.len();
            let slots =
                if s.data.is_empty() && s.kind != SHT_NOBITS.0 { s.memory as usize } else { 0 };
            s.data.len() + values.max(slots) + relocs * 24 + s.gap + 128 + 64
        };
        self.symbols.list.len() * 24 + self.sections.iter().map(size).sum::<usize>() + 1024
    }

    fn resolve(&self, reference: Ref) -> u32 {
        match reference {
            Ref::None => 0,
            Ref::Section(section) => self.section_numbers[section],
            Ref::Symbol(symbol) => self.symbols.numbers[symbol],
            Ref::SymbolCount => self.symbols.list.len() as u32,
        }
    }
}

impl Image {
    /// The file's bytes.
    pub fn file(self) -> Result<Vec<u8>, WriteError> {
        file(self)
    }
}

fn file(mut image: Image) -> Result<Vec<u8>, WriteError> {
    let (sm, lines) = (image.sm, image.lines);
    // Number 0 is the null section.
    let section_count = image.sections.len() + 1;
    if section_count >= usize::from(SHN_LORESERVE) {
        return Err(WriteError::TooManySections(section_count));
    }
    let encoder = Encoder::new(LittleEndian, true, EM_CUDA);
    let start = encoder.file_header_size();
    // The header's place; it is known last. Only the last bytes may make it grow.
    let mut out = Vec::with_capacity(image.estimate());
    out.resize(start as usize, 0);
    let mut headers = Vec::new();
    for number in 0..image.sections.len() {
        let data = std::mem::take(&mut image.sections[number].data);
        let section = &image.sections[number];
        let align = section.align.max(1);
        let offset = (out.len() as u64).next_multiple_of(align);
        if offset - out.len() as u64 > MAX_GAP {
            return Err(WriteError::GapTooLong(align));
        }
        out.resize(offset as usize, 0);
        let kind = SectionType(section.kind);
        let size = if kind == SHT_NOBITS {
            section.memory
        } else {
            if kind == SHT_SYMTAB {
                write_symbols(&image, encoder, &mut out);
            } else if kind == SHT_RELA {
                for reloc in &section.relocs {
                    let rel = Rel {
                        r_offset: reloc.offset,
                        r_sym: image.symbols.numbers[reloc.symbol as usize],
                        r_type: RelocationType(reloc.kind.0),
                        r_addend: reloc.addend,
                    };
                    encoder.relocation(&mut out, true, &rel);
                }
                for (slot, symbol) in section.addresses.iter().enumerate().rev() {
                    let rel = Rel {
                        r_offset: 8 * slot as u64,
                        r_sym: image.symbols.numbers[*symbol as usize],
                        r_type: RelocationType(RelocKind::ABS64.0),
                        r_addend: 0,
                    };
                    encoder.relocation(&mut out, true, &rel);
                }
            } else {
                out.extend(&data);
                // What no variable covers is zero; they need not come in the order of their
                // offsets.
                out.resize(offset as usize + data.len().max(section.memory as usize), 0);
                for (at, bytes) in &section.variables {
                    let at = (offset + at) as usize;
                    out[at..at + bytes.len()].copy_from_slice(bytes);
                }
            }
            out.len() as u64 - offset
        };
        out.resize(out.len() + section.gap, 0);
        headers.push(SectionHeader {
            sh_name: section.name,
            sh_type: kind,
            sh_flags: SectionFlags(section.flags),
            sh_addr: 0,
            sh_offset: offset,
            sh_size: size,
            sh_link: image.resolve(section.link),
            sh_info: image.resolve(section.info),
            sh_addralign: section.align,
            sh_entsize: section.entry_size,
        });
    }
    let section_table = (out.len() as u64).next_multiple_of(8);
    out.resize(section_table as usize, 0);
    let segment_table = section_table + section_count as u64 * encoder.section_header_size();
    let segments = segments(&image, &headers, segment_table, encoder.program_header_size());

    let flags = match lines {
        None => FLAGS,
        Some(false) => FLAGS_WITH_LINES,
        Some(true) => FLAGS_WITH_CALLS,
    };
    let header = FileHeader {
        os_abi: OsAbi(OS_ABI),
        abi_version: ABI_VERSION,
        e_type: ET_EXEC,
        e_machine: EM_CUDA,
        e_entry: 0,
        e_flags: FileFlags(flags | u32::from(sm) << 8),
    };
    let layout = FileHeaderLayout {
        e_phoff: segment_table,
        segment_num: segments.len() as u32,
        e_shoff: section_table,
        section_num: section_count as u32,
        // The section names are the first section.
        shstrtab_index: 1,
    };
    let mut first = Vec::with_capacity(start as usize);
    encoder
        .file_header(&mut first, &header, &layout)
        .map_err(|e| WriteError::File(e.to_string()))?;
    out[..first.len()].copy_from_slice(&first);
    encoder.null_section_header(&mut out, &layout);
    for header in &headers {
        encoder.section_header(&mut out, header);
    }
    for segment in &segments {
        encoder.program_header(&mut out, segment);
    }
    Ok(out)
}

fn write_symbols(image: &Image, encoder: Encoder<LittleEndian>, out: &mut Vec<u8>) {
    for number in &image.symbols.order {
        let symbol = &image.symbols.list[*number as usize];
        let sym = Sym {
            st_name: symbol.name,
            section: symbol.section.map(|s| image.section_numbers[s as usize]),
            st_info: SymbolInfo(symbol.binding << 4 | symbol.kind),
            st_other: SymbolOther(symbol.other),
            st_shndx: object::elf::SHN_UNDEF,
            st_value: symbol.value,
            st_size: symbol.size,
        };
        encoder.symbol(out, &sym);
    }
}

/// Program headers: themselves (twice), constants, text, variables with shared memory, parameters.
/// Only the variables' segment is there when it has no section with content.
fn segments(
    image: &Image,
    headers: &[SectionHeader],
    table: u64,
    header_size: u64,
) -> Vec<ProgramHeader> {
    let groups: [(&[Class], ProgramFlags); 4] = [
        (&[Class::Constants], PF_R),
        (&[Class::Text], PF_R | PF_X),
        (&[Class::Data, Class::Memory], PF_R | PF_W),
        (&[Class::Parameters], PF_R),
    ];
    let mut all = Vec::new();
    for (classes, flags) in groups {
        let members: Vec<&SectionHeader> = image
            .sections
            .iter()
            .zip(headers)
            .filter(|(s, _)| classes.contains(&s.class))
            .map(|(_, header)| header)
            .collect();
        let Some(first) = members.first() else { continue };
        let offset = first.sh_offset;
        // Content ends where the last section begins if that has none: the file is padded to its
        // alignment.
        let mut file_end = offset;
        let mut memory_end = offset;
        for header in members {
            let in_file = if header.sh_type == SHT_NOBITS { 0 } else { header.sh_size };
            file_end = header.sh_offset + in_file;
            memory_end = memory_end.next_multiple_of(header.sh_addralign.max(1)) + header.sh_size;
        }
        all.push(segment(flags, offset, file_end - offset, memory_end - offset));
    }
    let size = (all.len() as u64 + 2) * header_size;
    let itself = segment(PF_R, table, size, size);
    all.insert(0, itself.clone());
    all.insert(0, ProgramHeader { p_type: PT_PHDR, ..itself });
    all
}

fn segment(flags: ProgramFlags, offset: u64, file: u64, memory: u64) -> ProgramHeader {
    ProgramHeader {
        p_type: PT_LOAD,
        p_flags: flags,
        p_offset: offset,
        p_vaddr: 0,
        p_paddr: 0,
        p_filesz: file,
        p_memsz: memory,
        p_align: SEGMENT_ALIGN,
    }
}
