//! `orias sim` as its users call it: the fixed command line, files in and out, JSON, and exit
//! status, for PTX and for cubins.

use super::{corpus, orias};
use crate::support::Scratch;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Runs vecadd's first case and returns what it printed.
fn vecadd(file: &str, scratch: &Scratch, extra: &[&str]) -> Output {
    let a = format!("in={}", corpus("vecadd/n1000.a.bin"));
    let b = format!("in={}", corpus("vecadd/n1000.b.bin"));
    let c = format!("out=4000:{}", scratch.path("c.bin"));
    let mut args = vec!["sim", file, "--entry", "vecadd", "--grid", "4", "--block", "256"];
    args.extend(["--arg", &a, "--arg", &b, "--arg", &c, "--arg", "u32=1000"]);
    args.extend(extra);
    orias(&args)
}

fn expected() -> Vec<u8> {
    std::fs::read(corpus("vecadd/n1000.c.expect.bin")).unwrap()
}

#[test]
fn ptx_runs_in_the_interpreter() {
    let scratch = Scratch::new();
    let output = vecadd(&corpus("vecadd/vecadd.ptx"), &scratch, &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(scratch.read("c.bin"), expected());
    let text = String::from_utf8(output.stdout).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json["instructions"].as_u64().unwrap() > 32);
    assert!(json["cycles"].is_null(), "the interpreter has no timing");
    assert_eq!(json["hazards"], serde_json::json!([]));
}

