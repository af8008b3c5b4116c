//! Calls, and room on the stack that the program asks for as it runs.

use crate::lower::abi::{Shape, Spot};
use crate::lower::common::lanes::under_guard;
use crate::lower::common::params;
use crate::lower::common::params::{given, local, register_words, to_pred, value_words};
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::lower::context::frame::{self, ParamHome, STACK};
use crate::ptx::program::{Instruction, Operand as Ptx, RegId};
use crate::ptx::types::Type;
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{cell, imm, r, wide};
use orias_systems::calls::{RETURN_ADDRESS, clobbered};

/// What a call goes to.
#[derive(Clone, Copy)]
enum Callee {
    Direct(Operand),
    /// A byte offset in the section, in a register pair.
    Indirect(Reg),
    /// The address of a function of the system, in a register pair.
    System(Reg),
}

/// `call`, under its guard by a branch around all of it.
pub fn call(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| unguarded(cx, inst))
}

fn unguarded(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let program = cx.program;
    let call = frame::call(program, cx.function, inst)?;
    let (passing, shapes, results) = frame::passing(program, &call);
    let callee = callee(cx, call.callee)?;
    let mut words = Vec::new();
    for (i, shape) in shapes.iter().enumerate() {
        words.push(argument(cx, call.args.get(i).ok_or("too few arguments")?, *shape)?);
    }
    // What goes to memory first: it needs registers that arguments may be given.
    for (spot, words) in passing.params.iter().zip(&words) {
        if let Spot::Memory(at) = spot {
            for (i, word) in words.iter().enumerate() {
                let word = cx.in_reg(*word);
                cx.e.put(Opcode::STL, &[], 0, &[local(STACK, *at as i32 + 4 * i as i32), word]);
            }
        }
    }
    let (frame, area) = (cx.frame.pointer(), cx.frame.results_at);
    let mut read = Vec::new();
    if passing.result_bytes > 0 {
        cx.e.iadd3(given(4), r(frame), imm(area), Operand::RZ);
        read.push(4);
    }
    for (spot, words) in passing.params.iter().zip(&words) {
        if let Spot::Registers(first) = spot {
            for (i, word) in words.iter().enumerate() {
                cx.e.mov(given(first + i as u32), *word);
                read.push(first + i as u32);
            }
        }
    }
    jump(cx, callee, &read);
    for (i, target) in call.returns.iter().enumerate() {
        let (Some(spot), Some(shape)) = (passing.returns.get(i), results.get(i)) else {
            return Err("more results than the function has".into());
        };
        let words: Vec<Operand> = (0..shape.words())
            .map(|w| match spot {
                Spot::Registers(first) => given(first + w),
                Spot::Memory(at) => {
                    let word = cx.e.temp(1);
                    let from = local(frame, (area + at + 4 * w) as i32);
                    cx.e.put(Opcode::LDL, &[], 1, &[r(word), from]);
                    r(word)
                }
            })
            .collect();
        result(cx, target, &words)?;
    }
    Ok(())
}

/// Where the call goes; loads what that takes.
fn callee(cx: &mut Cx<'_, '_>, op: &Ptx) -> Sel<Callee> {
    let load = |cx: &mut Cx<'_, '_>, bank: u8, base: RegUse, offset: i32| {
        let d = cx.e.temp(2);
        let Operand::Const(mut from) = Operand::constant(bank, offset) else { return d };
        (from.base, from.base_cell) = (base.reg, base.cell);
        cx.e.ldc(&[Mod::_64], wide(d, 2), Operand::Const(from));
        d
    };
    match op {
        Ptx::Func(f) => {
            let key = cx.module.functions[f.0 as usize];
            if cx.program.functions[f.0 as usize].defined {
                return Ok(Callee::Direct(Operand::Symbol { key, addend: 0, part: 2 }));
            }
            let slot = cx.module.address_offset(key).ok_or("a function that no file defines")?;
            Ok(Callee::System(load(cx, 4, RegUse::new(Reg::RZ), slot as i32)))
        }
        // A pointer to a function is the offset of its entry in the kernel's bank 2.
        Ptx::Reg(_) => {
            let pointer = cx.src(op, Type::U64)?;
            let pointer = *cx.in_reg(pointer).as_reg().ok_or("pointer to a function")?;
            Ok(Callee::Indirect(load(cx, 2, pointer, 0)))
        }
        _ => Err("callee of this kind".into()),
    }
}

/// The words of an argument.
fn argument(cx: &mut Cx<'_, '_>, op: &Ptx, shape: Shape) -> Sel<Vec<Operand>> {
    match op {
        Ptx::Var(var, at) if at.get() == 0 && cx.frame.home(*var).is_some() => {
            value_words(cx, *var)
        }
        Ptx::Reg(id) => register_words(cx, *id, shape.words()),
        Ptx::Vector(_) => register_words(cx, whole(op)?, shape.words()),
        other => {
            let ty = if shape.size > 4 { Type::B64 } else { Type::B32 };
            let value = cx.value(other, ty)?;
            Ok(value.halves()[..(shape.words() as usize).min(2)].to_vec())
        }
    }
}

