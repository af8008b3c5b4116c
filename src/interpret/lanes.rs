//! Exchanges between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect` (PTX ISA 9.0,
//! "Parallel Synchronization and Communication Instructions").

use super::code::{Op, Reduction, ReductionKind, Shuffle, Vote};
use super::integer::less;
use super::matrix::ALL;
use super::operand::{Dst, LANES, Row, Src};
use super::warp::{Warp, bits};

/// The member mask of an instruction that lanes do together.
pub fn members(op: &Op) -> Option<Src> {
    match op {
        Op::WarpBarrier(mask)
        | Op::Shuffle { mask, .. }
        | Op::Vote { mask, .. }
        | Op::Match { mask, .. }
        | Op::Reduce { mask, .. }
        | Op::Elect { mask, .. } => Some(*mask),
        Op::Matrix(_) => Some(Src::Imm(ALL)),
        _ => None,
    }
}

/// Whether threads at these two instructions exchange with each other, where their member masks are
/// the same: "the executing thread waits until all non-exited threads of membermask have executed
/// [the instruction] with the same qualifiers and same membermask value", at whatever place.
pub fn are_partners(one: &Op, other: &Op) -> bool {
    match (one, other) {
        (Op::WarpBarrier(_), Op::WarpBarrier(_)) | (Op::Elect { .. }, Op::Elect { .. }) => true,
        (Op::Shuffle { mode, .. }, Op::Shuffle { mode: other, .. }) => mode == other,
        (Op::Vote { mode, .. }, Op::Vote { mode: other, .. }) => mode == other,
        (Op::Match { all, wide, .. }, Op::Match { all: other, wide: long, .. }) => {
            (all, wide) == (other, long)
        }
        (Op::Reduce { f, .. }, Op::Reduce { f: other, .. }) => f == other,
        _ => false,
    }
}

/// Lanes at one instruction, whose frame begins at `base`.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// What they do.
    pub op: &'a Op,
    /// The first row of their frame.
    pub base: u32,
    /// One bit each.
    pub lanes: u32,
}

