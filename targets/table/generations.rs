//! The SMs that have a table.

use super::parse::Generation;

/// Uniform registers are numbered with six bits up to sm_90 and with eight from sm_100 on (observed: UR64 and up in what
/// ptxas 13.0.88 emits for sm_100a and sm_120a).
pub const GENERATIONS: &[Generation] = &[
    Generation { sm: 75, uniform_bits: 6 },
    Generation { sm: 80, uniform_bits: 6 },
    Generation { sm: 86, uniform_bits: 6 },
    Generation { sm: 87, uniform_bits: 6 },
    Generation { sm: 88, uniform_bits: 6 },
    Generation { sm: 89, uniform_bits: 6 },
    Generation { sm: 90, uniform_bits: 6 },
    Generation { sm: 100, uniform_bits: 8 },
    Generation { sm: 120, uniform_bits: 8 },
];
