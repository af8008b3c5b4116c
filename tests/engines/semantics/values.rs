//! Edge values of each type, as 64-bit patterns.

/// Integers around every boundary that an instruction of 8, 16, 32 or 64 bits has.
const INTEGERS: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    0x1f,
    0x20,
    0x21,
    0x3f,
    0x40,
    0x41,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0001,
    0x7fff_ffff,
    0x8000_0000,
    0xdead_beef,
    0xffff_fffe,
    0xffff_ffff,
];

const LONG: &[u64] = &[
    0x1_0000_0000,
    0x1_2345_6789,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_8000_0000,
    0xfedc_ba98_7654_3210,
    0xffff_ffff_0000_0000,
    0xffff_ffff_8000_0000,
    0xffff_ffff_ffff_ff80,
    0xffff_ffff_ffff_ffff,
];

const SINGLES: &[f32] = &[
    0.0,
    1.0,
    0.5,
    1.5,
    2.5,
    std::f32::consts::PI,
    1.000_000_1,
    0.999_999_94,
    3.0,
    10.0,
    126.5,
    127.0,
    255.5,
    65_535.0,
    16_777_217.0,
    2_147_483_648.0,
    4_294_967_296.0,
    9.223_372e18,
    1.844_674_4e19,
    8.507_059e37,
    1.7e38,
    f32::MAX,
    f32::MIN_POSITIVE,
    1.2e-38,
    1.1e-38,
    3.0e-42,
    1.0e-45,
    f32::INFINITY,
];

const DOUBLES: &[f64] = &[
    0.0,
    1.0,
    0.5,
    1.5,
    2.5,
    std::f64::consts::PI,
    1.000_000_000_000_000_2,
    255.5,
    65_535.0,
    2_147_483_647.5,
    4_294_967_296.0,
    9.223_372_036_854_776e18,
    1.844_674_407_370_955_2e19,
    3.402_823_466_385_288_6e38,
    3.402_823_6e38,
    1.401_298e-45,
    1.0e-46,
    f64::MAX,
    f64::MIN_POSITIVE,
    5.0e-324,
    f64::INFINITY,
];

/// Halves by their f16 bits: zeros, subnormals, the least normal number, ones, halves of integers,
/// the ends of the range of 8-bit floats and of 8- and 16-bit integers, infinity, and a NaN.
const F16: &[u16] = &[
    0x0000, 0x0001, 0x03ff, 0x0400, 0x0401, 0x1000, 0x1400, 0x2c00, 0x3555, 0x3800, 0x3bff, 0x3c00,
    0x3c01, 0x3e00, 0x4100, 0x4248, 0x5840, 0x57f0, 0x5f40, 0x5f00, 0x7000, 0x7b00, 0x7bff, 0x7c00,
    0x7e00,
];

/// The same kinds of numbers in bf16, and the ends of the range of 32- and 64-bit integers.
const BF16: &[u16] = &[
    0x0000, 0x0001, 0x007f, 0x0080, 0x0081, 0x3380, 0x3a80, 0x3e80, 0x3eab, 0x3f00, 0x3f7f, 0x3f80,
    0x3f81, 0x3fc0, 0x4020, 0x4049, 0x42fe, 0x4300, 0x437f, 0x4700, 0x4f00, 0x5f80, 0x7e80, 0x7f7f,
    0x7f80, 0x7fc0,
];

/// All edge values of a type.
pub fn of(ty: &str) -> Vec<u64> {
    let integers = |long: bool| {
        let mut all = INTEGERS.to_vec();
        if long {
            all.extend(LONG);
        }
        all
    };
    match ty {
        "f32" => {
            let both = SINGLES.iter().flat_map(|f| [*f, -*f]);
            both.chain([f32::NAN]).map(|f| u64::from(f.to_bits())).collect()
        }
        "f64" => {
            let both = DOUBLES.iter().flat_map(|f| [*f, -*f]);
            both.chain([f64::NAN]).map(f64::to_bits).collect()
        }
        "b64" => integers(true),
        "f16" | "bf16" => {
            let list = if ty == "f16" { F16 } else { BF16 };
            list.iter().flat_map(|x| [u64::from(*x), u64::from(x | 0x8000)]).collect()
        }
        "f16x2" | "bf16x2" => {
            let one = of(ty.trim_end_matches("x2"));
            // Each value in the low half once, with another one above.
            one.iter()
                .enumerate()
                .map(|(i, low)| one[(i * 7 + 3) % one.len()] << 16 | low)
                .collect()
        }
        _ => integers(false),
    }
}

/// A third of a type's values, for instructions of three operands.
pub fn few(ty: &str) -> Vec<u64> {
    of(ty).into_iter().step_by(3).collect()
}

/// The operands of every thread: all combinations of the values of each type.
pub fn combinations(types: &[&str]) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> =
        types.iter().map(|ty| if types.len() > 2 { few(ty) } else { of(ty) }).collect();
    let mut columns = vec![Vec::new(); types.len()];
    let total: usize = lists.iter().map(Vec::len).product();
    for i in 0..total {
        let mut rest = i;
        for (column, list) in columns.iter_mut().zip(&lists) {
            column.push(list[rest % list.len()]);
            rest /= list.len();
        }
    }
    columns
}
