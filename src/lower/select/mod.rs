//! Instruction selection: one row per PTX opcode, a room for each kind of them.
//!
//! This file alone knows the selectors: none of them names one of another family. What several need
//! is in [`super::common`], and what they work on in [`super::context`].

mod arithmetic;
mod asynchronous;
mod control;
mod matrix;
mod memory;
mod moves;
mod warp;

use super::common::half_operands::is_half;
use super::common::policy::with_policy;
use super::context::cx::{Cx, Rule, Sel, operand, type_at};
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use arithmetic::{bits, compare, convert, find_nth_set, float, half, integer, video};
use asynchronous::{bulk, cluster, cp_async, mbarrier, tensor, tensor_map};
use control::{branches, call, grid};
use memory::{atomic, cache, create_policy, fence, load_store, multimem, space};
use orias_components::Mod;
use warp::{barrier, cluster_barrier, exchange};

/// Every PTX opcode that has a lowering.
const RULES: &[(Op, Rule)] = &[
    // Moves and addresses.
    (Op::Mov, moves::mov),
    (Op::Cvta, moves::cvta),
    (Op::Selp, moves::selp),
    (Op::Slct, moves::slct),
    // Integer and float arithmetic.
    (Op::Add, |cx, inst| arithmetic(cx, inst, Arithmetic::Add)),
    (Op::Sub, |cx, inst| arithmetic(cx, inst, Arithmetic::Sub)),
    (Op::Mul, |cx, inst| arithmetic(cx, inst, Arithmetic::Mul)),
    (Op::Mad, |cx, inst| arithmetic(cx, inst, Arithmetic::Mad)),
    (Op::Fma, fma),
    (Op::Neg, |cx, inst| arithmetic(cx, inst, Arithmetic::Neg)),
    (Op::Abs, |cx, inst| arithmetic(cx, inst, Arithmetic::Abs)),
    (Op::Min, |cx, inst| arithmetic(cx, inst, Arithmetic::Min)),
    (Op::Max, |cx, inst| arithmetic(cx, inst, Arithmetic::Max)),
    (Op::Div, |cx, inst| arithmetic(cx, inst, Arithmetic::Div)),
    (Op::Rem, integer::rem),
    (Op::Addc, integer::addc),
    (Op::Subc, integer::subc),
    (Op::Madc, integer::madc),
    (Op::Mul24, integer::mul24),
    (Op::Mad24, integer::mad24),
    (Op::Sad, integer::sad),
    (Op::Dp4a, integer::dp4a),
    (Op::Dp2a, integer::dp2a),
    (Op::Rcp, float::rcp),
    (Op::Sqrt, float::sqrt),
    (Op::Rsqrt, float::rsqrt),
    (Op::Ex2, ex2),
    (Op::Lg2, float::lg2),
    (Op::Sin, float::sin_cos),
    (Op::Cos, float::sin_cos),
    (Op::Tanh, tanh),
    (Op::Copysign, float::copysign),
    (Op::Testp, compare::testp),
    // Bits.
    (Op::And, bits::logic),
    (Op::Or, bits::logic),
    (Op::Xor, bits::logic),
    (Op::Not, bits::not),
    (Op::Cnot, bits::cnot),
    (Op::Lop3, bits::lop3),
    (Op::Shl, bits::shl),
    (Op::Shr, bits::shr),
    (Op::Shf, bits::shf),
    (Op::Popc, bits::popc),
    (Op::Clz, bits::clz),
    (Op::Bfind, bits::bfind),
    (Op::Brev, bits::brev),
    (Op::Bfe, bits::bfe),
    (Op::Bfi, bits::bfi),
    (Op::Bmsk, bits::bmsk),
    (Op::Szext, bits::szext),
    (Op::Prmt, bits::prmt),
    (Op::Fns, find_nth_set::fns),
    // Video.
    (Op::Vadd, video::video),
    (Op::Vsub, video::video),
    (Op::Vabsdiff, video::video),
    (Op::Vmin, video::video),
    (Op::Vmax, video::video),
    (Op::Vshl, video::video),
    (Op::Vshr, video::video),
    (Op::Vmad, video::video),
    (Op::Vset, video::video),
    (Op::Vadd2, video::video),
    (Op::Vsub2, video::video),
    (Op::Vavrg2, video::video),
    (Op::Vabsdiff2, video::video),
    (Op::Vmin2, video::video),
    (Op::Vmax2, video::video),
    (Op::Vset2, video::video),
    (Op::Vadd4, video::video),
    (Op::Vsub4, video::video),
    (Op::Vavrg4, video::video),
    (Op::Vabsdiff4, video::video),
    (Op::Vmin4, video::video),
    (Op::Vmax4, video::video),
    (Op::Vset4, video::video),
    // Comparisons and conversions.
    (Op::Setp, compare::setp),
    (Op::Set, compare::set),
    (Op::Cvt, convert::cvt),
    // Memory.
    (Op::Ld, load_store::ld),
    (Op::Ldu, load_store::ld),
    (Op::St, load_store::st),
    (Op::Atom, atomic::atom),
    (Op::Red, atomic::atom),
    (Op::Membar, fence::fence),
    (Op::Fence, fence::fence),
    (Op::Prefetch, prefetch),
    (Op::Prefetchu, cache::cache),
    (Op::Discard, cache::cache),
    (Op::Applypriority, cache::cache),
    (Op::Createpolicy, create_policy::createpolicy),
    (Op::Isspacep, space::isspacep),
    (Op::Mapa, space::mapa),
    (Op::Getctarank, space::getctarank),
    // Copies that run by themselves, barriers in shared memory, clusters.
    (Op::Cp, cp),
    (Op::Mbarrier, mbarrier::mbarrier),
    (Op::Tensormap, tensor_map::tensormap),
    (Op::Multimem, multimem::multimem),
    (Op::Griddepcontrol, grid::griddepcontrol),
    // Warp and CTA.
    (Op::Bar, bar),
    (Op::Barrier, bar),
    (Op::Shfl, exchange::shfl),
    (Op::Vote, exchange::vote),
    (Op::Match, exchange::matching),
    (Op::Redux, exchange::redux),
    (Op::Activemask, exchange::activemask),
    (Op::Elect, exchange::elect),
    (Op::Nanosleep, exchange::nanosleep),
    // Matrices.
    (Op::Ldmatrix, matrix::ldmatrix),
    (Op::Stmatrix, matrix::stmatrix),
    (Op::Movmatrix, matrix::movmatrix),
    (Op::Mma, matrix::mma),
    (Op::Wmma, matrix::wmma),
    (Op::Wgmma, matrix::wgmma),
    (Op::Setmaxnreg, matrix::setmaxnreg),
    // Control.
    (Op::Bra, branches::bra),
    (Op::Brx, branches::brx),
    (Op::Ret, branches::exit),
    (Op::Exit, branches::exit),
    (Op::Call, call::call),
    (Op::Alloca, call::alloca),
    (Op::Stacksave, call::stacksave),
    (Op::Stackrestore, call::stackrestore),
    (Op::Trap, branches::trap),
    (Op::Brkpt, branches::trap),
    (Op::Pmevent, branches::pmevent),
];

