//! What a function's code does with its PTX registers, known before it is lowered.

use crate::ptx::program::{AddressBase, Function, Operand as Ptx, RegId};
use crate::ptx::words::Op;
use rustc_hash::FxHashMap;

/// Which registers of a function some instruction reads: every mention counts but the plain
/// destination of an atomic.
pub fn registers_read(function: &Function<'_>) -> Vec<bool> {
    fn mark(op: &Ptx, read: &mut [bool]) {
        match op {
            Ptx::Reg(id) | Ptx::NotReg(id) | Ptx::Element(id, _) | Ptx::Part(id, _) => {
                read[id.0 as usize] = true;
            }
            Ptx::Neg(op) => mark(op, read),
            Ptx::Address { base: AddressBase::Reg(id), .. } => read[id.0 as usize] = true,
            Ptx::Vector(list) | Ptx::AddressList(list) | Ptx::List(list) => {
                list.iter().for_each(|op| mark(op, read));
            }
            Ptx::Pair(both) => {
                let (a, b) = &**both;
                mark(a, read);
                mark(b, read);
            }
            _ => {}
        }
    }
    let mut read = vec![false; function.regs.len()];
    for inst in &function.code {
        let skip = usize::from(inst.opcode == Op::Atom);
        inst.operands.iter().skip(skip).for_each(|op| mark(op, &mut read));
        if let Some((id, _)) = inst.guard {
            read[id.0 as usize] = true;
        }
    }
    read
}

/// Registers that one unguarded `mov` of a constant defines and nothing else.
pub fn constant_registers(function: &Function<'_>) -> FxHashMap<RegId, i128> {
    fn defined(op: &Ptx, f: &mut dyn FnMut(RegId)) {
        match op {
            Ptx::Reg(id) | Ptx::Element(id, _) | Ptx::Part(id, _) => f(*id),
            Ptx::Vector(list) | Ptx::List(list) => list.iter().for_each(|op| defined(op, f)),
            Ptx::Pair(both) => {
                let (a, b) = &**both;
                defined(a, f);
                defined(b, f);
            }
            _ => {}
        }
    }
    // One or more: most functions have few such registers, and a huge one many registers.
    let mut definitions = vec![0u8; function.regs.len()];
    let mut constants = FxHashMap::default();
    for inst in &function.code {
        // Destinations come first; a source in their place only makes the answer more careful.
        if let Some(first) = inst.operands.first() {
            defined(first, &mut |id| {
                let count = &mut definitions[id.0 as usize];
                *count = count.saturating_add(1);
            });
        }
        if let (Op::Mov, None, [Ptx::Reg(id), Ptx::Int(value)]) =
            (inst.opcode, inst.guard, inst.operands)
        {
            constants.insert(*id, value.get());
        }
    }
    constants.retain(|id, _| definitions[id.0 as usize] == 1);
    constants
}
