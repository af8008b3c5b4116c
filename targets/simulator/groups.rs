//! Divergence and reconvergence: the lanes of a warp in groups that each have a program counter.
//!
//! What holds: every lane that has not exited is in exactly one group. Groups run in turn
//! (independent thread scheduling), so a lane may spin on what another lane of its warp will write.
//! Groups join only where the machine says so: at BSYNC, WARPSYNC and collectives, never because
//! their program counters happen to be equal. They wait for each other as long as one of the warp
//! can go on; what becomes of those at BSYNC when none can, [`Groups::give_up`] says.

use super::operand::{BARRIERS, GROUPS, each_lane};
use super::operand::{LANES, Lanes};
use super::saved::Saved;
use smallvec::SmallVec;

/// Why a group does not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Ready,
    /// At BSYNC of this convergence barrier.
    Sync(u8),
    /// At WARPSYNC: each lane waits for the lanes of its `wanted` mask.
    WarpSync,
    /// At WARPSYNC.COLLECTIVE.
    Collective,
    /// At WARPGROUP.DEPBAR, until all four warps have issued so many groups of products of this
    /// scoreboard.
    Products {
        group: u8,
        done: u64,
    },
    /// At a barrier of the CTA, with the threads that it needs where the instruction says so.
    Cta {
        barrier: u8,
        threads: Option<u32>,
    },
    /// At the cluster's barrier.
    Cluster,
    /// At SYNCS.PHASECHK.TRYWAIT: until the barrier at this shared address has completed the phase
    /// of this parity. Then, or when nothing else can go on, it is done again.
    Mbarrier {
        address: u32,
        phase: bool,
    },
}

/// Lanes that run together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Index of the instruction to run next, or at which it waits.
    pub pc: u32,
    pub mask: u32,
    pub state: State,
}

/// All lanes of a warp.
#[derive(Clone, Debug)]
pub struct Groups {
    list: SmallVec<[Group; 4]>,
    current: usize,
    /// Lanes that exist and have exited, or never existed.
    exited: u32,
    wanted: Lanes,
    resume: Lanes,
}

impl Groups {
    pub fn new(pc: u32, mask: u32) -> Groups {
        let mut list = SmallVec::new();
        if mask != 0 {
            list.push(Group { pc, mask, state: State::Ready });
        }
        Groups { list, current: 0, exited: !mask, wanted: [0; LANES], resume: [0; LANES] }
    }

    pub fn list(&self) -> &[Group] {
        &self.list
    }

    /// Lanes that run or wait.
    pub fn live(&self) -> u32 {
        !self.exited
    }

    pub fn is_done(&self) -> bool {
        self.list.is_empty()
    }

    /// The group to run: the current one, or the next that is ready.
    pub fn ready(&mut self) -> Option<Group> {
        let count = self.list.len();
        let at = (0..count).map(|i| (self.current + i) % count);
        self.current = at.into_iter().find(|i| self.list[*i].state == State::Ready)?;
        Some(self.list[self.current])
    }

    /// Lets the next group run, where there is one.
    pub fn rotate(&mut self) {
        self.current += 1;
        if self.current >= self.list.len() {
            self.current = 0;
        }
    }

    pub fn has_other_ready(&self) -> bool {
        self.list.iter().enumerate().any(|(i, g)| i != self.current && g.state == State::Ready)
    }

    /// Makes the group that holds a lane of `mask` the current one.
    pub fn select(&mut self, mask: u32) {
        if let Some(at) = self.list.iter().position(|g| g.mask & mask != 0) {
            self.current = at;
        }
    }

    /// Where the current group goes on.
    pub fn set_pc(&mut self, pc: u32) {
        if let Some(g) = self.list.get_mut(self.current) {
            g.pc = pc;
        }
    }

    /// The lanes of `taken` leave the current group and go on at `target`, the others at `next`.
    /// The current group stays.
    pub fn branch(&mut self, taken: u32, target: u32, next: u32) {
        let Some(g) = self.list.get_mut(self.current) else { return };
        g.pc = next;
        let taken = taken & g.mask;
        if taken == g.mask {
            g.pc = target;
        } else if taken != 0 {
            g.mask &= !taken;
            self.list.push(Group { pc: target, mask: taken, state: State::Ready });
        }
    }

