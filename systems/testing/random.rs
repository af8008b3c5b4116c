//! Random numbers for tests.

/// A small deterministic generator (SplitMix64: Steele, Lea, Flood 2014): the same numbers on every
/// machine. The state is the seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Of a seed that counts from 0 or 1: states of neighbours lie far apart.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)] // It never ends.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0..n
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// One of a list that is not empty.
    pub fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}
