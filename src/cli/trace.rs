//! `--trace=FILE`: what happened when, in the trace event format that Perfetto (ui.perfetto.dev)
//! and Chrome (chrome://tracing) read.
//!
//! One row a thread. A module is a slice of the thread that asked for it, with its parts in it; a
//! function is a slice of the thread that compiled it, with its lowering and its phases in it.
//! Times are microseconds from the start of the first part.

use crate::times::{FunctionTime, Measured};
use orias_systems::PhaseStat;
use orias_systems::pipeline::PHASES;
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
        threads.extend(times.functions.iter().map(|function| function.thread));
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
        events.extend(phases(function, row, epoch));
    }
}

fn phases(
    function: &FunctionTime,
    row: u32,
    epoch: Instant,
) -> impl Iterator<Item = Value> + use<'_> {
    let ran =
        move |stat: &PhaseStat| stat.began.map(|began| began.saturating_duration_since(epoch));
    let all = PHASES.iter().zip(&function.phases);
    all.filter_map(move |(phase, stat)| {
        let args = json!({
            "instructions_in": stat.insts_before,
            "instructions_out": stat.insts_after,
            "rewrites": stat.rewrites,
            "allocations": stat.heap.allocations,
            "stage": phase.stage.name(),
        });
        let time = Duration::from_nanos(stat.nanoseconds);
        Some(slice((phase.name, phase.category.name()), row, ran(stat)?, time, args))
    })
}
