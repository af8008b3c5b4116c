//! What a cubin's kernels cost: counted in the machine code, and run in the simulator.

use super::inputs::Inputs;
use orias::elf::read::Cubin;
use orias::launch::Launch;
use orias::simulate::simulate_read;
use orias_components::{Inst, Opcode, Operand};
use orias_runner::gpu::GpuThread;
use orias_targets::Target;
use orias_targets::simulator::{Hazards, Limits, Ran};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A kernel's machine code, functions behind it included.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Code {
    /// Machine words, NOPs aside.
    pub instructions: u64,
    /// The same by opcode.
    pub opcodes: BTreeMap<&'static str, u64>,
    /// Loads of constants: LDC and ULDC.
    pub constant_loads: u64,
    /// Operands in a constant bank of other instructions.
    pub constant_operands: u64,
    /// What ptxas was never seen to emit, a text for each instruction that has any; None where
    /// nobody has looked.
    pub unseen: Option<Vec<String>>,
    /// Registers a thread.
    pub registers: u64,
    /// Bytes of the kernel's own frame.
    pub frame_bytes: u64,
    /// Bytes of static shared memory, with what the system keeps.
    pub shared_bytes: u64,
}

/// The launches of a kernel in the simulator, summed.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Run {
    /// Instructions of warps.
    pub executed: u64,
    /// The same by opcode.
    pub opcodes: BTreeMap<&'static str, u64>,
    /// Of those, branches (BRA, BRX).
    pub branches: u64,
    /// And what regions of convergence take (BSSY, BSYNC, BREAK).
    pub regions: u64,
    /// And waits for a warp's lanes (WARPSYNC).
    pub warpsyncs: u64,
    /// Estimated.
    pub cycles: u64,
    /// Pairs of instructions in which a register is read or overwritten too early.
    pub hazards: u64,
    /// Median kernel times on a GPU, summed; None where none was asked for.
    pub microseconds: Option<f64>,
    /// Buffers that are not as expected, and launches that failed.
    pub wrong: Vec<String>,
}

/// What launches run on: the simulator, and besides it a GPU where there is one.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    pub target: &'static Target,
    /// The most instructions of warps in the simulator.
    pub max_steps: u64,
    pub gpu: Option<&'a GpuThread>,
}

/// Every kernel's code, in the file's order.
///
/// # Errors
/// When it is no cubin, or a word is no instruction.
pub fn codes(target: &Target, cubin: &[u8]) -> Result<Vec<(String, Code)>, String> {
    let cubin = Cubin::read(cubin).map_err(|e| e.to_string())?;
    let mut all = Vec::new();
    for function in cubin.functions.iter().filter(|f| f.entry) {
        let mut code = Code {
            registers: u64::from(function.registers),
            frame_bytes: u64::from(function.frame_bytes),
            shared_bytes: function.shared_bytes,
            unseen: target.seen().map(|_| Vec::new()),
            ..Code::default()
        };
        for (i, word) in function.text.as_chunks::<16>().0.iter().enumerate() {
            let inst = target
                .decode(u128::from_le_bytes(*word), 16 * i as u64)
                .map_err(|e| format!("{} at {:#x}: {e}", function.name, 16 * i))?;
            count(&inst, &mut code);
            if let Some(list) = &mut code.unseen {
                list.extend(target.unseen(&inst).map(|what| what.to_string()));
            }
        }
        all.push((function.name.to_string(), code));
    }
    Ok(all)
}

fn count(inst: &Inst, code: &mut Code) {
    code.instructions += u64::from(inst.op != Opcode::NOP);
    if inst.op != Opcode::NOP {
        *code.opcodes.entry(inst.op.name()).or_default() += 1;
    }
    let operands = inst.operands.iter().filter(|o| matches!(o, Operand::Const(_))).count() as u64;
    match inst.op {
        Opcode::LDC | Opcode::ULDC => code.constant_loads += 1,
        _ => code.constant_operands += operands,
    }
}

/// Runs all launches; what each kernel executed, by name.
///
/// # Errors
/// When it is no cubin, or an input is missing.
pub fn runs(
    cubin: &[u8],
    inputs: &Inputs,
    machine: Machine<'_>,
) -> Result<FxHashMap<String, Run>, String> {
    let bytes = cubin;
    let cubin = Cubin::read(cubin).map_err(|e| e.to_string())?;
    let mut all: FxHashMap<String, Run> = FxHashMap::default();
    match inputs {
        Inputs::Suite(suite) => {
            for case in &suite.cases {
                let launch = suite.launch(case).map_err(|e| e.to_string())?;
                let right = |buffers: &[Vec<u8>]| match suite.verify(case, &launch, buffers) {
                    Ok(wrong) => wrong,
                    Err(error) => vec![error.to_string()],
                };
                let run = all.entry(case.entry.clone()).or_default();
                run.add((bytes, &cubin), &launch, machine, &case.name, right);
            }
        }
        Inputs::Made(made) => {
            let run = all.entry(made.launch.entry.clone()).or_default();
            run.add((bytes, &cubin), &made.launch, machine, "", |buffers| made.verify(buffers));
        }
    }
    Ok(all)
}

impl Run {
    fn add(
        &mut self,
        (bytes, cubin): (&[u8], &Cubin<'_>),
        launch: &Launch,
        machine: Machine<'_>,
        name: &str,
        wrong: impl Fn(&[Vec<u8>]) -> Vec<String>,
    ) {
        let limits = Limits {
            warp_instructions: machine.max_steps,
            hazards: Hazards::Find,
            ..Limits::default()
        };
        let named = |text: String| if name.is_empty() { text } else { format!("{name}: {text}") };
        match simulate_read(cubin, launch, limits) {
            Ok(outcome) => {
                self.executed += outcome.warp_instructions;
                self.count(cubin, machine.target, &outcome.ran);
                self.cycles += outcome.cycles.unwrap_or(0);
                self.hazards += outcome.hazards.len() as u64;
                self.wrong.extend(wrong(&outcome.buffers).into_iter().map(named));
            }
            Err(error) => self.wrong.push(named(error.to_string())),
        }
        let Some(gpu) = machine.gpu else { return };
        match gpu.timed(bytes, launch) {
            Ok((outcome, microseconds)) => {
                let wrong = wrong(&outcome.buffers).into_iter();
                self.wrong.extend(wrong.map(|text| named(format!("on the GPU: {text}"))));
                let sum = self.microseconds.unwrap_or(0.0) + microseconds.unwrap_or(0.0);
                self.microseconds = Some(sum);
            }
            Err(error) => self.wrong.push(named(format!("on the GPU: {error}"))),
        }
    }

    /// Adds what was issued by its kind.
    fn count(&mut self, cubin: &Cubin<'_>, target: &Target, ran: &[Ran]) {
        for ran in ran {
            let function = cubin.functions.iter().find(|f| f.name == ran.function);
            let words = function.map_or(&[][..], |f| f.text.as_chunks::<16>().0);
            let word = words.get((ran.offset / 16) as usize);
            let inst = word.map(|w| target.decode(u128::from_le_bytes(*w), ran.offset));
            let op = inst.and_then(Result::ok).map(|inst| inst.op);
            *self.opcodes.entry(op.map_or("?", Opcode::name)).or_default() += ran.issued;
            match op {
                Some(Opcode::BRA | Opcode::BRX) => self.branches += ran.issued,
                Some(Opcode::BSSY | Opcode::BSYNC | Opcode::BREAK) => self.regions += ran.issued,
                Some(Opcode::WARPSYNC) => self.warpsyncs += ran.issued,
                _ => {}
            }
        }
    }
}
