//! What `.nv.info.K` says: presence, format, order and value of each attribute.

use super::Found;
use super::code::Code;
use orias::elf::Cubin;
use orias::elf::attribute::{Attribute, code, name};
use orias::elf::read::Function;
use orias_components::Opcode;
use std::collections::BTreeSet;

/// A kernel in one of the two files.
pub struct Side<'a> {
    pub cubin: &'a Cubin<'a>,
    pub function: &'a Function<'a>,
    pub code: Code,
}

impl Side<'_> {
    fn find(&self, wanted: u8) -> Option<&Attribute> {
        self.function.attributes.iter().find(|a| a.code() == wanted)
    }

    /// The whole words of an attribute.
    fn words(&self, wanted: u8) -> Option<Vec<u32>> {
        let mut bytes = Vec::new();
        self.find(wanted)?.encode(&mut bytes);
        let (words, _) = bytes.get(4..)?.as_chunks::<4>();
        Some(words.iter().map(|w| u32::from_le_bytes(*w)).collect())
    }

    fn entries<const N: usize>(&self, wanted: u8) -> Vec<[u32; N]> {
        self.words(wanted).unwrap_or_default().as_chunks::<N>().0.to_vec()
    }

    fn is_one_of(&self, offset: u32, ops: &[Opcode]) -> bool {
        self.code.at(offset).is_some_and(|i| ops.contains(&i.op))
    }
}

/// Attributes whose presence follows from code, with the difference that it then is. They list
/// places, and are not compared.
const BY_CODE: &[(u8, &str)] = &[
    (code::EXIT_INSTR_OFFSETS, "exit offsets"),
    (code::CRS_STACK_SIZE, "call/return stack"),
    (code::INT_WARP_WIDE_INSTR_OFFSETS, "compiler's warp operations"),
    (code::UNUSED_LOAD_BYTE_OFFSET, "unused load bytes"),
    (code::ANNOTATIONS, "spill code"),
    (code::INDIRECT_BRANCH_TARGETS, "jump tables"),
    (code::ATOM16_EMUL_INSTR_REG_MAP, "half atomics"),
];

/// Attributes that list places and registers: both files have them or none. Where ptxas drops what
/// they are of, there is this difference.
const LISTS: &[(u8, &str)] = &[
    (code::COOP_GROUP_INSTR_OFFSETS, "warp operations"),
    (code::COOP_GROUP_MASK_REGIDS, "warp operations"),
    (code::MBARRIER_INSTR_OFFSETS, "presence of an attribute"),
    (code::INSTR_REG_MAP, "presence of an attribute"),
    (code::SYSCALL_OFFSETS, "presence of an attribute"),
];

/// Numbers that follow from code; both files have them or none.
const NUMBERS: &[(u8, &str)] =
    &[(code::NUM_MBARRIERS, "mbarrier operations"), (code::NUM_BARRIERS, "barrier numbers")];

pub fn compare(found: &mut Found, ours: &Side<'_>, theirs: &Side<'_>, level: u8) {
    for (who, side) in [("ours", ours), ("theirs", theirs)] {
        rules(found, &format!("{who} {}", side.function.name), side);
    }
    let place = ours.function.name;
    fixed(found, place, ours, theirs);
    for (attribute, difference) in BY_CODE {
        let [a, b] = [ours, theirs].map(|side| side.find(*attribute));
        found.equal(difference, place, a.is_some(), b.is_some());
    }
    for (attribute, difference) in LISTS.iter().chain(NUMBERS) {
        let [a, b] = [ours, theirs].map(|side| side.find(*attribute));
        // From -O1 on ptxas drops operations whose result is not read or is known.
        let dropped = level > 0 && *difference == "warp operations" && b.is_none();
        if a.is_some() != b.is_some() && !dropped {
            let what = format!("{place}: {} {a:x?} instead of {b:x?}", label(*attribute));
            found.add("presence of an attribute", what);
        } else if a.is_some() != b.is_some() || NUMBERS.iter().any(|(n, _)| n == attribute) {
            found.equal(difference, place, a, b);
        }
    }
    shapes(found, place, ours, theirs, level);
}

fn label(code: u8) -> &'static str {
    name(code).unwrap_or("an attribute without a name")
}

