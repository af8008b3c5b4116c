//! The kernel around one instruction: where its inputs come from and where its results go.
//!
//! Every kernel has the signature `(u64 o, u64 i, u64 x, u64 y, u64 z, b8 a[256])`: output and
//! input with 256 bytes a thread, and values that serve as pointers, numbers and constant-bank
//! operands. The kernels are made to be compiled, not to be run.

use super::operand::{Address, Class, Kind, Shape, Space, Type};
use super::template::Piece;
use std::fmt::Write;

/// What stands in front of a module's kernels: the variables that addresses name.
pub const VARIABLES: &str = "\
.shared .align 128 .b8 sh[4096];
.const .align 16 .b8 cb[4096];
.global .align 16 .b8 gl[4096];
.global .texref tx;
.global .surfref su;
";

/// What a module of its own samplers has besides.
pub const SAMPLER: &str = ".global .samplerref sa;\n";

const SIGNATURE: &str = ".param .u64 o,.param .u64 i,.param .u64 x,.param .u64 y,.param .u64 z,.param .align 16 .b8 a[256]";

/// Under what circumstances the instruction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    Plain,
    /// Under a predicate that differs from thread to thread; negated, or not.
    Guard(bool),
    /// Under a predicate that is the same for the whole CTA.
    GuardUniform,
    /// In a loop that every thread leaves together.
    LoopUniform,
    /// In a loop that threads leave one by one.
    Loop,
    /// The result is part of an address that is the same for the whole CTA.
    ResultAddress,
    /// The result decides a branch.
    ResultBranch,
}

/// One kernel's text in the making.
#[derive(Default)]
pub struct Frame {
    counts: [usize; 6],
    setup: String,
    results: String,
    inputs: usize,
    addresses: usize,
    /// The first input of each class, for [`Shape::Same`].
    first: [Option<String>; 6],
    outputs: Vec<(Class, String)>,
}

/// The parameter that the n-th operand reads.
const PARAMETERS: [&str; 5] = ["x", "y", "z", "x+4", "y+4"];

/// The special register that makes the n-th operand uniform.
const UNIFORM: [&str; 5] = ["%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y"];

impl Frame {
    fn register(&mut self, class: Class) -> String {
        let count = &mut self.counts[class as usize];
        *count += 1;
        format!("%{}{}", class.names().1, *count - 1)
    }

    fn line(&mut self, text: &str) {
        self.setup.push_str(text);
        self.setup.push('\n');
    }

    /// A register of `class` loaded from the input, at its own place.
    fn loaded(&mut self, class: Class) -> String {
        let place = self.inputs * 16;
        self.inputs += 1;
        match class {
            Class::Pred => {
                let value = self.loaded(Class::B32);
                let pred = self.register(Class::Pred);
                self.line(&format!("setp.ne.s32 {pred},{value},5;"));
                pred
            }
            Class::B8 => {
                let pair = self.loaded(Class::B16);
                let (low, high) = (self.register(Class::B8), self.register(Class::B8));
                self.line(&format!("mov.b16 {{{low},{high}}},{pair};"));
                low
            }
            _ => {
                let register = self.register(class);
                self.line(&format!("ld.global.{} {register},[%pi+{place}];", class.names().0));
                register
            }
        }
    }

    /// One input; `shapes` of a vector's later elements are plain.
    pub fn input(&mut self, ty: Type, shape: Shape, literal: bool) -> String {
        let place = self.inputs;
        let text = self.shaped(ty, shape, literal);
        self.inputs = self.inputs.max(place + 1);
        if text.starts_with('%') {
            self.first[ty.class as usize].get_or_insert_with(|| text.clone());
        }
        text
    }

