//! Every kernel of the corpus folders that the compiler must handle is lowered and legalized: each
//! instruction then has a row in the target's table, and a second legalization changes nothing.

use orias::lower::{self, LowerOptions};
use orias::ptx;
use orias::ptx::program::FuncId;
use orias_components::{Function, validate::validate};
use orias_runner::folders::LINE;
use orias_systems::expand::macros;
use orias_systems::legalize::operands;
use orias_systems::{Report, testing};
use orias_targets::target;
use std::path::Path;

fn options(opt_level: u8) -> LowerOptions {
    LowerOptions { target: target("sm_90a").expect("target"), opt_level, fmad: true }
}

/// Lowers and legalizes every kernel of a PTX text; what goes wrong, in words.
fn problems(source: &str, opt_level: u8) -> Vec<String> {
    let program = match ptx::load(source) {
        Ok(program) => program,
        Err(errors) => return vec![format!("{errors:?}")],
    };
    let module = match lower::module(&program, &options(opt_level)) {
        Ok(module) => module,
        Err(errors) => return errors.iter().map(|d| d.message.clone()).collect(),
    };
    let mut problems = Vec::new();
    for (i, function) in program.functions.iter().enumerate() {
        if !function.defined {
            continue;
        }
        let mut unit = testing::function();
        let id = FuncId(i as u32);
        if let Err(errors) = lower::function(&program, &module, (id, function), id, unit.body()) {
            problems.extend(errors.iter().map(|d| format!("{}: {}", function.name, d.message)));
            continue;
        }
        let mut check = |what: &str, unit: &mut Function| {
            if let Err(invalid) = validate(&unit.body()) {
                problems.push(format!("{} after {what}: {invalid}", function.name));
            }
            for error in std::mem::take(&mut unit.world().resource_mut::<Report>().errors) {
                problems.push(format!("{} after {what}: {}", function.name, error.message));
            }
        };
        check("lowering", &mut unit);
        unit.run(macros::create_macro_insts);
        unit.run(macros::late_expansion);
        check("macro expansion", &mut unit);
        unit.run(operands::enforce_argument_restrictions);
        check("legalization", &mut unit);
        unit.run(operands::final_inspection);
        check("inspection", &mut unit);
        unit.world().resource_mut::<Report>().rewrites = 0;
        unit.run(operands::enforce_argument_restrictions);
        let again = unit.world().resource::<Report>().rewrites;
        if again != 0 {
            problems.push(format!("{}: {again} changes by a second legalization", function.name));
        }
    }
    problems
}

fn corpus_ptx(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    files.iter().map(|path| std::fs::read_to_string(path).expect("readable PTX")).collect()
}

#[test]
fn every_kernel_of_the_folders_is_lowered_to_legal_instructions() {
    let mut failures = Vec::new();
    for folder in LINE {
        for source in corpus_ptx(folder) {
            for level in [0, 3] {
                let found = problems(&source, level);
                failures.extend(found.into_iter().map(|p| format!("{folder} -O{level}: {p}")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_has_no_lowering_is_an_error_that_names_the_instruction() {
    let source = ".version 8.0\n.target sm_90a\n.address_size 64\n.global .texref t;\n.visible .entry k()\n{\n\
        .reg .b32 %r<3>;\n.reg .f32 %f<5>;\ntex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];\nret;\n}\n";
    let found = problems(source, 0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("tex.1d.v4.f32.s32"), "{found:?}");
}
