//! Products as PTX means them, and the machine instructions that multiply.

use super::fragment::{Element, Words, cells, gather, is_zero, whole};
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg, RegFile, RegUse};
use orias_systems::build::imm;
use smallvec::SmallVec;

/// A machine instruction that multiplies.
#[derive(Clone, Debug)]
pub struct Product {
    /// HMMA, IMMA, BMMA or DMMA.
    pub op: Opcode,
    /// Its words: shape and types, in the order of the rows.
    pub mods: SmallVec<[Mod; 5]>,
    /// Cells of the result and of what is added.
    pub cells: u8,
}

/// Metadata and selector of a product whose left factor is sparse.
pub type Sparse = Option<(Operand, u32)>;

impl Product {
    /// Of a result of so many cells.
    pub fn new(op: Opcode, mods: &[Mod], cells: u8) -> Product {
        Product { op, mods: SmallVec::from_slice(mods), cells }
    }

    /// The machine's product of these types, if it has one.
    pub fn of(
        [m, n, k]: [u32; 3],
        d: Element,
        a: Element,
        b: Element,
        sparse: bool,
    ) -> Option<Product> {
        let mut mods: SmallVec<[Mod; 5]> = SmallVec::new();
        if sparse {
            mods.push(Mod::SP);
        }
        let (op, cells) = match (a, b) {
            (Element::F64, Element::F64) => {
                mods.push(Mod::parse(&format!("{m}x{n}x{k}"))?);
                return Some(Product::new(Opcode::DMMA, &mods, if m == 8 { 4 } else { 8 }));
            }
            (Element::F16, Element::F16)
            | (Element::Bf16, Element::Bf16)
            | (Element::Tf32, Element::Tf32) => {
                mods.push(Mod::parse(&format!("{m}{n}{k}"))?);
                mods.push(if d == Element::F16 { Mod::F16 } else { Mod::F32 });
                mods.extend(match a {
                    Element::Bf16 => Some(Mod::BF16),
                    Element::Tf32 => Some(Mod::TF32),
                    _ => None,
                });
                (Opcode::HMMA, if d == Element::F16 { 2 } else { 4 })
            }
            (Element::Int { bits: 8, signed: x }, Element::Int { bits: 8, signed: y }) => {
                mods.push(Mod::parse(&format!("{m}{n}{k}"))?);
                mods.extend([x, y].map(|signed| if signed { Mod::S8 } else { Mod::U8 }));
                (Opcode::IMMA, if m == 8 { 2 } else { 4 })
            }
            (Element::Int { bits: 1, .. }, Element::Int { bits: 1, .. }) => {
                mods.push(Mod::parse(&format!("{m}{n}{k}"))?);
                mods.extend([Mod::AND, Mod::POPC]);
                (Opcode::BMMA, if m == 8 { 2 } else { 4 })
            }
            _ => return None,
        };
        Some(Product { op, mods, cells })
    }

    /// Appends the product of two tuples, added to `c`; the tuple with the result.
    pub fn put(
        &self,
        cx: &mut Cx<'_, '_>,
        a: RegUse,
        b: RegUse,
        c: &[Operand],
        sparse: Sparse,
    ) -> Reg {
        let d = cx.e.body.new_vreg(RegFile::R, self.cells, self.cells);
        let added = if c.iter().all(is_zero) {
            Operand::RZ
        } else {
            for (i, word) in c.iter().enumerate() {
                cx.e.mov(orias_systems::build::cell(d, i as u8), *word);
            }
            whole(d, self.cells)
        };
        let (a, b) = match self.op {
            Opcode::IMMA | Opcode::BMMA => (Operand::Part(a, Mod::ROW), Operand::Part(b, Mod::COL)),
            _ => (Operand::Reg(a), Operand::Reg(b)),
        };
        let mut operands: SmallVec<[Operand; 7]> =
            SmallVec::from_slice(&[whole(d, self.cells), a, b, added, Operand::UPT]);
        if let Some((metadata, selector)) = sparse {
            operands.extend([metadata, imm(selector)]);
        }
        cx.e.put(self.op, &self.mods, 1, &operands);
        d
    }

    /// The same of words, for words.
    pub fn of_words(
        &self,
        cx: &mut Cx<'_, '_>,
        a: &[Operand],
        b: &[Operand],
        c: &[Operand],
        sparse: Sparse,
    ) -> Words {
        let a = gather(cx, a);
        let b = gather(cx, b);
        let d = self.put(cx, a, b, c, sparse);
        cells(d, self.cells)
    }
}

/// A product as PTX means it: shape and types, how integers end, and how bits are combined.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// m, n and k.
    pub shape: [u32; 3],
    /// Of the result.
    pub d: Element,
    /// Of the left factor.
    pub a: Element,
    /// Of the right factor.
    pub b: Element,
    /// Of what is added.
    pub c: Element,
    /// `.satfinite`: integers are clamped.
    pub saturate: bool,
    /// Bits are combined by exclusive or, not by and.
    pub xor: bool,
    /// The rounding word of a product of doubles.
    pub round: Option<Mod>,
}

/// The rounding word of a product of doubles; to nearest is not said.
pub fn rounding(inst: &Instruction) -> Option<Mod> {
    [(Word::Rz, Mod::RZ), (Word::Rm, Mod::RM), (Word::Rp, Mod::RP)]
        .into_iter()
        .find(|(word, _)| inst.has(*word))
        .map(|(_, m)| m)
}

/// Metadata and selector, which stand from operand `at` on where the left factor is sparse.
pub fn metadata(cx: &mut Cx<'_, '_>, inst: &Instruction, at: usize) -> Sel<Sparse> {
    if !inst.has(Word::Sp) && !inst.has(Word::SpOrderedMetadata) {
        return Ok(None);
    }
    let value = cx.src(operand(inst, at)?, crate::ptx::types::Type::B32)?;
    let metadata = if is_zero(&value) { Operand::RZ } else { cx.in_reg(value) };
    match operand(inst, at + 1)?.integer() {
        Some(selector @ 0..4) => Ok(Some((metadata, selector as u32))),
        _ => Err("a sparsity selector that is no constant of 0 to 3".into()),
    }
}
