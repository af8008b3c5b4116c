//! Which bits of a value its readers want, and masks and extensions that take away none of them.
//!
//! A byte's or half's arithmetic is done in words, with a mask behind each step; where what reads
//! the step (a shift to the left, a store of a byte, another mask) has no use for the upper bits,
//! the mask is as good as a copy. One walk against the flow of control: in SSA form each reader but
//! a phi is met before what it reads, and a phi wants all.

use super::bits;
use super::halves;
use super::values::Values;
use crate::analysis::Analyses;
use orias_components::scratch;
use orias_components::{
    BlockId, Body, Inst, InstId, Mod, Opcode, Operand, RegFile, RegFlags, RegUse, View, phis,
};
use orias_targets::slots::{I2F, IMAD, LEA, LOP3_LUT as LOP3, MOV, PRMT, SEL, SHF};
use smallvec::smallvec;

const ALL: u32 = u32::MAX;

/// The bits up to the highest one that is wanted: what sums and products of low bits depend on.
fn below(wanted: u32) -> u32 {
    ALL.checked_shr(wanted.leading_zeros()).unwrap_or(0)
}

/// Makes copies of masks and extensions that take away no bit that is wanted: how many.
pub(super) fn drop_idle_masks(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    values: &mut Values<'_>,
) -> usize {
    let map = values.map;
    // Branches may have got other guards on the way here.
    let flow = analyses.flow_after(body);
    let order = flow.reverse_postorder();
    if order.len() != body.layout().len() {
        return 0;
    }
    let mut wanted = scratch!(Vec<u32>; 0; map.count());
    let mark = |wanted: &mut [u32], r: RegUse| {
        map.cells(r).for_each(|cell| wanted[cell as usize] = ALL);
    };
    for phi in body.layout().iter().flat_map(|block| phis::of(body, *block)) {
        body.inst(phi).for_each_use(|r| mark(&mut wanted, r));
    }
    // Cells of which less than all bits were taken to be wanted.
    let mut narrowed = scratch!(Vec<bool>; false; map.count());
    let mut idle = scratch!(Vec<(InstId, Operand)>);
    for block in order.iter().rev() {
        for id in body.block(BlockId(*block)).insts().iter().rev() {
            let inst = body.inst(*id);
            let result = word_result(inst).and_then(|r| map.cells(r).next());
            let word = result.map(|cell| wanted[cell as usize]).filter(|word| *word != ALL);
            if let (Some(cell), Some(word)) = (result, word) {
                idle.extend(copied(inst, word).map(|kept| (*id, kept)));
                narrowed[cell as usize] = true;
            }
            // What is read before it is written is of no value.
            let mut is_late = false;
            let parts = wants_parts(inst, word);
            let least = if parts { 0 } else { ALL };
            inst.for_each_use(|r| {
                for cell in map.cells(r) {
                    is_late |= narrowed[cell as usize];
                    wanted[cell as usize] |= least;
                }
            });
            if is_late && inst.op != Opcode::MOVPHI {
                return 0;
            }
            if !parts {
                continue;
            }
            for at in usize::from(inst.defs)..inst.len() {
                let bits = of_source(inst, at, word.unwrap_or(ALL));
                inst.operand(at).for_each_reg(|r| {
                    map.cells(r).for_each(|cell| wanted[cell as usize] |= bits);
                });
            }
            let kept = inst.tied().chain([RegUse::new(inst.guard.reg)]);
            kept.for_each(|r| mark(&mut wanted, r));
        }
    }
    for (id, kept) in &idle {
        let Some(result) = word_result(body.inst(*id)).map(Operand::Reg) else { continue };
        let copy = Inst {
            operands: smallvec![result, *kept, Operand::Imm(0xf)],
            ..Inst::new(Opcode::MOV, &[], 1, &[])
        };
        values.replace(body, *id, &copy);
    }
    idle.len()
}

/// The word that is all that an instruction gives.
fn word_result(inst: View<'_>) -> Option<RegUse> {
    if !inst.guard.is_always() {
        return None;
    }
    let r = match inst.defs {
        0 => return None,
        1 => inst.operand(0),
        _ => {
            let mut results = inst.dests().filter(|result| *result != Operand::PT);
            results.next().filter(|_| results.next().is_none())?
        }
    };
    let Operand::Reg(r) = r else { return None };
    let is_word = r.reg.vreg().is_some() && r.reg.file() == RegFile::R && r.count == 1;
    is_word.then_some(r)
}

