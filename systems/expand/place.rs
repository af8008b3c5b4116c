//! Phase 109, LateExpansionUnsupportedOps2: gives registers to subroutines, and says at each call
//! what it reads and changes.
//!
//! A subroutine is one block without branches, so registers follow from one walk over it: the
//! lowest that are free. What holds afterwards: its block names physical registers only, and ends
//! with SUBRET, whose first operand is the pair with the return address; SUBCALL has all that the
//! subroutine changes as destinations, the results first, and stands between moves to and from
//! them.

use crate::calls::is_kept;
use crate::function::FunctionInfo;
use crate::notes::Notes;
use crate::params::Read;
use crate::registers::limits::STACK_POINTER;
use bevy_ecs::prelude::*;
use orias_components::pseudo::subcall;
use orias_components::{
    BlockId, Body, Code, Inst, InstId, Loc, Opcode, Operand, Reg, RegFile, RegUse, Rewrite, VRegId,
};
use rustc_hash::FxHashMap;

/// General registers and predicates among which a subroutine's are.
const GENERAL: u32 = 80;
const PREDICATES: u32 = 7;

/// The least that a function must be allowed to have for subroutines beside its own values.
pub const LEAST_REGISTERS: u32 = 64;

/// What a call of a subroutine names.
struct Placed {
    address: Operand,
    arguments: Vec<RegUse>,
    results: Vec<RegUse>,
    /// Other registers that it changes, in runs.
    changed: Vec<Operand>,
}

/// Phase 109.
pub fn place_subroutines(code: Code<'_>, info: Read<'_, FunctionInfo>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let mut placed: FxHashMap<BlockId, Placed> = FxHashMap::default();
    for &block in body.walk().iter() {
        let Some(last) = body.block(block).insts().last().copied() else { continue };
        if body.op(last) != Opcode::SUBRET {
            continue;
        }
        match assign(&mut body, block, info.entry) {
            Ok(found) => drop(placed.insert(block, found)),
            Err(message) => return notes.fail(message, body.loc(last)),
        }
    }
    if placed.is_empty() {
        return;
    }
    let mut count = 0;
    body.rewrite_all(|body, out, id| {
        let is_call = body.op(id) == Opcode::SUBCALL;
        let callee = is_call.then(|| body.inst(id).blocks().next()).flatten();
        match callee.and_then(|callee| placed.get(&callee)) {
            Some(sub) => call(body, id, sub, out),
            None => out.keep(id),
        }
        count += usize::from(callee.is_some());
    });
    notes.count(count);
}

/// Registers of a file: which are free, and which were ever taken.
struct File {
    file: RegFile,
    free: Vec<bool>,
    used: Vec<bool>,
}

impl File {
    fn new(file: RegFile, count: u32) -> File {
        File { file, free: vec![true; count as usize], used: vec![false; count as usize] }
    }

    /// The lowest free run of so many registers.
    fn take(&mut self, count: u8, align: u8) -> Result<u32, String> {
        let (count, align) = (usize::from(count), usize::from(align.max(1)));
        let run = |first: usize| first..first + count;
        let starts = (0..=self.free.len() - count).step_by(align);
        let first = starts.into_iter().find(|at| self.free[run(*at)].iter().all(|f| *f));
        let first = first.ok_or("a subroutine needs more registers than there are")?;
        self.free[run(first)].fill(false);
        self.used[run(first)].fill(true);
        Ok(first as u32)
    }

    fn give_back(&mut self, first: u32, count: u8) {
        self.free[first as usize..first as usize + usize::from(count)].fill(true);
    }

    /// The registers that were taken, without those of `others`, in runs.
    fn changed(&self, others: &[RegUse], runs: &mut Vec<Operand>) {
        let is_other = |n: usize| {
            others.iter().any(|u| {
                let first = u.reg.phys_index().map(|i| i as usize);
                u.reg.file() == self.file
                    && first.is_some_and(|f| (f..f + usize::from(u.count)).contains(&n))
            })
        };
        let mut at = 0;
        while at < self.used.len() {
            let is_run = |n: &usize| self.used[*n] && !is_other(*n);
            let length = (at..self.used.len()).take_while(is_run).count();
            if length > 0 {
                let first = Reg::phys(self.file, at as u32);
                runs.push(Operand::Reg(RegUse::wide(first, length as u8)));
            }
            at += length.max(1);
        }
    }
}

