//! Integer division and remainder by a constant: shifts, or the high half of a product with a
//! fixed-point reciprocal (T. Granlund and P. Montgomery, "Division by Invariant Integers using
//! Multiplication", PLDI 1994).

use crate::build::{Emit, cell, halves, imm, neg, r};
use orias_components::pseudo::macros;
use orias_components::{Inst, Mod, Opcode, Operand, Reg};

/// How an unsigned number of N bits is divided: `n >> before`, times `factor` (with 2^N more where
/// `wide`), the high N bits of that, `>> after`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plan {
    before: u32,
    factor: u64,
    /// The factor has N + 1 bits: `factor` is without its highest.
    wide: bool,
    after: u32,
}

/// The plan for a divisor that is no power of two, of numbers of `bits` bits.
fn plan(divisor: u64, bits: u32) -> Plan {
    let (factor, after) = multiplier(divisor, bits, bits);
    if factor >> bits == 0 {
        return Plan { before: 0, factor: factor as u64, wide: false, after };
    }
    let before = divisor.trailing_zeros();
    if before > 0 {
        // What is shifted out makes the reciprocal's error less important.
        let (factor, after) = multiplier(divisor >> before, bits, bits - before);
        return Plan { before, factor: factor as u64, wide: false, after };
    }
    Plan { before: 0, factor: factor as u64 & u64::MAX >> (64 - bits), wide: true, after }
}

/// The least multiplier m and shift s with `floor(n · m / 2^(bits + s)) = floor(n / divisor)` for
/// all n below 2^`precision`.
fn multiplier(divisor: u64, bits: u32, precision: u32) -> (u128, u32) {
    let d = u128::from(divisor);
    // The least power of two that is not below the divisor.
    let mut shift = 64 - (divisor - 1).leading_zeros();
    // 2^(bits + shift) may have 129 bits: no power of two but 1 has the divisor as a factor, so one
    // less has the same quotient.
    let below = u128::MAX >> (128 - (bits + shift));
    let mut low = below / d;
    let mut high = low + (below % d + 1 + (1u128 << (bits + shift - precision))) / d;
    while low >> 1 < high >> 1 && shift > 0 {
        low >>= 1;
        high >>= 1;
        shift -= 1;
    }
    (high, shift)
}

