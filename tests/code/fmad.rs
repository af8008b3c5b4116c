//! `--fmad`: multiplications go into additions where ptxas lets them, and the results are those of
//! ptxas's code bit for bit.

use orias::dis::{DisOptions, cubin};
use orias::driver::{CompileOptions, compile_source};
use orias::launch::{Argument, Buffer, Launch, Scalar};
use orias::simulate::simulate;
use orias_isa::reference;
use orias_runner::oracle::tool;
use orias_targets::simulator::Limits;

/// Each way in which a product meets a sum; every result is stored.
const KERNEL: &str = "
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p, .param .f32 a, .param .f32 b, .param .f32 c, .param .f64 x, .param .f64 y,
    .param .b32 g, .param .b32 h)
{
    .reg .b64 %rd<3>; .reg .f32 %f<20>; .reg .f64 %d<9>; .reg .b32 %r<3>; .reg .b16 %h<20>;
    ld.param.u64 %rd1, [p];
    ld.param.f32 %f1, [a]; ld.param.f32 %f2, [b]; ld.param.f32 %f3, [c];
    ld.param.f64 %d1, [x]; ld.param.f64 %d2, [y];
    ld.param.b32 %r1, [g]; mov.b32 {%h1, %h2}, %r1; ld.param.b32 %r2, [h]; mov.b32 {%h3, %h4}, %r2;
    mul.f32 %f4, %f1, %f2;      add.f32 %f5, %f4, %f3;      st.global.f32 [%rd1], %f5;
    mul.f32 %f6, %f1, %f2;      sub.f32 %f7, %f3, %f6;      st.global.f32 [%rd1+4], %f7;
    mul.f32 %f8, %f1, %f3;      sub.f32 %f9, %f8, %f2;      st.global.f32 [%rd1+8], %f9;
    mul.rn.f32 %f10, %f1, %f2;  add.f32 %f11, %f10, %f1;    st.global.f32 [%rd1+12], %f11;
    mul.f32 %f12, %f3, %f2;     add.rn.f32 %f13, %f12, %f1; st.global.f32 [%rd1+16], %f13;
    mul.f64 %d3, %d1, %d2;      sub.f64 %d4, %d1, %d3;      st.global.f64 [%rd1+24], %d4;
    mul.ftz.f32 %f14, %f1, %f2; add.ftz.f32 %f15, %f14, %f2; st.global.f32 [%rd1+32], %f15;
    mul.f32 %f16, %f2, %f2;     add.f32 %f17, %f16, %f3;    st.global.f32 [%rd1+36], %f17;
    add.f32 %f18, %f16, %f1;    st.global.f32 [%rd1+40], %f18;
    mul.f16 %h5, %h1, %h2;      add.f16 %h6, %h5, %h3;      st.global.b16 [%rd1+44], %h6;
    mul.bf16 %h7, %h1, %h3;     sub.bf16 %h8, %h2, %h7;     st.global.b16 [%rd1+46], %h8;
    mul.f16 %h9, %h2, %h4;      sub.sat.f16 %h10, %h9, %h1; st.global.b16 [%rd1+48], %h10;
    mul.rn.bf16 %h11, %h1, %h4; add.bf16 %h12, %h11, %h3;   st.global.b16 [%rd1+50], %h12;
    ret;
}
";

fn ours(opt_level: u8, fmad: bool) -> Vec<u8> {
    let options = CompileOptions { opt_level, fmad, ..CompileOptions::default() };
    compile_source(KERNEL, &options).unwrap_or_else(|e| panic!("{e}")).cubin
}

/// How many instructions of a cubin have one of each kind's names.
fn count<const N: usize>(file: &[u8], kinds: [&[&str]; N]) -> [usize; N] {
    let listing = cubin(file, DisOptions::default()).expect("a cubin that is read");
    kinds.map(|words| listing.lines().filter(|l| words.iter().any(|w| l.contains(w))).count())
}

/// Float instructions of each kind: fused, multiplications, additions.
fn counts(file: &[u8]) -> [usize; 3] {
    count(file, [&["FFMA", "DFMA"], &["FMUL", "DMUL"], &["FADD", "DADD"]])
}

/// The same of halves. Of ptxas's code it says less: that moves constants by products of halves.
fn half_counts(file: &[u8]) -> [usize; 3] {
    count(file, [&["HFMA2"], &["HMUL2"], &["HADD2"]])
}

fn run(file: &[u8]) -> Vec<u8> {
    let buffer = Buffer { bytes: vec![0; 52], writable: true, output: None };
    let args = [
        Argument::Buffer(buffer),
        Argument::Scalar(Scalar::F32(1.000_000_1)),
        Argument::Scalar(Scalar::F32(0.333_333_34)),
        Argument::Scalar(Scalar::F32(-0.333_333_37)),
        Argument::Scalar(Scalar::F64(0.1)),
        Argument::Scalar(Scalar::F64(10.000_000_000_000_002)),
        // 0.6001 and 1.333 in f16, 0.3, 0.71 in the other.
        Argument::Scalar(Scalar::U32(0x3d55_38cd)),
        Argument::Scalar(Scalar::U32(0x39ae_34cd)),
    ];
    let launch = Launch {
        entry: "k".to_string(),
        grid: [1, 1, 1],
        block: [1, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        args: args.to_vec(),
    };
    let outcome = simulate(file, &launch, Limits::default()).unwrap_or_else(|e| panic!("{e}"));
    outcome.buffers.into_iter().next().expect("one buffer")
}

#[test]
fn products_go_into_sums_from_o1_on_and_only_where_asked() {
    assert_eq!(counts(&ours(3, true)), [7, 2, 2]);
    assert_eq!(counts(&ours(1, true)), [7, 2, 2]);
    assert_eq!(half_counts(&ours(1, true)), [3, 1, 1]);
    assert_eq!(half_counts(&ours(0, true)), [0, 4, 4]);
    assert_eq!(counts(&ours(0, true))[0], 0, "as ptxas, nothing is contracted at -O0");
    assert_eq!(counts(&ours(3, false))[0], 0);
    assert_ne!(run(&ours(3, true)), run(&ours(3, false)), "the values tell the roundings apart");
}

#[test]
fn results_are_those_of_ptxas() {
    let Some(ptxas) = tool("ptxas") else { return };
    for (opt_level, fmad) in [(0, true), (1, true), (3, true), (3, false)] {
        let options = [&*format!("-O{opt_level}"), &*format!("--fmad={fmad}")];
        let theirs = reference::ptxas(&ptxas, "sm_90a", KERNEL, &options).expect("its cubin");
        let ours = ours(opt_level, fmad);
        assert_eq!(counts(&ours), counts(&theirs), "-O{opt_level} --fmad={fmad}");
        assert_eq!(run(&ours), run(&theirs), "-O{opt_level} --fmad={fmad}");
    }
}
