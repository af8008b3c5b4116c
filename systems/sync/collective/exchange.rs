//! What the threads of a mask exchange.

use orias_components::InstId;

/// A vote, shuffle, match or reduction of the threads of a mask.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Its WARPSYNC, in the same block before it.
    pub meet: InstId,
    pub op: InstId,
    /// Copies of one kind share their registers.
    pub kind: u32,
}
