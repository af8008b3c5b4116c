//! Which physical registers of a file are taken at which points: asked for whole intervals at once.
//!
//! A mask of registers per point would make a long interval cost its length. So points are grouped by sixteens, groups by
//! sixteens again, and so on: `any` of a group is what is taken somewhere in it, `full` what was taken by an interval that
//! covers it. A question or an entry touches at most 30 groups a level.

use orias_components::work;

/// A set of the physical registers of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask<const N: usize>(pub [u64; N]);

impl<const N: usize> Mask<N> {
    pub const EMPTY: Mask<N> = Mask([0; N]);

    /// Registers `0..count`.
    pub fn below(count: u32) -> Mask<N> {
        Mask(std::array::from_fn(|w| {
            let rest = count.saturating_sub(64 * w as u32);
            if rest >= 64 { u64::MAX } else { (1 << rest) - 1 }
        }))
    }

    pub fn one(reg: u32) -> Mask<N> {
        let mut mask = Mask::EMPTY;
        if let Some(word) = mask.0.get_mut(reg as usize / 64) {
            *word = 1 << (reg % 64);
        }
        mask
    }

    /// Registers whose number is a multiple of `align` (a power of two).
    pub fn aligned(align: u32) -> Mask<N> {
        if align >= 64 {
            let step = (align / 64) as usize;
            return Mask(std::array::from_fn(|w| u64::from(w % step == 0)));
        }
        // The lowest bit of each group of 1, 2, 4 … 32.
        const WORDS: [u64; 6] = [
            u64::MAX,
            u64::MAX / 0x3,
            u64::MAX / 0xf,
            u64::MAX / 0xff,
            u64::MAX / 0xffff,
            u64::MAX / 0xffff_ffff,
        ];
        Mask([WORDS[align.max(1).trailing_zeros() as usize]; N])
    }

    pub fn and(self, other: Mask<N>) -> Mask<N> {
        Mask(std::array::from_fn(|w| self.0[w] & other.0[w]))
    }

    pub fn or(self, other: Mask<N>) -> Mask<N> {
        Mask(std::array::from_fn(|w| self.0[w] | other.0[w]))
    }

    pub fn without(self, other: Mask<N>) -> Mask<N> {
        Mask(std::array::from_fn(|w| self.0[w] & !other.0[w]))
    }

    /// Register `r + by` becomes `r`.
    pub fn down(self, by: u32) -> Mask<N> {
        let (words, bits) = ((by / 64) as usize, by % 64);
        Mask(std::array::from_fn(|w| {
            let low = self.0.get(w + words).copied().unwrap_or(0);
            let high = self.0.get(w + words + 1).copied().unwrap_or(0);
            if bits == 0 { low } else { low >> bits | high << (64 - bits) }
        }))
    }

    /// Register `r` becomes `r + by`.
    pub fn up(self, by: u32) -> Mask<N> {
        let (words, bits) = ((by / 64) as usize, by % 64);
        Mask(std::array::from_fn(|w| {
            let high = w.checked_sub(words).map_or(0, |i| self.0[i]);
            let low = w.checked_sub(words + 1).map_or(0, |i| self.0[i]);
            if bits == 0 { high } else { high << bits | low >> (64 - bits) }
        }))
    }

    pub fn lowest(self) -> Option<u32> {
        let word = self.0.iter().position(|w| *w != 0)?;
        Some(64 * word as u32 + self.0[word].trailing_zeros())
    }

    pub fn count(self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    pub fn has(self, reg: u32) -> bool {
        self.0.get(reg as usize / 64).is_some_and(|w| w >> (reg % 64) & 1 != 0)
    }
}

/// Registers taken by point.
#[derive(Clone, Debug)]
pub struct Occupancy<const N: usize> {
    /// By level: one mask a point, then one a group of 16, of 256 … Arrays of numbers, which the allocator knows how to make:
    /// long ones that nobody takes registers in cost no memory.
    any: Vec<Vec<[u64; N]>>,
    full: Vec<Vec<[u64; N]>>,
}

const RADIX_BITS: u32 = 4;

impl<const N: usize> Occupancy<N> {
    pub fn new(points: u32) -> Occupancy<N> {
        let mut any = Vec::new();
        let mut len = points as usize;
        loop {
            any.push(vec![[0; N]; len]);
            if len <= 1 << RADIX_BITS {
                break;
            }
            len = len.div_ceil(1 << RADIX_BITS);
        }
        let full = any.iter().skip(1).map(|level| vec![[0; N]; level.len()]).collect();
        Occupancy { any, full }
    }

