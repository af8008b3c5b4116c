//! Which physical registers of a file are taken at which points: asked for whole intervals at once.
//!
//! A mask of registers per point would make a long interval cost its length. So points are grouped
//! by sixteens, groups by sixteens again, and so on: `any` of a group is what is taken somewhere in
//! it, `full` what was taken by an interval that covers it. A question or an entry touches at most
//! 30 groups a level.

use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::work;
use std::ops::Range;

/// A set of the physical registers of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask<const N: usize>(pub [u64; N]);

impl<const N: usize> Mask<N> {
    /// No register.
    pub const EMPTY: Mask<N> = Mask([0; N]);

    /// Registers `0..count`.
    pub fn below(count: u32) -> Mask<N> {
        Mask(std::array::from_fn(|w| {
            let rest = count.saturating_sub(64 * w as u32);
            if rest >= 64 { u64::MAX } else { (1 << rest) - 1 }
        }))
    }

    /// This register; none where its number is beyond the mask.
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

    /// Registers of both.
    pub fn and(self, other: Mask<N>) -> Mask<N> {
        Mask(std::array::from_fn(|w| self.0[w] & other.0[w]))
    }

    /// Registers of either.
    pub fn or(self, other: Mask<N>) -> Mask<N> {
        Mask(std::array::from_fn(|w| self.0[w] | other.0[w]))
    }

    /// Registers of the first that the second does not have.
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

    /// The lowest number.
    pub fn lowest(self) -> Option<u32> {
        let word = self.0.iter().position(|w| *w != 0)?;
        Some(64 * word as u32 + self.0[word].trailing_zeros())
    }

    /// How many registers.
    pub fn count(self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Whether it has the register.
    pub fn has(self, reg: u32) -> bool {
        self.0.get(reg as usize / 64).is_some_and(|w| w >> (reg % 64) & 1 != 0)
    }
}

/// Registers taken by point.
#[derive(Clone, Debug)]
pub struct Occupancy<const N: usize> {
    points: u32,
    /// Words that each mask has: one, two or all, as the highest register asks that was ever taken.
    /// Most functions have but the first 64 registers, and then a quarter of the memory is looked
    /// at.
    width: usize,
    /// One mask a point, then one a group of 16, of 256 …: first the levels of `any`, then those of
    /// `full`, which the points have none of.
    words: Scratch<Vec<u64>>,
    levels: usize,
    /// Masks before each level.
    any: [usize; MOST_LEVELS],
    full: [usize; MOST_LEVELS],
}

/// Levels that the greatest function may have: points are numbers of 32 bits.
const MOST_LEVELS: usize = 9;

const RADIX_BITS: u32 = 4;

/// Masks of a level, which begins behind so many others.
fn rows<const W: usize>(words: &[u64], before: usize, groups: Range<usize>) -> &[[u64; W]] {
    &words.as_chunks().0[before + groups.start..before + groups.end]
}

fn rows_mut<const W: usize>(
    words: &mut [u64],
    before: usize,
    groups: Range<usize>,
) -> &mut [[u64; W]] {
    &mut words.as_chunks_mut().0[before + groups.start..before + groups.end]
}

fn add<const W: usize>(to: &mut [u64; W], mask: &[u64; W]) {
    to.iter_mut().zip(mask).for_each(|(to, word)| *to |= word);
}

impl<const N: usize> Occupancy<N> {
    /// With nothing taken; some `expected` registers will be.
    pub fn new(points: u32, expected: u32) -> Occupancy<N> {
        let (mut any, mut full) = ([0; MOST_LEVELS], [0; MOST_LEVELS]);
        let (mut levels, mut masks) = (0, 0);
        for length in lengths(points) {
            any[levels] = masks;
            masks += length;
            levels += 1;
        }
        for (level, length) in lengths(points).enumerate().skip(1) {
            full[level] = masks;
            masks += length;
        }
        let words = scratch!(Vec<u64>);
        let mut new = Occupancy { points, width: 0, words, levels, any, full };
        if let Some(highest) = expected.checked_sub(1) {
            new.widen(Occupancy::<N>::words(highest as usize / 64));
        }
        new
    }

    /// Words of masks whose highest used one is this.
    fn words(highest: usize) -> usize {
        if highest < 2 { highest + 1 } else { N }
    }

    /// Masks of all levels.
    fn masks(&self) -> usize {
        lengths(self.points).sum::<usize>() + lengths(self.points).skip(1).sum::<usize>()
    }

