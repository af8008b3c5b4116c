//! The memories that an access may mean.

use std::fmt;

/// The memory that an access meant, for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemorySpace {
    /// Of all threads of the device.
    Global,
    /// Of a CTA, or of its cluster.
    Shared,
    /// Of one thread.
    Local,
    /// A constant bank.
    Const,
    /// Parameters of a kernel or a function.
    Param,
}

impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemorySpace::Global => "global",
            MemorySpace::Shared => "shared",
            MemorySpace::Local => "local",
            MemorySpace::Const => "constant",
            MemorySpace::Param => "parameter",
        })
    }
}
