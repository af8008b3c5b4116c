//! The table as text (`src/ptx/check/forms.tbl`): read into lines that stand by themselves, and
//! written with what they share numbered.

use super::words::{Form, SEQUENCES, Words};
use std::collections::{BTreeMap, HashMap};

/// What is known of a form: the first PTX version and SM, and the operands, spelled out: sets in
/// hexadecimal, `@` and the rule that constants obey. `S180@0..15 A2e1/S180`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Label {
    pub version: u32,
    pub sm: u32,
    pub operands: String,
}

/// Forms that share a label: a list of choices for each sequence, then for each modifier.
#[derive(Clone, Debug)]
pub struct Line {
    pub label: Label,
    pub fields: String,
}

pub struct Table {
    /// The comment at the beginning.
    header: Vec<String>,
    /// Lines `t`, `i`, `c`, `w` and `n`.
    words: Vec<String>,
    pub names: BTreeMap<String, Vec<Line>>,
}

/// Slots of operand lists, with what they refer to by number replaced by `with`.
fn slots(lists: &str, mut with: impl FnMut(char, &str) -> String) -> String {
    let one = |slot: &str| -> String {
        if slot.is_empty() {
            return String::new();
        }
        let (kind, rest) = slot.split_at(1);
        let (rest, rule) = match rest.split_once('@') {
            Some((rest, rule)) => (rest, format!("@{}", with('r', rule))),
            None => (rest, String::new()),
        };
        match (kind, rest.split_once(':')) {
            ("V", Some((count, set))) => format!("V{count}:{}{rule}", with('m', set)),
            ("S" | "A" | "P", _) => format!("{kind}{}{rule}", with('m', rest)),
            _ => slot.to_string(),
        }
    };
    let mut one = one;
    let lists =
        lists.split('/').map(|list| list.split(' ').map(&mut one).collect::<Vec<_>>().join(" "));
    lists.collect::<Vec<_>>().join("/")
}

impl Table {
    pub fn read(text: &str) -> Result<Table, String> {
        let mut table = Table { header: Vec::new(), words: Vec::new(), names: BTreeMap::new() };
        let (mut sets, mut rules, mut operands) = (Vec::new(), Vec::new(), Vec::new());
        let mut name = String::new();
        for line in text.lines() {
            let Some(rest) = line.get(1..) else { continue };
            match &line[..1] {
                "=" => {
                    name = rest.to_string();
                    table.names.insert(name.clone(), Vec::new());
                }
                "#" => table.header.push(line.to_string()),
                "m" if name.is_empty() => sets.push(rest),
                "r" if name.is_empty() => rules.push(rest),
                "o" if name.is_empty() => operands.push(rest),
                "t" | "i" | "c" | "w" | "n" if name.is_empty() => {
                    table.words.push(line.to_string())
                }
                _ => {
                    let mut parts = line.splitn(4, ' ');
                    let mut number =
                        || parts.next().and_then(|n| n.parse().ok()).ok_or(line.to_string());
                    let (version, sm, list) = (number()?, number()?, number()? as usize);
                    let lists = operands.get(list).ok_or(line.to_string())?;
                    let operands = slots(lists, |kind, number| {
                        let of = if kind == 'm' { &sets } else { &rules };
                        number
                            .parse::<usize>()
                            .ok()
                            .and_then(|n| of.get(n))
                            .unwrap_or(&"")
                            .to_string()
                    });
                    let fields = parts.next().unwrap_or("").to_string();
                    let label = Label { version, sm, operands };
                    table.names.entry(name.clone()).or_default().push(Line { label, fields });
                }
            }
        }
        Ok(table)
    }

