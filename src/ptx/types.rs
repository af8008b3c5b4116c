//! The PTX words that syntax, checks, interpreter and lowering all share: fundamental types, state
//! spaces, linkage. Source: PTX ISA 9.0, "State Spaces, Types, and Variables".

use serde::{Deserialize, Serialize};
use std::fmt;

/// A fundamental or alternate PTX type (PTX ISA 9.0, "Types").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// `.s8`
    S8,
    /// `.s16`
    S16,
    /// `.s32`
    S32,
    /// `.s64`
    S64,
    /// `.u8`
    U8,
    /// `.u16`
    U16,
    /// `.u32`
    U32,
    /// `.u64`
    U64,
    /// `.f16`
    F16,
    /// `.f16x2`
    F16x2,
    /// `.bf16`
    Bf16,
    /// `.bf16x2`
    Bf16x2,
    /// `.tf32`
    Tf32,
    /// `.f32`
    F32,
    /// `.f32x2`
    F32x2,
    /// `.f64`
    F64,
    /// `.b8`
    B8,
    /// `.b16`
    B16,
    /// `.b32`
    B32,
    /// `.b64`
    B64,
    /// `.b128`
    B128,
    /// `.pred`
    Pred,
    /// `.e4m3`
    E4m3,
    /// `.e5m2`
    E5m2,
    /// `.e4m3x2`
    E4m3x2,
    /// `.e5m2x2`
    E5m2x2,
    /// `.u16x2`
    U16x2,
    /// `.s16x2`
    S16x2,
    /// `.texref`
    TexRef,
    /// `.samplerref`
    SamplerRef,
    /// `.surfref`
    SurfRef,
}

/// How a type's bits are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeKind {
    /// An integer with a sign.
    Signed,
    /// An integer without one.
    Unsigned,
    /// A float, or several packed.
    Float,
    /// `.b8` to `.b128`: whatever has as many.
    Bits,
    /// `.pred`
    Predicate,
    /// `.texref`, `.samplerref`, `.surfref`: only instructions of their own read them.
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

    /// Size in bits; a predicate has 1.
    pub fn bits(self) -> u32 {
        if self == Type::Pred { 1 } else { self.bytes() * 8 }
    }

    /// How its bits are read; packed halves and bytes as what they are packed of.
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

    /// Whether it is a signed integer.
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
    /// `.reg`
    Reg,
    /// `.sreg`: special registers.
    Sreg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// Kernel or device-function parameter; which one follows from where it is declared.
    Param,
    /// `.shared`: of the CTA or its cluster.
    Shared,
    /// `.tex`, which PTX 1.5 gave up.
    Tex,
    /// No space on the instruction: a generic address.
    Generic,
}

/// Visibility of a module-scope symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Linkage {
    /// No other module sees it.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`: another module has it.
    Extern,
    /// `.weak`: another module's comes first.
    Weak,
    /// `.common`: modules share one.
    Common,
}

/// A byte range of the source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Span {
    /// In bytes.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Span {
    /// Places must fit 32 bits: the text is shorter than 4 GiB.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The least span that has both.
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
