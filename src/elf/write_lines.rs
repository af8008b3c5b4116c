//! `.debug_line`, `.nv_debug_line_sass` and `.nv_debug_ptx_txt`: which line of the source, and of
//! the PTX, each instruction comes from. DWARF 2 line programs as ptxas 13.0.88 writes them:
//! minimum instruction length 1, lines -5 to 8 by special opcodes for the next instruction,
//! everything else by three opcodes.

use super::model::{LineRow, SourceFile};
use super::write_frame::{sleb128, uleb128};
use rustc_hash::FxHashMap;

const LINE_BASE: i64 = -5;
const LINE_RANGE: i64 = 14;
const OPCODE_BASE: i64 = 10;
/// Bytes of an instruction: the distance that special opcodes are used for.
const STEP: u32 = 16;

const DW_LNS_COPY: u8 = 1;
const DW_LNS_ADVANCE_PC: u8 = 2;
const DW_LNS_ADVANCE_LINE: u8 = 3;
const DW_LNS_SET_FILE: u8 = 4;
const DW_LNE_END_SEQUENCE: [u8; 3] = [0, 1, 1];
/// NVIDIA's own: the row of a call, and where its function's name is; zeros end it (observed: ptxas
/// 13.0.88).
const DW_LNE_INLINED_CALL: u8 = 0x90;
const DW_LNE_SET_ADDRESS: [u8; 3] = [0, 9, 2];

/// The rows of one kernel's text, ascending.
pub struct Sequence<'m> {
    /// Ascending by offset.
    pub rows: &'m [LineRow],
    /// Bytes of the text.
    pub end: u32,
}

/// The section's content, and where each sequence takes the address of its kernel; sequences
/// without rows are left out.
pub fn line_program(
    files: &[SourceFile],
    sequences: &[Sequence<'_>],
) -> (Vec<u8>, Vec<(usize, u64)>) {
    let mut header = vec![1, 1, LINE_BASE as u8, LINE_RANGE as u8, OPCODE_BASE as u8];
    header.extend([0, 1, 1, 1, 1, 0, 0, 0, 1]);
    let mut folders: Vec<&str> = Vec::new();
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut names = Vec::new();
    for file in files {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let number = match numbers.get(folder) {
            _ if folder.is_empty() => 0,
            Some(number) => *number,
            None => {
                folders.push(folder);
                numbers.insert(folder, folders.len());
                folders.len()
            }
        };
        names.extend(name.bytes().filter(|b| *b != 0).chain([0]));
        uleb128(&mut names, number as u32);
        uleb128_64(&mut names, file.time);
        uleb128_64(&mut names, file.size);
    }
    for folder in folders {
        header.extend(folder.bytes().filter(|b| *b != 0).chain([0]));
    }
    header.push(0);
    header.extend(names);
    header.push(0);
    // Where names of functions begin in `.debug_str`; not there where none is named.
    if sequences.iter().any(|s| s.rows.iter().any(|row| row.inlined.is_some())) {
        header.extend([0; 4]);
    }

    let mut data = vec![0; 4];
    data.extend(2u16.to_le_bytes());
    data.extend((header.len() as u32).to_le_bytes());
    data.extend(header);
    let mut places = Vec::new();
    for (number, sequence) in sequences.iter().enumerate().filter(|(_, s)| !s.rows.is_empty()) {
        data.extend(DW_LNE_SET_ADDRESS);
        places.push((number, data.len() as u64));
        data.extend([0; 8]);
        rows(&mut data, sequence, !files.is_empty());
    }
    let length = data.len() as u32 - 4;
    data[..4].copy_from_slice(&length.to_le_bytes());
    (data, places)
}

fn rows(data: &mut Vec<u8>, sequence: &Sequence<'_>, has_files: bool) {
    let (mut offset, mut line, mut file, mut inlined) = (0, 1i64, None, None);
    for row in sequence.rows {
        if has_files && file != Some(row.file) {
            data.push(DW_LNS_SET_FILE);
            uleb128(data, row.file);
            file = Some(row.file);
        }
        if row.inlined != inlined {
            let mut call = vec![DW_LNE_INLINED_CALL];
            let (context, name) = row.inlined.unwrap_or_default();
            uleb128(&mut call, context);
            uleb128(&mut call, name);
            data.extend([0, call.len() as u8]);
            data.extend(call);
            inlined = row.inlined;
        }
        let (step, change) = (row.offset - offset, i64::from(row.line) - line);
        if step == STEP && (LINE_BASE..LINE_BASE + LINE_RANGE).contains(&change) {
            let opcode = change - LINE_BASE + LINE_RANGE * i64::from(step) + OPCODE_BASE;
            data.push(opcode as u8);
        } else {
            data.push(DW_LNS_ADVANCE_LINE);
            sleb128(data, change as i32);
            if step != 0 {
                data.push(DW_LNS_ADVANCE_PC);
                uleb128(data, step);
            }
            data.push(DW_LNS_COPY);
        }
        (offset, line) = (row.offset, i64::from(row.line));
    }
    data.push(DW_LNS_ADVANCE_PC);
    uleb128(data, sequence.end.saturating_sub(offset));
    data.extend(DW_LNE_END_SEQUENCE);
}

fn uleb128_64(data: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        data.push(value as u8 | 0x80);
        value >>= 7;
    }
    data.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ptxas 13.0.88 makes of these files and lines.
    #[test]
    fn a_line_program_is_that_of_ptxas() {
        let file = |path: &str, time, size| SourceFile { path: path.to_string(), time, size };
        let files = [file("/src/a.cu", 1_700_000_000, 1234), file("/src/dir/b.h", 0, 0)];
        let row = |offset, file, line| LineRow { offset, file, line, inlined: None };
        let all = [row(0, 1, 10), row(16, 1, 12), row(32, 1, 11), row(80, 1, 12), row(96, 2, 3)];
        let (data, places) = line_program(&files, &[Sequence { rows: &all, end: 0x180 }]);
        assert_eq!(places, [(0, 0x3f)]);
        assert_eq!(
            u32::from_le_bytes([data[0], data[1], data[2], data[3]]) as usize,
            data.len() - 4
        );
        let names = b"/src\0/src/dir\0\0a.cu\0\x01\x80\xe2\xcf\xaa\x06\xd2\x09b.h\0\x02\0\0\0";
        assert_eq!(data[0x18..0x3c], names[..]);
        let program = [4, 1, 3, 9, 1, 0xf1, 0xee, 3, 1, 2, 0x30, 1, 4, 2, 3, 0x77, 2, 16, 1];
        assert_eq!(data[0x47..0x47 + program.len()], program);
        assert_eq!(data[0x47 + program.len()..], [2, 0xa0, 2, 0, 1, 1]);
    }

    #[test]
    fn a_kernel_without_lines_has_no_sequence() {
        let (data, places) = line_program(&[], &[Sequence { rows: &[], end: 0x80 }]);
        assert_eq!((data.len(), places.len()), (26, 0));
    }
}
