//! What `-v` and `--stat=phase-wise` print.

use crate::driver::Output;
use crate::times::{Measured, Part};
use orias_components::heap;
use orias_systems::PhaseStat;
use orias_systems::pipeline::{PHASES, Phase};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::time::Duration;

/// ptxas's lines (observed: ptxas 13.0.88, sm_90a).
pub fn verbose(output: &Output) -> String {
    let mut text = format!("ptxas info    : {} bytes gmem\n", output.global_bytes);
    for f in &output.functions {
        if f.entry {
            let target = output.target.name;
            let _ = writeln!(
                text,
                "ptxas info    : Compiling entry function '{}' for '{target}'",
                f.name
            );
        }
        let _ = writeln!(
            text,
            "ptxas info    : Function properties for {}\n    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads",
            f.name, f.frame_bytes, f.spill_store_bytes, f.spill_load_bytes
        );
        if f.entry {
            let _ = write!(
                text,
                "ptxas info    : Used {} registers, used {} barriers",
                f.registers, f.barriers
            );
            if f.stack_bytes > 0 {
                let _ = write!(text, ", {} bytes cumulative stack size", f.stack_bytes);
            }
            if f.shared_bytes > 0 {
                let _ = write!(text, ", {} bytes smem", f.shared_bytes);
            }
            let milliseconds = f.time.as_secs_f64() * 1e3;
            let _ = write!(text, "\nptxas info    : Compile time = {milliseconds:.3} ms\n");
        }
    }
    text
}

/// As `orias phases` has it, but for what the level leaves out.
pub fn status(phase: &Phase, opt_level: u8) -> &'static str {
    match phase.status.name() {
        "implemented" if !phase.runs_at(opt_level) => "gated off",
        name => name,
    }
}

/// All phases with their rows, zeros where there are none.
pub fn rows(stats: &[PhaseStat]) -> impl Iterator<Item = (&'static Phase, PhaseStat)> + '_ {
    let of = |phase: &Phase| stats.get(usize::from(phase.index)).copied().unwrap_or_default();
    PHASES.iter().map(move |phase| (phase, of(phase)))
}

/// The rows of all phases together; instructions are those of the first and of the last one.
pub fn total(stats: &[PhaseStat]) -> PhaseStat {
    let mut total = PhaseStat::default();
    stats.iter().for_each(|stat| total.add(stat));
    total.insts_before = stats.first().map_or(0, |stat| stat.insts_before);
    total.insts_after = stats.last().map_or(0, |stat| stat.insts_after);
    total
}

/// A part of a whole in hundredths; 0 of nothing.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// One row a phase, all 159 of them, whether they did something or not. Of several functions rows
/// are sums, but peaks the largest of one function.
pub fn phase_table(stats: &[PhaseStat], opt_level: u8) -> String {
    let is_counted = heap::is_counted();
    let total = total(stats);
    let mut text = format!(
        "{:>5}  {:<42} {:<13} {:>10} {:>6} {:>10} {:>10} {:>10} {:>10} {:>12} {:>10}\n",
        "index",
        "phase",
        "status",
        "time us",
        "share",
        "insts in",
        "insts out",
        "rewrites",
        "allocs",
        "alloc bytes",
        "peak bytes"
    );
    let mut row = |index: &str, name: &str, status: &str, stat: &PhaseStat| {
        let _ = write!(
            text,
            "{index:>5}  {name:<42} {status:<13} {:>10.1} {:>5.1}% {:>10} {:>10} {:>10}",
            stat.nanoseconds as f64 / 1e3,
            percent(stat.nanoseconds, total.nanoseconds),
            stat.insts_before,
            stat.insts_after,
            stat.rewrites
        );
        for (number, width) in
            [(stat.heap.allocations, 10), (stat.heap.bytes, 12), (stat.heap.peak, 10)]
        {
            let number = if is_counted { number.to_string() } else { "-".to_string() };
            let _ = write!(text, " {number:>width$}");
        }
        text.push('\n');
    };
    for (phase, stat) in rows(stats) {
        row(&phase.index.to_string(), phase.name, status(phase, opt_level), &stat);
    }
    row("", "total", "", &total);
    text
}

/// The same as JSON, and the parts of the compile that are no phases: of one module, or summed over
/// several (`stats` are then sums already).
///
/// Measured are in nanoseconds, memory in bytes, shares are parts of the phases' time from 0 to 1;
/// allocations are null where the program's allocator does not count.
pub fn phase_json(stats: &[PhaseStat], times: &[&Measured], opt_level: u8) -> Value {
    let is_counted = heap::is_counted();
    let counted = |number: u64| if is_counted { json!(number) } else { Value::Null };
    let total = total(stats);
    let row = |stat: &PhaseStat| {
        json!({
            "time_ns": stat.nanoseconds,
            "share": percent(stat.nanoseconds, total.nanoseconds) / 100.0,
            "instructions_in": stat.insts_before,
            "instructions_out": stat.insts_after,
            "rewrites": stat.rewrites,
            "allocations": counted(stat.heap.allocations),
            "allocated_bytes": counted(stat.heap.bytes),
            "peak_bytes": counted(stat.heap.peak),
        })
    };
    let phases: Vec<Value> = rows(stats)
        .map(|(phase, stat)| {
            let mut row = row(&stat);
            row["index"] = phase.index.into();
            row["phase"] = phase.name.into();
            row["stage"] = phase.stage.name().into();
            row["status"] = status(phase, opt_level).into();
            row
        })
        .collect();
    let sum = |of: &dyn Fn(&Measured) -> Duration| {
        times.iter().map(|times| of(times)).sum::<Duration>().as_nanos() as u64
    };
    let parts = [Part::Parse, Part::Layout, Part::Functions, Part::Link, Part::Assemble, Part::Elf];
    let mut parts: Map<String, Value> =
        parts.iter().map(|part| (part.name().to_string(), sum(&|t| t.of(*part)).into())).collect();
    parts.insert("lower".to_string(), sum(&|t| t.lowering).into());
    json!({
        "orias": env!("CARGO_PKG_VERSION"),
        "opt_level": opt_level,
        "phases": phases,
        "total": row(&total),
        "parts_ns": parts,
    })
}
