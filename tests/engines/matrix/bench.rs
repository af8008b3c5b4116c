//! Kernels that load registers, run one instruction and store registers; what they are given and
//! what they must give.

pub use orias_systems::testing::Random;

use orias::driver::{self, CompileOptions};
use orias::interpret;
use orias::launch::{Argument, Buffer, Launch, Outcome};
use orias::simulate::simulate;
use orias_isa::reference;
use orias_runner::oracle::tool;
use orias_targets::simulator::{Hazards, Limits};
use rayon::prelude::*;
use std::fmt::Write;

/// One kernel of a module, its launch, and the buffers that it must leave; buffers that are not
/// compared are None.
pub struct Case {
    pub name: String,
    pub source: String,
    pub threads: u32,
    pub buffers: Vec<Vec<u8>>,
    pub want: Vec<Option<Vec<u8>>>,
}

impl Case {
    /// The first buffer that is not as it must be.
    fn difference(&self, buffers: &[Vec<u8>]) -> Option<String> {
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
        };
        for (index, (got, want)) in buffers.iter().zip(&self.want).enumerate() {
            let Some(want) = want else { continue };
            let (got, want) = (words(got), words(want));
            let wrong: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
            if let Some(at) = wrong.first() {
                let (got, want, all) = (got[*at], want[*at], want.len());
                let count = wrong.len();
                return Some(format!(
                    "buffer {index}, word {at}: {got:08x}, not {want:08x}; {count} of {all} words differ"
                ));
            }
        }
        None
    }
}

/// Registers of each thread: a name for PTX, how many, bytes of each.
#[derive(Clone, Copy)]
pub struct Registers {
    pub name: &'static str,
    pub count: usize,
    pub bytes: usize,
}

pub fn registers(name: &'static str, count: usize, bytes: usize) -> Registers {
    Registers { name, count, bytes }
}

impl Registers {
    /// `{a0, a1}`
    pub fn list(self) -> String {
        let all: Vec<String> = (0..self.count).map(|i| format!("%{}{i}", self.name)).collect();
        format!("{{{}}}", all.join(", "))
    }

    fn declare(self) -> String {
        format!(".reg .b{} %{}<{}>;\n", 8 * self.bytes, self.name, self.count.max(1))
    }

    fn moves(self, load: bool) -> String {
        let mut text = String::new();
        let (name, count, bytes) = (self.name, self.count, self.bytes);
        let _ = writeln!(text, "ld.param.u64 %at, [{name}];");
        let _ = writeln!(text, "mad.wide.u32 %at, %thread, {}, %at;", count * bytes);
        for i in 0..count {
            let bits = 8 * bytes;
            let (register, address) = (format!("%{name}{i}"), format!("[%at+{}]", i * bytes));
            let _ = if load {
                writeln!(text, "ld.global.b{bits} {register}, {address};")
            } else {
                writeln!(text, "st.global.b{bits} {address}, {register};")
            };
        }
        text
    }
}

/// A kernel that loads `inputs`, does `body` and stores `outputs`, from and to one buffer each.
/// `%at`, `%thread` and `%s`, the address of 48 KiB of shared memory, are for the body too.
pub fn kernel(
    name: &str,
    declarations: &str,
    inputs: &[Registers],
    body: &str,
    outputs: &[Registers],
) -> String {
    let mut text = String::new();
    // A register that is read and written has one buffer.
    let mut all = inputs.to_vec();
    all.extend(outputs.iter().filter(|o| inputs.iter().all(|i| i.name != o.name)));
    let params: Vec<String> = all.iter().map(|r| format!(".param .u64 {}", r.name)).collect();
    let _ = writeln!(text, ".visible .entry {name}({}) {{", params.join(", "));
    text += ".shared .align 1024 .b8 shared[49152];\n.reg .b32 %thread, %s;\n.reg .b64 %at;\n";
    text += declarations;
    for r in &all {
        text += &r.declare();
    }
    text += "mov.u32 %thread, %tid.x;\nmov.u32 %s, shared;\n";
    for r in inputs {
        text += &r.moves(true);
    }
    text += body;
    text += "\n";
    for r in outputs {
        text += &r.moves(false);
    }
    text + "ret;\n}\n"
}

