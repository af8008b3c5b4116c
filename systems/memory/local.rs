//! Local variables whose every access is to a place that is known: `CompactLocalMemory` takes away
//! what is stored and never loaded, and the room of what nothing accesses;
//! `ConvertMemoryToRegisterOrUniform` gives the rest registers.
//!
//! What holds behind the second: where every address of the frame is the stack pointer and a
//! constant, no words are left there that are only loaded and stored as words.
//!
//! ptxas 13.0.88 does the second, whatever there is of it (200 words were seen), and leaves the
//! frame as it is where something stays; one address that is computed keeps all variables where
//! they are there too.

use crate::analysis::Analyses;
use crate::function::FunctionInfo;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::registers::limits::STACK_POINTER;
use crate::ssa::{Form, construct, copy};
use orias_components::scratch::Scratch;
use orias_components::{
    Body, Code, InstId, MemRef, Mod, Opcode, Operand, Reg, RegFile, RegUse, VRegId, View, scratch,
};
use orias_targets::slots::{LDL, MOV, STL};
use rustc_hash::FxHashSet;

/// Bytes of a frame that are looked at: a word of it costs a word here.
const MOST_BYTES: u32 = 1 << 16;

/// The register that points at the frame's bottom.
pub(super) const POINTER: Reg = Reg::phys(RegFile::R, STACK_POINTER);

/// An access to a known place of the frame.
#[derive(Clone, Copy, Debug)]
struct Access {
    id: InstId,
    is_load: bool,
    /// From the frame's bottom, in bytes.
    offset: u32,
    bytes: u32,
}

impl Access {
    /// The words that it is to, some maybe in part.
    fn words(&self) -> std::ops::Range<usize> {
        (self.offset / 4) as usize..(self.offset + self.bytes).div_ceil(4) as usize
    }
}

/// Phase 36.
pub fn compact_local_memory(
    code: Code<'_>,
    form: Read<'_, Form>,
    mut info: Write<'_, FunctionInfo>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    if !info.moves_stack && form.is_ssa {
        notes.count(use_stack_pointer(&mut body));
    }
    let Some(mut accesses) = accesses(&body, &info) else { return };
    notes.count(remove_unread_stores(&mut body, &mut accesses));
    notes.count(compact(&mut body, &mut info, &accesses));
}

/// Phase 37.
pub fn convert_memory_to_register_or_uniform(
    code: Code<'_>,
    form: Read<'_, Form>,
    mut info: Write<'_, FunctionInfo>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    if !form.is_ssa {
        return;
    }
    let mut body = code.body();
    let Some(mut accesses) = accesses(&body, &info) else { return };
    let first = VRegId(body.vreg_count() as u32);
    let promoted = promote(&mut body, &mut accesses, &info);
    if promoted == 0 {
        return;
    }
    notes.count(promoted);
    construct(&mut body, &mut analyses, first);
    compact(&mut body, &mut info, &accesses);
}

/// Has all read the stack pointer that read a copy of it: nothing changes it, but for what an
/// `alloca` does.
fn use_stack_pointer(body: &mut Body<'_>) -> usize {
    let mut pointers = scratch!(FxHashSet<VRegId>);
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            pointers.extend(pointer(body.inst(id)));
        }
    }
    if pointers.is_empty() {
        return 0;
    }
    let is_copy = |r: RegUse| {
        (r.cell, r.count) == (0, 1) && r.reg.vreg().is_some_and(|v| pointers.contains(&v))
    };
    let mut count = 0;
    for &block in body.walk().iter() {
        for &id in body.walk_in(block).iter() {
            let inst = body.inst(id);
            let mut reads = false;
            inst.sources().for_each(|o| o.for_each_reg(|r| reads |= is_copy(r)));
            let mut is_tied = false;
            inst.for_each_def(|r| is_tied |= is_copy(r));
            if reads && !is_tied && inst.op != Opcode::MOVPHI && inst.tied().len() == 0 {
                body.map_regs(id, |r| match is_copy(r) {
                    true => RegUse { reg: POINTER, ..r },
                    false => r,
                });
                count += 1;
            }
        }
    }
    count
}

