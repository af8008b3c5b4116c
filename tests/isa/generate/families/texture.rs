//! Textures and surfaces.

use crate::generate::{Family, Row, turn};

pub const TEXTURE: Family = Family::rows("texture", TEXTURE_ROWS);

const TEXTURE_ROWS: &[Row] = &[
    turn(
        "tex.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.v4.<f32/s32/u32>.<f32/s32> =b32*4</|=pred>, [<tx/%b64>, $1']",
    ),
    turn(
        "tex.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.v2.f16x2.<f32/s32> =b32*2, [<tx/%b64>, $1']",
    ),
    turn(
        "tex.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4/cube~%b32*4/acube~%b32*4>.v4.f16.<f32/s32> =b16*4, [<tx/%b64>, $1']",
    ),
    turn("tex.<cube/acube>.v2.f16x2.f32 =b32*2, [<tx/%b64>, %f32*4]"),
    turn("tex.level.<2d~%b32*2/a2d~%b32*4>.v2.f16x2.f32 =b32*2, [<tx/%b64>, $1'], %f32"),
    turn("tld4.<r/a>.2d.v2.f16x2.f32 =b32*2, [<tx/%b64>, %f32*2]"),
    turn("tex.<cube/acube>.v4.<f32/s32/u32>.f32 =b32*4</|=pred>, [<tx/%b64>, %f32*4]"),
    turn("tex.base.<2dms/a2dms>.v4.<f32/s32/u32>.s32 =b32*4, [<tx/%b64>, %b32*4]"),
    turn("tex.<2dms/a2dms>.v4.<f32/s32/u32>.s32 =b32*4, [<tx/%b64>, %b32*4]"),
    turn(
        "tex.base.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4/cube~%b32*4/acube~%b32*4>.v4.<f32/s32/u32>.f32 =b32*4, [tx, $1']",
    ),
    turn(
        "tex.level.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.v4.<f32/s32/u32>.<f32/s32> =b32*4</|=pred>, [<tx/%b64>, $1'], %b32",
    ),
    turn(
        "tex.level.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4/cube~%b32*4/acube~%b32*4>.v4.<f32/s32/u32>.f32 =b32*4, [tx, $1'], <%f32/0f00000000>",
    ),
    turn(
        "tex.grad.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4/cube~%b32*4/acube~%b32*4>.v4.<f32/s32/u32>.f32 =b32*4, [<tx/%b64>, $1'], <{%f32}/%f32*2/%f32*4>, <{%f32}/%f32*2/%f32*4>",
    ),
    turn(
        "tex.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.v4.f32.f32 =b32*4, [tx, $1'], <{%b32}/%b32*2/%b32*4/{1}/{1, 2}/{1, 2, 3, 0}>",
    ),
    turn(
        "tex.<2d~%b32*2/a2d~%b32*4/cube~%b32*4/acube~%b32*4/a1d~%b32*2/1d~{%b32}>.v4.f32.f32 =b32*4</|=pred>, [<tx/%b64>, $1'], %f32",
    ),
    turn("tex.level.<2d~%b32*2/a2d~%b32*4>.v4.f32.f32 =b32*4, [tx, $1'], %f32, %b32*2, %f32"),
    turn("tex.<2d~%b32*2/a2d~%b32*4>.v4.f32.f32 =b32*4, [tx, $1'], %b32*2, %f32"),
    turn(
        "tex</.level>.<1d~{%b32}/2d~%b32*2/a1d~%b32*2>.v4.<f32/u32>.s32 =b32*4, [tx, $2']</, 0/, %b32>, <{%b32}/%b32*2>",
    ),
    turn("tex.level.2d.v4.f32.<f32~0f00000000/s32~0> =b32*4, [tx, %b32*2], $1', <%b32*2/{1, 2}>"),
    turn(
        "tld4.<r/g/b/a>.<2d~%f32*2/a2d~%b32*4/cube~%f32*4/acube~%b32*4>.v4.<f32/s32/u32>.f32 =b32*4</|=pred>, [<tx/%b64>, $2']",
    ),
    turn("tld4.<r/g/b/a>.<2d~%f32*2/a2d~%b32*4>.v4.<f32/u32>.f32 =b32*4, [tx, $2'], %b32*2"),
    turn(
        "tld4.<r/g/b/a>.<2d~%f32*2/a2d~%b32*4/cube~%f32*4/acube~%b32*4>.v4.f32.f32 =b32*4, [tx, $2'], %f32",
    ),
    turn(
        "txq.<width/height/depth/channel_data_type/channel_order/normalized_coords/array_size/num_mipmap_levels/num_samples/filter_mode/addr_mode_0/addr_mode_1/addr_mode_2/force_unnormalized_coords>.b32 =b32, [<tx/%b64>]",
    ),
    turn("txq.level.<width/height/depth>.b32 =b32, [<tx/%b64>], %b32"),
];

