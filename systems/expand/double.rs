//! Correctly rounded double-precision division, reciprocal and square root.
//!
//! The common case is Newton's iteration on the special function unit's estimate of the high word,
//! then a remainder step, which rounds correctly (Markstein) as long as no step leaves the normal
//! range. It is run first, and then a test says whether it was right. The other quotients are
//! computed on mantissas alone; the exponent is put back by integer arithmetic, and a subnormal
//! result is rounded there, once, from the quotient and the sign of its remainder.
//!
//! Directed roundings take one step more. With a result that is rounded to nearest and its exact
//! remainder, what is missing is less than half a unit in the last place and has the remainder's
//! sign: adding it with the wanted rounding rounds correctly.

use super::float::rounding;
use super::shared::{LEAST_RARE_USES, Shared};
use crate::build::{Emit, cell, halves, imm, neg, not, r, wide};
use orias_components::pseudo::macros;
use orias_components::{Inst, Mod, Opcode, Operand, Reg, RegFlags, RegUse};

/// The high word of 1.0.
const ONE: u32 = 0x3ff0_0000;

fn constant(e: &mut Emit<'_>, high: u32) -> Operand {
    wide(e.join(Operand::RZ, imm(high)), 2)
}

fn minus(op: Operand) -> Operand {
    match op {
        Operand::Reg(u) => Operand::Reg(RegUse { flags: RegFlags::NEG, ..u }),
        op => op,
    }
}

fn reg(op: Operand) -> Reg {
    op.as_reg().map_or(Reg::RZ, |u| u.reg)
}

fn dfma(e: &mut Emit<'_>, a: Operand, b: Operand, c: Operand) -> Operand {
    dfma_rounded(e, None, [a, b, c])
}

fn dfma_rounded(e: &mut Emit<'_>, round: Option<Mod>, [a, b, c]: [Operand; 3]) -> Operand {
    let d = e.temp(2);
    e.put(Opcode::DFMA, round.as_slice(), 1, &[wide(d, 2), a, b, c]);
    wide(d, 2)
}

fn dmul(e: &mut Emit<'_>, a: Operand, b: Operand) -> Operand {
    let d = e.temp(2);
    e.put(Opcode::DMUL, &[], 1, &[wide(d, 2), a, b]);
    wide(d, 2)
}

/// Copies a pair.
fn copy(e: &mut Emit<'_>, d: Reg, s: Reg) {
    e.mov(cell(d, 0), cell(s, 0));
    e.mov(cell(d, 1), cell(s, 1));
}

fn choose(e: &mut Emit<'_>, d: Reg, a: [Operand; 2], b: [Operand; 2], p: Operand) {
    e.sel(cell(d, 0), a[0], b[0], p);
    e.sel(cell(d, 1), a[1], b[1], p);
}

fn temp(e: &mut Emit<'_>) -> Operand {
    let t = e.temp(1);
    r(t)
}

fn pred(e: &mut Emit<'_>) -> Operand {
    let p = e.temp_pred();
    r(p)
}

/// The biased exponent.
fn exponent(e: &mut Emit<'_>, a: Reg) -> Operand {
    let (shifted, field) = (temp(e), temp(e));
    e.shr(shifted, cell(a, 1), imm(20), false);
    e.and(field, shifted, imm(0x7ff));
    field
}

/// The quotient of ordinary numbers, rounded to nearest, its remainder, and the reciprocal of `b`.
fn quotient(e: &mut Emit<'_>, a: Operand, b: Operand) -> [Operand; 3] {
    let y = reciprocal(e, b, imm(1));
    let q = dmul(e, a, y);
    let rest = dfma(e, minus(b), q, a);
    let q = dfma(e, y, rest, q);
    let rest = dfma(e, minus(b), q, a);
    [q, rest, y]
}

