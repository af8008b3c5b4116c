use super::*;
use crate::testing;
use orias_components::{Function, Inst, Loc, Opcode, Operand, Reg, RegFile};

/// `d = op sources` with one-cell operands; no destination for a store.
fn inst(op: Opcode, dest: Option<Reg>, sources: &[Reg]) -> Inst {
    let operands: Vec<Operand> = dest.iter().chain(sources).map(|r| Operand::reg(*r)).collect();
    Inst::new(op, &[], u8::from(dest.is_some()), &operands)
}

fn compute(body: &Body<'_>) -> Liveness {
    Liveness::compute(body, Arc::new(CellMap::new(body)))
}

/// Blocks with these edges, empty.
fn graph<'w>(function: &'w mut Function, edges: &[(u32, u32)], blocks: u32) -> Body<'w> {
    let mut body = function.body();
    for _ in 0..blocks {
        body.new_block();
    }
    for &(from, to) in edges {
        body.add_edge(BlockId(from), BlockId(to));
    }
    body
}

fn push(body: &mut Body<'_>, block: u32, inst: Inst) {
    body.push(BlockId(block), inst, Loc::default());
}

fn live_in(l: &Liveness, block: u32) -> Vec<Cell> {
    l.live_in(BlockId(block)).collect()
}

fn live_out(l: &Liveness, block: u32) -> Vec<Cell> {
    l.live_out(BlockId(block)).collect()
}

/// BB0 -> BB1 <-> BB1 -> BB2
const LOOP: [(u32, u32); 3] = [(0, 1), (1, 1), (1, 2)];

#[test]
fn a_value_read_in_a_loop_is_live_around_it() {
    let mut function = testing::function();
    let mut body = graph(&mut function, &LOOP, 3);
    let (step, i) = (body.new_vreg(RegFile::R, 1, 1), body.new_vreg(RegFile::R, 1, 1));
    push(&mut body, 0, inst(Opcode::MOV, Some(step), &[]));
    push(&mut body, 0, inst(Opcode::MOV, Some(i), &[]));
    push(&mut body, 1, inst(Opcode::IADD3, Some(i), &[i, step]));
    push(&mut body, 2, inst(Opcode::STG, None, &[i]));
    let l = compute(&body);
    let (step, i) = (l.map.first(step.vreg().unwrap()), l.map.first(i.vreg().unwrap()));
    assert_eq!(live_in(&l, 0), []);
    assert_eq!(live_out(&l, 0), [step, i]);
    assert_eq!(live_in(&l, 1), [step, i]);
    assert_eq!(live_out(&l, 1), [step, i]);
    assert_eq!(live_in(&l, 2), [i]);
    assert_eq!(live_out(&l, 2), []);
    assert!(l.is_live_in(BlockId(2), i) && !l.is_live_in(BlockId(2), step));
}

#[test]
fn a_guarded_definition_does_not_end_the_old_value() {
    let mut function = testing::function();
    let mut body = graph(&mut function, &[(0, 1)], 2);
    let (p, v) = (body.new_vreg(RegFile::P, 1, 1), body.new_vreg(RegFile::R, 1, 1));
    push(&mut body, 0, inst(Opcode::ISETP, Some(p), &[]));
    push(&mut body, 0, inst(Opcode::MOV, Some(v), &[]));
    push(&mut body, 1, inst(Opcode::MOV, Some(v), &[]).guarded(p, false));
    push(&mut body, 1, inst(Opcode::STG, None, &[v]));
    let l = compute(&body);
    let (p, v) = (l.map.first(p.vreg().unwrap()), l.map.first(v.vreg().unwrap()));
    assert_eq!(live_in(&l, 1), [p, v]);
}

