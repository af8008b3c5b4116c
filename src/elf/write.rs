//! Writes a cubin as ptxas 13.0.88 does for sm_90: the same sections and symbols in the same order,
//! with the same flags, links and alignments, and string tables with the same names.
//!
//! ptxas builds an object file, names and symbols in the order in which it comes across them, and
//! then links it by itself. What that leaves in the result is reproduced: sections are sorted by
//! class but keep their order of creation within one, non-global symbols come first, names of
//! relocation sections that came to nothing stay in the string tables.

use super::attribute::Attribute;
use super::layout::symbol_order;
use super::model::{CubinModel, Kernel, LineRow, Linkage, Space, Variable};
use super::read::{
    SHT_CUDA_CALLGRAPH, SHT_CUDA_COMPAT, SHT_CUDA_INFO, STO_CUDA_ENTRY, STO_CUDA_RESERVED_SHARED,
};
use super::relocation::RelocKind;
use super::write_error::WriteError;
use super::write_frame::{FrameFunction, debug_frame};
use super::write_image::{Image, Symbols};
use super::write_info;
use super::write_info::KernelSymbols;
use super::write_lines::{Sequence, line_program};
use super::write_parts::{Class, Names, OutReloc, OutSection, OutSymbol, Ref};
use crate::list::List;
use object::elf::{
    SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK, SHF_WRITE, SHT_NOBITS, SHT_NOTE, SHT_PROGBITS,
    SHT_RELA, SHT_STRTAB, SHT_SYMTAB, STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_NOTYPE,
    STT_OBJECT, STT_SECTION,
};
use orias_components::SymbolKey;
use orias_systems::mercury::convert::WORD;
use orias_systems::parallel;
use rustc_hash::FxHashMap;
use slotmap::SecondaryMap;

/// Lengths of the names that ptxas first gives to what becomes `.nv.constant4`, `.nv.constant3` and
/// `.nv.constant2.K`.
const PIC: usize = ".nv.constant.pic".len();
const USER: usize = ".nv.constant.user".len();
const OPTIMIZER: usize = ".nv.constant.optimizer.".len();
/// Bytes of the emptied name of the symbol that stood for shared memory.
const SHARED_SYMBOL: usize = 20;

struct Writer<'m> {
    model: &'m CubinModel,
    /// Kernels in text order.
    kernels: Vec<&'m Kernel>,
    section_names: Names,
    names: Names,
    sections: Vec<OutSection>,
    /// In order of creation.
    symbols: List<OutSymbol>,
    /// Global symbols get their names when all others have theirs.
    global_names: Vec<(usize, &'m str)>,
    /// How many of them come before those of variables, which are in none of the lists.
    before_variables: usize,
    by_key: SecondaryMap<SymbolKey, u32>,
    symtab: usize,
    constant4: Option<usize>,
    /// What its slots hold the addresses of.
    addresses: Vec<u32>,
    /// Sections that variables live in, by name.
    homes: FxHashMap<&'static str, usize>,
    frame: Option<usize>,
    shared_symbol: bool,
}

/// Section numbers of one kernel.
struct KernelSections {
    info: usize,
    text: usize,
    symbol: usize,
    constant2: Option<usize>,
    inner: Vec<usize>,
}

/// Makes the file.
pub fn write(model: &CubinModel) -> Result<Vec<u8>, WriteError> {
    image(model)?.file()
}

/// A file with all its parts in order: the next step needs no model.
pub fn image(model: &CubinModel) -> Result<Image, WriteError> {
    check(model)?;
    // The sections of each kernel, and of the module.
    let room = 3 * model.kernels.len() + 16;
    let mut writer = Writer {
        model,
        kernels: model.kernels.iter().rev().collect(),
        section_names: Names::with_room(room),
        names: Names::with_room(room),
        sections: Vec::with_capacity(room),
        symbols: List::new(),
        global_names: Vec::new(),
        before_variables: 0,
        by_key: SecondaryMap::new(),
        symtab: 0,
        constant4: None,
        addresses: Vec::new(),
        homes: FxHashMap::default(),
        frame: None,
        shared_symbol: false,
    };
    writer.build()
}

