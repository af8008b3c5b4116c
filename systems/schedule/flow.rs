//! A forward analysis to its fixed point: what holds where each block begins.

use orias_components::{BlockId, Body, scratch};

/// The state at the start of every block, by its number, in place of what stands in the list: what
/// holds where nothing is known. `leave` makes the state at a block's end of the one at its start,
/// in place of one that is of no use any more, and is asked last with the state that stays: what it
/// notes of a block then is what holds.
/// `merge` adds what comes from a predecessor and says whether that was news.
pub fn at_entry<S: Clone>(
    body: &Body<'_>,
    layout: &[BlockId],
    entry: &mut [S],
    mut leave: impl FnMut(BlockId, &S, &mut S),
    merge: impl Fn(&mut S, &S) -> bool,
) {
    let Some(mut out) = entry.first().cloned() else { return };
    let mut dirty = scratch!(Vec<bool>; true; body.block_count());
    let mut again = true;
    while again {
        again = false;
        for block in layout {
            if !std::mem::take(&mut dirty[block.0 as usize]) {
                continue;
            }
            leave(*block, &entry[block.0 as usize], &mut out);
            for succ in body.block(*block).succs() {
                if merge(&mut entry[succ.0 as usize], &out) {
                    dirty[succ.0 as usize] = true;
                    again = true;
                }
            }
        }
    }
}