/// Whether an instruction may want less than all of what it reads, given which bits of its result
/// are, where less than all.
fn wants_parts(inst: View<'_>, word: Option<u32>) -> bool {
    match inst.op {
        Opcode::STG | Opcode::STS | Opcode::STL | Opcode::ST | Opcode::I2F => narrow(inst) != ALL,
        Opcode::HMMA => inst.mods().has(Mod::TF32),
        op if halves::READERS.contains(&op) => true,
        Opcode::LOP3 | Opcode::SHF | Opcode::PRMT => word_result(inst).is_some(),
        _ => word.is_some(),
    }
}

/// The bits that an instruction wants of a source where those of its result are wanted.
fn of_source(inst: View<'_>, at: usize, wanted: u32) -> u32 {
    let flags = match inst.operand(at) {
        Operand::Reg(_) if inst.op == Opcode::HMMA => return of_product(inst, at),
        Operand::Part(r, part) if r.count == 1 && halves::READERS.contains(&inst.op) => {
            return halves::bits_of(inst, part);
        }
        Operand::Reg(r) if r.count == 1 => r.flags,
        _ => return ALL,
    };
    let count = |at: usize| match inst.get(at) {
        Some(Operand::Imm(count @ 0..32)) => Some(count as u32),
        _ => None,
    };
    let is_sum = flags.without(RegFlags::NEG.with(RegFlags::REUSE)) == RegFlags::NONE;
    match inst.op {
        Opcode::STG | Opcode::STS | Opcode::STL | Opcode::ST if at + 1 == inst.len() => {
            narrow(inst)
        }
        Opcode::I2F if at == I2F::B && inst.len() == I2F::COUNT => narrow(inst),
        Opcode::MOV if inst.len() == MOV::COUNT => wanted,
        Opcode::SEL if inst.len() == SEL::COUNT && matches!(at, SEL::A | SEL::B) => wanted,
        Opcode::IADD3 if inst.mods().is_empty() && is_sum => below(wanted),
        Opcode::IMAD if inst.len() == IMAD::COUNT && is_sum => below(wanted),
        Opcode::LEA if inst.mods().is_empty() && inst.len() == LEA::COUNT && is_sum => match at {
            LEA::A => count(LEA::N).map_or(ALL, |n| below(wanted) >> n),
            LEA::B => below(wanted),
            _ => ALL,
        },
        Opcode::LOP3 if inst.len() == LOP3::COUNT => of_logic(inst, at, wanted),
        Opcode::SHF if inst.len() == SHF::COUNT => {
            count(SHF::B).map_or(ALL, |n| of_shift(inst, at, wanted, n))
        }
        Opcode::PRMT if inst.len() == PRMT::COUNT && inst.mods().is_empty() => {
            of_bytes(inst, at, wanted)
        }
        _ => ALL,
    }
}

/// The bits of a word that is named with its width.
fn narrow(inst: View<'_>) -> u32 {
    let has = |word: Mod| inst.mods().has(word);
    match () {
        () if has(Mod::U8) || has(Mod::S8) => 0xff,
        () if has(Mod::U16) || has(Mod::S16) => 0xffff,
        () => ALL,
    }
}

/// A product of TF32 matrices reads the upper 19 bits of what it multiplies.
fn of_product(inst: View<'_>, at: usize) -> u32 {
    match at - usize::from(inst.defs) {
        0 | 1 if inst.op == Opcode::HMMA => 0xffff_e000,
        _ => ALL,
    }
}

