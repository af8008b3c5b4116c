//! Memory as value numbering sees it: an access names words at a place, and every space has a
//! number that another one takes where something may have changed it.
//!
//! Loads that name the same words of a space while it has one number give the same. The number of a
//! space in a block is that at the end of the block that dominates it at once, or a new one where
//! ways meet on which it may have changed (as phis of a variable are placed, one for each space).
//!
//! ptxas 13.0.88 -O3 does the same, over joins and around loops, for shared, global and
//! generic memory (and for local memory, where it is no register): a store changes all of its
//! space, whatever its place is, but for what it stores itself; one of generic memory changes every
//! space, and each changes generic memory; what `ld.global.nc` loads never changes. Barriers,
//! fences and WARPSYNC change all, exchanges of a warp nothing, atomic operations their space. A
//! wide access is one of each of its words, though it never finds a wide one in two narrow ones, as
//! we do. Left alone there as here: accesses under a guard, and strong ones.

use crate::analysis::ControlFlow;
use crate::effects;
use crate::function::FunctionInfo;
use crate::sync::joined::is_of_next;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, InstId, MemRef, Mod, Opcode, Operand, Props, RegFlags, RegUse, View};

/// Memory whose contents have a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    Shared,
    Global,
    Local,
    Generic,
    /// Of what nobody writes while the kernel runs.
    Constant,
}

/// Spaces that something changes, a bit each.
pub(crate) type Changes = u8;

const SHARED: Changes = 1 << Space::Shared as u8;
const GLOBAL: Changes = 1 << Space::Global as u8;
const LOCAL: Changes = 1 << Space::Local as u8;
const GENERIC: Changes = 1 << Space::Generic as u8;
const ALL: Changes = SHARED | GLOBAL | LOCAL | GENERIC;

/// An access to a place by its registers and an offset, always and by whole words or as a part of
/// one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub space: Space,
    pub is_load: bool,
    /// The opcode that loads from there.
    pub load: Opcode,
    pub place: MemRef,
    /// What is loaded or stored.
    pub value: RegUse,
    /// How, but for the width where it is of whole words: what loads otherwise may get something
    /// else.
    pub how: u64,
    /// The part of a word that it is, where it is one.
    pub part: Option<Mod>,
}

/// The access that an instruction is, if it is one of those.
///
/// Whether one of shared or local memory is strong or volatile it does not say: where any access of
/// the function is, these are left alone.
pub(crate) fn access(inst: View<'_>, info: &FunctionInfo) -> Option<Access> {
    let (space, load) = match inst.op {
        Opcode::LDS | Opcode::STS => (Space::Shared, Opcode::LDS),
        Opcode::LDG | Opcode::STG => (Space::Global, Opcode::LDG),
        Opcode::LDL | Opcode::STL => (Space::Local, Opcode::LDL),
        Opcode::LD | Opcode::ST => (Space::Generic, Opcode::LD),
        _ => return None,
    };
    let is_load = inst.op == load;
    if info.has_strong && matches!(space, Space::Shared | Space::Local) {
        return None;
    }
    if !inst.guard.is_always() || effects::sees_other_threads(inst) {
        return None;
    }
    let (mut how, mut part, mut is_constant) = (0u64, None, false);
    for word in inst.mods().as_slice() {
        match word {
            Mod::_64 | Mod::_128 => {}
            Mod::U8 | Mod::S8 | Mod::U16 | Mod::S16 => part = Some(*word),
            Mod::CONSTANT if is_load => is_constant = true,
            Mod::STRONG | Mod::MMIO | Mod::GPU | Mod::SYS | Mod::PRIVATE => return None,
            // Of words of 16 bits there is room for four: `E` and hints.
            _ if how >> 48 == 0 => how = how << 16 | *word as u64,
            _ => return None,
        }
    }
    let (mut place, mut value) = (None, None);
    // Some loads give a predicate, and some accesses have a register with a policy of caches: no
    // plain ones.
    for operand in inst.dests().chain(inst.sources()) {
        match operand {
            Operand::Mem(found) => place = Some(found),
            Operand::PT | Operand::NOT_PT => {}
            Operand::Reg(r) if value.is_none() && r.flags == RegFlags::NONE => value = Some(r),
            Operand::Desc(_) => {}
            _ => return None,
        }
    }
    let space = if is_constant { Space::Constant } else { space };
    Some(Access { space, is_load, load, place: place?, value: value?, how, part })
}

/// Whether an instruction may access memory that something may write, or have something to do with
/// it.
pub(crate) fn may_access(op: Opcode) -> bool {
    op.has(Props::EFFECT.with(Props::STORE)) || effects::reads_memory(op)
}

/// The spaces that may be others behind an instruction, of this thread's or another's doing; `at`
/// is its place in its block.
pub(crate) fn changes(body: &Body<'_>, insts: &[InstId], at: usize) -> Changes {
    let op = body.op(insts[at]);
    match op {
        _ if !may_access(op) => 0,
        Opcode::STS | Opcode::ATOMS => SHARED | GENERIC,
        Opcode::STG | Opcode::ATOMG | Opcode::REDG => GLOBAL | GENERIC,
        Opcode::STL => LOCAL | GENERIC,
        _ if op.has(Props::STORE) => ALL,
        _ if op.has(Props::BRANCH) => 0,
        // Threads meet to exchange values, which orders no memory; `bar.warp.sync` does.
        Opcode::WARPSYNC if is_of_next(body, insts, at) => 0,
        _ if op.has(Props::EFFECT) || effects::sees_other_threads(body.inst(insts[at])) => ALL,
        // A load.
        _ => 0,
    }
}

/// Whether a space is among those that change.
pub(crate) fn changes_space(changes: Changes, space: Space) -> bool {
    changes >> space as u8 & 1 != 0
}

/// The numbers that the spaces have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers([u32; 4]);

impl Numbers {
    /// Of the memory that an access is to.
    pub fn of(&self, space: Space) -> u32 {
        self.0.get(space as usize).copied().unwrap_or(0)
    }

    /// These spaces get new ones.
    pub fn change(&mut self, changed: Changes, last: &mut u32) {
        for (n, number) in self.0.iter_mut().enumerate() {
            if changed & 1 << n != 0 {
                *last += 1;
                *number = *last;
            }
        }
    }
}

/// By block the spaces that have a new number where it begins; nothing where no space is loaded.
pub(crate) fn meetings(body: &Body<'_>, flow: &ControlFlow) -> Option<Scratch<Vec<Changes>>> {
    let loads = [Opcode::LDS, Opcode::LDG, Opcode::LDL, Opcode::LD];
    if !body.facts().may_have(&loads) {
        return None;
    }
    let blocks = body.layout();
    let mut meet = scratch!(Vec<Changes>; 0; body.block_count());
    if blocks.len() < 2 {
        return Some(meet);
    }
    // By block what changes in it, and what meets there.
    let mut change = scratch!(Vec<Changes>; 0; body.block_count());
    let mut work = scratch!(Vec<u32>);
    for &block in blocks {
        let insts = body.block(block).insts();
        let all = (0..insts.len()).fold(0, |all, at| all | changes(body, insts, at));
        change[block.0 as usize] = all;
        if all != 0 {
            work.push(block.0);
        }
    }
    if work.is_empty() {
        return Some(meet);
    }
    while let Some(block) = work.pop() {
        let here = change[block as usize];
        for next in flow.frontiers().of(block) {
            let new = here & !meet[next as usize];
            if new != 0 {
                meet[next as usize] |= new;
                change[next as usize] |= new;
                work.push(next);
            }
        }
    }
    Some(meet)
}
