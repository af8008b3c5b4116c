//! Reads the rows of the instruction table for one SM. `tables/README.md` describes the notation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a generation changes in the notation itself.
#[derive(Clone, Copy, Debug)]
pub struct Generation {
    /// 90
    pub sm: u16,
    /// Width of the number of a uniform register.
    pub uniform_bits: u8,
    /// B and C may be constants: `c[bank][offset]`, `cx[UR][offset]`.
    pub constants: bool,
    /// The text has `desc[UR4]` before an address.
    pub shows_descriptors: bool,
}

/// A field: pieces `(position, width)`, least significant first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bits {
    pub pieces: Vec<(u8, u8)>,
    pub inverted: bool,
}

impl Bits {
    pub fn one(pos: u8, width: u8) -> Bits {
        Bits { pieces: vec![(pos, width)], inverted: false }
    }

    pub fn word_mask(&self) -> u128 {
        self.pieces.iter().fold(0, |m, &(p, w)| m | ((1u128 << w) - 1) << p)
    }
}

#[derive(Clone, Debug)]
pub struct ModOption {
    pub value: u16,
    pub words: Vec<String>,
    pub cells: u8,
}

#[derive(Clone, Debug)]
pub struct ModField {
    pub name: String,
    pub bits: Bits,
    pub options: Vec<ModOption>,
}

/// `-72` and so on after an operand; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    pub neg: u8,
    pub abs: u8,
    pub not: u8,
    pub reuse: u8,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Reg {
        file: &'static str,
        bits: Bits,
        flags: Flags,
        part: Option<ModField>,
    },
    Imm {
        bits: Bits,
        signed: bool,
        scale: u8,
        style: &'static str,
        /// Its only values, and their names.
        names: Option<ModField>,
    },
    Const {
        offset: Bits,
        scale: u8,
        bank: Option<Bits>,
        base: Option<Bits>,
        /// Of the base register.
        base_file: &'static str,
        handle: Option<Bits>,
        flags: Flags,
        part: Option<ModField>,
    },
    Mem {
        base: Option<Bits>,
        base_cells: Cells,
        /// The form is only for a base that is not RZ.
        base_needed: bool,
        uniform: Option<Bits>,
        uniform_cells: Cells,
        /// The form is only for a uniform register that is not URZ.
        uniform_needed: bool,
        offset: Bits,
        /// An offset alone prints as a signed number.
        signed: bool,
        sel: Option<ModField>,
    },
    Desc {
        bits: Bits,
        prefix: String,
        /// Bits of `.negA`, `.negB`, `.tnspA`, `.tnspB`; 0 for none.
        matrices: [u8; 4],
        /// The pair stands so many registers after the one that the bits name, which another operand has; 0: it has the bits.
        after: u8,
    },
    Special {
        bits: Bits,
    },
    Target {
        bits: Bits,
        scale: u8,
        relative: bool,
        address: bool,
    },
    /// One of some words.
    Named(ModField),
    /// The operand that differs between the forms of a row: a register, an immediate, a constant or a uniform register.
    Generic {
        style: &'static str,
        flags: GenericFlags,
        part: Option<Placed<ModField>>,
    },
}

/// What differs between B's place (bit 32) and C's (bit 64): `60.2/81.2`. Without a slash both are the same.
#[derive(Clone, Copy, Debug)]
pub struct Placed<T> {
    pub b: T,
    pub c: T,
}

/// The flags of an operand whose place depends on the form: none, at the place's usual bit, or at a bit of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct GenericFlags {
    pub neg: Option<Placed<u8>>,
    pub abs: Option<Placed<u8>>,
    pub not: Option<Placed<u8>>,
}

/// The flag is where its place usually has it.
const USUAL: u8 = 0;

#[derive(Clone, Debug)]
pub enum Cells {
    Fixed(u8),
    Field(String),
}

#[derive(Clone, Debug)]
pub struct Slot {
    pub name: String,
    pub kind: Kind,
    pub cells: Cells,
    /// The most that the first register's number must be a multiple of.
    pub align: u8,
    pub hide: Hide,
    pub lead: String,
    /// The form is only for another register than RZ or URZ.
    pub needed: bool,
    /// The text names it twice: how many registers further the second time.
    pub twice: Option<u8>,
}

/// When the text leaves an operand out.
#[derive(Clone, Copy, Debug)]
pub enum Hide {
    Never,
    Zero,
    NotTrue,
    Value(u32),
    ZeroUnless(u8),
    Always,
}

/// One form: a row with its B and C operands decided.
#[derive(Clone, Debug)]
pub struct Form {
    pub opcode: String,
    pub row: String,
    pub class: String,
    pub write_sb: bool,
    pub read_sb: bool,
    pub guard: &'static str,
    pub defs: u8,
    pub mods: Vec<ModField>,
    pub slots: Vec<Slot>,
    pub fixed: u128,
    pub aliases: Vec<(String, Vec<String>)>,
    /// It may wait for scoreboards.
    pub waits: bool,
    pub seen: bool,
}

