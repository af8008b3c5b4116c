//! In which window a generic address lies, and shared addresses of other CTAs: `isspacep`, `mapa`,
//! `getctarank` (observed: ptxas 13.0.88, sm_90a).

use crate::lower::common::windows::{CONST_WINDOW, PARAM_WINDOW, driver_pair, lies_in};
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Operand, Reg, RegUse};
use orias_systems::build::{Address, Emit, cell, halves, imm, not, r};

/// A predicate: `first <= a`, and `a <= last` or, without `inclusive`, `a < last`.
fn between(
    e: &mut Emit<'_>,
    a: [Operand; 2],
    first: [Operand; 2],
    last: [Operand; 2],
    inclusive: bool,
) -> Operand {
    let (low, both) = (e.temp_pred(), e.temp_pred());
    e.isetp64(r(low), Mod::GE, false, a, first, (Mod::AND, Operand::PT));
    let end = if inclusive { Mod::LE } else { Mod::LT };
    e.isetp64(r(both), end, false, a, last, (Mod::AND, r(low)));
    r(both)
}

fn in_constants(cx: &mut Cx<'_, '_>, a: [Operand; 2]) -> Operand {
    let start = driver_pair(cx, CONST_WINDOW);
    let end = cx.e.temp(2);
    let size = imm(cx.module.constants.len() as u32);
    cx.e.add64(end, halves(start), [size, Operand::RZ]);
    between(&mut cx.e, a, halves(start), halves(end), false)
}

fn in_parameters(cx: &mut Cx<'_, '_>, a: [Operand; 2]) -> Operand {
    let [first, last] = PARAM_WINDOW.map(|offset| driver_pair(cx, offset));
    between(&mut cx.e, a, halves(first), halves(last), true)
}

/// `isspacep`: whether a generic address lies in a window; in none of them it is global.
pub fn isspacep(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst_pred(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, Type::U64)?;
    let pair = cx.pair_of(a);
    let base = RegUse::wide(pair, 2);
    let address = Address { base, uniform: RegUse::new(Reg::URZ), offset: 0 };
    let word = inst.modifiers.first().copied().ok_or("no state space")?;
    let answer = match word {
        Word::Shared | Word::SharedCta => lies_in(&mut cx.e, Mod::S, address),
        Word::SharedCluster => lies_in(&mut cx.e, Mod::D, address),
        Word::Local => lies_in(&mut cx.e, Mod::L, address),
        Word::Const => in_constants(cx, halves(pair)),
        Word::Param | Word::ParamEntry => in_parameters(cx, halves(pair)),
        Word::Global => {
            let global = lies_in(&mut cx.e, Mod::G, address);
            let constant = in_constants(cx, halves(pair));
            let parameter = in_parameters(cx, halves(pair));
            let p = cx.e.temp_pred();
            cx.e.plop3(r(p), global, not(constant), not(parameter), 0x80);
            r(p)
        }
        _ => return Err("this state space".into()),
    };
    cx.e.mov_pred(d, answer);
    Ok(())
}

/// `mapa`: the same place of the CTA of another rank, which is byte 3 of a shared address.
pub fn mapa(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let rank = cx.src(operand(inst, 2)?, Type::U32)?;
    let rank = cx.in_reg(rank);
    let high = a.hi();
    cx.e.prmt(cell(d, 0), rank, imm(0x0654), a.lo());
    if ty.bytes() == 8 {
        cx.e.mov(cell(d, 1), high);
    }
    Ok(())
}

/// `getctarank`: the rank in a shared address.
pub fn getctarank(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    cx.e.shr(r(d), a.lo(), imm(24), false);
    Ok(())
}
