//! Initial values of variables as bytes and addresses.

use super::Checker;
use super::scope::Entity;
use crate::list::List;
use crate::ptx::ast::{Expr, Init, InitPart};
use crate::ptx::constant::{Binary, Const, Unary};
use crate::ptx::cursor::Numbers;
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::{InitReloc, Initial, SymbolRef};
use crate::ptx::types::{Space, Span, Type, TypeKind};
use std::sync::Arc;

/// More initialised bytes than this in one variable are refused: the text would be larger still.
const MAX_BYTES: u64 = 1 << 30;

/// What an initial value's expression is.
enum Value {
    Const(Const),
    /// `mask`: one byte of it.
    Address {
        target: SymbolRef,
        addend: i64,
        generic: bool,
        shift: u32,
        mask: bool,
    },
}

/// The bytes being filled.
struct Data {
    bytes: Vec<u8>,
    relocs: List<InitReloc>,
}

/// Where in a variable's elements its initial value is being read.
struct Cursor<'a> {
    ty: Type,
    /// The dimensions, a vector's elements last; and the bytes from one of each to the next.
    shape: &'a [u64],
    steps: Vec<u64>,
    /// Of each list that is open: the number of the element that is next.
    open: Vec<u64>,
}

impl Cursor<'_> {
    fn new(ty: Type, shape: &[u64]) -> Cursor<'_> {
        let mut step = u64::from(ty.bytes());
        let mut steps = vec![step; shape.len()];
        for (place, count) in steps.iter_mut().zip(shape).rev() {
            *place = step;
            step = step.saturating_mul(*count);
        }
        Cursor { ty, shape, steps, open: Vec::new() }
    }

    /// Byte offset of the next element; the error where there is none, or none of this kind.
    fn next(&self, list: bool) -> Result<u64, &'static str> {
        if let Some((next, above)) = self.open.split_last()
            && self.shape.get(above.len()).is_some_and(|count| next >= count)
        {
            return Err("Greater number of elements in array initializer");
        }
        if list != (self.open.len() < self.shape.len()) {
            return Err("Initial value type mismatch");
        }
        Ok(self.open.iter().zip(&self.steps).map(|(next, step)| next * step).sum())
    }

    /// How many elements there may still be in the list that is open.
    fn rest(&self) -> u64 {
        let next = self.open.last().copied().unwrap_or(0);
        let count = self.open.len().checked_sub(1).and_then(|above| self.shape.get(above));
        count.map_or(1, |count| count.saturating_sub(next))
    }

    fn done(&mut self, elements: u64) {
        if let Some(next) = self.open.last_mut() {
            *next += elements;
        }
    }
}

impl<'s> Checker<'s> {
    /// `shape`: the dimensions, a vector's elements last.
    pub(super) fn initial_data(
        &mut self,
        init: Init,
        ty: Type,
        shape: &[u64],
        size: u64,
        span: Span,
    ) -> Option<Box<Initial>> {
        if size > MAX_BYTES {
            self.diagnostics.error(span, "An initialised variable may have 1 GiB at most");
            return None;
        }
        let mut data = Data { bytes: vec![0; size as usize], relocs: List::new() };
        let mut cursor = Cursor::new(ty, shape);
        let mut good = true;
        if shape.first().is_some_and(|count| u64::from(init.length) > *count) {
            let message = "Greater number of elements in array initializer";
            self.diagnostics.push(Diagnostic::fatal(span, message));
            return None;
        }
        let again = self.again;
        again.init(init.start, |part| {
            good = good && self.fill(part, &mut cursor, &mut data, span).is_some();
        });
        let Data { bytes, mut relocs } = data;
        relocs.shrink_to_fit();
        let relocs = (!relocs.is_empty()).then(|| Box::new(relocs));
        good.then(|| Box::new(Initial { bytes: Arc::new(bytes), relocs }))
    }

    /// One step; None when an error was reported.
    fn fill(
        &mut self,
        part: InitPart<'_, 's>,
        cursor: &mut Cursor<'_>,
        data: &mut Data,
        span: Span,
    ) -> Option<()> {
        let part = match part {
            InitPart::Close => {
                cursor.open.pop();
                cursor.done(1);
                return Some(());
            }
            InitPart::Numbers(numbers) => return self.fill_numbers(numbers, cursor, data, span),
            part => part,
        };
        let at = match cursor.next(matches!(part, InitPart::Open)) {
            Ok(at) => at,
            Err(message) => {
                self.diagnostics.push(Diagnostic::fatal(span, message));
                return None;
            }
        };
        match part {
            InitPart::Value(expr) => {
                self.fill_scalar(&expr, cursor.ty, at, data)?;
                cursor.done(1);
            }
            InitPart::Open | InitPart::Numbers(_) | InitPart::Close => cursor.open.push(0),
        }
        Some(())
    }

