//! Descriptors of a warpgroup's products: those of a block share one quad of uniform registers, of
//! which each product has written again what is another word for it.
//!
//! What holds afterwards, in blocks that no part of a warp runs beside another: of products whose
//! descriptors have the same upper words no one but the first writes these, and before a loop where
//! one leads to it alone; a word that is what it was is not written again; and the words for a
//! factor that is in registers, which the product does not read, are written once.
//!
//! A product reads its descriptors as it is issued. (Observed: ptxas 13.0.88 writes them again at
//! once, and leaves in the words of a factor in registers what was there, if anything was.)

use crate::analysis::ControlFlow;
use crate::analysis::uses::Uses;
use crate::sync::whole_warp::Runs;
use orias_components::scratch;
use orias_components::{
    BlockId, Body, Inst, InstId, Loc, Opcode, Operand, Reg, RegFile, RegUse, VRegId,
};
use orias_targets::slots::{UIADD3, UMOV};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// What has descriptors of its factors in a quad.
pub(super) const PRODUCTS: [Opcode; 4] =
    [Opcode::HGMMA, Opcode::IGMMA, Opcode::QGMMA, Opcode::BGMMA];

/// A word of a quad is this number, or a register and a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Number(u32),
    Sum(RegUse, u32),
    /// Something else.
    Other,
}

/// A product, with the quad of its descriptors.
struct Product {
    id: InstId,
    at: usize,
    quad: VRegId,
    /// By cell what writes it, where, and with what.
    words: [Option<(InstId, usize, Word)>; 4],
    /// The lower two cells are not read.
    in_registers: bool,
}

/// Quads that are to be set up: where, the register, and its words.
type Presets = Vec<(BlockId, Reg, [Option<u32>; 4])>;

/// Lets products share quads; returns how many instructions went.
pub(super) fn share(body: &mut Body<'_>, flow: &ControlFlow, uses: &Uses, runs: &[Runs]) -> usize {
    let mut gone = 0;
    let mut presets = scratch!(Presets);
    for &block in body.walk().iter() {
        if runs[block.0 as usize] == Runs::Apart {
            continue;
        }
        let insts = body.block(block).insts();
        if insts.iter().filter(|id| PRODUCTS.contains(&body.op(**id))).take(2).count() == 2 {
            gone += share_in(body, (flow, uses, runs), block, &mut presets);
        }
    }
    for (block, quad, words) in presets.iter() {
        preset(body, *block, *quad, words);
    }
    gone
}

/// Those of one block. For itself, for it takes four pages of the stack, which most functions need
/// not touch.
#[inline(never)]
fn share_in(
    body: &mut Body<'_>,
    (flow, uses, runs): (&ControlFlow, &Uses, &[Runs]),
    block: BlockId,
    presets: &mut Presets,
) -> usize {
    let mut gone = 0;
    forward(body, uses, block);
    // By upper words, those of a factor in registers being any.
    let mut rest: SmallVec<[Product; 16]> = products(body, uses, block);
    while let Some(first) = rest.first() {
        let key = key(first);
        let mut merged = key;
        let (same, others): (SmallVec<[Product; 16]>, SmallVec<[Product; 16]>) =
            rest.into_iter().partition(|product| match join(merged, self::key(product)) {
                Some(both) => {
                    merged = both;
                    true
                }
                None => false,
            });
        rest = others;
        let same = in_order(body, block, same);
        if same.len() < 2 {
            continue;
        }
        let quad = body.new_vreg(RegFile::UR, 4, 4);
        gone += give(body, block, quad, &same);
        let above = flow.loops().around(block.0).next().and_then(|l| l.preheader).map(BlockId);
        let home = above.filter(|above| runs[above.0 as usize] != Runs::Apart);
        // What the first product does not write, and none reads before it is written.
        let first = same[0].in_registers.then_some(0);
        let words = [first, Some(merged[0].unwrap_or(0)), None, merged[1]];
        presets.push((home.unwrap_or(block), quad, words));
    }
    gone
}

