//! Our cubin beside ptxas's for the same PTX, section by section: the same sections in the same order, with the same headers,
//! the same symbols, attributes, notes and relocations. What may differ is named in one table, with the reason.

mod elf_support;

use elf_support::{MODULES, compile, corpus_ptx, ptx_file, ptxas};
use orias::elf::Cubin;
use orias::elf::attribute::Attribute;
use orias::elf::read::{Section, Symbol};
use orias_runner::folders::LINE;
use orias_runner::oracle;
use std::collections::BTreeMap;

/// Every difference that is accepted, and why.
const ACCEPTED: &[(&str, &str)] = &[
    ("text", "the code is another compiler's; its section and symbol are as long as it is"),
    ("register count", "another register allocator"),
    (
        "frame size",
        "another spiller, and local variables that only one of the two keeps in registers",
    ),
    ("exit offsets", "places in the text; ptxas keeps an EXIT that nothing reaches at -O0"),
    ("warp operations", "places in the text, and registers with their masks"),
    (
        "warp-wide instructions",
        "ptxas marks VOTEU and the like that it makes for uniform code; we make none",
    ),
    (
        "unused load bytes",
        "ptxas marks loads of which it uses only some bytes; a hint that nothing needs",
    ),
    (
        "call/return stack",
        "said of code with branches that are not known to be uniform: the two know it of, and turn into selects, different ones",
    ),
    ("frame description", "places in the text, in .debug_frame"),
    (
        "helpers",
        "ptxas calls a helper for this division, with a symbol, a frame description and a relocation section of its own",
    ),
    ("tool", "who made the file, in .note.nv.tkinfo"),
];

/// Differences found: (accepted or unknown name, where and what).
type Found = Vec<(&'static str, String)>;

/// Sections that only a kernel with helpers has.
fn without_helpers<'c>(cubin: &Cubin<'c>, helped: &[&str]) -> Vec<&'c str> {
    let dropped: Vec<String> = helped.iter().map(|k| format!(".rela.text.{k}")).collect();
    let names = cubin.sections.iter().map(|s| s.name);
    names.filter(|n| !dropped.iter().any(|d| d == n)).collect()
}

/// What a header says, with sections and symbols by name.
fn header(cubin: &Cubin<'_>, section: &Section<'_>) -> String {
    let name = |i: u32| cubin.sections.get(i as usize).map_or("?", |s| s.name);
    let info = if section.name.starts_with(".text.") {
        format!("symbol {}", cubin.symbols[section.info as usize].name)
    } else if section.name == ".symtab" {
        format!("all symbols: {}", section.info as usize == cubin.symbols.len())
    } else {
        format!("section {}", name(section.info))
    };
    format!(
        "type {:x}, flags {:x}, address {:x}, link {}, info {info}, align {}, entry size {}",
        section.kind,
        section.flags,
        section.address,
        name(section.link),
        section.align,
        section.entry_size
    )
}

fn symbol(cubin: &Cubin<'_>, symbol: &Symbol<'_>) -> String {
    let section = cubin.sections.get(usize::from(symbol.section)).map_or("?", |s| s.name);
    // A function is as long as its code.
    let size = if symbol.kind == 2 { 0 } else { symbol.size };
    format!(
        "{} binding {} kind {} other {:x} in {section} at {} size {size}",
        symbol.name, symbol.binding, symbol.kind, symbol.other, symbol.value
    )
}

/// The name under which a difference in an attribute is accepted; None where the attributes must be equal.
fn attribute_kind(attribute: &Attribute) -> Option<&'static str> {
    Some(match attribute {
        Attribute::RegCount { .. } => "register count",
        Attribute::FrameSize { .. } | Attribute::MinStackSize { .. } => "frame size",
        Attribute::ExitOffsets(_) => "exit offsets",
        Attribute::CoopGroupOffsets(_) | Attribute::CoopGroupMaskRegs(_) => "warp operations",
        Attribute::IntWarpWideOffsets(_) => "warp-wide instructions",
        Attribute::UnusedLoadByteOffsets(_) => "unused load bytes",
        Attribute::CrsStackSize(_) => "call/return stack",
        _ => return None,
    })
}

