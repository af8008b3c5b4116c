//! `wmma.load` and `wmma.store`: fragments from and to matrices in memory, element by element as
//! the lanes hold them.
//!
//! The fragments of `wmma`, which PTX leaves open, are those of the machine products that
//! [`super::wmma`] makes of it (and of ptxas's).

use super::fragment::{Element, Words, converge, elements, scatter, shape, word, words};
use super::shuffles::{lane, permute};
use crate::lower::common::lanes::under_guard;
use crate::lower::common::modifiers;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, RegUse};
use orias_systems::build::{Address, cell, imm, wide};
use rustc_hash::FxHashMap;

/// Which matrix of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    A,
    B,
    C,
}

/// A fragment in memory: which element a lane's register holds, and how far elements are from each
/// other.
struct Layout {
    role: Role,
    rows: u32,
    columns: u32,
    element: Element,
    /// Elements of a column follow each other in memory.
    by_column: bool,
}

/// Where an element lies: rows and columns, those of a lane `group` (its number / 4) and `thread`
/// (the rest), and more for the register.
#[derive(Clone, Copy, Default)]
struct Place {
    row: u32,
    column: u32,
}

impl Layout {
    fn of(inst: &Instruction) -> Sel<Layout> {
        let [m, n, k] = shape(inst)?;
        let element = *elements(inst).last().ok_or("type of the matrix")?;
        let (role, rows, columns) = match inst.modifiers.get(1).copied() {
            Some(Word::A) => (Role::A, m, k),
            Some(Word::B) => (Role::B, k, n),
            Some(Word::C | Word::D) => (Role::C, m, n),
            _ => return Err("which matrix".into()),
        };
        Ok(Layout { role, rows, columns, element, by_column: inst.has(Word::Col) })
    }

    /// Elements in one register.
    fn packed(&self) -> u32 {
        (32 / self.element.bits()).max(1)
    }

    /// Registers that hold each element once.
    fn registers(&self) -> u32 {
        self.rows * self.columns / (32 * self.packed())
    }

    /// What a lane's number adds to the place of an element: its upper bits (the group) and its
    /// lower two (the thread in it).
    fn steps(&self) -> [(u32, u32, Place); 2] {
        let row = |row| Place { row, column: 0 };
        let column = |column| Place { row: 0, column };
        let (group, thread) = match self.role {
            Role::A => (row(1), column(self.packed())),
            Role::B => (column(1), row(self.packed())),
            // Of a result that is wider than high, the transposed one is made.
            Role::C if self.transposed() => (column(1), row(2)),
            Role::C => (row(1), column(2)),
        };
        [(2, 7, group), (0, 3, thread)]
    }

    /// How LDSM reads it, where it can: whether transposed. Each register is then a matrix of eight
    /// rows of 16 bytes.
    fn matrices(&self) -> Option<bool> {
        let along_sum = match self.role {
            Role::A => !self.by_column,
            Role::B => self.by_column,
            Role::C => return None,
        };
        match (self.element.bits(), along_sum) {
            (8 | 16, true) => Some(false),
            (16, false) => Some(true),
            _ => None,
        }
    }

    fn transposed(&self) -> bool {
        self.rows == 8 && self.columns > 8
    }

    /// The place of element `e` of register `r` in lane 0.
    fn place(&self, r: u32, e: u32) -> Place {
        let packed = self.packed();
        // Of the factors: the place across the sum, and that along it.
        let factor = |depth: u32, tall: bool| {
            let step = 4 * packed;
            let steps = depth / step;
            if tall {
                // Tiles of 16 have their halves in turn.
                (8 * (r % 2) + r / (2 * steps) * 16, e + r / 2 % steps * step)
            } else {
                (r / steps * 8, e + r % steps * step)
            }
        };
        match self.role {
            Role::A => {
                let (row, column) = factor(self.columns, self.rows > 8);
                Place { row, column }
            }
            Role::B => {
                let (column, row) = factor(self.rows, self.columns == 32);
                Place { row, column }
            }
            Role::C => {
                let i = r * packed + e;
                let (pair, rest) = (i % 2, i / 2);
                match (self.rows, self.columns) {
                    (8, 8) => Place { row: 0, column: pair },
                    (8, _) => Place { row: pair, column: rest * 8 },
                    (32, _) => Place { row: rest * 8, column: pair },
                    _ => Place { row: rest % 2 * 8, column: rest / 2 * 8 + pair },
                }
            }
        }
    }

