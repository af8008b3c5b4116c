//! Turns the table of instruction forms (`src/ptx/check/forms.tbl`, whose header says how it reads)
//! into Rust data that needs no reading at run time: `$OUT_DIR/words.rs`, the lists of opcodes and
//! modifiers that `src/ptx/words.rs` makes enumerations of, and `$OUT_DIR/forms.rs`, included by
//! `src/ptx/check/forms/table.rs`, which has the types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TABLE: &str = "src/ptx/check/forms.tbl";

/// What the environment may ask of the linker that comes with Rust: an order of the program's
/// pieces by which compiles touch few pages of it (`src/profile.sh` makes one), and a map of what
/// it made.
const ASKED: [(&str, &str); 2] = [("ORIAS_ORDER", "-T,"), ("ORIAS_MAP", "-Map=")];

/// Bytes of a huge page on x86-64.
const HUGE_PAGE: u32 = 2 << 20;

/// Types, layouts, state spaces, L2 priorities, operations on bits: fields whose choices are lists
/// of words.
const SEQUENCES: usize = 5;

/// Their places among the fields.
const TYPES: usize = 0;
const SPACES: usize = 2;

fn main() {
    println!("cargo::rerun-if-changed=src/ptx/check/forms/build.rs");
    println!("cargo::rerun-if-changed={TABLE}");
    link();
    println!("cargo::rustc-env=ORIAS_SOURCES={:016x}", sources());
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let made = fs::read_to_string(TABLE).map_err(|e| e.to_string()).and_then(|text| rust(&text));
    match made {
        Ok(Made { words, forms }) => {
            for (name, text) in [("words.rs", words), ("forms.rs", forms)] {
                fs::write(Path::new(&out).join(name), text).expect("OUT_DIR is writable");
            }
        }
        Err(message) => println!("cargo::error={TABLE}: {message}"),
    }
}

/// What decides what a compile gives, beside the version.
const SOURCES: [&str; 5] = ["src", "components", "systems", "targets", "Cargo.lock"];

/// A hash of the compiler's sources: caches tell by it whether a result is this compiler's.
fn sources() -> u64 {
    let mut hash = DefaultHasher::new();
    for name in SOURCES {
        println!("cargo::rerun-if-changed={name}");
        hash_file(Path::new(name), &mut hash);
    }
    hash.finish()
}

/// Of a file, or of all that is in a folder, in the order of names.
fn hash_file(path: &Path, hash: &mut DefaultHasher) {
    path.hash(hash);
    match fs::read_dir(path) {
        Ok(entries) => {
            let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            entries.sort();
            entries.iter().for_each(|entry| hash_file(entry, hash));
        }
        Err(_) if path.extension().is_some_and(|kind| kind == "md") => {}
        Err(_) => fs::read(path).unwrap_or_default().hash(hash),
    }
}

/// How the program is linked, where that is known to work. A program that is always in one place
/// needs no addresses filled in when it starts: there are many thousands of them (musl's target
/// says so in `.cargo/config.toml`, for it decides what else is linked). One that has the C library
/// in it needs no dynamic linker either, which is a tenth of a small compile.
fn link() {
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_musl = match (of_target("OS").as_str(), of_target("ENV").as_str()) {
        ("linux", "musl") => true,
        ("linux", "gnu") => false,
        _ => return,
    };
    if !is_musl {
        println!("cargo::rustc-link-arg-bin=orias=-no-pie");
        // What unwinds is in each program, and `c` comes before `m`, which has one function that
        // both have: so programs look for no library but the C library's.
        println!("cargo::rustc-link-lib=dylib=gcc_eh");
        println!("cargo::rustc-link-lib=dylib=c");
    }
    let Some(linker) = own_linker() else {
        return;
    };
    if is_musl {
        println!("cargo::rustc-link-arg-bin=orias=-B{}", linker.display());
        println!("cargo::rustc-link-arg-bin=orias=-fuse-ld=lld");
        // Code and data lie in huge pages as they do in the file: where the system keeps that in
        // such ones, it maps them as a whole (see `give` in src/release.sh).
        println!("cargo::rustc-link-arg-bin=orias=-Wl,-z,max-page-size={HUGE_PAGE}");
        // Two pieces to map in place of four, and constants in the huge page of the code that reads
        // them: a hundredth of a small compile. Nothing is filled in at the start that would have
        // to be protected behind it.
        println!("cargo::rustc-link-arg-bin=orias=-Wl,-z,norelro,--no-rosegment");
    }
    for (name, option) in ASKED {
        println!("cargo::rerun-if-env-changed={name}");
        if let Ok(file) = env::var(name) {
            println!("cargo::rustc-link-arg-bin=orias=-Wl,{option}{file}");
        }
    }
    if !is_musl && let Some(folder) = archives() {
        println!("cargo::rustc-link-arg-bin=orias=-static");
        println!("cargo::rustc-link-arg-bin=orias=-L{}", folder.display());
    }
}

