//! The instruction table of an SM in the bytes that the build script wrote (`table/write.rs` says
//! how they lie). Nothing is read before it is asked for, so that a program starts at once: a
//! kernel uses few forms.
//!
//! A form lives as long as the program: what it consists of is leaked, once a form.

use crate::form::*;
use crate::latency::{Class, In};
use crate::rows::write::{FORM, SECTIONS};
use orias_components::{Mod, Opcode, RegFile};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Reads numbers one after the other.
#[derive(Clone, Copy, Debug)]
struct Reader {
    bytes: &'static [u8],
}

/// What is wrong with the bytes of a table: they are made by `table/write.rs`, so this is a fault
/// of a row.
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

    fn long(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    /// What begins at this byte.
    fn from(&self, at: u32) -> Result<Reader> {
        let bytes = self.bytes.get(at as usize..).ok_or("a place beyond its section")?;
        Ok(Reader { bytes })
    }

    fn bits(&mut self) -> Result<Bits> {
        let [a, b, c, d, e, f, g, h, inverted] = self.take()?;
        Ok(Bits { pieces: [(a, b), (c, d), (e, f), (g, h)], inverted: inverted != 0 })
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

    /// So many entries, leaked.
    fn array<T>(
        mut self,
        count: impl Into<usize>,
        mut entry: impl FnMut(&mut Reader) -> Result<T>,
    ) -> Result<&'static [T]> {
        let count = count.into();
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(entry(&mut self)?);
        }
        Ok(list.leak())
    }
}

fn one<T>(of: T) -> &'static T {
    Box::leak(Box::new(of))
}

/// The sections of a table.
#[derive(Debug)]
pub(crate) struct Data {
    opcodes: &'static [[u8; 4]],
    starts: &'static [[u8; 2]],
    numbered: &'static [[u8; 2]],
    heads: &'static [[u8; FORM]],
    ends: &'static [[u8; 4]],
    text: &'static str,
    words: Reader,
    options: Reader,
    fields: Reader,
    slots: Reader,
    ports: Reader,
    tests: Reader,
    aliases: Reader,
    specials: &'static [[u8; 4]],
    /// Options that were read, by place and count: many fields have the same.
    known: Mutex<FxHashMap<(u32, u16), &'static [ModOption]>>,
}

