//! Executing instructions: a warp's time slice.

use super::code::Code;
use super::code::{Barrier, Inst, Op};
use super::env::{BARRIERS, Env};
use super::error::StepError;
use super::groups::{Next, add};
use super::lanes::Part;
use super::operand::{BarrierKind, LANES, Row};
use super::warp::{Group, Products, State, Warp, bits};
use super::{bulk, lanes, matrix, tensor, transfer};
use orias_targets::misuse::Misuse;

/// What stopped a warp: the instruction, a lane, and why.
pub type Failure = (u32, usize, StepError);

impl Warp {
    /// Executes at most `slice` instructions; returns early when all lanes wait.
    pub fn run(&mut self, code: &Code, env: &mut Env<'_>, slice: u32) -> Result<(), Failure> {
        let mut left = slice;
        while left > 0 {
            let Some(index) = self.pick() else {
                if self.release_waiting(code) {
                    continue;
                }
                return Ok(());
            };
            let before = left;
            let result = self.straight(code, env, index, &mut left);
            self.ran(before - left);
            result?;
        }
        Ok(())
    }

    /// Runs a group until it branches, waits, reaches another one, or the slice is over.
    fn straight(
        &mut self,
        code: &Code,
        env: &mut Env<'_>,
        index: usize,
        left: &mut u32,
    ) -> Result<(), Failure> {
        let other = self.next_group_at(&self.groups[index]);
        loop {
            let group = self.groups[index];
            let Some(inst) = code.insts.get(group.pc as usize) else { return Ok(()) };
            let mask = self.guarded(inst.guard, group.base, group.mask);
            *left -= 1;
            self.clock += 1;
            *env.warp_instructions += 1;
            *env.thread_instructions += u64::from(mask.count_ones());
            if let Some(count) = env.reached.get_mut(group.pc as usize) {
                *count += u64::from(group.mask.count_ones());
            }
            let next = self.step(code, env, index, inst, mask);
            if env.misuse.checks.uninitialised {
                self.note_unwritten(env, group.pc, mask);
            }
            match next.map_err(|(lane, error)| (group.pc, lane, error))? {
                Next::Fall => {
                    let pc = group.pc + 1;
                    self.groups[index].pc = pc;
                    if pc == other || *left == 0 {
                        return Ok(());
                    }
                }
                Next::Regroup => return Ok(()),
            }
        }
    }

    /// Reports the reads of unwritten memory that an instruction did.
    #[cold]
    fn note_unwritten(&mut self, env: &mut Env<'_>, pc: u32, mask: u32) {
        let thread = |lane: usize| self.lanes.get(lane).map_or([0; 3], |l| l.thread);
        for shared in env.shared.iter() {
            if let Some((lane, misuse)) = shared.take_unwritten() {
                env.misuse.add(pc, misuse, self.block.id, thread(lane));
            }
        }
        for lane in bits(mask) {
            if let Some((_, misuse)) = self.lanes.get(lane).and_then(|l| l.local.take_unwritten()) {
                env.misuse.add(pc, misuse, self.block.id, thread(lane));
            }
        }
    }

