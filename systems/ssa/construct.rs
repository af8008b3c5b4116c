//! Into SSA form: values are numbered in a walk down the dominator tree, with phis where the
//! liveness of a cell says that several of its definitions come together (pruned SSA after Cytron
//! et al.); then values that operands name together get registers.

use super::form::Form;
use super::groups::{Groups, NONE, Value};
use super::values::{Fixed, is_value};
use crate::analysis::blocks::Marks;
use crate::analysis::dominators::Dominators;
use crate::analysis::lists::Lists;
use crate::analysis::liveness::{Cell, CellMap, kills};
use crate::analysis::{Analyses, ControlFlow};
use crate::control_flow::switches;
use crate::notes::Notes;
use crate::params::Write;
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, FlowEdit, InstId, Loc, Opcode, Operand, Reg, RegFile, RegUse, VRegId,
    View, phis, work,
};
use smallvec::SmallVec;

/// More ways than this into one block would not fit a phi.
const MOST_WAYS: usize = 16_000;

/// Phase 26.
pub fn generate_mov_phi(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut form: Write<'_, Form>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    let ways = |b: &BlockId| body.block(*b).preds().len();
    if body.layout().iter().any(|b| ways(b) > MOST_WAYS) {
        // Phases that want values ask for the form.
        return;
    }
    form.is_ssa = true;
    switches::split_edges(&mut body);
    notes.count(construct(&mut body, &mut analyses, VRegId(0)));
}

/// Makes values of the registers from `first` on, several instructions of which may write one; what
/// was made before them is in SSA form already. How many phis came.
pub(crate) fn construct(body: &mut Body<'_>, analyses: &mut Analyses, first: VRegId) -> usize {
    let map = &*analyses.cells(body);
    let flow = analyses.flow_after(body);
    let dom = flow.dominators();
    let mut renamed = to_rename(body, map, dom);
    renamed[..first.0 as usize].fill(false);
    if !renamed.contains(&true) {
        return 0;
    }
    let again = body.layout().first().filter(|b| !body.block(**b).preds().is_empty());
    if let Some(entry) = again.copied() {
        // Values come to a block by its edges: the entry needs one that function calls take.
        let mut edit = FlowEdit::of(body);
        edit.new_before(body, entry);
        edit.finish(body);
        return construct(body, analyses, first);
    }
    let mut builder = Builder::new(body, map, &flow, &renamed, first);
    builder.place_phis(analyses);
    builder.number();
    let Builder {
        values, unwritten, registers, order, touched, ties, split, phis, brought, ..
    } = builder;
    let count = phis.len();
    body.expect_vregs(values.len());
    let mut writer = Writer {
        map,
        renamed: &renamed,
        taken: scratch!(Vec<bool>; false; body.vreg_count()),
        register: scratch!(Vec<(Reg, u8)>; NO_REGISTER; values.len()),
        values,
        unwritten,
        body,
    };
    writer.write(&registers, &order, &touched, &ties, &split);
    writer.write_phis(&phis, &brought, dom);
    count
}

