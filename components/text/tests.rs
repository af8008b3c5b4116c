use super::*;
use crate::world::Function;
use crate::*;
use slotmap::KeyData;

/// splitmix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// Small numbers, negative ones, and the ends of the range.
    fn offset(&mut self) -> i32 {
        let edge = [0, 1, -1, i32::MAX, i32::MIN, 0x210];
        if self.below(2) == 0 { self.pick(&edge) } else { self.next() as i32 }
    }

    fn flags(&mut self) -> RegFlags {
        RegFlags(self.below(16) as u8)
    }

    /// Of the five files: virtual register `n` is of file `n % 5`, 4 cells wide.
    fn reg(&mut self, file: RegFile) -> RegUse {
        let n = self.below(9) as u32;
        let reg = match self.below(3) {
            0 => Reg::zero(file),
            1 => Reg::phys(file, self.below(256) as u32),
            _ => Reg::virt(file, VRegId(n * 5 + file as u32)),
        };
        let cell = if reg.vreg().is_some() { self.below(3) as u8 } else { 0 };
        RegUse { reg, cell, count: self.pick(&[1, 1, 2]), flags: self.flags() }
    }

    fn any_reg(&mut self) -> RegUse {
        let file = self.pick(&RegFile::ALL);
        self.reg(file)
    }

    fn operand(&mut self) -> Operand {
        let plain = |r: RegUse| RegUse { flags: RegFlags::NONE, ..r };
        match self.below(10) {
            0 => Operand::Reg(self.any_reg()),
            1 => Operand::Part(self.any_reg(), self.pick(Mod::LIST)),
            2 => Operand::Imm(self.next() >> self.below(64)),
            3 => Operand::Imm((self.below(100) as i64).wrapping_neg() as u64),
            4 => {
                let base = self.reg(RegFile::R);
                Operand::Const(ConstRef {
                    bank: self.below(32) as u8,
                    flags: self.flags(),
                    base: base.reg,
                    base_cell: base.cell,
                    handle: self.pick(&[Reg::RZ, Reg::URZ, Reg::phys(RegFile::UR, 4)]),
                    part: self.pick(&[Mod::NONE, Mod::H1_H1]),
                    offset: self.offset(),
                })
            }
            5 => Operand::Mem(MemRef {
                base: plain(self.reg(RegFile::R)),
                uniform: self.reg(RegFile::UR),
                offset: self.offset(),
                sel: self.pick(&[Mod::NONE, Mod::_64, Mod::U32, Mod::X4, Mod::X8, Mod::X16]),
            }),
            6 => Operand::Special(self.next() as u8),
            7 => Operand::Block(BlockId(self.below(4) as u32 * 2)),
            8 => Operand::Symbol {
                key: SymbolKey::from(KeyData::from_ffi(self.next())),
                addend: self.offset(),
                part: self.below(2) as u8,
            },
            _ => match self.below(2) {
                0 => Operand::Addr(self.next()),
                _ => {
                    let r = self.reg(RegFile::UR);
                    let matrices = RegFlags(16 * self.below(16) as u8);
                    Operand::Desc(RegUse { flags: r.flags.with(matrices), ..r })
                }
            },
        }
    }

    fn inst(&mut self, op: Opcode) -> Inst {
        let mods: Vec<Mod> = (0..self.below(9)).map(|_| self.pick(Mod::LIST)).collect();
        let operands: Vec<Operand> = (0..self.below(9)).map(|_| self.operand()).collect();
        let mut inst = Inst::new(op, &mods, self.below(operands.len() as u64 + 1) as u8, &operands);
        if self.below(2) == 0 {
            let file = self.pick(&[RegFile::P, RegFile::UP]);
            inst = inst.guarded(self.reg(file).reg, self.below(2) == 0);
        }
        inst.control = Control {
            stall: self.below(16) as u8,
            yield_: self.below(2) == 0,
            write_sb: self.pick(&[0, 5, 7]),
            read_sb: self.pick(&[0, 5, 7]),
            wait: self.below(64) as u8,
        };
        inst
    }
}

/// Blocks 6, 2, 0, 4 in this order, every opcode at least once.
fn random_body(random: &mut Random, body: &mut Body<'_>) {
    for n in 0..45 {
        let v = body.new_vreg(RegFile::ALL[n % 5], 4 + (n % 3) as u8, 1 << (n % 4));
        body.vreg_mut(v.vreg().expect("virtual")).assigned = (n % 7 == 0).then_some(n as u8);
    }
    for _ in 0..7 {
        body.new_block();
    }
    for gone in [1, 3, 5] {
        body.remove_blocks(&[BlockId(gone)]);
    }
    body.set_layout(&[6, 2, 0, 4].map(BlockId));
    for (i, op) in Opcode::LIST.iter().enumerate() {
        let inst = random.inst(*op);
        let loc = Loc { file: i as u32 % 3, line: 7, column: 1, ptx_inst: i as u32 };
        body.push(BlockId((i as u32 % 4) * 2), inst, loc);
    }
}

