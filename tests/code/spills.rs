//! Kernels that get fewer registers than their values need still give the expected buffers: values
//! go to the stack and come back, in the simulator. The allocation checker runs on each of them
//! too.

use orias::driver::{CompileOptions, compile_source};
use orias_runner::case::Suite;
use orias_runner::oracle::workspace;
use orias_targets::simulator::Limits;

/// The least that ptxas lets anyone ask for.
const FEW: u32 = 24;

/// Compiles and runs a folder's kernels with few registers; the spill bytes of all its functions.
fn spilled(name: &str, opt_level: u8) -> u32 {
    let suite = Suite::load(&workspace().join("tests/corpus").join(name)).unwrap();
    let options = CompileOptions {
        opt_level,
        max_registers: Some(FEW),
        verify_each: true,
        ..CompileOptions::default()
    };
    let output = match compile_source(&suite.source().unwrap(), &options) {
        Ok(output) => output,
        Err(error) => panic!("{name} -O{opt_level}: {error:?}"),
    };
    assert!(output.functions.iter().all(|f| f.registers <= FEW), "{name} -O{opt_level}");
    for case in &suite.cases {
        let launch = suite.launch(case).unwrap();
        match orias::simulate::simulate(&output.cubin, &launch, Limits::default()) {
            Ok(outcome) => {
                let wrong = suite.verify(case, &launch, &outcome.buffers).unwrap();
                assert!(wrong.is_empty(), "{name}/{} -O{opt_level}: {}", case.name, wrong[0]);
            }
            Err(error) => panic!("{name}/{} -O{opt_level}: {error}", case.name),
        }
    }
    output.functions.iter().map(|f| f.spill_store_bytes + f.spill_load_bytes).sum()
}

#[test]
fn kernels_with_too_few_registers_keep_their_values_on_the_stack() {
    for opt_level in [0, 3] {
        // Rounds of a hash with a long state, a sort of pairs, and spills above local variables.
        let names = ["sha256", "bitonic_sort", "local_array", "nbody"];
        let bytes: u32 = names.iter().map(|name| spilled(name, opt_level)).sum();
        assert!(bytes > 0, "-O{opt_level}: none of them needs a spill: they test nothing here");
    }
}
