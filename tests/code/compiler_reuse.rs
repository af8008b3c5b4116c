//! One [`Compiler`] for many modules gives each what a new one would, whatever it did before,
//! beside it or instead.

use orias::driver::compile_source;
use orias::{Cancel, CompileError, CompileOptions, Compiler, Job};
use orias_runner::oracle::workspace;
use std::sync::Mutex;
use std::time::Duration;

fn sources(names: &[&str]) -> Vec<String> {
    let corpus = workspace().join("tests").join("corpus");
    let read = |name: &&str| {
        let file = corpus.join(name).join(format!("{name}.ptx"));
        std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    };
    names.iter().map(read).collect()
}

const SOME: [&str; 5] = ["vecadd", "recursion", "sha256", "wmma_tile", "fnptr_table"];

fn options(opt_level: u8, threads: usize) -> CompileOptions {
    CompileOptions { opt_level, threads, ..CompileOptions::default() }
}

fn alone(source: &str, opt_level: u8) -> Vec<u8> {
    compile_source(source, &options(opt_level, 1)).expect("it compiles").cubin
}

#[test]
fn what_a_compiler_did_before_does_not_show() {
    let sources = sources(&SOME);
    let compiler = Compiler::new(options(3, 1));
    // Forwards, then backwards, with a module in between that is refused.
    for source in sources.iter().chain(sources.iter().rev()) {
        let kept = compiler.compile(source).expect("it compiles").cubin;
        assert!(alone(source, 3) == kept, "{}", source.lines().take(3).collect::<String>());
        assert!(compiler.compile(".version 8.0\n.target sm_90a\nnonsense").is_err());
    }
}

#[test]
fn modules_side_by_side_come_back_in_order_each_with_its_options() {
    let sources = sources(&SOME);
    let levels = [options(0, 0), options(1, 0), options(3, 0)];
    let expected: Vec<Vec<u8>> =
        sources.iter().enumerate().map(|(i, s)| alone(s, levels[i % 3].opt_level)).collect();
    for threads in [1, 2, 5] {
        let compiler = Compiler::new(options(3, threads));
        for _ in 0..2 {
            let jobs = sources.iter().enumerate();
            let jobs = jobs.map(|(i, source)| Job::new(source).options(&levels[i % 3]));
            let made = compiler.compile_many(jobs);
            let made: Vec<Vec<u8>> =
                made.into_iter().map(|m| m.expect("it compiles").cubin).collect();
            assert!(made == expected, "{threads} threads");
        }
    }
}

#[test]
fn what_is_called_off_stops_between_phases_and_leaves_nothing_behind() {
    let sources = sources(&["sha256", "fft_radix2"]);
    let compiler = Compiler::new(options(3, 1));
    let fresh = alone(&sources[1], 3);
    // At the first moment, and at later ones, until it comes too late.
    let mut called_off = 0;
    for wait in (0..200).map(|i| Duration::from_micros(i * 100)) {
        let cancel = Cancel::new();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(wait);
                cancel.cancel();
            });
            compiler.compile(Job::new(&sources[0]).cancel(&cancel))
        });
        let ended = result.is_ok();
        called_off += u32::from(matches!(result, Err(CompileError::Cancelled)));
        assert!(compiler.compile(&sources[1]).expect("it compiles").cubin == fresh);
        if ended {
            break;
        }
    }
    assert!(called_off > 0, "the first one is called off before it begins, or soon after");
}

#[test]
fn a_token_ends_those_of_many_that_have_not_ended() {
    let sources = sources(&["vecadd"; 20]);
    let cancel = Cancel::new();
    let ended = Mutex::new(0);
    let jobs = sources.iter().map(|source| Job::new(source).cancel(&cancel));
    Compiler::new(options(3, 2)).compile_each(jobs, |_, result| {
        *ended.lock().expect("no panic") += u32::from(result.is_ok());
        cancel.cancel();
    });
    let ended = ended.into_inner().expect("no panic");
    assert!((1..=2).contains(&ended), "{ended}: one that each thread had in hand");
}

#[test]
fn a_budget_that_is_not_enough_makes_what_a_lower_level_makes() {
    let source = &sources(&["sha256"])[0];
    let compiler = Compiler::new(options(3, 1));
    let within = |budget, opt_level| {
        let options = CompileOptions { budget: Some(budget), ..options(opt_level, 1) };
        compiler.compile(Job::new(source).options(&options)).expect("it compiles")
    };
    for opt_level in 0..=3 {
        let hurried = within(Duration::ZERO, opt_level);
        assert_eq!((hurried.opt_level, hurried.fell_back), (0, opt_level > 0));
        assert!(hurried.cubin == alone(source, 0));
        let patient = within(Duration::MAX, opt_level);
        assert_eq!((patient.opt_level, patient.fell_back), (opt_level, false));
        assert!(patient.cubin == alone(source, opt_level));
    }
    // Between the two a level in the middle may be what there is time for.
    for budget in (1..40).map(|i| Duration::from_micros(i * 250)) {
        let output = within(budget, 3);
        assert_eq!(output.fell_back, output.opt_level < 3);
        assert!(output.cubin == alone(source, output.opt_level), "{budget:?}");
    }
}
