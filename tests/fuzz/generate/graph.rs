//! Control flow that is no tree: blocks that go anywhere, by branches and by jump tables.
//!
//! What holds: a thread leaves after as many blocks as its counter may count to, at the latest.
//! Blocks go by numbers that they change themselves, so that threads part and come together in any
//! way.

use super::{Maker, Place};
use crate::program::{Class, End, Graph, Node, Op, Operand, Piece, Slot, Stmt, Var};

/// Numbers that the blocks of a graph change.
const STATES: i64 = 3;

impl Maker {
    pub(super) fn graph(&mut self, place: &Place, list: &mut Vec<Stmt>) {
        let mut states = Vec::new();
        for _ in 0..self.random.range(1, STATES) {
            let start = self.operand(Class::B32, false, list);
            let state = self.fixed(Class::B32);
            list.push(Stmt::Op(text("mov.b32 ", Slot::Def(state), &[("", using(start))], "")));
            states.push(state);
        }
        let counter = self.fixed(Class::B32);
        // Where the threads that come are known they meet again behind it.
        let mask = self.mask(place).filter(|_| self.random.chance(50));
        let scope = self.scope.len();
        self.scope.extend(&states);
        self.scope.push(counter);
        let inside = Place {
            mask: None,
            block: false,
            loops: false,
            together: true,
            level: place.level + 1,
        };
        let count = self.random.range(3, 10) as usize;
        // Near targets make loops inside each other, far ones loops with several entries.
        let near = self.random.chance(60);
        let mut blocks = Vec::new();
        for at in 0..count {
            let mut body = Vec::new();
            for _ in 0..self.random.range(1, 3) {
                let change = self.change(&states);
                body.push(change);
            }
            if self.random.chance(40) {
                let some = self.random.range(1, 2);
                body.extend(self.list(&inside, some));
            }
            let end = self.end(&states, at, count, near);
            blocks.push(Node { limit: self.random.range(20, 60) as u32, body, end });
        }
        self.scope.truncate(scope);
        self.scope.extend(&states);
        list.push(Stmt::Graph(Graph { counter, mask, blocks }));
    }

    /// One of the numbers becomes another.
    fn change(&mut self, states: &[Var]) -> Stmt {
        let state = *self.random.pick(states);
        let other = self.visible(Class::B32);
        let mut some = || using(Operand::Var(*self.random.pick(&other)));
        let (one, two) = (some(), some());
        let number = self.random.range(1, 99);
        let to = Slot::Change(state);
        Stmt::Op(match self.random.below(5) {
            0 => text("add.u32 ", to, &[(", ", one), (", ", two)], ""),
            1 => text("xor.b32 ", to, &[(", ", one)], &format!(", {}", number * 0x309)),
            2 => text("mad.lo.u32 ", to, &[(", ", one), (&format!(", {number}, "), two)], ""),
            3 => text("shr.u32 ", to, &[(", ", one)], &format!(", {}", number % 9 + 1)),
            _ => text(
                "{ .reg .b32 %t; mov.u32 %t, %tid.x; mad.lo.u32 ",
                to,
                &[(", %t, ", one), (", ", two)],
                "; }",
            ),
        })
    }

    fn end(&mut self, states: &[Var], at: usize, count: usize, near: bool) -> End {
        let value = *self.random.pick(states);
        let mut target = || {
            if near {
                (at as i64 + self.random.range(-2, 3)).clamp(0, count as i64) as usize
            } else {
                self.random.below(count + 1)
            }
        };
        let (one, two) = (target(), target());
        let table = [target(), target(), target(), target(), target(), target(), one, two];
        match self.random.below(20) {
            0..6 => {
                let targets = *self.random.pick(&[2, 4, 6, 8]);
                End::Table { value, targets: table[..targets].to_vec() }
            }
            6..16 => End::Branch {
                value,
                counted: self.random.chance(40),
                bits: *self.random.pick(&[1, 2, 3, 4, 7, 8, 16]),
                negated: self.random.chance(50),
                target: one,
                other: self.random.chance(25).then_some(two),
            },
            16 => End::Jump((at + 1 + self.random.below(2)).min(count)),
            _ => End::Fall,
        }
    }
}

fn using(operand: Operand) -> Slot {
    Slot::Use { operand, class: Class::B32, constant: false }
}

/// An instruction of a destination and operands with text around them.
fn text(before: &str, to: Slot, operands: &[(&str, Slot)], after: &str) -> Op {
    let mut pieces = vec![Piece::Text(before.to_string()), Piece::Slot(0)];
    let mut slots = vec![to];
    for (text, slot) in operands {
        let text = if text.is_empty() { ", " } else { text };
        pieces.push(Piece::Text((*text).to_string()));
        pieces.push(Piece::Slot(slots.len()));
        slots.push(slot.clone());
    }
    pieces.push(Piece::Text(after.to_string()));
    Op { family: "graphs", pieces, slots, guard: None }
}