fn check(model: &CubinModel) -> Result<(), WriteError> {
    let has_content = |v: &&Variable| v.init.is_some() || v.space == Space::Constant;
    // Sections have no holes but those of alignment: a wild offset must not become an allocation.
    let most = model
        .variables
        .iter()
        .filter(has_content)
        .fold(0u64, |sum, v| sum.saturating_add(v.size).saturating_add(v.align.into()));
    for variable in &model.variables {
        let bad = || WriteError::BadVariable(variable.name.to_string());
        if variable.init.as_ref().is_some_and(|init| init.bytes.len() as u64 != variable.size) {
            return Err(bad());
        }
        let most = if has_content(&variable) { most } else { u64::MAX };
        variable.offset.checked_add(variable.size).filter(|end| *end <= most).ok_or_else(bad)?;
        if variable
            .relocations()
            .iter()
            .any(|r| u64::from(r.offset) + r.kind.bytes() > variable.size)
        {
            return Err(bad());
        }
    }
    for kernel in &model.kernels {
        if kernel.param_bytes > u32::from(u16::MAX - model.target.param_base) {
            let (kernel, bytes) = (kernel.name.clone(), kernel.param_bytes);
            return Err(WriteError::TooManyParams { kernel, bytes });
        }
        let exits = Attribute::ExitOffsets(kernel.exits.clone());
        for attribute in kernel.code_attributes.iter().chain([&exits]) {
            if !attribute.fits() {
                let (kernel, attribute) = (kernel.name.clone(), attribute.name().unwrap_or("?"));
                return Err(WriteError::AttributeTooLong { kernel, attribute });
            }
        }
    }
    Ok(())
}

