//! Which values share a register: those that one operand names together.

use crate::analysis::liveness::Cell;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::work;
use smallvec::SmallVec;

/// A value, by number.
pub type Value = u32;

pub const NONE: Value = u32::MAX;

/// Values, and sets of them with at most one value for each cell of the register that they come
/// from.
pub struct Groups {
    /// The cell that a value is of.
    cell: Scratch<Vec<Cell>>,
    leader: Scratch<Vec<Value>>,
    /// A ring through the members of a group.
    next: Scratch<Vec<Value>>,
}

impl Groups {
    /// No values.
    pub fn new() -> Groups {
        Groups {
            cell: scratch!(Vec<Cell>),
            leader: scratch!(Vec<Value>),
            next: scratch!(Vec<Value>),
        }
    }

    /// A value of a cell, in a group of its own.
    pub fn add(&mut self, cell: Cell) -> Value {
        work::add(1);
        let value = self.cell.len() as Value;
        self.cell.push(cell);
        self.leader.push(value);
        self.next.push(value);
        value
    }

    pub fn cell(&self, value: Value) -> Cell {
        self.cell[value as usize]
    }

    pub fn len(&self) -> usize {
        self.cell.len()
    }

    pub fn leader(&mut self, value: Value) -> Value {
        let mut root = value;
        while self.leader[root as usize] != root {
            work::add(1);
            root = self.leader[root as usize];
        }
        let mut at = value;
        while self.leader[at as usize] != root {
            at = std::mem::replace(&mut self.leader[at as usize], root);
        }
        root
    }

    pub fn members(&self, value: Value) -> impl Iterator<Item = Value> + '_ {
        let next = move |v: &Value| Some(self.next[*v as usize]).filter(|n| *n != value);
        std::iter::successors(Some(value), next)
    }

    /// Joins the groups of all these values; false, and nothing is changed, where a cell would have
    /// two values.
    pub fn join(&mut self, values: &[Value]) -> bool {
        let Some((&first, rest)) = values.split_first() else { return true };
        if rest.iter().all(|v| self.leader(*v) == self.leader(first)) {
            return true;
        }
        let mut leaders = SmallVec::<[Value; 8]>::new();
        values.iter().for_each(|v| leaders.push(self.leader(*v)));
        leaders.sort_unstable();
        leaders.dedup();
        let mut cells = SmallVec::<[Cell; 8]>::new();
        for leader in &leaders {
            cells.extend(self.members(*leader).map(|v| self.cell(v)));
        }
        work::add(cells.len());
        let all = cells.len();
        cells.sort_unstable();
        cells.dedup();
        if cells.len() < all {
            return false;
        }
        for leader in &leaders[1..] {
            self.leader[*leader as usize] = leaders[0];
            self.next.swap(leaders[0] as usize, *leader as usize);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_value_for_each_cell() {
        let mut groups = Groups::new();
        let [low, high, other] = [4, 5, 4].map(|cell| groups.add(cell));
        assert!(groups.join(&[low, high]) && groups.join(&[low, high]));
        assert_eq!(groups.leader(high), groups.leader(low));
        assert!(!groups.join(&[other, high]), "cell 4 has a value");
        assert_eq!(groups.members(other).count(), 1);
        let mut members: Vec<Value> = groups.members(high).collect();
        members.sort_unstable();
        assert_eq!(members, [low, high]);
    }
}
