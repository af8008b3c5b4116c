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
