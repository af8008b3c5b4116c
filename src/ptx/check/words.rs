//! Whether PTX knows a modifier.
//!
//! Source: PTX ISA 9.0, "Instruction Set"; which words ptxas 13.0.88 knows was observed from what
//! it answers to each.

use crate::ptx::types::Space;
use crate::ptx::words::Word;

/// Whether some instruction has this modifier.
pub(super) fn is_modifier(word: &str) -> bool {
    Word::parse(word).is_some() || has_pattern(word)
}

/// The state space that a word names; one that follows a pattern, too: `shared::…`.
pub(super) fn space(word: &str) -> Option<Space> {
    Word::parse(word.split(':').next()?)?.space()
}

/// Words that are made of numbers: scopes with `::`, shapes (`m16n8k16`, `16x64b`, `2d`), counts
/// (`x4`), narrow float formats.
fn has_pattern(word: &str) -> bool {
    let mut bytes = word.bytes();
    let (first, second) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
    word.contains("::")
        || first.is_ascii_digit()
        || matches!(first, b'm' | b'x') && second.is_ascii_digit()
        || word.starts_with("warpx")
        || is_narrow_format(word)
}

/// `e4m3`, `e2m1x2`, `ue8m0x2`, `b6x16_p32`.
pub(super) fn is_narrow_format(word: &str) -> bool {
    let rest = word.strip_prefix('u').unwrap_or(word);
    let second_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    (rest.starts_with('e') && second_digit && rest.contains('m'))
        || (word.starts_with('b') && second_digit && word.contains('x'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_known_by_their_heads() {
        let found = ["global", "shared::cluster", "shared::later", "L2::later", "f32"].map(space);
        let shared = Some(Space::Shared);
        assert_eq!(found, [Some(Space::Global), shared, shared, None, None]);
    }

    #[test]
    fn patterns_know_shapes_and_not_typing_errors() {
        for word in
            ["m16n8k16", "16x64b", "x4", "2d", "shared::cta", "e2m1x2", "ue8m0x2", "b6x16_p32"]
        {
            assert!(is_modifier(word), "{word}");
        }
        for word in ["u33", "foo", "bar", "s128", "gloobal", "mx", ""] {
            assert!(!is_modifier(word), "{word}");
        }
    }
}
