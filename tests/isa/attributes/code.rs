//! A kernel's instructions, as far as attributes speak of them. It is read from the words by the
//! instruction table, and knows nothing of how our compiler finds its attributes.

use orias::elf::read::Function;
use orias_components::{Inst, Mod, Opcode, Operand, RegFile};
use orias_targets::Target;
use std::collections::BTreeMap;

/// The instructions of a text by place.
pub struct Code(BTreeMap<u32, Inst>);

impl Code {
    pub fn read(target: &Target, function: &Function<'_>) -> Result<Code, String> {
        let words = function.text.as_chunks::<16>().0.iter().enumerate();
        let one = |(at, word): (usize, &[u8; 16])| {
            let offset = 16 * at as u64;
            let inst = target.decode(u128::from_le_bytes(*word), offset);
            let inst = inst.map_err(|e| format!("{} at {offset:#x}: {e}", function.name))?;
            Ok((offset as u32, inst))
        };
        words.map(one).collect::<Result<_, String>>().map(Code)
    }

    pub fn at(&self, offset: u32) -> Option<&Inst> {
        self.0.get(&offset)
    }

    fn any(&self, wanted: impl Fn(&Inst) -> bool) -> bool {
        self.0.values().any(wanted)
    }

    /// Places of an opcode.
    pub fn places(&self, op: Opcode) -> Vec<u32> {
        self.0.iter().filter(|(_, inst)| inst.op == op).map(|(at, _)| *at).collect()
    }

    /// Whether there are products of matrices, which each compiler expands in its own way where the
    /// machine lacks them.
    pub fn has_products(&self) -> bool {
        self.any(|i| matches!(i.op, Opcode::HMMA | Opcode::IMMA | Opcode::DMMA | Opcode::BMMA))
    }

    /// Whether the threads of a warp certainly need a stack of places where they meet, or certainly
    /// need none; None where it hangs on what is known of a branch's guard.
    pub fn needs_call_stack(&self) -> Option<bool> {
        let certain = |i: &Inst| match i.op {
            Opcode::BSSY => true,
            Opcode::CALL => !i.mods.has(Mod::ABS),
            Opcode::BRA => i.mods.has(Mod::DIV),
            _ => false,
        };
        let possible =
            |i: &Inst| i.op == Opcode::BRX || i.op == Opcode::BRA && !i.guard.is_always();
        if self.any(certain) {
            Some(true)
        } else if self.any(possible) {
            None
        } else {
            Some(false)
        }
    }

    /// Operations in which the threads of a warp act together, but those that only tell which
    /// threads run, and but VOTEU, which also makes the predicates of warpgroups' products uniform.
    pub fn warp_operations(&self) -> Vec<u32> {
        let tells = |i: &Inst| i.operands.last().is_some_and(|o| *o == Operand::PT);
        let wanted = |i: &Inst| match i.op {
            Opcode::SHFL | Opcode::MATCH | Opcode::REDUX => true,
            Opcode::VOTE => !tells(i),
            _ => false,
        };
        self.0.iter().filter(|(_, i)| wanted(i)).map(|(at, _)| *at).collect()
    }

    /// Whether a branch leads from behind a place to it or before it.
    pub fn is_in_loop(&self, offset: u32) -> bool {
        self.0.range(offset..).any(|(_, inst)| {
            let back = |o: &Operand| matches!(o, Operand::Addr(to) if *to <= u64::from(offset));
            inst.op == Opcode::BRA && inst.operands.iter().any(back)
        })
    }

    /// What `NUM_BARRIERS` must at least be: the highest number of a barrier that an instruction
    /// names + 1. A number in a register is any: ptxas puts 0 into one for barriers of clusters.
    pub fn named_barriers(&self) -> u32 {
        let number = |i: &Inst| match (i.op, i.sources().first()) {
            (Opcode::BAR, Some(Operand::Imm(n))) => *n as u32 + 1,
            (Opcode::BAR, Some(Operand::Reg(_))) => 1,
            _ => 0,
        };
        self.0.values().map(number).max().unwrap_or(0)
    }

    /// Base register (255 none), uniform register (63 none) and displacement of an instruction's
    /// address.
    pub fn address(&self, offset: u32) -> Option<(u32, u32, u32)> {
        let memory = self.at(offset)?.operands.iter().find_map(|o| match o {
            Operand::Mem(m) => Some(*m),
            _ => None,
        })?;
        let index = |reg: orias_components::Reg, file: RegFile, zero: u32| {
            let named = !reg.is_zero() && reg.file() == file;
            if named { reg.phys_index().unwrap_or(zero) } else { zero }
        };
        let base = index(memory.base.reg, RegFile::R, 255);
        Some((base, index(memory.uniform.reg, RegFile::UR, 63), memory.offset as u32))
    }
}