/// The reciprocal of a number that is ordinary, from an estimate whose low word is given: rounded
/// to nearest. The word is not zero, so that the estimate is above the reciprocal of a mantissa of
/// ones, which the last step would else round down (Markstein's exception). As ptxas 13.0.88.
fn reciprocal(e: &mut Emit<'_>, b: Operand, low: Operand) -> Operand {
    let estimate = e.temp(2);
    e.mufu(Mod::RCP64H, cell(estimate, 1), cell(reg(b), 1));
    e.mov(cell(estimate, 0), low);
    let (one, y) = (constant(e, ONE), wide(estimate, 2));
    let error = dfma(e, minus(b), y, one);
    // 20 bits, 60, and all.
    let both = dfma(e, error, error, error);
    let y = dfma(e, y, both, y);
    let error = dfma(e, minus(b), y, one);
    dfma(e, y, error, y)
}

/// The magnitude of a word, read as a single.
fn magnitude(word: Operand) -> Operand {
    match word {
        Operand::Reg(u) => Operand::Reg(RegUse { flags: RegFlags::ABS, ..u }),
        word => word,
    }
}

/// FDIV.F64 and FRCP.F64: the common way first, and then whether it was right. As ptxas 13.0.88.
pub fn divide(e: &mut Emit<'_>, inst: &Inst, shared: &mut Shared) {
    let round = rounding(inst);
    let d = reg(inst.operands[macros::D]);
    if inst.op == Opcode::FRCP && round.is_none() {
        let b = inst.operands[macros::A];
        // Exponents from 1 to 2044 and a bit: neither it nor the reciprocal is subnormal.
        let (low, is_common) = (temp(e), pred(e));
        e.iadd3(low, cell(reg(b), 1), imm(0x0030_0402), Operand::RZ);
        let and = (Mod::AND, Operand::PT);
        e.fsetp(is_common, Mod::GEU, false, [magnitude(low), imm(0x0040_0402)], and);
        let y = reciprocal(e, b, low);
        let result = e.unless(is_common, (reg(y), 2), |e| {
            let one = constant(e, ONE);
            rare_quotient(e, inst, shared, one, b)
        });
        return copy(e, d, result);
    }
    let (a, b) = if inst.op == Opcode::FRCP {
        (constant(e, ONE), inst.operands[macros::A])
    } else {
        (inst.operands[macros::A], inst.operands[macros::B])
    };
    let [mut q, rest, y] = quotient(e, a, b);
    if round.is_some() {
        q = dfma_rounded(e, round, [y, rest, q]);
    }
    // The remainder is exact where a is not small. The quotient is normal, and neither it nor b is
    // beyond what a single's exponent holds of a double's high word.
    let (is_large, is_common, sum) = (pred(e), pred(e), temp(e));
    let large = [magnitude(cell(reg(a), 1)), imm(0x0360_0000)];
    e.fsetp(is_large, Mod::GEU, false, large, (Mod::AND, Operand::PT));
    e.ffma(&[], sum, Operand::RZ, cell(reg(b), 1), cell(reg(q), 1));
    let normal = [magnitude(sum), imm(0x0010_0000)];
    e.fsetp(is_common, Mod::GT, false, normal, (Mod::AND, is_large));
    let result = e.unless(is_common, (reg(q), 2), |e| rare_quotient(e, inst, shared, a, b));
    copy(e, d, result);
}

/// Any quotient, in line or by a call.
fn rare_quotient(
    e: &mut Emit<'_>,
    inst: &Inst,
    shared: &mut Shared,
    a: Operand,
    b: Operand,
) -> Reg {
    let round = rounding(inst);
    shared.run(e, inst, LEAST_RARE_USES, (&[a, b], 2), |e, given| {
        divide_rare(e, reg(given[0]), reg(given[1]), round)
    })
}

