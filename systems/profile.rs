//! How often threads were seen to come to a function's instructions (`--use-profile`), and which
//! blocks are cold by it.

use orias_components::{BlockId, Body, Loc};

/// How many threads came to each PTX instruction of a function, in runs that somebody watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// By [`Loc::ptx_inst`], from 1. None: nobody knows.
    threads: Vec<Option<u64>>,
}

impl Profile {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Threads that began the function.
    pub fn entered(&self) -> u64 {
        self.threads.first().copied().flatten().unwrap_or(0)
    }

    /// Threads that came to the PTX instruction that this is the place of.
    pub fn at(&self, loc: Loc) -> Option<u64> {
        let index = (loc.ptx_inst as usize).checked_sub(1)?;
        self.threads.get(index).copied().flatten()
    }

    /// Threads that came to a block: to the PTX of its instructions, the most of any. What phases
    /// have moved there may come from where more threads were.
    pub fn of(&self, body: &Body<'_>, block: BlockId) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        body.block(block).insts().iter().filter_map(|id| self.at(body.loc(*id))).max()
    }

    /// Whether so few threads come to a block that it is cold, beside so many: fewer than one of
    /// `share`.
    pub fn is_cold(threads: u64, beside: u64, share: u32) -> bool {
        threads.saturating_mul(share.into()) < beside
    }
}

/// From the counts of the function's instructions, in their order.
impl FromIterator<Option<u64>> for Profile {
    fn from_iter<I: IntoIterator<Item = Option<u64>>>(threads: I) -> Profile {
        Profile { threads: threads.into_iter().collect() }
    }
}