    /// Each lane of `taken` goes on at its own target, the others at `next`.
    pub fn branch_each(&mut self, taken: u32, targets: &Lanes, next: u32) {
        let mut rest = taken;
        let Some(g) = self.list.get(self.current) else { return };
        let full = g.mask;
        while rest != 0 {
            let target = targets[rest.trailing_zeros() as usize];
            let mut same = 0;
            each_lane(rest, |lane| same |= u32::from(targets[lane] == target) << lane);
            rest &= !same;
            if same == full {
                self.set_pc(target);
                return;
            }
            if rest == 0 && taken == full {
                // The last ones keep the group.
                self.set_pc(target);
                return;
            }
            self.branch(same, target, next);
        }
        if taken == 0 {
            self.set_pc(next);
        }
    }

    /// The lanes of `mask`, of the current group, end.
    pub fn exit(&mut self, mask: u32, next: u32, barriers: &mut [Lanes; BARRIERS]) {
        self.exited |= mask;
        if let Some(g) = self.list.get_mut(self.current) {
            g.mask &= !mask;
            g.pc = next;
            if g.mask == 0 {
                self.list.remove(self.current);
            }
        }
        self.settle(barriers);
    }

    /// The lanes of `mask`, of the current group, wait at its instruction; the others go on at
    /// `next`.
    pub fn wait(&mut self, mask: u32, pc: u32, next: u32, state: State) {
        let Some(g) = self.list.get_mut(self.current) else { return };
        let rest = g.mask & !mask;
        *g = Group { pc, mask, state };
        if rest != 0 {
            self.list.push(Group { pc: next, mask: rest, state: State::Ready });
        }
    }

    /// What a lane waits for at WARPSYNC, and where it goes on after a collective.
    pub fn want(&mut self, lane: usize, mask: u32, resume: u32) {
        self.wanted[lane] = mask;
        self.resume[lane] = resume;
    }

    /// Ends a collective: the current group's lanes go on where each came from.
    pub fn end_collective(&mut self) {
        let Some(g) = self.list.get(self.current) else { return };
        let resume = self.resume;
        self.branch_each(g.mask, &resume, g.pc + 1);
    }

    /// Releases what waits at a CTA barrier; true when something did.
    pub fn release_cta(&mut self, barrier: u8) -> bool {
        let mut released = false;
        for g in &mut self.list {
            if matches!(g.state, State::Cta { barrier: b, .. } if b == barrier) {
                (g.pc, g.state) = (g.pc + 1, State::Ready);
                released = true;
            }
        }
        released
    }

    /// Releases what waits for groups of products of which `issued` says how many all warps have
    /// issued.
    pub fn release_products(&mut self, issued: &[u64; GROUPS]) {
        for g in &mut self.list {
            if matches!(g.state, State::Products { group, done } if issued[usize::from(group)] >= done)
            {
                (g.pc, g.state) = (g.pc + 1, State::Ready);
            }
        }
    }

    /// A group waits at a barrier in shared memory.
    #[inline]
    pub fn wait_for_memory(&self) -> bool {
        self.list.iter().any(|g| matches!(g.state, State::Mbarrier { .. }))
    }

    /// Lets what waits at a barrier in shared memory look again; the lanes that do.
    pub fn wake(&mut self, wanted: impl Fn(State) -> bool) -> u32 {
        let mut lanes = 0;
        for g in &mut self.list {
            if matches!(g.state, State::Mbarrier { .. }) && wanted(g.state) {
                g.state = State::Ready;
                lanes |= g.mask;
            }
        }
        lanes
    }

    /// Releases what waits at the cluster's barrier; true when something did.
    pub fn release_cluster(&mut self) -> bool {
        let mut released = false;
        for g in self.list.iter_mut().filter(|g| g.state == State::Cluster) {
            (g.pc, g.state) = (g.pc + 1, State::Ready);
            released = true;
        }
        released
    }