/// A finite, nonzero number's mantissa in [1, 2) without sign, and its exponent, unbiased.
fn normalized(e: &mut Emit<'_>, a: Reg) -> (Operand, Operand) {
    let scaled = constant(e, 0x4350_0000);
    // 2^54 makes a subnormal number normal.
    let up = dmul(e, wide(a, 2), scaled);
    let field = exponent(e, a);
    let small = pred(e);
    e.icmp(small, Mod::EQ, false, field, Operand::RZ);
    let x = e.temp(2);
    choose(e, x, halves(reg(up)), halves(a), small);
    let field = exponent(e, x);
    let (less, bias) = (temp(e), temp(e));
    e.sel(bias, Operand::RZ, imm((-1023i32 - 54) as u32), not(small));
    let plain = temp(e);
    e.sel(plain, bias, imm(-1023i32 as u32), small);
    e.iadd3(less, field, plain, Operand::RZ);
    let mantissa = e.temp(2);
    e.mov(cell(mantissa, 0), cell(x, 0));
    // Exponent bits of 1.0, no sign.
    let low = temp(e);
    e.and(low, cell(x, 1), imm(0x000f_ffff));
    e.or(cell(mantissa, 1), low, imm(ONE));
    (wide(mantissa, 2), less)
}

/// `p` = finite and not zero.
fn ordinary(e: &mut Emit<'_>, a: Reg, also: Operand) -> Operand {
    let (high, any, nonzero) = (temp(e), temp(e), pred(e));
    e.and(high, cell(a, 1), imm(0x7fff_ffff));
    e.or(any, high, cell(a, 0));
    e.isetp(nonzero, Mod::NE, false, [any, Operand::RZ], Mod::AND, also);
    let p = pred(e);
    e.isetp(p, Mod::LT, false, [high, imm(0x7ff0_0000)], Mod::AND, nonzero);
    p
}

/// Any quotient.
fn divide_rare(e: &mut Emit<'_>, a: Reg, b: Reg, round: Option<Mod>) -> Reg {
    let sign = temp(e);
    e.lop3(sign, cell(a, 1), cell(b, 1), imm(0x8000_0000), 0x28);
    // Zeros, infinities and NaN: a times what the reciprocal of b is in kind.
    let b_ordinary = ordinary(e, b, Operand::PT);
    let unit = e.temp(2);
    e.mufu(Mod::RCP64H, cell(unit, 1), cell(b, 1));
    let one = temp(e);
    e.lop3(one, cell(b, 1), imm(0x8000_0000), imm(ONE), 0xea);
    let factor = e.temp(2);
    e.mov(cell(factor, 0), Operand::RZ);
    e.sel(cell(factor, 1), one, cell(unit, 1), b_ordinary);
    let special = dmul(e, wide(a, 2), wide(factor, 2));
    // NaN of b: the unit may see an infinity in the high word alone.
    let (is_nan, kept) = (pred(e), e.temp(2));
    let and = [Mod::NAN, Mod::AND];
    let pb = wide(b, 2);
    e.put(Opcode::DSETP, &and, 2, &[is_nan, Operand::PT, pb, pb, Operand::PT]);
    choose(e, kept, halves(b), halves(reg(special)), is_nan);
    let both = ordinary(e, a, b_ordinary);

    let ((ma, xa), (mb, xb)) = (normalized(e, a), normalized(e, b));
    let [q, rest, _] = quotient(e, ma, mb);
    let scale = temp(e);
    e.iadd3(scale, xa, neg(xb), Operand::RZ);
    let direction = match round {
        None => Direction::Nearest,
        Some(Mod::RZ) => Direction::Away(Operand::NOT_PT),
        Some(up_or_down) => {
            // Of a positive number up is away from zero, of a negative one down.
            let negative = pred(e);
            e.icmp(negative, Mod::NE, false, sign, Operand::RZ);
            Direction::Away(if up_or_down == Mod::RP { not(negative) } else { negative })
        }
    };
    let bits = round_scaled(e, reg(q), reg(rest), scale, direction);
    let signed = e.temp(2);
    e.mov(cell(signed, 0), cell(bits, 0));
    e.or(cell(signed, 1), cell(bits, 1), sign);
    let d = e.temp(2);
    choose(e, d, halves(signed), halves(kept), both);
    d
}