/// All other attributes: in order, with their values.
fn fixed(found: &mut Found, place: &str, ours: &Side<'_>, theirs: &Side<'_>) {
    let by_code = |c: u8| BY_CODE.iter().chain(LISTS).chain(NUMBERS).any(|(code, _)| *code == c);
    let text = |side: &Side<'_>| -> Vec<String> {
        let all = side.function.attributes.iter().filter(|a| !by_code(a.code()));
        let name = |s: u32| side.cubin.symbols.get(s as usize).map_or("?", |s| s.name);
        all.map(|a| match a {
            Attribute::ParamCbank { symbol, offset, size } => {
                let symbol = side.cubin.symbols.get(*symbol as usize);
                let section = symbol.and_then(|s| side.cubin.sections.get(s.section as usize));
                format!("ParamCbank {:?} {offset:#x} {size}", section.map(|s| s.name))
            }
            Attribute::Externs(list) => {
                format!("Externs {:?}", list.iter().map(|s| name(*s)).collect::<Vec<_>>())
            }
            other => format!("{other:x?}"),
        })
        .collect()
    };
    let (a, b) = (text(ours), text(theirs));
    if a != b {
        let only = |x: &[String], y: &[String]| -> Vec<String> {
            x.iter().filter(|t| !y.contains(t)).cloned().collect()
        };
        let (more, less) = (only(&a, &b), only(&b, &a));
        found.add("attributes", format!("{place}: {more:?} instead of {less:?} (or their order)"));
    }
    let both: BTreeSet<u8> = codes(ours).intersection(&codes(theirs)).copied().collect();
    let order = |side: &Side<'_>| -> Vec<&str> {
        let mut list: Vec<u8> = side.function.attributes.iter().map(Attribute::code).collect();
        list.dedup();
        list.into_iter().filter(|c| both.contains(c)).map(label).collect()
    };
    found.equal("order of attributes", place, order(ours), order(theirs));
}

fn codes(side: &Side<'_>) -> BTreeSet<u8> {
    side.function.attributes.iter().map(Attribute::code).collect()
}

/// Counts and kinds, where places and registers differ. From -O1 on ptxas may copy code, drop some,
/// or know a mask.
fn shapes(found: &mut Found, place: &str, ours: &Side<'_>, theirs: &Side<'_>, level: u8) {
    let kinds = |side: &Side<'_>| -> Vec<u32> {
        let entries = side.entries::<4>(code::MBARRIER_INSTR_OFFSETS);
        entries.iter().map(|e| e[3] & 0xffff).collect()
    };
    let (mut a, mut b) = (kinds(ours), kinds(theirs));
    let masks = |side: &Side<'_>| -> Vec<bool> {
        let masks = side.words(code::COOP_GROUP_MASK_REGIDS).unwrap_or_default();
        masks.iter().map(|m| *m == u32::MAX).collect()
    };
    let (m, n) = (masks(ours), masks(theirs));
    let number = |side: &Side<'_>| side.find(code::NUM_MBARRIERS).cloned();
    if level == 0 {
        found.equal("number of mbarriers", place, number(ours), number(theirs));
    }
    let helped = theirs.function.inner.iter().any(|f| super::is_helper(f.name));
    if level == 0 && !helped && !theirs.code.has_products() {
        // Every mask is in a register there.
        found.equal("count of warp operations", place, m.len(), n.len());
    } else if level > 0 {
        for list in [&mut a, &mut b] {
            list.sort_unstable();
            list.dedup();
        }
        // A mask that ptxas knows to be of the whole warp is one for us too; it has some in
        // registers all the same, in copies of code for threads that have diverged.
        let (known, all_known) = (n.contains(&true), n.iter().all(|known| *known));
        let dropped = n.is_empty();
        if !dropped && (known && !m.contains(&true) || all_known && m.contains(&false)) {
            found.add("kinds of masks", format!("{place}: {m:?} instead of {n:?}"));
        }
    }
    found.equal("kinds of mbarrier operations", place, a, b);
}

