//! Every approximate instruction of the interpreter stays inside the error that PTX ISA 9.0 allows
//! it, over a sweep of its range.

use orias::launch::{Argument, Buffer, Launch};

/// How far a result may be off.
#[derive(Clone, Copy)]
enum Bound {
    Relative(f64),
    Absolute(f64),
    /// Units in the last place of an f32.
    Ulps(f64),
}

impl Bound {
    fn holds(self, got: f64, exact: f64) -> bool {
        let error = (got - exact).abs();
        match self {
            Bound::Relative(bound) => error <= bound * exact.abs(),
            Bound::Absolute(bound) => error <= bound,
            Bound::Ulps(bound) => {
                let exponent = exact.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor();
                error <= bound * (exponent - 23.0).exp2()
            }
        }
    }
}

const SAMPLES: usize = 2048;

/// Values from `low` to `high`, evenly by logarithm where both are positive.
fn sweep(low: f64, high: f64) -> Vec<f64> {
    let step = |i: usize| i as f64 / (SAMPLES - 1) as f64;
    (0..SAMPLES)
        .map(|i| {
            if low > 0.0 { low * (high / low).powf(step(i)) } else { low + (high - low) * step(i) }
        })
        .collect()
}

/// Runs `instruction %d, %a` (or the instruction as it is, if it names %d) for all values, which
/// are rounded to `ty` first; the operands as they were and the results.
fn run(instruction: &str, ty: &str, values: &[f64]) -> Vec<(f64, f64)> {
    let double = ty == "f64";
    let (bytes, narrow, wide) = match ty {
        "f64" => (8, String::new(), String::new()),
        "f32" => (4, String::new(), String::new()),
        _ => (
            4,
            format!("cvt.rn.{ty}.f32 %h, %a; "),
            format!("cvt.f32.{ty} %d, %h; cvt.f32.{ty} %a, %g; "),
        ),
    };
    let register = if double { "f64" } else { "f32" };
    let operation = match ty {
        _ if instruction.contains("%d") => format!("{instruction}; "),
        "f32" | "f64" => format!("{instruction} %d, %a; "),
        _ => format!("mov.b16 %g, %h; {instruction} %h, %h; "),
    };
    let source = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) {{\n\
         .reg .b64 %p, %q, %o; .reg .b32 %t, %n; .reg .{register} %a, %d; .reg .b16 %h, %g;\n\
         ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; mov.u32 %t, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %t, %t, 128, %n;\n\
         mul.wide.u32 %o, %t, {bytes}; add.u64 %p, %p, %o; add.u64 %q, %q, %o;\n\
         ld.global.{register} %a, [%p]; {narrow}{operation}{wide}st.global.{register} [%p], %a; st.global.{register} [%q], %d; ret;\n}}\n"
    );
    let program =
        orias::ptx::load(&source).unwrap_or_else(|e| panic!("{}", e.render("k.ptx", &source)));
    let encode = |x: &f64| {
        if double { x.to_le_bytes().to_vec() } else { (*x as f32).to_le_bytes().to_vec() }
    };
    let buffer = |bytes: Vec<u8>| Argument::Buffer(Buffer { bytes, writable: true, output: None });
    let launch = Launch {
        entry: "k".to_string(),
        grid: [(values.len() / 128) as u32, 1, 1],
        block: [128, 1, 1],
        args: vec![
            buffer(values.iter().flat_map(encode).collect()),
            buffer(vec![0; values.len() * bytes]),
        ],
        ..Launch::default()
    };
    let outcome = orias::interpret::run(&program, &source, &launch)
        .unwrap_or_else(|e| panic!("{instruction}: {e}"));
    let decode = |bytes: &[u8]| match bytes.try_into() {
        Ok(all) => f64::from_le_bytes(all),
        Err(_) => f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
    };
    let [a, d] =
        [0, 1].map(|i| outcome.buffers[i].chunks_exact(bytes).map(decode).collect::<Vec<f64>>());
    a.into_iter().zip(d).collect()
}

/// Instruction, type, the exact function, its range of inputs, and the bound.
type Case = (&'static str, &'static str, fn(f64) -> f64, (f64, f64), Bound);

