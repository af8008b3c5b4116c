//! Changes of tensor maps: `tensormap.replace` and `tensormap.cp_fenceproxy`, which ptxas does with
//! ordinary loads and stores.
//!
//! Where the fields are: `targets/tensor_map.rs`.

use crate::lower::common::access::address;
use crate::lower::common::lanes::{at, value_by_value};
use crate::lower::common::modifiers::memory;
use crate::lower::common::windows::{CONST_WINDOW, PARAM_WINDOW, driver_pair};
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{MemRef, Mod, Opcode, Operand, RegUse};
use orias_systems::build::halves;
use orias_systems::build::{Address, imm, r};

/// `tensormap.replace` and `tensormap.cp_fenceproxy`.
pub fn tensormap(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::CpFenceproxy) { copy(cx, inst) } else { replace(cx, inst) }
}

/// One field of 32 bits or less.
struct Field {
    /// Byte offset of its word.
    word: i32,
    shift: u32,
    /// Within the word.
    mask: u32,
    /// Kept as the value less one.
    less_one: bool,
}

fn replace(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let space = inst.modifiers.iter().find_map(|m| memory(*m)).unwrap_or(Space::Generic);
    let name = inst.modifiers.get(2).copied().ok_or("no field")?;
    let value_op = operand(inst, inst.operands.len() - 1)?;
    let direction = match inst.operands.get(1).and_then(Ptx::integer) {
        Some(n @ 0..5) => n as u32,
        _ => 0,
    };
    let map = cx.address(operand(inst, 0)?, space)?;
    // Room for the fields' own offsets.
    let map = crate::lower::common::access::in_one_register(cx, map, 20);
    let field = |word, shift, bits: u32, less_one| Field {
        word,
        shift,
        mask: ((1u64 << bits) - 1) as u32 * (1 << shift),
        less_one,
    };
    let (d, flags) = (direction, 8);
    match name {
        Word::GlobalAddress => {
            let value = cx.pair(value_op, Type::B64)?;
            store(cx, space, map, 0, value, &[Mod::_64])
        }
        Word::GlobalStride => {
            // In units of 16 bytes: 32 bits in one word, 4 in another.
            let [lo, hi] = cx.halves(value_op, Type::B64)?;
            let (low, high) = (cx.e.temp(1), cx.e.temp(1));
            cx.e.shf(&[Mod::R, Mod::U64], r(low), lo, imm(4), hi);
            cx.e.shr(r(high), hi, imm(4), false);
            store(cx, space, map, 0xc + 4 * d as i32, r(low), &[])?;
            put(cx, space, map, &field(0x1c, 4 * d, 4, false), r(high))
        }
        Word::Elemtype => element_type(cx, space, map, value_op),
        Word::SwizzleMode => {
            let value = cx.src(value_op, Type::U32)?;
            put(cx, space, map, &field(flags, 13, 2, false), value)?;
            put(cx, space, map, &field(flags, 22, 1, false), imm(0))
        }
        _ => {
            let found = match name {
                Word::Rank => field(flags, 4, 3, false),
                Word::GlobalDim => {
                    Field { word: 0x20 + 4 * d as i32, shift: 0, mask: u32::MAX, less_one: true }
                }
                Word::BoxDim if d == 0 => field(0x34, 24, 8, true),
                Word::BoxDim => field(0x38, 8 * (d - 1), 8, true),
                Word::ElementStride => field(0x34, 3 * d, 3, true),
                Word::InterleaveLayout => field(flags, 11, 2, false),
                Word::FillMode => field(flags, 15, 1, false),
                other => return Err(format!("field {other}")),
            };
            let value = cx.src(value_op, Type::U32)?;
            put(cx, space, map, &found, value)
        }
    }
}

/// The numbers from 11 on have a bit of their own (observed: ptxas 13.0.88).
fn element_type(cx: &mut Cx<'_, '_>, space: Space, map: Address, op: &Ptx) -> Sel {
    let number = op.integer().ok_or("the element type must be a constant")?;
    let (number, packed) = match number as u32 {
        n @ 0..=10 => (n, false),
        n => (n - 4, true),
    };
    if packed {
        let flag = Field { word: 8, shift: 16, mask: 1 << 16, less_one: false };
        put(cx, space, map, &flag, imm(1))?;
    }
    put(cx, space, map, &Field { word: 8, shift: 7, mask: 0x780, less_one: false }, imm(number))
}