/// The registers with a cell that is not written once, on every way to its readers, without guard.
fn to_rename(body: &Body<'_>, map: &CellMap, dom: &Dominators) -> Scratch<Vec<bool>> {
    let mut renamed = scratch!(Vec<bool>; false; body.vreg_count());
    // By cell: the block of its definition.
    let mut home = scratch!(Vec<u32>; NONE; map.count());
    // Cells that are read where the walk has met no definition yet: in which block.
    let mut early = scratch!(Vec<(Cell, VRegId, u32)>);
    for block in body.layout() {
        let is_reached = dom.is_reached(block.0);
        for id in body.block(*block).insts() {
            let inst = body.inst(*id);
            inst.for_each_use(|r| {
                let Some(v) = r.reg.vreg().filter(|_| is_reached) else { return };
                for cell in map.cells(r) {
                    match home[cell as usize] {
                        NONE => early.push((cell, v, block.0)),
                        b if b != block.0 && !dom.dominates(b, block.0) => {
                            renamed[v.0 as usize] = true;
                        }
                        _ => {}
                    }
                }
            });
            inst.for_each_def(|r| {
                let Some(v) = r.reg.vreg() else { return };
                for cell in map.cells(r) {
                    let old = std::mem::replace(&mut home[cell as usize], block.0);
                    if old != NONE || !kills(inst) {
                        renamed[v.0 as usize] = true;
                    }
                }
            });
        }
    }
    for (cell, v, block) in early.iter() {
        // In its own block the definition stands behind who reads it.
        let is_before = match home[*cell as usize] {
            NONE => true,
            b => b != *block && dom.dominates(b, *block),
        };
        if !is_before {
            renamed[v.0 as usize] = true;
        }
    }
    if renamed.contains(&true) {
        let fixed = Fixed::of(body);
        for (v, renamed) in (0..).map(VRegId).zip(&mut renamed) {
            *renamed &= is_value(body, &fixed, v);
        }
    }
    renamed
}

/// A cell's value at the start of a block.
struct Phi {
    block: BlockId,
    cell: Cell,
    value: Value,
}

struct Builder<'a, 'w> {
    body: &'a Body<'w>,
    map: &'a CellMap,
    flow: &'a ControlFlow,
    renamed: &'a [bool],
    /// Registers before it are values already.
    first: VRegId,
    values: Groups,
    /// Those that nothing has written, in their order.
    unwritten: Scratch<Vec<Value>>,
    /// By cell: its value where the walk is.
    current: Scratch<Vec<Value>>,
    /// Something asks for what cells held before the block where the walk is.
    keeps_before: bool,
    phis: Scratch<Vec<Phi>>,
    /// By phi: what each predecessor brings.
    brought: Scratch<Lists<(Value, BlockId)>>,
    phis_of: Scratch<Lists<u32>>,
    /// Blocks in the order of the walk.
    order: Scratch<Vec<BlockId>>,
    /// Instructions that name renamed registers, and the values that they name, in the order of
    /// [`Body::map_regs`].
    touched: Scratch<Vec<InstId>>,
    registers: Scratch<Vec<Value>>,
    /// What guarded ones are tied to, in their order; the values of those stand behind their own.
    ties: Scratch<Vec<(InstId, Tie)>>,
    /// Places in `registers` where an operand begins whose values cannot share a register.
    split: Scratch<BitVec>,
}

/// What a destination is tied to: a register as it is (RZ or PT for none), or values.
#[derive(Clone, Copy)]
enum Tie {
    Register(RegUse),
    Values(RegUse),
}

impl<'a, 'w> Builder<'a, 'w> {
    fn new(
        body: &'a Body<'w>,
        map: &'a CellMap,
        flow: &'a ControlFlow,
        renamed: &'a [bool],
        first: VRegId,
    ) -> Self {
        Builder {
            body,
            map,
            flow,
            renamed,
            first,
            values: Groups::new(),
            unwritten: scratch!(Vec<Value>),
            current: scratch!(Vec<Value>; NONE; map.count()),
            keeps_before: false,
            phis: scratch!(Vec<Phi>),
            brought: scratch!(Lists<(Value, BlockId)>),
            phis_of: scratch!(Lists<u32>).of(flow.graph().len()),
            order: scratch!(Vec<BlockId>),
            touched: scratch!(Vec<InstId>),
            registers: scratch!(Vec<Value>),
            ties: scratch!(Vec<(InstId, Tie)>),
            split: scratch!(BitVec),
        }
    }

    fn is_renamed(&self, r: RegUse) -> bool {
        r.reg.vreg().is_some_and(|v| self.renamed[v.0 as usize])
    }

