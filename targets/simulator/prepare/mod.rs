//! Prepares machine words for the engine: decodes each once through the target's table and resolves
//! operands and modifiers.
//!
//! What cannot be prepared becomes [`Op::Invalid`], an error only when a thread reaches it: texts
//! hold padding and paths that a launch never takes.

mod asynchronous;
mod context;
mod control;
mod float;
mod integer;
mod matrix;
mod memory;
mod slots;
mod warp;

pub use context::{Context, WORD, describe};
pub use memory::extend;

use super::error::Cause;
use super::image::{CODE_BASE, Constants, Image, Kernel};
use super::op::{Micro, Op};
use super::operand::{PredSrc, predicate};
use super::timing::Timing;
use crate::Target;
use orias_components::{Inst, Opcode, Props, RegUse};
use slots::Slots;

/// All texts that a kernel can reach, prepared: indices count words from [`CODE_BASE`].
#[derive(Clone, Debug)]
pub struct Program {
    pub code: Vec<Micro>,
    /// What each says of time.
    pub timing: Vec<Timing>,
    /// For messages: first index, name and words of each text.
    texts: Vec<(u32, String, Vec<u8>)>,
    target: &'static Target,
    /// Where the kernel begins.
    pub entry: u32,
    /// General registers of a thread: those that it begins with, or more where it asks for more.
    pub registers: u32,
}

fn word(bytes: &[u8], at: usize) -> Option<u128> {
    let bytes = bytes.get(at..at + WORD as usize)?;
    Some(u128::from_le_bytes(bytes.try_into().ok()?))
}

impl Program {
    /// Prepares the kernel's text and the texts that are no kernels.
    pub fn new(image: &Image, kernel: &Kernel, constants: &Constants) -> Program {
        let mut code = Vec::new();
        let mut timing = Vec::new();
        let mut texts = Vec::new();
        let mut entry = 0;
        let registers = registers(image, kernel);
        for (index, text) in image.texts.iter().enumerate() {
            if index != kernel.text && image.kernels.iter().any(|k| k.text == index) {
                continue;
            }
            let first = text.address.wrapping_sub(CODE_BASE) / WORD;
            // Texts are laid out in order, close together; anything else is a mistake of the loader
            // and finds no code.
            if first < code.len() as u64 || first > code.len() as u64 + (1 << 24) {
                continue;
            }
            code.resize_with(first as usize, gap);
            timing.resize(first as usize, Timing::default());
            if index == kernel.text {
                entry = first as u32;
            }
            let context =
                Context { target: image.target, constants, registers, text: text.address };
            for at in (0..text.bytes.len()).step_by(WORD as usize) {
                let (micro, time) = prepare_word(&context, word(&text.bytes, at), at as u64);
                code.push(micro);
                timing.push(time);
            }
            texts.push((first as u32, text.name.clone(), text.bytes.clone()));
        }
        // Running off the end of the last text finds an error, not the end of the list.
        code.push(gap());
        timing.push(Timing::default());
        Program { code, timing, texts, target: image.target, entry, registers }
    }

    /// One more than the largest register cell that an instruction names.
    pub fn cells(&self) -> usize {
        let touched = self.timing.iter().flat_map(|t| t.reads.iter().chain(&t.writes));
        touched.map(|a| usize::from(a.cell) + 1).max().unwrap_or(0)
    }

    /// Bytes at the start of shared memory that the system keeps.
    pub fn shared_reserved(&self) -> u64 {
        u64::from(self.target.shared_reserved)
    }

    /// Name of the text and byte offset in it of the instruction at an index.
    pub fn place(&self, index: u32) -> (&str, u64) {
        let text = self.texts.iter().rev().find(|t| t.0 <= index);
        text.map_or(("", 0), |(first, name, _)| (name, u64::from(index - first) * WORD))
    }

    /// What of an instruction that ran was never seen, with its place; None where all was.
    pub fn unseen(&self, function: &str, offset: u64) -> Option<String> {
        let (.., bytes) = self.texts.iter().find(|t| t.1 == function)?;
        let inst = self.target.decode(word(bytes, offset as usize)?, offset).ok()?;
        let unseen = self.target.unseen(&inst)?;
        let text = describe(self.target, &inst);
        Some(format!("{function}: `{text}` at {offset:#06x}: {unseen}"))
    }