impl<'m> Writer<'m> {
    fn build(&mut self) -> Result<Image, WriteError> {
        let strtab = |name| (Class::Tables, name, SHT_STRTAB.0);
        let section_names = self.section(strtab(".shstrtab"), 0, 1);
        let names = self.section(strtab(".strtab"), 0, 1);
        self.symtab = self.section((Class::Tables, ".symtab", SHT_SYMTAB.0), 0, 8);
        self.sections[self.symtab].link = Ref::Section(names);
        self.sections[self.symtab].info = Ref::SymbolCount;
        self.sections[self.symtab].entry_size = 24;
        self.name_only(".symtab_shndx");
        self.symbol("", STB_LOCAL.0, STT_NOTYPE.0, None);

        let toolkit = self.section((Class::Notes, ".note.nv.tkinfo", SHT_NOTE.0), TOOLKIT_NOTE, 4);
        self.sections[toolkit].data = write_info::toolkit_note(&self.model.tool);
        self.section_symbol(toolkit, ".note.nv.tkinfo");
        let flags = CUDA_NOTE | SHF_INFO_LINK.0;
        let cuda = self.section((Class::Notes, ".note.nv.cuinfo", SHT_NOTE.0), flags, 4);
        self.sections[cuda].data = write_info::cuda_note(&self.model.target);
        self.section_symbol(cuda, ".note.nv.cuinfo");
        let info = self.section((Class::Info, ".nv.info", SHT_CUDA_INFO), 0, 4);
        self.sections[info].link = Ref::Section(self.symtab);
        let compat = self.section((Class::Compat, ".nv.compat", SHT_CUDA_COMPAT), 0, 4);
        self.sections[compat].data = write_info::compat(&self.model.target);
        self.sections[cuda].link = Ref::Section(toolkit);
        self.sections[cuda].info = Ref::Section(compat);

        if self.kernels.is_empty() {
            self.first_things()?;
        }
        let mut kernels = Vec::new();
        for number in 0..self.kernels.len() {
            kernels.push(self.kernel(number)?);
        }
        let rest: Vec<SymbolKey> = self.model.externals.iter().map(|e| e.key).collect();
        self.externals(&rest);
        self.fill_addresses();
        for (kernel, of) in self.kernels.clone().into_iter().zip(&kernels) {
            for alias in &kernel.aliases {
                let symbol = self.named_symbol(&alias.name, alias.linkage, STT_FUNC.0);
                self.symbols[symbol].section = Some(of.text as u32);
                self.symbols[symbol].value = u64::from(alias.offset);
            }
        }
        self.debug_frame(&kernels);
        self.relocation_sections(&kernels);
        let call_graph = self.call_graph();
        self.move_relocations();
        self.name_globals();
        let parameters: Vec<usize> =
            (0..self.kernels.len()).map(|k| self.parameters(k, &kernels[k])).collect();

        // Symbols get their numbers: those that are not global, the global ones, those of the
        // parameters' sections.
        let (late, count) = (self.symbols.len() - parameters.len(), self.symbols.len());
        let is_global = |s: &usize| self.symbols[*s].binding == STB_GLOBAL.0;
        let others = (0..late).filter(|s| !is_global(s));
        let all = others.chain((0..late).filter(is_global)).chain(late..count);
        let mut symbol_order = Vec::with_capacity(count);
        symbol_order.extend(all.map(|symbol| symbol as u32));
        let mut symbol_numbers = vec![0u32; count];
        for (number, symbol) in symbol_order.iter().enumerate() {
            symbol_numbers[*symbol as usize] = number as u32;
        }

        let numbers: Vec<(&Kernel, KernelSymbols)> = kernels
            .iter()
            .zip(&parameters)
            .zip(&self.kernels)
            .map(|((k, parameter), kernel)| {
                let number = |s: &usize| symbol_numbers[*s];
                let of_key =
                    |key: &SymbolKey| Some(symbol_numbers[*self.by_key.get(*key)? as usize]);
                let inner = k.inner.iter().map(number).collect();
                let all =
                    |keys: &[SymbolKey]| -> Vec<u32> { keys.iter().filter_map(of_key).collect() };
                (
                    *kernel,
                    KernelSymbols {
                        kernel: number(&k.symbol),
                        constant0: number(parameter),
                        inner,
                        externals: all(&kernel.externals),
                        external_calls: all(&kernel.external_calls),
                    },
                )
            })
            .collect();
        self.sections[call_graph].data = calls(&numbers);
        self.sections[info].data = encode(write_info::module_attributes(&numbers));
        let bytes: usize = self.kernels.iter().map(|kernel| kernel.text.len()).sum();
        let attributes = |k: usize| {
            let (kernel, symbols) = &numbers[k];
            encode(write_info::kernel_attributes(self.model, kernel, symbols))
        };
        let weight = (numbers.len(), bytes / WORD as usize);
        parallel::in_order(weight, attributes, |k, data| {
            self.sections[kernels[k].info].data = data;
        });
        self.sections[section_names].data = std::mem::take(&mut self.section_names.data);
        self.sections[names].data = std::mem::take(&mut self.names.data);
        // ptxas leaves this much room behind the names of sections (observed); with it all later
        // offsets are the same.
        self.sections[section_names].gap =
            14 + self.kernels.iter().map(|k| 18 + k.name.len()).sum::<usize>();
        let symbols = Symbols {
            list: std::mem::take(&mut self.symbols),
            order: symbol_order,
            numbers: symbol_numbers,
        };
        let lines = self.model.sources.as_ref().map(|sources| !sources.names.is_empty());
        let of = (self.model.target.sm, lines);
        Ok(Image::new(std::mem::take(&mut self.sections), symbols, of))
    }

    /// Gives global symbols their names, in the order of their creation.
    fn name_globals(&mut self) {
        let all = std::mem::take(&mut self.global_names);
        let (before, behind) = all.split_at(self.before_variables.min(all.len()));
        for (symbol, name) in before {
            self.symbols[*symbol].name = self.names.add(name);
        }
        for variable in variables(self.model).filter(|v| v.linkage == Linkage::Visible) {
            if let Some(symbol) = self.by_key.get(variable.key) {
                self.symbols[*symbol as usize].name = self.names.add(&variable.name);
            }
        }
        for (symbol, name) in behind {
            self.symbols[*symbol].name = self.names.add(name);
        }
    }

    /// A section, its name in both string tables.
    fn section(
        &mut self,
        (class, name, kind): (Class, &str, u32),
        flags: u64,
        align: u64,
    ) -> usize {
        let offset = self.section_names.add(name);
        self.names.add(name);
        self.push_section(class, offset, kind, flags, align)
    }

    fn push_section(
        &mut self,
        class: Class,
        name: u32,
        kind: u32,
        flags: u64,
        align: u64,
    ) -> usize {
        self.sections.push(OutSection {
            class,
            name,
            kind,
            flags,
            link: Ref::None,
            info: Ref::None,
            align,
            entry_size: 0,
            data: Vec::new(),
            variables: Vec::new(),
            memory: 0,
            relocs: Vec::new(),
            addresses: Vec::new(),
            gap: 0,
        });
        self.sections.len() - 1
    }

