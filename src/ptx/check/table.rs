//! What each instruction takes: types, modifiers, operands. One row a form; the first row of an
//! opcode that fits is used.
//!
//! Source: PTX ISA 9.0, "Instruction Set"; what a row accepts is what ptxas 13.0.88 accepts
//! (observed), or a little more. What compiles an opcode without rows checks its operands.

use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use Slot::*;
use Ty::*;
use Type::{
    B8, B16, B32, B64, B128, Bf16, Bf16x2, E4m3, E4m3x2, E5m2, E5m2x2, F16, F16x2, F32, F32x2, F64,
    S8, S16, S16x2, S32, S64, Tf32, U8, U16, U16x2, U32, U64,
};

/// The type of an operand, in terms of the instruction's types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    /// The first, second … type word.
    At(u8),
    /// Twice as wide as the first.
    Wide,
    Fix(Type),
}

/// One operand's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A register that is written.
    Dst(Ty),
    /// The same, or `_`.
    DstOrSink(Ty),
    /// A register that is written and may be wider than the type (`ld`, `cvt`).
    WideDst(Ty),
    /// A register or a constant.
    Src(Ty),
    /// The same, and a register may be wider than the type.
    WideSrc(Ty),
    /// A register, or register and predicate: `d|p`.
    DstPair(Ty),
    /// A predicate that is written, or two: `p|q`.
    DstPreds,
    /// A predicate or a negated one.
    Pred,
    /// A register, or a variable whose address is meant.
    Location,
    /// `[…]`
    Address,
    /// Registers as the instruction's `.v2`, `.v4` or `.v8` says; wider ones are right.
    Load,
    Store,
    /// An integer constant.
    Int,
    Label,
    /// What `mov` takes besides registers: addresses, special registers, vectors.
    Mov,
    /// The name of `.branchtargets`.
    Targets,
    /// Whatever it is, someone else checks it.
    Any,
}

/// Types that a type word may be: one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Types(u64);

impl Types {
    const fn of(list: &[Type]) -> Types {
        let mut bits = 0;
        let mut i = 0;
        while i < list.len() {
            bits |= 1 << list[i] as u32;
            i += 1;
        }
        Types(bits)
    }

    const fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub fn has(self, ty: Type) -> bool {
        self.0 >> ty as u32 & 1 != 0
    }
}

pub(super) struct Row {
    pub opcode: Op,
    /// Modifiers that the row is for: all must be there.
    pub when: &'static [Word],
    /// The type words, each one of a set.
    pub types: &'static [Types],
    /// Modifiers that may be there besides; `None` checks none of them.
    pub modifiers: Option<&'static [Word]>,
    /// One of these modifiers must be there; empty asks for none.
    pub needs: &'static [Word],
    /// What ptxas says when it is not.
    pub missing: &'static str,
    pub slots: &'static [Slot],
    /// How many slots, from the last, may be left out.
    pub optional: u8,
}

const fn row(
    opcode: Op,
    when: &'static [Word],
    types: &'static [Types],
    modifiers: &'static [Word],
    slots: &'static [Slot],
) -> Row {
    Row {
        opcode,
        when,
        types,
        modifiers: Some(modifiers),
        needs: &[],
        missing: "",
        slots,
        optional: 0,
    }
}

impl Row {
    const fn needs(mut self, needs: &'static [Word], missing: &'static str) -> Row {
        self.needs = needs;
        self.missing = missing;
        self
    }

    const fn optional(mut self, count: u8) -> Row {
        self.optional = count;
        self
    }

    /// Leaves the modifiers to what compiles the instruction.
    const fn any_modifier(mut self) -> Row {
        self.modifiers = None;
        self
    }
}

