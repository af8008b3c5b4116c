//! `orias dis` beside the oracle's disassemblers, on the cubins that ptxas and orias make of the
//! corpus: every word decodes and encodes to itself, `--labels` is `nvdisasm -c`, with `--hex`
//! `nvdisasm -c -hex`, and the plain listing is `cuobjdump -sass`: all of them whole and to the
//! byte.

use crate::support::Scratch;
use orias::dis::{Check, Code, DisOptions, cubin};
use orias_runner::compiler::Compiler;
use orias_runner::folders::LINE;
use orias_runner::oracle;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(tool: &Path, args: &[&str], file: &Path) -> String {
    let out = Command::new(tool).args(args).arg(file).output().expect("the tool starts");
    assert!(out.status.success(), "{tool:?} {file:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// The first line that differs is what a failure shows.
fn same(file: &Path, what: &str, ours: &str, theirs: &str) {
    for (i, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(a, b, "{}: {what}, line {}: ours, theirs", file.display(), i + 1);
    }
    assert_eq!(ours.len(), theirs.len(), "{}: {what}: bytes", file.display());
    assert!(theirs.contains("EXIT") || theirs.contains("RET"), "{}: no code", file.display());
}

/// The whole listings of one file, to the byte.
fn listings(tools: &Tools, file: &Path, bytes: &[u8]) {
    let labels = DisOptions { labels: true, ..DisOptions::default() };
    let words = DisOptions { hex: true, ..labels };
    for (tool, args, options) in [
        (&tools.nvdisasm, &["-c"][..], labels),
        (&tools.nvdisasm, &["-c", "-hex"], words),
        (&tools.cuobjdump, &["-sass"], DisOptions::default()),
    ] {
        let ours = cubin(bytes, options).expect("decodes");
        same(file, &format!("{args:?}"), &ours, &run(tool, args, file));
    }
}

struct Tools {
    nvdisasm: PathBuf,
    cuobjdump: PathBuf,
}

/// Compares everything that we say about one cubin.
fn compare(tools: &Tools, name: &str, compiler: Compiler, level: u8, folder: &Path) {
    let source = oracle::workspace().join(format!("tests/corpus/{name}/{name}.ptx"));
    let file = folder.join(format!("{name}-{}-O{level}.cubin", compiler.name()));
    let bytes = compiler.compile(&source, level).unwrap_or_else(|e| panic!("{name}: {e}"));
    std::fs::write(&file, &bytes).expect("a writable folder");
    let check = Check::cubin(&bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    assert!(check.passed(), "{}: {:?}", file.display(), check.failures);
    listings(tools, &file, &bytes);
}

fn compare_all(compiler: Compiler) {
    let found = ["ptxas", "nvdisasm", "cuobjdump"].map(oracle::tool);
    let [Some(_), Some(nvdisasm), Some(cuobjdump)] = found else { return };
    let tools = Tools { nvdisasm, cuobjdump };
    let scratch = Scratch::new();
    // The tools take most of the time: as many at once as there are cores.
    LINE.par_iter().for_each(|name| {
        for level in [0, 3] {
            compare(&tools, name, compiler, level, scratch.folder());
        }
    });
}

#[test]
fn listings_equal_those_of_nvdisasm_and_cuobjdump_on_ptxas_cubins() {
    compare_all(Compiler::Ptxas);
}

#[test]
fn listings_equal_those_of_nvdisasm_and_cuobjdump_on_our_cubins() {
    compare_all(Compiler::Orias);
}

#[test]
fn damaged_files_are_errors_with_a_place() {
    // No ELF file, no code of whole words, no instruction: each says so.
    assert!(cubin(b"not an ELF file", DisOptions::default()).is_err());
    let target = orias_targets::target("sm_90a").expect("a target");
    let short = orias::dis::raw(target, &[0; 17], DisOptions::default()).unwrap_err();
    assert!(short.to_string().contains("17 bytes"), "{short}");
    // A word that is no instruction stands in the listing, and the check counts it.
    let code = Code::raw(target, &[0xff; 32]).expect("two words");
    let (text, undecoded) = code.listing(DisOptions::default()).expect("short");
    assert!(text.contains("UNDECODED 0xffffffffffffffffffffffffffffffff ;"), "{text}");
    assert_eq!(undecoded.len(), 2);
    assert!(undecoded[1].error.to_string().contains("at 0x10"), "{:?}", undecoded[1]);
    let check = Check::code(&code);
    assert_eq!((check.words, check.decoded, check.passed()), (2, 0, false));
}

/// Objects have relocations, functions with sections of their own, and symbols that others define.
#[test]
fn listings_equal_those_of_nvdisasm_and_cuobjdump_on_objects() {
    let found = ["ptxas", "nvdisasm", "cuobjdump"].map(oracle::tool);
    let [Some(ptxas), Some(nvdisasm), Some(cuobjdump)] = found else { return };
    let tools = Tools { nvdisasm, cuobjdump };
    let scratch = Scratch::new();
    ["switch_sparse", "conv1d_const", "tri_softmax", "gemm_tiled"].par_iter().for_each(|name| {
        let source = oracle::workspace().join(format!("tests/corpus/{name}/{name}.ptx"));
        let file = scratch.folder().join(format!("{name}.cubin"));
        let made =
            Command::new(&ptxas).args(["-c", "-arch=sm_90a", "-o"]).args([&file, &source]).status();
        assert!(made.is_ok_and(|s| s.success()), "{name}");
        listings(&tools, &file, &std::fs::read(&file).expect("ptxas wrote it"));
    });
}
