//! Operations on cache lines, which advise.

use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::Space;
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Opcode};

/// `prefetch`, `prefetchu`, `applypriority`, `discard`: one cache operation at an address. They
/// advise; a constant's line is left alone.
pub fn cache(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let at = operand(inst, 0)?;
    if inst.has(Word::Tensormap) || inst.has(Word::Const) || inst.has(Word::Param) {
        return Ok(());
    }
    let (space, address) = crate::lower::common::access::place(cx, inst, at)?;
    let word = match inst.opcode {
        Op::Discard => Mod::RML2,
        Op::Applypriority => Mod::DML2,
        _ if inst.has(Word::L2EvictLast) => Mod::PML2,
        _ if inst.has(Word::L2) || inst.has(Word::L2EvictNormal) => Mod::PF2,
        _ => Mod::PF1,
    };
    match space {
        Space::Global | Space::Generic => {
            let at = crate::lower::common::access::plain_address(address);
            cx.e.put(Opcode::CCTL, &[Mod::E, word], 0, &[at]);
        }
        Space::Local => cx.e.put(Opcode::CCTLL, &[word], 0, &[address.operand()]),
        _ => {}
    }
    Ok(())
}
