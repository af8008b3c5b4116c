//! Atomics as loops of compare-and-swap: what is there is loaded, the new value computed, and stored if nobody came between.

use super::atomic::{Atomic, plain_address, whole};
use crate::lower::source::{Cx, Sel};
use crate::ptx::types::{Space, Type};
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::emit::{Address, Emit, cell, imm, r, wide};

/// Where a loop swaps.
#[derive(Clone, Copy)]
pub enum Memory {
    Shared,
    /// With the descriptor of generic loads.
    Generic(RegUse),
}

/// The new value: `old op value`.
pub struct Update {
    pub op: &'static str,
    pub ty: Type,
    pub value: Operand,
}

/// The width word of this many cells.
pub fn width(cells: u8) -> &'static [Mod] {
    match cells {
        2 => &[Mod::_64],
        4 => &[Mod::_128],
        _ => &[],
    }
}

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

/// A predicate: the generic address lies in this window.
pub fn lies_in(e: &mut Emit<'_>, window: Mod, address: Address) -> Operand {
    let p = r(e.temp_pred());
    let operands = [p, Operand::RZ, plain_address(address)];
    e.put(Opcode::QSPC, &[Mod::E, window], 2, &operands);
    p
}

impl Update {
    /// The loop; `d`, which may be RZ, gets the old value. It begins and ends blocks.
    pub fn swap(&self, e: &mut Emit<'_>, memory: Memory, address: Address, d: Reg) -> Sel {
        let cells = if self.ty.bytes() == 8 { 2 } else { 1 };
        let (old, new, got) = (e.temp(cells), e.temp(cells), e.temp(cells));
        let head = e.open_new();
        match memory {
            Memory::Shared => {
                e.load(Opcode::LDS, width(cells), whole(old, cells), None, address);
            }
            Memory::Generic(desc) => {
                let mut mods = vec![Mod::E];
                mods.extend(width(cells));
                e.load(Opcode::LD, &mods, whole(old, cells), Some(desc), address);
            }
        }
        self.combine(e, new, old)?;
        // CAST gives one where it has stored.
        let (old_value, new_value) = (whole(old, cells), whole(new, cells));
        match memory {
            Memory::Shared => {
                let mut mods = vec![Mod::CAST, Mod::SPIN];
                mods.extend(width(cells));
                let operands = [whole(got, cells), address.operand(), old_value, new_value];
                e.put(Opcode::ATOMS, &mods, 1, &operands);
            }
            Memory::Generic(_) => {
                let mut mods = vec![Mod::E, Mod::CAST, Mod::SPIN];
                mods.extend(width(cells));
                let at = plain_address(address);
                let operands = [Operand::PT, whole(got, cells), at, old_value, new_value];
                e.put(Opcode::ATOM, &mods, 2, &operands);
            }
        }
        let p = e.temp_pred();
        e.icmp(r(p), Mod::NE, false, cell(got, 0), imm(1));
        e.branch_if(r(p), head);
        e.open_new();
        if !d.is_zero() {
            (0..cells).for_each(|i| e.mov(cell(d, i), cell(old, i)));
        }
        Ok(())
    }

    /// `new = old op value`
    pub fn combine(&self, e: &mut Emit<'_>, new: Reg, old: Reg) -> Sel {
        let value = self.value.as_reg().map(|u| u.reg).ok_or("value")?;
        let words = |reg: Reg| [cell(reg, 0), cell(reg, 1)];
        match (self.op, self.ty) {
            ("add", Type::F32) => e.fadd(&[], r(new), self.value, r(old)),
            ("add", Type::F64) => {
                e.put(Opcode::DADD, &[], 1, &[wide(new, 2), self.value, wide(old, 2)]);
            }
            ("add", _) => e.add64(new, words(old), words(value)),
            ("exch", _) => (0..2).for_each(|i| e.mov(cell(new, i), cell(value, i))),
            ("min" | "max", Type::S64 | Type::U64) => {
                let p = e.temp_pred();
                let cmp = if self.op == "min" { Mod::LT } else { Mod::GT };
                let and = (Mod::AND, Operand::PT);
                e.isetp64(r(p), cmp, self.ty.is_signed(), words(value), words(old), and);
                for i in 0..2 {
                    e.sel(cell(new, i), cell(value, i), cell(old, i), r(p));
                }
            }
            ("and" | "or" | "xor", _) => {
                let lut = match self.op {
                    "and" => 0xc0,
                    "or" => 0xfc,
                    _ => 0x3c,
                };
                for i in 0..2 {
                    e.lop3(cell(new, i), cell(old, i), cell(value, i), Operand::RZ, lut);
                }
            }
            _ => return Err("this operation in shared memory".into()),
        }
        Ok(())
    }
}

