//! The stack frame: R1 points at its bottom, local variables first, spill slots after them.

use super::limits::STACK_POINTER;
use orias_components::{Body, Inst, Loc, Mod, Opcode, Operand, Reg, RegFile};

/// Least alignment of a frame in bytes. Observed: ptxas 13.0.88 rounds 92 bytes of slots up to 96.
const FRAME_ALIGN: u32 = 8;

/// Bytes of a frame that holds this many, aligned as its contents ask.
pub fn rounded(bytes: u32, align: u32) -> u32 {
    bytes.next_multiple_of(align.max(FRAME_ALIGN))
}

/// Puts `R1 = top of the stack - frame` at the start of a kernel, where R1 is needed at all. `top` is the byte of constant bank
/// 0 where the driver leaves the top of a thread's stack.
pub fn set_up(body: &mut Body<'_>, frame: u32, top: u32) -> bool {
    let Some(&entry) = body.layout().first() else { return false };
    if frame == 0 && !names_stack_pointer(body) {
        return false;
    }
    let r1 = Operand::reg(Reg::phys(RegFile::R, STACK_POINTER));
    let top = Operand::constant(0, top as i32);
    let load = Inst::new(Opcode::LDC, &[], 1, &[r1, top]);
    // Whoever loaded it before did not know the size of the frame.
    body.retain(entry, |body, id| body.inst(id).operands != load.operands);
    body.insert(entry, 0, load, Loc::default());
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

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_ecs::world::World;
    use orias_components::text;

    #[test]
    fn the_pointer_is_loaded_once_and_moved_down_by_the_frame() {
        let mut world = World::new();
        let input = "BB0:\n  NOP\n  R1 = LDC c[0x0][0x28]\n  R0 = IADD3 R1, 0x8, RZ";
        let mut body = Body::new(&mut world);
        text::parse(input, &mut body).expect("Ori");
        assert!(set_up(&mut body, 32, 0x28));
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
        let mut world = World::new();
        let mut body = Body::new(&mut world);
        text::parse("BB0:\n  R0 = MOV RZ, 0xf\n  EXIT PT", &mut body).expect("Ori");
        assert!(!set_up(&mut body, 0, 0x28));
        assert_eq!(body.live_inst_count(), 2);
    }
}
