//! PTX operands as Ori operands: registers, immediates by halves, addresses of variables, special
//! registers.

use super::layout::{FunctionLayout, Module, SHARED_RESERVED, SharedSlot};
use super::params::{Home, Params};
use crate::ptx::program::{
    AddressBase, Function, Instruction, Operand as Ptx, Program, RegId, VarId,
};
use crate::ptx::types::{Space, Type, TypeKind};
use crate::ptx::words::Op;
use orias_components::{BlockId, ConstRef, Mod, Operand, Reg, RegFile, RegFlags, RegUse};
use orias_systems::emit::{Address, Emit, cell, imm, r, wide};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Why an instruction cannot be lowered; the caller adds instruction and place.
pub type Sel<T = ()> = Result<T, String>;

/// The value of a source operand.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A register of this many cells.
    Reg(Reg, u8),
    /// Immediate bits, sign-extended to 64 bits when the type is signed.
    Imm(u64),
}

impl Value {
    /// The low 32 bits.
    pub fn lo(self) -> Operand {
        match self {
            Value::Reg(reg, _) => cell(reg, 0),
            Value::Imm(v) => imm(v as u32),
        }
    }

    /// Bits 32 to 63. A register of one cell has none: zero.
    pub fn hi(self) -> Operand {
        match self {
            Value::Reg(_, 1) => Operand::RZ,
            Value::Reg(reg, _) => cell(reg, 1),
            Value::Imm(v) => imm((v >> 32) as u32),
        }
    }

    pub fn halves(self) -> [Operand; 2] {
        [self.lo(), self.hi()]
    }
}

/// One function on its way from PTX to Ori.
pub struct Cx<'a, 'w> {
    pub program: &'a Program<'a>,
    pub module: &'a Module,
    pub function: &'a Function<'a>,
    pub layout: &'a FunctionLayout,
    /// Places of shared variables: those of the kernel that the code is for.
    pub shared: &'a [SharedSlot],
    pub e: Emit<'w>,
    /// By [`RegId`]: the virtual register of each element (one, or two or four of a vector
    /// register).
    pub regs: Vec<[Reg; 4]>,
    /// By [`RegId`]: some instruction reads it.
    pub read: Vec<bool>,
    /// By [`RegId`]: the constant that the register holds wherever it is written.
    pub constants: Vec<Option<i128>>,
    /// By label index.
    pub labels: Vec<BlockId>,
    /// Uniform pair that holds the descriptor of global memory; loaded in the entry block when
    /// something uses it.
    pub desc: Option<Reg>,
    /// Stands in for the descriptor while an access with a cache policy is lowered.
    pub policy: Option<RegUse>,
    /// Uniform register with the address of shared memory's byte [`SHARED_RESERVED`]; likewise.
    pub shared_base: Option<Reg>,
    /// The carry flag of `add.cc` and its kind.
    pub carry: Option<Reg>,
    /// Highest named barrier used + 1.
    pub barriers: u32,
    /// The block in which a matrix instruction has brought the warp together last.
    pub converged: Option<BlockId>,
    /// Words that stand in a tuple of registers: the tuple, its block and the place in it from
    /// which on it holds them.
    pub tuples: FxHashMap<SmallVec<[Operand; 16]>, (Reg, BlockId, usize)>,
    /// Variables of the parameter space, and the frame.
    pub params: Params,
    /// Bytes from the frame's bottom to the first `.local` variable.
    pub locals_at: u32,
    /// The block where a device function's returns meet, once there is one.
    pub epilogue: Option<BlockId>,
}

impl<'a, 'w> Cx<'a, 'w> {
    pub fn reg_type(&self, id: RegId) -> Type {
        self.function.regs[id.0 as usize].ty
    }

