//! The same bytes for any number of threads, any order and any repetition, over the whole corpus.

use super::*;
use orias::{CompileOptions, Compiler};
use std::io::Write;
use std::process::Stdio;

#[test]
fn threads_and_repetition_do_not_show() {
    let expected = corpus_outputs();
    for jobs in ["1", "2", "7"] {
        for _ in 0..2 {
            let scratch = Scratch::new();
            succeed(batch(scratch.folder()).args(["-j", jobs]).arg(corpus()));
            assert!(files(scratch.folder()) == expected, "-j {jobs}");
        }
    }
}

#[test]
fn a_batch_makes_what_one_compile_after_the_other_makes() {
    let scratch = Scratch::new();
    for (name, bytes) in corpus_outputs() {
        let input = corpus().join(&name).with_extension("ptx");
        let output = scratch.folder().join("one.cubin");
        run(support::orias().arg(input).arg("-o").arg(&output));
        assert!(std::fs::read(&output).expect("a cubin") == bytes, "{}", name.display());
    }
}

#[test]
fn order_does_not_show() {
    let expected = corpus_outputs();
    let mut names: Vec<PathBuf> = expected.keys().map(|name| name.with_extension("ptx")).collect();
    names.reverse();
    for turn in 0..2 {
        let list: Vec<&str> = names.iter().map(|name| name.to_str().expect("a name")).collect();
        let scratch = Scratch::new();
        let mut command = batch(scratch.folder());
        command.current_dir(corpus()).arg("-").stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(list.join("\n").as_bytes()).expect("it reads the list");
        drop(stdin);
        assert!(child.wait().expect("it ends").success());
        assert!(files(scratch.folder()) == expected, "turn {turn}");
        let third = names.len() / 3;
        names.rotate_left(third);
    }
}

#[test]
fn the_librarys_many_at_once_are_the_same() {
    let expected = corpus_outputs();
    let read = |name: &PathBuf| {
        std::fs::read_to_string(corpus().join(name).with_extension("ptx")).expect("PTX")
    };
    let sources: Vec<String> = expected.keys().map(read).collect();
    for threads in [1, 3] {
        let compiler = Compiler::new(CompileOptions { threads, ..Default::default() });
        let made = compiler.compile_many(&sources);
        for ((name, expected), made) in expected.iter().zip(made) {
            let made = made.expect("it compiles");
            assert!(made.cubin == *expected, "{threads} threads: {}", name.display());
        }
    }
}
