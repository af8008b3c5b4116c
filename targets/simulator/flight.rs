//! Copies that run by themselves: what is under way in a cluster, and what waits for it.
//!
//! A copy may be done at any time between its issue and the wait that completes it. By default it
//! is done at that wait, with what then stands at its source, so that a program that forgets to
//! wait reads what was there before; the knob [`Completion`] does it at its issue instead. A
//! program whose result depends on the knob is wrong.

use super::kinds::{AtomicKind, AtomicType};
use std::collections::BTreeMap;

/// When copies that run by themselves are done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Completion {
    /// As late as the wait that completes them, or the end of the cluster.
    #[default]
    AtWait,
    /// At once, when they are issued.
    AtIssue,
}

/// Copies and groups of copies that a cluster may have under way; the oldest are done when there
/// are more.
pub const MAX_COPIES: usize = 1 << 14;

/// Where bytes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Global(u64),
    /// With the rank of its CTA.
    Shared(u64),
    /// A value over and over: its bytes, and how many they are.
    Value([u8; 16], u8),
}

/// Where bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Global(u64),
    /// With the rank of its CTA.
    Shared(u64),
}

/// What a reduction does with an element, and its size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reduction {
    pub kind: AtomicKind,
    pub ty: AtomicType,
    pub bytes: u8,
}

/// A run of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    pub from: Source,
    pub to: Target,
    pub bytes: u32,
    pub reduce: Option<Reduction>,
}

/// What a barrier in shared memory hears when a copy is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signal {
    /// With the rank of its CTA.
    pub barrier: u64,
    pub arrivals: u32,
    /// Bytes that have come.
    pub bytes: u32,
}

/// What completes a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The group of its warp that is committed next.
    Open(Kind),
    /// A group of its warp.
    Group(Kind, u64),
    /// The barriers that it signals.
    Barrier,
    /// The same; and all copies of kind [`Kind::Lanes`] of its warp's lanes are done before.
    After,
}

/// Who counts groups: `cp.async` and bulk copies do so apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Lanes,
    Bulk,
}

/// Who issued a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issuer {
    pub rank: u32,
    pub warp: u32,
    pub lanes: u32,
    /// Index of the instruction.
    pub pc: u32,
}

impl Issuer {
    /// The same warp, and some lane in common.
    pub fn meets(&self, other: &Issuer) -> bool {
        (self.rank, self.warp) == (other.rank, other.warp) && self.lanes & other.lanes != 0
    }
}

/// One instruction's work, with the lane of each move and signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub issuer: Issuer,
    pub moves: Vec<(u8, Move)>,
    pub signals: Vec<(u8, Signal)>,
    pub wait: Wait,
}

/// What a cluster has under way.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    copies: Vec<Transfer>,
    /// Committed groups, in order: number and lanes of the warp.
    groups: Vec<(u64, Issuer)>,
    next: u64,
    /// Barriers in shared memory that were initialised, by address with the rank, and what they
    /// held last.
    pub barriers: BTreeMap<u64, u64>,
    /// A wait at a barrier in shared memory has ended since somebody looked.
    pub woken: bool,
    /// Turns of the cluster.
    pub turns: u64,
}

impl Flight {
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// More is under way than may be.
    pub fn is_full(&self) -> bool {
        self.copies.len() >= MAX_COPIES
    }

    pub fn push(&mut self, copy: Transfer) {
        self.copies.push(copy);
    }

    /// Makes a group of what the lanes have issued of a kind since the last one. True where there
    /// are too many groups.
    pub fn commit(&mut self, kind: Kind, issuer: Issuer) -> bool {
        let mut group = issuer;
        for copy in &mut self.copies {
            if copy.wait == Wait::Open(kind) && copy.issuer.meets(&issuer) {
                copy.wait = Wait::Group(kind, self.next);
                group.lanes |= copy.issuer.lanes;
            }
        }
        self.groups.push((self.next, group));
        self.next += 1;
        self.groups.len() > MAX_COPIES
    }

