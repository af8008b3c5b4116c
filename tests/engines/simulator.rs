//! Launching cubins in the simulator: what is checked before a kernel runs, and that no file makes
//! it panic.

use orias::driver::{CompileOptions, compile_source};
use orias::launch::{Argument, Buffer, Launch, Scalar};
use orias::simulate::simulate;
use orias_targets::simulator::Limits;

/// `out[i] = in[i] + k`, with a table in global memory.
const SOURCE: &str = "
.version 9.0
.target sm_90a
.address_size 64
.visible .global .align 4 .u32 table[4] = {10, 20, 30, 40};
.visible .entry add(.param .u64 pin, .param .u64 pout, .param .u32 pk)
.maxntid 64, 1, 1
{
    .reg .b32 %i, %a, %k;
    .reg .b64 %in, %out, %t, %o;
    ld.param.u64 %in, [pin];
    ld.param.u64 %out, [pout];
    ld.param.u32 %k, [pk];
    mov.u32 %i, %tid.x;
    mul.wide.u32 %o, %i, 4;
    add.s64 %in, %in, %o;
    add.s64 %out, %out, %o;
    ld.global.u32 %a, [%in];
    add.s32 %a, %a, %k;
    mov.u64 %t, table;
    and.b32 %i, %i, 3;
    mul.wide.u32 %o, %i, 4;
    add.s64 %t, %t, %o;
    ld.global.u32 %k, [%t];
    add.s32 %a, %a, %k;
    st.global.u32 [%out], %a;
    ret;
}
";

fn cubin() -> Vec<u8> {
    compile_source(SOURCE, &CompileOptions::default()).unwrap().cubin
}

fn buffer(bytes: Vec<u8>, writable: bool) -> Argument {
    Argument::Buffer(Buffer { bytes, writable, output: None })
}

fn launch() -> Launch {
    let words: Vec<u8> = (0..32u32).flat_map(u32::to_le_bytes).collect();
    Launch {
        entry: "add".into(),
        grid: [1, 1, 1],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        args: vec![
            buffer(words, false),
            buffer(vec![0; 128], true),
            Argument::Scalar(Scalar::U32(1000)),
        ],
    }
}

fn error(launch: &Launch) -> String {
    simulate(&cubin(), launch, Limits::default()).unwrap_err().to_string()
}

#[test]
fn a_kernel_reads_its_arguments_and_the_modules_variables() {
    let outcome = simulate(&cubin(), &launch(), Limits::default()).unwrap();
    let got: Vec<u32> = outcome.buffers[1]
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    let want: Vec<u32> = (0..32).map(|i| i + 1000 + 10 * (i % 4 + 1)).collect();
    assert_eq!(got, want);
    // All 32 threads of the one warp run every instruction.
    assert_eq!(outcome.thread_instructions, 32 * outcome.warp_instructions);
    assert!(outcome.cycles.unwrap() >= outcome.warp_instructions);
}

#[test]
fn a_launch_that_does_not_fit_the_kernel_is_an_error() {
    assert_eq!(
        error(&Launch { entry: "sub".into(), ..launch() }),
        "there is no kernel `sub`; the file has add"
    );
    let text = error(&Launch { block: [65, 1, 1], ..launch() });
    assert_eq!(text, "kernel `add` takes at most 64 x 1 x 1 threads a block, not 65 x 1 x 1");
    let text = error(&Launch { args: Vec::new(), ..launch() });
    assert_eq!(text, "kernel `add` has 3 parameters, the launch gives 0 arguments");
    let text = error(&Launch { dynamic_shared: 228 << 10, ..launch() });
    assert!(text.contains("bytes of shared memory are more than"), "{text}");
}

#[test]
fn a_store_outside_the_buffer_is_an_error() {
    let mut launch = launch();
    launch.args[1] = buffer(vec![0; 100], true);
    let text = error(&launch);
    assert!(
        text.contains("0 bytes past the end of the buffer of argument 1 of 100 bytes"),
        "{text}"
    );
    assert!(text.contains("STG.E") && text.contains("thread (25, 0, 0)"), "{text}");
}

#[test]
fn a_store_to_a_read_only_buffer_is_an_error() {
    let mut launch = launch();
    launch.args[1] = buffer(vec![0; 128], false);
    let text = error(&launch);
    assert!(text.starts_with("write of 4 bytes to read-only the buffer of argument 1"), "{text}");
}

#[test]
fn no_damaged_file_makes_the_simulator_panic() {
    let good = cubin();
    let launch = launch();
    let mut seed = 0x1234_5678_9abc_def0_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    for round in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..1 + round % 4 {
            let at = random() % bytes.len();
            bytes[at] = random() as u8;
        }
        // The result may be right, wrong or an error.
        let _ =
            simulate(&bytes, &launch, Limits { warp_instructions: 10_000, ..Limits::default() });
    }
    for length in (0..good.len()).step_by(97) {
        let _ = simulate(
            &good[..length],
            &launch,
            Limits { warp_instructions: 10_000, ..Limits::default() },
        );
    }
}
