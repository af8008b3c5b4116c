//! Pieces, put together again.

use super::build::Parcel;
use crate::ssa;
use orias_components::{Adopter, BlockId, Body, Inst, Loc, Opcode, Operand, RegUse, VRegId};

/// Where pieces have left what those behind them read: by cell of the function as it was.
struct Left {
    /// By register its first cell.
    first: Vec<u32>,
    places: Vec<Option<RegUse>>,
}

impl Left {
    fn of(body: &Body<'_>) -> Left {
        let mut count = 0;
        let first = (0..body.vreg_count() as u32).map(|v| {
            let cells = u32::from(body.vreg(VRegId(v)).cells);
            count += cells;
            count - cells
        });
        let first = first.collect();
        Left { first, places: vec![None; count as usize] }
    }

    fn cell(&self, r: RegUse, cell: u8) -> Option<usize> {
        r.reg.vreg().map(|v| (self.first[v.0 as usize] + u32::from(r.cell + cell)) as usize)
    }

    fn get(&self, r: RegUse, cell: u8) -> Option<RegUse> {
        self.cell(r, cell).and_then(|at| self.places[at])
    }

    fn set(&mut self, r: RegUse, cell: u8, place: RegUse) {
        if let Some(at) = self.cell(r, cell) {
            self.places[at] = Some(place);
        }
    }

    /// Where all cells lie side by side in one register.
    fn whole(&self, r: RegUse) -> Option<RegUse> {
        let first = self.get(r, 0)?;
        let follows = |cell: u8| self.get(r, cell) == Some(one(first, cell));
        (first.reg.vreg().is_some() && (0..r.count).all(follows)).then_some(first)
    }
}

/// One cell of those that begin with this one.
fn one(first: RegUse, cell: u8) -> RegUse {
    // A register that is constant has but one.
    let cell = if first.reg.is_zero() { 0 } else { first.cell + cell };
    RegUse::at(first.reg, cell, 1)
}

/// Makes the function what has become of its pieces.
pub fn join(body: &mut Body<'_>, parcels: Vec<Parcel>) {
    let mut left = Left::of(body);
    body.replace_by(parcels.iter().map(|parcel| &parcel.code));
    let mut order: Vec<BlockId> = Vec::new();
    let mut subroutines = Vec::new();
    let mut end = None;
    for (number, mut parcel) in parcels.into_iter().enumerate() {
        if number > 0 && end.is_none() {
            // Nothing comes here.
            break;
        }
        let code = parcel.code.alone();
        let names = names(body, (&code, &parcel.ins), &left, end);
        let mut blocks = vec![BlockId(u32::MAX); code.block_count()];
        for (at, block) in code.layout().iter().enumerate() {
            let first = code.block(*block).insts().first();
            let is_apart = first.is_some_and(|id| code.op(*id) == Opcode::SUBARGS);
            let before = end.filter(|_| at == 0);
            let falls_in = before.filter(|end| order.last() == Some(end));
            blocks[block.0 as usize] = match falls_in.filter(|_| !parcel.repeats) {
                Some(same) => same,
                None => body.new_detached_block(),
            };
            let new = blocks[block.0 as usize];
            if let Some(before) = before.filter(|_| falls_in.is_none()) {
                let branch = [Operand::PT, Operand::Block(new)];
                body.push(before, Inst::new(Opcode::BRA, &[], 0, &branch), Loc::default());
            }
            if Some(new) != falls_in {
                if is_apart { &mut subroutines } else { &mut order }.push(new);
            }
        }
        let renamed = |r: RegUse| match r.reg.vreg().map(|v| names[v.0 as usize]) {
            Some(new) => RegUse { reg: new.reg, cell: new.cell + r.cell, ..r },
            None => r,
        };
        let mut adopter = Adopter::default();
        for block in code.layout() {
            let to = blocks[block.0 as usize];
            for id in code.block(*block).insts() {
                let id = adopter.adopt(body, (&code, *id), renamed, |b| blocks[b.0 as usize]);
                body.append(to, id);
            }
        }
        for (of, r) in &parcel.outs {
            (0..of.count).for_each(|cell| left.set(*of, cell, one(renamed(*r), cell)));
        }
        end = parcel.end.map(|block| blocks[block.0 as usize]);
    }
    order.append(&mut subroutines);
    body.set_layout(&order);
}

/// By register of a piece's code its name from now on: of what comes into the piece that where it
/// was left, or that of copies at the end of the piece before.
fn names(
    body: &mut Body<'_>,
    (code, ins): (&Body<'_>, &[(RegUse, RegUse)]),
    left: &Left,
    end: Option<BlockId>,
) -> Vec<RegUse> {
    let mut names: Vec<Option<RegUse>> = vec![None; code.vreg_count()];
    let mut copied = Vec::new();
    for (of, r) in ins {
        let Some(own) = r.reg.vreg() else { continue };
        let register = code.vreg(own);
        let whole = left.whole(*of).filter(|from| {
            let fits = |v: VRegId| body.vreg(v).align >= register.align;
            let is_aligned = from.cell.is_multiple_of(register.align);
            if r.reg.file().is_uniform() {
                return true;
            }
            r.cell == 0
                && r.count == register.cells
                && is_aligned
                && from.reg.vreg().is_some_and(fits)
        });
        match whole.filter(|_| names[own.0 as usize].is_none()) {
            Some(from) => names[own.0 as usize] = Some(from),
            None => copied.push((*of, *r)),
        }
    }
    let names: Vec<RegUse> = (0..)
        .zip(names)
        .map(|(v, name)| {
            let old = code.vreg(VRegId(v));
            name.unwrap_or_else(|| RegUse::new(body.new_vreg(old.file, old.cells, old.align)))
        })
        .collect();
    for (of, r) in copied {
        let Some((name, end)) = r.reg.vreg().map(|v| names[v.0 as usize]).zip(end) else {
            continue;
        };
        for cell in 0..of.count {
            if let Some(from) = left.get(of, cell) {
                let to = RegUse::at(name.reg, name.cell + r.cell + cell, 1);
                let id = ssa::copy(body, to, from, Loc::default());
                body.append(end, id);
            }
        }
    }
    names
}
