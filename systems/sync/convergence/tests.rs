//! Random flow graphs, run by a small machine that knows barriers and nothing of how they are
//! placed; and the placement that was observed of ptxas.

use super::*;
use crate::analysis::loops::Loop;
use crate::analysis::testing::Random;
use crate::testing;
use orias_components::edges;
use orias_components::text;
use orias_components::validate::validate;
use std::fmt::Write;

const LANES: usize = 8;

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Runs,
    Waits(u32),
    Exited,
}

/// Lanes that entered a block together, and the block where they are to reconverge.
struct Promise {
    join: BlockId,
    members: u32,
}

/// Lanes that run together, the block that they are in and the next instruction.
#[derive(Clone, Copy)]
struct Group {
    mask: u32,
    block: BlockId,
    at: usize,
}

/// A warp: one instruction of one group at a time, in random order.
///
/// A barrier is what BSSY noted in each lane: ptxas uses one barrier for sibling regions, so the
/// machine keeps apart what parted threads do with it.
struct Warp<'a, 'w> {
    body: &'a Body<'w>,
    random: Random,
    groups: Vec<Group>,
    states: [State; LANES],
    /// By lane and barrier: the lanes that entered the region together.
    barriers: Vec<FxHashMap<u32, u32>>,
    /// Where the lanes that wait at a barrier go on.
    resume: FxHashMap<u32, (BlockId, usize)>,
    predicates: Vec<FxHashMap<u32, bool>>,
    promises: Vec<Promise>,
    /// Post-dominator of each block that branches, in the graph before barriers, by definition.
    joins: &'a [Option<BlockId>],
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |l| mask >> l & 1 != 0)
}

fn mask_of(lanes: impl Iterator<Item = usize>) -> u32 {
    lanes.fold(0, |mask, lane| mask | 1 << lane)
}

impl<'a, 'w> Warp<'a, 'w> {
    fn new(body: &'a Body<'w>, joins: &'a [Option<BlockId>], seed: u64) -> Self {
        Warp {
            body,
            random: Random::new(seed),
            groups: vec![Group { mask: (1 << LANES) - 1, block: body.layout()[0], at: 0 }],
            states: [State::Runs; LANES],
            barriers: vec![FxHashMap::default(); LANES],
            resume: FxHashMap::default(),
            predicates: vec![FxHashMap::default(); LANES],
            promises: Vec::new(),
            joins,
        }
    }

    fn live(&self) -> u32 {
        mask_of((0..LANES).filter(|l| self.states[*l] != State::Exited))
    }

    /// Runs up to so many instructions. Fails when lanes wait for ever or do not meet where they
    /// should.
    fn run(&mut self, steps: usize) -> Result<(), String> {
        for _ in 0..steps {
            if self.live() == 0 {
                return Ok(());
            }
            if self.groups.is_empty() {
                return Err(format!("lanes wait for ever: {:?}", self.states));
            }
            let at = self.random.below(self.groups.len() as u64) as usize;
            let group = self.groups.swap_remove(at);
            self.step(group)?;
            self.release();
        }
        Ok(())
    }

    fn holds(&self, lane: usize, guard: Guard) -> bool {
        let value = match guard.reg.vreg() {
            Some(v) => self.predicates[lane].get(&v.0).copied().unwrap_or(false),
            None => true,
        };
        value != guard.negated
    }

    fn step(&mut self, Group { mask, block, at }: Group) -> Result<(), String> {
        if at == 0 {
            self.arrive(mask, block)?;
        }
        let insts = &self.body.block(block).insts();
        let Some(id) = insts.get(at) else {
            let layout = self.body.layout();
            let here = layout.iter().position(|b| *b == block).expect("in the layout");
            self.groups.push(Group { mask, block: layout[here + 1], at: 0 });
            return Ok(());
        };
        let inst = self.body.inst(*id);
        let on = mask_of(lanes(mask).filter(|l| self.holds(*l, inst.guard)));
        let name =
            |operand: Operand| operand.as_reg().and_then(|r| r.reg.vreg()).map_or(0, |v| v.0);
        let mut rest = mask;
        match inst.op {
            Opcode::BSSY => {
                let barrier = name(inst.operand(0));
                for l in lanes(mask) {
                    self.barriers[l].insert(barrier, mask);
                }
            }
            Opcode::BSYNC => {
                let barrier = name(inst.operand(0));
                let inside =
                    |l: usize| self.barriers[l].get(&barrier).is_some_and(|m| m >> l & 1 != 0);
                if !lanes(mask).all(inside) {
                    return Err(format!(
                        "some of {mask:08b} wait at a barrier that they are not in"
                    ));
                }
                lanes(mask).for_each(|l| self.states[l] = State::Waits(barrier));
                self.resume.insert(barrier, (block, at + 1));
                rest = 0;
            }
            Opcode::BREAK => {
                let barrier = name(inst.operand(1));
                for all in &mut self.barriers {
                    *all.entry(barrier).or_default() &= !on;
                }
            }
            Opcode::EXIT => {
                lanes(on).for_each(|l| self.states[l] = State::Exited);
                rest &= !on;
            }
            Opcode::BRA => {
                let target = edges::targets(inst).next().expect("a branch has a target");
                if on != 0 {
                    self.groups.push(Group { mask: on, block: target, at: 0 });
                }
                rest &= !on;
            }
            Opcode::ISETP => {
                // %R0 is each lane's own, %R1 the same for all that run together.
                let own = name(inst.operand(2)) == 0;
                let mut value = self.random.below(2) == 0;
                for lane in lanes(mask) {
                    if own {
                        value = self.random.below(2) == 0;
                    }
                    self.predicates[lane].insert(name(inst.operand(0)), value);
                }
            }
            _ => {}
        }
        if rest != 0 {
            self.groups.push(Group { mask: rest, block, at: at + 1 });
        }
        Ok(())
    }