    fn shaped(&mut self, ty: Type, shape: Shape, literal: bool) -> String {
        let class = ty.class;
        let name = class.names().0;
        let nth = self.inputs;
        match shape {
            Shape::Reg => self.loaded(class),
            Shape::Same => match self.first[class as usize].clone() {
                Some(register) => register,
                None => self.loaded(class),
            },
            Shape::Imm(text)
                if literal && class != Class::B16 && !matches!(ty.kind, Kind::Packed(_)) =>
            {
                text.to_string()
            }
            Shape::Imm(text) => self.made(class, &format!("mov.{name} %,{text};")),
            Shape::Param => {
                self.inputs += 1;
                self.made(
                    class,
                    &format!("ld.param.{name} %,[{}];", PARAMETERS[nth % PARAMETERS.len()]),
                )
            }
            Shape::Bank => {
                self.inputs += 1;
                self.made(class, &format!("ld.const.{name} %,[cb+{}];", nth * 16))
            }
            Shape::Uniform => self.uniform(class),
            Shape::Index => self.made(
                class,
                if class == Class::B64 { "cvt.u64.u32 %,%t;" } else { "mov.b32 %,%t;" },
            ),
            Shape::Neg | Shape::Abs | Shape::NegAbs | Shape::Not => self.modified(ty, shape),
            Shape::Low | Shape::High | Shape::Byte | Shape::Swap => self.part(ty, shape),
        }
    }

    /// A new register of `class`, made by `text` with `%` alone standing for it.
    fn made(&mut self, class: Class, text: &str) -> String {
        let register = self.register(class);
        self.line(&text.replacen("%,", &format!("{register},"), 1));
        register
    }

    fn uniform(&mut self, class: Class) -> String {
        let special = UNIFORM[self.inputs % UNIFORM.len()];
        self.inputs += 1;
        let value = self.made(Class::B32, &format!("mov.u32 %,{special};"));
        match class {
            Class::Pred => self.made(Class::Pred, &format!("setp.ne.s32 %,{value},3;")),
            Class::B16 => self.made(Class::B16, &format!("cvt.u16.u32 %,{value};")),
            Class::B64 => self.made(Class::B64, &format!("mul.wide.u32 %,{value},264;")),
            _ => value,
        }
    }

    fn modified(&mut self, ty: Type, shape: Shape) -> String {
        let value = self.loaded(ty.class);
        let bits = ty.class.names().0;
        let signed = bits.replace('b', "s");
        let (neg, abs) = match ty.kind {
            Kind::Float(name) | Kind::Packed(name) => {
                (format!("neg.{name}"), format!("abs.{name}"))
            }
            _ => (format!("neg.{signed}"), format!("abs.{signed}")),
        };
        match shape {
            Shape::Not if ty.class == Class::Pred => format!("!{value}"),
            Shape::Not => self.made(ty.class, &format!("not.{bits} %,{value};")),
            Shape::Neg => self.made(ty.class, &format!("{neg} %,{value};")),
            Shape::Abs => self.made(ty.class, &format!("{abs} %,{value};")),
            _ => {
                let positive = self.made(ty.class, &format!("{abs} %,{value};"));
                self.made(ty.class, &format!("{neg} %,{positive};"))
            }
        }
    }

    fn part(&mut self, ty: Type, shape: Shape) -> String {
        let word = self.loaded(Class::B32);
        if shape == Shape::Byte {
            let shifted = self.made(Class::B32, &format!("shr.u32 %,{word},8;"));
            let byte = self.made(Class::B32, &format!("and.b32 %,{shifted},255;"));
            return self.made(Class::B16, &format!("cvt.u16.u32 %,{byte};"));
        }
        let (low, high) = (self.register(Class::B16), self.register(Class::B16));
        self.line(&format!("mov.b32 {{{low},{high}}},{word};"));
        let (first, second) = match (ty.class, shape) {
            (Class::B16, _) => return high,
            (_, Shape::Low) => (&low, &low),
            (_, Shape::High) => (&high, &high),
            _ => (&high, &low),
        };
        self.made(Class::B32, &format!("mov.b32 %,{{{first},{second}}};"))
    }

