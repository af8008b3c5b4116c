//! The validator: what must be true of a body between any two phases, whatever the target.
//!
//! What holds for a body that it accepts:
//! * The layout names each block once and no block is outside it; each instruction stands in one
//!   place.
//! * Branches stand at the end of their block: one of any kind, or guarded ones before the last;
//!   none follows one that is always taken. The last block does not run off the end. Targets are
//!   blocks of the layout.
//! * An operand that names a virtual register names its file, and cells that it has. Destinations
//!   are registers, without a negation. A guard is a predicate.
//!
//! [`definitions`] checks besides that every cell of a virtual register that is read is written
//! somewhere. PTX may read a register that it never writes (the value is undefined), so this is no
//! part of validity; but no phase may bring it about.

use crate::body::Body;
use crate::edges::ends_flow;
use crate::ids::{BlockId, InstId};
use crate::inst::View;
use crate::operand::{Operand, RegFlags, RegUse};
use crate::packed::{Kind, Packed};
use crate::register::RegFile;
use crate::scratch;
use crate::scratch::Scratch;

/// What is wrong with a body, in words that name the place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Invalid {
    /// `BB3, instruction 2, %R1 = MOV %R7, 0xf`
    pub place: String,
    /// What is wrong, without the place.
    pub message: String,
}

/// Checks a body.
///
/// # Errors
/// The first thing that does not hold.
pub fn validate(body: &Body<'_>) -> Result<(), Invalid> {
    validate_with(body, |_| false)
}

/// The same where it is known of some instructions that they are sound wherever they stand: see
/// [`is_surely_sound`].
///
/// # Errors
/// As [`validate`].
pub fn validate_with(body: &Body<'_>, is_sound: impl Fn(InstId) -> bool) -> Result<(), Invalid> {
    let placed = layout(body)?;
    let mut seen = scratch!(Vec<bool>; false; body.inst_count());
    for (at, id) in body.layout().iter().enumerate() {
        let insts = &body.block(*id).insts;
        for (n, inst) in insts.iter().enumerate() {
            let fail = |message: String| Err(at_inst(body, *id, n, *inst, message));
            let is_sound = is_sound(*inst);
            if !is_sound && !body.has_inst(*inst) {
                return fail("the instruction was removed".into());
            }
            if std::mem::replace(&mut seen[inst.0 as usize], true) {
                return fail("the instruction stands in two places".into());
            }
            if is_sound {
                continue;
            }
            if let Err(message) = instruction(body, &placed, body.inst(*inst)) {
                return fail(message);
            }
            let before_last = n + 1 < insts.len();
            let data = body.inst(*inst);
            if data.op.is_branch() && before_last {
                if ends_flow(data) {
                    return fail("an instruction follows a branch that is always taken".into());
                }
                let next = insts.get(n + 1).filter(|i| body.has_inst(**i));
                if next.is_some_and(|i| !body.inst(*i).op.is_branch()) {
                    return fail("a branch does not stand at the end of its block".into());
                }
            }
        }
        let runs_off = insts.last().is_none_or(|last| !ends_flow(body.inst(*last)));
        if at + 1 == body.layout().len() && runs_off {
            let message = "control runs off the end of the last block".into();
            return Err(Invalid { place: id.to_string(), message });
        }
    }
    Ok(())
}

/// Which blocks are in the layout.
fn layout(body: &Body<'_>) -> Result<Scratch<Vec<bool>>, Invalid> {
    let fail = |id: BlockId, message: &str| {
        Err(Invalid { place: id.to_string(), message: message.into() })
    };
    let mut seen = scratch!(Vec<bool>; false; body.block_count());
    for id in body.layout() {
        if !body.has_block(*id) {
            return fail(*id, "the layout names a block that does not exist");
        }
        if std::mem::replace(&mut seen[id.0 as usize], true) {
            return fail(*id, "the layout names the block twice");
        }
    }
    for (i, is_placed) in seen.iter().enumerate() {
        let id = BlockId(i as u32);
        if !is_placed && body.has_block(id) {
            return fail(id, "the block is not in the layout");
        }
    }
    Ok(seen)
}

/// Whether there is such an instruction, no branch, and it is sound, as far as a short look at it
/// alone tells: most are.
pub fn is_surely_sound(body: &Body<'_>, id: InstId) -> bool {
    body.has_inst(id) && !body.op(id).is_branch() && is_plain(body, body.inst(id))
}