    fn release(&mut self) {
        let live = self.live();
        for lane in 0..LANES {
            let State::Waits(name) = self.states[lane] else { continue };
            let joined = self.barriers[lane].get(&name).copied().unwrap_or(0) & live;
            if lanes(joined).all(|l| self.states[l] == State::Waits(name)) {
                let (block, at) = self.resume[&name];
                for l in lanes(joined) {
                    self.states[l] = State::Runs;
                    self.barriers[l].insert(name, 0);
                }
                self.groups.push(Group { mask: joined, block, at });
            }
        }
    }

    /// A group enters a block: promises to meet here are due, and a new one is made when the block
    /// branches.
    fn arrive(&mut self, mask: u32, block: BlockId) -> Result<(), String> {
        let live = self.live();
        let exempt = crate::sync::together::only_exits(self.body, block);
        for promise in self.promises.iter_mut().filter(|p| p.join == block && p.members & mask != 0)
        {
            let expected = promise.members & live;
            if !exempt && expected & !mask != 0 {
                return Err(format!("{expected:08b} are to meet at {block}, {mask:08b} came"));
            }
            promise.members &= !mask;
        }
        self.promises.retain(|p| p.members != 0);
        if let Some(join) = self.joins.get(block.0 as usize).copied().flatten() {
            self.promises.push(Promise { join, members: mask });
        }
        Ok(())
    }
}

/// By definition: the first block that every way from here to an exit passes, and that no way comes
/// to by going around a loop that holds both (threads that go around reconverge with the others at
/// the header).
fn joins_by_definition(flow: &ControlFlow) -> Vec<Option<BlockId>> {
    let (graph, loops) = (flow.graph(), flow.loops());
    let passed = |from: u32, without: Option<u32>| {
        let mut seen = vec![false; graph.len()];
        let mut stack = graph.succs[from as usize].to_vec();
        while let Some(n) = stack.pop() {
            if Some(n) != without && !std::mem::replace(&mut seen[n as usize], true) {
                stack.extend(&graph.succs[n as usize]);
            }
        }
        seen
    };
    let exits_without = |from: u32, without: Option<u32>| {
        let is_exit = |(n, seen): (usize, bool)| seen && graph.succs[n].is_empty();
        passed(from, without).into_iter().enumerate().any(is_exit)
    };
    let reaches = |from: u32, to: u32, without: u32| passed(from, Some(without))[to as usize];
    let after = |from: u32| -> Vec<u32> {
        let all = 0..graph.len() as u32;
        all.filter(|n| *n != from && exits_without(from, None) && !exits_without(from, Some(*n)))
            .collect()
    };
    (0..graph.len() as u32)
        .map(|b| {
            let mut all = after(b);
            // The nearest is post-dominated by all others.
            all.sort_by_key(|n| std::cmp::Reverse(after(*n).len()));
            let in_this_round = |n: &&u32| {
                let both = |l: &&Loop| l.blocks.contains(b) && l.blocks.contains(**n);
                !loops.all.iter().filter(both).any(|l| reaches(b, l.header, **n))
            };
            // Nor where some way there may end in an endless loop instead.
            let comes = |n: &&u32| {
                let way = passed(b, Some(**n));
                let dead_end =
                    |m: usize| !graph.succs[m].is_empty() && !exits_without(m as u32, None);
                !(0..graph.len()).any(|m| way[m] && dead_end(m))
            };
            let nearest = all.iter().filter(comes).find(in_this_round);
            nearest.filter(|_| graph.succs[b as usize].len() > 1).map(|n| BlockId(*n))
        })
        .collect()
}

