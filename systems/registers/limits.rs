//! How many registers of each file a function may use, and how they are counted.

use crate::calls::{FRAME_POINTER, is_kept};
use crate::function::FunctionInfo;
use orias_components::RegFile;

/// Registers that the hardware keeps of a thread's: a function counted at N has R0..R(N-3).
///
/// Observed: ptxas 13.0.88, sm_90a: `EIATTR_REGCOUNT` is the highest general register + 3 in every
/// kernel, 255 goes with R252, `--maxrregcount 24` with R21, and a kernel without any register but
/// R1 counts 4.
const COUNTED_EXTRA: u32 = 2;

/// A warp gets general registers by so many a thread (256 a warp: the CUDA Programming Guide's
/// table of compute capabilities, from 3.0 on): a few less are as many.
const REGISTERS_TOGETHER: u32 = 8;

/// The most registers (the highest + 1) for which a warp gets no more than for these.
pub fn as_cheap_as(used: u32) -> u32 {
    (used + COUNTED_EXTRA).next_multiple_of(REGISTERS_TOGETHER) - COUNTED_EXTRA
}

/// The count of a function in which nothing or only R0 and R1 are used. Observed: ptxas 13.0.88,
/// sm_90a.
const LEAST_COUNTED: u32 = 4;

/// What a smaller limit is raised to. Observed: ptxas 13.0.88, sm_90a warns of "lower bound of 24"
/// for `.maxnreg` and `--maxrregcount`.
pub const LEAST_ASKED: u32 = 24;

/// The stack pointer: R1 whether there is a frame or not.
pub const STACK_POINTER: u32 = 1;

/// The first uniform register that code names. Observed: in none of 136 cubins (sm_90a, -O1 and
/// -O3) does ptxas 13.0.88 name UR0 to UR3; who else uses them is not documented, so nor do we.
pub const FIRST_UNIFORM: u32 = 4;

/// The first general register that products of warpgroups name: for sums, factors and metadata.
/// Observed: in none of 462 of them (ptxas 13.0.88, sm_90a, all shapes) is a lower one named, and
/// lower ones are free in most; why is not documented.
pub const FIRST_OF_GROUPS: u32 = 24;

/// How many registers there are of each file: numbers `0..n` may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    by_file: [u32; 5],
    /// The register that slots of the frame are counted from: the stack pointer, or another where
    /// that one moves.
    pub frame: u32,
    /// The function must leave some registers as they were ([`crate::calls::is_kept`]): others are
    /// cheaper.
    pub keeps: bool,
}

impl Limits {
    /// The encodable ones, less what the function's attributes take away.
    pub fn of(info: &FunctionInfo) -> Limits {
        let mut limits = Limits::new(info.max_registers);
        if info.moves_stack {
            limits.frame = FRAME_POINTER;
        }
        if !info.entry && !info.name.is_empty() {
            limits.keeps = true;
            // Nothing saves uniform registers: a function has those that it need not keep.
            let of_uniform = (FIRST_UNIFORM..).find(|r| is_kept(RegFile::UR, *r));
            limits.by_file[RegFile::UR as usize] = of_uniform.unwrap_or(FIRST_UNIFORM);
        }
        limits
    }

    /// For a function counted at `max_registers` at most; the target's limit without that.
    ///
    /// Encodable: R0..R254, UR0..UR62, P0..P6, UP0..UP6, B0..B15; a thread has 255 registers,
    /// counted as above.
    pub fn new(max_registers: Option<u32>) -> Limits {
        let counted = max_registers.unwrap_or(255).min(255);
        let by_file = [counted.saturating_sub(COUNTED_EXTRA), 63, 7, 7, 16];
        Limits { by_file, frame: STACK_POINTER, keeps: false }
    }

    /// The same with this many general registers.
    pub fn with_general(mut self, count: u32) -> Limits {
        self.by_file[RegFile::R as usize] = count;
        self
    }

    /// Registers of a file that code may use.
    pub fn count(&self, file: RegFile) -> u32 {
        self.by_file[file as usize]
    }

    /// The count that these limits came from.
    pub fn counted(&self) -> u32 {
        self.by_file[RegFile::R as usize] + COUNTED_EXTRA
    }
}

/// `EIATTR_REGCOUNT` of a function whose highest general register is `highest`.
pub fn counted(highest: Option<u32>) -> u32 {
    highest.map_or(0, |r| r + 1 + COUNTED_EXTRA).max(LEAST_COUNTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_warp_pays_is_the_count_with_what_the_hardware_keeps() {
        // Counted 32 both, and 33 would be paid as 40.
        assert_eq!(as_cheap_as(25), 30);
        assert_eq!(as_cheap_as(30), 30);
        assert_eq!(as_cheap_as(31), 38);
    }
}
