//! Our cubin beside ptxas's for the same PTX, by all that a loader, a debugger or a sanitizer reads
//! of it: header, sections, symbols, relocations, segments, notes, and every attribute of the
//! module and of each kernel.
//!
//! What is another compiler's by its nature is not compared: the text, who made the file, places in
//! the text and its length (call frames, lines, exits, operations of warps and mbarriers),
//! registers and the stack. Where a rule says how they follow from code, each side is held to it
//! against its own code ([`code`]). What else may differ follows from code too, and is listed case
//! by case with its cause ([`known`]). Everything else is a fault.

mod code;
mod kernel;
mod module;
pub mod run;

use crate::exceptions::{Exceptions, group, has};
use orias::elf::Cubin;
use orias_targets::Target;

/// The differences that are accepted: group of the module, kernel or section, levels, name. The
/// name's line has the rule by which ptxas 13.0.88 writes what differs (observed on sm_90a by
/// varying one thing in small PTX, at -O0 and -O3).
pub fn known() -> Exceptions {
    Exceptions::read("attributes.tbl", include_str!("attributes.tbl"), 4)
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The name of its cause, or what is wrong.
    pub name: &'static str,
    /// The section or kernel, and both values.
    pub what: String,
}

impl Difference {
    /// Whether it is one that is accepted, of a module's cubins at this level.
    pub fn is_known(&self, known: &mut Exceptions, module: &str, level: u8) -> bool {
        let place = self.place();
        let fits = |row: &[&str]| {
            row[..2] == [group(module), place]
                && has(row[2], &level.to_string())
                && row[3] == self.name
        };
        known.find(fits).is_some()
    }

    /// The kernel or section.
    pub fn place(&self) -> &str {
        let place = self.what.split(':').next().unwrap_or("");
        if place.is_empty() { "file" } else { place }
    }
}

/// The compiler's own functions have names that no PTX has.
fn is_helper(name: &str) -> bool {
    name.starts_with("$__internal_")
}

/// Differences as they are found.
#[derive(Default)]
struct Found(Vec<Difference>);

impl Found {
    fn add(&mut self, name: &'static str, what: impl Into<String>) {
        self.0.push(Difference { name, what: what.into() });
    }

    /// Adds a difference where two things are not equal.
    fn equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        name: &'static str,
        place: &str,
        ours: T,
        theirs: T,
    ) {
        if ours != theirs {
            self.add(name, format!("{place}: {ours:x?} instead of {theirs:x?}"));
        }
    }
}

/// All differences between two cubins of one PTX file; `level` is that of the compilers. Where ours
/// refused kernels, only what the others say is compared.
///
/// # Errors
/// When one of them is no cubin, or has words that no row of the target explains.
pub fn differences(
    target: &Target,
    (ours, theirs): (&[u8], &[u8]),
    level: u8,
    refused: &[String],
) -> Result<Vec<Difference>, String> {
    let [ours, theirs] = [ours, theirs].map(|file| Cubin::read(file).map_err(|e| e.to_string()));
    let (ours, theirs) = (ours?, theirs?);
    let mut found = Found::default();
    if refused.is_empty() {
        module::compare(&mut found, &ours, &theirs);
    }
    for of_theirs in theirs.kernels().filter(|k| !refused.iter().any(|name| name == k.name)) {
        match ours.kernel(of_theirs.name) {
            Some(of_ours) => {
                let sides = [(&ours, of_ours), (&theirs, of_theirs)].map(|(cubin, function)| {
                    let code = code::Code::read(target, function)?;
                    Ok::<_, String>(kernel::Side { cubin, function, code })
                });
                let [ours, theirs] = sides;
                kernel::compare(&mut found, &ours?, &theirs?, level);
            }
            None => found.add("kernels", format!("no {}", of_theirs.name)),
        }
    }
    Ok(found.0)
}
