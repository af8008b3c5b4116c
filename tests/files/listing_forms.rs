//! `orias dis` beside its listings: the JSON document, the graphs, and files that are damaged or
//! made to do harm.

use orias::dis::{Check, Code, DisOptions, graphs, json};
use orias_targets::target;
use serde_json::Value;

/// Calls, a loop, a branch, shared memory, a barrier.
fn sample() -> Vec<u8> {
    let source = ".version 9.0\n.target sm_90a\n.address_size 64
        .visible .global .align 8 .u64 g[4]={1,2,3};
        .visible .entry k(.param .u64 a, .param .u32 n) .maxntid 128 {
            .shared .align 8 .b8 s[64]; .reg .u64 %a,%b; .reg .u32 %r,%n,%i; .reg .pred %p;
            ld.param.u64 %a,[a]; ld.param.u32 %n,[n]; mov.u32 %i,%tid.x;
        L:  setp.ge.u32 %p,%i,%n; @%p bra E;
            st.shared.u32 [s],%i; bar.sync 0; ld.shared.u32 %r,[s+4];
            mul.wide.u32 %b,%i,4; add.u64 %b,%b,%a; st.global.u32 [%b],%r;
            add.u32 %i,%i,32; bra L;
        E:  ret; }
        .visible .entry other(){ret;}";
    let options = orias::driver::CompileOptions::default();
    orias::driver::compile_source(source, &options).expect("the sample compiles").cubin
}

fn document(code: &Code<'_>) -> Value {
    let mut out = Vec::new();
    json(code, &mut out).expect("memory takes it");
    serde_json::from_slice(&out).expect("it is JSON")
}

#[test]
fn json_says_what_the_word_says() {
    // @!P0 IMAD.WIDE.U32 R4, R2.reuse, 0x38, RZ; an address; a word that is nothing.
    let words: [u128; 3] = [
        0x040f_ca00_078e_00ff_0000_0038_0204_8825,
        0x000e_a200_0c1e_1900_0000_1004_0402_7981,
        u128::MAX,
    ];
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let code = Code::raw(target("sm_90a").expect("a target"), &bytes).expect("whole words");
    let all = document(&code);
    assert_eq!(all["schema"], 1);
    assert_eq!(all["target"], "sm_90a");
    let insts = &all["functions"][0]["instructions"];
    let wide = &insts[0];
    assert_eq!(wide["word"], "0x040fca00078e00ff0000003802048825");
    assert_eq!(wide["text"], "@!P0 IMAD.WIDE.U32 R4, R2.reuse, 0x38, RZ");
    assert_eq!(wide["opcode"], "IMAD");
    assert_eq!(wide["modifiers"], serde_json::json!(["WIDE", "U32"]));
    assert_eq!(wide["guard"]["number"], 0);
    assert_eq!(wide["guard"]["not"], true);
    assert_eq!(wide["control"]["text"], "[B------:R-:W-:Y:S05]");
    assert_eq!(wide["control"]["yield"], true);
    assert_eq!(wide["control"]["stall"], 5);
    assert_eq!(wide["control"]["write_scoreboard"], Value::Null);
    let operands = wide["operands"].as_array().expect("a list");
    let first = &operands[0];
    assert_eq!((&first["role"], &first["kind"]), (&"destination".into(), &"register".into()));
    assert_eq!(first["register"], serde_json::json!({"file": "R", "number": 4, "cells": 2}));
    assert!(operands.iter().any(|o| o["register"]["reuse"] == true));
    assert!(operands.iter().any(|o| o["kind"] == "immediate" && o["bits"] == "0x38"));
    assert!(operands.iter().any(|o| o["register"]["number"] == Value::Null));
    let load = &insts[1];
    let memory =
        load["operands"].as_array().expect("a list").iter().find(|o| o["kind"] == "memory");
    let memory = memory.expect("a load has an address");
    assert_eq!((&memory["offset"], &memory["part"]), (&16.into(), &"64".into()));
    assert_eq!((&memory["base"]["number"], &memory["base"]["cells"]), (&4.into(), &2.into()));
    assert!(load["row"].as_str().is_some_and(|row| row.contains(".isa:")));
    assert!(insts[2]["error"].as_str().is_some_and(|e| e.contains("0x20")), "{}", insts[2]);
    assert_eq!(insts[2]["address"], 32);
}

