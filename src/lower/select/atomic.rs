//! Atomics and reductions.
//!
//! What the machine does by one instruction depends on the space (observed: ptxas 13.0.88, sm_90a).
//! In global memory that is everything but what has 16 bits; in shared memory integers of 32 bits,
//! exchange and compare-and-swap; at a generic address everything where it means global memory, and
//! elsewhere what [`generic`] says. The rest is a loop of swaps: [`swap`], [`swap16`].

use super::fence::{after_acquire, before_release};
use super::half;
use super::memory::{place, scope, tuple};
use super::swap::{self, Update};
use super::swap16;
use crate::lower::source::{Cx, Sel, cells_of, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type, TypeKind};
use crate::ptx::words::{Op, Word};
use orias_components::{MemRef, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::emit::{Address, cell, not, r, wide};

/// The operation of an atomic.
fn operation(inst: &Instruction) -> Sel<Word> {
    [
        Word::Add,
        Word::Min,
        Word::Max,
        Word::Inc,
        Word::Dec,
        Word::And,
        Word::Or,
        Word::Xor,
        Word::Exch,
        Word::Cas,
    ]
    .into_iter()
    .find(|name| inst.has(*name))
    .ok_or_else(|| "no operation".into())
}

fn word(op: Word) -> Mod {
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

/// Words of the type after the operation, for this many elements; None where no instruction has it.
fn type_words(op: Word, ty: Type, elements: usize) -> Option<Vec<Mod>> {
    if half::is_half(ty) && matches!(op, Word::Add | Word::Min | Word::Max) {
        let bf16 = half::format(ty).is_some();
        let word = match (ty.bytes() as usize * elements, bf16) {
            (4, false) => Mod::F16x2,
            (4, true) => Mod::BF16x2,
            (8, false) => Mod::F16x4,
            (8, true) => Mod::BF16x4,
            (16, false) => Mod::F16x8,
            (16, true) => Mod::BF16x8,
            _ => return None,
        };
        return Some(vec![word, Mod::RN]);
    }
    Some(match (op, ty, elements) {
        (Word::Add, Type::F32, 1) => vec![Mod::F32, Mod::FTZ, Mod::RN],
        (Word::Add, Type::F32, 2) => vec![Mod::F32x2, Mod::FTZ, Mod::RN],
        (Word::Add, Type::F32, 4) => vec![Mod::F32x4, Mod::FTZ, Mod::RN],
        (Word::Add, Type::F64, 1) => vec![Mod::F64, Mod::RN],
        (Word::Min | Word::Max, Type::S32, 1) => vec![Mod::S32],
        (Word::Min | Word::Max, Type::S64, 1) => vec![Mod::S64],
        (Word::Exch | Word::Cas, ty, 1) if ty.bytes() == 16 => vec![Mod::_128],
        (_, ty, 1) if ty.kind() != TypeKind::Float || op == Word::Exch => match ty.bytes() {
            4 => Vec::new(),
            8 => vec![Mod::_64],
            _ => return None,
        },
        _ => return None,
    })
}

/// `atom`, `red`.
pub fn atom(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let red = inst.opcode == Op::Red;
    if inst.has(Word::Async) {
        return Err("asynchronous reductions".into());
    }
    let ty = *inst.types.last().ok_or("a type is missing")?;
    let op = operation(inst)?;
    let first = usize::from(!red);
    let elements = match operand(inst, first + 1)? {
        Ptx::Vector(list) => list.len(),
        _ => 1,
    };
    let cas = op == Word::Cas;
    let words = type_words(op, ty, elements);
    let narrow = elements == 1 && ty.bytes() == 2 && (cas || op == Word::Add);
    if words.is_none() && !narrow {
        return Err("atomics of this type".into());
    }
    let mut values = Vec::new();
    for i in 0..if cas { 2 } else { 1 } {
        values.push(tuple(cx, operand(inst, first + 1 + i)?, ty)?);
    }
    let dests: Vec<&Ptx> = match inst.operands.first() {
        _ if red => Vec::new(),
        Some(Ptx::Vector(list)) => list.iter().collect(),
        Some(one) => vec![one],
        None => return Err("a destination is missing".into()),
    };
    let unread = dests.iter().all(|d| cx.is_unread(d));
    let cells = (ty.bytes() as usize * elements).div_ceil(4) as u8;
    // A vector's registers, and what is wider than the result, get it from a tuple.
    let direct = dests.len() == 1 && cx.dst_cells(dests[0]) == cells;
    let vector = elements > 1;
    let d = match (unread, direct) {
        (true, _) => Reg::RZ,
        (_, true) => cx.dst(dests[0])?,
        _ => cx.e.temp(cells),
    };
    if inst.has(Word::Release) || inst.has(Word::AcqRel) {
        before_release(cx, inst);
    }
    let (space, address) = place(cx, inst, operand(inst, first)?)?;
    let strength = scope(inst).unwrap_or(Mod::GPU);
    let words = words.unwrap_or_default();
    let atomic = Atomic { op, ty, cells, vector, words, scope: strength, d, values };
    match space {
        _ if narrow && cas => swap16::compare(cx, &atomic, space, address),
        _ if narrow => swap16::add(cx, &atomic, space, address),
        Space::Global => {
            atomic.global(cx, address);
            Ok(())
        }
        Space::Generic => atomic.generic(cx, address),
        Space::Shared => atomic.shared(cx, address),
        _ => Err("atomics in this space".into()),
    }?;
    if inst.has(Word::Acquire) || inst.has(Word::AcqRel) {
        after_acquire(cx, inst);
    }
    if !unread && !direct {
        scatter(cx, &dests, d, ty)?;
    }
    Ok(())
}

/// Copies the elements of a tuple to the registers of a vector.
fn scatter(cx: &mut Cx<'_, '_>, dests: &[&Ptx], tuple: Reg, ty: Type) -> Sel {
    if ty.bytes() == 2 {
        for (i, op) in dests.iter().enumerate() {
            let to = cx.dst(op)?;
            if !to.is_zero() {
                let word = cell(tuple, (i / 2) as u8);
                super::moves::extract(cx, r(to), word, (i % 2) as u32 * 16, 16);
            }
        }
        return Ok(());
    }
    let mut from = 0;
    for op in dests {
        let to = cx.dst(op)?;
        let cells = cells_of(ty);
        for i in 0..cells {
            if !to.is_zero() {
                cx.e.mov(cell(to, i), cell(tuple, from + i));
            }
        }
        if !to.is_zero() && cx.dst_cells(op) > cells {
            cx.e.mov(cell(to, cells), Operand::RZ);
        }
        from += cells;
    }
    Ok(())
}

/// One atomic, its operands in registers.
pub struct Atomic {
    pub op: Word,
    pub ty: Type,
    /// 32-bit cells of memory, of the result and of each value.
    pub cells: u8,
    /// Of several elements.
    vector: bool,
    /// The type's words in the instruction.
    words: Vec<Mod>,
    scope: Mod,
    /// The old value goes there; RZ where nothing reads it.
    pub d: Reg,
    pub values: Vec<Operand>,
}

impl Atomic {
    fn result(&self) -> Operand {
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
    fn compare_wide(&self, cx: &mut Cx<'_, '_>, address: Address) -> Sel {
        let desc = cx.descriptor();
        let (mods, at) = (self.words(Mod::CAS), plain_address(address));
        let (d, [expected, value]) = (self.d, [self.values[0], self.values[1]]);
        cx.e.guarded_region(|e| -> Sel {
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

    fn global(&self, cx: &mut Cx<'_, '_>, address: Address) {
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
    fn generic(&self, cx: &mut Cx<'_, '_>, address: Address) -> Sel {
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
        cx.e.guarded_region(|e| -> Sel {
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
                let shared = swap::lies_in(e, Mod::S, address);
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
                let remote = swap::lies_in(e, Mod::D, address);
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

    fn shared(&self, cx: &mut Cx<'_, '_>, address: Address) -> Sel {
        let mut mods = vec![word(self.op)];
        mods.extend(&self.words);
        let integer = self.cells == 1 && self.ty.kind() != TypeKind::Float;
        match self.op {
            Word::Cas => {
                let at = swap::plain(cx, address).operand();
                let operands = [self.result(), at, self.values[0], self.values[1]];
                cx.e.put(Opcode::ATOMS, &mods, 1, &operands);
            }
            op if op == Word::Exch || integer => {
                let operands = [self.result(), address.operand(), self.values[0]];
                cx.e.put(Opcode::ATOMS, &mods, 1, &operands);
            }
            op => {
                let at = swap::plain(cx, address);
                let update = Update { op, ty: self.ty, value: self.values[0] };
                let d = self.d;
                cx.e.guarded_region(|e| update.swap(e, swap::Memory::Shared, at, d))?;
            }
        }
        Ok(())
    }
}

/// A register of this many cells, or RZ.
pub fn whole(reg: Reg, cells: u8) -> Operand {
    if reg.is_zero() || cells == 1 { r(reg) } else { wide(reg, cells) }
}

/// The address where the row has neither a descriptor nor a word for the address's width.
pub fn plain_address(address: Address) -> Operand {
    match address.operand() {
        Operand::Mem(m) => Operand::Mem(MemRef { sel: Mod::NONE, ..m }),
        m => m,
    }
}
