//! Where a function may be cut: places that every way leads through which goes on behind them.

use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, InstId, edges};

/// Before so many instructions of the block at a place of the layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    pub place: usize,
    pub inst: usize,
}

/// What stands between two places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub from: At,
    pub to: At,
}

impl Span {
    /// The places in the layout of the blocks of which some instructions, or all, are in it.
    pub fn places(&self) -> std::ops::Range<usize> {
        self.from.place..self.to.place + usize::from(self.to.inst > 0)
    }

    /// The block at one of those places, and its instructions that are in it.
    pub fn block<'a>(&self, body: &'a Body<'_>, place: usize) -> (BlockId, &'a [InstId]) {
        let id = body.layout()[place];
        let insts = body.block(id).insts();
        let first = if place == self.from.place { self.from.inst } else { 0 };
        let end = if place == self.to.place { self.to.inst } else { insts.len() };
        (id, &insts[first..end])
    }
}

/// Which places of the layout all ways lead through.
pub struct Levels {
    /// Who goes on from above the block to it, or to what is behind it, goes to its first
    /// instruction, and nobody comes back.
    before: Scratch<Vec<bool>>,
    /// Who goes on from above the block to what is behind it goes through the block, and nobody
    /// comes back to it.
    through: Scratch<Vec<bool>>,
    /// By block its place in the layout.
    pub places: Vec<u32>,
}

impl Levels {
    /// Of a body whose edges are current.
    pub fn of(body: &Body<'_>) -> Levels {
        let layout = body.layout();
        let mut place = vec![0; body.block_count()];
        for (at, block) in (0..).zip(layout) {
            place[block.0 as usize] = at;
        }
        // How many edges begin to stand in the way at each place, less those that end to.
        let mut before = scratch!(Vec<i32>; 0; layout.len() + 1);
        let mut through = scratch!(Vec<i32>; 0; layout.len() + 1);
        let add = |of: &mut [i32], from: u32, end: u32| {
            if from < end {
                of[from as usize] += 1;
                of[end as usize] -= 1;
            }
        };
        for (from, block) in (0..).zip(layout) {
            for to in body.block(*block).succs() {
                let to = place[to.0 as usize];
                if from < to {
                    add(&mut before, from + 1, to);
                    add(&mut through, from + 1, to);
                } else {
                    add(&mut before, to + 1, from + 1);
                    add(&mut through, to, from + 1);
                }
            }
        }
        let free = |of: &[i32], free: &mut Vec<bool>| {
            let mut sum = 0;
            free.extend(of[..layout.len()].iter().map(|more| {
                sum += more;
                sum == 0
            }));
        };
        let (before_free, through_free) = (scratch!(Vec<bool>), scratch!(Vec<bool>));
        let mut levels = Levels { before: before_free, through: through_free, places: place };
        free(&before, &mut levels.before);
        free(&through, &mut levels.through);
        levels
    }

    /// Whether whoever goes on behind the block at a place has been at its first instruction.
    pub fn is_passed(&self, place: usize) -> bool {
        self.before[place] || self.through[place]
    }
}

/// Cuts a function into spans of about so many instructions, or more where it cannot be cut.
pub fn cut(body: &Body<'_>, levels: &Levels, size: usize) -> Vec<Span> {
    let layout = body.layout();
    let mut left: usize = layout.iter().map(|b| body.block(*b).insts().len()).sum();
    let (mut spans, mut from, mut count) = (Vec::new(), At { place: 0, inst: 0 }, 0);
    let mut end = |to: At| spans.push(Span { from: std::mem::replace(&mut from, to), to });
    for (place, block) in layout.iter().enumerate() {
        if levels.before[place] && count >= size && left >= size / 2 {
            end(At { place, inst: 0 });
            count = 0;
        }
        let mut at = 0;
        let is_passed = levels.through[place];
        let last = if is_passed { edges::first_branch(body, *block) } else { 0 };
        loop {
            let next = at + size.saturating_sub(count).max(1);
            if next >= last || left < next - at + size / 2 {
                break;
            }
            end(At { place, inst: next });
            left -= next - at;
            (at, count) = (next, 0);
        }
        let rest = body.block(*block).insts().len() - at;
        count += rest;
        left -= rest;
    }
    end(At { place: layout.len(), inst: 0 });
    spans
}
