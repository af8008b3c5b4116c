//! Matrix instructions: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `wmma` and `wgmma` (PTX ISA 9.0, "Warp Level Matrix
//! Multiply-Accumulate Instructions" and "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! A product is summed in double precision and rounded once: the device rounds in between, in an order that is not published.
//! Asynchronous products are done at once.

use rustc_apfloat::Round;

use super::access::{read, write};
use super::code::{Address, Dst, LANES, Row, Space, Src};
use super::error::StepError;
use super::float::{Format, Small, from_f64, to_f64};
use super::grid::Env;
use super::integer::{mask, sign_extend};
use super::warp::Warp;

/// What an element of a matrix is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    Float(Format),
    /// An f32 whose low 13 bits do not count.
    Tf32,
    E4m3,
    E5m2,
    Int {
        bits: u32,
        signed: bool,
    },
}

impl Element {
    pub fn bits(self) -> u32 {
        match self {
            Element::Float(format) => format.bits(),
            Element::Tf32 => 32,
            Element::E4m3 | Element::E5m2 => 8,
            Element::Int { bits, .. } => bits,
        }
    }

    /// Elements of one register: those of f64 take 64 bits, all others share 32.
    fn packed(self) -> usize {
        (32 / self.bits()).max(1) as usize
    }

    fn value(self, bits: u64) -> f64 {
        match self {
            Element::Float(format) => to_f64(format, bits),
            Element::Tf32 => to_f64(Format::F32, bits & !0x1fff),
            Element::E4m3 => Small::E4m3.value(bits),
            Element::E5m2 => Small::E5m2.value(bits),
            Element::Int { bits: width, signed: true } => sign_extend(bits, width) as f64,
            Element::Int { bits: width, signed: false } => (bits & mask(width)) as f64,
        }
    }

    fn encode(self, value: f64, saturate: bool) -> u64 {
        match self {
            Element::Float(format) => from_f64(format, value, Round::NearestTiesToEven),
            Element::Int { .. } if saturate => {
                value.clamp(i32::MIN.into(), i32::MAX.into()) as i64 as u64
            }
            Element::Int { .. } => value as i64 as u64,
            Element::Tf32 | Element::E4m3 | Element::E5m2 => {
                from_f64(Format::F32, value, Round::NearestTiesToEven)
            }
        }
    }
}

/// Which matrix of a product a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    A,
    B,
    C,
}

/// How a matrix is spread over the registers of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    pub role: Role,
    pub rows: usize,
    pub columns: usize,
    pub element: Element,
    /// The layout of `wmma`, which PTX leaves open; otherwise that of `mma.sync` and `wgmma`.
    pub open: bool,
}

impl Fragment {
    /// The row and column of element `e` of register `r` of a lane.
    fn place(&self, lane: usize, r: usize, e: usize) -> (usize, usize) {
        let packed = self.element.packed();
        if self.open {
            // Each lane holds a run of the matrix, again and again if there are more registers.
            let each = (self.rows * self.columns / LANES).max(1);
            let index = lane * each + (r * packed + e) % each;
            return (index / self.columns, index % self.columns);
        }
        let (group, thread) = (lane / 4, lane % 4);
        match self.role {
            Role::A if self.rows == 8 => (group, thread * packed + e + r * 4 * packed),
            Role::A => (group + 8 * (r % 2), thread * packed + e + r / 2 * 4 * packed),
            Role::B => (thread * packed + e + r * 4 * packed, group),
            Role::C => {
                let i = r * packed + e;
                let down = if self.rows == 8 { 0 } else { i / 2 % 2 * 8 };
                let across = if self.rows == 8 { i / 2 } else { i / 4 };
                (group + down, across * 8 + thread * 2 + i % 2)
            }
        }
    }

    /// The matrix, row by row, of its registers.
    fn gather(&self, registers: &[Row]) -> Vec<f64> {
        let mut all = vec![0.0; self.rows * self.columns];
        let width = self.element.bits();
        self.each(registers.len(), |lane, r, e, at| {
            if let Some(to) = all.get_mut(at) {
                let element = registers[r][lane] >> (e as u32 * width) & mask(width);
                *to = self.element.value(element);
            }
        });
        all
    }

