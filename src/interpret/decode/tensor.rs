//! Copies by tensor map.

use super::asynchronous::memory;
use super::decoder::{Decoded, Decoder};
use super::memory::operation;
use crate::interpret::code::Op;
use crate::interpret::operand::{Address, Space, Src};
use crate::interpret::tensor::{Field, MapChange, Tensor};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes copies by tensor map and changes of maps; None for other instructions.
    pub(super) fn tensor(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        match inst.opcode {
            Opcode::Cp if inst.has(Word::Tensor) => self.tensor_copy(inst),
            Opcode::Tensormap => self.tensor_map(inst),
            _ => Ok(None),
        }
    }

    /// To shared memory: `[to], [map, {coordinates}], [mbarrier], {offsets}, ctas, policy`; to the
    /// tensor: `[map, {coordinates}], [from], policy`.
    fn tensor_copy(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let spaces: Vec<Space> = inst.modifiers.iter().filter_map(|m| memory(*m)).take(2).collect();
        let [to, from] = spaces[..] else { return Ok(None) };
        let store = to == Space::Mapped;
        let (map, shared) = if store { (0, 1) } else { (1, 0) };
        let (map, coordinates) = match self.operand(inst, map)? {
            Operand::AddressList(list) => match &list[..] {
                [map, coordinates] => {
                    let map = match map {
                        Operand::Address { .. } => self.address(map, Space::Generic)?,
                        base => {
                            let base = self.src(base, Type::U64)?;
                            Address { space: Space::Generic, base, offset: 0 }
                        }
                    };
                    (map, self.sources(coordinates, Type::B32)?)
                }
                _ => return Err("has no coordinates".to_string()),
            },
            other => return Err(format!("tensor map {other:?}")),
        };
        let shared_space = if store { from } else { to };
        let shared = self.address(self.operand(inst, shared)?, shared_space)?;
        let im2col = inst.has(Word::Im2col);
        let offsets = match (im2col, inst.has(Word::Im2colNoOffs)) {
            (true, _) => Some(self.sources(self.operand(inst, 3)?, Type::U16)?),
            (false, true) => Some(Box::from([])),
            (false, false) => None,
        };
        let complete = match store {
            true => None,
            false => Some(self.address(self.operand(inst, 2)?, to)?),
        };
        let multicast = match inst.has(Word::MulticastCluster) {
            true => Some(self.source(inst, 3 + usize::from(im2col), Type::U16)?),
            false => None,
        };
        let reduce = match inst.has(Word::Reduce) {
            true => operation(inst),
            false => None,
        };
        Ok(Some(Op::Tensor(Box::new(Tensor {
            map,
            coordinates,
            shared,
            store,
            reduce,
            offsets,
            complete,
            multicast,
        }))))
    }

    fn tensor_map(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let spaces: Vec<Space> = inst.modifiers.iter().filter_map(|m| memory(*m)).collect();
        let at =
            |index, space| -> Decoded<Address> { self.address(self.operand(inst, index)?, space) };
        if inst.has(Word::CpFenceproxy) {
            let [to, from] = spaces[..] else { return Ok(None) };
            let change = MapChange::Copy { to: at(0, to)?, from: at(1, from)? };
            return Ok(Some(Op::MapChange(Box::new(change))));
        }
        if !inst.has(Word::Replace) {
            return Ok(None);
        }
        // Fields of a direction name it before the value.
        let direction = || {
            let operand = self.operand(inst, 1)?;
            match operand.integer() {
                Some(direction @ 0..5) => Ok(direction as usize),
                _ => Err(format!("direction {operand:?}")),
            }
        };
        let Some(field) = inst.modifiers.get(2) else { return Ok(None) };
        let field = match *field {
            Word::GlobalAddress => Field::Address,
            Word::Rank => Field::Rank,
            Word::GlobalDim => Field::Dim(direction()?),
            Word::GlobalStride => Field::Stride(direction()?),
            Word::BoxDim => Field::BoxDim(direction()?),
            Word::ElementStride => Field::ElementStride(direction()?),
            Word::Elemtype => Field::ElementType,
            Word::InterleaveLayout => Field::Interleave,
            Word::SwizzleMode => Field::Swizzle,
            Word::FillMode => Field::Fill,
            _ => return Ok(None),
        };
        let value: Src = self.source(inst, inst.operands.len() - 1, Type::B64)?;
        let space = spaces.first().copied().unwrap_or(Space::Generic);
        let change = MapChange::Replace { at: at(0, space)?, field, value };
        Ok(Some(Op::MapChange(Box::new(change))))
    }
}