    /// A name of a section that there is not.
    fn name_only(&mut self, name: &str) {
        self.section_names.add(name);
        self.names.add(name);
    }

    fn symbol(&mut self, name: &str, binding: u8, kind: u8, section: Option<usize>) -> usize {
        let name = if name.is_empty() { 0 } else { self.names.add(name) };
        let section = section.map(|section| section as u32);
        self.symbols.push(OutSymbol { name, binding, kind, other: 0, section, value: 0, size: 0 });
        self.symbols.len() - 1
    }

    fn section_symbol(&mut self, section: usize, name: &str) -> usize {
        self.symbol(name, STB_LOCAL.0, STT_SECTION.0, Some(section))
    }

    /// A symbol whose name waits, if it is global, until all others have theirs.
    fn named_symbol(&mut self, name: &'m str, linkage: Linkage, kind: u8) -> usize {
        match linkage {
            Linkage::Local => self.symbol(name, STB_LOCAL.0, kind, None),
            Linkage::Weak => self.symbol(name, STB_WEAK.0, kind, None),
            Linkage::Visible => {
                let symbol = self.symbol("", STB_GLOBAL.0, kind, None);
                self.global_names.push((symbol, name));
                symbol
            }
        }
    }

    /// What ptxas makes after the first kernel's symbol: reserved shared memory and the module's
    /// variables.
    fn first_things(&mut self) -> Result<(), WriteError> {
        let offset0 = self.symbol(".nv.reservedSmem.offset0", STB_WEAK.0, STT_OBJECT.0, None);
        self.symbols[offset0].size = 4;
        let flags = (SHF_ALLOC | SHF_WRITE).0;
        let reserved =
            self.section((Class::Memory, ".nv.shared.reserved.0", SHT_NOBITS.0), flags, 1);
        let alias = self.symbol(
            "__nv_reservedSMEM_offset_0_alias",
            STB_WEAK.0,
            STT_NOTYPE.0,
            Some(reserved),
        );
        self.symbols[alias].other = STO_CUDA_RESERVED_SHARED;

        let model = self.model;
        if let Some(first) = self.kernels.first().copied() {
            self.externals(&first.externals);
        }
        self.before_variables = self.global_names.len();
        self.by_key.set_capacity(model.variables.len() + model.externals.len());
        for variable in variables(model) {
            let home = self.home(variable);
            let symbol = match variable.linkage {
                Linkage::Visible => self.symbol("", STB_GLOBAL.0, STT_OBJECT.0, None),
                linkage => self.named_symbol(&variable.name, linkage, STT_OBJECT.0),
            };
            self.symbols[symbol].section = Some(home as u32);
            self.symbols[symbol].value = variable.offset;
            self.symbols[symbol].size = variable.size;
            self.symbols[symbol].other = if variable.managed { STO_CUDA_MANAGED } else { 0 };
            self.by_key.insert(variable.key, symbol as u32);
            if variable.space == Space::Global {
                self.address_bank();
                self.addresses.push(symbol as u32);
            }
        }
        for variable in variables(model).filter(|v| !v.relocations().is_empty()) {
            let own = self.by_key.get(variable.key).map(|symbol| &self.symbols[*symbol as usize]);
            let Some(home) = own.and_then(|symbol| symbol.section) else { continue };
            let home = home as usize;
            for reloc in variable.relocations().iter().rev() {
                let symbol = self
                    .by_key
                    .get(reloc.target)
                    .ok_or_else(|| WriteError::UnknownSymbol(variable.name.to_string()))?;
                self.sections[home].relocs.push(OutReloc {
                    offset: variable.offset + u64::from(reloc.offset),
                    symbol: *symbol,
                    kind: reloc.kind,
                    addend: reloc.addend,
                });
            }
        }
        Ok(())
    }

    /// Symbols of functions of the system, with a slot in constant bank 4 for each that has none
    /// yet.
    fn externals(&mut self, keys: &[SymbolKey]) {
        let model = self.model;
        for external in &model.externals {
            if keys.contains(&external.key) && !self.by_key.contains_key(external.key) {
                self.address_bank();
                let symbol = self.named_symbol(&external.name, Linkage::Visible, STT_FUNC.0);
                self.by_key.insert(external.key, symbol as u32);
                self.addresses.push(symbol as u32);
            }
        }
    }

