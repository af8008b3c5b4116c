//! `cvt`: between integers, floats, and both.

mod float;
mod format;
mod integer;
mod mixed;
mod packed;

use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::Instruction;
use crate::ptx::types::{Type, TypeKind};
use crate::ptx::words::Word;

/// `cvt` in all its forms.
pub fn cvt(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Pack) {
        return integer::pack(cx, inst);
    }
    let (to, from) = (type_at(inst, 0)?, type_at(inst, 1)?);
    if to == Type::Tf32 {
        return packed::to_tf32(cx, inst);
    }
    if packed::is_packed(to) {
        return packed::convert(cx, inst, to, from);
    }
    for ty in [to, from] {
        let number = match ty.kind() {
            TypeKind::Signed | TypeKind::Unsigned => !matches!(ty, Type::U16x2 | Type::S16x2),
            _ => matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64),
        };
        if !number {
            return Err("conversion of this type".into());
        }
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, from)?;
    // A destination register wider than an integer type is extended by it.
    let cells = cx.dst_cells(operand(inst, 0)?);
    match (to.kind() == TypeKind::Float, from.kind() == TypeKind::Float) {
        (false, false) => integer::integer(cx, inst, d, cells, a, to, from),
        (true, false) => mixed::from_integer(cx, inst, d, a, to, from),
        (false, true) => mixed::to_integer(cx, inst, d, cells, a, to, from),
        (true, true) => float::float(cx, inst, d, a, to, from),
    }
}
