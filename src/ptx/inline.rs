//! Calls of device functions become their statements, before anything is compiled: where a function
//! is little more than what it costs to call it, and where a kernel calls it in one place only.
//!
//! ptxas was never seen to do so (13.0.88: functions of one instruction to 300, called once to four
//! times); what a call costs there is little, for it gives each function the registers that its
//! callers leave free. A call here costs what the ABI asks for.
//!
//! The variables that a call passes are those that the function names, in its copy: nothing is
//! copied. So a call stays that passes registers, and one of a function that takes the address of a
//! parameter. So do calls through pointers, of functions whose address something holds, that call
//! themselves, and that ask for room on the stack as they run. Instructions keep their places in
//! the text, and the lines that they come from.

use super::calls::{Call, call_of};
use super::code::{Instruction, Loc, SharedOperands, Words, WordsId};
use super::operand::{AddressBase, FuncId, LabelId, Operand, RegId, VarId};
use super::program::{Function, FunctionBody, Owned, Program, SymbolRef, Variable};
use super::types::{Space, Span};
use super::words::{Op, Word};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use std::sync::Arc;

/// What is inlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most instructions of the machine, about, of a function that is, wherever it is called,
    /// besides one for each word that it is passed and returns.
    pub small: usize,
    /// Most instructions of a function that is where it is called once.
    pub once: usize,
}

/// Instructions that a function has at most once others are part of it.
const MOST: usize = 1 << 16;

/// Calls that are followed, for all kernels: a module of many kernels that come to many functions
/// each keeps them.
const MOST_CALLS: usize = 1 << 20;

/// Words of values that count: more are passed in memory anyway.
const MOST_WORDS: usize = 16;

/// Puts functions in the place of calls; gives of how many.
pub fn inline(program: &mut Program<'_>, limits: Limits) -> usize {
    let is_device = |f: &Function<'_>| f.defined && !f.entry;
    if limits == (Limits { small: 0, once: 0 }) || !program.functions.iter().any(is_device) {
        return 0;
    }
    let calls: Vec<Vec<(usize, FuncId)>> = program.functions.iter().map(calls_of).collect();
    let order = in_order(&calls);
    let stays = staying(program, &order);
    let once = called_once(program, &calls);
    let mut owned: Vec<Vec<VarId>> =
        (0..program.functions.len() as u32).map(|f| program.owned.of(FuncId(f)).to_vec()).collect();
    let mut inlined = 0;
    // What is copied stays within the size of the module: of a long chain of calls each function
    // would else hold all that are below it.
    let all: usize = program.functions.iter().map(|f| f.code.len()).sum();
    let mut room = (2 * all).max(MOST);
    // Who is called comes before who calls.
    for caller in order {
        let mut size = program.functions[caller].code.len();
        let mut chosen = Vec::new();
        for &(at, callee) in &calls[caller] {
            let callee_at = callee.0 as usize;
            let of = &program.functions[callee_at];
            let length = of.code.len();
            let fits = once[callee_at] && length <= limits.once || is_small(program, of, limits);
            if stays[callee_at] || !fits || size + length > MOST || length > room {
                continue;
            }
            if let Some(renamed) = renamed(program, caller, &(at, callee)) {
                size += length;
                room -= length;
                chosen.push((at, callee, renamed));
            }
        }
        if !chosen.is_empty() {
            inlined += chosen.len();
            let body = rebuilt(program, caller, &chosen, &mut owned);
            program.functions[caller].body = Some(Arc::new(body));
        }
    }
    if inlined > 0 {
        program.owned = Owned::new(program.functions.len(), &program.vars);
    }
    inlined
}

/// A call's results, who is called, and arguments.
fn parts<'i>(call: &Instruction<'i>) -> Option<(&'i [Operand], &'i Operand, &'i [Operand])> {
    let list = |operand: Option<&'i Operand>| match operand {
        Some(Operand::List(list)) => Some(list.as_slice()),
        _ => None,
    };
    let results = list(call.operands.first());
    let at = usize::from(results.is_some());
    let arguments = list(call.operands.get(at + 1));
    Some((results.unwrap_or(&[]), call.operands.get(at)?, arguments.unwrap_or(&[])))
}

