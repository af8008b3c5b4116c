//! Which instruction a value comes from, and how often it is read.

use crate::analysis::liveness::{Cell, CellMap};
use crate::effects;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Inst, InstId, Opcode, Operand, RegFlags, RegUse, View};
use smallvec::SmallVec;

/// Of a cell that more than one instruction writes: for good, whatever becomes of them.
const MANY: u32 = u32::MAX;

/// What writes each cell of a value, and how often it is read. Who changes an instruction says so
/// ([`Values::replace`], [`Values::changed`]), and what nobody reads then is dead.
pub(crate) struct Values<'m> {
    pub map: &'m CellMap,
    /// By cell: 1 + the instruction; 0 where there is none, [`MANY`] where there is more than one.
    writers: Scratch<Vec<u32>>,
    reads: Scratch<Vec<u32>>,
    /// By cell, whether a phi makes or takes it: what it becomes wants its register.
    of_phi: Scratch<Vec<bool>>,
    /// By instruction, those that nobody reads any more: their reads count no more, either. It ends
    /// where none is dead.
    dead: Scratch<Vec<bool>>,
    /// How many are dead.
    dead_count: usize,
    /// Instructions that are to be looked at.
    pub news: News,
    /// Those that have changed, some of them more than once.
    pub changes: Scratch<Vec<InstId>>,
    /// Threads of a CTA in each dimension, at most.
    pub threads: [u32; 3],
    /// Whether some cell is written more than once.
    pub is_rewritten: bool,
    /// Whether something that a phi makes or takes has lost a reader and kept others: these may be
    /// its own ones.
    pub may_circle: bool,
}

/// Instructions that have changed since the last look, if that is known, and those of this one.
#[derive(Default)]
pub(crate) struct News(Option<Scratch<Vec<bool>>>);

impl News {
    /// Since the body had this number.
    pub fn since(body: &Body<'_>, stamp: u64) -> News {
        let Some(changed) = body.changed_since(stamp) else { return News(None) };
        let mut news = scratch!(Vec<bool>; false; body.inst_count());
        changed.for_each(|id| news[id.0 as usize] = true);
        News(Some(news))
    }

    /// These, some of which may be gone.
    pub fn of(body: &Body<'_>, ids: &[InstId]) -> News {
        let mut news = scratch!(Vec<bool>; false; body.inst_count());
        ids.iter().for_each(|id| news[id.0 as usize] = true);
        News(Some(news))
    }

