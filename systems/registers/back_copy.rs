//! OriBackCopyPropagate: a value that is made only to be copied is made in its destination.
//!
//! ```text
//! %R5 = IADD3 %R1, %R2, RZ              %R9 = IADD3 %R1, %R2, RZ
//! …                              =>     …
//! %R9 = MOV %R5
//! ```
//!
//! Holds where the value has one definition and no reader but its copies (one for each cell, all to
//! one register, cells in the same order), all in one block, and nothing between definition and
//! copy touches the destination. Halves of pairs and the pieces of vectors for wide loads and
//! stores are made in their place this way before scheduling sees a copy.
//!
//! Registers of collectives are left alone: they can be neither spilled nor split, so a predicate
//! among them that lived over a call, as the value that it is copied from may, would find no
//! register.

use crate::effects::{as_copy, may_copy};
use crate::notes::Notes;
use crate::sync::collective;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Code, InstId, Operand, RegUse, VRegId, View};
use smallvec::SmallVec;

/// Where one register is defined and read: all that matters of it here.
#[derive(Clone, Copy, Default)]
struct Accesses {
    /// Definitions, and the last of them: block and place in it.
    defs: u32,
    def: (u32, u32),
    /// Readers that are copies of one of its cells without guard, and all readers.
    copies: u32,
    uses: u32,
    /// Named by collectives.
    shared: bool,
}

/// The phase.
pub fn ori_back_copy_propagate(code: Code<'_>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let mut insts = body.layout().iter().flat_map(|block| body.block(*block).insts());
    if !insts.any(|id| may_copy(body.op(*id))) {
        return;
    }
    let mut accesses = accesses(&body);
    let mut made = 0;
    let mut gone = scratch!(Vec<InstId>);
    for &block in body.walk().iter() {
        // Rewriting one chain can make the next one possible: from the end, the last link first.
        let insts = body.walk_in(block);
        gone.clear();
        for at in (0..insts.len()).rev() {
            if let Some(copies) = copies_of(&body, block, &insts, at, &accesses) {
                let from = copies.source;
                rename_def(&mut body, insts[copies.def], from, copies.to);
                accesses[from.0 as usize] = Accesses::default();
                gone.extend(copies.places.iter().map(|at| insts[*at]));
                made += copies.places.len();
                let to = copies.to.reg.vreg().map(|v| &mut accesses[v.0 as usize]);
                if let Some(to) = to {
                    to.defs = to.defs + 1 - copies.places.len() as u32;
                    to.def = (block.0, copies.def as u32);
                }
            }
        }
        if !gone.is_empty() {
            gone.sort_unstable();
            body.retain(block, |_, id| gone.binary_search(&id).is_err());
        }
    }
    notes.count(made);
}

fn accesses(body: &Body<'_>) -> Scratch<Vec<Accesses>> {
    let mut all = scratch!(Vec<Accesses>; Accesses::default(); body.vreg_count());
    for &block in body.layout() {
        for (at, &id) in body.block(block).insts().iter().enumerate() {
            let inst = body.inst(id);
            inst.for_each_def(|r| {
                if let Some(v) = r.reg.vreg() {
                    all[v.0 as usize].defs += 1;
                    all[v.0 as usize].def = (block.0, at as u32);
                }
            });
            let copy = inst.guard.is_always() && as_copy(inst).is_some();
            inst.for_each_use(|r| {
                if let Some(v) = r.reg.vreg() {
                    all[v.0 as usize].uses += 1;
                    all[v.0 as usize].copies += u32::from(copy);
                }
            });
        }
    }
    for v in &collective::shared_registers(body) {
        all[v.0 as usize].shared = true;
    }
    all
}

/// A definition whose copies can go.
struct Chain {
    source: VRegId,
    /// Place of the definition in the block.
    def: usize,
    /// Places of the copies.
    places: SmallVec<[usize; 4]>,
    /// The cells of the destination that take the source's.
    to: RegUse,
}

/// The chain that ends with the copy at `last`, if there is one.
fn copies_of(
    body: &Body<'_>,
    block: BlockId,
    insts: &[InstId],
    last: usize,
    accesses: &[Accesses],
) -> Option<Chain> {
    let inst = body.inst(insts[last]);
    let copy = as_copy(inst).filter(|_| inst.guard.is_always())?;
    let (source, dest) = (copy.from.reg.vreg()?, copy.to.reg.vreg()?);
    let (from, to) = (body.vreg(source), body.vreg(dest));
    let known = accesses[source.0 as usize];
    if accesses[dest.0 as usize].shared {
        return None;
    }
    let def = known.def.1 as usize;
    let single = known.defs == 1 && known.uses == known.copies && known.def.0 == block.0;
    let first = copy.to.cell.checked_sub(copy.from.cell)?;
    let fits = first + from.cells <= to.cells
        && first % from.align.max(1) == 0
        && to.align >= from.align
        && from.assigned.is_none();
    let whole = known.copies == u32::from(from.cells);
    if !single || !fits || !whole || source == dest || def >= last {
        return None;
    }
    let target = RegUse::at(copy.to.reg, first, from.cells);
    // Back from the last copy to the definition: nothing but the copies may touch the destination's
    // cells.
    let mut places = SmallVec::new();
    for at in (def + 1..=last).rev() {
        let inst = body.inst(insts[at]);
        let here = as_copy(inst).filter(|c| c.from.reg == copy.from.reg);
        match here {
            Some(c) if c.to.reg == copy.to.reg && c.to.cell == first + c.from.cell => {
                places.push(at);
            }
            Some(_) => return None,
            None if touches(inst, target) => return None,
            None => {}
        }
    }
    let makes = makes_whole(body.inst(insts[def]), source, from.cells, target);
    (places.len() == usize::from(from.cells) && makes).then_some(Chain {
        source,
        def,
        places,
        to: target,
    })
}

