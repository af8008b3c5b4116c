//! Time to compile: beside ptxas on the same files, of one small kernel and of a module of a
//! thousand of them; the front end and each stage alone; kernels of the corpus; and shapes whose
//! size is a number.
//!
//! `…_process` rows start a program and read and write files, as a user of the command line pays
//! it; `…_in_process` rows call the library on text in memory. ptxas's rows are there only when the
//! oracle tools are (`tests/oracle.sh`).

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use orias::Compiler;
use orias::ahead;
use orias::driver::{self, CompileOptions};
use orias::lower::{self, LowerOptions};
use orias::ptx::program::FuncId;
use orias_systems::pipeline::PHASES;
use orias_systems::{Options, Worker};

#[path = "../src/allocator.rs"]
mod allocator;

/// The program's: what a bench in this process measures is what the program does.
#[global_allocator]
static ALLOCATOR: allocator::FewSizes = allocator::FewSizes;

const KERNELS: usize = 1000;

fn main() {
    allocator::begin();
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

/// A table of bytes, as nvcc writes one: most of some real modules, of which each transform has
/// dozens.
#[divan::bench(sample_count = 50)]
fn front_end_table(bencher: Bencher<'_, '_>) {
    let bytes: Vec<String> = (0..100_000_u32).map(|i| (i * i % 251).to_string()).collect();
    let (count, list) = (bytes.len(), bytes.join(", "));
    let head = ".version 9.0\n.target sm_90a\n.address_size 64\n";
    let text = format!("{head}.global .align 8 .b8 table[{count}] = {{{list}}};\n");
    let bencher = bencher.counter(BytesCount::of_str(&text));
    bencher.bench_local(|| orias::ptx::load(divan::black_box(&text)).is_ok());
}

#[divan::bench(sample_count = 20)]
fn front_end_thousand(bencher: Bencher<'_, '_>) {
    let text = module(KERNELS);
    let bencher = bencher.counter(BytesCount::of_str(&text));
    bencher.bench_local(|| orias::ptx::load(divan::black_box(&text)).is_ok());
}

/// The same, read by two threads: each reads what stands outside of bodies, and its own bodies.
#[divan::bench(sample_count = 20)]
fn front_end_thousand_two_threads(bencher: Bencher<'_, '_>) {
    let text = module(KERNELS);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let bencher = bencher.counter(BytesCount::of_str(&text));
    bencher.bench_local(|| {
        let program = pool.install(|| orias::ptx::load_apart(divan::black_box(&text)));
        assert!(program.is_some(), "a module that threads may share");
    });
}

/// How the benches of single stages compile.
fn pipeline() -> Options {
    Options { verify_each: false, ..Options::for_test() }
}

/// A worker with the first function of [`UNROLLED`], which has run the phases before one.
fn worker_before(phase: usize) -> Worker {
    let pipeline = pipeline();
    let options = LowerOptions { target: pipeline.target, opt_level: 3, fmad: true };
    let mut worker = Worker::new(pipeline).expect("no names to check");
    let program = orias::ptx::load(UNROLLED).expect("the corpus compiles");
    let module = lower::module(&program, &options).expect("the corpus compiles");
    let of = |f: &orias::ptx::program::Function<'_>| f.entry && f.defined;
    let at = program.functions.iter().position(of).expect("a kernel");
    let (id, function) = (FuncId(at as u32), &program.functions[at]);
    let info = lower::function(&program, &module, (id, function), id, worker.body());
    worker.set_info(info.expect("the corpus compiles"));
    worker.run_through(phase).expect("the corpus compiles");
    worker
}

/// Lowering of the whole module, with its layout, from a checked program.
#[divan::bench(sample_count = 50)]
fn stage_0_lower(bencher: Bencher<'_, '_>) {
    let program = orias::ptx::load(UNROLLED).expect("the corpus compiles");
    let options = LowerOptions { target: pipeline().target, opt_level: 3, fmad: true };
    let insts: usize = program.functions.iter().map(|f| f.code.len()).sum();
    let worker = || Worker::new(pipeline()).expect("no names to check");
    bencher.counter(ItemsCount::new(insts)).with_inputs(worker).bench_local_refs(|worker| {
        let module = lower::module(&program, &options).expect("the corpus compiles");
        for (i, function) in program.functions.iter().enumerate().filter(|(_, f)| f.defined) {
            worker.reset();
            let id = FuncId(i as u32);
            let info = lower::function(&program, &module, (id, function), id, worker.body());
            divan::black_box(info).expect("the corpus compiles");
        }
    });
}

/// The stages of the pipeline, each from where the one before has left the corpus's largest kernel.
const STAGES: [&str; 9] = [
    "1-initial-setup",
    "2-early-optimization",
    "3-mid-level-optimization",
    "4-late-optimization",
    "5-legalization",
    "6-scheduling-and-regalloc",
    "7-post-regalloc-and-post-schedule",
    "8-mercury",
    "9-post-mercury",
];

#[divan::bench(args = STAGES, sample_count = 30)]
fn stage(bencher: Bencher<'_, '_>, name: &str) {
    let of = |phase: &&orias_systems::pipeline::Phase| phase.stage.name() == name;
    let first = PHASES.iter().position(|phase| of(&phase)).expect("a stage");
    let count = PHASES.iter().filter(of).count();
    let insts = worker_before(first).body().live_inst_count();
    bencher.counter(ItemsCount::new(insts)).with_inputs(|| worker_before(first)).bench_local_refs(
        |worker| {
            worker.run_only(first..first + count).expect("the corpus compiles");
        },
    );
}

/// A module by a compiler that has compiled it before, with one thread.
fn whole(bencher: Bencher<'_, '_>, source: &str) {
    let compiler = Compiler::new(CompileOptions { threads: 1, ..CompileOptions::default() });
    let program = orias::ptx::load(source).expect("the bench's text compiles");
    let insts: usize = program.functions.iter().map(|f| f.code.len()).sum();
    bencher.counter(ItemsCount::new(insts)).bench_local(|| {
        compiler.compile(divan::black_box(source)).expect("the bench's text compiles")
    });
}

/// Kernels of the corpus: a small one, two of ordinary size, the largest.
const KERNEL_FILES: [(&str, &str); 4] = [
    ("small_vecadd", include_str!("../tests/corpus/vecadd/vecadd.ptx")),
    ("medium_gemm", include_str!("../tests/corpus/gemm_reg4x4/gemm_reg4x4.ptx")),
    ("medium_softmax", FRONT_END),
    ("large_sha256", UNROLLED),
];

#[divan::bench(args = KERNEL_FILES.map(|(name, _)| name), sample_count = 50)]
fn kernel(bencher: Bencher<'_, '_>, name: &str) {
    let source = KERNEL_FILES.iter().find(|(known, _)| *known == name).expect("a kernel").1;
    whole(bencher, source);
}

fn shape(bencher: Bencher<'_, '_>, name: &str, size: usize) {
    whole(bencher, &orias_speed::shapes::find(name).expect("a shape").text(size));
}

#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 5)]
fn straight_line(bencher: Bencher<'_, '_>, instructions: usize) {
    shape(bencher, "straight", instructions);
}

/// On demand: `cargo bench --bench compile -- --ignored`.
#[divan::bench(ignore, sample_count = 2, sample_size = 1)]
fn straight_line_of_a_million(bencher: Bencher<'_, '_>) {
    shape(bencher, "straight", 1_000_000);
}

#[divan::bench(args = [5_000, 50_000], sample_count = 4)]
fn blocks(bencher: Bencher<'_, '_>, blocks: usize) {
    shape(bencher, "diamonds", blocks);
}

/// Many nests three deep.
#[divan::bench(args = [300, 3_000], sample_count = 5)]
fn loop_nests(bencher: Bencher<'_, '_>, loops: usize) {
    shape(bencher, "loops", loops);
}

/// One nest so deep.
#[divan::bench(args = [10, 100], sample_count = 5)]
fn deep_loop_nest(bencher: Bencher<'_, '_>, depth: usize) {
    shape(bencher, "nest", depth);
}

/// So many values live at once.
#[divan::bench(args = [200, 400, 1_000], sample_count = 5)]
fn register_pressure(bencher: Bencher<'_, '_>, values: usize) {
    shape(bencher, "pressure", values);
}