#[test]
fn json_has_every_word_of_every_function_and_only_those_asked_for() {
    let file = sample();
    let mut code = Code::cubin(&file).expect("our own file");
    let all = document(&code);
    for (part, function) in code.parts.iter().zip(all["functions"].as_array().expect("a list")) {
        assert_eq!(function["name"], part.name);
        assert_eq!(function["entry"], true);
        assert_eq!(function["instructions"].as_array().map(Vec::len), Some(part.words.len()));
    }
    code.only(&["other".into()]).expect("it is there");
    let one = document(&code);
    assert_eq!(one["functions"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["functions"][0]["name"], "other");
    assert!(code.only(&["nothing".into()]).is_err());
}

/// What Graphviz's grammar has of what we write: `digraph ID { … }` of statements `ID [a=b, …];`,
/// `ID -> ID …;`, `a=b;`.
fn statements(text: &str) -> Vec<Vec<String>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    let end = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    end
                });
                end.expect("a string ends").0 + 1
            }
            '-' => 2,
            '{' | '}' | '[' | ']' | ';' | ',' | '=' => 1,
            _ => rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
        };
        assert!(length > 0, "no token begins with {:?}", &rest[..rest.len().min(20)]);
        tokens.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    let mut all = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while tokens.peek().is_some() {
        assert_eq!(tokens.next().as_deref(), Some("digraph"));
        assert!(tokens.next().is_some_and(|t| t.starts_with('"')), "a graph has a name");
        assert_eq!(tokens.next().as_deref(), Some("{"));
        loop {
            let statement: Vec<String> =
                tokens.by_ref().take_while(|t| t != ";" && t != "}").collect();
            if statement.is_empty() {
                break;
            }
            let text = statement.join(" ");
            let brackets = statement.iter().filter(|t| *t == "[" || *t == "]").count();
            assert!(brackets == 0 || brackets == 2 && text.ends_with(']'), "{text}");
            all.push(statement);
        }
    }
    all
}

#[test]
fn graphs_have_dots_syntax_and_the_edges_of_the_code() {
    let file = sample();
    let code = Code::cubin(&file).expect("our own file");
    let text = graphs(&code).expect("short");
    let all = statements(&text);
    let nodes: Vec<&str> = all
        .iter()
        .filter(|s| s[0].starts_with('"') && s.get(1).is_some_and(|t| t == "["))
        .map(|s| s[0].as_str())
        .collect();
    let edges: Vec<(&str, &str, String)> = all
        .iter()
        .filter(|s| s.get(1).is_some_and(|t| t == "->"))
        .map(|s| (s[0].as_str(), s[2].as_str(), s[3..].join("")))
        .collect();
    assert!(nodes.len() >= 5, "{text}");
    for (from, to, _) in &edges {
        assert!(nodes.contains(from) && nodes.contains(to), "{from} -> {to}\n{text}");
    }
    assert!(edges.iter().any(|e| e.2.contains("taken")), "{text}");
    assert!(edges.iter().any(|e| e.2.contains("not taken")), "{text}");
    // The loop goes back.
    let at = |n: &str| u64::from_str_radix(&n[3..n.len() - 1], 16).expect("an address");
    assert!(edges.iter().any(|(from, to, _)| at(to) < at(from)), "{text}");
}

/// xorshift64*: the same bytes on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 16) % limit.max(1) as u64) as usize
    }
}

/// Rounds of a mutation test: `ORIAS_FUZZ` times as many where it is set.
fn rounds(usual: usize) -> usize {
    let factor = std::env::var("ORIAS_FUZZ").ok().and_then(|v| v.parse::<usize>().ok());
    usual * factor.unwrap_or(1)
}

