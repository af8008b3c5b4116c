//! Which lines of the source (`.loc`) and of the PTX the instructions of a kernel come from.
//!
//! The text that goes into the file is the PTX without indentation, and with empty lines in place
//! of `.loc` and `.file`, as ptxas 13.0.88 has it; unlike ptxas, which takes some empty lines out,
//! lines keep their numbers.

use crate::elf::model::{LineRow, SourceFile, Sources};
use crate::link::Linked;
use crate::origin::Origin;
use crate::ptx::program::Program;

/// Finds lines in a program.
pub struct Places<'p> {
    program: &'p Program<'p>,
    /// Byte offset of each line of the PTX.
    starts: Vec<u32>,
}

impl<'p> Places<'p> {
    /// Counts the lines of the program's text.
    pub fn new(program: &'p Program<'p>) -> Places<'p> {
        let ends = program.source.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect();
        Places { program, starts }
    }

    /// The files that `.file` names, and the PTX as it goes into the cubin.
    pub fn sources(&self) -> Sources {
        let files = self.program.files.iter();
        let file = |f: &crate::ptx::program::SourceFile| SourceFile {
            path: f.path.clone().into_owned(),
            time: f.time,
            size: f.size,
        };
        let mut ptx = Vec::with_capacity(self.program.source.len());
        for line in self.program.source.lines() {
            let line = line.trim_start();
            if !line.starts_with(".loc") && !line.starts_with(".file") {
                ptx.extend(line.bytes().filter(|b| *b != 0));
            }
            ptx.push(0);
        }
        Sources { files: files.map(file).collect(), ptx }
    }

    /// The rows of a kernel's text: of the source, and of the PTX.
    pub fn rows(&self, linked: &Linked) -> (Vec<LineRow>, Vec<LineRow>) {
        let (mut source, mut ptx) = (Vec::new(), Vec::new());
        for origin in &linked.lines {
            add(&mut source, origin.offset, self.in_source(origin));
            add(&mut ptx, origin.offset, self.in_ptx(origin));
        }
        // What prepares the kernel is of its first line.
        for first in [source.first_mut(), ptx.first_mut()].into_iter().flatten() {
            first.offset = 0;
        }
        (source, ptx)
    }

    fn in_source(&self, origin: &Origin) -> Option<(u32, u32)> {
        let number = self.program.files.iter().position(|f| f.index == u64::from(origin.file))?;
        Some((number as u32 + 1, origin.line))
    }

    fn in_ptx(&self, origin: &Origin) -> Option<(u32, u32)> {
        let at = origin.at?;
        Some((0, self.starts.partition_point(|start| *start <= at) as u32))
    }
}

/// A row where the line is another one.
fn add(rows: &mut Vec<LineRow>, offset: u32, place: Option<(u32, u32)>) {
    let Some((file, line)) = place else { return };
    if rows.last().is_none_or(|last| (last.file, last.line) != (file, line)) {
        rows.push(LineRow { offset, file, line });
    }
}