const I16_64: Types = Types::of(&[U16, U32, U64, S16, S32, S64]);
const I32_64: Types = Types::of(&[U32, U64, S32, S64]);
const I32: Types = Types::of(&[U32, S32]);
const I16_32: Types = Types::of(&[U16, U32, S16, S32]);
const I8_64: Types = Types::of(&[U8, U16, U32, U64, S8, S16, S32, S64]);
const PAIRS: Types = Types::of(&[U16x2, S16x2]);
const SIGNED: Types = Types::of(&[S16, S32, S64]);
const B16_64: Types = Types::of(&[B16, B32, B64]);
const B32_64: Types = Types::of(&[B32, B64]);
const ONLY_B32: Types = Types::of(&[B32]);
const ONLY_U32: Types = Types::of(&[U32]);
const ONLY_U32_U64: Types = Types::of(&[U32, U64]);
const ONLY_PRED: Types = Types::of(&[PRED]);
const ONLY_F32: Types = Types::of(&[F32]);
const ONLY_F16: Types = Types::of(&[F16]);
const ONLY_F64: Types = Types::of(&[F64]);
const F32_64: Types = Types::of(&[F32, F64]);
const HALF: Types = Types::of(&[F16, F16x2, Bf16, Bf16x2]);
const FLOAT: Types = HALF.or(F32_64).or(Types::of(&[F32x2]));
const SCALAR_FLOAT: Types = Types::of(&[F16, Bf16, F32, F64]);
const COMPARED: Types = I16_64.or(B16_64).or(F32_64).or(HALF);
/// Formats that `cvt` packs, one or two to a register.
const PACKED: Types = Types::of(&[F16x2, Bf16x2, Tf32, E4m3, E5m2, E4m3x2, E5m2x2]);
/// What memory instructions move.
const MOVED: Types = I8_64.or(Types::of(&[B8, B16, B32, B64, B128])).or(F32_64);
const PRED: Type = Type::Pred;

const ROUND: &[Word] = &[Word::Rn, Word::Rz, Word::Rm, Word::Rp];
/// Rounding to an integral value of the same type.
const INTEGRAL: &[Word] = &[Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi, Word::Ftz, Word::Sat];
const ARITH: &[Word] = &[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Ftz, Word::Sat];
const NO_ROUND: &str = "Rounding modifier required for instruction";
const NO_ROUND_OR_APPROX: &str = "Rounding modifier or '.approx' modifier required for instruction";
const NO_COMPARISON: &str = "Comparison modifier required for instruction";
const NO_BOOLEAN: &str = "Boolean operation is required for instruction";
const D2: &[Slot] = &[Dst(At(0)), Src(At(0))];
const D3: &[Slot] = &[Dst(At(0)), Src(At(0)), Src(At(0))];
const D4: &[Slot] = &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(At(0))];
/// The last operand is a cache policy.
const ATOM: &[Slot] = &[DstOrSink(At(0)), Address, Src(At(0)), Any];
const COMPARISON: &[Word] = &[
    Word::Eq,
    Word::Ne,
    Word::Lt,
    Word::Le,
    Word::Gt,
    Word::Ge,
    Word::Lo,
    Word::Ls,
    Word::Hi,
    Word::Hs,
    Word::Equ,
    Word::Neu,
    Word::Ltu,
    Word::Leu,
    Word::Gtu,
    Word::Geu,
    Word::Num,
    Word::Nan,
];
const COMPARISON_FTZ: &[Word] = &{
    let (mut all, mut i) = ([Word::Ftz; COMPARISON.len() + 1], 0);
    while i < COMPARISON.len() {
        all[i] = COMPARISON[i];
        i += 1;
    }
    all
};
const BOOLEAN: &[Word] = &[Word::And, Word::Or, Word::Xor, Word::Popc];
const B32_: Ty = Fix(B32);
const U32_: Ty = Fix(U32);

