//! Instructions to words. Finds the row by opcode, operand kinds and modifiers, and checks every
//! field.

use crate::form::{Bits, Cells, FlagBits, Form, ModField, Slot, SlotKind, match_mods};
use crate::target::{Table, Target};
use orias_components::{Control, Guard, Inst, Mod, Operand, Reg, RegFile, RegFlags, RegUse};
use thiserror::Error;

/// Why an instruction has no encoding.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EncodeError {
    /// The target has no row of the opcode.
    #[error("{op} is not an instruction of this target")]
    Opcode {
        /// The mnemonic.
        op: &'static str,
    },
    /// No row of the opcode takes operands of these kinds.
    #[error("{inst}: no form takes operands of these kinds ({kinds})")]
    Kinds {
        /// Mnemonic and modifiers.
        inst: String,
        /// The operands' kinds in words, in their order.
        kinds: String,
    },
    /// Rows take the operands, but not with these modifiers.
    #[error("{inst}: no form with these operands has these modifiers (row {row})")]
    Modifiers {
        /// Mnemonic and modifiers.
        inst: String,
        /// File and line of the last row that takes the operands.
        row: &'static str,
    },
    /// An operand does not fit its field.
    #[error("{op}: operand {slot}: {what} (row {row})")]
    Operand {
        /// The mnemonic.
        op: &'static str,
        /// The operand's name in the row.
        slot: &'static str,
        /// What is wrong with it.
        what: String,
        /// File and line of the row.
        row: &'static str,
    },
    /// A control field has a value that nvdisasm refuses, or that the row has no use for.
    #[error("{op}: {what}")]
    Control {
        /// The mnemonic.
        op: &'static str,
        /// What is wrong.
        what: String,
    },
}

/// The kind of an operand as four bits: the rows hold the same codes.
pub fn kind_code(operand: &Operand) -> u64 {
    match operand {
        Operand::Reg(r) => match r.reg.file() {
            RegFile::R => 1,
            RegFile::UR => 2,
            RegFile::P => 3,
            RegFile::UP => 4,
            RegFile::B => 5,
        },
        Operand::Part(r, _) if r.reg.file() == RegFile::UR => 15,
        Operand::Part(..) => 6,
        // A place in the code, which linking fills in.
        Operand::Symbol { part: 2, .. } => 11,
        Operand::Imm(_) | Operand::Symbol { .. } => 7,
        Operand::Const(c) if !c.is_bindless() => 8,
        Operand::Const(_) => 12,
        Operand::Mem(m) if m.uniform.reg.is_zero() => 9,
        Operand::Mem(_) => 13,
        Operand::Special(_) => 10,
        Operand::Block(_) | Operand::Addr(_) => 11,
        Operand::Desc(_) => 14,
    }
}

fn kinds(inst: &Inst) -> u64 {
    if inst.operands.len() > 16 {
        return u64::MAX;
    }
    inst.operands.iter().enumerate().fold(0, |k, (i, o)| k | kind_code(o) << (4 * i))
}

/// The forms that an instruction's opcode and operand kinds fit, in the table's order.
fn fitting(table: &Table, inst: &Inst) -> impl DoubleEndedIterator<Item = &'static Form> {
    table.fitting(inst.op, kinds(inst))
}

/// The row for an instruction; registers need not be physical.
pub(crate) fn find(table: &Table, inst: &Inst) -> Option<&'static Form> {
    let mods = inst.mods.as_slice();
    let mut options = [0; 12];
    fitting(table, inst)
        .find(|form| match_mods(form.mods, mods, &mut options) && selects(form, inst))
}

/// Whether the form's addresses have the parts of their base (`.64`, `.X4`) that the instruction's
/// have.
fn selects(form: &Form, inst: &Inst) -> bool {
    form.slots.iter().zip(&inst.operands).all(|(slot, operand)| match (&slot.kind, operand) {
        (SlotKind::Mem { sel: None, .. }, Operand::Mem(m)) => m.sel == Mod::NONE,
        (SlotKind::Mem { sel: Some(sel), .. }, Operand::Mem(m)) => {
            sel.options.iter().any(|o| o.words.first().copied().unwrap_or(Mod::NONE) == m.sel)
        }
        _ => true,
    })
}

