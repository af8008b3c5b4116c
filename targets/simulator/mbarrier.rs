//! The barrier object in shared memory: a 64-bit word that counts arrivals and bytes on their way.
//!
//! Where its counts stand is what ptxas's code says on sm_90 (observed: `mbarrier.init`,
//! `.pending_count`, `.arrive.noComplete`): arrivals that the phase still waits for, less 2^20,
//! from bit 43 on; those of the next phases likewise from bit 1 on; the phase's parity in bit 63.
//! The bits between, from 21 on, hold transactions (bytes expected and not come yet) as a signed
//! number.

/// Bits of an arrival count.
const COUNT: u32 = 20;

/// Bits of the transaction count.
const TRANSACTIONS: u32 = 22;

/// Where each field begins.
const EXPECTED_AT: u32 = 1;
const TRANSACTIONS_AT: u32 = EXPECTED_AT + COUNT;
const PENDING_AT: u32 = TRANSACTIONS_AT + TRANSACTIONS;
const PHASE_AT: u32 = PENDING_AT + COUNT;

/// Transactions at most, to both sides (PTX ISA, "mbarrier", "Tracking asynchronous operations").
const MAX_TRANSACTIONS: i64 = (1 << 20) - 1;

/// What a barrier counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Barrier {
    /// Parity of the phase that is not complete.
    pub phase: bool,
    /// Arrivals that the phase waits for.
    pub pending: u32,
    /// Bytes that it waits for; negative where more have come than were announced.
    pub transactions: i32,
    /// Arrivals of the next phases.
    pub expected: u32,
}

/// What a thread did wrong with a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    #[error("initialised for no count of arrivals in 1 ..= 1048575")]
    Count,
    #[error("{count} arrivals where the phase waits for {pending}")]
    TooMany { count: u32, pending: u32 },
    #[error("{0} bytes on their way are more than it can count")]
    Transactions(i64),
    #[error("an arrival that may not complete the phase completes it")]
    Completes,
}

impl Barrier {
    pub fn new(word: u64) -> Barrier {
        let count = |at: u32| {
            let field = (word >> at) as u32 & ((1 << COUNT) - 1);
            if field == 0 { 0 } else { (1 << COUNT) - field }
        };
        let unused = 64 - TRANSACTIONS_AT - TRANSACTIONS;
        let transactions = (word << unused) as i64 >> (64 - TRANSACTIONS);
        Barrier {
            phase: word >> PHASE_AT != 0,
            pending: count(PENDING_AT),
            transactions: transactions as i32,
            expected: count(EXPECTED_AT),
        }
    }

    pub fn word(self) -> u64 {
        let count = |n: u32| u64::from(((1 << COUNT) - n) & ((1 << COUNT) - 1));
        let transactions = self.transactions as u64 & ((1 << TRANSACTIONS) - 1);
        u64::from(self.phase) << PHASE_AT
            | count(self.pending) << PENDING_AT
            | transactions << TRANSACTIONS_AT
            | count(self.expected) << EXPECTED_AT
    }

    /// What `mbarrier.init` may write.
    pub fn check_initial(self) -> Result<(), Trouble> {
        let fresh = !self.phase && self.transactions == 0 && self.pending == self.expected;
        if fresh && self.expected != 0 { Ok(()) } else { Err(Trouble::Count) }
    }

    /// Announces `transactions` bytes (or takes off those that came, where negative), then takes
    /// `count` arrivals, which with `drop` the next phases do not wait for either. The phase ends
    /// when nothing is left to come.
    pub fn arrive(&mut self, count: u32, transactions: i64, drop: bool) -> Result<(), Trouble> {
        let sum = i64::from(self.transactions) + transactions;
        if sum.abs() > MAX_TRANSACTIONS {
            return Err(Trouble::Transactions(sum));
        }
        if count > self.pending || drop && count > self.expected {
            return Err(Trouble::TooMany { count, pending: self.pending });
        }
        self.transactions = sum as i32;
        self.pending -= count;
        if drop {
            self.expected -= count;
        }
        if self.pending == 0 && self.transactions == 0 {
            self.phase = !self.phase;
            self.pending = self.expected;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ptxas's code computes for `mbarrier.init` with a count.
    fn initial(count: u32) -> u64 {
        let n = 0x10_0000 - count;
        u64::from(n << 11) << 32 | u64::from(n << 1)
    }

    #[test]
    fn the_word_is_that_of_the_compiled_code() {
        for count in [1, 17, 0xf_ffff] {
            let barrier = Barrier::new(initial(count));
            assert_eq!((barrier.pending, barrier.expected), (count, count));
            assert_eq!((barrier.phase, barrier.transactions), (false, 0));
            assert_eq!(barrier.check_initial(), Ok(()));
            assert_eq!(barrier.word(), initial(count));
            // `mbarrier.pending_count` of a state.
            assert_eq!(0x10_0000 - ((initial(count) >> 43) as u32 & 0xf_ffff), count);
        }
        assert_eq!(Barrier::new(initial(0)).check_initial(), Err(Trouble::Count));
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_its_last_byte() {
        let mut b = Barrier::new(initial(2));
        b.arrive(1, 0, false).unwrap();
        assert!(!b.phase);
        b.arrive(1, 64, false).unwrap();
        assert_eq!((b.phase, b.pending, b.transactions), (false, 0, 64));
        let mut same = Barrier::new(b.word());
        assert_eq!(same, b);
        same.arrive(0, -64, false).unwrap();
        assert_eq!((same.phase, same.pending, same.transactions), (true, 2, 0));
    }

    #[test]
    fn bytes_may_come_before_they_are_announced() {
        let mut b = Barrier::new(initial(1));
        b.arrive(0, -16, false).unwrap();
        assert_eq!((Barrier::new(b.word()), b.transactions), (b, -16));
        b.arrive(1, 16, false).unwrap();
        assert!(b.phase);
    }

    #[test]
    fn who_drops_out_is_not_waited_for_again() {
        let mut b = Barrier::new(initial(3));
        b.arrive(1, 0, true).unwrap();
        b.arrive(2, 0, false).unwrap();
        assert_eq!((b.phase, b.pending, b.expected), (true, 2, 2));
    }

    #[test]
    fn counts_that_cannot_be_are_told() {
        let mut b = Barrier::new(initial(1));
        assert_eq!(b.arrive(2, 0, false), Err(Trouble::TooMany { count: 2, pending: 1 }));
        assert_eq!(b.arrive(0, 1 << 20, false), Err(Trouble::Transactions(1 << 20)));
        assert_eq!(b, Barrier::new(initial(1)));
    }
}
