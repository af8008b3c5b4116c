//! Loads a cubin as a driver would and runs one of its kernels in the SASS simulator.
//!
//! What holds after [`load`]: texts have code addresses, module variables lie in device memory, and
//! every relocation of text, constant banks and initialised data is applied.

use crate::elf::read::{Cubin, Function, ReadError, Section, Symbol};
use crate::elf::relocation::{Field, RelocKind};
use crate::launch::{
    Launch, LaunchError, MAX_LOCAL, MAX_MEMORY, Outcome, Parameter, parameter_block, place,
};
use orias_components::{Inst, Opcode, RegFile, RegUse};
use orias_targets::memory::{Memory, MemorySpace, SHARED_WINDOW};
use orias_targets::simulator::{CODE_BASE, Image, Kernel, Limits, SimError, TEXT_ALIGN, Text};
use orias_targets::{Target, simulator};
use rustc_hash::FxHashMap;

/// Stack of a thread whose kernel calls functions or takes stack at run time: the file does not say
/// how deep they go.
const OPEN_STACK: u32 = 16 << 10;

/// The symbol type of a variable.
const STT_OBJECT: u8 = 1;

/// Why a cubin was not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The file is no cubin that can be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The launch does not fit the kernel.
    #[error("{0}")]
    Launch(#[from] LaunchError),
    /// A thread could not go on, or code has a hazard.
    #[error("{0}")]
    Run(#[from] SimError),
    /// No table describes this SM.
    #[error("there is no target sm_{0}")]
    Target(u32),
    /// A kernel asks for more local memory than a thread can have.
    #[error(
        "kernel `{kernel}` needs {bytes} bytes of local memory a thread, more than {MAX_LOCAL}"
    )]
    Local {
        /// The kernel.
        kernel: String,
        /// Bytes that it asks for.
        bytes: u32,
    },
    /// Global and constant variables are larger than any device's memory.
    #[error("the module's variables need more than {MAX_MEMORY} bytes")]
    Variables,
    /// A relocation of a kind that no loader was seen to do.
    #[error("section {section} offset {offset:#x}: relocation {kind} is not supported")]
    Relocation {
        /// The section that it is in.
        section: String,
        /// Bytes from the section's start.
        offset: u64,
        /// Its name or number.
        kind: String,
    },
    /// A relocation to a symbol that stands nowhere.
    #[error("section {section} offset {offset:#x}: no value for symbol {symbol}")]
    Symbol {
        /// The section that it is in.
        section: String,
        /// Bytes from the section's start.
        offset: u64,
        /// The symbol's name.
        symbol: String,
    },
}

/// Reads a cubin and runs one launch on it, freshly loaded.
pub fn simulate(cubin: &[u8], launch: &Launch, limits: Limits) -> Result<Outcome, SimulateError> {
    simulate_read(&Cubin::read(cubin)?, launch, limits)
}

/// Runs one launch on a cubin that was read before, freshly loaded.
pub fn simulate_read(
    cubin: &Cubin<'_>,
    launch: &Launch,
    limits: Limits,
) -> Result<Outcome, SimulateError> {
    let function = cubin.kernel(&launch.entry).ok_or_else(|| LaunchError::NoKernel {
        name: launch.entry.clone(),
        kernels: cubin.kernels().map(|k| k.name.to_string()).collect(),
    })?;
    launch.check_shape(shared_bytes(target(cubin)?, function))?;
    let clusters = launch.clusters(&function.clusters)?;
    check_threads(function, launch)?;
    let bytes = frame_bytes(function);
    if u64::from(bytes) > MAX_LOCAL {
        return Err(SimulateError::Local { kernel: launch.entry.clone(), bytes });
    }
    let mut memory = Memory::default();
    let placed = place(&launch.args, &mut memory);
    let image = load(cubin, &mut memory, &launch.entry)?;
    let parameters: Vec<Parameter> = function
        .params
        .iter()
        .map(|p| Parameter { offset: u64::from(p.offset), size: u64::from(p.size) })
        .collect();
    let launched = simulator::Launch {
        grid: clusters.grid,
        block: launch.block,
        cluster: clusters.explicit.then_some(clusters.shape),
        dynamic_shared: launch.dynamic_shared as u32,
        params: parameter_block(launch, &parameters, &placed)?,
    };
    let finished = simulator::run(&image, &launch.entry, &launched, &mut memory, limits)?;
    Ok(Outcome {
        buffers: placed.collect(&mut memory),
        thread_instructions: finished.counts.thread_instructions,
        warp_instructions: finished.counts.warp_instructions,
        cycles: Some(finished.counts.cycles),
        hazards: finished.hazards,
        ran: finished.ran,
        unseen: finished.unseen,
        misuse: finished.misuse,
        reached: Default::default(),
        printed: finished.printed,
    })
}

