//! What our compiler's accesses to memory say, beside those of ptxas for the same kernel: space,
//! scope, order, cache words, cache policy, the operation and type of an atomic, fences and
//! barriers. An engine that runs warps one after another cannot see whether they are right: this is
//! the only means to find one that is missing.
//!
//! Compared are sets of spellings without the width of the value, which both choose as it suits
//! them. What counts is what ptxas has and we lack; an order or a scope that is stronger than asked
//! is none.

use crate::exceptions::Exceptions;
use orias::elf::read::Cubin;
use orias_components::{Inst, Opcode, Operand, Reg, RegFile};
use orias_targets::Target;
use orias_targets::text::{Numeric, instruction};
use std::collections::{BTreeMap, BTreeSet};

/// Opcodes that are compared: those that begin so.
const COMPARED: &[&str] = &[
    "LD",
    "ST",
    "ATOM",
    "RED",
    "CCTL",
    "UCCTL",
    "MEMBAR",
    "FENCE",
    "SYNCS",
    "ARRIVES",
    "UBLK",
    "UTMA",
    "DEPBAR",
    "WARPGROUP",
    "BAR",
    "UCGABAR",
    "ACQBULK",
    "PREEXIT",
    "QSPC",
    "NANOSLEEP",
    "USETMAXREG",
];

/// Of these not: loads of constants, and what works on registers.
const APART: &[&str] = &["LDC", "LDCU", "REDUX", "STACKCTL"];

/// Words of a width, which loads and stores are compared without.
const WIDTHS: &[&str] = &["U8", "S8", "U16", "S16", "64", "128"];
const WITHOUT_WIDTH: &[&str] = &["LD", "LDG", "LDS", "LDL", "ST", "STG", "STS", "STL"];

/// Scopes by strength.
const SCOPES: &[&str] = &["SM", "GPU", "SYS"];

/// Differences with a cause: group, kernel, what is lacking, cause.
pub fn known() -> Exceptions {
    Exceptions::read("accesses.tbl", include_str!("accesses.tbl"), 4)
}

/// One kernel's difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub kernel: String,
    /// What ptxas has and we lack.
    pub lacking: Vec<String>,
    /// What only we have.
    pub more: Vec<String>,
}

impl Difference {
    /// Why that is right; None where it is not known to be.
    pub fn why(&self, known: &mut Exceptions, group: &str) -> Option<&'static str> {
        let lacking = self.lacking.join(" ");
        known.find(|row| row[..3] == [group, &self.kernel, &lacking])
    }
}

/// The differences between two cubins of one module. `hinted` says which kernels have cache
/// policies.
///
/// # Errors
/// When one of them is no cubin.
pub fn differences(
    target: &Target,
    theirs: &[u8],
    ours: &[u8],
    hinted: impl Fn(&str) -> bool,
) -> Result<Vec<Difference>, String> {
    let [theirs, mut ours] = [kernels(target, theirs, &hinted)?, kernels(target, ours, &hinted)?];
    let mut found = Vec::new();
    for (kernel, theirs) in theirs {
        let Some(ours) = ours.remove(&kernel) else { continue };
        let lacking: Vec<String> =
            theirs.iter().filter(|t| !ours.iter().any(|o| covers(o, t))).cloned().collect();
        if lacking.is_empty() {
            continue;
        }
        let more: Vec<String> = ours.difference(&theirs).cloned().collect();
        found.push(Difference { kernel, lacking, more });
    }
    Ok(found)
}

/// The kernels of a module that have accesses with a cache policy, by name.
pub fn hinted(source: &str) -> BTreeSet<String> {
    let name = |kernel: &str| kernel.split(['(', ' ', '\n']).next().unwrap_or("").to_string();
    let kernels = source.split(".entry ").skip(1);
    kernels.filter(|k| k.contains("L2::cache_hint")).map(name).collect()
}

/// What stands behind the spelling of an access whose descriptor is a cache policy.
const POLICY: &str = " policy";

