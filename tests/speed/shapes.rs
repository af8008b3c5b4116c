//! Generated PTX whose size is a number: what scaling is counted on and time is compared on.
//!
//! The same name and size give the same text always. Every shape is valid PTX that ptxas takes,
//! ends in finite time, and stores what it computes, so that nothing of it is dead.

use std::fmt::Write;

/// A shape of PTX.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    /// What the size counts.
    pub unit: &'static str,
    make: fn(&mut Text, usize),
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    Shape { name: "straight", unit: "instructions", make: straight },
    Shape { name: "diamonds", unit: "blocks", make: diamonds },
    Shape { name: "loops", unit: "loops, three deep", make: loops },
    Shape { name: "nest", unit: "loops, each in the one before", make: nest },
    Shape { name: "chain", unit: "blocks", make: chain },
    Shape { name: "switch", unit: "targets", make: switch },
    Shape { name: "pressure", unit: "values live at once", make: pressure },
    Shape { name: "calls", unit: "calls of as many functions", make: calls },
    Shape { name: "labels", unit: "labels in one block", make: labels },
    Shape { name: "kernels", unit: "kernels", make: kernels },
];

/// The shape of this name.
pub fn find(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|s| s.name == name)
}

impl Shape {
    /// A module of this size.
    pub fn text(&self, size: usize) -> String {
        let mut text = Text { out: HEAD.to_string(), state: 0x9e37_79b9 };
        (self.make)(&mut text, size);
        text.out
    }
}

const HEAD: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

/// Registers that values rotate through.
const WINDOW: usize = 24;

struct Text {
    out: String,
    /// Of a linear congruential generator.
    state: u32,
}

impl Text {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "    {text}");
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.state >> 8) as usize % bound
    }

    /// A kernel's head: a pointer in `%rd0`, the thread in `%t`, and a window of registers with
    /// values.
    fn open(&mut self, name: &str) {
        let _ = writeln!(self.out, ".visible .entry {name}(.param .u64 p, .param .u32 n)\n{{");
        self.line(format_args!(".reg .pred %p<4>; .reg .b64 %rd<8>; .reg .b32 %t, %n, %i<8>;"));
        self.line(format_args!(".reg .b32 %r<{WINDOW}>; .reg .f32 %f<{WINDOW}>;"));
        self.line(format_args!("ld.param.u64 %rd1, [p]; ld.param.u32 %n, [n];"));
        self.line(format_args!("cvta.to.global.u64 %rd0, %rd1; mov.u32 %t, %tid.x;"));
        self.line(format_args!("mul.wide.u32 %rd2, %t, 4; add.s64 %rd0, %rd0, %rd2;"));
        for i in 0..WINDOW {
            self.line(format_args!("ld.global.u32 %r{i}, [%rd0+{}];", 128 * i));
            self.line(format_args!("cvt.rn.f32.s32 %f{i}, %r{i};"));
        }
    }

    /// Stores the window and ends the kernel.
    fn close(&mut self) {
        for i in 0..WINDOW {
            self.line(format_args!("st.global.f32 [%rd0+{}], %f{i};", 128 * i));
            self.line(format_args!("st.global.u32 [%rd0+{}], %r{i};", 4096 + 128 * i));
        }
        self.out.push_str("    ret;\n}\n");
    }

    /// One instruction of a mix as kernels have it: integers, logic, floats, comparisons, memory.
    fn step(&mut self) {
        let [d, a, b, c] = [(); 4].map(|()| self.below(WINDOW));
        let k = self.below(1000) + 1;
        match self.below(16) {
            0 | 1 => self.line(format_args!("add.s32 %r{d}, %r{a}, %r{b};")),
            2 => self.line(format_args!("mad.lo.s32 %r{d}, %r{a}, %r{b}, %r{c};")),
            3 => self.line(format_args!("xor.b32 %r{d}, %r{a}, %r{b};")),
            4 => self.line(format_args!("and.b32 %r{d}, %r{a}, {k};")),
            5 => self.line(format_args!("shl.b32 %r{d}, %r{a}, {};", k % 31)),
            6 => self.line(format_args!("add.s32 %r{d}, %r{a}, {k};")),
            7 => {
                self.line(format_args!("setp.lt.s32 %p1, %r{a}, %r{b};"));
                self.line(format_args!("selp.b32 %r{d}, %r{a}, %r{c}, %p1;"));
            }
            8..=10 => self.line(format_args!("fma.rn.f32 %f{d}, %f{a}, %f{b}, %f{c};")),
            11 => self.line(format_args!("add.f32 %f{d}, %f{a}, %f{b};")),
            12 => self.line(format_args!("mul.f32 %f{d}, %f{a}, %f{b};")),
            13 => self.line(format_args!("max.f32 %f{d}, %f{a}, %f{b};")),
            14 => self.line(format_args!("ld.global.f32 %f{d}, [%rd0+{}];", 4 * k)),
            _ => self.line(format_args!("st.global.f32 [%rd0+{}], %f{a};", 4 * k)),
        }
    }

    fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }
}

fn straight(t: &mut Text, size: usize) {
    t.open("straight");
    t.steps(size);
    t.close();
}

