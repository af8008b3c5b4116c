//! Words to instructions: the inverse of the encoder, from the same rows.

use crate::form::{Bits, Cells, FlagBits, Form, ModField, ModOption, Slot, SlotKind};
use crate::load::Head;
use crate::target::Target;
use orias_components::{
    ConstRef, Control, Guard, Inst, MemRef, Mod, Mods, Operand, Reg, RegFile, RegFlags, RegUse,
};
use smallvec::SmallVec;
use thiserror::Error;

/// A word that no row explains.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// No row has the number.
    #[error("at {pc:#x}: no instruction has the opcode bits {number:#05x} (word {word:#034x})")]
    Opcode {
        /// Byte offset in the text that targets count in.
        pc: u64,
        /// The low twelve bits.
        number: u16,
        /// The whole word.
        word: u128,
    },
    /// Rows have the number, but each has other bits set, or values that a field does not list.
    #[error("at {pc:#x}: bits {unexpected:#x} of word {word:#034x} fit no form of {op}")]
    Bits {
        /// Byte offset in the text that targets count in.
        pc: u64,
        /// The mnemonic of the row that fits best.
        op: &'static str,
        /// The bits that this row does not explain.
        unexpected: u128,
        /// The whole word.
        word: u128,
    },
}

/// Where the control fields begin.
const CONTROL: u32 = 105;

/// The instruction and its row.
pub(crate) fn decode(
    target: &Target,
    word: u128,
    pc: u64,
) -> Result<(&'static Form, Inst), DecodeError> {
    let number = (word & 0xfff) as u16;
    let table = target.table();
    let heads = || {
        let wrong = move |head: Head| (word ^ head.fixed()) & head.fixed_mask();
        table.numbered(number).map(move |(index, head)| (index, wrong(head)))
    };
    for (index, _) in heads().filter(|(_, wrong)| *wrong == 0) {
        let form = table.form(index);
        if let Some(inst) = decode_form(target, form, word, pc) {
            return Ok((form, inst));
        }
    }
    let nearest = heads().min_by_key(|(_, wrong)| wrong.count_ones());
    Err(match nearest {
        Some((index, unexpected)) => {
            DecodeError::Bits { pc, op: table.form(index).op.name(), unexpected, word }
        }
        None => DecodeError::Opcode { pc, number, word },
    })
}

/// The option of a value; most fields have one for every value, in order.
fn choice(field: &ModField, value: u16) -> Option<&ModOption> {
    match field.options.get(usize::from(value)) {
        Some(option) if option.value == value => Some(option),
        _ => field.options.iter().find(|o| o.value == value),
    }
}

fn decode_form(target: &Target, form: &'static Form, word: u128, pc: u64) -> Option<Inst> {
    let mut mods = Mods::default();
    let mut cells = [1u8; 12];
    for (i, field) in form.mods.iter().enumerate() {
        let value = field.bits.get(word) as u16;
        let option = choice(field, value)?;
        cells[i] = option.cells;
        for m in option.words {
            if !mods.push(*m) {
                return None;
            }
        }
    }
    let mut operands = SmallVec::new();
    for slot in form.slots {
        let count = |c: Cells| match c {
            Cells::Fixed(n) => n,
            Cells::Field(i) => cells[i as usize],
            Cells::Operand(i) => named_cells(&form.slots[i as usize].kind, word),
        };
        let operand = operand(target, slot, count(slot.cells), &count, word, pc)?;
        if slot.needed && matches!(&operand, Operand::Reg(r) if r.reg.is_zero()) {
            return None;
        }
        operands.push(operand);
    }
    let c = (word >> CONTROL) as u64;
    let scoreboard = |n: u64| if n == 6 { None } else { Some(n as u8) };
    let control = Control {
        stall: (c & 15) as u8,
        yield_: c >> 4 & 1 != 0,
        write_sb: scoreboard(c >> 5 & 7)?,
        read_sb: scoreboard(c >> 8 & 7)?,
        wait: (c >> 11 & 63) as u8,
    };
    let guard = Guard {
        reg: register(target, form.guard, (word >> 12) as u64 & 7)?,
        negated: word >> 15 & 1 != 0,
    };
    // A guard that always holds has one name, whatever the file.
    let guard = if guard.reg.is_zero() && !guard.negated { Guard::ALWAYS } else { guard };
    let tied = SmallVec::new();
    Some(Inst { op: form.op, defs: form.defs, control, guard, mods, operands, tied })
}

