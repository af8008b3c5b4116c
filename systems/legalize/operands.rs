//! Phases 55 and 103, EnforceArgumentRestrictions and LateEnforceArgumentRestrictions; phase 110,
//! FinalInspectionPass.
//!
//! What holds afterwards: every instruction that is not a pseudo instruction has a row in the
//! target's table, ptxas was seen to emit it with operands of these kinds (where the target is
//! bound to that), and each operand fits its slot. An operand that is not taken where it stands (a
//! constant bank, a second constant, an immediate in the first source, a uniform register beside an
//! immediate) is moved to a register by an instruction before; nothing here knows opcodes: rows and
//! what was seen decide. Immediates are canonical: sign-extended where the slot is signed, 32 bits
//! otherwise. Running it twice changes nothing.

use crate::function::Options;
use crate::notes::Notes;
use crate::parallel;
use crate::params::Read;
use bevy_ecs::prelude::*;
use orias_components::{
    Body, Code, Inst, InstId, Loc, MemRef, Mod, Opcode, Operand, Reader, Reg, RegFile, RegFlags,
    RegUse, Rewrite,
};
use orias_targets::Target;
use orias_targets::form::{FlagBits, Form, Slot, SlotKind};
use smallvec::SmallVec;

/// Phases 55 and 103.
pub fn enforce_argument_restrictions(
    code: Code<'_>,
    options: Read<'_, Options>,
    mut notes: Notes<'_>,
) {
    let target = options.target;
    let mut errors = Vec::new();
    let mut rewrites = 0;
    let mut body = code.body();
    if parallel::has_help(body.inst_count()) {
        find_forms(target, &mut body);
    }
    body.rewrite_all(|body, out, id| {
        if !body.op(id).is_pseudo() && body.form(id).is_none() {
            match fix(target, body, id, out) {
                Ok(changes) => rewrites += changes,
                Err(message) => errors.push((message, body.loc(id))),
            }
        }
        out.keep(id);
    });
    report(&mut notes, errors);
    notes.count(rewrites);
}

/// Notes the forms of the instructions that need no change, with the help of other threads.
fn find_forms(target: &'static Target, body: &mut Body<'_>) {
    // By id: 1 + the form's index, 0 where there is something to do or to find out.
    let mut forms = vec![0u16; body.inst_count()];
    let seen = &*body;
    parallel::fill(&mut forms, |start, forms| {
        for (found, id) in forms.iter_mut().zip((start as u32..).map(InstId)) {
            if !seen.has_inst(id) || seen.op(id).is_pseudo() || seen.form(id).is_some() {
                continue;
            }
            let inst = seen.inst(id).to_inst();
            let form = target.takes(&inst).filter(|form| misfit(form, &inst.operands).is_none());
            let form = form.filter(|form| uncanonical(&inst.operands, form).next().is_none());
            *found = form.map_or(0, |form| form.index + 1);
        }
    });
    for (id, form) in forms.iter().enumerate().filter(|(_, form)| **form != 0) {
        body.set_form(InstId(id as u32), form - 1);
    }
}

/// Phase 110: nothing without an encoding goes on to scheduling.
pub fn final_inspection(code: Reader<'_>, options: Read<'_, Options>, mut notes: Notes<'_>) {
    let target = options.target;
    let mut errors = Vec::new();
    let body = code.body();
    for block in body.layout() {
        for id in body.block(*block).insts() {
            if body.form(*id).is_some() || body.op(*id).is_of_calls() {
                continue;
            }
            let inst = body.inst(*id);
            if inst.op.is_pseudo() {
                errors.push((format!("{} was not expanded", inst.op), body.loc(*id)));
            } else if let Err(message) = check(target, &inst.to_inst()) {
                errors.push((message, body.loc(*id)));
            }
        }
    }
    report(&mut notes, errors);
}