pub const SURFACE: Family = Family::rows("surface", SURFACE_ROWS);

const SURFACE_ROWS: &[Row] = &[
    turn(
        "suld.b.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4></.ca/.cg/.cs/.cv>.<b8~b8/b16~b16/b32~b32/b64~b64>.<trap/clamp/zero> =$3, [<su/%b64>, $1']",
    ),
    turn(
        "suld.b.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.<v2.b8~b8*2/v2.b16~b16*2/v2.b32~b32*2/v2.b64~b64*2/v4.b8~b8*4/v4.b16~b16*4/v4.b32~b32*4>.<trap/clamp/zero> =$2', [<su/%b64>, $1']",
    ),
    turn(
        "sust.b.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4></.wb/.cg/.cs/.wt>.<b8/b16/b32/b64>.<trap/clamp/zero> [<su/%b64>, $1'], %$3",
    ),
    turn(
        "sust.b.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.<v2.b8~b8*2/v2.b16~b16*2/v2.b32~b32*2/v2.b64~b64*2/v4.b8~b8*4/v4.b16~b16*4/v4.b32~b32*4>.<trap/clamp/zero> [<su/%b64>, $1'], %$2'",
    ),
    turn(
        "suld.b.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.<ca/cg/cs/cv>.<v2.b8~b8*2/v2.b16~b16*2/v2.b32~b32*2/v2.b64~b64*2/v4.b8~b8*4/v4.b16~b16*4/v4.b32~b32*4>.<trap/clamp/zero> =$3', [su, $1']",
    ),
    turn(
        "sust.b.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.<wb/cg/cs/wt>.<v2.b8~b8*2/v2.b16~b16*2/v2.b32~b32*2/v2.b64~b64*2/v4.b8~b8*4/v4.b16~b16*4/v4.b32~b32*4>.<trap/clamp/zero> [su, $1'], %$3'",
    ),
    turn(
        "sust.p.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4></.wb>.<v2.b32~b32*2/v4.b32~b32*4/b32~b32>.<trap/clamp/zero> [<su/%b64>, $1'], %$3'",
    ),
    turn(
        "sured.b.<add/min/max>.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.<u32/s32/u64/s64>.<trap/clamp/zero> [<su/%b64>, $2'], %$3",
    ),
    turn(
        "sured.b.<and/or>.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.b32.<trap/clamp/zero> [<su/%b64>, $2'], %b32",
    ),
    turn(
        "sured.p.<add/min/max>.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4>.<u32/s32/b32>.<trap/clamp/zero> [<su/%b64>, $2'], %b32",
    ),
    turn(
        "sured.p.<and/or/add/min/max>.<1d~{%b32}/2d~%b32*2/3d~%b32*4>.<b32/b64>.<trap/clamp/zero> [<su/%b64>, $2'], %$3",
    ),
    turn(
        "suq.<width/height/depth/channel_data_type/channel_order/array_size/memory_layout>.b32 =b32, [<su/%b64>]",
    ),
];

pub const INDEPENDENT: Family =
    Family { independent: true, ..Family::rows("texture_independent", INDEPENDENT_ROWS) };

const INDEPENDENT_ROWS: &[Row] = &[
    turn(
        "tex.<1d~{%b32}/2d~%b32*2/3d~%b32*4/a1d~%b32*2/a2d~%b32*4/cube~%b32*4>.v4.<f32/s32/u32>.f32 =b32*4, [tx, sa, $1']",
    ),
    turn("tex.<1d~{%b32}/2d~%b32*2/3d~%b32*4>.v4.f32.f32 =b32*4, [%b64, %b64, $1']"),
    turn("tex.level.<1d~{%b32}/2d~%b32*2/3d~%b32*4>.v4.f32.f32 =b32*4, [tx, sa, $1'], %f32"),
    turn("tex.grad.2d.v4.f32.f32 =b32*4, [tx, sa, %b32*2], %f32*2, %f32*2"),
    turn("tex.2d.v4.f32.s32 =b32*4, [tx, %b32*2]"),
    turn("tld4.<r/g/b/a>.2d.v4.f32.f32 =b32*4, [tx, sa, %f32*2]"),
    turn(
        "txq.<width/height/depth/channel_data_type/channel_order/normalized_coords>.b32 =b32, [<tx/%b64>]",
    ),
    turn(
        "txq.<filter_mode/addr_mode_0/addr_mode_1/addr_mode_2/force_unnormalized_coords>.b32 =b32, [<sa/%b64>]",
    ),
];