    /// Elements of the list that is open, one beside the other.
    fn fill_numbers(
        &mut self,
        numbers: &mut Numbers<'s>,
        cursor: &mut Cursor<'_>,
        data: &mut Data,
        span: Span,
    ) -> Option<()> {
        let (ty, mut first) = (cursor.ty, numbers.next());
        let width = ty.bytes() as usize;
        while let Some(value) = first {
            // It may be where no element is, or one too many behind the last.
            let start = match cursor.next(false) {
                Ok(at) => at as usize,
                Err(message) => {
                    self.diagnostics.push(Diagnostic::fatal(span, message));
                    return None;
                }
            };
            let Some(bits) = bits(value, ty) else {
                let message = "Initial value type mismatch";
                self.diagnostics.push(Diagnostic::fatal(numbers.span(), message));
                return None;
            };
            put(&mut data.bytes, start, ty, bits)?;
            let begin = start + width;
            let end = begin + width * (cursor.rest() as usize - 1);
            let place = data.bytes.get_mut(begin..end)?;
            let short = match (ty.kind(), width) {
                (TypeKind::Float, _) => 0,
                (_, 1) => fill_short::<1>(numbers, place),
                (_, 2) => fill_short::<2>(numbers, place),
                (_, 4) => fill_short::<4>(numbers, place),
                (_, 8) => fill_short::<8>(numbers, place),
                _ => 0,
            };
            cursor.done(1 + short as u64);
            first = numbers.next();
        }
        Some(())
    }

    fn fill_scalar(&mut self, expr: &Expr<'s>, ty: Type, at: u64, data: &mut Data) -> Option<()> {
        let bytes = ty.bytes();
        match self.initial_value(expr)? {
            Value::Const(value) => {
                let Some(bits) = bits(value, ty) else {
                    let message = "Initial value type mismatch";
                    self.diagnostics.push(Diagnostic::fatal(expr.span(), message));
                    return None;
                };
                put(&mut data.bytes, at as usize, ty, bits)?;
            }
            Value::Address { target, addend, generic, shift, mask } => {
                // A byte of an address may stand in a byte. Observed: ptxas 13.0.88.
                let byte = mask && ty == Type::U8;
                if !byte && !matches!(ty, Type::U32 | Type::U64) {
                    let message = "Initial value type mismatch";
                    self.diagnostics.push(Diagnostic::fatal(expr.span(), message));
                    return None;
                }
                let (offset, bytes, shift) = (at as u32, bytes as u8, shift as u8);
                data.relocs.push(InitReloc { offset, bytes, shift, generic, target, addend });
            }
        }
        Some(())
    }

