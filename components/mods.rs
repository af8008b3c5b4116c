//! The table of modifier lists: an instruction names its list by a number of 16 bits.
//!
//! A worker keeps its table over functions: programs use some hundred lists, again and again.

use crate::modifier::Mods;
use rustc_hash::FxHashMap;

/// A list of modifiers in a [`ModsTable`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModsId(u16);

impl ModsId {
    /// The empty list.
    pub const NONE: ModsId = ModsId(0);

    /// Its place in a table by number.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Lists of modifiers, each once.
#[derive(Clone, Debug)]
pub struct ModsTable {
    lists: Vec<Mods>,
    ids: FxHashMap<Mods, ModsId>,
}

impl Default for ModsTable {
    fn default() -> ModsTable {
        let none = Mods::default();
        ModsTable { lists: vec![none], ids: [(none, ModsId::NONE)].into_iter().collect() }
    }
}

impl ModsTable {
    /// The list with this number.
    #[inline]
    pub fn get(&self, id: ModsId) -> &Mods {
        &self.lists[id.0 as usize]
    }

    /// The list's number.
    ///
    /// # Panics
    /// At the 65,536th list: the instruction tables have some thousands, and the text form refuses
    /// functions with more.
    #[inline]
    pub fn intern(&mut self, mods: &Mods) -> ModsId {
        if mods.is_empty() {
            return ModsId::NONE;
        }
        if let Some(id) = self.ids.get(mods) {
            return *id;
        }
        let id =
            ModsId(u16::try_from(self.lists.len()).expect("fewer lists of modifiers than 65,536"));
        self.lists.push(*mods);
        self.ids.insert(*mods, id);
        id
    }

    /// Number of lists.
    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }
}