/// How a magnitude is rounded: to nearest, or away from zero where the predicate holds and to zero
/// elsewhere.
#[derive(Clone, Copy)]
enum Direction {
    Nearest,
    Away(Operand),
}

/// `p` = the remainder is above (GT) or below (LT) zero.
fn remainder_is(e: &mut Emit<'_>, cmp: Mod, rest: Reg) -> Operand {
    let p = pred(e);
    let operands = [p, Operand::PT, wide(rest, 2), wide(Reg::RZ, 2), Operand::PT];
    e.put(Opcode::DSETP, &[cmp, Mod::AND], 2, &operands);
    p
}

/// The neighbour of the positive `q` that lies in the wanted direction, where the remainder says
/// that `q` is not exact and lies on the other side.
fn directed(e: &mut Emit<'_>, q: Reg, away: Operand, above: Operand, below: Operand) -> Reg {
    let (up, down) = (pred(e), pred(e));
    e.plop3(up, above, away, Operand::PT, 0x80);
    e.plop3(down, below, not(away), Operand::PT, 0x80);
    let (one, step_lo, step_hi, ones) = (temp(e), temp(e), temp(e), temp(e));
    e.sel(one, Operand::RZ, imm(1), not(up));
    e.mov(ones, imm(u32::MAX));
    e.sel(step_lo, ones, one, down);
    e.sel(step_hi, ones, Operand::RZ, down);
    let d = e.temp(2);
    e.add64(d, halves(q), [step_lo, step_hi]);
    d
}

/// The bits of `q · 2^scale` rounded once, for a positive q in (1/2, 2], rounded to nearest, whose
/// exact value lies to the side of it that the sign of `rest` says.
fn round_scaled(e: &mut Emit<'_>, q: Reg, rest: Reg, scale: Operand, direction: Direction) -> Reg {
    let above = remainder_is(e, Mod::GT, rest);
    let below = remainder_is(e, Mod::LT, rest);
    let field = exponent(e, q);
    let biased = temp(e);
    e.iadd3(biased, field, scale, Operand::RZ);
    // Normal: the exponent moves. Beyond the largest number lies infinity, or that number where
    // rounding goes to zero.
    let (rounded, most) = match direction {
        Direction::Nearest => (q, [Operand::RZ, imm(0x7ff0_0000)]),
        Direction::Away(away) => {
            let (low, high) = (temp(e), temp(e));
            let largest = temp(e);
            e.mov(largest, imm(0x7fef_ffff));
            e.sel(low, Operand::RZ, imm(u32::MAX), away);
            e.sel(high, largest, imm(0x7ff0_0000), not(away));
            (directed(e, q, away, above, below), [low, high])
        }
    };
    let (moved, normal) = (temp(e), e.temp(2));
    e.shl(moved, scale, imm(20));
    e.mov(cell(normal, 0), cell(rounded, 0));
    e.iadd3(cell(normal, 1), cell(rounded, 1), moved, Operand::RZ);
    let (huge, rounded_field, rounded_biased) = (pred(e), exponent(e, rounded), temp(e));
    e.iadd3(rounded_biased, rounded_field, scale, Operand::RZ);
    e.icmp(huge, Mod::GT, true, rounded_biased, imm(2046));
    let large = e.temp(2);
    let beyond = [r(e.temp(1)), r(e.temp(1))];
    e.mov(beyond[0], most[0]);
    e.mov(beyond[1], most[1]);
    choose(e, large, beyond, halves(normal), huge);
    // Subnormal: the mantissa with ten more bits, one less or more for a remainder, shifted right
    // and rounded to even.
    let mantissa = e.temp(2);
    let top = temp(e);
    e.and(top, cell(q, 1), imm(0x000f_ffff));
    let top_one = temp(e);
    e.or(top_one, top, imm(0x0010_0000));
    e.shf(&[Mod::L, Mod::U64, Mod::HI], cell(mantissa, 1), cell(q, 0), imm(10), top_one);
    e.shl(cell(mantissa, 0), cell(q, 0), imm(10));
    let (one, nudge_lo, nudge_hi) = (temp(e), temp(e), temp(e));
    e.sel(one, Operand::RZ, imm(1), not(above));
    let ones = temp(e);
    e.mov(ones, imm(u32::MAX));
    e.sel(nudge_lo, ones, one, below);
    e.sel(nudge_hi, ones, Operand::RZ, below);
    let exact = e.temp(2);
    e.add64(exact, halves(mantissa), [nudge_lo, nudge_hi]);
    // Right by 10 and by what the exponent lacks to 1; 64 is far enough for any.
    let (lack, shift) = (temp(e), temp(e));
    e.iadd3(lack, neg(biased), imm(11), Operand::RZ);
    e.minmax(shift, lack, imm(64), false, true);
    let (kept, lost, back) = (e.temp(2), e.temp(2), temp(e));
    e.shf(&[Mod::R, Mod::U64], cell(kept, 0), cell(exact, 0), shift, cell(exact, 1));
    e.shr(cell(kept, 1), cell(exact, 1), shift, false);
    // The bits that go, at the top of a word pair: above half, half, or less.
    e.iadd3(back, neg(shift), imm(64), Operand::RZ);
    e.shf(&[Mod::L, Mod::U64, Mod::HI], cell(lost, 1), cell(exact, 0), back, cell(exact, 1));
    e.shl(cell(lost, 0), cell(exact, 0), back);
    let up = match direction {
        Direction::Nearest => more_than_half_or_odd(e, lost, kept),
        Direction::Away(away) => {
            let (any, p) = (temp(e), pred(e));
            e.or(any, cell(lost, 0), cell(lost, 1));
            e.isetp(p, Mod::NE, false, [any, Operand::RZ], Mod::AND, away);
            p
        }
    };
    let step = temp(e);
    e.sel(step, Operand::RZ, imm(1), not(up));
    let small = e.temp(2);
    e.add64(small, halves(kept), [step, Operand::RZ]);
    // The least exponent too: a quotient just below the least normal number may be subnormal. The
    // bits are right either way.
    let is_small = pred(e);
    e.icmp(is_small, Mod::LT, true, biased, imm(2));
    let d = e.temp(2);
    choose(e, d, halves(small), halves(large), is_small);
    d
}

