//! `orias-isa flow`: the checker of convergence ([`orias::check`]) over cubins: ours of PTX at all
//! levels, ptxas's, and files.
//!
//! What it flags is listed with its cause, kernel by kernel ([`known`]); a fault of ours never is.
//! That it can fail at all, [`mutants`] shows.

use crate::exceptions::{self, Exceptions, has};
use crate::sources::Checked;
use crate::{coverage, ours, reference};
use orias::check::{self, Finding, Report, Rule};
use orias::driver::CompileOptions;
use orias::elf::read::Cubin;
use orias_components::{Inst, Opcode, Operand, Reg, RegFile};
use orias_fuzz::{generate, print};
use orias_runner::oracle;
use orias_targets::Target;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Findings that are no mistakes of the checker: group, kernel, compiler, levels, rule, cause.
pub fn known() -> Exceptions {
    Exceptions::read("flow.tbl", include_str!("flow.tbl"), 6)
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    checked: Checked,
    /// So many random programs beside, of which findings are printed and not judged but for faults
    /// of ours.
    #[arg(long, default_value_t = 0)]
    fuzz: u64,
    /// Change each cubin of PTX in one place at a time, and count how many changes are flagged.
    #[arg(long)]
    mutants: bool,
}

/// Sums over many cubins.
#[derive(Default)]
pub struct Sum {
    pub kernels: usize,
    pub regions: usize,
    pub found: BTreeMap<Rule, Vec<String>>,
    pub assumed: BTreeMap<&'static str, usize>,
    /// Group of the module, and kernel.
    pub seen: BTreeSet<(String, String)>,
    cases: BTreeSet<(String, String, Rule)>,
}

impl Sum {
    pub fn add(&mut self, name: &str, reports: &[Report]) {
        for report in reports {
            self.kernels += 1;
            self.regions += report.regions;
            let case = (exceptions::group(name).to_string(), report.kernel.clone());
            self.seen.insert(case.clone());
            for (why, count) in &report.assumed {
                *self.assumed.entry(why).or_default() += count;
            }
            for Finding { rule, place, what } in &report.findings {
                let line = format!("{name} {} at {place:#06x}: {what}", report.kernel);
                self.found.entry(*rule).or_default().push(line);
                self.cases.insert((case.0.clone(), case.1.clone(), *rule));
            }
        }
    }

    /// What no row explains, in the code of a compiler at a level; faults of ours never are.
    pub fn unexplained(&self, known: &mut Exceptions, maker: &str, level: u8) -> Vec<String> {
        let level = level.to_string();
        let mut wrong = Vec::new();
        for (group, kernel, rule) in &self.cases {
            let text = format!("{rule:?}");
            let fits = |row: &[&str]| {
                row[..3] == [group, kernel, maker] && has(row[3], &level) && row[4] == text
            };
            if maker == "ours" && rule.is_fault() || known.find(fits).is_none() {
                wrong.push(format!("{group} {kernel}, {maker} -O{level}: {text}"));
            }
        }
        wrong
    }

    fn print(&self, title: &str, all: bool) {
        println!("{title}: {} kernels, {} regions", self.kernels, self.regions);
        for (rule, lines) in &self.found {
            println!("  {rule:?}: {}", lines.len());
            let most = if all { usize::MAX } else { 3 };
            lines.iter().take(most).for_each(|line| println!("    {line}"));
        }
        for (why, count) in &self.assumed {
            println!("  taken to be met: {count} by {why}");
        }
    }
}

/// The checker on a cubin's bytes.
pub fn reports(target: &Target, cubin: &[u8]) -> Result<Vec<Report>, String> {
    let cubin = Cubin::read(cubin).map_err(|e| e.to_string())?;
    Ok(check::convergence(target, &cubin))
}

/// Our cubin of what compiles of a module.
pub fn our_cubin(text: &str, level: u8) -> Option<Vec<u8>> {
    let options = CompileOptions { opt_level: level, threads: 1, ..Default::default() };
    ours::compile(text, &options).ok()?.cubin
}

