//! What is common to a module's functions: symbols, memory layout, parameters.
//!
//! Layout rules, observed in ptxas 13.0.88 for sm_90a: shared memory starts at byte 0x400 of the
//! CTA's window (the first 1024 bytes are the system's), holds a kernel's own variables in order of
//! declaration and then the module's that it uses, and dynamic shared memory follows; constant bank
//! 3 holds every `.const` variable; bank 4 holds the 64-bit addresses of all global variables,
//! named by code or not. The order of both is that of the symbols ([`crate::elf::layout`]): visible
//! and weak variables come before the module's own.

use super::call_graph::CallGraph;
use super::sparse::Sparse;
use crate::elf::layout::{place, placement_order, symbol_order};
use crate::ptx::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::ptx::program::{FuncId, Function, Program, VarId, Variable};
use crate::ptx::types::{Linkage, Space};
use orias_components::{Symbol, SymbolKey, SymbolKind};
use orias_systems::parallel;
use orias_targets::Target;
pub use orias_targets::memory::SHARED_RESERVED;
use slotmap::SlotMap;
use std::collections::BTreeSet;

/// How PTX is to be lowered.
#[derive(Clone, Debug)]
pub struct LowerOptions {
    /// The SM that it is lowered for.
    pub target: &'static Target,
    /// 0..=3
    pub opt_level: u8,
    /// Contract `mul` and `add` without a rounding word into fused multiply-adds (`--fmad`).
    pub fmad: bool,
}

/// One kernel parameter. Its bytes are at `c[0x0][const_params + offset]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamLayout {
    /// Which variable of the program.
    pub var: VarId,
    /// Bytes from the start of the parameter list.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Bytes, a power of two.
    pub align: u32,
}

/// A shared variable in one kernel's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedSlot {
    /// Which variable of the program.
    pub var: VarId,
    /// Byte offset in the CTA's shared window, [`SHARED_RESERVED`] included.
    pub offset: u64,
}

/// What lowering and the ELF writer know of a function besides its code.
#[derive(Clone, Debug, Default)]
pub struct FunctionLayout {
    /// In order of the list; empty for device functions.
    pub params: Vec<ParamLayout>,
    /// Bytes of the parameter list, without padding at its end.
    pub param_bytes: u32,
    /// Shared variables that this kernel and what it calls use; dynamic ones are last and all at
    /// the same place.
    pub shared: Vec<SharedSlot>,
    /// Bytes of static shared memory, [`SHARED_RESERVED`] included; 0 when the kernel uses no
    /// shared memory at all.
    pub shared_bytes: u64,
    /// The largest alignment of its shared variables.
    pub shared_align: u64,
    /// Uses dynamic shared memory.
    pub dynamic_shared: bool,
    /// Code names a shared variable: a kernel's own ones have their place either way.
    pub shared_used: bool,
    /// The function's own code, without what it calls, names one: then it is compiled for each
    /// kernel.
    pub names_shared: bool,
    /// Device functions that it can come to, in the order in which they stand behind a kernel's
    /// code.
    pub callees: Vec<FuncId>,
    /// It can come to a call through a register, which may go to every function whose address the
    /// module has.
    pub indirect: bool,
    /// Its own code has such a call.
    pub calls_pointers: bool,
    /// Functions of the system that it can come to.
    pub externs: Vec<FuncId>,
    /// `.local` variables: variable and byte offset in the frame.
    pub local: Vec<(VarId, u32)>,
    /// Bytes of the `.local` variables together.
    pub local_bytes: u32,
    /// The largest alignment of `.local` variables in bytes.
    pub local_align: u32,
    /// `.reqntid` and `.maxntid` as written, missing dimensions 1.
    pub required_threads: Option<[u32; 3]>,
    /// See [`FunctionLayout::required_threads`].
    pub max_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_ctas: Option<u32>,
    /// What `.maxnreg` says or the thread and CTA limits leave; None is the target's limit.
    pub max_registers: Option<u32>,
    /// The directives say just how many registers a thread begins with, as `setmaxnreg` wants it:
    /// `.maxnreg`, or threads and CTAs both. Observed: ptxas 13.0.88.
    pub knows_registers: bool,
}

