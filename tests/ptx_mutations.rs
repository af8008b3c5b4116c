//! Mutated PTX: whatever is done to a good file, loading it ends, in an error or not, and never panics.
//!
//! Bytes and tokens are deleted, doubled, replaced and swapped; the seed is fixed, so a failure names a case that comes again.

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

/// Start and end of the tokens, roughly: runs of name characters, and every other character by itself.
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
