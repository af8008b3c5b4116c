//! Text to Ori.

use super::print::default_align;
use crate::body::Body;
use crate::control::Control;
use crate::ids::{BlockId, VRegId};
use crate::inst::{Guard, Inst, Loc, MOST_TIED};
use crate::modifier::{Mod, Mods};
use crate::opcode::Opcode;
use crate::operand::{ConstRef, MemRef, Operand, RegFlags, RegUse};
use crate::register::{Reg, RegFile};
use crate::symbol::SymbolKey;
use slotmap::KeyData;
use smallvec::SmallVec;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct TextError {
    /// From 1.
    pub line: usize,
    /// From 1, in bytes.
    pub column: usize,
    /// What is wrong, without the place.
    pub message: String,
}

/// Ids above this are refused, so that a short text cannot ask for much memory.
const MAX_ID: u32 = 1 << 20;

/// Fills an empty body from its text form. Edges between blocks are not in the text:
/// `AnalyzeControlFlow` makes them.
///
/// # Errors
/// The first thing that is not Ori; the body may then hold a part of the text.
pub fn parse(text: &str, body: &mut Body<'_>) -> Result<(), TextError> {
    let mut function = Function::default();
    for (i, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        let mut cursor = Cursor { text: code, at: 0, line: i + 1 };
        function.line(&mut cursor)?;
    }
    function.build(body)
}

/// What the text says of one virtual register.
#[derive(Clone, Copy)]
struct Named {
    file: RegFile,
    /// Cells that uses name.
    cells: u8,
    /// `vreg` line: cells, alignment, physical register.
    declared: Option<(u8, u8, Option<u8>)>,
}

struct NamedBlock {
    id: BlockId,
    insts: Vec<(Inst, Loc)>,
}

#[derive(Default)]
struct Function {
    /// In text order.
    blocks: Vec<NamedBlock>,
    vregs: Vec<Option<Named>>,
    /// Where a block is named as an operand.
    targets: Vec<(BlockId, usize, usize)>,
}

impl Function {
    fn line(&mut self, c: &mut Cursor<'_>) -> Result<(), TextError> {
        c.space();
        if c.done() {
            return Ok(());
        }
        if c.eat_word("vreg") {
            self.vreg(c)?;
        } else if c.rest().starts_with("BB") && c.rest().trim_end().ends_with(':') {
            let at = c.at;
            let id = block_id(c)?;
            c.expect(":")?;
            if self.blocks.iter().any(|b| b.id == id) {
                return Err(c.error_at(at, format!("{id} is already there")));
            }
            self.blocks.push(NamedBlock { id, insts: Vec::new() });
        } else {
            let inst = self.inst(c)?;
            let Some(block) = self.blocks.last_mut() else {
                return Err(c.error("an instruction stands before the first block".into()));
            };
            block.insts.push(inst);
        }
        c.space();
        if c.done() {
            Ok(())
        } else {
            Err(c.error(format!("unexpected `{}`", c.rest().trim_end())))
        }
    }

    /// `vreg %R5:2 align 2 = R4`
    fn vreg(&mut self, c: &mut Cursor<'_>) -> Result<(), TextError> {
        c.space();
        let at = c.at;
        let r = self.bare(c)?;
        let Some(id) = r.reg.vreg() else {
            return Err(c.error_at(at, "expected a virtual register".into()));
        };
        c.space();
        if !c.eat_word("align") {
            return Err(c.error("expected `align`".into()));
        }
        c.space();
        let align = c.byte()?;
        c.space();
        let mut assigned = None;
        if c.eat("=") {
            c.space();
            let at = c.at;
            let phys = self.bare(c)?.reg;
            assigned = match phys.phys_index() {
                Some(n) if n < 256 && phys.file() == r.reg.file() => Some(n as u8),
                _ => {
                    return Err(
                        c.error_at(at, "expected a physical register of the same file".into())
                    );
                }
            };
        }
        if let Some(named) = &mut self.vregs[id.0 as usize] {
            named.declared = Some((r.count, align, assigned));
        }
        Ok(())
    }

