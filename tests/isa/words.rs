//! Words of one SM as the reference disassembler reads them, many at once.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// An instruction that every SM from sm_70 on has: stands in for refused words.
pub const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// The text of each word, as at byte 16 × index of a raw file; `None` for a word that nvdisasm
/// refuses (or, of a few, prints no line for).
///
/// `sm` is its name for the SM (`SM90`).
///
/// # Panics
/// When the tool does not start.
pub fn texts(nvdisasm: &Path, sm: &str, words: &[u128]) -> Vec<Option<String>> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let serial = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("orias-words-{}-{serial}.bin", std::process::id());
    let file = std::env::temp_dir().join(name);
    // What nvdisasm says when only the words of a range stand in the file, NOPs in place of the
    // others and of refused ones.
    let run = |refused: &BTreeSet<usize>, range: Range<usize>| {
        let there = |i: usize| range.contains(&i) && !refused.contains(&i);
        let bytes: Vec<u8> = (0..words.len())
            .flat_map(|i| if there(i) { words[i] } else { NOP }.to_le_bytes())
            .collect();
        std::fs::write(&file, bytes).expect("a temporary file");
        let out = Command::new(nvdisasm).args(["-b", sm]).arg(&file).output().expect("nvdisasm");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&out.stdout), text(&out.stderr))
    };
    let mut refused: BTreeSet<usize> = BTreeSet::new();
    let listing = loop {
        let (listing, errors) = run(&refused, 0..words.len());
        let before = refused.len();
        for part in errors.split("at address 0x").skip(1) {
            let digits: String = part.chars().take_while(char::is_ascii_hexdigit).collect();
            refused.insert(usize::from_str_radix(&digits, 16).expect("an address") / 16);
        }
        if refused.len() > before {
            continue;
        }
        if !listing.trim().is_empty() || words.is_empty() {
            break listing;
        }
        // It stops at a word without saying at which: found by halving.
        let mut range = 0..words.len();
        while range.len() > 1 {
            let middle = range.start + range.len() / 2;
            let (listing, _) = run(&refused, range.start..middle);
            range = if listing.trim().is_empty() { range.start..middle } else { middle..range.end };
        }
        refused.insert(range.start);
    };
    let _ = std::fs::remove_file(&file);
    let mut texts = vec![None; words.len()];
    for line in listing.lines() {
        let Some((address, text)) = line.trim().strip_prefix("/*").and_then(|l| l.split_once("*/"))
        else {
            continue;
        };
        let index = u64::from_str_radix(address, 16).map_or(usize::MAX, |a| a as usize / 16);
        if let Some(place) = texts.get_mut(index).filter(|_| !refused.contains(&index)) {
            *place = Some(text.trim().to_string());
        }
    }
    texts
}

/// nvdisasm's name for a target (`sm_90a`): `SM90a`.
pub fn machine(target: &str) -> String {
    target.replace("sm_", "SM")
}
