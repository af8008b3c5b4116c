//! What to run a file's kernels on: the cases beside it (`case.json`), or the launch that stands in
//! NAME.json beside NAME.ptx (`tests/triton/launches.py`), whose buffers are filled here and whose
//! results are the PTX interpreter's.

use crate::setup::Random;
use orias::interpret;
use orias::launch::{Argument, Buffer, Launch, Scalar, parse_tensor};
use orias_runner::case::Suite;
use orias_runner::compare::{Compare, difference};
use serde_json::Value;
use std::ops::Range;
use std::path::Path;

/// The launches of a file.
pub enum Inputs {
    Suite(Suite),
    Made(Box<Made>),
}

/// A launch with the results that are right.
pub struct Made {
    pub launch: Launch,
    /// All buffers, in the order of the arguments; or why the interpreter has none.
    expected: Result<Vec<Vec<u8>>, String>,
    /// Which bytes of which buffer hold numbers of one type.
    parts: Vec<(usize, Range<usize>, Compare)>,
}

impl Inputs {
    /// None where nothing lies beside the file.
    ///
    /// # Errors
    /// When what lies there says no launch.
    pub fn beside(file: &Path, source: &str, max_steps: u64) -> Result<Option<Inputs>, String> {
        let folder = file.parent().unwrap_or(Path::new("."));
        if folder.join("case.json").is_file() {
            let suite = Suite::load(folder).map_err(|e| e.to_string())?;
            return Ok((suite.ptx == file).then_some(Inputs::Suite(suite)));
        }
        let described = file.with_extension("json");
        let Ok(text) = std::fs::read_to_string(&described) else { return Ok(None) };
        let bad = |why: String| format!("{}: {why}", described.display());
        let json: Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        if json["launch"].is_null() {
            return Ok(None);
        }
        let (launch, parts) = launch(&json).map_err(bad)?;
        let expected = interpreted(source, &launch, max_steps).and_then(|buffers| {
            let mut given = launch.args.iter().filter_map(|arg| match arg {
                Argument::Buffer(buffer) => Some(&buffer.bytes),
                _ => None,
            });
            let same = buffers.iter().all(|b| given.next() == Some(b));
            if same { Err("the launch changes nothing".to_string()) } else { Ok(buffers) }
        });
        Ok(Some(Inputs::Made(Box::new(Made { launch, expected, parts }))))
    }
}

impl Made {
    /// What is wrong with the buffers after a launch: a line for each type's part.
    pub fn verify(&self, buffers: &[Vec<u8>]) -> Vec<String> {
        let expected = match &self.expected {
            Ok(expected) => expected,
            Err(error) => return vec![format!("interpreter: {error}")],
        };
        let wrong = |(buffer, bytes, compare): &(usize, Range<usize>, Compare)| {
            let (got, want) = (&buffers[*buffer][bytes.clone()], &expected[*buffer][bytes.clone()]);
            let text = (got != want).then(|| difference(got, want, compare)).flatten()?;
            Some(format!("buffer {buffer} {text}"))
        };
        self.parts.iter().filter_map(wrong).collect()
    }
}

fn interpreted(source: &str, launch: &Launch, max_steps: u64) -> Result<Vec<Vec<u8>>, String> {
    let program = orias::ptx::load(source).map_err(|e| e.to_string())?;
    let limits = interpret::Limits { warp_instructions: max_steps, ..Default::default() };
    let outcome = interpret::run_limited(&program, source, launch, limits);
    outcome.map(|o| o.buffers).map_err(|e| e.to_string())
}

