//! Constants and constant expressions: 64-bit integers and doubles.
//!
//! Source: PTX ISA 9.0, "Constants" and "Summary of Constant Expression Evaluation Rules": integers
//! are 64 bits, signed unless they have a `U` or do not fit, an operation with an unsigned operand
//! is unsigned, comparisons give a signed 0 or 1.

/// A value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Const {
    /// 64 bits, which wrap.
    Int {
        /// As two's complement where it is signed.
        bits: u64,
        /// `U` behind it, or too large to be signed.
        unsigned: bool,
    },
    /// Only as a literal, `0f3F800000`; arithmetic makes a double of it.
    F32(f32),
    /// `0d3FF0000000000000`, `1.5`, and what arithmetic makes.
    F64(f64),
}

/// An operator before a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// An operator between two constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&`
    And,
    /// `^`
    Xor,
    /// `|`
    Or,
    /// `&&`
    AndAnd,
    /// `||`
    OrOr,
}

/// An integer literal; `None` when a digit does not belong to its base or a decimal or octal value
/// needs more than 64 bits. Of a longer hexadecimal or binary number the low 64 bits count.
/// Observed: ptxas 13.0.88.
pub fn parse_int(text: &str) -> Option<Const> {
    let (digits, suffix) = match text.strip_suffix('U') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let bits = match digits.as_bytes() {
        [b'0', b'x' | b'X', rest @ ..] => low_bits(rest, 4)?,
        [b'0', b'b' | b'B', rest @ ..] => low_bits(rest, 1)?,
        [b'0', _, ..] => radix(&digits[1..], 8)?,
        _ => radix(digits, 10)?,
    };
    Some(Const::Int { bits, unsigned: suffix || bits > i64::MAX as u64 })
}

/// Digits of so many bits each.
fn low_bits(digits: &[u8], width: u32) -> Option<u64> {
    let mut value = 0u64;
    for digit in digits {
        let digit = char::from(*digit).to_digit(1 << width)?;
        value = value << width | u64::from(digit);
    }
    (!digits.is_empty()).then_some(value)
}

