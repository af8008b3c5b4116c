//! What may stand as each operand of a known form, which constants, and since which PTX version and
//! SM.

use super::frame::{Oracle, REGISTERS};
use super::statements::{shape, split};
use super::words::{Form, Words};
use std::collections::{BTreeMap, HashMap};

/// Accepted operand lists of each form, one of each shape.
pub type Known = BTreeMap<Form, Vec<Vec<String>>>;

/// Texts tried where one value is wanted, by the bits of the table's sets above the registers; one
/// that is accepted is enough.
const VALUES: [(u32, &[&str]); 20] = [
    (18, &["1", "0", "64", "128", "40", "32", "16", "8", "4", "2", "-1"]),
    (19, &["0f3F800000", "0d3FF0000000000000"]),
    (20, &["%laneid"]),
    (21, &["%clock64"]),
    (22, &["%is_explicit_cluster"]),
    (23, &["%tid"]),
    (24, &["_"]),
    (25, &["!%pred_1"]),
    (26, &["-%b32_9", "-%s32_9"]),
    (27, &["gl"]),
    (28, &["sh"]),
    (29, &["lv"]),
    (30, &["cb"]),
    (31, &["o"]),
    (32, &["ff"]),
    (33, &["L"]),
    (34, &["TT"]),
    (35, &["%b32_9.b0", "%b32_9.h0", "%b32_9.h10", "%b32_9.b3210", "-%b32_9.b0", "-%b32_9.h0"]),
    (36, &["tx", "sm"]),
    (37, &["su"]),
];

/// Bits of the bases of addresses.
const BASES: [(u32, &[&str]); 17] = [
    (0, &["[%b64_9]"]),
    (1, &["[%b32_9]"]),
    (2, &["[%b16_9]"]),
    (3, &["[%f32_9]"]),
    (4, &["[%pred_9]"]),
    (5, &["[gl]"]),
    (6, &["[sh]"]),
    (7, &["[lv]"]),
    (8, &["[cb]"]),
    (9, &["[o]"]),
    (10, &["[0]"]),
    (11, &["[tx]", "[su]", "[sm]"]),
    (12, &["[ff]"]),
    (13, &["[%b64_9+4]"]),
    (14, &["[%f64_9]"]),
    (15, &["[%b128_9]"]),
    (16, &["[q]"]),
];

