//! Whether a body is in SSA form.

use super::values::{Fixed, is_value};
use crate::analysis::Analyses;
use orias_components::{BlockId, Body, InstId, Opcode, Operand, RegUse};

/// Holds a valid body with current edges to what `ssa` promises. What no way from the entry comes
/// to is not looked at.
///
/// # Errors
/// The first thing that does not hold, with its place.
pub fn check(body: &Body<'_>, analyses: &mut Analyses) -> Result<(), String> {
    let flow = analyses.flow(body);
    let dom = flow.dominators();
    let fixed = Fixed::of(body);
    let map = analyses.cells(body);
    let is_renamed = |r: RegUse| r.reg.vreg().is_some_and(|v| is_value(body, &fixed, v));
    let fail = |block: BlockId, id: InstId, message: &str| {
        Err(format!("{block}, {}: {message}", body.inst(id)))
    };
    // By cell: block and place of the definition.
    let mut home: Vec<Option<(BlockId, usize)>> = vec![None; map.count()];
    let reached = || body.layout().iter().copied().filter(|b| dom.is_reached(b.0));
    for block in reached() {
        for (at, id) in body.block(block).insts().iter().enumerate() {
            let mut twice = false;
            body.inst(*id).for_each_def(|r| {
                if is_renamed(r) {
                    for cell in map.cells(r) {
                        twice |= home[cell as usize].replace((block, at)).is_some();
                    }
                }
            });
            if twice {
                return fail(block, *id, "a value is defined again");
            }
        }
    }
    // Whether a value's definition stands on every way to a place; one without is undefined, which
    // may be read.
    let is_there = |r: RegUse, block: BlockId, place: usize| {
        !is_renamed(r)
            || map.cells(r).all(|cell| match home[cell as usize] {
                None => true,
                Some((b, at)) if b == block => at < place,
                Some((b, _)) => dom.dominates(b.0, block.0),
            })
    };
    for block in reached() {
        let mut behind = false;
        for (at, id) in body.block(block).insts().iter().enumerate() {
            let inst = body.inst(*id);
            if inst.op != Opcode::MOVPHI {
                behind = true;
                let mut all = true;
                inst.for_each_use(|r| all &= is_there(r, block, at));
                if !all {
                    return fail(
                        block,
                        *id,
                        "a value is read where it is not defined on every way",
                    );
                }
                continue;
            }
            if behind {
                return fail(block, *id, "a phi does not stand at the start of its block");
            }
            let sources: Vec<Operand> = inst.sources().collect();
            let mut from: Vec<BlockId> = Vec::new();
            for pair in sources.chunks(2) {
                let [Operand::Reg(value), Operand::Block(pred)] = *pair else {
                    return fail(block, *id, "a phi has pairs of a register and a block");
                };
                let end = body.block(pred).insts().len();
                if dom.is_reached(pred.0) && !is_there(value, pred, end) {
                    return fail(block, *id, "a phi's value is not defined on every way");
                }
                from.push(pred);
            }
            let mut preds = body.block(block).preds().to_vec();
            from.sort_unstable();
            preds.sort_unstable();
            if from != preds {
                return fail(block, *id, "a phi has one value for each predecessor");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn checked(text: &str) -> Result<(), String> {
        let mut function = testing::parse(text);
        let body = function.body();
        check(&body, &mut Analyses::default())
    }

    #[test]
    fn values_with_one_definition_before_their_readers_pass() {
        let text = "
            BB0:
                %R0 = MOV 0x1, 0xf
                @%P4 BRA PT, BB2
            BB1:
                %R1 = MOV 0x2, 0xf
            BB2:
                %R2 = MOVPHI %R0, BB0, %R1, BB1
                @%P4 %R3 = VIADD %R2, 0x1 else %R2
                STS [RZ], %R3
                EXIT PT";
        assert_eq!(checked(text), Ok(()));
    }

    #[test]
    fn each_fault_is_found() {
        let cases = [
            ("BB0:\n %R0 = MOV RZ, 0xf\n %R0 = MOV 0x1, 0xf\n EXIT PT", "defined again"),
            ("BB0:\n STS [RZ], %R0\n %R0 = MOV RZ, 0xf\n EXIT PT", "not defined on every way"),
            (
                "BB0:\n @%P7 BRA PT, BB2\nBB1:\n %R0 = MOV RZ, 0xf\nBB2:\n STS [RZ], %R0\n EXIT PT",
                "not defined on every way",
            ),
            (
                "BB0:\n %R0 = MOV RZ, 0xf\nBB1:\n STS [RZ], %R0\n %R1 = MOVPHI %R0, BB0\n EXIT PT",
                "start of its block",
            ),
            (
                "BB0:\n %R0 = MOV RZ, 0xf\n @%P7 BRA PT, BB1\nBB2:\n NOP\nBB1:\n \
                 %R1 = MOVPHI %R0, BB0\n EXIT PT",
                "one value for each predecessor",
            ),
            (
                "BB0:\n @%P7 BRA PT, BB1\nBB2:\n %R0 = MOV RZ, 0xf\nBB1:\n \
                 %R1 = MOVPHI %R0, BB0, %R0, BB2\n EXIT PT",
                "a phi's value is not defined",
            ),
        ];
        for (text, message) in cases {
            let error = checked(text).expect_err(text);
            assert!(error.contains(message), "{text}\n gives\n{error}");
        }
    }
}
