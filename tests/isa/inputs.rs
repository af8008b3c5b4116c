//! Inputs that serve as addresses: for the generator's kernels that no engine runs on any others.
//!
//! Those kernels take the third to fifth parameter for pointers to global memory, for shared
//! addresses or for the number of rounds of a loop, and what they load for shared addresses or for
//! indices; some reach far beyond their thread's place. Which, is tried.

use crate::setup::{BYTES, Random, Setup};
use orias::launch::{Argument, Buffer, Launch, Scalar, place};
use orias::ptx::program::{Function, Program};
use orias::ptx::types::Type;
use orias_targets::memory::{Memory, SHARED_RESERVED};

/// What the buffers hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Places in the first variable of shared memory.
    Places,
    /// Multiples of four below 32: times four they are aligned and within every variable.
    Indices,
    Anything,
}

/// What stands for a 64-bit parameter after the second.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Buffer,
    /// For a place in shared memory.
    Place,
    /// For how often a loop runs.
    Rounds,
}

/// Bytes of memory before and after the place to which kernels with large offsets get a pointer.
const FAR: [usize; 2] = [0x80_0000, 0x124_0000];

/// Bytes of shared memory, for kernels that name no variable there.
const SHARED: u64 = 0x1000;

/// The launches, the likeliest first. The last ones have much memory.
pub fn meaningful<'a>(
    program: &'a Program<'_>,
    kernel: &'a Function<'_>,
    setup: Setup,
) -> impl Iterator<Item = Launch> + 'a {
    use Stands::{Buffer, Place, Rounds};
    let last = [Buffer, Rounds, Place];
    let stands = last.map(|z| [Buffer, Place].map(|y| [Buffer, Place].map(|x| [x, y, z])));
    let stands: Vec<[Stands; 3]> = stands.into_iter().flatten().flatten().collect();
    let contents = [Content::Places, Content::Indices, Content::Anything];
    // One thread alone has the index 0, which is aligned for all accesses.
    let near = [setup.threads, 1].into_iter().flat_map(move |threads| {
        let stands = stands.clone();
        let each = move |content| stands.clone().into_iter().map(move |s| (threads, content, s));
        contents.into_iter().flat_map(each)
    });
    let far = [(setup.threads, [Buffer; 3]), (1, [Buffer; 3]), (1, [Buffer, Buffer, Rounds])];
    let far = far.map(|(threads, stands)| (threads, Content::Indices, stands, true));
    near.map(|(threads, content, stands)| (threads, content, stands, false)).chain(far).map(
        move |(threads, content, stands, far)| {
            launch(program, kernel, Setup { threads, ..setup }, content, stands, far)
        },
    )
}

fn launch(
    program: &Program<'_>,
    kernel: &Function<'_>,
    setup: Setup,
    content: Content,
    stands: [Stands; 3],
    far: bool,
) -> Launch {
    let argument = |(index, id): (usize, &orias::ptx::program::VarId)| {
        let var = &program.vars[id.0 as usize];
        let mut random = Random(setup.seed.wrapping_add(index as u64 * 0x1000));
        let wide = matches!(var.ty, Type::U64 | Type::B64 | Type::S64) && var.size == 8;
        let stands = match index.checked_sub(2) {
            Some(at) => stands.get(at).copied().unwrap_or(Stands::Buffer),
            None => Stands::Buffer,
        };
        match stands {
            _ if !wide => {
                let count = var.size.div_ceil(8) as u32;
                let words = (0..count).map(|n| word(content, n, 0, &mut random));
                let bytes = words.flat_map(u64::to_le_bytes);
                Argument::Bytes(bytes.take(var.size as usize).collect())
            }
            Stands::Buffer => buffer(contents(setup.threads, content, &mut random)),
            Stands::Place => Argument::Scalar(Scalar::U64(SHARED_RESERVED + 0x80 * index as u64)),
            Stands::Rounds => Argument::Scalar(Scalar::U64(2)),
        }
    };
    let mut args: Vec<Argument> = kernel.params.iter().enumerate().map(argument).collect();
    if far && args.len() > 3 {
        args[1] = Argument::Scalar(Scalar::U64(0));
        args[3] = far_buffer(setup, content);
        let base = place(&args, &mut Memory::default()).address(3).unwrap_or_default();
        args[1] = Argument::Scalar(Scalar::U64(base + FAR[0] as u64));
    }
    Launch {
        entry: kernel.name.to_string(),
        grid: [1; 3],
        block: [setup.threads, 1, 1],
        args,
        dynamic_shared: SHARED,
        ..Launch::default()
    }
}

fn buffer(bytes: Vec<u8>) -> Argument {
    Argument::Buffer(Buffer { bytes, writable: true, output: None })
}

fn contents(threads: u32, content: Content, random: &mut Random) -> Vec<u8> {
    let words = (0..threads).flat_map(|t| (0..BYTES as u32 / 8).map(move |n| (n, t)));
    words.flat_map(|(n, t)| word(content, n, t, random).to_le_bytes()).collect()
}

/// Memory around a place, with something wherever the generator's offsets lead.
fn far_buffer(setup: Setup, content: Content) -> Argument {
    let mut bytes = vec![0; FAR[0] + FAR[1]];
    let mut random = Random(setup.seed);
    for offset in [0i64, 0x7f_fff0, -0x80_0000, 0x123_4560] {
        let at = (FAR[0] as i64 + offset) as usize;
        let some = contents(
            setup.threads,
            if offset == 0 { content } else { Content::Anything },
            &mut random,
        );
        let end = (at + some.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&some[..end - at]);
    }
    buffer(bytes)
}

/// The word of a place's thread that says how often it runs a loop.
const ROUNDS: u32 = 240 / 8;

/// The n-th double word of a thread.
fn word(content: Content, n: u32, thread: u32, random: &mut Random) -> u64 {
    match content {
        _ if n == ROUNDS => 1 + u64::from(thread % 2),
        Content::Places => SHARED_RESERVED + 0x80 + u64::from((n + thread) % 64 * 16),
        Content::Indices => u64::from((n / 2 + thread) % 8 * 4),
        Content::Anything => random.value(),
    }
}