    /// One result: the register, which is stored when the kernel ends.
    pub fn output(&mut self, ty: Type) -> String {
        let register = self.register(ty.class);
        self.outputs.push((ty.class, register.clone()));
        register
    }

    /// A result whose register has a value before.
    fn defined(&mut self, ty: Type) -> String {
        let register = self.loaded(ty.class);
        self.outputs.push((ty.class, register.clone()));
        register
    }

    /// The text of an address operand, without brackets.
    pub fn address(&mut self, space: Space, address: Address) -> String {
        self.addresses += 1;
        let plus = |base: &str, offset: i64| {
            if offset == 0 { base.to_string() } else { format!("{base}+{offset}") }
        };
        let variable = match space {
            Space::Global | Space::Generic => "gl",
            Space::Shared | Space::Cluster => "sh",
            Space::Local => "lo",
            Space::Const => "cb",
            Space::Param => "a",
        };
        // Shared, constant and parameter addresses stay in 32 bits, where ptxas finds their scaled
        // forms.
        let wide = matches!(space, Space::Global | Space::Generic | Space::Local | Space::Param);
        let class = if wide { Class::B64 } else { Class::B32 };
        let name = class.names().0.replace('b', "u");
        let parameter = PARAMETERS[(self.inputs + 1) % 3];
        match address {
            Address::Thread(offset) => plus("%pi", offset),
            Address::Pointer(offset) => {
                let base = self.made(class, &format!("ld.param.{name} %,[{parameter}];"));
                plus(&base, offset)
            }
            Address::PointerIndex(scale, offset) => {
                let base = self.made(class, &format!("ld.param.{name} %,[{parameter}];"));
                plus(&self.indexed(class, &base, "%t", scale), offset)
            }
            Address::PointerSigned(offset) => {
                let base = self.made(class, &format!("ld.param.{name} %,[{parameter}];"));
                let index = self.loaded(Class::B32);
                let sum = self.made(class, &format!("mad.wide.s32 %,{index},1,{base};"));
                plus(&sum, offset)
            }
            Address::PointerBlock(offset) => {
                let base = self.made(class, &format!("ld.param.{name} %,[{parameter}];"));
                let block = self.made(Class::B32, "mov.u32 %,%ctaid.x;");
                plus(&self.indexed(class, &base, &block, 64), offset)
            }
            Address::Variable(offset) => plus(variable, offset),
            Address::VariableIndex(scale, offset) => {
                let base = self.made(class, &format!("mov.{name} %,{variable};"));
                plus(&self.indexed(class, &base, "%t", scale), offset)
            }
            Address::VariableBlock(offset) => {
                let base = self.made(class, &format!("mov.{name} %,{variable};"));
                let block = self.made(Class::B32, "mov.u32 %,%ctaid.x;");
                plus(&self.indexed(class, &base, &block, 4), offset)
            }
            Address::VariableLoaded(offset) => {
                let base = self.made(class, &format!("mov.{name} %,{variable};"));
                let index = self.loaded(Class::B32);
                plus(&self.indexed(class, &base, &index, 4), offset)
            }
            Address::Loaded(offset) => {
                let base = self.loaded(class);
                plus(&base, offset)
            }
            Address::LoadedIndex(scale, offset) => {
                let base = self.loaded(class);
                plus(&self.indexed(class, &base, "%t", scale), offset)
            }
            Address::SharedAsGeneric(offset) => {
                let base = self.made(Class::B64, "cvta.shared.u64 %,sh;");
                plus(&self.indexed(class, &base, "%t", 4), offset)
            }
            Address::LocalAsGeneric(offset) => {
                let base = self.made(Class::B64, "cvta.local.u64 %,lo;");
                plus(&self.indexed(class, &base, "%t", 4), offset)
            }
        }
    }

    fn indexed(&mut self, class: Class, base: &str, index: &str, scale: u32) -> String {
        match class {
            Class::B64 => self.made(class, &format!("mad.wide.u32 %,{index},{scale},{base};")),
            _ => self.made(class, &format!("mad.lo.u32 %,{index},{scale},{base};")),
        }
    }

