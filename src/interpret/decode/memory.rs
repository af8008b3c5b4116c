//! Loads, stores, atomics, asynchronous copies and mbarriers.

use rustc_apfloat::Round;

use super::{Decoded, Decoder, only_type, space};
use crate::interpret::code::{Address, Dst, Mbarrier, Op, Space, Src, Ternary};
use crate::interpret::float::{Arith, Format, Mode, arithmetic, packed};
use crate::interpret::image::Location;
use crate::interpret::integer::{less, mask};
use crate::ptx::program::{AddressBase, Instruction, Operand};
use crate::ptx::types::Type;

impl<'s> Decoder<'_, 's> {
    pub(super) fn memory(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        match inst.opcode {
            "ld" | "ldu" => self.load(inst),
            "st" => self.store(inst),
            "atom" | "red" if !inst.has("async") => self.atomic(inst),
            "cp" => self.copy(inst),
            "mbarrier" => self.mbarrier(inst),
            // Memory is sequentially consistent here, and has no caches.
            "membar" | "fence" | "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                Ok(Some(Op::Nop))
            }
            // A policy means nothing here, but it is a value.
            "createpolicy" => Ok(Some(Op::Copy([(self.target(inst, 0)?, Src::ZERO)].into()))),
            _ => Ok(None),
        }
    }

    /// The address operand at `index` in the instruction's space. A parameter that is named lies in a mapped region (a
    /// kernel's) or in the frame.
    fn place(&self, inst: &Instruction<'s>, index: usize) -> Decoded<Address> {
        let operand = self.operand(inst, index)?;
        let mut space = space(inst)?;
        if let Operand::Address { base: AddressBase::Var(id), .. } = operand
            && matches!(space, Space::Param | Space::Generic)
        {
            space = match self.image.locations[id.0 as usize] {
                Location::Mapped(_) => Space::Mapped,
                Location::Shared(_) => Space::Shared,
                Location::Frame(_) => Space::Local,
                Location::Nowhere => return Err("this variable has no memory".to_string()),
            };
        }
        self.address(operand, space)
    }

    fn load(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let ty = only_type(inst)?;
        let at = self.place(inst, 1)?;
        let dst = self.targets(self.operand(inst, 0)?)?;
        let bytes = ty.bytes().min(8);
        Ok(Some(Op::Load { at, bytes, signed: ty.is_signed(), dst }))
    }

    fn store(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        if inst.has("async") {
            return Ok(None);
        }
        let ty = only_type(inst)?;
        let at = self.place(inst, 0)?;
        let src = self.sources(self.operand(inst, 1)?, ty)?;
        Ok(Some(Op::Store { at, bytes: ty.bytes().min(8), src }))
    }

    fn atomic(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let ty = only_type(inst)?;
        if ty == Type::B128 {
            return Ok(None);
        }
        let returns = inst.opcode == "atom";
        let first = usize::from(returns);
        let at = self.place(inst, first)?;
        let dst = if returns { self.targets(self.operand(inst, 0)?)? } else { Box::from([]) };
        let b = self.sources(self.operand(inst, first + 1)?, ty)?;
        let cas = inst.has("cas");
        let c = if cas { self.source(inst, first + 2, ty)? } else { Src::ZERO };
        let Some(f) = atomic_function(inst, ty, at.space) else { return Ok(None) };
        Ok(Some(Op::Atomic { at, bytes: ty.bytes(), f, dst, b, c }))
    }

    fn copy(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        if inst.modifiers.first() != Some(&"async") {
            return Ok(None);
        }
        // Copies are done at once: there is nothing to commit or to wait for.
        if ["commit_group", "wait_group", "wait_all", "prefetch"].iter().any(|m| inst.has(m)) {
            return Ok(Some(Op::Nop));
        }
        if inst.has("mbarrier") && inst.has("arrive") {
            // Without .noinc the pending count first goes up by the one that arrives.
            if !inst.has("noinc") {
                return Ok(Some(Op::Nop));
            }
            let at = self.address(self.operand(inst, 0)?, shared_or_generic(inst))?;
            let action = Mbarrier::Arrive { drop: false, expect: false };
            return Ok(Some(Op::Mbarrier { action, at, count: Src::Imm(1), dst: Dst::SINK }));
        }
        if inst.has("tensor") {
            return Ok(None);
        }
        if inst.has("bulk") {
            let shared = |m: &str| m.starts_with("shared");
            let spaces: Vec<Space> = inst
                .modifiers
                .iter()
                .filter(|m| shared(m) || **m == "global")
                .map(|m| if shared(m) { Space::Shared } else { Space::Mapped })
                .collect();
            let [to, from] = spaces[..] else { return Ok(None) };
            let complete = if inst.modifiers.iter().any(|m| m.starts_with("mbarrier")) {
                Some(self.address(self.operand(inst, 3)?, Space::Shared)?)
            } else {
                None
            };
            return Ok(Some(Op::CopyBulk {
                to: self.address(self.operand(inst, 0)?, to)?,
                from: self.address(self.operand(inst, 1)?, from)?,
                bytes: self.source(inst, 2, Type::U32)?,
                complete,
            }));
        }
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
        let expect = inst.has("expect_tx");
        let operands = inst.operands.len();
        // Which operand is the address, and which the count, the state or the parity.
        let (action, at, count) = match word {
            "init" => (Mbarrier::Init, 0, 1),
            "inval" => (Mbarrier::Inval, 0, operands),
            "arrive" => (Mbarrier::Arrive { drop: false, expect }, operands.min(2) - 1, 2),
            "arrive_drop" => (Mbarrier::Arrive { drop: true, expect }, operands.min(2) - 1, 2),
            "expect_tx" => (Mbarrier::ExpectTx, 0, 1),
            "complete_tx" => (Mbarrier::CompleteTx, 0, 1),
            "test_wait" | "try_wait" if inst.has("parity") => (Mbarrier::TestParity, 1, 2),
            "test_wait" | "try_wait" => (Mbarrier::TestState, 1, 2),
            "pending_count" => (Mbarrier::PendingCount, operands, 1),
            _ => return Ok(None),
        };
        let at = match inst.operands.get(at) {
            Some(operand) => self.address(operand, shared_or_generic(inst))?,
            None => Address { space: Space::Shared, base: Src::ZERO, offset: 0 },
        };
        let ty = if word == "test_wait" || word == "try_wait" || word == "pending_count" {
            Type::B64
        } else {
            Type::U32
        };
        let count = match inst.operands.get(count) {
            Some(operand) => self.src(operand, ty)?,
            None => Src::Imm(1),
        };
        let has_result = matches!(
            action,
            Mbarrier::Arrive { .. }
                | Mbarrier::TestParity
                | Mbarrier::TestState
                | Mbarrier::PendingCount
        );
        let dst = match inst.operands.first() {
            Some(operand) if has_result && !matches!(operand, Operand::Address { .. }) => {
                self.dst(operand)?
            }
            _ => Dst::SINK,
        };
        Ok(Some(Op::Mbarrier { action, at, count, dst }))
    }
}

