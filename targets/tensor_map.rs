//! The 128 bytes of a tensor map (`CUtensorMap`), an object that programs do not look into.
//!
//! Where its fields stand is what ptxas makes of `tensormap.replace` (observed: ptxas 13.0.88,
//! sm_90a). Those that the instruction cannot replace, all of the im2col mode, have places of our
//! own, in bits that are free there: bit 0 of the third word says that the map is one of im2col;
//! the fourth byte of the word at 0x34 are channels less one, the word at 0x38 holds the corners of
//! the bounding box (lower corner first, 16, 8 or 5 bits for each of one, two or three directions),
//! the word at 0x3c pixels less one.

/// Bytes of a map; its address is a multiple of [`ALIGN`].
pub const BYTES: usize = 128;

/// Alignment of a map in memory (bytes).
pub const ALIGN: u64 = 64;

/// Directions of a tensor at most.
pub const RANK: usize = 5;

/// The type of an element, by its number in `tensormap.replace.elemtype` (PTX ISA).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Element {
    /// Unsigned, 8 bits.
    #[default]
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    S64,
    /// Halves.
    F16,
    /// Singles.
    F32,
    /// Singles whose subnormal numbers count as zeros.
    F32Ftz,
    /// Doubles.
    F64,
    /// bfloat16.
    Bf16,
    /// TF32 in 32 bits.
    Tf32,
    /// TF32 whose subnormal numbers count as zeros.
    Tf32Ftz,
}

impl Element {
    /// All, by their numbers, with the words of the PTX ISA.
    pub const ALL: [(Element, &'static str); 13] = [
        (Element::U8, "u8"),
        (Element::U16, "u16"),
        (Element::U32, "u32"),
        (Element::S32, "s32"),
        (Element::U64, "u64"),
        (Element::S64, "s64"),
        (Element::F16, "f16"),
        (Element::F32, "f32"),
        (Element::F32Ftz, "f32.ftz"),
        (Element::F64, "f64"),
        (Element::Bf16, "bf16"),
        (Element::Tf32, "tf32"),
        (Element::Tf32Ftz, "tf32.ftz"),
    ];

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::U64 | Element::S64 | Element::F64 => 8,
            _ => 4,
        }
    }
}

/// The im2col mode: directions 1 .. rank - 1 are those of the image, the first one its channels,
/// the last one images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Im2col {
    /// Corners of the bounding box, relative to the first and the last pixel of the image.
    pub lower: [i32; 3],
    /// The other corner.
    pub upper: [i32; 3],
    /// Pixels of a copy.
    pub pixels: u32,
}

/// What a map says. Directions are in the order of the coordinates: the first is that in which
/// elements lie beside each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TensorMap {
    /// Global address of the tensor.
    pub address: u64,
    /// The type of an element.
    pub element: Element,
    /// 1 ..= 5.
    pub rank: u32,
    /// Elements in each direction.
    pub dims: [u32; RANK],
    /// Bytes from one element to the next in directions 1 .. rank; multiples of 16.
    pub strides: [u64; RANK - 1],
    /// Elements that a copy spans in each direction; the first of im2col are channels.
    pub boxes: [u32; RANK],
    /// Every how many elements a copy takes one, in each direction.
    pub element_strides: [u32; RANK],
    /// 0 none, 1 of 16 bytes, 2 of 32 bytes.
    pub interleave: u32,
    /// 0 none, 1 of 32, 2 of 64, 3 of 128 bytes.
    pub swizzle: u32,
    /// Elements outside the tensor are NaN instead of zero.
    pub fill_nan: bool,
    /// None: tiled.
    pub im2col: Option<Im2col>,
}

/// Why neither engine copies by an interleaved map. The driver's documentation and the PTX ISA say
/// how the tensor lies in memory (slices of 16 or 32 bytes of channels, NC/8HWC8 and NC/16HWC16),
/// and nothing of these three.
pub const INTERLEAVED: &str = "an interleaved tensor map, of which it is not documented whether coordinate and size of \
     direction 0 count channels of all slices or of one, which stride leads to the next slice, and how a box of several slices \
     lies in shared memory";

/// Bits of a corner's coordinate, by the number of an image's directions.
const CORNER: [u32; 4] = [0, 16, 8, 5];

impl TensorMap {
    /// Directions of the image in im2col mode.
    pub fn image(&self) -> usize {
        (self.rank as usize).saturating_sub(2).min(3)
    }

