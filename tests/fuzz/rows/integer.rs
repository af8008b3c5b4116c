//! Integers, bits, comparisons, predicates, video.

use super::{Family, rare, row};

pub const ARITHMETIC: Family = Family {
    name: "integer",
    weight: 6,
    rows: &[
        row("<add/sub>.<s32/u32/s64/u64> =$2, %$2, %$2"),
        row("add.<s16/u16> =$1, %$1, %$1"),
        // Of 16 bits not from zero, nor times -1: what is negated ptxas 13.0.88 takes for the
        // number without its wrap, in shifts and conversions behind it.
        row("sub.<s16/u16> =$1, !$1, %$1"),
        row("<add/sub>.<s32/u64> =$2, %$2, %$2"),
        row("<min/max>.<s16/u16/s32/u32/s64/u64> =$2, %$2, %$2"),
        row("neg.<s32/s64> =$1, %$1"),
        row("{ .reg .b16 %t; or.b16 %t, !b16, 1; neg.s16 =s16, %t; }"),
        // Not of the least integer: ptxas takes the result for positive.
        row("{ .reg .<b16~s16/b32~s32/b64~s64> %t; or.$1 %t, %$1, 1; abs.$1' =$1, %t; }"),
        // Not on sums: ptxas 13.0.88 takes `sub.sat (a + b), b` for `a`, though the sum may wrap.
        row(
            "{ .reg .b32 %t, %u; mul.hi.u32 %t, !b32, 0x9e3779b1; brev.b32 %u, !b32; <add/sub>.sat.s32 =s32, %t, %u; }",
        ),
        rare("<min/max>.relu.s32 =s32, %s32, %s32"),
        rare("sad.<s16/u16/s32/u32/s64/u64> =$1, %$1, %$1, %$1"),
        // Three inputs or a scaled sum in one instruction.
        row("add.s32 =s32, %s32, %s32; <add/sub>.s32 =s32, ^0, %s32"),
        row("shl.b32 =b32, %b32, #(0,8); <add/sub>.s32 =s32, ^0, %s32"),
        rare("shl.b64 =b64, %b64, #(0,8); <add/sub>.s64 =s64, ^0, %s64"),
    ],
};

pub const PRODUCTS: Family = Family {
    name: "products",
    weight: 4,
    rows: &[
        row("<mul.lo/mul.hi>.<s32/u32/s64/u64> =$2, %$2, %$2"),
        row("<mad.lo/mad.hi>.<s32/u32/s64/u64> =$2, %$2, %$2, %$2"),
        row("<mul.lo/mul.hi>.<s16/u16> =$2, !$2, !$2"),
        row("<mad.lo/mad.hi>.<s16/u16> =$2, !$2, !$2, %$2"),
        row("mul.wide.<s16~s32/u16~u32/s32~s64/u32~u64> =$1', %$1, %$1"),
        row("mad.wide.<s16~s32/u16~u32/s32~s64/u32~u64> =$1', %$1, %$1, %$1'"),
        // Of a product that nothing else computes: ptxas 13.0.88 forgets to saturate where it
        // shares it with a mul.lo.
        rare("{ .reg .b32 %t; brev.b32 %t, !b32; mad.hi.sat.s32 =s32, %t, !s32, %s32; }"),
        rare("<mul24.lo/mul24.hi>.<s32/u32> =$2, %$2, %$2"),
        rare("<mad24.lo/mad24.hi>.<s32/u32> =$2, %$2, %$2, %$2"),
        rare("mad24.hi.sat.s32 =s32, %s32, %s32, %s32"),
        row("dp4a.<s32/u32>.<s32/u32> =b32, %b32, %b32, %b32"),
        row("dp2a.<lo/hi>.<s32/u32>.<s32/u32> =b32, %b32, %b32, %b32"),
        row("mul.lo.s32 =s32, %s32, #(-20,70); add.s32 =s32, ^0, %s32"),
    ],
};

