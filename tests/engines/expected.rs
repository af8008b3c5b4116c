//! Single instructions and the values that the PTX ISA says they give, computed by hand: the
//! interpreter must give exactly these.
//!
//! A file of `tests/engines/expected` has lines `instruction | a b c > d`: `%a %b %c` are the
//! operands, `%d` the result, `%q` a predicate that becomes 1 or 0 and `%t` a 32-bit register for
//! what else there is. A line `types a b c > d` says the types of what follows: b16, b32, b64, f32
//! or f64; floats are written as numbers or as bits, `nan` is any NaN. `//` begins a comment.

use orias::launch::{Argument, Buffer, Launch};

#[derive(Clone, Debug)]
struct Row<'a> {
    line: usize,
    types: Vec<&'a str>,
    instruction: &'a str,
    inputs: Vec<u64>,
    /// None: any NaN.
    output: Option<u64>,
}

fn value(ty: &str, word: &str, line: usize) -> u64 {
    let bad = || panic!("line {line}: `{word}` is no {ty}");
    if let Some(hex) = word.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).unwrap_or_else(|_| bad());
    }
    match ty {
        "f32" => u64::from(
            word.parse::<f32>().unwrap_or_else(|_| panic!("line {line}: `{word}`")).to_bits(),
        ),
        "f64" => word.parse::<f64>().unwrap_or_else(|_| panic!("line {line}: `{word}`")).to_bits(),
        _ => {
            word.parse::<i64>().unwrap_or_else(|_| panic!("line {line}: `{word}`")) as u64
                & mask(ty)
        }
    }
}

fn width(ty: &str) -> u32 {
    match ty {
        "b16" => 16,
        "b64" | "f64" => 64,
        _ => 32,
    }
}

fn mask(ty: &str) -> u64 {
    u64::MAX >> (64 - width(ty))
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let mut types: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let line = line.split("//").next().unwrap_or("").trim();
        if let Some(list) = line.strip_prefix("types ") {
            types = list.split_whitespace().filter(|w| *w != ">").collect();
        } else if !line.is_empty() {
            let (instruction, values) =
                line.rsplit_once('|').unwrap_or_else(|| panic!("line {line_number}"));
            let (inputs, output) =
                values.split_once('>').unwrap_or_else(|| panic!("line {line_number}"));
            let inputs: Vec<u64> = inputs
                .split_whitespace()
                .zip(&types)
                .map(|(word, ty)| value(ty, word, line_number))
                .collect();
            let (output, ty) = (output.trim(), types[types.len() - 1]);
            let output = (output != "nan").then(|| value(ty, output, line_number));
            rows.push(Row {
                line: line_number,
                types: types.clone(),
                instruction: instruction.trim(),
                inputs,
                output,
            });
        }
    }
    rows
}

/// One kernel of all rows: each has 32 bytes of input and 8 of output.
fn kernel(rows: &[Row]) -> String {
    let register = |ty: &str| match ty {
        "f32" | "f64" => ty.to_string(),
        _ => format!("b{}", width(ty)),
    };
    let mut text = String::from(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pin, .param .u64 pout) {\n\
         .reg .b64 %in, %out; ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];\n",
    );
    for (i, row) in rows.iter().enumerate() {
        text += "{ .reg .pred %q; .reg .b32 %t;\n";
        let names = ["%a", "%b", "%c"];
        let (output, inputs) = row.types.split_last().expect("types");
        for (j, (name, ty)) in names.iter().zip(inputs).enumerate() {
            let ty = register(ty);
            text +=
                &format!(".reg .{ty} {name}; ld.global.{ty} {name}, [%in+{}];\n", 32 * i + 8 * j);
        }
        let ty = register(output);
        text += &format!(".reg .{ty} %d;\n{};\n", row.instruction);
        if row.instruction.contains("%q") {
            text += "selp.b32 %d, 1, 0, %q;\n";
        }
        text += &format!("st.global.{ty} [%out+{}], %d; }}\n", 8 * i);
    }
    text + "ret;\n}\n"
}

fn check(name: &str, text: &str) {
    let rows = rows(text);
    assert!(!rows.is_empty(), "{name} has no rows");
    let source = kernel(&rows);
    let program =
        orias::ptx::load(&source).unwrap_or_else(|e| panic!("{name}: {}", e.render(name, &source)));
    let input: Vec<u8> = rows
        .iter()
        .flat_map(|row| (0..4).flat_map(|i| row.inputs.get(i).copied().unwrap_or(0).to_le_bytes()))
        .collect();
    let buffer = |bytes: Vec<u8>| Argument::Buffer(Buffer { bytes, writable: true, output: None });
    let launch = Launch {
        entry: "k".to_string(),
        grid: [1; 3],
        block: [1; 3],
        args: vec![buffer(input), buffer(vec![0; 8 * rows.len()])],
        ..Launch::default()
    };
    let outcome =
        orias::interpret::run(&program, &source, &launch).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut wrong = String::new();
    for (row, got) in rows.iter().zip(outcome.buffers[1].chunks_exact(8)) {
        let got = u64::from_le_bytes(got.try_into().expect("8 bytes"));
        let is_nan = match row.types[row.types.len() - 1] {
            "f32" => f32::from_bits(got as u32).is_nan(),
            "f64" => f64::from_bits(got).is_nan(),
            _ => got & 0x7fff > 0x7c00,
        };
        if row.output.map_or(!is_nan, |want| want != got) {
            wrong += &format!(
                "line {}: `{}` of {:x?} gives {got:#x}, not {:x?}\n",
                row.line, row.instruction, row.inputs, row.output
            );
        }
    }
    assert!(wrong.is_empty(), "{name}\n{wrong}");
}

macro_rules! files {
    ($($name:ident)*) => {
        $(#[test] fn $name() {
            check(stringify!($name), include_str!(concat!("expected/", stringify!($name), ".txt")));
        })*
    };
}

files! { integers bits floats halves conversions video }
