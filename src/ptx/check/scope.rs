//! Names in scope: the module, a function, and each `{ }` block inside it.

use crate::list::List;
use crate::ptx::ast::{Ident, Number};
use crate::ptx::diagnostics::MAX_ERRORS;
use crate::ptx::lexer;
use crate::ptx::program::{FuncId, LabelId, RegId, Register, VarId};
use crate::ptx::types::{Span, Type};
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::BuildHasher;
use std::num::{NonZeroU32, NonZeroU64};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entity {
    Reg(RegId),
    Var(VarId),
    Func(FuncId),
    Label(LabelId),
    BranchTargets(u32),
    CallTargets(u32),
    Prototype(u32),
    /// A declared register that nothing has used yet.
    Unused(RegShape),
}

/// How a register was declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RegShape {
    pub ty: Type,
    pub vector: u8,
}

/// What `name<8>` declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    Reg(RegShape),
    /// Variables like one of those that the checker keeps for it, by its number.
    Var(u32),
}

/// Names and what they mean. A name is the place in the text where it stands: a list of a million
/// registers, each a name of three letters, must not need many times its text.
#[derive(Debug)]
struct Names<V> {
    /// Numbers in `entries`, by the hash of the name.
    table: HashTable<u32>,
    entries: List<Named<V>>,
}

#[derive(Clone, Copy, Debug)]
struct Named<V> {
    /// Where the name begins.
    start: u32,
    meaning: V,
}

const _: () = assert!(size_of::<Named<Entity>>() == 12);

impl<V> Default for Names<V> {
    fn default() -> Names<V> {
        Names { table: HashTable::new(), entries: List::new() }
    }
}

/// The name that begins there.
fn name_at(source: &str, start: u32) -> &str {
    source.get(start as usize..lexer::end_of_name(source, start as usize)).unwrap_or("")
}

/// Whether it is this one.
fn is_at(source: &str, start: u32, name: &str) -> bool {
    let start = start as usize;
    let end = start + name.len();
    source.as_bytes().get(start..end) == Some(name.as_bytes())
        && lexer::end_of_name(source, end - 1) == end
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

impl<V: Copy> Names<V> {
    fn clear(&mut self) {
        self.table.clear();
        self.entries.clear();
    }

    fn get(&self, source: &str, name: &str) -> Option<V> {
        self.get_hashed(source, name, hash(name))
    }

    /// The same of who has the hash already.
    fn get_hashed(&self, source: &str, name: &str, hash: u64) -> Option<V> {
        self.entry(source, name, hash).map(|named| named.meaning)
    }

    fn entry(&self, source: &str, name: &str, hash: u64) -> Option<Named<V>> {
        if self.entries.is_empty() {
            return None;
        }
        let is = |i: &u32| is_at(source, self.entries[*i as usize].start, name);
        self.table.find(hash, is).map(|i| self.entries[*i as usize])
    }

    /// The number of a name's entry.
    fn place(&self, source: &str, name: &str) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let is = |i: &u32| is_at(source, self.entries[*i as usize].start, name);
        self.table.find(hash(name), is).copied()
    }

    /// Gives a name its meaning; the number of its entry, and the former meaning if it had one.
    fn insert(&mut self, source: &str, name: Ident<'_>, meaning: V) -> (u32, Option<V>) {
        let hash = hash(name.text);
        let entries = &mut self.entries;
        let is = |i: &u32| is_at(source, entries[*i as usize].start, name.text);
        if let Some(i) = self.table.find(hash, is).copied() {
            let old = std::mem::replace(&mut entries[i as usize].meaning, meaning);
            return (i, Some(old));
        }
        let new = entries.len() as u32;
        self.insert_new(source, name, hash, meaning);
        (new, None)
    }

    /// The same of a name that is not there.
    fn insert_new(&mut self, source: &str, name: Ident<'_>, hash: u64, meaning: V) {
        let Names { table, entries } = self;
        let number = entries.len() as u32;
        entries.push(Named { start: name.span.start, meaning });
        table.insert_unique(hash, number, |i| {
            self::hash(name_at(source, entries[*i as usize].start))
        });
    }
}

/// The register or variable with some number of a range, if it was used.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Place(Option<NonZeroU32>);

impl Place {
    /// None: it is too far from the first for a place. No text has so many.
    fn of(entity: Entity) -> Option<Place> {
        let (id, variable) = match entity {
            Entity::Reg(reg) => (reg.0, 0),
            Entity::Var(var) => (var.0, 1),
            _ => return None,
        };
        let id = id.checked_add(1)?.checked_mul(2)?;
        Some(Place(NonZeroU32::new(id | variable)))
    }

