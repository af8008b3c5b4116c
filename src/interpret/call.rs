//! Calls and returns, and the stack in local memory.

use super::builtin;
use super::code::Code;
use super::code::{Body, Call, Callee, Formal, Op, Passed};
use super::env::Env;
use super::error::StepError;
use super::groups::{Next, add};
use super::integer::mask;
use super::operand::{Dst, LANES, Rows, Src};
use super::pointer::function_at;
use super::warp::{Group, Return, State, Warp, bits};
use crate::launch::MAX_LOCAL;
use crate::ptx::program::FuncId;

/// Calls inside each other at most.
const MAX_DEPTH: u32 = 1 << 14;

/// Frames begin at multiples of this (bytes).
const FRAME_ALIGN: u64 = 16;

type Stopped = (usize, StepError);

impl Warp {
    /// Does a call for some lanes of a group: the group splits by callee.
    ///
    /// # Errors
    /// When a pointer leads to no function, or a stack is full.
    pub(super) fn call(
        &mut self,
        code: &Code,
        env: &mut Env<'_>,
        index: usize,
        mask: u32,
        call: &Call,
    ) -> Result<Next, Stopped> {
        let group = self.groups[index];
        let mut by_callee: Vec<(FuncId, u32)> = Vec::new();
        match call.callee {
            Callee::Known(id) => by_callee.push((id, mask)),
            Callee::Pointer(src) => {
                let row = self.row(src, group.base);
                for lane in bits(mask) {
                    let id = function_at(row[lane])
                        .filter(|id| (id.0 as usize) < code.bodies.len())
                        .ok_or((lane, StepError::NoFunction(row[lane])))?;
                    add(&mut by_callee, id, lane);
                }
            }
        }
        if group.depth >= MAX_DEPTH {
            return Err((mask.trailing_zeros() as usize % LANES, StepError::StackOverflow));
        }
        let place = code.places[code.insts[group.pc as usize].place as usize];
        let base = group.base + code.bodies[place.function.0 as usize].rows;
        let mut parts = Vec::with_capacity(by_callee.len());
        for (callee, lanes) in by_callee {
            let body = &code.bodies[callee.0 as usize];
            match body.entry {
                Some(entry) => {
                    self.enter(&group, lanes, base, body, call)?;
                    parts.push((entry, lanes, base, group.depth + 1));
                }
                None => {
                    self.built_in(env, &group, lanes, body, call)?;
                    parts.push((group.pc + 1, lanes, group.base, group.depth));
                }
            }
        }
        self.groups[index].pc += 1;
        self.groups[index].mask &= !mask;
        for (pc, mask, base, depth) in parts {
            self.groups.push(Group { pc, base, depth, mask, state: State::Ready });
        }
        self.groups.retain(|g| g.mask != 0);
        Ok(Next::Regroup)
    }

    /// Makes the frame of a call for some lanes: registers are zero at first, and so is local
    /// memory.
    fn enter(
        &mut self,
        group: &Group,
        lanes: u32,
        base: u32,
        body: &Body,
        call: &Call,
    ) -> Result<(), Stopped> {
        let rows = (base + body.rows) as usize;
        if self.rows.len() < rows {
            self.rows.resize(rows, [0; LANES]);
        }
        for row in &mut self.rows[base as usize..rows] {
            bits(lanes).for_each(|lane| row[lane] = 0);
        }
        for lane in bits(lanes) {
            let state = &mut self.lanes[lane];
            let (frame, top) = (state.frame, state.top);
            state.calls.push(Return { pc: group.pc, base: group.base, frame, top });
            let callee = top.next_multiple_of(FRAME_ALIGN);
            let list: u64 = call
                .args
                .iter()
                .zip(&body.params)
                .map(|(arg, formal)| match arg {
                    Passed::Frame { size, .. } if formal.size == 0 => *size,
                    _ => 0,
                })
                .sum();
            self.grow(lane, callee, callee + body.frame + list)?;
            for (arg, formal) in call.args.iter().zip(&body.params) {
                let bytes = self.passed_bytes(lane, group.base, frame, arg);
                self.give(lane, base, callee, formal, &bytes);
            }
            self.lanes[lane].frame = callee;
        }
        Ok(())
    }

    /// Sets the end of a lane's stack; bytes from `from` on are new and zero.
    fn grow(&mut self, lane: usize, from: u64, top: u64) -> Result<(), Stopped> {
        let state = &mut self.lanes[lane];
        let size = top - state.local.base;
        if size > MAX_LOCAL {
            return Err((lane, StepError::StackOverflow));
        }
        state.local.resize((from - state.local.base) as usize, size as usize);
        state.top = top;
        Ok(())
    }

    /// A call of a function that the module only declares.
    fn built_in(
        &mut self,
        env: &mut Env<'_>,
        group: &Group,
        lanes: u32,
        body: &Body,
        call: &Call,
    ) -> Result<(), Stopped> {
        let Some(function) = builtin::named(&body.name) else {
            let first = lanes.trailing_zeros() as usize % LANES;
            return Err((first, StepError::Undefined(body.name.clone())));
        };
        for lane in bits(lanes) {
            let mut args = [0u64; 8];
            for (value, arg) in args.iter_mut().zip(&call.args) {
                let frame = self.lanes[lane].frame;
                let mut all = [0; 8];
                let bytes = self.passed_bytes(lane, group.base, frame, arg);
                all.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
                *value = u64::from_le_bytes(all);
            }
            let result = builtin::execute(self, env, lane, function, &args)?;
            if let Some(target) = call.returns.first().and_then(target) {
                let frame = self.lanes[lane].frame;
                self.give(lane, group.base, frame, &target, &result.to_le_bytes());
            }
        }
        Ok(())
    }