    /// Gives masks more words.
    fn widen(&mut self, width: usize) {
        let mut wider = scratch!(Vec<u64>; 0; self.masks() * width);
        if self.width > 0 {
            let rows = wider.chunks_exact_mut(width).zip(self.words.chunks_exact(self.width));
            rows.for_each(|(wider, row)| {
                wider.iter_mut().zip(row).for_each(|(to, word)| *to = *word)
            });
        }
        self.words = wider;
        self.width = width;
    }

    /// Takes registers at all points of `start..end`.
    pub fn take(&mut self, start: u32, end: u32, mask: Mask<N>) {
        let Some(highest) = mask.0.iter().rposition(|word| *word != 0) else { return };
        if start >= end {
            return;
        }
        if highest >= self.width {
            self.widen(Occupancy::<N>::words(highest));
        }
        match self.width {
            1 => self.add::<1>(start, end, mask),
            2 => self.add::<2>(start, end, mask),
            _ => self.add::<N>(start, end, mask),
        }
    }

    fn add<const W: usize>(&mut self, start: u32, end: u32, mask: Mask<N>) {
        let mask: [u64; W] = std::array::from_fn(|w| mask.0[w]);
        let Occupancy { words, levels, any, full, .. } = self;
        let (levels, words) = (*levels, words.as_mut_slice());
        groups(levels, start, end, |level, groups| {
            rows_mut(words, any[level], groups.clone()).iter_mut().for_each(|row| add(row, &mask));
            if level > 0 {
                rows_mut(words, full[level], groups).iter_mut().for_each(|row| add(row, &mask));
            }
        });
        above_ends(levels, start, end, |level, group| {
            add(&mut rows_mut(words, any[level], group..group + 1)[0], &mask);
        });
    }

    /// The registers that are taken at any point of `start..end`.
    pub fn taken(&self, start: u32, end: u32) -> Mask<N> {
        if start >= end {
            return Mask::EMPTY;
        }
        match self.width {
            0 => Mask::EMPTY,
            1 => self.found::<1>(start, end),
            2 => self.found::<2>(start, end),
            _ => self.found::<N>(start, end),
        }
    }

    fn found<const W: usize>(&self, start: u32, end: u32) -> Mask<N> {
        let mut taken = [0; W];
        let Occupancy { words, levels, any, full, .. } = self;
        groups(*levels, start, end, |level, groups| {
            rows(words, any[level], groups).iter().for_each(|row| add(&mut taken, row));
        });
        above_ends(*levels, start, end, |level, group| {
            add(&mut taken, &rows(words, full[level], group..group + 1)[0]);
        });
        Mask(std::array::from_fn(|w| taken.get(w).copied().unwrap_or(0)))
    }
}

/// Masks that each level has.
fn lengths(points: u32) -> impl Iterator<Item = usize> {
    let next = |len: &usize| (*len > 1 << RADIX_BITS).then(|| len.div_ceil(1 << RADIX_BITS));
    std::iter::successors(Some(points as usize), next)
}

/// Cuts `start..end` into runs of whole groups: `f(level, groups)`, where the top level takes what
/// is left.
fn groups(levels: usize, start: u32, end: u32, mut f: impl FnMut(usize, Range<usize>)) {
    let (mut start, mut end) = (start as usize, end as usize);
    for level in 0..levels {
        let (mut inner, mut outer) = (end, end);
        if level + 1 < levels {
            // What whole groups of the next level leave at both ends.
            inner = start.next_multiple_of(1 << RADIX_BITS).min(end);
            outer = (end & !((1 << RADIX_BITS) - 1)).max(inner);
        }
        for run in [start..inner, outer..end] {
            if !run.is_empty() {
                work::add(run.len());
                f(level, run);
            }
        }
        if inner == outer {
            return;
        }
        (start, end) = (inner >> RADIX_BITS, outer >> RADIX_BITS);
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
            let mut occupancy: Occupancy<4> = Occupancy::new(points, points % 100);
            let mut plain = vec![[0u64; 4]; points as usize];
            let mut state = u64::from(points);
            let mut below = |n: u32| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % u64::from(n)) as u32
            };
            // Registers of each word, the higher ones later: masks grow.
            for reg in (20..210).step_by(3) {
                let start = below(points);
                let end = start + 1 + below(points - start);
                occupancy.take(start, end, Mask::one(reg));
                let (word, bit) = (reg as usize / 64, reg % 64);
                plain[start as usize..end as usize].iter_mut().for_each(|m| m[word] |= 1 << bit);
                for _ in 0..20 {
                    let start = below(points);
                    let end = start + 1 + below(points - start);
                    let masks = plain[start as usize..end as usize].iter();
                    let expected = masks.fold(Mask::EMPTY, |all, m| all.or(Mask(*m)));
                    assert_eq!(occupancy.taken(start, end), expected, "{points}: {start}..{end}");
                }
            }
        }
    }
}
