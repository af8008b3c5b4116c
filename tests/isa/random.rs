//! Random instructions of a row, taken from the table's own ranges, the last values included.

use orias_components::{
    ConstRef, Control, Guard, Inst, MemRef, Mod, Mods, Operand, Reg, RegFile, RegFlags, RegUse,
};
use orias_targets::Target;
use orias_targets::form::{
    Bits, Cells, FlagBits, Form, Hide, ImmStyle, ModField, ModOption, Slot, SlotKind,
};

/// A small generator of numbers (splitmix64): the same words on every run.
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.number() % n.max(1)
    }

    /// A value of so many bits: one of the ends as often as not.
    fn bits(&mut self, width: u32) -> u64 {
        let max = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        match self.below(6) {
            0 => 0,
            1 => max,
            2 => self.below(8) & max,
            _ => self.number() & max,
        }
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// A register of a file whose `cells` fit, or sometimes the constant register.
fn register(target: &Target, random: &mut Random, file: RegFile, cells: u8) -> RegUse {
    let align = cells.max(1).next_power_of_two();
    aligned(target, random, file, cells, align)
}

/// The same with a number that is a multiple of `align`.
fn aligned(target: &Target, random: &mut Random, file: RegFile, cells: u8, align: u8) -> RegUse {
    let (cells, align) = (cells.max(1) as u32, align.max(1) as u32);
    // The last register of which all cells are in the file.
    let last = target.file_size(file).saturating_sub(cells) / align;
    let reg = match random.below(6) {
        0 if file != RegFile::B => Reg::zero(file),
        1 => Reg::phys(file, last * align),
        _ => Reg::phys(file, random.below(last as u64 + 1) as u32 * align),
    };
    RegUse::wide(reg, cells as u8)
}

fn flags(random: &mut Random, places: &FlagBits) -> RegFlags {
    let mut flags = RegFlags::NONE;
    for (bit, flag) in [
        (places.neg, RegFlags::NEG),
        (places.abs, RegFlags::ABS),
        (places.not, RegFlags::NOT),
        (places.reuse, RegFlags::REUSE),
    ] {
        if bit != 0 && random.below(3) == 0 {
            flags = flags.with(flag);
        }
    }
    flags
}

fn sign_extend(value: u64, width: u32) -> u64 {
    if width == 0 {
        return value;
    }
    ((value << (64 - width)) as i64 >> (64 - width)) as u64
}

fn one_word(option: &ModOption) -> Mod {
    option.words.first().copied().unwrap_or(Mod::NONE)
}

/// Which option of each field to take: each in turn in the first rounds, then any.
#[derive(Clone, Copy)]
struct Choice {
    round: usize,
}

impl Choice {
    /// `place` tells fields apart, so that they do not go in step.
    fn option(self, random: &mut Random, field: &ModField, place: usize) -> &'static ModOption {
        let n = field.options.len();
        if self.round < n {
            &field.options[(self.round + place) % n]
        } else {
            random.pick(field.options)
        }
    }
}

