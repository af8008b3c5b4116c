//! Where threads of a warp that a branch makes diverge are to reconverge: the plan that convergence
//! barriers carry out.
//!
//! A region starts at the end of a block that all its threads pass together (its start, where BSSY
//! stands) and ends on the edges into its join (where BSYNC stands). What holds of each:
//! * The start dominates every block of the region, so a thread in it has passed BSSY.
//! * From a block of the region control goes on inside it, or to the join, or leaves it for good
//!   (for an exit of its own, or out of the loop that the region lies in): such an edge is a
//!   [`Region::breaks`].
//! * Start and edges into the join are in the same loops: BSSY is not run again while threads of
//!   the region wait.
//!
//! Regions then nest: a thread that waits at one region's join is in no region inside it, so it
//! waits only for threads that wait, if at all, further inside. No cycle of waiting threads can
//! come about (`convergence.rs` tests it by running random flow graphs).
//!
//! For each divergent branch there is one region to its post-dominator and, where threads may leave
//! the loops around it before that, one a loop, to the block inside the loop where those that stay
//! meet. Branches with the same join share one region. Cycles with several entries are left without
//! barriers: no correct program needs them to reconverge there.

use crate::analysis::ControlFlow;
use crate::analysis::blocks::{BlockSet, Marks};
use crate::analysis::cfg::Graph;
use crate::analysis::dominators::Dominators;
use crate::analysis::loops::{Loop, Loops};
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Most regions around one block: convergence barriers of the machine.
pub const MAX_DEPTH: usize = 16;

/// One region; blocks by number.
#[derive(Clone, Debug)]
pub struct Region {
    /// The block that ends with the divergent branch.
    pub start: u32,
    /// Where its lanes reconverge.
    pub join: u32,
    /// Blocks from the start (included) to the join (left out).
    pub blocks: BlockSet,
    /// Edges that leave it otherwise than to the join.
    pub breaks: Scratch<Vec<(u32, u32)>>,
}

/// All regions of a function, outer before inner.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// An outer region stands before those inside it.
    pub regions: Scratch<Vec<Region>>,
    /// Some branch has no region although its threads could reconverge: they may then run apart to
    /// the end.
    pub incomplete: bool,
}

/// The loop that a region lies in, an index of [`Loops::all`]; None for the whole function.
type Context = Option<usize>;

/// A join and the context of its region. A loop's header as the join of branches inside the loop
/// (met on the back edges) has that loop as context; as the join of branches before the loop, what
/// is around the loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Key {
    join: u32,
    context: Context,
}

struct Planner<'a> {
    graph: &'a Graph,
    dom: &'a Dominators,
    loops: &'a Loops,
    /// By loop; None where no branch is divergent.
    rounds: Scratch<Vec<Option<Round>>>,
    /// Where all threads that have not exited wait for each other, if anywhere.
    meets: Option<&'a BitVec>,
    /// Blocks of cycles that are no natural loops.
    irreducible: &'a BitVec,
    /// Scratch of [`Planner::between`].
    ahead: RefCell<Marks>,
    back: RefCell<Marks>,
}