    /// Fills constant bank 4.
    fn fill_addresses(&mut self) {
        let Some(section) = self.constant4 else { return };
        let addresses = std::mem::take(&mut self.addresses);
        self.sections[section].memory = 8 * addresses.len() as u64;
        self.sections[section].addresses = addresses;
    }

    /// Makes constant bank 4, once.
    fn address_bank(&mut self) {
        if self.constant4.is_none() {
            let offset = self.section_names.add_over(".nv.constant4", PIC);
            self.names.add_over(".nv.constant4", PIC);
            let section =
                self.push_section(Class::Constants, offset, SHT_PROGBITS.0, SHF_ALLOC.0, 8);
            self.section_symbol(section, ".nv.constant4");
            self.constant4 = Some(section);
        }
    }

    /// The section that a variable lives in, grown to hold it.
    fn home(&mut self, variable: &Variable) -> usize {
        let (name, class, kind, flags) = match (variable.space, &variable.init) {
            (Space::Constant, _) => (".nv.constant3", Class::Constants, SHT_PROGBITS, SHF_ALLOC),
            (Space::Global, Some(_)) => {
                (".nv.global.init", Class::Data, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE)
            }
            (Space::Global, None) => {
                (".nv.global", Class::Memory, SHT_NOBITS, SHF_ALLOC | SHF_WRITE)
            }
        };
        let section = self.homes.get(name).copied().unwrap_or_else(|| {
            let first_length = if variable.space == Space::Constant { USER } else { name.len() };
            let offset = self.section_names.add_over(name, first_length);
            self.names.add_over(name, first_length);
            let section = self.push_section(class, offset, kind.0, flags.0, 1);
            self.section_symbol(section, name);
            self.homes.insert(name, section);
            // In one piece: they may be many.
            let here = |v: &&Variable| v.space == variable.space && v.init.is_some();
            let filled = variable.init.is_some() || variable.space == Space::Constant;
            let here = || self.model.variables.iter().filter(here).filter(|_| filled);
            let relocs = here().map(|v| v.relocations().len()).sum();
            self.sections[section].variables = Vec::with_capacity(here().count());
            self.sections[section].relocs = Vec::with_capacity(relocs);
            section
        });
        let out = &mut self.sections[section];
        out.align = out.align.max(variable.align.into());
        let end = variable.offset + variable.size;
        out.memory = out.memory.max(end);
        if let Some(init) = &variable.init {
            out.variables.push((variable.offset, init.bytes.clone()));
        }
        section
    }

