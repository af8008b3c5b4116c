//! Finds a name in a constant list: a hash table that the compiler makes, so that a program need
//! not build one when it starts.

/// A free place.
const FREE: u16 = u16::MAX;

/// Places in a list of names, by their hashes; where several have one hash, each stands in the next
/// free place. `N` is a power of two and larger than the list.
pub struct Names<const N: usize>([u16; N]);

const fn hash(name: &[u8]) -> usize {
    let (mut hash, mut i) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while i < name.len() {
        hash = (hash ^ name[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    (hash ^ hash >> 32) as usize
}

/// Whether two names are the same.
pub const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl<const N: usize> Names<N> {
    /// Of a list of names; the first place of each is found.
    ///
    /// # Panics
    /// When the list is as long as the table or longer: of a constant, the compiler says so.
    pub const fn new(names: &[&str]) -> Names<N> {
        assert!(N.is_power_of_two() && names.len() < N && N <= FREE as usize);
        let (mut places, mut i) = ([FREE; N], 0);
        while i < names.len() {
            let mut at = hash(names[i].as_bytes()) % N;
            while places[at] != FREE {
                at = (at + 1) % N;
            }
            places[at] = i as u16;
            i += 1;
        }
        Names(places)
    }

    /// The place of a name in the list, whose names `name_of` tells.
    pub fn find<'a>(&self, name: &str, name_of: impl Fn(usize) -> &'a str) -> Option<usize> {
        let first = hash(name.as_bytes()) % N;
        let places = (0..N).map(|i| self.0[(first + i) % N]).take_while(|place| *place != FREE);
        places.map(usize::from).find(|place| name_of(*place) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_found_and_no_other() {
        const LIST: [&str; 7] = ["a", "b", "", "IADD3", "IMAD", "x.y", "é"];
        static FOUND: Names<8> = Names::new(&LIST);
        for (i, name) in LIST.iter().enumerate() {
            assert_eq!(FOUND.find(name, |i| LIST[i]), Some(i));
        }
        for name in ["IADD", "c", "IMAD3"] {
            assert_eq!(FOUND.find(name, |i| LIST[i]), None);
        }
    }
}
