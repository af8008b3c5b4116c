//! What a file says outside its kernels' attributes: header, sections, symbols, relocations,
//! segments, `.nv.info`.

use super::{Found, is_helper};
use orias::elf::Cubin;
use orias::elf::attribute::{Attribute, code};
use orias::elf::read::{STO_CUDA_ENTRY, Section, Symbol};
use std::collections::BTreeSet;

/// Flags of the header that say what a file has: line tables, debug sections from the PTX, or
/// neither.
const TABLES: u32 = 0xf << 24;

/// What theirs has and ours need not.
struct Extra {
    /// Names of sections.
    sections: BTreeSet<String>,
    /// The kernels have another order.
    reordered: bool,
}

pub fn compare(found: &mut Found, ours: &Cubin<'_>, theirs: &Cubin<'_>) {
    let extra = extra(found, ours, theirs);
    if has_references(theirs) {
        found.add("texture references", "");
    }
    header(found, ours, theirs, &extra);
    sections(found, ours, theirs, &extra);
    symbols(found, ours, theirs, &extra);
    module_attributes(found, ours, theirs, &extra);
    // A segment holds constant banks 2, 3 and 4, where there are any.
    let constants = |cubin: &Cubin<'_>| {
        cubin
            .sections
            .iter()
            .any(|s| s.name.starts_with(".nv.constant") && !s.name.starts_with(".nv.constant0"))
    };
    let more = usize::from(constants(theirs) && !constants(ours));
    let segments = |cubin: &Cubin<'_>, skip: usize| -> Vec<(u32, u32, u64)> {
        // The first is of the program headers themselves.
        let (first, rest) = cubin.segments.split_at(cubin.segments.len().min(1));
        let all = first.iter().chain(rest.iter().skip(skip));
        all.map(|s| (s.kind, s.flags, s.align)).collect()
    };
    found.equal("segments", "", segments(ours, 0), segments(theirs, more));
}

/// Which named differences of the list of sections there are.
fn extra(found: &mut Found, ours: &Cubin<'_>, theirs: &Cubin<'_>) -> Extra {
    let mut sections = BTreeSet::new();
    for kernel in theirs.kernels() {
        let Some(mine) = ours.kernel(kernel.name) else { continue };
        // The compiler's own functions have names that no PTX has.
        let helped = kernel.inner.iter().any(|f| is_helper(f.name));
        let text = format!(".rela.text.{}", kernel.name);
        if helped {
            found.add("helpers", kernel.name);
            if ours.section(&text).is_none() {
                sections.insert(text);
            }
        }
        let banks = |f: &orias::elf::read::Function<'_>| f.constants.iter().any(|(b, _)| *b == 2);
        let jumps = |f: &orias::elf::read::Function<'_>| {
            f.attributes.iter().any(|a| matches!(a, Attribute::IndirectBranchTargets(_)))
        };
        if jumps(kernel) && !jumps(mine) {
            found.add("jump tables", kernel.name);
            if banks(kernel) && !banks(mine) {
                sections.insert(format!(".nv.constant2.{}", kernel.name));
                sections.insert(format!(".rela.nv.constant2.{}", kernel.name));
            }
        }
    }
    for section in &theirs.sections {
        if section.name.starts_with(".debug_") && ours.section(section.name).is_none() {
            found.add("debug sections", section.name);
            sections.insert(section.name.to_string());
        }
    }
    let order = |cubin: &Cubin<'_>| cubin.kernels().map(|k| k.name.to_string()).collect::<Vec<_>>();
    let (a, b) = (order(ours), order(theirs));
    let tables =
        |k: &orias::elf::read::Function<'_>| k.constants.iter().any(|(bank, _)| *bank == 2);
    let reordered = a != b && BTreeSet::from_iter(&a) == BTreeSet::from_iter(&b);
    if reordered && (ours.kernels().any(tables) || theirs.kernels().any(tables)) {
        found.add("kernel order", format!("{a:?} instead of {b:?}"));
    } else {
        found.equal("kernels", "", a, b);
    }
    // With debug sections, lists of kernels differ in order while the texts' does not.
    let debug = sections.iter().any(|s| s.starts_with(".debug_"));
    Extra { sections, reordered: reordered || debug }
}

/// Kinds of symbols that are references to a texture, a sampler or a surface (observed; `.texref`
/// 10, `.surfref` 12).
const REFERENCES: [u8; 3] = [10, 11, 12];

/// Whether the file has references to textures and the like, which we place as if they were memory.
fn has_references(cubin: &Cubin<'_>) -> bool {
    cubin.symbols.iter().any(|s| REFERENCES.contains(&s.kind))
}

fn header(found: &mut Found, ours: &Cubin<'_>, theirs: &Cubin<'_>, extra: &Extra) {
    let head = |c: &Cubin<'_>, flags| (c.file_type, c.os_abi, c.abi_version, c.version, flags);
    let debug = extra.sections.iter().any(|s| s.starts_with(".debug_"));
    let known = |flags: u32| if debug { flags & !TABLES } else { flags };
    found.equal("header", "", head(ours, known(ours.flags)), head(theirs, known(theirs.flags)));
}

