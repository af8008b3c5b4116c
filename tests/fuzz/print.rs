//! The PTX text of a program.

use crate::program::{
    Call, Class, Cond, Depth, End, Function, Graph, If, Loop, Op, Operand, Piece, Program, Slot,
    Stmt, Switch, Var,
};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bytes of a thread's row in the buffers `input` and `own`.
pub const ROW: usize = 64;

/// Bytes of shared and of local memory that a thread has to itself.
pub const OWN: usize = 32;

/// Bytes of shared memory that a thread fills for its warpgroup's matrices.
const GROUP_OWN: usize = 128;

/// What stands before all programs of a module.
pub fn head() -> String {
    let words: Vec<String> = (0..16u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b9) ^ 0x7f4a_7c15 >> (i % 7)).to_string())
        .collect();
    format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n\n.const .align 16 .b32 fuzz_table[16] = {{{}}};\n",
        words.join(", ")
    )
}

/// A module with one program.
pub fn module(program: &Program) -> String {
    format!("{}\n{}", head(), entry(program))
}

/// The name of a program's kernel.
pub fn name(program: &Program) -> String {
    format!("k{}", program.seed)
}

/// A program's functions and kernel, without the module's head.
pub fn entry(program: &Program) -> String {
    let mut printer =
        Printer { program, text: String::new(), labels: 0, function: &program.kernel };
    let called = called(program);
    for (index, function) in program.functions.iter().enumerate() {
        if called.contains(&index) {
            printer.device_function(index, function);
        }
    }
    printer.kernel();
    printer.text
}

/// The functions that the kernel reaches.
fn called(program: &Program) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut bodies = vec![program.kernel.body.clone()];
    while let Some(mut body) = bodies.pop() {
        let mut found = Vec::new();
        for stmt in &mut body {
            if let Stmt::Call(call) = stmt {
                found.push(call.function);
                found.extend(call.indirect.map(|i| i.1));
            }
            stmt.children(&mut |list| bodies.push(list.clone()));
        }
        for function in found {
            if reached.insert(function) {
                bodies.push(program.functions[function].body.clone());
            }
        }
    }
    reached
}

