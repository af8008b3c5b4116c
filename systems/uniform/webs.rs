//! Integer work of the whole warp goes to the uniform datapath: what a uniform register is to get,
//! and what that is computed from, as far as all of it can be computed there.
//!
//! What holds afterwards: R2UR and VOTEU.ANY stand only where a value comes from what the uniform
//! datapath cannot compute, or where the copies for those who want it in a general register would
//! be more than they are. A value that some instruction wants in a general register is copied there
//! behind where it is written; one that comes from elsewhere, the same for all threads, is copied
//! here once.
//!
//! Only in blocks that the warp runs together, or a part of it while no other one runs
//! ([`whole_warp`]): a uniform register is one for all threads of the warp, whoever of them runs.
//!
//! ptxas 13.0.88 does so for descriptors of products and copies, with all that leads to them
//! (stages of a pipeline that a loop counts, too), and computes there what no uniform register
//! waits for as well.

use super::quads;
use crate::analysis::liveness::{Cell, Liveness, kills};
use crate::analysis::uses::Uses;
use crate::analysis::{Analyses, ControlFlow};
use crate::effects;
use crate::scalar::replace::{exchange, exchangeable};
use crate::sync::whole_warp::{self, Runs};
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, VRegId, View,
};
use orias_targets::Target;
use orias_targets::slots::{IADD3, MOV, R2UR, VIADD, VOTEU};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// What wants values in uniform registers.
pub(super) const ROOTS: [Opcode; 2] = [Opcode::R2UR, Opcode::VOTEU];

/// Cells of uniform registers that may be live at one point: some are left for what comes later,
/// and for what has to stand at even places.
const ROOM: u32 = 44;

/// Values that are given up at a time where there are more.
const SOME: usize = 4;

/// Makes values uniform; returns how many, and what became of products' descriptors by that.
pub(super) fn convert(body: &mut Body<'_>, target: &Target, analyses: &mut Analyses) -> usize {
    let Some(runs) = whole_warp::blocks(body, analyses) else { return 0 };
    let flow = analyses.flow(body);
    let uses = analyses.uses(body);
    let divergence = analyses.divergence(body);
    let liveness = analyses.liveness(body);
    let differs = |v: VRegId| divergence.is_divergent(Reg::virt(body.vreg(v).file, v));
    let mut webs = Webs::of(body, target, &flow, &uses, &runs, liveness, differs);
    webs.choose();
    while webs.weigh() || webs.relieve() {}
    let chosen = webs.finish();
    let mut count = chosen.values.len();
    if count > 0 {
        rewrite(body, target, &runs, &chosen);
    }
    if body.facts().may_have(&quads::PRODUCTS) {
        let uses = analyses.uses(body);
        count += quads::share(body, &flow, &uses, &runs);
    }
    count
}

/// What is to be done with a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Plan {
    /// It could be uniform.
    can: bool,
    /// It is to be.
    is_in: bool,
    /// It comes from what the uniform datapath does not compute.
    is_import: bool,
    /// Some want it in a general register, too.
    is_export: bool,
}

struct Webs<'a, 'w> {
    body: &'a Body<'w>,
    target: &'a Target,
    flow: &'a ControlFlow,
    uses: &'a Uses,
    runs: &'a [Runs],
    plans: Scratch<Vec<Plan>>,
    /// Instructions that want a value in a uniform register.
    roots: Scratch<Vec<Root>>,
    /// Values that are in, in the order in which they came in.
    values: Scratch<Vec<VRegId>>,
    /// By value the number of its web, once they are weighed.
    web: Scratch<Vec<u32>>,
    work: Scratch<Vec<VRegId>>,
    liveness: Arc<Liveness>,
}

/// An instruction that wants a value in a uniform register.
#[derive(Clone, Copy, Debug)]
struct Root {
    id: InstId,
    block: BlockId,
    /// The value; or if there is a number, what that is added to for it.
    value: VRegId,
    added: Option<u32>,
}