/// The upper words of a product's descriptors, where they are read.
fn key(product: &Product) -> [Option<u32>; 2] {
    [1, 3].map(|cell| match product.words[cell] {
        Some((_, _, Word::Number(number))) if cell == 3 || !product.in_registers => Some(number),
        _ => None,
    })
}

/// What both say.
fn join(a: [Option<u32>; 2], b: [Option<u32>; 2]) -> Option<[Option<u32>; 2]> {
    let one = |a: Option<u32>, b: Option<u32>| match (a, b) {
        (Some(a), Some(b)) if a != b => Err(()),
        (a, b) => Ok(a.or(b)),
    };
    Some([one(a[0], b[0]).ok()?, one(a[1], b[1]).ok()?])
}

/// What an instruction writes to a cell of a uniform register.
fn word(body: &Body<'_>, id: InstId) -> Word {
    let inst = body.inst(id);
    let plain =
        |operand: Operand| operand.as_reg().copied().filter(|r| r.reg.file() == RegFile::UR);
    match inst.op {
        _ if !inst.guard.is_always() => Word::Other,
        Opcode::UMOV => match inst.operand(UMOV::B) {
            Operand::Imm(number) => Word::Number(number as u32),
            operand if operand == Operand::URZ => Word::Number(0),
            operand => plain(operand).map_or(Word::Other, |r| Word::Sum(r, 0)),
        },
        Opcode::UIADD3
            if inst.len() == UIADD3::COUNT
                && inst.mods().is_empty()
                && [UIADD3::P, UIADD3::Q].iter().all(|at| inst.operand(*at) == Operand::UPT)
                && inst.operand(UIADD3::C) == Operand::URZ =>
        {
            match (plain(inst.operand(UIADD3::UA)), inst.operand(UIADD3::B)) {
                (Some(r), Operand::Imm(number)) if r.flags == orias_components::RegFlags::NONE => {
                    Word::Sum(r, number as u32)
                }
                _ => Word::Other,
            }
        }
        _ => Word::Other,
    }
}

/// The instruction that writes such a word.
fn writes(to: RegUse, word: Word) -> Option<Inst> {
    let (to, upt) = (Operand::Reg(to), Operand::UPT);
    Some(match word {
        Word::Number(0) => Inst::new(Opcode::UMOV, &[], 1, &[to, Operand::URZ]),
        Word::Number(n) => Inst::new(Opcode::UMOV, &[], 1, &[to, Operand::Imm(n.into())]),
        Word::Sum(base, 0) => Inst::new(Opcode::UMOV, &[], 1, &[to, Operand::Reg(base)]),
        Word::Sum(base, n) => {
            let operands = [to, upt, upt, Operand::Reg(base), Operand::Imm(n.into()), Operand::URZ];
            Inst::new(Opcode::UIADD3, &[], 3, &operands)
        }
        Word::Other => return None,
    })
}

/// Has sums to words of quads be sums to what those are.
fn forward(body: &mut Body<'_>, uses: &Uses, block: BlockId) {
    // By cell of a register what it is, while that stays.
    let mut known = scratch!(FxHashMap<(Reg, u8), Word>);
    for &id in body.walk_in(block).iter() {
        let mut new = word(body, id);
        if let Word::Sum(base, added) = new
            && let Some(Word::Sum(from, number)) = known.get(&(base.reg, base.cell))
        {
            new = Word::Sum(*from, number.wrapping_add(added));
            let to = body.inst(id).reg(0);
            if let Some(inst) = to.and_then(|to| writes(to, new)) {
                body.set_inst(id, &inst);
            }
        }
        let inst = body.inst(id);
        let to = inst.reg(0).filter(|to| to.reg.file() == RegFile::UR && to.count == 1);
        let (mut written, mut many) = (SmallVec::<[Reg; 2]>::new(), false);
        inst.for_each_def(|r| {
            written.extend(Some(r.reg).filter(|reg| reg.file() == RegFile::UR));
            many |= r.count > 1;
        });
        // What is written is another one, and what is known by it no more.
        let is_written = |reg: Reg, cell: u8| match to {
            Some(to) if !many => (to.reg, to.cell) == (reg, cell),
            _ => written.contains(&reg),
        };
        if !written.is_empty() {
            known.retain(|(reg, cell), word| {
                let by = match word {
                    Word::Sum(base, _) => is_written(base.reg, base.cell),
                    _ => false,
                };
                !by && !is_written(*reg, *cell)
            });
        }
        if let (Some(to), Word::Sum(base, _)) = (to, new)
            && base.reg != to.reg
            && to.reg.vreg().is_some_and(|v| uses.writers(v).next().is_some())
        {
            known.insert((to.reg, to.cell), new);
        }
    }
}