    fn initial_value(&mut self, expr: &Expr<'s>) -> Option<Value> {
        match expr {
            Expr::Const(value, _) => Some(Value::Const(*value)),
            Expr::Name(name) => {
                let entity = self.lookup(*name);
                let target = match entity {
                    Some(Entity::Var(var)) => {
                        let space = self.program.vars[var.0 as usize].space;
                        if !matches!(space, Space::Global | Space::Const) {
                            let message = "Variable used as initial value not in .global or .const state space";
                            self.diagnostics.push(Diagnostic::fatal(name.span, message));
                            return None;
                        }
                        SymbolRef::Var(var)
                    }
                    Some(Entity::Func(func)) => SymbolRef::Func(func),
                    _ => {
                        let message = format!("Invalid initial value symbol '{}'", name.text);
                        self.diagnostics.push(
                            Diagnostic::fatal(name.span, message)
                                .note("a variable or function that is declared above"),
                        );
                        return None;
                    }
                };
                Some(Value::Address { target, addend: 0, generic: false, shift: 0, mask: false })
            }
            Expr::Call(name, arguments) => match (name.text, arguments.first()) {
                ("generic", Some(inner @ Expr::Name(_))) => match self.initial_value(inner)? {
                    Value::Address {
                        target: target @ SymbolRef::Var(_),
                        addend,
                        shift,
                        mask,
                        ..
                    } => Some(Value::Address { target, addend, shift, generic: true, mask }),
                    _ => self.bad_initial_value(expr),
                },
                _ => self.bad_initial_value(expr),
            },
            Expr::Mask(mask, inner, span) => {
                self.mask_gate(*span);
                let shift = match *mask {
                    Const::Int { bits, .. } if bits != 0 => bits.trailing_zeros(),
                    _ => return self.bad_initial_value(expr),
                };
                let byte = Const::int(0xff).binary(Binary::Shl, Const::int(i64::from(shift)));
                if shift % 8 != 0 || byte.and_then(Const::as_i128) != mask.as_i128() && shift < 56 {
                    return self.bad_initial_value(expr);
                }
                match self.initial_value(inner)? {
                    Value::Address { target, addend, generic, .. } => {
                        Some(Value::Address { target, addend, generic, shift, mask: true })
                    }
                    Value::Const(value) => {
                        let shifted = value.binary(Binary::Shr, Const::int(i64::from(shift)))?;
                        Some(Value::Const(shifted.binary(Binary::And, Const::int(0xff))?))
                    }
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.initial_value(a)?, self.initial_value(b)?);
                match self.add(*op, a, b) {
                    Some(value) => Some(value),
                    None => self.bad_initial_value(expr),
                }
            }
            Expr::Unary(Unary::Plus, inner) => self.initial_value(inner),
            _ => self.bad_initial_value(expr),
        }
    }

    /// A variable's address may have a constant added behind it, nothing else. Observed: ptxas
    /// 13.0.88.
    fn add(&self, op: Binary, a: Value, b: Value) -> Option<Value> {
        let offset = |c: Const| c.as_i128().map(|v| v as i64);
        match (op, a, b) {
            (
                Binary::Add,
                Value::Address { target: target @ SymbolRef::Var(_), addend, generic, shift, mask },
                Value::Const(c),
            ) => {
                let addend = addend.wrapping_add(offset(c)?);
                Some(Value::Address { target, addend, generic, shift, mask })
            }
            (op, Value::Const(a), Value::Const(b)) => a.binary(op, b).map(Value::Const),
            _ => None,
        }
    }

    fn bad_initial_value(&mut self, expr: &Expr<'s>) -> Option<Value> {
        let message = "Invalid initial value: a constant, or a symbol plus a constant";
        self.diagnostics.push(Diagnostic::fatal(expr.span(), message));
        None
    }
}

/// Writes integers of so many bytes, as long as they are short ones and have a place; how many.
fn fill_short<const BYTES: usize>(numbers: &mut Numbers<'_>, place: &mut [u8]) -> usize {
    let (elements, _) = place.as_chunks_mut::<BYTES>();
    let mut done = 0;
    for element in elements {
        let Some(value) = numbers.short() else { break };
        if value != 0
            && let Some(bytes) = value.to_le_bytes().first_chunk()
        {
            *element = *bytes;
        }
        done += 1;
    }
    done
}

/// Writes an element; None where it has no place.
fn put(bytes: &mut [u8], at: usize, ty: Type, bits: u64) -> Option<()> {
    let width = ty.bytes() as usize;
    let place = bytes.get_mut(at..at + width)?;
    // Memory that nothing is written to costs nothing: a long list of zeros is none.
    if bits != 0 {
        place.copy_from_slice(&u128::from(bits).to_le_bytes()[..width]);
    }
    Some(())
}

/// The value's bits in a variable of this type; None where the type takes no such value. Observed:
/// ptxas 13.0.88.
fn bits(value: Const, ty: Type) -> Option<u64> {
    let single = |value: f64| u64::from((value as f32).to_bits());
    match (value, ty.kind()) {
        (Const::Int { bits, .. }, TypeKind::Bits | TypeKind::Signed | TypeKind::Unsigned) => {
            Some(bits)
        }
        (Const::F32(value), _) if matches!(ty, Type::F32 | Type::B32) => {
            Some(u64::from(value.to_bits()))
        }
        (Const::F64(value), _) if matches!(ty, Type::F32 | Type::B32) => Some(single(value)),
        (Const::F32(_) | Const::F64(_), TypeKind::Bits) => Some(value.as_f64().to_bits()),
        (Const::F32(_) | Const::F64(_), _) if ty == Type::F64 => Some(value.as_f64().to_bits()),
        _ => None,
    }
}
