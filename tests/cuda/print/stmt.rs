//! Statements.

use super::{Printer, function_name, type_name};
use crate::program::{Argument, Atomic, Case, Function, Lvalue, Stmt, Value, Warp, Word};
use crate::types::Scalar;

impl Printer<'_> {
    pub(super) fn list(&mut self, list: &[Stmt]) {
        for stmt in list {
            self.stmt(stmt);
        }
    }

    pub(super) fn inside(&mut self, list: &[Stmt]) {
        self.depth += 1;
        self.list(list);
        self.depth -= 1;
    }

    pub(super) fn fresh(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(into, expr) => {
                self.line(&format!("{} = {};", self.lvalue(into), self.expr(expr)));
            }
            Stmt::Copy(into, from) => {
                self.line(&format!("{} = {};", self.lvalue(into), self.lvalue(from)));
            }
            Stmt::Point { pointer, cond, one, other } => {
                let (one, other) = (self.lvalue(one), self.lvalue(other));
                let cond = self.cond(cond);
                self.line(&format!("v{pointer} = {cond} ? at({one}) : at({other});"));
            }
            Stmt::Out(slot, expr) => {
                let wide = match expr.ty() {
                    ty if ty.float() => "",
                    ty if ty.signed() => "(i64)",
                    _ => "(u64)",
                };
                self.line(&format!("out[{slot}] = bits({wide}{});", self.expr(expr)));
            }
            Stmt::If(cond, then, other) => {
                self.line(&format!("if ({}) {{", self.cond(cond)));
                self.inside(then);
                if !other.is_empty() {
                    self.line("} else {");
                    self.inside(other);
                }
                self.line("}");
            }
            Stmt::Masked(cond, then, other) => {
                let (mask, name) = (self.mask, self.fresh());
                let (yes, no) = (self.masks + 1, self.masks + 2);
                self.masks += 2;
                self.line("{");
                self.depth += 1;
                self.line(&format!("const bool c{name} = {};", self.cond(cond)));
                self.line(&format!("const u32 m{yes} = __ballot_sync(m{mask}, c{name});"));
                self.line(&format!("const u32 m{no} = m{mask} ^ m{yes};"));
                self.line(&format!("if (c{name}) {{"));
                self.mask = yes;
                self.inside(then);
                self.line("} else {");
                self.mask = no;
                self.inside(other);
                self.line("}");
                self.mask = mask;
                self.depth -= 1;
                self.line("}");
            }
            Stmt::Loop(this) => self.turns(this),
            Stmt::Switch(value, cases) => {
                self.line(&format!("switch ({}) {{", self.expr(value)));
                cases.iter().for_each(|case| self.case(case));
                self.line("}");
            }
            Stmt::Break => self.line("break;"),
            Stmt::Continue => self.line("continue;"),
            Stmt::Return(None) => self.line("return;"),
            Stmt::Return(Some(Value::Number(expr))) => {
                self.line(&format!("return {};", self.expr(expr)));
            }
            Stmt::Return(Some(Value::Struct(lvalue))) => {
                self.line(&format!("return {};", self.lvalue(lvalue)));
            }
            Stmt::Call { into, function, args } => {
                let callee = &self.program.functions[*function];
                let mut all: Vec<String> = args.iter().map(|a| self.argument(a)).collect();
                if callee.masked {
                    all.push(format!("m{}", self.mask));
                }
                let call =
                    format!("{}({});", function_name(self.program, *function), all.join(", "));
                match into {
                    Some(into) => self.line(&format!("{} = {call}", self.lvalue(into))),
                    None => self.line(&call),
                }
            }
            Stmt::Indirect { into, which, functions, args } => {
                self.indirect(into, functions, &self.expr(which), &self.exprs(args));
            }
            Stmt::Warp { into, op, ty, value, other, width } => {
                let (value, other) = (self.expr(value), self.expr(other));
                let text = self.warp(*op, *ty, &value, &other, *width);
                self.line(&format!("{} = {text};", self.lvalue(into)));
            }
            Stmt::OwnAtomic { into, at, op, ty: _, value, other } => {
                let (value, at) = (self.expr(value), self.lvalue(at));
                let operands = match op {
                    Atomic::CompareAndSwap => format!("{}, {value}", self.expr(other)),
                    _ => value,
                };
                let name = atomic(*op);
                self.line(&format!("{} = {name}(&{at}, {operands});", self.lvalue(into)));
            }
            Stmt::WordAtomic { global, word, value } => {
                let (place, words) = match global {
                    true => ("gw->", &self.program.global_words),
                    false => ("sw.", &self.program.shared_words),
                };
                let this: Word = words[*word];
                let value = self.expr(value);
                self.line(&format!("{}(&{place}w{word}, {value});", atomic(this.op)));
            }
            Stmt::Exchange { into, from, ty, thread } => {
                let thread = format!("(u32){} % {}", self.expr(thread), self.program.block);
                let from = self.lvalue_of(from, Some(&thread));
                self.between("__syncthreads()", *ty, &from, into);
            }
            Stmt::ExchangeInWarp { into, from, ty, lane } => {
                let (mask, lane) = (self.mask, self.expr(lane));
                let thread = format!("threadIdx.x / 32 * 32 + nth(m{mask}, (u32){lane})");
                let from = self.lvalue_of(from, Some(&thread));
                self.between(&format!("__syncwarp(m{mask})"), *ty, &from, into);
            }
            Stmt::ReadWord { into, word } => {
                let ty = self.program.shared_words[*word].ty;
                self.between("__syncthreads()", ty, &format!("sw.w{word}"), into);
            }
            Stmt::SyncCount { into, kind, cond } => {
                let name = ["__syncthreads_count", "__syncthreads_and", "__syncthreads_or"]
                    [*kind as usize % 3];
                let cond = self.cond(cond);
                // Of the other two the language says only zero or not.
                let text = match kind {
                    0 => format!("{name}({cond})"),
                    _ => format!("{name}({cond}) != 0"),
                };
                self.line(&format!("{} = {text};", self.lvalue(into)));
            }
        }
    }

    /// A value that another thread has written, read between two barriers.
    fn between(&mut self, barrier: &str, ty: Scalar, from: &str, into: &Lvalue) {
        let name = self.fresh();
        self.line("{");
        self.line(&format!("    {barrier};"));
        self.line(&format!("    const {} x{name} = {from};", ty.name()));
        self.line(&format!("    {barrier};"));
        self.line(&format!("    {} = x{name};", self.lvalue(into)));
        self.line("}");
    }

    fn argument(&self, argument: &Argument) -> String {
        match argument {
            Argument::Number(expr) => self.expr(expr),
            Argument::Value(lvalue) => self.lvalue(lvalue),
            Argument::Pointer(lvalue) => format!("at({})", self.lvalue(lvalue)),
        }
    }

    fn indirect(&mut self, into: &Lvalue, functions: &[usize], which: &str, args: &str) {
        let name = self.fresh();
        let callee: &Function = &self.program.functions[functions[0]];
        let ty = |index: usize| type_name(self.program, &callee.vars[index].ty);
        let types: Vec<String> = (0..callee.parameters).map(ty).collect();
        let result = callee.result.as_ref().map_or("void".into(), |ty| type_name(self.program, ty));
        let (first, count) = (function_name(self.program, functions[0]), functions.len());
        self.line("{");
        self.depth += 1;
        self.line(&format!("const u32 w{name} = (u32){which} % {count};"));
        self.line(&format!("{result} (*p{name})({}) = {first};", types.join(", ")));
        for (index, function) in functions.iter().enumerate().skip(1) {
            let other = function_name(self.program, *function);
            self.line(&format!("if (w{name} == {index}) p{name} = {other};"));
        }
        self.line(&format!("{} = p{name}({args});", self.lvalue(into)));
        self.depth -= 1;
        self.line("}");
    }

    fn warp(&self, op: Warp, ty: Scalar, value: &str, other: &str, width: u32) -> String {
        let mask = format!("m{}", self.mask);
        let shuffle = |name: &str| {
            let of = format!("(u32){other} % {width}");
            match width {
                32 => format!("{name}({mask}, {value}, {of})"),
                _ => format!("{name}({mask}, {value}, {of}, {width})"),
            }
        };
        match op {
            Warp::Shuffle => format!("__shfl_sync({mask}, {value}, nth({mask}, (u32){other}))"),
            Warp::ShuffleIndex => shuffle("__shfl_sync"),
            Warp::ShuffleUp => shuffle("__shfl_up_sync"),
            Warp::ShuffleDown => shuffle("__shfl_down_sync"),
            Warp::ShuffleXor => shuffle("__shfl_xor_sync"),
            Warp::Ballot => format!("__ballot_sync({mask}, {value} != 0)"),
            Warp::All => format!("__all_sync({mask}, {value} != 0) != 0"),
            Warp::Any => format!("__any_sync({mask}, {value} != 0) != 0"),
            Warp::MatchAny => format!("__match_any_sync({mask}, {value})"),
            Warp::MatchAll => format!("match_all({mask}, {value})"),
            Warp::Reduce(op) => {
                let name = atomic(op).trim_start_matches("atomic").to_lowercase();
                format!("({})__reduce_{name}_sync({mask}, {value})", ty.name())
            }
            Warp::Rank => {
                format!("__popc({mask} & ((1u << (threadIdx.x % 32)) - 1))")
            }
        }
    }

    fn case(&mut self, case: &Case) {
        for label in &case.labels {
            self.line(&format!("case {label}:"));
        }
        if case.default {
            self.line("default:");
        }
        self.inside(&case.body);
        if !case.falls {
            self.line("    break;");
        }
    }
}

fn atomic(op: Atomic) -> &'static str {
    match op {
        Atomic::Add => "atomicAdd",
        Atomic::Min => "atomicMin",
        Atomic::Max => "atomicMax",
        Atomic::And => "atomicAnd",
        Atomic::Or => "atomicOr",
        Atomic::Xor => "atomicXor",
        Atomic::Exchange => "atomicExch",
        Atomic::CompareAndSwap => "atomicCAS",
    }
}