/// The instructions that go and come back, and what they read and change.
fn jump(cx: &mut Cx<'_, '_>, callee: Callee, read: &[u32]) {
    let pair = Operand::Reg(RegUse::wide(RETURN_ADDRESS, 2));
    let (callee, mods): (Operand, &[Mod]) = match callee {
        Callee::Direct(symbol) => (symbol, &[]),
        Callee::Indirect(reg) => (wide(reg, 2), &[]),
        Callee::System(reg) => (wide(reg, 2), &[Mod::ABS]),
    };
    cx.e.put(Opcode::PRETADR, mods, 1, &[pair]);
    let mut operands = clobbered();
    let defs = operands.len() as u8;
    operands.extend([callee, r(STACK), pair]);
    operands.extend(read.iter().map(|index| given(*index)));
    cx.e.put(Opcode::PCALL, mods, defs, &operands);
    // Threads may come back one by one.
    cx.converged = None;
}

/// Puts a result where the call says.
fn result(cx: &mut Cx<'_, '_>, target: &Ptx, words: &[Operand]) -> Sel {
    match target {
        Ptx::Var(var, _) => match cx.frame.home(*var).cloned() {
            Some(ParamHome::Words(regs)) => {
                regs.iter().zip(words).for_each(|(reg, word)| cx.e.mov(r(*reg), *word));
                Ok(())
            }
            Some(ParamHome::Memory(base, offset)) => {
                for (i, word) in words.iter().enumerate() {
                    let to = local(base, offset + 4 * i as i32);
                    cx.e.put(Opcode::STL, &[], 0, &[to, *word]);
                }
                Ok(())
            }
            None => Err("result of this kind".into()),
        },
        Ptx::Reg(id) if cx.reg_type(*id) == Type::Pred => {
            let inst = to_pred(r(cx.regs[id.0 as usize][0]), words[0]);
            cx.e.put(inst.op, inst.mods.as_slice(), inst.defs, &inst.operands);
            Ok(())
        }
        Ptx::Reg(_) | Ptx::Element(..) => {
            let (d, cells) = (cx.dst(target)?, cx.dst_cells(target));
            for i in 0..cells {
                let word = words.get(usize::from(i)).copied().unwrap_or(Operand::RZ);
                cx.e.mov(cell(d, i), word);
            }
            Ok(())
        }
        Ptx::Vector(_) => {
            let of = |cx: &mut Cx<'_, '_>, word: &Operand| {
                let copy = cx.e.temp(1);
                cx.e.mov(r(copy), *word);
                copy
            };
            let words: Vec<Reg> = words.iter().map(|word| of(cx, word)).collect();
            params::give_elements(cx, whole(target)?, &words)
        }
        Ptx::Sink => Ok(()),
        _ => Err("result of this kind".into()),
    }
}

/// The vector register that all of is written. Calls take no other vectors.
fn whole(op: &Ptx) -> Sel<RegId> {
    match op {
        Ptx::Vector(list) => match list.first() {
            Some(Ptx::Element(id, 0)) => Ok(*id),
            _ => Err("a vector of registers in a call".into()),
        },
        _ => Err("a vector register is expected".into()),
    }
}

/// `alloca ptr, size, align`: the stack pointer goes down. Arguments of calls stay below what is
/// given out.
pub fn alloca(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let size = cx.src(operand(inst, 1)?, ty)?;
    let align = match inst.operands.get(2) {
        Some(Ptx::Int(align)) => align.get() as u32,
        None => 8,
        Some(_) => return Err("alignment that is no constant".into()),
    };
    if !align.is_power_of_two() {
        return Err("alignment that is no power of two".into());
    }
    let below = cx.frame.outgoing;
    let align = align.max(cx.module.frame_align).max(16);
    let (top, start) = (cx.e.temp(1), cx.e.temp(1));
    let size = cx.in_reg(size);
    cx.e.iadd3(r(top), r(STACK), orias_systems::build::neg(size), imm(below));
    cx.e.and(r(start), r(top), imm(!(align - 1)));
    cx.e.iadd3(r(STACK), r(start), imm(below.wrapping_neg()), Operand::RZ);
    let d = cx.dst(operand(inst, 0)?)?;
    cx.e.mov(cell(d, 0), r(start));
    if cx.dst_cells(operand(inst, 0)?) == 2 {
        cx.e.mov(cell(d, 1), Operand::RZ);
    }
    Ok(())
}

/// `stacksave`: the stack pointer, as an address of local memory.
pub fn stacksave(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    cx.e.mov(cell(d, 0), r(STACK));
    if cx.dst_cells(operand(inst, 0)?) == 2 {
        cx.e.mov(cell(d, 1), Operand::RZ);
    }
    Ok(())
}

/// `stackrestore`: the stack pointer is what `stacksave` gave.
pub fn stackrestore(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let from = cx.src(operand(inst, 0)?, type_at(inst, 0)?)?;
    cx.e.mov(r(STACK), from);
    Ok(())
}
