//! Phase 86, `ConvertToUniformReg`: constants whose every reader takes a uniform register come by
//! ULDC, not by LDC.
//!
//! What holds afterwards: a register that one LDC from a fixed place of a constant bank defines,
//! and whose uses are all such that ptxas was seen to emit them with a uniform register there, is a
//! uniform register. ULDC needs no scoreboard and its result no general register. A value that a
//! reader wants in a general register (an address, a copy) stays there for all its readers: two
//! loads would be worse than one.
//!
//! A uniform register that lives from block to block is kept for that alone in the whole kernel
//! (`registers/uniform.rs`), so only so many do.

use super::webs;
use crate::analysis::Analyses;
use crate::function::FunctionInfo;
use crate::function::Options;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::scalar::replace::{exchange, exchangeable};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegUse, VRegId, View,
};
use orias_targets::Target;
use orias_targets::slots::{LDC, ULDC};
use smallvec::SmallVec;

/// Cells of uniform registers that constants may occupy from block to block: in a kernel, and in
/// one with calls, which leave few as they were. A function keeps none: between its blocks no
/// uniform register is safe.
const ROOM: [u8; 3] = [28, 8, 0];

/// A constant in a general register, and who reads it.
struct Constant {
    load: InstId,
    block: BlockId,
    cells: u8,
    /// Where its readers begin among all, and how many they are: each once, with its block.
    first: u32,
    count: u32,
}

/// Readers of constants.
type Readers = Scratch<Vec<(InstId, BlockId)>>;

/// Phase `ConvertToUniformReg`: loads constants into uniform registers where every reader takes
/// one.
pub fn convert_to_uniform_reg(
    code: Code<'_>,
    options: Read<'_, Options>,
    mut info: Write<'_, FunctionInfo>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let target = options.target;
    let mut body = code.body();
    let is_alone = info.entry && !body.facts().may_have(&[Opcode::PCALL]);
    if is_alone && body.facts().may_have(&webs::ROOTS) {
        let webs = webs::convert(&mut body, target, &mut analyses);
        info.shares_uniform = webs > 0;
        notes.count(webs);
    }
    let (found, readers) = constants(&body);
    if found.is_empty() {
        return;
    }
    let mut room =
        ROOM[if !info.entry { 2 } else { usize::from(body.facts().may_have(&[Opcode::PCALL])) }];
    let mut made = 0;
    let mut changed = scratch!(Vec<(InstId, Inst)>);
    for (reg, constant) in &found {
        let first = constant.first as usize;
        let readers = &readers[first..first + constant.count as usize];
        let long = readers.iter().any(|(_, block)| *block != constant.block);
        if readers.is_empty() || (long && constant.cells > room) {
            continue;
        }
        changed.clear();
        if with_uniform(&mut body, target, *reg, constant, readers, &mut changed).is_none() {
            continue;
        }
        if long {
            room -= constant.cells;
        }
        for (id, inst) in &changed {
            body.set_inst(*id, inst);
        }
        made += 1;
    }
    notes.count(made);
}

/// The registers that one LDC each defines whole, in the order of their loads.
fn constants(body: &Body<'_>) -> (Scratch<Vec<(VRegId, Constant)>>, Readers) {
    let mut found = scratch!(Vec<(VRegId, Constant)>);
    let mut readers = scratch!(Vec<(InstId, BlockId)>);
    for block in body.layout() {
        for id in body.block(*block).insts() {
            if let Some((v, cells)) = fixed_load(body, body.inst(*id)) {
                let constant = Constant { load: *id, block: *block, cells, first: 0, count: 0 };
                found.push((v, constant));
            }
        }
    }
    if found.is_empty() {
        return (found, readers);
    }
    // Who reads all the other registers nobody asks here. By register: 1 + its place in `found`.
    let mut place = scratch!(Vec<u32>; 0; body.vreg_count());
    for (n, (v, _)) in (1..).zip(found.iter()) {
        place[v.0 as usize] = n;
    }
    let mut writers = scratch!(Vec<u32>; 0; found.len());
    let mut all = scratch!(Vec<(u32, InstId, BlockId)>);
    let of = |r: RegUse| place[r.reg.vreg()?.0 as usize].checked_sub(1);
    for block in body.layout() {
        for id in body.block(*block).insts() {
            let inst = body.inst(*id);
            let start = all.len();
            inst.for_each_use(|r| {
                // One that names it twice is there once.
                if let Some(n) = of(r)
                    && all[start..].iter().all(|(known, ..)| *known != n)
                {
                    all.push((n, *id, *block));
                }
            });
            inst.for_each_def(|r| {
                if let Some(n) = of(r) {
                    writers[n as usize] += 1;
                }
            });
        }
    }
    for (n, ..) in all.iter() {
        found[*n as usize].1.count += 1;
    }
    let mut first = 0;
    for (_, constant) in &mut found {
        constant.first = first;
        first += std::mem::take(&mut constant.count);
    }
    readers.resize(all.len(), (InstId(0), BlockId(0)));
    for (n, id, block) in all.iter() {
        let constant = &mut found[*n as usize].1;
        readers[(constant.first + constant.count) as usize] = (*id, *block);
        constant.count += 1;
    }
    let mut writers = writers.iter();
    found.retain(|_| writers.next() == Some(&1));
    (found, readers)
}

