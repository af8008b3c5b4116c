//! The instructions that order memory, and those that bring threads together.

use super::modifiers::scope;
use crate::lower::context::cx::Cx;
use crate::ptx::program::Instruction;
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Opcode};

/// Waits until what was written is seen in the scope.
pub fn membar(cx: &mut Cx<'_, '_>, kind: Mod, scope: Mod) {
    let scope = if scope == Mod::SM { Mod::CTA } else { scope };
    cx.e.put(Opcode::MEMBAR, &[kind, scope], 0, &[]);
    if scope != Mod::CTA {
        cx.e.put(Opcode::ERRBAR, &[], 0, &[]);
        cx.e.put(Opcode::CGAERRBAR, &[], 0, &[]);
    }
}

/// What a release waits for.
pub fn before_release(cx: &mut Cx<'_, '_>, inst: &Instruction) {
    membar(cx, Mod::ALL, scope(inst).unwrap_or(Mod::GPU));
}

/// After an acquire nothing older may come from the first-level cache.
pub fn after_acquire(cx: &mut Cx<'_, '_>, inst: &Instruction) {
    if scope(inst) != Some(Mod::SM) {
        cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
    }
}

/// Brings the warp together before an aligned barrier at -O0, where ptxas always does: PTX promises
/// that all its threads come.
pub fn converge(cx: &mut Cx<'_, '_>, inst: &Instruction) {
    let aligned = inst.opcode == Op::Bar || inst.has(Word::Aligned);
    if aligned && cx.module.options.opt_level == 0 {
        cx.e.put(Opcode::WARPSYNC, &[Mod::ALL], 0, &[]);
    }
}