#[test]
fn a_value_is_not_live_where_nothing_can_have_defined_it() {
    // v is defined and read under the same guard, nowhere else.
    let mut function = testing::function();
    let mut body = graph(&mut function, &LOOP, 3);
    let (p, v) = (body.new_vreg(RegFile::P, 1, 1), body.new_vreg(RegFile::R, 1, 1));
    push(&mut body, 0, inst(Opcode::ISETP, Some(p), &[]));
    push(&mut body, 1, inst(Opcode::MOV, Some(v), &[]).guarded(p, false));
    push(&mut body, 1, inst(Opcode::STG, None, &[v]).guarded(p, false));
    let l = compute(&body);
    let v = l.map.first(v.vreg().unwrap());
    assert!(!l.is_live_out(BlockId(0), v), "no path to there defines it");
    assert!(l.is_live_out(BlockId(1), v), "the last iteration's value may be read");
}

#[test]
fn the_halves_of_a_pair_live_their_own_lives() {
    let mut function = testing::function();
    let mut body = graph(&mut function, &[(0, 1), (1, 2)], 3);
    let pair = body.new_vreg(RegFile::R, 2, 2);
    let half = |cell, def: u8| {
        let operand = Operand::Reg(RegUse::at(pair, cell, 1));
        Inst::new(if def == 1 { Opcode::MOV } else { Opcode::STG }, &[], def, &[operand])
    };
    push(&mut body, 0, half(0, 1));
    push(&mut body, 1, half(1, 1));
    push(&mut body, 1, half(0, 0));
    push(&mut body, 2, half(1, 0));
    let l = compute(&body);
    let first = l.map.first(pair.vreg().unwrap());
    assert_eq!(live_in(&l, 1), [first]);
    assert_eq!(live_in(&l, 2), [first + 1]);
}

#[test]
fn physical_registers_and_barriers_are_cells_too() {
    let mut function = testing::function();
    let mut body = graph(&mut function, &[(0, 1)], 2);
    let barrier = body.new_vreg(RegFile::B, 1, 1);
    let r1 = Reg::phys(RegFile::R, 1);
    push(&mut body, 0, inst(Opcode::BSSY, Some(barrier), &[]));
    push(&mut body, 1, inst(Opcode::STL, None, &[r1]));
    push(&mut body, 1, inst(Opcode::BSYNC, None, &[barrier]));
    push(&mut body, 1, inst(Opcode::MOV, Some(Reg::RZ), &[Reg::RZ]));
    let l = compute(&body);
    assert_eq!(live_in(&l, 0), [1], "R1 comes from outside");
    assert_eq!(live_in(&l, 1), [1, l.map.first(barrier.vreg().unwrap())]);
    assert_eq!(l.map.phys(1), Some((RegFile::R, 1)));
    assert_eq!(l.map.vreg(352), barrier.vreg().map(|v| (v, 0)));
}

#[test]
fn a_walk_backwards_ends_with_what_is_live_at_the_start() {
    let mut function = testing::function();
    let mut body = graph(&mut function, &LOOP, 3);
    let regs: Vec<Reg> = (0..4).map(|_| body.new_vreg(RegFile::R, 1, 1)).collect();
    push(&mut body, 0, inst(Opcode::MOV, Some(regs[0]), &[]));
    push(&mut body, 1, inst(Opcode::IADD3, Some(regs[1]), &[regs[0], regs[0]]));
    push(&mut body, 1, inst(Opcode::IADD3, Some(regs[2]), &[regs[1], regs[0]]));
    push(&mut body, 1, inst(Opcode::IADD3, Some(regs[0]), &[regs[2], regs[1]]));
    push(&mut body, 1, inst(Opcode::IADD3, Some(regs[3]), &[regs[0], regs[1]]));
    push(&mut body, 2, inst(Opcode::STG, None, &[regs[0], regs[3]]));
    let l = compute(&body);
    for &block in body.layout() {
        let mut live = l.cells();
        live.start(&l, block);
        for id in body.block(block).insts().iter().rev() {
            live.step_back(&l.map, body.inst(*id));
        }
        assert!(live.iter().eq(l.live_in(block)), "{block}");
    }
}

