//! `MercEncodeAndDecode`: machine words, and the proof that they say what was meant.

use bevy_ecs::prelude::*;
use orias_components::{Body, Inst, Operand, RegUse};
use orias_targets::Target;

use super::convert::{Code, WORD};
use crate::function::Options;
use crate::manager::fail;

/// The machine words of the function, in text order.
#[derive(Resource, Clone, Debug, Default)]
pub struct Words(pub Vec<u128>);

/// Encodes every instruction, decodes the word again, and fails when anything changed on the way.
pub fn merc_encode_and_decode(world: &mut World) {
    let target = world.resource::<Options>().target;
    let Some(code) = world.remove_resource::<Code>() else { return };
    let mut words = Vec::with_capacity(code.0.len());
    let mut failure = None;
    let body = Body::new(world);
    for (at, id) in code.0.iter().enumerate() {
        match encode(target, &resolved(body.inst(*id)), at as u64 * WORD) {
            Ok(word) => words.push(word),
            Err(message) => {
                failure = Some((message, body.loc(*id)));
                break;
            }
        }
    }
    if let Some(failure) = failure {
        fail(world, failure.0, failure.1);
    }
    world.insert_resource(code);
    world.insert_resource(Words(words));
}

fn encode(target: &Target, inst: &Inst, pc: u64) -> Result<u128, String> {
    let word =
        target.encode(inst, pc).map_err(|error| format!("cannot encode `{inst}`: {error}"))?;
    match target.decode(word, pc) {
        Ok(back) if canonical(back.clone()) == canonical(inst.clone()) => Ok(word),
        Ok(back) => Err(format!("`{inst}` reads back as `{back}`")),
        Err(error) => Err(format!("`{inst}` does not decode: {error}")),
    }
}

/// A constant register has no cells to count: RZ is RZ, whoever reads how much of it. And a negative immediate is the same
/// 32 bits with and without its sign extended.
fn canonical(mut inst: Inst) -> Inst {
    for operand in &mut inst.operands {
        if let Operand::Imm(bits) = operand
            && *bits >> 31 == u64::MAX >> 31
        {
            *bits &= u64::from(u32::MAX);
        }
        operand.map_regs(|r| if r.reg.is_zero() { RegUse { cell: 0, count: 1, ..r } } else { r });
    }
    inst
}

/// The instruction with every symbol's place as zero: a relocation fills it in.
fn resolved(inst: &Inst) -> Inst {
    let mut inst = inst.clone();
    for operand in &mut inst.operands {
        if let Operand::Symbol { .. } = operand {
            *operand = Operand::Imm(0);
        }
    }
    inst
}
