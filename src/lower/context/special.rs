//! Special registers: numbers of S2R, words of constant bank 0 that the driver fills, and what is
//! computed from them (observed: ptxas 13.0.88, sm_90a).

use crate::lower::context::cx::{Cx, Sel};
use crate::lower::layout::SHARED_RESERVED;
use crate::ptx::program::Special;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{imm, neg, r, wide};

/// Where bank 0 tells of clusters: the CTAs of a cluster, what a number of CTAs is multiplied by to
/// be one of clusters (a float), and the clusters of the grid, three words each.
const CLUSTER_SHAPE: i32 = 0x144;
const CLUSTER_RECIPROCAL: i32 = 0x150;
const CLUSTERS: i32 = 0x15c;

const CTA: [&str; 3] = ["SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"];

/// Whether a special register has 64 bits.
pub fn is_wide(special: Special) -> bool {
    use Special::*;
    matches!(special, Clock64 | GlobalTimer | GridId | Pm64(_) | CurrentGraphExec)
}

impl Cx<'_, '_> {
    /// Reads a special register; `d` has two cells where it is wide.
    pub fn special(&mut self, special: Special, d: Reg) -> Sel {
        use Special::*;
        match special {
            Tid(i @ 0..3) => {
                self.read_special(d, ["SR_TID.X", "SR_TID.Y", "SR_TID.Z"][usize::from(i)])
            }
            CtaId(i @ 0..3) => self.read_special(d, CTA[usize::from(i)]),
            LaneId => self.read_special(d, "SR_LANEID"),
            SmId => self.read_special(d, "SR_VIRTUALSMID"),
            LaneMaskEq => self.read_special(d, "SR_EQMASK"),
            LaneMaskLe => self.read_special(d, "SR_LEMASK"),
            LaneMaskLt => self.read_special(d, "SR_LTMASK"),
            LaneMaskGe => self.read_special(d, "SR_GEMASK"),
            LaneMaskGt => self.read_special(d, "SR_GTMASK"),
            ClusterCtaRank => self.read_special(d, "SR_CgaCtaId"),
            Ntid(i @ 0..3) => self.driver_word(d, i32::from(i) * 4),
            NCtaId(i @ 0..3) => self.driver_word(d, 0xc + i32::from(i) * 4),
            ClusterNCtaId(i @ 0..3) => self.driver_word(d, CLUSTER_SHAPE + i32::from(i) * 4),
            NClusterId(i @ 0..3) => self.driver_word(d, CLUSTERS + i32::from(i) * 4),
            NSmId => self.driver_word(d, 0x10c),
            ClusterNCtaRank => self.driver_word(d, 0x188),
            DynamicSmemSize => self.driver_word(d, 0x2c),
            EnvReg(i) => self.driver_word(d, 0x40 + i32::from(i) * 4),
            ReservedSmemOffset(1) => self.driver_word(d, 0x68),
            ReservedSmemOffset(4) => self.driver_word(d, 0x6c),
            ReservedSmemOffset(2) => self.constant(d, SHARED_RESERVED as u32),
            ReservedSmemOffset(_) => self.constant(d, 0),
            WarpSize => self.constant(d, 32),
            ClusterId(i @ 0..3) => self.cluster_number(d, i),
            ClusterCtaId(i @ 0..3) => {
                // The CTA's number less those of the clusters before its own.
                let (cluster, shape, cta) = (self.e.temp(1), self.e.temp(1), self.e.temp(1));
                self.cluster_number(cluster, i)?;
                self.driver_word(shape, CLUSTER_SHAPE + i32::from(i) * 4)?;
                self.read_special(cta, CTA[usize::from(i)])?;
                let before = self.e.temp(1);
                self.e.imad(r(before), r(cluster), r(shape), Operand::RZ);
                self.e.iadd3(r(d), r(cta), neg(r(before)), Operand::RZ);
                Ok(())
            }
            // The fourth component of a number or an extent.
            Tid(_) | Ntid(_) | CtaId(_) | NCtaId(_) | ClusterId(_) | NClusterId(_)
            | ClusterCtaId(_) | ClusterNCtaId(_) => self.constant(d, 0),
            IsExplicitCluster => {
                let word = self.e.temp(1);
                self.driver_word(word, 0x140)?;
                let p = self.e.temp_pred();
                self.e.icmp(r(p), Mod::EQ, false, r(word), imm(1));
                self.e.sel(r(d), imm(1), Operand::RZ, r(p));
                Ok(())
            }
            WarpId => self.field(d, "SR_VIRTID", 0x7f),
            NWarpId => self.field(d, "SR_VIRTCFG", 0xff),
            // Without what the system keeps.
            TotalSmemSize => {
                let (all, kept) = (self.e.temp(1), self.e.temp(1));
                self.read_special(all, "SR_SMEMSZ")?;
                self.driver_word(kept, 0x114)?;
                self.e.iadd3(r(d), r(all), neg(r(kept)), Operand::RZ);
                Ok(())
            }
            AggrSmemSize => {
                let (all, most) = (self.e.temp(1), self.e.temp(1));
                self.read_special(all, "SR_SMEMSZ")?;
                self.driver_word(most, 0x13c)?;
                self.e.minmax(r(d), r(all), r(most), false, false);
                Ok(())
            }
            Clock => self.read_clock(d, "SR_CLOCKLO"),
            ClockHi => self.read_clock(d, "SR_CLOCKHI"),
            GlobalTimerLo => self.read_clock(d, "SR_GLOBALTIMERLO"),
            GlobalTimerHi => self.read_clock(d, "SR_GLOBALTIMERHI"),
            Pm(i) => self.read_clock(d, &format!("SR_PM{i}")),
            Clock64 => self.read_clock64(d, "SR_CLOCKLO"),
            GlobalTimer => self.read_clock64(d, "SR_GLOBALTIMERLO"),
            Pm64(i) => self.read_clock64(d, &format!("SR_PM{i}")),
            GridId => self.driver_pair(d, 0x30),
            CurrentGraphExec => self.driver_pair(d, 0x190),
        }
    }

