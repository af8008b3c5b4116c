//! Addresses of accesses as the machine takes them: in one register, without a uniform one, or as
//! values.

use super::modifiers::space;
use crate::lower::context::cx::{Cx, Sel};
use crate::ptx::program::{AddressBase, Instruction, Operand as Ptx};
use crate::ptx::types::Space;
use crate::ptx::words::Word;
use orias_components::{MemRef, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{Address, cell, imm, r};

/// Compare-and-swap takes no uniform register in its address.
pub fn plain(cx: &mut Cx<'_, '_>, address: Address) -> Address {
    if address.uniform.reg.is_zero() {
        return address;
    }
    let (copy, sum) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.mov(r(copy), Operand::Reg(address.uniform));
    cx.e.iadd3(r(sum), Operand::Reg(address.base), r(copy), Operand::RZ);
    Address { base: RegUse::new(sum), uniform: RegUse::new(Reg::URZ), ..address }
}

/// The address where the row has neither a descriptor nor a word for the address's width.
pub fn plain_address(address: Address) -> Operand {
    match address.operand() {
        Operand::Mem(m) => Operand::Mem(MemRef { sel: Mod::NONE, ..m }),
        m => m,
    }
}

/// The same place by a general register alone, with an offset of so many bits.
pub fn in_one_register(cx: &mut Cx<'_, '_>, address: Address, bits: u32) -> Address {
    let none = RegUse::new(Reg::URZ);
    if address.uniform.reg.is_zero() {
        return within(cx, address, bits);
    }
    let (copy, sum) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.mov(r(copy), Operand::Reg(address.uniform));
    let base = Operand::Reg(address.base);
    cx.e.iadd3(r(sum), r(copy), imm(address.offset as u32), base);
    Address { base: RegUse::new(sum), uniform: none, offset: 0 }
}

/// The same place with an offset of so many bits (signed).
pub fn within(cx: &mut Cx<'_, '_>, address: Address, bits: u32) -> Address {
    let half = 1i32 << (bits - 1);
    if (-half..half).contains(&address.offset) {
        return address;
    }
    let offset = address.offset;
    let base = address.base;
    let base = if base.count == 2 {
        let sum = cx.e.temp(2);
        let high = if offset < 0 { imm(u32::MAX) } else { Operand::RZ };
        let words = [cell(base.reg, base.cell), cell(base.reg, base.cell + 1)];
        cx.e.add64(sum, words, [imm(offset as u32), high]);
        RegUse::wide(sum, 2)
    } else {
        let sum = cx.e.temp(1);
        cx.e.iadd3(r(sum), Operand::Reg(base), imm(offset as u32), Operand::RZ);
        RegUse::new(sum)
    };
    Address { base, offset: 0, ..address }
}

/// An address as values: two halves of a global or generic one; of one in shared memory the first
/// counts.
pub fn address(cx: &mut Cx<'_, '_>, op: &Ptx, space: Space) -> Sel<[Operand; 2]> {
    let address = cx.address(op, space)?;
    if space != Space::Shared {
        let (base, offset) = (address.base, address.offset);
        if offset == 0 {
            return Ok([cell(base.reg, 0), cell(base.reg, 1)]);
        }
        let sum = cx.e.temp(2);
        let high = if offset < 0 { imm(u32::MAX) } else { Operand::RZ };
        cx.e.add64(sum, [cell(base.reg, 0), cell(base.reg, 1)], [imm(offset as u32), high]);
        return Ok([cell(sum, 0), cell(sum, 1)]);
    }
    let one = self::in_one_register(cx, address, 24);
    if one.offset == 0 {
        return Ok([Operand::Reg(one.base), Operand::RZ]);
    }
    let sum = cx.e.temp(1);
    cx.e.iadd3(r(sum), Operand::Reg(one.base), imm(one.offset as u32), Operand::RZ);
    Ok([r(sum), Operand::RZ])
}

/// The space that an access really goes to: a generic one to a named variable is an access to the
/// variable's space.
pub fn effective_space(cx: &Cx<'_, '_>, inst: &Instruction, address: &Ptx) -> Space {
    match (space(inst), address) {
        (Space::Generic, Ptx::Address { base: AddressBase::Var(v), .. }) => {
            cx.program.vars[v.0 as usize].space
        }
        (space, _) => space,
    }
}

/// The space of an access and its address there. The shared memory of the cluster's other CTAs is
/// reached by generic addresses, whose upper half is that of the shared window (observed: ptxas
/// 13.0.88, sm_90a).
pub fn place(cx: &mut Cx<'_, '_>, inst: &Instruction, op: &Ptx) -> Sel<(Space, Address)> {
    let space = effective_space(cx, inst, op);
    let address = cx.address(op, space)?;
    if !inst.has(Word::SharedCluster) {
        return Ok((space, address));
    }
    let address = self::plain(cx, address);
    let high = cx.e.temp(1);
    let source = cx.special_operand("SR_SWINHI")?;
    cx.e.put(Opcode::S2R, &[], 1, &[r(high), source]);
    let base = RegUse::wide(cx.e.join(Operand::Reg(address.base), r(high)), 2);
    Ok((Space::Generic, Address { base, ..address }))
}
