//! The instructions and what is right for each.

use super::exact;
use rustc_apfloat::Round;

/// What an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Integers of so many bits, signed or not. The divisor is the constant where there is one.
    Integer {
        bits: u32,
        signed: bool,
        remainder: bool,
        divisor: Option<u64>,
    },
    Single {
        op: Op,
        round: Round,
        ftz: bool,
        sat: bool,
    },
    Double {
        op: Op,
        round: Round,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Div,
    Rcp,
    Sqrt,
}

pub struct Case {
    /// The PTX instruction, of `%a` and `%b` into `%d`.
    pub text: String,
    pub kind: Kind,
}

impl Case {
    /// The class of its registers.
    pub fn class(&self) -> &'static str {
        match self.kind {
            Kind::Integer { bits: 16, .. } => "b16",
            Kind::Integer { bits: 32, .. } => "b32",
            Kind::Integer { .. } => "b64",
            Kind::Single { .. } => "f32",
            Kind::Double { .. } => "f64",
        }
    }

    /// Whether the divisor is a constant of the instruction.
    pub fn has_constant(&self) -> bool {
        matches!(self.kind, Kind::Integer { divisor: Some(_), .. })
    }

    pub fn exact(&self, a: u64, b: u64) -> u64 {
        match self.kind {
            Kind::Integer { bits, signed, remainder, divisor } => {
                exact::integer(bits, signed, remainder, a, divisor.unwrap_or(b))
            }
            Kind::Single { op, round, ftz, sat } => {
                u64::from(exact::single(op, round, ftz, sat, a as u32, b as u32))
            }
            Kind::Double { op, round } => exact::double(op, round, a, b),
        }
    }

    /// Whether `got` is the result. NaNs are equal.
    pub fn right(&self, a: u64, b: u64, got: u64) -> bool {
        let want = self.exact(a, b);
        got == want
            || match self.kind {
                Kind::Integer { .. } => false,
                Kind::Single { .. } => {
                    [got, want].iter().all(|x| f32::from_bits(*x as u32).is_nan())
                }
                Kind::Double { .. } => [got, want].iter().all(|x| f64::from_bits(*x).is_nan()),
            }
    }
}

/// Divisors that are constants: each kind that needs another sequence, by value in the width of the
/// type.
const DIVISORS: &[i64] = &[
    1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 25, 28, 60, 100, 125, 127, 128, 255, 641, 1000,
    1024, 0x7fff, 0x8000, -1, -2, -3, -5, -7, -8, -10, -0x8000,
];
const LONG_DIVISORS: &[i64] =
    &[65_537, 1_000_000_007, 0x4000_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, -0x8000_0000];
const LONGEST_DIVISORS: &[i64] = &[
    0x1_0000_0000,
    0x1_0000_0001,
    1_000_000_000_000_000_003,
    i64::MAX,
    i64::MIN,
    -0x1_0000_0000,
    -641,
];

fn integers(cases: &mut Vec<Case>) {
    for bits in [16, 32, 64] {
        for signed in [false, true] {
            for remainder in [false, true] {
                let (name, letter) =
                    (if remainder { "rem" } else { "div" }, if signed { 's' } else { 'u' });
                let mut add = |divisor: Option<u64>, b: String| {
                    let text = format!("{name}.{letter}{bits} %d, %a, {b}");
                    let kind = Kind::Integer { bits, signed, remainder, divisor };
                    cases.push(Case { text, kind });
                };
                add(None, "%b".into());
                let mut divisors = DIVISORS.to_vec();
                if bits > 16 {
                    divisors.extend(LONG_DIVISORS);
                }
                if bits > 32 {
                    divisors.extend(LONGEST_DIVISORS);
                }
                for divisor in divisors {
                    let mask = u64::MAX >> (64 - bits);
                    add(Some(divisor as u64 & mask), format!("{divisor}"));
                }
            }
        }
    }
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    integers(&mut cases);
    let rounds = [
        ("rn", Round::NearestTiesToEven),
        ("rz", Round::TowardZero),
        ("rm", Round::TowardNegative),
        ("rp", Round::TowardPositive),
    ];
    for (name, op, operands) in
        [("div", Op::Div, "%a, %b"), ("rcp", Op::Rcp, "%a"), ("sqrt", Op::Sqrt, "%a")]
    {
        for (word, round) in rounds {
            for ftz in [false, true] {
                let flush = if ftz { ".ftz" } else { "" };
                let kind = Kind::Single { op, round, ftz, sat: false };
                cases.push(Case { text: format!("{name}.{word}{flush}.f32 %d, {operands}"), kind });
            }
            let kind = Kind::Double { op, round };
            cases.push(Case { text: format!("{name}.{word}.f64 %d, {operands}"), kind });
        }
    }
    cases
}
