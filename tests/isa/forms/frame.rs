//! The kernel that candidate instructions stand in, one a line, and what ptxas says of each line.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Types of the registers `%b32_0` … `%b32_299` and so on; the numbers of their bits in the table's
/// sets.
pub const REGISTERS: [&str; 18] = [
    "b8", "u8", "s8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "f16x2", "b64",
    "u64", "s64", "f64", "pred", "b128",
];

const DECLARATIONS: &str = "\
.extern .func (.param .b32 r) ff (.param .b32 a);
.shared .align 128 .b8 sh[4096];
.const .align 16 .b8 cb[4096];
.global .align 16 .b8 gl[4096];
.global .texref tx;
.global .surfref su;
.global .samplerref sm;
.visible .entry k(.param .u64 o, .param .u64 i, .param .align 16 .b8 a[256], .param .u64 x, .param .u64 y, .param .u64 z)
{
";

const VARIABLES: &str = "\
.local .align 16 .b8 lv[4096];
.local .align 16 .b8 lo[4096];
.param .align 16 .b8 q[256]; .param .align 16 .b8 r[256]; .param .align 16 .b8 p[256];
$table: .branchtargets $again;
$again: $end:
TT: .branchtargets L;
L:
";

/// Lines of one run; ptxas's time is linear up to here.
const TOGETHER: usize = 3000;

/// ptxas may hang on what is almost right.
const PATIENCE: Duration = Duration::from_secs(60);

/// The compiler of reference, and the module's head.
pub struct Oracle<'a> {
    pub ptxas: &'a Path,
    pub version: &'a str,
    pub target: &'a str,
    pub threads: usize,
}

impl Oracle<'_> {
    fn head(&self) -> String {
        // b128 needs a version and an SM: where they are not there, statements with it are refused.
        let wide = self.target != "sm_10";
        let registers = REGISTERS.iter().filter(|ty| wide || **ty != "b128");
        let registers =
            registers.map(|ty| format!(".reg .{ty} %{ty}_<300>;\n")).collect::<String>();
        let (version, target) = (self.version, self.target);
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n{DECLARATIONS}{registers}{VARIABLES}"
        )
    }

    /// The messages of each statement; none where it is accepted.
    ///
    /// An instruction without a name at the end keeps ptxas from going on with those that are good.
    pub fn ask(&self, statements: &[String]) -> Vec<Vec<String>> {
        let head = self.head();
        let out = Mutex::new(vec![Vec::new(); statements.len()]);
        let chunks: Vec<&[String]> = statements.chunks(TOGETHER).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(chunk) = chunks.get(number) else { break };
                        let said = self.chunk(&head, chunk);
                        let mut out = out.lock().expect("no panic");
                        for (i, messages) in said.into_iter().enumerate() {
                            out[number * TOGETHER + i] = messages;
                        }
                    }
                });
            }
        });
        out.into_inner().expect("no panic")
    }

    fn chunk(&self, head: &str, statements: &[String]) -> Vec<Vec<String>> {
        let first = head.matches('\n').count() + 1;
        let mut out: Vec<Vec<String>> = Vec::with_capacity(statements.len());
        while out.len() < statements.len() {
            let rest = &statements[out.len()..];
            let log = self.run(&format!("{head}{}\nzzz;\nret;\n}}\n", rest.join("\n")));
            let mut said = vec![Vec::new(); rest.len()];
            let (mut fatal, mut ended) = (None, false);
            for (line, is_fatal, text) in log.lines().filter_map(message) {
                ended |= text.contains("zzz");
                let Some(at) = line.checked_sub(first).filter(|at| *at < rest.len()) else {
                    continue;
                };
                said[at].push(text.to_string());
                if is_fatal {
                    fatal = Some(at);
                }
            }
            if let Some(at) = fatal {
                // Nothing is said of what follows.
                said.truncate(at + 1);
            } else if !ended {
                if rest.len() == 1 {
                    said[0].push("ptxas died".to_string());
                } else {
                    said = self.chunk(head, &rest[..rest.len() / 2]);
                }
            }
            out.append(&mut said);
        }
        out
    }

    /// What ptxas writes; empty where it takes too long.
    fn run(&self, text: &str) -> String {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let serial = FILES.fetch_add(1, Ordering::Relaxed);
        let name = |what: &str| {
            std::env::temp_dir().join(format!("orias-forms-{}-{serial}.{what}", std::process::id()))
        };
        let (file, log) = (name("ptx"), name("log"));
        std::fs::write(&file, text).expect("a temporary file");
        let messages = std::fs::File::create(&log).expect("a temporary file");
        let mut child = Command::new(self.ptxas)
            .args(["-arch", "sm_90a", "-O0", "-o", "/dev/null"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(messages)
            .spawn()
            .expect("ptxas");
        let start = Instant::now();
        loop {
            match child.try_wait() {
                Ok(None) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    let _ = std::fs::write(&log, "");
                    break;
                }
                _ => break,
            }
        }
        let said = std::fs::read(&log).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        let _ = std::fs::remove_file(&log);
        String::from_utf8_lossy(&said).into_owned()
    }
}

/// `ptxas FILE, line 12; error   : what` as 12, whether it is the end, and what.
fn message(line: &str) -> Option<(usize, bool, &str)> {
    let (before, rest) = line.split_once("; ")?;
    let number = before.rsplit_once("line ")?.1.parse().ok()?;
    let (kind, text) = rest.split_once(':')?;
    match kind.trim() {
        "error" => Some((number, false, text.trim())),
        "fatal" => Some((number, true, text.trim())),
        _ => None,
    }
}

/// Whether a message is of operands: with others the same words may be right.
pub fn of_operands(message: &str) -> bool {
    const WORDS: [&str; 7] =
        ["rgument", "operand", "expression", "Result", "vector", "egister", "selector"];
    WORDS.iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_line_and_warnings_are_none() {
        let text = "ptxas f.ptx, line 17; error   : Unknown modifier '.foo'";
        assert_eq!(message(text), Some((17, false, "Unknown modifier '.foo'")));
        let text = "ptxas f.ptx, line 3; fatal   : Parsing error near ';': syntax error";
        assert_eq!(message(text).map(|m| (m.0, m.1)), Some((3, true)));
        assert_eq!(message("ptxas f.ptx, line 17; warning : so what"), None);
    }
}
