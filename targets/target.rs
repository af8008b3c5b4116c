//! The targets: name, limits, instruction table and latencies. What takes instructions and words is
//! in `doors.rs`.

use crate::form::{Form, Slot, SlotKind};
use crate::habits::Habits;
use crate::latency::Latencies;
use crate::load::{self, Data, Head};
use crate::seen::Seen;
use orias_components::{Opcode, RegFile};
use std::sync::{LazyLock, OnceLock};

/// So many forms have their places side by side, made when the first of them is asked for: a small
/// kernel asks for some thirty of a thousand.
const TOGETHER: usize = 16;

/// The instruction table of an SM. Forms are read when they are first asked for, and live as long
/// as the program.
#[derive(Debug)]
pub struct Table {
    data: Data,
    forms: Vec<OnceLock<Box<[OnceLock<&'static Form>; TOGETHER]>>>,
    specials: OnceLock<Vec<(u8, &'static str)>>,
    seen: Option<Seen>,
}

impl Table {
    /// From the bytes of the table with its strings, and those of what was seen.
    fn read(bytes: &'static [u8], text: &'static str, seen: &'static [u8]) -> load::Result<Table> {
        let data = Data::read(bytes, text)?;
        let forms = vec![OnceLock::new(); data.len().div_ceil(TOGETHER)];
        Ok(Table { data, forms, specials: OnceLock::new(), seen: Seen::read(seen)? })
    }

    /// What is wrong with a form, of rows that no test has read.
    fn check(&self) -> load::Result<()> {
        for index in 0..self.len() {
            let form = self.data.form(index as u16)?;
            self.place(index as u16).get_or_init(|| form);
        }
        self.data.specials().map(|_| ())
    }

    /// How many forms there are.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All forms; those of one opcode stand together.
    pub fn forms(&self) -> impl Iterator<Item = &'static Form> + Clone {
        (0..self.len()).map(|index| self.form(index as u16))
    }

    /// Where a form is kept.
    #[inline]
    fn place(&self, index: u16) -> &OnceLock<&'static Form> {
        let index = index as usize;
        &self.forms[index / TOGETHER].get_or_init(Box::default)[index % TOGETHER]
    }

    /// The form with this index.
    ///
    /// # Panics
    /// Where there is none.
    #[inline]
    pub fn form(&self, index: u16) -> &'static Form {
        let read = || self.data.form(index).expect("a test reads every form");
        self.place(index).get_or_init(read)
    }

    /// The forms of an opcode.
    pub fn forms_of(&self, op: Opcode) -> impl Iterator<Item = &'static Form> {
        self.data.forms_of(op).map(|index| self.form(index))
    }

    /// The forms of an opcode that take operands of these kinds, in the table's order.
    pub(crate) fn fitting(
        &self,
        op: Opcode,
        kinds: u64,
    ) -> impl DoubleEndedIterator<Item = &'static Form> {
        let fits = move |index: &u16| self.data.head(*index).takes_kinds(kinds);
        self.data.forms_of(op).filter(fits).map(|index| self.form(index))
    }

    /// Forms whose low twelve bits are `number`, with what tells whether a word may be theirs.
    pub(crate) fn numbered(&self, number: u16) -> impl Iterator<Item = (u16, Head)> {
        self.data.numbered(number).map(|index| (index, self.data.head(index)))
    }

    /// The number of a special register.
    pub fn special(&self, name: &str) -> Option<u8> {
        self.data.special(name)
    }

    /// Special registers, in order of their numbers.
    pub fn specials(&self) -> &[(u8, &'static str)] {
        self.specials.get_or_init(|| self.data.specials().expect("a test reads every table"))
    }
}

/// The tables that the build script wrote.
macro_rules! tables {
    ($($name:ident $file:literal)*) => {
        $(static $name: LazyLock<Table> = LazyLock::new(|| {
            let table = include_bytes!(concat!(env!("OUT_DIR"), $file, ".table"));
            let seen = include_bytes!(concat!(env!("OUT_DIR"), $file, ".seen"));
            let text = include_str!(concat!(env!("OUT_DIR"), $file, ".text"));
            Table::read(table, text, seen).expect("a test reads every table")
        });)*
    };
}

tables! {
    SM75 "/sm75" SM80 "/sm80" SM86 "/sm86" SM87 "/sm87" SM88 "/sm88" SM89 "/sm89"
    SM90 "/sm90" SM100 "/sm100" SM120 "/sm120"
}

/// Where a target's table comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Built(&'static LazyLock<Table>),
    Read(&'static Table, &'static Latencies),
}