fn report(notes: &mut Notes<'_>, errors: Vec<(String, Loc)>) {
    for (message, loc) in errors {
        notes.fail(message, loc);
    }
}

/// What is wrong with an instruction, if anything.
fn check(target: &Target, inst: &Inst) -> Result<(), String> {
    let Some(form) = target.takes(inst) else {
        let why = match target.unseen(inst) {
            Some(unseen) if target.bound => unseen.to_string(),
            _ => format!("no instruction of {} takes these operands", target.name),
        };
        return Err(format!("{}: {why}", describe(inst)));
    };
    match misfit(form, &inst.operands) {
        Some(i) => Err(format!("{}: operand {} does not fit", describe(inst), form.slots[i].name)),
        None => Ok(()),
    }
}

fn describe(inst: &Inst) -> String {
    format!("{}{}", inst.op, inst.mods)
}

/// Moves operands out of an instruction until a row takes it; the moves go to `before`. Returns how
/// many changes it took.
fn fix(
    target: &Target,
    body: &mut Body<'_>,
    id: InstId,
    before: &mut Rewrite,
) -> Result<usize, String> {
    let inst = body.inst(id);
    let mut operands = SmallVec::<[Operand; 8]>::new();
    operands.extend(inst.operands());
    let form = match inst.op {
        Opcode::BRX => target.takes(&inst.to_inst()),
        _ => target.takes_view(inst, &operands),
    };
    if let Some(form) = form
        && misfit(form, &operands).is_none()
    {
        let changes = canonical_immediates(body, id, &operands, form);
        body.set_form(id, form.index);
        return Ok(changes);
    }
    let inst = inst.to_inst();
    let movable: SmallVec<[usize; 8]> = (inst.defs as usize..inst.operands.len())
        .filter(|i| is_movable(&inst.operands[*i]))
        .collect();
    // The fewest operands, and of these the first, that make a row fit.
    for count in 1..=movable.len() {
        for mask in 0u32..1 << movable.len() {
            if mask.count_ones() as usize != count {
                continue;
            }
            let chosen: SmallVec<[usize; 8]> = movable
                .iter()
                .enumerate()
                .filter(|(bit, _)| mask >> bit & 1 != 0)
                .map(|(_, i)| *i)
                .collect();
            let mut trial = inst.clone();
            for i in &chosen {
                // Any register but RZ, which as a base means none.
                trial.operands[*i] = in_register(trial.operands[*i], Reg::phys(RegFile::R, 0));
            }
            let fits = target.takes(&trial).filter(|form| misfit(form, &trial.operands).is_none());
            if let Some(form) = fits {
                for i in chosen {
                    move_out(body, id, i, before);
                }
                let moved = body.inst(id).to_inst();
                let changes = count + canonical_immediates(body, id, &moved.operands, form);
                body.set_form(id, form.index);
                return Ok(changes);
            }
        }
    }
    check(target, &inst).map(|()| 0)
}

/// Whether an operand is a 32-bit value that a MOV can bring to a general register.
fn is_movable(operand: &Operand) -> bool {
    match operand {
        Operand::Imm(_) | Operand::Symbol { .. } => true,
        Operand::Const(c) => !c.is_bindless() && c.base.is_zero(),
        Operand::Reg(u) => is_plain_uniform(u),
        // The uniform register of an address, where no general one is added.
        Operand::Mem(m) => m.base.reg.is_zero() && is_plain_uniform(&m.uniform),
        _ => false,
    }
}

fn is_plain_uniform(u: &RegUse) -> bool {
    u.reg.file() == RegFile::UR && !u.reg.is_zero() && u.count == 1 && u.flags == RegFlags::NONE
}

/// The operand with its value in a register: what is done to it as it is read stays.
fn in_register(operand: Operand, reg: Reg) -> Operand {
    match operand {
        Operand::Const(c) => {
            let read = RegUse { flags: c.flags, ..RegUse::new(reg) };
            if c.part == Mod::NONE { Operand::Reg(read) } else { Operand::Part(read, c.part) }
        }
        Operand::Mem(m) => {
            let uniform = RegUse::new(Reg::URZ);
            Operand::Mem(MemRef { base: RegUse::new(reg), uniform, sel: Mod::NONE, ..m })
        }
        _ => Operand::reg(reg),
    }
}

