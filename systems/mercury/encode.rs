//! `MercEncodeAndDecode`: machine words, and the proof that they say what was meant.

use crate::params::{Read, Write};
use bevy_ecs::prelude::*;
use orias_components::pseudo::brx;
use orias_components::{
    BlockId, Body, Control, Inst, InstId, Loc, Mods, ModsId, Opcode, Operand, Reader, Reg, RegUse,
};
use orias_targets::Stem;
use orias_targets::Target;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::convert::{CodeList, NOWHERE, WORD};
use crate::calls;
use crate::function::Options;
use crate::notes::Notes;
use crate::parallel;

/// The text of a function is a multiple of this many bytes (observed: ptxas 13.0.88).
const ALIGN: u64 = 128;

/// The machine words of the function, in text order, padding included.
#[derive(Resource, Clone, Debug, Default)]
pub struct Words {
    /// The words.
    pub all: Vec<u128>,
    /// How many of them are code.
    pub code: usize,
    /// Rows with modifiers of which some word, of this function or of one before, has been decoded,
    /// and what their words have in common.
    proved: Proved,
    /// The words that end every text, and of which target they are.
    ends: Option<(&'static str, [u128; 2])>,
}

type Proved = FxHashMap<(u16, Mods), Stem>;

/// Places for the kinds that were encoded last.
const LATEST: usize = 32;

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
    let (target, body) = (options.target, &*code.body());
    words.clear();
    let Words { all, code, proved, ends } = &mut *words;
    *code = list.insts.len();
    all.resize(*code, 0);
    let encoder = Encoder { target, body, list: &list, decodes_all: options.verify_each };
    let done = if parallel::has_help(*code) {
        // Each piece proves for itself what no function before has.
        let known = &*proved;
        let pieces = parallel::fill(all, |start, words| {
            let mut proved = known.clone();
            encoder.encode(start, words, &mut proved).map(|()| proved)
        });
        let merge = |piece: Result<_, _>| piece.map(|news: Proved| proved.extend(news));
        pieces.into_iter().try_for_each(merge)
    } else {
        encoder.encode(0, all, proved)
    };
    if let Err((message, at)) = done {
        return notes.fail(message, body.loc(list.insts[at]));
    }
    let ends = match ends {
        Some((name, ends)) if *name == target.name => Ok(*ends),
        _ => end_words(target).inspect(|made| *ends = Some((target.name, *made))),
    };
    match ends {
        Ok(ends) => pad_with(ends, all),
        Err(message) => notes.fail(message, Loc::default()),
    }
}

/// What it takes to encode a function.
struct Encoder<'a> {
    target: &'static Target,
    body: &'a Body<'a>,
    list: &'a CodeList,
    /// And not only what has not been proved.
    decodes_all: bool,
}

