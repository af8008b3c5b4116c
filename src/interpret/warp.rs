//! A warp's state: registers, call stacks, and the groups of lanes that stand at the same
//! instruction.

use std::collections::VecDeque;

use orias_targets::memory::{MemorySpace, Region};

use super::operand::RANK_SHIFT;
use super::operand::{BarrierKind, Dst, Dynamic, LANES, Row, Slot, Src};

/// The first address of a thread's local memory: zero stays unmapped.
const LOCAL_BASE: u64 = 0x400;

/// Groups that run this many instructions while another one could run give way to it: lanes may
/// spin on each other.
const PATIENCE: u32 = 20_000;

/// The state of a warp.
pub struct Warp {
    /// In its block.
    pub index: u32,
    /// Where its block stands.
    pub block: BlockPlace,
    /// Lanes that have arrived at the cluster's barrier in its current phase, and the phase that
    /// each one last arrived in.
    pub cluster_arrived: u32,
    /// Those of `wgmma`.
    pub products: Products,
    /// See [`Warp::cluster_arrived`].
    pub cluster_phase: [Option<u64>; LANES],
    /// The stack of register frames.
    pub rows: Vec<Row>,
    /// Its threads, in order.
    pub lanes: Vec<Lane>,
    /// Its lanes by where they stand; none of those that have exited.
    pub groups: Vec<Group>,
    /// Lanes that have not exited.
    pub live: u32,
    /// Instructions that this warp has executed.
    pub clock: u64,
    /// Instructions since another group was preferred; counts only while several could run.
    streak: u32,
    rotation: usize,
}

/// The asynchronous products of a warp (`wgmma`).
#[derive(Clone, Debug, Default)]
pub struct Products {
    /// Those that it has done its part of.
    pub done: u64,
    /// How many there were at each commit that was not waited for.
    pub committed: VecDeque<u64>,
}

/// Where a block stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockPlace {
    /// In the grid.
    pub id: [u32; 3],
    /// Its cluster among the clusters, and itself in its cluster.
    pub cluster: [u32; 3],
    /// Of its block in its cluster.
    pub in_cluster: [u32; 3],
    /// The same as one number.
    pub rank: u32,
}

/// One thread of a warp.
pub struct Lane {
    /// Its number in the block.
    pub thread: [u32; 3],
    /// Its stack.
    pub local: Region,
    /// Where the current frame begins in local memory, and where the stack ends.
    pub frame: u64,
    /// See [`Lane::frame`].
    pub top: u64,
    /// Calls that it is in, the innermost last.
    pub calls: Vec<Return>,
}

/// Where a lane goes on after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Return {
    /// Of the call.
    pub pc: u32,
    /// The first row of the caller's frame.
    pub base: u32,
    /// Where the caller's frame begins in local memory.
    pub frame: u64,
    /// Where the stack ended.
    pub top: u64,
}

/// Lanes that are at the same instruction with the same frame.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The next instruction.
    pub pc: u32,
    /// The first row of their frame.
    pub base: u32,
    /// Calls that they are in.
    pub depth: u32,
    /// One bit a lane.
    pub mask: u32,
    /// Whether they can go on.
    pub state: State,
}

/// Whether a group of lanes can go on, or what it waits for.
#[derive(Clone, Copy, Debug)]
pub enum State {
    Ready,
    /// For lanes of the instruction's member mask.
    Waiting,
    /// The lanes that it waited for came, at other instructions: it goes on without an exchange, as
    /// the hardware does.
    Released,
    /// For the other warps of its group to do their parts of so many products; the program counter
    /// is already behind.
    Products(u64),
    /// At the cluster's barrier; the program counter is already behind it.
    Cluster,
    /// At a barrier of the block; the program counter is already behind it.
    Barrier {
        id: usize,
        kind: BarrierKind,
        dst: Dst,
    },
}

impl Warp {
    /// A warp whose threads all stand at `pc`.
    pub fn new(
        index: u32,
        block: BlockPlace,
        threads: Vec<[u32; 3]>,
        pc: u32,
        rows: u32,
        frame: u64,
    ) -> Warp {
        let live = (u64::MAX >> (64 - threads.len().clamp(1, LANES))) as u32;
        let lane = |thread| Lane {
            thread,
            local: Region::new(
                "the thread's local memory",
                MemorySpace::Local,
                LOCAL_BASE,
                vec![0; frame as usize],
            ),
            frame: LOCAL_BASE,
            top: LOCAL_BASE + frame,
            calls: Vec::new(),
        };
        Warp {
            index,
            block,
            cluster_arrived: 0,
            products: Products::default(),
            cluster_phase: [None; LANES],
            rows: vec![[0; LANES]; rows as usize],
            lanes: threads.into_iter().map(lane).collect(),
            groups: vec![Group { pc, base: 0, depth: 0, mask: live, state: State::Ready }],
            live,
            clock: 0,
            streak: 0,
            rotation: 0,
        }
    }

    /// The group to run, merged with those that stand at the same place; None when all wait.
    ///
    /// The deepest in calls goes first, of those the one with the lowest program counter: it is the
    /// one that the others wait for to reconverge.
    pub fn pick(&mut self) -> Option<usize> {
        let runs = |g: &Group| matches!(g.state, State::Ready | State::Released);
        let ready = self.groups.iter().filter(|g| runs(g)).count();
        let mut chosen = (0..self.groups.len())
            .filter(|i| runs(&self.groups[*i]))
            .min_by_key(|i| (u32::MAX - self.groups[*i].depth, self.groups[*i].pc))?;
        if ready < 2 {
            self.streak = 0;
        } else if self.streak >= PATIENCE {
            self.streak = 0;
            self.rotation += 1;
        }
        // Every second time the groups are taken by rotation.
        if ready >= 2 && self.rotation % 2 == 1 {
            let others = (0..self.groups.len()).filter(|i| runs(&self.groups[*i]));
            chosen = others.cycle().nth(self.rotation / 2 % ready).unwrap_or(chosen);
        }
        Some(self.merge(chosen))
    }

