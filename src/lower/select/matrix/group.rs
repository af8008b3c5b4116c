//! Products of a warpgroup (`wgmma`) and the pool of registers (`setmaxnreg`).
//!
//! A product runs on after its instruction: until `WARPGROUP.DEPBAR` has waited for its group
//! nothing may touch its accumulators, and nothing may write its other registers. PTX programs keep
//! to that; what the compiler itself adds (copies that did not disappear, registers used again) is
//! seen to by [`orias_systems::schedule::groups`], which waits where it must.

use super::fragment::{Element, converge, elements, gather, is_zero, scatter, shape, whole, words};
use super::machine::metadata;
use crate::lower::common::lanes::under_guard;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Props, RegFile, RegFlags, RegUse};
use orias_systems::build::{cell, imm, not, r};
use orias_systems::schedule::groups;
use smallvec::SmallVec;

/// The scoreboard of groups that all products use, and none.
const GROUP: u32 = 0;
const NO_GROUP: u32 = 7;

/// `wgmma`: products, fences, and their groups.
pub fn wgmma(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    match inst.modifiers.first().copied() {
        Some(Word::Fence) => under_guard(cx, |cx| {
            converge(cx);
            cx.e.put(Opcode::WARPGROUP, &[Mod::ARRIVE], 0, &[]);
            Ok(())
        }),
        Some(Word::CommitGroup) => under_guard(cx, |cx| {
            commit(cx);
            Ok(())
        }),
        Some(Word::WaitGroup) => {
            let Some(count) = operand(inst, 0)?.integer() else {
                return Err("a number of groups that is no constant".into());
            };
            let count = count.clamp(0, 7) as u32;
            under_guard(cx, |cx| {
                cx.e.put(Opcode::WARPGROUP, &[Mod::DEPBAR, Mod::LE], 0, &[imm(GROUP), imm(count)]);
                Ok(())
            })
        }
        _ => under_guard(cx, |cx| product(cx, inst)),
    }
}

/// Ends a group: its last product counts on the scoreboard. Where that is not in sight, one of
/// nothing does, which comes after it.
fn commit(cx: &mut Cx<'_, '_>) {
    let insts = cx.e.body.block(cx.e.block).insts();
    let last = insts.iter().rev().find(|id| cx.e.body.inst(**id).op.has(Props::GROUP)).copied();
    if let Some(id) = last.filter(|id| groups::is_open(cx.e.body.inst(*id))) {
        if let Some(group) = cx.e.body.inst_mut(id).operands.last_mut() {
            *group = imm(GROUP);
        }
        return;
    }
    let nothing = groups::product_of_nothing();
    cx.e.put(nothing.op, nothing.mods.as_slice(), nothing.defs, &nothing.operands);
}

/// The machine's product of these types.
fn machine(
    inst: &Instruction,
    d: Element,
    a: Element,
    b: Element,
    sparse: bool,
) -> Sel<(Opcode, SmallVec<[Mod; 6]>)> {
    let [m, n, k] = shape(inst)?;
    let mut mods: SmallVec<[Mod; 6]> = SmallVec::new();
    if sparse {
        mods.push(Mod::SP);
    }
    mods.push(Mod::parse(&format!("{m}x{n}x{k}")).ok_or("a product of this shape")?);
    let sum = if d == Element::F16 { Mod::F16 } else { Mod::F32 };
    let byte =
        |e: Element| if e == (Element::Int { bits: 8, signed: true }) { Mod::S8 } else { Mod::U8 };
    let small = |e: Element| if e == Element::E4m3 { Mod::E4M3 } else { Mod::E5M2 };
    let op = match a {
        Element::F16 | Element::Bf16 | Element::Tf32 => {
            mods.push(sum);
            mods.extend(match a {
                Element::Bf16 => Some(Mod::BF16),
                Element::Tf32 => Some(Mod::TF32),
                _ => None,
            });
            Opcode::HGMMA
        }
        Element::E4m3 | Element::E5m2 => {
            mods.extend([sum, small(a), small(b)]);
            Opcode::QGMMA
        }
        Element::Int { bits: 8, .. } => {
            mods.extend([byte(a), byte(b)]);
            if inst.has(Word::Satfinite) {
                mods.push(Mod::SAT);
            }
            Opcode::IGMMA
        }
        Element::Int { bits: 1, .. } => {
            mods.extend([Mod::AND, Mod::POPC]);
            Opcode::BGMMA
        }
        _ => return Err("a product of these types".into()),
    };
    Ok((op, mods))
}

