//! The code of a function: one row an instruction, without anything of its own. What many have in
//! common is in tables that all functions of a module share: how instructions are spelled, and
//! lists of operands. So an instruction is made and let go without an allocation and without
//! counting who shares what.

use super::operand::{Operand, RegId};
use super::types::{Span, Type};
use super::words::{Op, Word, WordSet};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use thin_vec::ThinVec;

/// An opcode with its modifiers.
#[derive(Clone, Debug)]
pub struct Words {
    /// The first word.
    pub opcode: Op,
    /// Dot words after the opcode, in order, types included.
    pub modifiers: SmallVec<[Word; 8]>,
    /// The words of `modifiers`.
    pub set: WordSet,
    /// The words of `modifiers` that are types, in order.
    pub types: SmallVec<[Type; 8]>,
}

impl Words {
    /// Finds out set and types of the modifiers.
    pub fn new(opcode: Op, modifiers: SmallVec<[Word; 8]>) -> Words {
        let types = modifiers.iter().filter_map(|word| word.ty()).collect();
        Words { opcode, set: WordSet::of(&modifiers), modifiers, types }
    }

    /// Whether the modifier is among its words.
    pub fn has(&self, modifier: Word) -> bool {
        self.set.has(modifier)
    }

    /// As an instruction spells them; `written` is its text.
    pub fn spelling(&self, written: &str) -> String {
        if self.has(Word::Other) {
            let guard = written.find(|c: char| written.starts_with('@') && c.is_whitespace());
            let behind = written[guard.unwrap_or(0)..].trim_start();
            let end = behind.find(|c: char| c.is_whitespace() || c == ';');
            return behind[..end.unwrap_or(behind.len())].to_string();
        }
        let modifiers = self.modifiers.iter().map(|word| word.name());
        [self.opcode.name()].into_iter().chain(modifiers).collect::<Vec<_>>().join(".")
    }
}
/// An instruction as [`Code`] shows it. Its words are as its own ([`Deref`]).
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'p> {
    /// Guard predicate, negated or not.
    pub guard: Option<(RegId, bool)>,
    /// Shared by all instructions that are spelled so.
    pub words: &'p Arc<Words>,
    /// In the order of the text.
    pub operands: &'p [Operand],
    /// From the guard or the opcode to the `;`, which is not in it.
    pub span: Span,
}

/// A `.loc`: file, line, column; file 0 is none.
pub type Loc = (u32, u32, u32);

impl Deref for Instruction<'_> {
    type Target = Words;

    fn deref(&self) -> &Words {
        self.words
    }
}

/// The instructions of a function, in the order of the text.
#[derive(Clone, Default)]
pub struct Code {
    rows: Vec<Row>,
    /// From which instruction on which `.loc` is in force: before the first none. Most have none,
    /// so it is one word.
    locs: ThinVec<(u32, Loc)>,
    /// How the module's instructions are spelled.
    spelled: Option<Shared<Arc<Words>>>,
    /// Words that are not among those.
    own: Vec<Arc<Words>>,
    /// Where operands are: a list is shared with the functions before or behind.
    lists: SmallVec<[Shared<Operand>; 1]>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    guard: Option<(RegId, bool)>,
    words: WordsId,
    operands: Listed,
    span: Span,
}

/// There are a million of them in a text of 30 MB.
const _: () = assert!(size_of::<Row>() == 28);

/// Words of the instructions of a module, by number; those of a function alone count from
/// [`WordsId::OWN`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WordsId(pub u32);

impl WordsId {
    const OWN: u32 = 1 << 31;
}

/// A part of one of a function's lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    list: u32,
    start: u16,
    len: u16,
}

