//! One program with one thread and with more, in turns: how much sooner it is done.

use crate::inputs::Input;
use orias_speed::turns::middle;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// What a run took, in seconds.
#[derive(Clone, Copy)]
struct Time {
    /// Until it was done.
    wall: f64,
    /// Of all its threads.
    cpu: f64,
}

/// Prints a row for the batch of all these files, and for each of the inputs.
///
/// # Errors
/// In words, when an input cannot be made or the program fails.
pub fn compare(
    program: &Path,
    (batch, inputs): (&[PathBuf], &[Input]),
    folder: &Path,
    (threads, turns): (usize, usize),
) -> Result<(), String> {
    say!(
        "{:<24} {:>9} {:>9} {:>7} {:>7} {:>9}",
        "input",
        "one s",
        format!("{threads} s"),
        "middle",
        "least",
        "CPU more"
    )?;
    // A folder of its own for each run: file systems are slow to make files anew in the place of
    // those that have just gone (ext4 looks for inodes that were free for some seconds).
    let mut outputs = (0..).map(|n| folder.join(format!("outputs-{n}")));
    let mut batched = |threads: usize| {
        let mut command = Command::new(program);
        command.args(["batch", "-q", "-j", &threads.to_string(), "-o"]);
        command.arg(outputs.next().expect("there is no end")).args(batch);
        run(&mut command)
    };
    row(&format!("batch of {}", named(batch)), (threads, turns), &mut batched)?;
    let out = folder.join("out.cubin");
    for input in inputs {
        let (name, path) = input.file(folder)?;
        let mut alone = |threads: usize| {
            let mut command = Command::new(program);
            command.args(["-arch=sm_90a", "-O3", &format!("--split-compile={threads}")]);
            run(command.arg(&path).arg("-o").arg(&out))
        };
        row(&name, (threads, turns), &mut alone)?;
        // There may be many, and large ones.
        let _ = fs::remove_file(&path);
    }
    Ok(())
}

fn named(files: &[PathBuf]) -> String {
    let names = files.iter().map(|path| path.file_name().unwrap_or_default().to_string_lossy());
    names.collect::<Vec<_>>().join(", ")
}

fn run(command: &mut Command) -> Result<Time, String> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let used = command.spawn().and_then(|mut child| child.wait4());
    let wall = started.elapsed().as_secs_f64();
    let used = used.map_err(|error| format!("{command:?}: {error}"))?;
    if !used.status.success() {
        return Err(format!("{command:?}: {}", used.status));
    }
    Ok(Time { wall, cpu: (used.rusage.utime + used.rusage.stime).as_secs_f64() })
}

fn row(
    name: &str,
    (threads, turns): (usize, usize),
    run: &mut impl FnMut(usize) -> Result<Time, String>,
) -> Result<(), String> {
    let (mut one, mut more) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        // Neither is always the first.
        for with_one in [turn % 2 == 0, turn % 2 != 0] {
            if with_one { one.push(run(1)?) } else { more.push(run(threads)?) }
        }
    }
    let walls = |all: &[Time]| middle(all.iter().map(|time| time.wall));
    let cpus = |all: &[Time]| middle(all.iter().map(|time| time.cpu));
    let least = |all: &[Time]| all.iter().map(|time| time.wall).fold(f64::INFINITY, f64::min);
    say!(
        "{name:<24} {:>9.4} {:>9.4} {:>7.2} {:>7.2} {:>7.0} %",
        walls(&one),
        walls(&more),
        walls(&one) / walls(&more),
        least(&one) / least(&more),
        100.0 * (cpus(&more) / cpus(&one) - 1.0)
    )
}
