//! Finds the forms of one name: from those that are known outwards, word by word, until ptxas takes
//! nothing new.

use super::frame::{Oracle, REGISTERS, of_operands};
use super::probe::Known;
use super::statements::{shape, split};
use super::words::{Form, SEQUENCES, Words};
use crate::mutate::Random;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Words that are tried on every instruction, besides its own.
const FLAGS: &str = "ftz sat rn rz rm rp rni rzi approx relaxed acquire release acq_rel weak volatile mmio cta cluster gpu sys lo hi \
    wide cc v2 v4 v8 uni sync aligned L2::cache_hint L1::no_allocate L1::evict_last L2::128B L2::evict_last L2::evict_first noftz \
    satfinite relu NaN abs and or xor eq lt nc ca cg cs cv lu wb wt x sp";
const TYPES: &str = "s8 u8 b8 s16 u16 b16 s32 u32 b32 s64 u64 b64 b128 f16 f16x2 bf16 bf16x2 tf32 f32 f32x2 f64 pred e4m3x2 e5m2x2 \
    u16x2 s16x2 e4m3 e5m2 s4 u4 b1";
const SPACES: &str =
    "global shared shared::cta shared::cluster local const param param::entry param::func";

/// Operand lists that are tried on a form that is refused for its operands alone.
const NEAREST: usize = 8;

pub struct Miner<'a> {
    pub oracle: &'a Oracle<'a>,
    pub name: &'a str,
    pub words: &'a mut Words,
    /// Forms that are tried in one round.
    pub limit: usize,
    pub known: Known,
    tried: HashSet<Form>,
}

impl<'a> Miner<'a> {
    pub fn new(oracle: &'a Oracle<'a>, name: &'a str, words: &'a mut Words, limit: usize) -> Self {
        Miner { oracle, name, words, limit, known: Known::new(), tried: HashSet::new() }
    }

    /// Asks for forms with operands, and keeps what is taken; of the others those that only their
    /// operands may have spoilt, each with its last message.
    pub fn verify(
        &mut self,
        asked: Vec<(Form, Vec<String>)>,
    ) -> BTreeMap<Form, Vec<(Vec<String>, String)>> {
        let text = |(form, list): &(Form, Vec<String>)| {
            format!("{} {};", form.mnemonic(self.name, self.words), list.join(", "))
        };
        let statements: Vec<String> = asked.iter().map(text).collect();
        let mut spoilt: BTreeMap<Form, Vec<(Vec<String>, String)>> = BTreeMap::new();
        for ((form, list), messages) in asked.into_iter().zip(self.oracle.ask(&statements)) {
            self.tried.insert(form.clone());
            if messages.is_empty() {
                self.keep(form, list);
            } else if messages.iter().all(|m| of_operands(m)) {
                spoilt.entry(form).or_default().push((list, messages.concat()));
            }
        }
        spoilt.retain(|form, _| !self.known.contains_key(form));
        spoilt
    }

    fn keep(&mut self, form: Form, list: Vec<String>) {
        let shapes = |list: &[String]| list.iter().map(|o| shape(o)).collect::<Vec<_>>();
        let lists = self.known.entry(form).or_default();
        if !lists.iter().any(|other| shapes(other) == shapes(&list)) {
            lists.push(list);
        }
    }

