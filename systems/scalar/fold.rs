//! The `GeneralOptimize` bundle.

use super::bounds;
use super::combine::{self, Found, combine};
use super::dead_code::{self, Clean};
use super::demand;
use super::products;
use super::propagate::propagate;
use super::simplify::{Copies, simplify};
use super::values::{News, Values};
use crate::analysis::Analyses;
use crate::analysis::liveness::CellMap;
use crate::control_flow::decided;
use crate::function::{FunctionInfo, Options};
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form};
use orias_components::{Body, Code, Opcode};
use orias_targets::Target;

/// Phases `GeneralOptimize…`: copies, constants, algebra and dead code, and in SSA form fewer
/// instructions of more: of what has changed since the last of them, and of what reads that.
///
/// Before SSA form only where a loop may be unrolled, which asks what it counts by and how long it
/// is (and so `OriCopyProp`): in SSA form the next bundle finds all of it in less time. Left out
/// everywhere it was 5 % of the corpus's time, and 0.1 % fewer instructions of Triton's kernels.
pub fn general_optimize(
    code: Code<'_>,
    form: Read<'_, Form>,
    (options, info): (Read<'_, Options>, Read<'_, FunctionInfo>),
    mut analyses: Write<'_, Analyses>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    if form.is_ssa {
        let knows = (options.target, info.most_threads());
        notes.count(optimize_values(&mut body, &mut analyses, &mut clean, knows));
        return;
    }
    if clean.copies != body.stamp() {
        notes.count(propagate(&mut body, &mut analyses, options.target, true));
        clean.copies = body.stamp();
        clean.propagated = body.stamps().values;
    }
    notes.count(dead_code::remove_unread(&mut body, &mut analyses, &mut clean));
}

/// What a walk over all instructions finds out.
struct Look<'m> {
    values: Values<'m>,
    copies: Copies,
    /// Copies from or to registers that others write, too.
    has_others: bool,
    /// There may be masks that nobody wants, and high words of products.
    has_masks: bool,
    has_highs: bool,
}

impl<'m> Look<'m> {
    fn at(body: &Body<'_>, map: &'m CellMap, fixed: &Fixed, news: News) -> Look<'m> {
        let (mut has_masks, mut has_highs) = (false, false);
        let mut copies = Copies::none();
        let mut values = Values::of(body, map, |block, id, inst| {
            has_masks |= demand::may_be_idle(inst) && news.has(id);
            has_highs |= products::is_high(inst) && news.has(id);
            copies.see(map, block, inst);
        });
        values.news = news;
        let has_others = !copies.settle(body, &values, fixed);
        Look { values, copies, has_others, has_masks, has_highs }
    }
}

/// To a fixed point, or for a few rounds: what a round makes, the next one looks at. How many
/// changes it took.
fn optimize_values(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    clean: &mut Clean,
    (target, threads): (&Target, [u32; 3]),
) -> usize {
    const ROUNDS: usize = 4;
    if clean.combined == body.stamp() {
        return 0;
    }
    let news = News::since(body, clean.combined);
    analyses.edges(body);
    let order = analyses.order(body);
    let mut fixed = Fixed::of(body);
    let mut map = analyses.cells(body);
    let is_first = news.are_all();
    let mut count = 0;
    let mut look = Look::at(body, &map, &fixed, news);
    if look.has_others {
        let before = body.stamp();
        count += propagate(body, analyses, target, true);
        let news = std::mem::take(&mut look.values.news).and_since(body, before);
        look = Look::at(body, &map, &fixed, news);
    }
    count += simplify(body, &mut look.values, &mut look.copies, &fixed, target, &order);
    let may_combine = combine::applies(body);
    if may_combine && look.has_highs {
        look.values.sweep(body);
        let before = body.stamp();
        let joined = products::join_halves(body);
        if joined > 0 {
            count += joined;
            let news = std::mem::take(&mut look.values.news).and_since(body, before);
            let has_masks = look.has_masks;
            drop(look);
            map = analyses.cells(body);
            fixed = Fixed::of(body);
            look = Look::at(body, &map, &fixed, news);
            look.has_masks |= has_masks;
            count += simplify(body, &mut look.values, &mut look.copies, &fixed, target, &order);
        }
    }
    let Look { mut values, mut copies, has_masks, .. } = look;
    values.threads = threads;
    if may_combine && has_masks {
        values.sweep(body);
        values.changes.clear();
        let idle = demand::drop_idle_masks(body, analyses, &mut values);
        if idle > 0 {
            let changed = News::of(body, &values.changes);
            let news = std::mem::replace(&mut values.news, changed);
            count += idle + simplify(body, &mut values, &mut copies, &fixed, target, &order);
            values.news = news.and(&values.changes);
        }
    }
    for _ in 0..ROUNDS {
        values.changes.clear();
        let found = match may_combine {
            true => combine(body, &mut values, &fixed, target, &order),
            false => Found::default(),
        };
        count += found.count;
        if !found.again {
            break;
        }
        values.news = News::of(body, &values.changes);
        count += simplify(body, &mut values, &mut copies, &fixed, target, &order);
    }
    values.sweep(body);
    if is_first && body.facts().may_have(&[Opcode::MOVPHI]) || values.may_circle {
        count += dead_code::remove_unread(body, analyses, clean);
    } else {
        clean.unread_are_gone(body, values.is_rewritten);
    }
    (clean.copies, clean.combined) = (body.stamp(), body.stamp());
    let decided = decided::decided(body, |condition| bounds::outcome(body, &values, condition));
    if !decided.is_empty() {
        drop(values);
        decided::remove_ways(body, analyses, &decided);
        count += decided.len();
    }
    count
}
