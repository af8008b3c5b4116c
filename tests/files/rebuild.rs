//! The writer against ptxas, without a compiler between: read ptxas's file, write it again from
//! what the reader says, and compare section by section and byte by byte.

use super::support::{MODULES, all_corpus_ptx, model_of, ptxas, ptxas_text};
use orias::elf::{Cubin, write};
use orias_runner::oracle;

/// Differences between two cubins, one line each: headers, segments, sections in order, their
/// contents.
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
        // Its variables hold addresses of functions, which the model has no place for: ptxas
        // resolves them itself.
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

#[test]
fn odd_modules_are_rebuilt_byte_for_byte() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let mut failures = Vec::new();
    for (name, text) in MODULES {
        let found = rebuild(&ptxas_text(&tool, text, 3));
        if !found.is_empty() {
            failures.push(format!("{name}:\n  {}", found.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
