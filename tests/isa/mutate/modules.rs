//! Changes of declarations, functions, the module's head, and of text without regard to what it
//! means.

use super::Edit;
use super::place::{Place, is_type};
use super::scan::{Declaration, Kind};

type Made = Option<Vec<Edit>>;

fn declaration<'a>(place: &mut Place<'a>) -> Option<&'a Declaration> {
    place.random.pick(&place.source.scan.declarations)
}

pub fn declaration_type(place: &mut Place) -> Made {
    let found = declaration(place)?;
    let token = found.tokens.clone().find(|t| is_type(place.text(*t)))?;
    let new = match place.random.below(8) {
        0 => ".texref".to_string(),
        1 => (*place.random.pick(&[
            "",
            ".v2 .b32",
            ".v4 .f32",
            ".b33",
            ".v3 .u32",
            ".e4m3",
            ".v4 .f64",
            ".u32 .u32",
        ])?)
        .to_string(),
        _ => place.type_word(),
    };
    place.replace(token, new)
}

#[rustfmt::skip]
const SPACES: &[&str] = &[".reg", ".param", ".local", ".shared", ".global", ".const", ".tex", ".sreg", ".generic", ""];

pub fn declaration_space(place: &mut Place) -> Made {
    let found = declaration(place)?;
    let token = found.tokens.clone().find(|t| SPACES.contains(&place.text(*t)))?;
    let new = *place.random.pick(SPACES)?;
    place.replace(token, new)
}

#[rustfmt::skip]
const ALIGNMENTS: &[&str] = &["0", "1", "2", "3", "4", "8", "16", "32", "64", "128", "256", "512", "4096", "-4", "4.0", "(4)", "2147483648", "x", ""];

pub fn alignment(place: &mut Place) -> Made {
    let new = *place.random.pick(ALIGNMENTS)?;
    if let Some(token) =
        place.token(|t| t > 0 && place.source.scan.text(&place.source.text, t - 1) == ".align")
        && place.random.below(2) == 0
    {
        return place.replace(token, new);
    }
    let found = declaration(place)?;
    let token = found.tokens.clone().find(|t| is_type(place.text(*t)))?;
    place.insert(token, format!(".align {new} "))
}

#[rustfmt::skip]
const COUNTS: &[&str] = &["0", "1", "2", "-1", "100000", "4294967295", "4294967296", "1.5", "x", "", "2+2", "(3)", "0x10", "16777216", "2147483648", "1099511627776"];

pub fn declaration_count(place: &mut Place) -> Made {
    let found = declaration(place)?;
    let counts: Vec<usize> = found
        .tokens
        .clone()
        .filter(|t| {
            matches!(place.text(t.saturating_sub(1)), "<" | "[")
                && place.scan().tokens[*t].kind == Kind::Number
        })
        .collect();
    if let Some(token) = place.random.pick(&counts)
        && place.random.below(4) > 0
    {
        let new = *place.random.pick(COUNTS)?;
        return place.replace(*token, new);
    }
    let at = place.span(&found.tokens).end;
    let new = *place.random.pick(&["[4]", "[]", "<2>", "[2][2]", "[0]", "<0>", "[-1]", "= 1"])?;
    Some(vec![(at..at, new.to_string())])
}

pub fn drop_declaration(place: &mut Place) -> Made {
    let found = declaration(place)?;
    let mut span = place.span(&found.tokens);
    if found.statement {
        span.end = place.source.text[span.end..].find(';').map_or(span.end, |n| span.end + n + 1);
    }
    Some(vec![(span, String::new())])
}

pub fn double_declaration(place: &mut Place) -> Made {
    let found = declaration(place)?;
    let span = place.span(&found.tokens);
    let text = &place.source.text[span.clone()];
    let separator = if found.statement { ";" } else { "," };
    Some(vec![(span.end..span.end, format!("{separator} {text}"))])
}

/// A label twice, gone, named otherwise, or elsewhere.
pub fn label(place: &mut Place) -> Made {
    let label = *place.random.pick(&place.source.scan.labels)?;
    let span = place.scan().tokens[label].start..place.scan().tokens[label + 1].end;
    let text = &place.source.text[span.clone()];
    let instruction = place.instruction()?;
    let first =
        if instruction.guard.is_empty() { instruction.opcode } else { instruction.guard.start };
    match place.random.below(6) {
        0 => place.insert(first, format!("{text} ")),
        1 => Some(vec![(span, String::new())]),
        2 => place.replace(label, format!("{}x", place.text(label))),
        3 => place.insert(label, "{ "),
        4 => {
            let at = place.scan().tokens[first].start;
            Some(vec![(span, String::new()), (at..at, format!("{text} "))])
        }
        _ => {
            let register = place.random.pick(&place.source.scan.registers)?.1.clone();
            place.replace(label, register)
        }
    }
}

