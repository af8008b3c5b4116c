//! `FormatCodeList`: the function's bytes, and what the object file says about places in them.

use crate::parallel;
use crate::params::{Read, Write};
use orias_components::pseudo::brx;
use orias_components::{Body, InstId, Loc, Mod, Opcode, Operand, Reader, Reg, RegFile, View};

use super::convert::{CodeList, WORD};
use super::encode::{Words, behind_next_call};
use super::sites;
use crate::calls;
use crate::control_flow::switches;
use crate::function::{Compiled, FunctionInfo, Jump, Link, LinkTo, Marked, TextReloc};

/// Lines that there is room for before the list grows.
const FEW: usize = 64;

/// The stack pointer.
const STACK: Reg = Reg::phys(RegFile::R, 1);

/// Phase `FormatCodeList`: the text, relocations and attributes of the function, from its words.
pub fn format_code_list(
    code: Reader<'_>,
    list: Read<'_, CodeList>,
    words: Read<'_, Words>,
    marked: Read<'_, Marked>,
    info: Read<'_, FunctionInfo>,
    mut compiled: Write<'_, Compiled>,
) {
    let (body, compiled) = (&*code.body(), &mut *compiled);
    compiled.barriers = info.barriers;
    compiled.code_bytes = (words.code as u64 * WORD) as u32;
    compiled.prologue_end = prologue_end(body);
    let mut text = std::mem::take(&mut compiled.text);
    text.clear();
    text.reserve_exact(words.all.len() * WORD as usize);
    let write = || {
        words.all.iter().for_each(|word| text.extend_from_slice(&word.to_le_bytes()));
        text
    };
    let find = || find_places(body, &list, &marked, compiled);
    let ((), text) = parallel::both(words.code, find, write);
    compiled.text = text;
}

/// Finds all that is told of places in the text.
fn find_places(body: &Body<'_>, list: &CodeList, marked: &Marked, compiled: &mut Compiled) {
    compiled.lines.reserve(list.insts.len().min(FEW));
    let mut last = Loc::default();
    let mut finder = sites::Finder::default();
    for (at, id) in list.insts.iter().enumerate() {
        let offset = (at as u64 * WORD) as u32;
        let inst = body.inst(*id);
        for operand in inst.symbols() {
            if let Operand::Symbol { key, addend, part } = operand
                && !inst.op.is_branch()
                && !calls::is_behind_call(&operand)
            {
                let addend = i64::from(addend);
                compiled.relocs.push(TextReloc { offset, key, addend, part });
            }
        }
        if inst.op == Opcode::BRX {
            compiled.jumps.extend(jump(inst, offset, list));
        }
        if let Some(to) = link(body, inst, list, at) {
            compiled.links.push(Link { offset, to });
        }
        if inst.op == Opcode::EXIT {
            compiled.exits.push(offset);
        }
        // Said of every branch that is not known to be uniform, with a convergence barrier or
        // without. And, as ptxas has it, where there are calls.
        let calls = || inst.op == Opcode::CALL && inst.blocks().next().is_some();
        compiled.divergent |= inst.op == Opcode::BSSY || calls() || marked.divergent.contains(id);
        compiled.needs = compiled.needs.and(sites::needs(inst));
        let loc = body.loc(*id);
        let spill = marked.spills.contains(id);
        if let Some(site) = finder.site(inst, offset, loc.ptx_inst, spill) {
            compiled.sites.push(site);
        }
        if (loc.file != 0 || loc.ptx_inst != 0) && loc != last {
            compiled.lines.push((offset, loc));
            last = loc;
        }
    }
}

/// What the words of the instruction at a place depend on.
fn link(body: &Body<'_>, inst: View<'_>, code: &CodeList, at: usize) -> Option<LinkTo> {
    match inst.op {
        Opcode::CALL if inst.mods().has(Mod::ABS) => Some(LinkTo::System),
        // A subroutine of the function itself.
        Opcode::CALL if matches!(inst.sources().next(), Some(Operand::Block(_))) => None,
        Opcode::CALL | Opcode::RET => Some(match inst.sources().next() {
            Some(Operand::Symbol { key, .. }) => LinkTo::Function(key),
            _ => LinkTo::Start,
        }),
        Opcode::MOV if inst.symbols().any(|o| calls::is_behind_call(&o)) => {
            Some(LinkTo::Here(behind_next_call(body, code, at) as u32))
        }
        Opcode::BRX => Some(LinkTo::Tables),
        Opcode::LDC if switches::is_entry_load(inst) => Some(LinkTo::Tables),
        _ => None,
    }
}

/// The table that a branch goes by.
fn jump(inst: View<'_>, at: u32, code: &CodeList) -> Option<Jump> {
    let Some(Operand::Imm(table)) = inst.operands().nth(brx::TABLE) else { return None };
    let targets = inst.blocks().map(|block| code.starts[block.0 as usize] as u32);
    Some(Jump { at, table: table as u32, targets: targets.collect() })
}

/// Where the entry block has made the frame, or its end.
fn prologue_end(body: &Body<'_>) -> u32 {
    let Some(entry) = body.layout().first() else { return 0 };
    let insts = body.block(*entry).insts();
    let makes_frame = |id: &InstId| {
        let (mut reads, mut writes) = (false, false);
        let inst = body.inst(*id);
        inst.for_each_def(|r| writes |= r.reg == STACK);
        inst.for_each_use(|r| reads |= r.reg == STACK);
        reads && writes
    };
    let length = insts.iter().position(makes_frame).map_or(insts.len(), |at| at + 1);
    (length as u64 * WORD) as u32
}