    fn inst(&mut self, c: &mut Cursor<'_>) -> Result<(Inst, Loc), TextError> {
        let control = if c.rest().starts_with("[B") { control(c)? } else { Control::default() };
        c.space();
        let guard = if c.eat("@") {
            let negated = c.eat("!");
            let at = c.at;
            let reg = self.bare(c)?.reg;
            if !reg.file().is_predicate() {
                return Err(c.error_at(at, "a guard is a predicate".into()));
            }
            Guard { reg, negated }
        } else {
            Guard::ALWAYS
        };
        let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
        if c.rest().contains('=') {
            self.operands(c, &mut operands)?;
            c.space();
            c.expect("=")?;
        }
        let Ok(defs) = u8::try_from(operands.len()) else {
            return Err(c.error("too many destinations".into()));
        };
        c.space();
        let at = c.at;
        let name = c.word();
        let Some(op) = Opcode::parse(name) else {
            return Err(c.error_at(at, format!("no opcode is named `{name}`")));
        };
        let mut mods = Mods::default();
        while c.eat(".") {
            let m = modifier(c)?;
            if !mods.push(m) {
                return Err(c.error("more modifiers than fit".into()));
            }
        }
        c.space();
        if !c.done() && !c.rest().starts_with("!loc") && !c.rest().starts_with("else ") {
            self.operands(c, &mut operands)?;
        }
        c.space();
        let mut tied = SmallVec::new();
        if c.eat_word("else") {
            loop {
                c.space();
                let at = c.at;
                tied.push(self.bare(c)?);
                if tied.len() > MOST_TIED {
                    return Err(c.error_at(at, "too many tied registers".into()));
                }
                c.space();
                if !c.eat(",") {
                    break;
                }
            }
        }
        c.space();
        let mut loc = Loc::default();
        if c.eat("!loc") {
            c.space();
            let mut parts = [0u32; 4];
            for (i, part) in parts.iter_mut().enumerate() {
                if i > 0 {
                    c.expect(":")?;
                }
                *part = c.u32()?;
            }
            let [file, line, column, ptx_inst] = parts;
            loc = Loc { file, line, column, ptx_inst };
        }
        Ok((Inst { op, defs, control, guard, mods, operands, tied }, loc))
    }

    fn operands(
        &mut self,
        c: &mut Cursor<'_>,
        into: &mut SmallVec<[Operand; 8]>,
    ) -> Result<(), TextError> {
        loop {
            c.space();
            let operand = self.operand(c)?;
            into.push(operand);
            c.space();
            if !c.eat(",") {
                return Ok(());
            }
        }
    }

    fn operand(&mut self, c: &mut Cursor<'_>) -> Result<Operand, TextError> {
        let digit = |s: &str| s.starts_with(|d: char| d.is_ascii_digit());
        let rest = c.rest();
        if digit(rest) || rest.strip_prefix('-').is_some_and(digit) {
            return c.number().map(Operand::Imm);
        }
        if rest.strip_prefix("SR").is_some_and(digit) {
            c.at += 2;
            return c.byte().map(Operand::Special);
        }
        if rest.strip_prefix("BB").is_some_and(digit) {
            let at = c.at;
            let id = block_id(c)?;
            self.targets.push((id, c.line, at));
            return Ok(Operand::Block(id));
        }
        if c.eat("pc(") {
            let address = c.number()?;
            c.expect(")")?;
            return Ok(Operand::Addr(address));
        }
        if c.eat("sym(") {
            let key = SymbolKey::from(KeyData::from_ffi(c.number()?));
            let addend = c.offset()?;
            c.expect(").")?;
            return Ok(Operand::Symbol { key, addend, part: c.byte()? });
        }
        if c.eat("desc[") {
            let mut r = self.register(c)?;
            c.expect("]")?;
            for (flag, word) in RegFlags::OF_MATRICES {
                let at = c.at;
                if c.eat(".") && c.eat_word(word) {
                    r.flags = r.flags.with(flag);
                } else {
                    c.at = at;
                }
            }
            return Ok(Operand::Desc(r));
        }
        if c.eat("[") {
            return self.mem(c).map(Operand::Mem);
        }
        let (mut flags, abs) = prefix(c);
        let constant = ["c[", "cx["].iter().any(|p| c.rest().starts_with(p));
        if constant {
            let mut constant = self.constant(c)?;
            suffix(c, &mut flags, abs)?;
            constant.flags = flags;
            return Ok(Operand::Const(constant));
        }
        let mut r = self.bare(c)?;
        let part = if c.rest().starts_with('.') && !c.rest().starts_with(".reuse") {
            c.at += 1;
            Some(if c.eat_word("NONE") { Mod::NONE } else { modifier(c)? })
        } else {
            None
        };
        suffix(c, &mut flags, abs)?;
        r.flags = flags;
        Ok(part.map_or(Operand::Reg(r), |part| Operand::Part(r, part)))
    }

