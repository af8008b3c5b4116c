//! Each instruction that the compiler lowers, on edge values: the interpreter, the simulator on our
//! cubin at -O0 and -O3, and the simulator on ptxas's cubin must agree bit for bit. NaNs of any
//! payload are equal. The approximate functions are measured against ptxas's code, which they must
//! equal bit for bit; the interpreter rounds differently on its way and only has to be near.
//!
//! A group is a signature, `inputs > output`, and instructions with the operands `%a %b %c` and the
//! result `%d`; `%q` is a predicate that becomes 1 or 0. One kernel runs all instructions of a
//! group on all combinations of its inputs' values.

mod beyond;
mod instructions;
mod narrow;
mod scalar;
mod values;

use beyond::BEYOND;
use instructions::{GROUPS, Group};
use narrow::NARROW;
use orias::driver::{CompileOptions, compile_source};
use orias::launch::{Argument, Buffer, Launch, Scalar};
use orias_isa::reference;
use orias_targets::simulator::Limits;
use scalar::SCALAR;
use std::fmt::Write;

/// The register class of a type in the signature and the width of its memory access.
fn class(ty: &str) -> (&'static str, &'static str) {
    match ty {
        "b16" | "f16" | "bf16" => ("b16", "u16"),
        "b64" => ("b64", "u64"),
        "f32" => ("f32", "f32"),
        "f64" => ("f64", "f64"),
        _ => ("b32", "u32"),
    }
}

/// One kernel for all instructions of a group. Inputs and results are 8 bytes apart.
fn kernel(group: &Group) -> String {
    let mut text = String::from(
        ".version 9.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po, .param .u32 pn)\n{\n\
         .reg .b32 %i, %n, %t; .reg .b64 %pa, %pb, %pc, %po, %off; .reg .pred %out, %q;\n",
    );
    for (name, ty) in ["a", "b", "c"].iter().zip(group.inputs) {
        let _ = writeln!(text, ".reg .{} %{name};", class(ty).0);
    }
    let _ = writeln!(text, ".reg .{} %d<{}>;", class(group.output).0, group.instructions.len());
    text.push_str(
        "mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x; mad.lo.s32 %i, %i, %n, %t;\n\
         ld.param.u32 %n, [pn]; setp.ge.u32 %out, %i, %n; @%out ret;\n\
         mul.wide.u32 %off, %i, 8;\n\
         ld.param.u64 %pa, [pa]; ld.param.u64 %pb, [pb]; ld.param.u64 %pc, [pc]; ld.param.u64 %po, [po];\n\
         add.s64 %pa, %pa, %off; add.s64 %pb, %pb, %off; add.s64 %pc, %pc, %off; add.s64 %po, %po, %off;\n",
    );
    for (name, ty) in ["a", "b", "c"].iter().zip(group.inputs) {
        let _ = writeln!(text, "ld.global.{} %{name}, [%p{name}];", class(ty).1);
    }
    let _ = writeln!(text, "mul.wide.u32 %off, %n, 8;");
    for (i, instruction) in group.instructions.iter().enumerate() {
        let d = format!("%d{i}");
        let scoped = instruction.starts_with('{') && instruction.ends_with('}');
        let end = if scoped { "" } else { ";" };
        let _ = writeln!(text, "{}{end}", instruction.replace("%d", &d));
        if instruction.contains("%q") {
            let _ = writeln!(text, "selp.u32 {d}, 1, 0, %q;");
        }
        let _ = writeln!(
            text,
            "st.global.{} [%po], {d}; add.s64 %po, %po, %off;",
            class(group.output).1
        );
    }
    text.push_str("ret;\n}\n");
    text
}

fn launch(group: &Group, columns: &[Vec<u64>]) -> Launch {
    let threads = columns[0].len();
    let mut args: Vec<Argument> = (0..3)
        .map(|i| {
            let column = columns.get(i).unwrap_or(&columns[0]);
            let bytes = column.iter().flat_map(|v| v.to_le_bytes()).collect();
            Argument::Buffer(Buffer { bytes, writable: false, output: None })
        })
        .collect();
    let bytes = vec![0; 8 * threads * group.instructions.len()];
    args.push(Argument::Buffer(Buffer { bytes, writable: true, output: None }));
    args.push(Argument::Scalar(Scalar::U32(threads as u32)));
    Launch {
        entry: "k".into(),
        grid: [threads.div_ceil(128) as u32, 1, 1],
        block: [128, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        args,
    }
}

/// Results by instruction and thread.
fn results(bytes: &[u8], threads: usize) -> Vec<Vec<u64>> {
    let words = bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("8 bytes")));
    words.collect::<Vec<u64>>().chunks(threads).map(<[u64]>::to_vec).collect()
}

