//! Who reads and who writes each virtual register: in SSA form what a value goes to and comes from,
//! elsewhere all that may.

use orias_components::lists::Lists;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, InstId, VRegId};

/// A place where a register is named, with its block.
pub type Place = (InstId, BlockId);

/// By register its readers and writers, from the layout's last on. An instruction that names a
/// register twice is there twice.
#[derive(Clone, PartialEq, Debug)]
pub struct Uses {
    readers: Scratch<Lists<Place>>,
    writers: Scratch<Lists<Place>>,
}

impl Uses {
    pub(super) fn new(body: &Body<'_>) -> Uses {
        let count = body.vreg_count();
        let mut readers = scratch!(Lists<Place>).of(count);
        let mut writers = scratch!(Lists<Place>).of(count);
        for block in body.layout() {
            for id in body.block(*block).insts() {
                let inst = body.inst(*id);
                inst.for_each_use(|r| {
                    if let Some(v) = r.reg.vreg() {
                        readers.push(v.0, (*id, *block));
                    }
                });
                inst.for_each_def(|r| {
                    if let Some(v) = r.reg.vreg() {
                        writers.push(v.0, (*id, *block));
                    }
                });
            }
        }
        Uses { readers, writers }
    }

    /// Where a register is read.
    pub fn readers(&self, reg: VRegId) -> impl Iterator<Item = Place> + '_ {
        self.readers.iter(reg.0)
    }

    /// Where a register is written.
    pub fn writers(&self, reg: VRegId) -> impl Iterator<Item = Place> + '_ {
        self.writers.iter(reg.0)
    }

    /// The one place that writes a register.
    pub fn only_writer(&self, reg: VRegId) -> Option<Place> {
        let mut writers = self.writers.iter(reg.0);
        let last = writers.next();
        last.filter(|_| writers.next().is_none())
    }

    /// [`Uses::readers`] for a walk that borrows nothing between its steps: where it begins.
    pub fn first_reader(&self, reg: VRegId) -> u32 {
        self.readers.first(reg.0)
    }

    /// The reader at a place of such a walk, and the next place; None at the end.
    pub fn reader(&self, at: u32) -> Option<(Place, u32)> {
        self.readers.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_register_knows_who_names_it() {
        let mut function = testing::parse(
            "BB0:
              %R0 = S2R SR33
              %R1 = MOV %R0, 0xf
              %P2, PT = ISETP.NE.AND %R1, %R1, PT
              @%P2 BRA PT, BB2
            BB1:
              %R1 = MOV %R0, 0xf
            BB2:
              EXIT PT",
        );
        let uses = Uses::new(&function.body());
        let readers = |v| uses.readers(VRegId(v)).map(|(id, block)| (id.0, block.0));
        assert_eq!(readers(0).collect::<Vec<_>>(), [(4, 1), (1, 0)]);
        assert_eq!(readers(1).collect::<Vec<_>>(), [(2, 0), (2, 0)], "once for each operand");
        assert_eq!(readers(2).collect::<Vec<_>>(), [(3, 0)], "a guard is read");
        assert_eq!(uses.only_writer(VRegId(0)), Some((InstId(0), BlockId(0))));
        assert_eq!(uses.only_writer(VRegId(1)), None, "two write it");
    }
}