    /// One instruction, by the lanes of `mask` of a group.
    fn step(
        &mut self,
        code: &Code,
        env: &mut Env<'_>,
        index: usize,
        inst: &Inst,
        mask: u32,
    ) -> Result<Next, (usize, StepError)> {
        let Group { base, .. } = self.groups[index];
        let first = mask.trailing_zeros() as usize % LANES;
        let fail = |error| (first, error);
        if mask == 0 {
            return Ok(Next::Fall);
        }
        match &inst.op {
            Op::Nop => {}
            Op::Alu { f, dst, src, arity } => {
                let mut v = [[0; LANES]; 3];
                for i in 0..usize::from(*arity) {
                    self.fetch(src[i], base, &mut v[i]);
                }
                let row = &mut self.rows[(base + dst.slot.0) as usize];
                for lane in bits(mask) {
                    row[lane] = f(v[0][lane], v[1][lane], v[2][lane]) & dst.mask;
                }
            }
            Op::Alu2 { f, dst, src } => {
                let v = src.map(|s| self.row(s, base));
                for lane in bits(mask) {
                    let (x, y) = f([v[0][lane], v[1][lane], v[2][lane], v[3][lane]]);
                    for (dst, value) in dst.iter().zip([x, y]) {
                        self.rows[(base + dst.slot.0) as usize][lane] = value & dst.mask;
                    }
                }
            }
            Op::Copy(pairs) => {
                let rows: Vec<Row> = pairs.iter().map(|(_, src)| self.row(*src, base)).collect();
                for ((dst, _), row) in pairs.iter().zip(&rows) {
                    self.write(*dst, base, mask, row);
                }
            }
            Op::Pack { dst, src, bits: width } => {
                let element = super::integer::mask(*width);
                let mut all = [0; LANES];
                for (i, src) in src.iter().enumerate() {
                    let row = self.row(*src, base);
                    for lane in bits(mask) {
                        all[lane] |= (row[lane] & element) << (i as u32 * width);
                    }
                }
                self.write(*dst, base, mask, &all);
            }
            Op::Unpack { dst, src, bits: width } => {
                let element = super::integer::mask(*width);
                let all = self.row(*src, base);
                for (i, dst) in dst.iter().enumerate() {
                    let row = all.map(|x| x >> (i as u32 * width) & element);
                    self.write(*dst, base, mask, &row);
                }
            }
            Op::Split { dst, src } => {
                let rows = src.map(|src| self.row(src, base));
                for (i, dst) in dst.iter().enumerate() {
                    let row = rows[i / 2].map(|x| x >> (32 * (i % 2)));
                    self.write(*dst, base, mask, &row);
                }
            }
            Op::Branch(target) => return Ok(self.branch(index, mask, *target)),
            Op::Table { index: which, targets } => {
                let row = self.row(*which, base);
                let mut by_target = Vec::new();
                for lane in bits(mask) {
                    let pc = targets.get(row[lane] as usize).ok_or((
                        lane,
                        StepError::Index { index: row[lane], targets: targets.len() },
                    ))?;
                    add(&mut by_target, (*pc, base), lane);
                }
                self.scatter(index, mask, by_target);
                return Ok(Next::Regroup);
            }
            Op::Call(call) => return self.call(code, env, index, mask, call),
            Op::Return => {
                let place = code.places[inst.place as usize];
                return Ok(self.give_back(code, env, index, mask, place.function));
            }
            Op::Exit => {
                self.leave(env, index, mask);
                return Ok(Next::Regroup);
            }
            Op::Trap => return Err(fail(StepError::Trap)),
            Op::GroupCommit => {
                let done = self.products.done;
                self.products.committed.push_back(done);
            }
            Op::GroupWait(open) => {
                let Products { committed, .. } = &mut self.products;
                let closed = committed.len().saturating_sub(*open);
                let needed = committed.drain(..closed).next_back();
                if let Some(needed) = needed {
                    let pc = self.groups[index].pc + 1;
                    self.scatter(index, mask, vec![((pc, base), mask)]);
                    if let Some(group) = self.groups.last_mut() {
                        group.state = State::Products(needed);
                    }
                    env.arrivals = true;
                    return Ok(Next::Regroup);
                }
            }
            Op::ClusterArrive => {
                self.cluster_arrived |= mask;
                bits(mask).for_each(|lane| self.cluster_phase[lane] = Some(env.cluster_phase));
                env.arrivals = true;
            }
            Op::ClusterWait => return Ok(self.wait_for_cluster(env, index, mask)),
            Op::Barrier(barrier) => return self.arrive(env, index, mask, barrier),
            Op::ActiveMask(dst) => self.write(*dst, base, mask, &[mask.into(); LANES]),
            Op::WarpBarrier(_)
            | Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
            | Op::Elect { .. }
            | Op::Matrix(_) => return self.together(code, env, index, inst, mask),
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Atomic(_)
            | Op::Atomic128 { .. }
            | Op::CopyAsync { .. }
            | Op::Mbarrier { .. } => transfer::execute(self, env, &inst.op, base, mask)?,
            Op::Bulk(bulk) => bulk::execute(self, env, bulk, base, mask)?,
            Op::Tensor(copy) => tensor::execute(self, env, copy, base, mask)?,
            Op::MapChange(change) => tensor::change(self, env, change, base, mask)?,
            Op::Alloca { dst, size, align } => {
                self.allocate(base, mask, (*dst, *size, *align))?;
            }
            Op::StackSave(dst) => {
                let mut tops = [0; LANES];
                bits(mask).for_each(|lane| tops[lane] = self.lanes[lane].top);
                self.write(*dst, base, mask, &tops);
            }
            Op::StackRestore(to) => self.restore(base, mask, *to)?,
            Op::Unsupported(what) => return Err(fail(StepError::Unsupported(what.to_string()))),
        }
        Ok(Next::Fall)
    }

