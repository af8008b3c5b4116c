//! Our cubin beside ptxas's for the same PTX, by all that a loader, a debugger or a sanitizer reads of it: header, sections,
//! symbols, relocations, segments, notes, and every attribute of the module and of each kernel.
//!
//! What may differ follows from code that differs. Each such difference has a name in [`NAMED`], with the rule by which ptxas
//! writes the thing; where a rule speaks of code, it is checked on both sides against the side's own code ([`code`]), so that a
//! named difference says that both keep to the rule and not that nobody looked. Everything else is unnamed, and a fault.

mod code;
mod kernel;
mod module;
pub mod run;

use orias::elf::Cubin;
use orias_targets::Target;

/// Every difference that is accepted: its name, and the rule by which ptxas 13.0.88 writes what differs (observed on sm_90a by
/// varying one thing in small PTX, at -O0 and -O3).
pub const NAMED: &[(&str, &str)] = &[
    ("text", "the code is another compiler's; its section and symbol are as long as it is"),
    ("frame description", "call frame programs name places in the text, and its length"),
    (
        "line table",
        "line programs name places in the text, and ptxas cuts lines out of the PTX that it keeps",
    ),
    ("tool", "who made the file, in .note.nv.tkinfo"),
    ("register count", "REGCOUNT: the highest register + 3, or what setmaxnreg wants at entry"),
    (
        "frame size",
        "FRAME_SIZE, MIN_STACK_SIZE: the stack of spilled registers and of local variables that stay in memory",
    ),
    ("exit offsets", "EXIT_INSTR_OFFSETS: each EXIT of the text, in order"),
    (
        "call/return stack",
        "CRS_STACK_SIZE: there are BSSY, calls of functions of the file, or conditional branches that are not known to be \
         uniform; each compiler knows it of others, and makes selects or exits of others",
    ),
    (
        "warp operations",
        "COOP_GROUP_INSTR_OFFSETS: the instruction of each shfl.sync, vote.sync, match.sync, redux.sync, bar.warp.sync (there a \
         NOP), of each barrier.sync that is not .aligned and behind barrier.cluster.arrive; COOP_GROUP_MASK_REGIDS: the register \
         with its mask, all ones for the whole warp from -O1 on. ptxas copies code, and at -O0 has every mask in a register; what \
         products of matrices that the machine lacks are made of counts too",
    ),
    (
        "compiler's warp operations",
        "INT_WARP_WIDE_INSTR_OFFSETS: SHFL, VOTE, VOTEU, MATCH and REDUX that the compiler makes for itself, to gather atomics",
    ),
    (
        "mbarrier operations",
        "MBARRIER_INSTR_OFFSETS: place, address (base register, displacement, uniform register) and kind of each mbarrier \
         instruction but arrive.expect_tx; where lanes take turns, of a NOP before. NUM_MBARRIERS: how many initialise one, \
         0xffff where one does so in a loop. INSTR_REG_MAP: the count of noComplete",
    ),
    (
        "unused load bytes",
        "UNUSED_LOAD_BYTE_OFFSET: loads of which some bytes are never used, with a mask of those that are; a hint for tools that \
         look for uninitialised memory",
    ),
    ("spill code", "ANNOTATIONS: (1, place) of each STL and LDL of spill code"),
    (
        "jump tables",
        "INDIRECT_BRANCH_TARGETS and constant bank 2: each BRX with its targets; we search by comparisons and have no BRX",
    ),
    (
        "half atomics",
        "ATOM16_EMUL_INSTR_REG_MAP: the first load and the compare-and-swap of an atomic of 16 bits, with the register that still \
         holds the address in its word; we keep no such register",
    ),
    (
        "barrier numbers",
        "NUM_BARRIERS: the highest number in a BAR + 1, 16 where it is in a register; ptxas knows more registers' values",
    ),
    (
        "helpers",
        "ptxas calls a helper for what it does not expand in place: a symbol, a frame description, FRAME_SIZE, and the empty \
         relocation section of a text with calls",
    ),
    (
        "pointers to functions",
        "a pointer is 8 times a number in constant bank 2, which holds places; ptxas also numbers other names (.alias), and has \
         places in pointers where the module has one kernel",
    ),
    (
        "kernel order",
        "where code takes a function's address, ptxas's kernels follow neither the source nor its reverse",
    ),
    (
        "reserved shared memory",
        "a symbol that code names loses its name once it is resolved: .nv.reservedSmem.offset0 and those of \
         %reserved_smem_offset_begin, _cap and _0; we leave one symbol for all",
    ),
    (
        "texture references",
        "a .texref, .samplerref or .surfref is an undefined symbol of a kind of its own; our compiler refuses what uses it, and \
         places it like memory",
    ),
    (
        "debug sections",
        "sections that the PTX itself has (.section .debug_…) become sections, and the header's flags begin with 0x0a instead of 0x09 (line tables) or 0x06 (none)",
    ),
];

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its name in [`NAMED`], or what is wrong.
    pub name: &'static str,
    /// The section or kernel, and both values.
    pub what: String,
}

impl Difference {
    /// Whether it is one that is accepted.
    pub fn is_named(&self) -> bool {
        NAMED.iter().any(|(name, _)| *name == self.name)
    }
}

/// The compiler's own functions have names that no PTX has.
fn is_helper(name: &str) -> bool {
    name.starts_with("$__internal_")
}

/// Differences as they are found.
#[derive(Default)]
struct Found(Vec<Difference>);

impl Found {
    fn add(&mut self, name: &'static str, what: impl Into<String>) {
        self.0.push(Difference { name, what: what.into() });
    }

    /// Adds a difference where two things are not equal.
    fn equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        name: &'static str,
        place: &str,
        ours: T,
        theirs: T,
    ) {
        if ours != theirs {
            self.add(name, format!("{place}: {ours:x?} instead of {theirs:x?}"));
        }
    }
}

/// All differences between two cubins of one PTX file; `level` is that of the compilers. Where ours refused kernels, only what the
/// others say is compared.
///
/// # Errors
/// When one of them is no cubin, or has words that no row of the target explains.
pub fn differences(
    target: &Target,
    (ours, theirs): (&[u8], &[u8]),
    level: u8,
    refused: &[String],
) -> Result<Vec<Difference>, String> {
    let [ours, theirs] = [ours, theirs].map(|file| Cubin::read(file).map_err(|e| e.to_string()));
    let (ours, theirs) = (ours?, theirs?);
    let mut found = Found::default();
    if refused.is_empty() {
        module::compare(&mut found, &ours, &theirs);
    }
    for of_theirs in theirs.kernels().filter(|k| !refused.iter().any(|name| name == k.name)) {
        match ours.kernel(of_theirs.name) {
            Some(of_ours) => {
                let sides = [(&ours, of_ours), (&theirs, of_theirs)].map(|(cubin, function)| {
                    let code = code::Code::read(target, function)?;
                    Ok::<_, String>(kernel::Side { cubin, function, code })
                });
                let [ours, theirs] = sides;
                kernel::compare(&mut found, &ours?, &theirs?, level);
            }
            None => found.add("kernels", format!("no {}", of_theirs.name)),
        }
    }
    Ok(found.0)
}