/// In order, or as a set where kernels have another order.
fn lists(found: &mut Found, name: &'static str, extra: &Extra, a: Vec<String>, b: Vec<String>) {
    if a == b {
        return;
    }
    let only = |x: &[String], y: &[String]| -> Vec<String> {
        x.iter().filter(|t| !y.contains(t)).cloned().collect()
    };
    let (more, less) = (only(&a, &b), only(&b, &a));
    if !more.is_empty() || !less.is_empty() || a.len() != b.len() {
        found.add(name, format!("more: {more:?}; less: {less:?}; {} and {}", a.len(), b.len()));
    } else if !extra.reordered {
        let at = a.iter().zip(&b).position(|(a, b)| a != b).unwrap_or(0);
        found.add(name, format!("order, from {at} on: {} instead of {}", a[at], b[at]));
    }
}

fn sections(found: &mut Found, ours: &Cubin<'_>, theirs: &Cubin<'_>, extra: &Extra) {
    let names = |cubin: &Cubin<'_>| -> Vec<String> {
        let all = cubin.sections.iter().map(|s| s.name.to_string());
        all.filter(|n| !extra.sections.contains(n)).collect()
    };
    lists(found, "sections", extra, names(ours), names(theirs));
    for section in &theirs.sections {
        let Some(mine) = ours.section(section.name) else { continue };
        let (a, b) = (head(ours, mine), head(theirs, section));
        found.equal("section header", section.name, a, b);
        contents(found, (ours, mine), (theirs, section), extra);
        let (a, b) = (relocations(ours, mine), relocations(theirs, section));
        let frames = section.name == ".debug_frame";
        let skip = section.name == ".nv.constant4" && has_references(theirs);
        if !skip && (!frames || extra.sections.is_empty() && !helped(theirs)) {
            lists(found, "relocations", extra, a, b);
        }
    }
}

fn helped(cubin: &Cubin<'_>) -> bool {
    cubin.kernels().any(|k| k.inner.iter().any(|f| is_helper(f.name)))
}

/// What a header says, with sections and symbols by name.
fn head(cubin: &Cubin<'_>, section: &Section<'_>) -> String {
    let name = |i: u32| cubin.sections.get(i as usize).map_or("?", |s| s.name);
    let info = if section.name.starts_with(".text.") {
        format!("symbol {}", cubin.symbols.get(section.info as usize).map_or("?", |s| s.name))
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

fn contents(
    found: &mut Found,
    (ours, mine): (&Cubin<'_>, &Section<'_>),
    (theirs, section): (&Cubin<'_>, &Section<'_>),
    extra: &Extra,
) {
    let equal = mine.data == section.data && mine.size == section.size;
    let name = section.name;
    match name {
        _ if equal => {}
        // Compared by what is in them.
        ".shstrtab" | ".strtab" | ".symtab" | ".nv.info" => {}
        // They name places in the text and its length, and who made the file.
        ".debug_frame" | ".debug_line" | ".nv_debug_line_sass" | ".nv_debug_ptx_txt" => {}
        ".note.nv.tkinfo" => {}
        ".nv.callgraph" => {
            let pairs = |cubin: &Cubin<'_>, data: &[u8]| -> Vec<String> {
                let (words, _) = data.as_chunks::<4>();
                let words: Vec<i32> = words.iter().map(|w| i32::from_le_bytes(*w)).collect();
                let symbol = |n: i32| {
                    let symbol = usize::try_from(n).ok().and_then(|n| cubin.symbols.get(n));
                    symbol.map_or(n.to_string(), |s| s.name.to_string())
                };
                let (pairs, _) = words.as_chunks::<2>();
                pairs.iter().map(|[a, b]| format!("{} {}", symbol(*a), symbol(*b))).collect()
            };
            let (a, b) = (pairs(ours, mine.data), pairs(theirs, section.data));
            lists(found, "call graph", extra, a, b);
        }
        ".nv.global.init" | ".nv.constant3" if points_to_functions(theirs) => {
            found.equal("size of variables", name, mine.size, section.size);
            found.add("pointers to functions", name);
        }
        ".nv.constant4" | ".nv.global" if has_references(theirs) => {}
        ".nv.compat" => found.equal("content", name, mine.data, section.data),
        _ if name.starts_with(".text.") => {}
        _ if name.starts_with(".nv.info.") || name.starts_with(".rela.") => {}
        _ if name.starts_with(".nv.constant2.") => constant2(found, ours, theirs, name),
        _ => {
            let size = |s: &Section<'_>| format!("{} bytes", s.size);
            found.add("content", format!("{name}: {} instead of {}", size(mine), size(section)));
        }
    }
}

/// Whether code calls through pointers, so that initial values may hold some.
fn points_to_functions(cubin: &Cubin<'_>) -> bool {
    cubin.kernels().any(|k| !k.inner.is_empty())
}

/// Places of functions in both, or jump tables in one; where both have those, places differ.
fn constant2(found: &mut Found, ours: &Cubin<'_>, theirs: &Cubin<'_>, section: &str) {
    let kernel = section.trim_start_matches(".nv.constant2.");
    let jumps = |cubin: &Cubin<'_>| {
        let attributes = cubin.kernel(kernel).map(|k| &k.attributes[..]).unwrap_or_default();
        attributes.iter().any(|a| matches!(a, Attribute::IndirectBranchTargets(_)))
    };
    match (jumps(ours), jumps(theirs)) {
        (true, true) => {}
        (false, false) => found.add("pointers to functions", section),
        _ => found.add("jump tables", section),
    }
}

