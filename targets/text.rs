//! Instructions as text, as `nvdisasm` and `cuobjdump -sass` print them.

use crate::float_text;
use crate::form::{Alias, AliasTest, Form, Hide, ImmStyle, Slot, SlotKind};
use crate::target::Target;
use orias_components::{ConstRef, Inst, MemRef, Mod, Operand, Reg, RegFile, RegFlags, RegUse};
use std::fmt::Write;

/// What stands in a text in place of numbers: names of places in the code, and what relocations
/// will fill in.
pub trait Targets {
    /// Writes the name of a place in the text section, or leaves `out` alone and says no: then its
    /// number is written.
    fn place(&mut self, out: &mut String, address: u64) -> bool;

    /// Writes what the linker will put in place of the instruction's immediate, constant offset or
    /// target, if it does so.
    fn relocated(&mut self, _out: &mut String) -> bool {
        false
    }
}

/// Targets as numbers: the style of `cuobjdump -sass`.
pub struct Numeric;

impl Targets for &Numeric {
    fn place(&mut self, _: &mut String, _: u64) -> bool {
        false
    }
}

/// The instruction with guard and end mark: `@P0 IADD3 R1, R2, R3, RZ ;`.
pub fn instruction(target: &Target, inst: &Inst, mut targets: impl Targets) -> String {
    let mut out = String::with_capacity(64);
    write(&mut out, target, target.form(inst), inst, &mut targets);
    out
}

/// Appends the instruction with guard and end mark, by its row; returns the bytes of the guard and
/// its space.
///
/// Where the control bits say nothing (stall zero, no scoreboard) nvdisasm puts no space before the
/// semicolon (observed).
pub fn write(
    out: &mut String,
    target: &Target,
    form: Option<&Form>,
    inst: &Inst,
    targets: &mut dyn Targets,
) -> usize {
    let start = out.len();
    if !inst.guard.is_always() {
        out.push_str(if inst.guard.negated { "@!" } else { "@" });
        name(out, inst.guard.reg);
        out.push(' ');
    }
    let guard = out.len() - start;
    body(out, target, form, inst, targets);
    let c = inst.control;
    let idle = c.stall == 0 && !c.yield_ && c.write_sb == 7 && c.read_sb == 7 && c.wait == 0;
    out.push_str(if idle { ";" } else { " ;" });
    guard
}

/// Appends `0x1f`.
pub fn hex(out: &mut String, v: u64) {
    out.push_str("0x");
    let digits = (64 - v.leading_zeros()).div_ceil(4).max(1);
    for i in (0..digits).rev() {
        out.push(char::from(b"0123456789abcdef"[(v >> (4 * i)) as usize & 15]));
    }
}

/// Appends a number in decimal.
pub fn decimal(out: &mut String, v: u64) {
    if v >= 10 {
        decimal(out, v / 10);
    }
    out.push(char::from(b'0' + (v % 10) as u8));
}

/// Appends `R5`, `UPT`.
fn name(out: &mut String, reg: Reg) {
    out.push_str(reg.file().prefix());
    match reg.phys_index() {
        Some(n) => decimal(out, n as u64),
        None if reg.is_zero() => out.push(if reg.file().is_predicate() { 'T' } else { 'Z' }),
        None => {
            out.truncate(out.len() - reg.file().prefix().len());
            let _ = write!(out, "{reg}");
        }
    }
}

/// Mnemonic and operands. Instructions that no row describes print all their operands.
fn body(
    out: &mut String,
    target: &Target,
    form: Option<&Form>,
    inst: &Inst,
    targets: &mut dyn Targets,
) {
    out.push_str(inst.op.name());
    if let Some(alias) = form.and_then(|f| f.aliases.iter().find(|a| alias_holds(a, inst))) {
        out.push('.');
        out.push_str(alias.word);
    }
    for word in inst.mods.iter() {
        out.push('.');
        out.push_str(word.name());
    }
    let mut first = true;
    let mut after_desc = false;
    for (i, op) in inst.operands.iter().enumerate() {
        let slot = form.and_then(|f| f.slots.get(i));
        if let (Some(form), Some(slot)) = (form, slot)
            && hidden(form, slot, i, inst)
        {
            continue;
        }
        let lead = slot.map_or("", |s| s.lead);
        out.push_str(match (first, after_desc, lead) {
            (true, ..) => " ",
            (_, true, _) => "",
            (_, _, "") => ", ",
            _ => "",
        });
        out.push_str(lead);
        operand(out, target, inst, slot, op, targets);
        if let Some(further) = slot.and_then(|s| s.twice) {
            out.push_str(", ");
            match op {
                Operand::Reg(r) if further > 0 && r.reg.phys_index().is_some() => {
                    let index = r.reg.phys_index().unwrap_or(0) + further as u32;
                    let file = r.reg.file();
                    let last = target.file_size(file);
                    let reg = if index < last { Reg::phys(file, index) } else { Reg::zero(file) };
                    name(out, reg);
                }
                _ => operand(out, target, inst, slot, op, targets),
            }
        }
        first = false;
        // What it describes is the next operand, unless it is of another kind.
        after_desc = matches!(op, Operand::Desc(_)) && prefix(slot) == "desc";
    }
}