/// Plans the regions of a function. `divergent` are the blocks whose branch may be divergent,
/// `waits` those where a thread may wait for others otherwise than at a join, `meets` those where
/// it waits for all that have not exited.
///
/// `most` regions may lie around a block, at most [`MAX_DEPTH`]. Each loop that has such a branch
/// needs a preheader: see [`without_preheader`].
pub fn plan(
    flow: &ControlFlow,
    divergent: &BitVec,
    (waits, meets): (&BitVec, &BitVec),
    most: usize,
) -> Plan {
    let (graph, dom, loops) = (flow.graph(), flow.dominators(), flow.loops());
    let irreducible = flow.irreducible();
    let has_branch = |l: &Loop| l.blocks.iter().any(|b| divergent[b as usize]);
    let round = |l: &Loop| has_branch(l).then(|| Round::new(graph, l));
    let rounds = scratch!(Vec<Option<Round>>).with(loops.all.iter().map(round));
    let marks = || RefCell::new(Marks::new(graph.len()));
    let (ahead, back) = (marks(), marks());
    let meets = meets.any().then_some(meets);
    let planner = Planner { graph, dom, loops, rounds, meets, irreducible, ahead, back };
    let mut plan = Plan { regions: scratch!(Vec<Region>), incomplete: false };
    let mut joins = scratch!(Vec<(Key, SmallVec<[u32; 2]>)>);
    let mut index = scratch!(FxHashMap<Key, usize>);
    let mut add = |key: Key, branch: u32| {
        let at = *index.entry(key).or_insert_with(|| {
            joins.push((key, SmallVec::new()));
            joins.len() - 1
        });
        joins[at].1.push(branch);
    };
    let parts = |b: &u32| divergent[*b as usize] && graph.succs[*b as usize].len() > 1;
    let branches = flow.reverse_postorder().iter().copied().filter(parts);
    let whole = flow.post_dominators_by_exit();
    for branch in branches {
        for &(context, join) in &planner.joins(branch, whole) {
            add(planner.key(join, context), branch);
        }
    }
    for (key, branches) in &joins {
        match planner.region(*key, branches) {
            Some(region) if planner.parts_threads(&region, branches) => plan.regions.push(region),
            Some(_) => {}
            None => plan.incomplete = true,
        }
    }
    planner.order(&mut plan, most);
    let mut joins = scratch!(BitVec);
    joins.extend_from_bitslice(waits);
    plan.regions.iter().for_each(|r| joins.set(r.join as usize, true));
    for region in &mut plan.regions {
        region.breaks = planner.breaks(region, &joins);
    }
    plan
}

/// Loops with a divergent branch whose header control enters otherwise than from one block that
/// leads only there.
pub fn without_preheader<'a>(
    flow: &'a ControlFlow,
    divergent: &'a BitVec,
) -> impl Iterator<Item = &'a Loop> {
    let loops = flow.loops().all.iter().filter(|l| l.preheader.is_none());
    loops.filter(|l| l.blocks.iter().any(|b| divergent[b as usize]))
}

/// Where the threads in one iteration of a loop reconverge: post-dominators in the loop without the
/// edges that leave it; the edges back to the header lead to a common end.
struct Round {
    /// Numbers of the loop's blocks in `post`.
    number: Scratch<FxHashMap<u32, u32>>,
    blocks: Scratch<Vec<u32>>,
    flow: ControlFlow,
}

impl Round {
    fn new(graph: &Graph, l: &Loop) -> Round {
        let blocks = scratch!(Vec<u32>).with(l.blocks.iter());
        let mut number = scratch!(FxHashMap<u32, u32>);
        number.extend(blocks.iter().enumerate().map(|(i, b)| (*b, i as u32)));
        let end = blocks.len() as u32;
        let mut edges = scratch!(Vec<(u32, u32)>);
        for block in &blocks {
            for succ in &graph.succs[*block as usize] {
                if *succ == l.header {
                    edges.push((number[block], end));
                } else if let Some(to) = number.get(succ) {
                    edges.push((number[block], *to));
                }
            }
        }
        let mut graph = Graph::new(blocks.len() + 1, &edges);
        graph.entry = number[&l.header];
        Round { number, blocks, flow: ControlFlow::new(graph, scratch!(Vec<u32>; end; 1)) }
    }

    /// The next block behind this one that all threads of the round pass; the header stands for the
    /// end of the round.
    fn next(&self, block: u32, header: u32) -> Option<u32> {
        let next = self.flow.post_dominators_by_exit().idom(*self.number.get(&block)?)?;
        Some(self.blocks.get(next as usize).copied().unwrap_or(header))
    }

    /// Whether threads that take some ways out of a branch cannot but come to one of `meets` before
    /// the end of the round, and others can: see [`around`].
    fn goes_around(&self, branch: u32, meets: &BitVec) -> bool {
        let Some(&number) = self.number.get(&branch) else { return false };
        let meets = |b: u32| self.blocks.get(b as usize).is_some_and(|b| meets[*b as usize]);
        around(self.flow.graph(), self.flow.post_dominators_by_exit(), meets, number)
    }

    /// Whether all threads of the round that pass `block` pass `join` after it.
    fn always_passes(&self, join: u32, block: u32) -> bool {
        match (self.number.get(&join), self.number.get(&block)) {
            (Some(join), Some(block)) => {
                self.flow.post_dominators_by_exit().dominates(*join, *block)
            }
            _ => false,
        }
    }
}

