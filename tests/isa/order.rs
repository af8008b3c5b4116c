//! `orias-isa order`: the checker of the order of accesses ([`orias::check::order`]) over PTX,
//! compiled by us and by ptxas with lines.

use crate::exceptions::{Exceptions, group, has};
use crate::sources::Checked;
use crate::{ours, reference};
use orias::check::order::{self, OrderReport, Place};
use orias::check::ptx_lines::{self, one_a_line};
use orias::driver::CompileOptions;
use orias::elf::read::Cubin;
use orias_runner::oracle;
use orias_targets::Target;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// PTX that may be without an instruction: group of the module and kernel, or `any`, line,
/// compiler, levels, cause.
pub fn without() -> Exceptions {
    Exceptions::read("order.tbl", include_str!("order.tbl"), 6)
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    checked: Checked,
    /// Exchange two instructions of each cubin at a time that must keep their order, and count how
    /// many exchanges are seen.
    #[arg(long)]
    mutants: bool,
}

/// Sums over many cubins.
#[derive(Default)]
pub struct Sum {
    pub kernels: usize,
    pub pairs: usize,
    pub copied: usize,
    pub wrong: Vec<String>,
    /// By instruction: how often no machine instruction came of it, and where.
    pub lost: BTreeMap<String, Vec<String>>,
    pub too_many: Vec<String>,
    /// Exchanges that were made and seen.
    pub mutants: (usize, usize),
}

impl Sum {
    pub fn add(&mut self, name: &str, reports: Vec<OrderReport>) {
        for report in reports {
            let kernel = format!("{name} {}", report.kernel);
            self.kernels += 1;
            self.pairs += report.pairs;
            self.copied += report.copied;
            self.wrong.extend(report.wrong.iter().map(|w| format!("{kernel}: {w}")));
            for lost in report.lost {
                let (line, what) = lost.split_once(": ").unwrap_or(("", &lost));
                self.lost.entry(what.into()).or_default().push(format!("{kernel} {line}"));
            }
            if report.too_many {
                self.too_many.push(kernel);
            }
        }
    }

    /// What is lost without a reason, in the code of a compiler at a level.
    pub fn unexplained(&self, known: &mut Exceptions, maker: &str, level: u8) -> Vec<String> {
        let level = level.to_string();
        let mut all = Vec::new();
        for (what, places) in &self.lost {
            for place in places {
                let mut words = place.split(' ');
                let [module, kernel] = [(); 2].map(|()| words.next().unwrap_or(""));
                let fits = |row: &[&str]| {
                    (row[..2] == ["any", "any"] || row[..2] == [group(module), kernel])
                        && row[2..4] == [what, maker]
                        && has(row[4], &level)
                };
                if known.find(fits).is_none() {
                    all.push(format!("no instruction for {what}, {maker} -O{level}: {place}"));
                }
            }
        }
        all
    }

    fn print(&self, title: &str, all: bool) {
        println!(
            "{title}: {} kernels, {} pairs of lines, {} of them copied, {} in the wrong order",
            self.kernels,
            self.pairs,
            self.copied,
            self.wrong.len()
        );
        let most = if all { usize::MAX } else { 3 };
        self.wrong.iter().take(most).for_each(|line| println!("    {line}"));
        for (what, list) in &self.lost {
            println!("  no instruction for {what}: {}, as {}", list.len(), list[0]);
        }
        self.too_many.iter().for_each(|k| println!("  too long to be looked at: {k}"));
        if self.mutants.0 > 0 {
            println!("  {} of {} exchanges seen", self.mutants.1, self.mutants.0);
        }
    }
}

/// The checker on a cubin that was made with lines; None where it has none.
pub fn reports(target: &Target, cubin: &[u8]) -> Option<Vec<OrderReport>> {
    order::order(target, &Cubin::read(cubin).ok()?, |_| {})
}

/// Our cubin, with lines, of what compiles of a module whose instructions stand on lines of their
/// own.
pub fn our_cubin(text: &str, level: u8) -> Option<Vec<u8>> {
    let options =
        CompileOptions { opt_level: level, threads: 1, line_info: true, ..Default::default() };
    ours::compile(text, &options).ok()?.cubin
}

