//! Phase 9, OriCreateMacroInsts, and phase 63, LateExpansion: division, remainder, reciprocal and
//! root in line.
//!
//! Lowering makes each of them one macro instruction, and one it stays through the optimizer:
//! common, dead and copied as any other value. Phase 9 expands division by constants, which is few
//! instructions that mix well with those around; LateExpansion all others, in SSA form where the
//! body has it.
//!
//! What holds after LateExpansion: there is no IDIV, IREM, FDIV, FRCP or FSQRT. An expansion may
//! end the block and open new ones; edges and phis are right again. Sources are read before the
//! destination is written, so a destination may be one of them.

use super::place::LEAST_REGISTERS;
use super::shared::Shared;
use super::{divide, double, float};
use crate::build::{Emit, cell, imm, wide};
use crate::function::FunctionInfo;
use crate::notes::Notes;
use crate::params::Read;
use crate::ssa::Form;
use orias_components::pseudo::macros;
use orias_components::scratch;
use orias_components::{
    Body, Code, Guard, Inst, InstId, Mod, Opcode, Operand, Props, Reg, RegUse, View,
};
use rustc_hash::FxHashSet;

/// Phase 9.
pub fn create_macro_insts(code: Code<'_>, form: Read<'_, Form>, mut notes: Notes<'_>) {
    notes.count(expand_all(code.body(), *form, Shared::default(), divides_by_constant));
}

/// Phase 63.
pub fn late_expansion(
    code: Code<'_>,
    form: Read<'_, Form>,
    info: Read<'_, FunctionInfo>,
    mut notes: Notes<'_>,
) {
    let body = code.body();
    let is_macro = |inst: View<'_>| inst.op.has(Props::MACRO);
    let mut shared = Shared::default();
    let mut changes_registers = false;
    for id in body.layout().iter().flat_map(|b| body.block(*b).insts()) {
        let inst = body.inst(*id);
        changes_registers |= inst.op == Opcode::USETMAXREG;
        if is_macro(inst) && !divides_by_constant(inst) {
            shared.note(inst);
        }
    }
    if changes_registers || info.max_registers.is_some_and(|most| most < LEAST_REGISTERS) {
        shared = Shared::default();
    }
    notes.count(expand_all(body, *form, shared, is_macro));
}

fn divides_by_constant(inst: View<'_>) -> bool {
    matches!(inst.op, Opcode::IDIV | Opcode::IREM)
        && matches!(inst.get(macros::B), Some(Operand::Imm(_)))
}

