//! Correctly rounded single-precision division, reciprocal and square root.
//!
//! The common case is Newton's iteration on the special function unit's estimate with a remainder
//! step, which rounds correctly (Markstein) as long as no step leaves the normal range. All else
//! goes through double precision in a block of its own: a quotient or root of 24-bit numbers is
//! never closer to a rounding boundary of a narrower format than 2^-49 of itself unless it lies on
//! it, so rounding a result that is right to 2^-52 again, once, is exact.

use super::shared::{LEAST_RARE_USES, LEAST_USES, Shared};
use crate::build::{Emit, cell, fimm, fneg, imm, not, r, wide};
use crate::build::{Narrow, narrow_double};
use orias_components::pseudo::macros;
use orias_components::{Inst, Mod, Opcode, Operand, Reg, RegFlags, RegUse};

/// The rounding word of an instruction.
pub fn rounding(inst: &Inst) -> Option<Mod> {
    [Mod::RZ, Mod::RM, Mod::RP].into_iter().find(|m| inst.mods.has(*m))
}

/// Flushes a subnormal source or result to a zero of its sign.
fn flush(e: &mut Emit<'_>, d: Operand, a: Operand) {
    e.fadd(&[Mod::FTZ], d, a, fneg(Operand::RZ));
}

fn temp(e: &mut Emit<'_>) -> Operand {
    let t = e.temp(1);
    r(t)
}

/// Sources as the operation sees them: flushed with `.ftz`.
fn source(e: &mut Emit<'_>, inst: &Inst, i: usize) -> Operand {
    if !inst.mods.has(Mod::FTZ) {
        return inst.operands[i];
    }
    let t = temp(e);
    flush(e, t, inst.operands[i]);
    t
}

/// Writes the result: flushed with `.ftz`, clamped with `.sat`.
fn finish(e: &mut Emit<'_>, inst: &Inst, value: Operand) {
    let d = inst.operands[macros::D];
    if inst.mods.has(Mod::SAT) {
        e.fadd(&[Mod::SAT], d, value, Operand::RZ);
    } else if inst.mods.has(Mod::FTZ) {
        flush(e, d, value);
    } else {
        e.mov(d, value);
    }
}

/// FDIV: `d = a / b`.
pub fn divide(e: &mut Emit<'_>, inst: &Inst, shared: &mut Shared) {
    let (a, b) = (source(e, inst, 1), source(e, inst, 2));
    let narrow = Narrow { round: rounding(inst), ftz: inst.mods.has(Mod::FTZ) };
    let value = if rounding(inst).is_some() {
        r(shared.run(e, inst, LEAST_USES, (&[a, b], 1), |e, given| {
            divide_double(e, given[0], given[1], narrow)
        }))
    } else {
        let p = e.temp_pred();
        e.put(Opcode::FCHK, &[], 1, &[r(p), a, b]);
        r(e.two_ways(
            r(p),
            1,
            |e| {
                let y0 = temp(e);
                e.mufu(Mod::RCP, y0, b);
                let y = refine(e, y0, b);
                let (q0, q1, rest) = (temp(e), temp(e), temp(e));
                e.ffma(&[], q0, a, y, Operand::RZ);
                e.ffma(&[], rest, fneg(b), q0, a);
                e.ffma(&[], q1, y, rest, q0);
                let rest = temp(e);
                e.ffma(&[], rest, fneg(b), q1, a);
                let d = e.temp(1);
                e.ffma(&[], r(d), y, rest, q1);
                d
            },
            |e| {
                shared.run(e, inst, LEAST_RARE_USES, (&[a, b], 1), |e, given| {
                    divide_double(e, given[0], given[1], narrow)
                })
            },
        ))
    };
    finish(e, inst, value);
}

/// `y + y·(1 - b·y)`
fn refine(e: &mut Emit<'_>, y: Operand, b: Operand) -> Operand {
    let (error, better) = (temp(e), temp(e));
    e.ffma(&[], error, fneg(b), y, fimm(1.0));
    e.ffma(&[], better, y, error, y);
    better
}

/// The source in double precision.
fn widen(e: &mut Emit<'_>, a: Operand) -> Operand {
    let d = e.temp(2);
    e.put(Opcode::F2F, &[Mod::F64, Mod::F32], 1, &[wide(d, 2), a]);
    wide(d, 2)
}

