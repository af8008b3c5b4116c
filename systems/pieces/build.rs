//! A piece as a function of its own, and what has become of it.

use super::cross::{Piece, Plan};
use orias_components::pseudo::{livein, liveout};
use orias_components::{
    Adopter, Arena, BlockId, Body, Inst, InstId, Loc, Opcode, Operand, Reg, RegFlags, RegUse,
    VRegId,
};
use rustc_hash::FxHashSet;

/// A register that has no name in the other body yet.
const NONE: u32 = u32::MAX;

/// What registers of one body are called in another one: by numbers from 0 on, as they are asked
/// for.
#[derive(Default)]
struct Names {
    /// By register of the one body its number in the other one.
    numbers: Vec<u32>,
    /// Those that have one, in their order.
    named: Vec<VRegId>,
}

impl Names {
    fn begin(&mut self, from: &Body<'_>) {
        self.numbers.resize(from.vreg_count().max(self.numbers.len()), NONE);
    }

    fn of(&mut self, r: RegUse) -> RegUse {
        let Some(v) = r.reg.vreg() else { return r };
        let number = &mut self.numbers[v.0 as usize];
        if *number == NONE {
            *number = self.named.len() as u32;
            self.named.push(v);
        }
        RegUse { reg: Reg::virt(r.reg.file(), VRegId(*number)), ..r }
    }

    /// Makes the registers that have got names, and forgets these.
    fn end(&mut self, from: &Body<'_>, to: &mut Body<'_>) {
        to.expect_vregs(self.named.len());
        for v in self.named.drain(..) {
            let old = from.vreg(v);
            to.new_vreg(old.file, old.cells, old.align);
            self.numbers[v.0 as usize] = NONE;
        }
    }
}

/// Makes pieces of one function, one after another.
pub struct Builder<'a, 'w> {
    body: &'a Body<'w>,
    plan: &'a Plan,
    /// Of the function's registers in a piece, and of a piece's in what has become of it.
    names: Names,
    /// What stands for cells of the function in the piece that was made last, by number: LIVEIN,
    /// LIVEOUT, and what makes a uniform constant again.
    crossings: Vec<(InstId, RegUse)>,
}

/// What has become of a piece.
pub struct Parcel {
    /// Its code.
    pub code: Arena,
    /// By cells of the function what the code calls them; nothing in the code writes that.
    pub ins: Vec<(RegUse, RegUse)>,
    /// By cells of the function where the code has left their values.
    pub outs: Vec<(RegUse, RegUse)>,
    /// Something in the code leads to its first block.
    pub repeats: bool,
    /// The block from whose end control goes on with the next piece. None does so where the
    /// function ends before that.
    pub end: Option<BlockId>,
}

impl<'a, 'w> Builder<'a, 'w> {
    /// For this function.
    pub fn new(body: &'a Body<'w>, plan: &'a Plan) -> Self {
        Builder { body, plan, names: Names::default(), crossings: Vec::new() }
    }