    /// Takes out the copies of all but the youngest `keep` groups of these lanes.
    pub fn take_groups(&mut self, issuer: Issuer, keep: usize) -> Vec<Transfer> {
        let own = self.groups.iter().filter(|(_, by)| by.meets(&issuer)).count();
        let mut done = Vec::new();
        let mut left = own.saturating_sub(keep);
        self.groups.retain(|(number, by)| {
            let ends = left > 0 && by.meets(&issuer);
            if ends {
                left -= 1;
                done.push(*number);
            }
            !ends
        });
        self.take(|copy| matches!(copy.wait, Wait::Group(_, number) if done.contains(&number)))
    }

    /// Takes out the copies that signal a barrier.
    pub fn take_barrier(&mut self, barrier: u64) -> Vec<Transfer> {
        self.take(|copy| copy.signals.iter().any(|(_, signal)| signal.barrier == barrier))
    }

    /// Takes out everything; groups end.
    pub fn take_all(&mut self) -> Vec<Transfer> {
        self.groups.clear();
        std::mem::take(&mut self.copies)
    }

    /// Takes out copies, and what must be done before them, in their order.
    fn take(&mut self, wanted: impl Fn(&Transfer) -> bool) -> Vec<Transfer> {
        let mut ends: Vec<bool> = self.copies.iter().map(&wanted).collect();
        for at in 0..ends.len() {
            if !ends[at] || self.copies[at].wait != Wait::After {
                continue;
            }
            let after = self.copies[at].issuer;
            for (end, copy) in ends[..at].iter_mut().zip(&self.copies) {
                let lanes =
                    matches!(copy.wait, Wait::Open(Kind::Lanes) | Wait::Group(Kind::Lanes, _));
                *end |= lanes && copy.issuer.meets(&after);
            }
        }
        let mut ends = ends.into_iter();
        self.copies.extract_if(.., |_| ends.next() == Some(true)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARP: Issuer = Issuer { rank: 0, warp: 0, lanes: !0, pc: 0 };

    fn copy(wait: Wait, barrier: Option<u64>) -> Transfer {
        let signals = barrier.map(|barrier| (0, Signal { barrier, arrivals: 1, bytes: 0 }));
        Transfer { issuer: WARP, moves: Vec::new(), signals: signals.into_iter().collect(), wait }
    }

    #[test]
    fn all_but_the_youngest_groups_end_oldest_first() {
        let mut flight = Flight::default();
        for _ in 0..3 {
            flight.push(copy(Wait::Open(Kind::Lanes), None));
            flight.commit(Kind::Lanes, WARP);
        }
        flight.push(copy(Wait::Open(Kind::Lanes), None));
        assert_eq!(flight.take_groups(WARP, 3).len(), 0);
        let done = flight.take_groups(WARP, 1);
        assert_eq!(
            done.iter().map(|c| c.wait).collect::<Vec<_>>(),
            [0, 1].map(|n| Wait::Group(Kind::Lanes, n))
        );
        assert_eq!(flight.take_groups(WARP, 0).len(), 1);
        // What is in no group yet stays.
        assert!(!flight.is_empty());
    }

    #[test]
    fn groups_of_other_lanes_are_not_waited_for() {
        let mut flight = Flight::default();
        let [low, high] = [0xffff, 0xffff_0000].map(|lanes| Issuer { lanes, ..WARP });
        flight.push(Transfer { issuer: low, ..copy(Wait::Open(Kind::Bulk), None) });
        flight.commit(Kind::Bulk, low);
        assert_eq!(flight.take_groups(high, 0), []);
        assert_eq!(flight.take_groups(low, 0).len(), 1);
    }

    #[test]
    fn a_barrier_ends_what_signals_it_and_what_that_comes_after() {
        let mut flight = Flight::default();
        flight.push(copy(Wait::Open(Kind::Lanes), None));
        flight.push(copy(Wait::Barrier, Some(0x400)));
        flight.push(copy(Wait::After, Some(0x408)));
        flight.push(copy(Wait::Open(Kind::Lanes), None));
        assert_eq!(flight.take_barrier(0x410), []);
        let done = flight.take_barrier(0x408);
        assert_eq!(
            done.iter().map(|c| c.wait).collect::<Vec<_>>(),
            [Wait::Open(Kind::Lanes), Wait::After]
        );
        assert_eq!(flight.take_all().len(), 2);
    }
}
