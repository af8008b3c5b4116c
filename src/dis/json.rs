//! `--json`: what is known of every instruction, as one JSON document.
//!
//! Names do not change their meaning; `schema` counts up when one goes away. Missing things are
//! `null` or left out as said.
//!
//! ```text
//! { "schema": 1, "target": "sm_90a", "functions": [ FUNCTION … ] }
//!
//! FUNCTION     "name", "entry" (a kernel), "registers" (a thread; null for raw words), "bytes" (of
//!              its text), "symbols": [ { "name", "address", "bytes" } … ] (functions in the text,
//!              its own too), "instructions": [ INSTRUCTION … ]
//! INSTRUCTION  "address" (byte offset in the text), "word" ("0x" and 32 digits), and either
//!              "error" (no row explains the word) or "text" (as the plain listing has it),
//!              "opcode", "modifiers" (the words of the text, in its order), "guard" (REGISTER, or
//!              null: always), "operands": [ OPERAND … ] (every slot of the row, also what the text
//!              leaves out), "control": CONTROL, "class" (timing class), "row" (file and line of
//!              the table's row)
//! CONTROL      "stall" (cycles), "yield" (true: Y in the text, the bit of the word is 0),
//!              "write_scoreboard", "read_scoreboard" (number or null), "wait" (numbers of the
//!              scoreboards), "text" ("[B------:R-:W-:-:S01]")
//! REGISTER     "file" (R, UR, P, UP, B), "number" (null: the constant register RZ, URZ, PT, UPT),
//!              "cells" (of 32 bits), and, where it is so: "negate", "absolute", "not", "reuse"
//!              (true), "part" (H0_H0, B1 …)
//! OPERAND      "slot" (its name in the row), "role" ("destination", "source"), "kind", and by kind
//!   register   "register": REGISTER
//!   immediate  "bits" ("0x1f": 64 bits, sign-extended where the slot is signed), "style" (how the
//!              text writes it)
//!   constant   "bank", "offset" (bytes), "base", "handle" (REGISTER or null), "negate",
//!              "absolute", "not" where it is so
//!   memory     "base", "uniform" (REGISTER or null), "offset" (bytes), "part" (64, U32, X4 … of
//!              the base, or null)
//!   special    "number", "name"
//!   target     "address" (byte offset in the text; the bare number where the row's target is not
//!              relative)
//!   descriptor "register": REGISTER
//! ```

use super::code::{Code, Part};
use orias_components::{Control, Inst, Mod, Operand, Reg, RegFlags, RegUse};
use orias_targets::{Form, Slot, SlotKind, Target, text};
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    target: &'a str,
    functions: Vec<FunctionJson<'a>>,
}

#[derive(Serialize)]
struct FunctionJson<'a> {
    name: &'a str,
    entry: bool,
    registers: Option<u32>,
    bytes: u64,
    symbols: Vec<SymbolJson<'a>>,
    instructions: Instructions<'a>,
}

#[derive(Serialize)]
struct SymbolJson<'a> {
    name: &'a str,
    address: u64,
    bytes: u64,
}

/// A function's instructions, made while they are written: a large file needs no more memory than
/// its bytes.
struct Instructions<'a> {
    target: &'static Target,
    part: &'a Part<'a>,
}

impl Serialize for Instructions<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.part.instructions();
        serializer.collect_seq(all.map(|(pc, word)| instruction(self.target, pc, word)))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum InstructionJson {
    Decoded(Box<DecodedJson>),
    Undecoded { address: u64, word: String, error: String },
}

#[derive(Serialize)]
struct DecodedJson {
    address: u64,
    word: String,
    text: String,
    opcode: &'static str,
    modifiers: Vec<&'static str>,
    guard: Option<RegisterJson>,
    operands: Vec<OperandJson>,
    control: ControlJson,
    class: String,
    row: &'static str,
}

#[derive(Serialize)]
struct ControlJson {
    stall: u8,
    #[serde(rename = "yield")]
    yields: bool,
    write_scoreboard: Option<u8>,
    read_scoreboard: Option<u8>,
    wait: Vec<u8>,
    text: String,
}

#[derive(Serialize, Default)]
struct FlagsJson {
    #[serde(skip_serializing_if = "is_false")]
    negate: bool,
    #[serde(skip_serializing_if = "is_false")]
    absolute: bool,
    #[serde(skip_serializing_if = "is_false")]
    not: bool,
    #[serde(skip_serializing_if = "is_false")]
    reuse: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Serialize)]
struct RegisterJson {
    file: &'static str,
    number: Option<u32>,
    cells: u8,
    #[serde(flatten)]
    flags: FlagsJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
}

