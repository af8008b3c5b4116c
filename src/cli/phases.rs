//! `orias phases`: the pipeline's table.

use clap::Args;
use orias_systems::pipeline::PHASES;
use serde_json::json;
use std::io::Write;

/// What `orias phases` is told.
#[derive(Args, Debug)]
pub struct PhasesArgs {
    /// Print a JSON array, one object a phase
    #[arg(long)]
    json: bool,
}

/// Prints index, name, stage, category, gate and status of all phases.
pub fn phases(args: &PhasesArgs) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    if args.json {
        let rows: Vec<_> = PHASES
            .iter()
            .map(|p| {
                json!({
                    "index": p.index,
                    "name": p.name,
                    "stage": p.stage.name(),
                    "category": p.category.name(),
                    "gate": p.gate.to_string(),
                    "status": p.status.name(),
                    "reason": p.status.reason(),
                })
            })
            .collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    writeln!(
        out,
        "{:>5}  {:<42} {:<34} {:<13} {:<9} status",
        "index", "name", "stage", "category", "gate"
    )?;
    for p in &PHASES {
        let reason = match p.status.reason() {
            "" => String::new(),
            why => format!(": {why}"),
        };
        writeln!(
            out,
            "{:>5}  {:<42} {:<34} {:<13} {:<9} {}{reason}",
            p.index,
            p.name,
            p.stage.name(),
            p.category.name(),
            p.gate.to_string(),
            p.status.name()
        )?;
    }
    Ok(())
}
