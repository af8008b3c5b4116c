//! Many programs through all engines: one run of nvcc, and one of each compiler and level, for all
//! of them.

use crate::evaluate::{self, Outcome};
use crate::input::{Inputs, UNWRITTEN, launch};
use crate::nvcc::{self, Flavour};
use crate::print;
use crate::program::{Program, Word};
use orias::launch::Launch;
use orias_fuzz::engines::{self, Buffers, Failure, Maker, What};
use std::fmt;

/// Who takes part besides the reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The reference: what it does not take is no program.
    Reference,
    /// nvcc, which made no PTX.
    Nvcc,
    Interpreter,
    /// The simulator on ptxas's cubin of this level.
    Ptxas(u8),
    /// The simulator on our cubin of this level.
    Orias(u8),
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Reference => write!(f, "reference"),
            Side::Nvcc => write!(f, "nvcc"),
            Side::Interpreter => write!(f, "interpreter"),
            Side::Ptxas(level) => write!(f, "ptxas -O{level}"),
            Side::Orias(level) => write!(f, "orias -O{level}"),
        }
    }
}

/// Which engines a run compares with the reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Engines {
    pub flavour: Flavour,
    pub interpreter: bool,
    /// Levels of each compiler.
    pub ptxas: Vec<u8>,
    pub orias: Vec<u8>,
}

impl Engines {
    pub fn all(flavour: Flavour, with_ptxas: bool) -> Engines {
        let ptxas = match (with_ptxas, flavour) {
            (false, _) => Vec::new(),
            // "Optimized debugging not supported"
            (true, Flavour::Debug) => vec![0],
            (true, _) => vec![0, 1, 2, 3],
        };
        Engines { flavour, interpreter: true, ptxas, orias: vec![0, 1, 2, 3] }
    }

    /// Only what a mistake needs to show.
    pub fn only(side: Side, flavour: Flavour) -> Engines {
        let mut engines =
            Engines { flavour, interpreter: false, ptxas: Vec::new(), orias: Vec::new() };
        match side {
            Side::Ptxas(level) => engines.ptxas.push(level),
            Side::Orias(level) => engines.orias.push(level),
            Side::Interpreter => engines.interpreter = true,
            Side::Reference | Side::Nvcc => {}
        }
        engines
    }
}

/// What became of a program.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Each engine that failed or differs from the reference.
    pub failures: Vec<(Side, Failure)>,
    pub agree: Vec<Side>,
}

impl Verdict {
    /// The failures that are mistakes of somebody, and not only something that is still missing.
    pub fn mistakes(&self) -> impl Iterator<Item = &(Side, Failure)> {
        self.failures.iter().filter(|(_, failure)| failure.what != What::Unsupported)
    }

    pub fn first(&self) -> Option<(Side, What)> {
        self.mistakes().next().map(|(side, failure)| (*side, failure.what))
    }

    /// Whether only ptxas is wrong.
    pub fn ptxas_alone(&self) -> bool {
        let mut sides = self.mistakes().map(|(side, _)| side).peekable();
        sides.peek().is_some() && sides.all(|side| matches!(side, Side::Ptxas(_)))
    }
}

/// A kernel of a module, and what it has to give.
pub struct Expected {
    pub launch: Launch,
    pub outputs: usize,
    pub words: Vec<Word>,
    pub outcome: Outcome,
}

/// Runs all programs; nothing where there is no nvcc.
pub fn run(programs: &[Program], engines: &Engines) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = vec![Verdict::default(); programs.len()];
    let mut some = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        let inputs = Inputs::of(program);
        match evaluate::run(program, &inputs) {
            Ok(outcome) => some.push((
                index,
                Expected {
                    launch: launch(program, &inputs),
                    outputs: program.outputs,
                    words: program.global_words.clone(),
                    outcome,
                },
            )),
            Err(text) => {
                let failure = Failure { what: What::Refused, text };
                verdicts[index].failures.push((Side::Reference, failure));
            }
        }
    }
    part(programs, &some, engines, &mut verdicts);
    verdicts
}

/// Runs these programs in one module, or, where somebody does not take that, in ever smaller ones.
fn part(
    programs: &[Program],
    some: &[(usize, Expected)],
    engines: &Engines,
    verdicts: &mut [Verdict],
) {
    if some.is_empty() {
        return;
    }
    let source = print::file(some.iter().map(|(index, _)| &programs[*index]));
    let ptx = match nvcc::compile(&source, engines.flavour) {
        None => return,
        Some(Ok(ptx)) => ptx,
        Some(Err(text)) => {
            if let [(index, _)] = some {
                // A crash says nothing about the program.
                let crash = text.starts_with("nvcc crashed");
                let what = if crash { What::Unsupported } else { What::Refused };
                let failure = Failure { what, text };
                verdicts[*index].failures.push((Side::Nvcc, failure));
                return;
            }
            return halves(programs, some, engines, verdicts);
        }
    };
    let kernels: Vec<&Expected> = some.iter().map(|(_, expected)| expected).collect();
    match module(&ptx, &kernels, engines, some.len() > 1) {
        Some(found) => {
            for ((index, _), verdict) in some.iter().zip(found) {
                verdicts[*index] = verdict;
            }
        }
        None => halves(programs, some, engines, verdicts),
    }
}

