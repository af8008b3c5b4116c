//! What the modules before have taught a thread changes no verdict, no message and no program.

use orias::ptx;
use orias_runner::oracle::workspace;
use std::path::PathBuf;

/// The PTX files of a folder of tests and of its folders, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![workspace().join("tests").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of tests") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

/// What becomes of a text: its program or its messages. `whole`: all that the program has, else
/// that there is one.
fn verdict(text: &str, whole: bool) -> String {
    match ptx::load(text) {
        Ok(program) if whole => format!("{program:?}"),
        Ok(_) => String::new(),
        Err(diagnostics) => format!("{diagnostics:?}"),
    }
}

/// The same in a thread that has seen nothing.
fn of_new_thread(text: &str, whole: bool) -> String {
    std::thread::scope(|scope| {
        scope.spawn(|| verdict(text, whole)).join().expect("it does not panic")
    })
}

/// Each text with a version and target as the other texts have them teaches what is said of
/// `%r1` and the like: the same words of one line with operands of other kinds.
fn mutants(text: &str) -> Vec<String> {
    const SWAPS: [(&str, &str); 8] = [
        ("%rd", "%r"),
        ("%r", "%f"),
        ("%f", "%rd"),
        ("%p", "%r"),
        ("], ", "], -"),
        ("[%r", "%r"),
        (", %", ", !%"),
        (", ", ", 300, "),
    ];
    let lines: Vec<&str> = text.lines().collect();
    let is_code = |line: &&str| line.ends_with(';') && !line.trim_start().starts_with('.');
    let code: Vec<usize> = (0..lines.len()).filter(|i| is_code(&lines[*i])).collect();
    let few = code.iter().step_by(code.len() / 12 + 1);
    let mut all = Vec::new();
    for (number, at) in few.enumerate() {
        for (from, to) in SWAPS.iter().skip(number % 2).step_by(2) {
            let mut new = lines.clone();
            let line = lines[*at].replacen(from, to, 1);
            new[*at] = &line;
            all.push(new.join("\n"));
        }
    }
    all
}

#[test]
fn programs_are_the_same_whatever_was_read_before() {
    for path in files("corpus") {
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        // The second time all of it is known.
        let known = [verdict(&text, true), verdict(&text, true)];
        let new = of_new_thread(&text, true);
        assert!(known.iter().all(|known| *known == new), "{}", path.display());
    }
}

#[test]
fn messages_are_the_same_whatever_was_read_before() {
    let mut wrong = 0;
    for path in files("corpus") {
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        for mutant in mutants(&text) {
            // What has errors teaches nothing, and takes away what was known.
            verdict(&text, false);
            let (known, new) = (verdict(&mutant, false), of_new_thread(&mutant, false));
            assert_eq!(known, new, "{}:\n{mutant}", path.display());
            wrong += usize::from(!new.is_empty());
        }
    }
    assert!(wrong > 500, "only {wrong} mutants are wrong");
    let corpus: Vec<String> = files("corpus")
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a file of the corpus"))
        .filter(|text| text.contains(".version 9.0"))
        .collect();
    for path in files("front_end/broken") {
        // Some are no text.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        corpus.iter().take(12).for_each(|text| drop(verdict(text, false)));
        let (known, new) = (verdict(&text, true), of_new_thread(&text, true));
        assert_eq!(known, new, "{}", path.display());
    }
}
