//! Halves (f16 and bf16, alone or two in a register) as the packed instructions read them.

use crate::lower::context::cx::{Cx, Sel};
use crate::ptx::program::Operand as Ptx;
use crate::ptx::types::Type;
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{fneg, part};

/// Zero in both halves.
pub const ZERO: Operand = Operand::Part(RegUse::new(Reg::RZ), Mod::H0_H0);

/// Whether a type is one or two halves.
pub fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
}

/// Whether a type is two halves in a register.
pub fn is_pair(ty: Type) -> bool {
    matches!(ty, Type::F16x2 | Type::Bf16x2)
}

/// The word of the format; f16 has none.
pub fn format(ty: Type) -> Option<Mod> {
    matches!(ty, Type::Bf16 | Type::Bf16x2).then_some(Mod::BF16_V2)
}

/// A source as the packed operations read it.
pub fn source(cx: &mut Cx<'_, '_>, op: &Ptx, ty: Type) -> Sel<Operand> {
    let value = cx.src(op, ty)?;
    let value = cx.in_reg(value);
    Ok(part(value, if is_pair(ty) { Mod::NONE } else { Mod::H0_H0 }))
}

/// `cvt.sat` of a half that is there: clamped to [0, 1], a NaN is zero.
pub fn saturate(cx: &mut Cx<'_, '_>, d: Operand, a: Operand) {
    cx.e.put(Opcode::HADD2, &[Mod::SAT], 1, &[d, part(a, Mod::H0_H0), fneg(ZERO)]);
}
