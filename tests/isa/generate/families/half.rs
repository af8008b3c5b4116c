//! Half precision and bfloat16, alone and in pairs.

use crate::generate::{Family, Row, each, few, pairs};

pub const HALF: Family = Family::rows("half", ROWS);

const ROWS: &[Row] = &[
    pairs("fma.rn.<f16x2/bf16x2> =$1, %$1, %$1, %$1"),
    pairs("<add/mul>.f16 =f16, %f16, %f16"),
    few("<add/sub/mul></.rn></.ftz></.sat>.<f16/f16x2> =$5, %$5, %$5"),
    each("<add/sub/mul></.rn>.<bf16/bf16x2> =$3, %$3, %$3"),
    few("fma.rn</.ftz></.sat>.<f16/f16x2> =$3, %$3, %$3, %$3"),
    few("fma.rn</.ftz>.relu.<f16/f16x2> =$2, %$2, %$2, %$2"),
    each("fma.rn</.relu>.<bf16/bf16x2> =$2, %$2, %$2, %$2"),
    few("fma.rn.oob</.relu>.<f16/f16x2/bf16/bf16x2> =$2, %$2, %$2, %$2"),
    each("<abs/neg></.ftz>.<f16/f16x2> =$3, %$3"),
    each("<abs/neg>.<bf16/bf16x2> =$2, %$2"),
    few("<min/max></.ftz></.NaN></.xorsign.abs>.<f16/f16x2> =$5, %$5, %$5"),
    few("<min/max></.NaN></.xorsign.abs>.<bf16/bf16x2> =$4, %$4, %$4"),
    each("tanh.approx.<f16/f16x2/bf16/bf16x2> =$1, %$1"),
    each("ex2.approx.<f16/f16x2> =$1, %$1"),
    each("ex2.approx.ftz.<bf16/bf16x2> =$1, %$1"),
];
