//! What stands around an instruction while it is prepared.

use crate::Target;
use crate::simulator::image::{CODE_BASE, Constants};
use orias_components::Inst;

/// Bytes of an instruction.
pub const WORD: u64 = 16;

/// What stands around an instruction while it is prepared.
pub struct Context<'a> {
    pub target: &'static Target,
    pub constants: &'a Constants,
    /// General registers of a thread.
    pub registers: u32,
    /// Address of the text that the instruction stands in.
    pub text: u64,
}

impl Context<'_> {
    /// The index of the instruction at a byte offset of this text. Where there is none, the jump
    /// fails when it is taken.
    pub fn index(&self, offset: u64) -> u32 {
        u32::try_from(self.text.wrapping_add(offset).wrapping_sub(CODE_BASE) / WORD)
            .unwrap_or(u32::MAX)
    }
}

/// The instruction's text, for messages.
pub fn describe(target: &'static Target, inst: &Inst) -> String {
    let text = crate::text::instruction(target, inst, &crate::text::Numeric);
    text.trim_end_matches(';').trim_end().to_string()
}
