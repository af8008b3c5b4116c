//! What the instruction table promises, whatever its rows say.

use orias_components::{
    ConstRef, Inst, MemRef, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, VRegId,
};
use orias_targets::form::{Cells, SlotKind};
use orias_targets::latency::Class;
use orias_targets::text::{Numeric, instruction};
use orias_targets::{Target, target};

fn sm90() -> &'static Target {
    target("sm_90a").expect("sm_90a is a target")
}

fn r(n: u32) -> Operand {
    Operand::reg(Reg::phys(RegFile::R, n))
}

fn wide(n: u32, cells: u8) -> Operand {
    Operand::Reg(RegUse::wide(Reg::phys(RegFile::R, n), cells))
}

fn text(inst: &Inst) -> String {
    let word = sm90().encode(inst, 0).expect("encodes");
    instruction(sm90(), &sm90().decode(word, 0).expect("decodes"), &Numeric)
}

/// IADD3 with its carries left out.
fn iadd3(a: Operand, b: Operand, c: Operand) -> Inst {
    Inst::new(Opcode::IADD3, &[], 3, &[r(0), Operand::PT, Operand::PT, a, b, c])
}

#[test]
fn the_rows_of_every_target_can_be_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tables");
    for target in Target::all() {
        let rows = target.with_rows(&folder).unwrap_or_else(|e| panic!("{}: {e}", target.name));
        assert_eq!(rows.table().len(), target.table().len(), "{}", target.name);
    }
}

#[test]
fn every_bit_of_every_word_belongs_to_one_named_field_or_is_constant() {
    for target in Target::all() {
        for form in target.table().forms() {
            let place = format!("{} {}", target.name, form.row);
            let mut owned = 0u128;
            for field in form.layout() {
                assert!(
                    !field.name.is_empty() && !field.name.ends_with('.'),
                    "{place}: a nameless field"
                );
                assert_eq!(owned & field.mask, 0, "{place}: {} lies in another field", field.name);
                owned |= field.mask;
            }
            assert_eq!(form.fixed_mask, !owned, "{place}: bits that no field owns are constant");
            assert_eq!(form.fixed & owned, 0, "{place}: a constant lies in a field");
        }
    }
}

#[test]
fn destinations_lead_and_every_width_names_a_field() {
    for form in sm90().table().forms() {
        assert!(form.defs as usize <= form.slots.len(), "{}", form.row);
        assert!(form.slots.len() <= 16, "{}: kinds are four bits each", form.row);
        assert!(form.mods.len() <= 12, "{}", form.row);
        for slot in form.slots {
            if let Cells::Field(i) = slot.cells {
                assert!((i as usize) < form.mods.len(), "{}: width of {}", form.row, slot.name);
            }
        }
        for field in form.mods {
            let width = field.bits.width();
            for option in field.options {
                assert!(u64::from(option.value) < 1 << width, "{}: {:?}", form.row, option.words);
            }
            for (i, a) in field.options.iter().enumerate() {
                let twice =
                    field.options[..i].iter().any(|b| a.words == b.words || a.value == b.value);
                assert!(!twice, "{}: two options are {:?}", form.row, a.words);
            }
        }
    }
}

#[test]
fn only_variable_results_and_stores_touch_scoreboards() {
    for form in sm90().table().forms() {
        let variable = form.class.is_variable()
            || matches!(form.class, Class::Special | Class::Fp64 | Class::MmaSmall);
        assert!(variable || !(form.write_sb || form.read_sb), "{}", form.row);
        let result =
            form.slots[..form.defs as usize].iter().any(|s| matches!(s.kind, SlotKind::Reg { .. }));
        if form.write_sb {
            // LDGDEPBAR counts earlier copies, FENCE earlier accesses, and at -O0 ptxas waits for
            // all that writes memory (LDGSTS, SYNCS) and for the return of registers (USETMAXREG):
            // none has a result of its own.
            use Opcode::*;
            let counts = matches!(form.op, LDGDEPBAR | FENCE | LDGSTS | SYNCS | USETMAXREG);
            assert!(result || counts, "{}", form.row);
        }
    }
}

#[test]
fn an_operand_may_be_what_some_row_allows() {
    let inst = iadd3(r(1), r(2), Operand::RZ);
    let target = sm90();
    assert!(target.accepts(&inst, 4, Operand::Imm(7)));
    // The table has constants there, ptxas was never seen to use one.
    assert!(!target.accepts(&inst, 4, Operand::constant(0, 0x210)));
    assert!(target.widened().accepts(&inst, 4, Operand::constant(0, 0x210)));
    assert!(target.accepts(&inst, 4, Operand::reg(Reg::phys(RegFile::UR, 4))));
    // IADD3 has no immediate as its third source, and its first is a register.
    assert!(!target.accepts(&inst, 5, Operand::Imm(7)));
    assert!(!target.accepts(&inst, 3, Operand::Imm(7)));
    // Two of them at once have no row either.
    let imm = iadd3(r(1), Operand::Imm(7), Operand::RZ);
    assert!(!target.accepts(&imm, 5, Operand::constant(0, 0x210)));
}

#[test]
fn virtual_registers_find_their_form_but_do_not_encode() {
    let vreg = Operand::reg(Reg::virt(RegFile::R, VRegId(3)));
    let inst = iadd3(vreg, r(2), Operand::RZ);
    assert!(sm90().form(&inst).is_some());
    let error = sm90().encode(&inst, 0).expect_err("not allocated");
    assert!(error.to_string().contains("not allocated"), "{error}");
}