#[derive(Serialize)]
struct OperandJson {
    slot: &'static str,
    role: &'static str,
    #[serde(flatten)]
    value: ValueJson,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum ValueJson {
    Register {
        register: RegisterJson,
    },
    Immediate {
        bits: String,
        style: String,
    },
    Constant {
        bank: u8,
        offset: i32,
        base: Option<RegisterJson>,
        handle: Option<RegisterJson>,
        #[serde(flatten)]
        flags: FlagsJson,
    },
    Memory {
        base: Option<RegisterJson>,
        uniform: Option<RegisterJson>,
        offset: i32,
        part: Option<&'static str>,
    },
    Special {
        number: u8,
        name: String,
    },
    Target {
        address: i64,
    },
    Descriptor {
        register: RegisterJson,
    },
}

/// Writes the document of what is shown.
pub fn json(code: &Code<'_>, out: impl Write) -> io::Result<()> {
    let functions = code.shown().map(|(index, part)| {
        let function = code.function(index);
        let mut symbols = Vec::new();
        if let (Some(function), Some(cubin)) = (function, &code.cubin) {
            let inner = function.inner.iter().map(|f| f.symbol);
            symbols.extend(std::iter::once(function.symbol).chain(inner).map(|i| {
                let s = &cubin.symbols[i];
                SymbolJson { name: s.name, address: s.value, bytes: s.size }
            }));
        }
        FunctionJson {
            name: part.name,
            entry: function.is_some_and(|f| f.entry),
            registers: function.map(|f| f.registers),
            bytes: part.size(),
            symbols,
            instructions: Instructions { target: code.target, part },
        }
    });
    let document = Document { schema: 1, target: code.target.name, functions: functions.collect() };
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer(&mut out, &document)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn instruction(target: &'static Target, address: u64, word: u128) -> InstructionJson {
    let hex = format!("{word:#034x}");
    let (form, inst) = match target.decode_row(word, address) {
        Ok(found) => found,
        Err(error) => {
            return InstructionJson::Undecoded { address, word: hex, error: error.to_string() };
        }
    };
    let mut line = String::new();
    text::write(&mut line, target, Some(form), &inst, &mut &text::Numeric);
    let guard = (!inst.guard.is_always()).then(|| {
        let flags = if inst.guard.negated { RegFlags::NOT } else { RegFlags::NONE };
        register(&RegUse { flags, ..RegUse::new(inst.guard.reg) }, Mod::NONE)
    });
    let slots = form.slots().iter().zip(&inst.operands).enumerate();
    InstructionJson::Decoded(Box::new(DecodedJson {
        address,
        word: hex,
        text: line.trim_end_matches([' ', ';']).into(),
        opcode: inst.op.name(),
        modifiers: inst.mods.iter().map(Mod::name).collect(),
        guard,
        operands: slots.map(|(i, (s, o))| operand(target, form, &inst, i, s, o)).collect(),
        control: control(&inst.control),
        class: format!("{:?}", form.class).to_lowercase(),
        row: form.row,
    }))
}

fn control(c: &Control) -> ControlJson {
    let scoreboard = |n: u8| (n != Control::NO_SB).then_some(n);
    ControlJson {
        stall: c.stall,
        yields: !c.yield_,
        write_scoreboard: scoreboard(c.write_sb),
        read_scoreboard: scoreboard(c.read_sb),
        wait: (0..8).filter(|i| c.wait >> i & 1 != 0).collect(),
        text: c.to_string(),
    }
}

fn flags(f: RegFlags) -> FlagsJson {
    FlagsJson {
        negate: f.has(RegFlags::NEG),
        absolute: f.has(RegFlags::ABS),
        not: f.has(RegFlags::NOT),
        reuse: f.has(RegFlags::REUSE),
    }
}

fn register(r: &RegUse, part: Mod) -> RegisterJson {
    RegisterJson {
        file: r.reg.file().prefix(),
        number: r.reg.phys_index(),
        cells: r.count,
        flags: flags(r.flags),
        part: word(part),
    }
}

/// A register that is not the constant one.
fn named(reg: Reg, count: u8) -> Option<RegisterJson> {
    (!reg.is_zero()).then(|| register(&RegUse::wide(reg, count), Mod::NONE))
}

fn word(m: Mod) -> Option<&'static str> {
    (m != Mod::NONE).then(|| m.name())
}

fn operand(
    target: &Target,
    form: &Form,
    inst: &Inst,
    index: usize,
    slot: &Slot,
    operand: &Operand,
) -> OperandJson {
    debug_assert_eq!(form.op, inst.op);
    let value = match operand {
        Operand::Reg(r) => ValueJson::Register { register: register(r, Mod::NONE) },
        Operand::Part(r, part) => ValueJson::Register { register: register(r, *part) },
        Operand::Imm(bits) => {
            let style = match slot.kind {
                SlotKind::Imm { style, .. } => format!("{style:?}").to_lowercase(),
                _ => "hex".into(),
            };
            ValueJson::Immediate { bits: format!("{bits:#x}"), style }
        }
        Operand::Const(c) => ValueJson::Constant {
            bank: c.bank,
            offset: c.offset,
            base: named(c.base, 1),
            handle: named(c.handle, 2),
            flags: flags(c.flags),
        },
        Operand::Mem(m) => ValueJson::Memory {
            base: named(m.base.reg, m.base.count),
            uniform: named(m.uniform.reg, m.uniform.count),
            offset: m.offset,
            part: word(m.sel),
        },
        Operand::Special(number) => {
            ValueJson::Special { number: *number, name: target.special_name(*number).into_owned() }
        }
        Operand::Addr(address) => ValueJson::Target { address: *address as i64 },
        Operand::Desc(r) => ValueJson::Descriptor { register: register(r, Mod::NONE) },
        // Words decode to none of these.
        Operand::Block(_) | Operand::Symbol { .. } => ValueJson::Target { address: 0 },
    };
    let role = if index < usize::from(inst.defs) { "destination" } else { "source" };
    OperandJson { slot: slot.name, role, value }
}
