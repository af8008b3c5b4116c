//! The instruction table of an SM from the bytes that the build script wrote (`table/write.rs` says how they lie).
//!
//! A table lives as long as the program: its arrays are leaked, once a table.

use crate::form::*;
use crate::latency::{Class, In};
use crate::target::Table;
use orias_components::{Mod, Opcode, RegFile};
use rustc_hash::FxHashMap;

/// Reads numbers one after the other.
struct Reader {
    bytes: &'static [u8],
}

/// What is wrong with the bytes of a table: they are made by `table/write.rs`, so this is a fault of a row.
pub(crate) type Result<T> = std::result::Result<T, String>;

impl Reader {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.bytes.split_first_chunk().ok_or("the table ends too early")?;
        self.bytes = tail;
        Ok(*head)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take::<1>()?[0])
    }

    fn flag(&mut self) -> Result<bool> {
        Ok(self.byte()? != 0)
    }

    fn short(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    fn text(&mut self) -> Result<&'static str> {
        let n = self.short()? as usize;
        let (head, tail) = self.bytes.split_at_checked(n).ok_or("a string ends too early")?;
        self.bytes = tail;
        std::str::from_utf8(head).map_err(|e| e.to_string())
    }

    fn bits(&mut self) -> Result<Bits> {
        let mut pieces = [(0, 0); 4];
        for piece in &mut pieces {
            let [pos, width] = self.take()?;
            *piece = (pos, width);
        }
        Ok(Bits { pieces, inverted: self.flag()? })
    }

    fn cells(&mut self) -> Result<Cells> {
        let [by, n] = self.take()?;
        Ok(match by {
            0 => Cells::Fixed(n),
            1 => Cells::Field(n),
            _ => Cells::Operand(n),
        })
    }

    fn optional_bits(&mut self) -> Result<Option<Bits>> {
        let there = self.flag()?;
        let bits = self.bits()?;
        Ok(there.then_some(bits))
    }

    fn flags(&mut self) -> Result<FlagBits> {
        let [neg, abs, not, reuse] = self.take()?;
        Ok(FlagBits { neg, abs, not, reuse })
    }

    fn file(&mut self) -> Result<RegFile> {
        let files = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B];
        Ok(*files.get(self.byte()? as usize).ok_or("a register file")?)
    }

    /// An array: its length, then each entry.
    fn array<T>(
        &mut self,
        mut entry: impl FnMut(&mut Reader) -> Result<T>,
    ) -> Result<&'static [T]> {
        let n = self.short()?;
        let mut list = Vec::with_capacity(n as usize);
        for _ in 0..n {
            list.push(entry(self)?);
        }
        Ok(list.leak())
    }
}

