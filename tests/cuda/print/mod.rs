//! A program as CUDA C.

mod expr;
mod loops;
mod stmt;

use crate::input::INPUTS;
use crate::program::{Function, Inline, Place, Program, Var, Word};
use crate::types::{Scalar, Struct, Type};
use crate::walk;
use std::fmt::Write;

/// What all files begin with.
pub fn head() -> String {
    let mut text = String::from(include_str!("head.cu"));
    for ty in Scalar::INTEGERS {
        let name = ty.name();
        let lowest = match ty {
            Scalar::I64 => "(-9223372036854775807ll - 1)".to_string(),
            _ if ty.signed() => format!("(-{} - 1)", (1u64 << (ty.bits() - 1)) - 1),
            _ => String::new(),
        };
        let (div, rem) = ("(x / y)", "(x % y)");
        for (which, result) in [("quotient", div), ("remainder", rem)] {
            let none = match ty.signed() {
                true => format!("y == 0 || (y == -1 && x == {lowest})"),
                false => "y == 0".to_string(),
            };
            let _ = writeln!(
                text,
                "static __device__ inline {name} {which}({name} x, {name} y) {{ return ({name})({none} ? x : {result}); }}"
            );
        }
    }
    text
}

/// A file with these programs.
pub fn file<'a>(programs: impl IntoIterator<Item = &'a Program>) -> String {
    let mut text = head();
    for program in programs {
        text.push_str(&print(program));
    }
    text
}

/// What stands at the printer's place of a program.
struct Printer<'a> {
    program: &'a Program,
    function: &'a Function,
    text: String,
    depth: usize,
    /// The number of the mask that holds here, and the highest that was given.
    mask: usize,
    masks: usize,
    /// Labels of breaks and names of helpers.
    names: usize,
}

/// The types, functions and kernel of a program.
pub fn print(program: &Program) -> String {
    let mut text = format!("\n// seed {}\n", program.seed);
    for (index, this) in program.structs.iter().enumerate().filter(|(_, s)| s.vector.is_none()) {
        let _ = writeln!(text, "struct {} {{", struct_name(program, index));
        for (number, field) in this.fields.iter().enumerate() {
            let _ = writeln!(text, "    {};", declared(program, field, &this.field_name(number)));
        }
        text.push_str("};\n");
    }
    for (name, words) in [("SW", &program.shared_words), ("GW", &program.global_words)] {
        let _ = writeln!(text, "struct {name}{} {{", program.number);
        for (number, word) in words.iter().enumerate() {
            let _ = writeln!(text, "    alignas(8) {} w{number};", word.ty.name());
        }
        text.push_str("};\n");
    }
    let called = walk::called(program);
    for (number, function) in program.functions.iter().enumerate().filter(|(n, _)| called[*n]) {
        let mut printer = Printer {
            program,
            function,
            text: String::new(),
            depth: 1,
            mask: 0,
            masks: 0,
            names: 0,
        };
        if number + 1 == program.functions.len() {
            printer.kernel();
        } else {
            printer.function(number);
        }
        text.push_str(&printer.text);
    }
    text
}

pub fn struct_name(program: &Program, index: usize) -> String {
    let this: &Struct = &program.structs[index];
    this.vector.map_or(format!("S{}_{index}", program.number), str::to_string)
}

pub fn function_name(program: &Program, index: usize) -> String {
    format!("f{}_{index}", program.number)
}

/// A type's name, for all but arrays.
fn type_name(program: &Program, ty: &Type) -> String {
    match ty {
        Type::Number(scalar) => scalar.name().to_string(),
        Type::Struct(index) => struct_name(program, *index),
        Type::Array(element, _) => type_name(program, element),
    }
}

