//! Proves that accesses to memory stand in the order that the PTX has them in, where its memory
//! model asks for one: what no engine that runs threads one after another can see.
//!
//! The cubin says itself which line of the PTX each instruction comes from ([`super::lines`]); what
//! a line asks for is read from its text ([`super::ptx_lines`]). For each two lines of which the
//! first comes before the second on some way through the PTX that goes around no loop, and which
//! are
//! * an acquire (a barrier, a fence, a wait) and any access or order behind it,
//! * any access or order and a release behind it,
//! * two strong accesses that may touch the same bytes, or two volatile ones,
//!
//! no instruction of the second may stand before one of the first on any way through the machine
//! code that goes around no loop. Where a line was copied (an unrolled loop), each copy of the
//! second needs one of the first before it, and is counted apart.

use super::graph::Code;
use super::lines::Lines;
use super::ptx_lines::{self, Effect, Line};
use crate::elf::read::{Cubin, Function};
use orias_components::{Inst, Opcode, Props};
use orias_targets::Target;
use std::collections::{BTreeMap, HashMap};

/// Most pairs of lines of one function that are looked at.
const MOST: usize = 20_000_000;

/// What was found in the text of a kernel.
#[derive(Clone, Debug, Default)]
pub struct OrderReport {
    /// The kernel whose text it is.
    pub kernel: String,
    /// Pairs of lines that must keep their order, with instructions of both.
    pub pairs: usize,
    /// Pairs of which one line was copied: held to be in order.
    pub copied: usize,
    /// Pairs in the wrong order, in words.
    pub wrong: Vec<String>,
    /// Strong accesses, fences and barriers of the PTX without an instruction that touches memory.
    pub lost: Vec<String>,
    /// The function has too many pairs to look at.
    pub too_many: bool,
}

/// An instruction that others may see the effect of, and the line that it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Index in the text.
    pub at: u32,
    /// Of the PTX, from 1 on.
    pub line: u32,
}

/// Checks all functions with a text section of a cubin that was compiled with lines; None where it
/// says no lines.
///
/// `change` may move the lines of instructions about, for tests: it gets the places of each kernel
/// in the order of the text.
pub fn order(
    target: &Target,
    cubin: &Cubin<'_>,
    change: impl Fn(&mut Vec<Place>),
) -> Option<Vec<OrderReport>> {
    let lines = Lines::read(cubin)?;
    let parsed: Vec<Option<Line>> = lines.text.iter().map(|l| ptx_lines::line(l)).collect();
    let bodies = bodies(&lines.text);
    let of = |function: &Function<'_>| {
        let rows = lines.rows.get(&function.section)?;
        let code = Code::new(target, cubin, function);
        let mut places = Vec::new();
        for (at, inst) in (0..).zip(&code.insts) {
            let line = rows.range(..=u64::from(at) * super::graph::WORD).next_back();
            if let (Some(inst), Some((_, line))) = (inst, line)
                && is_seen(inst)
            {
                places.push(Place { at, line: *line });
            }
        }
        let fits = |p: &Place| {
            let line = parsed.get(p.line as usize - 1).and_then(Option::as_ref);
            line.is_some_and(|l| may_come_of(&code, p.at, &l.name))
        };
        places.retain(fits);
        change(&mut places);
        let mut report = OrderReport { kernel: function.name.to_string(), ..Default::default() };
        for body in &bodies {
            let used = |p: &&Place| (body.first..body.end).contains(&p.line);
            let own: Vec<Place> = places.iter().filter(used).copied().collect();
            if !own.is_empty() || body.name == function.name {
                check(&code, &parsed, body, &own, &mut report);
            }
        }
        Some(report)
    };
    Some(cubin.functions.iter().filter_map(of).collect())
}

/// The lines of the PTX that a cubin keeps.
pub fn lines_text(cubin: &Cubin<'_>) -> Option<Vec<String>> {
    Lines::read(cubin).map(|l| l.text)
}

/// Whether an instruction does something in memory that others have too, or orders what does.
fn is_seen(inst: &Inst) -> bool {
    use Opcode::*;
    if super::graph::condition(inst).is_never() {
        return false;
    }
    match inst.op {
        LDC | LDL | STL | CCTLL | QSPC | LEPC => false,
        BAR | WARPSYNC | UCGABAR_ARV | UCGABAR_WAIT | CGAERRBAR | ACQBULK | PREEXIT | WARPGROUP => {
            true
        }
        DEPBAR | HGMMA | IGMMA | QGMMA | BGMMA => true,
        op => {
            let memory = op.has(Props::LOAD) || op.has(Props::STORE);
            memory && !op.has(Props::UNIFORM)
        }
    }
}