fn part<T>(of: &'static [T], at: u16, count: usize) -> Result<&'static [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    of.get(at as usize..at as usize + count).ok_or_else(|| "an index beyond its array".into())
}

/// Reads a table; see [`Table`].
pub(crate) fn load(bytes: &'static [u8]) -> Result<Table> {
    let mut r = Reader { bytes };
    let mods: FxHashMap<&str, Mod> = Mod::LIST.iter().map(|m| (m.name(), *m)).collect();
    let opcodes: FxHashMap<&str, Opcode> = Opcode::LIST.iter().map(|o| (o.name(), *o)).collect();
    let strings = r.array(Reader::text)?;
    let text = |at: u16| strings.get(at as usize).copied().ok_or("a string beyond the list");
    let words = r.array(|r| {
        let name = text(r.short()?)?;
        mods.get(name).copied().ok_or(format!("{name} is not in components/modifier.rs"))
    })?;
    let options = r.array(|r| {
        let (value, at) = (r.short()?, r.short()?);
        let [count, cells] = r.take()?;
        Ok(ModOption { value, words: part(words, at, count as usize)?, cells })
    })?;
    let fields = r.array(|r| {
        let name = text(r.short()?)?;
        let bits = r.bits()?;
        let (at, count) = (r.short()?, r.short()?);
        Ok(ModField { name, bits, options: part(options, at, count as usize)? })
    })?;
    let slots = r.array(|r| slot(r, &text, fields))?;
    let ports = r.array(|r| Ok(SlotPorts([r.short()?, r.short()?, r.short()?, r.short()?])))?;
    let tests = r.array(|r| {
        let [kind, at] = r.take()?;
        let value = u32::from_le_bytes(r.take()?);
        Ok(match kind {
            0 => AliasTest::Zero(at),
            1 => AliasTest::Is(at, value),
            2 => AliasTest::PowerOfTwo(at),
            _ => AliasTest::NotUniform(at),
        })
    })?;
    let aliases = r.array(|r| {
        let word = text(r.short()?)?;
        let at = r.short()?;
        let count = r.byte()? as usize;
        Ok(Alias { word, tests: part(tests, at, count)? })
    })?;
    let mut index = 0;
    let forms = r.array(|r| {
        let (name, row, class) = (text(r.short()?)?, text(r.short()?)?, text(r.short()?)?);
        let place = |e: String| format!("{row}: {e}");
        let op = opcodes.get(name).copied();
        let op = op.ok_or_else(|| place(format!("{name} is not in components/opcode.rs")))?;
        let class = Class::named(class).ok_or_else(|| place(format!("no class {class}")))?;
        let fixed_mask = u128::from_le_bytes(r.take()?);
        let fixed = u128::from_le_bytes(r.take()?);
        let kinds = u64::from_le_bytes(r.take()?);
        let kinds_mask = u64::from_le_bytes(r.take()?);
        let guard = r.file()?;
        let [defs, flags] = r.take()?;
        let (at, count) = (r.short()?, r.byte()? as usize);
        let mods = part(fields, at, count)?;
        let (at, count) = (r.short()?, r.byte()? as usize);
        let slots = part(slots, at, count)?;
        let (at, count) = (r.short()?, r.byte()? as usize);
        let aliases = part(aliases, at, count)?;
        let ports = part(ports, r.short()?, slots.len())?;
        let ports = Ports { slots: ports, guard: In(r.short()?), masked: r.short()? };
        index += 1;
        Ok(Form {
            op,
            index: index - 1,
            row,
            fixed_mask,
            fixed,
            guard,
            class,
            write_sb: flags & 1 != 0,
            read_sb: flags & 2 != 0,
            seen: flags & 4 != 0,
            waits: flags & 8 != 0,
            defs,
            mods,
            slots,
            aliases,
            ports,
            kinds,
            kinds_mask,
        })
    })?;
    let specials = r.array(|r| Ok((r.short()? as u8, text(r.short()?)?)))?;
    if !r.bytes.is_empty() {
        return Err("bytes after the table".into());
    }
    Ok(Table::new(forms, specials))
}

fn slot(
    r: &mut Reader,
    text: &dyn Fn(u16) -> std::result::Result<&'static str, &'static str>,
    fields: &'static [ModField],
) -> Result<Slot> {
    let name = text(r.short()?)?;
    let field = |at: u16| fields.get(at as usize);
    let kind = match r.byte()? {
        0 => SlotKind::Reg { file: r.file()?, bits: r.bits()?, flags: r.flags()? },
        1 => SlotKind::Part {
            file: r.file()?,
            bits: r.bits()?,
            flags: r.flags()?,
            part: field(r.short()?).ok_or("a part selector")?,
        },
        2 => {
            let bits = r.bits()?;
            let (signed, scale) = (r.flag()?, r.byte()?);
            let style = text(r.short()?)?;
            let style = ImmStyle::named(style).ok_or(format!("no immediate style {style}"))?;
            SlotKind::Imm { bits, signed, scale, style, names: field(r.short()?) }
        }
        3 => SlotKind::Const {
            offset: r.bits()?,
            scale: r.byte()?,
            bank: r.optional_bits()?,
            base: r.optional_bits()?,
            base_file: r.file()?,
            handle: r.optional_bits()?,
            flags: r.flags()?,
            part: field(r.short()?),
        },
        4 => SlotKind::Mem {
            base: r.optional_bits()?,
            base_cells: r.cells()?,
            base_needed: r.flag()?,
            uniform: r.optional_bits()?,
            uniform_cells: r.cells()?,
            uniform_needed: r.flag()?,
            offset: r.bits()?,
            signed: r.flag()?,
            sel: field(r.short()?),
        },
        5 => SlotKind::Desc {
            bits: r.bits()?,
            prefix: text(r.short()?)?,
            matrices: r.take()?,
            after: r.byte()?,
        },
        6 => SlotKind::Special { bits: r.bits()? },
        7 => SlotKind::Target {
            bits: r.bits()?,
            scale: r.byte()?,
            relative: r.flag()?,
            address: r.flag()?,
        },
        8 => SlotKind::Named { field: field(r.short()?).ok_or("the words of an operand")? },
        other => return Err(format!("operand kind {other}")),
    };
    let cells = r.cells()?;
    let align = r.byte()?;
    let hide = r.byte()?;
    let value = u32::from_le_bytes(r.take()?);
    let hide = match hide {
        0 => Hide::Never,
        1 => Hide::Zero,
        2 => Hide::NotTrue,
        3 => Hide::Value(value),
        5 => Hide::Always,
        _ => Hide::ZeroUnless(value as u8),
    };
    let lead = text(r.short()?)?;
    let needed = r.flag()?;
    let [twice, further] = r.take()?;
    let twice = (twice != 0).then_some(further);
    Ok(Slot { name, kind, cells, align, hide, lead, needed, twice })
}
