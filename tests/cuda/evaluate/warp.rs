//! What threads do together: under masks, and at barriers of the block.

use super::{Address, Machine, Threads, each, ops};
use crate::program::{Stmt, Warp};
use crate::types::Scalar;

/// The lanes of a warp in a set.
fn lanes(set: Threads, warp: usize) -> u32 {
    (set >> (32 * warp)) as u32
}

/// The lane with this number in a mask, from its lowest on.
fn nth(mask: u32, number: u64) -> usize {
    let mut rest = mask;
    for _ in 0..number as u32 % mask.count_ones().max(1) {
        rest &= rest - 1;
    }
    rest.trailing_zeros() as usize % 32
}

impl Machine<'_> {
    /// The mask, which has to name exactly those threads that are there, of each warp that has any.
    pub(super) fn check_mask(&mut self, active: Threads) -> Result<Threads, String> {
        let mask = self.top().mask;
        for warp in 0..4 {
            if lanes(active, warp) != 0 && lanes(active, warp) != lanes(mask, warp) {
                return Err("a mask does not name the threads that come".to_string());
            }
        }
        Ok(mask)
    }

    fn check_block(&self, active: Threads) -> Result<(), String> {
        if active == self.all() && self.frames.len() == 1 {
            return Ok(());
        }
        Err("a barrier of the block is not reached by all threads".to_string())
    }

    pub(super) fn together(&mut self, stmt: &Stmt, active: Threads) -> Result<(), String> {
        let threads = self.threads;
        match stmt {
            Stmt::Warp { into, op, ty, value, other, width } => {
                self.check_mask(active)?;
                let (value, other) = (self.value(value, active)?, self.value(other, active)?);
                let mut all = vec![0; threads];
                for t in each(active) {
                    let mask = lanes(active, t / 32);
                    all[t] = one(*op, *ty, *width, t, mask, &value, &other)?;
                }
                self.store(into, active, &all)
            }
            Stmt::Exchange { into, from, thread, .. } => {
                self.check_block(active)?;
                let (at, _) = self.place(from, active)?;
                let which = self.value(thread, active)?;
                let all = self.others_numbers(active, &at, |t| which[t] as u32 as usize % threads);
                self.store(into, active, &all)
            }
            Stmt::ExchangeInWarp { into, from, lane, .. } => {
                self.check_mask(active)?;
                let (at, _) = self.place(from, active)?;
                let which = self.value(lane, active)?;
                let other = |t: usize| t / 32 * 32 + nth(lanes(active, t / 32), which[t]);
                let all = self.others_numbers(active, &at, other);
                self.store(into, active, &all)
            }
            Stmt::ReadWord { into, word } => {
                self.check_block(active)?;
                let value = *self.shared.get(*word).ok_or("there is no such word")?;
                let all = vec![value; threads];
                self.store(into, active, &all)
            }
            Stmt::SyncCount { into, kind, cond } => {
                self.check_block(active)?;
                let yes = self.true_for(cond, active)?;
                let value = match kind {
                    0 => u64::from(yes.count_ones()),
                    1 => u64::from(yes == active),
                    _ => u64::from(yes != 0),
                };
                self.store(into, active, &vec![value; threads])
            }
            _ => Err("a statement of one thread".to_string()),
        }
    }

    /// What stands at each thread's place in another thread's element.
    fn others_numbers(
        &self,
        active: Threads,
        at: &[Address],
        other: impl Fn(usize) -> usize,
    ) -> Vec<u64> {
        let mut all = vec![0; self.threads];
        each(active).for_each(|t| all[t] = self.get(other(t), at[t]));
        all
    }
}

/// The result of a warp operation in one lane.
fn one(
    op: Warp,
    ty: Scalar,
    width: u32,
    thread: usize,
    mask: u32,
    value: &[u64],
    other: &[u64],
) -> Result<u64, String> {
    let (base, lane) = (thread / 32 * 32, thread as u32 % 32);
    let members: Vec<usize> = each(mask.into()).map(|lane| base + lane).collect();
    let vote = |t: &&usize| ops::holds(ty, value[**t]);
    let set =
        |some: &mut dyn Iterator<Item = &usize>| some.fold(0u64, |set, t| set | 1 << (t - base));
    let from = |lane: u32| value[base + lane as usize];
    let whole = || if mask == u32::MAX { Ok(()) } else { Err("the mask is no whole warp") };
    // Of the segment in which a shuffle stays.
    let (first, last) = (lane & !(width - 1), lane | (width - 1));
    Ok(match op {
        Warp::Shuffle => from(nth(mask, other[thread]) as u32),
        Warp::ShuffleIndex => {
            whole()?;
            from(first + other[thread] as u32 % width)
        }
        Warp::ShuffleUp => {
            whole()?;
            let by = other[thread] as u32 % width;
            if lane - first >= by { from(lane - by) } else { from(lane) }
        }
        Warp::ShuffleDown => {
            whole()?;
            let by = other[thread] as u32 % width;
            if lane + by <= last { from(lane + by) } else { from(lane) }
        }
        Warp::ShuffleXor => {
            whole()?;
            from(lane ^ (other[thread] as u32 % width))
        }
        Warp::Ballot => set(&mut members.iter().filter(vote)),
        Warp::All => u64::from(members.iter().all(|t| vote(&t))),
        Warp::Any => u64::from(members.iter().any(|t| vote(&t))),
        Warp::MatchAny => set(&mut members.iter().filter(|t| value[**t] == value[thread])),
        Warp::MatchAll => {
            let same = members.iter().all(|t| value[*t] == value[thread]);
            if same { u64::from(mask) } else { 0 }
        }
        Warp::Reduce(op) => {
            let first = value[members[0]];
            members[1..].iter().fold(first, |sum, t| ops::atomic(op, ty, sum, value[*t], 0))
        }
        Warp::Rank => u64::from((mask & ((1 << lane) - 1)).count_ones()),
    })
}

/// The type of a warp operation's result.
pub fn result(op: Warp, ty: Scalar) -> Scalar {
    match op {
        Warp::Shuffle
        | Warp::ShuffleIndex
        | Warp::ShuffleUp
        | Warp::ShuffleDown
        | Warp::ShuffleXor => ty,
        Warp::Reduce(_) => ty,
        Warp::All | Warp::Any | Warp::Rank => Scalar::I32,
        Warp::Ballot | Warp::MatchAny | Warp::MatchAll => Scalar::U32,
    }
}
