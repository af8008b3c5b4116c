//! `wmma.mma`: the products of fragments that one or two machine products make.

use super::fragment::{Element, Words, converge, elements, scatter, shape, words};
use super::machine::{Meaning, rounding};
use super::product::multiply;
use super::transfer;
use crate::lower::common::lanes::under_guard;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::words::Word;
use orias_components::Operand;

/// `wmma` in all its forms.
pub fn wmma(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    match inst.modifiers.first().copied() {
        Some(Word::Load) => transfer::load(cx, inst),
        Some(Word::Store) => transfer::store(cx, inst),
        _ => product(cx, inst),
    }
}

fn product(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let [m, n, k] = shape(inst)?;
    // Of halves only d and c are named.
    let (d, a, b, c) = match elements(inst)[..] {
        [d, a, b, c] => (d, a, b, c),
        [d, c] => (d, Element::F16, Element::F16, c),
        _ => return Err("types of a product".into()),
    };
    under_guard(cx, |cx| {
        converge(cx);
        let [wa, wb, wc] = [
            words(cx, operand(inst, 1)?, a)?,
            words(cx, operand(inst, 2)?, b)?,
            words(cx, operand(inst, 3)?, c)?,
        ];
        // Fragments of halves hold their elements twice where they have eight registers for 256 of
        // them.
        let needed = |rows: u32| {
            (rows * k * a.bits()).div_ceil(1024).max(if a == Element::F64 { 2 } else { 1 }) as usize
        };
        let (wa, wb) = (&wa[..needed(m).min(wa.len())], &wb[..needed(n).min(wb.len())]);
        // The machine's products have 8 columns, and 16 rows where there are so many.
        let (left, right, rows) = match (m, n) {
            (8, 8) => (wa, wb, 8),
            // Wider than high: the transposed product.
            (8, _) => (wb, wa, 16),
            _ => (wa, wb, 16),
        };
        let meaning = Meaning {
            shape: [rows, 8, k],
            d,
            a,
            b,
            c,
            saturate: inst.has(Word::Satfinite),
            xor: inst.has(Word::Xor),
            round: rounding(inst),
        };
        let parts = (m * n / (rows * 8)) as usize;
        // Parts lie below each other in the taller factor, or beside each other in B.
        let tall = m == 32 || n == 32;
        let mut result = Words::new();
        for part in 0..parts {
            let of = |words: &[Operand], divided: bool| -> Words {
                let size = if divided { words.len() / parts } else { words.len() };
                let first = if divided { part * size } else { 0 };
                Words::from_slice(&words[first..first + size])
            };
            let (x, y) = (of(left, tall), of(right, !tall && parts > 1));
            let added = of(&wc, true);
            result.extend(multiply(cx, &meaning, &x, &y, &added, None)?);
        }
        scatter(cx, operand(inst, 0)?, d, &result)
    })
}