    /// Whether they are all instructions.
    pub fn are_all(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub fn has(&self, id: InstId) -> bool {
        self.0.as_ref().is_none_or(|news| news.get(id.0 as usize).is_none_or(|new| *new))
    }

    /// These, and what has changed since the body had a number.
    pub fn and_since(self, body: &Body<'_>, stamp: u64) -> News {
        let (Some(mut news), Some(changed)) = (self.0, body.changed_since(stamp)) else {
            return News(None);
        };
        let known = news.len();
        news.resize(body.inst_count(), true);
        changed.filter(|id| (id.0 as usize) < known).for_each(|id| news[id.0 as usize] = true);
        News(Some(news))
    }

    /// These too.
    pub fn and(mut self, ids: &[InstId]) -> News {
        ids.iter().for_each(|id| self.add(*id));
        self
    }

    pub fn add(&mut self, id: InstId) {
        if let Some(place) = self.0.as_mut().and_then(|news| news.get_mut(id.0 as usize)) {
            *place = true;
        }
    }
}

/// What an instruction reads, or read.
pub(crate) struct Reads(SmallVec<[RegUse; 8]>);

impl Reads {
    #[inline]
    pub fn of(inst: View<'_>) -> Reads {
        let mut reads = SmallVec::new();
        inst.for_each_use(|r| reads.push(r));
        Reads(reads)
    }
}

impl<'m> Values<'m> {
    /// Of all instructions, each of which is shown to `see`.
    pub fn of(
        body: &Body<'_>,
        map: &'m CellMap,
        mut see: impl FnMut(BlockId, InstId, View<'_>),
    ) -> Values<'m> {
        let mut writers = scratch!(Vec<u32>; 0; map.count());
        let mut reads = scratch!(Vec<u32>; 0; map.count());
        let mut again = scratch!(Vec<Cell>);
        let mut of_phi = scratch!(Vec<bool>; false; map.count());
        for block in body.layout() {
            for id in body.block(*block).insts() {
                let inst = body.inst(*id);
                see(*block, *id, inst);
                inst.for_each_def(|r| {
                    for cell in map.cells(r) {
                        let writer = &mut writers[cell as usize];
                        if *writer != 0 {
                            again.push(cell);
                        }
                        *writer = id.0 + 1;
                    }
                });
                inst.for_each_use(|r| map.cells(r).for_each(|cell| reads[cell as usize] += 1));
                if inst.op == Opcode::MOVPHI {
                    let mut mark = |r| map.cells(r).for_each(|cell| of_phi[cell as usize] = true);
                    inst.for_each_def(&mut mark);
                    inst.for_each_use(&mut mark);
                }
            }
        }
        again.iter().for_each(|cell| writers[*cell as usize] = MANY);
        Values {
            map,
            writers,
            reads,
            of_phi,
            dead: scratch!(Vec<bool>),
            dead_count: 0,
            news: News::default(),
            changes: scratch!(Vec<InstId>),
            threads: [1024, 1024, 64],
            is_rewritten: !again.is_empty(),
            may_circle: false,
        }
    }

    /// Whether one instruction writes the cell.
    pub fn is_single(&self, cell: Cell) -> bool {
        !matches!(self.writers[cell as usize], 0 | MANY)
    }

    fn cell(&self, r: RegUse) -> Option<usize> {
        self.map.cells(r).next().map(|cell| cell as usize)
    }

    /// The one instruction that writes a cell.
    pub fn writer(&self, r: RegUse) -> Option<InstId> {
        self.writer_of(self.map.cells(r).next()?)
    }

    fn writer_of(&self, cell: Cell) -> Option<InstId> {
        self.writers[cell as usize].checked_sub(1).filter(|_| self.is_single(cell)).map(InstId)
    }

    /// Whether any cell is read.
    pub fn is_read(&self, r: RegUse) -> bool {
        self.map.cells(r).any(|cell| self.reads[cell as usize] > 0)
    }

    /// Whether a phi makes or takes the cell, and something reads it.
    pub fn is_taken_by_phi(&self, cell: Cell) -> bool {
        self.of_phi[cell as usize] && self.reads[cell as usize] > 0
    }

    fn is_of_phi(&self, r: RegUse) -> bool {
        self.map.cells(r).any(|cell| self.of_phi[cell as usize])
    }

    /// Whether what an instruction reads may be read behind it, by one before which `before` stands
    /// in the block: what a phi makes and what it takes share a register as long as they are not
    /// needed at once, and copies cost more than is won.
    pub fn may_move(&self, body: &Body<'_>, id: InstId, before: &[InstId]) -> bool {
        if !self.reads_of_phi(body.inst(id)) {
            return true;
        }
        let Some(from) = before.iter().position(|before| *before == id) else { return false };
        !before[from + 1..].iter().any(|between| self.writes_of_phi(body.inst(*between)))
    }

    /// Whether an instruction reads what a phi makes or takes.
    pub fn reads_of_phi(&self, inst: View<'_>) -> bool {
        let mut reads = false;
        inst.for_each_use(|r| reads |= self.is_of_phi(r));
        reads
    }

    /// Whether it gives what a phi makes or takes.
    pub fn writes_of_phi(&self, inst: View<'_>) -> bool {
        let mut writes = false;
        inst.for_each_def(|r| writes |= self.is_of_phi(r));
        writes
    }