pub const DIVISION: Family = Family {
    name: "division",
    weight: 2,
    rows: &[
        // An odd divisor is not zero: what is divided by zero is undefined.
        row("{ .reg .b16 %t; or.b16 %t, %b16, 1; <div/rem>.<s16/u16> =$2, %$2, %t; }"),
        row("{ .reg .b32 %t; or.b32 %t, %b32, 1; <div/rem>.<s32/u32> =$2, %$2, %t; }"),
        row("{ .reg .b64 %t; or.b64 %t, %b64, 1; <div/rem>.<s64/u64> =$2, %$2, %t; }"),
        row(
            "<div/rem>.<s16/u16/s32/u32/s64/u64> =$2, %$2, <1/2/3/5/6/7/8/10/12/64/100/255/641/1000/4096/32767>",
        ),
        rare("<div/rem>.<s32/s64> =$2, %$2, <-1/-2/-3/-7/-10/-128>"),
        rare("<div/rem>.s16 =s16, %s16, <-2/-3/-7/-10/-128>"),
        rare("<div/rem>.<s32/u32> =$2, %$2, <0x7fffffff/1000000007/65537>"),
    ],
};

/// Carries live from one instruction to the next: a row is a whole chain.
pub const CARRY: Family = Family {
    name: "carry",
    weight: 2,
    rows: &[
        row(
            "add.cc.<s32/u32/s64/u64> =$1, %$1, %$1; addc.cc.$1 =$1, %$1, %$1; addc.$1 =$1, %$1, %$1",
        ),
        row(
            "sub.cc.<s32/u32/s64/u64> =$1, %$1, %$1; subc.cc.$1 =$1, %$1, %$1; subc.$1 =$1, %$1, %$1",
        ),
        row("<add/sub>.cc.<u32/u64> =$2, %$2, %$2; $1c.$2 =$2, %$2, %$2"),
        // By no constant: ptxas 13.0.88 leaves the product of a shifted value and
        // 0xffffffff80000000 out.
        row("mad.<lo/hi>.cc.<s32/u32/s64/u64> =$2, !$2, !$2, %$2; addc.$2 =$2, %$2, %$2"),
        row("add.cc.<s32/u32/s64/u64> =$1, %$1, %$1; madc.<lo/hi>.$1 =$1, !$1, !$1, %$1"),
        row(
            "mad.lo.cc.<s32/u32/s64/u64> =$1, !$1, !$1, %$1; madc.hi.cc.$1 =$1, !$1, !$1, %$1; madc.lo.cc.$1 =$1, !$1, !$1, %$1; madc.hi.$1 =$1, !$1, !$1, %$1",
        ),
        // The carry itself.
        row("<add/sub>.cc.<u32/s64> =$2, %$2, %$2; $1c.u32 =u32, 0, 0"),
    ],
};

pub const LOGIC: Family = Family {
    name: "logic",
    weight: 4,
    rows: &[
        row("<and/or/xor>.<b16/b32/b64> =$2, %$2, %$2"),
        row("<not/cnot>.<b16/b32/b64> =$2, %$2"),
        // Of three different values that are not constants: else ptxas 13.0.88 makes a wrong table
        // when it puts the lop3 together with another logic instruction; and never alone before a
        // comparison with zero, which it takes for false.
        row(
            "{ .reg .b32 %t, %u, %v; mov.u32 %t, %tid.x; mov.u32 %v, %laneid; mad.lo.u32 %u, %t, 0x9e3779b1, !b32; add.s32 %t, %t, !b32; add.s32 %v, %v, !b32; lop3.b32 %t, %v, %t, %u, #(0,255); add.s32 =b32, %t, %v; }",
        ),
        // Its result goes through a sum: ptxas 13.0.88 takes the predicate for that of a `setp.ne`
        // of the result with zero.
        rare(
            "{ .reg .b32 %t, %u, %v; mov.u32 %t, %tid.x; mov.u32 %v, %laneid; mad.lo.u32 %u, %t, 0x9e3779b1, !b32; add.s32 %t, %t, !b32; add.s32 %u, %u, %v; lop3.<or/and>.b32 %t|=pred, %v, %t, %u, #(0,255), ~pred; add.s32 =b32, %t, %v; }",
        ),
        row("<and/or/xor>.b32 =b32, %b32, %b32; <and/or/xor>.b32 =b32, ^0, %b32"),
        // Not by a constant: ptxas 13.0.88 forgets the first operand where only the sign of one of
        // its bytes is wanted.
        row("prmt.b32 =b32, %b32, %b32, !b32"),
        rare("prmt.b32.<f4e/b4e/rc8/ecl/ecr/rc16> =b32, %b32, %b32, %b32"),
        rare("prmt.b32 =b32, %b32, %b32, <0x5410/0x7632/0x0123/0x3210/0x4440/0x6543>"),
    ],
};

