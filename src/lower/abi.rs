//! How arguments and results travel between functions.
//!
//! Observed (ptxas 13.0.88, sm_90a, `-c` and recursive calls): each argument takes the lowest free
//! run of R4 to R15 that holds it, 64-bit ones at even registers, structures as their alignment
//! says; what finds no room is on the stack, from R1 on in the order of the arguments. Results take
//! registers in the same way; one that does not fit is memory of the caller's, whose address comes
//! first in R4. Bits of a register above a narrower value mean nothing.

use crate::ptx::program::{Program, VarId};
use crate::ptx::types::Type;
use orias_systems::calls::ARGUMENTS;

/// Where a value is while control passes from one function to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// In 32-bit registers from this one on.
    Registers(u32),
    /// At this byte offset from R1 as it is at the call, or of the results' memory.
    Memory(u32),
}

/// A value that is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes.
    pub size: u32,
    /// Bytes, a power of two.
    pub align: u32,
    /// As long as the caller likes: always on the stack.
    pub open: bool,
}

impl Shape {
    /// What a formal parameter or a variable asks for.
    pub fn of(program: &Program<'_>, var: VarId) -> Shape {
        let var = &program.vars[var.0 as usize];
        let (size, align) = match var.ty {
            // A predicate is passed as 0 or 1.
            Type::Pred => (4, 4),
            _ => (var.size.max(u64::from(var.ty.bytes())) as u32, var.align() as u32),
        };
        let open = var.size == 0 && var.reg().is_none();
        Shape { size: if open { 0 } else { size }, align, open }
    }

    /// Registers that hold it.
    pub fn words(self) -> u32 {
        self.size.div_ceil(4)
    }
}

/// Where everything is in a call of one signature.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Passing {
    /// Where each parameter is, in order.
    pub params: Vec<Spot>,
    /// Where each result is, in order.
    pub returns: Vec<Spot>,
    /// Bytes of arguments on the stack.
    pub stack_bytes: u32,
    /// Bytes of results in memory whose address is in R4; 0 for none.
    pub result_bytes: u32,
    /// Alignment of both, in bytes.
    pub align: u32,
}

/// Registers that are still free.
struct Free(u32);

impl Free {
    fn new() -> Free {
        Free(ARGUMENTS.fold(0, |set, r| set | 1 << r))
    }

    fn take(&mut self, shape: Shape) -> Option<u32> {
        let words = shape.words();
        if shape.open || words == 0 || words > ARGUMENTS.len() as u32 {
            return None;
        }
        let align = (shape.align / 4).clamp(1, 4);
        let run = |first: u32| ((1u32 << words) - 1) << first;
        let starts = ARGUMENTS.filter(|r| r % align == 0 && r + words <= ARGUMENTS.end);
        let first = starts.into_iter().find(|r| self.0 & run(*r) == run(*r))?;
        self.0 &= !run(first);
        Some(first)
    }
}

impl Passing {
    /// The passing of values of these shapes.
    pub fn new(params: &[Shape], returns: &[Shape]) -> Passing {
        let mut all = Passing { align: 8, ..Passing::default() };
        let mut free = Free::new();
        for shape in returns {
            let spot = match free.take(*shape) {
                Some(first) => Spot::Registers(first),
                None => Spot::Memory(all.place(*shape, true)),
            };
            all.returns.push(spot);
        }
        let mut free = Free::new();
        if all.result_bytes > 0 {
            free.take(Shape { size: 4, align: 4, open: false });
        }
        for shape in params {
            let spot = match free.take(*shape) {
                Some(first) => Spot::Registers(first),
                None => Spot::Memory(all.place(*shape, false)),
            };
            all.params.push(spot);
        }
        all
    }

    fn place(&mut self, shape: Shape, result: bool) -> u32 {
        let align = shape.align.clamp(4, 16);
        self.align = self.align.max(align);
        let bytes = if result { &mut self.result_bytes } else { &mut self.stack_bytes };
        let offset = bytes.next_multiple_of(align);
        *bytes = offset + shape.size.next_multiple_of(4);
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(sizes: &[(u32, u32)]) -> Vec<Shape> {
        sizes
            .iter()
            .map(|(size, align)| Shape { size: *size, align: *align, open: false })
            .collect()
    }

    /// What ptxas does with `(b32, b32, b64, b32, b8, b16, b64, b32, b32, b32, b32, b64, b32)`.
    #[test]
    fn registers_are_filled_and_the_rest_is_on_the_stack() {
        let sizes = [4, 4, 8, 4, 1, 2, 8, 4, 4, 4, 4, 8, 4];
        let params: Vec<(u32, u32)> = sizes.iter().map(|s| (*s, *s)).collect();
        let passing = Passing::new(&shapes(&params), &shapes(&[(4, 4)]));
        let registers: Vec<u32> = passing
            .params
            .iter()
            .filter_map(|s| if let Spot::Registers(r) = s { Some(*r) } else { None })
            .collect();
        assert_eq!(registers, [4, 5, 6, 8, 9, 10, 12, 11, 14, 15]);
        let stack = [Spot::Memory(0), Spot::Memory(8), Spot::Memory(16)];
        assert_eq!(passing.params[10..], stack);
        assert_eq!(passing.returns, [Spot::Registers(4)]);
    }

    #[test]
    fn structures_are_in_registers_where_they_fit() {
        let passing = Passing::new(&shapes(&[(4, 4), (32, 16)]), &shapes(&[(32, 16)]));
        assert_eq!(passing.params, [Spot::Registers(4), Spot::Registers(8)]);
        assert_eq!(passing.returns, [Spot::Registers(4)]);
        let passing = Passing::new(&shapes(&[(4, 4), (100, 8), (4, 4)]), &shapes(&[(100, 8)]));
        let params = [Spot::Registers(5), Spot::Memory(0), Spot::Registers(6)];
        assert_eq!(passing.params, params);
        assert_eq!((passing.result_bytes, passing.stack_bytes), (100, 100));
    }
}
