//! The builder that lowering and the phases that expand instructions go through: it fills default
//! slots, applies a guard, keeps the place.
//!
//! Slots follow the order of the target's rows; a change of a row's slots is a change here and
//! nowhere else.

use crate::effects;
use crate::ssa::Form;
use orias_components::{
    BlockId, Body, Guard, Inst, InstId, Loc, MemRef, Mod, Opcode, Operand, Reg, RegFile, RegFlags,
    RegUse, phis,
};

/// A memory address: 64-bit for global and generic, 32-bit for shared and local.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub base: RegUse,
    pub uniform: RegUse,
    pub offset: i32,
}

impl Address {
    /// As the memory slot of an instruction.
    pub fn operand(self) -> Operand {
        let sel = if self.base.count == 2 { Mod::_64 } else { Mod::NONE };
        Operand::Mem(MemRef { base: self.base, uniform: self.uniform, offset: self.offset, sel })
    }
}

/// One register, its first cell.
pub fn r(reg: Reg) -> Operand {
    Operand::reg(reg)
}

/// One cell of a wide register; the zero register has but one.
pub fn cell(reg: Reg, cell: u8) -> Operand {
    Operand::Reg(RegUse::at(reg, if reg.is_zero() { 0 } else { cell }, 1))
}

/// Both words of a register pair.
pub fn halves(reg: Reg) -> [Operand; 2] {
    [cell(reg, 0), cell(reg, 1)]
}

/// A register of `count` cells.
pub fn wide(reg: Reg, count: u8) -> Operand {
    Operand::Reg(RegUse::wide(reg, count))
}

/// 32 immediate bits.
pub fn imm(value: u32) -> Operand {
    Operand::Imm(u64::from(value))
}

/// The bits of a float.
pub fn fimm(value: f32) -> Operand {
    imm(value.to_bits())
}

fn flip(op: Operand, flag: RegFlags) -> Operand {
    let flip = |f: RegFlags| if f.has(flag) { f.without(flag) } else { f.with(flag) };
    match op {
        Operand::Reg(u) => Operand::Reg(RegUse { flags: flip(u.flags), ..u }),
        Operand::Part(u, m) => Operand::Part(RegUse { flags: flip(u.flags), ..u }, m),
        Operand::Const(c) => {
            Operand::Const(orias_components::ConstRef { flags: flip(c.flags), ..c })
        }
        other => other,
    }
}

/// Integer negation of an operand.
pub fn neg(op: Operand) -> Operand {
    match op {
        Operand::Imm(v) => imm((v as u32).wrapping_neg()),
        op => flip(op, RegFlags::NEG),
    }
}

/// Negation of a 32-bit float operand.
pub fn fneg(op: Operand) -> Operand {
    match op {
        Operand::Imm(v) => imm(v as u32 ^ 0x8000_0000),
        op => flip(op, RegFlags::NEG),
    }
}

/// Absolute value of a 32-bit float operand, dropping a negation.
pub fn fabs(op: Operand) -> Operand {
    let with = |f: RegFlags| f.without(RegFlags::NEG).with(RegFlags::ABS);
    match op {
        Operand::Imm(v) => imm(v as u32 & 0x7fff_ffff),
        Operand::Reg(u) => Operand::Reg(RegUse { flags: with(u.flags), ..u }),
        Operand::Part(u, m) => Operand::Part(RegUse { flags: with(u.flags), ..u }, m),
        op => op,
    }
}

/// Bitwise complement, or the negation of a predicate.
pub fn not(op: Operand) -> Operand {
    match op {
        Operand::Imm(v) => imm(!(v as u32)),
        op => flip(op, RegFlags::NOT),
    }
}

/// A register as a slot with part selectors wants it: this half or byte of it, or with `Mod::NONE`
/// what the slot takes by itself.
pub fn part(op: Operand, part: Mod) -> Operand {
    match op {
        Operand::Reg(u) | Operand::Part(u, _) => Operand::Part(u, part),
        other => other,
    }
}

