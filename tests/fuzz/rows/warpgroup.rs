//! Products of matrices by a warpgroup.
//!
//! `%wgt` is the thread's 128 bytes of its group's 16384 in shared memory, `%wgd` a descriptor that
//! begins at them. A row fills them with exact numbers of its type, so that whatever rows, strides
//! and swizzle a descriptor says, each element is such a number. What is added to stays exact as in
//! `super::matrix`.

use super::{Family, Row, block};

/// Slots 0 to 7.
macro_rules! fill {
    ($class:literal) => {
        concat!(
            "st.shared.v4.b32 [%wgt], {!", $class, ":4}; st.shared.v4.b32 [%wgt+16], {!", $class,
            ":4}; st.shared.v4.b32 [%wgt+32], {^4, ^1, ^6, ^3}; st.shared.v4.b32 [%wgt+48], {^2, ^5, ^0, ^7}; ",
            "st.shared.v4.b32 [%wgt+64], {^7, ^0, ^5, ^2}; st.shared.v4.b32 [%wgt+80], {^0, ^4, ^1, ^6}; ",
            "st.shared.v4.b32 [%wgt+96], {^3, ^7, ^2, ^4}; st.shared.v4.b32 [%wgt+112], {^1, ^5, ^3, ^6}; fence.proxy.async; bar.sync 0; "
        )
    };
}

/// A descriptor in `%a` or `%b`: start, leading and stride byte offset, and swizzle, such that 256
/// columns fit without swizzle and 64 with one. The second form is for those with more than 64.
macro_rules! descriptor {
    ($of:literal) => {
        concat!(
            "add.s64 ", $of, ", %wgd, <0x0000000800100000/0x0000001000080004/0x0000002000800040/0x0000000800400011/",
            "0x4000004000010000/0x4000004000010040/0x4000004000010002/0x8000002000200000/0x8000002000200080/0xc000001000100020>; "
        )
    };
    ($of:literal, wide) => {
        concat!("add.s64 ", $of, ", %wgd, <0x0000000800100000/0x0000001000080004/0x0000001000800040/0x0000000800400011>; ")
    };
}

/// Whether the accumulator counts: for all threads the same.
macro_rules! scale {
    () => {
        "{ .reg .pred %s; .reg .b32 %n; <mov.b32 %n, 1/mov.b32 %n, 1/mov.b32 %n, 0/ld.param.b32 %n, [n]; and.b32 %n, %n, 1>; setp.ne.b32 %s, %n, 0; .reg .b64 %a, %b; "
    };
}

macro_rules! end {
    () => {
        "; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; } bar.sync 0"
    };
}

const fn rare(text: &'static str) -> Row {
    Row { weight: 1, ..block(text) }
}

/// Columns, and how many registers they are as words and as halves.
macro_rules! columns {
    () => {
        "<n8~4~2/n16~8~4/n24~12~6/n32~16~8/n48~24~12/n64~32~16>"
    };
}

