//! Matrix products, moves of matrices, and what the four warps of a product wait for.

use super::memory;
use super::slots::Slots;
use super::slots::unsupported;
use crate::simulator::error::Cause;
use crate::simulator::float::Round;
use crate::simulator::matrix::{Accumulator, Element, MatrixOp, Move, Place, Product, Sparse};
use crate::simulator::op::{Op, Truth};
use crate::simulator::operand::*;
use orias_components::{Inst, Mod, Opcode, Operand, RegFile, RegFlags};

/// Registers that a thread can name.
const MAX_REGISTERS: u64 = 255;

/// Widest alignment of the registers of a product of four warps.
const GROUP_ALIGN: u8 = 4;

pub fn prepare(s: &Slots<'_>) -> Result<Op, Cause> {
    use Opcode::*;
    let op = match s.inst.op {
        HMMA | IMMA | BMMA | DMMA => MatrixOp::Product(product(s, false)?),
        HGMMA | IGMMA | QGMMA | BGMMA => MatrixOp::Product(product(s, true)?),
        LDSM | STSM => MatrixOp::Move(move_matrices(s)?),
        MOVM if s.has(Mod::MT88) => {
            let Dst::Row(d) = s.dst(0, 1)? else { return Err(unsupported(s)) };
            MatrixOp::Transpose { d, a: s.data(1, 1)? }
        }
        WARPGROUP if s.has(Mod::ARRIVE) => return Ok(Op::Nop),
        WARPGROUP if s.has(Mod::DEPBAR) => MatrixOp::Wait {
            group: group(s, 0)?.ok_or_else(|| unsupported(s))?,
            left: s.imm(1)? as u8,
        },
        USETMAXREG => return pool(s),
        _ => return Err(unsupported(s)),
    };
    Ok(Op::Matrix(Box::new(op)))
}

/// Registers of the CTA's pool: there are always enough. How many a thread may then use,
/// [`pool_registers`] says.
fn pool(s: &Slots<'_>) -> Result<Op, Cause> {
    if s.has(Mod::DEALLOC) {
        return Ok(Op::Nop);
    }
    pool_registers(s.inst).ok_or_else(|| unsupported(s))?;
    let dst = [s.pred_dst(0)?, PredDst::NOWHERE];
    Ok(Op::PredLogic { dst, src: [Truth::Pred(PredSrc::TRUE); 3], tables: [0xff, 0] })
}

/// The registers that a thread has after an instruction that asks the CTA's pool for more.
pub fn pool_registers(inst: &Inst) -> Option<u32> {
    match inst.operands.get(1) {
        Some(Operand::Imm(count)) if inst.op == Opcode::USETMAXREG && *count <= MAX_REGISTERS => {
            Some(*count as u32)
        }
        _ => None,
    }
}

/// The number of a group scoreboard; 7 is none.
fn group(s: &Slots<'_>, index: usize) -> Result<Option<u8>, Cause> {
    match s.imm(index)? {
        7 => Ok(None),
        n if n < 7 => Ok(Some(n as u8)),
        _ => Err(unsupported(s)),
    }
}

/// Rows, columns and depth: `16816` is 16x8x16, `88128` 8x8x128; others are written out.
fn shape(s: &Slots<'_>) -> Option<[u16; 3]> {
    s.inst.mods.iter().find_map(|m| {
        let name = m.name();
        let (m, n, k) = if let Some((m, rest)) = name.split_once('x') {
            let (n, k) = rest.split_once('x')?;
            (m, n, k)
        } else if let Some(k) = name.strip_prefix("168") {
            ("16", "8", k)
        } else {
            ("8", "8", name.strip_prefix("88")?)
        };
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    })
}

/// The elements of A and B.
fn elements(s: &Slots<'_>) -> Option<[Element; 2]> {
    let named = |m: Mod| {
        Some(match m {
            Mod::U8 => Element::U8,
            Mod::S8 => Element::S8,
            Mod::U4 => Element::U4,
            Mod::S4 => Element::S4,
            Mod::E4M3 => Element::E4m3,
            Mod::E5M2 => Element::E5m2,
            Mod::BF16 => Element::Bf16,
            Mod::TF32 => Element::Tf32,
            _ => return None,
        })
    };
    let both = |e| Some([e, e]);
    let mut words = s.inst.mods.iter().filter_map(named);
    match s.inst.op {
        Opcode::HMMA | Opcode::HGMMA => both(words.next().unwrap_or(Element::F16)),
        Opcode::BMMA | Opcode::BGMMA => both(Element::Bits),
        Opcode::DMMA => both(Element::F64),
        _ => Some([words.next()?, words.next()?]),
    }
}

fn accumulator(s: &Slots<'_>) -> Option<Accumulator> {
    Some(match s.inst.op {
        Opcode::DMMA => Accumulator::F64(if s.has(Mod::RM) {
            Round::Down
        } else if s.has(Mod::RP) {
            Round::Up
        } else if s.has(Mod::RZ) {
            Round::Zero
        } else {
            Round::Nearest
        }),
        Opcode::IMMA | Opcode::IGMMA => Accumulator::S32 { saturate: s.has(Mod::SAT) },
        Opcode::BMMA | Opcode::BGMMA if s.has(Mod::POPC) => {
            Accumulator::Count { xor: s.has(Mod::XOR) }
        }
        _ if s.has(Mod::F16) => Accumulator::F16,
        _ if s.has(Mod::F32) => Accumulator::F32,
        _ => return None,
    })
}

