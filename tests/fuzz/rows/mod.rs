//! The instructions that programs are made of, by family.
//!
//! What PTX leaves undefined does not stand here: divisors are made odd, addresses are masked,
//! warps exchange values under masks that name exactly the threads that come. Results of floating
//! point never become integers with the payload or sign of a NaN, which are open: the rows that
//! take their bits put one NaN in the place of all.

mod convert;
mod float;
mod graphs;
mod integer;
mod matrix;
mod memory;
mod moves;
mod pressure;
mod warp;
mod warpgroup;

/// What a row asks of the place where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    Nothing,
    /// The kernel's own addresses: not in a function.
    Kernel,
    /// Threads of a warp that run it together, named by a mask.
    Warp,
    /// The same, and all lanes of the warp are there.
    WholeWarp,
    /// All threads of the block.
    Block,
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub text: &'static str,
    pub needs: Needs,
    pub weight: u32,
}

/// Rows that a program has or has not together.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    pub name: &'static str,
    pub weight: u32,
    pub rows: &'static [Row],
}

const fn row(text: &'static str) -> Row {
    Row { text, needs: Needs::Nothing, weight: 4 }
}

const fn rare(text: &'static str) -> Row {
    Row { text, needs: Needs::Nothing, weight: 1 }
}

const fn kernel(text: &'static str) -> Row {
    Row { text, needs: Needs::Kernel, weight: 4 }
}

const fn warp(text: &'static str) -> Row {
    Row { text, needs: Needs::Warp, weight: 4 }
}

const fn whole_warp(text: &'static str) -> Row {
    Row { text, needs: Needs::WholeWarp, weight: 4 }
}

const fn block(text: &'static str) -> Row {
    Row { text, needs: Needs::Block, weight: 4 }
}

/// Families that every program has.
pub const ALWAYS: &[&str] = &["input", "integer", "logic"];

/// All families. A program has those of [`ALWAYS`] and some others.
pub static FAMILIES: &[&Family] = &[
    &memory::INPUT,
    &integer::ARITHMETIC,
    &integer::LOGIC,
    &integer::PRODUCTS,
    &integer::DIVISION,
    &integer::CARRY,
    &integer::BITS,
    &integer::SHIFTS,
    &integer::COMPARISON,
    &integer::SELECTION,
    &integer::PREDICATES,
    &integer::PAIRS,
    &integer::VIDEO,
    &integer::VIDEO_SIMD,
    &float::SINGLE,
    &float::SINGLE_DIVISION,
    &float::DOUBLE,
    &float::DOUBLE_DIVISION,
    &float::HALF,
    &float::COMPARISON,
    &float::APPROXIMATION,
    &convert::INTEGER,
    &convert::FLOAT,
    &convert::NARROW,
    &moves::MOVE,
    &moves::SPECIAL,
    &moves::PARAMETER,
    &memory::GLOBAL,
    &memory::SHARED,
    &memory::LOCAL,
    &memory::CONSTANT,
    &memory::GENERIC,
    &memory::ATOMIC,
    &memory::ATOMIC_FLOAT,
    &memory::ATOMIC_TOGETHER,
    &memory::ASYNC,
    &warp::SHUFFLE,
    &warp::VOTE,
    &warp::REDUX,
    &warp::BARRIER,
];

/// Families that a program has only where a run asks for them: those of [`FAMILIES`] are the
/// programs of seeds.
pub static ASKED: &[&Family] = &[
    &matrix::NUMBERS,
    &matrix::DENSE,
    &matrix::SPARSE,
    &matrix::EIGHTS,
    &matrix::WMMA,
    &warpgroup::PRODUCTS,
    &warpgroup::SPARSE,
    &pressure::PRESSURE,
    &graphs::GRAPHS,
];

/// How a variable of each class can begin where there is none yet.
pub fn first(class: &str, in_kernel: bool) -> String {
    let row = match (class, in_kernel) {
        ("pred", true) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; setp.<ne/lt/gt>.s32 =pred, %t, #(0,1); }"
        }
        ("b16", true) => "ld.global.b16 =b16, [%in+#(0,62,2)]",
        ("b32", true) => "ld.global.b32 =b32, [%in+#(0,60,4)]",
        ("b64", true) => "ld.global.b64 =b64, [%in+#(0,56,8)]",
        ("b128", true) => "ld.global.b128 =b128, [%in+#(0,48,16)]",
        ("f16", true) => "ld.global.b16 =f16, [%in+#(0,62,2)]",
        ("bf16", true) => "ld.global.b16 =bf16, [%in+#(0,62,2)]",
        ("f16x2", true) => "ld.global.b32 =f16x2, [%in+#(0,60,4)]",
        ("bf16x2", true) => "ld.global.b32 =bf16x2, [%in+#(0,60,4)]",
        ("f32", true) => "ld.global.f32 =f32, [%in+#(0,60,4)]",
        ("f64", true) => "ld.global.f64 =f64, [%in+#(0,56,8)]",
        ("xf16" | "sf16", _) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; and.b32 %t, %t, 0x82008200; or.b32 =CLASS, %t, 0x3c003c00; }"
        }
        ("xbf16", _) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; and.b32 %t, %t, 0x80c080c0; or.b32 =CLASS, %t, 0x3f003f00; }"
        }
        ("xtf32", _) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; and.b32 %t, %t, 0x80c00000; or.b32 =CLASS, %t, 0x3f000000; }"
        }
        ("xe4m3", _) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; and.b32 %t, %t, 0x8c8c8c8c; or.b32 =CLASS, %t, 0x30303030; }"
        }
        ("xe5m2", _) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; and.b32 %t, %t, 0x86868686; or.b32 =CLASS, %t, 0x38383838; }"
        }
        ("sf32", _) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; shr.s32 %t, %t, 22; cvt.rn.f32.s32 =CLASS, %t; }"
        }
        ("xf64" | "sf64", _) => {
            "{ .reg .b32 %t; ld.global.b32 %t, [%in+#(0,60,4)]; and.b32 %t, %t, 7; sub.s32 %t, %t, 4; cvt.rn.f64.s32 =CLASS, %t; }"
        }
        // A function has no input: something that differs by lane.
        ("pred", false) => {
            "{ .reg .b32 %t; mov.u32 %t, %lanemask_lt; mad.lo.u32 %t, %t, 0x9e3779b1, %b32; setp.<ne/lt/gt>.s32 =pred, %t, #(0,1); }"
        }
        ("b16" | "f16" | "bf16", false) => {
            "{ .reg .b32 %t; mov.u32 %t, %lanemask_lt; mad.lo.u32 %t, %t, 0x9e3779b1, %b32; cvt.u16.u32 =CLASS, %t; }"
        }
        ("b32" | "f16x2" | "bf16x2" | "f32", false) => {
            "{ .reg .b32 %t; mov.u32 %t, %lanemask_lt; mad.lo.u32 %t, %t, 0x9e3779b1, %b32; mov.b32 =CLASS, %t; }"
        }
        ("b128", false) => {
            "{ .reg .b32 %t, %u; .reg .b64 %v; mov.u32 %t, %lanemask_lt; mad.lo.u32 %t, %t, 0x9e3779b1, %b32; brev.b32 %u, %t; mov.b64 %v, {%t, %u}; mov.b128 =b128, {%v, %v}; }"
        }
        _ => {
            "{ .reg .b32 %t, %u; mov.u32 %t, %lanemask_lt; mad.lo.u32 %t, %t, 0x9e3779b1, %b32; brev.b32 %u, %t; mov.b64 =CLASS, {%t, %u}; }"
        }
    };
    row.replace("CLASS", class)
}
