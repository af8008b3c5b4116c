//! `OptimizeNaNOrZero`: what is known to be no NaN, and no zero with a sign, does not change by
//! adding zero or by a product with one; and a test whether it is a NaN has one outcome
//! ([`super::bounds`]).
//!
//! A float that comes of arithmetic has the one NaN that arithmetic gives, which such an
//! instruction leaves as it is. What comes from memory may have any, and that it makes this one.
//! ptxas 13.0.88 was not seen to know any of this.

use super::values::{Values, plain};
use crate::analysis::Analyses;
use crate::effects::copies_words;
use crate::function::Options;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form, is_value};
use orias_components::{
    Body, Code, Inst, InstId, Mod, Opcode, Operand, RegFile, RegFlags, RegUse, View,
};
use orias_targets::slots::{FADD, FFMA, FMNMX, FMUL, FSEL, MOV, MUFU};

/// Steps back from what is asked for.
const DEPTH: u32 = 5;

/// What may be simpler.
pub const KNOWN: [Opcode; 3] = [Opcode::FADD, Opcode::FMUL, Opcode::FFMA];

/// What a float may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class {
    /// Any NaN but the one that arithmetic gives.
    pub other_nan: bool,
    /// A NaN.
    pub nan: bool,
    /// -0
    pub negative_zero: bool,
    /// Too small to be normal.
    pub subnormal: bool,
}

impl Class {
    const ANY: Class = Class { other_nan: true, nan: true, negative_zero: true, subnormal: true };
    const NUMBER: Class =
        Class { other_nan: false, nan: false, negative_zero: false, subnormal: false };

    /// What either may be.
    fn or(self, other: Class) -> Class {
        Class {
            other_nan: self.other_nan || other.other_nan,
            nan: self.nan || other.nan,
            negative_zero: self.negative_zero || other.negative_zero,
            subnormal: self.subnormal || other.subnormal,
        }
    }

    fn of_bits(bits: u32) -> Class {
        let value = f32::from_bits(bits);
        Class {
            other_nan: value.is_nan(),
            nan: value.is_nan(),
            negative_zero: bits == 1 << 31,
            subnormal: value.is_subnormal(),
        }
    }
}

/// Phase 32.
pub fn optimize_nan_or_zero(
    code: Code<'_>,
    form: Read<'_, Form>,
    options: Read<'_, Options>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    if !form.is_ssa || !any(&body) {
        return;
    }
    let map = analyses.cells(&body);
    let fixed = Fixed::of(&body);
    let mut values = Values::of(&body, &map, |_, _, _| {});
    let mut count = 0;
    for &block in body.walk().iter() {
        for &id in body.walk_in(block).iter() {
            let Some(from) = unchanged(&body, &values, body.inst(id)) else { continue };
            let is_value = from.reg.vreg().is_some_and(|v| is_value(&body, &fixed, v));
            let to = body.inst(id).operand(0);
            let copy = Inst::new(Opcode::MOV, &[], 1, &[to, Operand::Reg(from), Operand::Imm(0xf)]);
            if is_value && options.target.takes(&copy).is_some() {
                values.replace(&mut body, id, &copy);
                count += 1;
            }
        }
    }
    values.sweep(&mut body);
    notes.count(count);
}

/// Whether there is an instruction with a number that might change nothing.
fn any(body: &Body<'_>) -> bool {
    let mut all = body.layout().iter().flat_map(|b| body.block(*b).insts());
    all.any(|id| KNOWN.contains(&body.op(*id)) && source(body.inst(*id)).is_some())
}

/// The operand that an instruction gives unless it is a certain one, and what is added to it, if
/// anything is: a zero.
fn source(inst: View<'_>) -> Option<(RegUse, Option<u32>)> {
    if !inst.guard.is_always() || !matches!(inst.mods().as_slice(), [] | [Mod::FTZ]) {
        return None;
    }
    let number = |at: usize| match inst.operand(at) {
        Operand::Imm(bits) => Some(bits as u32),
        Operand::RZ => Some(0),
        _ => None,
    };
    const ONE: u32 = 1.0_f32.to_bits();
    let is_zero = |bits: &u32| bits << 1 == 0;
    match inst.op {
        Opcode::FADD if inst.len() == FADD::COUNT => {
            let (a, c) = (inst.operand(FADD::A), inst.operand(FADD::C));
            match (number(FADD::A).filter(is_zero), number(FADD::C).filter(is_zero)) {
                (None, zero @ Some(_)) => Some((plain(&a)?, zero)),
                (zero @ Some(_), None) => Some((plain(&c)?, zero)),
                _ => None,
            }
        }
        Opcode::FMUL if inst.len() == FMUL::COUNT && number(FMUL::B) == Some(ONE) => {
            Some((plain(&inst.operand(FMUL::A))?, None))
        }
        Opcode::FFMA if inst.len() == FFMA::COUNT && number(FFMA::B) == Some(ONE) => {
            let zero = number(FFMA::C).filter(is_zero)?;
            Some((plain(&inst.operand(FFMA::A))?, Some(zero)))
        }
        _ => None,
    }
}