/// Whether the bits `lost` (from the top of a word pair) round what is `kept` up.
fn more_than_half_or_odd(e: &mut Emit<'_>, lost: Reg, kept: Reg) -> Operand {
    let half = [Operand::RZ, r(e.temp(1))];
    e.mov(half[1], imm(0x8000_0000));
    let (more, tie, odd) = (pred(e), pred(e), temp(e));
    let and = (Mod::AND, Operand::PT);
    e.isetp64(more, Mod::GT, false, halves(lost), half, and);
    e.isetp64(tie, Mod::EQ, false, halves(lost), half, and);
    e.and(odd, cell(kept, 0), imm(1));
    let (up, is_odd) = (pred(e), pred(e));
    e.isetp(is_odd, Mod::NE, false, [odd, Operand::RZ], Mod::AND, tie);
    e.plop3(up, more, is_odd, Operand::PT, 0xa8);
    up
}

/// FSQRT.F64: the common way first, and then whether it was right. As ptxas 13.0.88.
pub fn square_root(e: &mut Emit<'_>, inst: &Inst, shared: &mut Shared) {
    let (round, a) = (rounding(inst), inst.operands[macros::A]);
    // Positive, finite and so large that what is left of it beside the root's square is exact.
    let (low, is_common) = (temp(e), pred(e));
    e.iadd3(low, cell(reg(a), 1), imm(0x0350_0000_u32.wrapping_neg()), Operand::RZ);
    e.icmp(is_common, Mod::LT, false, low, imm(0x7ca0_0000));
    let estimate = e.temp(2);
    e.mufu(Mod::RSQ64H, cell(estimate, 1), cell(reg(a), 1));
    e.mov(cell(estimate, 0), low);
    let y = wide(estimate, 2);
    let (one, half) = (constant(e, ONE), constant(e, 0x3fe0_0000));
    let three_eighths = constant(e, 0x3fd8_0000);
    let square = dmul(e, y, y);
    let error = dfma(e, a, minus(square), one);
    let slope = dfma(e, error, three_eighths, half);
    let step = dmul(e, y, error);
    let y = dfma(e, slope, step, y);
    let s = dmul(e, a, y);
    // Half of it: its exponent is not small.
    let h = e.temp(2);
    e.mov(cell(h, 0), cell(reg(y), 0));
    e.iadd3(cell(h, 1), cell(reg(y), 1), imm(0x0010_0000_u32.wrapping_neg()), Operand::RZ);
    let h = wide(h, 2);
    let rest = dfma(e, s, minus(s), a);
    let mut s = dfma(e, rest, h, s);
    if round.is_some() {
        let rest = dfma(e, s, minus(s), a);
        s = dfma_rounded(e, round, [rest, h, s]);
    }
    let result = e.unless(is_common, (reg(s), 2), |e| {
        shared.run(e, inst, LEAST_RARE_USES, (&[a], 2), |e, given| root(e, reg(given[0]), round))
    });
    copy(e, reg(inst.operands[macros::D]), result);
}

