//! What threads do together, and atomic operations.

use super::{Generator, Mask, Scope};
use crate::evaluate;
use crate::program::{Atomic, Expr, Stmt, Warp};
use crate::types::Scalar;

impl Generator {
    pub(super) fn warp(&mut self, scope: Scope) -> Option<Stmt> {
        if self.random.chance(12) && self.kernel {
            let (from, ty) = self.own(true, &|_| true)?;
            let into = self.writable_of(&|other| other == ty)?.0;
            let lane = self.expr(Scalar::U32, 1);
            return Some(Stmt::ExchangeInWarp { into, from, ty, lane });
        }
        let shuffles = [Warp::ShuffleIndex, Warp::ShuffleUp, Warp::ShuffleDown, Warp::ShuffleXor];
        let op = match self.random.below(12) {
            0 => Warp::Shuffle,
            1..=4 if scope.mask == Mask::Whole => *self.random.pick(&shuffles),
            1..=3 => Warp::Shuffle,
            4 | 5 => Warp::Ballot,
            6 => Warp::All,
            7 => Warp::Any,
            8 => Warp::MatchAny,
            9 => *self.random.pick(&[Warp::MatchAll, Warp::Rank]),
            _ => Warp::Reduce(*self.random.pick(&[
                Atomic::Add,
                Atomic::Min,
                Atomic::Max,
                Atomic::And,
                Atomic::Or,
                Atomic::Xor,
            ])),
        };
        use Scalar::{F32, F64, I32, I64, U32, U64};
        let ty = match op {
            Warp::Reduce(Atomic::Add | Atomic::Min | Atomic::Max) => *self.random.pick(&[I32, U32]),
            Warp::Reduce(_) | Warp::Rank => U32,
            Warp::Ballot | Warp::All | Warp::Any => I32,
            Warp::MatchAny | Warp::MatchAll => *self.random.pick(&[U32, I32, U64, I64]),
            _ if self.floats => *self.random.pick(&[I32, U32, I64, U64, F32, F64]),
            _ => *self.random.pick(&[I32, U32, I64, U64]),
        };
        let value = match op {
            Warp::Ballot | Warp::All | Warp::Any => {
                let cond = self.condition(2);
                self.converted(cond, I32)
            }
            // Few values, so that some are equal.
            Warp::MatchAny | Warp::MatchAll => {
                let inner = self.expr(ty, 2);
                let bits = Expr::Constant(ty, *self.random.pick(&[0, 1, 3, 5]));
                Expr::Binary(crate::program::Binary::And, ty, Box::new(inner), Box::new(bits))
            }
            _ => self.expr(ty, 2),
        };
        let other = match self.random.chance(50) {
            true => Expr::Constant(Scalar::U32, self.random.below(32) as u64),
            false => self.expr(Scalar::U32, 1),
        };
        let width = match shuffles.contains(&op) && self.random.chance(30) {
            true => *self.random.pick(&[2, 4, 8, 16]),
            false => 32,
        };
        let result = evaluate::result(op, ty);
        let into = match self.writable_of(&|other| other == result) {
            Some((into, _)) => into,
            None => self.plain(result)?,
        };
        Some(Stmt::Warp { into, op, ty, value, other, width })
    }

    /// With all threads of the block.
    pub(super) fn block_wide(&mut self) -> Option<Stmt> {
        let words = self.program.shared_words.len();
        match self.random.below(4) {
            0 => {
                let into = self.plain(Scalar::I32)?;
                let kind = self.random.below(3) as u32;
                Some(Stmt::SyncCount { into, kind, cond: self.condition(2) })
            }
            1 if words > 0 => {
                let word = self.random.below(words);
                let into = self.plain(self.program.shared_words[word].ty)?;
                Some(Stmt::ReadWord { into, word })
            }
            _ => {
                let (from, ty) = self.own(true, &|_| true)?;
                let into = self.writable_of(&|other| other == ty)?.0;
                let thread = self.expr(Scalar::U32, 1);
                Some(Stmt::Exchange { into, from, ty, thread })
            }
        }
    }

    /// Reads all shared words at the kernel's end.
    pub(super) fn last_words(&mut self) -> Vec<Stmt> {
        let mut all = Vec::new();
        for word in 0..self.program.shared_words.len() {
            let ty = self.program.shared_words[word].ty;
            let var = self.var(crate::types::Type::Number(ty), crate::program::Place::Local);
            let into = crate::program::Lvalue { var, path: Vec::new() };
            all.push(Stmt::ReadWord { into, word });
        }
        all
    }

    pub(super) fn word_atomic(&mut self) -> Option<Stmt> {
        let global = self.random.chance(50);
        let words = match global {
            true => &self.program.global_words,
            false => &self.program.shared_words,
        };
        if words.is_empty() {
            return None;
        }
        let word = self.random.below(words.len());
        let ty = words[word].ty;
        Some(Stmt::WordAtomic { global, word, value: self.expr(ty, 2) })
    }

    pub(super) fn own_atomic(&mut self) -> Option<Stmt> {
        let good = |ty| matches!(ty, Scalar::U32 | Scalar::I32 | Scalar::U64);
        let (at, ty) = self.own(false, &good)?;
        let op = *self.random.pick(&[
            Atomic::Add,
            Atomic::Min,
            Atomic::Max,
            Atomic::And,
            Atomic::Or,
            Atomic::Xor,
            Atomic::Exchange,
            Atomic::CompareAndSwap,
            Atomic::CompareAndSwap,
        ]);
        let value = self.expr(ty, 2);
        let other = match self.random.chance(50) {
            true => Expr::Load(at.clone(), ty),
            false => self.expr(ty, 1),
        };
        let into = self.plain(ty)?;
        Some(Stmt::OwnAtomic { into, at, op, ty, value, other })
    }
}
