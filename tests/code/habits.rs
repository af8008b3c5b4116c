//! Our code does nothing with scoreboards, waits, stalls and yield that ptxas was never seen to do
//! with the same opcode, but for what `tests/isa/habits/allowed.tsv` gives a reason for. Over all
//! PTX that there is, `orias-isa habits --check` does it.

use orias_isa::habits::{self, check, mine};
use orias_runner::oracle;
use orias_targets::habits::rows::{Counts, Key, Rows};
use orias_targets::target;

fn rows() -> Rows {
    let text = std::fs::read_to_string(oracle::workspace().join(habits::ROWS)).expect("rows");
    Rows::parse(&text).expect("rows")
}

#[test]
fn no_habit_without_a_reason() {
    let target = target("sm_90a").expect("a target");
    let rows = rows();
    let ours = habits::of_ours(target, &rows, &habits::own(), &[0, 3]);
    let allowed = check::Allowed::read().expect("the list");
    let report = check::check(&rows, &ours, &allowed);
    let open: Vec<String> = report.unexplained().map(ToString::to_string).collect();
    assert!(open.is_empty(), "{}", open.join("\n"));
    assert_eq!(report.unused, allowed.elsewhere(), "reasons that no habit of our own PTX needs");
    let (all, judged) = report.instructions;
    assert!(all > 150_000 && 100 * judged > 99 * all, "{judged} of {all} are judged");
}

/// What a check finds of one instruction with these counts, where ptxas's are `BSYNC`'s.
fn found(change: impl Fn(&mut Counts)) -> Vec<String> {
    let key = Key { optimized: true, name: "BSYNC".into() };
    let mut rows = Rows::default();
    let stalls = [(5, [0, 50])].into();
    let theirs = Counts { all: 50, stalls, ..Counts::default() };
    rows.counts.insert(key.clone(), theirs.clone());
    let mut ours = mine::Mined::default();
    let mut counts = theirs;
    change(&mut counts);
    ours.keys.insert(key, mine::OfKey { counts, ..Default::default() });
    let report = check::check(&rows, &ours, &check::Allowed::default());
    report.findings.into_iter().map(|f| f.habit).collect()
}

#[test]
fn each_kind_of_habit_is_found() {
    assert_eq!(found(|_| {}), [""; 0]);
    assert_eq!(found(|c| c.reads = 1), ["read-scoreboard"]);
    assert_eq!(found(|c| c.writes = 1), ["write-scoreboard"]);
    assert_eq!(found(|c| c.waits = 1), ["wait"]);
    assert_eq!(found(|c| c.guards = 1), ["guard"]);
    assert_eq!(found(|c| c.stalls = [(5, [1, 0])].into()), ["long-stall-yield-clear"]);
    assert_eq!(found(|c| c.stalls = [(4, [0, 1])].into()), ["stall-below-5"]);
}

#[test]
fn a_list_without_reasons_is_refused() {
    assert!(check::Allowed::parse("O1\tBSYNC\twait\tso it is\n# remark\n").is_ok());
    assert!(check::Allowed::parse("O1\tBSYNC\twait\n").is_err());
    assert!(check::Allowed::parse("O3\tBSYNC\twait\tso it is\n").is_err());
}