    /// The map as the machine's object of 128 bytes.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut words = [0u32; BYTES / 4];
        words[0] = self.address as u32;
        words[1] = (self.address >> 32) as u32;
        let element = match self.element {
            Element::Tf32 => Element::F32 as u32 | 1 << 9,
            Element::Tf32Ftz => Element::F32Ftz as u32 | 1 << 9,
            element => element as u32,
        };
        words[2] = u32::from(self.im2col.is_some())
            | self.rank.saturating_sub(1) << 4
            | element << 7
            | self.interleave << 11
            | self.swizzle << 13
            | u32::from(self.fill_nan) << 15;
        for (i, stride) in self.strides.into_iter().enumerate() {
            words[3 + i] = (stride >> 4) as u32;
            words[7] |= ((stride >> 36) as u32 & 15) << (4 * i);
        }
        for i in 0..RANK {
            words[8 + i] = self.dims[i].wrapping_sub(1);
            words[13] |= (self.element_strides[i].wrapping_sub(1) & 7) << (3 * i);
        }
        words[13] |= (self.boxes[0].wrapping_sub(1) & 0xff) << 24;
        match self.im2col {
            None => {
                for i in 1..RANK {
                    words[14] |= (self.boxes[i].wrapping_sub(1) & 0xff) << (8 * (i - 1));
                }
            }
            Some(im2col) => {
                let (count, bits) = (self.image(), CORNER[self.image()]);
                let corners = im2col.lower[..count].iter().chain(&im2col.upper[..count]);
                for (i, corner) in corners.enumerate() {
                    words[14] |= (*corner as u32 & ((1 << bits) - 1)) << (bits * i as u32);
                }
                words[15] = im2col.pixels.wrapping_sub(1) % 1024;
            }
        }
        let mut bytes = [0; BYTES];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// None where the element type or the number of directions is none that there is.
    pub fn decode(bytes: &[u8; BYTES]) -> Option<TensorMap> {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let flags = word(8);
        let number = flags >> 7 & 15;
        let element = match (flags >> 16 & 1, number) {
            (1, 7) => Element::Tf32,
            (1, 8) => Element::Tf32Ftz,
            _ => Element::ALL.get(number as usize).map(|(e, _)| *e).filter(|_| number < 11)?,
        };
        let mut map = TensorMap {
            address: u64::from(word(0)) | u64::from(word(4)) << 32,
            element,
            rank: (flags >> 4 & 7) + 1,
            dims: std::array::from_fn(|i| word(0x20 + 4 * i).wrapping_add(1)),
            strides: std::array::from_fn(|i| {
                u64::from(word(0xc + 4 * i)) << 4 | u64::from(word(0x1c) >> (4 * i) & 15) << 36
            }),
            boxes: std::array::from_fn(|i| match i {
                0 => (word(0x34) >> 24) + 1,
                i => (word(0x38) >> (8 * (i - 1)) & 0xff) + 1,
            }),
            element_strides: std::array::from_fn(|i| (word(0x34) >> (3 * i) & 7) + 1),
            interleave: flags >> 11 & 3,
            swizzle: flags >> 13 & 3,
            fill_nan: flags >> 15 & 1 != 0,
            im2col: None,
        };
        if map.rank as usize > RANK {
            return None;
        }
        if flags & 1 != 0 {
            let (count, bits) = (map.image(), CORNER[map.image()]);
            let corner = |i: usize| {
                let low = word(0x38) >> (bits * i as u32);
                ((low << (32 - bits)) as i32) >> (32 - bits)
            };
            let mut im2col = Im2col { pixels: word(0x3c) % 1024 + 1, ..Im2col::default() };
            for i in 0..count {
                im2col.lower[i] = corner(i);
                im2col.upper[i] = corner(count + i);
            }
            map.boxes[1..].fill(1);
            map.im2col = Some(im2col);
        }
        Some(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            address: 0x7f12_3456_7880,
            element: Element::Bf16,
            rank: 3,
            dims: [100, 200, 300, 1, 1],
            strides: [0x12_3456_7890, 0x20, 0, 0],
            boxes: [64, 8, 2, 1, 1],
            element_strides: [1, 2, 8, 1, 1],
            interleave: 0,
            swizzle: 3,
            fill_nan: true,
            im2col: None,
        }
    }

    #[test]
    fn a_map_comes_back_from_its_bytes() {
        assert_eq!(TensorMap::decode(&map().encode()), Some(map()));
        for (element, _) in Element::ALL {
            let map = TensorMap { element, ..map() };
            assert_eq!(TensorMap::decode(&map.encode()), Some(map));
        }
        for (rank, lower) in [(3, [-300, 0, 0]), (4, [-100, 20, 0]), (5, [-16, 15, -1])] {
            let im2col = Im2col { lower, upper: lower.map(|x| -x / 2), pixels: 1024 };
            let map = TensorMap { rank, boxes: [256, 1, 1, 1, 1], im2col: Some(im2col), ..map() };
            assert_eq!(TensorMap::decode(&map.encode()), Some(map));
        }
    }

    #[test]
    fn fields_stand_where_tensormap_replace_puts_them() {
        let bytes = map().encode();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(word(8) & 0x70, 2 << 4);
        assert_eq!(word(8) & 0x780, 10 << 7);
        assert_eq!(word(8) & 0x6000, 0x6000);
        assert_eq!(word(8) & 0x8000, 0x8000);
        assert_eq!((word(0xc), word(0x1c) & 15), (0x2345_6789, 1));
        assert_eq!((word(0x20), word(0x24)), (99, 199));
        assert_eq!(word(0x34) >> 24, 63);
        assert_eq!(word(0x34) & 0x1ff, 7 << 6 | 1 << 3);
        assert_eq!(word(0x38) & 0xffff, 0x0107);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        assert_eq!(TensorMap::decode(&[0xff; BYTES]), None);
        assert!(TensorMap::decode(&[0; BYTES]).is_some());
    }
}