    /// Where the definitions of a cell come together and it is live.
    fn place_phis(&mut self, analyses: &mut Analyses) {
        if self.body.layout().len() < 2 {
            return;
        }
        let liveness = analyses.liveness(self.body);
        let mut written = scratch!(Lists<u32>).of(self.map.count());
        let mut cells = scratch!(Vec<Cell>);
        for block in self.body.layout() {
            for id in self.body.block(*block).insts() {
                self.body.inst(*id).for_each_def(|r| {
                    if !self.is_renamed(r) {
                        return;
                    }
                    for cell in self.map.cells(r).filter(|c| liveness.may_cross_blocks(*c)) {
                        if written.first(cell) == 0 {
                            cells.push(cell);
                        }
                        if written.iter(cell).next() != Some(block.0) {
                            written.push(cell, block.0);
                        }
                    }
                });
            }
        }
        let frontiers = self.flow.frontiers();
        let mut has_phi = Marks::new(self.flow.graph().len());
        let mut work = scratch!(Vec<u32>);
        for &cell in &cells {
            has_phi.clear();
            work.extend(written.iter(cell).filter(|b| self.flow.dominators().is_reached(*b)));
            while let Some(block) = work.pop() {
                for join in frontiers.of(block) {
                    if liveness.is_live_in(BlockId(join), cell) && has_phi.add(join) {
                        let phi = self.phis.len() as u32;
                        let block = BlockId(join);
                        self.phis.push(Phi { block, cell, value: NONE });
                        self.phis_of.push(join, phi);
                        work.push(join);
                    }
                }
            }
        }
    }

    /// Walks down the dominator tree and gives each definition and use its value.
    fn number(&mut self) {
        self.brought.grow(self.phis.len());
        let mut children = scratch!(Lists<u32>).of(self.flow.graph().len());
        for block in self.body.layout().iter().rev() {
            if let Some(above) = self.flow.dominators().idom(block.0) {
                children.push(above, block.0);
            }
        }
        // What cells held before; a block's entries go when the walk leaves it. Where nothing is
        // entered behind it, nothing asks for them: most of a function without branches.
        let mut before = scratch!(Vec<(Cell, Value)>);
        let mut stack = scratch!(Vec<(u32, usize, bool)>);
        let mut at = children.first(self.flow.graph().entry);
        stack.push((at, 0, false));
        self.enter(self.flow.graph().entry, &mut before);
        while let Some((next, mark, is_asked_for)) = stack.last_mut() {
            at = *next;
            match children.get(at) {
                Some((block, rest)) => {
                    *next = rest;
                    let is_asked_for = *is_asked_for || children.get(rest).is_some();
                    stack.push((children.first(block), before.len(), is_asked_for));
                    self.keeps_before = is_asked_for;
                    self.enter(block, &mut before);
                }
                None => {
                    for (cell, value) in before.drain(*mark..).rev() {
                        self.current[cell as usize] = value;
                    }
                    stack.pop();
                }
            }
        }
    }

    fn set(&mut self, cell: Cell, value: Value, before: &mut Vec<(Cell, Value)>) {
        work::add(1);
        let old = std::mem::replace(&mut self.current[cell as usize], value);
        if self.keeps_before {
            before.push((cell, old));
        }
    }

    fn enter(&mut self, block: u32, before: &mut Vec<(Cell, Value)>) {
        self.order.push(BlockId(block));
        let mut at = self.phis_of.first(block);
        let mut last = None;
        while let Some((phi, next)) = self.phis_of.get(at) {
            let cell = self.phis[phi as usize].cell;
            let value = self.values.add(cell);
            self.phis[phi as usize].value = value;
            self.set(cell, value, before);
            self.join_words((cell, value), last);
            last = Some((cell, value));
            at = next;
        }
        let body = self.body;
        for id in body.block(BlockId(block)).insts() {
            self.step(*id, before);
        }
        for n in 0..self.flow.graph().succs[block as usize].len() {
            let succ = self.flow.graph().succs[block as usize][n];
            let mut at = self.phis_of.first(succ);
            let mut last = None;
            while let Some((phi, next)) = self.phis_of.get(at) {
                let cell = self.phis[phi as usize].cell;
                let value = self.current[cell as usize];
                self.brought.push(phi, (value, BlockId(block)));
                self.join_words((cell, value), last);
                last = Some((cell, value));
                at = next;
            }
        }
    }

