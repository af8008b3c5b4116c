//! What `orias` reads beside PTX and cubins, damaged: options files (`--options-file`; there are no
//! `@file`s, profiles or manifests), the values of `--arg`, shapes, and the bare words of `dis
//! --raw`. Each ends, in a result or in an error that names its place; nothing panics, and nothing
//! is read or made without bound.
//!
//! `ORIAS_FUZZ=N` makes N times as many, `ORIAS_SEED=S` others.

use super::orias;
use crate::support::Scratch;
use orias::cli::options::normalise;
use orias::dis::{self, Check, Code, DisOptions};
use orias::launch::parse_argument;
use orias_isa::setup::Random;
use orias_runner::oracle::workspace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

fn random() -> Random {
    Random(setting("ORIAS_SEED", 1))
}

fn below(random: &mut Random, limit: usize) -> usize {
    (random.word() % limit.max(1) as u64) as usize
}

/// Pieces of good input, and what is good nowhere.
const ODD: &[&[u8]] = &[
    b"",
    b"\"",
    b"'",
    b"\\",
    b"=",
    b"-",
    b"--",
    b" ",
    b"\n",
    b"\0",
    b"\xff\xfe",
    b"\xc3",
    b"\xc3\xa9",
    b",",
    b":",
    b"/",
    b"x",
    b"-1",
    b"0x",
    b"0xffffffffffffffff",
    b"99999999999999999999999999",
    b"1e999",
    b"nan",
    b"4294967296",
    b"%",
    b"@",
];

/// Good texts with pieces deleted, doubled, exchanged, put in, and cut off.
fn damage(random: &mut Random, good: &[&str]) -> Vec<u8> {
    let pieces = |text: &str| -> Vec<Vec<u8>> {
        let ends = |c: char| !c.is_alphanumeric();
        text.split_inclusive(ends).map(|piece| piece.as_bytes().to_vec()).collect()
    };
    let mut all = pieces(good[below(random, good.len())]);
    for _ in 0..1 + below(random, 4) {
        let at = below(random, all.len());
        match below(random, 7) {
            0 if all.len() > 1 => drop(all.remove(at)),
            1 => all.insert(at, all[at].clone()),
            2 => {
                let other = below(random, all.len());
                all.swap(at, other);
            }
            3 => {
                let other = pieces(good[below(random, good.len())]);
                all[at] = other[below(random, other.len())].clone();
            }
            4 => all.truncate(at + 1),
            _ => all.insert(at, ODD[below(random, ODD.len())].to_vec()),
        }
    }
    all.concat()
}

/// Runs something many times; panics with the inputs that made it panic, or whose error says
/// nothing.
fn survives(count: u64, make: impl Fn(&mut Random) -> Vec<u8>, run: impl Fn(&[u8]) -> bool) {
    let mut random = random();
    let mut wrong = Vec::new();
    for _ in 0..count * setting("ORIAS_FUZZ", 1) {
        let input = make(&mut random);
        if !catch_unwind(AssertUnwindSafe(|| run(&input))).unwrap_or(false) {
            wrong.push(String::from_utf8_lossy(&input).into_owned());
        }
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn damaged_options_files_are_read_to_their_end() {
    let scratch = Scratch::new();
    let file = scratch.path("options");
    let own = format!("--options-file={file}");
    let itself = format!("-v\n{own} -O1");
    let good = [
        "-arch sm_90a -O3 -v\n--output-file=\"a b.cubin\" k.ptx\n",
        "--gpu-name=sm_90a --maxrregcount 32\n\n  -lineinfo --knob A=1 --entry k,l -dlcm ca\n",
        "-m64 -O0 --knob \"B=2\"\\\n -e k --warn-on-spills -o - \"\" -\n",
        &itself,
    ];
    let run = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        match normalise(std::slice::from_ref(&own)) {
            Ok(all) => {
                let values = all.options.iter().filter_map(|(_, value)| value.as_ref());
                values.chain(&all.inputs).map(String::len).sum::<usize>() < 1 << 20
            }
            Err(error) => error.contains("options file '"),
        }
    };
    survives(3_000, |random| damage(random, &good), run);
}

#[test]
fn a_mistake_in_an_options_file_is_named_with_its_line() {
    let scratch = Scratch::new();
    let error = |bytes: &[u8]| {
        let file = scratch.write("o", bytes);
        normalise(&["-optf".into(), file.clone()]).unwrap_err().replace(&file, "o")
    };
    assert_eq!(error(b"-v\n-O1 -bogus\n"), "Unknown option 'bogus' (options file 'o', line 2)");
    assert_eq!(error(b"-v\n\n-arch"), "argument expected after '-arch' (options file 'o', line 3)");
    assert_eq!(error(b"-v \"k.ptx"), "Stray '\"' character (options file 'o', line 1)");
    assert_eq!(error(b"-v\n\xff"), "Bytes that are no UTF-8 (options file 'o', line 2)");
    let inner = scratch.write("inner", "\n-nothing");
    let text = format!("-v -optf {inner}");
    let want = format!(
        "Unknown option 'nothing' (options file '{inner}', line 2) (options file 'o', line 1)"
    );
    assert_eq!(error(text.as_bytes()), want);
    let long = error(&vec![b' '; (1 << 20) + 1]);
    assert!(long.contains("it has 1048577 bytes, and 1048576 are the most"), "{long}");
    let endless = normalise(&["--options-file=/dev/zero".into()]).unwrap_err();
    assert!(endless.contains("does not end within 1048576 bytes"), "{endless}");
}

#[test]
fn options_files_that_name_each_other_end() {
    let scratch = Scratch::new();
    // Each of ten levels names the next one twenty times: no cycle, and 20^10 files.
    let name = |level: usize| scratch.path(&format!("level{level}"));
    for level in 0..10 {
        let next = format!("-optf {}\n", name(level + 1));
        scratch.write(&format!("level{level}"), next.repeat(20));
    }
    scratch.write("level10", "-v\n");
    let error = normalise(&["-optf".into(), name(0)]).unwrap_err();
    assert!(error.starts_with("Too many options file opened '"), "{error}");
}

#[test]
fn a_bad_options_file_ends_the_compiler_with_255_and_no_output() {
    let scratch = Scratch::new();
    let kernel = workspace().join("tests/corpus/vecadd/vecadd.ptx").display().to_string();
    let output = scratch.path("k.cubin");
    for (text, message) in [
        (&b"-arch sm_1"[..], "sm_1"),
        (b"-arch \"sm_90a", "Stray '\"' character (options file '"),
        (b"\xff\xff", "Bytes that are no UTF-8 (options file '"),
        (b"--knob A", "expected NAME=VALUE"),
        (b"--bogus", "Unknown option '-bogus' (options file '"),
    ] {
        let file = scratch.write("o", text);
        let run = orias(&["-optf", &file, &kernel, "-o", &output]);
        let said = String::from_utf8_lossy(&run.stderr) + String::from_utf8_lossy(&run.stdout);
        assert_eq!(run.status.code(), Some(255), "{said}");
        assert!(said.contains(message), "{said}");
        assert!(!Path::new(&output).exists());
    }
}

#[test]
fn damaged_arguments_are_read_or_named() {
    let scratch = Scratch::new();
    let file = scratch.write("f", [7; 64]);
    let (input, both, bytes) =
        (format!("in={file}"), format!("inout={file}:{file}2"), format!("bytes={file}"));
    let good = [
        "u32=5",
        "s32=-2147483648",
        "u64=0xffffffffffffffff",
        "f32=1.5",
        "f64=-inf",
        "f32=0x7f800001",
        "out=4000:c.bin",
        "tensor=0,f16,64x128,32x8,swizzle=64",
        "tensor=1,f32,8x4x4,8x4x2,strides=4096x65536,steps=1x2x1,offset=32,fill=nan",
        "tensor=0,f16,16x8x8x2,16,im2col=-1/-1:0/1:64",
        "tensor=0,u8,64x64,64x8,strides=1099511627760",
        &input,
        &both,
        &bytes,
    ];
    // Buffers of gigabytes are legal; those that chance makes are not.
    let small = |text: &str| !text.starts_with("out=") || text.len() < 14;
    let run = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        !small(&text)
            || parse_argument(&text).map_or_else(|e| e.to_string().contains(&text), |_| true)
    };
    survives(20_000, |random| damage(random, &good), run);
}

