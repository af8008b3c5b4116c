//! Limits are met loudly: one error that says what, where and how much, in ptxas's words where it
//! has some; exit status 255; no output file.

use crate::support::{Scratch, orias};
use std::path::Path;
use std::process::Output;

fn module(declarations: &str, parameters: &str, body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n{declarations}\n\
         .visible .entry k(.param .u64 out{parameters}){{\n\
         .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %d<8>;\n{body}\nret;\n}}\n"
    )
}

/// Compiles: what the program says, and whether there is an output file.
fn compile(source: &str, options: &[&str]) -> (Output, bool) {
    let scratch = Scratch::new();
    scratch.write("k.ptx", source);
    let run = orias()
        .current_dir(scratch.folder())
        .args(["k.ptx", "-o", "k.cubin"])
        .args(options)
        // What the options do not say.
        .args(if options.contains(&"-arch") { &[][..] } else { &["-arch", "sm_90a"] })
        .output()
        .expect("orias runs");
    let there = Path::new(&scratch.path("k.cubin")).exists();
    (run, there)
}

/// The module is refused with this one error.
fn refused(name: &str, source: &str, options: &[&str], error: &str) {
    let (run, there) = compile(source, options);
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(255), "{name}: {text}");
    assert!(!there, "{name}: there is an output file");
    assert!(text.contains(error), "{name}: {text}");
    let errors = text.lines().filter(|l| l.contains("error   :")).count();
    assert!(errors <= 1, "{name}: {errors} errors\n{text}");
}

#[test]
fn too_much_shared_memory() {
    let source = module(".shared .align 8 .b8 sh[300000];", "", "ld.shared.u32 %r0,[sh];");
    let error = "k.ptx, line 5; error   : Entry function 'k' uses too much shared data (0x493e0 bytes, 0x38c00 max)";
    refused("shared", &source, &[], error);
}

#[test]
fn all_the_shared_memory_there_is() {
    let source = module(".shared .align 8 .b8 sh[232448];", "", "ld.shared.u32 %r0,[sh];");
    let (run, there) = compile(&source, &[]);
    assert!(run.status.success() && there, "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn too_many_parameters() {
    let source = module("", ", .param .align 8 .b8 big[40000]", "");
    let error = "Entry function 'k' uses too much parameter space (0x9c48 bytes, 0x7ffc max).";
    refused("parameters", &source, &[], error);
    let old =
        module("", ", .param .align 8 .b8 big[4360]", "").replace(".version 9.0", ".version 8.0");
    refused("old_parameters", &old, &[], "(0x1110 bytes, 0x1100 max)");
}

/// Lists and modules that are longer than any real one: said where they are too long.
#[test]
fn more_than_there_ever_is() {
    let many = |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<String>();
    let body = |text: String| module("", "", &text);
    let variables = many((1 << 17) + 1, |i| format!(".global .b8 g{i};\n"));
    let functions = many(1 << 16, |i| format!(".func f{i} {{ ret; }}\n"));
    let parameters = many(1 << 15, |i| format!(".reg .b8 p{i},"));
    for (name, source, error) in [
        (
            "operands",
            body(format!("mov.b32 %r0,{{{}%r0}};", "%r0,".repeat(1 << 15))),
            "line 7; error   : Too many operands (32768 max)",
        ),
        (
            "modifiers",
            body(format!("add{} %r0,%r0,%r0;", ".u32".repeat(65))),
            "line 7; error   : Too many modifiers (64 max)",
        ),
        (
            "directives",
            module(&format!(".entry q() {}{{ ret; }}", ".maxnreg 32 ".repeat(65)), "", ""),
            "line 4; error   : Too many directives (64 max)",
        ),
        (
            "dimensions",
            module(&format!(".global .b8 x{};", "[1]".repeat(65)), "", ""),
            "line 4; error   : Too many dimensions (64 max)",
        ),
        (
            "list",
            module(&format!(".func f({parameters}.reg .b8 q);"), "", ""),
            "line 4; error   : Too many parameters (32768 max)",
        ),
        (
            "variables",
            module(&variables, "", ""),
            "line 131076; fatal   : Too many variables in the module (131072 max)",
        ),
        (
            "functions",
            module(&functions, "", ""),
            "line 65541; fatal   : Too many functions in the module (65536 max)",
        ),
    ] {
        refused(name, &source, &[], error);
    }
}

#[test]
fn too_many_constants() {
    let source = module(".const .align 8 .b8 cc[70000];", "", "ld.const.u32 %r0,[cc+8];");
    let error =
        "line 4; error   : File uses too much global constant data (0x11170 bytes, 0x10000 max)";
    refused("constants", &source, &[], error);
}

#[test]
fn a_barrier_that_is_not_there() {
    let error = "k.ptx, line 7; error   : Barrier number '16' out of range, expected to be in range [0..15]";
    refused("barrier", &module("", "", "bar.sync 16;"), &[], error);
}

#[test]
fn targets_that_are_not_supported() {
    for target in ["sm_50", "sm_90b"] {
        let source = module("", "", "");
        let error =
            format!("ptxas fatal   : Value '{target}' is not defined for option 'gpu-name'");
        refused("target", &source, &["-arch", target], &error);
    }
}

#[test]
fn textures_and_surfaces() {
    let texture = "tex.1d.v4.f32.s32 {%f0,%f1,%f2,%f3},[t,{%r0}];";
    let error = "k.ptx, line 7; error   : unsupported: `tex.1d.v4.f32.s32`";
    refused("texture", &module(".global .texref t;", "", texture), &[], error);
    let surface = "sust.b.1d.b32.trap [s,{%r0}],%r1;";
    let error = "k.ptx, line 7; error   : unsupported: `sust.b.1d.b32.trap`";
    refused("surface", &module(".global .surfref s;", "", surface), &[], error);
    let error = "k.ptx, line 7; error   : unsupported: `mov.u64`: the handle of a texture, sampler or surface";
    refused("handle", &module(".global .texref t;", "", "mov.u64 %d0,t;"), &[], error);
}

#[test]
fn extern_variables_are_defined_with_a_warning() {
    let source = module(".extern .global .u32 gx;", "", "ld.global.u32 %r0,[gx];");
    let (run, there) = compile(&source, &[]);
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success() && there, "{text}");
    let warning = "ptxas warning : Unresolved extern variable 'gx' in whole program compilation, ignoring extern qualifier";
    assert!(text.contains(warning), "{text}");
}

#[test]
fn few_registers_are_enough_for_any_scalar_code() {
    // Eight are raised to the least there can be, 24, with a warning.
    let body = "ld.param.u64 %d0,[out]; ld.global.v4.u32 {%r0,%r1,%r2,%r3},[%d0]; \
                mad.lo.u32 %r0,%r1,%r2,%r3; st.global.u32 [%d0],%r0;";
    let (run, there) = compile(&module("", "", body), &["-maxrregcount=8"]);
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success() && there, "{text}");
    assert!(
        text.contains("adjusting per thread register count of 8 to lower bound of 24"),
        "{text}"
    );
}

#[test]
fn the_simulator_refuses_bad_ptx_like_the_compiler() {
    let scratch = Scratch::new();
    for source in [module("", "", "bar.sync 16;"), "no PTX at all".to_string()] {
        let run = orias()
            .args(["sim", &scratch.write("k.ptx", source)])
            .args(["--entry", "k", "--grid", "1", "--block", "32"])
            .output()
            .expect("orias runs");
        assert_eq!(run.status.code(), Some(255), "{}", String::from_utf8_lossy(&run.stderr));
    }
}
