//! Reaching definitions against a walk over all paths.

use super::*;
use crate::analysis::Analyses;
use crate::analysis::testing::Random;
use crate::testing;
use std::collections::BTreeSet;

type Set = BTreeSet<Definition>;

fn of(body: &Body<'_>) -> Arc<Reaching> {
    Analyses::default().reaching(body)
}

/// The registers that an instruction reads.
fn reads(body: &Body<'_>, id: InstId) -> Vec<RegUse> {
    let mut reads = Vec::new();
    body.inst(id).for_each_use(|r| reads.push(r));
    reads
}

/// What reaches the operand that reads a register in an instruction.
fn found(reaching: &Reaching, id: u32, read: RegUse) -> Vec<Definition> {
    let mut all: Vec<Definition> = reaching.definitions(InstId(id), read).collect();
    all.sort_unstable();
    all
}

#[test]
fn guarded_definitions_stand_beside_those_before() {
    let mut function = testing::parse(
        "BB0:
          %R0 = MOV 0x1, 0xf
          @%P5 %R0 = MOV 0x2, 0xf
          @!%P5 %R0 = MOV 0x3, 0xf
          STS [RZ], %R0
          %R1:2 = LDS.64 [RZ]
          @%P5 %R1[1] = MOV %R0, 0xf
          STS.64 [RZ], %R1:2
          STS [RZ], %R2
          EXIT PT",
    );
    let body = function.body();
    let reaching = of(&body);
    let by = |ids: &[u32]| -> Vec<Definition> {
        ids.iter().map(|id| Definition::By(InstId(*id))).collect()
    };
    let r0 = reads(&body, InstId(3))[0];
    assert_eq!(found(&reaching, 3, r0), by(&[0, 1, 2]));
    assert_eq!(reaching.only(InstId(3), r0), None);
    let pair = reads(&body, InstId(6))[0];
    assert_eq!(found(&reaching, 6, pair), by(&[4, 5]));
    let low = RegUse { count: 1, ..pair };
    assert_eq!(reaching.only(InstId(6), low), Some(Definition::By(InstId(4))));
    let high = RegUse { cell: 1, ..low };
    assert_eq!(found(&reaching, 6, high), by(&[4, 5]));
    let nothing = reads(&body, InstId(7))[0];
    assert_eq!(reaching.only(InstId(7), nothing), Some(Definition::Entry));
    assert!(reaching.may_be_undefined(InstId(7), nothing));
    assert!(!reaching.may_be_undefined(InstId(3), r0));
}

#[test]
fn what_a_loop_at_the_entry_brings_meets_the_entry() {
    let mut function = testing::parse(
        "BB0:
          STS [RZ], %R0
          %R0 = MOV 0x1, 0xf
          @%P5 BRA PT, BB0
        BB1:
          STS [RZ], %R0
          EXIT PT
        BB2:
          STS [RZ], %R0
          EXIT PT",
    );
    let body = function.body();
    let reaching = of(&body);
    let r0 = reads(&body, InstId(0))[0];
    assert_eq!(found(&reaching, 0, r0), [Definition::Entry, Definition::By(InstId(1))]);
    assert_eq!(reaching.only(InstId(3), r0), Some(Definition::By(InstId(1))));
    assert_eq!(reaching.definitions(InstId(5), r0).count(), 0, "nothing comes there");
}

#[test]
fn reaching_definitions_are_kept_until_an_edit() {
    let mut function = testing::parse("BB0:\n %R0 = MOV 0x1, 0xf\n STS [RZ], %R0\n EXIT PT");
    let mut body = function.body();
    let mut analyses = Analyses::default();
    let kept = analyses.reaching(&body);
    assert!(Arc::ptr_eq(&kept, &analyses.reaching(&body)));
    assert_eq!(analyses.check(&body), Ok(()));
    body.remove(BlockId(0), InstId(0));
    let r0 = reads(&body, InstId(1))[0];
    assert_eq!(analyses.reaching(&body).only(InstId(1), r0), Some(Definition::Entry));
}

