//! Instructions across the lanes of a group.

use crate::simulator::op::{ReduceKind, ShuffleMode, VoteMode};
use crate::simulator::operand::*;
use crate::simulator::warp::Warp;

/// SHFL (PTX ISA, `shfl.sync`): the third source holds the clamp in bits 0..5 and the segment mask
/// in bits 8..13.
pub fn shuffle(
    warp: &mut Warp,
    mode: ShuffleMode,
    dst: Dst,
    inside: PredDst,
    src: &[Src; 3],
    active: u32,
) {
    let value = warp.read32(&src[0]);
    let index = warp.read32(&src[1]);
    let control = warp.read32(&src[2]);
    let mut out = [0; LANES];
    let mut valid = 0;
    each_lane(active, |lane| {
        let (clamp, segment) = (control[lane] & 31, control[lane] >> 8 & 31);
        let by = index[lane] & 31;
        let me = lane as u32;
        let low = me & segment;
        let high = low | clamp & !segment;
        let (from, ok) = match mode {
            ShuffleMode::Up => (me.wrapping_sub(by), me as i32 - by as i32 >= high as i32),
            ShuffleMode::Down => (me + by, me + by <= high),
            ShuffleMode::Butterfly => (me ^ by, me ^ by <= high),
            ShuffleMode::Index => {
                let from = low | by & !segment;
                (from, from <= high)
            }
        };
        let from = if ok { from & 31 } else { me };
        valid |= u32::from(ok) << lane;
        // What a lane outside the group gives is undefined: make it show.
        let known = active >> from & 1 != 0;
        out[lane] = u64::from(if known { value[from as usize] } else { !value[from as usize] });
    });
    warp.write(dst, false, active, &out);
    warp.set_pred(inside, active, valid);
}

/// VOTE: the predicate holds in all, in any, or in all or none of the lanes; the register gets the
/// lanes where it holds.
pub fn vote(warp: &mut Warp, mode: VoteMode, dst: Dst, holds: PredDst, pred: PredSrc, active: u32) {
    let ballot = active & warp.pred(pred);
    let result = match mode {
        VoteMode::All => ballot == active,
        VoteMode::Any => ballot != 0,
        VoteMode::Equal => ballot == active || ballot == 0,
    };
    warp.write(dst, false, active, &[u64::from(ballot); LANES]);
    warp.set_pred(holds, active, if result { !0 } else { 0 });
}

/// MATCH.ANY: the lanes with the same value. MATCH.ALL: all lanes, where they all have the same,
/// else none.
pub fn matching(warp: &mut Warp, all: bool, dst: Dst, holds: PredDst, src: &Src, active: u32) {
    let mut values = [0; LANES];
    warp.read(src, &mut values);
    let mut out = [0u64; LANES];
    each_lane(active, |lane| {
        each_lane(active, |other| {
            out[lane] |= u64::from(values[lane] == values[other]) << other;
        });
    });
    if all {
        let same = out[super::env::first(active)] == u64::from(active);
        out = [if same { u64::from(active) } else { 0 }; LANES];
        warp.set_pred(holds, active, if same { !0 } else { 0 });
    }
    warp.write(dst, false, active, &out);
}

/// REDUX
pub fn reduce(warp: &mut Warp, kind: ReduceKind, dst: Dst, src: &Src, active: u32) {
    let values = warp.read32(src);
    let mut result = values[super::env::first(active)];
    each_lane(active & (active - 1), |lane| {
        let x = values[lane];
        result = match kind {
            ReduceKind::Add => result.wrapping_add(x),
            ReduceKind::Min => result.min(x),
            ReduceKind::Max => result.max(x),
            ReduceKind::MinSigned => (result as i32).min(x as i32) as u32,
            ReduceKind::MaxSigned => (result as i32).max(x as i32) as u32,
            ReduceKind::And => result & x,
            ReduceKind::Or => result | x,
            ReduceKind::Xor => result ^ x,
        };
    });
    warp.write(dst, false, active, &[u64::from(result); LANES]);
}

/// R2UR: the first lane's value; the predicate where a lane's own is another.
pub fn to_uniform(
    warp: &mut Warp,
    dst: Dst,
    src: &Src,
    (differs, or): (PredDst, bool),
    active: u32,
) {
    let values = warp.read32(src);
    let chosen = values[super::env::first(active)];
    let mut other = 0;
    each_lane(active, |lane| other |= u32::from(values[lane] != chosen) << lane);
    if or && differs != PredDst::NOWHERE {
        other |= warp.pred(PredSrc { uniform: differs.uniform, index: differs.index, not: false });
    }
    warp.write(dst, false, active, &values.map(u64::from));
    warp.set_pred(differs, active, other);
}

/// P2R and UP2UR: the predicates of the mask replace those bits of a byte of the first source.
pub fn pred_to_reg(
    warp: &mut Warp,
    uniform: bool,
    dst: Dst,
    src: &[Src; 2],
    byte: u8,
    active: u32,
) {
    let (a, mask) = (warp.read32(&src[0]), warp.read32(&src[1]));
    let shift = 8 * u32::from(byte);
    let mut out = [0; LANES];
    each_lane(active, |lane| {
        let mask = (mask[lane] & 0x7f) << shift;
        out[lane] = u64::from(a[lane] & !mask | warp.pred_byte(uniform, lane) << shift & mask);
    });
    warp.write(dst, false, active, &out);
}

/// R2P and UR2UP: the bits of a byte become the predicates of the mask.
pub fn reg_to_pred(warp: &mut Warp, uniform: bool, src: &[Src; 2], byte: u8, active: u32) {
    let (a, mask) = (warp.read32(&src[0]), warp.read32(&src[1]));
    for p in 0..PRED_TRUE {
        let (mut chosen, mut bits) = (0, 0);
        each_lane(active, |lane| {
            chosen |= (mask[lane] >> p & 1) << lane;
            bits |= (a[lane] >> (8 * u32::from(byte) + u32::from(p)) & 1) << lane;
        });
        warp.set_pred(PredDst { uniform, index: p }, chosen, bits);
    }
}
