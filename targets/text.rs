//! Instructions as text, as `nvdisasm` and `cuobjdump -sass` print them.

use crate::float_text;
use crate::form::{Alias, AliasTest, Form, Hide, ImmStyle, Slot, SlotKind};
use crate::target::Target;
use orias_components::{ConstRef, Inst, MemRef, Mod, Operand, Reg, RegFile, RegFlags, RegUse};
use std::fmt::Write;

/// How branch targets are written.
pub trait Targets {
    /// The text of a target, or none for its number.
    fn label(&self, inst: &Inst, address: u64) -> Option<String>;
}

/// Targets as numbers: the style of `cuobjdump -sass`.
pub struct Numeric;

impl Targets for Numeric {
    fn label(&self, _: &Inst, _: u64) -> Option<String> {
        None
    }
}

/// The instruction with guard and end mark: `@P0 IADD3 R1, R2, R3, RZ ;`.
///
/// Where the control bits say nothing (stall zero, no scoreboard) nvdisasm puts no space before the semicolon (observed).
pub fn instruction(target: &Target, inst: &Inst, targets: &dyn Targets) -> String {
    let mut out = String::with_capacity(48);
    if !inst.guard.is_always() {
        let not = if inst.guard.negated { "!" } else { "" };
        let _ = write!(out, "@{not}{} ", inst.guard.reg);
    }
    body(&mut out, target, inst, targets);
    let c = inst.control;
    let idle = c.stall == 0 && !c.yield_ && c.write_sb == 7 && c.read_sb == 7 && c.wait == 0;
    out.push_str(if idle { ";" } else { " ;" });
    out
}

/// Mnemonic and operands. Instructions that no row describes print all their operands.
fn body(out: &mut String, target: &Target, inst: &Inst, targets: &dyn Targets) {
    out.push_str(inst.op.name());
    let form = target.form(inst);
    if let Some(alias) = form.and_then(|f| f.aliases.iter().find(|a| alias_holds(a, inst))) {
        let _ = write!(out, ".{}", alias.word);
    }
    let _ = write!(out, "{}", inst.mods);
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
        if slot.is_some_and(|s| s.twice) {
            out.push_str(", ");
            operand(out, target, inst, slot, op, targets);
        }
        first = false;
        after_desc = matches!(op, Operand::Desc(_));
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
            AliasTest::NotUniform(i) => {
                !matches!(get(i), Some(Operand::Reg(r)) if r.reg.file() == RegFile::UR)
            }
        }
    })
}

fn hidden(form: &Form, slot: &Slot, index: usize, inst: &Inst) -> bool {
    let op = &inst.operands[index];
    match slot.hide {
        Hide::Never => false,
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
    targets: &dyn Targets,
) {
    let _ = match op {
        Operand::Reg(r) => {
            register(out, r, Mod::NONE);
            Ok(())
        }
        Operand::Part(r, part) => {
            register(out, r, *part);
            Ok(())
        }
        Operand::Imm(v) => {
            let style = match slot.map(|s| &s.kind) {
                Some(SlotKind::Imm { style, .. }) => *style,
                _ => ImmStyle::Hex,
            };
            immediate(out, *v, style, inst);
            Ok(())
        }
        Operand::Const(c) => {
            constant(out, c, slot);
            Ok(())
        }
        Operand::Mem(m) => {
            memory(out, m, slot);
            Ok(())
        }
        Operand::Special(n) => out.write_str(&target.special_name(*n)),
        Operand::Block(b) => write!(out, "{b}"),
        Operand::Addr(a) => match targets.label(inst, *a) {
            Some(label) => write!(out, "`({label})"),
            None => {
                signed_hex(out, *a as i64);
                Ok(())
            }
        },
        Operand::Symbol { addend, part, .. } => write!(out, "symbol.{part}+{addend:#x}"),
        Operand::Desc(r) => write!(out, "desc[{}]", r.reg),
    };
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
    let _ = write!(out, "{bar}{}{bar}", r.reg);
    if f.has(RegFlags::REUSE) {
        out.push_str(".reuse");
    }
    if part != Mod::NONE {
        let _ = write!(out, ".{part}");
    }
}

fn signed_hex(out: &mut String, v: i64) {
    let sign = if v < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{:#x}", v.unsigned_abs());
}

fn immediate(out: &mut String, v: u64, style: ImmStyle, inst: &Inst) {
    let low = v as u32;
    match style {
        ImmStyle::SignedHex => signed_hex(out, v as i64),
        ImmStyle::Hex => {
            let _ = write!(out, "{v:#x}");
        }
        ImmStyle::Decimal => {
            let _ = write!(out, "{v}");
        }
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
        ImmStyle::Scoreboard => {
            let _ = write!(out, "SB{v}");
        }
    }
}

fn constant(out: &mut String, c: &ConstRef, slot: Option<&Slot>) {
    let has_base = matches!(slot.map(|s| &s.kind), Some(SlotKind::Const { base: Some(_), .. }));
    if c.flags.has(RegFlags::NOT) {
        out.push('~');
    }
    if c.flags.has(RegFlags::NEG) {
        out.push('-');
    }
    let bar = if c.flags.has(RegFlags::ABS) { "|" } else { "" };
    out.push_str(bar);
    let bindless = matches!(slot.map(|s| &s.kind), Some(SlotKind::Const { handle: Some(_), .. }));
    let _ = if bindless || !c.handle.is_zero() {
        write!(out, "cx[{}][", c.handle)
    } else {
        write!(out, "c[{:#x}][", c.bank)
    };
    if !c.base.is_zero() || (has_base && c.offset == 0) {
        let _ = write!(out, "{}", c.base);
        if c.offset != 0 {
            out.push('+');
            signed_hex(out, c.offset as i64);
        }
    } else {
        signed_hex(out, c.offset as i64);
    }
    let _ = write!(out, "]{bar}");
}

fn memory(out: &mut String, m: &MemRef, slot: Option<&Slot>) {
    // A form whose uniform register may be URZ shows it.
    let shows_urz = matches!(
        slot.map(|s| &s.kind),
        Some(SlotKind::Mem { uniform: Some(_), uniform_needed: false, .. })
    );
    out.push('[');
    let start = out.len();
    let (no_base, no_uniform) = (m.base.reg.is_zero(), m.uniform.reg.is_zero() && !shows_urz);
    let scaled = !matches!(m.sel, Mod::_64 | Mod::U32);
    match (no_base, no_uniform) {
        // An absolute address, as wide as the field.
        (true, true) if m.offset != 0 && scaled => {
            let bits = match slot.map(|s| &s.kind) {
                Some(SlotKind::Mem { offset, .. }) => offset.max(),
                _ => u32::MAX as u64,
            };
            let _ = write!(out, "{:#x}]", m.offset as u32 & bits as u32);
            return;
        }
        (true, true) if scaled => out.push_str("RZ"),
        (true, false) if m.sel == Mod::NONE && !m.uniform.reg.is_zero() => {}
        _ => register(out, &m.base, m.sel),
    }
    if !m.uniform.reg.is_zero() || shows_urz {
        if out.len() > start {
            out.push('+');
        }
        let _ = write!(out, "{}", m.uniform.reg);
    }
    if m.offset != 0 {
        if out.len() > start {
            out.push('+');
        }
        signed_hex(out, m.offset as i64);
    }
    out.push(']');
}