    /// A place as strides and elements beside them.
    fn offset(&self, place: Place) -> (u32, u32) {
        if self.by_column { (place.column, place.row) } else { (place.row, place.column) }
    }

    /// Words of registers that one access moves, and how many accesses a register takes: elements
    /// that follow each other.
    fn access(&self) -> Access {
        let adjacent = |a: Place, b: Place| {
            let ((s, x), (t, y)) = (self.offset(a), self.offset(b));
            s == t && y == x + 1
        };
        if self.packed() > 1 {
            let whole = adjacent(self.place(0, 0), self.place(0, 1));
            return if whole {
                Access { registers: 1, elements: self.packed() }
            } else {
                Access { registers: 1, elements: 1 }
            };
        }
        let pairs = self.role == Role::C && adjacent(self.place(0, 0), self.place(1, 0));
        Access { registers: if pairs { 2 } else { 1 }, elements: 1 }
    }
}

/// What one machine access moves: several registers, or so many elements of one.
struct Access {
    registers: u32,
    elements: u32,
}

/// An offset from which on no row of a fragment is longer than what is left of the field.
const FARTHEST: i32 = 0x7f_0000;

/// Addresses of a fragment's elements, by strides from the first row or column.
struct Addresses {
    space: Space,
    start: Address,
    /// Bytes of a stride.
    stride: Operand,
    known: FxHashMap<u32, Address>,
    bits: u32,
}

impl Addresses {
    /// Of operand `at`, for each lane that of the first element plus, for each of `steps`, its
    /// place times a part of the lane's number: so many bits further down, under a mask.
    fn new(
        cx: &mut Cx<'_, '_>,
        inst: &Instruction,
        layout: &Layout,
        at: usize,
        steps: &[(u32, u32, Place)],
    ) -> Sel<Addresses> {
        let space = modifiers::space(inst);
        let lane = lane(cx)?;
        let mut start = cx.address(operand(inst, at)?, space)?;
        if start.offset > FARTHEST {
            // Elements beside each other would leave the offset's 24 bits.
            let one = cx.in_reg(imm(1));
            let offset = imm(start.offset as u32);
            start = Address { offset: 0, ..advance(cx, start, one, offset) };
        }
        let bits = layout.element.bits();
        let stride = match inst.operands.get(2) {
            Some(op) => cx.src(op, Type::U32)?,
            None => imm(if layout.by_column { layout.rows } else { layout.columns }),
        };
        // Bytes.
        let stride = match stride {
            Operand::Imm(s) => imm((s * u64::from(bits) / 8) as u32),
            stride => {
                let d = word(cx);
                match bits {
                    1 => cx.e.shr(d, stride, imm(3), false),
                    4 => cx.e.shr(d, stride, imm(1), false),
                    _ => cx.e.shl(d, stride, imm((bits / 8).trailing_zeros())),
                }
                d
            }
        };
        for &(shift, mask, step) in steps {
            let index = bits_of(cx, lane, shift, mask);
            let (strides, elements) = layout.offset(step);
            let factor = match (strides, elements) {
                (0, elements) => imm(elements * bits / 8),
                (1, _) => stride,
                (strides, _) => {
                    let d = word(cx);
                    cx.e.imad(d, stride, imm(strides), Operand::RZ);
                    d
                }
            };
            start = advance(cx, start, index, factor);
        }
        Ok(Addresses { space, start, stride, known: FxHashMap::default(), bits })
    }