    /// Counts the instructions that a group ran, for fairness.
    pub fn ran(&mut self, count: u32) {
        self.streak = self.streak.saturating_add(count);
    }

    fn merge(&mut self, chosen: usize) -> usize {
        if self.groups.len() == 1 {
            return chosen;
        }
        let Group { pc, base, depth, state, .. } = self.groups[chosen];
        if matches!(state, State::Released) {
            return chosen;
        }
        let same = |g: &Group| {
            (g.pc, g.base, g.depth) == (pc, base, depth)
                && matches!(g.state, State::Ready | State::Waiting)
        };
        let mask = self.groups.iter().filter(|g| same(g)).fold(0, |mask, g| mask | g.mask);
        self.groups[chosen].mask = mask;
        let mut at = 0;
        let mut kept = chosen;
        self.groups.retain(|g| {
            let keep = at == chosen || !same(g);
            if !keep && at < chosen {
                kept -= 1;
            }
            at += 1;
            keep
        });
        kept
    }

    /// The program counter at which `group` reconverges with the next other one, if it runs
    /// straight on.
    pub fn next_group_at(&self, group: &Group) -> u32 {
        self.groups
            .iter()
            .filter(|g| (g.base, g.depth) == (group.base, group.depth) && g.pc > group.pc)
            .filter(|g| matches!(g.state, State::Ready | State::Waiting))
            .map(|g| g.pc)
            .min()
            .unwrap_or(u32::MAX)
    }

    /// Takes lanes out for good.
    pub fn exit(&mut self, group: usize, lanes: u32) {
        self.live &= !lanes;
        self.groups[group].mask &= !lanes;
        // Who waited for them may go on.
        for g in &mut self.groups {
            if matches!(g.state, State::Waiting) {
                g.state = State::Ready;
            }
        }
        self.groups.retain(|g| g.mask != 0);
    }

    /// The values of a source for all lanes.
    #[inline]
    pub fn fetch(&self, src: Src, base: u32, out: &mut Row) {
        match src {
            Src::Slot(Slot(slot)) => *out = self.rows[(base + slot) as usize],
            Src::Not(Slot(slot)) => {
                *out = self.rows[(base + slot) as usize];
                out.iter_mut().for_each(|x| *x ^= 1);
            }
            Src::Imm(value) => *out = [value; LANES],
            Src::Frame(offset) => {
                for (x, lane) in out.iter_mut().zip(&self.lanes) {
                    *x = lane.frame.wrapping_add(offset);
                }
            }
            Src::Shared(offset) => {
                *out = [offset.wrapping_add(u64::from(self.block.rank) << RANK_SHIFT); LANES];
            }
            Src::Special(special) => self.special(special, out),
        }
    }

    /// The same as a new row.
    #[inline]
    pub fn row(&self, src: Src, base: u32) -> Row {
        let mut row = [0; LANES];
        self.fetch(src, base, &mut row);
        row
    }

    fn special(&self, special: Dynamic, out: &mut Row) {
        for (lane, x) in out.iter_mut().enumerate() {
            let bit = 1u32 << lane;
            let thread = self.lanes.get(lane).map_or([0; 3], |l| l.thread);
            *x = match special {
                Dynamic::Tid(axis) => thread[usize::from(axis.min(2))].into(),
                Dynamic::CtaId(axis) => self.block.id[usize::from(axis.min(2))].into(),
                Dynamic::ClusterId(axis) => self.block.cluster[usize::from(axis.min(2))].into(),
                Dynamic::ClusterCtaId(axis) => {
                    self.block.in_cluster[usize::from(axis.min(2))].into()
                }
                Dynamic::ClusterCtaRank => self.block.rank.into(),
                Dynamic::LaneId => lane as u64,
                Dynamic::WarpId => self.index.into(),
                Dynamic::Clock => self.clock,
                Dynamic::MaskEq => bit.into(),
                Dynamic::MaskLt => (bit - 1).into(),
                Dynamic::MaskLe => (bit | (bit - 1)).into(),
                Dynamic::MaskGt => (!(bit | (bit - 1))).into(),
                Dynamic::MaskGe => (!(bit - 1)).into(),
            };
        }
    }

    /// Writes the lanes of `mask`.
    #[inline]
    pub fn write(&mut self, dst: Dst, base: u32, mask: u32, values: &Row) {
        let row = &mut self.rows[(base + dst.slot.0) as usize];
        for lane in bits(mask) {
            row[lane] = values[lane] & dst.mask;
        }
    }

    /// The lanes of `mask` whose guard lets them execute.
    #[inline]
    pub fn guarded(&self, guard: Option<(Slot, bool)>, base: u32, mask: u32) -> u32 {
        let Some((Slot(slot), negated)) = guard else { return mask };
        let row = &self.rows[(base + slot) as usize];
        let mut set = 0;
        for (lane, value) in row.iter().enumerate() {
            set |= ((*value & 1) as u32) << lane;
        }
        mask & if negated { !set } else { set }
    }
}

/// The positions of the set bits, lowest first.
#[inline]
pub fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
