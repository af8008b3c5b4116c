//! Floating-point immediates as nvdisasm writes them: `%.20g`, from 1e9 on `%.20e`, and names for
//! infinities and NaNs (observed on all ranges with nvdisasm 13.5.37).

/// From the bits of a single.
pub fn f32_text(bits: u32) -> String {
    let value = f32::from_bits(bits);
    special(value.is_nan(), bits >> 31 != 0, bits & 0x40_0000 != 0)
        .unwrap_or_else(|| f64_text(value as f64))
}

/// From the bits of a half.
pub fn f16_text(bits: u16) -> String {
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 0x3ff) as f64);
    let value = match exponent {
        31 if fraction != 0.0 => {
            return special(true, bits >> 15 != 0, bits & 0x200 != 0).unwrap_or_default();
        }
        31 => sign * f64::INFINITY,
        0 => sign * fraction * 2f64.powi(-24),
        _ => sign * (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    f64_text(value)
}

/// From the bits of a bfloat16.
pub fn bf16_text(bits: u16) -> String {
    f32_text((bits as u32) << 16)
}

fn special(nan: bool, negative: bool, quiet: bool) -> Option<String> {
    let sign = if negative { '-' } else { '+' };
    nan.then(|| format!("{sign}{}NAN ", if quiet { 'Q' } else { 'S' }))
}

pub fn f64_text(value: f64) -> String {
    if let Some(text) =
        special(value.is_nan(), value.is_sign_negative(), value.to_bits() & 1 << 51 != 0)
    {
        return text;
    }
    if value.is_infinite() {
        return if value > 0.0 { "+INF ".into() } else { "-INF ".into() };
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0 ".into() } else { "0".into() };
    }
    if value.abs() >= 1e9 {
        let text = format!("{value:.20e}");
        return with_exponent(&text, false);
    }
    general(value)
}

/// `%.20g`
fn general(value: f64) -> String {
    let text = format!("{value:.19e}");
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if exponent < -4 {
        return with_exponent(&text, true);
    }
    let text = format!("{value:.*}", (19 - exponent).max(0) as usize);
    trim_zeros(&text).to_string()
}

/// Rewrites Rust's `1.5e-7` as C's `1.5e-07`.
fn with_exponent(text: &str, trim: bool) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = if trim { trim_zeros(mantissa) } else { mantissa };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}
