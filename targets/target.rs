//! The targets: name, limits, and the doors to encoder, decoder and table.

use crate::form::{Form, Slot, SlotKind};
use crate::generated::sm90;
use orias_components::{Inst, Opcode, Operand, RegFile};

/// The instruction table of a generation.
#[derive(Debug)]
pub struct Table {
    pub forms: &'static [Form],
    pub forms_of: fn(Opcode) -> &'static [Form],
    pub(crate) by_number: &'static [(u16, u16); 4096],
    pub(crate) by_number_list: &'static [u16],
    pub specials: &'static [(u8, &'static str)],
}

impl Table {
    /// Forms whose low twelve bits are `number`.
    pub(crate) fn numbered(&self, number: u16) -> impl Iterator<Item = &'static Form> {
        let (start, end) = self.by_number[number as usize & 0xfff];
        let forms = self.forms;
        self.by_number_list[start as usize..end as usize].iter().map(move |i| &forms[*i as usize])
    }
}

static SM90: Table = Table {
    forms: sm90::FORMS,
    forms_of: sm90::forms_of,
    by_number: &sm90::BY_NUMBER,
    by_number_list: sm90::BY_NUMBER_LIST,
    specials: sm90::SPECIALS,
};

/// One SM: its table and limits.
#[derive(Debug)]
pub struct Target {
    /// `sm_90a`
    pub name: &'static str,
    /// 90
    pub sm: u32,
    /// Architecture-specific features (`a` suffix).
    pub accelerated: bool,
    pub table: &'static Table,
    /// General registers that code may name: R0..R254.
    pub registers: u32,
    pub uniform_registers: u32,
    pub predicates: u32,
    pub uniform_predicates: u32,
    /// Convergence barriers B0..B15.
    pub convergence_barriers: u32,
    /// CTA barriers of BAR.
    pub cta_barriers: u32,
    pub scoreboards: u32,
    /// Threads in a warp.
    pub warp: u32,
    /// Bytes of an instruction.
    pub instruction_bytes: u64,
    /// Largest shared memory of a CTA in bytes: static, and with opt-in dynamic.
    pub static_shared: u32,
    pub max_shared: u32,
    /// Largest parameter block in bytes (PTX ISA, kernel parameters: 32,764 from sm_70 on).
    pub max_params: u32,
    /// Registers of an SM's quarter that one CTA's threads share: 65,536 an SM.
    pub register_file: u32,
    /// Registers are handed out in groups of so many a thread.
    pub register_granule: u32,
    /// Byte offsets in constant bank 0 (observed: ptxas 13.0.88).
    pub const_params: u32,
    pub const_descriptor: u32,
    pub const_stack: u32,
}

const SM_90: Target = Target {
    name: "sm_90",
    sm: 90,
    accelerated: false,
    table: &SM90,
    registers: 255,
    uniform_registers: 63,
    predicates: 7,
    uniform_predicates: 7,
    convergence_barriers: 16,
    cta_barriers: 16,
    scoreboards: 6,
    warp: 32,
    instruction_bytes: 16,
    static_shared: 49152,
    max_shared: 232448,
    max_params: 32764,
    register_file: 65536,
    register_granule: 8,
    const_params: 0x210,
    const_descriptor: 0x208,
    const_stack: 0x28,
};

static TARGETS: [Target; 2] = [SM_90, Target { name: "sm_90a", accelerated: true, ..SM_90 }];

/// The target with this name (`sm_90`, `sm_90a`).
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

impl Target {
    /// All targets.
    pub fn all() -> &'static [Target] {
        &TARGETS
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

    /// The row that encodes this instruction as it stands (virtual registers are fine).
    pub fn form(&self, inst: &Inst) -> Option<&'static Form> {
        crate::encode::find(self.table, inst).ok().map(|found| found.form)
    }

    /// The instruction's word. `pc` is its byte offset in the text that targets count in.
    pub fn encode(&self, inst: &Inst, pc: u64) -> Result<u128, crate::EncodeError> {
        crate::encode::encode(self, inst, pc)
    }

    /// The instruction that a word means.
    pub fn decode(&self, word: u128, pc: u64) -> Result<Inst, crate::DecodeError> {
        crate::decode::decode(self, word, pc)
    }

    /// Whether there is a row for `inst` with operand `index` replaced by `operand`: what legalization asks ("may this be
    /// an immediate?").
    pub fn accepts(&self, inst: &Inst, index: usize, operand: Operand) -> bool {
        let mut changed = inst.clone();
        match changed.operands.get_mut(index) {
            Some(slot) => *slot = operand,
            None => return false,
        }
        self.form(&changed).is_some()
    }

    /// The slot of the instruction's row that operand `index` fills.
    pub fn slot(&self, inst: &Inst, index: usize) -> Option<&'static Slot> {
        self.form(inst)?.slots.get(index)
    }

    /// `SR_TID.X` and so on; numbers without a name are `SR36`.
    pub fn special_name(&self, number: u8) -> std::borrow::Cow<'static, str> {
        match self.table.specials.binary_search_by_key(&number, |s| s.0) {
            Ok(i) => self.table.specials[i].1.into(),
            Err(_) => format!("SR{number}").into(),
        }
    }

    /// The number of a special register (`SR_TID.X`).
    pub fn special(&self, name: &str) -> Option<u8> {
        let named = self.table.specials.iter().find(|s| s.1 == name).map(|s| s.0);
        named.or_else(|| name.strip_prefix("SR")?.parse().ok())
    }
}

/// Whether a slot holds an immediate of 32 bits.
pub fn is_immediate(slot: &Slot) -> bool {
    matches!(slot.kind, SlotKind::Imm { .. })
}
