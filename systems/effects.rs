//! What an instruction does besides computing its results, and so what may be done with it: one
//! answer to each question, from the properties of its opcode's row ([`Props`]), its modifiers and
//! the names of its operands.
//!
//! A phase asks here, and adds what is its own matter (which files it looks at, what pays).

use orias_components::{Mod, Opcode, Operand, Props, RegFlags, RegUse, View};
use orias_targets::slots::{MOV, PLOP3_LUT as PLOP3, SHFL, UMOV};

/// Changes memory, the thread's state or the way of control.
const CHANGES: Props = Props::EFFECT.with(Props::STORE).with(Props::BRANCH);

/// Whether the results follow from the sources alone, wherever and whenever it stands, and nothing
/// else is done. Constant memory is such a source.
pub fn is_pure(op: Opcode) -> bool {
    let others = CHANGES.with(Props::CONVERGENT).with(Props::STATE);
    let is_known = !op.has(Props::PSEUDO) || op.has(Props::MACRO);
    is_known && !op.has(others) && !reads_memory(op)
}

/// Whether it reads memory that something may write.
pub fn reads_memory(op: Opcode) -> bool {
    op.has(Props::LOAD) && !op.has(Props::CONSTANT)
}

/// Whether it may run where nobody asked for it, if only nothing reads the result: it cannot fault,
/// and no other thread sees it.
pub fn may_be_speculated(op: Opcode) -> bool {
    !op.has(Props::EFFECT.with(Props::CONVERGENT)) && !reads_memory(op)
}

/// Whether it does nothing but write virtual registers (or nothing at all, into RZ and PT): it may
/// go when nothing reads them.
pub fn is_removable(inst: View<'_>) -> bool {
    // A warp's operation waits for the other threads, a strong or volatile load orders what is
    // around it.
    if inst.defs == 0 || inst.op.has(CHANGES.with(Props::CONVERGENT)) {
        return false;
    }
    let orders =
        || [Mod::STRONG, Mod::MMIO, Mod::SYS, Mod::GPU].iter().any(|m| inst.mods().has(*m));
    if inst.op.has(Props::LOAD) && orders() {
        return false;
    }
    let mut physical = false;
    inst.for_each_def(|r| physical |= r.reg.vreg().is_none());
    !physical
}

/// Whether it may be done again anywhere: one result, always the same, from no register.
pub fn may_be_repeated(inst: View<'_>) -> bool {
    let mut reads = false;
    inst.for_each_use(|_| reads = true);
    !reads && inst.defs == 1 && inst.guard.is_always() && is_pure(inst.op)
}

/// Whether it has an order with accesses to memory and meetings of threads: it may not be moved
/// over one.
pub fn is_ordered(op: Opcode) -> bool {
    op.has(Props::LOAD.with(Props::STORE).with(Props::CONVERGENT))
}

/// Whether it sends its operands to units that other warps use too, so that they are read some time
/// after it began: what is [ordered](is_ordered) does.
pub fn reads_late(op: Opcode) -> bool {
    is_ordered(op)
}

/// Whether what it reads may be what another thread has just written: atomic operations with a
/// result, strong and volatile loads.
pub fn sees_other_threads(inst: View<'_>) -> bool {
    let is_atomic = || inst.op.has(Props::STORE) && inst.defs > 0;
    let is_strong = || inst.mods().has(Mod::STRONG) || inst.mods().has(Mod::MMIO);
    inst.op.has(Props::LOAD) && (is_atomic() || is_strong())
}

/// Whether it may be an access to the shared memory of the CTA.
pub fn may_touch_shared(op: Opcode) -> bool {
    op.has(Props::LOAD.with(Props::STORE)) && !op.has(Props::ELSEWHERE)
}

/// Whether a thread may wait there until others come.
pub fn may_wait(op: Opcode) -> bool {
    op.has(Props::WAITS)
}

/// Whether threads of a warp wait for each other there: others may have run in between.
pub fn may_meet(op: Opcode) -> bool {
    matches!(op, Opcode::BSYNC | Opcode::WARPSYNC | Opcode::YIELD | Opcode::NANOSLEEP)
}

