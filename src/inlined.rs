//! Which functions the code of a line was inlined from, and where those were called: what `.loc …,
//! function_name …, inlined_at …` says of PTX, and what `ptx/inline.rs` has done.
//!
//! Only a module that asks for lines and has such places looks here: the places are found in the
//! text once the code is there, and instructions say nothing of them.

use crate::ptx::calls::Call;
use crate::ptx::constant;
use crate::ptx::lexer::{Kind, Lexer};
use crate::ptx::program::Program;
use crate::ptx::types::Span;
use rustc_hash::FxHashMap;

/// A function that is inlined somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame<'p> {
    /// Its name.
    pub name: Name<'p>,
    /// File (as `.loc` counts them) and line of the call.
    pub call: (u32, u32),
}

/// A function's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Name<'p> {
    /// So many bytes behind a label of `.debug_str`.
    At(&'p str, u64),
    /// As the PTX has the function.
    Function(&'p str),
}

/// What a `.loc` says.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Where it stands.
    at: u32,
    /// The frames from here on: an index in [`Inlined::frames`].
    context: Option<u32>,
}

/// All places of a module's text.
#[derive(Clone, Debug, Default)]
pub struct Inlined<'p> {
    /// In the order of the text.
    places: Vec<Place>,
    /// Each with the one that it is in.
    frames: Vec<(Frame<'p>, Option<u32>)>,
}

impl<'p> Inlined<'p> {
    /// Finds them; none where the text does not speak of such.
    pub fn new(program: &'p Program<'p>) -> Inlined<'p> {
        let mut found = Inlined::default();
        if !program.source.contains("inlined_at") {
            return found;
        }
        let mut known: FxHashMap<(Frame<'p>, Option<u32>), u32> = FxHashMap::default();
        // By file, line and column, the frames of the last `.loc` that named them.
        let mut latest: FxHashMap<[u32; 3], Option<u32>> = FxHashMap::default();
        // Of the `.loc` in force; where code follows it is kept.
        let mut place = Place { at: 0, context: None };
        let mut tokens = Tokens::new(program.source);
        while let Some((kind, span)) = tokens.next() {
            match (kind, tokens.text(span)) {
                (Kind::Word, ".entry" | ".func") => {
                    latest.clear();
                    place = Place { at: span.start, context: None };
                }
                (Kind::Word, ".loc") => {
                    let Some(line) = tokens.numbers() else { continue };
                    let mut context = None;
                    if let Some((name, call)) = tokens.inlined() {
                        let around = latest.get(&call).copied().flatten();
                        let frame = (Frame { name, call: (call[0], call[1]) }, around);
                        let next = found.frames.len() as u32;
                        let number = *known.entry(frame).or_insert(next);
                        if number == next {
                            found.frames.push(frame);
                        }
                        context = Some(number);
                    }
                    latest.insert(line, context);
                    place = Place { at: span.start, context };
                }
                (Kind::Semi, _) if found.context() != place.context => found.places.push(place),
                _ => {}
            }
        }
        found
    }

    /// That of what was kept last.
    fn context(&self) -> Option<u32> {
        self.places.last().and_then(|last| last.context)
    }

    /// The frames of the instruction at a place in the text, innermost first.
    fn at(&self, at: u32) -> impl Iterator<Item = Frame<'p>> {
        let behind = self.places.partition_point(|place| place.at <= at);
        let context = behind.checked_sub(1).and_then(|i| self.places[i].context);
        std::iter::successors(context, |c| self.frames[*c as usize].1)
            .map(|c| self.frames[c as usize].0)
    }

    /// The same of one that was inlined by these calls, of which each is in the next.
    pub fn chain<'a>(&'a self, at: Option<u32>, call: Option<&'a Call>) -> Vec<Frame<'a>> {
        let mut frames: Vec<Frame<'a>> = at.into_iter().flat_map(|at| self.at(at)).collect();
        let calls = std::iter::successors(call, |call| call.inside.as_deref());
        for call in calls.filter(|call| call.loc.0 != 0) {
            frames.push(Frame { name: Name::Function(&call.name), call: (call.loc.0, call.loc.1) });
            frames.extend(self.at(call.at));
        }
        frames
    }
}

