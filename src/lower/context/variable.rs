//! Addresses of variables, each in its own state space.

use super::cx::{Cx, Sel};
use super::frame::ParamHome;
use super::value::Value;
use crate::lower::layout::SHARED_RESERVED;
use crate::ptx::program::{FuncId, VarId};
use crate::ptx::types::{Space, TypeKind};
use orias_components::{Mod, Operand};
use orias_systems::build::{cell, imm, r, wide};

impl<'a, 'w> Cx<'a, 'w> {
    /// The byte offset of a shared variable in the CTA's window.
    ///
    /// # Errors
    /// When the kernel has no place for it.
    pub fn shared_offset(&self, var: VarId) -> Sel<i64> {
        let slot = self.shared.iter().find(|s| s.var == var);
        slot.map(|s| s.offset as i64).ok_or_else(|| "shared variable without a place".into())
    }

    /// The byte offset of a `.local` variable in the frame.
    ///
    /// # Errors
    /// When the function has no place for it.
    pub fn local_offset(&self, var: VarId) -> Sel<i64> {
        let slot = self.layout.local.iter().find(|(v, _)| *v == var);
        slot.map(|(_, o)| i64::from(*o + self.locals_at))
            .ok_or_else(|| "local variable without a place".into())
    }

    /// The address of a variable in its own space.
    pub fn var_address(&mut self, var: VarId, offset: i64) -> Sel<Value> {
        let v = &self.program.vars[var.0 as usize];
        if v.ty.kind() == TypeKind::Opaque {
            return Err("the handle of a texture, sampler or surface".into());
        }
        match v.space {
            Space::Global => {
                let key = self.module.key_of(var).ok_or("variable without a symbol")?;
                let at = self.module.address_offset(key).ok_or("variable without an address")?;
                let d = self.e.temp(2);
                self.e.ldc(&[Mod::_64], wide(d, 2), Operand::constant(4, at as i32));
                if offset == 0 {
                    return Ok(Value::Reg(d, 2));
                }
                let sum = self.e.temp(2);
                self.e.add64(sum, [cell(d, 0), cell(d, 1)], Value::Imm(offset as u64).halves());
                Ok(Value::Reg(sum, 2))
            }
            Space::Const => {
                let symbol = self.module.symbol_of(var).ok_or("constant without a symbol")?;
                Ok(Value::Imm((symbol.offset as i64 + offset) as u64))
            }
            Space::Shared => {
                let at = self.shared_offset(var)? + offset - SHARED_RESERVED as i64;
                let base = self.shared_base();
                let d = self.e.temp(2);
                if at == 0 {
                    self.e.mov(cell(d, 0), r(base));
                } else {
                    let lo = self.e.temp(1);
                    self.e.mov(r(lo), r(base));
                    self.e.iadd3(cell(d, 0), r(lo), imm(at as u32), Operand::RZ);
                }
                self.e.mov(cell(d, 1), Operand::RZ);
                Ok(Value::Reg(d, 2))
            }
            Space::Local => {
                let at = self.local_offset(var)? + offset;
                let d = self.e.temp(2);
                let frame = self.frame.pointer();
                self.e.iadd3(cell(d, 0), r(frame), imm(at as u32), Operand::RZ);
                self.e.mov(cell(d, 1), Operand::RZ);
                Ok(Value::Reg(d, 2))
            }
            Space::Param if self.frame.home(var).is_some() => {
                let Some(ParamHome::Memory(base, at)) = self.frame.home(var).cloned() else {
                    return Err("address of a parameter in registers".into());
                };
                let d = self.e.temp(2);
                let at = at + offset as i32;
                self.e.iadd3(cell(d, 0), r(base), imm(at as u32), Operand::RZ);
                self.e.mov(cell(d, 1), Operand::RZ);
                Ok(Value::Reg(d, 2))
            }
            Space::Param if self.function.entry => {
                // A kernel parameter's address in its space is its offset (observed: ptxas
                // 13.0.88).
                let param = self.layout.params.iter().find(|p| p.var == var);
                let param = param.ok_or("address of a parameter")?;
                Ok(Value::Imm((i64::from(param.offset) + offset) as u64))
            }
            _ => Err("address of this variable".into()),
        }
    }

    /// The value of a pointer to a function: the offset of its entry in the kernel's bank 2.
    ///
    /// # Errors
    /// When it is a kernel, or no file defines it.
    pub fn function_pointer(&self, f: FuncId) -> Sel<u64> {
        let slot = self.module.pointer_slot(f);
        slot.ok_or_else(|| "address of a kernel or of a function that no file defines".into())
    }
}