/// Whether all threads of a warp that run it together get the same result, whatever they bring.
pub fn gives_all_the_same(op: Opcode) -> bool {
    op.has(Props::ALIKE)
}

/// The lane whose value all threads of a warp get that exchange values so. (Observed: ptxas 13.0.88
/// has no barrier around what depends on it, if the lane is the same for all.)
pub fn lane_for_all(inst: View<'_>) -> Option<Operand> {
    const WHOLE_WARP: Operand = Operand::Imm(0x1f);
    let is_one = inst.op == Opcode::SHFL
        && inst.mods().as_slice() == [Mod::IDX]
        && inst.get(SHFL::C) == Some(WHOLE_WARP);
    inst.get(SHFL::B).filter(|_| is_one)
}

/// Special registers that are the same for all threads of a warp: SR_CTAID.X, .Y, .Z and
/// SR_CgaCtaId. Numbers observed in what nvdisasm prints for sm_90.
const OF_WARP: [u8; 4] = [0x25, 0x26, 0x27, 0x88];

/// SR_TID.X; those of the other dimensions follow.
pub const SR_TID: u8 = 0x21;

/// Special registers that never change while a thread runs: SR_LANEID, SR_TID and SR_CTAID.
const STEADY: [u8; 7] = [0x00, 0x21, 0x22, 0x23, 0x25, 0x26, 0x27];

/// Whether threads of a warp may get different results, though they bring the same operands.
pub fn differs_by_thread(inst: View<'_>) -> bool {
    if inst.op.has(Props::SPECIAL) {
        let of_warp = |o: Operand| matches!(o, Operand::Special(n) if OF_WARP.contains(&n));
        return !inst.sources().all(of_warp);
    }
    // Whether a phase of an mbarrier is over is one answer for all that ask together. (Observed:
    // ptxas emits no barrier around a loop that waits at one mbarrier.)
    if inst.op == Opcode::SYNCS && inst.mods().has(Mod::PHASECHK) {
        return false;
    }
    let may_differ = Props::LOAD.with(Props::CONVERGENT).with(Props::STATE);
    inst.op.has(may_differ) && !inst.op.has(Props::SHARED.with(Props::ALIKE))
}

/// Whether it reads a special register that may be another one a moment later.
pub fn reads_what_changes(inst: View<'_>) -> bool {
    inst.specials().any(|n| !STEADY.contains(&n))
}

/// A copy of one cell, without change of the value.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// The cell that is written.
    pub to: RegUse,
    /// The cell that is read.
    pub from: RegUse,
}

/// The copy that an instruction is, if it is nothing else; its guard is the caller's matter.
#[inline]
pub fn as_copy(inst: View<'_>) -> Option<Copy> {
    if may_copy(inst.op) { copy_of(inst) } else { None }
}

/// Whether an instruction with this opcode may be a copy.
#[inline]
pub fn may_copy(op: Opcode) -> bool {
    matches!(op, Opcode::PLOP3 | Opcode::MOV | Opcode::UMOV)
}

fn copy_of(inst: View<'_>) -> Option<Copy> {
    let (to, from) = match inst.op {
        Opcode::PLOP3 if gives_first(inst) => (inst.get(PLOP3::P)?, inst.get(PLOP3::X)?),
        Opcode::MOV if copies_words(inst) => (inst.get(MOV::D)?, inst.get(MOV::B)?),
        Opcode::UMOV if inst.len() == UMOV::COUNT && inst.mods().is_empty() => {
            (inst.get(UMOV::UD)?, inst.get(UMOV::B)?)
        }
        _ => return None,
    };
    let (Operand::Reg(to), Operand::Reg(from)) = (to, from) else { return None };
    let plain = from.flags.without(RegFlags::REUSE) == RegFlags::NONE;
    let same_file = to.reg.file() == from.reg.file() && to.count == 1 && from.count == 1;
    let named = !to.reg.is_zero() && !from.reg.is_zero();
    (plain && same_file && named).then_some(Copy { to, from })
}

/// Whether it is a MOV that takes all lanes of its source along.
pub fn copies_words(inst: View<'_>) -> bool {
    let all_lanes = matches!(inst.get(MOV::M), None | Some(Operand::Imm(0xf)));
    inst.op == Opcode::MOV && inst.mods().is_empty() && inst.len() <= MOV::COUNT && all_lanes
}