/// The bytes of values of `bits` each, packed from the low end.
pub fn pack(values: &[u64], bits: u32) -> Vec<u8> {
    let mut bytes = vec![0u8; (values.len() * bits as usize).div_ceil(8)];
    for (i, value) in values.iter().enumerate() {
        for bit in 0..bits as usize {
            let at = i * bits as usize + bit;
            bytes[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}

fn module(cases: &[Case], target: &str) -> String {
    let head = format!(".version 9.0\n.target {target}\n.address_size 64\n");
    cases.iter().fold(head, |text, case| text + &case.source)
}

impl Case {
    fn launch(&self) -> Launch {
        let buffer = |bytes: &Vec<u8>| {
            Argument::Buffer(Buffer { bytes: bytes.clone(), writable: true, output: None })
        };
        Launch {
            entry: self.name.clone(),
            grid: [1; 3],
            block: [self.threads, 1, 1],
            args: self.buffers.iter().map(buffer).collect(),
            ..Launch::default()
        }
    }

    /// What is wrong with a result.
    fn judge<E: ToString>(&self, engine: &str, result: Result<Outcome, E>) -> Option<String> {
        let problem = match result {
            Ok(Outcome { hazards, .. }) if !hazards.is_empty() => format!("{}", hazards[0]),
            Ok(outcome) => self.difference(&outcome.buffers)?,
            Err(error) => error.to_string(),
        };
        Some(format!("{} {engine}: {problem}", self.name))
    }
}

/// Compiles all cases as one module, by ptxas where it is at hand and by orias, runs each in the
/// simulator and in the interpreter, and compares.
pub fn check(cases: &[Case]) {
    simulated(cases, "sm_90a", &["-O3", "-O0"]);
    compiled(cases);
    let source = module(cases, "sm_90a");
    let program = orias::ptx::load(&source).unwrap_or_else(|e| panic!("{}", e.render("", &source)));
    let one =
        |case: &Case| case.judge("interpreter", interpret::run(&program, &source, &case.launch()));
    report(cases.par_iter().filter_map(one).collect());
}

/// The same on sm_80, which has machine instructions of its own, in the simulator alone.
pub fn check_on_sm_80(cases: &[Case]) {
    simulated(cases, "sm_80", &["-O3"]);
}

/// In the simulator from our own cubins.
fn compiled(cases: &[Case]) {
    let source = module(cases, "sm_90a");
    let compile = |opt_level: &u8| {
        let options =
            CompileOptions { opt_level: *opt_level, verify_each: true, ..Default::default() };
        let made = driver::compile_source(&source, &options)
            .unwrap_or_else(|e| panic!("-O{opt_level}: {e}"));
        (made.cubin, format!("orias -O{opt_level}"))
    };
    run_all(cases, &[0, 1, 2, 3].par_iter().map(compile).collect::<Vec<_>>());
}

/// Nothing where there is no ptxas.
fn simulated(cases: &[Case], target: &str, levels: &[&'static str]) {
    // Asked for in the test's own thread, under whose name it is counted as skipped.
    let Some(ptxas) = tool("ptxas") else { return };
    let source = module(cases, target);
    let compile = |level: &&'static str| {
        let cubin = reference::ptxas(&ptxas, target, &source, &[level]);
        (cubin.unwrap_or_else(|e| panic!("{e}")), format!("{target} {level}"))
    };
    run_all(cases, &levels.par_iter().map(compile).collect::<Vec<_>>());
}

/// Runs every case from every cubin, each with what it is called.
fn run_all(cases: &[Case], cubins: &[(Vec<u8>, String)]) {
    let one = |case: &Case| -> Vec<String> {
        let launch = case.launch();
        let limits = Limits { hazards: Hazards::Find, ..Limits::default() };
        let run = |(cubin, engine): &(Vec<u8>, String)| {
            case.judge(engine, simulate(cubin, &launch, limits))
        };
        cubins.iter().filter_map(run).collect()
    };
    report(cases.par_iter().flat_map(one).collect());
}

fn report(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
