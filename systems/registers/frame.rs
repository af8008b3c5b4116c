//! The stack frame: R1 points at its bottom. There are, from the bottom up, arguments of calls that
//! are passed on the stack, local variables, spill slots, and the registers that a function must
//! leave as they were.
//!
//! Where the stack pointer moves (`alloca`), another register points at the bottom: R2, as in
//! ptxas's code.

use super::limits::STACK_POINTER;
use super::spill::stack;
use crate::calls::{SCRATCH, is_kept};
use orias_components::pseudo::pargs;
use orias_components::{BlockId, Body, Inst, Loc, Mod, Opcode, Operand, Reg, RegFile, RegUse};
use std::collections::BTreeSet;

/// Least alignment of a frame in bytes. Observed: ptxas 13.0.88 rounds 92 bytes of slots up to 96.
const FRAME_ALIGN: u32 = 8;

/// Bytes of a frame that holds this many, aligned as its contents ask.
fn rounded(bytes: u32, align: u32) -> u32 {
    bytes.next_multiple_of(align.max(FRAME_ALIGN))
}

/// What a frame is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Bytes of everything but saved registers.
    pub bytes: u32,
    /// In bytes, a power of two; in a function that others call, the alignment of every frame of
    /// the module.
    pub align: u32,
    /// The byte of constant bank 0 where the driver leaves the top of a thread's stack, for a
    /// kernel; None for a function, which goes on from its caller's frame.
    pub top: Option<u32>,
    /// The register that points at the frame's bottom.
    pub pointer: u32,
}

/// What [`set_up`] made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Made {
    /// Of the whole frame.
    pub bytes: u32,
    /// General registers that were saved, and where, in bytes from the frame's bottom.
    pub saved: Vec<(u8, u32)>,
    /// Bytes stored to save registers.
    pub saved_bytes: u32,
}

/// Makes the frame: at the start of a kernel `R1 = top of the stack - frame`, where R1 is needed at
/// all; at the start of a function `R1 -= frame` and stores of the registers that it must keep and
/// changes, and the opposite before each return. Operands are physical. `PARGS` is expanded.
pub fn set_up(body: &mut Body<'_>, frame: &Frame) -> Made {
    let Some(&entry) = body.layout().first() else { return Made::default() };
    let Some(top) = frame.top else { return set_up_function(body, frame, entry) };
    let bytes = rounded(frame.bytes, frame.align);
    let made = Made { bytes, ..Made::default() };
    if bytes == 0 && !names_stack_pointer(body) {
        return made;
    }
    let load = Inst::new(Opcode::LDC, &[], 1, &[r1(), Operand::constant(0, top as i32)]);
    // Whoever loaded it before did not know the size of the frame.
    body.retain(entry, |body, id| !body.inst(id).operands().eq(load.operands.iter().copied()));
    let mut start = vec![load];
    if bytes > 0 {
        start.push(moved(-i64::from(bytes)));
    }
    if frame.pointer != STACK_POINTER {
        start.push(copy(general(frame.pointer), r1()));
    }
    body.insert_all(entry, start.into_iter().map(|inst| (0, inst, Loc::default())));
    made
}

fn set_up_function(body: &mut Body<'_>, frame: &Frame, entry: BlockId) -> Made {
    let (registers, barriers) = changed_and_kept(body, frame);
    let scratch = Operand::reg(SCRATCH);
    let mut at = frame.bytes.next_multiple_of(4);
    let mut made = Made::default();
    let (mut start, mut end) = (Vec::new(), Vec::new());
    for barrier in barriers {
        let reg = Operand::reg(Reg::phys(RegFile::B, barrier));
        start.push(Inst::new(Opcode::BMOV, &[Mod::_32, Mod::CLEAR], 1, &[scratch, reg]));
        start.push(Inst::new(Opcode::STL, &[], 0, &[stack(STACK_POINTER, at), scratch]));
        end.push(Inst::new(Opcode::LDL, &[], 1, &[scratch, stack(STACK_POINTER, at)]));
        end.push(Inst::new(Opcode::BMOV, &[Mod::_32], 1, &[reg, scratch]));
        at += 4;
    }
    for register in registers {
        let reg = general(register);
        start.push(Inst::new(Opcode::STL, &[], 0, &[stack(STACK_POINTER, at), reg]));
        end.push(Inst::new(Opcode::LDL, &[], 1, &[reg, stack(STACK_POINTER, at)]));
        made.saved.push((register as u8, at));
        at += 4;
    }
    made.saved_bytes = 4 * start.iter().filter(|i| i.op == Opcode::STL).count() as u32;
    made.bytes = if at == 0 { 0 } else { rounded(at, frame.align) };
    if made.bytes > 0 {
        start.insert(0, moved(-i64::from(made.bytes)));
        end.push(moved(i64::from(made.bytes)));
    }
    if frame.pointer != STACK_POINTER {
        start.push(copy(general(frame.pointer), r1()));
        end.insert(0, copy(r1(), general(frame.pointer)));
    }
    expand(body, frame, made.bytes, &end);
    body.insert_all(entry, start.into_iter().map(|inst| (0, inst, Loc::default())));
    made
}

