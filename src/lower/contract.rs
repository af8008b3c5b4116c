//! `--fmad`: which multiplications are computed inside the additions that use them.
//!
//! Observed (ptxas 13.0.88, -O1 and up): `mul` and `add` or `sub` of one float type (halves and
//! pairs of them too), neither with a rounding word and both with the same `.ftz`, become one fused
//! multiply-add; a product that several additions use goes into each of them. The sum may be
//! clamped by `.sat`, the product not. A quotient of `div.approx` or `div.full`, whose last step is
//! a product, is one here. At -O0 nothing is contracted.

use crate::ptx::program::{Function, Instruction, Operand, RegId};
use crate::ptx::types::TypeKind;
use crate::ptx::words::{Op, Word};
use smallvec::SmallVec;

/// What happens to one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fate {
    #[default]
    Stays,
    /// A multiplication whose product only contracted additions use: it makes no code.
    Folded,
    /// An addition whose operand at this index is the product of the instruction at `product`.
    Fused { product: u32, operand: u8 },
}

const _: () = assert!(size_of::<Fate>() == 8, "there is one for each instruction");

/// What products are made by, and what takes them in.
const PRODUCTS: [Op; 2] = [Op::Mul, Op::Div];
const SUMS: [Op; 2] = [Op::Add, Op::Sub];

/// A multiplication whose product additions may take in.
struct Product {
    at: u32,
    /// The additions that do so, each with the operand that it is.
    uses: SmallVec<[(u32, u8); 2]>,
}

/// No product.
const NONE: u32 = u32::MAX;

/// The fate of every instruction of a function, by index; none where all stay. `mentions`: by
/// register, how often instructions name it.
pub fn contract(function: &Function<'_>, mentions: &[u32]) -> Vec<Fate> {
    let code = &function.code;
    let Some(first) = code.iter().position(|inst| contractible(&inst, &PRODUCTS).is_some()) else {
        return Vec::new();
    };
    let mut starts_block = vec![false; code.len() + 1];
    for (at, _) in &function.labels {
        starts_block[*at] = true;
    }
    let mut products: Vec<Product> = Vec::new();
    // By register: the product that was made in it last in this block, and the instruction that
    // wrote it last.
    let mut made = vec![NONE; function.regs.len()];
    let mut written = vec![0; function.regs.len()];
    let mut block = 0;
    for (at, inst) in (0..).zip(code).skip(first) {
        if starts_block[at as usize] {
            block = at;
        }
        if contractible(&inst, &SUMS).is_some() {
            let mut found = NONE;
            for (operand, source) in (1..).zip(&inst.operands[1..]) {
                let Operand::Reg(source) = source else { continue };
                let number = made[source.0 as usize];
                if number == NONE || number == found {
                    continue;
                }
                found = number;
                let product = &mut products[number as usize];
                let mul = code.at(product.at as usize);
                let same = inst.types == mul.types && inst.has(Word::Ftz) == mul.has(Word::Ftz);
                // Neither the product nor a factor has changed.
                let mut stands = product.at >= block;
                each_mention(&mul, &mut |id| stands &= written[id.0 as usize] <= product.at);
                if same && stands {
                    product.uses.push((at, operand));
                }
            }
        }
        if let Some(destination) = inst.operands.first() {
            destination.each_register(&mut |id| written[id.0 as usize] = at);
        }
        if let Some(destination) = contractible(&inst, &PRODUCTS) {
            made[destination.0 as usize] = products.len() as u32;
            products.push(Product { at, uses: SmallVec::new() });
        }
    }
    let mut fates = vec![Fate::Stays; code.len()];
    for Product { at, uses } in products {
        let Some(Operand::Reg(of)) = code.at(at as usize).operands.first() else { continue };
        // The product itself is one mention; every other one must be an addition that takes it in.
        let wanted = mentions[of.0 as usize] as usize - 1;
        // A sum of two products takes in the first.
        let taken = uses.iter().any(|(user, _)| fates[*user as usize] != Fate::Stays);
        if uses.is_empty() || uses.len() != wanted || taken {
            continue;
        }
        fates[at as usize] = Fate::Folded;
        for (user, operand) in uses {
            fates[user as usize] = Fate::Fused { product: at, operand };
        }
    }
    fates
}

/// The destination of a plain float operation of one of these names: no guard, no rounding word, no
/// saturation of a product.
fn contractible(inst: &Instruction, names: &[Op]) -> Option<RegId> {
    let plain = inst.guard.is_none()
        && names.contains(&inst.opcode)
        && inst.types.len() == 1
        && inst.types[0].kind() == TypeKind::Float
        && inst.modifiers.iter().all(|m| match *m {
            Word::Ftz => true,
            Word::Sat => matches!(inst.opcode, Op::Add | Op::Sub),
            Word::Approx | Word::Full => inst.opcode == Op::Div,
            word => word.ty().is_some(),
        })
        && (inst.opcode != Op::Div || inst.has(Word::Approx) || inst.has(Word::Full));
    match inst.operands {
        [Operand::Reg(d), _, _] if plain => Some(*d),
        _ => None,
    }
}

