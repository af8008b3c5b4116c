//! From instructions to machine words: addresses, encoding, its check by decoding, and the text of
//! the function.

pub mod convert;
pub mod encode;
pub mod format;
pub mod sites;

pub use convert::{CodeList, merc_converter};
pub use encode::{Words, encode, merc_encode_and_decode, pad, table_start};
pub use format::format_code_list;