/// Gives each register of a subroutine's block its place.
///
/// A function would save what it must keep: its subroutines leave that alone.
fn assign(body: &mut Body<'_>, block: BlockId, is_entry: bool) -> Result<Placed, String> {
    let insts = body.walk_in(block);
    let mut last: FxHashMap<VRegId, usize> = FxHashMap::default();
    for (at, id) in insts.iter().enumerate() {
        let mut touched = |r: RegUse| last.extend(r.reg.vreg().map(|v| (v, at)));
        body.inst(*id).for_each_use(&mut touched);
        body.inst(*id).for_each_def(&mut touched);
    }
    let mut files = [File::new(RegFile::R, GENERAL), File::new(RegFile::P, PREDICATES)];
    for (n, free) in (0..).zip(&mut files[0].free) {
        *free = n != STACK_POINTER && (is_entry || !is_kept(RegFile::R, n));
    }
    let pair = RegUse::wide(Reg::phys(RegFile::R, files[0].take(2, 2)?), 2);
    let mut place: FxHashMap<VRegId, u32> = FxHashMap::default();
    for (at, id) in insts.iter().enumerate() {
        let (mut read, mut written): (Vec<VRegId>, Vec<VRegId>) = Default::default();
        body.inst(*id).for_each_use(|r| read.extend(r.reg.vreg()));
        body.inst(*id).for_each_def(|r| written.extend(r.reg.vreg()));
        if read.iter().any(|v| !place.contains_key(v)) {
            return Err(format!("{} reads what its subroutine does not make", body.inst(*id)));
        }
        // What is read here last may be written over here.
        let ends = |v: &VRegId| last[v] == at;
        read.sort_unstable();
        read.dedup();
        for v in read.iter().filter(|v| ends(v) && !written.contains(v)) {
            release(body, &mut files, *v, place[v]);
        }
        for v in &written {
            if !place.contains_key(v) {
                let vreg = *body.vreg(*v);
                let file = &mut files[usize::from(vreg.file == RegFile::P)];
                if vreg.file != file.file {
                    return Err(format!("{} writes a register of another file", body.inst(*id)));
                }
                place.insert(*v, file.take(vreg.cells, vreg.align)?);
            }
        }
        body.map_regs(*id, |r| match r.reg.vreg() {
            Some(v) => {
                let reg = Reg::phys(r.reg.file(), place[&v] + u32::from(r.cell));
                RegUse { reg, cell: 0, ..r }
            }
            None => r,
        });
        for v in written.iter().filter(|v| ends(v)) {
            release(body, &mut files, *v, place[v]);
        }
    }
    let registers = |id: InstId| -> Vec<RegUse> {
        body.inst(id).operands().filter_map(|o| o.as_reg().copied()).collect()
    };
    let (first, end) = (insts[0], insts[insts.len() - 1]);
    let (arguments, results) = (registers(first), registers(end));
    let mut changed = Vec::new();
    files.iter().for_each(|f| f.changed(&results, &mut changed));
    let mut ret = body.inst(end).to_inst();
    ret.operands.insert(0, Operand::Reg(pair));
    body.set_inst(end, &ret);
    body.remove(block, first);
    Ok(Placed { address: Operand::Reg(pair), arguments, results, changed })
}

fn release(body: &Body<'_>, files: &mut [File; 2], v: VRegId, first: u32) {
    let vreg = body.vreg(v);
    files[usize::from(vreg.file == RegFile::P)].give_back(first, vreg.cells);
}

/// Puts a call with its moves in place of a SUBCALL.
fn call(body: &mut Body<'_>, id: InstId, sub: &Placed, out: &mut Rewrite) {
    let old = body.inst(id).to_inst();
    let loc = body.loc(id);
    let given = old.operands.iter().skip(subcall::ARGUMENTS).filter_map(|o| o.as_reg().copied());
    for (from, to) in given.zip(&sub.arguments) {
        moves(body, *to, from, loc, out);
    }
    let address = Inst::new(Opcode::PRETADR, &[], 1, &[sub.address]);
    out.put(body, &address, loc);
    let mut call = Inst::new(Opcode::SUBCALL, &[], 0, &[]);
    call.operands.extend(sub.results.iter().map(|r| Operand::Reg(*r)));
    call.operands.extend(sub.changed.iter().copied());
    call.defs = call.operands.len() as u8;
    call.operands.push(old.operands[subcall::BLOCK]);
    call.operands.push(sub.address);
    call.operands.extend(sub.arguments.iter().map(|r| Operand::Reg(*r)));
    body.set_inst(id, &call);
    out.keep(id);
    let wanted = old.operands[subcall::D].as_reg().copied();
    for (to, from) in wanted.into_iter().zip(&sub.results) {
        moves(body, to, *from, loc, out);
    }
}