    /// Name, byte offset and text of the instruction at an index.
    pub fn locate(&self, index: u32) -> (String, u64, String) {
        let text = self.texts.iter().rev().find(|t| t.0 <= index);
        let Some((first, name, bytes)) = text else { return Default::default() };
        let offset = u64::from(index - first) * WORD;
        let inst = word(bytes, offset as usize)
            .and_then(|word| self.target.decode(word, offset).ok())
            .map_or_else(|| "?".to_string(), |inst| describe(self.target, &inst));
        (name.clone(), offset, inst)
    }
}

/// The registers of the kernel, or the most that an instruction of its text asks for.
fn registers(image: &Image, kernel: &Kernel) -> u32 {
    let text = image.texts.get(kernel.text).map_or(&[][..], |t| &t.bytes);
    let asked = (0..text.len()).step_by(WORD as usize).filter_map(|at| {
        let inst = image.target.decode(word(text, at)?, at as u64).ok()?;
        matrix::pool_registers(&inst)
    });
    asked.fold(kernel.registers, u32::max)
}

fn gap() -> Micro {
    let cause = Cause::Other("no instruction here".into());
    Micro { guard: PredSrc::TRUE, uniform: false, op: Op::Invalid(Box::new(cause)) }
}

fn prepare_word(context: &Context<'_>, word: Option<u128>, pc: u64) -> (Micro, Timing) {
    let invalid = |cause| Micro { op: Op::Invalid(Box::new(cause)), ..gap() };
    let Some(word) = word else { return (gap(), Timing::default()) };
    match context.target.decode_row(word, pc) {
        Ok((form, inst)) => {
            let micro = prepare(context, &inst, pc).unwrap_or_else(invalid);
            (micro, Timing::new(form, &inst))
        }
        Err(error) => (invalid(Cause::Decode(error.to_string())), Timing::default()),
    }
}

/// Prepares one instruction; `pc` is its byte offset in its text.
pub fn prepare(context: &Context<'_>, inst: &Inst, pc: u64) -> Result<Micro, Cause> {
    let slots = Slots::new(context, inst, pc);
    let op = family(&slots, inst)?;
    let guard = RegUse::new(inst.guard.reg);
    let mut guard = predicate(guard)?;
    guard.not ^= inst.guard.negated;
    let uniform = inst.op.has(Props::UNIFORM) && matches!(op, Op::Lane(_));
    Ok(Micro { guard, uniform, op })
}

fn family(slots: &Slots<'_>, inst: &Inst) -> Result<Op, Cause> {
    use Opcode::*;
    match inst.op {
        IADD3 | UIADD3 | VIADD | IMAD | UIMAD | LEA | ULEA | LOP3 | ULOP3 | SHF | USHF | PRMT
        | UPRMT | SEL | USEL | MOV | UMOV | VIMNMX | IMNMX | VIADDMNMX | ISETP | UISETP | IABS
        | VABSDIFF | IDP | SGXT | USGXT | BMSK | UBMSK | POPC | UPOPC | BREV | UBREV | FLO
        | UFLO | PLOP3 | UPLOP3 | I2I | I2IP | VIMNMX3 | VABSDIFF4 => integer::prepare(slots),
        FADD | FMUL | FFMA | FMNMX | FSEL | FSETP | FCHK | MUFU | DADD | DMUL | DFMA | DSETP
        | HADD2 | HMUL2 | HFMA2 | HMNMX2 | HSETP2 | I2F | F2I | F2F | FRND | I2FP | F2FP | F2IP
        | FSET | HSET2 | VHMNMX => float::prepare(slots),
        LD | ST | LDG | STG | LDS | STS | LDL | STL | LDC | ULDC | ATOM | ATOMG | ATOMS | RED
        | REDG | LDGMC | QSPC => memory::prepare(slots),
        SHFL | VOTE | VOTEU | MATCH | REDUX | ELECT | B2R | R2UR | P2R | R2P | S2R | CS2R
        | S2UR | UP2UR | UR2UP | RPCMOV => warp::prepare(slots),
        HMMA | IMMA | BMMA | DMMA | HGMMA | IGMMA | QGMMA | BGMMA | LDSM | STSM | MOVM
        | WARPGROUP | USETMAXREG => matrix::prepare(slots),
        SYNCS | LDGSTS | LDGDEPBAR | UTMACMDFLUSH | DEPBAR | ARRIVES | UBLKCP | UBLKRED
        | UBLKPF | UTMALDG | UTMASTG | UTMAREDG | UTMAPF | UTMACCTL | STAS | REDAS => {
            asynchronous::prepare(slots)
        }
        _ => control::prepare(slots),
    }
}
