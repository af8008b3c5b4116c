//! Copies by tensor map in the interpreter: kernels that write their map with `tensormap.replace`,
//! and what the ISA says arrives.

use orias::launch::{Argument, Buffer, Launch};

/// Runs `body` with one thread: %in and %out are buffers, %map the map's address, %tile shared
/// memory of 1024-byte alignment, %bar an mbarrier for one arrival. `fields` are the arguments of
/// `tensormap.replace.tile`.
fn run(fields: &[&str], body: &str, input: &[u16], elements: usize) -> Vec<u16> {
    let (source, launch) = kernel(fields, body, input, elements);
    let program =
        orias::ptx::load(&source).unwrap_or_else(|e| panic!("{}", e.render("k.ptx", &source)));
    let outcome =
        orias::interpret::run(&program, &source, &launch).unwrap_or_else(|e| panic!("{e}"));
    outcome.buffers[1].chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect()
}

fn kernel(fields: &[&str], body: &str, input: &[u16], elements: usize) -> (String, Launch) {
    let fields: String = fields
        .iter()
        .map(|f| {
            let (field, values) = f.split_once(' ').expect("a field and its values");
            let ty = if field.ends_with("address")
                || field.ends_with("stride") && field.starts_with("global")
            {
                "b64"
            } else {
                "b32"
            };
            format!("tensormap.replace.tile.{field}.global.b1024.{ty} [%map], {values};\n")
        })
        .collect();
    let source = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 shared[4096];\n.shared .align 8 .b8 bar[8];\n\
         .visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pmap) {{\n\
         .reg .b64 %in, %out, %map; .reg .b32 %tile, %bar, %i, %s; .reg .b16 %h; .reg .pred %p;\n\
         ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %map, [pmap];\n\
         mov.u32 %tile, shared; mov.u32 %bar, bar; mbarrier.init.shared.b64 [%bar], 1;\n{fields}\n{body}\nret;\n}}\n"
    );
    let buffer = |bytes: Vec<u8>| Argument::Buffer(Buffer { bytes, writable: true, output: None });
    let input = input.iter().flat_map(|x| x.to_le_bytes()).collect();
    let launch = Launch {
        entry: "k".to_string(),
        grid: [1; 3],
        block: [1; 3],
        args: vec![buffer(input), buffer(vec![0; elements * 2]), buffer(vec![0; 128])],
        ..Launch::default()
    };
    (source, launch)
}

/// Waits for `bytes` bytes, then copies that much of shared memory to the output.
fn wait_and_copy(bytes: usize) -> String {
    format!(
        "mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {bytes};\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0; @!%p bra WAIT;\n\
         mov.u32 %i, 0; mov.u32 %s, %tile;\n\
         COPY: ld.shared.b16 %h, [%s]; st.global.b16 [%out], %h; add.u32 %s, %s, 2; add.u64 %out, %out, 2;\n\
         add.u32 %i, %i, 2; setp.lt.u32 %p, %i, {bytes}; @%p bra COPY;"
    )
}

/// A tensor of 16-bit integers, 16 by 4, with boxes of 8 by 2.
const PLANE: &[&str] = &[
    "global_address %in",
    "rank 1",
    "elemtype 1",
    "global_dim 0, 16",
    "global_dim 1, 4",
    "global_stride 0, 32",
    "box_dim 0, 8",
    "box_dim 1, 2",
    "element_stride 0, 1",
    "element_stride 1, 1",
];

fn count(n: u16) -> Vec<u16> {
    (1..=n).collect()
}

#[test]
fn a_box_is_copied_and_what_lies_outside_is_zero() {
    // From column 12 and row 3 on: four columns and one row lie inside.
    let load = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {12, 3}], [%bar];\n";
    let got = run(PLANE, &(load.to_string() + &wait_and_copy(32)), &count(64), 16);
    assert_eq!(got, [61, 62, 63, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Coordinates may be negative.
    let load = load.replace("{12, 3}", "{-2, -1}");
    let got = run(PLANE, &(load + &wait_and_copy(32)), &count(64), 16);
    assert_eq!(got, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn floats_outside_may_be_nan_and_rows_may_be_left_out() {
    // Every second row of f16; a box of 3 rows then has two.
    let fields =
        [PLANE, &["elemtype 6", "fill_mode 1", "box_dim 1, 3", "element_stride 1, 2"]].concat();
    let load = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {8, 2}], [%bar];\n";
    let got = run(&fields, &(load.to_string() + &wait_and_copy(32)), &count(64), 16);
    let mut want: Vec<u16> = (41..=48).collect();
    want.extend([0x7fff; 8]);
    assert_eq!(got, want);
}

#[test]
fn swizzled_units_change_places_by_their_row() {
    // 64 columns: rows of 128 bytes. The first unit of row 1 stands second, and the second one
    // first.
    let fields =
        [PLANE, &["global_dim 0, 64", "global_stride 0, 128", "box_dim 0, 64", "swizzle_mode 3"]]
            .concat();
    let load = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0}], [%bar];\n";
    let got = run(&fields, &(load.to_string() + &wait_and_copy(256)), &count(256), 128);
    assert_eq!(got[..64], count(64)[..]);
    let units: Vec<u16> = got[64..].iter().step_by(8).map(|x| (x - 65) / 8).collect();
    assert_eq!(units, [1, 0, 3, 2, 5, 4, 7, 6]);
}

#[test]
fn stores_leave_out_what_lies_outside() {
    let fields = [PLANE, &["global_address %out"]].concat();
    let body = "st.shared.v4.b32 [%tile], {0x20001, 0x40003, 0x60005, 0x80007};\n\
                st.shared.v4.b32 [%tile+16], {0xa0009, 0xc000b, 0xe000d, 0x10000f};\n\
                cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {12, 2}], [%tile];\n\
                cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    let got = run(&fields, body, &[], 64);
    assert_eq!(got[44..48], [1, 2, 3, 4]);
    assert_eq!(got[60..], [9, 10, 11, 12]);
    assert_eq!(got.iter().filter(|x| **x != 0).count(), 8);
}

#[test]
fn reductions_combine_with_the_tensor() {
    let fields =
        [PLANE, &["global_address %out", "elemtype 2", "global_dim 0, 8", "box_dim 0, 4"]].concat();
    let add = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%map, {0, 0}], [%tile];\n";
    let body = format!("st.shared.v4.b32 [%tile], {{1, 2, 3, 0xffff}};\n{add}{add}");
    let got = run(&fields, &body, &[], 64);
    assert_eq!(got[..8], [2, 0, 4, 0, 6, 0, 0xfffe, 1]);
}

#[test]
fn an_interleaved_map_is_refused_by_both_engines_with_what_is_not_documented() {
    let load = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0}], [%bar];";
    for layout in ["interleave_layout 1", "interleave_layout 2"] {
        let (source, launch) = kernel(&[PLANE, &[layout]].concat(), load, &count(64), 8);
        let program = orias::ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
        let interpreted = orias::interpret::run(&program, &source, &launch).unwrap_err();
        let output = orias::driver::compile_source(&source, &Default::default()).expect("PTX");
        let limits = orias_targets::simulator::Limits::default();
        let simulated = orias::simulate::simulate(&output.cubin, &launch, limits).unwrap_err();
        for error in [interpreted.to_string(), simulated.to_string()] {
            assert!(error.contains(orias_targets::tensor_map::INTERLEAVED), "{error}");
        }
    }
}
