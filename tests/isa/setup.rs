//! What kernels are launched with, and where their inputs come from.

/// What a kernel is launched with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Threads of the one block, at most 1024. More than a warp race where all write one place.
    pub threads: u32,
    pub seed: u64,
    /// Warp instructions of a launch at most.
    pub steps: u64,
    /// Kernels that no engine runs get inputs that mean more ([`crate::inputs`]).
    pub meaningful: bool,
    /// Operands are what their instruction takes them for ([`crate::prepare`]).
    pub prepared: bool,
    /// As in the simulator's limits: what ours is held to. The cubin of reference never is.
    pub strict_regions: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            threads: 32,
            seed: 1,
            steps: 200_000,
            meaningful: false,
            prepared: false,
            strict_regions: true,
        }
    }
}

/// Bytes of a buffer for each thread.
pub const BYTES: usize = 256;

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.word() as usize % list.len()]
    }

    /// Eight bytes that mean something to some type.
    pub fn value(&mut self) -> u64 {
        match self.word() % 6 {
            0 => self.word() % 40,
            1 => self.word(),
            2 => self.single() | self.single() << 32,
            3 => self.double(),
            4 => (0..4).fold(0, |x, i| x | u64::from(self.of(HALVES)) << (16 * i)),
            _ => self.of(INTEGERS) | self.of(INTEGERS) << 32,
        }
    }

    fn single(&mut self) -> u64 {
        match self.word() % 3 {
            0 => u64::from(self.of(SINGLES)),
            1 => u64::from(((self.word() % 2000) as f32 / 16.0 - 60.0).to_bits()),
            // Any sign and fraction, near one.
            _ => self.word() & 0x807f_ffff | (120 + self.word() % 16) << 23,
        }
    }

    fn double(&mut self) -> u64 {
        match self.word() % 2 {
            0 => self.of(DOUBLES),
            _ => self.word() & 0x800f_ffff_ffff_ffff | (1016 + self.word() % 16) << 52,
        }
    }
}

const INTEGERS: &[u64] = &[
    0,
    1,
    2,
    0x1f,
    0x20,
    0x3f,
    0x40,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0001,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];

/// Zeros, ones, limits, subnormals, infinities, NaNs.
const SINGLES: &[u32] = &[
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x0080_0000,
    0x0000_0001,
    0x807f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffff_ffff,
    0x3f00_0000,
    0x4b80_0001,
    0x4f00_0000,
    0xcf00_0000,
];

const DOUBLES: &[u64] = &[
    0,
    1 << 63,
    0x3ff0_0000_0000_0000,
    0xbff8_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    1,
    0x0010_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x41e0_0000_0000_0000,
    0xc3e0_0000_0000_0000,
];

const HALVES: &[u16] = &[
    0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x7c00, 0xfc00, 0x7e00,
    0xffff, 0x3f80, 0xbf80, 0x7f80, 0x4049, 0x3555, 0xb2ab,
];