    /// The register that a destination operand names, `_` is the zero register.
    pub fn dst(&self, op: &Ptx) -> Sel<Reg> {
        match op {
            Ptx::Reg(id) => Ok(self.regs[id.0 as usize][0]),
            Ptx::Element(id, i) => Ok(self.regs[id.0 as usize][*i as usize]),
            Ptx::Sink => Ok(Reg::RZ),
            Ptx::Pair(d, _) => self.dst(d),
            _ => Err("destination is not a register".into()),
        }
    }

    /// Whether nothing reads the destination register: an atomic is then a reduction.
    pub fn is_unread(&self, op: &Ptx) -> bool {
        match op {
            Ptx::Reg(id) => !self.read[id.0 as usize],
            Ptx::Sink => true,
            _ => false,
        }
    }

    /// Cells of the destination register: 1, 2 or 4; the zero register takes what is asked.
    pub fn dst_cells(&self, op: &Ptx) -> u8 {
        match op {
            Ptx::Reg(id) | Ptx::Element(id, _) => cells_of(self.reg_type(*id)),
            Ptx::Pair(d, _) => self.dst_cells(d),
            _ => 1,
        }
    }

    /// A predicate destination, `_` is PT.
    pub fn dst_pred(&self, op: &Ptx) -> Sel<Operand> {
        match op {
            Ptx::Reg(id) if self.reg_type(*id) == Type::Pred => Ok(r(self.regs[id.0 as usize][0])),
            Ptx::Sink => Ok(Operand::PT),
            _ => Err("destination is not a predicate".into()),
        }
    }

    /// A predicate source; a constant is PT or !PT.
    pub fn pred(&self, op: &Ptx) -> Sel<Operand> {
        match op {
            Ptx::Reg(id) => Ok(r(self.regs[id.0 as usize][0])),
            Ptx::NotReg(id) => Ok(orias_systems::emit::not(r(self.regs[id.0 as usize][0]))),
            Ptx::Int(0) => Ok(Operand::NOT_PT),
            Ptx::Int(_) => Ok(Operand::PT),
            _ => Err("operand is not a predicate".into()),
        }
    }

    /// A source operand read as `ty`.
    pub fn value(&mut self, op: &Ptx, ty: Type) -> Sel<Value> {
        Ok(match op {
            Ptx::Reg(id) => Value::Reg(self.regs[id.0 as usize][0], cells_of(self.reg_type(*id))),
            Ptx::Element(id, i) => {
                Value::Reg(self.regs[id.0 as usize][*i as usize], cells_of(self.reg_type(*id)))
            }
            Ptx::Int(v) => Value::Imm(int_bits(*v, ty)),
            Ptx::F32(f) => Value::Imm(u64::from(f.to_bits())),
            Ptx::F64(f) if ty.bytes() == 4 => Value::Imm(u64::from((*f as f32).to_bits())),
            Ptx::F64(f) => Value::Imm(f.to_bits()),
            Ptx::Var(var, offset) => self.var_address(*var, *offset)?,
            Ptx::Func(f) => Value::Imm(super::select::pointer(self, *f)?),
            Ptx::Special(s) => {
                let wide = super::special::is_wide(*s);
                let cells = if wide { 2 } else { 1 };
                let d = self.e.temp(cells);
                self.special(*s, d)?;
                Value::Reg(d, cells)
            }
            _ => return Err("operand of this kind".into()),
        })
    }

    /// The low 32 bits of a source.
    pub fn src(&mut self, op: &Ptx, ty: Type) -> Sel<Operand> {
        Ok(self.value(op, ty)?.lo())
    }

    /// A source of 8 or 16 bits extended to 32 by its type; wider ones as they are.
    pub fn ext(&mut self, op: &Ptx, ty: Type) -> Sel<Operand> {
        let value = self.value(op, ty)?;
        Ok(self.extend(value, ty))
    }

    pub fn extend(&mut self, value: Value, ty: Type) -> Operand {
        if let Value::Imm(v) = value {
            return imm(int_bits(i128::from(v as i64), ty) as u32);
        }
        if ty.bytes() >= 4 {
            return value.lo();
        }
        let d = self.e.temp(1);
        self.extend_to(r(d), value.lo(), ty);
        r(d)
    }

