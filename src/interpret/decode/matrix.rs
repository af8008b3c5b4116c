//! Matrix instructions.

use rustc_apfloat::Round;

use super::{Decoded, Decoder, rounding, space};
use crate::interpret::code::{Op, Src};
use crate::interpret::float::{Format, Small};
use crate::interpret::matrix::{
    Element, Fragment, Group, Input, Matrix, Product, QuadPairs, Role, Sparse,
};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;

impl<'s> Decoder<'_, 's> {
    pub(super) fn matrix(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let matrix = match inst.opcode {
            "ldmatrix" | "stmatrix" | "movmatrix" => self.eight(inst)?,
            "mma" => self.product(inst)?,
            "wmma" if inst.modifiers.first() == Some(&"mma") => self.product(inst)?,
            "wmma" => self.transfer(inst)?,
            "wgmma" if inst.modifiers.first() == Some(&"mma_async") => self.group(inst)?,
            "wgmma" if inst.modifiers.first() == Some(&"commit_group") => {
                return Ok(Some(Op::GroupCommit));
            }
            "wgmma" if inst.modifiers.first() == Some(&"wait_group") => {
                let Operand::Int(count) = self.operand(inst, 0)? else {
                    return Err("the number of groups is no constant".to_string());
                };
                return Ok(Some(Op::GroupWait((*count).clamp(0, i128::from(u8::MAX)) as usize)));
            }
            // A warp does its part at once: there is nothing to order.
            "wgmma" => return Ok(Some(Op::Nop)),
            _ => None,
        };
        Ok(matrix.map(|matrix| Op::Matrix(Box::new(matrix))))
    }

    fn eight(&self, inst: &Instruction<'s>) -> Decoded<Option<Matrix>> {
        if !inst.has("m8n8") || !inst.has("b16") {
            return Ok(None);
        }
        let transposed = inst.has("trans");
        Ok(Some(match inst.opcode {
            "ldmatrix" => Matrix::Load8 {
                at: self.address(self.operand(inst, 1)?, space(inst)?)?,
                transposed,
                dst: self.targets(self.operand(inst, 0)?)?,
            },
            "stmatrix" => Matrix::Store8 {
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
    fn product(&self, inst: &Instruction<'s>) -> Decoded<Option<Matrix>> {
        if inst.has("block_scale") {
            return Ok(None);
        }
        let Some([m, n, k]) = shape(inst) else { return Ok(None) };
        let words: Vec<Element> = inst.modifiers.iter().filter_map(|m| element(m)).collect();
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
            let layouts: Vec<&str> =
                inst.modifiers.iter().copied().filter(|m| matches!(*m, "row" | "col")).collect();
            let [a_layout, b_layout] = layouts[..] else { return Ok(None) };
            return Ok(Some(Matrix::QuadPairs(QuadPairs {
                a: sources(1)?,
                b: sources(2)?,
                c: (c, sources(3)?),
                d: (d, targets),
                a_by_column: a_layout == "col",
                b_by_row: b_layout == "row",
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
            xor: inst.has("xor"),
            saturate: inst.has("satfinite"),
        })))
    }

    /// Metadata and selector: operands `index` and the one after it.
    fn sparse(&self, inst: &Instruction<'s>, index: usize) -> Decoded<Sparse> {
        let metadata = self.source(inst, index, Type::B32)?;
        match self.operand(inst, index + 1)? {
            Operand::Int(selector @ 0..4) => Ok(Sparse { metadata, selector: *selector as usize }),
            other => Err(format!("sparsity selector {other:?}")),
        }
    }

    /// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 r, [p], stride` and `wmma.store.d… [p],
    /// r, stride`.
    fn transfer(&self, inst: &Instruction<'s>) -> Decoded<Option<Matrix>> {
        let Some([m, n, k]) = shape(inst) else { return Ok(None) };
        let Some(element) = inst.modifiers.last().and_then(|m| element(m)) else {
            return Ok(None);
        };
        let (role, rows, columns) = match inst.modifiers.get(1).copied() {
            Some("a") => (Role::A, m, k),
            Some("b") => (Role::B, k, n),
            Some("c" | "d") => (Role::C, m, n),
            _ => return Ok(None),
        };
        let fragment = Fragment { role, rows, columns, element };
        let by_column = inst.has("col");
        let stride = match inst.operands.get(2) {
            Some(operand) => self.src(operand, Type::U32)?,
            None => Src::Imm(if by_column { rows } else { columns } as u64),
        };
        let space = space(inst)?;
        Ok(Some(if inst.has("store") {
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
    fn group(&self, inst: &Instruction<'s>) -> Decoded<Option<Matrix>> {
        let Some([64, n, k]) = shape(inst) else { return Ok(None) };
        let words: Vec<Element> = inst.modifiers.iter().filter_map(|m| element(m)).collect();
        let [d, a, b] = words[..] else { return Ok(None) };
        let number = |index: usize| match inst.operands.get(index) {
            Some(Operand::Int(value)) => Some(*value),
            _ => None,
        };
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
            saturate: inst.has("satfinite"),
        })))
    }
}

fn is_sparse(inst: &Instruction<'_>) -> bool {
    inst.has("sp") || inst.has("sp::ordered_metadata")
}

/// `m16n8k16`
fn shape(inst: &Instruction<'_>) -> Option<[usize; 3]> {
    inst.modifiers.iter().find_map(|word| {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    })
}

fn element(word: &str) -> Option<Element> {
    let int = |bits, signed| Element::Int { bits, signed };
    Some(match word {
        "f16" => Element::Float(Format::F16),
        "bf16" => Element::Float(Format::Bf16),
        "f32" => Element::Float(Format::F32),
        "f64" => Element::Float(Format::F64),
        "tf32" => Element::Tf32,
        "e4m3" => Element::Small(Small::E4m3),
        "e5m2" => Element::Small(Small::E5m2),
        "s8" => int(8, true),
        "u8" => int(8, false),
        "s4" => int(4, true),
        "u4" => int(4, false),
        "b1" => int(1, false),
        "s32" => int(32, true),
        _ => return None,
    })
}