/// Replaces an operand by a register with its value: a constant comes by LDC, which every SM has.
fn move_out(body: &mut Body<'_>, id: InstId, i: usize, before: &mut Rewrite) {
    let operand = body.inst(id).operand(i);
    if operand == Operand::Imm(0) {
        body.set_operand(id, i, Operand::RZ);
        return;
    }
    let loc = body.loc(id);
    let reg = body.new_vreg(RegFile::R, 1, 1);
    let d = Operand::reg(reg);
    let load = match operand {
        Operand::Const(c) => {
            let from = Operand::constant(c.bank, c.offset);
            Inst::new(Opcode::LDC, &[], 1, &[d, from])
        }
        Operand::Mem(m) => {
            Inst::new(Opcode::MOV, &[], 1, &[d, Operand::Reg(m.uniform), Operand::Imm(0xf)])
        }
        _ => Inst::new(Opcode::MOV, &[], 1, &[d, operand, Operand::Imm(0xf)]),
    };
    before.put(body, &load, loc);
    body.set_operand(id, i, in_register(operand, reg));
}

/// The first operand whose flags, value or offset its slot cannot hold.
fn misfit(form: &Form, operands: &[Operand]) -> Option<usize> {
    form.slots.iter().zip(operands).position(|(slot, operand)| !fits(slot, operand))
}

fn fits(slot: &Slot, operand: &Operand) -> bool {
    match (&slot.kind, operand) {
        (
            SlotKind::Reg { flags, .. } | SlotKind::Part { flags, .. },
            Operand::Reg(u) | Operand::Part(u, _),
        ) => flags_fit(flags, u.flags),
        (SlotKind::Imm { bits, signed, scale, .. }, Operand::Imm(value)) => {
            let scale = u64::from(*scale).max(1);
            if !value.is_multiple_of(scale) {
                return false;
            }
            let width = bits.width();
            if width >= 32 {
                return true;
            }
            if *signed {
                let v = *value as i64 / scale as i64;
                (-(1i64 << (width - 1))..1i64 << (width - 1)).contains(&v)
            } else {
                value / scale <= bits.max()
            }
        }
        (SlotKind::Const { flags, offset, scale, .. }, Operand::Const(c)) => {
            let scale = i64::from(*scale).max(1);
            let at = i64::from(c.offset);
            let limit = (offset.max() as i64 + 1) * scale;
            flags_fit(flags, c.flags) && at % scale == 0 && (-limit / 2..limit).contains(&at)
        }
        (SlotKind::Mem { offset, .. }, Operand::Mem(m)) => {
            // Where there is no room for an offset there is none.
            let half = 1i64 << offset.width() >> 1;
            m.offset == 0 || (-half..half).contains(&i64::from(m.offset))
        }
        _ => true,
    }
}

fn flags_fit(places: &FlagBits, flags: RegFlags) -> bool {
    let none = flags == RegFlags::NONE;
    none || [(RegFlags::NEG, places.neg), (RegFlags::ABS, places.abs), (RegFlags::NOT, places.not)]
        .iter()
        .all(|(flag, place)| !flags.has(*flag) || *place != 0)
}

/// Writes immediates as decoding gives them back. Returns how many changed.
fn canonical_immediates(
    body: &mut Body<'_>,
    id: InstId,
    operands: &[Operand],
    form: &Form,
) -> usize {
    let mut changes = 0;
    for (i, value) in uncanonical(operands, form) {
        body.set_operand(id, i, Operand::Imm(value));
        changes += 1;
    }
    changes
}

