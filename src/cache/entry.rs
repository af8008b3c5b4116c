//! An entry's bytes: a mark, a checksum of all that follows, the length of the report, the report
//! as JSON, and the cubin.

use crate::driver::{FunctionReport, Output, Times};
use crate::ptx::diagnostics::Diagnostics;
use crate::times::Measured;
use serde::{Deserialize, Serialize};

/// How the file begins; another form of it has another mark.
const MARK: &[u8; 8] = b"orias-c1";

/// Bytes of the checksum.
const SUM: usize = blake3::OUT_LEN;

/// All of an output but its file, as it is written.
#[derive(Serialize, Deserialize)]
struct Report {
    target: String,
    is_widened: bool,
    functions: Vec<FunctionReport>,
    warnings: Diagnostics,
    global_bytes: u64,
    opt_level: u8,
}

pub fn write(output: &Output) -> Vec<u8> {
    let report = Report {
        target: output.target.name.to_string(),
        is_widened: is_widened(output),
        functions: output.functions.clone(),
        warnings: output.warnings.clone(),
        global_bytes: output.global_bytes,
        opt_level: output.opt_level,
    };
    // Nothing in it that JSON has not; were there, the entry would be none.
    let report = serde_json::to_vec(&report).unwrap_or_default();
    let mut bytes = Vec::with_capacity(MARK.len() + SUM + 8 + report.len() + output.cubin.len());
    bytes.extend(MARK);
    bytes.extend([0; SUM]);
    bytes.extend((report.len() as u64).to_le_bytes());
    bytes.extend(report);
    bytes.extend(&output.cubin);
    let (head, content) = bytes.split_at_mut(MARK.len() + SUM);
    head[MARK.len()..].copy_from_slice(blake3::hash(content).as_bytes());
    bytes
}

/// None where it is not what was written.
pub fn read(bytes: &[u8]) -> Option<Output> {
    let (sum, content) = bytes.strip_prefix(MARK)?.split_first_chunk::<SUM>()?;
    if blake3::hash(content) != *sum {
        return None;
    }
    let (length, content) = content.split_first_chunk::<8>()?;
    let (report, cubin) =
        content.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let report: Report = serde_json::from_slice(report).ok()?;
    let target = orias_targets::target(&report.target)?;
    Some(Output {
        cubin: cubin.to_vec(),
        target: if report.is_widened { target.widened() } else { target },
        functions: report.functions,
        warnings: report.warnings,
        global_bytes: report.global_bytes,
        stats: Vec::new(),
        dump: String::new(),
        opt_level: report.opt_level,
        fell_back: false,
        cached: true,
        times: Times::default(),
        measured: Measured::default(),
    })
}

fn is_widened(output: &Output) -> bool {
    let known = orias_targets::target(output.target.name);
    known.is_some_and(|known| !std::ptr::eq(known, output.target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{CompileOptions, compile_source};

    const PTX: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .global .u32 x;\n.visible .entry k() { ret; }";

    #[test]
    fn what_was_written_is_read_again() {
        let output = compile_source(PTX, &CompileOptions::default()).unwrap();
        assert!(!output.warnings.is_empty(), "there is something to keep");
        let again = read(&write(&output)).expect("an entry");
        assert_eq!(again.cubin, output.cubin);
        assert_eq!(again.functions, output.functions);
        assert_eq!(again.warnings, output.warnings);
        assert!(std::ptr::eq(again.target, output.target) && again.cached);
    }

    #[test]
    fn any_change_of_a_byte_and_any_cut_is_seen() {
        let entry = write(&compile_source(PTX, &CompileOptions::default()).unwrap());
        for at in 0..entry.len() {
            let mut changed = entry.clone();
            changed[at] ^= 1;
            assert!(read(&changed).is_none(), "byte {at}");
            assert!(read(&entry[..at]).is_none(), "cut to {at}");
        }
    }
}
