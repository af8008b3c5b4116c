//! Uniform registers that hold values only within a block.
//!
//! A uniform register exists once for a warp. A kernel writes those that live long at its start,
//! where all threads are together. A function may be called by some of the threads while others are
//! in the midst of another call, or of this one, and run whenever those wait: between the blocks of
//! a function no uniform register is safe. (Observed: ptxas 13.0.88 keeps such values in general
//! registers there, and moves them with R2UR in each block.) So each block makes again what needs
//! no register, and takes the rest from a general register; a call ends a block in this.
//!
//! For a kernel the same helps where there are too few uniform registers, and for uniform
//! predicates, of which no function keeps any: over a call they are ordinary predicates.

use crate::analysis::Analyses;
use crate::analysis::liveness::Liveness;
use crate::effects::may_be_repeated;
use orias_components::{
    Body, Inst, InstId, Loc, Mod, Opcode, Operand, Reg, RegFile, RegUse, Rewrite, VRegId, View,
};
use rustc_hash::FxHashMap;

/// Where a block gets a value from.
#[derive(Clone, Debug)]
enum Home {
    /// This instruction makes it again.
    Again(Box<Inst>),
    /// A general register for each cell, or a predicate.
    General(Reg),
}

/// Cells of uniform registers that may live from block to block in a kernel, without calls and with
/// them: each takes one for the whole of the kernel, and blocks need some for what lives shortly.
/// Calls leave 15 as they were.
const ROOM: [u32; 2] = [44, 12];

/// Whether more values want to live long than there is room for.
pub fn is_crowded(body: &Body<'_>, analyses: &mut Analyses) -> bool {
    let all = (0..body.vreg_count() as u32).map(|v| body.vreg(VRegId(v)));
    let cells: u32 = all.filter(|v| v.file == RegFile::UR).map(|v| u32::from(v.cells)).sum();
    let room = ROOM[usize::from(body.facts().may_have(&[Opcode::PCALL]))];
    if cells <= room {
        return false;
    }
    let liveness = analyses.liveness(body);
    let long = (0..body.vreg_count() as u32).map(VRegId).filter(|id| crosses(body, &liveness, *id));
    let long = long.filter(|id| body.vreg(*id).file == RegFile::UR);
    let cells: u32 = long.map(|id| u32::from(body.vreg(id).cells)).sum();
    cells > room
}

/// Whether a kernel has uniform predicates and calls, which may change them all.
pub fn may_lose_predicates(body: &Body<'_>) -> bool {
    let mut all = (0..body.vreg_count() as u32).map(|v| body.vreg(VRegId(v)));
    body.facts().may_have(&[Opcode::PCALL]) && all.any(|v| v.file == RegFile::UP)
}

/// Whether a register holds a value from one block to another.
fn crosses(body: &Body<'_>, liveness: &Liveness, id: VRegId) -> bool {
    let first = liveness.map.first(id);
    let mut cells = first..first + u32::from(body.vreg(id).cells);
    cells.any(|c| liveness.may_cross_blocks(c))
}

/// Rewrites the body's registers of these uniform files; returns how many were cut up.
pub fn keep_within_blocks(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    files: &[RegFile],
) -> usize {
    let homes = homes(body, analyses, files);
    if homes.is_empty() {
        return 0;
    }
    for &block in body.walk().iter() {
        // What stands for each value here.
        let mut here: FxHashMap<VRegId, Reg> = FxHashMap::default();
        body.rewrite(block, |body, out, id| rewrite(body, &homes, &mut here, id, out));
    }
    homes.len()
}