    pub fn text(&self) -> String {
        let mut shared: [Numbered; 3] = Default::default();
        let mut body = String::new();
        for (name, lines) in &self.names {
            body += &format!("={name}\n");
            for Line { label, fields } in lines {
                let [sets, rules, operands] = &mut shared;
                let list = slots(&label.operands, |kind, text| {
                    let of = if kind == 'm' { &mut *sets } else { &mut *rules };
                    of.number(text).to_string()
                });
                let number = operands.number(&list);
                body += &format!("{} {} {number} {fields}\n", label.version, label.sm);
            }
        }
        let mut text = String::new();
        for line in &self.header {
            text += &format!("{line}\n");
        }
        for (kind, numbered) in ["m", "r", "o"].iter().zip(&shared) {
            for line in &numbered.list {
                text += &format!("{kind}{line}\n");
            }
        }
        for line in &self.words {
            text += &format!("{line}\n");
        }
        text + &body
    }
}

#[derive(Default)]
struct Numbered {
    list: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Numbered {
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.list.push(text.to_string());
        self.numbers.insert(text.to_string(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// All forms that a line stands for.
pub fn forms(fields: &str, words: &mut Words) -> Vec<Form> {
    let mut all = vec![Form::default()];
    for (number, field) in fields.split(' ').enumerate() {
        let choices: Vec<Vec<u16>> = field
            .split('|')
            .map(|choice| match choice {
                "-" => Vec::new(),
                _ if number < SEQUENCES => choice.split('.').map(|w| words.number(w)).collect(),
                _ => vec![words.number(choice)],
            })
            .collect();
        let with = |form: &Form, choice: &Vec<u16>| {
            let mut form = form.clone();
            match form.sequences.get_mut(number) {
                Some(sequence) => sequence.clone_from(choice),
                None => form.flags.extend(choice),
            }
            form
        };
        all = all.iter().flat_map(|form| choices.iter().map(move |c| with(form, c))).collect();
    }
    for form in &mut all {
        form.tidy();
    }
    all
}

/// A point of the space that forms span: for each dimension the number of its value.
type Point = Vec<u16>;

/// Few lines that stand for exactly these forms.
///
/// Dimensions are the sequences, then sets of modifiers that never stand together. A line begins as
/// one form and grows by every value with which all that it then stands for are forms of the same
/// label.
pub fn fit(forms: &BTreeMap<Form, Label>, words: &Words) -> Vec<Line> {
    let exclusive = exclusive(forms);
    let dimensions = SEQUENCES + exclusive.len();
    let mut values: Vec<Vec<Vec<u16>>> = vec![Vec::new(); dimensions];
    let mut points: HashMap<Point, &Label> = HashMap::new();
    let mut order = Vec::new();
    for (form, label) in forms {
        let mut point = Vec::with_capacity(dimensions);
        let flags = exclusive.iter().map(|set| {
            form.flags.iter().copied().filter(|flag| set.contains(flag)).collect::<Vec<u16>>()
        });
        for (value, known) in form.sequences.iter().cloned().chain(flags).zip(&mut values) {
            let number = known.iter().position(|v| *v == value).unwrap_or_else(|| {
                known.push(value);
                known.len() - 1
            });
            point.push(number as u16);
        }
        points.insert(point.clone(), label);
        order.push(point);
    }
    let mut left: std::collections::HashSet<&Point> = order.iter().collect();
    let mut lines = Vec::new();
    for first in &order {
        if !left.contains(first) {
            continue;
        }
        let label = points[first];
        let fits = |point: &Point| points.get(point).is_some_and(|l| *l == label);
        // The dimensions in several orders: what grows first bars others.
        let boxes = (0..dimensions.min(8)).map(|turn| grow(first, turn, &values, &fits));
        let gain = |ranges: &Vec<Vec<u16>>| {
            product(ranges).iter().filter(|point| left.contains(point)).count()
        };
        let Some(best) = boxes.max_by_key(gain) else { continue };
        for point in product(&best) {
            left.remove(&point);
        }
        let text = |value: &Vec<u16>| match value.as_slice() {
            [] => "-".to_string(),
            list => list.iter().map(|w| words.text(*w)).collect::<Vec<_>>().join("."),
        };
        let field = |(range, known): (&Vec<u16>, &Vec<Vec<u16>>)| {
            let mut choices: Vec<String> =
                range.iter().map(|value| text(&known[usize::from(*value)])).collect();
            choices.sort();
            choices.join("|")
        };
        let mut fields: Vec<String> = best.iter().zip(&values).map(field).collect();
        let mut at = 0;
        fields.retain(|field| {
            at += 1;
            at <= SEQUENCES || field != "-"
        });
        lines.push(Line { label: label.clone(), fields: fields.join(" ") });
    }
    lines.sort_by(|a, b| (&a.fields, &a.label).cmp(&(&b.fields, &b.label)));
    lines
}

/// Modifiers in sets of which at most one stands in any form; frequent ones first.
fn exclusive(forms: &BTreeMap<Form, Label>) -> Vec<Vec<u16>> {
    let mut count: BTreeMap<u16, usize> = BTreeMap::new();
    let mut together = std::collections::HashSet::new();
    for form in forms.keys() {
        for a in &form.flags {
            *count.entry(*a).or_default() += 1;
            together.extend(form.flags.iter().map(|b| (*a, *b)));
        }
    }
    let mut flags: Vec<u16> = count.keys().copied().collect();
    flags.sort_by_key(|flag| std::cmp::Reverse(count[flag]));
    let mut sets: Vec<Vec<u16>> = Vec::new();
    for flag in flags {
        let apart =
            |set: &&mut Vec<u16>| set.iter().all(|other| !together.contains(&(flag, *other)));
        match sets.iter_mut().find(apart) {
            Some(set) => set.push(flag),
            None => sets.push(vec![flag]),
        }
    }
    sets
}

/// Lines that stand for more are not made.
const MOST: usize = 20_000;

fn grow(
    first: &Point,
    turn: usize,
    values: &[Vec<Vec<u16>>],
    fits: &dyn Fn(&Point) -> bool,
) -> Vec<Vec<u16>> {
    let mut ranges: Vec<Vec<u16>> = first.iter().map(|value| vec![*value]).collect();
    for step in 0..values.len() {
        let dimension = (step + turn * values.len() / 8) % values.len();
        for value in 0..values[dimension].len() as u16 {
            if ranges[dimension].contains(&value) {
                continue;
            }
            let others = std::mem::replace(&mut ranges[dimension], vec![value]);
            let size: usize = ranges.iter().map(Vec::len).product();
            let good = size <= MOST && product(&ranges).iter().all(fits);
            ranges[dimension] = others;
            if good {
                ranges[dimension].push(value);
            }
        }
    }
    ranges
}

fn product(ranges: &[Vec<u16>]) -> Vec<Point> {
    let mut all: Vec<Point> = vec![Vec::with_capacity(ranges.len())];
    for range in ranges {
        if let [only] = range.as_slice() {
            all.iter_mut().for_each(|point| point.push(*only));
            continue;
        }
        let with = |point: &Point, value: u16| {
            let mut point = point.clone();
            point.push(value);
            point
        };
        all = all.iter().flat_map(|p| range.iter().map(move |value| with(p, *value))).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_as_it_was() {
        let text = "# header\nm80\nm40380\nr0..15\noS0 S1@0\noA0/S1\ntsat\nccall\nwcommit\n=add\n0 0 0 s32|u32 - - - - -|sat\n63 70 1 f32 - - - -\n";
        assert_eq!(Table::read(text).unwrap().text(), text);
    }

    #[test]
    fn lines_stand_for_their_forms_and_no_others() {
        let mut words = Words::default();
        let label = |operands: &str| Label { version: 0, sm: 0, operands: operands.to_string() };
        let mut forms_of = |text: &str| forms(text, &mut words);
        let mut all = BTreeMap::new();
        for form in forms_of("f32|f64 - - - - rn|rz ftz|-") {
            all.insert(form, label("A"));
        }
        for form in forms_of("f16 - - - - rn sat") {
            all.insert(form, label("A"));
        }
        for form in forms_of("u32 - global|- - - v2") {
            all.insert(form, label("B"));
        }
        let lines = fit(&all, &words);
        assert_eq!(lines.len(), 3);
        let mut again = BTreeMap::new();
        for line in &lines {
            for form in forms(&line.fields, &mut words) {
                assert!(again.insert(form, line.label.clone()).is_none());
            }
        }
        assert_eq!(again, all);
    }
}