    /// A register with cells and flags.
    fn register(&mut self, c: &mut Cursor<'_>) -> Result<RegUse, TextError> {
        let (mut flags, abs) = prefix(c);
        let r = self.bare(c)?;
        suffix(c, &mut flags, abs)?;
        Ok(RegUse { flags, ..r })
    }

    /// `0x10]` … of `c[bank][…]` and `cx[handle][…]`.
    fn constant(&mut self, c: &mut Cursor<'_>) -> Result<ConstRef, TextError> {
        let (mut bank, mut handle) = (0, Reg::RZ);
        if c.eat("cx[") {
            handle = self.bare(c)?.reg;
            if c.eat(",") {
                bank = c.byte()?;
            }
        } else {
            c.expect("c[")?;
            bank = c.byte()?;
        }
        c.expect("][")?;
        let mut base = RegUse::new(Reg::RZ);
        let offset = if c.rest().starts_with(|d: char| d == '-' || d.is_ascii_digit()) {
            c.signed32()?
        } else {
            base = self.bare(c)?;
            c.offset()?
        };
        c.expect("]")?;
        let is_part = c.rest().starts_with('.') && !c.rest().starts_with(".reuse");
        let part = if is_part && c.eat(".") { modifier(c)? } else { Mod::NONE };
        let flags = RegFlags::NONE;
        Ok(ConstRef { bank, flags, base: base.reg, base_cell: base.cell, handle, part, offset })
    }

    /// `%R4:2.64+%UR3+0x10]`
    fn mem(&mut self, c: &mut Cursor<'_>) -> Result<MemRef, TextError> {
        let base = self.register(c)?;
        let sel = if c.eat(".") { modifier(c)? } else { Mod::NONE };
        let mut uniform = RegUse::new(Reg::URZ);
        let digit = |s: &str| s.starts_with(|d: char| d.is_ascii_digit());
        if c.rest().strip_prefix('+').is_some_and(|s| !digit(s)) {
            c.at += 1;
            uniform = self.register(c)?;
        }
        let offset = c.offset()?;
        c.expect("]")?;
        Ok(MemRef { base, uniform, offset, sel })
    }

    /// `%R4`, `R4`, `RZ`, with `[cell]` and `:count`.
    fn bare(&mut self, c: &mut Cursor<'_>) -> Result<RegUse, TextError> {
        let at = c.at;
        let is_virtual = c.eat("%");
        let name = c.word();
        let bad = |c: &Cursor<'_>| c.error_at(at, "expected an operand".into());
        let split = name.find(|d: char| d.is_ascii_digit()).unwrap_or(name.len());
        let (prefix, digits) = name.split_at(split);
        let zero = |f: &&RegFile| prefix == Reg::zero(**f).to_string();
        let file = RegFile::ALL.iter().find(|f| f.prefix() == prefix);
        let reg = match (file, digits.parse::<u32>()) {
            (Some(file), Ok(n)) if is_virtual => {
                if n >= MAX_ID {
                    return Err(c.error_at(at, format!("register number {n} is too large")));
                }
                Reg::virt(*file, VRegId(n))
            }
            (Some(file), Ok(n)) if n < MAX_ID => Reg::phys(*file, n),
            _ if digits.is_empty() && !is_virtual => match RegFile::ALL.iter().find(zero) {
                Some(file) => Reg::zero(*file),
                None => return Err(bad(c)),
            },
            _ => return Err(bad(c)),
        };
        let mut cell = 0;
        if c.eat("[") {
            cell = c.byte()?;
            c.expect("]")?;
        }
        let count = if c.eat(":") { c.byte()? } else { 1 };
        let r = RegUse::at(reg, cell, count);
        self.note(r).map_err(|message| c.error_at(at, message))?;
        Ok(r)
    }

