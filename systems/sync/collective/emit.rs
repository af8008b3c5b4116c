//! The code of an exchange by `WARPSYNC.COLLECTIVE`.

use super::exchange::Exchange;
use crate::build::plop3;
use orias_components::{BlockId, Body, Inst, InstId, Loc, Mod, Opcode, Operand, RegFile, RegUse};
use rustc_hash::{FxHashMap, FxHashSet};

/// What all copies of a kind have in common.
struct Shared {
    /// The instruction: its operands are registers of all copies, or what is the same in all.
    inst: Inst,
    /// Where each thread takes a uniform result along.
    result: Option<Operand>,
}

/// What stands for one exchange.
struct Parts {
    /// Up to ENDCOLLECTIVE.
    before: Vec<InstId>,
    /// The block where each thread goes on, and its BSYNC.
    behind: BlockId,
    meet: InstId,
    /// The block behind that, and the copies of the results.
    after: BlockId,
    results: Vec<InstId>,
}

/// Writes the exchanges so that their threads exchange wherever they stand.
pub fn emit(body: &mut Body<'_>, exchanges: &[Exchange]) {
    if exchanges.is_empty() {
        return;
    }
    let mut copies: FxHashMap<u32, Vec<InstId>> = FxHashMap::default();
    for e in exchanges {
        copies.entry(e.kind).or_default().push(e.op);
    }
    let mut shared: FxHashMap<u32, Shared> = FxHashMap::default();
    for e in exchanges {
        shared.entry(e.kind).or_insert_with(|| Shared::of(body, &copies[&e.kind]));
    }
    let meets: FxHashSet<InstId> = exchanges.iter().map(|e| e.meet).collect();
    // With the mask, for the meeting goes first.
    let mask = |e: &Exchange| body.inst(e.meet).sources().next();
    let of_op: FxHashMap<InstId, (&Exchange, Option<Operand>)> =
        exchanges.iter().map(|e| (e.op, (e, mask(e)))).collect();
    body.rewrite_all(|body, out, id| {
        if meets.contains(&id) {
            return;
        }
        let Some((exchange, mask)) = of_op.get(&id) else { return out.keep(id) };
        let parts = Parts::of(body, exchange, *mask, &shared[&exchange.kind]);
        parts.before.into_iter().for_each(|id| out.keep(id));
        out.split_to(body, parts.behind);
        out.keep(parts.meet);
        out.split_to(body, parts.after);
        parts.results.into_iter().for_each(|id| out.keep(id));
    });
}

impl Shared {
    fn of(body: &mut Body<'_>, copies: &[InstId]) -> Shared {
        let model = body.inst(copies[0]).to_inst();
        let defs = usize::from(model.defs);
        let mut operands = Vec::new();
        let mut result = None;
        for at in 0..model.operands.len() {
            let all: Vec<Operand> = copies.iter().filter_map(|id| body.inst(*id).get(at)).collect();
            let is_fixed = |o: &Operand| o.as_reg().is_none_or(|r| r.reg.is_zero());
            if is_fixed(&all[0]) && all.iter().all(|o| *o == all[0]) {
                operands.push(all[0]);
                continue;
            }
            let registers = || all.iter().filter_map(|o| o.as_reg());
            let cells = registers().map(|r| r.count).max().unwrap_or(1);
            let is_predicate = registers().any(|r| r.reg.file().is_predicate());
            let is_uniform = at < defs && registers().any(|r| r.reg.file() == RegFile::UR);
            let file = match (is_predicate, is_uniform) {
                (true, _) => RegFile::P,
                (_, true) => RegFile::UR,
                _ => RegFile::R,
            };
            let new = body.new_vreg(file, cells, cells.next_power_of_two());
            operands.push(Operand::Reg(RegUse::wide(new, cells)));
            if is_uniform {
                result = Some(Operand::reg(body.new_vreg(RegFile::R, 1, 1)));
            }
        }
        Shared { inst: Inst { operands: operands.into(), ..model }, result }
    }
}

impl Parts {
    fn of(
        body: &mut Body<'_>,
        exchange: &Exchange,
        mask: Option<Operand>,
        shared: &Shared,
    ) -> Parts {
        let loc = body.loc(exchange.op);
        let own = body.inst(exchange.op).to_inst();
        let defs = usize::from(own.defs);
        let barrier = Operand::reg(body.new_vreg(RegFile::B, 1, 1));
        let (behind, after) = (body.new_detached_block(), body.new_detached_block());
        let (mut before, mut results) = (Vec::new(), Vec::new());
        let put = |body: &mut Body<'_>, to: &mut Vec<InstId>, inst: &Inst| {
            to.push(body.new_inst(inst, loc));
        };
        let bssy = Inst::new(Opcode::BSSY, &[], 1, &[barrier, Operand::Block(after)]);
        put(body, &mut before, &bssy);
        let mask = mask.unwrap_or_else(|| {
            let all = Operand::reg(body.new_vreg(RegFile::R, 1, 1));
            put(body, &mut before, &mov(all, Operand::Imm(u32::MAX.into())));
            all
        });
        let pairs = || own.operands.iter().copied().zip(shared.inst.operands.iter().copied());
        for (from, to) in pairs().skip(defs).filter(|(from, to)| from != to) {
            copy(body, &mut before, (to, from), loc);
        }
        let meet = [mask, Operand::Block(behind)];
        let meet = Inst::new(Opcode::WARPSYNC, &[Mod::COLLECTIVE], 0, &meet);
        put(body, &mut before, &meet);
        put(body, &mut before, &shared.inst);
        for (to, from) in pairs().take(defs) {
            if to.as_reg().is_none_or(|r| r.reg.is_zero()) {
                continue;
            }
            match shared.result.filter(|_| is_uniform(from)) {
                // A warp has one of it: who goes on takes it along, and has it for all who go on
                // with him.
                Some(result) => {
                    put(body, &mut before, &mov(result, from));
                    let r2ur = [Operand::PT, to, result];
                    put(body, &mut results, &Inst::new(Opcode::R2UR, &[], 2, &r2ur));
                }
                None => copy(body, &mut results, (to, from), loc),
            }
        }
        put(body, &mut before, &Inst::new(Opcode::ENDCOLLECTIVE, &[], 0, &[]));
        let meet = body.new_inst(&Inst::new(Opcode::BSYNC, &[], 0, &[barrier]), loc);
        Parts { before, behind, meet, after, results }
    }
}

fn is_uniform(operand: Operand) -> bool {
    operand.as_reg().is_some_and(|r| r.reg.file() == RegFile::UR)
}

fn mov(to: Operand, from: Operand) -> Inst {
    Inst::new(Opcode::MOV, &[], 1, &[to, from, Operand::Imm(0xf)])
}

/// Copies an operand to a register or back, cell by cell.
fn copy(body: &mut Body<'_>, to: &mut Vec<InstId>, (into, from): (Operand, Operand), loc: Loc) {
    let Some(target) = into.as_reg() else { return };
    if target.reg.file().is_predicate() {
        let inst = plop3(into, [from, Operand::PT, Operand::PT], 0x80);
        return to.push(body.new_inst(&inst, loc));
    }
    for i in 0..target.count {
        let cell = |r: &RegUse| {
            // The zero register has but one.
            let cell = if r.reg.is_zero() { 0 } else { r.cell + i };
            Operand::Reg(RegUse { cell, count: 1, ..*r })
        };
        let from = from.as_reg().map_or(from, cell);
        to.push(body.new_inst(&mov(cell(target), from), loc));
    }
}
