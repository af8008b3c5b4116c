//! What each thread has found of instructions that differ in nothing a row asks of: phases ask
//! again and again whether there is a row for an operand here, a constant there.

use crate::form::Form;
use crate::target::{Table, Target};
use orias_components::pseudo::brx;
use orias_components::{Inst, Mods, Opcode, Operand, RegFile, RegFlags};
use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::ptr;

/// Operands that an instruction may have to be remembered.
const MOST_OPERANDS: usize = 8;

/// Entries at which a thread forgets all: some hundred are usual.
const MOST: usize = 1 << 13;

/// All that the choice of a row depends on, and what of an instruction was seen but for its guard.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    hash: u64,
    op: Opcode,
    mods: Mods,
    operands: [u32; MOST_OPERANDS],
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Key {
    /// None: too many operands.
    fn of(op: Opcode, mods: &Mods, all: &[Operand]) -> Option<Key> {
        let count = all.len();
        if count > MOST_OPERANDS {
            return None;
        }
        let mut hash = op as u64 | (count as u64) << 32;
        let mut add = |word: u64| {
            hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        };
        let mut operands = [0; MOST_OPERANDS];
        for (word, operand) in operands.iter_mut().zip(all) {
            *word = aspect(operand);
        }
        let (pairs, _) = operands.as_chunks::<2>();
        for [low, high] in &pairs[..count.div_ceil(2)] {
            add(u64::from(*low) | u64::from(*high) << 32);
        }
        mods.for_each_quad(add);
        Some(Key { hash, op, mods: *mods, operands })
    }
}

/// What counts of an operand: its kind as [`crate::seen`] tells them apart (in numbers of its own,
/// never 0), its flags, and its part or special register.
fn aspect(operand: &Operand) -> u32 {
    let flags = |flags: RegFlags| u32::from(flags.without(RegFlags::REUSE).0) << 8;
    let (kind, more) = match operand {
        Operand::Reg(r) => (1 + r.reg.file() as u32, flags(r.flags)),
        Operand::Part(r, part) => {
            let kind = 6 + u32::from(r.reg.file() == RegFile::UR);
            (kind, flags(r.flags) | ((*part as u32) << 16))
        }
        Operand::Symbol { part: 2, .. } | Operand::Block(_) | Operand::Addr(_) => (8, 0),
        Operand::Imm(_) | Operand::Symbol { .. } => (9, 0),
        Operand::Special(number) => (10, u32::from(*number) << 16),
        Operand::Desc(r) => (11, flags(r.flags)),
        Operand::Const(c) => {
            let base = match (c.is_bindless(), c.base.is_zero()) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2 + u32::from(c.base.file() == RegFile::UR),
            };
            (12 + base, u32::from(c.flags.0) << 8)
        }
        Operand::Mem(m) => {
            let base = u32::from(!m.base.reg.is_zero()) + 2 * u32::from(!m.uniform.reg.is_zero());
            (16 + base, (m.sel as u32) << 16)
        }
    };
    kind | more
}

/// What was found.
#[derive(Clone, Copy)]
pub struct Found {
    pub form: Option<&'static Form>,
    /// Code may use it as it stands.
    pub taken: bool,
}

struct Memo {
    table: *const Table,
    bound: bool,
    found: FxHashMap<Key, Found>,
}

thread_local! {
    static MEMO: RefCell<Memo> =
        RefCell::new(Memo { table: ptr::null(), bound: false, found: FxHashMap::default() });
}

/// BRX as its word has it: where it leads is the matter of its table.
fn without_ways(inst: &Inst) -> Option<Inst> {
    if inst.op != Opcode::BRX || !matches!(inst.operands.get(brx::TABLE), Some(Operand::Imm(_))) {
        return None;
    }
    let mut word = inst.clone();
    word.operands.truncate(brx::TABLE);
    word.operands.push(Operand::Addr(0));
    Some(word)
}

/// The row of an instruction on this target, if there is any.
pub fn find(target: &Target, inst: &Inst) -> Found {
    if let Some(word) = without_ways(inst) {
        return find(target, &word);
    }
    find_by(target, inst.op, &inst.mods, &inst.operands, || inst)
}

/// The same of an instruction that may yet have to be made, and is not BRX.
pub fn find_by<I: Borrow<Inst>>(
    target: &Target,
    op: Opcode,
    mods: &Mods,
    operands: &[Operand],
    inst: impl FnOnce() -> I,
) -> Found {
    let Some(key) = Key::of(op, mods, operands) else { return look_up(target, inst().borrow()) };
    MEMO.with_borrow_mut(|memo| {
        let table = target.table();
        let here = ptr::eq(memo.table, table) && memo.bound == target.bound;
        if !here || memo.found.len() >= MOST {
            memo.found.clear();
            (memo.table, memo.bound) = (table, target.bound);
        }
        if let Some(found) = memo.found.get(&key) {
            return *found;
        }
        let found = look_up(target, inst().borrow());
        memo.found.insert(key, found);
        found
    })
}

fn look_up(target: &Target, inst: &Inst) -> Found {
    let Some(form) = crate::encode::find(target.table(), inst) else {
        return Found { form: None, taken: false };
    };
    let seen = target.seen().filter(|_| target.bound);
    Found { form: Some(form), taken: seen.is_none_or(|seen| seen.takes(form, inst)) }
}