    /// Tries the operands of similar forms, then other lengths of vectors.
    pub fn mend(&mut self, spoilt: BTreeMap<Form, Vec<(Vec<String>, String)>>) -> BTreeSet<Form> {
        let mut lists: HashMap<&Vec<String>, Vec<&Form>> = HashMap::new();
        for (form, all) in &self.known {
            for list in all {
                let forms = lists.entry(list).or_default();
                if forms.len() < 40 {
                    forms.push(form);
                }
            }
        }
        let mut all: Vec<(&Vec<String>, Vec<&Form>)> = lists.into_iter().collect();
        all.sort();
        let mut asked = Vec::new();
        for form in spoilt.keys() {
            let mut near: Vec<(usize, &Vec<String>)> = all
                .iter()
                .map(|(list, forms)| {
                    (forms.iter().map(|f| f.shared(form)).max().unwrap_or(0), *list)
                })
                .collect();
            near.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
            asked.extend(near.iter().take(NEAREST).map(|(_, list)| (form.clone(), list.to_vec())));
        }
        let lengths: BTreeSet<usize> = all
            .iter()
            .flat_map(|(list, _)| list.iter())
            .filter_map(|operand| shape(operand).strip_prefix('V').and_then(|n| n.parse().ok()))
            .collect();
        let still = self.verify(asked);
        let mut asked = Vec::new();
        for (form, tries) in &still {
            let of_length = tries.iter().filter(|(_, message)| message.contains("vector size"));
            for (list, _) in of_length.take(2) {
                for (i, operand) in list.iter().enumerate() {
                    let Some(first) = operand.strip_prefix('{') else { continue };
                    let ty = first.trim_start_matches('%').split('_').next().unwrap_or("b32");
                    let ty = if REGISTERS.contains(&ty) { ty } else { "b32" };
                    for length in &lengths {
                        let items: Vec<String> =
                            (0..*length).map(|n| format!("%{ty}_{}", 20 + n)).collect();
                        let mut list = list.clone();
                        list[i] = format!("{{{}}}", items.join(", "));
                        asked.push((form.clone(), list));
                    }
                }
            }
        }
        self.verify(asked).into_keys().collect()
    }

