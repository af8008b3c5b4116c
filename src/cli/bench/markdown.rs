//! The same as a document to keep beside the code: `tests/speed/PHASES.md`.

use super::measure::{Run, parts};
use super::spread::spread;
use super::tables::{cost, short};
use super::worth::{Worth, more};
use orias_systems::pipeline::{self, Status};
use std::fmt::Write;

/// How many phases are named first.
const DEAREST: usize = 5;

/// The document. `notes` has a line `SYSTEM<tab>TEXT` for what would make a system cheaper, and
/// `PHASE<tab>TEXT` for why a phase is there that finds nothing.
pub fn report(run: &Run, rows: &[Worth], notes: &str) -> String {
    let instructions: u64 = run.files.iter().map(|file| file.code.instructions).sum();
    let total = spread(&run.total());
    let mut text = format!(
        "# What phases cost and what they are worth\n\n\
         Written by `tests/speed/phases.sh` (`orias bench --phases`): times differ by machine and run, code does not.\n\
         Times are sums of the files' medians.\n\
         {} files, {instructions} instructions, {}: {:.1} ms for all of them ({:.1} to {:.1} between the quartiles of {} turns),\n\
         {:.0} ns an instruction, one thread.\n\n",
        run.files.len(),
        run.setting,
        total.median / 1e6,
        total.low / 1e6,
        total.high / 1e6,
        run.turns(),
        total.median / instructions.max(1) as f64
    );
    dearest(&mut text, run, notes);
    text.push_str(
        "## The way of a module\n\n| part | us | share | ns an instruction |\n|---|--:|--:|--:|\n",
    );
    let times: Vec<(&str, f64)> =
        parts().into_iter().map(|part| (part, spread(&run.part(part)).median)).collect();
    let all: f64 = times.iter().map(|(_, time)| time).sum();
    for (part, time) in times {
        let _ = writeln!(
            text,
            "| {part} | {:.0} | {:.1} % | {:.1} |",
            time / 1e3,
            100.0 * time / all.max(1.0),
            time / instructions.max(1) as f64
        );
    }
    text.push_str(
        "\n## Every phase\n\n\
         What there is more of when the phase alone is switched off: instructions and registers of all files, bytes of spill code, and,\n\
         by the simulator over the launches of the corpus, warp instructions executed and estimated cycles (geometric means; `worst` is\n\
         the file whose cycles suffer most). `files` have other code without it. Several phases run one system, and each finds done what\n\
         another did: the rows at the end switch those off together. Allocations are those of workers that are used again.\n\n\
         | phase | share | ns/inst | rewrites | allocs | files | insts | registers | spill B | executed | cycles | worst |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
    );
    rows.iter().for_each(|one| row(&mut text, run, one));
    idle(&mut text, run, rows, notes);
    let wrong = rows.iter().flat_map(|row| row.wrong.iter().map(move |error| (&row.name, error)));
    for (i, (name, error)) in wrong.enumerate() {
        if i == 0 {
            text.push_str("\n## Wrong without a phase\n\n");
        }
        let _ = writeln!(text, "- {name}: {}", error.trim_end().replace('\n', " "));
    }
    text
}

/// Phases that find nothing in these files, and why they are there.
fn idle(text: &mut String, run: &Run, rows: &[Worth], notes: &str) {
    let is_idle = |row: &&Worth| {
        let is_one = !row.is_needed() && row.off.len() == 1;
        is_one && row.changed == 0 && run.did(row.off[0]).rewrites == 0
    };
    for (i, row) in rows.iter().filter(is_idle).enumerate() {
        if i == 0 {
            text.push_str("\n## Phases that find nothing here\n\n");
        }
        let mut notes = notes.lines().filter_map(|line| line.split_once('\t'));
        let note = notes.find(|(of, _)| *of == row.name).map(|(_, note)| note);
        let _ = writeln!(text, "- {}: {}", row.name, note.unwrap_or("nobody has said why"));
    }
}

fn dearest(text: &mut String, run: &Run, notes: &str) {
    let mut phases: Vec<(&str, f64, f64)> = run
        .phases()
        .into_iter()
        .map(|name| {
            let (share, each) = cost(run, &[name]);
            (name, share, each)
        })
        .collect();
    phases.sort_by(|a, b| b.1.total_cmp(&a.1));
    text.push_str("## The five dearest\n\n");
    for (name, share, each) in phases.into_iter().take(DEAREST) {
        let phase = pipeline::find(name);
        let system = match phase.map(|phase| phase.status) {
            Some(Status::Implemented(_, system)) => system.name,
            _ => "",
        };
        let note = notes.lines().filter_map(|line| line.split_once('\t'));
        let note = note.into_iter().find(|(of, _)| *of == system).map_or("", |(_, note)| note);
        let note =
            if note.is_empty() { "nobody has looked yet what would make it cheaper" } else { note };
        let _ = writeln!(
            text,
            "1. **{name}** (`{system}`): {share:.1} % of the phases' time, {each:.1} ns an instruction. {note}"
        );
    }
    text.push('\n');
}

fn row(text: &mut String, run: &Run, row: &Worth) {
    let phases = if row.is_needed() { vec![row.name.as_str()] } else { row.off.clone() };
    let (share, each) = cost(run, &phases);
    let (mut rewrites, mut allocations) = (0, 0);
    for did in phases.iter().map(|phase| run.did(phase)) {
        rewrites += did.rewrites;
        allocations += did.allocations;
    }
    let _ =
        write!(text, "| {} | {share:.1} % | {each:.1} | {rewrites} | {allocations} |", row.name);
    if row.is_needed() {
        text.push_str(" | needed | | | | | |\n");
        return;
    }
    let spills = row.spill_bytes[1] as i64 - row.spill_bytes[0] as i64;
    let _ = write!(
        text,
        " {} | {:+.2} % | {:+.2} % | {spills:+} | {:+.2} % | {:+.2} % |",
        row.changed,
        row.more_instructions(),
        more(row.registers),
        100.0 * (row.executed - 1.0),
        100.0 * (row.cycles - 1.0)
    );
    let _ = match &row.most {
        Some((name, most)) => {
            writeln!(text, " {} {:+.1} % |", short(name), 100.0 * (most - 1.0))
        }
        None => writeln!(text, " |"),
    };
}