const ALL: Style = Style { control: true, locs: true };

fn contents(body: &Body<'_>) -> Vec<(BlockId, Vec<(Inst, Loc)>)> {
    let insts = |b: &BlockId| {
        body.block(*b).insts.iter().map(|i| (body.inst(*i).to_inst(), body.loc(*i))).collect()
    };
    body.layout().iter().map(|b| (*b, insts(b))).collect()
}

#[test]
fn every_opcode_and_operand_survives_the_round_trip() {
    for seed in 0..20 {
        let (mut one, mut two) = (Function::default(), Function::default());
        let (mut from, mut to) = (one.body(), two.body());
        random_body(&mut Random(seed), &mut from);
        let text = print(&from, &ALL);
        if let Err(error) = parse(&text, &mut to) {
            let line = text.lines().nth(error.line - 1);
            panic!("{error}: {line:?}");
        }
        for (a, b) in contents(&from).iter().zip(&contents(&to)) {
            assert_eq!(a.0, b.0);
            a.1.iter().zip(&b.1).for_each(|(a, b)| assert_eq!(a, b));
            assert_eq!(a.1.len(), b.1.len());
        }
        let words: Vec<&str> =
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '%').collect();
        for id in (0..from.vreg_count() as u32).map(VRegId) {
            if words.contains(&Reg::virt(from.vreg(id).file, id).to_string().as_str()) {
                assert_eq!(from.vreg(id), to.vreg(id));
            }
        }
        assert_eq!(text, print(&to, &ALL), "printing again gives the same text");
    }
}

#[test]
fn what_a_reader_writes_is_understood() {
    let text = "
// A comment.
vreg %R7:2 align 1 = R10
BB0:
    %R0 = MOV c[0x0][0x210], 0xf
    @!%P1 %R2:2, PT = IMAD.WIDE.U32 %R0, -5, %R2:2   // another
    %R7[1], %P3, PT = IADD3.X -%R2[1], |%R0|, ~RZ, %P1, !PT
    @%P1 BRA PT, BB2
BB2:
    STG.E desc[%UR5:2], [%R2:2.64+-0x10], %R0
    EXIT PT
";
    let mut function = Function::default();
    let mut body = function.body();
    let error = parse(text, &mut body).expect_err("`+-` is not written");
    assert_eq!(error.to_string(), "line 10, column 36: expected an operand");
    let mut function = Function::default();
    let mut body = function.body();
    parse(&text.replace("+-", "-"), &mut body).expect("this is Ori");
    let v = *body.vreg(VRegId(7));
    assert_eq!((v.cells, v.align, v.assigned), (2, 1, Some(10)));
    assert_eq!(body.vreg(VRegId(2)).align, 2, "a pair is aligned where nothing else is said");
    assert_eq!(body.layout(), [BlockId(0), BlockId(2)]);
    let store = body.block(BlockId(2)).insts[0];
    assert_eq!(body.inst(store).to_string(), "STG.E desc[%UR5:2], [%R2:2.64-0x10], %R0");
}

#[test]
fn errors_name_their_line() {
    let message = |text: &str| {
        let mut function = Function::default();
        let error = parse(text, &mut function.body()).expect_err("not Ori");
        error.to_string()
    };
    assert_eq!(message("BB0:\n  FROB R1"), "line 2, column 3: no opcode is named `FROB`");
    assert_eq!(message("BB0:\n  BRA BB7"), "line 2, column 7: there is no BB7");
    assert_eq!(
        message("  EXIT PT"),
        "line 1, column 10: an instruction stands before the first block"
    );
    assert_eq!(message("BB0:\nBB0:"), "line 2, column 1: BB0 is already there");
    assert_eq!(
        message("BB0:\n  %R1 = MOV %P1"),
        "line 2, column 13: register 1 is of file R elsewhere"
    );
    assert_eq!(
        message("BB0:\n  %R4294967295 = MOV RZ"),
        "line 2, column 3: register number 4294967295 is too large"
    );
}

#[test]
fn no_text_makes_the_parser_panic() {
    let mut random = Random(1);
    let mut function = Function::default();
    let mut body = function.body();
    random_body(&mut random, &mut body);
    let text = print(&body, &ALL);
    let lines: Vec<&str> = text.lines().collect();
    let alphabet = b"[]%:.-!|~+=,@c()xRPUBZ0129 \t/\xc3\xa9";
    for _ in 0..20_000 {
        let mut line = random.pick(&lines).as_bytes().to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(line.len() as u64 + 1) as usize;
            match random.below(3) {
                0 => line.insert(at, random.pick(alphabet)),
                1 if at < line.len() => line[at] = random.pick(alphabet),
                _ => line.truncate(at),
            }
        }
        let mut function = Function::default();
        let text = format!("BB0:\n{}", String::from_utf8_lossy(&line));
        let _ = parse(&text, &mut function.body());
    }
}
