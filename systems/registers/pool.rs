//! How many registers a thread has where, when it takes some from the pool of its CTA or gives some
//! back (`USETMAXREG`).

use super::limits::Limits;
use super::ranges::Segment;
use orias_components::{Body, InstId, Opcode, Operand, RegFile, View};

/// Registers that may be used at each point: `R0` up to this number.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Ascending and without holes; nothing where the number never changes.
    pieces: Vec<(Segment, u32)>,
}

/// Whether the instruction changes the number of registers: to this count.
fn changes(inst: View<'_>) -> Option<u32> {
    match inst.last() {
        Some(Operand::Imm(count)) if inst.op == Opcode::USETMAXREG => Some(count as u32),
        _ => None,
    }
}

/// Whether a function takes part in the pool: it must then begin with just the registers that its
/// directives say.
pub fn is_used(body: &Body<'_>) -> bool {
    let mut insts = body.layout().iter().flat_map(|b| body.block(*b).insts());
    body.facts().may_have(&[Opcode::USETMAXREG])
        && insts.any(|id| changes(body.inst(*id)).is_some())
}

/// How many registers there are behind an instruction, of so many before it.
fn after(body: &Body<'_>, count: u32, id: InstId) -> u32 {
    changes(body.inst(id)).map_or(count, |n| Limits::new(Some(n)).count(RegFile::R))
}

/// By block the fewest registers at its start, over all ways to it, in a function that begins with
/// so many; None where no way leads.
fn at_entries(body: &Body<'_>, first: u32) -> Vec<Option<u32>> {
    let mut entry: Vec<Option<u32>> = vec![None; body.block_count()];
    if let Some(block) = body.layout().first() {
        entry[block.0 as usize] = Some(first);
    }
    let mut again = true;
    while again {
        again = false;
        for &block in body.layout() {
            let Some(count) = entry[block.0 as usize] else { continue };
            let insts = body.block(block).insts().iter();
            let count = insts.fold(count, |count, id| after(body, count, *id));
            for succ in body.block(block).succs() {
                let known = &mut entry[succ.0 as usize];
                if known.is_none_or(|k| count < k) {
                    *known = Some(count);
                    again = true;
                }
            }
        }
    }
    entry
}

/// By block the fewest registers at its start, where the function takes part in the pool; None
/// where no way leads.
pub fn registers_of_blocks(body: &Body<'_>, first: Option<u32>) -> Option<Vec<Option<u32>>> {
    is_used(body).then(|| at_entries(body, Limits::new(first).count(RegFile::R)))
}

impl Pool {
    /// Of a function that begins with what `limits` allow; points count as in [`super::ranges`].
    pub fn of(body: &Body<'_>, limits: &Limits) -> Pool {
        if !is_used(body) {
            return Pool::default();
        }
        let first = limits.count(RegFile::R);
        let entry = at_entries(body, first);
        let mut pieces: Vec<(Segment, u32)> = Vec::new();
        let mut point = 0;
        for &block in body.layout() {
            let mut count = entry[block.0 as usize].unwrap_or(first);
            for id in body.block(block).insts() {
                let next = after(body, count, *id);
                // What it takes it has afterwards, what it gives back it must not use any more.
                let here = count.min(next);
                match pieces.last_mut() {
                    Some((s, c)) if *c == here => s.end = point + 2,
                    _ => pieces.push((Segment { start: point, end: point + 2 }, here)),
                }
                count = next;
                point += 2;
            }
        }
        Pool { pieces }
    }

    /// The most that there are anywhere, or `limits` where the number never changes.
    pub fn most(&self, limits: &Limits) -> u32 {
        self.pieces.iter().map(|(_, c)| *c).max().unwrap_or(limits.count(RegFile::R))
    }

    /// Points and how many registers there are at each.
    pub fn pieces(&self) -> &[(Segment, u32)] {
        &self.pieces
    }

    /// The fewest that there are at the points `start..=end`.
    pub fn fewest(&self, start: u32, end: u32) -> Option<u32> {
        let from = self.pieces.partition_point(|(s, _)| s.end <= start);
        self.pieces[from..].iter().take_while(|(s, _)| s.start <= end).map(|(_, c)| *c).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::cfg;
    use crate::testing;
    use orias_components::text;

    /// First and last point of each piece, and its registers, of a function that begins with 40.
    fn pieces(input: &str) -> Vec<(u32, u32, u32)> {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).unwrap_or_else(|e| panic!("{e}"));
        function.run(cfg::analyze_control_flow);
        let pool = Pool::of(&function.body(), &Limits::new(Some(40)));
        pool.pieces().iter().map(|(s, count)| (s.start, s.end, *count)).collect()
    }

    #[test]
    fn what_is_given_back_is_not_used_any_more() {
        let found = pieces(
            "BB0:
                %R0 = LDS [RZ]
                USETMAXREG.DEALLOC.CTAPOOL 0x18
                STS [RZ], %R0
                EXIT PT",
        );
        assert_eq!(found, [(0, 2, 38), (2, 8, 22)]);
    }

    #[test]
    fn what_is_asked_for_is_there_once_it_was_given() {
        let found = pieces(
            "BB0:
                %R0 = LDS [RZ]
            BB1:
                UP0 = USETMAXREG.TRY_ALLOC.CTAPOOL 0x30
                @P0 BRA PT, BB1
            BB2:
                STS [RZ], %R0
                EXIT PT",
        );
        assert_eq!(found, [(0, 4, 38), (4, 10, 46)]);
    }

    #[test]
    fn paths_that_meet_have_what_the_poorer_one_has() {
        let found = pieces(
            "BB0:
                @P0 BRA PT, BB2
            BB1:
                USETMAXREG.DEALLOC.CTAPOOL 0x18
            BB2:
                EXIT PT",
        );
        assert_eq!(found, [(0, 2, 38), (2, 6, 22)]);
    }

    #[test]
    fn without_a_pool_there_are_no_pieces() {
        assert_eq!(pieces("BB0:\n    EXIT PT"), []);
    }
}
