//! The state of one warp: its registers, and where its lanes are.

use super::groups::Groups;
use super::operand::*;
use super::saved::Saved;
use super::timing::{Clock, Watch};
use crate::misuse::Written;

/// Where a warp's lanes are at the cluster's barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrivals {
    /// Lanes that have arrived for the phase that is not complete yet.
    pub arrived: u32,
    /// Lanes that have arrived and not waited since.
    pub owed: u32,
}

/// A warp's registers. Register numbers were checked when the instructions were prepared.
#[derive(Clone, Debug)]
pub struct Warp {
    /// Row, then lane.
    rows: Vec<Lanes>,
    /// One bit a lane.
    preds: [u32; 9],
    uregs: [u32; 65],
    /// All ones or zero.
    upreds: [u32; 9],
    /// Per barrier and lane: the lanes that this lane waits for. A register holds one mask for all
    /// lanes that run together; kept by lane, two groups may use the same barrier at the same time,
    /// as ptxas's code does in sibling branches.
    pub barriers: [Lanes; BARRIERS],
    pub saved: Saved,
    pub groups: Groups,
    /// The warp's number in its CTA.
    pub index: u32,
    /// Local memory: `local_bytes` for each lane.
    pub local: Vec<u8>,
    /// Which bytes of it have been written, where that is looked at.
    pub local_written: Option<Box<Written>>,
    /// Result of the last `BAR.RED` for each lane: the count, or all ones for true.
    pub reduction: u32,
    /// Groups of matrix products of four warps that this warp has issued, by group scoreboard.
    pub products: [u64; GROUPS],
    pub cluster: Arrivals,
    pub clock: Clock,
    /// Where hazards are looked for.
    pub watch: Option<Box<Watch>>,
    /// `Rpc`, low and high word: ptxas keeps values in it where registers are short.
    pub returns: [Lanes; 2],
    /// Lanes whose wait at a barrier in shared memory was cut off: it gives false.
    pub expired: u32,
}

/// What a register holds before it is written: the number of the register, in a pattern that makes
/// a bad address, a NaN and a large integer. It is the same in every run.
pub fn poison(register: u32) -> u32 {
    0xffde_ad00 | register
}

impl Warp {
    /// A warp whose lanes in `mask` start at `pc`.
    pub fn new(index: u32, registers: u32, local_bytes: usize, pc: u32, mask: u32) -> Warp {
        let mut rows = vec![[0; LANES]; registers as usize + FIRST_ROW as usize];
        for (register, row) in rows[FIRST_ROW as usize..].iter_mut().enumerate() {
            *row = [poison(register as u32); LANES];
        }
        let mut uregs = [0; 65];
        for (register, value) in uregs.iter_mut().enumerate() {
            *value = poison(register as u32);
        }
        uregs[usize::from(UREG_ZERO)] = 0;
        let mut preds = [0; 9];
        preds[usize::from(PRED_TRUE)] = !0;
        Warp {
            rows,
            preds,
            uregs,
            upreds: preds,
            barriers: [[0; LANES]; BARRIERS],
            saved: Saved::default(),
            groups: Groups::new(pc, mask),
            index,
            local: vec![0; local_bytes * LANES],
            local_written: None,
            reduction: 0,
            products: [0; GROUPS],
            cluster: Arrivals::default(),
            clock: Clock::default(),
            watch: None,
            returns: [[0; LANES]; 2],
            expired: 0,
        }
    }

    /// The row that holds the cell after `row`'s first.
    #[inline]
    fn next(row: u16, cell: u16) -> usize {
        usize::from(if row < FIRST_ROW { row } else { row + cell })
    }

    #[inline]
    pub fn row(&self, row: u16, cell: u16) -> &Lanes {
        &self.rows[Self::next(row, cell)]
    }

    #[inline]
    pub fn row_mut(&mut self, row: u16, cell: u16) -> &mut Lanes {
        &mut self.rows[Self::next(row, cell)]
    }

    #[inline]
    pub fn ureg(&self, index: u8, cell: u8) -> u32 {
        let at = if index >= UREG_ZERO { index } else { index + cell };
        self.uregs[usize::from(at)]
    }

    #[inline]
    pub fn set_ureg(&mut self, index: u8, cell: u8, value: u32) {
        let at = if index >= UREG_ZERO { UREG_NOWHERE } else { index + cell };
        self.uregs[usize::from(at)] = value;
    }

    #[inline]
    pub fn ureg64(&self, index: u8) -> u64 {
        u64::from(self.ureg(index, 0)) | u64::from(self.ureg(index, 1)) << 32
    }

