//! Which line of the PTX each instruction of a cubin comes from, read back from the file:
//! `.nv_debug_line_sass` (DWARF 2 line programs of the PTX's lines) and `.nv_debug_ptx_txt` (the
//! lines themselves, each with a zero behind it).

use crate::elf::read::Cubin;
use std::collections::BTreeMap;

/// What the line sections of a cubin say.
pub struct Lines {
    /// The PTX's lines.
    pub text: Vec<String>,
    /// By text section: byte offset and line (from 1 on), where it changes.
    pub rows: BTreeMap<usize, BTreeMap<u64, u32>>,
}

impl Lines {
    /// Reads the sections; None where the cubin has none, or they are no line programs.
    pub fn read(cubin: &Cubin<'_>) -> Option<Lines> {
        let text = cubin.section(".nv_debug_ptx_txt")?.data;
        let text = text.split(|b| *b == 0).map(|l| String::from_utf8_lossy(l).into_owned());
        let index = cubin.section_index(".nv_debug_line_sass")?;
        let section = &cubin.sections[index];
        let mut lines = Lines { text: text.collect(), rows: BTreeMap::new() };
        // Where a sequence takes its kernel's address, a relocation names the kernel.
        let sections: BTreeMap<u64, usize> = section
            .relocations
            .iter()
            .filter_map(|r| Some((r.offset, usize::from(cubin.symbols.get(r.symbol)?.section))))
            .collect();
        let mut at = 0;
        while at < section.data.len() {
            at = lines.unit(section.data, at, &sections)?;
        }
        Some(lines)
    }

    /// One line program; returns where it ends.
    fn unit(&mut self, data: &[u8], at: usize, sections: &BTreeMap<u64, usize>) -> Option<usize> {
        let mut bytes = Bytes { data, at };
        let length = bytes.number(4)? as usize;
        let end = bytes.at.checked_add(length).filter(|e| *e <= data.len())?;
        let _version = bytes.number(2)?;
        let header = bytes.number(4)? as usize;
        let program = bytes.at.checked_add(header)?;
        let step = bytes.number(1)?;
        let _is_statement = bytes.number(1)?;
        let base = bytes.number(1)? as u8 as i8;
        let range = bytes.number(1)?.max(1);
        let first_special = bytes.number(1)?;
        let operands: Vec<u64> = (1..first_special).map_while(|_| bytes.number(1)).collect();
        bytes.at = program;
        let (mut address, mut line, mut section) = (0u64, 1i64, None);
        while bytes.at < end {
            let opcode = bytes.number(1)?;
            let mut row = false;
            match opcode {
                0 => {
                    let length = bytes.unsigned()? as usize;
                    let next = bytes.at.checked_add(length)?;
                    match bytes.number(1)? {
                        1 => (address, line, section) = (0, 1, None),
                        2 => {
                            section = sections.get(&(bytes.at as u64)).copied();
                            address = bytes.number(8)?;
                        }
                        _ => {}
                    }
                    bytes.at = next;
                }
                1 => row = true,
                2 => address += bytes.unsigned()? * step,
                3 => line += bytes.signed()?,
                8 => address += (255 - first_special) / range * step,
                9 => address += bytes.number(2)?,
                other if other < first_special => {
                    for _ in 0..*operands.get(other as usize - 1)? {
                        bytes.unsigned()?;
                    }
                }
                special => {
                    let special = special - first_special;
                    address += special / range * step;
                    line += i64::from(base) + (special % range) as i64;
                    row = true;
                }
            }
            if let (true, Some(section), Ok(line)) = (row, section, u32::try_from(line)) {
                self.rows.entry(section).or_default().insert(address, line);
            }
        }
        Some(end)
    }
}

struct Bytes<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let slice = self.data.get(self.at..self.at + bytes)?;
        self.at += bytes;
        Some(slice.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    fn unsigned(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.number(1)?;
            value |= (byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    fn signed(&mut self) -> Option<i64> {
        let (mut value, mut shift) = (0i64, 0);
        loop {
            let byte = self.number(1)? as i64;
            value |= (byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                let negative = byte & 0x40 != 0 && shift < 64;
                return Some(if negative { value | -1i64 << shift } else { value });
            }
        }
    }
}
