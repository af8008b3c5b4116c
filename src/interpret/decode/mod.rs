//! From the checked program to [`Code`]: opcodes and modifiers become functions and small enums,
//! names become rows and addresses. An instruction that the interpreter does not know becomes
//! [`Op::Unsupported`], an error only when it runs.

mod asynchronous;
mod control;
mod data;
mod decoder;
mod float;
mod integer;
mod matrix;
mod memory;
mod predicate;
mod tensor;
mod video;
mod warp;

use super::code::{Body, Code, Formal, Inst, Op};
use super::image::Image;
use super::operand::{FIRST_REGISTER, SourcePlace};
use crate::interpret::decode::decoder::{Decoded, Decoder};
use crate::launch::Launch;
use crate::ptx::program::{FuncId, Instruction, Program, VarId};

/// Decodes every function that the kernel reaches.
pub fn decode(program: &Program<'_>, image: &Image, launch: &Launch) -> Code {
    let mut code =
        Code { bodies: vec![Body::default(); program.functions.len()], ..Code::default() };
    for (index, function) in program.functions.iter().enumerate() {
        if image.reached[index] {
            let id = FuncId(index as u32);
            Decoder::new(program, image, launch, function, id).function(&mut code);
        }
    }
    code
}

/// Decodes the instructions of one family; `None` for those of others.
pub type Family<'a, 's> = fn(&Decoder<'a, 's>, &Instruction) -> Decoded<Option<Op>>;

impl<'a, 's> Decoder<'a, 's> {
    fn function(mut self, code: &mut Code) {
        self.start = code.insts.len() as u32;
        let formals =
            |ids: &[VarId]| -> Vec<Formal> { ids.iter().map(|id| self.formal(*id)).collect() };
        code.bodies[self.id.0 as usize] = Body {
            name: self.function.name.to_string(),
            entry: self.function.defined.then_some(self.start),
            rows: self.slots.last().map_or(FIRST_REGISTER, |slot| slot.0),
            frame: self.image.frames[self.id.0 as usize].next_multiple_of(16),
            params: formals(&self.function.params),
            returns: formals(&self.function.returns),
        };
        if !self.function.defined {
            return;
        }
        for inst in &self.function.code {
            let place =
                SourcePlace { function: self.id, start: inst.span.start, end: inst.span.end };
            code.places.push(place);
            let op = self.instruction(&inst);
            let guard = inst.guard.map(|(reg, negated)| (self.slot(reg), negated));
            let op = op.unwrap_or_else(|what| Op::Unsupported(what.into()));
            code.insts.push(Inst { guard, op, place: code.places.len() as u32 - 1 });
        }
        // Control that runs off the end returns.
        let (start, end) = (self.function.span.start, self.function.span.start);
        code.places.push(SourcePlace { function: self.id, start, end });
        code.insts.push(Inst { guard: None, op: Op::Return, place: code.places.len() as u32 - 1 });
    }

    fn instruction(&self, inst: &Instruction) -> Decoded<Op> {
        let none = || {
            let (start, end) = (inst.span.start as usize, inst.span.end as usize);
            inst.spelling(self.program.source.get(start..end).unwrap_or(""))
        };
        let decoders: [Family<'a, 's>; 11] = [
            Self::data,
            Self::integer,
            Self::float,
            Self::predicate,
            Self::memory,
            Self::control,
            Self::warp,
            Self::matrix,
            Self::video,
            Self::asynchronous,
            Self::tensor,
        ];
        for decoder in decoders {
            if let Some(op) = decoder(self, inst).map_err(|why| format!("{}: {why}", none()))? {
                return Ok(op);
            }
        }
        Err(none())
    }
}
