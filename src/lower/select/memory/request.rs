//! One atomic, its operands in registers, in each address space.
//!
//! What the machine does by one instruction depends on the space (observed: ptxas 13.0.88, sm_90a).
//! In global memory that is everything but what has 16 bits; in shared memory integers of 32 bits,
//! exchange and compare-and-swap; at a generic address everything where it means global memory, and
//! elsewhere what [`Atomic::generic`] says. The rest is a loop of swaps: [`super::swap`], and for
//! 16 bits [`super::swap16`].

use super::swap;
use super::swap::Update;
use crate::lower::common::access::plain;
use crate::lower::common::access::plain_address;
use crate::lower::common::lanes::under_guard;
use crate::lower::common::windows::lies_in;
use crate::lower::common::words::whole;
use crate::lower::context::cx::{Cx, Sel};
use crate::ptx::types::{Type, TypeKind};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{Address, cell, not, r, wide};

/// The word of an operation.
pub fn word(op: Word) -> Mod {
    match op {
        Word::Add => Mod::ADD,
        Word::Min => Mod::MIN,
        Word::Max => Mod::MAX,
        Word::Inc => Mod::INC,
        Word::Dec => Mod::DEC,
        Word::And => Mod::AND,
        Word::Or => Mod::OR,
        Word::Xor => Mod::XOR,
        Word::Exch => Mod::EXCH,
        _ => Mod::CAS,
    }
}

/// One atomic, its operands in registers.
pub struct Atomic {
    /// What it does to the old value.
    pub op: Word,
    /// Of one element.
    pub ty: Type,
    /// 32-bit cells of memory, of the result and of each value.
    pub cells: u8,
    /// Of several elements.
    pub vector: bool,
    /// The type's words in the instruction.
    pub words: Vec<Mod>,
    /// Who sees it in order: the scope word of strong accesses.
    pub scope: Mod,
    /// The old value goes there; RZ where nothing reads it.
    pub d: Reg,
    /// One, or of compare-and-swap what to compare with and the new one.
    pub values: Vec<Operand>,
}

impl Atomic {
    /// The register that gets the old value, of as many cells as it has.
    pub fn result(&self) -> Operand {
        whole(self.d, self.cells)
    }

    /// The words of an access by 64-bit address.
    pub fn words(&self, op: Mod) -> Vec<Mod> {
        let mut words = vec![Mod::E, op];
        words.extend(&self.words);
        words.extend([Mod::STRONG, self.scope]);
        words
    }

    /// Compare-and-swap of global or generic memory.
    pub fn compare(&self, cx: &mut Cx<'_, '_>, generic: bool, address: Address, d: Operand) {
        let opcode = if generic { Opcode::ATOM } else { Opcode::ATOMG };
        let (mods, at) = (self.words(Mod::CAS), plain_address(address));
        cx.e.put(opcode, &mods, 2, &[Operand::PT, d, at, self.values[0], self.values[1]]);
    }

    /// Compare-and-swap of 64 bits at a generic address: the machine does it but in local memory,
    /// where its predicate is false.
    pub fn compare_wide(&self, cx: &mut Cx<'_, '_>, address: Address) -> Sel {
        let desc = cx.descriptor();
        let (mods, at) = (self.words(Mod::CAS), plain_address(address));
        let (d, [expected, value]) = (self.d, [self.values[0], self.values[1]]);
        under_guard(cx, |cx| {
            let e = &mut cx.e;
            let (got, done) = (e.temp(2), r(e.temp_pred()));
            e.put(Opcode::ATOM, &mods, 2, &[done, wide(got, 2), at, expected, value]);
            let after = e.label();
            e.branch_if(done, after);
            e.open_new();
            e.load(Opcode::LD, &[Mod::E, Mod::_64], wide(got, 2), Some(desc), address);
            let [same, equal] = [e.temp_pred(), e.temp_pred()];
            let word = |of: Operand, i: u8| match of {
                Operand::Reg(of) => cell(of.reg, of.cell + i),
                zero => zero,
            };
            e.icmp(r(same), Mod::EQ, false, cell(got, 0), word(expected, 0));
            e.icmp(r(equal), Mod::EQ, false, cell(got, 1), word(expected, 1));
            let both = e.temp_pred();
            e.plop3(r(both), r(same), r(equal), Operand::PT, 0x80);
            let new = e.temp(2);
            for i in 0..2 {
                e.sel(cell(new, i), word(value, i), cell(got, i), r(both));
            }
            e.store(Opcode::ST, &[Mod::E, Mod::_64], Some(desc), address, wide(new, 2));
            e.open(after);
            if !d.is_zero() {
                (0..2).for_each(|i| e.mov(cell(d, i), cell(got, i)));
            }
            Ok(())
        })
    }

