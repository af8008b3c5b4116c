//! One [`Compiler`] for many modules gives each what a new one would: workers that compiled another
//! module before leave nothing behind.

use orias::driver::{CompileOptions, Compiler, compile_source};
use orias_runner::oracle::workspace;

#[test]
fn what_a_compiler_did_before_does_not_show() {
    let corpus = workspace().join("tests").join("corpus");
    let sources: Vec<String> = ["vecadd", "recursion", "sha256", "wmma_tile", "fnptr_table"]
        .iter()
        .map(|name| {
            let file = corpus.join(name).join(format!("{name}.ptx"));
            std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
        })
        .collect();
    let options = CompileOptions { threads: 1, ..CompileOptions::default() };
    let compiler = Compiler::new(options.clone());
    // Forwards, then backwards, with a module in between that is refused.
    for source in sources.iter().chain(sources.iter().rev()) {
        let fresh = compile_source(source, &options).expect("it compiles").cubin;
        let kept = compiler.compile(source).expect("it compiles").cubin;
        assert!(fresh == kept, "{}", source.lines().take(3).collect::<String>());
        assert!(compiler.compile(".version 8.0\n.target sm_90a\nnonsense").is_err());
    }
}
