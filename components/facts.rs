//! What a function may have in it, kept by the edits of its body: a phase that cannot apply asks
//! once, and does not walk.

use crate::inst::Row;
use crate::opcode::{Opcode, Props};

const WORDS: usize = Opcode::LIST.len().div_ceil(64);

/// What some instruction of the function is, or was: what is not noted here, none is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    opcodes: [u64; WORDS],
    props: Props,
    guards: bool,
    repeatable_loops: bool,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts { opcodes: [0; WORDS], props: Props::NONE, guards: false, repeatable_loops: false }
    }
}

impl Facts {
    #[inline]
    pub(crate) fn note(&mut self, row: &Row) {
        let op = row.op as usize;
        self.opcodes[op / 64] |= 1 << (op % 64);
        self.props = self.props.with(row.op.props());
        self.guards |= !row.guard().is_always();
    }

    pub(crate) fn note_guard(&mut self) {
        self.guards = true;
    }

    pub(crate) fn note_repeatable_loop(&mut self) {
        self.repeatable_loops = true;
    }

    /// Whether there may be an instruction with one of these opcodes.
    pub fn may_have(&self, ops: &[Opcode]) -> bool {
        ops.iter().any(|op| self.opcodes[*op as usize / 64] >> (*op as usize % 64) & 1 != 0)
    }

    /// Whether there may be one with one of these properties.
    pub fn may_have_any(&self, props: Props) -> bool {
        self.props.has(props)
    }

    /// Whether an instruction may have a guard.
    pub fn may_have_guards(&self) -> bool {
        self.guards
    }

    /// Whether a block may lead to itself, as edges were once made, that has no effect but what it
    /// computes: such a loop may be unrolled.
    pub fn may_have_repeatable_loops(&self) -> bool {
        self.repeatable_loops
    }
}

#[cfg(test)]
mod tests {
    use crate::{Function, Guard, Inst, Loc, Opcode, Operand, Props, RegFile};

    #[test]
    fn edits_note_what_a_function_may_have() {
        let mut function = Function::default();
        let mut body = function.body();
        let block = body.new_block();
        let load = body.push(block, Inst::new(Opcode::LDG, &[], 0, &[]), Loc::default());
        assert!(body.facts().may_have(&[Opcode::BAR, Opcode::LDG]));
        assert!(!body.facts().may_have(&[Opcode::BAR, Opcode::EXIT]));
        assert!(body.facts().may_have_any(Props::LOAD) && !body.facts().may_have_any(Props::STORE));
        assert!(!body.facts().may_have_guards());
        let reg = body.new_vreg(RegFile::P, 1, 1);
        body.set_guard(load, Guard { reg, negated: false });
        body.set_inst(load, &Inst::new(Opcode::STG, &[], 0, &[]));
        assert!(body.facts().may_have_guards() && body.facts().may_have_any(Props::STORE));
        body.arena.clear();
        assert!(!body.facts().may_have(Opcode::LIST), "the next function has nothing yet");
    }

    #[test]
    fn edges_note_a_loop_of_one_block_that_only_computes() {
        let has = |inside: Opcode| {
            let mut function = Function::default();
            let mut body = function.body();
            let block = body.new_block();
            body.push(block, Inst::new(inside, &[], 0, &[]), Loc::default());
            let back = [Operand::PT, Operand::Block(block)];
            body.push(block, Inst::new(Opcode::BRA, &[], 0, &back), Loc::default());
            assert!(!body.facts().may_have_repeatable_loops(), "edges are not made yet");
            body.update_edges();
            body.facts().may_have_repeatable_loops()
        };
        assert_eq!(
            [Opcode::IADD3, Opcode::LDG, Opcode::STG, Opcode::BAR].map(has),
            [true, true, false, false]
        );
    }
}
