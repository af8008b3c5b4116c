//! PTX that exercises ptxas: every instruction × type × modifier, and for each the operand shapes
//! and surroundings that make ptxas choose different SASS forms.
//!
//! The families below are tables; [`template`] multiplies them out, [`operand`] says what may stand
//! in a slot, [`frame`] makes a kernel of each. What a target has is not said here: [`accept`] asks
//! ptxas and drops what it rejects, so the list of accepted instructions of a target is computed.
//! The same tables always give the same text.

pub mod accept;
mod frame;
mod operand;
mod template;

mod families;

pub use template::mnemonics;

use frame::{Choice, Context, Frame};
use operand::{Class, Kind, Shape};
use template::{Piece, expand, pieces};

/// One kernel of the generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The family's name.
    pub group: &'static str,
    /// Unique in the group.
    pub name: String,
    /// The whole `.entry`, with its name.
    pub ptx: String,
    /// The instruction under test, its slots unfilled; several where one needs company.
    pub instruction: String,
    /// The module must say `texmode_independent`.
    pub independent: bool,
    /// What the group's modules declare besides the variables.
    pub declarations: &'static str,
}

/// How many kernels a row becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// As `Each`, and all pairs of the shapes of two operands that lead to different forms.
    Pairs,
    /// Every shape of every operand while the others are plain, and every surrounding.
    Each,
    /// Four kernels, whose shapes and surroundings turn from form to form.
    Few,
    /// One kernel, whose shapes and surroundings turn from form to form.
    Turn,
}

/// One line of a family's table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub form: &'static str,
    pub plan: Plan,
}

/// A row of which all pairs of operand shapes are made.
pub const fn pairs(form: &'static str) -> Row {
    Row { form, plan: Plan::Pairs }
}

/// A row of which each operand shape is made once.
pub const fn each(form: &'static str) -> Row {
    Row { form, plan: Plan::Each }
}

/// A row of which each form is made four times.
pub const fn few(form: &'static str) -> Row {
    Row { form, plan: Plan::Few }
}

/// A row of which each form is made once.
pub const fn turn(form: &'static str) -> Row {
    Row { form, plan: Plan::Turn }
}

/// A table of instructions that belong together.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    pub rows: &'static [Row],
    /// Kernels written out, in the form that [`written`] reads.
    pub text: &'static str,
    /// Textures and samplers are apart.
    pub independent: bool,
}

impl Family {
    pub const fn rows(name: &'static str, rows: &'static [Row]) -> Family {
        Family { name, rows, text: "", independent: false }
    }

    pub const fn text(name: &'static str, text: &'static str) -> Family {
        Family { name, rows: &[], text, independent: false }
    }
}

/// Every kernel of every family, accepted by a target or not, in a fixed order.
pub fn kernels() -> Vec<Kernel> {
    families::ALL.iter().flat_map(family).collect()
}

/// About sixty kernels of each family, evenly spread over it: what the ordinary tests compile.
pub fn short() -> Vec<Kernel> {
    families::ALL.iter().flat_map(|f| f.short()).collect()
}

impl Family {
    fn short(&self) -> Vec<Kernel> {
        let all = family(self);
        let step = (all.len() / 60).max(1);
        all.into_iter().step_by(step).collect()
    }
}

fn family(family: &Family) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    let mut turn = 0;
    for row in family.rows {
        for form in expand(row.form) {
            row_kernels(family, row.plan, &form, &mut turn, &mut kernels);
        }
    }
    kernels.extend(written(family));
    kernels
}

fn row_kernels(
    family: &Family,
    plan: Plan,
    form: &str,
    turn: &mut usize,
    kernels: &mut Vec<Kernel>,
) {
    // `{.attr} statement`: a directive of the kernel.
    let (attributes, statement) = match form.strip_prefix('{').and_then(|f| f.split_once('}')) {
        Some((attributes, statement)) if attributes.starts_with('.') => {
            (attributes, statement.trim())
        }
        _ => ("", form),
    };
    let statement = format!("{};", statement.trim_end_matches(';'));
    let pieces = pieces(&statement);
    let single = statement.matches(';').count() == 1;
    for choice in choices(plan, &pieces, single, turn) {
        let mut frame = Frame::default();
        let text = frame.fill(&pieces, &choice, plan != Plan::Turn);
        let name = format!("{}_{}", identifier(&longest(&statement)), kernels.len());
        let ptx = frame.kernel(&name, attributes, &text, choice.context);
        kernels.push(Kernel {
            group: family.name,
            name,
            ptx,
            instruction: statement.clone(),
            independent: family.independent,
            declarations: "",
        });
    }
}

