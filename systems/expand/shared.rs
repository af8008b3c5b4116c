//! Subroutines: sequences that a function has once, at its end, and calls from several places.
//!
//! ptxas 13.0.88 does so with 64-bit division and with the rare ways of float division, reciprocal
//! and root: each is a function of its own in the section of whoever calls it. Ours is one block of
//! the function that begins with SUBARGS and ends with SUBRET; a call is one instruction, SUBCALL,
//! which names the block and is a pure function of its sources until `place_subroutines` gives
//! registers to both.

use crate::build::{Emit, r, wide};
use orias_components::{BlockId, Inst, Mods, Opcode, Operand, Reg, RegFlags, View};
use rustc_hash::FxHashMap;

/// Places from which a sequence that is always run is called: two in line cost as much as a
/// subroutine, and run sooner.
pub const LEAST_USES: u32 = 3;
/// Places from which a sequence that is seldom run is called.
pub const LEAST_RARE_USES: u32 = 2;

/// What is done in the same way: macro instructions with the same words.
type Key = (Opcode, Mods);

/// The subroutines of a function.
#[derive(Default)]
pub struct Shared {
    uses: FxHashMap<Key, u32>,
    made: FxHashMap<Key, BlockId>,
    blocks: Vec<BlockId>,
}

impl Shared {
    /// Notes that there is such an instruction: all are to be noted before the first is expanded.
    pub fn note(&mut self, inst: View<'_>) {
        *self.uses.entry((inst.op, *inst.mods())).or_default() += 1;
    }

    /// What `sequence` makes of these registers for a macro instruction: in line, or by a call
    /// where at least so many instructions are like it. The result has so many cells.
    pub fn run<'w>(
        &mut self,
        e: &mut Emit<'w>,
        inst: &Inst,
        least_uses: u32,
        (sources, cells): (&[Operand], u8),
        sequence: impl FnOnce(&mut Emit<'w>, &[Operand]) -> Reg,
    ) -> Reg {
        let key = (inst.op, inst.mods);
        if self.uses.get(&key).is_none_or(|uses| *uses < least_uses) {
            return sequence(e, sources);
        }
        let block = match self.made.get(&key) {
            Some(block) => *block,
            None => {
                let block = e.aside(|e| body(e, sources, cells, sequence));
                self.made.insert(key, block);
                self.blocks.push(block);
                block
            }
        };
        let result = e.temp(cells);
        let mut operands = vec![wide(result, cells), Operand::Block(block)];
        for source in sources {
            operands.push(plain(e, *source));
        }
        e.put(Opcode::SUBCALL, &[], 1, &operands);
        result
    }

    /// Puts the subroutines behind all other code.
    pub fn finish(self, e: &mut Emit<'_>) {
        self.blocks.into_iter().for_each(|block| e.open(block));
    }
}

/// The source as a register without a sign.
fn plain(e: &mut Emit<'_>, source: Operand) -> Operand {
    match source {
        Operand::Reg(u) if u.flags == RegFlags::NONE && !u.reg.is_zero() => source,
        other => {
            let t = e.temp(1);
            e.mov(r(t), other);
            r(t)
        }
    }
}

fn body<'w>(
    e: &mut Emit<'w>,
    sources: &[Operand],
    cells: u8,
    sequence: impl FnOnce(&mut Emit<'w>, &[Operand]) -> Reg,
) {
    let width = |o: &Operand| o.as_reg().map_or(1, |u| u.count);
    let given: Vec<Operand> = sources.iter().map(|o| wide(e.temp(width(o)), width(o))).collect();
    e.put(Opcode::SUBARGS, &[], given.len() as u8, &given);
    let result = sequence(e, &given);
    e.put(Opcode::SUBRET, &[], 0, &[wide(result, cells)]);
}
