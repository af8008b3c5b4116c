//! Copies by tensor map: which bytes of the tensor and of shared memory belong to each other (PTX
//! ISA, "Tensors").

use super::flight::{Move, Reduction, Source, Target};
use super::kinds::{AtomicKind, AtomicType};
use crate::tensor_map::{Element, INTERLEAVED, Im2col, RANK, TensorMap};

/// Shared memory of a CTA at most (bytes): no copy is larger.
const MAX_BYTES: u64 = 256 << 10;

/// What is moved as a whole: swizzling changes the order of these (bytes).
const UNIT: u32 = 16;

/// Which way a copy goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To shared memory; what lies outside the tensor is filled.
    Load,
    /// To the tensor; what would lie outside is left out.
    Store,
    Reduce(AtomicKind),
}

/// Why a copy cannot be done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TensorError {
    #[error("the instruction copies {instruction} dimensions, its tensor map has {map}")]
    Rank { instruction: usize, map: u32 },
    #[error("the instruction's mode is {}, that of its tensor map is not", mode(*.0))]
    Mode(bool),
    #[error("the copy has {INTERLEAVED}")]
    Interleaved,
    #[error("the copy is larger than shared memory")]
    TooLarge,
    #[error("{kind:?} is no reduction of elements of type {element:?}")]
    Reduction { kind: AtomicKind, element: Element },
    #[error(
        "rows of {0} bytes are no multiple of 16 bytes, or longer than what the tensor map swizzles"
    )]
    Row(u32),
}

fn mode(im2col: bool) -> &'static str {
    if im2col { "im2col" } else { "tile" }
}

/// A copy: the map, coordinates, and what the instruction adds.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    pub map: &'a TensorMap,
    /// Address in shared memory, with the rank of its CTA.
    pub shared: u64,
    pub coordinates: &'a [i32],
    /// Offsets of im2col; zeros where the instruction has none. None: tile mode.
    pub offsets: Option<[u32; 3]>,
    pub direction: Direction,
}

/// A value that fills a load where the tensor does not reach.
fn fill(map: &TensorMap) -> Source {
    let mut value = [0; 16];
    if map.fill_nan {
        let nan: &[u8] = match map.element {
            Element::F16 | Element::Bf16 => &0x7fff_u16.to_le_bytes(),
            Element::F64 => &0x7fff_ffff_ffff_ffff_u64.to_le_bytes(),
            Element::F32 | Element::F32Ftz | Element::Tf32 | Element::Tf32Ftz => {
                &0x7fff_ffff_u32.to_le_bytes()
            }
            _ => &[0; 4],
        };
        value[..nan.len()].copy_from_slice(nan);
        return Source::Value(value, nan.len() as u8);
    }
    Source::Value(value, 1)
}

fn reduction(map: &TensorMap, kind: AtomicKind) -> Result<Reduction, TensorError> {
    use AtomicKind::*;
    let ty = match map.element {
        Element::U32 => AtomicType::U32,
        Element::S32 => AtomicType::S32,
        Element::U64 => AtomicType::U64,
        Element::S64 => AtomicType::S64,
        Element::F16 => AtomicType::F16x2,
        Element::Bf16 => AtomicType::Bf16x2,
        Element::F32 | Element::Tf32 => AtomicType::F32 { ftz: false },
        Element::F32Ftz | Element::Tf32Ftz => AtomicType::F32 { ftz: true },
        Element::F64 => AtomicType::F64,
        Element::U8 | Element::U16 => AtomicType::U32,
    };
    let narrow = matches!(map.element, Element::U8 | Element::U16);
    let fits = match (kind, ty) {
        (And | Or | Xor, _) => true,
        _ if narrow => false,
        (Add, _) => true,
        (Min | Max, AtomicType::F32 { .. } | AtomicType::F64) => false,
        (Min | Max, _) => true,
        (Inc | Dec, AtomicType::U32) => true,
        _ => false,
    };
    if !fits {
        return Err(TensorError::Reduction { kind, element: map.element });
    }
    Ok(Reduction { kind, ty, bytes: map.element.bytes() as u8 })
}

/// The runs of bytes of a copy, and their sum in shared memory.
pub fn moves(copied: &Copied<'_>) -> Result<(Vec<Move>, u32), TensorError> {
    let map = copied.map;
    if copied.coordinates.len() != map.rank as usize {
        let instruction = copied.coordinates.len();
        return Err(TensorError::Rank { instruction, map: map.rank });
    }
    if copied.offsets.is_some() != map.im2col.is_some() {
        return Err(TensorError::Mode(copied.offsets.is_some()));
    }
    if map.interleave != 0 {
        return Err(TensorError::Interleaved);
    }
    let size = map.element.bytes();
    let row = map.boxes[0].saturating_mul(size);
    let span = 16u32 << map.swizzle;
    if !row.is_multiple_of(UNIT) || map.swizzle != 0 && row > span {
        return Err(TensorError::Row(row));
    }
    let reduce = match copied.direction {
        Direction::Reduce(kind) => Some(reduction(map, kind)?),
        Direction::Load | Direction::Store => None,
    };
    let mut out = Moves { copied, reduce, fill: fill(map), list: Vec::new(), bytes: 0 };
    match (map.im2col, copied.offsets) {
        (Some(im2col), Some(offsets)) => {
            out.check(u64::from(im2col.pixels) * u64::from(row))?;
            out.im2col(&im2col, offsets);
        }
        _ => {
            let steps = steps(map);
            let rows = steps[1..].iter().map(|n| u64::from(*n));
            out.check(rows.fold(u64::from(row), u64::saturating_mul))?;
            out.tile(&steps);
        }
    }
    Ok((out.list, out.bytes))
}

