//! Matrix instructions of a warp: products, and moves between shared memory and registers.

use super::env::{Env, Flow, LaneFault, Stop, first};
use crate::simulator::error::Cause;
use crate::simulator::groups::State;
use crate::simulator::matrix::{MatrixOp, Move, Product, multiply, transpose};
use crate::simulator::warp::Warp;

/// Bytes of a row of an 8x8 matrix of 16 bits.
const ROW: usize = 16;

impl Env<'_> {
    pub(super) fn matrix(
        &mut self,
        warp: &mut Warp,
        op: &MatrixOp,
        pc: u32,
        active: u32,
    ) -> Result<Flow, LaneFault> {
        if active != u32::MAX {
            let text = "a matrix instruction without all 32 threads of the warp";
            return Err((Cause::Other(text.into()), first(!active)));
        }
        match op {
            MatrixOp::Product(op) => self.product(warp, op)?,
            MatrixOp::Move(op) => self.move_matrices(warp, op)?,
            MatrixOp::Transpose { d, a } => transpose(warp, *d, *a),
            MatrixOp::Wait { group, left } => {
                let done = warp.products[usize::from(*group)].saturating_sub(u64::from(*left));
                warp.groups.wait(active, pc, pc + 1, State::Products { group: *group, done });
                return Ok(Flow::Stop(Stop::Changed));
            }
        }
        Ok(Flow::Next)
    }

    fn product(&mut self, warp: &mut Warp, op: &Product) -> Result<(), LaneFault> {
        let add = warp.pred(op.add) & 1 != 0;
        multiply(warp, &self.shared, op, add).map_err(|fault| (Cause::Memory(fault), 0))?;
        if let Some(group) = op.group {
            warp.products[usize::from(group)] += 1;
        }
        Ok(())
    }

    fn move_matrices(&mut self, warp: &mut Warp, op: &Move) -> Result<(), LaneFault> {
        let addresses = super::memory::shared_addresses(warp, &op.address).map(|at| self.own(at));
        for matrix in 0..u16::from(op.count) {
            for row in 0..8 {
                let lane = usize::from(matrix) * 8 + row;
                let fault = |fault| (Cause::Memory(fault), lane);
                if op.store {
                    let to = self.shared.write(addresses[lane], ROW).map_err(fault)?;
                    let from = warp.row(op.register, matrix);
                    for (column, to) in to.chunks_exact_mut(2).enumerate() {
                        let (lane, half) = place(row, column, op.transposed);
                        to.copy_from_slice(&((from[lane] >> half) as u16).to_le_bytes());
                    }
                } else {
                    let from = self.shared.read(addresses[lane], ROW).map_err(fault)?;
                    for (column, from) in from.chunks_exact(2).enumerate() {
                        let value = u32::from(u16::from_le_bytes([from[0], from[1]]));
                        let lanes = warp.row_mut(op.register, matrix);
                        let (lane, half) = place(row, column, op.transposed);
                        lanes[lane] = lanes[lane] & !(0xffff << half) | value << half;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The thread that has an element of an 8x8 matrix, and the bit that it begins at: two of a row
/// each, or of a column.
fn place(row: usize, column: usize, transposed: bool) -> (usize, u32) {
    let (row, column) = if transposed { (column, row) } else { (row, column) };
    (row * 4 + column / 2, column as u32 % 2 * 16)
}
