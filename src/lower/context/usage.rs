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
}

impl Usage {
    /// Looks at all instructions.
    pub fn of(function: &Function<'_>) -> Usage {
        let mut read = vec![false; function.regs.len()];
        let mut named = vec![false; function.labels.len()];
        let targets = function.branch_targets.iter().flatten();
        targets.for_each(|label| named[label.0 as usize] = true);
        // One or more: most functions have few such registers, and a huge one many registers.
        let mut definitions = vec![0u8; function.regs.len()];
        let mut constants = FxHashMap::default();
        for inst in &function.code {
            let skip = usize::from(inst.opcode == Op::Atom);
            for operand in inst.operands.iter().skip(skip) {
                match operand {
                    Ptx::Label(label) => named[label.0 as usize] = true,
                    operand => operand.each_register(&mut |id| read[id.0 as usize] = true),
                }
            }
            if let Some((id, _)) = inst.guard {
                read[id.0 as usize] = true;
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
        Usage { read, constants, named }
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