/// Every form of output; each must end and stay in proportion to the code.
fn everything(code: &Code<'_>, size: usize) {
    let most = 2048 * size + (1 << 25);
    for (labels, hex, control) in [(false, false, false), (true, false, false), (true, true, true)]
    {
        if let Ok((text, _)) = code.listing(DisOptions { labels, hex, control }) {
            assert!(text.len() < most, "{} of {size}", text.len());
        }
    }
    if let Ok(text) = graphs(code) {
        assert!(text.len() < most);
    }
    json(code, std::io::sink()).expect("a sink takes it");
    let check = Check::code(code);
    assert!(check.identical <= check.decoded && check.decoded <= check.words);
}

#[test]
fn damaged_cubins_are_listed_or_refused_but_never_panic() {
    let sample = sample();
    let mut random = Random(0x0dd0_5eed_0123_4567);
    let table = u64::from_le_bytes(sample[40..48].try_into().expect("eight bytes")) as usize;
    let sections = usize::from(u16::from_le_bytes([sample[60], sample[61]]));
    let (mut listed, mut refused) = (0, 0);
    for _ in 0..rounds(600) {
        let mut file = sample.clone();
        for _ in 0..=random.below(3) {
            match random.below(5) {
                0 => {
                    let at = random.below(file.len());
                    file[at] ^= 1 << random.below(8);
                }
                1 => {
                    // A field of a section header: a wrong type, place, size, link …
                    let (field, width) =
                        [(0, 4), (4, 4), (8, 8), (24, 8), (32, 8), (40, 4), (44, 4)]
                            [random.below(7)];
                    let value = match random.below(4) {
                        0 => u64::MAX,
                        1 => 1 << random.below(64),
                        2 => random.below(4096) as u64,
                        _ => random.next(),
                    };
                    let at = table + 64 * random.below(sections) + field;
                    file[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                }
                2 => {
                    let (from, to) = (random.below(file.len()), random.below(file.len()));
                    let count = random.below(64).min(file.len() - from.max(to));
                    file.copy_within(from..from + count, to);
                }
                3 => {
                    let at = random.below(file.len() - 8);
                    let value = random.next().to_le_bytes();
                    file[at..at + 8].copy_from_slice(&value);
                }
                _ if random.below(4) == 0 => {
                    file.truncate(random.below(file.len()).max(table + 64 * sections))
                }
                _ => file[random.below(64)] = random.next() as u8,
            }
        }
        if random.below(16) == 0 {
            file.truncate(random.below(file.len()));
        }
        match Code::cubin(&file) {
            Ok(code) => {
                everything(&code, file.len());
                listed += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(listed > 50 && refused > 50, "{listed} listed, {refused} refused");
}

#[test]
fn random_words_are_listed_on_every_target() {
    let mut random = Random(0x5eed_0f00_dd00_1357);
    for target in orias_targets::Target::all() {
        let mut bytes = Vec::new();
        for _ in 0..rounds(300) {
            let mut word = u128::from(random.next()) << 64 | u128::from(random.next());
            // Half of them with an opcode and a guard as code has it.
            if random.below(2) == 0 {
                let seen = [0x7c24u128, 0x7981, 0x7947, 0x7945, 0x794d, 0x7949, 0x7816, 0x7b82];
                word = word & !0xffff | seen[random.below(8)];
            }
            bytes.extend(word.to_le_bytes());
        }
        let code = Code::raw(target, &bytes).expect("whole words");
        everything(&code, bytes.len());
        assert!(Code::raw(target, &bytes[1..]).is_err());
    }
}

/// A small file that would need memory without end: many sections and symbols that share the same
/// bytes.
#[test]
fn sections_and_names_that_share_bytes_are_refused() {
    let sample = sample();
    let table = u64::from_le_bytes(sample[40..48].try_into().expect("eight bytes")) as usize;
    let sections = usize::from(u16::from_le_bytes([sample[60], sample[61]]));
    let mut file = sample.clone();
    for section in 1..sections {
        let at = table + 64 * section;
        // The whole file as its content.
        file[at + 24..at + 32].copy_from_slice(&0u64.to_le_bytes());
        file[at + 32..at + 40].copy_from_slice(&(sample.len() as u64).to_le_bytes());
        file[at + 4..at + 8].copy_from_slice(&1u32.to_le_bytes());
    }
    assert!(Code::cubin(&file).is_err());
}
