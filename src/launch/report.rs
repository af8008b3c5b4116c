//! What a launch gave, as one JSON object: `orias sim --json` prints it, programs that call the
//! library show it.

use super::request::{Launch, Outcome};
use orias_targets::simulator::{Hazard, Place, Problem};
use serde_json::{Value, json};

/// The object: `entry`, `instructions` (of warps), `thread_instructions`, `cycles` (estimated; null
/// where the engine has no timing), `misuse`, `unseen` and `hazards`.
pub fn report(launch: &Launch, outcome: &Outcome) -> Value {
    json!({
        "entry": launch.entry,
        "instructions": outcome.warp_instructions,
        "thread_instructions": outcome.thread_instructions,
        "cycles": outcome.cycles,
        "misuse": outcome.misuse,
        "unseen": outcome.unseen,
        "hazards": outcome.hazards.iter().map(hazard).collect::<Vec<_>>(),
    })
}

/// A hazard as an object: text, kind (raw, waw, war), register, count, both instructions; `cycles`
/// and `needed`, or the `scoreboard` that nothing waits for, null where the first instruction sets
/// none.
fn hazard(hazard: &Hazard) -> Value {
    let place = |p: &Place| json!({ "function": p.function, "offset": p.offset, "text": p.text });
    let mut object = json!({
        "text": hazard.to_string(),
        "kind": hazard.kind.name(),
        "register": hazard.register,
        "count": hazard.count,
        "first": place(&hazard.first),
        "second": place(&hazard.second),
    });
    match hazard.problem {
        Problem::TooEarly { cycles, needed } => {
            object["cycles"] = cycles.into();
            object["needed"] = needed.into();
        }
        Problem::NotAwaited { scoreboard } | Problem::NotYetVisible { scoreboard } => {
            object["scoreboard"] = scoreboard.into();
        }
        Problem::NoScoreboard => object["scoreboard"] = Value::Null,
    }
    object
}