/// The calls of functions by their names.
fn calls_of(function: &Function<'_>) -> Vec<(usize, FuncId)> {
    let calls = function.code.iter().enumerate().filter(|(_, inst)| inst.opcode == Op::Call);
    let named = calls.filter_map(|(at, inst)| match parts(&inst)?.1 {
        Operand::Func(callee) => Some((at, *callee)),
        _ => None,
    });
    named.collect()
}

/// By function: whether no kernel comes to more than one call of it. Each kernel has its own copy
/// of all that it comes to.
fn called_once(program: &Program<'_>, calls: &[Vec<(usize, FuncId)>]) -> Vec<bool> {
    let mut once = vec![true; calls.len()];
    // By function, the last kernel that has come to it.
    let mut reached = vec![usize::MAX; calls.len()];
    let kernels = program.functions.iter().enumerate().filter(|(_, f)| f.entry && f.defined);
    let mut left = MOST_CALLS;
    for (kernel, _) in kernels.filter(|(kernel, _)| !calls[*kernel].is_empty()) {
        if left == 0 {
            once.fill(false);
            break;
        }
        let mut work = vec![kernel];
        while let Some(caller) = work.pop() {
            for &(_, FuncId(callee)) in &calls[caller] {
                let callee = callee as usize;
                match reached[callee] == kernel {
                    true => once[callee] = false,
                    false => work.push(callee),
                }
                reached[callee] = kernel;
            }
            left = left.saturating_sub(calls[caller].len());
        }
    }
    once
}

/// Whether a function is little more than what passes its values, a word each.
fn is_small(program: &Program<'_>, function: &Function<'_>, limits: Limits) -> bool {
    let words = |var: &VarId| program.vars[var.0 as usize].size.div_ceil(4) as usize;
    let passed: usize = function.params.iter().chain(&function.returns).map(words).sum();
    let most = limits.small + passed.min(MOST_WORDS);
    let mut work = 0;
    limits.small > 0
        && function.code.iter().all(|inst| {
            work += weight(&inst);
            work <= most
        })
}

/// About how many instructions of the machine one of PTX is.
fn weight(inst: &Instruction<'_>) -> usize {
    let is_wide = || inst.types.iter().any(|ty| ty.bytes() > 4);
    let multiplies = || matches!(inst.opcode, Op::Mul | Op::Mad | Op::Div | Op::Rem);
    match inst.opcode {
        Op::Ret => 0,
        Op::Ld | Op::St if inst.has(Word::Param) => 0,
        Op::Ld | Op::St => 1,
        _ if is_wide() && multiplies() => 4,
        _ if is_wide() => 2,
        _ => 1,
    }
}

/// By function: whether no call of it may be inlined.
fn staying(program: &Program<'_>, order: &[usize]) -> Vec<bool> {
    let mut stays = vec![true; program.functions.len()];
    order.iter().for_each(|function| stays[*function] = false);
    let mut taken = |function: &FuncId| stays[function.0 as usize] = true;
    for variable in &program.vars {
        for reloc in variable.relocs() {
            if let SymbolRef::Func(function) = &reloc.target {
                taken(function);
            }
        }
    }
    for function in &program.functions {
        function.call_targets.iter().flatten().for_each(&mut taken);
        for inst in &function.code {
            let callee = match inst.opcode {
                Op::Call => parts(&inst).map(|(_, callee, _)| callee),
                _ => None,
            };
            let others =
                inst.operands.iter().filter(|o| callee.is_none_or(|c| !std::ptr::eq(*o, c)));
            others.for_each(|operand| functions(operand, &mut taken));
        }
    }
    for (function, stays) in program.functions.iter().zip(&mut stays) {
        let rooms = [Op::Alloca, Op::Stacksave, Op::Stackrestore];
        *stays |= !function.defined
            || function.entry
            || function.code.iter().any(|inst| rooms.contains(&inst.opcode))
            || takes_address(program, function);
    }
    stays
}

