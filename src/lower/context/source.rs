//! Source operands as values: registers, constants, addresses of variables, special registers.

use super::cx::{Cx, Sel, cells_of};
use super::special::is_wide;
use super::value::{Value, int_bits};
use crate::ptx::program::Operand as Ptx;
use crate::ptx::types::Type;
use orias_components::Operand;
use orias_systems::build::wide;

impl<'a, 'w> Cx<'a, 'w> {
    /// A source operand read as `ty`.
    pub fn value(&mut self, op: &Ptx, ty: Type) -> Sel<Value> {
        Ok(match op {
            Ptx::Reg(id) => Value::Reg(self.regs[id.0 as usize][0], cells_of(self.reg_type(*id))),
            Ptx::Element(id, i) => {
                Value::Reg(self.regs[id.0 as usize][*i as usize], cells_of(self.reg_type(*id)))
            }
            Ptx::Int(v) => Value::Imm(int_bits(v.get(), ty)),
            Ptx::F32(f) => Value::Imm(u64::from(f.to_bits())),
            Ptx::F64(f) if ty.bytes() == 4 => Value::Imm(u64::from((*f as f32).to_bits())),
            Ptx::F64(f) => Value::Imm(f.to_bits()),
            Ptx::Var(var, offset) => self.var_address(*var, offset.get())?,
            Ptx::Func(f) => Value::Imm(self.function_pointer(*f)?),
            Ptx::Special(s) => {
                let wide = is_wide(*s);
                let cells = if wide { 2 } else { 1 };
                let d = self.e.temp(cells);
                self.special(*s, d)?;
                Value::Reg(d, cells)
            }
            _ => return Err("operand of this kind".into()),
        })
    }

    /// The low 32 bits of a source.
    pub fn src(&mut self, op: &Ptx, ty: Type) -> Sel<Operand> {
        Ok(self.value(op, ty)?.lo())
    }

    /// A source of 8 or 16 bits extended to 32 by its type; wider ones as they are.
    pub fn ext(&mut self, op: &Ptx, ty: Type) -> Sel<Operand> {
        let value = self.value(op, ty)?;
        Ok(self.extend(value, ty))
    }

    /// A 64-bit source by halves. A narrower register is extended by its own type when `ty` is
    /// signed.
    pub fn halves(&mut self, op: &Ptx, ty: Type) -> Sel<[Operand; 2]> {
        Ok(self.value(op, ty)?.halves())
    }

    /// A 64-bit source as one operand of two cells; constants go to a register.
    pub fn pair(&mut self, op: &Ptx, ty: Type) -> Sel<Operand> {
        let value = self.value(op, ty)?;
        Ok(wide(self.pair_of(value), 2))
    }
}