/// A function twice, its name changed, its body gone, its kind changed.
pub fn function(place: &mut Place) -> Made {
    let (head, end) = place.random.pick(&place.source.scan.functions)?.clone();
    let start = place.scan().tokens[head.start].start;
    let whole = start..place.scan().tokens[end].end;
    let kind = head.clone().find(|t| matches!(place.text(*t), ".entry" | ".func"))?;
    match place.random.below(8) {
        0 => Some(vec![(whole.end..whole.end, format!("\n{}", &place.source.text[whole.clone()]))]),
        1 => Some(vec![(whole, String::new())]),
        2 => {
            let body = place.span(&(head.start..head.end)).end..whole.end;
            Some(vec![(body, ";".to_string())])
        }
        3 => place.replace(kind, if place.text(kind) == ".entry" { ".func" } else { ".entry" }),
        4 => {
            let name = head.clone().find(|t| place.scan().tokens[*t].kind == Kind::Name)?;
            let other = place.random.pick(&place.source.scan.functions)?.0.clone();
            let other = other.clone().find(|t| place.scan().tokens[*t].kind == Kind::Name)?;
            let new = place.text(other);
            // Unlike the names of all other kernels.
            let another = format!("{new}_another");
            place.replace(name, if new == place.text(name) { &another } else { new })
        }
        5 => {
            let declared = place.source.text[place.span(&head)].to_string();
            Some(vec![(start..start, format!("{declared};\n"))])
        }
        6 => {
            let declared = place.source.text[place.span(&head)].to_string();
            Some(vec![(whole.end..whole.end, format!("\n{declared};\n"))])
        }
        _ => {
            let at = place.scan().tokens[end].start;
            Some(vec![(at..at, "nonsense".to_string())])
        }
    }
}

#[rustfmt::skip]
const LINKAGES: &[&str] = &["", ".visible", ".extern", ".weak", ".common", ".visible .weak", ".extern .visible", ".hidden"];

pub fn linkage(place: &mut Place) -> Made {
    let new = *place.random.pick(LINKAGES)?;
    let word = |t: usize| {
        matches!(
            place.source.scan.text(&place.source.text, t),
            ".visible" | ".extern" | ".weak" | ".common"
        )
    };
    if place.random.below(3) > 0
        && let Some(token) = place.token(word)
    {
        return place.replace(token, new);
    }
    let starts = |t: usize| {
        matches!(
            place.source.scan.text(&place.source.text, t),
            ".entry" | ".func" | ".global" | ".const" | ".shared" | ".local"
        )
    };
    let token = place.token(starts)?;
    place.insert(token, format!("{new} "))
}

/// A parameter more or less, or another kind of one.
pub fn parameter(place: &mut Place) -> Made {
    let parameters: Vec<&Declaration> =
        place.source.scan.declarations.iter().filter(|d| !d.statement).collect();
    let found = place.random.pick(&parameters).copied()?;
    let span = place.span(&found.tokens);
    let text = &place.source.text[span.clone()];
    let new = match place.random.below(10) {
        0 => format!("{text}, .param .u32 another"),
        1 => format!(".param .align 16 .b8 another[32], {text}"),
        2 => String::new(),
        3 => text.replacen(".param", ".reg", 1),
        4 => text.replacen(".param ", ".param .align 8 ", 1),
        5 => format!("{text}[4]"),
        6 => format!("{text}, .param .u64 .ptr .global .align 16 another"),
        7 => format!("{text}, .param .u64 .ptr .reg .align 3 another"),
        8 => format!("{text}, .param .b8 another[5000]"),
        _ => format!("{text}, .param .v2 .u32 another, .param .pred b"),
    };
    Some(vec![(span, new)])
}

