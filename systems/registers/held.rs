//! `OriRemoveNopCode`: what physical registers hold already is not moved to them again.
//!
//! Values that a phi takes on several ways are moved to its register on each of them, and often one
//! of these ways lies behind another (a loop behind the test whether it runs at all); parts of a
//! descriptor go to uniform registers again and again, and predicates that spill code keeps in
//! general registers come back though they are still there. One walk, with what is known at the end
//! of a block for the next one where control comes to that from there alone. Two zeros that are
//! moved to a pair are one instruction (ptxas 13.0.88 clears accumulators by `CS2R R4, SRZ`).
//!
//! What holds behind it: no `NOP`, no move of a register to itself, and within a block no move of a
//! number, nor of a general register to a uniform one or to a predicate, that changes nothing.

use crate::effects;
use crate::function::Options;
use crate::notes::Notes;
use crate::params::Read;
use crate::schedule::cells;
use orias_components::{
    BlockId, Body, Code, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, View,
    scratch, scratch::Scratch,
};
use orias_targets::Target;
use orias_targets::slots::{ISETP, MOV, R2UR, SEL};

/// The special register that is always zero.
const SRZ: u8 = 255;

const WORDS: usize = 256;
const UNIFORM: usize = 256;
const PREDICATES: usize = 8;
const FIRST_PREDICATE: usize = WORDS + UNIFORM;

/// Phase 130.
pub fn remove_nop_code(code: Code<'_>, options: Read<'_, Options>, mut notes: Notes<'_>) {
    let mut body = code.body();
    if !may_repeat(&body) {
        return;
    }
    let mut known = Known::new();
    let mut last = None;
    let mut removed = 0;
    for &block in body.walk().iter() {
        known.enter(body.block(block).preds() == last.as_slice());
        body.block(block).insts().iter().for_each(|id| known.step(&body, *id));
        last = Some(block);
        removed += known.settle(&mut body, block, options.target);
    }
    notes.count(removed);
}

/// Whether anything may go: something that does nothing, or two moves of one kind, of which the
/// second may bring what the first has brought.
fn may_repeat(body: &Body<'_>) -> bool {
    if !body.facts().may_have(&[Opcode::NOP, Opcode::MOV, Opcode::R2UR, Opcode::ISETP]) {
        return false;
    }
    let (mut numbers, mut uniform, mut predicates) = (0, 0, [0; 2]);
    let mut may_go = |id: &InstId| {
        match body.op(*id) {
            Opcode::NOP => return true,
            Opcode::MOV => {
                let inst = body.inst(*id);
                numbers += u32::from(number(inst).is_some());
                return numbers > 1 || does_nothing(inst);
            }
            Opcode::R2UR => uniform += u32::from(to_uniform(body.inst(*id)).is_some()),
            Opcode::ISETP => predicates[0] += u32::from(not_zero(body.inst(*id)).is_some()),
            Opcode::SEL => predicates[1] += u32::from(kept(body.inst(*id)).is_some()),
            _ => {}
        }
        uniform > 1 || predicates[0] > 0 && predicates[0] + predicates[1] > 1
    };
    body.layout().iter().any(|block| body.block(*block).insts().iter().any(&mut may_go))
}

/// What is known by register, and forgotten at once.
struct Table<T, const N: usize> {
    is_known: [u64; WORDS / 64],
    of: [T; N],
}

impl<T: Copy + Default, const N: usize> Table<T, N> {
    fn new() -> Self {
        Table { is_known: [0; WORDS / 64], of: [T::default(); N] }
    }

    fn get(&self, at: usize) -> Option<T> {
        (self.is_known[at / 64] >> (at % 64) & 1 != 0).then_some(self.of[at])
    }

    fn set(&mut self, at: usize, value: T) {
        self.is_known[at / 64] |= 1 << (at % 64);
        self.of[at] = value;
    }

    fn forget(&mut self, at: usize) {
        self.is_known[at / 64] &= !(1 << (at % 64));
    }

    fn forget_all(&mut self) {
        self.is_known = [0; WORDS / 64];
    }
}