/// The operands and surroundings that the kernels of one form have.
fn choices(plan: Plan, pieces: &[Piece], single: bool, turn: &mut usize) -> Vec<Choice> {
    let inputs: Vec<&'static [Shape]> = pieces
        .iter()
        .filter_map(|p| if let Piece::Input(ty, _) = p { Some(ty.shapes()) } else { None })
        .collect();
    let spaces: Vec<&'static [operand::Address]> = pieces
        .iter()
        .filter_map(|p| if let Piece::Address(space) = p { Some(space.addresses()) } else { None })
        .collect();
    let plain = Choice {
        shapes: vec![Shape::Reg; inputs.len()],
        addresses: spaces.iter().map(|s| s[0]).collect(),
        context: Context::Plain,
    };
    if matches!(plan, Plan::Few | Plan::Turn) {
        let count = if plan == Plan::Few { 4 } else { 1 };
        let numbers = *turn..*turn + count;
        *turn += count;
        return numbers.map(|n| turned(n, &plain, &inputs, &spaces, single)).collect();
    }
    let mut all = vec![plain.clone()];
    let with = |shapes: Vec<Shape>, context| Choice { shapes, context, ..plain.clone() };
    for (slot, shapes) in inputs.iter().enumerate() {
        for shape in &shapes[1..] {
            let mut chosen = plain.shapes.clone();
            chosen[slot] = *shape;
            all.push(with(chosen.clone(), Context::Plain));
            if plan == Plan::Pairs && shape.has_pairs() {
                for (other, others) in inputs.iter().enumerate().skip(slot + 1) {
                    for second in others.iter().filter(|s| s.has_pairs()) {
                        chosen[other] = *second;
                        all.push(with(chosen.clone(), Context::Plain));
                    }
                    chosen[other] = Shape::Reg;
                }
            }
        }
    }
    for (slot, addresses) in spaces.iter().enumerate() {
        for address in &addresses[1..] {
            let mut chosen = plain.clone();
            chosen.addresses[slot] = *address;
            all.push(chosen);
        }
    }
    all.extend(surroundings(single).iter().map(|context| with(plain.shapes.clone(), *context)));
    if has_register_inputs(pieces) {
        use Context::{LoopUniform, Plain, ResultAddress, ResultBranch};
        for (shape, context) in [
            (Shape::Uniform, Plain),
            (Shape::Uniform, ResultAddress),
            (Shape::Uniform, ResultBranch),
            (Shape::Param, ResultAddress),
            (Shape::Param, ResultBranch),
            (Shape::Param, LoopUniform),
            (Shape::Bank, ResultAddress),
        ] {
            let one = |list: &&[Shape]| if list.contains(&shape) { shape } else { Shape::Reg };
            all.push(with(inputs.iter().map(one).collect(), context));
        }
        let mixed = |shapes: &[Shape; 3]| -> Vec<Shape> {
            let of = |n: usize, list: &&[Shape]| {
                *list.iter().find(|s| **s == shapes[n % 3]).unwrap_or(&Shape::Reg)
            };
            inputs.iter().enumerate().map(|(n, list)| of(n, list)).collect()
        };
        all.push(with(mixed(&[Shape::Uniform, Shape::Param, Shape::Bank]), Context::ResultAddress));
        all.push(with(
            mixed(&[Shape::Param, Shape::Uniform, Shape::Uniform]),
            Context::ResultAddress,
        ));
        all.push(with(mixed(&[Shape::Param, Shape::Uniform, Shape::Param]), Context::ResultBranch));
    }
    all
}

fn has_register_inputs(pieces: &[Piece]) -> bool {
    pieces.iter().any(
        |p| matches!(p, Piece::Input(ty, _) if ty.class != Class::Pred || ty.kind == Kind::Pred),
    )
}

/// A guard fits a single statement only.
fn surroundings(single: bool) -> &'static [Context] {
    use Context::*;
    match single {
        true => &[Guard(false), Guard(true), GuardUniform, Loop, LoopUniform],
        false => &[Loop, LoopUniform],
    }
}