/// Whether the instruction can be of this line. ptxas leaves out lines of instructions that it
/// moves, so that some seem to be of the line before them.
fn may_come_of(code: &Code, at: u32, name: &str) -> bool {
    use Opcode::*;
    let first = name.split('.').next().unwrap_or("");
    match code.inst(at).map(|i| i.op) {
        Some(HGMMA | IGMMA | QGMMA | BGMMA) => first == "wgmma",
        Some(LDGSTS | LDGDEPBAR) => first == "cp",
        Some(BAR) => matches!(first, "bar" | "barrier"),
        _ => true,
    }
}

/// A function of the PTX: lines from its head to the next one's.
struct Body {
    name: String,
    first: u32,
    end: u32,
}

fn bodies(text: &[String]) -> Vec<Body> {
    let mut bodies: Vec<Body> = Vec::new();
    for (number, line) in (1u32..).zip(text) {
        let head = [".entry ", ".func "].iter().find_map(|w| Some(line.split_once(w)?.1));
        if let Some(rest) = head
            && line.trim_start().starts_with('.')
        {
            if let Some(last) = bodies.last_mut() {
                last.end = number;
            }
            let rest = rest.trim_start();
            let rest = match rest.strip_prefix('(') {
                Some(result) => result.split_once(')').map_or("", |(_, r)| r).trim_start(),
                None => rest,
            };
            let name = rest.split(['(', ' ', '{', ';']).next().unwrap_or("").to_string();
            bodies.push(Body { name, first: number, end: text.len() as u32 + 1 });
        }
    }
    bodies
}

/// A line that matters, and the block of the PTX that it is in.
struct Item<'l> {
    number: u32,
    block: u32,
    line: &'l Line,
    /// Its instructions.
    at: Vec<u32>,
}

fn check(
    code: &Code,
    parsed: &[Option<Line>],
    body: &Body,
    places: &[Place],
    report: &mut OrderReport,
) {
    let own = |number: u32| parsed.get(number as usize - 1).and_then(Option::as_ref);
    let (blocks, ptx) = blocks(body, &own);
    let mut by_line: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    places.iter().for_each(|p| by_line.entry(p.line).or_default().push(p.at));
    let mut items = Vec::new();
    for number in body.first..body.end {
        let Some(line) = own(number) else { continue };
        let effect = line.effect;
        if effect == Effect::default() {
            continue;
        }
        let at = by_line.get(&number).cloned().unwrap_or_default();
        if at.is_empty() && body.name == report.kernel && (effect.orders() || effect.strong) {
            report.lost.push(format!("line {number}: {}", line.name));
        }
        items.push(Item { number, block: blocks[&number], line, at });
    }
    items.retain(|i| !i.at.is_empty());
    let edges = code.nodes.iter().map(|n| n.edges.iter().map(|e| e.to).collect()).collect();
    let machine = Ways::new(edges, &roots(code));
    let mut ways = (ptx, machine);
    let orders: Vec<usize> = (0..items.len()).filter(|i| items[*i].line.effect.orders()).collect();
    let strong: Vec<usize> = (0..items.len()).filter(|i| items[*i].line.effect.strong).collect();
    if orders.len() * items.len() + strong.len() * strong.len() > MOST {
        report.too_many = true;
        return;
    }
    let mut pair = |i: usize, j: usize| {
        let (first, second) = (&items[i.min(j)], &items[i.max(j)]);
        if first.number != second.number && is_ordered(first.line, second.line) {
            judge(code, &mut ways, first, second, report);
        }
    };
    for i in &orders {
        // Two that order others are looked at once.
        (0..items.len())
            .filter(|j| j > i || orders.binary_search(j).is_err())
            .for_each(|j| pair(*i, j));
    }
    for (n, i) in strong.iter().enumerate() {
        let both = |i: &usize| !items[*i].line.effect.orders();
        strong[n + 1..].iter().filter(|j| both(i) && both(j)).for_each(|j| pair(*i, *j));
    }
}

fn roots(code: &Code) -> Vec<u32> {
    code.entries.iter().map(|e| code.node_of[*e as usize]).collect()
}

/// Whether the second must stay behind the first.
fn is_ordered(first: &Line, second: &Line) -> bool {
    let (a, b) = (first.effect, second.effect);
    let orders = a.acquire && (b.access || b.orders()) || b.release && (a.access || a.orders());
    let strong = a.strong && b.strong;
    a.meets(b) && (orders || strong && (a.volatile && b.volatile || may_meet(first, second)))
}

/// Whether two accesses of the same memory may touch the same bytes.
fn may_meet(a: &Line, b: &Line) -> bool {
    match (&a.address, &b.address) {
        (Some((base, at)), Some((other, to))) if base == other => {
            *at < to + b.bytes && *to < at + a.bytes
        }
        _ => true,
    }
}