    /// Fills an empty body with a piece.
    pub fn build(&mut self, number: usize, to: &mut Body<'_>) {
        let (body, plan) = (self.body, self.plan);
        let Piece { span, values, constants, outs } = &plan.pieces[number];
        let places = span.places();
        self.names.begin(body);
        self.crossings.clear();
        let count: usize = places.clone().map(|place| span.block(body, place).1.len()).sum();
        to.expect_insts(count + values.len() + outs.len());
        // Rounds of a loop that begins here come back to its first block.
        let place = |block: BlockId| plan.places[block.0 as usize] as usize;
        let preds = body.block(body.layout()[places.start]).preds();
        let repeats = span.from.inst == 0 && preds.iter().any(|b| places.contains(&place(*b)));
        let opening = to.new_block();
        let offset = if number > 0 && repeats { to.new_block().0 } else { opening.0 };
        (1..places.len()).for_each(|_| _ = to.new_block());
        let is_last = number + 1 == plan.pieces.len();
        // A piece that ends in the middle of a block does so at its end.
        let closing = match span.to.inst > 0 || is_last {
            true => BlockId(to.block_count() as u32 - 1),
            false => to.new_block(),
        };
        let blocks = |block: BlockId| match place(block) {
            at if places.contains(&at) => BlockId(offset + (at - places.start) as u32),
            _ => closing,
        };
        for r in values {
            let to_be = [Operand::Reg(self.names.of(*r))];
            let id = to.push(opening, Inst::new(Opcode::LIVEIN, &[], 1, &to_be), Loc::default());
            self.crossings.push((id, *r));
        }
        let mut adopter = Adopter::default();
        let mut adopt = |names: &mut Names, to: &mut Body<'_>, id: InstId| {
            adopter.adopt(to, (body, id), |r| names.of(r), blocks)
        };
        let mut made = FxHashSet::default();
        for v in constants {
            for maker in &plan.makers[v] {
                if !made.insert(*maker) {
                    continue;
                }
                let id = adopt(&mut self.names, to, *maker);
                to.append(opening, id);
                let vreg = body.vreg(*v);
                if vreg.file.is_uniform() {
                    let whole = RegUse::wide(Reg::virt(vreg.file, *v), vreg.cells);
                    self.crossings.push((id, whole));
                }
            }
        }
        for at in places.clone() {
            let (block, insts) = span.block(body, at);
            for id in insts {
                let id = adopt(&mut self.names, to, *id);
                to.append(blocks(block), id);
            }
        }
        if !is_last {
            for r in outs {
                let read = [Operand::Reg(self.names.of(*r))];
                let inst = Inst::new(Opcode::LIVEOUT, &[], 0, &read);
                let id = to.push(closing, inst, Loc::default());
                self.crossings.push((id, *r));
            }
            to.push(closing, Inst::new(Opcode::PIECEEND, &[], 0, &[]), Loc::default());
        }
        self.names.end(body, to);
    }

    /// Packs up what has become of the piece that was built last; None where it is no piece any
    /// more.
    pub fn pack(&mut self, from: &Body<'_>) -> Option<Parcel> {
        let mut parcel = Parcel {
            code: Arena::default(),
            ins: Vec::new(),
            outs: Vec::new(),
            repeats: from.layout().first().is_some_and(|b| !from.block(*b).preds().is_empty()),
            end: None,
        };
        let mut to = parcel.code.alone();
        to.expect_like(from);
        self.names.begin(from);
        let mut blocks = vec![BlockId(NONE); from.block_count()];
        for block in from.layout() {
            blocks[block.0 as usize] = to.new_block();
        }
        let mut adopter = Adopter::default();
        for block in from.layout() {
            let new = blocks[block.0 as usize];
            for id in from.block(*block).insts() {
                let inst = from.inst(*id);
                let crossing = self.crossings.binary_search_by_key(id, |(id, _)| *id);
                let cells = crossing.ok().map(|at| self.crossings[at].1);
                match (inst.op, cells) {
                    (Opcode::LIVEOUT, Some(of)) => {
                        let Operand::Reg(r) = inst.operand(liveout::A) else { return None };
                        let is_plain = r.flags.without(RegFlags::REUSE) == RegFlags::NONE;
                        if !is_plain || !may_cross(from, r) {
                            return None;
                        }
                        parcel.outs.push((of, self.names.of(r)));
                    }
                    (Opcode::PIECEEND, _) => {
                        if parcel.end.replace(new).is_some() {
                            return None;
                        }
                    }
                    // What makes a uniform constant again writes it first, as LIVEIN does.
                    (_, Some(of)) => {
                        let r = inst.reg(livein::D).filter(|r| may_cross(from, *r))?;
                        parcel.ins.push((of, self.names.of(r)));
                    }
                    (_, None) => {
                        let names = &mut self.names;
                        let block = |b: BlockId| blocks[b.0 as usize];
                        let id = adopter.adopt(&mut to, (from, *id), |r| names.of(r), block);
                        to.append(new, id);
                    }
                }
            }
        }
        self.names.end(from, &mut to);
        Some(parcel)
    }
}

/// Whether what stands for a register may be called as it is elsewhere: of a uniform register there
/// is no copy.
fn may_cross(body: &Body<'_>, r: RegUse) -> bool {
    match r.reg.vreg() {
        Some(v) => !r.reg.file().is_uniform() || (r.cell, r.count) == (0, body.vreg(v).cells),
        None => !r.reg.file().is_uniform(),
    }
}
