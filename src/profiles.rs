//! Profiles: how often threads came to the instructions of functions.
//!
//! `orias sim k.ptx … --write-profile FILE` writes one of a kernel's run, and `--use-profile FILE`
//! compiles by it. A profile is a line of JSON for each function (here it is two), and empty lines
//! are none:
//!
//! ```text
//! {"function": "walk", "instructions": 31, "text": "5be1c1db7d4c2aeb",
//!  "threads": [[0, 64], [12, 4096], [25, 64]]}
//! ```
//!
//! To `walk`'s first instruction 64 threads came, and to those behind it; 4,096 to the one with 12
//! before it and those behind that one, and so on. A thread that comes twice counts twice, and one
//! whose guard is false counts too. `instructions` and `text` say what the function looked like:
//! how many it has, and the first 16 digits of the BLAKE3 sum of their text, a newline behind each.
//! A line for a function that looks otherwise by now is not used, with a warning; one for a
//! function that the module has not is for another module. All lines that fit add up: profiles are
//! joined by writing one behind the other.

use crate::json_lines::{LineError, lines};
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::{Function, Program};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Bytes of a file of profiles at most.
pub const MOST_BYTES: usize = 64 << 20;

/// Digits of a sum that are kept.
const DIGITS: usize = 16;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    function: String,
    instructions: usize,
    text: String,
    threads: Vec<(usize, u64)>,
}

/// All lines of a file, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles(Vec<Line>);

/// By the byte of the source at which an instruction begins, how many threads came to it.
pub type Reached = FxHashMap<u32, u64>;

impl Profiles {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The first line that is none of a profile, or whose threads are of no instruction, or not in
    /// the instructions' order.
    pub fn read(text: &[u8]) -> Result<Profiles, LineError> {
        let mut lines = lines(text, MOST_BYTES, "profiles")?;
        lines.try_fold(Profiles::default(), |mut all, (number, line)| {
            let read: Line = serde_json::from_slice(line)
                .map_err(|e| LineError::of_json(number, line, "not a profile", &e))?;
            let is_in_order = read.threads.is_sorted_by(|a, b| a.0 < b.0);
            let begins = read.threads.first().is_none_or(|(at, _)| *at == 0);
            let ends = read.threads.last().is_none_or(|(at, _)| *at < read.instructions);
            if !is_in_order || !begins || !ends {
                let of = "\"threads\"";
                let mut places = line.windows(of.len());
                let column = places.position(|w| w == of.as_bytes()).map_or(1, |at| at + 1);
                let message =
                    "the numbers of instructions begin with 0, grow, and are below their count";
                return Err(LineError::new(number, line, column, message.to_string()));
            }
            all.0.push(read);
            Ok(all)
        })
    }

    /// Of what was seen of a run, by the byte at which each instruction begins: functions that
    /// nobody came to have no line.
    pub fn of(program: &Program<'_>, reached: &Reached) -> Profiles {
        let lines = program.functions.iter().filter(|f| f.defined).filter_map(|function| {
            let counts = function.code.iter().map(|inst| reached.get(&inst.span.start));
            let mut threads: Vec<(usize, u64)> = Vec::new();
            for (at, count) in counts.enumerate() {
                let count = count.copied().unwrap_or(0);
                if threads.last().is_none_or(|last| last.1 != count) {
                    threads.push((at, count));
                }
            }
            (threads.iter().any(|(_, count)| *count > 0)).then(|| Line {
                function: function.name.to_string(),
                instructions: function.code.len(),
                text: sum(program.source, function),
                threads,
            })
        });
        Profiles(lines.collect())
    }

