//! Serial pairs: kernels in which one result feeds one reader and little else is left to do, so
//! that ptxas has no choice but to leave as few cycles as it ever does.
//!
//! `serial.ops` has the operations; every one with a fixed time is fed to every reader of its kind,
//! once from loaded values and once, for integers, from parameters: those are computed by the
//! uniform datapath. Halves of 64 bits are fed apart.

use std::collections::BTreeSet;
use std::fmt::Write;

const OPERATIONS: &str = include_str!("serial.ops");

/// Kernels of one module.
const TOGETHER: usize = 250;

/// One line of `serial.ops`.
struct Operation {
    /// What it makes: `r`, `d`, `p`, or `-` for nothing.
    result: char,
    /// It may be fed to readers: its time is fixed.
    fixed: bool,
    /// What it reads in the place under test.
    input: char,
    /// It stands behind the line `= later`.
    later: bool,
    text: &'static str,
}

fn operations() -> Vec<Operation> {
    let mut later = false;
    let lines = OPERATIONS.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let read = |line: &'static str| {
        later |= line.starts_with('=');
        if line.starts_with('=') {
            return None;
        }
        let mut words = line.splitn(3, ' ');
        let letter = |word: Option<&str>| word.and_then(|w| w.chars().next()).unwrap_or('-');
        let (result, input) = (letter(words.next()), letter(words.next()));
        let text = words.next().unwrap_or("");
        let fixed = result.is_ascii_lowercase();
        Some(Operation { result: result.to_ascii_lowercase(), fixed, input, later, text })
    };
    lines.filter_map(read).collect()
}

impl Operation {
    /// The text with the names of its result, of the input under test and of the others, which
    /// begin with `others`.
    fn with(&self, result: &str, input: &str, others: &str) -> String {
        let mut text = String::new();
        let mut parts = self.text.split('$');
        text += parts.next().unwrap_or("");
        for part in parts {
            let (name, rest) = part.split_at(1);
            match name {
                "o" => text += result,
                "i" => text += input,
                "a" | "b" | "c" | "A" | "B" => {
                    let _ = write!(text, "{others}{name}");
                }
                other => text += other,
            }
            text += rest;
        }
        text
    }

    /// The same for all that differ only in the place of the input.
    fn kind(&self) -> String {
        let any = ["$i", "$a", "$b", "$c", "$A", "$B", "$q"];
        any.iter().fold(self.text.to_string(), |text, name| text.replace(name, "$"))
    }

    /// The uniform datapath may do it.
    fn may_be_uniform(&self) -> bool {
        let float = [".f16", ".f32", ".f64", "bf16", "mma", "vote", "x2 ", "dp4a", "%"];
        !float.iter().any(|part| self.text.contains(part))
    }
}

/// The ways from a result to an input: nothing, or instructions that no code is made of.
fn ways(result: char, input: char) -> &'static [&'static str] {
    match (result, input) {
        ('r', 'r') => &["mov.b32 ix,o;"],
        ('d', 'd') => &["mov.b64 Ix,O;"],
        ('p', 'p') => &["mov.pred px,po;"],
        ('r', 'd') => &["mov.b64 Ix,{o,la};", "mov.b64 Ix,{la,o};"],
        ('d', 'r') => &["mov.b64 {ix,_},O;", "mov.b64 {_,ix},O;"],
        _ => &[],
    }
}

fn register(letter: char, r: &'static str, d: &'static str, p: &'static str) -> &'static str {
    match letter {
        'd' => d,
        'p' => p,
        _ => r,
    }
}

fn kernel(
    number: usize,
    first: &Operation,
    way: &str,
    second: &Operation,
    uniform: bool,
) -> String {
    let from = if uniform { "u" } else { "l" };
    let mut text = format!(
        ".visible .entry k{number}(.param .u64 p, .param .u32 x, .param .u32 y, .param .u32 z, .param .u32 w, \
         .param .u64 X, .param .u64 Y)\n{{\n\
         .reg .b32 li,la,lb,lc,ui,ua,ub,uc,s,o,ix,r; .reg .b64 g,LI,lA,lB,UI,uA,uB,O,Ix,R; .reg .pred q,pi,po,px,P;\n\
         .shared .align 16 .b8 sh[1024];\nld.param.u64 g,[p];\n\
         ld.global.v4.b32 {{li,la,lb,lc}},[g]; ld.global.v2.b64 {{LI,lA}},[g+16]; ld.global.b64 lB,[g+32];\n\
         ld.global.b32 s,[g+48]; setp.eq.s32 q,s,3; setp.eq.s32 pi,s,9; and.b32 s,s,1020;\n"
    );
    if uniform {
        text += "ld.param.u32 ui,[x]; ld.param.u32 ua,[y]; ld.param.u32 ub,[z]; ld.param.u32 uc,[w]; \
                 ld.param.u64 UI,[X]; ld.param.u64 uA,[Y]; ld.param.u64 uB,[X];\n";
    }
    let input = match (first.input, uniform) {
        ('d', true) => "UI",
        ('d', false) => "LI",
        ('p', _) => "pi",
        (_, true) => "ui",
        (_, false) => "li",
    };
    text += &first.with(register(first.result, "o", "O", "po"), input, from);
    text += "\n";
    text += way;
    text += "\n";
    let result = register(second.result, "r", "R", "P");
    text += &second.with(result, register(second.input, "ix", "Ix", "px"), "l");
    text += match second.result {
        'r' => "\nst.global.b32 [g+256],r;",
        'd' => "\nst.global.b64 [g+256],R;",
        'p' => "\n{ .reg .b32 t; selp.b32 t,1,0,P; st.global.b32 [g+256],t; }",
        _ => "",
    };
    text += "\nDONE: ret;\n}\n";
    text
}

/// Modules with a kernel for each pair, of every so many; the same ones each time.
pub fn modules(target: &str, every: usize) -> Vec<String> {
    let all = operations();
    let mut kernels = Vec::new();
    let mut number = 0;
    for later in [false, true] {
        let mut kinds = BTreeSet::new();
        for first in all.iter().filter(|o| o.fixed && (later || !o.later)) {
            if !kinds.insert((first.result, first.kind())) {
                continue;
            }
            for uniform in [false, true] {
                if uniform && !first.may_be_uniform() {
                    continue;
                }
                for second in all.iter().filter(|o| later == (first.later || o.later)) {
                    for way in ways(first.result, second.input) {
                        number += 1;
                        if number % every == 0 {
                            kernels.push(kernel(number, first, way, second, uniform));
                        }
                    }
                }
            }
        }
    }
    let head = format!(".version 9.0\n.target {target}\n.address_size 64\n");
    kernels.chunks(TOGETHER).map(|some| head.clone() + &some.concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_operation_that_reads_its_input() {
        for operation in operations() {
            assert!("rdp-".contains(operation.result), "{}", operation.text);
            assert_eq!(operation.input != '-', operation.text.contains("$i"), "{}", operation.text);
            assert_eq!(
                operation.result != '-',
                operation.text.contains("$o"),
                "{}",
                operation.text
            );
        }
    }

    #[test]
    fn a_part_of_the_pairs_is_a_part() {
        let count = |every| {
            modules("sm_90a", every).iter().map(|m| m.matches(".entry").count()).sum::<usize>()
        };
        assert_eq!(count(7), count(1) / 7);
    }
}
