//! Matrix instructions.

use rustc_apfloat::Round;

use super::decoder::{Decoded, Decoder, rounding, space};
use crate::interpret::code::Op;
use crate::interpret::float::{Format, Small};
use crate::interpret::matrix::Matrix;
use crate::interpret::matrix::{Element, Fragment, Group, Input, Product, QuadPairs, Role, Sparse};
use crate::interpret::operand::Src;
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes matrix instructions; None for others.
    pub(super) fn matrix(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let matrix = match inst.opcode {
            Opcode::Ldmatrix | Opcode::Stmatrix | Opcode::Movmatrix => self.eight(inst)?,
            Opcode::Mma => self.product(inst)?,
            Opcode::Wmma if inst.modifiers.first() == Some(&Word::Mma) => self.product(inst)?,
            Opcode::Wmma => self.transfer(inst)?,
            Opcode::Wgmma if inst.modifiers.first() == Some(&Word::MmaAsync) => self.group(inst)?,
            Opcode::Wgmma if inst.modifiers.first() == Some(&Word::CommitGroup) => {
                return Ok(Some(Op::GroupCommit));
            }
            Opcode::Wgmma if inst.modifiers.first() == Some(&Word::WaitGroup) => {
                let Operand::Int(count) = self.operand(inst, 0)? else {
                    return Err("the number of groups is no constant".to_string());
                };
                return Ok(Some(Op::GroupWait(count.get().clamp(0, i128::from(u8::MAX)) as usize)));
            }
            // A warp does its part at once: there is nothing to order.
            Opcode::Wgmma => return Ok(Some(Op::Nop)),
            _ => None,
        };
        Ok(matrix.map(|matrix| Op::Matrix(Box::new(matrix))))
    }

    fn eight(&self, inst: &Instruction) -> Decoded<Option<Matrix>> {
        if !inst.has(Word::M8n8) || !inst.has(Word::B16) {
            return Ok(None);
        }
        let transposed = inst.has(Word::Trans);
        Ok(Some(match inst.opcode {
            Opcode::Ldmatrix => Matrix::Load8 {
                at: self.address(self.operand(inst, 1)?, space(inst)?)?,
                transposed,
                dst: self.targets(self.operand(inst, 0)?)?,
            },
            Opcode::Stmatrix => Matrix::Store8 {
                at: self.address(self.operand(inst, 0)?, space(inst)?)?,
                transposed,
                src: self.sources(self.operand(inst, 1)?, Type::B32)?,
            },
            _ => {
                Matrix::Move8 { dst: self.target(inst, 0)?, src: self.source(inst, 1, Type::B32)? }
            }
        }))
    }

    /// `mma.sync` and `wmma.mma`.
    fn product(&self, inst: &Instruction) -> Decoded<Option<Matrix>> {
        if inst.has(Word::BlockScale) {
            return Ok(None);
        }
        let Some([m, n, k]) = shape(inst) else { return Ok(None) };
        let words: Vec<Element> = inst.modifiers.iter().filter_map(|m| element(*m)).collect();
        // wmma of halves names d and c only.
        let half = Element::Float(Format::F16);
        let (d, a, b, c) = match words[..] {
            [d, a, b, c] => (d, a, b, c),
            [d, c] => (d, half, half, c),
            _ => return Ok(None),
        };
        let sources = |index| self.sources(self.operand(inst, index)?, Type::B32);
        let targets = self.targets(self.operand(inst, 0)?)?;
        if (m, n, k) == (8, 8, 4) && a == half {
            // mma.sync.aligned.m8n8k4.ALAYOUT.BLAYOUT…
            let layouts: Vec<Word> = inst
                .modifiers
                .iter()
                .copied()
                .filter(|m| matches!(*m, Word::Row | Word::Col))
                .collect();
            let [a_layout, b_layout] = layouts[..] else { return Ok(None) };
            return Ok(Some(Matrix::QuadPairs(QuadPairs {
                a: sources(1)?,
                b: sources(2)?,
                c: (c, sources(3)?),
                d: (d, targets),
                a_by_column: a_layout == Word::Col,
                b_by_row: b_layout == Word::Row,
            })));
        }
        let sparse = if is_sparse(inst) { Some(self.sparse(inst, 4)?) } else { None };
        let stored = if sparse.is_some() { k / 2 } else { k };
        let fragment = |role, rows, columns, element| Fragment { role, rows, columns, element };
        Ok(Some(Matrix::Product(Product {
            a: (fragment(Role::A, m, stored, a), sources(1)?),
            b: (fragment(Role::B, k, n, b), sources(2)?),
            c: (fragment(Role::C, m, n, c), sources(3)?),
            d: (fragment(Role::C, m, n, d), targets),
            sparse,
            round: rounding(inst).map_or(Round::NearestTiesToEven, |(round, _)| round),
            xor: inst.has(Word::Xor),
            saturate: inst.has(Word::Satfinite),
        })))
    }

    /// Metadata and selector: operands `index` and the one after it.
    fn sparse(&self, inst: &Instruction, index: usize) -> Decoded<Sparse> {
        let metadata = self.source(inst, index, Type::B32)?;
        let operand = self.operand(inst, index + 1)?;
        match operand.integer() {
            Some(selector @ 0..4) => Ok(Sparse { metadata, selector: selector as usize }),
            _ => Err(format!("sparsity selector {operand:?}")),
        }
    }

    /// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 r, [p], stride` and `wmma.store.d… [p],
    /// r, stride`.
    fn transfer(&self, inst: &Instruction) -> Decoded<Option<Matrix>> {
        let Some([m, n, k]) = shape(inst) else { return Ok(None) };
        let Some(element) = inst.modifiers.last().and_then(|m| element(*m)) else {
            return Ok(None);
        };
        let (role, rows, columns) = match inst.modifiers.get(1).copied() {
            Some(Word::A) => (Role::A, m, k),
            Some(Word::B) => (Role::B, k, n),
            Some(Word::C | Word::D) => (Role::C, m, n),
            _ => return Ok(None),
        };
        let fragment = Fragment { role, rows, columns, element };
        let by_column = inst.has(Word::Col);
        let stride = match inst.operands.get(2) {
            Some(operand) => self.src(operand, Type::U32)?,
            None => Src::Imm(if by_column { rows } else { columns } as u64),
        };
        let space = space(inst)?;
        Ok(Some(if inst.has(Word::Store) {
            let at = self.address(self.operand(inst, 0)?, space)?;
            let src = self.sources(self.operand(inst, 1)?, Type::B32)?;
            Matrix::Store { at, stride, by_column, fragment, src }
        } else {
            let at = self.address(self.operand(inst, 1)?, space)?;
            let dst = self.targets(self.operand(inst, 0)?)?;
            Matrix::Load { at, stride, by_column, fragment, dst }
        }))
    }

    /// `wgmma.mma_async d, a, b, scale-d, scale-a, scale-b, trans-a, trans-b`, the last ones where
    /// the types have them.
    fn group(&self, inst: &Instruction) -> Decoded<Option<Matrix>> {
        let Some([64, n, k]) = shape(inst) else { return Ok(None) };
        let words: Vec<Element> = inst.modifiers.iter().filter_map(|m| element(*m)).collect();
        let [d, a, b] = words[..] else { return Ok(None) };
        let number = |index: usize| inst.operands.get(index).and_then(Operand::integer);
        let first = self.operand(inst, 1)?;
        // What follows b stands two places further where there is metadata.
        let (sparse, more) =
            if is_sparse(inst) { (Some(self.sparse(inst, 3)?), 2) } else { (None, 0) };
        let in_registers = matches!(first, Operand::Vector(_));
        let transposed = |index: usize| number(index).unwrap_or(0) != 0;
        let a_input = if in_registers {
            Input::Registers(self.sources(first, Type::B32)?)
        } else {
            Input::Shared {
                descriptor: self.src(first, Type::B64)?,
                transposed: transposed(6 + more),
            }
        };
        let b_transposed = transposed(more + if in_registers { 6 } else { 7 });
        let b_input = Input::Shared {
            descriptor: self.source(inst, 2, Type::B64)?,
            transposed: b_transposed,
        };
        let accumulate = match inst.operands.get(3 + more) {
            Some(operand) => self.src(operand, Type::B32)?,
            None => Src::Imm(1),
        };
        let sign = |index: usize| if number(index + more) == Some(-1) { -1.0 } else { 1.0 };
        Ok(Some(Matrix::Group(Group {
            n,
            k,
            a: (a, a_input),
            b: (b, b_input),
            d: (d, self.targets(self.operand(inst, 0)?)?),
            accumulate,
            scale: (sign(4), sign(5)),
            sparse,
            saturate: inst.has(Word::Satfinite),
        })))
    }
}

fn is_sparse(inst: &Instruction) -> bool {
    inst.has(Word::Sp) || inst.has(Word::SpOrderedMetadata)
}

/// `m16n8k16`
fn shape(inst: &Instruction) -> Option<[usize; 3]> {
    let shape = inst.modifiers.iter().find_map(|word| word.shape())?;
    Some(shape.map(usize::from))
}

fn element(word: Word) -> Option<Element> {
    let int = |bits, signed| Element::Int { bits, signed };
    Some(match word {
        Word::F16 => Element::Float(Format::F16),
        Word::Bf16 => Element::Float(Format::Bf16),
        Word::F32 => Element::Float(Format::F32),
        Word::F64 => Element::Float(Format::F64),
        Word::Tf32 => Element::Tf32,
        Word::E4m3 => Element::Small(Small::E4m3),
        Word::E5m2 => Element::Small(Small::E5m2),
        Word::S8 => int(8, true),
        Word::U8 => int(8, false),
        Word::S4 => int(4, true),
        Word::U4 => int(4, false),
        Word::B1 => int(1, false),
        Word::S32 => int(32, true),
        _ => return None,
    })
}
