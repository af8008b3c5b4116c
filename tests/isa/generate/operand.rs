//! What may stand in an operand slot: types, state spaces, and for each the shapes that lead ptxas
//! to different SASS forms.

/// The register class that holds a PTX type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
}

impl Class {
    /// The type that registers of the class are declared with, and the letters of their names.
    pub const ALL: [(Class, &'static str, &'static str); 6] = [
        (Class::Pred, "pred", "p"),
        (Class::B8, "b8", "c"),
        (Class::B16, "b16", "h"),
        (Class::B32, "b32", "r"),
        (Class::B64, "b64", "d"),
        (Class::B128, "b128", "q"),
    ];

    /// `.b32`'s name and its registers' prefix.
    pub fn names(self) -> (&'static str, &'static str) {
        let found = Self::ALL.iter().find(|(class, ..)| *class == self);
        found.map_or(("b32", "r"), |(_, ty, prefix)| (ty, prefix))
    }
}

/// What a value means, as far as its shapes differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pred,
    /// Bits that no source modifier fits.
    Bits,
    /// Signed, unsigned and `.b` integers, with the width in bits.
    Integer,
    /// One float, named by its PTX type.
    Float(&'static str),
    /// A pair of halves.
    Packed(&'static str),
}

/// A PTX type as the tables name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    pub class: Class,
    pub kind: Kind,
}

impl Type {
    /// `None`: no type of PTX.
    pub fn parse(name: &str) -> Option<Type> {
        let (class, kind) = match name {
            "pred" => (Class::Pred, Kind::Pred),
            "e2m1x2" | "e4m3" | "e5m2" => (Class::B8, Kind::Bits),
            "u8" | "s8" | "b8" | "e4m3x2" | "e5m2x2" | "e2m3x2" | "e3m2x2" | "ue8m0x2"
            | "e2m1x4" => (Class::B16, Kind::Bits),
            "u16" | "s16" | "b16" => (Class::B16, Kind::Integer),
            "f16" => (Class::B16, Kind::Float("f16")),
            "bf16" => (Class::B16, Kind::Float("bf16")),
            "u32" | "s32" | "b32" => (Class::B32, Kind::Integer),
            "u16x2" | "s16x2" => (Class::B32, Kind::Integer),
            "e4m3x4" | "e5m2x4" | "e2m3x4" | "e3m2x4" | "tf32" | "x32" => (Class::B32, Kind::Bits),
            "f32" => (Class::B32, Kind::Float("f32")),
            "f16x2" => (Class::B32, Kind::Packed("f16x2")),
            "bf16x2" => (Class::B32, Kind::Packed("bf16x2")),
            "u64" | "s64" | "b64" => (Class::B64, Kind::Integer),
            "f64" => (Class::B64, Kind::Float("f64")),
            "f32x2" | "x64" => (Class::B64, Kind::Bits),
            "b128" => (Class::B128, Kind::Bits),
            _ => return None,
        };
        Some(Type { class, kind })
    }

    /// The shapes of an input of the type; the first is the plain register.
    pub fn shapes(self) -> &'static [Shape] {
        use Shape::*;
        match (self.kind, self.class) {
            (Kind::Pred, _) => &[Reg, Not, Uniform],
            (Kind::Bits, Class::B16) => &[Reg, High, Param, Byte],
            (Kind::Bits, Class::B8 | Class::B128) => &[Reg],
            (Kind::Bits, _) => &[Reg, Param, Uniform, Bank],
            (Kind::Integer, Class::B16) => &[
                Reg,
                High,
                Param,
                Uniform,
                Neg,
                Not,
                Imm("7"),
                Imm("-3"),
                Imm("0x5555"),
                Imm("0"),
                Byte,
            ],
            (Kind::Integer, Class::B32) => &[
                Reg,
                Param,
                Uniform,
                Bank,
                Neg,
                Not,
                Abs,
                Imm("0"),
                Imm("1"),
                Imm("-1"),
                Imm("16"),
                Imm("0x12345678"),
                Imm("0x80000000"),
                Imm("0x3f800000"),
                Same,
                Index,
            ],
            (Kind::Integer, _) => &[
                Reg,
                Param,
                Uniform,
                Bank,
                Neg,
                Not,
                Imm("0"),
                Imm("1"),
                Imm("-1"),
                Imm("40"),
                Imm("0x123456789abcdef0"),
                Imm("0x7fffffff"),
                Same,
                Index,
            ],
            (Kind::Float("f32"), _) => &[
                Reg,
                Param,
                Uniform,
                Bank,
                Neg,
                Abs,
                NegAbs,
                Imm("0f3F800000"),
                Imm("0f00000000"),
                Imm("0f80000000"),
                Imm("0fC0490FDB"),
                Imm("0f7F800000"),
                Imm("0f7FC00000"),
                Imm("0f00000001"),
                Same,
            ],
            (Kind::Float("f64"), _) => &[
                Reg,
                Param,
                Uniform,
                Bank,
                Neg,
                Abs,
                NegAbs,
                Imm("0d3FF0000000000000"),
                Imm("0d0000000000000000"),
                Imm("0dBFB999999999999A"),
                Imm("0d7FF0000000000000"),
                Same,
            ],
            (Kind::Float(_), _) => &[
                Reg,
                High,
                Param,
                Uniform,
                Neg,
                Abs,
                NegAbs,
                Imm("0x3c00"),
                Imm("0"),
                Imm("0xc249"),
                Same,
            ],
            (Kind::Packed(_), _) => &[
                Reg,
                Param,
                Uniform,
                Bank,
                Neg,
                Abs,
                NegAbs,
                Low,
                High,
                Swap,
                Imm("0x3c003c00"),
                Imm("0x3c00c249"),
                Imm("0"),
                Same,
            ],
        }
    }
}