    /// How often a cell is read.
    pub fn reads(&self, r: RegUse) -> u32 {
        self.cell(r).map_or(0, |cell| self.reads[cell])
    }

    /// The same of a cell.
    pub fn reads_of(&self, cell: Cell) -> u32 {
        self.reads[cell as usize]
    }

    /// Whether nobody needs the instruction any more.
    #[inline]
    pub fn is_dead(&self, id: InstId) -> bool {
        self.dead.get(id.0 as usize).is_some_and(|dead| *dead)
    }

    /// Whether it writes something, and nothing that is read.
    #[inline]
    pub fn is_unread(&self, inst: View<'_>) -> bool {
        let mut is_read = inst.defs == 0;
        inst.for_each_def(|r| is_read |= self.is_read(r));
        !is_read
    }

    /// An instruction is to become another one.
    pub fn replace(&mut self, body: &mut Body<'_>, id: InstId, new: &Inst) {
        let old = Reads::of(body.inst(id));
        body.set_inst(id, new);
        self.changed(body, id, &old);
    }

    /// Several are to become others, each of which may read what only another of them did.
    pub fn replace_all(&mut self, body: &mut Body<'_>, news: &[(InstId, Inst)]) {
        let Values { map, reads, .. } = &mut *self;
        for (_, new) in news {
            new.for_each_use(|r| map.cells(r).for_each(|cell| reads[cell as usize] += 1));
        }
        for (id, new) in news {
            self.replace(body, *id, new);
        }
        let mut lost = SmallVec::new();
        for (_, new) in news {
            new.for_each_use(|r| self.unread(r, &mut lost));
        }
        self.bury(body, lost);
    }

    /// An instruction read this, and now another thing; it writes what it did and maybe more.
    pub fn changed(&mut self, body: &Body<'_>, id: InstId, Reads(old): &Reads) {
        let inst = body.inst(id);
        // What a dead one reads does not count.
        let was_dead = self.is_dead(id);
        let Values { map, writers, .. } = self;
        inst.for_each_def(|r| {
            for cell in map.cells(r) {
                let writer = &mut writers[cell as usize];
                *writer = if *writer == MANY { MANY } else { id.0 + 1 };
            }
        });
        let Reads(new) = &Reads::of(inst);
        let mut lost = SmallVec::new();
        if was_dead {
            // It lives again if it writes something more that is read.
            new.iter().for_each(|r| self.read(*r));
            if self.is_unread(inst) {
                new.iter().for_each(|r| self.unread(*r, &mut lost));
            } else {
                self.dead[id.0 as usize] = false;
                self.dead_count -= 1;
            }
        } else if new.len() == old.len() {
            // Most of it stays.
            let differ = || new.iter().zip(old).filter(|(new, old)| new != old);
            differ().for_each(|(new, _)| self.read(*new));
            differ().for_each(|(_, old)| self.unread(*old, &mut lost));
        } else {
            new.iter().for_each(|r| self.read(*r));
            old.iter().for_each(|r| self.unread(*r, &mut lost));
        }
        self.bury(body, lost);
        self.news.add(id);
        self.changes.push(id);
    }

    /// One reader more.
    fn read(&mut self, r: RegUse) {
        self.map.cells(r).for_each(|cell| self.reads[cell as usize] += 1);
    }

    /// Nobody needs an instruction, nor maybe what it reads.
    pub fn kill(&mut self, body: &Body<'_>, id: InstId) {
        let mut lost = SmallVec::new();
        self.mark(body, id, &mut lost);
        self.bury(body, lost);
    }

    /// An instruction is dead.
    fn mark(&mut self, body: &Body<'_>, id: InstId, lost: &mut SmallVec<[Cell; 8]>) {
        if self.dead.is_empty() {
            self.dead.resize(body.inst_count(), false);
        }
        self.dead[id.0 as usize] = true;
        self.dead_count += 1;
        body.inst(id).for_each_use(|r| self.unread(r, lost));
    }