    fn note(&mut self, r: RegUse) -> Result<(), String> {
        let Some(id) = r.reg.vreg() else { return Ok(()) };
        let Some(cells) = r.cell.checked_add(r.count) else {
            return Err("a register has at most 255 cells".into());
        };
        let at = id.0 as usize;
        if self.vregs.len() <= at {
            self.vregs.resize(at + 1, None);
        }
        let file = r.reg.file();
        let named = self.vregs[at].get_or_insert(Named { file, cells: 1, declared: None });
        if named.file != file {
            return Err(format!("register {at} is of file {} elsewhere", named.file.prefix()));
        }
        named.cells = named.cells.max(cells);
        Ok(())
    }

    fn build(self, body: &mut Body<'_>) -> Result<(), TextError> {
        let no_place = |message: &str| TextError { line: 1, column: 1, message: message.into() };
        if body.vreg_count() + body.block_count() + body.inst_count() > 0 {
            return Err(no_place("the body is not empty"));
        }
        let known = |id: &BlockId| self.blocks.iter().any(|b| b.id == *id);
        if let Some((id, line, at)) = self.targets.iter().find(|(id, ..)| !known(id)) {
            let (line, column) = (*line, *at + 1);
            return Err(TextError { line, column, message: format!("there is no {id}") });
        }
        for named in &self.vregs {
            let named = named.unwrap_or(Named { file: RegFile::R, cells: 1, declared: None });
            let plain = (named.cells, default_align(named.cells), None);
            let (cells, align, assigned) = named.declared.unwrap_or(plain);
            if let Some(id) = body.new_vreg(named.file, cells, align).vreg() {
                body.vreg_mut(id).assigned = assigned;
            }
        }
        let count = self.blocks.iter().map(|b| b.id.0 + 1).max().unwrap_or(0);
        let mut present = vec![false; count as usize];
        self.blocks.iter().for_each(|b| present[b.id.0 as usize] = true);
        for here in present {
            if here {
                body.new_detached_block();
            } else {
                body.skip_block();
            }
        }
        body.set_layout(&self.blocks.iter().map(|b| b.id).collect::<Vec<_>>());
        for NamedBlock { id, insts } in self.blocks {
            for (inst, loc) in insts {
                body.push(id, inst, loc);
            }
        }
        Ok(())
    }
}

fn block_id(c: &mut Cursor<'_>) -> Result<BlockId, TextError> {
    c.expect("BB")?;
    let at = c.at;
    match c.u32()? {
        n if n < MAX_ID => Ok(BlockId(n)),
        n => Err(c.error_at(at, format!("block number {n} is too large"))),
    }
}

fn modifier(c: &mut Cursor<'_>) -> Result<Mod, TextError> {
    let at = c.at;
    let word = c.word();
    match Mod::parse(word) {
        Some(m) if m != Mod::NONE => Ok(m),
        _ => Err(c.error_at(at, format!("no modifier is named `{word}`"))),
    }
}

/// Flags before a register, and whether it stands in `|…|`.
fn prefix(c: &mut Cursor<'_>) -> (RegFlags, bool) {
    let mut flags = RegFlags::NONE;
    if c.eat("-") {
        flags = flags.with(RegFlags::NEG);
    }
    if c.eat("!") || c.eat("~") {
        flags = flags.with(RegFlags::NOT);
    }
    let abs = c.eat("|");
    if abs {
        flags = flags.with(RegFlags::ABS);
    }
    (flags, abs)
}