    /// The address of a place.
    fn of(&mut self, cx: &mut Cx<'_, '_>, (strides, elements): (u32, u32)) -> Address {
        let more = elements * self.bits / 8;
        if let Operand::Imm(stride) = self.stride {
            let whole = i64::from(strides) * stride as i64;
            let total = i64::from(self.start.offset) + whole + i64::from(more);
            if total < 0x80_0000 {
                return Address { offset: total as i32, ..self.start };
            }
        }
        let mut found = match self.known.get(&strides) {
            Some(found) => *found,
            None => {
                let count = cx.in_reg(imm(strides));
                let found = if strides == 0 {
                    self.start
                } else {
                    advance(cx, self.start, count, self.stride)
                };
                *self.known.entry(strides).or_insert(found)
            }
        };
        found.offset += more as i32;
        found
    }
}

/// Some bits of a word.
fn bits_of(cx: &mut Cx<'_, '_>, from: Operand, shift: u32, mask: u32) -> Operand {
    let d = word(cx);
    let mut moved = from;
    if shift > 0 {
        moved = word(cx);
        cx.e.shr(moved, from, imm(shift), false);
    }
    cx.e.and(d, moved, imm(mask));
    d
}

/// The address `index * factor` bytes further on.
fn advance(cx: &mut Cx<'_, '_>, from: Address, index: Operand, factor: Operand) -> Address {
    if from.base.count == 2 {
        let d = cx.e.temp(2);
        cx.e.imad_wide(d, index, factor, Operand::Reg(from.base), false);
        Address { base: RegUse::wide(d, 2), ..from }
    } else {
        let d = cx.e.temp(1);
        cx.e.imad(cell(d, 0), index, factor, Operand::Reg(from.base));
        Address { base: RegUse::new(d), ..from }
    }
}

/// Words of a machine access.
fn access_words(space: Space, bytes: u32) -> Vec<Mod> {
    let mut mods = Vec::new();
    if matches!(space, Space::Global | Space::Generic) {
        mods.push(Mod::E);
    }
    mods.extend(match bytes {
        1 => Some(Mod::U8),
        2 => Some(Mod::U16),
        8 => Some(Mod::_64),
        16 => Some(Mod::_128),
        _ => None,
    });
    mods
}

/// `wmma.load`.
pub fn load(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let layout = Layout::of(inst)?;
    let op = match modifiers::space(inst) {
        Space::Global => Opcode::LDG,
        Space::Shared => Opcode::LDS,
        Space::Generic => Opcode::LD,
        _ => return Err("a matrix in this space".into()),
    };
    under_guard(cx, |cx| {
        converge(cx);
        if let Some(transposed) =
            layout.matrices().filter(|_| modifiers::space(inst) == Space::Shared)
        {
            let loaded = load_matrices(cx, inst, &layout, transposed)?;
            return spread(cx, inst, &layout, &loaded);
        }
        let mut at = Addresses::new(cx, inst, &layout, 1, &layout.steps())?;
        let access = layout.access();
        let cells = (layout.element.bits() / 32).max(1);
        let mut loaded = Words::new();
        for first in (0..layout.registers()).step_by(access.registers as usize) {
            let count = (access.registers * cells) as u8;
            let mut parts = Words::new();
            for e in (0..layout.packed()).step_by(access.elements as usize) {
                let bytes =
                    (access.registers * access.elements * layout.element.bits()).div_ceil(8);
                let address = at.of(cx, layout.offset(layout.place(first, e)));
                let d = cx.e.temp(count);
                let desc = (at.space != Space::Shared).then(|| cx.descriptor());
                let to = if count == 1 { cell(d, 0) } else { wide(d, count) };
                cx.e.load(op, &access_words(at.space, bytes), to, desc, address);
                parts.extend((0..count).map(|i| cell(d, i)));
            }
            if access.elements < layout.packed() {
                loaded.push(join(cx, &parts));
            } else {
                loaded.extend(parts);
            }
        }
        spread(cx, inst, &layout, &loaded)
    })
}