/// What is made uniform.
struct Chosen {
    values: Scratch<Vec<VRegId>>,
    plans: Scratch<Vec<Plan>>,
    /// By instruction.
    roots: Scratch<FxHashMap<InstId, Root>>,
}

impl<'a, 'w> Webs<'a, 'w> {
    fn of(
        body: &'a Body<'w>,
        target: &'a Target,
        flow: &'a ControlFlow,
        uses: &'a Uses,
        runs: &'a [Runs],
        liveness: Arc<Liveness>,
        differs: impl Fn(VRegId) -> bool,
    ) -> Webs<'a, 'w> {
        let mut plans = scratch!(Vec<Plan>; Plan::default(); body.vreg_count());
        let mut roots = scratch!(Vec<Root>);
        let mut work = scratch!(Vec<VRegId>);
        for v in (0..body.vreg_count() as u32).map(VRegId) {
            let vreg = body.vreg(v);
            let file_is_known = matches!(vreg.file, RegFile::R | RegFile::P);
            let mut writers = uses.writers(v);
            // Who did not run has another value behind.
            let is_whole = |(_, block): (_, BlockId)| runs[block.0 as usize] == Runs::Together;
            let is_same = || uses.writers(v).all(is_whole) || !differs(v);
            plans[v.0 as usize].can = file_is_known && writers.next().is_some() && is_same();
        }
        for &block in body.layout() {
            let is_safe = runs[block.0 as usize] != Runs::Apart;
            for &id in body.block(block).insts() {
                let inst = body.inst(id);
                let wants = wanted(inst).filter(|_| is_safe);
                let added = None;
                roots.extend(wants.map(|value| Root { id, block, value, added }));
                let is_known = is_safe && uniform(inst).is_some_and(|u| target.takes(&u).is_some());
                if !is_known {
                    inst.for_each_def(|r| {
                        if let Some(v) = r.reg.vreg()
                            && std::mem::take(&mut plans[v.0 as usize].can)
                        {
                            work.push(v);
                        }
                    });
                }
            }
        }
        // What one writes at once where the warp is together, the same for all threads, may come
        // from elsewhere.
        let importable = |v: VRegId| {
            let vreg = body.vreg(v);
            let (by, block) = uses.only_writer(v)?;
            let inst = body.inst(by);
            let is_whole = inst
                .reg(0)
                .is_some_and(|r| r.reg.vreg() == Some(v) && r.cell == 0 && r.count == vreg.cells);
            let is_plain = vreg.file == RegFile::R && vreg.cells == 1 && is_whole;
            let is_one = inst.defs >= 1 && inst.guard.is_always() && !inst.op.is_pseudo();
            (is_plain && is_one && runs[block.0 as usize] != Runs::Apart && !differs(v))
                .then_some(())
        };
        while let Some(v) = work.pop() {
            if importable(v).is_some() {
                plans[v.0 as usize] = Plan { can: true, is_import: true, ..Plan::default() };
                continue;
            }
            for (reader, _) in uses.readers(v) {
                body.inst(reader).for_each_def(|r| {
                    let Some(v) = r.reg.vreg() else { return };
                    let plan = &mut plans[v.0 as usize];
                    if !plan.is_import && std::mem::take(&mut plan.can) {
                        work.push(v);
                    }
                });
            }
        }
        let mut is_near = Near { body, uses, flow };
        for root in roots.iter_mut() {
            let sum = is_near.sum(root).filter(|(base, _)| plans[base.0 as usize].can);
            if let Some((base, number)) = sum {
                (root.value, root.added) = (base, Some(number));
            }
        }
        let web = scratch!(Vec<u32>; u32::MAX; body.vreg_count());
        let values = scratch!(Vec<VRegId>);
        Webs { body, target, flow, uses, runs, plans, roots, values, web, work, liveness }
    }