    /// One reader less: adds the cells that have none left.
    fn unread(&mut self, r: RegUse, lost: &mut SmallVec<[Cell; 8]>) {
        for cell in self.map.cells(r) {
            let reads = &mut self.reads[cell as usize];
            *reads = reads.saturating_sub(1);
            if *reads == 0 {
                lost.push(cell);
            } else {
                self.may_circle |= self.of_phi[cell as usize];
            }
        }
    }

    /// Finds what nobody reads now that some cells have no readers any more.
    fn bury(&mut self, body: &Body<'_>, mut lost: SmallVec<[Cell; 8]>) {
        while let Some(cell) = lost.pop() {
            let Some(writer) = self.writer_of(cell) else { continue };
            let inst = body.inst(writer);
            if !self.is_dead(writer) && self.is_unread(inst) && effects::is_removable(inst) {
                self.mark(body, writer, &mut lost);
            }
        }
    }

    /// Removes what is dead.
    pub fn sweep(&mut self, body: &mut Body<'_>) {
        if std::mem::take(&mut self.dead_count) > 0 {
            for &block in body.walk().iter() {
                body.retain(block, |_, id| !self.is_dead(id));
            }
        }
    }
}

/// Whether it is one cell of a virtual register, without sign changes or a part.
pub(crate) fn plain(operand: &Operand) -> Option<RegUse> {
    match operand {
        Operand::Reg(r) if r.reg.vreg().is_some() && r.flags == RegFlags::NONE => Some(*r),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analyses;
    use crate::testing;
    use orias_components::text;
    use orias_targets::slots::MOV;

    const TWICE: &str = "
        BB0:
            %R0 = S2R SR33
            %R1 = MOV %R0, 0xf
            %R2 = MOV %R1, 0xf
            %R1 = MOV 0x7, 0xf
            STS [%R2], %R1
            EXIT PT";

    /// A dead one's operands had their reader taken away when it died, and no second time when it
    /// was made another one: a load that others still read went with it.
    #[test]
    fn a_dead_one_that_changes_takes_no_reader_away_again() {
        const DEAD: &str = "
            BB0:
                %R0 = S2R SR33
                %R1 = LDS [%R0]
                %R2 = MOV %R1, 0xf
                STS [%R0], %R1
                EXIT PT";
        let mut function = testing::function();
        let mut body = function.body();
        text::parse(DEAD, &mut body).expect("Ori");
        let map = Analyses::default().cells(&body);
        let mut values = Values::of(&body, &map, |_, _, _| {});
        values.kill(&body, InstId(2));
        let mut new = body.inst(InstId(2)).to_inst();
        new.operands[MOV::B] = Operand::Imm(3);
        values.replace(&mut body, InstId(2), &new);
        assert!(values.is_dead(InstId(2)));
        assert!(!values.is_dead(InstId(1)), "%R1 is stored");
    }

    #[test]
    fn what_two_write_has_no_one_writer_though_one_of_them_has_changed() {
        let mut function = testing::function();
        let mut body = function.body();
        text::parse(TWICE, &mut body).expect("Ori");
        let map = Analyses::default().cells(&body);
        let mut values = Values::of(&body, &map, |_, _, _| {});
        let result = |body: &Body<'_>, id| body.inst(InstId(id)).reg(0).expect("a register");
        assert_eq!(values.writer(result(&body, 2)), Some(InstId(2)));
        assert_eq!(values.writer(result(&body, 1)), None);
        let mut new = body.inst(InstId(1)).to_inst();
        new.operands[MOV::B] = Operand::Imm(3);
        values.replace(&mut body, InstId(1), &new);
        assert_eq!(values.writer(result(&body, 1)), None);
        assert!(values.is_dead(InstId(0)), "nobody reads %R0 any more");
        assert!(!values.is_dead(InstId(2)));
    }
}