/// One SM: its table and limits.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// `sm_90a`
    pub name: &'static str,
    /// 90
    pub sm: u32,
    /// Architecture-specific features (`a` suffix).
    pub accelerated: bool,
    table: Source,
    /// The pipeline makes code for it; otherwise there is the table alone: for the disassembler.
    pub codegen: bool,
    /// Code is made only of instructions that ptxas was seen to emit: see [`crate::seen`].
    pub bound: bool,
    /// Text names RZ with its width in a global address that has a uniform register
    /// (`[RZ.U32+UR4]`).
    pub shows_zero_base: bool,
    /// General registers that code may name: R0..R254.
    pub registers: u32,
    /// UR0 and on that code may name.
    pub uniform_registers: u32,
    /// P0 and on that code may name.
    pub predicates: u32,
    /// UP0 and on that code may name.
    pub uniform_predicates: u32,
    /// Convergence barriers B0..B15.
    pub convergence_barriers: u32,
    /// CTA barriers of BAR.
    pub cta_barriers: u32,
    /// Scoreboards of a warp, SB0 and on.
    pub scoreboards: u32,
    /// Threads in a warp.
    pub warp: u32,
    /// Of what a conditional branch leads around: how many instructions are done under its
    /// condition instead, copies not counted.
    pub predication: Predication,
    /// Which trees of comparisons become a jump through a table.
    pub switches: Switches,
    /// Which loops do several rounds at once.
    pub unrolling: Unrolling,
    /// Bytes of an instruction.
    pub instruction_bytes: u64,
    /// Largest shared memory of a CTA in bytes: static, and with opt-in dynamic.
    pub static_shared: u32,
    /// See above.
    pub max_shared: u32,
    /// Bytes at the start of shared memory that the system keeps: variables begin behind them
    /// (observed: ptxas 13.0.88).
    pub shared_reserved: u32,
    /// Largest parameter block in bytes (PTX ISA, kernel parameters: 32,764 from sm_70 on).
    pub max_params: u32,
    /// Registers of an SM's quarter that one CTA's threads share: 65,536 an SM.
    pub register_file: u32,
    /// Registers are handed out in groups of so many a thread.
    pub register_granule: u32,
    /// Byte offsets in constant bank 0 (observed: ptxas 13.0.88).
    pub const_params: u32,
    /// Where the memory descriptor lies; 0: there is none.
    pub const_descriptor: u32,
    /// Where the stack pointer before the first frame lies.
    pub const_stack: u32,
}

/// How long a way of a conditional branch may be for its instructions to be done under the
/// condition; a branch or EXIT at its end counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predication {
    /// Each way.
    pub alone: u32,
    /// One that loads from global memory, or two together, where other loads take their time beside
    /// them.
    pub overlapped: u32,
    /// One beside a way that loads.
    pub beside: u32,
    /// Copies and constants, which become selects.
    pub moves: u32,
    /// Instructions before the branch among which a load is still under way.
    pub window: u32,
    /// So much behind the ways is as good as a load there.
    pub behind: u32,
}

/// How dense the constants of a tree of comparisons have to be for a table of places to go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switches {
    /// Fewest comparisons.
    pub least: u32,
    /// Most values from the least constant to the greatest, for each comparison.
    pub spread: u32,
}

/// How long a loop of one block may be to do several rounds without a test, in instructions of the
/// IR with its branch: of those whose number of rounds is known `whole` counts alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unrolling {
    /// One that loads.
    pub most: u32,
    /// One that computes only.
    pub without_loads: u32,
    /// All rounds of one that runs a known number of them.
    pub whole: u32,
    /// So many rounds of another one.
    pub times: u32,
}

const SM_90: Target = Target {
    name: "sm_90",
    sm: 90,
    accelerated: false,
    table: Source::Built(&SM90),
    codegen: true,
    bound: true,
    shows_zero_base: true,
    registers: 255,
    uniform_registers: 63,
    predicates: 7,
    uniform_predicates: 7,
    convergence_barriers: 16,
    cta_barriers: 16,
    scoreboards: 6,
    warp: 32,
    // Found by trying (ptxas 13.0.88, sm_90a -O3): ways of 1 to 24 sums, products, logic, singles
    // and doubles, stores, loads from shared memory: 8 are the most, 7 and a branch where there are
    // two ways; with one load from global memory or more 20 with all that is among them; of
    // constants 17.
    predication: Predication {
        alone: 8,
        overlapped: 20,
        beside: 10,
        moves: 17,
        window: 20,
        behind: 6,
    },
    // The spread was found by compiling chains of 2 to 150 comparisons whose values are 1 to 5000
    // apart (ptxas 13.0.88, from 2 on); a table is six instructions, and each comparison two.
    switches: Switches { least: 4, spread: 5 },
    // Found by compiling loops that add 1 to 128 products (ptxas 13.0.88): with a load they do
    // four rounds at once up to 50 instructions, without one up to some 24, stores or none; with a
    // known number of rounds all of them, however long one is, up to some thousand instructions
    // (700 here: code is not all that it costs). Loops that wait or exchange something stay.
    unrolling: Unrolling { most: 50, without_loads: 24, whole: 700, times: 4 },
    instruction_bytes: 16,
    static_shared: 49152,
    max_shared: 232448,
    shared_reserved: 0x400,
    max_params: 32764,
    register_file: 65536,
    register_granule: 8,
    const_params: 0x210,
    const_descriptor: 0x208,
    const_stack: 0x28,
};