    /// Rounds of neighbours, until none is new.
    pub fn close(&mut self, rounds: usize, seed: u64) {
        let mut random = Random(seed | 1);
        let mut new: Vec<Form> = self.known.keys().cloned().collect();
        for round in 0..rounds {
            let mut asked: HashMap<Form, Vec<Vec<String>>> = HashMap::new();
            let sample = (new.len() * 150 / self.limit.max(1)).max(1);
            let vocabulary = Vocabulary::new(&self.known, self.words);
            for form in &new {
                let lists: Vec<Vec<String>> = self.known[form].iter().take(2).cloned().collect();
                for next in vocabulary.neighbours(form) {
                    if self.tried.contains(&next) || sample > 1 && random.below(sample) > 0 {
                        continue;
                    }
                    let some = asked.entry(next).or_default();
                    some.extend(
                        lists
                            .iter()
                            .filter(|l| !some.contains(l))
                            .take(2)
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                    some.truncate(3);
                }
            }
            // Types of one form with all else of another.
            let types: BTreeSet<&Vec<u16>> =
                self.known.keys().map(|form| &form.sequences[0]).collect();
            let rests: BTreeSet<(&[Vec<u16>], &Vec<u16>)> =
                self.known.keys().map(|form| (&form.sequences[1..], &form.flags)).collect();
            let by_types: HashMap<&Vec<u16>, &Vec<Vec<String>>> =
                self.known.iter().map(|(form, lists)| (&form.sequences[0], lists)).collect();
            let sample = (types.len() * rests.len() / self.limit.max(1)).max(1);
            for types in &types {
                for (sequences, flags) in &rests {
                    if sample > 1 && random.below(sample) > 0 {
                        continue;
                    }
                    let mut form = Form { flags: (*flags).clone(), ..Form::default() };
                    form.sequences[0] = (*types).clone();
                    form.sequences[1..].clone_from_slice(sequences);
                    if !self.tried.contains(&form) {
                        asked
                            .entry(form)
                            .or_insert_with(|| by_types[types].iter().take(1).cloned().collect());
                    }
                }
            }
            let mut list: Vec<(Form, Vec<String>)> = asked
                .into_iter()
                .flat_map(|(form, lists)| lists.into_iter().map(move |list| (form.clone(), list)))
                .collect();
            list.sort();
            let before: HashSet<Form> = self.known.keys().cloned().collect();
            let count = list.len();
            let spoilt = self.verify(list);
            let doubtful = spoilt.len();
            self.mend(spoilt);
            new = self.known.keys().filter(|form| !before.contains(form)).cloned().collect();
            eprintln!(
                "{} round {round}: {count} asked, {doubtful} doubtful, {} new",
                self.name,
                new.len()
            );
            if new.is_empty() {
                break;
            }
        }
    }

    /// Other numbers and kinds of operands: one more, one less, a second result; then what one form
    /// takes, on all that have its types and state space.
    pub fn alternatives(&mut self) {
        let mut asked = Vec::new();
        for (form, lists) in self.known.iter().take(self.limit) {
            let Some(list) = lists.first() else { continue };
            let mut put = |list: Vec<String>| asked.push((form.clone(), list));
            if let Some((_, fewer)) = list.split_last() {
                put(fewer.to_vec());
            }
            for more in ["%b64_9", "%pred_9", "!%pred_9", "1", "0", "%b32_9", "%f32_9"] {
                put(list.iter().cloned().chain([more.to_string()]).collect());
            }
            for last in ["!%pred_9", "_"] {
                let mut with = list.clone();
                if let Some(operand) = with.first_mut().filter(|o| shape(o) == "S") {
                    *operand =
                        if last == "_" { last.to_string() } else { format!("{operand}|%pred_8") };
                    put(with);
                }
            }
        }
        self.verify(asked);
        let mut shared: HashMap<[Vec<u16>; 2], Vec<Vec<String>>> = HashMap::new();
        let key = |form: &Form| [0, 2].map(|which| form.sequences[which].clone());
        let shapes = |list: &[String]| list.iter().map(|o| shape(o)).collect::<Vec<_>>();
        for (form, lists) in &self.known {
            let group = shared.entry(key(form)).or_default();
            for list in lists {
                if group.len() < 12 && !group.iter().any(|other| shapes(other) == shapes(list)) {
                    group.push(list.clone());
                }
            }
        }
        let mut asked = Vec::new();
        for (form, lists) in &self.known {
            for list in &shared[&key(form)] {
                if !lists.iter().any(|other| shapes(other) == shapes(list)) {
                    asked.push((form.clone(), list.clone()));
                }
            }
        }
        self.verify(asked);
    }
}

/// The words that stand in a name's forms, and those that are tried besides.
struct Vocabulary {
    own: [Vec<u16>; SEQUENCES + 1],
    all: [Vec<u16>; SEQUENCES + 1],
}

impl Vocabulary {
    fn new(known: &Known, words: &mut Words) -> Vocabulary {
        let mut own: [BTreeSet<u16>; SEQUENCES + 1] = Default::default();
        for form in known.keys() {
            for (set, sequence) in own.iter_mut().zip(&form.sequences) {
                set.extend(sequence);
            }
            own[SEQUENCES].extend(&form.flags);
        }
        let mut all = own.clone();
        for (set, text) in [(0, TYPES), (2, SPACES), (SEQUENCES, FLAGS)] {
            all[set].extend(text.split_whitespace().map(|word| words.number(word)));
        }
        let list = |set: BTreeSet<u16>| set.into_iter().collect();
        Vocabulary { own: own.map(list), all: all.map(list) }
    }