fn register(target: &Target, file: RegFile, index: u64) -> Option<Reg> {
    let size = target.file_size(file) as u64;
    match index {
        i if i < size => Some(Reg::phys(file, i as u32)),
        i if i == size => Some(Reg::zero(file)),
        _ => None,
    }
}

fn flags(places: &FlagBits, word: u128) -> RegFlags {
    // Every operand passes here: one half of the word is shifted, not all of it.
    let set = |bit: u8| {
        let half = if bit < 64 { word as u64 } else { (word >> 64) as u64 };
        bit != 0 && half >> (bit & 63) & 1 != 0
    };
    let mut flags = RegFlags::NONE;
    for (flag, bit) in [
        (RegFlags::NEG, places.neg),
        (RegFlags::ABS, places.abs),
        (RegFlags::NOT, places.not),
        (RegFlags::REUSE, places.reuse),
    ] {
        if set(bit) {
            flags = flags.with(flag);
        }
    }
    flags
}

fn reg_use(target: &Target, file: RegFile, bits: &Bits, count: u8, word: u128) -> Option<RegUse> {
    aligned(target, file, bits, count, count.max(1), word)
}

/// A register whose number is a multiple of `align` and its cells, which all must be there.
fn aligned(
    target: &Target,
    file: RegFile,
    bits: &Bits,
    count: u8,
    align: u8,
    word: u128,
) -> Option<RegUse> {
    let index = bits.get(word);
    let reg = register(target, file, index)?;
    let size = target.file_size(file) as u64;
    if !reg.is_zero()
        && count > 1
        && (index & (align as u64 - 1) != 0 || index + count as u64 > size)
    {
        return None;
    }
    Some(RegUse::wide(reg, count))
}

/// The one word of an operand's modifier field, and its cells.
fn one_word(field: &ModField, word: u128) -> Option<(Mod, u8)> {
    let value = field.bits.get(word) as u16;
    let option = choice(field, value)?;
    Some((option.words.first().copied().unwrap_or(Mod::NONE), option.cells))
}

fn sign_extend(value: u64, width: u32) -> u64 {
    if width == 0 || width >= 64 {
        return value;
    }
    ((value << (64 - width)) as i64 >> (64 - width)) as u64
}

/// The cells that an immediate with named values gives to other operands.
fn named_cells(kind: &SlotKind, word: u128) -> u8 {
    match kind {
        SlotKind::Imm { names: Some(names), .. } => one_word(names, word).map_or(1, |n| n.1),
        _ => 1,
    }
}