/// A declaration of a name, as C writes it.
fn declared(program: &Program, ty: &Type, name: &str) -> String {
    let mut counts = String::new();
    let mut inner = ty;
    while let Type::Array(element, count) = inner {
        let _ = write!(counts, "[{count}]");
        inner = element;
    }
    format!("{} {name}{counts}", type_name(program, inner))
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "    ".repeat(self.depth));
    }

    fn parameter(&self, index: usize, var: &Var) -> String {
        let ty = type_name(self.program, &var.ty);
        match var.place {
            Place::Pointer => format!("{ty}* v{index}"),
            _ => format!("{ty} v{index}"),
        }
    }

    fn function(&mut self, number: usize) {
        let function = self.function;
        let inline = match function.inline {
            Inline::Never => "__noinline__ ",
            Inline::AsTheCompilerLikes => "",
            Inline::Always => "__forceinline__ ",
        };
        let result =
            function.result.as_ref().map_or("void".to_string(), |ty| type_name(self.program, ty));
        let parameters = function.vars[..function.parameters].iter().enumerate();
        let mut all: Vec<String> = parameters.map(|(i, var)| self.parameter(i, var)).collect();
        if function.masked {
            all.push("u32 m0".to_string());
        }
        let name = function_name(self.program, number);
        let _ =
            writeln!(self.text, "static __device__ {inline}{result} {name}({}) {{", all.join(", "));
        self.locals();
        self.list(&function.body);
        self.text.push_str("}\n");
    }

    fn kernel(&mut self) {
        let (program, function) = (self.program, self.function);
        let seed = program.number;
        let mut all = vec![
            "const u64* __restrict__ in".to_string(),
            "u64* out".to_string(),
            format!("GW{seed}* gw"),
        ];
        for (index, var) in function.vars.iter().enumerate() {
            let ty = type_name(program, &var.ty);
            match var.place {
                Place::Uniform => all.push(format!("{ty} v{index}")),
                Place::Global => all.push(format!("{ty}* g{index}")),
                _ => {}
            }
        }
        let parameters = all.join(", ");
        let _ = writeln!(self.text, "extern \"C\" __global__ void k{seed}({parameters}) {{");
        let block = program.block;
        self.line(&format!("const u32 thread = blockIdx.x * {block}u + threadIdx.x;"));
        self.line(&format!("in += thread * {INPUTS}u;"));
        self.line(&format!("out += thread * {}u;", program.outputs));
        let whole = "0xffffffffu";
        let mask = match block % 32 {
            0 => whole.to_string(),
            rest => {
                let some = (1u32 << rest) - 1;
                format!("threadIdx.x / 32 == {} ? {some:#x}u : {whole}", block / 32)
            }
        };
        self.line(&format!("const u32 m0 = {mask};"));
        for (index, var) in function.vars.iter().enumerate() {
            let ty = type_name(program, &var.ty);
            match var.place {
                Place::Shared => {
                    self.line(&format!("__shared__ {ty} s{index}[{block}];"));
                    self.line(&format!("s{index}[threadIdx.x] = {ty}{{}};"));
                }
                Place::Global => self.line(&format!("g{index}[thread] = {ty}{{}};")),
                _ => {}
            }
        }
        self.shared_words(&program.shared_words);
        self.locals();
        self.list(&function.body);
        self.text.push_str("}\n");
    }

    fn shared_words(&mut self, words: &[Word]) {
        if words.is_empty() {
            return;
        }
        self.line(&format!("__shared__ SW{} sw;", self.program.number));
        self.line("if (threadIdx.x == 0) {");
        let first = crate::input::Inputs::of(self.program).shared;
        for (number, (word, value)) in words.iter().zip(first).enumerate() {
            let value = expr::constant(word.ty, value);
            self.line(&format!("    sw.w{number} = {value};"));
        }
        self.line("}");
        self.line("__syncthreads();");
    }

    fn locals(&mut self) {
        let function = self.function;
        let used = walk::used(function);
        for (index, var) in function.vars.iter().enumerate() {
            if var.place == Place::Chosen && used[index] {
                self.line(&format!("{}* v{index};", type_name(self.program, &var.ty)));
            }
            if var.place == Place::Local && used[index] {
                let name = format!("v{index}");
                let text = declared(self.program, &var.ty, &name);
                let volatile = if var.volatile { "volatile " } else { "" };
                let zero = if var.ty.number().is_some() { "0" } else { "{}" };
                self.line(&format!("{volatile}{text} = {zero};"));
            }
        }
    }
}
