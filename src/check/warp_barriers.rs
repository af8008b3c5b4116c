//! Whether all can come where the whole warp waits for itself (a warp barrier: `WARPSYNC.ALL`,
//! BAR): no thread of a region may wait at its BSYNC for threads that wait for it elsewhere.
//!
//! From BSSY, or from a warp barrier that all passed, on: where one way leads to a warp barrier and
//! another to BSYNC without one, threads that diverge in between wait for each other. The branch
//! where they diverge is the last one from which BSYNC can be reached so.

use super::graph::Code;
use super::regions::Region;
use super::report::{Report, Rule};
use orias_components::{Inst, Mod, Opcode, Operand, RegFile};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Whom a node makes wait for each other.
enum WarpBarrier {
    /// All of the warp.
    All,
    /// All of the warp, for something that is then done once.
    Collective,
    /// Those that a register names.
    Part(&'static str),
}

fn warp_barrier(code: &Code, node: u32) -> Option<WarpBarrier> {
    let inst = code.special(node)?;
    match inst.op {
        Opcode::BAR => Some(WarpBarrier::All),
        Opcode::WARPSYNC if inst.mods.has(Mod::ALL) => match inst.mods.has(Mod::COLLECTIVE) {
            true => Some(WarpBarrier::Collective),
            false => Some(WarpBarrier::All),
        },
        Opcode::WARPSYNC if inst.mods.has(Mod::EXCLUSIVE) => None,
        Opcode::WARPSYNC => match mask(code, node, inst) {
            Some(u32::MAX) if inst.mods.has(Mod::COLLECTIVE) => Some(WarpBarrier::Collective),
            Some(u32::MAX) => Some(WarpBarrier::All),
            Some(_) => Some(WarpBarrier::Part("WARPSYNC of a constant part of the warp")),
            None => Some(WarpBarrier::Part("WARPSYNC of a mask in a register")),
        },
        _ => None,
    }
}

/// The mask of a WARPSYNC, where the straight way to it says so.
fn mask(code: &Code, node: u32, sync: &Inst) -> Option<u32> {
    let reg = sync.operands.iter().find_map(|o| match o {
        Operand::Reg(r) if r.reg.file() == RegFile::R => r.reg.phys_index(),
        _ => None,
    })?;
    let first = code.nodes[node as usize].first;
    let mut node = node;
    for at in (0..first).rev().take(64) {
        let here = code.node_of[at as usize];
        if here != node && code.entered_from(node) != Some(here) {
            return None;
        }
        node = here;
        let inst = code.inst(at)?;
        if inst.op.is_branch() {
            return None;
        }
        let mut writes = false;
        inst.for_each_def(|r| {
            let own = r.reg.file() == RegFile::R;
            let start = r.reg.phys_index().filter(|_| own);
            writes |= start.is_some_and(|n| (n..n + u32::from(r.count)).contains(&reg));
        });
        if writes {
            return match (inst.op, inst.sources().first()) {
                (Opcode::MOV, Some(Operand::Imm(v))) if inst.guard.is_always() => Some(*v as u32),
                _ => None,
            };
        }
    }
    None
}

/// Judges the warp barriers in a region.
pub fn judge(code: &Code, region: &Region, report: &mut Report) {
    let kinds = region.nodes.iter().filter_map(|n| Some((*n, warp_barrier(code, *n)?)));
    let (mut all, mut parts, mut collective) = (BTreeSet::new(), Vec::new(), false);
    for (node, kind) in kinds {
        collective |= matches!(kind, WarpBarrier::Collective);
        match kind {
            WarpBarrier::All | WarpBarrier::Collective => {
                all.insert(node);
            }
            WarpBarrier::Part(why) => parts.push((node, why)),
        }
    }
    if all.is_empty() && parts.is_empty() {
        return;
    }
    let is_end = |n: u32| region.ends.contains(&n);
    // Who is here can come to BSYNC without a warp barrier.
    let avoids = region.leading_to(&region.ends, |n| all.contains(&n));
    for (node, why) in parts {
        // Who passed it comes to BSYNC by all ways, or it is not known which threads do not.
        let others = region.leading_to(&region.ends, |n| n == node);
        if others.contains(&code.node_of[region.start as usize]) {
            *report.assumed.entry(why).or_default() += 1;
        }
    }
    if all.is_empty() {
        return;
    }
    let reaches = region.leading_to(&all, is_end);
    let starts: Vec<u32> =
        all.iter().copied().chain([code.node_of[region.start as usize]]).collect();
    // Nodes that a thread comes to before it has waited for the others.
    let mut fresh: BTreeSet<u32> = BTreeSet::new();
    let mut work: Vec<u32> = Vec::new();
    for start in starts {
        work.extend(region.edges.get(&start).into_iter().flatten());
    }
    while let Some(node) = work.pop() {
        if fresh.insert(node) && !all.contains(&node) && !is_end(node) {
            work.extend(region.edges.get(&node).into_iter().flatten());
        }
    }
    let first = code.node_of[region.start as usize];
    let nodes: BTreeSet<u32> = fresh.iter().chain(&all).copied().chain([first]).collect();
    let (mut diverging, mut others) = (Vec::new(), false);
    for node in nodes {
        let to: BTreeSet<u32> = region.edges.get(&node).into_iter().flatten().copied().collect();
        let branch = code.nodes[node as usize].end - 1;
        if to.len() < 2 || code.inst(branch).is_none_or(is_uniform) {
            continue;
        }
        let must_wait = to.iter().find(|n| reaches.contains(n) && !avoids.contains(n));
        let may_wait = to.iter().filter(|n| avoids.contains(n)).count();
        others |= may_wait > 1;
        diverging.extend(must_wait.filter(|_| may_wait > 0).map(|at| (node, branch, *at)));
    }
    for (node, branch, waits) in diverging {
        let rule = match joins_at_end(code, region, node) {
            _ if collective => Rule::UnmetCollective,
            false => Rule::UnmetOutside,
            true if others => Rule::UnmetShared,
            true => Rule::Unmet,
        };
        let place = |n: u32| u64::from(n) * crate::check::graph::WORD;
        let what = format!(
            "threads diverge here; by {:#06x} they wait for the whole warp, by the other way they wait at BSYNC B{} for those of {:#06x}",
            place(code.nodes[waits as usize].first),
            region.barrier,
            place(region.start),
        );
        report.add(rule, branch, what);
    }
}

/// Whether a branch takes all threads that run together or none.
fn is_uniform(inst: &Inst) -> bool {
    let uniform =
        |o: &Operand| o.as_reg().is_some_and(|r| r.reg.file() == RegFile::UP && !r.reg.is_zero());
    [Mod::ANY, Mod::DIV, Mod::CONV].iter().any(|m| inst.mods.has(*m))
        || inst.guard.reg.file() == RegFile::UP
        || inst.op == Opcode::BRA && inst.mods.has(Mod::U) && inst.operands.iter().any(uniform)
}

/// Whether the threads that diverge at the end of a node reconverge at the region's BSYNC, and at
/// no place before where something is done.
fn joins_at_end(code: &Code, region: &Region, node: u32) -> bool {
    let next = |n: u32| region.edges.get(&n).map(Vec::as_slice).unwrap_or_default();
    let reach = |without: Option<u32>| {
        let mut from: BTreeMap<u32, u32> = BTreeMap::new();
        let mut work: VecDeque<u32> = VecDeque::new();
        for to in next(node).iter().filter(|n| Some(**n) != without) {
            if from.insert(*to, node).is_none() {
                work.push_back(*to);
            }
        }
        while let Some(n) = work.pop_front() {
            for to in next(n).iter().filter(|t| Some(**t) != without) {
                if !from.contains_key(to) {
                    from.insert(*to, n);
                    work.push_back(*to);
                }
            }
        }
        from
    };
    let from = reach(None);
    let Some(end) = region.ends.iter().find(|e| from.contains_key(e)) else { return false };
    // Where the ways join is on each of them: so on the shortest one.
    let mut way = vec![*end];
    while let Some(before) = way.last().and_then(|n| from.get(n)).filter(|n| **n != node) {
        way.push(*before);
    }
    for join in way.iter().rev().filter(|n| !region.ends.contains(n)) {
        let around = reach(Some(*join));
        if region.ends.iter().any(|e| around.contains_key(e)) {
            continue;
        }
        let mut insts = code.nodes[*join as usize].first..code.nodes[*join as usize].end;
        let idle = |at| code.inst(at).is_some_and(|i| matches!(i.op, Opcode::BRA | Opcode::NOP));
        if !insts.all(idle) {
            return false;
        }
    }
    true
}
