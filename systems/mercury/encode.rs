//! `MercEncodeAndDecode`: machine words, and the proof that they say what was meant.

use crate::params::{Read, Write};
use bevy_ecs::prelude::*;
use orias_components::{
    BlockId, Body, Control, Inst, InstId, Loc, Mods, Opcode, Operand, Reader, Reg, RegUse,
};
use orias_targets::Target;
use orias_targets::form::Form;
use rustc_hash::FxHashSet;

use super::convert::{CodeList, WORD};
use crate::calls;
use crate::function::Options;
use crate::notes::Notes;

/// The text of a function is a multiple of this many bytes (observed: ptxas 13.0.88).
const ALIGN: u64 = 128;

/// The machine words of the function, in text order, padding included.
#[derive(Resource, Clone, Debug, Default)]
pub struct Words {
    /// The words.
    pub all: Vec<u128>,
    /// How many of them are code.
    pub code: usize,
    /// Rows with modifiers of which some word, of this function or of one before, has been decoded.
    proved: FxHashSet<(u16, Mods)>,
}

/// More than any module has.
const MOST_PROVED: usize = 1 << 12;

impl Words {
    /// Forgets the function, keeps allocations, and what has been proved.
    pub fn clear(&mut self) {
        self.all.clear();
        self.code = 0;
        if self.proved.len() > MOST_PROVED {
            self.proved.clear();
        }
    }
}

/// Encodes every instruction, decodes words again, and fails when anything changed on the way. Of
/// words of the same row and modifiers, which differ in numbers that the encoder has held against
/// their fields, the first that a worker makes is decoded; under `--verify-each` all are.
pub fn merc_encode_and_decode(
    code: Reader<'_>,
    list: Read<'_, CodeList>,
    mut words: Write<'_, Words>,
    options: Read<'_, Options>,
    mut notes: Notes<'_>,
) {
    let (target, body) = (options.target, code.body());
    words.clear();
    for (at, id) in list.insts.iter().enumerate() {
        let (inst, pc) = (resolved(&body, &list, at), at as u64 * WORD);
        let kind = body.form(*id).map(|form| (form, *body.inst(*id).mods()));
        let is_known = kind.is_some_and(|kind| !words.proved.insert(kind)) && !options.verify_each;
        let form = kind.map(|(form, _)| target.table().form(form));
        let word = word(target, form, &inst, pc).and_then(|word| match is_known {
            true => Ok(word),
            false => says_the_same(target, word, &inst, pc),
        });
        match word {
            Ok(word) => words.all.push(word),
            Err(message) => return notes.fail(message, body.loc(*id)),
        }
    }
    words.code = words.all.len();
    if let Err(message) = pad(target, &mut words.all) {
        notes.fail(message, Loc::default());
    }
}

/// One word, at this byte offset of the text.
///
/// # Errors
/// When the word would not say what the instruction does.
pub fn encode(target: &Target, inst: &Inst, pc: u64) -> Result<u128, String> {
    word(target, None, inst, pc).and_then(|word| says_the_same(target, word, inst, pc))
}

/// By the row of the instruction, where that is known.
fn word(
    target: &Target,
    form: Option<&'static Form>,
    inst: &Inst,
    pc: u64,
) -> Result<u128, String> {
    let word = match form {
        Some(form) => target.encode_by(form, inst, pc),
        None => target.encode(inst, pc),
    };
    word.map_err(|error| format!("cannot encode `{inst}`: {error}"))
}

/// The word, where it reads back as the instruction that it was made of.
fn says_the_same(target: &Target, word: u128, inst: &Inst, pc: u64) -> Result<u128, String> {
    match target.decode(word, pc) {
        Ok(back) if means_the_same(&back, inst) => Ok(word),
        Ok(back) => Err(format!("`{inst}` reads back as `{back}`")),
        Err(error) => Err(format!("`{inst}` does not decode: {error}")),
    }
}