/// The first row of an operand in registers, which must be as many as the matrix has.
fn rows(s: &Slots<'_>, index: usize, bits: usize, group: bool) -> Result<Option<u16>, Cause> {
    let (Operand::Reg(reg) | Operand::Part(reg, _)) = *s.operand(index)? else {
        return Err(unsupported(s));
    };
    if bits != usize::from(reg.count) * 32 * LANES {
        return Err(unsupported(s));
    }
    let full = reg.count.next_power_of_two();
    let align = if group { full.min(GROUP_ALIGN) } else { full };
    Ok(general_aligned(reg, reg.count, align, s.context.registers)?)
}

/// `D, A, B, C`, then a predicate, metadata and selector of a sparse A, and a group scoreboard. A
/// descriptor of the group is four uniform registers: two for A, which are not used where A is in
/// registers, and two for B.
fn product(s: &Slots<'_>, four_warps: bool) -> Result<Product, Cause> {
    let refuse = || unsupported(s);
    let [m, n, mut k] = shape(s).ok_or_else(refuse)?;
    let m = if four_warps { m / 4 } else { m };
    let elements = elements(s).ok_or_else(refuse)?;
    let accumulator = accumulator(s).ok_or_else(refuse)?;
    if elements[0] == Element::Bits {
        k /= 32;
    }
    let sparse = s.has(Mod::SP);
    // Shifted metadata; and what no register of a fragment can hold.
    if s.has(Mod::REGOFFSET)
        || elements[0].bits() != elements[1].bits()
        || sparse && m != 16
        || !matches!(m, 8 | 16)
    {
        return Err(refuse());
    }
    let depth = usize::from(if sparse { k / 2 } else { k });
    if !depth.is_multiple_of(4 * elements[0].per_register()) {
        return Err(refuse());
    }
    let bits = |lines: u16, depth: usize| usize::from(lines) * depth * elements[0].bits() as usize;
    let sums = usize::from(m) * usize::from(n) * accumulator.bits() as usize;
    let d = rows(s, 0, sums, four_warps)?.unwrap_or(ROW_NOWHERE);
    let mut next = 1;
    let mut negated = [false; 3];
    let mut absolute = [false; 3];
    let mut places = [Place::Registers(ROW_ZERO); 2];
    while next < 3 {
        let matrix = next - 1;
        if let Some(Operand::Desc(desc)) = s.inst.operands.get(next) {
            let flags = desc.flags;
            // URZ is all four: ptxas ends a group without products with one of nothing.
            let [of_a, of_b] = match uniform(*desc, desc.count)? {
                Some(first) => [first, first + 2],
                None => [UREG_ZERO; 2],
            };
            let both = [
                (of_a, RegFlags::NEG_A, RegFlags::TNSP_A),
                (of_b, RegFlags::NEG_B, RegFlags::TNSP_B),
            ];
            for (at, (uniform, neg, transposed)) in both.into_iter().enumerate().skip(matrix) {
                places[at] = Place::Shared { uniform, transposed: flags.has(transposed) };
                negated[at] = flags.has(neg);
            }
            break;
        }
        let need = if matrix == 0 { bits(m, depth) } else { bits(n, usize::from(k)) };
        places[matrix] = Place::Registers(rows(s, next, need, four_warps)?.unwrap_or(ROW_ZERO));
        negated[matrix] = s.is_negated(next);
        absolute[matrix] = s.flags(next).has(RegFlags::ABS);
        next += 1;
    }
    let c_at = if four_warps { next + 1 } else { 3 };
    let c = rows(s, c_at, sums, four_warps)?.unwrap_or(ROW_ZERO);
    negated[2] = s.is_negated(c_at);
    absolute[2] = s.flags(c_at).has(RegFlags::ABS);
    let mut rest = c_at + 1..s.len();
    let add = match rest.clone().next() {
        Some(i) if s.is_file(i, RegFile::UP) => s.pred(rest.next().unwrap_or(i))?,
        _ => PredSrc::TRUE,
    };
    let mut tail = || rest.next().ok_or_else(refuse);
    let sparse = if sparse {
        let metadata = s.data(tail()?, 1)?;
        Some(Sparse { metadata, selector: s.imm(tail()?)? as u8 })
    } else {
        None
    };
    let group = if four_warps { group(s, tail()?)? } else { None };
    Ok(Product {
        m,
        n,
        k,
        a: places[0],
        b: places[1],
        elements,
        accumulator,
        d,
        c,
        negated,
        absolute,
        add,
        sparse,
        group,
    })
}

fn move_matrices(s: &Slots<'_>) -> Result<Move, Cause> {
    let (address, index) = memory::address(s)?;
    let store = s.inst.op == Opcode::STSM;
    let register = if store { index + 1 } else { 0 };
    let transposed = s.has(Mod::MT88);
    if !transposed && !s.has(Mod::M88) {
        return Err(unsupported(s));
    }
    let Operand::Reg(reg) = *s.operand(register)? else { return Err(unsupported(s)) };
    let count = reg.count;
    let register = if store {
        s.data(register, count)?
    } else {
        let Dst::Row(row) = s.dst(register, count)? else { return Err(unsupported(s)) };
        row
    };
    Ok(Move { address, count, transposed, register, store })
}