impl FunctionLayout {
    /// Threads that a CTA may have, when a directive says so.
    pub fn cta_threads(&self) -> Option<u32> {
        self.required_threads
            .or(self.max_threads)
            .map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z))
    }
}

/// A variable of the global space and what it holds at the start.
#[derive(Clone, Debug)]
pub struct GlobalData {
    /// Its symbol.
    pub key: SymbolKey,
    /// Which variable of the program.
    pub var: VarId,
    /// Who may see it.
    pub linkage: Linkage,
    /// It has an initial value (`.nv.global.init`); otherwise it is zero (`.nv.global`). The
    /// symbol's offset counts from the start of its section.
    pub initialised: bool,
}

/// A module, lowered as far as it is common to its functions.
#[derive(Clone, Debug)]
pub struct Module {
    /// How it is lowered.
    pub options: LowerOptions,
    /// All symbols of the module.
    pub symbols: SlotMap<SymbolKey, Symbol>,
    /// The symbols of module-scope and shared variables, by these: parameters, registers and locals
    /// have none.
    vars: Vec<(VarId, SymbolKey)>,
    /// By [`FuncId`].
    pub functions: Vec<SymbolKey>,
    /// Of kernels with a definition, and the functions that they can come to; the others need none.
    pub layouts: Sparse<FunctionLayout>,
    /// Initial bytes of constant bank 3.
    pub constants: Vec<u8>,
    /// `.const` variables in the order of their symbols, and [`Self::globals`] likewise.
    pub constant_vars: Vec<VarId>,
    /// Variables of global memory in the order of their symbols.
    pub globals: Vec<GlobalData>,
    /// Functions of the system that code calls. In bank 4 so many of them come first, then every
    /// variable of [`Self::globals`], then the rest.
    pub externs: Vec<FuncId>,
    /// Of [`Module::externs`] those that come first in bank 4.
    pub early_externs: usize,
    /// Device functions whose address something holds: entry i stands at byte 8·(i + 1) of a
    /// kernel's bank 2, and that number is the function's address (observed: ptxas 13.0.88).
    pub pointers: Vec<FuncId>,
    /// Alignment of the frames of functions that call or are called, in bytes.
    pub frame_align: u32,
    /// What was found fault with, and lowered all the same.
    pub warnings: Diagnostics,
}

impl Module {
    /// The symbol of a variable of the module, or a shared one.
    pub fn key_of(&self, var: VarId) -> Option<SymbolKey> {
        let at = self.vars.binary_search_by_key(&var, |(var, _)| *var).ok()?;
        Some(self.vars[at].1)
    }

    /// The same with what is known of it.
    pub fn symbol_of(&self, var: VarId) -> Option<&Symbol> {
        self.key_of(var).map(|key| &self.symbols[key])
    }

    /// The number that stands for a function in pointers.
    pub fn pointer_slot(&self, function: FuncId) -> Option<u64> {
        self.pointers.iter().position(|f| *f == function).map(|i| 8 * (i as u64 + 1))
    }

    /// Byte offset in constant bank 4 of a symbol's address.
    pub fn address_offset(&self, key: SymbolKey) -> Option<u32> {
        // Variables have their keys, and their slots, in one order.
        let global = self.globals.binary_search_by_key(&key, |global| global.key);
        let slot = match global {
            Ok(number) => Some(number + self.early_externs),
            Err(_) => self
                .externs
                .iter()
                .position(|f| self.functions[f.0 as usize] == key)
                .map(|i| if i < self.early_externs { i } else { i + self.globals.len() }),
        };
        slot.map(|slot| 8 * slot as u32)
    }
}