    /// Fills a statement's slots: the n-th input gets `shapes[n]`, the n-th address `addresses[n]`;
    /// beyond, the first of each.
    pub fn fill(&mut self, pieces: &[Piece], choice: &Choice, literal: bool) -> String {
        let (mut nth, mut nth_address) = (0, 0);
        let mut text = String::new();
        for piece in pieces {
            let piece = match piece {
                Piece::Text(text) => text.clone(),
                Piece::Input(ty, count) => {
                    let shape = choice.shapes.get(nth).copied().unwrap_or(Shape::Reg);
                    nth += 1;
                    let first = self.input(*ty, shape, literal && *count == 0);
                    self.vector(first, *count, |frame| match shape {
                        Shape::Param | Shape::Uniform | Shape::Bank => {
                            frame.input(*ty, shape, false)
                        }
                        _ => frame.input(*ty, Shape::Reg, false),
                    })
                }
                Piece::Output(ty, count) if choice.context.is_guard() => {
                    let first = self.defined(*ty);
                    self.vector(first, *count, |frame| frame.defined(*ty))
                }
                Piece::Output(ty, count) => {
                    let first = self.output(*ty);
                    self.vector(first, *count, |frame| frame.output(*ty))
                }
                Piece::Both(ty, count) => {
                    let first = self.defined(*ty);
                    self.vector(first, *count, |frame| frame.defined(*ty))
                }
                Piece::Address(space) => {
                    let address = choice.addresses.get(nth_address).copied();
                    nth_address += 1;
                    self.address(*space, address.unwrap_or(space.addresses()[0]))
                }
            };
            // A predicate that the statement negates already.
            let twice = text.ends_with('!') && piece.starts_with('!');
            text.push_str(&piece[usize::from(twice)..]);
        }
        text
    }

    /// `first` alone for a scalar, else `count` operands in braces.
    fn vector(
        &mut self,
        first: String,
        count: usize,
        mut next: impl FnMut(&mut Frame) -> String,
    ) -> String {
        if count == 0 {
            return first;
        }
        let mut all = vec![first];
        all.extend((1..count).map(|_| next(self)));
        format!("{{{}}}", all.join(","))
    }

    /// The stores of all results.
    fn stores(&mut self) {
        for (n, (class, register)) in std::mem::take(&mut self.outputs).into_iter().enumerate() {
            let place = n * 16;
            let (register, name) = match class {
                Class::Pred => {
                    let value = self.register(Class::B32);
                    let _ = writeln!(self.results, "selp.u32 {value},1,0,{register};");
                    (value, "b32")
                }
                Class::B8 => {
                    let value = self.register(Class::B16);
                    let _ = writeln!(self.results, "mov.b16 {value},{{{register},{register}}};");
                    (value, "b16")
                }
                _ => (register, class.names().0),
            };
            let _ = writeln!(self.results, "st.global.{name} [%po+{place}],{register};");
        }
    }

    /// The first result as part of an address.
    fn result_address(&mut self) {
        let Some((class, register)) = self
            .outputs
            .iter()
            .find(|(class, _)| matches!(class, Class::B32 | Class::B64))
            .cloned()
        else {
            return self.stores();
        };
        let address = self.register(Class::B64);
        let base = self.register(Class::B64);
        let value = self.register(Class::B32);
        let sum = match class {
            Class::B64 => format!("add.s64 {address},{base},{register};"),
            _ => format!("mad.wide.u32 {address},{register},4,{base};"),
        };
        let _ = writeln!(
            self.results,
            "ld.param.u64 {base},[z];\n{sum}\nld.global.u32 {value},[{address}];\nst.global.u32 [%po],{value};"
        );
    }