/// Whether it is a `PLOP3` whose result is its first operand, and whose others are true.
fn gives_first(inst: View<'_>) -> bool {
    const FIRST: Operand = Operand::Imm(0x80);
    let is_true = |at: usize| inst.is_pt(at);
    inst.len() == PLOP3::COUNT
        && [PLOP3::Q, PLOP3::Y, PLOP3::Z].into_iter().all(is_true)
        && inst.operand(PLOP3::T) == FIRST
}

/// Whether threads that stand here go on at another copy of what comes next, with what is in their
/// registers by then: WARPSYNC.COLLECTIVE. Observed (ptxas 13.0.88, sm_90a): all scoreboards are
/// waited for and every result has arrived before it; a stall behind it would be another copy's.
pub(super) fn goes_on_elsewhere(inst: View<'_>) -> bool {
    inst.op == Opcode::WARPSYNC && inst.mods().has(Mod::COLLECTIVE)
}

/// Whether registers may be another warp's after the instruction: nothing may be on its way to
/// them.
pub(super) fn gives_registers_back(inst: View<'_>) -> bool {
    inst.op == Opcode::USETMAXREG && inst.mods().has(Mod::DEALLOC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use orias_components::{BlockId, Body};

    /// For which of the instructions a question has this answer, by number of the line.
    fn those(text: &str, question: impl Fn(View<'_>) -> bool) -> Vec<usize> {
        let mut function = testing::parse(&format!("BB0:\n{text}\nEXIT PT"));
        let body: Body<'_> = function.body();
        let insts = body.block(BlockId(0)).insts();
        let lines = insts.iter().enumerate().filter(|(_, id)| question(body.inst(**id)));
        lines.map(|(n, _)| n).collect()
    }

    const LINES: &str = "
        %R0 = MOV 0x1, 0xf
        %R1 = LDC c[0x0][0x210]
        %R2 = LDG desc[UR4:2], [%R4:2]
        %R3 = LDG.STRONG.GPU desc[UR4:2], [%R4:2]
        STG desc[UR4:2], [%R4:2], %R0
        %P11, %R6 = SHFL.IDX %R0, 0x0, 0x1f
        %R7 = CS2R SR80
        %R8 = S2R SR37
        WARPSYNC.ALL
        %R9, PT, PT = IADD3 %R0, %R1, RZ
        %R10 = MOV %R9, 0xf";

    #[test]
    fn an_instruction_answers_for_its_effects() {
        assert_eq!(those(LINES, |i| is_pure(i.op)), [0, 1, 7, 9, 10]);
        assert_eq!(those(LINES, is_removable), [0, 1, 2, 6, 7, 9, 10]);
        assert_eq!(those(LINES, may_be_repeated), [0, 1, 7]);
        assert_eq!(those(LINES, |i| is_ordered(i.op)), [1, 2, 3, 4, 5, 8]);
        assert_eq!(those(LINES, |i| !may_be_speculated(i.op)), [2, 3, 4, 5, 8, 11]);
        assert_eq!(those(LINES, sees_other_threads), [3]);
        assert_eq!(those(LINES, |i| may_wait(i.op)), [8]);
        assert!(may_touch_shared(Opcode::LD) && !may_touch_shared(Opcode::LDG));
        assert_eq!(those(LINES, differs_by_thread), [5, 6, 8], "CTAID is the warp's");
        assert_eq!(those(LINES, reads_what_changes), [6]);
        assert_eq!(those(LINES, |i| as_copy(i).is_some()), [10]);
    }

    #[test]
    fn a_copy_is_one_cell_without_a_change() {
        let lines = "
            %R1 = MOV %R0, 0xf
            %R1 = MOV %R0, 0x3
            %R1 = MOV 0x3, 0xf
            %P3, PT = PLOP3.LUT %P2, PT, PT, 0x80, 0x0
            %P3, PT = PLOP3.LUT !%P2, PT, PT, 0x80, 0x0
            %P3, PT = PLOP3.LUT %P2, %P4, PT, 0x80, 0x0
            %UR6 = UMOV %UR5";
        assert_eq!(those(lines, |i| as_copy(i).is_some()), [0, 3, 6]);
    }
}
