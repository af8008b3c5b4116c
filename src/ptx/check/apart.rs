//! A large module that several checkers read: each reads all that stands outside of bodies, and of
//! the bodies its own alone. So each knows at a body just what a single one would know there, but
//! for the variables of bodies that are not its own: their numbers come in at the end.
//!
//! This is for modules without errors. Of all others nothing is kept: who reads them again alone
//! finds the errors in their order.

use super::Checker;
use super::labels::Ends;
use super::limits::{MOST_VARIABLES, most_in_bodies};
use super::own_bodies::{Apart, Body};
use crate::list::List;
use crate::ptx::code::LaterOperands;
use crate::ptx::lexer::Lexer;
use crate::ptx::parser;
use crate::ptx::program::{
    AddressBase, FunctionBody, Operand, Owned, Program, SymbolRef, VarId, Variable,
};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Fewer are not worth it.
const FEW_BODIES: usize = 8;

/// What stands outside of bodies each checker reads again: with more of them there would be little
/// else.
const MOST_CHECKERS: usize = 8;

/// Of the text one body is at most such a part: with a larger one the others have little to do.
const LARGEST_BODY: usize = 2;

/// Where bodies are, if nothing is wrong with the text: braces that are no function's may be among
/// them. Who reads a body looks whether it ends there. None where one is too large.
fn bodies(source: &str) -> Option<Vec<Body>> {
    let bytes = source.as_bytes();
    let most = bytes.len() / LARGEST_BODY;
    let mut all = Vec::new();
    let mut lexer = Lexer::new(source);
    let mut ends = Ends::new(bytes, 0);
    let (mut at, mut depth) = (0, 0u32);
    // Behind the braces before, and the outermost that is open.
    let (mut begin, mut open) = (0, 0);
    while let Some(next) = ends.next(at) {
        at = next + 1;
        if depth > 0 && next - open > most {
            return None;
        }
        match bytes.get(next) {
            Some(b'{') => {
                if depth == 0 {
                    open = next;
                }
                depth += 1;
            }
            Some(b'}') if depth <= 1 => {
                depth = 0;
                let head = source.get(begin..open).unwrap_or("");
                if head.contains(".entry") || head.contains(".func") {
                    all.push(Body { open: open as u32, end: at as u32 });
                }
                begin = at;
            }
            Some(b'}') => depth -= 1,
            Some(b'/' | b'"') => {
                lexer.rewind(next as u32);
                at = lexer.end_of_no_code().max(at);
            }
            _ => {}
        }
    }
    Some(all)
}

/// Neighbours, so that all have about as much to read.
fn shares(bodies: &[Body], inside: usize, count: usize) -> Vec<Range<usize>> {
    let mut shares = Vec::with_capacity(count);
    let (mut begin, mut bytes) = (0, 0);
    for (i, body) in bodies.iter().enumerate() {
        bytes += (body.end - body.open) as usize;
        if bytes * count >= inside * (shares.len() + 1) {
            shares.push(begin..i + 1);
            begin = i + 1;
        }
    }
    shares
}

/// Reads a module in the threads of the pool that this runs in; None where it has to be read by
/// one.
pub(in super::super) fn load(source: &str) -> Option<Program<'_>> {
    let threads = rayon::current_num_threads().min(MOST_CHECKERS);
    if threads < 2 || u32::try_from(source.len()).is_err() {
        return None;
    }
    let bodies: Arc<[Body]> = bodies(source)?.into();
    let inside = bodies.iter().map(|body| (body.end - body.open) as usize).sum();
    if bodies.len() < FEW_BODIES || inside < source.len() / 2 {
        return None;
    }
    let shares = shares(&bodies, inside, threads).into_par_iter().with_max_len(1);
    let parts: Option<Vec<Part<'_>>> =
        shares.map(|own| Part::read(source, bodies.clone(), own)).collect();
    merge(source, parts?)
}

/// What one checker makes of a module.
struct Part<'s> {
    program: Program<'s>,
    operands: Vec<LaterOperands>,
    /// See [`Apart`].
    variables: Vec<Range<usize>>,
    in_bodies: usize,
    in_memory: usize,
}

