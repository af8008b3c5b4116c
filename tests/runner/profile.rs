//! Profiles for tests: of no run that ever was.

use orias::profiles::{Profiles, Reached};
use orias::ptx::program::Program;

/// A profile in which three instructions each time have one of some counts, by chance: cold blocks
/// and hot ones in any order, and what no run could give.
pub fn made_up(program: &Program<'_>, seed: u64) -> Profiles {
    const COUNTS: [u64; 5] = [0, 0, 32, 5000, 1 << 40];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut reached = Reached::default();
    for function in &program.functions {
        let mut count = 32;
        for (at, inst) in function.code.iter().enumerate() {
            if at % 3 == 0 && at > 0 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                count = COUNTS[(state >> 32) as usize % COUNTS.len()];
            }
            reached.insert(inst.span.start, count);
        }
    }
    Profiles::of(program, &reached)
}
