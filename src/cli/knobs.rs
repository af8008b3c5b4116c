//! `orias knobs`: the table of knobs.

use clap::Args;
use orias_systems::knobs::{Initial, KNOBS};
use orias_targets::target;
use serde_json::json;
use std::io::Write;

/// Whose numbers are shown where the target says them.
const SHOWN: &str = "sm_90a";

/// What `orias knobs` is told.
#[derive(Args, Debug)]
pub struct KnobsArgs {
    /// Print a JSON array, one object a knob
    #[arg(long)]
    json: bool,
}

/// Prints number, name, default, range and meaning of all knobs.
pub fn knobs(args: &KnobsArgs) -> Result<(), Box<dyn std::error::Error>> {
    let shown = target(SHOWN).ok_or("no target to show")?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let rows: Vec<_> = KNOBS
            .iter()
            .map(|row| {
                json!({
                    "id": row.id,
                    "name": row.name,
                    "default": row.default.of(shown),
                    "by_target": matches!(row.default, Initial::Of(_)),
                    "max": row.most,
                    "meaning": row.meaning,
                })
            })
            .collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    writeln!(out, "{:>5}  {:<23} {:>8} {:>8}  meaning", "id", "name", "default", "max")?;
    for row in KNOBS {
        let id = row.id.map_or(String::new(), |id| id.to_string());
        writeln!(
            out,
            "{id:>5}  {:<23} {:>8} {:>8}  {}",
            row.name,
            row.default.of(shown),
            row.most,
            row.meaning
        )?;
    }
    Ok(())
}