/// The rules that each side must keep to, whatever its code is.
fn rules(found: &mut Found, place: &str, side: &Side<'_>) {
    let code = &side.code;
    let exits = side.words(code::EXIT_INSTR_OFFSETS).unwrap_or_default();
    found.equal("rule of EXIT_INSTR_OFFSETS", place, exits, code.places(Opcode::EXIT));
    let stack = side.find(code::CRS_STACK_SIZE).is_some();
    if code.needs_call_stack().is_some_and(|needs| needs != stack) {
        found.add("rule of CRS_STACK_SIZE", format!("{place}: {stack}"));
    }
    let listed = side.words(code::COOP_GROUP_INSTR_OFFSETS).unwrap_or_default();
    let masks = side.words(code::COOP_GROUP_MASK_REGIDS).unwrap_or_default();
    let own = side.words(code::INT_WARP_WIDE_INSTR_OFFSETS).unwrap_or_default();
    let operations = [Opcode::SHFL, Opcode::VOTE, Opcode::MATCH, Opcode::REDUX];
    let meetings = [Opcode::NOP, Opcode::WARPSYNC, Opcode::BAR, Opcode::UCGABAR_ARV];
    // A ballot whose result is the same for all threads is a VOTEU (observed: at -O1, of a
    // predicate in a uniform register).
    let ballots = [Opcode::VOTEU];
    let listable = [&operations[..], &ballots, &meetings].concat();
    let cooperative = |at: &u32| side.is_one_of(*at, &listable);
    if listed.len() != masks.len() || !listed.iter().all(cooperative) {
        found.add("rule of COOP_GROUP_INSTR_OFFSETS", format!("{place}: {listed:x?} {masks:x?}"));
    }
    let internal = |at: &u32| side.is_one_of(*at, &operations) || side.is_one_of(*at, &ballots);
    let unlisted =
        code.warp_operations().into_iter().find(|at| !listed.contains(at) && !own.contains(at));
    if !own.iter().all(internal) || unlisted.is_some() {
        found
            .add("rule of INT_WARP_WIDE_INSTR_OFFSETS", format!("{place}: {own:x?} {unlisted:x?}"));
    }
    barriers(found, place, side);
    let annotations = side.entries::<2>(code::ANNOTATIONS);
    let spill = |e: &[u32; 2]| e[0] == 1 && side.is_one_of(e[1], &[Opcode::STL, Opcode::LDL]);
    if !annotations.iter().all(spill) {
        found.add("rule of ANNOTATIONS", format!("{place}: {annotations:x?}"));
    }
    let jumps = side.find(code::INDIRECT_BRANCH_TARGETS).is_some();
    let tables = [Opcode::BRX, Opcode::BRXU].iter().any(|op| !code.places(*op).is_empty());
    found.equal("rule of INDIRECT_BRANCH_TARGETS", place, jumps, tables);
    let reconfigured = side.find(code::REG_RECONFIG).is_some();
    let changes = !code.places(Opcode::USETMAXREG).is_empty();
    found.equal("rule of REG_RECONFIG", place, reconfigured, changes);
    let said = side.function.barriers;
    if said < code.named_barriers() {
        let what = format!("{place}: {said} for {}", code.named_barriers());
        found.add("rule of NUM_BARRIERS", what);
    }
}

/// Entries of mbarriers name the address that their instruction has; they are said with how many
/// are initialised.
fn barriers(found: &mut Found, place: &str, side: &Side<'_>) {
    let entries = side.entries::<4>(code::MBARRIER_INSTR_OFFSETS);
    let mut inits = 0;
    for [at, base, displacement, last] in &entries {
        inits += u16::from(last & 0xff == 0);
        let known = side.is_one_of(*at, &[Opcode::SYNCS, Opcode::ARRIVES, Opcode::NOP]);
        let same = side
            .code
            .address(*at)
            .is_none_or(|(b, uniform, d)| (b, uniform, d) == (*base, last >> 16, *displacement));
        if !known || !same {
            let what = format!("{place}: {at:#x} {base} {displacement:#x} {last:#x}");
            found.add("rule of MBARRIER_INSTR_OFFSETS", what);
        }
    }
    let said = match side.find(code::NUM_MBARRIERS) {
        Some(Attribute::NumMbarriers(n)) => Some(*n),
        _ => None,
    };
    let wanted = (!entries.is_empty()).then_some(inits);
    // An unknown number where a loop has one of them.
    let in_loop =
        || entries.iter().filter(|e| e[3] & 0xff == 0).any(|e| side.code.is_in_loop(e[0]));
    if !(said == Some(u16::MAX) && in_loop()) {
        found.equal("rule of NUM_MBARRIERS", place, said, wanted);
    }
    let counted = entries.iter().filter(|e| matches!(e[3] & 0xff, 2 | 4)).map(|e| e[0]);
    let counts: Vec<u32> = side.entries::<3>(code::INSTR_REG_MAP).iter().map(|e| e[0]).collect();
    found.equal("rule of INSTR_REG_MAP", place, counts, counted.collect());
}