/// `cas.b16`: a swap of the word around it. A difference in the other half alone is no answer, and it is tried again.
pub fn compare_16(cx: &mut Cx<'_, '_>, atomic: &Atomic, space: Space, address: Address) -> Sel {
    let address = plain(cx, address);
    // The word's address, and how far up the half stands in it.
    let at = if address.base.count == 2 {
        let base = address.base.reg;
        let sum = cx.e.temp(2);
        let offset = address.offset;
        let high = if offset < 0 { imm(u32::MAX) } else { Operand::RZ };
        cx.e.add64(sum, [cell(base, 0), cell(base, 1)], [imm(offset as u32), high]);
        sum
    } else {
        let sum = cx.e.temp(1);
        let base = Operand::Reg(address.base);
        cx.e.iadd3(r(sum), base, imm(address.offset as u32), Operand::RZ);
        sum
    };
    let (shift, word) = (cx.e.temp(1), cx.e.temp(address.base.count.max(1)));
    cx.e.and(r(shift), cell(at, 0), imm(2));
    let up = r(shift);
    cx.e.and(cell(word, 0), cell(at, 0), imm(!2));
    if address.base.count == 2 {
        cx.e.mov(cell(word, 1), cell(at, 1));
    }
    let base = RegUse::wide(word, address.base.count.max(1));
    let base = if address.base.count == 2 { base } else { RegUse::new(word) };
    let address = Address { base, offset: 0, ..address };
    // Selectors of PRMT: bytes 4 and 5, of the new half, take the place of the lower or upper half.
    let p = cx.e.temp_pred();
    cx.e.icmp(r(p), Mod::EQ, false, up, Operand::RZ);
    let (low, selector) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.mov(r(low), imm(0x3254));
    cx.e.sel(r(selector), r(low), imm(0x5410), r(p));
    let bits = cx.e.temp(1);
    cx.e.shl(r(bits), up, imm(3));
    let desc = cx.descriptor();
    let (d, values) = (atomic.d, &atomic.values);
    let [compare, new_half] = [values[0], values[1]];
    let mods = atomic.words(Mod::CAS);
    cx.e.guarded_region(|e| -> Sel {
        let seen = e.temp(1);
        match space {
            Space::Shared => e.load(Opcode::LDS, &[], r(seen), None, address),
            Space::Global => e.load(Opcode::LDG, &[Mod::E], r(seen), Some(desc), address),
            _ => e.load(Opcode::LD, &[Mod::E], r(seen), Some(desc), address),
        }
        let head = e.open_new();
        let (expected, wanted, got) = (e.temp(1), e.temp(1), e.temp(1));
        e.prmt(r(expected), r(seen), r(selector), compare);
        e.prmt(r(wanted), r(seen), r(selector), new_half);
        if space == Space::Shared {
            let operands = [r(got), address.operand(), r(expected), r(wanted)];
            e.put(Opcode::ATOMS, &[Mod::CAS], 1, &operands);
        } else {
            let opcode = if space == Space::Global { Opcode::ATOMG } else { Opcode::ATOM };
            let at = plain_address(address);
            e.put(opcode, &mods, 2, &[Operand::PT, r(got), at, r(expected), r(wanted)]);
        }
        // The other half, as it was found and as it was expected.
        let (found, other) = (e.temp(1), e.temp(1));
        e.prmt(r(found), r(got), r(selector), Operand::RZ);
        e.prmt(r(other), r(expected), r(selector), Operand::RZ);
        e.mov(r(seen), r(got));
        let differs = e.temp_pred();
        e.icmp(r(differs), Mod::NE, false, r(found), r(other));
        e.branch_if(r(differs), head);
        e.open_new();
        if !d.is_zero() {
            e.shr(r(d), r(got), r(bits), false);
        }
        Ok(())
    })
}
