//! Which lines of the source (`.loc`) and of the PTX the instructions of a kernel come from.
//!
//! The text that goes into the file is the PTX without indentation, and with empty lines in place
//! of `.loc` and `.file`, as ptxas 13.0.88 has it; unlike ptxas, which takes some empty lines out,
//! lines keep their numbers.

use crate::elf::model::{LineRow, SourceFile, Sources};
use crate::inlined::{Frame, Inlined, Names};
use crate::link::Linked;
use crate::origin::Origin;
use crate::ptx::program::Program;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Finds lines in a program.
pub struct Places<'p> {
    program: &'p Program<'p>,
    /// Byte offset of each line of the PTX.
    starts: Vec<u32>,
    inlined: Inlined<'p>,
    names: RefCell<Names<'p>>,
}

impl<'p> Places<'p> {
    /// Counts the lines of the program's text.
    pub fn new(program: &'p Program<'p>) -> Places<'p> {
        let ends = program.source.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect();
        let (inlined, names) = (Inlined::new(program), RefCell::new(Names::new(program)));
        Places { program, starts, inlined, names }
    }

    /// The files that `.file` names, the PTX as it goes into the cubin, and the names that rows
    /// have asked for.
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
        let names = self.names.borrow().bytes.clone();
        Sources { files: files.map(file).collect(), ptx, names }
    }

    /// The rows of a kernel's text: of the source, and of the PTX.
    pub fn rows(&self, linked: &Linked) -> (Vec<LineRow>, Vec<LineRow>) {
        let (mut source, mut ptx) = (Vec::new(), Vec::new());
        // By function and call, and the row of those around it, the row of the call.
        let mut calls: FxHashMap<(Frame<'_>, Option<(u32, u32)>), u32> = FxHashMap::default();
        for origin in &linked.lines {
            if let Some(place) = self.in_source(origin) {
                let frames = self.inlined.chain(origin.at, origin.call.as_deref());
                let mut inlined = None;
                for frame in frames.into_iter().rev() {
                    let Some(call) = self.file(frame.call.0) else { continue };
                    let row = *calls.entry((frame, inlined)).or_insert_with(|| {
                        let (offset, line) = (origin.offset, frame.call.1);
                        source.push(LineRow { offset, file: call, line, inlined });
                        source.len() as u32
                    });
                    inlined = Some((row, self.names.borrow_mut().find(frame.name)));
                }
                add(&mut source, origin.offset, place, inlined);
            }
            if let Some(place) = self.in_ptx(origin) {
                add(&mut ptx, origin.offset, place, None);
            }
        }
        // What prepares the kernel is of its first line.
        for first in [source.first_mut(), ptx.first_mut()].into_iter().flatten() {
            first.offset = 0;
        }
        (source, ptx)
    }

    /// A file's number among those that `.file` names, from 1 on.
    fn file(&self, index: u32) -> Option<u32> {
        let number = self.program.files.iter().position(|f| f.index == u64::from(index))?;
        Some(number as u32 + 1)
    }

    fn in_source(&self, origin: &Origin) -> Option<(u32, u32)> {
        Some((self.file(origin.file)?, origin.line))
    }

    fn in_ptx(&self, origin: &Origin) -> Option<(u32, u32)> {
        let at = origin.at?;
        Some((0, self.starts.partition_point(|start| *start <= at) as u32))
    }
}

/// A row where the line is another one.
fn add(
    rows: &mut Vec<LineRow>,
    offset: u32,
    (file, line): (u32, u32),
    inlined: Option<(u32, u32)>,
) {
    let is_same = |last: &LineRow| (last.file, last.line, last.inlined) == (file, line, inlined);
    if !rows.last().is_some_and(is_same) {
        rows.push(LineRow { offset, file, line, inlined });
    }
}
