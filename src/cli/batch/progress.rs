//! What a batch says while it goes on and at its end.

use super::row::{Row, Status};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// On a terminal; what stands behind the rate is how long the rest takes at that.
const BAR: &str = "{bar:32} {pos}/{len} {per_sec} eta {eta}{msg}";

/// Files by what became of them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    by_status: [u64; 3],
    cached: u64,
}

impl Count {
    /// Those with this status.
    pub fn of(&self, status: Status) -> u64 {
        self.by_status[status as usize]
    }
}

/// The bar, the results and the counts.
pub struct Progress {
    bar: ProgressBar,
    json: bool,
    quiet: bool,
    count: Mutex<Count>,
}

impl Progress {
    /// For so many files. The bar is one of a terminal only.
    pub fn new(files: u64, json: bool, quiet: bool) -> Progress {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(Some(files), target);
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style);
        }
        Progress { bar, json, quiet, count: Mutex::default() }
    }

    /// A file is done, and there is this to say of it.
    ///
    /// # Errors
    /// Standard output takes no more.
    pub fn done(&self, row: &Row, text: &str) -> io::Result<()> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.by_status[row.status as usize] += 1;
        count.cached += u64::from(row.cached);
        let failed = count.of(Status::Failed);
        drop(count);
        if failed > 0 {
            self.bar.set_message(format!(", {failed} failed"));
        }
        let written = match self.json {
            true => self.bar.suspend(|| print(row)),
            false => {
                self.say(text);
                Ok(())
            }
        };
        self.bar.inc(u64::from(row.status != Status::Cancelled));
        written
    }

    /// Prints on standard error, above the bar.
    pub fn say(&self, text: &str) {
        if !text.is_empty() {
            self.bar.suspend(|| {
                // There is no other place to complain of it.
                let _ = io::stderr().write_all(text.as_bytes());
            });
        }
    }

    /// The last line.
    pub fn finish(self, time: Duration) -> Count {
        self.bar.finish_and_clear();
        let count = *self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.quiet {
            let mut text = format!("orias: {} compiled", count.of(Status::Compiled));
            if count.cached > 0 {
                text.push_str(&format!(" ({} from the cache)", count.cached));
            }
            text.push_str(&format!(", {} failed", count.of(Status::Failed)));
            if count.of(Status::Cancelled) > 0 {
                let left = count.of(Status::Cancelled);
                text.push_str(&format!(", interrupted before {left} others"));
            }
            self.say(&format!("{text} in {:.2} s\n", time.as_secs_f64()));
        }
        count
    }
}

fn print(row: &Row) -> io::Result<()> {
    let mut line = serde_json::to_vec(row)?;
    line.push(b'\n');
    // One write, so that lines of several threads do not mix.
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}
