//! Time to compile, beside ptxas on the same files: one small kernel, and a module of a thousand of
//! them.
//!
//! `…_process` rows start a program and read and write files, as a user of the command line pays
//! it; `…_in_process` rows call the library on text in memory. ptxas's rows are there only when the
//! oracle tools are (`tests/oracle.sh`).

use divan::Bencher;
use divan::counter::BytesCount;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use orias::driver::{self, CompileOptions};

const KERNELS: usize = 1000;

fn main() {
    divan::main();
}

/// The PTX of a module with `count` saxpy kernels.
fn module(count: usize) -> String {
    let mut text = String::from(".version 9.0\n.target sm_90a\n.address_size 64\n");
    for i in 0..count {
        text.push_str(&SAXPY.replace("NAME", &format!("saxpy_{i}")));
    }
    text
}

/// As nvcc writes it.
const SAXPY: &str = r"
.visible .entry NAME(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    ld.param.u32 %r2, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.s32 %rd4, %r1, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.f32 %f2, [%rd5];
    cvta.to.global.u64 %rd6, %rd2;
    add.s64 %rd7, %rd6, %rd4;
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
DONE:
    ret;
}
";

struct Files {
    small: PathBuf,
    thousand: PathBuf,
    out: PathBuf,
}

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("the target folder is writable");
        path
    };
    Files {
        small: write("bench_small.ptx", module(1)),
        thousand: write("bench_thousand.ptx", module(KERNELS)),
        out: folder.join("bench.cubin"),
    }
});

fn in_process(bencher: Bencher<'_, '_>, kernels: usize) {
    let source = module(kernels);
    let options = CompileOptions::default();
    bencher.bench_local(|| {
        driver::compile_source(divan::black_box(&source), &options)
            .expect("the bench's kernels compile")
    });
}

fn process(bencher: Bencher<'_, '_>, program: &Path, file: &Path) {
    bencher.bench_local(|| {
        let status = Command::new(program)
            .args(["-arch=sm_90a", "-O3"])
            .arg(file)
            .arg("-o")
            .arg(&FILES.out)
            .stdout(Stdio::null())
            .status();
        assert!(status.is_ok_and(|s| s.success()), "{} failed", program.display());
    });
}

fn ptxas(bencher: Bencher<'_, '_>, file: &Path) {
    match orias_runner::oracle::tool("ptxas") {
        Some(program) => process(bencher, &program, file),
        None => bencher.bench_local(|| ()),
    }
}

#[divan::bench(sample_count = 50)]
fn small_orias_in_process(bencher: Bencher<'_, '_>) {
    in_process(bencher, 1);
}

#[divan::bench(sample_count = 30)]
fn small_orias_process(bencher: Bencher<'_, '_>) {
    process(bencher, Path::new(env!("CARGO_BIN_EXE_orias")), &FILES.small);
}

#[divan::bench(sample_count = 30)]
fn small_ptxas_process(bencher: Bencher<'_, '_>) {
    ptxas(bencher, &FILES.small);
}

#[divan::bench(sample_count = 10)]
fn thousand_orias_in_process(bencher: Bencher<'_, '_>) {
    in_process(bencher, KERNELS);
}

#[divan::bench(sample_count = 10)]
fn thousand_orias_process(bencher: Bencher<'_, '_>) {
    process(bencher, Path::new(env!("CARGO_BIN_EXE_orias")), &FILES.thousand);
}

#[divan::bench(sample_count = 3)]
fn thousand_ptxas_process(bencher: Bencher<'_, '_>) {
    ptxas(bencher, &FILES.thousand);
}

/// A corpus kernel of ordinary size, through the lexer and parser alone, and through the checks
/// too.
const FRONT_END: &str = include_str!("../tests/corpus/tri_softmax/tri_softmax.ptx");

#[divan::bench(sample_count = 200)]
fn front_end_parse(bencher: Bencher<'_, '_>) {
    let bencher = bencher.counter(BytesCount::of_str(FRONT_END));
    bencher.bench(|| orias::ptx::parser::parse(divan::black_box(FRONT_END), &mut ()));
}

#[divan::bench(sample_count = 200)]
fn front_end_parse_and_check(bencher: Bencher<'_, '_>) {
    let bencher = bencher.counter(BytesCount::of_str(FRONT_END));
    bencher.bench(|| orias::ptx::load(divan::black_box(FRONT_END)).is_ok());
}

/// The largest of the corpus: nvcc's, most of whose instructions look like one before.
const UNROLLED: &str = include_str!("../tests/corpus/sha256/sha256.ptx");

#[divan::bench(sample_count = 50)]
fn front_end_unrolled(bencher: Bencher<'_, '_>) {
    let bencher = bencher.counter(BytesCount::of_str(UNROLLED));
    bencher.bench(|| orias::ptx::load(divan::black_box(UNROLLED)).is_ok());
}

#[divan::bench(sample_count = 20)]
fn front_end_thousand(bencher: Bencher<'_, '_>) {
    let text = module(KERNELS);
    let bencher = bencher.counter(BytesCount::of_str(&text));
    bencher.bench_local(|| orias::ptx::load(divan::black_box(&text)).is_ok());
}