/// Any function of three predicates: bit `4a + 2b + c` of `lut` is the result. A negation becomes
/// part of the table: ptxas never negates an operand of PLOP3.
pub fn plop3(d: Operand, sources: [Operand; 3], lut: u8) -> Inst {
    let mut table = lut;
    let mut plain = sources;
    for (operand, bit) in plain.iter_mut().zip([4, 2, 1]) {
        if let Operand::Reg(r) = operand
            && r.flags.has(RegFlags::NOT)
        {
            r.flags = r.flags.without(RegFlags::NOT);
            let old = table;
            table = (0..8).map(|i| (old >> (i ^ bit) & 1) << i).sum();
        }
    }
    let [a, b, c] = plain;
    let operands = [d, Operand::PT, a, b, c, imm(u32::from(table)), imm(0)];
    Inst::new(Opcode::PLOP3, &[Mod::LUT], 2, &operands)
}

/// Appends instructions to a body, block after block.
pub struct Emit<'w> {
    pub body: Body<'w>,
    pub block: BlockId,
    order: Vec<BlockId>,
    /// The current block was opened by [`Self::open_after_branch`].
    nameless: bool,
    pub loc: Loc,
    /// The guard of the instruction that is lowered or expanded.
    pub guard: Guard,
    /// Registers from this id on are temporaries of the instruction being lowered: nothing reads
    /// them when the guard is false, so what writes only them runs unguarded (a guarded definition
    /// would keep the register live before it).
    first_temp: u32,
    /// The body is in SSA form: each cell is written once.
    is_ssa: bool,
}

/// A region that PTX's guard jumps over: where it ends, and the guard.
#[must_use]
pub struct Guarded {
    after: BlockId,
    guard: Guard,
}