/// Of logic those bits whose value makes a difference, given the other input that is a number.
fn of_logic(inst: View<'_>, at: usize, wanted: u32) -> u32 {
    let inputs = [LOP3::A, LOP3::B, LOP3::C];
    let (Operand::Imm(table), Some(place)) =
        (inst.operand(LOP3::T), inputs.iter().position(|input| *input == at))
    else {
        return ALL;
    };
    let bit = 2 - place;
    // By the value of a known input, whether the result depends on this one.
    let depends = |known: usize, value: usize| {
        let rows =
            (0..8_usize).filter(|row| row >> (2 - known) & 1 == value && row >> bit & 1 == 0);
        rows.into_iter().any(|row| (table >> row ^ table >> (row | 1 << bit)) & 1 != 0)
    };
    let mut left = wanted;
    for (known, input) in inputs.iter().enumerate().filter(|(known, _)| *known != place) {
        let value = match inst.operand(*input) {
            Operand::Imm(value) => value as u32,
            operand if operand == Operand::RZ => 0,
            _ => continue,
        };
        let ones = if depends(known, 1) { value } else { 0 };
        let zeros = if depends(known, 0) { !value } else { 0 };
        left &= ones | zeros;
    }
    left
}

/// Of a shift by `count`, less than a word.
fn of_shift(inst: View<'_>, at: usize, wanted: u32, count: u32) -> u32 {
    let is_low = at == SHF::A;
    if !is_low && at != SHF::C {
        return ALL;
    }
    // The bits that come in from the other word.
    let entering = |bits: u32| if count == 0 { 0 } else { bits };
    match inst.mods().as_slice() {
        [Mod::L, Mod::U32] if is_low => wanted >> count,
        [Mod::L, Mod::U64, Mod::HI] if is_low => entering(wanted << (32 - count.max(1))),
        [Mod::L, Mod::U64, Mod::HI] => wanted >> count,
        [Mod::R, Mod::U64] if is_low => wanted << count,
        [Mod::R, Mod::U64] => entering(wanted >> (32 - count.max(1))),
        [Mod::R, Mod::U32, Mod::HI] if !is_low => wanted << count,
        [Mod::R, Mod::S32, Mod::HI] if !is_low => {
            let signs = entering(wanted >> (32 - count.max(1))) != 0;
            wanted << count | u32::from(signs) << 31
        }
        _ => ALL,
    }
}

/// Of bytes that are picked those that are wanted, and the sign of one that is spread.
fn of_bytes(inst: View<'_>, at: usize, wanted: u32) -> u32 {
    let first = match at {
        PRMT::A => 0,
        PRMT::C => 4,
        _ => return ALL,
    };
    let Operand::Imm(picks) = inst.operand(PRMT::B) else { return ALL };
    let mut left = 0;
    for byte in 0..4 {
        let pick = (picks >> (4 * byte)) as u32 & 0xf;
        let bits = wanted >> (8 * byte) & 0xff;
        if (pick & 7) / 4 == first / 4 && bits != 0 {
            let bits = if pick & 8 != 0 { 0x80 } else { bits };
            left |= bits << (8 * (pick & 3));
        }
    }
    left
}

/// What a mask or an extension is a copy of, when it takes away nothing that is wanted.
fn copied(inst: View<'_>, wanted: u32) -> Option<Operand> {
    let is_plain = |operand: &Operand| {
        matches!(operand, Operand::Reg(r) if r.count == 1
            && r.reg.vreg().is_some()
            && r.reg.file() == RegFile::R
            && r.flags == RegFlags::NONE)
    };
    let from = match inst.op {
        Opcode::LOP3 if bits::is_mask(inst) => match inst.operand(LOP3::B) {
            Operand::Imm(mask) if wanted & !(mask as u32) == 0 => inst.operand(LOP3::A),
            _ => return None,
        },
        Opcode::PRMT if inst.len() == PRMT::COUNT && inst.mods().is_empty() => {
            let Operand::Imm(picks) = inst.operand(PRMT::B) else { return None };
            let stays = |byte: u64| {
                let pick = picks >> (4 * byte) & 0xf;
                pick == byte || wanted >> (8 * byte) & 0xff == 0
            };
            (0..4).all(stays).then(|| inst.operand(PRMT::A))?
        }
        _ => return None,
    };
    is_plain(&from).then_some(from)
}

/// Whether an instruction may be a copy of what it reads.
pub(super) fn may_be_idle(inst: View<'_>) -> bool {
    match inst.op {
        Opcode::LOP3 => bits::is_mask(inst) && matches!(inst.get(LOP3::B), Some(Operand::Imm(_))),
        Opcode::PRMT => matches!(inst.get(PRMT::B), Some(Operand::Imm(_))),
        _ => false,
    }
}