/// A body of a few blocks with branches anywhere, whose instructions read and write parts of few
/// registers, some under a guard.
fn random_body(random: &mut Random) -> String {
    let blocks = 1 + random.below(6);
    let mut text = String::from("vreg %R0:2 align 2\nvreg %R1:1 align 1\nvreg %P2:1 align 1\n");
    for block in 0..blocks {
        text += &format!("BB{block}:\n");
        for _ in 0..random.below(4) {
            let guard = ["", "", "@%P2 ", "@!%P2 "][random.below(4) as usize];
            let line = match random.below(8) {
                0 => "%R0 = MOV 0x1, 0xf",
                1 => "%R0[1] = MOV %R1, 0xf",
                2 => "%R0:2 = LDS.64 [%R1]",
                3 => "STS.64 [RZ], %R0:2",
                4 => "%R1 = MOV %R0[1], 0xf",
                5 => "%R1 = VIADD %R1, 0x1",
                6 => "%P2, PT = ISETP.NE.AND %R1, %R0, PT",
                _ => "R3 = MOV R2, 0xf",
            };
            text += &format!("{guard}{line}\n");
        }
        let to = random.below(blocks);
        text += &match random.below(4) {
            0 => String::new(),
            1 => format!("BRA PT, BB{to}\n"),
            2 => "@%P2 EXIT PT\n".to_string(),
            _ => format!("@%P2 BRA PT, BB{to}\n"),
        };
    }
    text + &format!("BB{blocks}:\nSTS.64 [%R1], %R0:2\nSTS [R3], R2\nEXIT PT")
}

/// What reaches each cell that each instruction reads, over all paths: a path is a block and what
/// one cell holds at its start, which is all that matters for how it goes on.
fn by_paths(body: &Body<'_>, map: &CellMap, cell: Cell) -> std::collections::BTreeMap<InstId, Set> {
    let mut found = std::collections::BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut paths = vec![(body.layout()[0], Definition::Entry)];
    while let Some((block, start)) = paths.pop() {
        if !seen.insert((block, start)) {
            continue;
        }
        let mut holds: Set = [start].into();
        for id in body.block(block).insts() {
            let inst = body.inst(*id);
            let (mut reads, mut writes) = (false, false);
            inst.for_each_use(|r| reads |= map.cells(r).contains(&cell));
            inst.for_each_def(|r| writes |= map.cells(r).contains(&cell));
            if reads {
                found.entry(*id).or_insert_with(Set::new).extend(&holds);
            }
            if writes && inst.guard.is_always() {
                holds.clear();
            }
            if writes {
                holds.insert(Definition::By(*id));
            }
        }
        for succ in body.block(block).succs() {
            paths.extend(holds.iter().map(|holds| (*succ, *holds)));
        }
    }
    found
}

#[test]
fn chains_say_what_all_paths_do() {
    let mut several = 0;
    for seed in 0..1500 {
        let text = random_body(&mut Random::new(seed));
        let mut function = testing::parse(&text);
        let body = function.body();
        let reaching = of(&body);
        for cell in 0..reaching.map.count() as Cell {
            let expected = by_paths(&body, &reaching.map, cell);
            let all = body.layout().iter().flat_map(|b| body.block(*b).insts());
            for id in all {
                let mut named = None;
                body.inst(*id).for_each_use(|r| {
                    if let Some(at) = reaching.map.cells(r).position(|c| c == cell) {
                        named = Some(RegUse { cell: r.cell + at as u8, count: 1, ..r });
                    }
                });
                let Some(read) = named else { continue };
                let found: Vec<Definition> = reaching.definitions(*id, read).collect();
                let set: Set = found.iter().copied().collect();
                assert_eq!(found.len(), set.len(), "each once");
                let wanted = expected.get(id).cloned().unwrap_or_default();
                assert_eq!(set, wanted, "{read} in {} of {seed}\n{text}", body.inst(*id));
                let only = Some(found[..].first().copied()).flatten().filter(|_| set.len() == 1);
                assert_eq!(reaching.only(*id, read), only);
                several += usize::from(set.len() > 2);
            }
        }
    }
    assert!(several > 200, "{several}");
}
