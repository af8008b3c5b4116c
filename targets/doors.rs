//! The doors of a target to encoder and decoder, and what they may take: one row is asked for by
//! everything that makes or reads instructions.

use crate::decode::DecodeError;
use crate::encode::{EncodeError, Stem};
use crate::form::{Form, Slot};
use crate::seen::Unseen;
use crate::target::Target;
use orias_components::{Inst, Opcode, Operand, View};

impl Target {
    /// The row of an instruction that code may use as it stands (virtual registers are fine): where
    /// the target is `bound`, one that was seen. Guards are not looked at.
    pub fn takes(&self, inst: &Inst) -> Option<&'static Form> {
        let found = crate::memo::find(self, inst);
        found.form.filter(|_| found.taken)
    }

    /// The same of an instruction of a body, whose operands are these; not of BRX.
    pub fn takes_view(&self, inst: View<'_>, operands: &[Operand]) -> Option<&'static Form> {
        debug_assert!(inst.op != Opcode::BRX, "its ways are no operands of its word");
        let found = crate::memo::find_by(self, inst.op, inst.mods(), operands, || inst.to_inst());
        found.form.filter(|_| found.taken)
    }

    /// Whether code may guard an instruction: where the target is `bound`, one of a group that was
    /// seen with a guard, and with no word that never was.
    pub fn takes_guard(&self, inst: &Inst) -> bool {
        let seen = self.seen().filter(|_| self.bound);
        match (seen, self.form(inst)) {
            (Some(seen), Some(form)) => {
                seen.takes_guard(form, inst) && !self.habits().never_guards(inst)
            }
            _ => true,
        }
    }

    /// What of an instruction ptxas was never seen to emit, its guard included; None where all was,
    /// or nobody has looked.
    pub fn unseen(&self, inst: &Inst) -> Option<Unseen> {
        let seen = self.seen()?;
        match self.form(inst) {
            Some(form) => seen.unseen(form, inst),
            None => Some(Unseen::Form(format!("{}{}", inst.op, inst.mods))),
        }
    }

    /// The row that encodes this instruction as it stands (virtual registers are fine).
    pub fn form(&self, inst: &Inst) -> Option<&'static Form> {
        crate::memo::find(self, inst).form
    }

    /// The instruction's word. `pc` is its byte offset in the text that targets count in.
    pub fn encode(&self, inst: &Inst, pc: u64) -> Result<u128, EncodeError> {
        crate::encode::encode(self, inst, pc)
    }

    /// What words with an instruction's row, known from [`Target::takes`] or the like, and its
    /// modifiers have in common; None where it is not its row.
    pub fn stem(&self, form: &'static Form, inst: &Inst) -> Option<Stem> {
        crate::encode::stem(form, inst)
    }

    /// The instruction that a word means.
    pub fn decode(&self, word: u128, pc: u64) -> Result<Inst, DecodeError> {
        self.decode_row(word, pc).map(|(_, inst)| inst)
    }

    /// The instruction that a word means, and its row.
    pub fn decode_row(&self, word: u128, pc: u64) -> Result<(&'static Form, Inst), DecodeError> {
        crate::decode::decode(self, word, pc)
    }

    /// Whether code may use `inst` with operand `index` replaced by `operand`: what propagation
    /// asks ("may this be an immediate?").
    pub fn accepts(&self, inst: &Inst, index: usize, operand: Operand) -> bool {
        let mut changed = inst.clone();
        match changed.operands.get_mut(index) {
            Some(slot) => *slot = operand,
            None => return false,
        }
        self.takes(&changed).is_some()
    }

    /// Whether some instruction with the opcode may have such an operand at this place: where not,
    /// none of [`Target::accepts`] holds.
    pub fn may_take(&self, op: Opcode, at: usize, operand: &Operand) -> bool {
        let seen = self.seen().filter(|_| self.bound);
        seen.is_none_or(|seen| seen.may_take(op, at, operand))
    }

    /// The slot of the instruction's row that operand `index` fills.
    pub fn slot(&self, inst: &Inst, index: usize) -> Option<&'static Slot> {
        self.form(inst)?.slots.get(index)
    }
}
