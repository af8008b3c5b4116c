//! Ports: the parts of instructions that facts about timing speak of, each with a number.
//!
//! A port is a kind of instruction (its unit: the opcode with the words that every use of the row
//! has, and of matrix products the class, which tells their shapes apart), a part of it that names
//! a register (`d`, `a`, `m.base`), and the file of that register. `d+1` is any cell of a wide
//! operand but the first, where that is told apart: what has scoreboards and matrix products treat
//! all cells alike. All guards of a file are one port, for they are read at issue.

use super::model::{Form, Kind, Table};
use std::collections::BTreeMap;

/// Register files whose ports have times, in the order in which `latency/class.rs` has them.
pub const FILES: [&str; 4] = ["R", "UR", "P", "UP"];

/// No port.
pub const NONE: u16 = u16::MAX;

/// What a port is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Port {
    pub unit: String,
    pub part: String,
    /// Index into [`FILES`].
    pub file: usize,
}

/// Ports of one direction, numbered in the order of the rows.
#[derive(Default)]
pub struct Side {
    ids: BTreeMap<Port, u16>,
    /// By number: the port, and its timing class.
    pub list: Vec<(Port, String)>,
}

impl Side {
    fn id(&mut self, port: Port, class: &str) -> u16 {
        if let Some(id) = self.ids.get(&port) {
            return *id;
        }
        let id = self.list.len() as u16;
        self.ids.insert(port.clone(), id);
        self.list.push((port, class.into()));
        id
    }

    pub fn find(&self, port: &Port) -> Option<u16> {
        self.ids.get(port).copied()
    }
}

/// The ports of one form, by slot: first cell and other cells of the register that the slot names,
/// then of its uniform register, where it has one beside.
pub struct OfForm {
    pub slots: Vec<[u16; 4]>,
    pub guard: u16,
    /// Predicates that a mask names: results of R2P and UR2UP, sources of P2R and UP2UR.
    pub masked: u16,
}

/// All ports of a table, and which each form has.
#[derive(Default)]
pub struct Ports {
    pub results: Side,
    pub sources: Side,
}

const UR: usize = 1;

fn file(name: &str) -> Option<usize> {
    FILES.iter().position(|f| *f == name)
}

/// See [`Port::unit`].
pub fn unit(form: &Form) -> String {
    let mut name = form.opcode.clone();
    for field in form.mods.iter().filter(|m| m.bits.pieces.is_empty()) {
        for word in field.options.iter().flat_map(|o| &o.words) {
            name = name + "." + word;
        }
    }
    if form.class.starts_with("mma") {
        name = name + ":" + &form.class;
    }
    name
}

/// The class by which the cells of a result come: the upper half of IMAD.WIDE is an ordinary
/// product.
fn of_result(class: &str, upper: bool) -> &str {
    if class == "wide" && upper { "fma" } else { class }
}

/// The class by which the cells of a source are read: what IMAD.WIDE and IMAD.HI add is read late,
/// its upper half.
fn of_source(class: &str, upper: bool) -> &str {
    match class {
        "wide" | "fma" if upper => "wide",
        "wide" => "fma",
        other => other,
    }
}

/// Whether the cells of its wide operands have times of their own.
fn tells_cells_apart(class: &str) -> bool {
    !(class.starts_with("mma") || matches!(class, "variable" | "xu" | "control"))
}

impl Ports {
    pub fn of(table: &Table) -> (Ports, Vec<OfForm>) {
        let mut ports = Ports::default();
        let forms = table.forms.iter().map(|form| ports.form(form)).collect();
        (ports, forms)
    }

    fn pair(
        &mut self,
        form: &Form,
        part: &str,
        file: usize,
        result: bool,
        class: Option<&str>,
    ) -> [u16; 2] {
        let mut of = [NONE; 2];
        for (upper, id) in of.iter_mut().enumerate() {
            let upper = upper > 0 && tells_cells_apart(&form.class) && file <= UR;
            let part = if upper { format!("{part}+1") } else { part.to_string() };
            let port = Port { unit: unit(form), part, file };
            *id = match result {
                true => self.results.id(port, of_result(&form.class, upper)),
                false => self.sources.id(port, class.unwrap_or(of_source(&form.class, upper))),
            };
        }
        of
    }

    fn form(&mut self, form: &Form) -> OfForm {
        let guard_file = file(form.guard).unwrap_or(0);
        let guard = Port { unit: "*".into(), part: "guard".into(), file: guard_file };
        let guard = self.sources.id(guard, "control");
        let mut slots = Vec::new();
        for (at, slot) in form.slots.iter().enumerate() {
            let result = at < form.defs as usize;
            let name = &slot.name;
            let none = [NONE; 2];
            let (main, uniform) = match &slot.kind {
                Kind::Reg { file: f, .. } => match file(f) {
                    Some(f) => (self.pair(form, name, f, result, None), none),
                    None => (none, none),
                },
                Kind::Desc { .. } => {
                    (self.pair(form, &format!("{name}.desc"), UR, false, Some("variable")), none)
                }
                Kind::Const { base, base_file, handle, .. } => {
                    let general = base.is_some() && *base_file == "R";
                    let uniform = handle.is_some() || (base.is_some() && *base_file == "UR");
                    let mut of = |part: &str, file, class| {
                        self.pair(form, &format!("{name}.{part}"), file, false, class)
                    };
                    (
                        if general { of("base", 0, None) } else { none },
                        if uniform { of("uniform", UR, Some("uldc")) } else { none },
                    )
                }
                Kind::Mem { base, uniform, .. } => {
                    let mut of = |part: &str, file| {
                        self.pair(form, &format!("{name}.{part}"), file, false, None)
                    };
                    (
                        if base.is_some() { of("base", 0) } else { none },
                        if uniform.is_some() { of("uniform", UR) } else { none },
                    )
                }
                _ => (none, none),
            };
            slots.push([main[0], main[1], uniform[0], uniform[1]]);
        }
        let masked = match form.opcode.as_str() {
            "R2P" | "UR2UP" => self.pair(form, "masked", guard_file, true, None)[0],
            // Seen as soon after a PLOP3 as an ALU reads its result, and sooner than another PLOP3
            // does.
            "P2R" => self.pair(form, "masked", guard_file, false, Some("alu"))[0],
            "UP2UR" => self.pair(form, "masked", guard_file, false, None)[0],
            _ => NONE,
        };
        OfForm { slots, guard, masked }
    }
}