#[rustfmt::skip]
const DIRECTIVES: &[&str] = &[
    ".maxntid 256", ".maxntid 32,2,2", ".maxntid 0", ".maxntid 2048", ".maxntid 1,2,3,4", ".maxntid", ".reqntid 64", ".reqntid 1024,1024",
    ".minnctapersm 2", ".minnctapersm 100", ".minnctapersm", ".maxnreg 32", ".maxnreg 1000", ".maxnreg 0", ".noreturn", ".noreturn 1",
    ".pragma \"nounroll\";", ".pragma nounroll;", ".pragma \"unknown\";", ".reqnctapercluster 2", ".reqnctapercluster 2,2,2,2", ".explicitcluster",
    ".maxclusterrank 4", ".maxclusterrank", ".explicitcluster .reqnctapercluster 2", ".maxnctapersm 2", ".unknown", ".abi_preserve 4",
    ".abi_preserve_control 2", ".blocksareclusters", ".blocksareclusters .reqntid 32 .reqnctapercluster 2", ".maxntid 32 .reqntid 32",
    ".maxntid 32 .maxntid 32", ".maxntid 32 .minnctapersm 4 .maxnreg 64", ".maxntid -1", ".maxntid 2,1.5", ".maxnctapersm 1 .maxntid 32",
    ".reqnctapercluster 2 .maxclusterrank 4", ".language", ".maxntid (32)", ".reqntid 0", ".reqnctapercluster 0", ".reqnctapercluster 32",
];

/// Directives behind the parameters.
pub fn directive(place: &mut Place) -> Made {
    let (head, _) = place.random.pick(&place.source.scan.functions)?.clone();
    let at = place.span(&head).end;
    let new = *place.random.pick(DIRECTIVES)?;
    Some(vec![(at..at, format!(" {new} "))])
}

#[rustfmt::skip]
const VALUES: &[&str] = &[
    "= 1", "= {1, 2}", "= 1.5", "= 0f3F800000", "= {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}", "= undeclared", "= {}",
    "= generic(undeclared)", "= -1", "= 300", "= 0xffffffffffffffff", "= {{1}}", "= 1 + 2 * 3", "= 1 / 0", "= (1 < 2) ? 3 : 4",
    "= \"text\"", "=", "= 1,", "= {1,}", "= (.s64) 1.5", "= !5", "= ~1.5", "= 1 || 0", "= 0xFF(1)", "= 5 % 3", "= 1.0 + 2", "= WARP_SZ",
];

/// An initial value where there was another or none.
pub fn initial_value(place: &mut Place) -> Made {
    let variables: Vec<&Declaration> = place
        .source
        .scan
        .declarations
        .iter()
        .filter(|d| {
            d.statement
                && d.tokens.clone().any(|t| {
                    matches!(
                        place.source.scan.text(&place.source.text, t),
                        ".global" | ".const" | ".shared" | ".local"
                    )
                })
        })
        .collect();
    let new = *place.random.pick(VALUES)?;
    let Some(found) = place.random.pick(&variables).copied() else {
        let ty = place.type_word();
        let size = *place.random.pick(&["", "", "[4]", "[]", "[2][2]"])?;
        let space = *place.random.pick(&[".global", ".const", ".shared"])?;
        let at = place.span(&place.source.scan.functions.first()?.0).start;
        // Mutants may stand in one module.
        let name = format!("another_{:x}", place.random.word());
        return Some(vec![(at..at, format!("{space} {ty} {name}{size} {new};\n"))]);
    };
    let span = place.span(&found.tokens);
    let equals = found.tokens.clone().find(|t| place.text(*t) == "=");
    let start = equals.map_or(span.end, |t| place.scan().tokens[t].start);
    Some(vec![(start..span.end, new.to_string())])
}

#[rustfmt::skip]
const VERSIONS: &[&str] = &[
    "6.0", "6.1", "6.2", "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0", "8.1", "8.2",
    "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1", "10.0", "5.0", "1.4", "3.2", "9", "x", "8.9", "7.9", "6.6",
];

#[rustfmt::skip]
const TARGETS: &[&str] = &[
    "sm_30", "sm_35", "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89",
    "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_90f", "compute_90", "sm_99", "sm_90a, debug", "sm_90a, texmode_independent", "sm_90a, unknown",
    "sm_90a, sm_80", "texmode_unified", "", "sm_90a, map_f64_to_f32", "sm_20", "sm_10",
];

