//! Text as a host prints it for both engines, which find the arguments each on its own.
//!
//! The formats of `vprintf` (CUDA C++ Programming Guide, "Formatted Output"): those of C, with
//! 64-bit `long`.

/// Where the next argument lies: each is aligned to its size.
pub struct Arguments {
    at: u64,
}

impl Arguments {
    /// Of arguments that begin at this address.
    pub fn new(at: u64) -> Arguments {
        Arguments { at }
    }

    /// The address of an argument of `bytes` bytes.
    pub fn place(&mut self, bytes: u64) -> u64 {
        let at = self.at.next_multiple_of(bytes);
        self.at = at + bytes;
        at
    }
}

/// What a call prints, and how many arguments it read.
pub struct Printed {
    /// The bytes, conversions replaced.
    pub text: Vec<u8>,
    /// How many the format asked for.
    pub arguments: u32,
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// Widths and precisions at most: a kernel cannot ask for more text than that.
const MAX_WIDTH: usize = 4096;

/// `argument` gives the next argument of so many bytes, `string` the bytes at an address.
///
/// # Errors
/// Those of `argument` and `string`.
pub fn format<E>(
    text: &[u8],
    argument: &mut dyn FnMut(u64) -> Result<u64, E>,
    string: &mut dyn FnMut(u64) -> Result<Vec<u8>, E>,
) -> Result<Printed, E> {
    let mut out = Printed { text: Vec::new(), arguments: 0 };
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.text.push(byte);
            continue;
        }
        let mut take = |bytes: u64| {
            out.arguments += 1;
            argument(bytes)
        };
        let mut spec = Spec::default();
        while let Some(flag) = rest.peek() {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            rest.next();
        }
        let number = |rest: &mut std::iter::Peekable<_>,
                      take: &mut dyn FnMut(u64) -> Result<u64, E>| {
            if rest.next_if_eq(&b'*').is_some() {
                return take(4).map(|n| n as i32);
            }
            let mut value = 0i32;
            while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
                value = value.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
            }
            Ok(value)
        };
        let width = number(&mut rest, &mut take)?;
        spec.left |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
        if rest.next_if_eq(&b'.').is_some() {
            let precision = number(&mut rest, &mut take)?;
            // A negative one counts as none.
            spec.precision = usize::try_from(precision).ok().map(|p| p.min(MAX_WIDTH));
        }
        let mut bits = 32;
        while let Some(size) = rest.next_if(|b| b"hlLqjzt".contains(b)) {
            bits = match size {
                b'h' => bits / 2,
                _ => 64,
            };
        }
        let size = if bits == 64 { 8 } else { 4 };
        let Some(conversion) = rest.next() else { break };
        let piece = match conversion {
            b'%' => b"%".to_vec(),
            b'd' | b'i' => {
                let value = take(size)?;
                let value = (value << (64 - bits)) as i64 >> (64 - bits);
                integer(&spec, value.unsigned_abs().into(), 10, signs(&spec, value < 0))
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = take(size)? << (64 - bits) >> (64 - bits);
                let (radix, prefix) = match conversion {
                    b'u' => (10, ""),
                    b'o' => (8, if spec.alternate { "0" } else { "" }),
                    _ => (16, if spec.alternate && value != 0 { "0x" } else { "" }),
                };
                let piece = integer(&spec, value.into(), radix, prefix);
                if conversion == b'X' { piece.to_ascii_uppercase() } else { piece }
            }
            b'p' => integer(&spec, take(8)?.into(), 16, "0x"),
            b'c' => pad(&spec, vec![take(4)? as u8], 0),
            b's' => {
                let address = take(8)?;
                let mut text = if address == 0 { b"(null)".to_vec() } else { string(address)? };
                text.truncate(spec.precision.unwrap_or(usize::MAX));
                pad(&spec, text, 0)
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let piece = float(&spec, f64::from_bits(take(8)?), conversion);
                if conversion.is_ascii_uppercase() { piece.to_ascii_uppercase() } else { piece }
            }
            // Not a conversion: printed as it stands.
            other => vec![b'%', other],
        };
        out.text.extend(piece);
    }
    Ok(out)
}