/// Puts `end` before each return, and sums in place of `PARGS`.
fn expand(body: &mut Body<'_>, frame: &Frame, bytes: u32, end: &[Inst]) {
    body.rewrite_all(|body, out, id| {
        let op = body.op(id);
        if op == Opcode::PARGS {
            let to = body.inst(id).operand(pargs::D);
            *body.inst_mut(id) = sum(to, general(frame.pointer), i64::from(bytes));
        } else if op == Opcode::PRET {
            let loc = body.loc(id);
            for inst in end {
                out.put(body, inst, loc);
            }
        }
        out.keep(id);
    });
}

/// General registers and convergence barriers that the body writes and a function must leave as
/// they were, ascending.
fn changed_and_kept(body: &Body<'_>, frame: &Frame) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let (mut registers, mut barriers) = (BTreeSet::new(), BTreeSet::new());
    if frame.pointer != STACK_POINTER {
        registers.insert(frame.pointer);
    }
    let mut note = |r: RegUse| {
        let Some(first) = r.reg.phys_index() else { return };
        for index in (first..first + u32::from(r.count)).filter(|i| is_kept(r.reg.file(), *i)) {
            match r.reg.file() {
                RegFile::R if index != STACK_POINTER => {
                    registers.insert(index);
                }
                RegFile::B => {
                    barriers.insert(index);
                }
                _ => {}
            }
        }
    };
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            body.inst(id).for_each_def(&mut note);
        }
    }
    (registers, barriers)
}

fn general(register: u32) -> Operand {
    Operand::reg(Reg::phys(RegFile::R, register))
}

fn r1() -> Operand {
    general(STACK_POINTER)
}

fn copy(to: Operand, from: Operand) -> Inst {
    Inst::new(Opcode::MOV, &[], 1, &[to, from, Operand::Imm(0xf)])
}

fn sum(to: Operand, a: Operand, by: i64) -> Inst {
    let operands = [to, Operand::PT, Operand::PT, a, Operand::Imm(by as u64), Operand::RZ];
    Inst::new(Opcode::IADD3, &[] as &[Mod], 3, &operands)
}

/// `R1 += by`
fn moved(by: i64) -> Inst {
    sum(r1(), r1(), by)
}

fn names_stack_pointer(body: &Body<'_>) -> bool {
    let r1 = Reg::phys(RegFile::R, STACK_POINTER);
    let mut found = false;
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            body.inst(id).for_each_use(|r| found |= r.reg == r1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use orias_components::text;

    #[test]
    fn the_pointer_is_loaded_once_and_moved_down_by_the_frame() {
        let mut function = testing::function();
        let input = "BB0:\n  NOP\n  R1 = LDC c[0x0][0x28]\n  R0 = IADD3 R1, 0x8, RZ";
        let mut body = function.body();
        text::parse(input, &mut body).expect("Ori");
        let frame = Frame { bytes: 26, align: 16, top: Some(0x28), pointer: 1 };
        assert_eq!(set_up(&mut body, &frame).bytes, 32);
        let printed = text::print(&body, &text::Style::default());
        let lines: Vec<&str> = printed.lines().skip(1).map(str::trim).collect();
        let expected = [
            "R1 = LDC c[0x0][0x28]",
            "R1, PT, PT = IADD3 R1, -0x20, RZ",
            "NOP",
            "R0 = IADD3 R1, 0x8, RZ",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn without_frame_or_use_of_it_nothing_is_done() {
        let mut function = testing::function();
        let mut body = function.body();
        text::parse("BB0:\n  R0 = MOV RZ, 0xf\n  EXIT PT", &mut body).expect("Ori");
        let frame = Frame { bytes: 0, align: 8, top: Some(0x28), pointer: 1 };
        assert_eq!(set_up(&mut body, &frame), Made::default());
        assert_eq!(body.live_inst_count(), 2);
    }

    #[test]
    fn a_function_saves_what_it_changes_and_must_keep() {
        let mut function = testing::function();
        let mut body = function.body();
        let input = "BB0:\n  R3 = PARGS\n  R20:2 = PRETADR\n  B6 = BSSY BB1\nBB1:\n  R17 = MOV R4, 0xf\n  PRET R4";
        text::parse(input, &mut body).expect("Ori");
        let frame = Frame { bytes: 4, align: 16, top: None, pointer: 1 };
        let made = set_up(&mut body, &frame);
        assert_eq!((made.bytes, made.saved_bytes), (32, 16));
        assert_eq!(made.saved, [(17, 8), (20, 12), (21, 16)]);
        let printed = text::print(&body, &text::Style::default());
        let lines: Vec<&str> = printed.lines().map(str::trim).collect();
        let expected = [
            "R1, PT, PT = IADD3 R1, -0x20, RZ",
            "R0 = BMOV.32.CLEAR B6",
            "STL [R1+0x4], R0",
            "STL [R1+0x8], R17",
            "STL [R1+0xc], R20",
            "STL [R1+0x10], R21",
            "R3, PT, PT = IADD3 R1, 0x20, RZ",
        ];
        assert_eq!(lines[1..8], expected);
        let expected = [
            "R0 = LDL [R1+0x4]",
            "B6 = BMOV.32 R0",
            "R17 = LDL [R1+0x8]",
            "R20 = LDL [R1+0xc]",
            "R21 = LDL [R1+0x10]",
            "R1, PT, PT = IADD3 R1, 0x20, RZ",
            "PRET R4",
        ];
        assert_eq!(lines[lines.len() - 7..], expected);
    }
}