fn each_mention(inst: &Instruction, f: &mut impl FnMut(RegId)) {
    if let Some((guard, _)) = inst.guard {
        f(guard);
    }
    inst.operands.iter().for_each(|op| op.each_register(f));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::context::usage::Usage;

    /// The fates of a body's instructions as one letter each: `-` stays, `f` folded, `1`/`2` fused
    /// at that operand.
    fn fates(body: &str) -> String {
        let text = format!(
            ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n\
             .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .pred %p<3>;\n{body}\nret;\n}}"
        );
        let program = crate::ptx::load(&text).unwrap_or_else(|e| panic!("{e}"));
        let letter = |fate| match fate {
            Fate::Stays => '-',
            Fate::Folded => 'f',
            Fate::Fused { operand, .. } => {
                if operand == 1 {
                    '1'
                } else {
                    '2'
                }
            }
        };
        let function = &program.functions[0];
        let mut fates = contract(function, &Usage::of(function).mentions);
        fates.resize(function.code.len(), Fate::Stays);
        fates.into_iter().map(letter).collect()
    }

    #[test]
    fn a_product_goes_into_each_addition_that_uses_it() {
        assert_eq!(fates("mul.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5;"), "f1-");
        assert_eq!(fates("mul.f64 %d1,%d2,%d3; sub.f64 %d4,%d5,%d1;"), "f2-");
        let twice = "mul.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5; sub.f32 %f6,%f5,%f1;";
        assert_eq!(fates(twice), "f12-");
    }

    #[test]
    fn a_rounding_word_forbids_it() {
        assert_eq!(fates("mul.rn.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5;"), "---");
        assert_eq!(fates("mul.f32 %f1,%f2,%f3; add.rn.f32 %f4,%f1,%f5;"), "---");
        assert_eq!(fates("mul.ftz.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5;"), "---");
    }

    #[test]
    fn halves_are_contracted_as_singles_are() {
        assert_eq!(fates("mul.f16 %h1,%h2,%h3; add.f16 %h4,%h1,%h5;"), "f1-");
        assert_eq!(fates("mul.bf16x2 %r1,%r2,%r3; sub.bf16x2 %r4,%r5,%r1;"), "f2-");
        assert_eq!(fates("mul.f16 %h1,%h2,%h3; add.f16x2 %r4,%r1,%r5;"), "---");
    }

    #[test]
    fn a_sum_may_be_clamped_and_a_product_not() {
        assert_eq!(fates("mul.f32 %f1,%f2,%f3; add.sat.f32 %f4,%f1,%f5;"), "f1-");
        assert_eq!(fates("mul.sat.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5;"), "---");
    }

    #[test]
    fn an_approximate_quotient_is_contracted_as_a_product_is() {
        assert_eq!(fates("div.full.f32 %f1,%f2,%f3; sub.f32 %f4,%f5,%f1;"), "f2-");
        assert_eq!(fates("div.approx.ftz.f32 %f1,%f2,%f3; add.ftz.f32 %f4,%f1,%f5;"), "f1-");
        assert_eq!(fates("div.full.ftz.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5;"), "---");
        assert_eq!(fates("div.rn.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5;"), "---");
    }

    #[test]
    fn a_product_that_is_needed_elsewhere_stays() {
        let doubled = "mul.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f1;";
        assert_eq!(fates(doubled), "---");
        let other = "mul.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5; max.f32 %f6,%f1,%f5;";
        assert_eq!(fates(other), "----");
        let beyond = "mul.f32 %f1,%f2,%f3; @%p1 bra L; L: add.f32 %f4,%f1,%f5;";
        assert_eq!(fates(beyond), "----");
    }

    #[test]
    fn a_sum_of_two_products_takes_in_one() {
        let body = "mul.f32 %f1,%f2,%f3; mul.f32 %f4,%f5,%f6; add.f32 %f7,%f1,%f4;";
        assert_eq!(fates(body), "f-1-");
    }

    #[test]
    fn products_of_one_block_are_told_apart() {
        // The first has a use that the second wants too, and another one behind that.
        let both =
            "mul.f32 %f1,%f2,%f3; mul.f32 %f4,%f5,%f6; add.f32 %f7,%f1,%f4; add.f32 %f8,%f1,%f5;";
        assert_eq!(fates(both), "f-11-");
        // Each mention of a register counts, whichever product made it.
        let again =
            "mul.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5; mul.f32 %f1,%f6,%f7; add.f32 %f8,%f1,%f5;";
        assert_eq!(fates(again), "-----");
        let later =
            "mul.f32 %f1,%f2,%f3; add.f32 %f4,%f1,%f5; mov.f32 %f2,%f5; add.f32 %f6,%f1,%f5;";
        assert_eq!(fates(later), "-----");
    }

    #[test]
    fn a_factor_that_changes_in_between_forbids_it() {
        let body = "mul.f32 %f1,%f2,%f3; mov.f32 %f2,%f5; add.f32 %f4,%f1,%f5;";
        assert_eq!(fates(body), "----");
    }
}
