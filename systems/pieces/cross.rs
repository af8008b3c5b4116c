//! Which registers cross from one piece to another.
//!
//! One walk over each span, by whichever thread is free, says what it reads before it writes it and
//! what it writes ([`Seen`]); what is live at a cut follows from that, from the last span to the
//! first, for all ways lead through a cut.

use super::cut::{Levels, Span, cut};
use crate::analysis::liveness::kills;
use crate::effects::{as_copy, may_be_repeated};
use crate::parallel;
use crate::ssa::{Fixed, is_value};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, InstId, Opcode, Reg, RegUse, VRegId, View};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Writers of a register that is a constant: of each of a pair's words at most.
const MOST_WRITERS: usize = 2;

/// Copies of copies of a constant are constants, so many of them.
const MOST_COPIES: usize = 4;

/// No span, no piece.
const NONE: u32 = u32::MAX;

/// A register in a span.
#[derive(Clone, Copy)]
struct Seen {
    register: VRegId,
    /// Cells that may be read as they are where the span begins.
    exposed: Cells,
    /// Cells that are others, wherever the span ends.
    killed: Cells,
    /// Cells that it writes, and that spans before it do.
    written: Cells,
    before: Cells,
    writes: u32,
    /// The first of those who write it, last in the span first.
    writers: [InstId; MOST_WRITERS],
}

/// A part of the function that is optimized for itself.
pub struct Piece {
    pub span: Span,
    /// What it reads of what is before it: values, a whole register or one cell each, and
    /// constants, which it makes itself.
    pub values: Vec<RegUse>,
    pub constants: Vec<VRegId>,
    /// What pieces behind it read, a whole register or one cell each.
    pub outs: Vec<RegUse>,
}

/// How a function is cut.
pub struct Plan {
    pub pieces: Vec<Piece>,
    /// Instructions that make a register that is a constant, those before it among them that it
    /// is a copy of, in order.
    pub makers: FxHashMap<VRegId, Vec<InstId>>,
    /// By block its place in the layout.
    pub places: Vec<u32>,
}

/// Cells as bits: those from 15 on, which few registers have, share the last one.
type Cells = u16;

/// The last of the bits.
const LAST: u32 = Cells::BITS - 1;

/// The bits of cells.
fn mask(r: RegUse) -> Cells {
    let ones = |count: u32| if count > LAST { Cells::MAX } else { (1 << count) - 1 };
    let first = u32::from(r.cell);
    ones(first + u32::from(r.count)) & !ones(first.min(LAST))
}

/// The bits of all cells of a register.
fn whole(body: &Body<'_>, v: VRegId) -> Cells {
    mask(RegUse::wide(Reg::RZ, body.vreg(v).cells))
}

/// All that a span names, by number.
fn look(body: &Body<'_>, levels: &Levels, span: &Span, number: &mut Vec<u32>) -> Vec<Seen> {
    number.resize(body.vreg_count(), NONE);
    let mut all: Vec<Seen> = Vec::new();
    let mut of = |all: &mut Vec<Seen>, register: VRegId| {
        let number = &mut number[register.0 as usize];
        if *number == NONE {
            *number = all.len() as u32;
            let writers = [InstId(NONE); MOST_WRITERS];
            let (exposed, killed, written, before) = (0, 0, 0, 0);
            all.push(Seen { register, exposed, killed, written, before, writes: 0, writers });
        }
        *number as usize
    };
    for place in span.places().rev() {
        let ends_values = levels.is_passed(place);
        for id in span.block(body, place).1.iter().rev() {
            let inst = body.inst(*id);
            let ends_values = ends_values && kills(inst);
            inst.for_each_def(|r| {
                let Some(v) = r.reg.vreg() else { return };
                let at = of(&mut all, v);
                let seen = &mut all[at];
                if let Some(free) = seen.writers.get_mut(seen.writes as usize) {
                    *free = *id;
                }
                seen.writes += 1;
                seen.written |= mask(r);
                if ends_values {
                    // Nothing is known of the cells that share a bit.
                    let cells = mask(r) & !(1 << LAST);
                    seen.exposed &= !cells;
                    seen.killed |= cells;
                }
            });
            inst.for_each_use(|r| {
                if let Some(v) = r.reg.vreg() {
                    let at = of(&mut all, v);
                    all[at].exposed |= mask(r);
                }
            });
        }
    }
    all.iter().for_each(|seen| number[seen.register.0 as usize] = NONE);
    all.sort_unstable_by_key(|seen| seen.register);
    all
}

const _: () = assert!(size_of::<Seen>() == 24, "there is one for each register of each span");

