//! The coverage set through our compiler: every kernel that ptxas takes compiles at -O0 and -O3,
//! gives in the simulator what the interpreter gives, and has no hazard; and the committed table of
//! PTX says the same of it.
//!
//! What is not there yet is listed exactly: what compiles now must leave the list.

use super::except::{Exceptions, judge_cuda, kind};
use orias::driver::CompileOptions;
use orias_isa::differ::{self, Verdict};
use orias_isa::setup::Setup;
use orias_isa::{generate, ours, prepare, ptx_table, sources};
use orias_runner::oracle;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Opcodes of which not all instructions compile, and what is missing.
const NOT_YET: &[(&str, &str)] = &[
    ("suld", "surfaces"),
    ("suq", "surfaces"),
    ("sured", "surfaces"),
    ("sust", "surfaces"),
    ("istypep", "textures"),
    ("tex", "textures"),
    ("tld4", "textures"),
    ("txq", "textures"),
];

/// The kernels of a group: what each ends with, or why it is refused.
struct Group {
    name: String,
    ran: Vec<Verdict>,
    refused: Vec<(String, String)>,
}

fn compiled(opt_level: u8) -> Vec<Group> {
    run(&CompileOptions { opt_level, threads: 1, ..Default::default() }, None)
}

/// All groups, or those that have other code than with these options instead.
fn run(options: &CompileOptions, instead: Option<&CompileOptions>) -> Vec<Group> {
    let group = |source: &sources::Source| {
        let text = prepare::module(&source.text);
        let made = ours::compile(&text, options);
        let mut made = made.unwrap_or_else(|e| panic!("{}: {e}", source.name));
        if let Some(Ok(usual)) = instead.map(|options| ours::compile(&text, options))
            && usual.cubin == made.cubin
        {
            made.cubin = None;
        }
        let there = |name: &str| !made.refused.iter().any(|(n, _)| n == name);
        let setup = Setup { meaningful: true, prepared: true, ..Setup::default() };
        let run = |cubin: &Vec<u8>| differ::module(&text, cubin, setup, there);
        let ran = made.cubin.as_ref().map_or(Ok(Vec::new()), run);
        let ran = ran.unwrap_or_else(|e| panic!("{}: {e}", source.name));
        let name = source.name.rsplit('/').next().unwrap_or(&source.name).to_string();
        Group { name, ran, refused: made.refused }
    };
    sources::one_instruction("sm_90a").par_iter().map(group).collect()
}

/// The row of [`NOT_YET`] that a refusal belongs to.
fn not_yet(why: &str) -> Option<usize> {
    let (spelling, _) = why.strip_prefix("unsupported: `")?.split_once("`: ")?;
    let opcode = spelling.split('.').next()?;
    NOT_YET.iter().position(|(op, _)| *op == opcode)
}

fn whole_set(opt_level: u8) {
    let groups = compiled(opt_level);
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    let mut exceptions = Exceptions::of(if opt_level == 0 { "O0" } else { "O3" });
    for group in &groups {
        for (kernel, why) in &group.refused {
            *ends.entry("refused").or_default() += 1;
            match not_yet(why) {
                Some(row) => drop(used.insert(row)),
                None => wrong.push(format!("{} {kernel}: {why}", group.name)),
            }
        }
        for verdict in &group.ran {
            let name = &verdict.kernel;
            *ends.entry(kind(&verdict.end).0).or_default() += 1;
            wrong.extend(exceptions.judge(&group.name, verdict));
            let at = |h: &orias_targets::simulator::Hazard| format!("{} {name}: {h}", group.name);
            wrong.extend(verdict.hazards.iter().map(at));
        }
    }
    for (row, (opcode, why)) in NOT_YET.iter().enumerate() {
        if !used.contains(&row) {
            wrong.push(format!("no kernel needs the row {opcode}: {why}"));
        }
    }
    wrong.extend(exceptions.unused());
    println!("{ends:?}");
    assert!(ends["same"] > 5700, "{ends:?}");
    wrong.extend(against_the_table(&groups, usize::from(opt_level > 0)));
    assert!(wrong.is_empty(), "{} at -O{opt_level}\n{}", wrong.len(), wrong.join("\n"));
}

