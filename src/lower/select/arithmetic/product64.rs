//! 64-bit products from 32-bit instructions.

use crate::lower::context::cx::Cx;
use orias_components::{Mod, Operand, Reg};
use orias_systems::build::{cell, halves, r};

/// High 64 bits of the 128-bit product.
pub fn mul_hi(cx: &mut Cx<'_, '_>, a: [Operand; 2], b: [Operand; 2], signed: bool) -> Reg {
    let mut result = cx.e.mul64_hi(a, b);
    if !signed {
        return result;
    }
    // A negative factor counts 2^64 too much: take the other factor off the high half.
    for (x, y) in [(a, b), (b, a)] {
        if let Operand::Imm(high) = x[1] {
            if (high as i32) < 0 {
                let next = cx.e.temp(2);
                cx.e.sub64(next, halves(result), y);
                result = next;
            }
            continue;
        }
        let p = cx.e.temp_pred();
        let sign = cx.in_reg(x[1]);
        cx.e.icmp(r(p), Mod::LT, true, sign, Operand::RZ);
        let part = cx.e.temp(2);
        crate::lower::common::words::select_word(cx, cell(part, 0), y[0], Operand::RZ, r(p));
        crate::lower::common::words::select_word(cx, cell(part, 1), y[1], Operand::RZ, r(p));
        let next = cx.e.temp(2);
        cx.e.sub64(next, halves(result), halves(part));
        result = next;
    }
    result
}