/// Whether two results are the same; NaNs are, whatever their bits.
fn same(ty: &str, x: u64, y: u64) -> bool {
    let both_nan = |is_nan: fn(u64) -> bool| is_nan(x) && is_nan(y);
    x == y
        || match ty {
            "f32" => both_nan(|x| f32::from_bits(x as u32).is_nan()),
            "f64" => both_nan(|x| f64::from_bits(x).is_nan()),
            "f16" => both_nan(|x| x & 0x7fff > 0x7c00),
            "bf16" => both_nan(|x| x & 0x7fff > 0x7f80),
            "f16x2" | "bf16x2" => {
                let one = ty.trim_end_matches("x2");
                same(one, x & 0xffff, y & 0xffff) && same(one, x >> 16, y >> 16)
            }
            _ => false,
        }
}

fn simulated(cubin: &[u8], launch: &Launch, threads: usize) -> Result<Vec<Vec<u64>>, String> {
    let outcome = orias::simulate::simulate(cubin, launch, Limits::default());
    outcome.map(|o| results(&o.buffers[3], threads)).map_err(|e| e.to_string())
}

fn ptxas(source: &str, name: &str) -> Option<Vec<u8>> {
    let tool = orias_runner::oracle::tool("ptxas")?;
    let cubin = reference::ptxas(&tool, "sm_90a", source, &["-O1"]);
    Some(cubin.unwrap_or_else(|e| panic!("{name}: {e}")))
}

/// Instructions that are not measured against an engine, and why that is accepted.
const ACCEPTED: &[(&str, &str, &str)] = &[
    (
        "ptxas",
        "div.rn.ftz.f32 %d, %a, %b",
        "a subnormal quotient that rounds up to the least normal number: ptxas flushes first, PTX leaves it open",
    ),
    (
        "ptxas",
        "cvt.rna.tf32.f32 %d, %a",
        "which NaN comes out is open; the result's type hides that it is one",
    ),
    (
        "interpreter",
        "cvt.rna.tf32.f32 %d, %a",
        "which NaN comes out is open; the result's type hides that it is one",
    ),
];

/// ptxas's results. Where the simulator does not know an instruction of the whole kernel's code,
/// each PTX instruction gets a kernel of its own, and those that still cannot run are printed and
/// None.
fn ptxas_results(group: &Group, columns: &[Vec<u64>]) -> Option<Vec<Option<Vec<u64>>>> {
    let threads = columns[0].len();
    let cubin = ptxas(&kernel(group), group.name)?;
    if let Ok(all) = simulated(&cubin, &launch(group, columns), threads) {
        return Some(all.into_iter().map(Some).collect());
    }
    let mut results = Vec::new();
    for i in 0..group.instructions.len() {
        let one = Group { instructions: &group.instructions[i..=i], ..*group };
        let cubin = ptxas(&kernel(&one), group.name)?;
        results.push(match simulated(&cubin, &launch(&one, columns), threads) {
            Ok(mut one) => Some(one.remove(0)),
            Err(error) => {
                eprintln!("not compared with ptxas: `{}`: {error}", group.instructions[i]);
                None
            }
        });
    }
    Some(results)
}

/// Whether two approximations are as near as two ways of rounding them.
fn near(ty: &str, x: u64, y: u64) -> bool {
    match ty {
        "f32" => {
            let (x, y) = (f32::from_bits(x as u32), f32::from_bits(y as u32));
            (x - y).abs() <= x.abs() * 4e-7 + 2e-38
        }
        "f16" | "bf16" => x.abs_diff(y) <= 1,
        "f16x2" | "bf16x2" => {
            (x & 0xffff).abs_diff(y & 0xffff) <= 1 && (x >> 16).abs_diff(y >> 16) <= 1
        }
        _ => false,
    }
}

