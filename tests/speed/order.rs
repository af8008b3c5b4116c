//! Which functions compiles call: what the linker puts beside each other.
//!
//! A small compile runs each of some thousand functions a few times, and what it waits for is that
//! they come to memory: 64 KB of the program at a time. Those that compiles call are two fifths of
//! it. `valgrind --tool=callgrind` says which they are; here their names become patterns of a
//! linker script, those of the whole room where it is called nearly whole.

use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Of a room's bytes so much must be called for its name to stand for all of it.
const MOST: f64 = 1.0;

/// The names of the functions that one compile calls, as the linker knows them.
///
/// # Errors
/// When it fails, or callgrind does.
pub fn called(program: &Path, ptx: &Path, folder: &Path) -> Result<BTreeSet<String>, String> {
    let profile = folder.join("callgrind.out");
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--demangle=no", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(["-arch", "sm_90a"])
        .arg(ptx)
        .arg("-o")
        .arg(folder.join("order.cubin"))
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !done.success() {
        return Err(format!("{}: {done} under callgrind", ptx.display()));
    }
    let text = std::fs::read_to_string(&profile)
        .map_err(|error| format!("{}: {error}", profile.display()))?;
    Ok(names(&text))
}

/// The functions of a profile. A call of itself has the name with a quote and a number.
fn names(profile: &str) -> BTreeSet<String> {
    let name =
        |line: &str| line.strip_prefix("fn=").map(|name| name.split('\'').next().map(String::from));
    profile.lines().filter_map(name).flatten().collect()
}

/// The functions in C that these compiles call, the most called first: their names are the same in
/// every build, so the linker takes them as they are.
pub fn symbols(compiles: &[BTreeSet<String>], sizes: &BTreeMap<String, u64>) -> String {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for name in compiles.iter().flatten().filter(|name| !is_rust(name)) {
        // What stands behind a dot is of one version of a compiler.
        if sizes.contains_key(name) && !name.contains('.') {
            *counts.entry(name).or_default() += 1;
        }
    }
    let mut names: Vec<(&String, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    names.iter().map(|(name, _)| format!("{name}\n")).collect()
}

fn is_rust(name: &str) -> bool {
    name.starts_with("_ZN") || name.starts_with("_R")
}

/// The sizes of a program's functions by their names.
///
/// # Errors
/// When it cannot be read, or has no names.
pub fn sizes(program: &Path) -> Result<BTreeMap<String, u64>, String> {
    let fail = |what: &str| format!("{}: {what}", program.display());
    let bytes = std::fs::read(program).map_err(|error| fail(&error.to_string()))?;
    let file = object::File::parse(&*bytes).map_err(|error| fail(&error.to_string()))?;
    let functions = file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0);
    let named = functions.filter_map(|s| Some((s.name().ok()?.to_string(), s.size())));
    let sizes: BTreeMap<String, u64> = named.collect();
    if sizes.is_empty() {
        return Err(fail("it has no names of functions (build it with --profile profiling)"));
    }
    Ok(sizes)
}

/// A function or a room of them.
#[derive(Default)]
struct Node {
    bytes: u64,
    called: u64,
    /// Bytes times the compiles that call them.
    weight: u64,
    inner: BTreeMap<String, Node>,
}

/// A linker script's patterns: functions by how many of these compiles call them.
pub fn script(compiles: &[BTreeSet<String>], sizes: &BTreeMap<String, u64>) -> String {
    let mut root = Node::default();
    for (name, size) in sizes.iter().filter(|(name, _)| is_rust(name)) {
        let count = compiles.iter().filter(|called| called.contains(name)).count() as u64;
        let mut node = &mut root;
        let last = String::new();
        for part in parts(name).into_iter().chain([last]) {
            node = node.inner.entry(part).or_default();
            node.bytes += size;
            node.called += if count > 0 { *size } else { 0 };
            node.weight += count * size;
        }
    }
    let mut patterns = Vec::new();
    for (name, node) in &root.inner {
        collect(name.clone(), node, &mut patterns);
    }
    patterns.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut text = String::from(
        "/* Functions that compiles call, beside each other: made by `orias-speed order`. */\n\
         SECTIONS\n{\n  .text.compile :\n  {\n",
    );
    for (_, pattern) in &patterns {
        // What the compiler takes for rare has sections of another name.
        let _ = writeln!(text, "    *(.text.{pattern} .text.unlikely.{pattern})");
    }
    text.push_str("  }\n}\nINSERT BEFORE .text;\n");
    text
}

