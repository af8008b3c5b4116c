//! Integer division and remainder.
//!
//! The quotient comes from a fixed-point reciprocal r ≈ 2^w / b that never is too large: the float
//! reciprocal rounded down, refined by r += hi(r · (2^w - r·b)), once for 32 bits and twice for 64.
//! Then hi(a · r) is at most two below the quotient, and two conditional steps make it exact. A
//! zero divisor gives all ones as quotient and remainder, as ptxas's code does.

use super::shared::{LEAST_USES, Shared};
use crate::build::{Emit, cell, halves, imm, not, r};
use orias_components::pseudo::macros;
use orias_components::{Inst, Mod, Opcode, Operand, Reg};

/// Expands IDIV or IREM.
pub fn expand(e: &mut Emit<'_>, inst: &Inst, shared: &mut Shared) {
    let remainder = inst.op == Opcode::IREM;
    let [d, a, b] = [macros::D, macros::A, macros::B].map(|at| inst.operands[at]);
    if let Operand::Imm(divisor) = b {
        return super::divide_constant::expand(e, inst, divisor);
    }
    let signed = inst.mods.has(Mod::S32) || inst.mods.has(Mod::S64);
    if inst.mods.has(Mod::S64) || inst.mods.has(Mod::U64) {
        let reg = |op: Operand| op.as_reg().map_or(Reg::RZ, |u| u.reg);
        let quotient = shared.run(e, inst, LEAST_USES, (&[a, b], 2), |e, given| {
            divide_64(e, reg(given[0]), reg(given[1]), signed, remainder)
        });
        for i in 0..2 {
            e.mov(cell(reg(d), i), cell(quotient, i));
        }
    } else {
        divide_32(e, d, a, b, signed, remainder);
    }
}

/// A register with the operand's value.
fn in_reg(e: &mut Emit<'_>, op: Operand) -> Operand {
    match op {
        Operand::Reg(_) => op,
        op => {
            let t = e.temp(1);
            e.mov(r(t), op);
            r(t)
        }
    }
}

fn divide_32(e: &mut Emit<'_>, d: Operand, a: Operand, b: Operand, signed: bool, remainder: bool) {
    let (a, b) = (in_reg(e, a), in_reg(e, b));
    let (mut n, mut m) = (a, b);
    if signed {
        let (x, y) = (e.temp(1), e.temp(1));
        e.put(Opcode::IABS, &[], 1, &[r(x), a]);
        e.put(Opcode::IABS, &[], 1, &[r(y), b]);
        (n, m) = (r(x), r(y));
    }
    let (float, rcp, scaled, first) = (e.temp(1), e.temp(1), e.temp(1), e.temp(1));
    e.put(Opcode::I2F, &[Mod::U32, Mod::RP], 1, &[r(float), m]);
    e.mufu(Mod::RCP, r(rcp), r(float));
    // 2^32 times the reciprocal, less two units in the last place: exponent + 32, bits - 2.
    e.iadd3(r(scaled), r(rcp), imm(0x0fff_fffe), Operand::RZ);
    let to_int = [Mod::FTZ, Mod::U32, Mod::TRUNC, Mod::NTZ];
    e.put(Opcode::F2I, &to_int, 1, &[r(first), r(scaled)]);
    let (minus, error, step, recip) = (e.temp(1), e.temp(1), e.temp(1), e.temp(1));
    e.iadd3(r(minus), crate::build::neg(r(first)), Operand::RZ, Operand::RZ);
    e.imad(r(error), r(minus), m, Operand::RZ);
    e.imad_hi(r(step), r(first), r(error), Operand::RZ, false);
    e.iadd3(r(recip), r(first), r(step), Operand::RZ);
    let mut quotient = e.temp(1);
    e.imad_hi(r(quotient), n, r(recip), Operand::RZ, false);
    let (minus, mut rest) = (e.temp(1), e.temp(1));
    e.iadd3(r(minus), crate::build::neg(r(quotient)), Operand::RZ, Operand::RZ);
    e.imad(r(rest), r(minus), m, n);
    for _ in 0..2 {
        let p = e.temp_pred();
        e.icmp(r(p), Mod::GE, false, r(rest), m);
        let (less, more) = (e.temp(1), e.temp(1));
        if remainder {
            let chosen = e.temp(1);
            e.iadd3(r(less), r(rest), crate::build::neg(m), Operand::RZ);
            e.sel(r(chosen), r(less), r(rest), r(p));
            rest = chosen;
        } else {
            let (next, chosen) = (e.temp(1), e.temp(1));
            e.iadd3(r(less), r(rest), crate::build::neg(m), Operand::RZ);
            e.sel(r(next), r(less), r(rest), r(p));
            e.iadd3(r(more), r(quotient), imm(1), Operand::RZ);
            e.sel(r(chosen), r(more), r(quotient), r(p));
            (rest, quotient) = (next, chosen);
        }
    }
    let mut result = if remainder { rest } else { quotient };
    if signed {
        // The quotient is negative when the signs differ, the remainder when the dividend is.
        let p = e.temp_pred();
        if remainder {
            e.icmp(r(p), Mod::LT, true, a, Operand::RZ);
        } else {
            let differ = e.temp(1);
            e.xor(r(differ), a, b);
            e.icmp(r(p), Mod::LT, true, r(differ), Operand::RZ);
        }
        let (minus, chosen) = (e.temp(1), e.temp(1));
        e.iadd3(r(minus), crate::build::neg(r(result)), Operand::RZ, Operand::RZ);
        e.sel(r(chosen), r(minus), r(result), r(p));
        result = chosen;
    }
    let nonzero = e.temp_pred();
    e.icmp(r(nonzero), Mod::NE, false, b, Operand::RZ);
    e.sel(d, r(result), imm(u32::MAX), r(nonzero));
}

