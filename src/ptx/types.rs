//! The PTX words that syntax, checks, interpreter and lowering all share: fundamental types, state
//! spaces, linkage. Source: PTX ISA 9.0, "State Spaces, Types, and Variables".

use std::fmt;

/// A fundamental or alternate PTX type (PTX ISA 9.0, "Types").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F32x2,
    F64,
    B8,
    B16,
    B32,
    B64,
    B128,
    Pred,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    U16x2,
    S16x2,
    TexRef,
    SamplerRef,
    SurfRef,
}

/// How a type's bits are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeKind {
    Signed,
    Unsigned,
    Float,
    Bits,
    Predicate,
    Opaque,
}

impl Type {
    /// Every type with its PTX spelling (without the dot).
    pub const ALL: [(Type, &'static str); 31] = [
        (Type::S8, "s8"),
        (Type::S16, "s16"),
        (Type::S32, "s32"),
        (Type::S64, "s64"),
        (Type::U8, "u8"),
        (Type::U16, "u16"),
        (Type::U32, "u32"),
        (Type::U64, "u64"),
        (Type::F16, "f16"),
        (Type::F16x2, "f16x2"),
        (Type::Bf16, "bf16"),
        (Type::Bf16x2, "bf16x2"),
        (Type::Tf32, "tf32"),
        (Type::F32, "f32"),
        (Type::F32x2, "f32x2"),
        (Type::F64, "f64"),
        (Type::B8, "b8"),
        (Type::B16, "b16"),
        (Type::B32, "b32"),
        (Type::B64, "b64"),
        (Type::B128, "b128"),
        (Type::Pred, "pred"),
        (Type::E4m3, "e4m3"),
        (Type::E5m2, "e5m2"),
        (Type::E4m3x2, "e4m3x2"),
        (Type::E5m2x2, "e5m2x2"),
        (Type::U16x2, "u16x2"),
        (Type::S16x2, "s16x2"),
        (Type::TexRef, "texref"),
        (Type::SamplerRef, "samplerref"),
        (Type::SurfRef, "surfref"),
    ];

    /// Of a spelling without the dot. Every word of every instruction is asked; [`Type::ALL`] is
    /// the same, for who goes through it.
    pub fn parse(name: &str) -> Option<Type> {
        Some(match name {
            "s8" => Type::S8,
            "s16" => Type::S16,
            "s32" => Type::S32,
            "s64" => Type::S64,
            "u8" => Type::U8,
            "u16" => Type::U16,
            "u32" => Type::U32,
            "u64" => Type::U64,
            "f16" => Type::F16,
            "f16x2" => Type::F16x2,
            "bf16" => Type::Bf16,
            "bf16x2" => Type::Bf16x2,
            "tf32" => Type::Tf32,
            "f32" => Type::F32,
            "f32x2" => Type::F32x2,
            "f64" => Type::F64,
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            "b128" => Type::B128,
            "pred" => Type::Pred,
            "e4m3" => Type::E4m3,
            "e5m2" => Type::E5m2,
            "e4m3x2" => Type::E4m3x2,
            "e5m2x2" => Type::E5m2x2,
            "u16x2" => Type::U16x2,
            "s16x2" => Type::S16x2,
            "texref" => Type::TexRef,
            "samplerref" => Type::SamplerRef,
            "surfref" => Type::SurfRef,
            _ => return None,
        })
    }

    /// Size in bytes; a predicate counts as 1.
    pub fn bytes(self) -> u32 {
        use Type::*;
        match self {
            S8 | U8 | B8 | Pred | E4m3 | E5m2 => 1,
            S16 | U16 | B16 | F16 | Bf16 | E4m3x2 | E5m2x2 => 2,
            S32 | U32 | B32 | F32 | F16x2 | Bf16x2 | Tf32 | U16x2 | S16x2 => 4,
            S64 | U64 | B64 | F64 | F32x2 | TexRef | SamplerRef | SurfRef => 8,
            B128 => 16,
        }
    }

    pub fn bits(self) -> u32 {
        if self == Type::Pred { 1 } else { self.bytes() * 8 }
    }

    pub fn kind(self) -> TypeKind {
        use Type::*;
        match self {
            S8 | S16 | S32 | S64 | S16x2 => TypeKind::Signed,
            U8 | U16 | U32 | U64 | U16x2 => TypeKind::Unsigned,
            F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | F32 | F32x2 | F64 | E4m3 | E5m2 | E4m3x2
            | E5m2x2 => TypeKind::Float,
            B8 | B16 | B32 | B64 | B128 => TypeKind::Bits,
            Pred => TypeKind::Predicate,
            TexRef | SamplerRef | SurfRef => TypeKind::Opaque,
        }
    }

    pub fn is_signed(self) -> bool {
        self.kind() == TypeKind::Signed
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(ty, _)| ty == self).map_or("?", |(_, n)| n);
        write!(f, ".{name}")
    }
}

/// A PTX state space (PTX ISA 9.0, "State Spaces").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    /// Kernel or device-function parameter; which one follows from where it is declared.
    Param,
    Shared,
    Tex,
    /// No space on the instruction: a generic address.
    Generic,
}

/// Visibility of a module-scope symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Linkage {
    #[default]
    Internal,
    Visible,
    Extern,
    Weak,
    Common,
}

/// A byte range of the source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_as_it_is_written() {
        for (ty, name) in Type::ALL {
            assert_eq!((Type::parse(name), ty.to_string()), (Some(ty), format!(".{name}")));
        }
    }
}
