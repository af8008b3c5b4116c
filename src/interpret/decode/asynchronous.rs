//! Asynchronous copies, stores and reductions, and mbarriers. All are done at once: there is
//! nothing to commit or to wait for.

use super::memory::{atomic_function, operation};
use super::{Decoded, Decoder, only_type};
use crate::interpret::code::{Address, Bulk, Dst, Mbarrier, Op, Space, Src};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;

impl<'s> Decoder<'_, 's> {
    pub(super) fn asynchronous(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        match inst.opcode {
            "cp" => self.copy(inst),
            "mbarrier" => self.mbarrier(inst),
            // st.async [a], b, [mbarrier]
            "st" if inst.has("async") => {
                let ty = only_type(inst)?;
                let at = self.address(self.operand(inst, 0)?, shared_or_generic(inst))?;
                let src = self.sources(self.operand(inst, 1)?, ty)?;
                let complete = Some(self.address(self.operand(inst, 2)?, at.space)?);
                Ok(Some(Op::Store { at, bytes: ty.bytes().min(8), src, complete }))
            }
            // red.async [a], b, [mbarrier]
            "red" if inst.has("async") => {
                let barrier = self.address(self.operand(inst, 2)?, shared_or_generic(inst))?;
                self.atomic(inst, 0, Some(barrier))
            }
            _ => Ok(None),
        }
    }

    fn copy(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let word = |m: &str| inst.has(m);
        if ["commit_group", "wait_group", "wait_all", "prefetch"].iter().any(|m| word(m)) {
            return Ok(Some(Op::Nop));
        }
        if word("mbarrier") && word("arrive") {
            // Without .noinc the pending count first goes up by the one that arrives.
            if !word("noinc") {
                return Ok(Some(Op::Nop));
            }
            let at = self.address(self.operand(inst, 0)?, shared_or_generic(inst))?;
            let action = Mbarrier::Arrive { drop: false, expect: false };
            return Ok(Some(Op::Mbarrier { action, at, count: Src::Imm(1), dst: Dst::SINK }));
        }
        if word("tensor") {
            return Ok(None);
        }
        if word("bulk") { self.bulk(inst) } else { self.copy_async(inst) }
    }

    /// `cp.async.bulk.TO.FROM… [to], [from], size, [mbarrier], ctas, policy` and
    /// `cp.reduce.async.bulk`.
    fn bulk(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let spaces: Vec<Space> = inst.modifiers.iter().filter_map(|m| memory(m)).take(2).collect();
        let [to, from] = spaces[..] else { return Ok(None) };
        let complete = match inst.modifiers.iter().any(|m| m.starts_with("mbarrier")) {
            // The mbarrier lies where the data goes.
            true => Some(self.address(self.operand(inst, 3)?, to)?),
            false => None,
        };
        let multicast = match inst.has("multicast::cluster") {
            true => Some(self.source(inst, 4, Type::U16)?),
            false => None,
        };
        let reduce = if inst.has("reduce") {
            let ty = only_type(inst)?;
            let word = operation(inst).unwrap_or_default();
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
    fn copy_async(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let Some(Operand::Int(bytes @ (4 | 8 | 16))) = inst.operands.get(2) else {
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
            let is_policy = inst.has("L2::cache_hint") && inst.operands.len() == 4;
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
            bytes: *bytes as u32,
            source,
            skip,
        }))
    }

    fn mbarrier(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let Some(word) = inst.modifiers.first().copied() else { return Ok(None) };
        let arrive = |drop| Mbarrier::Arrive { drop, expect: inst.has("expect_tx") };
        let action = match word {
            "init" => Mbarrier::Init,
            "inval" => Mbarrier::Inval,
            "arrive" => arrive(false),
            "arrive_drop" => arrive(true),
            "expect_tx" => Mbarrier::ExpectTx,
            "complete_tx" => Mbarrier::CompleteTx,
            "test_wait" | "try_wait" if inst.has("parity") => Mbarrier::TestParity,
            "test_wait" | "try_wait" => Mbarrier::TestState,
            "pending_count" => Mbarrier::PendingCount,
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
pub fn memory(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Mapped,
        "shared::cluster" => Space::Cluster,
        "shared" | "shared::cta" => Space::Shared,
        _ => return None,
    })
}

fn shared_or_generic(inst: &Instruction<'_>) -> Space {
    inst.modifiers.iter().find_map(|m| memory(m)).unwrap_or(Space::Generic)
}