/// The operands that are immediates which decoding would give back otherwise, and how.
fn uncanonical(operands: &[Operand], form: &Form) -> impl Iterator<Item = (usize, u64)> {
    let slots = form.slots.iter().zip(operands).enumerate();
    slots.filter_map(|(i, (slot, operand))| match (&slot.kind, operand) {
        (SlotKind::Imm { bits, signed, scale: 0 | 1, .. }, Operand::Imm(value))
            if bits.width() == 32 =>
        {
            let low = *value as u32;
            let canonical = if *signed { low as i32 as i64 as u64 } else { u64::from(low) };
            (canonical != *value).then_some((i, canonical))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;
    use crate::testing;
    use orias_components::text;

    /// Legalizes a body in text form twice; the text after it, and that the second time changed
    /// nothing.
    fn after(input: &str) -> Result<Vec<String>, String> {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).expect("Ori");
        function.run(enforce_argument_restrictions);
        function.run(final_inspection);
        if let Some(error) = function.world().resource::<Report>().errors.first() {
            return Err(error.message.clone());
        }
        function.world().resource_mut::<Report>().rewrites = 0;
        function.run(enforce_argument_restrictions);
        assert_eq!(function.world().resource::<Report>().rewrites, 0, "not idempotent: {input}");
        let printed = text::print(&function.body(), &text::Style::default());
        let lines = printed.lines().map(|l| l.split("//").next().unwrap_or("").trim().to_string());
        Ok(lines.filter(|l| !l.is_empty()).collect())
    }

    fn expect(input: &str, output: &[&str]) {
        let mut expected = vec!["BB0:".to_string()];
        expected.extend(output.iter().map(ToString::to_string));
        expected.push("EXIT PT".to_string());
        assert_eq!(after(&format!("BB0:\n{input}\nEXIT PT")).expect("legal"), expected);
    }

    #[test]
    fn what_a_row_takes_stays() {
        let inst = "%R1, PT, PT = IADD3 %R2, 0x5, RZ";
        expect(inst, &[inst]);
    }

    #[test]
    fn one_of_two_constants_moves_to_a_register() {
        expect(
            "PT, %R1 = LOP3.LUT %R2, 0x80000000, 0x3f800000, 0xea, !PT",
            &["%R3 = MOV 0x3f800000, 0xf", "PT, %R1 = LOP3.LUT %R2, 0x80000000, %R3, 0xea, !PT"],
        );
    }

    #[test]
    fn an_immediate_in_the_first_source_moves_and_zero_is_the_zero_register() {
        expect("%R1 = SEL 0x7, %R2, PT", &["%R3 = MOV 0x7, 0xf", "%R1 = SEL %R3, %R2, PT"]);
        expect("%R1 = SEL 0x0, %R2, PT", &["%R1 = SEL RZ, %R2, PT"]);
    }

    #[test]
    fn a_uniform_register_beside_an_immediate_moves() {
        let moved = after("BB0:\n%R1, PT, PT = IADD3 %UR2, 0x10, RZ\nEXIT PT").expect("legal");
        assert_eq!(moved.len(), 4, "{moved:?}");
        assert!(moved[1].contains("MOV %UR2"), "{moved:?}");
    }

    #[test]
    fn an_address_in_a_uniform_register_moves_where_only_general_ones_were_seen() {
        let store = |address| format!("STSM.16.M88.4 {address}, %R4:4");
        expect(&store("[RZ+%UR2+0x20]"), &["%R5 = MOV %UR2, 0xf", &store("[%R5+0x20]")]);
        expect("%R1 = LDS [RZ+%UR2]", &["%R1 = LDS [RZ+%UR2]"]);
    }

    #[test]
    fn an_instruction_without_a_row_is_an_error_that_names_it() {
        let error = after("BB0:\n%R1 = FADD.WIDE %R2, %R3\nEXIT PT").expect_err("no such row");
        assert!(error.contains("FADD.WIDE"), "{error}");
    }
}