/// Ends the text as ptxas does: a branch to itself, then NOPs.
///
/// # Errors
/// Never for a target that generates code.
pub fn pad(target: &Target, words: &mut Vec<u128>) -> Result<(), String> {
    let idle = Control { stall: 0, yield_: false, ..Control::default() };
    let here = words.len() as u64 * WORD;
    let branch = [Operand::Reg(RegUse::new(Reg::PT)), Operand::Addr(here)];
    let branch = Inst { control: idle, ..Inst::new(Opcode::BRA, &[], 0, &branch) };
    words.push(encode(target, &branch, here)?);
    // The same word everywhere, and a third of a small function's.
    let nop = Inst { control: idle, ..Inst::new(Opcode::NOP, &[], 0, &[]) };
    let nop = encode(target, &nop, 0)?;
    words.resize(words.len().next_multiple_of((ALIGN / WORD) as usize), nop);
    Ok(())
}

/// Whether two instructions differ in nothing but how operands are written.
fn means_the_same(one: &Inst, other: &Inst) -> bool {
    let Inst { op, defs, control, guard, mods, operands, tied } = one;
    let same = |(a, b): (&Operand, &Operand)| a == b || canonical(*a) == canonical(*b);
    (*op, *defs, *control, *guard) == (other.op, other.defs, other.control, other.guard)
        && *mods == other.mods
        && *tied == other.tied
        && operands.len() == other.operands.len()
        && operands.iter().zip(&other.operands).all(same)
}

/// A constant register has no cells to count: RZ is RZ, whoever reads how much of it. And a
/// negative immediate is the same 32 bits with and without its sign extended.
fn canonical(mut operand: Operand) -> Operand {
    if let Operand::Imm(bits) = &mut operand
        && *bits >> 31 == u64::MAX >> 31
    {
        *bits &= u64::from(u32::MAX);
    }
    operand.map_regs(|r| if r.reg.is_zero() { RegUse { cell: 0, count: 1, ..r } } else { r });
    operand
}

/// The offset behind the first call at or after a place in the text.
pub(super) fn behind_next_call(body: &Body<'_>, code: &CodeList, at: usize) -> u64 {
    let is_call = |id: &InstId| body.op(*id) == Opcode::CALL;
    let distance = code.insts[at..].iter().position(is_call).unwrap_or(0);
    (at + distance + 1) as u64 * WORD
}

/// What BSSY names: the instruction behind its BSYNC (observed: ptxas 13.0.88, always). That is the
/// join's first, unless BSYNC's block stands elsewhere and ends with a branch to the join.
fn meeting_place(body: &Body<'_>, code: &CodeList, join: BlockId, barrier: Option<Operand>) -> u64 {
    let start = |block: BlockId| code.starts[block.0 as usize];
    let behind = |block: &BlockId| {
        let insts = body.block(*block).insts().iter();
        let ours = |id: &InstId| {
            let inst = body.inst(*id);
            inst.op == Opcode::BSYNC && inst.sources().next() == barrier
        };
        let behind = insts.clone().rev().take_while(|id| body.op(**id) == Opcode::BRA).count();
        let at = insts.len() - behind;
        let ends = at.checked_sub(1).is_some_and(|last| ours(&body.block(*block).insts()[last]));
        ends.then(|| start(*block) + at as u64 * WORD)
    };
    let ends: Vec<u64> = body.block(join).preds().iter().filter_map(behind).collect();
    match ends[..] {
        [one] => one,
        _ => start(join),
    }
}

/// The instruction at a place in the text with addresses in place of blocks, and zero for every
/// symbol: a relocation or the linking of functions fills it in.
fn resolved(body: &Body<'_>, code: &CodeList, at: usize) -> Inst {
    let mut inst = body.inst(code.insts[at]).to_inst();
    let is_branch = inst.op.is_branch();
    let barrier = inst.operands.first().copied().filter(|_| inst.op == Opcode::BSSY);
    for operand in &mut inst.operands {
        match *operand {
            Operand::Block(join) if barrier.is_some() => {
                *operand = Operand::Addr(meeting_place(body, code, join, barrier));
            }
            Operand::Block(block) => *operand = Operand::Addr(code.starts[block.0 as usize]),
            Operand::Symbol { part, .. } if calls::is_behind_call(operand) => {
                let place = behind_next_call(body, code, at);
                *operand = if part == 2 { Operand::Addr(place) } else { Operand::Imm(place) };
            }
            Operand::Symbol { .. } if is_branch => *operand = Operand::Addr(0),
            Operand::Symbol { .. } => *operand = Operand::Imm(0),
            _ => {}
        }
    }
    inst
}