pub fn run(target: &Target, args: &Args) -> Result<(), String> {
    // What cannot be compiled is said by others.
    std::panic::set_hook(Box::new(|_| {}));
    let list = args.checked.modules(args.fuzz == 0)?;
    let mut random = Vec::new();
    for seed in 0..args.fuzz {
        let program = generate::program(seed, &generate::Wishes::default());
        random.push((format!("seed {seed}"), print::module(&program)));
    }
    let Checked { all, .. } = args.checked;
    let mut files = Sum::default();
    for file in coverage::files(&args.checked.paths, "cubin") {
        let bytes = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        files.add(&name, &reports(target, &bytes)?);
    }
    if files.kernels > 0 {
        files.print("cubins", all);
    }
    let ptxas = args.checked.ptxas.then(|| oracle::tool("ptxas"));
    let ptxas = ptxas.map(|tool| tool.ok_or("the oracle tools are missing")).transpose()?;
    let (mut known, mut wrong, mut there) = (known(), Vec::new(), BTreeSet::new());
    let mut check = |maker: &'static str, level: u8, make: &Make<'_>| {
        let title = format!("{maker} -O{level}");
        let sum = check_all(target, &list, &title, args, make);
        wrong.extend(sum.unexplained(&mut known, maker, level));
        let seen = sum.seen.into_iter();
        there.extend(seen.map(|(group, kernel)| (group, kernel, maker, level)));
        if !random.is_empty() {
            let sum = check_all(target, &random, &format!("{title}, random"), args, make);
            let faults = sum.found.iter().filter(|(rule, _)| maker == "ours" && rule.is_fault());
            wrong.extend(faults.flat_map(|(_, lines)| lines.clone()));
        }
    };
    for level in &args.checked.level {
        check("ours", *level, &|text| our_cubin(text, *level));
    }
    for (ptxas, level) in ptxas.iter().flat_map(|p| args.checked.level.iter().map(move |l| (p, l)))
    {
        let option = format!("-O{level}");
        check("ptxas", *level, &|text| reference::ptxas(ptxas, "sm_90a", text, &[&option]).ok());
    }
    wrong.extend(known.unused(|row| {
        there.iter().any(|(group, kernel, maker, level)| {
            row[..3] == [group, kernel, *maker] && has(row[3], &level.to_string())
        })
    }));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// What makes a cubin of a module, where it compiles.
type Make<'a> = dyn Fn(&str) -> Option<Vec<u8>> + Sync + 'a;

/// Checks what `make` makes of the modules, and prints it.
fn check_all(
    target: &Target,
    list: &[(String, String)],
    title: &str,
    args: &Args,
    make: &Make<'_>,
) -> Sum {
    type Made = (Vec<Report>, Mutants);
    let made: Vec<Option<Made>> = list
        .par_iter()
        .map(|(_, text)| {
            let cubin = make(text)?;
            let changed = if args.mutants { mutants(target, &cubin) } else { Mutants::default() };
            Some((reports(target, &cubin).ok()?, changed))
        })
        .collect();
    let (mut sum, mut changed) = (Sum::default(), Mutants::default());
    for ((name, _), made) in list.iter().zip(made) {
        if let Some((reports, mutants)) = made {
            sum.add(name, &reports);
            changed.add(mutants);
        }
    }
    if !list.is_empty() {
        sum.print(title, args.checked.all);
    }
    if args.mutants {
        changed.print(args.checked.all);
    }
    sum
}

/// Changes of single words, and how many the checker says something of that it does not say of the
/// whole.
#[derive(Default)]
pub struct Mutants {
    /// By kind of change: how many were made and flagged.
    pub counts: BTreeMap<&'static str, (usize, usize)>,
    /// Those that were not flagged.
    pub missed: Vec<String>,
}

impl Mutants {
    fn add(&mut self, other: Mutants) {
        for (kind, (made, flagged)) in other.counts {
            let count = self.counts.entry(kind).or_default();
            *count = (count.0 + made, count.1 + flagged);
        }
        self.missed.extend(other.missed);
    }

    /// All kinds together.
    pub fn total(&self) -> (usize, usize) {
        self.counts.values().fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1))
    }

    fn print(&self, all: bool) {
        for (kind, (made, flagged)) in &self.counts {
            println!("  {kind}: {flagged} of {made} flagged");
        }
        let most = if all { usize::MAX } else { 3 };
        self.missed.iter().take(most).for_each(|line| println!("    missed: {line}"));
    }
}

