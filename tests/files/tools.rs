//! The tools that people look into cubins with read ours without complaint, and say the same of it
//! as the compiler.

use super::support::{compile_output, corpus_ptx, ptxas};
use crate::support::Scratch;
use orias::driver::{CompileOptions, compile_source};
use orias::elf::Cubin;
use orias_runner::folders::LINE;
use orias_runner::oracle;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Runs a tool on a file; gives its output.
///
/// # Panics
/// When it fails or has anything to say on standard error.
fn run(tool: &Path, arguments: &[&str], file: &str) -> String {
    let run = Command::new(tool).args(arguments).arg(file).output().expect("the tool runs");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success() && errors.trim().is_empty(),
        "{} {arguments:?} {}: {errors}",
        tool.display(),
        file
    );
    String::from_utf8_lossy(&run.stdout).into_owned()
}

/// `-res-usage`: for each function (and `Common`) its numbers by name.
fn usage(text: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut all: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut function = String::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Function ") {
            function = name.trim_end_matches(':').to_owned();
        } else if line == "Common:" {
            function = "Common".to_owned();
        } else {
            for word in line.split_whitespace() {
                if let Some((name, value)) = word.rsplit_once(':')
                    && let Ok(value) = value.parse()
                {
                    all.entry(function.clone()).or_default().insert(name.to_owned(), value);
                }
            }
        }
    }
    all
}

#[test]
fn res_usage_is_what_the_compiler_reports_and_what_ptxas_has() {
    let (Some(cuobjdump), Some(tool)) = (oracle::tool("cuobjdump"), oracle::tool("ptxas")) else {
        return;
    };
    let scratch = Scratch::new();
    for folder in LINE {
        for level in [0, 3] {
            let path = corpus_ptx(folder);
            let output = compile_output(&path, level).unwrap_or_else(|e| panic!("{folder}: {e}"));
            let ours = scratch.write("ours.cubin", &output.cubin);
            let theirs = scratch.write("theirs.cubin", ptxas(&tool, &path, level));
            let mut mine = usage(&run(&cuobjdump, &["-res-usage"], &ours));
            let mut other = usage(&run(&cuobjdump, &["-res-usage"], &theirs));
            for report in &output.functions {
                let said = &mine[&report.name];
                let expected = [
                    ("REG", report.registers),
                    ("STACK", report.frame_bytes),
                    ("CONSTANT[0]", report.constant_bytes[0]),
                ];
                // The first 1024 bytes are the system's, in kernels that have any: `-v` leaves them
                // out.
                let own = said["SHARED"].saturating_sub(1024);
                assert_eq!(own, u64::from(report.shared_bytes), "{folder} {}", report.name);
                for (name, value) in expected {
                    assert_eq!(said[name], u64::from(value), "{folder} {} {name}", report.name);
                }
            }
            // Registers and stack are the compilers' own; everything else follows from the PTX.
            for numbers in mine.values_mut().chain(other.values_mut()) {
                numbers.remove("REG");
                numbers.remove("STACK");
            }
            assert_eq!(mine, other, "{folder} -O{level}");
        }
    }
}

#[test]
fn the_stack_that_a_kernel_declares_is_its_frame() {
    for (folder, kernel) in
        [("local_array", "local_sort"), ("local_array", "local_hist"), ("vecadd", "vecadd")]
    {
        for level in [0, 3] {
            let output =
                compile_output(&corpus_ptx(folder), level).unwrap_or_else(|e| panic!("{e}"));
            let report = output.functions.iter().find(|f| f.name == kernel).expect("it is there");
            let cubin = Cubin::read(&output.cubin).expect("our file is sound");
            let function = cubin.kernel(kernel).expect("it is there");
            assert_eq!(function.frame_bytes, report.frame_bytes);
            assert_eq!(function.min_stack_bytes, report.frame_bytes);
            // Local arrays live on the stack: 16 words in one kernel, none in the other.
            assert_eq!(report.frame_bytes >= 64, folder == "local_array", "{kernel} -O{level}");
        }
    }
}

