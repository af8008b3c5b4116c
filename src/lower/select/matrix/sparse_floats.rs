//! Sparse products of 8-bit floats as two sparse products of halves.
//!
//! Of the stored numbers of a row a thread's word holds four: two of one group of four columns and
//! two of the next. The lower pairs of all words are the groups of even number, the upper pairs
//! those of odd number: each makes one product of half the depth, for which the other factor and
//! the metadata are ordered anew.

use super::fragment::{Element, Words, word};
use super::machine::{Meaning, Product};
use super::shuffles::{LOWER, UPPER, across, is_clear, lane, of_lane, permute, select};
use crate::lower::context::cx::{Cx, Sel};
use orias_components::Operand;
use orias_systems::build::imm;

/// The sum of the products of lower and upper pairs, from zero.
pub fn multiply(
    cx: &mut Cx<'_, '_>,
    p: &Meaning,
    [a_low, a_high]: [&Words; 2],
    [b_low, b_high]: [&Words; 2],
    (metadata, _): (Operand, u32),
) -> Sel<Words> {
    let [m, n, k] = p.shape;
    let product = Product::of([m, n, k / 2], p.d, Element::F16, Element::F16, true)
        .ok_or("a sparse product of this shape")?;
    let lane = lane(cx)?;
    let even = is_clear(cx, lane, 1);
    let (mut b_even, mut b_odd) = (Words::new(), Words::new());
    for (low, high) in b_low.iter().zip(b_high) {
        // Four rows that belong to one group are those of one lane; the product wants two of them
        // in it and two in the next lane.
        let given = select(cx, even, *high, *low);
        let taken = across(cx, given, 1);
        b_even.push(select(cx, even, *low, taken));
        b_odd.push(select(cx, even, taken, *high));
    }
    let metadata = reorder(cx, metadata, lane);
    let first = product.of_words(cx, a_low, &b_even, &[], Some((metadata, 0)));
    Ok(product.of_words(cx, a_high, &b_odd, &first, Some((metadata, 1))))
}

/// Metadata of both products in one word: lanes 0 and 1 of four hold that of the first (selector
/// 0), 2 and 3 that of the second.
///
/// A group has four bits. Given are 32 bits of one row in a lane: rows of the upper half of the
/// tile in lanes 0 and 2, of the lower half in 1 and 3. Wanted are 16 bits of an upper row and of a
/// lower one in each.
fn reorder(cx: &mut Cx<'_, '_>, metadata: Operand, lane: Operand) -> Operand {
    let metadata = cx.in_reg(metadata);
    let shifted = word(cx);
    cx.e.shr(shifted, metadata, imm(4), false);
    let compact = |cx: &mut Cx<'_, '_>, from: Operand| {
        let (groups, moved, both) = (word(cx), word(cx), word(cx));
        cx.e.and(groups, from, imm(0x0f0f_0f0f));
        cx.e.shr(moved, groups, imm(4), false);
        cx.e.or(both, groups, moved);
        both
    };
    let (even, odd) = (compact(cx, metadata), compact(cx, shifted));
    // Even groups below, odd ones above.
    let both = permute(cx, even, odd, 0x6420);
    let (first, second) = (word(cx), word(cx));
    // Lanes 0 and 2 take from lanes 0 and 1, lanes 1 and 3 from 2 and 3.
    let (own, pair) = (word(cx), word(cx));
    cx.e.and(own, lane, imm(1));
    cx.e.and(pair, lane, imm(0x1c));
    cx.e.imad(first, own, imm(2), pair);
    cx.e.iadd3(second, first, imm(1), Operand::RZ);
    let (upper, lower) = (of_lane(cx, both, first), of_lane(cx, both, second));
    let (of_even, of_odd) = (permute(cx, upper, lower, LOWER), permute(cx, upper, lower, UPPER));
    let low_lanes = is_clear(cx, lane, 2);
    select(cx, low_lanes, of_even, of_odd)
}
