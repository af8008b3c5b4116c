//! State without which a one-instruction kernel means nothing, so that both engines run it and not
//! only refuse it alike.
//!
//! Random bits are no descriptor of shared memory, no tensor map, no mask that holds the thread
//! itself, and no barrier was initialised in memory that nobody wrote. What an operand stands for
//! follows from the instruction and the operand's place ([`ROLES`]); the coverage set loads each
//! operand from a place of its own ([`values`] writes there). What only code can make stands before
//! the kernel's first instruction ([`module`]).

use crate::setup::{BYTES, Random};
use orias::launch::{Argument, Buffer, Launch, Scalar, place};
use orias_targets::memory::{Memory, SHARED_RESERVED};
use orias_targets::tensor_map::{Element, Im2col, RANK, TensorMap};
use std::collections::BTreeMap;

/// What an operand stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Lanes of a warp that act together, the thread itself among them: here the lower and the
    /// upper half.
    Lanes,
    /// All lanes: a shuffle may read any of them.
    Warp,
    /// A CTA of a cluster of one.
    Ctas,
    /// Where a matrix lies in shared memory.
    Descriptor,
    /// The number of a barrier of the CTA.
    Barrier,
    /// How many threads come to it.
    Threads,
    /// Bytes of a bulk copy.
    Bytes,
    /// Bytes of the source: at most those of the copy, the operand before.
    Source,
    /// Elements from one row of a matrix to the next.
    Stride,
    /// What a barrier in shared memory counts.
    Count,
    Parity,
    /// Registers of a fragment that hold each element more than once.
    Repeated,
    /// How often a loop runs, or whether a product is added to: the same for all threads.
    Rounds,
    /// A new value of a field of a tensor map.
    Field,
    /// A coordinate in a tensor.
    Coordinate,
}
use Role::{
    Barrier, Bytes, Coordinate, Count, Ctas, Descriptor, Field, Lanes, Parity, Repeated, Rounds,
    Source, Stride, Threads, Warp,
};

/// An operand's place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// From the first.
    Front(usize),
    /// From the last.
    Back(usize),
}
use At::{Back, Front};

/// Instructions by how they begin and a modifier of theirs, the operand, what it stands for, and
/// what else is in the kernel.
const ROLES: &[(&str, &str, At, Role, &str)] = &[
    ("shfl.sync", "", Back(0), Warp, ""),
    ("vote.sync", "", Back(0), Lanes, ""),
    ("match.", "", Back(0), Lanes, ""),
    ("redux.sync", "", Back(0), Lanes, ""),
    ("elect.sync", "", Back(0), Lanes, ""),
    ("bar.warp.sync", "", Back(0), Lanes, ""),
    ("wgmma.mma_async", "", Front(1), Descriptor, ""),
    ("wgmma.mma_async", "", Front(2), Descriptor, ""),
    ("bar", ".red", Front(1), Barrier, ""),
    ("bar", ".red", Front(2), Threads, ""),
    ("bar", ".sync", Front(0), Barrier, ""),
    ("bar", ".sync", Front(1), Threads, ""),
    ("bar", ".arrive", Front(0), Barrier, ""),
    ("bar", ".arrive", Front(1), Threads, ""),
    ("cp.async.bulk.prefetch.L2", "", Front(1), Bytes, ""),
    ("cp.async.bulk.shared", "", Front(2), Bytes, ""),
    ("cp.async.bulk.global", "", Front(2), Bytes, ""),
    ("cp.reduce.async.bulk.shared", "", Front(2), Bytes, ""),
    ("cp.reduce.async.bulk.global", "", Front(2), Bytes, ""),
    ("cp.async.bulk.shared", ".multicast", Front(4), Ctas, ""),
    ("cp.async.ca", "", Front(3), Source, ""),
    ("cp.async.cg", "", Front(3), Source, ""),
    ("wmma.load", "", Front(2), Stride, ""),
    ("wmma.store", "", Front(2), Stride, ""),
    ("wmma.mma", ".m", Front(1), Repeated, ""),
    ("wmma.mma", ".m", Front(2), Repeated, ""),
    ("mbarrier.arrive", "", Front(2), Count, ""),
    ("mbarrier.expect_tx", "", Front(1), Count, ""),
    ("mbarrier.complete_tx", "", Front(1), Count, ""),
    ("mbarrier", ".parity", Front(2), Parity, ""),
    ("tensormap.replace", "", Back(0), Field, ""),
    ("cp.async.bulk.tensor", ".multicast::cluster.L2", Back(1), Ctas, ""),
    ("cp.async.bulk.tensor", ".multicast", Back(0), Ctas, ""),
    ("setp.ne", "", Front(1), Rounds, "wgmma."),
    ("setp.lt", "", Front(2), Rounds, "bra L;"),
];