#[test]
fn a_cubin_runs_in_the_simulator() {
    let scratch = Scratch::new();
    let cubin = scratch.path("vecadd.cubin");
    let compiled = orias(&["-arch=sm_90a", &corpus("vecadd/vecadd.ptx"), "-o", &cubin]);
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = vecadd(&cubin, &scratch, &["--json", "--hazards=off"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(scratch.read("c.bin"), expected());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["cycles"].as_u64().unwrap() > 0);

    let output = vecadd(&cubin, &scratch, &["--hazards=deny"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_hazard_is_listed_or_denied() {
    let scratch = Scratch::new();
    let file = scratch.path("vecadd.cubin");
    let compiled = orias(&["-arch=sm_90a", &corpus("vecadd/vecadd.ptx"), "-o", &file]);
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    // Nothing waits for anything any more.
    let mut bytes = std::fs::read(&file).unwrap();
    let text = orias::elf::Cubin::read(&bytes).unwrap().kernel("vecadd").unwrap().text.to_vec();
    let at = bytes.windows(text.len()).position(|w| *w == text[..]).unwrap();
    for word in bytes[at..at + text.len()].as_chunks_mut::<16>().0 {
        let waits = 0b11_1111 << (116 - 64);
        let high = u64::from_le_bytes(word[8..].try_into().unwrap()) & !waits;
        word[8..].copy_from_slice(&high.to_le_bytes());
    }
    std::fs::write(&file, bytes).unwrap();

    let output = vecadd(&file, &scratch, &["--json", "--hazards=warn"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing waits for scoreboard"));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &json["hazards"][0];
    assert!(first["scoreboard"].is_u64() && first["first"]["text"].is_string(), "{json}");
    assert_eq!(scratch.read("c.bin"), expected(), "results are there at once");

    std::fs::remove_file(scratch.path("c.bin")).unwrap();
    let output = vecadd(&file, &scratch, &["--hazards=deny"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("hazards"));
    assert!(!Path::new(&scratch.path("c.bin")).exists(), "no output is written");
}

/// A kernel that copies its parameters to a buffer: 4, 8, 4, 8 bytes, then a structure of 12.
const PARAMETERS: &str = "
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 a, .param .u64 b, .param .f32 c, .param .f64 d,
                  .param .align 4 .b8 s[12])
{
    .reg .b64 %out, %b, %d;
    .reg .b32 %a, %c, %s;
    ld.param.u64 %out, [out];
    ld.param.u32 %a, [a];
    ld.param.u64 %b, [b];
    ld.param.b32 %c, [c];
    ld.param.b64 %d, [d];
    ld.param.b32 %s, [s+8];
    st.global.u32 [%out], %a;
    st.global.u64 [%out+8], %b;
    st.global.u32 [%out+16], %c;
    st.global.u64 [%out+24], %d;
    st.global.u32 [%out+32], %s;
    ret;
}
";

#[test]
fn scalars_and_structures_arrive_with_their_bits() {
    let scratch = Scratch::new();
    let ptx = scratch.write("k.ptx", PARAMETERS);
    let bytes = scratch.write("s.bin", [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    let start = scratch.write("start.bin", [0xaa; 40]);
    let inout = format!("inout={start}:{}", scratch.path("out.bin"));
    let structure = format!("bytes={bytes}");
    let mut args = vec!["sim", &ptx, "--entry", "k", "--grid", "1", "--block", "1,1,1"];
    for arg in [&inout, "s32=-2", "s64=-3", "f32=-inf", "f64=0x3ff0000000000000", &structure] {
        args.extend(["--arg", arg]);
    }
    let output = orias(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let got = scratch.read("out.bin");
    assert_eq!(got[0..4], (-2i32).to_le_bytes());
    assert_eq!(got[4..8], [0xaa; 4], "bytes that the kernel does not write stay");
    assert_eq!(got[8..16], (-3i64).to_le_bytes());
    assert_eq!(got[16..20], f32::NEG_INFINITY.to_le_bytes());
    assert_eq!(got[24..32], 1f64.to_le_bytes());
    assert_eq!(got[32..36], [1, 2, 3, 4]);
}

/// Runs with these arguments: the one error line that `orias sim` gives; no output file may be
/// written.
fn refused(ptx: &Path, args: &[&str]) -> String {
    let mut all = vec!["sim", ptx.to_str().unwrap()];
    all.extend(args);
    let output = orias(&all);
    assert!(!output.status.success(), "{args:?} should fail");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    text
}

#[test]
fn what_is_wrong_with_a_launch_is_said() {
    let scratch = Scratch::new();
    let ptx = PathBuf::from(corpus("vecadd/vecadd.ptx"));
    let out = format!("out=4000:{}", scratch.path("c.bin"));
    let launch = ["--entry", "vecadd", "--grid", "4", "--block", "256"];
    let with = |args: &[&str]| refused(&ptx, &[&launch[..], args].concat());

    let text = with(&["--arg", &out]);
    assert!(text.contains("has 4 parameters, the launch gives 1 arguments"), "{text}");
    let text = with(&["--arg", "u32=5", "--arg", &out, "--arg", &out, "--arg", "u32=1"]);
    assert!(!text.is_empty(), "a small number is no pointer");
    let text = with(&["--arg", "u33=1"]);
    assert!(text.contains("`u33` is none of"), "{text}");
    let text = with(&["--arg", "in=/no/such/file"]);
    assert!(text.contains("/no/such/file"), "{text}");
    let text = refused(&ptx, &["--entry", "nope", "--grid", "1", "--block", "1"]);
    assert!(text.contains("there is no kernel `nope`; the file has "), "{text}");
    let text = refused(&ptx, &["--entry", "vecadd", "--grid", "1", "--block", "2000"]);
    assert!(text.contains("1024"), "{text}");
    assert!(!Path::new(&scratch.path("c.bin")).exists(), "no output file after an error");

    // A kernel that runs past its buffer.
    let small = format!("out=100:{}", scratch.path("c.bin"));
    let (a, b) = (
        format!("in={}", corpus("vecadd/n1000.a.bin")),
        format!("in={}", corpus("vecadd/n1000.b.bin")),
    );
    let text = with(&["--arg", &a, "--arg", &b, "--arg", &small, "--arg", "u32=1000"]);
    assert!(text.contains("out-of-bounds write of 4 bytes at global address 0x"), "{text}");
    assert!(text.contains("st.global.f32"), "the instruction is named: {text}");
    let read_only = format!("in={}", corpus("vecadd/n1000.a.bin"));
    let text = with(&["--arg", &a, "--arg", &b, "--arg", &read_only, "--arg", "u32=1000"]);
    assert!(text.contains("read-only"), "{text}");
}
