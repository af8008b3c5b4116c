//! Constants as operands.

use crate::ptx::constant::Const;
use crate::ptx::program::Operand;
use crate::ptx::types::{Type, TypeKind};

/// The type by which a literal is read: the last one (`cvt.f32.s32`, `set.lt.u32.f32`), for a float
/// literal the last float.
pub(super) fn literal_type(types: &[Type]) -> Option<Type> {
    types.iter().rev().find(|ty| ty.kind() == TypeKind::Float).or(types.last()).copied()
}

pub(super) fn literal(value: Const, ty: Option<Type>) -> Operand {
    match (value, ty) {
        (Const::Int { bits, unsigned: false }, _) => Operand::Int((bits as i64).into()),
        (Const::Int { bits, unsigned: true }, _) => Operand::Int(bits.into()),
        (Const::F32(value), Some(Type::F64)) => Operand::F64(f64::from(value)),
        (Const::F32(value), Some(ty)) if ty.kind() != TypeKind::Float => {
            Operand::Int(value.to_bits().into())
        }
        (Const::F32(value), _) => Operand::F32(value),
        (Const::F64(value), Some(Type::F32 | Type::Tf32)) => Operand::F32(value as f32),
        (Const::F64(value), Some(ty)) if ty.kind() != TypeKind::Float => {
            Operand::Int(value.to_bits().into())
        }
        (Const::F64(value), _) => Operand::F64(value),
    }
}