#[test]
fn every_approximation_stays_inside_the_bound_of_the_isa() {
    let turn = std::f64::consts::TAU;
    let power = |n: f64| n.exp2();
    let cases: &[Case] = &[
        ("rcp.approx.f32", "f32", |x| 1.0 / x, (1e-37, 1e37), Bound::Ulps(1.0)),
        ("rcp.approx.ftz.f32", "f32", |x| 1.0 / x, (1e-37, 1e37), Bound::Ulps(1.0)),
        ("sqrt.approx.f32", "f32", f64::sqrt, (1e-44, 1e38), Bound::Relative(power(-23.0))),
        ("sqrt.approx.ftz.f32", "f32", f64::sqrt, (1e-37, 1e38), Bound::Relative(power(-23.0))),
        (
            "rsqrt.approx.f32",
            "f32",
            |x| 1.0 / x.sqrt(),
            (1e-44, 1e38),
            Bound::Relative(power(-22.9)),
        ),
        (
            "rsqrt.approx.ftz.f32",
            "f32",
            |x| 1.0 / x.sqrt(),
            (1e-37, 1e38),
            Bound::Relative(power(-22.9)),
        ),
        ("sin.approx.f32", "f32", f64::sin, (-turn, turn), Bound::Absolute(power(-20.5))),
        ("sin.approx.ftz.f32", "f32", f64::sin, (-turn, turn), Bound::Absolute(power(-20.5))),
        ("cos.approx.f32", "f32", f64::cos, (-turn, turn), Bound::Absolute(power(-20.5))),
        ("cos.approx.ftz.f32", "f32", f64::cos, (-turn, turn), Bound::Absolute(power(-20.5))),
        ("lg2.approx.f32", "f32", f64::log2, (0.5, 2.0), Bound::Absolute(power(-22.0))),
        ("lg2.approx.f32", "f32", f64::log2, (2.01, 1e38), Bound::Relative(power(-22.0))),
        ("lg2.approx.ftz.f32", "f32", f64::log2, (1e-37, 0.49), Bound::Relative(power(-22.0))),
        ("ex2.approx.f32", "f32", f64::exp2, (-126.0, 127.0), Bound::Ulps(2.0)),
        ("ex2.approx.ftz.f32", "f32", f64::exp2, (-126.0, 127.0), Bound::Ulps(2.0)),
        ("tanh.approx.f32", "f32", f64::tanh, (-9.0, 9.0), Bound::Relative(power(-11.0))),
        ("ex2.approx.f16", "f16", f64::exp2, (-14.0, 15.9), Bound::Relative(power(-9.9))),
        ("ex2.approx.ftz.bf16", "bf16", f64::exp2, (-100.0, 100.0), Bound::Relative(power(-7.0))),
        ("tanh.approx.f16", "f16", f64::tanh, (-5.0, 5.0), Bound::Absolute(power(-10.987))),
        ("tanh.approx.bf16", "bf16", f64::tanh, (-5.0, 5.0), Bound::Absolute(power(-8.0))),
        // Of the operand only the upper word counts: 2^-20 of its value, and the result's lower
        // word is zero.
        ("rcp.approx.ftz.f64", "f64", |x| 1.0 / x, (1e-300, 1e300), Bound::Relative(power(-19.0))),
        (
            "rsqrt.approx.ftz.f64",
            "f64",
            |x| 1.0 / x.sqrt(),
            (1e-300, 1e300),
            Bound::Relative(power(-19.0)),
        ),
        (
            "rsqrt.approx.f64",
            "f64",
            |x| 1.0 / x.sqrt(),
            (1e-300, 1e300),
            Bound::Relative(power(-50.0)),
        ),
    ];
    let mut wrong = String::new();
    for (instruction, ty, exact, (low, high), bound) in cases {
        for (x, got) in run(instruction, ty, &sweep(*low, *high)) {
            if !bound.holds(got, exact(x)) {
                wrong += &format!("{instruction} of {x:e} gives {got:e}, exactly {:e}\n", exact(x));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn quotients_stay_inside_two_units_of_the_last_place() {
    // div.approx where the divisor is between 2^-126 and 2^126, div.full everywhere.
    for opcode in ["div.approx.f32", "div.full.f32", "div.approx.ftz.f32", "div.full.ftz.f32"] {
        let instruction = format!("{opcode} %d, 0f40490FDB, %a");
        for (x, got) in run(&instruction, "f32", &sweep(1e-30, 1e30)) {
            let exact = f64::from(std::f32::consts::PI) / x;
            assert!(
                Bound::Ulps(2.0).holds(got, exact),
                "{opcode} by {x:e} gives {got:e}, exactly {exact:e}"
            );
        }
    }
}