#[derive(Default)]
pub struct Table {
    pub forms: Vec<Form>,
    pub specials: Vec<(u16, String)>,
}

type Result<T> = std::result::Result<T, String>;

impl Table {
    /// The rows of a folder that hold for a generation.
    pub fn read_folder(folder: &Path, generation: Generation) -> Result<Table> {
        let mut table = Table::default();
        let mut files: Vec<_> = fs::read_dir(folder)
            .map_err(|e| format!("{}: {e}", folder.display()))?
            .filter_map(|e| e.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "isa"))
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut sets = Sets { lists: BTreeMap::new(), bits: BTreeMap::new(), generation };
            for (i, line) in text.lines().enumerate() {
                let place = format!("{name}:{}", i + 1);
                table
                    .read_line(line, &place, &mut sets)
                    .map_err(|e| format!("{}/{place}: {e}", folder.display()))?;
            }
        }
        table.specials.sort();
        Ok(table)
    }

    fn read_line(&mut self, line: &str, place: &str, sets: &mut Sets) -> Result<()> {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("set ") {
            let (name, value) = rest.split_once('=').ok_or("set NAME = options")?;
            sets.lists.insert(name.trim().into(), value.trim().replace(' ', ""));
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("bits ") {
            let (what, on) = rest.split_once(" ; on ").unwrap_or((rest, "-"));
            let (name, value) = what.split_once('=').ok_or("bits NAME = BITS")?;
            if holds(on.trim(), sets.generation.sm)? {
                sets.bits.insert(format!("${}", name.trim()), value.trim().into());
            }
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("special ") {
            let (what, on) = rest.split_once(" ; on ").unwrap_or((rest, "-"));
            let (number, name) = what.trim().split_once(' ').ok_or("special NUMBER NAME")?;
            if holds(on.trim(), sets.generation.sm)? {
                self.specials.push((number.parse().map_err(|_| "number")?, name.trim().into()));
            }
            return Ok(());
        }
        let line = sets.bits.iter().fold(line.to_string(), |l, (name, bits)| l.replace(name, bits));
        let mut sections = line.split(" ; ");
        let head = sections.next().unwrap_or("");
        let mut row = Row::parse_head(head, sets)?;
        for section in sections {
            row.parse_extra(section, sets.generation)?;
        }
        row.place = place.into();
        // A field without an option on this SM: the row does not hold there.
        let fields = row.mods.iter().all(|m| !m.options.is_empty());
        let there = match &row.on {
            Some(on) => holds(on, sets.generation.sm)?,
            None => true,
        };
        if fields && there {
            row.expand(sets.generation, &mut self.forms)?;
        }
        Ok(())
    }
}

/// What rows of a file refer to.
struct Sets {
    /// Options by the set's name.
    lists: BTreeMap<String, String>,
    /// `$NAME` and the bits that stand for it on this SM.
    bits: BTreeMap<String, String>,
    generation: Generation,
}

/// Whether a list of SMs (`75,80-89`, `90-`, `-80`) has this one.
fn holds(list: &str, sm: u16) -> Result<bool> {
    let number = |text: &str, open: u16| match text {
        "" => Ok(open),
        _ => text.parse::<u16>().map_err(|_| format!("list of SMs {list}")),
    };
    let mut found = false;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        found |= number(first, 0)? <= sm && sm <= number(last, u16::MAX)?;
    }
    Ok(found)
}

struct Row {
    place: String,
    opcode: String,
    mods: Vec<ModField>,
    /// `010:b`
    numbers: String,
    class: String,
    write_sb: bool,
    read_sb: bool,
    defs: u8,
    slots: Vec<Slot>,
    consts: Vec<(Bits, u64)>,
    aliases: Vec<(String, Vec<String>)>,
    uniform_guard: bool,
    waits: bool,
    seen: bool,
    /// SMs that have it; all without one.
    on: Option<String>,
}

impl Row {
    fn parse_head(head: &str, sets: &Sets) -> Result<Row> {
        let mut words = head.split_whitespace();
        let name = words.next().ok_or("no opcode")?;
        let numbers = words.next().ok_or("no opcode number")?.to_string();
        let class_word = words.next().ok_or("no class")?;
        let (class, sb) = class_word.split_once(':').unwrap_or((class_word, ""));
        let (opcode, mods) = parse_name(name, sets)?;
        let mut row = Row {
            place: String::new(),
            opcode,
            mods,
            numbers,
            class: class.into(),
            write_sb: sb.contains('w'),
            read_sb: sb.contains('r'),
            defs: 0,
            slots: Vec::new(),
            consts: Vec::new(),
            aliases: Vec::new(),
            uniform_guard: false,
            waits: true,
            seen: true,
            on: None,
        };
        let mut lead = String::new();
        for word in words {
            if word == "<-" {
                row.defs = row.slots.len() as u8;
            } else if let Some(text) = word.strip_prefix('"') {
                lead.push_str(&text.trim_end_matches('"').replace('~', " "));
            } else {
                let mut slot = parse_slot(word, sets)?;
                slot.lead = std::mem::take(&mut lead);
                row.slots.push(slot);
            }
        }
        Ok(row)
    }

