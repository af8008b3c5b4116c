//! From a lowered module and its compiled kernels to what the cubin writer takes.

use crate::attributes::tensor_maps;
use crate::elf::attribute::Attribute;
use crate::elf::model::{
    Alias, CfaOp, Constant2, CubinModel, CubinTarget, DataReloc, External, InitialValue,
    InnerFunction, Kernel, Linkage, Param, Shared, Space, TextRelocation, Tool, Unwind, Variable,
};
use crate::elf::relocation::RelocKind;
use crate::lines::Places;
use crate::link::{Inner, Linked};
use crate::lower::{FunctionLayout, Module, ParamLayout};
use crate::ptx::program::{FuncId, InitReloc, Instruction, Operand, Program, SymbolRef, VarId};
use crate::ptx::types;
use crate::ptx::words::Op;
use orias_components::SymbolKey;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The lower half of the pair with a function's return address.
const RETURN_REGISTER: u8 = 20;

/// What the file says of the PTX's code as a whole: taken before the functions' bodies go.
pub struct Whole {
    tensor_maps: u8,
    /// By kernel, where there are any: calls of functions of the system, in order.
    external_calls: FxHashMap<FuncId, Vec<SymbolKey>>,
    /// The file says which lines its code comes from.
    pub with_lines: bool,
}

impl Whole {
    /// Asks the program, while the bodies of its functions are there. `with_lines`: the file says
    /// which lines code comes from.
    pub fn of(
        program: &Program<'_>,
        module: &Module,
        kernels: impl Iterator<Item = FuncId>,
        with_lines: bool,
    ) -> Whole {
        let external_calls = kernels.filter_map(|kernel| {
            let externs = &module.layouts[kernel].externs;
            let calls = || external_calls(program, module, kernel, externs);
            (!externs.is_empty()).then(|| (kernel, calls()))
        });
        Whole {
            tensor_maps: tensor_maps(&program.functions),
            external_calls: external_calls.collect(),
            with_lines,
        }
    }
}

/// Puts a module together; `kernels` are in source order.
pub fn cubin(
    program: &Program<'_>,
    module: &Module,
    kernels: Vec<Linked>,
    tool: Tool,
    whole: &Whole,
) -> CubinModel {
    let places = whole.with_lines.then(|| Places::new(program));
    let target = module.options.target;
    let kernel = |linked: Linked| {
        let function = &program.functions[linked.func.0 as usize];
        let layout = &module.layouts[linked.func];
        Kernel {
            clusters: clusters(&function.directives),
            external_calls: whole.external_calls.get(&linked.func).cloned().unwrap_or_default(),
            ..kernel(program, module, linked, layout, linkage(function.linkage), places.as_ref())
        }
    };
    let external = |f: &FuncId| External {
        key: module.functions[f.0 as usize],
        name: program.functions[f.0 as usize].name.to_string(),
    };
    let isa_class = kernels.iter().map(|k| k.facts.needs.isa_class).max().unwrap_or(1);
    CubinModel {
        target: CubinTarget {
            param_base: target.const_params as u16,
            isa_class,
            tensor_maps: whole.tensor_maps,
            ..CubinTarget::sm90(target.accelerated)
        },
        tool,
        externals: module.externs.iter().map(external).collect(),
        variables: variables(program, module),
        kernels: kernels.into_iter().map(kernel).collect(),
        sources: places.as_ref().map(Places::sources),
    }
}

