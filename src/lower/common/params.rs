//! Parameters and results on their way between registers, the frame and the variables of the
//! parameter space: what a function does first and last, and what accesses of that space do.

use super::words::{extract, widen};
use crate::lower::abi::{Shape, Spot};
use crate::lower::context::cx::{Cx, Sel, cells_of};
use crate::lower::context::frame::ParamHome;
use crate::lower::context::value::Value;
use crate::ptx::program::{AddressBase, Operand as Ptx, RegId, VarId};
use crate::ptx::types::{Space, Type};
use orias_components::{BlockId, Inst, Loc, MemRef, Mod, Opcode, Operand, Reg, RegFile, RegUse};
use orias_systems::build::{Address, cell, imm, r};

/// `[base + offset]` in local memory.
pub fn local(base: Reg, offset: i32) -> Operand {
    Operand::Mem(MemRef {
        base: RegUse::new(base),
        uniform: RegUse::new(Reg::URZ),
        offset,
        sel: Mod::NONE,
    })
}

/// Given register `index`.
pub fn given(index: u32) -> Operand {
    r(Reg::phys(RegFile::R, index))
}

/// What a function does first: parameters go from where the caller left them to their homes.
pub fn receive(cx: &mut Cx<'_, '_>, entry: BlockId) {
    let Some(own) = cx.frame.own.clone() else { return };
    let mut list = Vec::new();
    let mov = |to: Operand, from: Operand| Inst::new(Opcode::MOV, &[], 1, &[to, from, imm(0xf)]);
    let load = |to: Operand, from: Operand| Inst::new(Opcode::LDL, &[], 1, &[to, from]);
    let mut stack = None;
    if own.result_bytes > 0 {
        let pointer = cx.e.body.new_vreg(RegFile::R, 1, 1);
        cx.frame.result_pointer = Some(pointer);
        list.push(mov(r(pointer), given(4)));
    }
    if own.params.iter().any(|s| matches!(s, Spot::Memory(_))) {
        let pointer = cx.e.body.new_vreg(RegFile::R, 1, 1);
        stack = Some(pointer);
        list.push(Inst::new(Opcode::PARGS, &[], 1, &[r(pointer)]));
    }
    // All registers are read before any of them can be taken for something else: moves first, then
    // what needs more.
    let mut late = Vec::new();
    for (var, spot) in cx.function.params.iter().zip(&own.params) {
        let words = Shape::of(cx.program, *var).words();
        let home = match cx.program.vars[var.0 as usize].reg() {
            Some(reg) => ParamHome::Words(register_homes(cx, reg, words)),
            None => match cx.frame.home(*var) {
                Some(home) => home.clone(),
                None => continue,
            },
        };
        let is_pred = cx.program.vars[var.0 as usize].ty == Type::Pred;
        match (spot, home, stack) {
            (Spot::Registers(first), ParamHome::Words(regs), _) if is_pred => {
                late.push(to_pred(r(regs[0]), given(*first)));
            }
            (Spot::Registers(first), ParamHome::Words(regs), _) => {
                for (i, to) in word_operands(cx, *var, &regs, words).into_iter().enumerate() {
                    list.push(mov(to, given(first + i as u32)));
                }
            }
            (Spot::Registers(first), ParamHome::Memory(base, offset), _) => {
                for i in 0..words {
                    let to = local(base, offset + 4 * i as i32);
                    late.push(Inst::new(Opcode::STL, &[], 0, &[to, given(first + i)]));
                }
            }
            (Spot::Memory(at), ParamHome::Words(regs), Some(stack)) if is_pred => {
                let word = cx.e.body.new_vreg(RegFile::R, 1, 1);
                late.push(load(r(word), local(stack, *at as i32)));
                late.push(to_pred(r(regs[0]), r(word)));
            }
            (Spot::Memory(at), ParamHome::Words(regs), Some(stack)) => {
                for (i, to) in word_operands(cx, *var, &regs, words).into_iter().enumerate() {
                    late.push(load(to, local(stack, *at as i32 + 4 * i as i32)));
                }
            }
            (Spot::Memory(at), ParamHome::Memory(..), Some(stack)) => {
                cx.frame.homes.insert(*var, ParamHome::Memory(stack, *at as i32));
            }
            (Spot::Memory(_), _, None) => {}
        }
    }
    for inst in list.into_iter().chain(late) {
        cx.e.body.push(entry, inst, Loc::default());
    }
}

/// The words of a home: cells of the registers of a `.reg` parameter, or a register each.
fn word_operands(cx: &Cx<'_, '_>, var: VarId, regs: &[Reg], words: u32) -> Vec<Operand> {
    match cx.program.vars[var.0 as usize].reg() {
        Some(_) => {
            let cells = words / regs.len() as u32;
            regs.iter().flat_map(|reg| (0..cells as u8).map(|i| cell(*reg, i))).collect()
        }
        None => regs.iter().map(|reg| r(*reg)).collect(),
    }
}

