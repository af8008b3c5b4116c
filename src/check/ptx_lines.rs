//! What a line of PTX asks of the order of memory accesses, from its text alone.

/// What a line's instruction does that others may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effect {
    /// Reads or writes memory that other threads have too.
    pub access: bool,
    /// Not weak: relaxed or stronger, volatile, mmio, an atomic.
    pub strong: bool,
    /// `.volatile`: ordered among its like.
    pub volatile: bool,
    /// What comes behind may not come before.
    pub acquire: bool,
    /// What stands before may not come behind.
    pub release: bool,
    /// What it accesses, or orders accesses to; None is any memory.
    pub space: Option<Space>,
    /// An asynchronous copy, or what groups copies and waits for them.
    pub copy: bool,
}

/// What of the memory that threads share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Global memory.
    Global,
    /// Shared memory.
    Shared,
    /// Whatever asynchronous copies access.
    Copies,
}

impl Effect {
    /// Orders others.
    pub fn orders(self) -> bool {
        self.acquire || self.release
    }

    /// Whether both may concern the same memory.
    pub fn meets(self, other: Effect) -> bool {
        match (self.space, other.space) {
            (Some(Space::Copies), _) => other.copy,
            (_, Some(Space::Copies)) => self.copy,
            (Some(a), Some(b)) => a == b,
            _ => true,
        }
    }
}

/// A line of PTX.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The instruction with its words: `ld.acquire.gpu.global.u32`.
    pub name: String,
    /// Names that stand before it.
    pub labels: Vec<String>,
    /// What it does that others may see.
    pub effect: Effect,
    /// The first operand in brackets: base and offset.
    pub address: Option<(String, i64)>,
    /// Bytes that it may touch, where the type says so.
    pub bytes: i64,
    /// It has a guard.
    pub guarded: bool,
    /// Labels that a branch names.
    pub targets: Vec<String>,
}

