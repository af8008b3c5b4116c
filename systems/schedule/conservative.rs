//! `ProcessO0WaitsAndSBs`: at -O0 every instruction waits for everything before it.
//!
//! Observed (ptxas 13.0.88, -O0): every instruction has stall 15 and waits for scoreboards 0 and 1; results of unknown
//! latency count on 0, late reads of sources on 1.

use bevy_ecs::prelude::*;
use orias_components::{Body, Control};

use super::timing::Timing;
use crate::function::Options;

/// Scoreboards 0 and 1.
const BOTH: u8 = 0b11;

pub fn process_o0_waits_and_sbs(world: &mut World) {
    let target = world.resource::<Options>().target;
    let mut body = Body::new(world);
    for block in body.layout().to_vec() {
        for id in body.block(block).insts.clone() {
            let mut inst = body.inst_mut(id);
            let timing = Timing::of(target, &inst);
            let mut results = false;
            inst.for_each_def(|_| results = true);
            inst.control = Control {
                stall: 15,
                yield_: false,
                write_sb: if timing.write_sb && results { 0 } else { Control::NO_SB },
                read_sb: if timing.read_sb { 1 } else { Control::NO_SB },
                wait: BOTH,
            };
        }
    }
}
