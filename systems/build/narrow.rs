//! Conversions that take more than one instruction.

use super::{Emit, cell, fimm, imm, r, wide};
use orias_components::{Mod, Opcode, Operand, RegFlags, RegUse};

/// How a double becomes a single.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// The rounding word, none is to nearest even.
    pub round: Option<Mod>,
    /// Results below the normal range become zero.
    pub ftz: bool,
}

/// Rounds a double (a register of two cells) to single precision.
///
/// F2F does not flush. Whether a result counts as subnormal is decided by what it rounds to when
/// the exponent has no lower bound (`src/interpret/float.rs`), so a flushed one is rounded 32
/// binades higher and scaled down.
pub fn narrow_double(e: &mut Emit<'_>, narrow: Narrow, d: Operand, x: Operand) {
    let mods = [Mod::F32, Mod::F64, narrow.round.unwrap_or(Mod::F32)];
    let mods = if narrow.round.is_some() { &mods[..] } else { &mods[..2] };
    if !narrow.ftz {
        e.put(Opcode::F2F, mods, 1, &[d, x]);
        return;
    }
    let [plain, high, low] = [(); 3].map(|()| r(e.temp(1)));
    e.put(Opcode::F2F, mods, 1, &[plain, x]);
    let scale = e.temp(2);
    e.mov(cell(scale, 0), Operand::RZ);
    // 2^32
    e.mov(cell(scale, 1), imm(0x41f0_0000));
    let scaled = e.temp(2);
    e.put(Opcode::DMUL, &[], 1, &[wide(scaled, 2), x, wide(scale, 2)]);
    e.put(Opcode::F2F, mods, 1, &[high, wide(scaled, 2)]);
    e.fmul(&[Mod::FTZ], low, high, fimm(2f32.powi(-32)));
    let magnitude = match plain {
        Operand::Reg(u) => Operand::Reg(RegUse { flags: RegFlags::ABS, ..u }),
        other => other,
    };
    let p = e.temp_pred();
    let small = [magnitude, fimm(f32::MIN_POSITIVE)];
    e.fsetp(r(p), Mod::LE, false, small, (Mod::AND, Operand::PT));
    e.put(Opcode::FSEL, &[], 1, &[d, low, plain, r(p)]);
}