/// The products of a block whose quads are theirs alone and written in it, each word once.
fn products(body: &Body<'_>, uses: &Uses, block: BlockId) -> SmallVec<[Product; 16]> {
    let mut found: SmallVec<[Product; 16]> = SmallVec::new();
    // By quad those who name it otherwise than its one product.
    let mut of = scratch!(FxHashMap<VRegId, usize>);
    let insts = body.block(block).insts();
    for (at, &id) in insts.iter().enumerate() {
        let inst = body.inst(id);
        if !PRODUCTS.contains(&inst.op) {
            continue;
        }
        let mut sources = inst.sources();
        let descriptor = sources.find_map(|o| match o {
            Operand::Desc(r) => Some(r),
            _ => None,
        });
        let is_quad = |r: &RegUse| r.cell == 0 && r.count == 4;
        let Some(quad) = descriptor.filter(is_quad).and_then(|r| r.reg.vreg()) else { continue };
        // Uses were found before sums were forwarded: who reads it now is counted below.
        if uses.writers(quad).count() <= 4 && body.vreg(quad).cells == 4 {
            of.insert(quad, found.len());
            // A factor in registers stands before the quad.
            let first = inst.get(usize::from(inst.defs));
            let in_registers = matches!(first, Some(Operand::Reg(_)));
            found.push(Product { id, at, quad, words: [None; 4], in_registers });
        }
    }
    let mut is_good = scratch!(Vec<bool>; true; found.len());
    for (at, &id) in insts.iter().enumerate() {
        let inst = body.inst(id);
        inst.for_each_use(|r| {
            let n = r.reg.vreg().and_then(|v| of.get(&v));
            if let Some(n) = n.filter(|n| found[**n].id != id) {
                is_good[*n] = false;
            }
        });
        let mut defs = SmallVec::<[RegUse; 2]>::new();
        inst.for_each_def(|r| defs.push(r));
        for r in defs {
            let Some(&n) = r.reg.vreg().and_then(|v| of.get(&v)) else { continue };
            let cell = usize::from(r.cell);
            let is_word = r.count == 1 && inst.guard.is_always() && at < found[n].at;
            is_good[n] &= is_word && found[n].words[cell].is_none();
            found[n].words[cell] = Some((id, at, word(body, id)));
        }
    }
    let mut n = 0;
    found.retain(|product| {
        n += 1;
        // Elsewhere nobody names it.
        let here = |(_, of): (InstId, BlockId)| of == block;
        let quad = product.quad;
        let is_here = uses.writers(quad).all(here) && uses.readers(quad).all(here);
        let upper = |cell: usize| matches!(product.words[cell], Some((_, _, Word::Number(_))));
        is_good[n - 1]
            && is_here
            && product.words.iter().all(Option::is_some)
            && upper(1)
            && upper(3)
    });
    found
}