    fn parse_extra(&mut self, section: &str, generation: Generation) -> Result<()> {
        let mut words = section.split_whitespace();
        match words.next() {
            Some("is") => {
                for word in words {
                    if let Some(pos) = word.strip_prefix("UR") {
                        let pos = pos.parse().map_err(|_| "is URBIT")?;
                        let urz = (1 << generation.uniform_bits) - 1;
                        self.consts.push((Bits::one(pos, generation.uniform_bits), urz));
                        continue;
                    }
                    let (bits, value) = word.split_once('=').ok_or("is BITS=VALUE")?;
                    let value = u64::from_str_radix(value, 16).map_err(|e| e.to_string())?;
                    self.consts.push((parse_bits(bits)?, value));
                }
            }
            Some("as") => {
                let word = words.next().ok_or("as WORD if …")?;
                self.aliases.push((word.into(), words.map(String::from).collect()));
            }
            Some("guard") => self.uniform_guard = words.next() == Some("UP"),
            Some("probed") => self.seen = false,
            Some("nowait") => self.waits = false,
            Some("on") => self.on = Some(words.next().ok_or("on SM,SM-SM")?.into()),
            other => return Err(format!("section {other:?}")),
        }
        Ok(())
    }

    /// The operand forms: `010:b`, `021:1s2i3c7u` …
    fn expand(&self, generation: Generation, new: &mut Vec<Form>) -> Result<()> {
        let (number, kinds) = self.numbers.split_once(':').unwrap_or((&self.numbers, ""));
        let number = u16::from_str_radix(number, 16).map_err(|e| e.to_string())?;
        let shapes: &[(u16, Shape)] = match kinds {
            "" => &[(0, Shape { b: 'x', c: 'x' })],
            // B alone varies.
            "b" => &[
                (1, Shape { b: 'r', c: 'r' }),
                (4, Shape { b: 'i', c: 'r' }),
                (5, Shape { b: 'c', c: 'r' }),
                (6, Shape { b: 'u', c: 'r' }),
            ],
            // The one varying operand is a C: its immediate forms are those of C.
            "c" => &[
                (1, Shape { b: 'r', c: 'r' }),
                (2, Shape { b: 'r', c: 'i' }),
                (3, Shape { b: 'r', c: 'c' }),
                (7, Shape { b: 'r', c: 'u' }),
            ],
            // FADD: as C, but a register stands where B stands.
            "s" => &[
                (1, Shape { b: 'x', c: 's' }),
                (2, Shape { b: 'x', c: 'i' }),
                (3, Shape { b: 'x', c: 'c' }),
                (7, Shape { b: 'x', c: 'u' }),
            ],
            // As `bc`, without immediates.
            "bcr" => &[
                (1, Shape { b: 'r', c: 'r' }),
                (5, Shape { b: 'c', c: 'r' }),
                (6, Shape { b: 'u', c: 'r' }),
                (3, Shape { b: 'r', c: 'c' }),
                (7, Shape { b: 'r', c: 'u' }),
            ],
            // FADD: without an immediate.
            "scu" => &[
                (1, Shape { b: 'x', c: 's' }),
                (3, Shape { b: 'x', c: 'c' }),
                (7, Shape { b: 'x', c: 'u' }),
            ],
            "bc" => &[
                (1, Shape { b: 'r', c: 'r' }),
                (4, Shape { b: 'i', c: 'r' }),
                (5, Shape { b: 'c', c: 'r' }),
                (6, Shape { b: 'u', c: 'r' }),
                (2, Shape { b: 'r', c: 'i' }),
                (3, Shape { b: 'r', c: 'c' }),
                (7, Shape { b: 'r', c: 'u' }),
            ],
            // B in a register only.
            "ru" => &[(1, Shape { b: 'r', c: 'r' }), (6, Shape { b: 'u', c: 'r' })],
            // B without an immediate.
            "rcu" => &[
                (1, Shape { b: 'r', c: 'r' }),
                (5, Shape { b: 'c', c: 'r' }),
                (6, Shape { b: 'u', c: 'r' }),
            ],
            // As `bc`, but C is 64 bits wide and so cannot be an immediate.
            "b7" => &[
                (1, Shape { b: 'r', c: 'r' }),
                (4, Shape { b: 'i', c: 'r' }),
                (5, Shape { b: 'c', c: 'r' }),
                (6, Shape { b: 'u', c: 'r' }),
                (3, Shape { b: 'r', c: 'c' }),
                (7, Shape { b: 'r', c: 'u' }),
            ],
            // The forms of `bc` beside those of `b`.
            "co" => &[
                (2, Shape { b: 'r', c: 'i' }),
                (3, Shape { b: 'r', c: 'c' }),
                (7, Shape { b: 'r', c: 'u' }),
            ],
            // Uniform datapath: B is a uniform register or an immediate.
            "ub" => &[(1, Shape { b: 'u', c: 'u' }), (4, Shape { b: 'i', c: 'u' })],
            // The same with an immediate C: B then stands in C's place.
            "uco" => &[(2, Shape { b: 'u', c: 'i' })],
            "ubc" => &[
                (1, Shape { b: 'u', c: 'u' }),
                (4, Shape { b: 'i', c: 'u' }),
                (2, Shape { b: 'u', c: 'i' }),
            ],
            // Only the register and immediate forms, or register and uniform.
            "ri" => &[(1, Shape { b: 'r', c: 'r' }), (4, Shape { b: 'i', c: 'r' })],
            "r" => &[(1, Shape { b: 'r', c: 'r' })],
            "i" => &[(4, Shape { b: 'i', c: 'r' })],
            "u" => &[(6, Shape { b: 'u', c: 'r' })],
            // A constant or a uniform register.
            "ku" => &[(5, Shape { b: 'c', c: 'r' }), (6, Shape { b: 'u', c: 'r' })],
            other => return Err(format!("operand forms {other}")),
        };
        for &(form, shape) in shapes {
            if (shape.b == 'c' || shape.c == 'c') && !generation.constants {
                continue;
            }
            new.push(self.form(generation, number | form << 9, shape, kinds)?);
            // Every constant may also be one whose bank a uniform register tells.
            let by_handle = |letter| if letter == 'c' { 'h' } else { letter };
            let handle = Shape { b: by_handle(shape.b), c: by_handle(shape.c) };
            if handle != shape {
                new.push(self.form(generation, number | form << 9, handle, kinds)?);
            }
        }
        Ok(())
    }