/// A small generator of the same numbers everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn random_function<'w>(function: &'w mut Function, blocks: u32, numbers: &mut Numbers) -> Body<'w> {
    let mut edges: Vec<(u32, u32)> = (1..blocks).map(|b| (b - 1, b)).collect();
    for _ in 0..blocks / 2 {
        edges.push((numbers.below(blocks.into()) as u32, numbers.below(blocks.into()) as u32));
    }
    let mut body = graph(function, &edges, blocks);
    let guard = body.new_vreg(RegFile::P, 1, 1);
    let regs: Vec<Reg> = (0..blocks * 2).map(|_| body.new_vreg(RegFile::R, 1, 1)).collect();
    for block in 0..blocks {
        for _ in 0..4 {
            let mut reg = || regs[numbers.below(regs.len() as u64) as usize];
            let new = inst(Opcode::IADD3, Some(reg()), &[reg(), reg()]);
            let new = if numbers.below(4) == 0 { new.guarded(guard, false) } else { new };
            push(&mut body, block, new);
        }
    }
    body
}

/// By paths: a cell is live when a search forward finds a read before an unguarded definition, and
/// a search backward a definition. Slow and obvious.
fn live_by_search(body: &Body<'_>, map: &CellMap, cell: Cell, start: BlockId) -> bool {
    let touches = |inst: View<'_>, uses: bool| {
        let mut hit = false;
        let f = |r: RegUse| hit |= map.cells(r).any(|c| c == cell);
        if uses {
            inst.for_each_use(f)
        } else {
            inst.for_each_def(f)
        }
        hit
    };
    let mut read = false;
    let (mut stack, mut seen) = (vec![start], vec![start]);
    'blocks: while let Some(block) = stack.pop() {
        for id in body.block(block).insts() {
            if touches(body.inst(*id), true) {
                read = true;
                break 'blocks;
            }
            if kills(body.inst(*id)) && touches(body.inst(*id), false) {
                continue 'blocks;
            }
        }
        for succ in body.block(block).succs() {
            if !seen.contains(succ) {
                seen.push(*succ);
                stack.push(*succ);
            }
        }
    }
    let mut defined = false;
    let (mut stack, mut seen) = (vec![start], vec![]);
    while let Some(block) = stack.pop() {
        for pred in body.block(block).preds() {
            if !seen.contains(pred) {
                seen.push(*pred);
                stack.push(*pred);
                let insts = &body.block(*pred).insts();
                defined |= insts.iter().any(|id| touches(body.inst(*id), false));
            }
        }
    }
    read && defined
}

#[test]
fn random_functions_agree_with_a_search_along_paths_in_both_kinds_of_set() {
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let mut function = testing::function();
        let blocks = 2 + numbers.below(12) as u32;
        let body = random_function(&mut function, blocks, &mut numbers);
        let dense = compute(&body);
        let map = &dense.map;
        let sparse = Liveness::split(&body, map.clone(), Some((0, 0)));
        let mixed = Liveness::split(&body, map.clone(), Some((3, 64)));
        assert!(sparse.live_in.dense == 0 && dense.live_in.lists.bits.is_empty());
        let sorted = |cells: &mut dyn Iterator<Item = Cell>| {
            let mut all: Vec<Cell> = cells.collect();
            all.sort_unstable();
            all
        };
        for &block in body.layout() {
            let expected: Vec<Cell> = (0..dense.map.count() as Cell)
                .filter(|cell| live_by_search(&body, &dense.map, *cell, block))
                .collect();
            assert_eq!(dense.live_in(block).collect::<Vec<_>>(), expected, "seed {seed} {block}");
            assert!(sparse.live_in(block).eq(dense.live_in(block)), "seed {seed} {block}");
            assert!(sparse.live_out(block).eq(dense.live_out(block)), "seed {seed} {block}");
            assert_eq!(sorted(&mut mixed.live_in(block)), expected, "seed {seed} {block}");
            let out = sorted(&mut mixed.live_out(block));
            assert!(dense.live_out(block).eq(out), "seed {seed} {block}");
        }
    }
}
