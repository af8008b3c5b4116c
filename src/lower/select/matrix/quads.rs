//! `mma.m8n8k4` of halves: four products of 8 by 8 matrices at once, each by eight threads (four,
//! and the four sixteen further on). sm_90 has no instruction for it: each thread fetches the rows
//! and columns of its own results and multiplies them in single precision.

use super::formats as convert;
use super::fragment::{Element, Words, word};
use super::machine::Meaning;
use super::shuffles::{LOWER, UPPER, across, is_clear, lane, of_lane, permute, select};
use crate::lower::context::cx::{Cx, Sel};
use crate::ptx::program::Instruction;
use crate::ptx::words::Word;
use orias_components::Operand;
use orias_systems::build::imm;

/// The words of `d`.
pub fn multiply(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    p: &Meaning,
    a: &[Operand],
    b: &[Operand],
    c: &[Operand],
) -> Sel<Words> {
    let layouts: Vec<Word> =
        inst.modifiers.iter().copied().filter(|m| matches!(*m, Word::Row | Word::Col)).collect();
    let [a_layout, b_layout] = layouts[..] else { return Err("layouts of the factors".into()) };
    let lane = lane(cx)?;
    let a = if a_layout == Word::Col { transpose(cx, a, lane) } else { a.into() };
    let b = if b_layout == Word::Row { transpose(cx, b, lane) } else { b.into() };
    match (p.d, p.c) {
        (Element::F16, Element::F16) => {
            // A thread has one row of the result: that of its own part of A.
            let first = masked(cx, lane, 0xc);
            let row = convert::halves_to_floats(cx, &a);
            let c = convert::halves_to_floats(cx, c);
            let mut sums = Words::new();
            for column in [0, 1, 2, 3, 16, 17, 18, 19] {
                let column = fetch(cx, &b, first, column);
                let product = dot(cx, &row, &column);
                sums.push(product);
            }
            let sums = convert::add(cx, Element::F32, &sums, &c);
            Ok(convert::floats_to_halves(cx, &sums))
        }
        (Element::F32, c_type) => {
            // A thread has two rows and twice two columns.
            let first_row = masked(cx, lane, 0x1d);
            let first_column = masked(cx, lane, 0xe);
            let rows = [0, 2].map(|row| fetch(cx, &a, first_row, row));
            let columns = [0, 1, 16, 17].map(|column| fetch(cx, &b, first_column, column));
            let c = match c_type {
                Element::F16 => {
                    let left = is_clear(cx, lane, 2);
                    spread(cx, c, first_row, left)
                }
                _ => c.into(),
            };
            let mut sums = Words::new();
            for i in 0..8 {
                sums.push(dot(cx, &rows[i / 2 % 2], &columns[i / 4 * 2 + i % 2]));
            }
            Ok(convert::add(cx, Element::F32, &sums, &c))
        }
        _ => Err("types of the accumulators".into()),
    }
}

fn masked(cx: &mut Cx<'_, '_>, lane: Operand, bits: u32) -> Operand {
    let d = word(cx);
    cx.e.and(d, lane, imm(bits));
    d
}

/// The four numbers of the lane `first + offset`, as floats.
fn fetch(cx: &mut Cx<'_, '_>, words: &[Operand], first: Operand, offset: u32) -> Words {
    let from = match offset {
        0 => first,
        _ => {
            let d = word(cx);
            cx.e.iadd3(d, first, imm(offset), Operand::RZ);
            d
        }
    };
    let there: Words = words.iter().map(|w| of_lane(cx, *w, from)).collect();
    convert::halves_to_floats(cx, &there)
}

/// The sum of the products of four numbers each, from zero.
fn dot(cx: &mut Cx<'_, '_>, a: &[Operand], b: &[Operand]) -> Operand {
    let multiply = |sum, (x, y): (&Operand, &Operand)| {
        let d = word(cx);
        cx.e.ffma(&[], d, *x, *y, sum);
        d
    };
    a.iter().zip(b).fold(Operand::RZ, multiply)
}

/// Halves, of which a lane has a whole row, as the floats of the rows and columns that a lane has
/// of a single precision result.
fn spread(cx: &mut Cx<'_, '_>, c: &[Operand], first_row: Operand, left: Operand) -> Words {
    let second_row = word(cx);
    cx.e.iadd3(second_row, first_row, imm(2), Operand::RZ);
    let mut floats = Words::new();
    // Columns 0 to 3, of which a lane has the first two or the last two, then 4 to 7.
    for two in c.chunks_exact(2) {
        for row in [first_row, second_row] {
            let (first, second) = (of_lane(cx, two[0], row), of_lane(cx, two[1], row));
            let pair = select(cx, left, first, second);
            floats.extend(convert::halves_to_floats(cx, &[pair]));
        }
    }
    floats
}

/// Transposes the 4 by 4 matrices of halves that four lanes hold a row each of, in two words.
fn transpose(cx: &mut Cx<'_, '_>, words: &[Operand], lane: Operand) -> Words {
    let (even, low) = (is_clear(cx, lane, 1), is_clear(cx, lane, 2));
    // Blocks of 2 by 2 within themselves.
    let (lower, upper) =
        (permute(cx, words[0], words[1], LOWER), permute(cx, words[0], words[1], UPPER));
    let given = select(cx, even, upper, lower);
    let taken = across(cx, given, 1);
    // Even lanes: (own 0, taken), odd ones: (taken, own 1).
    let half = |cx: &mut Cx<'_, '_>, own: Operand, in_even: u32, in_odd: u32| {
        let (first, second) = (permute(cx, own, taken, in_even), permute(cx, own, taken, in_odd));
        select(cx, even, first, second)
    };
    let first = half(cx, words[0], 0x5410, 0x3254);
    let second = half(cx, words[1], 0x7610, 0x3276);
    // Then the blocks.
    let given = select(cx, low, second, first);
    let taken = across(cx, given, 2);
    let rows = [select(cx, low, first, taken), select(cx, low, taken, second)];
    Words::from_slice(&rows)
}