fn suffix(c: &mut Cursor<'_>, flags: &mut RegFlags, abs: bool) -> Result<(), TextError> {
    if abs {
        c.expect("|")?;
    }
    if c.eat(".reuse") {
        *flags = flags.with(RegFlags::REUSE);
    }
    Ok(())
}

/// `[B01----:R2:W1:Y:S04]`
fn control(c: &mut Cursor<'_>) -> Result<Control, TextError> {
    c.expect("[B")?;
    let mut wait = 0;
    for i in 0..6 {
        if c.eat("-") {
            continue;
        }
        c.expect(&i.to_string())?;
        wait |= 1 << i;
    }
    let scoreboard = |c: &mut Cursor<'_>| {
        if c.eat("-") {
            return Ok(Control::NO_SB);
        }
        let at = c.at;
        match c.rest().bytes().next() {
            Some(d @ b'0'..=b'6') => {
                c.at += 1;
                Ok(d - b'0')
            }
            _ => Err(c.error_at(at, "expected a scoreboard, 0 to 5 or -".into())),
        }
    };
    c.expect(":R")?;
    let read_sb = scoreboard(c)?;
    c.expect(":W")?;
    let write_sb = scoreboard(c)?;
    c.expect(":")?;
    let yield_ = c.eat("-");
    if !yield_ {
        c.expect("Y")?;
    }
    c.expect(":S")?;
    let at = c.at;
    let digits = c.word();
    let stall =
        digits.parse::<u8>().map_err(|_| c.error_at(at, "expected a stall count".into()))?;
    c.expect("]")?;
    Ok(Control { stall, yield_, write_sb, read_sb, wait })
}

/// A place in one line.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn done(&self) -> bool {
        self.at >= self.text.len()
    }

    fn error(&self, message: String) -> TextError {
        self.error_at(self.at, message)
    }

    fn error_at(&self, at: usize, message: String) -> TextError {
        TextError { line: self.line, column: at + 1, message }
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token);
        if there {
            self.at += token.len();
        }
        there
    }

    /// Eats `word` when it is a whole word here.
    fn eat_word(&mut self, word: &str) -> bool {
        let start = self.at;
        if self.word() == word {
            return true;
        }
        self.at = start;
        false
    }

    fn expect(&mut self, token: &str) -> Result<(), TextError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(format!("expected `{token}`"))) }
    }

    /// Letters, digits and underscores from here.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A number of up to 64 bits; a negative one gives its two's complement.
    fn number(&mut self) -> Result<u64, TextError> {
        let at = self.at;
        let negative = self.eat("-");
        let word = self.word();
        let value = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => word.parse::<u64>(),
        };
        match value {
            Ok(v) => Ok(if negative { v.wrapping_neg() } else { v }),
            Err(_) => Err(self.error_at(at, "expected a number of at most 64 bits".into())),
        }
    }

    fn u32(&mut self) -> Result<u32, TextError> {
        let at = self.at;
        let v = self.number()?;
        u32::try_from(v)
            .map_err(|_| self.error_at(at, "expected a number of at most 32 bits".into()))
    }

    fn byte(&mut self) -> Result<u8, TextError> {
        let at = self.at;
        let v = self.number()?;
        u8::try_from(v).map_err(|_| self.error_at(at, "expected a number below 256".into()))
    }

    fn signed32(&mut self) -> Result<i32, TextError> {
        let at = self.at;
        let v = self.number()? as i64;
        i32::try_from(v).map_err(|_| self.error_at(at, "the offset has more than 32 bits".into()))
    }

    /// `+0x10`, `-0x10` or nothing.
    fn offset(&mut self) -> Result<i32, TextError> {
        if self.eat("+") || self.rest().starts_with('-') { self.signed32() } else { Ok(0) }
    }
}
