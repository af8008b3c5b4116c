//! 64-bit products and absolute values from 32-bit instructions.

use crate::lower::emit::{cell, r, wide};
use crate::lower::source::Cx;
use orias_components::{Mod, Operand, Reg};

/// `d` = low 64 bits of `a·b + c`.
pub fn mul_lo(
    cx: &mut Cx<'_, '_>,
    d: Reg,
    a: [Operand; 2],
    b: [Operand; 2],
    c: Option<[Operand; 2]>,
) {
    // The cross products only reach the high word.
    let (c_lo, c_hi) = c.map_or((Operand::RZ, Operand::RZ), |[lo, hi]| (lo, hi));
    let cross = cx.e.temp(1);
    cx.e.imad(r(cross), a[0], b[1], c_hi);
    let addend = cx.e.temp(2);
    cx.e.mov(cell(addend, 0), c_lo);
    cx.e.imad(cell(addend, 1), a[1], b[0], r(cross));
    cx.e.imad_wide(d, a[0], b[0], wide(addend, 2), false);
}

/// A pair of a word and zero.
fn zero_extended(cx: &mut Cx<'_, '_>, lo: Operand) -> Operand {
    wide(cx.join(lo, Operand::RZ), 2)
}

/// High 64 bits of the 128-bit product.
pub fn mul_hi(cx: &mut Cx<'_, '_>, a: [Operand; 2], b: [Operand; 2], signed: bool) -> Reg {
    let low = cx.e.temp(2);
    cx.e.imad_wide(low, a[0], b[0], Operand::RZ, false);
    let carry = zero_extended(cx, cell(low, 1));
    let mid = cx.e.temp(2);
    cx.e.imad_wide(mid, a[0], b[1], carry, false);
    let carry = zero_extended(cx, cell(mid, 0));
    let cross = cx.e.temp(2);
    cx.e.imad_wide(cross, a[1], b[0], carry, false);
    let carry = zero_extended(cx, cell(mid, 1));
    let high = cx.e.temp(2);
    cx.e.imad_wide(high, a[1], b[1], carry, false);
    let sum = cx.e.temp(2);
    cx.e.add64(sum, halves(high), [cell(cross, 1), Operand::RZ]);
    if !signed {
        return sum;
    }
    // A negative factor counts 2^64 too much: take the other factor off the high half.
    let mut result = sum;
    for (x, y) in [(a, b), (b, a)] {
        let p = cx.e.temp_pred();
        let sign = cx.in_reg(x[1]);
        cx.e.icmp(r(p), Mod::LT, true, sign, Operand::RZ);
        let part = [cx.e.temp(1), cx.e.temp(1)];
        super::moves::select_word(cx, r(part[0]), y[0], Operand::RZ, r(p));
        super::moves::select_word(cx, r(part[1]), y[1], Operand::RZ, r(p));
        let next = cx.e.temp(2);
        cx.e.sub64(next, halves(result), [r(part[0]), r(part[1])]);
        result = next;
    }
    result
}

/// Absolute value, and the predicate "was negative".
pub fn abs(cx: &mut Cx<'_, '_>, a: [Operand; 2]) -> (Reg, Operand) {
    let p = cx.e.temp_pred();
    let sign = cx.in_reg(a[1]);
    cx.e.icmp(r(p), Mod::LT, true, sign, Operand::RZ);
    let negative = cx.e.temp(2);
    cx.e.sub64(negative, [Operand::RZ; 2], a);
    let d = cx.e.temp(2);
    cx.e.sel(cell(d, 0), cell(negative, 0), a[0], r(p));
    cx.e.sel(cell(d, 1), cell(negative, 1), a[1], r(p));
    (d, r(p))
}

/// Both words of a pair.
pub fn halves(reg: Reg) -> [Operand; 2] {
    [cell(reg, 0), cell(reg, 1)]
}