fn kernel(
    program: &Program<'_>,
    module: &Module,
    linked: Linked,
    layout: &FunctionLayout,
    of_kernel: Linkage,
    places: Option<&Places<'_>>,
) -> Kernel {
    let (lines, ptx_lines) = places.map(|p| p.rows(&linked)).unwrap_or_default();
    let Linked { compiled, inner, stack_bytes, own_bytes, constant2, pointers, .. } = linked;
    let constant2 = (pointers || !constant2.is_empty())
        .then_some(Constant2 { data: constant2, function_addresses: pointers });
    let params = layout.params.iter().map(|p| param(program, p));
    let relocations = compiled.relocs.iter().map(|r| TextRelocation {
        offset: r.offset,
        target: r.key,
        addend: r.addend,
        high: r.part == 1,
    });
    let shared = (layout.shared_bytes > 0).then(|| Shared {
        bytes: (layout.shared_bytes - crate::lower::SHARED_RESERVED) as u32,
        align: layout.shared_align as u32,
        used: layout.shared_used,
    });

    let names_reserved = linked.facts.reserved_names;
    let mut code_attributes = linked.facts.attributes();
    if !linked.system_calls.is_empty() {
        code_attributes.push(Attribute::syscall_offsets(&linked.system_calls));
    }
    let last_exit = compiled.exits.iter().copied().rfind(|at| *at < own_bytes);
    let aliases = aliases(program, &compiled.name, &inner);
    let inner = inner.into_iter().map(|one| {
        let function = &program.functions[one.func.0 as usize];
        let name = format!("${}${}", compiled.name, function.name);
        inner_function((name, linkage(function.linkage)), one, stack_bytes)
    });
    let inner = inner.collect();
    Kernel {
        name: compiled.name,
        linkage: of_kernel,
        text: compiled.text,
        params: params.collect(),
        relocations: relocations.collect(),
        registers: compiled.registers,
        // ptxas says the whole stack here, of the kernel and of each function in it (observed:
        // 13.0.88).
        frame_bytes: stack_bytes,
        min_stack_bytes: stack_bytes,
        externals: layout.externs.iter().map(|f| module.functions[f.0 as usize]).collect(),
        external_calls: Vec::new(),
        param_bytes: layout.param_bytes,
        barriers: compiled.barriers as u8,
        max_registers: layout.max_registers.and_then(|n| u16::try_from(n).ok()),
        max_threads: layout.max_threads,
        required_threads: layout.required_threads,
        clusters: Vec::new(),
        shared,
        names_reserved,
        constant2,
        divergent: compiled.divergent,
        unwind: Unwind::kernel(compiled.prologue_end, compiled.frame_bytes, last_exit),
        exits: compiled.exits,
        code_attributes,
        inner,
        aliases,
        lines,
        ptx_lines,
    }
}

/// Functions of the system in the order in which a kernel's code comes to calls of them, in
/// functions that it calls where it calls them; those that it calls through pointers are last.
fn external_calls(
    program: &Program<'_>,
    module: &Module,
    kernel: FuncId,
    externs: &[FuncId],
) -> Vec<SymbolKey> {
    // Functions whose calls are still to be gone through, with how far that is.
    let mut way = vec![(kernel, 0)];
    let mut seen = FxHashSet::from_iter([kernel]);
    let mut found: Vec<FuncId> = Vec::new();
    while let Some((function, from)) = way.pop() {
        let code = &program.functions[function.0 as usize].code;
        let called = |inst: &Instruction| match inst.opcode {
            Op::Call => inst.operands.iter().find_map(|operand| match operand {
                Operand::Func(f) => Some(*f),
                _ => None,
            }),
            _ => None,
        };
        let next = code.iter().enumerate().skip(from).find_map(|(at, i)| Some((at, called(&i)?)));
        let Some((at, callee)) = next else { continue };
        way.push((function, at + 1));
        if externs.contains(&callee) {
            found.extend((!found.contains(&callee)).then_some(callee));
        } else if seen.insert(callee) {
            way.push((callee, 0));
        }
    }
    let by_pointer: Vec<FuncId> = externs.iter().filter(|f| !found.contains(f)).copied().collect();
    found.extend(by_pointer);
    found.iter().map(|f| module.functions[f.0 as usize]).collect()
}

/// The other names of the functions in a kernel's text.
fn aliases(program: &Program<'_>, kernel: &str, inner: &[Inner]) -> Vec<Alias> {
    let alias = |(name, of): &(&str, FuncId)| {
        let place = inner.iter().find(|one| one.func == *of)?;
        let declared = program.functions.iter().find(|f| f.name == *name && !f.defined);
        let linkage = declared.map_or(Linkage::Local, |f| linkage(f.linkage));
        Some(Alias { name: format!("${kernel}${name}"), linkage, offset: place.offset })
    };
    program.aliases.iter().filter_map(alias).collect()
}

/// A device function in the kernel's text, and how to find its caller's registers.
fn inner_function(
    (name, linkage): (String, Linkage),
    inner: Inner,
    stack_bytes: u32,
) -> InnerFunction {
    let mut program = vec![(inner.prologue_end, CfaOp::DefCfa { offset: inner.frame_bytes })];
    for (register, offset) in &inner.saved {
        let register = *register;
        program.push((inner.prologue_end, CfaOp::SavedAt { register, offset: *offset as i32 }));
    }
    let unwind = Unwind { program, return_register: Some(RETURN_REGISTER) };
    InnerFunction {
        name,
        linkage,
        offset: inner.offset,
        size: inner.size,
        frame_bytes: stack_bytes,
        unwind,
    }
}

