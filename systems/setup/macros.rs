//! Phase 9, OriCreateMacroInsts: expands the pseudo instructions of lowering in line.
//!
//! What holds afterwards: there is no IDIV, IREM, FDIV, FRCP or FSQRT. An expansion may end the block and open new ones; edges are
//! right again. Sources are read before the destination is written, so a destination may be one of them.

use super::{divide, double, float};
use crate::analysis::cfg;
use crate::emit::Emit;
use crate::notes::Notes;
use orias_components::{Body, Code, Inst, Mod, Opcode};

/// Phase 9.
pub fn create_macro_insts(code: Code<'_, '_>, mut notes: Notes<'_>) {
    let body = code.body();
    let has_macros = |body: &Body<'_>| {
        let blocks = body.layout().iter();
        let mut insts = blocks.flat_map(|b| body.block(*b).insts.iter());
        insts.any(|id| is_macro(body.op(*id)))
    };
    if !has_macros(&body) {
        return;
    }
    let layout = body.layout().to_vec();
    let mut expanded = 0;
    let mut e = Emit::edit(body);
    for block in layout {
        for id in e.reopen(block) {
            let inst = e.body.inst(id).to_inst();
            if !is_macro(inst.op) {
                e.keep(id);
                continue;
            }
            let loc = e.body.loc(id);
            e.start(loc, inst.guard);
            expand(&mut e, &inst);
            e.body.discard(id);
            expanded += 1;
        }
    }
    let mut body = e.finish();
    cfg::update(&mut body);
    notes.count(expanded);
}

fn is_macro(op: Opcode) -> bool {
    matches!(op, Opcode::IDIV | Opcode::IREM | Opcode::FDIV | Opcode::FRCP | Opcode::FSQRT)
}

fn expand(e: &mut Emit<'_>, inst: &Inst) {
    let is_double = inst.mods.has(Mod::F64);
    match inst.op {
        Opcode::IDIV | Opcode::IREM => divide::expand(e, inst),
        Opcode::FDIV | Opcode::FRCP if is_double => double::divide(e, inst),
        Opcode::FSQRT if is_double => double::square_root(e, inst),
        Opcode::FDIV => float::divide(e, inst),
        Opcode::FRCP => float::reciprocal(e, inst),
        _ => float::square_root(e, inst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Errors;
    use crate::testing;
    use orias_components::text;
    use orias_components::validate::validate;

    /// Expands a body in text form; the text after it.
    fn after(input: &str) -> String {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).expect("Ori");
        function.run(create_macro_insts);
        let errors = &function.world.resource::<Errors>().0;
        assert!(errors.is_empty(), "{errors:?}");
        let body = function.body();
        validate(&body).unwrap_or_else(|e| panic!("{e}"));
        text::print(&body, &text::Style::default())
    }

    fn count(text: &str, word: &str) -> usize {
        text.split(|c: char| !c.is_alphanumeric() && c != '.').filter(|w| *w == word).count()
    }

    const START: &str = "BB0:\n%R1 = S2R SR33\n%R2 = S2R SR34\n";

    #[test]
    fn a_body_without_macros_stays() {
        let text = after(&format!("{START}EXIT PT\n"));
        assert_eq!(text.matches("BB").count(), 1);
        assert_eq!(count(&text, "S2R"), 2);
    }

    #[test]
    fn integer_division_becomes_a_reciprocal_and_products_in_line() {
        let text = after(&format!("{START}%R3 = IDIV.U32 %R1, %R2\nSTS [RZ], %R3\nEXIT PT\n"));
        assert_eq!(count(&text, "IDIV.U32"), 0);
        assert_eq!(count(&text, "MUFU.RCP"), 1);
        assert_eq!(count(&text, "BRA"), 0, "{text}");
    }

    #[test]
    fn float_division_has_its_rare_case_in_a_block_of_its_own() {
        let text = after(&format!("{START}%R3 = FDIV.F32 %R1, %R2\nSTS [RZ], %R3\nEXIT PT\n"));
        assert_eq!(count(&text, "FDIV.F32"), 0);
        assert_eq!(count(&text, "FCHK"), 1);
        let block_starts = text.lines().filter(|l| l.trim_start().starts_with("BB")).count();
        assert_eq!(block_starts, 4, "{text}");
        // What stood behind the division stands behind its last block's beginning.
        assert!(text.rfind("STS").expect("the store") > text.rfind("BB").expect("a block"));
    }

    #[test]
    fn a_guard_stays_on_what_writes_the_result() {
        let input = format!(
            "{START}%P4 = ISETP.EQ.AND PT, %R1, %R2, PT\n@%P4 %R1 = IREM.S32 %R1, %R2\nSTS [RZ], %R1\nEXIT PT\n"
        );
        // The comparison has two destinations in its row's order.
        let input = input.replace("%P4 = ISETP.EQ.AND PT,", "%P4, PT = ISETP.EQ.AND");
        let text = after(&input);
        let guarded: Vec<&str> = text.lines().filter(|l| l.contains("@%P4")).collect();
        assert_eq!(guarded.len(), 1, "{text}");
        assert!(guarded[0].contains("%R1 = SEL"), "{guarded:?}");
    }
}
