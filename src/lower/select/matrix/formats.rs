//! Fragments of one type made of another: accumulators of halves and of floats, 8-bit floats as
//! halves.

use super::fragment::{Element, Words, word};
use crate::lower::context::cx::Cx;
use orias_components::{Mod, Opcode, Operand, Reg, RegFlags, RegUse};
use smallvec::SmallVec;

/// RZ with a minus: what is added to leave a number as it is, the sign of zero too.
fn minus_zero() -> Operand {
    Operand::Part(RegUse { flags: RegFlags::NEG, ..RegUse::new(Reg::RZ) }, Mod::NONE)
}

/// A word with a part selector.
fn part(word: Operand, part: Mod) -> Operand {
    match word {
        Operand::Reg(u) => Operand::Part(u, part),
        other => other,
    }
}

/// Two floats of each word of two halves.
pub fn halves_to_floats(cx: &mut Cx<'_, '_>, from: &[Operand]) -> Words {
    let mut floats = Words::new();
    for pair in from {
        let pair = cx.in_reg(*pair);
        for half in [Mod::H0_H0, Mod::H1_H1] {
            let d = word(cx);
            cx.e.put(Opcode::HADD2, &[Mod::F32], 1, &[d, minus_zero(), part(pair, half)]);
            floats.push(d);
        }
    }
    floats
}

/// A word of two halves of each two floats, rounded to nearest.
pub fn floats_to_halves(cx: &mut Cx<'_, '_>, from: &[Operand]) -> Words {
    let pack = |two: &[Operand]| {
        let d = word(cx);
        let high = cx.in_reg(two[1]);
        cx.e.put(Opcode::F2FP, &[Mod::F16, Mod::F32, Mod::PACK_AB], 1, &[d, high, two[0]]);
        d
    };
    from.chunks_exact(2).map(pack).collect()
}

/// Four 8-bit floats of each word as halves: all lower pairs, and all upper ones.
pub fn unpack(cx: &mut Cx<'_, '_>, from: &[Operand], format: Mod) -> [Words; 2] {
    let mut pairs: [Words; 2] = [SmallVec::new(), SmallVec::new()];
    for source in from {
        let source = cx.in_reg(*source);
        for (pairs, half) in pairs.iter_mut().zip([Mod::NONE, Mod::H1]) {
            let d = word(cx);
            cx.e.put(Opcode::F2FP, &[Mod::F16, format, Mod::UNPACK_B], 1, &[d, part(source, half)]);
            pairs.push(d);
        }
    }
    pairs
}

/// Accumulators plus products, word by word.
pub fn add(cx: &mut Cx<'_, '_>, element: Element, products: &[Operand], c: &[Operand]) -> Words {
    let sum = |(product, c): (&Operand, &Operand)| {
        let (d, c) = (word(cx), cx.in_reg(*c));
        if element == Element::F16 {
            cx.e.put(Opcode::HADD2, &[], 1, &[d, part(c, Mod::NONE), part(*product, Mod::NONE)]);
        } else {
            cx.e.fadd(&[], d, c, *product);
        }
        d
    };
    products.iter().zip(c).map(sum).collect()
}
