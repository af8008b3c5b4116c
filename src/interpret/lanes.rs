//! Exchanges between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect` (PTX ISA 9.0, "Parallel Synchronization and
//! Communication Instructions").

use super::code::{LANES, Op, Row, Shuffle, Src, Vote};
use super::matrix::ALL;
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

/// Does the instruction for the lanes `come`; `members` holds each lane's member mask.
pub fn execute(warp: &mut Warp, op: &Op, base: u32, come: u32, members: &Row) {
    // The lanes that a lane exchanges with.
    let with = |lane: usize| members[lane] as u32 & come;
    match op {
        Op::Shuffle { mode, dst, valid, a, b, c, .. } => {
            let [a, b, c] = [*a, *b, *c].map(|src| warp.row(src, base));
            let (mut values, mut in_range) = ([0; LANES], [0; LANES]);
            for lane in bits(come) {
                let (from, ok) = shuffle_source(*mode, lane as u64, b[lane], c[lane]);
                // A lane that does not take part has no value to give: the result is the lane's own.
                let from = if come >> from & 1 != 0 { from } else { lane };
                values[lane] = a[from];
                in_range[lane] = u64::from(ok);
            }
            warp.write(*dst, base, come, &values);
            warp.write(*valid, base, come, &in_range);
        }
        Op::Vote { mode, dst, a, .. } => {
            let a = warp.row(*a, base);
            let votes = bits(come).fold(0u32, |set, lane| set | ((a[lane] & 1) as u32) << lane);
            let mut values = [0; LANES];
            for lane in bits(come) {
                let (members, votes) = (with(lane), votes & with(lane));
                values[lane] = match mode {
                    Vote::All => u64::from(votes == members),
                    Vote::Any => u64::from(votes != 0),
                    Vote::Uniform => u64::from(votes == 0 || votes == members),
                    Vote::Ballot => votes.into(),
                };
            }
            warp.write(*dst, base, come, &values);
        }
        Op::Match { all, dst, valid, a, .. } => {
            let a = warp.row(*a, base);
            let (mut values, mut same) = ([0; LANES], [0; LANES]);
            for lane in bits(come) {
                let equal = bits(with(lane))
                    .filter(|other| a[*other] == a[lane])
                    .fold(0u32, |set, other| set | 1 << other);
                let everyone = equal == with(lane);
                values[lane] = if *all && !everyone { 0 } else { equal.into() };
                same[lane] = u64::from(everyone);
            }
            warp.write(*dst, base, come, &values);
            warp.write(*valid, base, come, &same);
        }
        Op::Reduce { f, dst, a, .. } => {
            let a = warp.row(*a, base);
            let mut values = [0; LANES];
            for lane in bits(come) {
                let mut others = bits(with(lane)).map(|other| a[other]);
                let first = others.next().unwrap_or(a[lane]);
                values[lane] = others.fold(first, |x, y| f(x, y, 0));
            }
            warp.write(*dst, base, come, &values);
        }
        Op::Elect { dst, valid, .. } => {
            let (mut values, mut elected) = ([0; LANES], [0; LANES]);
            for lane in bits(come) {
                let leader = with(lane).trailing_zeros();
                values[lane] = leader.into();
                elected[lane] = u64::from(leader as usize == lane);
            }
            warp.write(*dst, base, come, &values);
            warp.write(*valid, base, come, &elected);
        }
        _ => {}
    }
}

/// The lane that `shfl` reads, and whether it lies in range: the pseudo code of PTX ISA 9.0, "shfl.sync".
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