/// What tells whether a form may fit, before it is read.
#[derive(Clone, Copy)]
pub(crate) struct Head(&'static [u8; FORM]);

impl Head {
    fn part<const N: usize>(self, at: usize) -> [u8; N] {
        *self.0[at..].first_chunk().expect("it lies within the bytes of a form")
    }

    /// See [`Form::fixed_mask`].
    #[inline]
    pub fn fixed_mask(self) -> u128 {
        u128::from_le_bytes(self.part(0))
    }

    #[inline]
    pub fn fixed(self) -> u128 {
        u128::from_le_bytes(self.part(16))
    }

    /// The operands may be of these kinds: see [`Form::kinds`].
    #[inline]
    pub fn takes_kinds(self, kinds: u64) -> bool {
        kinds & u64::from_le_bytes(self.part(40)) == u64::from_le_bytes(self.part(32))
    }
}

fn numbers([a, b, c, d]: [u8; 4]) -> (u16, u16) {
    (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
}

impl Data {
    /// The sections of a table's bytes, and its strings.
    pub fn read(bytes: &'static [u8], text: &'static str) -> Result<Data> {
        let mut r = Reader { bytes };
        let mut lengths = [0; SECTIONS];
        for length in &mut lengths {
            *length = r.long()? as usize;
        }
        let mut sections = [&[][..]; SECTIONS];
        for (section, length) in sections.iter_mut().zip(lengths) {
            let (head, tail) =
                r.bytes.split_at_checked(length).ok_or("a section ends too early")?;
            (*section, r.bytes) = (head, tail);
        }
        let [opcodes, starts, numbered, heads, ends, parts @ .., specials] = sections;
        let [words, options, fields, slots, ports, tests, aliases] =
            parts.map(|bytes| Reader { bytes });
        Ok(Data {
            opcodes: opcodes.as_chunks().0,
            starts: starts.as_chunks().0,
            numbered: numbered.as_chunks().0,
            heads: heads.as_chunks().0,
            ends: ends.as_chunks().0,
            text,
            words,
            options,
            fields,
            slots,
            ports,
            tests,
            aliases,
            specials: specials.as_chunks().0,
            known: Mutex::default(),
        })
    }

    /// How many forms there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn head(&self, index: u16) -> Head {
        Head(&self.heads[index as usize])
    }

    /// The forms of an opcode.
    #[inline]
    pub fn forms_of(&self, op: Opcode) -> std::ops::Range<u16> {
        let (start, end) = numbers(self.opcodes[op as usize]);
        start..end
    }

    /// The forms whose low twelve bits are `number`.
    #[inline]
    pub fn numbered(&self, number: u16) -> impl Iterator<Item = u16> {
        let at = |number: u16| u16::from_le_bytes(self.starts[number as usize]) as usize;
        let number = number & 0xfff;
        self.numbered[at(number)..at(number + 1)].iter().map(|index| u16::from_le_bytes(*index))
    }

    /// Where a string lies.
    #[inline]
    fn place(&self, at: u16) -> Result<Range<usize>> {
        let end = |at: usize| self.ends.get(at).map(|end| u32::from_le_bytes(*end) as usize);
        let start = (at as usize).checked_sub(1).map_or(Some(0), end);
        let (start, end) = start.zip(end(at as usize)).ok_or("a string beyond the list")?;
        Ok(start..end)
    }

    fn text(&self, at: u16) -> Result<&'static str> {
        Ok(self.text.get(self.place(at)?).ok_or("a string ends too early")?)
    }

    fn words(&self, count: u8, at: u32) -> Result<&'static [Mod]> {
        let word = |r: &mut Reader| {
            let known = (r.short()? as usize).checked_sub(1).and_then(|at| Mod::LIST.get(at));
            known.ok_or_else(|| "a modifier beyond the list".to_string())
        };
        match count {
            0 => Ok(&[]),
            // Most have one: the list of all has that already.
            1 => word(&mut self.words.from(at)?).map(std::slice::from_ref),
            _ => self.words.from(at)?.array(count, |r| word(r).copied()),
        }
    }

    fn field(&self, r: &mut Reader) -> Result<ModField> {
        let name = self.text(r.short()?)?;
        let bits = r.bits()?;
        let (count, at) = (r.short()?, r.long()?);
        Ok(ModField { name, bits, options: self.options(count, at)? })
    }

    fn options(&self, count: u16, at: u32) -> Result<&'static [ModOption]> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(options) = known.get(&(at, count)) {
            return Ok(options);
        }
        let options = self.options.from(at)?.array(count, |r| {
            let value = r.short()?;
            let [count, cells] = r.take()?;
            let words = self.words(count, r.long()?)?;
            Ok(ModOption { value, words, cells })
        })?;
        known.insert((at, count), options);
        Ok(options)
    }

    fn alias(&self, r: &mut Reader) -> Result<Alias> {
        let word = self.text(r.short()?)?;
        let count = r.byte()?;
        let tests = self.tests.from(r.long()?)?.array(count, |r| {
            let [kind, at] = r.take()?;
            let value = r.long()?;
            Ok(match kind {
                0 => AliasTest::Zero(at),
                1 => AliasTest::Is(at, value),
                2 => AliasTest::PowerOfTwo(at),
                _ => AliasTest::NotUniform(at),
            })
        })?;
        Ok(Alias { word, tests })
    }

    /// Reads a form, which lives as long as the program.
    pub fn form(&self, index: u16) -> Result<&'static Form> {
        let bytes = self.heads.get(index as usize).ok_or("a form beyond the list")?;
        let mut r = Reader { bytes };
        let (fixed_mask, fixed) = (r.take()?, r.take()?);
        let (kinds, kinds_mask) = (r.take()?, r.take()?);
        let (op, row) = (r.short()?, self.text(r.short()?)?);
        let class = *Class::ALL.get(r.byte()? as usize).ok_or("a class")?;
        let guard = r.file()?;
        let [defs, flags] = r.take()?;
        let (mods, slots, aliases, ports) = (r.long()?, r.long()?, r.long()?, r.long()?);
        let [mods_count, count, aliases_count, _] = r.take()?;
        let places =
            |r: &mut Reader| Ok(SlotPorts([r.short()?, r.short()?, r.short()?, r.short()?]));
        let ports = Ports {
            slots: self.ports.from(ports)?.array(count, places)?,
            guard: In(r.short()?),
            masked: r.short()?,
        };
        Ok(one(Form {
            op: *Opcode::LIST.get(op as usize).ok_or("an opcode beyond the list")?,
            index,
            row,
            fixed_mask: u128::from_le_bytes(fixed_mask),
            fixed: u128::from_le_bytes(fixed),
            guard,
            class,
            write_sb: flags & 1 != 0,
            read_sb: flags & 2 != 0,
            seen: flags & 4 != 0,
            waits: flags & 8 != 0,
            defs,
            mods: self.fields.from(mods)?.array(mods_count, |r| self.field(r))?,
            slots: self.slots.from(slots)?.array(count, |r| slot(r, self))?,
            aliases: self.aliases.from(aliases)?.array(aliases_count, |r| self.alias(r))?,
            ports,
            kinds: u64::from_le_bytes(kinds),
            kinds_mask: u64::from_le_bytes(kinds_mask),
        }))
    }

    /// The number of a special register, without a list of all.
    pub fn special(&self, name: &str) -> Option<u8> {
        let all = self.specials.iter().map(|bytes| numbers(*bytes));
        let is_named = |at| {
            let place = self.place(at);
            place.is_ok_and(|place| self.text.as_bytes().get(place) == Some(name.as_bytes()))
        };
        let mut named = all.filter(|(_, at)| is_named(*at));
        named.next().map(|(number, _)| number as u8)
    }

    /// Special registers, in order of their numbers.
    pub fn specials(&self) -> Result<Vec<(u8, &'static str)>> {
        let one = |bytes: &[u8; 4]| {
            let (number, name) = numbers(*bytes);
            Ok((number as u8, self.text(name)?))
        };
        self.specials.iter().map(one).collect()
    }
}