    /// The words of what is 64 bits wide stay beside each other, wherever there are both: a sum of
    /// a product and them is one instruction, and addresses need no copies. Of two phis of a block
    /// that follow each other the higher word's comes first.
    fn join_words(&mut self, (cell, value): (Cell, Value), last: Option<(Cell, Value)>) {
        let is_low = |(v, at): (VRegId, u8)| at == 0 && self.body.vreg(v).cells == 2;
        if let Some((other, word)) = last
            && cell + 1 == other
            && value != NONE
            && word != NONE
            && self.map.vreg(cell).is_some_and(is_low)
        {
            self.values.join(&[value, word]);
        }
    }

    /// The value of a cell; one that nothing has written has a value all the same.
    fn value(&mut self, cell: Cell, before: &mut Vec<(Cell, Value)>) -> Value {
        if self.current[cell as usize] == NONE {
            let value = self.values.add(cell);
            self.unwritten.push(value);
            self.set(cell, value, before);
        }
        self.current[cell as usize]
    }

    fn read(&mut self, r: RegUse, before: &mut Vec<(Cell, Value)>) {
        let first = self.registers.len();
        for cell in self.map.cells(r) {
            let value = self.value(cell, before);
            self.registers.push(value);
        }
        if !self.values.join(&self.registers[first..]) {
            self.split.resize(first + 1, false);
            self.split.set(first, true);
        }
    }

    fn step(&mut self, id: InstId, before: &mut Vec<(Cell, Value)>) {
        let inst = self.body.inst(id);
        let mut any = false;
        inst.for_each_use(|r| any |= self.is_renamed(r));
        inst.for_each_def(|r| any |= self.is_renamed(r));
        if !any {
            return;
        }
        self.touched.push(id);
        if self.is_renamed(RegUse::new(inst.guard.reg)) {
            self.read(RegUse::new(inst.guard.reg), before);
        }
        // The destinations' values are there for what follows, and not for the sources. Of each
        // whether it is an upper word.
        let mut written = SmallVec::<[(Cell, Value, bool); 4]>::new();
        for (at, operand) in inst.operands().enumerate() {
            operand.for_each_reg(|r| {
                if !self.is_renamed(r) {
                    return;
                }
                if at >= inst.defs as usize {
                    self.read(r, before);
                    return;
                }
                let first = self.registers.len();
                let is_pair = r.reg.vreg().is_some_and(|v| self.body.vreg(v).cells == 2);
                for (cell, word) in self.map.cells(r).zip(r.cell..) {
                    let value = self.values.add(cell);
                    self.registers.push(value);
                    written.push((cell, value, is_pair && word == 1));
                }
                self.values.join(&self.registers[first..]);
            });
        }
        if !kills(inst) {
            self.tie(id, inst, before);
        }
        for &(cell, value, is_upper) in &written {
            self.set(cell, value, before);
            // The upper word comes behind the lower one's carry.
            let low = cell.wrapping_sub(1);
            if is_upper && self.current[low as usize] != NONE {
                self.values.join(&[self.current[low as usize], value]);
            }
        }
    }

    /// Names what the destinations hold where the guard is false, if anything is known of one of
    /// them.
    fn tie(&mut self, id: InstId, inst: View<'_>, before: &mut Vec<(Cell, Value)>) {
        let mut ties = SmallVec::<[Tie; 2]>::new();
        let mut known = false;
        inst.for_each_def(|r| {
            let renamed = self.is_renamed(r);
            let any = self.map.cells(r).any(|cell| self.current[cell as usize] != NONE);
            // A value from before, of which nothing was kept.
            let is_value = !renamed && r.reg.vreg().is_some_and(|v| v.0 < self.first.0);
            known |= any || !renamed && !is_value;
            ties.push(match (renamed || is_value, any) {
                (true, true) => Tie::Values(r),
                (true, false) => Tie::Register(RegUse::new(Reg::zero(r.reg.file()))),
                (false, _) => Tie::Register(r),
            });
        });
        if known {
            for tie in &ties {
                if let Tie::Values(r) = tie {
                    self.read(*r, before);
                }
            }
            self.ties.extend(ties.iter().map(|tie| (id, *tie)));
        }
    }
}