#[test]
fn the_encoder_checks_files_alignment_ranges_and_flags() {
    let error = |inst: &Inst| sm90().encode(inst, 0).expect_err("must not encode").to_string();
    // R255 would be RZ.
    assert!(error(&iadd3(r(255), r(2), r(3))).contains("beyond the file"));
    // A predicate where a register stands.
    assert!(error(&iadd3(Operand::PT, r(2), r(3))).contains("kinds"));
    // A 64-bit value in an odd register.
    let dadd = Inst::new(Opcode::DADD, &[], 1, &[wide(2, 2), wide(5, 2), wide(6, 2)]);
    assert!(error(&dadd).contains("aligned"));
    // An immediate of 33 bits.
    assert!(error(&iadd3(r(1), Operand::Imm(1 << 32), r(3))).contains("32 bits"));
    // An absolute value of an integer.
    let abs =
        Operand::Reg(RegUse { flags: RegFlags::ABS, ..RegUse::new(Reg::phys(RegFile::R, 1)) });
    assert!(error(&iadd3(abs, r(2), r(3))).contains("||"));
    // A modifier that the row has not.
    let mut inst = iadd3(r(1), r(2), r(3));
    inst.mods.push(Mod::FTZ);
    assert!(error(&inst).contains("modifiers"));
    // A scoreboard for a fixed-latency result, and a stall that the yield bit does not go with.
    let mut inst = iadd3(r(1), r(2), r(3));
    inst.control.write_sb = 0;
    assert!(error(&inst).contains("scoreboard"));
    inst.control.write_sb = 7;
    inst.control.stall = 15;
    assert!(error(&inst).contains("stall"));
    inst.control.yield_ = false;
    assert!(sm90().encode(&inst, 0).is_ok());
    // An address offset of 25 bits.
    let mem = MemRef {
        base: RegUse::new(Reg::phys(RegFile::R, 4)),
        uniform: RegUse::new(Reg::URZ),
        offset: 1 << 23,
        sel: Mod::NONE,
    };
    assert!(error(&Inst::new(Opcode::LDS, &[], 1, &[r(0), Operand::Mem(mem)])).contains("24 bits"));
    // A constant above the bank.
    let far = ConstRef {
        bank: 0,
        flags: RegFlags::NONE,
        base: Reg::RZ,
        base_cell: 0,
        handle: Reg::RZ,
        part: Mod::NONE,
        offset: 0x10000,
    };
    assert!(error(&iadd3(r(1), Operand::Const(far), r(3))).contains("16 bits"));
}

#[test]
fn a_branch_counts_from_the_next_instruction() {
    let bra = Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Addr(0x40)]);
    let word = sm90().encode(&bra, 0x100).expect("encodes");
    let back = sm90().decode(word, 0x100).expect("decodes");
    assert_eq!(back.operands[1], Operand::Addr(0x40));
    assert_eq!(sm90().decode(word, 0x200).expect("decodes").operands[1], Operand::Addr(0x140));
}

#[test]
fn text_shows_aliases_and_hides_defaults() {
    let imad = |a, b, c| Inst::new(Opcode::IMAD, &[], 1, &[r(0), a, b, c]);
    assert_eq!(text(&imad(r(1), Operand::Imm(1), r(2))), "IMAD.IADD R0, R1, 0x1, R2 ;");
    assert_eq!(text(&imad(Operand::RZ, Operand::RZ, r(2))), "IMAD.MOV R0, RZ, RZ, R2 ;");
    assert_eq!(text(&imad(r(1), Operand::Imm(8), Operand::RZ)), "IMAD.SHL R0, R1, 0x8, RZ ;");
    assert_eq!(text(&iadd3(r(1), Operand::Imm(0xffff_ffff), r(3))), "IADD3 R0, R1, -0x1, R3 ;");
}

#[test]
fn garbage_words_are_errors_that_name_the_place() {
    let error = sm90().decode(0xfff, 0x30).expect_err("no such instruction");
    assert!(error.to_string().contains("at 0x30"), "{error}");
    // Every single-bit change of a word decodes to something that encodes to the same word, or to
    // nothing.
    for form in sm90().table().forms() {
        for bit in 0..128 {
            let word = form.fixed ^ 1 << bit;
            if let Ok(inst) = sm90().decode(word, 0)
                && let Ok(again) = sm90().encode(&inst, 0)
            {
                assert_eq!(again, word, "{} bit {bit}", form.row);
            }
        }
    }
}

#[test]
fn special_registers_have_one_name_each() {
    for n in 0..=255u8 {
        let name = sm90().special_name(n);
        assert_eq!(sm90().special(&name), Some(n), "{name}");
    }
    assert_eq!(sm90().special("SR_TID.X"), Some(33));
}

/// A series of options: one bracket for the words, one for the cells.
#[test]
fn a_series_of_options_names_each_shape_and_its_registers() {
    let form = |row: &str| {
        sm90().table().forms().find(|f| f.row.starts_with(row) && f.op == Opcode::HGMMA)
    };
    let field = &form("matrix.isa").expect("HGMMA has rows").mods[0];
    let cells = |word: &str| {
        let shape = |o: &&orias_targets::form::ModOption| o.words[0].name() == word;
        field.options.iter().filter(shape).map(|o| o.cells).collect::<Vec<_>>()
    };
    assert_eq!(cells("64x8x16"), [2, 4], "of halves and of floats");
    assert_eq!(cells("64x256x16"), [64, 128]);
}