/// Expands an IDIV or IREM whose second source is a constant.
pub fn expand(e: &mut Emit<'_>, inst: &Inst, divisor: u64) {
    let remainder = inst.op == Opcode::IREM;
    let signed = inst.mods.has(Mod::S32) || inst.mods.has(Mod::S64);
    let long = inst.mods.has(Mod::S64) || inst.mods.has(Mod::U64);
    let divisor = if long { divisor } else { divisor & u64::from(u32::MAX) };
    let width = if long { Width::Long } else { Width::Word };
    let a = source(e, inst.operands[macros::A], width);
    let quotient = if divisor == 0 {
        None
    } else if signed {
        Some(signed_quotient(e, width, a, divisor))
    } else {
        Some(unsigned_quotient(e, width, a, divisor))
    };
    let result = match quotient {
        // By zero, quotient and remainder are all ones: as the general expansion has it.
        None => constant(e, width, u64::MAX),
        Some(q) if remainder => {
            let minus = constant(e, width, divisor.wrapping_neg());
            let d = width.temp(e);
            match width {
                Width::Word => e.imad(r(d), r(q), r(minus), r(a)),
                Width::Long => e.mul64(d, halves(q), halves(minus), halves(a)),
            }
            d
        }
        Some(q) => q,
    };
    let d = inst.operands[macros::D].as_reg().map_or(Reg::RZ, |u| u.reg);
    match width {
        Width::Word => e.mov(inst.operands[macros::D], r(result)),
        Width::Long => {
            e.mov(cell(d, 0), cell(result, 0));
            e.mov(cell(d, 1), cell(result, 1));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Word,
    Long,
}

impl Width {
    fn bits(self) -> u32 {
        if self == Width::Word { 32 } else { 64 }
    }

    fn temp(self, e: &mut Emit<'_>) -> Reg {
        e.temp(if self == Width::Word { 1 } else { 2 })
    }
}

/// The dividend in a whole register.
fn source(e: &mut Emit<'_>, a: Operand, width: Width) -> Reg {
    match (a, width) {
        (Operand::Reg(u), Width::Long) => u.reg,
        (Operand::Imm(v), Width::Long) => constant(e, width, v),
        (a, _) => {
            let t = e.temp(1);
            e.mov(r(t), a);
            t
        }
    }
}

fn constant(e: &mut Emit<'_>, width: Width, value: u64) -> Reg {
    let d = width.temp(e);
    e.mov(cell(d, 0), imm(value as u32));
    if width == Width::Long {
        e.mov(cell(d, 1), imm((value >> 32) as u32));
    }
    d
}

/// `a >> by`, with zeros or copies of the sign; `by` is below the width.
fn shift_right(e: &mut Emit<'_>, width: Width, a: Reg, by: u32) -> Reg {
    if by == 0 {
        return a;
    }
    let d = width.temp(e);
    match width {
        Width::Word => e.shr(r(d), r(a), imm(by), false),
        Width::Long if by < 32 => {
            e.shf(&[Mod::R, Mod::U64], cell(d, 0), cell(a, 0), imm(by), cell(a, 1));
            e.shr(cell(d, 1), cell(a, 1), imm(by), false);
        }
        Width::Long => {
            e.shr(cell(d, 0), cell(a, 1), imm(by - 32), false);
            e.mov(cell(d, 1), Operand::RZ);
        }
    }
    d
}

fn unsigned_quotient(e: &mut Emit<'_>, width: Width, a: Reg, divisor: u64) -> Reg {
    if divisor.is_power_of_two() {
        return shift_right(e, width, a, divisor.trailing_zeros());
    }
    let plan = plan(divisor, width.bits());
    let n = shift_right(e, width, a, plan.before);
    let factor = constant(e, width, plan.factor);
    let high = match width {
        Width::Word => {
            let d = e.temp(1);
            e.imad_hi(r(d), r(n), r(factor), Operand::RZ, false);
            d
        }
        Width::Long => e.mul64_hi(halves(n), halves(factor)),
    };
    if !plan.wide {
        return shift_right(e, width, high, plan.after);
    }
    // (n + high) >> after, where the sum may have a bit more: (n - high) / 2 + high is half of it.
    let (rest, sum) = (width.temp(e), width.temp(e));
    subtract(e, width, rest, n, high);
    let half = shift_right(e, width, rest, 1);
    match width {
        Width::Word => e.iadd3(r(sum), r(half), r(high), Operand::RZ),
        Width::Long => e.add64(sum, halves(half), halves(high)),
    }
    shift_right(e, width, sum, plan.after - 1)
}

fn subtract(e: &mut Emit<'_>, width: Width, d: Reg, a: Reg, b: Reg) {
    match width {
        Width::Word => e.iadd3(r(d), r(a), neg(r(b)), Operand::RZ),
        Width::Long => e.sub64(d, halves(a), halves(b)),
    }
}

/// The quotient of the magnitudes, with its sign.
fn signed_quotient(e: &mut Emit<'_>, width: Width, a: Reg, divisor: u64) -> Reg {
    let negative_divisor = divisor >> (width.bits() - 1) & 1 != 0;
    let size = if negative_divisor { divisor.wrapping_neg() } else { divisor };
    let size = size & u64::MAX >> (64 - width.bits());
    let zero = Operand::RZ;
    let top = cell(a, if width == Width::Word { 0 } else { 1 });
    let p = e.temp_pred();
    // Where the quotient is negative; of a quotient that is zero it does not matter.
    e.icmp(r(p), if negative_divisor { Mod::GE } else { Mod::LT }, true, top, zero);
    match width {
        Width::Word => {
            let magnitude = e.temp(1);
            e.put(Opcode::IABS, &[], 1, &[r(magnitude), r(a)]);
            let q = unsigned_quotient(e, width, magnitude, size);
            let (minus, d) = (e.temp(1), e.temp(1));
            e.iadd3(r(minus), neg(r(q)), zero, zero);
            e.sel(r(d), r(minus), r(q), r(p));
            d
        }
        Width::Long => {
            let (magnitude, _) = e.abs64(halves(a));
            let q = unsigned_quotient(e, width, magnitude, size);
            let d = e.temp(2);
            e.negate64_if(d, halves(q), r(p));
            d
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the plan computes.
    fn quotient(plan: Plan, n: u64, bits: u32) -> u64 {
        let factor = u128::from(plan.factor);
        let high = (u128::from(n >> plan.before) * factor) >> bits;
        let sum = if plan.wide { high + u128::from(n) } else { high };
        (sum >> plan.after) as u64
    }

    #[test]
    fn a_plan_gives_the_quotient_at_every_multiple_of_the_divisor_and_just_below() {
        let mut divisors: Vec<u64> = (3..2000).collect();
        divisors.extend(
            (6..64).flat_map(|k| [(1u64 << k) - 1, (1 << k) + 1, (1 << k) + 2, (1 << k) / 3 * 2]),
        );
        divisors.extend([u64::MAX, u64::MAX - 1, 0x8000_0000_0000_0001]);
        for bits in [32, 64] {
            let most = u64::MAX >> (64 - bits);
            for d in divisors.iter().copied().filter(|d| *d <= most && !d.is_power_of_two()) {
                let plan = plan(d, bits);
                let last = most / d;
                let some = [0, 1, 2, last / 3, last / 2, last - last.min(1), last];
                for q in some.into_iter().filter(|q| *q <= last) {
                    assert_eq!(quotient(plan, q * d, bits), q, "{} / {d}: {plan:?}", q * d);
                    let end = (q * d).saturating_add(d - 1).min(most);
                    assert_eq!(quotient(plan, end, bits), q, "{end} / {d}: {plan:?}");
                }
            }
        }
    }

    #[test]
    fn known_plans() {
        let plain = |factor, after| Plan { before: 0, factor, wide: false, after };
        assert_eq!(plan(3, 32), plain(0xaaaa_aaab, 1));
        assert_eq!(plan(10, 32), plain(0xcccc_cccd, 3));
        assert_eq!(plan(7, 32), Plan { before: 0, factor: 0x2492_4925, wide: true, after: 3 });
        assert_eq!(plan(14, 32).before, 1);
    }
}
