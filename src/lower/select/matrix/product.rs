//! `mma.sync`: one machine product where there is one, an expansion where not.

use super::{
    Element, Words, cells, converge, convert, elements, gather, is_zero, narrow, quads, scatter,
    shape, whole, words,
};
use crate::lower::select::turns::region;
use crate::lower::source::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg, RegFile, RegUse};
use orias_systems::emit::{imm, r};
use smallvec::SmallVec;

/// A machine instruction that multiplies.
#[derive(Clone, Debug)]
pub struct Product {
    pub op: Opcode,
    pub mods: SmallVec<[Mod; 5]>,
    /// Cells of the result and of what is added.
    pub cells: u8,
}

/// Metadata and selector of a product whose left factor is sparse.
pub type Sparse = Option<(Operand, u32)>;

impl Product {
    fn new(op: Opcode, mods: &[Mod], cells: u8) -> Product {
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
                cx.e.mov(orias_systems::emit::cell(d, i as u8), *word);
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
    pub shape: [u32; 3],
    pub d: Element,
    pub a: Element,
    pub b: Element,
    pub c: Element,
    pub saturate: bool,
    pub xor: bool,
    pub round: Option<Mod>,
}

/// The words of `d` for the words of `a`, `b` and `c`, as PTX orders them.
pub fn multiply(
    cx: &mut Cx<'_, '_>,
    p: &Meaning,
    a: &[Operand],
    b: &[Operand],
    c: &[Operand],
    sparse: Sparse,
) -> Sel<Words> {
    // Where one of the accumulators is wider, the wider one is what the machine sums in.
    if p.d != p.c {
        let wide = Meaning { d: Element::F32, c: Element::F32, ..*p };
        let c = if p.c == Element::F16 { convert::halves_to_floats(cx, c) } else { c.into() };
        let d = multiply(cx, &wide, a, b, &c, sparse)?;
        return Ok(if p.d == Element::F16 { convert::floats_to_halves(cx, &d) } else { d });
    }
    if p.a.is_f8() {
        return narrow::floats(cx, p, a, b, c, sparse);
    }
    if let (Element::Int { bits: 4, .. }, Element::Int { bits: 4, .. }) = (p.a, p.b) {
        return narrow::nibbles(cx, p, a, b, c, sparse);
    }
    let product =
        Product::of(p.shape, p.d, p.a, p.b, sparse.is_some()).ok_or("a product of these types")?;
    if p.xor {
        return Ok(narrow::exclusive_or(cx, &product, a, b, c));
    }
    let mut product = product;
    product.mods.extend(p.round);
    if p.saturate && product.op == Opcode::IMMA {
        product.mods.push(Mod::SAT);
    }
    Ok(product.of_words(cx, a, b, c, sparse))
}

/// The rounding word of a product of doubles; to nearest is not said.
pub fn rounding(inst: &Instruction) -> Option<Mod> {
    [(Word::Rz, Mod::RZ), (Word::Rm, Mod::RM), (Word::Rp, Mod::RP)]
        .into_iter()
        .find(|(word, _)| inst.has(*word))
        .map(|(_, m)| m)
}

pub fn mma(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let shape = shape(inst)?;
    let [d, a, b, c] = elements(inst)[..] else { return Err("types of a product".into()) };
    let meaning = Meaning {
        shape,
        d,
        a,
        b,
        c,
        saturate: inst.has(Word::Satfinite),
        xor: inst.has(Word::Xor),
        round: rounding(inst),
    };
    if inst.has(Word::BlockScale) {
        return Err("products with scaled blocks".into());
    }
    region(cx, |cx| {
        converge(cx);
        let [wa, wb, wc] = [
            words(cx, operand(inst, 1)?, a)?,
            words(cx, operand(inst, 2)?, b)?,
            words(cx, operand(inst, 3)?, c)?,
        ];
        let result = if shape == [8, 8, 4] && a == Element::F16 {
            quads::multiply(cx, inst, &meaning, &wa, &wb, &wc)?
        } else {
            let sparse = metadata(cx, inst, 4)?;
            multiply(cx, &meaning, &wa, &wb, &wc, sparse)?
        };
        scatter(cx, operand(inst, 0)?, d, &result)
    })
}

/// Metadata and selector, which stand from operand `at` on where the left factor is sparse.
pub fn metadata(cx: &mut Cx<'_, '_>, inst: &Instruction, at: usize) -> Sel<Sparse> {
    if !inst.has(Word::Sp) && !inst.has(Word::SpOrderedMetadata) {
        return Ok(None);
    }
    let value = cx.src(operand(inst, at)?, crate::ptx::types::Type::B32)?;
    let metadata = if is_zero(&value) { Operand::RZ } else { cx.in_reg(value) };
    match operand(inst, at + 1)? {
        Ptx::Int(selector @ 0..4) => Ok(Some((metadata, *selector as u32))),
        _ => Err("a sparsity selector that is no constant of 0 to 3".into()),
    }
}

/// A register for one word.
pub fn word(cx: &mut Cx<'_, '_>) -> Operand {
    r(cx.e.temp(1))
}
