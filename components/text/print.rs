//! Ori to text.

use crate::body::Body;
use crate::ids::VRegId;
use crate::inst::{Guard, Inst, Loc};
use crate::modifier::Mod;
use crate::operand::{ConstRef, MemRef, Operand, RegFlags, RegUse};
use crate::register::{Reg, VReg};
use slotmap::Key;
use std::fmt::{self, Display, Write};

/// What is printed beside the instructions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Scheduling control before each instruction.
    pub control: bool,
    /// Source places after each instruction.
    pub locs: bool,
}

/// The function as text.
pub fn print(body: &Body<'_>, style: &Style) -> String {
    let mut out = String::new();
    print_vregs(body, &mut out);
    for id in body.layout() {
        let block = body.block(*id);
        let head = format!("{id}:");
        let list =
            |ids: &[crate::BlockId]| ids.iter().fold(String::new(), |s, b| s + &format!(" {b}"));
        let (preds, succs) = (list(&block.preds), list(&block.succs));
        let _ = writeln!(out, "{head:<40}// preds:{preds}  succs:{succs}");
        for inst in &block.insts {
            out.push_str("    ");
            let loc = body.loc(*inst);
            let inst = body.inst(*inst);
            if style.control {
                let _ = write!(out, "{} ", inst.control());
            }
            let _ = write!(out, "{inst}");
            if style.locs && loc != Loc::default() {
                let Loc { file, line, column, ptx_inst } = loc;
                let _ = write!(out, " !loc {file}:{line}:{column}:{ptx_inst}");
            }
            out.push('\n');
        }
    }
    out
}

/// Declares the registers whose width, alignment or place does not follow from how the text uses
/// them.
fn print_vregs(body: &Body<'_>, out: &mut String) {
    let mut seen: Vec<Option<u8>> = vec![None; body.vreg_count()];
    for block in body.layout() {
        for inst in &body.block(*block).insts {
            let inst = body.inst(*inst);
            let mut see = |r: RegUse| {
                if let Some(id) = r.reg.vreg()
                    && let Some(cells) = seen.get_mut(id.0 as usize)
                {
                    *cells = Some(cells.unwrap_or(1).max(r.cell.saturating_add(r.count)));
                }
            };
            see(RegUse::new(inst.guard.reg));
            inst.operands().for_each(|o| o.for_each_reg(&mut see));
            inst.tied().for_each(&mut see);
        }
    }
    for (i, cells) in seen.iter().enumerate() {
        let Some(cells) = *cells else { continue };
        let id = VRegId(i as u32);
        let v: VReg = *body.vreg(id);
        if v.cells == cells && v.align == default_align(cells) && v.assigned.is_none() {
            continue;
        }
        let _ = write!(out, "vreg {}:{} align {}", Reg::virt(v.file, id), v.cells, v.align);
        if let Some(n) = v.assigned {
            let _ = write!(out, " = {}", Reg::phys(v.file, n as u32));
        }
        out.push('\n');
    }
}

/// The alignment of a register of which the text says nothing.
pub(super) fn default_align(cells: u8) -> u8 {
    cells.checked_next_power_of_two().unwrap_or(128)
}

impl Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.guard != Guard::ALWAYS {
            write!(f, "@{}{} ", if self.guard.negated { "!" } else { "" }, self.guard.reg)?;
        }
        list(f, self.dests())?;
        if self.defs > 0 {
            f.write_str(" = ")?;
        }
        write!(f, "{}{}", self.op, self.mods)?;
        if !self.sources().is_empty() {
            f.write_char(' ')?;
        }
        list(f, self.sources())?;
        for (i, r) in self.tied.iter().enumerate() {
            write!(f, "{}{r}", if i == 0 { " else " } else { ", " })?;
        }
        Ok(())
    }
}

