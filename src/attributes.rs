//! What `.nv.info.K` says of a kernel's instructions, from the PTX that they come from and the
//! places where they ended up.
//!
//! ptxas 13.0.88 goes by the PTX instruction, not by the machine's: a warp operation that it makes
//! for itself is listed apart from one that the PTX asks for, and a barrier's state and its parity
//! make the same instruction of two kinds. Each rule was seen by varying one instruction at -O0 and
//! -O3 (sm_90a).

use crate::digest::Digest;
use crate::elf::attribute::{Attribute, code, format};
use crate::facts::CodeFacts;
use crate::ptx::program::{Function, Instruction, Words};
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Opcode};
use orias_systems::Compiled;
use orias_systems::function::Site;

/// The mask of a cooperative operation in which all threads of the warp take part, or whose mask no
/// register holds.
const WHOLE_WARP: u32 = u32::MAX;

/// Above the number of the register with the mask.
const MASK_REGISTER: u32 = 0x0500_0000;

/// Above the uniform register and the kind in the last word of a barrier's entry.
const BARRIER_IN_SHARED: u32 = 0x100;

/// Below the register with the count in `EIATTR_INSTR_REG_MAP`; the word after it is all ones.
const COUNT_REGISTER: u32 = 0x0201;

/// An unknown number of mbarriers.
const MANY: u16 = u16::MAX;

/// One kind of entry in `EIATTR_ANNOTATIONS`: spill code.
const SPILL: u32 = 1;

/// What an operation on an mbarrier is, in its entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Barrier {
    Init = 0,
    Arrive = 1,
    ArriveNoComplete = 2,
    Drop = 3,
    DropNoComplete = 4,
    Test = 5,
    TestParity = 6,
    CopiesArrive = 7,
    Invalidate = 8,
    Try = 9,
    TryParity = 10,
    ExpectTx = 11,
    CompleteTx = 12,
}

impl CodeFacts {
    /// The facts of one function's own code.
    pub fn of(ptx: &Digest, compiled: &Compiled) -> CodeFacts {
        let needs = ptx.facts.needs.and(compiled.needs);
        let jumps = compiled.jumps.iter().map(|jump| (jump.at, jump.targets.clone())).collect();
        let mut facts = CodeFacts { needs, jumps, ..ptx.facts.clone() };
        let mut last_vote = None;
        for site in &compiled.sites {
            if site.op == Opcode::WARPSYNC {
                last_vote = None;
            }
            let index = site.ptx_inst.checked_sub(1);
            facts.add_site(site, index.and_then(|i| ptx.words(i)), &mut last_vote);
        }
        if ptx.inits_in_loop {
            facts.mbarrier_inits = MANY;
        }
        facts
    }

    fn add_site(&mut self, site: &Site, ptx: Option<&Words>, last_vote: &mut Option<u32>) {
        if site.spill {
            self.spills.push(site.offset);
            return;
        }
        match site.op {
            Opcode::SHFL | Opcode::VOTE | Opcode::VOTEU | Opcode::MATCH | Opcode::REDUX => {
                match ptx.map(|p| p.opcode) {
                    // Old products are expanded to shuffles that ptxas's helpers write in PTX.
                    Some(Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::Mma | Op::Wmma) => {
                        // A vote by two ballots is one operation.
                        let again = last_vote.replace(site.ptx_inst) == Some(site.ptx_inst);
                        if !again || site.op != Opcode::VOTE {
                            let register = site.mask.map(|r| MASK_REGISTER | u32::from(r));
                            self.cooperative.push((site.offset, register.unwrap_or(WHOLE_WARP)));
                        }
                    }
                    // Nor is the vote listed that makes a product's predicate uniform.
                    Some(Op::Activemask | Op::Wgmma) => {}
                    _ => self.warp_wide.push(site.offset),
                }
            }
            Opcode::WARPSYNC | Opcode::NOP
                if ptx.is_some_and(|p| p.opcode == Op::Bar && p.has(Word::Warp)) =>
            {
                let register = site.data.map(|r| MASK_REGISTER | u32::from(r));
                self.cooperative.push((site.offset, register.unwrap_or(WHOLE_WARP)));
            }
            Opcode::BAR | Opcode::UCGABAR_ARV if ptx.is_some_and(|p| meets_alone(p, site.op)) => {
                self.cooperative.push((site.offset, WHOLE_WARP));
            }
            Opcode::SYNCS | Opcode::ARRIVES => {
                if let Some(kind) = ptx.and_then(|p| barrier(p, site)) {
                    self.add_barrier(site, kind);
                }
            }
            _ => {}
        }
    }

    fn add_barrier(&mut self, site: &Site, kind: Barrier) {
        let (base, uniform) = (u32::from(site.base), u32::from(site.uniform));
        let last = uniform << 16 | BARRIER_IN_SHARED | kind as u32;
        self.mbarriers.push([site.offset, base, site.displacement as u32, last]);
        self.mbarrier_inits += u16::from(kind == Barrier::Init);
        if matches!(kind, Barrier::ArriveNoComplete | Barrier::DropNoComplete)
            && let Some(register) = site.data
        {
            self.counts.push((site.offset, register));
        }
    }