    fn entity(self) -> Option<Entity> {
        let place = self.0?.get();
        let id = place / 2 - 1;
        Some(if place % 2 == 0 { Entity::Reg(RegId(id)) } else { Entity::Var(VarId(id)) })
    }
}

#[derive(Default, Debug)]
struct Scope<'s> {
    names: Names<Entity>,
    /// `%r<8>`: the name before the number, and how many.
    ranges: Names<(Range, u32)>,
    /// How many names there were when the last range was declared: a range must not have one that
    /// was declared before it.
    before_range: usize,
    /// Those of each range that were used, by their numbers; `names` does not have them, but for
    /// numbers far beyond the others.
    numbered: Vec<Vec<Place>>,
    /// How many are in `numbered`.
    used: usize,
    /// Of how many places in `numbered` most may never be used.
    far: usize,
    /// The first uses of numbers that were far from the others then: they stay known where their
    /// range is declared again with fewer.
    far_names: Vec<(u32, Entity)>,
    /// Registers of ranges that were first met with zeros before their number: `%r01` is `%r1`.
    odd: FxHashMap<(&'s str, u32), Entity>,
    /// Some name that looks like one of a range is in `names` alone.
    alone: bool,
}

/// Places that the shortest text may have.
const FEW: usize = 1 << 10;

/// More prefixes than registers usually have.
const RECENT: usize = 12;

/// A range where names were found whose scope hides all others of its prefix.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// [`Number::letters`]
    prefix: NonZeroU64,
    scope: u32,
    range: u32,
}

/// The scopes that are open, innermost last; the first is the module's.
#[derive(Debug)]
pub(super) struct Scopes<'s> {
    source: &'s str,
    open: Vec<Scope<'s>>,
    /// Empty ones with room for some names, for the next to use.
    closed: Vec<Scope<'s>>,
    /// Those of the names that were looked for last: a declaration makes them old.
    recent: Vec<Recent>,
    /// Some range was declared twice in a scope.
    twice: bool,
    /// How many places for registers and variables there may still be of which most may never be
    /// used: fewer than bytes of the text.
    rest: usize,
}