/// Places everything that functions share.
///
/// # Errors
/// When a program needs more of a space than the target has, or uses a module feature that is not
/// supported.
pub fn module(program: &Program<'_>, options: &LowerOptions) -> Result<Module, Diagnostics> {
    let in_memory = |v: &&Variable| matches!(v.space, Space::Global | Space::Const | Space::Shared);
    let count = program.vars.iter().filter(in_memory).count();
    let mut symbols = SlotMap::with_capacity_and_key(count + program.functions.len());
    let mut vars = Vec::with_capacity(count);
    let mut module_constants = Bank::default();
    let is_global = |v: &&Variable| v.space == Space::Global;
    let mut globals = Vec::with_capacity(program.vars.iter().filter(is_global).count());
    let mut constant_vars = Vec::new();
    let visible = |i: usize| program.vars[i].linkage != Linkage::Internal;
    for i in symbol_order(program.vars.len(), visible) {
        let var = &program.vars[i];
        let id = VarId(i as u32);
        let mut symbol = Symbol {
            kind: SymbolKind::Global,
            align: var.align() as u32,
            size: var.size,
            offset: 0,
        };
        match var.space {
            Space::Global => {
                let key = symbols.insert(symbol);
                vars.push((id, key));
                // One that is extern is defined nonetheless: there is no other module to have it.
                globals.push(GlobalData {
                    key,
                    var: id,
                    linkage: var.linkage,
                    initialised: var.init.is_some(),
                });
            }
            Space::Const => {
                symbol.kind = SymbolKind::Constant;
                symbol.offset = module_constants.place(
                    var.size,
                    var.align(),
                    var.init.as_ref().map(|init| init.bytes.as_slice()),
                );
                vars.push((id, symbols.insert(symbol)));
                constant_vars.push(id);
            }
            Space::Shared => {
                let dynamic = var.linkage == Linkage::Extern && var.size == 0;
                symbol.kind = if dynamic { SymbolKind::DynamicShared } else { SymbolKind::Shared };
                vars.push((id, symbols.insert(symbol)));
            }
            _ => {}
        }
    }
    vars.sort_unstable_by_key(|(var, _)| *var);
    let mut functions = Vec::with_capacity(program.functions.len());
    for function in &program.functions {
        functions.push(symbols.insert(Symbol {
            kind: match (function.defined, function.entry) {
                (true, true) => SymbolKind::Entry,
                (true, false) => SymbolKind::Function,
                (false, _) => SymbolKind::External,
            },
            size: 0,
            align: 128,
            offset: 0,
        }));
    }
    let calls = CallGraph::new(program);
    let mut errors = Diagnostics::default();
    if let Some(unknown) = calls.unresolved(program) {
        let name = program.functions[unknown.0 as usize].name;
        return Err(Diagnostic::global(format!("Unresolved extern function '{name}'")).into());
    }
    let is_kernel = |f: &FuncId| {
        let function = &program.functions[f.0 as usize];
        function.entry && function.defined
    };
    let all = || (0..program.functions.len() as u32).map(FuncId);
    let needed = calls.reachable(all().filter(is_kernel));
    let mut layouts = Sparse::new(program.functions.len());
    let mut frame_align = 16;
    let instructions = program.functions.iter().map(|f| f.code.len()).sum();
    // What is wrong with it is said of each.
    let layout = |f: usize| {
        let mut errors = Diagnostics::default();
        let f = FuncId(f as u32);
        (function_layout(program, f, options.target, &calls, &mut errors), errors)
    };
    parallel::in_order((program.functions.len(), instructions), layout, |f, (layout, wrong)| {
        errors.extend(wrong);
        frame_align = frame_align.max(layout.local_align);
        if needed.contains(&(f as u32)) {
            layouts.set(FuncId(f as u32), layout);
        }
    });
    place_globals(&mut symbols, &globals);
    let constants = module_constants.bytes.len();
    if constants > MAX_CONSTANTS {
        // At the first variable that is too much.
        let beyond = |id: &&VarId| {
            let at = vars.binary_search_by_key(*id, |(var, _)| *var);
            let symbol = at.map(|at| &symbols[vars[at].1]);
            symbol.is_ok_and(|s: &Symbol| s.offset + s.size > MAX_CONSTANTS as u64)
        };
        let span =
            constant_vars.iter().find(beyond).map(|id| program.span(&program.vars[id.0 as usize]));
        let message = "File uses too much global constant data";
        let text = format!("{message} ({constants:#x} bytes, {MAX_CONSTANTS:#x} max)");
        errors.push(match span {
            Some(span) => Diagnostic::error(span, text),
            None => Diagnostic::global(text),
        });
    }
    let (externs, early_externs) = externs_in_order(program, &calls, &layouts);
    if errors.has_errors() {
        return Err(errors);
    }
    Ok(Module {
        options: options.clone(),
        symbols,
        vars,
        functions,
        layouts,
        constants: module_constants.bytes,
        constant_vars,
        globals,
        externs,
        early_externs,
        pointers: calls.pointers,
        frame_align,
        warnings: errors,
    })
}

