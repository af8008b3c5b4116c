//! Address operands of accesses: a base, a uniform register and an offset, or a constant bank's.

use super::cx::{Cx, Sel, cells_of};
use super::value::Value;
use crate::lower::layout::SHARED_RESERVED;
use crate::ptx::program::{AddressBase, Operand as Ptx};
use crate::ptx::types::Space;
use orias_components::{ConstRef, Mod, Operand, Reg, RegFlags, RegUse};
use orias_systems::build::{Address, cell, imm, r};

impl<'a, 'w> Cx<'a, 'w> {
    /// The address operand of an access to `space`.
    pub fn address(&mut self, op: &Ptx, space: Space) -> Sel<Address> {
        let Ptx::Address { base, offset } = op else {
            return Err("address of this form".into());
        };
        let none = RegUse::new(Reg::RZ);
        let no_uniform = RegUse::new(Reg::URZ);
        let wide_space = matches!(space, Space::Global | Space::Generic);
        let mut address = match base {
            AddressBase::Reg(id) => {
                let reg = self.regs[id.0 as usize][0];
                let cells = cells_of(self.reg_type(*id));
                let base = match (wide_space, cells) {
                    (true, 2) => RegUse::wide(reg, 2),
                    // A 32-bit address of global memory is extended with zeros.
                    (true, _) => RegUse::wide(self.e.join(r(reg), Operand::RZ), 2),
                    (false, _) => RegUse::at(reg, 0, 1),
                };
                Address { base, uniform: no_uniform, offset: 0 }
            }
            AddressBase::Var(var) => {
                let v = &self.program.vars[var.0 as usize];
                match v.space {
                    Space::Shared => {
                        let at = self.shared_offset(*var)? - SHARED_RESERVED as i64;
                        let uniform = RegUse::new(self.shared_base());
                        Address { base: none, uniform, offset: at as i32 }
                    }
                    Space::Local => Address {
                        base: RegUse::new(self.frame.pointer()),
                        uniform: no_uniform,
                        offset: self.local_offset(*var)? as i32,
                    },
                    _ => {
                        let value = self.var_address(*var, 0)?;
                        let base = RegUse::wide(self.pair_of(value), 2);
                        Address { base, uniform: no_uniform, offset: 0 }
                    }
                }
            }
            AddressBase::Absolute => {
                let base = if wide_space {
                    RegUse::wide(self.pair_of(Value::Imm(*offset as u64)), 2)
                } else {
                    let d = self.in_reg(imm(*offset as u32));
                    *d.as_reg().ok_or("address")?
                };
                return Ok(Address { base, uniform: no_uniform, offset: 0 });
            }
        };
        let total = i64::from(address.offset) + offset;
        if (-0x80_0000..0x80_0000).contains(&total) {
            address.offset = total as i32;
            return Ok(address);
        }
        // The offset field has 24 bits: larger ones are added to the base.
        if address.base.count == 2 {
            let sum = self.e.temp(2);
            let base = address.base;
            self.e.add64(
                sum,
                [cell(base.reg, 0), cell(base.reg, 1)],
                Value::Imm(total as u64).halves(),
            );
            address.base = RegUse::wide(sum, 2);
        } else {
            let sum = self.e.temp(1);
            self.e.iadd3(r(sum), Operand::Reg(address.base), imm(total as u32), Operand::RZ);
            address.base = RegUse::new(sum);
        }
        address.offset = 0;
        Ok(address)
    }

    /// `c[bank][...]` of an access to constant or parameter memory.
    pub fn constant_address(&mut self, op: &Ptx, space: Space) -> Sel<ConstRef> {
        let Ptx::Address { base, offset } = op else {
            return Err("address of this form".into());
        };
        let at = |bank: u8, base: Reg, offset: i64| ConstRef {
            bank,
            flags: RegFlags::NONE,
            base,
            base_cell: 0,
            handle: Reg::RZ,
            part: Mod::NONE,
            offset: offset as i32,
        };
        match base {
            AddressBase::Reg(id) => {
                let reg = self.regs[id.0 as usize][0];
                let (bank, start) = match space {
                    Space::Param => (0, i64::from(self.module.options.target.const_params)),
                    _ => (3, 0),
                };
                let offset = offset + start;
                if !(-0x8000..0x8000).contains(&offset) {
                    let sum = self.e.temp(1);
                    self.e.iadd3(r(sum), cell(reg, 0), imm(offset as u32), Operand::RZ);
                    return Ok(at(bank, sum, 0));
                }
                Ok(at(bank, reg, offset))
            }
            AddressBase::Var(var) => {
                let v = &self.program.vars[var.0 as usize];
                match v.space {
                    Space::Const => {
                        let symbol = self.module.symbol_of(*var).ok_or("no symbol")?;
                        Ok(at(3, Reg::RZ, symbol.offset as i64 + offset))
                    }
                    Space::Param => {
                        let param = self.layout.params.iter().find(|p| p.var == *var);
                        let param = param.ok_or("not a parameter of this kernel")?;
                        Ok(at(
                            0,
                            Reg::RZ,
                            i64::from(self.module.options.target.const_params + param.offset)
                                + offset,
                        ))
                    }
                    _ => Err("address of this space".into()),
                }
            }
            AddressBase::Absolute if space == Space::Param => {
                let start = i64::from(self.module.options.target.const_params);
                Ok(at(0, Reg::RZ, offset + start))
            }
            AddressBase::Absolute => Ok(at(3, Reg::RZ, *offset)),
        }
    }
}
