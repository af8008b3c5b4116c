//! `tables/latency/estimates.lat`: about how long instructions of unknown latency take, and how
//! long they keep their pipe busy.

use super::Class;
use super::rows::{list, number};
use orias_components::Opcode;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../tables/latency/estimates.lat");

/// Numbers to compare kernels by, in cycles. No hazard is found by them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimates {
    by_op: Vec<Option<u16>>,
    by_class: Vec<u16>,
    read: Vec<u16>,
    pipe: Vec<u16>,
}

impl Estimates {
    /// The numbers, the same for every SM.
    ///
    /// # Panics
    /// When the rows cannot be read: they are part of the program, and a test reads them.
    pub fn get() -> &'static Estimates {
        static ALL: LazyLock<Estimates> =
            LazyLock::new(|| parse(TEXT).expect("a test reads the estimates"));
        &ALL
    }

    /// Until the result of an instruction with a scoreboard is there.
    pub fn result(&self, op: Opcode, class: Class) -> u16 {
        self.by_op[op as usize].unwrap_or(self.by_class[class as usize])
    }

    /// Until its late sources are read.
    pub fn read(&self, class: Class) -> u16 {
        self.read[class as usize]
    }

    /// How long a warp's instruction keeps the class's pipe of a sub-core busy.
    pub fn pipe(&self, class: Class) -> u16 {
        self.pipe[class as usize]
    }
}

fn parse(text: &str) -> Result<Estimates, String> {
    let none = vec![0; Class::ALL.len()];
    let mut all = Estimates {
        by_op: vec![None; Opcode::LIST.len()],
        by_class: none.clone(),
        read: none.clone(),
        pipe: none,
    };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |why: &str| format!("{line}: {why}");
        let (what, source) = line.split_once(';').ok_or_else(|| wrong("no source"))?;
        let source = source.trim();
        if !source.starts_with("published ") && !source.starts_with("assumed ") {
            return Err(wrong("published or assumed"));
        }
        let words: Vec<&str> = what.split_whitespace().collect();
        let [kind, names, cycles] = words[..] else { return Err(wrong("three words")) };
        let cycles: u16 = number(cycles).map_err(|e| wrong(&e))?;
        if kind == "time" {
            for name in names.split(',') {
                let op = Opcode::parse(name).ok_or_else(|| wrong(name))?;
                all.by_op[op as usize] = Some(cycles);
            }
            continue;
        }
        let table = match kind {
            "class" => &mut all.by_class,
            "read" => &mut all.read,
            "pipe" => &mut all.pipe,
            _ => return Err(wrong("time, class, read or pipe")),
        };
        for class in list(names, Class::ALL, |c| c.name()).map_err(|e| wrong(&e))? {
            table[class as usize] = cycles;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_pipe() {
        let all = Estimates::get();
        assert!(Class::ALL.iter().all(|c| all.pipe(*c) >= 1));
        assert!(
            all.result(Opcode::LDG, Class::Variable) > all.result(Opcode::LDS, Class::Variable)
        );
    }

    #[test]
    fn a_row_says_where_its_number_comes_from() {
        assert!(parse("time LDG 400 ; published somewhere").is_ok());
        assert!(parse("time LDG 400").is_err_and(|e| e.contains("source")));
        assert!(parse("time LDG 400 ; because").is_err_and(|e| e.contains("published")));
        assert!(parse("time LDQ 400 ; assumed so").is_err_and(|e| e.contains("LDQ")));
        assert!(parse("pace xu 400 ; assumed so").is_err_and(|e| e.contains("pipe")));
    }
}
