//! Recipes: which knobs and phases the functions of some names are compiled with.
//!
//! A recipe is a line of JSON; empty lines are none:
//!
//! ```text
//! {"kernel": "matmul_*", "knobs": {"UnrollTimes": 2, "RematRegisters": 128}}
//! {"kernel": "matmul_tf32*", "disable": ["OriHoistInvariantsLate"]}
//! ```
//!
//! `kernel` is a pattern for names as PTX has them (`*`, `?`, `[…]`); a device function has its own
//! name's. All recipes that fit count, and of two values for a knob the later one; a knob's value
//! on the command line is the first of all. `orias knobs` and `orias phases` list what there is.

use crate::driver::UNSEEN_FORMS;
use crate::json_lines::{LineError, lines};
use glob::Pattern;
use orias_systems::knobs::Knobs;
use orias_systems::pipeline;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a file of recipes at most.
pub const MOST_BYTES: usize = 1 << 20;

/// A line, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    kernel: String,
    #[serde(default)]
    knobs: BTreeMap<String, Value>,
    #[serde(default)]
    disable: Vec<String>,
}

/// What one line says.
#[derive(Clone, Debug, PartialEq)]
struct Recipe {
    kernel: Pattern,
    knobs: Vec<(String, String)>,
    disabled: Vec<String>,
}

/// All lines of a file, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipes(Vec<Recipe>);

impl Recipes {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The first line that is no recipe, or that names a knob or a phase that there is not, a value
    /// that is none of the knob's, or a phase that correct code needs.
    pub fn read(text: &[u8]) -> Result<Recipes, LineError> {
        let mut lines = lines(text, MOST_BYTES, "recipes")?;
        lines.try_fold(Recipes::default(), |mut all, (number, line)| {
            all.0.push(recipe(number, line)?);
            Ok(all)
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All lines of another file, behind these.
    pub fn extend(&mut self, more: Recipes) {
        self.0.extend(more.0);
    }

    /// The knobs and the phases left out that recipes ask for in a function of this name.
    pub(crate) fn of(&self, name: &str) -> (Vec<(String, String)>, Vec<String>) {
        let (mut knobs, mut disabled) = (Vec::new(), Vec::new());
        for recipe in self.0.iter().filter(|recipe| recipe.kernel.matches(name)) {
            knobs.extend(recipe.knobs.iter().cloned());
            disabled.extend(recipe.disabled.iter().cloned());
        }
        (knobs, disabled)
    }
}

fn recipe(number: usize, line: &[u8]) -> Result<Recipe, LineError> {
    let read: Line = serde_json::from_slice(line)
        .map_err(|e| LineError::of_json(number, line, "not a recipe", &e))?;
    // The place of a name is that of its first quoted copy.
    let wrong = |name: &str, message: String| {
        let quoted = format!("\"{name}\"");
        let mut places = line.windows(quoted.len().max(1));
        let column = places.position(|window| window == quoted.as_bytes()).map_or(1, |at| at + 2);
        LineError::new(number, line, column, message)
    };
    let kernel = Pattern::new(&read.kernel).map_err(|e| wrong(&read.kernel, e.to_string()))?;
    let mut knobs = Vec::new();
    for (name, value) in read.knobs {
        let value = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let knob = (name, value);
        Knobs::read(std::slice::from_ref(&knob)).map_err(|e| wrong(&knob.0, e))?;
        if knob.0.eq_ignore_ascii_case(UNSEEN_FORMS) {
            let message = format!("knob {UNSEEN_FORMS} is of the whole module");
            return Err(wrong(&knob.0, message));
        }
        knobs.push(knob);
    }
    for name in &read.disable {
        match pipeline::find(name) {
            None => return Err(wrong(name, format!("no phase is named `{name}`"))),
            Some(phase) if phase.is_needed(0) || phase.is_needed(3) => {
                let message = format!("there is no correct code without phase {name}");
                return Err(wrong(name, message));
            }
            Some(_) => {}
        }
    }
    Ok(Recipe { kernel, knobs, disabled: read.disable })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_lines::tests::damaged;

    fn wrong(text: &str) -> String {
        Recipes::read(text.as_bytes()).expect_err("refused").to_string()
    }

    #[test]
    fn all_recipes_that_fit_count() {
        let text = br#"
            {"kernel": "mat*", "knobs": {"UnrollTimes": 2, "RematRegisters": "0x80"}}

            {"kernel": "matmul_?", "knobs": {"UnrollTimes": 8}, "disable": ["GvnCse"]}"#;
        let recipes = Recipes::read(text).expect("they are right");
        let knob = |name: &str, value: &str| (name.to_string(), value.to_string());
        let first = vec![knob("RematRegisters", "0x80"), knob("UnrollTimes", "2")];
        assert_eq!(recipes.of("matrix"), (first.clone(), vec![]));
        let both = [first, vec![knob("UnrollTimes", "8")]].concat();
        assert_eq!(recipes.of("matmul_a"), (both, vec!["GvnCse".to_string()]));
        assert_eq!(recipes.of("vecadd"), (vec![], vec![]));
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_stands() {
        assert_eq!(
            wrong("\n{\"kernel\": \"*\", \"disable\": [\"GvnCse\", \"OriNoSuch\"]}"),
            concat!(
                "line 2, column 40: no phase is named `OriNoSuch`\n",
                "  {\"kernel\": \"*\", \"disable\": [\"GvnCse\", \"OriNoSuch\"]}\n",
                "                                         ^",
            )
        );
        let all = [
            ("{\"kernel\": 1}", "not a recipe: invalid type"),
            ("{\"kernel\": \"*\", \"phases\": []}", "unknown field `phases`"),
            ("{\"knobs\": {}}", "missing field `kernel`"),
            ("{\"kernel\": \"[\"}", "column 13: "),
            ("{\"kernel\": \"*\", \"knobs\": {\"NoSuch\": 1}}", "no knob is named 'NoSuch'"),
            ("{\"kernel\": \"*\", \"knobs\": {\"UnrollTimes\": [1]}}", "'[1]' is not a number"),
            ("{\"kernel\": \"*\", \"disable\": [\"AllocateRegisters\"]}", "no correct code"),
            ("\u{fffd}", "not a recipe"),
        ];
        for (text, message) in all {
            assert!(wrong(text).contains(message), "{text}: {}", wrong(text));
        }
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let long = format!("{{\"kernel\": \"{}\", \"disable\": [\"Foo\"]}}", "x".repeat(1000));
        let text = wrong(&long);
        let lines: Vec<&str> = text.lines().collect();
        let caret = lines[2].find('^').expect("a caret");
        assert!(lines[1][caret..].starts_with("Foo\"") && lines[1].len() < 130, "{text}");
    }
    #[test]
    fn nothing_that_is_damaged_does_more_than_complain() {
        let text = br#"{"kernel": "mat*[a-b]", "knobs": {"UnrollTimes": 2}, "disable": ["GvnCse"]}
{"kernel": "?"}"#;
        damaged(text, |text| match Recipes::read(text) {
            Ok(recipes) => drop(recipes.of("matmul")),
            Err(error) => assert!(!error.to_string().is_empty()),
        });
    }
}
