//! Buffers of a launch, from its arguments to device memory and to their files.

use super::error::LaunchError;
use super::placed::Placed;
use super::request::Argument;
use orias_targets::memory::{Memory, MemorySpace};

/// Maps the launch's buffers, in argument order.
pub fn place(args: &[Argument], memory: &mut Memory) -> Placed {
    let mut addresses = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate() {
        addresses.push(match arg {
            Argument::Buffer(buffer) => Some(memory.map(
                format!("the buffer of argument {index}"),
                MemorySpace::Global,
                buffer.bytes.clone(),
                buffer.writable,
            )),
            _ => None,
        });
    }
    Placed::new(addresses)
}

/// Writes the buffers that have an output file. `contents` are the buffers in argument order.
pub fn write_outputs(args: &[Argument], contents: &[Vec<u8>]) -> Result<(), LaunchError> {
    let buffers = args.iter().filter_map(|arg| match arg {
        Argument::Buffer(buffer) => Some(buffer),
        _ => None,
    });
    for (buffer, bytes) in buffers.zip(contents) {
        if let Some(path) = &buffer.output {
            std::fs::write(path, bytes)
                .map_err(|error| LaunchError::Output { path: path.display().to_string(), error })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::request::{Buffer, Scalar};

    #[test]
    fn buffers_come_back_in_argument_order() {
        let buffer = |byte| Argument::Buffer(Buffer { bytes: vec![byte; 8], ..Buffer::default() });
        let args = [buffer(1), Argument::Scalar(Scalar::U32(3)), buffer(2)];
        let mut memory = Memory::default();
        let placed = place(&args, &mut memory);
        assert_eq!(placed.address(1), None);
        assert!(placed.address(0) < placed.address(2));
        assert_eq!(placed.collect(&mut memory), [vec![1; 8], vec![2; 8]]);
    }
}
