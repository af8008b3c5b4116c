//! Copies by tensor map: `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and `tensormap` (PTX
//! ISA 9.0, "Tensors"). Each is done at once.

use orias_targets::tensor_map::{BYTES, Element, INTERLEAVED, RANK, TensorMap};

use super::access::{Stopped, read, read_at, resolve, write, write_at};
use super::atomic::atomic_function;
use super::bulk::{combine, receivers};
use super::env::Env;
use super::error::StepError;
use super::mbarrier;
use super::operand::{Address, Space, Src, Ternary};
use super::warp::{Warp, bits};
use crate::ptx::types::Type;
use crate::ptx::words::Word;

/// Shared memory of a block at most (bytes): no copy is larger.
const MAX_BYTES: u64 = 256 << 10;

/// A copy, reduction or prefetch by tensor map.
pub struct Tensor {
    /// The map, at a generic address, and where in the tensor the copy begins.
    pub map: Address,
    /// Of the first element, the innermost direction first.
    pub coordinates: Box<[Src]>,
    /// The bytes in shared memory.
    pub shared: Address,
    /// From shared memory to the tensor.
    pub store: bool,
    /// The word of a reduction, such as `add`.
    pub reduce: Option<Word>,
    /// The offsets of im2col mode; None in tile mode.
    pub offsets: Option<Box<[Src]>>,
    /// The mbarrier that gets the bytes as transactions.
    pub complete: Option<Address>,
    /// The blocks of the cluster that get a copy, one bit each.
    pub multicast: Option<Src>,
}

/// A copy by one thread.
struct Copy<'a> {
    map: TensorMap,
    /// The address of each block's shared memory that takes part.
    shared: &'a [u64],
    space: Space,
    store: bool,
    reduce: Option<Ternary>,
}

/// Does a copy for some lanes, each of which does it alone.
///
/// # Errors
/// When an access fails, or the map and the instruction do not fit.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    tensor: &Tensor,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    for lane in bits(lanes) {
        let value = |src: Src| warp.row(src, base)[lane];
        let place = |at: &Address| value(at.base).wrapping_add_signed(at.offset);
        let refuse = |text: String| (lane, StepError::Tensor(text));
        let coordinates: Vec<i64> =
            tensor.coordinates.iter().map(|src| i64::from(value(*src) as i32)).collect();
        let offsets: Option<Vec<i64>> = tensor
            .offsets
            .as_ref()
            .map(|list| list.iter().map(|src| i64::from(value(*src) as u16)).collect());
        let map = load_map(warp, env, lane, Space::Generic, place(&tensor.map))?
            .ok_or_else(|| refuse("what is no tensor map".to_string()))?;
        let count = coordinates.len();
        if map.rank as usize != count {
            let text = format!("{count} coordinates and a tensor map of {} directions", map.rank);
            return Err(refuse(text));
        }
        if map.im2col.is_some() != offsets.is_some() {
            return Err(refuse("a mode that its tensor map does not have".to_string()));
        }
        if map.interleave != 0 {
            return Err(refuse(INTERLEAVED.to_string()));
        }
        let reduce = match tensor.reduce {
            Some(word) => {
                let f = reduction(word, map.element);
                Some(f.ok_or_else(|| refuse(format!("`{word}` of {:?}", map.element)))?)
            }
            None => None,
        };
        let multicast = tensor.multicast.map(value);
        let shared = receivers(multicast, place(&tensor.shared));
        let barrier = tensor.complete.as_ref().map(|at| (at.space, place(at)));
        let (space, store) = (tensor.shared.space, tensor.store);
        let copy = Copy { map, shared: &shared, space, store, reduce };
        let bytes = match offsets {
            None => copy.tile(warp, env, lane, &coordinates)?,
            Some(offsets) => copy.im2col(warp, env, lane, &coordinates, &offsets)?,
        };
        if let Some((space, address)) = barrier {
            for at in receivers(multicast, address) {
                mbarrier::transferred(warp, env, space, lane, at, bytes)?;
            }
        }
    }
    Ok(())
}

