//! Common subexpressions within a block: local value numbering.
//!
//! Phase `GvnCse` in the reference works on the whole function; this one looks at one block at a time, where registers with
//! several definitions are no trouble: an expression is known as long as neither its operands nor its result are written.

use crate::analysis::liveness::CellMap;
use crate::notes::Notes;
use orias_components::{
    Body, Code, Inst, InstId, Mod, Mods, Opcode, Operand, Props, RegFile, RegFlags, RegUse, View,
};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// An expression: the same key gives the same value.
type Key = (Opcode, Mods, SmallVec<[Operand; 6]>);

/// Phase `GvnCse`: a value that is computed again becomes a copy of the first.
pub fn local_value_numbering(code: Code<'_, '_>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let map = CellMap::new(&body);
    let mut found = 0;
    // When each cell was written last; what is known was true at a time, and is as long as nothing was written since.
    let mut written = vec![0u32; map.count()];
    let mut now = 0;
    let mut insts = Vec::new();
    let mut known: FxHashMap<Key, (RegUse, u32)> = FxHashMap::default();
    for block in body.layout().to_vec() {
        known.clear();
        insts.clone_from(&body.block(block).insts);
        for &id in &insts {
            now += 1;
            let key = expression(body.inst(id));
            let entry = key.as_ref().and_then(|(key, _)| known.get(key).copied());
            let entry = entry.zip(key.as_ref());
            let entry =
                entry.filter(|(e, (key, _))| holds(&map, &written, key, *e)).map(|(e, _)| e);
            if let (Some((_, to)), Some((from, _))) = (&key, entry)
                && to.count == from.count
                && (to.reg != from.reg || to.cell == from.cell)
            {
                found += 1;
                become_copy(&mut body, block, id, *to, from);
            }
            let mut write = |r: RegUse| map.cells(r).for_each(|c| written[c as usize] = now);
            body.inst(id).for_each_def(&mut write);
            let Some((key, to)) = key else { continue };
            write(to);
            // An expression that overwrites its own operand is no longer known; one that is known stays so.
            let mut own = false;
            for o in &key.2 {
                o.for_each_reg(|r| own |= map.cells(r).any(|c| written[c as usize] == now));
            }
            if !own && !entry.is_some_and(|e| holds(&map, &written, &key, e)) {
                known.insert(key, (to, now));
            }
        }
    }
    notes.count(found);
}

/// Phase `LateOriCommoning`: the same for what came since, mostly of macro instructions. A system of its own, for there is something new
/// even where the first found nothing.
pub fn late_commoning(code: Code<'_, '_>, notes: Notes<'_>) {
    local_value_numbering(code, notes);
}

/// Whether nothing has written an expression's operands, or the register with its value, since it was made.
fn holds(map: &CellMap, written: &[u32], key: &Key, (to, since): (RegUse, u32)) -> bool {
    let is_old = |r: RegUse| map.cells(r).all(|c| written[c as usize] <= since);
    let mut all = is_old(to);
    for operand in &key.2 {
        operand.for_each_reg(|r| all &= is_old(r));
    }
    all
}

/// The instruction as an expression with one result in file R, when it is one.
fn expression(inst: View<'_>) -> Option<(Key, RegUse)> {
    let constant_load = inst.op == Opcode::LDC;
    let excluded = Props::EFFECT.with(Props::STORE).with(Props::BRANCH).with(Props::CONVERGENT);
    let is_known = !inst.op.has(Props::PSEUDO) || inst.op.has(Props::MACRO);
    let pure = !inst.op.has(excluded) && is_known && !inst.op.has(Props::UNIFORM);
    // A clock is read anew each time; a copy is copy propagation's matter.
    let changes = matches!(inst.op, Opcode::CS2R | Opcode::MOV | Opcode::P2R | Opcode::B2R);
    if !pure || changes || (inst.op.has(Props::LOAD) && !constant_load) || !inst.guard.is_always() {
        return None;
    }
    let mut results = inst.dests().filter(|o| *o != Operand::PT && *o != Operand::RZ);
    let (Some(Operand::Reg(to)), None) = (results.next(), results.next()) else { return None };
    if to.reg.vreg().is_none() || to.reg.file() != RegFile::R || to.flags != RegFlags::NONE {
        return None;
    }
    let special = |o: Operand| matches!(o, Operand::Special(n) if !STEADY.contains(&n));
    if inst.sources().any(special) {
        return None;
    }
    // Where the result stands among the destinations is part of the expression.
    let at = inst.dests().position(|o| matches!(o, Operand::Reg(r) if r == to))?;
    let mut operands: SmallVec<[Operand; 6]> = inst.sources().collect();
    operands.push(Operand::Imm(at as u64));
    Some(((inst.op, *inst.mods(), operands), to))
}

/// Special registers that never change while a thread runs: SR_LANEID, SR_TID and SR_CTAID.
const STEADY: [u8; 7] = [0x00, 0x21, 0x22, 0x23, 0x25, 0x26, 0x27];

/// Replaces the instruction by copies of each cell.
fn become_copy(
    body: &mut Body<'_>,
    block: orias_components::BlockId,
    id: InstId,
    to: RegUse,
    from: RegUse,
) {
    let copy = |i: u8| {
        let cell = |r: RegUse| Operand::Reg(RegUse::at(r.reg, r.cell + i, 1));
        Inst {
            operands: smallvec![cell(to), cell(from), Operand::Imm(0xf)],
            ..Inst::new(Opcode::MOV, &[] as &[Mod], 1, &[])
        }
    };
    let loc = body.loc(id);
    body.set_inst(id, &copy(0));
    let at = body.block(block).insts.iter().position(|i| *i == id).unwrap_or(0);
    for i in 1..to.count {
        body.insert(block, at + i as usize, copy(i), loc);
    }
}