    /// `d` = the 8 or 16 low bits of `a`, extended by the type's sign.
    pub fn extend_to(&mut self, d: Operand, a: Operand, ty: Type) {
        match (ty.bytes(), ty.is_signed()) {
            (1, true) => self.e.prmt(d, a, imm(0x8880), Operand::RZ),
            (1, false) => self.e.and(d, a, imm(0xff)),
            (2, true) => self.e.prmt(d, a, imm(0x9910), Operand::RZ),
            (2, false) => self.e.and(d, a, imm(0xffff)),
            _ => self.e.mov(d, a),
        }
    }

    /// A 64-bit source by halves. A narrower register is extended by its own type when `ty` is
    /// signed.
    pub fn halves(&mut self, op: &Ptx, ty: Type) -> Sel<[Operand; 2]> {
        Ok(self.value(op, ty)?.halves())
    }

    /// A 64-bit source as one operand of two cells; constants go to a register.
    pub fn pair(&mut self, op: &Ptx, ty: Type) -> Sel<Operand> {
        let value = self.value(op, ty)?;
        Ok(wide(self.pair_of(value), 2))
    }

    pub fn pair_of(&mut self, value: Value) -> Reg {
        match value {
            Value::Reg(reg, 2) => reg,
            other => self.join(other.lo(), other.hi()),
        }
    }

    /// A new register pair of two 32-bit operands.
    pub fn join(&mut self, lo: Operand, hi: Operand) -> Reg {
        let d = self.e.temp(2);
        self.e.mov(cell(d, 0), lo);
        self.e.mov(cell(d, 1), hi);
        d
    }

    /// A register with the value: immediates are moved.
    pub fn in_reg(&mut self, op: Operand) -> Operand {
        match op {
            Operand::Reg(u) if u.flags == RegFlags::NONE => op,
            other => {
                let d = self.e.temp(1);
                self.e.mov(r(d), other);
                r(d)
            }
        }
    }

    /// Whether one of the sources is the low half of `d`, or more of it.
    pub fn overlaps(&self, d: Reg, sources: &[Operand]) -> bool {
        let in_low = |u: &RegUse| u.reg == d && !d.is_zero() && u.cell == 0;
        sources.iter().any(|s| s.as_reg().is_some_and(in_low))
    }

    /// A register to build a 64-bit result in, low half first: `d` itself, or a temporary when one
    /// of `sources`, which are still to be read after that, is its low half.
    pub fn building(&mut self, d: Reg, sources: &[Operand]) -> Reg {
        if self.overlaps(d, sources) { self.e.temp(2) } else { d }
    }

    /// Copies what [`Self::building`] gave to the destination.
    pub fn built(&mut self, d: Reg, built: Reg) {
        if d != built {
            self.e.mov(cell(d, 0), cell(built, 0));
            self.e.mov(cell(d, 1), cell(built, 1));
        }
    }

    /// The uniform pair with the descriptor of global memory.
    pub fn descriptor(&mut self) -> RegUse {
        if let Some(policy) = self.policy {
            return policy;
        }
        let reg = match self.desc {
            Some(reg) => reg,
            None => *self.desc.insert(self.e.body.new_vreg(RegFile::UR, 2, 2)),
        };
        RegUse::wide(reg, 2)
    }

    /// The uniform register with the address of the first usable byte of shared memory.
    pub fn shared_base(&mut self) -> Reg {
        match self.shared_base {
            Some(reg) => reg,
            None => *self.shared_base.insert(self.e.body.new_vreg(RegFile::UR, 1, 1)),
        }
    }

    pub fn shared_offset(&self, var: VarId) -> Sel<i64> {
        let slot = self.shared.iter().find(|s| s.var == var);
        slot.map(|s| s.offset as i64).ok_or_else(|| "shared variable without a place".into())
    }

