//! Runs small bodies as one thread does, in SSA form too: integers, copies, branches and stores are
//! all that it knows. For tests of what changes or foretells the way of control.

use orias_components::{
    BlockId, Body, InstId, Mod, Opcode, Operand, RegFlags, RegUse, VRegId, View, edges, phis,
};
use orias_targets::slots::{BRA, EXIT, IADD3, IADD3_X, ISETP, ISETP_EX};
use rustc_hash::FxHashMap;

/// What a run did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ran {
    /// How often each block ran.
    pub runs: FxHashMap<BlockId, u64>,
    /// Addresses and values of the stores, in order.
    pub stores: Vec<(u32, u32)>,
}

/// Runs a body of which an LDC from an offset gives what `constant` says. None: it did not end
/// within so many blocks.
///
/// # Panics
/// At an instruction that it does not know, and at a read of what nothing wrote.
pub fn run(body: &Body<'_>, constant: impl Fn(i32) -> u32, most: u64) -> Option<Ran> {
    let mut thread = Thread { body, constant, cells: FxHashMap::default(), ran: Ran::default() };
    let mut next = body.layout().first().copied();
    let mut from = None;
    for _ in 0..most {
        let Some(block) = next else { return Some(thread.ran) };
        *thread.ran.runs.entry(block).or_default() += 1;
        next = thread.block(from, block);
        from = Some(block);
    }
    None
}

struct Thread<'a, 'w, F> {
    body: &'a Body<'w>,
    constant: F,
    cells: FxHashMap<(VRegId, u8), u32>,
    ran: Ran,
}

impl<F: Fn(i32) -> u32> Thread<'_, '_, F> {
    /// Runs a block; where control goes then.
    fn block(&mut self, from: Option<BlockId>, block: BlockId) -> Option<BlockId> {
        // Phis read all before the first writes.
        let meets: Vec<(RegUse, u32)> =
            phis::of(self.body, block).filter_map(|id| self.meet(from, id)).collect();
        meets.into_iter().for_each(|(to, value)| self.write(Operand::Reg(to), value));
        let insts = &self.body.block(block).insts()[phis::end(self.body, block)..];
        for id in insts {
            let inst = self.body.inst(*id);
            let holds = self.truth(RegUse::new(inst.guard.reg)) != inst.guard.negated;
            match inst.op {
                Opcode::BRA | Opcode::EXIT => {
                    let place = if inst.op == Opcode::BRA { BRA::X } else { EXIT::X };
                    if holds && self.value(inst.operand(place)) != 0 {
                        return edges::targets(inst).next();
                    }
                }
                _ if holds => self.one(inst),
                _ => {
                    let named = |o: &Operand| o.as_reg().is_some_and(|r| !r.reg.is_zero());
                    let to = inst.dests().filter(named).filter_map(|o| o.as_reg().copied());
                    for (to, from) in to.zip(inst.tied()) {
                        for (to, from) in cells(to).zip(cells(from)) {
                            // Nobody knows what is kept of what nothing has written: it is an
                            // error where that is read.
                            let kept = |v| self.cells.contains_key(&(v, from.cell));
                            if from.reg.vreg().is_none_or(kept) {
                                let value = self.value(Operand::Reg(from));
                                self.write(Operand::Reg(to), value);
                            }
                        }
                    }
                }
            }
        }
        let at = self.body.layout().iter().position(|b| *b == block)?;
        self.body.layout().get(at + 1).copied()
    }

    /// What a phi gives, where the way brings a value at all.
    fn meet(&self, from: Option<BlockId>, id: InstId) -> Option<(RegUse, u32)> {
        let inst = self.body.inst(id);
        let sources: Vec<Operand> = inst.sources().collect();
        let pair = sources.chunks(2).find(|pair| pair[1] == Operand::Block(from.expect("a way")));
        let value = pair.unwrap_or_else(|| panic!("{inst} has no value from {from:?}"))[0];
        value.as_reg().is_some_and(|r| r.reg.vreg().is_some()).then_some(())?;
        Some((inst.reg(0)?, self.value(value)))
    }

    fn truth(&self, r: RegUse) -> bool {
        self.value(Operand::Reg(r)) != 0
    }

