//! Loads, stores and atomics.

use super::decoder::{Decoded, Decoder, only_type, space};
use crate::interpret::atomic::atomic_function;
use crate::interpret::code::{Atomic, Op};
use crate::interpret::image::Location;
use crate::interpret::operand::{Address, Dst, Space, Src};
use crate::ptx::program::{AddressBase, Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes loads, stores and atomics; None for other instructions.
    pub(super) fn memory(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        match inst.opcode {
            Opcode::Ld | Opcode::Ldu => self.load(inst),
            Opcode::St if !inst.has(Word::Async) => self.store(inst),
            Opcode::Atom | Opcode::Red if !inst.has(Word::Async) => {
                let first = usize::from(inst.opcode == Opcode::Atom);
                self.atomic(inst, first, None)
            }
            Opcode::Multimem => self.multimem(inst),
            Opcode::Alloca => {
                // Without an alignment it is 8.
                let align = match inst.operands.get(2).map(|align| align.integer().unwrap_or(0)) {
                    Some(align) if (align as u64).is_power_of_two() => align as u64,
                    Some(_) => return Err("the alignment is no power of two".to_string()),
                    None => 8,
                };
                let size = self.source(inst, 1, Type::U64)?;
                Ok(Some(Op::Alloca { dst: self.target(inst, 0)?, size, align }))
            }
            Opcode::Stacksave => Ok(Some(Op::StackSave(self.target(inst, 0)?))),
            Opcode::Stackrestore => Ok(Some(Op::StackRestore(self.source(inst, 0, Type::U64)?))),
            // Memory is sequentially consistent here, and has no caches.
            Opcode::Membar
            | Opcode::Fence
            | Opcode::Prefetch
            | Opcode::Prefetchu
            | Opcode::Applypriority
            | Opcode::Discard => Ok(Some(Op::Nop)),
            // A policy means nothing here, but it is a value.
            Opcode::Createpolicy => Ok(Some(Op::Copy([(self.target(inst, 0)?, Src::ZERO)].into()))),
            _ => Ok(None),
        }
    }

    /// The address operand at `index` in the instruction's space. A parameter that is named lies in
    /// a mapped region (a kernel's) or in the frame.
    fn place(&self, inst: &Instruction, index: usize) -> Decoded<Address> {
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

    fn load(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let ty = only_type(inst)?;
        let at = self.place(inst, 1)?;
        let dst = self.targets(self.operand(inst, 0)?)?;
        let bytes = ty.bytes().min(8);
        Ok(Some(Op::Load { at, bytes, signed: ty.is_signed(), dst }))
    }

    fn store(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let ty = only_type(inst)?;
        let at = self.place(inst, 0)?;
        let value = self.operand(inst, 1)?;
        let mut src = self.sources(value, ty)?;
        if let (Type::B128, Operand::Int(_)) = (ty, value) {
            // A constant has 64 bits.
            src = [src[0], Src::ZERO].into();
        }
        Ok(Some(Op::Store { at, bytes: ty.bytes().min(8), src, complete: None }))
    }

    /// An atomic whose address is operand `first`; without one before it no old value is wanted.
    /// `complete` as in [`Atomic`].
    pub(super) fn atomic(
        &self,
        inst: &Instruction,
        first: usize,
        complete: Option<Address>,
    ) -> Decoded<Option<Op>> {
        let ty = only_type(inst)?;
        let at = self.place(inst, first)?;
        let dst = if first > 0 { self.targets(self.operand(inst, 0)?)? } else { Box::from([]) };
        if ty == Type::B128 {
            return self.atomic128(inst, at, &dst);
        }
        let b = self.sources(self.operand(inst, first + 1)?, ty)?;
        let cas = inst.has(Word::Cas);
        let c = if cas { self.source(inst, first + 2, ty)? } else { Src::ZERO };
        let Some(word) = operation(inst) else { return Ok(None) };
        let Some(f) = atomic_function(word, ty, true) else { return Ok(None) };
        let in_shared = if ty == Type::F32 { atomic_function(word, ty, false) } else { None };
        let bytes = ty.bytes();
        Ok(Some(Op::Atomic(Box::new(Atomic { at, bytes, f, in_shared, dst, b, c, complete }))))
    }

    /// `atom.exch.b128 d, [a], b` and `atom.cas.b128 d, [a], b, c`.
    fn atomic128(&self, inst: &Instruction, at: Address, dst: &[Dst]) -> Decoded<Option<Op>> {
        let pair = |index| -> Decoded<[Src; 2]> {
            match self.sources(self.operand(inst, index)?, Type::B64)?[..] {
                [low, high] => Ok([low, high]),
                _ => Err("takes 128-bit registers".to_string()),
            }
        };
        let dst = match *dst {
            [low, high] => [low, high],
            _ => [Dst::SINK; 2],
        };
        let cas = inst.has(Word::Cas);
        let compare = if cas { Some(pair(2)?) } else { None };
        Ok(Some(Op::Atomic128 { at, dst, compare, new: pair(if cas { 3 } else { 2 })? }))
    }

    /// `multimem`: with one device the address means its memory alone.
    fn multimem(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        match inst.modifiers.first().copied() {
            Some(Word::LdReduce) => self.load(inst),
            Some(Word::St) => self.store(inst),
            Some(Word::Red) => self.atomic(inst, 0, None),
            _ => Ok(None),
        }
    }
}

/// The word of an atomic instruction that says what it does.
pub fn operation(inst: &Instruction) -> Option<Word> {
    let words = [
        Word::And,
        Word::Or,
        Word::Xor,
        Word::Exch,
        Word::Cas,
        Word::Add,
        Word::Inc,
        Word::Dec,
        Word::Min,
        Word::Max,
    ];
    inst.modifiers.iter().copied().find(|m| words.contains(m))
}