fn list(f: &mut fmt::Formatter<'_>, operands: &[Operand]) -> fmt::Result {
    for (i, o) in operands.iter().enumerate() {
        write!(f, "{}{o}", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Reg(r) => write!(f, "{r}"),
            Operand::Part(r, m) => {
                let part = if *m == Mod::NONE { "NONE" } else { m.name() };
                flagged(f, r.flags, |f| write!(f, "{}.{part}", Bare(*r)))
            }
            Operand::Imm(v) => f.write_str(&signed(*v as i64)),
            Operand::Const(c) => write!(f, "{c}"),
            Operand::Mem(m) => write!(f, "{m}"),
            Operand::Special(n) => write!(f, "SR{n}"),
            Operand::Block(b) => write!(f, "{b}"),
            Operand::Addr(a) => write!(f, "pc({a:#x})"),
            Operand::Symbol { key, addend, part } => {
                write!(f, "sym({:#x}{}).{part}", key.data().as_ffi(), offset(*addend))
            }
            Operand::Desc(r) => {
                write!(f, "desc[{r}]")?;
                let mut words = RegFlags::OF_MATRICES.iter().filter(|(flag, _)| r.flags.has(*flag));
                words.try_for_each(|(_, word)| write!(f, ".{word}"))
            }
        }
    }
}

/// `0x1f`, and `-0x10` for what is a small negative number.
fn signed(v: i64) -> String {
    if (-0x1_0000_0000..0).contains(&v) { format!("-{:#x}", -v) } else { format!("{v:#x}") }
}

/// `+0x10`, `-0x10`, or nothing for 0.
fn offset(v: i32) -> String {
    match v {
        0 => String::new(),
        1.. => format!("+{v:#x}"),
        _ => format!("-{:#x}", v.unsigned_abs()),
    }
}

/// A register and its cells, without flags.
struct Bare(RegUse);

impl Display for Bare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.reg)?;
        if self.0.cell != 0 {
            write!(f, "[{}]", self.0.cell)?;
        }
        if self.0.count != 1 {
            write!(f, ":{}", self.0.count)?;
        }
        Ok(())
    }
}

/// `-|~R4|.reuse` around what `inner` prints; `!` is `~` for readers of predicates, and parsed as
/// the same.
fn flagged(
    f: &mut fmt::Formatter<'_>,
    flags: RegFlags,
    inner: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let on = |flag, text| if flags.has(flag) { text } else { "" };
    write!(f, "{}{}", on(RegFlags::NEG, "-"), on(RegFlags::NOT, "!"))?;
    f.write_str(on(RegFlags::ABS, "|"))?;
    inner(f)?;
    write!(f, "{}{}", on(RegFlags::ABS, "|"), on(RegFlags::REUSE, ".reuse"))
}

impl Display for RegUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        flagged(f, self.flags, |f| write!(f, "{}", Bare(*self)))
    }
}

/// `c[0x0][0x210]`, `c[0x3][%R4+0x10]`, `c[0x0][0x10].H0_H0`, `cx[UR4][0x10]` (`cx[UR4,0x3][…]`
/// when a bank number stands there all the same).
impl Display for ConstRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        flagged(f, self.flags, |f| {
            match (self.is_bindless(), self.bank) {
                (false, bank) => write!(f, "c[{bank:#x}]")?,
                (true, 0) => write!(f, "cx[{}]", self.handle)?,
                (true, bank) => write!(f, "cx[{},{bank:#x}]", self.handle)?,
            }
            if self.base == Reg::RZ && self.base_cell == 0 {
                write!(f, "[{}]", signed(self.offset as i64))?;
            } else {
                let base = Bare(RegUse::at(self.base, self.base_cell, 1));
                write!(f, "[{base}{}]", offset(self.offset))?;
            }
            if self.part == Mod::NONE { Ok(()) } else { write!(f, ".{}", self.part) }
        })
    }
}

/// `[%R4:2.64+%UR3+0x10]`
impl Display for MemRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.base)?;
        if self.sel != Mod::NONE {
            write!(f, ".{}", self.sel)?;
        }
        if self.uniform != RegUse::new(Reg::URZ) {
            write!(f, "+{}", self.uniform)?;
        }
        write!(f, "{}]", offset(self.offset))
    }
}