    fn arrive(
        &mut self,
        env: &mut Env<'_>,
        index: usize,
        mask: u32,
        barrier: &Barrier,
    ) -> Result<Next, (usize, StepError)> {
        let base = self.groups[index].base;
        let (ids, votes) = (self.row(barrier.id, base), self.row(barrier.a, base));
        let counts = barrier.count.map(|count| self.row(count, base));
        let lane = mask.trailing_zeros() as usize % LANES;
        let id = ids[lane];
        if id >= BARRIERS as u64 {
            return Err((lane, StepError::Barrier(id)));
        }
        if env.misuse.checks.barriers && barrier.aligned && mask != self.live {
            let misuse =
                Misuse::DivergentBarrier { barrier: id as u32, lanes: mask, live: self.live };
            let thread = self.lanes.get(lane).map_or([0; 3], |l| l.thread);
            env.misuse.add(self.groups[index].pc, misuse, self.block.id, thread);
        }
        let state = &mut env.barriers[id as usize];
        // Barriers with a count take warps as a whole: a last warp that is not full counts as 32.
        let whole = counts.is_some() && mask == self.live;
        state.arrived += if whole { LANES as u32 } else { mask.count_ones() };
        if let Some(counts) = counts {
            state.expected = Some(counts[lane] as u32);
        }
        for lane in bits(mask) {
            state.votes += 1;
            state.trues += (votes[lane] & 1) as u32;
        }
        env.arrivals = true;
        if barrier.kind == BarrierKind::Arrive {
            return Ok(Next::Fall);
        }
        let pc = self.groups[index].pc + 1;
        self.scatter(index, mask, vec![((pc, base), mask)]);
        if let Some(group) = self.groups.last_mut() {
            group.state = State::Barrier { id: id as usize, kind: barrier.kind, dst: barrier.dst };
        }
        Ok(Next::Regroup)
    }

    /// `barrier.cluster.wait`: lanes whose phase is not complete wait for it. Who has not arrived
    /// at all waits for the current one.
    fn wait_for_cluster(&mut self, env: &Env<'_>, index: usize, mask: u32) -> Next {
        let done =
            |lane: &usize| self.cluster_phase[*lane].is_some_and(|phase| phase < env.cluster_phase);
        let waiting = bits(mask).filter(|lane| !done(lane)).fold(0, |set, lane| set | 1 << lane);
        if waiting == 0 {
            return Next::Fall;
        }
        let group = self.groups[index];
        self.scatter(index, waiting, vec![((group.pc + 1, group.base), waiting)]);
        if let Some(group) = self.groups.last_mut() {
            group.state = State::Cluster;
        }
        Next::Regroup
    }

    /// An instruction that lanes do together: those whose member masks have come do it, the others
    /// wait.
    fn together(
        &mut self,
        code: &Code,
        env: &mut Env<'_>,
        index: usize,
        inst: &Inst,
        mask: u32,
    ) -> Result<Next, (usize, StepError)> {
        let group = self.groups[index];
        let members = match lanes::members(&inst.op) {
            Some(src) => self.row(src, group.base),
            None => [mask.into(); LANES],
        };
        let released = matches!(group.state, State::Released);
        self.groups[index].state = State::Ready;
        // To come with another member mask is not to come.
        let same = |wanted: u64| {
            bits(mask)
                .filter(|lane| members[*lane] == wanted)
                .fold(0u32, |set, lane| set | 1 << lane)
        };
        let mut come = 0;
        for lane in bits(mask) {
            if released || members[lane] as u32 & self.live & !same(members[lane]) == 0 {
                come |= 1 << lane;
            }
        }
        if come != 0 {
            match &inst.op {
                Op::Matrix(matrix) => matrix::execute(self, env, matrix, group.base, come)?,
                op => {
                    let part = Part { op, base: group.base, lanes: come };
                    lanes::execute(self, &[part], &members);
                }
            }
        }
        if come == mask {
            return Ok(Next::Fall);
        }
        come |= self.with_partners(code, index, &inst.op, (mask & !come, &members));
        // Lanes that the guard holds back do not wait.
        let waiting = mask & !come;
        let on = group.mask & !waiting;
        self.groups[index].mask = waiting;
        self.groups[index].state = State::Waiting;
        if on != 0 {
            self.groups.push(Group { pc: group.pc + 1, mask: on, state: State::Ready, ..group });
        }
        self.groups.retain(|g| g.mask != 0);
        Ok(Next::Regroup)
    }