/// The bytes of `.debug_str`, and where names are in it: those of functions that are asked for are
/// added.
#[derive(Clone, Debug, Default)]
pub struct Names<'p> {
    /// The section's content.
    pub bytes: Vec<u8>,
    labels: FxHashMap<&'p str, u64>,
    added: FxHashMap<String, u64>,
}

impl<'p> Names<'p> {
    /// What the PTX has of it: labels and `.b8`. Of several such sections the first (observed:
    /// ptxas 13.0.88).
    pub fn new(program: &'p Program<'p>) -> Names<'p> {
        let mut names = Names::default();
        let sections = program.sections.iter().filter(|(name, _)| *name == "debug_str");
        for (_, text) in sections.take(1) {
            let mut tokens = Tokens::new(text);
            while let Some((kind, span)) = tokens.next() {
                match kind {
                    Kind::Ident => {
                        names.labels.extend([(&text[range(span)], names.bytes.len() as u64)])
                    }
                    Kind::Int => names.bytes.extend(tokens.value(span).map(|value| value as u8)),
                    _ => {}
                }
            }
        }
        names
    }

    /// Where a name begins; at first, where the PTX has no such label.
    pub fn find(&mut self, name: Name<'_>) -> u32 {
        let place = match name {
            Name::At(label, plus) => {
                let label = self.labels.get(label).copied().unwrap_or(0);
                label.saturating_add(plus)
            }
            Name::Function(name) => match self.added.get(name) {
                Some(at) => *at,
                None => {
                    let at = self.bytes.len() as u64;
                    self.bytes.extend(name.bytes().chain([0]));
                    self.added.insert(name.to_string(), at);
                    at
                }
            },
        };
        u32::try_from(place).unwrap_or(0)
    }
}

fn range(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}

/// Tokens of a text that is known to be right.
struct Tokens<'p> {
    source: &'p str,
    lexer: Lexer<'p>,
    /// The next one.
    ahead: Option<(Kind, Span)>,
}

impl<'p> Tokens<'p> {
    fn new(source: &'p str) -> Tokens<'p> {
        let mut tokens = Tokens { source, lexer: Lexer::new(source), ahead: None };
        tokens.next();
        tokens
    }

    /// The next one; None at the end.
    fn next(&mut self) -> Option<(Kind, Span)> {
        let token = self.lexer.next_token();
        let next = Some((token.kind, token.span)).filter(|(kind, _)| *kind != Kind::Eof);
        std::mem::replace(&mut self.ahead, next)
    }

    fn text(&self, span: Span) -> &'p str {
        &self.source[range(span)]
    }

    fn value(&self, span: Span) -> Option<u64> {
        constant::parse_int(self.text(span))?.as_i128()?.try_into().ok()
    }

    /// Three numbers.
    fn numbers(&mut self) -> Option<[u32; 3]> {
        let mut numbers = [0; 3];
        for number in &mut numbers {
            let (_, span) = self.next().filter(|(kind, _)| *kind == Kind::Int)?;
            *number = u32::try_from(self.value(span)?).ok()?;
        }
        Some(numbers)
    }

    /// `, function_name label+offset, inlined_at 1 2 3`
    fn inlined(&mut self) -> Option<(Name<'p>, [u32; 3])> {
        self.ahead.filter(|(kind, _)| *kind == Kind::Comma)?;
        self.next();
        self.next();
        let (_, label) = self.next()?;
        let mut plus = 0;
        if self.ahead.is_some_and(|(kind, _)| kind == Kind::Plus) {
            self.next();
            let (_, offset) = self.next()?;
            plus = self.value(offset)?;
        }
        self.next();
        self.next();
        Some((Name::At(self.text(label), plus), self.numbers()?))
    }
}
