//! How many registers of a file are live at once: what code asks of them before any is chosen.

use crate::analysis::liveness::{Cell, CellMap, LiveCells, Liveness};
use bitvec::vec::BitVec;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, RegFile, RegUse, scratch};
use smallvec::SmallVec;

/// No more registers of a file than this are live anywhere: those that come from another block, and
/// the most of a block's own. One walk, where liveness takes many.
pub fn at_most(body: &Body<'_>, map: &CellMap, file: RegFile) -> usize {
    let mut live = scratch!(BitVec).fill_with(false, map.count());
    let mut across = scratch!(BitVec).fill_with(false, map.count());
    let mut read = scratch!(Vec<usize>);
    let mut most = 0;
    for block in body.layout() {
        let mut now = 0_usize;
        for id in body.block(*block).insts().iter().rev() {
            let inst = body.inst(*id);
            let of_file = |r: RegUse| {
                let cells = (r.reg.file() == file).then(|| map.cells(r));
                cells.into_iter().flatten().map(|cell| cell as usize)
            };
            inst.for_each_def(|r| {
                of_file(r).for_each(|c| now -= usize::from(live.replace(c, false)));
            });
            inst.for_each_use(|r| {
                for cell in of_file(r) {
                    if !live.replace(cell, true) {
                        now += 1;
                        read.push(cell);
                    }
                }
            });
            most = most.max(now);
        }
        for cell in read.drain(..) {
            if live.replace(cell, false) {
                across.set(cell, true);
            }
        }
    }
    most + across.count_ones()
}

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
        let cells = |r: RegUse| map.cells(r).filter(move |_| r.reg.file() == file);
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