fn relocations(cubin: &Cubin<'_>, section: &Section<'_>) -> Vec<String> {
    let frame = section.name.starts_with(".debug") || section.name.starts_with(".nv_debug");
    let one = |r: &orias::elf::read::Relocation| {
        let name = cubin.symbols.get(r.symbol).map_or("?", |s| s.name);
        let (at, addend) = if frame { (0, None) } else { (r.offset, r.addend) };
        format!("{}: {name} {:?} {addend:?} at {at}", section.name, r.kind)
    };
    section.relocations.iter().map(one).collect()
}

fn symbols(found: &mut Found, ours: &Cubin<'_>, theirs: &Cubin<'_>, extra: &Extra) {
    let text = |cubin: &Cubin<'_>, symbol: &Symbol<'_>| {
        let section = cubin.sections.get(usize::from(symbol.section)).map_or("?", |s| s.name);
        // A function is as long as its code, and one inside another's text stands where that has
        // come to.
        let (value, size) = if symbol.kind == 2 { (0, 0) } else { (symbol.value, symbol.size) };
        format!(
            "{} binding {} kind {} other {:x} in {section} at {value} size {size}",
            symbol.name, symbol.binding, symbol.kind, symbol.other
        )
    };
    let all = |cubin: &Cubin<'_>| -> Vec<String> {
        let keep = |s: &&Symbol<'_>| {
            let section = cubin.sections.get(usize::from(s.section)).map_or("", |s| s.name);
            let reference =
                theirs.symbols.iter().any(|t| REFERENCES.contains(&t.kind) && t.name == s.name);
            let of_extra = reference || s.kind == 3 && extra.sections.contains(section);
            !is_helper(s.name) && !of_extra
        };
        cubin.symbols.iter().filter(keep).map(|s| text(cubin, s)).collect()
    };
    let (mut a, mut b) = (all(ours), all(theirs));
    if a != b && [ours, theirs].into_iter().all(names_reserved) {
        // Without what may have lost its name.
        let named = |s: &String| !s.starts_with(' ') && !s.starts_with(".nv.reservedSmem");
        let before = (a.len(), b.len());
        a.retain(named);
        b.retain(named);
        found.add("reserved shared memory", format!("{before:?} symbols"));
    }
    lists(found, "symbols", extra, a, b);
}

/// Whether a kernel asks for places in reserved shared memory.
fn names_reserved(cubin: &Cubin<'_>) -> bool {
    let asks = |a: &Attribute| a.code() == code::RESERVED_SMEM_USED;
    cubin.kernels().any(|k| k.attributes.iter().any(asks))
}

/// `.nv.info`, with symbols by name.
fn module_attributes(found: &mut Found, ours: &Cubin<'_>, theirs: &Cubin<'_>, extra: &Extra) {
    let helper = |cubin: &Cubin<'_>, s: u32| {
        let symbol = cubin.symbols.get(s as usize);
        symbol.is_none_or(|s| s.other & STO_CUDA_ENTRY == 0 && is_helper(s.name))
    };
    let name = |cubin: &Cubin<'_>, s: u32| {
        cubin.symbols.get(s as usize).map_or("?".to_string(), |s| s.name.to_string())
    };
    // How many registers and how much stack there are is another compiler's; of which functions
    // they are said is not.
    let texts = |cubin: &Cubin<'_>| -> Vec<String> {
        let text = |a: &Attribute| {
            let (kind, s) = match a {
                Attribute::RegCount { symbol, .. } => ("RegCount", *symbol),
                Attribute::FrameSize { symbol, .. } => ("FrameSize", *symbol),
                Attribute::MinStackSize { symbol, .. } => ("MinStackSize", *symbol),
                other => return Some(format!("{other:?}")),
            };
            (!helper(cubin, s)).then(|| format!("{kind} {}", name(cubin, s)))
        };
        cubin.attributes.iter().filter_map(text).collect()
    };
    lists(found, "attributes of the module", extra, texts(ours), texts(theirs));
}