fn kernels(
    target: &Target,
    cubin: &[u8],
    hinted: &impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let cubin = Cubin::read(cubin).map_err(|e| e.to_string())?;
    let spelled = |function: &orias::elf::read::Function<'_>| {
        let words = function.text.as_chunks::<16>().0.iter().enumerate();
        let insts = words
            .filter_map(|(i, word)| target.decode(u128::from_le_bytes(*word), 16 * i as u64).ok());
        (function.name.to_string(), spellings(target, insts, hinted(function.name)))
    };
    Ok(cubin.kernels().map(spelled).collect())
}

/// The spellings of a kernel's accesses.
fn spellings(target: &Target, insts: impl Iterator<Item = Inst>, hinted: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // Uniform registers that hold the descriptor, as far as the text's order shows it.
    let mut plain: BTreeSet<Reg> = BTreeSet::new();
    for inst in insts {
        let text = instruction(target, &inst, &Numeric);
        if let Some(mut spelling) = spelling(crate::coverage::mnemonic(&text)) {
            let policy = inst.operands.iter().any(|o| match o {
                Operand::Desc(at) => !plain.contains(&at.reg),
                _ => false,
            });
            if hinted && policy {
                spelling.push_str(POLICY);
            }
            found.insert(spelling);
        }
        for def in inst.operands.iter().take(inst.defs.into()) {
            if let Operand::Reg(at) = def
                && at.reg.file() == RegFile::UR
            {
                plain.remove(&at.reg);
                let descriptor = inst.op == Opcode::ULDC && text.contains("c[0x0][0x208]");
                if descriptor {
                    plain.insert(at.reg);
                }
            }
        }
    }
    found
}

/// The compared part of a mnemonic; None where the instruction is not compared.
fn spelling(mnemonic: &str) -> Option<String> {
    let mut words = mnemonic.split('.');
    let opcode = words.next()?;
    let compared = COMPARED.iter().any(|c| opcode.starts_with(c)) && !APART.contains(&opcode);
    if !compared {
        return None;
    }
    let bare = WITHOUT_WIDTH.contains(&opcode);
    // A sum is the same with signs.
    let sum = mnemonic.contains(".ADD.S32");
    let kept = words.filter(|w| !(bare && WIDTHS.contains(w) || sum && *w == "S32"));
    Some(std::iter::once(opcode).chain(kept).collect::<Vec<_>>().join("."))
}

/// Whether our access is theirs, or the same one with a stronger order.
fn covers(ours: &str, theirs: &str) -> bool {
    // Where ptxas has an access with a policy and one without, both of ours have it.
    let ours = if theirs.ends_with(POLICY) { ours } else { ours.trim_end_matches(POLICY) };
    let [(our_rest, our_scope), (their_rest, their_scope)] = [ours, theirs].map(split_order);
    our_rest == their_rest && our_scope >= their_scope
}

/// An access without order, and how strong that is: 0 for none.
fn split_order(text: &str) -> (String, usize) {
    let scope = SCOPES.iter().position(|s| text.contains(&format!(".STRONG.{s}")));
    match scope {
        Some(at) => (text.replace(&format!(".STRONG.{}", SCOPES[at]), ""), at + 1),
        None => (text.into(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::{covers, spelling};

    #[test]
    fn a_stronger_order_covers_a_weaker_one() {
        assert!(covers("LDG.E.EF.STRONG.SM", "LDG.E.EF"));
        assert!(covers("LDG.E.STRONG.SYS", "LDG.E.STRONG.GPU"));
        assert!(!covers("LDG.E", "LDG.E.STRONG.SM"));
        assert!(!covers("LDG.E", "LDG.E.CONSTANT"));
        assert!(!covers("LDG.E.STRONG.GPU", "LDG.E.CONSTANT"));
    }

    #[test]
    fn widths_of_values_do_not_count() {
        assert_eq!(spelling("LDG.E.128.CONSTANT").as_deref(), Some("LDG.E.CONSTANT"));
        assert_eq!(spelling("REDG.E.ADD.S32.STRONG.GPU").as_deref(), Some("REDG.E.ADD.STRONG.GPU"));
        assert_eq!(
            spelling("ATOM.E.MIN.S32.STRONG.GPU").as_deref(),
            Some("ATOM.E.MIN.S32.STRONG.GPU")
        );
        assert_eq!(spelling("LDC.64"), None);
        assert_eq!(spelling("IADD3"), None);
    }
}
