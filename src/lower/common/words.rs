//! Values as 32-bit words: taken apart, put together, copied, chosen and extended.

use crate::lower::context::cx::{Cx, Sel, cells_of};
use crate::lower::context::value::Value;
use crate::ptx::program::Operand as Ptx;
use crate::ptx::types::Type;
use orias_components::{Operand, Reg};
use orias_systems::build::{cell, imm, r, wide};

/// `d` of `cells` cells = `value`, zero above a narrower value.
pub fn move_to(cx: &mut Cx<'_, '_>, d: Reg, cells: u8, value: Value) {
    match (cells, value) {
        (4, Value::Reg(s, 4)) => (0..4).for_each(|i| cx.e.mov(cell(d, i), cell(s, i))),
        (2, value) => {
            cx.e.mov(cell(d, 0), value.lo());
            cx.e.mov(cell(d, 1), value.hi());
        }
        (_, value) => cx.e.mov(r(d), value.lo()),
    }
}

/// `d` = `bits` (8 or 16) of `word` from bit `at` on; the rest of `d` is zero.
pub fn extract(cx: &mut Cx<'_, '_>, d: Operand, word: Operand, at: u32, bits: u32) {
    let first = at / 8;
    // Selector nibble 4 picks a byte of the zero register.
    let selector = if bits == 8 { 0x4440 | first } else { 0x4400 | first | (first + 1) << 4 };
    cx.e.prmt(d, word, imm(selector), Operand::RZ);
}

/// Elements of `bits` bits as 32-bit words.
pub fn pack_words(cx: &mut Cx<'_, '_>, bits: u32, values: &[Value]) -> Sel<Vec<Operand>> {
    let mut words = Vec::new();
    match bits {
        128 => {
            for v in values {
                match v {
                    Value::Reg(reg, 4) => words.extend((0..4).map(|i| cell(*reg, i))),
                    v => words.extend([v.lo(), v.hi(), Operand::RZ, Operand::RZ]),
                }
            }
        }
        64 => {
            for v in values {
                words.extend(v.halves());
            }
        }
        32 => words.extend(values.iter().map(|v| v.lo())),
        16 => {
            for pair in values.chunks(2) {
                let hi = pair.get(1).map_or(Operand::RZ, |v| v.lo());
                words.push(merge(cx, pair[0].lo(), hi, 0x5410));
            }
        }
        8 => {
            for quad in values.chunks(4) {
                let at = |i: usize| quad.get(i).map(|v| v.lo());
                let low = merge(cx, quad[0].lo(), at(1).unwrap_or(Operand::RZ), 0x0040);
                if quad.len() <= 2 {
                    words.push(low);
                    continue;
                }
                let high =
                    merge(cx, at(2).unwrap_or(Operand::RZ), at(3).unwrap_or(Operand::RZ), 0x0040);
                words.push(merge(cx, low, high, 0x5410));
            }
        }
        _ => return Err("elements of this width".into()),
    }
    Ok(words)
}

/// A word of four of the bytes of `b:a`, as the selector of PRMT says.
pub fn merge(cx: &mut Cx<'_, '_>, a: Operand, b: Operand, selector: u32) -> Operand {
    // 0x5410 is the low halves of a and b; 0x0040 their low bytes, the upper half is not read.
    let d = cx.e.temp(1);
    cx.e.prmt(r(d), a, imm(selector), b);
    r(d)
}

/// `d = p ? a : b` in the width of `ty`.
pub fn select(cx: &mut Cx<'_, '_>, d: Reg, ty: Type, a: Value, b: Value, p: Operand) {
    select_word(cx, cell(d, 0), a.lo(), b.lo(), p);
    if cells_of(ty) == 2 {
        select_word(cx, cell(d, 1), a.hi(), b.hi(), p);
    }
}

/// One word; an immediate goes to the second source, where the rows take one.
pub fn select_word(cx: &mut Cx<'_, '_>, d: Operand, a: Operand, b: Operand, p: Operand) {
    match (a, b) {
        (Operand::Imm(0), _) => cx.e.sel(d, Operand::RZ, b, p),
        (Operand::Imm(_), Operand::Imm(0)) => {
            cx.e.sel(d, Operand::RZ, a, orias_systems::build::not(p));
        }
        (Operand::Imm(_), Operand::Reg(_)) => cx.e.sel(d, b, a, orias_systems::build::not(p)),
        _ => cx.e.sel(d, a, b, p),
    }
}

/// The upper half of a 64-bit register that took a narrower value.
pub fn widen(cx: &mut Cx<'_, '_>, d: Reg, ty: Type) {
    if ty.is_signed() {
        cx.e.shr(cell(d, 1), cell(d, 0), imm(31), true);
    } else {
        cx.e.mov(cell(d, 1), Operand::RZ);
    }
}

/// Values of this many bytes each as they stand in memory: one operand of as many cells as they
/// take.
pub fn gather(cx: &mut Cx<'_, '_>, values: &[Value], bytes: u32) -> Sel<Operand> {
    match values {
        [Value::Reg(reg, cells)] if u32::from(*cells) * 4 >= bytes => {
            return Ok(if bytes >= 8 { wide(*reg, (bytes / 4) as u8) } else { cell(*reg, 0) });
        }
        [one] if bytes <= 4 => {
            let lo = one.lo();
            return Ok(if lo == Operand::Imm(0) { Operand::RZ } else { cx.in_reg(lo) });
        }
        _ => {}
    }
    let words = pack_words(cx, bytes * 8, values)?;
    if let [one] = words[..] {
        return Ok(cx.in_reg(one));
    }
    let tuple = cx.e.temp(words.len() as u8);
    for (i, word) in words.iter().enumerate() {
        cx.e.mov(cell(tuple, i as u8), *word);
    }
    Ok(wide(tuple, words.len() as u8))
}

/// A source, scalar or vector of `ty`, in consecutive registers.
pub fn tuple(cx: &mut Cx<'_, '_>, op: &Ptx, ty: Type) -> Sel<Operand> {
    let parts = match op {
        Ptx::Vector(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    let mut values = Vec::new();
    for part in parts {
        values.push(cx.value(part, ty)?);
    }
    gather(cx, &values, ty.bytes())
}

/// A register of this many cells, or RZ.
pub fn whole(reg: Reg, cells: u8) -> Operand {
    if reg.is_zero() || cells == 1 { r(reg) } else { wide(reg, cells) }
}

/// `d = a + b (+ carry in)`, by words, the last carry to `out`.
pub fn add_chain(
    cx: &mut Cx<'_, '_>,
    d: Reg,
    a: &[Operand],
    b: &[Operand],
    carry_in: Option<Operand>,
    out: Operand,
) {
    let mut carry = carry_in;
    let count = a.len();
    for i in 0..count {
        let to = if i + 1 == count {
            out
        } else {
            let p = cx.e.temp_pred();
            r(p)
        };
        match carry {
            None => cx.e.iadd_carry_out(cell(d, i as u8), to, a[i], b[i]),
            Some(c) => cx.e.iadd_x(cell(d, i as u8), to, a[i], b[i], c),
        }
        carry = Some(to);
    }
}
