//! The text of one `--arg`: `u32=5`, `f32=0x3f800000`, `in=FILE`, `inout=FILE:OUTFILE`,
//! `out=BYTES:OUTFILE`, `bytes=FILE`, `tensor=…` (see [`super::tensor::parse_tensor`]).

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::LaunchError;
use super::request::{Argument, Buffer, Scalar};
use super::tensor::parse_tensor;

/// The largest `out=` buffer (bytes): [`super::request::MAX_MEMORY`].
const MAX_BUFFER: u64 = super::request::MAX_MEMORY;

/// Reads one argument; files named in it are read here.
pub fn parse_argument(text: &str) -> Result<Argument, LaunchError> {
    let bad = |why: String| LaunchError::Argument { text: text.to_string(), why };
    let Some((kind, value)) = text.split_once('=') else {
        return Err(bad("expected KIND=VALUE".to_string()));
    };
    let read = |path: &str| {
        crate::input::read(Path::new(path), MAX_BUFFER).map_err(|error| LaunchError::File {
            text: text.to_string(),
            path: path.to_string(),
            error,
        })
    };
    let scalar = match kind {
        "u32" => integer(value, 0, u32::MAX.into(), 32).map(|v| Scalar::U32(v as u32)),
        "s32" => {
            integer(value, i32::MIN.into(), i32::MAX.into(), 32).map(|v| Scalar::S32(v as i32))
        }
        "u64" => integer(value, 0, u64::MAX.into(), 64).map(|v| Scalar::U64(v as u64)),
        "s64" => {
            integer(value, i64::MIN.into(), i64::MAX.into(), 64).map(|v| Scalar::S64(v as i64))
        }
        "f32" => float(value, 32, |bits| f32::from_bits(bits as u32)).map(Scalar::F32),
        "f64" => float(value, 64, f64::from_bits).map(Scalar::F64),
        "in" => {
            let buffer = Buffer { bytes: read(value)?, writable: false, output: None };
            return Ok(Argument::Buffer(buffer));
        }
        "tensor" => return parse_tensor(value).map(Argument::Tensor),
        "bytes" => return Ok(Argument::Bytes(read(value)?)),
        "inout" => {
            let Some((file, output)) = value.rsplit_once(':') else {
                return Err(bad("expected inout=FILE:OUTFILE".to_string()));
            };
            let bytes = read(file)?;
            let output = Some(PathBuf::from(output));
            return Ok(Argument::Buffer(Buffer { bytes, writable: true, output }));
        }
        "out" => {
            let Some((size, output)) = value.split_once(':') else {
                return Err(bad("expected out=BYTES:OUTFILE".to_string()));
            };
            let size = integer(size, 0, MAX_BUFFER.into(), 64).map_err(bad)?;
            let output = Some(PathBuf::from(output));
            let bytes = vec![0; size as usize];
            return Ok(Argument::Buffer(Buffer { bytes, writable: true, output }));
        }
        _ => Err(format!(
            "`{kind}` is none of u32, s32, u64, s64, f32, f64, in, inout, out, bytes, tensor"
        )),
    };
    scalar.map(Argument::Scalar).map_err(bad)
}

/// A decimal in `min ..= max`, or `0x` bits of at most `bits` bits.
fn integer(text: &str, min: i128, max: i128, bits: u32) -> Result<i128, String> {
    if let Some(value) = hexadecimal(text, bits)? {
        // Bits fill the type: 0xffffffff is -1 as s32. The caller's cast keeps them.
        return Ok(value.into());
    }
    match text.parse::<i128>() {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        Ok(_) => Err(format!("{text} is not in {min} ..= {max}")),
        Err(_) => Err(format!("`{text}` is not an integer")),
    }
}

fn hexadecimal(text: &str, bits: u32) -> Result<Option<u64>, String> {
    let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) else {
        return Ok(None);
    };
    // from_str_radix would take a sign.
    let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    match u64::from_str_radix(digits, 16) {
        Ok(value) if valid && (bits == 64 || value >> bits == 0) => Ok(Some(value)),
        _ => Err(format!("`{text}` is not a hexadecimal number of at most {bits} bits")),
    }
}

