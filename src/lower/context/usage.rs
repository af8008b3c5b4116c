//! What a function's code does with its PTX registers and labels, known before it is lowered.

use crate::ptx::program::{Function, Operand as Ptx, RegId};
use crate::ptx::words::Op;
use rustc_hash::FxHashMap;

/// What one walk over the code finds.
pub struct Usage {
    /// Which registers some instruction reads: every mention counts but the plain destination of an
    /// atomic.
    pub read: Vec<bool>,
    /// Registers that one unguarded `mov` of a constant defines and nothing else.
    pub constants: FxHashMap<RegId, i128>,
    /// By label: whether control may go there but from the instruction before.
    pub named: Vec<bool>,
    /// By register: how often instructions mention it.
    pub mentions: Vec<u32>,
    /// The calls, in order.
    pub calls: Vec<u32>,
    /// The stack pointer moves (`alloca`).
    pub moves_stack: bool,
}

impl Usage {
    /// Looks at all instructions.
    pub fn of(function: &Function<'_>) -> Usage {
        let count = function.regs.len();
        let (mut read, mut mentions) = (vec![false; count], vec![0; count]);
        let (mut calls, mut moves_stack) = (Vec::new(), false);
        let mut named = vec![false; function.labels.len()];
        let targets = function.branch_targets.iter().flatten();
        targets.for_each(|label| named[label.0 as usize] = true);
        // One or more: most functions have few such registers, and a huge one many registers.
        let mut definitions = vec![0u8; count];
        let mut constants = FxHashMap::default();
        for (at, inst) in function.code.iter().enumerate() {
            let mut is_read = inst.opcode != Op::Atom;
            let mut mention = |id: RegId, is_read: bool| {
                mentions[id.0 as usize] += 1;
                read[id.0 as usize] |= is_read;
            };
            for operand in inst.operands {
                match operand {
                    Ptx::Label(label) => named[label.0 as usize] = true,
                    operand => operand.each_register(&mut |id| mention(id, is_read)),
                }
                is_read = true;
            }
            if let Some((id, _)) = inst.guard {
                mention(id, true);
            }
            match inst.opcode {
                Op::Call => calls.push(at as u32),
                Op::Alloca | Op::Stackrestore => moves_stack = true,
                _ => {}
            }
            // Destinations come first; a source in their place only makes the answer more careful.
            if let Some(first) = inst.operands.first() {
                defined(first, &mut definitions);
            }
            if let (Op::Mov, None, [Ptx::Reg(id), Ptx::Int(value)]) =
                (inst.opcode, inst.guard, inst.operands)
            {
                constants.insert(*id, value.get());
            }
        }
        constants.retain(|id, _| definitions[id.0 as usize] == 1);
        Usage { read, constants, named, mentions, calls, moves_stack }
    }
}

/// Counts the registers that a destination names.
fn defined(op: &Ptx, definitions: &mut [u8]) {
    match op {
        Ptx::Reg(id) | Ptx::Element(id, _) | Ptx::Part(id, _) => {
            let count = &mut definitions[id.0 as usize];
            *count = count.saturating_add(1);
        }
        Ptx::Vector(list) | Ptx::List(list) => list.iter().for_each(|op| defined(op, definitions)),
        Ptx::Pair(both) => {
            let (a, b) = &**both;
            defined(a, definitions);
            defined(b, definitions);
        }
        _ => {}
    }
}