/// Bytes of a buffer behind the last thread's place.
const MORE: usize = 1024;

/// Where an operand comes from: bytes of a thread's place in the buffer of the second parameter, or
/// a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Input { offset: usize, size: usize },
    Parameter(usize),
}

/// An instruction: opcode with modifiers, and operands.
fn split(statement: &str) -> Option<(&str, Vec<&str>)> {
    let statement = statement.trim();
    let statement = match statement.strip_prefix('@') {
        Some(rest) => rest.split_once(' ')?.1,
        None => statement,
    };
    let (opcode, rest) = statement.split_once(' ').unwrap_or((statement, ""));
    let (mut operands, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                operands.push(rest[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !rest[start..].trim().is_empty() {
        operands.push(rest[start..].trim());
    }
    Some((opcode, operands))
}

fn registers(operand: &str) -> impl Iterator<Item = &str> {
    let end = |c: char| !(c.is_alphanumeric() || c == '_');
    operand.split('%').skip(1).map(move |rest| &rest[..rest.find(end).unwrap_or(rest.len())])
}

/// The statements between a kernel's braces.
fn statements(kernel: &str) -> impl Iterator<Item = &str> {
    let body = kernel.split_once("\n{").map_or("", |(_, body)| body);
    body.split(['\n', ';']).map(str::trim).filter(|s| !s.is_empty() && !s.starts_with('.'))
}

/// From where each register of a kernel is loaded.
fn sources(kernel: &str) -> BTreeMap<&str, From> {
    let mut all = BTreeMap::new();
    for (opcode, operands) in statements(kernel).filter_map(split) {
        let [to, from] = operands[..] else { continue };
        let width = opcode.trim_end_matches(|c: char| !c.is_ascii_digit());
        let digits = width.rfind(|c: char| !c.is_ascii_digit()).map_or("", |at| &width[at + 1..]);
        let size = digits.parse::<usize>().unwrap_or(0) / 8;
        if opcode.starts_with("ld.global") && from.starts_with("[%pi") {
            let offset = from.trim_matches(|c: char| !c.is_ascii_digit());
            let offset = offset.parse().unwrap_or(0);
            for (n, register) in registers(to).enumerate() {
                all.insert(register, From::Input { offset: offset + n * size, size });
            }
        } else if opcode.starts_with("ld.param") {
            let index = ["o", "i", "x", "y"].iter().position(|p| from == format!("[{p}]"));
            let index = index.filter(|index| *index > 1);
            all.extend(registers(to).next().zip(index.map(From::Parameter)));
        }
    }
    all
}

/// Threads of a block: what the kernel asks for, a warpgroup for its products, two warps where 64
/// threads are to come to a barrier.
pub fn threads(kernel: &str, otherwise: u32) -> u32 {
    let any = |prefix: &str| statements(kernel).any(|s| s.starts_with(prefix));
    if let Some(block) = directive(kernel, ".reqntid ") {
        block.iter().product()
    } else if any("wgmma.") {
        128
    } else if any("ld.const") {
        // Their variables have 256 bytes.
        otherwise.min(8)
    } else if statements(kernel).any(|s| s.starts_with("bar") && s != "bar.sync 0") {
        otherwise.max(64)
    } else {
        otherwise
    }
}

/// A launch with what the kernel's operands stand for in place of random bits.
pub fn values(launch: &mut Launch, kernel: &str, random: &mut Random) {
    let sources = sources(kernel);
    for arg in launch.args.iter_mut().take(2) {
        // The last thread's operands may need more than its place.
        if let Argument::Buffer(buffer) = arg {
            let more: Vec<u8> = buffer.bytes.iter().copied().take(MORE).collect();
            buffer.bytes.extend(more);
        }
    }
    shape(launch, kernel);
    far(launch, kernel);
    let threads = launch.block.iter().product();
    let mut put = |from: From, value: &mut dyn FnMut(u32) -> u64| {
        let From::Input { offset, size } = from else { return };
        let Some(Argument::Buffer(buffer)) = launch.args.get_mut(1) else { return };
        for thread in 0..threads {
            let at = thread as usize * BYTES + offset;
            if let Some(to) = buffer.bytes.get_mut(at..at + size) {
                to.copy_from_slice(&value(thread).to_le_bytes()[..size]);
            }
        }
    };
    let mut map = None;
    for (opcode, operands) in statements(kernel).filter_map(split) {
        // An address of 32 bits is one of shared memory: of data, or behind it of the barrier.
        for (index, operand) in operands.iter().enumerate().filter(|(_, o)| o.starts_with('[')) {
            let Some(from) = registers(operand).next().and_then(|r| sources.get(r)) else {
                continue;
            };
            let barrier = opcode.starts_with("mbarrier") || index > 0;
            if let From::Input { size: 4, .. } = from {
                let place = |thread: u32| match barrier {
                    true => SHARED_RESERVED,
                    false => SHARED_RESERVED + 0x400 + u64::from(thread % 4) * 64,
                };
                put(*from, &mut { place });
            }
            if let (From::Parameter(index), true) = (*from, opcode.contains("tensor")) {
                map = Some((index, tensor(opcode)));
            }
            if opcode.contains("bulk") && opcode.contains("tensor") {
                for from in registers(operand).skip(1).filter_map(|r| sources.get(r)) {
                    put(*from, &mut |thread| {
                        value(Coordinate, opcode, &operands, 0, thread, random)
                    });
                }
            }
        }
        // Offsets in an image stand behind each other.
        if opcode.contains(".im2col") {
            for operand in operands.iter().filter(|o| o.starts_with('{')) {
                for from in registers(operand).filter_map(|r| sources.get(r)) {
                    put(*from, &mut |thread| value(Parity, opcode, &operands, 0, thread, random));
                }
            }
        }
        for (begin, modifier, at, role, within) in ROLES {
            if !opcode.starts_with(begin) || !opcode.contains(modifier) || !kernel.contains(within)
            {
                continue;
            }
            let index = match at {
                Front(n) => *n,
                Back(n) => operands.len().wrapping_sub(n + 1),
            };
            let Some(operand) = operands.get(index) else { continue };
            let all: Vec<From> =
                registers(operand).filter_map(|r| sources.get(r).copied()).collect();
            match role {
                Repeated => {
                    let different = all.len() / copies(opcode, index == 1, all.len());
                    for n in 0..different {
                        let bits: Vec<u64> = (0..threads).map(|_| random.value()).collect();
                        for from in all.iter().skip(n).step_by(different) {
                            put(*from, &mut |thread| bits[thread as usize]);
                        }
                    }
                }
                Descriptor if operand.starts_with('{') => {}
                _ => {
                    for from in all {
                        let mut number =
                            |thread| value(*role, opcode, &operands, index, thread, random);
                        put(from, &mut number);
                    }
                }
            }
        }
    }
    if let Some((index, mut map)) = map.filter(|(index, _)| *index < launch.args.len()) {
        let buffer = |bytes| Argument::Buffer(Buffer { bytes, writable: true, output: None });
        launch.args[index] = buffer(vec![0; 128]);
        // The tensor lies in the output, where its changes are seen.
        map.address = place(&launch.args, &mut Memory::default()).address(0).unwrap_or_default();
        launch.args[index] = buffer(map.encode().to_vec());
    }
}

/// The blocks and clusters that a kernel's directives ask for.
fn shape(launch: &mut Launch, kernel: &str) {
    if let Some(block) = directive(kernel, ".reqntid ") {
        launch.block = block;
    }
    if let Some(cluster) = directive(kernel, ".reqnctapercluster ") {
        launch.grid = cluster;
    }
    if kernel.split_once("\n{").is_some_and(|(header, _)| header.contains(".explicitcluster")) {
        launch.cluster = Some([1; 3]);
    }
}

/// The numbers of a directive of a kernel, those left out being one.
fn directive(kernel: &str, name: &str) -> Option<[u32; 3]> {
    let (header, _) = kernel.split_once("\n{")?;
    let (_, rest) = header.split_once(name)?;
    let rest = &rest[..rest.find('.').unwrap_or(rest.len())];
    let mut all = rest.split(',').filter_map(|n| n.trim().parse().ok());
    Some([(); 3].map(|()| all.next().unwrap_or(1)))
}

/// Pointers for kernels that read or write far from them, or beside alignment: what they reach lies
/// in the other buffer, behind all that it holds otherwise.
fn far(launch: &mut Launch, kernel: &str) {
    for (index, name) in ["[%po+", "[%pi+"].into_iter().enumerate() {
        let offsets = kernel.split(name).skip(1).filter_map(|rest| rest.split(']').next());
        let offsets = offsets.filter_map(|n| n.parse::<i64>().ok());
        let Some(offset) = offsets.max_by_key(|n| n.abs()) else { continue };
        let near = (0..=1024).contains(&offset) && offset % 8 == 0;
        if near {
            continue;
        }
        let Some(Argument::Buffer(other)) = launch.args.get_mut(1 - index) else { continue };
        let behind = other.bytes.len().next_multiple_of(256);
        let more = other.bytes.clone();
        other.bytes.resize(behind, 0);
        other.bytes.extend(more);
        // Where a buffer lies depends on those before it.
        launch.args[index] = Argument::Scalar(Scalar::U64(0));
        let base = place(&launch.args, &mut Memory::default()).address(1 - index).unwrap_or(0);
        let pointer = (base + behind as u64).wrapping_sub(offset as u64);
        launch.args[index] = Argument::Scalar(Scalar::U64(pointer));
    }
}

/// How often a fragment of `wmma` in so many registers holds each element: eight registers of
/// halves hold 512 of them.
fn copies(opcode: &str, a: bool, registers: usize) -> usize {
    let size = |c: char| {
        let shape = opcode.split('.').find(|w| w.starts_with('m') && w.contains('k'))?;
        shape[shape.find(c)? + 1..].split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let [m, n, k] = ['m', 'n', 'k'].map(|c| size(c).unwrap_or(0_usize));
    let elements = if a { m * k } else { k * n };
    // Other types have no more registers than they need.
    let halves =
        !["bf16", "tf32", "f64", "u8", "s8", "u4", "s4", "b1"].iter().any(|t| opcode.contains(t));
    if halves && registers == 8 && elements > 0 { (512 / elements).max(1) } else { 1 }
}

/// A value that an operand may have.
fn value(
    role: Role,
    opcode: &str,
    operands: &[&str],
    index: usize,
    thread: u32,
    random: &mut Random,
) -> u64 {
    let number = |operand: &str| operand.parse::<u64>().unwrap_or(0);
    let some = u64::from(thread % 4);
    match role {
        Lanes => {
            if thread % 32 < 16 {
                0x0000_ffff
            } else {
                0xffff_0000
            }
        }
        Warp => 0xffff_ffff,
        Ctas => 1,
        // Pieces of 8 rows of 16 bytes lie 128 bytes (8 times 16) and 256 bytes apart, without
        // swizzling.
        Descriptor => ((SHARED_RESERVED + 0x100 * index as u64) >> 4) | (8 << 16) | (16 << 32),
        Barrier => 5,
        Threads => 64,
        Bytes => 16 * (1 + some),
        Source => random.word() % (number(operands[index - 1]) + 1),
        Stride if opcode.ends_with("b1") => 128,
        Stride => 32,
        Count => 1,
        Parity => some % 2,
        Repeated => random.value(),
        Rounds => 3,
        Field if opcode.contains("stride.") && opcode.ends_with("b64") => 0x1230,
        Field if opcode.contains("global_address") => 0x1_2345_6780,
        Field if opcode.contains("rank") => 2,
        Field => 3,
        Coordinate => some,
    }
}

/// The map of a tensor of 2048 bytes for an instruction.
fn tensor(opcode: &str) -> TensorMap {
    let rank = (1..=RANK).find(|n| opcode.contains(&format!(".{n}d."))).unwrap_or(RANK);
    let (dims, boxes) = ([8, 4, 4, 2, 2], [4, 2, 2, 2, 1]);
    let im2col = opcode.contains(".im2col");
    let image = rank.saturating_sub(2).min(3);
    let upper = std::array::from_fn(|i| if i < image { -1 } else { 0 });
    let inside = |all: [u32; RANK]| std::array::from_fn(|i| if i < rank { all[i] } else { 1 });
    TensorMap {
        address: 0,
        element: Element::U32,
        rank: rank as u32,
        dims: inside(dims),
        strides: std::array::from_fn(|i| if i + 1 < rank { [32, 128, 512, 1024][i] } else { 0 }),
        boxes: if im2col { [4, 1, 1, 1, 1] } else { inside(boxes) },
        element_strides: [1; RANK],
        interleave: 0,
        swizzle: 0,
        fill_nan: false,
        im2col: im2col.then_some(Im2col { lower: [0; 3], upper, pixels: 4 }),
    }
}

/// PTX whose kernels begin with what they take for granted: shared memory `sm` has the content of
/// the buffer that the second parameter points to, and a barrier in it is initialised.
pub fn module(text: &str) -> String {
    let mut out = String::new();
    for (n, part) in text.split(".visible .entry ").enumerate() {
        let part = &with_state(part);
        out += if n > 0 { ".visible .entry " } else { "" };
        match (n > 0).then(|| prologue(part)).flatten() {
            Some((at, code)) => {
                out += &part[..at];
                out += &code;
                out += &part[at..];
            }
            None => out += part,
        }
    }
    out
}

/// A state that is waited for comes from an arrival; of one that an arrival gives nothing counts
/// but what a wait says of it.
fn with_state(kernel: &str) -> String {
    let arrives = statements(kernel).filter_map(split).find(|(opcode, operands)| {
        opcode.starts_with("mbarrier.arrive") && operands.first().is_some_and(|o| *o != "_")
    });
    let given = arrives.and_then(|(_, operands)| operands.first().copied());
    let waits = statements(kernel).filter_map(split).find(|(opcode, _)| {
        ["mbarrier.test_wait", "mbarrier.try_wait"].iter().any(|op| opcode.starts_with(op))
            && !opcode.contains(".parity")
    });
    let state = waits.and_then(|(_, operands)| operands.get(2).copied());
    let line = |line: &str| match state {
        Some(state) if line.starts_with("ld.global") && line.contains(&format!(" {state},")) => {
            format!("mbarrier.arrive.shared.b64 {state},[sm];")
        }
        _ if given.is_some_and(|given| line == format!("st.global.b64 [%po],{given};")) => format!(
            "{{\n.reg .pred %over;\n.reg .b32 %answer;\n\
             mbarrier.test_wait.shared.b64 %over,[sm],{};\n\
             selp.u32 %answer,1,0,%over;\nst.global.u32 [%po],%answer;\n}}",
            given.unwrap_or_default()
        ),
        _ => line.to_string(),
    };
    kernel.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// What stands before a kernel's first instruction, and where that is.
fn prologue(kernel: &str) -> Option<(usize, String)> {
    let any = |prefix: &str| statements(kernel).any(|s| s.starts_with(prefix));
    let has = |text: &str| kernel.contains(text);
    let products = any("wgmma.mma");
    let outside = any("red.async") || any("st.async");
    let (copies, barrier) = (any("cp.async.bulk") || any("cp.reduce.async.bulk"), any("mbarrier."));
    let declared = kernel.split_once(" sm[").and_then(|(_, rest)| rest.split_once(']'));
    let declared = declared.and_then(|(size, _)| size.parse::<u32>().ok());
    let loads = any("wmma.load") && declared.is_some() && !has("wmma.store");
    if !(products || outside || barrier || copies && declared.is_some() || loads)
        || !has(".param .u64 i")
    {
        return None;
    }
    let size = declared.unwrap_or(if products { 32768 } else { 4096 });
    let body = kernel.find("\n{")? + 2;
    let mut at = body;
    for line in kernel[body..].split_inclusive('\n') {
        if !matches!(line.trim_start().chars().next(), None | Some('.')) {
            break;
        }
        at += line.len();
    }
    let declare = match declared {
        Some(_) => String::new(),
        None => format!(".shared .align 1024 .b8 sm[{size}];\n"),
    };
    let fill = format!(
        "{{\n.reg .b32 %fill<8>;\n.reg .b64 %from<2>;\n.reg .pred %done;\n\
         mov.u32 %fill0,%tid.x;\nshl.b32 %fill0,%fill0,4;\n\
         mov.u32 %fill1,%ntid.x;\nshl.b32 %fill1,%fill1,4;\n\
         mov.u32 %fill2,sm;\nld.param.u64 %from0,[i];\n\
         FILL:\nsetp.ge.u32 %done,%fill0,{size};\n@%done bra FILLED;\n\
         cvt.u64.u32 %from1,%fill0;\nadd.s64 %from1,%from1,%from0;\n\
         ld.global.v4.b32 {{%fill4,%fill5,%fill6,%fill7}},[%from1];\nadd.u32 %fill3,%fill2,%fill0;\n\
         st.shared.v4.b32 [%fill3],{{%fill4,%fill5,%fill6,%fill7}};\n\
         add.u32 %fill0,%fill0,%fill1;\nbra FILL;\nFILLED:\nbar.sync 0;\n"
    );
    // A kernel that waits in a loop waits for a phase that is over.
    let waits = has("bra L_w");
    let init = match (barrier || outside) && !has("mbarrier.init") {
        true => format!(
            "mov.u32 %fill0,%tid.x;\nsetp.ne.u32 %done,%fill0,0;\n@%done bra INIT;\n\
             mbarrier.init.shared.b64 [sm],{};\n{}INIT:\nbar.sync 0;\n",
            if waits { 1 } else { 4096 },
            if waits { "mbarrier.arrive.shared.b64 %from0,[sm];\n" } else { "" },
        ),
        false => String::new(),
    };
    Some((at, format!("{declare}{fill}{init}}}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "k(.param .u64 o,.param .u64 i) .reqntid 8, 2\n{\n.reg .b32 %r<3>;\n\
         .shared .align 128 .b8 sm[64];\nld.param.u64 %pi,[i];\nld.global.b32 %r0,[%pi+32];\n\
         ld.global.b32 %r1,[%pi+16];\nvote.sync.all.pred %p1, %p0, %r0;\n\
         mbarrier.arrive.shared.b64 %d1, [%sa], %r1;\nst.global.b64 [%po],%d1;\nret;\n}\n";

    #[test]
    fn operands_are_what_the_instruction_takes_them_for() {
        let buffer = || {
            let bytes = vec![0x77; 32 * BYTES];
            Argument::Buffer(Buffer { bytes, writable: true, output: None })
        };
        let mut launch = Launch {
            grid: [1; 3],
            block: [16, 1, 1],
            args: vec![buffer(), buffer()],
            ..Launch::default()
        };
        values(&mut launch, KERNEL, &mut Random(1));
        assert_eq!(launch.block, [8, 2, 1], "the kernel asks for it");
        let Argument::Buffer(input) = &launch.args[1] else { panic!() };
        let word = |thread: usize, at: usize| &input.bytes[thread * BYTES + at..][..4];
        for thread in 0..16 {
            assert_eq!(word(thread, 32), [0xff, 0xff, 0, 0], "lanes of the half that it is in");
            assert_eq!(word(thread, 16), [1, 0, 0, 0], "how often it arrives");
            assert_eq!(word(thread, 0), [0x77; 4], "what nothing reads stays");
        }
    }

    #[test]
    fn what_only_code_makes_stands_before_the_first_instruction() {
        let text = module(&format!(".version 9.0\n.visible .entry {KERNEL}"));
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(place(".shared .align 128 .b8 sm[64];") < place("st.shared.v4.b32"));
        assert!(place("mbarrier.init.shared.b64 [sm],4096;") < place("ld.param.u64 %pi,[i];"));
        assert!(!text.contains("st.global.b64 [%po],%d1;"), "a state's bits are not compared");
        assert!(place("mbarrier.test_wait") > place("mbarrier.arrive"));
    }

    #[test]
    fn fragments_repeat_their_elements_as_often_as_they_have_room() {
        let of = |shape: &str, a| copies(&format!("wmma.mma.sync.aligned.row.col.{shape}"), a, 8);
        assert_eq!([of("m16n16k16.f32.f32", true), of("m16n16k16.f16.f16", false)], [2, 2]);
        assert_eq!([of("m8n32k16.f16.f32", true), of("m8n32k16.f16.f32", false)], [4, 1]);
        assert_eq!(of("m8n32k16.f32.bf16.bf16.f32", false), 1);
    }
}