/// Words that say nothing of operands: orders, scopes, cache hints, rounding, shapes.
fn apart_from_operands(word: &str) -> bool {
    const WORDS: [&str; 34] = [
        "weak",
        "relaxed",
        "acquire",
        "release",
        "acq_rel",
        "volatile",
        "mmio",
        "cta",
        "cluster",
        "gpu",
        "sys",
        "ca",
        "cg",
        "cs",
        "cv",
        "lu",
        "wb",
        "wt",
        "nc",
        "ftz",
        "sat",
        "satfinite",
        "rn",
        "rz",
        "rm",
        "rp",
        "rni",
        "rzi",
        "rmi",
        "rpi",
        "sync",
        "aligned",
        "uni",
        "relu",
    ];
    WORDS.contains(&word)
        || word.starts_with("L1::")
        || word.starts_with("L2::") && word != "L2::cache_hint"
        || word.starts_with('m') && word[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// A constant that no rule allows.
const SILLY: &str = "1000003";

/// What a statement was asked for: the slot's key, and the bit, or what comes in its place.
enum Asked {
    Bit(u32),
    Rule,
}

/// The operand lists of each form as the table has them.
pub fn operands(
    oracle: &Oracle<'_>,
    name: &str,
    known: &Known,
    words: &Words,
) -> HashMap<Form, String> {
    let mut keys: HashMap<String, usize> = HashMap::new();
    let mut rule_keys: HashMap<String, usize> = HashMap::new();
    let (mut statements, mut asked) = (Vec::new(), Vec::new());
    let mut own: Vec<u64> = Vec::new();
    // Of each form, list and slot: the numbers of its set and of its rule.
    let mut slots: Vec<(usize, Option<usize>)> = Vec::new();
    for (form, lists) in known {
        let mnemonic = form.mnemonic(name, words);
        for list in lists {
            let shapes: Vec<String> = list.iter().map(|operand| shape(operand)).collect();
            // How long a vector is says nothing of its elements, unless there is one: others give a
            // constant its type.
            let kinds: Vec<&str> = shapes
                .iter()
                .map(|s| if s.starts_with('V') && s != "V1" { "V" } else { s.as_str() })
                .collect();
            for (i, (operand, shape)) in list.iter().zip(&shapes).enumerate() {
                let flags: Vec<&str> = form.flags.iter().map(|w| words.text(*w)).collect();
                let telling = flags.iter().filter(|w| !apart_from_operands(w));
                let telling: Vec<&str> = telling.copied().collect();
                let key = format!("{:?} {telling:?} {kinds:?} {i}", form.sequences);
                let new = keys.len();
                let number = *keys.entry(key).or_insert(new);
                let mut put = |text: String, what: Asked, number: usize| {
                    let mut all = list.clone();
                    all[i] = text;
                    statements.push(format!("{mnemonic} {};", all.join(", ")));
                    asked.push((number, what));
                };
                if number == new {
                    own.push(class(operand).map_or(0, |bit| 1 << bit));
                    for (bit, text) in candidates(operand, shape, i) {
                        put(text, Asked::Bit(bit), number);
                    }
                }
                let mut rule = None;
                if shape == "S" && class(operand).is_none_or(|bit| bit != 16) {
                    let key = format!("{:?} {flags:?} {shapes:?} {i}", form.sequences);
                    let new = rule_keys.len();
                    let number = *rule_keys.entry(key).or_insert(new);
                    if number == new {
                        put(SILLY.to_string(), Asked::Rule, number);
                    }
                    rule = Some(number);
                }
                slots.push((number, rule));
            }
        }
    }
    let rule_statements = statements.clone();
    let mut sets = own;
    let mut rules = vec![String::new(); rule_keys.len()];
    for ((number, what), messages) in asked.iter().zip(oracle.ask(&statements)) {
        match what {
            Asked::Bit(bit) if messages.is_empty() => sets[*number] |= 1 << bit,
            Asked::Bit(_) => {}
            Asked::Rule => rules[*number] = rule_of(&messages),
        }
    }
    // A message may be wrong: a rule that a constant breaks which is taken is none.
    let mut statements = Vec::new();
    let mut broken = Vec::new();
    for ((number, what), statement) in asked.iter().zip(&rule_statements) {
        if let Asked::Rule = what
            && !rules[*number].is_empty()
        {
            for value in [-1, 0, 1, 2, 4, 5, 8, 16, 24, 32, 64] {
                if !obeys(&rules[*number], value) {
                    statements.push(statement.replace(SILLY, &value.to_string()));
                    broken.push(*number);
                }
            }
        }
    }
    for (number, messages) in broken.into_iter().zip(oracle.ask(&statements)) {
        if messages.is_empty() {
            rules[number].clear();
        }
    }
    let mut next = slots.into_iter();
    let mut out = HashMap::new();
    for (form, lists) in known {
        let mut texts = Vec::new();
        for list in lists {
            let mut parts = Vec::new();
            for (i, operand) in list.iter().enumerate() {
                let Some((set, rule)) = next.next() else { continue };
                let set = sets[set];
                let rule = rule.map_or("", |rule| rules[rule].as_str());
                // Where no constant can stand, none needs a rule.
                let rule = if rule.is_empty() { String::new() } else { format!("@{rule}") };
                let set = if rule.is_empty() { set } else { set | 1 << 18 };
                let texture = name.starts_with("tex") && !name.starts_with("tensormap")
                    || name.starts_with("tld4");
                parts.push(match shape(operand) {
                    s if texture && (s.starts_with('L') || i == 0 && s != "P" && s != "S") => {
                        "X".to_string()
                    }
                    s if s == "S" => format!("S{set:x}{rule}"),
                    s if s == "A" || s == "P" => format!("{s}{set:x}"),
                    s if s.starts_with('V') => format!("{s}:{set:x}"),
                    s => s,
                });
            }
            texts.push(parts.join(" "));
        }
        texts.sort();
        texts.dedup();
        out.insert(form.clone(), texts.join("/"));
    }
    out
}

/// What is tried in an operand's place, and the bit of each.
fn candidates(operand: &str, shape: &str, i: usize) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    let registers = || REGISTERS.iter().enumerate().map(|(bit, ty)| (bit as u32, *ty));
    let values = |most: u32| {
        let some = VALUES.iter().filter(move |(bit, _)| *bit < most);
        some.flat_map(|(bit, texts)| texts.iter().map(move |text| (*bit, text.to_string())))
    };
    match shape.as_bytes().first() {
        Some(b'S') => {
            all.extend(registers().map(|(bit, ty)| (bit, format!("%{ty}_9"))));
            // A result that is left out stands first.
            all.extend(values(64).filter(|(bit, _)| *bit != 24 || i == 0 || operand == "_"));
        }
        Some(b'V') => {
            let elements = split(&operand[1..operand.len() - 1]);
            for (bit, ty) in registers() {
                let list: Vec<String> =
                    (0..elements.len()).map(|n| format!("%{ty}_{}", 40 + n)).collect();
                all.push((bit, format!("{{{}}}", list.join(", "))));
            }
            for (bit, text) in values(25) {
                let mut list = elements.clone();
                list[0] = text;
                all.push((bit, format!("{{{}}}", list.join(", "))));
            }
        }
        Some(b'A') => {
            all.extend(
                BASES.iter().flat_map(|(bit, texts)| texts.iter().map(|t| (*bit, t.to_string()))),
            );
        }
        Some(b'P') => {
            let Some((first, second)) = operand.split_once('|') else { return all };
            let texts = registers().map(|(bit, ty)| (bit, format!("%{ty}_9")));
            let others = [(24, "_".to_string()), (25, "!%pred_1".to_string())];
            let both: Vec<(u32, String)> = texts.chain(others).collect();
            // Two results that are left out are none.
            for with in [first.trim(), second.trim(), "%pred_7", "%b32_7"] {
                if with == "_" {
                    continue;
                }
                for (bit, text) in &both {
                    all.push((*bit, format!("{text}|{with}")));
                    all.push((bit + 32, format!("{with}|{text}")));
                }
            }
        }
        _ => {}
    }
    all
}

/// The bit of a value as it is written.
pub fn class(operand: &str) -> Option<u32> {
    let digit = |c: char| c.is_ascii_digit();
    if let Some(rest) = operand.strip_prefix('%') {
        if operand.contains('.') && !operand.ends_with([' ', ',']) {
            let part = operand.rsplit('.').next().unwrap_or("");
            return part.starts_with(['b', 'h']).then_some(35);
        }
        let ty = rest.trim_end_matches(digit).trim_end_matches('_');
        return REGISTERS.iter().position(|known| *known == ty).map(|bit| bit as u32);
    }
    let number = operand.strip_prefix('-').unwrap_or(operand);
    if number.starts_with(digit) {
        let float = number.contains('.')
            || number.len() > 9
                && (number.starts_with("0f")
                    || number.starts_with("0d")
                    || number.starts_with("0F")
                    || number.starts_with("0D"));
        return Some(if float { 19 } else { 18 });
    }
    match operand.as_bytes().first()? {
        b'-' => Some(26),
        b'!' => Some(25),
        _ => VALUES.iter().find(|(_, texts)| texts.contains(&operand)).map(|(bit, _)| *bit),
    }
}

/// What ptxas's refusal of a constant says of others: `24..256%8`, `4|8|16`; nothing where it says
/// none of this.
fn rule_of(messages: &[String]) -> String {
    let (mut range, mut multiple) = (String::new(), String::new());
    for message in messages {
        let Some((_, rest)) = message.split_once("expected to be ") else { continue };
        if let Some(list) = rest.strip_prefix("in range [").and_then(|r| r.split_once(']')) {
            range = list.0.replace(' ', "");
        } else if let Some(number) = rest.strip_prefix("multiple of ") {
            multiple = format!("%{}", number.trim_end_matches('.').trim());
        } else {
            let values: Vec<&str> =
                rest.split(" or ").flat_map(|v| v.split(", ")).map(str::trim).collect();
            if values.iter().all(|v| v.parse::<i64>().is_ok()) {
                range = values.join("|");
            } else {
                eprintln!("no rule: {message}");
            }
        }
    }
    range + &multiple
}

/// Whether a constant is what a rule asks for.
fn obeys(rule: &str, value: i64) -> bool {
    let (values, multiple) = rule.split_once('%').unwrap_or((rule, "1"));
    let number = |text: &str| text.parse::<i64>().unwrap_or(0);
    let in_values = match values.split_once("..") {
        Some((low, high)) => (number(low)..=number(high)).contains(&value),
        None => values.is_empty() || values.split('|').any(|v| number(v) == value),
    };
    in_values && value % number(multiple).max(1) == 0
}

/// The first PTX version (63 is 6.3) and SM (91 is sm_90a) that have each form with some of its
/// operands.
pub fn gates(ptxas: &Oracle<'_>, name: &str, known: &Known, words: &Words) -> Vec<(u32, u32)> {
    let mut statements = Vec::new();
    for (form, lists) in known {
        let mnemonic = form.mnemonic(name, words);
        statements.extend(lists.iter().map(|list| format!("{mnemonic} {};", list.join(", "))));
    }
    let at = |version, target| Oracle { version, target, ..*ptxas };
    // Registers of 128 bits are younger than all else that is declared.
    let wide = |text: &String| text.contains("b128");
    let pick = |want: bool| -> Vec<String> {
        let other = "zz;".to_string();
        statements.iter().map(|s| if wide(s) == want { s.clone() } else { other.clone() }).collect()
    };
    let narrow = at("6.0", "sm_10").ask(&pick(false));
    let any_wide = statements.iter().any(wide);
    let of_wide = if any_wide { at("8.3", "sm_70").ask(&pick(true)) } else { Vec::new() };
    let gate_of = |(i, statement): (usize, &String)| match wide(statement) {
        true => gate((83, 70), &of_wide[i]),
        false => gate((0, 0), &narrow[i]),
    };
    let mut gates = statements.iter().enumerate().map(gate_of);
    let least = |lists: &Vec<Vec<String>>| {
        let some = gates.by_ref().take(lists.len());
        some.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap_or((0, 0))
    };
    known.values().map(least).collect()
}

/// What messages ask for, and no less than `least`.
fn gate(least: (u32, u32), messages: &[String]) -> (u32, u32) {
    let (mut version, mut sm) = least;
    for message in messages {
        let after = |what: &str| message.split_once(what).map(|(_, rest)| rest);
        let digits =
            |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
        let number = |text: &str| text.parse::<u32>().unwrap_or(0);
        if let Some(rest) = after("requires PTX ISA .version ") {
            let major = digits(rest);
            let minor = digits(&rest[(major.len() + 1).min(rest.len())..]);
            version = version.max(number(&major) * 10 + number(&minor));
        } else if let Some(rest) = after("requires .target ") {
            sm = sm.max(number(&digits(rest.trim_start_matches("sm_"))));
        } else if message.contains("not supported on .target") {
            (version, sm) = (version.max(80), 91);
        }
    }
    (version, sm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_constant_tells_the_rule() {
        let said = |text: &str| rule_of(&[text.to_string()]);
        assert_eq!(said("value '99' out of range, expected to be in range [0..15]"), "0..15");
        assert_eq!(said("unexpected value '5', expected to be 4 or 8 or 16"), "4|8|16");
        assert_eq!(said("unexpected value '2', expected to be -1 or 1"), "-1|1");
        assert_eq!(said("Arguments mismatch for instruction 'add'"), "");
        let both = ["expected to be multiple of 8", "expected to be in range [24..256]"];
        assert_eq!(rule_of(&both.map(String::from)), "24..256%8");
    }

    #[test]
    fn rules_allow_what_they_say() {
        assert!(obeys("24..256%8", 32) && !obeys("24..256%8", 33) && !obeys("24..256%8", 16));
        assert!(obeys("4|8|16", 8) && !obeys("4|8|16", 5));
    }

    #[test]
    fn messages_name_version_and_sm() {
        let said = [
            "Feature '.x' requires PTX ISA .version 7.8 or later",
            "Feature '.x' requires .target sm_90 or higher",
        ];
        assert_eq!(gate((0, 0), &said.map(String::from)), (78, 90));
        let said = ["Instruction 'x' not supported on .target 'sm_30'".to_string()];
        assert_eq!(gate((0, 0), &said), (80, 91));
    }

    #[test]
    fn classes_of_values() {
        let all: Vec<Option<u32>> = [
            "%b32_4",
            "%pred_0",
            "12",
            "-1",
            "0f3F800000",
            "1.5",
            "!%pred_1",
            "_",
            "-%b32_1",
            "%b32_1.h0",
            "%tid.x",
        ]
        .iter()
        .map(|o| class(o))
        .collect();
        let bits = [7, 16, 18, 18, 19, 19, 25, 24, 26, 35];
        assert_eq!(all[..10], bits.map(Some));
        assert_eq!(all[10], None);
    }
}