/// Each block of a diamond has four instructions; arms are chosen by what was computed.
fn diamonds(t: &mut Text, size: usize) {
    t.open("diamonds");
    for i in 0..size.div_ceil(3) {
        let a = t.below(WINDOW);
        t.line(format_args!("setp.gt.s32 %p0, %r{a}, {i}; @%p0 bra THEN{i};"));
        t.steps(4);
        t.line(format_args!("bra.uni JOIN{i};\nTHEN{i}:"));
        t.steps(4);
        t.out.push_str(&format!("JOIN{i}:\n"));
        t.steps(4);
    }
    t.close();
}

fn loops(t: &mut Text, size: usize) {
    t.open("loops");
    for i in 0..size.div_ceil(3) {
        for depth in 0..3 {
            t.line(format_args!("mov.u32 %i{depth}, 0;\nLOOP{i}_{depth}:"));
            t.steps(4);
        }
        for depth in (0..3).rev() {
            t.steps(2);
            t.line(format_args!("add.s32 %i{depth}, %i{depth}, 1;"));
            t.line(format_args!("setp.lt.s32 %p0, %i{depth}, %n; @%p0 bra LOOP{i}_{depth};"));
        }
    }
    t.close();
}

fn nest(t: &mut Text, size: usize) {
    t.open("nest");
    t.line(format_args!(".reg .b32 %k<{size}>;"));
    for depth in 0..size {
        t.line(format_args!("mov.u32 %k{depth}, 0;\nLOOP{depth}:"));
        t.steps(2);
    }
    for depth in (0..size).rev() {
        t.steps(2);
        t.line(format_args!("add.s32 %k{depth}, %k{depth}, 1;"));
        t.line(format_args!("setp.lt.s32 %p0, %k{depth}, %n; @%p0 bra LOOP{depth};"));
    }
    t.close();
}

/// Blocks of which each may go on to the next or leave.
fn chain(t: &mut Text, size: usize) {
    t.open("chain");
    for i in 0..size {
        let a = t.below(WINDOW);
        t.line(format_args!("setp.eq.s32 %p0, %r{a}, {i}; @%p0 bra OUT;"));
        t.steps(3);
    }
    t.out.push_str("OUT:\n");
    t.close();
}

fn switch(t: &mut Text, size: usize) {
    t.open("switch");
    t.line(format_args!("rem.u32 %i0, %t, {size};"));
    let names: Vec<String> = (0..size).map(|i| format!("CASE{i}")).collect();
    t.out.push_str(&format!("TABLE: .branchtargets {};\n", names.join(", ")));
    t.line(format_args!("brx.idx %i0, TABLE;"));
    for i in 0..size {
        t.out.push_str(&format!("CASE{i}:\n"));
        t.steps(3);
        t.line(format_args!("bra.uni JOIN;"));
    }
    t.out.push_str("JOIN:\n");
    t.close();
}

/// All values are loaded, then combined, then stored in the other order.
fn pressure(t: &mut Text, size: usize) {
    t.open("pressure");
    t.line(format_args!(".reg .f32 %v<{size}>;"));
    for i in 0..size {
        t.line(format_args!("ld.global.f32 %v{i}, [%rd0+{}];", 4 * i));
    }
    for i in 0..size {
        let a = t.below(size);
        t.line(format_args!("fma.rn.f32 %v{i}, %v{i}, %f0, %v{a};"));
    }
    for i in (0..size).rev() {
        t.line(format_args!("st.global.f32 [%rd0+{}], %v{i};", 4 * i));
    }
    t.close();
}

fn calls(t: &mut Text, size: usize) {
    for i in 0..size {
        let _ = writeln!(t.out, ".func (.reg .b32 %out) f{i}(.reg .b32 %a, .reg .b32 %b)\n{{");
        t.line(format_args!(".reg .b32 %x;"));
        t.line(format_args!("mad.lo.s32 %x, %a, %b, {i}; xor.b32 %out, %x, %b; ret;"));
        t.out.push_str("}\n");
    }
    t.open("calls");
    for i in 0..size {
        let [d, a, b] = [(); 3].map(|()| t.below(WINDOW));
        t.line(format_args!("call (%r{d}), f{i}, (%r{a}, %r{b});"));
        t.steps(2);
    }
    t.close();
}

fn labels(t: &mut Text, size: usize) {
    t.open("labels");
    for i in 0..size {
        t.out.push_str(&format!("L{i}:\n"));
        if i % 8 == 0 {
            t.step();
        }
    }
    t.close();
}

fn kernels(t: &mut Text, size: usize) {
    for i in 0..size {
        let _ = write!(
            t.out,
            ".visible .entry saxpy_{i}(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)\n{{{SAXPY}}}\n"
        );
    }
}

/// As nvcc writes it.
const SAXPY: &str = r"
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    ld.param.u32 %r2, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.s32 %rd4, %r1, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.f32 %f2, [%rd5];
    cvta.to.global.u64 %rd6, %rd2;
    add.s64 %rd7, %rd6, %rd4;
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
DONE:
    ret;
";
