//! The launch of a program: its buffers' contents come from its seed too.

use crate::generate::{double, integer, single};
use crate::print::{ROW, name};
use crate::program::Program;
use crate::random::Random;
use orias::launch::{Argument, Buffer, Launch, Scalar};

/// What the output buffer holds before the launch: what nobody writes stays so.
const UNWRITTEN: u8 = 0xa5;

/// What a launch needs to know of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    pub entry: String,
    pub seed: u64,
    pub grid: u32,
    pub block: [u32; 3],
    /// Bytes of a thread's outputs.
    pub row: usize,
    /// 8-byte words of the buffer that all threads share.
    pub shared_words: u32,
}

impl Shape {
    pub fn of(program: &Program) -> Shape {
        Shape {
            entry: name(program),
            seed: program.seed,
            grid: program.grid,
            block: program.block,
            row: program.layout().1,
            shared_words: program.shared_words,
        }
    }

    pub fn threads(&self) -> usize {
        (self.block.iter().product::<u32>() * self.grid) as usize
    }

    /// Buffers: the input, the outputs, each thread's own bytes, and those that all share.
    pub fn launch(&self) -> Launch {
        let mut random = Random::new(self.seed ^ 0xda7a);
        let threads = self.threads();
        let buffer = |bytes, writable| Argument::Buffer(Buffer { bytes, writable, output: None });
        let args = vec![
            buffer(words(&mut random, threads * ROW), false),
            buffer(vec![UNWRITTEN; threads * self.row], true),
            buffer(words(&mut random, threads * ROW), true),
            buffer(words(&mut random, 8 * self.shared_words.max(1) as usize), true),
            Argument::Scalar(Scalar::U32(random.word() as u32 >> random.below(32))),
            Argument::Scalar(Scalar::U64(random.word())),
            Argument::Scalar(Scalar::F32(f32::from_bits(single(&mut random)))),
            Argument::Scalar(Scalar::F64(f64::from_bits(double(&mut random)))),
            Argument::Bytes(words(&mut random, 32)),
        ];
        Launch {
            entry: self.entry.clone(),
            grid: [self.grid, 1, 1],
            block: self.block,
            args,
            ..Launch::default()
        }
    }
}

/// Bytes that are worth something as integers and floats of every size.
fn words(random: &mut Random, bytes: usize) -> Vec<u8> {
    const HALVES: [u64; 10] =
        [0, 0x8000, 0x3c00, 0xbc00, 0x3f80, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x0001];
    let word = |random: &mut Random| match random.below(8) {
        0 => random.word(),
        1 => (random.range(-16, 16) as u64) << 32 | random.range(-16, 16) as u32 as u64,
        2 => integer(random, 64),
        3 => integer(random, 32) << 32 | integer(random, 32),
        4 => double(random),
        5 | 6 => u64::from(single(random)) << 32 | u64::from(single(random)),
        _ => (0..4).fold(0, |word, _| {
            let half =
                if random.chance(40) { *random.pick(&HALVES) } else { random.word() & 0xffff };
            word << 16 | half
        }),
    };
    (0..bytes.div_ceil(8)).flat_map(|_| word(random).to_le_bytes()).take(bytes).collect()
}