impl Code {
    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The instruction with a number, if there are so many.
    pub fn get(&self, at: usize) -> Option<Instruction<'_>> {
        self.rows.get(at).map(|row| self.tables().instruction(row))
    }

    /// The instruction with a number that there is.
    pub fn at(&self, at: usize) -> Instruction<'_> {
        self.tables().instruction(&self.rows[at])
    }

    /// The last one.
    pub fn last(&self) -> Option<Instruction<'_>> {
        self.iter().next_back()
    }

    /// All of them, in the order of the text.
    pub fn iter(&self) -> Iter<'_> {
        Iter { rows: self.rows.iter(), tables: self.tables() }
    }

    /// Whether a `.loc` is in force anywhere.
    pub fn has_locs(&self) -> bool {
        self.locs.iter().any(|(_, loc)| loc.0 != 0)
    }

    /// The `.loc` in force at an instruction.
    pub fn loc(&self, at: usize) -> Loc {
        let next = self.locs.partition_point(|(from, _)| *from as usize <= at);
        next.checked_sub(1).map_or(Loc::default(), |i| self.locs[i].1)
    }

    /// The `.loc` in force at each instruction in order; there is no end.
    pub fn locs(&self) -> impl Iterator<Item = Loc> {
        let (mut next, mut loc) = (self.locs.iter().peekable(), Loc::default());
        (0..).map(move |at| {
            if let Some((_, begins)) = next.next_if(|(from, _)| *from == at) {
                loc = *begins;
            }
            loc
        })
    }

    fn tables(&self) -> Tables<'_> {
        let spelled = self.spelled.as_ref().map_or(&[][..], Shared::all);
        Tables { spelled, own: &self.own, lists: &self.lists }
    }

    /// Spells one of them in another way.
    pub fn respell(&mut self, at: usize, words: Words) {
        self.rows[at].words = self.own(Arc::new(words));
    }

    /// Empty code that may take over instructions of this one.
    pub(super) fn begin_again(&self) -> Code {
        Code {
            rows: Vec::with_capacity(self.rows.len()),
            locs: ThinVec::new(),
            spelled: self.spelled.clone(),
            own: self.own.clone(),
            lists: self.lists.clone(),
        }
    }

    /// One more, which stands in the code that this one was begun from.
    pub(super) fn take_over(&mut self, from: &Code, at: usize) {
        self.put(from.rows[at], from.loc(at));
    }

    fn put(&mut self, row: Row, loc: Loc) {
        let before = self.locs.last().map_or(Loc::default(), |(_, loc)| *loc);
        if loc != before {
            self.locs.push((self.rows.len() as u32, loc));
        }
        self.rows.push(row);
    }

    /// The number of words that are this function's alone.
    pub(super) fn own(&mut self, words: Arc<Words>) -> WordsId {
        self.own.push(words);
        WordsId(WordsId::OWN + self.own.len() as u32 - 1)
    }

    /// Code of a module whose instructions are spelled so, with room for some.
    pub(super) fn begin(&mut self, spelled: Shared<Arc<Words>>, instructions: usize) {
        self.spelled = Some(spelled);
        self.rows.reserve_exact(instructions);
    }

    /// One more.
    pub(super) fn push(
        &mut self,
        guard: Option<(RegId, bool)>,
        words: WordsId,
        operands: Listed,
        (span, loc): (Span, Loc),
    ) {
        self.put(Row { guard, words, operands, span }, loc);
    }
}

/// As the instructions that it shows: numbers of words are as modules before came.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// What rows are numbers in.
#[derive(Clone, Copy, Debug)]
struct Tables<'p> {
    spelled: &'p [Arc<Words>],
    own: &'p [Arc<Words>],
    lists: &'p [Shared<Operand>],
}

impl<'p> Tables<'p> {
    #[inline]
    fn instruction(self, row: &Row) -> Instruction<'p> {
        let Row { guard, words: WordsId(number), operands: place, span } = *row;
        let words = match number.checked_sub(WordsId::OWN) {
            None => &self.spelled[number as usize],
            Some(own) => &self.own[own as usize],
        };
        let operands = match place.len {
            0 => &[],
            len => &self.lists[place.list as usize].all()[usize::from(place.start)..][..len.into()],
        };
        Instruction { guard, words, operands, span }
    }
}

/// Instructions, in the order of the text.
#[derive(Clone, Debug)]
pub struct Iter<'p> {
    rows: std::slice::Iter<'p, Row>,
    tables: Tables<'p>,
}

impl<'p> Iterator for Iter<'p> {
    type Item = Instruction<'p>;

