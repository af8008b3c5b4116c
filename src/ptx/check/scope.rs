//! Names in scope: the module, a function, and each `{ }` block inside it.

use crate::ptx::program::{FuncId, LabelId, RegId, VarId};
use crate::ptx::types::Type;
use rustc_hash::FxHashMap;

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
    pub vector: u32,
}

/// What `name<8>` declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    Reg(RegShape),
    /// Variables like one of those that the checker keeps for it, by its number.
    Var(u32),
}

#[derive(Default, Debug)]
struct Scope<'s> {
    names: FxHashMap<&'s str, Entity>,
    /// `%r<8>`: the name before the number, and how many.
    ranges: FxHashMap<&'s str, (Range, u32)>,
    /// `%r5` alone: the name before the number, and the least such number. A range must not have it too.
    numbered: FxHashMap<&'s str, u32>,
    /// Registers of ranges that were first met with zeros before their number: `%r01` is `%r1`.
    odd: FxHashMap<(&'s str, u32), Entity>,
}

/// The scopes that are open, innermost last; the first is the module's.
#[derive(Debug)]
pub(super) struct Scopes<'s> {
    open: Vec<Scope<'s>>,
}

impl<'s> Scopes<'s> {
    pub fn new() -> Scopes<'s> {
        Scopes { open: vec![Scope::default()] }
    }

    pub fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    /// Closes the innermost scope; the module's stays.
    pub fn leave(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    fn innermost(&mut self) -> &mut Scope<'s> {
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    /// What the name means in the innermost scope alone.
    pub fn here(&self, name: &str) -> Option<Entity> {
        self.open.last().and_then(|scope| scope.names.get(name)).copied()
    }

    /// Gives a name its meaning in the innermost scope; a former meaning there is returned and replaced.
    pub fn define(&mut self, name: &'s str, entity: Entity) -> Option<Entity> {
        self.innermost().names.insert(name, entity)
    }

    /// Gives a register's or a variable's name its meaning in the innermost scope; false when it had one there, alone or of a
    /// range.
    pub fn define_variable(&mut self, name: &'s str, entity: Entity) -> bool {
        let scope = self.innermost();
        let mut of_range = false;
        if let (prefix, Some(number)) = split_number(name) {
            of_range = scope.ranges.get(prefix).is_some_and(|(_, count)| number < *count);
            // Observed: ptxas 13.0.88 takes `%r05` for `%r5` behind `%r<8>`, not before it.
            if is_plain(name, prefix) {
                let least = scope.numbered.entry(prefix).or_insert(number);
                *least = number.min(*least);
            }
        }
        self.define(name, entity).is_none() && !of_range
    }

    /// `%r<count>`; what the innermost scope already has of it: such a range, or one of its names.
    pub fn define_range(&mut self, prefix: &'s str, range: Range, count: u32) -> Option<String> {
        let scope = self.innermost();
        if scope.ranges.insert(prefix, (range, count)).is_some() {
            return Some(format!("{prefix}<"));
        }
        let known = scope.numbered.get(prefix).filter(|least| **least < count);
        known.map(|number| format!("{prefix}{number}"))
    }

    /// Looks from the innermost scope outwards. `new` makes registers, and variables of ranges, at their first use.
    pub fn lookup(
        &mut self,
        name: &'s str,
        mut new: impl FnMut(&'s str, Range) -> Option<Entity>,
    ) -> Option<Entity> {
        let (prefix, number) = split_number(name);
        for scope in self.open.iter_mut().rev() {
            let shape = match scope.names.get(name) {
                Some(Entity::Unused(shape)) => Range::Reg(*shape),
                Some(entity) => return Some(*entity),
                None => match (number, scope.ranges.get(prefix)) {
                    (Some(number), Some((shape, count))) if number < *count => *shape,
                    _ => continue,
                },
            };
            let number = number.unwrap_or(0);
            let plain = is_plain(name, prefix);
            let known = match plain {
                true if scope.odd.is_empty() => None,
                true => scope.odd.get(&(prefix, number)).copied(),
                false => scope
                    .odd
                    .get(&(prefix, number))
                    .or_else(|| scope.names.get(format!("{prefix}{number}").as_str()))
                    .copied(),
            };
            let entity = known.or_else(|| new(name, shape))?;
            if !plain {
                scope.odd.insert((prefix, number), entity);
            }
            scope.names.insert(name, entity);
            return Some(entity);
        }
        None
    }

    /// A name in scope that the writer may have meant: same letters but for one.
    pub fn similar(&self, name: &str) -> Option<&'s str> {
        let close = |known: &&&str| one_apart(known.as_bytes(), name.as_bytes());
        self.open.iter().rev().find_map(|scope| {
            let mut names: Vec<&&'s str> = scope.names.keys().filter(|k| close(k)).collect();
            names.sort_unstable();
            names.first().map(|name| **name)
        })
    }

    /// The count of the range that the name would belong to, were its number smaller.
    pub fn range_of(&self, name: &str) -> Option<u32> {
        let (prefix, number) = split_number(name);
        number?;
        self.open.iter().rev().find_map(|scope| scope.ranges.get(prefix)).map(|(_, count)| *count)
    }
}

