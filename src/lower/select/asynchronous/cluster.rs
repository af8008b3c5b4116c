//! `st.async` and `red.async`: stores and reductions in other CTAs' shared memory that count at a
//! barrier there (observed: ptxas 13.0.88, sm_90a).

use crate::lower::common::access::address;
use crate::lower::common::modifiers::operation;
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::lower::context::value::Value;
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Op;
use orias_components::{MemRef, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{cell, r, wide};

/// `st.async` and `red.async`: `[address], value, [barrier]`.
pub fn asynchronous(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let place = address(cx, operand(inst, 0)?, Space::Shared)?[0];
    let barrier = address(cx, operand(inst, 2)?, Space::Shared)?[0];
    let both = cx.e.join(place, barrier);
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
