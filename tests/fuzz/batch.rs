//! Many programs through all engines: one run of ptxas for all of them.

use crate::compare::differences;
use crate::engines::{self, Buffers, Failure, Maker, Side, What};
use crate::input::Shape;
use crate::print::{entry, head, module};
use crate::program::{Output, Program};
use crate::random::Random;

/// Which levels a run compiles at; `None` chooses by the program's seed.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    pub ptxas: Option<u8>,
    pub orias: Option<u8>,
    /// Whether ptxas takes part.
    pub with_ptxas: bool,
    /// Whether our compiler takes part.
    pub with_orias: bool,
    /// Hazards in ptxas's cubins are failures too; in ours they always are.
    pub hazards: bool,
}

impl Default for Levels {
    fn default() -> Levels {
        Levels { ptxas: None, orias: None, with_ptxas: true, with_orias: true, hazards: false }
    }
}

impl Levels {
    /// The levels for a batch that begins with this program.
    pub fn of(self, seed: u64) -> (Option<u8>, Option<u8>) {
        let mut random = Random::new(seed ^ 0x1e7e1);
        let ptxas = self.ptxas.unwrap_or_else(|| *random.pick(&[3, 3, 3, 2, 1, 0]));
        let orias = self.orias.unwrap_or_else(|| *random.pick(&[3, 3, 2, 1, 0]));
        (self.with_ptxas.then_some(ptxas), self.with_orias.then_some(orias))
    }
}

/// A program's text, and how it is launched and compared.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    pub shape: Shape,
    pub outputs: Vec<Output>,
    /// Functions and kernel, to stand in a module with others.
    pub entry: String,
    /// A module of its own.
    pub module: String,
}

impl Case {
    pub fn of(program: &Program) -> Case {
        Case {
            shape: Shape::of(program),
            outputs: program.outputs.clone(),
            entry: entry(program),
            module: module(program),
        }
    }
}

/// What became of a program.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Each engine that failed or differs.
    pub failures: Vec<(Side, Failure)>,
    /// Engines that agree with the first one.
    pub agree: Vec<Side>,
}

impl Verdict {
    /// The failures that are mistakes of somebody, and not only something that is still missing.
    pub fn mistakes(&self) -> impl Iterator<Item = &(Side, Failure)> {
        self.failures.iter().filter(|(_, failure)| failure.what != What::Unsupported)
    }

    pub fn missing(&self) -> impl Iterator<Item = &(Side, Failure)> {
        self.failures.iter().filter(|(_, failure)| failure.what == What::Unsupported)
    }
}

/// Runs all programs at the levels (`None` leaves an engine out); `hazards` as [`Levels::hazards`].
pub fn run(
    cases: &[Case],
    (ptxas, orias): (Option<u8>, Option<u8>),
    hazards: bool,
) -> Vec<Verdict> {
    let cubins = match ptxas {
        Some(level) => compile(cases, level),
        None => vec![None; cases.len()],
    };
    cases
        .iter()
        .zip(cubins)
        .map(|(case, cubin)| {
            let launch = case.shape.launch();
            let mut results = vec![(Side::Interpreter, engines::interpret(&case.module, &launch))];
            if let (Some(level), Some(cubin)) = (ptxas, cubin) {
                let ran = cubin
                    .and_then(|cubin| engines::simulate(&cubin, &launch, Maker::Ptxas { hazards }));
                results.push((Side::Ptxas(level), ran));
            }
            if let Some(level) = orias {
                let cubin = engines::orias(&case.module, level);
                let ran = cubin.and_then(|cubin| engines::simulate(&cubin, &launch, Maker::Orias));
                results.push((Side::Orias(level), ran));
            }
            judge(&case.outputs, results)
        })
        .collect()
}

fn judge(outputs: &[Output], results: Vec<(Side, Result<Buffers, Failure>)>) -> Verdict {
    let mut verdict = Verdict::default();
    let mut first: Option<(Side, Buffers)> = None;
    for (side, result) in results {
        match (result, &first) {
            (Err(failure), _) => verdict.failures.push((side, failure)),
            (Ok(buffers), None) => first = Some((side, buffers)),
            (Ok(buffers), Some((other, reference))) => {
                let lines = differences(outputs, reference, &buffers);
                if lines.is_empty() {
                    verdict.agree.push(side);
                } else {
                    let text = format!("{other} and {side}:\n{}", lines.join("\n"));
                    verdict.failures.push((side, Failure { what: What::Differs, text }));
                }
            }
        }
    }
    verdict
}

/// Cubins of ptxas: of all programs in one module, or, where it does not take that, of ever smaller
/// parts.
fn compile(cases: &[Case], level: u8) -> Vec<Option<Result<Vec<u8>, Failure>>> {
    if cases.is_empty() {
        return Vec::new();
    }
    let mut source = head();
    cases.iter().for_each(|case| source.push_str(&case.entry));
    match engines::ptxas(&source, level) {
        Some(Err(_)) if cases.len() > 1 => {
            let (one, two) = cases.split_at(cases.len() / 2);
            let mut cubins = compile(one, level);
            cubins.extend(compile(two, level));
            cubins
        }
        result => vec![result; cases.len()],
    }
}

/// Runs one program, whose module stands alone, at all levels.
pub fn run_alone(case: &Case, levels: Levels) -> Verdict {
    let launch = case.shape.launch();
    let mut results = vec![(Side::Interpreter, engines::interpret(&case.module, &launch))];
    let all = |chosen: Option<u8>| chosen.map_or(vec![0, 1, 2, 3], |level| vec![level]);
    let theirs = Maker::Ptxas { hazards: levels.hazards };
    if levels.with_ptxas {
        for level in all(levels.ptxas) {
            if let Some(cubin) = engines::ptxas(&case.module, level) {
                let ran = cubin.and_then(|cubin| engines::simulate(&cubin, &launch, theirs));
                results.push((Side::Ptxas(level), ran));
            }
        }
    }
    if levels.with_orias {
        for level in all(levels.orias) {
            let cubin = engines::orias(&case.module, level);
            let ran = cubin.and_then(|cubin| engines::simulate(&cubin, &launch, Maker::Orias));
            results.push((Side::Orias(level), ran));
        }
    }
    judge(&case.outputs, results)
}
