//! Single and double precision.

use crate::generate::{Family, Row, each, few, pairs, turn};

pub const SINGLE: Family = Family::rows("single", SINGLE_ROWS);

const SINGLE_ROWS: &[Row] = &[
    pairs("fma.rn.f32 =f32, %f32, %f32, %f32"),
    pairs("<add/mul>.f32 =f32, %f32, %f32"),
    pairs("<min/max>.f32 =f32, %f32, %f32"),
    few("<add/sub/mul></.rn/.rz/.rm/.rp></.ftz></.sat>.f32 =f32, %f32, %f32"),
    few("<fma/mad>.<rn/rz/rm/rp></.ftz></.sat>.f32 =f32, %f32, %f32, %f32"),
    few("div.<approx/full/rn/rz/rm/rp></.ftz>.f32 =f32, %f32, %f32"),
    each("<abs/neg></.ftz>.f32 =f32, %f32"),
    few("<min/max></.ftz></.NaN></.xorsign.abs>.f32 =f32, %f32, %f32"),
    few("<min/max></.ftz></.NaN></.abs>.f32 =f32, %f32, %f32, %f32"),
    few("<rcp/sqrt>.<approx/rn/rz/rm/rp></.ftz>.f32 =f32, %f32"),
    each("<rsqrt/sin/cos/lg2/ex2>.approx</.ftz>.f32 =f32, %f32"),
    each("tanh.approx.f32 =f32, %f32"),
    few("testp.<finite/infinite/number/notanumber/normal/subnormal>.f32 =pred, %f32"),
    each("copysign.f32 =f32, %f32, %f32"),
    // Two at a time, and mixed precision (sm_100 and later).
    turn("<add/sub/mul></.rn/.rz/.rm/.rp></.ftz>.f32x2 =f32x2, %f32x2, %f32x2"),
    turn("fma.<rn/rz/rm/rp></.ftz>.f32x2 =f32x2, %f32x2, %f32x2, %f32x2"),
    turn("<add/sub></.rn/.rz/.rm/.rp></.sat>.f32.<f16/bf16> =f32, %$4, %f32"),
    turn("fma.<rn/rz/rm/rp></.sat>.f32.<f16/bf16> =f32, %$3, %$3, %f32"),
];

pub const DOUBLE: Family = Family::rows("double", DOUBLE_ROWS);

const DOUBLE_ROWS: &[Row] = &[
    pairs("fma.rn.f64 =f64, %f64, %f64, %f64"),
    few("<add/sub/mul></.rn/.rz/.rm/.rp>.f64 =f64, %f64, %f64"),
    few("<fma/mad>.<rn/rz/rm/rp>.f64 =f64, %f64, %f64, %f64"),
    few("div.<rn/rz/rm/rp>.f64 =f64, %f64, %f64"),
    each("<abs/neg>.f64 =f64, %f64"),
    each("<min/max>.f64 =f64, %f64, %f64"),
    few("<rcp/sqrt>.<rn/rz/rm/rp>.f64 =f64, %f64"),
    each("<rcp/rsqrt>.approx</.ftz>.f64 =f64, %f64"),
    few("testp.<finite/infinite/number/notanumber/normal/subnormal>.f64 =pred, %f64"),
    each("copysign.f64 =f64, %f64, %f64"),
];