    fn local_offset(&self, var: VarId) -> Sel<i64> {
        let slot = self.layout.local.iter().find(|(v, _)| *v == var);
        slot.map(|(_, o)| i64::from(*o + self.locals_at))
            .ok_or_else(|| "local variable without a place".into())
    }

    /// The address of a variable in its own space.
    fn var_address(&mut self, var: VarId, offset: i64) -> Sel<Value> {
        let v = &self.program.vars[var.0 as usize];
        if v.ty.kind() == TypeKind::Opaque {
            return Err("the handle of a texture, sampler or surface".into());
        }
        match v.space {
            Space::Global => {
                let key = self.module.key_of(var).ok_or("variable without a symbol")?;
                let at = self.module.address_offset(key).ok_or("variable without an address")?;
                let d = self.e.temp(2);
                self.e.ldc(&[Mod::_64], wide(d, 2), Operand::constant(4, at as i32));
                if offset == 0 {
                    return Ok(Value::Reg(d, 2));
                }
                let sum = self.e.temp(2);
                self.e.add64(sum, [cell(d, 0), cell(d, 1)], Value::Imm(offset as u64).halves());
                Ok(Value::Reg(sum, 2))
            }
            Space::Const => {
                let symbol = self.module.symbol_of(var).ok_or("constant without a symbol")?;
                Ok(Value::Imm((symbol.offset as i64 + offset) as u64))
            }
            Space::Shared => {
                let at = self.shared_offset(var)? + offset - SHARED_RESERVED as i64;
                let base = self.shared_base();
                let d = self.e.temp(2);
                if at == 0 {
                    self.e.mov(cell(d, 0), r(base));
                } else {
                    let lo = self.e.temp(1);
                    self.e.mov(r(lo), r(base));
                    self.e.iadd3(cell(d, 0), r(lo), imm(at as u32), Operand::RZ);
                }
                self.e.mov(cell(d, 1), Operand::RZ);
                Ok(Value::Reg(d, 2))
            }
            Space::Local => {
                let at = self.local_offset(var)? + offset;
                let d = self.e.temp(2);
                let frame = self.params.frame();
                self.e.iadd3(cell(d, 0), r(frame), imm(at as u32), Operand::RZ);
                self.e.mov(cell(d, 1), Operand::RZ);
                Ok(Value::Reg(d, 2))
            }
            Space::Param if self.params.home(var).is_some() => {
                let Some(Home::Memory(base, at)) = self.params.home(var).cloned() else {
                    return Err("address of a parameter in registers".into());
                };
                let d = self.e.temp(2);
                let at = at + offset as i32;
                self.e.iadd3(cell(d, 0), r(base), imm(at as u32), Operand::RZ);
                self.e.mov(cell(d, 1), Operand::RZ);
                Ok(Value::Reg(d, 2))
            }
            Space::Param if self.function.entry => {
                // A kernel parameter's address in its space is its offset (observed: ptxas
                // 13.0.88).
                let param = self.layout.params.iter().find(|p| p.var == var);
                let param = param.ok_or("address of a parameter")?;
                Ok(Value::Imm((i64::from(param.offset) + offset) as u64))
            }
            _ => Err("address of this variable".into()),
        }
    }

