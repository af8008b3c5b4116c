//! What modifier words of a PTX instruction say, in the words of machine instructions.

use crate::lower::context::cx::Sel;
use crate::ptx::program::Instruction;
use crate::ptx::types::Space;
use crate::ptx::words::Word;
use orias_components::Mod;

/// The state space word of an instruction.
pub fn space(inst: &Instruction) -> Space {
    inst.modifiers.iter().find_map(|word| word.space()).unwrap_or(Space::Generic)
}

/// The scope word for strong accesses: one CTA is one SM to the hardware.
pub fn scope(inst: &Instruction) -> Option<Mod> {
    [(Word::Cta, Mod::SM), (Word::Cluster, Mod::GPU), (Word::Gpu, Mod::GPU), (Word::Sys, Mod::SYS)]
        .into_iter()
        .find(|(name, _)| inst.has(*name))
        .map(|(_, m)| m)
}

/// The rounding word when it is not to nearest.
pub fn rounding(inst: &Instruction) -> Option<Mod> {
    [(Word::Rz, Mod::RZ), (Word::Rm, Mod::RM), (Word::Rp, Mod::RP)]
        .into_iter()
        .find(|(name, _)| inst.has(*name))
        .map(|(_, m)| m)
}

/// Words for the bytes that a miss brings to the second-level cache.
pub fn prefetch_size(inst: &Instruction) -> Option<Mod> {
    [(Word::L2_64B, Mod::LTC64B), (Word::L2_128B, Mod::LTC128B), (Word::L2_256B, Mod::LTC256B)]
        .into_iter()
        .find(|(name, _)| inst.has(*name))
        .map(|(_, m)| m)
}

/// The space of a modifier word.
pub fn memory(word: Word) -> Option<Space> {
    match word {
        Word::Global => Some(Space::Global),
        Word::SharedCluster | Word::SharedCta | Word::Shared => Some(Space::Shared),
        _ => None,
    }
}

/// The word of a reduction's operation.
pub fn operation(inst: &Instruction) -> Sel<Mod> {
    let words = [
        (Word::Add, Mod::ADD),
        (Word::Min, Mod::MIN),
        (Word::Max, Mod::MAX),
        (Word::Inc, Mod::INC),
        (Word::Dec, Mod::DEC),
        (Word::And, Mod::AND),
        (Word::Or, Mod::OR),
        (Word::Xor, Mod::XOR),
    ];
    let found = words.iter().find(|(name, _)| inst.has(*name));
    Ok(found.ok_or("no operation")?.1)
}
