//! Fences: `membar` and `fence` in every scope and meaning, and those between proxies.
//!
//! Observed (ptxas 13.0.88, sm_90a): a release waits for what was written (MEMBAR) and for its
//! errors beyond the SM, an acquire empties the first-level cache; within a CTA, and for the shared
//! memory of a cluster, there is nothing to do after an acquire.

use crate::lower::common::access::address;
use crate::lower::common::lanes::value_by_value;
use crate::lower::common::modifiers::scope;
use crate::lower::common::order::membar;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::Space;
use crate::ptx::words::{Op, Word, WordSet};
use orias_components::{Mod, Opcode};

/// `membar` and `fence`.
pub fn fence<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction) -> Sel {
    const RESTRICTED: WordSet = WordSet::of(&[
        Word::SyncRestrict,
        Word::SyncRestrictSharedCta,
        Word::SyncRestrictSharedCluster,
    ]);
    const TENSOR_MAP: WordSet = WordSet::of(&[Word::Tensormap, Word::TensormapGeneric]);
    let restricted = inst.set.intersects(&RESTRICTED);
    let view = |cx: &mut Cx<'a, '_>, place| {
        cx.e.put(Opcode::FENCE, &[Mod::VIEW, Mod::ASYNC, place], 0, &[]);
    };
    if inst.has(Word::MbarrierInit) {
        // What it orders is ordered by the arrival that must follow.
        return Ok(());
    }
    if restricted {
        if inst.has(Word::Release) {
            cx.e.put(Opcode::MEMBAR, &[Mod::ALL, Mod::CTA], 0, &[]);
            view(cx, Mod::S);
        }
        return Ok(());
    }
    if inst.has(Word::Proxy) {
        if inst.set.intersects(&TENSOR_MAP) {
            return tensor_map(cx, inst);
        }
        if inst.has(Word::Alias) {
            membar(cx, Mod::SC, Mod::SYS);
            cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
            return Ok(());
        }
        if inst.has(Word::Global) {
            view(cx, Mod::G);
            return Ok(());
        }
        let scope = if inst.has(Word::SharedCta) { Mod::CTA } else { Mod::GPU };
        cx.e.put(Opcode::MEMBAR, &[Mod::ALL, scope], 0, &[]);
        view(cx, Mod::S);
        return Ok(());
    }
    let level = if inst.has(Word::Gl) { Mod::GPU } else { scope(inst).unwrap_or(Mod::SYS) };
    let weaker = inst.opcode == Op::Fence && !inst.has(Word::Sc);
    if !inst.has(Word::Acquire) {
        membar(cx, if weaker { Mod::ALL } else { Mod::SC }, level);
    }
    if level != Mod::SM && !inst.has(Word::Release) {
        cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
    }
    Ok(())
}

/// `fence.proxy.tensormap::generic`: a release is an ordinary one; an acquire throws the map out of
/// its cache.
fn tensor_map(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Release) {
        let scope = if inst.has(Word::Sys) { Mod::SYS } else { Mod::GPU };
        membar(cx, Mod::ALL, scope);
        return Ok(());
    }
    let map = address(cx, operand(inst, 0)?, Space::Generic)?;
    value_by_value(cx, |cx, lane| {
        let map = lane.all_to_uniform(cx, &map);
        cx.e.put(Opcode::DEPBAR, &[], 0, &[orias_systems::build::imm(0x3f)]);
        cx.e.put(Opcode::UTMACCTL, &[Mod::IV], 0, &[crate::lower::common::lanes::at(map, 2)]);
        Ok(())
    })
}