    fn is_safe(&self, block: BlockId) -> bool {
        self.runs[block.0 as usize] != Runs::Apart
    }

    fn plan(&self, v: VRegId) -> Plan {
        self.plans[v.0 as usize]
    }

    fn frequency(&self, block: BlockId) -> u64 {
        self.flow.frequency(block.0)
    }

    /// Takes in what the roots want, with what that is computed from.
    fn choose(&mut self) {
        for plan in self.plans.iter_mut() {
            plan.is_in = false;
        }
        self.values.clear();
        self.work.clear();
        let wanted = self.roots.iter().map(|root| root.value);
        self.work.extend(wanted);
        while let Some(v) = self.work.pop() {
            let plan = &mut self.plans[v.0 as usize];
            if !plan.can || plan.is_in {
                continue;
            }
            plan.is_in = true;
            self.values.push(v);
            if plan.is_import {
                continue;
            }
            for (writer, _) in self.uses.writers(v) {
                let inst = self.body.inst(writer);
                inst.for_each_use(|r| self.work.extend(r.reg.vreg()));
                inst.for_each_def(|r| self.work.extend(r.reg.vreg()));
            }
        }
    }

    /// Whether an instruction is to be done by the uniform datapath.
    fn is_converted(&self, inst: View<'_>) -> bool {
        is_converted(inst, |v| self.plan(v))
    }

    /// Gives up webs that cost what they are worth, and more; whether there was any.
    fn weigh(&mut self) -> bool {
        // Webs: what one instruction computes from another value is of one web with that.
        let count = self.values.len();
        let mut parent = scratch!(Vec<u32>).with(0..count as u32);
        for (n, v) in self.values.iter().enumerate() {
            self.web[v.0 as usize] = n as u32;
        }
        fn find(parent: &mut [u32], mut n: u32) -> u32 {
            while parent[n as usize] != n {
                parent[n as usize] = parent[parent[n as usize] as usize];
                n = parent[n as usize];
            }
            n
        }
        // By web what it is worth and costs.
        let mut worth = scratch!(Vec<i64>; 0; count);
        for root in self.roots.iter().filter(|root| self.plan(root.value).is_in) {
            let web = self.web[root.value.0 as usize];
            worth[web as usize] += self.frequency(root.block) as i64;
        }
        for n in 0..count {
            let v = self.values[n];
            let plan = self.plan(v);
            if plan.is_import {
                // It is in a general register anyway.
                let (_, block) = self.uses.only_writer(v).expect("an import has one");
                worth[n] -= self.frequency(block) as i64;
                continue;
            }
            let mut copies = 0;
            let mut is_export = false;
            for (reader, block) in self.uses.readers(v) {
                match self.reads(reader, block, v) {
                    Reading::Uniform => {}
                    Reading::Copy => copies += self.frequency(block) as i64,
                    Reading::General => is_export = true,
                }
            }
            for (writer, block) in self.uses.writers(v) {
                let inst = self.body.inst(writer);
                inst.for_each_use(|r| {
                    let of = r.reg.vreg().map(|v| self.web[v.0 as usize]);
                    if let Some(of) = of.filter(|of| (*of as usize) < count) {
                        let (a, b) = (find(&mut parent, of), find(&mut parent, n as u32));
                        parent[a as usize] = b;
                    }
                });
                if is_export {
                    copies += self.frequency(block) as i64;
                }
            }
            self.plans[v.0 as usize].is_export = is_export;
            worth[n] -= copies;
        }
        let mut sums = scratch!(Vec<i64>; 0; count);
        for n in 0..count {
            sums[find(&mut parent, n as u32) as usize] += worth[n];
        }
        let mut gave_up = false;
        for n in 0..count {
            let root = find(&mut parent, n as u32);
            let v = self.values[n];
            self.web[v.0 as usize] = root;
            if sums[root as usize] <= 0 {
                self.plans[v.0 as usize].can = false;
                self.plans[v.0 as usize].is_in = false;
                gave_up = true;
            }
        }
        if gave_up {
            self.values.iter().for_each(|v| self.web[v.0 as usize] = u32::MAX);
            self.choose();
        }
        gave_up
    }