    /// The value of a source in each lane.
    #[inline]
    pub fn read(&self, src: &Src, out: &mut Lanes64) {
        match src.place {
            Place::Imm(value) => *out = [value; LANES],
            Place::Uniform(u) if src.wide => *out = [self.ureg64(u); LANES],
            Place::Uniform(u) => *out = [u64::from(self.ureg(u, 0)); LANES],
            Place::Row(row) if src.wide => {
                let (low, high) = (self.row(row, 0), self.row(row, 1));
                for lane in 0..LANES {
                    out[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                }
            }
            Place::Row(row) => {
                let low = self.row(row, 0);
                for lane in 0..LANES {
                    out[lane] = u64::from(low[lane]);
                }
            }
        }
        if src.part != Part::Whole {
            for x in out.iter_mut() {
                *x = part(src.part, *x);
            }
        }
        if src.adjust != Adjust::NONE {
            if src.wide {
                for x in out.iter_mut() {
                    *x = src.adjust.apply(*x);
                }
            } else {
                for x in out.iter_mut() {
                    *x = u64::from(src.adjust.apply(*x) as u32);
                }
            }
        }
    }

    /// The value of a 32-bit source in each lane.
    pub fn read32(&self, src: &Src) -> Lanes {
        let mut wide = [0; LANES];
        self.read(src, &mut wide);
        wide.map(|x| x as u32)
    }

    /// Writes the low cell (and the high one) in the lanes of `mask`; a uniform register takes the
    /// first such lane's value.
    #[inline]
    pub fn write(&mut self, dst: Dst, wide: bool, mask: u32, values: &Lanes64) {
        match dst {
            Dst::Row(row) => {
                let low = self.row_mut(row, 0);
                for lane in 0..LANES {
                    if mask >> lane & 1 != 0 {
                        low[lane] = values[lane] as u32;
                    }
                }
                if wide {
                    let high = self.row_mut(row, 1);
                    for lane in 0..LANES {
                        if mask >> lane & 1 != 0 {
                            high[lane] = (values[lane] >> 32) as u32;
                        }
                    }
                }
                if row == ROW_NOWHERE {
                    return;
                }
                debug_assert!(self.rows[usize::from(ROW_ZERO)] == [0; LANES]);
            }
            Dst::Uniform(u) => {
                if mask == 0 {
                    return;
                }
                let value = values[mask.trailing_zeros() as usize];
                self.set_ureg(u, 0, value as u32);
                if wide {
                    self.set_ureg(u, 1, (value >> 32) as u32);
                }
            }
        }
    }

    /// Whether uniform registers were written since the warp began.
    pub fn is_written(&self, first: u8, cells: u8) -> bool {
        (first..first + cells).all(|u| self.uregs[usize::from(u)] != poison(u32::from(u)))
    }

    /// The lanes in which a predicate holds.
    #[inline]
    pub fn pred(&self, src: PredSrc) -> u32 {
        let file = if src.uniform { &self.upreds } else { &self.preds };
        let bits = file[usize::from(src.index)];
        if src.not { !bits } else { bits }
    }

    /// Sets a predicate in the lanes of `mask`; a uniform one takes the first such lane's value.
    #[inline]
    pub fn set_pred(&mut self, dst: PredDst, mask: u32, bits: u32) {
        if dst.index == PRED_NOWHERE || mask == 0 {
            return;
        }
        if dst.uniform {
            let first = bits >> mask.trailing_zeros() & 1 != 0;
            self.upreds[usize::from(dst.index)] = if first { !0 } else { 0 };
        } else {
            let p = &mut self.preds[usize::from(dst.index)];
            *p = *p & !mask | bits & mask;
        }
    }

    /// P0..P6 (or UP0..UP6) of a lane, from bit 0 on.
    pub fn pred_byte(&self, uniform: bool, lane: usize) -> u32 {
        let file = if uniform { &self.upreds } else { &self.preds };
        (0..7).fold(0, |byte, p| byte | (file[p] >> lane & 1) << p)
    }
}

#[inline]
fn part(part: Part, x: u64) -> u64 {
    match part {
        Part::Whole => x,
        Part::Byte(at) => x >> at & 0xff,
        Part::Half(at) => x >> at & 0xffff,
        Part::Both(at) => (x >> at & 0xffff) * 0x1_0001,
        Part::Swapped => (x >> 16 & 0xffff) | (x & 0xffff) << 16,
    }
}