/// Functions of the system as they come up in the kernels in the order of their text, which is the
/// reverse of the source's, and how many of them are the first kernel's: their slots in constant
/// bank 4 come before those of variables (observed: ptxas 13.0.88).
fn externs_in_order(
    program: &Program<'_>,
    calls: &CallGraph,
    layouts: &Sparse<FunctionLayout>,
) -> (Vec<FuncId>, usize) {
    let kernels = program.functions.iter().enumerate().rev();
    let kernels = kernels.filter(|(_, f)| f.entry && f.defined);
    let mut kernels = kernels.map(|(f, _)| &layouts[FuncId(f as u32)]);
    let mut externs = kernels.next().map(|first| first.externs.clone()).unwrap_or_default();
    let early = externs.len();
    // Those that no kernel comes to are last.
    let all =
        kernels.flat_map(|layout| layout.externs.clone()).chain(calls.externs.iter().copied());
    for f in all {
        if !externs.contains(&f) {
            externs.push(f);
        }
    }
    (externs, early)
}

/// Places global variables in their sections, those with an initial value apart from those without.
fn place_globals(symbols: &mut SlotMap<SymbolKey, Symbol>, globals: &[GlobalData]) {
    for initialised in [true, false] {
        let members: Vec<SymbolKey> =
            globals.iter().filter(|g| g.initialised == initialised).map(|g| g.key).collect();
        let shape = |symbols: &SlotMap<SymbolKey, Symbol>, i: usize| {
            let symbol = &symbols[members[i]];
            (u64::from(symbol.align), symbol.size)
        };
        let order = placement_order(members.len(), |i| shape(symbols, i));
        let (offsets, _) = place(order.iter().map(|i| shape(symbols, *i as usize)));
        for (i, offset) in order.into_iter().zip(offsets) {
            symbols[members[i as usize]].offset = offset;
        }
    }
}

/// From this version of PTX on a kernel may have 32764 bytes of parameters, before 4352 (PTX ISA
/// 9.0, "Kernel Function Parameters").
const LARGE_PARAMETERS: (u32, u32) = (8, 1);

/// Bytes of constant bank 3.
const MAX_CONSTANTS: usize = 0x10000;

/// Registers that a thread may have so that `ctas` CTAs of `threads` threads run on one SM
/// (observed: ptxas 13.0.88, sm_90a): 65536 registers an SM are dealt out to warps in multiples of
/// four, eight a thread at a time.
fn launch_registers(threads: u32, ctas: u32) -> u32 {
    let warps = u64::from(threads.max(1)).div_ceil(32) * u64::from(ctas.max(1));
    let each = 65536 / (32 * warps.next_multiple_of(4));
    (each / 8 * 8).clamp(8, 255) as u32
}

/// CTAs and threads that an SM holds at most (sm_90).
const SM_CTAS: u32 = 32;
const SM_THREADS: u64 = 2048;

/// Passes over a `.minnctapersm` that no SM can keep, with a warning (observed: ptxas 13.0.88).
fn check_ctas(function: &Function<'_>, layout: &mut FunctionLayout, messages: &mut Diagnostics) {
    let Some(ctas) = layout.min_ctas else { return };
    let threads = layout.cta_threads().map(|n| u64::from(n.div_ceil(32)) * 32);
    let name = function.name;
    let message = match threads {
        _ if ctas > SM_CTAS => format!(
            "Value of minnctapersm for entry {name} is out of range. minnctapersm will be ignored"
        ),
        Some(n) if n * u64::from(ctas) > SM_THREADS => format!(
            "Value of threads per SM for entry {name} is out of range. .minnctapersm will be ignored"
        ),
        _ => return,
    };
    layout.min_ctas = None;
    messages.push(Diagnostic { severity: Severity::Warning, ..Diagnostic::global(message) });
}

/// Bytes of a constant bank as it grows.
#[derive(Default)]
struct Bank {
    bytes: Vec<u8>,
}

