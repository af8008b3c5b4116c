//! What each instruction takes: types, modifiers, operands. One row a form; the first row of an
//! opcode that fits is used.
//!
//! Source: PTX ISA 9.0, "Instruction Set"; what a row accepts is what ptxas 13.0.88 accepts
//! (observed), or a little more. Opcodes without rows are in [`super::words`].

use crate::ptx::types::Type;
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
    pub opcode: &'static str,
    /// Modifiers that the row is for: all must be there.
    pub when: &'static [&'static str],
    /// The type words, each one of a set.
    pub types: &'static [Types],
    /// Modifiers that may be there besides; `None` checks none of them.
    pub modifiers: Option<&'static [&'static str]>,
    /// One of these modifiers must be there; empty asks for none.
    pub needs: &'static [&'static str],
    /// What ptxas says when it is not.
    pub missing: &'static str,
    pub slots: &'static [Slot],
    /// How many slots, from the last, may be left out.
    pub optional: u8,
}

const fn row(
    opcode: &'static str,
    when: &'static [&'static str],
    types: &'static [Types],
    modifiers: &'static [&'static str],
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
    const fn needs(mut self, needs: &'static [&'static str], missing: &'static str) -> Row {
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

const ROUND: &[&str] = &["rn", "rz", "rm", "rp"];
/// Rounding to an integral value of the same type.
const INTEGRAL: &[&str] = &["rni", "rzi", "rmi", "rpi", "ftz", "sat"];
const ARITH: &[&str] = &["rn", "rz", "rm", "rp", "ftz", "sat"];
const NO_ROUND: &str = "Rounding modifier required for instruction";
const NO_ROUND_OR_APPROX: &str = "Rounding modifier or '.approx' modifier required for instruction";
const NO_COMPARISON: &str = "Comparison modifier required for instruction";
const NO_BOOLEAN: &str = "Boolean operation is required for instruction";
const D2: &[Slot] = &[Dst(At(0)), Src(At(0))];
const D3: &[Slot] = &[Dst(At(0)), Src(At(0)), Src(At(0))];
const D4: &[Slot] = &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(At(0))];
/// The last operand is a cache policy.
const ATOM: &[Slot] = &[DstOrSink(At(0)), Address, Src(At(0)), Any];
const COMPARISON: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];
const COMPARISON_FTZ: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan", "ftz",
];
const BOOLEAN: &[&str] = &["and", "or", "xor", "popc"];
const B32_: Ty = Fix(B32);
const U32_: Ty = Fix(U32);

