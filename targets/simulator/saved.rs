//! Convergence barriers that functions have put away for their callers (`BMOV.CLEAR`), by lane.
//!
//! A function saves a barrier's mask in a general register or on the stack and restores it before
//! it returns. Meanwhile threads that wait for nobody may leave the region with BREAK. ptxas's code
//! restores the old mask all the same, and would deadlock if they were in it again (observed: ptxas
//! 13.0.88 -O0 and up, `tests/fuzz/found/break-over-calls.ptx`): so what is put back is the saved
//! mask without the lanes that have left since. How often a lane has put a barrier away tells which
//! of the regions that used it, one in each call, a thread leaves.

use super::operand::{BARRIERS, each_lane};
use super::operand::{LANES, Lanes};

/// Barriers that a lane may have put away; more are not remembered. A program that saves without
/// end is wrong.
const MOST: usize = 1 << 14;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    barrier: u8,
    /// As it was saved.
    mask: u32,
    /// Lanes that have left since.
    left: u32,
}

/// What each lane has put away, the last at the end.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    lanes: Vec<Vec<Entry>>,
}

impl Saved {
    /// The lanes of `lanes` take the masks of a barrier away.
    pub fn save(&mut self, barrier: u8, lanes: u32, masks: &Lanes) {
        self.lanes.resize(LANES, Vec::new());
        each_lane(lanes, |lane| {
            let list = &mut self.lanes[lane];
            if list.len() < MOST {
                list.push(Entry { barrier, mask: masks[lane], left: 0 });
            }
        });
    }

    /// A lane puts a mask back: the mask without those who have left it.
    pub fn restore(&mut self, barrier: u8, lane: usize, mask: u32) -> u32 {
        let Some(list) = self.lanes.get_mut(lane) else { return mask };
        let is_it = |e: &Entry| e.barrier == barrier && e.mask == mask;
        let Some(at) = list.iter().rposition(is_it) else { return mask };
        mask & !list.remove(at).left
    }

    /// The lanes of `leaving` leave the regions whose masks they have in this register; takes them
    /// out of the masks of the lanes that stay, in registers and where they are put away.
    pub fn leave(&mut self, barrier: u8, leaving: u32, masks: &mut [Lanes; BARRIERS]) {
        let masks = &mut masks[usize::from(barrier)];
        let old = *masks;
        each_lane(leaving, |leaver| {
            let depth = self.depth(barrier, leaver);
            each_lane(old[leaver] | 1 << leaver, |lane| {
                if self.depth(barrier, lane) == depth {
                    masks[lane] &= !(1 << leaver);
                } else if let Some(list) = self.lanes.get_mut(lane) {
                    let mut entries = list.iter_mut().filter(|e| e.barrier == barrier);
                    if let Some(entry) = entries.nth(depth) {
                        entry.left |= 1 << leaver;
                    }
                }
            });
        });
    }

    /// How often a lane has put a barrier away.
    fn depth(&self, barrier: u8, lane: usize) -> usize {
        let list = self.lanes.get(lane);
        list.map_or(0, |list| list.iter().filter(|e| e.barrier == barrier).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mask: u32) -> [Lanes; BARRIERS] {
        [[mask; LANES]; BARRIERS]
    }

    #[test]
    fn who_leaves_while_a_mask_is_put_away_does_not_come_back() {
        let mut saved = Saved::default();
        let mut masks = all(0b11);
        saved.save(6, 0b01, &masks[6]);
        masks[6][0] = 0;
        saved.leave(6, 0b10, &mut masks);
        assert_eq!(saved.restore(6, 0, 0b11), 0b01);
        assert_eq!((masks[6][1], masks[7][1]), (0b01, 0b11));
    }

    #[test]
    fn who_leaves_a_region_of_a_deeper_call_stays_in_those_above() {
        let mut saved = Saved::default();
        let mut masks = all(0b11);
        saved.save(6, 0b11, &masks[6]);
        saved.leave(6, 0b10, &mut masks);
        assert_eq!(masks[6][..2], [0b01, 0b01]);
        assert_eq!((saved.restore(6, 0, 0b11), saved.restore(6, 1, 0b11)), (0b11, 0b11));
    }

    #[test]
    fn what_was_never_put_away_comes_back_as_it_is() {
        let mut saved = Saved::default();
        assert_eq!(saved.restore(6, 0, 0b11), 0b11);
        saved.save(6, 1, &[0b11; LANES]);
        assert_eq!((saved.restore(6, 0, 0b10), saved.restore(7, 0, 0b11)), (0b10, 0b11));
    }
}