/// How the value of an input comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Loaded from global memory: differs from thread to thread.
    Reg,
    /// A kernel parameter: constant bank 0, or a uniform register.
    Param,
    /// A constant variable: constant bank 3.
    Bank,
    /// Made from the CTA's number: a uniform register.
    Uniform,
    /// Made from the thread's number: known to be small and not negative.
    Index,
    Imm(&'static str),
    Neg,
    Abs,
    NegAbs,
    Not,
    /// The low half on both sides (packed).
    Low,
    /// The high half of a 32-bit word; packed: on both sides.
    High,
    /// The second byte of a 32-bit word.
    Byte,
    /// Halves exchanged.
    Swap,
    /// The register of the first input of that class.
    Same,
}

impl Shape {
    /// Whether two operands of such shapes lead to a form that neither leads to alone.
    pub fn has_pairs(self) -> bool {
        use Shape::*;
        matches!(
            self,
            Param | Uniform | Neg | Abs | Not | Low | Imm("0x12345678" | "0fC0490FDB" | "7")
        )
    }

    /// Whether ptxas can compute the value before it runs.
    pub fn is_literal(self) -> bool {
        matches!(self, Shape::Imm(_))
    }
}

/// A state space that an address slot names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Generic,
    Global,
    Shared,
    Cluster,
    Local,
    Const,
    Param,
}

impl Space {
    /// `None`: no space of PTX.
    pub fn parse(name: &str) -> Option<Space> {
        Some(match name {
            "" => Space::Generic,
            "global" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => Space::Cluster,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" | "param::entry" => Space::Param,
            _ => return None,
        })
    }

    /// The addresses of the space; the first differs from thread to thread and has no offset.
    pub fn addresses(self) -> &'static [Address] {
        use Address::*;
        match self {
            Space::Global => &[
                Thread(0),
                Thread(0x40),
                Thread(-0x80),
                Thread(0x7ffff0),
                Thread(-0x800000),
                Thread(0x1234560),
                Pointer(0),
                Pointer(0x20),
                PointerIndex(1, 0),
                PointerIndex(4, 0x10),
                PointerSigned(0x10),
                PointerBlock(0x30),
                Variable(0x20),
                VariableIndex(16, 0x10),
            ],
            Space::Generic => &[
                Thread(0),
                Thread(0x40),
                Thread(-0x80),
                Thread(0x1234560),
                Pointer(0x20),
                PointerIndex(4, 0x10),
                PointerBlock(0),
                SharedAsGeneric(0x10),
                LocalAsGeneric(0x10),
            ],
            Space::Shared | Space::Cluster => &[
                Loaded(0),
                Loaded(0x40),
                Loaded(-0x40),
                Loaded(0x1234560),
                Variable(0x20),
                VariableIndex(1, 0),
                VariableIndex(4, 0x10),
                VariableIndex(8, 0x10),
                VariableIndex(16, 0x10),
                VariableBlock(0x10),
                Pointer(0x10),
                PointerIndex(4, 0x10),
                LoadedIndex(4, 0x20),
            ],
            Space::Local => &[
                VariableLoaded(0),
                Variable(0x20),
                VariableIndex(4, 0x10),
                VariableLoaded(0x40),
                VariableBlock(0x10),
            ],
            Space::Const => &[
                VariableLoaded(0),
                Variable(0x20),
                VariableIndex(4, 0x10),
                VariableLoaded(0x40),
                VariableBlock(0x10),
            ],
            Space::Param => {
                &[Variable(0), VariableLoaded(0), VariableIndex(4, 0x10), VariableBlock(0x10)]
            }
        }
    }
}

/// How an address comes about; the number at the end is the offset in the operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// Input buffer, 256 bytes a thread.
    Thread(i64),
    /// A kernel parameter as it is.
    Pointer(i64),
    /// A parameter plus the thread's number times a scale.
    PointerIndex(u32, i64),
    /// A parameter plus a signed 32-bit value.
    PointerSigned(i64),
    /// A parameter plus a multiple of the CTA's number.
    PointerBlock(i64),
    /// A variable of the space itself.
    Variable(i64),
    VariableIndex(u32, i64),
    VariableBlock(i64),
    /// A variable plus a value from memory.
    VariableLoaded(i64),
    /// A 32-bit value from memory.
    Loaded(i64),
    /// A 32-bit value from memory plus the scaled thread's number.
    LoadedIndex(u32, i64),
    SharedAsGeneric(i64),
    LocalAsGeneric(i64),
}
