//! What is asked of a function's PTX once its machine code is there: little of it, so that the
//! statements themselves may go as soon as they are lowered.

use crate::facts::CodeFacts;
use crate::ptx::calls::Call;
use crate::ptx::program::{Function, Instruction, LabelId, Operand, Special, Words};
use crate::ptx::types::Span;
use crate::ptx::words::{Op, Word, WordSet};
use std::sync::Arc;

/// Instructions whose modifiers attributes go by.
const OF_ATTRIBUTES: [Op; 12] = [
    Op::Activemask,
    Op::Bar,
    Op::Barrier,
    Op::Cp,
    Op::Match,
    Op::Mbarrier,
    Op::Mma,
    Op::Redux,
    Op::Shfl,
    Op::Vote,
    Op::Wgmma,
    Op::Wmma,
];

const SPARSE: WordSet = WordSet::of(&[Word::Sp, Word::SpOrderedMetadata]);
const SMALL_FLOATS: WordSet = WordSet::of(&[Word::E4m3, Word::E5m2]);

/// What stays of a function's PTX.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    /// Where each instruction stands.
    pub spans: Vec<Span>,
    /// See [`FunctionBody::calls`](crate::ptx::program::FunctionBody::calls).
    pub calls: Vec<(u32, Option<Arc<Call>>)>,
    /// What instructions say wherever they end up.
    pub facts: CodeFacts,
    /// An mbarrier is initialised in a loop.
    pub inits_in_loop: bool,
    /// By index of the instruction, in order: those of [`OF_ATTRIBUTES`].
    words: Vec<(u32, Arc<Words>)>,
}

impl Digest {
    /// What is to stay of a function, whose statements may then go.
    pub fn of(function: &Function<'_>) -> Digest {
        let mut digest = Digest { calls: function.calls.clone(), ..Digest::default() };
        digest.spans.reserve_exact(function.code.len());
        for (at, inst) in function.code.iter().enumerate() {
            digest.spans.push(inst.span);
            digest.facts.add_ptx(&inst);
            if OF_ATTRIBUTES.contains(&inst.opcode) {
                digest.words.push((at as u32, inst.words.clone()));
            }
        }
        let inits = |inst: &Instruction| {
            inst.opcode == Op::Mbarrier && inst.modifiers.first() == Some(&Word::Init)
        };
        let mut inits =
            digest.words.iter().filter(|(at, _)| inits(&function.code.at(*at as usize)));
        digest.inits_in_loop = inits.any(|(at, _)| is_in_loop(function, *at as usize));
        digest
    }

    /// The words of an instruction, where attributes go by them.
    pub fn words(&self, index: u32) -> Option<&Words> {
        let at = self.words.binary_search_by_key(&index, |(at, _)| *at).ok()?;
        Some(&self.words[at].1)
    }
}

impl CodeFacts {
    /// What instructions say wherever they end up.
    fn add_ptx(&mut self, inst: &Instruction) {
        match inst.opcode {
            Op::Wmma => self.wmma = true,
            // Products of 8-bit floats are made of products of halves.
            Op::Mma if inst.set.intersects(&SPARSE) && inst.set.intersects(&SMALL_FLOATS) => {
                self.needs.sparse_mask |= 8;
            }
            Op::Fence | Op::Tensormap if inst.has(Word::TensormapGeneric) => {
                self.needs.isa_class = self.needs.isa_class.max(2);
            }
            Op::Mov => {
                let reserved =
                    |o: &Operand| matches!(o, Operand::Special(Special::ReservedSmemOffset(_)));
                self.reserved_shared |= inst.operands.iter().any(reserved);
                // Begin, cap and 0; the end and 1 are plain numbers.
                let named = [0, 2, 3].map(|n| Operand::Special(Special::ReservedSmemOffset(n)));
                self.reserved_names |= inst.operands.iter().any(|o| named.contains(o));
            }
            _ => {}
        }
    }
}

/// Whether control comes to an instruction of the PTX again after it.
fn is_in_loop(function: &Function<'_>, of: usize) -> bool {
    let mut seen = vec![false; function.code.len()];
    let mut work = Vec::new();
    follow(function, of, &mut work);
    while let Some(at) = work.pop() {
        if at == of {
            return true;
        }
        if at < seen.len() && !std::mem::replace(&mut seen[at], true) {
            follow(function, at, &mut work);
        }
    }
    false
}

/// Adds the instructions that may come right after one.
fn follow(function: &Function<'_>, at: usize, next: &mut Vec<usize>) {
    let label = |l: &LabelId| function.labels.get(l.0 as usize).map(|(at, _)| *at);
    let inst = function.code.at(at);
    for operand in inst.operands {
        match operand {
            Operand::Label(l) => next.extend(label(l)),
            Operand::BranchTargets(list) => {
                let targets = function.branch_targets.get(*list as usize);
                next.extend(targets.into_iter().flatten().filter_map(label));
            }
            _ => {}
        }
    }
    let ends = matches!(inst.opcode, Op::Bra | Op::Brx | Op::Ret | Op::Exit | Op::Trap);
    if !ends || inst.guard.is_some() {
        next.push(at + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::is_in_loop;
    use crate::ptx;

    #[test]
    fn a_loop_is_what_comes_back() {
        let function = |text: &str| {
            let text = format!(
                ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p;\n{text}\nret;\n}}\n"
            );
            let program = ptx::load(&text).expect("sound PTX");
            let code = &program.functions[0];
            (0..code.code.len()).map(|i| is_in_loop(code, i)).collect::<Vec<bool>>()
        };
        assert_eq!(function("L: bar.sync 0; @%p bra L;"), [true, true, false]);
        assert_eq!(function("bar.sync 0; @%p bra L; bar.sync 0; L:"), [false; 4]);
        assert_eq!(function("bra L; bar.sync 0; L: bar.sync 1;"), [false; 4]);
    }
}
