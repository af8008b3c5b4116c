//! The table of instruction forms that the front end checks by (`src/ptx/check/forms.tbl`): learned
//! by asking ptxas.
//!
//! A name's forms are those of the table, of the coverage generator, of `tests/coverage` and of the
//! corpus, and what ptxas takes of their neighbours; of each it is asked what may stand as each
//! operand, which constants, and which PTX version and SM have it. Thousands of candidates stand in
//! one module ([`frame`]). The table is written after each name: what is interrupted goes on with
//! the names that are left.

mod frame;
mod mine;
mod probe;
mod statements;
mod table;
mod words;

use frame::Oracle;
use mine::Miner;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use table::{Label, Line, Table};
use words::{Form, Words};

/// The table's place in the project.
pub const TABLE: &str = "src/ptx/check/forms.tbl";

/// What to learn, and how long.
pub struct Task<'a> {
    pub ptxas: &'a Path,
    pub table: &'a Path,
    /// Instructions' names; a name with `*` at its end means all that begin so.
    pub names: &'a [String],
    /// Candidates in one round.
    pub limit: usize,
    /// Rounds; 0 looks for no forms beside the known ones.
    pub rounds: usize,
    pub threads: usize,
}

/// Learns the names and writes the table after each. `sources` is PTX that shows what there is.
pub fn learn(task: &Task<'_>, sources: &[String]) -> Result<(), String> {
    let read =
        |file: &Path| std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()));
    let mut table = Table::read(&read(task.table)?)?;
    let known: BTreeSet<String> = table.names.keys().cloned().collect();
    let wanted = |name: &str| {
        task.names.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == wanted,
        })
    };
    // Names that the table lacks are learned when they are asked for as they are.
    let new = task.names.iter().filter(|name| !name.ends_with('*') && !known.contains(*name));
    let is_name = |name: &str| known.contains(name) || task.names.iter().any(|n| n == name);
    let mut seeds: HashMap<&str, BTreeSet<(&str, &str)>> = HashMap::new();
    let statements: Vec<(String, String)> =
        sources.iter().flat_map(|text| statements::of(text)).collect();
    for (mnemonic, operands) in &statements {
        let (name, rest) = words::name_of(mnemonic, &is_name);
        seeds.entry(name).or_default().insert((rest, operands));
    }
    let oracle =
        Oracle { ptxas: task.ptxas, version: "9.0", target: "sm_90a", threads: task.threads };
    let none = BTreeSet::new();
    let all: Vec<String> = known.iter().filter(|name| wanted(name)).chain(new).cloned().collect();
    for name in &all {
        let lines = table.names.get(name).cloned().unwrap_or_default();
        let seeds = seeds.get(name.as_str()).unwrap_or(&none);
        let lines = learn_name(task, &oracle, name, &lines, seeds);
        table.names.insert(name.clone(), lines);
        // Never half a table.
        let beside = task.table.with_extension("new");
        std::fs::write(&beside, table.text())
            .and_then(|()| std::fs::rename(&beside, task.table))
            .map_err(|e| format!("{}: {e}", task.table.display()))?;
    }
    Ok(())
}

/// Instructions whose operands depend on the module's texture mode.
fn of_textures(opcode: &str) -> bool {
    matches!(opcode, "tex" | "tld4" | "txq" | "suq" | "suld" | "sust" | "sured")
}

fn learn_name(
    task: &Task<'_>,
    oracle: &Oracle<'_>,
    name: &str,
    lines: &[Line],
    seeds: &BTreeSet<(&str, &str)>,
) -> Vec<Line> {
    let mut words = Words::default();
    let opcode = name.split('.').next().unwrap_or(name);
    let mut before: BTreeMap<Form, Label> = BTreeMap::new();
    for line in lines {
        for form in table::forms(&line.fields, &mut words) {
            before.insert(form, line.label.clone());
        }
    }
    let mut asked: Vec<(Form, Vec<String>)> = Vec::new();
    for (rest, operands) in seeds {
        let form = Form::new(opcode, rest.split('.').filter(|word| !word.is_empty()), &mut words);
        asked.push((form, mine::list(operands)));
    }
    for (form, label) in &before {
        for list in label.operands.split('/').filter(|list| !list.contains('X')) {
            asked.extend((0..2).map(|turn| (form.clone(), mine::sample(list, turn))));
        }
    }
    let mut miner = Miner::new(oracle, name, &mut words, task.limit);
    let spoilt = miner.verify(asked);
    let doubtful = miner.mend(spoilt);
    let confirmed = before.keys().filter(|form| miner.known.contains_key(form)).count();
    eprintln!(
        "{name}: {} forms known, {confirmed} confirmed, {} with those of sources",
        before.len(),
        miner.known.len()
    );
    miner.close(task.rounds, 7);
    miner.alternatives();
    let known = std::mem::take(&mut miner.known);
    let operands = probe::operands(oracle, name, &known, &words);
    let gates = probe::gates(oracle, name, &known, &words);
    let mut forms: BTreeMap<Form, Label> = BTreeMap::new();
    for (form, (version, sm)) in known.keys().zip(gates) {
        let mut operands = operands.get(form).cloned().unwrap_or_default();
        // Of textures and samplers other modes take others: what was known stays.
        if let Some(label) = before.get(form).filter(|_| of_textures(opcode)) {
            let mut lists: Vec<&str> =
                operands.split('/').chain(label.operands.split('/')).collect();
            lists.sort_unstable();
            lists.dedup();
            operands = lists.join("/");
        }
        forms.insert(form.clone(), Label { version, sm, operands });
    }
    // What was known, and is refused for its operands alone, stays: the operands that were tried
    // may be the wrong ones.
    let mut kept = 0;
    let undescribed = before.iter().filter(|(_, label)| label.operands.contains('X'));
    for form in doubtful.into_iter().chain(undescribed.map(|(form, _)| form.clone())) {
        if let (Some(label), Entry::Vacant(free)) = (before.get(&form), forms.entry(form)) {
            kept += 1;
            free.insert(label.clone());
        }
    }
    let lines = table::fit(&forms, &words);
    eprintln!("{name}: {} forms ({kept} kept as they were), {} lines", forms.len(), lines.len());
    lines
}