/// `wgmma.mma_async d, a, b, {metadata, selector,} scale-d, scale-a, scale-b, trans-a, trans-b`;
/// the last ones where types and places have them.
fn product(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let [d, a, b] = elements(inst)[..] else { return Err("types of a product".into()) };
    let sparse = metadata(cx, inst, 3)?;
    let (op, mods) = machine(inst, d, a, b, sparse.is_some())?;
    let more = if sparse.is_some() { 2 } else { 0 };
    let in_registers = matches!(operand(inst, 1)?, Ptx::Vector(_));
    let number = |index: usize| inst.operands.get(index + more).and_then(Ptx::integer).unwrap_or(0);
    let mut flags = RegFlags::NONE;
    let negative_a = number(4) == -1;
    if negative_a && !in_registers {
        flags = flags.with(RegFlags::NEG_A);
    }
    if number(5) == -1 {
        flags = flags.with(RegFlags::NEG_B);
    }
    // A in registers cannot be transposed: the word for B follows at once.
    let (transposed_a, transposed_b) =
        if in_registers { (0, number(6)) } else { (number(6), number(7)) };
    if transposed_a != 0 {
        flags = flags.with(RegFlags::TNSP_A);
    }
    if transposed_b != 0 {
        flags = flags.with(RegFlags::TNSP_B);
    }

    // Four uniform registers: those of A mean nothing where it is in registers.
    let descriptor = cx.e.body.new_vreg(RegFile::UR, 4, 4);
    for (half, index) in [(0, 1), (2, 2)] {
        if in_registers && half == 0 {
            for i in 0..2 {
                cx.e.put(Opcode::UMOV, &[], 1, &[cell(descriptor, i), Operand::URZ]);
            }
            continue;
        }
        let words = cx.halves(operand(inst, index)?, Type::B64)?;
        for (i, word) in words.into_iter().enumerate() {
            let word = cx.in_reg(word);
            let to = cell(descriptor, half + i as u8);
            cx.e.put(Opcode::R2UR, &[], 2, &[Operand::PT, to, word]);
        }
    }
    let descriptor = Operand::Desc(RegUse { flags, ..RegUse::wide(descriptor, 4) });

    let scale = inst.operands.get(3 + more);
    let constant = match scale {
        None => Some(1),
        Some(Ptx::Int(value)) => Some(value.get()),
        Some(Ptx::Reg(id)) => cx.constants.get(id).copied(),
        Some(_) => None,
    };
    let adds = match (constant, scale) {
        (Some(0), _) => not(Operand::UPT),
        (None, Some(predicate)) => {
            // All lanes have the same, so that the product may negate it: a vote never does
            // (observed).
            let (plain, negated) = match cx.pred(predicate)? {
                Operand::Reg(p) if p.flags.has(RegFlags::NOT) => {
                    (Operand::Reg(RegUse { flags: p.flags.without(RegFlags::NOT), ..p }), true)
                }
                plain => (plain, false),
            };
            let uniform = r(cx.e.body.new_vreg(RegFile::UP, 1, 1));
            cx.e.put(Opcode::VOTEU, &[Mod::ANY], 2, &[Operand::URZ, uniform, plain]);
            if negated { not(uniform) } else { uniform }
        }
        _ => Operand::UPT,
    };
    let factor = if in_registers {
        let words = words(cx, operand(inst, 1)?, a)?;
        let mut factor = gather(cx, &words);
        if negative_a {
            factor.flags = RegFlags::NEG;
        }
        Some(Operand::Reg(factor))
    } else {
        None
    };
    let before = words(cx, operand(inst, 0)?, d)?;
    let count = before.len() as u8;
    let sums = cx.e.body.new_vreg(RegFile::R, count, count.next_power_of_two().min(4));
    let added = if adds == not(Operand::UPT) || before.iter().all(is_zero) {
        Operand::RZ
    } else {
        for (i, word) in before.iter().enumerate() {
            cx.e.mov(cell(sums, i as u8), *word);
        }
        whole(sums, count)
    };
    let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
    operands.push(whole(sums, count));
    operands.extend(factor);
    operands.extend([descriptor, added, adds]);
    if let Some((metadata, selector)) = sparse {
        operands.extend([metadata, imm(selector)]);
    }
    operands.push(imm(NO_GROUP));
    cx.e.put(op, &mods, 1, &operands);
    scatter(cx, operand(inst, 0)?, d, &super::fragment::cells(sums, count))
}

/// `setmaxnreg`: more registers from the pool of the CTA, for which a warp waits, or some given
/// back.
pub fn setmaxnreg(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let Some(count) = operand(inst, 0)?.integer() else {
        return Err("a number of registers that is no constant".into());
    };
    // As ptxas does: nothing where the kernel does not say how many registers it begins with.
    if !cx.layout.knows_registers {
        return Ok(());
    }
    let count = imm(count as u32);
    let gives_back = inst.has(Word::Dec);
    under_guard(cx, |cx| {
        let again = if gives_back { cx.e.block } else { cx.e.open_new() };
        cx.converged = None;
        converge(cx);
        if gives_back {
            cx.e.put(Opcode::USETMAXREG, &[Mod::DEALLOC, Mod::CTAPOOL], 0, &[count]);
            return Ok(());
        }
        let got = r(cx.e.body.new_vreg(RegFile::UP, 1, 1));
        cx.e.put(Opcode::USETMAXREG, &[Mod::TRY_ALLOC, Mod::CTAPOOL], 1, &[got, count]);
        let p = r(cx.e.temp_pred());
        cx.e.plop3(p, Operand::PT, Operand::PT, got, 0x80);
        cx.e.branch_if(not(p), again);
        cx.e.open_new();
        Ok(())
    })
}
