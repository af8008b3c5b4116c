//! Instruction selection: one row per PTX opcode, one file per family.

mod accesses;
mod atomic;
mod barrier;
mod bits;
mod bulk;
mod cache;
mod call;
mod cluster;
mod compare;
mod control;
mod convert;
mod cp_async;
mod fence;
mod float;
mod half;
mod integer;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod multimem;
mod nth;
mod space;
mod swap;
mod swap16;
mod tensor;
mod tensor_map;
mod turns;
mod video;
mod warp;
mod wide;

pub use call::pointer;
pub use float::fused;
pub use memory::widen;
pub use moves::extract;

use super::source::{Cx, Sel};
use crate::ptx::program::Instruction;
use crate::ptx::words::{Op, Word};

type Rule = fn(&mut Cx<'_, '_>, &Instruction) -> Sel;

/// Every PTX opcode that has a lowering.
const RULES: &[(Op, Rule)] = &[
    // Moves and addresses.
    (Op::Mov, moves::mov),
    (Op::Cvta, moves::cvta),
    (Op::Selp, moves::selp),
    (Op::Slct, moves::slct),
    // Integer and float arithmetic.
    (Op::Add, arithmetic::<{ ADD }>),
    (Op::Sub, arithmetic::<{ SUB }>),
    (Op::Mul, arithmetic::<{ MUL }>),
    (Op::Mad, arithmetic::<{ MAD }>),
    (Op::Fma, float::fma),
    (Op::Neg, arithmetic::<{ NEG }>),
    (Op::Abs, arithmetic::<{ ABS }>),
    (Op::Min, arithmetic::<{ MIN }>),
    (Op::Max, arithmetic::<{ MAX }>),
    (Op::Div, arithmetic::<{ DIV }>),
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
    (Op::Ex2, float::ex2),
    (Op::Lg2, float::lg2),
    (Op::Sin, float::sin_cos),
    (Op::Cos, float::sin_cos),
    (Op::Tanh, float::tanh),
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
    (Op::Fns, nth::fns),
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
    (Op::Ld, memory::ld),
    (Op::Ldu, memory::ld),
    (Op::St, memory::st),
    (Op::Atom, atomic::atom),
    (Op::Red, atomic::atom),
    (Op::Membar, fence::fence),
    (Op::Fence, fence::fence),
    (Op::Prefetch, cache::prefetch),
    (Op::Prefetchu, space::cache),
    (Op::Discard, space::cache),
    (Op::Applypriority, space::cache),
    (Op::Createpolicy, space::createpolicy),
    (Op::Isspacep, space::isspacep),
    (Op::Mapa, space::mapa),
    (Op::Getctarank, space::getctarank),
    // Copies that run by themselves, barriers in shared memory, clusters.
    (Op::Cp, cp_async::cp),
    (Op::Mbarrier, mbarrier::mbarrier),
    (Op::Tensormap, tensor_map::tensormap),
    (Op::Multimem, multimem::multimem),
    (Op::Griddepcontrol, cache::griddepcontrol),
    // Warp and CTA.
    (Op::Bar, barrier::bar),
    (Op::Barrier, barrier::bar),
    (Op::Shfl, warp::shfl),
    (Op::Vote, warp::vote),
    (Op::Match, warp::matching),
    (Op::Redux, warp::redux),
    (Op::Activemask, warp::activemask),
    (Op::Elect, warp::elect),
    (Op::Nanosleep, warp::nanosleep),
    // Matrices.
    (Op::Ldmatrix, matrix::ldmatrix),
    (Op::Stmatrix, matrix::stmatrix),
    (Op::Movmatrix, matrix::movmatrix),
    (Op::Mma, matrix::mma),
    (Op::Wmma, matrix::wmma),
    (Op::Wgmma, matrix::wgmma),
    (Op::Setmaxnreg, matrix::setmaxnreg),
    // Control.
    (Op::Bra, control::bra),
    (Op::Brx, control::brx),
    (Op::Ret, control::exit),
    (Op::Exit, control::exit),
    (Op::Call, call::call),
    (Op::Alloca, call::alloca),
    (Op::Stacksave, call::stacksave),
    (Op::Stackrestore, call::stackrestore),
    (Op::Trap, control::trap),
    (Op::Brkpt, control::trap),
    (Op::Pmevent, control::pmevent),
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
        Some(rule) if is_access(inst.opcode) => accesses::lower(cx, inst, rule),
        Some(rule) => rule(cx, inst),
        None => Err("no lowering for this instruction".into()),
    }
}

/// Whether the instruction is one access to memory, which may have a cache policy.
fn is_access(opcode: Op) -> bool {
    matches!(opcode, Op::Ld | Op::Ldu | Op::St | Op::Atom | Op::Red)
}

/// Opcodes that mean integer or float arithmetic by their type.
const ADD: u8 = 0;
const SUB: u8 = 1;
const MUL: u8 = 2;
const MAD: u8 = 3;
const NEG: u8 = 4;
const ABS: u8 = 5;
const MIN: u8 = 6;
const MAX: u8 = 7;
const DIV: u8 = 8;

fn arithmetic<const OP: u8>(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    use crate::ptx::types::Type;
    let ty = super::source::type_at(inst, 0)?;
    match ty {
        Type::F32 | Type::F64 => match OP {
            ADD => float::add(cx, inst, false),
            SUB => float::add(cx, inst, true),
            MUL => float::mul(cx, inst),
            MAD => float::fma(cx, inst),
            NEG => float::neg(cx, inst),
            ABS => float::abs(cx, inst),
            MIN => float::minmax(cx, inst, false),
            MAX => float::minmax(cx, inst, true),
            _ => float::div(cx, inst),
        },
        ty if half::is_half(ty) => match OP {
            ADD => half::add(cx, inst, false),
            SUB => half::add(cx, inst, true),
            MUL => half::mul(cx, inst),
            NEG => half::neg(cx, inst),
            ABS => half::abs(cx, inst),
            MIN => half::minmax(cx, inst, false),
            MAX => half::minmax(cx, inst, true),
            _ => Err("type of this instruction".into()),
        },
        // Two singles in a register: from sm_100 on.
        Type::F32x2 => Err("type of this instruction".into()),
        _ => match OP {
            ADD => integer::add(cx, inst),
            SUB => integer::sub(cx, inst),
            MUL => integer::mul(cx, inst),
            MAD => integer::mad(cx, inst),
            NEG => integer::neg(cx, inst),
            ABS => integer::abs(cx, inst),
            MIN => integer::minmax(cx, inst, false),
            MAX => integer::minmax(cx, inst, true),
            _ => integer::div(cx, inst),
        },
    }
}
