//! Which functions call which, and what each names.

use super::sparse::Sparse;
use crate::ptx::program::{
    AddressBase, FuncId, Function, Instruction, Operand, Program, RegId, SymbolRef, Variable,
};
use crate::ptx::types::{Linkage, Space};
use crate::ptx::words::{Op, Word, WordSet};
use orias_systems::parallel;
use std::collections::BTreeSet;

/// Functions that the driver has, under these names (observed: ptxas 13.0.88 leaves them unresolved
/// without complaint).
const SYSTEM: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// What a function's code names.
#[derive(Default, PartialEq)]
pub struct Uses {
    /// Variables that its code names, by number.
    pub vars: BTreeSet<u32>,
    /// Those of them that an instruction names whose result matters.
    pub needed: BTreeSet<u32>,
    /// Functions that it calls by name.
    called: BTreeSet<u32>,
    /// Functions whose address it takes, or that a list says it may call through a register.
    taken: BTreeSet<u32>,
    /// It calls through a register.
    pub indirect: bool,
}

impl Uses {
    fn of(function: &Function<'_>) -> Uses {
        let mut uses = Uses::default();
        for inst in &function.code {
            let mut operands = inst.operands;
            if inst.opcode == Op::Call {
                let callee = operands.iter().position(|o| !matches!(o, Operand::List(_)));
                match callee.and_then(|i| operands.get(i)) {
                    Some(Operand::Func(f)) => {
                        uses.called.insert(f.0);
                    }
                    _ => uses.indirect = true,
                }
                let (before, after) = operands.split_at(callee.unwrap_or(0));
                before.iter().for_each(|op| uses.operand(op));
                operands = after.get(1..).unwrap_or(&[]);
            }
            operands.iter().for_each(|op| uses.operand(op));
        }
        uses.needed = match useless(function) {
            None => uses.vars.clone(),
            Some(useless) => {
                let mut needed = Uses::default();
                let live = function.code.iter().zip(&useless).filter(|(_, useless)| !**useless);
                live.flat_map(|(inst, _)| inst.operands).for_each(|op| needed.operand(op));
                needed.vars
            }
        };
        for list in &function.call_targets {
            uses.taken.extend(list.iter().map(|f| f.0));
        }
        uses
    }

    fn operand(&mut self, op: &Operand) {
        match op {
            Operand::Var(v, _) | Operand::Address { base: AddressBase::Var(v), .. } => {
                self.vars.insert(v.0);
            }
            Operand::Func(f) => {
                self.taken.insert(f.0);
            }
            Operand::Vector(list) | Operand::AddressList(list) | Operand::List(list) => {
                list.iter().for_each(|op| self.operand(op));
            }
            Operand::Pair(both) => {
                let (a, b) = &**both;
                self.operand(a);
                self.operand(b);
            }
            _ => {}
        }
    }
}

/// Instructions that only compute, each with its result in the first operand.
const PURE: [Op; 12] = [
    Op::Mov,
    Op::Cvta,
    Op::Cvt,
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Mad,
    Op::Shl,
    Op::Shr,
    Op::And,
    Op::Or,
    Op::Xor,
];

/// Which of a function's instructions compute what nothing needs; None where none of them names a
/// variable. ptxas drops them at every level, and with them what the file says of shared memory
/// (observed: 13.0.88).
fn useless(function: &Function<'_>) -> Option<Vec<bool>> {
    const STRONG: WordSet =
        WordSet::of(&[Word::Volatile, Word::Relaxed, Word::Acquire, Word::Mmio]);
    let pure = |inst: &Instruction| match inst.opcode {
        Op::Ld => !inst.set.intersects(&STRONG),
        opcode => PURE.contains(&opcode),
    };
    let names = |inst: &Instruction| inst.operands.iter().any(|op| matches!(op, Operand::Var(..)));
    if !function.code.iter().any(|inst| pure(&inst) && names(&inst)) {
        return None;
    }
    let mut useless: Vec<bool> = function.code.iter().map(|inst| pure(&inst)).collect();
    let mut read = vec![false; function.regs.len()];
    loop {
        let mut changed = false;
        for (inst, useless) in function.code.iter().zip(&mut useless).rev() {
            let mut results = false;
            if *useless {
                inst.operands
                    .iter()
                    .take(1)
                    .for_each(|op| op.each_register(&mut |r| results |= read[r.0 as usize]));
            }
            if *useless && !results {
                continue;
            }
            changed |= std::mem::take(useless);
            let sources = inst.operands.iter().skip(usize::from(pure(&inst)));
            let mut read = |r: RegId| changed |= !std::mem::replace(&mut read[r.0 as usize], true);
            sources.for_each(|op| op.each_register(&mut read));
            inst.guard.iter().for_each(|(r, _)| read(*r));
        }
        if !changed {
            return Some(useless);
        }
    }
}