/// Whether an instruction is surely sound: it has nothing but registers, immediates and plain
/// constants, as most have. All others are looked at in full.
fn is_plain(body: &Body<'_>, inst: View<'_>) -> bool {
    let words = inst.words();
    let is_dest = |word: &Packed| {
        word.kind() == Kind::Reg && {
            let r = word.reg_bits();
            r.flags.without(RegFlags::REUSE).0 == 0
        }
    };
    let is_operand = |word: &Packed| match word.kind() {
        Kind::Reg => fits(body, word.reg_bits()),
        Kind::Imm | Kind::NegativeImm | Kind::Const | Kind::Special => true,
        _ => false,
    };
    let guard = RegUse::new(inst.guard.reg);
    words.get(..inst.defs as usize).is_some_and(|dests| dests.iter().all(is_dest))
        && inst.tied().len() == 0
        && guard.reg.file().is_predicate()
        && fits(body, guard)
        && words.iter().all(is_operand)
}

/// Whether a register is surely one that there is.
fn fits(body: &Body<'_>, r: RegUse) -> bool {
    let Some(id) = r.reg.vreg() else { return register(body, r).is_ok() };
    let is_there = (id.0 as usize) < body.vreg_count();
    is_there && r.count > 0 && {
        let v = body.vreg(id);
        v.file == r.reg.file() && u16::from(r.cell) + u16::from(r.count) <= u16::from(v.cells)
    }
}

fn instruction(body: &Body<'_>, placed: &[bool], inst: View<'_>) -> Result<(), String> {
    if is_plain(body, inst) {
        return Ok(());
    }
    if inst.defs as usize > inst.len() {
        return Err(format!("{} destinations among {} operands", inst.defs, inst.len()));
    }
    if !inst.guard.reg.file().is_predicate() {
        return Err(format!("the guard {} is no predicate", inst.guard.reg));
    }
    register(body, RegUse::new(inst.guard.reg))?;
    for operand in inst.dests() {
        match operand {
            Operand::Reg(r) | Operand::Part(r, _) if r.flags.without(RegFlags::REUSE).0 == 0 => {}
            Operand::Reg(_) | Operand::Part(..) => {
                return Err(format!("the destination {operand} has a sign"));
            }
            _ => return Err(format!("the destination {operand} is no register")),
        }
    }
    if inst.tied().len() > 0 {
        let named = |r: &RegUse| !r.reg.is_zero();
        let to: Vec<RegUse> =
            inst.dests().filter_map(|o| o.as_reg().copied()).filter(named).collect();
        let fits = |(to, tied): (&RegUse, RegUse)| {
            to.reg.file() == tied.reg.file() && (to.count == tied.count || !named(&tied))
        };
        if to.len() != inst.tied().len() || !to.iter().zip(inst.tied()).all(fits) {
            return Err("the tied registers are not those of the destinations".into());
        }
        inst.tied().try_for_each(|r| register(body, r))?;
    }
    for operand in inst.operands() {
        let mut result = Ok(());
        operand.for_each_reg(|r| {
            if result.is_ok() {
                result = register(body, r);
            }
        });
        result?;
        if let Operand::Block(target) = operand
            && !placed.get(target.0 as usize).is_some_and(|p| *p)
        {
            return Err(format!("there is no {target}"));
        }
    }
    Ok(())
}

fn register(body: &Body<'_>, r: RegUse) -> Result<(), String> {
    if r.count == 0 {
        return Err(format!("{} with no cell", r.reg));
    }
    if let Some(n) = r.reg.phys_index() {
        let limit = match r.reg.file() {
            RegFile::R | RegFile::UR => 256,
            RegFile::P | RegFile::UP => 8,
            RegFile::B => 16,
        };
        return if n + u32::from(r.cell) + u32::from(r.count) <= limit {
            Ok(())
        } else {
            Err(format!("{r} is past the end of its file"))
        };
    }
    let Some(id) = r.reg.vreg() else { return Ok(()) };
    if id.0 as usize >= body.vreg_count() {
        return Err(format!("there is no register {}", r.reg));
    }
    let v = body.vreg(id);
    if v.file != r.reg.file() {
        return Err(format!("{} is of file {}", r.reg, v.file.prefix()));
    }
    // A constant's handle is two cells of UR whatever its operand says, so the sum may pass 255.
    if u16::from(r.cell) + u16::from(r.count) > u16::from(v.cells) {
        return Err(format!("{r} names cells that the register does not have: it has {}", v.cells));
    }
    Ok(())
}

