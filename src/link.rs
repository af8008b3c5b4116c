//! Puts the device functions that a kernel can come to behind its code, as ptxas does without `-c`:
//! each kernel has copies of its own, in one section, so that calls are relative and nothing is
//! left for a linker.
//!
//! Which instructions depend on the place is what the pipeline says ([`Link`]): they are decoded,
//! changed and encoded again.

use crate::facts::CodeFacts;
use crate::lower::Module;
use crate::origin::Origin;
use crate::ptx::program::FuncId;
use orias_components::{Opcode, Operand, SymbolKey};
use orias_systems::function::{Jump, Link, LinkTo};
use orias_systems::mercury::{encode, pad, table_start};
use orias_systems::{Compiled, TextReloc};
use orias_targets::Target;
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of a machine word.
const WORD: usize = 16;

/// A compiled function, with what the file says of it.
#[derive(Clone, Debug)]
pub struct Code {
    /// What the pipeline made of it.
    pub compiled: Compiled,
    /// Of its own code.
    pub facts: CodeFacts,
    /// Where it comes from, in order; nothing where the file does not say it.
    pub lines: Vec<Origin>,
}

/// A device function in a kernel's text.
#[derive(Clone, Debug)]
pub struct Inner {
    /// Which function of the program.
    pub func: FuncId,
    /// Byte offset in the text, and bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Bytes of its own frame.
    pub frame_bytes: u32,
    /// Byte offset, in its own code, behind what makes the frame.
    pub prologue_end: u32,
    /// Registers that it saves, and how far above R1, in bytes.
    pub saved: Vec<(u8, u32)>,
}

/// A kernel with everything that it calls.
#[derive(Clone, Debug)]
pub struct Linked {
    /// Which function of the program.
    pub func: FuncId,
    /// The kernel; text, places and what is needed at most are those of the whole.
    pub compiled: Compiled,
    /// Bytes of its own code, before the first function.
    pub own_bytes: u32,
    /// Functions in its text, by place.
    pub inner: Vec<Inner>,
    /// Constant bank 2: where the functions are that pointers lead to, where it calls through some;
    /// then the tables of jumps.
    pub constant2: Vec<u8>,
    /// It calls through pointers.
    pub pointers: bool,
    /// Offsets of calls of functions of the system.
    pub system_calls: Vec<u32>,
    /// Bytes of stack of the kernel and what it calls, as far as that is known.
    pub stack_bytes: u32,
    /// What the file says of the code.
    pub facts: CodeFacts,
    /// Where its code comes from, in order.
    pub lines: Vec<Origin>,
}

/// Links a kernel with its callees, which are in the order of their text.
///
/// # Errors
/// When an instruction cannot be changed: never for what the pipeline makes.
pub fn kernel(
    target: &Target,
    module: &Module,
    (func, kernel): (FuncId, Code),
    callees: &[(FuncId, &Code)],
) -> Result<Linked, String> {
    let layout = &module.layouts[func];
    let system = |c: &Compiled, base: u32| -> Vec<u32> {
        let calls = c.links.iter().filter(|l| l.to == LinkTo::System);
        calls.map(|l| base + l.offset).collect()
    };
    let Code { compiled: mut kernel, facts, lines } = kernel;
    let own_bytes = if callees.is_empty() { kernel.text.len() as u32 } else { kernel.code_bytes };
    let system_calls = system(&kernel, 0);
    let stack_bytes = stack(module, func, &kernel, callees);
    // A call alone makes ptxas 13.0.88 speak of the stack of calls, unless the function is the
    // system's.
    let is_call = |l: &Link| !matches!(l.to, LinkTo::System | LinkTo::Tables);
    kernel.divergent |= kernel.links.iter().any(is_call);
    let mut linked = Linked {
        func,
        own_bytes,
        inner: Vec::new(),
        constant2: Vec::new(),
        pointers: layout.indirect && !callees.is_empty(),
        system_calls,
        stack_bytes,
        facts,
        lines,
        compiled: kernel,
    };
    if callees.is_empty() {
        append_tables(&mut linked.constant2, 0, &linked.compiled.jumps);
        return Ok(linked);
    }
    // No pointer is null: the first entry is of no function (observed: ptxas 13.0.88 has 1 there).
    let entries = if layout.indirect { module.pointers.len() + 1 } else { 0 };
    linked.constant2.resize(8 * entries, 0);
    let all = &mut linked.compiled;
    let mut words = words_of(all);
    let mut links: Vec<(Place, Link)> = Vec::new();
    let place = Place { text: 0, tables: linked.constant2.len() as u32 };
    links.extend(all.links.drain(..).map(|l| (place, l)));
    append_tables(&mut linked.constant2, 0, &all.jumps);
    let mut places: FxHashMap<SymbolKey, u32> = FxHashMap::default();
    for (callee, code) in callees {
        let compiled = &code.compiled;
        let base = (words.len() * WORD) as u32;
        places.insert(module.functions[callee.0 as usize], base);
        words.extend(words_of(compiled));
        let place = Place { text: base, tables: linked.constant2.len() as u32 };
        links.extend(compiled.links.iter().map(|l| (place, *l)));
        append_tables(&mut linked.constant2, base, &compiled.jumps);
        linked.system_calls.extend(system(compiled, base));
        let moved = |list: &[u32]| -> Vec<u32> { list.iter().map(|at| base + at).collect() };
        all.exits.extend(moved(&compiled.exits));
        linked.facts.append(&code.facts, base);
        let relocs = compiled.relocs.iter();
        all.relocs.extend(relocs.map(|r| TextReloc { offset: base + r.offset, ..*r }));
        let lines = code.lines.iter();
        linked.lines.extend(lines.map(|l| Origin { offset: base + l.offset, ..l.clone() }));
        all.registers = all.registers.max(compiled.registers);
        all.barriers = all.barriers.max(compiled.barriers);
        all.divergent |= compiled.divergent;
        linked.inner.push(Inner {
            func: *callee,
            offset: base,
            size: compiled.code_bytes,
            frame_bytes: compiled.frame_bytes,
            prologue_end: compiled.prologue_end,
            saved: compiled.saved.clone(),
        });
    }
    for (place, link) in links {
        set(target, &mut words, place, link, &places)?;
    }
    pad(target, &mut words)?;
    if let Some(last) = linked.inner.last_mut() {
        // The padding is the last function's.
        last.size = (words.len() * WORD) as u32 - last.offset;
    }
    all.text = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    all.code_bytes = all.text.len() as u32;
    if layout.indirect {
        let place = |f: &FuncId| places.get(&module.functions[f.0 as usize]).copied().unwrap_or(0);
        let values = std::iter::once(1).chain(module.pointers.iter().map(place));
        for (entry, value) in linked.constant2.chunks_exact_mut(8).zip(values) {
            entry.copy_from_slice(&u64::from(value).to_le_bytes());
        }
    }
    Ok(linked)
}