/// The n-th kernel of those that turn: one operand, one address or the surroundings differ from the
/// plain ones.
fn turned(
    n: usize,
    plain: &Choice,
    inputs: &[&'static [Shape]],
    spaces: &[&'static [operand::Address]],
    single: bool,
) -> Choice {
    let mut choice = plain.clone();
    // A literal as the only input would be computed away.
    let literal_fits = inputs.len() + spaces.len() > 1;
    if !inputs.is_empty() && !n.is_multiple_of(4) {
        let slot = n % inputs.len();
        let shape = inputs[slot][(n / inputs.len()) % inputs[slot].len()];
        if literal_fits || !shape.is_literal() {
            choice.shapes[slot] = shape;
        }
    }
    for (slot, addresses) in spaces.iter().enumerate() {
        choice.addresses[slot] = addresses[(n + slot) % addresses.len()];
    }
    if n % 5 == 4 {
        let all = surroundings(single);
        choice.context = all[(n / 5) % all.len()];
    }
    choice
}

/// The mnemonic that says most of a row of several statements.
fn longest(statement: &str) -> String {
    mnemonics(statement).into_iter().max_by_key(String::len).unwrap_or_default()
}

fn identifier(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The kernels that a family writes out.
///
/// `//: NAME [ATTRIBUTES]` begins one; what stands before the first is declared in front of the
/// module. Choices are multiplied out in name and body.
fn written(family: &Family) -> Vec<Kernel> {
    let text = family.text;
    let mut parts = text.split("//:");
    let declarations = parts.next().unwrap_or_default();
    let mut kernels = Vec::new();
    for part in parts {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let (name, attributes) = head.trim().split_once(' ').unwrap_or((head.trim(), ""));
        let body: Vec<&str> =
            body.lines().map(|l| l.split("//").next().unwrap_or_default()).collect();
        for (n, text) in expand(&body.join("\n")).into_iter().enumerate() {
            let name = format!("{name}_{n}");
            kernels.push(Kernel {
                group: family.name,
                ptx: frame::written(&name, attributes, text.trim_end()),
                name,
                instruction: text.trim().to_string(),
                independent: family.independent,
                declarations,
            });
        }
    }
    kernels
}

/// A PTX file with many kernels.
#[derive(Debug, Clone)]
pub struct Module {
    /// Group and number: `integer_03`, and the options' name: `integer_03.O0`.
    pub name: String,
    pub target: String,
    pub kernels: Vec<Kernel>,
    /// What ptxas is told besides the target.
    pub options: Vec<&'static str>,
}

/// Kernels in a module: enough that ptxas's start does not count, few enough that one stubborn
/// kernel costs little.
const KERNELS: usize = 250;

/// Ways to compile that lead to other code, beside the default: name and options.
const WAYS: [(&str, &[&str]); 6] = [
    ("O0", &["-O0"]),
    ("O1", &["-O1"]),
    ("debug", &["-g"]),
    ("no-fmad", &["--fmad=false"]),
    ("regs24", &["-maxrregcount=24"]),
    ("relocatable", &["-c"]),
];

/// All modules of a target: every kernel with the default options, and the short selection in all
/// the other ways.
pub fn modules(target: &str) -> Vec<Module> {
    let mut modules = pack(target, kernels(), "", &[]);
    for (name, options) in WAYS {
        modules.extend(pack(target, short(), name, options));
    }
    modules
}

/// The short selection of a target, with the default options.
pub fn short_modules(target: &str) -> Vec<Module> {
    pack(target, short(), "", &[])
}

fn pack(target: &str, kernels: Vec<Kernel>, way: &str, options: &[&'static str]) -> Vec<Module> {
    let same = |a: &Kernel, b: &Kernel| a.group == b.group && a.declarations == b.declarations;
    let suffix = if way.is_empty() { String::new() } else { format!(".{way}") };
    kernels
        .chunk_by(same)
        .flat_map(|group| group.chunks(KERNELS).enumerate())
        .map(|(n, chunk)| Module {
            name: format!("{}_{n:02}{suffix}", chunk[0].group),
            target: target.to_string(),
            kernels: chunk.to_vec(),
            options: options.to_vec(),
        })
        .collect()
}

impl Module {
    /// The PTX file, and for each kernel the number of its first line, from 1.
    pub fn text(&self) -> (String, Vec<usize>) {
        let independent = self.kernels.iter().any(|k| k.independent);
        let (mode, sampler) =
            if independent { (", texmode_independent", frame::SAMPLER) } else { ("", "") };
        let declarations = self.kernels.first().map_or("", |k| k.declarations);
        let mut text = format!(
            ".version 9.0\n.target {}{mode}\n.address_size 64\n{}{sampler}{declarations}",
            self.target,
            frame::VARIABLES
        );
        let mut line = text.lines().count() + 1;
        let mut starts = Vec::new();
        for kernel in &self.kernels {
            starts.push(line);
            line += kernel.ptx.lines().count();
            text.push_str(&kernel.ptx);
        }
        (text, starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn each_kernel_has_a_name_of_its_own_in_its_group() {
        let mut groups: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for kernel in kernels() {
            let new = groups.entry(kernel.group).or_default().insert(kernel.name.clone());
            assert!(new, "{} twice in {}", kernel.name, kernel.group);
        }
    }

    #[test]
    fn the_tables_always_give_the_same_text() {
        assert_eq!(kernels(), kernels());
    }
}
