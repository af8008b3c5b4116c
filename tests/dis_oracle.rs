//! `orias dis` beside the oracle's disassemblers, on the cubins that ptxas and orias make of the corpus: every word decodes and encodes to itself,
//! `--labels` has the instruction lines of `nvdisasm -c`, the plain listing those of `cuobjdump -sass`.

use orias::dis::{Check, DisOptions, cubin};
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

/// The instruction lines of a listing: label lines that code refers to, addresses and text, without words and spacing.
fn instructions(listing: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in listing.lines() {
        let Some(rest) = line.trim_start().strip_prefix("/*") else { continue };
        let Some((address, text)) = rest.split_once("*/") else { continue };
        if address.trim().starts_with("0x") {
            continue;
        }
        let text = text.split("/*").next().unwrap_or("").trim();
        lines.push(format!("{address} {text}"));
    }
    lines
}

/// The names before `:` that stand alone on a line and are referred to, with the address of the next instruction.
fn labels(listing: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut waiting: Vec<&str> = Vec::new();
    for line in listing.lines() {
        match line.strip_suffix(':') {
            Some(name) if name.starts_with(".L_x_") => {
                if listing.contains(&format!("`({name})")) {
                    waiting.push(name);
                }
            }
            _ => {
                if let Some((address, _)) =
                    line.trim_start().strip_prefix("/*").and_then(|l| l.split_once("*/"))
                {
                    labels.extend(waiting.drain(..).map(|name| format!("{name} {address}")));
                }
            }
        }
    }
    labels
}

fn same(file: &Path, what: &str, ours: &[String], theirs: &[String]) {
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(a, b, "{}: {what} {i}: ours, theirs", file.display());
    }
    assert_eq!(ours.len(), theirs.len(), "{}: number of {what}s", file.display());
    assert!(!theirs.is_empty(), "{}: no {what}", file.display());
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
    let labelled = DisOptions { labels: true, ..DisOptions::default() };
    let ours = cubin(&bytes, labelled).expect("decodes");
    let theirs = run(&tools.nvdisasm, &["-c"], &file);
    same(&file, "instruction", &instructions(&ours), &instructions(&theirs));
    if theirs.contains("`(.L_x_") {
        same(&file, "label", &labels(&ours), &labels(&theirs));
    }
    let ours = cubin(&bytes, DisOptions::default()).expect("decodes");
    let theirs = run(&tools.cuobjdump, &["-sass"], &file);
    same(&file, "instruction", &instructions(&ours), &instructions(&theirs));
}

fn compare_all(compiler: Compiler) {
    let found = ["ptxas", "nvdisasm", "cuobjdump"].map(oracle::tool);
    let [Some(_), Some(nvdisasm), Some(cuobjdump)] = found else { return };
    let tools = Tools { nvdisasm, cuobjdump };
    let name = format!("orias-dis-{}-{}", compiler.name(), std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    // The tools take most of the time: as many at once as there are cores.
    LINE.par_iter().for_each(|name| {
        for level in [0, 3] {
            compare(&tools, name, compiler, level, &folder);
        }
    });
    let _ = std::fs::remove_dir_all(&folder);
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
    let bad = orias::dis::raw(target, &[0xff; 32], DisOptions::default()).unwrap_err();
    assert!(bad.to_string().contains("at 0x0"), "{bad}");
}
