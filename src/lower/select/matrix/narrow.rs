//! Products that sm_90 has no instruction for, made of those that it has: 4-bit integers, exclusive
//! or of bits, 8-bit floats.

use super::fragment::{Element, Words, word};
use super::machine::{Meaning, Product, Sparse};
use super::{formats as convert, sparse_floats};
use crate::lower::context::cx::{Cx, Sel};
use orias_components::{Mod, Operand};
use orias_systems::build::imm;

/// Exclusive or: bits that differ are those of `a` that are not in `b`, and the other way round.
pub fn exclusive_or(
    cx: &mut Cx<'_, '_>,
    and: &Product,
    a: &[Operand],
    b: &[Operand],
    c: &[Operand],
) -> Words {
    let not = |cx: &mut Cx<'_, '_>, words: &[Operand]| -> Words {
        let flip = |w: &Operand| {
            let d = word(cx);
            cx.e.xor(d, *w, imm(u32::MAX));
            d
        };
        words.iter().map(flip).collect()
    };
    let not_a = not(cx, a);
    let not_b = not(cx, b);
    let first = and.of_words(cx, a, &not_b, c, None);
    and.of_words(cx, &not_a, b, &first, None)
}

/// 4-bit integers as bytes. A byte holds sixteen times the number, in its upper four bits: this way
/// signed and unsigned ones need no extension, and the sum of products is 256 times what is meant,
/// far below 2^31.
///
/// Numbers of even places and of odd ones are multiplied apart: which of them meet is the same in
/// both factors. Sparse factors hold or leave out pairs of numbers, so each half is sparse as bytes
/// are.
pub fn nibbles(
    cx: &mut Cx<'_, '_>,
    p: &Meaning,
    a: &[Operand],
    b: &[Operand],
    c: &[Operand],
    sparse: Sparse,
) -> Sel<Words> {
    let byte = |e: Element| match e {
        Element::Int { signed, .. } => Element::Int { bits: 8, signed },
        other => other,
    };
    let [m, n, k] = p.shape;
    let product = Product::of([m, n, k / 2], Element::S32, byte(p.a), byte(p.b), sparse.is_some())
        .ok_or("a product of this shape")?;
    let [a_even, a_odd] = split(cx, a);
    let [b_even, b_odd] = split(cx, b);
    let even = product.of_words(cx, &a_even, &b_even, &[], sparse);
    let sums = product.of_words(cx, &a_odd, &b_odd, &even, sparse);
    let mut result = Words::new();
    for (sum, c) in sums.iter().zip(c) {
        let (exact, total) = (word(cx), word(cx));
        cx.e.shr(exact, *sum, imm(8), true);
        let c = cx.in_reg(*c);
        cx.e.iadd3(total, exact, c, Operand::RZ);
        result.push(if p.saturate { saturated(cx, total, exact, c) } else { total });
    }
    Ok(result)
}

/// The numbers of even places, and those of odd ones, in the upper halves of bytes.
fn split(cx: &mut Cx<'_, '_>, words: &[Operand]) -> [Words; 2] {
    const UPPER: u32 = 0xf0f0_f0f0;
    let (mut even, mut odd) = (Words::new(), Words::new());
    for w in words {
        let (shifted, low, high) = (word(cx), word(cx), word(cx));
        cx.e.shl(shifted, *w, imm(4));
        cx.e.and(low, shifted, imm(UPPER));
        cx.e.and(high, *w, imm(UPPER));
        even.push(low);
        odd.push(high);
    }
    [even, odd]
}

/// `total = x + y` held within 32 signed bits: it left them where both summands have the sign that
/// it has not.
fn saturated(cx: &mut Cx<'_, '_>, total: Operand, x: Operand, y: Operand) -> Operand {
    let (left, sign, limit, d) = (word(cx), word(cx), word(cx), word(cx));
    // (total ^ x) & (total ^ y)
    cx.e.lop3(left, total, x, y, 0x18);
    cx.e.shr(sign, x, imm(31), true);
    cx.e.xor(limit, sign, imm(0x7fff_ffff));
    let over = Operand::reg(cx.e.temp_pred());
    cx.e.icmp(over, Mod::LT, true, left, Operand::RZ);
    cx.e.sel(d, limit, total, over);
    d
}

/// 8-bit floats as halves: two products, whose sum is added to `c` at the end.
///
/// A word's lower pair of numbers and its upper one are multiplied apart, as they stand: which
/// numbers meet is the same in both factors. A sparse factor has its places counted in fours, so it
/// is done by `sparse_floats`.
pub fn floats(
    cx: &mut Cx<'_, '_>,
    p: &Meaning,
    a: &[Operand],
    b: &[Operand],
    c: &[Operand],
    sparse: Sparse,
) -> Sel<Words> {
    let format = |e: Element| if e == Element::E4m3 { Mod::E4M3 } else { Mod::E5M2 };
    let [m, n, k] = p.shape;
    let [a_low, a_high] = convert::unpack(cx, a, format(p.a));
    let [b_low, b_high] = convert::unpack(cx, b, format(p.b));
    let sums = if let Some(sparse) = sparse {
        sparse_floats::multiply(cx, p, [&a_low, &a_high], [&b_low, &b_high], sparse)?
    } else {
        // Of 16 numbers a row, a thread has one word: its halves make one product of the shape
        // below.
        let product = Product::of([m, n, k / 2], p.d, Element::F16, Element::F16, false)
            .ok_or("a product of this shape")?;
        let low = product.of_words(cx, &a_low, &b_low, &[], None);
        product.of_words(cx, &a_high, &b_high, &low, None)
    };
    Ok(convert::add(cx, p.d, &sums, c))
}