impl Copy<'_> {
    fn element_bytes(&self) -> u64 {
        self.map.element.bytes().into()
    }

    /// A box of the tensor, the first direction innermost; the number of its bytes.
    fn tile(
        &self,
        warp: &mut Warp,
        env: &mut Env<'_>,
        lane: usize,
        start: &[i64],
    ) -> Result<u64, Stopped> {
        let rank = start.len();
        // Along the first direction every element is taken.
        let stride = |i: usize| if i == 0 { 1 } else { self.map.element_strides[i].max(1) };
        let counts: Vec<u64> =
            (0..rank).map(|i| u64::from(self.map.boxes[i].div_ceil(stride(i)))).collect();
        let total: u64 = counts.iter().product();
        self.check_size(lane, total)?;
        let mut at = [0i64; RANK];
        for index in 0..total {
            let mut rest = index;
            for i in 0..rank {
                at[i] = start[i] + (rest % counts[i]) as i64 * i64::from(stride(i));
                rest /= counts[i];
            }
            self.element(warp, env, lane, index, &at[..rank])?;
        }
        Ok(total * self.element_bytes())
    }

    /// Pixels of the bounding box, row by row from the one at the coordinates on, each moved by the
    /// offsets; the first coordinate is that of the channels, the last that of the image.
    fn im2col(
        &self,
        warp: &mut Warp,
        env: &mut Env<'_>,
        lane: usize,
        start: &[i64],
        offsets: &[i64],
    ) -> Result<u64, Stopped> {
        let Some(box_) = self.map.im2col else { return Ok(0) };
        let rank = start.len();
        let image = self.map.image();
        let channels = u64::from(self.map.boxes[0]);
        let pixels = u64::from(box_.pixels);
        self.check_size(lane, channels * pixels)?;
        let mut pixel: Vec<i64> = start.to_vec();
        for number in 0..pixels {
            for channel in 0..channels {
                let mut at = pixel.clone();
                at[0] += channel as i64;
                for (i, offset) in offsets.iter().enumerate().take(image) {
                    at[1 + i] += offset;
                }
                self.element(warp, env, lane, number * channels + channel, &at)?;
            }
            // The next pixel: at the end of a row of the bounding box the first of the next one.
            let mut i = 0;
            while i < image {
                pixel[1 + i] += i64::from(self.map.element_strides[1 + i].max(1));
                let last = i64::from(self.map.dims[1 + i]) - 1 + i64::from(box_.upper[i]);
                if pixel[1 + i] <= last {
                    break;
                }
                pixel[1 + i] = box_.lower[i].into();
                i += 1;
            }
            if i == image {
                pixel[rank - 1] += 1;
            }
        }
        Ok(channels * pixels * self.element_bytes())
    }

    fn check_size(&self, lane: usize, elements: u64) -> Result<(), Stopped> {
        let bytes = elements.saturating_mul(self.element_bytes());
        if bytes > MAX_BYTES {
            return Err((lane, StepError::Tensor(format!("a box of {bytes} bytes"))));
        }
        Ok(())
    }

    /// Copies the element at a place of the tensor from or to number `index` in shared memory.
    fn element(
        &self,
        warp: &mut Warp,
        env: &mut Env<'_>,
        lane: usize,
        index: u64,
        at: &[i64],
    ) -> Result<(), Stopped> {
        let size = self.element_bytes() as usize;
        let inside = at.iter().zip(self.map.dims).all(|(c, dim)| (0..i64::from(dim)).contains(c));
        let mut address = self.map.address.wrapping_add_signed(at[0] * size as i64);
        for (c, stride) in at[1..].iter().zip(self.map.strides) {
            address = address.wrapping_add((*c as u64).wrapping_mul(stride));
        }
        let global = resolve(Space::Mapped, address, env.rank);
        let mut value = [0u8; 8];
        if self.store {
            if !inside {
                return Ok(());
            }
            let from = resolve(self.space, self.swizzle(self.shared[0], index), env.rank);
            read_at(warp, env, lane, from, &mut value[..size])?;
            if let Some(f) = &self.reduce {
                let mut old = [0u8; 8];
                read_at(warp, env, lane, global, &mut old[..size])?;
                combine(&mut value[..size], &old[..size], size, f);
            }
            return write_at(warp, env, lane, global, &value[..size]);
        }
        if inside {
            read_at(warp, env, lane, global, &mut value[..size])?;
        } else if self.map.fill_nan {
            value = not_a_number(self.map.element);
        }
        for shared in self.shared {
            let to = resolve(self.space, self.swizzle(*shared, index), env.rank);
            write_at(warp, env, lane, to, &value[..size])?;
        }
        Ok(())
    }

    /// Where an element lies in shared memory: units of 16 bytes change places with others of their
    /// 32, 64 or 128 bytes, by the number of these.
    fn swizzle(&self, shared: u64, index: u64) -> u64 {
        let address = shared.wrapping_add(index * self.element_bytes());
        let rows = [0, 1, 3, 7][self.map.swizzle as usize & 3];
        address ^ (address >> 7 & rows) << 4
    }
}

