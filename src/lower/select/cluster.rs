//! Clusters: the barrier, and stores and reductions in other CTAs' shared memory that count at a
//! barrier there.
//!
//! Constant bank 0 tells of clusters from 0x140 on; a launch without clusters has no barrier of
//! theirs, and threads meet at CTA barrier 0 in its place (observed: ptxas 13.0.88, sm_90a).

use super::bulk::{address, operation};
use super::turns::region;
use crate::lower::source::{Cx, Sel, Value, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::{Op, Word};
use orias_components::{MemRef, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::emit::{cell, imm, not, r, wide};

/// Word of constant bank 0 that is 1 where the launch has clusters.
const HAS_CLUSTERS: i32 = 0x140;

/// `barrier.cluster.arrive` and `.wait`.
pub fn barrier(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let arrive = inst.has(Word::Arrive);
    if !arrive {
        cx.barriers = cx.barriers.max(1);
    }
    region(cx, |cx| {
        let (clusters, has) = (cx.e.temp(1), cx.e.temp_pred());
        cx.e.ldc(&[], r(clusters), Operand::constant(0, HAS_CLUSTERS));
        cx.e.icmp(r(has), Mod::EQ, false, r(clusters), imm(1));
        let after = cx.e.label();
        let alone = if arrive { after } else { cx.e.label() };
        cx.e.branch_if(not(r(has)), alone);
        cx.e.open_new();
        if arrive {
            if !inst.has(Word::Relaxed) {
                super::fence::membar(cx, Mod::ALL, Mod::GPU);
            } else {
                super::barrier::converge(cx, inst);
            }
            cx.e.put(Opcode::UCGABAR_ARV, &[], 0, &[]);
        } else {
            super::barrier::converge(cx, inst);
            cx.e.put(Opcode::UCGABAR_WAIT, &[], 0, &[]);
            cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
            cx.e.branch(after);
            cx.e.open(alone);
            super::barrier::converge(cx, inst);
            cx.e.put(Opcode::BAR, &[Mod::SYNC, Mod::DEFER_BLOCKING], 0, &[imm(0)]);
        }
        cx.e.open(after);
        Ok(())
    })
}

/// `st.async` and `red.async`: `[address], value, [barrier]`.
pub fn asynchronous(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let place = address(cx, operand(inst, 0)?, Space::Shared)?[0];
    let barrier = address(cx, operand(inst, 2)?, Space::Shared)?[0];
    let both = cx.join(place, barrier);
    let values: Vec<&Ptx> = match operand(inst, 1)? {
        Ptx::Vector(parts) => parts.iter().collect(),
        one => vec![one],
    };
    let cells = (ty.bytes() / 4).max(1) as u8 * values.len() as u8;
    let data = cx.e.temp(cells);
    let mut at = 0;
    for value in values {
        let value: Value = cx.value(value, ty)?;
        for word in &value.halves()[..(ty.bytes() / 4).clamp(1, 2) as usize] {
            cx.e.mov(cell(data, at), *word);
            at += 1;
        }
    }
    let at = Operand::Mem(MemRef {
        base: RegUse::wide(both, 2),
        uniform: RegUse::new(Reg::URZ),
        offset: 0,
        sel: Mod::_64,
    });
    let reduces = inst.opcode == Op::Red;
    let mut mods = Vec::new();
    if reduces {
        mods.push(operation(inst)?);
        match ty {
            Type::S32 => mods.push(Mod::S32),
            ty if ty.bytes() == 8 => mods.push(Mod::_64),
            _ => {}
        }
    } else {
        match cells {
            2 => mods.push(Mod::_64),
            4 => mods.push(Mod::_128),
            _ => {}
        }
    }
    let data = if cells == 1 { r(data) } else { wide(data, cells) };
    let op = if reduces { Opcode::REDAS } else { Opcode::STAS };
    cx.e.put(op, &mods, 0, &[at, data]);
    Ok(())
}