    fn kernel(&mut self, number: usize) -> Result<KernelSections, WriteError> {
        let kernel = self.kernels[number];
        let name = &kernel.name;
        let symbol = self.named_symbol(name, kernel.linkage, STT_FUNC.0);
        let flags = (SHF_ALLOC | SHF_EXECINSTR).0;
        let text_name = format!(".text.{name}");
        let text = self.section((Class::Text, &text_name, SHT_PROGBITS.0), flags, 128);
        self.sections[text].data = kernel.text.clone();
        self.sections[text].link = Ref::Section(self.symtab);
        self.sections[text].info = Ref::Symbol(symbol);
        let out = &mut self.symbols[symbol];
        out.section = Some(text as u32);
        out.other = STO_CUDA_ENTRY;
        out.size = kernel.text.len() as u64;
        let info = format!(".nv.info.{name}");
        let info = self.section((Class::KernelInfo, &info, SHT_CUDA_INFO), SHF_INFO_LINK.0, 4);
        self.sections[info].link = Ref::Section(self.symtab);
        self.sections[info].info = Ref::Section(text);
        self.section_symbol(text, &text_name);
        let shared_name = format!(".nv.shared.{name}");
        if let Some(shared) = kernel.shared {
            let flags = (SHF_ALLOC | SHF_WRITE | SHF_INFO_LINK).0;
            let align = u64::from(shared.align.max(1));
            let section = self.section((Class::Memory, &shared_name, SHT_NOBITS.0), flags, align);
            self.sections[section].info = Ref::Section(text);
            self.sections[section].memory =
                u64::from(self.model.target.reserved_shared) + u64::from(shared.bytes);
            // A kernel with dynamic shared memory alone has the section but no symbol for it.
            if shared.bytes > 0 {
                self.section_symbol(section, &shared_name);
            }
        } else {
            self.name_only(&shared_name);
        }
        if number == 0 {
            self.first_things()?;
        } else {
            self.externals(&kernel.externals);
        }
        if names_shared(kernel) && !self.shared_symbol {
            self.shared_symbol = true;
            let symbol = self.symbol("", STB_LOCAL.0, STT_NOTYPE.0, None);
            // STV_INTERNAL: what a linker leaves of a symbol that it has resolved.
            self.symbols[symbol].other = 1;
            self.names.data.resize(self.names.data.len() + SHARED_SYMBOL + 1, 0);
        }
        let constant2 = kernel.constant2.as_ref().map(|constants| {
            let flags = (SHF_ALLOC | SHF_INFO_LINK).0;
            let full = format!(".nv.constant2.{name}");
            let offset = self.section_names.add_over(&full, OPTIMIZER + name.len());
            self.names.add_over(&full, OPTIMIZER + name.len());
            let section = self.push_section(Class::Constants, offset, SHT_PROGBITS.0, flags, 4);
            self.sections[section].data = constants.data.clone();
            self.sections[section].info = Ref::Section(text);
            self.section_symbol(section, &full);
            if !constants.function_addresses {
                self.constant2_relocations(section, name);
            }
            section
        });
        let mut inner = Vec::new();
        for function in &kernel.inner {
            let symbol = self.named_symbol(&function.name, function.linkage, STT_FUNC.0);
            self.symbols[symbol].section = Some(text as u32);
            self.symbols[symbol].value = u64::from(function.offset);
            self.symbols[symbol].size = u64::from(function.size);
            inner.push(symbol);
        }
        // ptxas lists relocations of text from its end to its start (observed in objects: it leaves
        // none in executables).
        for reloc in kernel.relocations.iter().rev() {
            let symbol = *self
                .by_key
                .get(reloc.target)
                .ok_or_else(|| WriteError::UnknownSymbol(name.clone()))?;
            let kind = if reloc.high { RelocKind::INST_ABS32_HI } else { RelocKind::INST_ABS32_LO };
            let offset = u64::from(reloc.offset);
            self.sections[text].relocs.push(OutReloc {
                offset,
                symbol,
                kind,
                addend: reloc.addend,
            });
        }
        if has_relocations(kernel) {
            self.name_only(&format!(".rel.text.{name}"));
            self.name_only(&format!(".rela.text.{name}"));
            self.relocation_section(&format!(".rela.text.{name}"), None, text);
        }
        Ok(KernelSections { info, text, symbol, constant2, inner })
    }

    /// The (empty) relocation section of a constant bank 2.
    fn constant2_relocations(&mut self, section: usize, kernel: &str) {
        self.names.add(&format!(".rela.nv.constant.optimizer.{kernel}"));
        let length = OPTIMIZER + 5 + kernel.len();
        self.relocation_section(&format!(".rela.nv.constant2.{kernel}"), Some(length), section);
    }

    /// A section for the relocations of `target`; they are moved there at the end. The name is
    /// added to the section names alone, over one of `first_length` bytes if given.
    fn relocation_section(&mut self, name: &str, first_length: Option<usize>, target: usize) {
        let name = self.section_names.add_over(name, first_length.unwrap_or(name.len()));
        let flags = SHF_INFO_LINK.0;
        let section = self.push_section(Class::Relocations, name, SHT_RELA.0, flags, 8);
        let out = &mut self.sections[section];
        out.link = Ref::Section(self.symtab);
        out.info = Ref::Section(target);
        out.entry_size = 24;
    }