    /// How an instruction reads a value that is to be uniform.
    fn reads(&self, reader: InstId, block: BlockId, v: VRegId) -> Reading {
        let inst = self.body.inst(reader);
        let is_root = wanted(inst) == Some(v) && self.is_safe(block);
        if self.is_converted(inst) || is_root {
            return Reading::Uniform;
        }
        if !self.is_safe(block) || direct(inst, self.target, |v| self.plan(v)).is_none() {
            return Reading::General;
        }
        match inst.op {
            Opcode::MOV => Reading::Copy,
            _ => Reading::Uniform,
        }
    }

    /// Where too many uniform registers would be live at once, gives up some values that live
    /// there; whether there were any.
    fn relieve(&mut self) -> bool {
        let Some(crowd) = self.crowd() else { return false };
        // Those that only go where they are wanted: a copy each time is what there was before.
        let goes_on = |v: VRegId| {
            let mut readers = self.uses.readers(v);
            readers.any(|(reader, _)| self.is_converted(self.body.inst(reader)))
        };
        let mut ends: SmallVec<[VRegId; 16]> =
            crowd.iter().copied().filter(|v| !goes_on(*v)).collect();
        if ends.is_empty() {
            ends.extend(crowd);
        }
        let wanted = |v: VRegId| -> u64 {
            let roots = self.roots.iter().filter(|root| root.value == v);
            roots.map(|root| self.frequency(root.block)).sum()
        };
        ends.sort_by_cached_key(|v| (wanted(*v), *v));
        ends.truncate(SOME);
        for v in ends {
            self.plans[v.0 as usize].can = false;
        }
        self.choose();
        true
    }

    /// The values that are to be uniform and live where too many do, if there is such a place.
    fn crowd(&self) -> Option<SmallVec<[VRegId; 16]>> {
        let map = &self.liveness.map;
        // By cell whose it is, of those that are or will be in uniform registers.
        let mut whose = scratch!(Vec<u32>; u32::MAX; map.count());
        for v in (0..self.body.vreg_count() as u32).map(VRegId) {
            let vreg = self.body.vreg(v);
            let is_in = vreg.file == RegFile::R && self.plan(v).is_in;
            if is_in || vreg.file == RegFile::UR {
                let first = map.first(v) as usize;
                whose[first..first + usize::from(vreg.cells)].fill(v.0);
            }
        }
        let is_one = |cell: &Cell| whose[*cell as usize] != u32::MAX;
        // What lives where the warp may run apart takes its register everywhere.
        let mut apart = scratch!(BitVec).fill_with(false, map.count());
        let mut everywhere = 0;
        for &block in self.body.layout() {
            if self.runs[block.0 as usize] == Runs::Apart {
                let ends = self.liveness.live_in(block).chain(self.liveness.live_out(block));
                for cell in ends.filter(is_one) {
                    everywhere += u32::from(!apart.replace(cell as usize, true));
                }
            }
        }
        let mut live = Live {
            set: scratch!(BitVec).fill_with(false, map.count()),
            count: 0,
            seen: scratch!(Vec<Cell>),
        };
        for &block in self.body.layout() {
            live.clear();
            let counts = |cell: &Cell| is_one(cell) && !apart[*cell as usize];
            self.liveness.live_out(block).filter(counts).for_each(|cell| live.open(cell));
            for &id in self.body.block(block).insts().iter().rev() {
                let inst = self.body.inst(id);
                let of = |r: RegUse, f: &mut dyn FnMut(Cell)| {
                    map.cells(r).filter(counts).for_each(f);
                };
                // What nobody reads is written all the same.
                inst.for_each_def(|r| of(r, &mut |cell| live.open(cell)));
                let most = live.count;
                if kills(inst) {
                    inst.for_each_def(|r| of(r, &mut |cell| live.close(cell)));
                }
                inst.for_each_use(|r| of(r, &mut |cell| live.open(cell)));
                if everywhere + most.max(live.count) > ROOM {
                    let cells = live.seen.iter().copied().filter(|cell| live.set[*cell as usize]);
                    let apart = apart.iter_ones().map(|cell| cell as Cell);
                    let whose = cells.chain(apart).map(|cell| VRegId(whose[cell as usize]));
                    let mut crowd: SmallVec<[VRegId; 16]> =
                        whose.filter(|v| self.plan(*v).is_in).collect();
                    crowd.sort_unstable();
                    crowd.dedup();
                    return Some(crowd).filter(|crowd| !crowd.is_empty());
                }
            }
        }
        None
    }