    /// The first result in the condition of a branch around a store.
    fn result_branch(&mut self) {
        let Some((class, register)) = self.outputs.first().cloned() else { return };
        let pred = match class {
            Class::Pred => register,
            Class::B16 | Class::B32 | Class::B64 => {
                let pred = self.register(Class::Pred);
                let _ = writeln!(
                    self.results,
                    "setp.eq.{} {pred},{register},77;",
                    class.names().0.replace('b', "u")
                );
                pred
            }
            _ => return self.stores(),
        };
        let _ = writeln!(
            self.results,
            "@{pred} bra $skip;\nmembar.cta;\nst.global.u32 [%po+64],%t;\nbar.sync 0;\n$skip:\nst.global.u32 [%po],%t;"
        );
    }

    /// The whole kernel: `statement` between its inputs and its results.
    pub fn kernel(
        mut self,
        name: &str,
        attributes: &str,
        statement: &str,
        context: Context,
    ) -> String {
        let guard = match context {
            Context::Guard(_) => Some(self.loaded(Class::Pred)),
            Context::GuardUniform => Some(self.uniform(Class::Pred)),
            _ => None,
        };
        match context {
            Context::ResultAddress => self.result_address(),
            Context::ResultBranch => self.result_branch(),
            _ => self.stores(),
        }
        let guard = guard.map_or(String::new(), |g| {
            format!("@{}{g} ", if context == Context::Guard(true) { "!" } else { "" })
        });
        let mut text = format!(
            ".visible .entry {name}({SIGNATURE}){attributes}\n{{\n.reg .b64 %po,%pi;\n.reg .b32 %t,%n;\n"
        );
        text.push_str(".reg .pred %again;\n.local .align 16 .b8 lo[256];\n");
        for (class, ty, prefix) in Class::ALL {
            let count = self.counts[class as usize];
            if count > 0 {
                let _ = writeln!(text, ".reg .{ty} %{prefix}<{count}>;");
            }
        }
        text.push_str("mov.u32 %t,%tid.x;\nld.param.u64 %po,[o];\nmad.wide.u32 %po,%t,256,%po;\n");
        text.push_str("ld.param.u64 %pi,[i];\nmad.wide.u32 %pi,%t,256,%pi;\n");
        match context {
            Context::Loop => text.push_str("ld.global.u32 %n,[%pi+240];\n$again:\n"),
            Context::LoopUniform => text.push_str("ld.param.u32 %n,[z];\n$again:\n"),
            _ => {}
        }
        text.push_str(&self.setup);
        let _ = writeln!(text, "{guard}{statement}");
        text.push_str(&self.results);
        if matches!(context, Context::Loop | Context::LoopUniform) {
            text.push_str("add.u64 %po,%po,512;\nadd.u64 %pi,%pi,512;\nadd.s32 %n,%n,-1;\n");
            text.push_str("setp.gt.s32 %again,%n,0;\n@%again bra $again;\n");
        }
        text.push_str("ret;\n}\n");
        text
    }
}

/// What one kernel puts in the slots of its statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub shapes: Vec<Shape>,
    pub addresses: Vec<Address>,
    pub context: Context,
}

impl Context {
    pub fn is_guard(self) -> bool {
        matches!(self, Context::Guard(_) | Context::GuardUniform)
    }
}

/// A kernel whose body is written out: registers of each class and `%po`, `%pi`, `%t` are declared
/// for it.
pub fn written(name: &str, attributes: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}({SIGNATURE}){attributes}\n{{\n.reg .b64 %po,%pi,%d<96>;\n.reg .b32 %t,%r<160>;\n.reg .b16 %h<64>;\n\
         .reg .f32 %f<160>;\n.reg .f64 %g<64>;\n.reg .pred %p<32>;\n.local .align 16 .b8 lo[256];\n\
         mov.u32 %t,%tid.x;\nld.param.u64 %po,[o];\nmad.wide.u32 %po,%t,256,%po;\n\
         ld.param.u64 %pi,[i];\nmad.wide.u32 %pi,%t,256,%pi;\n{body}\nret;\n}}\n"
    )
}