/// What registers hold where the walk is, and what is to become of a block's instructions.
struct Known {
    /// By general register: the number in it.
    words: Table<u32, WORDS>,
    /// By general register: how often it was written.
    writes: [u32; WORDS],
    /// By uniform register: the general one whose value it has, and how often that was written
    /// then.
    uniform: Table<(u8, u32), UNIFORM>,
    /// By predicate: the general register of which it says whether it is zero, and how often that
    /// was written then.
    predicates: Table<(u8, u32), PREDICATES>,
    /// By pair: the move of zero to one of its registers, which nothing has named since.
    zeros: Table<(u32, u8), { WORDS / 2 }>,
    gone: Scratch<Vec<InstId>>,
    /// Moves that clear a pair, by its first register.
    pairs: Scratch<Vec<(InstId, u8)>>,
}

impl Known {
    fn new() -> Known {
        Known {
            words: Table::new(),
            writes: [0; WORDS],
            uniform: Table::new(),
            predicates: Table::new(),
            zeros: Table::new(),
            gone: scratch!(Vec<InstId>),
            pairs: scratch!(Vec<(InstId, u8)>),
        }
    }

    /// At the start of a block; whether control comes from the end of the last one alone.
    fn enter(&mut self, goes_on: bool) {
        if !goes_on {
            self.words.forget_all();
            self.predicates.forget_all();
        }
        // Other threads of the warp may have run before these, with the same uniform registers.
        self.uniform.forget_all();
        self.zeros.forget_all();
    }

    fn step(&mut self, body: &Body<'_>, id: InstId) {
        let inst = body.inst(id);
        if does_nothing(inst) {
            self.gone.push(id);
            return;
        }
        if let Some((to, number)) = number(inst) {
            let at = usize::from(to);
            if self.words.get(at) == Some(number) {
                self.gone.push(id);
                return;
            }
            match self.zeros.get(at / 2) {
                Some((other, half)) if number == 0 && half == to ^ 1 => {
                    self.gone.push(InstId(other));
                    self.pairs.push((id, to & !1));
                    self.zeros.forget(at / 2);
                }
                _ if number == 0 => self.zeros.set(at / 2, (id.0, to)),
                _ => self.zeros.forget(at / 2),
            }
            self.words.set(at, number);
            self.writes[at] += 1;
            return;
        }
        let uniform =
            to_uniform(inst).map(|(to, from)| (to, (from, self.writes[usize::from(from)])));
        if let Some((to, from)) = uniform
            && self.uniform.get(usize::from(to)) == Some(from)
        {
            self.gone.push(id);
            return;
        }
        let stamped =
            |(p, from): (u8, u8), this: &Self| (p, (from, this.writes[usize::from(from)]));
        let asks = not_zero(inst);
        if let Some((p, from)) = asks.map(|pair| stamped(pair, self))
            && self.predicates.get(usize::from(p)) == Some(from)
        {
            self.gone.push(id);
            return;
        }
        let word = |cell: cells::Cell| (cell.file() == RegFile::R).then_some(usize::from(cell.0));
        cells::for_each_use(inst, |cell| {
            word(cell).into_iter().for_each(|at| self.zeros.forget(at / 2));
        });
        cells::for_each_def(inst, |cell| match (word(cell), cell.file()) {
            (Some(at), _) => {
                self.zeros.forget(at / 2);
                self.words.forget(at);
                self.writes[at] += 1;
            }
            (_, RegFile::UR) => self.uniform.forget(usize::from(cell.0) - WORDS),
            (_, RegFile::P) => self.predicates.forget(usize::from(cell.0) - FIRST_PREDICATE),
            _ => {}
        });
        let pair = asks.or_else(|| kept(inst));
        if let Some((p, from)) = pair.map(|pair| stamped(pair, self)) {
            self.predicates.set(usize::from(p), from);
        }
        if inst.op.is_branch() && inst.op != Opcode::BRA && inst.op != Opcode::EXIT {
            // What is called may write all.
            self.words.forget_all();
            self.predicates.forget_all();
            self.zeros.forget_all();
        }
        if inst.op.is_branch() || effects::may_wait(inst.op) || effects::may_meet(inst.op) {
            self.uniform.forget_all();
        }
        if let Some((to, from)) = uniform {
            self.uniform.set(usize::from(to), from);
        }
    }