#[test]
fn disassemblers_and_elf_readers_take_our_files() {
    let (Some(cuobjdump), Some(nvdisasm)) = (oracle::tool("cuobjdump"), oracle::tool("nvdisasm"))
    else {
        return;
    };
    let scratch = Scratch::new();
    let readelf =
        ["/usr/bin/readelf", "/bin/readelf"].map(Path::new).into_iter().find(|p| p.is_file());
    for (folder, level) in
        [("conv1d_const", 0), ("local_array", 3), ("dyn_shared", 3), ("tri_softmax", 0)]
    {
        let output =
            compile_output(&corpus_ptx(folder), level).unwrap_or_else(|e| panic!("{folder}: {e}"));
        let file = scratch.write("tools.cubin", &output.cubin);
        let dump = run(&cuobjdump, &["-elf"], &file);
        for wanted in
            ["EIATTR_REGCOUNT", "DW_CFA_def_cfa register R1", "NVIDIA CUDA Toolkit Information"]
        {
            assert!(dump.contains(wanted), "{folder}: no {wanted}");
        }
        let sass = run(&cuobjdump, &["-sass"], &file);
        let listing = run(&nvdisasm, &["-c"], &file);
        for report in &output.functions {
            assert!(sass.contains(&format!("Function : {}", report.name)), "{folder}");
            assert!(listing.contains(&format!(".text.{}", report.name)), "{folder}");
        }
        if let Some(readelf) = readelf {
            let run = Command::new(readelf).arg("-aW").arg(&file).output().expect("readelf runs");
            let errors = String::from_utf8_lossy(&run.stderr).into_owned();
            // It does not know that the info of a text section is a symbol; ptxas's files get the
            // same warning.
            let other = errors.lines().find(|l| !l.contains("Unexpected value"));
            assert!(run.status.success() && other.is_none(), "{folder}: {errors}");
        }
    }
}

/// Lines of source and PTX: where the PTX has them, where they are asked for, and not where they
/// are suppressed.
#[test]
fn lines_of_the_source_are_where_nvdisasm_reads_them() {
    const PLAIN: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"/src/a.cu\", 17, 4\n\
        .func (.param .b32 r) f(.param .b32 a)\n{ .reg .b32 %x; ld.param.b32 %x, [a];\n.loc 1 30 2\n\
        mul.lo.u32 %x, %x, 3; st.param.b32 [r], %x; ret; }\n.visible .entry k(.param .u64 p)\n\
        {\n.reg .b32 %x; .reg .b64 %p; .param .b32 a; .param .b32 r;\n.loc 1 10 2\nld.param.u64 %p, [p];\n\
        .loc 1 11 2\nld.global.b32 %x, [%p];\nst.param.b32 [a], %x; call (r), f, (a); ld.param.b32 %x, [r];\n\
        .loc 1 12 2\nst.global.b32 [%p], %x; ret;\n}\n";
    let without: String =
        PLAIN.lines().filter(|l| !l.starts_with(".loc")).map(|l| l.to_string() + "\n").collect();
    let cubin = |source: &str, line_info, suppress_debug_info| {
        let options = CompileOptions { line_info, suppress_debug_info, ..Default::default() };
        compile_source(source, &options).unwrap_or_else(|e| panic!("{e}")).cubin
    };
    let sections = |bytes: &[u8]| -> Vec<String> {
        let cubin = Cubin::read(bytes).expect("our own file");
        let names = cubin.sections.iter().map(|s| s.name.to_string());
        names.filter(|n| n.ends_with("debug_line") || n.contains("nv_debug")).collect()
    };
    let all = [
        ".debug_line",
        ".nv_debug_line_sass",
        ".nv_debug_ptx_txt",
        ".rela.debug_line",
        ".rela.nv_debug_line_sass",
    ];
    let with = cubin(PLAIN, false, false);
    assert_eq!(sections(&with), all);
    assert!(sections(&cubin(&without, false, false)).is_empty());
    assert!(sections(&cubin(PLAIN, true, true)).is_empty());
    // Without `.loc` there are lines of the PTX alone.
    let asked = sections(&cubin(&without, true, false));
    assert_eq!(asked, [&all[..3], &all[4..]].concat());

    let Some(nvdisasm) = oracle::tool("nvdisasm") else { return };
    let scratch = Scratch::new();
    let file = scratch.write("lines.cubin", with);
    let text = run(&nvdisasm, &["-g", "-c"], &file);
    let mut lines: Vec<&str> =
        text.lines().filter_map(|l| l.split_once("//## File ")).map(|(_, l)| l).collect();
    lines.sort_unstable();
    lines.dedup();
    let line = |n: u32| format!("\"/src/a.cu\", line {n}");
    assert_eq!(lines, [line(10), line(11), line(12), line(30)]);
}

