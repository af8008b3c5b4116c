//! What ptxas says of mutants, many at a time where they can stand in one module.

use super::{Mutant, Source};
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Accepted,
    /// Its first message.
    Refused(String),
    /// It hung or died.
    Nothing(String),
}

/// ptxas may hang on what is almost right.
const PATIENCE: Duration = Duration::from_secs(10);

/// Mutants in one module.
const TOGETHER: usize = 60;

/// Exit status and messages of a run; None when it took too long.
fn run(tool: &Path, arguments: &[&str], text: &str) -> Option<(Option<i32>, String)> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let serial = FILES.fetch_add(1, Ordering::Relaxed);
    let file =
        std::env::temp_dir().join(format!("orias-mutant-{}-{serial}.ptx", std::process::id()));
    std::fs::write(&file, text).expect("a temporary file");
    let mut child = Command::new(tool)
        .args(arguments)
        .args(["-o", "/dev/null"])
        .arg(&file)
        .stdout(Stdio::null())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ptxas");
    let mut pipe = child.stderr.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut log = Vec::new();
        let _ = pipe.read_to_end(&mut log);
        String::from_utf8_lossy(&log).into_owned()
    });
    let start = Instant::now();
    let mut nap = Duration::from_millis(2);
    let status = loop {
        if let Ok(Some(status)) = child.try_wait() {
            break Some(status);
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(20));
    };
    let log = reader.join().unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    status.map(|status| (status.code(), log))
}

/// `ptxas FILE, line 12; error   : what` as line and message; a message without a line as line 0.
fn messages(log: &str) -> impl Iterator<Item = (usize, bool, &str)> {
    log.lines().filter_map(|line| {
        let fatal = line.contains("; fatal") || line.starts_with("ptxas fatal");
        let at = line.find("error   :").or_else(|| line.find("fatal   :"))?;
        let text = line[at..].split_once(':')?.1.trim();
        let number =
            line[..at].rsplit_once("line ").and_then(|(_, n)| n.split(';').next()?.parse().ok());
        (text != "Ptx assembly aborted due to errors").then_some((number.unwrap_or(0), fatal, text))
    })
}

fn one(tool: &Path, arguments: &[&str], text: &str) -> Verdict {
    match run(tool, arguments, text) {
        None => Verdict::Nothing("no end".to_string()),
        Some((Some(0), _)) => Verdict::Accepted,
        Some((code, log)) => match messages(&log).next() {
            Some((line, _, text)) => Verdict::Refused(format!("line {line}: {text}")),
            None => Verdict::Nothing(format!("{code:?} {}", log.lines().next().unwrap_or(""))),
        },
    }
}

/// Kernels that stand behind one head.
fn together(
    tool: &Path,
    arguments: &[&str],
    head: &str,
    bodies: Vec<(usize, String)>,
    out: &Mutex<Vec<Option<Verdict>>>,
) {
    let set = |index: usize, verdict: Verdict| {
        out.lock().expect("no panic")[index] = Some(verdict);
    };
    let mut left = bodies;
    while left.len() > 1 {
        let mut text = head.to_string();
        let mut starts = Vec::new();
        for (_, body) in &left {
            starts.push(text.matches('\n').count() + 1);
            text.push_str(body);
            text.push('\n');
        }
        let result = run(tool, arguments, &text);
        let log = match result {
            Some((Some(0), _)) => {
                left.iter().for_each(|(index, _)| set(*index, Verdict::Accepted));
                return;
            }
            Some((_, log)) => log,
            None => String::new(),
        };
        let mut said: Vec<Option<String>> = vec![None; left.len()];
        // A syntax error may be of the kernel before the one where it is found: asked alone.
        let mut alone = None;
        for (line, fatal, message) in messages(&log) {
            match starts.partition_point(|s| *s <= line).checked_sub(1) {
                Some(number) if !fatal => {
                    said[number].get_or_insert_with(|| message.to_string());
                }
                Some(number) => alone = Some(number),
                None => {}
            }
        }
        if let Some(number) = alone {
            let first = number.saturating_sub(1);
            for (index, body) in left.drain(first..=number) {
                set(index, one(tool, arguments, &format!("{head}{body}\n")));
            }
            continue;
        }
        if said.iter().all(Option::is_none) {
            let second = left.split_off(left.len() / 2);
            together(tool, arguments, head, left, out);
            together(tool, arguments, head, second, out);
            return;
        }
        let mut kept = Vec::new();
        for ((index, body), said) in left.into_iter().zip(said) {
            match said {
                Some(message) => set(index, Verdict::Refused(message)),
                None => kept.push((index, body)),
            }
        }
        left = kept;
    }
    for (index, body) in left {
        set(index, one(tool, arguments, &format!("{head}{body}\n")));
    }
}

enum Job {
    One(usize),
    Together(usize, Vec<usize>),
}

/// A verdict for each mutant. `parses` says whether a text is worth putting with others: its syntax
/// is right.
pub fn ask(
    tool: &Path,
    arguments: &[&str],
    sources: &[Source],
    mutants: &[Mutant],
    threads: usize,
    parses: impl Fn(&str) -> bool,
) -> Vec<Verdict> {
    let mut jobs = Vec::new();
    let mut open: HashMap<&str, Vec<Vec<usize>>> = HashMap::new();
    let name = |m: &Mutant| sources[m.source].name.as_str();
    for (index, mutant) in mutants.iter().enumerate() {
        let source = &sources[mutant.source];
        let inside =
            source.body.filter(|body| mutant.edit.iter().all(|(range, _)| range.start >= *body));
        let Some(body) = inside.filter(|_| parses(&mutant.text(sources))) else {
            jobs.push(Job::One(index));
            continue;
        };
        let groups = open.entry(&source.text[..body]).or_default();
        let free = groups.iter_mut().find(|group| {
            group.len() < TOGETHER
                && group.iter().all(|other| name(&mutants[*other]) != name(mutant))
        });
        match free {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    for (head, groups) in open {
        jobs.extend(groups.into_iter().map(|group| Job::Together(head.len(), group)));
    }
    let out = Mutex::new(vec![None; mutants.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match job {
                        Job::One(index) => {
                            let verdict = one(tool, arguments, &mutants[*index].text(sources));
                            out.lock().expect("no panic")[*index] = Some(verdict);
                        }
                        Job::Together(head, group) => {
                            let text = |i: &usize| mutants[*i].text(sources);
                            let bodies =
                                group.iter().map(|i| (*i, text(i)[*head..].to_string())).collect();
                            let first = text(&group[0]);
                            together(tool, arguments, &first[..*head], bodies, &out);
                        }
                    }
                }
            });
        }
    });
    let all = out.into_inner().expect("no panic");
    all.into_iter().map(|v| v.unwrap_or(Verdict::Nothing("not asked".to_string()))).collect()
}