impl Bank {
    fn place(&mut self, size: u64, align: u64, init: Option<&[u8]>) -> u64 {
        let offset = self.bytes.len().next_multiple_of(align as usize);
        self.bytes.resize(offset, 0);
        match init {
            Some(bytes) => self.bytes.extend_from_slice(bytes),
            None => self.bytes.resize(offset + size as usize, 0),
        }
        offset as u64
    }
}

fn function_layout(
    program: &Program<'_>,
    id: FuncId,
    target: &Target,
    calls: &CallGraph,
    errors: &mut Diagnostics,
) -> FunctionLayout {
    let function = &program.functions[id.0 as usize];
    let mut layout = FunctionLayout { local_align: 1, shared_align: 1, ..Default::default() };
    layout.params.reserve_exact(function.params.len());
    for param in &function.params {
        let var = &program.vars[param.0 as usize];
        // A kernel's parameters are aligned in constant bank 0, not from the first one on
        // (observed: ptxas 13.0.88).
        let start = if function.entry { target.const_params } else { 0 };
        let offset = (start + layout.param_bytes).next_multiple_of(var.align() as u32) - start;
        layout.params.push(ParamLayout {
            var: *param,
            offset,
            size: var.size as u32,
            align: var.align() as u32,
        });
        layout.param_bytes = layout.param_bytes.max(offset + var.size as u32);
    }
    let reached = calls.reachable([id].into_iter());
    let uses = &calls.uses;
    layout.names_shared =
        uses[id].vars.iter().any(|v| program.vars[*v as usize].space == Space::Shared);
    layout.callees = calls.in_text_order(program, id, &reached);
    layout.indirect = reached.iter().any(|f| uses[FuncId(*f)].indirect);
    layout.calls_pointers = uses[id].indirect;
    let is_extern = |f: &u32| calls.externs.binary_search(&FuncId(*f)).is_ok();
    layout.externs = reached.iter().copied().filter(is_extern).map(FuncId).collect();
    // A kernel's own shared variables have their place even where no code names them.
    let owned = program.owned.of(id);
    let own = |v: &&VarId| program.vars[v.0 as usize].space == Space::Shared;
    let used: BTreeSet<u32> = reached
        .iter()
        .flat_map(|f| uses[FuncId(*f)].vars.iter().copied())
        .chain(owned.iter().filter(own).map(|v| v.0))
        .collect();
    let shared: Vec<u32> =
        used.iter().copied().filter(|v| program.vars[*v as usize].space == Space::Shared).collect();
    let is_dynamic = |v: u32| {
        let var = &program.vars[v as usize];
        var.linkage == Linkage::Extern && var.size == 0
    };
    // The kernel's own variables come first, then the module's.
    drop(used);
    let fixed = |own: bool| {
        let here = move |v: &u32| program.vars[*v as usize].owner().is_some() == own;
        shared.iter().copied().filter(move |v| !is_dynamic(*v)).filter(here)
    };
    layout.shared.reserve_exact(shared.len());
    let mut end = SHARED_RESERVED;
    for v in fixed(true).chain(fixed(false)) {
        let var = &program.vars[v as usize];
        let offset = end.next_multiple_of(var.align());
        layout.shared.push(SharedSlot { var: VarId(v), offset });
        end = offset + var.size;
    }
    for v in shared.iter().copied().filter(|v| is_dynamic(*v)) {
        layout.dynamic_shared = true;
        end = end.next_multiple_of(program.vars[v as usize].align());
    }
    for v in shared.iter().copied().filter(|v| is_dynamic(*v)) {
        layout.shared.push(SharedSlot { var: VarId(v), offset: end });
    }
    layout.shared_used = reached
        .iter()
        .flat_map(|f| &uses[FuncId(*f)].needed)
        .any(|v| program.vars[*v as usize].space == Space::Shared);
    // Every kernel can be given dynamic memory where the module has such a variable, whoever names
    // it (observed: ptxas 13.0.88).
    let declared = calls.dynamic.iter().copied().filter(|_| function.entry);
    for v in shared.iter().copied().chain(declared) {
        layout.shared_align = layout.shared_align.max(program.vars[v as usize].align());
        if is_dynamic(v) {
            end = end.next_multiple_of(program.vars[v as usize].align());
        }
        layout.shared_bytes = end;
    }
    let name = function.name;
    let (bytes, most) = (end - SHARED_RESERVED, u64::from(target.max_shared));
    if function.entry && bytes > most {
        let message = "uses too much shared data";
        let sizes = format!("({bytes:#x} bytes, {most:#x} max)");
        errors.error(function.span, format!("Entry function '{name}' {message} {sizes}"));
    }
    let most = if program.version < LARGE_PARAMETERS { 0x1100 } else { 0x7ffc };
    if function.entry && layout.param_bytes > most {
        let bytes = layout.param_bytes;
        let message = "uses too much parameter space";
        let sizes = format!("({bytes:#x} bytes, {most:#x} max).");
        errors.error(function.span, format!("Entry function '{name}' {message} {sizes}"));
    }
    for id in owned.iter().copied() {
        let var = &program.vars[id.0 as usize];
        if var.space == Space::Local {
            let align = var.align() as u32;
            let offset = layout.local_bytes.next_multiple_of(align);
            layout.local.push((id, offset));
            layout.local_bytes = offset + var.size as u32;
            layout.local_align = layout.local_align.max(align);
        }
    }
    for (name, values) in &function.directives {
        let dims = || {
            let at = |i: usize| values.get(i).map_or(1, |v| (*v).min(u32::MAX as u64) as u32);
            [at(0), at(1), at(2)]
        };
        match *name {
            "maxntid" => layout.max_threads = Some(dims()),
            "reqntid" => layout.required_threads = Some(dims()),
            "minnctapersm" => layout.min_ctas = Some(dims()[0]),
            "maxnreg" => {
                layout.max_registers = Some(dims()[0]);
                layout.knows_registers = true;
            }
            _ => {}
        }
    }
    check_ctas(function, &mut layout, errors);
    if let Some(threads) = layout.cta_threads() {
        let limit = launch_registers(threads, layout.min_ctas.unwrap_or(1));
        // `.maxnreg` has the last word, even where it forbids the launch.
        if limit < 255 && layout.max_registers.is_none() {
            layout.max_registers = Some(limit);
        }
    }
    layout.knows_registers |= layout.cta_threads().is_some() && layout.min_ctas.is_some();
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_limits_leave_the_registers_that_ptxas_leaves() {
        let cases = [
            (1024, 1, 64),
            (384, 1, 168),
            (257, 1, 168),
            (256, 1, 255),
            (300, 2, 96),
            (128, 5, 96),
            (1000, 2, 32),
            (96, 7, 80),
        ];
        for (threads, ctas, registers) in cases {
            assert_eq!(
                launch_registers(threads, ctas),
                registers,
                "{threads} threads, {ctas} CTAs"
            );
        }
    }

    /// The module that the cubin writer's tests rebuild under "variables of every kind", and where
    /// ptxas 13.0.88 has them.
    #[test]
    fn variables_are_where_ptxas_has_them() {
        let source = ".version 9.0\n.target sm_90a\n.address_size 64
            .visible .global .align 4 .u32 vis=5; .global .u32 un; .weak .global .u32 w;
            .const .u32 c0=3; .visible .const .u32 c1[4]={1,2,3}; .global .u64 pp=vis;
            .global .u64 pf=generic(un)+4; .global .u32 unused[3]={1,2,3};
            .visible .entry k(){ret;}";
        let program = crate::ptx::load(source).expect("the source is right");
        let target = orias_targets::target("sm_90a").expect("the target is there");
        let module = module(&program, &LowerOptions { target, opt_level: 3, fmad: true })
            .expect("everything in it is supported");
        let key = |name: &str| {
            let at = program.vars.iter().position(|var| program.name(var) == name)?;
            module.key_of(VarId(at as u32))
        };
        let place = |name: &str| key(name).map(|key| module.symbols[key].offset);
        for (name, offset) in [("pf", 0), ("pp", 8), ("vis", 16), ("unused", 20)] {
            assert_eq!(place(name), Some(offset), "{name}");
        }
        for (name, offset) in [("w", 0), ("un", 4), ("c1", 0), ("c0", 16)] {
            assert_eq!(place(name), Some(offset), "{name}");
        }
        for (slot, name) in ["vis", "w", "un", "pp", "pf", "unused"].iter().enumerate() {
            let offset = key(name).and_then(|key| module.address_offset(key));
            assert_eq!(offset, Some(8 * slot as u32), "{name}");
        }
    }
}