    fn finish(self) -> Chosen {
        let mut roots = scratch!(FxHashMap<InstId, Root>);
        let is_in = |root: &&Root| self.plan(root.value).is_in;
        roots.extend(self.roots.iter().filter(is_in).map(|root| (root.id, *root)));
        Chosen { values: self.values, plans: self.plans, roots }
    }
}

/// Cells that are live at a point.
struct Live {
    set: Scratch<BitVec>,
    count: u32,
    /// Those that were since the block's end.
    seen: Scratch<Vec<Cell>>,
}

impl Live {
    fn clear(&mut self) {
        for cell in self.seen.drain(..) {
            self.set.set(cell as usize, false);
        }
        self.count = 0;
    }

    fn open(&mut self, cell: Cell) {
        if !self.set.replace(cell as usize, true) {
            self.count += 1;
            self.seen.push(cell);
        }
    }

    fn close(&mut self, cell: Cell) {
        self.count -= u32::from(self.set.replace(cell as usize, false));
    }
}

/// Finds what a value is the sum of, where both are still the same at its reader.
struct Near<'a, 'w> {
    body: &'a Body<'w>,
    uses: &'a Uses,
    flow: &'a ControlFlow,
}

impl Near<'_, '_> {
    /// The value and the number whose sum an instruction wants.
    fn sum(&mut self, root: &Root) -> Option<(VRegId, u32)> {
        let Near { body, uses, flow } = self;
        if body.op(root.id) != Opcode::R2UR || body.vreg(root.value).cells != 1 {
            return None;
        }
        let (by, block) = uses.only_writer(root.value)?;
        let inst = body.inst(by);
        let (a, b) = match inst.op {
            _ if !inst.guard.is_always() || !inst.mods().is_empty() => return None,
            Opcode::VIADD => (inst.operand(VIADD::A), inst.operand(VIADD::B)),
            Opcode::IADD3 if inst.operand(IADD3::C) == Operand::RZ => {
                let carries = [IADD3::P, IADD3::Q].map(|at| inst.operand(at));
                if carries != [Operand::PT; 2] {
                    return None;
                }
                (inst.operand(IADD3::A), inst.operand(IADD3::B))
            }
            _ => return None,
        };
        let (Operand::Reg(base), Operand::Imm(number)) = (a, b) else { return None };
        let v = base.reg.vreg().filter(|_| base.flags == RegFlags::NONE && base.cell == 0)?;
        let (from, first) = uses.only_writer(v).filter(|_| body.vreg(v).cells == 1)?;
        // A round of a loop would write it again before the sum, or between that and its reader.
        let is_once = flow.loops().depth(first.0) == 0;
        let here = |id: InstId| body.block(block).insts().iter().position(|i| *i == id);
        let in_order = || {
            let is_one = first == block && block == root.block;
            is_one && here(from) < here(by) && here(by) < here(root.id)
        };
        (is_once || in_order()).then_some((v, number as u32))
    }
}

/// How an instruction reads a uniform value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    /// From there.
    Uniform,
    /// A copy to a general register, which was none before.
    Copy,
    /// It wants it in a general register.
    General,
}

