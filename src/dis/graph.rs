//! `--cfg`: the control flow of each function as a Graphviz graph.
//!
//! A node is a basic block with its instructions, named by its first address. Edges: solid where
//! control goes (`taken` and `not taken` of a guarded branch, falling through otherwise), dashed
//! from BSSY to where BSYNC brings the threads together, dotted to functions that a call enters (in
//! the same text, or `call` for others). Blocks that end in RET or EXIT have none.

use super::code::{Code, DisError, Part, WORD};
use super::labels::{Labels, Naming};
use orias_components::{Inst, Mod, Opcode, Operand};
use orias_targets::text;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How an instruction moves control.
enum Flow {
    /// To the next instruction, and nowhere else.
    Next,
    /// To a place; the guard decides.
    Branch(u64),
    /// To one of several places, or to places that nothing tells.
    Indirect(Vec<u64>),
    /// Into a function that comes back.
    Call(Option<u64>),
    /// Threads reconverge at a place later.
    Region(u64),
    /// Out of the function.
    End,
}

/// The graphs of all functions that are shown, each a `digraph` of its own.
pub fn graphs(code: &Code<'_>) -> Result<String, DisError> {
    let mut out = String::new();
    let mut labels = Labels::new(code);
    for (section, part) in code.shown() {
        graph(&mut out, code, section, part, &mut labels)?;
    }
    Ok(out)
}

fn graph<'a>(
    out: &mut String,
    code: &'a Code<'a>,
    section: usize,
    part: &Part<'_>,
    labels: &mut Labels<'a>,
) -> Result<(), DisError> {
    let limit = code.limit();
    let mut size = out.len();
    let mut insts = Vec::new();
    let mut starts = BTreeSet::from([0]);
    for (pc, word) in part.instructions() {
        let next = pc + WORD as u64;
        let decoded = code.target.decode_row(word, pc).ok();
        let flow = match &decoded {
            Some((_, inst)) => flow(inst, pc, &labels.sections[section].branches),
            None => Flow::Next,
        };
        match &flow {
            Flow::Next => {}
            Flow::Branch(to) => {
                starts.extend([next, *to]);
            }
            Flow::Indirect(to) => {
                starts.insert(next);
                starts.extend(to);
            }
            Flow::Call(to) => starts.extend(to),
            Flow::Region(to) => {
                starts.insert(*to);
            }
            Flow::End => {
                starts.insert(next);
            }
        }
        let mut line = String::new();
        match &decoded {
            Some((form, inst)) => {
                let mut naming = Naming { labels, section, relocation: None };
                text::write(&mut line, code.target, Some(form), inst, &mut naming);
            }
            None => {
                let _ = write!(line, "UNDECODED {word:#034x} ;");
            }
        }
        size += line.len();
        if size > limit {
            return Err(DisError::TooLong);
        }
        insts.push((line, flow, decoded.is_some_and(|(_, i)| !i.guard.is_always())));
    }
    let places = &labels.sections[section];
    starts.extend(places.functions.iter().map(|f| f.0));
    starts.retain(|s| *s < part.size() && s.is_multiple_of(WORD as u64));
    let _ = writeln!(out, "digraph {} {{", quoted(part.name));
    let _ =
        writeln!(out, "  label={};\n  node [shape=box, fontname=monospace];", quoted(part.name));
    let ends: Vec<u64> = starts.iter().copied().skip(1).chain([part.size()]).collect();
    let mut edges = BTreeMap::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        let mut text = String::new();
        if !places.write(&mut text, start) {
            let _ = write!(text, "{start:#x}");
        }
        text.push_str(":\\l");
        for (i, (line, flow, guarded)) in insts.iter().enumerate().skip(start as usize / WORD) {
            let pc = (i * WORD) as u64;
            if pc >= end {
                break;
            }
            let _ = write!(text, "/*{pc:04x}*/ {}\\l", escaped(line));
            let mut edge = |to: u64, style: &'static str| edges.insert((start, to, style), ());
            let last = pc + WORD as u64 == end;
            let falls = match flow {
                Flow::Next => true,
                Flow::Branch(to) => {
                    edge(*to, if *guarded { "label=\"taken\"" } else { "" });
                    *guarded
                }
                Flow::Indirect(to) => {
                    for to in to {
                        edge(*to, "label=\"indirect\"");
                    }
                    *guarded
                }
                Flow::Call(to) => {
                    if let Some(to) = to {
                        edge(*to, "style=dotted, label=\"call\"");
                    }
                    true
                }
                Flow::Region(to) => {
                    edge(*to, "style=dashed, label=\"converge\"");
                    true
                }
                Flow::End => *guarded,
            };
            if last && falls && end < part.size() {
                let branch = matches!(flow, Flow::Branch(_) | Flow::Indirect(_) | Flow::End);
                edge(end, if branch { "label=\"not taken\"" } else { "" });
            }
        }
        let _ = writeln!(out, "  \"{start:#x}\" [label=\"{text}\"];");
    }
    for (from, to, style) in edges.into_keys().filter(|(_, to, _)| starts.contains(to)) {
        let style = if style.is_empty() { String::new() } else { format!(" [{style}]") };
        let _ = writeln!(out, "  \"{from:#x}\" -> \"{to:#x}\"{style};");
    }
    out.push_str("}\n");
    Ok(())
}

fn flow(inst: &Inst, pc: u64, branches: &[(u64, Vec<u64>)]) -> Flow {
    let target = inst.operands.iter().find_map(|o| match o {
        Operand::Addr(to) => Some(*to),
        _ => None,
    });
    match inst.op {
        Opcode::BRX | Opcode::BRXU => {
            let known = branches.binary_search_by_key(&pc, |b| b.0);
            Flow::Indirect(known.map_or(Vec::new(), |i| branches[i].1.clone()))
        }
        Opcode::EXIT | Opcode::RET => Flow::End,
        Opcode::CALL => Flow::Call(target.filter(|_| inst.mods.has(Mod::REL))),
        Opcode::BSSY => target.map_or(Flow::Next, Flow::Region),
        Opcode::BRA | Opcode::JMP => target.map_or(Flow::Next, Flow::Branch),
        Opcode::JMX | Opcode::JMXU => Flow::Indirect(Vec::new()),
        _ => Flow::Next,
    }
}

/// A name between quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", escaped(name))
}

/// Text that may stand between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}
