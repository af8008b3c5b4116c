//! What a function's code shows of what the file must tell: places of certain instructions, and
//! what they ask of the machine.

use crate::function::{Needs, Site};
use orias_components::{Mod, Opcode, Operand, Reg, RegFile, View};

/// RZ and URZ in [`Site`].
const RZ: u8 = 255;
const URZ: u8 = 63;

/// Finds sites, in the order of the text.
#[derive(Default)]
pub struct Finder {
    /// The register with the member mask of a PTX instruction, while nothing has written it since
    /// its WARPSYNC.
    mask: Option<(u32, u8)>,
}

impl Finder {
    /// The site that an instruction is, if any; `ptx_inst` as in [`Site`].
    pub fn site(
        &mut self,
        inst: View<'_>,
        offset: u32,
        ptx_inst: u32,
        spill: bool,
    ) -> Option<Site> {
        let collective = matches!(
            inst.op,
            Opcode::SHFL | Opcode::VOTE | Opcode::VOTEU | Opcode::MATCH | Opcode::REDUX
        );
        let meeting =
            matches!(inst.op, Opcode::WARPSYNC | Opcode::NOP | Opcode::BAR | Opcode::UCGABAR_ARV);
        let barrier = matches!(inst.op, Opcode::SYNCS | Opcode::ARRIVES);
        if inst.op == Opcode::WARPSYNC {
            // A collective has the place behind it as its last operand.
            let data = inst.last().and_then(general);
            let register = data.or_else(|| inst.sources().find_map(general));
            self.mask = register.map(|register| (ptx_inst, register));
        }
        let known = self.mask;
        if known.is_some() {
            inst.for_each_def(|r| {
                let first = r.reg.phys_index().filter(|_| r.reg.file() == RegFile::R);
                let written = first.map(|first| first..first + u32::from(r.count));
                self.mask = self.mask.filter(|(_, register)| {
                    written.as_ref().is_none_or(|w| !w.contains(&u32::from(*register)))
                });
            });
        }
        if !(collective || meeting || barrier || spill) {
            return None;
        }
        let mask = known.filter(|(of, _)| *of == ptx_inst).map(|(_, register)| register);
        let data = inst.last().and_then(general);
        let memory = inst.operands().find_map(|operand| match operand {
            Operand::Mem(m) => Some(m),
            _ => None,
        });
        let number = |reg: Reg, zero: u8| {
            let index = if reg.is_zero() { None } else { reg.phys_index() };
            index.and_then(|i| u8::try_from(i).ok()).unwrap_or(zero)
        };
        Some(Site {
            offset,
            ptx_inst,
            op: inst.op,
            mods: *inst.mods(),
            base: memory.map_or(RZ, |m| number(m.base.reg, RZ)),
            uniform: memory.map_or(URZ, |m| number(m.uniform.reg, URZ)),
            displacement: memory.map_or(0, |m| m.offset),
            data,
            mask,
            spill,
        })
    }
}

/// The general register that an operand is.
fn general(operand: Operand) -> Option<u8> {
    let reg = operand.as_reg()?.reg;
    let index = reg.phys_index().filter(|_| reg.file() == RegFile::R && !reg.is_zero())?;
    u8::try_from(index).ok()
}

/// What one instruction asks of the machine (observed: ptxas 13.0.88, sm_90a, one kernel for each
/// instruction of the coverage set).
pub fn needs(inst: View<'_>) -> Needs {
    let has = |m: Mod| inst.mods().has(m);
    let isa_class = match inst.op {
        Opcode::HGMMA | Opcode::IGMMA | Opcode::QGMMA | Opcode::BGMMA | Opcode::BMMA => 4,
        Opcode::DMMA if !has(Mod::_8x8x4) => 4,
        Opcode::IMMA if has(Mod::_8816) => 4,
        Opcode::WARPGROUP => 3,
        Opcode::UTMALDG
        | Opcode::UTMASTG
        | Opcode::UTMAREDG
        | Opcode::UTMAPF
        | Opcode::UTMACCTL
        | Opcode::USETMAXREG => 2,
        // From global to shared memory; the other ways are as old as the machine.
        Opcode::UBLKCP if inst.mods().as_slice().starts_with(&[Mod::S, Mod::G]) => 2,
        Opcode::F2FP if has(Mod::E4M3) || has(Mod::E5M2) => 2,
        Opcode::TEX | Opcode::TLD | Opcode::TLD4 | Opcode::TXD | Opcode::TMML => 2,
        _ => 1,
    };
    let sparse_mask = match inst.op {
        Opcode::QGMMA => 1,
        Opcode::HGMMA => 2,
        Opcode::IGMMA => 4,
        Opcode::HMMA => 0x10,
        Opcode::IMMA => 0x20,
        _ => 0,
    };
    let sparse_mask = if sparse_mask != 0 && has(Mod::SP) { sparse_mask } else { 0 };
    Needs { isa_class, sparse_mask, reconfigures: inst.op == Opcode::USETMAXREG }
}
