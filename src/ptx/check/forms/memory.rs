//! What a module taught of how instructions are spelled, and which of their shapes are right, for
//! the next module of the same thread: of compilers that make many small modules each one has the
//! same few dozen spellings.
//!
//! Whether an instruction is right depends on its spelling, its shape and the module's head, and on
//! nothing else that a module has ([`super::super::shape`]): what is kept is for one head. So a
//! module's verdicts are what they are without it; only time depends on what came before.

use super::super::known::Known;
use crate::ptx::ast::{Header, Spellings};
use std::cell::{Cell, RefCell};

/// What counts of a module's head.
#[derive(PartialEq, Eq, Debug, Default)]
pub(in super::super) struct Head {
    version: Option<(u32, u32)>,
    target: Vec<String>,
}

impl Head {
    fn is(&self, header: &Header<'_>) -> bool {
        let target = header.target.iter().map(|word| word.text);
        self.version == header.version.map(|(major, minor, _)| (major, minor))
            && self.target.iter().map(String::as_str).eq(target)
    }
}

/// What was learned, and of which heads.
#[derive(Default)]
pub(in super::super) struct Learned {
    pub head: Head,
    pub spellings: Spellings,
    pub known: Known,
}

/// Spellings that are kept at most: some 400 bytes each. Most modules have fewer than a hundred.
const MOST: usize = 512;

thread_local! {
    static LAST: RefCell<Option<Learned>> = const { RefCell::new(None) };
    /// The thread has read a module before.
    static HAS_READ: Cell<bool> = const { Cell::new(false) };
}

impl Learned {
    /// What modules with this head taught, which is taken away; else nothing.
    pub fn take(header: &Header<'_>) -> Learned {
        // Not to look where nothing is: what ends with its thread has to be noted when it is first
        // touched, by six calls of the system.
        let last = HAS_READ.get().then(|| LAST.with(|last| last.take()));
        last.flatten().filter(|last| last.head.is(header)).unwrap_or_else(|| Learned {
            head: Head {
                version: header.version.map(|(major, minor, _)| (major, minor)),
                target: header.target.iter().map(|word| word.text.to_string()).collect(),
            },
            ..Learned::default()
        })
    }

    /// Keeps it for the thread's next module, from its second one on: most processes read one, and
    /// have a use for the memory.
    pub fn keep(self) {
        if HAS_READ.replace(true) && self.spellings.count() <= MOST {
            LAST.with(|last| last.replace(Some(self)));
        }
    }
}
