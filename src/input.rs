//! Reading the files that a command line names, with a bound: whatever stands behind a name,
//! reading it ends.

use crate::nursery;
use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// Bytes that are read at most of what is no regular file (a pipe, a device), whose length nothing
/// knows before.
pub const MAX_STREAM: u64 = 64 << 20;

/// Bytes of a file of code (PTX or a cubin) at most: places in it are numbers of 32 bits.
pub const MAX_CODE: u64 = u32::MAX as u64;

/// The content of a file of at most `most` bytes.
///
/// # Errors
/// When it cannot be read, or is longer; of a pipe or device, when it does not end within
/// [`MAX_STREAM`] bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return stream(file, most);
    }
    if about.len() > most {
        let long = about.len();
        return Err(Error::other(format!("it has {long} bytes, and {most} are the most")));
    }
    if about.len() > nursery::SMALL_INPUT as u64 {
        nursery::close();
    }
    // One byte more, so that the end is found without more room.
    let room = about.len() as usize + 1;
    bounded(file, most, room)?.ok_or_else(|| Error::other(format!("it has more than {most} bytes")))
}

/// All that comes from a stream.
///
/// # Errors
/// When it does not end within [`MAX_STREAM`] bytes, or `most` where those are fewer.
pub fn stream(from: impl Read, most: u64) -> Result<Vec<u8>> {
    let most = most.min(MAX_STREAM);
    let text = || format!("it is no regular file and does not end within {most} bytes");
    bounded(from, most, 0)?.ok_or_else(|| Error::other(text()))
}

fn bounded(from: impl Read, most: u64, room: usize) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(room);
    from.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_an_error() {
        let error = read(Path::new("/dev/zero"), u64::MAX / 2).unwrap_err().to_string();
        assert_eq!(error, "it is no regular file and does not end within 67108864 bytes");
        assert_eq!(read(Path::new("/dev/null"), 10).unwrap(), b"");
    }

    #[test]
    fn a_file_has_as_many_bytes_as_it_may() {
        let file = std::env::temp_dir().join(format!("orias-input-{}", std::process::id()));
        std::fs::write(&file, "12345").unwrap();
        let (fits, long) = (read(&file, 5), read(&file, 4));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(fits.unwrap(), b"12345");
        assert_eq!(long.unwrap_err().to_string(), "it has 5 bytes, and 4 are the most");
        assert!(read(&std::env::temp_dir(), 5).is_err(), "a folder");
    }
}
