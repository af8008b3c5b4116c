//! Sparse left factors: of each group of columns half are stored, and metadata says which (PTX ISA
//! 9.0, "Sparse matrix storage").
//!
//! A group has two 2-bit indices, the first in the low bits. They count elements in groups of four;
//! pairs of 4-bit elements in groups of eight; halves of tf32 elements in groups of two, so that
//! both belong to one element.

use super::fragment::Element;
use crate::interpret::operand::{Row, Src};

/// Which columns of a sparse left factor are there.
#[derive(Clone, Copy, Debug)]
pub struct Sparse {
    /// The register with their places.
    pub metadata: Src,
    /// Which lanes of four hold the metadata, where not all do.
    pub selector: usize,
}

impl Sparse {
    /// Of each of 16 rows of `k` columns, half of which are stored, the stored elements and their
    /// columns.
    pub fn columns(
        &self,
        stored: &[f64],
        k: usize,
        element: Element,
        metadata: &Row,
    ) -> Vec<Vec<(usize, f64)>> {
        // Columns of a group, and elements that one index counts.
        let (group, unit) = match element.bits() {
            32 => (2, 1),
            4 => (8, 2),
            _ => (4, 1),
        };
        let mut all: Vec<Vec<_>> = (0..16).map(|_| Vec::with_capacity(k / 2)).collect();
        let bits = 4 * k / group;
        for (row, stored) in stored.chunks_exact(k / 2).enumerate() {
            for (chunk, elements) in stored.chunks_exact(group / 2).enumerate() {
                let indices = (0..2).map(|i| {
                    let bit = 4 * chunk + 2 * i;
                    let (lane, at) = self.place(row, bit, bits, element);
                    (metadata[lane] >> at & 3) as usize
                });
                let indices: Vec<usize> = indices.collect();
                for (i, value) in elements.iter().enumerate() {
                    let column = match element.bits() {
                        // The first half of the element that is stored.
                        32 => indices[0] / 2,
                        _ => indices[i / unit] * unit + i % unit,
                    };
                    all[row % 16].push((chunk * group + column, *value));
                }
            }
        }
        all
    }

    /// The lane and its bit that hold bit `bit` of a row with `bits` bits of metadata.
    ///
    /// Rows g and g + 8 have theirs in the quad of lanes 4g to 4g + 3. 16-bit and wider elements
    /// have 16 bits of each of the two rows in a lane, narrower ones 32 bits of one row.
    fn place(&self, row: usize, bit: usize, bits: usize, element: Element) -> (usize, usize) {
        let (quad, lower) = (row % 8 * 4, row / 8);
        let wide = element.bits() >= 16;
        match (bits, wide) {
            (16, _) => (quad + self.selector % 4, lower * 16 + bit),
            (32, true) => (quad + self.selector % 2 * 2 + bit / 16, lower * 16 + bit % 16),
            (32, false) => (quad + self.selector % 2 * 2 + lower, bit),
            _ => (quad + lower + bit / 32 * 2, bit % 32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::float::Format;
    use crate::interpret::operand::LANES;

    fn expand(
        element: Element,
        k: usize,
        selector: usize,
        metadata: impl Fn(usize) -> u64,
    ) -> Vec<f64> {
        let mut row = [0; LANES];
        row.iter_mut().enumerate().for_each(|(lane, x)| *x = metadata(lane));
        let stored: Vec<f64> = (0..16 * k / 2).map(|i| 1.0 + i as f64).collect();
        let sparse = Sparse { metadata: Src::ZERO, selector };
        let mut all = vec![0.0; 16 * k];
        for (row, elements) in sparse.columns(&stored, k, element, &row).iter().enumerate() {
            elements.iter().for_each(|(column, value)| all[row * k + column] += value);
        }
        all
    }

    #[test]
    fn indices_say_where_the_stored_elements_belong() {
        // 0xe: 2 and 3; 0x4: 0 and 1. Row 0 has the low half of lane 1, row 8 the high one.
        let half = Element::Float(Format::F16);
        let all = expand(half, 16, 1, |lane| if lane == 1 { 0xee44_4e44 } else { 0x4444_4444 });
        assert_eq!(all[..16], [1., 2., 0., 0., 3., 4., 0., 0., 0., 0., 5., 6., 7., 8., 0., 0.]);
        let row8 = &all[8 * 16..9 * 16];
        assert_eq!(row8[8..], [0., 0., 69., 70., 0., 0., 71., 72.]);
    }

    #[test]
    fn an_element_of_tf32_is_one_of_two() {
        let all = expand(Element::Tf32, 8, 0, |_| 0x4e4e_4e4e);
        assert_eq!(all[..8], [0., 1., 2., 0., 0., 3., 4., 0.]);
    }

    #[test]
    fn elements_of_four_bits_come_in_pairs() {
        let nibble = Element::Int { bits: 4, signed: false };
        // Indices 1 and 3: the second and the fourth pair.
        let all = expand(nibble, 64, 0, |_| 0xdddd_dddd);
        assert_eq!(all[..8], [0., 0., 1., 2., 0., 0., 3., 4.]);
    }
}