/// What `nvdisasm -gi` says of each place: groups of lines, from the innermost function outwards.
fn stacks(nvdisasm: &Path, scratch: &Scratch, cubin: Vec<u8>) -> BTreeSet<Vec<String>> {
    let file = scratch.write("stacks.cubin", cubin);
    let text = run(nvdisasm, &["-gi", "-c"], &file);
    let lines: Vec<Option<&str>> =
        text.lines().map(|l| l.split_once("//## File ").map(|(_, l)| l)).collect();
    let groups = lines.split(Option::is_none).filter(|group| !group.is_empty());
    groups.map(|group| group.iter().flatten().map(|l| l.to_string()).collect()).collect()
}

/// Code that a front end has inlined says where it was called: the same as ptxas makes of it.
#[test]
fn functions_that_were_inlined_are_named_with_their_calls() {
    const PTX: &str = "
        .version 9.0\n.target sm_90a\n.address_size 64
        .visible .entry k(.param .u64 p)
        {
            .reg .b32 %r<9>; .reg .b64 %p;
            .loc 1 20 3
            ld.param.u64 %p, [p];
            ld.global.u32 %r1, [%p];
            .loc 1 21 3
            .loc 1 6 3, function_name $outer, inlined_at 1 21 3
            .loc 1 3 3, function_name $outer+2, inlined_at 1 6 3
            .loc 2 1 71, function_name $inner, inlined_at 1 3 3
            mul.lo.u32 %r2, %r1, %r1;
            st.global.u32 [%p+4], %r2;
            .loc 1 7 3, function_name $outer, inlined_at 1 21 3
            add.u32 %r3, %r2, 5;
            st.global.u32 [%p+8], %r3;
            .loc 1 22 9
            .loc 2 1 71, function_name $inner, inlined_at 1 22 9
            xor.b32 %r4, %r3, 99;
            st.global.u32 [%p+12], %r4;
            .loc 1 23 1
            ret;
        }
        .file 1 \"/src/a.cu\"\n.file 2 \"/src/b.h\"
        .section .debug_str
        {
        $outer: // outer
            .b8 111,117,116,101,114,0
        $inner:
            .b8 105,110,110,101,114,0
        }
        ";
    let (Some(nvdisasm), Some(ptxas)) = (oracle::tool("nvdisasm"), oracle::tool("ptxas")) else {
        return;
    };
    let scratch = Scratch::new();
    let ours = compile_source(PTX, &CompileOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let cubin = Cubin::read(&ours.cubin).expect("our own file");
    let index = cubin.section_index(".debug_str").expect("names");
    assert_eq!(cubin.sections[index].data, b"outer\0inner\0");
    let source = scratch.write("stacks.ptx", PTX);
    let out = scratch.path("theirs.cubin");
    let made =
        Command::new(ptxas).args(["-arch=sm_90a", "-lineinfo", &source, "-o", &out]).status();
    assert!(made.expect("ptxas runs").success());
    let theirs = std::fs::read(&out).expect("its cubin");
    let [ours, theirs] = [ours.cubin, theirs].map(|cubin| stacks(&nvdisasm, &scratch, cubin));
    let longest = ours.iter().max_by_key(|stack| stack.len()).expect("lines");
    let place = |file, line| format!("\"/src/{file}\", line {line}");
    let calls = [place("b.h", 1), place("a.cu", 3), place("a.cu", 6), place("a.cu", 21)];
    let lines = calls.windows(2).map(|pair| format!("{} inlined at {}", pair[0], pair[1]));
    assert_eq!(*longest, lines.chain([calls[3].clone()]).collect::<Vec<_>>());
    // The first instruction of all has a place of its own there.
    let missing: Vec<_> = ours.symmetric_difference(&theirs).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