/// Why no form fits.
fn unfit(table: &Table, inst: &Inst) -> EncodeError {
    if table.forms_of(inst.op).next().is_none() {
        return EncodeError::Opcode { op: inst.op.name() };
    }
    let text = format!("{}{}", inst.op, inst.mods);
    match fitting(table, inst).next_back() {
        Some(form) => EncodeError::Modifiers { inst: text, row: form.row },
        None => EncodeError::Kinds { inst: text, kinds: kinds_text(inst) },
    }
}

fn kinds_text(inst: &Inst) -> String {
    let names = inst.operands.iter().map(|o| match o {
        Operand::Reg(r) => r.reg.file().prefix(),
        Operand::Part(r, _) if r.reg.file() == RegFile::UR => "uniform part",
        Operand::Part(..) => "part",
        Operand::Imm(_) => "imm",
        Operand::Symbol { .. } => "symbol",
        Operand::Const(c) if !c.is_bindless() => "const",
        Operand::Const(_) => "bindless",
        Operand::Mem(m) if m.uniform.reg.is_zero() => "mem",
        Operand::Mem(_) => "mem+UR",
        Operand::Special(_) => "special",
        Operand::Block(_) | Operand::Addr(_) => "target",
        Operand::Desc(_) => "desc",
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Encodes with physical registers and addresses; see [`Target::encode`].
///
/// The first form that takes the operands as they are: some differ in more than the kinds say (the
/// file of a register with a part selector or of a constant's base).
pub(crate) fn encode(target: &Target, inst: &Inst, pc: u64) -> Result<u128, EncodeError> {
    let mut first = None;
    for form in fitting(target.table(), inst) {
        let Some(stem) = Stem::of(form, inst.mods.as_slice()) else { continue };
        match stem.word(target, (inst.guard, inst.control), &inst.operands, pc) {
            Ok(word) => return Ok(word),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| unfit(target.table(), inst)))
}

/// The row that an earlier look found, with the modifiers of an instruction; None where it is not
/// this one.
pub(crate) fn stem(form: &'static Form, inst: &Inst) -> Option<Stem> {
    let fits = form.kinds_mask & kinds(inst) == form.kinds;
    Stem::of(form, inst.mods.as_slice()).filter(|_| fits)
}

/// What words of the same row and modifiers have in common.
#[derive(Clone, Copy, Debug)]
pub struct Stem {
    form: &'static Form,
    /// By modifier field: the option that is chosen.
    options: [u8; 12],
    word: u128,
}

impl Stem {
    fn of(form: &'static Form, mods: &[Mod]) -> Option<Stem> {
        // Written and read byte by byte: copied as a whole, each byte would be waited for.
        let mut options = [0; 12];
        if !match_mods(form.mods, mods, &mut options) {
            return None;
        }
        let mut word = form.fixed;
        for (field, choice) in form.mods.iter().zip(&options) {
            word = field.bits.put(word, field.options[usize::from(*choice)].value as u64);
        }
        Some(Stem { form, options, word })
    }

    /// The word of an instruction with this row and these modifiers.
    ///
    /// # Errors
    /// An operand or a control field does not fit.
    pub fn word(
        &self,
        target: &Target,
        (guard, control): (Guard, Control),
        operands: &[Operand],
        pc: u64,
    ) -> Result<u128, EncodeError> {
        let form = self.form;
        let mut word = self.word | encode_common(target, form, guard, control, operands)?;
        for (slot, operand) in form.slots.iter().zip(operands) {
            let at = Place { target, stem: self, slot, operands };
            word = at.put(word, operand, pc).map_err(|what| EncodeError::Operand {
                op: form.op.name(),
                slot: slot.name,
                what,
                row: form.row,
            })?;
        }
        Ok(word)
    }
}

fn encode_common(
    target: &Target,
    form: &Form,
    guard: Guard,
    c: Control,
    operands: &[Operand],
) -> Result<u128, EncodeError> {
    let fail = |what: String| EncodeError::Control { op: form.op.name(), what };
    let always = guard.reg == Reg::PT && !guard.negated;
    if !always && guard.reg.file() != form.guard {
        return Err(fail(format!("guard {} is not of file {}", guard.reg, form.guard.prefix())));
    }
    let index =
        register_index(target, guard.reg, form.guard).map_err(|e| fail(format!("guard: {e}")))?;
    let sb_ok = |sb: u8| sb < target.scoreboards as u8 || sb == 7;
    if c.stall > 15 || !sb_ok(c.write_sb) || !sb_ok(c.read_sb) || c.wait >> target.scoreboards != 0
    {
        return Err(fail(format!("control {c:?} does not fit")));
    }
    // The tools refuse these, and ptxas never writes them (observed: nvdisasm 13.5.37, sm_90).
    if c.yield_ && !(1..=11).contains(&c.stall) {
        return Err(fail(format!("a stall of {} with the yield bit", c.stall)));
    }
    if (c.write_sb != 7 && !form.write_sb) || (c.read_sb != 7 && !form.may_read_late()) {
        return Err(fail(format!("sets a scoreboard that it cannot set ({c})")));
    }
    if c.wait != 0 && !form.waits {
        return Err(fail("a wait for scoreboards".into()));
    }
    if !c.yield_ && operands.iter().any(has_reuse) {
        return Err(fail("a reuse hint without the yield bit".into()));
    }
    let control = c.stall as u128
        | (c.yield_ as u128) << 4
        | (c.write_sb as u128) << 5
        | (c.read_sb as u128) << 8
        | (c.wait as u128) << 11;
    Ok((index as u128) << 12 | (guard.negated as u128) << 15 | control << 105)
}

fn has_reuse(operand: &Operand) -> bool {
    matches!(operand, Operand::Reg(r) | Operand::Part(r, _) if r.flags.has(RegFlags::REUSE))
}

/// The field value of a register; the constant register is all ones.
#[inline]
fn register_index(target: &Target, reg: Reg, file: RegFile) -> Result<u64, String> {
    let size = target.file_size(file);
    match reg.phys_index() {
        Some(n) if n < size => Ok(n as u64),
        _ if reg.is_zero() => Ok(size as u64),
        found => Err(no_index(reg, file, found, size)),
    }
}

#[cold]
fn no_index(reg: Reg, file: RegFile, found: Option<u32>, size: u32) -> String {
    match found {
        Some(n) => format!("{}{n} is beyond the file's {size}", file.prefix()),
        None => format!("{reg} is not allocated"),
    }
}

struct Place<'a> {
    target: &'a Target,
    stem: &'a Stem,
    slot: &'static Slot,
    operands: &'a [Operand],
}

impl Place<'_> {
    #[inline]
    fn cells(&self) -> u8 {
        match self.slot.cells {
            Cells::Fixed(n) => n,
            other => self.count(other),
        }
    }

    fn count(&self, cells: Cells) -> u8 {
        match cells {
            Cells::Fixed(n) => n,
            Cells::Operand(i) => {
                match (&self.stem.form.slots[i as usize].kind, &self.operands[i as usize]) {
                    (SlotKind::Imm { names: Some(names), .. }, Operand::Imm(value)) => {
                        let named = names.options.iter().find(|o| o.value as u64 == *value);
                        named.map_or(1, |o| o.cells)
                    }
                    _ => 1,
                }
            }
            Cells::Field(i) => {
                let field = &self.stem.form.mods[i as usize];
                field.options[self.stem.options[i as usize] as usize].cells
            }
        }
    }

    fn reg(
        &self,
        word: u128,
        bits: &Bits,
        file: RegFile,
        r: &RegUse,
        cells: u8,
    ) -> Result<u128, String> {
        if r.reg.file() != file {
            return Err(format!("{} is not of file {}", r.reg, file.prefix()));
        }
        let index = register_index(self.target, r.reg, file)?;
        if !r.reg.is_zero() && cells > 1 {
            let align = self.slot.alignment(cells);
            if index & (align as u64 - 1) != 0 {
                return Err(format!("{} is not aligned to {align} registers", r.reg));
            }
            if index + cells as u64 > self.target.file_size(file) as u64 {
                return Err(format!("{} and the {cells} cells reach past the file", r.reg));
            }
        }
        // All ones are as many as the field has.
        Ok(bits.put(word, index))
    }

    #[inline]
    fn flags(&self, word: u128, places: &FlagBits, flags: RegFlags) -> Result<u128, String> {
        if flags == RegFlags::NONE { Ok(word) } else { self.some_flags(word, places, flags) }
    }

    fn some_flags(
        &self,
        mut word: u128,
        places: &FlagBits,
        flags: RegFlags,
    ) -> Result<u128, String> {
        for (flag, bit, name) in [
            (RegFlags::NEG, places.neg, "-"),
            (RegFlags::ABS, places.abs, "||"),
            (RegFlags::NOT, places.not, "not"),
            (RegFlags::REUSE, places.reuse, ".reuse"),
        ] {
            if flags.has(flag) {
                if bit == 0 {
                    return Err(format!("{name} has no place here"));
                }
                word |= 1 << bit;
            }
        }
        Ok(word)
    }

    fn put(&self, word: u128, operand: &Operand, pc: u64) -> Result<u128, String> {
        let zero = match (operand, &self.slot.kind) {
            (Operand::Reg(r), _) => self.slot.needed && r.reg.is_zero(),
            (Operand::Mem(m), SlotKind::Mem { base_needed: true, .. }) => m.base.reg.is_zero(),
            _ => false,
        };
        if zero {
            return Err("the constant register has no place here".into());
        }
        match (&self.slot.kind, operand) {
            (SlotKind::Reg { file, bits, flags }, Operand::Reg(r)) => {
                let word = self.reg(word, bits, *file, r, self.cells())?;
                self.flags(word, flags, r.flags)
            }
            (SlotKind::Part { file, bits, flags, part }, Operand::Part(r, m)) => {
                let word = self.reg(word, bits, *file, r, self.cells())?;
                let word = self.flags(word, flags, r.flags)?;
                put_word(word, part, *m)
            }
            (SlotKind::Imm { style, .. }, Operand::Imm(value))
                if !self.slot.has_scoreboard(*style, *value, self.target.scoreboards) =>
            {
                Err(format!("no scoreboard {value}"))
            }
            (SlotKind::Imm { names: Some(names), .. }, Operand::Imm(value))
                if names.options.iter().all(|o| o.value as u64 != *value) =>
            {
                Err(format!("no name for {value}"))
            }
            (SlotKind::Imm { bits, signed, scale, .. }, Operand::Imm(value)) => {
                put_scaled(word, bits, *value, *scale, *signed)
            }
            // A relocation fills it.
            (SlotKind::Imm { .. }, Operand::Symbol { .. }) => Ok(word),
            (
                SlotKind::Const { offset, scale, bank, base, base_file, handle, flags, part },
                Operand::Const(c),
            ) => {
                let mut word = word;
                match bank {
                    Some(bank) if !c.is_bindless() => {
                        if c.bank as u64 > bank.max() {
                            return Err(format!("bank {}", c.bank));
                        }
                        word = bank.put(word, c.bank as u64);
                    }
                    _ => {}
                }
                if let Some(handle) = handle {
                    word = self.reg(word, handle, RegFile::UR, &RegUse::wide(c.handle, 2), 1)?;
                }
                match base {
                    Some(base) => {
                        word = self.reg(word, base, *base_file, &RegUse::new(c.base), 1)?;
                    }
                    None if c.base == Reg::RZ => {}
                    None => return Err("a base register has no place here".into()),
                }
                // Offsets are signed in the word; those of its upper half are written as they lie
                // in the bank.
                let width = offset.width() + scale.trailing_zeros();
                if !(-(1i64 << (width - 1))..1 << width).contains(&(c.offset as i64)) {
                    return Err(format!("offset {:#x} does not fit in {width} bits", c.offset));
                }
                let raw = c.offset as u64 & ((1 << width) - 1);
                word = put_scaled(word, offset, raw, *scale, false)?;
                match part {
                    Some(part) => word = put_word(word, part, c.part)?,
                    None if c.part == Mod::NONE => {}
                    None => return Err(format!(".{} has no place here", c.part)),
                }
                self.flags(word, flags, c.flags)
            }
            (
                SlotKind::Mem { base, base_cells, uniform, uniform_cells, offset, sel, .. },
                Operand::Mem(m),
            ) => {
                let mut word = word;
                let mut cells = self.count(*base_cells);
                match sel {
                    Some(sel) => {
                        word = put_word(word, sel, m.sel)?;
                        let words: &[Mod] = if m.sel == Mod::NONE { &[] } else { &[m.sel] };
                        let chosen = sel.options.iter().find(|o| o.words == words);
                        cells = cells.max(chosen.map_or(1, |o| o.cells));
                    }
                    None if m.sel == Mod::NONE => {}
                    None => return Err(format!(".{} has no place here", m.sel)),
                }
                match base {
                    Some(base) => word = self.reg(word, base, RegFile::R, &m.base, cells)?,
                    None if m.base.reg.is_zero() => {}
                    None => return Err("a base register has no place here".into()),
                }
                match uniform {
                    Some(uniform) => {
                        let cells = self.count(*uniform_cells);
                        word = self.reg(word, uniform, RegFile::UR, &m.uniform, cells)?;
                    }
                    None if m.uniform.reg.is_zero() => {}
                    None => return Err("a uniform register has no place here".into()),
                }
                put_scaled(word, offset, m.offset as i64 as u64, 1, true)
            }
            (SlotKind::Desc { bits, after: after @ 1.., .. }, Operand::Desc(r)) => {
                let first = bits.get(word) + u64::from(*after);
                if r.reg != Reg::phys(RegFile::UR, first as u32) {
                    return Err(format!("UR{first} must follow the address's register"));
                }
                Ok(word)
            }
            (SlotKind::Desc { bits, matrices, .. }, Operand::Desc(r)) => {
                let mut word = self.reg(word, bits, RegFile::UR, r, self.cells())?;
                for ((flag, name), bit) in RegFlags::OF_MATRICES.into_iter().zip(matrices) {
                    if r.flags.has(flag) {
                        if *bit == 0 {
                            return Err(format!(".{name} has no place here"));
                        }
                        word |= 1 << bit;
                    }
                }
                Ok(word)
            }
            (SlotKind::Special { bits }, Operand::Special(n)) => Ok(bits.put(word, *n as u64)),
            (SlotKind::Named { field }, Operand::Special(n)) => {
                if field.options.iter().all(|o| o.value != *n as u16) {
                    return Err(format!("nothing is named by {n}"));
                }
                Ok(field.bits.put(word, *n as u64))
            }
            (SlotKind::Target { bits, scale, relative, address }, Operand::Addr(addr)) => {
                let from =
                    if *relative { pc.wrapping_add(self.target.instruction_bytes) } else { 0 };
                put_scaled(word, bits, addr.wrapping_sub(from), *scale, !address)
            }
            (SlotKind::Target { .. }, Operand::Block(b)) => Err(format!("{b} is not laid out")),
            (_, other) => Err(format!("{other:?} does not fit")),
        }
    }
}

/// Sets a one-word modifier field of an operand.
fn put_word(word: u128, field: &ModField, m: Mod) -> Result<u128, String> {
    let words: &[Mod] = if m == Mod::NONE { &[] } else { &[m] };
    match field.options.iter().find(|o| o.words == words) {
        Some(option) => Ok(field.bits.put(word, option.value as u64)),
        None => Err(format!(".{m} has no place here")),
    }
}

/// Sets a number, checking scale and range. Unsigned 32-bit fields also take sign-extended values.
fn put_scaled(
    word: u128,
    bits: &Bits,
    value: u64,
    scale: u8,
    signed: bool,
) -> Result<u128, String> {
    // Divisions cost more than the rest, and nearly no field is scaled.
    if scale != 1 && !value.is_multiple_of(scale as u64) {
        return Err(format!("{value:#x} is not a multiple of {scale}"));
    }
    let width = bits.width();
    if width == 0 && value != 0 {
        return Err(format!("{value:#x} has no place here"));
    }
    let field = if width == 0 {
        0
    } else if signed || width == 32 {
        let v = if scale == 1 { value as i64 } else { value as i64 / scale as i64 };
        let min = if width >= 64 { i64::MIN } else { -(1i64 << (width - 1)) };
        // 32-bit immediates are bits: both 0xffffffff and -1 name the same field.
        let max = match width {
            32 => u32::MAX as i64,
            64.. => i64::MAX,
            _ => (1i64 << (width - 1)) - 1,
        };
        if v < min || v > max {
            return Err(format!("{v:#x} does not fit in {width} bits"));
        }
        v as u64 & bits.max()
    } else {
        let v = if scale == 1 { value } else { value / scale as u64 };
        if v > bits.max() {
            return Err(format!("{v:#x} does not fit in {width} bits"));
        }
        v
    };
    Ok(bits.put(word, field))
}
