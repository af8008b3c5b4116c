//! Groups of lanes that split, leave and go on.

use super::env::Env;
use super::warp::{Group, Warp};

/// What an instruction did to its group.
pub(super) enum Next {
    /// On to the next instruction.
    Fall,
    /// The groups have changed, or their program counters: pick again.
    Regroup,
}

/// Adds a lane to the part with this key.
pub(super) fn add<K: PartialEq>(parts: &mut Vec<(K, u32)>, key: K, lane: usize) {
    match parts.iter_mut().find(|(k, _)| *k == key) {
        Some((_, mask)) => *mask |= 1 << lane,
        None => parts.push((key, 1 << lane)),
    }
}

impl Warp {
    /// Some lanes of a group go to `target`, the others on.
    pub fn branch(&mut self, index: usize, mask: u32, target: u32) -> Next {
        let group = &mut self.groups[index];
        if mask == group.mask {
            // A loop of one group needs no new choice.
            group.pc = target;
            return Next::Regroup;
        }
        self.scatter(index, mask, vec![((target, self.groups[index].base), mask)]);
        Next::Regroup
    }

    /// Splits a group: the lanes of each part go on at its place, those not in `mask` fall through.
    pub fn scatter(&mut self, index: usize, mask: u32, parts: Vec<((u32, u32), u32)>) {
        let group = self.groups[index];
        self.groups[index].pc += 1;
        self.groups[index].mask &= !mask;
        for ((pc, base), mask) in parts {
            self.groups.push(Group { pc, base, mask, ..group });
        }
        if self.groups[index].mask == 0 {
            self.groups.remove(index);
        }
    }

    /// Some lanes of a group exit.
    pub fn leave(&mut self, env: &mut Env<'_>, index: usize, lanes: u32) {
        self.groups[index].pc += 1;
        self.exit(index, lanes);
        env.arrivals = true;
    }
}
