//! Branches, calls, and barriers of the block.

use super::decoder::{Decoded, Decoder};
use crate::interpret::code::{Barrier, Call, Callee, Op, Passed};
use crate::interpret::image::Location;
use crate::interpret::operand::{BarrierKind, Dst, Src};
use crate::ptx::program::{Instruction, LabelId, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes branches, calls and barriers of the block; None for other instructions.
    pub(super) fn control(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        match inst.opcode {
            Opcode::Bra => match self.operand(inst, 0)? {
                Operand::Label(label) => Ok(Some(Op::Branch(self.label(*label)))),
                other => Err(format!("target {other:?}")),
            },
            Opcode::Brx => {
                let Operand::BranchTargets(list) = self.operand(inst, 1)? else {
                    return Err("has no list of targets".to_string());
                };
                let targets = self.function.branch_targets[*list as usize]
                    .iter()
                    .map(|label| self.label(*label))
                    .collect();
                Ok(Some(Op::Table { index: self.source(inst, 0, Type::U32)?, targets }))
            }
            Opcode::Call => self.call(inst),
            Opcode::Ret => Ok(Some(Op::Return)),
            Opcode::Exit => Ok(Some(Op::Exit)),
            // Without a debugger a breakpoint ends the kernel.
            Opcode::Trap | Opcode::Brkpt => Ok(Some(Op::Trap)),
            Opcode::Bar | Opcode::Barrier => self.barrier(inst),
            // Nothing of these can be seen by a program here.
            Opcode::Nanosleep | Opcode::Pmevent | Opcode::Griddepcontrol | Opcode::Setmaxnreg => {
                Ok(Some(Op::Nop))
            }
            _ => Ok(None),
        }
    }

    fn label(&self, label: LabelId) -> u32 {
        self.start + self.function.labels[label.0 as usize].0 as u32
    }

    fn barrier(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        if inst.has(Word::Warp) {
            return Ok(Some(Op::WarpBarrier(self.source(inst, 0, Type::B32)?)));
        }
        if inst.has(Word::Cluster) {
            return Ok(Some(if inst.has(Word::Arrive) {
                Op::ClusterArrive
            } else {
                Op::ClusterWait
            }));
        }
        let reduction = inst.has(Word::Red);
        let kind = if reduction {
            match () {
                () if inst.has(Word::Popc) => BarrierKind::Popc,
                () if inst.has(Word::And) => BarrierKind::And,
                () if inst.has(Word::Or) => BarrierKind::Or,
                () => return Ok(None),
            }
        } else if inst.has(Word::Arrive) {
            BarrierKind::Arrive
        } else {
            BarrierKind::Sync
        };
        let first = usize::from(reduction);
        let last = inst.operands.len();
        let has_count = last > first + 1 + usize::from(reduction);
        Ok(Some(Op::Barrier(Barrier {
            id: self.source(inst, first, Type::U32)?,
            count: if has_count { Some(self.source(inst, first + 1, Type::U32)?) } else { None },
            kind,
            // `bar` is `barrier.aligned`.
            aligned: inst.opcode == Opcode::Bar || inst.has(Word::Aligned),
            a: if reduction { self.source(inst, last - 1, Type::Pred)? } else { Src::ZERO },
            dst: if reduction { self.target(inst, 0)? } else { Dst::SINK },
        })))
    }

    /// `call (returns), callee, (args), prototype;` with the lists where there is something in
    /// them.
    fn call(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let mut operands = inst.operands.iter().peekable();
        let mut returns = Vec::new();
        if let Some(Operand::List(list)) = operands.peek() {
            returns = list.iter().map(|o| self.passed(o, true)).collect::<Decoded<_>>()?;
            operands.next();
        }
        let callee = match operands.next() {
            Some(Operand::Func(id)) => Callee::Known(*id),
            Some(operand @ Operand::Reg(_)) => Callee::Pointer(self.src(operand, Type::U64)?),
            other => return Err(format!("callee {other:?}")),
        };
        let mut args = Vec::new();
        if let Some(Operand::List(list)) = operands.peek() {
            args = list.iter().map(|o| self.passed(o, false)).collect::<Decoded<_>>()?;
        }
        Ok(Some(Op::Call(Box::new(Call { callee, args, returns }))))
    }

    fn passed(&self, operand: &Operand, result: bool) -> Decoded<Passed> {
        if let Operand::Var(id, _) = operand
            && let Location::Frame(offset) = self.image.locations[id.0 as usize]
        {
            let size = self.program.vars[id.0 as usize].size;
            return Ok(Passed::Frame { offset, size });
        }
        let whole = match operand {
            Operand::Reg(reg) => Some(*reg),
            Operand::Vector(list) => match list.first() {
                Some(Operand::Element(reg, 0)) => Some(*reg),
                _ => None,
            },
            _ => None,
        };
        if let Some(reg) = whole {
            Ok(Passed::Rows(self.rows(reg)))
        } else if result {
            self.dst(operand).map(Passed::Into)
        } else {
            self.src(operand, Type::B64).map(Passed::Value)
        }
    }
}
