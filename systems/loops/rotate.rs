//! `OriLoopSimplification`: a loop's test stands at its end.
//!
//! What holds behind it: no loop with one way back comes to its first block by a branch without a
//! condition, where that block does nothing but ask whether to go on, and is short. The test is
//! done once before the loop then and again at the end of each round, so a round has one branch
//! less; where the rest was one block, the loop is one, and may be unrolled.
//!
//! ```text
//! H: test; @P bra out; A; bra H     becomes     H: test; @P bra out; A': A; test; @!P bra A'
//! ```
//!
//! Observed (ptxas 13.0.88): this, where the test is one comparison of a counter; what comes from
//! NVVM has it already. Ours takes tests of some instructions, too ([`Knob::RotateLoops`]).
//! First rounds are not peeled off, conditions that a loop leaves alone stay in it, and loops one
//! behind the other stay two (`OriLoopFusion`), whatever they do.

use crate::analysis::Analyses;
use crate::analysis::loops::Loop;
use crate::control_flow::forks::{Fork, fork};
use crate::function::{FunctionInfo, Options};
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use orias_components::{BlockId, Body, Code, Inst, Opcode, Operand, Props, edges, scratch};
use smallvec::SmallVec;

/// Phase 20.
pub fn simplify_loops(
    code: Code<'_>,
    options: Read<'_, Options>,
    mut info: Write<'_, FunctionInfo>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let most = options.knobs.get(Knob::RotateLoops, options.target) as usize;
    let mut body = code.body();
    let flow = analyses.flow(&body);
    if most == 0 || flow.loops().all.is_empty() {
        return;
    }
    let all = flow.loops().all.iter().filter_map(|of| find(&body, of, most));
    let found = scratch!(Vec<Rotation>).with(all);
    if found.is_empty() {
        return;
    }
    for of in found.iter() {
        rotate(&mut body, of);
        if info.rolled.contains(&of.header) {
            info.rolled.insert(of.fork.to[of.stays]);
        }
    }
    analyses.edges(&mut body);
    notes.count(found.len());
}

/// A loop that tests first.
struct Rotation {
    header: BlockId,
    latch: BlockId,
    fork: Fork,
    /// Which of the fork's ways leads on in the loop.
    stays: usize,
}

fn find(body: &Body<'_>, of: &Loop, most: usize) -> Option<Rotation> {
    let [latch] = of.latches[..] else { return None };
    let (header, latch) = (BlockId(of.header), BlockId(latch));
    let fork = fork(body, header).filter(|_| latch != header)?;
    let stays = fork.to.iter().position(|to| of.blocks.contains(to.0) && *to != header)?;
    let goes_out = !of.blocks.contains(fork.to[1 - stays].0);
    let test = &body.block(header).insts()[..edges::first_branch(body, header)];
    let others = Props::CONVERGENT.with(Props::PSEUDO);
    let may_be_copied = test.len() <= most && test.iter().all(|id| !body.op(*id).has(others));
    let end = &body.block(latch).insts()[edges::first_branch(body, latch)..];
    let ends_plainly = match end {
        [] => true,
        [one] => body.op(*one) == Opcode::BRA && edges::is_unconditional(body.inst(*one)),
        _ => false,
    };
    (goes_out && may_be_copied && ends_plainly).then_some(Rotation { header, latch, fork, stays })
}

fn rotate(body: &mut Body<'_>, of: &Rotation) {
    let end = edges::first_branch(body, of.latch);
    body.replace(of.latch, end..body.block(of.latch).insts().len(), []);
    let test = &body.block(of.header).insts()[..=edges::first_branch(body, of.header)];
    let mut copies: SmallVec<[_; 8]> =
        test.iter().map(|id| (body.inst(*id).to_inst(), body.loc(*id))).collect();
    let Some((_, loc)) = copies.pop() else { return };
    for (inst, loc) in copies {
        body.push(of.latch, inst, loc);
    }
    let branch = |to| Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)]);
    let Fork { when, to } = of.fork;
    let back = branch(to[of.stays]).guarded(when.reg, when.negated != (of.stays == 1));
    body.push(of.latch, back, loc);
    body.push(of.latch, branch(to[1 - of.stays]), loc);
}
