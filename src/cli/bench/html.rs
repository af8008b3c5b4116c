//! The report with charts: one file that needs no other, in light and dark.

use super::chart::{Axis, Bar, Point, Scale, bars, escape, points, time};
use super::measure::{Run, parts};
use super::spread::spread;
use super::tables::{cost, short};
use super::worth::{Worth, more};
use orias_systems::pipeline::{PHASES, Status, When};
use std::fmt::Write;

/// Colours: text on its background has a contrast of at least 7, marks of at least 3.
const STYLE: &str = "
:root{color-scheme:light dark;--bg:#ffffff;--fg:#1c2430;--dim:#4b5666;--rule:#d5dae1;--card:#f4f6f9;--a:#2563b8;--b:#b45309}
@media(prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e8ecf2;--dim:#aab4c2;--rule:#323b48;--card:#1b2129;--a:#6ea8fe;--b:#f0a04b}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1040px;padding:28px 24px 60px;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:40px 0 4px}p{margin:4px 0 14px;color:var(--dim);max-width:76ch}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin:20px 0}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px 14px}
.tile b{display:block;font-size:22px;font-variant-numeric:tabular-nums}.tile span{color:var(--dim);font-size:13px}
svg{display:block;width:100%;height:auto;margin:8px 0}
svg text{font:12px system-ui,sans-serif;fill:var(--fg)}svg text.label{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}svg text.tick,svg text.name,svg text.value{fill:var(--dim)}
svg .a{fill:var(--a)}svg .b{fill:var(--b)}svg circle{fill-opacity:.8;stroke:var(--bg);stroke-width:1}
svg line.grid{stroke:var(--rule)}svg line.axis{stroke:var(--dim)}svg line.leader{stroke:var(--dim);stroke-width:.6}
.key{display:inline-block;width:11px;height:11px;border-radius:2px;margin:0 5px 0 0}.key.a{background:var(--a)}.key.b{background:var(--b);margin-left:14px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--dim);font-weight:600}th:first-child,td:first-child{text-align:left}td.dim{color:var(--dim);text-align:left}
";

/// The whole page.
pub fn report(run: &Run, rows: &[Worth]) -> String {
    let mut page = format!(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>\
         <meta name='viewport' content='width=device-width,initial-scale=1'>\
         <title>orias bench</title><style>{STYLE}</style></head><body>\
         <h1>What compiling costs</h1><p>orias {}, {}, one thread.</p>",
        escape(&run.orias),
        escape(&run.setting)
    );
    tiles(&mut page, run);
    let mut section = |title: &str, text: &str, body: String| {
        let _ =
            write!(page, "<h2 id='{}'>{title}</h2><p>{text}</p>{body}", title.replace(' ', "-"));
    };
    section(
        "Time by part",
        "Stages of the pipeline have numbers. Median of all turns.",
        by_part(run),
    );
    section(
        "Time by phase",
        "<span class='key a'></span>may be switched off \
         <span class='key b'></span>correct code needs it. Share of all phases' time, and \
         nanoseconds for each instruction that the phase finds.",
        by_phase(run),
    );
    section(
        "Time by kernel size",
        "One point a function: from the start of its lowering to its machine code.",
        by_size(run),
    );
    let what = if has_runs(run) {
        "Estimated cycles of the corpus's launches (geometric mean) without the phase"
    } else {
        "Instructions without the phase"
    };
    section(
        "Worth beside cost",
        &format!(
            "{what}: higher is worth more, further left is cheaper. \
             <span class='key a'></span>one phase \
             <span class='key b'></span>all phases that run one system. What correct code needs is \
             not in it."
        ),
        worth_and_cost(run, rows),
    );
    section(
        "Every phase",
        "What there is more of without it, in code and when it runs. Spills in bytes.",
        table(run, rows),
    );
    page + "</body></html>\n"
}

fn has_runs(run: &Run) -> bool {
    run.files.iter().any(|file| file.code.run.is_some())
}

fn tiles(page: &mut String, run: &Run) {
    let total = spread(&run.total());
    let instructions: u64 = run.files.iter().map(|file| file.code.instructions).sum();
    let bytes: u64 = run.files.iter().map(|file| file.ptx_bytes).sum();
    let functions: usize = run.files.iter().map(|file| file.functions.len()).sum();
    let parse = spread(&run.part("parse")).median;
    let spread_of = 100.0 * (total.high - total.low) / total.median.max(1.0);
    let tiles = [
        (time(total.median), "all files, one compile each".to_string()),
        (format!("{spread_of:.1}%"), "between the quartiles of the turns".to_string()),
        (time(total.median / instructions.max(1) as f64), "an instruction".to_string()),
        (
            format!("{:.0} MB/s", bytes as f64 / parse.max(1.0) * 1e3),
            "PTX read and checked".to_string(),
        ),
        (
            format!("{}", run.files.len()),
            format!("files, {functions} functions, {instructions} instructions"),
        ),
    ];
    page.push_str("<div class='tiles'>");
    for (number, what) in tiles {
        let _ = write!(page, "<div class='tile'><b>{number}</b><span>{what}</span></div>");
    }
    page.push_str("</div>");
}

fn by_part(run: &Run) -> String {
    let times: Vec<(&str, f64)> =
        parts().into_iter().map(|part| (part, spread(&run.part(part)).median)).collect();
    let all: f64 = times.iter().map(|(_, time)| time).sum();
    let bar = |(name, took): (&str, f64)| Bar {
        label: name.to_string(),
        value: took,
        text: format!("{}, {:.1}%", time(took), 100.0 * took / all.max(1.0)),
        class: "a",
    };
    bars(&times.into_iter().map(bar).collect::<Vec<Bar>>())
}

fn by_phase(run: &Run) -> String {
    let mut rows: Vec<(&str, f64, f64)> = run
        .phases()
        .into_iter()
        .map(|name| {
            let (share, each) = cost(run, &[name]);
            (name, share, each)
        })
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let is_needed = |name: &str| {
        let phase = PHASES.iter().find(|phase| phase.name == name);
        let when = phase.map(|phase| phase.status);
        matches!(when, Some(Status::Implemented(When::Needed | When::NeededAtGate, _)))
    };
    let bar = |(name, share, each): (&str, f64, f64)| Bar {
        label: name.to_string(),
        value: share,
        text: format!("{share:.1}%, {each:.1} ns"),
        class: if is_needed(name) { "b" } else { "a" },
    };
    bars(&rows.into_iter().map(bar).collect::<Vec<Bar>>())
}

fn by_size(run: &Run) -> String {
    let of_file = |file: &super::measure::FileRun| {
        let name = short(&file.name).to_string();
        file.functions
            .iter()
            .map(|(instructions, took)| Point {
                x: *instructions as f64,
                y: took / 1e3,
                label: String::new(),
                title: format!("{name}: {instructions} instructions, {}", time(*took)),
                class: "a",
            })
            .collect::<Vec<Point>>()
    };
    let all: Vec<Point> = run.files.iter().flat_map(of_file).collect();
    points(
        &all,
        &Axis { name: "instructions of the function", scale: Scale::Log },
        &Axis { name: "microseconds", scale: Scale::Log },
    )
}

fn worth_and_cost(run: &Run, rows: &[Worth]) -> String {
    let has_runs = has_runs(run);
    // The last row is all phases together: it would hide the others.
    let rows = rows.split_last().map_or(rows, |(_, rest)| rest);
    let point = |row: &Worth| {
        let (share, each) = cost(run, &row.off);
        let cycles = 100.0 * (row.cycles - 1.0);
        let worth = if has_runs { cycles } else { row.more_instructions() };
        // Dear phases that are worth nothing alone have a name too; the table has them all.
        let shows = worth.abs() > 0.03 || (share > 3.0 && row.off.len() == 1);
        Point {
            x: share,
            y: worth,
            label: if shows { row.name.clone() } else { String::new() },
            title: format!(
                "{}: {share:.1}% of the time, {each:.1} ns an instruction; without it {:+.2}% \
                 instructions, {cycles:+.2}% cycles",
                row.name,
                row.more_instructions()
            ),
            class: if row.off.len() > 1 { "b" } else { "a" },
        }
    };
    let all: Vec<Point> = rows.iter().filter(|row| !row.is_needed()).map(point).collect();
    points(
        &all,
        &Axis { name: "% of all phases' time", scale: Scale::Root },
        &Axis {
            name: if has_runs {
                "% more cycles without it"
            } else {
                "% more instructions without it"
            },
            scale: Scale::Root,
        },
    )
}

fn table(run: &Run, rows: &[Worth]) -> String {
    let mut html = String::from("<div class='scroll'><table><tr>");
    for head in [
        "phase",
        "share",
        "ns/inst",
        "rewrites",
        "allocations",
        "files",
        "instructions",
        "registers",
        "spills",
        "executed",
        "cycles",
    ] {
        let _ = write!(html, "<th>{head}</th>");
    }
    html.push_str("</tr>");
    for row in rows {
        let phases = if row.is_needed() { vec![row.name.as_str()] } else { row.off.clone() };
        let (share, each) = cost(run, &phases);
        let did = phases.iter().map(|phase| run.did(phase));
        let (rewrites, allocations) =
            did.fold((0, 0), |(r, a), did| (r + did.rewrites, a + did.allocations));
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{share:.1}%</td><td>{each:.1}</td><td>{rewrites}</td><td>{allocations}</td>",
            escape(&row.name)
        );
        if row.is_needed() {
            html.push_str("<td class='dim' colspan='6'>needed</td></tr>");
            continue;
        }
        let spills = row.spill_bytes[1] as i64 - row.spill_bytes[0] as i64;
        let _ = write!(
            html,
            "<td>{}</td><td>{:+.2}%</td><td>{:+.2}%</td><td>{spills:+}</td><td>{:+.2}%</td><td>{:+.2}%</td></tr>",
            row.changed,
            row.more_instructions(),
            more(row.registers),
            100.0 * (row.executed - 1.0),
            100.0 * (row.cycles - 1.0)
        );
    }
    html + "</table></div>"
}