    /// The address operand of an access to `space`.
    pub fn address(&mut self, op: &Ptx, space: Space) -> Sel<Address> {
        let Ptx::Address { base, offset } = op else {
            return Err("address of this form".into());
        };
        let none = RegUse::new(Reg::RZ);
        let no_uniform = RegUse::new(Reg::URZ);
        let wide_space = matches!(space, Space::Global | Space::Generic);
        let mut address = match base {
            AddressBase::Reg(id) => {
                let reg = self.regs[id.0 as usize][0];
                let cells = cells_of(self.reg_type(*id));
                let base = match (wide_space, cells) {
                    (true, 2) => RegUse::wide(reg, 2),
                    // A 32-bit address of global memory is extended with zeros.
                    (true, _) => RegUse::wide(self.join(r(reg), Operand::RZ), 2),
                    (false, _) => RegUse::at(reg, 0, 1),
                };
                Address { base, uniform: no_uniform, offset: 0 }
            }
            AddressBase::Var(var) => {
                let v = &self.program.vars[var.0 as usize];
                match v.space {
                    Space::Shared => {
                        let at = self.shared_offset(*var)? - SHARED_RESERVED as i64;
                        let uniform = RegUse::new(self.shared_base());
                        Address { base: none, uniform, offset: at as i32 }
                    }
                    Space::Local => Address {
                        base: RegUse::new(self.params.frame()),
                        uniform: no_uniform,
                        offset: self.local_offset(*var)? as i32,
                    },
                    _ => {
                        let value = self.var_address(*var, 0)?;
                        let base = RegUse::wide(self.pair_of(value), 2);
                        Address { base, uniform: no_uniform, offset: 0 }
                    }
                }
            }
            AddressBase::Absolute => {
                let base = if wide_space {
                    RegUse::wide(self.pair_of(Value::Imm(*offset as u64)), 2)
                } else {
                    let d = self.in_reg(imm(*offset as u32));
                    *d.as_reg().ok_or("address")?
                };
                return Ok(Address { base, uniform: no_uniform, offset: 0 });
            }
        };
        let total = i64::from(address.offset) + offset;
        if (-0x80_0000..0x80_0000).contains(&total) {
            address.offset = total as i32;
            return Ok(address);
        }
        // The offset field has 24 bits: larger ones are added to the base.
        if address.base.count == 2 {
            let sum = self.e.temp(2);
            let base = address.base;
            self.e.add64(
                sum,
                [cell(base.reg, 0), cell(base.reg, 1)],
                Value::Imm(total as u64).halves(),
            );
            address.base = RegUse::wide(sum, 2);
        } else {
            let sum = self.e.temp(1);
            self.e.iadd3(r(sum), Operand::Reg(address.base), imm(total as u32), Operand::RZ);
            address.base = RegUse::new(sum);
        }
        address.offset = 0;
        Ok(address)
    }

    /// `c[bank][...]` of an access to constant or parameter memory.
    pub fn constant_address(&mut self, op: &Ptx, space: Space) -> Sel<ConstRef> {
        let Ptx::Address { base, offset } = op else {
            return Err("address of this form".into());
        };
        let at = |bank: u8, base: Reg, offset: i64| ConstRef {
            bank,
            flags: RegFlags::NONE,
            base,
            base_cell: 0,
            handle: Reg::RZ,
            part: Mod::NONE,
            offset: offset as i32,
        };
        match base {
            AddressBase::Reg(id) => {
                let reg = self.regs[id.0 as usize][0];
                let (bank, start) = match space {
                    Space::Param => (0, i64::from(self.module.options.target.const_params)),
                    _ => (3, 0),
                };
                let offset = offset + start;
                if !(-0x8000..0x8000).contains(&offset) {
                    let sum = self.e.temp(1);
                    self.e.iadd3(r(sum), cell(reg, 0), imm(offset as u32), Operand::RZ);
                    return Ok(at(bank, sum, 0));
                }
                Ok(at(bank, reg, offset))
            }
            AddressBase::Var(var) => {
                let v = &self.program.vars[var.0 as usize];
                match v.space {
                    Space::Const => {
                        let symbol = self.module.symbol_of(*var).ok_or("no symbol")?;
                        Ok(at(3, Reg::RZ, symbol.offset as i64 + offset))
                    }
                    Space::Param => {
                        let param = self.layout.params.iter().find(|p| p.var == *var);
                        let param = param.ok_or("not a parameter of this kernel")?;
                        Ok(at(
                            0,
                            Reg::RZ,
                            i64::from(self.module.options.target.const_params + param.offset)
                                + offset,
                        ))
                    }
                    _ => Err("address of this space".into()),
                }
            }
            AddressBase::Absolute if space == Space::Param => {
                let start = i64::from(self.module.options.target.const_params);
                Ok(at(0, Reg::RZ, offset + start))
            }
            AddressBase::Absolute => Ok(at(3, Reg::RZ, *offset)),
        }
    }
}