    fn form(&self, generation: Generation, number: u16, shape: Shape, kinds: &str) -> Result<Form> {
        let mut form = Form {
            opcode: self.opcode.clone(),
            row: self.place.clone(),
            class: self.class.clone(),
            write_sb: self.write_sb,
            read_sb: self.read_sb,
            guard: if self.uniform_guard { "UP" } else { "P" },
            defs: self.defs,
            mods: self.mods.clone(),
            slots: self.slots.clone(),
            fixed: number as u128,
            aliases: self.aliases.clone(),
            waits: self.waits,
            seen: self.seen,
        };
        // An immediate, constant or uniform C stands in B's place, and a register B then in C's.
        let datapath = matches!(kinds, "ub" | "ubc" | "uco");
        let c_takes_b = matches!(shape.c, 'i' | 'c' | 'h') || (shape.c == 'u' && !datapath);
        let mut uniform = datapath;
        for slot in &mut form.slots {
            let Kind::Generic { style, flags, part } = &slot.kind else { continue };
            let is_c = slot.name.starts_with('c');
            let letter = if is_c { shape.c } else { shape.b };
            let at_b = if is_c { c_takes_b || letter == 's' } else { !c_takes_b };
            let file = if datapath { "UR" } else { "R" };
            // Flags belong to the place, the reuse hint to the operand.
            let (pos, neg, abs) = if at_b { (32, 63, 62) } else { (64, 75, 74) };
            let reuse = if is_c { 124 } else { 123 };
            let pick = |flag: Option<Placed<u8>>, usual: u8| match flag
                .map(|f| if at_b { f.b } else { f.c })
            {
                None => 0,
                Some(USUAL) => usual,
                Some(bit) => bit,
            };
            let part = part.as_ref().map(|p| if at_b { &p.b } else { &p.c }).cloned();
            let flag_bits = Flags {
                neg: pick(flags.neg, neg),
                abs: pick(flags.abs, abs),
                not: pick(flags.not, neg),
                reuse: if file == "R" { reuse } else { 0 },
            };
            slot.kind = match letter {
                'r' | 's' => Kind::Reg {
                    file,
                    bits: Bits::one(pos, if file == "R" { 8 } else { generation.uniform_bits }),
                    flags: flag_bits,
                    part,
                },
                'u' => {
                    uniform = true;
                    Kind::Reg {
                        file: "UR",
                        bits: Bits::one(pos, generation.uniform_bits),
                        flags: Flags { reuse: 0, ..flag_bits },
                        part,
                    }
                }
                'i' => Kind::Imm {
                    bits: Bits::one(32, 32),
                    signed: *style == "SignedHex",
                    scale: 1,
                    style,
                    names: None,
                },
                'c' => Kind::Const {
                    offset: Bits::one(40, 14),
                    scale: 4,
                    bank: Some(Bits::one(54, 5)),
                    base: None,
                    base_file: "R",
                    handle: None,
                    flags: Flags { reuse: 0, ..flag_bits },
                    part,
                },
                'h' => {
                    uniform = true;
                    Kind::Const {
                        offset: Bits::one(40, 14),
                        scale: 4,
                        bank: None,
                        base: None,
                        base_file: "R",
                        handle: Some(Bits::one(32, generation.uniform_bits)),
                        flags: Flags { reuse: 0, ..flag_bits },
                        part,
                    }
                }
                other => return Err(format!("operand form {other} of {}", slot.name)),
            };
        }
        // Reuse hints are for what reads its registers in the fixed-latency pipes.
        if matches!(self.class.as_str(), "variable" | "xu" | "control") {
            for slot in &mut form.slots {
                if let Kind::Reg { flags, .. } = &mut slot.kind {
                    flags.reuse = 0;
                }
            }
        }
        if uniform {
            form.fixed |= 1 << 91;
        }
        for (bits, value) in &self.consts {
            let mut rest = *value;
            for &(pos, width) in &bits.pieces {
                form.fixed |= ((rest & ((1 << width) - 1)) as u128) << pos;
                rest >>= width;
            }
        }
        Ok(form)
    }
}

