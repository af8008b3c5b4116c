//! Atomics, reductions and fences.

use super::memory::{scope, space};
use crate::lower::source::{Cx, Sel, operand, type_at};
use crate::ptx::program::Instruction;
use crate::ptx::types::{Space, Type, TypeKind};
use orias_components::{MemRef, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::emit::{Address, Emit, cell, not, r, wide};

/// The operation of an atomic.
fn operation(inst: &Instruction<'_>) -> Sel<&'static str> {
    ["add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"]
        .into_iter()
        .find(|name| inst.has(name))
        .ok_or_else(|| "no operation".into())
}

fn word(op: &str) -> Mod {
    match op {
        "add" => Mod::ADD,
        "min" => Mod::MIN,
        "max" => Mod::MAX,
        "inc" => Mod::INC,
        "dec" => Mod::DEC,
        "and" => Mod::AND,
        "or" => Mod::OR,
        "xor" => Mod::XOR,
        "exch" => Mod::EXCH,
        _ => Mod::CAS,
    }
}

pub fn atom<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
    let red = inst.opcode == "red";
    let ty = type_at(inst, 0)?;
    let op = operation(inst)?;
    if inst.types.len() != 1 || !matches!(ty.bytes(), 4 | 8) {
        return Err("atomics of this type".into());
    }
    if ty.kind() == TypeKind::Float && !matches!(ty, Type::F32 | Type::F64) {
        return Err("atomics of this type".into());
    }
    let first = if red { 0 } else { 1 };
    let unread = red || cx.is_unread(operand(inst, 0)?);
    let d = if unread { Reg::RZ } else { cx.dst(operand(inst, 0)?)? };
    let address_op = operand(inst, first)?;
    let space = space(inst);
    let mut values = Vec::new();
    for i in 0..if op == "cas" { 2 } else { 1 } {
        let value = operand(inst, first + 1 + i)?;
        values.push(if ty.bytes() == 8 {
            cx.pair(value, ty)?
        } else {
            let value = cx.src(value, ty)?;
            cx.in_reg(value)
        });
    }
    if inst.has("release") || inst.has("acq_rel") {
        before_release(cx, inst);
    }
    let address = cx.address(address_op, space)?;
    match space {
        Space::Global | Space::Generic => global(cx, inst, space, op, ty, d, address, &values),
        Space::Shared => shared(cx, op, ty, d, address, &values),
        _ => Err("atomics in this space".into()),
    }?;
    if inst.has("acquire") || inst.has("acq_rel") {
        after_acquire(cx, inst);
    }
    Ok(())
}

/// Words of the type after the operation.
fn type_words(op: &str, ty: Type) -> Vec<Mod> {
    match (op, ty) {
        ("add", Type::F32) => vec![Mod::F32, Mod::FTZ, Mod::RN],
        ("add", Type::F64) => vec![Mod::F64, Mod::RN],
        ("min" | "max", Type::S32) => vec![Mod::S32],
        ("min" | "max", Type::S64) => vec![Mod::S64],
        (_, ty) if ty.bytes() == 8 => vec![Mod::_64],
        _ => Vec::new(),
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
fn global(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction<'_>,
    space: Space,
    op: &str,
    ty: Type,
    d: Reg,
    address: Address,
    values: &[Operand],
) -> Sel {
    if ty.kind() == TypeKind::Float && op != "add" && op != "exch" {
        return Err("this operation on floats".into());
    }
    if space == Space::Generic && (ty.bytes() != 4 || ty == Type::F32 || op == "cas") {
        // In shared memory the hardware does not finish these: they need a second path.
        return Err("this operation on a generic address".into());
    }
    let mut mods = vec![Mod::E, word(op)];
    mods.extend(type_words(op, ty));
    mods.extend([Mod::STRONG, scope(inst).unwrap_or(Mod::GPU)]);
    let result = if ty.bytes() == 8 { wide(d, 2) } else { r(d) };
    let result = if d.is_zero() { Operand::RZ } else { result };
    let desc = cx.descriptor();
    let desc = Operand::Desc(desc);
    let m = address.operand();
    let generic = space == Space::Generic;
    if op == "cas" {
        let opcode = if generic { Opcode::ATOM } else { Opcode::ATOMG };
        // Compare-and-swap has no descriptor, and its address no word for its width.
        let m = match m {
            Operand::Mem(m) => Operand::Mem(MemRef { sel: Mod::NONE, ..m }),
            m => m,
        };
        cx.e.put(opcode, &mods, 2, &[Operand::PT, result, m, values[0], values[1]]);
    } else if d.is_zero() && !generic && op != "exch" {
        cx.e.put(Opcode::REDG, &mods, 0, &[desc, m, values[0]]);
    } else {
        let opcode = if generic { Opcode::ATOM } else { Opcode::ATOMG };
        cx.e.put(opcode, &mods, 2, &[Operand::PT, result, desc, m, values[0]]);
    }
    Ok(())
}

/// Shared memory has 32-bit integer atomics, exchange, and compare-and-swap; the rest is a loop around it.
fn shared(
    cx: &mut Cx<'_, '_>,
    op: &str,
    ty: Type,
    d: Reg,
    address: Address,
    values: &[Operand],
) -> Sel {
    let wide_type = ty.bytes() == 8;
    let result = if d.is_zero() {
        Operand::RZ
    } else if wide_type {
        wide(d, 2)
    } else {
        r(d)
    };
    let mut mods = vec![word(op)];
    mods.extend(type_words(op, ty));
    let m = |a: Address| a.operand();
    match op {
        "cas" => {
            let address = plain(cx, address);
            cx.e.put(Opcode::ATOMS, &mods, 1, &[result, m(address), values[0], values[1]]);
            Ok(())
        }
        "exch" => {
            cx.e.put(Opcode::ATOMS, &mods, 1, &[result, m(address), values[0]]);
            Ok(())
        }
        _ if !wide_type && ty != Type::F32 => {
            cx.e.put(Opcode::ATOMS, &mods, 1, &[result, m(address), values[0]]);
            Ok(())
        }
        _ => {
            let address = plain(cx, address);
            swap_loop(cx, op, ty, d, address, values[0])
        }
    }
}

/// Compare-and-swap takes no uniform register in its address.
fn plain(cx: &mut Cx<'_, '_>, address: Address) -> Address {
    if address.uniform.reg.is_zero() {
        return address;
    }
    let (copy, sum) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.mov(r(copy), Operand::Reg(address.uniform));
    cx.e.iadd3(r(sum), Operand::Reg(address.base), r(copy), Operand::RZ);
    Address { base: RegUse::new(sum), uniform: RegUse::new(Reg::URZ), ..address }
}

/// Load, compute, try to swap, until nobody came between.
fn swap_loop(
    cx: &mut Cx<'_, '_>,
    op: &str,
    ty: Type,
    d: Reg,
    address: Address,
    value: Operand,
) -> Sel {
    let cells = if ty.bytes() == 8 { 2 } else { 1 };
    let (old, new, got) = (cx.e.temp(cells), cx.e.temp(cells), cx.e.temp(cells));
    let op = op.to_string();
    cx.e.guarded_region(|e| -> Sel {
        let whole = |reg: Reg| if cells == 2 { wide(reg, 2) } else { r(reg) };
        let width: &[Mod] = if cells == 2 { &[Mod::_64] } else { &[] };
        let head = e.open_new();
        e.load(Opcode::LDS, width, whole(old), None, address);
        combine(e, &op, ty, new, old, value)?;
        let mut mods = vec![Mod::CAS];
        mods.extend(width);
        let operands = [whole(got), address.operand(), whole(old), whole(new)];
        e.put(Opcode::ATOMS, &mods, 1, &operands);
        let p = e.temp_pred();
        if cells == 2 {
            let and = (Mod::AND, Operand::PT);
            e.isetp64(
                r(p),
                Mod::EQ,
                false,
                [cell(got, 0), cell(got, 1)],
                [cell(old, 0), cell(old, 1)],
                and,
            );
        } else {
            e.icmp(r(p), Mod::EQ, false, r(got), r(old));
        }
        e.branch_if(not(r(p)), head);
        e.open_new();
        if !d.is_zero() {
            (0..cells).for_each(|i| e.mov(cell(d, i), cell(old, i)));
        }
        Ok(())
    })
}

/// `new = old op value`
fn combine(e: &mut Emit<'_>, op: &str, ty: Type, new: Reg, old: Reg, value: Operand) -> Sel {
    let v = value.as_reg().map(|u| u.reg).ok_or("value")?;
    let words = |reg: Reg| [cell(reg, 0), cell(reg, 1)];
    match (op, ty) {
        ("add", Type::F32) => e.fadd(&[], r(new), value, r(old)),
        ("add", Type::F64) => {
            e.put(Opcode::DADD, &[], 1, &[wide(new, 2), value, wide(old, 2)]);
        }
        ("add", _) => e.add64(new, words(old), words(v)),
        ("min" | "max", Type::S64 | Type::U64) => {
            let p = e.temp_pred();
            let cmp = if op == "min" { Mod::LT } else { Mod::GT };
            let and = (Mod::AND, Operand::PT);
            e.isetp64(r(p), cmp, ty.is_signed(), words(v), words(old), and);
            for i in 0..2 {
                e.sel(cell(new, i), cell(v, i), cell(old, i), r(p));
            }
        }
        ("and" | "or" | "xor", _) => {
            let lut = match op {
                "and" => 0xc0,
                "or" => 0xfc,
                _ => 0x3c,
            };
            for i in 0..2 {
                e.lop3(cell(new, i), cell(old, i), cell(v, i), Operand::RZ, lut);
            }
        }
        _ => return Err("this operation in shared memory".into()),
    }
    Ok(())
}

/// The membar that a scope needs.
fn membar(cx: &mut Cx<'_, '_>, kind: Mod, scope: Mod) {
    let scope = if scope == Mod::SM { Mod::CTA } else { scope };
    cx.e.put(Opcode::MEMBAR, &[kind, scope], 0, &[]);
    if scope != Mod::CTA {
        cx.e.put(Opcode::ERRBAR, &[], 0, &[]);
        cx.e.put(Opcode::CGAERRBAR, &[], 0, &[]);
    }
}

/// What a release waits for.
pub fn before_release(cx: &mut Cx<'_, '_>, inst: &Instruction<'_>) {
    membar(cx, Mod::ALL, scope(inst).unwrap_or(Mod::GPU));
}

/// After an acquire nothing older may come from the first-level cache.
pub fn after_acquire(cx: &mut Cx<'_, '_>, inst: &Instruction<'_>) {
    if scope(inst) != Some(Mod::SM) {
        cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
    }
}

/// `membar` and `fence`.
pub fn fence<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
    if inst.has("proxy") || inst.modifiers.iter().any(|m| m.starts_with("proxy")) {
        return Err("proxy fences".into());
    }
    if inst.has("mbarrier_init") || inst.has("sync_restrict") {
        return Err("this fence".into());
    }
    let level = if inst.has("gl") { Mod::GPU } else { scope(inst).unwrap_or(Mod::SYS) };
    let weaker = inst.opcode == "fence" && !inst.has("sc");
    membar(cx, if weaker { Mod::ALL } else { Mod::SC }, level);
    if level != Mod::SM {
        cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
    }
    Ok(())
}
