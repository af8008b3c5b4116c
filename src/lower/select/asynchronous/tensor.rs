//! Copies by tensor map (`cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and the prefetch):
//! UTMALDG, UTMASTG, UTMAREDG, UTMAPF.
//!
//! One run of uniform registers holds the address in shared memory, the barrier's (loads) and the
//! coordinates; another the map's address; one register the offsets of im2col in its low half and
//! the CTA mask in its high half. As with other bulk copies, it is done lane by lane.

use crate::lower::common::access::address;
use crate::lower::common::lanes::{Lane, at, lane_by_lane, value_by_value};
use crate::lower::common::modifiers::{memory, operation};
use crate::lower::common::policy::policy;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, RegUse};
use orias_systems::build::{imm, r};

/// A copy, reduction or prefetch by tensor map.
pub fn copy(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let prefetch = inst.has(Word::Prefetch);
    let spaces: Vec<Space> = inst.modifiers.iter().filter_map(|m| memory(*m)).collect();
    let store = !prefetch && spaces.first() == Some(&Space::Global);
    let rank =
        [Word::_1d, Word::_2d, Word::_3d, Word::_4d, Word::_5d].iter().position(|m| inst.has(*m));
    let rank = rank.ok_or("no number of dimensions")?;
    let (map_at, shared_at) = match (prefetch, store) {
        (true, _) => (0, None),
        (_, true) => (0, Some(1)),
        (_, false) => (1, Some(0)),
    };
    let Ptx::AddressList(parts) = operand(inst, map_at)? else {
        return Err("a tensor's address needs coordinates".into());
    };
    let [map, coordinates] = &parts[..] else { return Err("a tensor's address".into()) };
    let map = match map {
        Ptx::Address { .. } => address(cx, map, Space::Generic)?,
        base => cx.halves(base, Type::B64)?,
    };
    let mut place = Vec::new();
    if let Some(shared) = shared_at {
        place.push(address(cx, operand(inst, shared)?, Space::Shared)?[0]);
    }
    let load = !store && !prefetch;
    let mut next = if prefetch { 1 } else { 2 };
    if load {
        place.push(address(cx, operand(inst, next)?, Space::Shared)?[0]);
        next += 1;
    }
    let coordinates: &[Ptx] = match coordinates {
        Ptx::Vector(list) => list,
        one => std::slice::from_ref(one),
    };
    for coordinate in coordinates {
        place.push(cx.src(coordinate, Type::B32)?);
    }
    let mut offsets = Operand::RZ;
    let im2col = inst.has(Word::Im2col);
    if im2col {
        offsets = pack_offsets(cx, operand(inst, next)?)?;
        next += 1;
    }
    let multicast = inst.has(Word::MulticastCluster);
    let extra = match (multicast, im2col) {
        (false, false) => None,
        (false, true) => Some(offsets),
        (true, _) => {
            let ctas = cx.src(operand(inst, next)?, Type::U16)?;
            let both = cx.e.temp(1);
            let offsets = cx.in_reg(offsets);
            cx.e.prmt(r(both), offsets, imm(0x5410), ctas);
            Some(r(both))
        }
    };
    let policy = policy(cx, inst)?;
    let dimension = [Mod::_1D, Mod::_2D, Mod::_3D, Mod::_4D, Mod::_5D][rank];
    let reduces = inst.has(Word::Reduce);
    let op = match (prefetch, store, reduces) {
        (true, ..) => Opcode::UTMAPF,
        (_, _, true) => Opcode::UTMAREDG,
        (_, true, _) => Opcode::UTMASTG,
        _ => Opcode::UTMALDG,
    };
    let mut mods = if prefetch { vec![Mod::L2, dimension] } else { vec![dimension] };
    if im2col || inst.has(Word::Im2colNoOffs) {
        mods.push(Mod::IM2COL);
    }
    if multicast {
        mods.push(Mod::MULTICAST);
    }
    if reduces {
        mods.push(operation(inst)?);
    }
    let put = |cx: &mut Cx<'_, '_>, lane: &Lane| {
        let run = lane.all_to_uniform(cx, &place);
        let map = lane.all_to_uniform(cx, &map);
        let mut operands = vec![at(run, place.len() as u8), at(map, 2)];
        if let Some(extra) = extra {
            operands.push(r(lane.all_to_uniform(cx, &[extra])));
        }
        if let Some(policy) = policy {
            operands.push(Operand::Desc(RegUse::wide(lane.all_to_uniform(cx, &policy), 2)));
        }
        cx.e.put(op, &mods, 0, &operands);
        Ok(())
    };
    match op {
        Opcode::UTMALDG | Opcode::UTMAREDG => lane_by_lane(cx, put),
        _ => value_by_value(cx, put),
    }
}

/// The offsets of im2col in 16 bits: one, two of 8 bits, or three of 5.
fn pack_offsets(cx: &mut Cx<'_, '_>, op: &Ptx) -> Sel<Operand> {
    let list: &[Ptx] = match op {
        Ptx::Vector(list) => list,
        one => std::slice::from_ref(one),
    };
    let bits = match list.len() {
        1 => 16,
        2 => 8,
        3 => 5,
        _ => return Err("offsets".into()),
    };
    let mut packed: Option<Operand> = None;
    for (i, offset) in list.iter().enumerate() {
        let value = cx.src(offset, Type::U16)?;
        let value = cx.in_reg(value);
        let (field, sum) = (cx.e.temp(1), cx.e.temp(1));
        cx.e.and(r(field), value, imm((1 << bits) - 1));
        packed = Some(match packed {
            None => r(field),
            Some(lower) => {
                let shifted = cx.e.temp(1);
                cx.e.shl(r(shifted), r(field), imm(bits * i as u32));
                cx.e.or(r(sum), r(shifted), lower);
                r(sum)
            }
        });
    }
    packed.ok_or_else(|| "no offsets".into())
}