    /// The text of a file.
    pub fn to_text(&self) -> String {
        let lines = self.0.iter().filter_map(|line| serde_json::to_string(line).ok());
        lines.flat_map(|line| [line, "\n".to_string()]).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All lines of another file, behind these.
    pub fn extend(&mut self, more: Profiles) {
        self.0.extend(more.0);
    }

    /// What they say of a module's instructions, and a warning for each function that is not what
    /// it was.
    pub(crate) fn reached(&self, program: &Program<'_>) -> (Reached, Vec<Diagnostic>) {
        let (mut reached, mut warnings) = (Reached::default(), Vec::new());
        let mut by_name: FxHashMap<&str, Vec<&Line>> = FxHashMap::default();
        for line in &self.0 {
            by_name.entry(&line.function).or_default().push(line);
        }
        for function in program.functions.iter().filter(|f| f.defined && !self.is_empty()) {
            let Some(lines) = by_name.get(function.name) else { continue };
            let text = sum(program.source, function);
            let is_same = |l: &&&Line| l.instructions == function.code.len() && l.text == text;
            if lines.iter().filter(is_same).count() < lines.len() {
                let message = format!(
                    "a profile of function '{}' is of another text and not used",
                    function.name
                );
                warnings.push(Diagnostic::warning(function.span, message));
            }
            for line in lines.iter().filter(is_same) {
                let mut counts = line.threads.iter().copied().peekable();
                let mut count = 0;
                for (at, inst) in function.code.iter().enumerate() {
                    if let Some((_, next)) = counts.next_if(|(from, _)| *from == at) {
                        count = next;
                    }
                    let all: &mut u64 = reached.entry(inst.span.start).or_default();
                    *all = all.saturating_add(count);
                }
            }
        }
        (reached, warnings)
    }
}

/// What a function's text is known by.
fn sum(source: &str, function: &Function<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    for inst in &function.code {
        let (start, end) = (inst.span.start as usize, inst.span.end as usize);
        hasher.update(source.as_bytes().get(start..end).unwrap_or_default());
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex()[..DIGITS].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_lines::tests::damaged;

    const PTX: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n\
        .visible .entry k() {\n .reg .pred %p; .reg .b32 %t;\n\
        mov.u32 %t, %tid.x;\n setp.eq.u32 %p, %t, 7;\n @%p bra L;\n ret;\nL:\n trap;\n}\n";

    fn reached(counts: &[u64]) -> Reached {
        let program = crate::ptx::load(PTX).expect("it is right");
        let starts = program.functions[0].code.iter().map(|inst| inst.span.start);
        starts.zip(counts.iter().copied()).collect()
    }

    fn wrong(text: &str) -> String {
        Profiles::read(text.as_bytes()).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_written_is_read_and_adds_up() {
        let program = crate::ptx::load(PTX).expect("it is right");
        let seen = Profiles::of(&program, &reached(&[32, 32, 32, 31, 1]));
        let text = seen.to_text();
        assert!(text.contains("\"threads\":[[0,32],[3,31],[4,1]]"), "{text}");
        assert_eq!(Profiles::read(text.as_bytes()), Ok(seen.clone()));
        let twice = Profiles::read(format!("{text}\n{text}").as_bytes()).expect("it is right");
        let (reached_twice, warnings) = twice.reached(&program);
        assert_eq!(reached_twice, reached(&[64, 64, 64, 62, 2]));
        assert!(warnings.is_empty());
    }

    #[test]
    fn what_is_of_another_text_is_not_used() {
        let program = crate::ptx::load(PTX).expect("it is right");
        let text = Profiles::of(&program, &reached(&[32, 32, 32, 31, 1])).to_text();
        let changed = PTX.replace("7;", "8;");
        let changed = crate::ptx::load(&changed).expect("it is right");
        let (reached, warnings) =
            Profiles::read(text.as_bytes()).expect("it is right").reached(&changed);
        assert!(reached.is_empty());
        assert_eq!(warnings.len(), 1);
        // Comments are no part of it.
        let commented = PTX.replace(" ret;", " // what comes last\n ret;");
        let commented = crate::ptx::load(&commented).expect("it is right");
        let (reached, warnings) =
            Profiles::read(text.as_bytes()).expect("it is right").reached(&commented);
        assert_eq!((reached.len(), warnings.len()), (5, 0));
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_stands() {
        let line = |threads: &str| {
            format!(
                "{{\"function\": \"k\", \"instructions\": 4, \"text\": \"\", \"threads\": {threads}}}"
            )
        };
        assert!(Profiles::read(line("[]").as_bytes()).is_ok());
        for threads in ["[[1, 2]]", "[[0, 2], [0, 3]]", "[[0, 2], [4, 3]]"] {
            let text = wrong(&line(threads));
            assert!(text.starts_with("line 1, column 50: the numbers of instr"), "{text}");
        }
        for threads in ["[[0, -2]]", "[[0]]", "7", "[[0, 18446744073709551616]]"] {
            let text = wrong(&line(threads));
            assert!(text.contains("not a profile: "), "{text}");
        }
    }

    #[test]
    fn nothing_that_is_damaged_does_more_than_complain() {
        let program = crate::ptx::load(PTX).expect("it is right");
        let text = Profiles::of(&program, &reached(&[32, 32, 32, 31, 1])).to_text().into_bytes();
        damaged(&text, |text| match Profiles::read(text) {
            Ok(profiles) => drop(profiles.reached(&program)),
            Err(error) => assert!(!error.to_string().is_empty()),
        });
    }
}
