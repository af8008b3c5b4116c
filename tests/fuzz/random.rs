//! The generator of random numbers: SplitMix64 (Steele, Lea, Flood 2014). The same seed gives the
//! same numbers everywhere.

#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `count`, which is at least 1.
    pub fn below(&mut self, count: usize) -> usize {
        // The product's upper half: close enough to even for counts this small.
        ((u128::from(self.word()) * count.max(1) as u128) >> 64) as usize
    }

    /// A number in `low ..= high`.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as usize + 1) as i64
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `list`, which is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// An index, each as often as its weight says; at least one weight is not zero.
    pub fn weighted(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let total: u32 = weights.clone().sum();
        let mut at = self.below(total as usize) as u32;
        for (index, weight) in weights.enumerate() {
            match at.checked_sub(weight) {
                Some(rest) => at = rest,
                None => return index,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_publication() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.word(), 6_457_827_717_110_365_317);
        assert_eq!(random.word(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn ranges_reach_both_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<i64> = (0..200).map(|_| random.range(-1, 2)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-1), Some(&2)));
        let drawn: Vec<usize> = (0..200).map(|_| random.weighted([1, 0, 3].into_iter())).collect();
        assert!(drawn.contains(&0) && !drawn.contains(&1) && drawn.contains(&2));
    }
}