/// Functions that an operand names.
fn functions(operand: &Operand, f: &mut impl FnMut(&FuncId)) {
    match operand {
        Operand::Func(function) => f(function),
        Operand::Vector(list) | Operand::AddressList(list) | Operand::List(list) => {
            list.iter().for_each(|operand| functions(operand, f));
        }
        Operand::Pair(both) => [&both.0, &both.1].into_iter().for_each(|o| functions(o, f)),
        _ => {}
    }
}

/// Whether a function holds the address of one of its parameters, or has one that is a register.
fn takes_address(program: &Program<'_>, function: &Function<'_>) -> bool {
    let formals: FxHashSet<VarId> =
        function.params.iter().chain(&function.returns).copied().collect();
    let is_open = |var: &VarId| {
        let var = &program.vars[var.0 as usize];
        var.space != Space::Param || var.size == 0
    };
    let names = |operand: &Operand| matches!(operand, Operand::Var(v, _) if formals.contains(v));
    let others = function.code.iter().filter(|inst| inst.opcode != Op::Call);
    formals.iter().any(is_open) || others.flat_map(|inst| inst.operands).any(names)
}

/// Functions, each behind those that it calls; without those that lead to one that calls itself.
fn in_order(calls: &[Vec<(usize, FuncId)>]) -> Vec<usize> {
    let mut open: Vec<usize> = calls.iter().map(Vec::len).collect();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
    for (caller, calls) in calls.iter().enumerate() {
        calls.iter().for_each(|(_, callee)| callers[callee.0 as usize].push(caller));
    }
    let mut order: Vec<usize> = (0..calls.len()).filter(|f| open[*f] == 0).collect();
    let mut at = 0;
    while let Some(&function) = order.get(at) {
        at += 1;
        for &caller in &callers[function] {
            open[caller] -= 1;
            if open[caller] == 0 {
                order.push(caller);
            }
        }
    }
    order
}

/// What the parameters of a call's function are in its caller: the variables that the call passes.
/// None where it passes something else.
fn renamed(
    program: &mut Program<'_>,
    caller: usize,
    call: &(usize, FuncId),
) -> Option<FxHashMap<VarId, VarId>> {
    let (from, to) = (&program.functions[caller], &program.functions[call.1.0 as usize]);
    let call = from.code.at(call.0);
    let (results, _, arguments) = parts(&call)?;
    if results.len() != to.returns.len() || arguments.len() != to.params.len() {
        return None;
    }
    let formals = to.returns.iter().chain(&to.params);
    let mut names: FxHashMap<VarId, VarId> = FxHashMap::default();
    let mut seen: FxHashSet<VarId> = FxHashSet::default();
    let own: &[VarId] = if from.entry { &from.params } else { &[] };
    for (formal, actual) in formals.zip(results.iter().chain(arguments)) {
        let Operand::Var(actual, offset) = actual else { return None };
        let [one, other] = [*formal, *actual].map(|var| &program.vars[var.0 as usize]);
        let is_same = other.space == Space::Param && one.size == other.size && offset.get() == 0;
        // A kernel's own parameters are constants.
        if !is_same || !seen.insert(*actual) || own.contains(actual) {
            return None;
        }
        names.insert(*formal, *actual);
    }
    for (formal, actual) in &names {
        let least = program.vars[formal.0 as usize].log_align;
        let align = &mut program.vars[actual.0 as usize].log_align;
        *align = (*align).max(least);
    }
    Some(names)
}

/// A call that is to go: where it stands, what it calls, and the names of its parameters.
type Chosen = (usize, FuncId, FxHashMap<VarId, VarId>);