fn neg64(op: Operand) -> Operand {
    match op {
        Operand::Reg(u) => Operand::Reg(RegUse { flags: RegFlags::NEG, ..u }),
        op => op,
    }
}

/// 1.0 in double precision.
fn one(e: &mut Emit<'_>) -> Operand {
    wide(e.join(Operand::RZ, imm(0x3ff0_0000)), 2)
}

fn dfma(e: &mut Emit<'_>, a: Operand, b: Operand, c: Operand) -> Operand {
    let d = e.temp(2);
    e.put(Opcode::DFMA, &[], 1, &[wide(d, 2), a, b, c]);
    wide(d, 2)
}

/// The reciprocal of a finite, nonzero number in the range of single precision, right to an ulp or
/// so.
fn reciprocal_double(e: &mut Emit<'_>, b: Operand) -> Operand {
    let high = match b.as_reg() {
        Some(u) => cell(u.reg, 1),
        None => return b,
    };
    let y = e.temp(2);
    e.mufu(Mod::RCP64H, cell(y, 1), high);
    e.mov(cell(y, 0), Operand::RZ);
    let one = one(e);
    let mut y = wide(y, 2);
    // 20 bits, 40, 80.
    for _ in 0..3 {
        let error = dfma(e, neg64(b), y, one);
        y = dfma(e, y, error, y);
    }
    y
}

/// Quotient by way of double precision, rounded once to single. Zeros, infinities and NaN get their
/// own factor.
fn divide_double(e: &mut Emit<'_>, a: Operand, b: Operand, narrow: Narrow) -> Reg {
    // What a product says of these cases: a · (1/b exactly for 0 and inf, the sign of b otherwise).
    let (unit, sign, factor, special) = (temp(e), temp(e), temp(e), temp(e));
    e.mufu(Mod::RCP, unit, b);
    e.lop3(sign, b, imm(0x8000_0000), imm(0x3f80_0000), 0xea);
    let b_ordinary = ordinary(e, b);
    e.put(Opcode::FSEL, &[], 1, &[factor, sign, unit, b_ordinary]);
    e.fmul(&[], special, a, factor);
    let a_ordinary = ordinary(e, a);
    let both = e.temp_pred();
    e.plop3(r(both), a_ordinary, b_ordinary, Operand::PT, 0x80);
    let (x, y) = (widen(e, a), widen(e, b));
    let recip = reciprocal_double(e, y);
    let q = e.temp(2);
    e.put(Opcode::DMUL, &[], 1, &[wide(q, 2), x, recip]);
    let rest = dfma(e, neg64(y), wide(q, 2), x);
    let q = dfma(e, recip, rest, wide(q, 2));
    let quotient = temp(e);
    narrow_double(e, narrow, quotient, q);
    let d = e.temp(1);
    e.put(Opcode::FSEL, &[], 1, &[r(d), quotient, special, r(both)]);
    d
}

/// `p` = a is finite and not zero.
fn ordinary(e: &mut Emit<'_>, a: Operand) -> Operand {
    let (magnitude, below) = (temp(e), temp(e));
    e.and(magnitude, a, imm(0x7fff_ffff));
    e.iadd3(below, magnitude, imm(u32::MAX), Operand::RZ);
    let p = e.temp_pred();
    e.icmp(r(p), Mod::LT, false, below, imm(0x7f7f_ffff));
    r(p)
}

/// FRCP: `d = 1 / a`.
pub fn reciprocal(e: &mut Emit<'_>, inst: &Inst, shared: &mut Shared) {
    let a = source(e, inst, 1);
    let narrow = Narrow { round: rounding(inst), ftz: inst.mods.has(Mod::FTZ) };
    let slow = |e: &mut Emit<'_>, given: &[Operand]| {
        let one = temp(e);
        e.mov(one, fimm(1.0));
        divide_double(e, one, given[0], narrow)
    };
    let value = if rounding(inst).is_some() {
        r(shared.run(e, inst, LEAST_USES, (&[a], 1), slow))
    } else {
        // The exponent field between 2 and 252: neither source nor result is near the edge.
        let (field, p) = (temp(e), e.temp_pred());
        e.iadd3(field, a, imm(0x0180_0000), Operand::RZ);
        let exponent = temp(e);
        e.and(exponent, field, imm(0x7f80_0000));
        e.icmp(r(p), Mod::LE, false, exponent, imm(0x01ff_ffff));
        r(e.two_ways(
            r(p),
            1,
            |e| {
                let (y, error, d) = (temp(e), temp(e), e.temp(1));
                e.mufu(Mod::RCP, y, a);
                e.ffma(&[], error, fneg(a), y, fimm(1.0));
                e.ffma(&[], r(d), y, error, y);
                d
            },
            |e| shared.run(e, inst, LEAST_RARE_USES, (&[a], 1), slow),
        ))
    };
    finish(e, inst, value);
}