/// What stands for B and C: `r`egister, `i`mmediate, `c`onstant, `h`: constant by handle, `u`niform register, `s`: register C
/// in B's place.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    b: char,
    c: char,
}

/// `NAME.WORD{field@pos.width:opt,opt}…`
fn parse_name(text: &str, sets: &Sets) -> Result<(String, Vec<ModField>)> {
    let end = text.find(['.', '{']).unwrap_or(text.len());
    let opcode = text[..end].to_string();
    let mut rest = &text[end..];
    let mut mods = Vec::new();
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('{') {
            let close = tail.find('}').ok_or("missing }")?;
            mods.push(parse_field(&tail[..close], sets)?);
            rest = &tail[close + 1..];
        } else if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '{']).unwrap_or(tail.len());
            mods.push(fixed_word(&tail[..end]));
            rest = &tail[end..];
        } else {
            return Err(format!("modifiers: {rest}"));
        }
    }
    Ok((opcode, mods))
}

/// `name@73.3:A,B,_,5=C.D*2`
fn parse_field(text: &str, sets: &Sets) -> Result<ModField> {
    let Some((head, options)) = text.split_once(':') else {
        // One word that is always there.
        let options = vec![ModOption { value: 0, words: vec![text.into()], cells: 1 }];
        return Ok(ModField { name: text.into(), bits: Bits::default(), options });
    };
    let (name, bits) = head.split_once('@').unwrap_or(("", head));
    let options = match options.strip_prefix('$') {
        Some(set) => sets.lists.get(set).ok_or_else(|| format!("no set {set}"))?.as_str(),
        None => options,
    };
    let mut field = ModField { name: name.into(), bits: parse_bits(bits)?, options: Vec::new() };
    let mut next = 0u16;
    // Without a name of its own a field is called by its words; on an SM where none of them is left, by the first.
    let mut first_word = String::new();
    for option in options.split(',') {
        let (value, option) = match option.split_once('=') {
            Some((v, o)) => (v.parse().map_err(|_| format!("value {v}"))?, o),
            None => (next, option),
        };
        let (option, on) = option.split_once('@').unwrap_or((option, "-"));
        let there = holds(on, sets.generation.sm)?;
        for (option, value) in series(option)?.into_iter().zip(value..) {
            next = value + 1;
            if first_word.is_empty() && !["^", "_"].contains(&option.as_str()) {
                first_word = option.split('*').next().unwrap_or("").into();
            }
            if option == "^" || !there {
                continue;
            }
            let (words, cells) = option.split_once('*').unwrap_or((&option, "1"));
            let words = match words {
                "_" => Vec::new(),
                words => words.split('.').map(String::from).collect(),
            };
            let cells = cells.parse().map_err(|_| "cells")?;
            field.options.push(ModOption { value, words, cells });
        }
    }
    if field.name.is_empty() && field.options.iter().all(|o| o.words.is_empty()) {
        field.name = first_word;
    }
    Ok(field)
}

/// A part selector of an operand: `60.2:_,H0_H0`, or a word that it always has, `SIGN`.
fn parse_part(text: &str, sets: &Sets) -> Result<ModField> {
    if text.contains(':') {
        return parse_field(text, sets);
    }
    Ok(fixed_word(text))
}

fn fixed_word(word: &str) -> ModField {
    let options = vec![ModOption { value: 0, words: vec![word.into()], cells: 1 }];
    ModField { name: word.into(), bits: Bits::default(), options }
}

/// The options that one stands for: `64x[8-24]x16*[2-6]` is `64x8x16*2`, `64x16x16*4`, `64x24x16*6`. Steps are as large as
/// the first number, or said: `[48-96/16]`.
fn series(option: &str) -> Result<Vec<String>> {
    let mut parts = option.split('[');
    let mut all = vec![parts.next().unwrap_or("").to_string()];
    for part in parts {
        let (range, tail) = part.split_once(']').ok_or("missing ]")?;
        let number = |t: &str| t.parse::<usize>().ok().filter(|n| *n > 0).ok_or("[FIRST-LAST]");
        let (first, last) = range.split_once('-').ok_or("[FIRST-LAST]")?;
        let (last, step) = last.split_once('/').unwrap_or((last, first));
        let numbers: Vec<usize> = (number(first)?..=number(last)?).step_by(number(step)?).collect();
        if all.len() == 1 {
            all = vec![all[0].clone(); numbers.len()];
        }
        if all.len() != numbers.len() {
            return Err(format!("{option}: brackets of different lengths"));
        }
        for (text, n) in all.iter_mut().zip(numbers) {
            text.push_str(&format!("{n}{tail}"));
        }
    }
    Ok(all)
}