/// A function with some of its calls inlined.
fn rebuilt<'s>(
    program: &mut Program<'s>,
    caller: usize,
    chosen: &[Chosen],
    owned: &mut [Vec<VarId>],
) -> FunctionBody<'s> {
    let old = program.functions[caller].clone();
    let code = old.code.begin_again();
    let mut new = Builder {
        body: FunctionBody { code, labels: Vec::new(), calls: Vec::new(), ..(*old).clone() },
        first_label: old.labels.len(),
        operands: SharedOperands::default(),
        words: FxHashMap::default(),
    };
    let mut places = Vec::with_capacity(old.code.len() + 1);
    let mut left = chosen.iter().peekable();
    for at in 0..old.code.len() {
        places.push(new.body.code.len());
        let Some((_, callee, names)) = left.next_if(|chosen| chosen.0 == at) else {
            new.called(call_of(&old.calls, at));
            new.body.code.take_over(&old.code, at);
            continue;
        };
        let mut names = names.clone();
        let callee_at = callee.0 as usize;
        // Each copy has variables of its own, but for those that are there once.
        for var in owned[callee_at].clone() {
            let variable = &program.vars[var.0 as usize];
            if matches!(variable.space, Space::Param | Space::Local) && !names.contains_key(&var) {
                let copy = VarId(program.vars.len() as u32);
                let variable = variable.clone();
                program.vars.push(Variable { owner: caller as u32, ..variable });
                owned[caller].push(copy);
                names.insert(var, copy);
            }
        }
        let function = program.functions[callee_at].clone();
        let call = old.code.at(at);
        let by = Arc::new(Call {
            name: function.name.to_string(),
            at: call.span.start,
            loc: old.code.loc(at),
            inside: call_of(&old.calls, at).cloned(),
        });
        new.splice(&function, (&call, &by), &names);
    }
    places.push(new.body.code.len());
    let own = old.labels.iter().map(|(at, name)| (places[*at], *name));
    let labels = own.chain(new.body.labels.drain(..)).collect();
    new.operands.close();
    FunctionBody { labels, ..new.body }
}

/// A function's body on its way.
struct Builder<'s> {
    /// Without the labels that it had before: those of others come behind them.
    body: FunctionBody<'s>,
    first_label: usize,
    operands: SharedOperands,
    /// Numbers of the words of others.
    words: FxHashMap<*const Words, WordsId>,
}

/// What another function's names are here.
struct Names<'n> {
    vars: &'n FxHashMap<VarId, VarId>,
    first_reg: u32,
    first_label: u32,
    first_targets: u32,
    first_callees: u32,
    first_prototype: u32,
}

impl<'s> Builder<'s> {
    /// Adds a function's statements in place of a call.
    fn splice(
        &mut self,
        function: &Function<'s>,
        (call, by): (&Instruction<'_>, &Arc<Call>),
        vars: &FxHashMap<VarId, VarId>,
    ) {
        let Builder { body, first_label, .. } = self;
        let names = Names {
            vars,
            first_reg: body.regs.len() as u32,
            first_label: (*first_label + body.labels.len()) as u32,
            first_targets: body.branch_targets.len() as u32,
            first_callees: body.call_targets.len() as u32,
            first_prototype: body.prototypes.len() as u32,
        };
        body.regs.extend_from_slice(&function.regs);
        body.branch_targets.extend(
            function
                .branch_targets
                .iter()
                .map(|targets| targets.iter().map(|label| names.label(*label)).collect()),
        );
        body.call_targets.extend_from_slice(&function.call_targets);
        for (returns, params) in &function.prototypes {
            let all = [returns, params].map(|vars| vars.iter().map(|v| names.var(*v)).collect());
            let [returns, params] = all;
            body.prototypes.push((returns, params));
        }
        for label in function.rolled.iter().flat_map(|labels| labels.iter()) {
            body.rolled.get_or_insert_default().push(names.label(*label));
        }
        let end = LabelId(names.first_label + function.labels.len() as u32);
        self.called(by.inside.as_ref());
        if let Some((guard, negated)) = call.guard {
            self.branch(Some((guard, !negated)), end, (call.span, by.loc));
        }
        let mut places = Vec::with_capacity(function.code.len() + 1);
        let last = function.code.len().saturating_sub(1);
        // The calls of the function's own statements, in this one.
        let mut calls = function.calls.iter().peekable();
        self.called(Some(by));
        for ((at, inst), loc) in function.code.iter().enumerate().zip(function.code.locs()) {
            while let Some((_, call)) = calls.next_if(|(from, _)| *from as usize == at) {
                let call = call.as_ref().map_or(by.clone(), |call| call.within(by));
                self.called(Some(&call));
            }
            places.push(self.body.code.len());
            let guard = inst.guard.map(|(reg, negated)| (names.reg(reg), negated));
            match inst.opcode {
                Op::Ret if at == last && guard.is_none() => {}
                Op::Ret => self.branch(guard, end, (inst.span, loc)),
                _ => {
                    let id = self.words(inst.words);
                    let loc = if loc.0 == 0 { by.loc } else { loc };
                    let operands = inst.operands.iter().map(|operand| names.operand(operand));
                    self.push(guard, id, operands.collect(), (inst.span, loc));
                }
            }
        }
        let code = self.body.code.len();
        places.push(code);
        let labels = function.labels.iter().map(|(at, name)| (places[*at], *name));
        self.body.labels.extend(labels);
        self.body.labels.push((code, ""));
    }

    /// What comes now was inlined by this call.
    fn called(&mut self, call: Option<&Arc<Call>>) {
        let (calls, next) = (&mut self.body.calls, self.body.code.len() as u32);
        if calls.last().and_then(|(_, last)| last.as_ref()) != call {
            calls.push((next, call.cloned()));
        }
    }

    /// A branch, in an instruction's place.
    fn branch(&mut self, guard: Option<(RegId, bool)>, to: LabelId, place: (Span, Loc)) {
        let words = Arc::new(Words::new(Op::Bra, smallvec![]));
        let id = self.body.code.own(words);
        self.push(guard, id, vec![Operand::Label(to)], place);
    }

    fn words(&mut self, words: &Arc<Words>) -> WordsId {
        let code = &mut self.body.code;
        *self.words.entry(Arc::as_ptr(words)).or_insert_with(|| code.own(words.clone()))
    }

    fn push(
        &mut self,
        guard: Option<(RegId, bool)>,
        words: WordsId,
        operands: Vec<Operand>,
        place: (Span, Loc),
    ) {
        let start = self.operands.begin(operands.len());
        operands.into_iter().for_each(|operand| self.operands.push(operand));
        let operands = self.operands.end(start, &mut self.body.code);
        self.body.code.push(guard, words, operands, place);
    }
}

impl Names<'_> {
    fn reg(&self, reg: RegId) -> RegId {
        RegId(self.first_reg + reg.0)
    }

