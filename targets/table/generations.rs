//! The SMs that have a table.

use super::model::Generation;

/// Uniform registers are numbered with six bits up to sm_90 and with eight from sm_100 on
/// (observed: UR64 and up in what ptxas 13.0.88 emits for sm_100a and sm_120a). From there on only
/// LDC and its kin read constants: nvdisasm 13.5.37 refuses the constant forms of everything else.
/// Addresses of sm_80 to sm_89 go through descriptors as those of later SMs do, but the text leaves
/// the descriptor out.
pub const GENERATIONS: &[Generation] = &[
    Generation { sm: 75, uniform_bits: 6, constants: true, shows_descriptors: false },
    Generation { sm: 80, uniform_bits: 6, constants: true, shows_descriptors: false },
    Generation { sm: 86, uniform_bits: 6, constants: true, shows_descriptors: false },
    Generation { sm: 87, uniform_bits: 6, constants: true, shows_descriptors: false },
    Generation { sm: 88, uniform_bits: 6, constants: true, shows_descriptors: false },
    Generation { sm: 89, uniform_bits: 6, constants: true, shows_descriptors: false },
    Generation { sm: 90, uniform_bits: 6, constants: true, shows_descriptors: true },
    Generation { sm: 100, uniform_bits: 8, constants: false, shows_descriptors: true },
    Generation { sm: 120, uniform_bits: 8, constants: false, shows_descriptors: true },
];
