//! Which functions compiles call: what the linker puts beside each other.
//!
//! A small compile runs each of some thousand functions a few times, and what it waits for is that
//! they come to memory: 64 KB of the program at a time. Those that compiles call are two fifths of
//! it. `valgrind --tool=callgrind` says which they are; here their names become patterns of a
//! linker script, as short as those of functions that no compile calls allow.

use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// Named in the way that says of which types an instance is (`.cargo/config.toml`): else all of a
/// name would be alike but for hashes that change with every build.
fn is_rust(name: &str) -> bool {
    name.starts_with("_R")
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

/// Of the compiles so many must call a function for it to stand with those that all call.
const USUAL: f64 = 0.5;

/// A linker script's patterns: first the functions that most of these compiles call, then the
/// others that any does.
pub fn script(compiles: &[BTreeSet<String>], sizes: &BTreeMap<String, u64>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in sizes.keys().filter(|name| is_rust(name)) {
        let count = compiles.iter().filter(|called| called.contains(name)).count();
        // Functions with the same name but for the build's hashes are one to the linker.
        let most = counts.entry(stable(name)).or_default();
        *most = count.max(*most);
    }
    let usual = (USUAL * compiles.len() as f64).ceil().max(1.0) as usize;
    let names: Vec<(&str, usize)> = counts.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let mut text = String::from(
        "/* Functions that compiles call, beside each other: made by `orias-speed order`. */\n\
         SECTIONS\n{\n  .text.compile :\n  {\n",
    );
    // The linker takes the first pattern that a function has.
    let mut known = usize::MAX;
    for least in [usual, 1] {
        let mut patterns = Vec::new();
        collect(&names, 0, &|count| count >= least, &|count| count < known, &mut patterns);
        for pattern in &patterns {
            // What the compiler takes for rare has sections of another name.
            let _ = writeln!(text, "    *(.text.{pattern} .text.unlikely.{pattern})");
        }
        known = least;
    }
    text.push_str("  }\n}\nINSERT BEFORE .text;\n");
    text
}

/// The shortest patterns that those of these names have that are `taken`, and no other has: names
/// in order, all alike up to `at`. Where none of them is `new` there is nothing to say.
fn collect(
    names: &[(&str, usize)],
    at: usize,
    taken: &dyn Fn(usize) -> bool,
    new: &dyn Fn(usize) -> bool,
    patterns: &mut Vec<String>,
) {
    let any = |(_, count): &(&str, usize)| taken(*count) && new(*count);
    let Some((first, _)) = names.iter().find(|name| any(name)) else { return };
    if names.iter().all(|(_, count)| taken(*count)) {
        patterns.push(pattern(first, at));
        return;
    }
    let next = |name: &(&str, usize)| name.0.as_bytes().get(at).copied();
    for group in names.chunk_by(|a, b| next(a) == next(b)) {
        match next(&group[0]) {
            Some(_) => collect(group, at + 1, taken, new, patterns),
            // The whole of a name that others begin with.
            None => patterns.extend(group.iter().filter(|n| any(n)).map(|n| n.0.to_string())),
        }
    }
}

/// What begins as this name does up to a place.
fn pattern(name: &str, end: usize) -> String {
    // A star cuts no hash in two: it stands for it.
    format!("{}*", name[..end].trim_end_matches('*'))
}

/// A name as it is in every build: without the hashes of crates, and without what tells copies of
/// a function apart that the compiler has made.
fn stable(name: &str) -> String {
    without_crate_hash(name.split(".llvm.").next().unwrap_or(name))
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

    #[test]
    fn a_name_is_without_hashes() {
        assert_eq!(
            stable("_RNvCsf1A2_7___rustc12___rust_alloc"),
            "_RNvCs*_7___rustc12___rust_alloc"
        );
        assert_eq!(stable("_RNvCs1_1a1b.llvm.123"), "_RNvCs*_1a1b");
    }

    #[test]
    fn a_profile_names_what_has_a_cost() {
        let profile =
            "fl=a.rs\nfn=_Rb\n1 2\ncfn=_Rc\ncalls=1 1\n3 4\nfn=_Rd'2\n5 6\nfn=main\n7 8\n";
        assert_eq!(names(profile).into_iter().collect::<Vec<_>>(), ["_Rb", "_Rd", "main"]);
    }

    #[test]
    fn the_usual_functions_come_first_by_their_shortest_names() {
        let all = ["_Rax1", "_Rax2", "_Ray1", "_Ray11", "_Rb1", "_Rb2", "_Rc"];
        let sizes: BTreeMap<String, u64> = all.iter().map(|n| (n.to_string(), 100)).collect();
        let set = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<BTreeSet<_>>();
        let always = ["_Rax1", "_Rax2", "_Ray1"];
        let compiles = [set(&always), set(&always), set(&[&always[..], &["_Rb2"]].concat())];
        let text = script(&compiles, &sizes);
        let patterns: Vec<&str> =
            text.lines().filter_map(|l| l.trim().strip_prefix("*(.text.")).collect();
        let both = |pattern| format!("{pattern} .text.unlikely.{pattern})");
        // `_Ray1` is the beginning of a name that nobody calls.
        assert_eq!(patterns, [both("_Rax*"), both("_Ray1"), both("_Rb2*")]);
    }
}