/// The code of a function, without padding.
fn words_of(compiled: &Compiled) -> Vec<u128> {
    let code = &compiled.text[..compiled.code_bytes as usize];
    let chunks = code.chunks_exact(WORD).map(|c| <[u8; WORD]>::try_from(c).unwrap_or_default());
    chunks.map(u128::from_le_bytes).collect()
}

/// Adds the tables of a function whose text begins at `base` to a bank.
fn append_tables(bank: &mut Vec<u8>, base: u32, jumps: &[Jump]) {
    let start = bank.len();
    for jump in jumps {
        // The text may have them in another order than the tables.
        let at = start + jump.table as usize;
        let end = at + 4 * jump.targets.len();
        bank.resize(bank.len().max(end), 0);
        for (entry, target) in bank[at..end].chunks_exact_mut(4).zip(&jump.targets) {
            entry.copy_from_slice(&(base + target).to_le_bytes());
        }
    }
}

/// Where a function's bytes begin.
#[derive(Clone, Copy)]
struct Place {
    text: u32,
    /// Its tables of jumps, in bank 2.
    tables: u32,
}

/// Writes what depends on places into one instruction of a function.
fn set(
    target: &Target,
    words: &mut [u128],
    Place { text: base, tables }: Place,
    link: Link,
    places: &FxHashMap<SymbolKey, u32>,
) -> Result<(), String> {
    let value = match link.to {
        LinkTo::System => return Ok(()),
        LinkTo::Here(offset) => Operand::Imm(u64::from(base + offset)),
        LinkTo::Start | LinkTo::Tables => Operand::Addr(0),
        LinkTo::Function(key) => {
            let place = places.get(&key).ok_or("a function that is called is not there")?;
            Operand::Addr(u64::from(*place))
        }
    };
    let at = base + link.offset;
    let word = words.get_mut(at as usize / WORD).ok_or("a place outside the text")?;
    let mut inst = target.decode(*word, u64::from(link.offset)).map_err(|e| e.to_string())?;
    let wanted = |o: &&mut Operand| match inst.op {
        Opcode::MOV => matches!(o, Operand::Imm(_)),
        Opcode::LDC => matches!(o, Operand::Const(_)),
        _ => matches!(o, Operand::Addr(_)),
    };
    let slot = inst.operands.iter_mut().find(wanted).ok_or("no place for an address")?;
    match slot {
        Operand::Const(entry) => entry.offset += tables as i32,
        _ if inst.op == Opcode::BRX => *slot = table_start(u64::from(at)),
        _ => *slot = value,
    }
    *word = encode(target, &inst, u64::from(at))?;
    Ok(())
}

/// Bytes of stack from the kernel down the deepest way that comes to no function twice.
fn stack(module: &Module, func: FuncId, kernel: &Compiled, callees: &[(FuncId, &Code)]) -> u32 {
    if callees.is_empty() {
        return kernel.frame_bytes;
    }
    struct Walk<'a> {
        module: &'a Module,
        functions: FxHashMap<FuncId, &'a Compiled>,
        by_key: FxHashMap<SymbolKey, FuncId>,
        known: FxHashMap<FuncId, u32>,
        on_way: FxHashSet<FuncId>,
    }
    impl Walk<'_> {
        fn depth(&mut self, f: FuncId) -> u32 {
            if let Some(known) = self.known.get(&f) {
                return *known;
            }
            let Some(compiled) = self.functions.get(&f).copied() else { return 0 };
            if !self.on_way.insert(f) {
                return 0;
            }
            let mut next: Vec<FuncId> = Vec::new();
            for link in &compiled.links {
                if let LinkTo::Function(key) = link.to {
                    next.extend(self.by_key.get(&key));
                }
            }
            if self.module.layouts[f].calls_pointers {
                next.extend(&self.module.pointers);
            }
            let below = next.into_iter().map(|f| self.depth(f)).max().unwrap_or(0);
            self.on_way.remove(&f);
            let depth = compiled.frame_bytes.saturating_add(below);
            self.known.insert(f, depth);
            depth
        }
    }
    let mut functions: FxHashMap<FuncId, &Compiled> =
        callees.iter().map(|(f, code)| (*f, &code.compiled)).collect();
    functions.insert(func, kernel);
    let by_key = module.functions.iter().enumerate();
    let by_key = by_key.map(|(i, key)| (*key, FuncId(i as u32))).collect();
    let (known, on_way) = Default::default();
    Walk { module, functions, by_key, known, on_way }.depth(func)
}