/// The registers that a `.reg` parameter arrives in: its elements, or words of several elements
/// that [`unpack`] takes apart.
fn register_homes(cx: &mut Cx<'_, '_>, id: RegId, words: u32) -> Vec<Reg> {
    let count = elements(cx, id);
    if count <= words.max(1) {
        return cx.regs[id.0 as usize][..count as usize].to_vec();
    }
    let packed: Vec<Reg> = (0..words).map(|_| cx.e.body.new_vreg(RegFile::R, 1, 1)).collect();
    cx.frame.packed.push((id, packed.clone()));
    packed
}

fn elements(cx: &Cx<'_, '_>, id: RegId) -> u32 {
    cx.function.regs[id.0 as usize].vector.max(1)
}

/// Takes the words apart in which vector parameters of narrow elements came.
pub fn unpack(cx: &mut Cx<'_, '_>) -> Sel {
    for (id, words) in std::mem::take(&mut cx.frame.packed) {
        give_elements(cx, id, &words)?;
    }
    Ok(())
}

/// Words go to the elements of a vector register.
pub fn give_elements(cx: &mut Cx<'_, '_>, id: RegId, words: &[Reg]) -> Sel {
    let list: Vec<Ptx> = (0..elements(cx, id) as u8).map(|i| Ptx::Element(id, i)).collect();
    let dests: Vec<&Ptx> = list.iter().collect();
    load_words(cx, cx.reg_type(id), &dests, words, 0)
}

/// The elements of a vector register as words.
fn element_words(cx: &mut Cx<'_, '_>, id: RegId, words: u32) -> Sel<Vec<Operand>> {
    let ty = cx.reg_type(id);
    let mut values = Vec::new();
    for i in 0..elements(cx, id) as u8 {
        values.push(cx.value(&Ptx::Element(id, i), ty)?);
    }
    if ty.bytes() >= 4 {
        return Ok(values
            .iter()
            .flat_map(|v| v.halves()[..ty.bytes() as usize / 4].to_vec())
            .collect());
    }
    let packed: Vec<Reg> = (0..words).map(|_| cx.e.temp(1)).collect();
    packed.iter().for_each(|word| cx.e.mov(r(*word), Operand::RZ));
    store_words(cx, ty, &values, &packed, 0)?;
    Ok(packed.into_iter().map(r).collect())
}

/// `p = word != 0`
pub fn to_pred(p: Operand, word: Operand) -> Inst {
    let mods = [Mod::NE, Mod::U32, Mod::AND];
    Inst::new(Opcode::ISETP, &mods, 2, &[p, Operand::PT, word, Operand::RZ, Operand::PT])
}

/// The end of a function: results go where the caller finds them, and control back.
pub fn give_back(cx: &mut Cx<'_, '_>) -> Sel {
    let Some(own) = cx.frame.own.clone() else { return Err("return from a kernel".into()) };
    let mut used = Vec::new();
    for (var, spot) in cx.function.returns.clone().iter().zip(&own.returns) {
        let words = value_words(cx, *var)?;
        match spot {
            Spot::Registers(first) => {
                for (i, word) in words.into_iter().enumerate() {
                    cx.e.mov(given(first + i as u32), word);
                    used.push(first + i as u32);
                }
            }
            Spot::Memory(at) => {
                let pointer = cx.frame.result_pointer.ok_or("no memory for the result")?;
                for (i, word) in words.into_iter().enumerate() {
                    let to = local(pointer, *at as i32 + 4 * i as i32);
                    let word = cx.in_reg(word);
                    cx.e.put(Opcode::STL, &[], 0, &[to, word]);
                }
            }
        }
    }
    let operands: Vec<Operand> = used.into_iter().map(given).collect();
    cx.e.put(Opcode::PRET, &[], 0, &operands);
    Ok(())
}

/// The words of a variable of the parameter space, or of the register that it is.
pub fn value_words(cx: &mut Cx<'_, '_>, var: VarId) -> Sel<Vec<Operand>> {
    let shape = Shape::of(cx.program, var);
    if let Some(reg) = cx.program.vars[var.0 as usize].reg() {
        return register_words(cx, reg, shape.words());
    }
    match cx.frame.home(var).cloned() {
        Some(ParamHome::Words(regs)) => Ok(regs.into_iter().map(r).collect()),
        Some(ParamHome::Memory(base, offset)) => Ok((0..shape.words() as i32)
            .map(|i| {
                let word = cx.e.temp(1);
                cx.e.put(Opcode::LDL, &[], 1, &[r(word), local(base, offset + 4 * i)]);
                r(word)
            })
            .collect()),
        None => Err("not a parameter of this function".into()),
    }
}

