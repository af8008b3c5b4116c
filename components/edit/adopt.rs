//! Instructions of one body in another one.

use crate::body::Body;
use crate::ids::{BlockId, InstId};
use crate::mods::ModsId;
use crate::operand::RegUse;
use crate::work;

/// Copies instructions of one body to another one, which names registers and blocks otherwise.
#[derive(Default)]
pub struct Adopter {
    /// By number of a list of modifiers in the one body, that in the other one; the empty list
    /// where nobody has asked yet.
    mods: Vec<ModsId>,
}

impl Adopter {
    /// Makes an instruction that is in no block yet as one of another body is: place in the source,
    /// control fields and all. `reg` gives the new name of each register that it names, constant
    /// ones left out, of the same file and as wide, and `block` that of each block.
    ///
    /// The two bodies are the same ones whenever this is called.
    pub fn adopt(
        &mut self,
        body: &mut Body<'_>,
        (from, id): (&Body<'_>, InstId),
        mut reg: impl FnMut(RegUse) -> RegUse,
        mut block: impl FnMut(BlockId) -> BlockId,
    ) -> InstId {
        work::add(1);
        let mut renamed = |r: RegUse| if r.reg.vreg().is_some() { reg(r) } else { r };
        let mut row = *from.row(id);
        let (first, count) = (row.first as usize, row.len as usize + row.tied());
        let guard = row.guard();
        let arena = &mut *body.arena;
        if !guard.is_always() {
            let new = renamed(RegUse::new(guard.reg));
            arena.side.note(new);
            row.set_guard(crate::Guard { reg: new.reg, ..guard });
        }
        row.first = arena.operands.len() as u32;
        for word in &from.arena.operands[first..first + count] {
            let mut word = word.adopted(&from.arena.side, &mut arena.side);
            match word.as_block() {
                Some(of) => word = word.with_block(block(of)),
                None => word.map_regs(&mut arena.side, &mut renamed),
            }
            arena.operands.push(word);
        }
        row.mods = self.mods(body, from, row.mods);
        body.add(row, from.loc(id))
    }

    fn mods(&mut self, body: &mut Body<'_>, from: &Body<'_>, old: ModsId) -> ModsId {
        if old == ModsId::NONE {
            return old;
        }
        if self.mods.len() <= old.index() {
            self.mods.resize(from.arena.mods.len(), ModsId::NONE);
        }
        let new = &mut self.mods[old.index()];
        if *new == ModsId::NONE {
            *new = body.arena.mods.intern(from.arena.mods.get(old));
        }
        *new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, Function, Reg, VRegId, text};

    #[test]
    fn an_instruction_is_the_same_in_another_body() {
        let source = "
            BB0:
              @!%P0 BRA PT, BB1
              %R1:2, PT = IMAD.WIDE.U32 %R2, 0x1234567812345678, -%R3:2
              @%P0 %R4 = LDG.E.64 desc[%UR5:2], [%R1:2.64+0x10], PT else %R6
              %R7 = IADD3 c[0x0][0x210], %R4.H1_H1, RZ
              %R7 = LDC c[0x3][%R2+0x8]
            BB1:
              EXIT PT";
        let mut function = Function::default();
        let mut body = function.body();
        text::parse(source, &mut body).expect("Ori");
        let printed = |body: &Body<'_>| text::print(body, &text::Style::default());
        let first = printed(&body);
        let mut arena = Arena::default();
        let mut other = arena.alone();
        // Numbers of the other body begin elsewhere.
        let _ = other.new_detached_block();
        for v in (0..body.vreg_count()).rev() {
            let old = *body.vreg(VRegId(v as u32));
            other.new_vreg(old.file, old.cells, old.align);
        }
        let last = body.vreg_count() as u32 - 1;
        let turned = |r: RegUse| {
            let old = r.reg.vreg().map_or(0, |v| v.0);
            RegUse { reg: Reg::virt(r.reg.file(), VRegId(last - old)), ..r }
        };
        let mut adopter = Adopter::default();
        for block in body.layout() {
            let new = other.new_block();
            for id in body.block(*block).insts() {
                let of = (&body, *id);
                let id = adopter.adopt(&mut other, of, turned, |b| BlockId(b.0 + 1));
                other.append(new, id);
            }
        }
        let mut back = Function::default();
        let mut again = back.body();
        for v in 0..=last {
            let old = *body.vreg(VRegId(v));
            again.new_vreg(old.file, old.cells, old.align);
        }
        let mut adopter = Adopter::default();
        for block in other.layout() {
            let new = again.new_block();
            for id in other.block(*block).insts() {
                let of = (&other, *id);
                let id = adopter.adopt(&mut again, of, turned, |b| BlockId(b.0 - 1));
                again.append(new, id);
            }
        }
        assert_eq!(printed(&again), first);
        assert_ne!(printed(&other), first);
        again.replace_by([&arena].into_iter());
        assert_eq!((again.inst_count(), again.block_count(), again.vreg_count()), (0, 0, 0));
        assert_eq!(again.new_block(), BlockId(0));
    }
}