/// Every disagreement of one engine with what is expected, one line an instruction.
fn differences(
    group: &Group,
    columns: &[Vec<u64>],
    engine: &str,
    (against, expected): (&str, &[Option<Vec<u64>>]),
    got: &[Vec<u64>],
) -> Vec<String> {
    let mut lines = Vec::new();
    let loose =
        matches!(group.name, "approximations" | "half_approximations") && against == "interpreter";
    for (k, instruction) in group.instructions.iter().enumerate() {
        let Some(expected) = &expected[k] else { continue };
        if ACCEPTED.iter().any(|(engine, text, _)| *engine == against && text == instruction) {
            continue;
        }
        let same = |i: &usize| {
            let (x, y) = (expected[*i], got[k][*i]);
            same(group.output, x, y) || loose && near(group.output, x, y)
        };
        let wrong: Vec<usize> = (0..columns[0].len()).filter(|i| !same(i)).collect();
        if let Some(&i) = wrong.first() {
            let inputs: Vec<String> = columns.iter().map(|c| format!("{:#x}", c[i])).collect();
            lines.push(format!(
                "{engine}: `{instruction}` differs on {} of {}: ({}) gives {:#x}, {against} {:#x}",
                wrong.len(),
                columns[0].len(),
                inputs.join(", "),
                got[k][i],
                expected[i],
            ));
        }
    }
    lines
}

fn groups() -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().chain(NARROW).chain(SCALAR)
}

fn check(name: &str) {
    let mut failures = Vec::new();
    for group in groups().filter(|g| g.name == name) {
        let source = kernel(group);
        let columns = values::combinations(group.inputs);
        let launch = launch(group, &columns);
        let threads = columns[0].len();
        let program =
            orias::ptx::load(&source).unwrap_or_else(|e| panic!("{}", e.render(name, &source)));
        let interpreted: Vec<_> = match orias::interpret::run(&program, &source, &launch) {
            Ok(outcome) => results(&outcome.buffers[3], threads).into_iter().map(Some).collect(),
            Err(error) => panic!("{name}: {error}"),
        };
        // ptxas's code for video instructions is wrong in places: src/ptx/README.md.
        let reference =
            if name.starts_with("video") { None } else { ptxas_results(group, &columns) };
        for opt_level in [0, 3] {
            let options = CompileOptions { opt_level, fmad: false, ..CompileOptions::default() };
            let cubin = compile_source(&source, &options)
                .unwrap_or_else(|e| panic!("{}", e.render(name, &source)))
                .cubin;
            let engine = format!("orias -O{opt_level}");
            match simulated(&cubin, &launch, threads) {
                Ok(got) => {
                    let against = ("interpreter", &interpreted[..]);
                    failures.extend(differences(group, &columns, &engine, against, &got));
                    if let Some(reference) = &reference {
                        let against = ("ptxas", &reference[..]);
                        failures.extend(differences(group, &columns, &engine, against, &got));
                    }
                }
                Err(error) => failures.push(format!("{engine}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{name}\n{}", failures.join("\n"));
}

/// Each instruction of [`BEYOND`]: the interpreter against ptxas's code.
#[test]
fn instructions_beyond_the_compiler() {
    let mut failures = Vec::new();
    for group in BEYOND {
        let source = kernel(group);
        let columns = values::combinations(group.inputs);
        let launch = launch(group, &columns);
        let threads = columns[0].len();
        let program = orias::ptx::load(&source)
            .unwrap_or_else(|e| panic!("{}", e.render(group.name, &source)));
        let interpreted = orias::interpret::run(&program, &source, &launch)
            .unwrap_or_else(|e| panic!("{}: {e}", group.name));
        let interpreted = results(&interpreted.buffers[3], threads);
        let Some(cubin) = ptxas(&source, group.name) else { return };
        let simulated =
            simulated(&cubin, &launch, threads).unwrap_or_else(|e| panic!("{}: {e}", group.name));
        let simulated: Vec<_> = simulated.into_iter().map(Some).collect();
        let against = ("ptxas", &simulated[..]);
        failures.extend(differences(group, &columns, "interpreter", against, &interpreted));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

macro_rules! groups {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn every_group_has_a_test() {
            let tested = [$(stringify!($name)),*];
            for group in groups() {
                assert!(tested.contains(&group.name), "{} is in no test", group.name);
            }
        }
    };
}

groups! {
    integers_32 integers_64 integers_16 products shifts bit_fields counts comparisons selection
    division_32 division_64 conversions_integer conversions_float floats doubles approximations
    rounded_functions packing carries
    halves half_pairs half_comparisons half_approximations half_conversions narrow_floats
    video video_lanes packed_integers saturated_products searches
}
