//! Mutated PTX: whatever is done to a good file, loading it ends, in an error or not, and never
//! panics; and what ptxas accepts and refuses of it, we accept and refuse.
//!
//! Bytes and tokens are deleted, doubled, replaced and swapped; the seed is fixed, so a failure
//! names a case that comes again. `ORIAS_FUZZ=N` makes N times as many mutants for the comparison
//! with ptxas, `ORIAS_SEED=S` others.

use orias_isa::mutate::ask::{Verdict, ask};
use orias_isa::mutate::{KINDS, Source, Vocabulary, mutants};
use orias_isa::sources;

use std::panic::catch_unwind;
use std::path::Path;

/// A small generator (xorshift64*): the sequence is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Pieces that a replaced token becomes.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    ".",
    "@",
    "!",
    "-",
    "+",
    "|",
    "_",
    "%",
    "%r1",
    "%tid.x",
    ".reg",
    ".u32",
    ".v4",
    ".param",
    ".align 3",
    ".entry",
    ".func",
    "call",
    "0x",
    "99999999999999999999",
    "1e999",
    "0f3F800000",
    "\"",
    "/*",
    "//",
    "\0",
    "\u{e9}",
    "WARP_SZ",
    "1 / 0",
];

fn sources() -> Vec<(&'static str, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    [
        "corpus/vecadd/vecadd.ptx",
        "corpus/noinline_call/noinline_call.ptx",
        "corpus/switch_sparse/switch_sparse.ptx",
        "corpus/tri_softmax/tri_softmax.ptx",
        "coverage/sm_90a/globals.ptx",
        "coverage/sm_90a/call.ptx",
        "coverage/sm_90a/directive.ptx",
        "coverage/sm_90a/texture.ptx",
    ]
    .iter()
    .map(|name| (*name, std::fs::read_to_string(root.join(name)).unwrap()))
    .collect()
}

/// Start and end of the tokens, roughly: runs of name characters, and every other character by
/// itself.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let name = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
        if name(c) {
            while let Some((_, next)) = chars.next_if(|(_, next)| name(*next)) {
                end += next.len_utf8();
            }
        }
        all.push((start, end));
    }
    all
}

/// One change of a token or of a single character.
fn mutate(text: &str, random: &mut Random) -> String {
    let tokens = tokens(text);
    let (start, end) = tokens[random.below(tokens.len())];
    let (before, token, after) = (&text[..start], &text[start..end], &text[end..]);
    match random.below(6) {
        0 => format!("{before}{after}"),
        1 => format!("{before}{token} {token}{after}"),
        2 => format!("{before}{}{after}", PIECES[random.below(PIECES.len())]),
        3 => {
            let (from, to) = tokens[random.below(tokens.len())];
            format!("{before}{}{after}", &text[from..to])
        }
        4 => before.to_string(),
        _ => {
            let byte = char::from((random.next() & 0x7f) as u8);
            format!("{before}{byte}{}", &text[end..])
        }
    }
}

fn load(name: &str, case: usize, text: &str) -> bool {
    let result = catch_unwind(|| match orias::ptx::load(text) {
        Ok(_) => true,
        Err(errors) => {
            assert!(errors.has_errors() && !errors.render("f.ptx", text).is_empty());
            false
        }
    });
    match result {
        Ok(good) => good,
        Err(_) => panic!("case {case} of {name} panicked:\n{text}"),
    }
}

#[test]
fn no_mutation_of_good_ptx_panics() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut good, mut bad) = (0, 0);
    for (name, source) in sources() {
        // One function's worth is enough to change, and fast.
        let end = source.char_indices().nth(12_000).map_or(source.len(), |(at, _)| at);
        let end = source[..end].rfind("\n}").map_or(end, |at| at + 2);
        let source = &source[..end];
        for case in 0..150 {
            let mut text = source.to_string();
            for _ in 0..=random.below(3) {
                if !text.is_empty() {
                    text = mutate(&text, &mut random);
                }
            }
            if load(name, case, &text) { good += 1 } else { bad += 1 }
        }
    }
    // Most changes break the file, some do not: both ways are taken.
    assert!(good > 20 && bad > 500, "{good} good, {bad} bad");
}

#[test]
fn every_prefix_of_a_file_is_loaded_or_refused() {
    for (name, source) in sources() {
        for end in (0..source.len().min(6_000)).step_by(37) {
            if let Some(prefix) = source.get(..end) {
                load(name, end, prefix);
            }
        }
    }
}