/// The stack pointer.
pub const STACK: Reg = Reg::phys(RegFile::R, 1);

/// 32-bit cells of a register of this type.
pub fn cells_of(ty: Type) -> u8 {
    match ty.bytes() {
        16 => 4,
        8 => 2,
        _ => 1,
    }
}

/// The bits of an integer constant read as `ty`, sign-extended to 64 when the type is signed.
pub fn int_bits(value: i128, ty: Type) -> u64 {
    let v = value as u64;
    let bits = ty.bits();
    if bits >= 64 {
        return v;
    }
    let shift = 64 - bits;
    if ty.kind() == TypeKind::Signed {
        ((v << shift) as i64 >> shift) as u64
    } else {
        v << shift >> shift
    }
}

/// Operands of an instruction, by position.
pub fn operand(inst: &Instruction, i: usize) -> Sel<&Ptx> {
    inst.operands.get(i).ok_or_else(|| format!("operand {} is missing", i + 1))
}

/// The nth type word of an instruction.
pub fn type_at(inst: &Instruction, i: usize) -> Sel<Type> {
    inst.types.get(i).copied().ok_or_else(|| "a type is missing".into())
}

/// Which registers of a function some instruction reads: every mention counts but the plain
/// destination of an atomic.
pub fn registers_read(function: &Function<'_>) -> Vec<bool> {
    fn mark(op: &Ptx, read: &mut [bool]) {
        match op {
            Ptx::Reg(id) | Ptx::NotReg(id) | Ptx::Element(id, _) | Ptx::Part(id, _) => {
                read[id.0 as usize] = true;
            }
            Ptx::Neg(op) => mark(op, read),
            Ptx::Address { base: AddressBase::Reg(id), .. } => read[id.0 as usize] = true,
            Ptx::Vector(list) | Ptx::AddressList(list) | Ptx::List(list) => {
                list.iter().for_each(|op| mark(op, read));
            }
            Ptx::Pair(a, b) => {
                mark(a, read);
                mark(b, read);
            }
            _ => {}
        }
    }
    let mut read = vec![false; function.regs.len()];
    for inst in &function.code {
        let skip = usize::from(inst.opcode == Op::Atom);
        inst.operands.iter().skip(skip).for_each(|op| mark(op, &mut read));
        if let Some((id, _)) = inst.guard {
            read[id.0 as usize] = true;
        }
    }
    read
}

/// Registers that one unguarded `mov` of a constant defines and nothing else.
pub fn constant_registers(function: &Function<'_>) -> Vec<Option<i128>> {
    fn defined(op: &Ptx, f: &mut dyn FnMut(RegId)) {
        match op {
            Ptx::Reg(id) | Ptx::Element(id, _) | Ptx::Part(id, _) => f(*id),
            Ptx::Vector(list) | Ptx::List(list) => list.iter().for_each(|op| defined(op, f)),
            Ptx::Pair(a, b) => {
                defined(a, f);
                defined(b, f);
            }
            _ => {}
        }
    }
    let mut definitions = vec![0u32; function.regs.len()];
    let mut constants = vec![None; function.regs.len()];
    for inst in &function.code {
        // Destinations come first; a source in their place only makes the answer more careful.
        if let Some(first) = inst.operands.first() {
            defined(first, &mut |id| definitions[id.0 as usize] += 1);
        }
        if let (Op::Mov, None, [Ptx::Reg(id), Ptx::Int(value)]) =
            (inst.opcode, inst.guard, &inst.operands[..])
        {
            constants[id.0 as usize] = Some(*value);
        }
    }
    let once = constants.into_iter().zip(definitions);
    once.map(|(constant, count)| constant.filter(|_| count == 1)).collect()
}
