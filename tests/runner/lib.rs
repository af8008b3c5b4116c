//! What the tests share: the oracle tools, the kernel corpus, buffer comparison.

pub mod case;
pub mod compare;
pub mod oracle;
