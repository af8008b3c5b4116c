//! Asynchronous copies, stores and reductions, and mbarriers. All are done at once: there is
//! nothing to commit or to wait for.

use super::decoder::{Decoded, Decoder, only_type};
use super::memory::operation;
use crate::interpret::atomic::atomic_function;
use crate::interpret::bulk::Bulk;
use crate::interpret::code::Op;
use crate::interpret::mbarrier::Mbarrier;
use crate::interpret::operand::{Address, Dst, Space, Src};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word, WordSet};

impl Decoder<'_, '_> {
    /// Decodes copies that run by themselves, and mbarriers; None for other instructions.
    pub(super) fn asynchronous(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        match inst.opcode {
            Opcode::Cp => self.copy(inst),
            Opcode::Mbarrier => self.mbarrier(inst),
            // st.async [a], b, [mbarrier]
            Opcode::St if inst.has(Word::Async) => {
                let ty = only_type(inst)?;
                let at = self.address(self.operand(inst, 0)?, shared_or_generic(inst))?;
                let src = self.sources(self.operand(inst, 1)?, ty)?;
                let complete = Some(self.address(self.operand(inst, 2)?, at.space)?);
                Ok(Some(Op::Store { at, bytes: ty.bytes().min(8), src, complete }))
            }
            // red.async [a], b, [mbarrier]
            Opcode::Red if inst.has(Word::Async) => {
                let barrier = self.address(self.operand(inst, 2)?, shared_or_generic(inst))?;
                self.atomic(inst, 0, Some(barrier))
            }
            _ => Ok(None),
        }
    }

    fn copy(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        const NOTHING: WordSet =
            WordSet::of(&[Word::CommitGroup, Word::WaitGroup, Word::WaitAll, Word::Prefetch]);
        if inst.set.intersects(&NOTHING) {
            return Ok(Some(Op::Nop));
        }
        if inst.has(Word::Mbarrier) && inst.has(Word::Arrive) {
            // Without .noinc the pending count first goes up by the one that arrives.
            if !inst.has(Word::Noinc) {
                return Ok(Some(Op::Nop));
            }
            let at = self.address(self.operand(inst, 0)?, shared_or_generic(inst))?;
            let action = Mbarrier::Arrive { drop: false, expect: false };
            return Ok(Some(Op::Mbarrier { action, at, count: Src::Imm(1), dst: Dst::SINK }));
        }
        if inst.has(Word::Tensor) {
            return Ok(None);
        }
        if inst.has(Word::Bulk) { self.bulk(inst) } else { self.copy_async(inst) }
    }

    /// `cp.async.bulk.TO.FROM… [to], [from], size, [mbarrier], ctas, policy` and
    /// `cp.reduce.async.bulk`.
    fn bulk(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let spaces: Vec<Space> = inst.modifiers.iter().filter_map(|m| memory(*m)).take(2).collect();
        let [to, from] = spaces[..] else { return Ok(None) };
        const COMPLETES: WordSet = WordSet::of(&[Word::Mbarrier, Word::MbarrierCompleteTxBytes]);
        let complete = match inst.set.intersects(&COMPLETES) {
            // The mbarrier lies where the data goes.
            true => Some(self.address(self.operand(inst, 3)?, to)?),
            false => None,
        };
        let multicast = match inst.has(Word::MulticastCluster) {
            true => Some(self.source(inst, 4, Type::U16)?),
            false => None,
        };
        let reduce = if inst.has(Word::Reduce) {
            let ty = only_type(inst)?;
            let Some(word) = operation(inst) else { return Ok(None) };
            let Some(f) = atomic_function(word, ty, to == Space::Mapped) else { return Ok(None) };
            Some((ty.bytes(), f))
        } else {
            None
        };
        Ok(Some(Op::Bulk(Box::new(Bulk {
            to: self.address(self.operand(inst, 0)?, to)?,
            from: self.address(self.operand(inst, 1)?, from)?,
            bytes: self.source(inst, 2, Type::U32)?,
            complete,
            multicast,
            reduce,
        }))))
    }

    /// `cp.async.ca.shared.global [to], [from], size{, source size or predicate}{, policy}`
    fn copy_async(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let Some(bytes @ (4 | 8 | 16)) = inst.operands.get(2).and_then(Operand::integer) else {
            return Err("the size is not 4, 8 or 16".to_string());
        };
        let (mut source, mut skip) = (None, None);
        if let Some(operand) = inst.operands.get(3) {
            let is_predicate = match operand {
                Operand::Reg(reg) | Operand::NotReg(reg) => {
                    self.function.regs[reg.0 as usize].ty == Type::Pred
                }
                _ => false,
            };
            let is_policy = inst.has(Word::L2CacheHint) && inst.operands.len() == 4;
            let value = self.src(operand, Type::U32)?;
            match (is_predicate, is_policy) {
                (true, _) => skip = Some(value),
                (false, false) => source = Some(value),
                (false, true) => {}
            }
        }
        Ok(Some(Op::CopyAsync {
            to: self.address(self.operand(inst, 0)?, Space::Shared)?,
            from: self.address(self.operand(inst, 1)?, Space::Mapped)?,
            bytes: bytes as u32,
            source,
            skip,
        }))
    }

    fn mbarrier(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let Some(word) = inst.modifiers.first().copied() else { return Ok(None) };
        let arrive = |drop| Mbarrier::Arrive { drop, expect: inst.has(Word::ExpectTx) };
        let action = match word {
            Word::Init => Mbarrier::Init,
            Word::Inval => Mbarrier::Inval,
            Word::Arrive => arrive(false),
            Word::ArriveDrop => arrive(true),
            Word::ExpectTx => Mbarrier::ExpectTx,
            Word::CompleteTx => Mbarrier::CompleteTx,
            Word::TestWait | Word::TryWait if inst.has(Word::Parity) => Mbarrier::TestParity,
            Word::TestWait | Word::TryWait => Mbarrier::TestState,
            Word::PendingCount => Mbarrier::PendingCount,
            _ => return Ok(None),
        };
        // A result may stand before the address; behind it the count, the state or the parity.
        let found = inst.operands.iter().position(|o| matches!(o, Operand::Address { .. }));
        let at = match found {
            Some(index) => self.address(&inst.operands[index], shared_or_generic(inst))?,
            None => Address { space: Space::Shared, base: Src::ZERO, offset: 0 },
        };
        let ty = match action {
            Mbarrier::TestState | Mbarrier::PendingCount => Type::B64,
            _ => Type::U32,
        };
        let count = match inst.operands.get(found.map_or(1, |index| index + 1)) {
            Some(operand) => self.src(operand, ty)?,
            None => Src::Imm(1),
        };
        let dst = if found == Some(0) { Dst::SINK } else { self.target(inst, 0)? };
        Ok(Some(Op::Mbarrier { action, at, count, dst }))
    }
}

/// The space of a modifier word.
pub fn memory(word: Word) -> Option<Space> {
    Some(match word {
        Word::Global => Space::Mapped,
        Word::SharedCluster => Space::Cluster,
        Word::Shared | Word::SharedCta => Space::Shared,
        _ => return None,
    })
}

fn shared_or_generic(inst: &Instruction) -> Space {
    inst.modifiers.iter().find_map(|m| memory(*m)).unwrap_or(Space::Generic)
}