    /// Takes registers at all points of `start..end`.
    pub fn take(&mut self, start: u32, end: u32, mask: Mask<N>) {
        if start >= end {
            return;
        }
        let levels = self.any.len();
        let Occupancy { any, full } = self;
        let add = |to: &mut [u64; N]| to.iter_mut().zip(mask.0).for_each(|(to, word)| *to |= word);
        groups(levels, start, end, |level, group| {
            add(&mut any[level][group]);
            if level > 0 {
                add(&mut full[level - 1][group]);
            }
        });
        above_ends(levels, start, end, |level, group| add(&mut any[level][group]));
    }

    /// The registers that are taken at any point of `start..end`.
    pub fn taken(&self, start: u32, end: u32) -> Mask<N> {
        let mut taken = Mask::EMPTY;
        if start < end {
            let levels = self.any.len();
            groups(levels, start, end, |level, group| {
                taken = taken.or(Mask(self.any[level][group]));
            });
            above_ends(levels, start, end, |level, group| {
                taken = taken.or(Mask(self.full[level - 1][group]));
            });
        }
        taken
    }
}

/// Cuts `start..end` into whole groups: `f(level, group)`, where the top level takes what is left.
fn groups(levels: usize, start: u32, end: u32, mut f: impl FnMut(usize, usize)) {
    let (mut start, mut end) = (start, end);
    for level in 0..levels {
        let top = level + 1 == levels;
        while start < end && (top || start % (1 << RADIX_BITS) != 0) {
            work::add(1);
            f(level, start as usize);
            start += 1;
        }
        while start < end && end % (1 << RADIX_BITS) != 0 {
            end -= 1;
            f(level, end as usize);
        }
        if start >= end {
            return;
        }
        start >>= RADIX_BITS;
        end >>= RADIX_BITS;
    }
}

/// The groups above the first and the last point, from level 1 on: `f(level, group)`.
fn above_ends(levels: usize, start: u32, end: u32, mut f: impl FnMut(usize, usize)) {
    for level in 1..levels {
        let shift = RADIX_BITS * level as u32;
        let (first, last) = ((start >> shift) as usize, ((end - 1) >> shift) as usize);
        f(level, first);
        if last != first {
            f(level, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_shift_over_word_borders() {
        let mask: Mask<4> = Mask::one(64).or(Mask::one(130));
        assert_eq!(mask.down(2), Mask::one(62).or(Mask::one(128)));
        assert_eq!(mask.up(64), Mask::one(128).or(Mask::one(194)));
        assert_eq!(mask.up(63).down(63), mask);
        assert_eq!(Mask::<4>::below(254).count(), 254);
        assert!(Mask::<4>::below(254).has(253) && !Mask::<4>::below(254).has(254));
        assert_eq!(Mask::<4>::aligned(4).without(Mask::below(5)).lowest(), Some(8));
        assert_eq!(Mask::<4>::aligned(128).count(), 2);
    }

    #[test]
    fn every_interval_sees_what_was_taken_in_it_and_nothing_else() {
        // Lengths about the powers of the radix, against one mask a point.
        for points in [1u32, 15, 16, 17, 255, 256, 257, 5000] {
            let mut occupancy: Occupancy<1> = Occupancy::new(points);
            let mut plain = vec![0u64; points as usize];
            let mut state = u64::from(points);
            let mut below = |n: u32| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % u64::from(n)) as u32
            };
            for reg in 0..60 {
                let start = below(points);
                let end = start + 1 + below(points - start);
                occupancy.take(start, end, Mask::one(reg));
                plain[start as usize..end as usize].iter_mut().for_each(|m| *m |= 1 << reg);
                for _ in 0..20 {
                    let start = below(points);
                    let end = start + 1 + below(points - start);
                    let expected = plain[start as usize..end as usize].iter().fold(0, |a, b| a | b);
                    assert_eq!(
                        occupancy.taken(start, end).0[0],
                        expected,
                        "{points}: {start}..{end}"
                    );
                }
            }
        }
    }
}