/// All accesses of the frame, if each is to a place that is known and nothing else knows where it
/// is.
fn accesses(body: &Body<'_>, info: &FunctionInfo) -> Option<Scratch<Vec<Access>>> {
    let elsewhere = [Opcode::PCALL, Opcode::PARGS];
    let is_known = !info.moves_stack && !info.has_strong && info.local_bytes <= MOST_BYTES;
    if info.local_bytes == 0 || !is_known || body.facts().may_have(&elsewhere) {
        return None;
    }
    let mut pointers = scratch!(FxHashSet<VRegId>);
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            pointers.extend(pointer(body.inst(id)));
        }
    }
    let is_base = |r: RegUse| {
        r.reg == POINTER || r.cell == 0 && r.reg.vreg().is_some_and(|v| pointers.contains(&v))
    };
    let mut accesses = scratch!(Vec<Access>);
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            let inst = body.inst(id);
            let mut writes = false;
            inst.for_each_def(|r| writes |= is_base(r));
            if pointer(inst).is_some() {
                continue;
            }
            let mut uses = 0;
            inst.for_each_use(|r| uses += usize::from(is_base(r)));
            // Some load it that do not know of the frame.
            if writes && !(inst.op == Opcode::LDC && inst.reg(0).is_some_and(|r| r.reg == POINTER))
            {
                return None;
            }
            match access(inst, info.local_bytes) {
                Some((place, found)) if is_base(place.base) && uses == 1 => {
                    accesses.push(Access { id, ..found });
                }
                _ if uses > 0 => return None,
                // What has an address of its own may be anywhere in the frame.
                _ if matches!(inst.op, Opcode::LDL | Opcode::STL) => return None,
                _ => {}
            }
        }
    }
    Some(accesses)
}

/// The register that an instruction makes the frame's pointer.
fn pointer(inst: View<'_>) -> Option<VRegId> {
    let is_copy = inst.op == Opcode::MOV
        && inst.guard.is_always()
        && inst.operand(MOV::B) == Operand::reg(POINTER);
    inst.reg(MOV::D).filter(|to| is_copy && to.cell == 0).and_then(|to| to.reg.vreg())
}

/// What an instruction accesses, if it stays in the frame.
fn access(inst: View<'_>, frame: u32) -> Option<(MemRef, Access)> {
    let is_load = inst.op == Opcode::LDL;
    let place = match inst.op {
        Opcode::LDL => inst.operand(LDL::A),
        Opcode::STL => inst.operand(STL::A),
        _ => return None,
    };
    let bytes = match inst.mods().as_slice() {
        [] => 4,
        [Mod::_64] => 8,
        [Mod::_128] => 16,
        [Mod::U8 | Mod::S8] => 1,
        [Mod::U16 | Mod::S16] => 2,
        _ => return None,
    };
    let Operand::Mem(place) = place else { return None };
    let is_plain = place.sel == Mod::NONE && place.uniform.reg.is_zero() && place.base.count == 1;
    let offset = u32::try_from(place.offset).ok().filter(|_| is_plain)?;
    let fits = offset.checked_add(bytes)? <= frame.next_multiple_of(4);
    let access = Access { id: InstId(0), is_load, offset, bytes };
    (fits && offset.is_multiple_of(bytes)).then_some((place, access))
}

/// Stores of what nothing loads.
fn remove_unread_stores(body: &mut Body<'_>, accesses: &mut Vec<Access>) -> usize {
    let count = accesses.iter().map(|a| a.words().end).max().unwrap_or(0);
    let mut loaded = scratch!(Vec<bool>; false; count);
    accesses.iter().filter(|a| a.is_load).for_each(|a| loaded[a.words()].fill(true));
    let mut gone = scratch!(FxHashSet<InstId>);
    accesses.retain(|access| {
        let stays = loaded[access.words()].iter().any(|loaded| *loaded);
        if !stays {
            gone.insert(access.id);
        }
        stays
    });
    if !gone.is_empty() {
        for &block in body.walk().iter() {
            body.retain(block, |_, id| !gone.contains(&id));
        }
    }
    gone.len()
}

/// Words that are accessed together, beside each other: from, to, and what holds of all accesses.
struct Piece {
    words: std::ops::Range<usize>,
    align: u32,
    /// Words are loaded and stored, and no parts of them.
    is_of_words: bool,
}

/// The pieces in the order of their places.
fn pieces(accesses: &[Access]) -> Scratch<Vec<Piece>> {
    let mut sorted = scratch!(Vec<Access>).with(accesses.iter().copied());
    sorted.sort_unstable_by_key(|a| (a.offset, a.bytes));
    let mut pieces = scratch!(Vec<Piece>);
    for access in sorted.iter() {
        let (words, is_of_words) = (access.words(), access.bytes >= 4);
        match pieces.last_mut() {
            Some(last) if words.start < last.words.end => {
                last.words.end = last.words.end.max(words.end);
                last.align = last.align.max(access.bytes);
                last.is_of_words &= is_of_words;
            }
            _ => pieces.push(Piece { words, align: access.bytes.max(4), is_of_words }),
        }
    }
    pieces
}