    /// BSSY: the lanes that are here will wait for each other. Lanes that were in a region of this
    /// barrier and have not come to its end leave it for this one, and where this is the same
    /// region entered anew, who waits at its end waits for them in it. ptxas counts on it: at -O0
    /// it has BSSY in loops that some lanes have left for the BSYNC when others come by again.
    pub fn enter(&self, barrier: u8, lanes: u32, end: u32, masks: &mut Lanes) {
        let (mut old, mut together) = (0, lanes);
        each_lane(lanes, |lane| old |= masks[lane]);
        let waiting = |g: &&Group| g.state == State::Sync(barrier) && g.pc + 1 == end;
        let waiting = self.list.iter().filter(waiting).fold(0, |m, g| m | g.mask);
        each_lane(old & waiting, |lane| together |= u32::from(masks[lane] & lanes != 0) << lane);
        each_lane(old, |lane| masks[lane] &= !together);
        each_lane(together, |lane| masks[lane] = together);
    }

    /// Releases all lanes whose wait is over. To be called after an arrival, an exit or a BREAK.
    pub fn settle(&mut self, barriers: &mut [Lanes; BARRIERS]) {
        let mut at = 0;
        while at < self.list.len() {
            let released = match self.list[at].state {
                State::Sync(b) => self.try_sync(at, b, &mut barriers[usize::from(b)]),
                State::WarpSync => self.try_warp_sync(at),
                State::Collective => self.try_collective(at),
                State::Ready
                | State::Cta { .. }
                | State::Products { .. }
                | State::Cluster
                | State::Mbarrier { .. } => false,
            };
            // The list changed: look at all of it again.
            at = if released { 0 } else { at + 1 };
        }
    }

    fn waiting(&self, state: State) -> u32 {
        self.list.iter().filter(|g| g.state == state).fold(0, |m, g| m | g.mask)
    }

    /// Whom the lanes of a group at BSYNC wait for, themselves among them, and who of those is
    /// there.
    fn arrivals(&self, at: usize, barrier: u8, masks: &Lanes) -> (u32, u32) {
        let mask = self.list[at].mask;
        let mut want = mask;
        each_lane(mask, |lane| want |= masks[lane]);
        // A lane that waits at the same barrier, but for others, is in a call deeper: it saved this
        // mask and will be back.
        let mut here = mask;
        each_lane(want & self.waiting(State::Sync(barrier)), |lane| {
            here |= u32::from(masks[lane] & mask != 0) << lane;
        });
        (want & !self.exited, here)
    }

    fn try_sync(&mut self, at: usize, barrier: u8, masks: &mut Lanes) -> bool {
        let (want, here) = self.arrivals(at, barrier, masks);
        if want & !here != 0 {
            return false;
        }
        self.release(here, State::Sync(barrier));
        // Nobody waits here any more: who comes by once again, past BSSY, goes on (observed: ptxas
        // 13.0.88 has jump tables into such regions).
        each_lane(here, |lane| masks[lane] = 0);
        true
    }

    /// Whether all lanes wait for others of their warp: whatever other warps do, none goes on.
    pub fn is_locked(&self) -> bool {
        let inside =
            |g: &Group| matches!(g.state, State::Sync(_) | State::WarpSync | State::Collective);
        !self.list.is_empty() && self.list.iter().all(inside)
    }

    /// Lets go who waits at one BSYNC, as if those who have not come had left the region by BREAK;
    /// says whether somebody waits at one. For a warp of which no lane can go on otherwise: ptxas
    /// counts on it (observed: ptxas 13.0.88 leaves regions without BREAK for a barrier of the CTA,
    /// `tests/cuda/found/left-for-a-barrier-of-the-block.cu`). Which region a machine would give up
    /// is not known. Here it is an inner one: those who are missed at it wait at no BSYNC, so that
    /// an outer region whose lanes wait further in holds.
    pub fn give_up(&mut self, barriers: &mut [Lanes; BARRIERS], saved: &mut Saved) -> bool {
        let mut at_sync = 0;
        let mut waits: SmallVec<[(u8, u32, u32); 4]> = SmallVec::new();
        for (at, g) in self.list.iter().enumerate() {
            if let State::Sync(barrier) = g.state {
                at_sync |= g.mask;
                let (want, here) = self.arrivals(at, barrier, &barriers[usize::from(barrier)]);
                waits.push((barrier, here, want & !here));
            }
        }
        let inner = waits.iter().find(|(_, _, missed)| missed & at_sync == 0);
        let Some((barrier, here, _)) = inner.or(waits.first()).copied() else { return false };
        self.leave(barrier, here, barriers, saved);
        self.settle(barriers);
        true
    }

