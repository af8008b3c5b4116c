//! `FixUpTexDepBarAndSync`: what runs on after its instruction and has no scoreboard of its own is
//! waited for, products of warpgroups.
//!
//! After it: no instruction touches the accumulators of a product under way, nor writes its other
//! registers; and what a product reads in registers was written before a `WARPGROUP.ARRIVE` that
//! stands between.
//!
//! PTX programs keep to that themselves, so this finds something to do only where the compiler has
//! used registers again or left a copy beside a product. A dataflow says which registers are busy,
//! by the age of their group: waits leave the youngest few.

use orias_components::{
    BlockId, Code, Inst, InstId, Mod, Opcode, Operand, Props, Reg, RegFile, RegFlags, RegUse, View,
};
use orias_targets::slots::WARPGROUP_DEPBAR_LE as WAIT;

use super::flow;
use crate::notes::Notes;

/// Groups that are told apart: as many as a wait can leave, and those that are older.
const AGES: usize = 9;

/// The operand that says that a product counts on no scoreboard.
const NO_GROUP: Operand = Operand::Imm(7);

/// General registers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Set([u64; 4]);

impl Set {
    fn add(&mut self, regs: RegUse) {
        if let (RegFile::R, Some(first)) = (regs.reg.file(), regs.reg.phys_index()) {
            for r in first..(first + u32::from(regs.count.max(1))).min(256) {
                self.0[r as usize / 64] |= 1 << (r % 64);
            }
        }
    }