/// Where the committed table says otherwise: it has a line for each instruction of the set, and
/// where it counts every kernel of a line as compiled, so it is here.
fn against_the_table(groups: &[Group], level: usize) -> Vec<String> {
    let root = oracle::workspace();
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect("a committed file");
    let table = ptx_table::read(&read(ptx_table::FILE)).expect("the table of PTX");
    let refused: BTreeSet<(&str, &str)> = groups
        .iter()
        .flat_map(|g| g.refused.iter().map(|(kernel, _)| (g.name.as_str(), kernel.as_str())))
        .collect();
    let mut wrong = Vec::new();
    for row in read("tests/coverage/forms.tsv").lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let ["sm_90a", group, kernel, instruction] = columns[..] else { continue };
        // Directives and spelling are no instructions.
        if ["directive", "globals", "lexical", "control"].contains(&group)
            || !instruction.ends_with(';')
        {
            continue;
        }
        // The generator has no registers of eight bits; of several statements the table may name
        // another.
        if kernel.ends_with("_b8") || instruction.matches(';').count() > 1 {
            continue;
        }
        let mnemonics = generate::mnemonics(instruction);
        let lines: Vec<_> =
            mnemonics.iter().filter_map(|m| table.get(&ptx_table::line_of(m))).collect();
        if lines.is_empty() && mnemonics.iter().any(|m| m.contains('.')) {
            wrong.push(format!("the table has no line for `{instruction}` ({kernel})"));
        }
        let compiles = |line: &&ptx_table::Committed| line.compiled[level] == line.kernels;
        if !lines.is_empty() && lines.iter().all(compiles) && refused.contains(&(group, kernel)) {
            wrong.push(format!("the table says that {kernel} compiles"));
        }
    }
    wrong
}

#[test]
fn kernels_from_cuda_run_from_our_cubins() {
    let levels = [0, 1, 2, 3];
    let mut all = Vec::new();
    for source in sources::below("engines/kernels", "sm_90a") {
        for opt_level in levels {
            let options = CompileOptions { opt_level, ..CompileOptions::default() };
            let made = ours::compile(&source.text, &options).expect("PTX");
            assert_eq!(made.refused, [], "{} -O{opt_level}", source.name);
            let cubin = made.cubin.expect("kernels");
            let ran = differ::module(&source.text, &cubin, Setup::default(), |_| true);
            all.extend(ran.expect("a cubin").into_iter().map(|v| (source.name.clone(), v)));
        }
    }
    let wrong = judge_cuda("orias", levels.len(), &all);
    assert!(wrong.is_empty(), "{} kernels\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_coverage_set_runs_from_our_cubins_at_o0() {
    whole_set(0);
}

#[test]
fn the_coverage_set_runs_from_our_cubins_at_o3() {
    whole_set(3);
}

/// A minute in a release build, and many without one, so it runs where it is asked for: `cargo test
/// --release --test all -- --ignored each_phase_left_out`.
#[test]
#[ignore = "no command of CI runs it: a minute only in a release build; see tests/README.md"]
fn the_coverage_set_runs_with_each_phase_left_out() {
    let usual = CompileOptions { opt_level: 3, threads: 1, ..Default::default() };
    let phases = orias_systems::pipeline::PHASES.iter().filter(|phase| phase.is_optional());
    let mut wrong = Vec::new();
    for phase in phases {
        let disabled = vec![phase.name.to_string()];
        let without = CompileOptions { disabled, ..usual.clone() };
        let mut exceptions = Exceptions::of("O3");
        let groups = run(&without, Some(&usual));
        let ran: usize = groups.iter().map(|group| group.ran.len()).sum();
        println!("{}: {ran} kernels of groups that have other code", phase.name);
        for (group, verdict) in groups.iter().flat_map(|g| g.ran.iter().map(move |v| (g, v))) {
            let at = |what: String| format!("without {}: {} {what}", phase.name, group.name);
            wrong.extend(exceptions.judge(&group.name, verdict).map(at));
            let name = &verdict.kernel;
            wrong.extend(verdict.hazards.iter().map(|hazard| at(format!("{name}: {hazard}"))));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
