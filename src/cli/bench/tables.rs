//! What `orias bench` prints.

use super::measure::{Run, parts};
use super::spread::{Difference, geomean, spread};
use super::worth::{Worth, more};
use crate::cli::report::percent;
use std::fmt::Write;

/// Measured of one run: the whole, its parts, its phases.
pub fn run(run: &Run) -> String {
    let total = run.total();
    let turns = run.turns();
    let all = spread(&total);
    let instructions: u64 = run.files.iter().map(|file| file.code.instructions).sum();
    let bytes: u64 = run.files.iter().map(|file| file.ptx_bytes).sum();
    let mut text = format!(
        "orias {}, {}: {} files, {bytes} bytes of PTX, {instructions} instructions, {turns} turns\n\n",
        run.orias,
        run.setting,
        run.files.len()
    );
    let _ = writeln!(
        text,
        "{:<42} {:>12} {:>12} {:>12} {:>7} {:>9}",
        "", "median us", "quarter us", "3/4 us", "share", "ns/inst"
    );
    let clocked: f64 = parts().iter().map(|part| spread(&run.part(part)).median).sum();
    let mut row = |name: &str, samples: &[&[f64]], of: f64, insts: u64| {
        let s = spread(samples);
        let _ = writeln!(
            text,
            "{name:<42} {:>12.1} {:>12.1} {:>12.1} {:>6.1}% {:>9.1}",
            s.median / 1e3,
            s.low / 1e3,
            s.high / 1e3,
            100.0 * s.median / of.max(1.0),
            s.median / insts.max(1) as f64
        );
    };
    row("whole compile, no clocks in it", &total, all.median, instructions);
    for part in parts() {
        row(part, &run.part(part), clocked, instructions);
    }
    let _ = writeln!(
        text,
        "\n{:<42} {:>12} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}",
        "phase",
        "median us",
        "share",
        "ns/inst",
        "insts in",
        "insts out",
        "rewrites",
        "allocs",
        "peak bytes"
    );
    let times: Vec<(&str, f64)> =
        run.phases().into_iter().map(|name| (name, spread(&run.phase(name)).median)).collect();
    for (name, time) in &times {
        let did = run.did(name);
        let _ = writeln!(
            text,
            "{name:<42} {:>12.1} {:>6.1}% {:>9.1} {:>9} {:>9} {:>9} {:>9} {:>10}",
            time / 1e3,
            100.0 * time / clocked.max(1.0),
            time / (did.insts_in as f64).max(1.0),
            did.insts_in,
            did.insts_out,
            did.rewrites,
            did.allocations,
            did.peak_bytes
        );
    }
    text
}

/// Two runs: the first is what the second is compared with.
pub fn comparison(
    first: &Run,
    second: &Run,
    by: impl Fn(&[&[f64]], &[&[f64]]) -> Option<Difference>,
) -> String {
    let mut text = format!(
        "A: orias {}, {}\nB: orias {}, {}\n{} files; differences are B to A, with 95% intervals; \
         * where zero is not in it\n\n",
        first.orias,
        first.setting,
        second.orias,
        second.setting,
        first.files.len()
    );
    let _ = writeln!(
        text,
        "{:<42} {:>12} {:>12} {:>9} {:>20}",
        "time", "A us", "B us", "B to A", "interval"
    );
    let mut row = |name: &str, a: &[&[f64]], b: &[&[f64]]| {
        let (from, to) = (spread(a).median / 1e3, spread(b).median / 1e3);
        let _ = write!(text, "{name:<42} {from:>12.1} {to:>12.1}");
        let _ = match by(a, b) {
            Some(d) => {
                let interval = format!("{:+.1}% .. {:+.1}%", d.low, d.high);
                let sure = if d.is_sure() { " *" } else { "" };
                writeln!(text, " {:>+8.1}% {interval:>20}{sure}", d.percent)
            }
            None => writeln!(text, " {:>9}", "-"),
        };
    };
    row("whole compile, no clocks in it", &first.total(), &second.total());
    for part in parts() {
        row(part, &first.part(part), &second.part(part));
    }
    let mut phases = first.phases();
    phases.extend(second.phases().into_iter().filter(|name| !first.phases().contains(name)));
    for name in phases {
        let (a, b) = (first.phase(name), second.phase(name));
        // A phase that runs on one side alone took nothing on the other.
        let zeros = vec![0.0; first.turns().max(second.turns())];
        let fill = |files: Vec<&[f64]>| -> Vec<Vec<f64>> {
            let of = |file: &[f64]| if file.is_empty() { zeros.clone() } else { file.to_vec() };
            files.into_iter().map(of).collect()
        };
        let (a, b) = (fill(a), fill(b));
        let [a, b] = [&a, &b].map(|files| files.iter().map(Vec::as_slice).collect::<Vec<_>>());
        row(name, &a, &b);
    }
    text.push_str(&code(first, second));
    text
}

