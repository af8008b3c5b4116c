//! `ProcessO0WaitsAndSBs`: at -O0 every instruction waits for everything before it.
//!
//! Observed (ptxas 13.0.88, -O0): every instruction has stall 15 and waits for scoreboards 0 and 1; results of unknown
//! latency count on 0, late reads of sources on 1.

use bevy_ecs::prelude::*;
use orias_components::{Body, Control, Opcode, RegFile};

use super::stalls;
use super::timing::Timing;
use crate::function::Options;

/// The stall of every instruction, in cycles.
const STALL: u8 = 15;

/// Scoreboards 0 and 1.
const BOTH: u8 = 0b11;

pub fn process_o0_waits_and_sbs(world: &mut World) {
    let target = world.resource::<Options>().target;
    let mut body = Body::new(world);
    let latencies = target.latencies();
    for block in body.layout().to_vec() {
        let mut slow: Vec<(usize, u8)> = Vec::new();
        for (at, id) in body.block(block).insts.clone().into_iter().enumerate() {
            let mut inst = body.inst_mut(id);
            let timing = Timing::of(target, &inst);
            let waits = target.form(&inst).is_none_or(|form| form.waits);
            // What has no result at all counts what it began: copies, a change of a barrier.
            let counts = inst.defs == 0 || inst.op == Opcode::SYNCS;
            let mut results = false;
            inst.for_each_def(|_| results = true);
            let needed = latencies.settled(RegFile::R, timing.class, true);
            if results && !timing.write_sb && needed > STALL {
                slow.push((at + 1, needed - STALL));
            }
            inst.control = Control {
                stall: STALL,
                yield_: false,
                write_sb: if timing.write_sb && (results || counts) { 0 } else { Control::NO_SB },
                read_sb: if timing.read_sb { 1 } else { Control::NO_SB },
                wait: if waits { BOTH } else { 0 },
            };
        }
        // Results that take longer than a stall can say: matrix products.
        for (at, cycles) in slow.into_iter().rev() {
            stalls::insert_nop(&mut body, block, at, i32::from(cycles));
        }
    }
}
