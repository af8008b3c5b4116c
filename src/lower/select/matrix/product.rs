//! Products of fragments: one machine product where there is one, an expansion where not.

use super::fragment::{Element, Words};
use super::machine::{Meaning, Product, Sparse};
use super::{formats as convert, narrow};
use crate::lower::context::cx::{Cx, Sel};
use orias_components::{Mod, Opcode, Operand};

/// The words of `d` for the words of `a`, `b` and `c`, as PTX orders them.
pub fn multiply(
    cx: &mut Cx<'_, '_>,
    p: &Meaning,
    a: &[Operand],
    b: &[Operand],
    c: &[Operand],
    sparse: Sparse,
) -> Sel<Words> {
    // Where one of the accumulators is wider, the wider one is what the machine sums in.
    if p.d != p.c {
        let wide = Meaning { d: Element::F32, c: Element::F32, ..*p };
        let c = if p.c == Element::F16 { convert::halves_to_floats(cx, c) } else { c.into() };
        let d = multiply(cx, &wide, a, b, &c, sparse)?;
        return Ok(if p.d == Element::F16 { convert::floats_to_halves(cx, &d) } else { d });
    }
    if p.a.is_f8() {
        return narrow::floats(cx, p, a, b, c, sparse);
    }
    if let (Element::Int { bits: 4, .. }, Element::Int { bits: 4, .. }) = (p.a, p.b) {
        return narrow::nibbles(cx, p, a, b, c, sparse);
    }
    let product =
        Product::of(p.shape, p.d, p.a, p.b, sparse.is_some()).ok_or("a product of these types")?;
    if p.xor {
        return Ok(narrow::exclusive_or(cx, &product, a, b, c));
    }
    let mut product = product;
    product.mods.extend(p.round);
    if p.saturate && product.op == Opcode::IMMA {
        product.mods.push(Mod::SAT);
    }
    Ok(product.of_words(cx, a, b, c, sparse))
}
