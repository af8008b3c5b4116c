//! Fragments of matrices as words in tuples of consecutive registers.
//!
//! A machine product names tuples where PTX names one register for each word: the words are copied
//! to a tuple before and from one after it, and coalescing makes the copies disappear.

use crate::lower::context::cx::{Cx, Sel, cells_of};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{BlockId, Mod, Opcode, Operand, Reg, RegFlags, RegUse};
use orias_systems::build::{cell, r, wide as tuple};
use smallvec::SmallVec;

/// The words of a fragment, in the order of PTX's registers: two for each f64.
pub type Words = SmallVec<[Operand; 16]>;

/// What the elements of a matrix are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    Int { bits: u8, signed: bool },
}

impl Element {
    /// What products of integers are summed in.
    pub const S32: Element = Element::Int { bits: 32, signed: true };

    /// The element that a modifier word names.
    pub fn of(word: Word) -> Option<Element> {
        let int = |bits, signed| Element::Int { bits, signed };
        Some(match word {
            Word::F16 => Element::F16,
            Word::Bf16 => Element::Bf16,
            Word::Tf32 => Element::Tf32,
            Word::F32 => Element::F32,
            Word::F64 => Element::F64,
            Word::E4m3 => Element::E4m3,
            Word::E5m2 => Element::E5m2,
            Word::S8 => int(8, true),
            Word::U8 => int(8, false),
            Word::S4 => int(4, true),
            Word::U4 => int(4, false),
            Word::B1 => int(1, false),
            Word::S32 => Element::S32,
            _ => return None,
        })
    }

    /// Bits of one element in its matrix.
    pub fn bits(self) -> u32 {
        match self {
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 => 32,
            Element::F64 => 64,
            Element::E4m3 | Element::E5m2 => 8,
            Element::Int { bits, .. } => u32::from(bits),
        }
    }

    /// Whether it is an 8-bit float.
    pub fn is_f8(self) -> bool {
        matches!(self, Element::E4m3 | Element::E5m2)
    }

    /// The type of a register that holds it.
    pub fn register(self) -> Type {
        if self == Element::F64 { Type::B64 } else { Type::B32 }
    }
}

/// The element types that an instruction names, in order.
pub fn elements(inst: &Instruction) -> SmallVec<[Element; 4]> {
    inst.modifiers.iter().filter_map(|word| Element::of(*word)).collect()
}

/// `m16n8k16`
pub fn shape(inst: &Instruction) -> Sel<[u32; 3]> {
    let shape = inst.modifiers.iter().find_map(|word| word.shape());
    Ok(shape.ok_or("a product without a shape")?.map(u32::from))
}

/// The registers of a PTX operand: those of a vector, or the one that it is.
pub fn parts(op: &Ptx) -> &[Ptx] {
    match op {
        Ptx::Vector(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

/// The words of a source fragment.
pub fn words(cx: &mut Cx<'_, '_>, op: &Ptx, element: Element) -> Sel<Words> {
    let ty = element.register();
    let mut words = Words::new();
    for part in parts(op) {
        let value = cx.value(part, ty)?;
        words.push(value.lo());
        if cells_of(ty) == 2 {
            words.push(value.hi());
        }
    }
    Ok(words)
}

/// Copies a tuple's words to the registers of a destination.
pub fn scatter(cx: &mut Cx<'_, '_>, op: &Ptx, element: Element, from: &[Operand]) -> Sel {
    let cells = cells_of(element.register());
    for (part, words) in parts(op).iter().zip(from.chunks(usize::from(cells))) {
        let d = cx.dst(part)?;
        for (i, word) in words.iter().enumerate().filter(|_| !d.is_zero()) {
            cx.e.mov(cell(d, i as u8), *word);
        }
    }
    Ok(())
}

/// Whether a word is zero wherever it stands.
pub fn is_zero(word: &Operand) -> bool {
    *word == Operand::Imm(0) || matches!(word, Operand::Reg(u) if u.reg == Reg::RZ)
}

/// The words one after the other in registers: where they are already, or in a new tuple. Zeros
/// only are RZ.
pub fn gather(cx: &mut Cx<'_, '_>, words: &[Operand]) -> RegUse {
    if words.iter().all(is_zero) {
        return RegUse::new(Reg::RZ);
    }
    let count = words.len() as u8;
    if let Operand::Reg(first) = words[0]
        && first.flags == RegFlags::NONE
        && let Some(id) = first.reg.vreg()
    {
        let follow = |(i, w): (usize, &Operand)| *w == cell(first.reg, first.cell + i as u8);
        let align = cx.e.body.vreg(id).align;
        let whole = count.next_power_of_two();
        if align >= whole && first.cell % whole == 0 && words.iter().enumerate().all(follow) {
            return RegUse::at(first.reg, first.cell, count);
        }
    }
    // The same fragment in several products is one tuple.
    if let Some(known) = cx.tuples.get(words).filter(|known| still_holds(cx, words, **known)) {
        return RegUse::wide(known.0, count);
    }
    let d = cx.e.body.new_vreg(orias_components::RegFile::R, count, count.next_power_of_two());
    for (i, word) in words.iter().enumerate() {
        cx.e.mov(cell(d, i as u8), *word);
    }
    let place = cx.e.body.block(cx.e.block).insts().len();
    cx.tuples.insert(words.into(), (d, cx.e.block, place));
    RegUse::wide(d, count)
}

/// Instructions back to which a tuple is looked for.
pub const NEAR: usize = 4096;

/// Whether nothing has been written since to a tuple or to the registers that its words came from.
pub fn still_holds(
    cx: &Cx<'_, '_>,
    words: &[Operand],
    (tuple, block, place): (Reg, BlockId, usize),
) -> bool {
    let insts = cx.e.body.block(cx.e.block).insts();
    if block != cx.e.block || insts.len() - place > NEAR {
        return false;
    }
    let from = |reg| reg == tuple || words.iter().any(|w| w.as_reg().is_some_and(|u| u.reg == reg));
    insts[place..].iter().all(|id| {
        let mut kept = true;
        cx.e.body.inst(*id).for_each_def(|r| kept &= !from(r.reg));
        kept
    })
}

/// The cells of a tuple, one by one.
pub fn cells(reg: Reg, count: u8) -> Words {
    (0..count).map(|i| cell(reg, i)).collect()
}

/// A whole tuple as an operand.
pub fn whole(reg: Reg, count: u8) -> Operand {
    if count == 1 { cell(reg, 0) } else { tuple(reg, count) }
}

/// Brings the threads of the warp together where branches may have made them diverge, and
/// everywhere at -O0, as ptxas does: once a block.
pub fn converge(cx: &mut Cx<'_, '_>) {
    let diverged = !cx.function.labels.is_empty() || !cx.e.guard.is_always();
    let diverged = diverged || cx.module.options.opt_level == 0;
    if diverged && cx.converged != Some(cx.e.block) {
        cx.e.put(Opcode::WARPSYNC, &[Mod::ALL], 0, &[]);
        cx.converged = Some(cx.e.block);
    }
}

/// A register for one word.
pub fn word(cx: &mut Cx<'_, '_>) -> Operand {
    r(cx.e.temp(1))
}