pub const BITS: Family = Family {
    name: "bits",
    weight: 3,
    rows: &[
        row("<popc/clz>.<b32/b64> =b32, %$2"),
        row("brev.<b32/b64> =$1, %$1"),
        row("bfind</.shiftamt>.<s32/u32/s64/u64> =b32, %$2"),
        rare("fns.b32 =b32, %b32, #(0,31), #(-32,32)"),
        // Place and length of a field stay inside the word: they are bytes, ptxas's code for 64
        // bits does not expect more, and with one of them constant it does not expect more than the
        // word either.
        row(
            "{ .reg .b32 %t, %u; and.b32 %t, !b32, 63; and.b32 %u, !b32, 63; bfe.<s64/u64> =b64, %b64, %t, %u; }",
        ),
        // Of a value that differs by lane: ptxas 13.0.88 takes the field of another one for the
        // same in all lanes.
        row(
            "{ .reg .b32 %t, %u, %v; and.b32 %t, !b32, 31; and.b32 %u, !b32, 31; mov.u32 %v, %laneid; add.s32 %v, %v, !b32; bfe.<s32/u32> =b32, %v, %t, %u; }",
        ),
        row(
            "{ .reg .b32 %t, %u; and.b32 %t, !b32, <31~32/63~64>; and.b32 %u, !b32, $1; bfi.b$1' =b$1', %b$1', %b$1', %t, %u; }",
        ),
        row("bfe.<s32/u32/s64/u64> =$1, %$1, #(0,31), #(0,31)"),
        // Constants that fit: ptxas 13.0.88 takes the length 36 of a bfi.b32 for 4, 32 for 0, and
        // gives -1 where bfe.s32 begins above the highest bit.
        row("bfi.b32 =b32, %b32, %b32, #(0,40), #(0,31)"),
        row("bfi.b64 =b64, %b64, %b64, #(0,70), #(0,63)"),
        row("bmsk.<clamp/wrap>.b32 =b32, %b32, %b32"),
        row("szext.<clamp/wrap>.<s32/u32> =b32, %b32, %b32"),
    ],
};

pub const SHIFTS: Family = Family {
    name: "shifts",
    weight: 4,
    rows: &[
        // Constant amounts are small: ptxas 13.0.88 takes a shl.b16 by 0x80000000 for one by 0.
        row("shl.b32 =b32, %b32, !b32"),
        // Of 64 bits by less: ptxas 13.0.88 wraps the amount for a value that is one of two
        // constants.
        row("{ .reg .b32 %t; and.b32 %t, !b32, 63; shl.b64 =b64, %b64, %t; }"),
        row("{ .reg .b32 %t; and.b32 %t, !b32, 31; shl.b16 =b16, %b16, %t; }"),
        row("shr.<s32/u32/b32/s64/u64/b64> =$1, %$1, !b32"),
        // Of 16 bits by small amounts: ptxas 13.0.88 looks whether a `cnot` is too large before it
        // is negated.
        row("{ .reg .b32 %t; and.b32 %t, !b32, 31; shr.<s16/u16/b16> =$1, %$1, %t; }"),
        row("<shl/shr>.<b16/b32> =$2, %$2, #(0,66)"),
        row("shr.b64 =b64, %b64, #(0,66)"),
        row("shl.b64 =b64, %b64, #(0,63)"),
        row("shr.<s16/s32/s64> =$1, %$1, #(0,66)"),
        row("shf.<l/r>.<clamp/wrap>.b32 =b32, %b32, %b32, %b32"),
        row("shf.<l/r>.<clamp/wrap>.b32 =b32, %b32, %b32, #(0,33)"),
        rare("{ .reg .b32 %t; and.b32 %t, %b32, 63; <shl.b64/shr.s64/shr.u64> =b64, %b64, %t; }"),
        // Rotations.
        rare(
            "{ .reg .b64 %t, %u; shl.b64 %t, !b64, #(1,63); shr.u64 %u, ^0, #(1,63); <or.b64/xor.b64/add.s64> =b64, %t, %u; }",
        ),
    ],
};