/// A register as words; a predicate is 0 or 1.
pub fn register_words(cx: &mut Cx<'_, '_>, id: RegId, words: u32) -> Sel<Vec<Operand>> {
    if elements(cx, id) > 1 {
        return element_words(cx, id, words);
    }
    let reg = cx.regs[id.0 as usize][0];
    if cx.reg_type(id) == Type::Pred {
        let word = cx.e.temp(1);
        cx.e.sel(r(word), imm(1), Operand::RZ, r(reg));
        return Ok(vec![r(word)]);
    }
    let cells = u32::from(cells_of(cx.reg_type(id)));
    let at = |i: u32| if i < cells { cell(reg, i as u8) } else { Operand::RZ };
    Ok((0..words).map(at).collect())
}

/// Where an access of the parameter space goes.
pub enum Access {
    /// To constant memory: a kernel's own parameters.
    Constant,
    /// To words, this many bytes from the first one's start.
    Words(Vec<Reg>, u32),
    Local(Address),
}

/// Finds out.
pub fn access(cx: &mut Cx<'_, '_>, op: &Ptx) -> Sel<Access> {
    let Ptx::Address { base, offset } = op else { return Err("address of this form".into()) };
    match base {
        AddressBase::Var(var) => match cx.frame.home(*var) {
            Some(ParamHome::Words(regs)) => Ok(Access::Words(regs.clone(), *offset as u32)),
            Some(ParamHome::Memory(base, at)) => Ok(Access::Local(Address {
                base: RegUse::new(*base),
                uniform: RegUse::new(Reg::URZ),
                offset: at + *offset as i32,
            })),
            None => Ok(Access::Constant),
        },
        // The address of a parameter of a function is one of local memory.
        AddressBase::Reg(_) if !cx.function.entry => {
            Ok(Access::Local(cx.address(op, Space::Local)?))
        }
        _ => Ok(Access::Constant),
    }
}

/// `ld.param` of elements of `ty` from words: `dests` in order.
pub fn load_words(
    cx: &mut Cx<'_, '_>,
    ty: Type,
    dests: &[&Ptx],
    words: &[Reg],
    mut at: u32,
) -> Sel {
    for dest in dests {
        let (d, cells) = (cx.dst(dest)?, cx.dst_cells(dest));
        let word = |i: u32| words.get((at / 4 + i) as usize).copied().ok_or("past the parameter");
        match ty.bytes() {
            bytes @ (4 | 8 | 16) => {
                for i in 0..bytes / 4 {
                    cx.e.mov(cell(d, i as u8), r(word(i)?));
                }
            }
            bytes => {
                let (from, bit) = (r(word(0)?), at % 4 * 8);
                if ty.is_signed() {
                    let part = cx.e.temp(1);
                    extract(cx, r(part), from, bit, bytes * 8);
                    cx.extend_to(cell(d, 0), r(part), ty);
                } else {
                    extract(cx, cell(d, 0), from, bit, bytes * 8);
                }
            }
        }
        if ty.bytes() < 8 && cells == 2 {
            widen(cx, d, ty);
        }
        at += ty.bytes();
    }
    Ok(())
}

/// `st.param` of elements of `ty` to words.
pub fn store_words(
    cx: &mut Cx<'_, '_>,
    ty: Type,
    values: &[Value],
    words: &[Reg],
    mut at: u32,
) -> Sel {
    for value in values {
        let word = |i: u32| words.get((at / 4 + i) as usize).copied().ok_or("past the parameter");
        match ty.bytes() {
            4 => cx.e.mov(r(word(0)?), value.lo()),
            8 => {
                cx.e.mov(r(word(0)?), value.lo());
                cx.e.mov(r(word(1)?), value.hi());
            }
            16 => {
                let Value::Reg(reg, 4) = value else { return Err("a 128-bit constant".into()) };
                for i in 0..4 {
                    cx.e.mov(r(word(i)?), cell(*reg, i as u8));
                }
            }
            bytes => {
                let to = word(0)?;
                // Bytes of the value over those of the word; a nibble of the selector from 4 on
                // picks from the value.
                let mut selector = 0x3210u32;
                for i in 0..bytes {
                    let place = 4 * (at % 4 + i);
                    selector = selector & !(0xf << place) | (4 + i) << place;
                }
                let from = cx.in_reg(value.lo());
                cx.e.prmt(r(to), r(to), imm(selector), from);
            }
        }
        at += ty.bytes();
    }
    Ok(())
}
