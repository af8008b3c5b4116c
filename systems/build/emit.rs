//! The builder that lowering and the phases that expand instructions go through: it applies a
//! guard, keeps the place, and opens one block after the other.

use crate::effects;
use crate::ssa::Form;
use orias_components::{
    BlockId, Body, Guard, InstId, Loc, Mod, Opcode, Operand, Reg, RegFile, RegFlags,
};

/// Appends instructions to a body, block after block.
pub struct Emit<'w> {
    /// What instructions are appended to.
    pub body: Body<'w>,
    /// The block that the next instruction goes to.
    pub block: BlockId,
    order: Vec<BlockId>,
    /// The current block was opened by [`Self::open_after_branch`].
    nameless: bool,
    /// The source place that instructions get.
    pub loc: Loc,
    /// The guard of the instruction that is lowered or expanded.
    pub guard: Guard,
    /// Registers from this id on are temporaries of the instruction being lowered: nothing reads
    /// them when the guard is false, so what writes only them runs unguarded (a guarded definition
    /// would keep the register live before it).
    first_temp: u32,
    /// The body is in SSA form: each cell is written once.
    pub(super) is_ssa: bool,
}

impl<'w> Emit<'w> {
    /// Begins at a new block, which is the first in the order.
    pub fn new(mut body: Body<'w>) -> Emit<'w> {
        let block = body.new_detached_block();
        Emit {
            body,
            block,
            order: vec![block],
            nameless: false,
            loc: Loc::default(),
            guard: Guard::ALWAYS,
            first_temp: 0,
            is_ssa: false,
        }
    }

    /// Edits a body that exists: its blocks are opened again one by one, see [`Self::reopen`].
    pub fn edit(body: Body<'w>) -> Emit<'w> {
        Emit {
            body,
            block: BlockId(0),
            order: Vec::new(),
            nameless: false,
            loc: Loc::default(),
            guard: Guard::ALWAYS,
            first_temp: 0,
            is_ssa: false,
        }
    }

    /// The same for a body of this form.
    pub fn edit_in(body: Body<'w>, form: Form) -> Emit<'w> {
        Emit { is_ssa: form.is_ssa, ..Emit::edit(body) }
    }

    /// Opens an existing block and empties it; its instructions are for the caller to keep or to
    /// replace.
    pub fn reopen(&mut self, block: BlockId) -> impl DoubleEndedIterator<Item = InstId> + use<> {
        self.open(block);
        self.body.unlink(block)
    }

    /// Appends an instruction that exists.
    pub fn keep(&mut self, inst: InstId) {
        self.body.append(self.block, inst);
    }

    /// Starts a PTX instruction, or the expansion of one.
    pub fn start(&mut self, loc: Loc, guard: Guard) {
        self.loc = loc;
        self.guard = guard;
        self.first_temp = self.body.vreg_count() as u32;
    }

    /// Sets the layout to the order in which blocks were opened.
    pub fn finish(mut self) -> Body<'w> {
        self.drop_empty_tail();
        let Emit { mut body, order, .. } = self;
        body.set_layout(&order);
        body
    }

    /// Continues in `block`, which follows the current one in the layout.
    pub fn open(&mut self, block: BlockId) {
        self.drop_empty_tail();
        self.order.push(block);
        self.block = block;
    }

    /// After a branch: continues in a new block that nothing names. It goes away when nothing is
    /// put into it.
    pub fn open_after_branch(&mut self) {
        self.open_new();
        self.nameless = true;
    }

    /// Whether the current block was opened after a branch and holds nothing yet.
    pub fn in_empty_tail(&self) -> bool {
        self.nameless && self.body.block(self.block).insts().is_empty()
    }

    fn drop_empty_tail(&mut self) {
        if self.in_empty_tail() {
            self.order.pop();
            self.body.remove_detached_block(self.block);
        }
        self.nameless = false;
    }

    /// A new block, not yet placed.
    pub fn label(&mut self) -> BlockId {
        self.body.new_detached_block()
    }

    /// Continues in a new block.
    pub fn open_new(&mut self) -> BlockId {
        let block = self.label();
        self.open(block);
        self.nameless = false;
        block
    }

    /// A temporary of this many 32-bit cells, aligned to its size.
    pub fn temp(&mut self, cells: u8) -> Reg {
        self.body.new_vreg(RegFile::R, cells, cells)
    }

    /// A new predicate.
    pub fn temp_pred(&mut self) -> Reg {
        self.body.new_vreg(RegFile::P, 1, 1)
    }

    fn is_temp(&self, reg: Reg) -> bool {
        reg.is_zero() || reg.vreg().is_some_and(|v| v.0 >= self.first_temp)
    }

    fn needs_guard(&self, op: Opcode, dests: &[Operand]) -> bool {
        let is_temp = |d: &Operand| d.as_reg().is_some_and(|u| self.is_temp(u.reg));
        !effects::may_be_speculated(op) || !dests.iter().all(is_temp)
    }

    /// Appends an instruction with all its slots.
    pub fn put(&mut self, op: Opcode, mods: &[Mod], defs: u8, operands: &[Operand]) {
        let id = self.body.make(op, mods, defs, operands, self.loc);
        if !self.guard.is_always() && self.needs_guard(op, &operands[..defs as usize]) {
            self.body.set_guard(id, self.guard);
        }
        self.keep(id);
    }

    /// Appends an instruction under a guard of its own instead of PTX's.
    pub fn put_if(
        &mut self,
        pred: Operand,
        op: Opcode,
        mods: &[Mod],
        defs: u8,
        operands: &[Operand],
    ) {
        let id = self.body.make(op, mods, defs, operands, self.loc);
        if let Some(u) = pred.as_reg() {
            self.body.set_guard(id, Guard { reg: u.reg, negated: u.flags.has(RegFlags::NOT) });
        }
        self.keep(id);
    }
}