#[test]
fn deep_and_long_input_does_not_exhaust_the_stack() {
    let head = ".version 9.0\n.target sm_90a\n.address_size 64\n.global .u32 y;\n";
    let repeated = |open: &str, middle: &str, close: &str| {
        format!("{head}{}{middle}{}", open.repeat(20_000), close.repeat(20_000))
    };
    let long = "+1".repeat(100_000);
    let names = "+y".repeat(100_000);
    for text in [
        repeated(".global .u32 x = (", "1", ")"),
        format!("{head}.global .u32 x = {}1{};", "(".repeat(20_000), ")".repeat(20_000)),
        format!("{head}.global .u32 x = {}1;", "-".repeat(20_000)),
        format!("{head}.global .u32 x[] = {}1{};", "{".repeat(20_000), "}".repeat(20_000)),
        format!("{head}.global .u32 x = 1 {};", "? 1 : 1".repeat(20_000)),
        format!("{head}.global .u64 x = y{names};"),
        format!("{head}.global .u32 x = 1{long};"),
        format!("{head}.func f() {{ {} }}", "{".repeat(20_000)),
        format!("{head}.func f() {{ mov.u32 y, {}y{}; }}", "{".repeat(20_000), "}".repeat(20_000)),
        format!("{head}.func f() {{ mov.u32 y, {}y{}; }}", "[".repeat(20_000), "]".repeat(20_000)),
        format!("{head}.func f() {{ mov.u32 y, {}y{}; }}", "y[".repeat(20_000), "]".repeat(20_000)),
        format!("{head}.func f() {{ mov.u32 y, {}y; }}", "-".repeat(20_000)),
        format!("{head}.func f() {{ mov.u64 y, y{names}; }}"),
        format!("{head}.global .u32 x{};", "[2]".repeat(20_000)),
    ] {
        load("a deep file", 0, &text);
    }
}

/// The corpus whole, and each one-instruction kernel by itself.
fn good_sources() -> Vec<Source> {
    let mut all = Vec::new();
    for source in sources::corpus("sm_90a") {
        // Large files take ptxas long.
        if source.text.len() < 30_000 {
            all.push(Source::file(&source.name, &source.text));
        }
    }
    for source in sources::one_instruction("sm_90a") {
        all.extend(Source::kernels(&source.name, &source.text));
    }
    all
}

/// Whether our front end takes a module for sm_90a.
fn accepted(text: &str) -> Result<(), String> {
    let program = orias::ptx::load(text).map_err(|errors| errors.to_string())?;
    let unresolved = orias::ptx::link::unresolved(&program);
    if unresolved.has_errors() {
        return Err(unresolved.to_string());
    }
    orias::ptx::target::compatible(program.target, "sm_90a")
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

/// Of one kind of mutation: accepted by ptxas and by us, by ptxas alone; refused by ptxas and by
/// us, by ptxas alone.
#[derive(Default, Clone, Copy)]
struct Count {
    accepted: usize,
    refused_by_us: usize,
    refused: usize,
    accepted_by_us: usize,
}

impl Count {
    fn wrong(self) -> usize {
        self.refused_by_us + self.accepted_by_us
    }

    fn all(self) -> usize {
        self.accepted + self.refused + self.wrong()
    }
}

#[test]
fn mutants_are_judged_as_ptxas_judges_them() {
    let Some(ptxas) = orias_runner::oracle::tool("ptxas") else { return };
    let sources = good_sources();
    let vocabulary = Vocabulary::new(&sources);
    let count = 1_500 * setting("ORIAS_FUZZ", 1) as usize;
    let made = mutants(&sources, &vocabulary, setting("ORIAS_SEED", 1), count);
    assert!(made.len() * 10 >= count * 9, "{} of {count} mutants", made.len());
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let parses = |text: &str| !orias::ptx::parser::parse(text, &mut ()).has_errors();
    let mut counts = vec![Count::default(); KINDS.len()];
    let (mut listed, mut nothing) = (String::new(), 0);
    for chunk in made.chunks(5_000) {
        let verdicts = ask(&ptxas, &["-arch", "sm_90a", "-O0"], &sources, chunk, threads, parses);
        for (mutant, verdict) in chunk.iter().zip(verdicts) {
            let kind = KINDS.iter().position(|(name, _)| *name == mutant.kind).unwrap();
            let text = mutant.text(&sources);
            let ours = accepted(&text);
            let count = &mut counts[kind];
            let theirs = match (&verdict, &ours) {
                (Verdict::Accepted, Ok(())) => {
                    count.accepted += 1;
                    continue;
                }
                (Verdict::Refused(_), Err(_)) => {
                    count.refused += 1;
                    continue;
                }
                (Verdict::Nothing(_), _) => {
                    nothing += 1;
                    continue;
                }
                (Verdict::Accepted, Err(_)) => {
                    count.refused_by_us += 1;
                    "accepts"
                }
                (Verdict::Refused(message), Ok(())) => {
                    count.accepted_by_us += 1;
                    message.as_str()
                }
            };
            listed += &format!(
                "{} of {}: {:?}\n    ptxas: {theirs}\n    orias: {}\n",
                mutant.kind,
                sources[mutant.source].name,
                mutant.edit,
                ours.err().unwrap_or("accepts".to_string())
            );
        }
    }
    let mut bad = Vec::new();
    println!("kind: accepted (of them refused by us), refused (of them accepted by us)");
    for ((kind, _), count) in KINDS.iter().zip(&counts) {
        println!(
            "{kind}: {} ({}), {} ({})",
            count.accepted + count.refused_by_us,
            count.refused_by_us,
            count.refused + count.accepted_by_us,
            count.accepted_by_us
        );
        // A handful of mutants is no percentage.
        if count.wrong() > (count.all() / 100).max(4) {
            bad.push(*kind);
        }
    }
    let wrong: usize = counts.iter().map(|c| c.wrong()).sum();
    let all: usize = counts.iter().map(|c| c.all()).sum();
    println!("{wrong} of {all} are judged otherwise; ptxas said nothing of {nothing}\n{listed}");
    assert!(bad.is_empty(), "more than one of a hundred in {bad:?}");
    assert!(wrong <= all / 200 + 4, "{wrong} of {all}");
}