fn halves(
    programs: &[Program],
    some: &[(usize, Expected)],
    engines: &Engines,
    verdicts: &mut [Verdict],
) {
    let (one, two) = some.split_at(some.len() / 2);
    part(programs, one, engines, verdicts);
    part(programs, two, engines, verdicts);
}

/// Runs the kernels of a module in all engines; `None` where one of them takes nothing of it and
/// `whole` asks for smaller ones.
pub fn module(
    ptx: &str,
    kernels: &[&Expected],
    engines: &Engines,
    whole: bool,
) -> Option<Vec<Verdict>> {
    let mut verdicts: Vec<Verdict> = vec![Verdict::default(); kernels.len()];
    let mut add = |side: Side, results: Vec<Result<Buffers, Failure>>| {
        for ((verdict, kernel), result) in verdicts.iter_mut().zip(kernels).zip(results) {
            let result = result.and_then(|buffers| compare(kernel, &buffers));
            match result {
                Ok(()) => verdict.agree.push(side),
                Err(failure) => verdict.failures.push((side, failure)),
            }
        }
    };
    let all = |failure: &Failure| kernels.iter().map(|_| Err(failure.clone())).collect();
    if engines.interpreter {
        let results = match orias::ptx::load(ptx) {
            Ok(program) => kernels
                .iter()
                .map(|kernel| engines::interpret_loaded(&program, ptx, &kernel.launch))
                .collect(),
            Err(_) if whole => return None,
            Err(errors) => {
                all(&Failure { what: What::Refused, text: errors.render("program", ptx) })
            }
        };
        add(Side::Interpreter, results);
    }
    let sides = engines.ptxas.iter().map(|level| Side::Ptxas(*level));
    for side in sides.chain(engines.orias.iter().map(|level| Side::Orias(*level))) {
        let (cubin, maker) = match side {
            Side::Ptxas(level) => match engines::ptxas(ptx, level) {
                Some(cubin) => (cubin, Maker::Ptxas { hazards: false }),
                None => continue,
            },
            Side::Orias(level) => (engines::orias(ptx, level), Maker::Orias),
            _ => continue,
        };
        let results = match cubin {
            Ok(cubin) => kernels
                .iter()
                .map(|kernel| engines::simulate(&cubin, &kernel.launch, maker))
                .collect(),
            Err(_) if whole => return None,
            Err(failure) => all(&failure),
        };
        add(side, results);
    }
    Some(verdicts)
}

/// Holds buffers beside what the reference says.
fn compare(expected: &Expected, buffers: &Buffers) -> Result<(), Failure> {
    let word = |buffer: usize, index: usize| {
        let bytes = buffers.get(buffer).and_then(|b| b.get(8 * index..8 * index + 8));
        bytes.and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
    };
    let mut lines = Vec::new();
    for (index, value) in expected.outcome.outputs.iter().enumerate() {
        let (is, wanted) = (word(1, index), value.unwrap_or(UNWRITTEN));
        if is != wanted {
            let (thread, slot) = (index / expected.outputs, index % expected.outputs);
            lines.push(format!("thread {thread}, output {slot}: {is:#x}, not {wanted:#x}"));
        }
    }
    for (index, (this, value)) in expected.words.iter().zip(&expected.outcome.words).enumerate() {
        let mask = u64::MAX >> (64 - this.ty.bits());
        let (is, wanted) = (word(2, index) & mask, value & mask);
        if is != wanted {
            lines.push(format!("global word {index}: {is:#x}, not {wanted:#x}"));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let count = lines.len();
    lines.truncate(5);
    let text = format!("{count} differ from the reference:\n{}", lines.join("\n"));
    Err(Failure { what: What::Differs, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::program;

    /// The first kernel with two outputs and a global word, what the reference says, and buffers
    /// that hold just that.
    fn sample() -> (Expected, Buffers) {
        let all = (0..).map(program).find(|p| p.outputs > 1 && !p.global_words.is_empty());
        let program = all.expect("a kernel with a global word");
        let inputs = Inputs::of(&program);
        let outcome = evaluate::run(&program, &inputs).expect("a kernel with a meaning");
        let bytes = |words: Vec<u64>| words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let outputs = outcome.outputs.iter().map(|w| w.unwrap_or(UNWRITTEN)).collect();
        let buffers = vec![Vec::new(), bytes(outputs), bytes(outcome.words.clone())];
        let words = program.global_words.clone();
        let launch = launch(&program, &inputs);
        (Expected { launch, outputs: program.outputs, words, outcome }, buffers)
    }

    #[test]
    fn each_bit_of_outputs_and_words_counts() {
        let (expected, buffers) = sample();
        assert_eq!(compare(&expected, &buffers), Ok(()));
        for (buffer, byte) in [(1, 0), (1, 15), (2, 3)] {
            let mut wrong = buffers.clone();
            wrong[buffer][byte] ^= 0x40;
            assert_eq!(compare(&expected, &wrong).map_err(|f| f.what), Err(What::Differs));
        }
    }
}