impl<'s> Scopes<'s> {
    pub fn new(source: &'s str) -> Scopes<'s> {
        let rest = source.len() / 8 + FEW;
        let (closed, recent) = Default::default();
        Scopes { source, open: vec![Scope::default()], closed, recent, twice: false, rest }
    }

    pub fn enter(&mut self) {
        self.open.push(self.closed.pop().unwrap_or_default());
    }

    /// Closes the innermost scope; the module's stays. Gives what [`Scope::in_ranges`] does.
    pub fn leave(&mut self) -> Vec<(u32, String)> {
        let last = self.open.len() as u32 - 1;
        self.recent.retain(|recent| recent.scope < last);
        let source = self.source;
        let names = self.innermost().in_ranges(source);
        if self.open.len() > 1
            && let Some(mut scope) = self.open.pop()
        {
            self.rest += scope.far;
            if scope.names.entries.len() + scope.used + scope.ranges.entries.len() <= KEPT {
                scope.clear();
                self.closed.push(scope);
            }
        }
        names
    }

    fn innermost(&mut self) -> &mut Scope<'s> {
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    /// What the name means in the innermost scope alone.
    pub fn here(&self, name: &str) -> Option<Entity> {
        self.open.last().and_then(|scope| scope.names.get(self.source, name))
    }

    /// Gives a name its meaning in the innermost scope; a former meaning there is returned and
    /// replaced.
    pub fn define(&mut self, name: Ident<'s>, entity: Entity) -> Option<Entity> {
        let source = self.source;
        if let Some(Number { letters, .. }) = Number::of(name.text) {
            self.recent.retain(|recent| recent.prefix != letters);
            self.innermost().alone = true;
        }
        let scope = self.innermost();
        scope.names.insert(source, name, entity).1
    }

    /// Gives a register's or a variable's name its meaning in the innermost scope; false when it
    /// had one there, alone or of a range.
    pub fn define_variable(&mut self, name: Ident<'s>, entity: Entity) -> bool {
        let source = self.source;
        let scope = self.innermost();
        let mut of_range = false;
        if !scope.ranges.entries.is_empty()
            && let (prefix, Some(number)) = split_number(name.text)
        {
            let range = scope.ranges.get(source, prefix);
            of_range = range.is_some_and(|(_, count)| number < count);
        }
        self.define(name, entity).is_none() && !of_range
    }

    /// `%r<count>`; whether the innermost scope has such a range already. Who closes it is told of
    /// names that are of the range.
    pub fn define_range(&mut self, name: Ident<'s>, range: Range, count: u32) -> Option<String> {
        let source = self.source;
        let scope = self.innermost();
        scope.before_range = scope.names.entries.len();
        let (place, known) = scope.ranges.insert(source, name, (range, count));
        // Which names of a range that is declared twice are known is as it is found out.
        if known.is_some() {
            for (start, entity) in std::mem::take(&mut scope.far_names) {
                let text = name_at(source, start);
                let span = Span::new(start as usize, start as usize + text.len());
                scope.alone = true;
                scope.names.insert(source, Ident { text, span }, entity);
            }
            self.twice = true;
        }
        match Number::letters(name.text).filter(|_| !self.twice) {
            Some(prefix) => {
                self.recent.retain(|recent| recent.prefix != prefix);
                self.recently(prefix, self.open.len() - 1, place);
            }
            // Whose names are of another prefix: the last letters of `%r1<8>` are digits.
            None => self.recent.clear(),
        }
        known.map(|_| format!("{}<", name.text))
    }

    fn recently(&mut self, prefix: NonZeroU64, scope: usize, range: u32) {
        if self.recent.len() == RECENT {
            self.recent.clear();
        }
        self.recent.push(Recent { prefix, scope: scope as u32, range });
    }

    /// What most names are: the register of a range that was declared or looked for not long ago.
    /// None says nothing.
    #[inline]
    pub fn register(
        &mut self,
        Number { letters, number }: Number,
        name: Span,
        regs: &mut Vec<Register<'s>>,
    ) -> Option<RegId> {
        let recent = *self.recent.iter().find(|recent| recent.prefix == letters)?;
        match self.open.get(recent.scope as usize)?.at(recent.range, number) {
            Some(Entity::Reg(reg)) => Some(reg),
            Some(_) => None,
            None => self.first_use(recent, number, name, regs),
        }
    }

    #[inline(never)]
    fn first_use(
        &mut self,
        recent: Recent,
        number: u32,
        name: Span,
        regs: &mut Vec<Register<'s>>,
    ) -> Option<RegId> {
        let scope = self.open.get_mut(recent.scope as usize)?;
        let (range, count) = scope.ranges.entries[recent.range as usize].meaning;
        let Range::Reg(RegShape { ty, vector }) = range else { return None };
        if scope.alone || !scope.odd.is_empty() || number >= count {
            return None;
        }
        let reg = RegId(regs.len() as u32);
        if !scope.number(recent.range, number, name.start, Entity::Reg(reg), &mut self.rest) {
            return None;
        }
        let name = self.source.get(name.start as usize..name.end as usize)?;
        regs.push(Register { name, ty, vector: u32::from(vector) });
        Some(reg)
    }

    /// Looks from the innermost scope outwards. `new` makes registers, and variables of ranges, at
    /// their first use.
    pub fn lookup(
        &mut self,
        name: Ident<'s>,
        numbered: Option<Number>,
        mut new: impl FnMut(Ident<'s>, Range) -> Option<Entity>,
    ) -> Option<Entity> {
        let source = self.source;
        // Most are registers of ranges, with few letters.
        if let Some(Number { letters, number }) = numbered
            && let Some(recent) = self.recent.iter().find(|recent| recent.prefix == letters)
        {
            let scope = &mut self.open[recent.scope as usize];
            if let Some(entity) = scope.at(recent.range, number) {
                return Some(entity);
            }
            let (range, count) = scope.ranges.entries[recent.range as usize].meaning;
            if !scope.alone && scope.odd.is_empty() && number < count {
                let entity = new(name, range)?;
                if !scope.number(recent.range, number, name.span.start, entity, &mut self.rest) {
                    scope.alone = true;
                    scope.names.insert_new(source, name, hash(name.text), entity);
                }
                return Some(entity);
            }
        }
        let split = split_number(name.text);
        let hash = hash(name.text);
        // No scope farther in has names that look like those of a range.
        let mut hides = true;
        for (depth, scope) in self.open.iter_mut().enumerate().rev() {
            let first = hides;
            hides &= !scope.alone && scope.ranges.entries.is_empty();
            let found = scope.names.get_hashed(source, name.text, hash);
            if let Some(entity) = found
                && !matches!(entity, Entity::Unused(_))
            {
                return Some(entity);
            }
            // Most names are found, and most scopes have no ranges.
            if found.is_none() && scope.ranges.entries.is_empty() {
                continue;
            }
            let (prefix, number) = split;
            let shape = match found {
                Some(Entity::Unused(shape)) => Range::Reg(shape),
                _ => match (number, scope.ranges.get(source, prefix)) {
                    (Some(number), Some((shape, count))) if number < count => shape,
                    _ => continue,
                },
            };
            let number = number.unwrap_or(0);
            let plain = is_plain(name.text, prefix);
            let odd = || scope.odd.get(&(prefix, number)).copied();
            let known = match plain {
                true if scope.odd.is_empty() => scope.numbered(source, prefix, number),
                true => scope.numbered(source, prefix, number).or_else(odd),
                false => odd()
                    .or_else(|| scope.numbered(source, prefix, number))
                    .or_else(|| scope.names.get(source, &format!("{prefix}{number}"))),
            };
            let entity = known.or_else(|| new(name, shape))?;
            if !plain {
                scope.odd.insert((prefix, number), entity);
            }
            let range = scope.ranges.place(source, prefix);
            match (found, range) {
                (None, Some(range)) if plain && known.is_some() => {
                    // It was forgotten for others in between.
                    let is_whole = !scope.alone && scope.odd.is_empty() && !self.twice;
                    if let (true, Some(Number { letters, .. })) = (first && is_whole, numbered) {
                        self.recent.retain(|recent| recent.prefix != letters);
                        self.recently(letters, depth, range);
                    }
                }
                (Some(_), _) => drop(scope.names.insert(source, name, entity)),
                (None, Some(range))
                    if plain
                        && known.is_none()
                        && scope.number(range, number, name.span.start, entity, &mut self.rest) =>
                {
                    if let (true, Some(Number { letters, .. })) = (first, numbered) {
                        self.recently(letters, depth, range);
                    }
                }
                (None, _) => {
                    scope.alone = true;
                    scope.names.insert_new(source, name, hash, entity);
                }
            }
            return Some(entity);
        }
        None
    }

    /// A name in scope that the writer may have meant: same letters but for one.
    pub fn similar(&self, name: &str) -> Option<String> {
        let close = |known: &str| one_apart(known.as_bytes(), name.as_bytes());
        self.open.iter().rev().find_map(|scope| {
            let entries = scope.names.entries.iter();
            let names = entries.map(|named| name_at(self.source, named.start));
            let mut least = names.filter(|known| close(known)).min().map(str::to_string);
            let mut known = String::new();
            for (range, places) in scope.ranges.entries.iter().zip(&scope.numbered) {
                let prefix = name_at(self.source, range.start);
                for (number, place) in places.iter().enumerate() {
                    known.clear();
                    let written = place.0.map(|_| write!(known, "{prefix}{number}"));
                    if written.is_some()
                        && close(&known)
                        && least.as_ref().is_none_or(|least| known < *least)
                    {
                        least = Some(known.clone());
                    }
                }
            }
            least
        })
    }

    /// The count of the range that the name would belong to, were its number smaller.
    pub fn range_of(&self, name: &str) -> Option<u32> {
        let (prefix, number) = split_number(name);
        number?;
        let mut scopes = self.open.iter().rev();
        scopes.find_map(|scope| scope.ranges.get(self.source, prefix)).map(|(_, count)| count)
    }
}

impl Entity {
    /// A register or a variable.
    fn is_variable(self) -> bool {
        matches!(self, Entity::Reg(_) | Entity::Var(_) | Entity::Unused(_))
    }
}

/// Names of a scope whose memory is kept when it closes.
const KEPT: usize = 1 << 12;

impl Scope<'_> {
    /// Forgets all names; a range's list stays where it is, for one of another name.
    fn clear(&mut self) {
        self.names.clear();
        self.ranges.clear();
        self.before_range = 0;
        self.numbered.iter_mut().for_each(Vec::clear);
        (self.used, self.far) = (0, 0);
        self.far_names.clear();
        self.odd.clear();
        self.alone = false;
    }

    /// A register or variable of a range that was used before.
    fn numbered(&self, source: &str, prefix: &str, number: u32) -> Option<Entity> {
        if self.numbered.is_empty() {
            return None;
        }
        self.at(self.ranges.place(source, prefix)?, number)
    }

    /// The same by the number of its range.
    fn at(&self, range: u32, number: u32) -> Option<Entity> {
        self.numbered.get(range as usize)?.get(number as usize)?.entity()
    }

    /// Gives one that is used for the first time its place; false where its number is too far from
    /// the others: the list must not be longer than a few times the text.
    fn number(
        &mut self,
        range: u32,
        number: u32,
        start: u32,
        entity: Entity,
        rest: &mut usize,
    ) -> bool {
        const NEAR: usize = 4;
        let (range, number) = (range as usize, number as usize);
        let Some(place) = Place::of(entity) else { return false };
        let near = number <= NEAR * (self.names.entries.len() + self.used + NEAR);
        if self.numbered.len() <= range {
            self.numbered.resize(range + 1, Vec::new());
        }
        let places = &mut self.numbered[range];
        if places.len() <= number {
            let length = (number + 1).next_power_of_two().max(16);
            let more = length - places.len();
            if !near {
                let Some(left) = rest.checked_sub(more) else { return false };
                *rest = left;
                self.far += more;
            }
            places.resize(length, Place::default());
        }
        if !near {
            self.far_names.push((start, entity));
        }
        self.used += 1;
        places[number] = place;
        true
    }

    /// The ranges that have a name which was declared alone before: where each stands, and the
    /// least such name. Observed: ptxas 13.0.88 takes `%r05` for `%r5` behind `%r<8>`, not before
    /// it.
    fn in_ranges(&self, source: &str) -> Vec<(u32, String)> {
        let mut found: BTreeMap<u32, (u32, &str)> = BTreeMap::new();
        for named in self.names.entries.iter().take(self.before_range) {
            if !named.meaning.is_variable() {
                continue;
            }
            let name = name_at(source, named.start);
            let (prefix, number) = split_number(name);
            let Some(number) = number.filter(|_| is_plain(name, prefix)) else { continue };
            let Some(range) = self.ranges.entry(source, prefix, hash(prefix)) else { continue };
            if number >= range.meaning.1 || range.start < named.start || found.len() > MAX_ERRORS {
                continue;
            }
            let least = found.entry(range.start).or_insert((number, name));
            *least = (*least).min((number, name));
        }
        found.into_iter().map(|(at, (_, name))| (at, name.to_string())).collect()
    }
}

/// `%r12` is `%r` and 12.
fn split_number(name: &str) -> (&str, Option<u32>) {
    let bytes = name.as_bytes();
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (prefix, digits) = name.split_at(name.len() - digits);
    let mut number = (!digits.is_empty()).then_some(0u32);
    for digit in digits.bytes() {
        number = number.and_then(|n| n.checked_mul(10)?.checked_add(u32::from(digit - b'0')));
    }
    (prefix, number)
}

/// Whether the number behind the prefix has no needless zeros.
fn is_plain(name: &str, prefix: &str) -> bool {
    name.len() == prefix.len() + 1 || !name[prefix.len()..].starts_with('0')
}

/// Whether one replaced, added or removed letter makes one name the other.
pub(super) fn one_apart(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > 1 || long.len() < 3 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let skip = usize::from(short.len() == long.len());
    short.get(same + skip..).is_some_and(|rest| rest == &long[same + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::types::Span;

    const TEXT: &str = "%r %r0 %r1 %r2 %r3 %r01 %r02 %r5 %r05 %r7 %r8 %r9 a %r";

    /// The name where it stands in the text.
    fn name(text: &'static str) -> Ident<'static> {
        let places = TEXT.match_indices(text).map(|(at, _)| at);
        let at = places.into_iter().find(|at| name_at(TEXT, *at as u32) == text).unwrap();
        Ident { text, span: Span::new(at, at + text.len()) }
    }

    #[test]
    fn a_range_has_its_numbers_and_no_others() {
        let mut scopes = Scopes::new(TEXT);
        let shape = RegShape { ty: Type::B32, vector: 1 };
        scopes.define_range(name("%r"), Range::Reg(shape), 3);
        let mut next = 0;
        let mut find = |text| find(&mut scopes, &mut next, name(text));
        assert_eq!(find("%r2"), Some(Entity::Reg(RegId(1))));
        assert_eq!(find("%r2"), Some(Entity::Reg(RegId(1))));
        assert_eq!(find("%r0"), Some(Entity::Reg(RegId(2))));
        assert_eq!(find("%r3"), None);
        assert_eq!(find("%r02"), Some(Entity::Reg(RegId(1))));
        assert_eq!(find("%r01"), Some(Entity::Reg(RegId(3))));
        assert_eq!(find("%r1"), Some(Entity::Reg(RegId(3))));
        assert_eq!(find("%r"), None);
    }

    /// What a name means; a register that is new gets the next number.
    fn find<'s>(scopes: &mut Scopes<'s>, next: &mut u32, name: Ident<'s>) -> Option<Entity> {
        scopes.lookup(name, Number::of(name.text), |_, _| {
            *next += 1;
            Some(Entity::Reg(RegId(*next)))
        })
    }

    #[test]
    fn a_range_of_an_inner_scope_hides_the_registers_of_an_outer_one() {
        let mut scopes = Scopes::new(TEXT);
        let shape = RegShape { ty: Type::B32, vector: 1 };
        scopes.define_range(name("%r"), Range::Reg(shape), 8);
        let mut next = 0;
        let outer = find(&mut scopes, &mut next, name("%r5"));
        scopes.enter();
        assert_eq!(find(&mut scopes, &mut next, name("%r5")), outer);
        scopes.define_range(name("%r"), Range::Reg(shape), 8);
        let inner = find(&mut scopes, &mut next, name("%r5"));
        assert_ne!(inner, outer);
        assert_eq!(find(&mut scopes, &mut next, name("%r5")), inner);
        scopes.leave();
        assert_eq!(find(&mut scopes, &mut next, name("%r5")), outer);
    }

    #[test]
    fn a_number_far_from_the_others_is_found_again_too() {
        const FAR: &str = "%r %r0 %r70000 %r070000";
        let name = |text: &'static str| {
            let at = FAR.find(text).unwrap();
            Ident { text, span: Span::new(at, at + text.len()) }
        };
        let mut scopes = Scopes::new(FAR);
        let shape = RegShape { ty: Type::B32, vector: 1 };
        scopes.define_range(name("%r"), Range::Reg(shape), 100_000);
        let mut next = 0;
        let mut find = |text| find(&mut scopes, &mut next, name(text));
        let (far, near) = (find("%r70000"), find("%r0"));
        assert_ne!(far, near);
        assert_eq!([find("%r70000"), find("%r070000"), find("%r0")], [far, far, near]);
    }

    #[test]
    fn a_name_is_declared_once_alone_or_in_a_range() {
        let shape = RegShape { ty: Type::B32, vector: 1 };
        let last = TEXT.len() - 2;
        let last = Ident { text: "%r", span: Span::new(last, last + 2) };
        let range =
            |scopes: &mut Scopes<'static>, at| scopes.define_range(at, Range::Reg(shape), 8);
        let alone = |scopes: &mut Scopes<'static>, text| {
            scopes.define_variable(name(text), Entity::Unused(shape))
        };
        let mut scopes = Scopes::new(TEXT);
        scopes.enter();
        for text in ["%r9", "%r7", "%r5", "%r05"] {
            assert!(alone(&mut scopes, text));
        }
        assert_eq!(range(&mut scopes, last), None);
        assert_eq!(scopes.leave(), [(last.span.start, "%r5".to_string())]);
        scopes.enter();
        assert!(alone(&mut scopes, "%r9"));
        assert_eq!(range(&mut scopes, name("%r")), None);
        assert_eq!(range(&mut scopes, name("%r")).as_deref(), Some("%r<"));
        assert!(!alone(&mut scopes, "%r7") && !alone(&mut scopes, "%r05"));
        assert!(alone(&mut scopes, "%r8"));
        assert_eq!(scopes.leave(), []);
    }

    #[test]
    fn an_inner_scope_hides_and_gives_back() {
        let mut scopes = Scopes::new(TEXT);
        scopes.define(name("a"), Entity::Var(VarId(1)));
        scopes.enter();
        scopes.define(name("a"), Entity::Var(VarId(2)));
        assert_eq!(scopes.lookup(name("a"), None, |_, _| None), Some(Entity::Var(VarId(2))));
        scopes.leave();
        assert_eq!(scopes.lookup(name("a"), None, |_, _| None), Some(Entity::Var(VarId(1))));
    }

    #[test]
    fn names_one_letter_apart() {
        assert!(one_apart(b"%rd1", b"%rd2"));
        assert!(one_apart(b"LOOP", b"LOP"));
        assert!(!one_apart(b"LOOP", b"LP"));
        assert!(!one_apart(b"a", b"b"));
    }
}
