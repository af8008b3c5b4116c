//! The stack frame: R1 points at its bottom, local variables first, spill slots after them.

use super::limits::STACK_POINTER;
use orias_components::{Body, Inst, Loc, Mod, Opcode, Operand, Reg, RegFile};

/// Where the driver leaves the top of a thread's stack: `c[0x0][0x28]` on sm_75 to sm_90. Observed: ptxas 13.0.88, sm_90a.
const STACK_TOP: (u8, i32) = (0, 0x28);

/// Least alignment of a frame in bytes. Observed: ptxas 13.0.88 rounds 92 bytes of slots up to 96.
const FRAME_ALIGN: u32 = 8;

/// Bytes of a frame that holds this many, aligned as its contents ask.
pub fn rounded(bytes: u32, align: u32) -> u32 {
    bytes.next_multiple_of(align.max(FRAME_ALIGN))
}

/// Puts `R1 = top of the stack - frame` at the start of a kernel, where R1 is needed at all.
pub fn set_up(body: &mut Body<'_>, frame: u32) -> bool {
    let Some(&entry) = body.layout().first() else { return false };
    if frame == 0 && !names_stack_pointer(body) {
        return false;
    }
    let r1 = Operand::reg(Reg::phys(RegFile::R, STACK_POINTER));
    let top = Operand::constant(STACK_TOP.0, STACK_TOP.1);
    body.insert(entry, 0, Inst::new(Opcode::LDC, &[], 1, &[r1, top]), Loc::default());
    if frame > 0 {
        let down = Operand::Imm(-i64::from(frame) as u64);
        let operands = [r1, Operand::PT, Operand::PT, r1, down, Operand::RZ];
        let inst = Inst::new(Opcode::IADD3, &[] as &[Mod], 3, &operands);
        body.insert(entry, 1, inst, Loc::default());
    }
    true
}

fn names_stack_pointer(body: &Body<'_>) -> bool {
    let r1 = Reg::phys(RegFile::R, STACK_POINTER);
    let mut found = false;
    for &block in body.layout() {
        for &id in &body.block(block).insts {
            body.inst(id).for_each_use(|r| found |= r.reg == r1);
        }
    }
    found
}
