//! What a program is launched with: all from its seed.

use crate::program::{Atomic, Place, Program, Word};
use crate::types::{Scalar, Type};
use orias::launch::{Argument, Buffer, Launch, Scalar as Number};
use orias_fuzz::generate::integer;
use orias_fuzz::random::Random;

/// Words of a thread's inputs.
pub const INPUTS: usize = 8;

/// What the output buffer holds before the launch: what nobody writes stays so.
pub const UNWRITTEN: u64 = 0xa5a5_a5a5_a5a5_a5a5;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inputs {
    /// For each thread [`INPUTS`] words.
    pub words: Vec<u64>,
    /// For each variable of the kernel a value, for those that are parameters.
    pub uniform: Vec<u64>,
    /// What the words of all threads hold at first.
    pub shared: Vec<u64>,
    pub global: Vec<u64>,
}

impl Inputs {
    pub fn of(program: &Program) -> Inputs {
        let mut random = Random::new(program.seed ^ 0xcda0_da7a);
        let count = program.threads() as usize * INPUTS;
        let words = (0..count).map(|_| word(&mut random)).collect();
        // From generators of their own: a program that is made smaller keeps its inputs.
        let mut random = Random::new(program.seed ^ 0x0000_f0a4);
        let uniform = (0..program.kernel().vars.len()).map(|_| word(&mut random)).collect();
        let mut random = Random::new(program.seed ^ 0x0000_a70c);
        let mut first = |words: &[Word]| -> Vec<u64> {
            words.iter().map(|w| w.ty.wrap(start(*w, random.word()))).collect()
        };
        let shared = first(&program.shared_words);
        let global = first(&program.global_words);
        Inputs { words, uniform, shared, global }
    }
}

/// A value that the operation can change.
fn start(word: Word, random: u64) -> u64 {
    let signed = word.ty.signed();
    match word.op {
        Atomic::And => u64::MAX,
        Atomic::Or => 0,
        Atomic::Min if signed => 0x7fff_ffff,
        Atomic::Min => u64::MAX,
        Atomic::Max if signed => 0x8000_0000,
        Atomic::Max => 0,
        _ => random,
    }
}

/// A word that is worth something as an integer of every size: small ones, edges, and any.
fn word(random: &mut Random) -> u64 {
    match random.below(5) {
        0 => random.word(),
        1 => random.range(-20, 20) as u64,
        2 => integer(random, 64),
        3 => u64::from(random.word() as u32),
        _ => integer(random, 32) << 32 | integer(random, 32) & 0xffff_ffff,
    }
}

/// The bits that an output has for a number: all NaNs are one.
pub fn canonical(ty: Scalar, x: u64) -> u64 {
    match ty {
        Scalar::F32 if f32::from_bits(x as u32).is_nan() => 0x7fc0_0000,
        Scalar::F64 if f64::from_bits(x).is_nan() => 0x7ff8_0000_0000_0000,
        _ => x,
    }
}

/// The kernel's name.
pub fn name(program: &Program) -> String {
    format!("k{}", program.number)
}

/// Buffers: inputs, outputs, words of all threads; then what the kernel's own variables are.
pub fn launch(program: &Program, inputs: &Inputs) -> Launch {
    let bytes = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let buffer = |bytes, writable| Argument::Buffer(Buffer { bytes, writable, output: None });
    let outputs = vec![UNWRITTEN; program.threads() as usize * program.outputs.max(1)];
    // Words of 32 bits have eight bytes too; the upper ones nobody looks at.
    let global = if inputs.global.is_empty() { vec![0] } else { inputs.global.clone() };
    let mut args = vec![
        buffer(bytes(&inputs.words), false),
        buffer(bytes(&outputs), true),
        buffer(bytes(&global), true),
    ];
    for (index, var) in program.kernel().vars.iter().enumerate() {
        let value = inputs.uniform[index];
        match (var.place, &var.ty) {
            (Place::Global, ty) => {
                let size = ty.layout(&program.structs).0 * program.threads() as usize;
                args.push(buffer(vec![0xa5; size], true));
            }
            (Place::Uniform, Type::Number(Scalar::U64 | Scalar::I64)) => {
                args.push(Argument::Scalar(Number::U64(value)));
            }
            (Place::Uniform, _) => args.push(Argument::Scalar(Number::U32(value as u32))),
            _ => {}
        }
    }
    Launch {
        entry: name(program),
        grid: [program.grid, 1, 1],
        block: [program.block, 1, 1],
        args,
        ..Launch::default()
    }
}