    fn with(self, other: Set) -> Set {
        Set(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    fn meets(self, other: Set) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

/// What may be under way: by the number of groups that began later. Age 0 is the group that is not
/// committed yet.
#[derive(Clone, Default, PartialEq, Eq)]
struct State {
    results: [Set; AGES],
    sources: [Set; AGES],
    /// Written since the last `WARPGROUP.ARRIVE`.
    fresh: Set,
}

/// What has to stand before an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fix {
    /// A wait that leaves so many groups; the open one is committed before it.
    Wait {
        commit: bool,
        leaves: u8,
    },
    Arrive,
}

/// The registers of one instruction.
#[derive(Default)]
struct Touched {
    read: Set,
    written: Set,
}

impl Touched {
    fn of(inst: View<'_>) -> Touched {
        let mut touched = Touched::default();
        inst.for_each_use(|r| touched.read.add(r));
        inst.for_each_def(|r| touched.written.add(r));
        touched
    }
}

impl State {
    fn merge(&mut self, other: &State) -> bool {
        let mut merged = self.clone();
        for age in 0..AGES {
            merged.results[age] = merged.results[age].with(other.results[age]);
            merged.sources[age] = merged.sources[age].with(other.sources[age]);
        }
        merged.fresh = merged.fresh.with(other.fresh);
        let changed = merged != *self;
        *self = merged;
        changed
    }

    /// Groups from this age on are done.
    fn done_from(&mut self, age: usize) {
        for age in age..AGES {
            (self.results[age], self.sources[age]) = Default::default();
        }
    }

    fn commit(&mut self) {
        for list in [&mut self.results, &mut self.sources] {
            list[AGES - 1] = list[AGES - 1].with(list[AGES - 2]);
            list.copy_within(0..AGES - 2, 1);
            list[0] = Set::default();
        }
    }

    /// The youngest group that `inst` may not meet.
    fn conflict(&self, inst: View<'_>, touched: &Touched) -> Option<usize> {
        let whole_file = inst.op == Opcode::CALL;
        (0..AGES).find(|&age| {
            let (results, sources) = (self.results[age], self.sources[age]);
            if whole_file {
                return results != Set::default() || sources != Set::default();
            }
            if inst.op.has(Props::GROUP) {
                // Products come one after the other: one may add to what another is still summing
                // up.
                return factors(inst).meets(results) || touched.written.meets(sources);
            }
            touched.read.meets(results) || touched.written.meets(results.with(sources))
        })
    }

    /// Goes over one instruction; calls `f` with what it needs before it.
    fn step(&mut self, inst: View<'_>, mut f: impl FnMut(Fix)) {
        let touched = Touched::of(inst);
        if let Some(age) = self.conflict(inst, &touched) {
            let leaves = age.saturating_sub(1);
            f(Fix::Wait { commit: age == 0, leaves: leaves as u8 });
            if age == 0 {
                self.commit();
            }
            self.done_from(leaves + 1);
        }
        if inst.op.has(Props::GROUP) {
            if self.fresh.meets(touched.read) {
                f(Fix::Arrive);
                self.fresh = Set::default();
            }
            self.results[0] = self.results[0].with(touched.written);
            self.sources[0] = self.sources[0].with(factors(inst));
            if inst.last() != Some(NO_GROUP) {
                self.commit();
            }
            return;
        }
        self.fresh = self.fresh.with(touched.written);
        if inst.op == Opcode::WARPGROUP {
            match leaves(inst) {
                Some(left) => self.done_from((left as usize).min(AGES - 2) + 1),
                None => self.fresh = Set::default(),
            }
        }
    }
}

/// What a product reads beside its accumulators: a factor in registers, metadata.
pub fn each_factor(inst: View<'_>, mut f: impl FnMut(RegUse)) {
    let accumulators = inst.dests().next().and_then(|d| d.as_reg().map(|r| r.reg));
    inst.for_each_use(|r| {
        if Some(r.reg) != accumulators && r.reg.file() == RegFile::R {
            f(r);
        }
    });
}

/// [`each_factor`] as a set.
fn factors(inst: View<'_>) -> Set {
    let mut set = Set::default();
    each_factor(inst, |r| set.add(r));
    set
}

/// Whether the registers that products read must be there at the instruction.
pub fn is_arrival(inst: View<'_>) -> bool {
    inst.op == Opcode::WARPGROUP && inst.mods().has(Mod::ARRIVE)
}

/// How many groups a wait leaves, if the instruction is one.
pub fn leaves(inst: View<'_>) -> Option<u64> {
    match inst.get(WAIT::N) {
        Some(Operand::Imm(left)) if inst.op == Opcode::WARPGROUP && inst.len() == WAIT::COUNT => {
            Some(left)
        }
        _ => None,
    }
}

/// Phase `FixUpTexDepBarAndSync`: waits and arrivals for products of warpgroups.
pub fn fix_up_tex_dep_bar_and_sync(code: Code<'_>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let layout = body.layout().to_vec();
    let leave = |block: BlockId, start: &State, state: &mut State| {
        state.clone_from(start);
        for id in body.block(block).insts() {
            state.step(body.inst(*id), |_| {});
        }
    };
    let mut entry = vec![State::default(); body.block_count()];
    flow::at_entry(&body, &layout, &mut entry, leave, State::merge);
    let mut made = 0;
    for block in layout {
        let mut state = entry[block.0 as usize].clone();
        let mut fixes: Vec<(usize, InstId, Fix)> = Vec::new();
        for (at, id) in body.block(block).insts().iter().enumerate() {
            state.step(body.inst(*id), |fix| fixes.push((at, *id, fix)));
        }
        made += fixes.len();
        let mut insts = Vec::new();
        for (at, id, fix) in fixes {
            let loc = body.loc(id);
            insts.extend(instructions(fix).into_iter().map(|inst| (at, inst, loc)));
        }
        body.insert_all(block, insts);
    }
    notes.count(made);
}

fn instructions(fix: Fix) -> Vec<Inst> {
    match fix {
        Fix::Arrive => vec![Inst::new(Opcode::WARPGROUP, &[Mod::ARRIVE], 0, &[] as &[Operand])],
        Fix::Wait { commit, leaves } => {
            let count = [Operand::Imm(0), Operand::Imm(u64::from(leaves))];
            let wait = Inst::new(Opcode::WARPGROUP, &[Mod::DEPBAR, Mod::LE], 0, &count);
            if commit { vec![product_of_nothing(), wait] } else { vec![wait] }
        }
    }
}

/// A product that ends the open group, and does nothing else: it comes after all before it.
pub fn product_of_nothing() -> Inst {
    let nothing = Operand::Desc(RegUse::wide(Reg::URZ, 4));
    let never = Operand::Reg(RegUse { flags: RegFlags::NOT, ..RegUse::new(Reg::UPT) });
    let operands = [Operand::RZ, nothing, Operand::RZ, never, Operand::Imm(0)];
    Inst::new(Opcode::HGMMA, &[Mod::_64x8x16, Mod::F16], 1, &operands)
}

/// Whether `inst` is a product that no group has ended yet.
pub fn is_open(inst: View<'_>) -> bool {
    inst.op.has(Props::GROUP) && inst.last() == Some(NO_GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::cfg;
    use crate::testing;
    use orias_components::text;

    /// The text after the phase, one instruction a line.
    fn after(input: &str) -> Vec<String> {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).unwrap_or_else(|e| panic!("{e}"));
        function.run(cfg::analyze_control_flow);
        function.run(fix_up_tex_dep_bar_and_sync);
        let body = function.body();
        let all = body.layout().iter().flat_map(|b| body.block(*b).insts());
        all.map(|id| body.inst(*id).to_string()).collect()
    }

    fn inserted(input: &str) -> Vec<(usize, String)> {
        let lines: Vec<&str> = input.lines().map(str::trim).collect();
        let known = |line: &String| lines.contains(&line.as_str());
        after(input).into_iter().enumerate().filter(|(_, line)| !known(line)).collect()
    }

    const WAIT: &str = "WARPGROUP.DEPBAR.LE 0x0, 0x0";

    #[test]
    fn a_program_that_waits_itself_is_left_alone() {
        let found = inserted(
            "BB0:
                R4 = MOV RZ, 0xf
                WARPGROUP.ARRIVE
                R4:4 = HGMMA.64x8x16.F32 desc[UR8:4], R4:4, UPT, 0x7
                R4:4 = HGMMA.64x8x16.F32 desc[UR8:4], R4:4, UPT, 0x0
                WARPGROUP.DEPBAR.LE 0x0, 0x0
                STS [RZ], R4
                EXIT PT",
        );
        assert_eq!(found, []);
    }

    #[test]
    fn a_copy_of_sums_under_way_waits_for_their_group() {
        let found = inserted(
            "BB0:
                WARPGROUP.ARRIVE
                R4:4 = HGMMA.64x8x16.F32 desc[UR8:4], R4:4, UPT, 0x0
                R9 = MOV R5, 0xf
                EXIT PT",
        );
        assert_eq!(found, [(2, WAIT.to_string())]);
    }

    #[test]
    fn an_open_group_is_ended_before_the_wait() {
        let found = inserted(
            "BB0:
                WARPGROUP.ARRIVE
                R4:4 = HGMMA.64x8x16.F32 desc[UR8:4], R4:4, UPT, 0x7
                R9 = MOV R5, 0xf
                EXIT PT",
        );
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].1.starts_with("RZ = HGMMA"), "{found:?}");
        assert_eq!(found[1], (3, WAIT.to_string()));
    }

