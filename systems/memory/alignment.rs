//! How many low bits of an address are zero, as far as the instructions that compute it say.

use crate::scalar::Values;
use orias_components::{Body, InstId, Mod, Opcode, Operand, RegFlags, RegUse, View};
use orias_targets::slots::{IADD3, IMAD, LEA, LOP3_LUT as LOP3, MOV, SEL, SHF, UMOV};
use smallvec::SmallVec;

/// More nobody asks for: the widest access has 16 bytes.
pub const MOST: u32 = 4;

/// Steps back from what is asked for.
const DEPTH: u32 = 12;

/// The zeros of a word, or of the low word of more, up to [`MOST`].
pub fn zeros(body: &Body<'_>, values: &Values<'_>, word: RegUse) -> u32 {
    let word = Operand::Reg(RegUse { count: 1, flags: RegFlags::NONE, ..word });
    Zeros { body, values, open: SmallVec::new() }.of(&word, DEPTH)
}

struct Zeros<'a, 'b> {
    body: &'a Body<'b>,
    values: &'a Values<'a>,
    /// Phis that are asked for already: what comes around a loop has no fewer zeros than what
    /// entered it, for nothing here shifts to the right.
    open: SmallVec<[InstId; 4]>,
}

impl Zeros<'_, '_> {
    fn of(&mut self, operand: &Operand, depth: u32) -> u32 {
        match operand {
            Operand::Imm(value) => value.trailing_zeros().min(MOST),
            Operand::Reg(r) if r.reg.is_zero() => MOST,
            // A negative number has as many.
            Operand::Reg(r) if r.flags.without(RegFlags::NEG) == RegFlags::NONE && depth > 0 => {
                let Some(writer) = self.values.writer(*r) else { return 0 };
                // A high word is another matter, and a predicate may stand before the result.
                let is_result = |d: &RegUse| !d.reg.file().is_predicate();
                let mut results =
                    self.body.inst(writer).dests().filter_map(|o| o.as_reg().copied());
                let is_low = |d: RegUse| d.reg == r.reg && d.cell == r.cell;
                match results.find(is_result).is_some_and(is_low) {
                    true => self.written(writer, depth - 1),
                    false => 0,
                }
            }
            _ => 0,
        }
    }

    fn written(&mut self, writer: InstId, depth: u32) -> u32 {
        let inst = self.body.inst(writer);
        if !inst.guard.is_always() {
            return 0;
        }
        let get = |at: usize| inst.get(at).unwrap_or(Operand::RZ);
        match (inst.op, inst.mods().as_slice()) {
            (Opcode::MOV, []) => self.of(&get(MOV::B), depth),
            (Opcode::UMOV, []) => self.of(&get(UMOV::B), depth),
            (Opcode::IADD3 | Opcode::UIADD3, []) => {
                let all = [IADD3::A, IADD3::B, IADD3::C].map(|at| self.of(&get(at), depth));
                all.into_iter().min().unwrap_or(0)
            }
            (Opcode::IMAD, [] | [Mod::U32] | [Mod::WIDE] | [Mod::WIDE, Mod::U32]) => {
                let product = self.of(&get(IMAD::A), depth) + self.of(&get(IMAD::B), depth);
                product.min(self.of(&get(IMAD::C), depth))
            }
            (Opcode::LEA | Opcode::ULEA, []) => {
                let Some(Operand::Imm(by)) = inst.get(LEA::N) else { return 0 };
                (self.of(&get(LEA::A), depth) + by as u32).min(self.of(&get(LEA::B), depth))
            }
            (Opcode::SHF, [Mod::L, Mod::U32]) => match (get(SHF::B), get(SHF::C)) {
                (Operand::Imm(by @ 0..32), Operand::RZ) => {
                    (self.of(&get(SHF::A), depth) + by as u32).min(MOST)
                }
                _ => 0,
            },
            (Opcode::SEL, []) => {
                let (yes, no) = (self.of(&get(SEL::A), depth), self.of(&get(SEL::B), depth));
                yes.min(no)
            }
            (Opcode::LOP3, _) if inst.len() == LOP3::COUNT => self.logic(inst, depth),
            (Opcode::MOVPHI, _) => self.phi(writer, depth),
            _ => 0,
        }
    }

    /// The first bit that logic may make one.
    fn logic(&mut self, inst: View<'_>, depth: u32) -> u32 {
        let Operand::Imm(table) = inst.operand(LOP3::T) else { return 0 };
        let inputs = [LOP3::A, LOP3::B, LOP3::C].map(|at| inst.operand(at));
        let ones = inputs.map(|input| match input {
            Operand::Imm(value) => value as u32,
            input => u32::MAX << self.of(&input, depth),
        });
        let may_be_one = |bit: u32| {
            // Each row of the table that what is known of the inputs allows.
            (0..8_u32).any(|row| {
                let fits = |at: usize| row >> (2 - at) & 1 == 0 || ones[at] >> bit & 1 == 1;
                table >> row & 1 == 1 && (0..3).all(fits)
            })
        };
        (0..MOST).find(|bit| may_be_one(*bit)).unwrap_or(MOST)
    }

    fn phi(&mut self, id: InstId, depth: u32) -> u32 {
        if self.open.contains(&id) {
            return MOST;
        }
        self.open.push(id);
        let mut least = MOST;
        for value in self.body.inst(id).sources() {
            if !matches!(value, Operand::Block(_)) && least > 0 {
                least = least.min(self.of(&value, depth));
            }
        }
        self.open.pop();
        least
    }
}