#[test]
fn words_of_any_bits_are_listed_or_named() {
    let target = orias_targets::target("sm_90a").expect("a target");
    let make = |random: &mut Random| {
        let count =
            16 * below(random, 6) + if below(random, 8) == 0 { below(random, 16) } else { 0 };
        (0..count).map(|_| random.word() as u8 & random.word() as u8).collect()
    };
    let options = DisOptions { labels: false, hex: true, control: true };
    let run = |bytes: &[u8]| match Code::raw(target, bytes) {
        Ok(code) => {
            let listed = code.listing(options).is_ok() && dis::json(&code, Vec::new()).is_ok();
            let graphs = dis::graphs(&code);
            let _ = (graphs.is_ok(), Check::code(&code));
            listed && bytes.len().is_multiple_of(16)
        }
        Err(error) => !error.to_string().is_empty() && !bytes.len().is_multiple_of(16),
    };
    survives(3_000, make, run);
}

#[test]
fn what_never_ends_is_refused_by_the_command_line() {
    let scratch = Scratch::new();
    let kernel = workspace().join("tests/corpus/vecadd/vecadd.ptx").display().to_string();
    let output = scratch.path("out.bin");
    let sim = |file: &str, arg: &str| {
        let shape = ["--entry", "vecadd", "--grid", "1", "--block", "32"];
        let args =
            ["--arg", arg, "--arg", arg, "--arg", &format!("out=128:{output}"), "--arg", "u32=1"];
        orias(&[&["sim", file][..], &shape, &args].concat())
    };
    let endless = "it is no regular file and does not end within 67108864 bytes";
    for kind in ["in=/dev/zero", "bytes=/dev/zero", "inout=/dev/zero:/dev/null"] {
        let run = sim(&kernel, kind);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && said.contains(endless), "{kind}: {said}");
        assert!(said.contains("/dev/zero"), "{said}");
    }
    for args in [
        &["sim", "/dev/zero", "--entry", "k", "--grid", "1", "--block", "1"][..],
        &["dis", "/dev/zero"],
        &["/dev/zero"],
    ] {
        let run = orias(args);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && said.contains(endless), "{args:?}: {said}");
    }
    assert!(!Path::new(&output).exists());
}

#[test]
fn bad_input_of_the_other_tools_has_its_exit_code() {
    let scratch = Scratch::new();
    let file = scratch.write("words", [0xff; 20]);
    let cases: [(&[&str], &str); 5] = [
        (&["dis", "--raw", &file], "20"),
        (&["dis", "--raw", "--arch", "sm_1", &file], "unknown target"),
        (&["sim", &file, "--entry", "k", "--grid", "1,0", "--block", "1"], "at least 1"),
        (&["sim", &file, "--entry", "k", "--grid", "1", "--block", "1", "--arg", "u32=x"], "u32=x"),
        (&["sim", &file, "--entry", "k", "--grid", "1", "--block", "1"], "words"),
    ];
    for (args, message) in cases {
        let run = orias(args);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && run.status.code() != Some(101), "{args:?}: {said}");
        assert!(said.contains(message), "{args:?}: {said}");
    }
}
