//! Calls that become their function's statements: what is inlined and what stays, and that either
//! computes the same.

use orias::driver::{CompileOptions, Output, compile_source};
use orias::elf::Cubin;
use orias::ptx::inline::{Limits, inline};
use orias::ptx::program::Program;
use orias_isa::differ::{self, End};
use orias_isa::setup::Setup;
use orias_runner::oracle;
use std::process::Command;

use crate::support::Scratch;

/// Each kernel stores what it computes of what it loads.
const SOURCE: &str = include_str!("inlined.ptx");

fn compile(source: &str, knobs: &[(&str, &str)]) -> Output {
    let knobs = knobs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let options = CompileOptions { verify_each: true, knobs, ..Default::default() };
    compile_source(source, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// The functions that are still in the file, as `kernel function`.
fn functions(output: &Output) -> Vec<String> {
    let cubin = Cubin::read(&output.cubin).expect("our own file");
    let names = cubin.symbols.iter().filter_map(|symbol| symbol.name.strip_prefix('$'));
    let mut names: Vec<String> = names.map(|name| name.replace('$', " ")).collect();
    names.sort();
    names
}

fn check(cubin: &[u8]) {
    check_of(SOURCE, cubin, 64);
}

fn check_of(source: &str, cubin: &[u8], threads: u32) {
    let setup = Setup { steps: 2_000_000, threads, ..Setup::default() };
    let verdicts = differ::module(source, cubin, setup, |_| true).expect("PTX and cubin are read");
    assert!(!verdicts.is_empty());
    for verdict in verdicts {
        assert_eq!(verdict.end, End::Same, "{}", verdict.kernel);
        assert!(verdict.hazards.is_empty(), "{}: {:?}", verdict.kernel, verdict.hazards);
    }
}

#[test]
fn what_is_small_or_called_once_is_inlined_and_the_rest_stays() {
    let output = compile(SOURCE, &[]);
    let kept = [
        "address_of_parameter takes_address",
        "counts_down recursive",
        "long_twice long",
        "pointer by_pointer",
        "room makes_room",
        "registers in_registers",
    ];
    let mut kept = kept.map(str::to_string);
    kept.sort();
    assert_eq!(functions(&output), kept);
    check(&output.cubin);
}

#[test]
fn functions_of_every_kind_give_the_same_inlined() {
    let sources = [
        (include_str!("../engines/kernels/calls.ptx"), 32),
        (include_str!("../engines/kernels/functions.ptx"), 32),
        (include_str!("calls_products.ptx"), 128),
        (include_str!("calls_registers.ptx"), 32),
    ];
    for (source, threads) in sources {
        let all = [("InlineSmall", "1000"), ("InlineOnce", "1000")];
        for knobs in [&[][..], &all] {
            check_of(source, &compile(source, knobs).cubin, threads);
        }
    }
}

#[test]
fn each_limit_is_a_knob() {
    let none = compile(SOURCE, &[("InlineSmall", "0"), ("InlineOnce", "0")]);
    let small = compile(SOURCE, &[("InlineOnce", "0")]);
    let once = compile(SOURCE, &[("InlineSmall", "0")]);
    let all = [&none, &small, &once].map(functions);
    let has = |at: usize, name: &str| all[at].iter().any(|function| function == name);
    assert!(has(0, "small_twice small") && has(0, "long_once only_once"), "{:?}", all[0]);
    assert!(!has(1, "small_twice small") && has(1, "long_once only_once"), "{:?}", all[1]);
    assert!(has(2, "small_twice small") && !has(2, "long_once only_once"), "{:?}", all[2]);
    [none, small, once].iter().for_each(|output| check(&output.cubin));
}

#[test]
fn variables_of_a_function_are_there_for_each_kernel() {
    let output = compile(SOURCE, &[]);
    let frame = |name: &str| {
        let found = output.functions.iter().find(|function| function.name == name);
        found.map(|function| (function.frame_bytes, function.shared_bytes)).expect("a kernel")
    };
    assert_eq!([frame("arrays").0, frame("array_alone").0], [16, 16]);
    assert_eq!(frame("shared_once").1, 256);
}

#[test]
fn lines_are_those_of_the_function() {
    let Some(nvdisasm) = oracle::tool("nvdisasm") else { return };
    let scratch = Scratch::new();
    let file = scratch.path("inlined.cubin");
    std::fs::write(&file, compile(SOURCE, &[]).cubin).expect("written");
    let run = Command::new(nvdisasm).args(["-g", "-c", &file]).output().expect("it runs");
    let text = String::from_utf8_lossy(&run.stdout);
    let code = |name: &str| {
        let start = text.find(&format!(".text.{name}:")).expect("a kernel");
        let end = text[start + 6..].find(".section").map_or(text.len(), |at| start + 6 + at);
        &text[start..end]
    };
    assert!(code("long_once").contains("line 77"), "the function's");
    assert!(code("small_twice").contains("line 7\n"), "the kernel's, where it has none");
}

/// What is inlined here has its calls around it, as nvdisasm reads them.
#[test]
fn lines_of_a_function_stand_in_those_of_its_calls() {
    let Some(nvdisasm) = oracle::tool("nvdisasm") else { return };
    let scratch = Scratch::new();
    let file = scratch.path("inlined.cubin");
    let output = compile(include_str!("inlined_lines.ptx"), &[]);
    std::fs::write(&file, output.cubin).expect("written");
    let run = Command::new(nvdisasm).args(["-gi", "-c", &file]).output().expect("it runs");
    let text = String::from_utf8_lossy(&run.stdout);
    let lines: Vec<&str> =
        text.lines().filter_map(|l| l.trim().strip_prefix("//## File ")).collect();
    let line = |line: u32| format!("\"/src/a.cu\", line {line}");
    let at = |line: u32, call: u32| {
        format!("\"/src/a.cu\", line {line} inlined at \"/src/a.cu\", line {call}")
    };
    let twice = [at(3, 8), at(8, 21), line(21)];
    let four = [at(9, 21), line(21)];
    assert_eq!(lines, [&[line(20)][..], &twice, &four, &[line(22)]].concat());
}

/// A function that calls another twice, which calls another twice …: as long as it may be.
#[test]
fn chains_of_calls_end() {
    let mut source = ".version 8.0\n.target sm_90a\n.address_size 64\n".to_string();
    let call = |callee: usize| {
        let call = format!("st.param.b32 [a], %x; call.uni (b), f{callee}, (a);");
        format!("{{ .param .b32 a; .param .b32 b; {call} ld.param.b32 %x, [b]; }}\n")
    };
    let head = ".reg .b32 %x;\n    ld.param.b32 %x, [p];\n";
    for at in 0..40 {
        let body = match at {
            0 => "add.u32 %x, %x, 1;\n".to_string(),
            at => call(at - 1).repeat(2),
        };
        source += &format!(".func (.param .b32 r) f{at}(.param .b32 p)\n{{\n    {head}{body}");
        source += "    st.param.b32 [r], %x;\n    ret;\n}\n";
    }
    source += ".visible .entry k(.param .u64 o)\n{\n    .reg .b32 %x; .reg .b64 %o;\n";
    source += &format!("    mov.u32 %x, %tid.x; ld.param.u64 %o, [o];\n{}", call(39));
    source += "    st.global.u32 [%o], %x;\n    ret;\n}\n";
    let output = compile(&source, &[]);
    let instructions: u32 = output.functions.iter().map(|function| function.instructions).sum();
    assert!(instructions < 100_000, "{instructions}");
}

/// Each of many functions calls the next one, and nobody else does.
#[test]
fn long_chains_of_calls_stay_within_the_size_of_the_module() {
    let mut source = ".version 8.0\n.target sm_90a\n.address_size 64\n".to_string();
    let call = |callee: usize| {
        let call = format!("st.param.b32 [a], %x; call.uni (b), f{callee}, (a);");
        format!("{{ .param .b32 a; .param .b32 b; {call} ld.param.b32 %x, [b]; }}\n")
    };
    for at in 0..3000 {
        let below = if at == 0 { String::new() } else { call(at - 1) };
        source += &format!(".func (.param .b32 r) f{at}(.param .b32 p)\n{{\n    .reg .b32 %x;\n");
        source += "    ld.param.b32 %x, [p];\n    mad.lo.u32 %x, %x, %x, 3;\n";
        source += &format!("    {below}    st.param.b32 [r], %x;\n    ret;\n}}\n");
    }
    source += ".visible .entry k(.param .u64 o)\n{\n    .reg .b32 %x; .reg .b64 %o;\n";
    source += &format!("    mov.u32 %x, %tid.x; ld.param.u64 %o, [o];\n{}", call(2999));
    source += "    st.global.u32 [%o], %x;\n    ret;\n}\n";
    let mut program = orias::ptx::load(&source).expect("it is right");
    let size = |program: &Program<'_>| -> usize {
        program.functions.iter().map(|function| function.code.len()).sum()
    };
    let before = size(&program);
    let inlined = inline(&mut program, Limits { small: 0, once: 4096 });
    assert!(inlined > 100, "{inlined}");
    assert!(size(&program) <= before + (2 * before).max(1 << 16), "{}", size(&program));
}