fn slot(r: &mut Reader, data: &Data) -> Result<Slot> {
    let text = |at: u16| data.text(at);
    let field = |at: u32| match at {
        u32::MAX => Ok(None),
        at => Ok::<_, String>(Some(one(data.field(&mut data.fields.from(at)?)?))),
    };
    let name = text(r.short()?)?;
    let kind = match r.byte()? {
        0 => SlotKind::Reg { file: r.file()?, bits: r.bits()?, flags: r.flags()? },
        1 => SlotKind::Part {
            file: r.file()?,
            bits: r.bits()?,
            flags: r.flags()?,
            part: field(r.long()?)?.ok_or("a part selector")?,
        },
        2 => {
            let bits = r.bits()?;
            let (signed, scale) = (r.flag()?, r.byte()?);
            let style = text(r.short()?)?;
            let style =
                ImmStyle::named(style).ok_or_else(|| format!("no immediate style {style}"))?;
            SlotKind::Imm { bits, signed, scale, style, names: field(r.long()?)? }
        }
        3 => SlotKind::Const {
            offset: r.bits()?,
            scale: r.byte()?,
            bank: r.optional_bits()?,
            base: r.optional_bits()?,
            base_file: r.file()?,
            handle: r.optional_bits()?,
            flags: r.flags()?,
            part: field(r.long()?)?,
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
            sel: field(r.long()?)?,
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
        8 => SlotKind::Named { field: field(r.long()?)?.ok_or("the words of an operand")? },
        other => return Err(format!("operand kind {other}")),
    };
    let cells = r.cells()?;
    let align = r.byte()?;
    let hide = r.byte()?;
    let value = r.long()?;
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
