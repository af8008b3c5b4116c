//! Which instructions the checker accepts: the verdicts in `tests/front_end/verdicts.list` are
//! ptxas's (`+` accepts, `-` refuses), ours must be the same; where ptxas is at hand it is asked
//! again.

use crate::support::Scratch;
use std::path::Path;
use std::process::Command;

/// Declares what the instructions use: registers of every type, a variable in each space, a
/// function and a label.
const BEFORE: &str = "\
.version 9.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) ff (.param .b32 a);
.global .u32 gv[4];
.shared .u32 sv[4];
.const .u32 cv[4];
.visible .entry k(.param .u64 o, .param .f32 fp)
{
.reg .b16 %h<9>; .reg .u16 %hu<9>; .reg .s16 %hs<9>; .reg .f16 %hf<9>;
.reg .b32 %r<9>; .reg .u32 %ru<9>; .reg .s32 %rs<9>; .reg .f32 %f<9>; .reg .f16x2 %hx<9>;
.reg .b64 %d<9>; .reg .u64 %du<9>; .reg .s64 %ds<9>; .reg .f64 %g<9>;
.reg .pred %p<9>; .reg .b128 %q<4>;
.local .u32 lv[4];
L:
";
const AFTER: &str = "ret;\n}\n";

/// Verdict and instruction of each line.
fn verdicts() -> Vec<(bool, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/front_end/verdicts.list");
    let text = std::fs::read_to_string(path).unwrap();
    let all: Vec<_> =
        text.lines().map(|line| (line.starts_with('+'), line[2..].to_string())).collect();
    let accepted = all.iter().filter(|(good, _)| *good).count();
    assert!(accepted > 200 && all.len() - accepted > 400, "{accepted} of {}", all.len());
    all
}

#[test]
fn instructions_are_accepted_and_refused_as_ptxas_does() {
    let mut wrong = String::new();
    for (good, line) in verdicts() {
        let source = format!("{BEFORE}{line}\n{AFTER}");
        let result = orias::ptx::load(&source);
        if result.is_ok() != good {
            let said = result.err().map_or_else(|| "accepted".to_string(), |e| e.to_string());
            wrong.push_str(&format!(
                "{line}  ptxas {}: {said}\n",
                if good { "accepts" } else { "refuses" }
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_verdicts_are_those_of_ptxas() {
    let Some(ptxas) = orias_runner::oracle::tool("ptxas") else { return };
    let all = verdicts();
    let mut source = BEFORE.to_string();
    for (_, line) in &all {
        source.push_str(line);
        source.push('\n');
    }
    source.push_str(AFTER);
    let scratch = Scratch::new();
    let file = scratch.write("verdicts.ptx", &source);
    let run =
        Command::new(ptxas).args(["-arch", "sm_90a", "-o"]).arg("/dev/null").arg(&file).output();
    let log = String::from_utf8(run.unwrap().stderr).unwrap();
    let refused: Vec<usize> = log
        .lines()
        .filter(|line| line.contains("; error"))
        .filter_map(|line| line.split(", line ").nth(1)?.split(';').next()?.parse().ok())
        .collect();
    let first = BEFORE.lines().count() + 1;
    let wrong: Vec<&str> = (0..all.len())
        .filter(|i| refused.contains(&(first + i)) == all[*i].0)
        .map(|i| all[i].1.as_str())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
