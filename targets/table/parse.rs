//! Reads the rows of the instruction table for one SM. `tables/README.md` describes the notation.

use super::field::{parse_bits, parse_name};
use super::model::*;
use super::sets::{Sets, holds};
use super::slot::parse_slot;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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

/// What stands for B and C: `r`egister, `i`mmediate, `c`onstant, `h`: constant by handle, `u`niform
/// register, `s`: register C in B's place.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    b: char,
    c: char,
}
