//! `mma.sync`.

use super::fragment::{Element, converge, elements, scatter, shape, words};
use super::machine::{Meaning, metadata, rounding};
use super::product::multiply;
use super::quads;
use crate::lower::common::lanes::under_guard;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::words::Word;

/// `mma.sync`.
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
    under_guard(cx, |cx| {
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