/// How a register crosses cuts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It does not.
    Local,
    Value,
    Constant,
    /// A register that a warp has once, that is a constant or not: its name is the same in all
    /// pieces.
    UniformConstant,
    Uniform,
}

struct Finder<'a, 'w> {
    body: &'a Body<'w>,
    spans: Vec<Vec<Seen>>,
    /// By register the first and the last span that name it.
    first: Scratch<Vec<u32>>,
    last: Scratch<Vec<u32>>,
    /// Registers that a span writes that is not the first to name it.
    rewritten: Scratch<Vec<bool>>,
}

impl<'a, 'w> Finder<'a, 'w> {
    fn new(body: &'a Body<'w>, mut spans: Vec<Vec<Seen>>) -> Self {
        let count = body.vreg_count();
        let mut first = scratch!(Vec<u32>; NONE; count);
        let mut last = scratch!(Vec<u32>; NONE; count);
        let mut written = scratch!(Vec<Cells>; 0; count);
        let mut rewritten = scratch!(Vec<bool>; false; count);
        for (span, seen) in (0..).zip(&mut spans) {
            for seen in seen {
                let v = seen.register.0 as usize;
                if first[v] == NONE {
                    first[v] = span;
                } else {
                    rewritten[v] |= seen.writes > 0;
                }
                last[v] = span;
                seen.before = written[v];
                written[v] |= seen.written;
            }
        }
        Finder { body, spans, first, last, rewritten }
    }

    /// What the only span that writes a register says of it, and which of its writers are known.
    fn writers(&self, v: VRegId) -> &[InstId] {
        let at = v.0 as usize;
        let Some(seen) = self.spans.get(self.first[at] as usize) else { return &[] };
        let Ok(found) = seen.binary_search_by_key(&v, |seen| seen.register) else { return &[] };
        let seen = &seen[found];
        let is_known = !self.rewritten[at] && seen.writes as usize <= MOST_WRITERS;
        if is_known { &seen.writers[..seen.writes as usize] } else { &[] }
    }

    /// Whether one instruction writes all of the register, in every thread.
    fn is_written_once(&self, v: VRegId) -> bool {
        let [writer] = self.writers(v) else { return false };
        let (inst, mut cells) = (self.body.inst(*writer), 0);
        inst.for_each_def(|r| cells |= if r.reg.vreg() == Some(v) { mask(r) } else { 0 });
        kills(inst) && cells == whole(self.body, v)
    }

    /// Adds the instructions that make a register, if they make the same wherever they stand.
    fn constant(&self, v: VRegId, copies: usize, makers: &mut Vec<InstId>) -> bool {
        let (mut cells, mut are_same) = (0, true);
        for id in self.writers(v).iter().rev() {
            let inst = self.body.inst(*id);
            inst.for_each_def(|r| {
                let own = if r.reg.vreg() == Some(v) { mask(r) } else { 0 };
                // Each cell is written once.
                are_same &= cells & own == 0;
                cells |= own;
            });
            let source = as_copy(inst).and_then(|copy| copy.from.reg.vreg());
            let is_same = match source {
                _ if !inst.guard.is_always() => false,
                Some(from) => copies > 0 && self.constant(from, copies - 1, makers),
                None => is_constant(inst),
            };
            are_same &= is_same;
            if !makers.contains(id) {
                makers.push(*id);
            }
        }
        are_same && cells == whole(self.body, v)
    }
}

/// Whether it makes the same wherever it stands, at once.
fn is_constant(inst: View<'_>) -> bool {
    may_be_repeated(inst) && inst.specials().next().is_none()
}