/// An attribute with symbols by name, without what may differ in it.
fn attribute(cubin: &Cubin<'_>, attribute: &Attribute) -> String {
    let name = |s: u32| cubin.symbols.get(s as usize).map_or("?", |s| s.name);
    match attribute {
        Attribute::RegCount { symbol, .. } => format!("RegCount {}", name(*symbol)),
        Attribute::FrameSize { symbol, .. } => format!("FrameSize {}", name(*symbol)),
        Attribute::MinStackSize { symbol, .. } => format!("MinStackSize {}", name(*symbol)),
        Attribute::ParamCbank { symbol, offset, size } => {
            format!("ParamCbank {} {offset} {size}", name(*symbol))
        }
        other => format!("{other:?}"),
    }
}

/// Attributes of one section: those that may be there or not are compared by themselves.
fn attributes(
    found: &mut Found,
    place: &str,
    ours: (&Cubin<'_>, &[Attribute]),
    theirs: (&Cubin<'_>, &[Attribute]),
) {
    const OPTIONAL: [&str; 5] = [
        "exit offsets",
        "warp operations",
        "warp-wide instructions",
        "unused load bytes",
        "call/return stack",
    ];
    let optional = |a: &&Attribute| attribute_kind(a).is_some_and(|k| OPTIONAL.contains(&k));
    let fixed = |(cubin, all): (&Cubin<'_>, &[Attribute])| -> Vec<String> {
        all.iter().filter(|a| !optional(a)).map(|a| attribute(cubin, a)).collect()
    };
    if fixed(ours) != fixed(theirs) {
        let what = format!("{place}: {:?} instead of {:?}", fixed(ours), fixed(theirs));
        found.push(("attributes", what));
    }
    for kind in ACCEPTED.iter().map(|(name, _)| *name) {
        let of = |all: &[Attribute]| -> Vec<Attribute> {
            all.iter().filter(|a| attribute_kind(a) == Some(kind)).cloned().collect()
        };
        // Symbol numbers differ where there are helpers; the names were compared above.
        let value = |a: &Attribute| match a {
            Attribute::RegCount { registers: n, .. }
            | Attribute::FrameSize { bytes: n, .. }
            | Attribute::MinStackSize { bytes: n, .. } => format!("{n}"),
            other => format!("{other:?}"),
        };
        let (a, b): (Vec<_>, Vec<_>) =
            (of(ours.1).iter().map(value).collect(), of(theirs.1).iter().map(value).collect());
        if a != b {
            found.push((kind, format!("{place}: {a:?} instead of {b:?}")));
        }
    }
}

fn compare(ours: &Cubin<'_>, theirs: &Cubin<'_>) -> Found {
    let mut found = Found::new();
    let head = |c: &Cubin<'_>| {
        format!("{:x?}", (c.file_type, c.os_abi, c.abi_version, c.version, c.flags))
    };
    if head(ours) != head(theirs) {
        found.push(("file header", format!("{} instead of {}", head(ours), head(theirs))));
    }
    let helped: Vec<&str> = theirs
        .kernels()
        .filter(|k| !k.inner.is_empty() && ours.kernel(k.name).is_some_and(|o| o.inner.is_empty()))
        .map(|k| k.name)
        .collect();
    if !helped.is_empty() {
        found.push(("helpers", helped.join(", ")));
    }
    // The kernels with helpers have relocation sections for the calls; shared memory leaves one too.
    let helped: Vec<&str> =
        helped.into_iter().filter(|k| ours.section(&format!(".rela.text.{k}")).is_none()).collect();
    let (a, b) = (without_helpers(ours, &helped), without_helpers(theirs, &helped));
    if a != b {
        found.push(("sections", format!("{a:?} instead of {b:?}")));
        return found;
    }
    for section in &theirs.sections {
        let Some(mine) = ours.section(section.name) else { continue };
        let (a, b) = (header(ours, mine), header(theirs, section));
        if a != b {
            found.push(("section header", format!("{}: {a} instead of {b}", section.name)));
        }
        let class = section.name.split('.').take(3).collect::<Vec<_>>().join(".");
        let equal = mine.data == section.data && mine.size == section.size;
        match class.as_str() {
            // Compared by what is in them.
            ".shstrtab" | ".strtab" | ".symtab" | ".nv.info" | ".rela.debug_frame" => {}
            ".debug_frame" if !equal => found.push(("frame description", String::new())),
            ".note.nv" if section.name == ".note.nv.tkinfo" && !equal => {
                found.push(("tool", String::new()));
            }
            _ if section.name.starts_with(".text.") && !equal => {
                found.push(("text", section.name.into()));
            }
            _ if section.name.starts_with(".rela.") => {}
            _ if !equal => found.push(("content", section.name.into())),
            _ => {}
        }
        let relocations = |cubin: &Cubin<'_>, s: &Section<'_>| -> Vec<String> {
            let frame = s.name == ".debug_frame";
            let keep = |r: &&orias::elf::read::Relocation| {
                !frame || helped.is_empty() && r.addend == Some(0)
            };
            let name = |r: &orias::elf::read::Relocation| cubin.symbols[r.symbol].name.to_owned();
            s.relocations
                .iter()
                .filter(keep)
                .map(|r| {
                    format!(
                        "{} {:?} {:?} at {}",
                        name(r),
                        r.kind,
                        r.addend,
                        if frame { 0 } else { r.offset }
                    )
                })
                .collect()
        };
        let (a, b) = (relocations(ours, mine), relocations(theirs, section));
        if a != b && !(section.name == ".debug_frame" && found.iter().any(|f| f.0 == "helpers")) {
            found.push(("relocations", format!("of {}: {a:?} instead of {b:?}", section.name)));
        }
    }
    let symbols = |cubin: &Cubin<'_>| -> Vec<String> {
        // Helpers are functions that are no kernels.
        let helper = |s: &&Symbol<'_>| s.kind == 2 && s.other & 0x10 == 0;
        cubin.symbols.iter().filter(|s| !helper(s)).map(|s| symbol(cubin, s)).collect()
    };
    let (a, b) = (symbols(ours), symbols(theirs));
    if a != b {
        let first = a.iter().zip(&b).find(|(a, b)| a != b);
        found.push(("symbols", format!("{} instead of {}: first {first:?}", a.len(), b.len())));
    }
    let own = |all: &[Attribute], cubin: &Cubin<'_>| -> Vec<Attribute> {
        let kernel = |s: u32| cubin.symbols.get(s as usize).is_some_and(|s| s.other & 0x10 != 0);
        let keep =
            |a: &&Attribute| !matches!(a, Attribute::FrameSize { symbol, .. } if !kernel(*symbol));
        all.iter().filter(keep).cloned().collect()
    };
    let (a, b) = (own(&ours.attributes, ours), own(&theirs.attributes, theirs));
    attributes(&mut found, ".nv.info", (ours, &a), (theirs, &b));
    for kernel in theirs.kernels() {
        if let Some(mine) = ours.kernel(kernel.name) {
            let (a, b) = ((ours, &mine.attributes[..]), (theirs, &kernel.attributes[..]));
            attributes(&mut found, kernel.name, a, b);
        }
    }
    let segments = |cubin: &Cubin<'_>| -> Vec<String> {
        cubin.segments.iter().map(|s| format!("{} {} {}", s.kind, s.flags, s.align)).collect()
    };
    if segments(ours) != segments(theirs) {
        found.push(("segments", format!("{:?} instead of {:?}", segments(ours), segments(theirs))));
    }
    found
}