fn operand(
    target: &Target,
    random: &mut Random,
    slot: &Slot,
    cells_of: &dyn Fn(Cells) -> u8,
    (cells, pc): (u8, u64),
    choice: Choice,
) -> Operand {
    let optional = |random: &mut Random, bits: &Option<Bits>, file: RegFile, cells: u8| match bits {
        Some(_) => register(target, random, file, cells),
        None => RegUse::new(Reg::zero(file)),
    };
    let align = slot.alignment(cells);
    match &slot.kind {
        SlotKind::Reg { file, flags: places, .. } => {
            let mut r = aligned(target, random, *file, cells, align);
            r.flags = flags(random, places);
            Operand::Reg(r)
        }
        SlotKind::Part { file, flags: places, part, .. } => {
            let mut r = aligned(target, random, *file, cells, align);
            r.flags = flags(random, places);
            Operand::Part(r, one_word(choice.option(random, part, 0)))
        }
        SlotKind::Imm { style: ImmStyle::Scoreboard, .. } => {
            Operand::Imm(random.below(target.scoreboards as u64))
        }
        SlotKind::Imm { style: ImmStyle::GroupScoreboard, .. } => Operand::Imm(match slot.hide {
            Hide::Value(none) if random.below(2) == 0 => none as u64,
            _ => 0,
        }),
        SlotKind::Imm { bits, signed, scale, .. } => {
            let raw = random.bits(bits.width());
            let value = if *signed { sign_extend(raw, bits.width()) } else { raw };
            Operand::Imm(value.wrapping_mul(*scale as u64))
        }
        SlotKind::Const { offset, scale, bank, base, base_file, handle, flags: places, part } => {
            let base = optional(random, base, *base_file, 1).reg;
            let raw = random.bits(offset.width()) * *scale as u64;
            let width = offset.width() + scale.trailing_zeros();
            let value = sign_extend(raw, width) as i32;
            // Bindless offsets are unsigned.
            let value = if bank.is_none() && base.is_zero() { value & 0xffff } else { value };
            let handle = match handle {
                Some(_) => register(target, random, RegFile::UR, 1).reg,
                None => Reg::RZ,
            };
            let part = part.map_or(Mod::NONE, |part| one_word(choice.option(random, part, 0)));
            Operand::Const(ConstRef {
                bank: bank.map_or(0, |b| random.bits(b.width()) as u8),
                flags: flags(random, places),
                base,
                base_cell: 0,
                handle,
                part,
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
            let option = sel.map(|s| choice.option(random, s, 0));
            let cells = option.map_or(1, |o| o.cells).max(cells_of(*base_cells));
            let mut uniform = optional(random, uniform, RegFile::UR, cells_of(*uniform_cells));
            if *uniform_needed && uniform.reg.is_zero() {
                uniform.reg = Reg::phys(RegFile::UR, 62);
            }
            let mut base = optional(random, base, RegFile::R, cells);
            if base.reg.is_zero() && (*base_needed || *uniform_needed && cells > 1) {
                // nvdisasm names this register `???255` or `???255.64`.
                base.reg = Reg::phys(RegFile::R, 252);
            }
            Operand::Mem(MemRef {
                base,
                uniform,
                offset: sign_extend(random.bits(offset.width()), offset.width()) as i32,
                sel: option.map_or(Mod::NONE, one_word),
            })
        }
        SlotKind::Desc { matrices, .. } => {
            let mut r = aligned(target, random, RegFile::UR, cells, align);
            for ((flag, _), bit) in RegFlags::OF_MATRICES.into_iter().zip(matrices) {
                if *bit != 0 && random.below(3) == 0 {
                    r.flags = r.flags.with(flag);
                }
            }
            Operand::Desc(r)
        }
        SlotKind::Special { bits } => Operand::Special(random.bits(bits.width()) as u8),
        SlotKind::Named { field } => Operand::Special(choice.option(random, field, 0).value as u8),
        SlotKind::Target { bits, scale, relative, address } => {
            let width = bits.width().min(40);
            let raw = random.bits(width);
            let raw = if *address { raw } else { sign_extend(raw, width) };
            let from = if *relative { pc + target.instruction_bytes } else { 0 };
            Operand::Addr((raw & !3).wrapping_mul(*scale as u64).wrapping_add(from))
        }
    }
}

/// At least `count` random instructions, the one at index `i` made for address 16 × `i`. They go
/// through all forms again and again, and through all options of each field.
pub fn draw(target: &Target, random: &mut Random, count: usize) -> Vec<(&'static Form, Inst)> {
    let mut drawn = Vec::new();
    let forms = target.table().forms();
    let options = forms.clone().flat_map(fields).map(|f| f.options.len()).max().unwrap_or(1);
    for round in 0.. {
        for form in forms.clone() {
            // After the first rounds only what still has options left, until all had their turn.
            if drawn.len() < count
                || round < fields(form).map(|f| f.options.len()).max().unwrap_or(1)
            {
                let pc = 16 * drawn.len() as u64;
                drawn.push((form, instance(target, random, form, pc, round)));
            }
        }
        if drawn.len() >= count && round >= options {
            break;
        }
    }
    drawn
}

/// The modifier fields of a form, and those of its operands.
pub fn fields(form: &Form) -> impl Iterator<Item = &'static ModField> {
    let parts = form.slots.iter().filter_map(|s| match &s.kind {
        SlotKind::Part { part, .. } => Some(*part),
        SlotKind::Mem { sel, .. } => *sel,
        SlotKind::Const { part, .. } => *part,
        SlotKind::Named { field } => Some(*field),
        SlotKind::Imm { names, .. } => *names,
        _ => None,
    });
    form.mods.iter().chain(parts)
}

/// A random instruction of a form, with control bits that the hardware could mean. The first rounds
/// take each option of each field in turn.
pub fn instance(
    target: &Target,
    random: &mut Random,
    form: &'static Form,
    pc: u64,
    round: usize,
) -> Inst {
    let choice = Choice { round };
    let mut mods = Mods::default();
    let mut cells = Vec::new();
    for (place, field) in form.mods.iter().enumerate() {
        let option = choice.option(random, field, place);
        cells.push(option.cells);
        for word in option.words {
            assert!(mods.push(*word), "more modifiers than fit in {}", form.row);
        }
    }
    // Operands with named values decide the width of others.
    let mut values: Vec<Option<(u8, Operand)>> = Vec::new();
    for slot in form.slots {
        values.push(match &slot.kind {
            SlotKind::Imm { names: Some(names), .. } => {
                let option = choice.option(random, names, values.len());
                Some((option.cells, Operand::Imm(option.value as u64)))
            }
            _ => None,
        });
    }
    let cells_of = |c: Cells| match c {
        Cells::Fixed(n) => n,
        Cells::Field(i) => cells[i as usize],
        Cells::Operand(i) => values[i as usize].as_ref().map_or(1, |v| v.0),
    };
    let mut operands: Vec<Operand> = form
        .slots
        .iter()
        .zip(&values)
        .map(|(slot, value)| match value {
            Some((_, value)) => *value,
            None => loop {
                let cells = cells_of(slot.cells);
                let drawn = operand(target, random, slot, &cells_of, (cells, pc), choice);
                if !(slot.needed && matches!(&drawn, Operand::Reg(r) if r.reg.is_zero())) {
                    break drawn;
                }
            },
        })
        .collect();
    follow(target, form, &mut operands);
    let guard = register(target, random, form.guard, 1).reg;
    let negated = random.below(2) == 0;
    let guard = match random.below(2) {
        0 => Guard { reg: guard, negated },
        _ => Guard::ALWAYS,
    };
    let guard = if guard.reg.is_zero() && !guard.negated { Guard::ALWAYS } else { guard };
    let scoreboard = |sets: bool, n: u64| if n < 6 && sets { n as u8 } else { 7 };
    // nvdisasm refuses reuse hints without the yield bit, and the yield bit with a stall of zero or
    // above 11.
    let yield_ = random.below(4) > 0 || reuses(&operands);
    Inst {
        op: form.op,
        defs: form.defs,
        control: Control {
            stall: if yield_ { 1 + random.below(11) } else { random.below(16) } as u8,
            yield_,
            write_sb: scoreboard(form.write_sb, random.below(7)),
            read_sb: scoreboard(form.may_read_late(), random.below(7)),
            wait: if form.waits { random.bits(6) as u8 } else { 0 },
        },
        guard,
        mods,
        operands: operands.into_iter().collect(),
        ..Inst::new(form.op, &[], form.defs, &[])
    }
}

fn reuses(operands: &[Operand]) -> bool {
    operands
        .iter()
        .any(|o| matches!(o, Operand::Reg(r) | Operand::Part(r, _) if r.flags.has(RegFlags::REUSE)))
}

/// A descriptor that stands after an address's uniform registers has no number of its own.
fn follow(target: &Target, form: &Form, operands: &mut [Operand]) {
    for (at, slot) in form.slots.iter().enumerate() {
        let SlotKind::Desc { after: after @ 1.., .. } = &slot.kind else { continue };
        let last = target.file_size(RegFile::UR) - u32::from(*after) - 2;
        let (before, rest) = operands.split_at_mut(at);
        let address = before.iter_mut().find_map(|o| match o {
            Operand::Mem(m) => Some(m),
            _ => None,
        });
        let (Some(address), Operand::Desc(r)) = (address, &mut rest[0]) else { continue };
        let index = address.uniform.reg.phys_index().unwrap_or(last).min(last);
        address.uniform.reg = Reg::phys(RegFile::UR, index);
        r.reg = Reg::phys(RegFile::UR, index + u32::from(*after));
    }
}
