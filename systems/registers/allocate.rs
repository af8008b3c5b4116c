//! AllocateRegisters: a physical register for every virtual one, spill code where there are too
//! few, the stack frame.
//!
//! After it every operand is physical, `VReg::assigned` tells where each register went, copies that
//! joined registers are gone, R1 is set up where it is used, and `Compiled` knows frame and spills.

use super::assign::{self, Assignment, Input};
use super::barriers::InForce;
use super::checker::{self, Snapshot};
use super::coalesce::Classes;
use super::frame::{self, Frame};
use super::limits::Limits;
use super::pool::Pool;
use super::ranges::{Ranges, Segment, join};
use super::spill::{self, Spills, Weights};
use super::{blockers, demand, rewrite, uniform};
use crate::analysis::Analyses;
use crate::function::{Compiled, FunctionInfo, Marked, Options};
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::sync::collective;
use crate::sync::whole_warp::{self, Runs};
use bevy_ecs::prelude::*;
use orias_components::{Body, Code, Loc, RegFile, VRegId};

/// Rounds of spilling after which allocation gives up: each one makes values shorter, so that few
/// are needed.
const MAX_ROUNDS: usize = 100;

/// Why there is no allocation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AllocateError {
    /// In ptxas's words, which build systems look for.
    #[error(
        "Register allocation failed with register count of '{0}'. Compile the program with a higher register target"
    )]
    TooFew(u32),
}

/// The phase.
pub fn allocate_registers(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
    options: Read<'_, Options>,
    info: Read<'_, FunctionInfo>,
    mut compiled: Write<'_, Compiled>,
    mut marked: Write<'_, Marked>,
) {
    let limits = Limits::of(&info);
    let verify = options.verify_each;
    let stack_top = options.target.const_stack;
    let mut body = code.body();
    // Who put values there that share registers has counted.
    let counts = !info.shares_uniform;
    if limits.keeps || counts && uniform::is_crowded(&body, &mut analyses) {
        uniform::keep_within_blocks(&mut body, &mut analyses, &[RegFile::UR, RegFile::UP]);
    } else if uniform::may_lose_predicates(&body) {
        uniform::keep_within_blocks(&mut body, &mut analyses, &[RegFile::UP]);
    }
    let before = verify.then(|| Snapshot::of(&body));
    let most = Pool::of(&body, &limits).most(&limits);
    let runs = if info.shares_uniform { whole_warp::blocks(&body, &mut analyses) } else { None };
    analyses.need_no_uses(&body);
    match allocate(
        &mut body,
        &mut analyses,
        &limits,
        info.local_bytes,
        runs.as_deref().map(Vec::as_slice),
    ) {
        Ok(spills) => {
            let removed = rewrite::to_physical(&mut body);
            let checked = before
                .map(|b| checker::check(&b, &body, &limits.with_general(most), info.local_bytes));
            for error in checked.and_then(Result::err).unwrap_or_default() {
                notes.fail(format!("wrong register allocation: {error}"), Loc::default());
            }
            let made = frame::set_up(
                &mut body,
                &Frame {
                    bytes: spills.frame,
                    align: info.local_align.max(spills.align),
                    top: (!limits.keeps).then_some(stack_top),
                    pointer: limits.frame,
                },
            );
            notes.count(removed);
            compiled.frame_bytes = made.bytes;
            compiled.spill_store_bytes = spills.store_bytes + made.saved_bytes;
            compiled.spill_load_bytes = spills.load_bytes + made.saved_bytes;
            compiled.saved = made.saved;
            marked.spills.extend(spills.accesses);
        }
        Err(error) => {
            let (needed, loc) = demand::greatest(&body);
            let there = limits.count(RegFile::R);
            if needed <= there {
                return notes.fail(error.to_string(), Loc::default());
            }
            let (given, enough) = (limits.counted(), limits.counted() + needed - there);
            let message = format!(
                "Insufficient registers ({given}) to compile this instruction. \
                 Try to compile with register target of {enough} or higher"
            );
            notes.fail(message, loc);
        }
    }
}

