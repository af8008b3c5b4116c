//! What scheduling needs of each instruction's row in the target table, looked up once.

use orias_components::{BlockId, Body, Inst, InstId, RegFile};
use orias_targets::Target;
use orias_targets::latency::Class;

/// Timing of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    pub class: Class,
    /// Its results are ready at a time that only a scoreboard tells.
    pub write_sb: bool,
    /// It reads sources at a time that only a scoreboard tells.
    pub read_sb: bool,
    /// That holds for its uniform registers too.
    pub late_uniform: bool,
}

impl Timing {
    /// Before the first look-up, and for an instruction without a row (which no encoder takes): assumes the worst.
    const UNKNOWN: Timing =
        Timing { class: Class::Variable, write_sb: true, read_sb: true, late_uniform: true };

    pub fn of(target: &Target, inst: &Inst) -> Timing {
        target.form(inst).map_or(Timing::UNKNOWN, |form| Timing {
            class: form.class,
            write_sb: form.write_sb,
            read_sb: form.read_sb,
            late_uniform: form.read_sb && form.guard == RegFile::UP,
        })
    }
}

/// The timing of every instruction in the layout, by id.
pub struct Timings(Vec<Timing>);

impl Timings {
    pub fn new(body: &Body<'_>, target: &Target, layout: &[BlockId]) -> Timings {
        let mut all = vec![Timing::UNKNOWN; body.inst_count()];
        for block in layout {
            for id in &body.block(*block).insts {
                all[id.0 as usize] = Timing::of(target, body.inst(*id));
            }
        }
        Timings(all)
    }

    pub fn get(&self, id: InstId) -> Timing {
        self.0[id.0 as usize]
    }
}
