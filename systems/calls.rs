//! The calling convention, and the phase that turns the pseudo instructions of calls into machine
//! instructions.
//!
//! Observed (ptxas 13.0.88, sm_90a, recursive and indirect calls, and all with `-c`): arguments and
//! results are in R4 to R15, what finds no room there is on the stack from R1 on; the return
//! address is in R20 and R21. A function leaves R1, R2, R16 to R31, of the registers from R32 on
//! those with bit 2 set (R36 to R39, R44 to R47 …), the same of the uniform ones, and B6 and on as
//! they were; predicates and all other registers it may change.
//!
//! Until registers are allocated a call is four kinds of instructions, whose operands say all that
//! it reads and changes: moves of arguments to their registers, `PRETADR`, `PCALL`, and moves of
//! results. `PARGS` and `PRET` are the callee's side; the frame ([`crate::registers::frame`])
//! expands `PARGS` and puts before `PRET` what restores registers.

use orias_components::pseudo::{pretadr, subret};
use orias_components::{
    Body, Code, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegUse, Rewrite, SymbolKey,
};

/// Registers of arguments and results.
pub const ARGUMENTS: std::ops::Range<u32> = 4..16;
/// The pair with the return address.
pub const RETURN_ADDRESS: Reg = Reg::phys(RegFile::R, 20);
/// The bottom of the frame in functions that move the stack pointer (`alloca`). Observed: ptxas
/// 13.0.88.
pub const FRAME_POINTER: u32 = 2;
/// Neither argument nor kept: free at a function's entry and before its return.
pub const SCRATCH: Reg = Reg::phys(RegFile::R, 0);

/// Whether a function leaves the register as it was.
pub const fn is_kept(file: RegFile, index: u32) -> bool {
    match file {
        RegFile::R => matches!(index, 1 | 2 | 16..=31) || (index >= 32 && index & 4 != 0),
        RegFile::UR => index >= 32 && index & 4 != 0,
        RegFile::P | RegFile::UP => false,
        RegFile::B => index >= 6,
    }
}

/// Every register that a call may change, in runs.
pub fn clobbered() -> Vec<Operand> {
    let mut all = Vec::new();
    for (file, from, to) in [
        (RegFile::R, 0, 255),
        (RegFile::UR, 4, 63),
        (RegFile::P, 0, 7),
        (RegFile::UP, 0, 7),
        (RegFile::B, 0, 16),
    ] {
        let mut at = from;
        while at < to {
            let length = (at..to).take_while(|r| !is_kept(file, *r)).count() as u32;
            if length > 0 {
                all.push(Operand::Reg(RegUse::wide(Reg::phys(file, at), length as u8)));
            }
            at += length.max(1);
        }
    }
    all
}

/// A relocation to this symbol is none: it stands for the address behind the next call, as an
/// immediate (`part` 0) or as a place in the code (2).
pub fn behind_call(part: u8) -> Operand {
    Operand::Symbol { key: SymbolKey::default(), addend: 0, part }
}

/// Whether the operand is what [`behind_call`] makes.
pub fn is_behind_call(operand: &Operand) -> bool {
    matches!(operand, Operand::Symbol { key, .. } if *key == SymbolKey::default())
}

/// Phase `PostExpansion`: calls and returns as the machine has them. Calls end their blocks.
pub fn post_expansion(code: Code<'_>) {
    let mut body = code.body();
    body.rewrite_all(|body, out, id| {
        if out.last().is_some_and(|last| body.op(last) == Opcode::CALL) {
            out.split(body);
        }
        expand(body, id, out);
        out.keep(id);
    });
}

/// Makes an instruction what it is on the machine, behind what comes before it.
fn expand(body: &mut Body<'_>, id: InstId, before: &mut Rewrite) {
    if !body.op(id).is_of_calls() {
        return;
    }
    let inst = body.inst(id).to_inst();
    let loc = body.loc(id);
    let absolute = inst.mods.has(Mod::ABS);
    let pair = Operand::Reg(RegUse::wide(RETURN_ADDRESS, 2));
    let made = match inst.op {
        Opcode::PRETADR if absolute => Inst::new(Opcode::LEPC, &[], 1, &[pair, behind_call(2)]),
        Opcode::PRETADR => {
            let low = inst.operands[pretadr::D].as_reg().map_or(RETURN_ADDRESS, |r| r.reg);
            let high = low.phys_index().map_or(low, |low| Reg::phys(RegFile::R, low + 1));
            let (low, high) = (Operand::reg(low), Operand::reg(high));
            let upper = Inst::new(Opcode::MOV, &[], 1, &[high, Operand::RZ, Operand::Imm(0xf)]);
            before.put(body, &upper, loc);
            Inst::new(Opcode::MOV, &[], 1, &[low, behind_call(0), Operand::Imm(0xf)])
        }
        Opcode::SUBCALL => {
            let callee: Vec<Operand> = body.inst(id).blocks().map(Operand::Block).collect();
            Inst::new(Opcode::CALL, &[Mod::REL, Mod::NOINC], 0, &callee)
        }
        Opcode::SUBRET => {
            let address = [inst.operands[subret::ADDRESS], Operand::Addr(0)];
            Inst::new(Opcode::RET, &[Mod::REL, Mod::NODEC], 0, &address)
        }
        Opcode::PCALL => match inst.sources().first().copied() {
            Some(callee @ Operand::Symbol { .. }) => {
                Inst::new(Opcode::CALL, &[Mod::REL, Mod::NOINC], 0, &[callee])
            }
            Some(callee) if absolute => {
                Inst::new(Opcode::CALL, &[Mod::ABS, Mod::NOINC], 0, &[callee, Operand::Addr(0)])
            }
            Some(callee) => {
                Inst::new(Opcode::CALL, &[Mod::REL, Mod::NOINC], 0, &[callee, Operand::Addr(0)])
            }
            None => Inst::new(Opcode::NOP, &[], 0, &[]),
        },
        Opcode::PRET => {
            Inst::new(Opcode::RET, &[Mod::REL, Mod::NODEC], 0, &[pair, Operand::Addr(0)])
        }
        _ => return,
    };
    body.set_inst(id, &made);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_changes_what_no_function_keeps() {
        let text: Vec<String> = clobbered().iter().map(|o| o.to_string()).collect();
        assert_eq!(text[..4], ["R0", "R3:13", "R32:4", "R40:4"]);
        assert!(text.contains(&"UR4:32".to_string()) && text.contains(&"P0:7".to_string()));
        assert_eq!(text.last().map(String::as_str), Some("B0:6"));
    }
}
