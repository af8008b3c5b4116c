//! Other threads help with a huge function, and the file is the same for any number of them.

use orias::driver::{CompileOptions, compile_source};
use orias::ptx;
use orias_speed::shapes;
use orias_systems::parallel::LARGE;

/// Shapes of one function, and sizes at which it is [`LARGE`].
const SIZES: &[(&str, usize)] =
    &[("straight", 32_000), ("diamonds", 8_000), ("loops", 3_600), ("switch", 8_500)];

#[test]
fn a_huge_function_is_the_same_code_for_any_number_of_threads() {
    for (shape, size) in SIZES {
        let source = shapes::find(shape).expect("a shape of the list").text(*size);
        let program = ptx::load(&source).unwrap_or_else(|e| panic!("{shape}: {e:?}"));
        let most = program.functions.iter().map(|function| function.code.len()).max();
        assert!(most >= Some(LARGE), "{shape}: {most:?} instructions are no huge function");
        drop(program);
        let cubin = |threads: usize| {
            let options = CompileOptions { threads, ..CompileOptions::default() };
            compile_source(&source, &options).unwrap_or_else(|e| panic!("{shape}: {e:?}")).cubin
        };
        let alone = cubin(1);
        for threads in [2, 3] {
            assert!(cubin(threads) == alone, "{shape} with {threads} threads is other code");
        }
    }
}