/// Of these products those whose words can all be written behind the product before.
fn in_order(
    body: &Body<'_>,
    block: BlockId,
    products: SmallVec<[Product; 16]>,
) -> SmallVec<[Product; 16]> {
    let insts = body.block(block).insts();
    let mut last = None;
    let mut kept: SmallVec<[Product; 16]> = SmallVec::new();
    for product in products {
        let may_move = |word: &Option<(InstId, usize, Word)>| {
            let Some((_, at, word)) = *word else { return false };
            last.is_none_or(|last| at > last) || stays(body, insts, at, product.at, word)
        };
        let lower = if product.in_registers { &product.words[2..3] } else { &product.words[..3] };
        if lower.iter().step_by(2).all(may_move) {
            last = Some(product.at);
            kept.push(product);
        }
    }
    kept
}

/// Has these products read one quad; returns how many instructions went.
fn give(body: &mut Body<'_>, block: BlockId, quad: Reg, products: &[Product]) -> usize {
    // What each cell holds behind the products so far.
    let mut holds: [Option<(usize, Word)>; 4] = [None; 4];
    let mut gone = scratch!(FxHashSet<InstId>);
    let mut moved = scratch!(FxHashSet<InstId>);
    let mut before = scratch!(FxHashMap<InstId, SmallVec<[InstId; 2]>>);
    let insts = body.walk_in(block);
    let mut last = None;
    for product in products {
        for (cell, written) in product.words.iter().enumerate() {
            let Some((id, at, word)) = *written else { continue };
            let is_idle = cell % 2 == 1 || product.in_registers && cell == 0;
            let is_there = holds[cell].is_some_and(|(since, held)| {
                held == word && stays(body, &insts, since, product.at, word)
            });
            if is_idle || is_there {
                gone.insert(id);
                continue;
            }
            holds[cell] = Some((at, word));
            let mut new = body.inst(id).to_inst();
            let results = new.operands.iter_mut().take(usize::from(new.defs));
            for operand in results {
                let is_old = |r: RegUse| r.reg.vreg() == Some(product.quad);
                operand.map_regs(|r| if is_old(r) { RegUse { reg: quad, ..r } } else { r });
            }
            body.set_inst(id, &new);
            if last.is_some_and(|last| at < last) {
                moved.insert(id);
                before.entry(product.id).or_default().push(id);
            }
        }
        body.map_regs(product.id, |r| match r.reg.vreg() == Some(product.quad) {
            true => RegUse { reg: quad, ..r },
            false => r,
        });
        last = Some(product.at);
    }
    for id in body.unlink(block) {
        if gone.contains(&id) {
            body.discard(id);
        } else if !moved.contains(&id) {
            before.remove(&id).into_iter().flatten().for_each(|id| body.append(block, id));
            body.append(block, id);
        }
    }
    gone.len()
}

/// Whether what a word is made of is not written between two places.
fn stays(body: &Body<'_>, insts: &[InstId], from: usize, to: usize, word: Word) -> bool {
    let Word::Sum(base, _) = word else { return word != Word::Other };
    insts[from..to].iter().all(|id| {
        let mut writes = false;
        body.inst(*id).for_each_def(|r| writes |= r.reg == base.reg);
        !writes
    })
}

/// Writes the words that stay at the end of a block, or at the start of that of the products.
fn preset(body: &mut Body<'_>, block: BlockId, quad: Reg, words: &[Option<u32>; 4]) {
    let insts = body.block(block).insts();
    let has_products = insts.iter().any(|id| PRODUCTS.contains(&body.op(*id)));
    let branches = insts.iter().rev().take_while(|id| body.op(**id).is_branch()).count();
    let at = if has_products { 0 } else { insts.len() - branches };
    let written = (0..4).filter_map(|cell| Some((cell, words[usize::from(cell)]?)));
    let insts: SmallVec<[Inst; 4]> = written
        .filter_map(|(cell, word)| writes(RegUse::at(quad, cell, 1), Word::Number(word)))
        .collect();
    body.insert_all(block, insts.into_iter().map(|inst| (at, inst, Loc::default())));
}