/// What a descriptor is called.
fn prefix(slot: Option<&Slot>) -> &'static str {
    match slot.map(|s| &s.kind) {
        Some(SlotKind::Desc { prefix, .. }) => prefix,
        _ => "desc",
    }
}

fn is_zero(op: &Operand) -> bool {
    match op {
        Operand::Reg(r) => r.reg.is_zero() && !r.flags.has(RegFlags::NOT),
        Operand::Imm(v) | Operand::Addr(v) => *v == 0,
        _ => false,
    }
}

fn alias_holds(alias: &Alias, inst: &Inst) -> bool {
    alias.tests.iter().all(|test| {
        let get = |i: u8| inst.operands.get(i as usize);
        match *test {
            AliasTest::Zero(i) => match get(i) {
                Some(Operand::Reg(r)) => r.reg == Reg::RZ,
                Some(Operand::Imm(v)) => *v == 0,
                _ => false,
            },
            AliasTest::Is(i, v) => matches!(get(i), Some(Operand::Imm(x)) if *x as u32 == v),
            AliasTest::PowerOfTwo(i) => matches!(get(i), Some(Operand::Imm(x))
                if x.is_power_of_two() && (2..=1 << 30).contains(x) && *x != 1 << 16),
            AliasTest::NotUniform(i) => match get(i) {
                Some(Operand::Reg(r)) => r.reg.file() != RegFile::UR,
                Some(Operand::Const(c)) => !c.is_bindless(),
                _ => true,
            },
        }
    })
}

fn hidden(form: &Form, slot: &Slot, index: usize, inst: &Inst) -> bool {
    let op = &inst.operands[index];
    match slot.hide {
        Hide::Never => false,
        Hide::Always => true,
        Hide::Zero => is_zero(op),
        Hide::NotTrue => {
            matches!(op, Operand::Reg(r) if r.reg.is_zero() && r.flags.has(RegFlags::NOT))
        }
        Hide::Value(v) => matches!(op, Operand::Imm(x) if *x == v as u64),
        Hide::ZeroUnless(other) => {
            let other = other as usize;
            debug_assert!(other < form.slots.len());
            is_zero(op) && !inst.operands.get(other).is_some_and(is_zero)
        }
    }
}

fn operand(
    out: &mut String,
    target: &Target,
    inst: &Inst,
    slot: Option<&Slot>,
    op: &Operand,
    targets: &mut dyn Targets,
) {
    match op {
        Operand::Reg(r) => register(out, &shown(r, slot), Mod::NONE),
        Operand::Part(r, part) => register(out, &shown(r, slot), *part),
        Operand::Imm(_) if targets.relocated(out) => {}
        Operand::Imm(v) if named(out, slot, *v) => {}
        Operand::Imm(v) => {
            let style = match slot.map(|s| &s.kind) {
                Some(SlotKind::Imm { style, .. }) => *style,
                _ => ImmStyle::Hex,
            };
            immediate(out, *v, style, inst);
        }
        Operand::Const(c) => constant(out, c, slot, targets),
        Operand::Mem(m) => memory(out, target, m, slot),
        Operand::Special(n) => match slot.map(|s| &s.kind) {
            Some(SlotKind::Named { field }) => {
                let option = field.options.iter().find(|o| o.value == *n as u16);
                for (i, word) in option.map_or(&[][..], |o| o.words).iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { "." });
                    out.push_str(word.name());
                }
            }
            _ => out.push_str(&target.special_name(*n)),
        },
        Operand::Block(b) => {
            let _ = write!(out, "{b}");
        }
        Operand::Addr(_) if targets.relocated(out) => {}
        Operand::Addr(a) => {
            let fixed =
                matches!(slot.map(|s| &s.kind), Some(SlotKind::Target { relative: false, .. }));
            if fixed || !targets.place(out, *a) {
                signed_hex(out, *a as i64);
            }
        }
        Operand::Symbol { addend, part, .. } => {
            let _ = write!(out, "symbol.{part}+{addend:#x}");
        }
        Operand::Desc(r) => {
            out.push_str(prefix(slot));
            out.push('[');
            name(out, r.reg);
            out.push(']');
            for (flag, word) in RegFlags::OF_MATRICES {
                if r.flags.has(flag) {
                    out.push('.');
                    out.push_str(word);
                }
            }
        }
    }
}