struct Printer<'a> {
    program: &'a Program,
    function: &'a Function,
    text: String,
    labels: u32,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "    {text}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}_{}", self.program.seed, self.labels)
    }

    fn place(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    fn var(&self, var: Var) -> String {
        format!("%{}{}", self.function.info(var).class.letters(), var.0)
    }

    fn operand(&self, operand: &Operand, class: Class) -> String {
        match operand {
            Operand::Var(var) => self.var(*var),
            Operand::Not(var) => format!("!{}", self.var(*var)),
            Operand::Bits(bits) => constant(*bits, class),
            Operand::Text(text) => text.clone(),
        }
    }

    fn cond(&self, cond: Cond) -> String {
        format!("@{}{}", if cond.negated { "!" } else { "" }, self.var(cond.var))
    }

    fn kernel(&mut self) {
        let program = self.program;
        self.function = &program.kernel;
        let body = self.body(&program.kernel.body);
        let declared = self.declarations(&program.kernel);
        let _ = write!(
            self.text,
            "\n.visible .entry {}(.param .u64 input, .param .u64 output, .param .u64 own, .param .u64 every, .param .u32 n,\n    \
             .param .u64 wide, .param .f32 single, .param .f64 double, .param .align 16 .b8 block[32])\n",
            name(program)
        );
        if let Some(most) = program.most_registers {
            let _ = writeln!(self.text, ".maxnreg {most}");
        }
        self.text.push_str("{\n");
        self.text.push_str(&declared);
        self.prologue(&body);
        self.text.push_str(&body);
        self.line("ret;");
        self.text.push_str("}\n");
    }

    /// The addresses that the body uses.
    fn prologue(&mut self, body: &str) {
        let program = self.program;
        let uses = |names: &[&str]| names.iter().any(|name| body.contains(name));
        let threads = program.threads();
        let (_, row) = program.layout();
        self.line(".reg .b32 %lin, %gid;");
        if program.block[1] == 1 && program.block[2] == 1 {
            self.line("mov.u32 %lin, %tid.x;");
        } else {
            self.line("{ .reg .b32 %t, %u, %v; mov.u32 %t, %tid.z; mov.u32 %u, %ntid.y; mov.u32 %v, %tid.y; mad.lo.u32 %t, %t, %u, %v;");
            self.line("  mov.u32 %u, %ntid.x; mov.u32 %v, %tid.x; mad.lo.u32 %lin, %t, %u, %v; }");
        }
        self.line(&format!("mov.u32 %gid, %ctaid.x; mad.lo.u32 %gid, %gid, {threads}, %lin;"));
        let shared = uses(&["%sha", "%shb", "%shg", "%shw"]);
        let local = uses(&["%loa", "%log"]);
        let mut base = |names: &[&str], register: &str, param: &str, size: usize| {
            if uses(names) {
                self.line(&format!(".reg .b64 {register};"));
                let address = match size {
                    0 => String::new(),
                    _ => format!(" mad.wide.u32 {register}, %gid, {size}, {register};"),
                };
                self.line(&format!(
                    "ld.param.u64 {register}, [{param}]; cvta.to.global.u64 {register}, {register};{address}"
                ));
            }
        };
        let warps = uses(&["%mxs", "%mxt", "%mxl"]);
        if shared || local || warps {
            base(&[""], "%in", "input", ROW);
        } else {
            base(&["%in"], "%in", "input", ROW);
        }
        base(&["%out"], "%out", "output", row);
        base(&["%rw", "%mxr"], "%rw", "own", ROW);
        base(&["%all"], "%all", "every", 0);
        if uses(&["%wm"]) {
            // The lanes that the thread's warp has.
            self.line(&format!(
                ".reg .b32 %wm; {{ .reg .b32 %t; shr.u32 %t, %lin, 5; shl.b32 %t, %t, 5; sub.u32 %t, {threads}, %t; bmsk.clamp.b32 %wm, 0, %t; }}"
            ));
        }
        if shared {
            let bytes = threads as usize * OWN + 8;
            self.line(&format!(".shared .align 16 .b8 sh[{bytes}];"));
            self.line(&format!(".reg .b32 %sha, %shb, %shw; mov.u32 %shb, sh; mad.lo.u32 %sha, %lin, {OWN}, %shb; add.u32 %shw, %shb, {};", threads as usize * OWN));
            self.line(
                ".reg .b64 %shg; { .reg .b64 %t; cvt.u64.u32 %t, %sha; cvta.shared.u64 %shg, %t; }",
            );
            self.fill("st.shared", "%sha");
        }
        if uses(&["%mxr"]) {
            self.line(".reg .b64 %mxr; { .reg .b32 %t; mov.u32 %t, %laneid; mad.wide.s32 %mxr, %t, -64, %rw; }");
        }
        if warps {
            self.warps();
        }
        if uses(&["%wgt", "%wgd"]) {
            self.warpgroups();
        }
        if local {
            self.line(&format!(".local .align 16 .b8 lo[{OWN}];"));
            self.line(".reg .b64 %loa, %log; mov.u64 %loa, lo; cvta.local.u64 %log, %loa;");
            self.fill("st.local", "%loa");
        }
    }

    /// The warp's shared memory, with what is in the lanes' inputs.
    fn warps(&mut self) {
        let bytes = self.program.threads() as usize * ROW;
        self.line(&format!(".shared .align 128 .b8 mx[{bytes}];"));
        self.line(&format!(
            ".reg .b32 %mxs, %mxt; mov.u32 %mxs, mx; mad.lo.u32 %mxt, %lin, {ROW}, %mxs; {{ .reg .b32 %t; mov.u32 %t, %laneid; mad.lo.s32 %mxs, %t, -{ROW}, %mxt; }}"
        ));
        self.line(
            ".reg .b64 %mxl; { .reg .b64 %t; cvt.u64.u32 %t, %mxs; cvta.shared.u64 %mxl, %t; }",
        );
        for at in (0..ROW).step_by(16) {
            self.line(&format!("{{ .reg .b64 %t, %u; ld.global.v2.b64 {{%t, %u}}, [%in+{at}]; st.shared.v2.b64 [%mxt+{at}], {{%t, %u}}; }}"));
        }
    }

    /// The warpgroup's shared memory.
    fn warpgroups(&mut self) {
        let bytes = self.program.threads() as usize * GROUP_OWN;
        self.line(&format!(".shared .align 1024 .b8 wg[{bytes}];"));
        self.line(&format!(
            ".reg .b32 %wgt; .reg .b64 %wgd; {{ .reg .b32 %t; mov.u32 %t, wg; mad.lo.u32 %wgt, %lin, {GROUP_OWN}, %t; {{ .reg .b32 %u; shr.u32 %u, %lin, 7; mad.lo.u32 %t, %u, 16384, %t; }} and.b32 %t, %t, 0x3ffff; shr.u32 %t, %t, 4; cvt.u64.u32 %wgd, %t; }}"
        ));
    }

    /// Own memory starts with the thread's input.
    fn fill(&mut self, store: &str, address: &str) {
        self.line(&format!(
            "{{ .reg .b64 %t, %u; ld.global.v2.b64 {{%t, %u}}, [%in]; {store}.v2.b64 [{address}], {{%u, %t}}; ld.global.v2.b64 {{%t, %u}}, [%in+16]; {store}.v2.b64 [{address}+16], {{%u, %t}}; }}"
        ));
    }

    fn device_function(&mut self, index: usize, function: &Function) {
        let program = self.program;
        let function_of = std::mem::replace(&mut self.function, &program.functions[index]);
        let body = self.body(&function.body);
        let declared = self.declarations(function);
        let _ = writeln!(
            self.text,
            "\n.func {}\n{{",
            self.signature(index, &function_name(program, index))
        );
        self.text.push_str(&declared);
        if function.recursive {
            self.line(".reg .b32 %depth; ld.param.u32 %depth, [depth];");
        }
        for (i, var) in function.params.iter().enumerate() {
            let ty = function.info(*var).class.register();
            self.line(&format!("ld.param.{ty} {}, [a{i}];", self.var(*var)));
        }
        self.text.push_str(&body);
        self.leave();
        self.text.push_str("}\n");
        self.function = function_of;
    }

    /// `(results) name (parameters)`
    fn signature(&self, index: usize, name: &str) -> String {
        let function = &self.program.functions[index];
        let param = |var: &Var, name: String| {
            format!(".param .{} {name}", function.info(*var).class.register())
        };
        let results: Vec<String> =
            function.results.iter().enumerate().map(|(i, v)| param(v, format!("o{i}"))).collect();
        let mut params: Vec<String> = Vec::new();
        if function.recursive {
            params.push(".param .u32 depth".to_string());
        }
        params.extend(function.params.iter().enumerate().map(|(i, v)| param(v, format!("a{i}"))));
        format!("({}) {name} ({})", results.join(", "), params.join(", "))
    }

    fn leave(&mut self) {
        for (i, var) in self.function.results.iter().enumerate() {
            let ty = self.function.info(*var).class.register();
            self.line(&format!("st.param.{ty} [o{i}], {};", self.var(*var)));
        }
        self.line("ret;");
    }

    /// The body's text apart from the rest.
    fn body(&mut self, body: &[Stmt]) -> String {
        let before = std::mem::take(&mut self.text);
        self.list(body);
        std::mem::replace(&mut self.text, before)
    }

    /// Registers, and the first values of those that are not written before they are read.
    fn declarations(&self, function: &Function) -> String {
        let results = function.results.clone();
        let mut walk = Assigned { read: BTreeSet::new(), used: BTreeSet::new(), results };
        let mut known: BTreeSet<Var> = function.params.iter().copied().collect();
        walk.list(&function.body, &mut known);
        for var in &function.results {
            walk.read(*var, &known);
        }
        walk.used.extend(&function.params);
        let mut text = String::new();
        for class in Class::ALL {
            let names: Vec<String> = walk
                .used
                .iter()
                .filter(|v| function.info(**v).class == class)
                .map(|v| self.var(*v))
                .collect();
            if !names.is_empty() {
                let _ = writeln!(text, "    .reg .{} {};", class.register(), names.join(", "));
            }
        }
        if !walk.read.is_empty() && !self.program.constants {
            // A grid has one row: a zero that no compiler knows.
            text.push_str("    .reg .b32 %zero; mov.u32 %zero, %ctaid.y;\n");
        }
        for var in &walk.read {
            let name = self.var(*var);
            let class = function.info(*var).class;
            if !self.program.constants {
                text.push_str(&unknown_zero(&name, class));
                continue;
            }
            let _ = match class {
                Class::Pred => writeln!(text, "    setp.ne.s32 {name}, 0, 0;"),
                Class::B128 => writeln!(
                    text,
                    "    {{ .reg .b64 %t; mov.b64 %t, 0; mov.b128 {name}, {{%t, %t}}; }}"
                ),
                class => {
                    writeln!(text, "    mov.{} {name}, {};", class.register(), constant(0, class))
                }
            };
        }
        text
    }

    fn list(&mut self, list: &[Stmt]) {
        for stmt in list {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Op(op) => self.op(op),
            Stmt::Store { slot, var } => self.store(*slot, *var),
            Stmt::If(inner) => self.branch(inner),
            Stmt::Loop(inner) => self.repeat(inner),
            Stmt::Switch(inner) => self.switch(inner),
            Stmt::Graph(inner) => self.graph(inner),
            Stmt::Leave(cond) => {
                let cond = self.cond(*cond);
                if self.function.results.is_empty() {
                    self.line(&format!("{cond} exit;"));
                } else {
                    let (out, on) = (self.label(), self.label());
                    self.line(&format!("{cond} bra {out};"));
                    self.line(&format!("bra {on};"));
                    self.place(&out);
                    self.leave();
                    self.place(&on);
                }
            }
            // The loop that they stand in has named its ends.
            Stmt::Break(cond) => {
                let cond = self.cond(*cond);
                self.line(&format!("{cond} bra BREAK;"));
            }
            Stmt::Continue(cond) => {
                let cond = self.cond(*cond);
                self.line(&format!("{cond} bra CONTINUE;"));
            }
            Stmt::Call(call) => self.call(call),
        }
    }

    fn op(&mut self, op: &Op) {
        let mut text = String::new();
        if let Some(guard) = op.guard {
            let _ = write!(text, "{} ", self.cond(guard));
        }
        for piece in &op.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Slot(slot) => match &op.slots[*slot] {
                    Slot::Def(var) | Slot::Change(var) => text.push_str(&self.var(*var)),
                    Slot::Use { operand, class, .. } => {
                        text.push_str(&self.operand(operand, *class));
                    }
                    Slot::Fixed(operand) => text.push_str(&self.operand(operand, Class::B32)),
                },
            }
        }
        let block = text.ends_with("; }") || text.starts_with('{') && text.ends_with('}');
        if !block {
            text.push(';');
        }
        self.line(&text);
    }

    fn store(&mut self, slot: usize, var: Var) {
        let at = self.program.layout().0[slot];
        let class = self.function.info(var).class;
        let name = self.var(var);
        if class == Class::Pred {
            self.line(&format!(
                "{{ .reg .b32 %t; selp.b32 %t, 1, 0, {name}; st.global.b32 [%out+{at}], %t; }}"
            ));
        } else {
            self.line(&format!("st.global.{} [%out+{at}], {name};", class.register()));
        }
    }

    fn branch(&mut self, inner: &If) {
        let (negated, name) = (inner.cond.negated, self.var(inner.cond.var));
        let (yes, no) = if negated { ("!", "") } else { ("", "!") };
        if let Some((mask, then, other)) = &inner.masks {
            let mask = self.operand(mask, Class::B32);
            for (var, sign) in [(then, yes), (other, no)] {
                self.line(&format!(
                    "vote.sync.ballot.b32 {}, {sign}{name}, {mask};",
                    self.var(*var)
                ));
            }
        }
        let (other, end) = (self.label(), self.label());
        self.line(&format!("@{no}{name} bra {other};"));
        self.list(&inner.then);
        if inner.other.is_empty() {
            self.place(&other);
            return;
        }
        self.line(&format!("bra {end};"));
        self.place(&other);
        self.list(&inner.other);
        self.place(&end);
    }

    fn repeat(&mut self, inner: &Loop) {
        let (counter, bound) = (self.var(inner.counter), self.var(inner.bound));
        let (top, next, end) = (self.label(), self.label(), self.label());
        let count = self.operand(&inner.count, Class::B32);
        let more = inner.most + 1;
        let (start, stop) = if inner.down { (&bound, &counter) } else { (&counter, &bound) };
        match inner.count {
            Operand::Bits(bits) => {
                let count = bits % u64::from(more);
                self.line(&format!("mov.b32 {stop}, {count}; mov.b32 {start}, 0;"));
            }
            _ => self.line(&format!("rem.u32 {stop}, {count}, {more}; mov.b32 {start}, 0;")),
        }
        let step = if inner.down {
            format!("sub.u32 {counter}, {counter}, 1;")
        } else {
            format!("add.u32 {counter}, {counter}, 1;")
        };
        let (running, ended) = if inner.down { ("gt", "le") } else { ("lt", "ge") };
        if let Some((mask, var)) = &inner.mask {
            let (mask, var) = (self.operand(mask, Class::B32), self.var(*var));
            self.line(&format!("mov.b32 {var}, {mask};"));
        }
        self.place(&top);
        if !inner.test_last {
            self.line(&format!("{{ .reg .pred %t; setp.{ended}.s32 %t, {counter}, {bound};"));
            if let Some((_, var)) = &inner.mask {
                let var = self.var(*var);
                self.line(&format!(
                    "  .reg .b32 %m; vote.sync.ballot.b32 %m, !%t, {var}; @!%t mov.b32 {var}, %m;"
                ));
            }
            self.line(&format!("  @%t bra {end}; }}"));
        }
        let body = self.body(&inner.body);
        self.text.push_str(
            &body
                .replace("bra BREAK;", &format!("bra {end};"))
                .replace("bra CONTINUE;", &format!("bra {next};")),
        );
        self.place(&next);
        self.line(&step);
        if inner.test_last {
            self.line(&format!("{{ .reg .pred %t; setp.{running}.s32 %t, {counter}, {bound};"));
            if let Some((_, var)) = &inner.mask {
                let var = self.var(*var);
                self.line(&format!(
                    "  .reg .b32 %m; vote.sync.ballot.b32 %m, %t, {var}; @%t mov.b32 {var}, %m;"
                ));
            }
            self.line(&format!("  @%t bra {top}; }}"));
        } else {
            self.line(&format!("bra {top};"));
        }
        self.place(&end);
    }

    fn switch(&mut self, inner: &Switch) {
        let which = self.var(inner.which);
        let index = self.operand(&inner.index, Class::B32);
        let cases: Vec<String> = inner.cases.iter().map(|_| self.label()).collect();
        let (list, end) = (self.label(), self.label());
        self.line(&format!("rem.u32 {which}, {index}, {};", inner.cases.len()));
        if let Some((mask, var)) = &inner.mask {
            let (mask, var) = (self.operand(mask, Class::B32), self.var(*var));
            self.line(&format!("match.any.sync.b32 {var}, {which}, {mask};"));
        }
        let _ = writeln!(self.text, "{list}: .branchtargets {};", cases.join(", "));
        self.line(&format!("brx.idx {which}, {list};"));
        for (label, (case, on)) in cases.iter().zip(&inner.cases) {
            self.place(label);
            self.list(case);
            if !on {
                self.line(&format!("bra {end};"));
            }
        }
        self.place(&end);
    }

    fn graph(&mut self, inner: &Graph) {
        let counter = self.var(inner.counter);
        // The last is the way out.
        let labels: Vec<String> = (0..=inner.blocks.len()).map(|_| self.label()).collect();
        let out = &labels[inner.blocks.len()];
        self.line(&format!("mov.b32 {counter}, 0;"));
        for (node, label) in inner.blocks.iter().zip(&labels) {
            self.place(label);
            self.line(&format!(
                "{{ .reg .pred %t; add.u32 {counter}, {counter}, 1; setp.gt.u32 %t, {counter}, {}; @%t bra {out}; }}",
                node.limit
            ));
            self.list(&node.body);
            match &node.end {
                End::Fall => {}
                End::Jump(target) => self.line(&format!("bra {};", labels[*target])),
                End::Branch { value, counted, bits, negated, target, other } => {
                    let value = self.var(*value);
                    let (add, from) = match counted {
                        true => (format!("add.u32 %t, {value}, {counter}; "), "%t"),
                        false => (String::new(), &value[..]),
                    };
                    let sign = if *negated { "!" } else { "" };
                    self.line(&format!(
                        "{{ .reg .b32 %t; .reg .pred %p; {add}and.b32 %t, {from}, {bits}; setp.eq.u32 %p, %t, 0; @{sign}%p bra {}; }}",
                        labels[*target]
                    ));
                    if let Some(other) = other {
                        self.line(&format!("bra {};", labels[*other]));
                    }
                }
                End::Table { value, targets } => {
                    let names: Vec<&str> = targets.iter().map(|t| &labels[*t][..]).collect();
                    let (list, value) = (self.label(), self.var(*value));
                    // As many low bits as number targets.
                    let bits = (1 << targets.len().ilog2()) - 1;
                    let _ = writeln!(self.text, "{list}: .branchtargets {};", names.join(", "));
                    self.line(&format!(
                        "{{ .reg .b32 %t; and.b32 %t, {value}, {bits}; brx.idx %t, {list}; }}"
                    ));
                }
            }
        }
        self.place(out);
        if let Some(mask) = &inner.mask {
            let mask = self.operand(mask, Class::B32);
            self.line(&format!("bar.warp.sync {mask};"));
        }
    }

    fn call(&mut self, call: &Call) {
        let program = self.program;
        let callee = &program.functions[call.function];
        let on = self.label();
        if call.depth == Some(Depth::Less) {
            self.line(&format!("{{ .reg .pred %t; setp.eq.u32 %t, %depth, 0; @%t bra {on}; }}"));
        }
        self.line("{");
        let mut names = Vec::new();
        match call.depth {
            Some(Depth::Number(depth)) => {
                self.line(&format!("  .param .u32 pd; st.param.u32 [pd], {depth};"));
                names.push("pd".to_string());
            }
            Some(Depth::Less) => {
                self.line(
                    "  .reg .b32 %t; .param .u32 pd; sub.u32 %t, %depth, 1; st.param.u32 [pd], %t;",
                );
                names.push("pd".to_string());
            }
            None => {}
        }
        for (i, (arg, var)) in call.args.iter().zip(&callee.params).enumerate() {
            let class = callee.info(*var).class;
            let (ty, arg) = (class.register(), self.operand(arg, class));
            self.line(&format!("  .param .{ty} pa{i}; st.param.{ty} [pa{i}], {arg};"));
            names.push(format!("pa{i}"));
        }
        let results: Vec<String> = call
            .results
            .iter()
            .enumerate()
            .map(|(i, v)| format!(".param .{} po{i};", self.function.info(*v).class.register()))
            .collect();
        self.line(&format!("  {}", results.join(" ")));
        let outs: Vec<String> = (0..call.results.len()).map(|i| format!("po{i}")).collect();
        let (outs, args) = (outs.join(", "), names.join(", "));
        let name = function_name(program, call.function);
        match call.indirect {
            None => self.line(&format!("  call ({outs}), {name}, ({args});")),
            Some((cond, other)) => {
                let (one, two) = (name, function_name(program, other));
                let (one, two) = if cond.negated { (two, one) } else { (one, two) };
                let condition = self.var(cond.var);
                let prototype = self.label();
                self.line(&format!("  .reg .b64 %f, %g; mov.u64 %f, {one}; mov.u64 %g, {two}; selp.b64 %f, %f, %g, {condition};"));
                let signature = self.signature(call.function, "_");
                let _ = writeln!(self.text, "{prototype}: .callprototype {signature};");
                self.line(&format!("  call ({outs}), %f, ({args}), {prototype};"));
            }
        }
        for (i, var) in call.results.iter().enumerate() {
            let ty = self.function.info(*var).class.register();
            self.line(&format!("  ld.param.{ty} {}, [po{i}];", self.var(*var)));
        }
        self.line("}");
        self.place(&on);
    }
}

