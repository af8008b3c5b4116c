//! Two programs in turns: CPU time and memory of each, and their ratio.
//!
//! This kind of machine is noisy: absolute times say little. So the two run behind each other, again and again, and what is
//! reported is the least CPU time (user and system) that each took, and the ratio of the two.

use std::path::Path;
use std::process::{Command, Stdio};
use wait4::Wait4;

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
/// In words, when it cannot be started or fails.
pub fn run(program: &Path, options: &[String], input: &Path, out: &Path) -> Result<Cost, String> {
    let mut command = Command::new(program);
    command.args(options).arg(input).arg("-o").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let fail = |why: String| format!("{} {}: {why}", program.display(), input.display());
    let mut child = command.spawn().map_err(|e| fail(e.to_string()))?;
    let used = child.wait4().map_err(|e| fail(e.to_string()))?;
    if !used.status.success() {
        return Err(fail(used.status.to_string()));
    }
    let seconds = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    Ok(Cost { seconds, memory: used.rusage.maxrss })
}

/// One row of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub ours: Cost,
    pub theirs: Cost,
}

impl Pair {
    /// How many times our CPU time theirs is.
    pub fn ratio(&self) -> f64 {
        self.theirs.seconds / self.ours.seconds.max(1e-6)
    }
}

/// Both compilers on a file, in turns: at least `turns` of each, more while they take less than `seconds` together.
///
/// # Errors
/// The first failure, in words.
pub fn compare(
    (ours, theirs): (&Path, &Path),
    options: (&[String], &[String]),
    input: &Path,
    out: &Path,
    (turns, seconds): (usize, f64),
) -> Result<Pair, String> {
    let least = |a: Option<Cost>, b: Cost| match a {
        Some(a) if a.seconds <= b.seconds => a,
        _ => b,
    };
    let (mut best_ours, mut best_theirs, mut spent) = (None, None, 0.0);
    for turn in 0..50 {
        if turn >= turns && spent > seconds {
            break;
        }
        let o = run(ours, options.0, input, out)?;
        let t = run(theirs, options.1, input, out)?;
        spent += o.seconds + t.seconds;
        (best_ours, best_theirs) = (Some(least(best_ours, o)), Some(least(best_theirs, t)));
    }
    match (best_ours, best_theirs) {
        (Some(ours), Some(theirs)) => Ok(Pair { ours, theirs }),
        _ => Err("no turn was taken".to_string()),
    }
}

/// The geometric mean.
pub fn geomean(values: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}
