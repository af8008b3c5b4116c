//! The rows of `tables/habits`: what ptxas does with the control fields of each opcode, as text,
//! and as the bytes that the program reads (`habits.rs`). The notation is in `tables/README.md`.

use super::{Mod, Opcode};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How often an opcode was seen that its habits count: what was never done in so many was not left
/// to chance.
pub const ENOUGH: u64 = 20;

/// An opcode with those of its words that matter, at one kind of level.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// From -O1 on; otherwise -O0.
    pub optimized: bool,
    /// `SYNCS.ARRIVE.RED`: the opcode, then the words in the order of its `words` row.
    pub name: String,
}

impl Key {
    fn opcode(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// What was seen of a key, in instructions.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// All of them.
    pub all: u64,
    /// With a scoreboard for results.
    pub writes: u64,
    /// With a scoreboard for late reads.
    pub reads: u64,
    /// That wait for any scoreboard.
    pub waits: u64,
    /// Under a guard; `@!PT`, which is never, is none.
    pub guards: u64,
    /// By stall in cycles (1 to 16, which the field holds as 0): with the yield bit clear, and set.
    pub stalls: BTreeMap<u8, [u64; 2]>,
}

impl Counts {
    /// Adds what was seen elsewhere.
    pub fn add(&mut self, other: &Counts) {
        self.all += other.all;
        self.writes += other.writes;
        self.reads += other.reads;
        self.waits += other.waits;
        self.guards += other.guards;
        for (stall, counts) in &other.stalls {
            let mine = self.stalls.entry(*stall).or_default();
            (mine[0], mine[1]) = (mine[0] + counts[0], mine[1] + counts[1]);
        }
    }

    /// Of the stalls in a range: with the yield bit clear, and set.
    pub fn yields(&self, stalls: std::ops::RangeInclusive<u8>) -> [u64; 2] {
        let within = self.stalls.iter().filter(|(stall, _)| stalls.contains(stall));
        within.fold([0, 0], |sum, (_, n)| [sum[0] + n[0], sum[1] + n[1]])
    }

    /// The shortest stall in cycles; 1 where nothing was seen.
    pub fn least_stall(&self) -> u8 {
        self.stalls.keys().next().copied().unwrap_or(1)
    }

    /// The longest stall in cycles; 16 where nothing was seen.
    pub fn longest_stall(&self) -> u8 {
        self.stalls.keys().next_back().copied().unwrap_or(16)
    }
}

/// What stands right behind a key, or right before it, where that is always one of a few.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// Beside which they stand.
    pub key: Key,
    /// They stand before it, not behind.
    pub before: bool,
    /// Names and how often.
    pub names: Vec<(String, u64)>,
}

/// A file of rows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Rows {
    /// By opcode: the words that make keys of their own.
    pub words: BTreeMap<String, Vec<String>>,
    /// What was seen of each key.
    pub counts: BTreeMap<Key, Counts>,
    /// What stands beside keys.
    pub neighbours: Vec<Neighbours>,
}

fn level(optimized: bool) -> &'static str {
    if optimized { "O1" } else { "O0" }
}

