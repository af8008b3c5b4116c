//! What the threads of a mask do together at different places: votes, shuffles, matches and
//! reductions that stand on several ways.
//!
//! PTX asks for the same qualifiers and the same mask, not for the same instruction, and nvcc
//! copies a vote into both ways of a branch. `WARPSYNC` lets such threads meet, but each then votes
//! with those alone that stand where it stands. `WARPSYNC.COLLECTIVE R, behind` gathers them: one
//! of the copies is done by all, up to `ENDCOLLECTIVE`, from where every thread goes on behind its
//! own. So all copies of a kind name the same registers:
//!
//! ```text
//!     %B = BSSY after
//!     %R9 = MOV 0xffffffff
//!     %P1 = PLOP3 (the operand)          %P1 and %R2 in every copy
//!     WARPSYNC.COLLECTIVE %R9, behind
//!     %R2, PT = VOTE.ANY %P1
//!     ENDCOLLECTIVE
//! behind:
//!     BSYNC %B
//! after:
//!     %R5 = MOV %R2
//! ```
//!
//! Register allocation leaves these registers alone ([`shared_registers`]): they are not joined,
//! split or spilled.
//!
//! Observed (ptxas 13.0.88, sm_90a): at -O0 all that threads do together is done so; from -O1 on
//! what stands behind a branch that may part threads, where the kernel has several of one opcode
//! with the same words there, whatever their masks; the code above is then out of the way behind
//! BRA.DIV, which asks whether the whole mask is there. We look closer at who can wait for whom
//! ([`find`]), so that `WARPSYNC` stays where a warp cannot come to two of a kind at once: what a
//! block of 32 threads reduces by five shuffles in a row.

mod emit;
mod exchange;
mod shared;

use crate::analysis::Analyses;
use crate::analysis::cfg::Graph;
use bitvec::vec::BitVec;
pub use emit::emit;
pub use exchange::Exchange;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, InstId, Mod, Opcode, Operand, VRegId, View};
use orias_targets::slots::MOV;
use rustc_hash::{FxHashMap, FxHashSet};
pub use shared::shared_registers;
use smallvec::SmallVec;

/// So many instructions that threads may come to next are told apart, and so many masks; beyond
/// that all of a kind may meet.
const MOST_NEXT: usize = 8;
const MOST_MASKS: usize = 8;
/// The ways out of a branch are told apart up to so many.
const MOST_WAYS: usize = 16;
/// So many pairs of instructions are followed, for each instruction.
const MOST_PAIRS: usize = 32;

/// What is known of a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mask {
    Value(u32),
    /// What a register holds from its one definition on, which runs once.
    Register(VRegId),
    Unknown,
}

/// Where threads wait for others of their warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// An exchange; those with the same opcode, words and number of operands have the same number.
    Exchange(u32),
    /// Nothing but the meeting.
    Meeting,
    /// A barrier of all threads of the CTA.
    Cta,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    block: u32,
    meet: InstId,
    op: InstId,
    mask: Mask,
}

