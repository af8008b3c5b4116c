//! What `-v` and `--stat=phase-wise` print.

use crate::driver::Output;
use orias_systems::PhaseStat;
use orias_systems::pipeline::PHASES;
use std::fmt::Write;

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

/// One row a phase, all 159 of them, whether they did something or not.
pub fn phase_table(stats: &[PhaseStat], opt_level: u8) -> String {
    let mut text = format!(
        "{:>5}  {:<42} {:<13} {:>10} {:>10} {:>10} {:>10}\n",
        "index", "phase", "status", "time us", "insts in", "insts out", "rewrites"
    );
    let mut total = PhaseStat::default();
    for phase in &PHASES {
        let stat = stats.get(usize::from(phase.index)).copied().unwrap_or_default();
        total.nanoseconds += stat.nanoseconds;
        total.rewrites += stat.rewrites;
        let status = match phase.status.name() {
            "implemented" if !phase.runs_at(opt_level) => "gated off",
            name => name,
        };
        let _ = writeln!(
            text,
            "{:>5}  {:<42} {status:<13} {:>10.1} {:>10} {:>10} {:>10}",
            phase.index,
            phase.name,
            stat.nanoseconds as f64 / 1e3,
            stat.insts_before,
            stat.insts_after,
            stat.rewrites
        );
    }
    let _ = writeln!(
        text,
        "{:>5}  {:<42} {:<13} {:>10.1} {:>10} {:>10} {:>10}",
        "",
        "total",
        "",
        total.nanoseconds as f64 / 1e3,
        "",
        "",
        total.rewrites
    );
    text
}
