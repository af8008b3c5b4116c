//! Moving matrices: `ldmatrix`, `stmatrix`, `movmatrix`, `wmma.load` and `wmma.store`.

use super::fragment::first;
use super::instruction::Matrix;
use super::product::fetch;
use crate::interpret::access::{Stopped, read, write};
use crate::interpret::env::Env;
use crate::interpret::integer::mask;
use crate::interpret::operand::{Address, LANES, Row, Src};
use crate::interpret::warp::Warp;

/// Does a move, load or store of matrices for the whole warp.
///
/// # Errors
/// When an access fails.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    op: &Matrix,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    match op {
        Matrix::Load8 { at, transposed, dst } => {
            let addresses = warp.row(at.base, base);
            for (matrix, dst) in dst.iter().enumerate() {
                let mut rows = [[0u8; 16]; 8];
                for (i, row) in rows.iter_mut().enumerate() {
                    let lane = (matrix * 8 + i) % LANES;
                    let address = addresses[lane].wrapping_add_signed(at.offset);
                    read(warp, env, at.space, lane, address, row)?;
                }
                let element = |row: usize, column: usize| {
                    let (row, column) = if *transposed { (column, row) } else { (row, column) };
                    u64::from(u16::from_le_bytes([
                        rows[row][2 * column],
                        rows[row][2 * column + 1],
                    ]))
                };
                let mut values = [0; LANES];
                for (lane, value) in values.iter_mut().enumerate() {
                    let (row, column) = (lane / 4, lane % 4 * 2);
                    *value = element(row, column) | element(row, column + 1) << 16;
                }
                warp.write(*dst, base, lanes, &values);
            }
        }
        Matrix::Store8 { at, transposed, src } => {
            let addresses = warp.row(at.base, base);
            for (matrix, src) in src.iter().enumerate() {
                let elements = unpack8(&warp.row(*src, base));
                for (i, row) in elements.iter().enumerate() {
                    let mut bytes = [0; 16];
                    for (column, to) in bytes.chunks_exact_mut(2).enumerate() {
                        let element = if *transposed { elements[column][i] } else { row[column] };
                        to.copy_from_slice(&element.to_le_bytes());
                    }
                    let lane = (matrix * 8 + i) % LANES;
                    let address = addresses[lane].wrapping_add_signed(at.offset);
                    write(warp, env, at.space, lane, address, &bytes)?;
                }
            }
        }
        Matrix::Move8 { dst, src } => {
            let elements = unpack8(&warp.row(*src, base));
            let mut values = [0; LANES];
            for (lane, value) in values.iter_mut().enumerate() {
                let (row, column) = (lane / 4, lane % 4 * 2);
                *value =
                    u64::from(elements[column][row]) | u64::from(elements[column + 1][row]) << 16;
            }
            warp.write(*dst, base, lanes, &values);
        }
        Matrix::Load { at, stride, by_column, fragment, dst } => {
            let (start, step) = whole(warp, base, lanes, at, *stride);
            let width = u64::from(fragment.element.bits());
            let mut all = Vec::with_capacity(fragment.rows * fragment.columns);
            for row in 0..fragment.rows {
                for column in 0..fragment.columns {
                    let bit = place(row, column, step, *by_column) * width;
                    let mut bytes = [0; 8];
                    let address = start.wrapping_add(bit / 8);
                    let bytes_read = &mut bytes[..width.div_ceil(8) as usize];
                    read(warp, env, at.space, first(lanes), address, bytes_read)?;
                    all.push(u64::from_le_bytes(bytes) >> (bit % 8));
                }
            }
            let rows = fragment.scatter(&all, dst.len());
            for (dst, row) in dst.iter().zip(&rows) {
                warp.write(*dst, base, lanes, row);
            }
        }
        Matrix::Store { at, stride, by_column, fragment, src } => {
            let (start, step) = whole(warp, base, lanes, at, *stride);
            let all = fragment.gather_bits(&fetch(warp, base, src));
            let size = fragment.element.bits() as usize / 8;
            for (i, element) in all.iter().enumerate() {
                let (row, column) = (i / fragment.columns, i % fragment.columns);
                let index = place(row, column, step, *by_column);
                let address = start.wrapping_add(index * size as u64);
                let bytes = &element.to_le_bytes()[..size];
                write(warp, env, at.space, first(lanes), address, bytes)?;
            }
        }
        Matrix::Product(_) | Matrix::QuadPairs(_) | Matrix::Group(_) => {}
    }
    Ok(())
}

/// The address and stride of the first lane: they are the same for all.
fn whole(warp: &Warp, base: u32, lanes: u32, at: &Address, stride: Src) -> (u64, u64) {
    let lane = first(lanes);
    let address = warp.row(at.base, base)[lane].wrapping_add_signed(at.offset);
    (address, warp.row(stride, base)[lane] & mask(32))
}

fn place(row: usize, column: usize, step: u64, by_column: bool) -> u64 {
    if by_column { column as u64 * step + row as u64 } else { row as u64 * step + column as u64 }
}

/// The elements of an 8 by 8 matrix in one register.
fn unpack8(row: &Row) -> [[u16; 8]; 8] {
    let mut elements = [[0; 8]; 8];
    for (lane, value) in row.iter().enumerate() {
        let (row, column) = (lane / 4, lane % 4 * 2);
        elements[row][column] = *value as u16;
        elements[row][column + 1] = (*value >> 16) as u16;
    }
    elements
}