/// What follows a directive of the head, up to the end of its line.
fn head_value(place: &Place, directive: &str) -> Option<std::ops::Range<usize>> {
    let text = &place.source.text;
    let token = (0..place.scan().tokens.len()).find(|t| place.text(*t) == directive)?;
    let start = place.scan().tokens[token].end;
    let end = text[start..].find(['\n', '/']).map_or(text.len(), |n| start + n);
    Some(start..end)
}

pub fn version(place: &mut Place) -> Made {
    let new = *place.random.pick(VERSIONS)?;
    Some(vec![(head_value(place, ".version")?, format!(" {new}"))])
}

pub fn target(place: &mut Place) -> Made {
    let new = *place.random.pick(TARGETS)?;
    Some(vec![(head_value(place, ".target")?, format!(" {new}"))])
}

/// Pairs that go together, so that what decides is what the instructions need.
#[rustfmt::skip]
const PAIRS: &[(&str, &str)] = &[
    ("6.0", "sm_60"), ("6.0", "sm_70"), ("6.1", "sm_70"), ("6.2", "sm_70"), ("6.3", "sm_75"), ("6.4", "sm_75"), ("6.5", "sm_75"),
    ("7.0", "sm_80"), ("7.1", "sm_80"), ("7.1", "sm_86"), ("7.3", "sm_80"), ("7.4", "sm_80"), ("7.5", "sm_80"), ("7.8", "sm_90"), ("7.8", "sm_89"),
    ("8.0", "sm_90a"), ("8.0", "sm_90"), ("8.1", "sm_90a"), ("8.2", "sm_90a"), ("8.3", "sm_90a"), ("8.4", "sm_90a"), ("8.5", "sm_90a"), ("8.6", "sm_90a"),
    ("8.7", "sm_90a"), ("8.8", "sm_90"), ("9.0", "sm_90"), ("9.0", "sm_89"), ("9.0", "sm_80"), ("9.0", "sm_75"), ("9.0", "sm_70"), ("9.0", "sm_60"),
];

pub fn version_and_target(place: &mut Place) -> Made {
    let (version, target) = *place.random.pick(PAIRS)?;
    Some(vec![
        (head_value(place, ".version")?, format!(" {version}")),
        (head_value(place, ".target")?, format!(" {target}")),
    ])
}

/// The three lines at the top.
pub fn head(place: &mut Place) -> Made {
    let which = *place.random.pick(&[".version", ".target", ".address_size"])?;
    let value = head_value(place, which)?;
    let whole = value.start - which.len()..value.end;
    let line = &place.source.text[whole.clone()];
    let new = match place.random.below(5) {
        0 => String::new(),
        1 => format!("{line}\n{line}"),
        2 => {
            let end = place.source.text.len();
            return Some(vec![(whole.clone(), String::new()), (end..end, format!("\n{line}\n"))]);
        }
        3 => format!(
            "{which} {}",
            place.random.pick(&["32", "64", "128", "", ";", "64;", "9.0", "sm_90a"])?
        ),
        _ => format!(".{line}"),
    };
    Some(vec![(whole, new)])
}

fn any_token(place: &mut Place) -> Option<usize> {
    let count = place.scan().tokens.len();
    (count > 0).then(|| place.random.below(count))
}

pub fn drop_token(place: &mut Place) -> Made {
    let token = any_token(place)?;
    place.replace(token, "")
}

pub fn double_token(place: &mut Place) -> Made {
    let token = any_token(place)?;
    place.replace(token, format!("{0} {0}", place.text(token)))
}

pub fn swap_tokens(place: &mut Place) -> Made {
    let token = any_token(place)?;
    let other = (token + 1).min(place.scan().tokens.len() - 1);
    place.swap(place.span(&(token..token + 1)), place.span(&(other..other + 1)))
}

pub fn replace_token(place: &mut Place) -> Made {
    let (token, other) = (any_token(place)?, any_token(place)?);
    place.replace(token, place.text(other))
}

pub fn character(place: &mut Place) -> Made {
    let token = any_token(place)?;
    let token = place.scan().tokens[token];
    let at = token.start + place.random.below(token.end - token.start);
    let text = &place.source.text;
    if !text.is_char_boundary(at) || !text.is_char_boundary(at + 1) {
        return None;
    }
    let new = match place.random.below(3) {
        0 => String::new(),
        1 => text[at..at + 1].repeat(2),
        _ => char::from(33 + place.random.below(94) as u8).to_string(),
    };
    Some(vec![(at..at + 1, new)])
}