fn meet(a: RegUse, b: RegUse) -> bool {
    a.reg == b.reg && a.cell < b.cell + b.count && b.cell < a.cell + a.count
}

fn touches(inst: View<'_>, cells: RegUse) -> bool {
    let mut hit = false;
    inst.for_each_def(|r| hit |= meet(r, cells));
    inst.for_each_use(|r| hit |= meet(r, cells));
    hit
}

/// Whether an instruction makes all cells of `source` at once, always, and nothing of the target.
fn makes_whole(inst: View<'_>, source: VRegId, cells: u8, target: RegUse) -> bool {
    let mut whole = false;
    let mut clash = false;
    inst.for_each_def(|r| {
        whole |= r.reg.vreg() == Some(source) && r.cell == 0 && r.count == cells;
        clash |= meet(r, target);
    });
    whole && !clash && inst.guard.is_always()
}

fn rename_def(body: &mut Body<'_>, id: InstId, source: VRegId, to: RegUse) {
    let mut inst = body.inst_mut(id);
    let defs = inst.defs as usize;
    for operand in &mut inst.operands[..defs] {
        if let Operand::Reg(r) | Operand::Part(r, _) = operand
            && r.reg.vreg() == Some(source)
        {
            *r = RegUse { flags: r.flags, ..to };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::cfg;
    use crate::testing;
    use orias_components::text;

    /// Runs the phase on a body in text form; the text after it.
    fn after(input: &str) -> Vec<String> {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).expect("Ori");
        function.run(cfg::analyze_control_flow);
        function.run(ori_back_copy_propagate);
        let printed = text::print(&function.body(), &text::Style::default());
        let lines = printed.lines().map(|l| l.split("//").next().unwrap_or("").trim().to_string());
        lines.filter(|l| !l.is_empty()).collect()
    }

    fn expect(input: &str, output: &str) {
        let expected: Vec<&str> = output.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        assert_eq!(after(input), expected, "from\n{input}");
    }

    #[test]
    fn a_value_is_made_where_it_is_copied_to() {
        expect(
            "BB0:
                %R3 = VIADD %R1, 0x4
                STS [RZ], %R2
                %R2 = MOV %R3, 0xf
                STS [RZ], %R2",
            "BB0:
                %R3 = VIADD %R1, 0x4
                STS [RZ], %R2
                %R2 = MOV %R3, 0xf
                STS [RZ], %R2",
        );
        expect(
            "BB0:
                %R3 = VIADD %R2, 0x4
                %R2 = MOV %R3, 0xf
                STS [RZ], %R2",
            "BB0:
                %R2 = VIADD %R2, 0x4
                STS [RZ], %R2",
        );
    }

    #[test]
    fn a_register_of_a_collective_is_copied_to() {
        let text = "BB0:
                %P3 = ISETP.NE.AND PT, %R1, RZ, PT
                %R8 = VIADD %R1, 0x4
                %P2, PT = PLOP3.LUT %P3, PT, PT, 0x80, 0x0
                WARPSYNC.COLLECTIVE %R1, BB1
                %R5 = VOTE.ANY PT, %P2
                ENDCOLLECTIVE
            BB1:
                EXIT";
        expect(text, text);
    }

    #[test]
    fn halves_of_a_pair_are_made_in_it() {
        expect(
            "BB0:
                %R3 = VIADD %R1, 0x4
                %R4 = VIADD %R1, 0x8
                %R2 = MOV %R3, 0xf
                %R2[1] = MOV %R4, 0xf
                STS.64 [RZ], %R2:2",
            "BB0:
                %R2 = VIADD %R1, 0x4
                %R2[1] = VIADD %R1, 0x8
                STS.64 [RZ], %R2:2",
        );
    }

    #[test]
    fn a_pair_copied_cell_by_cell_is_made_at_its_destination() {
        expect(
            "BB0:
                %R3:2 = LDS.64 [RZ]
                %R2 = MOV %R3, 0xf
                %R2[1] = MOV %R3[1], 0xf
                STS.64 [RZ], %R2:2",
            "BB0:
                %R2:2 = LDS.64 [RZ]
                STS.64 [RZ], %R2:2",
        );
    }

    #[test]
    fn another_reader_or_a_crossed_copy_keeps_the_value() {
        for input in [
            "BB0:
                %R3 = VIADD %R1, 0x4
                %R2 = MOV %R3, 0xf
                STS [%R3], %R2",
            "BB0:
                %R3:2 = LDS.64 [RZ]
                %R2 = MOV %R3[1], 0xf
                %R2[1] = MOV %R3, 0xf
                STS.64 [RZ], %R2:2",
            "BB0:
                @%P4 %R3 = VIADD %R1, 0x4
                %R2 = MOV %R3, 0xf
                STS [RZ], %R2",
            "BB0:
                %R3 = VIADD %R1, 0x4
                @%P4 %R2 = MOV %R3, 0xf
                STS [RZ], %R2",
        ] {
            expect(input, input);
        }
    }

    #[test]
    fn a_chain_of_copies_goes_to_its_end() {
        expect(
            "BB0:
                %R3 = VIADD %R1, 0x4
                %R4 = MOV %R3, 0xf
                %R5 = MOV %R4, 0xf
                STS [RZ], %R5",
            "BB0:
                %R5 = VIADD %R1, 0x4
                STS [RZ], %R5",
        );
    }
}
