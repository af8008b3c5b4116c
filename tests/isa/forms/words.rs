//! How an instruction is spelled: opcode and modifiers as the table of forms has them.

use std::collections::HashMap;

/// Types, layouts, state spaces, the priorities of `createpolicy`, operations on bits: words that
/// keep their order among themselves. All others are a set. `sequence` in
/// `src/ptx/check/forms/table.rs` says the same.
pub const SEQUENCES: usize = 5;

const TYPES: &str = "s8 s16 s32 s64 u8 u16 u32 u64 f16 f16x2 bf16 bf16x2 tf32 f32 f32x2 f64 b8 b16 b32 b64 b128 pred e4m3 e5m2 \
    e4m3x2 e5m2x2 u16x2 s16x2 texref samplerref surfref b1 s4 u4 s2 u2 e3m2 e2m3 e2m1 e2m1x2 e2m3x2 e3m2x2 ue8m0 \
    ue8m0x2 ue4m3 e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4 b4x16 b4x16_p64 b6x16_p32";

fn sequence(word: &str, opcode: &str) -> Option<usize> {
    if TYPES.split(' ').any(|ty| ty == word) {
        return Some(0);
    }
    match word.split("::").next().unwrap_or(word) {
        "row" | "col" if matches!(opcode, "mma" | "wmma") => Some(1),
        "global" | "shared" | "local" | "const" | "param" => Some(2),
        "L2" if opcode == "createpolicy" && word.starts_with("L2::evict") => Some(3),
        "and" | "xor" | "popc" if matches!(opcode, "mma" | "wmma" | "wgmma") => Some(4),
        _ => None,
    }
}

/// Words by number.
#[derive(Default)]
pub struct Words {
    list: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl Words {
    /// # Panics
    /// With more than 65536 words.
    pub fn number(&mut self, word: &str) -> u16 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = u16::try_from(self.list.len()).expect("PTX has a few hundred words");
        self.list.push(word.to_string());
        self.numbers.insert(word.to_string(), number);
        number
    }

    pub fn text(&self, number: u16) -> &str {
        &self.list[usize::from(number)]
    }
}

/// What follows an instruction's name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Form {
    pub sequences: [Vec<u16>; SEQUENCES],
    /// Sorted, each once.
    pub flags: Vec<u16>,
}

impl Form {
    /// Of the words after the name.
    pub fn new<'a>(opcode: &str, rest: impl Iterator<Item = &'a str>, words: &mut Words) -> Form {
        let mut form = Form::default();
        for word in rest {
            let number = words.number(word);
            match sequence(word, opcode) {
                Some(which) => form.sequences[which].push(number),
                None => form.flags.push(number),
            }
        }
        form.tidy();
        form
    }

    pub fn tidy(&mut self) {
        self.flags.sort_unstable();
        self.flags.dedup();
    }

    /// The whole mnemonic, in an order that ptxas takes.
    pub fn mnemonic(&self, name: &str, words: &Words) -> String {
        let [types, layouts, spaces, priorities, operations] = &self.sequences;
        let mut text = name.to_string();
        for list in [&self.flags, layouts, spaces, priorities, types, operations] {
            for word in list {
                text.push('.');
                text.push_str(words.text(*word));
            }
        }
        text
    }

    /// How many words two forms share.
    pub fn shared(&self, other: &Form) -> usize {
        let flags = self.flags.iter().filter(|flag| other.flags.contains(flag)).count();
        let pairs = self.sequences.iter().zip(&other.sequences);
        let same = |(a, b): (&Vec<u16>, &Vec<u16>)| a.iter().zip(b).filter(|(x, y)| x == y).count();
        flags + pairs.map(same).sum::<usize>()
    }
}

/// The longest name of the table that a mnemonic begins with, and the words after it.
pub fn name_of<'a>(mnemonic: &'a str, known: &dyn Fn(&str) -> bool) -> (&'a str, &'a str) {
    let mut best = mnemonic.find('.').unwrap_or(mnemonic.len());
    let ends = mnemonic.match_indices('.').map(|(at, _)| at).chain([mnemonic.len()]);
    for end in ends {
        if known(&mnemonic[..end]) {
            best = end;
        }
    }
    (&mnemonic[..best], mnemonic[best..].trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_known_name_counts() {
        let known = |name: &str| matches!(name, "mul" | "mul.wide");
        assert_eq!(name_of("mul.wide.u32", &known), ("mul.wide", "u32"));
        assert_eq!(name_of("mul.lo.u32", &known), ("mul", "lo.u32"));
        assert_eq!(name_of("trap", &known), ("trap", ""));
    }

    #[test]
    fn flags_have_no_order_and_types_do() {
        let mut words = Words::default();
        let mut form = |text: &str| Form::new("cvt", text.split('.'), &mut words);
        assert_eq!(form("rn.sat.f32.s32"), form("sat.f32.rn.s32"));
        assert_ne!(form("rn.f32.s32"), form("rn.s32.f32"));
    }
}
