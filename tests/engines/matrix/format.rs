//! Element types: their names in PTX, and the bits of small integers in each.

use super::bench::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
}

use Type::*;

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            F16 => "f16",
            Bf16 => "bf16",
            Tf32 => "tf32",
            F32 => "f32",
            F64 => "f64",
            E4m3 => "e4m3",
            E5m2 => "e5m2",
            S8 => "s8",
            U8 => "u8",
            S4 => "s4",
            U4 => "u4",
            B1 => "b1",
            S32 => "s32",
        }
    }

    pub fn bits(self) -> u32 {
        match self {
            F64 => 64,
            F32 | Tf32 | S32 => 32,
            F16 | Bf16 => 16,
            E4m3 | E5m2 | S8 | U8 => 8,
            S4 | U4 => 4,
            B1 => 1,
        }
    }

    /// Bytes of a register that holds one element or more.
    pub fn register(self) -> usize {
        if self == F64 { 8 } else { 4 }
    }

    pub fn is_float(self) -> bool {
        matches!(self, F16 | Bf16 | Tf32 | F32 | F64 | E4m3 | E5m2)
    }

    /// A value that the type has; sums of products of 256 such floats are exact in half precision.
    pub fn random(self, random: &mut Random) -> i64 {
        let mut within = |low: i64, high: i64| low + random.below((high - low + 1) as u64) as i64;
        match self {
            S8 => within(-128, 127),
            U8 => within(0, 255),
            S4 => within(-8, 7),
            U4 => within(0, 15),
            B1 => within(0, 1),
            S32 => within(-100_000, 100_000),
            _ => within(-2, 2),
        }
    }

    /// The bits of a value: a small integer in a float type.
    pub fn encode(self, value: i64) -> u64 {
        let float = |bias: u64, fraction: u32| {
            if value == 0 {
                return 0;
            }
            let magnitude = value.unsigned_abs();
            let exponent = magnitude.ilog2();
            let scaled = if exponent <= fraction {
                magnitude << (fraction - exponent)
            } else {
                assert!(magnitude.trailing_zeros() >= exponent - fraction, "{value} is not exact");
                magnitude >> (exponent - fraction)
            };
            let sign = u64::from(value < 0) << (self.bits() - 1);
            sign | (bias + u64::from(exponent)) << fraction | scaled & ((1 << fraction) - 1)
        };
        match self {
            F16 => float(15, 10),
            Bf16 => float(127, 7),
            Tf32 | F32 => u64::from((value as f32).to_bits()),
            F64 => (value as f64).to_bits(),
            E4m3 => float(7, 3),
            E5m2 => float(15, 2),
            _ => value as u64 & (u64::MAX >> (64 - self.bits())),
        }
    }
}

/// Rows, then columns.
#[derive(Clone)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<i64>,
}

impl Matrix {
    pub fn random(rows: usize, columns: usize, ty: Type, random: &mut Random) -> Matrix {
        let data = (0..rows * columns).map(|_| ty.random(random)).collect();
        Matrix { rows, columns, data }
    }

    pub fn zero(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, data: vec![0; rows * columns] }
    }

    pub fn at(&self, row: usize, column: usize) -> i64 {
        self.data[row * self.columns + column]
    }

    pub fn set(&mut self, row: usize, column: usize, value: i64) {
        self.data[row * self.columns + column] = value;
    }

    /// `self x b + c`, each product by `times`.
    pub fn multiply(&self, b: &Matrix, c: &Matrix, times: impl Fn(i64, i64) -> i64) -> Matrix {
        let mut d = c.clone();
        for row in 0..self.rows {
            for column in 0..b.columns {
                let sum = (0..self.columns).map(|k| times(self.at(row, k), b.at(k, column)));
                d.set(row, column, c.at(row, column) + sum.sum::<i64>());
            }
        }
        d
    }

    pub fn transposed(&self) -> Matrix {
        let mut t = Matrix::zero(self.columns, self.rows);
        for row in 0..self.rows {
            for column in 0..self.columns {
                t.set(column, row, self.at(row, column));
            }
        }
        t
    }
}

/// What becomes of an integer sum.
pub fn finish(sums: &Matrix, ty: Type, saturate: bool) -> Matrix {
    let mut d = sums.clone();
    if ty == S32 {
        for x in &mut d.data {
            let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
            *x = if saturate { (*x).clamp(low, high) } else { i64::from(*x as i32) };
        }
    }
    d
}
