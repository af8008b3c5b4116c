//! A tensor map as argument: `tensor=ARG,TYPE,DIMS,BOX[,OPTION…]`, the map of a tensor in the
//! buffer of another argument.
//!
//! `tensor=0,f16,64x128,32x8,swizzle=64` is a matrix of 128 rows of 64 halves in the buffer of
//! argument 0, copied in tiles of 8 rows of 32. The parameter takes the map's 128 bytes by value.

use super::error::LaunchError;
use super::placed::Placed;
use orias_targets::tensor_map::{Element, Im2col, RANK, TensorMap};

/// A map whose address is that of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TensorArgument {
    /// The argument whose buffer the tensor is in.
    pub buffer: usize,
    /// All but the address, which is here the offset in the buffer (bytes).
    pub map: TensorMap,
}

impl TensorArgument {
    /// The bytes of the parameter; None where the argument it names is no buffer.
    pub fn bytes(&self, placed: &Placed) -> Option<Vec<u8>> {
        let base = placed.address(self.buffer)?;
        let map = TensorMap { address: base + self.map.address, ..self.map };
        Some(map.encode().to_vec())
    }
}

/// Reads what stands behind `tensor=`.
pub fn parse_tensor(text: &str) -> Result<TensorArgument, LaunchError> {
    let whole = format!("tensor={text}");
    parse(text).map_err(|why| LaunchError::Argument { text: whole, why })
}

fn parse(text: &str) -> Result<TensorArgument, String> {
    let mut parts = text.split(',');
    let mut next = |what: &str| parts.next().ok_or_else(|| format!("it has no {what}"));
    let buffer = number(next("argument with the buffer")?)? as usize;
    let element = next("element type")?;
    let found = Element::ALL.iter().find(|(_, name)| *name == element);
    let (element, _) = *found.ok_or_else(|| format!("`{element}` is no element type"))?;
    let dims = numbers(next("dimensions")?)?;
    let boxes = numbers(next("box")?)?;
    let rank = dims.len();
    if rank > RANK {
        return Err(format!("it has more than {RANK} dimensions"));
    }
    let mut map = TensorMap {
        element,
        rank: rank as u32,
        dims: [1; RANK],
        boxes: [1; RANK],
        element_strides: [1; RANK],
        ..TensorMap::default()
    };
    fill(&mut map.dims, &dims, u32::MAX.into())?;
    fill(&mut map.boxes, &boxes, 256)?;
    // Elements lie behind each other unless the strides say something else.
    let mut stride = u64::from(dims[0] as u32) * u64::from(element.bytes());
    for (i, to) in map.strides.iter_mut().enumerate().take(rank.saturating_sub(1)) {
        *to = stride;
        stride = stride.saturating_mul(dims[i + 1]);
    }
    for option in parts {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match (key, value) {
            ("offset", value) => map.address = number(value)?,
            ("strides", value) => {
                let strides = numbers(value)?;
                if strides.len() + 1 != rank {
                    return Err(format!("{} strides for {rank} dimensions", strides.len()));
                }
                map.strides[..strides.len()].copy_from_slice(&strides);
            }
            ("steps", value) => fill(&mut map.element_strides, &numbers(value)?, 8)?,
            ("swizzle", "32") => map.swizzle = 1,
            ("swizzle", "64") => map.swizzle = 2,
            ("swizzle", "128") => map.swizzle = 3,
            ("fill", "nan") => map.fill_nan = true,
            ("im2col", value) => map.im2col = Some(im2col(value, map.image())?),
            _ => return Err(format!("`{option}` is no option")),
        }
    }
    let expected = if map.im2col.is_some() { 1 } else { rank };
    if boxes.len() != expected {
        return Err(format!("a box of {} dimensions where {expected} are wanted", boxes.len()));
    }
    if map.im2col.is_some() && !(3..=RANK).contains(&rank) {
        return Err("im2col is for 3 to 5 dimensions".to_string());
    }
    let aligned = map.strides.iter().chain([&map.address]).all(|n| n.is_multiple_of(16));
    if !aligned || map.strides.iter().any(|n| n >> 40 != 0) {
        return Err("strides and offset must be multiples of 16 below 2^40".to_string());
    }
    Ok(TensorArgument { buffer, map })
}

