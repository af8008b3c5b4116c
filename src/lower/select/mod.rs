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
use orias_components::names::Names;

type Rule = for<'a, 'w, 'i> fn(&mut Cx<'a, 'w>, &'i Instruction<'a>) -> Sel;

/// Every PTX opcode that has a lowering.
const RULES: &[(&str, Rule)] = &[
    // Moves and addresses.
    ("mov", moves::mov),
    ("cvta", moves::cvta),
    ("selp", moves::selp),
    ("slct", moves::slct),
    // Integer and float arithmetic.
    ("add", arithmetic::<{ ADD }>),
    ("sub", arithmetic::<{ SUB }>),
    ("mul", arithmetic::<{ MUL }>),
    ("mad", arithmetic::<{ MAD }>),
    ("fma", float::fma),
    ("neg", arithmetic::<{ NEG }>),
    ("abs", arithmetic::<{ ABS }>),
    ("min", arithmetic::<{ MIN }>),
    ("max", arithmetic::<{ MAX }>),
    ("div", arithmetic::<{ DIV }>),
    ("rem", integer::rem),
    ("addc", integer::addc),
    ("subc", integer::subc),
    ("madc", integer::madc),
    ("mul24", integer::mul24),
    ("mad24", integer::mad24),
    ("sad", integer::sad),
    ("dp4a", integer::dp4a),
    ("dp2a", integer::dp2a),
    ("rcp", float::rcp),
    ("sqrt", float::sqrt),
    ("rsqrt", float::rsqrt),
    ("ex2", float::ex2),
    ("lg2", float::lg2),
    ("sin", float::sin_cos),
    ("cos", float::sin_cos),
    ("tanh", float::tanh),
    ("copysign", float::copysign),
    ("testp", compare::testp),
    // Bits.
    ("and", bits::logic),
    ("or", bits::logic),
    ("xor", bits::logic),
    ("not", bits::not),
    ("cnot", bits::cnot),
    ("lop3", bits::lop3),
    ("shl", bits::shl),
    ("shr", bits::shr),
    ("shf", bits::shf),
    ("popc", bits::popc),
    ("clz", bits::clz),
    ("bfind", bits::bfind),
    ("brev", bits::brev),
    ("bfe", bits::bfe),
    ("bfi", bits::bfi),
    ("bmsk", bits::bmsk),
    ("szext", bits::szext),
    ("prmt", bits::prmt),
    ("fns", nth::fns),
    // Video.
    ("vadd", video::video),
    ("vsub", video::video),
    ("vabsdiff", video::video),
    ("vmin", video::video),
    ("vmax", video::video),
    ("vshl", video::video),
    ("vshr", video::video),
    ("vmad", video::video),
    ("vset", video::video),
    ("vadd2", video::video),
    ("vsub2", video::video),
    ("vavrg2", video::video),
    ("vabsdiff2", video::video),
    ("vmin2", video::video),
    ("vmax2", video::video),
    ("vset2", video::video),
    ("vadd4", video::video),
    ("vsub4", video::video),
    ("vavrg4", video::video),
    ("vabsdiff4", video::video),
    ("vmin4", video::video),
    ("vmax4", video::video),
    ("vset4", video::video),
    // Comparisons and conversions.
    ("setp", compare::setp),
    ("set", compare::set),
    ("cvt", convert::cvt),
    // Memory.
    ("ld", memory::ld),
    ("ldu", memory::ld),
    ("st", memory::st),
    ("atom", atomic::atom),
    ("red", atomic::atom),
    ("membar", fence::fence),
    ("fence", fence::fence),
    ("prefetch", cache::prefetch),
    ("prefetchu", space::cache),
    ("discard", space::cache),
    ("applypriority", space::cache),
    ("createpolicy", space::createpolicy),
    ("isspacep", space::isspacep),
    ("mapa", space::mapa),
    ("getctarank", space::getctarank),
    // Copies that run by themselves, barriers in shared memory, clusters.
    ("cp", cp_async::cp),
    ("mbarrier", mbarrier::mbarrier),
    ("tensormap", tensor_map::tensormap),
    ("multimem", multimem::multimem),
    ("griddepcontrol", cache::griddepcontrol),
    // Warp and CTA.
    ("bar", barrier::bar),
    ("barrier", barrier::bar),
    ("shfl", warp::shfl),
    ("vote", warp::vote),
    ("match", warp::matching),
    ("redux", warp::redux),
    ("activemask", warp::activemask),
    ("elect", warp::elect),
    ("nanosleep", warp::nanosleep),
    // Matrices.
    ("ldmatrix", matrix::ldmatrix),
    ("stmatrix", matrix::stmatrix),
    ("movmatrix", matrix::movmatrix),
    ("mma", matrix::mma),
    ("wmma", matrix::wmma),
    ("wgmma", matrix::wgmma),
    ("setmaxnreg", matrix::setmaxnreg),
    // Control.
    ("bra", control::bra),
    ("brx", control::brx),
    ("ret", control::exit),
    ("exit", control::exit),
    ("call", call::call),
    ("alloca", call::alloca),
    ("stacksave", call::stacksave),
    ("stackrestore", call::stackrestore),
    ("trap", control::trap),
    ("brkpt", control::trap),
    ("pmevent", control::pmevent),
];

static BY_NAME: Names<512> = {
    let (mut names, mut i) = ([""; RULES.len()], 0);
    while i < RULES.len() {
        names[i] = RULES[i].0;
        i += 1;
    }
    Names::new(&names)
};

/// Lowers one instruction.
pub fn lower<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
    match BY_NAME.find(inst.opcode, |i| RULES[i].0).map(|i| RULES[i].1) {
        Some(_) if inst.has("async") && matches!(inst.opcode, "st" | "red") => {
            cluster::asynchronous(cx, inst)
        }
        Some(rule) if is_access(inst.opcode) => accesses::lower(cx, inst, rule),
        Some(rule) => rule(cx, inst),
        None => Err("no lowering for this instruction".into()),
    }
}

/// Whether the instruction is one access to memory, which may have a cache policy.
fn is_access(opcode: &str) -> bool {
    matches!(opcode, "ld" | "ldu" | "st" | "atom" | "red")
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

fn arithmetic<'a, const OP: u8>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
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
