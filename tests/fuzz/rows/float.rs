//! Floating point. Every rounding is written out, so that nothing may be contracted.

use super::{Family, rare, row};

pub const SINGLE: Family = Family {
    name: "single",
    weight: 4,
    rows: &[
        row("<add/sub/mul>.<rn/rz/rm/rp></.ftz></.sat>.f32 =f32, %f32, %f32"),
        row("<add/sub/mul>.rn</.ftz>.f32 =f32, %f32, %f32"),
        row("<fma/mad>.<rn/rz/rm/rp></.ftz></.sat>.f32 =f32, %f32, %f32, %f32"),
        row("fma.rn</.ftz>.f32 =f32, %f32, %f32, %f32"),
        // Not of constants: ptxas 13.0.88 takes -0 for a number that needs no `abs`.
        row("<abs/neg></.ftz>.f32 =f32, !f32"),
        row("<min/max></.ftz></.NaN>.f32 =f32, %f32, %f32"),
        // Signs are taken of integers: that of a NaN is open.
        rare("<min/max></.ftz></.NaN>.xorsign.abs.f32 =f32, !b32, !b32"),
        rare("copysign.f32 =f32, !b32, %f32"),
        row("neg.f32 =f32, !f32; <add/mul>.rn.f32 =f32, ^0, %f32"),
        row("abs.f32 =f32, !f32; <add/mul>.rn.f32 =f32, ^0, %f32"),
    ],
};

pub const SINGLE_DIVISION: Family = Family {
    name: "single division",
    weight: 1,
    rows: &[
        row("div.<rn/rz/rm/rp></.ftz>.f32 =f32, %f32, %f32"),
        row("<rcp/sqrt>.<rn/rz/rm/rp></.ftz>.f32 =f32, %f32"),
    ],
};

pub const DOUBLE: Family = Family {
    name: "double",
    weight: 2,
    rows: &[
        row("<add/sub/mul>.<rn/rz/rm/rp>.f64 =f64, %f64, %f64"),
        row("<fma/mad>.<rn/rz/rm/rp>.f64 =f64, %f64, %f64, %f64"),
        row("<abs/neg>.f64 =f64, %f64"),
        row("<min/max>.f64 =f64, %f64, %f64"),
        rare("copysign.f64 =f64, !b64, %f64"),
    ],
};

pub const DOUBLE_DIVISION: Family = Family {
    name: "double division",
    weight: 1,
    rows: &[
        row("div.<rn/rz/rm/rp>.f64 =f64, %f64, %f64"),
        row("<rcp/sqrt>.<rn/rz/rm/rp>.f64 =f64, %f64"),
    ],
};

pub const HALF: Family = Family {
    name: "half",
    weight: 3,
    rows: &[
        row("<add/sub/mul>.rn</.ftz></.sat>.<f16/f16x2> =$4, !$4, !$4"),
        row("<add/sub/mul>.rn.<bf16/bf16x2> =$2, !$2, !$2"),
        row("fma.rn</.ftz></.sat>.<f16/f16x2> =$3, !$3, !$3, !$3"),
        row("fma.rn</.ftz>.relu.<f16/f16x2> =$2, !$2, !$2, !$2"),
        row("fma.rn</.relu>.<bf16/bf16x2> =$2, !$2, !$2, !$2"),
        // Not flushed: ptxas 13.0.88 drops the rounding of a conversion to an integer behind it.
        row("<abs/neg>.<f16/f16x2> =$2, !$2"),
        row("<abs/neg>.<bf16/bf16x2> =$2, !$2"),
        row("<min/max></.ftz></.NaN>.<f16/f16x2> =$4, !$4, !$4"),
        row("<min/max></.NaN>.<bf16/bf16x2> =$3, !$3, !$3"),
        rare("<min/max></.ftz></.NaN>.xorsign.abs.<f16~b16/f16x2~b32> =$4, !$4', !$4'"),
        rare("<min/max></.NaN>.xorsign.abs.<bf16~b16/bf16x2~b32> =$3, !$3', !$3'"),
    ],
};

pub const COMPARISON: Family = Family {
    name: "float comparison",
    weight: 3,
    rows: &[
        row("setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.f32 =pred, %f32, %f32"),
        // Not with a constant: ptxas 13.0.88 leaves out .ftz where the first operand is zero.
        row("setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.ftz.f32 =pred, !f32, !f32"),
        row("setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.f64 =pred, %f64, %f64"),
        row(
            "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.f16 =pred, !f16, !f16",
        ),
        row("setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.bf16 =pred, !bf16, !bf16"),
        rare(
            "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.f16x2 =pred|=pred, !f16x2, !f16x2",
        ),
        rare(
            "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.bf16x2 =pred|=pred, !bf16x2, !bf16x2",
        ),
        rare(
            "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor>.<f32/f64> =pred|=pred, %$3, %$3, ~pred",
        ),
        row(
            "{ set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<u32/s32/f32>.<f32/f64> =$2, %$3, %$3; }",
        ),
        // Never with a guard: ptxas 13.0.88 leaves only the low half of what a u32 was.
        rare(
            "{ set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<u16.f16~=b16, !f16, !f16/u32.f16~=b32, !f16, !f16/f16.f16~=f16, !f16, !f16/f16.f32~=f16, !f32, !f32> $2'; }",
        ),
        rare(
            "{ set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<u16.bf16~=b16, !bf16, !bf16/bf16.bf16~=bf16, !bf16, !bf16/bf16.f32~=bf16, !f32, !f32> $2'; }",
        ),
        rare(
            "{ set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.f16x2.f16x2 =f16x2, !f16x2, !f16x2; }",
        ),
        rare(
            "{ set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.bf16x2.bf16x2 =bf16x2, !bf16x2, !bf16x2; }",
        ),
        // Never with a guard: ptxas 13.0.88 drops that of a testp of a constant.
        row("{ testp.<finite/infinite/number/notanumber/normal/subnormal>.<f32/f64> =pred, %$2; }"),
    ],
};

/// Results that are only near: they are stored and compared with a tolerance.
pub const APPROXIMATION: Family = Family {
    name: "approximation",
    weight: 1,
    rows: &[
        row("<rcp/sqrt/rsqrt/ex2>.approx</.ftz>.f32 ?f32, !f32"),
        // The error of these is absolute where the result is small: something is added to it.
        // Beyond this range of angles their own error decides the result.
        row(
            "{ .reg .f32 %t; lg2.approx</.ftz>.f32 %t, %f32; abs.f32 %t, %t; add.rn.f32 ?f32, %t, 0f3F800000; }",
        ),
        row(
            "{ .reg .f32 %t; max.f32 %t, %f32, 0fC0490FDB; min.f32 %t, %t, 0f40490FDB; <sin/cos>.approx</.ftz>.f32 %t, %t; add.rn.f32 ?f32, %t, 0f40000000; }",
        ),
        row("tanh.approx.<f32/f16/bf16> ?$1, !$1"),
        row("ex2.approx.f16 ?f16, !f16"),
        row("ex2.approx.ftz.bf16 ?bf16, !bf16"),
        // Not of constants: ptxas 13.0.88 does not flush them.
        row("div.<approx/full></.ftz>.f32 ?f32, !f32, !f32"),
        rare("<rcp/rsqrt>.approx.ftz.f64 ?f64, %f64"),
    ],
};