    /// The attributes that say it; the writer knows their order.
    pub fn attributes(&self) -> Vec<Attribute> {
        let mut all = Vec::new();
        let flag = |code| Attribute::Raw { format: format::NONE, code, value: vec![0, 0] };
        let words = |code, words: Vec<u32>| {
            let value = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            Attribute::Raw { format: format::SIZED, code, value }
        };
        if self.reserved_shared {
            all.push(flag(code::RESERVED_SMEM_USED));
        }
        all.push(Attribute::SparseMmaMask(self.needs.sparse_mask));
        if self.wmma {
            all.push(Attribute::WmmaUsed);
        }
        if !self.spills.is_empty() {
            let pairs = self.spills.iter().flat_map(|at| [SPILL, *at]).collect();
            all.push(words(code::ANNOTATIONS, pairs));
        }
        if !self.warp_wide.is_empty() {
            all.push(Attribute::IntWarpWideOffsets(self.warp_wide.clone()));
        }
        if !self.cooperative.is_empty() {
            let (offsets, masks) = self.cooperative.iter().copied().unzip();
            all.push(Attribute::CoopGroupMaskRegs(masks));
            all.push(Attribute::CoopGroupOffsets(offsets));
        }
        if !self.jumps.is_empty() {
            let entry = |(at, targets): &(u32, Vec<u32>)| {
                let head = [*at, 0, targets.len() as u32];
                head.into_iter().chain(targets.clone()).collect::<Vec<u32>>()
            };
            let words = self.jumps.iter().flat_map(entry).collect();
            all.push(Attribute::IndirectBranchTargets(words));
        }
        if self.needs.reconfigures {
            all.push(flag(code::REG_RECONFIG));
        }
        if !self.counts.is_empty() {
            let entry = |(at, register): &(u32, u8)| {
                [*at, u32::from(*register) << 16 | COUNT_REGISTER, u32::MAX]
            };
            all.push(words(code::INSTR_REG_MAP, self.counts.iter().flat_map(entry).collect()));
        }
        if !self.mbarriers.is_empty() {
            all.push(Attribute::MbarrierOffsets(self.mbarriers.concat()));
            all.push(Attribute::NumMbarriers(self.mbarrier_inits));
        }
        all
    }
}

/// Whether a barrier of the CTA or the cluster is one at which the warp's threads come together by
/// themselves.
fn meets_alone(inst: &Words, op: Opcode) -> bool {
    if inst.opcode != Op::Barrier {
        return false;
    }
    if inst.has(Word::Cluster) {
        return inst.has(Word::Arrive) && op == Opcode::UCGABAR_ARV;
    }
    inst.has(Word::Sync) && !inst.has(Word::Aligned) && op == Opcode::BAR
}

/// What an instruction does to an mbarrier, where it is the one of its PTX instruction that is
/// listed. Arrivals that expect bytes are not.
fn barrier(inst: &Words, site: &Site) -> Option<Barrier> {
    let has = |word| inst.has(word);
    if inst.opcode == Op::Cp && has(Word::Mbarrier) {
        return (site.op == Opcode::ARRIVES).then_some(Barrier::CopiesArrive);
    }
    if inst.opcode != Op::Mbarrier || site.op != Opcode::SYNCS {
        return None;
    }
    let kind = |plain, other, word| Some(if has(word) { other } else { plain });
    match inst.modifiers.first().copied()? {
        Word::Init => Some(Barrier::Init),
        Word::Inval => Some(Barrier::Invalidate),
        Word::ExpectTx => Some(Barrier::ExpectTx),
        Word::CompleteTx => Some(Barrier::CompleteTx),
        Word::Arrive | Word::ArriveDrop if has(Word::ExpectTx) => None,
        Word::Arrive => kind(Barrier::Arrive, Barrier::ArriveNoComplete, Word::NoComplete),
        Word::ArriveDrop => kind(Barrier::Drop, Barrier::DropNoComplete, Word::NoComplete),
        Word::TestWait => kind(Barrier::Test, Barrier::TestParity, Word::Parity),
        // Behind the wait that a time limit ends stands a test.
        Word::TryWait if !site.mods.has(Mod::TRYWAIT) => None,
        Word::TryWait => kind(Barrier::Try, Barrier::TryParity, Word::Parity),
        _ => None,
    }
}

/// Which instructions on tensor maps the PTX has: `.nv.compat` says it of the whole file, of
/// kernels that are not compiled too. 1 copies, reductions and prefetches by a map, 2 changes of a
/// map.
pub fn tensor_maps(functions: &[Function<'_>]) -> u8 {
    let of = |inst: &Instruction| match inst.opcode {
        Op::Cp if inst.has(Word::Bulk) && inst.has(Word::Tensor) => 1,
        Op::Tensormap if inst.has(Word::Replace) => 2,
        _ => 0,
    };
    functions.iter().flat_map(|f| &f.code).fold(0, |all, inst| all | of(&inst))
}

#[cfg(test)]
mod tests {
    use super::{CodeFacts, tensor_maps};
    use crate::digest::Digest;
    use crate::ptx;
    use orias_systems::Compiled;

    fn facts(body: &str) -> CodeFacts {
        let text = format!(
            ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<4>;\n{body}\nret;\n}}\n"
        );
        let program = ptx::load(&text).expect("sound PTX");
        CodeFacts::of(&Digest::of(&program.functions[0]), &Compiled::default())
    }

    #[test]
    fn the_ptx_alone_says_what_is_reserved() {
        assert!(facts("mov.b32 %r0, %reserved_smem_offset_1;").reserved_shared);
        assert!(!facts("mov.b32 %r0, %total_smem_size;").reserved_shared);
    }

    #[test]
    fn changes_of_a_tensor_map_are_told_from_copies() {
        let text = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %a;\nld.param.u64 %a, [p];\ntensormap.replace.tile.rank.global.b1024.b32 [%a], 1;\nret;\n}\n";
        let program = ptx::load(text).expect("sound PTX");
        assert_eq!(tensor_maps(&program.functions), 2);
    }
}
