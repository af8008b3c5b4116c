//! The writer against ptxas, without a compiler between: read ptxas's file, write it again from what the reader says, and
//! compare section by section and byte by byte.

mod elf_support;

use elf_support::{all_corpus_ptx, model_of, ptxas, ptxas_text};
use orias::elf::{Cubin, write};
use orias_runner::oracle;

/// Differences between two cubins, one line each: headers, segments, sections in order, their contents.
fn differences(ours: &Cubin<'_>, theirs: &Cubin<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let mut same = |what: String, a: String, b: String| {
        if a != b {
            all.push(format!("{what}: {a} instead of {b}"));
        }
    };
    let head = |c: &Cubin<'_>| (c.file_type, c.os_abi, c.abi_version, c.version, c.flags);
    same("header".into(), format!("{:x?}", head(ours)), format!("{:x?}", head(theirs)));
    let names =
        |c: &Cubin<'_>| c.sections.iter().map(|s| s.name.to_owned()).collect::<Vec<_>>().join(" ");
    same("sections".into(), names(ours), names(theirs));
    for (a, b) in ours.sections.iter().zip(&theirs.sections) {
        let fields = |s: &orias::elf::read::Section<'_>| {
            format!(
                "type {:x} flags {:x} offset {:x} size {:x} link {} info {} align {} entry {}",
                s.kind, s.flags, s.offset, s.size, s.link, s.info, s.align, s.entry_size
            )
        };
        same(a.name.to_owned(), fields(a), fields(b));
        if a.data != b.data {
            let at = a.data.iter().zip(b.data).position(|(x, y)| x != y).unwrap_or(0);
            let show = |d: &[u8]| {
                let part = &d[at.min(d.len())..(at + 24).min(d.len())];
                format!("{part:02x?} {}", String::from_utf8_lossy(part))
            };
            same(format!("{} at {at:#x}", a.name), show(a.data), show(b.data));
        }
    }
    for (i, (a, b)) in ours.symbols.iter().zip(&theirs.symbols).enumerate() {
        same(format!("symbol {i}"), format!("{a:?}"), format!("{b:?}"));
    }
    for (i, (a, b)) in ours.segments.iter().zip(&theirs.segments).enumerate() {
        same(format!("segment {i}"), format!("{a:x?}"), format!("{b:x?}"));
    }
    same("segments".into(), ours.segments.len().to_string(), theirs.segments.len().to_string());
    all
}

/// Rebuilds and compares; gives what differs.
fn rebuild(theirs: &[u8]) -> Vec<String> {
    let cubin = Cubin::read(theirs).expect("ptxas's file is sound");
    let ours = write(&model_of(&cubin)).expect("it can be written");
    let again = Cubin::read(&ours).expect("our file is sound");
    let mut all = differences(&again, &cubin);
    if all.is_empty() && ours != theirs {
        all.push("bytes between sections differ".into());
    }
    all
}

#[test]
fn every_corpus_cubin_is_rebuilt_byte_for_byte() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let mut failures = Vec::new();
    for ptx in all_corpus_ptx() {
        // Its variables hold addresses of functions, which the model has no place for: ptxas resolves them itself.
        if ptx.ends_with("fnptr_table.ptx") {
            continue;
        }
        for level in [0, 3] {
            let found = rebuild(&ptxas(&tool, &ptx, level));
            if !found.is_empty() {
                failures.push(format!("{} -O{level}:\n  {}", ptx.display(), found.join("\n  ")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Modules that are odd in one way each.
const MODULES: &[(&str, &str)] = &[
    ("no kernel", ""),
    ("no parameters", ".visible .entry k(){ret;}"),
    ("no exit", ".visible .entry k(){L: bra L;}"),
    (
        "linkage and limits",
        ".visible .entry k(.param .u64 p) .maxntid 128,2,1 .minnctapersm 2 {ret;}
         .visible .entry k2(.param .align 16 .b8 p[48],.param .u8 q, .param .u16 r) .reqntid 64 {ret;}
         .visible .entry k3(.param .u64 .ptr .global .align 16 p) .maxnreg 40 {ret;}
         .entry local(){ret;} .weak .entry weak(){ret;}",
    ),
    ("many parameter bytes", ".visible .entry k(.param .align 8 .b8 p[20000], .param .u32 q){ret;}"),
    (
        "shared memory: used by two kernels of three",
        ".shared .align 4 .b8 s[64];
         .visible .entry k(){ st.shared.u32 [s],7; ret;}
         .visible .entry k2(.param .u64 p){.reg .u64 %a; ld.param.u64 %a,[p]; st.global.u32 [%a],1; ret;}
         .visible .entry k3(){ st.shared.u32 [s+4],7; ret;}",
    ),
    ("shared memory: unused", ".visible .entry k(){.shared .align 8 .b8 unused[64]; ret;}"),
    (
        "shared memory: dynamic, aligned",
        ".extern .shared .align 16 .b8 dyn[];
         .visible .entry k(){.shared .align 128 .b8 s[5]; st.shared.u8 [s],1; st.shared.u32 [dyn],7; ret;}",
    ),
    (
        "variables of every kind",
        ".visible .global .align 4 .u32 vis=5; .global .u32 un; .weak .global .u32 w;
         .const .u32 c0=3; .visible .const .u32 c1[4]={1,2,3}; .global .u64 pp=vis;
         .global .u64 pf=generic(un)+4; .global .u32 unused[3]={1,2,3};
         .visible .entry k(.param .u64 p){.reg .u64 %a;.reg .u32 %r; ld.param.u64 %a,[p];
         ld.global.u32 %r,[vis]; st.global.u32 [%a],%r; st.global.u32 [un],%r; st.global.u32 [w],%r; ret;}",
    ),
    (
        "addresses in initial values",
        ".global .u32 a0=1; .global .u64 z1=a0; .global .align 8 .u64 z2[2]={generic(a0),a0+8};
         .global .u64 z3=generic(z1); .const .u64 cz=a0; .visible .entry k(){ret;}",
    ),
    (
        "a constant before the first global variable",
        ".visible .const .u32 c1=1; .visible .global .u32 g1=1; .visible .global .u32 g2;
         .visible .entry k(){ret;} .visible .entry k2(){ret;}",
    ),
    (
        "global and shared variables of odd sizes",
        ".global .align 1 .b8 g[3]={1,2,3}; .global .align 8 .u64 z[3];
         .visible .entry ka(){.shared .align 128 .b8 s[100]; st.shared.u32 [s],1; ret;}
         .visible .entry kb(){.shared .align 256 .b8 s1[100]; st.shared.u32 [s1],1; ret;}",
    ),
];

#[test]
fn odd_modules_are_rebuilt_byte_for_byte() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let mut failures = Vec::new();
    for (number, (name, text)) in MODULES.iter().enumerate() {
        let found = rebuild(&ptxas_text(&tool, &format!("module{number}"), text, 3));
        if !found.is_empty() {
            failures.push(format!("{name}:\n  {}", found.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