/// The pattern of a room that is called nearly whole, or those of what is inside.
fn collect(name: String, node: &Node, patterns: &mut Vec<(f64, String)>) {
    if node.called == 0 {
        return;
    }
    let mean = node.weight as f64 / node.called as f64;
    if node.called as f64 >= MOST * node.bytes as f64 {
        patterns.push((mean, format!("{name}*")));
        return;
    }
    for (part, inner) in &node.inner {
        match part.as_str() {
            // The function of that name itself, whatever stands behind it: of its instances some
            // are called and others not, and their hashes change with every build.
            "" if inner.called > 0 => patterns.push((mean, format!("{name}17h*"))),
            "" => {}
            part => collect(format!("{name}{part}"), inner, patterns),
        }
    }
}

/// The rooms of a mangled name from the crate on, each with its length before it, without the hash
/// at its end: `_ZN5orias`, `6driver`, `5model`. In names of the newer kind, which are few, the
/// hash is the crate's.
fn parts(name: &str) -> Vec<String> {
    let Some(mut rest) = name.strip_prefix("_ZN") else {
        return vec![without_crate_hash(name)];
    };
    let mut parts = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0) {
        let Some(length) = rest[..end].parse::<usize>().ok().filter(|n| end + n <= rest.len())
        else {
            break;
        };
        let (part, more) = rest.split_at(end + length);
        let is_hash = length == 17 && part[end..].starts_with('h') && more.starts_with('E');
        if !is_hash {
            let start = if parts.is_empty() { "_ZN" } else { "" };
            parts.push(format!("{start}{part}"));
        }
        rest = more;
    }
    parts
}

/// `Cs` and what is behind it up to `_` name a build of a crate.
fn without_crate_hash(name: &str) -> String {
    let mut pieces = name.split("Cs");
    let mut out = pieces.next().unwrap_or("").to_string();
    for piece in pieces {
        match piece.split_once('_') {
            Some((hash, rest)) if hash.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                let _ = write!(out, "Cs*_{rest}");
            }
            _ => {
                let _ = write!(out, "Cs{piece}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "17h0123456789abcdefE";

    fn name(path: &str) -> String {
        let parts: String = path.split("::").map(|p| format!("{}{p}", p.len())).collect();
        format!("_ZN{parts}{HASH}")
    }

    #[test]
    fn a_name_is_its_rooms_without_its_hash() {
        assert_eq!(parts(&name("orias::driver::model")), ["_ZN5orias", "6driver", "5model"]);
        assert_eq!(
            parts("_RNvCsf1A2_7___rustc12___rust_alloc"),
            ["_RNvCs*_7___rustc12___rust_alloc"]
        );
    }

    #[test]
    fn a_profile_names_what_has_a_cost() {
        let profile = format!(
            "fl=a.rs\nfn={}\n1 2\ncfn={}\ncalls=1 1\n3 4\nfn={}'2\n5 6\nfn=main\n7 8\n",
            name("a::b"),
            name("a::c"),
            name("a::d")
        );
        assert_eq!(
            names(&profile).into_iter().collect::<Vec<_>>(),
            [name("a::b"), name("a::d"), "main".to_string()]
        );
    }

    #[test]
    fn a_room_that_is_called_whole_is_one_pattern_and_the_most_called_come_first() {
        let sizes: BTreeMap<String, u64> = ["a::x::p", "a::x::q", "a::y::r", "a::y::s", "b::t"]
            .into_iter()
            .map(|path| (name(path), 100))
            .collect();
        let set = |paths: &[&str]| paths.iter().map(|p| name(p)).collect::<BTreeSet<_>>();
        let compiles = [set(&["a::x::p", "a::x::q", "a::y::r"]), set(&["a::y::r"])];
        let text = script(&compiles, &sizes);
        let patterns: Vec<&str> =
            text.lines().filter_map(|l| l.trim().strip_prefix("*(.text.")).collect();
        let both = |pattern| format!("{pattern} .text.unlikely.{pattern})");
        assert_eq!(patterns, [both("_ZN1a1y1r*"), both("_ZN1a1x*")]);
    }
}