impl Rows {
    /// Reads the rows; a line from `#` on is a remark.
    ///
    /// # Errors
    /// What is wrong with a line.
    pub fn parse(text: &str) -> Result<Rows, String> {
        let mut rows = Rows::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                rows.line(line).ok_or_else(|| format!("line {}: {line}", i + 1))?;
            }
        }
        Ok(rows)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        if first == "words" {
            self.words.insert(words.next()?.into(), words.map(String::from).collect());
            return Some(());
        }
        let optimized = match first {
            "O0" => false,
            "O1" => true,
            _ => return None,
        };
        let second = words.next()?;
        if second == "next" || second == "before" {
            let key = Key { optimized, name: words.next()?.into() };
            let one = |word: &str| {
                let (name, n) = word.rsplit_once(':')?;
                Some((name.to_string(), n.parse().ok()?))
            };
            let names = words.map(one).collect::<Option<Vec<_>>>()?;
            self.neighbours.push(Neighbours { key, before: second == "before", names });
            return Some(());
        }
        let mut counts = Counts { all: words.next()?.parse().ok()?, ..Counts::default() };
        for word in words {
            let number = |text: &str| text.parse::<u64>().ok();
            match word.split_once(':') {
                Some((stall, yields)) => {
                    let (clear, set) = yields.split_once('/')?;
                    counts.stalls.insert(stall.parse().ok()?, [number(clear)?, number(set)?]);
                }
                None => {
                    let (kind, n) = word.split_at_checked(1)?;
                    *match kind {
                        "w" => &mut counts.writes,
                        "r" => &mut counts.reads,
                        "b" => &mut counts.waits,
                        "g" => &mut counts.guards,
                        _ => return None,
                    } = number(n)?;
                }
            }
        }
        self.counts.insert(Key { optimized, name: second.into() }, counts);
        Some(())
    }

    /// The rows as text, without the remarks at its head.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (op, words) in &self.words {
            let _ = writeln!(text, "words {op} {}", words.join(" "));
        }
        for (key, c) in &self.counts {
            let _ = write!(text, "{} {} {}", level(key.optimized), key.name, c.all);
            for (kind, n) in [("w", c.writes), ("r", c.reads), ("b", c.waits), ("g", c.guards)] {
                if n > 0 {
                    let _ = write!(text, " {kind}{n}");
                }
            }
            for (stall, [clear, set]) in &c.stalls {
                let _ = write!(text, " {stall}:{clear}/{set}");
            }
            text.push('\n');
        }
        for n in &self.neighbours {
            let side = if n.before { "before" } else { "next" };
            let _ = write!(text, "{} {side} {}", level(n.key.optimized), n.key.name);
            for (name, count) in &n.names {
                let _ = write!(text, " {name}:{count}");
            }
            text.push('\n');
        }
        text
    }

    /// What the scheduler asks of the counts. Two bytes for each opcode: where what is known of it
    /// ends; then of each that was seen the number of its words, those (two bytes each), and a
    /// record of eight bytes for each key.
    ///
    /// # Errors
    /// A name that is no opcode or none of its words.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut names = self.counts.keys().map(Key::opcode).chain(self.words.keys().map(|w| &**w));
        if let Some(name) = names.find(|name| Opcode::parse(name).is_none()) {
            return Err(format!("no opcode {name}"));
        }
        let (mut ends, mut all) = (Vec::new(), Vec::new());
        for op in Opcode::LIST {
            self.put(op.name(), &mut all)?;
            let end = u16::try_from(all.len()).map_err(|e| e.to_string())?;
            ends.extend_from_slice(&end.to_le_bytes());
        }
        ends.extend(all);
        Ok(ends)
    }

    fn put(&self, op: &str, out: &mut Vec<u8>) -> Result<(), String> {
        let known = self.words.get(op).map_or(&[][..], |w| w);
        let keys: Vec<_> = self.counts.iter().filter(|(key, _)| key.opcode() == op).collect();
        if keys.is_empty() {
            return Ok(());
        }
        out.push(known.len() as u8);
        for word in known {
            let number = Mod::parse(word).ok_or_else(|| format!("{op}: no modifier {word}"))?;
            out.extend_from_slice(&(number as u16).to_le_bytes());
        }
        for (key, c) in keys {
            let (_, words) = key.name.split_once('.').unwrap_or((&key.name, ""));
            let mut mask = 0u8;
            for word in words.split('.').filter(|w| !w.is_empty()) {
                let at = known.iter().position(|w| w == word);
                mask |= 1 << at.ok_or_else(|| format!("{}: no word {word}", key.name))?;
            }
            let how = |n: u64| match n {
                0 => 0u8,
                n if n == c.all => 2,
                _ => 1,
            };
            // Both halves of the range of stalls that may have the yield bit; half the time is
            // enough to set it.
            let mostly = |range| {
                let [clear, set] = c.yields(range);
                match clear + set {
                    0 => 2u8,
                    _ => u8::from(set >= clear),
                }
            };
            out.extend_from_slice(&[
                mask,
                u8::from(key.optimized),
                u8::from(c.all >= ENOUGH),
                how(c.writes) | how(c.reads) << 2 | how(c.waits) << 4 | how(c.guards) << 6,
                c.least_stall(),
                c.longest_stall(),
                mostly(1..=2),
                mostly(3..=11),
            ]);
        }
        Ok(())
    }
}
