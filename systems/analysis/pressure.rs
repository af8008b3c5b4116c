//! How many registers of a file are live at once: what code asks of them before any is chosen.

use crate::analysis::liveness::{Cell, CellMap, LiveCells, Liveness};
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, RegFile, RegUse, scratch};
use smallvec::SmallVec;

/// No more registers of a file than this are live anywhere: those that come from another block, and
/// the most of a block's own. One walk, where liveness takes many.
pub fn at_most(body: &Body<'_>, map: &CellMap, file: RegFile) -> usize {
    // Bytes, not bits: a walk sets some for each operand, and nothing counts them.
    let mut cells = scratch!(Vec<u8>; 0; map.count());
    let mut read = scratch!(Vec<Cell>);
    let (mut most, mut across) = (0, 0);
    for block in body.layout() {
        let mut now = 0_usize;
        for id in body.block(*block).insts().iter().rev() {
            let inst = body.inst(*id);
            inst.for_each_def(|r| {
                if r.reg.file() == file {
                    for cell in map.cells(r) {
                        let cell = &mut cells[cell as usize];
                        now -= usize::from(*cell & LIVE);
                        *cell &= !LIVE;
                    }
                }
            });
            inst.for_each_use(|r| {
                if r.reg.file() == file {
                    for cell in map.cells(r) {
                        let known = &mut cells[cell as usize];
                        if *known & LIVE == 0 {
                            *known |= LIVE;
                            now += 1;
                            read.push(cell);
                        }
                    }
                }
            });
            most = most.max(now);
        }
        for cell in read.drain(..) {
            let cell = &mut cells[cell as usize];
            if *cell & LIVE != 0 {
                across += usize::from(*cell & ACROSS == 0);
                *cell = ACROSS;
            }
        }
    }
    most + across
}

/// Something behind in the block reads the cell.
const LIVE: u8 = 1;
/// It comes from another block to some.
const ACROSS: u8 = 2;

/// The most registers of a file that are live at once in a block.
pub fn most_live(
    body: &Body<'_>,
    live: (&Liveness, &mut LiveCells),
    file: RegFile,
    block: BlockId,
) -> usize {
    let mut most = 0;
    each_live(body, live, file, block, |now| most = most.max(now));
    most
}

/// By place in a block, its end among them: the last place up to there before which more registers
/// of a file are live than there is room for.
pub fn crowds(
    body: &Body<'_>,
    live: (&Liveness, &mut LiveCells),
    (file, room): (RegFile, usize),
    block: BlockId,
) -> Scratch<Vec<Option<usize>>> {
    let mut crowds = scratch!(Vec<Option<usize>>);
    let mut at = body.block(block).insts().len() + 1;
    each_live(body, live, file, block, |now| {
        at -= 1;
        crowds.push((now > room).then_some(at));
    });
    crowds.reverse();
    let mut last = None;
    for crowd in crowds.iter_mut() {
        *crowd = crowd.or(last);
        last = *crowd;
    }
    crowds
}

/// How many registers of a file are live at the end of a block and before each of its instructions,
/// from the last one to the first.
fn each_live(
    body: &Body<'_>,
    (liveness, live): (&Liveness, &mut LiveCells),
    file: RegFile,
    block: BlockId,
    mut see: impl FnMut(usize),
) {
    let map = &liveness.map;
    let is_of_file = |cell: &Cell| map.vreg(*cell).is_some_and(|(v, _)| body.vreg(v).file == file);
    live.start(liveness, block);
    let mut now = liveness.live_out(block).filter(is_of_file).count();
    see(now);
    for id in body.block(block).insts().iter().rev() {
        let inst = body.inst(*id);
        let (mut gone, mut came) = (SmallVec::<[Cell; 8]>::new(), SmallVec::<[Cell; 8]>::new());
        let cells = |r: RegUse| if r.reg.file() == file { map.cells(r) } else { 0..0 };
        if inst.guard.is_always() {
            inst.for_each_def(|r| gone.extend(cells(r).filter(|c| live.contains(*c))));
        }
        inst.for_each_use(|r| {
            for cell in cells(r) {
                let is_new = !live.contains(cell) || gone.contains(&cell);
                came.extend((is_new && !came.contains(&cell)).then_some(cell));
            }
        });
        now = now + came.len() - gone.len();
        see(now);
        live.step_back(map, inst);
    }
}