/// Whether all that an instruction writes is to be uniform, and is computed there.
fn is_converted(inst: View<'_>, plan: impl Fn(VRegId) -> Plan) -> bool {
    let (mut some, mut all) = (false, true);
    inst.for_each_def(|r| {
        let is_in = r.reg.vreg().is_some_and(|v| {
            let plan = plan(v);
            plan.is_in && !plan.is_import
        });
        some = true;
        all &= is_in;
    });
    some && all
}

/// The value that an instruction wants in a uniform register or predicate.
fn wanted(inst: View<'_>) -> Option<VRegId> {
    let is_plain = |r: &RegUse| r.flags == RegFlags::NONE;
    match inst.op {
        Opcode::R2UR if inst.guard.is_always() && inst.mods().is_empty() => {
            let is_word = inst.operand(R2UR::P) == Operand::PT;
            inst.reg(R2UR::A).filter(|r| is_word && is_plain(r)).and_then(|r| r.reg.vreg())
        }
        Opcode::VOTEU if inst.mods().as_slice() == [Mod::ANY] => {
            let is_one = inst.operand(VOTEU::UD) == Operand::URZ;
            inst.reg(VOTEU::X).filter(|r| is_one && is_plain(r)).and_then(|r| r.reg.vreg())
        }
        _ => None,
    }
}

/// A register of the uniform files in the place of another: any, to ask whether there is a form.
fn trial(r: RegUse) -> RegUse {
    let reg = match r.reg.file() {
        RegFile::R if r.reg.is_zero() => Reg::URZ,
        RegFile::R => Reg::phys(RegFile::UR, 4),
        RegFile::P if r.reg.is_zero() => Reg::UPT,
        RegFile::P => Reg::phys(RegFile::UP, 0),
        _ => r.reg,
    };
    RegUse { reg, ..r }
}

/// The instruction of the uniform datapath that does the same, with registers for a trial.
fn uniform(inst: View<'_>) -> Option<Inst> {
    uniform_with(inst, trial)
}

/// The same with what stands for each register.
fn uniform_with(inst: View<'_>, map: impl Fn(RegUse) -> RegUse) -> Option<Inst> {
    let op = match inst.op {
        Opcode::IADD3 | Opcode::VIADD => Opcode::UIADD3,
        Opcode::IMAD => Opcode::UIMAD,
        Opcode::LEA => Opcode::ULEA,
        Opcode::LOP3 => Opcode::ULOP3,
        Opcode::SHF => Opcode::USHF,
        Opcode::PRMT => Opcode::UPRMT,
        Opcode::SEL => Opcode::USEL,
        Opcode::ISETP => Opcode::UISETP,
        Opcode::PLOP3 => Opcode::UPLOP3,
        Opcode::SGXT => Opcode::USGXT,
        Opcode::BMSK => Opcode::UBMSK,
        Opcode::POPC => Opcode::UPOPC,
        Opcode::FLO => Opcode::UFLO,
        Opcode::BREV => Opcode::UBREV,
        Opcode::MOV => Opcode::UMOV,
        Opcode::LDC => Opcode::ULDC,
        Opcode::S2R if !effects::differs_by_thread(inst) => Opcode::S2UR,
        _ => return None,
    };
    if !inst.guard.is_always() || inst.tied().len() > 0 {
        return None;
    }
    let mut new = inst.to_inst();
    new.op = op;
    match inst.op {
        Opcode::MOV if effects::copies_words(inst) => new.operands.truncate(MOV::M),
        Opcode::MOV => return None,
        Opcode::VIADD if inst.mods().is_empty() => {
            let [d, a, b] = [VIADD::D, VIADD::A, VIADD::B].map(|at| inst.operand(at));
            new.operands = smallvec![d, Operand::PT, Operand::PT, a, b, Operand::RZ];
            new.defs = 3;
        }
        Opcode::VIADD => return None,
        _ => {}
    }
    let mut is_known = true;
    for operand in &mut new.operands {
        match operand {
            Operand::Reg(r) => {
                let is_virtual = r.reg.vreg().is_some() || r.reg.is_zero();
                let file_is_known = matches!(r.reg.file(), RegFile::R | RegFile::P);
                is_known &= is_virtual && file_is_known
                    || matches!(r.reg.file(), RegFile::UR | RegFile::UP);
                *r = map(*r);
            }
            Operand::Const(c) => is_known &= c.base == Reg::RZ && !c.is_bindless(),
            Operand::Imm(_) | Operand::Special(_) => {}
            _ => return None,
        }
    }
    is_known.then_some(new)
}

