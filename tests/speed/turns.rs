//! Two programs in turns: CPU time and memory of each, and their ratio.
//!
//! This kind of machine is noisy: absolute times say little. So the two run behind each other,
//! again and again, and what is reported is the least CPU time (user and system) that each took,
//! the ratio of the two, and how much their runs differed.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use wait4::Wait4;

/// However little a file takes.
const MOST_TURNS: usize = 50;

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// CPU time in seconds, user and system, of all threads.
    pub seconds: f64,
    /// Largest resident set in bytes.
    pub memory: u64,
}

/// Runs a compiler on a file once.
///
/// # Errors
/// What the compiler says, or in words why it cannot be started.
pub fn run(program: &Path, options: &[String], input: &Path, out: &Path) -> Result<Cost, String> {
    let fail = |why: String| format!("{}: {why}", program.display());
    // A file takes what a compiler says, however much: a pipe would have to be emptied while it
    // runs.
    let said = out.with_extension("said");
    let stderr = File::create(&said).map_err(|e| fail(e.to_string()))?;
    let mut command = Command::new(program);
    command.args(options).arg(input).arg("-o").arg(out);
    command.stdout(Stdio::null()).stderr(stderr);
    let mut child = command.spawn().map_err(|e| fail(e.to_string()))?;
    let used = child.wait4().map_err(|e| fail(e.to_string()))?;
    if !used.status.success() {
        let text = std::fs::read(&said).unwrap_or_default();
        return Err(first_error(&String::from_utf8_lossy(&text), &used.status.to_string()));
    }
    let seconds = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    Ok(Cost { seconds, memory: used.rusage.maxrss })
}

/// The first line that says what is wrong.
fn first_error(said: &str, status: &str) -> String {
    let wrong = |line: &&str| ["error", "fatal", "panicked"].iter().any(|w| line.contains(w));
    let line = said.lines().find(wrong).or(said.lines().next());
    line.map_or(status.to_string(), |line| line.trim().to_string())
}

/// One compiler's runs on a file.
#[derive(Clone, Debug, Default)]
pub struct Runs(Vec<Cost>);

impl Runs {
    /// The run of least CPU time: `seconds` of it, and the most memory that any of them took.
    pub fn best(&self) -> Cost {
        let seconds = self.0.iter().map(|c| c.seconds).fold(f64::INFINITY, f64::min);
        Cost { seconds, memory: self.0.iter().map(|c| c.memory).max().unwrap_or(0) }
    }

    /// By which part of the least the middle run took longer: none on a quiet machine.
    pub fn noise(&self) -> f64 {
        let middle = middle(self.0.iter().map(|c| c.seconds));
        middle / self.best().seconds.max(1e-6) - 1.0
    }
}

/// One row of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub ours: Cost,
    pub theirs: Cost,
    /// Of the two compilers' runs, the larger ([`Runs::noise`]).
    pub noise: f64,
    /// How often each ran.
    pub turns: usize,
}

impl Pair {
    /// How many times our CPU time theirs is.
    pub fn ratio(&self) -> f64 {
        self.theirs.seconds / self.ours.seconds.max(1e-6)
    }
}

/// What each compiler says of a file that at least one of them does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub ours: Option<String>,
    pub theirs: Option<String>,
}

/// Both compilers on a file, in turns: at least `turns` of each, more while they take less than
/// `seconds` together.
///
/// # Errors
/// What each says, when one fails.
pub fn compare(
    (ours, theirs): (&Path, &Path),
    options: (&[String], &[String]),
    input: &Path,
    out: &Path,
    (turns, seconds): (usize, f64),
) -> Result<Pair, Refused> {
    let (mut all_ours, mut all_theirs, mut spent) = (Runs::default(), Runs::default(), 0.0);
    let turns = turns.max(1);
    for turn in 0..turns.max(MOST_TURNS) {
        if turn >= turns && spent > seconds {
            break;
        }
        let o = run(ours, options.0, input, out);
        let t = run(theirs, options.1, input, out);
        let (o, t) = match (o, t) {
            (Ok(o), Ok(t)) => (o, t),
            (o, t) => return Err(Refused { ours: o.err(), theirs: t.err() }),
        };
        spent += o.seconds + t.seconds;
        all_ours.0.push(o);
        all_theirs.0.push(t);
    }
    Ok(Pair {
        ours: all_ours.best(),
        theirs: all_theirs.best(),
        noise: all_ours.noise().max(all_theirs.noise()),
        turns: all_ours.0.len(),
    })
}

/// The value in the middle of the others; 0 of none.
pub fn middle(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The geometric mean.
pub fn geomean(values: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_what_the_middle_run_took_longer() {
        let runs =
            Runs([1.5, 1.0, 1.1].map(|seconds| Cost { seconds, memory: 7 }).into_iter().collect());
        assert!((runs.noise() - 0.1).abs() < 1e-9);
        assert_eq!(runs.best().seconds, 1.0);
        assert_eq!(Runs(vec![Cost { seconds: 2.0, memory: 9 }]).noise(), 0.0);
    }

    #[test]
    fn what_a_compiler_says_first_is_told() {
        let said = "note: 3 lines\nk.ptx:9: error: no such thing\n";
        assert_eq!(first_error(said, "exit status: 1"), "k.ptx:9: error: no such thing");
        assert_eq!(first_error("", "signal: 9"), "signal: 9");
    }
}