/// Where the linker stands that comes with Rust: no other one takes an order of this length, and
/// GNU's does not look into an archive twice, as the C library's want. A system's own Rust may come
/// without it, and a build may ask for another.
fn own_linker() -> Option<PathBuf> {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if env::var_os("RUSTC_LINKER").is_some() || flags.contains("link") || flags.contains("-ld") {
        return None;
    }
    let asked = Command::new(env::var_os("RUSTC")?).args(["--print", "sysroot"]).output().ok()?;
    let home = String::from_utf8(asked.stdout).ok()?;
    let tools = Path::new(home.trim_end()).join("lib/rustlib").join(env::var("HOST").ok()?);
    let tools = tools.join("bin/gcc-ld");
    tools.join("ld.lld").exists().then_some(tools)
}

/// A folder with nothing but archives for all that the standard library asks the linker for: found
/// there first, shared libraries of the same names are not looked for. None where the C library has
/// no archives, or for another machine than this one.
fn archives() -> Option<PathBuf> {
    const LIBRARIES: [&str; 6] = ["c", "m", "dl", "rt", "util", "pthread"];
    if env::var("HOST").ok()? != env::var("TARGET").ok()? {
        return None;
    }
    let folder = Path::new(&env::var_os("OUT_DIR")?).join("archives");
    fs::create_dir_all(&folder).ok()?;
    for name in LIBRARIES {
        let file = format!("lib{name}.a");
        // The name alone comes back where there is none.
        let asked = Command::new("cc").arg(format!("-print-file-name={file}")).output().ok()?;
        let found = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim_end());
        if !found.is_absolute() {
            return None;
        }
        // A file of this content is a linker script.
        fs::write(folder.join(file), format!("INPUT({})\n", found.display())).ok()?;
    }
    fs::write(folder.join("libgcc_s.a"), "INPUT(-lgcc_eh)\n").ok()?;
    Some(folder)
}

/// Lists of numbers behind each other, each once.
#[derive(Default)]
struct Pool {
    all: Vec<usize>,
    known: BTreeMap<Vec<usize>, usize>,
}

impl Pool {
    /// Where a list begins.
    fn place(&mut self, list: Vec<usize>) -> usize {
        if let Some(place) = self.known.get(&list) {
            return *place;
        }
        let place = self.all.len();
        self.all.extend(&list);
        self.known.insert(list, place);
        place
    }
}

struct Line<'a> {
    version: u8,
    sm: u8,
    operands: u16,
    fields: Vec<Vec<&'a str>>,
}

/// The texts of both files.
struct Made {
    words: String,
    forms: String,
}