/// A decimal rounded once to the type, `inf`, `-inf`, `nan`, or `0x` bits.
fn float<F: FromStr>(text: &str, bits: u32, from_bits: fn(u64) -> F) -> Result<F, String> {
    if let Some(value) = hexadecimal(text, bits)? {
        return Ok(from_bits(value));
    }
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Scalar {
        match parse_argument(text) {
            Ok(Argument::Scalar(scalar)) => scalar,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn error(text: &str) -> String {
        parse_argument(text).unwrap_err().to_string()
    }

    #[test]
    fn integers_reach_both_ends_of_their_range() {
        assert_eq!(scalar("u32=4294967295"), Scalar::U32(u32::MAX));
        assert_eq!(scalar("s32=-2147483648"), Scalar::S32(i32::MIN));
        assert_eq!(scalar("s32=0xffffffff"), Scalar::S32(-1));
        assert_eq!(scalar("u64=18446744073709551615"), Scalar::U64(u64::MAX));
        assert_eq!(scalar("s64=-9223372036854775808"), Scalar::S64(i64::MIN));
        assert_eq!(
            error("u32=4294967296"),
            "argument `u32=4294967296`: 4294967296 is not in 0 ..= 4294967295"
        );
        assert!(error("u32=-1").contains("not in"));
        assert!(error("u32=0x100000000").contains("at most 32 bits"));
        assert!(error("u32=0x").contains("hexadecimal"));
        assert!(error("u64=0x-1").contains("hexadecimal"));
        assert!(error("s32=1.5").contains("not an integer"));
    }

    #[test]
    fn floats_are_rounded_once() {
        assert_eq!(scalar("f32=1.5"), Scalar::F32(1.5));
        assert_eq!(scalar("f32=-inf"), Scalar::F32(f32::NEG_INFINITY));
        assert_eq!(scalar("f64=inf"), Scalar::F64(f64::INFINITY));
        assert_eq!(scalar("f64=0x3ff0000000000000"), Scalar::F64(1.0));
        assert!(matches!(scalar("f32=nan"), Scalar::F32(x) if x.is_nan()));
        // Just above the middle of 1 and the next f32, but rounds to the middle as a double: once
        // gives the upper one.
        assert_eq!(scalar("f32=1.00000005960464478"), Scalar::F32(1.000_000_1));
        assert!(matches!(scalar("f32=0x7f800001"), Scalar::F32(x) if x.to_bits() == 0x7f80_0001));
        assert!(error("f32=one").contains("not a number"));
    }

    #[test]
    fn buffers_name_their_files() {
        let Ok(Argument::Buffer(buffer)) = parse_argument("out=12:a.bin") else { panic!() };
        assert_eq!((buffer.bytes.len(), buffer.writable), (12, true));
        assert_eq!(buffer.output, Some(PathBuf::from("a.bin")));
        assert!(error("out=12").contains("out=BYTES:OUTFILE"));
        assert!(error("inout=a.bin").contains("inout=FILE:OUTFILE"));
        assert!(error("in=/nowhere/at/all").contains("/nowhere/at/all"));
        assert!(error("half=1").contains("none of"));
        assert!(error("12").contains("KIND=VALUE"));
    }

    #[test]
    fn the_output_file_follows_the_last_colon() {
        let folder = std::env::temp_dir().join(format!("orias-arg-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a:b.bin");
        std::fs::write(&file, [1, 2, 3]).unwrap();
        let parsed = parse_argument(&format!("inout={}:c.bin", file.display()));
        std::fs::remove_dir_all(&folder).unwrap();
        let Ok(Argument::Buffer(buffer)) = parsed else { panic!("{parsed:?}") };
        assert_eq!(buffer.bytes, [1, 2, 3]);
        assert_eq!(buffer.output, Some(PathBuf::from("c.bin")));
    }
}
