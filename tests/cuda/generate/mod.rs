//! Programs from seeds.
//!
//! The generator keeps in mind which threads come to a place: what warps and blocks do together
//! stands only where the mask (or the block) is complete. Inside what may be left early (`break`,
//! `continue`, `return`) no mask holds.

mod expr;
mod function;
mod kernel;
mod place;
mod stmt;
mod together;

use crate::program::{Atomic, Function, Inline, Place, Program, Stmt, Var, Word};
use crate::types::{Scalar, Struct, Type, VECTORS};
use orias_fuzz::random::Random;

/// Statements that a warp executes at most, about: what loops and calls multiply.
const MOST: u32 = 2500;

/// Which threads come to a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum Mask {
    /// Nobody knows.
    None,
    /// Those that the mask names.
    Some,
    /// Whole warps.
    Whole,
}

/// What may stand at a place.
#[derive(Clone, Copy, Debug)]
struct Scope {
    mask: Mask,
    /// All threads of the block come.
    block: bool,
    can_break: bool,
    can_continue: bool,
    can_return: bool,
    /// How often this place is executed at most.
    scale: u32,
    depth: u32,
}

struct Generator {
    random: Random,
    program: Program,
    /// Of the function at work.
    vars: Vec<Var>,
    /// Counters of loops that run: nothing else changes them.
    counters: Vec<usize>,
    /// Variables that are the same for all threads.
    uniform: Vec<usize>,
    kernel: bool,
    result: Option<Type>,
    /// For recursion: only through the call that its shape has.
    pure: bool,
    floats: bool,
    /// What each function costs.
    costs: Vec<u32>,
    /// What the function at work costs so far.
    cost: u32,
    /// Functions of one type for calls through pointers.
    family: Vec<usize>,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed ^ 0x00c0_dac0_dac0_da00);
    let block = *random.pick(&[32, 32, 32, 64, 64, 96, 128, 40, 16, 72]);
    let words = |random: &mut Random| -> Vec<Word> {
        let ops = [Atomic::Add, Atomic::Min, Atomic::Max, Atomic::And, Atomic::Or, Atomic::Xor];
        let count = random.below(4);
        let one = |random: &mut Random| Word {
            ty: *random.pick(&[Scalar::U32, Scalar::I32, Scalar::U64]),
            op: *random.pick(&ops),
        };
        (0..count).map(|_| one(random)).collect()
    };
    let program = Program {
        seed,
        number: seed,
        grid: *random.pick(&[1, 1, 1, 2, 3]),
        block,
        structs: Vec::new(),
        functions: Vec::new(),
        shared_words: words(&mut random),
        global_words: words(&mut random),
        outputs: 0,
    };
    let floats = random.chance(50);
    let mut generator = Generator {
        random,
        program,
        vars: Vec::new(),
        counters: Vec::new(),
        uniform: Vec::new(),
        kernel: false,
        result: None,
        pure: false,
        floats,
        costs: Vec::new(),
        cost: 0,
        family: Vec::new(),
    };
    generator.structs();
    generator.functions();
    generator.kernel();
    generator.program
}

impl Generator {
    fn structs(&mut self) {
        for _ in 0..self.random.below(3) {
            let (name, ty, count) = *self.random.pick(&VECTORS);
            if !ty.float() || self.floats {
                let fields = vec![Type::Number(ty); count];
                self.program.structs.push(Struct { vector: Some(name), fields });
            }
        }
        // A vector that came twice is one type.
        let mut seen: Vec<&str> = Vec::new();
        self.program.structs.retain(|s| {
            let name = s.vector.unwrap_or_default();
            let new = !seen.contains(&name);
            seen.push(name);
            new
        });
        for _ in 0..1 + self.random.below(3) {
            let fields = 1 + self.random.below(5);
            let fields = (0..fields).map(|_| self.field()).collect();
            self.program.structs.push(Struct { vector: None, fields });
        }
    }

    fn field(&mut self) -> Type {
        let known = self.program.structs.len();
        match self.random.below(10) {
            0 | 1 => {
                let count = *self.random.pick(&[2, 3, 4, 5, 8]);
                Type::Array(Box::new(Type::Number(self.scalar())), count)
            }
            2 if known > 0 => Type::Struct(self.random.below(known)),
            _ => Type::Number(self.scalar()),
        }
    }

    /// The type of a number.
    fn scalar(&mut self) -> Scalar {
        use Scalar::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        if self.floats && self.random.chance(30) {
            return *self.random.pick(&[F32, F32, F64]);
        }
        *self.random.pick(&[I32, I32, I32, U32, U32, U32, I64, U64, U64, I8, U8, I16, U16])
    }

    fn integer_type(&mut self) -> Scalar {
        use Scalar::{I8, I16, I32, I64, U8, U16, U32, U64};
        *self.random.pick(&[I32, I32, U32, U32, I64, U64, I8, U8, I16, U16])
    }

    fn var(&mut self, ty: Type, place: Place) -> usize {
        self.vars.push(Var { ty, place, volatile: false });
        self.vars.len() - 1
    }

    /// Variables of a function's own: numbers, structs and arrays.
    fn locals(&mut self, numbers: usize, others: usize) {
        for _ in 0..numbers {
            let ty = Type::Number(self.scalar());
            let var = self.var(ty, Place::Local);
            self.vars[var].volatile = self.random.chance(5);
        }
        for _ in 0..others {
            let structs = self.program.structs.len();
            let var = match self.random.below(5) {
                0..=2 if structs > 0 => {
                    let which = Type::Struct(self.random.below(structs));
                    self.var(which, Place::Local)
                }
                3 if structs > 0 => {
                    let which = Type::Struct(self.random.below(structs));
                    let count = *self.random.pick(&[2, 3, 4]);
                    self.var(Type::Array(Box::new(which), count), Place::Local)
                }
                _ => {
                    let element = Box::new(Type::Number(self.scalar()));
                    let count = *self.random.pick(&[2, 4, 4, 7, 8, 16]);
                    let mut ty = Type::Array(element, count);
                    if self.random.chance(15) {
                        ty = Type::Array(Box::new(ty), *self.random.pick(&[2, 3]));
                    }
                    let var = self.var(ty, Place::Local);
                    self.vars[var].volatile = self.random.chance(5);
                    var
                }
            };
            let _ = var;
        }
    }

    fn begin(&mut self, result: Option<Type>, kernel: bool, pure: bool) {
        self.vars = Vec::new();
        self.counters = Vec::new();
        self.uniform = Vec::new();
        self.kernel = kernel;
        self.pure = pure;
        self.result = result;
        self.cost = 0;
    }

    fn end(
        &mut self,
        body: Vec<Stmt>,
        inline: Inline,
        parameters: usize,
        masked: bool,
        pure: bool,
    ) -> usize {
        let result = self.result.take();
        let vars = std::mem::take(&mut self.vars);
        self.program.functions.push(Function {
            inline,
            result,
            vars,
            parameters,
            masked,
            pure,
            body,
        });
        self.costs.push(self.cost + 2);
        self.program.functions.len() - 1
    }
}