/// Exchanges two neighbours of all instructions that are looked at, which stand in the order of
/// their lines and must keep it, one pair at a time; returns how many exchanges there were, at most
/// so many, and how many were seen.
pub fn mutants(target: &Target, cubin: &[u8], most: usize) -> (usize, usize) {
    let Ok(cubin) = Cubin::read(cubin) else { return (0, 0) };
    let Some(lines) = order::lines_text(&cubin) else { return (0, 0) };
    let line = |number: u32| ptx_lines::line(lines.get(number as usize - 1)?);
    let flows = |number: u32| {
        let first = |l: &ptx_lines::Line| l.name.split('.').next().map(str::to_string);
        let leaves = |l: &ptx_lines::Line| matches!(first(l).as_deref(), Some("ret" | "exit"));
        line(number).is_some_and(|l| !l.labels.is_empty() || !l.targets.is_empty() || leaves(&l))
    };
    let places = std::cell::RefCell::new(Vec::<Vec<Place>>::new());
    order::order(target, &cubin, |all| places.borrow_mut().push(all.clone()));
    let (mut made, mut seen) = (0, 0);
    for (kernel, places) in places.into_inner().into_iter().enumerate() {
        let alone = |line: u32| places.iter().filter(|p| p.line == line).count() == 1;
        for (i, pair) in places.windows(2).enumerate() {
            let (first, second) = (pair[0].line, pair[1].line);
            let (Some(a), Some(b)) = (line(first), line(second)) else { continue };
            let (a, b) = (a.effect, b.effect);
            let orders =
                a.acquire && (b.access || b.orders()) || b.release && (a.access || a.orders());
            let straight = first < second && !(first..=second).any(flows);
            let plain = orders && a.meets(b) && straight && alone(first) && alone(second);
            if made >= most || !plain {
                continue;
            }
            let at = std::cell::Cell::new(0);
            let changed = order::order(target, &cubin, |all| {
                if at.replace(at.get() + 1) == kernel {
                    (all[i].line, all[i + 1].line) = (second, first);
                }
            });
            made += 1;
            seen += usize::from(changed.into_iter().flatten().any(|r| !r.wrong.is_empty()));
        }
    }
    (made, seen)
}

pub fn run(target: &Target, args: &Args) -> Result<(), String> {
    // What cannot be compiled is said by others.
    std::panic::set_hook(Box::new(|_| {}));
    let mut list = args.checked.modules(true)?;
    list.iter_mut().for_each(|(_, text)| *text = one_a_line(text));
    let Checked { all, .. } = args.checked;
    let (mut known, mut wrong) = (without(), Vec::new());
    for level in &args.checked.level {
        let sum = check_all(target, &list, args.mutants, |text| our_cubin(text, *level));
        sum.print(&format!("ours -O{level}"), all);
        wrong.extend(sum.wrong.iter().cloned());
        wrong.extend(sum.unexplained(&mut known, "ours", *level));
    }
    if args.checked.ptxas {
        let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
        for level in &args.checked.level {
            let option = format!("-O{level}");
            let sum = check_all(target, &list, false, |text| {
                reference::ptxas(&ptxas, "sm_90a", text, &[&option, "-lineinfo"]).ok()
            });
            sum.print(&format!("ptxas {option}"), all);
            wrong.extend(sum.unexplained(&mut known, "ptxas", *level));
        }
    }
    // What is nowhere in the PTX needs no row.
    let stands = |row: &[&str]| {
        let kernel = format!(".entry {}(", row[1]);
        list.iter().any(|(name, text)| {
            let there = row[0] == "any" || row[0] == group(name) && text.contains(&kernel);
            there && text.contains(row[2])
        })
    };
    let ran = |row: &[&str]| {
        let level = args.checked.level.iter().any(|level| has(row[4], &level.to_string()));
        level && (row[3] == "ours" || args.checked.ptxas)
    };
    wrong.extend(known.unused(|row| ran(row) && stands(row)));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Checks what `make` makes of modules.
pub fn check_all(
    target: &Target,
    list: &[(String, String)],
    change: bool,
    make: impl Fn(&str) -> Option<Vec<u8>> + Sync,
) -> Sum {
    const EXCHANGES: usize = 40;
    let made: Vec<_> = list
        .par_iter()
        .map(|(_, text)| {
            let cubin = make(text)?;
            let changed = if change { mutants(target, &cubin, EXCHANGES) } else { (0, 0) };
            Some((reports(target, &cubin)?, changed))
        })
        .collect();
    let mut sum = Sum::default();
    for ((name, _), made) in list.iter().zip(made) {
        if let Some((reports, (made, seen))) = made {
            sum.add(name, reports);
            sum.mutants = (sum.mutants.0 + made, sum.mutants.1 + seen);
        }
    }
    sum
}