    /// The operand that names a special register.
    pub fn special_operand(&self, name: &str) -> Sel<Operand> {
        let number = self.module.options.target.special(name);
        number.map(Operand::Special).ok_or_else(|| format!("no special register {name}"))
    }

    fn constant(&mut self, d: Reg, value: u32) -> Sel {
        self.e.mov(r(d), if value == 0 { Operand::RZ } else { imm(value) });
        Ok(())
    }

    fn read_special(&mut self, d: Reg, name: &str) -> Sel {
        let source = self.special_operand(name)?;
        self.e.put(Opcode::S2R, &[], 1, &[r(d), source]);
        Ok(())
    }

    /// Bits 8 and on of a special register.
    fn field(&mut self, d: Reg, name: &str, mask: u32) -> Sel {
        let (word, shifted) = (self.e.temp(1), self.e.temp(1));
        self.read_special(word, name)?;
        self.e.shr(r(shifted), r(word), imm(8), false);
        self.e.and(r(d), r(shifted), imm(mask));
        Ok(())
    }

    fn read_clock(&mut self, d: Reg, name: &str) -> Sel {
        let source = self.special_operand(name)?;
        self.e.put(Opcode::CS2R, &[Mod::_32], 1, &[r(d), source]);
        Ok(())
    }

    fn read_clock64(&mut self, d: Reg, name: &str) -> Sel {
        let source = self.special_operand(name)?;
        self.e.put(Opcode::CS2R, &[], 1, &[wide(d, 2), source]);
        Ok(())
    }

    fn driver_word(&mut self, d: Reg, offset: i32) -> Sel {
        self.e.ldc(&[], r(d), Operand::constant(0, offset));
        Ok(())
    }

    fn driver_pair(&mut self, d: Reg, offset: i32) -> Sel {
        self.e.ldc(&[Mod::_64], wide(d, 2), Operand::constant(0, offset));
        Ok(())
    }

    /// The number of the CTA's cluster along an axis: the CTA's own times a reciprocal, truncated.
    fn cluster_number(&mut self, d: Reg, axis: u8) -> Sel {
        let (cta, float) = (self.e.temp(1), self.e.temp(1));
        self.read_special(cta, CTA[usize::from(axis)])?;
        self.e.put(Opcode::I2FP, &[Mod::F32, Mod::U32], 1, &[r(float), r(cta)]);
        let (reciprocal, product) = (self.e.temp(1), self.e.temp(1));
        self.driver_word(reciprocal, CLUSTER_RECIPROCAL + i32::from(axis) * 4)?;
        self.e.fmul(&[], r(product), r(float), r(reciprocal));
        let mods = [Mod::U32, Mod::TRUNC, Mod::NTZ];
        self.e.put(Opcode::F2I, &mods, 1, &[r(d), r(product)]);
        Ok(())
    }
}
