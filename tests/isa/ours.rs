//! Our compiler on modules of many kernels: what it refuses is left out, so that one instruction
//! does not hide the others.

use orias::driver::{CompileOptions, compile_program};
use orias::ptx::program::Program;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of a module.
pub struct Compiled {
    /// The cubin of the kernels that compile; None where there is none.
    pub cubin: Option<Vec<u8>>,
    /// The others, in the order of the source, each with its first error.
    pub refused: Vec<(String, String)>,
}

/// Compiles all kernels of a module that compile.
///
/// # Errors
/// When the PTX cannot be read, or an error belongs to no kernel.
pub fn compile(source: &str, options: &CompileOptions) -> Result<Compiled, String> {
    let mut program = orias::ptx::load(source).map_err(|e| e.render("PTX", source))?;
    let mut refused: Vec<(usize, String)> = Vec::new();
    let cubin = loop {
        let left = kernels(&program, &refused);
        // A module without kernels has variables to compile.
        if left.is_empty() && !refused.is_empty() {
            break None;
        }
        match attempt(&program, options) {
            Ok(cubin) => break Some(cubin),
            Err(found) => {
                let mut blamed = blame(&program, &found);
                blamed.retain(|(kernel, _)| left.contains(kernel));
                if blamed.is_empty() {
                    blamed = alone(&program, &left, options);
                }
                if blamed.is_empty() {
                    return Err(found.into_iter().map(|(_, text)| text).next().unwrap_or_default());
                }
                for (kernel, text) in blamed {
                    leave_out(&mut program, kernel);
                    refused.push((kernel, text));
                }
            }
        }
    };
    refused.sort();
    let named =
        |(kernel, text): (usize, String)| (program.functions[kernel].name.to_string(), text);
    Ok(Compiled { cubin, refused: refused.into_iter().map(named).collect() })
}

/// The kernels with a body that were not refused, by index.
fn kernels(program: &Program<'_>, refused: &[(usize, String)]) -> Vec<usize> {
    let functions = program.functions.iter().enumerate();
    let all = functions.filter(|(_, f)| f.entry && f.defined).map(|(i, _)| i);
    all.filter(|i| !refused.iter().any(|(kernel, _)| kernel == i)).collect()
}

/// An error's place in the source, if it has one, and its text.
type Found = Vec<(Option<usize>, String)>;

fn attempt(program: &Program<'_>, options: &CompileOptions) -> Result<Vec<u8>, Found> {
    match catch_unwind(AssertUnwindSafe(|| compile_program(program, options))) {
        Ok(Ok(output)) => Ok(output.cubin),
        Ok(Err(errors)) => {
            let place = |d: &orias::ptx::diagnostics::Diagnostic| {
                (d.span.map(|s| s.start as usize), d.message.clone())
            };
            Err(errors.iter().map(place).collect())
        }
        Err(_) => Err(vec![(None, "PANIC".to_string())]),
    }
}

/// The kernels in which errors stand, each with its first one.
fn blame(program: &Program<'_>, found: &[(Option<usize>, String)]) -> Vec<(usize, String)> {
    let mut blamed: Vec<(usize, String)> = Vec::new();
    for (place, text) in found {
        let Some(place) = place else { continue };
        let before = |f: &usize| program.functions[*f].span.start as usize <= *place;
        let nearest = (0..program.functions.len())
            .filter(before)
            .max_by_key(|f| program.functions[*f].span.start);
        let kernel =
            nearest.filter(|f| program.functions[*f].entry && program.functions[*f].defined);
        if let Some(kernel) = kernel
            && !blamed.iter().any(|(k, _)| *k == kernel)
        {
            blamed.push((kernel, text.clone()));
        }
    }
    blamed
}

/// The kernels that do not compile where they are the only one.
fn alone(program: &Program<'_>, all: &[usize], options: &CompileOptions) -> Vec<(usize, String)> {
    let mut wrong = Vec::new();
    for kernel in all {
        let mut single = program.clone();
        all.iter().filter(|k| *k != kernel).for_each(|k| leave_out(&mut single, *k));
        if let Err(found) = attempt(&single, options) {
            wrong.push((
                *kernel,
                found.into_iter().map(|(_, text)| text).next().unwrap_or_default(),
            ));
        }
    }
    wrong
}

/// Leaves nothing of a kernel's code.
fn leave_out(program: &mut Program<'_>, kernel: usize) {
    let function = &mut program.functions[kernel];
    function.code = Default::default();
    function.labels.clear();
    function.branch_targets.clear();
}
