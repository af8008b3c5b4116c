//! mbarrier objects (PTX ISA 9.0, "mbarrier"): 64 bits in shared memory that only mbarrier
//! instructions read.

use super::access::{Stopped, read, write};
use super::env::Env;
use super::integer::{mask, sign_extend};
use super::operand::{Address, Dst, LANES, Space, Src};
use super::warp::{Warp, bits};

/// What the 64 bits hold. Pending and expected arrivals have 20 bits each, the transaction count 21
/// and its sign, the phase one. The bits are no part of PTX: another engine has others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Phase {
    /// Arrivals that the current phase still waits for.
    pending: u64,
    /// Arrivals of the next phase.
    expected: u64,
    /// Bytes that are still to come; below zero when they come before they are expected.
    transactions: i64,
    parity: u64,
}

impl Phase {
    fn new(count: u64) -> Phase {
        Phase { pending: count, expected: count, transactions: 0, parity: 0 }
    }

    fn from_word(word: u64) -> Phase {
        Phase {
            pending: word & mask(20),
            expected: word >> 20 & mask(20),
            transactions: sign_extend(word >> 40, 22),
            parity: word >> 62 & 1,
        }
    }

    fn word(self) -> u64 {
        self.pending
            | self.expected << 20
            | (self.transactions as u64 & mask(22)) << 40
            | self.parity << 62
    }

    fn expect(mut self, bytes: u64) -> Phase {
        self.transactions += (bytes & mask(32)) as i64;
        self
    }

    /// Takes bytes off the transaction count.
    fn transfer(mut self, bytes: u64) -> Phase {
        self.transactions -= (bytes & mask(32)) as i64;
        self.complete()
    }

    fn arrive(mut self, count: u64) -> Phase {
        self.pending = self.pending.saturating_sub(count);
        self.complete()
    }

    /// Goes on to the next phase when nothing is left of this one.
    fn complete(mut self) -> Phase {
        if self.pending == 0 && self.transactions == 0 {
            self.pending = self.expected;
            self.parity ^= 1;
        }
        self
    }
}

/// Takes `bytes` off the transaction count of the mbarrier at an address.
pub fn transferred(
    warp: &mut Warp,
    env: &mut Env<'_>,
    space: Space,
    lane: usize,
    address: u64,
    bytes: u64,
) -> Result<(), Stopped> {
    let mut word = [0; 8];
    read(warp, env, space, lane, address, &mut word)?;
    let phase = Phase::from_word(u64::from_le_bytes(word)).transfer(bytes);
    write(warp, env, space, lane, address, &phase.word().to_le_bytes())
}

/// One mbarrier instruction, lane by lane.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    base: u32,
    lanes: u32,
    (action, at, count, dst): (Mbarrier, &Address, Src, Dst),
) -> Result<(), Stopped> {
    let addresses = warp.row(at.base, base);
    let counts = warp.row(count, base);
    let mut results = [0; LANES];
    for lane in bits(lanes) {
        let count = counts[lane];
        if action == Mbarrier::PendingCount {
            results[lane] = Phase::from_word(count).pending;
            continue;
        }
        let address = addresses[lane].wrapping_add_signed(at.offset);
        let mut word = [0; 8];
        // What is there before the initialisation means nothing.
        if action != Mbarrier::Init {
            read(warp, env, at.space, lane, address, &mut word)?;
        }
        let old = Phase::from_word(u64::from_le_bytes(word));
        let new = match action {
            Mbarrier::Init => Phase::new(count & mask(20)),
            Mbarrier::Inval => Phase::new(0),
            Mbarrier::Arrive { drop, expect } => {
                let (phase, count) =
                    if expect { (old.expect(count), 1) } else { (old, count & mask(32)) };
                let gone = if drop { count } else { 0 };
                // The state is that before this arrival.
                results[lane] = old.word();
                Phase { expected: phase.expected.saturating_sub(gone), ..phase }.arrive(count)
            }
            Mbarrier::ExpectTx => old.expect(count),
            Mbarrier::CompleteTx => old.transfer(count),
            Mbarrier::TestParity => {
                // The phase of that parity is complete when the barrier is in the other one.
                results[lane] = u64::from(old.parity != count & 1);
                continue;
            }
            Mbarrier::TestState | Mbarrier::PendingCount => {
                results[lane] = u64::from(old.parity != Phase::from_word(count).parity);
                continue;
            }
        };
        write(warp, env, at.space, lane, address, &new.word().to_le_bytes())?;
    }
    warp.write(dst, base, lanes, &results);
    Ok(())
}

/// What an `mbarrier` instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mbarrier {
    Init,
    Inval,
    /// With `expect` the count is that of bytes to expect, and one thread arrives.
    Arrive {
        drop: bool,
        expect: bool,
    },
    ExpectTx,
    CompleteTx,
    /// Is the phase of this parity complete?
    TestParity,
    /// Is the phase of this state complete?
    TestState,
    PendingCount,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_arrivals_and_bytes_are_all_there() {
        let phase = Phase::new(2).arrive(1);
        assert_eq!((phase.pending, phase.parity), (1, 0));
        let phase = phase.expect(64).arrive(1);
        assert_eq!((phase.pending, phase.parity), (0, 0), "64 bytes are missing");
        let phase = phase.transfer(32).transfer(32);
        assert_eq!(phase, Phase { parity: 1, ..Phase::new(2) });
    }

    #[test]
    fn bytes_may_come_before_they_are_expected() {
        let phase = Phase::new(1).transfer(16);
        assert_eq!(Phase::from_word(phase.word()), phase, "the count below zero is kept");
        assert_eq!(phase.expect(16).arrive(1).parity, 1);
    }
}