/// How many elements a tile takes in each direction.
fn steps(map: &TensorMap) -> [u32; RANK] {
    let rank = map.rank as usize;
    std::array::from_fn(|i| match i {
        0 => map.boxes[0],
        i if i < rank => map.boxes[i].div_ceil(map.element_strides[i]),
        _ => 1,
    })
}

struct Moves<'a> {
    copied: &'a Copied<'a>,
    reduce: Option<Reduction>,
    fill: Source,
    list: Vec<Move>,
    /// In shared memory so far.
    bytes: u32,
}

impl Moves<'_> {
    fn check(&self, bytes: u64) -> Result<(), TensorError> {
        if bytes > MAX_BYTES { Err(TensorError::TooLarge) } else { Ok(()) }
    }

    fn tile(&mut self, steps: &[u32; RANK]) {
        let map = self.copied.map;
        let rank = map.rank as usize;
        let mut at = [0u32; RANK];
        loop {
            let place: [i64; RANK] = std::array::from_fn(|i| {
                let Some(from) = self.copied.coordinates.get(i) else { return 0 };
                let stride = if i == 0 { 1 } else { map.element_strides[i] };
                i64::from(*from) + i64::from(at[i]) * i64::from(stride)
            });
            self.row(&place);
            // The next row.
            let mut i = 1;
            while i < rank {
                at[i] += 1;
                if at[i] < steps[i] {
                    break;
                }
                at[i] = 0;
                i += 1;
            }
            if i >= rank {
                return;
            }
        }
    }

    /// Pixels one after the other: along the first direction of the image, at the end of the
    /// bounding box to the next line.
    fn im2col(&mut self, im2col: &Im2col, offsets: [u32; 3]) {
        let map = self.copied.map;
        let (image, images) = (map.image(), map.rank as usize - 1);
        let mut base: [i64; RANK] = [0; RANK];
        for (to, from) in base.iter_mut().zip(self.copied.coordinates) {
            *to = i64::from(*from);
        }
        for _ in 0..im2col.pixels {
            let mut place = base;
            for i in 0..image {
                place[1 + i] += i64::from(offsets[i]);
            }
            self.row(&place);
            let mut i = 0;
            while i < image {
                base[1 + i] += i64::from(map.element_strides[1 + i]);
                let last = i64::from(map.dims[1 + i]) - 1 + i64::from(im2col.upper[i]);
                if base[1 + i] <= last {
                    break;
                }
                base[1 + i] = i64::from(im2col.lower[i]);
                i += 1;
            }
            if i == image {
                base[images] += 1;
            }
        }
    }

    /// The elements of a row, from `place` on.
    fn row(&mut self, place: &[i64; RANK]) {
        let map = self.copied.map;
        let size = i64::from(map.element.bytes());
        let rank = map.rank as usize;
        let reaches = |i: usize| (0..i64::from(map.dims[i])).contains(&place[i]);
        let inside = (1..rank).all(reaches);
        let mut line = map.address;
        for (at, stride) in place[1..rank].iter().zip(map.strides) {
            line = line.wrapping_add((*at as u64).wrapping_mul(stride));
        }
        let count = i64::from(map.boxes[0]);
        // Elements of the row that the tensor has.
        let [first, end] = if inside {
            let last = i64::from(map.dims[0]) - place[0];
            [(-place[0]).clamp(0, count), last.clamp(0, count)]
        } else {
            [0, 0]
        };
        let end = end.max(first);
        let at = |element: i64| line.wrapping_add(((place[0] + element) * size) as u64);
        self.part(0, first * size, None);
        self.part(first * size, end * size, Some(at(first)));
        self.part(end * size, count * size, None);
        self.bytes += (count * size) as u32;
    }

    /// Bytes `from .. to` of the row that begins now, in runs that stay together in shared memory.
    fn part(&mut self, from: i64, to: i64, global: Option<u64>) {
        let mut at = from as u32;
        while at < to as u32 {
            let next = match self.copied.map.swizzle {
                0 => to as u32,
                _ => (at / UNIT * UNIT + UNIT).min(to as u32),
            };
            let global = global.map(|address| address.wrapping_add(u64::from(at - from as u32)));
            let shared = self.swizzled(self.copied.shared + u64::from(self.bytes + at));
            let bytes = next - at;
            at = next;
            let (from, to) = match (self.copied.direction, global) {
                (Direction::Load, Some(address)) => {
                    (Source::Global(address), Target::Shared(shared))
                }
                (Direction::Load, None) => (self.fill, Target::Shared(shared)),
                (_, Some(address)) => (Source::Shared(shared), Target::Global(address)),
                (_, None) => continue,
            };
            self.list.push(Move { from, to, bytes, reduce: self.reduce });
        }
    }

    /// Where a byte lies: the number of its 16 bytes within 32, 64 or 128 is changed by that of its
    /// line of 128 bytes.
    fn swizzled(&self, address: u64) -> u64 {
        let mask = (1u64 << self.copied.map.swizzle) - 1;
        address ^ (address >> 7 & mask) << 4
    }
}