fn rust(table: &str) -> Result<Made, String> {
    let (mut sets, mut rules, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    let mut lone: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut lines_of: BTreeMap<&str, Vec<Line<'_>>> = BTreeMap::new();
    let mut name = None;
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let wrong = || format!("what is this? {line}");
        let (kind, rest) = line.split_at_checked(1).ok_or_else(wrong)?;
        match (kind, name) {
            ("=", _) => {
                name = Some(rest);
                lines_of.insert(rest, Vec::new());
            }
            ("m", None) => sets.push(u64::from_str_radix(rest, 16).map_err(|_| wrong())?),
            ("r", None) => rules.push(rest),
            ("o", None) => lists.push(rest),
            ("t" | "i", None) => lone.entry(kind).or_default().push(rest),
            ("c" | "w" | "n", None) => lone.entry(kind).or_default().extend(rest.split(' ')),
            (_, Some(name)) => {
                let parts: Vec<&str> = line.splitn(4, ' ').collect();
                let [version, sm, operands, fields] = parts[..] else { return Err(wrong()) };
                lines_of.entry(name).or_default().push(Line {
                    version: version.parse().map_err(|_| wrong())?,
                    sm: sm.parse().map_err(|_| wrong())?,
                    operands: operands.parse().map_err(|_| wrong())?,
                    fields: fields.split(' ').map(|field| field.split('|').collect()).collect(),
                });
            }
            _ => return Err(wrong()),
        }
    }
    let choices = lines_of.values().flatten().flat_map(|line| &line.fields).flatten();
    let behind = lines_of.keys().flat_map(|name| name.split('.').skip(1));
    let alone = ["t", "i", "w", "n"].into_iter().filter_map(|kind| lone.get(kind)).flatten();
    let words: BTreeSet<&str> =
        choices.flat_map(|choice| choice.split('.')).chain(behind).chain(alone.copied()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| *word != "-").collect();
    let opcodes = lines_of.keys().filter_map(|name| name.split('.').next());
    let opcodes: BTreeSet<&str> =
        opcodes.chain(lone.get("c").into_iter().flatten().copied()).collect();
    let mut enums = String::new();
    variants(&mut enums, "opcodes", opcodes.iter().copied())?;
    variants(&mut enums, "modifiers", words.iter().copied())?;
    let mut text = String::new();
    for (kind, name) in [("t", "TWICE"), ("i", "IGNORED"), ("n", "NARROW")] {
        let list: Vec<String> =
            lone.get(kind).into_iter().flatten().map(|w| format!("Word::{}", variant(w))).collect();
        let _ = writeln!(text, "const {name}: WordSet = WordSet::of(&[{}]);", list.join(", "));
    }
    let rules: Vec<String> = rules.iter().map(|text| rule(text)).collect::<Result<_, _>>()?;
    array(&mut text, "RULES", "Rule", rules.into_iter());
    let lists: Vec<String> =
        lists.iter().map(|list| operands(list, &sets)).collect::<Result<_, _>>()?;
    array(&mut text, "LISTS", "&[&[Slot]]", lists.into_iter());

    let (mut names, mut lines) = (Vec::new(), Vec::new());
    let (mut fields, mut behind_types) = (Pool::default(), Pool::default());
    let (mut keys, mut by_key) = (Vec::new(), Vec::new());
    for (name, list) in &lines_of {
        // A line stands under the first words of all its types and state spaces.
        let mut index: BTreeMap<(u16, u16), Vec<usize>> = BTreeMap::new();
        for (at, line) in list.iter().enumerate() {
            let firsts = |field: &[&str]| -> BTreeSet<u16> {
                let number = |choice: &&str| {
                    let first = choice.split('.').next().unwrap_or("");
                    words.binary_search(&first).map_or(u16::MAX, |n| n as u16)
                };
                field.iter().map(number).collect()
            };
            let field = |at: usize| line.fields.get(at).map_or(&[][..], |field| field.as_slice());
            for ty in firsts(field(TYPES)) {
                for space in firsts(field(SPACES)) {
                    index.entry((ty, space)).or_default().push(lines.len() + at);
                }
            }
        }
        let first_key = keys.len();
        for ((ty, space), list) in index {
            let start = by_key.len();
            by_key.extend(list);
            keys.push(format!("(({ty}, {space}), {start}, {})", by_key.len()));
        }
        let behind: Vec<String> =
            name.split('.').skip(1).map(|word| format!("Word::{}", variant(word))).collect();
        names.push(format!(
            "Name {{ text: {name:?}, words: &[{}], lines: ({}, {}), keys: ({first_key}, {}) }}",
            behind.join(", "),
            lines.len(),
            lines.len() + list.len(),
            keys.len()
        ));
        for line in list {
            let mut bits = 0u64;
            let mut places = Vec::new();
            for (number, field) in line.fields.iter().enumerate() {
                let mut one = vec![field.len()];
                for choice in field {
                    let some: Vec<usize> = match *choice {
                        "-" => Vec::new(),
                        list => {
                            list.split('.').filter_map(|w| words.binary_search(&w).ok()).collect()
                        }
                    };
                    bits |= some.iter().fold(0, |bits, word| bits | 1 << (word % 64));
                    match some[..] {
                        [] if number >= SEQUENCES => one.push(usize::from(u16::MAX)),
                        [word] if number >= SEQUENCES => one.push(word),
                        _ => {
                            one.push(some.len());
                            one.extend(some);
                        }
                    }
                }
                places.push(fields.place(one));
            }
            let (types, rest) =
                places.split_first().ok_or_else(|| format!("'{name}': no types"))?;
            let rest = behind_types.place([&[rest.len()], rest].concat());
            let Line { version, sm, operands, .. } = line;
            lines.push(format!(
                "Line {{ words: {bits:#x}, version: {version}, sm: {sm}, operands: {operands}, types: {types}, rest: {rest} }}"
            ));
        }
    }
    let of_opcode = |op: &&str| {
        let is = |name: &&str| name.split('.').next() == Some(op);
        let place = |found: Option<usize>| found.unwrap_or(0);
        let first = place(lines_of.keys().position(is));
        format!("({first}, {})", first + lines_of.keys().filter(|name| is(name)).count())
    };
    array(&mut text, "NAMES", "Name", names.into_iter());
    array(&mut text, "NAMES_OF", "(u16, u16)", opcodes.iter().map(of_opcode));
    array(&mut text, "KEYS", "Key", keys.into_iter());
    array(&mut text, "BY_KEY", "u16", by_key.into_iter().map(|n| n.to_string()));
    array(&mut text, "LINES", "Line", lines.into_iter());
    array(&mut text, "FIELDS", "u16", fields.all.iter().map(usize::to_string));
    array(&mut text, "BEHIND_TYPES", "u16", behind_types.all.iter().map(usize::to_string));
    Ok(Made { words: enums, forms: text })
}

