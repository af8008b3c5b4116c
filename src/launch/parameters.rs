//! The kernel's parameter block: each argument's bytes at its parameter's offset.

use super::error::LaunchError;
use super::placed::Placed;
use super::request::{Argument, Launch, Scalar};

/// Where a kernel parameter lies in the block, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Bytes from the start of the parameters.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The parameter block of a launch. A scalar fills its parameter's bytes: a wider one is truncated,
/// a narrower integer is extended by its sign. A pointer needs a parameter of 8 bytes, bytes passed
/// by value exactly their number.
pub fn parameter_block(
    launch: &Launch,
    parameters: &[Parameter],
    placed: &Placed,
) -> Result<Vec<u8>, LaunchError> {
    if launch.args.len() != parameters.len() {
        return Err(LaunchError::ArgumentCount {
            entry: launch.entry.clone(),
            expected: parameters.len(),
            given: launch.args.len(),
        });
    }
    let size = parameters.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    let mut block = vec![0; size as usize];
    for (index, (arg, parameter)) in launch.args.iter().zip(parameters).enumerate() {
        let mismatch =
            |why: String| LaunchError::Mismatch { entry: launch.entry.clone(), index, why };
        let size = parameter.size as usize;
        let slot = &mut block[parameter.offset as usize..][..size];
        match arg {
            Argument::Bytes(bytes) if bytes.len() == size => slot.copy_from_slice(bytes),
            Argument::Bytes(bytes) => {
                return Err(mismatch(format!(
                    "{} bytes are given for a parameter of {size} bytes",
                    bytes.len()
                )));
            }
            Argument::Tensor(tensor) => {
                let why =
                    format!("its tensor is in argument {}, which is no buffer", tensor.buffer);
                let bytes = tensor.bytes(placed).ok_or_else(|| mismatch(why))?;
                if bytes.len() != size {
                    return Err(mismatch(format!(
                        "a tensor map is given for a parameter of {size} bytes"
                    )));
                }
                slot.copy_from_slice(&bytes);
            }
            Argument::Buffer(_) => {
                let address = placed.address(index).unwrap_or_default();
                if size != 8 {
                    return Err(mismatch(format!(
                        "a buffer is given for a parameter of {size} bytes"
                    )));
                }
                slot.copy_from_slice(&address.to_le_bytes());
            }
            Argument::Scalar(scalar) => {
                let (bits, bytes) = scalar_bits(*scalar);
                let float = matches!(scalar, Scalar::F32(_) | Scalar::F64(_));
                if size > 8 || (float && bytes != size) {
                    return Err(mismatch(format!(
                        "a scalar of {bytes} bytes is given for a parameter of {size} bytes"
                    )));
                }
                slot.copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
    }
    Ok(block)
}

/// The bits of a scalar, extended by its sign, and its own size in bytes.
fn scalar_bits(scalar: Scalar) -> (u64, usize) {
    match scalar {
        Scalar::U32(v) => (v.into(), 4),
        Scalar::S32(v) => (i64::from(v) as u64, 4),
        Scalar::U64(v) => (v, 8),
        Scalar::S64(v) => (v as u64, 8),
        Scalar::F32(v) => (v.to_bits().into(), 4),
        Scalar::F64(v) => (v.to_bits(), 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Buffer, TensorArgument, place};
    use orias_targets::memory::Memory;

    fn block(args: Vec<Argument>, sizes: &[u64]) -> Result<Vec<u8>, LaunchError> {
        let mut offset = 0;
        let parameters: Vec<_> = sizes
            .iter()
            .map(|&size| {
                let parameter = Parameter { offset, size };
                offset += size;
                parameter
            })
            .collect();
        let placed = place(&args, &mut Memory::default());
        parameter_block(&Launch { args, ..Launch::default() }, &parameters, &placed)
    }

    #[test]
    fn scalars_fill_their_parameters() {
        let args = vec![
            Argument::Scalar(Scalar::U32(0x1234_5678)),
            Argument::Scalar(Scalar::S32(-2)),
            Argument::Scalar(Scalar::F32(1.0)),
        ];
        assert_eq!(
            block(args, &[1, 8, 4]).unwrap(),
            [0x78, 0xfe, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0x80, 0x3f]
        );
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let buffer = || Argument::Buffer(Buffer::default());
        let text = |args, sizes: &[u64]| block(args, sizes).unwrap_err().to_string();
        assert!(text(vec![], &[4]).contains("has 1 parameters, the launch gives 0"));
        assert!(text(vec![buffer()], &[4]).contains("a buffer is given for a parameter of 4"));
        assert!(text(vec![Argument::Bytes(vec![0; 3])], &[4]).contains("3 bytes are given"));
        assert!(text(vec![Argument::Scalar(Scalar::F64(1.0))], &[4]).contains("scalar of 8 bytes"));
        assert!(text(vec![Argument::Scalar(Scalar::U32(1))], &[16]).contains("of 16 bytes"));
        assert!(block(vec![Argument::Bytes(vec![0; 12]), buffer()], &[12, 8]).is_ok());
        let map = |buffer| Argument::Tensor(TensorArgument { buffer, ..Default::default() });
        assert!(block(vec![buffer(), map(0)], &[8, 128]).is_ok());
        assert!(text(vec![buffer(), map(1)], &[8, 128]).contains("argument 1, which is no buffer"));
        assert!(text(vec![buffer(), map(0)], &[8, 8]).contains("a tensor map is given"));
    }
}