/// No register has so many cells.
const NO_REGISTER: (Reg, u8) = (Reg::RZ, u8::MAX);

struct Writer<'a, 'b, 'w> {
    body: &'b mut Body<'w>,
    map: &'a CellMap,
    renamed: &'a [bool],
    values: Groups,
    /// Values that nothing has written, in their order.
    unwritten: Scratch<Vec<Value>>,
    /// By the leader of a group: its register, and which cell of the old one is its first; none
    /// yet is [`NO_REGISTER`].
    register: Scratch<Vec<(Reg, u8)>>,
    /// Old registers that are one group's.
    taken: Scratch<Vec<bool>>,
}

impl Writer<'_, '_, '_> {
    /// The register and cell of a value of a register's cell.
    fn place(&mut self, value: Value, (id, cell): (VRegId, u8)) -> RegUse {
        let leader = self.values.leader(value);
        if self.register[leader as usize] == NO_REGISTER {
            let old = *self.body.vreg(id);
            // The values of a group are of one register.
            let base = self.map.first(id);
            let (mut first, mut last) = (u8::MAX, 0);
            for cell in self.values.members(value).map(|v| (self.values.cell(v) - base) as u8) {
                (first, last) = (first.min(cell), last.max(cell));
            }
            let count = last - first + 1;
            let whole = count == old.cells;
            let made = if whole && !std::mem::replace(&mut self.taken[id.0 as usize], true) {
                (Reg::virt(old.file, id), 0)
            } else {
                let align = match first {
                    0 if whole => old.align,
                    0 => old.align.min(count.next_power_of_two()),
                    _ => old.align.min(1 << first.trailing_zeros()).min(count.next_power_of_two()),
                };
                (self.body.new_vreg(old.file, count, align), first)
            };
            self.register[leader as usize] = made;
        }
        let (reg, first) = self.register[leader as usize];
        RegUse::at(reg, cell - first, 1)
    }

    /// An operand's values as a register; where they share none, one that copies bring together.
    fn operand(
        &mut self,
        r: RegUse,
        values: &[Value],
        split: bool,
        copies: &mut Vec<InstId>,
    ) -> RegUse {
        let Some(id) = r.reg.vreg() else { return r };
        let of = |word: usize| (id, r.cell + word as u8);
        if !split {
            let place = self.place(values[0], of(0));
            return RegUse { count: r.count, flags: r.flags, ..place };
        }
        let file = r.reg.file();
        let new = self.body.new_vreg(file, r.count, r.count.next_power_of_two());
        let is_written = |writer: &Self, value| writer.unwritten.binary_search(value).is_err();
        let any = values.iter().any(|value| is_written(self, value));
        for (cell, value) in values.iter().enumerate() {
            let from = match is_written(self, value) {
                true => self.place(*value, of(cell)),
                // Nobody asks what was in it.
                false if any => continue,
                false => RegUse::new(Reg::zero(file)),
            };
            let to = RegUse::at(new, cell as u8, 1);
            copies.push(copy(self.body, to, from, Loc::default()));
        }
        RegUse { flags: r.flags, ..RegUse::wide(new, r.count) }
    }

    fn write(
        &mut self,
        values: &[Value],
        order: &[BlockId],
        touched: &[InstId],
        ties: &[(InstId, Tie)],
        split: &BitVec,
    ) {
        let renamed = self.renamed;
        let is_renamed =
            |r: RegUse| r.reg.vreg().is_some_and(|v| renamed.get(v.0 as usize).is_some_and(|r| *r));
        let (mut at, mut next_tie) = (0, 0);
        // Instructions, and what stands before them then.
        let mut before = scratch!(Vec<(InstId, InstId)>);
        let mut copies = scratch!(Vec<InstId>);
        let mut named = scratch!(Vec<RegUse>);
        let mut made = scratch!(Vec<RegUse>);
        let mut tied = scratch!(Vec<RegUse>);
        for id in touched {
            named.clear();
            let inst = self.body.inst(*id);
            named.push(RegUse::new(inst.guard.reg));
            inst.operands().for_each(|o| o.for_each_reg(|r| named.push(r)));
            named.retain(|r| is_renamed(*r));
            let mut next = |writer: &mut Self, r: RegUse, copies: &mut Vec<InstId>| {
                let count = writer.map.cells(r).len();
                let split = split.get(at).is_some_and(|s| *s);
                let made = writer.operand(r, &values[at..at + count], split, copies);
                at += count;
                made
            };
            made.clear();
            made.extend(named.iter().map(|r| next(self, *r, &mut copies)));
            tied.clear();
            while let Some((_, tie)) = ties.get(next_tie).filter(|(of, _)| of == id) {
                next_tie += 1;
                tied.push(match tie {
                    Tie::Register(r) => *r,
                    Tie::Values(r) => next(self, *r, &mut copies),
                });
            }
            let mut new = made.iter().copied();
            self.body.map_regs(*id, |r| if is_renamed(r) { new.next().unwrap_or(r) } else { r });
            if !tied.is_empty() {
                self.body.set_tied(*id, &tied);
            }
            before.extend(copies.drain(..).map(|copy| (*id, copy)));
        }
        if before.is_empty() {
            return;
        }
        // Each instruction is touched once, in the order of the walk.
        let mut before = before.iter().peekable();
        for block in order {
            self.body.rewrite(*block, |_, out, id| {
                while let Some((_, copy)) = before.next_if(|(of, _)| *of == id) {
                    out.keep(*copy);
                }
                out.keep(id);
            });
        }
    }

    fn write_phis(&mut self, phis: &[Phi], brought: &Lists<(Value, BlockId)>, dom: &Dominators) {
        let mut made = scratch!(Vec<(BlockId, InstId)>);
        let mut pairs = scratch!(Vec<(Option<RegUse>, BlockId)>);
        let mut ways = scratch!(Vec<(Value, BlockId)>);
        for (number, phi) in (0..).zip(phis).filter(|(_, phi)| phi.value != NONE) {
            let Some(of) = self.map.vreg(phi.cell) else { continue };
            let to = self.place(phi.value, of);
            ways.clear();
            ways.extend(brought.iter(number));
            pairs.clear();
            for (value, block) in ways.iter().rev() {
                let value = (*value != NONE).then(|| self.place(*value, of));
                pairs.push((value, *block));
            }
            // Ways that nothing takes bring nothing.
            for pred in self.body.block(phi.block).preds() {
                if !dom.is_reached(pred.0) {
                    pairs.push((None, *pred));
                }
            }
            let id = phis::new(self.body, to, &pairs);
            made.push((phi.block, id));
        }
        // Ids grow: those of a block stay in the order of its phis.
        made.sort_unstable();
        for of_block in made.chunk_by(|a, b| a.0 == b.0) {
            self.body.replace(of_block[0].0, 0..0, of_block.iter().map(|(_, id)| *id));
        }
    }
}

/// A copy of one cell.
pub(crate) fn copy(body: &mut Body<'_>, to: RegUse, from: RegUse, loc: Loc) -> InstId {
    let (to, from) = (Operand::Reg(to), Operand::Reg(from));
    match to.file() {
        Some(RegFile::P) => {
            let inst = crate::build::plop3(to, [from, Operand::PT, Operand::PT], 0x80);
            body.new_inst(&inst, loc)
        }
        _ => body.make(Opcode::MOV, &[], 1, &[to, from, Operand::Imm(0xf)], loc),
    }
}

#[cfg(test)]
mod tests;