const SM_80: Target = Target {
    name: "sm_80",
    sm: 80,
    table: Source::Built(&SM80),
    codegen: false,
    shows_zero_base: false,
    max_shared: 166912,
    shared_reserved: 0,
    const_params: 0x160,
    const_descriptor: 0x118,
    ..SM_90
};

/// No descriptors.
const SM_75: Target = Target {
    name: "sm_75",
    sm: 75,
    table: Source::Built(&SM75),
    max_shared: 65536,
    const_descriptor: 0,
    ..SM_80
};

const SM_100: Target = Target {
    name: "sm_100",
    sm: 100,
    table: Source::Built(&SM100),
    codegen: false,
    uniform_registers: 255,
    const_params: 0x380,
    const_descriptor: 0x358,
    const_stack: 0x37c,
    ..SM_90
};

const SM_120: Target =
    Target { name: "sm_120", sm: 120, table: Source::Built(&SM120), max_shared: 101376, ..SM_100 };

static TARGETS: [Target; 13] = [
    SM_75,
    SM_80,
    Target { name: "sm_86", sm: 86, table: Source::Built(&SM86), max_shared: 101376, ..SM_80 },
    Target { name: "sm_87", sm: 87, table: Source::Built(&SM87), ..SM_80 },
    Target { name: "sm_88", sm: 88, table: Source::Built(&SM88), ..SM_80 },
    Target { name: "sm_89", sm: 89, table: Source::Built(&SM89), max_shared: 101376, ..SM_80 },
    SM_90,
    Target { name: "sm_90a", accelerated: true, ..SM_90 },
    SM_100,
    Target { name: "sm_100a", accelerated: true, ..SM_100 },
    SM_120,
    Target { name: "sm_120a", accelerated: true, ..SM_120 },
    Target { name: "sm_120f", ..SM_120 },
];

/// The target with this name (`sm_90`, `sm_90a`).
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

impl Target {
    /// All targets.
    pub fn all() -> &'static [Target] {
        &TARGETS
    }

    /// How long its results take.
    pub fn latencies(&self) -> &'static Latencies {
        match self.table {
            Source::Built(_) => Latencies::of(self.sm),
            Source::Read(_, latencies) => latencies,
        }
    }

    /// How ptxas sets the control fields of its instructions.
    pub fn habits(&self) -> &'static Habits {
        Habits::of(self.sm)
    }

    /// The instructions that it has.
    pub fn table(&self) -> &'static Table {
        match self.table {
            Source::Built(table) => table,
            Source::Read(table, _) => table,
        }
    }

    /// The same target with the rows of a folder in place of those that were built in: for work on
    /// the rows. It lives as long as the program.
    ///
    /// # Errors
    /// What is wrong with a row, with its place.
    pub fn with_rows(&self, folder: &std::path::Path) -> Result<&'static Target, String> {
        let made = crate::rows::compile(folder, self.sm as u16)?;
        let table = Table::read(made.table.leak(), made.text.leak(), made.seen.leak())?;
        table.check()?;
        let latencies = Latencies::read(self.sm, made.latencies.leak());
        let table = Source::Read(Box::leak(Box::new(table)), Box::leak(Box::new(latencies)));
        Ok(Box::leak(Box::new(Target { table, ..*self })))
    }

    /// Registers of a file that code may name, without the constant one.
    pub fn file_size(&self, file: RegFile) -> u32 {
        match file {
            RegFile::R => self.registers,
            RegFile::UR => self.uniform_registers,
            RegFile::P => self.predicates,
            RegFile::UP => self.uniform_predicates,
            RegFile::B => self.convergence_barriers,
        }
    }

    /// What ptxas was seen to emit on this SM; None where nobody has looked.
    pub fn seen(&self) -> Option<&'static Seen> {
        self.table().seen.as_ref()
    }

    /// The same target, whose code may use all that the instruction table has: for a machine that
    /// proves more than ptxas shows. It lives as long as the program.
    pub fn widened(&self) -> &'static Target {
        Box::leak(Box::new(Target { bound: false, ..*self }))
    }

    /// `SR_TID.X` and so on; numbers without a name are `SR36`.
    pub fn special_name(&self, number: u8) -> std::borrow::Cow<'static, str> {
        let specials = self.table().specials();
        match specials.binary_search_by_key(&number, |s| s.0) {
            Ok(i) => specials[i].1.into(),
            Err(_) => format!("SR{number}").into(),
        }
    }

    /// The number of a special register (`SR_TID.X`).
    pub fn special(&self, name: &str) -> Option<u8> {
        let named = self.table().special(name);
        named.or_else(|| name.strip_prefix("SR")?.parse().ok())
    }
}

/// Whether a slot holds an immediate of 32 bits.
pub fn is_immediate(slot: &Slot) -> bool {
    matches!(slot.kind, SlotKind::Imm { .. })
}