/// The code of two runs of the same files.
fn code(first: &Run, second: &Run) -> String {
    let mut text = format!(
        "\n{:<42} {:>12} {:>12} {:>9} {:>12} {:>9}\n",
        "code", "A", "B", "B to A", "geomean", "differ"
    );
    let pairs = || first.files.iter().zip(&second.files).map(|(a, b)| (a.code, b.code));
    let mut row = |name: &str, of: &dyn Fn(super::code::Code) -> Option<u64>| {
        let both: Vec<[u64; 2]> = pairs().filter_map(|(a, b)| Some([of(a)?, of(b)?])).collect();
        if both.is_empty() {
            return;
        }
        let sum = |i: usize| both.iter().map(|pair| pair[i]).sum::<u64>();
        let whole = both.iter().filter(|pair| pair[0] > 0 && pair[1] > 0);
        let mean = geomean(whole.map(|pair| pair[1] as f64 / pair[0] as f64));
        let differ = both.iter().filter(|pair| pair[0] != pair[1]).count();
        let _ = writeln!(
            text,
            "{name:<42} {:>12} {:>12} {:>+8.2}% {mean:>12.4} {differ:>9}",
            sum(0),
            sum(1),
            more([sum(0), sum(1)])
        );
    };
    row("instructions", &|code| Some(code.instructions));
    row("registers", &|code| Some(code.registers));
    row("spill bytes", &|code| Some(code.spill_bytes));
    row("executed warp instructions", &|code| code.run.map(|run| run.executed));
    row("estimated cycles", &|code| code.run.map(|run| run.cycles));
    text
}

/// A part of the time of all phases, in hundredths, and nanoseconds for each instruction found.
pub fn cost(run: &Run, phases: &[&str]) -> (f64, f64) {
    let time = |name: &str| spread(&run.phase(name)).median;
    let all: f64 = run.phases().into_iter().map(time).sum();
    let own: f64 = phases.iter().map(|name| time(name)).sum();
    let insts: u64 = phases.iter().map(|name| run.did(name).insts_in).sum();
    (percent(own as u64, all as u64), own / (insts as f64).max(1.0))
}

/// Worth beside cost. Changes are of the code without the phase.
pub fn worth(run: &Run, rows: &[Worth]) -> String {
    let mut text = format!(
        "Without each phase alone: what there is more of than with it ({} files, {})\n\n",
        run.files.len(),
        run.setting
    );
    let _ = writeln!(
        text,
        "{:<42} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}  worst",
        "phase",
        "share",
        "ns/inst",
        "changed",
        "insts",
        "registers",
        "spill B",
        "executed",
        "cycles"
    );
    for row in rows {
        let phases = if row.is_needed() { vec![row.name.as_str()] } else { row.off.clone() };
        let (share, each) = cost(run, &phases);
        let _ = write!(text, "{:<42} {share:>6.1}% {each:>9.1}", row.name);
        if row.is_needed() {
            text.push_str("  needed: there is no correct code without it\n");
            continue;
        }
        let spills = row.spill_bytes[1] as i64 - row.spill_bytes[0] as i64;
        let _ = write!(
            text,
            " {:>7} {:>+8.2}% {:>+8.2}% {spills:>+9} {:>+8.2}% {:>+8.2}%",
            row.changed,
            row.more_instructions(),
            more(row.registers),
            100.0 * (row.executed - 1.0),
            100.0 * (row.cycles - 1.0)
        );
        if let Some((name, most)) = &row.most {
            let _ = write!(text, "  {} {:+.1}%", short(name), 100.0 * (most - 1.0));
        }
        text.push('\n');
        for error in &row.wrong {
            let _ = writeln!(text, "    WRONG without it: {}", error.trim_end());
        }
    }
    text
}

/// A file without its folders.
pub fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
