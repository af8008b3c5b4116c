//! Running corpus cases: a compiler's cubin or the PTX itself, in one of the engines, compared with
//! the expected buffers.

use std::path::PathBuf;

use orias::launch::{Launch, Outcome};
use orias_targets::simulator::Limits;
use rayon::prelude::*;

use super::case::{Case, Suite};
use super::compiler::Compiler;
use super::gpu::Gpu;
use super::table::{Cell, Row, Table};

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Engine {
    /// The PTX itself; compilers and levels play no part.
    Interpreter,
    /// Cubins in the SASS simulator.
    Simulator,
    /// Cubins on the first GPU, with median kernel times.
    Gpu,
}

/// What makes a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    pub compiler: Compiler,
    pub opt: u8,
}

impl Variant {
    /// The name of the variant's folder of cubins.
    pub fn folder(self) -> String {
        format!("{}-O{}", self.compiler.name(), self.opt)
    }
}

/// Where cubins come from.
#[derive(Clone, Debug)]
pub enum Cubins {
    /// Compiled here and now.
    Compile,
    /// From a folder that `--build` wrote: `VARIANT/FOLDER.cubin`.
    Folder(PathBuf),
}

impl Cubins {
    pub fn cubin(&self, suite: &Suite, variant: Variant) -> Result<Vec<u8>, String> {
        match self {
            Cubins::Compile => variant.compiler.compile(&suite.ptx, variant.opt),
            Cubins::Folder(folder) => {
                let path = folder.join(variant.folder()).join(format!("{}.cubin", suite.name));
                std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
            }
        }
    }
}

/// Runs every case in every column.
///
/// # Errors
/// When there is no GPU for [`Engine::Gpu`]; what goes wrong with a case stands in its cell.
pub fn run(
    suites: &[Suite],
    engine: Engine,
    variants: &[Variant],
    cubins: &Cubins,
) -> Result<Table, String> {
    let columns = match engine {
        Engine::Interpreter => vec!["interpreter".to_string()],
        _ => variants.iter().map(|v| format!("{} -O{}", v.compiler.name(), v.opt)).collect(),
    };
    let rows: Vec<Vec<Row>> = match engine {
        Engine::Interpreter => suites.par_iter().map(interpret).collect(),
        Engine::Simulator => suites
            .par_iter()
            .map(|suite| {
                cells(suite, variants, cubins, &|cubin, launch| {
                    orias::simulate::simulate(cubin, launch, Limits::default())
                        .map(|outcome| (outcome, None))
                        .map_err(|error| error.to_string())
                })
            })
            .collect(),
        Engine::Gpu => {
            let gpu = Gpu::open()?;
            println!("{}", gpu.name());
            suites
                .iter()
                .map(|suite| {
                    cells(suite, variants, cubins, &|cubin, launch| gpu.run(cubin, launch))
                })
                .collect()
        }
    };
    Ok(Table { columns, rows: rows.into_iter().flatten().collect() })
}

/// A launch's outcome, with the median kernel time in microseconds where it was measured.
type Ran = Result<(Outcome, Option<f64>), String>;

fn cells(
    suite: &Suite,
    variants: &[Variant],
    cubins: &Cubins,
    run: &dyn Fn(&[u8], &Launch) -> Ran,
) -> Vec<Row> {
    let built: Vec<_> = variants.iter().map(|v| cubins.cubin(suite, *v)).collect();
    let row = |case: &Case| Row {
        name: format!("{}/{}", suite.name, case.name),
        cells: built
            .iter()
            .map(|cubin| match cubin {
                Ok(cubin) => cell(suite, case, &|launch| run(cubin, launch)),
                Err(error) => failed("NO CUBIN", error),
            })
            .collect(),
    };
    suite.cases.iter().map(row).collect()
}

fn interpret(suite: &Suite) -> Vec<Row> {
    let source = suite.source().map_err(|error| error.to_string());
    let loaded = source.as_ref().map_err(String::clone).and_then(|source| {
        let name = suite.ptx.display().to_string();
        orias::ptx::load(source)
            .map(|program| (program, source))
            .map_err(|errors| errors.render(&name, source))
    });
    let row = |case: &Case| {
        let result = match &loaded {
            Ok((program, source)) => cell(suite, case, &|launch| {
                orias::interpret::run(program, source, launch)
                    .map(|outcome| (outcome, None))
                    .map_err(|error| error.to_string())
            }),
            Err(error) => failed("BAD PTX", error),
        };
        Row { name: format!("{}/{}", suite.name, case.name), cells: vec![result] }
    };
    suite.cases.iter().map(row).collect()
}

fn failed(what: &'static str, error: impl ToString) -> Cell {
    Cell::Failed { what, details: vec![error.to_string()] }
}

fn cell(suite: &Suite, case: &Case, run: &dyn Fn(&Launch) -> Ran) -> Cell {
    let launch = match suite.launch(case) {
        Ok(launch) => launch,
        Err(error) => return failed("NO INPUT", error),
    };
    let (outcome, microseconds) = match run(&launch) {
        Ok(ran) => ran,
        Err(error) => return failed("ERROR", error),
    };
    match suite.verify(case, &launch, &outcome.buffers) {
        Ok(wrong) if wrong.is_empty() => Cell::Passed { microseconds },
        Ok(details) => Cell::Failed { what: "WRONG", details },
        Err(error) => failed("NO EXPECTATION", error),
    }
}
