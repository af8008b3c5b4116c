//! Loads and stores of every space, scalars and vectors.

use crate::lower::common::access::{effective_space, place};
use crate::lower::common::modifiers::scope;
use crate::lower::common::params;
use crate::lower::common::params::Access;
use crate::lower::common::words::{extract, gather, widen};
use crate::lower::context::cx::{Cx, Sel, cells_of, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::{Word, WordSet};
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{Address, cell, r, wide};
use smallvec::{SmallVec, smallvec};

/// Ordering and cache words in SASS: `STRONG.GPU`, `EF`, `CONSTANT` …
struct AccessWords {
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

const ORDERED: WordSet = WordSet::of(&[Word::Relaxed, Word::Acquire, Word::Release]);

fn access_words(inst: &Instruction, load: bool) -> AccessWords {
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
    AccessWords { eviction, prefetch, order, mmio, acquire, release }
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
    words: &AccessWords,
    d: Operand,
    address: Address,
    bytes: u32,
    signed: bool,
) -> Sel {
    let wide_space = matches!(space, Space::Global | Space::Generic);
    let mut mods: SmallVec<[Mod; 8]> = SmallVec::new();
    if wide_space {
        mods.push(Mod::E);
        mods.extend(words.eviction);
        mods.extend(words.prefetch);
    }
    mods.extend(width(bytes, signed));
    if wide_space {
        mods.extend(words.order.iter().copied());
    }
    let opcode = opcode(space, true)?;
    if words.mmio && wide_space {
        let at = crate::lower::common::access::plain_address(address);
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

/// `ld` and `ldu` of every space.
pub fn ld(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let address_op = operand(inst, 1)?;
    let dests: SmallVec<[&Ptx; 4]> = match operand(inst, 0)? {
        Ptx::Vector(parts) => parts.iter().collect(),
        one => smallvec![one],
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
    let words = access_words(inst, true);
    let (space, address) = match own {
        Some(address) => (Space::Local, address),
        None => place(cx, inst, address_op)?,
    };
    if let [one] = dests[..] {
        let d = cx.dst(one)?;
        let cells = cx.dst_cells(one);
        let to = if ty.bytes() >= 8 { wide(d, (ty.bytes() / 4) as u8) } else { cell(d, 0) };
        load_bytes(cx, space, &words, to, address, ty.bytes(), ty.is_signed())?;
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
        load_bytes(cx, space, &words, to, address, total, false)?;
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
    if words.acquire {
        crate::lower::common::order::after_acquire(cx, inst);
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

/// `st` of every space.
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
    let words = access_words(inst, false);
    if words.release {
        crate::lower::common::order::before_release(cx, inst);
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
        mods.extend(words.eviction);
    }
    mods.extend(width(total, false));
    if wide_space {
        mods.extend(words.order.iter().copied());
    }
    let opcode = opcode(space, false)?;
    if words.mmio && wide_space {
        cx.e.put(opcode, &mods, 0, &[crate::lower::common::access::plain_address(address), value]);
        return Ok(());
    }
    let desc = wide_space.then(|| cx.descriptor());
    cx.e.store(opcode, &mods, desc, address, value);
    Ok(())
}