    /// YIELD: who waits at a BSYNC for one of these lanes goes on, and the region is no longer
    /// waited for. Measured on an H200: the lanes of a compare-and-swap loop with YIELD left its
    /// BSYNC one by one, each as it was done.
    pub fn let_go(&mut self, lanes: u32, barriers: &mut [Lanes; BARRIERS], saved: &mut Saved) {
        let mut at = 0;
        while let Some(group) = self.list.get(at) {
            at += 1;
            let State::Sync(barrier) = group.state else { continue };
            let masks = &barriers[usize::from(barrier)];
            let (want, here) = self.arrivals(at - 1, barrier, masks);
            if want & !here & lanes != 0 {
                self.leave(barrier, here, barriers, saved);
                // The list changed: look at all of it again.
                at = 0;
            }
        }
    }

    /// Lanes that wait at a BSYNC go on as if they had left its region: also for those that have
    /// put the barrier away in a function meanwhile.
    fn leave(
        &mut self,
        barrier: u8,
        lanes: u32,
        barriers: &mut [Lanes; BARRIERS],
        saved: &mut Saved,
    ) {
        saved.leave(barrier, lanes, barriers);
        let masks = &mut barriers[usize::from(barrier)];
        each_lane(lanes, |lane| masks[lane] = 0);
        self.release(lanes, State::Sync(barrier));
    }

    /// Lanes wait for those of their mask to come with the same mask: to wait at a WARPSYNC of
    /// others is not to come.
    fn try_warp_sync(&mut self, at: usize) -> bool {
        let mut rest = self.list[at].mask;
        while rest != 0 {
            let want = self.wanted[rest.trailing_zeros() as usize];
            let mut same = 0;
            each_lane(self.waiting(State::WarpSync), |lane| {
                same |= u32::from(self.wanted[lane] == want) << lane;
            });
            if want & !self.exited & !same == 0 {
                self.release(same, State::WarpSync);
                return true;
            }
            rest &= !same;
        }
        false
    }

    /// The lanes of `lanes` that wait in this state go on behind their instruction; those of the
    /// same place together.
    fn release(&mut self, lanes: u32, state: State) {
        let mut free: SmallVec<[Group; 4]> = SmallVec::new();
        for g in &mut self.list {
            let mask = g.mask & lanes;
            if g.state != state || mask == 0 {
                continue;
            }
            g.mask &= !mask;
            let pc = g.pc + 1;
            match free.iter_mut().find(|f| f.pc == pc) {
                Some(f) => f.mask |= mask,
                None => free.push(Group { pc, mask, state: State::Ready }),
            }
        }
        self.list.retain(|g| g.mask != 0);
        self.list.extend(free);
        self.current = self.list.len() - 1;
    }