    /// Of lanes that have come to an instruction with these member masks those whose partners wait
    /// at other instructions of the kind: they all do it together, and the others go on. May leave
    /// groups without lanes.
    fn with_partners(
        &mut self,
        code: &Code,
        index: usize,
        op: &Op,
        (mask, members): (u32, &Row),
    ) -> u32 {
        let mut wanted = *members;
        let mut parts: Vec<(usize, Part<'_>)> = Vec::new();
        for (at, group) in self.groups.iter().enumerate() {
            let waits = at != index && matches!(group.state, State::Waiting);
            let Some(other) = code.insts.get(group.pc as usize).filter(|_| waits) else {
                continue;
            };
            if !lanes::are_partners(op, &other.op) {
                continue;
            }
            let Some(src) = lanes::members(&other.op) else { continue };
            let row = self.row(src, group.base);
            bits(group.mask).for_each(|lane| wanted[lane] = row[lane]);
            parts.push((at, Part { op: &other.op, base: group.base, lanes: group.mask }));
        }
        if parts.is_empty() {
            return 0;
        }
        parts.push((index, Part { op, base: self.groups[index].base, lanes: mask }));
        let (mut come, mut rest) = (0, mask);
        while rest != 0 {
            let mask = wanted[rest.trailing_zeros() as usize];
            let of_mask = |part: &Part<'_>| {
                let same = bits(part.lanes).filter(|lane| wanted[*lane] == mask);
                same.fold(0u32, |set, lane| set | 1 << lane)
            };
            let of_mask =
                parts.iter().map(|(at, part)| (*at, Part { lanes: of_mask(part), ..*part }));
            let of_mask: Vec<_> = of_mask.filter(|(_, part)| part.lanes != 0).collect();
            let here = of_mask.iter().fold(0, |set, (_, part)| set | part.lanes);
            rest &= !here;
            if mask as u32 & self.live & !here != 0 {
                continue;
            }
            let done: Vec<Part<'_>> = of_mask.iter().map(|(_, part)| *part).collect();
            lanes::execute(self, &done, &wanted);
            for (at, part) in of_mask {
                if at == index {
                    come |= part.lanes;
                    continue;
                }
                self.groups[at].mask &= !part.lanes;
                let group = self.groups[at];
                let on = Group { pc: group.pc + 1, mask: part.lanes, state: State::Ready, ..group };
                self.groups.push(on);
            }
        }
        come
    }

    /// No group can run: lanes whose members all wait for the same mask too, at whatever
    /// instruction, are let go.
    fn release_waiting(&mut self, code: &Code) -> bool {
        let mut wanted = [None; LANES];
        for group in self.groups.iter().filter(|g| matches!(g.state, State::Waiting)) {
            let Some(inst) = code.insts.get(group.pc as usize) else { continue };
            let Some(src) = lanes::members(&inst.op) else { continue };
            let members = self.row(src, group.base);
            bits(group.mask).for_each(|lane| wanted[lane] = Some(members[lane] as u32));
        }
        let mut free = 0;
        for lane in bits(self.live) {
            let Some(members) = wanted[lane] else { continue };
            let come = |other: usize| wanted[other] == Some(members);
            free |= u32::from(bits(members & self.live).all(come)) << lane;
        }
        for index in 0..self.groups.len() {
            let group = self.groups[index];
            let (on, stay) = (group.mask & free, group.mask & !free);
            if on == 0 {
                continue;
            }
            self.groups[index] = Group { mask: on, state: State::Released, ..group };
            if stay != 0 {
                self.groups.push(Group { mask: stay, ..group });
            }
        }
        free != 0
    }
}
