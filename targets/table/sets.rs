//! What the rows of a file refer to, and which SMs a row is for.

use super::model::{Generation, Result};
use std::collections::BTreeMap;

/// What rows of a file refer to.
pub struct Sets {
    /// Options by the set's name.
    pub lists: BTreeMap<String, String>,
    /// `$NAME` and the bits that stand for it on this SM.
    pub bits: BTreeMap<String, String>,
    pub generation: Generation,
}

/// Whether a list of SMs (`75,80-89`, `90-`, `-80`) has this one.
pub fn holds(list: &str, sm: u16) -> Result<bool> {
    let number = |text: &str, open: u16| match text {
        "" => Ok(open),
        _ => text.parse::<u16>().map_err(|_| format!("list of SMs {list}")),
    };
    let mut found = false;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        found |= number(first, 0)? <= sm && sm <= number(last, u16::MAX)?;
    }
    Ok(found)
}
