//! Why a cubin cannot be written.

/// Why a model cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{0} sections: a cubin can have 65279")]
    TooManySections(usize),
    #[error("kernel `{kernel}`: more than 65535 bytes of {attribute}")]
    AttributeTooLong { kernel: String, attribute: &'static str },
    #[error("kernel `{kernel}`: {bytes} bytes of parameters")]
    TooManyParams { kernel: String, bytes: u32 },
    #[error("`{0}` refers to a variable that the module does not have")]
    UnknownSymbol(String),
    #[error("variable `{0}`: its place or initial value does not fit its size")]
    BadVariable(String),
    #[error(
        "a section is aligned to {0} bytes, and the file would be padded to that: more than {MAX_GAP} are refused"
    )]
    GapTooLong(u64),
    #[error("the file cannot be made: {0}")]
    File(String),
}

/// Bytes of padding before a section that a file may have: an alignment takes eleven letters of
/// PTX, and no memory has more.
pub(super) const MAX_GAP: u64 = 16 << 20;