fn signs(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn integer(spec: &Spec, value: u128, radix: u32, prefix: &str) -> Vec<u8> {
    let digits = match radix {
        8 => format!("{value:o}"),
        16 => format!("{value:x}"),
        _ => value.to_string(),
    };
    let digits = if spec.precision == Some(0) && value == 0 { String::new() } else { digits };
    let zeros = spec.precision.unwrap_or(1).saturating_sub(digits.len());
    let text = format!("{prefix}{}{digits}", "0".repeat(zeros));
    // A precision turns the flag 0 off.
    let spec = Spec { zero: spec.zero && spec.precision.is_none(), ..*spec };
    pad(&spec, text.into_bytes(), prefix.len())
}

/// Fills up to the width: with zeros behind the first `prefix` bytes, or with spaces.
fn pad(spec: &Spec, mut text: Vec<u8>, prefix: usize) -> Vec<u8> {
    let missing = spec.width.saturating_sub(text.len());
    let (at, byte) = match (spec.left, spec.zero) {
        (true, _) => (text.len(), b' '),
        (false, true) => (prefix, b'0'),
        (false, false) => (0, b' '),
    };
    text.splice(at..at, std::iter::repeat_n(byte, missing));
    text
}

fn float(spec: &Spec, value: f64, conversion: u8) -> Vec<u8> {
    let sign = signs(spec, value.is_sign_negative());
    let magnitude = value.abs();
    if !magnitude.is_finite() {
        let text = if magnitude.is_nan() { "nan" } else { "inf" };
        let spec = Spec { zero: false, ..*spec };
        return pad(&spec, format!("{sign}{text}").into_bytes(), 0);
    }
    let precision = spec.precision.unwrap_or(6);
    let text = match conversion.to_ascii_lowercase() {
        b'f' => fixed(magnitude, precision, spec.alternate),
        b'e' => exponential(magnitude, precision, spec.alternate),
        b'g' => general(magnitude, precision.max(1), spec.alternate),
        _ => hexadecimal(magnitude, spec.precision),
    };
    pad(spec, format!("{sign}{text}").into_bytes(), sign.len())
}

fn fixed(x: f64, precision: usize, alternate: bool) -> String {
    let dot = if alternate && precision == 0 { "." } else { "" };
    format!("{x:.precision$}{dot}")
}

fn exponential(x: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{x:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let dot = if alternate && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{dot}e{sign}{:02}", exponent.abs())
}

/// As `e` or `f`, whichever is shorter, with `precision` significant digits.
fn general(x: f64, precision: usize, alternate: bool) -> String {
    let text = exponential(x, precision - 1, false);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let small = exponent >= -4 && exponent < precision as i32;
    let text = if small {
        fixed(x, (precision as i32 - 1 - exponent) as usize, alternate)
    } else {
        exponential(x, precision - 1, alternate)
    };
    if alternate {
        return text;
    }
    let (digits, exponent) = text.find('e').map_or((&text[..], ""), |at| text.split_at(at));
    if !digits.contains('.') {
        return text;
    }
    format!("{}{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn hexadecimal(x: f64, precision: Option<usize>) -> String {
    let bits = x.to_bits();
    let (mut one, mut exponent) = (1, (bits >> 52) as i32 - 1023);
    let mut fraction = bits & ((1 << 52) - 1);
    if bits >> 52 == 0 {
        (one, exponent) = (0, if fraction == 0 { 0 } else { -1022 });
    }
    let digits = precision.unwrap_or(13);
    if digits < 13 {
        // Rounded to nearest even in the last digit that is left.
        let drop = 52 - 4 * digits as u32;
        let all = one << 52 | fraction;
        let half = 1u64 << (drop - 1);
        let even = all >> drop & 1;
        let rounded = (all + half - 1 + even) >> drop << drop;
        (one, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
    }
    let all = format!("{fraction:013x}{}", "0".repeat(digits.saturating_sub(13)));
    let text = match precision {
        Some(count) => &all[..count],
        None => all.trim_end_matches('0'),
    };
    let dot = if text.is_empty() { "" } else { "." };
    format!("0x{one}{dot}{text}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str, args: &[u64]) -> String {
        let mut args = args.iter();
        let mut next = |_| Ok::<u64, ()>(args.next().copied().unwrap_or(0));
        let printed = format(text.as_bytes(), &mut next, &mut |_| Ok(b"text".to_vec())).unwrap();
        String::from_utf8(printed.text).unwrap()
    }

    #[test]
    fn integers_print_as_in_c() {
        assert_eq!(
            print("%d|%5d|%-5d|%05d|%+d", &[u64::MAX, 42, 42, 42, 42]),
            "-1|   42|42   |00042|+42"
        );
        assert_eq!(
            print("%u %x %#X %o %lld %hhd", &[0xffff_ffff, 255, 255, 8, 1 << 40, 0x1ff]),
            "4294967295 ff 0XFF 10 1099511627776 -1"
        );
        assert_eq!(print("%.3d %8.3x %% %c %p", &[7, 10, 65, 0x10]), "007      00a % A 0x10");
        assert_eq!(print("%*d|%s|%.2s|%q", &[4, 7, 1, 1]), "   7|text|te|");
    }

    #[test]
    fn floats_print_as_in_c() {
        let f = |text: &str, x: f64| print(text, &[x.to_bits()]);
        assert_eq!(f("%f", 1.5), "1.500000");
        assert_eq!(f("%.0f", 2.5), "2");
        assert_eq!(f("%8.2f|", -1.005), "   -1.00|");
        assert_eq!(f("%e", 12345.678), "1.234568e+04");
        assert_eq!(f("%.3E", 1e-300), "1.000E-300");
        assert_eq!(f("%g", 100_000.0), "100000");
        assert_eq!(f("%g", 1_000_000.0), "1e+06");
        assert_eq!(f("%g", 0.0001), "0.0001");
        assert_eq!(f("%G", 0.000_012_5), "1.25E-05");
        assert_eq!(f("%a", 1.5), "0x1.8p+0");
        assert_eq!(f("%.1a", 1.97), "0x2.0p+0");
        assert_eq!(f("%f %%", f64::NEG_INFINITY), "-inf %");
        assert_eq!(f("%06.1f", -1.5), "-001.5");
    }
}