/// The registers that live longer than a block or over a call, with their homes.
fn homes(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    files: &[RegFile],
) -> FxHashMap<VRegId, Home> {
    let (liveness, uses) = (analyses.liveness(body), analyses.uses(body));
    let mut long = vec![false; body.vreg_count()];
    let is_uniform =
        |body: &Body<'_>, r: RegUse| r.reg.vreg().filter(|v| files.contains(&body.vreg(*v).file));
    for block in body.layout() {
        // By register: its definition in this block comes after the last call.
        let mut fresh: FxHashMap<VRegId, bool> = FxHashMap::default();
        for id in body.block(*block).insts() {
            let inst = body.inst(*id);
            inst.for_each_use(|r| {
                if let Some(v) = is_uniform(body, r)
                    && fresh.get(&v) != Some(&true)
                {
                    long[v.0 as usize] = true;
                }
            });
            if inst.op == Opcode::PCALL {
                fresh.clear();
            }
            inst.for_each_def(|r| {
                if let Some(v) = is_uniform(body, r) {
                    fresh.insert(v, true);
                }
            });
        }
    }
    let mut homes = FxHashMap::default();
    for id in (0..body.vreg_count() as u32).map(VRegId) {
        let vreg = *body.vreg(id);
        if !files.contains(&vreg.file) || (!crosses(body, &liveness, id) && !long[id.0 as usize]) {
            continue;
        }
        let home = match uses.only_writer(id) {
            Some((one, _)) if is_free(body.inst(one)) => {
                Home::Again(Box::new(body.inst(one).to_inst()))
            }
            _ if vreg.file == RegFile::UP => Home::General(body.new_vreg(RegFile::P, 1, 1)),
            _ => Home::General(body.new_vreg(RegFile::R, vreg.cells, vreg.align)),
        };
        homes.insert(id, home);
    }
    homes
}

/// Whether an instruction is made again where its value is wanted.
fn is_free(inst: View<'_>) -> bool {
    matches!(inst.op, Opcode::ULDC | Opcode::UMOV | Opcode::S2UR) && may_be_repeated(inst)
}

fn rewrite(
    body: &mut Body<'_>,
    homes: &FxHashMap<VRegId, Home>,
    here: &mut FxHashMap<VRegId, Reg>,
    id: InstId,
    out: &mut Rewrite,
) {
    let mut inst = body.inst(id).to_inst();
    let loc = body.loc(id);
    let mut uses: Vec<VRegId> = Vec::new();
    let mut note = |r: RegUse| uses.extend(r.reg.vreg().filter(|v| homes.contains_key(v)));
    inst.for_each_use(&mut note);
    // Under a guard the old value stays: it must be there.
    if !inst.guard.is_always() {
        inst.for_each_def(&mut note);
    }
    for v in uses {
        here.entry(v).or_insert_with(|| fetch(body, &homes[&v], v, loc, out));
    }
    let mut defined: Vec<VRegId> = Vec::new();
    inst.for_each_def(|r| defined.extend(r.reg.vreg().filter(|v| homes.contains_key(v))));
    for v in &defined {
        // A definition of some cells leaves the others as they are.
        here.entry(*v).or_insert_with(|| {
            let vreg = *body.vreg(*v);
            body.new_vreg(vreg.file, vreg.cells, vreg.align)
        });
    }
    inst.map_regs(|r| {
        let local = r.reg.vreg().and_then(|v| here.get(&v));
        local.map_or(r, |reg| RegUse { reg: *reg, ..r })
    });
    let calls = inst.op == Opcode::PCALL;
    body.set_inst(id, &inst);
    out.keep(id);
    let mut stored: Vec<(VRegId, RegUse)> = Vec::new();
    inst.for_each_def(|r| {
        let of = here.iter().find(|(_, reg)| **reg == r.reg).map(|(v, _)| *v);
        stored.extend(of.filter(|v| defined.contains(v)).map(|v| (v, r)));
    });
    for (v, r) in stored {
        if let Home::General(general) = &homes[&v] {
            for cell in r.cell..r.cell + r.count {
                let to = Operand::Reg(RegUse::at(*general, cell, 1));
                let from = Operand::Reg(RegUse::at(r.reg, cell, 1));
                let made = if r.reg.file() == RegFile::UP {
                    let (pt, table) = (Operand::PT, Operand::Imm(0x80));
                    let operands = [to, pt, pt, pt, from, table, Operand::Imm(0)];
                    Inst::new(Opcode::PLOP3, &[Mod::LUT], 2, &operands)
                } else {
                    Inst::new(Opcode::MOV, &[], 1, &[to, from, Operand::Imm(0xf)])
                };
                out.put(body, &Inst { guard: inst.guard, ..made }, loc);
            }
        }
    }
    if calls {
        here.clear();
    }
}