/// All rows, by opcode.
#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    // Integer arithmetic.
    row(Op::Add, &[Word::Cc], &[I32_64], &[], D3),
    row(Op::Sub, &[Word::Cc], &[I32_64], &[], D3),
    row(Op::Add, &[], &[I16_64.or(PAIRS)], &[Word::Sat], D3),
    row(Op::Sub, &[], &[I16_64.or(PAIRS)], &[Word::Sat], D3),
    row(Op::Addc, &[], &[I16_64], &[Word::Cc], D3),
    row(Op::Subc, &[], &[I16_64], &[Word::Cc], D3),
    row(Op::Mul, &[Word::Wide], &[I16_32], &[], &[Dst(Wide), Src(At(0)), Src(At(0))]),
    row(Op::Mul, &[], &[I16_64], &[Word::Lo, Word::Hi], D3).needs(&[Word::Lo, Word::Hi], "Modifier '.lo', '.hi' or '.wide' required for instruction"),
    row(Op::Mad, &[Word::Wide], &[I16_32], &[], &[Dst(Wide), Src(At(0)), Src(At(0)), Src(Wide)]),
    row(Op::Mad, &[], &[I16_64], &[Word::Lo, Word::Hi, Word::Cc, Word::Sat], D4).needs(&[Word::Lo, Word::Hi], "Modifier '.lo', '.hi' or '.wide' required for instruction"),
    row(Op::Madc, &[], &[I16_64], &[Word::Lo, Word::Hi, Word::Cc], D4).needs(&[Word::Lo, Word::Hi], "Modifier '.lo' or '.hi' required for instruction"),
    row(Op::Mul24, &[], &[I32], &[Word::Lo, Word::Hi], D3).needs(&[Word::Lo, Word::Hi], "Modifier '.lo' or '.hi' required for instruction"),
    row(Op::Mad24, &[], &[I32], &[Word::Lo, Word::Hi, Word::Sat], D4).needs(&[Word::Lo, Word::Hi], "Modifier '.lo' or '.hi' required for instruction"),
    row(Op::Sad, &[], &[I16_64], &[], D4),
    row(Op::Div, &[], &[I16_64], &[], D3),
    row(Op::Rem, &[], &[I16_64], &[], D3),
    row(Op::Abs, &[], &[SIGNED], &[], D2),
    row(Op::Neg, &[], &[SIGNED], &[], D2),
    row(Op::Min, &[], &[I16_64.or(PAIRS)], &[Word::Relu], D3),
    row(Op::Max, &[], &[I16_64.or(PAIRS)], &[Word::Relu], D3),
    row(Op::Dp4a, &[], &[I32, I32], &[], &[Dst(B32_), Src(B32_), Src(B32_), Src(B32_)]),
    row(Op::Dp2a, &[], &[I32, I32], &[Word::Lo, Word::Hi], &[Dst(B32_), Src(B32_), Src(B32_), Src(B32_)]),
    row(Op::Popc, &[], &[B32_64], &[], &[Dst(U32_), Src(At(0))]),
    row(Op::Clz, &[], &[B32_64], &[], &[Dst(U32_), Src(At(0))]),
    row(Op::Bfind, &[], &[I32_64], &[Word::Shiftamt], &[Dst(U32_), Src(At(0))]),
    row(Op::Brev, &[], &[B32_64], &[], D2),
    row(Op::Bfe, &[], &[I32_64], &[], &[Dst(At(0)), Src(At(0)), Src(U32_), Src(U32_)]),
    row(Op::Bfi, &[], &[B32_64], &[], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(U32_), Src(U32_)]),
    // Floating point.
    row(Op::Add, &[], &[FLOAT], ARITH, D3),
    row(Op::Sub, &[], &[FLOAT], ARITH, D3),
    row(Op::Mul, &[], &[FLOAT], ARITH, D3),
    row(Op::Add, &[], &[ONLY_F32, HALF], ARITH, &[Dst(At(0)), Src(At(1)), Src(At(0))]),
    row(Op::Sub, &[], &[ONLY_F32, HALF], ARITH, &[Dst(At(0)), Src(At(1)), Src(At(0))]),
    row(Op::Fma, &[], &[FLOAT], &[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Ftz, Word::Sat, Word::Relu, Word::Oob], D4).needs(ROUND, NO_ROUND),
    row(Op::Fma, &[], &[ONLY_F32, HALF], ARITH, &[Dst(At(0)), Src(At(1)), Src(At(1)), Src(At(0))]).needs(ROUND, NO_ROUND),
    row(Op::Mad, &[], &[F32_64], ARITH, D4).needs(ROUND, NO_ROUND),
    row(Op::Div, &[], &[ONLY_F32], &[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Ftz, Word::Approx, Word::Full], D3)
        .needs(&[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Approx, Word::Full], NO_ROUND_OR_APPROX),
    row(Op::Div, &[], &[ONLY_F64], ROUND, D3).needs(ROUND, NO_ROUND),
    row(Op::Abs, &[], &[HALF.or(F32_64)], &[Word::Ftz], D2),
    row(Op::Neg, &[], &[HALF.or(F32_64)], &[Word::Ftz], D2),
    row(Op::Min, &[], &[HALF.or(F32_64)], &[Word::Ftz, Word::NaN, Word::Xorsign, Word::Abs], D3),
    row(Op::Max, &[], &[HALF.or(F32_64)], &[Word::Ftz, Word::NaN, Word::Xorsign, Word::Abs], D3),
    row(Op::Min, &[], &[ONLY_F32], &[Word::Ftz, Word::NaN, Word::Abs], D4),
    row(Op::Max, &[], &[ONLY_F32], &[Word::Ftz, Word::NaN, Word::Abs], D4),
    row(Op::Rcp, &[Word::Approx], &[ONLY_F64], &[Word::Ftz], D2).needs(&[Word::Ftz], "'.ftz' modifier required for instruction"),
    row(Op::Rcp, &[Word::Approx], &[ONLY_F32], &[Word::Ftz], D2),
    row(Op::Rcp, &[], &[F32_64], &[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Ftz], D2).needs(ROUND, NO_ROUND_OR_APPROX),
    row(Op::Sqrt, &[Word::Approx], &[ONLY_F32], &[Word::Ftz], D2),
    row(Op::Sqrt, &[], &[F32_64], &[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Ftz], D2).needs(ROUND, NO_ROUND_OR_APPROX),
    row(Op::Rsqrt, &[], &[F32_64], &[Word::Ftz, Word::Approx], D2).needs(&[Word::Approx], ".approx modifier required for instruction"),
    row(Op::Sin, &[], &[ONLY_F32], &[Word::Ftz, Word::Approx], D2).needs(&[Word::Approx], ".approx modifier required for instruction"),
    row(Op::Cos, &[], &[ONLY_F32], &[Word::Ftz, Word::Approx], D2).needs(&[Word::Approx], ".approx modifier required for instruction"),
    row(Op::Lg2, &[], &[ONLY_F32], &[Word::Ftz, Word::Approx], D2).needs(&[Word::Approx], ".approx modifier required for instruction"),
    row(Op::Ex2, &[Word::Approx], &[Types::of(&[Bf16, Bf16x2])], &[Word::Ftz], D2).needs(&[Word::Ftz], "'.ftz' modifier required for instruction"),
    row(Op::Ex2, &[Word::Approx], &[Types::of(&[F16, F16x2, F32])], &[Word::Ftz], D2),
    row(Op::Ex2, &[], &[HALF.or(ONLY_F32)], &[Word::Ftz, Word::Approx], D2).needs(&[Word::Approx], ".approx modifier required for instruction"),
    row(Op::Tanh, &[], &[HALF.or(ONLY_F32)], &[Word::Approx], D2).needs(&[Word::Approx], ".approx modifier required for instruction"),
    row(Op::Copysign, &[], &[F32_64], &[], D3),
    row(Op::Testp, &[], &[F32_64], &[Word::Finite, Word::Infinite, Word::Number, Word::Notanumber, Word::Normal, Word::Subnormal], &[Dst(Fix(PRED)), Src(At(0))]),
    // Comparison and selection.
    row(Op::Setp, &[Word::And], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Setp, &[Word::Or], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Setp, &[Word::Xor], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Setp, &[], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0))]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Set, &[Word::And], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Set, &[Word::Or], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Set, &[Word::Xor], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Set, &[], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1))]).needs(COMPARISON, NO_COMPARISON),
    row(Op::Selp, &[], &[I16_64.or(B16_64).or(F32_64)], &[], &[Dst(At(0)), Src(At(0)), Src(At(0)), Pred]),
    row(Op::Slct, &[], &[I16_64.or(B16_64).or(F32_64), Types::of(&[S32, F32])], &[Word::Ftz], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(At(1))]),
    // Logic and shifts.
    row(Op::And, &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred, Pred]),
    row(Op::Or, &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred, Pred]),
    row(Op::Xor, &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred, Pred]),
    row(Op::Not, &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred]),
    row(Op::And, &[], &[B16_64], &[], D3),
    row(Op::Or, &[], &[B16_64], &[], D3),
    row(Op::Xor, &[], &[B16_64], &[], D3),
    row(Op::Not, &[], &[B16_64], &[], D2),
    row(Op::Cnot, &[], &[B16_64], &[], D2),
    row(Op::Lop3, &[Word::And], &[ONLY_B32], &[], &[DstPair(At(0)), Src(At(0)), Src(At(0)), Src(At(0)), Int, Pred]),
    row(Op::Lop3, &[Word::Or], &[ONLY_B32], &[], &[DstPair(At(0)), Src(At(0)), Src(At(0)), Src(At(0)), Int, Pred]),
    row(Op::Lop3, &[], &[ONLY_B32], &[], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(At(0)), Int]),
    row(Op::Shl, &[], &[B16_64], &[], &[Dst(At(0)), Src(At(0)), Src(U32_)]),
    row(Op::Shr, &[], &[B16_64.or(I16_64)], &[], &[Dst(At(0)), Src(At(0)), Src(U32_)]),
    row(Op::Shf, &[], &[ONLY_B32], &[Word::L, Word::R, Word::Clamp, Word::Wrap], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(U32_)])
        .needs(&[Word::Clamp, Word::Wrap], "Clamp modifier required for instruction"),
    row(Op::Prmt, &[], &[ONLY_B32], &[Word::F4e, Word::B4e, Word::Rc8, Word::Ecl, Word::Ecr, Word::Rc16], D4),
    // Data movement.
    row(Op::Mov, &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred]),
    row(Op::Mov, &[], &[I16_64.or(F32_64).or(Types::of(&[B16, B32, B64, B128]))], &[Word::V2, Word::V4], &[Mov, Mov]),
    row(Op::Ld, &[Word::L2CacheHint], &[MOVED], &[], &[Load, Address, Src(Fix(B64))]).any_modifier(),
    row(Op::Ld, &[], &[MOVED], &[], &[Load, Address]).any_modifier(),
    row(Op::Ldu, &[], &[MOVED], &[], &[Load, Address]).any_modifier(),
    row(Op::St, &[Word::Bulk], &[], &[], &[Any, Any, Any]).any_modifier().optional(1),
    row(Op::St, &[Word::Async], &[MOVED], &[], &[Address, Any, Any]).any_modifier().optional(1),
    row(Op::St, &[Word::L2CacheHint], &[MOVED], &[], &[Address, Store, Src(Fix(B64))]).any_modifier(),
    row(Op::St, &[], &[MOVED], &[], &[Address, Store]).any_modifier(),
    row(Op::Cvta, &[Word::To], &[ONLY_U32_U64], &[], &[Dst(At(0)), Src(At(0))]).any_modifier(),
    row(Op::Cvta, &[], &[ONLY_U32_U64], &[], &[Dst(At(0)), Location]).any_modifier(),
    row(Op::Isspacep, &[], &[], &[], &[Dst(Fix(PRED)), Any]).any_modifier(),
    row(Op::Cvt, &[Word::Pack], &[Types(!0), Types(!0), Types(!0)], &[], &[Any, Any, Any, Any]).any_modifier(),
    row(Op::Cvt, &[Word::Pack], &[Types(!0), Types(!0)], &[], &[Any, Any, Any, Any]).any_modifier().optional(1),
    row(Op::Cvt, &[], &[I8_64, I8_64], &[Word::Sat], &[WideDst(At(0)), WideSrc(At(1))]),
    row(Op::Cvt, &[], &[SCALAR_FLOAT, I8_64], &[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Ftz, Word::Sat], &[WideDst(At(0)), WideSrc(At(1))])
        .needs(ROUND, NO_ROUND),
    row(Op::Cvt, &[], &[I8_64, SCALAR_FLOAT], &[Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi, Word::Ftz, Word::Sat], &[WideDst(At(0)), WideSrc(At(1))])
        .needs(&[Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi], NO_ROUND),
    row(Op::Cvt, &[], &[ONLY_F64, Types::of(&[F16, Bf16, F32])], &[Word::Ftz, Word::Sat], &[WideDst(At(0)), WideSrc(At(1))]),
    row(Op::Cvt, &[], &[ONLY_F32, Types::of(&[F16])], &[Word::Ftz, Word::Sat], &[WideDst(At(0)), WideSrc(At(1))]),
    row(Op::Cvt, &[], &[ONLY_F32, Types::of(&[Bf16])], ARITH, &[WideDst(At(0)), WideSrc(At(1))]),
    row(Op::Cvt, &[], &[ONLY_F64, ONLY_F64], INTEGRAL, &[WideDst(At(0)), WideSrc(At(1))]),
    row(Op::Cvt, &[], &[ONLY_F32, ONLY_F32], INTEGRAL, &[WideDst(At(0)), WideSrc(At(1))]),
    row(Op::Cvt, &[], &[ONLY_F16, ONLY_F16], INTEGRAL, &[WideDst(At(0)), WideSrc(At(1))]),
    row(Op::Cvt, &[], &[ONLY_F32, ONLY_F64], &[], &[WideDst(At(0)), WideSrc(At(1))]).any_modifier().needs(ROUND, NO_ROUND),
    row(Op::Cvt, &[], &[Types::of(&[F16, Bf16]), F32_64], &[], &[WideDst(At(0)), WideSrc(At(1))]).any_modifier()
        .needs(&[Word::Rn, Word::Rz, Word::Rm, Word::Rp, Word::Rna, Word::Rs], NO_ROUND),
    row(Op::Cvt, &[], &[SCALAR_FLOAT, SCALAR_FLOAT], &[], &[WideDst(At(0)), WideSrc(At(1))]).any_modifier(),
    row(Op::Cvt, &[], &[PACKED, PACKED.or(F32_64)], &[], &[Any, Any, Any, Any, Any]).any_modifier().optional(3),
    // Atomics.
    row(Op::Atom, &[Word::Cas], &[Types::of(&[B16, B32, B64, B128])], &[], &[DstOrSink(At(0)), Address, Src(At(0)), Src(At(0)), Any]).any_modifier().optional(1),
    row(Op::Atom, &[Word::V2], &[FLOAT], &[], &[Any, Address, Any, Any]).any_modifier().optional(1),
    row(Op::Atom, &[Word::V4], &[FLOAT], &[], &[Any, Address, Any, Any]).any_modifier().optional(1),
    row(Op::Atom, &[Word::V8], &[FLOAT], &[], &[Any, Address, Any, Any]).any_modifier().optional(1),
    row(Op::Atom, &[Word::Add], &[Types::of(&[U32, S32, U64, F32, F64])], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::Add], &[HALF], &[], ATOM).any_modifier().optional(1).needs(&[Word::Noftz], "'.noftz' modifier required for instruction"),
    row(Op::Atom, &[Word::Min], &[I32_64.or(HALF)], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::Max], &[I32_64.or(HALF)], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::Inc], &[ONLY_U32], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::Dec], &[ONLY_U32], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::Exch], &[Types::of(&[B32, B64, B128])], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::And], &[B32_64], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::Or], &[B32_64], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[Word::Xor], &[B32_64], &[], ATOM).any_modifier().optional(1),
    row(Op::Atom, &[], &[Types(!0)], &[], ATOM).any_modifier().optional(1)
        .needs(&[Word::Add, Word::Min, Word::Max, Word::Inc, Word::Dec, Word::Exch, Word::And, Word::Or, Word::Xor, Word::Cas], "Reduction operation is required for instruction"),
    // Warps.
    row(Op::Shfl, &[Word::Sync], &[ONLY_B32], &[Word::Up, Word::Down, Word::Bfly, Word::Idx], &[DstPair(At(0)), Src(At(0)), Src(B32_), Src(B32_), Src(B32_)])
        .needs(&[Word::Up, Word::Down, Word::Bfly, Word::Idx], "Shuffle modifier required for instruction"),
    row(Op::Vote, &[Word::Sync, Word::Ballot], &[ONLY_B32], &[], &[Dst(At(0)), Pred, Src(B32_)]),
    row(Op::Vote, &[Word::Sync], &[ONLY_PRED], &[Word::All, Word::Any, Word::Uni], &[Dst(At(0)), Pred, Src(B32_)]),
    row(Op::Activemask, &[], &[ONLY_B32], &[], &[Dst(At(0))]),
    row(Op::Nanosleep, &[], &[ONLY_U32], &[], &[Src(At(0))]),
    row(Op::Membar, &[Word::Proxy], &[], &[], &[]).any_modifier(),
    row(Op::Membar, &[], &[], &[Word::Gl, Word::Cta, Word::Sys], &[]).needs(&[Word::Gl, Word::Cta, Word::Sys], "Membar level required for instruction").any_modifier(),
    // Barriers.
    row(Op::Bar, &[Word::Warp, Word::Sync], &[], &[], &[Src(B32_)]),
    row(Op::Bar, &[Word::Sync], &[], &[Word::Cta], &[Src(U32_), Src(U32_)]).optional(1),
    row(Op::Bar, &[Word::Arrive], &[], &[Word::Cta], &[Src(U32_), Src(U32_)]),
    row(Op::Bar, &[Word::Red, Word::Popc], &[ONLY_U32], &[Word::Cta], &[Dst(At(0)), Src(U32_), Any, Any]).optional(1),
    row(Op::Bar, &[Word::Red], &[ONLY_PRED], &[Word::Cta, Word::And, Word::Or], &[Dst(At(0)), Src(U32_), Any, Any]).optional(1),
    // Control flow.
    row(Op::Bra, &[], &[], &[Word::Uni], &[Label]),
    row(Op::Brx, &[Word::Idx], &[], &[Word::Uni], &[Src(U32_), Targets]),
    row(Op::Ret, &[], &[], &[Word::Uni], &[]),
    row(Op::Exit, &[], &[], &[], &[]),
    row(Op::Trap, &[], &[], &[], &[]),
];

/// The boolean operation that `set` and `setp` with a fourth operand need; their rows choose by it.
pub(super) fn boolean_missing(
    opcode: Op,
    modifiers: &[Word],
    operands: usize,
) -> Option<&'static str> {
    let bare = !modifiers.iter().any(|word| BOOLEAN.contains(word));
    (matches!(opcode, Op::Set | Op::Setp) && operands == 4 && bare).then_some(NO_BOOLEAN)
}