    /// In global memory: one instruction.
    pub fn global(&self, cx: &mut Cx<'_, '_>, address: Address) {
        if self.op == Word::Cas {
            return self.compare(cx, false, address, self.result());
        }
        let desc = Operand::Desc(cx.descriptor());
        let (mods, at) = (self.words(word(self.op)), address.operand());
        if self.d.is_zero() && self.op != Word::Exch {
            cx.e.put(Opcode::REDG, &mods, 0, &[desc, at, self.values[0]]);
        } else {
            let operands = [Operand::PT, self.result(), desc, at, self.values[0]];
            cx.e.put(Opcode::ATOMG, &mods, 2, &operands);
        }
    }

    /// Integers of 32 bits, vectors and compare-and-swap of 32 and 128 bits are done wherever the
    /// address leads; for the others a predicate says whether they were. They are not in shared
    /// memory, but for exchange, where a loop of swaps follows; nor are they in local memory, where
    /// no other thread comes between; nor sums of floats in the shared memory of another CTA, where
    /// the loop is of generic accesses.
    pub fn generic(&self, cx: &mut Cx<'_, '_>, address: Address) -> Sel {
        if self.op == Word::Cas {
            if self.cells == 2 {
                return self.compare_wide(cx, address);
            }
            self.compare(cx, true, address, self.result());
            return Ok(());
        }
        let desc = cx.descriptor();
        let (mods, at) = (self.words(word(self.op)), address.operand());
        let value = self.values[0];
        let float = self.ty.kind() == TypeKind::Float && self.op != Word::Exch;
        if self.vector || self.cells == 4 || self.cells == 1 && !float {
            let operands = [Operand::PT, self.result(), Operand::Desc(desc), at, value];
            cx.e.put(Opcode::ATOM, &mods, 2, &operands);
            return Ok(());
        }
        let update = Update { op: self.op, ty: self.ty, value };
        let (d, cells) = (self.d, self.cells);
        let exchange = self.op == Word::Exch;
        under_guard(cx, |cx| {
            let e = &mut cx.e;
            // Address and value are read again after the first attempt: the destination may be one
            // of them.
            let got = if d.is_zero() { d } else { e.temp(cells) };
            let done = r(e.temp_pred());
            let operands = [done, whole(got, cells), Operand::Desc(desc), at, value];
            e.put(Opcode::ATOM, &mods, 2, &operands);
            let after = e.label();
            e.branch_if(done, after);
            e.open_new();
            if !exchange {
                let elsewhere = e.label();
                let shared = lies_in(e, Mod::S, address);
                e.branch_if(not(shared), elsewhere);
                e.open_new();
                let low = RegUse::at(address.base.reg, address.base.cell, 1);
                let own = Address { base: low, ..address };
                update.swap(e, swap::Memory::Shared, own, got)?;
                e.branch(after);
                e.open(elsewhere);
            }
            if float {
                let local = e.label();
                let remote = lies_in(e, Mod::D, address);
                e.branch_if(not(remote), local);
                e.open_new();
                update.swap(e, swap::Memory::Generic(desc), address, got)?;
                e.branch(after);
                e.open(local);
            }
            let (old, new) = (e.temp(cells), e.temp(cells));
            let mut width = vec![Mod::E];
            width.extend(swap::width(cells));
            e.load(Opcode::LD, &width, whole(old, cells), Some(desc), address);
            update.combine(e, new, old)?;
            e.store(Opcode::ST, &width, Some(desc), address, whole(new, cells));
            if !d.is_zero() {
                (0..cells).for_each(|i| e.mov(cell(got, i), cell(old, i)));
            }
            e.open(after);
            if !d.is_zero() {
                (0..cells).for_each(|i| e.mov(cell(d, i), cell(got, i)));
            }
            Ok(())
        })
    }

    /// In the CTA's own shared memory.
    pub fn shared(&self, cx: &mut Cx<'_, '_>, address: Address) -> Sel {
        let mut mods = vec![word(self.op)];
        mods.extend(&self.words);
        let integer = self.cells == 1 && self.ty.kind() != TypeKind::Float;
        match self.op {
            Word::Cas => {
                let at = plain(cx, address).operand();
                let operands = [self.result(), at, self.values[0], self.values[1]];
                cx.e.put(Opcode::ATOMS, &mods, 1, &operands);
            }
            op if op == Word::Exch || integer => {
                let operands = [self.result(), address.operand(), self.values[0]];
                cx.e.put(Opcode::ATOMS, &mods, 1, &operands);
            }
            op => {
                let at = plain(cx, address);
                let update = Update { op, ty: self.ty, value: self.values[0] };
                let d = self.d;
                under_guard(cx, |cx| update.swap(&mut cx.e, swap::Memory::Shared, at, d))?;
            }
        }
        Ok(())
    }
}