    fn local_bytes(&self, lane: usize, at: u64, size: u64) -> Vec<u8> {
        let local = &self.lanes[lane].local;
        let from = (at - local.base) as usize;
        local.bytes.get(from..from + size as usize).map(<[u8]>::to_vec).unwrap_or_default()
    }

    /// The bytes of a register, its rows one after the other.
    fn row_bytes(&self, lane: usize, base: u32, rows: Rows) -> Vec<u8> {
        let row = |i: u32| self.rows[(base + rows.first.0 + i) as usize][lane].to_le_bytes();
        (0..rows.count).flat_map(|i| row(i).into_iter().take(rows.bytes)).collect()
    }

    /// What the caller passes.
    fn passed_bytes(&self, lane: usize, base: u32, frame: u64, passed: &Passed) -> Vec<u8> {
        match passed {
            Passed::Frame { offset, size } => self.local_bytes(lane, frame + offset, *size),
            Passed::Rows(rows) => self.row_bytes(lane, base, *rows),
            Passed::Value(src) => self.row(*src, base)[lane].to_le_bytes().to_vec(),
            Passed::Into(_) => Vec::new(),
        }
    }

    /// Puts bytes into a formal parameter: as many as both have.
    fn give(&mut self, lane: usize, base: u32, frame: u64, formal: &Formal, bytes: &[u8]) {
        if let Some(rows) = formal.reg {
            for i in 0..rows.count as usize {
                let bytes = bytes.iter().skip(i * rows.bytes).take(rows.bytes);
                let mut all = [0; 8];
                all.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
                let row = (base + rows.first.0) as usize + i;
                self.rows[row][lane] = u64::from_le_bytes(all) & rows.mask;
            }
            return;
        }
        let local = &mut self.lanes[lane].local;
        let at = (frame + formal.offset - local.base) as usize;
        // A formal parameter without a size takes all.
        let size = if formal.size == 0 { usize::MAX } else { formal.size as usize };
        let len = bytes.len().min(size);
        if let Some(to) = local.bytes.get_mut(at..at + len) {
            to.copy_from_slice(&bytes[..len]);
            if let Some(written) = &mut local.written {
                written.mark(at, len);
            }
        }
    }

    /// `ret`: lanes go back to where they were called from; in the kernel itself they exit.
    pub(super) fn give_back(
        &mut self,
        code: &Code,
        env: &mut Env<'_>,
        index: usize,
        mask: u32,
        callee: FuncId,
    ) -> Next {
        let group = self.groups[index];
        if group.depth == 0 {
            self.leave(env, index, mask);
            return Next::Regroup;
        }
        let body = &code.bodies[callee.0 as usize];
        let mut parts: Vec<((u32, u32), u32)> = Vec::new();
        for lane in bits(mask) {
            let Some(back) = self.lanes[lane].calls.pop() else { continue };
            if let Op::Call(call) = &code.insts[back.pc as usize].op {
                let frame = self.lanes[lane].frame;
                for (formal, passed) in body.returns.iter().zip(&call.returns) {
                    let bytes = match formal.reg {
                        Some(rows) => self.row_bytes(lane, group.base, rows),
                        None => self.local_bytes(lane, frame + formal.offset, formal.size),
                    };
                    if let Some(target) = target(passed) {
                        self.give(lane, back.base, back.frame, &target, &bytes);
                    }
                }
            }
            let local = &mut self.lanes[lane];
            local.frame = back.frame;
            local.top = back.top;
            add(&mut parts, (back.pc + 1, back.base), lane);
        }
        self.groups[index].pc += 1;
        self.groups[index].mask &= !mask;
        for ((pc, base), mask) in parts {
            let depth = group.depth - 1;
            self.groups.push(Group { pc, base, depth, mask, state: State::Ready });
        }
        self.groups.retain(|g| g.mask != 0);
        Next::Regroup
    }

    /// `alloca`: room at the end of the stack, until the function returns or the stack is restored.
    pub(super) fn allocate(
        &mut self,
        base: u32,
        lanes: u32,
        (dst, size, align): (Dst, Src, u64),
    ) -> Result<(), Stopped> {
        let sizes = self.row(size, base);
        let mut addresses = [0; LANES];
        for lane in bits(lanes) {
            let top = self.lanes[lane].top;
            let at = top.next_multiple_of(align);
            let end = at.checked_add(sizes[lane]).ok_or((lane, StepError::StackOverflow))?;
            self.grow(lane, top, end.max(top))?;
            addresses[lane] = at;
        }
        self.write(dst, base, lanes, &addresses);
        Ok(())
    }

    /// `stackrestore`: the end of the stack as `stacksave` gave it, inside the current frame.
    pub(super) fn restore(&mut self, base: u32, lanes: u32, to: Src) -> Result<(), Stopped> {
        let row = self.row(to, base);
        for lane in bits(lanes) {
            let state = &self.lanes[lane];
            // A 32-bit address has lost nothing: local memory is small.
            let top = row[lane] & mask(32);
            if !(state.frame..=state.top).contains(&top) {
                return Err((lane, StepError::StackOverflow));
            }
            self.grow(lane, top, top)?;
        }
        Ok(())
    }
}

/// Where a result goes, as if it were a parameter of the caller.
fn target(passed: &Passed) -> Option<Formal> {
    match *passed {
        Passed::Frame { offset, size } => Some(Formal { offset, size, reg: None }),
        Passed::Rows(rows) => Some(Formal { offset: 0, size: 0, reg: Some(rows) }),
        Passed::Into(Dst { slot, mask }) => {
            let rows = Rows { first: slot, count: 1, bytes: 8, mask };
            Some(Formal { offset: 0, size: 0, reg: Some(rows) })
        }
        Passed::Value(_) => None,
    }
}