pub const PRODUCTS: Family = Family {
    name: "warpgroup products",
    weight: 8,
    rows: &[
        block(concat!(
            fill!("xf16"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k16.f32.f16.f16 {+sf32:$4'}, %a, %b, %s, <1/-1>, <1/-1>, <0/1>, <0/1>",
            end!()
        )),
        block(concat!(
            fill!("xbf16"),
            scale!(),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k16.f32.bf16.bf16 {+sf32:$3'}, {!xbf16:4}, %b, %s, <1/-1>, <1/-1>, <0/1>",
            end!()
        )),
        block(concat!(
            fill!("xf16"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k16.f16.f16.f16 {+sf16:$4''}, <%a~, 0/{!xf16:4}~ >, %b, %s, 1, <1/-1>, <0/1>$5'",
            end!()
        )),
        block(concat!(
            fill!("xtf32"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k8.f32.tf32.tf32 {+sf32:$4'}, <%a/{!xtf32:4}>, %b, %s, <1/-1>, <1/-1>",
            end!()
        )),
        block(concat!(
            fill!("xe4m3"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k32.f32.<e4m3/e5m2>.e4m3 {+sf32:$4'}, {!x$5:4}, %b, %s, <1/-1>, <1/-1>",
            end!()
        )),
        block(concat!(
            fill!("xe5m2"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k32.f16.e5m2.e5m2 {+sf16:$4''}, <%a/{!xe5m2:4}>, %b, %s, <1/-1>, <1/-1>",
            end!()
        )),
        block(concat!(
            fill!("b32"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k32</.satfinite>.s32.<s8/u8>.<s8/u8> {+b32:$4'}, <%a/{!b32:4}>, %b, %s",
            end!()
        )),
        rare(concat!(
            fill!("b32"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k256.s32.b1.b1.and.popc {+b32:$4'}, <%a/{!b32:4}>, %b, %s",
            end!()
        )),
        // Many columns.
        rare(concat!(
            fill!("xf16"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b", wide),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n96~48/n128~64/n176~88/n256~128>k16.f32.f16.f16 {+sf32:$4'}, <%a~, 0/{!xf16:4}~ >, %b, %s, <1/-1>, <1/-1>, <0/1>$5'",
            end!()
        )),
        rare(concat!(
            fill!("xf16"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b", wide),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n96~24/n128~32/n176~44/n256~64>k16.f16.f16.f16 {+sf16:$4'}, <%a~, 0/{!xf16:4}~ >, %b, %s, <1/-1>, <1/-1>, <0/1>$5'",
            end!()
        )),
        // Several in a group, with the same accumulator and with others.
        block(concat!(
            fill!("xbf16"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k16.f32.bf16.bf16 {+sf32:$4'}, %a, %b, %s, 1, 1, <0/1>, <0/1>; wgmma.mma_async.sync.aligned.m64$4k16.f32.bf16.bf16 {^8:$4'}, %b, %a, 1, <1/-1>, 1, <0/1>, <0/1>; wgmma.mma_async.sync.aligned.m64$4k16.f32.bf16.bf16 {+sf32:$4'}, {!xbf16:4}, %b, 1, 1, 1, <0/1>",
            end!()
        )),
        // Groups of which one is still under way, and something else meanwhile.
        block(concat!(
            fill!("xf16"),
            scale!(),
            descriptor!("%a"),
            descriptor!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
            columns!(),
            "k16.f32.f16.f16 {+sf32:$4'}, %a, %b, %s, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; mul.lo.u32 =b32, !b32, !b32; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {+sf32:8}, %b, %b, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1; add.rz.f32 =f32, ^8, 0f3F800000; xor.b32 =b32, !b32, !b32; wgmma.wait_group.sync.aligned 0; } bar.sync 0"
        )),
    ],
};

/// Each of the metadata's fields names two of four elements, in order; of tf32 one of two.
macro_rules! metadata {
    () => {
        ".reg .b32 %t; <and.b32 %t, !b32, 0x55555555; or.b32 %t, %t, 0x88888888/and.b32 %t, !b32, 0x11111111; mad.lo.u32 %t, %t, 10, 0x44444444>; "
    };
    (single) => {
        ".reg .b32 %t; and.b32 %t, !b32, 0x11111111; mad.lo.u32 %t, %t, 10, 0x44444444; "
    };
}

/// Where a matrix has rows of 64 bytes.
macro_rules! long {
    ($of:literal) => {
        concat!(
            "add.s64 ",
            $of,
            ", %wgd, <0x0000000800100000/0x0000001000080004/0x0000002000800040/0x0000000800400011/",
            "0x4000004000010000/0x4000004000010040/0x8000002000200000/0x8000002000200080>; "
        )
    };
}

pub const SPARSE: Family = Family {
    name: "warpgroup sparse products",
    weight: 4,
    rows: &[
        block(concat!(
            fill!("xf16"),
            scale!(),
            metadata!(),
            descriptor!("%a"),
            long!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
            columns!(),
            "k32.f32.f16.f16 {+sf32:$5'}, <%a~, 0/{!xf16:4}~ >, %b, %t, <0/1>, %s, <1/-1>, <1/-1>, 0$6'",
            end!()
        )),
        block(concat!(
            fill!("xtf32"),
            scale!(),
            metadata!(single),
            descriptor!("%a"),
            long!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
            columns!(),
            "k16.f32.tf32.tf32 {+sf32:$4'}, <%a/{!xtf32:4}>, %b, %t, <0/1>, %s, <1/-1>, <1/-1>",
            end!()
        )),
        block(concat!(
            fill!("xe5m2"),
            scale!(),
            metadata!(),
            descriptor!("%a"),
            long!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
            columns!(),
            "k64.f32.e4m3.e5m2 {+sf32:$5'}, {!xe4m3:4}, %b, %t, 0, %s, <1/-1>, <1/-1>",
            end!()
        )),
        block(concat!(
            fill!("b32"),
            scale!(),
            metadata!(),
            descriptor!("%a"),
            long!("%b"),
            "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
            columns!(),
            "k64</.satfinite>.s32.<s8/u8>.<s8/u8> {+b32:$5'}, <%a/{!b32:4}>, %b, %t, 0, %s",
            end!()
        )),
    ],
};