/// What the file is for.
fn target(cubin: &Cubin<'_>) -> Result<&'static Target, SimulateError> {
    orias_targets::target(&format!("sm_{}a", cubin.sm()))
        .or_else(|| orias_targets::target(&format!("sm_{}", cubin.sm())))
        .ok_or(SimulateError::Target(cubin.sm()))
}

/// Static shared memory without the part that the system keeps, which the section includes.
fn shared_bytes(target: &Target, function: &Function<'_>) -> u64 {
    function.shared_bytes.saturating_sub(u64::from(target.shared_reserved))
}

fn check_threads(function: &Function<'_>, launch: &Launch) -> Result<(), LaunchError> {
    let shape = |what: &str, [x, y, z]: [u32; 3]| {
        let [a, b, c] = launch.block;
        Err(LaunchError::Shape(format!(
            "kernel `{}` {what} {x} x {y} x {z} threads a block, not {a} x {b} x {c}",
            function.name
        )))
    };
    let threads = |b: [u32; 3]| b.iter().map(|n| u64::from(*n)).product::<u64>();
    match (function.required_threads, function.max_threads) {
        (Some(required), _) if required != launch.block => shape("needs", required),
        (_, Some(max)) if threads(launch.block) > threads(max) => shape("takes at most", max),
        _ => Ok(()),
    }
}

/// Lays out a module: code addresses, variables in device memory, relocated contents. The code of
/// other kernels than `entry` is left out: of a file with hundreds that is most of the work.
fn load(cubin: &Cubin<'_>, memory: &mut Memory, entry: &str) -> Result<Image, SimulateError> {
    let target = target(cubin)?;
    let mut layout = Layout { sections: vec![None; cubin.sections.len()], ..Layout::default() };
    let mut next = CODE_BASE;
    for function in &cubin.functions {
        layout.sections[function.section] = Some(next);
        next = (next + function.text.len() as u64).next_multiple_of(TEXT_ALIGN);
    }
    layout.symbols = vec![None; cubin.symbols.len()];
    place_variables(cubin, memory, &mut layout)?;
    place_shared(cubin, &mut layout);
    if cubin.file_type == ET_REL {
        let all = cubin.functions.iter().flat_map(|f| &f.constants);
        for (_, section) in all.filter(|c| u64::from(c.0) == TABLES) {
            layout.tables.insert(*section, layout.table_bytes.len() as u64);
            layout.table_bytes.extend(cubin.sections[*section].data);
            let length = layout.table_bytes.len().next_multiple_of(8);
            layout.table_bytes.resize(length, 0);
        }
    }
    let mut const_window = 0;
    if let Some(index) = cubin.section_index(".nv.constant3") {
        // Mapped before it is relocated: constants may hold addresses of constants.
        let bytes = cubin.sections[index].data.to_vec();
        const_window = memory.map("constant memory", MemorySpace::Const, bytes, false);
        layout.sections[index] = Some(const_window);
        let bytes = relocated(cubin, &layout, index)?;
        if let Some(region) = memory.region_mut(const_window) {
            region.bytes.copy_from_slice(&bytes);
        }
    }

    fill_variables(cubin, memory, &layout)?;
    let mut texts = Vec::new();
    let mut kernels = Vec::new();
    let needed = |f: &&Function<'_>| !f.entry || f.name == entry;
    for function in cubin.functions.iter().filter(needed) {
        if function.entry {
            kernels.push(kernel(cubin, &layout, function, texts.len())?);
        }
        texts.push(Text {
            name: function.name.to_string(),
            address: layout.sections[function.section].unwrap_or(CODE_BASE),
            bytes: relocated(cubin, &layout, function.section)?,
        });
    }
    let mut constants = Vec::new();
    for bank in [3, 4] {
        if let Some(index) = cubin.section_index(&format!(".nv.constant{bank}")) {
            constants.push((bank, relocated(cubin, &layout, index)?));
        }
    }
    Ok(Image { target, texts, kernels, constants, const_window })
}

fn kernel(
    cubin: &Cubin<'_>,
    layout: &Layout,
    function: &Function<'_>,
    text: usize,
) -> Result<Kernel, SimulateError> {
    let mut constants = Vec::new();
    for (bank, section) in function.constants.iter().filter(|c| c.0 != 0) {
        constants.push((*bank, relocated(cubin, layout, *section)?));
    }
    if !layout.table_bytes.is_empty() {
        constants.retain(|c| u64::from(c.0) != TABLES);
        constants.push((TABLES as u8, layout.table_bytes.clone()));
    }
    // Functions of an object say on their own what they need.
    let others = cubin.functions.iter().filter(|f| !f.entry).map(|f| f.registers);
    let registers = others.fold(function.registers, u32::max);
    // Without calls and `alloca` the frame is all that a thread may use.
    let open = has_open_stack(target(cubin)?, function.text);
    let stack = if open { OPEN_STACK } else { 0 };
    let frame = frame_bytes(function);
    Ok(Kernel {
        name: function.name.to_string(),
        text,
        // More than can be encoded is more than enough.
        registers: registers.min(255),
        shared_bytes: (shared_bytes(target(cubin)?, function) as u32)
            .max(layout.shared_bytes as u32),
        local_bytes: frame.saturating_add(stack),
        param_base: u32::from(function.param_base).max(layout_param_base(cubin)),
        constants,
    })
}

/// Bytes of local memory that a kernel says it needs. Of recursion in code to be debugged ptxas
/// says all ones: it does not know.
fn frame_bytes(function: &Function<'_>) -> u32 {
    let whole = Some(function.min_stack_bytes).filter(|bytes| *bytes != u32::MAX);
    whole.unwrap_or(0).max(function.frame_bytes)
}

/// Whether a text calls, or moves the stack pointer by a register's value.
fn has_open_stack(target: &Target, text: &[u8]) -> bool {
    let moves_stack = |inst: &Inst| {
        let files = inst.operands.iter().filter_map(|o| o.as_reg());
        let mut registers = files.filter(|r| matches!(r.reg.file(), RegFile::R | RegFile::UR));
        let destination = registers.next().is_some_and(|r| r.reg.phys_index() == Some(1));
        let other = |r: &RegUse| !r.reg.is_zero() && r.reg.phys_index() != Some(1);
        inst.defs > 0 && destination && registers.any(other)
    };
    let words = text.as_chunks::<16>().0.iter().enumerate();
    let decoded =
        words.filter_map(|(at, w)| target.decode(u128::from_le_bytes(*w), 16 * at as u64).ok());
    decoded.into_iter().any(|inst| inst.op == Opcode::CALL || moves_stack(&inst))
}

/// Where parameters begin when a kernel has none and the file does not say it.
fn layout_param_base(cubin: &Cubin<'_>) -> u32 {
    target(cubin).map_or(0, |t| t.const_params)
}

/// The addresses that a load gave.
#[derive(Default)]
struct Layout {
    /// By section index.
    sections: Vec<Option<u64>>,
    /// By symbol index: variables, each in a region of its own.
    symbols: Vec<Option<u64>>,
    /// By symbol index, for objects: shared variables, from the end of what the system keeps.
    shared: Vec<Option<u64>>,
    /// Bytes of all of them.
    shared_bytes: u64,
    /// By section, for objects: where tables of jumps begin in bank 2, which all functions of an
    /// object share.
    tables: FxHashMap<usize, u64>,
    table_bytes: Vec<u8>,
}

/// `ET_REL`, `STB_WEAK`, and the type of variables in objects (`STT_CUDA_OBJECT`).
const ET_REL: u16 = 1;
const WEAK: u8 = 2;
const CUDA_OBJECT: u8 = 13;
/// What says in a symbol's `other` that it is in shared memory.
const IN_SHARED: u8 = 0x40;
/// The banks of tables of jumps, and of constant variables.
const TABLES: u64 = 2;
const USER_CONSTANTS: u64 = 3;
/// Where dynamic shared memory may begin, in bytes.
const DYNAMIC_ALIGN: u64 = 16;

/// Places the shared variables of an object, whose symbols say alignments where executables have
/// places: each kernel's own, then the module's, then what is as long as the launch says.
fn place_shared(cubin: &Cubin<'_>, layout: &mut Layout) {
    layout.shared = vec![None; cubin.symbols.len()];
    if cubin.file_type != ET_REL {
        return;
    }
    let is_shared = |s: &Symbol<'_>| s.kind == CUDA_OBJECT && s.other & IN_SHARED != 0;
    let own = |s: &Symbol<'_>| {
        let section = cubin.sections.get(usize::from(s.section))?;
        section.name.starts_with(".nv.shared.").then_some(usize::from(s.section))
    };
    let mut kernels: FxHashMap<usize, u64> = FxHashMap::default();
    let all = || cubin.symbols.iter().enumerate().filter(|(_, s)| is_shared(s));
    let mut put = |index: usize, symbol: &Symbol<'_>, end: &mut u64| {
        // A wild alignment or size is as wrong as any: no place.
        let place = end.checked_next_multiple_of(symbol.value.max(1));
        let Some(place) = place.filter(|p| p.saturating_add(symbol.size) < MAX_MEMORY) else {
            return;
        };
        layout.shared[index] = Some(place);
        *end = place + symbol.size;
    };
    for (index, symbol) in all() {
        if let Some(kernel) = own(symbol) {
            put(index, symbol, kernels.entry(kernel).or_default());
        }
    }
    let mut end = kernels.into_values().max().unwrap_or(0);
    for (index, symbol) in all().filter(|(_, s)| own(s).is_none() && s.section != 0) {
        put(index, symbol, &mut end);
    }
    let end = end.next_multiple_of(DYNAMIC_ALIGN);
    for (index, _) in all().filter(|(_, s)| s.section == 0) {
        layout.shared[index] = Some(end);
    }
    layout.shared_bytes = end;
}

