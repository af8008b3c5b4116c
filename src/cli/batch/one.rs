//! One file of a batch: read, compiled, written.

use super::cycles::{self, Cycles};
use super::outputs::{Task, Work};
use super::row::{Code, Message, Row, Status};
use crate::cli::compile::{Warnings, memory_warnings};
use crate::compiler::{Compiler, Job};
use crate::driver::{CompileError, Output};
use crate::ptx::diagnostics::Severity;
use crate::{input, whole};
use orias_systems::Cancel;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

/// Why there is no output.
enum Problem {
    Cancelled,
    Failed,
}

/// What a file comes to: messages, as objects and as the text for standard error.
#[derive(Default)]
struct Told {
    messages: Vec<Message>,
    text: String,
}

impl Told {
    fn global(&mut self, file: &str, severity: Severity, message: String) {
        let name = if severity == Severity::Warning { "warning" } else { "error" };
        self.text.push_str(&format!("{file}: {name}: {message}\n"));
        self.messages.push(Message::global(severity, message));
    }
}

/// Compiles a file; what became of it, and what there is to say on standard error.
pub fn compile(task: &Task, compiler: &Compiler, cancel: &Cancel) -> (Row, String) {
    let started = Instant::now();
    let file = task.file.display().to_string();
    let mut told = Told::default();
    let made = match &task.work {
        _ if cancel.is_cancelled() => Err(Problem::Cancelled),
        Ok(work) => make(&task.file, work, compiler, cancel, &mut told),
        Err(error) => {
            told.global(&file, Severity::Error, error.clone());
            Err(Problem::Failed)
        }
    };
    let status = match &made {
        Ok(_) => Status::Compiled,
        Err(Problem::Failed) => Status::Failed,
        Err(Problem::Cancelled) => Status::Cancelled,
    };
    let cycles = match (&made, &task.work) {
        (Ok(output), Ok(work)) if !work.launch.is_empty() => {
            estimate(output, work, &file, &mut told)
        }
        _ => None,
    };
    let row = Row {
        file,
        output: task.work.as_ref().ok().map(|work| work.output.display().to_string()),
        status,
        cached: made.as_ref().is_ok_and(|output| output.cached),
        code: made.as_ref().ok().map(Code::of),
        cycles,
        milliseconds: started.elapsed().as_secs_f64() * 1e3,
        messages: told.messages,
    };
    (row, told.text)
}

/// A launch that cannot be run is a warning: the cubin is there.
fn estimate(output: &Output, work: &Work, file: &str, told: &mut Told) -> Option<Cycles> {
    let run = catch_unwind(|| cycles::of(&output.cubin, &work.launch));
    let run = run.unwrap_or_else(|_| Err("the simulator has a fault".to_string()));
    run.map_err(|error| {
        told.global(file, Severity::Warning, format!("its cycles are not known: {error}"));
    })
    .ok()
}

fn make(
    file: &Path,
    work: &Work,
    compiler: &Compiler,
    cancel: &Cancel,
    told: &mut Told,
) -> Result<Output, Problem> {
    let name = file.display().to_string();
    let failed = |told: &mut Told, message: String| {
        told.global(&name, Severity::Error, message);
        Problem::Failed
    };
    let bytes = input::read(file, input::MAX_CODE)
        .map_err(|error| failed(told, format!("it could not be read: {error}")))?;
    // As for one file: the lexer complains of what was no UTF-8, outside comments.
    let source = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let settings = &*work.settings;
    let job = Job::new(&source).options(&settings.options).cancel(cancel);
    // No input should end so; but if one did, it would be no matter of the others.
    let result = catch_unwind(AssertUnwindSafe(|| compiler.compile(job)))
        .map_err(|_| failed(told, "internal error: the compiler has a fault".to_string()))?;
    let output = match result {
        Ok(output) => output,
        Err(CompileError::Cancelled) => return Err(Problem::Cancelled),
        Err(CompileError::Rejected(errors)) => {
            told.messages.extend(Message::all(&errors, &source));
            told.text.push_str(&errors.render(&name, &source));
            return Err(Problem::Failed);
        }
    };
    let mut warnings = Warnings::kept(&settings.args);
    settings.warnings.iter().for_each(|warning| warnings.give(warning));
    memory_warnings(&settings.args, &output, &mut warnings);
    if output.fell_back {
        let (asked, level) = (settings.options.opt_level, output.opt_level);
        warnings.give(&format!("Compiled at -O{level}: the time for -O{asked} was over"));
    }
    let severity = if warnings.fatal { Severity::Error } else { Severity::Warning };
    for warning in warnings.kept.take().unwrap_or_default() {
        told.global(&name, severity, warning);
    }
    if !output.warnings.is_empty() && (warnings.fatal || !warnings.hidden) {
        told.messages.extend(Message::all(&output.warnings, &source));
        told.text.push_str(&output.warnings.render(&name, &source));
        warnings.failed |= warnings.fatal;
    }
    if warnings.failed {
        return Err(failed(told, "warnings are errors (--warning-as-error)".to_string()));
    }
    whole::write_with_folder(&work.output, &output.cubin).map_err(|error| {
        let output = work.output.display();
        failed(told, format!("its output {output} could not be written: {error}"))
    })?;
    Ok(output)
}