/// One block's text: some work, and a way out. `own` says whether the condition is each lane's own.
fn block_text(out: &mut String, id: usize, own: bool, end: &str) {
    let p = 10 + id;
    let source = if own { "%R0" } else { "%R1" };
    let _ = writeln!(out, "BB{id}:\n  NOP\n  %P{p}, PT = ISETP.LT.AND {source}, RZ, PT\n{end}");
}

fn with_head(blocks: &str) -> String {
    blocks.replacen("BB0:\n", "BB0:\n  %R0 = S2R SR33\n  %R1 = S2R SR37\n", 1)
}

/// Branches from anywhere to anywhere.
fn random_text(random: &mut Random, blocks: usize) -> String {
    let mut out = String::new();
    for id in 0..blocks {
        let p = 10 + id;
        let mut any = || 1 + random.below(blocks as u64 - 1);
        let (a, b) = (any(), any());
        let not = ["", "!"][random.below(2) as usize];
        let end = match random.below(8) {
            _ if id + 1 == blocks => "  EXIT PT".into(),
            0 => format!("  @{not}%P{p} EXIT PT"),
            1 => "  EXIT PT".into(),
            2 => format!("  BRA PT, BB{a}"),
            3 => String::new(),
            4 => format!("  @{not}%P{p} BRA PT, BB{a}\n  BRA PT, BB{b}"),
            _ => format!("  @{not}%P{p} BRA PT, BB{a}"),
        };
        block_text(&mut out, id, random.below(4) != 0, &end);
    }
    with_head(&out)
}

/// What a structured program compiles to: ifs, loops, break, continue and early exits, nested.
struct Structured<'r> {
    random: &'r mut Random,
    out: String,
    next: usize,
    /// Blocks still to be made.
    budget: usize,
    /// Labels, resolved at the end: the block that stands at each.
    labels: Vec<Option<usize>>,
}

impl Structured<'_> {
    fn text(random: &mut Random, budget: usize) -> String {
        let mut s = Structured { random, out: String::new(), next: 0, budget, labels: Vec::new() };
        s.block("");
        while s.budget > 0 {
            s.statement(&mut Vec::new());
        }
        s.block("  EXIT PT");
        let mut text = s.out;
        for (label, block) in s.labels.iter().enumerate().rev() {
            let block = block.unwrap_or(s.next - 1);
            text = text.replace(&format!("L{label};"), &format!("BB{block}"));
        }
        with_head(&text)
    }

    fn label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    fn place(&mut self, label: usize) {
        self.labels[label] = Some(self.next);
    }

    fn block(&mut self, end: &str) {
        let own = self.random.below(4) != 0;
        let end = end
            .replace("@p", &format!("@%P{}", 10 + self.next))
            .replace("@!p", &format!("@!%P{}", 10 + self.next));
        block_text(&mut self.out, self.next, own, &end);
        self.next += 1;
        self.budget = self.budget.saturating_sub(1);
    }

    /// `around` holds (continue, break) labels of the loops around, outermost first.
    fn statement(&mut self, around: &mut Vec<(usize, usize)>) {
        if self.budget == 0 {
            return self.block("");
        }
        match self.random.below(if around.is_empty() { 6 } else { 10 }) {
            0 => self.block(""),
            1 => self.block("  @p EXIT PT"),
            2 => {
                let end = self.label();
                self.block(&format!("  @p BRA PT, L{end};"));
                self.statement(around);
                self.place(end);
                self.block("");
            }
            3 => {
                let (other, end) = (self.label(), self.label());
                self.block(&format!("  @!p BRA PT, L{other};"));
                self.statement(around);
                self.block(&format!("  BRA PT, L{end};"));
                self.place(other);
                self.statement(around);
                self.place(end);
                self.block("");
            }
            4 => {
                let (head, end) = (self.label(), self.label());
                self.place(head);
                self.block(&format!("  @p BRA PT, L{end};"));
                around.push((head, end));
                (0..1 + self.random.below(3)).for_each(|_| self.statement(around));
                around.pop();
                self.block(&format!("  BRA PT, L{head};"));
                self.place(end);
                self.block("");
            }
            5 => {
                let (head, latch, end) = (self.label(), self.label(), self.label());
                self.place(head);
                around.push((latch, end));
                (0..1 + self.random.below(3)).for_each(|_| self.statement(around));
                around.pop();
                self.place(latch);
                self.block(&format!("  @!p BRA PT, L{head};"));
                self.place(end);
                self.block("");
            }
            n => {
                let which = around[self.random.below(around.len() as u64) as usize];
                let target = if n % 2 == 0 { which.0 } else { which.1 };
                match n {
                    6 | 7 => self.block(&format!("  @p BRA PT, L{target};")),
                    8 => {
                        // An exit of its own, in a block that something jumps over.
                        let end = self.label();
                        self.block(&format!("  @p BRA PT, L{end};"));
                        self.block("  EXIT PT");
                        self.place(end);
                        self.block("");
                    }
                    _ => {
                        let end = self.label();
                        self.block(&format!("  @p BRA PT, L{end};"));
                        self.block(&format!("  BRA PT, L{target};"));
                        self.place(end);
                        self.block("");
                    }
                }
            }
        }
    }
}