/// `73.3`, `72` (one bit), `64.3+72.5` (least significant piece first), `^64.3` (complement).
fn parse_bits(text: &str) -> Result<Bits> {
    let (inverted, text) = match text.strip_prefix('^') {
        Some(t) => (true, t),
        None => (false, text),
    };
    let mut pieces = Vec::new();
    for piece in text.split('+') {
        let (pos, width) = piece.split_once('.').unwrap_or((piece, "1"));
        let number = |t: &str| t.parse::<u8>().map_err(|_| format!("bits {text}"));
        pieces.push((number(pos)?, number(width)?));
    }
    Ok(Bits { pieces, inverted })
}

/// Takes leading digits, dots, pluses and `^`: a bit field.
fn take_bits(text: &str) -> Result<(Bits, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".+^".contains(c))).unwrap_or(text.len());
    Ok((parse_bits(&text[..end])?, &text[end..]))
}

fn parse_style(text: &str) -> Result<&'static str> {
    Ok(match text {
        "x" => "SignedHex",
        "u" => "Hex",
        "d" => "Decimal",
        "f" => "F32",
        "g" => "F64High",
        "h" => "F16x2",
        "hl" => "F16",
        "bl" => "Bf16",
        "pn" => "Signs",
        "sb" => "Scoreboard",
        "gsb" => "GroupScoreboard",
        "set" => "Set",
        other => return Err(format!("immediate style {other}")),
    })
}

