//! The `GeneralOptimize` bundle.

use crate::analysis::Analyses;
use crate::function::Options;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::scalar::dead_code::Clean;
use crate::scalar::{algebra, combine, copies, dead_code};
use crate::ssa::Form;
use orias_components::Code;

/// Phases `GeneralOptimize…`: copies, constants and algebra to a fixed point (at most a few
/// rounds), in SSA form fewer instructions of more, then dead code.
pub fn general_optimize(
    code: Code<'_>,
    form: Read<'_, Form>,
    options: Read<'_, Options>,
    mut analyses: Write<'_, Analyses>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    const ROUNDS: usize = 4;
    let mut body = code.body();
    let mut news = copies::News::all();
    if clean.propagated == body.stamp() && !algebra::folds_any(&body) {
        clean.copies = body.stamp();
    }
    for _ in 0..ROUNDS {
        if clean.copies == body.stamp() {
            break;
        }
        let target = options.target;
        let changed = copies::propagate(&mut body, &mut analyses, target, true, &mut news);
        notes.count(changed);
        if changed == 0 || news.are_none() {
            clean.copies = body.stamp();
        }
    }
    if form.is_ssa && clean.combined != body.stamp() {
        let is_clean = clean.copies == body.stamp();
        let found = combine::combine(&mut body, &mut analyses, options.target);
        notes.count(found.count);
        if is_clean && !found.copies {
            clean.copies = body.stamp();
        }
    }
    notes.count(dead_code::remove_unread(&mut body, &mut analyses, &mut clean));
    if form.is_ssa {
        clean.combined = body.stamp();
    }
}
