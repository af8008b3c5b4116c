//! `ProcessO0WaitsAndSBs`: at -O0 every instruction waits for everything before it.
//!
//! Observed (ptxas 13.0.88, -O0): nearly every instruction has stall 15 and waits for scoreboards 0
//! and 1; results of unknown latency count on 0, late reads of sources on 1. Which opcodes have
//! which, and the few with another stall, the rows in `targets/tables/habits` say; of what was
//! never seen the row of the instruction decides.

use crate::params::Read;
use orias_components::{Code, Control, Inst, Loc, Opcode, RegFile};

use super::cells;
use super::companions;
use super::timing::Timing;
use crate::function::Options;
use orias_targets::habits::Seen;

/// The stall of every instruction, in cycles.
const STALL: u8 = 15;

/// Scoreboards 0 and 1.
const BOTH: u8 = 0b11;

/// Phase `ProcessO0WaitsAndSBs`: at -O0 each instruction waits for all before it.
pub fn process_o0_waits_and_sbs(code: Code<'_>, options: Read<'_, Options>) {
    let target = options.target;
    let mut body = code.body();
    let latencies = target.latencies();
    let layout = body.layout().to_vec();
    companions::add(&mut body, &layout, false);
    for block in layout {
        let mut slow: Vec<usize> = Vec::new();
        for (at, id) in body.block(block).insts().to_vec().into_iter().enumerate() {
            let inst = body.inst(id).to_inst();
            let timing = Timing::of(target, &body, id, false);
            let habit = timing.habit;
            let waits = target.form(&inst).is_none_or(|form| form.waits)
                && habit.is_none_or(|h| h.waits != Seen::Never);
            // What has no result at all counts what it began: copies, a change of a barrier.
            let counts = inst.defs == 0 || inst.op == Opcode::SYNCS;
            let stall = habit.map_or(STALL, |h| h.stalls.1.max(STALL));
            let (mut results, mut needed) = (false, 0);
            cells::for_each_result(body.inst(id), timing.ports, |cell, result| {
                results = true;
                if cell.file() == RegFile::R {
                    needed = needed.max(latencies.settled(result, true));
                }
            });
            if results && !timing.write_sb && needed > stall {
                slow.push(at + 1);
            }
            let writes = match habit.map(|h| h.write_sb) {
                Some(Seen::Always) => true,
                Some(Seen::Never) => results && timing.write_sb,
                _ => timing.write_sb && (results || counts),
            };
            let reads = match habit.map(|h| h.read_sb) {
                Some(Seen::Always) => true,
                Some(Seen::Never) => false,
                _ => timing.read_sb,
            };
            let control = Control {
                stall: stall % Control::LONGEST_STALL,
                yield_: false,
                write_sb: if writes { 0 } else { Control::NO_SB },
                read_sb: if reads { 1 } else { Control::NO_SB },
                wait: if waits { BOTH } else { 0 },
            };
            body.set_control(id, control);
        }
        // Results that take longer than a stall can say: matrix products.
        let control = Control { stall: STALL, yield_: false, wait: BOTH, ..Control::default() };
        let nop = Inst { control, ..Inst::new(Opcode::NOP, &[], 0, &[]) };
        body.insert_all(block, slow.into_iter().map(|at| (at, nop.clone(), Loc::default())));
    }
}