fn judge(
    code: &Code,
    (ptx, machine): &mut (Ways, Ways),
    first: &Item<'_>,
    second: &Item<'_>,
    report: &mut OrderReport,
) {
    let (mut first, mut second) = (first, second);
    if first.block != second.block {
        if ptx.leads(second.block, first.block) {
            // The text has them the other way round.
            (first, second) = (second, first);
            if !is_ordered(first.line, second.line) {
                return;
            }
        } else if !ptx.leads(first.block, second.block) {
            return;
        }
    }
    let mut before = |a: u32, b: u32| {
        let (x, y) = (code.node_of[a as usize], code.node_of[b as usize]);
        if x == y { a < b } else { machine.leads(x, y) }
    };
    report.pairs += 1;
    for late in &second.at {
        for early in &first.at {
            if !before(*late, *early) {
                continue;
            }
            let copied = first.at.iter().any(|a| before(*a, *late))
                && second.at.iter().any(|b| before(*early, *b));
            if copied {
                report.copied += 1;
                return;
            }
            report.wrong.push(format!(
                "line {} ({}) at {:#06x} stands before line {} ({}) at {:#06x}",
                second.number,
                second.line.name,
                late * 16,
                first.number,
                first.line.name,
                early * 16
            ));
            return;
        }
    }
}

/// The block of each line of a function, and the ways between blocks.
fn blocks<'l>(body: &Body, line: &impl Fn(u32) -> Option<&'l Line>) -> (BTreeMap<u32, u32>, Ways) {
    let mut of = BTreeMap::new();
    // Scopes may have labels of one name: the nearest is meant.
    let mut labels: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
    let mut tables: HashMap<String, Vec<String>> = HashMap::new();
    let (mut block, mut ends) = (0u32, Vec::new());
    let mut fresh = true;
    for number in body.first..body.end {
        let Some(l) = line(number) else { continue };
        if !l.labels.is_empty() && !fresh {
            block += 1;
        }
        fresh &= l.name.is_empty();
        for label in &l.labels {
            labels.entry(label.clone()).or_default().push((number, block));
            if l.name.starts_with(".branchtargets") {
                tables.insert(label.clone(), l.targets.clone());
            }
        }
        of.insert(number, block);
        let leaves = matches!(l.name.split('.').next(), Some("bra" | "brx" | "ret" | "exit"));
        if leaves {
            ends.push((block, number, l));
            block += 1;
            fresh = true;
        } else if !l.name.is_empty() {
            fresh = false;
        }
    }
    let count = block as usize + 1;
    let mut succs: Vec<Vec<u32>> = (0..count as u32).map(|b| vec![b + 1]).collect();
    for (block, number, l) in ends {
        let nearest = |label: &String| {
            let all = labels.get(label)?.iter();
            all.min_by_key(|(line, _)| line.abs_diff(number)).map(|(_, block)| *block)
        };
        let mut to: Vec<u32> = Vec::new();
        for target in &l.targets {
            to.extend(nearest(target));
            let list = tables.get(target).into_iter().flatten();
            to.extend(list.filter_map(nearest));
        }
        if l.guarded {
            to.push(block + 1);
        }
        succs[block as usize] = to;
    }
    succs.iter_mut().for_each(|s| s.retain(|b| (*b as usize) < count));
    (of, Ways::new(succs, &[0]))
}

/// A graph without the edges that go back.
struct Ways {
    succs: Vec<Vec<u32>>,
    /// Place in reverse postorder.
    rank: Vec<u32>,
    reach: HashMap<u32, Vec<bool>>,
}

impl Ways {
    fn new(succs: Vec<Vec<u32>>, roots: &[u32]) -> Ways {
        let mut rank = vec![u32::MAX; succs.len()];
        let mut seen = vec![false; succs.len()];
        let mut post = Vec::new();
        for root in roots {
            let mut stack = vec![(*root, 0)];
            if std::mem::replace(&mut seen[*root as usize], true) {
                continue;
            }
            while let Some((node, next)) = stack.pop() {
                match succs[node as usize].get(next) {
                    Some(to) => {
                        stack.push((node, next + 1));
                        if !std::mem::replace(&mut seen[*to as usize], true) {
                            stack.push((*to, 0));
                        }
                    }
                    None => post.push(node),
                }
            }
        }
        (0..).zip(post.iter().rev()).for_each(|(i, n)| rank[*n as usize] = i);
        Ways { succs, rank, reach: HashMap::new() }
    }

    /// Whether a way leads from one to the other, which are not the same.
    fn leads(&mut self, from: u32, to: u32) -> bool {
        if self.rank[from as usize] >= self.rank[to as usize] {
            return false;
        }
        let (succs, rank) = (&self.succs, &self.rank);
        let reach = self.reach.entry(from).or_insert_with(|| {
            let mut found = vec![false; succs.len()];
            let mut work = vec![from];
            while let Some(node) = work.pop() {
                for next in &succs[node as usize] {
                    let forward = rank[*next as usize] > rank[node as usize];
                    if forward && !std::mem::replace(&mut found[*next as usize], true) {
                        work.push(*next);
                    }
                }
            }
            found
        });
        reach[to as usize]
    }
}