    fn debug_frame(&mut self, kernels: &[KernelSections]) {
        let section = self.section((Class::DebugFrame, ".debug_frame", SHT_PROGBITS.0), 0, 1);
        if kernels.is_empty() {
            return;
        }
        self.section_symbol(section, ".debug_frame");
        self.lines(kernels);
        self.frame = Some(section);
        let mut functions = Vec::new();
        for (number, kernel) in self.kernels.iter().enumerate() {
            // The kernel's own code ends where the first inner function begins.
            let size =
                kernel.inner.iter().map(|f| f.offset).min().unwrap_or(kernel.text.len() as u32);
            functions.push(FrameFunction {
                unwind: &kernel.unwind,
                size,
                kernel: number,
                offset: 0,
            });
            functions.extend(kernel.inner.iter().map(|f| FrameFunction {
                unwind: &f.unwind,
                size: f.size,
                kernel: number,
                offset: f.offset,
            }));
        }
        let (data, relocs) = debug_frame(&functions);
        let out = &mut self.sections[section];
        out.data = data;
        out.relocs = relocs
            .into_iter()
            .map(|r| OutReloc {
                offset: r.offset,
                symbol: kernels[r.kernel].symbol as u32,
                kind: RelocKind::ABS64,
                addend: r.addend as i64,
            })
            .collect();
    }

    /// Where the code comes from: what debuggers and profilers read.
    fn lines(&mut self, kernels: &[KernelSections]) {
        let Some(sources) = self.model.sources.as_ref() else { return };
        let sequences = |rows: fn(&Kernel) -> &Vec<LineRow>| -> Vec<Sequence<'m>> {
            let of = |k: &&'m Kernel| Sequence { rows: rows(k), end: k.text.len() as u32 };
            self.kernels.iter().map(of).collect()
        };
        let by_source = line_program(&sources.files, &sequences(|k| &k.lines));
        let by_ptx = line_program(&[], &sequences(|k| &k.ptx_lines));
        for (name, (data, places)) in [(".debug_line", by_source), (".nv_debug_line_sass", by_ptx)]
        {
            let section = self.section((Class::DebugFrame, name, SHT_PROGBITS.0), 0, 1);
            self.section_symbol(section, name);
            let relocs = places.into_iter().map(|(kernel, offset)| OutReloc {
                offset,
                symbol: kernels[kernel].symbol as u32,
                kind: RelocKind::ABS64,
                addend: 0,
            });
            self.sections[section].relocs = relocs.collect();
            self.sections[section].data = data;
            if !self.sections[section].relocs.is_empty() {
                self.name_only(&format!(".rel{name}"));
                self.names.add(&format!(".rela{name}"));
                self.relocation_section(&format!(".rela{name}"), None, section);
            }
            if name == ".debug_line" && !sources.names.is_empty() {
                let kind = (Class::DebugFrame, ".debug_str", SHT_PROGBITS.0);
                let section = self.section(kind, 0, 1);
                self.section_symbol(section, ".debug_str");
                self.sections[section].data = sources.names.clone();
            }
        }
        let kind = (Class::DebugFrame, ".nv_debug_ptx_txt", SHT_PROGBITS.0);
        let section = self.section(kind, 0, 1);
        self.section_symbol(section, ".nv_debug_ptx_txt");
        self.sections[section].data = sources.ptx.clone();
    }

    /// Relocation sections of everything but text, as far as there is something to relocate.
    fn relocation_sections(&mut self, kernels: &[KernelSections]) {
        if let Some(section) = self.constant4 {
            self.name_only(".rel.nv.constant.pic");
            self.names.add(".rela.nv.constant.pic");
            self.relocation_section(".rela.nv.constant4", Some(PIC + 5), section);
        }
        let mut homes = [
            (".nv.constant3", ".nv.constant.user", ".nv.constant3"),
            (".nv.global.init", ".nv.global.init", ".nv.global.init"),
        ];
        // That of the last variable with addresses is made first (observed).
        let mut last = variables(self.model).rev();
        if last.find(|v| !v.relocations().is_empty()).is_some_and(|v| v.space == Space::Global) {
            homes.reverse();
        }
        for (home, first, renamed) in homes {
            let Some(section) = self.homes.get(home).copied() else { continue };
            // An address without addend is tried without addends first; the last one in the file is
            // made first.
            let without = |r: &OutReloc| r.addend == 0;
            let relocs = &self.sections[section].relocs;
            let (last, any) = (relocs.last().map(without), relocs.iter().any(without));
            let Some(last) = last else { continue };
            if last {
                self.name_only(&format!(".rel{first}"));
            }
            self.names.add(&format!(".rela{first}"));
            self.relocation_section(&format!(".rela{renamed}"), Some(first.len() + 5), section);
            if any && !last {
                self.name_only(&format!(".rel{first}"));
            }
        }
        let mut frame = self.frame;
        for (number, kernel) in kernels.iter().enumerate() {
            if let Some(section) = kernel.constant2
                && self.kernels[number].constant2.as_ref().is_some_and(|c| c.function_addresses)
            {
                let name = &self.kernels[number].name;
                self.constant2_relocations(section, name);
                self.name_only(&format!(".rel.nv.constant.optimizer.{name}"));
            }
            if let Some(section) = frame.take() {
                self.name_only(".rel.debug_frame");
                self.names.add(".rela.debug_frame");
                self.relocation_section(".rela.debug_frame", None, section);
            }
        }
    }

    fn call_graph(&mut self) -> usize {
        let kind = (Class::CallGraph, ".nv.callgraph", SHT_CUDA_CALLGRAPH);
        let section = self.section(kind, 0, 4);
        self.sections[section].link = Ref::Section(self.symtab);
        self.sections[section].entry_size = 8;
        self.name_only(".nv.prototype");
        self.section_symbol(section, ".nv.callgraph");
        section
    }

    /// Gives relocation sections the relocations of their targets.
    fn move_relocations(&mut self) {
        for section in 0..self.sections.len() {
            if let (Class::Relocations, Ref::Section(target)) =
                (self.sections[section].class, self.sections[section].info)
            {
                self.sections[section].relocs = std::mem::take(&mut self.sections[target].relocs);
                let addresses = std::mem::take(&mut self.sections[target].addresses);
                self.sections[section].addresses = addresses;
            }
        }
    }

    /// A kernel's constant bank 0; gives its symbol.
    fn parameters(&mut self, number: usize, sections: &KernelSections) -> usize {
        let kernel = self.kernels[number];
        let name = format!(".nv.constant0.{}", kernel.name);
        let flags = (SHF_ALLOC | SHF_INFO_LINK).0;
        let section = self.section((Class::Parameters, &name, SHT_PROGBITS.0), flags, 4);
        let base = usize::from(self.model.target.param_base);
        self.sections[section].data = vec![0; base + kernel.param_bytes as usize];
        self.sections[section].info = Ref::Section(sections.text);
        self.section_symbol(section, &name)
    }
}