impl Layout {
    fn address(&self, index: usize, symbol: &Symbol<'_>) -> Option<u64> {
        let variable = self.symbols.get(index).copied().flatten();
        let shared = || self.shared.get(index).copied().flatten();
        // What a linker would make of the tables of functions that all objects share: there is one
        // object.
        let nowhere = || (symbol.binding == WEAK && symbol.section == 0).then_some(0);
        let section = || self.sections.get(usize::from(symbol.section)).copied().flatten();
        // What the module does not define is the driver's.
        let system = || simulator::SystemCall::named(symbol.name).map(|call| call.address());
        let variable = variable.or_else(shared);
        let placed = variable.or_else(|| Some(section()?.wrapping_add(symbol.value)));
        placed.or_else(system).or_else(nowhere)
    }
}

fn variables<'c>(
    cubin: &'c Cubin<'_>,
) -> impl Iterator<Item = (usize, &'c Symbol<'c>, &'c Section<'c>)> {
    cubin.symbols.iter().enumerate().filter_map(|(index, symbol)| {
        let section = cubin.sections.get(usize::from(symbol.section))?;
        let global = matches!(section.name, ".nv.global" | ".nv.global.init");
        let object = matches!(symbol.kind, STT_OBJECT | CUDA_OBJECT);
        (global && object).then_some((index, symbol, section))
    })
}

