//! What is disassembled: a target, and the instruction words of the functions of a cubin, or of no
//! file.

use crate::elf::read::{Cubin, Function, ReadError};
use orias_targets::{DecodeError, Target, target};

/// Bytes of an instruction.
pub const WORD: usize = 16;

/// Record of `.nv.compat` that says whether the code is for one SM only (observed: ptxas 13.0.88).
pub const COMPAT_ACCELERATED: u8 = 9;

/// A listing is not longer than so many times the code, and a little: beyond that only a file made
/// for it gets.
pub const LARGEST: usize = 1024;

/// `ET_REL`: an object that a linker must fill in.
pub const OBJECT: u16 = 1;

/// What a listing shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DisOptions {
    /// Labels for branch targets, and the directives of `nvdisasm -c`.
    pub labels: bool,
    /// The words beside the text (the plain listing always has them).
    pub hex: bool,
    /// Scoreboards and stalls before the text.
    pub control: bool,
}

/// Why something cannot be disassembled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DisError {
    /// The file is no cubin that can be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No table describes the SM of this name, which the file is for.
    #[error("no target `{0}` (known: {known})", known = known())]
    Target(String),
    /// The text of a function ends within an instruction.
    #[error("{function}: {bytes} bytes of code are no whole number of 16-byte instructions")]
    Length {
        /// The function's name.
        function: String,
        /// Bytes of its text, no multiple of 16.
        bytes: usize,
    },
    /// A function was asked for by a name that the file does not have.
    #[error("no function `{0}` in the file")]
    NoFunction(String),
    /// The listing would be out of all proportion to the code: only a file made for that has such
    /// names.
    #[error(
        "the listing would be more than {LARGEST} times as long as the code: names are repeated without end"
    )]
    TooLong,
}

/// The names of the targets that have a table.
pub fn known() -> String {
    let names: Vec<&str> = Target::all().iter().map(|t| t.name).collect();
    names.join(", ")
}

/// What is disassembled: the functions of a cubin, or words that stand in no file.
#[derive(Debug)]
pub struct Code<'a> {
    /// What the words are decoded by.
    pub target: &'static Target,
    /// None for raw words.
    pub cubin: Option<Cubin<'a>>,
    /// In the file's order.
    pub parts: Vec<Part<'a>>,
}

/// A text section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    /// The function's name; `raw` for raw words.
    pub name: &'a str,
    /// One an instruction, as they stand in the file.
    pub words: &'a [[u8; WORD]],
    /// Not left out by [`Code::only`].
    pub shown: bool,
}

impl<'a> Part<'a> {
    /// A text as words.
    ///
    /// # Errors
    /// [`DisError::Length`] where it is no whole number of them.
    pub fn new(name: &'a str, text: &'a [u8]) -> Result<Part<'a>, DisError> {
        match text.as_chunks::<WORD>() {
            (words, []) => Ok(Part { name, words, shown: true }),
            _ => Err(DisError::Length { function: name.into(), bytes: text.len() }),
        }
    }

    /// Byte offset and bits of each instruction.
    pub fn instructions(&self) -> impl Iterator<Item = (u64, u128)> + use<'a> {
        let words = self.words.iter().enumerate();
        words.map(|(i, word)| ((i * WORD) as u64, u128::from_le_bytes(*word)))
    }

    /// Bytes of the text.
    pub fn size(&self) -> u64 {
        (self.words.len() * WORD) as u64
    }
}

impl<'a> Code<'a> {
    /// The functions of a cubin.
    pub fn cubin(file: &'a [u8]) -> Result<Code<'a>, DisError> {
        let cubin = Cubin::read(file)?;
        let target = target_of(&cubin)?;
        let part = |f: &Function<'a>| Part::new(f.name, f.text);
        let parts = cubin.functions.iter().map(part).collect::<Result<_, _>>()?;
        Ok(Code { target, cubin: Some(cubin), parts })
    }

    /// Raw instruction words, as if they stood at address 0.
    pub fn raw(target: &'static Target, bytes: &'a [u8]) -> Result<Code<'a>, DisError> {
        Ok(Code { target, cubin: None, parts: vec![Part::new("raw", bytes)?] })
    }

    /// Shows the functions of these names only; all when there are none.
    pub fn only(&mut self, names: &[String]) -> Result<(), DisError> {
        if let Some(name) = names.iter().find(|n| self.parts.iter().all(|p| p.name != **n)) {
            return Err(DisError::NoFunction(name.clone()));
        }
        for part in &mut self.parts {
            part.shown = names.is_empty() || names.iter().any(|n| n == part.name);
        }
        Ok(())
    }

    /// The functions that are shown, with their index.
    pub fn shown(&self) -> impl Iterator<Item = (usize, &Part<'a>)> {
        self.parts.iter().enumerate().filter(|(_, p)| p.shown)
    }

    /// What the file says about a function; none for raw words.
    pub fn function(&self, index: usize) -> Option<&Function<'a>> {
        self.cubin.as_ref()?.functions.get(index)
    }

    /// Bytes that a listing may have.
    pub fn limit(&self) -> usize {
        let words: usize = self.parts.iter().map(|p| p.words.len()).sum();
        (words * WORD).saturating_mul(LARGEST).saturating_add(1 << 24)
    }
}

/// A word that no row explains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undecoded<'a> {
    /// The name of the function that it stands in.
    pub function: &'a str,
    /// Where it stands, and its bits.
    pub error: DecodeError,
}

/// The target that a cubin is for.
pub fn target_of(cubin: &Cubin<'_>) -> Result<&'static Target, DisError> {
    let name = format!("sm_{}{}", cubin.sm(), if accelerated(cubin) { "a" } else { "" });
    target(&name).ok_or(DisError::Target(name))
}

/// The file is for one SM only: the `a` of its target.
pub fn accelerated(cubin: &Cubin<'_>) -> bool {
    let compat = cubin.section(".nv.compat").map_or(&[][..], |s| s.data);
    let (records, _) = compat.as_chunks::<4>();
    records.iter().any(|r| r[1] == COMPAT_ACCELERATED && r[2] == 1)
}
