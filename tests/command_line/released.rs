//! The program as it is given to others (`src/release.sh`): another C library, another optimizer.

use crate::support::Scratch;
use orias::driver::{self, CompileOptions};
use orias_runner::case::Suite;
use orias_runner::{folders, oracle::workspace, skip::skip};
use orias_speed::shapes;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program, where `tests/run.sh` has made it.
fn released() -> Option<PathBuf> {
    let path = std::env::var_os("ORIAS_RELEASED").filter(|path| !path.is_empty());
    if path.is_none() {
        skip("no program in ORIAS_RELEASED: src/release.sh makes it");
    }
    path.map(PathBuf::from)
}

fn compile(orias: &Path, ptx: &str, cubin: &str) {
    let args = ["-arch=sm_90a", "--split-compile=0", ptx, "-o", cubin];
    let run = Command::new(orias).args(args).output().expect("the program runs");
    assert!(run.status.success(), "{ptx}: {}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn it_makes_of_the_corpus_what_the_library_makes() {
    let Some(orias) = released() else { return };
    let scratch = Scratch::new();
    let mut different = Vec::new();
    for name in folders::all() {
        let folder = workspace().join("tests/corpus").join(&name);
        let source = Suite::load(&folder).and_then(|suite| suite.source()).expect("its PTX");
        let ptx = scratch.write("k.ptx", &source);
        compile(&orias, &ptx, &scratch.path("k.cubin"));
        let options = CompileOptions { target: Some("sm_90a".to_string()), ..Default::default() };
        let ours = driver::compile_source(&source, &options).expect("it compiles").cubin;
        if scratch.read("k.cubin") != ours {
            different.push(name);
        }
    }
    assert!(different.is_empty(), "{different:?}");
}

#[test]
fn its_threads_make_one_module() {
    let Some(orias) = released() else { return };
    let scratch = Scratch::new();
    let source = shapes::find("kernels").expect("a shape").text(300);
    let ptx = scratch.write("k.ptx", &source);
    compile(&orias, &ptx, &scratch.path("k.cubin"));
    let options = CompileOptions { target: Some("sm_90a".to_string()), ..Default::default() };
    let ours = driver::compile_source(&source, &options).expect("it compiles").cubin;
    assert!(scratch.read("k.cubin") == ours);
}