/// An instruction that stays where it is, with uniform registers (for a trial) in the place of all
/// values that are to be uniform, if code may have it.
fn direct(inst: View<'_>, target: &Target, plan: impl Fn(VRegId) -> Plan) -> Option<Inst> {
    if inst.op.is_pseudo() || inst.op.is_branch() || inst.op.has(orias_components::Props::UNIFORM) {
        return None;
    }
    let is_uniform = |r: &RegUse| r.reg.vreg().is_some_and(|v| plan(v).is_in);
    let mut is_plain = true;
    inst.for_each_def(|r| is_plain &= !is_uniform(&r) || plan_is_import(&plan, r));
    let mut changed = inst.to_inst();
    is_plain &= !is_uniform(&RegUse::new(changed.guard.reg));
    let mut places: SmallVec<[usize; 4]> = SmallVec::new();
    let first = changed.defs as usize;
    for (i, operand) in changed.operands.iter_mut().enumerate().skip(first) {
        match operand {
            Operand::Reg(r) | Operand::Part(r, _) if is_uniform(r) => {
                // Its number stays, for who puts the real one there.
                places.push(i);
            }
            other => other.for_each_reg(|r| is_plain &= !is_uniform(&r)),
        }
    }
    if !is_plain || places.is_empty() {
        return None;
    }
    let takes = |inst: &Inst| {
        let mut tried = inst.clone();
        let first = tried.defs as usize;
        for operand in tried.operands.iter_mut().skip(first) {
            operand.map_regs(|r| if is_uniform(&r) { trial(r) } else { r });
        }
        target.takes(&tried).is_some()
    };
    if takes(&changed) {
        return Some(changed);
    }
    let [at] = places[..] else { return None };
    let other = exchangeable(changed.op, changed.defs as usize, at)?;
    exchange(&mut changed, at, other);
    takes(&changed).then_some(changed)
}

fn plan_is_import(plan: &impl Fn(VRegId) -> Plan, r: RegUse) -> bool {
    r.reg.vreg().is_some_and(|v| plan(v).is_import)
}