fn shared_or_generic(inst: &Instruction<'_>) -> Space {
    if inst.modifiers.iter().any(|m| m.starts_with("shared")) {
        Space::Shared
    } else {
        Space::Generic
    }
}

/// The new value of the old one, b and c.
fn atomic_function(inst: &Instruction<'_>, ty: Type, space: Space) -> Option<Ternary> {
    let (bits, signed) = (ty.bits(), ty.is_signed());
    let all = mask(bits);
    let words = ["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"];
    let word = inst.modifiers.iter().find(|m| words.contains(m))?;
    if let Some(format) = Format::of(ty) {
        let op = match *word {
            "add" => Arith::Add,
            "min" => Arith::Min,
            "max" => Arith::Max,
            "exch" => return Some(Box::new(|_, b, _| b)),
            _ => return None,
        };
        // Additions to global memory flush subnormal f32 numbers, those to shared memory do not (PTX ISA 9.0, "atom").
        let ftz = ty == Type::F32 && space == Space::Mapped;
        let mode = Mode { round: Round::NearestTiesToEven, ftz, ..Mode::default() };
        let f = arithmetic(op, format, mode);
        return Some(if matches!(ty, Type::F16x2 | Type::Bf16x2) { packed(f, 16) } else { f });
    }
    Some(match *word {
        "and" => Box::new(|a, b, _| a & b),
        "or" => Box::new(|a, b, _| a | b),
        "xor" => Box::new(|a, b, _| a ^ b),
        "exch" => Box::new(|_, b, _| b),
        "cas" => Box::new(move |a, b, c| if a & all == b & all { c } else { a }),
        "add" => Box::new(|a, b, _| a.wrapping_add(b)),
        "inc" => Box::new(|a, b, _| if a >= b { 0 } else { a + 1 }),
        "dec" => Box::new(|a, b, _| if a == 0 || a > b { b } else { a - 1 }),
        "min" => Box::new(move |a, b, _| if less(b, a, bits, signed) { b } else { a }),
        "max" => Box::new(move |a, b, _| if less(a, b, bits, signed) { b } else { a }),
        _ => return None,
    })
}