/// The name of a word's variant: `SharedCta` of `shared::cta`, `L2_128B`, `_16x64b`.
fn variant(word: &str) -> String {
    let mut name = String::new();
    for part in word.split(['_', ':']).filter(|part| !part.is_empty()) {
        let (first, rest) = part.split_at(1);
        if first.starts_with(|c: char| c.is_ascii_digit()) {
            name.push('_');
        }
        name += &first.to_ascii_uppercase();
        name += rest;
    }
    name
}

/// A list for the macro of this name: variants and their spellings, sorted by these.
fn variants<'a>(
    text: &mut String,
    name: &str,
    list: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), String> {
    let mut known = BTreeMap::new();
    for word in list.clone() {
        if let Some(other) = known.insert(variant(word), word) {
            return Err(format!("'{word}' and '{other}' have one variant"));
        }
    }
    let items: Vec<String> = list.map(|word| format!("{} {word:?}", variant(word))).collect();
    let _ = writeln!(text, "{name}! {{ {} }}", items.join(", "));
    Ok(())
}

fn array(text: &mut String, name: &str, ty: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    let _ = writeln!(text, "static {name}: [{ty}; {}] = [{}];", items.len(), items.join(", "));
}

/// `24..256%8`, `4|8|16`.
fn rule(text: &str) -> Result<String, String> {
    let wrong = || format!("no rule: {text}");
    let number = |n: &str| n.parse::<i64>().map_err(|_| wrong());
    let (values, multiple) = text.split_once('%').unwrap_or((text, "1"));
    let multiple = number(multiple)?;
    let (range, list) = match values.split_once("..") {
        Some((low, high)) => (format!("({}, {})", number(low)?, number(high)?), String::new()),
        None if values.is_empty() => ("(i64::MIN, i64::MAX)".to_string(), String::new()),
        None => {
            let list = values.split('|').map(number).collect::<Result<Vec<_>, _>>()?;
            ("(i64::MIN, i64::MAX)".to_string(), list.iter().map(|n| format!("{n}, ")).collect())
        }
    };
    Ok(format!("Rule {{ range: {range}, multiple: {multiple}, list: &[{list}] }}"))
}

/// `S3@1 A1/V4:5`.
fn operands(lists: &str, sets: &[u64]) -> Result<String, String> {
    let wrong = |slot: &str| format!("no slot: {slot}");
    let slot = |slot: &str| -> Result<String, String> {
        let (kind, rest) = slot.split_at(1);
        let set = |number: &str| {
            let number = number.parse::<usize>().ok();
            number.and_then(|n| sets.get(n)).map(|set| format!("{set:#x}")).ok_or(wrong(slot))
        };
        Ok(match kind {
            "S" => match rest.split_once('@') {
                Some((rest, rule)) => format!("Slot::Value({}, Some({rule}))", set(rest)?),
                None => format!("Slot::Value({}, None)", set(rest)?),
            },
            "A" => format!("Slot::Address({})", set(rest)?),
            "P" => format!("Slot::Pair({})", set(rest)?),
            "V" => {
                let (count, elements) = rest.split_once(':').ok_or_else(|| wrong(slot))?;
                format!("Slot::Vector({count}, {})", set(elements)?)
            }
            "L" => {
                let part = |part: &str| part.strip_prefix('V').unwrap_or("0").to_string();
                let parts: Vec<String> = rest.split(',').map(part).collect();
                format!("Slot::Parts(&[{}])", parts.join(", "))
            }
            _ => "Slot::Any".to_string(),
        })
    };
    let list = |list: &str| -> Result<String, String> {
        let slots = list.split(' ').filter(|text| !text.is_empty()).map(slot);
        Ok(format!("&[{}]", slots.collect::<Result<Vec<_>, _>>()?.join(", ")))
    };
    let lists = lists.split('/').map(list).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("&[{}]", lists.join(", ")))
}