/// By opcode.
static RULE_OF: [Option<Rule>; Op::ALL.len()] = {
    let (mut rules, mut i) = ([None; Op::ALL.len()], 0);
    while i < RULES.len() {
        let rule = &mut rules[RULES[i].0 as usize];
        assert!(rule.is_none(), "one rule an opcode");
        *rule = Some(RULES[i].1);
        i += 1;
    }
    rules
};

/// Lowers one instruction.
pub fn lower(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    match RULE_OF[inst.opcode as usize] {
        Some(_) if inst.has(Word::Async) && matches!(inst.opcode, Op::St | Op::Red) => {
            cluster::asynchronous(cx, inst)
        }
        Some(rule) if is_access(inst.opcode) => with_policy(cx, inst, rule),
        Some(rule) => rule(cx, inst),
        None => Err("no lowering for this instruction".into()),
    }
}

/// Whether the instruction is one access to memory, which may have a cache policy.
fn is_access(opcode: Op) -> bool {
    matches!(opcode, Op::Ld | Op::Ldu | Op::St | Op::Atom | Op::Red)
}

/// Arithmetic whose meaning depends on its type: integers, floats or halves.
#[derive(Clone, Copy)]
enum Arithmetic {
    Add,
    Sub,
    Mul,
    Mad,
    Neg,
    Abs,
    Min,
    Max,
    Div,
}