fn divide_64(e: &mut Emit<'_>, a: Reg, b: Reg, signed: bool, remainder: bool) -> Reg {
    let (a_words, b_words) = (halves(a), halves(b));
    let (mut n, mut m) = (a_words, b_words);
    if signed {
        n = halves(e.abs64(a_words).0);
        m = halves(e.abs64(b_words).0);
    }
    let divisor = match m[0].as_reg() {
        Some(u) => u.reg,
        None => return a,
    };
    let (float, rcp, scaled) = (e.temp(1), e.temp(1), e.temp(1));
    e.put(Opcode::I2F, &[Mod::U64, Mod::RP], 1, &[r(float), crate::build::wide(divisor, 2)]);
    e.mufu(Mod::RCP, r(rcp), r(float));
    // 2^64 times the reciprocal, less two units in the last place.
    e.iadd3(r(scaled), r(rcp), imm(0x1fff_fffe), Operand::RZ);
    let mut recip = e.temp(2);
    let to_int = [Mod::U64, Mod::TRUNC];
    e.put(Opcode::F2I, &to_int, 1, &[crate::build::wide(recip, 2), r(scaled)]);
    for _ in 0..2 {
        let (product, error) = (e.temp(2), e.temp(2));
        e.mul64(product, halves(recip), m, [Operand::RZ; 2]);
        e.sub64(error, [Operand::RZ; 2], halves(product));
        let step = e.mul64_hi(halves(recip), halves(error));
        let next = e.temp(2);
        e.add64(next, halves(recip), halves(step));
        recip = next;
    }
    let mut quotient = e.mul64_hi(n, halves(recip));
    let (product, mut rest) = (e.temp(2), e.temp(2));
    e.mul64(product, halves(quotient), m, [Operand::RZ; 2]);
    e.sub64(rest, n, halves(product));
    for _ in 0..2 {
        let p = e.temp_pred();
        let and = (Mod::AND, Operand::PT);
        e.isetp64(r(p), Mod::GE, false, halves(rest), m, and);
        let less = e.temp(2);
        e.sub64(less, halves(rest), m);
        let next = select(e, less, rest, r(p));
        if !remainder {
            let more = e.temp(2);
            e.add64(more, halves(quotient), [imm(1), Operand::RZ]);
            quotient = select(e, more, quotient, r(p));
        }
        rest = next;
    }
    let mut result = if remainder { rest } else { quotient };
    if signed {
        let p = e.temp_pred();
        if remainder {
            e.icmp(r(p), Mod::LT, true, a_words[1], Operand::RZ);
        } else {
            let differ = e.temp(1);
            e.xor(r(differ), a_words[1], b_words[1]);
            e.icmp(r(p), Mod::LT, true, r(differ), Operand::RZ);
        }
        let signed_result = e.temp(2);
        e.negate64_if(signed_result, halves(result), r(p));
        result = signed_result;
    }
    let (any, zero) = (e.temp(1), e.temp_pred());
    e.or(r(any), b_words[0], b_words[1]);
    e.icmp(r(zero), Mod::EQ, false, r(any), Operand::RZ);
    let d = e.temp(2);
    for i in 0..2 {
        e.sel(cell(d, i), cell(result, i), imm(u32::MAX), not(r(zero)));
    }
    d
}

/// `p ? yes : no`, both words.
fn select(e: &mut Emit<'_>, yes: Reg, no: Reg, p: Operand) -> Reg {
    let d = e.temp(2);
    for i in 0..2 {
        e.sel(cell(d, i), cell(yes, i), cell(no, i), p);
    }
    d
}