fn operand(
    target: &Target,
    slot: &Slot,
    count: u8,
    cells_of: &dyn Fn(Cells) -> u8,
    word: u128,
    pc: u64,
) -> Option<Operand> {
    let align = slot.alignment(count);
    Some(match &slot.kind {
        SlotKind::Reg { file, bits, flags: places } => {
            let mut r = aligned(target, *file, bits, count, align, word)?;
            r.flags = flags(places, word);
            Operand::Reg(r)
        }
        SlotKind::Part { file, bits, flags: places, part } => {
            let mut r = aligned(target, *file, bits, count, align, word)?;
            r.flags = flags(places, word);
            Operand::Part(r, one_word(part, word)?.0)
        }
        SlotKind::Imm { bits, signed, scale, style, names } => {
            let raw = bits.get(word);
            if names.is_some_and(|n| n.options.iter().all(|o| o.value as u64 != raw)) {
                return None;
            }
            if !slot.has_scoreboard(*style, raw, target.scoreboards) {
                return None;
            }
            let value = if *signed { sign_extend(raw, bits.width()) } else { raw };
            Operand::Imm(value.wrapping_mul(*scale as u64))
        }
        SlotKind::Const { offset, scale, bank, base, base_file, handle, flags: places, part } => {
            let raw = offset.get(word) * *scale as u64;
            let width = offset.width() + scale.trailing_zeros();
            // Offsets of bindless constants without a base are unsigned.
            let has_base = base.is_some_and(|b| b.get(word) != b.max());
            let signed = handle.is_none() || has_base;
            let value = if signed { sign_extend(raw, width) } else { raw } as i32;
            Operand::Const(ConstRef {
                bank: bank.map_or(0, |b| b.get(word) as u8),
                flags: flags(places, word),
                base: match base {
                    Some(bits) => reg_use(target, *base_file, bits, 1, word)?.reg,
                    None => Reg::RZ,
                },
                base_cell: 0,
                handle: match handle {
                    Some(bits) => reg_use(target, RegFile::UR, bits, 1, word)?.reg,
                    None => Reg::RZ,
                },
                part: match part {
                    Some(field) => one_word(field, word)?.0,
                    None => Mod::NONE,
                },
                offset: value,
            })
        }
        SlotKind::Mem {
            base,
            base_cells,
            base_needed,
            uniform,
            uniform_cells,
            uniform_needed,
            offset,
            sel,
            ..
        } => {
            let (sel, cells) = match sel {
                Some(field) => one_word(field, word)?,
                None => (Mod::NONE, 1),
            };
            let cells = cells.max(cells_of(*base_cells));
            let uniform = match uniform {
                Some(bits) => reg_use(target, RegFile::UR, bits, cells_of(*uniform_cells), word)?,
                None => RegUse::new(Reg::URZ),
            };
            let base = match base {
                Some(bits) => reg_use(target, RegFile::R, bits, cells, word)?,
                None => RegUse::new(Reg::RZ),
            };
            if *uniform_needed && uniform.reg.is_zero() || *base_needed && base.reg.is_zero() {
                return None;
            }
            Operand::Mem(MemRef {
                base,
                uniform,
                offset: sign_extend(offset.get(word), offset.width()) as i32,
                sel,
            })
        }
        SlotKind::Desc { bits, after: after @ 1.., .. } => {
            let index = bits.get(word) + u64::from(*after);
            let there = index + u64::from(count) <= u64::from(target.file_size(RegFile::UR));
            let reg = register(target, RegFile::UR, index).filter(|_| there)?;
            Operand::Desc(RegUse::wide(reg, count))
        }
        SlotKind::Desc { bits, matrices, .. } => {
            let mut r = aligned(target, RegFile::UR, bits, count, align, word)?;
            for ((flag, _), bit) in RegFlags::OF_MATRICES.into_iter().zip(matrices) {
                if *bit != 0 && word >> bit & 1 != 0 {
                    r.flags = r.flags.with(flag);
                }
            }
            Operand::Desc(r)
        }
        SlotKind::Special { bits } => Operand::Special(bits.get(word) as u8),
        SlotKind::Named { field } => {
            let value = field.bits.get(word);
            field.options.iter().find(|o| o.value as u64 == value)?;
            Operand::Special(value as u8)
        }
        SlotKind::Target { bits, scale, relative, address } => {
            let width = if *address { 64 } else { bits.width() };
            let raw = sign_extend(bits.get(word), width).wrapping_mul(*scale as u64);
            let from = if *relative { pc.wrapping_add(target.instruction_bytes) } else { 0 };
            Operand::Addr(raw.wrapping_add(from))
        }
    })
}
