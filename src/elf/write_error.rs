//! Why a cubin cannot be written.

/// Why a model cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// A file has 65,279 sections at most.
    #[error("{0} sections: a cubin can have 65279")]
    TooManySections(usize),
    /// A list of `.nv.info` is longer than its 16-bit size can say.
    #[error("kernel `{kernel}`: more than 65535 bytes of {attribute}")]
    AttributeTooLong {
        /// The kernel that it is of.
        kernel: String,
        /// Its `EIATTR_…` name.
        attribute: &'static str,
    },
    /// The parameters of a kernel take more bytes than an attribute can say.
    #[error("kernel `{kernel}`: {bytes} bytes of parameters")]
    TooManyParams {
        /// Its name.
        kernel: String,
        /// Bytes that they take.
        bytes: u32,
    },
    /// The thing of this name refers to a symbol that the model does not have.
    #[error("`{0}` refers to a variable that the module does not have")]
    UnknownSymbol(String),
    /// The variable of this name has an initial value or an alignment that it cannot have.
    #[error("variable `{0}`: its place or initial value does not fit its size")]
    BadVariable(String),
    /// The alignment in bytes that would pad the file beyond all measure.
    #[error(
        "a section is aligned to {0} bytes, and the file would be padded to that: more than {MAX_GAP} are refused"
    )]
    GapTooLong(u64),
    /// What the ELF encoder says.
    #[error("the file cannot be made: {0}")]
    File(String),
}

/// Bytes of padding before a section that a file may have: an alignment takes eleven letters of
/// PTX, and no memory has more.
pub(super) const MAX_GAP: u64 = 16 << 20;
