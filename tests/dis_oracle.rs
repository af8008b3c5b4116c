//! `orias dis` beside the oracle's disassemblers, on ptxas's cubins of the corpus: every word decodes and encodes to itself,
//! `--labels` has the instruction lines of `nvdisasm -c`, the plain listing those of `cuobjdump -sass`.

use orias::dis::{Check, DisOptions, cubin};
use orias_runner::oracle;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The folders whose kernels the instruction table covers whole.
const FOLDERS: &[&str] = &[
    "vecadd",
    "copy_vec4",
    "gather_strided",
    "image_u8",
    "reduce_tree",
    "reduce_warp",
    "reduce_atomic",
    "scan_hillis",
    "histogram",
    "transpose_pad",
    "gemm_tiled",
    "gemm_reg4x4",
    "gemv",
    "spmv_csr",
    "stencil2d",
    "conv1d_const",
    "bitonic_sort",
    "mandelbrot",
    "collatz",
    "branches",
    "bitops",
    "crc32",
    "intdiv32",
    "local_array",
    "nbody",
    "dyn_shared",
    "sha256",
    "warp_votes",
    "tri_vecadd",
    "tri_softmax",
];

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

/// Every PTX file of the folders.
fn sources() -> Vec<PathBuf> {
    let corpus = oracle::workspace().join("tests/corpus");
    let mut files = Vec::new();
    for name in FOLDERS {
        let entries =
            std::fs::read_dir(corpus.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let paths = entries.map(|entry| entry.expect("a readable folder").path());
        files.extend(paths.filter(|p| p.extension().is_some_and(|e| e == "ptx")));
    }
    files.sort();
    files
}

fn compile(ptxas: &Path, source: &Path, level: &str, out: &Path) {
    let args = ["-arch=sm_90a", level, "-o"];
    let result = Command::new(ptxas).args(args).args([out, source]).output().expect("ptxas starts");
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
}

fn same(file: &Path, what: &str, ours: &[String], theirs: &[String]) {
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(a, b, "{}: {what} {i}: ours, theirs", file.display());
    }
    assert_eq!(ours.len(), theirs.len(), "{}: number of {what}s", file.display());
    assert!(!theirs.is_empty(), "{}: no {what}", file.display());
}

struct Tools {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
    cuobjdump: PathBuf,
}

/// Compares everything that we say about one of ptxas's cubins.
fn compare(tools: &Tools, source: &Path, level: &str, folder: &Path) {
    let stem = source.file_stem().expect("a file name").to_string_lossy();
    let file = folder.join(format!("{stem}{level}.cubin"));
    compile(&tools.ptxas, source, level, &file);
    let bytes = std::fs::read(&file).expect("the cubin");
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

#[test]
fn listings_equal_those_of_nvdisasm_and_cuobjdump_on_ptxas_cubins() {
    let found = ["ptxas", "nvdisasm", "cuobjdump"].map(oracle::tool);
    let [Some(ptxas), Some(nvdisasm), Some(cuobjdump)] = found else { return };
    let tools = Tools { ptxas, nvdisasm, cuobjdump };
    let folder = std::env::temp_dir().join(format!("orias-dis-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let sources = sources();
    assert_eq!(sources.len(), FOLDERS.len(), "a PTX file in each folder");
    // The tools take most of the time: as many at once as there are cores.
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for level in ["-O0", "-O3"] {
                        compare(&tools, source, level, &folder);
                    }
                }
            });
        }
    });
    let _ = std::fs::remove_dir_all(&folder);
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