/// The register that an instruction loads whole from a fixed place of a constant bank, and its
/// cells.
fn fixed_load(body: &Body<'_>, inst: View<'_>) -> Option<(VRegId, u8)> {
    if inst.op != Opcode::LDC || inst.len() != LDC::COUNT {
        return None;
    }
    let (Operand::Reg(to), Operand::Const(from)) = (inst.operand(LDC::D), inst.operand(LDC::A))
    else {
        return None;
    };
    let v = to.reg.vreg()?;
    let fixed = from.base == Reg::RZ && !from.is_bindless();
    let words = match inst.mods().as_slice() {
        [] => 1,
        [Mod::_64] => 2,
        _ => return None,
    };
    let vreg = body.vreg(v);
    let whole = to.cell == 0 && to.count == words && vreg.cells == words;
    let plain = inst.op == Opcode::LDC && inst.guard.is_always() && vreg.file == RegFile::R;
    (plain && fixed && whole).then_some((v, words))
}

/// The load and all readers with a uniform register in the place of `from`, where each is one that
/// code may have.
fn with_uniform(
    body: &mut Body<'_>,
    target: &Target,
    from: VRegId,
    constant: &Constant,
    readers: &[(InstId, BlockId)],
    changed: &mut Vec<(InstId, Inst)>,
) -> Option<()> {
    let old = Reg::virt(RegFile::R, from);
    // A stand-in until all readers agree: registers cannot be taken back.
    let trial = Reg::phys(RegFile::UR, 4);
    for (id, _) in readers {
        let inst = body.inst(*id);
        // A copy is there because its result lives on in a general register.
        if inst.op.is_pseudo() || inst.op == Opcode::MOV || inst.op.is_branch() {
            return None;
        }
        changed.push((*id, inst.to_inst()));
        changed.last_mut().and_then(|(_, inst)| rename(inst, target, old, trial))?;
    }
    let mut load = body.inst(constant.load).to_inst();
    load.op = Opcode::ULDC;
    let to = Operand::Reg(RegUse::wide(trial, constant.cells));
    load.operands[ULDC::UD] = to;
    target.takes(&load)?;
    changed.push((constant.load, load));
    let new = body.new_vreg(RegFile::UR, constant.cells, constant.cells);
    for (_, inst) in changed {
        for operand in &mut inst.operands {
            operand.map_regs(|r| if r.reg == trial { RegUse { reg: new, ..r } } else { r });
        }
    }
    Some(())
}

/// Puts `new` in the place of `old`, if code may have the instruction so.
fn rename(changed: &mut Inst, target: &Target, old: Reg, new: Reg) -> Option<()> {
    let mut places: SmallVec<[usize; 4]> = SmallVec::new();
    for (i, operand) in changed.operands.iter_mut().enumerate() {
        match operand {
            Operand::Reg(r) | Operand::Part(r, _) if r.reg == old => {
                r.reg = new;
                places.push(i);
            }
            other => {
                let mut elsewhere = false;
                other.for_each_reg(|r| elsewhere |= r.reg == old);
                if elsewhere {
                    return None;
                }
            }
        }
    }
    if target.takes(changed).is_some() {
        return Some(());
    }
    // The second source takes uniform registers where the others do not.
    let [at] = places[..] else { return None };
    let other = exchangeable(changed.op, changed.defs as usize, at)?;
    exchange(changed, at, other);
    target.takes(changed).map(|_| ())
}