fn arithmetic(cx: &mut Cx<'_, '_>, inst: &Instruction, op: Arithmetic) -> Sel {
    use Arithmetic::*;
    let ty = type_at(inst, 0)?;
    match ty {
        Type::F32 | Type::F64 => match op {
            Add => float::add(cx, inst, false),
            Sub => float::add(cx, inst, true),
            Mul => float::mul(cx, inst),
            Mad => float::fma(cx, inst),
            Neg => float::neg(cx, inst),
            Abs => float::abs(cx, inst),
            Min => float::minmax(cx, inst, false),
            Max => float::minmax(cx, inst, true),
            Div => float::div(cx, inst),
        },
        ty if is_half(ty) => match op {
            Add => half::add(cx, inst, false),
            Sub => half::add(cx, inst, true),
            Mul => half::mul(cx, inst),
            Neg => half::neg(cx, inst),
            Abs => half::abs(cx, inst),
            Min => half::minmax(cx, inst, false),
            Max => half::minmax(cx, inst, true),
            Mad | Div => Err("type of this instruction".into()),
        },
        // Two singles in a register: from sm_100 on.
        Type::F32x2 => Err("type of this instruction".into()),
        _ => match op {
            Add => integer::add(cx, inst),
            Sub => integer::sub(cx, inst),
            Mul => integer::mul(cx, inst),
            Mad => integer::mad(cx, inst),
            Neg => integer::neg(cx, inst),
            Abs => integer::abs(cx, inst),
            Min => integer::minmax(cx, inst, false),
            Max => integer::minmax(cx, inst, true),
            Div => integer::div(cx, inst),
        },
    }
}

/// `fma`, of floats or of halves.
fn fma(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if is_half(type_at(inst, 0)?) { half::fma(cx, inst) } else { float::fma(cx, inst) }
}

fn ex2(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if is_half(type_at(inst, 0)?) {
        return half::function(cx, inst, Mod::EX2);
    }
    float::ex2(cx, inst)
}

fn tanh(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if is_half(type_at(inst, 0)?) {
        return half::function(cx, inst, Mod::TANH);
    }
    float::tanh(cx, inst)
}

/// An addition or subtraction whose operand at index `product` is what `mul` computes, a product or
/// an approximate quotient, as one fused multiply-add.
///
/// # Errors
/// When an operand is of a kind that has no lowering.
pub fn fused(cx: &mut Cx<'_, '_>, mul: &Instruction, add: &Instruction, product: usize) -> Sel {
    let factors = [operand(mul, 1)?, operand(mul, 2)?, operand(add, 3 - product)?];
    // `c - a·b` takes the product's sign, `a·b - c` that of `c`.
    let subtract = add.opcode == Op::Sub;
    let minus = (subtract && product == 2, subtract && product == 1);
    if mul.opcode == Op::Div {
        return float::fused_quotient(cx, (mul, add), factors[2], minus);
    }
    if is_half(type_at(add, 0)?) {
        return half::fused(cx, factors, add, minus);
    }
    float::fused(cx, factors, add, minus)
}

/// `prefetch`: of a tensor map, or of a line.
fn prefetch(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Tensormap) {
        return tensor_map::prefetch(cx, inst);
    }
    cache::cache(cx, inst)
}

/// `cp`: a copy by the tensor unit, one in bulk, or one of a few bytes by each thread.
fn cp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Tensor) {
        return tensor::copy(cx, inst);
    }
    if inst.has(Word::Bulk) {
        return bulk::cp(cx, inst);
    }
    cp_async::cp(cx, inst)
}

/// `bar` and `barrier`: of threads of a warp, of a cluster, or of the CTA.
fn bar(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Warp) {
        return exchange::bar_warp(cx, inst);
    }
    if inst.has(Word::Cluster) {
        return cluster_barrier::barrier(cx, inst);
    }
    barrier::bar(cx, inst)
}