/// Damages each instruction of convergence of a cubin in every way, one at a time.
pub fn mutants(target: &Target, bytes: &[u8]) -> Mutants {
    let mut all = Mutants::default();
    let Ok(cubin) = Cubin::read(bytes) else { return all };
    let of = |found: &[Report], kernel: &str| {
        found.iter().find(|r| r.kernel == kernel).map(|r| r.findings.clone()).unwrap_or_default()
    };
    let whole = check::convergence(target, &cubin);
    for function in &cubin.functions {
        let text = function.text.as_chunks::<16>().0;
        let before = of(&whole, function.name);
        for at in 0..text.len() {
            let word = u128::from_le_bytes(text[at]);
            let Ok(inst) = target.decode(word, 16 * at as u64) else { continue };
            let next = text.get(at + 1).map(|w| u128::from_le_bytes(*w));
            for (kind, words) in changes(target, &inst, at, word, next) {
                let mut changed = cubin.clone();
                let mut text: Vec<u8> = function.text.to_vec();
                for (i, word) in words.iter().enumerate() {
                    text[16 * (at + i)..][..16].copy_from_slice(&word.to_le_bytes());
                }
                changed.functions = vec![function.clone()];
                changed.functions[0].text = &text;
                let after = of(&check::convergence(target, &changed), function.name);
                let new = after.iter().any(|f| f.rule.is_fault() && !before.contains(f));
                let count = all.counts.entry(kind).or_default();
                *count = (count.0 + 1, count.1 + usize::from(new));
                if !new {
                    all.missed.push(format!("{} at {:#06x}: {kind}", function.name, 16 * at));
                }
            }
        }
    }
    all
}

/// The words that take the place of an instruction, and of the one behind it, for each way to
/// damage it.
fn changes(
    target: &Target,
    inst: &Inst,
    at: usize,
    word: u128,
    next: Option<u128>,
) -> Vec<(&'static str, Vec<u128>)> {
    let pc = 16 * at as u64;
    let encode = |inst: &Inst| target.encode(inst, pc).ok();
    let nop = encode(&Inst { control: inst.control, ..Inst::new(Opcode::NOP, &[], 0, &[]) });
    let moved = next.map(|next| vec![next, word]);
    let with = |change: &dyn Fn(&Operand) -> Option<Operand>| {
        let mut other = inst.clone();
        for operand in &mut other.operands {
            if let Some(new) = change(operand) {
                *operand = new;
            }
        }
        encode(&other).map(|w| vec![w])
    };
    let other_barrier = with(&|o| match o.as_reg() {
        Some(r) if r.reg.file() == RegFile::B => {
            let number = r.reg.phys_index().unwrap_or(0) ^ 1;
            Some(Operand::reg(Reg::phys(RegFile::B, number)))
        }
        _ => None,
    });
    let aside = |by: i64| {
        with(&|o| match o {
            Operand::Addr(to) => Some(Operand::Addr(to.wrapping_add_signed(by))),
            _ => None,
        })
    };
    let deleted = nop.map(|w| vec![w]);
    let list = match inst.op {
        Opcode::BSSY => vec![
            ("BSSY deleted", deleted),
            ("BSSY of another register", other_barrier),
            ("BSSY to the next instruction", aside(16)),
            ("BSSY to the instruction before", aside(-16)),
        ],
        Opcode::BSYNC => vec![
            ("BSYNC deleted", deleted),
            ("BSYNC of another register", other_barrier),
            ("BSYNC one later", moved),
        ],
        Opcode::BREAK => {
            vec![("BREAK deleted", deleted), ("BREAK of another register", other_barrier)]
        }
        _ => Vec::new(),
    };
    list.into_iter().filter_map(|(kind, words)| Some((kind, words?))).collect()
}
