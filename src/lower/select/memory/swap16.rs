//! Atomics of 16 bits: compare-and-swap loops of the word around them.

use super::request::Atomic;
use crate::lower::common::access::{plain, plain_address};
use crate::lower::common::half_operands as half;
use crate::lower::common::lanes::under_guard;
use crate::lower::context::cx::{Cx, Sel};
use crate::ptx::types::Space;
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{Address, Emit, cell, imm, part, r};

/// Where a half stands.
struct Place {
    space: Space,
    /// Of its word.
    address: Address,
    /// 0 or 2: bytes of the word below it.
    up: Operand,
    /// `up` is 0.
    is_low: Operand,
    desc: RegUse,
    /// Words of the swap by 64-bit address.
    mods: Vec<Mod>,
}

impl Place {
    fn of(cx: &mut Cx<'_, '_>, atomic: &Atomic, space: Space, address: Address) -> Place {
        let address = plain(cx, address);
        let wide = address.base.count == 2;
        let at = if wide {
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
        let (up, word) = (cx.e.temp(1), cx.e.temp(if wide { 2 } else { 1 }));
        cx.e.and(r(up), cell(at, 0), imm(2));
        cx.e.and(cell(word, 0), cell(at, 0), imm(!2));
        if wide {
            cx.e.mov(cell(word, 1), cell(at, 1));
        }
        let base = if wide { RegUse::wide(word, 2) } else { RegUse::new(word) };
        let is_low = r(cx.e.temp_pred());
        cx.e.icmp(is_low, Mod::EQ, false, r(up), Operand::RZ);
        let desc = cx.descriptor();
        let address = Address { base, offset: 0, ..address };
        Place { space, address, up: r(up), is_low, desc, mods: atomic.words(Mod::CAS) }
    }

    /// Selectors of PRMT that put bytes of the third source in the place of the half: these where
    /// it is the low one, or those.
    fn selector(&self, cx: &mut Cx<'_, '_>, low: u32, high: u32) -> Operand {
        let (other, selector) = (cx.e.temp(1), cx.e.temp(1));
        cx.e.mov(r(other), imm(high));
        cx.e.sel(r(selector), r(other), imm(low), orias_systems::build::not(self.is_low));
        r(selector)
    }

    fn load(&self, e: &mut Emit<'_>, d: Reg) {
        match self.space {
            Space::Shared => e.load(Opcode::LDS, &[], r(d), None, self.address),
            Space::Global => e.load(Opcode::LDG, &[Mod::E], r(d), Some(self.desc), self.address),
            _ => e.load(Opcode::LD, &[Mod::E], r(d), Some(self.desc), self.address),
        }
    }

    /// `got` = what was there; `wanted` is there now where that was `expected`.
    fn swap(&self, e: &mut Emit<'_>, got: Reg, expected: Reg, wanted: Reg) {
        if self.space == Space::Shared {
            let operands = [r(got), self.address.operand(), r(expected), r(wanted)];
            e.put(Opcode::ATOMS, &[Mod::CAS], 1, &operands);
        } else {
            let opcode = if self.space == Space::Global { Opcode::ATOMG } else { Opcode::ATOM };
            let at = plain_address(self.address);
            e.put(opcode, &self.mods, 2, &[Operand::PT, r(got), at, r(expected), r(wanted)]);
        }
    }

    /// `d` = the half of `word`.
    fn extract(&self, e: &mut Emit<'_>, d: Reg, word: Reg) {
        if !d.is_zero() {
            let bits = e.temp(1);
            e.shl(r(bits), self.up, imm(3));
            e.shr(r(d), r(word), r(bits), false);
        }
    }
}

/// `cas.b16`. A difference in the other half alone is no answer, and it is tried again.
pub fn compare(cx: &mut Cx<'_, '_>, atomic: &Atomic, space: Space, address: Address) -> Sel {
    let place = Place::of(cx, atomic, space, address);
    // Bytes 4 and 5, of the new half, take the place of the lower or upper half.
    let selector = place.selector(cx, 0x3254, 0x5410);
    let (d, compare, new_half) = (atomic.d, atomic.values[0], atomic.values[1]);
    under_guard(cx, |cx| {
        let e = &mut cx.e;
        let seen = e.temp(1);
        place.load(e, seen);
        let head = e.open_new();
        let (expected, wanted, got) = (e.temp(1), e.temp(1), e.temp(1));
        e.prmt(r(expected), r(seen), selector, compare);
        e.prmt(r(wanted), r(seen), selector, new_half);
        place.swap(e, got, expected, wanted);
        // The other half, as it was found and as it was expected.
        let (found, other) = (e.temp(1), e.temp(1));
        e.prmt(r(found), r(got), selector, Operand::RZ);
        e.prmt(r(other), r(expected), selector, Operand::RZ);
        e.mov(r(seen), r(got));
        let differs = e.temp_pred();
        e.icmp(r(differs), Mod::NE, false, r(found), r(other));
        e.branch_if(r(differs), head);
        e.open_new();
        place.extract(e, d, got);
        Ok(())
    })
}

/// `add.noftz` of one half: the sum of both halves of the word with it, of which one is kept.
pub fn add(cx: &mut Cx<'_, '_>, atomic: &Atomic, space: Space, address: Address) -> Sel {
    let place = Place::of(cx, atomic, space, address);
    let selector = place.selector(cx, 0x3254, 0x7610);
    let (d, value) = (atomic.d, part(atomic.values[0], Mod::H0_H0));
    let mods: Vec<Mod> = half::format(atomic.ty).into_iter().collect();
    under_guard(cx, |cx| {
        let e = &mut cx.e;
        let seen = e.temp(1);
        place.load(e, seen);
        let head = e.open_new();
        let (sum, wanted, got, expected) = (e.temp(1), e.temp(1), e.temp(1), e.temp(1));
        e.mov(r(expected), r(seen));
        e.put(Opcode::HADD2, &mods, 1, &[r(sum), part(r(seen), Mod::NONE), value]);
        e.prmt(r(wanted), r(seen), selector, r(sum));
        place.swap(e, got, expected, wanted);
        let differs = e.temp_pred();
        e.icmp(r(differs), Mod::NE, false, r(got), r(expected));
        e.mov(r(seen), r(got));
        e.branch_if(r(differs), head);
        e.open_new();
        place.extract(e, d, got);
        Ok(())
    })
}