/// The launch, and the types of what its buffers hold.
#[allow(clippy::type_complexity)]
fn launch(json: &Value) -> Result<(Launch, Vec<(usize, Range<usize>, Compare)>), String> {
    let number = |of: &Value, key: &str| of[key].as_u64().ok_or(format!("no number `{key}`"));
    let text = |of: &Value, key: &str| {
        of[key].as_str().map(str::to_string).ok_or(format!("no text `{key}`"))
    };
    let described = &json["launch"];
    let parameters = described["parameters"].as_array().ok_or("no parameters")?;
    let mut grid = [1; 3];
    for (i, to) in grid.iter_mut().enumerate() {
        *to = described["grid"][i].as_u64().ok_or("no grid")? as u32;
    }
    let (mut args, mut parts, mut buffers) = (Vec::new(), Vec::new(), 0);
    // Tensors of maps lie in one buffer, which the first of Triton's two pointers to scratch memory
    // names.
    let scratch = parameters.len();
    let mut tensors: Vec<u8> = Vec::new();
    let mut maps = Vec::new();
    for (index, parameter) in parameters.iter().enumerate() {
        let ty = text(parameter, "type")?;
        let mut random = Random(0x1234_5678 + 0x1_0001 * index as u64);
        if let Some(dims) = parameter["map"].as_array() {
            let dims: Vec<u64> = dims.iter().filter_map(Value::as_u64).collect();
            let sizes: Vec<u64> = (0..2).filter_map(|i| parameter["box"][i].as_u64()).collect();
            let ([rows, cols], [high, wide]) = (&dims[..], &sizes[..]) else {
                return Err(format!("parameter {index}: a map of two directions is wanted"));
            };
            let swizzle = match number(parameter, "swizzle")? {
                0 => String::new(),
                code => format!(",swizzle={}", 16 << code),
            };
            let element = match ty.as_str() {
                "fp16" => "f16",
                "bf16" => "bf16",
                "fp32" => "f32",
                _ => "u8",
            };
            let offset = tensors.len().next_multiple_of(256);
            tensors.resize(offset, 0);
            let map =
                format!("{scratch},{element},{cols}x{rows},{wide}x{high}{swizzle},offset={offset}");
            args.push(Argument::Tensor(parse_tensor(&map).map_err(|e| e.to_string())?));
            tensors.extend(numbers(&ty, rows * cols, &Value::Null, &mut random)?);
            maps.push((offset..tensors.len(), tolerance(&ty)?));
        } else if parameter["count"].is_u64() {
            let count = number(parameter, "count")?;
            let bytes = numbers(&ty, count, parameter, &mut random)?;
            parts.push((buffers, 0..bytes.len(), tolerance(&ty)?));
            buffers += 1;
            args.push(Argument::Buffer(Buffer { bytes, writable: true, output: None }));
        } else {
            let value = &parameter["value"];
            let integer = || value.as_i64().ok_or(format!("parameter {index} is no integer"));
            args.push(Argument::Scalar(match ty.as_str() {
                "i32" => Scalar::S32(integer()? as i32),
                "i64" => Scalar::S64(integer()?),
                "fp32" => Scalar::F32(value.as_f64().ok_or("no number")? as f32),
                other => return Err(format!("parameter {index}: no scalar is of type {other}")),
            }));
        }
    }
    parts.extend(maps.into_iter().map(|(range, compare)| (buffers, range, compare)));
    let programs = grid.iter().map(|n| u64::from(*n)).product::<u64>();
    let bytes = number(json, "global_scratch")? * programs;
    args.push(if tensors.is_empty() && bytes == 0 {
        Argument::Scalar(Scalar::U64(0))
    } else {
        tensors.resize(tensors.len() + bytes as usize, 0);
        Argument::Buffer(Buffer { bytes: tensors, writable: true, output: None })
    });
    args.push(Argument::Scalar(Scalar::U64(0)));
    let launch = Launch {
        entry: text(json, "entry")?,
        grid,
        block: [number(json, "block")? as u32, 1, 1],
        dynamic_shared: number(json, "shared")?,
        args,
        ..Launch::default()
    };
    Ok((launch, parts))
}

/// How near results must be: both engines add in another order than a formula, and approximate
/// functions differ in their last bits.
fn tolerance(ty: &str) -> Result<Compare, String> {
    let (ty, near) = match ty {
        "fp16" => ("f16", 1e-2),
        "bf16" => ("bf16", 3e-2),
        "fp32" => ("f32", 1e-3),
        "fp64" => ("f64", 1e-9),
        _ => match size(ty)? {
            1 => ("u8", 0.0),
            2 => ("u16", 0.0),
            4 => ("u32", 0.0),
            _ => ("u64", 0.0),
        },
    };
    Ok(Compare { ty: ty.to_string(), rtol: near, atol: near })
}

fn size(ty: &str) -> Result<usize, String> {
    Ok(match ty {
        "i8" | "u8" | "i1" | "fp8e4nv" | "fp8e5" | "fp8e4b15" => 1,
        "i16" | "u16" | "fp16" | "bf16" => 2,
        "i32" | "u32" | "fp32" => 4,
        "i64" | "u64" | "fp64" => 8,
        other => return Err(format!("no buffer is of type {other}")),
    })
}

/// `count` numbers of a type: what `content` says (`fill`, `values`, `below`, `range`), or random
/// ones.
fn numbers(ty: &str, count: u64, content: &Value, random: &mut Random) -> Result<Vec<u8>, String> {
    let size = size(ty)?;
    let mut bytes = Vec::with_capacity(count as usize * size);
    for index in 0..count as usize {
        let chance = random.word();
        let between =
            |low: i64, high: i64| (low + (chance >> 8) as i64 % (high - low).max(1)) as f64;
        let given = if let Some(top) = content["below"].as_i64() {
            Some(between(0, top))
        } else if let (Some(low), Some(high)) =
            (content["range"][0].as_i64(), content["range"][1].as_i64())
        {
            Some(between(low, high))
        } else if content["fill"].is_number() {
            content["fill"].as_f64()
        } else {
            content["values"][index].as_f64()
        };
        let bits = match given {
            Some(value) => encoded(ty, value)?,
            None => any(ty, chance),
        };
        bytes.extend(&bits.to_le_bytes()[..size]);
    }
    Ok(bytes)
}

