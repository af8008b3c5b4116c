//! What ptxas accepts: the kernels of a module that it rejects are found from its messages and
//! dropped.

use super::Module;
use crate::reference;
use std::path::Path;

/// A kernel that ptxas rejects, and what it says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    pub group: &'static str,
    pub name: String,
    pub instruction: String,
    pub message: String,
}

/// What is left of a module, its cubin, and what was dropped.
#[derive(Debug, Clone)]
pub struct Accepted {
    pub module: Module,
    /// Empty where no kernel is left.
    pub cubin: Vec<u8>,
    pub rejected: Vec<Rejected>,
}

/// Compiles `module` and drops kernels until ptxas takes the rest.
///
/// Messages with a line number name the kernel. Where there is none (ptxas dies of some modules,
/// even of such whose kernels it takes one by one) the module's halves become modules of their own,
/// and a kernel that stands alone is dropped.
pub fn accept(ptxas: &Path, mut module: Module) -> Vec<Accepted> {
    let mut rejected = Vec::new();
    while !module.kernels.is_empty() {
        let (text, starts) = module.text();
        let messages = match reference::ptxas(ptxas, &module.target, &text, &module.options) {
            Ok(cubin) => return vec![Accepted { module, cubin, rejected }],
            Err(messages) => messages,
        };
        let mut said = named(&messages, &starts);
        if said.iter().all(Option::is_none) {
            if said.len() > 1 {
                let parts = halves(module).into_iter().flat_map(|half| accept(ptxas, half));
                let mut parts: Vec<Accepted> = parts.collect();
                parts[0].rejected.append(&mut rejected);
                return parts;
            }
            said[0] = Some(first_line(&messages));
        }
        let mut verdicts = said.into_iter();
        module.kernels.retain(|kernel| match verdicts.next().flatten() {
            Some(message) => {
                let (name, instruction) = (kernel.name.clone(), kernel.instruction.clone());
                rejected.push(Rejected { group: kernel.group, name, instruction, message });
                false
            }
            None => true,
        });
    }
    vec![Accepted { module, cubin: Vec::new(), rejected }]
}

/// For each kernel what the messages say of its lines; where they speak of what stands before all
/// kernels, none can be kept.
fn named(messages: &str, starts: &[usize]) -> Vec<Option<String>> {
    let mut said: Vec<Option<String>> = vec![None; starts.len()];
    for (line, message) in messages.lines().filter_map(numbered) {
        match starts.partition_point(|s| *s <= line).checked_sub(1) {
            Some(kernel) => drop(said[kernel].get_or_insert_with(|| message.to_string())),
            None => return vec![Some(message.to_string()); starts.len()],
        }
    }
    said
}

fn halves(module: Module) -> [Module; 2] {
    let (first, second) = module.kernels.split_at(module.kernels.len() / 2);
    let half = |kernels: &[super::Kernel], part| {
        let name = format!("{}{part}", module.name);
        Module { name, kernels: kernels.to_vec(), ..module.clone() }
    };
    [half(first, "-1"), half(second, "-2")]
}

/// `… line 12; error   : what` as 12 and what; other lines, warnings too, say nothing.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (before, message) = line.split_once("; error").or_else(|| line.split_once("; fatal"))?;
    let (_, number) = before.rsplit_once("line ")?;
    Some((number.trim().parse().ok()?, message.trim_start_matches([' ', ':'])))
}

fn first_line(messages: &str) -> String {
    let line = messages.lines().find(|l| l.contains("error") || l.contains("fatal"));
    line.unwrap_or("ptxas died").to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_message_names_its_line() {
        let said = "ptxas a.ptx, line 17; error   : Unknown modifier '.foo'";
        assert_eq!(super::numbered(said), Some((17, "Unknown modifier '.foo'")));
        assert_eq!(super::numbered("ptxas a.ptx, line 17; warning : so what"), None);
    }
}