/// Expands the chosen instructions; how many there were.
fn expand_all(
    body: Body<'_>,
    form: Form,
    mut shared: Shared,
    is_chosen: impl Fn(View<'_>) -> bool,
) -> usize {
    let has_chosen = |b| body.block(b).insts().iter().any(|id| is_chosen(body.inst(*id)));
    let chosen = body.layout().iter().map(|b| has_chosen(*b));
    let chosen = scratch!(Vec<bool>).with(chosen);
    if !chosen.contains(&true) {
        return 0;
    }
    let layout = body.walk();
    let (mut expanded, mut split, mut halves) = (0, Vec::new(), Vec::new());
    let mut e = Emit::edit_in(body, form);
    for (block, any) in layout.iter().copied().zip(chosen.iter().copied()) {
        if !any {
            e.open(block);
            continue;
        }
        for id in e.reopen(block) {
            if !is_chosen(e.body.inst(id)) {
                e.keep(id);
                continue;
            }
            let view = e.body.inst(id);
            let (inst, by_constant) = (view.to_inst(), divides_by_constant(view));
            let loc = e.body.loc(id);
            e.start(loc, Guard::ALWAYS);
            expand_one(&mut e, inst, by_constant, (&mut halves, &mut shared));
            e.body.discard(id);
            expanded += 1;
        }
        if e.block != block {
            split.push((block, e.block));
        }
    }
    shared.finish(&mut e);
    let mut body = e.finish();
    body.move_ends(&split);
    forget_unwritten(&mut body, &halves);
    expanded
}

/// Of a half that nothing writes nobody asks what was in it: those copies keep nothing.
fn forget_unwritten(body: &mut Body<'_>, halves: &[InstId]) {
    if halves.is_empty() {
        return;
    }
    let mut unwritten = scratch!(FxHashSet<(Reg, u8)>);
    unwritten.extend(halves.iter().flat_map(|id| body.inst(*id).tied()).map(|r| (r.reg, r.cell)));
    for id in body.layout().iter().flat_map(|b| body.block(*b).insts()) {
        body.inst(*id).for_each_def(|r| {
            for cell in r.cell..r.cell + r.count {
                unwritten.remove(&(r.reg, cell));
            }
        });
    }
    for id in halves {
        if body.inst(*id).tied().any(|r| unwritten.contains(&(r.reg, r.cell))) {
            body.set_tied(*id, &[RegUse::new(Reg::RZ)]);
        }
    }
}

/// Expands one, between copies of what the expansions do not take as it is.
///
/// They compute without a guard: where there is one, the copies to the destination have it, and
/// keep what the destination held.
fn expand_one(
    e: &mut Emit<'_>,
    mut inst: Inst,
    divides_by_constant: bool,
    (halves, shared): (&mut Vec<InstId>, &mut Shared),
) {
    let pairs = [Mod::F64, Mod::U64, Mod::S64].iter().any(|m| inst.mods.has(*m));
    let sources = inst.operands.iter_mut().skip(1);
    for operand in sources.take(if divides_by_constant { 1 } else { 2 }) {
        *operand = whole(e, *operand, pairs);
    }
    let Some(Operand::Reg(to)) = inst.operands.first().copied() else { return };
    if inst.guard.is_always() && (to.cell == 0 || to.count == 1) {
        return expand(e, &inst, shared);
    }
    let value = e.temp(to.count);
    inst.operands[macros::D] = wide(value, to.count);
    let (guard, tied) = (inst.guard, inst.tied.first().copied());
    expand(e, &inst, shared);
    for i in 0..to.count {
        let part = |r: RegUse| RegUse::at(r.reg, if r.reg.is_zero() { 0 } else { r.cell + i }, 1);
        let operands = [Operand::Reg(part(to)), cell(value, i), Operand::Imm(0xf)];
        let copy = e.body.make(Opcode::MOV, &[], 1, &operands, e.loc);
        e.body.set_guard(copy, guard);
        e.body.set_tied(copy, tied.map(part).as_slice());
        if tied.is_some_and(|tied| tied.count > 1 && !tied.reg.is_zero()) {
            halves.push(copy);
        }
        e.keep(copy);
    }
}

/// Brings a pair that begins inside a register, or a constant of 64 bits, to a register of its own.
fn whole(e: &mut Emit<'_>, operand: Operand, pair: bool) -> Operand {
    match operand {
        Operand::Reg(u) if pair && u.cell != 0 => {
            let [low, high] = [0, 1].map(|i| Operand::Reg(RegUse::at(u.reg, u.cell + i, 1)));
            Operand::Reg(RegUse { flags: u.flags, ..RegUse::wide(e.join(low, high), 2) })
        }
        Operand::Imm(v) if pair => wide(e.join(imm(v as u32), imm((v >> 32) as u32)), 2),
        other => other,
    }
}

fn expand(e: &mut Emit<'_>, inst: &Inst, shared: &mut Shared) {
    let is_double = inst.mods.has(Mod::F64);
    match inst.op {
        Opcode::IDIV | Opcode::IREM => divide::expand(e, inst, shared),
        Opcode::FDIV | Opcode::FRCP if is_double => double::divide(e, inst, shared),
        Opcode::FSQRT if is_double => double::square_root(e, inst, shared),
        Opcode::FDIV => float::divide(e, inst, shared),
        Opcode::FRCP => float::reciprocal(e, inst, shared),
        _ => float::square_root(e, inst, shared),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, ssa, testing};
    use orias_components::validate::validate;
    use orias_components::{Function, text};

    /// Expands a body in text form; the text after it.
    fn after(input: &str) -> String {
        run(&mut testing::parse(input))
    }

    /// The same for a body in SSA form.
    fn after_ssa(input: &str) -> String {
        let mut function = testing::parse(input);
        ssa::check(&function.body(), &mut Default::default()).expect("SSA form before");
        function.world().resource_mut::<Form>().is_ssa = true;
        let text = run(&mut function);
        ssa::check(&function.body(), &mut Default::default())
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        text
    }

    fn run(function: &mut Function) -> String {
        function.run(late_expansion);
        let errors = &function.world().resource::<Report>().errors;
        assert!(errors.is_empty(), "{errors:?}");
        let body = function.body();
        validate(&body).unwrap_or_else(|e| panic!("{e}"));
        text::print(&body, &text::Style::default())
    }

    fn count(text: &str, word: &str) -> usize {
        text.split(|c: char| !c.is_alphanumeric() && c != '.').filter(|w| *w == word).count()
    }

    const START: &str = "BB0:\n%R1 = S2R SR33\n%R2 = S2R SR34\n";

    #[test]
    fn a_body_without_macros_stays() {
        let text = after(&format!("{START}EXIT PT\n"));
        assert_eq!(text.matches("BB").count(), 1);
        assert_eq!(count(&text, "S2R"), 2);
    }

    #[test]
    fn integer_division_becomes_a_reciprocal_and_products_in_line() {
        let text = after(&format!("{START}%R3 = IDIV.U32 %R1, %R2\nSTS [RZ], %R3\nEXIT PT\n"));
        assert_eq!(count(&text, "IDIV.U32"), 0);
        assert_eq!(count(&text, "MUFU.RCP"), 1);
        assert_eq!(count(&text, "BRA"), 0, "{text}");
    }

    #[test]
    fn float_division_has_its_rare_case_in_a_block_of_its_own() {
        let text = after(&format!("{START}%R3 = FDIV.F32 %R1, %R2\nSTS [RZ], %R3\nEXIT PT\n"));
        assert_eq!(count(&text, "FDIV.F32"), 0);
        assert_eq!(count(&text, "FCHK"), 1);
        let block_starts = text.lines().filter(|l| l.trim_start().starts_with("BB")).count();
        assert_eq!(block_starts, 4, "{text}");
        // What stood behind the division stands behind its last block's beginning.
        assert!(text.rfind("STS").expect("the store") > text.rfind("BB").expect("a block"));
    }

    #[test]
    fn a_guard_stays_on_what_writes_the_result() {
        let input = format!(
            "{START}%P4 = ISETP.EQ.AND PT, %R1, %R2, PT\n@%P4 %R1 = IREM.S32 %R1, %R2\nSTS [RZ], %R1\nEXIT PT\n"
        );
        // The comparison has two destinations in its row's order.
        let input = input.replace("%P4 = ISETP.EQ.AND PT,", "%P4, PT = ISETP.EQ.AND");
        let text = after(&input);
        let guarded: Vec<&str> = text.lines().filter(|l| l.contains("@%P4")).collect();
        assert_eq!(guarded.len(), 1, "{text}");
        assert!(guarded[0].contains("%R1 = MOV"), "{guarded:?}");
    }

    #[test]
    fn phase_9_expands_division_by_constants_only() {
        let mut function = testing::parse(&format!(
            "{START}%R3 = IDIV.U32 %R1, 0xa\n%R4 = IREM.S32 %R1, %R2\n%R5 = FRCP.F32 %R1\n\
             STS [RZ], %R3\nSTS [RZ], %R4\nSTS [RZ], %R5\nEXIT PT\n"
        ));
        function.run(create_macro_insts);
        let text = text::print(&function.body(), &text::Style::default());
        let left = ["IDIV.U32", "IREM.S32", "FRCP.F32"].map(|op| count(&text, op));
        assert_eq!(left, [0, 1, 1], "{text}");
    }

    #[test]
    fn a_phi_behind_an_expansion_hears_of_the_block_that_its_value_comes_from_now() {
        let text = after_ssa(
            "BB0:
                %R1 = S2R SR33
                %R2 = S2R SR34
            BB1:
                %R3 = MOVPHI %R1, BB0, %R4, BB1
                %R4 = FDIV.F32 %R3, %R2
                %P5, PT = FSETP.GT.AND %R4, 0x3f800000, PT
                @%P5 BRA PT, BB1
            BB2:
                STS [RZ], %R4
                EXIT PT",
        );
        // One meets at the header, one behind the division's two ways.
        assert_eq!(count(&text, "MOVPHI"), 2, "{text}");
    }

    #[test]
    fn each_macro_expands_in_ssa_form() {
        for (inst, cells) in [
            ("IDIV.U32 %R1, %R2", 1),
            ("IREM.S32 %R1, 0x7", 1),
            ("IDIV.S64 %R4:2, %R4[2]:2", 2),
            ("IREM.U64 %R4:2, 0x3b9aca07", 2),
            ("IDIV.U64 0x123456789, %R4:2", 2),
            ("FDIV.F32.FTZ 0x3f800000, %R2", 1),
            ("FDIV.F32.RP %R1, %R2", 1),
            ("FSQRT.F32 %R1", 1),
            ("FRCP.F32 %R1", 1),
            ("FDIV.F64 %R4:2, %R4[2]:2", 2),
            ("FRCP.F64.RZ %R4:2", 2),
            ("FSQRT.F64 %R4[2]:2", 2),
        ] {
            let (wide, store) = if cells == 2 { (":2", ".64") } else { ("", "") };
            after_ssa(&format!(
                "{START}%R4:4 = LDS.128 [RZ]\n%R8{wide} = {inst}\nSTS{store} [RZ], %R8{wide}\nEXIT PT\n"
            ));
        }
    }

    #[test]
    fn a_guarded_macro_keeps_what_it_is_tied_to() {
        let text = after_ssa(
            "BB0:
                %R1 = S2R SR33
                %R2:2 = LDS.64 [RZ]
                %P4, PT = ISETP.EQ.AND %R1, 0x5, PT
                @%P4 %R6:2 = FSQRT.F64 %R2:2 else %R2:2
                STS.64 [RZ], %R6:2
                EXIT PT",
        );
        let guarded: Vec<&str> = text.lines().filter(|l| l.contains("@%P4")).collect();
        assert!(
            guarded[0].contains("else %R2") && guarded[1].contains("else %R2[1]"),
            "{guarded:?}"
        );
        assert_eq!(guarded.len(), 2);
    }

    #[test]
    fn a_half_that_nothing_writes_is_not_kept() {
        let text = after_ssa(
            "BB0:
                %R1 = S2R SR33
                %R2:2 = LDS.64 [RZ]
                %R8[1] = MOV %R1, 0xf
                %P4, PT = ISETP.EQ.AND %R1, 0x5, PT
                @%P4 %R6:2 = FSQRT.F64 %R2:2 else %R8:2
                STS [RZ], %R6[1]
                EXIT PT",
        );
        let guarded: Vec<&str> = text.lines().filter(|l| l.contains("@%P4")).collect();
        assert_eq!(guarded.len(), 2, "{text}");
        assert!(
            guarded[0].contains("else RZ") && guarded[1].contains("else %R8[1]"),
            "{guarded:?}"
        );
    }

    #[test]
    fn what_is_the_same_at_several_places_is_a_subroutine() {
        let three = "%R4:2 = LDS.64 [RZ]\n%R6:2 = IDIV.U64 %R4:2, %R4:2\n%R8:2 = IDIV.U64 %R6:2, %R4:2\n\
                     %R10:2 = IDIV.U64 %R8:2, %R4:2\n%R12:2 = IREM.U64 %R10:2, %R4:2\nSTS.64 [RZ], %R12:2\nEXIT PT\n";
        let text = after_ssa(&format!("BB0:\n{three}"));
        // The remainder stands in line.
        let found = ["SUBCALL", "SUBARGS", "SUBRET", "MUFU.RCP"].map(|op| count(&text, op));
        assert_eq!(found, [3, 1, 1, 2], "{text}");
    }

    #[test]
    fn rare_ways_of_two_divisions_are_one_subroutine() {
        let text = after_ssa(&format!(
            "{START}%R3 = FDIV.F32 %R1, %R2\n%R4 = FDIV.F32 %R3, %R2\nSTS [RZ], %R4\nEXIT PT\n"
        ));
        let found = ["FCHK", "SUBCALL", "SUBRET", "MUFU.RCP64H"].map(|op| count(&text, op));
        assert_eq!(found, [2, 2, 1, 1], "{text}");
    }

    #[test]
    fn a_function_with_few_registers_has_no_subroutines() {
        let mut function = testing::parse(&format!(
            "{START}%R3 = FDIV.F32 %R1, %R2\n%R4 = FDIV.F32 %R3, %R2\nSTS [RZ], %R4\nEXIT PT\n"
        ));
        function.world().resource_mut::<FunctionInfo>().max_registers = Some(32);
        assert_eq!(count(&run(&mut function), "SUBCALL"), 0);
    }
}