/// FSQRT: `d = √a`.
pub fn square_root(e: &mut Emit<'_>, inst: &Inst, shared: &mut Shared) {
    let a = source(e, inst, 1);
    let round = rounding(inst);
    let slow = |e: &mut Emit<'_>, given: &[Operand]| square_root_double(e, given[0], round);
    let value = if round.is_some() {
        r(shared.run(e, inst, LEAST_USES, (&[a], 1), slow))
    } else {
        // Positive, finite, and the squares in the remainder steps are normal.
        let (above, p) = (temp(e), e.temp_pred());
        e.iadd3(above, a, imm(0xf300_0000), Operand::RZ);
        e.icmp(r(p), Mod::GT, false, above, imm(0x727f_ffff));
        r(e.two_ways(
            r(p),
            1,
            |e| {
                let (y, s, h, rest) = (temp(e), temp(e), temp(e), temp(e));
                e.mufu(Mod::RSQ, y, a);
                e.fmul(&[Mod::FTZ], s, a, y);
                e.fmul(&[Mod::FTZ], h, y, fimm(0.5));
                e.ffma(&[], rest, fneg(s), s, a);
                let d = e.temp(1);
                e.ffma(&[], r(d), rest, h, s);
                d
            },
            |e| shared.run(e, inst, LEAST_RARE_USES, (&[a], 1), slow),
        ))
    };
    finish(e, inst, value);
}

/// Root by way of double precision. Zeros keep their sign, negative numbers give NaN.
fn square_root_double(e: &mut Emit<'_>, a: Operand, round: Option<Mod>) -> Reg {
    let special = temp(e);
    let negative = e.temp_pred();
    let and = (Mod::AND, Operand::PT);
    e.fsetp(r(negative), Mod::LT, false, [a, Operand::RZ], and);
    let nan = e.temp(1);
    e.mov(r(nan), imm(0x7fff_ffff));
    let quiet = temp(e);
    e.fadd(&[], quiet, a, fneg(Operand::RZ));
    e.put(Opcode::FSEL, &[], 1, &[special, r(nan), quiet, r(negative)]);
    let finite = ordinary(e, a);
    let p = e.temp_pred();
    e.plop3(r(p), finite, not(r(negative)), Operand::PT, 0x80);
    let x = widen(e, a);
    let x_reg = x.as_reg().map_or(Reg::RZ, |u| u.reg);
    let y = e.temp(2);
    e.mufu(Mod::RSQ64H, cell(y, 1), cell(x_reg, 1));
    e.mov(cell(y, 0), Operand::RZ);
    let half = wide(e.join(Operand::RZ, imm(0x3fe0_0000)), 2);
    // y += y/2 · (1 - x·y²), twice: 20 bits, 40, 80.
    let mut y = wide(y, 2);
    for _ in 0..2 {
        let (xy, hy) = (e.temp(2), e.temp(2));
        e.put(Opcode::DMUL, &[], 1, &[wide(xy, 2), x, y]);
        e.put(Opcode::DMUL, &[], 1, &[wide(hy, 2), y, half]);
        let one = one(e);
        let error = dfma(e, neg64(wide(xy, 2)), y, one);
        y = dfma(e, wide(hy, 2), error, y);
    }
    let (s, h) = (e.temp(2), e.temp(2));
    e.put(Opcode::DMUL, &[], 1, &[wide(s, 2), x, y]);
    e.put(Opcode::DMUL, &[], 1, &[wide(h, 2), y, half]);
    let rest = dfma(e, neg64(wide(s, 2)), wide(s, 2), x);
    let root = dfma(e, rest, wide(h, 2), wide(s, 2));
    let value = temp(e);
    narrow_double(e, Narrow { round, ftz: false }, value, root);
    let d = e.temp(1);
    e.put(Opcode::FSEL, &[], 1, &[r(d), value, special, r(p)]);
    d
}