/// Changes one field, and nothing else of its word.
fn put(cx: &mut Cx<'_, '_>, space: Space, map: Address, field: &Field, value: Operand) -> Sel {
    let mut value = value;
    if field.less_one {
        let less = cx.e.temp(1);
        let from = cx.in_reg(value);
        cx.e.iadd3(r(less), from, imm(u32::MAX), Operand::RZ);
        value = r(less);
    }
    if field.mask == u32::MAX {
        let value = cx.in_reg(value);
        return store(cx, space, map, field.word, value, &[]);
    }
    let value = match value {
        Operand::Imm(v) => imm((v as u32) << field.shift),
        value => {
            let shifted = cx.e.temp(1);
            cx.e.shl(r(shifted), value, imm(field.shift));
            r(shifted)
        }
    };
    let (old, new) = (cx.e.temp(1), cx.e.temp(1));
    let at = Address { offset: map.offset + field.word, ..map };
    let (op, mods): (_, &[Mod]) = match space {
        Space::Global => (Opcode::LDG, &[Mod::E]),
        Space::Shared => (Opcode::LDS, &[]),
        _ => (Opcode::LD, &[Mod::E]),
    };
    let desc = (space != Space::Shared).then(|| cx.descriptor());
    cx.e.load(op, mods, r(old), desc, at);
    // The value's bits under the mask, the old ones elsewhere.
    let value = cx.in_reg(value);
    cx.e.lop3(r(new), r(old), imm(field.mask), value, 0xb8);
    store(cx, space, map, field.word, r(new), &[])
}

fn store(
    cx: &mut Cx<'_, '_>,
    space: Space,
    map: Address,
    offset: i32,
    value: Operand,
    width: &[Mod],
) -> Sel {
    let at = Address { offset: map.offset + offset, ..map };
    let op = match space {
        Space::Global => Opcode::STG,
        Space::Shared => Opcode::STS,
        _ => Opcode::ST,
    };
    let wide_space = space != Space::Shared;
    let mut mods = if wide_space { vec![Mod::E] } else { Vec::new() };
    mods.extend(width);
    let desc = wide_space.then(|| cx.descriptor());
    cx.e.store(op, &mods, desc, at, value);
    Ok(())
}

/// `cp_fenceproxy`: each lane of the warp brings its word from shared memory by an exchange, so
/// that nothing stays in a cache.
fn copy(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let spaces: Vec<Space> = inst.modifiers.iter().filter_map(|m| memory(*m)).take(2).collect();
    let [to_space, from_space] = spaces[..] else { return Err("state spaces".into()) };
    let to = crate::lower::common::access::address(cx, operand(inst, 0)?, to_space)?;
    let from = crate::lower::common::access::address(cx, operand(inst, 1)?, from_space)?;
    let (lane, bytes) = (cx.e.temp(1), cx.e.temp(1));
    let source = cx.special_operand("SR_LANEID")?;
    cx.e.put(Opcode::S2R, &[], 1, &[r(lane), source]);
    cx.e.shl(r(bytes), r(lane), imm(2));
    let (at, word, sum) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(2));
    cx.e.iadd3(r(at), r(bytes), from[0], Operand::RZ);
    let address = Address {
        base: RegUse::new(at),
        uniform: RegUse::new(orias_components::Reg::URZ),
        offset: 0,
    };
    cx.e.load(Opcode::LDS, &[], r(word), None, address);
    cx.e.add64(sum, to, [r(bytes), Operand::RZ]);
    let scope = if inst.has(Word::Sys) { Mod::SYS } else { Mod::GPU };
    let m = Operand::Mem(MemRef {
        base: RegUse::wide(sum, 2),
        uniform: RegUse::new(orias_components::Reg::URZ),
        offset: 0,
        sel: Mod::NONE,
    });
    let mods = [Mod::E, Mod::EXCH, Mod::STRONG, scope];
    cx.e.put(Opcode::ATOMG, &mods, 2, &[Operand::PT, Operand::RZ, m, r(word)]);
    Ok(())
}

/// `prefetch.tensormap`: the map comes to its cache.
pub fn prefetch(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let mut map = address(cx, operand(inst, 0)?, Space::Generic)?;
    let window = [(Word::Const, CONST_WINDOW), (Word::Param, PARAM_WINDOW[0])]
        .into_iter()
        .find(|(name, _)| inst.has(*name));
    if let Some((_, at)) = window {
        // The machine has generic addresses alone.
        let (window, sum) = (driver_pair(cx, at), cx.e.temp(2));
        cx.e.add64(sum, halves(window), map);
        map = halves(sum);
    }
    value_by_value(cx, |cx, lane| {
        let map = lane.all_to_uniform(cx, &map);
        cx.e.put(Opcode::UTMACCTL, &[Mod::PF], 0, &[at(map, 2)]);
        Ok(())
    })
}