impl Plan {
    /// How to cut a function outside SSA form, whose edges are current, into pieces of about so
    /// many instructions; None where that makes no sense.
    pub fn of(body: &Body<'_>, size: usize) -> Option<Plan> {
        if body.names_physical() || body.facts().may_have(&[Opcode::LDL, Opcode::STL]) {
            return None;
        }
        let levels = Levels::of(body);
        let spans = cut(body, &levels, size);
        if spans.len() < 2 {
            return None;
        }
        let seen = parallel::each_with(spans.len(), Vec::new, |n, number| {
            look(body, &levels, &spans[n], number)
        });
        let finder = Finder::new(body, seen);
        let fixed = Fixed::of(body);
        // Spans that are not cut from the one before.
        let mut is_joined = vec![0i32; spans.len() + 1];
        let mut makers = FxHashMap::default();
        let mut ways = scratch!(Vec<Way>; Way::Local; body.vreg_count());
        for v in 0..body.vreg_count() {
            let (first, last) = (finder.first[v], finder.last[v]);
            if first == last {
                continue;
            }
            let id = VRegId(v as u32);
            let is_fixed = fixed.0.get(v).is_some_and(|fixed| *fixed);
            let mut made = Vec::new();
            let is_uniform = body.vreg(id).file.is_uniform();
            let is_constant = !is_fixed && finder.constant(id, MOST_COPIES, &mut made);
            // A warp's constant is no copy of another one: the maker stands for it.
            ways[v] = if is_constant && (made.len() == 1 || !is_uniform) {
                makers.insert(id, made);
                if is_uniform { Way::UniformConstant } else { Way::Constant }
            } else if is_uniform && finder.is_written_once(id) {
                Way::Uniform
            } else if is_value(body, &fixed, id) {
                Way::Value
            } else {
                is_joined[first as usize + 1] += 1;
                is_joined[last as usize + 1] -= 1;
                Way::Local
            };
        }
        let mut pieces: Vec<(Piece, Range<usize>)> = Vec::new();
        let mut joins = 0;
        for (n, span) in spans.iter().enumerate() {
            joins += is_joined[n];
            match pieces.last_mut().filter(|_| joins > 0) {
                Some((piece, of)) => {
                    piece.span.to = span.to;
                    of.end = n + 1;
                }
                None => {
                    let (values, constants, outs) = Default::default();
                    pieces.push((Piece { span: *span, values, constants, outs }, n..n + 1));
                }
            }
        }
        // One that is most of the function is the function.
        let longest = pieces.iter().map(|(_, of)| of.len()).max().unwrap_or(0);
        if pieces.len() < 2 || 4 * longest > 3 * spans.len() {
            return None;
        }
        finder.find_live(&mut pieces, &ways);
        let pieces = pieces.into_iter().map(|(piece, _)| piece).collect();
        Some(Plan { pieces, makers, places: levels.places })
    }
}

impl Finder<'_, '_> {
    /// Finds what comes into each piece (of so many spans) and leaves it.
    fn find_live(&self, pieces: &mut [(Piece, Range<usize>)], ways: &[Way]) {
        let body = self.body;
        let mut live = scratch!(Vec<Cells>; 0; ways.len());
        // Cells that something has written where a piece ends.
        let mut known = scratch!(Vec<Cells>; 0; ways.len());
        // The last list that has the register.
        let mut listed = scratch!(Vec<u32>; NONE; ways.len());
        for (n, (piece, spans)) in pieces.iter_mut().enumerate().rev() {
            let crossing = |span: usize| {
                let seen = self.spans[span].iter();
                seen.filter(|seen| ways[seen.register.0 as usize] != Way::Local)
            };
            let mut is_new = |v: VRegId, list: usize| {
                let list = (2 * n + list) as u32;
                std::mem::replace(&mut listed[v.0 as usize], list) != list
            };
            for seen in spans.clone().flat_map(crossing) {
                known[seen.register.0 as usize] = seen.before | seen.written;
            }
            for seen in spans.clone().flat_map(crossing) {
                let v = seen.register;
                let is_made_again = ways[v.0 as usize] == Way::Constant;
                if seen.writes > 0 && !is_made_again && is_new(v, 0) {
                    let cells = live[v.0 as usize] & known[v.0 as usize];
                    list(body, v, cells, &mut piece.outs);
                }
            }
            for span in spans.clone().rev() {
                for seen in crossing(span) {
                    let live = &mut live[seen.register.0 as usize];
                    *live = seen.exposed | *live & !seen.killed;
                }
            }
            for seen in spans.clone().flat_map(crossing) {
                let v = seen.register;
                // What nothing has written before nobody knows.
                let cells = live[v.0 as usize] & seen.before;
                if !is_new(v, 1) || cells == 0 {
                    continue;
                }
                match ways[v.0 as usize] {
                    Way::Value | Way::Uniform => list(body, v, cells, &mut piece.values),
                    _ => piece.constants.push(v),
                }
            }
        }
    }
}

/// Adds a register as a whole, where all of its cells are meant, or these cells one by one.
fn list(body: &Body<'_>, v: VRegId, cells: Cells, all: &mut Vec<RegUse>) {
    let vreg = body.vreg(v);
    let reg = Reg::virt(vreg.file, v);
    // Nobody may copy a word of a uniform register.
    let is_uniform = vreg.file.is_uniform();
    if cells == whole(body, v) || is_uniform && cells != 0 {
        all.push(RegUse::wide(reg, vreg.cells));
        return;
    }
    let each = (0..vreg.cells).map(|cell| RegUse::at(reg, cell, 1));
    all.extend(each.filter(|r| cells & mask(*r) != 0));
}
