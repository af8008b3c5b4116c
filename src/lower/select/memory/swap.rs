//! Atomics as compare-and-swap loops: what is there is loaded, the new value computed, and stored
//! if no other thread has written in between.

use crate::lower::common::access::plain_address;
use crate::lower::common::half_operands as half;
use crate::lower::common::words::whole;
use crate::lower::context::cx::Sel;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{Address, Emit, cell, imm, part, r, wide};

/// Where a loop swaps.
#[derive(Clone, Copy)]
pub enum Memory {
    Shared,
    /// With the descriptor of generic loads.
    Generic(RegUse),
}

/// The new value: `old op value`.
pub struct Update {
    /// The word of the operation.
    pub op: Word,
    /// Of old and new value.
    pub ty: Type,
    /// The operand besides the old value.
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
        // CAST gives one where it has stored; one of 64 bits is compared whole, as ptxas does.
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
        if cells == 2 {
            let (got, one) = ([cell(got, 0), cell(got, 1)], [imm(1), Operand::RZ]);
            e.isetp64(r(p), Mod::NE, false, got, one, (Mod::AND, Operand::PT));
        } else {
            e.icmp(r(p), Mod::NE, false, cell(got, 0), imm(1));
        }
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
            (Word::Add, Type::F32) => e.fadd(&[], r(new), self.value, r(old)),
            (Word::Add, Type::F64) => {
                e.put(Opcode::DADD, &[], 1, &[wide(new, 2), self.value, wide(old, 2)]);
            }
            (Word::Add, ty) if half::is_half(ty) => {
                let mods: Vec<Mod> = half::format(ty).into_iter().collect();
                let sources = [r(old), self.value].map(|x| part(x, Mod::NONE));
                e.put(Opcode::HADD2, &mods, 1, &[r(new), sources[0], sources[1]]);
            }
            (Word::Add, _) => e.add64(new, words(old), words(value)),
            (Word::Exch, _) => (0..2).for_each(|i| e.mov(cell(new, i), cell(value, i))),
            (Word::Min | Word::Max, Type::S64 | Type::U64) => {
                let p = e.temp_pred();
                let cmp = if self.op == Word::Min { Mod::LT } else { Mod::GT };
                let and = (Mod::AND, Operand::PT);
                e.isetp64(r(p), cmp, self.ty.is_signed(), words(value), words(old), and);
                for i in 0..2 {
                    e.sel(cell(new, i), cell(value, i), cell(old, i), r(p));
                }
            }
            (Word::And | Word::Or | Word::Xor, _) => {
                let lut = match self.op {
                    Word::And => 0xc0,
                    Word::Or => 0xfc,
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