/// A register without the hint that the text keeps silent about: that of a fourth source (observed:
/// sparse matrix products).
fn shown(r: &RegUse, slot: Option<&Slot>) -> RegUse {
    let silent = match slot.map(|s| &s.kind) {
        Some(SlotKind::Reg { flags, .. }) => flags.reuse == FOURTH_HINT,
        _ => false,
    };
    let flags = if silent { r.flags.without(RegFlags::REUSE) } else { r.flags };
    RegUse { flags, ..*r }
}

/// The bit of that hint.
const FOURTH_HINT: u8 = 125;

/// Writes the name of an immediate's value, if it has one.
fn named(out: &mut String, slot: Option<&Slot>, value: u64) -> bool {
    let Some(SlotKind::Imm { names: Some(names), .. }) = slot.map(|s| &s.kind) else {
        return false;
    };
    let words = names.options.iter().find(|o| o.value as u64 == value).map_or(&[][..], |o| o.words);
    for (i, word) in words.iter().enumerate() {
        out.push_str(if i > 0 { "." } else { "" });
        out.push_str(word.name());
    }
    !words.is_empty()
}

fn register(out: &mut String, r: &RegUse, part: Mod) {
    let f = r.flags;
    if f.has(RegFlags::NOT) {
        out.push(if r.reg.file().is_predicate() { '!' } else { '~' });
    }
    if f.has(RegFlags::NEG) {
        out.push('-');
    }
    let bar = if f.has(RegFlags::ABS) { "|" } else { "" };
    out.push_str(bar);
    name(out, r.reg);
    // `|R5|.H0_H0`, but `|R5.H1|` and `|UR5.H0_H0|` (observed).
    let pair = matches!(part, Mod::H0_H0 | Mod::H1_H1 | Mod::H0_NH1 | Mod::F32);
    let inside = f.has(RegFlags::ABS) && (!pair || r.reg.file() == RegFile::UR);
    if inside {
        part_word(out, part);
    }
    out.push_str(bar);
    if f.has(RegFlags::REUSE) {
        out.push_str(".reuse");
    }
    if !inside {
        part_word(out, part);
    }
}

fn part_word(out: &mut String, part: Mod) {
    if part != Mod::NONE {
        out.push('.');
        out.push_str(part.name());
    }
}

fn signed_hex(out: &mut String, v: i64) {
    if v < 0 {
        out.push('-');
    }
    hex(out, v.unsigned_abs());
}

fn immediate(out: &mut String, v: u64, style: ImmStyle, inst: &Inst) {
    let low = v as u32;
    match style {
        ImmStyle::SignedHex => signed_hex(out, v as i64),
        ImmStyle::Hex => hex(out, v),
        ImmStyle::Decimal => decimal(out, v),
        ImmStyle::F32 if inst.mods.has(Mod::RCP64H) || inst.mods.has(Mod::RSQ64H) => {
            out.push_str(&float_text::f64_text(f64::from_bits((low as u64) << 32)));
        }
        ImmStyle::F32 => out.push_str(&float_text::f32_text(low)),
        ImmStyle::F64High => {
            out.push_str(&float_text::f64_text(f64::from_bits((low as u64) << 32)))
        }
        ImmStyle::F16x2 | ImmStyle::Bf16x2 => {
            let bf = style == ImmStyle::Bf16x2 || inst.mods.has(Mod::BF16_V2);
            let text = |h: u16| if bf { float_text::bf16_text(h) } else { float_text::f16_text(h) };
            let _ = write!(out, "{}, {}", text((low >> 16) as u16), text(low as u16));
        }
        ImmStyle::Signs => {
            let pairs = (0..4).rev().map(|i| ["PP", "PN", "NP", "ZP"][(v >> (2 * i)) as usize & 3]);
            out.extend(pairs);
        }
        ImmStyle::Bf16 => out.push_str(&float_text::bf16_text(low as u16)),
        ImmStyle::F16 => out.push_str(&float_text::f16_text(low as u16)),
        ImmStyle::Scoreboard => {
            out.push_str("SB");
            decimal(out, v);
        }
        ImmStyle::Set => {
            let mut lead = '{';
            for bit in (0..64).rev().filter(|bit| v >> bit & 1 != 0) {
                out.push(std::mem::replace(&mut lead, ','));
                decimal(out, bit);
            }
            out.push('}');
        }
        ImmStyle::GroupScoreboard => {
            out.push_str("gsb");
            decimal(out, v);
        }
    }
}

