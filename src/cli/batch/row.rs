//! What `--json` says of a file: one object a line.

use super::cycles::Cycles;
use crate::driver::{FunctionReport, Output};
use crate::ptx::diagnostics::{Diagnostics, LineMap, Position, Severity};
use serde::Serialize;

/// What has become of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Its output is there.
    Compiled,
    /// It is not: the messages say why.
    Failed,
    /// The batch was interrupted before.
    Cancelled,
}

/// The object. Times are wall time in milliseconds; what a file that failed has none of is null.
#[derive(Serialize, Debug)]
pub struct Row {
    pub file: String,
    pub output: Option<String>,
    pub status: Status,
    /// It was found in the cache.
    pub cached: bool,
    #[serde(flatten)]
    pub code: Option<Code>,
    /// Where the manifest has a launch.
    #[serde(flatten)]
    pub cycles: Option<Cycles>,
    /// From its reading to its output.
    pub milliseconds: f64,
    pub messages: Vec<Message>,
}

/// What was made.
#[derive(Serialize, Debug)]
pub struct Code {
    arch: &'static str,
    opt_level: u8,
    /// That is lower than the one asked for, for there was no time for that.
    fell_back: bool,
    /// Most of a thread, over all kernels.
    registers: u32,
    /// Most of a block (static shared variables), over all kernels.
    shared_bytes: u32,
    /// Over all functions.
    spill_store_bytes: u32,
    spill_load_bytes: u32,
    /// Machine instructions of all functions.
    instructions: u64,
    /// Of the file.
    cubin_bytes: usize,
    functions: Vec<Function>,
    /// Of each stage; zero for what was found in the cache.
    read_milliseconds: f64,
    code_milliseconds: f64,
    file_milliseconds: f64,
}

/// One kernel or device function.
#[derive(Serialize, Debug)]
struct Function {
    name: String,
    kernel: bool,
    registers: u32,
    shared_bytes: u32,
    stack_bytes: u32,
    spill_store_bytes: u32,
    spill_load_bytes: u32,
    barriers: u32,
    instructions: u32,
}

/// One error or warning; without a place where it is about the file or the command line.
#[derive(Serialize, Debug, PartialEq, Eq)]
pub struct Message {
    pub severity: Severity,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Message {
    /// Without a place.
    pub fn global(severity: Severity, text: String) -> Message {
        Message { severity, line: None, column: None, text, notes: Vec::new() }
    }

    /// All that a compile has found.
    pub fn all(diagnostics: &Diagnostics, source: &str) -> Vec<Message> {
        if diagnostics.is_empty() {
            return Vec::new();
        }
        let lines = LineMap::new(source);
        let message = |d: &crate::Diagnostic| {
            let place: Option<Position> = d.span.map(|span| lines.position(span.start, source));
            Message {
                severity: d.severity,
                line: place.map(|p| p.line),
                column: place.map(|p| p.column),
                text: d.message.clone(),
                notes: d.notes.clone(),
            }
        };
        diagnostics.iter().map(message).collect()
    }
}

impl Code {
    pub fn of(output: &Output) -> Code {
        let kernels = || output.functions.iter().filter(|f| f.entry);
        let all = |count: fn(&FunctionReport) -> u32| output.functions.iter().map(count);
        let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        Code {
            arch: output.target.name,
            opt_level: output.opt_level,
            fell_back: output.fell_back,
            registers: kernels().map(|f| f.registers).max().unwrap_or(0),
            shared_bytes: kernels().map(|f| f.shared_bytes).max().unwrap_or(0),
            spill_store_bytes: all(|f| f.spill_store_bytes).fold(0, u32::saturating_add),
            spill_load_bytes: all(|f| f.spill_load_bytes).fold(0, u32::saturating_add),
            instructions: all(|f| f.instructions).map(u64::from).sum(),
            cubin_bytes: output.cubin.len(),
            functions: output.functions.iter().map(Function::of).collect(),
            read_milliseconds: milliseconds(output.times.read),
            code_milliseconds: milliseconds(output.times.code),
            file_milliseconds: milliseconds(output.times.file),
        }
    }
}

impl Function {
    fn of(report: &FunctionReport) -> Function {
        Function {
            name: report.name.clone(),
            kernel: report.entry,
            registers: report.registers,
            shared_bytes: report.shared_bytes,
            stack_bytes: report.stack_bytes,
            spill_store_bytes: report.spill_store_bytes,
            spill_load_bytes: report.spill_load_bytes,
            barriers: report.barriers,
            instructions: report.instructions,
        }
    }
}