/// What the cluster directives say, in ptxas's order (observed: 13.0.88).
fn clusters(directives: &[(&str, Vec<u64>)]) -> Vec<Attribute> {
    let values = |name| directives.iter().find(|(n, _)| *n == name).map(|(_, values)| values);
    let at = |values: &Vec<u64>, i: usize| values.get(i).map_or(1, |v| *v as u32);
    let mut all = Vec::new();
    all.extend(values("maxclusterrank").map(|v| Attribute::MaxClusterRank(at(v, 0))));
    all.extend(values("explicitcluster").map(|_| Attribute::ExplicitCluster));
    all.extend(
        values("reqnctapercluster").map(|v| Attribute::CtaPerCluster([0, 1, 2].map(|i| at(v, i)))),
    );
    all.extend(values("blocksareclusters").map(|_| Attribute::BlocksAreClusters));
    all
}

fn param(program: &Program<'_>, param: &ParamLayout) -> Param {
    // Numbers of spaces in `EIATTR_KPARAM_INFO` (observed: ptxas 13.0.88).
    let pointer = program.vars[param.var.0 as usize].pointer;
    let space = pointer.map_or(0, |p| match p.space {
        Some(types::Space::Local) => 1,
        Some(types::Space::Shared) => 2,
        Some(types::Space::Global | types::Space::Const) => 4,
        _ => 5,
    });
    let log_alignment = pointer.map_or(0, |p| p.align().trailing_zeros() as u8);
    Param { offset: param.offset, size: param.size, log_alignment, space }
}

/// Global and constant variables in order of declaration.
fn variables(program: &Program<'_>, module: &Module) -> Vec<Variable> {
    let in_file = |v: &&crate::ptx::program::Variable| {
        matches!(v.space, types::Space::Global | types::Space::Const)
    };
    let mut all = Vec::with_capacity(program.vars.iter().filter(in_file).count());
    for (i, var) in program.vars.iter().enumerate() {
        let space = match var.space {
            types::Space::Global => Space::Global,
            types::Space::Const => Space::Constant,
            _ => continue,
        };
        let Some(key) = module.key_of(VarId(i as u32)) else { continue };
        all.push(Variable {
            key,
            name: program.name(var).into(),
            space,
            linkage: linkage(var.linkage),
            managed: var.managed,
            offset: module.symbols[key].offset,
            size: var.size,
            align: var.align() as u32,
            init: initial(program, module, var).map(Box::new),
        });
    }
    all
}

fn relocation(module: &Module, reloc: &InitReloc) -> Option<DataReloc> {
    let target = match reloc.target {
        SymbolRef::Var(var) => module.key_of(var)?,
        SymbolRef::Func(func) => module.functions[func.0 as usize],
    };
    let kind = if reloc.bytes == 1 {
        RelocKind::generic_byte(u32::from(reloc.shift) / 8)
    } else {
        RelocKind::GENERIC64
    };
    Some(DataReloc { kind, offset: reloc.offset, target, addend: reloc.addend })
}

/// The number that stands for a function's address.
fn function_number(module: &Module, reloc: &InitReloc) -> Option<u64> {
    let SymbolRef::Func(function) = reloc.target else { return None };
    let slot = module.pointer_slot(function)?;
    Some(slot.wrapping_add(reloc.addend as u64) >> reloc.shift)
}

/// The number that an address in constant memory is, where the source does not ask for a generic
/// one.
fn constant_offset(program: &Program<'_>, module: &Module, reloc: &InitReloc) -> Option<u64> {
    let SymbolRef::Var(var) = reloc.target else { return None };
    let in_constants = program.vars[var.0 as usize].space == types::Space::Const;
    let symbol = module.symbol_of(var).filter(|_| in_constants && !reloc.generic)?;
    Some(symbol.offset.wrapping_add(reloc.addend as u64) >> reloc.shift)
}

/// A variable's initial value with the numbers in it that are known, and the rest of its addresses.
fn initial(
    program: &Program<'_>,
    module: &Module,
    var: &crate::ptx::program::Variable,
) -> Option<InitialValue> {
    let mut bytes = var.init.as_deref()?.bytes.clone();
    let mut relocations = Vec::with_capacity(var.relocs().count());
    for reloc in var.relocs() {
        let number = function_number(module, reloc);
        match number.or_else(|| constant_offset(program, module, reloc)) {
            Some(value) => {
                let from = reloc.offset as usize;
                let place =
                    Arc::make_mut(&mut bytes).get_mut(from..from + usize::from(reloc.bytes));
                for (byte, value) in place.into_iter().flatten().zip(value.to_le_bytes()) {
                    *byte = value;
                }
            }
            None => relocations.extend(relocation(module, reloc)),
        }
    }
    Some(InitialValue { bytes, relocations })
}

fn linkage(linkage: types::Linkage) -> Linkage {
    match linkage {
        types::Linkage::Internal => Linkage::Local,
        types::Linkage::Visible | types::Linkage::Common | types::Linkage::Extern => {
            Linkage::Visible
        }
        types::Linkage::Weak => Linkage::Weak,
    }
}