/// What fills elements outside of a tensor of floats.
fn not_a_number(element: Element) -> [u8; 8] {
    match element {
        Element::F16 | Element::Bf16 => 0x7fff,
        Element::F32 | Element::F32Ftz | Element::Tf32 | Element::Tf32Ftz => 0x7fff_ffff,
        Element::F64 => 0x7fff_ffff_ffff_ffff_u64,
        _ => 0,
    }
    .to_le_bytes()
}

/// The function of a reduction of elements of this type.
fn reduction(word: Word, element: Element) -> Option<Ternary> {
    let ty = match element {
        Element::U8 | Element::U16 => return None,
        Element::U32 => Type::U32,
        Element::S32 => Type::S32,
        Element::U64 => Type::U64,
        Element::S64 => Type::S64,
        Element::F16 => Type::F16,
        Element::Bf16 => Type::Bf16,
        Element::F64 => Type::F64,
        Element::F32 | Element::F32Ftz | Element::Tf32 | Element::Tf32Ftz => Type::F32,
    };
    atomic_function(word, ty, matches!(element, Element::F32Ftz | Element::Tf32Ftz))
}

/// The 128 bytes at an address; a map is only aligned to 64.
fn load(
    warp: &Warp,
    env: &Env<'_>,
    lane: usize,
    space: Space,
    at: u64,
) -> Result<[u8; BYTES], Stopped> {
    let mut bytes = [0; BYTES];
    for (i, half) in bytes.chunks_exact_mut(BYTES / 2).enumerate() {
        read(warp, env, space, lane, at.wrapping_add((i * BYTES / 2) as u64), half)?;
    }
    Ok(bytes)
}

fn load_map(
    warp: &Warp,
    env: &Env<'_>,
    lane: usize,
    space: Space,
    at: u64,
) -> Result<Option<TensorMap>, Stopped> {
    Ok(TensorMap::decode(&load(warp, env, lane, space, at)?))
}

fn store(
    warp: &mut Warp,
    env: &mut Env<'_>,
    lane: usize,
    (space, at): (Space, u64),
    bytes: &[u8; BYTES],
) -> Result<(), Stopped> {
    for (i, half) in bytes.chunks_exact(BYTES / 2).enumerate() {
        write(warp, env, space, lane, at.wrapping_add((i * BYTES / 2) as u64), half)?;
    }
    Ok(())
}

/// A field of a tensor map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Address,
    /// Less one.
    Rank,
    /// Of a direction.
    Dim(usize),
    Stride(usize),
    BoxDim(usize),
    ElementStride(usize),
    ElementType,
    Interleave,
    Swizzle,
    Fill,
}

/// `tensormap.replace`, and `tensormap.cp_fenceproxy`, which copies a map.
pub enum MapChange {
    Replace { at: Address, field: Field, value: Src },
    Copy { to: Address, from: Address },
}

/// Changes a field of a tensor map, or copies one, for some lanes.
///
/// # Errors
/// When an access fails, or the field has no such value.
pub fn change(
    warp: &mut Warp,
    env: &mut Env<'_>,
    change: &MapChange,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    let place = |warp: &Warp, at: &Address, lane: usize| {
        warp.row(at.base, base)[lane].wrapping_add_signed(at.offset)
    };
    for lane in bits(lanes) {
        match change {
            MapChange::Copy { to, from } => {
                let bytes = load(warp, env, lane, from.space, place(warp, from, lane))?;
                let at = (to.space, place(warp, to, lane));
                store(warp, env, lane, at, &bytes)?;
            }
            MapChange::Replace { at, field, value } => {
                let value = warp.row(*value, base)[lane];
                let address = place(warp, at, lane);
                // Bytes that are no map become one of zeros with the new field.
                let map = load_map(warp, env, lane, at.space, address)?.unwrap_or_default();
                let map = replace(map, *field, value);
                let map = map.ok_or((lane, StepError::Tensor(format!("{field:?} {value}"))))?;
                store(warp, env, lane, (at.space, address), &map.encode())?;
            }
        }
    }
    Ok(())
}

fn replace(mut map: TensorMap, field: Field, value: u64) -> Option<TensorMap> {
    let word = value as u32;
    match field {
        Field::Address => map.address = value,
        Field::Rank => map.rank = (word & 7) + 1,
        Field::Dim(i) => *map.dims.get_mut(i)? = word,
        Field::Stride(i) => *map.strides.get_mut(i)? = value,
        Field::BoxDim(i) => *map.boxes.get_mut(i)? = word,
        Field::ElementStride(i) => *map.element_strides.get_mut(i)? = word,
        Field::ElementType => map.element = Element::ALL.get(word as usize)?.0,
        Field::Interleave => map.interleave = word,
        Field::Swizzle => map.swizzle = word,
        Field::Fill => map.fill_nan = word != 0,
    }
    Some(map)
}
