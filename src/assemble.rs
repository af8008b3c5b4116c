//! From a lowered module and its compiled kernels to what the cubin writer takes.

use orias_systems::Compiled;

use crate::elf::attribute::Attribute;
use crate::elf::model::{
    CubinModel, CubinTarget, DataReloc, Kernel, Linkage, Param, Shared, Space, TextRelocation,
    Tool, Unwind, Variable,
};
use crate::lower::{FunctionLayout, Module, ParamLayout};
use crate::ptx::program::{FuncId, InitReloc, Program, SymbolRef, VarId};
use crate::ptx::types;

/// No register holds the mask of a warp operation: every thread that is there takes part (observed: ptxas 13.0.88).
const NO_MASK_REGISTER: u32 = u32::MAX;

/// Puts a module together; `kernels` are its compiled functions in source order.
pub fn cubin(
    program: &Program<'_>,
    module: &Module,
    kernels: Vec<(FuncId, Compiled)>,
    tool: Tool,
) -> CubinModel {
    let target = module.options.target;
    let kernel = |(func, compiled): (FuncId, Compiled)| {
        let function = &program.functions[func.0 as usize];
        let layout = &module.layouts[func.0 as usize];
        Kernel {
            clusters: clusters(&function.directives),
            ..kernel(program, compiled, layout, linkage(function.linkage))
        }
    };
    CubinModel {
        target: CubinTarget {
            param_base: target.const_params as u16,
            ..CubinTarget::sm90(target.accelerated)
        },
        tool,
        variables: variables(program, module),
        kernels: kernels.into_iter().map(kernel).collect(),
    }
}

fn kernel(
    program: &Program<'_>,
    compiled: Compiled,
    layout: &FunctionLayout,
    linkage: Linkage,
) -> Kernel {
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
    let mut code_attributes = Vec::new();
    if !compiled.warp_ops.is_empty() {
        let masks = vec![NO_MASK_REGISTER; compiled.warp_ops.len()];
        code_attributes.push(Attribute::CoopGroupMaskRegs(masks));
        code_attributes.push(Attribute::CoopGroupOffsets(compiled.warp_ops));
    }
    let last_exit = compiled.exits.last().copied();
    Kernel {
        name: compiled.name,
        linkage,
        text: compiled.text,
        params: params.collect(),
        relocations: relocations.collect(),
        registers: compiled.registers,
        frame_bytes: compiled.frame_bytes,
        min_stack_bytes: compiled.frame_bytes,
        param_bytes: layout.param_bytes,
        barriers: compiled.barriers as u8,
        max_registers: layout.max_registers.and_then(|n| u16::try_from(n).ok()),
        max_threads: layout.max_threads,
        required_threads: layout.required_threads,
        clusters: Vec::new(),
        shared,
        constant2: None,
        divergent: compiled.divergent,
        unwind: Unwind::kernel(compiled.prologue_end, compiled.frame_bytes, last_exit),
        exits: compiled.exits,
        code_attributes,
        inner: Vec::new(),
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
    let log_alignment = pointer.map_or(0, |p| p.align.trailing_zeros() as u8);
    Param { offset: param.offset, size: param.size, log_alignment, space }
}

/// Global and constant variables in order of declaration.
fn variables(program: &Program<'_>, module: &Module) -> Vec<Variable> {
    let mut all = Vec::new();
    for (i, var) in program.vars.iter().enumerate() {
        let Some(key) = module.vars[i] else { continue };
        let space = match var.space {
            types::Space::Global => Space::Global,
            types::Space::Const => Space::Constant,
            _ => continue,
        };
        let relocations = var.relocs.iter().filter_map(|r| relocation(module, r)).collect();
        all.push(Variable {
            key,
            name: var.name.to_string(),
            space,
            linkage: linkage(var.linkage),
            offset: module.symbols[key].offset,
            size: var.size,
            align: var.align,
            init: var.init.clone(),
            relocations,
        });
    }
    all
}

fn relocation(module: &Module, reloc: &InitReloc) -> Option<DataReloc> {
    let target = match reloc.target {
        SymbolRef::Var(VarId(var)) => module.vars[var as usize]?,
        SymbolRef::Func(func) => module.functions[func.0 as usize],
    };
    Some(DataReloc { offset: reloc.offset, target, addend: reloc.addend })
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