/// Checks that every cell of a virtual register that is read in these blocks is written somewhere.
/// The body must be valid.
///
/// # Errors
/// The first read of a cell that nothing writes.
pub fn definitions(body: &Body<'_>, is_looked_at: impl Fn(BlockId) -> bool) -> Result<(), Invalid> {
    let mut first = Vec::with_capacity(body.vreg_count() + 1);
    let mut cells = 0usize;
    for id in 0..body.vreg_count() {
        first.push(cells);
        cells += usize::from(body.vreg(crate::VRegId(id as u32)).cells);
    }
    let range = |r: RegUse| {
        let start = r.reg.vreg().map_or(0, |v| first[v.0 as usize]) + usize::from(r.cell);
        if r.reg.vreg().is_some() { start..start + usize::from(r.count) } else { 0..0 }
    };
    let mut written = vec![false; cells];
    for id in body.layout() {
        for inst in &body.block(*id).insts {
            body.inst(*inst).for_each_def(|r| written[range(r)].fill(true));
        }
    }
    for id in body.layout().iter().filter(|id| is_looked_at(**id)) {
        for (n, inst) in body.block(*id).insts.iter().enumerate() {
            let mut bad = None;
            let view = body.inst(*inst);
            view.for_each_use(|r| {
                let all = &written[range(r)];
                // What is kept may be kept for some of its cells: nobody reads the others.
                let is_kept = || view.tied().any(|tied| tied == r) && all.contains(&true);
                if all.contains(&false) && !is_kept() {
                    bad = bad.or(Some(r));
                }
            });
            if let Some(r) = bad {
                let message = format!("{r} is read and never written");
                return Err(at_inst(body, *id, n, *inst, message));
            }
        }
    }
    Ok(())
}

fn at_inst(body: &Body<'_>, block: BlockId, n: usize, inst: InstId, message: String) -> Invalid {
    let text = if body.has_inst(inst) { body.inst(inst).to_string() } else { String::new() };
    Invalid { place: format!("{block}, instruction {n}, {text}"), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use crate::world::Function;

    fn check(text: &str) -> Result<(), String> {
        let mut function = Function::default();
        let mut body = function.body();
        text::parse(text, &mut body).expect("the test's text is Ori");
        validate(&body).and_then(|()| definitions(&body, |_| true)).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_kept_may_be_kept_in_part() {
        let kept = |cell: &str| {
            let first =
                format!("BB0:\n %P0, PT = ISETP.LT.AND RZ, 0x1, PT\n {cell} = MOV RZ, 0xf\n");
            check(&format!(
                "{first} @%P0 %R2:4 = LDS.128 [RZ] else %R1:4\n STS [RZ], %R2[1]\n EXIT PT"
            ))
        };
        assert_eq!(kept("%R1[1]"), Ok(()));
        assert!(kept("%R3").is_err());
    }

    #[test]
    fn a_sound_body_passes() {
        let text = "
            BB0:
              %R0 = MOV 0x1, 0xf
              %R1:2, PT = IMAD.WIDE %R0, %R0, RZ
              @P0 BRA PT, BB0
              BRA PT, BB1
            BB1:
              %P2, PT = ISETP.LT.AND %R1[1], RZ, PT
              @%P2 EXIT PT
            BB2:
              EXIT PT";
        assert_eq!(check(text), Ok(()));
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        let cases = [
            (
                "BB0:\n EXIT PT\n %R0 = MOV RZ, 0xf",
                "instruction 0, EXIT PT: an instruction follows a branch that is always taken",
            ),
            (
                "BB0:\n @P0 BRA PT, BB0\n %R0 = MOV RZ, 0xf\n EXIT PT",
                "a branch does not stand at the end of its block",
            ),
            ("BB0:\n %R0 = MOV RZ, 0xf", "BB0: control runs off the end of the last block"),
            ("BB0:\n @P0 EXIT PT", "BB0: control runs off the end of the last block"),
            ("BB0:\n %R0 = MOV %R1, 0xf\n EXIT PT", "%R1 is read and never written"),
            (
                "BB0:\n %R0 = MOV RZ, 0xf\n %R1 = MOV %R0[1], 0xf\n EXIT PT",
                "%R0[1] is read and never written",
            ),
            ("BB0:\n 0x5 = MOV RZ, 0xf\n EXIT PT", "the destination 0x5 is no register"),
            ("BB0:\n -%R0 = MOV RZ, 0xf\n EXIT PT", "the destination -%R0 has a sign"),
            ("BB0:\n P9 = PLOP3.LUT\n EXIT PT", "P9 is past the end of its file"),
            (
                "vreg %R0:1 align 1\nBB0:\n %R0:2 = MOV RZ, 0xf\n EXIT PT",
                "names cells that the register does not have: it has 1",
            ),
        ];
        for (text, message) in cases {
            let error = check(text).expect_err(text);
            assert!(error.contains(message), "{text}\n gives\n{error}");
        }
    }

    #[test]
    fn a_block_outside_the_layout_is_a_fault() {
        let mut function = Function::default();
        let mut body = function.body();
        text::parse("BB0:\n EXIT PT", &mut body).expect("Ori");
        let block = body.new_detached_block();
        let error = validate(&body).expect_err("not placed");
        assert_eq!(error.to_string(), "BB1: the block is not in the layout");
        body.set_layout(&[BlockId(0), block, BlockId(0)]);
        let error = validate(&body).expect_err("placed twice");
        assert_eq!(error.to_string(), "BB0: the layout names the block twice");
    }
}