fn radix(digits: &str, base: u32) -> Option<u64> {
    // from_str_radix would accept a sign.
    if !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

impl Const {
    /// A signed integer.
    pub fn int(value: i64) -> Const {
        Const::Int { bits: value as u64, unsigned: false }
    }

    fn truth(value: bool) -> Const {
        Const::int(i64::from(value))
    }

    /// Whether it is one of 64 bits; else a float.
    pub fn is_int(self) -> bool {
        matches!(self, Const::Int { .. })
    }

    /// The value of an integer, sign included; `None` for a float.
    pub fn as_i128(self) -> Option<i128> {
        match self {
            Const::Int { bits, unsigned: true } => Some(i128::from(bits)),
            Const::Int { bits, unsigned: false } => Some(i128::from(bits as i64)),
            Const::F32(_) | Const::F64(_) => None,
        }
    }

    /// The nearest double; an integer by its sign.
    pub fn as_f64(self) -> f64 {
        match self {
            Const::Int { bits, unsigned: true } => bits as f64,
            Const::Int { bits, unsigned: false } => bits as i64 as f64,
            Const::F32(value) => f64::from(value),
            Const::F64(value) => value,
        }
    }

    /// Whether it compares equal to zero: -0.0 does.
    pub fn is_zero(self) -> bool {
        match self {
            Const::Int { bits, .. } => bits == 0,
            _ => self.as_f64() == 0.0,
        }
    }

    /// `None` where the operator does not take this kind (`~1.5`).
    pub fn unary(self, op: Unary) -> Option<Const> {
        Some(match (op, self) {
            (Unary::Plus, value) => value,
            (Unary::Not, Const::Int { bits, .. }) => Const::truth(bits == 0),
            (Unary::Minus, Const::Int { bits, unsigned }) => {
                Const::Int { bits: bits.wrapping_neg(), unsigned }
            }
            (Unary::Minus, Const::F32(value)) => Const::F32(-value),
            (Unary::Minus, Const::F64(value)) => Const::F64(-value),
            (Unary::Complement, Const::Int { bits, unsigned }) => {
                Const::Int { bits: !bits, unsigned }
            }
            (Unary::Not | Unary::Complement, _) => return None,
        })
    }

    /// `None` for a division by zero, where an integer meets a float, and where the operator does
    /// not take floats.
    pub fn binary(self, op: Binary, other: Const) -> Option<Const> {
        match (self, other) {
            (Const::Int { bits: a, unsigned: ua }, Const::Int { bits: b, unsigned: ub }) => {
                int_binary(op, a, ua, b, ub)
            }
            (Const::Int { .. }, _) | (_, Const::Int { .. }) => None,
            _ => float_binary(op, self.as_f64(), other.as_f64()),
        }
    }

    /// `(.s64) x`, `(.u64) x` of integers. Observed: ptxas 13.0.88 takes no other cast.
    pub fn cast(self, ty: super::types::Type) -> Option<Const> {
        use super::types::Type;
        match (ty, self) {
            (Type::S64 | Type::U64, Const::Int { bits, .. }) => {
                Some(Const::Int { bits, unsigned: ty == Type::U64 })
            }
            _ => None,
        }
    }
}

fn int_binary(op: Binary, a: u64, ua: bool, b: u64, ub: bool) -> Option<Const> {
    let unsigned = ua || ub;
    let (sa, sb) = (a as i64, b as i64);
    let pick = |u: u64, s: i64| Const::Int { bits: if unsigned { u } else { s as u64 }, unsigned };
    let both = |bits: u64| Const::Int { bits, unsigned };
    let compare = |u: bool, s: bool| Const::truth(if unsigned { u } else { s });
    Some(match op {
        Binary::Mul => both(a.wrapping_mul(b)),
        Binary::Div if b == 0 => return None,
        Binary::Rem if b == 0 => return None,
        Binary::Div => pick(a / b, sa.wrapping_div(sb)),
        Binary::Rem => pick(a % b, sa.wrapping_rem(sb)),
        Binary::Add => both(a.wrapping_add(b)),
        Binary::Sub => both(a.wrapping_sub(b)),
        // A shift has the type of its first operand; a count of 64 or more shifts everything out.
        Binary::Shl => Const::Int { bits: if b > 63 { 0 } else { a << b }, unsigned: ua },
        Binary::Shr if ua => Const::Int { bits: if b > 63 { 0 } else { a >> b }, unsigned: ua },
        Binary::Shr => Const::int(sa >> b.min(63)),
        Binary::Lt => compare(a < b, sa < sb),
        Binary::Gt => compare(a > b, sa > sb),
        Binary::Le => compare(a <= b, sa <= sb),
        Binary::Ge => compare(a >= b, sa >= sb),
        Binary::Eq => Const::truth(a == b),
        Binary::Ne => Const::truth(a != b),
        Binary::And => both(a & b),
        Binary::Xor => both(a ^ b),
        Binary::Or => both(a | b),
        Binary::AndAnd => Const::truth(a != 0 && b != 0),
        Binary::OrOr => Const::truth(a != 0 || b != 0),
    })
}

fn float_binary(op: Binary, a: f64, b: f64) -> Option<Const> {
    Some(match op {
        Binary::Mul => Const::F64(a * b),
        Binary::Div => Const::F64(a / b),
        Binary::Add => Const::F64(a + b),
        Binary::Sub => Const::F64(a - b),
        Binary::Lt => Const::truth(a < b),
        Binary::Gt => Const::truth(a > b),
        Binary::Le => Const::truth(a <= b),
        Binary::Ge => Const::truth(a >= b),
        Binary::Eq => Const::truth(a == b),
        Binary::Ne => Const::truth(a != b),
        Binary::Rem
        | Binary::Shl
        | Binary::Shr
        | Binary::And
        | Binary::Xor
        | Binary::Or
        | Binary::AndAnd
        | Binary::OrOr => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsigned_operand_makes_the_operation_unsigned() {
        let minus_one = Const::int(-1);
        let two = parse_int("2U").unwrap();
        assert_eq!(minus_one.binary(Binary::Lt, two), Some(Const::int(0)));
        assert_eq!(minus_one.binary(Binary::Lt, Const::int(2)), Some(Const::int(1)));
        assert_eq!(
            minus_one.binary(Binary::Div, two).and_then(Const::as_i128),
            Some(i128::from(u64::MAX / 2))
        );
    }

    #[test]
    fn a_literal_that_needs_bit_63_is_unsigned() {
        let big = parse_int("0xffffffffffffffff").unwrap();
        assert_eq!(big.as_i128(), Some(i128::from(u64::MAX)));
        assert_eq!(parse_int("0x10000000000000005"), parse_int("5"));
        assert_eq!(parse_int("99999999999999999999"), None);
    }

    #[test]
    fn division_by_zero_and_bitwise_floats_have_no_value() {
        assert_eq!(Const::int(1).binary(Binary::Div, Const::int(0)), None);
        assert_eq!(
            Const::int(i64::MIN).binary(Binary::Div, Const::int(-1)),
            Some(Const::int(i64::MIN))
        );
        assert_eq!(Const::F64(1.0).binary(Binary::And, Const::int(1)), None);
        assert_eq!(Const::F64(1.0).unary(Unary::Complement), None);
    }

    #[test]
    fn shifts_keep_the_first_operands_type_and_saturate() {
        assert_eq!(Const::int(-8).binary(Binary::Shr, Const::int(1)), Some(Const::int(-4)));
        assert_eq!(Const::int(-8).binary(Binary::Shr, Const::int(99)), Some(Const::int(-1)));
        assert_eq!(Const::int(1).binary(Binary::Shl, Const::int(64)), Some(Const::int(0)));
    }
}
