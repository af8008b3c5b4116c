//! Branches: jumps, two ways that join, and regions that a guard jumps over.

use super::emit::Emit;
use super::operand::cell;
use orias_components::{BlockId, Guard, Opcode, Operand, Reg, RegFlags, RegUse, phis};

/// A region that PTX's guard jumps over: where it ends, and the guard.
#[must_use]
pub struct Guarded {
    after: BlockId,
    guard: Guard,
}

impl<'w> Emit<'w> {
    /// Jumps when `pred` holds; the PTX guard has no part in it. The block ends.
    pub fn branch_if(&mut self, pred: Operand, target: BlockId) {
        self.put_if(pred, Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(target)]);
    }

    /// Goes to a block, whatever PTX's guard. The block ends.
    pub fn branch(&mut self, target: BlockId) {
        self.branch_if(Operand::PT, target);
    }

    /// Runs `f` with a new block, which is still to be placed, in place of the current one.
    pub fn aside(&mut self, f: impl FnOnce(&mut Emit<'w>)) -> BlockId {
        let block = self.label();
        let here = std::mem::replace(&mut self.block, block);
        f(self);
        self.block = here;
        block
    }

    /// Runs `rare` where the predicate holds and `common` elsewhere, in blocks of their own. Both
    /// give a register of so many cells; one that has the values of the way taken is returned.
    pub fn two_ways(
        &mut self,
        is_rare: Operand,
        cells: u8,
        common: impl FnOnce(&mut Emit<'w>) -> Reg,
        rare: impl FnOnce(&mut Emit<'w>) -> Reg,
    ) -> Reg {
        let result = self.temp(cells);
        let (other, after) = (self.label(), self.label());
        self.branch_if(is_rare, other);
        self.open_new();
        let first = common(self);
        let first = self.end_way(result, cells, first);
        self.branch(after);
        self.open(other);
        let second = rare(self);
        let second = self.end_way(result, cells, second);
        self.open(after);
        self.choose_by_way(result, cells, [first, second]);
        result
    }

    /// `value` where the predicate holds, and elsewhere what `rare` gives, in blocks of its own: a
    /// register of so many cells that has the one or the other.
    pub fn unless(
        &mut self,
        is_common: Operand,
        (value, cells): (Reg, u8),
        rare: impl FnOnce(&mut Emit<'w>) -> Reg,
    ) -> Reg {
        let result = self.temp(cells);
        let after = self.label();
        let first = self.end_way(result, cells, value);
        self.branch_if(is_common, after);
        self.open_new();
        let second = rare(self);
        let second = self.end_way(result, cells, second);
        self.open(after);
        self.choose_by_way(result, cells, [first, second]);
        result
    }

    /// In SSA form: the result has what the way taken brings.
    fn choose_by_way(&mut self, result: Reg, cells: u8, ways: [(Reg, BlockId); 2]) {
        for i in 0..if self.is_ssa { cells } else { 0 } {
            let ways = ways.map(|(value, block)| (Some(RegUse::at(value, i, 1)), block));
            let phi = phis::new(&mut self.body, RegUse::at(result, i, 1), &ways);
            self.keep(phi);
        }
    }

    /// The end of one of two ways: what it brings, and from where. Without phis it writes the
    /// result itself.
    fn end_way(&mut self, result: Reg, cells: u8, value: Reg) -> (Reg, BlockId) {
        if !self.is_ssa {
            (0..cells).for_each(|i| self.mov(cell(result, i), cell(value, i)));
        }
        (value, self.block)
    }

    /// Jumps over what follows where PTX's guard is false; it has no guard then. Nothing where
    /// there is none. To be ended by [`Self::leave_guard`].
    pub fn enter_guard(&mut self) -> Option<Guarded> {
        let guard = std::mem::replace(&mut self.guard, Guard::ALWAYS);
        if guard.is_always() {
            return None;
        }
        let after = self.label();
        let skip = RegUse {
            flags: if guard.negated { RegFlags::NONE } else { RegFlags::NOT },
            ..RegUse::new(guard.reg)
        };
        self.branch_if(Operand::Reg(skip), after);
        self.open_new();
        Some(Guarded { after, guard })
    }

    /// Ends what [`Self::enter_guard`] began.
    pub fn leave_guard(&mut self, left: Guarded) {
        self.open(left.after);
        self.guard = left.guard;
    }
}