#[test]
fn our_sections_are_those_of_ptxas() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let mut failures = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for folder in LINE {
        for level in [0, 3] {
            let path = corpus_ptx(folder);
            let theirs = ptxas(&tool, &path, level);
            let ours = match compile(&path, level) {
                Ok(ours) => ours,
                Err(error) => {
                    failures.push(format!("{folder} -O{level}: {error}"));
                    continue;
                }
            };
            let ours = Cubin::read(&ours).expect("our file is sound");
            let theirs = Cubin::read(&theirs).expect("ptxas's file is sound");
            for (name, what) in compare(&ours, &theirs) {
                *seen.entry(name).or_default() += 1;
                if !ACCEPTED.iter().any(|(accepted, _)| *accepted == name) {
                    failures.push(format!("{folder} -O{level}: {name}: {what}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for (name, _) in ACCEPTED {
        assert!(seen.contains_key(name), "no file shows the accepted difference `{name}` any more");
    }
}

#[test]
fn our_sections_of_odd_modules_are_those_of_ptxas() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let mut failures = Vec::new();
    for (number, (module, text)) in MODULES.iter().enumerate() {
        for level in [0, 3] {
            let path = ptx_file(&format!("odd{number}"), text);
            let theirs = ptxas(&tool, &path, level);
            let ours = compile(&path, level);
            std::fs::remove_file(&path).expect("our own file");
            let found = match &ours {
                Err(error) => vec![("error", error.clone())],
                Ok(ours) => compare(
                    &Cubin::read(ours).expect("our file is sound"),
                    &Cubin::read(&theirs).expect("ptxas's file is sound"),
                ),
            };
            for (name, what) in found {
                if !ACCEPTED.iter().any(|(accepted, _)| *accepted == name) {
                    failures.push(format!("{module} -O{level}: {name}: {what}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