/// Copies each cell.
fn moves(body: &mut Body<'_>, to: RegUse, from: RegUse, loc: Loc, out: &mut Rewrite) {
    for i in 0..to.count {
        let cell = |r: RegUse| match r.reg.phys_index() {
            Some(first) => Operand::reg(Reg::phys(r.reg.file(), first + u32::from(i))),
            None => Operand::Reg(RegUse::at(r.reg, r.cell + i, 1)),
        };
        let operands = [cell(to), cell(from), Operand::Imm(0xf)];
        out.keep(body.make(Opcode::MOV, &[], 1, &operands, loc));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, calls, testing};
    use orias_components::validate::validate;
    use orias_components::{edges, text};

    const TEXT: &str = "
        BB0:
            %R0 = S2R SR33
            %R2:2 = LDS.64 [RZ]
            %R4 = MOV 0x7, 0xf
            %R6:2 = SUBCALL BB1, %R2:2, %R0
            %R8:2 = SUBCALL BB1, %R6:2, %R4
            STS.64 [RZ], %R8:2
            EXIT PT
        BB1:
            %R10:2, %R12 = SUBARGS
            %R14 = IMAD %R10, %R12, RZ
            %P16, PT = ISETP.NE.AND %R14, RZ, PT
            %R18 = SEL %R10[1], %R12, %P16
            %R18[1] = MOV %R14, 0xf
            SUBRET %R18:2";

    fn placed() -> (orias_components::Function, String) {
        let mut function = testing::parse(TEXT);
        function.world().resource_mut::<FunctionInfo>().entry = true;
        function.run(place_subroutines);
        assert!(function.world().resource::<Report>().errors.is_empty());
        validate(&function.body()).unwrap_or_else(|e| panic!("{e}"));
        let text = text::print(&function.body(), &text::Style::default());
        (function, text)
    }

    #[test]
    fn a_call_says_all_that_the_subroutine_reads_and_changes() {
        let (_, text) = placed();
        let calls: Vec<&str> = text.lines().filter(|l| l.contains("SUBCALL")).collect();
        assert_eq!(calls.len(), 2);
        // R1 is the stack pointer's, R2 and R3 have the return address; arguments are in the lowest
        // registers behind.
        assert!(calls[0].contains("SUBCALL BB1, R2:2, R4:2, R0"), "{text}");
        assert!(calls[0].trim().starts_with("R4:2, ") && calls[0].contains("P0"), "{text}");
        let (_, sub) = text.split_once("BB1:").expect("the subroutine");
        assert!(!sub.contains('%') && !sub.contains("SUBARGS"), "{sub}");
        assert!(sub.contains("SUBRET R2:2, R4:2"), "{sub}");
    }

    #[test]
    fn in_a_function_no_register_is_changed_that_it_must_keep() {
        let mut function = testing::parse(TEXT);
        function.run(place_subroutines);
        let text = text::print(&function.body(), &text::Style::default());
        // R2 is kept, so the address is behind it.
        assert!(text.contains("SUBCALL BB1, R4:2, R6:2, R0"), "{text}");
    }

    #[test]
    fn calls_become_those_of_the_machine() {
        let (mut function, _) = placed();
        function.run(calls::post_expansion);
        edges::check(&function.body()).expect("a call leads to its subroutine");
        let text = text::print(&function.body(), &text::Style::default());
        assert_eq!(text.matches("CALL.REL.NOINC BB1").count(), 2, "{text}");
        assert_eq!(text.matches("RET.REL.NODEC R2:2").count(), 1, "{text}");
    }

    #[test]
    fn a_subroutine_that_reads_what_it_does_not_make_is_a_fault() {
        let mut function = testing::parse(&TEXT.replace("IMAD %R10, %R12", "IMAD %R10, %R4"));
        function.run(place_subroutines);
        let errors = &function.world().resource::<Report>().errors;
        assert!(errors[0].message.contains("does not make"), "{errors:?}");
    }
}
