//! One function: blocks, registers, the entry prologue, and each PTX instruction through
//! [`super::select`].

use super::common::params;
use super::context::frame::Frame;
use super::contract::{Fate, contract};
use super::layout::{Module, SHARED_RESERVED};
use super::select;
use crate::lower::context::cx::{Cx, cells_of};
use crate::lower::context::usage::Usage;
use crate::ptx::ast::NOUNROLL;
use crate::ptx::diagnostics::{Diagnostic, Diagnostics};
use crate::ptx::program::{FuncId, Function, Program};
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word, WordSet};
use orias_components::{BlockId, Body, Guard, Inst, Loc, Mod, Opcode, Operand, Reg, RegFile};
use orias_systems::FunctionInfo;
use orias_systems::build::{Emit, imm, plop3, r, wide};
use orias_systems::registers::limits::LEAST_ASKED;
use rustc_hash::FxHashSet;

/// So many instructions show what room a long function needs.
const SAMPLE: usize = 1 << 14;

/// Fills an empty body with a function, and says what phases want to know of it: `function`, which
/// is number `id` of the program, where its own body need not be any more. `kernel` is the kernel
/// that the code is for: the function itself, or one that calls it, whose shared variables it then
/// names.
///
/// # Errors
/// One error for each instruction that has no lowering, in source order; the body's content is then
/// of no use.
pub fn function(
    program: &Program<'_>,
    module: &Module,
    (id, function): (FuncId, &Function<'_>),
    kernel: FuncId,
    body: Body<'_>,
) -> Result<FunctionInfo, Diagnostics> {
    let layout = &module.layouts[id];
    let contracts = module.options.fmad && module.options.opt_level > 0;
    // What is asked of the code as a whole.
    let usage = Usage::of(function);
    let fates = if contracts { contract(function, &usage.mentions) } else { Vec::new() };
    let mut e = Emit::new(body);
    if function.code.len() < SAMPLE {
        e.body.expect_insts(function.code.len() * 5 / 4 + 8);
    }
    let mut regs = Vec::with_capacity(function.regs.len());
    for reg in &function.regs {
        let mut elements = [Reg::RZ; 4];
        for element in elements.iter_mut().take(reg.vector.clamp(1, 4) as usize) {
            *element = if reg.ty == Type::Pred {
                e.body.new_vreg(RegFile::P, 1, 1)
            } else {
                let cells = cells_of(reg.ty);
                e.body.new_vreg(RegFile::R, cells, cells)
            };
        }
        regs.push(elements);
    }
    let entry = e.block;
    let local = (layout.local_bytes, layout.local_align);
    let code = (id, function, &usage);
    let found = Frame::new(program, code, local, module.frame_align, || e.temp(1));
    let (frame, locals_at) = found.map_err(|message| Diagnostic::error(function.span, message))?;
    let Usage { read, constants, named, .. } = usage;
    // Where nothing goes to, nothing begins.
    let labels = named.iter().map(|named| if *named { e.label() } else { entry }).collect();
    let mut cx = Cx {
        program,
        module,
        function,
        layout,
        shared: &module.layouts[kernel].shared,
        e,
        regs,
        read,
        constants,
        labels,
        desc: None,
        policy: None,
        shared_base: None,
        carry: None,
        barriers: 0,
        converged: None,
        tuples: Default::default(),
        frame,
        locals_at,
        epilogue: None,
    };
    params::receive(&mut cx, entry);
    // The entry block stays apart: what stands in it runs once, before any divergence.
    cx.e.open_new();
    let mut errors = Diagnostics::default();
    params::unpack(&mut cx).map_err(|message| Diagnostic::error(function.span, message))?;
    let places = function.labels.iter().enumerate().filter(|(i, _)| named[*i]);
    let mut label_at: Vec<(usize, usize)> = places.map(|(i, (at, _))| (*at, i)).collect();
    label_at.sort_unstable();
    let mut next_label = 0;
    let mut open_labels = |cx: &mut Cx<'_, '_>, at: usize| {
        while next_label < label_at.len() && label_at[next_label].0 == at {
            let block = cx.labels[label_at[next_label].1];
            cx.e.open(block);
            next_label += 1;
        }
    };
    let mut has_strong = false;
    for ((at, inst), place) in function.code.iter().enumerate().zip(function.code.locs()) {
        if at == SAMPLE {
            cx.e.body.expect(at, function.code.len());
        }
        open_labels(&mut cx, at);
        has_strong |= matches!(inst.opcode, Op::Ld | Op::St) && inst.set.intersects(&STRONG);
        let (file, line, column) = place;
        let loc = Loc { file, line, column, ptx_inst: at as u32 + 1 };
        let guard = match inst.guard {
            Some((p, negated)) => Guard { reg: cx.regs[p.0 as usize][0], negated },
            None => Guard::ALWAYS,
        };
        cx.e.start(loc, guard);
        let lowered = match fates.get(at) {
            Some(Fate::Folded) => Ok(()),
            Some(Fate::Fused { product, operand }) => {
                let product = function.code.at(*product as usize);
                select::fused(&mut cx, &product, &inst, *operand as usize)
            }
            _ => select::lower(&mut cx, &inst),
        };
        if let Err(message) = lowered {
            let (start, end) = (inst.span.start as usize, inst.span.end as usize);
            let written = cx.program.source.get(start..end).unwrap_or("");
            let message = format!("unsupported: `{}`: {message}", inst.spelling(written));
            errors.error(inst.span, message);
        }
    }
    open_labels(&mut cx, function.code.len());
    if errors.has_errors() {
        return Err(errors);
    }
    cx.e.start(Loc::default(), Guard::ALWAYS);
    // A body that ends without a return ends there.
    let last_branch_is_taken = function.code.last().is_some_and(|i| i.guard.is_none());
    let goes_on = !(cx.e.in_empty_tail() && last_branch_is_taken);
    if function.entry && goes_on {
        cx.e.put(Opcode::EXIT, &[], 0, &[Operand::PT]);
    } else if !function.entry && (goes_on || cx.epilogue.is_some()) {
        let end = match cx.epilogue {
            Some(block) => block,
            None => cx.e.label(),
        };
        cx.e.open(end);
        let given = params::give_back(&mut cx);
        given.map_err(|message| Diagnostic::error(function.span, message))?;
    }
    prologue(&mut cx, entry);
    let rolled = rolled(function, &cx.labels);
    let info = FunctionInfo {
        name: function.name.to_string(),
        entry: function.entry,
        max_registers: layout.max_registers.map(|n| n.max(LEAST_ASKED)),
        max_threads: layout.cta_threads(),
        required_threads: layout.required_threads,
        local_bytes: cx.frame.bytes,
        local_align: cx.frame.align,
        moves_stack: cx.frame.moves_stack,
        barriers: cx.barriers,
        has_strong,
        shares_uniform: false,
        rolled,
        profile: Default::default(),
    };
    cx.e.finish();
    Ok(info)
}

/// Accesses that keep their number and their order.
const STRONG: WordSet =
    WordSet::of(&[Word::Volatile, Word::Relaxed, Word::Acquire, Word::Release, Word::Mmio]);

/// The blocks whose loops `.pragma "nounroll"` keeps as they are: all, or those of some labels and
/// of what stands at the same places.
fn rolled(function: &Function<'_>, labels: &[BlockId]) -> FxHashSet<BlockId> {
    if function.directives.iter().any(|(name, _)| *name == NOUNROLL) {
        return labels.iter().copied().collect();
    }
    let rolled = function.rolled.iter().flat_map(|labels| labels.iter());
    let mut places: Vec<usize> = rolled.map(|label| function.labels[label.0 as usize].0).collect();
    places.sort_unstable();
    let all = function.labels.iter().zip(labels);
    all.filter(|((at, _), _)| places.binary_search(at).is_ok()).map(|(_, block)| *block).collect()
}

/// What the entry block holds: the uniform registers that the body uses. The frame is made by
/// register allocation.
fn prologue(cx: &mut Cx<'_, '_>, entry: BlockId) {
    let loc = Loc::default();
    let mut list = Vec::new();
    if let Some(carry) = cx.carry {
        // A carry that no instruction before has made is zero.
        list.push(plop3(r(carry), [Operand::NOT_PT, Operand::PT, Operand::PT], 0x80));
    }
    if let Some(desc) = cx.desc {
        let descriptor = cx.module.options.target.const_descriptor as i32;
        list.push(Inst::new(
            Opcode::ULDC,
            &[Mod::_64],
            1,
            &[wide(desc, 2), Operand::constant(0, descriptor)],
        ));
    }
    if let Some(base) = cx.shared_base {
        // The shared window of a CTA starts at its number in the cluster << 24.
        let number = cx.e.body.new_vreg(RegFile::UR, 1, 1);
        let start = cx.e.body.new_vreg(RegFile::UR, 1, 1);
        if let Ok(source) = cx.special_operand("SR_CgaCtaId") {
            list.push(Inst::new(Opcode::S2UR, &[], 1, &[r(number), source]));
        }
        list.push(Inst::new(Opcode::UMOV, &[], 1, &[r(start), imm(SHARED_RESERVED as u32)]));
        list.push(Inst::new(
            Opcode::ULEA,
            &[],
            2,
            &[r(base), Operand::UPT, r(number), r(start), imm(0x18)],
        ));
    }
    for inst in list {
        cx.e.body.push(entry, inst, loc);
    }
}