    /// Changes the block that was walked: how many instructions are gone.
    fn settle(&mut self, body: &mut Body<'_>, block: BlockId, target: &Target) -> usize {
        let mut kept = scratch!(Vec<InstId>);
        for (id, first) in self.pairs.drain(..) {
            let pair = RegUse::wide(Reg::phys(RegFile::R, u32::from(first)), 2);
            let zeros = [Operand::Reg(pair), Operand::Special(SRZ)];
            let clear = Inst::new(Opcode::CS2R, &[], 1, &zeros);
            match target.takes(&clear) {
                Some(form) => {
                    body.set_inst(id, &clear);
                    body.set_form(id, form.index);
                }
                // The move of the first zero is among those that would go.
                None => kept.push(id),
            }
        }
        if !kept.is_empty() {
            // A target without the form: only what does nothing goes.
            self.gone.retain(|id| does_nothing(body.inst(*id)));
        }
        if self.gone.is_empty() {
            return 0;
        }
        self.gone.sort_unstable();
        let removed = body.retain(block, |_, id| self.gone.binary_search(&id).is_err());
        self.gone.clear();
        removed
    }
}

/// The number that an instruction moves to a general register, always.
fn number(inst: View<'_>) -> Option<(u8, u32)> {
    let is_move = inst.op == Opcode::MOV
        && inst.guard.is_always()
        && inst.mods().is_empty()
        && inst.len() == MOV::COUNT
        && inst.operand(MOV::M) == Operand::Imm(0xf);
    let number = match inst.get(MOV::B).filter(|_| is_move)? {
        Operand::Imm(number) => number as u32,
        Operand::RZ => 0,
        _ => return None,
    };
    general(inst.operand(MOV::D)).map(|to| (to, number))
}

/// A physical general register.
fn general(operand: Operand) -> Option<u8> {
    match operand {
        Operand::Reg(r) if r.reg.file() == RegFile::R && r.count == 1 => {
            Some((r.reg.phys_index()? + u32::from(r.cell)) as u8)
        }
        _ => None,
    }
}

/// A predicate that an instruction makes of whether a general register is not zero, always, and
/// that register: how spill code has it back.
fn not_zero(inst: View<'_>) -> Option<(u8, u8)> {
    let is_one = inst.op == Opcode::ISETP
        && inst.guard.is_always()
        && inst.mods().as_slice() == [Mod::NE, Mod::U32, Mod::AND]
        && inst.len() == ISETP::COUNT
        && inst.is_pt(ISETP::Q)
        && inst.is_rz(ISETP::B)
        && inst.is_pt(ISETP::X);
    let to = predicate(inst.get(ISETP::P).filter(|_| is_one)?)?;
    general(inst.operand(ISETP::A)).map(|from| (to, from))
}

/// A predicate that an instruction keeps in a general register, always, and that register.
fn kept(inst: View<'_>) -> Option<(u8, u8)> {
    let is_one = inst.op == Opcode::SEL
        && inst.guard.is_always()
        && inst.mods().is_empty()
        && inst.len() == SEL::COUNT
        && inst.is_rz(SEL::A)
        && inst.operand(SEL::B) == Operand::Imm(1);
    let Operand::Reg(unless) = inst.get(SEL::X).filter(|_| is_one)? else { return None };
    let is_inverted = unless.flags.without(RegFlags::REUSE) == RegFlags::NOT;
    let p = predicate(Operand::Reg(RegUse { flags: RegFlags::NONE, ..unless }))?;
    general(inst.operand(SEL::D)).filter(|_| is_inverted).map(|to| (p, to))
}

/// A physical predicate as it is.
fn predicate(operand: Operand) -> Option<u8> {
    match operand {
        Operand::Reg(r) if r.reg.file() == RegFile::P && r.flags == RegFlags::NONE => {
            r.reg.phys_index().map(|index| index as u8)
        }
        _ => None,
    }
}

/// The uniform register that gets a general one's value, always.
fn to_uniform(inst: View<'_>) -> Option<(u8, u8)> {
    let is_one = inst.op == Opcode::R2UR
        && inst.guard.is_always()
        && inst.mods().is_empty()
        && inst.len() == R2UR::COUNT
        && inst.is_pt(R2UR::P);
    let to = match inst.get(R2UR::UD).filter(|_| is_one)? {
        Operand::Reg(r) => r.reg.phys_index()? + u32::from(r.cell),
        _ => return None,
    };
    general(inst.operand(R2UR::A)).map(|from| (to as u8, from))
}

fn does_nothing(inst: View<'_>) -> bool {
    let self_move = || {
        inst.len() == MOV::COUNT
            && inst.operand(MOV::D) == inst.operand(MOV::B)
            && matches!(inst.operand(MOV::D), Operand::Reg(_))
    };
    inst.op == Opcode::NOP || inst.op == Opcode::MOV && inst.mods().is_empty() && self_move()
}
