//! What the tests share: the oracle tools, the kernel corpus, buffer comparison.

pub mod oracle;
