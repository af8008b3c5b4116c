//! `ReplaceUniformsWithImm`: what a launch must be leaves numbers in place of what threads would
//! ask for.
//!
//! With `.reqntid` the size of a CTA is known, and a dimension of one thread has no other index
//! than zero. ptxas 13.0.88 knows the second, and loads the size all the same.

use crate::effects::SR_TID;
use crate::function::FunctionInfo;
use crate::notes::Notes;
use crate::params::Read;
use orias_components::{Code, Inst, Opcode, Operand, RegFile, View};
use orias_targets::slots::{LDC, S2R};
use smallvec::smallvec;

/// Phase 12.
pub fn replace_uniforms_with_imm(
    code: Code<'_>,
    info: Read<'_, FunctionInfo>,
    mut notes: Notes<'_>,
) {
    let Some(threads) = info.required_threads.filter(|_| info.entry) else { return };
    let mut body = code.body();
    let mut count = 0;
    for &block in body.walk().iter() {
        for &id in body.walk_in(block).iter() {
            let inst = body.inst(id);
            let Some(number) = number(inst, threads) else { continue };
            let (to, mut new) = (inst.operand(0), inst.to_inst());
            let from = if number == 0 { Operand::RZ } else { Operand::Imm(u64::from(number)) };
            new.op = Opcode::MOV;
            new.mods = Inst::new(Opcode::MOV, &[], 1, &[]).mods;
            new.operands = smallvec![to, from, Operand::Imm(0xf)];
            body.set_inst(id, &new);
            count += 1;
        }
    }
    notes.count(count);
}

/// The number that an instruction gives where CTAs have so many threads in each dimension.
fn number(inst: View<'_>, threads: [u32; 3]) -> Option<u32> {
    let is_word = |at: usize| {
        let result = inst.reg(at).filter(|r| r.reg.file() == RegFile::R && r.count == 1);
        result.is_some_and(|_| inst.defs == 1)
    };
    match inst.op {
        Opcode::S2R if is_word(S2R::D) => match inst.operand(S2R::A) {
            Operand::Special(n @ SR_TID..) => {
                let threads = threads.get(usize::from(n - SR_TID))?;
                (*threads == 1).then_some(0)
            }
            _ => None,
        },
        // The driver leaves the size at the start of the first constant bank.
        Opcode::LDC if is_word(LDC::D) && inst.mods().is_empty() => {
            let place = |dimension: &i32| Operand::constant(0, 4 * dimension);
            let dimension = (0..3).find(|n| inst.get(LDC::A) == Some(place(n)))?;
            threads.get(dimension as usize).copied()
        }
        _ => None,
    }
}
