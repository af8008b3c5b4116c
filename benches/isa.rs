//! Time of the instruction table: encoding, decoding and text of one instruction (the mean over a
//! mixed kernel), whole listings, and the disassembler as a program beside nvdisasm and cuobjdump
//! on the same large cubin.
//!
//! The rows named after a tool of the oracle are there only when it is installed
//! (`tests/oracle.sh`). The last line printed is the ratio of the programs' times.

use divan::Bencher;
use divan::counter::ItemsCount;
use orias::dis::{Code, DisOptions};
use orias::driver::{CompileOptions, compile_source};
use orias_components::Inst;
use orias_targets::{Target, target, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Instant;

/// Kernels of the large cubin, and how often each repeats its body.
const KERNELS: usize = 200;
const BODIES: usize = 24;

fn main() {
    divan::main();
    ratios();
}

/// Integer, float, memory, predicates, branches, in about the shares that kernels have.
const BODY: &str = r"
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4+OFFSET];
    ld.global.f32 %f2, [%rd4+64];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    mul.f32 %f4, %f3, 0f3FC00000;
    setp.lt.f32 %p1, %f4, %f1;
    selp.f32 %f5, %f4, %f1, %p1;
    mad.lo.s32 %r3, %r3, %r2, %r1;
    xor.b32 %r4, %r3, %r1;
    shl.b32 %r5, %r4, 3;
    and.b32 %r6, %r5, 65535;
    setp.eq.s32 %p2, %r6, OFFSET;
    @%p2 bra LOUT;
    st.global.f32 [%rd4+128], %f5;
    st.global.u32 [%rd4+192], %r6;
";

/// PTX of a module with so many kernels.
fn module(kernels: usize) -> String {
    let mut out = String::from(".version 9.0\n.target sm_90a\n.address_size 64\n");
    for kernel in 0..kernels {
        out.push_str(&format!(
            ".visible .entry kernel_{kernel}(.param .u64 a, .param .u32 n) {{\n\
             .reg .pred %p<4>; .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n\
             ld.param.u64 %rd1, [a]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x;\n\
             mul.wide.u32 %rd3, %r1, 4; mov.u32 %r3, %r1; mov.f32 %f3, 0f00000000;\n"
        ));
        for body in 0..BODIES {
            out.push_str(&BODY.replace("OFFSET", &(4 * body).to_string()).replace("LOUT", "OUT"));
        }
        out.push_str("OUT:\n ret;\n}\n");
    }
    out
}

fn sm90a() -> &'static Target {
    target("sm_90a").expect("a target")
}

static CUBIN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let options = CompileOptions::default();
    compile_source(&module(KERNELS), &options).expect("the bench's kernels compile").cubin
});

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench_isa.cubin");
    std::fs::write(&path, &*CUBIN).expect("the target folder is writable");
    path
});

/// The words of one kernel with their places, without the padding at its end.
static WORDS: LazyLock<Vec<(u64, u128)>> = LazyLock::new(|| {
    let code = Code::cubin(&CUBIN).expect("our own file");
    let words = code.parts[0].words.iter().enumerate();
    let words = words.map(|(i, w)| ((i * 16) as u64, u128::from_le_bytes(*w)));
    words.filter(|(_, w)| *w & 0xfff != 0x918).collect()
});

static INSTS: LazyLock<Vec<(u64, Inst)>> = LazyLock::new(|| {
    let decode = |(pc, word): &(u64, u128)| (*pc, sm90a().decode(*word, *pc).expect("decodes"));
    WORDS.iter().map(decode).collect()
});

#[divan::bench]
fn encode(bencher: Bencher<'_, '_>) {
    let insts = &*INSTS;
    bencher.counter(ItemsCount::new(insts.len())).bench_local(|| {
        for (pc, inst) in insts {
            let _ = divan::black_box(sm90a().encode(divan::black_box(inst), *pc));
        }
    });
}

#[divan::bench]
fn decode(bencher: Bencher<'_, '_>) {
    let words = &*WORDS;
    bencher.counter(ItemsCount::new(words.len())).bench_local(|| {
        for (pc, word) in words {
            let _ = divan::black_box(sm90a().decode(divan::black_box(*word), *pc));
        }
    });
}

#[divan::bench]
fn decode_and_text(bencher: Bencher<'_, '_>) {
    let words = &*WORDS;
    let mut out = String::new();
    bencher.counter(ItemsCount::new(words.len())).bench_local(|| {
        out.clear();
        for (pc, word) in words {
            let (form, inst) = sm90a().decode_row(*word, *pc).expect("decodes");
            text::write(&mut out, sm90a(), Some(form), &inst, &mut &text::Numeric);
        }
        divan::black_box(out.len())
    });
}

#[divan::bench(args = [false, true], sample_count = 20)]
fn listing(bencher: Bencher<'_, '_>, labels: bool) {
    let file = &*CUBIN;
    let options = DisOptions { labels, ..DisOptions::default() };
    bencher.bench_local(|| orias::dis::cubin(divan::black_box(file), options).expect("decodes"));
}

/// Seconds of a program, the best of so many runs.
fn seconds(runs: usize, program: &Path, args: &[&str]) -> f64 {
    let run = || {
        let start = Instant::now();
        let status = Command::new(program).args(args).arg(&*FILE).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|s| s.success()), "{} failed", program.display());
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// The disassembler beside the tools that it is measured by, as whole programs.
fn ratios() {
    if std::env::args().any(|a| a == "--test" || a == "--list") {
        return;
    }
    let ours = Path::new(env!("CARGO_BIN_EXE_orias"));
    let bytes = FILE.metadata().map_or(0, |m| m.len());
    for (tool, theirs, args) in
        [("nvdisasm", &["-c"][..], &["dis", "--labels"][..]), ("cuobjdump", &["-sass"], &["dis"])]
    {
        let Some(program) = orias_runner::oracle::tool(tool) else { continue };
        let (us, them) = (seconds(10, ours, args), seconds(3, &program, theirs));
        let ratio = them / us;
        println!(
            "{bytes} bytes: orias {} {:.1} ms, {tool} {} {:.0} ms: {ratio:.0} times as fast",
            args.join(" "),
            us * 1e3,
            theirs.join(" "),
            them * 1e3,
        );
    }
}