/// `name`, `name=TYPE…` with suffixes: see `tables/README.md`.
fn parse_slot(word: &str, sets: &Sets) -> Result<Slot> {
    let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
    let name = word[..end].to_string();
    let rest = &word[end..];
    let (spec, mut rest) = match rest.strip_prefix('=') {
        Some(tail) => (tail, ""),
        // The standing places of destination, A, B, C and their uniform counterparts.
        None => match name.as_str() {
            "d" => ("R16", rest),
            "a" => ("R24", rest),
            "b" | "c" => ("G", rest),
            "ud" => ("UR16", rest),
            "ua" => ("UR24", rest),
            other => return Err(format!("operand {other} has no standing place")),
        },
    };
    let kind_end =
        spec.find(|c: char| c.is_ascii_digit() || "[^:{-~|!?*&".contains(c)).unwrap_or(spec.len());
    let (letters, mut tail) = spec.split_at(kind_end);
    let mut kind = match letters {
        // `{61.3:1D,2D}`: a number shown by name.
        "" if tail.starts_with('{') => {
            let close = tail.find('}').ok_or("missing }")?;
            let field = parse_field(&tail[1..close], sets)?;
            tail = &tail[close + 1..];
            let bits = field.bits.clone();
            Kind::Imm { bits, signed: false, scale: 1, style: "Hex", names: Some(field) }
        }
        "R" | "UR" | "P" | "UP" | "B" => {
            let (mut bits, t) = take_bits(tail)?;
            tail = t;
            let (file, width) = match letters {
                "R" => ("R", 8),
                "UR" => ("UR", sets.generation.uniform_bits),
                "P" => ("P", 3),
                "UP" => ("UP", 3),
                _ => ("B", 4),
            };
            if bits.pieces.len() == 1 && bits.pieces[0].1 == 1 {
                bits.pieces[0].1 = width;
            }
            let reuse = match (file, bits.pieces[0].0) {
                ("R", 24) => 122,
                ("R", 32) => 123,
                ("R", 64) if name == "b" => 123,
                ("R", 64) => 124,
                _ => 0,
            };
            Kind::Reg { file, bits, flags: Flags { reuse, ..Flags::default() }, part: None }
        }
        "G" => Kind::Generic { style: "SignedHex", flags: GenericFlags::default(), part: None },
        "I" | "S" => {
            let (bits, t) = take_bits(tail)?;
            tail = t;
            if letters == "S" {
                Kind::Special { bits }
            } else {
                Kind::Imm { bits, signed: false, scale: 1, style: "Hex", names: None }
            }
        }
        "D" => {
            let (bits, t) = take_bits(tail)?;
            tail = t;
            Kind::Desc {
                bits: Bits::one(bits.pieces[0].0, sets.generation.uniform_bits),
                prefix: "desc".into(),
                matrices: [0; 4],
                after: 0,
            }
        }
        "W" => {
            let inner = tail.strip_prefix('{').ok_or("W{BITS:words}")?;
            let close = inner.find('}').ok_or("missing }")?;
            tail = &inner[close + 1..];
            Kind::Named(parse_field(&inner[..close], sets)?)
        }
        "T" | "J" | "L" | "A" => {
            let (bits, t) = take_bits(tail)?;
            tail = t;
            let scale = if letters == "L" { 1 } else { 4 };
            let relative = matches!(letters, "T" | "L");
            Kind::Target { bits, scale, relative, address: letters == "A" }
        }
        "M" | "C" => {
            let inner = tail.strip_prefix('[').ok_or("M[...]")?;
            let close = inner.find(']').ok_or("missing ]")?;
            tail = &inner[close + 1..];
            let parts = &inner[..close];
            if letters == "M" { parse_mem(parts, sets)? } else { parse_const(parts, sets)? }
        }
        other => return Err(format!("operand type {other}")),
    };
    let (mut twice, mut needed) = (None, false);
    // The pair of registers of a memory operand's descriptor.
    let mut slot_cells = Cells::Fixed(if matches!(kind, Kind::Desc { .. }) { 2 } else { 1 });
    let mut align = u8::MAX;
    let mut hide = match &kind {
        Kind::Desc { prefix, .. } if !sets.generation.shows_descriptors && *prefix == "desc" => {
            Hide::Always
        }
        _ => Hide::Never,
    };
    // Suffixes of a slot with a standing place come from the word, others from the type.
    if rest.is_empty() {
        rest = tail;
    }
    while let Some(c) = rest.chars().next() {
        rest = &rest[1..];
        let number_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..number_end].parse::<u8>().ok();
        match c {
            '!' if matches!(kind, Kind::Desc { .. }) => hide = Hide::Never,
            '!' if number.is_none() && matches!(&kind, Kind::Reg { file: "R" | "UR", .. }) => {
                needed = true;
            }
            '-' | '|' | '~' | '!' => {
                rest = &rest[number_end..];
                let mut at_c = number;
                if let Some(tail) = rest.strip_prefix('/') {
                    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
                    at_c = tail[..end].parse().ok();
                    rest = &tail[end..];
                }
                let usual = |n: Option<u8>| n.unwrap_or(USUAL);
                let placed = Some(Placed { b: usual(number), c: usual(at_c) });
                match &mut kind {
                    Kind::Reg { flags, bits, .. } => {
                        let default = match bits.pieces[0].0 {
                            24 => 72,
                            32 => 63,
                            _ => 75,
                        };
                        let default = match c {
                            '|' if default == 72 => 73,
                            '|' if default == 63 => 62,
                            '|' => 74,
                            _ => default,
                        };
                        let bit = number.unwrap_or(default);
                        match c {
                            '-' => flags.neg = bit,
                            '|' => flags.abs = bit,
                            _ => flags.not = bit,
                        }
                    }
                    Kind::Generic { flags, .. } => match c {
                        '-' => flags.neg = placed,
                        '|' => flags.abs = placed,
                        _ => flags.not = placed,
                    },
                    _ => return Err(format!("{c} on {name}")),
                }
            }
            '?' => {
                let end = rest.find(|c: char| "*:".contains(c)).unwrap_or(rest.len());
                let (what, t) = rest.split_at(end);
                rest = t;
                hide = match what {
                    "" => Hide::Zero,
                    "!" => Hide::NotTrue,
                    w => match w.strip_prefix('@') {
                        Some(slot) => Hide::ZeroUnless(slot.parse().map_err(|_| "?@SLOT")?),
                        None => Hide::Value(w.parse().map_err(|_| "?VALUE")?),
                    },
                };
            }
            '*' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let (what, t) = rest.split_at(end);
                rest = t;
                slot_cells = parse_cells(what);
            }
            ':' => {
                let end = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
                let (what, t) = rest.split_at(end);
                rest = t;
                let style_of = |w: &str| parse_style(w);
                match &mut kind {
                    Kind::Desc { prefix, .. } => *prefix = what.into(),
                    Kind::Mem { signed, .. } if what == "x" => *signed = true,
                    Kind::Generic { style, .. } => *style = style_of(what)?,
                    Kind::Imm { style, signed, .. } => {
                        *style = style_of(what)?;
                        *signed = what == "x";
                    }
                    _ => return Err(format!("style on {name}")),
                }
            }
            '%' => match &mut kind {
                Kind::Reg { flags, .. } => flags.reuse = 0,
                _ => return Err(format!("% on {name}")),
            },
            '>' => {
                rest = &rest[number_end..];
                match (&mut kind, number) {
                    (Kind::Desc { after, .. }, Some(n)) => *after = n,
                    _ => return Err(format!("> on {name}")),
                }
                align = 1;
            }
            '/' => {
                rest = &rest[number_end..];
                align = number.filter(|n| n.is_power_of_two()).ok_or("/ALIGNMENT")?;
            }
            '@' => {
                rest = &rest[number_end..];
                match (&mut kind, number) {
                    (Kind::Reg { flags, .. }, Some(bit)) => flags.reuse = bit,
                    _ => return Err(format!("reuse hint of {name}")),
                }
            }
            '&' => {
                rest = &rest[number_end..];
                twice = Some(number.unwrap_or(0));
            }
            '{' => {
                let close = rest.find('}').ok_or("missing }")?;
                let text = &rest[..close];
                rest = &rest[close + 1..];
                match &mut kind {
                    Kind::Reg { part, .. } => *part = Some(parse_part(text, sets)?),
                    Kind::Generic { part, .. } => {
                        let b = |bits: &str| bits.split('/').next().unwrap_or("").to_string();
                        let c = |bits: &str| bits.split('/').next_back().unwrap_or("").to_string();
                        let at = |place: &dyn Fn(&str) -> String| match text.split_once(':') {
                            Some((bits, options)) => {
                                parse_part(&format!("{}:{options}", place(bits)), sets)
                            }
                            None => parse_part(text, sets),
                        };
                        *part = Some(Placed { b: at(&b)?, c: at(&c)? });
                    }
                    Kind::Desc { matrices, .. } => {
                        let words = ["negA", "negB", "tnspA", "tnspB"];
                        let field = parse_field(text, sets)?;
                        let word = field.options.first().map(|o| o.words.concat());
                        let at = words.iter().position(|w| Some(*w) == word.as_deref());
                        matrices[at.ok_or("a flag of a descriptor")?] = field.bits.pieces[0].0;
                    }
                    _ => return Err(format!("part on {name}")),
                }
            }
            other => return Err(format!("suffix {other} of {name}")),
        }
    }
    Ok(Slot { name, kind, cells: slot_cells, align, hide, lead: String::new(), needed, twice })
}

