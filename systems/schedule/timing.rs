//! What scheduling needs of each instruction's row in the target table, looked up once.

use super::cells::{self, Cell, Places};
use super::groups;
use crate::parallel;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, InstId, ModsId, Props, RegFile, View, scratch};
use orias_targets::Target;
use orias_targets::form::Ports;
use orias_targets::habits::{Habit, Seen};
use orias_targets::latency::Class;
use rustc_hash::FxHashMap;

/// Timing of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// When it reads and when its results are there.
    pub class: Class,
    /// What it reads and writes, as facts about timing tell it apart.
    pub ports: Ports,
    /// Its results are ready at a time that only a scoreboard tells.
    pub write_sb: bool,
    /// It reads sources at a time that only a scoreboard tells.
    pub read_sb: bool,
    /// That holds for its uniform registers too.
    pub late_uniform: bool,
    /// What ptxas does with its control fields, where that was seen.
    pub habit: Option<Habit>,
}

impl Timing {
    /// Before the first look-up, and for an instruction without a row (which no encoder takes):
    /// assumes the worst.
    const UNKNOWN: Timing = Timing {
        class: Class::Variable,
        ports: Ports::NONE,
        write_sb: true,
        read_sb: true,
        late_uniform: true,
        habit: None,
    };

    /// With the habits of -O0, or of the levels from -O1 on.
    pub fn of(target: &Target, body: &Body<'_>, id: InstId, optimized: bool) -> Timing {
        let inst = body.inst(id);
        let form = match body.form(id) {
            Some(known) => Some(target.table().form(known)),
            None => target.form(&inst.to_inst()),
        };
        form.map_or(Timing::UNKNOWN, |form| Timing {
            class: form.class,
            ports: form.ports,
            write_sb: form.write_sb,
            read_sb: form.read_sb,
            late_uniform: form.read_sb && form.guard == RegFile::UP,
            habit: target.habits().get(inst.op, inst.mods(), optimized),
        })
    }

    /// Seen often enough to count, and always with a scoreboard for results, whether there are any
    /// or not.
    pub fn always_writes(self) -> bool {
        self.write_sb && self.habit.is_some_and(|h| h.often && h.write_sb == Seen::Always)
    }

    /// Seen often enough to count, and always with a scoreboard for late reads.
    pub fn always_reads(self) -> bool {
        self.read_sb && self.habit.is_some_and(|h| h.often && h.read_sb == Seen::Always)
    }

    /// Seen often enough to count, and never with a wait.
    pub fn never_waits(self) -> bool {
        self.habit.is_some_and(|h| h.never_waits())
    }
}

/// The timing of every instruction in the layout.
pub struct Timings {
    /// By id: where it is in `kinds`. A function has many instructions of few kinds.
    of: Scratch<Vec<u32>>,
    kinds: Scratch<Vec<Timing>>,
    named: Named,
}

/// Cells that a function names.
struct Named {
    places: Places,
    /// What products of warpgroups read and write in general registers, in the whole function.
    products: Scratch<Vec<Cell>>,
}

impl Named {
    fn none() -> Named {
        Named { places: Places::none(), products: scratch!(Vec<Cell>) }
    }

    fn add(&mut self, inst: View<'_>) {
        cells::for_each_use(inst, |c| self.places.add(c));
        cells::for_each_def(inst, |c| self.places.add(c));
        if inst.op.has(Props::GROUP) {
            cells::for_each_use(inst, |c| self.products.push(c));
            cells::for_each_def(inst, |c| self.products.push(c));
        }
    }

    /// All are there.
    fn finish(&mut self) {
        self.products.retain(|c| c.file() == RegFile::R);
        self.products.sort_unstable();
        self.products.dedup();
    }
}

impl Timings {
    /// Of all instructions of these blocks.
    pub fn new(body: &Body<'_>, target: &Target, layout: &[BlockId]) -> Timings {
        let count = body.inst_count();
        let mut of = scratch!(Vec<u32>; 0; count);
        let mut kinds = scratch!(Vec<Timing>);
        kinds.push(Timing::UNKNOWN);
        // What the row of the table and the modifiers are, there is one timing for.
        let mut known = scratch!(FxHashMap<(u16, ModsId), u32>);
        let mut named = Named::none();
        let mut set = |id: InstId, inst: View<'_>| {
            let mut make = || {
                kinds.push(Timing::of(target, body, id, true));
                kinds.len() as u32 - 1
            };
            of[id.0 as usize] = match body.form(id) {
                Some(form) => *known.entry((form, inst.mods_id())).or_insert_with(make),
                None => make(),
            };
        };
        let insts = || layout.iter().flat_map(|block| body.block(*block).insts());
        if parallel::has_help(count) {
            parallel::both(
                count,
                || insts().for_each(|id| set(*id, body.inst(*id))),
                || insts().for_each(|id| named.add(body.inst(*id))),
            );
        } else {
            for id in insts() {
                let inst = body.inst(*id);
                set(*id, inst);
                named.add(inst);
            }
        }
        named.finish();
        Timings { of, kinds, named }
    }

    /// The cells that instructions name.
    pub fn places(&self) -> &Places {
        &self.named.places
    }

    /// What an instruction waits for beside its own operands: an arrival, for the registers of the
    /// products that follow it. Observed: ptxas 13.0.88 waits there for loads, not at the product.
    pub fn arriving(&self, inst: View<'_>) -> &[Cell] {
        if groups::is_arrival(inst) { &self.named.products } else { &[] }
    }

    /// Of one instruction of those.
    pub fn get(&self, id: InstId) -> Timing {
        self.kinds[self.of[id.0 as usize] as usize]
    }
}