/// Maps every module variable, still zero.
fn place_variables(
    cubin: &Cubin<'_>,
    memory: &mut Memory,
    layout: &mut Layout,
) -> Result<(), SimulateError> {
    let mut total = 0u64;
    for (index, symbol, section) in variables(cubin) {
        let size = symbol.size.min(section.size);
        total = total.saturating_add(size);
        if total > MAX_MEMORY {
            return Err(SimulateError::Variables);
        }
        let zeros = vec![0; size as usize];
        let base = memory.map(symbol.name, MemorySpace::Global, zeros, true);
        layout.symbols[index] = Some(base);
    }
    Ok(())
}

/// Fills the initialised ones, once all addresses are known.
fn fill_variables(
    cubin: &Cubin<'_>,
    memory: &mut Memory,
    layout: &Layout,
) -> Result<(), SimulateError> {
    let Some(init) = cubin.section_index(".nv.global.init") else { return Ok(()) };
    let bytes = relocated(cubin, layout, init)?;
    for (index, symbol, _) in variables(cubin).filter(|v| usize::from(v.1.section) == init) {
        let Some(region) = layout.symbols[index].and_then(|base| memory.region_mut(base)) else {
            continue;
        };
        let from = usize::try_from(symbol.value).unwrap_or(usize::MAX);
        let content = bytes.get(from..).unwrap_or_default();
        let count = content.len().min(region.bytes.len());
        region.bytes[..count].copy_from_slice(&content[..count]);
    }
    Ok(())
}