/// The words of a fragment to the registers of the instruction. Where there are more registers than
/// elements, they come again.
fn spread(cx: &mut Cx<'_, '_>, inst: &Instruction, layout: &Layout, loaded: &[Operand]) -> Sel {
    let d = operand(inst, 0)?;
    let needed = super::fragment::parts(d).len() * (layout.element.bits() / 32).max(1) as usize;
    let all: Words = loaded.iter().copied().cycle().take(needed).collect();
    scatter(cx, d, layout.element, &all)
}

/// A factor in shared memory, four matrices of 8 by 16 bytes at once: a lane gives the address of
/// one row.
fn load_matrices(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    layout: &Layout,
    transposed: bool,
) -> Sel<Words> {
    let across = match layout.role {
        Role::A => Place { row: 1, column: 0 },
        _ => Place { row: 0, column: 1 },
    };
    let along = Place { row: across.column, column: across.row };
    let registers = layout.registers();
    let first = |r| if r < registers { layout.place(r, 0) } else { Place::default() };
    let steps =
        [(0, 7, if transposed { along } else { across }), (3, 1, first(1)), (4, 1, first(2))];
    let mut at = Addresses::new(cx, inst, layout, 1, &steps)?;
    let count = registers.min(4) as u8;
    let mut mods = vec![Mod::_16, if transposed { Mod::MT88 } else { Mod::M88 }];
    mods.extend(match count {
        4 => Some(Mod::_4),
        2 => Some(Mod::_2),
        _ => None,
    });
    let mut loaded = Words::new();
    for r in (0..registers).step_by(usize::from(count)) {
        let address = at.of(cx, layout.offset(layout.place(r, 0)));
        let d = cx.e.temp(count);
        let to = if count == 1 { cell(d, 0) } else { wide(d, count) };
        cx.e.load(Opcode::LDSM, &mods, to, None, address);
        loaded.extend((0..count).map(|i| cell(d, i)));
    }
    Ok(loaded)
}

/// One word of elements of 8 or 16 bits.
fn join(cx: &mut Cx<'_, '_>, parts: &[Operand]) -> Operand {
    match *parts {
        [a, b, c, d] => {
            let (low, high) = (permute(cx, a, b, 0x0040), permute(cx, c, d, 0x0040));
            permute(cx, low, high, 0x5410)
        }
        [a, b] => permute(cx, a, b, 0x5410),
        _ => parts[0],
    }
}

/// `wmma.store`.
pub fn store(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let layout = Layout::of(inst)?;
    let op = match modifiers::space(inst) {
        Space::Global => Opcode::STG,
        Space::Shared => Opcode::STS,
        Space::Generic => Opcode::ST,
        _ => return Err("a matrix in this space".into()),
    };
    under_guard(cx, |cx| {
        converge(cx);
        let source = words(cx, operand(inst, 1)?, layout.element)?;
        let mut at = Addresses::new(cx, inst, &layout, 0, &layout.steps())?;
        let access = layout.access();
        let cells = (layout.element.bits() / 32).max(1);
        let count = (access.registers * cells) as usize;
        for (i, words) in source.chunks_exact(count).enumerate() {
            let first = i as u32 * access.registers;
            for e in (0..layout.packed()).step_by(access.elements as usize) {
                let bytes =
                    (access.registers * access.elements * layout.element.bits()).div_ceil(8);
                let address = at.of(cx, layout.offset(layout.place(first, e)));
                let value = if e == 0 {
                    let value = super::fragment::gather(cx, words);
                    Operand::Reg(value)
                } else {
                    let moved = word(cx);
                    cx.e.shr(moved, words[0], imm(e * layout.element.bits()), false);
                    moved
                };
                let desc = (at.space != Space::Shared).then(|| cx.descriptor());
                cx.e.store(op, &access_words(at.space, bytes), desc, address, value);
            }
        }
        Ok(())
    })
}
