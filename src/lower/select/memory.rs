//! Loads and stores of every space, scalars and vectors.

use super::moves::{extract, pack_words};
use crate::lower::params::{self, Access};
use crate::lower::source::{Cx, Sel, Value, cells_of, operand, type_at};
use crate::ptx::program::{AddressBase, Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::{Word, WordSet};
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::emit::{Address, cell, imm, r, wide};

/// The state space word of an instruction.
pub fn space(inst: &Instruction) -> Space {
    inst.modifiers.iter().find_map(|word| word.space()).unwrap_or(Space::Generic)
}

/// The space that an access really goes to: a generic one to a named variable is an access to the
/// variable's space.
fn effective_space(cx: &Cx<'_, '_>, inst: &Instruction, address: &Ptx) -> Space {
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
    let address = super::swap::plain(cx, address);
    let high = cx.e.temp(1);
    let source = cx.special_operand("SR_SWINHI")?;
    cx.e.put(Opcode::S2R, &[], 1, &[r(high), source]);
    let base = RegUse::wide(cx.join(Operand::Reg(address.base), r(high)), 2);
    Ok((Space::Generic, Address { base, ..address }))
}

/// Ordering and cache words in SASS: `STRONG.GPU`, `EF`, `CONSTANT` …
struct Policy {
    /// Before the width: `.NA`, `.EF` and the like.
    eviction: Option<Mod>,
    /// Before the order: bytes to fetch to the second-level cache.
    prefetch: Option<Mod>,
    /// After the width.
    order: Vec<Mod>,
    /// Of memory that is a device's: no descriptor.
    mmio: bool,
    acquire: bool,
    release: bool,
}

/// The scope word for strong accesses: one CTA is one SM to the hardware.
pub fn scope(inst: &Instruction) -> Option<Mod> {
    [(Word::Cta, Mod::SM), (Word::Cluster, Mod::GPU), (Word::Gpu, Mod::GPU), (Word::Sys, Mod::SYS)]
        .into_iter()
        .find(|(name, _)| inst.has(*name))
        .map(|(_, m)| m)
}

const ORDERED: WordSet = WordSet::of(&[Word::Relaxed, Word::Acquire, Word::Release]);

fn policy(inst: &Instruction, load: bool) -> Policy {
    let mut order = Vec::new();
    let strong = |m: Mod| vec![Mod::STRONG, m];
    let ordered = inst.set.intersects(&ORDERED);
    let mmio = inst.has(Word::Mmio);
    if mmio {
        order = vec![Mod::MMIO, scope(inst).unwrap_or(Mod::SYS)];
    } else if inst.has(Word::Volatile) || inst.has(Word::Cv) || inst.has(Word::Wt) {
        order = strong(Mod::SYS);
    } else if ordered {
        order = strong(scope(inst).unwrap_or(Mod::SYS));
    } else if load && inst.has(Word::Nc) {
        order = vec![Mod::CONSTANT];
    } else if inst.has(Word::Cg) {
        order = strong(Mod::GPU);
    } else if load && inst.has(Word::Ca) || inst.has(Word::Wb) {
        order = strong(Mod::SM);
    }
    let eviction = if inst.has(Word::Cs) || inst.has(Word::L1EvictFirst) {
        Some(Mod::EF)
    } else if load && inst.has(Word::Lu) {
        Some(Mod::LU)
    } else if inst.has(Word::L1EvictLast) {
        Some(Mod::EL)
    } else if inst.has(Word::L1EvictUnchanged) {
        Some(Mod::EU)
    } else if inst.has(Word::L1NoAllocate) {
        Some(Mod::NA)
    } else {
        None
    };
    let sizes =
        [(Word::L2_64B, Mod::LTC64B), (Word::L2_128B, Mod::LTC128B), (Word::L2_256B, Mod::LTC256B)];
    let prefetch = sizes.into_iter().find(|(name, _)| inst.has(*name)).map(|(_, m)| m);
    let (acquire, release) = (inst.has(Word::Acquire), inst.has(Word::Release));
    Policy { eviction, prefetch, order, mmio, acquire, release }
}

/// The width word for this many bytes.
fn width(bytes: u32, signed: bool) -> Option<Mod> {
    match (bytes, signed) {
        (1, false) => Some(Mod::U8),
        (1, true) => Some(Mod::S8),
        (2, false) => Some(Mod::U16),
        (2, true) => Some(Mod::S16),
        (8, _) => Some(Mod::_64),
        (16, _) => Some(Mod::_128),
        _ => None,
    }
}

fn opcode(space: Space, load: bool) -> Sel<Opcode> {
    Ok(match (space, load) {
        (Space::Global, true) => Opcode::LDG,
        (Space::Global, false) => Opcode::STG,
        (Space::Shared, true) => Opcode::LDS,
        (Space::Shared, false) => Opcode::STS,
        (Space::Local, true) => Opcode::LDL,
        (Space::Local, false) => Opcode::STL,
        (Space::Generic, true) => Opcode::LD,
        (Space::Generic, false) => Opcode::ST,
        _ => return Err("access of this space".into()),
    })
}

/// One machine load of `bytes` bytes to `d` (as many cells as it takes).
fn load_bytes(
    cx: &mut Cx<'_, '_>,
    space: Space,
    policy: &Policy,
    d: Operand,
    address: Address,
    bytes: u32,
    signed: bool,
) -> Sel {
    let wide_space = matches!(space, Space::Global | Space::Generic);
    let mut mods = Vec::new();
    if wide_space {
        mods.push(Mod::E);
        mods.extend(policy.eviction);
        mods.extend(policy.prefetch);
    }
    mods.extend(width(bytes, signed));
    if wide_space {
        mods.extend(policy.order.iter().copied());
    }
    let opcode = opcode(space, true)?;
    if policy.mmio && wide_space {
        let at = super::atomic::plain_address(address);
        if opcode == Opcode::LD {
            cx.e.put(opcode, &mods, 1, &[d, at, Operand::PT]);
        } else {
            cx.e.put(opcode, &mods, 2, &[Operand::PT, d, at, Operand::PT]);
        }
        return Ok(());
    }
    let desc = wide_space.then(|| cx.descriptor());
    cx.e.load(opcode, &mods, d, desc, address);
    Ok(())
}

pub fn ld(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let address_op = operand(inst, 1)?;
    let dests: Vec<&Ptx> = match operand(inst, 0)? {
        Ptx::Vector(parts) => parts.iter().collect(),
        one => vec![one],
    };
    let total = ty.bytes() * dests.len() as u32;
    let space = effective_space(cx, inst, address_op);
    let param = match space {
        Space::Param => params::access(cx, address_op)?,
        _ => Access::Constant,
    };
    let own = match param {
        Access::Words(words, at) => return params::load_words(cx, ty, &dests, &words, at),
        Access::Local(address) => Some(address),
        Access::Constant if matches!(space, Space::Const | Space::Param) => {
            return load_constant(cx, ty, &dests, address_op, space);
        }
        Access::Constant => None,
    };
    if total > 16 {
        return Err("vectors of more than 16 bytes".into());
    }
    let policy = policy(inst, true);
    let (space, address) = match own {
        Some(address) => (Space::Local, address),
        None => place(cx, inst, address_op)?,
    };
    if let [one] = dests[..] {
        let d = cx.dst(one)?;
        let cells = cx.dst_cells(one);
        let to = if ty.bytes() >= 8 { wide(d, (ty.bytes() / 4) as u8) } else { cell(d, 0) };
        load_bytes(cx, space, &policy, to, address, ty.bytes(), ty.is_signed())?;
        if ty.bytes() < 8 && cells == 2 {
            widen(cx, d, ty);
        }
    } else {
        // The hardware loads a tuple of registers; what a false guard leaves alone must be in it
        // before.
        let cells = total.div_ceil(4) as u8;
        let tuple = cx.e.temp(cells);
        let word_sized = ty.bytes() >= 4;
        let guarded = !cx.e.guard.is_always();
        let mut regs = Vec::new();
        for d in &dests {
            regs.push((cx.dst(d)?, cx.dst_cells(d)));
        }
        if guarded && word_sized {
            each_word(ty, &regs, |word, d, i| cx.e.mov(cell(tuple, word), cell(d, i)));
        }
        let to = if cells == 1 { r(tuple) } else { wide(tuple, cells) };
        load_bytes(cx, space, &policy, to, address, total, false)?;
        if word_sized {
            let guard = cx.e.guard;
            if guarded {
                cx.e.guard = orias_components::Guard::ALWAYS;
            }
            each_word(ty, &regs, |word, d, i| cx.e.mov(cell(d, i), cell(tuple, word)));
            cx.e.guard = guard;
            for (d, cells) in &regs {
                if ty.bytes() == 4 && *cells == 2 {
                    widen(cx, *d, ty);
                }
            }
        } else {
            let bits = ty.bits();
            for (i, (d, cells)) in regs.iter().enumerate() {
                let at = i as u32 * bits;
                let word = cell(tuple, (at / 32) as u8);
                if ty.is_signed() {
                    let t = cx.e.temp(1);
                    extract(cx, r(t), word, at % 32, bits);
                    cx.extend_to(cell(*d, 0), r(t), ty);
                } else {
                    extract(cx, cell(*d, 0), word, at % 32, bits);
                }
                if *cells == 2 {
                    widen(cx, *d, ty);
                }
            }
        }
    }
    if policy.acquire {
        super::fence::after_acquire(cx, inst);
    }
    Ok(())
}

/// Calls `f(word of the tuple, register, its cell)` for each 32-bit word of a vector.
fn each_word(ty: Type, regs: &[(Reg, u8)], mut f: impl FnMut(u8, Reg, u8)) {
    let words = cells_of(ty);
    for (i, (d, _)) in regs.iter().enumerate() {
        for w in 0..words {
            if !d.is_zero() {
                f(i as u8 * words + w, *d, w);
            }
        }
    }
}

/// The upper half of a 64-bit register that took a narrower value.
pub fn widen(cx: &mut Cx<'_, '_>, d: Reg, ty: Type) {
    if ty.is_signed() {
        cx.e.shr(cell(d, 1), cell(d, 0), imm(31), true);
    } else {
        cx.e.mov(cell(d, 1), Operand::RZ);
    }
}

/// Constant memory and kernel parameters: one load for each element.
fn load_constant(
    cx: &mut Cx<'_, '_>,
    ty: Type,
    dests: &[&Ptx],
    address: &Ptx,
    space: Space,
) -> Sel {
    let mut source = cx.constant_address(address, space)?;
    for d_op in dests {
        let d = cx.dst(d_op)?;
        let cells = cx.dst_cells(d_op);
        let mods: Vec<Mod> = width(ty.bytes().min(8), ty.is_signed()).into_iter().collect();
        for part in 0..ty.bytes().div_ceil(8) as u8 {
            let to = match ty.bytes() {
                8 => wide(d, 2),
                16 => Operand::Reg(orias_components::RegUse::at(d, 2 * part, 2)),
                _ => cell(d, 0),
            };
            // A destination that is the index of the next part is read before it is written.
            cx.e.ldc(&mods, to, Operand::Const(source));
            source.offset += ty.bytes().min(8) as i32;
        }
        if ty.bytes() < 8 && cells == 2 {
            widen(cx, d, ty);
        }
    }
    Ok(())
}

/// Values of this many bytes each as they stand in memory: one operand of as many cells as they
/// take.
fn gather(cx: &mut Cx<'_, '_>, values: &[Value], bytes: u32) -> Sel<Operand> {
    match values {
        [Value::Reg(reg, cells)] if u32::from(*cells) * 4 >= bytes => {
            return Ok(if bytes >= 8 { wide(*reg, (bytes / 4) as u8) } else { cell(*reg, 0) });
        }
        [one] if bytes <= 4 => {
            let lo = one.lo();
            return Ok(if lo == Operand::Imm(0) { Operand::RZ } else { cx.in_reg(lo) });
        }
        _ => {}
    }
    let words = pack_words(cx, bytes * 8, values)?;
    if let [one] = words[..] {
        return Ok(cx.in_reg(one));
    }
    let tuple = cx.e.temp(words.len() as u8);
    for (i, word) in words.iter().enumerate() {
        cx.e.mov(cell(tuple, i as u8), *word);
    }
    Ok(wide(tuple, words.len() as u8))
}

/// A source, scalar or vector of `ty`, in consecutive registers.
pub fn tuple(cx: &mut Cx<'_, '_>, op: &Ptx, ty: Type) -> Sel<Operand> {
    let parts = match op {
        Ptx::Vector(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    let mut values = Vec::new();
    for part in parts {
        values.push(cx.value(part, ty)?);
    }
    gather(cx, &values, ty.bytes())
}

pub fn st(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let address_op = operand(inst, 0)?;
    let sources: Vec<&Ptx> = match operand(inst, 1)? {
        Ptx::Vector(parts) => parts.iter().collect(),
        one => vec![one],
    };
    let total = ty.bytes() * sources.len() as u32;
    if total > 16 {
        return Err("vectors of more than 16 bytes".into());
    }
    let policy = policy(inst, false);
    if policy.release {
        super::fence::before_release(cx, inst);
    }
    let mut values = Vec::new();
    for s in &sources {
        values.push(cx.value(s, ty)?);
    }
    let own = match effective_space(cx, inst, address_op) {
        Space::Param => match params::access(cx, address_op)? {
            Access::Constant => return Err("store to a parameter of the kernel".into()),
            Access::Words(words, at) => return params::store_words(cx, ty, &values, &words, at),
            Access::Local(address) => Some(address),
        },
        _ => None,
    };
    let value = gather(cx, &values, ty.bytes())?;
    let (space, address) = match own {
        Some(address) => (Space::Local, address),
        None => place(cx, inst, address_op)?,
    };
    let wide_space = matches!(space, Space::Global | Space::Generic);
    let mut mods = Vec::new();
    if wide_space {
        mods.push(Mod::E);
        mods.extend(policy.eviction);
    }
    mods.extend(width(total, false));
    if wide_space {
        mods.extend(policy.order.iter().copied());
    }
    let opcode = opcode(space, false)?;
    if policy.mmio && wide_space {
        cx.e.put(opcode, &mods, 0, &[super::atomic::plain_address(address), value]);
        return Ok(());
    }
    let desc = wide_space.then(|| cx.descriptor());
    cx.e.store(opcode, &mods, desc, address, value);
    Ok(())
}