/// A section's bytes with its relocations applied.
fn relocated(cubin: &Cubin<'_>, layout: &Layout, index: usize) -> Result<Vec<u8>, SimulateError> {
    let section = &cubin.sections[index];
    let mut bytes = section.data.to_vec();
    for relocation in &section.relocations {
        let offset = relocation.offset;
        let unsupported = || SimulateError::Relocation {
            section: section.name.to_string(),
            offset,
            kind: relocation.kind.name().map_or(relocation.kind.0.to_string(), str::to_string),
        };
        let symbol = &cubin.symbols[relocation.symbol];
        let missing = || SimulateError::Symbol {
            section: section.name.to_string(),
            offset,
            symbol: symbol.name.to_string(),
        };
        let fields = relocation.kind.fields().ok_or_else(unsupported)?;
        let at = usize::try_from(offset).map_err(|_| unsupported())?;
        let base = match layout.address(relocation.symbol, symbol) {
            _ if relocation.kind == RelocKind::CONST_OFFSET => {
                // Distances of the operand may be negative, and stay below the bank.
                let table = layout.tables.get(&usize::from(symbol.section));
                let bank = if table.is_some() { TABLES } else { USER_CONSTANTS };
                let offset = table.copied().unwrap_or(0).wrapping_add(symbol.value);
                let addend = relocation.addend.unwrap_or(0) as u64;
                let value = bank << 16 | offset.wrapping_add(addend) & 0xffff;
                fields.iter().for_each(|field| write_field(&mut bytes, at, *field, value));
                continue;
            }
            Some(_) if relocation.kind == RelocKind::CONST_IMMEDIATE => symbol.value,
            Some(base) => base,
            // Shared variables and the place of reserved shared memory: their value is the shared
            // address.
            None => shared_address(cubin, symbol, relocation.kind).ok_or_else(missing)?,
        };
        let read = |bytes: &[u8]| {
            fields.iter().try_fold(0u64, |old, field| Some(old | read_field(bytes, at, *field)?))
        };
        let old = read(&bytes).ok_or_else(unsupported)?;
        let addend = relocation.addend.map_or(old, |a| a as u64);
        for field in fields {
            write_field(&mut bytes, at, *field, base.wrapping_add(addend));
        }
    }
    Ok(bytes)
}

/// The bytes of a word that a field lies in, and where in them it begins.
fn place_of((_, to, bits): Field, at: usize) -> (std::ops::Range<usize>, u32) {
    let start = at + to as usize / 8;
    (start..start + (to % 8 + bits).div_ceil(8) as usize, to % 8)
}

fn mask((_, _, bits): Field) -> u128 {
    (1 << bits) - 1
}

/// The part of an address that stands in a field of the word at `at`; None outside of the bytes.
fn read_field(bytes: &[u8], at: usize, field: Field) -> Option<u64> {
    let (place, shift) = place_of(field, at);
    let word = bytes.get(place)?.iter().rev().fold(0u128, |x, b| x << 8 | u128::from(*b));
    Some(((word >> shift & mask(field)) << field.0) as u64)
}

/// Puts a part of an address into a field that [`read_field`] found.
fn write_field(bytes: &mut [u8], at: usize, field: Field, address: u64) {
    let (place, shift) = place_of(field, at);
    let part = (u128::from(address) >> field.0 & mask(field)) << shift;
    let place = &mut bytes[place];
    for (i, byte) in place.iter_mut().enumerate() {
        let keep = !((mask(field) << shift) >> (8 * i)) as u8;
        *byte = *byte & keep | (part >> (8 * i)) as u8;
    }
}

fn shared_address(cubin: &Cubin<'_>, symbol: &Symbol<'_>, kind: RelocKind) -> Option<u64> {
    let section = cubin.sections.get(usize::from(symbol.section))?;
    let generic = kind == RelocKind::GENERIC32 || kind == RelocKind::GENERIC64;
    let window = if generic { SHARED_WINDOW } else { 0 };
    section.name.starts_with(".nv.shared.").then_some(window + symbol.value)
}
