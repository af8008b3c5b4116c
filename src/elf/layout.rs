//! Where ptxas 13.0.88 places variables (observed on modules with one to thirteen variables of
//! mixed sizes and alignments).
//!
//! Nothing depends on using the same places, except that files are easier to compare.

/// Order of the symbols of module-level variables: those that others may see first, then the
/// module's own, both in order of declaration. `visible` is whether the i-th of `count` declared
/// variables is `.visible` or `.weak`. Constant bank 3 is laid out and the slots of bank 4 are
/// numbered in this order.
pub fn symbol_order(
    count: usize,
    visible: impl Fn(usize) -> bool + Copy,
) -> impl DoubleEndedIterator<Item = usize> + Clone {
    let pick = move |wanted: bool| (0..count).filter(move |i| visible(*i) == wanted);
    pick(true).chain(pick(false))
}

/// The order in which variables of global memory (those with an initial value and those without:
/// each kind by itself) are placed one after the other, each at the next address of its alignment.
/// Takes (alignment, size) of each in symbol order, gives indices. Shared variables are placed in
/// order of declaration instead, dynamic ones behind all others.
///
/// Larger alignments come first, then smaller sizes. Ties fall as in a merge sort of a linked list
/// that deals its elements alternately to the fronts of two lists.
pub fn placement_order(count: usize, shape: impl Fn(usize) -> (u64, u64)) -> Vec<u32> {
    let key = |i: u32| {
        let (align, size) = shape(i as usize);
        (std::cmp::Reverse(align), size)
    };
    fn sort<K: Ord>(list: Vec<u32>, key: &impl Fn(u32) -> K) -> Vec<u32> {
        if list.len() < 2 {
            return list;
        }
        let deal = |first: usize| {
            let mut half: Vec<u32> = list.iter().copied().skip(first).step_by(2).collect();
            half.reverse();
            sort(half, key)
        };
        let (a, b) = (deal(0), deal(1));
        drop(list);
        let mut merged = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            if key(a[i]) <= key(b[j]) {
                merged.push(a[i]);
                i += 1;
            } else {
                merged.push(b[j]);
                j += 1;
            }
        }
        merged.extend(&a[i..]);
        merged.extend(&b[j..]);
        merged
    }
    sort((0..count as u32).collect(), &key)
}

/// Offsets in the order given, each the next multiple of its alignment, and the end. Takes
/// (alignment, size).
pub fn place(variables: impl IntoIterator<Item = (u64, u64)>) -> (Vec<u64>, u64) {
    let mut end = 0u64;
    let offsets = variables
        .into_iter()
        .map(|(align, size)| {
            let offset = end.next_multiple_of(align.max(1));
            end = offset + size;
            offset
        })
        .collect();
    (offsets, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placement_is_that_of_ptxas() {
        let equal = |n| placement_order(n, |_| (8, 8));
        assert_eq!(equal(2), [0, 1]);
        assert_eq!(equal(3), [2, 0, 1]);
        assert_eq!(equal(8), [2, 6, 0, 4, 3, 7, 1, 5]);
        assert_eq!(equal(13), [8, 0, 12, 4, 10, 2, 6, 11, 3, 7, 9, 1, 5]);
        let aligns = [8u64, 1, 4, 2, 8, 16, 1, 4, 4, 2];
        let mixed: Vec<(u64, u64)> =
            aligns.iter().enumerate().map(|(i, a)| (*a, a * (i as u64 % 3 + 1))).collect();
        assert_eq!(placement_order(10, |i| mixed[i]), [5, 0, 4, 7, 8, 2, 9, 3, 6, 1]);
    }

    #[test]
    fn visible_variables_come_first() {
        let order: Vec<usize> = symbol_order(4, |i| i % 2 == 1).collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }

    #[test]
    fn variables_are_placed_one_after_the_other() {
        assert_eq!(place([(8, 8), (4, 6), (1, 1), (2, 2)]), (vec![0, 8, 14, 16], 18));
    }
}