impl<'s> Part<'s> {
    /// None where anything is wrong.
    fn read(source: &'s str, bodies: Arc<[Body]>, own: Range<usize>) -> Option<Part<'s>> {
        let mut checker = Checker::new(source);
        let (variables, passed) = (Vec::with_capacity(bodies.len()), None);
        let apart = Apart { bodies, own, next: 0, end: 0, passed, variables, odd: false };
        checker.apart = Some(Box::new(apart));
        checker.shared.wait();
        let said = parser::parse(source, &mut checker);
        checker.close();
        let apart = *checker.apart.take()?;
        // A range's variables are made where they are first used, in whatever body that is.
        let whole = said.is_empty() && checker.diagnostics.is_empty() && !apart.odd;
        (whole && checker.variable_ranges.is_empty()).then(|| Part {
            operands: checker.shared.take_later(),
            variables: apart.variables,
            in_bodies: checker.body_variables,
            in_memory: checker.memory_variables,
            program: checker.program,
        })
    }

    /// The numbers of its variables in the whole program.
    fn numbers(&self, all: &[Part<'_>]) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.program.vars.len());
        let (mut number, mut before) = (0, 0);
        let mut put = |count, number: &mut usize| {
            numbers.extend((*number..*number + count).map(|number| number as u32));
            *number += count;
        };
        for (i, own) in self.variables.iter().enumerate() {
            put(own.start - before, &mut number);
            let start = number;
            put(own.len(), &mut number);
            number = start + all.iter().map(|part| part.variables[i].len()).sum::<usize>();
            before = own.end;
        }
        put(self.program.vars.len() - before, &mut number);
        numbers
    }

    /// Gives its variables other numbers, wherever they are named.
    fn renumber(&mut self, numbers: &[u32]) {
        if !numbers.iter().enumerate().all(|(i, number)| i == *number as usize) {
            let put = |var: &mut VarId| var.0 = numbers[var.0 as usize];
            for list in &mut self.operands {
                list.list.iter_mut().for_each(|operand| each_variable(operand, &put));
            }
            for function in &mut self.program.functions {
                function.returns.iter_mut().chain(&mut function.params).for_each(put);
                let body = function.body.as_mut().and_then(Arc::get_mut);
                let Some(FunctionBody { prototypes, .. }) = body else { continue };
                for i in 0..prototypes.len() {
                    let (returns, params) = &mut prototypes[i];
                    returns.iter_mut().chain(params).for_each(put);
                }
            }
            for i in 0..self.program.vars.len() {
                each_address(&mut self.program.vars[i], put);
            }
        }
        self.operands.drain(..).for_each(LaterOperands::set);
    }
}

fn each_variable(operand: &mut Operand, put: &impl Fn(&mut VarId)) {
    match operand {
        Operand::Var(var, _) => put(var),
        Operand::Address { base: AddressBase::Var(var), .. } => put(var),
        Operand::Vector(list) | Operand::AddressList(list) | Operand::List(list) => {
            list.iter_mut().for_each(|operand| each_variable(operand, put));
        }
        Operand::Pair(both) => {
            let (first, second) = &mut **both;
            each_variable(first, put);
            each_variable(second, put);
        }
        Operand::Neg(inner) => each_variable(inner, put),
        Operand::Reg(_)
        | Operand::NotReg(_)
        | Operand::Element(..)
        | Operand::Part(..)
        | Operand::Int(_)
        | Operand::F32(_)
        | Operand::F64(_)
        | Operand::Special(_)
        | Operand::Address { base: AddressBase::Reg(_) | AddressBase::Absolute, .. }
        | Operand::Func(_)
        | Operand::Label(_)
        | Operand::BranchTargets(_)
        | Operand::CallTargets(_)
        | Operand::Prototype(_)
        | Operand::Sink => {}
    }
}

/// Of an initial value.
fn each_address(variable: &mut Variable, put: impl Fn(&mut VarId)) {
    let relocs = variable.init.as_mut().and_then(|init| init.relocs.as_deref_mut());
    let Some(relocs) = relocs else { return };
    for i in 0..relocs.len() {
        if let SymbolRef::Var(var) = &mut relocs[i].target {
            put(var);
        }
    }
}

/// Makes one program of them; None where it may have more than a program may.
fn merge<'s>(source: &str, mut parts: Vec<Part<'s>>) -> Option<Program<'s>> {
    let in_bodies: usize = parts.iter().map(|part| part.in_bodies).sum();
    // Those of the module are counted more than once.
    let in_memory: usize = parts.iter().map(|part| part.in_memory).sum();
    let met = parts.first()?.variables.len();
    let same = parts.iter().all(|part| part.variables.len() == met);
    if !same || in_bodies > most_in_bodies(source) || in_memory > MOST_VARIABLES {
        return None;
    }
    let numbers: Vec<Vec<u32>> = parts.par_iter().map(|part| part.numbers(&parts)).collect();
    parts.par_iter_mut().zip(&numbers).for_each(|(part, numbers)| part.renumber(numbers));
    let mut parts = parts.into_iter();
    let Part { mut program, variables, .. } = parts.next()?;
    let mut lists = vec![(std::mem::take(&mut program.vars).into_iter(), variables)];
    for part in parts {
        for (own, other) in program.functions.iter_mut().zip(part.program.functions) {
            own.body = own.body.take().or(other.body);
        }
        lists.push((part.program.vars.into_iter(), part.variables));
    }
    program.vars = in_order(met, lists);
    program.owned = Owned::new(program.functions.len(), &program.vars);
    Some(program)
}

/// All variables in the order of the text, of the lists of those who met so many bodies: all have
/// what stands outside of bodies.
fn in_order(
    met: usize,
    mut lists: Vec<(impl Iterator<Item = Variable>, Vec<Range<usize>>)>,
) -> List<Variable> {
    let mut all = List::new();
    let mut before = 0;
    for i in 0..met {
        let outside = lists[0].1[i].start - before;
        before = lists[0].1[i].end;
        for (number, (list, _)) in lists.iter_mut().enumerate() {
            let outside = list.by_ref().take(outside);
            match number {
                0 => outside.for_each(|variable| all.push(variable)),
                _ => outside.for_each(drop),
            }
        }
        for (list, ranges) in &mut lists {
            list.by_ref().take(ranges[i].len()).for_each(|variable| all.push(variable));
        }
    }
    lists.swap_remove(0).0.for_each(|variable| all.push(variable));
    all
}