    fn label(&self, label: LabelId) -> LabelId {
        LabelId(self.first_label + label.0)
    }

    fn var(&self, var: VarId) -> VarId {
        self.vars.get(&var).copied().unwrap_or(var)
    }

    fn operand(&self, operand: &Operand) -> Operand {
        let all = |list: &[Operand]| list.iter().map(|operand| self.operand(operand)).collect();
        match operand {
            Operand::Reg(reg) => Operand::Reg(self.reg(*reg)),
            Operand::NotReg(reg) => Operand::NotReg(self.reg(*reg)),
            Operand::Element(reg, at) => Operand::Element(self.reg(*reg), *at),
            Operand::Part(reg, part) => Operand::Part(self.reg(*reg), *part),
            Operand::Neg(of) => Operand::Neg(Box::new(self.operand(of))),
            Operand::Vector(list) => Operand::Vector(all(list)),
            Operand::AddressList(list) => Operand::AddressList(all(list)),
            Operand::List(list) => Operand::List(all(list)),
            Operand::Pair(both) => {
                Operand::Pair(Box::new((self.operand(&both.0), self.operand(&both.1))))
            }
            Operand::Address { base, offset } => {
                let base = match base {
                    AddressBase::Reg(reg) => AddressBase::Reg(self.reg(*reg)),
                    AddressBase::Var(var) => AddressBase::Var(self.var(*var)),
                    AddressBase::Absolute => AddressBase::Absolute,
                };
                Operand::Address { base, offset: *offset }
            }
            Operand::Var(var, offset) => Operand::Var(self.var(*var), *offset),
            Operand::Label(label) => Operand::Label(self.label(*label)),
            Operand::BranchTargets(list) => Operand::BranchTargets(self.first_targets + list),
            Operand::CallTargets(list) => Operand::CallTargets(self.first_callees + list),
            Operand::Prototype(list) => Operand::Prototype(self.first_prototype + list),
            Operand::Int(_)
            | Operand::F32(_)
            | Operand::F64(_)
            | Operand::Special(_)
            | Operand::Func(_)
            | Operand::Sink => operand.clone(),
        }
    }
}
