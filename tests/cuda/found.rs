//! Small programs on which engines once differed, kept as CUDA C with what the reference gave.
//!
//! The file begins with comments: what was wrong, in free text, then `// nvcc: FLAVOUR`, `//
//! launch: kernel N grid G block B outputs O` and what the launch's buffers held before and after.
//! A line `// without: ptxas` leaves that side out: it is the one that is wrong.

use crate::batch::{self, Engines, Expected, Verdict};
use crate::evaluate::{self, Outcome};
use crate::input::{Inputs, launch};
use crate::nvcc::{self, Flavour};
use crate::print;
use crate::program::{Atomic, Program, Word};
use crate::types::Scalar;
use orias::launch::{Argument, Buffer, Launch, Scalar as Number};
use std::fmt::Write;

/// The text of a file for a program.
///
/// # Errors
/// What the reference says of a program without meaning.
pub fn write(program: &Program, flavour: Flavour, what: &str) -> Result<String, String> {
    let inputs = Inputs::of(program);
    let outcome = evaluate::run(program, &inputs)?;
    let mut text: String = what.lines().map(|line| format!("// {line}\n")).collect();
    let Program { number, grid, block, outputs, .. } = program;
    let _ = writeln!(text, "// nvcc: {}", flavour.name());
    let _ =
        writeln!(text, "// launch: kernel {number} grid {grid} block {block} outputs {outputs}");
    for argument in launch(program, &inputs).args {
        match argument {
            Argument::Buffer(Buffer { bytes, writable, .. }) => {
                let kind = if writable { "inout" } else { "in" };
                let _ = writeln!(text, "// {kind}: {}", packed(&bytes));
            }
            Argument::Scalar(Number::U64(value)) => {
                let _ = writeln!(text, "// u64: {value}");
            }
            Argument::Scalar(Number::U32(value)) => {
                let _ = writeln!(text, "// u32: {value}");
            }
            _ => {}
        }
    }
    let bytes: Vec<u8> = outcome
        .outputs
        .iter()
        .flat_map(|w| w.unwrap_or(crate::input::UNWRITTEN).to_le_bytes())
        .collect();
    let _ = writeln!(text, "// expect: {}", packed(&bytes));
    for (word, value) in program.global_words.iter().zip(&outcome.words) {
        let _ = writeln!(text, "// word: {} {value}", word.ty.name());
    }
    text.push_str(&print::file([program]));
    Ok(text)
}

/// Words in hexadecimal, a repeated one as its count.
fn packed(bytes: &[u8]) -> String {
    let words: Vec<String> = bytes
        .chunks(8)
        .map(|word| word.iter().rev().map(|b| format!("{b:02x}")).collect::<String>())
        .collect();
    let runs = words.chunk_by(|a, b| a == b);
    let run = |run: &[String]| match run.len() {
        1 => run[0].clone(),
        count => format!("{}*{count}", run[0]),
    };
    runs.map(run).collect::<Vec<_>>().join(" ")
}

fn unpacked(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for run in text.split_whitespace() {
        let (word, count) = run.split_once('*').unwrap_or((run, "1"));
        let value = u64::from_str_radix(word, 16).ok()?.to_le_bytes();
        for _ in 0..count.parse().ok()? {
            bytes.extend(&value[..word.len() / 2]);
        }
    }
    Some(bytes)
}

/// Reads a file: the kernel with what it has to give, and who takes part.
///
/// # Errors
/// What its head lacks.
pub fn read(text: &str) -> Result<(Expected, Engines), String> {
    let comments = || text.lines().filter_map(|l| l.strip_prefix("// ")?.split_once(": "));
    let line = |key: &str| {
        let found = comments().find(|(k, _)| *k == key).map(|(_, value)| value);
        found.ok_or(format!("there is no line `// {key}:`"))
    };
    let shape: Vec<&str> = line("launch")?.split_whitespace().collect();
    let number = |word: &str| {
        let at = shape.iter().position(|w| *w == word);
        let value = at.and_then(|at| shape.get(at + 1)?.parse::<u64>().ok());
        value.ok_or(format!("the launch does not say `{word}`"))
    };
    let mut args = Vec::new();
    let (mut words, mut values) = (Vec::new(), Vec::new());
    for (key, value) in comments() {
        let bad = || format!("`// {key}: {value}` cannot be read");
        match key {
            "in" | "inout" => {
                let bytes = unpacked(value).ok_or_else(bad)?;
                let buffer = Buffer { bytes, writable: key == "inout", output: None };
                args.push(Argument::Buffer(buffer));
            }
            "u32" => args.push(Argument::Scalar(Number::U32(value.parse().map_err(|_| bad())?))),
            "u64" => args.push(Argument::Scalar(Number::U64(value.parse().map_err(|_| bad())?))),
            "word" => {
                let (ty, value) = value.split_once(' ').ok_or_else(bad)?;
                let ty = Scalar::INTEGERS.into_iter().find(|s| s.name() == ty).ok_or_else(bad)?;
                words.push(Word { ty, op: Atomic::Add });
                values.push(value.parse().map_err(|_| bad())?);
            }
            _ => {}
        }
    }
    let flavour = Flavour::named(line("nvcc")?).ok_or("nvcc's options have no such name")?;
    let outputs = unpacked(line("expect")?).ok_or("what is expected cannot be read")?;
    let outputs =
        outputs.chunks_exact(8).map(|w| w.try_into().ok().map(u64::from_le_bytes)).collect();
    let launch = Launch {
        entry: format!("k{}", number("kernel")?),
        grid: [number("grid")? as u32, 1, 1],
        block: [number("block")? as u32, 1, 1],
        args,
        ..Launch::default()
    };
    let outcome = Outcome { outputs, words: values, steps: 0 };
    let expected = Expected { launch, outputs: number("outputs")?.max(1) as usize, words, outcome };
    Ok((expected, Engines::all(flavour, line("without").is_err())))
}

/// Runs a file in all engines; `None` where there is no nvcc.
///
/// # Errors
/// What its head lacks, or what nvcc says.
pub fn run(text: &str, with_ptxas: bool) -> Result<Option<Verdict>, String> {
    let (expected, mut engines) = read(text)?;
    if !with_ptxas {
        engines.ptxas.clear();
    }
    let Some(ptx) = nvcc::compile(text, engines.flavour) else { return Ok(None) };
    let verdicts = batch::module(&ptx?, &[&expected], &engines, false);
    Ok(verdicts.and_then(|all| all.into_iter().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_from_their_text() {
        let bytes = [[1u8; 16].as_slice(), &[2; 8], &[3, 4]].concat();
        assert_eq!(packed(&bytes), "0101010101010101*2 0202020202020202 0403");
        assert_eq!(unpacked(&packed(&bytes)), Some(bytes));
    }
}