/// Inserts barriers into the text's body and runs it often. Returns how many regions there are, and
/// whether some branch was left without one.
fn check(text: &str, runs: u64, seed: u64) -> (usize, bool) {
    let mut function = testing::function();
    let mut body = function.body();
    text::parse(text, &mut body).unwrap_or_else(|e| panic!("{e} in\n{text}"));
    body.update_edges();
    drop_idle_branches(&mut body);
    let mut analyses = Analyses::default();
    let flow = analyses.flow_after(&mut body);
    let divergence = analyses.divergence(&body);
    let mut joins = joins_by_definition(&flow);
    make_preheaders(&mut body, &flow, &divergence);
    let flow = analyses.flow_after(&mut body);
    let incomplete = plan(&body, &flow, &divergence, false).incomplete;
    if incomplete {
        joins.clear();
    }
    let regions = insert_barriers(&mut body);
    let printed = text::print(&body, &text::Style::default());
    validate(&body).unwrap_or_else(|e| panic!("{e} in\n{printed}"));
    edges::check(&body).unwrap_or_else(|e| panic!("{e} in\n{printed}"));
    for run in 0..runs {
        let mut warp = Warp::new(&body, &joins, seed ^ run << 32);
        if let Err(error) = warp.run(3_000) {
            panic!("seed {seed}, run {run}: {error}\n{text}\nbecame\n{printed}");
        }
    }
    (regions, incomplete)
}

#[test]
fn lanes_of_structured_programs_meet_and_never_wait_for_ever() {
    let mut regions = 0;
    for seed in 0..600 {
        let budget = 3 + seed as usize % 25;
        let text = Structured::text(&mut Random::new(seed), budget);
        let (count, incomplete) = check(&text, 6, seed);
        assert!(
            !incomplete,
            "seed {seed}: structured flow leaves no branch without a region\n{text}"
        );
        regions += count;
    }
    assert!(regions > 1000, "the programs have branches: {regions} regions");
}

#[test]
fn lanes_of_tangled_programs_never_wait_for_ever() {
    let mut complete = 0;
    for seed in 0..1500 {
        let blocks = 3 + seed as usize % 14;
        let text = random_text(&mut Random::new(seed), blocks);
        let (_, incomplete) = check(&text, 6, seed);
        complete += usize::from(!incomplete);
    }
    assert!(complete > 500, "{complete} graphs were reducible");
}

fn with_barriers(text: &str) -> String {
    let mut function = testing::function();
    let mut body = function.body();
    text::parse(text, &mut body).unwrap_or_else(|e| panic!("{e} in\n{text}"));
    insert_barriers(&mut body);
    validate(&body).unwrap();
    edges::check(&body).unwrap();
    text::print(&body, &text::Style::default())
}

#[test]
fn threads_that_masks_part_meet_behind_what_they_do_together() {
    let text = with_barriers(
        "BB0:
          %R0 = S2R SR33
          WARPSYNC %R0
          %R1, PT = VOTE.ANY PT
          ENDCOLLECTIVE
          %R2 = POPC %R1
          EXIT PT",
    );
    let names = |line: &str| {
        line.split_whitespace()
            .find(|w| w.len() > 2 && w.chars().all(|c| c.is_ascii_uppercase() || c == '.'))
            .map(str::to_string)
    };
    let ops: Vec<String> = text.lines().filter_map(names).collect();
    assert_eq!(ops, ["BSSY", "WARPSYNC", "VOTE.ANY", "BSYNC", "POPC", "EXIT"], "{text}");
}

#[test]
fn one_mask_for_all_threads_parts_none() {
    let text = with_barriers(
        "BB0:
          %R0 = MOV 0xff, 0xf
          WARPSYNC %R0
          %R1, PT = VOTE.ANY PT
          ENDCOLLECTIVE
          EXIT PT",
    );
    assert!(!text.contains("BSSY") && !text.contains("ENDCOLLECTIVE"), "{text}");
}