    /// The registers of a matrix.
    fn scatter(&self, all: &[u64], registers: usize) -> Vec<Row> {
        let mut rows = vec![[0; LANES]; registers];
        let width = self.element.bits();
        self.each(registers, |lane, r, e, at| {
            let element = all.get(at).copied().unwrap_or(0) & mask(width);
            rows[r][lane] |= element << (e as u32 * width);
        });
        rows
    }

    fn each(&self, registers: usize, mut f: impl FnMut(usize, usize, usize, usize)) {
        for r in 0..registers {
            for lane in 0..LANES {
                for e in 0..self.element.packed() {
                    let (row, column) = self.place(lane, r, e);
                    f(lane, r, e, row * self.columns + column);
                }
            }
        }
    }
}

/// `d = a * b + c`
pub struct Product {
    pub a: (Fragment, Box<[Src]>),
    pub b: (Fragment, Box<[Src]>),
    pub c: (Fragment, Box<[Src]>),
    pub d: (Fragment, Box<[Dst]>),
    /// `.satfinite` of integers.
    pub saturate: bool,
}

/// A matrix of `wgmma`: in registers, or in shared memory behind a descriptor.
pub enum Input {
    Registers(Box<[Src]>),
    /// `transposed`: the dimension that is not summed over is contiguous.
    Shared {
        descriptor: Src,
        transposed: bool,
    },
}

/// A warp's 16 of 64 rows of `d = a * b + d`.
pub struct Group {
    pub n: usize,
    pub k: usize,
    pub a: (Element, Input),
    pub b: (Element, Input),
    pub d: (Element, Box<[Dst]>),
    /// False: `d` counts as zero.
    pub accumulate: Src,
    pub scale: (f64, f64),
    pub saturate: bool,
}

pub enum Matrix {
    Product(Product),
    Group(Group),
    /// 8 by 8 matrices of 16-bit elements, one register each; the addresses of their rows come from the lanes in order.
    Load8 {
        at: Address,
        transposed: bool,
        dst: Box<[Dst]>,
    },
    Store8 {
        at: Address,
        transposed: bool,
        src: Box<[Src]>,
    },
    /// Transposes an 8 by 8 matrix.
    Move8 {
        dst: Dst,
        src: Src,
    },
    /// `wmma.load`; the stride is in elements.
    Load {
        at: Address,
        stride: Src,
        by_column: bool,
        fragment: Fragment,
        dst: Box<[Dst]>,
    },
    Store {
        at: Address,
        stride: Src,
        by_column: bool,
        fragment: Fragment,
        src: Box<[Src]>,
    },
}

/// What stopped a lane.
type Stopped = (usize, StepError);

/// Executes a matrix instruction for a whole warp.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    op: &Matrix,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    let fetch = |warp: &Warp, src: &[Src]| -> Vec<Row> {
        src.iter().map(|src| warp.row(*src, base)).collect()
    };
    match op {
        Matrix::Product(product) => {
            let a = product.a.0.gather(&fetch(warp, &product.a.1));
            let b = product.b.0.gather(&fetch(warp, &product.b.1));
            let c = product.c.0.gather(&fetch(warp, &product.c.1));
            let d = multiply(&a, &b, c, product.a.0.columns, product.d.0.columns);
            put(warp, base, lanes, &product.d, product.saturate, &d);
        }
        Matrix::Group(group) => group.execute(warp, env, base, lanes)?,
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
            let size = fragment.element.bits() as usize / 8;
            let mut all = Vec::with_capacity(fragment.rows * fragment.columns);
            for row in 0..fragment.rows {
                for column in 0..fragment.columns {
                    let index = place(row, column, step, *by_column);
                    let mut bytes = [0; 8];
                    let address = start.wrapping_add(index * size as u64);
                    read(warp, env, at.space, first(lanes), address, &mut bytes[..size])?;
                    all.push(u64::from_le_bytes(bytes));
                }
            }
            let rows = fragment.scatter(&all, dst.len());
            for (dst, row) in dst.iter().zip(&rows) {
                warp.write(*dst, base, lanes, row);
            }
        }
        Matrix::Store { at, stride, by_column, fragment, src } => {
            let (start, step) = whole(warp, base, lanes, at, *stride);
            let width = fragment.element.bits();
            let registers = fetch(warp, src);
            let mut all = vec![0u64; fragment.rows * fragment.columns];
            fragment.each(registers.len(), |lane, r, e, i| {
                all[i] = registers[r][lane] >> (e as u32 * width) & mask(width);
            });
            let size = width as usize / 8;
            for (i, element) in all.iter().enumerate() {
                let (row, column) = (i / fragment.columns, i % fragment.columns);
                let index = place(row, column, step, *by_column);
                let address = start.wrapping_add(index * size as u64);
                let bytes = &element.to_le_bytes()[..size];
                write(warp, env, at.space, first(lanes), address, bytes)?;
            }
        }
    }
    Ok(())
}