/// `%r12` is `%r` and 12.
fn split_number(name: &str) -> (&str, Option<u32>) {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (prefix, name[prefix.len()..].parse().ok())
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

    #[test]
    fn a_range_has_its_numbers_and_no_others() {
        let mut scopes = Scopes::new();
        let shape = RegShape { ty: Type::B32, vector: 1 };
        scopes.define_range("%r", Range::Reg(shape), 3);
        let mut next = 0;
        let mut find = |name| {
            scopes.lookup(name, |_, _| {
                next += 1;
                Some(Entity::Reg(RegId(next)))
            })
        };
        assert_eq!(find("%r2"), Some(Entity::Reg(RegId(1))));
        assert_eq!(find("%r2"), Some(Entity::Reg(RegId(1))));
        assert_eq!(find("%r0"), Some(Entity::Reg(RegId(2))));
        assert_eq!(find("%r3"), None);
        assert_eq!(find("%r02"), Some(Entity::Reg(RegId(1))));
        assert_eq!(find("%r01"), Some(Entity::Reg(RegId(3))));
        assert_eq!(find("%r1"), Some(Entity::Reg(RegId(3))));
        assert_eq!(find("%r"), None);
    }

    #[test]
    fn a_name_is_declared_once_alone_or_in_a_range() {
        let shape = RegShape { ty: Type::B32, vector: 1 };
        let range = |scopes: &mut Scopes<'static>| {
            scopes.define_range("%r", Range::Reg(shape), 8).map(|name| name.to_string())
        };
        let alone = |scopes: &mut Scopes<'static>, name| {
            scopes.define_variable(name, Entity::Unused(shape))
        };
        let mut scopes = Scopes::new();
        assert!(alone(&mut scopes, "%r5") && alone(&mut scopes, "%r9"));
        assert_eq!(range(&mut scopes).as_deref(), Some("%r5"));
        scopes.enter();
        assert!(alone(&mut scopes, "%r9"));
        assert_eq!(range(&mut scopes), None);
        assert_eq!(range(&mut scopes).as_deref(), Some("%r<"));
        assert!(!alone(&mut scopes, "%r7") && !alone(&mut scopes, "%r05"));
        assert!(alone(&mut scopes, "%r8"));
    }

    #[test]
    fn an_inner_scope_hides_and_gives_back() {
        let mut scopes = Scopes::new();
        scopes.define("a", Entity::Var(VarId(1)));
        scopes.enter();
        scopes.define("a", Entity::Var(VarId(2)));
        assert_eq!(scopes.lookup("a", |_, _| None), Some(Entity::Var(VarId(2))));
        scopes.leave();
        assert_eq!(scopes.lookup("a", |_, _| None), Some(Entity::Var(VarId(1))));
    }

    #[test]
    fn names_one_letter_apart() {
        assert!(one_apart(b"%rd1", b"%rd2"));
        assert!(one_apart(b"LOOP", b"LOP"));
        assert!(!one_apart(b"LOOP", b"LP"));
        assert!(!one_apart(b"a", b"b"));
    }
}