/// All rows, by opcode.
#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    // Integer arithmetic.
    row("add", &["cc"], &[I32_64], &[], D3),
    row("sub", &["cc"], &[I32_64], &[], D3),
    row("add", &[], &[I16_64.or(PAIRS)], &["sat"], D3),
    row("sub", &[], &[I16_64.or(PAIRS)], &["sat"], D3),
    row("addc", &[], &[I16_64], &["cc"], D3),
    row("subc", &[], &[I16_64], &["cc"], D3),
    row("mul", &["wide"], &[I16_32], &[], &[Dst(Wide), Src(At(0)), Src(At(0))]),
    row("mul", &[], &[I16_64], &["lo", "hi"], D3).needs(&["lo", "hi"], "Modifier '.lo', '.hi' or '.wide' required for instruction"),
    row("mad", &["wide"], &[I16_32], &[], &[Dst(Wide), Src(At(0)), Src(At(0)), Src(Wide)]),
    row("mad", &[], &[I16_64], &["lo", "hi", "cc", "sat"], D4).needs(&["lo", "hi"], "Modifier '.lo', '.hi' or '.wide' required for instruction"),
    row("madc", &[], &[I16_64], &["lo", "hi", "cc"], D4).needs(&["lo", "hi"], "Modifier '.lo' or '.hi' required for instruction"),
    row("mul24", &[], &[I32], &["lo", "hi"], D3).needs(&["lo", "hi"], "Modifier '.lo' or '.hi' required for instruction"),
    row("mad24", &[], &[I32], &["lo", "hi", "sat"], D4).needs(&["lo", "hi"], "Modifier '.lo' or '.hi' required for instruction"),
    row("sad", &[], &[I16_64], &[], D4),
    row("div", &[], &[I16_64], &[], D3),
    row("rem", &[], &[I16_64], &[], D3),
    row("abs", &[], &[SIGNED], &[], D2),
    row("neg", &[], &[SIGNED], &[], D2),
    row("min", &[], &[I16_64.or(PAIRS)], &["relu"], D3),
    row("max", &[], &[I16_64.or(PAIRS)], &["relu"], D3),
    row("dp4a", &[], &[I32, I32], &[], &[Dst(B32_), Src(B32_), Src(B32_), Src(B32_)]),
    row("dp2a", &[], &[I32, I32], &["lo", "hi"], &[Dst(B32_), Src(B32_), Src(B32_), Src(B32_)]),
    row("popc", &[], &[B32_64], &[], &[Dst(U32_), Src(At(0))]),
    row("clz", &[], &[B32_64], &[], &[Dst(U32_), Src(At(0))]),
    row("bfind", &[], &[I32_64], &["shiftamt"], &[Dst(U32_), Src(At(0))]),
    row("brev", &[], &[B32_64], &[], D2),
    row("bfe", &[], &[I32_64], &[], &[Dst(At(0)), Src(At(0)), Src(U32_), Src(U32_)]),
    row("bfi", &[], &[B32_64], &[], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(U32_), Src(U32_)]),
    // Floating point.
    row("add", &[], &[FLOAT], ARITH, D3),
    row("sub", &[], &[FLOAT], ARITH, D3),
    row("mul", &[], &[FLOAT], ARITH, D3),
    row("add", &[], &[ONLY_F32, HALF], ARITH, &[Dst(At(0)), Src(At(1)), Src(At(0))]),
    row("sub", &[], &[ONLY_F32, HALF], ARITH, &[Dst(At(0)), Src(At(1)), Src(At(0))]),
    row("fma", &[], &[FLOAT], &["rn", "rz", "rm", "rp", "ftz", "sat", "relu", "oob"], D4).needs(ROUND, NO_ROUND),
    row("fma", &[], &[ONLY_F32, HALF], ARITH, &[Dst(At(0)), Src(At(1)), Src(At(1)), Src(At(0))]).needs(ROUND, NO_ROUND),
    row("mad", &[], &[F32_64], ARITH, D4).needs(ROUND, NO_ROUND),
    row("div", &[], &[ONLY_F32], &["rn", "rz", "rm", "rp", "ftz", "approx", "full"], D3)
        .needs(&["rn", "rz", "rm", "rp", "approx", "full"], NO_ROUND_OR_APPROX),
    row("div", &[], &[ONLY_F64], ROUND, D3).needs(ROUND, NO_ROUND),
    row("abs", &[], &[HALF.or(F32_64)], &["ftz"], D2),
    row("neg", &[], &[HALF.or(F32_64)], &["ftz"], D2),
    row("min", &[], &[HALF.or(F32_64)], &["ftz", "NaN", "xorsign", "abs"], D3),
    row("max", &[], &[HALF.or(F32_64)], &["ftz", "NaN", "xorsign", "abs"], D3),
    row("min", &[], &[ONLY_F32], &["ftz", "NaN", "abs"], D4),
    row("max", &[], &[ONLY_F32], &["ftz", "NaN", "abs"], D4),
    row("rcp", &["approx"], &[ONLY_F64], &["ftz"], D2).needs(&["ftz"], "'.ftz' modifier required for instruction"),
    row("rcp", &["approx"], &[ONLY_F32], &["ftz"], D2),
    row("rcp", &[], &[F32_64], &["rn", "rz", "rm", "rp", "ftz"], D2).needs(ROUND, NO_ROUND_OR_APPROX),
    row("sqrt", &["approx"], &[ONLY_F32], &["ftz"], D2),
    row("sqrt", &[], &[F32_64], &["rn", "rz", "rm", "rp", "ftz"], D2).needs(ROUND, NO_ROUND_OR_APPROX),
    row("rsqrt", &[], &[F32_64], &["ftz", "approx"], D2).needs(&["approx"], ".approx modifier required for instruction"),
    row("sin", &[], &[ONLY_F32], &["ftz", "approx"], D2).needs(&["approx"], ".approx modifier required for instruction"),
    row("cos", &[], &[ONLY_F32], &["ftz", "approx"], D2).needs(&["approx"], ".approx modifier required for instruction"),
    row("lg2", &[], &[ONLY_F32], &["ftz", "approx"], D2).needs(&["approx"], ".approx modifier required for instruction"),
    row("ex2", &["approx"], &[Types::of(&[Bf16, Bf16x2])], &["ftz"], D2).needs(&["ftz"], "'.ftz' modifier required for instruction"),
    row("ex2", &["approx"], &[Types::of(&[F16, F16x2, F32])], &["ftz"], D2),
    row("ex2", &[], &[HALF.or(ONLY_F32)], &["ftz", "approx"], D2).needs(&["approx"], ".approx modifier required for instruction"),
    row("tanh", &[], &[HALF.or(ONLY_F32)], &["approx"], D2).needs(&["approx"], ".approx modifier required for instruction"),
    row("copysign", &[], &[F32_64], &[], D3),
    row("testp", &[], &[F32_64], &["finite", "infinite", "number", "notanumber", "normal", "subnormal"], &[Dst(Fix(PRED)), Src(At(0))]),
    // Comparison and selection.
    row("setp", &["and"], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row("setp", &["or"], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row("setp", &["xor"], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row("setp", &[], &[COMPARED], COMPARISON_FTZ, &[DstPreds, Src(At(0)), Src(At(0))]).needs(COMPARISON, NO_COMPARISON),
    row("set", &["and"], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row("set", &["or"], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row("set", &["xor"], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1)), Pred]).needs(COMPARISON, NO_COMPARISON),
    row("set", &[], &[COMPARED, COMPARED], COMPARISON_FTZ, &[Dst(At(0)), Src(At(1)), Src(At(1))]).needs(COMPARISON, NO_COMPARISON),
    row("selp", &[], &[I16_64.or(B16_64).or(F32_64)], &[], &[Dst(At(0)), Src(At(0)), Src(At(0)), Pred]),
    row("slct", &[], &[I16_64.or(B16_64).or(F32_64), Types::of(&[S32, F32])], &["ftz"], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(At(1))]),
    // Logic and shifts.
    row("and", &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred, Pred]),
    row("or", &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred, Pred]),
    row("xor", &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred, Pred]),
    row("not", &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred]),
    row("and", &[], &[B16_64], &[], D3),
    row("or", &[], &[B16_64], &[], D3),
    row("xor", &[], &[B16_64], &[], D3),
    row("not", &[], &[B16_64], &[], D2),
    row("cnot", &[], &[B16_64], &[], D2),
    row("lop3", &["and"], &[ONLY_B32], &[], &[DstPair(At(0)), Src(At(0)), Src(At(0)), Src(At(0)), Int, Pred]),
    row("lop3", &["or"], &[ONLY_B32], &[], &[DstPair(At(0)), Src(At(0)), Src(At(0)), Src(At(0)), Int, Pred]),
    row("lop3", &[], &[ONLY_B32], &[], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(At(0)), Int]),
    row("shl", &[], &[B16_64], &[], &[Dst(At(0)), Src(At(0)), Src(U32_)]),
    row("shr", &[], &[B16_64.or(I16_64)], &[], &[Dst(At(0)), Src(At(0)), Src(U32_)]),
    row("shf", &[], &[ONLY_B32], &["l", "r", "clamp", "wrap"], &[Dst(At(0)), Src(At(0)), Src(At(0)), Src(U32_)])
        .needs(&["clamp", "wrap"], "Clamp modifier required for instruction"),
    row("prmt", &[], &[ONLY_B32], &["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"], D4),
    // Data movement.
    row("mov", &[], &[ONLY_PRED], &[], &[Dst(At(0)), Pred]),
    row("mov", &[], &[I16_64.or(F32_64).or(Types::of(&[B16, B32, B64, B128]))], &["v2", "v4"], &[Mov, Mov]),
    row("ld", &["L2::cache_hint"], &[MOVED], &[], &[Load, Address, Src(Fix(B64))]).any_modifier(),
    row("ld", &["unified"], &[MOVED], &[], &[Load, Address, Any, Any]).any_modifier().optional(2),
    row("ld", &[], &[MOVED], &[], &[Load, Address]).any_modifier(),
    row("ldu", &[], &[MOVED], &[], &[Load, Address]).any_modifier(),
    row("st", &["bulk"], &[], &[], &[Any, Any, Any]).any_modifier().optional(1),
    row("st", &["async"], &[MOVED], &[], &[Address, Any, Any]).any_modifier().optional(1),
    row("st", &["L2::cache_hint"], &[MOVED], &[], &[Address, Store, Src(Fix(B64))]).any_modifier(),
    row("st", &[], &[MOVED], &[], &[Address, Store]).any_modifier(),
    row("cvta", &["to"], &[ONLY_U32_U64], &[], &[Dst(At(0)), Src(At(0))]).any_modifier(),
    row("cvta", &[], &[ONLY_U32_U64], &[], &[Dst(At(0)), Location]).any_modifier(),
    row("isspacep", &[], &[], &[], &[Dst(Fix(PRED)), Any]).any_modifier(),
    row("cvt", &["pack"], &[Types(!0), Types(!0), Types(!0)], &[], &[Any, Any, Any, Any]).any_modifier(),
    row("cvt", &["pack"], &[Types(!0), Types(!0)], &[], &[Any, Any, Any, Any]).any_modifier().optional(1),
    row("cvt", &[], &[I8_64, I8_64], &["sat"], &[WideDst(At(0)), WideSrc(At(1))]),
    row("cvt", &[], &[SCALAR_FLOAT, I8_64], &["rn", "rz", "rm", "rp", "ftz", "sat"], &[WideDst(At(0)), WideSrc(At(1))])
        .needs(ROUND, NO_ROUND),
    row("cvt", &[], &[I8_64, SCALAR_FLOAT], &["rni", "rzi", "rmi", "rpi", "ftz", "sat"], &[WideDst(At(0)), WideSrc(At(1))])
        .needs(&["rni", "rzi", "rmi", "rpi"], NO_ROUND),
    row("cvt", &[], &[ONLY_F64, Types::of(&[F16, Bf16, F32])], &["ftz", "sat"], &[WideDst(At(0)), WideSrc(At(1))]),
    row("cvt", &[], &[ONLY_F32, Types::of(&[F16])], &["ftz", "sat"], &[WideDst(At(0)), WideSrc(At(1))]),
    row("cvt", &[], &[ONLY_F32, Types::of(&[Bf16])], ARITH, &[WideDst(At(0)), WideSrc(At(1))]),
    row("cvt", &[], &[ONLY_F64, ONLY_F64], INTEGRAL, &[WideDst(At(0)), WideSrc(At(1))]),
    row("cvt", &[], &[ONLY_F32, ONLY_F32], INTEGRAL, &[WideDst(At(0)), WideSrc(At(1))]),
    row("cvt", &[], &[ONLY_F16, ONLY_F16], INTEGRAL, &[WideDst(At(0)), WideSrc(At(1))]),
    row("cvt", &[], &[ONLY_F32, ONLY_F64], &[], &[WideDst(At(0)), WideSrc(At(1))]).any_modifier().needs(ROUND, NO_ROUND),
    row("cvt", &[], &[Types::of(&[F16, Bf16]), F32_64], &[], &[WideDst(At(0)), WideSrc(At(1))]).any_modifier()
        .needs(&["rn", "rz", "rm", "rp", "rna", "rs"], NO_ROUND),
    row("cvt", &[], &[SCALAR_FLOAT, SCALAR_FLOAT], &[], &[WideDst(At(0)), WideSrc(At(1))]).any_modifier(),
    row("cvt", &[], &[PACKED, PACKED.or(F32_64)], &[], &[Any, Any, Any, Any, Any]).any_modifier().optional(3),
    // Atomics.
    row("atom", &["cas"], &[Types::of(&[B16, B32, B64, B128])], &[], &[DstOrSink(At(0)), Address, Src(At(0)), Src(At(0)), Any]).any_modifier().optional(1),
    row("atom", &["v2"], &[FLOAT], &[], &[Any, Address, Any, Any]).any_modifier().optional(1),
    row("atom", &["v4"], &[FLOAT], &[], &[Any, Address, Any, Any]).any_modifier().optional(1),
    row("atom", &["v8"], &[FLOAT], &[], &[Any, Address, Any, Any]).any_modifier().optional(1),
    row("atom", &["add"], &[Types::of(&[U32, S32, U64, F32, F64])], &[], ATOM).any_modifier().optional(1),
    row("atom", &["add"], &[HALF], &[], ATOM).any_modifier().optional(1).needs(&["noftz"], "'.noftz' modifier required for instruction"),
    row("atom", &["min"], &[I32_64.or(HALF)], &[], ATOM).any_modifier().optional(1),
    row("atom", &["max"], &[I32_64.or(HALF)], &[], ATOM).any_modifier().optional(1),
    row("atom", &["inc"], &[ONLY_U32], &[], ATOM).any_modifier().optional(1),
    row("atom", &["dec"], &[ONLY_U32], &[], ATOM).any_modifier().optional(1),
    row("atom", &["exch"], &[Types::of(&[B32, B64, B128])], &[], ATOM).any_modifier().optional(1),
    row("atom", &["and"], &[B32_64], &[], ATOM).any_modifier().optional(1),
    row("atom", &["or"], &[B32_64], &[], ATOM).any_modifier().optional(1),
    row("atom", &["xor"], &[B32_64], &[], ATOM).any_modifier().optional(1),
    row("atom", &[], &[Types(!0)], &[], ATOM).any_modifier().optional(1)
        .needs(&["add", "min", "max", "inc", "dec", "exch", "and", "or", "xor", "cas"], "Reduction operation is required for instruction"),
    // Warps.
    row("shfl", &["sync"], &[ONLY_B32], &["up", "down", "bfly", "idx"], &[DstPair(At(0)), Src(At(0)), Src(B32_), Src(B32_), Src(B32_)])
        .needs(&["up", "down", "bfly", "idx"], "Shuffle modifier required for instruction"),
    row("vote", &["sync", "ballot"], &[ONLY_B32], &[], &[Dst(At(0)), Pred, Src(B32_)]),
    row("vote", &["sync"], &[ONLY_PRED], &["all", "any", "uni"], &[Dst(At(0)), Pred, Src(B32_)]),
    row("activemask", &[], &[ONLY_B32], &[], &[Dst(At(0))]),
    row("nanosleep", &[], &[ONLY_U32], &[], &[Src(At(0))]),
    row("membar", &["proxy"], &[], &[], &[]).any_modifier(),
    row("membar", &[], &[], &["gl", "cta", "sys"], &[]).needs(&["gl", "cta", "sys"], "Membar level required for instruction").any_modifier(),
    // Barriers.
    row("bar", &["warp", "sync"], &[], &[], &[Src(B32_)]),
    row("bar", &["sync"], &[], &["cta"], &[Src(U32_), Src(U32_)]).optional(1),
    row("bar", &["arrive"], &[], &["cta"], &[Src(U32_), Src(U32_)]),
    row("bar", &["red", "popc"], &[ONLY_U32], &["cta"], &[Dst(At(0)), Src(U32_), Any, Any]).optional(1),
    row("bar", &["red"], &[ONLY_PRED], &["cta", "and", "or"], &[Dst(At(0)), Src(U32_), Any, Any]).optional(1),
    // Control flow.
    row("bra", &[], &[], &["uni"], &[Label]),
    row("brx", &["idx"], &[], &["uni"], &[Src(U32_), Targets]),
    row("ret", &[], &[], &["uni"], &[]),
    row("exit", &[], &[], &[], &[]),
    row("trap", &[], &[], &[], &[]),
];

/// The boolean operation that `set` and `setp` with a fourth operand need; their rows choose by it.
pub(super) fn boolean_missing(
    opcode: &str,
    modifiers: &[&str],
    operands: usize,
) -> Option<&'static str> {
    let bare = !modifiers.iter().any(|word| BOOLEAN.contains(word));
    (matches!(opcode, "set" | "setp") && operands == 4 && bare).then_some(NO_BOOLEAN)
}
