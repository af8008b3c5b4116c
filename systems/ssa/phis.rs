//! The phis of a body, for phases that change its edges.

use orias_components::{BlockId, Body, Inst, InstId, Loc, Opcode, Operand, Reg, RegUse};

/// Where the instructions behind a block's phis begin.
pub fn end(body: &Body<'_>, block: BlockId) -> usize {
    let insts = &body.block(block).insts;
    insts.iter().take_while(|id| body.op(**id) == Opcode::MOVPHI).count()
}

/// The phis of a block.
pub fn of<'a>(body: &'a Body<'_>, block: BlockId) -> impl Iterator<Item = InstId> + use<'a> {
    body.block(block).insts[..end(body, block)].iter().copied()
}

/// What the edges to `to` from `old` brought comes from `new` now: a block was split, or an edge goes through another one.
pub fn rename_pred(body: &mut Body<'_>, to: BlockId, old: BlockId, new: BlockId) {
    for n in 0..end(body, to) {
        let id = body.block(to).insts[n];
        body.redirect(id, old, new);
    }
}

/// The same for all blocks that `new`, the end of what was `old`, leads to; its edges are current.
pub fn rename_split(body: &mut Body<'_>, old: BlockId, new: BlockId) {
    for succ in body.block(new).succs.clone() {
        rename_pred(body, succ, old, new);
    }
}

/// The edges to `to` from `preds` lead through `new` now, an empty block whose only successor is `to`: values that meet there
/// have their phis in `new`.
pub fn merge_preds(body: &mut Body<'_>, to: BlockId, preds: &[BlockId], new: BlockId) {
    if let [only] = preds {
        return rename_pred(body, to, *only, new);
    }
    let phis: Vec<InstId> = of(body, to).collect();
    let mut made = Vec::with_capacity(phis.len());
    for id in phis {
        let mut phi = body.inst(id).to_inst();
        let pairs: Vec<Operand> = phi.sources().to_vec();
        let through =
            |pair: &&[Operand]| matches!(pair[1], Operand::Block(b) if preds.contains(&b));
        let (moved, kept): (Vec<&[Operand]>, Vec<&[Operand]>) =
            pairs.chunks_exact(2).partition(|pair| through(&pair));
        let dest = phi.operands[0];
        let same = moved.first().filter(|first| moved.iter().all(|pair| pair[0] == first[0]));
        let value = match (same, dest) {
            (Some(pair), _) => pair[0],
            (None, Operand::Reg(r)) => Operand::reg(body.new_vreg(r.reg.file(), 1, 1)),
            // A phi writes a register; the validator says so of others.
            (None, other) => other,
        };
        if same.is_none() {
            let operands: Vec<Operand> =
                [value].into_iter().chain(moved.iter().copied().flatten().copied()).collect();
            made.push((Inst::new(Opcode::MOVPHI, &[], 1, &operands), body.loc(id)));
        }
        let rest = kept.iter().copied().flatten().copied();
        phi.operands = [dest].into_iter().chain(rest).chain([value, Operand::Block(new)]).collect();
        body.set_inst(id, &phi);
    }
    for (at, (phi, loc)) in made.into_iter().enumerate() {
        body.insert(new, at, phi, loc);
    }
}

/// A phi without its values yet.
pub fn new(body: &mut Body<'_>, to: RegUse, pairs: &[(Option<RegUse>, BlockId)]) -> InstId {
    let nothing = Operand::reg(Reg::zero(to.reg.file()));
    let mut operands = Vec::with_capacity(1 + 2 * pairs.len());
    operands.push(Operand::Reg(to));
    for (value, block) in pairs {
        operands.extend([value.map_or(nothing, Operand::Reg), Operand::Block(*block)]);
    }
    body.make(Opcode::MOVPHI, &[], 1, &operands, Loc::default())
}