/// Whether some ways out of a branch cannot but come to a block that `meets` before the ways come
/// together again, and some can: where threads wait for all others there, none is to be held where
/// the ways come together.
pub fn around(graph: &Graph, post: &Dominators, meets: impl Fn(u32) -> bool, branch: u32) -> bool {
    let end = post.idom(branch);
    let must_meet = |succ: &&u32| {
        let mut at = Some(**succ);
        while let Some(block) = at.filter(|b| Some(*b) != end) {
            if meets(block) {
                return true;
            }
            at = post.idom(block);
        }
        false
    };
    let succs = &graph.succs[branch as usize];
    let meeting = succs.iter().filter(must_meet).count();
    meeting > 0 && meeting < succs.len()
}

impl Planner<'_> {
    /// A join found in a context. The header of the context's own loop stands for the end of a
    /// round.
    fn key(&self, join: u32, context: Context) -> Key {
        if context.is_some_and(|i| self.loops.all[i].header == join) {
            return Key { join, context };
        }
        let context = match self.loops.innermost[join as usize] {
            Some(i) if self.loops.all[i].header == join => self.loops.all[i].parent,
            other => other,
        };
        Key { join, context }
    }

    /// Where threads that a branch makes diverge reconverge: in each iteration of the loops around
    /// it, and in the function.
    fn joins(&self, branch: u32, whole: &Dominators) -> SmallVec<[(Context, u32); 4]> {
        let mut found = SmallVec::new();
        let mut inner = SmallVec::<[usize; 4]>::new();
        let mut at = self.loops.innermost[branch as usize];
        loop {
            let next = |block: u32| match at {
                Some(i) => self.rounds[i].as_ref()?.next(block, self.loops.all[i].header),
                None => whole.idom(block),
            };
            let parts = match at.and_then(|i| self.rounds[i].as_ref()) {
                Some(round) => {
                    let several =
                        round.flow.graph().succs[round.number[&branch] as usize].len() > 1;
                    several && !self.meets.is_some_and(|meets| round.goes_around(branch, meets))
                }
                None => true,
            };
            let header = at.map(|i| self.loops.all[i].header);
            // Threads that go around an inner loop come to a block of it in another round only:
            // they reconverge behind the loop.
            let in_other_round = |join: u32| {
                Some(join) != header
                    && inner.iter().any(|i| {
                        let round = self.rounds[*i].as_ref();
                        self.loops.all[*i].blocks.contains(join)
                            && round.is_some_and(|r| !r.always_passes(join, branch))
                    })
            };
            let mut join = next(branch);
            while let Some(j) = join.filter(|j| in_other_round(*j)) {
                join = next(j);
            }
            found.extend(join.filter(|_| parts).map(|j| (at, j)));
            match at {
                Some(i) => {
                    inner.push(i);
                    at = self.loops.all[i].parent;
                }
                None => return found,
            }
        }
    }

    /// The region to a join for these branches; None where flow is irreducible.
    fn region(&self, key: Key, branches: &[u32]) -> Option<Region> {
        let mut start =
            branches.iter().copied().reduce(|a, b| self.dom.common(a, b).unwrap_or(a))?;
        loop {
            start = self.out_of_loops(start, key.context)?;
            let blocks = self.between(start, key);
            let higher = blocks.iter().try_fold(start, |a, b| self.dom.common(a, b))?;
            if higher != start {
                start = higher;
                continue;
            }
            let tangled = |b: usize| self.irreducible[b];
            if tangled(key.join as usize) || blocks.iter().any(|b| tangled(b as usize)) {
                return None;
            }
            let breaks = scratch!(Vec<(u32, u32)>);
            return Some(Region { start, join: key.join, blocks, breaks });
        }
    }

    /// Whether threads come to the join by more than one way out of some branch. (Not so where the
    /// other way goes around a loop: those threads reconverge at the header.)
    fn parts_threads(&self, region: &Region, branches: &[u32]) -> bool {
        branches.iter().any(|b| {
            let stays = |s: &&u32| {
                **s == region.join || (region.blocks.contains(**s) && **s != region.start)
            };
            self.graph.succs[*b as usize].iter().filter(stays).count() > 1
        })
    }

    /// The block, or where it is in a loop that does not contain the context, the block before the
    /// outermost such loop.
    fn out_of_loops(&self, block: u32, context: Context) -> Option<u32> {
        let is_around = |i: usize| {
            let mut at = context;
            while let Some(c) = at {
                if c == i {
                    return true;
                }
                at = self.loops.all[c].parent;
            }
            false
        };
        let mut outermost = None;
        let mut at = self.loops.innermost[block as usize];
        while let Some(i) = at {
            if is_around(i) {
                break;
            }
            outermost = Some(i);
            at = self.loops.all[i].parent;
        }
        match outermost {
            Some(i) => self.dom.idom(self.loops.all[i].header),
            None => Some(block),
        }
    }

    /// Blocks on paths from the start to the join that stay in the context and do not pass its back
    /// edges.
    fn between(&self, start: u32, key: Key) -> BlockSet {
        let context = key.context.map(|i| &self.loops.all[i]);
        let inside = |b: u32| context.is_none_or(|l| l.blocks.contains(b));
        let goes = |to: u32| to != key.join && inside(to) && context.is_none_or(|l| l.header != to);
        let (mut ahead, mut back) = (self.ahead.borrow_mut(), self.back.borrow_mut());
        ahead.clear();
        ahead.add(start);
        let mut stack = SmallVec::<[u32; 16]>::from_elem(start, 1);
        while let Some(node) = stack.pop() {
            for succ in &self.graph.succs[node as usize] {
                if goes(*succ) && ahead.add(*succ) {
                    stack.push(*succ);
                }
            }
        }
        back.clear();
        back.add(start);
        let mut blocks = SmallVec::<[u32; 16]>::from_elem(start, 1);
        stack.push(key.join);
        while let Some(node) = stack.pop() {
            // The context's header is passed only as the join or as the start.
            if node != key.join && context.is_some_and(|l| l.header == node) {
                continue;
            }
            for pred in &self.graph.preds[node as usize] {
                if ahead.has(*pred) && back.add(*pred) {
                    blocks.push(*pred);
                    stack.push(*pred);
                }
            }
        }
        blocks.iter().copied().collect()
    }

    /// The edges that leave a region otherwise than to its join. `joins` are those of all regions,
    /// and other places where threads wait for each other.
    fn breaks(&self, region: &Region, joins: &BitVec) -> Scratch<Vec<(u32, u32)>> {
        let mut breaks = scratch!(Vec<(u32, u32)>);
        for block in region.blocks.iter() {
            for succ in &self.graph.succs[block as usize] {
                let stays = region.blocks.contains(*succ) && *succ != region.start;
                if *succ != region.join && !stays && !self.soon_exits(*succ, joins) {
                    breaks.push((block, *succ));
                }
            }
        }
        breaks
    }

    /// Whether threads that go to this block exit after a few more, without a loop and without
    /// waiting for others on the way: the barrier then forgets them by itself (observed: ptxas
    /// emits no BREAK before such a way out).
    fn soon_exits(&self, block: u32, joins: &BitVec) -> bool {
        const FEW: usize = 4;
        let mut seen = SmallVec::<[u32; 8]>::from_elem(block, 1);
        let mut at = 0;
        while at < seen.len() {
            let node = seen[at] as usize;
            let in_cycle = self.loops.innermost[node].is_some() || self.irreducible[node];
            if joins[node] || in_cycle || seen.len() > FEW {
                return false;
            }
            for succ in &self.graph.succs[node] {
                if !seen.contains(succ) {
                    seen.push(*succ);
                }
            }
            at += 1;
        }
        true
    }

    /// Outer regions first; drops the innermost where more nest than there are barriers.
    fn order(&self, plan: &mut Plan, most: usize) {
        // Blocks that nothing reaches come first.
        let mut rank = scratch!(Vec<usize>; 0; self.graph.len());
        let order = self.graph.reverse_postorder();
        order.iter().zip(1..).for_each(|(block, at)| rank[*block as usize] = at);
        let size = |r: &Region| r.blocks.len();
        plan.regions.sort_by_key(|r| (std::cmp::Reverse(size(r)), rank[r.start as usize], r.join));
        let mut depth = scratch!(Vec<usize>; 0; self.graph.len());
        let before = plan.regions.len();
        plan.regions.retain(|r| {
            let fits = r.blocks.iter().all(|b| depth[b as usize] < most);
            if fits {
                r.blocks.iter().for_each(|b| depth[b as usize] += 1);
            }
            fits
        });
        plan.incomplete |= plan.regions.len() != before;
    }
}