/// Assigns a register to every virtual register, adding spill code as needed; operands stay
/// virtual.
///
/// `local_bytes` of the frame are taken already. `runs` says who runs each block, where that is
/// of use.
///
/// # Errors
/// When the values that one instruction reads and writes need more registers than there are.
pub fn allocate(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    limits: &Limits,
    local_bytes: u32,
    runs: Option<&[Runs]>,
) -> Result<Spills, AllocateError> {
    let mut spills = Spills::above(local_bytes, limits.frame);
    spills.keep(body.vreg_count(), &collective::shared_registers(body));
    let (mut nested, mut narrow) = (true, false);
    for round in 0..MAX_ROUNDS {
        // Spill code gives branches other guards.
        let liveness = &*analyses.liveness_after(body);
        let barriers = if nested { InForce::compute(body, liveness) } else { InForce::default() };
        let ranges = Ranges::compute(body, liveness, &barriers, runs);
        let flow = analyses.flow(body);
        // A register of spill code that joined others would keep them from being spilled, and so
        // would one of collectives.
        let alone = |id| spills.is_short(id);
        let classes = Classes::coalesce(body, &liveness.map, &ranges, &flow, alone);
        let pool = Pool::of(body, limits);
        let hints = assign::hints(body, &classes);
        let input = Input {
            body,
            liveness,
            ranges: &ranges,
            classes: &classes,
            limits,
            pool: &pool,
            hints: &hints,
        };
        let found = assign::assign(&input);
        if found.failed.is_empty() {
            store(body, &classes, &found);
            return Ok(spills);
        }
        if nested && found.failed.iter().any(|l| classes.class(*l).file == RegFile::B) {
            // More barriers in force at once than there are. What threads read is enough then:
            // regions beside each other share registers too, so threads on different paths do not
            // see each other's.
            nested = false;
            continue;
        }
        let is_uniform = |l: &VRegId| matches!(classes.class(*l).file, RegFile::UR | RegFile::UP);
        if !narrow && found.failed.iter().any(is_uniform) {
            // They cannot be spilled: each block makes or fetches its own.
            narrow = true;
            uniform::keep_within_blocks(body, analyses, &[RegFile::UR, RegFile::UP]);
            continue;
        }
        let weights = Weights::new(&input, &spills, &flow);
        let mut victims = spill::choose(&input, &weights);
        if victims.is_empty() {
            // Enough registers, but not where aligned groups or given registers need them: perhaps
            // joining was too greedy.
            let single = Classes::single(body);
            let hints = assign::hints(body, &single);
            let apart = Input { classes: &single, hints: &hints, ..input };
            let second = assign::assign(&apart);
            if second.failed.is_empty() {
                store(body, &single, &second);
                return Ok(spills);
            }
            victims = blockers::choose(&input, &weights, &found);
        }
        if victims.is_empty() || round + 1 == MAX_ROUNDS {
            break;
        }
        let hulls: Vec<(VRegId, Vec<Segment>)> =
            victims.iter().map(|leader| (*leader, whole_range(&input, *leader))).collect();
        spill::insert(body, &mut spills, &classes, &hulls);
    }
    Err(AllocateError::TooFew(limits.counted()))
}

/// The points at which any cell of a class is live.
fn whole_range(input: &Input<'_, '_>, leader: VRegId) -> Vec<Segment> {
    let cells = 0..input.classes.class(leader).cells;
    cells.fold(Vec::new(), |all, cell| {
        join(&all, input.classes.range(&input.liveness.map, input.ranges, leader, cell))
    })
}

fn store(body: &mut Body<'_>, classes: &Classes, found: &Assignment) {
    for id in (0..classes.len()).map(VRegId) {
        let place = classes.place(id);
        let first = found.of[place.leader.0 as usize];
        if let Some(first) = first.and_then(|f| f.checked_add(place.offset)) {
            body.vreg_mut(id).assigned = Some(first);
        }
    }
}

#[cfg(test)]
mod tests;