    /// Forms with one word more, less or other.
    fn neighbours(&self, form: &Form) -> Vec<Form> {
        let mut out = Vec::new();
        let mut put = |mut next: Form| {
            next.tidy();
            if next != *form {
                out.push(next);
            }
        };
        let changed = |change: &dyn Fn(&mut Form)| {
            let mut next = form.clone();
            change(&mut next);
            next
        };
        for i in 0..form.flags.len() {
            put(changed(&|next| {
                next.flags.remove(i);
            }));
            for word in &self.own[SEQUENCES] {
                put(changed(&|next| next.flags[i] = *word));
            }
        }
        for word in &self.all[SEQUENCES] {
            put(changed(&|next| next.flags.push(*word)));
        }
        for which in 0..SEQUENCES {
            for i in 0..form.sequences[which].len() {
                put(changed(&|next| {
                    next.sequences[which].remove(i);
                }));
                for word in &self.all[which] {
                    put(changed(&|next| next.sequences[which][i] = *word));
                }
            }
            if form.sequences[which].len() < 4 {
                for i in 0..=form.sequences[which].len() {
                    for word in &self.own[which] {
                        put(changed(&|next| next.sequences[which].insert(i, *word)));
                    }
                }
            }
        }
        out
    }
}

/// Operands as a list of the table describes them; with other numbers, others of its choices.
pub fn sample(list: &str, turn: usize) -> Vec<String> {
    const VALUES: [u32; 16] = [7, 12, 3, 10, 15, 16, 6, 11, 9, 13, 14, 8, 4, 5, 17, 0];
    let value = |set: u64, place: usize, rule: &str| -> String {
        let registers: Vec<u32> = VALUES.into_iter().filter(|bit| set >> bit & 1 != 0).collect();
        if let Some(bit) = registers.get(turn % registers.len().max(1)) {
            return format!("%{}_{}", REGISTERS[*bit as usize], 10 * place + 1);
        }
        if set >> 18 & 1 != 0 {
            let first = rule.split(['.', '|', '%']).next().unwrap_or("");
            let others = ["1", "0", "16", "64"];
            return if first.is_empty() { others[turn % others.len()] } else { first }.to_string();
        }
        let other = [
            (19, "0f3F800000"),
            (25, "!%pred_1"),
            (24, "_"),
            (36, "tx"),
            (37, "su"),
            (33, "L"),
            (34, "TT"),
            (35, "%b32_9.h0"),
        ];
        other.iter().find(|(bit, _)| set >> bit & 1 != 0).map_or("gl", |(_, text)| text).to_string()
    };
    let one = |(place, slot): (usize, &str)| -> String {
        let (kind, rest) = slot.split_at(1);
        let (rest, rule) = rest.split_once('@').unwrap_or((rest, ""));
        let set = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
        match kind {
            "S" => value(set(rest), place, rule),
            "A" => {
                let bases = [
                    (0, "[%b64_9]"),
                    (9, "[o]"),
                    (16, "[q]"),
                    (6, "[sh]"),
                    (5, "[gl]"),
                    (7, "[lv]"),
                    (8, "[cb]"),
                    (1, "[%b32_9]"),
                    (11, "[tx]"),
                ];
                let fit: Vec<&str> = bases
                    .iter()
                    .filter(|(bit, _)| set(rest) >> bit & 1 != 0)
                    .map(|b| b.1)
                    .collect();
                fit.get(turn % fit.len().max(1)).unwrap_or(&"[%b64_9]").to_string()
            }
            "V" => {
                let (count, elements) = rest.split_once(':').unwrap_or((rest, ""));
                let count = count.parse().unwrap_or(1);
                let register = value(set(elements), 0, "");
                let ty =
                    register.trim_start_matches('%').split('_').next().unwrap_or("b32").to_string();
                let ty = if REGISTERS.contains(&ty.as_str()) { ty } else { "b32".to_string() };
                let items: Vec<String> =
                    (0..count).map(|n| format!("%{ty}_{}", 20 * (place + 1) + n)).collect();
                format!("{{{}}}", items.join(", "))
            }
            "P" => {
                let first = value(set(rest) & 0xffff_ffff, place, "");
                format!("{first}|{}", value(set(rest) >> 32, place + 1, ""))
            }
            "L" => {
                let parts: Vec<String> = rest
                    .split(',')
                    .enumerate()
                    .map(|(n, part)| match part.strip_prefix('V') {
                        Some(count) => {
                            let count = count.parse().unwrap_or(1);
                            let ty = if turn.is_multiple_of(2) { "b32" } else { "b16" };
                            let items: Vec<String> =
                                (0..count).map(|n| format!("%{ty}_{}", 60 + n)).collect();
                            format!("{{{}}}", items.join(", "))
                        }
                        None => format!("%b64_{}", 70 + n),
                    })
                    .collect();
                format!("[{}]", parts.join(", "))
            }
            _ => slot.to_string(),
        }
    };
    list.split(' ').filter(|slot| !slot.is_empty()).enumerate().map(one).collect()
}

/// A statement's operands as a list.
pub fn list(operands: &str) -> Vec<String> {
    split(operands)
}