/// Puts uniform registers in the place of what was chosen.
fn rewrite(body: &mut Body<'_>, target: &Target, runs: &[Runs], chosen: &Chosen) {
    let mut now = scratch!(Vec<Option<Reg>>; None; body.vreg_count());
    for &v in chosen.values.iter() {
        let vreg = *body.vreg(v);
        let file = if vreg.file == RegFile::P { RegFile::UP } else { RegFile::UR };
        now[v.0 as usize] = Some(body.new_vreg(file, vreg.cells, vreg.align));
    }
    let plan = |v: VRegId| chosen.plans.get(v.0 as usize).copied().unwrap_or_default();
    let map = |r: RegUse| match r.reg.vreg().and_then(|v| now.get(v.0 as usize).copied().flatten())
    {
        Some(reg) => RegUse { reg, ..r },
        None if r.reg.is_zero() => trial(r),
        None => r,
    };
    for &block in body.walk().iter() {
        let is_safe = runs[block.0 as usize] != Runs::Apart;
        body.rewrite(block, |body, out, id| {
            let inst = body.inst(id);
            if let Some(root) = chosen.roots.get(&id) {
                let new = root.with(body.vreg(root.value).file, inst, map);
                body.set_inst(id, &new);
                return out.keep(id);
            }
            let mut names = false;
            let mut see = |r: RegUse| names |= r.reg.vreg().is_some_and(|v| plan(v).is_in);
            inst.for_each_def(&mut see);
            inst.for_each_use(&mut see);
            if !names {
                return out.keep(id);
            }
            let loc = body.loc(id);
            if is_converted(inst, plan) {
                let new = uniform_with(inst, map).expect("it was asked");
                let mut copies: SmallVec<[Inst; 2]> = SmallVec::new();
                inst.for_each_def(|r| {
                    if r.reg.vreg().is_some_and(|v| plan(v).is_export) {
                        copies.extend((0..r.count).map(|i| {
                            let to = RegUse { cell: r.cell + i, count: 1, ..r };
                            general(to, map(to))
                        }));
                    }
                });
                body.set_inst(id, &new);
                out.keep(id);
                for copy in &copies {
                    out.put(body, copy, loc);
                }
                return;
            }
            let direct = Some(inst).filter(|_| is_safe).and_then(|i| direct(i, target, plan));
            if let Some(mut new) = direct {
                let first = new.defs as usize;
                for operand in new.operands.iter_mut().skip(first) {
                    operand.map_regs(|r| match r.reg.vreg().is_some_and(|v| plan(v).is_in) {
                        true => map(r),
                        false => r,
                    });
                }
                body.set_inst(id, &new);
            }
            out.keep(id);
            // What comes from elsewhere.
            let mut imports: SmallVec<[RegUse; 1]> = SmallVec::new();
            body.inst(id).for_each_def(|r| {
                imports.extend(
                    Some(r).filter(|r| {
                        r.reg.vreg().is_some_and(|v| plan(v).is_in && plan(v).is_import)
                    }),
                );
            });
            for r in imports {
                let operands = [Operand::PT, Operand::Reg(map(r)), Operand::Reg(r)];
                out.put(body, &Inst::new(Opcode::R2UR, &[], 2, &operands), loc);
            }
        });
    }
}

/// A copy to a general register or predicate.
fn general(to: RegUse, from: RegUse) -> Inst {
    if to.reg.file() == RegFile::P {
        let (pt, table) = (Operand::PT, Operand::Imm(0x80));
        let operands = [Operand::Reg(to), pt, pt, pt, Operand::Reg(from), table, Operand::Imm(0)];
        return Inst::new(Opcode::PLOP3, &[Mod::LUT], 2, &operands);
    }
    Inst::new(Opcode::MOV, &[], 1, &[Operand::Reg(to), Operand::Reg(from), Operand::Imm(0xf)])
}

impl Root {
    /// What it takes from another uniform register now.
    fn with(&self, file: RegFile, inst: View<'_>, map: impl Fn(RegUse) -> RegUse) -> Inst {
        let value = |cell: u8| Operand::Reg(map(RegUse::at(Reg::virt(file, self.value), cell, 1)));
        let (upt, urz) = (Operand::UPT, Operand::URZ);
        if let Some(number) = self.added {
            let (to, number) = (inst.operand(R2UR::UD), Operand::Imm(number.into()));
            return Inst::new(Opcode::UIADD3, &[], 3, &[to, upt, upt, value(0), number, urz]);
        }
        if inst.op == Opcode::R2UR {
            let from = value(inst.reg(R2UR::A).map_or(0, |r| r.cell));
            return Inst::new(Opcode::UMOV, &[], 1, &[inst.operand(R2UR::UD), from]);
        }
        let operands =
            [inst.operand(VOTEU::P), upt, value(0), upt, upt, Operand::Imm(0x80), Operand::Imm(0)];
        Inst::new(Opcode::UPLOP3, &[Mod::LUT], 2, &operands)
    }
}