/// Any root. They are never subnormal: small numbers are scaled up before and their roots down
/// after.
fn root(e: &mut Emit<'_>, a: Reg, round: Option<Mod>) -> Reg {
    let field = exponent(e, a);
    let small = pred(e);
    e.icmp(small, Mod::LT, false, field, imm(128));
    // 2^108 up, 2^-54 down.
    let (up, down) = (e.temp(2), e.temp(2));
    let (factor_up, factor_down, one) = (temp(e), temp(e), temp(e));
    e.mov(one, imm(ONE));
    e.sel(factor_up, one, imm(0x46b0_0000), not(small));
    e.sel(factor_down, one, imm(0x3c90_0000), not(small));
    for (pair, high) in [(up, factor_up), (down, factor_down)] {
        e.mov(cell(pair, 0), Operand::RZ);
        e.mov(cell(pair, 1), high);
    }
    let x = dmul(e, wide(a, 2), wide(up, 2));
    let estimate = e.temp(2);
    e.mufu(Mod::RSQ64H, cell(estimate, 1), cell(reg(x), 1));
    e.mov(cell(estimate, 0), Operand::RZ);
    let (half, one) = (constant(e, 0x3fe0_0000), constant(e, ONE));
    let mut y = wide(estimate, 2);
    for _ in 0..2 {
        let xy = dmul(e, x, y);
        let hy = dmul(e, y, half);
        let error = dfma(e, minus(xy), y, one);
        y = dfma(e, hy, error, y);
    }
    let s = dmul(e, x, y);
    let h = dmul(e, y, half);
    let rest = dfma(e, minus(s), s, x);
    let s = dfma(e, rest, h, s);
    let rest = dfma(e, minus(s), s, x);
    let mut s = dfma(e, rest, h, s);
    if round.is_some() {
        let rest = dfma(e, minus(s), s, x);
        s = dfma_rounded(e, round, [rest, h, s]);
    }
    let root = dmul(e, s, wide(down, 2));
    // Zeros and the positive infinity stay, negative numbers give NaN.
    let (negative, ordinary) = (pred(e), ordinary(e, a, Operand::PT));
    let zero = wide(Reg::RZ, 2);
    let pa = wide(a, 2);
    e.put(Opcode::DSETP, &[Mod::LT, Mod::AND], 2, &[negative, Operand::PT, pa, zero, Operand::PT]);
    let (special, nan) = (e.temp(2), temp(e));
    e.mov(nan, imm(0x7ff8_0000));
    choose(e, special, [Operand::RZ, nan], halves(a), negative);
    let positive = pred(e);
    e.plop3(positive, ordinary, not(negative), Operand::PT, 0x80);
    let d = e.temp(2);
    choose(e, d, halves(reg(root)), halves(special), positive);
    d
}
