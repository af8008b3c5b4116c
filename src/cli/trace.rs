//! `--trace=FILE`: what happened when, in the trace event format that Perfetto (ui.perfetto.dev)
//! and Chrome (chrome://tracing) read.
//!
//! One row a thread. A module is a slice of the thread that asked for it, with its parts in it; a
//! function is a slice of the thread that compiled it, with its lowering and its phases in it; what
//! a huge one's pieces went through stands with the thread that had each.
//! Times are microseconds from the start of the first part.

use crate::times::Measured;
use orias_systems::pipeline::{PHASES, Phase};
use orias_systems::{PhaseStat, pieces};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The trace of modules, each by the name of its file. What was compiled without
/// [`CompileOptions::trace`](crate::driver::CompileOptions::trace) has no functions in it.
pub fn json(modules: &[(&str, &Measured)]) -> Value {
    let epoch = modules.iter().flat_map(|(_, times)| times.parts.first()).map(|p| p.began).min();
    let Some(epoch) = epoch else { return json!({ "traceEvents": [] }) };
    let mut events = Vec::new();
    let mut threads = Vec::new();
    for (name, times) in modules {
        module(name, times, epoch, &mut events);
        for function in &times.functions {
            threads.push(function.thread);
            threads.extend(function.pieces.iter().map(|piece| piece.thread));
        }
        threads.extend(times.parts.iter().map(|part| part.thread));
    }
    threads.sort_unstable();
    threads.dedup();
    let named = |what: &str, tid: u32, name: &str| json!({ "ph": "M", "pid": 1, "tid": tid, "name": what, "args": { "name": name } });
    events.push(named("process_name", 0, "orias"));
    events.extend(
        threads.iter().map(|thread| named("thread_name", *thread, &format!("thread {thread}"))),
    );
    json!({ "displayTimeUnit": "ns", "traceEvents": events })
}

fn slice(
    (name, category): (&str, &str),
    row: u32,
    since_epoch: Duration,
    time: Duration,
    args: Value,
) -> Value {
    json!({
        "ph": "X",
        "pid": 1,
        "tid": row,
        "name": name,
        "cat": category,
        "ts": since_epoch.as_nanos() as f64 / 1e3,
        "dur": time.as_nanos() as f64 / 1e3,
        "args": args,
    })
}

fn module(name: &str, times: &Measured, epoch: Instant, events: &mut Vec<Value>) {
    let (Some(first), Some(last)) = (times.parts.first(), times.parts.last()) else { return };
    let since = |at: Instant| at.saturating_duration_since(epoch);
    let whole = last.began + last.time - first.began;
    events.push(slice((name, "module"), first.thread, since(first.began), whole, json!({})));
    for part in &times.parts {
        let name = (part.part.name(), "part");
        events.push(slice(name, part.thread, since(part.began), part.time, json!({})));
    }
    for function in &times.functions {
        let row = function.thread;
        let began = since(function.began);
        events.push(slice((&function.name, "function"), row, began, function.time, json!({})));
        events.push(slice(("lower", "part"), row, began, function.lowering, json!({})));
        events.extend(phases(&PHASES, &function.phases, row, epoch));
        let count = function.pieces.len();
        for (n, piece) in (1..).zip(&function.pieces) {
            let ran = || piece.stats.iter().filter(|stat| stat.began.is_some());
            let (Some(first), Some(last)) = (ran().next(), ran().next_back()) else { continue };
            let Some((began, end)) = first.began.zip(last.began) else { continue };
            let time = end.saturating_duration_since(began) + nanoseconds(last);
            let name = format!("piece {n} of {count}");
            events.push(slice((&name, "piece"), piece.thread, since(began), time, json!({})));
            events.extend(phases(&PHASES[pieces::PHASES], &piece.stats, piece.thread, epoch));
        }
    }
}

fn nanoseconds(stat: &PhaseStat) -> Duration {
    Duration::from_nanos(stat.nanoseconds)
}

fn phases(
    phases: &'static [Phase],
    stats: &[PhaseStat],
    row: u32,
    epoch: Instant,
) -> impl Iterator<Item = Value> {
    let ran =
        move |stat: &PhaseStat| stat.began.map(|began| began.saturating_duration_since(epoch));
    let all = phases.iter().zip(stats);
    all.filter_map(move |(phase, stat)| {
        let args = json!({
            "instructions_in": stat.insts_before,
            "instructions_out": stat.insts_after,
            "rewrites": stat.rewrites,
            "allocations": stat.heap.allocations,
            "stage": phase.stage.name(),
        });
        let time = nanoseconds(stat);
        Some(slice((phase.name, phase.category.name()), row, ran(stat)?, time, args))
    })
}