/// The value that an instruction leaves as it is.
fn unchanged(body: &Body<'_>, values: &Values<'_>, inst: View<'_>) -> Option<RegUse> {
    let (from, zero) = source(inst)?;
    let class = class(body, values, &Operand::Reg(from), DEPTH);
    let flushes = inst.mods().has(Mod::FTZ);
    // -0 and +0 are +0; -0 and -0 stay.
    let is_changed =
        class.other_nan || flushes && class.subnormal || zero == Some(0) && class.negative_zero;
    (!is_changed && from.count == 1).then_some(from)
}

/// What an operand may be.
pub(super) fn class(body: &Body<'_>, values: &Values<'_>, operand: &Operand, depth: u32) -> Class {
    match operand {
        Operand::Imm(bits) => Class::of_bits(*bits as u32),
        operand if *operand == Operand::RZ => Class::NUMBER,
        Operand::Reg(r) if r.count == 1 && r.reg.file() == RegFile::R && depth > 0 => {
            let of = |r: RegUse| written(body, values, r, depth - 1);
            match r.flags.without(RegFlags::REUSE) {
                RegFlags::NONE => of(*r),
                // A sign of a NaN is one of another.
                RegFlags::ABS | RegFlags::NEG => {
                    let class = of(RegUse { flags: RegFlags::NONE, ..*r });
                    let negative_zero = r.flags.has(RegFlags::NEG);
                    Class { other_nan: class.nan, negative_zero, ..class }
                }
                _ => Class::ANY,
            }
        }
        _ => Class::ANY,
    }
}

fn written(body: &Body<'_>, values: &Values<'_>, r: RegUse, depth: u32) -> Class {
    let writer = |r| values.writer(r).map(|by: InstId| body.inst(by));
    let Some(inst) = writer(RegUse { flags: RegFlags::NONE, ..r }) else { return Class::ANY };
    if !inst.guard.is_always() {
        return Class::ANY;
    }
    let of = |at: usize| class(body, values, &inst.operand(at), depth);
    let mods = inst.mods();
    let flushes = mods.has(Mod::FTZ);
    // What arithmetic gives.
    let result = Class { other_nan: false, subnormal: !flushes, ..Class::ANY };
    match inst.op {
        // Of an integer: none of them is -0.
        Opcode::I2FP if mods.has(Mod::F32) => Class::NUMBER,
        Opcode::FADD | Opcode::FMUL | Opcode::FFMA => result,
        Opcode::MUFU if inst.len() == MUFU::COUNT && mods.has(Mod::EX2) => {
            let nan = of(MUFU::B).nan;
            Class { nan, other_nan: nan, negative_zero: false, ..result }
        }
        Opcode::FMNMX
            if inst.len() == FMNMX::COUNT && matches!(mods.as_slice(), [] | [Mod::FTZ]) =>
        {
            let (a, b) = (of(FMNMX::A), of(FMNMX::B));
            // Of a NaN and a number it is the number.
            let nan = a.nan && b.nan;
            let negative_zero = a.negative_zero || b.negative_zero;
            Class { nan, negative_zero, other_nan: nan, ..result }
        }
        Opcode::FSEL if inst.len() == FSEL::COUNT && mods.is_empty() => of(FSEL::A).or(of(FSEL::B)),
        Opcode::MOV if inst.len() == MOV::COUNT && copies_words(inst) => of(MOV::B),
        _ => Class::ANY,
    }
}

/// Whether neither operand of a comparison may be a NaN.
pub(super) fn are_numbers(body: &Body<'_>, values: &Values<'_>, operands: [Operand; 2]) -> bool {
    operands.iter().all(|operand| !class(body, values, operand, DEPTH).nan)
}