/// Reads a line; None where it has neither an instruction nor a label.
pub fn line(text: &str) -> Option<Line> {
    let mut rest = text.trim().trim_start_matches(['{', '}', ' ']);
    let mut labels = Vec::new();
    while let Some((label, after)) = rest.split_once(':') {
        let label = label.trim();
        let is_name = |c: char| c.is_alphanumeric() || "_$%".contains(c);
        if label.is_empty() || !label.chars().all(is_name) || after.starts_with(':') {
            break;
        }
        labels.push(label.to_string());
        rest = after.trim().trim_start_matches(['{', '}', ' ']);
    }
    let mut guarded = false;
    if let Some(after) = rest.strip_prefix('@') {
        guarded = true;
        rest = after.split_once(char::is_whitespace).map_or("", |(_, r)| r).trim();
    }
    let (name, operands) = rest.split_once([' ', ';', '\t']).unwrap_or((rest, ""));
    if name.is_empty() && labels.is_empty() {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || "_$%".contains(c);
    let words = || operands.split(|c| !is_name(c)).filter(|w| !w.is_empty());
    let jumps = ["bra", "brx", ".branchtargets"].iter().any(|w| name.starts_with(w));
    Some(Line {
        effect: effect(name),
        address: address(operands),
        bytes: bytes(name),
        guarded,
        targets: if jumps { words().map(str::to_string).collect() } else { Vec::new() },
        name: name.to_string(),
        labels,
    })
}

fn address(operands: &str) -> Option<(String, i64)> {
    let inner = operands.split_once('[')?.1.split([']', ',']).next()?;
    let inner = inner.replace(' ', "");
    let sign = inner.rfind(['+', '-']).filter(|at| *at > 0);
    let (base, offset) = inner.split_at(sign.unwrap_or(inner.len()));
    let number = offset.trim_start_matches('+');
    let value = match (number.is_empty(), number.strip_prefix("0x")) {
        (true, _) => Some(0),
        (_, Some(hex)) => i64::from_str_radix(hex, 16).ok(),
        _ => number.parse().ok(),
    };
    // What is no number belongs to the name.
    Some(value.map_or_else(|| (inner.clone(), 0), |v| (base.to_string(), v)))
}

fn bytes(name: &str) -> i64 {
    let mut one = 16;
    let mut count = 1;
    for word in name.split('.') {
        if let Some(v) = word.strip_prefix('v').and_then(|v| v.parse::<i64>().ok()) {
            count = v;
        }
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let letters = &word[..word.len() - digits.len()];
        if let (Ok(bits), true) =
            (digits.parse::<i64>(), "bsuf".contains(letters) && letters.len() == 1)
        {
            one = (bits / 8).max(1);
        }
    }
    one * count
}

fn effect(name: &str) -> Effect {
    let mut words = name.split('.').map(|w| w.split("::").next().unwrap_or(""));
    let space = words.find_map(|w| match w {
        "global" => Some(Space::Global),
        "shared" => Some(Space::Shared),
        _ => None,
    });
    let first = name.split('.').next().unwrap_or("");
    let space = match first {
        "cp" if name.contains(".commit_group") => Some(Space::Copies),
        // A copy has two, and a barrier or a general fence orders all.
        "cp" | "bar" | "barrier" | "mbarrier" | "griddepcontrol" | "multimem" => None,
        // The products of a warpgroup read shared memory, and what orders them orders nothing else.
        "wgmma" => Some(Space::Shared),
        _ => space,
    };
    Effect { space, copy: first == "cp", ..order_of(name) }
}

fn order_of(name: &str) -> Effect {
    let first = name.split('.').next().unwrap_or("");
    let has = |word: &str| name.split('.').any(|w| w == word);
    // Nobody else sees these, or they never change.
    let private = ["param", "const", "local", "nc"]
        .iter()
        .any(|w| name.split('.').any(|x| x == *w || x.split("::").next() == Some(w)));
    let access = Effect { access: true, ..Effect::default() };
    let order = |plain: Effect| Effect {
        acquire: plain.acquire || has("acquire") || has("acq_rel"),
        release: plain.release || has("release") || has("acq_rel"),
        ..plain
    };
    let both = Effect { acquire: true, release: true, ..Effect::default() };
    match first {
        "ld" | "st" | "ldu" if private => Effect::default(),
        "ld" | "st" => order(Effect {
            strong: ["relaxed", "acquire", "release", "volatile", "mmio"].iter().any(|w| has(w)),
            volatile: has("volatile") || has("mmio"),
            ..access
        }),
        "atom" | "red" | "multimem" => order(Effect { strong: true, ..access }),
        "fence" | "membar" => both,
        "bar" | "barrier" => both,
        "mbarrier" if has("init") || has("inval") => Effect { strong: true, ..access },
        "mbarrier" if has("test_wait") || has("try_wait") => {
            Effect { acquire: !has("relaxed"), ..access }
        }
        "mbarrier" if has("arrive") || has("arrive_drop") => {
            Effect { release: !has("relaxed"), ..access }
        }
        "cp" if has("commit_group") => Effect { release: true, ..Effect::default() },
        "cp" if has("wait_group") || has("wait_all") => both,
        "cp" if has("arrive") => Effect { release: true, ..access },
        "cp" if has("prefetch") => Effect::default(),
        "cp" | "stmatrix" | "ldmatrix" | "sust" | "suld" | "sured" => access,
        "wgmma" if has("mma_async") => access,
        "wgmma" => both,
        "griddepcontrol" if has("wait") => both,
        "griddepcontrol" => Effect { release: true, ..Effect::default() },
        "tensormap" => access,
        "wmma" if has("load") || has("store") => access,
        _ => Effect::default(),
    }
}

/// The module with each instruction on a line of its own, without comments and lines of sources:
/// what both compilers then name in the cubin are instructions.
pub fn one_a_line(ptx: &str) -> String {
    let mut plain = String::with_capacity(ptx.len());
    let mut chars = ptx.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                quoted = !quoted;
                plain.push(c);
            }
            '/' if !quoted && chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            '/' if !quoted && chars.peek() == Some(&'*') => {
                let mut last = ' ';
                chars.next();
                for c in chars.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
                plain.push(' ');
            }
            c => plain.push(c),
        }
    }
    let mut out = String::with_capacity(plain.len());
    let mut quoted = false;
    for line in plain.lines().map(str::trim) {
        let debug = [".loc", ".file"].contains(&line.split_whitespace().next().unwrap_or(""));
        if debug || line.is_empty() {
            continue;
        }
        for c in line.chars() {
            quoted ^= c == '"';
            out.push(c);
            if c == ';' && !quoted {
                out.push('\n');
            }
        }
        if !out.ends_with('\n') {
            // A directive ends with its line; a statement goes on.
            out.push(if line.starts_with('.') || line.ends_with(['{', '}', ':']) {
                '\n'
            } else {
                ' '
            });
        }
    }
    out
}
