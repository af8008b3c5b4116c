//! Scheduling control of one instruction: what the hardware is told about time.

use std::fmt;

/// Stall, yield, scoreboards and wait mask (reuse hints are flags of the operands).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Control {
    /// Cycles before the next instruction of the warp issues: 1..=15, or 0 for
    /// [`Control::LONGEST_STALL`].
    pub stall: u8,
    /// The bit as encoded (bit 109 of the word).
    pub yield_: bool,
    /// Scoreboard that counts this instruction's results: 0..=5, or 7 for none.
    pub write_sb: u8,
    /// Scoreboard that counts its source reads: 0..=5, or 7 for none.
    pub read_sb: u8,
    /// Scoreboards that must be zero before it issues: one bit each.
    pub wait: u8,
}

impl Control {
    /// In [`Control::write_sb`] and [`Control::read_sb`]: no scoreboard.
    pub const NO_SB: u8 = 7;

    /// The longest stall in cycles, which the field says by 0.
    pub const LONGEST_STALL: u8 = 16;
}

impl Default for Control {
    fn default() -> Control {
        Control { stall: 1, yield_: true, write_sb: 7, read_sb: 7, wait: 0 }
    }
}

/// `[B01----:R2:W1:Y:S04]`: waited scoreboards, read and write scoreboard, yield, stall.
impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[B")?;
        for i in 0..6 {
            if self.wait >> i & 1 != 0 { write!(f, "{i}")? } else { f.write_str("-")? }
        }
        let sb = |n: u8| if n == 7 { '-' } else { (b'0' + n) as char };
        let y = if self.yield_ { '-' } else { 'Y' };
        write!(f, ":R{}:W{}:{y}:S{:02}]", sb(self.read_sb), sb(self.write_sb), self.stall)
    }
}