fn first(lanes: u32) -> usize {
    lanes.trailing_zeros() as usize % LANES
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

/// `c + a * b` of matrices row by row; `a` has `k` columns and `b` has `n`.
fn multiply(a: &[f64], b: &[f64], mut c: Vec<f64>, k: usize, n: usize) -> Vec<f64> {
    for (row, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (x, b) in row.iter().zip(b.chunks_exact(n)) {
            for (c, y) in c.iter_mut().zip(b) {
                *c = x.mul_add(*y, *c);
            }
        }
    }
    c
}

fn put(
    warp: &mut Warp,
    base: u32,
    lanes: u32,
    (fragment, dst): &(Fragment, Box<[Dst]>),
    saturate: bool,
    values: &[f64],
) {
    let all: Vec<u64> = values.iter().map(|v| fragment.element.encode(*v, saturate)).collect();
    for (dst, row) in dst.iter().zip(&fragment.scatter(&all, dst.len())) {
        warp.write(*dst, base, lanes, row);
    }
}

impl Group {
    fn execute(
        &self,
        warp: &mut Warp,
        env: &mut Env<'_>,
        base: u32,
        lanes: u32,
    ) -> Result<(), Stopped> {
        let fragment =
            |role, rows, columns, element| Fragment { role, rows, columns, element, open: false };
        // A warp of the group has 16 of the 64 rows.
        let first_row = warp.index as usize % 4 * 16;
        let mut a = match &self.a.1 {
            Input::Registers(src) => {
                let rows: Vec<Row> = src.iter().map(|src| warp.row(*src, base)).collect();
                fragment(Role::A, 16, self.k, self.a.0).gather(&rows)
            }
            Input::Shared { descriptor, transposed } => {
                let at = Tile::new(warp.row(*descriptor, base)[first(lanes)], *transposed);
                let mut all = Vec::with_capacity(16 * self.k);
                for row in 0..16 {
                    for k in 0..self.k {
                        all.push(at.element(warp, env, self.a.0, first_row + row, k, lanes)?);
                    }
                }
                all
            }
        };
        a.iter_mut().for_each(|x| *x *= self.scale.0);
        let Input::Shared { descriptor, transposed } = &self.b.1 else { return Ok(()) };
        let at = Tile::new(warp.row(*descriptor, base)[first(lanes)], *transposed);
        let mut b = Vec::with_capacity(self.k * self.n);
        for k in 0..self.k {
            for column in 0..self.n {
                b.push(self.scale.1 * at.element(warp, env, self.b.0, column, k, lanes)?);
            }
        }
        let target = fragment(Role::C, 16, self.n, self.d.0);
        let registers: Vec<Row> =
            self.d.1.iter().map(|dst| warp.row(Src::Slot(dst.slot), base)).collect();
        let accumulate = warp.row(self.accumulate, base)[first(lanes)] & 1 != 0;
        let c = if accumulate { target.gather(&registers) } else { vec![0.0; 16 * self.n] };
        let d = multiply(&a, &b, c, self.k, self.n);
        let all: Vec<u64> = d.iter().map(|v| self.d.0.encode(*v, self.saturate)).collect();
        for (dst, row) in self.d.1.iter().zip(&target.scatter(&all, self.d.1.len())) {
            warp.write(*dst, base, lanes, row);
        }
        Ok(())
    }
}

/// A matrix in shared memory as a descriptor says (PTX ISA 9.0, "Matrix Descriptor Format" and "Strides").
struct Tile {
    start: u64,
    leading: u64,
    stride: u64,
    /// Bytes of a row inside the swizzled pattern: 16 without one.
    width: u64,
    transposed: bool,
}

impl Tile {
    fn new(descriptor: u64, transposed: bool) -> Tile {
        Tile {
            start: (descriptor & mask(14)) << 4,
            leading: (descriptor >> 16 & mask(14)) << 4,
            stride: (descriptor >> 32 & mask(14)) << 4,
            width: [16, 128, 64, 32][(descriptor >> 62) as usize & 3],
            transposed,
        }
    }

    /// The element at `index` (row of A, column of B) and `k`.
    fn element(
        &self,
        warp: &Warp,
        env: &Env<'_>,
        element: Element,
        index: usize,
        k: usize,
        lanes: u32,
    ) -> Result<f64, Stopped> {
        let size = u64::from(element.bits() / 8);
        let (index, k) = (index as u64, k as u64);
        let plain = self.width == 16;
        // Rows of `width` bytes, eight of them one pattern.
        let (across, down) = if self.transposed { (index, k) } else { (k, index) };
        let (chunk, inside) = (across * size / self.width, across * size % self.width);
        let (chunks, rows) = match (self.transposed, plain) {
            (true, true) => (self.stride, self.leading),
            // Along K a swizzled pattern is all there is: further steps move the start address.
            (false, false) => (self.width, self.stride),
            _ => (self.leading, self.stride),
        };
        let mut address =
            self.start + chunk * chunks + down / 8 * rows + down % 8 * self.width + inside;
        // The swizzle: bits 4 and up are combined with bits 7 and up, as many as the width has 16-byte units.
        address ^= address >> 3 & (self.width - 16);
        let mut bytes = [0; 8];
        read(warp, env, Space::Shared, first(lanes), address, &mut bytes[..size as usize])?;
        Ok(element.value(u64::from_le_bytes(bytes)))
    }
}

/// All lanes of a warp: matrix instructions are `.aligned`.
pub const ALL: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_hold_each_element_of_a_matrix() {
        let half = Element::Float(Format::F16);
        let byte = Element::Int { bits: 8, signed: true };
        let word = Element::Float(Format::F32);
        for (role, rows, columns, element, registers) in [
            (Role::A, 16, 16, half, 4),
            (Role::B, 16, 8, half, 2),
            (Role::A, 16, 32, byte, 4),
            (Role::B, 32, 8, byte, 2),
            (Role::A, 16, 8, Element::Tf32, 4),
            (Role::C, 16, 8, word, 4),
            (Role::C, 16, 8, half, 2),
            (Role::C, 16, 32, word, 16),
            (Role::A, 8, 4, Element::Float(Format::F64), 1),
            (Role::C, 8, 8, Element::Float(Format::F64), 2),
        ] {
            let fragment = Fragment { role, rows, columns, element, open: false };
            let mut seen = vec![0; rows * columns];
            fragment.each(registers, |_, _, _, at| seen[at] += 1);
            assert!(seen.iter().all(|n| *n == 1), "{fragment:?}");
        }
        let open = Fragment { role: Role::A, rows: 16, columns: 16, element: half, open: true };
        let mut seen = vec![0; 256];
        open.each(8, |_, _, _, at| seen[at] += 1);
        assert!(seen.iter().all(|n| *n == 2), "each element twice in 8 registers");
    }

    #[test]
    fn small_floats_are_decoded() {
        assert_eq!(Element::E4m3.value(0x38), 1.0);
        assert_eq!(Element::E4m3.value(0x7e), 448.0);
        assert!(Element::E4m3.value(0xff).is_nan());
        assert_eq!(Element::E5m2.value(0x3c), 1.0);
        assert_eq!(Element::E5m2.value(0xfc), f64::NEG_INFINITY);
        assert_eq!(Element::E5m2.value(0x01), 2f64.powi(-16));
    }

    #[test]
    fn the_identity_multiplies_to_the_same() {
        let identity = [1.0, 0.0, 0.0, 1.0];
        assert_eq!(
            multiply(&identity, &[1.0, 2.0, 3.0, 4.0], vec![1.0; 4], 2, 2),
            [2.0, 3.0, 4.0, 5.0]
        );
    }
}