impl Encoder<'_> {
    /// The words from a place in the text on.
    ///
    /// # Errors
    /// What is wrong with the first instruction that has no word, and its place.
    fn encode(
        &self,
        start: usize,
        words: &mut [u128],
        proved: &mut Proved,
    ) -> Result<(), (String, usize)> {
        let Encoder { target, body, list, decodes_all } = *self;
        // Most are of a few kinds: which row and modifiers were seen last, by their low bits.
        let mut latest: [Option<((u16, ModsId), Stem)>; LATEST] = [None; LATEST];
        let mut operands = SmallVec::<[Operand; 16]>::new();
        for (at, to) in (start..).zip(words) {
            let (id, pc) = (list.insts[at], at as u64 * WORD);
            let (inst, row) = (body.inst(id), body.form(id));
            let key = row.map(|row| (row, inst.mods_id()));
            let latest = &mut latest[usize::from(row.unwrap_or(0)) % LATEST];
            let known = key.filter(|_| !decodes_all);
            if let Some(key) = known
                && latest.as_ref().is_none_or(|(latest, _)| *latest != key)
                && let Some(stem) = proved.get(&(key.0, *inst.mods()))
            {
                *latest = Some((key, *stem));
            }
            if let Some((_, stem)) = latest.as_ref().filter(|(latest, _)| Some(*latest) == known) {
                operands.clear();
                operands.extend(inst.operands());
                if inst.op == Opcode::BRX || inst.has_places() {
                    resolve(body, list, at, &mut operands).map_err(|message| (message, at))?;
                }
                if let Ok(word) = stem.word(target, (inst.guard, inst.control()), &operands, pc) {
                    *to = word;
                    continue;
                }
            }
            let mut inst = inst.to_inst();
            resolve(body, list, at, &mut inst.operands).map_err(|message| (message, at))?;
            let stem = row.and_then(|row| target.stem(target.table().form(row), &inst));
            let word = word(target, stem, &inst, pc);
            let word = word.and_then(|word| says_the_same(target, word, &inst, pc));
            *to = word.map_err(|message| (message, at))?;
            if let (Some(row), Some(stem)) = (row, stem) {
                proved.insert((row, inst.mods), stem);
            }
        }
        Ok(())
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
fn word(target: &Target, stem: Option<Stem>, inst: &Inst, pc: u64) -> Result<u128, String> {
    let by_row = stem
        .and_then(|stem| stem.word(target, (inst.guard, inst.control), &inst.operands, pc).ok());
    let word = by_row.map_or_else(|| target.encode(inst, pc), Ok);
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
    end_words(target).map(|ends| pad_with(ends, words))
}

fn pad_with([branch, nop]: [u128; 2], words: &mut Vec<u128>) {
    words.push(branch);
    words.resize(words.len().next_multiple_of((ALIGN / WORD) as usize), nop);
}

/// A branch to itself, wherever it stands, and a NOP.
fn end_words(target: &Target) -> Result<[u128; 2], String> {
    let idle = Control { stall: 0, yield_: false, ..Control::default() };
    let branch = [Operand::Reg(RegUse::new(Reg::PT)), Operand::Addr(0)];
    let branch = Inst { control: idle, ..Inst::new(Opcode::BRA, &[], 0, &branch) };
    let nop = Inst { control: idle, ..Inst::new(Opcode::NOP, &[], 0, &[]) };
    Ok([encode(target, &branch, 0)?, encode(target, &nop, 0)?])
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

/// What BRX at a place in the section adds to the entries of its table, which count from the start
/// of the section, while it adds them to the place behind itself.
pub fn table_start(pc: u64) -> Operand {
    Operand::Addr((pc + WORD).wrapping_neg())
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

/// Puts addresses in place of blocks in what the instruction at a place in the text has, and zero
/// in place of every symbol: a relocation or the linking of functions fills it in.
///
/// # Errors
/// It names a block that is not there.
fn resolve<const N: usize>(
    body: &Body<'_>,
    code: &CodeList,
    at: usize,
    operands: &mut SmallVec<[Operand; N]>,
) -> Result<(), String> {
    let op = body.op(code.insts[at]);
    if op == Opcode::BRX {
        operands.truncate(brx::TABLE);
        operands.push(table_start(at as u64 * WORD));
    }
    let is_branch = op.is_branch();
    let barrier = operands.first().copied().filter(|_| op == Opcode::BSSY);
    for operand in operands {
        match *operand {
            Operand::Block(join) if barrier.is_some() => {
                *operand = Operand::Addr(meeting_place(body, code, join, barrier));
            }
            Operand::Block(block) => match code.starts[block.0 as usize] {
                NOWHERE => return Err(format!("it goes to BB{}, which is gone", block.0)),
                start => *operand = Operand::Addr(start),
            },
            Operand::Symbol { part, .. } if calls::is_behind_call(operand) => {
                let place = behind_next_call(body, code, at);
                *operand = if part == 2 { Operand::Addr(place) } else { Operand::Imm(place) };
            }
            Operand::Symbol { .. } if is_branch => *operand = Operand::Addr(0),
            Operand::Symbol { .. } => *operand = Operand::Imm(0),
            _ => {}
        }
    }
    Ok(())
}