    fn value(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Imm(bits) => bits as u32,
            Operand::Const(c) => (self.constant)(c.offset),
            Operand::Mem(m) => self.value(Operand::Reg(m.base)).wrapping_add(m.offset as u32),
            Operand::Reg(r) => {
                let is_predicate = r.reg.file().is_predicate();
                let value = match r.reg.vreg() {
                    Some(v) => *self
                        .cells
                        .get(&(v, r.cell))
                        .unwrap_or_else(|| panic!("{r} is read and was not written")),
                    None => u32::from(is_predicate),
                };
                match r.flags.without(RegFlags::REUSE) {
                    RegFlags::NONE => value,
                    RegFlags::NEG => value.wrapping_neg(),
                    RegFlags::NOT if is_predicate => value ^ 1,
                    RegFlags::NOT => !value,
                    other => panic!("{other:?} of {r}"),
                }
            }
            other => panic!("the operand {other}"),
        }
    }

    fn write(&mut self, to: Operand, value: u32) {
        if let Some(r) = to.as_reg()
            && let Some(v) = r.reg.vreg()
        {
            self.cells.insert((v, r.cell), value);
        }
    }

    fn one(&mut self, inst: View<'_>) {
        let value = |at: usize| self.value(inst.operand(at));
        match inst.op {
            Opcode::LDC => {
                let (to, Operand::Const(c)) = (inst.reg(0).expect("a register"), inst.operand(1))
                else {
                    panic!("{inst}")
                };
                for (to, offset) in cells(to).zip((c.offset..).step_by(4)) {
                    let value = (self.constant)(offset);
                    self.write(Operand::Reg(to), value);
                }
            }
            Opcode::MOV => {
                let value = value(1);
                self.write(inst.operand(0), value);
            }
            Opcode::VIADD => {
                let value = value(1).wrapping_add(value(2));
                self.write(inst.operand(0), value);
            }
            Opcode::IADD3 => {
                let terms = [IADD3::A, IADD3::B, IADD3::C].map(|at| u64::from(value(at)));
                let carries = match inst.mods().has(Mod::X) {
                    true => u64::from(value(IADD3_X::X)) + u64::from(value(IADD3_X::Y)),
                    false => 0,
                };
                let sum = terms.iter().sum::<u64>() + carries;
                self.write(inst.operand(IADD3::D), sum as u32);
                self.write(inst.operand(IADD3::P), (sum >> 32 & 1) as u32);
                assert!(sum >> 33 == 0, "two carries of {inst}");
            }
            Opcode::ISETP => {
                let (a, b) = (value(ISETP::A), value(ISETP::B));
                let mods = inst.mods();
                let order = match mods.has(Mod::U32) {
                    true => a.cmp(&b),
                    false => (a as i32).cmp(&(b as i32)),
                };
                let decided = [Mod::LT, Mod::EQ, Mod::LE, Mod::GT, Mod::NE, Mod::GE];
                let comparison = decided.into_iter().find(|m| mods.has(*m)).expect("a comparison");
                let holds = match comparison {
                    _ if mods.has(Mod::EX) && order.is_eq() => value(ISETP_EX::Y) != 0,
                    Mod::LT => order.is_lt(),
                    Mod::EQ => order.is_eq(),
                    Mod::LE => order.is_le(),
                    Mod::GT => order.is_gt(),
                    Mod::NE => order.is_ne(),
                    _ => order.is_ge(),
                };
                let with = value(ISETP::X) != 0;
                assert!(mods.has(Mod::AND), "{inst}");
                self.write(inst.operand(ISETP::P), u32::from(holds && with));
                self.write(inst.operand(ISETP::Q), u32::from(!holds && with));
            }
            Opcode::STS => {
                let (to, from) = (value(0), inst.reg(1).expect("a register"));
                for (from, more) in cells(from).zip((0..).step_by(4)) {
                    let value = self.value(Operand::Reg(from));
                    self.ran.stores.push((to.wrapping_add(more), value));
                }
            }
            Opcode::NOP => {}
            _ => panic!("{inst} is none that tests run"),
        }
    }
}

/// The cells of an operand, each for itself.
fn cells(r: RegUse) -> impl Iterator<Item = RegUse> {
    (r.cell..r.cell + r.count).map(move |cell| RegUse { cell, count: 1, ..r })
}
