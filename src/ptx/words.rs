//! The words that instructions are spelled with: opcodes and modifiers as enumerations, and sets of
//! modifiers. The lists are made of `check/forms.tbl`, which is the one place where they stand.

use super::types::{Space, Type};
use orias_components::names::{Names, same};
use std::fmt;

/// An enumeration of spellings, with the way to one and back. `more`: variants that no spelling
/// has.
macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident: $($variant:ident $text:literal),*; $($(#[$about:meta])* $more:ident)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(non_camel_case_types, reason = "digits keep apart what they stand between")]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            $($(#[$about])* $more,)?
        }

        impl $name {
            /// All that have a spelling, sorted by it.
            pub const ALL: &[$name] = &[$($name::$variant),*];
            const NAMES: &[&str] = &[$($text),*];

            /// As PTX spells it, without the dot.
            pub fn name(self) -> &'static str {
                Self::NAMES.get(self as usize).copied().unwrap_or("?")
            }

            /// Of a spelling without the dot.
            pub fn parse(name: &str) -> Option<$name> {
                static AT: Names<{ (2 * $name::ALL.len()).next_power_of_two() }> =
                    Names::new($name::NAMES);
                AT.find(name, |at| Self::NAMES[at]).map(|at| Self::ALL[at])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

macro_rules! opcodes {
    ($($variant:ident $text:literal),*) => { spelled! {
        /// The first word of an instruction.
        Op: $($variant $text),*;
    } };
}

macro_rules! modifiers {
    ($($variant:ident $text:literal),*) => { spelled! {
        /// A dot word behind the opcode, types and state spaces included.
        Word: $($variant $text),*;
        /// What follows a pattern but stands in no list: shapes and scopes of later SMs. How it is
        /// spelled the source says.
        Other
    } };
}

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// The type that each word is.
const TYPES: [Option<Type>; Word::ALL.len()] = {
    let (mut types, mut i) = ([None; Word::ALL.len()], 0);
    while i < Type::ALL.len() {
        let (ty, name) = Type::ALL[i];
        let mut at = 0;
        // A type that no list has stops the compiler here.
        while !same(Word::NAMES[at].as_bytes(), name.as_bytes()) {
            at += 1;
        }
        types[at] = Some(ty);
        i += 1;
    }
    types
};

/// The shape that each word is.
const SHAPES: [Option<[u16; 3]>; Word::ALL.len()] = {
    let (mut shapes, mut at) = ([None; Word::ALL.len()], 0);
    while at < Word::ALL.len() {
        shapes[at] = shape(Word::NAMES[at].as_bytes());
        at += 1;
    }
    shapes
};

/// `m16n8k16`
const fn shape(name: &[u8]) -> Option<[u16; 3]> {
    let (mut sizes, mut i, mut at) = ([0; 3], 0, 0);
    while i < 3 {
        if at == name.len() || name[at] != b"mnk"[i] {
            return None;
        }
        at += 1;
        while at < name.len() && name[at].is_ascii_digit() {
            sizes[i] = 10 * sizes[i] + (name[at] - b'0') as u16;
            at += 1;
        }
        if sizes[i] == 0 {
            return None;
        }
        i += 1;
    }
    if at == name.len() { Some(sizes) } else { None }
}

impl Word {
    /// The type that it is.
    pub fn ty(self) -> Option<Type> {
        TYPES.get(self as usize).copied().flatten()
    }

    /// The rows, columns and depth of a matrix product's shape: `m16n8k16`.
    pub fn shape(self) -> Option<[u16; 3]> {
        SHAPES.get(self as usize).copied().flatten()
    }

    /// The state space that it names.
    pub fn space(self) -> Option<Space> {
        Some(match self {
            Word::Global => Space::Global,
            Word::Shared | Word::SharedCta | Word::SharedCluster => Space::Shared,
            Word::Local => Space::Local,
            Word::Const => Space::Const,
            Word::Param | Word::ParamEntry | Word::ParamFunc => Space::Param,
            _ => return None,
        })
    }
}

impl Op {
    /// Of a video instruction: the one that does the same to single values, and how many values it
    /// takes from a register. Of averages, which no such instruction makes, [`Op::Vavrg2`].
    pub fn video(self) -> Option<(Op, u8)> {
        use Op::*;
        Some(match self {
            Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vmad | Vset => (self, 1),
            Vavrg2 => (Vavrg2, 2),
            Vadd2 => (Vadd, 2),
            Vsub2 => (Vsub, 2),
            Vabsdiff2 => (Vabsdiff, 2),
            Vmin2 => (Vmin, 2),
            Vmax2 => (Vmax, 2),
            Vset2 => (Vset, 2),
            Vavrg4 => (Vavrg2, 4),
            Vadd4 => (Vadd, 4),
            Vsub4 => (Vsub, 4),
            Vabsdiff4 => (Vabsdiff, 4),
            Vmin4 => (Vmin, 4),
            Vmax4 => (Vmax, 4),
            Vset4 => (Vset, 4),
            _ => return None,
        })
    }
}

/// Bits for all words.
const BITS: usize = Word::Other as usize + 1;

/// A set of modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WordSet([u64; BITS.div_ceil(64)]);

impl WordSet {
    /// Of these words.
    pub const fn of(words: &[Word]) -> WordSet {
        let (mut set, mut i) = ([0; BITS.div_ceil(64)], 0);
        while i < words.len() {
            set[words[i] as usize / 64] |= 1 << (words[i] as usize % 64);
            i += 1;
        }
        WordSet(set)
    }

    /// Whether a word is in it.
    pub const fn has(&self, word: Word) -> bool {
        self.0[word as usize / 64] >> (word as usize % 64) & 1 != 0
    }

    /// Whether both have some word.
    pub fn intersects(&self, other: &WordSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Whether all words of the other one are in it.
    pub fn contains_all(&self, other: &WordSet) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| b & !a == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for (i, op) in Op::ALL.iter().enumerate() {
            assert_eq!((Op::parse(op.name()), *op as usize), (Some(*op), i));
        }
        for (i, word) in Word::ALL.iter().enumerate() {
            assert_eq!((Word::parse(word.name()), *word as usize), (Some(*word), i));
            assert_eq!(word.ty(), Type::parse(word.name()));
        }
        assert_eq!(Word::parse("shared::cta"), Some(Word::SharedCta));
        assert_eq!((Word::parse("gloobal"), Op::parse("sharde")), (None, None));
    }

    #[test]
    fn words_say_what_they_are() {
        assert_eq!(Word::M16n8k16.shape(), Some([16, 8, 16]));
        assert_eq!(
            (Word::M8n8.shape(), Word::Mask.shape(), Word::Other.shape()),
            (None, None, None)
        );
        let spaces = Word::ALL.iter().filter(|word| word.space().is_some());
        let heads = ["global", "shared", "local", "const", "param"];
        let named =
            Word::ALL.iter().filter(|w| heads.contains(&w.name().split(':').next().unwrap()));
        assert!(spaces.eq(named));
        let video = Op::ALL.iter().filter(|op| op.video().is_some());
        assert!(
            video.eq(Op::ALL.iter().filter(|op| op.name().starts_with('v') && **op != Op::Vote))
        );
    }

    #[test]
    fn sets_have_what_was_put_in() {
        let set = WordSet::of(&[Word::Acquire, Word::_1d, Word::Zfill, Word::Other]);
        for word in Word::ALL {
            let there = matches!(word, Word::Acquire | Word::_1d | Word::Zfill);
            assert_eq!(set.has(*word), there);
        }
        assert!(set.has(Word::Other) && set.contains_all(&WordSet::of(&[Word::_1d, Word::Zfill])));
        assert!(!set.contains_all(&WordSet::of(&[Word::_1d, Word::_2d])));
        assert!(set.intersects(&WordSet::of(&[Word::_1d, Word::_2d])));
        assert!(!set.intersects(&WordSet::of(&[Word::_2d])));
    }
}