/// A number's bits.
fn encoded(ty: &str, value: f64) -> Result<u64, String> {
    Ok(match ty {
        "fp64" => value.to_bits(),
        "fp32" => u64::from((value as f32).to_bits()),
        "bf16" => u64::from((value as f32).to_bits() >> 16),
        _ if ty.starts_with("fp") && value == 0.0 => 0,
        _ if ty.starts_with("fp") => return Err(format!("{value} of type {ty} is not known here")),
        _ => value as i64 as u64,
    })
}

/// Random bits; of floats with a magnitude of about one.
fn any(ty: &str, chance: u64) -> u64 {
    let float = |exponent: u32, mantissa: u32, one: u64| {
        let sign = chance >> 63 << (exponent + mantissa);
        let near = one - 3 + (chance >> 58) % 4;
        sign | near << mantissa | chance & ((1 << mantissa) - 1)
    };
    match ty {
        "fp64" => float(11, 52, 1023),
        "fp32" => float(8, 23, 127),
        "fp16" => float(5, 10, 15),
        "bf16" => float(8, 7, 127),
        "fp8e4nv" => float(4, 3, 7),
        "fp8e5" => float(5, 2, 15),
        "fp8e4b15" => float(4, 3, 14),
        _ => chance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).expect("an object")
    }

    #[test]
    fn contents_are_what_is_asked_for() {
        let all = |ty, text: &str| numbers(ty, 4, &value(text), &mut Random(1)).expect("numbers");
        assert_eq!(all("u8", r#"{"values": [1, 2, -1, 4]}"#), [1, 2, 0xff, 4]);
        assert_eq!(all("fp32", r#"{"fill": 0.5}"#), [0, 0, 0, 0x3f].repeat(4));
        assert!(all("u8", r#"{"below": 3}"#).iter().all(|n| *n < 3));
        let range = all("u8", r#"{"range": [5, 7]}"#);
        assert!(range.iter().all(|n| (5..7).contains(n)), "{range:?}");
        for bytes in numbers("fp32", 100, &Value::Null, &mut Random(1)).expect("numbers").chunks(4)
        {
            let number = f32::from_le_bytes(bytes.try_into().expect("four bytes"));
            assert!((0.125..2.0).contains(&number.abs()), "{number}");
        }
    }

    const COPY: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a, \
                        .param .u64 s, .param .u64 p) {\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n\
                        ld.param.u64 %rd1, [a];\nld.global.u32 %r1, [%rd1];\n\
                        st.global.u32 [%rd1+4], %r1;\nret;\n}\n";

    fn beside(name: &str, values: &str) -> Made {
        let file = std::env::temp_dir().join(format!("orias-{name}-{}.ptx", std::process::id()));
        let json = file.with_extension("json");
        let text = format!(
            r#"{{"entry": "k", "block": 32, "shared": 0, "global_scratch": 0, "launch": {{"grid": [1, 1, 1],
                "parameters": [{{"type": "i32", "count": 2, "values": {values}}}]}}}}"#
        );
        std::fs::write(&json, text).expect("a file");
        let found = Inputs::beside(&file, COPY, 1000);
        let _ = std::fs::remove_file(&json);
        match found {
            Ok(Some(Inputs::Made(made))) => *made,
            _ => panic!("no launch"),
        }
    }

    #[test]
    fn results_are_held_against_the_interpreter() {
        let made = beside("results", "[7, 8]");
        let right = [7, 0, 0, 0, 7, 0, 0, 0].to_vec();
        assert!(made.verify(&[right]).is_empty());
        let wrong = made.verify(&[vec![7, 0, 0, 0, 6, 0, 0, 0]]);
        assert_eq!(wrong, ["buffer 0 [1] is 0x6, expected 0x7 (1 of 2 elements are wrong)"]);
    }

    #[test]
    fn a_launch_that_changes_nothing_proves_nothing() {
        let wrong = beside("nothing", "[7, 7]").verify(&[vec![7, 0, 0, 0, 7, 0, 0, 0]]);
        assert_eq!(wrong, ["interpreter: the launch changes nothing"]);
    }

    #[test]
    fn a_launch_is_read() {
        let json = value(
            r#"{"entry": "k", "block": 128, "shared": 64, "global_scratch": 0, "launch": {"grid": [2, 1, 1],
                "parameters": [{"map": [8, 64], "type": "fp16", "box": [8, 64], "swizzle": 3},
                               {"type": "fp32", "count": 3}, {"type": "i32", "value": -5}]}}"#,
        );
        let (launch, parts) = launch(&json).expect("a launch");
        assert_eq!(
            (launch.block, launch.grid, launch.dynamic_shared),
            ([128, 1, 1], [2, 1, 1], 64)
        );
        assert_eq!(launch.args[2], Argument::Scalar(Scalar::S32(-5)));
        assert!(
            matches!(&launch.args[0], Argument::Tensor(t) if t.buffer == 3 && t.map.swizzle == 3)
        );
        let of = |i: usize| (parts[i].0, parts[i].1.clone(), parts[i].2.ty.as_str());
        assert_eq!((of(0), of(1)), ((0, 0..12, "f32"), (1, 0..1024, "f16")));
    }
}