/// `LOWER:UPPER:PIXELS`, corners with `/` between the directions of the image.
fn im2col(text: &str, image: usize) -> Result<Im2col, String> {
    let bad =
        || "im2col=LOWER:UPPER:PIXELS has corners such as -1/-1 and 1 to 1024 pixels".to_string();
    let [lower, upper, pixels] = text.split(':').collect::<Vec<_>>()[..] else { return Err(bad()) };
    let limit = [0, 1 << 15, 1 << 7, 1 << 4][image];
    let corner = |text: &str| {
        let mut all = [0; 3];
        let numbers: Vec<&str> = text.split('/').collect();
        if numbers.len() != image {
            return Err(bad());
        }
        for (to, number) in all.iter_mut().zip(numbers) {
            *to = number.parse().map_err(|_| bad())?;
            if !(-limit..limit).contains(to) {
                return Err(bad());
            }
        }
        Ok(all)
    };
    let pixels = number(pixels)? as u32;
    if !(1..=1024).contains(&pixels) {
        return Err(bad());
    }
    Ok(Im2col { lower: corner(lower)?, upper: corner(upper)?, pixels })
}

fn fill(to: &mut [u32; RANK], numbers: &[u64], max: u64) -> Result<(), String> {
    if numbers.len() > RANK {
        return Err(format!("more than {RANK} numbers"));
    }
    for (to, number) in to.iter_mut().zip(numbers) {
        if !(1..=max).contains(number) {
            return Err(format!("{number} is not in 1 ..= {max}"));
        }
        *to = *number as u32;
    }
    Ok(())
}

fn numbers(text: &str) -> Result<Vec<u64>, String> {
    text.split('x').map(number).collect()
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse_tensor(text).unwrap_err().to_string()
    }

    #[test]
    fn elements_lie_behind_each_other() {
        let tensor = parse_tensor("2,f16,64x128x3,32x8x1,swizzle=64,fill=nan").unwrap();
        let map = tensor.map;
        assert_eq!((tensor.buffer, map.rank, map.swizzle, map.fill_nan), (2, 3, 2, true));
        assert_eq!(map.strides[..2], [128, 128 * 128]);
        assert_eq!(map.boxes[..3], [32, 8, 1]);
    }

    #[test]
    fn strides_steps_and_corners_are_given() {
        let map = parse_tensor("0,f32,8x4,8x4,strides=4096,steps=1x2,offset=32").unwrap().map;
        assert_eq!((map.strides[0], map.element_strides[1], map.address), (4096, 2, 32));
        let map = parse_tensor("0,f16,16x8x8x2,16,im2col=-1/-1:0/1:64").unwrap().map;
        let want = Im2col { lower: [-1, -1, 0], upper: [0, 1, 0], pixels: 64 };
        assert_eq!(map.im2col, Some(want));
    }

    #[test]
    fn maps_that_cannot_be_are_refused() {
        assert!(error("0,f16,64x64").contains("it has no box"));
        assert!(error("0,half,64,64").contains("`half` is no element type"));
        assert!(error("0,f16,64x64,64").contains("a box of 1 dimensions where 2 are wanted"));
        assert!(error("0,f16,64,257").contains("257 is not in 1 ..= 256"));
        assert!(error("0,u8,8x8,8x8").contains("multiples of 16"));
        assert!(error("0,f16,1x1x1x1x1x1,1").contains("more than 5 dimensions"));
        assert!(error("0,f16,16x8,16,im2col=-1:0:64").contains("im2col"));
        assert!(error("0,f16,64,64,twist=1").contains("`twist=1` is no option"));
        assert!(error("x,f16,64,64").contains("`x` is not a number"));
    }
}