fn function_name(program: &Program, index: usize) -> String {
    format!("f{}_{index}", program.seed)
}

/// A constant as PTX writes it.
pub fn constant(bits: u64, class: Class) -> String {
    match class.register() {
        "f32" => format!("0f{bits:08X}"),
        "f64" => format!("0d{bits:016X}"),
        _ if bits < 1000 => bits.to_string(),
        _ => format!("{bits:#x}"),
    }
}

/// Finds variables that are read where they may not have been written.
struct Assigned {
    read: BTreeSet<Var>,
    used: BTreeSet<Var>,
    /// What a return gives back.
    results: Vec<Var>,
}

impl Assigned {
    fn read(&mut self, var: Var, known: &BTreeSet<Var>) {
        self.used.insert(var);
        if !known.contains(&var) {
            self.read.insert(var);
        }
    }

    fn operand(&mut self, operand: &Operand, known: &BTreeSet<Var>) {
        if let Operand::Var(var) | Operand::Not(var) = operand {
            self.read(*var, known);
        }
    }

    fn write(&mut self, var: Var, known: &mut BTreeSet<Var>) {
        self.used.insert(var);
        known.insert(var);
    }

    fn list(&mut self, list: &[Stmt], known: &mut BTreeSet<Var>) {
        for stmt in list {
            self.stmt(stmt, known);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, known: &mut BTreeSet<Var>) {
        match stmt {
            Stmt::Op(op) => self.op(op, known),
            Stmt::Store { var, .. } => self.read(*var, known),
            Stmt::Leave(cond) => {
                self.read(cond.var, known);
                for var in self.results.clone() {
                    self.read(var, known);
                }
            }
            Stmt::Break(cond) | Stmt::Continue(cond) => self.read(cond.var, known),
            Stmt::If(inner) => {
                self.read(inner.cond.var, known);
                if let Some((mask, then, other)) = &inner.masks {
                    self.operand(mask, known);
                    self.write(*then, known);
                    self.write(*other, known);
                }
                let (mut then, mut other) = (known.clone(), known.clone());
                self.list(&inner.then, &mut then);
                self.list(&inner.other, &mut other);
                *known = then.intersection(&other).copied().collect();
            }
            Stmt::Loop(inner) => {
                self.operand(&inner.count, known);
                if let Some((mask, var)) = &inner.mask {
                    self.operand(mask, known);
                    self.write(*var, known);
                }
                self.write(inner.counter, known);
                self.write(inner.bound, known);
                self.list(&inner.body, &mut known.clone());
            }
            Stmt::Switch(inner) => {
                self.operand(&inner.index, known);
                self.write(inner.which, known);
                if let Some((mask, var)) = &inner.mask {
                    self.operand(mask, known);
                    self.write(*var, known);
                }
                for (case, _) in &inner.cases {
                    // A case may be entered from the one before it as well as from the start: what
                    // is known is what was known there.
                    self.list(case, &mut known.clone());
                }
            }
            Stmt::Graph(inner) => {
                self.write(inner.counter, known);
                for node in &inner.blocks {
                    // What a block writes others may read that threads come to without it.
                    self.list(&node.body, &mut known.clone());
                    if let End::Branch { value, .. } | End::Table { value, .. } = &node.end {
                        self.read(*value, known);
                    }
                }
                inner.mask.iter().for_each(|mask| self.operand(mask, known));
            }
            Stmt::Call(call) => {
                call.args.iter().for_each(|arg| self.operand(arg, known));
                if let Some((cond, _)) = call.indirect {
                    self.read(cond.var, known);
                }
                for var in &call.results {
                    // Where it goes no deeper nothing is written.
                    if call.depth == Some(Depth::Less) {
                        self.read(*var, known);
                    } else {
                        self.write(*var, known);
                    }
                }
            }
        }
    }

    fn op(&mut self, op: &Op, known: &mut BTreeSet<Var>) {
        // In the order of the text: what a part of it writes, the next one reads.
        for piece in &op.pieces {
            let Piece::Slot(slot) = piece else { continue };
            match &op.slots[*slot] {
                Slot::Use { operand, .. } | Slot::Fixed(operand) => self.operand(operand, known),
                Slot::Change(var) => self.read(*var, known),
                Slot::Def(_) => {}
            }
        }
        if let Some(guard) = op.guard {
            self.read(guard.var, known);
        }
        for slot in &op.slots {
            let Slot::Def(var) = slot else { continue };
            if op.guard.is_some() {
                self.read(*var, known);
            } else {
                self.write(*var, known);
            }
        }
    }
}

/// Makes a variable zero from `%zero`.
fn unknown_zero(name: &str, class: Class) -> String {
    match class {
        Class::Pred => format!("    setp.ne.s32 {name}, %zero, 0;\n"),
        Class::B128 => format!(
            "    {{ .reg .b64 %t; mov.b64 %t, {{%zero, %zero}}; mov.b128 {name}, {{%t, %t}}; }}\n"
        ),
        _ => match class.bytes() {
            2 => format!("    cvt.u16.u32 {name}, %zero;\n"),
            4 => format!("    mov.b32 {name}, %zero;\n"),
            _ => format!("    mov.b64 {name}, {{%zero, %zero}};\n"),
        },
    }
}