    #[test]
    fn a_factor_of_an_older_group_waits_for_no_younger_one() {
        let found = inserted(
            "BB0:
                WARPGROUP.ARRIVE
                R4:4 = HGMMA.64x8x16.F32 R20:4, desc[UR8:4], R4:4, UPT, 0x0
                R4:4 = HGMMA.64x8x16.F32 R24:4, desc[UR8:4], R4:4, UPT, 0x0
                R21 = MOV RZ, 0xf
                EXIT PT",
        );
        assert_eq!(found, [(3, "WARPGROUP.DEPBAR.LE 0x0, 0x1".to_string())]);
    }

    #[test]
    fn what_a_product_reads_has_arrived() {
        let lines = after(
            "BB0:
                R6 = MOV RZ, 0xf
                R4:4 = HGMMA.64x8x16.F32 desc[UR8:4], R4:4, UPT, 0x0
                EXIT PT",
        );
        assert_eq!(lines[1], "WARPGROUP.ARRIVE");
    }

    #[test]
    fn what_is_under_way_is_known_around_a_loop() {
        let found = inserted(
            "BB0:
                WARPGROUP.ARRIVE
             BB1:
                R8 = MOV R4, 0xf
                R4:4 = HGMMA.64x8x16.F32 desc[UR8:4], R4:4, UPT, 0x0
                @P0 BRA PT, BB1
             BB2:
                EXIT PT",
        );
        assert_eq!(found, [(1, WAIT.to_string())]);
    }
}