pub const COMPARISON: Family = Family {
    name: "comparison",
    weight: 4,
    rows: &[
        row("setp.<eq/ne/lt/le/gt/ge>.<s16/u16/s32/u32/s64/u64> =pred, %$2, %$2"),
        row("setp.<eq/ne/lt/le/gt/ge>.<s32/u32/s64/u64> =pred|=pred, %$2, %$2"),
        row("setp.<lo/ls/hi/hs>.<u16/u32/u64> =pred, %$2, %$2"),
        row("setp.<eq/ne>.<b16/b32/b64> =pred, %$2, %$2"),
        row(
            "setp.<eq/ne/lt/le/gt/ge>.<and/or/xor>.<s16/u16/s32/u32/s64/u64> =pred, %$3, %$3, ~pred",
        ),
        row("setp.<eq/ne/lt/le/gt/ge>.<and/or/xor>.<s32/u64> =pred|=pred, %$3, %$3, ~pred"),
        // Never with a guard: ptxas 13.0.88 leaves only the low half of what a u32 was before a set
        // of 16 bits.
        row("{ set.<eq/ne/lt/le/gt/ge>.<u32/s32>.<s16/u16/s32/u32/s64/u64> =b32, %$3, %$3; }"),
        rare("{ set.<eq/ne/lt/le/gt/ge>.f32.<s16/u16/s32/u32/s64/u64> =f32, %$2, %$2; }"),
        rare("{ set.<eq/ne/lt/le/gt/ge>.<and/or/xor>.<u32/s32>.<s32/u64> =b32, %$4, %$4, ~pred; }"),
    ],
};

pub const SELECTION: Family = Family {
    name: "selection",
    weight: 4,
    rows: &[
        row("selp.<b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64> =$1, %$1, %$1, !pred"),
        // Not by a constant, and not by a computed one: ptxas 13.0.88 takes 0x80000000 for
        // positive, and others for negative.
        row(
            "{ .reg .b32 %t; mov.u32 %t, %laneid; xor.b32 %t, %t, !s32; slct.<b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64>.s32 =$1, %$1, %$1, %t; }",
        ),
        // By bits: ptxas 13.0.88 takes the abs of a NaN for positive.
        rare("slct</.ftz>.<b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64>.f32 =$2, %$2, %$2, !b32"),
    ],
};

pub const PREDICATES: Family = Family {
    name: "predicates",
    weight: 3,
    rows: &[
        row("<and/or/xor>.pred =pred, !pred, !pred"),
        row("not.pred =pred, !pred"),
        row("mov.pred =pred, !pred"),
        row("setp.ne.s32 =pred, %s32, 0"),
        row("selp.b32 =b32, %b32, %b32, !pred"),
    ],
};

pub const PAIRS: Family = Family {
    name: "pairs of 16 bits",
    weight: 1,
    rows: &[
        row("add.<s16x2/u16x2> =$1, !$1, !$1"),
        row("<min/max>.<s16x2/u16x2> =$2, !$2, !$2"),
        row("<min/max>.relu.s16x2 =s16x2, !s16x2, !s16x2"),
    ],
};