/// The module's variables in the order of their symbols.
fn variables(model: &CubinModel) -> impl DoubleEndedIterator<Item = &Variable> {
    let visible = |i: usize| model.variables[i].linkage != Linkage::Local;
    symbol_order(model.variables.len(), visible).map(|i| &model.variables[i])
}

/// `st_other` of a managed variable (observed).
const STO_CUDA_MANAGED: u8 = 4;

/// Flags of the notes (observed).
const TOOLKIT_NOTE: u64 = 0x0200_0000;
const CUDA_NOTE: u64 = 0x0100_0000;

/// The kernel has a relocation section, even if all in it was resolved: addresses of shared memory
/// and calls leave an empty one behind.
fn has_relocations(kernel: &Kernel) -> bool {
    !kernel.relocations.is_empty() || !kernel.inner.is_empty() || names_shared(kernel)
}

/// Code has addresses in shared memory that a linker would have set.
fn names_shared(kernel: &Kernel) -> bool {
    kernel.names_reserved || kernel.shared.is_some_and(|s| s.used)
}

/// `.nv.callgraph`: who calls what; the copies of functions in a kernel's text are no symbols of
/// their own there, so it is the calls of the system's functions, the last first, in the first of
/// four lists.
fn calls(kernels: &[(&Kernel, KernelSymbols)]) -> Vec<u8> {
    let mut pairs = vec![(0, -1i32)];
    for (_, symbols) in kernels {
        let calls = symbols.external_calls.iter().rev();
        pairs.extend(calls.map(|e| (symbols.kernel as i32, *e as i32)));
    }
    pairs.extend([(0, -2), (0, -3), (0, -4)]);
    pairs.into_iter().flat_map(|(from, to)| [from, to]).flat_map(i32::to_le_bytes).collect()
}

fn encode(attributes: Vec<Attribute>) -> Vec<u8> {
    // Most have up to twelve bytes, and four before.
    let mut data = Vec::with_capacity(16 * attributes.len());
    for attribute in attributes {
        attribute.encode(&mut data);
    }
    data
}
