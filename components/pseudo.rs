//! The places of pseudo instructions' operands, by name (and of BRX's, whose word has no room for
//! its targets). Those of the machine's instructions follow
//! from the target's rows (`orias_targets::slots`); these have none. [`Opcode`](crate::Opcode) says
//! what each does.

/// `IDIV`, `IREM`, `FDIV`, and with one source `FRCP`, `FSQRT`.
pub mod macros {
    /// The result.
    pub const D: usize = 0;
    /// The dividend, or the only source.
    pub const A: usize = 1;
    /// The divisor.
    pub const B: usize = 2;
}

/// `SWITCH`: blocks follow.
pub mod switch {
    /// The number by which a block is chosen.
    pub const INDEX: usize = 0;
}

/// `BRX` until it is encoded: the blocks that it may go to follow, in the order of its table.
pub mod brx {
    /// The pair with the offset from the start of the section.
    pub const OFFSET: usize = 0;
    /// Where its table begins among those of the function, in bytes.
    pub const TABLE: usize = 1;
}

/// `PARGS`.
pub mod pargs {
    /// The address of the arguments on the stack.
    pub const D: usize = 0;
}

/// `PRETADR`.
pub mod pretadr {
    /// The pair with the return address.
    pub const D: usize = 0;
}

/// Before it has registers.
pub mod subcall {
    /// The results as one register.
    pub const D: usize = 0;
    /// The block of the subroutine.
    pub const BLOCK: usize = 1;
    /// What follows is what the subroutine is given.
    pub const ARGUMENTS: usize = 2;
}

/// Once it has registers: the results follow.
pub mod subret {
    /// The pair with the return address.
    pub const ADDRESS: usize = 0;
}

/// `LIVEIN`.
pub mod livein {
    /// The register, all of it.
    pub const D: usize = 0;
}

/// `LIVEOUT`.
pub mod liveout {
    /// The register, all of it.
    pub const A: usize = 0;
}