impl<'w> Emit<'w> {
    pub fn new(mut body: Body<'w>) -> Emit<'w> {
        let block = body.new_detached_block();
        Emit {
            body,
            block,
            order: vec![block],
            nameless: false,
            loc: Loc::default(),
            guard: Guard::ALWAYS,
            first_temp: 0,
            is_ssa: false,
        }
    }

    /// Edits a body that exists: its blocks are opened again one by one, see [`Self::reopen`].
    pub fn edit(body: Body<'w>) -> Emit<'w> {
        Emit {
            body,
            block: BlockId(0),
            order: Vec::new(),
            nameless: false,
            loc: Loc::default(),
            guard: Guard::ALWAYS,
            first_temp: 0,
            is_ssa: false,
        }
    }

    /// The same for a body of this form.
    pub fn edit_in(body: Body<'w>, form: Form) -> Emit<'w> {
        Emit { is_ssa: form.is_ssa, ..Emit::edit(body) }
    }

    /// Opens an existing block and empties it; its instructions are for the caller to keep or to
    /// replace.
    pub fn reopen(&mut self, block: BlockId) -> impl DoubleEndedIterator<Item = InstId> + use<> {
        self.open(block);
        self.body.unlink(block)
    }

    /// Appends an instruction that exists.
    pub fn keep(&mut self, inst: InstId) {
        self.body.append(self.block, inst);
    }

    /// Starts a PTX instruction, or the expansion of one.
    pub fn start(&mut self, loc: Loc, guard: Guard) {
        self.loc = loc;
        self.guard = guard;
        self.first_temp = self.body.vreg_count() as u32;
    }

    /// Sets the layout to the order in which blocks were opened.
    pub fn finish(mut self) -> Body<'w> {
        self.drop_empty_tail();
        let Emit { mut body, order, .. } = self;
        body.set_layout(order);
        body
    }

    /// Continues in `block`, which follows the current one in the layout.
    pub fn open(&mut self, block: BlockId) {
        self.drop_empty_tail();
        self.order.push(block);
        self.block = block;
    }

    /// After a branch: continues in a new block that nothing names. It goes away when nothing is
    /// put into it.
    pub fn open_after_branch(&mut self) {
        self.open_new();
        self.nameless = true;
    }

    /// Whether the current block was opened after a branch and holds nothing yet.
    pub fn in_empty_tail(&self) -> bool {
        self.nameless && self.body.block(self.block).insts().is_empty()
    }

    fn drop_empty_tail(&mut self) {
        if self.in_empty_tail() {
            self.order.pop();
            self.body.remove_detached_block(self.block);
        }
        self.nameless = false;
    }

    /// A new block, not yet placed.
    pub fn label(&mut self) -> BlockId {
        self.body.new_detached_block()
    }

    /// Continues in a new block.
    pub fn open_new(&mut self) -> BlockId {
        let block = self.label();
        self.open(block);
        self.nameless = false;
        block
    }

    /// A temporary of this many 32-bit cells, aligned to its size.
    pub fn temp(&mut self, cells: u8) -> Reg {
        self.body.new_vreg(RegFile::R, cells, cells)
    }

    pub fn temp_pred(&mut self) -> Reg {
        self.body.new_vreg(RegFile::P, 1, 1)
    }

    fn is_temp(&self, reg: Reg) -> bool {
        reg.is_zero() || reg.vreg().is_some_and(|v| v.0 >= self.first_temp)
    }

    fn needs_guard(&self, op: Opcode, dests: &[Operand]) -> bool {
        let is_temp = |d: &Operand| d.as_reg().is_some_and(|u| self.is_temp(u.reg));
        !effects::may_be_speculated(op) || !dests.iter().all(is_temp)
    }

    /// Appends an instruction with all its slots.
    pub fn put(&mut self, op: Opcode, mods: &[Mod], defs: u8, operands: &[Operand]) {
        let id = self.body.make(op, mods, defs, operands, self.loc);
        if !self.guard.is_always() && self.needs_guard(op, &operands[..defs as usize]) {
            self.body.set_guard(id, self.guard);
        }
        self.keep(id);
    }

    /// Appends an instruction under a guard of its own instead of PTX's.
    pub fn put_if(
        &mut self,
        pred: Operand,
        op: Opcode,
        mods: &[Mod],
        defs: u8,
        operands: &[Operand],
    ) {
        let id = self.body.make(op, mods, defs, operands, self.loc);
        if let Some(u) = pred.as_reg() {
            self.body.set_guard(id, Guard { reg: u.reg, negated: u.flags.has(RegFlags::NOT) });
        }
        self.keep(id);
    }

    // ---- moves and selection ----

    pub fn mov(&mut self, d: Operand, a: Operand) {
        self.put(Opcode::MOV, &[], 1, &[d, a, imm(0xf)]);
    }

    pub fn sel(&mut self, d: Operand, a: Operand, b: Operand, p: Operand) {
        self.put(Opcode::SEL, &[], 1, &[d, a, b, p]);
    }

    pub fn prmt(&mut self, d: Operand, a: Operand, selector: Operand, c: Operand) {
        self.put(Opcode::PRMT, &[], 1, &[d, a, selector, c]);
    }

    // ---- integer ----

    pub fn iadd3(&mut self, d: Operand, a: Operand, b: Operand, c: Operand) {
        let (pt, p) = (Operand::PT, Operand::PT);
        self.put(Opcode::IADD3, &[], 3, &[d, pt, p, a, b, c]);
    }

    /// `d = a + b`, carry out to `carry`.
    pub fn iadd_carry_out(&mut self, d: Operand, carry: Operand, a: Operand, b: Operand) {
        self.put(Opcode::IADD3, &[], 3, &[d, carry, Operand::PT, a, b, Operand::RZ]);
    }

    /// `d = a + b + carry in`, carry out to `out` (PT for none).
    pub fn iadd_x(&mut self, d: Operand, out: Operand, a: Operand, b: Operand, carry: Operand) {
        self.put(
            Opcode::IADD3,
            &[Mod::X],
            3,
            &[d, out, Operand::PT, a, b, Operand::RZ, carry, Operand::NOT_PT],
        );
    }

    /// 64-bit sum of operands given by halves.
    pub fn add64(&mut self, d: Reg, a: [Operand; 2], b: [Operand; 2]) {
        let carry = self.temp_pred();
        self.iadd_carry_out(cell(d, 0), r(carry), a[0], b[0]);
        self.iadd_x(cell(d, 1), Operand::PT, a[1], b[1], r(carry));
    }

    /// `d = a - b` in 64 bits: the high half adds the complement and the carry.
    pub fn sub64(&mut self, d: Reg, a: [Operand; 2], b: [Operand; 2]) {
        if let [Operand::Imm(lo), Operand::Imm(hi)] = b {
            // Negating half by half would lose the carry of a zero low half.
            let value = (hi << 32 | lo & 0xffff_ffff).wrapping_neg();
            return self.add64(d, a, [imm(value as u32), imm((value >> 32) as u32)]);
        }
        let carry = self.temp_pred();
        self.iadd_carry_out(cell(d, 0), r(carry), a[0], neg(b[0]));
        self.iadd_x(cell(d, 1), Operand::PT, a[1], not(b[1]), r(carry));
    }

    /// `d = a·b + c`, low 32 bits.
    pub fn imad(&mut self, d: Operand, a: Operand, b: Operand, c: Operand) {
        self.put(Opcode::IMAD, &[], 1, &[d, a, b, c]);
    }

    /// `d (64) = a·b + c (64)`.
    pub fn imad_wide(&mut self, d: Reg, a: Operand, b: Operand, c: Operand, signed: bool) {
        let mods: &[Mod] = if signed { &[Mod::WIDE] } else { &[Mod::WIDE, Mod::U32] };
        self.put(Opcode::IMAD, mods, 2, &[wide(d, 2), Operand::PT, a, b, c]);
    }

    /// `d = (a·b) >> 32`, plus the 64-bit `c`.
    pub fn imad_hi(&mut self, d: Operand, a: Operand, b: Operand, c: Operand, signed: bool) {
        let mods: &[Mod] = if signed { &[Mod::HI] } else { &[Mod::HI, Mod::U32] };
        self.put(Opcode::IMAD, mods, 2, &[d, Operand::PT, a, b, c]);
    }

    /// Any function of three values: bit `4a + 2b + c` of `lut` is the result.
    pub fn lop3(&mut self, d: Operand, a: Operand, b: Operand, c: Operand, lut: u8) {
        self.put(
            Opcode::LOP3,
            &[Mod::LUT],
            2,
            &[Operand::PT, d, a, b, c, imm(u32::from(lut)), Operand::NOT_PT],
        );
    }

    pub fn and(&mut self, d: Operand, a: Operand, b: Operand) {
        self.lop3(d, a, b, Operand::RZ, 0xc0);
    }

    pub fn or(&mut self, d: Operand, a: Operand, b: Operand) {
        self.lop3(d, a, b, Operand::RZ, 0xfc);
    }

    pub fn xor(&mut self, d: Operand, a: Operand, b: Operand) {
        self.lop3(d, a, b, Operand::RZ, 0x3c);
    }

    /// Funnel shift of `hi:lo`; the words choose direction, wrapping, width and the half that is
    /// the result.
    pub fn shf(&mut self, mods: &[Mod], d: Operand, lo: Operand, shift: Operand, hi: Operand) {
        self.put(Opcode::SHF, mods, 1, &[d, lo, shift, hi]);
    }

    /// `a << b`, 0 from 32 on.
    pub fn shl(&mut self, d: Operand, a: Operand, b: Operand) {
        self.shf(&[Mod::L, Mod::U32], d, a, b, Operand::RZ);
    }

    /// `a >> b`, amounts from 32 on as 32.
    pub fn shr(&mut self, d: Operand, a: Operand, b: Operand, signed: bool) {
        let ty = if signed { Mod::S32 } else { Mod::U32 };
        self.shf(&[Mod::R, ty, Mod::HI], d, Operand::RZ, b, a);
    }

    /// Minimum (`max` false) or maximum of 32-bit integers.
    pub fn minmax(&mut self, d: Operand, a: Operand, b: Operand, max: bool, signed: bool) {
        let mods: &[Mod] = if signed { &[] } else { &[Mod::U32] };
        let p = if max { Operand::NOT_PT } else { Operand::PT };
        self.put(Opcode::VIMNMX, mods, 1, &[d, a, b, p]);
    }

    /// `d` = low 64 bits of `a·b + c`.
    pub fn mul64(&mut self, d: Reg, a: [Operand; 2], b: [Operand; 2], c: [Operand; 2]) {
        // The cross products only reach the high word.
        let cross = self.temp(1);
        self.imad(r(cross), a[0], b[1], c[1]);
        let addend = self.temp(2);
        self.mov(cell(addend, 0), c[0]);
        self.imad(cell(addend, 1), a[1], b[0], r(cross));
        self.imad_wide(d, a[0], b[0], wide(addend, 2), false);
    }

    /// A new register pair of two words.
    pub fn join(&mut self, lo: Operand, hi: Operand) -> Reg {
        let d = self.temp(2);
        self.mov(cell(d, 0), lo);
        self.mov(cell(d, 1), hi);
        d
    }

    /// High 64 bits of the unsigned 128-bit product.
    pub fn mul64_hi(&mut self, a: [Operand; 2], b: [Operand; 2]) -> Reg {
        let low = self.temp(2);
        self.imad_wide(low, a[0], b[0], Operand::RZ, false);
        let carry = self.join(cell(low, 1), Operand::RZ);
        let mid = self.temp(2);
        self.imad_wide(mid, a[0], b[1], wide(carry, 2), false);
        let carry = self.join(cell(mid, 0), Operand::RZ);
        let cross = self.temp(2);
        self.imad_wide(cross, a[1], b[0], wide(carry, 2), false);
        let carry = self.join(cell(mid, 1), Operand::RZ);
        let high = self.temp(2);
        self.imad_wide(high, a[1], b[1], wide(carry, 2), false);
        let sum = self.temp(2);
        self.add64(sum, halves(high), [cell(cross, 1), Operand::RZ]);
        sum
    }

    /// The absolute value of a 64-bit integer, and the predicate "was negative".
    pub fn abs64(&mut self, a: [Operand; 2]) -> (Reg, Operand) {
        let p = self.temp_pred();
        self.icmp(r(p), Mod::LT, true, a[1], Operand::RZ);
        let d = self.temp(2);
        self.negate64_if(d, a, r(p));
        (d, r(p))
    }

    /// `d = p ? -a : a` in 64 bits.
    pub fn negate64_if(&mut self, d: Reg, a: [Operand; 2], p: Operand) {
        let negative = self.temp(2);
        self.sub64(negative, [Operand::RZ; 2], a);
        self.sel(cell(d, 0), cell(negative, 0), a[0], p);
        self.sel(cell(d, 1), cell(negative, 1), a[1], p);
    }

    // ---- comparisons and predicates ----

    /// `d = (a cmp b) comb c` for 32-bit integers. `comb` is AND, OR or XOR.
    pub fn isetp(
        &mut self,
        d: Operand,
        cmp: Mod,
        signed: bool,
        [a, b]: [Operand; 2],
        comb: Mod,
        c: Operand,
    ) {
        let mut mods = vec![cmp];
        if !signed {
            mods.push(Mod::U32);
        }
        mods.push(comb);
        self.put(Opcode::ISETP, &mods, 2, &[d, Operand::PT, a, b, c]);
    }

    /// A plain 32-bit comparison.
    pub fn icmp(&mut self, d: Operand, cmp: Mod, signed: bool, a: Operand, b: Operand) {
        self.isetp(d, cmp, signed, [a, b], Mod::AND, Operand::PT);
    }

    /// The 64-bit comparison, by halves: the low one first, the high one with its outcome.
    pub fn isetp64(
        &mut self,
        d: Operand,
        cmp: Mod,
        signed: bool,
        a: [Operand; 2],
        b: [Operand; 2],
        (comb, c): (Mod, Operand),
    ) {
        let low = self.temp_pred();
        self.icmp(r(low), cmp, false, a[0], b[0]);
        let mut mods = vec![cmp];
        if !signed {
            mods.push(Mod::U32);
        }
        mods.extend([comb, Mod::EX]);
        self.put(Opcode::ISETP, &mods, 2, &[d, Operand::PT, a[1], b[1], c, r(low)]);
    }

    pub fn fsetp(
        &mut self,
        d: Operand,
        cmp: Mod,
        ftz: bool,
        [a, b]: [Operand; 2],
        (comb, c): (Mod, Operand),
    ) {
        let mut mods = vec![cmp];
        if ftz {
            mods.push(Mod::FTZ);
        }
        mods.push(comb);
        self.put(Opcode::FSETP, &mods, 2, &[d, Operand::PT, a, b, c]);
    }

    /// Any function of three predicates: bit `4a + 2b + c` of `lut` is the result.
    pub fn plop3(&mut self, d: Operand, a: Operand, b: Operand, c: Operand, lut: u8) {
        let inst = plop3(d, [a, b, c], lut);
        self.put(inst.op, &[Mod::LUT], 2, &inst.operands);
    }

    pub fn mov_pred(&mut self, d: Operand, a: Operand) {
        self.plop3(d, a, Operand::PT, Operand::PT, 0x80);
    }

    // ---- 32-bit float ----

    pub fn fadd(&mut self, mods: &[Mod], d: Operand, a: Operand, b: Operand) {
        self.put(Opcode::FADD, mods, 1, &[d, a, b]);
    }

    pub fn fmul(&mut self, mods: &[Mod], d: Operand, a: Operand, b: Operand) {
        self.put(Opcode::FMUL, mods, 1, &[d, a, b]);
    }

    pub fn ffma(&mut self, mods: &[Mod], d: Operand, a: Operand, b: Operand, c: Operand) {
        self.put(Opcode::FFMA, mods, 1, &[d, a, b, c]);
    }

    pub fn mufu(&mut self, function: Mod, d: Operand, a: Operand) {
        self.put(Opcode::MUFU, &[function], 1, &[d, a]);
    }

    // ---- memory ----

    /// `c[bank][offset]`, or with an index register, to one or two cells.
    pub fn ldc(&mut self, mods: &[Mod], d: Operand, source: Operand) {
        self.put(Opcode::LDC, mods, 1, &[d, source]);
    }

    /// A load; `desc` is the descriptor of global and generic accesses.
    pub fn load(
        &mut self,
        op: Opcode,
        mods: &[Mod],
        d: Operand,
        desc: Option<RegUse>,
        addr: Address,
    ) {
        match desc {
            // A generic load has no predicate among its results.
            Some(desc) if op == Opcode::LD => {
                let desc = Operand::Desc(desc);
                self.put(op, mods, 1, &[d, desc, addr.operand(), Operand::PT]);
            }
            Some(desc) => {
                let desc = Operand::Desc(desc);
                self.put(op, mods, 2, &[Operand::PT, d, desc, addr.operand(), Operand::PT]);
            }
            None => self.put(op, mods, 1, &[d, addr.operand()]),
        }
    }

    pub fn store(
        &mut self,
        op: Opcode,
        mods: &[Mod],
        desc: Option<RegUse>,
        addr: Address,
        value: Operand,
    ) {
        match desc {
            Some(desc) => {
                let desc = Operand::Desc(desc);
                self.put(op, mods, 0, &[desc, addr.operand(), value]);
            }
            None => self.put(op, mods, 0, &[addr.operand(), value]),
        }
    }

    // ---- control ----

    /// Jumps when `pred` holds; the PTX guard has no part in it. The block ends.
    pub fn branch_if(&mut self, pred: Operand, target: BlockId) {
        self.put_if(pred, Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(target)]);
    }

    pub fn branch(&mut self, target: BlockId) {
        self.branch_if(Operand::PT, target);
    }

    /// Runs `f` with a new block, which is still to be placed, in place of the current one.
    pub fn aside(&mut self, f: impl FnOnce(&mut Emit<'w>)) -> BlockId {
        let block = self.label();
        let here = std::mem::replace(&mut self.block, block);
        f(self);
        self.block = here;
        block
    }

    /// Runs `rare` where the predicate holds and `common` elsewhere, in blocks of their own. Both
    /// give a register of so many cells; one that has the values of the way taken is returned.
    pub fn two_ways(
        &mut self,
        is_rare: Operand,
        cells: u8,
        common: impl FnOnce(&mut Emit<'w>) -> Reg,
        rare: impl FnOnce(&mut Emit<'w>) -> Reg,
    ) -> Reg {
        let result = self.temp(cells);
        let (other, after) = (self.label(), self.label());
        self.branch_if(is_rare, other);
        self.open_new();
        let first = common(self);
        let first = self.end_way(result, cells, first);
        self.branch(after);
        self.open(other);
        let second = rare(self);
        let second = self.end_way(result, cells, second);
        self.open(after);
        if self.is_ssa {
            for i in 0..cells {
                let ways =
                    [first, second].map(|(value, block)| (Some(RegUse::at(value, i, 1)), block));
                let phi = phis::new(&mut self.body, RegUse::at(result, i, 1), &ways);
                self.keep(phi);
            }
        }
        result
    }

    /// The end of one of two ways: what it brings, and from where. Without phis it writes the
    /// result itself.
    fn end_way(&mut self, result: Reg, cells: u8, value: Reg) -> (Reg, BlockId) {
        if !self.is_ssa {
            (0..cells).for_each(|i| self.mov(cell(result, i), cell(value, i)));
        }
        (value, self.block)
    }

    /// Jumps over what follows where PTX's guard is false; it has no guard then. Nothing where
    /// there is none. To be ended by [`Self::leave_guard`].
    pub fn enter_guard(&mut self) -> Option<Guarded> {
        let guard = std::mem::replace(&mut self.guard, Guard::ALWAYS);
        if guard.is_always() {
            return None;
        }
        let after = self.label();
        let skip = RegUse {
            flags: if guard.negated { RegFlags::NONE } else { RegFlags::NOT },
            ..RegUse::new(guard.reg)
        };
        self.branch_if(Operand::Reg(skip), after);
        self.open_new();
        Some(Guarded { after, guard })
    }

    /// Ends what [`Self::enter_guard`] began.
    pub fn leave_guard(&mut self, left: Guarded) {
        self.open(left.after);
        self.guard = left.guard;
    }
}