/// Which function calls which, and which variables each names.
pub struct CallGraph {
    /// By function.
    pub uses: Sparse<Uses>,
    defined: Vec<bool>,
    /// Device functions whose address code or an initial value holds, in source order.
    pub pointers: Vec<FuncId>,
    /// Functions without a definition that defined ones call, in source order.
    pub externs: Vec<FuncId>,
    /// Variables of dynamic shared memory, by number.
    pub dynamic: Vec<u32>,
}

impl CallGraph {
    /// Of a program whose functions all have their bodies still.
    pub fn new(program: &Program<'_>) -> CallGraph {
        let mut uses: Sparse<Uses> = Sparse::new(program.functions.len());
        let mut called: BTreeSet<u32> = BTreeSet::new();
        let instructions = program.functions.iter().map(|f| f.code.len()).sum();
        let of = |f: usize| Uses::of(&program.functions[f]);
        parallel::in_order((program.functions.len(), instructions), of, |f, of| {
            if of != Uses::default() {
                called.extend(of.called.iter().filter(|_| program.functions[f].defined));
                uses.set(FuncId(f as u32), of);
            }
        });
        let mut taken: BTreeSet<u32> =
            uses.own().iter().flat_map(|u| u.taken.iter().copied()).collect();
        for reloc in program.vars.iter().flat_map(|v| v.relocs()) {
            if let SymbolRef::Func(f) = reloc.target {
                taken.insert(f.0);
            }
        }
        let is_device = |f: &u32| {
            let function = &program.functions[*f as usize];
            function.defined && !function.entry
        };
        let pointers = taken.into_iter().filter(is_device).map(FuncId).collect();
        let defined: Vec<bool> = program.functions.iter().map(|f| f.defined).collect();
        let externs = called.into_iter().filter(|f| !defined[*f as usize]).map(FuncId).collect();
        let is_dynamic = |(_, var): &(usize, &Variable)| {
            var.space == Space::Shared && var.linkage == Linkage::Extern && var.size == 0
        };
        let dynamic =
            program.vars.iter().enumerate().filter(is_dynamic).map(|(i, _)| i as u32).collect();
        CallGraph { uses, defined, pointers, externs, dynamic }
    }

    /// These and every function that their code can reach.
    pub fn reachable(&self, from: impl Iterator<Item = FuncId>) -> BTreeSet<u32> {
        let mut work: Vec<u32> = from.map(|f| f.0).collect();
        let mut seen: BTreeSet<u32> = work.iter().copied().collect();
        while let Some(f) = work.pop() {
            let uses = &self.uses[FuncId(f)];
            let pointed: &[FuncId] = if uses.indirect { &self.pointers } else { &[] };
            for callee in uses.called.iter().copied().chain(pointed.iter().map(|f| f.0)) {
                if seen.insert(callee) {
                    work.push(callee);
                }
            }
        }
        seen
    }

    /// The device functions of `reached`: those that are only called by name first, then those that
    /// pointers lead to, each by name (observed: ptxas 13.0.88).
    pub fn in_text_order(
        &self,
        program: &Program<'_>,
        kernel: FuncId,
        reached: &BTreeSet<u32>,
    ) -> Vec<FuncId> {
        let mut all: Vec<FuncId> = reached
            .iter()
            .map(|f| FuncId(*f))
            .filter(|f| *f != kernel && self.defined[f.0 as usize])
            .collect();
        all.sort_by_key(|f| (self.pointers.contains(f), program.functions[f.0 as usize].name));
        all
    }

    /// The first function that nothing defines and the system does not have.
    pub fn unresolved(&self, program: &Program<'_>) -> Option<FuncId> {
        let known = |f: &FuncId| SYSTEM.contains(&program.functions[f.0 as usize].name);
        self.externs.iter().copied().find(|f| !known(f))
    }
}