/// The exchanges that threads of one mask may come to while others of that mask wait at another of
/// the same kind. `divergent` are the blocks whose branch may part threads.
pub fn find(
    body: &Body<'_>,
    analyses: &mut Analyses,
    graph: &Graph,
    divergent: &BitVec,
) -> Scratch<Vec<Exchange>> {
    let mut nodes = nodes(body);
    let mut behind = scratch!(BitVec).fill_with(false, graph.len());
    let succs = |b: u32| graph.succs[b as usize].iter().copied();
    let from = divergent.iter_ones().flat_map(|b| succs(b as u32));
    let mut work = scratch!(Vec<u32>).with(from);
    while let Some(block) = work.pop() {
        if !behind.replace(block as usize, true) {
            work.extend(succs(block));
        }
    }
    let mut counts = scratch!(FxHashMap<u32, u32>);
    let is_behind = |n: &Node| behind[n.block as usize];
    for node in nodes.iter().filter(|n| is_behind(n)) {
        if let Kind::Exchange(kind) = node.kind {
            *counts.entry(kind).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count > 1);
    if counts.is_empty() {
        return scratch!(Vec<Exchange>);
    }
    set_masks(body, analyses, graph, &mut nodes);
    let several = |n: &Node| matches!(n.kind, Kind::Exchange(kind) if counts.contains_key(&kind));
    let candidates: Vec<usize> =
        (0..nodes.len()).filter(|i| several(&nodes[*i]) && is_behind(&nodes[*i])).collect();
    let mut apart: FxHashSet<usize> = FxHashSet::default();
    let mut known: FxHashMap<u32, Vec<Mask>> = FxHashMap::default();
    for i in &candidates {
        if let Kind::Exchange(kind) = nodes[*i].kind {
            let masks = known.entry(kind).or_default();
            if !masks.contains(&nodes[*i].mask) && masks.len() <= MOST_MASKS {
                masks.push(nodes[*i].mask);
            }
        }
    }
    // Masks that nobody knows may be the same.
    let told_apart = |masks: &[Mask]| {
        let constant = masks.iter().all(|m| matches!(m, Mask::Value(_)));
        masks.len() <= MOST_MASKS && (constant || (masks.len() == 1 && masks[0] != Mask::Unknown))
    };
    let mut masks: Vec<Mask> = Vec::new();
    for i in &candidates {
        let Kind::Exchange(kind) = nodes[*i].kind else { continue };
        if !told_apart(&known[&kind]) {
            apart.insert(*i);
        } else if !masks.contains(&nodes[*i].mask) {
            masks.push(nodes[*i].mask);
        }
    }
    for mask in &masks {
        let of_mask = |i: &usize| nodes[*i].kind == Kind::Cta || nodes[*i].mask == *mask;
        let chosen: Vec<usize> = (0..nodes.len()).filter(of_mask).collect();
        let found =
            if masks.len() > MOST_MASKS { None } else { meet(graph, divergent, &nodes, &chosen) };
        match found {
            Some(found) => apart.extend(found),
            None => apart.extend(candidates.iter().filter(|i| nodes[**i].mask == *mask)),
        }
    }
    let mut apart: Vec<usize> = apart.into_iter().filter(|i| is_behind(&nodes[*i])).collect();
    apart.sort_unstable();
    let exchange = |i: usize| match nodes[i] {
        Node { kind: Kind::Exchange(kind), meet, op, .. } => Some(Exchange { meet, op, kind }),
        _ => None,
    };
    scratch!(Vec<Exchange>).with(apart.into_iter().filter_map(exchange))
}

/// Where threads wait, in the order of the layout; without masks.
fn nodes(body: &Body<'_>) -> Scratch<Vec<Node>> {
    let mut kinds = scratch!(FxHashMap<(Opcode, SmallVec<[Mod; 8]>, usize), u32>);
    let mut nodes = scratch!(Vec<Node>);
    for block in body.layout() {
        // The WARPSYNC that what comes may belong to.
        let mut open: Option<usize> = None;
        for id in body.block(*block).insts() {
            let inst = body.inst(*id);
            let node =
                |kind| Node { kind, block: block.0, meet: *id, op: *id, mask: Mask::Unknown };
            match inst.op {
                Opcode::WARPSYNC => {
                    open = Some(nodes.len());
                    nodes.push(node(Kind::Meeting));
                }
                Opcode::BAR if is_of_all(inst) => nodes.push(node(Kind::Cta)),
                Opcode::VOTE | Opcode::SHFL | Opcode::MATCH | Opcode::REDUX => {
                    let of_one = |i: &usize| {
                        let meet = nodes[*i].meet;
                        body.loc(meet).ptx_inst == body.loc(*id).ptx_inst
                    };
                    if let Some(at) = open.take().filter(of_one)
                        && inst.guard.is_always()
                    {
                        let mut words = SmallVec::from_slice(inst.mods().as_slice());
                        words.sort_unstable();
                        let new = kinds.len() as u32;
                        let kind = *kinds.entry((inst.op, words, inst.len())).or_insert(new);
                        nodes[at] = Node { kind: Kind::Exchange(kind), op: *id, ..nodes[at] };
                    }
                }
                _ => {}
            }
        }
    }
    nodes
}

/// Whether a barrier waits for all threads of the CTA.
fn is_of_all(inst: View<'_>) -> bool {
    let waits = inst.mods().has(Mod::SYNC) || inst.mods().has(Mod::RED);
    let is_predicate = |o: Operand| o.as_reg().is_some_and(|r| r.reg.file().is_predicate());
    let mut operands = inst.operands();
    let number = operands.next();
    waits && matches!(number, Some(Operand::Imm(_))) && operands.all(is_predicate)
}

fn set_masks(body: &Body<'_>, analyses: &mut Analyses, graph: &Graph, nodes: &mut [Node]) {
    let mask_of = |node: &Node| {
        let inst = body.inst(node.meet);
        let is_all = inst.mods().has(Mod::ALL);
        (node.kind != Kind::Cta && !is_all).then(|| inst.sources().next()).flatten()
    };
    let register = |o: Operand| o.as_reg().and_then(|r| r.reg.vreg());
    let is_known = !nodes.iter().filter_map(mask_of).any(|mask| register(mask).is_some());
    let uses = (!is_known).then(|| analyses.uses(body));
    let repeats = if is_known { BitVec::new() } else { may_repeat(graph) };
    let writer = |v: VRegId| uses.as_ref().and_then(|uses| uses.only_writer(v));
    for node in nodes.iter_mut() {
        node.mask = match mask_of(node) {
            None => Mask::Value(u32::MAX),
            Some(Operand::Imm(value)) => Mask::Value(value as u32),
            Some(operand) => match register(operand).and_then(|v| Some((v, writer(v)?))) {
                Some((v, (def, block))) => {
                    let inst = body.inst(def);
                    let constant = match inst.get(MOV::B) {
                        Some(Operand::Imm(value)) if inst.op == Opcode::MOV => Some(value),
                        _ => None,
                    };
                    match constant.filter(|_| inst.guard.is_always()) {
                        Some(value) => Mask::Value(value as u32),
                        None if repeats[block.0 as usize] => Mask::Unknown,
                        None => Mask::Register(v),
                    }
                }
                _ => Mask::Unknown,
            },
        };
    }
}

/// The blocks that may be in a cycle: those between the ends of an edge backwards in reverse
/// postorder.
fn may_repeat(graph: &Graph) -> BitVec {
    let order = graph.reverse_postorder();
    let mut rank = vec![usize::MAX; graph.len()];
    for (i, block) in order.iter().enumerate() {
        rank[*block as usize] = i;
    }
    let mut open = vec![0i32; order.len() + 1];
    for (i, block) in order.iter().enumerate() {
        for succ in &graph.succs[*block as usize] {
            let head = rank[*succ as usize];
            if head <= i {
                open[head] += 1;
                open[i + 1] -= 1;
            }
        }
    }
    let mut repeats: BitVec = BitVec::repeat(true, graph.len());
    let mut depth = 0;
    for (i, block) in order.iter().enumerate() {
        depth += open[i];
        repeats.set(*block as usize, depth > 0);
    }
    repeats
}

/// Instructions that threads may come to next; None is too many.
type Next = Option<SmallVec<[u32; 2]>>;

fn add(to: &mut Next, from: &Next) -> bool {
    let (Some(all), Some(more)) = (to.as_mut(), from) else {
        let changed = to.is_some() && from.is_none();
        if changed {
            *to = None;
        }
        return changed;
    };
    let before = all.len();
    for one in more {
        if !all.contains(one) {
            all.push(*one);
        }
    }
    let changed = all.len() > before;
    if all.len() > MOST_NEXT {
        *to = None;
    }
    changed
}

/// Of nodes with one mask, and barriers of the CTA, those at which threads of that mask may wait at
/// once, and exchange.
///
/// Such threads do what they do together in step: each one's next is the partner of the others'
/// next. Where a branch parts them their next may be two, and from such a pair on what comes behind
/// each of it. A pair of two kinds is none that PTX allows. None where there is too much to follow.
fn meet(
    graph: &Graph,
    divergent: &BitVec,
    nodes: &[Node],
    chosen: &[usize],
) -> Option<FxHashSet<usize>> {
    let mut following = vec![None; nodes.len()];
    let mut next: Vec<Next> = vec![Some(SmallVec::new()); graph.len()];
    let mut has_own: BitVec = BitVec::repeat(false, graph.len());
    for (at, i) in chosen.iter().enumerate() {
        let block = nodes[*i].block;
        let own = chosen.get(at + 1).filter(|n| nodes[**n].block == block);
        following[*i] = own.map(|n| *n as u32);
        if !has_own.replace(block as usize, true) {
            next[block as usize] = Some(SmallVec::from_slice(&[*i as u32]));
        }
    }
    let mut order = graph.reverse_postorder();
    order.reverse();
    let mut changed = true;
    while changed {
        changed = false;
        for block in &order {
            if !has_own[*block as usize] {
                for succ in &graph.succs[*block as usize] {
                    let from = next[*succ as usize].clone();
                    changed |= add(&mut next[*block as usize], &from);
                }
            }
        }
    }
    let after = |i: u32| -> Next {
        if let Some(own) = following[i as usize] {
            return Some(SmallVec::from_slice(&[own]));
        }
        let mut all = Some(SmallVec::new());
        for succ in &graph.succs[nodes[i as usize].block as usize] {
            add(&mut all, &next[*succ as usize]);
        }
        all
    };
    let mut pairs: FxHashSet<(u32, u32)> = FxHashSet::default();
    let mut work: Vec<(u32, u32)> = Vec::new();
    let mut pair = |a: &Next, b: &Next, work: &mut Vec<(u32, u32)>| -> Option<()> {
        for x in a.as_ref()? {
            for y in b.as_ref()? {
                let partners = nodes[*x as usize].kind == nodes[*y as usize].kind;
                if x != y && partners && pairs.insert((*x.min(y), *x.max(y))) {
                    work.push((*x, *y));
                }
            }
        }
        (pairs.len() <= MOST_PAIRS * nodes.len()).then_some(())
    };
    for block in divergent.iter_ones().filter(|b| *b < graph.len()) {
        let succs = &graph.succs[block];
        if succs.len() > MOST_WAYS {
            let mut all = Some(SmallVec::new());
            for succ in succs {
                add(&mut all, &next[*succ as usize]);
            }
            pair(&all, &all, &mut work)?;
            continue;
        }
        for (i, a) in succs.iter().enumerate() {
            for b in &succs[i + 1..] {
                pair(&next[*a as usize], &next[*b as usize], &mut work)?;
            }
        }
    }
    let mut found = FxHashSet::default();
    while let Some((x, y)) = work.pop() {
        found.extend([x as usize, y as usize]);
        pair(&after(x), &after(y), &mut work)?;
    }
    Some(found)
}

/// Takes out shuffles whose results nothing reads. Before it is known who exchanges with whom none
/// may go: what one copy gives, another reads.
pub fn drop_unread_shuffles(body: &mut Body<'_>, exchanges: &[Exchange]) {
    let insts = || body.layout().iter().flat_map(|b| body.block(*b).insts());
    if !body.facts().may_have(&[Opcode::SHFL]) {
        return;
    }
    let mut read: BitVec = BitVec::repeat(false, body.vreg_count());
    for id in insts() {
        body.inst(*id).for_each_use(|r| {
            if let Some(v) = r.reg.vreg() {
                read.set(v.0 as usize, true);
            }
        });
    }
    let kept: FxHashSet<InstId> = exchanges.iter().map(|e| e.op).collect();
    for &block in body.walk().iter() {
        body.retain(block, |body, id| {
            let inst = body.inst(id);
            let mut is_read = false;
            inst.for_each_def(|r| is_read |= r.reg.vreg().is_none_or(|v| read[v.0 as usize]));
            inst.op != Opcode::SHFL || is_read || kept.contains(&id)
        });
    }
}