fn constant(out: &mut String, c: &ConstRef, slot: Option<&Slot>, targets: &mut dyn Targets) {
    let has_base = matches!(slot.map(|s| &s.kind), Some(SlotKind::Const { base: Some(_), .. }));
    if c.flags.has(RegFlags::NOT) {
        out.push('~');
    }
    if c.flags.has(RegFlags::NEG) {
        out.push('-');
    }
    let bar = if c.flags.has(RegFlags::ABS) { "|" } else { "" };
    out.push_str(bar);
    let start = out.len();
    out.push_str("c[");
    if !c.base.is_zero() {
        name(out, c.base);
        out.push('+');
    }
    if targets.relocated(out) {
        out.push(']');
        out.push_str(bar);
        return;
    }
    out.truncate(start);
    if c.is_bindless() {
        out.push_str("cx[");
        name(out, c.handle);
    } else {
        out.push_str("c[");
        hex(out, c.bank as u64);
    }
    let parted = matches!(slot.map(|s| &s.kind), Some(SlotKind::Const { part: Some(_), .. }));
    out.push_str(if parted { "] [" } else { "][" });
    // URZ is named, RZ only where there is nothing else.
    if c.base != Reg::RZ || (has_base && !c.is_bindless() && c.offset == 0) {
        name(out, c.base);
        if c.offset != 0 {
            out.push('+');
            signed_hex(out, c.offset as i64);
        }
    } else {
        signed_hex(out, c.offset as i64);
    }
    out.push(']');
    part_word(out, c.part);
    out.push_str(bar);
}

fn memory(out: &mut String, target: &Target, m: &MemRef, slot: Option<&Slot>) {
    // A form whose uniform register may be URZ shows it.
    let shows_urz = matches!(
        slot.map(|s| &s.kind),
        Some(SlotKind::Mem { uniform: Some(_), uniform_needed: false, .. })
    );
    let signed = matches!(slot.map(|s| &s.kind), Some(SlotKind::Mem { signed: true, .. }));
    out.push('[');
    if matches!(slot.map(|s| &s.kind), Some(SlotKind::Mem { base: None, .. })) {
        name(out, m.uniform.reg);
        if m.offset != 0 {
            out.push('+');
            signed_hex(out, m.offset as i64);
        }
        out.push(']');
        return;
    }
    let start = out.len();
    let (no_base, no_uniform) = (m.base.reg.is_zero(), m.uniform.reg.is_zero() && !shows_urz);
    let scaled = !matches!(m.sel, Mod::_64 | Mod::U32);
    match (no_base, no_uniform) {
        // An absolute address, as wide as the field.
        (true, true) if m.offset != 0 && scaled && !signed => {
            let bits = match slot.map(|s| &s.kind) {
                Some(SlotKind::Mem { offset, .. }) => offset.max(),
                _ => u32::MAX as u64,
            };
            // Offsets of fewer than 24 bits have their sign (observed).
            if bits < 0xff_ffff {
                signed_hex(out, m.offset as i64);
            } else {
                hex(out, (m.offset as u32 & bits as u32) as u64);
            }
            out.push(']');
            return;
        }
        (true, true) if scaled && m.offset != 0 => {}
        (true, true) if scaled => out.push_str("RZ"),
        (true, false) if m.sel == Mod::NONE || !(scaled || target.shows_zero_base) => {}
        _ => register(out, &m.base, m.sel),
    }
    if !m.uniform.reg.is_zero() || shows_urz {
        if out.len() > start {
            out.push('+');
        }
        name(out, m.uniform.reg);
    }
    if m.offset != 0 {
        if out.len() > start {
            out.push('+');
        }
        signed_hex(out, m.offset as i64);
    }
    out.push(']');
}