    #[inline]
    fn next(&mut self) -> Option<Instruction<'p>> {
        self.rows.next().map(|row| self.tables.instruction(row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }

    /// At once, so that to begin in the middle of a function costs nothing.
    fn nth(&mut self, count: usize) -> Option<Instruction<'p>> {
        self.rows.nth(count).map(|row| self.tables.instruction(row))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.rows.next_back().map(|row| self.tables.instruction(row))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'p> IntoIterator for &'p Code {
    type Item = Instruction<'p>;
    type IntoIter = Iter<'p>;

    fn into_iter(self) -> Iter<'p> {
        self.iter()
    }
}

/// A list that is there once it is full, or whole: until then who has a part of it knows where that
/// will be.
#[derive(Debug)]
pub(super) struct Shared<T>(Arc<OnceLock<Vec<T>>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Shared(Arc::default())
    }
}

impl<T> Shared<T> {
    fn all(&self) -> &[T] {
        self.0.get().map_or(&[], |all| all)
    }

    /// Only the first one counts.
    pub fn set(&self, list: Vec<T>) {
        let _ = self.0.set(list);
    }
}

/// Makes the lists that operands of instructions are parts of. A list of its own for each would
/// cost an allocation, and leave holes in memory between what lives longer and what does not.
#[derive(Debug, Default)]
pub(super) struct SharedOperands {
    all: Shared<Operand>,
    /// The function that is read has it among its lists.
    is_named: bool,
    next: Vec<Operand>,
    /// Full ones, where they are not final when they are full.
    later: Option<Vec<LaterOperands>>,
}

/// A list that is not there yet.
#[derive(Debug)]
pub(super) struct LaterOperands {
    all: Shared<Operand>,
    pub list: Vec<Operand>,
}

impl LaterOperands {
    pub fn set(self) {
        self.all.set(self.list);
    }
}

impl SharedOperands {
    /// Operands that one list has, if no instruction has more: what they need is a size that
    /// allocators have.
    const MANY: usize = 1 << 10;

    /// Another function's code begins.
    pub fn begin_function(&mut self) {
        self.is_named = false;
    }

    /// Takes all that the list has.
    pub fn add(&mut self, operands: &mut Vec<Operand>, code: &mut Code) -> Listed {
        let start = self.begin(operands.len());
        self.next.append(operands);
        self.end(start, code)
    }

    /// Where the operands of an instruction begin, which are pushed then.
    pub fn begin(&mut self, count: usize) -> usize {
        if self.next.len() + count > Self::MANY {
            self.close();
        }
        if self.next.capacity() == 0 {
            self.next.reserve_exact(Self::MANY);
        }
        self.next.len()
    }

    /// Adds one to the operands that were begun.
    pub fn push(&mut self, operand: Operand) {
        self.next.push(operand);
    }

    /// Those that there are from there on.
    pub fn from(&self, start: usize) -> &[Operand] {
        &self.next[start..]
    }

    /// Those from there on, which are some instruction's of the code.
    pub fn end(&mut self, start: usize, code: &mut Code) -> Listed {
        if !self.is_named {
            self.is_named = true;
            code.lists.push(self.all.clone());
        }
        let list = code.lists.len() as u32 - 1;
        // A list has more than `MANY` only where it has one instruction's.
        Listed { list, start: start as u16, len: self.from(start).len() as u16 }
    }

    /// Forgets those from there on.
    pub fn give_back(&mut self, start: usize) {
        self.next.truncate(start);
    }

    /// Takes them out again.
    pub fn take_back(&mut self, start: usize, operands: &mut Vec<Operand>) {
        operands.extend(self.next.drain(start..));
    }

    pub fn close(&mut self) {
        let mut full = std::mem::take(&mut self.next);
        if full.len() < Self::MANY / 4 * 3 {
            // Not the list itself made smaller: allocators leave what is half used in its place.
            let mut exact = Vec::with_capacity(full.len());
            exact.append(&mut full);
            (self.next, full) = (full, exact);
        }
        // It is set once only: the next ones get another.
        let full = LaterOperands { all: std::mem::take(&mut self.all), list: full };
        self.is_named = false;
        match &mut self.later {
            None => full.set(),
            Some(later) => later.push(full),
        }
    }

    /// From now on full lists wait.
    pub fn wait(&mut self) {
        self.later = Some(Vec::new());
    }

    /// Those that wait.
    pub fn take_later(&mut self) -> Vec<LaterOperands> {
        self.later.take().unwrap_or_default()
    }
}