/// Brings a value into uniform registers of the block's own.
fn fetch(body: &mut Body<'_>, home: &Home, v: VRegId, loc: Loc, out: &mut Rewrite) -> Reg {
    let vreg = *body.vreg(v);
    let reg = body.new_vreg(vreg.file, vreg.cells, vreg.align);
    match home {
        // All lanes have the same.
        Home::General(predicate) if vreg.file == RegFile::UP => {
            let operands = [Operand::URZ, Operand::reg(reg), Operand::reg(*predicate)];
            let copy = Inst::new(Opcode::VOTEU, &[Mod::ANY], 2, &operands);
            out.put(body, &copy, loc);
        }
        Home::Again(inst) => {
            let mut inst = inst.clone();
            if let Some(Operand::Reg(def)) = inst.operands.first_mut() {
                def.reg = reg;
            }
            out.put(body, &inst, loc);
        }
        Home::General(general) => {
            for cell in 0..vreg.cells {
                let operands = [
                    Operand::PT,
                    Operand::Reg(RegUse::at(reg, cell, 1)),
                    Operand::Reg(RegUse::at(*general, cell, 1)),
                ];
                let copy = Inst::new(Opcode::R2UR, &[] as &[Mod], 2, &operands);
                out.put(body, &copy, loc);
            }
        }
    }
    reg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use orias_components::text;

    #[test]
    fn each_block_makes_or_fetches_its_own() {
        let mut function = testing::function();
        let mut body = function.body();
        let input = "
            BB0:
              %UR0:2 = ULDC.64 c[0x0][0x208]
              %UR2 = S2UR SR136
              %UR3 = USHF.L.U32 %UR2, 0x18, URZ
              @P0 BRA PT, BB2
            BB1:
              R0 = PCALL
              R4 = LDG desc[%UR0:2], [R4:2]
            BB2:
              STS [%UR3], R4
              EXIT PT";
        text::parse(input, &mut body).expect("Ori");
        body.update_edges();
        assert_eq!(keep_within_blocks(&mut body, &mut Analyses::default(), &[RegFile::UR]), 2);
        let printed = text::print(&body, &text::Style::default());
        assert_eq!(printed.matches("ULDC").count(), 2, "{printed}");
        assert_eq!(printed.matches("R2UR").count(), 1, "{printed}");
        assert_eq!(printed.matches("S2UR").count(), 1, "{printed}");
    }

    #[test]
    fn a_uniform_predicate_is_an_ordinary_one_over_a_call() {
        let mut function = testing::function();
        let mut body = function.body();
        let input = "
            BB0:
              URZ, %UP0 = VOTEU.ANY P0
              R0 = PCALL
              R24:4 = HGMMA.64x8x16.F32 desc[UR8:4], R24:4, %UP0, 0x7
              EXIT PT";
        text::parse(input, &mut body).expect("Ori");
        body.update_edges();
        assert!(may_lose_predicates(&body));
        assert_eq!(keep_within_blocks(&mut body, &mut Analyses::default(), &[RegFile::UP]), 1);
        let printed = text::print(&body, &text::Style::default());
        let lines: Vec<&str> = printed.lines().map(str::trim).collect();
        assert!(lines[2].ends_with("PLOP3.LUT PT, PT, %UP2, 0x80, 0x0"), "{printed}");
        assert!(lines[4].contains("VOTEU.ANY %P1"), "{printed}");
    }
}