    fn try_collective(&mut self, at: usize) -> bool {
        let Group { pc, mask, .. } = self.list[at];
        let mut rest = mask;
        while rest != 0 {
            let want = self.wanted[rest.trailing_zeros() as usize];
            let mut same = 0;
            each_lane(self.waiting(State::Collective), |lane| {
                same |= u32::from(self.wanted[lane] == want) << lane;
            });
            if want & !self.exited & !same == 0 {
                for g in self.list.iter_mut().filter(|g| g.state == State::Collective) {
                    g.mask &= !same;
                }
                self.list.retain(|g| g.mask != 0);
                self.list.push(Group { pc: pc + 1, mask: same, state: State::Ready });
                self.current = self.list.len() - 1;
                return true;
            }
            rest &= !same;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [Lanes; BARRIERS] = [[0; LANES]; BARRIERS];

    fn barrier0(mask: u32) -> [Lanes; BARRIERS] {
        let mut all = NONE;
        all[0] = [mask; LANES];
        all
    }

    #[test]
    fn a_divergent_branch_splits_and_bsync_joins() {
        let mut b = barrier0(!0);
        let mut g = Groups::new(0, !0);
        g.ready();
        g.branch(0xffff, 10, 1);
        assert_eq!(g.list().len(), 2);
        g.wait(0xffff_0000, 5, 6, State::Sync(0));
        g.settle(&mut b);
        let other = g.ready().unwrap();
        assert_eq!((other.pc, other.mask), (10, 0xffff));
        g.wait(0xffff, 5, 6, State::Sync(0));
        g.settle(&mut b);
        assert_eq!(g.list(), [Group { pc: 6, mask: !0, state: State::Ready }]);
    }

    #[test]
    fn bsync_does_not_wait_for_lanes_that_exit() {
        let mut b = barrier0(!0);
        let mut g = Groups::new(0, !0);
        g.ready();
        g.branch(1, 10, 1);
        g.wait(!1, 5, 6, State::Sync(0));
        g.settle(&mut b);
        assert_eq!(g.ready().unwrap().mask, 1);
        g.exit(1, 11, &mut b);
        assert_eq!(g.list(), [Group { pc: 6, mask: !1, state: State::Ready }]);
    }

    #[test]
    fn a_lane_in_a_deeper_call_has_not_arrived() {
        // Lanes 0 and 1 wait for each other; lane 0 waits while lane 1 uses the barrier for itself
        // in a call.
        let mut b = barrier0(0b11);
        let mut g = Groups::new(0, 0b11);
        g.ready();
        g.branch(0b10, 10, 1);
        g.wait(0b01, 5, 6, State::Sync(0));
        g.settle(&mut b);
        b[0][1] = 0b10;
        assert_eq!(g.ready().unwrap().mask, 0b10);
        g.wait(0b10, 20, 21, State::Sync(0));
        g.settle(&mut b);
        assert_eq!(g.ready().unwrap(), Group { pc: 21, mask: 0b10, state: State::Ready });
        assert_eq!(g.list().len(), 2);
        b[0][1] = 0b11;
        g.wait(0b10, 5, 6, State::Sync(0));
        g.settle(&mut b);
        assert_eq!(g.list(), [Group { pc: 6, mask: 0b11, state: State::Ready }]);
    }

    #[test]
    fn who_waits_at_an_inner_bsync_is_let_go_first() {
        // Lane 0 waits at the end of a region of all, lane 1 at that of one inside it, lane 2 has
        // left both for a WARPSYNC of all.
        let mut b = NONE;
        b[0] = [0b111; LANES];
        b[1] = [0b110; LANES];
        let mut g = Groups::new(0, 0b111);
        g.ready();
        g.branch(0b110, 10, 1);
        g.wait(0b001, 5, 6, State::Sync(0));
        g.ready();
        g.branch(0b100, 20, 11);
        g.wait(0b010, 12, 13, State::Sync(1));
        assert!(!g.is_locked());
        assert_eq!(g.ready().unwrap().mask, 0b100);
        g.want(2, 0b111, 0);
        g.wait(0b100, 20, 21, State::WarpSync);
        g.settle(&mut b);
        assert!(g.is_locked() && g.ready().is_none());

        assert!(g.give_up(&mut b, &mut Saved::default()));
        assert_eq!(g.ready().unwrap(), Group { pc: 13, mask: 0b010, state: State::Ready });
        // It comes to the outer end: lane 0 waited for it, and still waits for lane 2.
        g.wait(0b010, 5, 6, State::Sync(0));
        g.settle(&mut b);
        assert!(g.is_locked() && g.give_up(&mut b, &mut Saved::default()));
        assert_eq!(g.ready().unwrap(), Group { pc: 6, mask: 0b011, state: State::Ready });
        for lane in 0..2 {
            g.want(lane, 0b111, 0);
        }
        g.wait(0b011, 20, 21, State::WarpSync);
        g.settle(&mut b);
        assert_eq!(g.list(), [Group { pc: 21, mask: 0b111, state: State::Ready }]);
    }

    #[test]
    fn who_was_not_waited_for_waits_for_nobody_who_has_gone() {
        let mut b = barrier0(0b11);
        let mut g = Groups::new(0, 0b11);
        g.ready();
        g.branch(0b10, 10, 1);
        g.wait(0b01, 5, 6, State::Sync(0));
        assert!(g.give_up(&mut b, &mut Saved::default()));
        g.select(0b10);
        g.wait(0b10, 5, 6, State::Sync(0));
        g.settle(&mut b);
        assert!(g.list().iter().all(|g| g.state == State::Ready && g.pc == 6));
    }

    #[test]
    fn a_warp_without_bsync_has_nobody_to_let_go() {
        let mut g = Groups::new(0, 0b11);
        g.ready();
        g.want(0, 0b11, 0);
        g.wait(0b01, 5, 6, State::WarpSync);
        assert!(!g.give_up(&mut { NONE }, &mut Saved::default()));
    }

    #[test]
    fn warpsync_frees_the_lanes_of_the_mask_only() {
        let mut g = Groups::new(0, 0b1111);
        g.ready();
        g.branch(0b0011, 10, 1);
        for lane in 2..4 {
            g.want(lane, 0b1100, 0);
        }
        g.wait(0b1100, 1, 2, State::WarpSync);
        g.settle(&mut { NONE });
        assert!(g.list().iter().all(|g| g.state == State::Ready));
    }

    #[test]
    fn lanes_at_a_warpsync_of_a_part_have_not_come_to_one_of_all() {
        let mut g = Groups::new(0, 0b111);
        g.ready();
        // Lane 0 is at a WARPSYNC of all, lane 1 at one of lanes 1 and 2, lane 2 elsewhere.
        g.branch(0b110, 10, 1);
        g.want(0, 0b111, 0);
        g.wait(0b001, 5, 6, State::WarpSync);
        g.settle(&mut { NONE });
        assert_eq!(g.ready().unwrap().mask, 0b110);
        g.want(1, 0b110, 0);
        g.wait(0b010, 3, 4, State::WarpSync);
        g.settle(&mut { NONE });
        let last = g.ready().unwrap();
        assert_eq!((last.pc, last.mask), (4, 0b100));
        g.want(2, 0b110, 0);
        g.wait(0b100, 3, 4, State::WarpSync);
        g.settle(&mut { NONE });
        assert_eq!(g.ready().unwrap(), Group { pc: 4, mask: 0b110, state: State::Ready });
        assert!(g.list().contains(&Group { pc: 5, mask: 0b001, state: State::WarpSync }));
    }

    #[test]
    fn a_collective_gathers_each_mask_and_sends_every_lane_back() {
        let mut g = Groups::new(0, 0b1111);
        g.ready();
        // Lanes 0, 1 and 2, 3 want each other; all arrive together.
        for lane in 0..4 {
            g.want(lane, if lane < 2 { 0b0011 } else { 0b1100 }, 20 + lane as u32 % 2);
        }
        g.wait(0b1111, 4, 5, State::Collective);
        g.settle(&mut { NONE });
        let mut masks: Vec<_> = g.list().iter().map(|g| (g.pc, g.mask)).collect();
        masks.sort_unstable();
        assert_eq!(masks, [(5, 0b0011), (5, 0b1100)]);
        let first = g.ready().unwrap().mask;
        g.end_collective();
        let mut back: Vec<_> =
            g.list().iter().filter(|g| g.mask & first != 0).map(|g| g.pc).collect();
        back.sort_unstable();
        assert_eq!(back, [20, 21]);
    }

    #[test]
    fn ready_groups_take_turns() {
        let mut g = Groups::new(0, 3);
        g.ready();
        g.branch(1, 10, 1);
        let a = g.ready().unwrap().mask;
        g.rotate();
        let b = g.ready().unwrap().mask;
        g.rotate();
        assert_eq!((a | b, g.ready().unwrap().mask), (3, a));
    }
}