pub const VIDEO: Family = Family {
    name: "video",
    weight: 1,
    rows: &[
        // Where ptxas 13.0.88 and PTX part, and what is therefore not used: ptxas does not clamp to
        // the largest u32 what has more than 32 bits, nor to the least number what comes of a u32
        // and an s32; it multiplies words as if they were signed in vmad, compares with c as signed
        // numbers in vset (whose result is unsigned), extends the first result by its sign before
        // an unsigned minimum or maximum, puts the high half of a result into `.h1`, and keeps two
        // bits above 32 of what vshl saturates.
        row("<vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.<u32/s32>.<u32/s32> =b32, !b32, !b32"),
        row("<vadd/vsub/vabsdiff/vmin/vmax>.s32.s32.s32.sat =b32, !b32, !b32"),
        row(
            "<vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.<u32/s32>.<u32/s32>.add =b32, !b32.<b0/b3/h1>, !b32.<b1/h0>, !b32",
        ),
        row(
            "<vadd/vabsdiff/vmin/vmax>.u32.u32.u32.<min/max> =b32, !b32.<b0/b3/h1>, !b32.<b1/h0>, !b32",
        ),
        row(
            "<vadd/vsub/vabsdiff/vmin/vmax>.s32.<u32/s32>.<u32/s32>.<min/max> =b32, !b32.<b0/b3/h1>, !b32.<b1/h0>, !b32",
        ),
        row(
            "<vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.$2.$2</.sat> =b32, !b32.<b0/b3/h1>, !b32.<b1/h0>",
        ),
        row(
            "{ .reg .b32 %t; <vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.u32.s32 %t.<b0/b1/b2/b3/h0>, !b32.<b2/h1>, !b32, !b32; mov.b32 =b32, %t; }",
        ),
        row("<vshl/vshr>.<u32/s32>.<u32/s32>.u32.<clamp/wrap> =b32, !b32, !b32"),
        row("<vshl/vshr>.<u32/s32>.<u32/s32>.u32.<clamp/wrap>.add =b32, !b32, !b32, !b32"),
        row("<vshl/vshr>.<u32/s32>.<u32/s32>.u32.<clamp/wrap> =b32, !b32.<b0/b2/h1>, !b32.<b1/h0>"),
        row("vmad.s32.s32.s32</.po></.shr7/.shr15> =b32, !b32, !b32, !b32"),
        row("vmad.s32.s32.s32</.po>.sat</.shr7/.shr15> =b32, !b32, !b32, !b32"),
        row("vmad.s32.<u32/s32>.s32</.sat></.shr7> =b32, </->!b32.<b0/h1>, !b32.<b1/h0>, !b32"),
        row("vmad.s32.<u32/s32>.s32</.sat></.shr7> =b32, !b32.<b0/h1>, !b32.<b1/h0>, -!b32"),
        row("vset.<u32/s32>.<u32/s32>.<eq/ne/lt/le/gt/ge> =b32, !b32, !b32"),
        row("vset.u32.u32.<eq/ne/lt/le/gt/ge>.<add/min/max> =b32, !b32, !b32, !b32"),
        row("vset.<u32/s32>.<u32/s32>.<eq/ne/lt/le/gt/ge>.add =b32, !b32, !b32, !b32"),
        row("vset.<u32/s32>.<u32/s32>.<eq/lt/ge> =b32, !b32.<b0/h1>, !b32.<b3/h0>"),
    ],
};

pub const VIDEO_SIMD: Family = Family {
    name: "video simd",
    weight: 1,
    rows: &[
        row(
            "<vadd2/vsub2/vavrg2/vabsdiff2/vmin2/vmax2/vadd4/vsub4/vavrg4/vabsdiff4/vmin4/vmax4>.<u32/s32>.<u32/s32>.<u32/s32></.sat/.add> =b32, !b32, !b32, !b32",
        ),
        row(
            "{ .reg .b32 %t; <vadd2/vsub2/vavrg2/vabsdiff2/vmin2/vmax2>.<u32/s32>.<u32/s32>.<u32/s32></.sat> %t.<h0/h1/h10>, !b32.<h10/h32/h23>, !b32.<h00/h13>, !b32; mov.b32 =b32, %t; }",
        ),
        row(
            "{ .reg .b32 %t; <vadd4/vsub4/vavrg4/vabsdiff4/vmin4/vmax4>.<u32/s32>.<u32/s32>.<u32/s32></.sat> %t.<b0/b21/b310/b3210>, !b32.<b3210/b7654>, !b32.b4567, !b32; mov.b32 =b32, %t; }",
        ),
        row("<vset2/vset4>.<u32/s32>.<u32/s32>.<eq/ne/lt/le/gt/ge></.add> =b32, !b32, !b32, !b32"),
        row(
            "{ .reg .b32 %t; vset2.<u32/s32>.<u32/s32>.<eq/lt> %t.<h0/h1/h10>, !b32.<h01/h32>, !b32, !b32; mov.b32 =b32, %t; }",
        ),
        row(
            "{ .reg .b32 %t; vset4.<u32/s32>.<u32/s32>.<eq/lt> %t.<b0/b32/b3210>, !b32.<b7654/b0123>, !b32, !b32; mov.b32 =b32, %t; }",
        ),
    ],
};