/// `2`, or the name of what decides it.
fn parse_cells(text: &str) -> Cells {
    match text.parse::<u8>() {
        Ok(n) => Cells::Fixed(n),
        Err(_) => Cells::Field(text.into()),
    }
}

/// `R24*2{78.2:_,X4,X8,X16}+UR32+40.24`
fn parse_mem(text: &str, sets: &Sets) -> Result<Kind> {
    let (mut base, mut uniform, mut sel) = (None, None, None);
    let (mut base_cells, mut uniform_cells) = (Cells::Fixed(1), Cells::Fixed(1));
    let (mut base_needed, mut uniform_needed) = (false, false);
    let mut offset = Bits::default();
    for part in text.split('+') {
        if let Some(rest) = part.strip_prefix("UR") {
            let rest = match rest.strip_suffix('!') {
                Some(rest) => {
                    uniform_needed = true;
                    rest
                }
                None => rest,
            };
            let (rest, cells) = rest.split_once('*').unwrap_or((rest, "1"));
            uniform_cells = parse_cells(cells);
            uniform = Some(Bits::one(
                rest.parse().map_err(|_| "uniform position")?,
                sets.generation.uniform_bits,
            ));
        } else if let Some(rest) = part.strip_prefix('R') {
            let (bits, mut rest) = take_bits(rest)?;
            base = Some(Bits::one(bits.pieces[0].0, 8));
            if let Some(tail) = rest.strip_prefix('!') {
                base_needed = true;
                rest = tail;
            }
            if let Some(tail) = rest.strip_prefix('*') {
                let (cells, tail) = tail.split_at(tail.find('{').unwrap_or(tail.len()));
                base_cells = parse_cells(cells);
                rest = tail;
            }
            if let Some(tail) = rest.strip_prefix('{') {
                sel = Some(parse_field(tail.trim_end_matches('}'), sets)?);
            }
        } else {
            offset = parse_bits(part)?;
        }
    }
    Ok(Kind::Mem {
        base,
        base_cells,
        base_needed,
        uniform,
        uniform_cells,
        uniform_needed,
        offset,
        signed: false,
        sel,
    })
}

/// `bank54.5+R24+38.16`, `bank54.5+UR24+38.16`, or with a handle in place of the bank `UR32+R24+38.16`
fn parse_const(text: &str, sets: &Sets) -> Result<Kind> {
    let (mut bank, mut base, mut handle, mut offset) = (None, None, None, Bits::default());
    let mut base_file = "R";
    for part in text.split('+') {
        if let Some(rest) = part.strip_prefix("bank") {
            bank = Some(parse_bits(rest)?);
        } else if let Some(rest) = part.strip_prefix("UR") {
            let position = rest.parse().map_err(|_| "position of a uniform register")?;
            let bits = Some(Bits::one(position, sets.generation.uniform_bits));
            if bank.is_some() {
                base_file = "UR";
                base = bits;
            } else {
                handle = bits;
            }
        } else if let Some(rest) = part.strip_prefix('R') {
            base = Some(Bits::one(rest.parse().map_err(|_| "base position")?, 8));
        } else {
            offset = parse_bits(part)?;
        }
    }
    let flags = Flags::default();
    Ok(Kind::Const { offset, scale: 1, bank, base, base_file, handle, flags, part: None })
}
