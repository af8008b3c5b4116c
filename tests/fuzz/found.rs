//! Small programs on which engines once differed, kept as files that say how they are launched.
//!
//! The file begins with comments: what was wrong, in free text, then `// launch: seed S grid G
//! block X Y Z words W` and `// outputs: CLASS …`, where an approximation's class has a `~` before
//! it. A line `// without: ptxas` leaves that side out: it is the one that is wrong.

use crate::batch::{Case, Levels};
use crate::input::Shape;
use crate::program::{Class, Output, Program, layout};

/// The text of a file for a program.
pub fn write(program: &Program, what: &str) -> String {
    let case = Case::of(program);
    let outputs: Vec<String> = program
        .outputs
        .iter()
        .map(|o| format!("{}{}", if o.near { "~" } else { "" }, o.class.name()))
        .collect();
    let [x, y, z] = program.block;
    let what: Vec<String> = what.lines().map(|line| format!("// {line}\n")).collect();
    format!(
        "{}// launch: seed {} grid {} block {x} {y} {z} words {}\n// outputs: {}\n{}",
        what.concat(),
        program.seed,
        program.grid,
        program.shared_words,
        outputs.join(" "),
        case.module
    )
}

/// Reads a file: the program, and who takes part.
///
/// # Errors
/// What its head lacks.
pub fn read(text: &str) -> Result<(Case, Levels), String> {
    let line = |key: &str| {
        let found = text.lines().find_map(|l| l.strip_prefix("// ")?.strip_prefix(key));
        found.ok_or(format!("there is no line `// {key}`"))
    };
    let launch: Vec<&str> = line("launch:")?.split_whitespace().collect();
    let number = |word: &str, offset: usize| {
        let at = launch.iter().position(|w| *w == word);
        let value = at.and_then(|at| launch.get(at + offset)?.parse::<u64>().ok());
        value.ok_or(format!("the launch does not say `{word}`"))
    };
    let mut outputs = Vec::new();
    for word in line("outputs:")?.split_whitespace() {
        let (near, name) = match word.strip_prefix('~') {
            Some(name) => (true, name),
            None => (false, word),
        };
        let class = Class::of(name).ok_or(format!("{word} is not a class"))?;
        outputs.push(Output { class, near });
    }
    let entry = text.split(".entry ").nth(1).and_then(|t| t.split('(').next());
    let shape = Shape {
        entry: entry.ok_or("there is no kernel")?.trim().to_string(),
        seed: number("seed", 1)?,
        grid: number("grid", 1)? as u32,
        block: [number("block", 1)? as u32, number("block", 2)? as u32, number("block", 3)? as u32],
        row: layout(&outputs).1,
        shared_words: number("words", 1)? as u32,
    };
    let with_ptxas = line("without:").is_err();
    let levels = Levels { with_ptxas, ..Levels::default() };
    Ok((Case { shape, outputs, entry: String::new(), module: text.to_string() }, levels))
}