/// Has the pieces stand beside each other at the frame's bottom.
fn compact(body: &mut Body<'_>, info: &mut FunctionInfo, accesses: &[Access]) -> usize {
    let pieces = pieces(accesses);
    let mut end = 0;
    let mut places = scratch!(Vec<u32>);
    for piece in pieces.iter() {
        let (from, len) = (4 * piece.words.start as u32, 4 * piece.words.len() as u32);
        let at = end + (from + piece.align - end % piece.align) % piece.align;
        places.push(at);
        end = at + len;
    }
    if end + 4 > info.local_bytes {
        return 0;
    }
    for access in accesses {
        let word = access.words().start;
        let piece = pieces.partition_point(|piece| piece.words.end <= word);
        let from = 4 * pieces[piece].words.start as u32;
        if places[piece] == from {
            continue;
        }
        let mut inst = body.inst(access.id).to_inst();
        let at = if access.is_load { LDL::A } else { STL::A };
        if let Operand::Mem(place) = &mut inst.operands[at] {
            place.offset = (access.offset - from + places[piece]) as i32;
        }
        body.set_inst(access.id, &inst);
    }
    info.local_bytes = end;
    1
}

/// Of the registers that these loads keep where they do not load, the cells that something writes.
fn written_of_kept(body: &Body<'_>, loads: &FxHashSet<InstId>) -> Scratch<FxHashSet<(VRegId, u8)>> {
    let mut kept = scratch!(FxHashSet<VRegId>);
    for id in loads {
        kept.extend(body.inst(*id).tied().filter_map(|r| r.reg.vreg()));
    }
    let mut written = scratch!(FxHashSet<(VRegId, u8)>);
    if kept.is_empty() {
        return written;
    }
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            body.inst(id).for_each_def(|r| {
                if let Some(v) = r.reg.vreg().filter(|v| kept.contains(v)) {
                    written.extend((r.cell..r.cell + r.count).map(|cell| (v, cell)));
                }
            });
        }
    }
    written
}

/// Gives words that are only accessed as such registers, and returns how many accesses went. The
/// registers are no values yet: several may write one.
fn promote(body: &mut Body<'_>, accesses: &mut Vec<Access>, info: &FunctionInfo) -> usize {
    let words = info.local_bytes.div_ceil(4) as usize;
    let mut registers = scratch!(Vec<Option<Reg>>; None; words);
    for piece in pieces(accesses).iter().filter(|piece| piece.is_of_words) {
        for word in piece.words.clone() {
            registers[word] = Some(body.new_vreg(RegFile::R, 1, 1));
        }
    }
    let mut gone = scratch!(FxHashSet<InstId>);
    gone.extend(accesses.iter().filter(|a| registers[a.words().start].is_some()).map(|a| a.id));
    if gone.is_empty() {
        return 0;
    }
    accesses.retain(|access| !gone.contains(&access.id));
    let frame = info.local_bytes;
    let written = written_of_kept(body, &gone);
    for &block in body.walk().iter() {
        body.rewrite(block, |body, out, id| {
            if !gone.contains(&id) {
                out.keep(id);
                return;
            }
            let inst = body.inst(id).to_inst();
            let (_, access) = access(body.inst(id), frame).expect("it was one");
            let value = inst.operands[if access.is_load { LDL::D } else { STL::B }];
            let tied = inst.tied.first().copied();
            for (cell, word) in (0..).zip(access.words()) {
                let variable = RegUse::new(registers[word].expect("a word that is promoted"));
                let part = |r: RegUse| match r.reg.is_zero() {
                    true => RegUse::new(Reg::RZ),
                    false => RegUse { cell: r.cell + cell, count: 1, ..r },
                };
                let Operand::Reg(value) = value else { unreachable!("registers are stored") };
                if access.is_load && value.reg.is_zero() {
                    continue;
                }
                let (to, from) = match access.is_load {
                    true => (part(value), variable),
                    false => (variable, part(value)),
                };
                let id = copy(body, to, from, body.loc(id));
                let mut made = body.inst(id).to_inst();
                made.guard = inst.guard;
                if access.is_load {
                    // Of what is kept nobody reads the cells that nobody wrote.
                    let is_there =
                        |r: &RegUse| r.reg.vreg().is_none_or(|v| written.contains(&(v, r.cell)));
                    made.tied.extend(tied.map(part).filter(is_there));
                }
                body.set_inst(id, &made);
                out.keep(id);
            }
        });
    }
    gone.len()
}