/// Does the instruction for the lanes of all parts, which are partners; `members` holds each lane's
/// member mask.
pub fn execute(warp: &mut Warp, parts: &[Part<'_>], members: &Row) {
    let Some(first) = parts.first() else { return };
    let come = parts.iter().fold(0, |lanes, part| lanes | part.lanes);
    // The lanes that a lane exchanges with.
    let with = |lane: usize| members[lane] as u32 & come;
    let (mut values, mut holds) = ([0; LANES], [0; LANES]);
    match first.op {
        Op::Shuffle { mode, .. } => {
            let sources = [0, 1, 2].map(|at| sources(warp, parts, at));
            let [a, b, c] = &sources;
            for lane in bits(come) {
                let (from, ok) = shuffle_source(*mode, lane as u64, b[lane], c[lane]);
                // A lane that does not take part has no value to give: the result is the lane's
                // own.
                let from = if come >> from & 1 != 0 { from } else { lane };
                values[lane] = a[from];
                holds[lane] = u64::from(ok);
            }
        }
        Op::Vote { mode, .. } => {
            let a = sources(warp, parts, 0);
            let votes = bits(come).fold(0u32, |set, lane| set | ((a[lane] & 1) as u32) << lane);
            for lane in bits(come) {
                let (members, votes) = (with(lane), votes & with(lane));
                values[lane] = match mode {
                    Vote::All => u64::from(votes == members),
                    Vote::Any => u64::from(votes != 0),
                    Vote::Uniform => u64::from(votes == 0 || votes == members),
                    Vote::Ballot => votes.into(),
                };
            }
        }
        Op::Match { all, .. } => {
            let a = sources(warp, parts, 0);
            for lane in bits(come) {
                let equal = bits(with(lane))
                    .filter(|other| a[*other] == a[lane])
                    .fold(0u32, |set, other| set | 1 << other);
                let everyone = equal == with(lane);
                values[lane] = if *all && !everyone { 0 } else { equal.into() };
                holds[lane] = u64::from(everyone);
            }
        }
        Op::Reduce { f, .. } => {
            let a = sources(warp, parts, 0);
            for lane in bits(come) {
                let mut others = bits(with(lane)).map(|other| a[other]);
                let first = others.next().unwrap_or(a[lane]);
                values[lane] = others.fold(first, |x, y| reduce(*f, x, y));
            }
        }
        Op::Elect { .. } => {
            for lane in bits(come) {
                let leader = with(lane).trailing_zeros();
                values[lane] = leader.into();
                holds[lane] = u64::from(leader as usize == lane);
            }
        }
        _ => return,
    }
    for part in parts {
        let (dst, valid) = results(part.op);
        for (dst, row) in [(dst, &values), (valid, &holds)] {
            if let Some(dst) = dst {
                warp.write(dst, part.base, part.lanes, row);
            }
        }
    }
}

/// The operand of this number, for each lane from its own part's instruction.
fn sources(warp: &Warp, parts: &[Part<'_>], at: usize) -> Row {
    let row = |part: &Part<'_>| source(part.op, at).map(|src| warp.row(src, part.base));
    let mut rows = parts.iter().map(|part| (part.lanes, row(part).unwrap_or([0; LANES])));
    let mut all = rows.next().map_or([0; LANES], |(_, row)| row);
    for (lanes, row) in rows {
        bits(lanes).for_each(|lane| all[lane] = row[lane]);
    }
    all
}

fn source(op: &Op, at: usize) -> Option<Src> {
    match op {
        Op::Shuffle { a, b, c, .. } => [a, b, c].get(at).map(|src| **src),
        Op::Vote { a, .. } | Op::Match { a, .. } | Op::Reduce { a, .. } => Some(*a),
        _ => None,
    }
}

fn results(op: &Op) -> (Option<Dst>, Option<Dst>) {
    match op {
        Op::Shuffle { dst, valid, .. }
        | Op::Match { dst, valid, .. }
        | Op::Elect { dst, valid, .. } => (Some(*dst), Some(*valid)),
        Op::Vote { dst, .. } | Op::Reduce { dst, .. } => (Some(*dst), None),
        _ => (None, None),
    }
}

fn reduce(f: Reduction, a: u64, b: u64) -> u64 {
    let less = |a, b| less(a, b, 32, f.signed);
    match f.kind {
        ReductionKind::Add => a.wrapping_add(b),
        ReductionKind::Min if less(b, a) => b,
        ReductionKind::Max if less(a, b) => b,
        ReductionKind::Min | ReductionKind::Max => a,
        ReductionKind::And => a & b,
        ReductionKind::Or => a | b,
        ReductionKind::Xor => a ^ b,
    }
}

/// The lane that `shfl` reads, and whether it lies in range: the pseudo code of PTX ISA 9.0,
/// "shfl.sync".
fn shuffle_source(mode: Shuffle, lane: u64, b: u64, c: u64) -> (usize, bool) {
    let (b, clamp, segment) = (b & 0x1f, c & 0x1f, c >> 8 & 0x1f);
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (from, ok) = match mode {
        // Up stops at the lowest lane of the segment.
        Shuffle::Up => (lane.wrapping_sub(b), lane as i64 - b as i64 >= max as i64),
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Bfly => (lane ^ b, lane ^ b <= max),
        Shuffle::Idx => {
            let from = min | (b & !segment);
            (from, from <= max)
        }
    };
    if ok { ((from & 0x1f) as usize, true) } else { (lane as usize, false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_stay_in_their_segment() {
        // Width 32: c is 0x1f, for up 0. Width 8: the segment mask is 0x18 in bits 8 to 12.
        let (full, eight, up_eight) = (0x1f, 0x181f, 0x1800);
        assert_eq!(shuffle_source(Shuffle::Down, 30, 1, full), (31, true));
        assert_eq!(shuffle_source(Shuffle::Down, 31, 1, full), (31, false));
        assert_eq!(shuffle_source(Shuffle::Up, 0, 1, 0), (0, false));
        assert_eq!(shuffle_source(Shuffle::Up, 9, 1, up_eight), (8, true));
        assert_eq!(shuffle_source(Shuffle::Up, 8, 1, up_eight), (8, false));
        assert_eq!(shuffle_source(Shuffle::Down, 15, 1, eight), (15, false));
        assert_eq!(shuffle_source(Shuffle::Bfly, 5, 16, full), (21, true));
        assert_eq!(shuffle_source(Shuffle::Idx, 12, 3, eight), (11, true));
        assert_eq!(shuffle_source(Shuffle::Idx, 12, 35, full), (3, true));
    }
}
